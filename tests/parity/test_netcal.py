"""netcal, as recorded: calibration errors over bins of equal width."""

from __future__ import annotations

import numpy as np
from certificate import Certificate, recorded

import calipers as cal


def test_errors_over_bins(certificate: Certificate) -> None:
    """Random, tied and certain probabilities, also on the edges of bins."""
    for case in recorded("netcal")["cases"]:
        names = [f"{name}(bins={case['bins']})" for name in ("ECE", "MCE")]
        ev = cal.classification(
            case["truth"], probability=case["probability"], positive=1, labels=[0, 1],
            measures=names, interval="none",
        )  # fmt: skip
        probability = np.array(case["probability"])
        assert case["on_edges"] == bool(np.isin(probability * case["bins"] % 1, (0, 1)).all())
        for name, estimate in zip(("ECE", "MCE"), ev, strict=True):
            because = {"bins closed on the left": case["on_edges"]}
            certificate.compare("netcal", name, estimate.value, case[name], because=because)
