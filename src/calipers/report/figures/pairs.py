"""Matrix charts of pairwise differences: the system of the row minus that of the column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from calipers.report import numbers
from calipers.report.figures import vega
from calipers.report.figures.differences import group_by_measure, select_fitting
from calipers.report.figures.figure import Figure, measure_figure
from calipers.report.figures.registry import ComparisonChart, register_chart
from calipers.report.figures.vega import Spec
from calipers.report.headlines import mean_gains, sort_by_value
from calipers.report.safe_names import shorten_name, unique_labels
from calipers.report.verdict import Outcome, outcome
from calipers.results import Comparison, Definition, Difference

#: The largest number of systems in a matrix; with more than a few it takes the whole width.
MAX_SYSTEMS = 16
_MAX_NARROW_SYSTEMS = 6
#: The p-values from which colors are stronger.
_STRONG_P_VALUES = (0.001, 0.01)


def pair_figures(
    comparison: Comparison, definitions: Sequence[Definition] = ()
) -> Iterator[Figure]:
    """Yield a matrix of all pairs per measure.

    There have to be three systems or more, and two-sided tests.
    """
    systems = {name for d in comparison for name in (d.system, d.baseline)}
    if comparison.baseline is not None or not 3 <= len(systems) <= MAX_SYSTEMS:
        return
    two_sided = {
        measure: group
        for measure, group in group_by_measure(comparison).items()
        if all(d.alternative == "two-sided" for d in group)
    }
    fitting = select_fitting(two_sided)
    for measure, group in fitting:
        outcomes = [outcome(d) for d in group]
        n_significant = sum(o.is_significant for o in outcomes)
        counts_text = f"{n_significant} of {sum(o.is_tested for o in outcomes)}"
        side = "higher" if group[0].higher_is_better is None else "better"
        figure = Figure(
            title=f"Every pair: {shorten_name(measure)}",
            alt_text=f"{shorten_name(measure)} of every pair of {len(systems)} systems: "
            f"{counts_text} pairs differ significantly.",
            caption=f"Row minus column. Colored: significant differences ({counts_text}), blue if "
            f"the row is {side}; the smaller the p-value, the stronger the color.",
            spec=pairs_chart(group),
            header=(),
            rows=(),
            wide=len(systems) > _MAX_NARROW_SYSTEMS,
        )
        yield measure_figure(figure, measure, len(fitting), "Every pair")


def pairs_chart(pairs: Sequence[Difference]) -> Spec:
    """Return the matrix of all pairs by one measure.

    Each pair is given once; the cell across the diagonal has the opposite sign. Significant
    differences are colored, in stronger colors for p ≤ 0.01 and p ≤ 0.001.
    """
    order = sort_by_value(mean_gains(pairs), pairs[0].higher_is_better)
    names = unique_labels(order, vega.MAX_LABEL_LENGTH)
    digits = numbers.rounding(((d.value, numbers.NAN, numbers.NAN) for d in pairs), keep_sign=True)
    cells = [cell for d in pairs for cell in _pair_cells(d, names, digits)]
    labels = list(names.values())
    side = {"sort": labels, "scale": {"domain": labels}}
    axis = {"grid": False, "labelLimit": 160}
    top_axis = {"orient": "top", **axis, "labelAngle": -45 if len(order) > 4 else 0}
    sides = {
        "x": vega.category("baseline", title="minus", **side, axis=top_axis),
        "y": vega.category("system", title=None, **side, axis=axis),
    }
    tips = vega.tooltip(
        ("system", "system"), ("baseline", "minus"), ("difference", "difference"),
        ("p", "p, adjusted"),
    )  # fmt: skip
    up, _, down = vega.sign_colors(pairs[0].higher_is_better)
    # Vega gives colors of the range to values that are not in the domain.
    neutral = [o.value for o in (Outcome.NOT_SIGNIFICANT, Outcome.NOT_TESTED, Outcome.UNDEFINED)]
    colors = {
        "domain": ["higher", "lower", *neutral],
        "range": [up, down, *["currentColor"] * len(neutral)],
    }
    color = vega.nominal("sign", legend=None, scale=colors)
    strength = {"field": "strength", "type": "quantitative", "scale": None, "legend": None}
    text = {"type": "text", "fontSize": 12, "color": "currentColor"}
    above_text = {**text, "dy": -6, "fontWeight": "bold"}
    return vega.assemble_spec(
        width={"step": 72},
        height={"step": 40},
        data={"values": cells},
        encoding={**sides, "tooltip": tips},
        layer=[
            vega.mark_layer("rect", color=color, opacity=strength),
            vega.mark_layer(above_text, text=vega.nominal("difference")),
            vega.mark_layer({**text, "dy": 8, "opacity": 0.85}, text=vega.nominal("p")),
        ],
    )


def _pair_cells(d: Difference, names: Mapping[str, str], digits: numbers.Rounding) -> list[Spec]:
    """Return the two cells of a pair."""
    difference_outcome, p_text = outcome(d), numbers.format_p_digits(d.p_adjusted)
    strength = (
        0.2 + 0.2 * sum(d.p_adjusted <= bound for bound in _STRONG_P_VALUES)
        if difference_outcome.is_significant
        else 0.06
    )
    sides = ((d.system, d.baseline, d.value), (d.baseline, d.system, -d.value))
    return [
        {
            "system": names[system],
            "baseline": names[baseline],
            "difference": digits(difference),
            "p": f"p {'' if p_text.startswith('<') else '= '}{p_text}"
            if difference_outcome.is_tested
            else "–",
            "sign": ("higher" if difference > 0 else "lower")
            if difference_outcome.is_significant
            else difference_outcome.value,
            "strength": strength,
        }
        for system, baseline, difference in sides
    ]


register_chart(ComparisonChart(name="pairs", title="Pairs of systems", draw=pair_figures))
