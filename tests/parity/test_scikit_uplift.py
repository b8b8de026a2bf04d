"""scikit-uplift, as recorded: Qini coefficient, normalized AUUC and uplift among the first rows."""

from __future__ import annotations

from certificate import Certificate, recorded

import calipers as cal

NAMES = {"qini_auc_score": "Qini", "uplift_auc_score": "normalized-AUUC"}


def test_areas_and_uplift(certificate: Certificate) -> None:
    """Also with tied scores, and with few treated rows."""
    for case in recorded("scikit-uplift")["cases"]:
        strategies = {
            name: (name.partition("@")[0].replace("_", "-"), name.partition("@")[2])
            for name in case
            if "@" in name
        }
        measures = NAMES | {
            name: f"uplift(strategy='{strategy}')@{k}" for name, (strategy, k) in strategies.items()
        }
        ev = cal.uplift(
            case["treatment"], case["outcome"], case["score"],
            measures=list(measures.values()), interval="none",
        )  # fmt: skip
        for name, estimate in zip(measures, ev, strict=True):
            theirs = float("nan") if case[name] is None else case[name]
            measure = NAMES.get(name, "uplift")
            rows = len(case["outcome"])
            arms = rows, sum(case["treatment"]), rows - sum(case["treatment"])
            is_cut = name in strategies and _is_cut(*strategies[name], *arms)
            because = {"whole rows": is_cut}
            certificate.compare("scikit-uplift", measure, estimate.value, theirs, because=because)


def _is_cut(strategy: str, k: str, rows: int, treated: int, control: int) -> bool:
    """Whether the proportion is not one of whole rows."""
    sizes = (rows,) if strategy == "overall" else (treated, control)
    return any(abs(round(float(k) * n) - float(k) * n) > 1e-9 for n in sizes)
