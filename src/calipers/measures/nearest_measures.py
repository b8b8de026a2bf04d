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
_ABSTENTION = (
    "nAUC of an evaluation is cal.abstention(evaluation, run, name), which reads these names"
)
_THRESHOLD = "name the value, as in {}"
_COSINE = "similarities are scores of pairs here, whatever their distance"
_IMAGE = ("mean-score", "images are not compared here; give a score for each case to cal.scores")
_SOUND = ("mean-score", "sounds are not compared here; give a score for each case to cal.scores")
_BOXES = ("mean-score", "boxes and masks are not compared here; give scores to cal.scores")
_MACRO = "a macro average by default there, in which 0/0 is 0"
_NO_RELEVANT = "a query without a relevant document counts as 0 there"
_ROC = ("AUC", "a curve: calipers.curve(evaluation, 'ROC')")
_PR = ("PR-AUC", "a curve: calipers.curve(evaluation, 'PR')")
_COUNTS = ("TP", "counts by class are evaluation.confusions")
_FIXED_PRECISION = ("recall@precision=0.9", _THRESHOLD.format("recall@precision=0.9"))
_FIXED_RECALL = ("precision@recall=0.9", _THRESHOLD.format("precision@recall=0.9"))
_FIXED_SPECIFICITY = ("recall@FPR=0.1", "the false positive rate is 1 − specificity")
_FIXED_SENSITIVITY = ("FPR@recall=0.9", "specificity is 1 − FPR")
_ECE = ("ECE", "RMSCE and MCE are its other norms")
_MARGINS = ("log-loss", "margins have no measure here")
_LOG_AUC = ("pAUC", "by the logarithm of the false positive rate there")

_Answer = tuple[str, str]

#: Answers to names of torchmetrics that begin with Binary, Multiclass and Multilabel.
_BY_KIND_OF_LABELS: Mapping[str, tuple[_Answer | None, _Answer | None, _Answer | None]] = {
    "Accuracy": (
        ("accuracy", ""),
        ("balanced-accuracy", "a class that is predicted and has no row counts as 0 there"),
        ("Hamming-loss", "1 − the loss there"),
    ),
    "AUROC": (("AUC", ""), ("macro-AUC", ""), ("macro-AUC", "")),
    "AveragePrecision": (("AP", ""), ("macro-AP", ""), ("macro-AP", "")),
    "CalibrationError": (_ECE, _ECE, None),
    "CohenKappa": (("kappa", ""), ("kappa", ""), None),
    "ConfusionMatrix": (_COUNTS,) * 3,
    "EER": (("EER", "interpolated between thresholds here"),) * 3,
    "ExactMatch": (None, ("accuracy", ""), ("subset-accuracy", "")),
    "F1Score": (("F1", ""), ("macro-F1", _MACRO), ("macro-F1", _MACRO)),
    "FBetaScore": (("F", ""), ("macro-F", _MACRO), ("macro-F", _MACRO)),
    "HammingDistance": (
        ("error-rate", ""),
        ("balanced-accuracy", "1 − it there"),
        ("Hamming-loss", ""),
    ),
    "HingeLoss": (_MARGINS, _MARGINS, None),
    "JaccardIndex": (("Jaccard", ""), ("macro-Jaccard", _MACRO), ("macro-Jaccard", _MACRO)),
    "LogAUC": (_LOG_AUC,) * 3,
    "MatthewsCorrCoef": (("MCC", ""), ("MCC", ""), ("MCC", "of all labels at once there")),
    "NegativePredictiveValue": (("NPV", ""), ("macro-NPV", _MACRO), ("macro-NPV", _MACRO)),
    "Precision": (("precision", ""), ("macro-precision", _MACRO), ("macro-precision", _MACRO)),
    "PrecisionAtFixedRecall": (_FIXED_RECALL,) * 3,
    "PrecisionRecallCurve": (_PR,) * 3,
    "ROC": (_ROC,) * 3,
    "Recall": (("recall", ""), ("macro-recall", _MACRO), ("macro-recall", _MACRO)),
    "RecallAtFixedPrecision": (_FIXED_PRECISION,) * 3,
    "SensitivityAtSpecificity": (_FIXED_SPECIFICITY,) * 3,
    "Specificity": (
        ("specificity", ""),
        ("macro-specificity", _MACRO),
        ("macro-specificity", _MACRO),
    ),
    "SpecificityAtSensitivity": (_FIXED_SENSITIVITY,) * 3,
    "StatScores": (_COUNTS,) * 3,
}

#: What MTEB computes of the similarity of pairs, by each of its distances.
_OF_PAIRS = {
    "accuracy": "max-accuracy",
    "accuracy_threshold": "max-accuracy",
    "f1": "max-F1",
    "f1_threshold": "max-F1",
    "precision": "precision",
    "recall": "recall",
    "ap": "AP",
    "pearson": "Pearson",
    "spearman": "Spearman",
}

#: Nearest measure, or "" if there is none, and how it differs, by tool and name there.
NEAREST_MEASURES: Mapping[str, Mapping[str, _Answer]] = {
    "yardstick": {
        "bal_accuracy": ("balanced-accuracy", ""),
        "brier_class": ("Brier", "of several classes divided by 2 there"),
        "brier_survival": ("survival-Brier", _AT_TIME.format("survival-Brier")),
        "brier_survival_integrated": ("integrated-Brier", "divided by the last time there"),
        "classification_cost": ("cost", "costs are by error, cost(cost_fn=3)"),
        "concordance_survival": ("C-index", "of predicted times there: predicted="),
        "conf_mat": ("TP", "counts by class are evaluation.confusions"),
        "demographic_parity": ("detection-prevalence", _GROUPS),
        "equal_opportunity": ("recall", _GROUPS),
        "equalized_odds": ("recall", f"and FPR, {_GROUPS}"),
        "f_meas": ("F1", ""),
        "gain_capture": ("Gini", ""),
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
        "pr_curve": _PR,
        "ranked_prob_score": ("RPS", ""),
        "rmse_relative": ("NRMSE", "by the range of the truth there"),
        "roc_aunp": ("weighted-AUC", ""),
        "roc_aunu": ("macro-AUC", ""),
        "roc_curve_survival": ("survival-AUC", "a curve over thresholds there"),
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
        "CalibrationError": _ECE,
        "ConfusionMatrix": _COUNTS,
        "ConcordanceCorrCoef": ("CCC", "with n − 1 in variances and covariance there"),
        "CosineSimilarity": ("Pearson", "of numbers that are not centered there"),
        "Dice": ("F1", "a micro average by default there"),
        "HammingDistance": ("Hamming-loss", "the error rate of classes there"),
        "HingeLoss": _MARGINS,
        "JaccardIndex": ("macro-Jaccard", "a macro average by default there"),
        "JensenShannonDivergence": ("KL-divergence", "of both distributions from their mean there"),
        "KendallRankCorrCoef": ("Kendall", ""),
        "LogAUC": _LOG_AUC,
        "LogCoshError": ("MAE", "squared near 0 there"),
        "MinkowskiDistance": ("RMSE", "a sum of powers over all rows there"),
        "MultilabelCoverageError": ("coverage-error", ""),
        "MultilabelRankingAveragePrecision": ("LRAP", ""),
        "MultilabelRankingLoss": ("ranking-loss", "equal scores are in the order of columns there"),
        "PearsonCorrCoef": ("Pearson", ""),
        "PearsonsContingencyCoefficient": ("Cramer-V", "√(χ²/(n + χ²)) there"),
        "TschuprowsT": ("Cramer-V", "by the geometric mean of both numbers of classes there"),
        "PrecisionAtFixedRecall": _FIXED_RECALL,
        "RecallAtFixedPrecision": _FIXED_PRECISION,
        "SensitivityAtSpecificity": _FIXED_SPECIFICITY,
        "SpecificityAtSensitivity": _FIXED_SENSITIVITY,
        "RelativeSquaredError": ("R2", "1 − R² there"),
        "RetrievalAUROC": ("AUC", "of each topic; rank-ROC-AUC is of a collection"),
        "RetrievalFallOut": ("fallout", "takes the size of the collection"),
        "RetrievalHitRate": ("Success@10", "of the depth"),
        "RetrievalMAP": ("AP", _NO_RELEVANT),
        "RetrievalMRR": ("RR", _NO_RELEVANT),
        "RetrievalNormalizedDCG": ("nDCG", _NO_RELEVANT),
        "RetrievalPrecision": ("P@10", "of the depth"),
        "RetrievalPrecisionRecallCurve": ("PR-11pt", "a curve: calipers.curve(evaluation, 'PR')"),
        "RetrievalRPrecision": ("Rprec", _NO_RELEVANT),
        "RetrievalRecall": ("R@10", "of the depth"),
        "RetrievalRecallAtFixedPrecision": ("R@10", "at a depth, not at a precision"),
        "SpearmanCorrCoef": ("Spearman", ""),
        "StatScores": ("TP", "with FP, TN and FN"),
        "TweedieDevianceScore": ("Tweedie-deviance", "power 0, the default there, is MSE"),
        "WeightedMeanAbsolutePercentageError": ("WAPE", ""),
        "GroupFairness": ("recall", _GROUPS),
        "BinaryFairness": ("recall", _GROUPS),
        "BinaryGroupStatRates": ("TP", _GROUPS),
        "BinaryGroupsStatRates": ("TP", _GROUPS),
        "ROC": _ROC,
        "PrecisionRecallCurve": _PR,
        "RetrievalAveragePrecision": ("AP", "documents of scores up to 0 are not relevant there"),
        "RetrievalReciprocalRank": ("RR", ""),
        **{
            f"{kind}{name}": answer
            for name, answers in _BY_KIND_OF_LABELS.items()
            for kind, answer in zip(("Binary", "Multiclass", "Multilabel"), answers, strict=True)
            if answer
        },
        "BLEUScore": _TEXT,
        "ROUGEScore": _TEXT,
        "WordErrorRate": _TEXT,
        "CharErrorRate": _TEXT,
        "EditDistance": _TEXT,
        "SQuAD": _TEXT,
        **dict.fromkeys(
            (
                "BERTScore", "ExtendedEditDistance", "InfoLM", "MatchErrorRate", "SacreBLEUScore",
                "TranslationEditRate", "WordInfoLost", "WordInfoPreserved", "WordInformationLost",
                "WordInformationPreserved",
            ),
            _TEXT,
        ),
        "IntersectionOverUnion": ("Jaccard", "of classes; boxes have no measure here"),
        "DiceScore": ("macro-F1", "of masks there; of classes it is F1"),
        "GeneralizedDiceScore": ("macro-F1", "of masks there; of classes it is F1"),
        "MeanIoU": ("macro-Jaccard", "of masks there"),
        **dict.fromkeys(
            (
                "CompleteIntersectionOverUnion", "DistanceIntersectionOverUnion",
                "GeneralizedIntersectionOverUnion", "HausdorffDistance", "ModifiedPanopticQuality",
                "PanopticQuality", "ProcrustesDisparity",
            ),
            _BOXES,
        ),
        **dict.fromkeys(
            (
                "ARNIQA", "CLIPImageQualityAssessment", "CLIPScore",
                "DeepImageStructureAndTextureSimilarity",
                "ErrorRelativeGlobalDimensionlessSynthesis", "FrechetInceptionDistance",
                "InceptionScore", "KernelInceptionDistance",
                "LearnedPerceptualImagePatchSimilarity", "LipVertexError",
                "MemorizationInformedFrechetInceptionDistance",
                "MultiScaleStructuralSimilarityIndexMeasure", "PeakSignalNoiseRatio",
                "PeakSignalNoiseRatioWithBlockedEffect", "PerceptualPathLength",
                "QualityWithNoReference", "RelativeAverageSpectralError",
                "RootMeanSquaredErrorUsingSlidingWindow", "SpatialCorrelationCoefficient",
                "SpatialDistortionIndex", "SpectralAngleMapper", "SpectralDistortionIndex",
                "StructuralSimilarityIndexMeasure", "TotalVariation",
                "UniversalImageQualityIndex", "VideoMultiMethodAssessmentFusion",
                "VisualInformationFidelity",
            ),
            _IMAGE,
        ),
        **dict.fromkeys(
            (
                "ComplexScaleInvariantSignalNoiseRatio", "DeepNoiseSuppressionMeanOpinionScore",
                "NonIntrusiveSpeechQualityAssessment", "PerceptualEvaluationSpeechQuality",
                "PermutationInvariantTraining", "ScaleInvariantSignalDistortionRatio",
                "ScaleInvariantSignalNoiseRatio", "ShortTimeObjectiveIntelligibility",
                "SignalDistortionRatio", "SignalNoiseRatio",
                "SourceAggregatedSignalDistortionRatio",
                "SpeechReverberationModulationEnergyRatio",
            ),
            _SOUND,
        ),
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
        **{
            name: ("mean-score", f"cal.scores(files, score={name!r}) reads it of nuggetizer")
            for name in ("vital_score", "strict_vital_score", "all_score", "strict_all_score")
        },
        "iP10": ("infP@10", ""),
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
        "naucs": ("nDCG", _ABSTENTION),
        "nauc_ndcg_at_10_max": ("nDCG@10", _ABSTENTION),
        "nauc_mrr_at_10_diff1": ("RR@10", _ABSTENTION),
        "main_score": ("nDCG@10", "the measure that a task names"),
        **{
            f"{distance}_{name}": (measure, _COSINE)
            for distance in ("similarity", "cosine", "manhattan", "euclidean", "dot")
            for name, measure in _OF_PAIRS.items()
        },
        "max_precision": ("precision", "the largest over several distances there"),
        "max_recall": ("recall", "the largest over several distances there"),
        "max_ap": ("AP", "the largest over several distances there"),
        "hamming": ("example-Jaccard", "a row without labels, also predicted, is 1 there"),
        "image_acc": ("accuracy", "of pairs of images and texts there"),
        "text_acc": ("accuracy", "of pairs of images and texts there"),
        "paired_accuracy": ("Success@1", "both queries of a pair have to succeed there"),
        "robustness_at_10": ("nDCG@10", "the smallest over the instructions of a topic there"),
        "max_over_subqueries_map_at_1000": ("AP@1000", "of the union of several rankings there"),
        "text_image_recall": ("Success@1", "of captions of images there"),
    },
    "ragas": {
        "context_precision": ("AP", "of contexts that an LLM judges there"),
        "context_precision_with_reference": ("AP", "of contexts that an LLM judges there"),
        "context_precision_without_reference": ("AP", "of contexts that an LLM judges there"),
        "llm_context_precision_with_reference": ("AP", "of contexts that an LLM judges there"),
        "llm_context_precision_without_reference": ("AP", "of contexts that an LLM judges there"),
        "non_llm_context_precision_with_reference": ("AP", "of contexts that are similar there"),
        "id_based_context_precision": ("SetP", "of ids of contexts, which are documents here"),
        "id_based_context_recall": ("SetR", "of ids of contexts, which are documents here"),
        "llm_context_recall": ("StRecall", "of claims that an LLM finds in the contexts there"),
        "non_llm_context_recall": ("SetR", "of contexts that are similar there"),
        "context_utilization": ("AP", "of contexts that an LLM judges there"),
        "context_recall": ("StRecall", "of claims that an LLM finds in the contexts there"),
        "context_entity_recall": ("SetR", "of entities that an LLM finds there"),
        "topic_adherence_score": ("SetF", "of topics that an LLM judges there"),
        "topic_adherence": ("SetF", "of topics that an LLM judges there"),
        "tool_call_accuracy": ("pass-rate", "of calls in order; give their scores to cal.scores"),
        "tool_call_f1": ("example-F1", "of sets of calls"),
        **dict.fromkeys(
            (
                "agent_goal_accuracy", "agent_goal_accuracy_with_reference",
                "agent_goal_accuracy_without_reference", "llm_sql_equivalence",
                "llm_sql_equivalence_with_reference",
            ),
            ("pass-rate", _JUDGED),
        ),
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
        **dict.fromkeys(
            (
                "domain_specific_rubrics", "faithful_rate", "faithfulness_with_hhem",
                "instance_rubrics", "instance_specific_rubrics", "multi_modal_relevance",
                "multimodal_faithness", "nv_accuracy", "nv_context_relevance",
                "nv_response_groundedness", "quoted_spans_alignment", "relevance_rate",
                "rubrics_score", "rubrics_score_with_reference",
                "rubrics_score_without_reference", "summary_score",
            ),
            _BY_JUDGE,
        ),
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
        "data_compare_score": _TEXT,
        "string_present": _TEXT,
    },
    "pycm": {
        "Overall ACC": ("accuracy", ""),
        "Overall MCC": ("MCC", ""),
        "Overall RACC": ("kappa", "the agreement by chance that it corrects for"),
        "Overall RACCU": ("kappa", "the agreement by chance of Scott's pi, of cal.agreement"),
        "RACC": ("kappa", "the agreement by chance that it corrects for"),
        "RACCU": ("kappa", "the agreement by chance of Scott's pi, of cal.agreement"),
        "Kappa Unbiased": ("Scott-pi", ""),
        "Kappa No Prevalence": ("Brennan-Prediger", "2·accuracy − 1 there, of any classes"),
        **dict.fromkeys(
            ("Kappa Standard Error", "Kappa 95% CI", "Standard Error", "95% CI"),
            ("kappa", "each estimate has its interval and standard error"),
        ),
        "Chi-Squared": ("Cramer-V", "√(χ²/(n(K − 1))) of it here"),
        "Phi-Squared": ("Cramer-V", "√(φ²/(K − 1)) of it here"),
        "Chi-Squared DF": ("Cramer-V", "degrees of freedom are (K − 1)²"),
        "Pearson C": ("Cramer-V", "√(χ²/(n + χ²)) there"),
        **dict.fromkeys(
            ("Response Entropy", "Reference Entropy", "Joint Entropy", "Conditional Entropy"),
            ("uncertainty-coefficient", "made of these entropies"),
        ),
        "Lambda A": ("accuracy", "0 there wherever one class is always the most frequent"),
        "Lambda B": ("accuracy", "0 there wherever one class is always the most frequent"),
        "Overall J": ("macro-Jaccard", "the sum, and the mean, there"),
        "P-Value": ("accuracy-p", ""),
        **dict.fromkeys(
            ("CEN", "MCEN", "Overall CEN", "Overall MCEN"),
            ("error-rate", "of how evenly errors are spread there, not of how many there are"),
        ),
        "CBA": ("macro-F1", "the smaller of precision and recall in place of F1 there"),
        "AUNU": ("macro-AUC", "of predicted classes there, for which it is 1 threshold"),
        "AUNP": ("weighted-AUC", "of predicted classes there, for which it is 1 threshold"),
        "CSI": ("macro-F1", "the mean of precision + recall − 1 there"),
        "ICSI": ("F1", "precision + recall − 1 there"),
        **{
            f"{rate} {average.title()}": (f"{average}-{measure}", "")
            for average in ("micro", "macro")
            for rate, measure in (
                ("TPR", "recall"), ("TNR", "specificity"), ("PPV", "precision"), ("NPV", "NPV"),
                ("FPR", "FPR"), ("FNR", "FNR"), ("F1", "F1"),
            )
        },
        "ACC Macro": ("macro-accuracy", "the mean over classes of each against all others"),
        **dict.fromkeys(
            (
                "SOA1", "SOA2", "SOA3", "SOA4", "SOA5", "SOA6", "SOA7", "SOA8", "SOA9", "SOA10",
                "PLRI", "NLRI", "DPI", "AUCI", "MCCI", "QI",
            ),
            ("kappa", "a verbal scale there"),
        ),
        "BM": ("J", ""),
        "MK": ("markedness", ""),
        "PLR": ("LR+", ""),
        "NLR": ("LR-", ""),
        "POP": ("prevalence", "each estimate has its n"),
        "N": ("prevalence", "a count there"),
        "TOP": ("detection-prevalence", "a count there"),
        "TON": ("detection-prevalence", "a count there, of rows predicted negative"),
        "TOPR": ("detection-prevalence", ""),
        "PRE": ("prevalence", ""),
        "OOC": ("F1", "the geometric mean of precision and recall there"),
        "AUPR": ("F1", "the arithmetic mean of precision and recall there"),
        "OC": ("F1", "the larger of precision and recall there"),
        "BB": ("F1", "the smaller of precision and recall there"),
        "IS": ("lift", "its logarithm to base 2 there"),
        "LS": ("lift", ""),
        "sInd": ("ROC-distance", "1 − it/√2 there"),
        "dInd": ("ROC-distance", ""),
        "DP": ("DOR", "√3/π times its decimal logarithm there"),
        "Y": ("J", ""),
        "GI": ("J", ""),
        "AM": ("detection-prevalence", "FP − FN there, a count"),
        "BCD": ("detection-prevalence", "half its distance from the prevalence there"),
        "HD": ("error-rate", "a count there, of the class against all others"),
        "OP": ("accuracy", "less |recall − specificity|/(recall + specificity) there"),
        "GM": ("G-mean", ""),
        "AGM": ("G-mean", "its mean with the specificity, weighted by the negative class, there"),
        "AGF": ("G-mean", "the geometric mean of F2 of a class and F0.5 of all others there"),
    },
    "causalml": {
        "get_cumlift": ("uplift", "of each number of rows, with ties in their order, there"),
    },
    "scikit-uplift": {
        "average_squared_deviation": ("uplift", "of bins of training and test data there"),
        "max_prof_uplift": ("uplift", "times values and costs there"),
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

#: Names that are read here and have another value there, by tool, and what that is.
OTHER_VALUES: Mapping[str, Mapping[str, str]] = {
    "yardstick": {
        "ccc": "with n − 1 in variances and covariance",
        "mape": "in percent",
        "mase": "its naive forecasts are of the same rows unless mae_train= is given",
        "pr_auc": "tied scores are joined by a straight line",
        "roc_auc": "of several classes the mean over pairs of classes, ovo-AUC",
        "smape": "in percent",
    },
    "torchmetrics": {
        "accuracy": "of several classes and labels see MulticlassAccuracy",
        "cluster_accuracy": "by torch_linear_assignment, with which it was not compared",
        "cramers_v": "corrected for bias, unless bias_correction=False",
        "dunn_index": "of distances of and from centers",
        "eer": "at a threshold, where it is interpolated here",
        "mean_average_precision": "of boxes in images",
        "normalized_root_mean_squared_error": "by the mean: NRMSE(normalization='mean')",
        "theils_u": "of the entropy of predictions, unless truth is the first argument",
    },
    "ragas": {"exact_match": "of texts"},
    "pycm": {
        "AUC": "of predicted classes, which is balanced-accuracy",
        "Cross Entropy": "of the frequencies of classes in truth and prediction",
        "G": "the geometric mean of precision and recall; of rankings normalized gain",
        "IBA": "IBA(alpha=1)",
        "J": "Jaccard",
        "KL Divergence": "of the frequencies of classes in truth and prediction",
        "Mutual Information": "in bits",
        "P": "a count of rows; here precision of the first documents",
        "PR": "prevalence",
        "Q": "Yule-Q; of rankings it is the Q-measure",
        "RR": "the number of rows by class; of rankings the reciprocal rank",
        "Zero-one Loss": "a count of rows",
    },
}


def _key(name: str) -> str:
    return re.sub(r"[\W_]+", "", name.lower())


def tools_with(name: str) -> list[str]:
    """Return the tools that have a name with a value that no measure here has under it.

    >>> tools_with("huber_loss")
    ['yardstick']
    """
    key = _key(name)
    return [tool for tool, names in NEAREST_MEASURES.items() if key in map(_key, names)]


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
