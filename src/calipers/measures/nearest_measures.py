"""Names of other tools that are not read here, with the nearest measure and how it differs.

A name whose value is the same has no explanation; it is not read, because no test compares it with
its tool. The error of an unknown name and the page on migration use this table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

_JUDGED = "an LLM judges it in ragas; give the scores to cal.scores or cal.judge"
_BY_JUDGE = ("mean-score", _JUDGED)
_TEXT = ("mean-score", "texts are not compared here; give a score for each case to cal.scores")
_AT_TIME = "of cal.survival, at a time: {}@12"
_GROUPS = "over groups: cal.fairness of an evaluation with slices="
_THRESHOLD = "name the value, as in {}"
_COSINE = "similarities are scores of pairs here, whatever their distance"

#: Nearest measure, or "" if there is none, and how it differs, by tool and name there.
NEAREST_MEASURES: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "yardstick": {
        "bal_accuracy": ("balanced-accuracy", ""),
        "brier_class": ("Brier", "divided by 2 there"),
        "brier_survival": ("survival-Brier", _AT_TIME.format("survival-Brier")),
        "brier_survival_integrated": ("integrated-Brier", "divided by the last time there"),
        "classification_cost": ("cost", "costs are by error, cost(cost_fn=3)"),
        "conf_mat": ("TP", "counts by class are evaluation.confusions"),
        "demographic_parity": ("detection-prevalence", _GROUPS),
        "equal_opportunity": ("recall", _GROUPS),
        "equalized_odds": ("recall", f"and FPR, {_GROUPS}"),
        "f_meas": ("F1", ""),
        "gain_capture": ("Gini", "its gain curve is over all rows, not negative ones"),
        "gain_curve": ("lift", "a curve of recall by rows predicted positive there"),
        "gini_coef": ("Gini", "of numbers there; Gini is 2·AUC − 1 of classes"),
        "huber_loss": ("MAE", "squared below a residual of delta there"),
        "huber_loss_pseudo": ("MAE", "squared near 0 there"),
        "iic": ("Pearson", "multiplied by a ratio of errors below and above 0 there"),
        "j_index": ("J", ""),
        "kap": ("kappa", ""),
        "lift_curve": ("lift", "a curve: calipers.curve(evaluation, 'lift')"),
        "mn_log_loss": ("log-loss", "clipped there"),
        "mpe": ("MAPE", "with signs, and in percent, there"),
        "msd": ("mean-error", "of truth minus prediction there"),
        "poisson_log_loss": ("Poisson-deviance", "the log likelihood there"),
        "ranked_prob_score": ("RPS", "here it is divided by K − 1"),
        "rmse_relative": ("NRMSE", "by the range of the truth there"),
        "roc_aunp": ("weighted-AUC", ""),
        "roc_aunu": ("macro-AUC", ""),
        "roc_auc_survival": ("survival-AUC", _AT_TIME.format("survival-AUC")),
        "roc_dist": ("ROC-distance", ""),
        "royston_survival": ("C-index", "the spread of prognoses (Royston's D) there"),
        "rpd": ("NRMSE", "1 over it, with n − 1 in the standard deviation"),
        "rpiq": ("NRMSE", "the interquartile range over the RMSE there"),
        "rsq": ("Pearson", "squared there"),
        "rsq_trad": ("R2", ""),
        "sedi": ("J", "of logarithms of both rates there"),
        "sens": ("recall", ""),
        "spec": ("specificity", ""),
    },
    "torchmetrics": {
        "CalibrationError": ("ECE", "RMSCE and MCE are its other norms"),
        "ConfusionMatrix": ("TP", "counts by class are evaluation.confusions"),
        "CosineSimilarity": ("Pearson", "of numbers that are not centered there"),
        "Dice": ("F1", "a micro average by default there"),
        "HammingDistance": ("Hamming-loss", "the error rate of classes there"),
        "HingeLoss": ("log-loss", "margins have no measure here"),
        "JaccardIndex": ("macro-Jaccard", "a macro average by default there"),
        "JensenShannonDivergence": ("KL-divergence", "of both distributions from their mean there"),
        "KendallRankCorrCoef": ("Kendall", ""),
        "LogAUC": ("pAUC", "by the logarithm of the false positive rate there"),
        "LogCoshError": ("MAE", "squared near 0 there"),
        "MinkowskiDistance": ("RMSE", "a sum of powers over all rows there"),
        "MultilabelCoverageError": ("coverage-error", ""),
        "MultilabelRankingAveragePrecision": ("LRAP", ""),
        "MultilabelRankingLoss": ("ranking-loss", ""),
        "PearsonCorrCoef": ("Pearson", ""),
        "PearsonsContingencyCoefficient": ("Cramer-V", "√(χ²/(n + χ²)) there"),
        "TschuprowsT": ("Cramer-V", "by the geometric mean of both numbers of classes there"),
        "PrecisionAtFixedRecall": (
            "precision@recall=0.9", _THRESHOLD.format("precision@recall=0.9"),
        ),
        "RecallAtFixedPrecision": (
            "recall@precision=0.9", _THRESHOLD.format("recall@precision=0.9"),
        ),
        "SensitivityAtSpecificity": (
            "recall@FPR=0.1", "the false positive rate is 1 − specificity",
        ),
        "SpecificityAtSensitivity": ("FPR@recall=0.9", "specificity is 1 − FPR"),
        "RelativeSquaredError": ("R2", "1 − R² there"),
        "RetrievalAUROC": ("AUC", "of each topic; rank-ROC-AUC is of a collection"),
        "RetrievalFallOut": ("fallout", "takes the size of the collection"),
        "RetrievalHitRate": ("Success@10", "of the depth"),
        "RetrievalMAP": ("AP", "means are over queries with a relevant document in both"),
        "RetrievalMRR": ("RR", ""),
        "RetrievalNormalizedDCG": ("nDCG", ""),
        "RetrievalPrecision": ("P@10", "of the depth"),
        "RetrievalPrecisionRecallCurve": ("PR-11pt", "a curve: calipers.curve(evaluation, 'PR')"),
        "RetrievalRPrecision": ("Rprec", ""),
        "RetrievalRecall": ("R@10", "of the depth"),
        "RetrievalRecallAtFixedPrecision": ("R@10", "at a depth, not at a precision"),
        "SpearmanCorrCoef": ("Spearman", ""),
        "StatScores": ("TP", "with FP, TN and FN"),
        "TweedieDevianceScore": ("Tweedie-deviance", "power 0, the default there, is MSE"),
        "WeightedMeanAbsolutePercentageError": ("MAE", "over the mean of the absolute truth there"),
        "GroupFairness": ("recall", _GROUPS),
        "BinaryFairness": ("recall", _GROUPS),
        "BLEUScore": _TEXT,
        "ROUGEScore": _TEXT,
        "WordErrorRate": _TEXT,
        "CharErrorRate": _TEXT,
        "EditDistance": _TEXT,
        "SQuAD": _TEXT,
        "IntersectionOverUnion": ("Jaccard", "of classes; boxes have no measure here"),
    },
    "NTCIR": {
        "NCUgu,P": ("NCU", "written NCUguP"),
        "NCUrb,BR": ("NCU", "written NCUrbBR"),
        "U-IA": ("ERR-IA", "U-measure needs lengths of texts"),
        "GFR": ("D-nDCG", "of groups of documents there"),
        "GF": ("D-nDCG", "of groups of documents there"),
        "rank_eff": ("Bpref", "with another penalty there"),
        "RNSS": ("RPS", "root of the normalized sum of squares of two distributions there"),
        "RNOD": ("RPS", "of distributions over ordered classes there"),
        "RSNOD": ("RPS", "of distributions over ordered classes there"),
        "NMD": ("RPS", "the sum of absolute differences of both cumulative distributions there"),
        "NVD": ("Brier", "the sum of absolute differences of both distributions there"),
        "nugget-recall": ("StRecall", "nuggets are subtopics"),
        "S-measure": ("RBP", "by the position in a text there"),
        "T-measure": ("P", "by the position in a text there"),
    },
    "TREC": {
        "relstring": ("P", "a text there: to_csv of per_unit has the grades"),
        "runid": ("NumQ", "the name of the run is that of the system"),
        "statMAP": ("statAP", ""),
        "statMAP_MQ1": ("statAP", "an earlier variant there"),
        "emap": ("infAP", "an expected AP by another model of relevance there"),
        "CT": ("TBG", "the cube test there"),
        "nugget_f": ("SetF", "of nuggets there, precision by length"),
        "T11SU": ("utility", "scaled there"),
        "T11U": ("utility", "2·TP − FP: utility(tp=2,fp=-1,fn=0,tn=0)"),
        "T11F": ("SetF", "β is 0.5: SetF(beta=0.5)"),
        "BEPref": ("Bpref", "a draft of it there"),
        "RankEff": ("Bpref", "with another penalty there"),
        "EMD": ("RPS", "of ordered classes both are sums of cumulative differences"),
        "hF1": ("F1", "of a hierarchy of classes there"),
        "Yield": ("SetR", "with its cost, burden, there"),
        "AURC": ("AP", "the area of recall over depth there"),
        "Tau-AP": ("Kendall", "cal.rank_correlation has τ_AP"),
    },
    "MTEB": {
        "naucs": ("nDCG", "of how well confidence tells when to abstain there"),
        "nauc_ndcg_at_10_max": ("nDCG@10", "of how well confidence tells when to abstain there"),
        "nauc_mrr_at_10_diff1": ("RR@10", "of how well confidence tells when to abstain there"),
        "main_score": ("nDCG@10", "the measure that a task names"),
        "cosine_spearman": ("Spearman", _COSINE),
        "cosine_pearson": ("Pearson", _COSINE),
        "manhattan_spearman": ("Spearman", _COSINE),
        "euclidean_pearson": ("Pearson", _COSINE),
        "dot_spearman": ("Spearman", _COSINE),
        "max_ap": ("AP", "the largest over several distances there"),
        "similarity_ap": ("AP", _COSINE),
        "cosine_accuracy": ("max-accuracy", _COSINE),
        "cosine_f1": ("max-F1", _COSINE),
        "cosine_ap": ("AP", _COSINE),
        "similarity_best_threshold": ("max-F1", "evaluation has its threshold"),
        "hamming": ("Hamming-loss", "1 − the loss there"),
        "cv_recall_at_5": ("Success@5", "of captions of images there"),
        "text_image_recall": ("Success@1", "of captions of images there"),
    },
    "ragas": {
        "context_precision": ("AP", "of contexts that an LLM judges there"),
        "context_utilization": ("AP", "of contexts that an LLM judges there"),
        "context_recall": ("StRecall", "of claims that an LLM finds in the contexts there"),
        "context_entity_recall": ("SetR", "of entities that an LLM finds there"),
        "topic_adherence": ("SetF", "of topics that an LLM judges there"),
        "tool_call_accuracy": ("pass-rate", "of calls in order; give their scores to cal.scores"),
        "tool_call_f1": ("example-F1", "of sets of calls"),
        "agent_goal_accuracy": ("pass-rate", _JUDGED),
        "aspect_critic": ("pass-rate", _JUDGED),
        "answer_correctness": _BY_JUDGE,
        "factual_correctness": _BY_JUDGE,
        "faithfulness": _BY_JUDGE,
        "multimodal_faithfulness": _BY_JUDGE,
        "answer_relevancy": _BY_JUDGE,
        "response_relevancy": _BY_JUDGE,
        "context_relevance": _BY_JUDGE,
        "response_groundedness": _BY_JUDGE,
        "answer_accuracy": _BY_JUDGE,
        "noise_sensitivity": _BY_JUDGE,
        "simple_criteria_score": _BY_JUDGE,
        "rubrics_score": _BY_JUDGE,
        "summarization_score": _BY_JUDGE,
        "sql_semantic_equivalence": ("pass-rate", _JUDGED),
        "answer_similarity": _TEXT,
        "semantic_similarity": _TEXT,
        "non_llm_string_similarity": _TEXT,
        "string_presence": _TEXT,
        "bleu_score": _TEXT,
        "rouge_score": _TEXT,
        "chrf_score": _TEXT,
        "datacompy_score": _TEXT,
    },
    "fairlearn": {
        "demographic_parity_difference": ("detection-prevalence", _GROUPS),
        "demographic_parity_ratio": ("detection-prevalence", _GROUPS),
        "equalized_odds_difference": ("recall", _GROUPS),
        "equalized_odds_ratio": ("recall", _GROUPS),
        "equal_opportunity_difference": ("recall", _GROUPS),
        "equal_opportunity_ratio": ("recall", _GROUPS),
        "selection_rate": ("detection-prevalence", ""),
        "accuracy_score_difference": ("accuracy", _GROUPS),
        "accuracy_score_ratio": ("accuracy", _GROUPS),
        "accuracy_score_group_min": ("accuracy", _GROUPS),
        "accuracy_score_group_max": ("accuracy", _GROUPS),
    },
}  # fmt: skip


def _key(name: str) -> str:
    return re.sub(r"[\W_]+", "", name.lower())


@cache
def _hints() -> dict[str, str]:
    out: dict[str, str] = {}
    for names in NEAREST_MEASURES.values():
        for name, (measure, difference) in names.items():
            hint = f"the nearest is {measure}" if difference else f"it is {measure}"
            out.setdefault(_key(name), f"{hint}; {difference}" if difference else hint)
    return out


def nearest_hint(name: str) -> str | None:
    """Return which measure is nearest to a name of another tool, or None.

    >>> nearest_hint("context_precision")
    'the nearest is AP; of contexts that an LLM judges there'
    >>> nearest_hint("bal_accuracy")
    'it is balanced-accuracy'
    """
    return _hints().get(_key(name))
