"""Achieved significance levels: the p-values of all pairs, and their chart."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import calipers as cal


def compared(n_systems: int, **options: object) -> cal.results.Comparison:
    """Systems that see the grades of documents with more and more noise."""
    random = np.random.default_rng(3)
    grades = random.random((40, 15)) < 0.3
    grades[:, 0] = True
    names = [f"d{d}" for d in range(15)]
    qrels = {f"t{t}": dict(zip(names, map(int, of), strict=True)) for t, of in enumerate(grades)}
    runs = {
        f"s{k}": {
            f"t{t}": dict(zip(names, of + (0.4 + 0.2 * k) * random.normal(size=15), strict=True))
            for t, of in enumerate(grades)
        }
        for k in range(n_systems)
    }
    comparison = cal.retrieval(qrels, runs, measures=["AP", "P@1"], **options).comparison
    assert comparison is not None
    return comparison


def test_they_are_the_p_values_of_all_pairs() -> None:
    found = compared(5)
    levels = found.significance_levels()
    for measure, p_values in levels.items():
        assert list(p_values) == sorted(p_values, reverse=True)
        assert sorted(p_values) == sorted(d.p for d in found if d.measure == measure)
        assert len(p_values) == len(list(combinations(range(5), 2)))
    # One document of each topic says less than all of them.
    assert np.mean(levels["AP"]) < np.mean(levels["P@1"])


@pytest.mark.parametrize(
    ("n_systems", "options", "is_drawn"),
    [(5, {}, True), (3, {}, False), (5, {"baseline": "s0"}, False)],
)
def test_all_pairs_of_many_systems_have_a_chart(
    n_systems: int, options: dict[str, object], is_drawn: bool
) -> None:
    found = compared(n_systems, **options)
    assert ("significance-levels" in found.charts) == is_drawn
    if is_drawn:
        [figure] = found.chart("significance-levels").figures
        assert len(figure.rows) == 20
        assert "not adjusted" in figure.caption
