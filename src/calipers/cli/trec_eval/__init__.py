"""Command ``calipers trec_eval``, whose output is that of trec_eval, byte for byte."""

from __future__ import annotations

from calipers.cli import start
from calipers.lazy_imports import lazy_getattr


def main() -> None:
    """Run the console script ``calipers-trec_eval``."""
    start("calipers.cli.trec_eval.program")


__getattr__ = lazy_getattr(__name__, {"program": "run"})
