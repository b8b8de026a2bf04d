"""The areas under curves of which the core knows how they vary."""

from __future__ import annotations

from typing import NamedTuple


class Area(NamedTuple):
    """That a measure is scale·A + shift, with an area A of which the core knows how it varies: AUC,
    AP, PR-AUC or AP-DG."""

    name: str
    scale: float = 1.0
    shift: float = 0.0
