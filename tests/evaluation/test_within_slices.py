"""Systems compared within slices: the comparison of the rows of a slice, and independent draws."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.evaluation import within_slices
from calipers.inference import max_statistic
from calipers.results import SliceDifference, Slices

ROWS = 900
MEASURES = ("AUC", "F1", "accuracy", "log-loss")


def data(names: str = "xyz") -> dict[str, Any]:
    random = np.random.default_rng(0)
    truth = random.random(ROWS) < 0.4
    blur = dict(zip("xyz", (1.0, 1.5, 1.5), strict=True))
    scores = {k: 2 * truth - 1 + blur[k] * random.normal(size=ROWS) for k in "xyz"}
    probability = {k: 1 / (1 + np.exp(-scores[k])) for k in names}
    return {
        "truth": truth,
        "probability": probability,
        "site": random.choice(["Bern", "Oslo", "Rome"], ROWS),
        "user": random.integers(0, 60, ROWS),
    }


def evaluated(d: dict[str, Any], site: Any = None, **options: Any) -> cal.Evaluation:
    options = {"measures": MEASURES, "curves": False, **options}
    slices = {"site": d["site"] if site is None else site}
    return cal.classification(d["truth"], probability=d["probability"], slices=slices, **options)


def slices_of(ev: cal.Evaluation) -> Slices:
    assert ev.slices is not None
    return ev.slices


def by_place(slices: Slices) -> dict[tuple[str, ...], cal.results.Difference]:
    return {
        (w.slice, w.difference.measure, w.difference.system, w.difference.baseline): w.difference
        for w in slices.differences
    }


@pytest.mark.parametrize("baseline", [None, "y"])
@pytest.mark.parametrize("names", ["xy", "xyz"])
def test_a_slice_of_all_rows_has_the_comparison_itself(names: str, baseline: str | None) -> None:
    ev = evaluated(data(names), ["all"] * ROWS, baseline=baseline)
    assert ev.comparison is not None
    assert [w.difference for w in slices_of(ev).differences] == list(ev.comparison)


@pytest.mark.parametrize("clustered", [False, True])
def test_each_slice_has_the_tests_of_its_rows_alone(clustered: bool) -> None:
    d = data()
    cluster = d["user"] if clustered else None
    found = by_place(slices_of(evaluated(d, cluster=cluster, primary="F1")))
    assert len(found) == 3 * 3 * len(MEASURES)
    assert list(found)[:9] == [key for key in found if key[1] == "F1"]
    at = d["site"] == "Oslo"
    alone = cal.classification(
        d["truth"][at],
        probability={k: p[at] for k, p in d["probability"].items()},
        measures=["AUC", "accuracy", "log-loss"],
        cluster=d["user"][at] if clustered else None,
        curves=False,
    )
    assert alone.comparison is not None
    for own in alone.comparison:
        one = found["Oslo", own.measure, own.system, own.baseline]
        assert (one.value, one.n, one.test) == (pytest.approx(own.value), at.sum(), own.test)
        # (Clusters are drawn by their place among all, so replicates are others.)
        assert one.p == pytest.approx(own.p, rel=1e-9, abs=0.1 if clustered else 0)
        assert one.p_adjusted >= own.p
        assert one.high - one.low > own.high - own.low


def test_the_primary_measures_family_is_all_pairs_and_slices() -> None:
    found = by_place(slices_of(evaluated(data("xy"), measures=["AUC", "Brier"])))
    own = [d for d in found.values() if d.measure == "AUC"]
    assert len(own) == 3
    for d in own:  # three independent tests: Šidák's, to the error of 20,000 draws
        assert d.p_adjusted == pytest.approx(1 - (1 - d.p) ** 3, abs=0.015)
        assert (d.low > 0 or d.high < 0) == (d.p_adjusted <= 0.05)


def test_parts_are_drawn_independently() -> None:
    same = np.random.default_rng(0).normal(size=50)
    t, many = np.array([2.0]), np.array([1e9])
    alone = float(max_statistic.gaussian_maxima([same, same], 0).p(t, many)[0])
    apart = float(max_statistic.gaussian_maxima([same, same], 0, ["a", "b"]).p(t, many)[0])
    assert alone == pytest.approx(0.0455, abs=0.005)
    assert apart == pytest.approx(1 - 0.9545**2, abs=0.006)


def test_the_rows_order_changes_nothing() -> None:
    d = data("xy")
    turned = np.random.default_rng(1).permutation(ROWS)
    other = {k: v if k == "probability" else v[turned] for k, v in d.items()}
    other["probability"] = {k: p[turned] for k, p in d["probability"].items()}
    exact = ["AUC", "accuracy", "log-loss"]
    ours, theirs = (by_place(slices_of(evaluated(x, measures=exact))) for x in (d, other))
    for key, one in ours.items():
        assert one.value == pytest.approx(theirs[key].value)
        assert one.p == pytest.approx(theirs[key].p)


def test_three_rows_that_agree_are_not_told_apart() -> None:
    d = data("xy")
    site = np.where(np.arange(ROWS) < 3, "few", "many")
    d["truth"][:3] = True
    d["probability"]["x"][:3], d["probability"]["y"][:3] = 0.9, [0.1, 0.1, 0.9]
    found = by_place(slices_of(evaluated(d, site, measures=["F1", "MCC", "accuracy", "AUC"])))
    for measure in ("F1", "MCC", "accuracy", "AUC"):
        assert not found["few", measure, "y", "x"].p_adjusted <= 0.05
    assert found["many", "AUC", "y", "x"].p_adjusted <= 0.05


@pytest.mark.slow
def test_one_system_no_interval_and_too_many_pairs_have_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert not slices_of(evaluated(data("x"))).differences
    assert not slices_of(evaluated(data(), interval="none")).differences
    monkeypatch.setattr(within_slices, "MAX_PAIRS_WITHIN_SLICES", 2)
    ev = evaluated(data())
    assert not slices_of(ev).differences
    assert any("not compared within slices" in note for note in ev.notes)
    assert slices_of(evaluated(data(), baseline="x")).differences


@pytest.mark.slow
def test_reports_and_json_have_them() -> None:
    d = data()
    ev = evaluated(d)
    assert "Comparisons within slices of site" in str(ev)
    assert "### Comparisons within slices of site" in ev.to_markdown()
    page = ev.to_html()
    assert 'aria-label="AUC of systems within site"' in page
    assert 'aria-label="F1 of systems within site"' in page
    again = cal.from_json(ev.to_json())
    assert by_place(again.slices).keys() == by_place(slices_of(ev)).keys()
    assert isinstance(again.slices.differences[0], SliceDifference)
    broken = json.loads(ev.to_json())
    broken["slices"]["differences"][0]["difference"]["system"] = "nobody"
    with pytest.raises(cal.InputError, match="nobody"):
        cal.from_json(json.dumps(broken))
    assert "Comparisons within slices" not in str(evaluated(data("x")))
