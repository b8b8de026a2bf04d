"""The calibration figure of the HTML page."""

from __future__ import annotations

import numpy as np
import pytest

import calipers as cal
from calipers.report.charts import figures
from calipers.report.figures.figure import Figure
from calipers.report.figures.vega import static_spec


def page(systems: int, **options: object) -> list[Figure]:
    random = np.random.default_rng(3)
    truth = random.random(300) < 0.4
    columns = {
        f"system {i}": np.clip(0.4 + 0.3 * (truth - 0.4) + random.normal(0, 0.1, 300), 0, 1)
        for i in range(systems)
    }
    return figures(
        cal.classification(truth, probability=columns, n_resamples=200, measures=["AUC"], **options)
    )


@pytest.mark.parametrize("systems", [1, 2])
def test_one_figure_holds_curve_bins_and_probabilities(systems: int) -> None:
    found = [figure for figure in page(systems) if figure.title == "Calibration"]
    (figure,) = found
    assert len(figure.rows) == 10 * systems
    assert all(len(row) == len(figure.header) for row in figure.rows)
    assert "Dashed: perfect calibration" in figure.caption
    upper, lower = figure.spec["vconcat"]
    assert lower["encoding"]["x"]["scale"]["domain"] == [0, 1]
    assert "<svg" in figure.svg
    quiet = static_spec(figure.spec)["vconcat"][0]["layer"]
    assert len(quiet) == len(upper["layer"]) - 1
    for i in range(systems):
        assert f"system {i}" in figure.alt_text


def test_without_bootstrap_there_is_no_band() -> None:
    (figure,) = [f for f in page(1, interval="none") if f.title == "Calibration"]
    assert "Shaded" not in figure.caption
    assert "<svg" in figure.svg


def test_scores_have_no_calibration() -> None:
    ev = cal.classification([0, 1, 1, 0], score=[1.0, 2.0, 3.0, 4.0], measures=["AUC"])
    assert "Calibration" not in {figure.title for figure in figures(ev)}
