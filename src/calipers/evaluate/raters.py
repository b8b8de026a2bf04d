"""Do raters say the same of the same items?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.counts import About
from calipers.data.errors import InputError
from calipers.data.ratings import read_ratings
from calipers.evaluate.arguments import verb
from calipers.evaluate.cuts import Bins, slice_columns
from calipers.evaluate.estimates import estimate_of
from calipers.evaluate.evaluator import evaluate_systems, serving
from calipers.evaluate.kept import Baseline
from calipers.evaluate.sample import Problem
from calipers.evaluate.shared import choose_measures, class_order_notes
from calipers.evaluate.subjects import of_raters
from calipers.evaluation.options import MeasureNames, Options
from calipers.inference.reading import Reading
from calipers.measures import Measure, parse
from calipers.measures.parameters import PARAMETERS
from calipers.measures.rater_agreement import counted_items
from calipers.readings.counts import ClassCounts
from calipers.report.numbers import count
from calipers.results import Evaluation, LabelTable
from calipers.results.estimate import ALL_RATERS
from calipers.systems.raters import Raters

if TYPE_CHECKING:
    from calipers.evaluate.sample import Sample, Told
    from calipers.results import Finding

SCALES = PARAMETERS["scale"].choices

USUAL = ("Krippendorff-alpha", "percent-agreement")

#: Cohen's κ of two raters; of numbers whose distances count there is none.
OF_TWO = {"nominal": "kappa", "ordinal": "kappa(weights='quadratic')"}

#: Of more raters nobody would read the table of all pairs, and of more categories that of raters.
MOST_RATERS, MOST_LISTED, MOST_CATEGORIES = 12, 50, 12


@verb
def agreement(
    ratings: Any,
    raters: Any = None,
    *,
    item: str | None = None,
    rater: str | None = None,
    rating: str | None = None,
    slices: Any = None,
    slice_bins: Bins | None = None,
    scale: str = "nominal",
    order: Sequence[Any] | None = None,
    measures: MeasureNames | None = None,
    primary: str | None = None,
    baseline: Baseline = None,
    compare: bool = True,
    interval: str | Sequence[str] = "auto",
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    inputs: Sequence[Any] = (),
) -> Evaluation:
    """Measure inter-rater agreement on the same items, beyond chance.

    Parameters
    ----------
    ratings : data frame, dict of columns, or path
        Table of ratings: a column for each rater and a row for each item, where a rating may be
        missing; or, where ``rater`` is given, a row for each rating.
    raters : list, or dict of list, optional
        Which columns are raters, or which names in the column ``rater``, where these are not all; a
        dict from names to lists of raters compares these, item by item.
    item : str, optional
        Name of the column of the items, which is no rater.
    rater : str, optional
        Of a table with one row for each rating: name of the column of raters.
    rating : str, optional
        Of such a table: name of the column of ratings.
    slices : dict of array-like of shape (n,), or list of str, optional
        Columns that define slices, by name: every measure is computed on each slice and compared
        with all other rows. ``"age*site": (age, site)`` crosses two columns. A column of more than
        ten distinct numbers is cut at its quartiles; a number that more than half of the rows have
        is a slice of its own. Rows without a value are the slice ``"missing"``. With ``data``, a
        list of names will do. The names are of columns of ``ratings`` that say more of each item.
    slice_bins : dict of list of float, optional
        Where to cut numeric columns of ``slices`` instead of at their quartiles, by name:
        ``{"age": [40, 65]}``.
    scale : {'nominal', 'ordinal', 'interval'}, default='nominal'
        Scale of the ratings, by which α takes two of them to be apart.
    order : list, optional
        The categories in their order, where that is not the order of numbers or letters.
    measures : str, Measure, or list of such, optional
        Names of measures; ``calipers measures`` lists them. ``"default"`` stands for those that are
        shown if none is named.
    primary : str, optional
        Measure that decides between systems, by default the first; p-values of all other measures
        are adjusted together, apart from its own.
    baseline : str, path or Evaluation, optional
        System that all others are compared with; by default every pair is compared, the later minus
        the earlier. A system of an earlier evaluation serves as well: the evaluation, or the path
        of a file that keeps its predictions (``"FILE.json:NAME"`` of several).
    compare : bool, default=True
        Whether several systems are compared in the evaluation; ``evaluation.compare()`` compares
        them later, too.
    interval : str or list of str, default='auto'
        How intervals are made: ``"auto"``, ``"bootstrap"``, ``"analytic"`` or ``"none"``; or
        methods such as ``"bca"`` or ``["jeffreys", "hanley"]``, each used where it applies.
    level : float, default=0.95
        Level of the intervals.
    resamples : int, default=2000
        Bootstrap replicates.
    seed : int, default=0
        Seed of resampling.
    inputs : list, optional
        Where the columns came from, for the provenance.

    Returns
    -------
    Evaluation
        α (Krippendorff 2011) and the share of pairs of ratings that agree; Fleiss' κ by name. Each
        is from −1 to 1, 0 being chance; of the share from 0 to 1. Intervals are for items like
        these, rated by these raters. A table has each pair of raters, with Cohen's κ (of ordinal
        ratings with quadratic weights); another one each rater, with α of all others.

    Raises
    ------
    InputError
        For fewer than two raters, an unknown scale, and text on a scale of intervals.

    Examples
    --------
    >>> import calipers as cal
    >>> said = {"ann": [0, 1, 2, 2, 0, 1], "ben": [0, 1, 2, 1, 0, None], "eve": [0, 1, 2, 2, 1, 1]}
    >>> round(cal.agreement(said)["Krippendorff-alpha"].value, 4)
    0.6632
    >>> ordinal = cal.agreement(said, scale="ordinal", measures=["Krippendorff-alpha"])
    >>> round(ordinal.estimates[0].value, 4)
    0.8118
    """
    if scale not in SCALES:
        raise InputError(f"scale is {scale!r}, expected one of {', '.join(SCALES)}")
    options = Options.of(locals())
    settings = options.settings
    cut_by = slice_columns(slices) or {}
    named = [part for parts in cut_by.values() for part in parts.values() if isinstance(part, str)]
    sets = dict(raters) if isinstance(raters, Mapping) else {ALL_RATERS: raters}
    if not sets:
        raise InputError("raters: an empty dict, expected sets of raters by name")
    long = {"item": item, "rater": rater, "rating": rating}
    found = read_ratings(ratings, sets, order, long, named)
    if scale == "interval" and np.isnan(found.values).any():
        told = ", ".join(map(repr, found.categories[:3]))
        raise InputError(f"scale is 'interval', and the ratings are text: {told}; expected numbers")
    chosen = choose_measures(measures, USUAL, "agreement", {"scale": scale})
    whole = Raters("", found.raters, found.codes, found.categories, found.values, settings)
    systems = serving({n: whole.of(which, n) for n, which in found.sets.items()}, chosen)
    cut_by = {
        name: {of: found.rows.column(c) if isinstance(c, str) else c for of, c in parts.items()}
        for name, parts in cut_by.items()
    }
    problem = Agreement(scale, found.categories, order is not None)
    return evaluate_systems(
        problem,
        systems,
        chosen,
        replace(options, inputs=[*found.origins, *inputs]),
        slices=cut_by or None,
        about=About(found.ids),
    )


@dataclass(frozen=True, eq=False)
class Agreement(Problem):
    """How far raters agree, on a scale of categories which may be ``ordered``."""

    task = "agreement"

    scale: str
    categories: tuple[str, ...]
    ordered: bool

    def conventions(self, sample: Sample) -> Mapping[str, Any]:
        """The scale."""
        return {"scale": self.scale}

    def notes(self, sample: Sample, options: Options) -> Sequence[str]:
        """What a reader has to know of items and of the order of categories."""
        systems, measures = (sample.rows or {}).values(), sample.measures
        order = class_order_notes(
            [*measures, *_of_two(self.scale)],
            self.categories,
            stated=self.ordered,
            option="order",
        )
        return (*_notes(systems, measures), *order)

    def findings(self, sample: Sample, told: Told) -> tuple[Finding, ...]:
        """What there is to say of raters."""
        return of_raters(sample, told)

    def details(self, sample: Sample, options: Options) -> Mapping[str, Any]:
        """Tables of pairs of raters, and of each."""
        systems = (sample.rows or {}).values()
        return {"label_tables": tuple(_tables(systems, sample.measures, self.scale))}


def _notes(systems: Iterable[Raters], measures: Sequence[Measure]) -> list[str]:
    """How many items tell nothing, and what has no table."""
    notes = []
    for system in systems:
        who = "" if system.name == ALL_RATERS else f"{system.name}: "
        r = system.over(measures[0]).statistic
        alone = len(r) - len(r.shared)
        if alone:
            taking = [str(m) for m in measures if (counted_items(m, r) & ~r.twice).any()]
            also = f"; {' and '.join(taking)} count them for how common categories are"
            notes.append(
                f"{who}{alone:,} of {count(len(r), 'items')} have fewer than two ratings and say "
                f"nothing of agreement{also if taking else ''}."
            )
        if len(system.raters) > MOST_RATERS:
            notes.append(
                f"{who}there is no table of the pairs of {len(system.raters)} raters, as of more "
                f"than {MOST_RATERS}."
            )
    return notes


def _tables(
    systems: Iterable[Raters], measures: Sequence[Measure], scale: str
) -> Iterator[LabelTable]:
    """Of each set of raters every pair of them, and each rater."""
    for system in systems:
        if len(system.raters) <= MOST_RATERS:
            yield _pairs(system, measures, scale)
        if 2 < len(system.raters) <= MOST_LISTED:
            yield _each(system, measures)


def _of_two(scale: str) -> tuple[Measure, ...]:
    """What the table of pairs has of two raters alone."""
    return (parse(OF_TWO[scale], ("counts",)),) if scale in OF_TWO else ()


def _pairs(system: Raters, measures: Sequence[Measure], scale: str) -> LabelTable:
    names, items, readings = [], [], list[dict[str, Reading]]()
    for pair in combinations(range(len(system.raters)), 2):
        two = system.of(list(pair))
        both = two.codes[(two.codes >= 0).all(axis=1)]
        found = {str(m): two.reading(m) for m in measures}
        for own in _of_two(scale):
            cells = ClassCounts.from_codes(
                both[:, 0], both[:, 1], system.categories, system.settings
            )
            found[str(own)] = cells.reading(own)
        names.append(" ~ ".join(two.raters))
        items.append(len(both))
        readings.append(found)
    return _table(system, "pair", names, items, readings)


def _each(system: Raters, measures: Sequence[Measure]) -> LabelTable:
    """How often each rater rated, and the value of all others together."""
    everyone, counts = range(len(system.raters)), {}
    if len(system.categories) <= MOST_CATEGORIES:
        counts = {
            name: (system.codes == k).sum(axis=0).astype(np.float64)
            for k, name in enumerate(system.categories)
        }
    others = [system.of([k for k in everyone if k != own]) for own in everyone]
    readings = [{f"{m} without": of.reading(m) for m in measures} for of in others]
    times = (system.codes >= 0).sum(axis=0)
    return _table(system, "rater", system.raters, times, readings, counts)


def _table(
    system: Raters,
    of: str,
    names: Sequence[str],
    sizes: Any,
    readings: Sequence[Mapping[str, Reading]],
    counts: Mapping[str, Any] | None = None,
) -> LabelTable:
    parts: dict[str, dict[str, Any]] = {"values": {}, "low": {}, "high": {}}
    for name in readings[0]:
        found = [estimate_of(each[name], name, system.name) for each in readings]
        for part, column in parts.items():
            own = "value" if part == "values" else part
            column[name] = np.array([getattr(e, own) for e in found])
    sizes = np.asarray(sizes, np.float64)
    level = system.settings.level
    return LabelTable(system.name, tuple(names), sizes, counts or {}, **parts, level=level, of=of)
