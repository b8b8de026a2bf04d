"""Cross-validation of estimators, or of given out-of-fold predictions.

Each measure is averaged over the folds; its value on all rows together is reported as well.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from calipers import findings
from calipers.curves.lazy_curves import LazyCurves
from calipers.data.arrays import check_length, take_rows, to_array
from calipers.data.class_labels import encode_labels, label_name
from calipers.data.columns import add_files, collect_columns
from calipers.data.costs import Costs, cost_column_name
from calipers.data.errors import InputError, format_value
from calipers.data.external_values import ExternalValues
from calipers.data.frequency_weights import RowRepeats
from calipers.evaluate.classification import classification
from calipers.evaluate.regression import regression
from calipers.evaluate.splits import compare_split_values
from calipers.evaluation.arguments import is_validated, validate_arguments
from calipers.evaluation.compare import check_option
from calipers.evaluation.folds import FoldValues
from calipers.evaluation.models import n_rows, positive_column
from calipers.evaluation.options import MeasureNames, inference_provenance, make_settings
from calipers.evaluation.slice_definitions import Bins, define_slices, parse_slice_columns
from calipers.findings.comparisons import ComparisonResults
from calipers.inference import intervals, resampled_tests
from calipers.inference.intervals import Interval
from calipers.inference.settings import Settings
from calipers.lazy_dataclasses import dataclass
from calipers.learning import nested_cv, predictions
from calipers.learning.fitting import (
    FitJob,
    FitResult,
    FitResults,
    Indices,
    Progress,
    TrainingData,
    fit_all,
    report_progress,
    shared_group_notes,
    weight_parameter,
)
from calipers.learning.near_copies import find_near_copies
from calipers.learning.predictions import ModelPredictions, OutOfFoldModel, index_tested_rows
from calipers.learning.split import Split, to_split
from calipers.learning.split_checks import CHECKS, copied_rows
from calipers.learning.split_designs import (
    RowConstraints,
    SplitDesign,
    design_from_columns,
    make_design,
    single_split_design,
)
from calipers.learning.train_test_scores import check_time
from calipers.learning.tuning import (
    INNER_CV_WITHOUT_RULE,
    ScoredRows,
    ThresholdGains,
    ThresholdTuning,
    TunedThresholds,
    concat_rows,
    tune_predictions,
)
from calipers.measures import Measure
from calipers.report.numbers import format_number
from calipers.results import SEVERITIES, Comparison, Estimate, Evaluation, Finding, PerUnit
from calipers.statistics import FloatArray
from calipers.systems.thresholds import ThresholdRule

#: Interval methods, with their descriptions.
INTERVALS: Mapping[str, str] = {
    "corrected": "the corrected resampled t over folds",
    "nested": "nested cross-validation, of means of losses",
    "none": "no interval",
}
TASKS: Mapping[str, Callable[..., Evaluation]] = {
    "classification": classification,
    "regression": regression,
}


@validate_arguments
def cross_validate(
    estimator: Any = None,
    X: Any = None,
    y: Any = None,
    *,
    cv: Any = None,
    n_repeats: int | None = None,
    split: Any = None,
    on: str | None = None,
    stratify: bool | None = None,
    group: Any = None,
    time: Any = None,
    weight: Any = None,
    truth: Any = None,
    predicted: Any = None,
    score: Any = None,
    probability: Any = None,
    fold: Any = None,
    repetition: Any = None,
    train: float | None = None,
    slices: Any = None,
    slice_bins: Bins | None = None,
    cost: Any = None,
    data: Any = None,
    task: Any = None,
    positive: Any = None,
    threshold: float | str | None = None,
    inner_cv: int | None = None,
    measures: MeasureNames | None = None,
    undefined: str = "nan",
    baseline: str | None = None,
    curves: bool = True,
    interval: str = "corrected",
    level: float = 0.95,
    n_resamples: int = 2000,
    seed: int = 0,
    n_jobs: int | None = 1,
    progress: Progress = False,
    inputs: Sequence[Any] = (),
) -> Evaluation:
    """Evaluate models by cross-validation, or out-of-fold predictions that are given.

    The rows are divided into folds; each fold is predicted by a model trained on the others. Every
    measure has two values: ``value``, *averaged* over the folds, and ``pooled``, computed from the
    predictions of all rows together. The interval takes into account that models of different folds
    share training rows, so that neither folds nor rows are independent.

    Parameters
    ----------
    estimator : estimator, optional
        Estimator of scikit-learn, or a pipeline. Clones are fitted; the estimator itself is not
        changed. ``random_state`` is drawn from ``seed`` if an estimator does not set it. Or a dict
        of estimators by name, which are compared on the same folds.
    X : array-like of shape (n, n_features), optional
        Features of the rows.
    y : array-like of shape (n,), optional
        Target of each row: a class or a number.
    cv : int, splitter, or iterable of (train, test), optional
        Number of folds (the number of rows is leave-one-out), a splitter of scikit-learn, or pairs
        of index arrays of the rows to train and to test on. A single split is allowed, such as a
        PredefinedSplit of one fold: its intervals are over the rows tested. The default is 10.
    n_repeats : int, optional
        Number of times that the rows are re-split, if ``cv`` is a number. The default is 1.
    split : Split, array-like of shape (n,), or dict or sequence of indices, optional
        In place of folds, a single split into training, validation and test rows: the result of
        :func:`calipers.split`; a column with "train", "validation" or "test" for each row; or the
        indices of rows, by these names or in this order (two arrays are the rows to train and to
        validate on). Models are trained on the training rows alone.
    on : {'test', 'validation'}, optional
        Rows of a single split that models are measured on; by default the test rows if there are
        any.
    stratify : bool, optional
        Whether folds have classes in equal proportions, or in a regression, deciles of the truth.
        By default folds are stratified by class, and not in a regression.
    group : array-like of shape (n,), optional
        Group of each row (user, patient): rows of a group stay on one side of a split.
    time : array-like of shape (n,), or bool, optional
        Time of each row, or True if rows are in the order of time: each fold is then predicted by a
        model trained on earlier rows. With groups, on earlier rows of other groups.
    weight : array-like of shape (n,), optional
        Weight of each row, in every measure and in the fit of an estimator that accepts weights.
    truth : array-like of shape (n,), optional
        True class or number of each row, if predictions are given in place of estimators. This does
        not need scikit-learn.
    predicted : array-like of shape (n,), or dict of such, optional
        Existing predictions, as :func:`calipers.classification` and :func:`calipers.regression`
        take them.
    score : array-like of shape (n,), or dict of such, optional
        Existing scores, as :func:`calipers.classification` takes them.
    probability : array-like of shape (n,) or (n, n_classes), or dict of such, optional
        Existing probabilities, as :func:`calipers.classification` takes them.
    fold : array-like of shape (n,), optional
        Fold of each row of existing predictions. The model of a fold is assumed to be trained on
        the other folds.
    repetition : array-like of shape (n,), optional
        Repetition of each row, if the rows occur once for each repetition.
    train : float, optional
        Number of training rows of each model of existing predictions, if it was not trained on all
        other folds.
    slices : dict of array-like of shape (n,), or list of str, optional
        Columns that define slices, by name: every measure is computed on each slice and compared
        with all other rows. ``"age*site": (age, site)`` crosses two columns. A column of more than
        ten distinct numbers is cut at its quartiles; a number that more than half of the rows have
        is a slice of its own. Rows without a value are the slice ``"missing"``. With ``data``, a
        list of names will do.
    slice_bins : dict of list of float, or of str, optional
        Bin edges of numeric columns of ``slices``, by name: ``{"age": [40, 65]}``. By default they
        are binned at their quartiles. Of columns of dates the period, ``"year"``, ``"quarter"``,
        ``"month"`` or ``"day"``.
    cost : dict of array-like of shape (n,), float, or dict of such, optional
        Costs of the systems, by the name of the cost: a column (latencies, tokens) or one number (a
        price, a size); or a dict of such by system: ``{"latency (ms)": {"a": …, "b": …}}``. They
        are evaluated in ``evaluation.costs`` and compared with quality in
        ``evaluation.pareto_fronts``.
    data : data frame, dict of columns, or path, optional
        Table whose columns the other arguments may name. Columns may also be passed as NumPy
        arrays, lists, pandas, polars or Arrow columns, or anything with ``__array__`` or DLPack.
    task : {'classification', 'regression'} or callable, optional
        Task of the models, if neither estimators nor columns imply it. Or the verb of a custom
        task, which takes ``truth`` and ``predicted``.
    positive : label, optional
        The positive class, against all others. It is required unless the classes are 0 and 1, −1
        and 1, or False and True.
    threshold : float or str, optional
        A number, or a rule that chooses one, such as ``"accuracy"`` or ``"specificity>=0.9"`` (see
        :func:`calipers.operating_point`). A rule never sees the rows that are measured. It chooses
        a threshold for each fold on out-of-fold predictions of its training rows, with ``inner_cv``
        folds within these. ``tuned_thresholds`` are the gains over the labels that the model itself
        predicts. If the test rows of a single split are measured, it is chosen on its validation
        rows, if there are any; for existing predictions on those of the other folds.
    inner_cv : int, optional
        Number of folds within the training rows that choose a threshold; 5 by default.
    measures : str, Measure, or list of such, optional
        Names of measures; ``calipers measures`` lists them. ``"default"`` stands for the default
        measures, and ``"default+A,B"`` adds measures to these.
    undefined : {'nan', 'zero', 'one', 'omit'}, default='nan'
        Value of a measure of labels that is undefined, such as precision without positive
        predictions: ``"nan"``, or by convention ``"zero"`` or ``"one"``, as scikit-learn's
        ``zero_division`` of 0 or 1. It is also used in averages over classes, including classes
        that ``labels`` names but no row has; ``"omit"`` leaves these classes out. Correlations such
        as MCC become 0 or stay undefined. A value by convention has no interval.
    baseline : str, optional
        System that all others are compared with; by default every pair is compared, the later minus
        the earlier.
    curves : bool, default=True
        Whether the evaluation has curves. Each is computed on first access.
    interval : {'corrected', 'nested', 'none'}, default='corrected'
        ``"corrected"``, Nadeau and Bengio's t over folds: with mean ē and standard deviation s of J
        folds, ē ± t·s·√(1/J + n_test/n_train) on J − 1 degrees of freedom. ``"nested"``, the nested
        cross-validation of Bates, Hastie and Tibshirani, for means of a loss per row: it also fits
        a model without each pair of folds, and needs ten repeats or more to be stable.
    level : float, default=0.95
        Confidence level of the intervals.
    n_resamples : int, default=2000
        Number of bootstrap replicates. They are used by findings.
    seed : int, default=0
        Seed of the random number generator. It also determines folds and fits.
    n_jobs : int, default=1
        Number of parallel fits, -1 for all processors. It does not change the results.
    progress : bool or callable, default=False
        Whether to write the number of finished fits to stderr, on one line; or a function that is
        called after each fit with the number of finished fits and the number of all.
    inputs : list, optional
        Origins of the columns, for the provenance.

    Returns
    -------
    Evaluation
        Estimates averaged over folds, with the curves, tables and findings of all out-of-fold
        predictions. Findings are based on intervals of rows, widened in the same proportion as the
        corrected t; curves have no bands. If Ctrl-C interrupts the fits, the values are those of
        the folds that were finished, with a note and a warning. With a single split the result is
        the evaluation of the measured rows, with their intervals and bands: they describe the
        models as they were fitted, not the variation over training sets.

    Raises
    ------
    InputError
        If an argument is invalid (the message says where, and what was expected), a fit fails, or
        no measure is a mean of losses with ``interval="nested"``.

    See Also
    --------
    calipers.select_model : Choose among models by nested cross-validation.
    calipers.learning_curve : Training and validation errors over the number of training rows.

    Notes
    -----
    Coverage of the intervals: ``docs/coverage.md``.

    References
    ----------
    Nadeau and Bengio (2003). Inference for the generalization error. Machine Learning 52.

    Bates, Hastie and Tibshirani (2024). Cross-validation: what does it estimate and how well
    does it do it? Journal of the American Statistical Association 119.

    Examples
    --------
    >>> import calipers as cal
    >>> truth = [0, 1, 1, 0, 1, 0, 0, 1]
    >>> predicted, fold = [0.1, 0.9, 0.4, 0.3, 0.8, 0.2, 0.6, 0.7], [1, 1, 1, 1, 2, 2, 2, 2]
    >>> ev = cal.cross_validate(truth=truth, probability=predicted, fold=fold, measures=["Brier"])
    >>> round(ev["Brier"].value, 3), ev["Brier"].n, ev["Brier"].method
    (0.125, 2, 'corrected resampled t')
    """
    check_option("interval", interval, INTERVALS)
    if on is not None:
        check_option("on", on, ("test", "validation"))
        if split is None:
            raise InputError("on= requires split=, the subset of each row")
    settings = make_settings("auto", level, n_resamples, seed)
    columns = {
        "truth": y if y is not None else truth, "predicted": predicted, "score": score,
        "probability": probability, "weight": weight, "group": group, "fold": fold,
        "repetition": repetition, **({"split": split} if isinstance(split, str) else {}),
    }  # fmt: skip
    if y is not None and truth is not None:
        raise InputError("y= and truth= are the same; give one")
    is_classification = isinstance(task, str) and task == "classification"
    categories = ("truth", "predicted") if is_classification else ()
    columns["slices"] = parse_slice_columns(slices)
    rows = collect_columns(columns, data=data, categories=categories, cost=cost)
    checked_columns = dict(rows.columns)
    call = _CrossValidation(
        checked_columns, task, interval, settings, baseline, curves, n_jobs,
        {"measures": measures, "inputs": add_files(inputs, data)},
        {"positive": positive, "threshold": threshold, "undefined": undefined},
        _SingleSplit(checked_columns.pop("split", split), on), inner_cv,
        _SlicesAndCosts(checked_columns.pop("slices"), slice_bins, rows.costs),
    )  # fmt: skip
    split_options = {"cv": cv, "n_repeats": n_repeats, "stratify": stratify, "time": time}
    if estimator is None:
        if fold is None and split is None:
            raise InputError(
                "give (estimator, X, y), or predictions with fold=, the fold of each, or with "
                "split=, the subset of each"
            )
        for name, value in {**split_options, "inner_cv": inner_cv}.items():
            if value is not None:
                raise InputError(f"{name}= goes with an estimator, not with predictions")
        if progress is not None and progress is not False:
            raise InputError("progress= goes with an estimator, not with predictions")
        return call.evaluate_predictions(train)
    for name in ("predicted", "score", "probability", "fold", "repetition"):
        if columns[name] is not None:
            raise InputError(f"{name}= goes with existing predictions, not with an estimator")
    if train is not None:
        raise InputError("train= goes with existing predictions, not with an estimator")
    if X is None or columns["truth"] is None:
        raise InputError("cross-validation of an estimator takes its features and a truth: X and y")
    return call.evaluate_estimators(estimator, X, cv, n_repeats, stratify, time, progress)


class _SingleSplit(NamedTuple):
    """Single division of the rows, and the subset that is measured."""

    division: Any
    on: str | None

    def resolve(self, rows: int) -> tuple[Split, str]:
        """Return the division, and the name of the measured subset."""
        row_split = to_split(self.division, rows)
        return row_split, self.on or ("test" if len(row_split.test) else "validation")


@dataclass(frozen=True, eq=False)
class _SlicesAndCosts:
    """Columns of slices, their bins, and costs, of all rows."""

    slices: Mapping[str, Mapping[str, Any]] | None
    bins: Bins | None
    costs: Costs

    def __bool__(self) -> bool:
        return bool(self.slices or self.costs) or self.bins is not None

    def check(self, n_rows: int, systems: Sequence[str]) -> None:
        """Check, before models are fitted, what would be refused afterwards."""
        self.costs.by_system(systems).to_numbers(n_rows, lambda column: column)
        define_slices(self.slices, self.bins, n_rows, "rows")

    def take_rows(self, rows: Indices | None) -> _SlicesAndCosts:
        """Return those of some rows; None stands for all."""
        if rows is None:
            return self
        slices = self.slices and {
            name: {
                factor: _take_rows(column, rows, f"slice {factor!r}")
                for factor, column in columns.items()
            }
            for name, columns in self.slices.items()
        }
        costs = {
            cost: {
                system: _take_rows(column, rows, cost_column_name(cost, system))
                for system, column in by_system.items()
            }
            for cost, by_system in self.costs.columns.items()
        }
        return replace(self, slices=slices, costs=replace(self.costs, columns=costs))

    def slice_options(self) -> dict[str, Any]:
        """Return the arguments of an evaluation with these slices."""
        if self.slices is None and self.bins is None:
            return {}
        slices: dict[str, Any] = {
            name: tuple(columns.values()) if len(columns) > 1 else next(iter(columns.values()))
            for name, columns in (self.slices or {}).items()
        }
        return {"slices": slices or None, "slice_bins": self.bins}

    def note(self, design: SplitDesign, level: float | None) -> str:
        """Return a note on the rows of slices and costs, and on the level of intervals."""
        rows = "" if design.n_repetitions == 1 else " of the first repetition"
        note = f"Slices and costs are of the out-of-fold predictions{rows}."
        if self.slices is None or level is None:
            return note
        return (
            f"{note} Intervals and tests of slices are those of rows at level {level:.4g}, wider "
            "by as much as the corrected t is wider than the plain one."
        )

    def cost_options(self) -> dict[str, Any]:
        """Return the arguments of an evaluation with these costs."""
        return {"cost": {**self.costs.columns, **self.costs.numbers}} if self.costs else {}

    def add_to(self, evaluation: Evaluation, row_evaluation: Evaluation) -> Evaluation:
        """Add the slices of an evaluation of the rows, and the costs, to that over folds.

        Costs do not depend on training sets, so their intervals are those of rows.
        """
        source = row_evaluation.sources
        evaluation = replace(evaluation, slices=row_evaluation.slices)
        if not self.costs:
            return evaluation
        from calipers.evaluation.costs import add_costs

        system = next(iter(source.systems_by_name.values()))
        return add_costs(
            evaluation,
            self.costs.to_numbers(system.n_rows, lambda column: column),
            evaluation.systems,
            replace(system.settings, level=evaluation.level),
            system.weight,
            system.clusters,
            slice_definitions=source.slice_definitions,
        )


@dataclass(frozen=True, eq=False)
class _CrossValidation:
    """Arguments of a cross-validation: columns by name, and options of the evaluation."""

    columns: Mapping[str, Any]
    #: The name of a task, or the verb of another one, whose systems predict numbers.
    task: Any
    interval: str
    settings: Settings
    baseline: str | None
    curves: bool
    n_jobs: int | None
    evaluation_options: Mapping[str, Any]
    class_options: Mapping[str, Any]
    single_split: _SingleSplit
    n_inner_folds: int | None
    slices_and_costs: _SlicesAndCosts

    def __post_init__(self) -> None:
        if not (self.task is None or is_validated(self.task)):
            check_option("task", self.task, TASKS)

    # --- Where the predictions come from ----------------------------------------------------------

    def evaluate_predictions(self, train: float | None) -> Evaluation:
        """Return the evaluation of external predictions."""
        if self.interval == "nested":
            raise InputError("nested cross-validation fits models itself: give (estimator, X, y)")
        input_columns = self.columns
        if input_columns["truth"] is None:
            raise InputError("truth= is missing")
        prediction_columns = {
            name: input_columns[name] for name in ("predicted", "score", "probability")
        }
        classes = self._is_classification(prediction_columns)
        n = n_rows(input_columns["truth"]) or len(to_array(input_columns["truth"], "truth"))
        weight, group = self._weight_and_group(n)
        design = self._design_from_columns(n, train)
        task_columns = {
            "truth": input_columns["truth"],
            **(prediction_columns if classes else {"predicted": prediction_columns["predicted"]}),
        }
        tuned: Mapping[str, TunedThresholds] = {}
        tuning, options = self._tuning(input_columns["truth"], None, classes=classes), self
        if tuning is not None:
            task_columns["predicted"], tuned = tune_predictions(
                tuning, design, input_columns["truth"], prediction_columns, weight
            )
            options = self._with_thresholds(
                tuning.names[1], fixed_thresholds := _single_thresholds(design, tuned)
            )
            labels = {
                n: column
                for n, column in task_columns["predicted"].items()
                if n not in fixed_thresholds
            }
            task_columns["predicted"] = labels or None
        fold_indices = [fold.test for fold in design.folds]
        tested = np.sort(np.concatenate([fold.test for fold in design.first_repetition]))
        if design.split is not None:  # the other rows have predictions as well
            fold_indices = [np.arange(len(tested))]

        def row_indices(indices: Indices | None) -> Indices | None:
            if design.split is None:
                return indices
            return tested if indices is None else tested[indices]

        def evaluate(indices: Indices | None, **task_options: Any) -> Evaluation:
            rows = row_indices(indices)
            row_columns = {"weight": weight, "cluster": group, **task_columns}
            if rows is not None:
                row_columns = {
                    name: _take_rows(values, rows, name) for name, values in row_columns.items()
                }
            return options._evaluate(classes, **row_columns, **task_options)

        first_rows = tested if design.split is None else fold_indices[0]
        chosen_on = "the other folds" if design.split is None else _validation_rows(design)
        cluster = None if group is None else group[design.folds[0].test]
        gains = None
        if tuning is not None:
            gains = self._gains(tuning, tuned, chosen_on, design, cluster, None)
        return options._combine_folds(
            design,
            fold_indices,
            first_rows,
            evaluate,
            (),
            self.slices_and_costs.take_rows(row_indices(first_rows)),
            gains=gains,
        )

    def _design_from_columns(self, rows: int, train: float | None) -> SplitDesign:
        """Return the design of rows with predictions, from a column of folds or a single split."""
        fold, repetition = self.columns["fold"], self.columns["repetition"]
        if self.single_split.division is None:
            return design_from_columns(fold, repetition, rows, train)
        others = {"fold": fold, "repetition": repetition, "train": train}
        constraints = RowConstraints(rows, None, is_classification=False)
        return single_split_design(*self.single_split.resolve(rows), constraints, others)

    def _tuning(
        self, truth: Any, stratify: bool | None, *, classes: bool
    ) -> ThresholdTuning | None:
        """Return the threshold tuning, or None if no rule is given."""
        threshold = self.class_options["threshold"]
        if not isinstance(threshold, str | ThresholdRule):
            if self.n_inner_folds is not None:
                raise InputError(INNER_CV_WITHOUT_RULE)
            return None
        if not classes:
            raise InputError("threshold= requires two classes; numbers are predicted")
        if self.interval == "nested":
            raise InputError(
                "interval='nested' fits models without pairs of folds, for which no rule chooses a "
                "threshold: give threshold= a number"
            )
        if len(getattr(truth, "shape", ())) > 1:
            raise InputError("threshold= requires two classes; rows have several labels")
        options: dict[str, Any] = {"stratify": stratify, "seed": self.settings.seed}
        return ThresholdTuning.from_arguments(
            threshold, truth, self.class_options["positive"], self.n_inner_folds, **options
        )

    def _with_thresholds(self, positive: str, thresholds: Mapping[str, float]) -> _CrossValidation:
        """Return options with known thresholds, or for labels at tuned thresholds."""
        class_options = {"positive": positive, "threshold": thresholds or None}
        return replace(self, class_options={**self.class_options, **class_options})

    def _gains(
        self,
        tuning: ThresholdTuning,
        tuned: Mapping[str, TunedThresholds],
        chosen_on: str,
        design: SplitDesign,
        cluster: Any,
        time: Any,
    ) -> ThresholdGains:  # fmt: skip
        """Return the object that estimates the gains of tuned thresholds."""
        settings = self.settings
        interval_options: dict[str, Any] = {"level": settings.level, "seed": settings.seed}
        if design.is_single_split:
            interval_options |= {
                "cluster": cluster,
                "time": time,
                "n_resamples": settings.n_resamples,
            }
        return ThresholdGains(
            tuning,
            tuned,
            chosen_on,
            None if design.is_single_split else design.sizes,
            interval_options,
        )

    def evaluate_estimators(
        self,
        estimator: Any,
        X: Any,
        cv: Any,
        repeats: int | None,
        stratify: bool | None,
        time: Any,
        progress: Progress,
    ) -> Evaluation:
        """Return the evaluation of estimators, which are fitted here."""
        input_columns, estimators, seed = (
            self.columns,
            predictions.check_named_estimators(estimator),
            self.settings.seed,
        )
        classes = (
            self.task == "classification"
            if self.task
            else predictions.is_classification(estimators)
        )
        is_multilabel = len(getattr(input_columns["truth"], "shape", ())) == 2
        target = (
            np.asarray(input_columns["truth"])
            if is_multilabel
            else to_array(input_columns["truth"], "y")
        )
        if classes and not is_multilabel:
            encode_labels(target, "y")  # its message says what is wrong with the labels
        n = None if isinstance(X, Mapping) else n_rows(X)
        if n != len(target):
            has = f"{format_value(X)}" if n is None else f"{n:,} rows"
            raise InputError(
                f"X: {has}, expected a table of {len(target):,} rows, as many as y has"
            )
        self.slices_and_costs.check(len(target), tuple(estimators))
        weight, group = self._weight_and_group(len(target))
        training_data = TrainingData(X, target, weight, group)
        constraints = RowConstraints(
            len(target), target, classes, group, check_time(time, len(target))
        )
        if self.single_split.division is None:
            design = make_design(cv, repeats, constraints, X, stratify=stratify, seed=seed)
        else:
            others = {"cv": cv, "n_repeats": repeats, "stratify": stratify}
            design = single_split_design(
                *self.single_split.resolve(len(target)), constraints, others
            )
        tuning = self._tuning(input_columns["truth"], stratify, classes=classes)
        pairs = (
            nested_cv.make_fold_pairs(design, constraints, weight)
            if self.interval == "nested"
            else ()
        )
        predict = predictions.predict_classifier if classes else predictions.predict_regressor
        fold_predictions = fit_folds(
            estimators,
            training_data,
            design,
            pairs,
            predict,
            seed,
            self.n_jobs,
            tuning,
            constraints,
            progress,
        )
        times = constraints.time if fold_predictions.design.is_single_split else None
        known_thresholds = _single_thresholds(fold_predictions.design, fold_predictions.tuned)
        options = (
            self if tuning is None else self._with_thresholds(tuning.names[1], known_thresholds)
        )

        def evaluate(
            subset: Indices | None,
            predictions_by_name: PredictionsByName = fold_predictions.predictions_by_name,
            rows: Indices = fold_predictions.row_indices,
            **task_options: Any,
        ) -> Evaluation:
            indices = np.arange(len(rows)) if subset is None else subset
            row_indices = rows[indices]
            selected = {
                name: model.take_rows(indices) for name, model in predictions_by_name.items()
            }
            columns: dict[str, Any] = {
                "truth": selected, "predicted": np.arange(len(row_indices)),
                "y": target[row_indices],
            }  # fmt: skip
            if is_validated(self.task):
                predicted = {name: model.predict(None) for name, model in selected.items()}
                columns = {"truth": target[row_indices], "predicted": predicted}
            if tuning is not None:
                columns = {
                    "truth": target[row_indices],
                    **_prediction_columns(selected, tuning.names[1]),
                }
                if known_thresholds:
                    del columns["predicted"]
            return options._evaluate(
                classes, **columns, weight=None if weight is None else weight[row_indices],
                cluster=None if group is None else group[row_indices],
                **({} if times is None else {"time": times[row_indices]}), **task_options,
            )  # fmt: skip

        first_rows = np.arange(
            sum(len(fold.test) for fold in fold_predictions.design.first_repetition)
        )
        pair_evaluation = None
        if fold_predictions.pair_predictions is not None:
            rows = np.concatenate([np.concatenate(pair.eval_parts) for pair in pairs])
            pair_evaluation = (
                partial(evaluate, None, fold_predictions.pair_predictions, rows),
                pairs,
            )
        gains = None
        if tuning is not None:
            chosen_on = (
                _validation_rows(design) if design.validation_indices else tuning.inner_folds_text
            )
            rows = fold_predictions.row_indices[fold_predictions.fold_indices[0]]
            cluster_and_time = [
                None if column is None else column[rows] for column in (group, times)
            ]
            gains = self._gains(
                tuning,
                fold_predictions.tuned,
                chosen_on,
                fold_predictions.design,
                *cluster_and_time,
            )
        tested_rows = fold_predictions.row_indices[first_rows]
        evaluation = options._combine_folds(
            fold_predictions.design,
            fold_predictions.fold_indices,
            first_rows,
            evaluate,
            fold_predictions.notes,
            self.slices_and_costs.take_rows(tested_rows),
            pair_evaluation,
            gains,
        )
        return _add_copies(
            evaluation, X, target, fold_predictions.design, tested_rows, evaluate, first_rows
        )

    def _weight_and_group(self, rows: int) -> tuple[Any, Any]:
        """Return the weight and the group of each row, checked."""
        weight, group = (
            RowRepeats(rows).check_weights(self.columns["weight"]),
            self.columns["group"],
        )
        if weight is not None and not weight.all():
            raise InputError(
                f"weight: {int((weight == 0).sum())} rows have weight 0; remove them, as folds "
                "are of rows"
            )
        if group is not None:
            group = encode_labels(group, "group").codes
            check_length(group, rows, "group")
        return weight, group

    def _is_classification(self, prediction_columns: Mapping[str, Any]) -> bool:
        """Return whether external predictions are classes."""
        if self.task is not None:
            return bool(self.task == "classification")
        if prediction_columns["score"] is not None or prediction_columns["probability"] is not None:
            return True
        if np.ndim(self.columns["truth"]) == 1:
            kind = to_array(self.columns["truth"], "truth").dtype.kind
            if kind not in "iuf":
                return True
        raise InputError(
            "task= is missing: whether predicted numbers are classes ('classification') or "
            "quantities ('regression')"
        )

    # --- What is made of them ---------------------------------------------------------------------

    def _evaluate(self, classes: bool, **task_options: Any) -> Evaluation:
        """Evaluate all rows, or some."""
        arguments = {
            **self.evaluation_options,
            **(self.class_options if classes else {}),
            **task_options,
        }
        if is_validated(self.task):
            evaluation: Evaluation = self.task(**arguments)
            return evaluation
        return (classification if classes else regression)(**arguments)

    def _combine_folds(
        self,
        design: SplitDesign,
        fold_indices: Sequence[Indices],
        first_rows: Indices,
        evaluate: Callable[..., Evaluation],
        notes: Sequence[str],
        slices_and_costs: _SlicesAndCosts,
        pair_evaluation: tuple[Callable[..., Evaluation], Sequence[nested_cv.FoldPair]]
        | None = None,
        gains: ThresholdGains | None = None,
    ) -> Evaluation:
        """Return the evaluation with averages over folds and pooled values.

        ``first_rows`` are the rows of the first repetition, with ``slices_and_costs``.
        ``pair_evaluation`` evaluates the rows of the pairs of folds that nested cross-validation
        leaves out, and ``gains`` estimate the gains of tuned thresholds.
        """
        settings, needs_intervals = self.settings, self.interval != "none"
        inference_options = {
            "level": settings.level,
            "n_resamples": settings.n_resamples,
            "seed": settings.seed,
        }
        if design.is_single_split:
            return self._evaluate_single_split(design, evaluate, notes, slices_and_costs, gains)
        pooled = evaluate(None, interval="none", curves=self.curves, **inference_options)
        nested_intervals = None
        if self.interval == "nested" and pair_evaluation is None:
            notes = [*notes, f"The nested intervals were not finished; these are {CORRECTED_T}."]
        if pair_evaluation is not None:
            within = pair_evaluation[0](interval="none", curves=False, **inference_options)
            nested_intervals = nested_cv.NestedIntervals(
                pooled, within, design, fold_indices, pair_evaluation[1], settings.level
            )
            notes = [*notes, *nested_intervals.notes]
        averages = FoldAverages.from_evaluation(pooled, design, fold_indices)
        fold_values = averages.fold_values(settings)
        comparison: Comparison | None = None
        if (
            len(pooled.systems) > 1
            and fold_values.higher_is_better
            and len(fold_indices) > 1
            and needs_intervals
        ):
            comparison = fold_values.compare(baseline=self.baseline)
        rows_evaluation = pooled
        if needs_intervals or slices_and_costs:
            level = widened_level(settings.level, design)
            row_options: dict[str, Any] = {**inference_options, "curves": False}
            if slices_and_costs:
                level = _round_up(level)
                row_options |= {**slices_and_costs.slice_options(), "baseline": self.baseline}
                note = slices_and_costs.note(design, level if needs_intervals else None)
                notes = [*notes, note]
            if needs_intervals:
                row_options |= {"interval": "auto", "level": level}
            else:
                row_options["interval"] = "none"
            rows_evaluation = evaluate(first_rows, **row_options)
        thresholds = () if gains is None else gains.summarize(pooled.sources.measures)
        provenance = dict(pooled.provenance)
        conventions = _conventions(pooled, design)
        evaluation = replace(
            pooled,
            level=settings.level,
            estimates=tuple(
                averages.estimates(
                    settings.level, nested_intervals, needs_intervals=needs_intervals
                )
            ),
            comparison=comparison,
            curves=(
                pooled.curves.without_bands if isinstance(pooled.curves, LazyCurves) else ()
            ),
            per_unit=averages.per_fold,
            findings=fold_findings(rows_evaluation.findings, comparison, settings.level),
            notes=(*_explanatory_notes(design, len(np.concatenate(fold_indices))),
                   *(threshold.sentence for threshold in thresholds), *notes, *design.notes,
                   *pooled.notes, *(fold_values.notes if comparison is not None else ())),
            tuned_thresholds=thresholds,
            provenance={
                **provenance,
                **inference_provenance(settings),
                "interval": self.interval,
                "conventions": conventions,
            },
            sources=fold_values,
        )  # fmt: skip
        return (
            slices_and_costs.add_to(evaluation, rows_evaluation) if slices_and_costs else evaluation
        )

    def _evaluate_single_split(
        self,
        design: SplitDesign,
        evaluate: Callable[..., Evaluation],
        notes: Sequence[str],
        slices_and_costs: _SlicesAndCosts,
        gains: ThresholdGains | None,
    ) -> Evaluation:
        """Return the evaluation of a single split, with intervals of the measured rows."""
        settings, needs_intervals = self.settings, self.interval != "none"
        evaluation = evaluate(
            None, interval="auto" if needs_intervals else "none", curves=self.curves,
            level=settings.level, n_resamples=settings.n_resamples, seed=settings.seed,
            baseline=self.baseline, **slices_and_costs.slice_options(),
            **slices_and_costs.cost_options(),
        )  # fmt: skip
        thresholds = () if gains is None else gains.summarize(evaluation.sources.measures)
        split_note = (
            f"One split: models are trained on {design.sizes[0]:,.0f} rows and measured on "
            f"{design.sizes[1]:,.0f} others. The intervals are over the rows measured, for the "
            "models as fitted; a single split does not show the variation between training sets."
        )
        return replace(
            evaluation,
            notes=(
                split_note,
                *(t.sentence for t in thresholds),
                *notes,
                *design.notes,
                *evaluation.notes,
            ),
            tuned_thresholds=thresholds,
            provenance={**evaluation.provenance, "conventions": _conventions(evaluation, design)},
        )


def _add_copies(
    evaluation: Evaluation,
    features: Any,
    target: Any,
    design: SplitDesign,
    rows: Indices,
    evaluate: Callable[..., Evaluation],
    row_positions: Indices,
) -> Evaluation:
    """Add a finding if rows are copies of rows that their model was trained on.

    ``rows`` are the measured rows of the first repetition, at ``row_positions`` of ``evaluate``.
    """
    near_copies = find_near_copies(features, target)
    if near_copies is None:
        return evaluation
    copied = copied_rows(near_copies, [(fold.train, fold.test) for fold in design.first_repetition])
    if copied is None:
        return evaluation
    sentence = copied.count_text(
        "rows", "rows that their model was trained on", "features and target"
    )
    values = {"copies": float(len(copied.rows))}
    remaining = row_positions[~np.isin(rows, copied.rows)]
    with suppress(InputError):  # without these rows there may be nothing to measure
        options: dict[str, Any] = {"interval": "none", "curves": False}
        first = evaluate(row_positions, **options)[0]
        remaining_estimate = evaluate(remaining, **options).exact(first.system, first.measure)
        if math.isfinite(first.value) and math.isfinite(remaining_estimate.value):
            values |= {
                f"{first.measure} with": first.value,
                f"{first.measure} without": remaining_estimate.value,
            }
            sentence += (
                f". {first.measure} of {first.system} is {format_number(first.value)}, and "
                f"{format_number(remaining_estimate.value)} without them"
            )
    finding = Finding(
        kind="copies",
        message=f"{sentence}. "
        + copied.advice("Remove duplicates, or keep them together by group=."),
        criterion=CHECKS["copies"],
        severity=copied.severity,
        values=values,
    )
    return replace(evaluation, findings=(finding, *evaluation.findings))


def _conventions(evaluation: Evaluation, design: SplitDesign) -> dict[str, Any]:
    """Return the conventions of the provenance, including the design of the splits."""
    return {
        **evaluation.provenance["conventions"],
        "cross-validation": design.description,
        "folds": len(design.folds),
        "repetitions": design.n_repetitions,
        "trained on": design.sizes[0] / len(design.folds),
        "tested on": design.sizes[1] / len(design.folds),
    }


def _validation_rows(design: SplitDesign) -> str:
    return f"the {sum(map(len, design.validation_indices)):,} validation rows"


def _single_thresholds(
    design: SplitDesign, tuned: Mapping[str, TunedThresholds]
) -> dict[str, float]:
    """Return the threshold of each system if it has a single one, otherwise no thresholds.

    With several folds there are labels instead. A threshold that predicts no row positive is
    infinite and cannot be passed on.
    """
    fixed_thresholds = (
        {name: thresholds.choices[0].threshold for name, thresholds in tuned.items()}
        if design.is_single_split
        else {}
    )
    return fixed_thresholds if all(map(math.isfinite, fixed_thresholds.values())) else {}


def _prediction_columns(predictions_by_name: PredictionsByName, positive: str) -> dict[str, Any]:
    """Return labels, and probabilities or scores of the positive class."""
    columns_by_kind: dict[str, dict[str, Any]] = {"predicted": {}, "probability": {}, "score": {}}
    for name, model in predictions_by_name.items():
        columns_by_kind["predicted"][name] = model.predictions.labels
        kind = "score" if model.predictions.probability is None else "probability"
        table = (
            model.predictions.scores
            if model.predictions.probability is None
            else model.predictions.probability
        )
        classes = [label_name(label) for label in model.predictions.classes]
        columns_by_kind[kind][name] = positive_column(table, classes, positive)
    return {kind: columns or None for kind, columns in columns_by_kind.items()}


def _explanatory_notes(design: SplitDesign, n_predictions: int) -> list[str]:
    """Return notes that explain the values."""
    design_name = f"{design.description[:1].upper()}{design.description[1:]}"
    averaging_note = (
        f"{design_name}: values are averaged over {len(design.folds)} folds; pooled values, tables "
        f"and curves are of {n_predictions:,} out-of-fold predictions together."
    )
    interval_note = (
        "Pooled values and curves have no intervals or bands: models of different folds share "
        "training rows, so intervals that assume independent rows would be too short. Findings "
        "are based on such intervals, lengthened as the corrected t over folds is."
    )
    return [averaging_note, interval_note]


def _take_rows(values: Any, indices: Indices, label: str) -> Any:
    """Return some rows of a column, or of several."""
    if values is None:
        return None
    if isinstance(values, Mapping):
        return {
            name: _take_rows(column, indices, f"{label} {name!r}")
            for name, column in values.items()
        }
    n = n_rows(values)
    if n is None:
        raise InputError(f"{label}: {format_value(values)}, expected a column")
    if n <= indices.max(initial=-1):
        raise InputError(f"{label}: has {n} rows, expected {indices.max() + 1} or more")
    return take_rows(values, indices)


#: By system and measure.
FoldValuesBySystem = Mapping[str, Mapping[str, FloatArray]]
FoldsByReason = Mapping[str, Mapping[str, Mapping[str, list[int]]]]
#: Function that returns the interval of a measure of a system, in place of the corrected t.
IntervalFunction = Callable[[str, str], Interval]

CORRECTED_T = "corrected resampled t"


def widened_level(level: float, design: SplitDesign) -> float:
    """Return the level that widens an interval of rows as the corrected t widens that of folds.

    The interval of the rows of one repetition gets longer in the same ratio: z is multiplied by
    √(1 + J · n_test/n_train).
    """
    train, test = design.sizes
    z = intervals.normal_quantile(level) * math.sqrt(
        1 + len(design.first_repetition) * test / train
    )
    return min(math.erf(z / math.sqrt(2)), 1 - 1e-9)


def _round_up(level: float) -> float:
    """Return a level with few digits, not below the given one, for the headings of tables."""
    rounded = math.ceil(level * 10_000) / 10_000
    return rounded if rounded < 1 else level


@dataclass(frozen=True, eq=False)
class FoldAverages:
    """Values of each measure of each system on each fold, and their averages.

    ``pooled`` is the evaluation of all rows together; ``values`` are the values by system, measure
    and fold; ``reasons`` are the folds without a value, by system, measure and reason.
    """

    pooled: Evaluation
    design: SplitDesign
    values: FoldValuesBySystem
    reasons: FoldsByReason

    @classmethod
    def from_evaluation(
        cls, pooled: Evaluation, design: SplitDesign, fold_indices: Sequence[Indices]
    ) -> FoldAverages:
        """Compute all measures on all folds."""
        source = pooled.sources
        plain_settings = replace(source.settings, interval="none", methods=())
        names = [str(measure) for measure in source.measures]
        values = {
            s: {m: np.full(len(fold_indices), math.nan) for m in names}
            for s in source.systems_by_name
        }
        reasons: dict[str, dict[str, dict[str, list[int]]]] = {
            s: {m: {} for m in names} for s in source.systems_by_name
        }
        for system, full_system in source.systems_by_name.items():
            plain_system = full_system.with_settings(plain_settings)
            for fold, indices in enumerate(fold_indices):
                mask = np.zeros(full_system.n_rows, np.bool_)
                mask[indices] = True
                fold_system = plain_system.take_rows(mask)
                for measure, name in zip(source.measures, names, strict=True):
                    point_estimate = fold_system.point_estimate(measure)
                    values[system][name][fold] = point_estimate.value
                    if math.isnan(point_estimate.value):
                        for reason in point_estimate.undefined or {"undefined": 1}:
                            reasons[system][name].setdefault(reason, []).append(fold)
        return cls(pooled, design, values, reasons)

    def estimates(
        self, level: float, nested_intervals: IntervalFunction | None, *, needs_intervals: bool
    ) -> list[Estimate]:
        """Return the average of each measure over the folds with its interval.

        An average is undefined if a fold has no value. The interval is the corrected t unless
        ``nested_intervals`` returns another one; there are none unless ``needs_intervals``.
        """
        bounds = {str(m): m.definition.range for m in self.pooled.sources.measures}
        return [
            self._estimate(
                e, level, bounds[e.measure], nested_intervals, needs_intervals=needs_intervals
            )
            for e in self.pooled
            if e.measure in bounds
        ]

    def _estimate(
        self,
        pooled: Estimate,
        level: float,
        bounds: Any,
        nested_intervals: IntervalFunction | None,
        *,
        needs_intervals: bool,
    ) -> Estimate:
        column = self.values[pooled.system][pooled.measure]
        # (A mean of the defined values would omit the folds in which a model fails.)
        value = float(column.mean())
        if not needs_intervals:
            interval = intervals.no_interval("none", "not_requested")
        elif math.isnan(value):
            interval = intervals.no_interval("none", "undefined_value")
        elif nested_intervals is not None:
            interval = nested_intervals(pooled.system, pooled.measure)
        elif len(column) < 2:
            interval = intervals.no_interval(CORRECTED_T, "too_few_folds")
        else:
            train, test = self.design.sizes
            interval = resampled_tests.corrected_t(column, train, test, level=level).interval
        interval = interval.clip(*map(float, bounds))
        folds_by_reason = self.reasons[pooled.system][pooled.measure]
        return Estimate(
            measure=pooled.measure,
            value=value,
            low=interval.low,
            high=interval.high,
            level=level,
            method=interval.method,
            n=0 if math.isnan(value) else len(column),
            n_total=len(column),
            unit="folds",
            undefined={reason: len(folds) for reason, folds in folds_by_reason.items()},
            interval_reason=interval.reason,
            standard_error=interval.se,
            no_skill=pooled.no_skill,
            system=pooled.system,
            pooled=pooled.value,
        )

    @property
    def per_fold(self) -> PerUnit:
        """Values of the folds."""
        return PerUnit("folds", self.design.names, self.values, undefined=self.reasons)

    def fold_values(self, settings: Settings) -> FoldValues:
        """Return the values that comparisons use."""
        directed: Sequence[Measure] = self.pooled.sources.directed_measures
        repetition = tuple(str(fold.repetition + 1) for fold in self.design.folds)
        return FoldValues.from_values(
            ExternalValues(self.design.names, self.values, repetition=repetition),
            directed,
            {(e.system, e.measure): e.value for e in self.pooled},
            design=self.design.kind,
            sizes=self.design.sizes,
            settings=settings,
            measures=self.pooled.sources.measures,
            comparison_function=compare_folds,
        )


def compare_folds(fold_values: FoldValues, **options: Any) -> Comparison:
    """Compare the systems over folds."""
    return compare_split_values(
        fold_values.values,
        fold_values.higher_is_better,
        fold_values.pooled_values,
        fold_values.notes,
        fold_values.design,
        *fold_values.sizes,
        **options,
    )


def fold_findings(
    row_findings: Sequence[Finding], comparison: Comparison | None, level: float
) -> tuple[Finding, ...]:
    """Return the findings, with those of comparisons replaced by the comparison over folds."""
    comparison_kinds = {
        rule.kind for rule in findings.RULES.values() if ComparisonResults in rule.needs
    }
    combined = [finding for finding in row_findings if finding.kind not in comparison_kinds]
    if comparison is not None:
        combined += findings.find_all(
            [findings.Subject(None, level, (ComparisonResults(comparison),))]
        )
    return tuple(sorted(combined, key=lambda finding: SEVERITIES.index(finding.severity)))


#: Models by name.
PredictionsByName: TypeAlias = "Mapping[str, OutOfFoldModel]"


@dataclass(frozen=True, eq=False)
class FoldPredictions:
    """Out-of-fold predictions of models.

    ``predictions_by_name`` are the predictions by model for ``row_indices``; ``fold_indices`` are
    the positions of each fold of the ``design``. ``pair_predictions`` are the predictions for the
    rows of pairs of folds, for nested cross-validation. ``tuned`` are tuned thresholds by model.
    """

    design: SplitDesign
    row_indices: Indices
    fold_indices: list[Indices]
    predictions_by_name: PredictionsByName
    notes: list[str]
    pair_predictions: PredictionsByName | None = None
    tuned: Mapping[str, TunedThresholds] = field(default_factory=dict)


def fit_folds(
    models: Mapping[str, Any],
    training_data: TrainingData,
    design: SplitDesign,
    pairs: Sequence[nested_cv.FoldPair],
    predict: Callable[[Any, Any], ModelPredictions],
    seed: int,
    n_jobs: int | None,
    tuning: ThresholdTuning | None,
    constraints: RowConstraints,
    progress: Progress,
) -> FoldPredictions:
    """Fit every model on every fold.

    If Ctrl-C interrupts, the result is that of the folds that were finished. If a split has
    validation rows in addition to the measured rows, thresholds are chosen on these.
    """
    validation_indices = () if tuning is None else design.validation_indices
    name_format = "fold {}" if design.split is None else "the split"
    jobs = [
        FitJob(
            model, fold.train, (fold.test, *validation_indices), (fold.repetition, fold.fold),
            name=f"{name}, {name_format.format(fold_name)}",
        )
        for fold, fold_name in zip(design.folds, design.names, strict=True)
        for name, model in models.items()
    ]  # fmt: skip
    inner_jobs = [
        [] if tuning is None or validation_indices else tuning.inner_jobs(job, constraints)
        for job in jobs
    ]
    pair_jobs = nested_cv.make_pair_jobs(pairs, models)
    # The inner fits of a job precede it, so that a finished job has all its inner fits.
    ordered_jobs = [
        fit_job
        for job, members in zip(jobs, inner_jobs, strict=True)
        for fit_job in (*members, job)
    ]
    with report_progress(progress):
        all_fits = fit_all(
            [*ordered_jobs, *pair_jobs],
            training_data,
            predict,
            seed=seed,
            n_jobs=n_jobs,
            label="fit",
        )
    stops = np.cumsum([len(members) + 1 for members in inner_jobs])
    fits = FitResults(
        (*(all_fits.results[e - 1] for e in stops), *all_fits.results[len(ordered_jobs) :]),
        all_fits.interrupted,
    )
    tuned: dict[str, TunedThresholds] = {}
    if tuning is not None:
        inner_fits = [
            all_fits.results[e - 1 - len(members) : e - 1]
            for e, members in zip(stops, inner_jobs, strict=True)
        ]
        fits = _apply_thresholds(
            tuning, jobs, inner_jobs, inner_fits, fits, training_data, list(models), tuned
        )
    n_finished = min(fits.n_finished, len(jobs)) // len(models)
    if not n_finished:  # not even one fold of every model
        raise KeyboardInterrupt
    notes = _unweighted_notes(models) if training_data.weight is not None else []
    notes += shared_group_notes(models, training_data)
    if fits.interrupted:
        finished = f"{n_finished} of {len(design.folds)} folds"
        notes.insert(0, f"Interrupted: these numbers are of {finished}, which were finished.")
        warnings.warn(f"interrupted: the numbers are of {finished}", stacklevel=2)
        design = replace(design, folds=design.folds[:n_finished])
    rows, fold_indices = index_tested_rows([(fold.repetition, fold.test) for fold in design.folds])
    predictions_by_name = {}
    for model_index, name in enumerate(models):
        members = [
            fit.predictions[0]
            for fit in _model_fits(fits, model_index, len(models), 0, n_finished * len(models))
        ]
        predictions_by_name[name] = OutOfFoldModel.from_folds(name, members, fold_indices)
        if predictions_by_name[name].n_incomplete_models:
            notes.append(
                f"{name}: {predictions_by_name[name].n_incomplete_models} of {n_finished} models "
                "were trained "
                "without rows of some class, and have no probability for it."
            )
    pair_predictions = None
    if pairs and not fits.interrupted:
        pair_predictions = {
            name: _concatenate_folds(
                name, _model_fits(fits, model_index, len(models), len(jobs), None)
            )
            for model_index, name in enumerate(models)
        }
    return FoldPredictions(
        design, rows, fold_indices, predictions_by_name, notes, pair_predictions, tuned
    )


def _apply_thresholds(
    tuning: ThresholdTuning,
    jobs: Sequence[FitJob],
    inner_jobs: Sequence[Sequence[FitJob]],
    inner_fits: Sequence[Sequence[FitResult[ModelPredictions] | None]],
    fits: FitResults[ModelPredictions],
    material: TrainingData,
    names: Sequence[str],
    tuned: dict[str, TunedThresholds],
) -> FitResults[ModelPredictions]:
    """Return the fits with labels at the tuned thresholds, which are added to ``tuned``."""

    def scored(model_predictions: ModelPredictions, rows: Indices, name: str) -> ScoredRows:
        weight = None if material.weight is None else material.weight[rows]
        return tuning.score_rows(model_predictions, material.target[rows], weight, name)

    relabeled = []
    for index, job in enumerate(jobs):
        fit = fits.results[index]
        if fit is None:
            break
        tested, *others = (
            scored(part_predictions, rows, job.name)
            for part_predictions, rows in zip(fit.predictions, job.eval_parts, strict=True)
        )
        for inner_job, inner_fit in zip(inner_jobs[index], inner_fits[index], strict=True):
            assert inner_fit is not None
            others.append(scored(inner_fit.predictions[0], inner_job.eval_parts[0], inner_job.name))
        choice = tuning.choose(concat_rows(others), job.name)
        thresholds = tuned.setdefault(names[index % len(names)], TunedThresholds([], []))
        thresholds.choices.append(choice)
        thresholds.test_rows.append(tested)
        labels = tuning.labels(fit.predictions[0], tested.score >= choice.threshold)
        relabeled.append(replace(fit, predictions=(fit.predictions[0]._replace(labels=labels),)))
    return FitResults((*relabeled, *fits.results[len(relabeled) :]), fits.interrupted)


def _model_fits(
    fits: FitResults[ModelPredictions], model_index: int, n_models: int, begin: int, end: int | None
) -> list[FitResult[ModelPredictions]]:
    """Return the fits of one model in a range of all fits."""
    return [fit for fit in fits.results[begin:end][model_index::n_models] if fit is not None]


def _concatenate_folds(name: str, fits: Sequence[FitResult[ModelPredictions]]) -> OutOfFoldModel:
    """Concatenate the predictions of all fits."""
    fold_predictions = [fold_prediction for fit in fits for fold_prediction in fit.predictions]
    stops = np.cumsum([0, *(len(fold_prediction.labels) for fold_prediction in fold_predictions)])
    indices = [np.arange(a, b) for a, b in pairwise(stops)]
    return OutOfFoldModel.from_folds(name, fold_predictions, indices)


def _unweighted_notes(models: Mapping[str, Any]) -> list[str]:
    """Return a note that names the models that do not take weights."""
    names = [name for name, model in models.items() if weight_parameter(model) is None]
    return [f"Fitted without weights, which only measures take: {', '.join(names)}."] * bool(names)
