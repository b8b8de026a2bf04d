"""scikit-survival and lifelines, as recorded: times that may be censored."""

from __future__ import annotations

from certificate import Certificate, recorded

import calipers as cal


def test_scikit_survival(certificate: Certificate) -> None:
    """Without censoring and with much of it, tied risks, and tied times of several kinds."""
    for case in recorded("scikit-survival")["cases"]:
        times, because = case["times"], {"censored at the time of an event": case["tied"]}
        areas = [f"survival-AUC@{time}" for time in times]
        losses = [f"survival-Brier@{time}" for time in times]
        evaluation = cal.survival(
            case["time"], case["event"], case["risk"], survival=case["survival"], times=times,
            measures=[
                "concordance_index_censored", "concordance_index_ipcw", f"Uno-C@{times[1]}",
                *areas, "integrated-AUC", *losses, "integrated_brier_score",
            ],
            interval="none",
        )  # fmt: skip
        name = "concordance_index_censored"
        certificate.compare("scikit-survival", name, evaluation["C-index"].value, case[name])
        for name, theirs, ours in (
            ("concordance_index_ipcw", case["concordance_index_ipcw"], ["Uno-C"]),
            (
                "concordance_index_ipcw: tau",
                case["concordance_index_ipcw_tau"],
                [f"Uno-C@{times[1]}"],
            ),
            ("cumulative_dynamic_auc", case["cumulative_dynamic_auc"], areas),
            ("cumulative_dynamic_auc: mean", case["mean_auc"], ["integrated-AUC"]),
            ("brier_score", case["brier_score"], losses),
            ("integrated_brier_score", case["integrated_brier_score"], ["integrated-Brier"]),
        ):
            expected = theirs if isinstance(theirs, list) else [theirs]
            for measure, value in zip(ours, expected, strict=True):
                certificate.compare(
                    "scikit-survival", name, evaluation[measure].value, value, because=because
                )


def test_lifelines(certificate: Certificate) -> None:
    for case in recorded("lifelines")["cases"]:
        evaluation = cal.survival(
            case["time"], case["event"], case["risk"], measures="C-index", interval="none"
        )
        name = "concordance_index"
        certificate.compare("lifelines", name, evaluation["C-index"].value, case[name])
