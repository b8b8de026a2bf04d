"""Translation of names of measures of other tools to those of the catalogue.

Plain aliases are in the definitions of measures. This module is for names that say more: parameters
with other names, and parameters that are written into a name.

    trec_eval      set_F_0.25  Rprec_mult_1.20  rbp_p=0.8  ndcg_1=3,2=9  utility_2,-1,0,0
    ir_measures    NumRet(rel=1)  SetP(relative=True)  BPM(max_rel=3)@10  NRBP(beta=0.6)
    ranx           ndcg@10-l2  ndcg_burges@10  rbp.95
    pyNTCIREVAL    NCUguBR
    tar_eval       wss_95
    MTEB           ndcg_at_10
    scikit-learn   balanced_accuracy(adjusted=True)  f1_score  neg_log_loss
                   mean_tweedie_deviance  pinball(q=0.9)
    Kaggle         quadratic_weighted_kappa
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

ParameterValues = dict[str, Any]

#: Name of a measure, its ``@`` suffix, and its parameter values.
ParsedName = tuple[str, "str | None", ParameterValues]


#: Names of other libraries that are not measures here, and what to use instead.
ALTERNATIVE_HINTS: Mapping[str, str] = {
    **dict.fromkeys(
        ("roc_curve", "precision_recall_curve", "det_curve"),
        "it is a curve: calipers.curve(evaluation, 'ROC'), 'PR' or 'DET'; the areas are AUC and "
        "PR-AUC",
    ),
    "calibration_curve": "it is a curve: calipers.curve(evaluation, 'calibration by bins')",
    **dict.fromkeys(
        ("confusion_matrix", "multilabel_confusion_matrix", "confusion_matrix_at_thresholds"),
        "it is evaluation.confusions; the counts are TP, FP, FN and TN",
    ),
    **dict.fromkeys(
        ("classification_report", "precision_recall_fscore_support"),
        "ask for its measures: precision, recall and F1, of each class as F1[class], and averages "
        "as macro-F1 and weighted-F1",
    ),
    "class_likelihood_ratios": "there are two: LR+ and LR-",
    "hinge_loss": "margins have no measure here; log-loss and Brier are of probabilities",
    **dict.fromkeys(
        ("concordance", "concordance_index", "c_index", "concordance_index_censored", "harrell_c"),
        "the concordance of predictions with times that may be censored is C-index of survival; of "
        "two classes it is AUC, and Lin's concordance correlation of numbers is CCC",
    ),
    "consensus_score": "biclusters have no measure here; ARI, AMI and NMI are of clusters",
    "homogeneity_completeness_v_measure": "ask for the three: homogeneity, completeness, V-measure",
    "pair_confusion_matrix": "measures of pairs are Rand, ARI, pair-F1 and Fowlkes-Mallows",
    "silhouette_samples": "it has one value per point; their mean is silhouette",
    "metric_at_thresholds": "of every threshold: calipers.curve(evaluation, 'threshold')",
    "rmse_ci95_bootstrap": "it is the interval of RMSE; interval='bootstrap' draws the rows for it",
    "num_examples": "each estimate has its n: evaluation['RMSE'].n",
}


#: Notes on names with another meaning in other tools, by (family, measure) and spelling. A spelling
#: with capitals is case-sensitive; one that ends in ``_`` is a prefix. The note is shown where the
#: name was used, and is part of the description of the measure.
OTHER_MEANINGS: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("counts", "J"): {
        "J": "J is Youden's index, recall + specificity − 1; in pycm it is the Jaccard index, "
        "here Jaccard."
    },
    ("counts", "error-rate"): {
        "ERR": "ERR is the error rate here; of rankings, in retrieval, ERR is expected reciprocal "
        "rank."
    },
    ("counts", "Cramer-V"): {
        "cramers_v": "Cramer-V is not corrected for bias; in torchmetrics it is by default."
    },
    ("counts", "uncertainty-coefficient"): {
        "theils_u": "Theil-U is the explained proportion of the entropy of the truth; in "
        "torchmetrics, with predictions first, it is of that of the predictions."
    },
    ("fit", "NRMSE"): {
        "normalized_root_mean_squared_error": "NRMSE is normalized by the standard deviation of "
        "the truth; in torchmetrics by its mean, here NRMSE(normalization='mean')."
    },
    ("separations", "Dunn"): {
        "dunn_index": "Dunn is of distances of points; in torchmetrics of distances of centers "
        "from each other and from points."
    },
    ("probabilities", "RPS"): {
        "ranked-probability-score": "RPS is divided by K − 1 for K classes, so that it ranges from "
        "0 to 1; in dlordinal it is the sum, from 0 to K − 1.",
    },
    ("retrieval", "Rprec"): {
        "r-precision": "Some texts use R-precision for the precision at a given recall level, here "
        "P@recall=0.2, or for the largest precision from that recall on, here IPrec@0.2."
    },
    ("retrieval", "F"): {
        "F_": "F_1 is F at rank 1, as trec_eval writes cutoffs; F₁ of the retrieved set is F1."
    },
    ("retrieval", "NumRelRet"): {
        "hits": "hits@k is a number of documents, added up over topics; in ranx it is their mean "
        "per topic, and for recommendations and knowledge graphs Hits@k is the proportion of "
        "topics with a relevant document, here Success@k."
    },
    ("retrieval", "SDCG"): {
        "sDCG": "SDCG@k is the scaled DCG of cwl_eval; session DCG (sDCG), which discounts later "
        "queries of a session, has no measure here."
    },
    ("retrieval", "Unjudged"): {
        "hole": "hole@k is the proportion of documents without a judgment for their topic; in BEIR "
        "and MTEB documents count that have none for any topic, over all topics of the judgments."
    },
    ("regression", "sMAPE"): {
        "smape": "sMAPE is the mean of 2|residual|/(|truth| + |prediction|), from 0 to 2; in "
        "utilsforecast it is half of that, from 0 to 1, and in permetrics in percent."
    },
    ("uplift", "AUUC"): {
        "auuc_": "AUUC is in outcomes per row; in causalml it is over the average effect, or times "
        "the number of rows."
    },
    ("uplift", "Qini"): {
        "qini_": "Qini is over the area of the order by the outcomes; in causalml it is about "
        "Qini-area times the number of treated rows."
    },
}
#: A number in or behind a name.
_NUMBER_TAIL = re.compile(r"[-_.]?\d.*$")


def find_other_meaning(family: str, measure: str, name: str) -> str:
    """Return a note if the name used for a measure means another quantity elsewhere."""
    stem = _NUMBER_TAIL.sub("", name)
    for spelled, note in OTHER_MEANINGS.get((family, measure), {}).items():
        is_prefix = spelled.endswith("_") and name.lower().startswith(spelled.lower())
        if is_prefix or stem == spelled or (spelled.islower() and stem.lower() == spelled):
            return note
    return ""


def translate_name(name: str, at_suffix: str | None, values: Mapping[str, Any]) -> ParsedName:
    """Translate the name of a measure, the value after its ``@``, and its parameters.

    Raises
    ------
    ValueError
        If the name is of a measure of another tool that the catalogue does not have.

    Examples
    --------
    >>> translate_name("rbp.95", None, {})
    ('RBP', None, {'p': 0.95, 'gain': 'grade'})
    >>> translate_name("set_F_0.25", None, {})
    ('SetF', None, {'beta': 0.5})
    >>> translate_name("F_0.5", None, {})
    ('F', None, {'beta': 0.5})
    """
    parsed = name, at_suffix, dict(values)
    for translate in (
        _translate_mteb,
        _translate_ranx,
        _translate_trec_eval,
        _translate_ir_measures,
        _translate_ntcireval,
        _translate_tar_eval,
        _translate_f_index,
        _translate_classification,
        _translate_regression,
        _translate_former,
    ):
        parsed = translate(*parsed)
    return parsed


def _translate_mteb(name: str, at_suffix: str | None, values: ParameterValues) -> ParsedName:
    match = re.fullmatch(r"(.+?)[-_]at[-_](\d+)", name, re.IGNORECASE)
    return (
        (match[1], match[2], values) if match and at_suffix is None else (name, at_suffix, values)
    )


def _translate_ranx(name: str, at_suffix: str | None, values: ParameterValues) -> ParsedName:
    full_name = name if at_suffix is None else f"{name}@{at_suffix}"
    grade_match = re.search(r"-l(\d+)(?=@|$)", full_name)
    if grade_match:
        name, _, remaining_suffix = full_name.replace(grade_match[0], "", 1).partition("@")
        at_suffix = remaining_suffix or None
    measure_name, parameters = name, values
    persistence = re.fullmatch(r"rbp\.(\d+)", name, re.IGNORECASE)
    if persistence:
        measure_name, parameters = (
            "RBP",
            {"p": float(f"0.{persistence[1]}"), "gain": "grade", **parameters},
        )
    elif name.lower() in ("dcg_burges", "ndcg_burges"):
        measure_name, parameters = name[: -len("_burges")], {"dcg": "exp-log2", **parameters}
    if grade_match is None:
        return measure_name, at_suffix, parameters
    min_grade = int(grade_match[1])
    if persistence:
        return (
            measure_name,
            at_suffix,
            {"gains": dict.fromkeys(range(1, min_grade), 0), **parameters},
        )
    return (
        measure_name,
        at_suffix,
        {"min_grade" if "dcg" in measure_name.lower() else "rel": min_grade, **parameters},
    )


def _parse_floats(text: str) -> list[float]:
    return [float(number) for number in text.split(",")]


def _parse_float(text: str) -> float:
    (number,) = _parse_floats(text)
    return number


def _parse_gains(text: str) -> ParameterValues:
    """Parse parameters: ``1=3,2=9`` are gains, ``p=0.8`` is a persistence."""
    pairs = dict(pair.split("=") for pair in text.split(","))
    parameters: ParameterValues = {"p": float(pairs.pop("p"))} if "p" in pairs else {}
    gains = {int(grade): float(gain) for grade, gain in pairs.items()}
    return {**parameters, "gains": gains} if gains else parameters


_RBP_DEFAULTS = {"p": 0.9, "gain": "topic-max"}
_RBP_RESIDUAL_DEFAULTS = {"p": 0.9, "tail": "with-unjudged"}

#: Names of trec_eval with what may follow them: our name, and what the text behind it means.
_TREC_EVAL: Mapping[str, tuple[str, Callable[[str], ParameterValues]]] = {
    "set_f": ("SetF", lambda text: {"beta": math.sqrt(_parse_float(text))}),
    "rprec_mult": ("Rprec", lambda text: {"multiple": _parse_float(text)}),
    "rprec_mult_avgjg": ("Rprec-jg", lambda text: {"multiple": _parse_float(text)}),
    "utility": (
        "utility",
        lambda text: dict(zip(("tp", "fp", "fn", "tn"), _parse_floats(text), strict=True)),
    ),
    "11pt_avg": ("11pt-avg", lambda text: {"recalls": tuple(_parse_floats(text))}),
    "rbp": ("RBP", lambda text: {**_RBP_DEFAULTS, **_parse_gains(text)}),
    "rbp_resid": ("RBP-residual", lambda text: {**_RBP_RESIDUAL_DEFAULTS, **_parse_gains(text)}),
    "g": ("G", _parse_gains),
    "dcg": ("DCG", _parse_gains),
    "ideal_dcg": ("IDCG", _parse_gains),
    "ndcg": ("nDCG", _parse_gains),
    "ndcg_rel": ("nDCG-rel", _parse_gains),
    "rndcg": ("RnDCG", _parse_gains),
}
_TEXT_SUFFIX = re.compile(r"(?P<name>.+?)[._](?P<text>(?:-?\d*\.?\d+|p)(?:[=,]-?\d*\.?\d+)*)")


def _translate_trec_eval(name: str, at_suffix: str | None, values: ParameterValues) -> ParsedName:
    if name.lower() == "rbp_resid":
        return "RBP-residual", at_suffix, {**_RBP_RESIDUAL_DEFAULTS, **values}
    match = _TEXT_SUFFIX.fullmatch(name)
    measure_name, parse_text = _TREC_EVAL.get(match["name"].lower() if match else "", (None, None))
    if match is None or measure_name is None or parse_text is None:
        return name, at_suffix, values
    try:
        return measure_name, at_suffix, {**parse_text(match["text"]), **values}
    except ValueError:
        raise ValueError(f"trec_eval's {match['name']} takes no {match['text']}") from None


#: Measures whose grades ir_measures scales from ``min_rel`` to ``max_rel``.
_SCALED_MEASURES = ("bpm", "inst", "insq", "sdcg", "nerr8", "nerr9", "nerr10", "nerr11")


def _translate_ir_measures(name: str, at_suffix: str | None, values: ParameterValues) -> ParsedName:
    base = name.lower()
    if base == "numret" and "rel" in values:
        return "NumRelRet", at_suffix, values
    if base == "setp" and "relative" in values:
        relative = values.pop("relative")
        if not isinstance(relative, bool):
            raise ValueError(f"relative is {relative!r}, expected True or False")
        return "SetRelP" if relative else name, at_suffix, values
    if base in ("nrbp", "nnrbp") and "beta" in values:
        values["patience"] = values.pop("beta")
    if base in _SCALED_MEASURES:
        if values.pop("min_rel", 0) != 0:
            raise ValueError("min_rel has to be 0: grades are scaled from 0 to max_grade")
        if "max_rel" in values:
            values["max_grade"] = values.pop("max_rel")
            values |= {} if base == "sdcg" else {"gain": "scale"}
    if base == "sdcg" and values.get("dcg") == "log2":
        del values["dcg"]
    return name, at_suffix, values


#: NCU of pyNTCIREVAL: how users stop, and whether their utility is precision or a blended ratio.
_NCU = re.compile(r"NCU(?P<stopping>gu|rb)[-_]?(?P<utility>P|BR)", re.IGNORECASE)


def _translate_ntcireval(name: str, at_suffix: str | None, values: ParameterValues) -> ParsedName:
    match = _NCU.fullmatch(name)
    if match is None:
        return name, at_suffix, values
    is_graded, is_precision = match["stopping"].lower() == "gu", match["utility"].lower() == "p"
    stopping = {"stopping": "graded-uniform" if is_graded else "rank-biased"}
    return "NCU", at_suffix, {**stopping, **({"beta": 0} if is_precision else {}), **values}


def _translate_tar_eval(name: str, at_suffix: str | None, values: ParameterValues) -> ParsedName:
    match = re.fullmatch(r"wss[-_](\d{2,3})", name, re.IGNORECASE)
    if match is None or at_suffix is not None:
        return name, at_suffix, values
    return "WSS", None, {"recall": int(match[1]) / 100, **values}


_KAPPA = re.compile(r"(linear|quadratic)[-_](?:weighted[-_])?kappa", re.IGNORECASE)


def _translate_classification(
    name: str, at_suffix: str | None, values: ParameterValues
) -> ParsedName:
    if name.lower().startswith("neg_"):  # its scorers are higher for the better
        name = name[len("neg_") :]
    base = name.lower().replace("_", "-").removesuffix("-score")
    if base in ("precision", "recall", "f1"):
        return base, at_suffix, values
    if base == "balanced-accuracy" and isinstance(values.get("adjusted"), bool):
        return "adjusted-" * values.pop("adjusted") + "balanced-accuracy", at_suffix, values
    match = _KAPPA.fullmatch("quadratic-kappa" if base == "qwk" else name)
    if match is not None:
        return "kappa", at_suffix, {"weights": match[1].lower(), **values}
    return name, at_suffix, values


#: Measures that equal a Tweedie deviance of power 0, the default of scikit-learn.
_TWEEDIE_POWER_0_MEASURES = {"mean-tweedie-deviance": "MSE", "d2-tweedie-score": "R2"}


def _translate_regression(name: str, at_suffix: str | None, values: ParameterValues) -> ParsedName:
    base = name.lower().replace("_", "-")
    if base in _TWEEDIE_POWER_0_MEASURES and values.get("power", 0) == 0:
        values.pop("power", None)
        return _TWEEDIE_POWER_0_MEASURES[base], at_suffix, values
    if base in ("pinball", "pinball-loss", "mean-pinball-loss", "quantile-loss"):
        for alias in ("q", "quantile", "tau"):
            if alias in values:
                return name, at_suffix, {"alpha": values.pop(alias), **values}
    return name, at_suffix, values


#: F with β as an index: ranks are whole numbers, so a number with decimals is β.
_F_INDEX = re.compile(r"F_(\d*\.\d+)", re.IGNORECASE)


def _translate_f_index(name: str, at_suffix: str | None, values: ParameterValues) -> ParsedName:
    match = _F_INDEX.fullmatch(name)
    return (
        ("F", at_suffix, {"beta": float(match[1]), **values})
        if match
        else (name, at_suffix, values)
    )


def _translate_former(name: str, at_suffix: str | None, values: ParameterValues) -> ParsedName:
    """Translate former names of measures of Calipers, and former values of their parameters."""
    if values.get("to") == "centres":
        values["to"] = "centers"
    if name.lower() == "ece" and values.get("estimator") == "debiased":
        del values["estimator"]
        return "RMSCE", at_suffix, values
    return name, at_suffix, values
