"""Contents of cells as likely as the points in them make them, whatever the cells are of.

Drawing points anew draws some of them twice, and those are always together: an adjusted Rand index
of −0.006 had the limits −0.004 and 0.010. Contents drawn from a Dirichlet distribution know no
points. One point more than there are, spread over all cells, lets cells hold something that have
held nothing so far; of two by two cells with all points in two of them that is Jeffreys' prior for
the others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from calipers.statistics import FloatArray, IntArray

if TYPE_CHECKING:
    from calipers.inference.settings import Settings

#: So many numbers are drawn at a time.
_AT_ONCE = 2_000_000

#: The prior goes to all cells where they are not more than this; else to so many others in each of
#: so many turns.
_ALL, _SOME, _TURNS = 125, 25, 40

#: What the prior adds in all.
_PRIOR = 1.0

#: Of no more cells than these, empty ones included, tables are drawn from a smooth one.
MOST_SMOOTH = 10_000

#: A class is surely larger than another by so many standard deviations of their difference.
SURELY = 2.0

#: Cells and contents of draws (b, C).
Drawn = tuple[tuple[IntArray, ...], FloatArray]


@dataclass(frozen=True, eq=False)
class Contents:
    """The cells that hold points: the position of each along each axis of this ``shape``, and how
    many points it holds."""

    shape: tuple[int, ...]
    codes: tuple[IntArray, ...]
    held: FloatArray

    @classmethod
    def from_codes(
        cls, codes: Sequence[IntArray], shape: Sequence[int], held: FloatArray | None = None
    ) -> Contents:
        """Of points that give a position along each axis, or of as many as are ``held`` alike."""
        flat = np.ravel_multi_index(tuple(codes), tuple(shape))
        place, inverse = np.unique(flat, return_inverse=True)
        counts = np.bincount(inverse, held, len(place))
        axes = np.unravel_index(place, tuple(shape))
        return cls(tuple(shape), tuple(axes), counts.astype(np.float64))

    def likely(self, settings: Settings, draws: int | None = None) -> Iterator[Drawn]:
        """Dirichlet(counts + the prior), times the number of points; without the prior so many
        ``draws``, where that is given."""
        random = np.random.Generator(np.random.Philox(settings.seed))
        left, cells = draws or settings.resamples, math.prod(self.shape)
        few = cells <= _ALL
        turn = left if few or draws else max(1, -(-left // _TURNS))
        size = max(1, min(turn, _AT_ONCE // (len(self.held) + _ALL)))
        while left > 0:
            codes, shape = self.codes, self.held
            if not draws:
                place = np.arange(cells) if few else random.integers(0, cells, _SOME)
                codes, shape = self._with(place, _PRIOR / len(place))
            some = min(size, left)
            drawn = random.standard_gamma(shape, (some, len(shape)))
            yield codes, drawn * (self.held.sum() / drawn.sum(axis=1, keepdims=True))
            left -= some

    def _with(self, place: IntArray, added: float) -> tuple[tuple[IntArray, ...], FloatArray]:
        """These cells and others, that hold so much more."""
        own = np.ravel_multi_index(self.codes, self.shape)
        place, inverse = np.unique(np.append(own, place), return_inverse=True)
        more = np.append(self.held, np.full(len(inverse) - len(own), added))
        held = np.bincount(inverse, more, len(place)).astype(np.float64)
        return tuple(np.unravel_index(place, self.shape)), held

    def worlds(self) -> list[FloatArray]:
        """Shares of all cells of two axes that may well be behind these contents, of which the
        values of what is drawn are flattered more: none of too many cells.

        The first is taken towards independence as far as chance may have taken it away from there
        (Hausser and Strimmer 2009), so that empty cells are possible; in the second the classes of
        a cluster are equal that its largest one is not surely above.
        """
        if math.prod(self.shape) > MOST_SMOOTH:
            return []
        held = np.zeros(self.shape)
        held[self.codes] = self.held
        n = float(held.sum())
        share = held / n
        target = share.sum(axis=1)[:, None] * share.sum(axis=0)
        apart = float(np.square(target - share).sum())
        noise = (1 - float(np.square(share).sum())) / max(n - 1, 1.0)
        towards = min(1.0, noise / apart) if apart > 0 else 1.0
        top = held.max(axis=0)
        near = top - held <= SURELY * np.sqrt(top + held)
        level = (held * near).sum(axis=0) / near.sum(axis=0)
        return [towards * target + (1 - towards) * share, np.where(near, level, held) / n]
