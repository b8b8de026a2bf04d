"""Slices, costs, progress and groups within searches, against evaluations written out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeCV
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    cross_val_predict,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import calipers as cal
from calipers import InputError
from calipers.learning.cross_validation import widened_level
from calipers.learning.split_designs import SplitDesign

X, Y = load_diabetes(return_X_y=True)
SITE = np.array(["north", "south", "west"])[np.arange(len(Y)) % 3]
AGE = X[:, 0]
GROUP = np.arange(len(Y)) // 20
FIVE = KFold(5, shuffle=True, random_state=0)


def test_slices_are_those_of_the_predictions_of_scikit_learn() -> None:
    models = {"ols": LinearRegression(), "ridge": Ridge(0.1)}
    slices = {"site": SITE, "age*site": (AGE, SITE)}
    ev = cal.cross_validate(
        models, X, Y, cv=5, measures=["MSE", "MAE"], slices=slices, slice_bins={"age": [0.0]}
    )
    predicted = {name: cross_val_predict(model, X, Y, cv=FIVE) for name, model in models.items()}
    pairs = list(FIVE.split(X))
    level = widened_level(0.95, SplitDesign.from_pairs(pairs, ""))
    assert 0 <= ev.slices.level - level <= 1e-4
    plain = cal.regression(
        Y, predicted, measures=["MSE", "MAE"], slices=slices, slice_bins={"age": [0.0]},
        level=ev.slices.level,
    )  # fmt: skip
    assert len(ev.slices) == 2 * 2 * (3 + 6)
    for ours, expected in zip(ev.slices, plain.slices, strict=True):
        assert (ours.slice, ours.estimate.system) == (expected.slice, expected.estimate.system)
        pair = [(s.estimate.value, s.estimate.low, s.vs_rest.p_adjusted) for s in (ours, expected)]
        assert pair[0] == pytest.approx(pair[1], rel=1e-9)
    ours, expected = (
        [(d.difference.value, d.difference.low, d.difference.p_adjusted) for d in e.differences]
        for e in (ev.slices, plain.slices)
    )
    assert np.array(ours) == pytest.approx(np.array(expected), rel=1e-9)
    # The averages over folds do not depend on slices.
    assert ev["ols", "MSE"] == cal.cross_validate(models, X, Y, cv=5, measures="MSE")["ols", "MSE"]


def test_slices_of_repetitions_are_of_the_first_one_and_of_a_split_of_its_rows() -> None:
    once, twice = (
        cal.cross_validate(Ridge(), X, Y, cv=FIVE, measures="MSE", slices={"site": SITE}),
        cal.cross_validate(
            Ridge(), X, Y, cv=[*FIVE.split(X), *FIVE.split(X)], measures="MSE",
            slices={"site": SITE},
        ),
    )  # fmt: skip
    values = [[s.estimate.value for s in ev.slices] for ev in (once, twice)]
    assert values[0] == pytest.approx(values[1], rel=1e-12)
    assert any("first repetition" in note for note in twice.notes)
    split = cal.split(len(Y), test=0.4)
    ev = cal.cross_validate(Ridge(), X, Y, split=split, measures="MSE", slices={"site": SITE})
    model = Ridge().fit(X[split.train], Y[split.train])
    for item in ev.slices:
        rows = split.test[SITE[split.test] == item.slice]
        expected = np.mean((model.predict(X[rows]) - Y[rows]) ** 2)
        assert item.estimate.value == pytest.approx(expected, rel=1e-9)
    assert ev.slices.level == 0.95


def test_slices_and_costs_of_predictions_and_of_a_table() -> None:
    predicted, ms = cross_val_predict(Ridge(), X, Y, cv=FIVE), np.arange(len(Y)) % 7
    fold = np.empty(len(Y), int)
    for k, (_, test) in enumerate(FIVE.split(X)):
        fold[test] = k
    table = pd.DataFrame({"y": Y, "p": predicted, "fold": fold, "site": SITE, "ms": ms})
    ours = cal.cross_validate(
        truth="y", predicted={"ridge": "p"}, fold="fold", data=table, slices=["site"],
        cost={"time": "ms"}, task="regression", measures="MSE",
    )  # fmt: skip
    fitted = cal.cross_validate(
        {"ridge": Ridge()}, X, Y, cv=FIVE, slices={"site": SITE}, cost={"time": ms}, measures="MSE"
    )
    for a, b in zip(ours.slices, fitted.slices, strict=True):
        assert (a.estimate.value, a.estimate.low) == pytest.approx(
            (b.estimate.value, b.estimate.low), rel=1e-9
        )
    assert ours["mean-cost[time]"].value == pytest.approx(ms.mean())
    assert ours.costs["mean-cost[time]"] == fitted.costs["mean-cost[time]"]


def test_costs_are_of_rows_and_fronts_of_averages_over_folds() -> None:
    ms = np.random.default_rng(0).exponential(size=len(Y))
    models = {"ols": LinearRegression(), "ridge": Ridge(1.0)}
    cost = {"ms": {"ols": ms, "ridge": 2 * ms}, "price": {"ols": 1.0, "ridge": 0.5}}
    ev = cal.cross_validate(models, X, Y, measures="MSE", cost=cost, n_repeats=2, group=GROUP)
    plain = cal.regression(
        Y, {"ols": Y, "ridge": Y}, cost=cost, measures="MSE", cluster=GROUP
    ).costs
    for e, expected in zip(ev.costs, plain, strict=True):
        assert (e.measure, e.system) == (expected.measure, expected.system)
        values = [(x.value, x.low, x.high) for x in (e, expected)]
        assert values[0] == pytest.approx(values[1], rel=1e-9, nan_ok=True)
    assert ev.costs.level == 0.95
    front = ev.pareto_fronts[0]
    assert [row.quality for row in front] == [ev[name, "MSE"].value for name in models]
    # By the comparison over folds, ols is significantly better, and it is cheaper per row.
    assert ev.comparison["MSE"].p < 0.05
    assert front.all[1].significantly_dominated_by == ("ols",)
    assert cal.Evaluation.from_dict(ev.to_dict()).costs.measures == ev.costs.measures


def test_no_interval_is_none_of_slices_either() -> None:
    ev = cal.cross_validate(Ridge(), X, Y, interval="none", measures="MSE", slices={"site": SITE})
    assert all(np.isnan(item.estimate.low) for item in ev.slices)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"slices": {"site": SITE[:-1]}}, "slice 'site'"),
        ({"slices": {"site": np.append(SITE, "north")}}, "slice 'site'"),
        ({"slices": ["site"]}, "site"),
        ({"slice_bins": {"age": [1]}}, "not a slice"),
        ({"cost": {"ms": np.ones(3)}}, "cost 'ms'"),
        ({"cost": {"ms": -np.ones(len(Y))}}, "expected 0 or more"),
        ({"progress": "yes"}, "progress is 'yes'"),
    ],
)
def test_what_is_refused(how, message) -> None:
    n_fits: list[int] = []
    options = {"progress": lambda *_: n_fits.append(1), **how}
    with pytest.raises(InputError, match=message):
        cal.cross_validate(Ridge(), X, Y, cv=3, measures="MSE", **options)
    assert not n_fits


# --- Progress -------------------------------------------------------------------------------------


def test_progress_is_of_all_fits(capsys: pytest.CaptureFixture[str]) -> None:
    steps: list[tuple[int, int]] = []
    models = {"ols": LinearRegression(), "ridge": Ridge()}
    quiet = cal.cross_validate(models, X, Y, cv=3, n_repeats=2)
    loud = cal.cross_validate(
        models, X, Y, cv=3, n_repeats=2, progress=lambda done, total: steps.append((done, total))
    )
    assert steps == [(k, 12) for k in range(1, 13)]
    assert quiet.estimates == loud.estimates
    steps.clear()
    options = {"cv": 2, "progress": lambda done, total: steps.append((done, total))}
    cal.select_model(models, X, Y, inner_cv=3, **options)
    assert steps[-1] == (16, 16)
    cal.validation_curve(Ridge(), X, Y, param_name="alpha", param_range=[0.1, 1.0], **options)
    assert steps[-1] == (4, 4)
    assert not capsys.readouterr().err
    cal.cross_validate(Ridge(), X, Y, cv=3, progress=True)
    assert capsys.readouterr().err == "\rfit 1 of 3\rfit 2 of 3\rfit 3 of 3\n"


def test_an_error_in_the_callback_is_raised_and_ends_it() -> None:
    def stop(done: int, total: int) -> None:
        raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        cal.cross_validate(Ridge(), X, Y, cv=3, progress=stop)
    cal.cross_validate(Ridge(), X, Y, cv=3)


# --- Groups within the training rows --------------------------------------------------------------

GRID = {"alpha": [1e-3, 1e-1, 1.0, 10.0]}


@pytest.mark.slow
def test_a_search_keeps_groups_together() -> None:
    # The rows of a group are copies with noise, so that folds of rows prefer small penalties.
    random = np.random.default_rng(1)
    group = np.repeat(np.arange(40), 5)
    features = np.repeat(random.normal(size=(40, 30)), 5, axis=0)
    features += 0.01 * random.normal(size=features.shape)
    target = np.repeat(features[::5, 0] + 2 * random.normal(size=40), 5)
    order = random.permutation(200)
    features, target, group = features[order], target[order], group[order]
    ours = cal.cross_validate(
        GridSearchCV(Ridge(), {"alpha": [1e-3, 1e2]}, cv=4),
        features, target, group=group, cv=5, measures=["MSE"],
    )  # fmt: skip
    expected, plain = [], []
    for train, test in GroupKFold(5).split(features, target, group):
        search = GridSearchCV(Ridge(), {"alpha": [1e-3, 1e2]}, cv=GroupKFold(4))
        search.fit(features[train], target[train], groups=group[train])
        expected.append(np.mean((search.predict(features[test]) - target[test]) ** 2))
        search = GridSearchCV(Ridge(), {"alpha": [1e-3, 1e2]}, cv=4).fit(
            features[train], target[train]
        )
        plain.append(np.mean((search.predict(features[test]) - target[test]) ** 2))
    assert ours.per_unit.values["GridSearchCV"]["MSE"] == pytest.approx(expected, rel=1e-9)
    assert np.mean(plain) > 1.05 * np.mean(expected)


@pytest.mark.slow
def test_classifiers_pipelines_and_others_with_folds() -> None:
    cancer, label = load_breast_cancer(return_X_y=True)
    cancer, label, group = cancer[::3], label[::3], np.arange(190) // 5
    model = make_pipeline(
        StandardScaler(), GridSearchCV(LogisticRegression(), {"C": [1e-3, 1.0]}, cv=3)
    )
    ours = cal.cross_validate(model, cancer, label, group=group, cv=3, measures=["accuracy"])
    expected = []
    outer = StratifiedGroupKFold(3, shuffle=True, random_state=0)
    for train, test in outer.split(cancer, label, group):
        pairs = list(StratifiedGroupKFold(3).split(cancer[train], label[train], group[train]))
        fitted = clone(model).set_params(gridsearchcv__cv=pairs).fit(cancer[train], label[train])
        expected.append(fitted.score(cancer[test], label[test]))
    values = next(iter(ours.per_unit.values.values()))["accuracy"]
    assert values == pytest.approx(expected, rel=1e-12)
    ours = cal.cross_validate(RidgeCV(GRID["alpha"], cv=3), X, Y, group=GROUP, measures=["MSE"])
    assert ours["MSE"].n == 10


def test_select_model_compares_on_folds_of_groups() -> None:
    models = {str(alpha): Ridge(alpha) for alpha in GRID["alpha"]}
    ours = cal.select_model(models, X, Y, group=GROUP, cv=5, inner_cv=4, measure="MSE")
    nested = []
    for train, test in GroupKFold(5).split(X, Y, GROUP):
        means = {}
        for name, model in models.items():
            errors = [
                np.mean((clone(model).fit(X[train[a]], Y[train[a]]).predict(X[train[b]])
                         - Y[train[b]]) ** 2)
                for a, b in GroupKFold(4).split(X[train], Y[train], GROUP[train])
            ]  # fmt: skip
            means[name] = np.mean(errors)
        best = clone(models[min(means, key=means.get)]).fit(X[train], Y[train])
        nested.append(np.mean((best.predict(X[test]) - Y[test]) ** 2))
    assert ours.corrected.value == pytest.approx(np.mean(nested), rel=1e-9)


@pytest.mark.slow
def test_too_few_groups_and_splitters_that_ignore_them() -> None:
    search = GridSearchCV(Ridge(), GRID, cv=10)
    group = np.arange(len(Y)) % 6
    with pytest.raises(InputError, match=r"cv is 10 folds, and its .* training rows have 4 groups"):
        cal.cross_validate(search, X, Y, group=group, cv=3)
    with pytest.raises(InputError, match=r"fold 1, inner_cv=8: .* 5 groups, expected 8"):
        cal.select_model({"a": Ridge(), "b": Ridge(2)}, X, Y, group=group, cv=6, inner_cv=8)
    with pytest.raises(InputError, match=r"group: .* 4 groups, expected 5"):
        cal.cross_validate(Ridge(), X, Y, group=np.arange(len(Y)) % 4, cv=5)
    fixed = GridSearchCV(Ridge(), GRID, cv=[(np.arange(9), np.arange(9, 20))])
    with pytest.raises(InputError, match="pairs of indices"):
        cal.cross_validate(fixed, X, Y, group=group, cv=3)
    careless = GridSearchCV(Ridge(), GRID, cv=KFold(3))
    ev = cal.cross_validate(careless, X, Y, group=group, cv=3)
    assert any("cv=KFold has rows of a group on both sides" in note for note in ev.notes)
    careful = GridSearchCV(Ridge(), GRID, cv=GroupKFold(3))
    ev = cal.cross_validate(careful, X, Y, group=group, cv=3)
    assert not any("on both sides" in note for note in ev.notes)
