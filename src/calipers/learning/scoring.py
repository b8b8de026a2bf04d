"""The score of one model on some rows, trained on others, with and without a feature."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from calipers.data.arrays import as_numbers, column_names, is_frame, missing_rows, values_missing
from calipers.data.classes import coded
from calipers.data.errors import InputError
from calipers.findings.words import Valued
from calipers.learning.columns import Columns
from calipers.learning.fitting import Fit, Job, Material, Places, fit_all
from calipers.statistics import FloatArray

#: Whole numbers of at most so many values are classes.
_CLASSES = 20
#: Forests of more rows than this take long.
_MANY = 10_000
#: Leaves of a tree that sees one feature.
_LEAVES = 64


@dataclass(frozen=True, eq=False)
class Scoring:
    """A model (``estimator``), what it is fitted on, and whether it tells classes apart. Each fit
    is made once."""

    columns: Columns
    features: Any
    target: Any
    classes: bool
    estimator: Any
    seed: int
    _kept: dict[Any, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls, columns: Columns, target: Any, features: Any, estimator: Any, task: str | None,
        seed: int,
    ) -> Scoring:  # fmt: skip
        """Of a model, or of gradient-boosted trees."""
        if task not in (None, "classification", "regression"):
            raise InputError(f"task is {task!r}, expected 'classification' or 'regression'")
        absent = missing_rows(target, "y")
        if absent.any():
            raise values_missing("y", np.flatnonzero(absent), len(absent))
        classes = _is_classes(target) if task is None else task == "classification"
        y = coded(target, "y").codes.astype(np.intp) if classes else as_numbers(target, "y")
        given = estimator is not None
        estimator = estimator if given else usual(len(y), seed, classes=classes)
        return cls(columns, features if given else columns.numbers, y, classes, estimator, seed)

    @property
    def name(self) -> str:
        """What is told: accuracy, or RMSE."""
        return "accuracy" if self.classes else "RMSE"

    @property
    def called(self) -> str:
        """The same at the start of a sentence."""
        return "Accuracy" if self.classes else "RMSE"

    def on(self, train: Places, test: Places, without: int | None = None) -> Valued:
        """The score with its interval."""
        from calipers.evaluate.classification import classification
        from calipers.evaluate.regression import regression

        said, truth = self._said(train, test, without), self.target[test]
        shown: dict[str, Any] = {"measures": self.name, "curves": False, "seed": self.seed}
        if self.classes:  # right or wrong, also where the rows tested have one class alone
            right = (said == truth).astype(np.intp)
            made = classification(np.ones_like(right), right, labels=[0, 1], positive=1, **shown)
            return Valued.of(made[self.name])
        return Valued.of(regression(truth, said, **shown)[self.name])

    def left(self, train: Places, test: Places, without: int | None = None) -> float:
        """The share of the best constant's error that the model leaves."""
        return self._share(train, test, self._said(train, test, without))

    def alone(self, train: Places, test: Places, column: int) -> float:
        """The share of the best constant's error that a feature leaves alone: in a tree, or in a
        line if that is less."""
        return min(self._share(train, test, said) for said in self._by_one(train, test, column))

    def p_alone(self, train: Places, test: Places, column: int) -> float:
        """How likely a tree that sees one feature would be so much better than the constant if it
        were as good: of classes by the rows that one of both has right, of numbers by t."""
        from scipy.stats import binomtest, ttest_rel

        said = self._by_one(train, test, column)[0]
        own, constant = self._losses(test, said), self._losses(test, self._constant(train))
        if self.classes:
            better, worse = int((own < constant).sum()), int((own > constant).sum())
            if better + worse == 0:
                return 1.0
            return float(binomtest(better, better + worse, alternative="greater").pvalue)
        return float(ttest_rel(constant, own, alternative="greater").pvalue)

    def within(self, train: Places) -> Valued:
        """The score on a quarter of the rows, trained on the others."""
        from calipers.learning.parts import split

        inner = split(len(train), test=0.25, seed=self.seed)
        return self.on(train[inner.train], train[inner.test])

    # ----------------------------------------------------------------------------------------- fits

    def _said(self, train: Places, test: Places, without: int | None) -> Any:
        key = train.tobytes(), test.tobytes(), without
        if key not in self._kept:
            features = self.features if without is None else _less(self.features, without)
            self._kept[key] = self._fitted(self.estimator, features, train, test)
        return self._kept[key]

    def _by_one(self, train: Places, test: Places, column: int) -> list[Any]:
        """What is said by a tree that sees one feature; of numbers also by a line."""
        from sklearn.linear_model import LinearRegression
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

        key = train.tobytes(), test.tobytes(), "alone", column
        if key not in self._kept:
            tree = DecisionTreeClassifier if self.classes else DecisionTreeRegressor
            one = self.columns.numbers[:, [column]]
            models = [tree(max_leaf_nodes=_LEAVES, min_samples_leaf=2, random_state=self.seed)]
            if not self.classes and np.isfinite(one).all():
                models.append(LinearRegression())
            self._kept[key] = [self._fitted(model, one, train, test) for model in models]
        return list(self._kept[key])

    def _fitted(self, model: Any, features: Any, train: Places, test: Places) -> Any:
        job = Job(model, train, (test,), name="the model of the check")
        fit: Fit[Any] | None = fit_all([job], Material(features, self.target), seed=self.seed).all[
            0
        ]
        assert fit is not None
        return fit.said[0]

    # --------------------------------------------------------------------------------------- losses

    def _constant(self, train: Places) -> Any:
        own = self.target[train]
        return np.bincount(own).argmax() if self.classes else own.mean()

    def _losses(self, test: Places, said: Any) -> FloatArray:
        truth = self.target[test]
        made = truth != said if self.classes else np.square(truth - said)
        return np.asarray(made, np.float64)

    def _share(self, train: Places, test: Places, said: Any) -> float:
        constant = float(self._losses(test, self._constant(train)).mean())
        own = float(self._losses(test, said).mean())
        return own / constant if constant else 1.0


def usual(rows: int, seed: int, *, classes: bool) -> Any:
    """The model where none is given: a random forest, of many rows gradient-boosted trees. Both
    take values that are missing."""
    from sklearn import ensemble as has

    if rows > _MANY:
        boosted = (has.HistGradientBoostingRegressor, has.HistGradientBoostingClassifier)
        return boosted[classes](random_state=seed)
    forest = (has.RandomForestRegressor, has.RandomForestClassifier)
    return forest[classes](random_state=seed)


def _is_classes(target: Any) -> bool:
    if target.dtype.kind not in "fiu":
        return True
    whole = target.dtype.kind != "f" or bool((target == np.floor(target)).all())
    return whole and len(np.unique(target)) <= _CLASSES


def _less(features: Any, column: int) -> Any:
    """A table without a column."""
    if not is_frame(features):
        return np.delete(np.asarray(features), column, axis=1)
    names = list(column_names(features))
    del names[column]
    return features.select(names) if hasattr(features, "select") else features[names]
