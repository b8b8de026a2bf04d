"""Checks of a split: duplicates, groups and times in both parts, leaking features, and shift.

Each check is a function that yields a finding only if it changes the score or is significant, with
the number of rows, examples, and the score with and without them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from calipers.data.arrays import (
    check_length,
    column_names,
    is_frame,
    missing_mask,
    report_missing,
    to_array,
    to_numbers,
)
from calipers.data.class_labels import encode_labels
from calipers.data.errors import InputError
from calipers.evaluation.arguments import validate_arguments
from calipers.findings.formatting import IntervalNumber
from calipers.learning.feature_columns import FeatureColumns, time_ranks
from calipers.learning.fitting import (
    FitJob,
    FitResult,
    Places,
    TrainingData,
    fit_all,
    require_sklearn,
)
from calipers.learning.split import Split, split, to_split
from calipers.results import Finding
from calipers.statistics import FloatArray


@dataclass(frozen=True, eq=False)
class SplitCheck:
    """Result of the checks of a split, true if there are findings.

    Attributes
    ----------
    checked : tuple of str
        Kinds of the checks that were made.
    findings : tuple of Finding
        Findings in order of severity, the most severe first.
    notes : tuple of str
        Notes on checks that were not made.
    examples : mapping
        Examples of rows, groups or columns by kind of finding.
    """

    checked: tuple[str, ...]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()
    examples: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "checked": list(self.checked),
            "findings": [one.to_dict() for one in self.findings],
            "examples": {kind: [to_python(e) for e in of] for kind, of in self.examples.items()},
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        looked = f"Checked: {', '.join(self.checked)}."
        found = [f"{one.severity}: {one.message}" for one in self.findings]
        return "\n".join([*(found or ["No problem was found."]), looked, *self.notes])

    __repr__ = __str__


@validate_arguments
def check_split(
    parts: Any,
    X: Any,
    y: Any = None,
    *,
    group: Any = None,
    time: Any = None,
    estimator: Any = None,
    task: str | None = None,
    seed: int = 0,
) -> SplitCheck:
    """Check a train/test split for data leakage and distribution shift.

    The checks look for duplicates of test rows in the training set, groups and times in both parts,
    a feature that leaks the target, a feature that numbers the rows, and parts that differ. A
    finding has the number of rows, examples, and the score with and without them.

    Parameters
    ----------
    parts : Split, array-like of shape (n,), or dict or sequence of indices
        What :func:`calipers.split` made; or the indices of rows trained and tested on, or of all
        three parts, in this order or by name; or a column that says "train", "validation" or "test"
        of each row.
    X : array-like of shape (n, n_features)
        Features of the rows.
    y : array-like of shape (n,), optional
        Class or number of each row that is to be predicted. Without it nothing is scored, and what
        needs scores is left out.
    group : array-like of shape (n,), optional
        Group of each row (user, patient), against which the two sides are checked.
    time : array-like of shape (n,), optional
        Time of each row, against which the two sides are checked.
    estimator : estimator, optional
        Model whose scores are told: by default a random forest of scikit-learn, of more than 10,000
        rows gradient-boosted trees.
    task : {'classification', 'regression'}, optional
        What the model does, where the target does not tell: text, and whole numbers of at most 20
        values, are classes.
    seed : int, default=0
        Seed of the fits.

    Returns
    -------
    SplitCheck
        True if there are findings. ``findings`` are in order of severity, and ``examples`` hold
        rows (or groups, or columns) of each kind.

    Raises
    ------
    InputError
        If an argument is invalid, or a fit fails.

    Notes
    -----
    Scores are accuracy for classes and RMSE for numbers, with the intervals of
    :func:`calipers.classification` and :func:`calipers.regression`. Only exact duplicates, and only
    features that leak the target alone, are found.

    Examples
    --------
    >>> import numpy as np, calipers as cal
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 4))
    >>> y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    >>> bool(cal.check_split(cal.split(300), X, y))
    False
    >>> given_away = np.column_stack([X, 2 * y - 1])
    >>> [f.kind for f in cal.check_split(cal.split(300), given_away, y).findings]
    ['gives-away']
    """
    require_sklearn("checking a split")
    columns = FeatureColumns.of(X)
    made = to_split(parts, columns.rows, "parts", second="test")
    for name, of in (("train", made.train), ("test", made.test)):
        if not len(of):
            raise InputError(f"parts: no row to {name} on")
    known = {
        name: None if given is None else to_array(given, name)
        for name, given in {"y": y, "group": group, "time": time}.items()
    }
    for name, given in known.items():
        if given is not None:
            check_length(given, columns.rows, name, "X has")
    scoring = None if y is None else ModelScorer.of(columns, known["y"], X, estimator, task, seed)
    target = None if scoring is None else scoring.target
    asked = SplitData(columns, made, scoring, target, known["group"], known["time"], seed)
    looks: dict[str, Callable[[SplitData], Iterator[SplitFault]]] = {"copies": copies}
    if group is not None:
        looks["shared-groups"] = shared_groups
    if time is not None:
        looks["time-order"] = future_rows
    if scoring is not None:
        looks |= {"gives-away": target_leakage, "row-numbers": row_index_leakage}
    looks["shift"] = distribution_shift
    found = [(kind, one) for kind, look in looks.items() for one in look(asked)]
    found.sort(key=lambda pair: ("warning", "caution", "information").index(pair[1].severity))
    notes = [] if scoring is not None else ["No model was scored, since y= was not given."]
    return SplitCheck(
        tuple(looks),
        tuple(_finding(kind, one) for kind, one in found),
        tuple(notes),
        {kind: one.examples for kind, one in found},
    )


def _finding(kind: str, one: SplitFault) -> Finding:
    valued = {n: v for n, v in one.numbers.items() if isinstance(v, IntervalNumber)}
    return Finding(
        kind=kind,
        message=one.sentence,
        criterion=CHECKS[kind],
        severity=one.severity,
        values={
            n: float(v.value if isinstance(v, IntervalNumber) else v)
            for n, v in one.numbers.items()
        },
        intervals={n: (v.low, v.high) for n, v in valued.items() if not math.isnan(v.low)},
    )


#: The criterion of each check.
CHECKS: Mapping[str, str] = {
    "copies": "Two or more test rows, and at least 1% of them, have the features and the target of "
    "a training row, in a table of mostly distinct rows.",
    "shared-groups": "A group has rows in both parts.",
    "time-order": "A training row is not earlier than the first test row.",
    "gives-away": "One feature alone leaves less than 1% of the error of the best constant "
    "prediction, and without it the model leaves at least 10% more of that error.",
    "row-numbers": "A feature numbers the rows and predicts better than the best constant "
    "prediction (p < 0.001).",
    "shift": "A column differs between the parts (p < 0.001 after Holm's adjustment), or a "
    "classifier distinguishes their rows (AUC above 0.5 at level 0.999).",
}
#: The smallest number and proportion of duplicated test rows.
_COPIES, _SHARE = 2, 0.01
#: The largest error left by a leaking feature alone, and the smallest increase without it.
_LEFT, _LOST = 0.01, 0.1
#: The significance level.
_SURE = 0.001
#: The number of examples shown.
_SHOWN = 5


@dataclass(frozen=True, eq=False)
class SplitData:
    """Input of the checks."""

    columns: FeatureColumns
    parts: Split
    scoring: ModelScorer | None
    target: Any
    group: Any
    time: Any
    seed: int

    @property
    def train(self) -> Places:
        """Rows of the training and validation sets."""
        return np.concatenate([self.parts.train, self.parts.validation])

    @property
    def test(self) -> Places:
        """Rows of the test set."""
        return self.parts.test


@dataclass(frozen=True, eq=False)
class SplitFault:
    """Finding of a check: sentence, severity, values and examples."""

    sentence: str
    severity: str
    numbers: Mapping[str, float | IntervalNumber]
    examples: tuple[Any, ...]


def _format_values(values: Any) -> str:
    """Format the first examples."""
    first = [str(to_python(value)) for value in values[:_SHOWN]]
    more = ", …" if len(values) > _SHOWN else ""
    return ", ".join(first) + more


def to_python(value: Any) -> Any:
    """Convert a NumPy scalar to a Python object."""
    return value.item() if isinstance(value, np.generic) else value


# ------------------------------------------------------------------------------ rows on both sides


def copies(a: SplitData) -> Iterator[SplitFault]:
    """Find test rows that are duplicates of training rows."""
    rows = a.columns.same_rows(a.target)
    # Features with few values produce duplicates by chance.
    if len(np.unique(rows[a.train])) < len(a.train) / 2:
        return
    copied = np.isin(rows[a.test], rows[a.train])
    count = int(copied.sum())
    if count < max(_COPIES, _SHARE * len(a.test)):
        return
    where = a.test[copied]
    same = "features and target" if a.target is not None else "features"
    sentence = (
        f"{count:,} of {len(a.test):,} test rows ({count / len(a.test):.1%}) duplicate training "
        f"rows (same {same}; rows {_format_values(where)})."
    )
    numbers: dict[str, float | IntervalNumber] = {"copies": count}
    if a.scoring is not None and count < len(a.test):
        with_, without = a.scoring.on(a.train, a.test), a.scoring.on(a.train, a.test[~copied])
        numbers |= {f"{a.scoring.name} with": with_, f"{a.scoring.name} without": without}
        sentence += f" {a.scoring.called} is {with_}, and {without} without them."
    sentence += " Remove duplicates before splitting."
    yield SplitFault(sentence, "warning", numbers, tuple(where[:_SHOWN].tolist()))


def shared_groups(a: SplitData) -> Iterator[SplitFault]:
    """Find groups with rows in both parts; score a split that keeps groups together."""
    groups = encode_labels(a.group, "group")
    shared = np.intersect1d(groups.codes[a.train], groups.codes[a.test])
    if not len(shared):
        return
    names = [groups.names[k] for k in shared]
    rows = int(np.isin(groups.codes[a.test], shared).sum())
    sentence = (
        f"{len(shared):,} of {len(groups.names):,} groups have rows in both parts "
        f"({_format_values(names)}), including {rows:,} of {len(a.test):,} test rows."
    )
    numbers: dict[str, float | IntervalNumber] = {"groups": len(shared), "rows": rows}
    if a.scoring is not None and len(groups.names) > 1:
        used = np.sort(np.concatenate([a.train, a.test]))
        whole = split(
            len(used),
            test=len(a.test) / len(used),
            group=groups.codes[used],
            stratify=a.target[used] if a.scoring.classes else None,
            seed=a.seed,
        )
        here = a.scoring.on(a.train, a.test)
        there = a.scoring.on(used[whole.train], used[whole.test])
        numbers |= {f"{a.scoring.name} with": here, f"{a.scoring.name} without": there}
        sentence += (
            f" {a.scoring.called} is {here}, and {there} on a split that keeps groups together."
        )
    sentence += " Split by group (group=)."
    yield SplitFault(sentence, "warning", numbers, tuple(names[:_SHOWN]))


def future_rows(a: SplitData) -> Iterator[SplitFault]:
    """Find training rows that are not earlier than the test rows; score a split by time."""
    moment = time_ranks(a.time)
    late = a.train[moment[a.train] >= moment[a.test].min()]
    if not len(late):
        return
    sentence = (
        f"{len(late):,} of {len(a.train):,} training rows are not earlier than the first test row "
        f"({a.time[a.test[moment[a.test].argmin()]]}): rows {_format_values(late)}."
    )
    numbers: dict[str, float | IntervalNumber] = {"rows": len(late)}
    if a.scoring is not None:
        used = np.sort(np.concatenate([a.train, a.test]))
        forward = split(len(used), test=len(a.test) / len(used), time=a.time[used])
        here = a.scoring.on(a.train, a.test)
        there = a.scoring.on(used[forward.train], used[forward.test])
        numbers |= {f"{a.scoring.name} with": here, f"{a.scoring.name} without": there}
        sentence += (
            f" {a.scoring.called} is {here}, and {there} if the latest rows are the test set."
        )
    sentence += " Split by time (time=)."
    yield SplitFault(sentence, "warning", numbers, tuple(late[:_SHOWN].tolist()))


# -------------------------------------------------------------------------------------- features


def target_leakage(a: SplitData) -> Iterator[SplitFault]:
    """Find a feature that alone leaves almost no error, unlike the others."""
    assert a.scoring is not None
    for column in range(len(a.columns.names)):
        if a.scoring.alone(a.train, a.test, column) > _LEFT or len(a.columns.names) < 2:
            continue
        if a.scoring.left(a.train, a.test, without=column) < _LOST + max(
            _LEFT, a.scoring.left(a.train, a.test)
        ):
            continue
        here = a.scoring.on(a.train, a.test)
        there = a.scoring.on(a.train, a.test, without=column)
        name, score = a.columns.names[column], a.scoring.name
        yield SplitFault(
            f"{name} leaks the target: alone it leaves less than 1% of the error of the best "
            f"constant prediction on {len(a.test):,} test rows. {a.scoring.called} is {here}, and "
            f"{there} without it. Check whether it is known at prediction time.",
            "warning",
            {f"{score} with": here, f"{score} without": there},
            (name,),
        )


def row_index_leakage(a: SplitData) -> Iterator[SplitFault]:
    """Find a feature that numbers the rows and predicts the target."""
    assert a.scoring is not None
    for column in a.columns.numberings():
        p = a.scoring.p_alone(a.train, a.test, column)
        if not p < _SURE:
            continue
        here = a.scoring.on(a.train, a.test)
        there = a.scoring.on(a.train, a.test, without=column) if len(a.columns.names) > 1 else None
        name, score = a.columns.names[column], a.scoring.name
        alone = f", and {there} without it" if there is not None else ""
        yield SplitFault(
            f"{name} numbers the {a.columns.rows:,} rows but predicts the target, so their order "
            f"has information that new rows lack. {a.scoring.called} is {here}{alone}. Exclude it.",
            "warning",
            {f"{score} with": here, **({} if there is None else {f"{score} without": there})},
            (name,),
        )


# ----------------------------------------------------------------------------------- unlike parts


def distribution_shift(a: SplitData) -> Iterator[SplitFault]:
    """Find columns whose distribution differs between the parts."""
    from calipers.inference.multiplicity import holm

    train, test = (_one_a_group(rows, a.group) for rows in (a.train, a.test))
    columns = list(a.columns.compared(train, test))
    names = list(a.columns.names)
    if a.target is not None:
        columns += list(FeatureColumns.of(np.asarray(a.target)[:, None]).compared(train, test))
        names.append("the target")
    p = holm(np.array([one.p for one in columns]))
    differ = [k for k in np.argsort(p, kind="stable") if p[k] < _SURE]
    apart = _separability(a, train, test)
    if not differ and not (apart is not None and apart.low > 0.5):
        return
    unit = "groups" if a.group is not None else "rows"
    told = ""
    numbers: dict[str, float | IntervalNumber] = {"columns": len(differ)}
    if apart is not None:
        numbers["AUC"] = apart
        told = f" A classifier distinguishes them with an AUC of {apart}."
    listed = ", ".join(f"{names[k]} ({columns[k].said})" for k in differ[:_SHOWN])
    more = f" and {len(differ) - _SHOWN} more" if len(differ) > _SHOWN else ""
    which = f"in {listed}{more}" if differ else "in several columns jointly"
    sentence = (
        f"The {len(test):,} test {unit} and the {len(train):,} training {unit} differ "
        f"significantly {which}.{told} The score applies to rows like the test rows."
    )
    if a.scoring is not None:
        here, there = a.scoring.on(a.train, a.test), a.scoring.within(a.train)
        numbers |= {f"{a.scoring.name} tested": here, f"{a.scoring.name} within": there}
        sentence += (
            f" {a.scoring.called} is {here}, and {there} on rows held out of the training set."
        )
    yield SplitFault(sentence, "caution", numbers, tuple(names[k] for k in differ[:_SHOWN]))


def _one_a_group(rows: Places, group: Any) -> Places:
    """Select the first row of each group, since rows of a group are similar."""
    if group is None:
        return rows
    _, first = np.unique(encode_labels(group, "group").codes[rows], return_index=True)
    return rows[np.sort(first)]


def _separability(a: SplitData, train: Places, test: Places) -> IntervalNumber | None:
    """Return the AUC of a classifier of the two parts on held-out rows."""
    from calipers.evaluate.classification import classification

    if min(len(train), len(test)) < 40:
        return None
    rows = np.concatenate([train, test])
    tested = np.repeat([False, True], [len(train), len(test)])
    learned = split(len(rows), test=0.5, stratify=tested, seed=a.seed)
    model = default_model(len(rows), a.seed, classes=True)
    job = FitJob(model, learned.train, (learned.test,), name="the classifier of the parts")
    fit: FitResult[Any] | None = fit_all(
        [job], TrainingData(a.columns.numbers[rows], tested), _positive_probability
    ).all[0]
    assert fit is not None
    (said,) = fit.said
    made = classification(
        tested[learned.test], score=said, positive=True, measures="AUC", level=1 - _SURE,
        curves=False,
    )  # fmt: skip
    return IntervalNumber.of(made["AUC"])


def _positive_probability(model: Any, features: Any) -> Any:
    """Return the predicted probability of the second class."""
    return model.predict_proba(features)[:, 1]


#: Integers with at most this number of values are classes.
_CLASSES = 20
#: With more rows than this forests are slow.
_MANY = 10_000
#: Leaves of a tree on one feature.
_LEAVES = 64


@dataclass(frozen=True, eq=False)
class ModelScorer:
    """Scores of a model (``estimator``) on the data of a split; fits are cached."""

    columns: FeatureColumns
    features: Any
    target: Any
    classes: bool
    estimator: Any
    seed: int
    _kept: dict[Any, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls, columns: FeatureColumns, target: Any, features: Any, estimator: Any, task: str | None,
        seed: int,
    ) -> ModelScorer:  # fmt: skip
        """Return the scorer of a given estimator, or of the default model."""
        if task not in (None, "classification", "regression"):
            raise InputError(f"task is {task!r}, expected 'classification' or 'regression'")
        absent = missing_mask(target, "y")
        if absent.any():
            raise report_missing("y", np.flatnonzero(absent), len(absent))
        classes = _is_classes(target) if task is None else task == "classification"
        y = encode_labels(target, "y").codes.astype(np.intp) if classes else to_numbers(target, "y")
        given = estimator is not None
        estimator = estimator if given else default_model(len(y), seed, classes=classes)
        return cls(columns, features if given else columns.numbers, y, classes, estimator, seed)

    @property
    def name(self) -> str:
        """Name of the score: accuracy or RMSE."""
        return "accuracy" if self.classes else "RMSE"

    @property
    def called(self) -> str:
        """Name of the score at the start of a sentence."""
        return "Accuracy" if self.classes else "RMSE"

    def on(self, train: Places, test: Places, without: int | None = None) -> IntervalNumber:
        """Return the score with its interval."""
        from calipers.evaluate.classification import classification
        from calipers.evaluate.regression import regression

        said, truth = self._said(train, test, without), self.target[test]
        shown: dict[str, Any] = {"measures": self.name, "curves": False, "seed": self.seed}
        if self.classes:  # right or wrong, also where the rows tested have one class alone
            right = (said == truth).astype(np.intp)
            made = classification(np.ones_like(right), right, labels=[0, 1], positive=1, **shown)
            return IntervalNumber.of(made[self.name])
        return IntervalNumber.of(regression(truth, said, **shown)[self.name])

    def left(self, train: Places, test: Places, without: int | None = None) -> float:
        """Return the error of the model relative to the best constant prediction."""
        return self._share(train, test, self._said(train, test, without))

    def alone(self, train: Places, test: Places, column: int) -> float:
        """Return the error of one feature alone relative to the best constant prediction.

        It is the error of a tree, or of a linear regression if that is smaller.
        """
        return min(self._share(train, test, said) for said in self._by_one(train, test, column))

    def p_alone(self, train: Places, test: Places, column: int) -> float:
        """Return the p-value that a tree on one feature beats the best constant prediction.

        The test is one-sided: a sign test for classes, and a paired t test for numbers.
        """
        from scipy.stats import binomtest, ttest_rel

        said = self._by_one(train, test, column)[0]
        own, constant = self._losses(test, said), self._losses(test, self._constant(train))
        if self.classes:
            better, worse = int((own < constant).sum()), int((own > constant).sum())
            if better + worse == 0:
                return 1.0
            return float(binomtest(better, better + worse, alternative="greater").pvalue)
        return float(ttest_rel(constant, own, alternative="greater").pvalue)

    def within(self, train: Places) -> IntervalNumber:
        """Return the score on a quarter of the rows, fitted to the others."""
        inner = split(len(train), test=0.25, seed=self.seed)
        return self.on(train[inner.train], train[inner.test])

    # ----------------------------------------------------------------------------------------- fits

    def _said(self, train: Places, test: Places, without: int | None) -> Any:
        key = train.tobytes(), test.tobytes(), without
        if key not in self._kept:
            features = self.features if without is None else _drop_column(self.features, without)
            self._kept[key] = self._fitted(self.estimator, features, train, test)
        return self._kept[key]

    def _by_one(self, train: Places, test: Places, column: int) -> list[Any]:
        """Return the predictions of a tree on one feature; for numbers also those of a line."""
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
        job = FitJob(model, train, (test,), name="the model of the check")
        fit: FitResult[Any] | None = fit_all(
            [job], TrainingData(features, self.target), seed=self.seed
        ).all[0]
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


def default_model(rows: int, seed: int, *, classes: bool) -> Any:
    """Return the default model: a random forest, or gradient-boosted trees for many rows.

    Both accept missing values.
    """
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


def _drop_column(features: Any, column: int) -> Any:
    """Return a table without a column."""
    if not is_frame(features):
        return np.delete(np.asarray(features), column, axis=1)
    names = list(column_names(features))
    del names[column]
    return features.select(names) if hasattr(features, "select") else features[names]
