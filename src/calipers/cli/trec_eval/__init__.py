"""``calipers trec_eval``: what trec_eval prints, byte for byte."""

from __future__ import annotations

from calipers.cli import start
from calipers.lazy_imports import lazy_getattr


def main() -> None:
    """Entry point of the console script ``calipers-trec_eval``."""
    start("calipers.cli.trec_eval.program")


__getattr__ = lazy_getattr(__name__, {"program": "command, run"})
