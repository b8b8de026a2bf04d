"""Conventions of other tools: the options with which an evaluation reproduces their values.

Tools differ less in formulas than in what surrounds them: topics that a run omits, topics without
a relevant document, precision of scores, undefined values, and what a name means. ``conventions=``
sets all of that at once; an option that is given as well takes precedence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from calipers.data.errors import InputError, did_you_mean, format_value
from calipers.lazy_dataclasses import dataclass
from calipers.measures.definition import ALIAS_SEPARATOR
from calipers.measures.name_parsing import split_measures
from calipers.measures.tool_names import translate_tool_name

if TYPE_CHECKING:
    from calipers.results import Evaluation

#: Cutoffs of trec_eval and of BEIR.
TREC_CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
_BEIR_CUTOFFS = (1, 3, 5, 10, 100, 1000)


@dataclass(frozen=True)
class TaskConventions:
    """Conventions of a tool for a task.

    Parameters
    ----------
    statement : str
        What is set, as a clause of a sentence.
    options : mapping
        Options in place of the defaults.
    default_measures : sequence of str, optional
        Measures that the tool reports by default, in its names.
    """

    statement: str
    options: Mapping[str, Any] = field(default_factory=dict)
    default_measures: Sequence[str] | None = None


@dataclass(frozen=True)
class Conventions:
    """Conventions of a tool.

    Parameters
    ----------
    name : str
        Name that ``conventions=`` and ``--as`` accept; it is also that of the names of measures in
        :mod:`calipers.measures.tool_names`.
    tool : str
        Name and version of the tool.
    tasks : mapping
        Conventions by task.
    """

    name: str
    tool: str
    tasks: Mapping[str, TaskConventions]


_OFFICIAL = (
    *("num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref"),
    *("recip_rank", *(f"iprec_at_recall_{tenth / 10:.2f}" for tenth in range(11))),
    *(f"P_{k}" for k in TREC_CUTOFFS),
)
_SHARED_TOPICS = (
    "means are over topics that the judgments and all runs share; a topic without a relevant "
    "document scores 0"
)
_JUDGED_TOPICS = (
    "means are over all judged topics; a topic without a relevant document, or that a run omits, "
    "scores 0"
)
_ROUNDED_SCORES = "scores are rounded to 32 bits"
#: What BEIR and MTEB average: values of pytrec_eval over the topics that it evaluates.
_PYTREC_EVAL = {"topics": "both", "undefined": "zero", "float32": True}
_ZERO_LABELS = "an undefined measure of labels is 0"
_CLIPPED = "clips probabilities at 2.2e-16"
_NO_OPTION = TaskConventions("no option differs from the defaults")
#: What pyNTCIREVAL prints, for its only default cutoff.
_NTCIREVAL = (
    *("RR", "O-measure", "P-measure", "P-plus", "AP", "Q-measure", "NCUguP", "NCUguBR", "NCUrbP"),
    *("NCUrbBR", "RBP", "ERR"),
    *(f"{name}@1000" for name in ("AP", "Q-measure", "nDCG", "MSnDCG", "P", "nERR", "Hit")),
)

#: Names that stand for several measures.
_DEFAULTS = ("default", "official")

#: The tools by the name that ``conventions=`` and ``--as`` accept.
CONVENTIONS: Mapping[str, Conventions] = {
    conventions.name: conventions
    for conventions in (
        Conventions(
            "trec_eval",
            "trec_eval 10",
            {
                "retrieval": TaskConventions(
                    _SHARED_TOPICS, {"topics": "both", "undefined": "zero"}, _OFFICIAL
                )
            },
        ),
        Conventions(
            "ir_measures",
            "ir_measures 0.4",
            {
                "retrieval": TaskConventions(
                    f"{_JUDGED_TOPICS}; {_ROUNDED_SCORES}",
                    {"topics": "qrels", "undefined": "zero", "float32": True},
                )
            },
        ),
        Conventions(
            "beir",
            "BEIR 2",
            {
                "retrieval": TaskConventions(
                    f"{_SHARED_TOPICS}; {_ROUNDED_SCORES}",
                    _PYTREC_EVAL,
                    [
                        f"{name}@{k}"
                        for name in ("NDCG", "MAP", "Recall", "P")
                        for k in _BEIR_CUTOFFS
                    ],
                )
            },
        ),
        Conventions(
            "mteb",
            "MTEB",
            {
                "retrieval": TaskConventions(
                    f"{_SHARED_TOPICS}; {_ROUNDED_SCORES}",
                    _PYTREC_EVAL,
                    [
                        f"{name}_at_{k}"
                        for name in ("ndcg", "map", "recall", "precision", "mrr")
                        for k in (10, *(k for k in _BEIR_CUTOFFS if k != 10))
                    ],
                )
            },
        ),
        Conventions(
            "msmarco",
            "MS MARCO's script",
            {
                "retrieval": TaskConventions(
                    _JUDGED_TOPICS, {"topics": "qrels", "undefined": "zero"}, ["MRR@10"]
                )
            },
        ),
        Conventions(
            "ntcireval",
            "NTCIREVAL",
            {
                "retrieval": TaskConventions(
                    "documents are in the order of the ranks in the run; gains are the levels of "
                    "relevance, of which ERR, nERR, RBP, EBR and iRBU have 3 (-g 1:2:3)",
                    {"order": "rank", "topics": "qrels", "undefined": "nan"},
                    _NTCIREVAL,
                )
            },
        ),
        Conventions(
            "sklearn",
            "scikit-learn",
            {
                "classification": TaskConventions(
                    f"{_ZERO_LABELS}, also in averages over classes; a requested log_loss "
                    f"{_CLIPPED}",
                    {"undefined": "zero"},
                ),
                "multilabel": TaskConventions(
                    f"{_ZERO_LABELS}, also in averages over labels", {"undefined": "zero"}
                ),
                "regression": _NO_OPTION,
                "clustering": _NO_OPTION,
            },
        ),
        Conventions(
            "ydf",
            "ydf",
            {
                "classification": TaskConventions(
                    f"{_ZERO_LABELS}; a requested loss {_CLIPPED}", {"undefined": "zero"}
                ),
                "ranking": TaskConventions(
                    "a group without a relevant row is 0",
                    {"undefined": "zero"},
                    ["NDCG@5", "MRR@5"],
                ),
                "regression": _NO_OPTION,
            },
        ),
    )
}


def read_conventions(name: str, task: str) -> Conventions:
    """Return the conventions of a tool for a task.

    Raises
    ------
    InputError
        If no tool has this name, or the tool does not have the task.
    """
    names = [key for key, value in CONVENTIONS.items() if task in value.tasks]
    if name not in CONVENTIONS:
        raise InputError(f"conventions is {format_value(name)}; {did_you_mean(name, names)}")
    if name not in names:
        raise InputError(
            f"conventions={name!r}: {CONVENTIONS[name].tool} has no task {task}; expected "
            f"{' or '.join(map(repr, names)) or 'no conventions for this task'}"
        )
    return CONVENTIONS[name]


def set_conventions(
    conventions: Conventions, task: str, arguments: MutableMapping[str, Any]
) -> list[tuple[Any, str]]:
    """Set the options of conventions among the arguments of a call.

    Parameters
    ----------
    conventions : Conventions
        Conventions of a tool that has the task.
    task : str
        Name of the task.
    arguments : dict
        Arguments that were given; options of the conventions are added unless they were given, and
        names of measures are replaced by those here.

    Returns
    -------
    list of tuple
        Names of the measures here, each with the name that was requested.
    """

    def translate(name: Any) -> Any:
        return translate_tool_name(name, conventions.name, task)

    for option, value in conventions.tasks[task].options.items():
        arguments.setdefault(option, value)
    if arguments.get("primary") is not None:
        arguments["primary"] = translate(arguments["primary"])
    requested, default = arguments.get("measures"), conventions.tasks[task].default_measures
    if requested is None:
        requested = default
    if requested is None:
        return []
    names = split_measures(requested)
    if default is not None:
        # Names that stand for the measures that the tool reports.
        names = [n for name in names for n in (default if name in _DEFAULTS else [name])]
    measures = arguments["measures"] = [translate(name) for name in names]
    return [(m, name) for m, name in zip(measures, names, strict=True) if isinstance(name, str)]


def state_conventions(
    evaluation: Evaluation,
    conventions: Conventions,
    arguments: Mapping[str, Any],
    requested_names: Iterable[tuple[str, str]],
) -> Evaluation:
    """Return the evaluation with the names of the tool, and with its conventions stated."""
    task_conventions = conventions.tasks[evaluation.task]
    exceptions = [
        f"{option}={arguments[option]!r}"
        for option, value in task_conventions.options.items()
        if arguments[option] != value
    ]
    exception = f" Except: {', '.join(exceptions)}." if exceptions else ""
    note = f"Conventions of {conventions.tool}: {task_conventions.statement}.{exception}"
    names_by_measure: dict[str, dict[str, str]] = {}
    for measure, name in requested_names:
        canonical = evaluation.canonical_name(measure)
        if canonical in evaluation.measures:
            # Names that differ in capitals are one name.
            names_by_measure.setdefault(canonical, {}).setdefault(name.lower(), name)
    names = {
        **evaluation.requested_names,
        **{m: ALIAS_SEPARATOR.join(names.values()) for m, names in names_by_measure.items()},
    }
    comparison = evaluation.comparison
    if comparison is not None:
        comparison = replace(comparison, requested_names=names)
    recorded = {
        **evaluation.provenance.get("conventions", {}),
        "conventions": conventions.name,
        "tool": conventions.tool,
    }
    return replace(
        evaluation,
        notes=(note, *evaluation.notes),
        requested_names=names,
        comparison=comparison,
        provenance={**evaluation.provenance, "conventions": recorded},
    )
