"""Reasons why a measure may be undefined."""

from __future__ import annotations

from calipers.measures.errors import NameTakenError

#: Reason why a proportion of each margin is undefined if the margin is empty.
EMPTY_MARGIN_REASONS = {
    "positive": "no_positive",
    "negative": "no_negative",
    "predicted_positive": "nothing_predicted_positive",
    "predicted_negative": "nothing_predicted_negative",
    "total": "no_rows",
}

#: Descriptions of the reasons, as clauses.
REASONS = {
    "no_positive": "no row is positive",
    "no_negative": "no row is negative",
    "nothing_predicted_positive": "no row is predicted positive",
    "nothing_predicted_negative": "no row is predicted negative",
    "no_rows": "there are no rows",
    "one_class": "all rows belong to one class",
    "one_prediction": "all rows are predicted to be of one class",
    "same_single_class": "truth and prediction have a single class, the same one",
    "no_positive_true_or_predicted": "no row is positive, in truth or in prediction",
    "no_false_positive": "there is no false positive to divide by",
    "no_true_negative": "there is no true negative to divide by",
    "no_false_positive_or_negative": "there is no false positive or no false negative to divide by",
    "no_common_class": "no class occurs in both truth and prediction",
    "no_product": "TP·TN and FP·FN are both 0",
    "no_relevant": "no document is relevant",
    "rule_not_reached": "the review ends before the rule stops it",
    "too_few_relevant_in_sample": "the sample has too few relevant documents for the rule",
    "nothing_sampled": "no document outside the review was sampled",
    "no_target": "no document says what the attention of groups should be",
    "no_group_retrieved": "no retrieved document is in a group",
    "not_two_rankings": "there are not two rankings, of the numbers 1 and 2",
    "empty_ranking": "one of the two rankings has no documents for the topic",
    "stratum_not_drawn": "a stratum was not sampled, so nothing is known of its documents",
    "no_strata": "documents have inclusion probabilities, but the strata are not known",
    "no_gain": "no document has a positive gain",
    "no_comparable_pairs": "of no two rows it is known whose event was first",
    "no_event_until_time": "no event is observed until that time",
    "no_row_after_time": "no row is observed beyond that time",
    "not_followed": "rows are censored, and none is observed beyond that time",
    "no_times": "there are no times (times=, --times)",
    "one_time": "there are no probabilities for two times or more",
    "nothing_expected": "the predicted risk is 0",
    "no_preference": "the judgments contain no preference (no document is preferred to another)",
    "all_relevant": "every document of the collection is relevant",
    "collection_too_small": "run and judgments have more documents than the stated collection size",
    "nothing_retrieved": "nothing was retrieved",
    "everything_retrieved": "every document of the collection was retrieved",
    "no_relevant_retrieved": "no retrieved document is relevant or has a gain",
    "recall_not_reached": "the ranking ends before that recall is reached",
    "fewer_than_relevant": "fewer documents were retrieved than are relevant",
    "nothing_retrieved_or_relevant": "nothing was retrieved, and nothing is relevant",
    "grade_above_scale": "a grade is above the highest one stated",
    "too_many_orders": "tied documents have too many orders to average over",
    "class_without_value": "the measure is undefined for a class that occurs",
    "class_without_rows": "a predicted class does not occur in the truth",
    "no_occurring_class": "no class occurs",
    "no_labels_to_compare": "no row has labels to compare",
    "nothing_to_rank": "no row has labels to order",
    "precision_not_reached": "no threshold reaches that precision",
    "empty_fpr_range": "the range of false positive rates is empty",
    "zero_probability": "a true class has probability 0, so the loss is infinite",
    "certain_probability": "a probability is 0 or 1, whose logit is infinite",
    "certain_group": "all probabilities of a group are 0, or all are 1",
    "too_few_groups": "too few groups of distinct probabilities to have a degree of freedom",
    "separated": "the classes are perfectly separated, so the calibration line has no maximum "
    "likelihood estimate",
    "too_steep": "the calibration line is too steep to fit in batches",
    "constant_truth": "the truth is the same in all rows",
    "constant_prediction": "the prediction is the same in all rows",
    "constant_and_equal": "truth and prediction are the same number in all rows",
    "constant_without_loss": "the best constant prediction has no loss that could be reduced",
    "zero_truth": "a true value is 0, so the relative error is undefined",
    "zero_truth_everywhere": "all true values are 0, so nothing is relative to them",
    "zero_naive_error": "the naive forecast of a training series has no error",
    "zero_truth_mean": "the mean of the truth is 0, so nothing is relative to it",
    "all_zero": "all true and predicted values are 0",
    "minus_one_or_less": "a number is −1 or less, so that log(1 + x) is not finite",
    "outside_of_domain": "a value is outside the domain of the deviance (negative or zero)",
    "too_few_for_predictors": "the number of rows is at most the number of predictors plus one",
    "too_few_rows_in_bin": "a bin has fewer than two rows, so its variance is undefined",
    "too_few_points": "there are fewer than two points, so there is no pair",
    "only_singletons": "all classes, or all clusters, are singletons",
    "zero_diameter": "no cluster has two distinct points",
    "one_cluster": "there is only one cluster",
    "no_spread_within": "all points of each cluster coincide",
    "same_center": "two clusters have the same center",
    "no_adjustment_range": "the expected mutual information of random partitions equals the mean "
    "entropy",
    "no_shared_item": "no item has two ratings",
    "one_judged_in_stratum": "only one document of a larger stratum is judged, so there is no pair",
    "one_category": "all ratings are in one category",
    "unequal_ratings": "items have unequal numbers of ratings",
    "no_distances": "ratings are text, which has no distances",
    "too_few_complete_items": "fewer than two items are rated by all raters",
    "no_rating_variance": "the estimated variance that it divides by is not positive",
    "not_two_raters": "there are not two raters, whose difference it would be",
    "no_ratios": "ratings are text or negative numbers, which have no ratios",
    "no_score": "no case has a score",
    "no_label": "no row has a human label",
    "no_opponent": "there is no other system to compare with",
    "same_length_difference": "the difference in length hardly varies over cases, so its effect "
    "cannot be told from that of the systems",
    "too_few_samples": "no case has k or more samples",
    "neither_pass_nor_fail": "a score is neither 0 nor 1, and no score to pass is stated",
    "one_arm": "all rows were treated, or none was",
    "one_arm_targeted": "all targeted rows were treated, or none was",
    "no_targeting_gain": "no order of the rows gains more than targeting at random",
    "outcome_not_binary": "an outcome is neither 0 nor 1",
    "nothing_to_test": "all probabilities are 0, 1/2 or 1, which carry no information for the test",
}


def register_reason(name: str, description: str) -> None:
    """Register a reason why a measure is undefined.

    Registering the same reason again has no effect.

    Parameters
    ----------
    name : str
        Name of the reason, such as ``"no_rows"``.
    description : str
        Description as a clause: "no row is positive".

    Raises
    ------
    NameTakenError
        If the name has another description.
    ValueError
        If the name is not an identifier, or the description is empty.
    """
    if not name or not str(name).isidentifier():
        raise ValueError(f"invalid reason name {name!r}: expected an identifier such as 'no_rows'")
    if not description:
        raise ValueError(
            f"{name}: the description is {description!r}, expected a clause such as "
            "'no row is positive'"
        )
    if REASONS.get(name, description) != description:
        raise NameTakenError(f"{name!r} is taken: it means that {REASONS[name]}")
    REASONS[name] = description
