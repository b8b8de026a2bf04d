"""Conventions of other tools: the options with which an evaluation reproduces their values.

Tools differ less in formulas than in what surrounds them: topics that a run omits, topics without
a relevant document, precision of scores, undefined values, and what a name means. ``conventions=``
sets all of that at once; an option that is given as well takes precedence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from calipers.data.errors import InputError, did_you_mean, format_value
from calipers.lazy_dataclasses import dataclass
from calipers.measures import Measure

if TYPE_CHECKING:
    from calipers.results import Evaluation

#: Tasks by name, with the options that reproduce a tool.
TaskOptions = Mapping[str, Mapping[str, Any]]

#: Cutoffs of trec_eval and of BEIR.
TREC_CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
_BEIR_CUTOFFS = (1, 3, 5, 10, 100, 1000)


@dataclass(frozen=True)
class Conventions:
    """Conventions of a tool.

    Parameters
    ----------
    tool : str
        Name and version of the tool.
    options : mapping
        Options by task, in place of the defaults.
    statement : str
        What the options do, as a clause of a sentence.
    default_measures : mapping
        Measures by task that the tool reports by default, in its names.
    names : mapping
        Patterns of names that the tool reads otherwise than Calipers, to the names here.
    """

    tool: str
    options: TaskOptions
    statement: str
    default_measures: Mapping[str, Sequence[str]] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)

    def translate(self, name: Any) -> Any:
        """Return the name of a measure as Calipers reads it."""
        if isinstance(name, str):
            name = name.strip()
            for pattern, template in self.names.items():
                match = re.fullmatch(pattern, name, re.IGNORECASE)
                if match is not None:
                    return match.expand(template)
        return name


_TREC_EVAL_NAMES = {
    r"iprec_at_recall_([\d.]+)": r"IPrec(rule='nearest')@\1",
    r"11pt_avg": "11pt-avg(rule='nearest')",
    r"11pt_avg_([\d.,]+)": r"11pt-avg(recalls=[\1],rule='nearest')",
    r"rbp": "RBP(p=0.9,gain='topic-max')",
}
_OFFICIAL = (
    *("num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref"),
    *("recip_rank", *(f"iprec_at_recall_{tenth / 10:.2f}" for tenth in range(11))),
    *(f"P_{k}" for k in TREC_CUTOFFS),
)
_LOG_LOSS = r"(?:neg_)?log[-_ ]?loss(?:_score)?|(?:binary[-_ ])?cross[-_ ]?entropy"
_CLIPPED_LOSS = "log-loss(delta=2.220446049250313e-16)"

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
_PYTREC_EVAL: TaskOptions = {"retrieval": {"topics": "both", "undefined": "zero", "float32": True}}

#: Names that stand for several measures.
_DEFAULTS = ("default", "official")

#: The tools by the name that ``conventions=`` and ``--as`` accept.
CONVENTIONS: Mapping[str, Conventions] = {
    "trec_eval": Conventions(
        "trec_eval 10",
        {"retrieval": {"topics": "both", "undefined": "zero"}},
        _SHARED_TOPICS,
        {"retrieval": _OFFICIAL},
        _TREC_EVAL_NAMES,
    ),
    "ir_measures": Conventions(
        "ir_measures 0.4",
        {"retrieval": {"topics": "qrels", "undefined": "zero", "float32": True}},
        f"{_JUDGED_TOPICS}; {_ROUNDED_SCORES}",
        names={
            r"IPrec@([\d.]+)": r"IPrec(rule='nine-tenths')@\1",
            r"IPrec\(((?:(?!rule)[^)])*)\)@([\d.]+)": r"IPrec(\1,rule='nine-tenths')@\2",
        },
    ),
    "beir": Conventions(
        "BEIR 2",
        _PYTREC_EVAL,
        f"{_SHARED_TOPICS}; {_ROUNDED_SCORES}",
        {
            "retrieval": [
                f"{name}@{k}" for name in ("NDCG", "MAP", "Recall", "P") for k in _BEIR_CUTOFFS
            ]
        },
    ),
    "mteb": Conventions(
        "MTEB",
        _PYTREC_EVAL,
        f"{_SHARED_TOPICS}; {_ROUNDED_SCORES}",
        {
            "retrieval": [
                f"{name}_at_{k}"
                for name in ("ndcg", "map", "recall", "precision", "mrr")
                for k in (10, *(k for k in _BEIR_CUTOFFS if k != 10))
            ]
        },
    ),
    "msmarco": Conventions(
        "MS MARCO's script",
        {"retrieval": {"topics": "qrels", "undefined": "zero"}},
        _JUDGED_TOPICS,
        {"retrieval": ["MRR@10"]},
    ),
    "sklearn": Conventions(
        "scikit-learn",
        {
            "classification": {"undefined": "zero"},
            "multilabel": {"undefined": "zero"},
            "regression": {},
            "clustering": {},
        },
        "an undefined measure of labels is 0, also in averages over classes; a requested log_loss "
        "clips probabilities at 2.2e-16",
        names={_LOG_LOSS: _CLIPPED_LOSS},
    ),
    "ydf": Conventions(
        "ydf",
        {
            "classification": {"undefined": "zero"},
            "ranking": {"undefined": "zero"},
            "regression": {},
        },
        "an undefined measure of labels and a group without a relevant row are 0; a requested loss "
        "clips probabilities at 2.2e-16",
        {"ranking": ["NDCG@5", "MRR@5"]},
        {_LOG_LOSS: _CLIPPED_LOSS, r"loss": _CLIPPED_LOSS},
    ),
}  # fmt: skip


def read_conventions(name: str, task: str) -> Conventions:
    """Return the conventions of a tool for a task.

    Raises
    ------
    InputError
        If no tool has this name, or the tool does not have the task.
    """
    names = [key for key, value in CONVENTIONS.items() if task in value.options]
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
) -> dict[str, str]:
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
    dict of str to str
        Requested names of the measures, by the names here.
    """
    for option, value in conventions.options[task].items():
        arguments.setdefault(option, value)
    if isinstance(arguments.get("primary"), str):
        arguments["primary"] = conventions.translate(arguments["primary"])
    requested, default = arguments.get("measures"), conventions.default_measures.get(task)
    if requested is None:
        requested = default
    if requested is None:
        return {}
    names = [requested] if isinstance(requested, str | Measure) else list(requested)
    if default is not None:
        # Names that stand for the measures that the tool reports.
        names = [n for name in names for n in (default if name in _DEFAULTS else [name])]
    measures = arguments["measures"] = [conventions.translate(name) for name in names]
    return {m: name for m, name in zip(measures, names, strict=True) if isinstance(name, str)}


def state_conventions(
    evaluation: Evaluation,
    conventions: Conventions,
    arguments: Mapping[str, Any],
    requested_names: Mapping[str, str],
) -> Evaluation:
    """Return the evaluation with the names of the tool, and with its conventions stated."""
    exceptions = [
        f"{option}={arguments[option]!r}"
        for option, value in conventions.options[evaluation.task].items()
        if arguments[option] != value
    ]
    exception = f" Except: {', '.join(exceptions)}." if exceptions else ""
    note = f"Conventions of {conventions.tool}: {conventions.statement}.{exception}"
    names = dict(evaluation.requested_names)
    for measure, name in requested_names.items():
        canonical = evaluation.canonical_name(measure)
        if canonical in evaluation.measures:
            names[canonical] = name
    comparison = evaluation.comparison
    if comparison is not None:
        comparison = replace(comparison, requested_names=names)
    recorded = {**evaluation.provenance.get("conventions", {}), "tool": conventions.tool}
    return replace(
        evaluation,
        notes=(note, *evaluation.notes),
        requested_names=names,
        comparison=comparison,
        provenance={**evaluation.provenance, "conventions": recorded},
    )
