"""Families of measures, and the tasks whose systems they evaluate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calipers import plugins
from calipers.lazy_dataclasses import dataclass
from calipers.measures.averages import AVERAGES, OUTPUT_AVERAGES, PAIRWISE_AVERAGES
from calipers.measures.errors import NameTakenError, UnknownMeasureError


@dataclass(frozen=True, kw_only=True)
class Family:
    """Family of measures that take the same kind of predictions.

    Parameters
    ----------
    name : str
        Name of the family.
    reads : str
        What the measures take of a system: ``"labels"``, ``"scores"``, ``"probabilities"``,
        ``"numbers"``, ``"quantiles"``, ``"ensembles"``, ``"joint ensembles"`` of several outputs,
        ``"rankings"``, ``"sets"`` of labels, the ``"ranks"`` of the true classes, ``"partitions"``
        of points, ``"ratings"`` of items, ``"case scores"``, ``"samples"`` or
        ``"reference scores"`` of cases without a truth, ``"uplift"``, ``"costs"``, ``"risks"`` or
        ``"survival probabilities"``, or a word of a new task.
    home : str, optional
        Module that registers the measures, imported when one of them is requested. By default they
        are registered elsewhere.
    of_classes : bool, default=False
        Whether the measures can be computed for one of several classes, and averaged over classes.
    label_kind : str, default="class"
        What the label of a measure names: a class, or for example a cluster, an output or a cost.
    """

    name: str
    reads: str
    home: str | None = None
    of_classes: bool = False
    label_kind: str = "class"

    @property
    def has_labels(self) -> bool:
        """Whether the measures can be computed for one class, or for another label."""
        return self.of_classes or self.label_kind != "class"

    @property
    def averages(self) -> Mapping[str, str]:
        """Averages over labels, with their descriptions."""
        if self.of_classes:
            return {**AVERAGES, **PAIRWISE_AVERAGES}
        return OUTPUT_AVERAGES if self.label_kind == "output" else {}

    def describe_view(self, label: str | None, average: str | None) -> str:
        """Return the description of a measure for one label, or of an average.

        Parameters
        ----------
        label : str or None
            Class, or other label, that the measure is computed for; None for an average.
        average : str or None
            Name of the average, such as ``"macro"``.

        Returns
        -------
        str
            Sentence for the description of the measure; empty if it is computed for all rows.
        """
        if label is None:
            return self.averages.get(average or "", "")
        return f"Of {self.label_kind} {label}" + (
            " against all others." if self.of_classes else " alone."
        )


def _make_family(name: str, reads: str, home: str, **traits: Any) -> Family:
    return Family(name=name, reads=reads, home=f"calipers.measures.{home}", **traits)


#: Every family by its name, in the order of the catalogue. Retrieval has several modules: each
#: imports the one before it (sets, binary_relevance, gains, user_models, judged_fraction), so that
#: names are registered in the same order whichever module is imported first.
FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        _make_family("counts", "labels", "counts", of_classes=True),
        _make_family("scores", "scores", "scores", of_classes=True),
        _make_family("probabilities", "probabilities", "probabilities", of_classes=True),
        _make_family("calibration", "probabilities", "calibration", of_classes=True),
        _make_family("ranks", "ranks", "top_k"),
        _make_family("soft", "distributions", "soft_labels"),
        _make_family("multilabel", "sets", "multilabel"),
        _make_family("label-ranks", "scores", "multilabel"),
        _make_family("retrieval", "rankings", "retrieval.judged_fraction"),
        _make_family("groups", "rankings", "retrieval.assessor_groups"),
        _make_family("diversity", "rankings", "retrieval.diversity"),
        _make_family("fairness", "rankings", "retrieval.fairness"),
        _make_family("preferences", "rankings", "retrieval.preferences"),
        _make_family("sampled", "rankings", "retrieval.sampled"),
        _make_family("sessions", "rankings", "retrieval.series"),
        _make_family("exposure", "rankings", "retrieval.series"),
        _make_family("instructions", "rankings", "retrieval.series"),
        _make_family("regression", "numbers", "regression", label_kind="output"),
        _make_family("fit", "numbers", "goodness_of_fit", label_kind="output"),
        _make_family("order", "numbers", "rank_measures", label_kind="output"),
        _make_family("quantiles", "quantiles", "quantiles"),
        _make_family("quantile-ratios", "quantiles", "quantiles"),
        _make_family("ensembles", "ensembles", "quantiles"),
        _make_family("joint-ensembles", "joint ensembles", "quantiles"),
        _make_family("partitions", "partitions", "partitions"),
        _make_family("silhouettes", "distances", "cluster_indices", label_kind="cluster"),
        _make_family("dispersion", "points", "cluster_indices"),
        _make_family("separations", "pairs", "cluster_indices"),
        _make_family("densities", "densities", "cluster_indices"),
        _make_family("survival", "risks", "survival"),
        _make_family("survival-probabilities", "survival probabilities", "survival"),
        _make_family("agreement", "ratings", "rater_agreement"),
        _make_family("reliability", "ratings", "reliability"),
        _make_family("case-scores", "case scores", "case_scores"),
        _make_family("score-quantiles", "case scores", "case_scores"),
        _make_family("sampled-scores", "samples", "case_scores"),
        _make_family("reference-scores", "reference scores", "case_scores"),
        _make_family("controlled-scores", "reference lengths", "case_scores"),
        _make_family("uplift", "uplift", "uplift"),
        _make_family("costs", "costs", "costs", label_kind="cost"),
        _make_family("cost-quantiles", "costs", "costs", label_kind="cost"),
    )
}

#: Families of measures by task, in the order in which names are looked up.
TASKS: dict[str, tuple[str, ...]] = {
    "retrieval": (
        *("retrieval", "groups", "diversity", "fairness", "preferences", "sampled"),
        *("sessions", "exposure", "instructions"),
    ),
    "classification": ("counts", "scores", "probabilities", "calibration", "ranks", "soft"),
    "regression": (
        *("regression", "fit", "order", "quantiles", "quantile-ratios", "ensembles"),
        "joint-ensembles",
    ),
    "multilabel": ("multilabel", "label-ranks"),
    "clustering": ("partitions", "silhouettes", "dispersion", "separations", "densities"),
    "survival": ("survival", "survival-probabilities"),
    "agreement": ("agreement", "reliability"),
    "scores": (
        "case-scores",
        "score-quantiles",
        "sampled-scores",
        "reference-scores",
        "controlled-scores",
    ),
    "uplift": ("uplift",),
    "costs": ("costs", "cost-quantiles"),
}


def register_task(task: str, *families: Family) -> None:
    """Register a task whose systems are evaluated by these new families.

    Names of measures are looked up in the order of the families. Registering the same task again
    has no effect.

    Parameters
    ----------
    task : str
        Name of the task.
    *families : Family
        Families of the task.

    Raises
    ------
    NameTakenError
        If there is another task of this name, or another family of one of the names.
    ValueError
        If the name is empty, or there is no family.
    """
    if not task:
        raise ValueError(f"the name of a task is {task!r}, expected a word")
    if not families:
        raise ValueError(f"the task {task!r} has no family")
    names = tuple(getattr(family, "name", None) for family in families)
    if TASKS.get(task, names) != names:
        raise NameTakenError(f"{task!r} is taken: it is a task of {', '.join(TASKS[task])}")
    _register_families(task, families)


def register_family(family: Family, task: str) -> None:
    """Register a further family of measures of a known task.

    The names of its measures are looked up last. Registering the same family again has no effect.

    Parameters
    ----------
    family : Family
        New family.
    task : str
        Name of the task.

    Raises
    ------
    NameTakenError
        If there is another family of this name.
    ValueError
        If there is no such task.
    """
    if task not in TASKS:
        raise ValueError(f"task is {task!r}, expected one of {', '.join(TASKS)}")
    _register_families(task, (family,))


def _register_families(task: str, families: tuple[Family, ...]) -> None:
    for family in families:
        if not isinstance(family, Family):
            raise TypeError(f"a family is {family!r}, expected Family(name=…, reads=…)")
        registered = FAMILIES.get(family.name)
        if registered is not None and (registered != family or get_task(family.name) != task):
            raise NameTakenError(
                f"{family.name!r} is taken: it is a family of {get_task(family.name)} that reads "
                f"{registered.reads}"
            )
    FAMILIES.update((family.name, family) for family in families)
    names = (family.name for family in families)
    TASKS[task] = tuple(dict.fromkeys((*TASKS.get(task, ()), *names)))


def get_task(family: str) -> str | None:
    """Return the task whose systems a family evaluates; None if there is none."""
    return next((task for task, families in TASKS.items() if family in families), None)


def find_families(family: Any) -> tuple[str, ...]:
    """Return the names of the requested families; all if none is requested.

    Raises
    ------
    UnknownMeasureError
        If there is no family of a name.
    """
    names = tuple(family) if isinstance(family, list | tuple) else (family,)
    for name in names if family is not None else ():
        if isinstance(name, str) and name not in FAMILIES:
            plugins.load("calipers.measures")
        if not isinstance(name, str) or name not in FAMILIES:
            received_text = (
                repr(name[:40]) if isinstance(name, str) else f"of type {type(name).__name__}"
            )
            raise UnknownMeasureError(
                f"family is {received_text}, expected one of {', '.join(sorted(FAMILIES))}"
            )
    return tuple(FAMILIES) if family is None else names
