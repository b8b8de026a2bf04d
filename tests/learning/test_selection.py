"""Nested cross-validation: against the same loops written out with scikit-learn alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsClassifier

import calipers as cal

RNG = np.random.default_rng(2)
TABLE = RNG.normal(size=(60, 8))
TARGET = TABLE[:, 0] + RNG.normal(size=60)
RIDGES = {f"{alpha:g}": Ridge(alpha=alpha) for alpha in (3.0, 10.0, 30.0)}


def test_nested_cross_validation_is_two_loops() -> None:
    found = cal.select_model(
        RIDGES, TABLE, TARGET, cv=4, inner_cv=3, measure="MSE", seed=7, stratify=False
    )
    honest, table, chosen = [], [], []
    for number, (train, test) in enumerate(KFold(4, shuffle=True, random_state=7).split(TABLE)):
        within = np.zeros(len(RIDGES))
        for a, b in KFold(3, shuffle=True, random_state=8 + number).split(train):
            for place, model in enumerate(RIDGES.values()):
                said = model.fit(TABLE[train[a]], TARGET[train[a]]).predict(TABLE[train[b]])
                within[place] += mean_squared_error(TARGET[train[b]], said) / 3
        values = [
            mean_squared_error(
                TARGET[test], model.fit(TABLE[train], TARGET[train]).predict(TABLE[test])
            )
            for model in RIDGES.values()
        ]
        table.append(values)
        chosen.append(int(np.argmin(within)))
        honest.append(values[chosen[-1]])
    assert len(set(chosen)) > 1  # or there is nothing to be held
    means = np.mean(table, axis=0)
    assert found.corrected.value == pytest.approx(np.mean(honest), rel=1e-9)
    assert [one.apparent.value for one in found] == pytest.approx(means, rel=1e-9)
    assert found.best == list(RIDGES)[int(np.argmin(means))]
    assert [one.selection_frequency for one in found] == pytest.approx(
        np.bincount(chosen, minlength=3) / 4
    )
    apart = np.array(honest) - np.array(table)[:, np.argmin(means)]
    assert found.optimism.value == pytest.approx(apart.mean(), abs=1e-12)
    # Corrected resampled t: 15 rows tested for 45 trained on.
    assert found.optimism.standard_error == pytest.approx(
        apart.std(ddof=1) * np.sqrt(1 / 4 + 15 / 45), rel=1e-9
    )


@pytest.mark.slow
def test_noise_is_worth_no_more_than_guessing() -> None:
    models = {f"{k}": KNeighborsClassifier(k) for k in (1, 3, 5, 9)}
    gaps = []
    for seed in range(4):
        random = np.random.default_rng(seed)
        table, classes = random.normal(size=(60, 3)), np.arange(60) % 2
        found = cal.select_model(
            models, table, classes, measure="accuracy", cv=5, inner_cv=3, seed=seed
        )
        gaps.append(found.optimism.value)
        assert found[found.best].apparent.value >= max(one.apparent.value for one in found)
    assert np.mean(gaps) > 0


def test_the_same_whatever_works_at_a_time() -> None:
    made = [
        cal.select_model(RIDGES, TABLE, TARGET, cv=3, inner_cv=2, n_jobs=n_jobs).to_json()
        for n_jobs in (1, 2)
    ]
    assert made[0] == made[1]


def test_what_cannot_be_chosen() -> None:
    with pytest.raises(cal.InputError, match="two or more estimators"):
        cal.select_model({"one": Ridge()}, TABLE, TARGET)


def test_what_ctrl_c_interrupts_is_called_by_its_name() -> None:
    class Stops(LogisticRegression):
        done = 0

        def fit(self, features: Any, target: Any) -> Stops:
            Stops.done += 1
            if Stops.done == 15:
                raise KeyboardInterrupt
            return super().fit(features, target)

    random = np.random.default_rng(0)
    features, target = random.normal(size=(60, 2)), np.arange(60) % 2
    models = {"a": Stops(), "b": Stops(C=0.1)}
    with pytest.warns(UserWarning, match=r"^select_model was interrupted after \d of 3 splits"):
        cal.select_model(models, features, target, measure="accuracy", cv=3, inner_cv=2, n_jobs=1)
