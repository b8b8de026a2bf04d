"""Several numbers of each row: beside scikit-learn, by hand, and what makes no difference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats
from sklearn import metrics

import calipers as cal
from calipers.data.errors import InputError
from calipers.measures import UnknownMeasureError
from calipers.results import Evaluation

RNG = np.random.default_rng(9)
N, NAMES = 60, ("price", "area", "rooms")
TRUTH = np.exp(RNG.normal(size=(N, 3))) * [100.0, 10.0, 1.0] + 0.5
SAID = TRUTH * np.exp(RNG.normal(0, 0.3, (N, 3)) + RNG.normal(0, 0.2, (N, 1)))
OTHER = TRUTH * np.exp(RNG.normal(0, 0.5, (N, 3)))
WEIGHT = RNG.choice([0.0, 0.5, 1.0, 3.0], N)
CLUSTER = np.arange(N) % 12

#: What scikit-learn calls them.
PEERS = {
    "RMSE": metrics.root_mean_squared_error,
    "MSE": metrics.mean_squared_error,
    "MAE": metrics.mean_absolute_error,
    "MAPE": metrics.mean_absolute_percentage_error,
    "MSLE": metrics.mean_squared_log_error,
    "RMSLE": metrics.root_mean_squared_log_error,
    "MedAE": metrics.median_absolute_error,
    "R2": metrics.r2_score,
    "explained-variance": metrics.explained_variance_score,
    "pinball(alpha=0.9)": lambda *of, **kw: metrics.mean_pinball_loss(*of, alpha=0.9, **kw),
    "D2-pinball": metrics.d2_pinball_score,
    "D2-absolute-error": metrics.d2_absolute_error_score,
}


def evaluated(*measures: str, said: Any = SAID, **options: Any) -> Evaluation:
    given = {"outputs": NAMES, "n_resamples": 200, "curves": False, **options}
    return cal.regression(TRUTH, said, measures=measures or None, **given)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["alike", "weighted"])
@pytest.mark.parametrize("name", PEERS)
def test_values_are_those_of_scikit_learn(name: str, weight: Any) -> None:
    ev = evaluated(name, f"macro-{name}", weight=weight, interval="none")
    theirs = {
        how: PEERS[name](TRUTH, SAID, sample_weight=weight, multioutput=how)
        for how in ("raw_values", "uniform_average")
    }
    own, macro = [e.value for e in ev][:3], ev[f"macro-{name}"].value
    assert [e.measure for e in ev][:3] == [
        name.replace(*("(", f"[{o}](") if "(" in name else (name, f"{name}[{o}]")) for o in NAMES
    ]
    np.testing.assert_allclose(own, theirs["raw_values"], rtol=1e-12)
    np.testing.assert_allclose(macro, theirs["uniform_average"], rtol=1e-12)
    uneven = PEERS[name](TRUTH, SAID, sample_weight=weight, multioutput=[0.3, 0, 0.7])
    asked = f"macro-{name.replace(')', ',')}" if "(" in name else f"macro-{name}("
    ev = evaluated(f"{asked}weights=[3,0,7])", weight=weight, interval="none")
    np.testing.assert_allclose(ev.estimates[0].value, uneven, rtol=1e-12)
    if name in ("R2", "explained-variance"):
        weighed = PEERS[name](TRUTH, SAID, sample_weight=weight, multioutput="variance_weighted")
        value = evaluated(f"variance-weighted-{name}", weight=weight, interval="none")
        np.testing.assert_allclose(value.estimates[0].value, weighed, rtol=1e-12)


@pytest.mark.parametrize("name", ["RMSE", "R2", "MAE", "Spearman", "MedAE"])
def test_weights_of_outputs(name: str) -> None:
    """Of one output that counts, or of two alike, it is their mean; with interval and test."""
    said = {"new": SAID, "old": SAID + np.arange(N)[:, None] % 3}
    for asked, same in (
        (f"macro-{name}(weights=[0,2,0])", f"macro-{name}(labels={list(NAMES[1:2])})"),
        (f"macro-{name}(multioutput=[1,1,0.0])", f"macro-{name}(labels={list(NAMES[:2])})"),
    ):
        ev = evaluated(asked, same, said=said, baseline="old")
        first, second = ev.estimates[:2]
        assert first.measure == asked.replace("multioutput", "weights").replace(
            "[0,2,0]", "[0.0,2.0,0.0]").replace("[1,1,0.0]", "[1.0,1.0,0.0]")  # fmt: skip
        assert (
            str(cal.measure(first.measure, family=("regression", "fit", "order"))) == first.measure
        )
        for of in ((first, second), tuple(ev.comparison)):
            a, b = ((x.value, x.low, x.high) for x in of)
            np.testing.assert_allclose(a, b, rtol=1e-6)
        assert first.no_skill == pytest.approx(second.no_skill, nan_ok=True)


def test_weights_of_outputs_that_are_none() -> None:
    for given in ("[-1,2,3]", "[0,0,0]", "['a']", "3"):
        with pytest.raises(UnknownMeasureError, match="expected what each output counts for"):
            cal.measure(f"macro-R2(weights={given})", family="fit")
    with pytest.raises(InputError, match="has 2 weights, there are 3 outputs"):
        evaluated("macro-R2(weights=[1,2])")
    with pytest.raises(UnknownMeasureError, match="of the outputs of a regression"):
        cal.measure("macro-F1(weights=[1,2])")


def test_scikit_learns_names_of_averages_are_read() -> None:
    for text, name in (
        ("r2_score_variance_weighted", "variance-weighted-R2"),
        ("R2_uniform_average", "macro-R2"),
        ("macro-rmse", "macro-RMSE"),
    ):
        assert str(cal.measure(text, family=("regression", "fit", "order"))) == name
    with pytest.raises(
        UnknownMeasureError, match="not a proportion of the variance of the truth; expected"
    ):
        cal.measure("variance-weighted-RMSE")


# --- Intervals -----------------------------------------------------------------------------------


def test_the_jackknife_of_an_average_leaves_a_row_out_of_all_outputs() -> None:
    """On the scale log(1 − value), by hand with scikit-learn."""
    for how, name in (
        ("uniform_average", "macro-R2"),
        ("variance_weighted", "variance-weighted-R2"),
    ):
        without = np.array([
            np.log1p(-metrics.r2_score(*(np.delete(x, i, axis=0) for x in (TRUTH, SAID)), multioutput=how))
            for i in range(N)
        ])  # fmt: skip
        found = evaluated(name)[name]
        value = metrics.r2_score(TRUTH, SAID, multioutput=how)
        apart = np.log1p(-value) - without
        se = np.sqrt((N - 1) / N * (apart**2).sum()) * (1 - value)
        assert found.standard_error == pytest.approx(se, rel=1e-9)


def test_an_average_of_rmse_varies_by_its_derivative() -> None:
    """The mean of √m over outputs moves by Σ(x − m)/(2√m)/k a row: by hand, with n − 1."""
    squares = (SAID - TRUTH) ** 2
    moved = ((squares - squares.mean(axis=0)) / (2 * np.sqrt(squares.mean(axis=0)))).mean(axis=1)
    se = np.sqrt((moved**2).sum() / (N * (N - 1)))
    assert evaluated("macro-RMSE", interval="delta")["macro-RMSE"].standard_error == pytest.approx(
        se
    )
    ones = np.bincount(CLUSTER, moved / N)
    clustered = np.sqrt(12 / 11 * (ones**2).sum())
    found = evaluated("macro-RMSE", cluster=CLUSTER)["macro-RMSE"].standard_error
    assert found == pytest.approx(clustered)


def test_an_average_is_surer_than_an_output_unless_they_go_together() -> None:
    """The same residuals three times are those of one; independent ones have a third of the
    variance."""
    residual = RNG.normal(size=(500, 3))
    truth = np.zeros_like(residual)
    same = np.repeat(residual[:, :1], 3, axis=1)
    one = cal.regression(truth[:, 0], residual[:, 0], measures=["RMSE"])["RMSE"]
    for said, share in ((same, 1.0), (residual, 1 / 3)):
        ev = cal.regression(truth, said, measures=["macro-RMSE"])
        variance = ev["macro-RMSE"].standard_error ** 2 / one.standard_error**2
        assert variance == pytest.approx(share, rel=1e-9 if said is same else 0.2)


# --- Laws ----------------------------------------------------------------------------------------

AVERAGED = ("macro-RMSE", "macro-R2", "variance-weighted-R2", "macro-MAE", "macro-Spearman")


def numbers(ev: Evaluation) -> list[tuple[float, ...]]:
    made: list[tuple[float, ...]] = [(e.value, e.low, e.high, e.no_skill) for e in ev]
    if ev.comparison is not None:
        made += [(d.value, d.low, d.high, d.p) for d in ev.comparison]
    return made


@pytest.mark.parametrize("beside", [{}, {"weight": WEIGHT}, {"cluster": CLUSTER}], ids=str)
def test_one_output_is_a_vector(beside: dict[str, Any]) -> None:
    said = {"a": SAID[:, :1], "b": OTHER[:, :1]}
    plain = ["RMSE", "R2", "R2", "MAE", "Spearman"]
    one = cal.regression(
        TRUTH[:, 0], {n: x[:, 0] for n, x in said.items()}, measures=plain, **beside
    )
    same = cal.regression(TRUTH[:, :1], said, measures=plain, **beside)
    assert numbers(one) == numbers(same)
    assert one.estimates[0].measure == same.estimates[0].measure
    for measures in (AVERAGED[:2], AVERAGED[2:]):
        ev = cal.regression(TRUTH[:, :1], said, outputs=["x"], measures=measures, **beside)
        own = [m.split("-")[-1] for m in measures]
        like = cal.regression(
            TRUTH[:, 0], {n: x[:, 0] for n, x in said.items()}, measures=own, **beside
        )
        kept = [n for n in range(len(measures)) if measures[n] != "macro-Spearman"]
        np.testing.assert_allclose(
            [numbers(ev)[i] for i in kept], [numbers(like)[i] for i in kept], rtol=1e-9
        )


def test_outputs_have_no_order() -> None:
    turned = [2, 0, 1]
    both = {"a": SAID, "b": OTHER}
    one = evaluated(*AVERAGED, said=both)
    two = cal.regression(
        TRUTH[:, turned],
        {n: x[:, turned] for n, x in both.items()},
        measures=AVERAGED,
        n_resamples=200,
    )
    np.testing.assert_allclose(numbers(one), numbers(two), rtol=1e-9)


def test_a_count_of_two_is_two_rows() -> None:
    twice = np.repeat(np.arange(N), 2)
    one = evaluated(*AVERAGED, count=np.full(N, 2))
    two = cal.regression(TRUTH[twice], SAID[twice], measures=AVERAGED, n_resamples=200)
    np.testing.assert_allclose(numbers(one), numbers(two), rtol=1e-9)
    weighed = evaluated(*AVERAGED, weight=np.full(N, 2.0))
    np.testing.assert_allclose(numbers(weighed), numbers(evaluated(*AVERAGED)), rtol=1e-9)


def test_an_average_of_some_outputs() -> None:
    ev = evaluated("macro-R2(without=['rooms'])", "macro-RMSE(labels=['price','area'])")
    some = evaluated("R2", "RMSE", interval="none")
    value = [some[f"{m}[{o}]"].value for m in ("R2", "RMSE") for o in NAMES[:2]]
    assert [e.value for e in ev] == pytest.approx([np.mean(value[:2]), np.mean(value[2:])])
    with pytest.raises(InputError, match="'room' is not an output; did you mean 'rooms'"):
        evaluated("macro-R2(without=['room'])")


def test_an_output_that_does_not_vary() -> None:
    """scikit-learn gives it 0; here an average that counts it has no value, and says why. By
    variance it weighs nothing in either."""
    truth = TRUTH.copy()
    truth[:, 2] = 3.0
    ev = cal.regression(truth, SAID, measures=["macro-R2", "variance-weighted-R2", "macro-MAE"])
    assert np.isnan(ev["macro-R2"].value)
    assert set(ev["macro-R2"].undefined) == {"constant_truth"}
    weighed = metrics.r2_score(truth, SAID, multioutput="variance_weighted")
    assert ev["variance-weighted-R2"].value == pytest.approx(weighed)


# --- Forms of data ---------------------------------------------------------------------------------


def same(ev: Evaluation, other: Evaluation | None = None) -> None:
    assert numbers(ev) == numbers(other or evaluated())
    assert [e.measure for e in ev] == [e.measure for e in other or evaluated()]


def test_tables_are_matched_by_the_names_of_columns() -> None:
    turned = ["rooms", "price", "area"]
    truth, said = pd.DataFrame(TRUTH, columns=NAMES), pd.DataFrame(SAID, columns=NAMES)
    for given in (
        said[turned],
        pl.from_pandas(said[turned]),
        pa.Table.from_pandas(said[turned]),
        {o: said[o].tolist() for o in turned},
        SAID.tolist(),
    ):
        same(cal.regression(truth, given, n_resamples=200))
    same(cal.regression(truth[turned], said, outputs=NAMES, n_resamples=200))
    both = evaluated(said={"a": SAID, "b": OTHER})
    same(cal.regression(truth, {"a": said, "b": OTHER.tolist()}, n_resamples=200), both)


def test_columns_of_a_table_by_name(tmp_path: Path) -> None:
    made = {"id": range(N)} | {f"y_{o}": TRUTH[:, k] for k, o in enumerate(NAMES)}
    for who, said in (("a", SAID), ("b", OTHER)):
        made |= {f"{who}_{o}": said[:, k] for k, o in enumerate(NAMES)}
    table = pd.DataFrame(made)
    both = evaluated(said={"a": SAID, "b": OTHER})
    given: dict[str, Any] = {"data": table, "n_resamples": 200}
    same(cal.regression("y_*", {"a": "a_*", "b": "b_*"}, **given), both)
    lists = {who: [f"{who}_{o}" for o in NAMES] for who in "ab"}
    truth = {o: f"y_{o}" for o in NAMES}
    same(cal.regression(truth, lists, **given), both)
    same(cal.regression(truth, lists["a"], **given))
    named = cal.regression([f"y_{o}" for o in NAMES], lists, **given)
    assert named["a", "RMSE[y_price]"].value == both["a", "RMSE[price]"].value
    apart = table[["id", *lists["a"]]].sample(frac=1, random_state=1)
    apart.columns = ["id", *NAMES]
    apart.to_csv(tmp_path / "a.csv", index=False)
    same(cal.regression(truth, {"a": tmp_path / "a.csv", "b": lists["b"]}, id="id", **given), both)


def test_rows_of_which_an_output_is_missing() -> None:
    truth, said = TRUTH.copy(), SAID.copy()
    truth[3, 1], said[5, 2], said[3, 0] = np.nan, np.nan, np.nan
    with pytest.raises(InputError, match=r"truth of 'area': is NaN in row 3"):
        cal.regression(truth, said, outputs=NAMES)
    ev = cal.regression(
        {o: truth[:, k] for k, o in enumerate(NAMES)},
        {"a": {o: said[:, k] for k, o in enumerate(NAMES)}},
        missing="drop",
        n_resamples=200,
    )
    kept = np.delete(np.arange(N), [3, 5])
    like = cal.regression(TRUTH[kept], {"a": SAID[kept]}, outputs=NAMES, n_resamples=200)
    same(ev, like)
    assert ev.notes == (
        "2 of 60 rows are left out because values are missing: 1 in truth 'area', "
        "1 in predicted 'a' of 'price', 1 in predicted 'a' of 'rooms'.",
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"predicted": SAID[:, :2]}, "predicted: has 2 columns for 3 outputs: price, area, rooms"),
        ({"predicted": SAID[:, 0]}, "predicted: has one column for 3 outputs"),
        ({"predicted": {"a": SAID, "b": SAID[:, 0]}}, "predicted 'b': has one column for 3"),
        (
            {"predicted": {"price": [1.0], "aera": [1.0], "rooms": [1.0]}},
            "'aera' is not an output; did",
        ),
        ({"predicted": SAID[:9]}, "predicted of 'price': has 9 rows, truth has 60"),
        ({"outputs": ["a", "b"]}, "outputs: 2 names for 3 columns of the truth"),
        ({"outputs": ["a", "a", "b"]}, "outputs: 'a' appears more than once"),
        ({"measures": ["RMSE[prize]"]}, "'prize' is not an output; did you mean 'price'"),
        ({"measures": ["mean-pinball"]}, "mean-pinball is of predicted quantiles"),
        ({"predicted": None, "quantiles": {0.5: SAID[:, 0]}}, "quantiles= are of one output"),
    ],
)
def test_what_is_wrong(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        cal.regression(**{"truth": TRUTH, "predicted": SAID, "outputs": NAMES, **given})


# --- What is said and drawn of each output ---------------------------------------------------------


def test_findings_name_the_output_and_its_measures() -> None:
    truth = np.random.default_rng(2).normal(size=(200, 2))
    said = np.column_stack([truth[:, 0], np.random.default_rng(3).normal(size=200)])
    given: dict[str, Any] = {"outputs": ["good", "bad"], "measures": ["macro-R2", "RMSE"]}
    own = [f for f in cal.regression(truth, {"a": said}, **given).findings if f.systems == ("a",)]
    assert {f.kind for f in own} == {"error-above-constant", "residual-trend"}
    for found in own:
        assert found.message.startswith("a on 'bad': ")
        assert found.measures == ("RMSE[bad]",)


def test_the_same_of_several_outputs_names_each() -> None:
    truth = np.random.default_rng(2).normal(size=(100, 4))
    said = np.random.default_rng(3).normal(size=(100, 4))
    text = str(cal.regression(truth, {"a": said}, outputs=list("wxyz"), measures=["RMSE"]))
    assert "a on 'w': RMSE " in text
    assert "Likewise: a on 'x', a on 'y', a on 'z'." in text


def test_a_note_where_averages_mix_units() -> None:
    assert evaluated("macro-R2", "macro-MAPE", "RMSE").notes == ()
    [note] = evaluated("macro-RMSE", "macro-MedAE").notes
    assert note.startswith(
        "macro-RMSE, macro-MedAE have the units of the outputs: where these diff"
    )


def test_curves_of_an_output_are_those_of_it_alone() -> None:
    both = {"a": SAID, "b": OTHER}
    ev = cal.regression(TRUTH, both, outputs=NAMES, n_resamples=200)
    one = cal.regression(TRUTH[:, 1], {n: x[:, 1] for n, x in both.items()}, n_resamples=200)
    assert len(ev.curves) == 3 * len(one.curves) == len(list(ev.curves))
    for kind in ("normal quantiles", "residual given truth"):
        found, like = cal.curve(ev, kind, "b", output="area"), cal.curve(one, kind, "b")
        np.testing.assert_array_equal(found.y, like.y)
        assert found.to_columns()["output"] == ["area"] * len(found)
    truth = cal.curve(ev, "values", "a", series="truth", output="rooms")
    assert truth.x[0] == min(TRUTH[:, 2].min(), SAID[:, 2].min(), OTHER[:, 2].min())
    with pytest.raises(InputError, match="several: name the output, one of price, area, rooms"):
        cal.curve(ev, "residuals", "a")


@pytest.mark.slow
def test_a_page_lets_the_reader_choose_the_output(tmp_path: Path) -> None:
    from calipers.report.charts import figures

    ev = cal.regression(TRUTH, {"a": SAID, "b": OTHER}, outputs=NAMES, n_resamples=200)
    drawn = [f for f in figures(ev) if f.chosen_by == "Output"]
    assert [f.choice for f in drawn] == list(NAMES) * 7
    read = Evaluation.from_json(ev.to_json(details=True))
    assert [c.output for c in read.curves] == [c.output for c in ev.curves]
    assert numbers(read) == numbers(ev)
    many = cal.regression(np.tile(TRUTH, 3), np.tile(SAID, 3), n_resamples=200)
    drawn = [f for f in figures(many) if f.chosen_by == "Output"]
    assert len(drawn) == 42
    assert drawn[0].caption.endswith("Charts of the first 6 of 9 outputs.")
    of_many = cal.regression(np.tile(TRUTH, 4), np.tile(SAID, 4), n_resamples=200)
    assert [e.measure for e in of_many] == ["macro-R2", "variance-weighted-R2"]
    assert not of_many.curves


def test_a_measure_called_with_tables() -> None:
    assert cal.measure("macro-R2")(TRUTH, SAID) == pytest.approx(metrics.r2_score(TRUTH, SAID))
    weight = {"weight": WEIGHT}
    found = cal.measure("macro-MAE")(TRUTH, SAID, **weight)
    assert found == pytest.approx(metrics.mean_absolute_error(TRUTH, SAID, sample_weight=WEIGHT))
    with pytest.raises(InputError, match="RMSE has a value for each output: ask for macro-RMSE"):
        cal.measure("RMSE")(TRUTH, SAID)
    with pytest.raises(InputError, match="macro-RMSE: there is one output, without a name"):
        cal.regression(TRUTH[:, 0], SAID[:, 0], measures=["macro-RMSE"])
    with pytest.raises(InputError, match=r"RMSE\[a\]: there is one output, without a name"):
        cal.regression(TRUTH[:, 0], quantiles={0.5: SAID[:, 0]}, measures=["RMSE[a]"])
    with pytest.raises(UnknownMeasureError, match="called 'weighted-R2'; its mean is macro-R2"):
        evaluated("weighted-R2")


def test_slices_and_pairs_of_an_average_by_hand() -> None:
    """The difference of two systems moves by the difference of what rows move both."""
    both = {"a": SAID, "b": OTHER}
    ev = evaluated("macro-MAE", said=both, slices={"half": np.arange(N) % 2})
    losses = {n: np.abs(x - TRUTH).mean(axis=1) for n, x in both.items()}
    apart = losses["b"] - losses["a"]
    assert ev.comparison is not None
    assert ev.comparison["macro-MAE"].value == pytest.approx(apart.mean())
    t = apart.mean() / (apart.std(ddof=1) / np.sqrt(N))
    p = 2 * stats.t.sf(abs(t), N - 1)
    assert ev.compare(test="t")["macro-MAE"].p == pytest.approx(p)
    assert ev.slices is not None
    parts = {(s.slice, s.estimate.system): s.estimate.value for s in ev.slices}
    assert parts["1", "b"] == pytest.approx(losses["b"][1::2].mean())


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_columns_in_a_list_beside_one_output_are_systems(engine: str) -> None:
    table = {"y": [1.0, 2.0, 4.0], "a": [1.0, 3.0, 4.0], "b": [2.0, 2.0, 2.0]}
    for named in (["a"], ["a", "b"]):
        found = cal.regression(["y"], named, data=pa.table(table), engine=engine, measures=["MAE"])
        assert list(found.systems) == named
        assert found["a", "MAE"].value == pytest.approx(1 / 3)
