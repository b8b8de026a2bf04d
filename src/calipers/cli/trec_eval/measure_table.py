"""Measures of trec_eval: order and names, parsing of parameters, and measures of Calipers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any

from calipers.cli.trec_eval.c_parsing import ProgramExit, parse_float, parse_int
from calipers.lazy_dataclasses import dataclass

#: Function that parses the name and the text of the parameters of a measure (``None``: the default
#: ones) and returns the printed names, each with its parameters (``None`` if it cannot be
#: evaluated).
Reader = Callable[[str, "str | None"], "list[tuple[str, dict[str, Any] | None]]"]


#: A number greater than any grade.
NO_GRADE = 1 << 40


def ignore_parameters(name: str, text: str | None) -> list[tuple[str, dict[str, Any] | None]]:
    """Ignore parameters."""
    return [(name, {})]


def cutoff_reader(*defaults: int) -> Reader:
    """Return a reader of cutoffs, each of which is printed."""

    def read(name: str, text: str | None) -> list[tuple[str, dict[str, Any] | None]]:
        cutoffs = list(defaults) if text is None else _parse_distinct(name, text, parse_int)
        if cutoffs[0] <= 0:
            raise ProgramExit(2, f"{name}: cutoff {cutoffs[0]}, expected 1 or more")
        return [(f"{name}_{k}", {"cutoff": k}) for k in cutoffs]

    return read


def float_reader(parameter: str, *defaults: float) -> Reader:
    """Return a reader of real numbers, each of which is printed."""

    def read(name: str, text: str | None) -> list[tuple[str, dict[str, Any] | None]]:
        values = list(defaults) if text is None else _parse_distinct(name, text, parse_float)
        # The original has room for eight characters.
        return [(f"{name}_" + f"{x:3.2f}"[:8], {parameter: x}) for x in values]

    return read


def float_list_reader(
    default: str, to_parameters: Callable[[list[float]], dict[str, Any] | None]
) -> Reader:
    """Return a reader of real numbers that parametrise one measure, and are part of its name."""

    def read(name: str, text: str | None) -> list[tuple[str, dict[str, Any] | None]]:
        return [
            (
                _join_name(name, text),
                to_parameters([parse_float(x) for x in (text or default).split(",")]),
            )
        ]

    return read


def parse_gains(name: str, text: str | None) -> list[tuple[str, dict[str, Any] | None]]:
    """Parse the gains of grades, ``1=3,2=9``, and the persistence, ``p=0.8``.

    If a grade has several gains, its first gain applies in ideal rankings, and documents in the
    ranking have the gain that is first in sorted order. The other gains are assigned to grades that
    no document has, and ``taken`` has the grade that documents take.
    """
    from calipers.cli.trec_eval.ideal_rankings import merge_sort

    parameters: dict[str, Any] = {}
    gains: dict[int, float] = {}
    substitutes: dict[int, list[int]] = {}
    for pair in [] if text is None else text.split(","):
        if pair.count("=") != 1:
            raise ProgramExit(2, f"{name}: {text!r}, expected pairs such as 1=3,2=9")
        key, value = pair.split("=")
        if re.fullmatch(r"[+-]?[0-9]+", key):
            grade, gain = parse_int(key), parse_float(value)
            substitute = grade if grade not in substitutes else NO_GRADE + len(gains)
            substitutes.setdefault(grade, []).append(substitute)
            gains[substitute] = gain
        elif key == "p":
            parameters["p"] = parse_float(value)
    order = [grade for grade, _ in merge_sort(tuple(gains.items()))]
    replacement_by_grade = {
        grade: min(grades, key=order.index)
        for grade, grades in substitutes.items()
        if len(grades) > 1
    }
    for grade in [
        grade for grade in replacement_by_grade if grade < 0
    ]:  # of which ideal lists have none
        gains[grade] = gains[replacement_by_grade.pop(grade)]
    parameters |= {"gains": gains} if gains else {}
    return [
        (
            _join_name(name, text),
            {**parameters, "taken": replacement_by_grade} if replacement_by_grade else parameters,
        )
    ]


def _parse_distinct(name: str, text: str, parse: Callable[[str], Any]) -> list[Any]:
    values = sorted(parse(item) for item in text.split(","))
    if len(set(values)) < len(values):
        raise ProgramExit(2, f"{name}: {text!r} has the same cutoff twice")
    return values


def _join_name(name: str, text: str | None) -> str:
    return name if text is None else f"{name}_{text}"


def _utility_weights(values: list[float]) -> dict[str, Any] | None:
    weights = dict(zip(("tp", "fp", "fn", "tn"), values, strict=False))
    return weights if len(values) == 4 else None


def _length(values: list[float]) -> dict[str, Any]:
    return {"length": int(values[0]) if math.isfinite(values[0]) else 0}


@dataclass(frozen=True)
class TrecMeasure:
    """Measure of trec_eval.

    ``measure`` is the name of the measure in Calipers, in ``family``, with the parameters
    ``fixed_parameters``; ``judgments`` is the format of judgments that it needs. ``is_count`` marks
    counts, which are summed over topics. ``relevance_rule`` states which documents are relevant at
    a level below 0: judged ones; or also others (``"all"``), because grades are only compared with
    the level, except that the first in the ranking are excluded where hits are counted from its end
    (``"last"``). ``since_version`` is the first version with the measure, and
    ``custom_description`` is the description of a measure that is not numeric.
    """

    measure: str = ""
    read_parameters: Reader = ignore_parameters
    fixed_parameters: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    family: str = "retrieval"
    judgments: str = "qrels"
    is_count: bool = False
    relevance_rule: str = "judged"
    since_version: int = 9
    custom_description: str = ""

    @property
    def description(self) -> str:
        """Description of the measure."""
        return self.custom_description or self.definition.description

    @property
    def definition(self) -> Any:
        """Definition in the catalogue of Calipers."""
        from calipers.measures.registry import definitions

        return next(d for d in definitions(self.family) if d.name == self.measure)


read_depths = cutoff_reader(5, 10, 15, 20, 30, 100, 200, 500, 1000)
TENTHS = tuple(tenth / 10 for tenth in range(11))
FIFTHS = tuple(fifth / 5 for fifth in range(1, 11))


def ranking_measure(
    measure: str, read: Reader = ignore_parameters, relevant: str = "all"
) -> TrecMeasure:
    """Return a measure of rankings with binary relevance."""
    return TrecMeasure(measure, read, relevance_rule=relevant)


def preference_measure(measure: str, *, counts: bool = False) -> TrecMeasure:
    """Return a measure of preferences."""
    return TrecMeasure(measure, family="preferences", judgments="prefs", is_count=counts)


def assessor_measure(
    measure: str, read: Reader = ignore_parameters, relevant: str = "all"
) -> TrecMeasure:
    """Return a measure that is computed by the judgments of each assessor."""
    return TrecMeasure(measure, read, relevance_rule=relevant, judgments="qrels_jg")


#: In the order in which they are printed.
MEASURES: dict[str, TrecMeasure] = {
    "runid": TrecMeasure(
        custom_description="The tag in the last line of the results.", judgments=""
    ),
    "num_q": TrecMeasure("NumQ", is_count=True, judgments=""),
    "num_ret": TrecMeasure("NumRet", is_count=True),
    "num_rel": TrecMeasure("NumRel", is_count=True),
    "num_rel_ret": TrecMeasure("NumRelRet", is_count=True),
    "map": ranking_measure("AP"),
    "gm_map": ranking_measure("gm-AP"),
    "Rprec": ranking_measure("Rprec"),
    "bpref": TrecMeasure("Bpref"),
    "recip_rank": ranking_measure("RR"),
    "iprec_at_recall": ranking_measure("IPrec", float_reader("recall", *TENTHS), "last"),
    "P": ranking_measure("P", read_depths),
    "relstring": TrecMeasure(
        read_parameters=float_list_reader("10", _length),
        custom_description="The judgments of the first documents (10), a character each: 0 to 9, "
        "> for more,\n"
        "- for a document that is not judged, . for one that is pooled but not judged.",
    ),
    "recall": ranking_measure("R", read_depths),
    "infAP": TrecMeasure("infAP"),
    "gm_bpref": TrecMeasure("gm-Bpref"),
    "Rprec_mult": ranking_measure("Rprec", float_reader("multiple", *FIFTHS), "last"),
    "utility": TrecMeasure("utility", float_list_reader("1,-1,0,0", _utility_weights)),
    "11pt_avg": ranking_measure(
        "11pt-avg",
        float_list_reader(",".join(map(str, TENTHS)), lambda values: {"recalls": tuple(values)}),
        "last",
    ),
    "binG": ranking_measure("binG"),
    "G": TrecMeasure("G", parse_gains),
    "dcg": TrecMeasure("DCG", parse_gains),
    "ideal_dcg": TrecMeasure("IDCG", parse_gains),
    "ndcg": TrecMeasure("nDCG", parse_gains),
    "ndcg_rel": TrecMeasure("nDCG-rel", parse_gains),
    "Rndcg": TrecMeasure("RnDCG", parse_gains),
    "ndcg_cut": TrecMeasure("nDCG", read_depths),
    "map_cut": ranking_measure("AP", read_depths),
    "relative_P": ranking_measure("RelP", read_depths),
    "success": ranking_measure("Success", cutoff_reader(1, 5, 10)),
    "set_P": TrecMeasure("SetP"),
    "set_relative_P": TrecMeasure("SetRelP"),
    "set_recall": TrecMeasure("SetR"),
    "set_map": TrecMeasure("SetAP"),
    "set_F": TrecMeasure("SetF", float_list_reader("1", lambda values: {"x": values[0]})),
    "num_nonrel_judged_ret": TrecMeasure("NumNonrelJudgedRet", is_count=True),
    "prefs_num_prefs_poss": preference_measure("NumPrefsPoss", counts=True),
    "prefs_num_prefs_ful": preference_measure("NumPrefsFul", counts=True),
    "prefs_num_prefs_ful_ret": preference_measure("NumPrefsFulRet", counts=True),
    "prefs_simp": preference_measure("prefs-simp"),
    "prefs_pair": preference_measure("prefs-pair"),
    "prefs_avgjg": preference_measure("prefs-avgjg"),
    "prefs_avgjg_Rnonrel": preference_measure("prefs-avgjg-Rnonrel"),
    "prefs_simp_ret": preference_measure("prefs-simp-ret"),
    "prefs_pair_ret": preference_measure("prefs-pair-ret"),
    "prefs_avgjg_ret": preference_measure("prefs-avgjg-ret"),
    "prefs_avgjg_Rnonrel_ret": preference_measure("prefs-avgjg-Rnonrel-ret"),
    "prefs_simp_imp": preference_measure("prefs-simp-imp"),
    "prefs_pair_imp": preference_measure("prefs-pair-imp"),
    "prefs_avgjg_imp": preference_measure("prefs-avgjg-imp"),
    "map_avgjg": assessor_measure("AP"),
    "P_avgjg": assessor_measure("P", read_depths),
    "Rprec_mult_avgjg": assessor_measure("Rprec", float_reader("multiple", *FIFTHS), "last"),
    "yaap": ranking_measure("YAAP"),
    "rbp": TrecMeasure(
        "RBP", parse_gains, fixed_parameters={"p": 0.9, "gain": "topic-max"}, since_version=10
    ),
    "rbp_resid": TrecMeasure(
        "RBP-residual",
        parse_gains,
        fixed_parameters={"p": 0.9, "tail": "with-unjudged"},
        since_version=10,
    ),
    "unj": TrecMeasure("Unjudged", cutoff_reader(5, 10, 20), since_version=10),
}

_COUNTS = ("runid", "num_q", "num_ret", "num_rel", "num_rel_ret")
_OFFICIAL = (
    *_COUNTS,
    *("map", "gm_map", "Rprec", "bpref", "recip_rank", "iprec_at_recall", "P"),
)
_SET = ("utility", "set_P", "set_recall", "set_relative_P", "set_map", "set_F")
_ALL = tuple(
    name
    for name, row in MEASURES.items()
    if row.judgments in ("", "qrels") and name not in ("dcg", "ideal_dcg", "yaap")
)
_PREFERENCES = tuple(name for name in MEASURES if name.startswith("prefs_"))

NICKNAMES = {
    "official": _OFFICIAL,
    "set": (*_COUNTS, *_SET),
    "all_trec": _ALL,
    "all_prefs": ("runid", "num_q", *_PREFERENCES),
    "prefs": ("runid", "num_q", *_PREFERENCES[:6]),
    "qrels_jg": ("runid", "num_q", "map_avgjg", "P_avgjg", "Rprec_mult_avgjg"),
}
