"""Parameters of the functions that fit models, with their descriptions.

Each description is written once, here; ``tools/signatures.py`` generates signatures and docstrings
from it. Options that are shared with the tasks are those of ``evaluation/tasks.py``.
"""

from __future__ import annotations

from dataclasses import replace

from calipers.evaluation.functions import BASELINE
from calipers.evaluation.task import Argument, Function
from calipers.evaluation.tasks import DATA, OPTIONS, SHARED_COLUMNS

ESTIMATOR = Argument(
    "estimator",
    description="Estimator of scikit-learn, or a pipeline. Clones are fitted; the estimator itself "
    "is not changed. ``random_state`` is drawn from ``seed`` if an estimator does not set it.",
    type="estimator",
    annotation="Any",
)
X = Argument(
    "X",
    description="Features of the rows.",
    type="array-like of shape (n, n_features)",
    annotation="Any",
)
Y = Argument(
    "y",
    description="Target of each row: a class or a number.",
    type="array-like of shape (n,)",
    annotation="Any",
)
MEASURE = Argument(
    "measure",
    description="Measure of :func:`calipers.classification` or :func:`calipers.regression` that "
    "has a direction. The default is the error rate, or the MSE of a regression.",
    type="str or Measure",
    annotation="str | Measure | None",
)
CV = Argument(
    "cv",
    description="Number of folds (the number of rows is leave-one-out), a splitter of "
    "scikit-learn, or pairs of index arrays of the rows to train and to test on. A single split "
    "is allowed, such as a PredefinedSplit of one fold: its intervals are over the rows tested.",
    type="int, splitter, or iterable of (train, test)",
    annotation="Any",
)
N_REPEATS = Argument(
    "n_repeats",
    description="Number of times that the rows are re-split, if ``cv`` is a number.",
    kind="integer",
)
SPLIT_ROWS = Argument(
    "split",
    "In place of folds: column with the subset of each row: train, validation or test.",
    metavar="COL",
    description="In place of folds, a single split into training, validation and test rows: the "
    'result of :func:`calipers.split`; a column with "train", "validation" or "test" for each row; '
    "or the indices of rows, by these names or in this order (two arrays are the rows to train and "
    "to validate on). Models are trained on the training rows alone.",
    type="Split, array-like of shape (n,), or dict or sequence of indices",
    annotation="Any",
)
STRATIFY = Argument(
    "stratify",
    description="Whether folds have classes in equal proportions, or in a regression, deciles of "
    "the truth. By default folds are stratified by class, and not in a regression.",
    type="bool",
    annotation="bool | None",
)
GROUP = Argument(
    "group",
    "Column of groups (user, patient): rows of a group stay on one side.",
    metavar="COL",
    description="Group of each row (user, patient): rows of a group stay on one side of a split.",
    type="array-like of shape (n,)",
    annotation="Any",
)
TIME = Argument(
    "time",
    "Column of times: models are trained on earlier rows and tested on later ones.",
    metavar="COL",
    description="Time of each row, or True if rows are in the order of time: each fold is then "
    "predicted by a model trained on earlier rows. With groups, on earlier rows of other groups.",
    type="array-like of shape (n,), or bool",
    annotation="Any",
)
WEIGHT = Argument(
    "weight",
    "Column of weights.",
    metavar="COL",
    description="Weight of each row, in every measure and in the fit of an estimator that accepts "
    "weights.",
    type="array-like of shape (n,)",
    annotation="Any",
)
POSITIVE = Argument(
    "positive",
    "The positive class, if the labels do not imply it.",
    metavar="CLASS",
    description="The positive class, against all others. It is required unless the classes "
    "are 0 and 1, −1 and 1, or False and True.",
    type="label",
    annotation="Any",
)
THRESHOLD = Argument(
    "threshold",
    "Scores at or above it are positive; or a rule, such as accuracy or 'specificity>=0.9', that "
    "chooses it on rows that are not measured.",
    metavar="X|RULE",
    description='A number, or a rule that chooses one, such as ``"accuracy"`` or '
    '``"specificity>=0.9"`` (see :func:`calipers.operating_point`). A rule never sees the rows '
    "that are measured. It chooses a threshold for each fold on out-of-fold predictions of its "
    "training rows, with ``inner_cv`` folds within these. ``tuned_thresholds`` are the gains over "
    "the labels that the model itself predicts.",
    type="float or str",
    annotation="float | str | None",
)
INNER_CV = Argument(
    "inner_cv",
    "Number of folds within the training rows that choose a threshold (default: 5).",
    flag="--inner-folds",
    metavar="N",
    low=2,
    description="Number of folds within the training rows that choose a threshold; 5 by default.",
    kind="integer",
)
N_JOBS = Argument(
    "n_jobs",
    default=1,
    description="Number of parallel fits, -1 for all processors. It does not change the results.",
    kind="integer",
    annotation="int | None",
)
PARAM_NAME = Argument(
    "param_name",
    description='Name of the parameter as ``set_params`` takes it, such as ``"max_depth"`` or '
    '``"polynomial__degree"``.',
)
PARAM_RANGE = Argument(
    "param_range",
    description="Values of the parameter, the simplest model first.",
    type="list",
    annotation="Sequence[Any]",
)
TASK = Argument(
    "task",
    type="{'classification', 'regression'}",
    description="Task of the models, if neither estimators nor columns imply it.",
)
_SLICES = SHARED_COLUMNS["slices"]
SLICES = Argument(
    "slices",
    _SLICES.help,
    flag="--slice",
    is_repeatable=True,
    description=_SLICES.description,
    type=_SLICES.type,
    annotation="Any",
)
COST, SLICE_BINS = OPTIONS["cost"], OPTIONS["slice_bins"]
LEVEL, SEED, INPUTS = OPTIONS["level"], OPTIONS["seed"], OPTIONS["inputs"]
_SPLIT_ARGUMENTS = (CV, N_REPEATS, SPLIT_ROWS, STRATIFY, GROUP, TIME, WEIGHT)
PROGRESS = Argument(
    "progress",
    default=False,
    description="Whether to write the number of finished fits to stderr, on one line; or a "
    "function that is called after each fit with the number of finished fits and the number of "
    "all.",
    type="bool or callable",
    annotation="Progress",
)
_FIT_ARGUMENTS = (SEED, N_JOBS, PROGRESS, INPUTS)
_SEED_HELP = "It also determines folds and fits."
CROSS_VALIDATE = Function(
    "calipers.learning.cross_validation:cross_validate",
    (
        ESTIMATOR,
        X,
        Y,
        CV,
        N_REPEATS,
        SPLIT_ROWS,
        Argument(
            "on",
            description="Rows of a single split that models are measured on; by default the test "
            "rows if there are any.",
            type="{'test', 'validation'}",
        ),
        STRATIFY,
        GROUP,
        TIME,
        WEIGHT,
        Argument(
            "truth",
            description="True class or number of each row, if predictions are given in place "
            "of estimators. This does not need scikit-learn.",
            type="array-like of shape (n,)",
            annotation="Any",
        ),
        Argument(
            "predicted",
            description="Existing predictions, as :func:`calipers.classification` and "
            ":func:`calipers.regression` take them.",
            type="array-like of shape (n,), or dict of such",
            annotation="Any",
        ),
        Argument(
            "score",
            description="Existing scores, as :func:`calipers.classification` takes them.",
            type="array-like of shape (n,), or dict of such",
            annotation="Any",
        ),
        Argument(
            "probability",
            description="Existing probabilities, as :func:`calipers.classification` takes them.",
            type="array-like of shape (n,) or (n, n_classes), or dict of such",
            annotation="Any",
        ),
        Argument(
            "fold",
            description="Fold of each row of existing predictions. The model of a fold is assumed "
            "to be trained on the other folds.",
            type="array-like of shape (n,)",
            annotation="Any",
        ),
        Argument(
            "repetition",
            description="Repetition of each row, if the rows occur once for each repetition.",
            type="array-like of shape (n,)",
            annotation="Any",
        ),
        Argument(
            "train",
            kind="number",
            description="Number of training rows of each model of existing predictions, if it was "
            "not trained on all other folds.",
        ),
        SLICES,
        SLICE_BINS,
        COST,
        DATA,
        replace(TASK, type=f"{TASK.type} or callable", annotation="Any"),
        POSITIVE,
        THRESHOLD,
        INNER_CV,
        OPTIONS["measures"],
        OPTIONS["undefined"],
        BASELINE,
        OPTIONS["curves"],
        Argument(
            "interval",
            choices=("corrected", "nested", "none"),
            description='``"corrected"``, Nadeau and Bengio\'s t over folds: with mean ē and '
            "standard deviation s of J folds, ē ± t·s·√(1/J + n_test/n_train) on J − 1 degrees of "
            'freedom. ``"nested"``, the nested cross-validation of Bates, Hastie and Tibshirani, '
            "for means of a loss per row: it also fits a model without each pair of folds, and "
            "needs ten repeats or more to be stable.",
        ),
        LEVEL,
        OPTIONS["n_resamples"],
        *_FIT_ARGUMENTS,
    ),
    positional=("estimator", "X", "y"),
    extra_help={
        "estimator": "Or a dict of estimators by name, which are compared on the same folds.",
        "cv": "The default is 10.",
        "n_repeats": "The default is 1.",
        "threshold": "If the test rows of a single split are measured, it is chosen on its "
        "validation rows, if there are any; for existing predictions on those of the other folds.",
        "n_resamples": "They are used by findings.",
        "seed": _SEED_HELP,
        "task": "Or the verb of a custom task, which takes ``truth`` and ``predicted``.",
    },
)

VALIDATION_CURVE = Function(
    "calipers.learning.learning_curves:validation_curve",
    (
        *(ESTIMATOR, X, Y, PARAM_NAME, PARAM_RANGE, *_SPLIT_ARGUMENTS),
        *(POSITIVE, THRESHOLD, INNER_CV, MEASURE, LEVEL, *_FIT_ARGUMENTS),
    ),
    positional=("estimator", "X", "y"),
    required=("estimator", "X", "y", "param_name", "param_range"),
    extra_help={
        "cv": "The default is 10. Differences are uncertain with few folds, and less so with more "
        "repeats.",
        "n_repeats": "The default is 1.",
        "split": "Values are compared on the validation rows, which are required.",
        "threshold": "They are reported at the value ``one_se``.",
        "seed": _SEED_HELP,
    },
)

LEARNING_CURVE = Function(
    "calipers.learning.learning_curves:learning_curve",
    (
        *(ESTIMATOR, X, Y),
        Argument(
            "train_sizes",
            description="Numbers of rows, or proportions of the training set, ascending. By "
            "default there are six sizes in geometric progression, from an eighth on.",
            type="list of int or float",
            annotation="Sequence[float] | None",
        ),
        Argument(
            "extrapolate_to",
            kind="integer",
            description="Training size to extrapolate to, at most twice the largest of the "
            "sizes, which is the default.",
        ),
        *(*_SPLIT_ARGUMENTS, POSITIVE, THRESHOLD, INNER_CV, MEASURE, LEVEL),
        replace(
            OPTIONS["n_resamples"],
            default=300,
            description="Number of draws for the band of the extrapolation.",
        ),
        *_FIT_ARGUMENTS,
    ),
    positional=("estimator", "X", "y"),
    required=("estimator", "X", "y"),
    extra_help={
        "cv": "The default is 5.",
        "train_sizes": "Subsets have about the class proportions of the training set; forward in "
        "time they are its latest rows.",
        "n_repeats": "The default is 5.",
        "split": "Subsets are of the training rows; errors are measured on the validation rows, or "
        "if there are none on the test rows, with intervals over these. The extrapolation needs "
        "several splits.",
        "threshold": "They are reported at the largest size.",
        "level": "The band has the same level.",
        "seed": "It also determines splits, subsets and fits.",
    },
)

SELECT = Function(
    "calipers.learning.selection:select_model",
    (
        Argument(
            "candidates",
            description="Two or more estimators of scikit-learn by name: different models, or one "
            "with different parameters.",
            type="dict of estimator",
            annotation="Any",
        ),
        *(X, Y),
        replace(
            CV,
            description="Number of outer folds, 10 by default; or a splitter of scikit-learn, or "
            "pairs of index arrays of the rows to train and to measure on. A single split, such as "
            "a PredefinedSplit of one fold, gives the rows that the choice is measured on, not "
            "those that it is made on.",
        ),
        *_SPLIT_ARGUMENTS[1:],
        *(POSITIVE, THRESHOLD),
        replace(
            INNER_CV,
            description="Number of folds within the training rows, 5 by default; they are "
            "stratified, grouped or forward in time as the outer ones are. They also choose "
            "thresholds. Each candidate is fitted ``cv`` · (``inner_cv`` + 1) times.",
        ),
        *(MEASURE, LEVEL, *_FIT_ARGUMENTS),
    ),
    positional=("candidates", "X", "y"),
    required=("candidates", "X", "y"),
    extra_help={
        "n_repeats": "The default is 1.",
        "split": "Test rows are required.",
        "threshold": "It is part of each candidate; the gains are reported for the chosen one.",
        "seed": _SEED_HELP,
    },
)

BIAS_VARIANCE = Function(
    "calipers.learning.bias_variance:bias_variance",
    (
        *(ESTIMATOR, X, Y),
        Argument(
            "generate",
            description="In place of rows, a function that takes a NumPy generator and returns a "
            "training set (X, y), of the same size each time.",
            type="callable",
            annotation="Callable[[np.random.Generator], tuple[Any, Any]] | None",
        ),
        Argument(
            "test",
            description="(X, y) of the test rows; by default a random third of the rows.",
            type="tuple of array-like",
            annotation="Any",
        ),
        Argument(
            "bootstrap",
            kind="switch",
            description="Whether training sets are drawn from the rows with replacement.",
        ),
        Argument(
            "training_sets",
            kind="integer",
            description="Number of training sets; by default 200 if they are generated or "
            "bootstrapped, and 10 disjoint ones otherwise.",
        ),
        replace(
            PARAM_NAME,
            description=f"{PARAM_NAME.description} Without it the estimator is used as it is.",
        ),
        replace(
            PARAM_RANGE,
            description=f"{PARAM_RANGE.description} All are trained on the same training sets.",
            annotation="Sequence[Any] | None",
        ),
        Argument(
            "noise",
            kind="number",
            description="Variance of y about its expected value. By default bias² and noise are "
            "reported together.",
        ),
        Argument(
            "exact",
            kind="switch",
            description="Whether the y of ``test`` is its expected value, without noise, as the "
            "values of a known function are.",
        ),
        Argument(
            "sampled",
            default=True,
            kind="switch",
            description="Whether the test rows are a sample from a population, which makes "
            "intervals wider; False for a grid, for example.",
        ),
        LEVEL,
        replace(OPTIONS["n_resamples"], default=1000),
        *_FIT_ARGUMENTS,
    ),
    positional=("estimator", "X", "y"),
    required=("estimator",),
    extra_help={
        "X": "Omitted, like ``y``, if ``generate`` is given.",
        "level": "Intervals of squared loss are Student's t from the jackknife over training sets, "
        "those of 0–1 loss are from the bootstrap over them.",
        "seed": "It determines everything that is random.",
    },
)

_CHECKED_SPLIT = Argument(
    "split",
    description="Result of :func:`calipers.split`; or the indices of the training and test rows, "
    "or of all three subsets, in this order or by name; or a column with "
    '"train", "validation" or "test" for each row.',
    type="Split, array-like of shape (n,), or dict or sequence of indices",
    annotation="Any",
)

CHECK_SPLIT = Function(
    "calipers.learning.split_checks:check_split",
    (
        _CHECKED_SPLIT,
        X,
        replace(
            Y,
            description=f"{Y.description} Without it no model is scored, and the checks that need "
            "scores are omitted.",
        ),
        replace(
            GROUP,
            description="Group of each row (user, patient); the check looks for groups in both "
            "subsets.",
        ),
        replace(
            TIME,
            description="Time of each row; the check looks for training rows that are not earlier "
            "than the test rows.",
            type=GROUP.type,
        ),
        replace(
            ESTIMATOR,
            description="Model whose scores are reported: by default a random forest of "
            "scikit-learn, or gradient-boosted trees with more than 10,000 rows.",
        ),
        replace(
            TASK,
            description="Task of the model. By default text, and whole numbers of at most 20 "
            "values, are classes.",
        ),
        replace(SEED, help="Seed of the fits."),
    ),
    positional=("split", "X", "y"),
    required=("split", "X"),
)

SPLIT = Function(
    "calipers.learning.split:split",
    (
        Argument(
            "rows",
            description="Number of rows, or an object with that number of rows: features, a "
            "target, or a table, whose columns ``stratify``, ``group`` and ``time`` may then name.",
            type="int, array-like, or data frame",
            annotation="Any",
        ),
        Argument(
            "test",
            default=0.25,
            kind="proportion",
            description="Proportion of all rows to test on; usually 0.2 to 0.3.",
        ),
        Argument(
            "validation",
            default=0.0,
            kind="proportion",
            description="Proportion, *of the rows that are not tested on*, to validate on.",
        ),
        replace(
            STRATIFY,
            description="Classes of the rows, which all subsets have in equal proportions. "
            "Floating-point numbers of more than 20 values are stratified by their deciles; whole "
            "numbers are classes.",
            type="array-like of shape (n,)",
            annotation="Any",
        ),
        replace(
            GROUP,
            description="Group of each row (user, patient): rows of a group stay in one subset. "
            "Proportions are then as near as whole groups allow.",
        ),
        replace(
            TIME,
            description="Time of each row: the latest rows are the test set, those before them the "
            "validation set. Rows of the same time stay in one subset.",
            type="array-like of shape (n,)",
        ),
        replace(SEED, help="Seed of the draw."),
    ),
    positional=("rows",),
    required=("rows",),
)

#: All of them.
FUNCTIONS = (
    CROSS_VALIDATE,
    VALIDATION_CURVE,
    LEARNING_CURVE,
    SELECT,
    BIAS_VARIANCE,
    CHECK_SPLIT,
    SPLIT,
)
