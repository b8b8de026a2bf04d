"""Parameters of the functions that fit models, with their descriptions.

Each description is written once, here; ``tools/signatures.py`` generates signatures and docstrings
from it. Options that are shared with the tasks are those of ``evaluation/tasks.py``.
"""

from __future__ import annotations

from dataclasses import replace

from calipers.evaluation.functions import BASELINE
from calipers.evaluation.task import Argument, Function
from calipers.evaluation.tasks import DATA, OPTIONS

ESTIMATOR = Argument(
    "estimator",
    description="Estimator of scikit-learn, or a pipeline. Clones are fitted; what is given stays "
    "as it is. ``random_state`` is drawn from ``seed`` where an estimator leaves it open.",
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
    description="Class or number of each row that is to be predicted.",
    type="array-like of shape (n,)",
    annotation="Any",
)
MEASURE = Argument(
    "measure",
    description="Any measure of :func:`calipers.classification` or :func:`calipers.regression` of "
    "which one value is better than another; the error rate or the MSE if none is named.",
    type="str or Measure",
    annotation="str | Measure | None",
)
FOLDS = Argument(
    "cv",
    description="Number of folds (as many as rows is leave-one-out); or a splitter of "
    "scikit-learn; or pairs of the indices of rows to train and to test on. One split will do, "
    "such as that of a PredefinedSplit of one fold: its intervals are those of the rows tested.",
    type="int, splitter, or iterable of (train, test)",
    annotation="Any",
)
REPEATS = Argument(
    "n_repeats",
    description="How often the rows are divided anew, where ``cv`` is a number.",
    kind="whole",
)
PART = Argument(
    "part",
    "In place of folds: column that says train, validation or test of each row.",
    metavar="COL",
    description="In place of folds one division of the rows into those to train on, to choose on "
    'and to test on: what :func:`calipers.split` made; a column that says "train", "validation" '
    'or "test" of each row; or the indices of rows, by these names or in this order (of two '
    "arrays those to train on and to validate on). Models are trained on the training rows alone.",
    type="Split, array-like of shape (n,), or dict or sequence of indices",
    annotation="Any",
)
STRATIFY = Argument(
    "stratify",
    description="Whether folds have classes in equal proportions; of a regression, tenths of the "
    "truth. Of classes they do unless told otherwise.",
    type="bool",
    annotation="bool | None",
)
GROUP = Argument(
    "group",
    "Column of what rows come from: a group stays on one side.",
    metavar="COL",
    description="Group of each row (user, patient), where several rows come from one: rows of a "
    "group stay on one side.",
    type="array-like of shape (n,)",
    annotation="Any",
)
TIME = Argument(
    "time",
    "Column of when rows are from: what came before predicts what follows.",
    metavar="COL",
    description="Time of each row, or True where rows are in the order of time: each fold is then "
    "predicted by a model trained on what came before. With groups, of other groups.",
    type="array-like of shape (n,), or bool",
    annotation="Any",
)
WEIGHT = Argument(
    "weight",
    "Column of weights.",
    metavar="COL",
    description="Weight of each row: in every measure, and in the fit of an estimator that takes "
    "weights.",
    type="array-like of shape (n,)",
    annotation="Any",
)
POSITIVE = Argument(
    "positive",
    "The positive class, unless the labels tell.",
    metavar="CLASS",
    description="The positive class, against all others. It has to be named unless the classes "
    "are 0 and 1, −1 and 1, or False and True.",
    type="label",
    annotation="Any",
)
THRESHOLD = Argument(
    "threshold",
    "Scores at or above it are positive. Or a rule, such as accuracy or 'specificity>=0.9', that "
    "chooses it on rows which are not measured.",
    metavar="X|RULE",
    description='A number, or a rule that chooses one, such as ``"accuracy"`` or '
    '``"specificity>=0.9"`` (see :func:`calipers.operating_point`). A rule never sees the rows '
    "that are measured. It chooses a threshold for each fold on predictions of the rows trained "
    "on, made by ``inner_cv`` folds within these; and of one division on its validation rows. "
    "``tuned_thresholds`` state what that gains over the labels that the model predicts itself.",
    type="float or str",
    annotation="float | str | None",
)
INNER = Argument(
    "inner_cv",
    "How many folds within the rows trained on choose a threshold; 5 unless given.",
    flag="--inner-folds",
    metavar="N",
    low=2,
    description="Number of folds within the rows trained on that choose a threshold; 5 unless "
    "given.",
    kind="whole",
)
N_JOBS = Argument(
    "n_jobs",
    default=1,
    description="Number of fits at a time, -1 for all processors. The numbers are the same for "
    "all.",
    kind="whole",
    annotation="int | None",
)
PARAMETER = Argument(
    "param_name",
    description='Name of the parameter as ``set_params`` takes it, such as ``"max_depth"`` or '
    '``"polynomial__degree"``.',
)
VALUES = Argument(
    "param_range",
    description="Values of the parameter, the simplest model first.",
    type="list",
    annotation="Sequence[Any]",
)
TASK = Argument(
    "task",
    type="{'classification', 'regression'}",
    description="What the models do, where neither estimators nor columns tell.",
)
LEVEL, SEED, INPUTS = OPTIONS["level"], OPTIONS["seed"], OPTIONS["inputs"]
_DIVIDED = (FOLDS, REPEATS, PART, STRATIFY, GROUP, TIME, WEIGHT)
_FITTED = (SEED, N_JOBS, INPUTS)
_SEED = "It decides folds and fits, too."
CROSS_VALIDATE = Function(
    "calipers.learning.cross_validation:cross_validate",
    (
        ESTIMATOR,
        X,
        Y,
        FOLDS,
        REPEATS,
        PART,
        Argument(
            "on",
            description="Of one division, the rows that models are measured on; the test rows "
            "unless given, where there are any.",
            type="{'test', 'validation'}",
        ),
        STRATIFY,
        GROUP,
        TIME,
        WEIGHT,
        Argument(
            "truth",
            description="True class or number of each row, where predictions are given in place "
            "of estimators. That takes no scikit-learn.",
            type="array-like of shape (n,)",
            annotation="Any",
        ),
        Argument(
            "predicted",
            description="Predictions made elsewhere, as :func:`calipers.classification` and "
            ":func:`calipers.regression` take them.",
            type="array-like of shape (n,), or dict of such",
            annotation="Any",
        ),
        Argument(
            "score",
            description="Scores made elsewhere, as :func:`calipers.classification` takes them.",
            type="array-like of shape (n,), or dict of such",
            annotation="Any",
        ),
        Argument(
            "probability",
            description="Probabilities made elsewhere, as :func:`calipers.classification` takes "
            "them.",
            type="array-like of shape (n,) or (n, n_classes), or dict of such",
            annotation="Any",
        ),
        Argument(
            "fold",
            description="Fold of each row of such predictions. A model is taken to be trained on "
            "the other folds.",
            type="array-like of shape (n,)",
            annotation="Any",
        ),
        Argument(
            "repetition",
            description="Repetition of each row, where rows are there once for each.",
            type="array-like of shape (n,)",
            annotation="Any",
        ),
        Argument(
            "train",
            kind="number",
            description="Number of rows that a model of such predictions was trained on, if not "
            "all other folds.",
        ),
        DATA,
        replace(TASK, type=f"{TASK.type} or callable", annotation="Any"),
        POSITIVE,
        THRESHOLD,
        INNER,
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
            "for means of a loss per row: it fits each pair of folds as well, and takes ten "
            "repeats or more to be steady.",
        ),
        LEVEL,
        OPTIONS["n_resamples"],
        *_FITTED,
    ),
    positional=("estimator", "X", "y"),
    extra_help={
        "estimator": "Or a dict of estimators by name, which are compared on the same folds.",
        "cv": "10 unless given.",
        "n_repeats": "Once unless given.",
        "threshold": "Of predictions made elsewhere it is chosen on those of the other folds.",
        "n_resamples": "They are behind findings.",
        "seed": _SEED,
        "task": "Or the verb of a task of your own, which takes ``truth`` and ``predicted``.",
    },
)

VALIDATION_CURVE = Function(
    "calipers.learning.learning_curves:validation_curve",
    (
        *(ESTIMATOR, X, Y, PARAMETER, VALUES, *_DIVIDED),
        *(POSITIVE, THRESHOLD, INNER, MEASURE, LEVEL, *_FITTED),
    ),
    positional=("estimator", "X", "y"),
    required=("estimator", "X", "y", "param_name", "param_range"),
    extra_help={
        "cv": "10 unless given. Few folds leave differences uncertain; more repeats make them "
        "less so.",
        "n_repeats": "Once unless given.",
        "part": "Values are compared on the validation rows, which there have to be.",
        "threshold": "They state it at the value ``one_se``.",
        "seed": _SEED,
    },
)

LEARNING_CURVE = Function(
    "calipers.learning.learning_curves:learning_curve",
    (
        *(ESTIMATOR, X, Y),
        Argument(
            "train_sizes",
            description="Numbers of rows, or proportions of the training part, ascending; six of "
            "even ratio from an eighth on unless given.",
            type="list of int or float",
            annotation="Sequence[float] | None",
        ),
        Argument(
            "extrapolate_to",
            kind="whole",
            description="Number of rows that is asked about, at most twice the largest of the "
            "sizes, which it is unless given.",
        ),
        *(*_DIVIDED, POSITIVE, THRESHOLD, INNER, MEASURE, LEVEL),
        replace(
            OPTIONS["n_resamples"],
            default=300,
            description="Number of draws behind the band of what more rows would bring.",
        ),
        *_FITTED,
    ),
    positional=("estimator", "X", "y"),
    required=("estimator", "X", "y"),
    extra_help={
        "cv": "5 unless given.",
        "n_repeats": "Five times unless given. Of classes every subset has about the proportions "
        "of "
        "the training part; forward in time it is the latest rows.",
        "part": "Subsets are of the training rows; errors are measured on the validation rows, or "
        "where there are none on the test rows, with intervals of these. What more rows would "
        "bring takes several splits.",
        "threshold": "They tell it at the largest size.",
        "level": "The band has it, too.",
        "seed": "It decides splits, subsets and fits, too.",
    },
)

SELECT = Function(
    "calipers.learning.selection:select_model",
    (
        Argument(
            "candidates",
            description="Two or more estimators of scikit-learn by name: other models, or one "
            "with other parameters.",
            type="dict of estimator",
            annotation="Any",
        ),
        *(X, Y),
        replace(
            FOLDS,
            description="Number of outer folds, 10 unless given; or a splitter of scikit-learn, "
            "or pairs of the indices of rows to train and to measure on. What is one division "
            "there, as a PredefinedSplit of one fold, tells the rows that the choice is measured "
            "on, not those that it is made on.",
        ),
        *_DIVIDED[1:],
        *(POSITIVE, THRESHOLD),
        replace(
            INNER,
            description="Number of folds within the rows trained on, 5 unless given; they are "
            "stratified, grouped or forward in time as the outer ones are. They also choose "
            "thresholds. There are ``cv`` · (``inner_cv`` + 1) fits of each candidate.",
        ),
        *(MEASURE, LEVEL, *_FITTED),
    ),
    positional=("candidates", "X", "y"),
    required=("candidates", "X", "y"),
    extra_help={
        "n_repeats": "Once unless given.",
        "part": "It has to have test rows.",
        "threshold": "It is part of each candidate; they tell it of the one chosen.",
        "seed": _SEED,
    },
)

BIAS_VARIANCE = Function(
    "calipers.learning.bias_variance:bias_variance",
    (
        *(ESTIMATOR, X, Y),
        Argument(
            "generate",
            description="In place of rows a function that takes a NumPy generator and returns a "
            "training set (X, y) of the same size each time.",
            type="callable",
            annotation="Callable[[np.random.Generator], tuple[Any, Any]] | None",
        ),
        Argument(
            "test",
            description="(X, y) of the rows tested on; of rows without it, a third that are drawn.",
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
            kind="whole",
            description="Number of training sets: 200 that are generated or bootstrapped, 10 "
            "disjoint ones unless given.",
        ),
        replace(
            PARAMETER,
            description=f"{PARAMETER.description} Without it the estimator is taken as it is.",
        ),
        replace(
            VALUES,
            description=f"{VALUES.description} All are trained on the same training sets.",
            annotation="Sequence[Any] | None",
        ),
        Argument(
            "noise",
            kind="number",
            description="Variance of y about its expected value. Unless given, bias² and noise "
            "are reported together.",
        ),
        Argument(
            "exact",
            kind="switch",
            description="Whether the y of ``test`` is its expected value, without noise, as a "
            "function gives it.",
        ),
        Argument(
            "sampled",
            default=True,
            kind="switch",
            description="Whether the rows tested are a sample of more; False for a grid, say. "
            "Intervals are wider for it.",
        ),
        LEVEL,
        replace(OPTIONS["n_resamples"], default=1000),
        *_FITTED,
    ),
    positional=("estimator", "X", "y"),
    required=("estimator",),
    extra_help={
        "X": "Left out, with ``y``, where there is ``generate``.",
        "level": "Those of squared loss are Student's by the jackknife over training sets, those "
        "of 0–1 loss are by the bootstrap over them.",
        "seed": "It decides everything that is drawn.",
    },
)

_PARTS = Argument(
    "parts",
    description="What :func:`calipers.split` made; or the indices of rows trained and tested on, "
    'or of all three parts, in this order or by name; or a column that says "train", "validation" '
    'or "test" of each row.',
    type="Split, array-like of shape (n,), or dict or sequence of indices",
    annotation="Any",
)

CHECK_SPLIT = Function(
    "calipers.learning.split_checks:check_split",
    (
        _PARTS,
        X,
        replace(
            Y,
            description=f"{Y.description} Without it nothing is scored, and what needs "
            "scores is left out.",
        ),
        replace(
            GROUP,
            description="Group of each row (user, patient), against which the two sides are "
            "checked.",
        ),
        replace(
            TIME,
            description="Time of each row, against which the two sides are checked.",
            type=GROUP.type,
        ),
        replace(
            ESTIMATOR,
            description="Model whose scores are told: by default a random forest of scikit-learn, "
            "of more than 10,000 rows gradient-boosted trees.",
        ),
        replace(
            TASK,
            description="What the model does, where the target does not tell: text, and whole "
            "numbers of at most 20 values, are classes.",
        ),
        replace(SEED, help="Seed of the fits."),
    ),
    positional=("parts", "X", "y"),
    required=("parts", "X"),
)

SPLIT = Function(
    "calipers.learning.split:split",
    (
        Argument(
            "rows",
            description="Number of rows, or anything that has as many: features, a target, a "
            "table, of which ``stratify``, ``group`` and ``time`` may then name columns.",
            type="int, array-like, or data frame",
            annotation="Any",
        ),
        Argument(
            "test",
            default=0.25,
            kind="share",
            description="Proportion of all rows to test on; 0.2 to 0.3 is usual.",
        ),
        Argument(
            "validation",
            default=0.0,
            kind="share",
            description="Proportion, *of the rows that are not tested on*, to choose on.",
        ),
        replace(
            STRATIFY,
            description="Classes of the rows, which all parts are to have in equal proportions; "
            "or numbers, which are spread over the parts by their tenths.",
            type="array-like of shape (n,)",
            annotation="Any",
        ),
        replace(
            GROUP,
            description="Group of each row (user, patient), where several rows come from one: "
            "rows of a group stay in one part. Proportions are then as near as whole groups allow.",
        ),
        replace(
            TIME,
            description="Time of each row: the latest are tested on, those before them validated "
            "on. Rows of the same time stay in one part.",
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
