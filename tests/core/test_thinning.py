"""Thinning against the plain NumPy statement of the same thing, and against every point."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from calipers._core import simplified_curve, simplified_lines

FIRST = 0.25
UNIT = ((0.0, 1.0), (0.0, 1.0))


def distance(points, start, end):
    way = end - start
    length = np.maximum((way**2).sum(axis=-1), np.finfo(float).tiny)
    at = np.clip(((points - start) * way).sum(axis=-1) / length, 0, 1)
    return np.sqrt(((points - start - at[..., None] * way) ** 2).sum(axis=-1))


def enters(path, stretch):
    number = np.floor(path / stretch)
    return np.append(True, number[1:] != number[:-1])


def plainly(lines, tolerance, near):
    """The places to keep of lines of shape (places, lines, 2)."""
    there = np.isfinite(lines).all(axis=2)
    keep = np.zeros(len(lines), bool)
    keep[[0, -1]] = True
    borders = np.flatnonzero((there[1:] != there[:-1]).any(axis=1))
    keep[borders] = keep[borders + 1] = True
    lines = np.where(there[..., None], lines, 0.0)
    step = np.sqrt((np.diff(lines, axis=0) ** 2).sum(axis=2))
    path = np.append(0.0, np.cumsum((step * (there[1:] & there[:-1])).max(axis=1)))
    if np.isfinite(near):
        keep |= enters(path, near)
    first = FIRST * tolerance
    places = np.flatnonzero(keep | enters(path, first))
    lines, keep = lines[places], keep[places]
    ahead = list(pairwise(np.flatnonzero(keep)))
    while ahead:
        a, b = ahead.pop()
        if b - a > 1:
            gap = distance(lines[a + 1 : b], lines[a], lines[b]).max(axis=1)
            worst = a + 1 + int(gap.argmax())
            if gap.max() > tolerance - first:
                keep[worst] = True
                ahead += [(a, worst), (worst, b)]
    return places[keep]


def walk(draw, n, gaps):
    """Something like a curve: part of it smooth, part of it rough, with pieces missing."""
    x = np.sort(draw.random(n))
    y = np.sqrt(x) + 0.02 * np.cumsum(draw.normal(size=n)) * (x > 0.6) / np.sqrt(n)
    if gaps:
        y[draw.random(n) < 0.05] = np.nan
        y[draw.random(n) < 0.02] = np.inf
    return x, y


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 50, 20_000])
@pytest.mark.parametrize("corners", [False, True])
def test_a_curve_is_thinned_as_stated(n, gaps, corners):
    for seed in range(5):
        x, y = walk(np.random.default_rng(seed), n, gaps)
        axes, bottom = ((-0.5, 2.0), (0.1, 3.0)), 0.2
        across, up = (np.repeat(x, 2)[:-1], np.repeat(y, 2)[1:]) if corners else (x, y)
        up = np.where(up < bottom, np.nan, up)
        line = np.column_stack([(across + 0.5) / 2, (up - 0.1) / 3])
        kept = simplified_curve(x, y, axes, bottom, corners, 0.005, 0.05)
        assert_array_equal(kept, plainly(line[:, None], 0.005, 0.05))
        if n == 20_000 and not gaps:
            assert len(kept) < 200


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize(("n", "width"), [(1, 1), (2, 3), (101, 4), (5000, 2)])
def test_lines_are_thinned_together(n, width, gaps):
    for seed in range(5):
        draw = np.random.default_rng(seed)
        lines = np.stack([np.column_stack(walk(draw, n, gaps)) for _ in range(width)], axis=1)
        kept = simplified_lines(lines, 0.005)
        assert_array_equal(kept, plainly(lines, 0.005, np.inf))


def test_no_point_is_farther_away_than_the_tolerance():
    """Each point of the whole against every piece of what is left."""
    for seed, tolerance in ((1, 0.005), (2, 0.02), (3, 0.0005)):
        x, y = walk(np.random.default_rng(seed), 3000, gaps=False)
        line = np.column_stack([x, y])
        kept = line[simplified_curve(x, y, UNIT, np.nan, False, tolerance, np.inf)]
        gaps = distance(line[:, None], kept[:-1], kept[1:]).min(axis=1)
        assert gaps.max() <= tolerance
        assert len(kept) < 3000 / 2


def test_wrong_shapes():
    with pytest.raises(ValueError, match="y"):
        simplified_curve(np.zeros(3), np.zeros(2), UNIT, np.nan, False, 0.1, 0.1)
    with pytest.raises(ValueError, match="coordinates"):
        simplified_lines(np.zeros((3, 1, 3)), 0.1)
    nothing = np.zeros(0)
    assert len(simplified_curve(nothing, nothing, UNIT, np.nan, True, 0.1, 0.1)) == 0
    assert len(simplified_lines(np.zeros((0, 2, 2)), 0.1)) == 0
