"""Entry point of ``python -m calipers``."""

from calipers.cli import main

main()
