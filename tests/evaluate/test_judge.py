"""The judge against human labels: tables, agreement, errors and what they depend on."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np
import pytest
from scipy.special import stdtr, stdtrit

import calipers as cal
from calipers.results import JudgeBias

FEW: dict[str, Any] = {"n_resamples": 100}


def table(counts: list[list[int]]) -> tuple[list[int], list[int]]:
    """Human labels and verdicts with these counts, a row for each label."""
    cells = [(h, j) for h in (0, 1) for j in (0, 1) for _ in range(counts[h][j])]
    return [h for h, _ in cells], [j for _, j in cells]


def biases(evaluation: cal.Evaluation, kind: str) -> list[JudgeBias]:
    return [bias for bias in evaluation.judge_biases if bias.kind == kind]


def grades(
    n: int = 60, seed: int = 3, systems: tuple[str, ...] = ("a", "b", "c")
) -> dict[str, list[Any]]:
    """A row for each output, of which every other case has a label."""
    rng = np.random.default_rng(seed)
    columns: dict[str, list[Any]] = {
        name: [] for name in ("case", "model", "grade", "label", "first", "tokens", "day")
    }
    for case in range(n):
        for k, model in enumerate(systems):
            human = int(rng.integers(1, 6))
            tokens, first = int(np.exp(rng.normal(5, 0.6))), int(case % len(systems) == k)
            error = 0.4 * first + 0.4 * (math.log2(tokens) - 7) + 0.3 * (model == "c")
            grade = int(np.clip(round(human + error + rng.normal(0, 0.6)), 1, 5))
            row = (case, model, grade, human if case % 2 else None, first, tokens, case % 11)
            for name, value in zip(columns, row, strict=True):
                columns[name].append(value)
    return columns


LONG: dict[str, Any] = {"case": "case", "system": "model", "human": "label", **FEW}
ALL: dict[str, Any] = {**LONG, "first": "first", "length": "tokens", "judged_at": "day"}


def labeled(columns: dict[str, list[Any]]) -> dict[str, np.ndarray]:
    mask = np.array([label is not None for label in columns["label"]])
    return {name: np.array(values)[mask] for name, values in columns.items()}


def errors_of(rows: dict[str, np.ndarray]) -> np.ndarray:
    return np.asarray(rows["grade"].astype(float) - rows["label"].astype(float))


# ------------------------------------------------------------------------------------------- Tables


def test_the_reference_values_of_few_failures() -> None:
    """κ near 0 although 94% agree: the formulas of Cohen, Gwet and Krippendorff by hand."""
    human, judged = table([[0, 5], [2, 118]])
    evaluation = cal.judge(judged, human=human, **FEW)
    assert evaluation.confusion.counts.tolist() == [[0, 5], [2, 118]]
    n, agreed, by_judge, by_human = 125, 118 / 125, 123 / 125, 120 / 125
    chance = by_judge * by_human + (1 - by_judge) * (1 - by_human)
    q = (by_judge + by_human) / 2
    guessed, expected = 2 * q * (1 - q), 2 * q * (1 - q) * 2 * n / (2 * n - 1)
    wanted = {
        "kappa": (agreed - chance) / (1 - chance),
        "Gwet-AC1": (agreed - guessed) / (1 - guessed),
        "Krippendorff-alpha": 1 - (1 - agreed) / expected,
        "percent-agreement": agreed,
        "sensitivity": 118 / 120,
        "specificity": 0.0,
        "mean-error": 3 / 125,
    }
    for name, value in wanted.items():
        assert evaluation[name].value == pytest.approx(value, abs=1e-12), name
        assert evaluation[name].has_interval
        assert evaluation[name].method != "none"
    references = {"kappa": -0.023392, "AC1": 0.940776, "Krippendorff-alpha": -0.024691}
    for name, value in references.items():
        assert round(evaluation[name].value, 6) == value


def test_flips_by_position_are_mcnemars_test() -> None:
    """24 outputs in both orders, of which 18 gain and 6 lose by being first: exact p = 0.022656."""
    first = [1] * 18 + [0] * 6 + [1] * 40
    second = [0] * 18 + [1] * 6 + [1] * 40
    shown = cal.scores({"second": second, "first": first}, baseline="second")
    p = shown.compare(baseline="second", test="mcnemar").differences[0].p
    exact = 2 * sum(math.comb(24, k) for k in range(7)) / 2**24
    assert p == pytest.approx(exact)
    assert round(p, 6) == 0.022656


def test_grades_have_a_table_and_a_recall_each() -> None:
    columns = grades()
    evaluation = cal.judge("grade", **LONG, data=columns)
    assert evaluation.systems == ("a", "b", "c", "all systems")
    rows = labeled(columns)
    for system in ("a", "b", "c", "all systems"):
        mask = (rows["model"] == system) | (system == "all systems")
        human, judged = rows["label"][mask].astype(int), rows["grade"][mask].astype(int)
        matrix = [[int(((human == h) & (judged == j)).sum()) for j in range(1, 6)]
                  for h in range(1, 6)]  # fmt: skip
        [confusion] = [c for c in evaluation.confusions if c.system == system]
        assert confusion.counts.tolist() == matrix
        for h in range(1, 6):
            recall = matrix[h - 1][h - 1] / sum(matrix[h - 1])
            assert evaluation[system, f"recall[{h}]"].value == pytest.approx(recall)
        distance = np.square(np.subtract.outer(np.arange(5), np.arange(5)))
        observed = np.array(matrix) / np.sum(matrix)
        by_chance = np.outer(observed.sum(1), observed.sum(0))
        kappa = 1 - (distance * observed).sum() / (distance * by_chance).sum()
        found = evaluation[system, "kappa(weights='quadratic')"].value
        assert found == pytest.approx(kappa)
        error = (judged - human).mean()
        assert evaluation[system, "mean-error"].value == pytest.approx(error)


def test_many_different_scores_are_numbers() -> None:
    rng = np.random.default_rng(1)
    human = rng.random(50)
    judged = human + 0.1 * rng.normal(size=50) + 0.05
    evaluation = cal.judge(judged, human=human, **FEW)
    assert evaluation.measures == ("mean-error", "Krippendorff-alpha(scale='interval')")
    assert not evaluation.confusions
    assert evaluation["mean-error"].value == pytest.approx((judged - human).mean())
    assert any("different scores" in note for note in evaluation.notes)


def test_a_table_of_columns_is_that_of_rows() -> None:
    columns = grades()
    wide: dict[str, dict[str, list[Any]]] = {}
    for name in ("grade", "label", "first", "tokens"):
        wide[name] = {
            model: [v for v, m in zip(columns[name], columns["model"], strict=True) if m == model]
            for model in ("a", "b", "c")
        }
    one = cal.judge("grade", **ALL, own_systems=["c"], data=columns)
    other = cal.judge(
        wide["grade"],
        human=wide["label"],
        first=wide["first"],
        length=wide["tokens"],
        judged_at=columns["day"][::3],
        own_systems="c",
        **FEW,
    )
    assert one.judge_biases == other.judge_biases
    assert [e.value for e in one] == [e.value for e in other]


# ------------------------------------------------------------------------------------------- Biases


def sandwich(design: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """The coefficient of the last column and its HC3 error, by matrices."""
    bread = np.linalg.inv(design.T @ design)
    coefficients = bread @ design.T @ y
    leverage = np.einsum("ij,jk,ik->i", design, bread, design)
    scaled = design * ((y - design @ coefficients) / (1 - leverage))[:, None]
    covariance = bread @ scaled.T @ scaled @ bread
    return float(coefficients[-1]), math.sqrt(covariance[-1, -1])


def test_biases_of_one_system_are_least_squares() -> None:
    columns = grades(systems=("a",))
    evaluation = cal.judge("grade", **ALL, data=columns)
    rows = labeled(columns)
    day = rows["day"].astype(float)
    covariates = {
        "length": np.log2(rows["tokens"].astype(float)),
        "drift": (day - day.min()) / (day.max() - day.min()),
    }
    for kind, x in covariates.items():
        [bias] = biases(evaluation, kind)
        slope, error = sandwich(np.column_stack([np.ones(len(x)), x]), errors_of(rows))
        assert (bias.value, bias.standard_error) == pytest.approx((slope, error))
        assert (bias.low + bias.high) / 2 == pytest.approx(slope)
        assert bias.method == "least squares, HC3"
    [position] = biases(evaluation, "position")
    assert math.isnan(position.value)  # every output was the first
    assert position.interval_reason == "constant_covariate"


def test_the_bias_by_position_is_a_difference_of_means() -> None:
    rng = np.random.default_rng(5)
    first = np.arange(40) % 2
    human = rng.random(40) < 0.5
    judged = np.where(rng.random(40) < 0.2 + 0.3 * first, ~human, human)
    evaluation = cal.judge(judged, human=human, first=first.astype(bool), **FEW)
    [bias] = biases(evaluation, "position")
    error = judged.astype(float) - human
    groups = error[first == 1], error[first == 0]
    assert bias.value == pytest.approx(groups[0].mean() - groups[1].mean())
    # HC3 divides by 1 − 1/n in each group.
    variance = sum((np.square(g - g.mean()) / (1 - 1 / len(g)) ** 2).sum() / len(g) ** 2
                   for g in groups)  # fmt: skip
    assert bias.standard_error == pytest.approx(math.sqrt(variance))


def test_biases_are_slopes_within_systems() -> None:
    columns = grades()
    evaluation = cal.judge("grade", **ALL, own_systems="c", data=columns)
    rows = labeled(columns)
    y, models = errors_of(rows), rows["model"]
    dummies = [np.ones(len(y)), models == "b", models == "c"]
    length, own = np.log2(rows["tokens"].astype(float)), (models == "c").astype(float)
    designs = {
        "position": [*dummies, rows["first"].astype(float)],
        "length": [*dummies, length],
        "self-preference": [np.ones(len(y)), length, own],
    }
    for kind, design in designs.items():
        [bias] = biases(evaluation, kind)
        x = np.column_stack(design).astype(float)
        assert bias.value == pytest.approx(np.linalg.lstsq(x, y, rcond=None)[0][-1])
        _, error = sandwich(x, y)
        assert bias.standard_error == pytest.approx(error, rel=0.3)  # here it is by case
        assert bias.value > 0
        assert bias.method == "least squares, cluster-robust"
        assert bias.n == len(y)


def test_the_bias_by_system_is_a_paired_t_test() -> None:
    columns = grades()
    evaluation = cal.judge("grade", **LONG, data=columns)
    rows = labeled(columns)
    errors = {m: errors_of(rows)[rows["model"] == m] for m in ("a", "b", "c")}
    contrasts = {bias.contrast: bias for bias in biases(evaluation, "system")}
    assert list(contrasts) == ["b - a", "c - a", "c - b"]
    for second, first in (("b", "a"), ("c", "a"), ("c", "b")):
        difference = errors[second] - errors[first]
        n, mean = len(difference), difference.mean()
        se = difference.std(ddof=1) / math.sqrt(n)
        bias = contrasts[f"{second} - {first}"]
        half = stdtrit(n - 1, 0.975) * se
        assert (bias.value, bias.low, bias.high) == pytest.approx((mean, mean - half, mean + half))
        assert bias.p == pytest.approx(2 * stdtr(n - 1, -abs(mean) / se))
        assert 2.6 * se < bias.min_detectable < 3 * se  # 1.96 + 0.84 standard errors, and Student's


def test_many_systems_are_compared_with_all_others() -> None:
    columns = grades(systems=tuple("abcde"))
    evaluation = cal.judge("grade", **LONG, data=columns)
    rows = labeled(columns)
    y, models = errors_of(rows), rows["model"]
    for bias, name in zip(biases(evaluation, "system"), "abcde", strict=True):
        assert bias.contrast == f"{name} - others"
        assert bias.value == pytest.approx(y[models == name].mean() - y[models != name].mean())


def test_p_values_are_adjusted_by_holm_in_two_families() -> None:
    evaluation = cal.judge("grade", **ALL, own_systems="c", data=grades())
    for family in (
        biases(evaluation, "mean error"),
        [bias for bias in evaluation.judge_biases if bias.kind != "mean error"],
    ):
        p = sorted(bias.p for bias in family)
        steps = np.maximum.accumulate([min(1, x * (len(p) - k)) for k, x in enumerate(p)])
        for bias in family:
            assert bias.p_adjusted == pytest.approx(steps[p.index(bias.p)])


def test_the_judge_of_each_case_may_be_one_of_the_systems() -> None:
    rng = np.random.default_rng(2)
    names = ["a", "b"]
    judges = [names[k] for k in rng.integers(0, 2, 80)]
    human = {name: rng.integers(0, 2, 80) for name in names}
    own = {name: np.array([j == name for j in judges]) for name in names}
    judged = {n: np.where(own[n] & (rng.random(80) < 0.5), 1, human[n]) for n in names}
    evaluation = cal.judge(judged, human=human, judge_system=judges, **FEW)
    [bias] = biases(evaluation, "self-preference")
    y = np.concatenate([judged[n] - human[n] for n in names]).astype(float)
    x = np.column_stack(
        [np.ones(160), np.repeat([0.0, 1.0], 80), np.concatenate([own[n] for n in names])]
    )
    assert bias.value == pytest.approx(np.linalg.lstsq(x, y, rcond=None)[0][-1])
    assert bias.is_significant


@pytest.mark.slow
def test_an_honest_judge_is_seldom_accused() -> None:
    """Biases where there is none: at 5%, of 60 data sets 3 are expected, 11 in one of 10,000."""
    rng = np.random.default_rng(11)
    n_rejected = {"position": 0, "length": 0}
    for _ in range(60):
        human = rng.random(60) < 0.7
        judged = np.where(rng.random(60) < 0.15, ~human, human)
        evaluation = cal.judge(
            judged,
            human=human,
            first=rng.random(60) < 0.5,
            length=np.exp(rng.normal(5, 0.7, 60)),
            interval="none",
        )
        for kind in n_rejected:
            n_rejected[kind] += biases(evaluation, kind)[0].p <= 0.05
    assert max(n_rejected.values()) <= 10


# --------------------------------------------------------------------------- Weights, clusters, text


def test_labels_have_weights() -> None:
    rng = np.random.default_rng(4)
    human, judged = rng.integers(0, 2, 60), rng.integers(0, 2, 60)
    weight = np.where(np.arange(60) % 2, 3.0, 1.0)
    evaluation = cal.judge(judged, human=human, human_weight=weight, **FEW)
    assert evaluation["mean-error"].value == pytest.approx(
        np.average(judged - human, weights=weight)
    )
    mask = human == 1
    assert evaluation["sensitivity"].value == pytest.approx(
        np.average(judged[mask], weights=weight[mask])
    )
    assert any("weighted" in note for note in evaluation.notes)


def repeated(columns: dict[str, list[Any]], counts: list[int]) -> dict[str, list[Any]]:
    """A table of outputs of three systems, with cases as often as they count."""
    out: dict[str, list[Any]] = {name: [] for name in columns}
    for case, count in enumerate(counts):
        for time in range(count):
            for row in range(3 * case, 3 * case + 3):
                for name, values in columns.items():
                    out[name].append(f"{case}.{time}" if name == "case" else values[row])
    return out


@pytest.mark.parametrize("others", [{}, {"cluster": "day"}, {"slices": ["kind"]}])
def test_a_case_that_counts_twice_is_that_case_twice(others: dict[str, Any]) -> None:
    counts = [case % 3 for case in range(60)]
    columns = grades()
    columns["kind"] = [k // 6 % 2 for k in range(180)]
    columns["times"] = [counts[k // 3] for k in range(180)]
    options: dict[str, Any] = {**ALL, "own_systems": "c", **others}
    one = cal.judge("grade", **options, count="times", data=columns)
    other = cal.judge("grade", **options, data=repeated(columns, counts))
    assert one.judge_biases == other.judge_biases
    assert one.estimates == other.estimates
    assert one.slices == other.slices
    assert [f.message for f in one.findings] == [f.message for f in other.findings]


def test_cases_have_weights() -> None:
    rng = np.random.default_rng(14)
    human, judged = rng.integers(0, 2, 60), rng.integers(0, 2, 60)
    weight, label = rng.uniform(1, 2, 60), np.where(np.arange(60) % 2, 3.0, 1.0)
    weight[:5] = 0
    both = cal.judge(judged, human=human, weight=weight, human_weight=label, **FEW)
    product = cal.judge(judged[5:], human=human[5:], human_weight=(weight * label)[5:], **FEW)
    assert both.estimates == product.estimates
    assert both.judge_biases == product.judge_biases
    alone = cal.judge(judged, human=human, weight=weight, **FEW)
    assert alone["mean-error"].value == pytest.approx(np.average(judged - human, weights=weight))
    assert not any("weighted by 1 over" in note for note in alone.notes)
    assert alone["mean-error"].n == 55
    larger = cal.judge(judged, human=human, weight=7 * weight, **FEW)
    assert larger["kappa"].value == pytest.approx(alone["kappa"].value)


def test_weighted_slopes_are_weighted_least_squares() -> None:
    rng = np.random.default_rng(15)
    human, judged = rng.integers(1, 6, 50), rng.integers(1, 6, 50)
    length, weight = np.exp(rng.normal(5, 1, 50)), rng.uniform(0.2, 3, 50)
    evaluation = cal.judge(judged, human=human, length=length, weight=weight, **FEW)
    [bias] = biases(evaluation, "length")
    design = np.column_stack([np.ones(50), np.log2(length)]) * np.sqrt(weight)[:, None]
    slope = np.linalg.lstsq(design, (judged - human) * np.sqrt(weight), rcond=None)[0][1]
    assert bias.value == pytest.approx(slope)


def test_slices_are_the_judge_on_some_cases() -> None:
    columns = grades(n=90)
    columns["kind"] = [("x", "y", "z")[case * case % 3] for case in columns["case"]]
    evaluation = cal.judge("grade", **LONG, slices=["kind"], data=columns)
    slices = evaluation.slices
    assert slices is not None
    assert {row.estimate.system for row in slices} == set(evaluation.systems)
    rows = labeled(columns)
    for kind in set(columns["kind"]):
        mask = [value == kind for value in columns["kind"]]
        part = {n: [v for v, m in zip(values, mask, strict=True) if m]
                for n, values in columns.items()}  # fmt: skip
        alone = cal.judge("grade", **LONG, data=part)
        for system in evaluation.systems:
            for measure in ("mean-error", "percent-agreement", "kappa(weights='quadratic')"):
                row = slices["kind", kind, system, measure]
                assert row.estimate.value == pytest.approx(alone[system, measure].value)
                assert row.estimate.n == alone[system, measure].n
            chosen = (rows["model"] == system) | (system == "all systems")
            inside = rows["kind"] == kind
            error = errors_of(rows)
            difference = error[chosen & inside].mean() - error[chosen & ~inside].mean()
            compared = slices["kind", kind, system, "mean-error"].vs_rest
            assert compared.value == pytest.approx(difference)
            assert compared.low < difference < compared.high
    measures = {row.estimate.measure for row in slices}
    assert not {m for m in measures if "alpha" in m or "AC1" in m}
    assert cal.from_json(evaluation.to_json()).slices.to_json() == slices.to_json()
    assert "Slices by kind" in str(evaluation)
    assert "By kind" in evaluation.to_html()


def test_a_slice_without_labels_is_named() -> None:
    human, judged = [1, 0, 1, 1, None, None], [1, 0, 0, 1, 1, 0]
    evaluation = cal.judge(judged, human=human, slices={"kind": list("xxyyzz")}, **FEW)
    assert evaluation.slices is not None
    assert [row.slice for row in evaluation.slices if row.estimate.measure == "kappa"] == ["x", "y"]
    assert "kind: no output of z has both a label and a score of the judge." in evaluation.notes


@pytest.mark.slow
def test_slices_that_do_not_differ_are_seldom_found() -> None:
    """Of 60 data sets, 3 are expected at 5%; 10 or more in one of 2,000."""
    rng, n_found = np.random.default_rng(16), {"mean-error": 0, "specificity": 0, "kappa": 0}
    for _ in range(60):
        human = rng.random(80) < 0.7
        judged = np.where(rng.random(80) < 0.2, ~human, human)
        kind = np.where(rng.random(80) < 0.2, "few", "many")
        slices = cal.judge(judged, human=human, slices={"kind": kind}, **FEW).slices
        assert slices is not None
        for measure in n_found:
            n_found[measure] += slices["kind", "few", measure].vs_rest.p <= 0.05
    assert max(n_found.values()) < 10, n_found


def test_clusters_widen_what_they_share() -> None:
    rng = np.random.default_rng(6)
    human = np.repeat(rng.integers(0, 2, 30), 5)
    judged = np.repeat(rng.integers(0, 2, 30), 5)
    plain = cal.judge(judged, human=human, **FEW)["mean-error"]
    clustered = cal.judge(judged, human=human, cluster=np.repeat(np.arange(30), 5), **FEW)
    assert clustered["mean-error"].standard_error > 2 * plain.standard_error
    assert "30 clusters" in clustered["mean-error"].method


def test_a_judge_without_a_verdict_is_counted() -> None:
    evaluation = cal.judge([1, "error", 0, 1, 1, 0], human=[1, 1, 0, None, 1, 0], **FEW)
    assert (evaluation["mean-error"].n, evaluation["mean-error"].n_total) == (4, 5)
    assert any("gave no score to 1 of the outputs" in note for note in evaluation.notes)


def test_every_number_has_an_interval_and_a_method() -> None:
    evaluation = cal.judge("grade", **ALL, own_systems="c", data=grades())
    for estimate in evaluation:
        assert estimate.has_interval
        assert estimate.method != "none"
    for bias in evaluation.judge_biases:
        assert bias.low < bias.value < bias.high
        assert "none" not in (bias.method, bias.test)
        assert bias.min_detectable > 0
    text = str(evaluation)
    for words in ("Judge: 3 systems, 90 labels", "human \\ judge", "p (Holm)", "double length"):
        assert words in text
    again = cal.from_json(evaluation.to_json(details=True))
    assert again.judge_biases == evaluation.judge_biases
    assert str(again) == text
    page = evaluation.to_html()
    assert "Biases of the judge" in page
    assert "self-preference" in evaluation.to_latex()
    bias = json.loads(evaluation.to_json())["judge_biases"][0]
    assert bias["kind"] == "mean error"


def test_saved_results_keep_the_tables() -> None:
    evaluation = cal.judge("grade", **ALL, own_systems="c", data=grades())
    again = cal.from_json(evaluation.to_json())
    assert str(again) == str(evaluation)
    assert again.to_markdown() == evaluation.to_markdown()
    pairs = zip(again.confusions, evaluation.confusions, strict=True)
    assert all((one.counts == other.counts).all() for one, other in pairs)
    figures = [e.chart("confusion").spec for e in (again, evaluation)]
    assert figures[0] == figures[1]


def test_tidy_rows_have_the_biases() -> None:
    evaluation = cal.judge("grade", **ALL, own_systems="c", data=grades())
    frame = evaluation.to_frame()
    errors = frame[frame["measure"] == "mean-error"].set_index("system")
    for bias in biases(evaluation, "mean error"):
        row = errors.loc[bias.contrast]
        assert (row["value"], row["p"], row["p_adjusted"], row["min_detectable"]) == (
            bias.value, bias.p, bias.p_adjusted, bias.min_detectable,
        )  # fmt: skip
    others = frame[frame["contrast"] != ""]
    expected = [bias for bias in evaluation.judge_biases if bias.kind != "mean error"]
    assert list(others["measure"]) == [f"{bias.kind}-bias" for bias in expected]
    for name in ("contrast", "value", "low", "high", "p", "p_adjusted", "test", "n", "method"):
        assert others[name].tolist() == [getattr(bias, name) for bias in expected], name
    assert set(others["system"]) == {"all systems"}
    assert len(frame) == len(evaluation) + len(expected)
    assert len(evaluation.to_csv().splitlines()) == len(frame) + 1
    assert evaluation.to_arrow().num_rows == len(frame)


def test_the_charts() -> None:
    evaluation = cal.judge("grade", **ALL, own_systems="c", data=grades())
    assert evaluation.charts == ("judge errors", "judge biases", "confusion")
    for name, is_error in (("judge errors", True), ("judge biases", False)):
        [panel] = evaluation.chart(name).spec["vconcat"]
        drawn = [
            bias for bias in evaluation.judge_biases if (bias.kind == "mean error") is is_error
        ]
        for row, bias in zip(panel["data"]["values"], drawn, strict=True):
            limits = row["value"], row["low"], row["high"]
            assert limits == pytest.approx((bias.value, bias.low, bias.high), rel=1e-4, abs=1e-5)
            assert row["told"] is bias.is_significant
            assert bias.contrast in row["row"]
    figure = evaluation.chart("confusion").figures[0]
    encoding = figure.spec["encoding"]
    assert (encoding["x"]["field"], encoding["y"]["field"]) == ("judge", "human")
    assert encoding["x"]["sort"] == ["1", "2", "3", "4", "5"]  # never by similarity
    assert "most frequent error of the judge is" in figure.caption
    assert "predict" not in figure.caption


def test_only_what_has_a_value_is_drawn() -> None:
    human, judged = [1, 0, 1, 1], [1, 0, 0, 1]
    evaluation = cal.judge(judged, human=human, first=[1] * 4, **FEW)  # always the first
    assert evaluation.charts == ("judge errors", "confusion")


def test_the_verdict_is_what_is_significant() -> None:
    evaluation = cal.judge("grade", **ALL, own_systems="c", data=grades())
    significant = [bias for bias in evaluation.judge_biases[4:] if bias.is_significant]
    assert 0 < len(significant) < len(evaluation.judge_biases[4:])
    page = evaluation.to_html()
    headline = page[page.index("<h1") : page.index("Findings")] if "Findings" in page else page
    assert headline.count("Significant bias by") == len(significant)
    assert "No significant bias by" in page


def test_evaluations_of_judges_are_not_compared() -> None:
    evaluation = cal.judge([1, 0, 1, 0], human=[1, 0, 1, 1], **FEW)
    for made in (evaluation, cal.from_json(evaluation.to_json())):
        for function in (cal.compare, cal.keep_predictions, cal.best_system):
            with pytest.raises(cal.InputError, match=r"is that of a judge.*cal\.classification"):
                function(made)


def test_two_judges_are_compared_as_the_message_says() -> None:
    rng = np.random.default_rng(9)
    human = (rng.random(200) < 0.6).astype(int)
    judged = {
        n: np.where(rng.random(200) < p, 1 - human, human) for n, p in (("a", 0.3), ("b", 0.1))
    }
    compared = cal.classification(human, judged, measures="kappa", **FEW)
    [difference] = compared.compare().differences
    kappas = [cal.judge(judged[n], human=human, **FEW)["kappa"].value for n in ("a", "b")]
    assert difference.value == pytest.approx(kappas[1] - kappas[0])


def test_findings_are_those_of_scores_with_labels() -> None:
    rng = np.random.default_rng(8)
    human = {n: np.where(np.arange(200) < 80, rng.random(200) < 0.6, np.nan) for n in ("a", "b")}
    judged = {n: np.where(np.isnan(h), 1, h) for n, h in human.items()}
    judged["b"] = np.where(rng.random(200) < 0.5, 1.0, judged["b"])
    evaluation, scored = (f(judged, human=human, **FEW) for f in (cal.judge, cal.scores))
    kinds = {"judge-favors-system", "no-disagreement", "labels-not-random", "judge-errors"}
    found, expected = (
        [f.message for f in e.findings if f.kind in kinds] for e in (evaluation, scored)
    )
    assert found
    assert set(found) == set(expected)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"human": None}, "human: is not given"),
        ({"human": [1, 0]}, "human: has 2 rows"),
        ({"human": [None] * 6}, "has no label"),
        ({"first": [1, 0, 2, 0, 1, 0]}, "first: is 2 in row 2, expected 1 or true"),
        ({"first": [1, 0]}, "first: has 2 rows, score has 6"),
        ({"length": [1, 2, 0, 3, 4, 5]}, "length: is 0 in row 2, expected more than 0"),
        ({"own_systems": "gpt"}, "own_systems: there is no system 'gpt'"),
        ({"judge_system": ["gpt"] * 6}, "expected names of systems: system"),
        ({"own_systems": "system", "judge_system": ["a"] * 6}, "give one of them"),
        ({"judged_at": ["soon"] * 6}, "judged_at: holds|judged_at: "),
        ({"human_weight": [0, 1, 1, 1, 1, 1]}, "human_weight: 0 in row 0 is below 1"),
        ({"human_weight": [1e-70, 1, 1, 1, 1, 1]}, "human_weight: 1e-70 in row 0 is below 1"),
        ({"weight": [1, -1, 1, 1, 1, 1]}, "weight: "),
        ({"weight": [1, 1]}, "weight: has 2"),
        ({"count": [1, 0.5, 1, 1, 1, 1]}, "count: is 0.5 in row 1"),
        ({"count": [0] * 6}, "count: all counts are 0"),
        ({"slices": {"kind": ["a"]}}, "slice 'kind': has 1"),
        ({"slice_bins": {"kind": [1]}}, "bins for 'kind', which is not a slice"),
        ({"level": 2}, "level"),
    ],
)
def test_bad_input_is_named(changed: dict[str, Any], message: str) -> None:
    options: dict[str, Any] = {"human": [1, 0, 1, 1, 0, 1], **changed}
    with pytest.raises(cal.InputError, match=message):
        cal.judge([1, 0, 1, 0, 1, 1], **options)


@pytest.mark.parametrize("own", ["b", ["b", "b"]])
def test_the_self_preference_of_two_systems_is_tested_once(own: Any) -> None:
    rng = np.random.default_rng(3)
    human = {name: rng.integers(0, 2, 80) for name in "ab"}
    judged = {"a": human["a"], "b": np.where(rng.random(80) < 0.3, 1, human["b"])}
    ev = cal.judge(judged, human=human, own_systems=own, **FEW)
    kinds = [bias.kind for bias in ev.judge_biases]
    assert kinds.count("self-preference") == 1
    assert "system" not in kinds
    [bias] = biases(ev, "self-preference")
    assert bias.p_adjusted == bias.p
    # At equal length it is another comparison, and so it is with a third system.
    length = {name: rng.integers(1, 99, 80) for name in "ab"}
    long = cal.judge(judged, human=human, own_systems=own, length=length, **FEW)
    assert {"system", "self-preference"} <= {bias.kind for bias in long.judge_biases}
    three = cal.judge(
        {**judged, "c": human["a"]}, human={**human, "c": human["a"]}, own_systems=own, **FEW
    )
    assert len(biases(three, "system")) == 3


def test_own_systems_of_many_are_compared_once() -> None:
    rng = np.random.default_rng(4)
    human = {name: rng.integers(0, 2, 40) for name in "abcdef"}
    judged = {name: np.where(rng.random(40) < 0.2, 1, h) for name, h in human.items()}
    ev = cal.judge(judged, human=human, own_systems="c", **FEW)
    contrasts = {bias.contrast for bias in biases(ev, "system")}
    assert contrasts == {f"{name} - others" for name in "abdef"}


def test_negative_numbers_of_latex_have_a_minus() -> None:
    rng = np.random.default_rng(5)
    human = rng.integers(0, 2, 60)
    judged = np.where(rng.random(60) < 0.3, 0, human)
    text = cal.judge(judged, human=human, **FEW).to_latex()
    assert "$-$" in text
    assert not re.search(r"(?<![\w}$])-\d", text)


def test_own_systems_are_named() -> None:
    two = {"a": [1, 0, 1], "b": [1, 1, 0]}
    with pytest.raises(cal.InputError, match="own_systems: is empty, expected names of systems"):
        cal.judge(two, human=two, own_systems=[])
    with pytest.raises(cal.InputError, match="judge_system: has 1 rows, score has 3"):
        cal.judge(two, human=two, judge_system=["a"])


def test_several_systems_need_a_column_each() -> None:
    two = {"a": [1, 0, 1], "b": [1, 1, 0]}
    with pytest.raises(cal.InputError, match="length: is one column, expected a dict"):
        cal.judge(two, human=two, length=[1, 2, 3])
    with pytest.raises(cal.InputError, match="first: has no values of 'b'"):
        cal.judge(two, human=two, first={"a": [1, 0, 1]})
