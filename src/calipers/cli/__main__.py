"""Command ``python -m calipers.cli``."""

from calipers.cli import main

main()
