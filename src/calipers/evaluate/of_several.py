"""Which measures of rankings are asked for by default, and by the names of several."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from calipers.evaluation.options import MeasureNames
    from calipers.measures import Measure

#: AP comes first, since the first with a better side decides between systems; counts come last.
DEFAULT_MEASURES = (
    "AP",
    "nDCG@10",
    "nDCG",
    "RR",
    "P@5",
    "P@10",
    "R@100",
    "R@1000",
    "Rprec",
    "NumQ",
    "NumRet",
    "NumRel",
    "NumRelRet",
)

#: The cutoffs of trec_eval.
DEPTHS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)

#: Names that stand for several measures.
SETS = {
    "official": (
        *("NumQ", "NumRet", "NumRel", "NumRelRet", "AP", "gm-AP", "Rprec", "Bpref", "RR"),
        *(f"IPrec@{tenth / 10:g}" for tenth in range(11)),
        *(f"P@{k}" for k in DEPTHS),
    ),
    "set": (
        *("NumQ", "NumRet", "NumRel", "NumRelRet", "SetP", "micro-SetP", "SetR", "micro-SetR"),
        *("SetF", "micro-SetF", "SetRelP", "SetAP"),
    ),
    "all_trec": (
        *("NumQ", "NumRet", "NumRel", "NumRelRet", "AP", "gm-AP", "Rprec", "Bpref", "RR"),
        *(f"IPrec@{tenth / 10:g}" for tenth in range(11)),
        *(f"P@{k}" for k in DEPTHS),
        *(f"R@{k}" for k in DEPTHS),
        *("infAP", "gm-Bpref"),
        *(f"Rprec(multiple={fifth / 5:g})" for fifth in range(1, 11)),
        *("utility", "11pt-avg", "binG", "G", "nDCG", "nDCG-rel", "RnDCG"),
        *(f"{name}@{k}" for name in ("nDCG", "AP", "RelP") for k in DEPTHS),
        *("Success@1", "Success@5", "Success@10"),
        *("SetP", "SetRelP", "SetR", "SetAP", "SetF", "NumNonrelJudgedRet"),
        *("RBP(p=0.9,gain='topic-max')", "RBP-residual(p=0.9,tail='with-unjudged')"),
        *("Unjudged@5", "Unjudged@10", "Unjudged@20"),
    ),
    "diversity": ("alpha-nDCG@10", "ERR-IA@10", "nERR-IA@10", "P-IA@10", "AP-IA", "StRecall@10"),
}


def spelled_out(measures: MeasureNames | None) -> list[str | Measure] | None:
    """The measures asked for, names of several taken apart."""
    from calipers.measures import Measure

    if measures is None:
        return None
    asked = [measures] if isinstance(measures, str | Measure) else measures
    return [
        one for m in asked for one in (SETS.get(m.lower(), (m,)) if isinstance(m, str) else (m,))
    ]
