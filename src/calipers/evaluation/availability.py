"""Availability of each option by task and engine, with the reason where it is unavailable.

An option works in every task and with every engine unless this module gives a reason. The message
that refuses the option states that reason, a page of the documentation shows the table, and a test
runs every combination that is available.
"""

from __future__ import annotations

from collections.abc import Mapping

from calipers.evaluation.task import Task
from calipers.evaluation.tasks import JUDGE, SLICES, TASKS
from calipers.lazy_dataclasses import dataclass

#: The options of the table, by their names as arguments of the verbs.
TABLE_OPTIONS = (
    *("data", "id", "missing", "weight", "count", "cluster", "time", "slices", "slice_bins"),
    *(
        "cost",
        "measures",
        "undefined",
        "conventions",
        "baseline",
        "primary",
        "compare",
        "curves",
        "interval",
    ),
    *("level", "n_resamples", "seed", "memory", "human", "human_weight"),
)
ENGINES = ("memory", "stream", "spark", "dask")

_NO_COUNTS_REASON = "it applies to ratios of row counts, which the measures of this task are not"
_NO_TOOL_REASON = "no other tool evaluates this task by conventions that differ"
_ORDER_REASON = (
    "weights by the probability of censoring, and pairs of rows, need all times, so that rows are "
    "read into memory"
)
_TOPIC_REASON = "a batch would cut through the documents of one topic, which are ranked together"

#: Why a judge is evaluated without these options.
_JUDGE_REASONS = {
    "id": "case= names the column of the ids",
    "missing": "a label or a score may be missing: the output is then left out, and counted",
    "time": "judged_at= is the time of the judge, on which its errors may depend",
    "cost": "costs are those of systems, and of the judge there is one",
    "measures": "they follow from the grades: the mean error, the table and the agreement",
    "undefined": "a measure without outputs of its grade has no value",
    "conventions": _NO_TOOL_REASON,
    **dict.fromkeys(
        ("baseline", "primary", "compare"), "errors on all pairs of systems are compared"
    ),
    "curves": "scores of a judge have grades, without a threshold to draw them over",
    "memory": "labels are few, and read into memory",
}

#: Why a task does not take an option, from whatever engine.
TASK_REASONS: Mapping[tuple[str, str], str] = {
    ("agreement", "human"): "people and judges are raters alike",
    ("agreement", "human_weight"): (
        "people and judges are raters alike; weight= has the weights of the items"
    ),
    ("retrieval", "human_weight"): (
        "topics that people judge have to be a random sample of all; if some kinds of topics were "
        "judged more often, slices= evaluates each of them by itself"
    ),
    ("ranking", "human_weight"): (
        "groups that people grade have to be a random sample of all; if some kinds of groups were "
        "graded more often, slices= evaluates each of them by itself"
    ),
    ("clustering", "human_weight"): (
        "pairs of points have no weights, so the points with a class by people have to be a random "
        "sample of all; if some kinds of points were labeled more often, slices= evaluates each of "
        "them by itself"
    ),
    ("retrieval", "data"): "judgments and runs are tables of their own, with ids that join them",
    ("retrieval", "id"): "topics and documents have ids already, by which runs are joined",
    ("retrieval", "missing"): "a topic that a run lacks scores 0, or is left out as topics= says",
    ("retrieval", "curves"): "curves are of single topics, which topic_curves= names",
    ("retrieval", "memory"): f"{_TOPIC_REASON}, so that the memory is that of the largest topic",
    ("ranking", "memory"): (
        "a batch ends where a group does, so that the memory is that of the largest group; and "
        "only sorted rows come in batches, so that no file is read so because it is large"
    ),
    ("regression", "undefined"): _NO_COUNTS_REASON,
    ("clustering", "undefined"): _NO_COUNTS_REASON,
    ("clustering", "weight"): "pairs of points have no weights; count= takes frequencies",
    ("clustering", "cluster"): "the influence of a group of points on a clustering is unknown",
    ("clustering", "time"): (
        "an index over pairs of points is not a mean over points, so its autocorrelation in time "
        "cannot be estimated"
    ),
    ("survival", "undefined"): _NO_COUNTS_REASON,
    ("survival", "conventions"): _NO_TOOL_REASON,
    ("survival", "time"): "time= is the time of the event of each row, and rows are independent",
    ("survival", "memory"): _ORDER_REASON,
    ("survival", "engine"): _ORDER_REASON,
    **dict.fromkeys(
        (("survival", "human"), ("survival", "human_weight")),
        "an event is observed, or it is not known yet, which no judge says",
    ),
    ("agreement", "undefined"): _NO_COUNTS_REASON,
    ("agreement", "conventions"): _NO_TOOL_REASON,
    ("agreement", "id"): "item= names the column of the ids",
    ("agreement", "missing"): (
        "a rating may be missing: agreement is defined for items that not everybody rated, and "
        "none is dropped"
    ),
    ("scores", "undefined"): _NO_COUNTS_REASON,
    ("scores", "conventions"): _NO_TOOL_REASON,
    ("scores", "id"): "case= names the column of the ids",
    ("scores", "missing"): (
        "a score may be missing: a case without a score is left out of the values of the system, "
        "and counted"
    ),
    ("scores", "curves"): "scores are compared with no truth, so there is nothing to draw",
    ("agreement", "curves"): "agreement is one number, without a threshold to draw it over",
    ("uplift", "undefined"): _NO_COUNTS_REASON,
    ("uplift", "conventions"): _NO_TOOL_REASON,
    **dict.fromkeys(
        (("uplift", "human"), ("uplift", "human_weight")),
        "outcomes of an experiment are observed, and not judged",
    ),
    **{(JUDGE.name, option): reason for option, reason in _JUDGE_REASONS.items()},
}

#: Why an engine does not have the rows of a task at all.
ENGINE_REASONS: Mapping[tuple[str, str], str] = {
    ("retrieval", "stream"): _TOPIC_REASON,
    **{("survival", engine): _ORDER_REASON for engine in ENGINES[1:]},
}

#: Reason why an option requires all rows in memory, by option.
ROW_REASONS: Mapping[str, str] = {
    "id": "another table is put in the order of the rows by its ids, all of which that takes",
    "time": "dependence in time is seen in the order of all rows",
    "sample": "a sample of points is drawn of all of them",
    "per_point": "a silhouette takes the distances of a point to all others",
    "distances": "distances are of every two points",
    "recluster": "re-clustering requires all points in memory",
    "rater": "a batch would cut through the ratings of an item, which are in several rows",
    "rating": "a batch would cut through the ratings of an item, which are in several rows",
    "case": "that no case has two rows is seen in all of them",
    "samples": "a batch would cut through the samples of a case, which are in several rows",
    "human": "labels of few cases are weighed against the scores of all, by how well both agree",
    "human_weight": "it is about human labels, which take all rows",
    "system": "a batch would cut through the scores of a case, which are in several rows",
    "y": "a model predicts all rows at once",
    "confusion": "a confusion matrix is small, and no table of rows",
}

#: The same by task and option, for options that other tasks support in batches.
TASK_ROW_REASONS: Mapping[tuple[str, str], str] = {
    ("clustering", "curves"): "silhouettes and points are drawn one by one",
}
#: Why an argument of regression is of one output, where the truth has several.
OUTPUT_REASONS: Mapping[str, str] = {
    "training": "a naive forecast has an error on each output, and series of one are given",
    "quantiles": "quantiles of one output say nothing of the others, so evaluate each output",
}

#: Options that work in batches after all, by task, because the values of each group are returned.
GROUP_OPTIONS: Mapping[str, tuple[str, ...]] = {"ranking": ("time",)}


@dataclass(frozen=True)
class Availability:
    """Availability of an option: ``text`` is ``"yes"`` or ``"no"``, the latter with a reason."""

    text: str
    reason: str = ""


YES = Availability("yes")


def get_availability(task: Task, option: str, engine: str = "memory") -> Availability:
    """Return the availability of an option in a task whose rows are read by an engine.

    >>> from calipers.evaluation.tasks import CLUSTER, SLICES, TASKS
    >>> get_availability(TASKS["regression"], "weight", "stream").text
    'yes'
    >>> get_availability(TASKS["regression"], "time", "stream")
    Availability(text='no', reason='dependence in time is seen in the order of all rows')
    """
    reason = TASK_REASONS.get((task.name, option), "")
    if reason:
        return Availability("no", reason)
    if engine == "memory":
        return YES
    if (task.name, option) == ("retrieval", "human"):
        return Availability("no", "judgments of both are compared in this process")
    row_reason = TASK_ROW_REASONS.get((task.name, option), ROW_REASONS.get(option, ""))
    applicable_reason = "" if option in GROUP_OPTIONS.get(task.name, ()) else row_reason
    reason = ENGINE_REASONS.get((task.name, engine), applicable_reason)
    if reason and not (task.name == "retrieval" and engine != "stream"):
        return Availability("no", reason)
    return YES


def unavailable_reason(task_name: str, option: str) -> str | None:
    """Return why a task lacks an option, as the end of a sentence.

    The result is None if the name is not an option of tasks, or if the task accepts it.

    >>> unavailable_reason("regression", "undefined")
    ': it applies to ratios of row counts, which the measures of this task are not'
    """
    task = JUDGE if task_name == JUDGE.name else TASKS.get(task_name)
    if task is None or option in task.takes or option not in (*TABLE_OPTIONS, "engine"):
        return None
    availability = get_availability(task, option)
    return f": {availability.reason}" if availability.reason else None


def unavailable_flag_reason(name: str, flag: str) -> str | None:
    """Return why a task lacks an option that is spelled as in a command or a file of checks.

    >>> unavailable_flag_reason("clustering", "--weight")
    ': pairs of points have no weights; count= takes frequencies'
    """
    option = f"--{flag.lstrip('-').replace('_', '-')}"
    role = SLICES.role if option == SLICES.option else option[2:].replace("-", "_")
    return unavailable_reason(name, role)
