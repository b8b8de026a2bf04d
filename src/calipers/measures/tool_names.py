"""Names of measures that a tool reads otherwise than Calipers.

Plain aliases and :mod:`calipers.measures.aliases` accept what the names of other tools mean
wherever nothing else is meant by them. The names here mean something else, or the same with other
parameters, so that they apply only where the conventions of the tool are requested.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

#: Name here of a name that matches a pattern: a template of its groups, or a function.
Template: TypeAlias = "str | Callable[[re.Match[str]], str]"

_CLIPPED_LOSS = "log-loss(delta=2.220446049250313e-16)"
_LOG_LOSS = r"(?:neg_)?log[-_ ]?loss(?:_score)?|(?:binary[-_ ])?cross[-_ ]?entropy"

#: Highest level of relevance of NTCIREVAL, which has no default: that of ``-g 1:2:3``.
_MAX_LEVEL = 3


#: The measures that depend on it.
_LEVELED = r"(?P<name>n?ERR|RBP|EBR|iRBU)(?:\(max_grade=(?P<level>[1-9])\))?(?:@(?P<cutoff>\d+))?"


def _with_levels(match: re.Match[str]) -> str:
    """Return the measure for gains that are the levels, up to ``max_grade``."""
    name = {"rbp": "RBP", "nerr": "nERR", "err": "ERR", "ebr": "EBR", "irbu": "iRBU"}[
        match["name"].lower()
    ]
    level = int(match["level"] or _MAX_LEVEL)
    gains = ",".join(f"{grade}:{grade}" for grade in range(1, level + 1))
    further = {"RBP": ",p=0.95,gain='scale'", "ERR": f",gains={{{gains}}}"}
    further["nERR"] = further["ERR"]
    suffix = "" if match["cutoff"] is None else f"@{int(match['cutoff'])}"
    return f"{name}(max_grade={level}{further.get(name, '')}){suffix}"


#: Patterns of names by tool and task, to the names here.
NAMES_BY_TOOL: Mapping[str, Mapping[str, Mapping[str, Template]]] = {
    "trec_eval": {
        "retrieval": {
            r"iprec_at_recall_([\d.]+)": r"IPrec(rule='nearest')@\1",
            r"11pt_avg": "11pt-avg(rule='nearest')",
            r"11pt_avg_([\d.,]+)": r"11pt-avg(recalls=[\1],rule='nearest')",
            r"rbp": "RBP(p=0.9,gain='topic-max')",
        }
    },
    "ir_measures": {
        "retrieval": {
            r"IPrec@([\d.]+)": r"IPrec(rule='nine-tenths')@\1",
            r"IPrec\(((?:(?!rule)[^)])*)\)@([\d.]+)": r"IPrec(\1,rule='nine-tenths')@\2",
        }
    },
    "ntcireval": {
        "retrieval": {
            r"nDCG@0*(\d+)": r"nDCG(dcg='log-base',base=2)@\1",
            r"MSnDCG@0*(\d+)": r"nDCG@\1",
            r"AP@0*(\d+)": r"AP(denominator='min(k,R)')@\1",
            _LEVELED: _with_levels,
        }
    },
    "sklearn": {"classification": {_LOG_LOSS: _CLIPPED_LOSS}},
    "ydf": {"classification": {_LOG_LOSS: _CLIPPED_LOSS, r"loss": _CLIPPED_LOSS}},
}


def translate_tool_name(name: Any, tool: str | None, task: str) -> Any:
    """Return the name of a measure as Calipers reads it, given the tool whose name it is.

    >>> translate_tool_name("rbp", "trec_eval", "retrieval")
    "RBP(p=0.9,gain='topic-max')"
    >>> translate_tool_name("rbp", None, "retrieval")
    'rbp'
    """
    if not isinstance(name, str):
        return name
    for pattern, template in NAMES_BY_TOOL.get(tool or "", {}).get(task, {}).items():
        match = re.fullmatch(pattern, name.strip(), re.IGNORECASE)
        if match is not None:
            return template(match) if callable(template) else match.expand(template)
    return name.strip()
