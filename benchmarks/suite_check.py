"""Whether a small version of the rows of `suite.py` costs more than it did.

Seconds differ between machines and moments, ratios of two tools that run one after the other hardly
do: processor time and memory of Calipers are compared with those of a peer in the same run, and this
ratio with the recorded one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

#: A ratio may grow by this factor.
LOSS = 4 / 3
#: How often a row is measured before it counts as slower; the least of its figures is compared, as
#: other processes only add to them.
TURNS = 4
#: Less than this is noise: MiB that a call adds to the memory of its process.
FEW_MIB = 32.0

Ratios = dict[str, dict[str, float]]


def ratios(row: Mapping[str, Any]) -> Ratios:
    """Cost by tool and figure, relative to the peer; of a variant of ours, relative to ours.

    Parameters
    ----------
    row : mapping
        Figures of each turn by tool, ours first: what `suite.call_row` and `suite.whole_row` return.
    """
    (name, ours), *others = row["tools"].items()
    relative: Ratios = {}
    for tool, figures in others:
        is_variant = tool.startswith(f"{name},")
        cost, peer = (figures, ours) if is_variant else (ours, figures)
        relative[tool] = {"cpu": min(cost["cpu"]) / max(min(peer["cpu"]), 1e-9)}
        memory, peer_memory = min(cost["memory"]), min(peer["memory"])
        relative[tool]["memory"] = max(memory, FEW_MIB) / max(peer_memory, FEW_MIB)
    return relative


def losses(measured: Ratios, recorded: Ratios) -> list[str]:
    """What costs more than recorded or was not measured, as sentences."""
    return [
        f"{tool} was not measured: is it installed?" for tool in recorded if tool not in measured
    ] + [
        f"{figure} relative to {tool}: {ratio:.3g}, recorded {recorded[tool][figure]:.3g}"
        for tool, figures in measured.items()
        for figure, ratio in figures.items()
        if ratio > LOSS * recorded[tool][figure]
    ]


def check(
    measure: Callable[[str, int], Mapping[str, Any]], recorded: Mapping[str, Ratios]
) -> tuple[dict[str, Ratios], dict[str, list[str]]]:
    """Measure each row once, and those that seem slower again.

    Parameters
    ----------
    measure : callable
        Returns figures of a row from its name and the number of turns.
    recorded : mapping
        Ratios by row.

    Returns
    -------
    measured : dict
        Ratios by row.
    slower : dict
        What costs more than recorded, by row.
    """
    measured: dict[str, Ratios] = {}
    slower: dict[str, list[str]] = {}
    for name in recorded:
        for turns in (1, TURNS, 2 * TURNS):
            measured[name] = ratios(measure(name, turns))
            worse = losses(measured[name], recorded[name])
            if not worse:
                break
        print(f"{name}: {'slower' if worse else 'as recorded'}", flush=True)
        if worse:
            slower[name] = worse
    return measured, slower
