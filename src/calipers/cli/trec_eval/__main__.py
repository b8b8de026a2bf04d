"""Command ``python -m calipers.cli.trec_eval``."""

from calipers.cli.trec_eval import main

main()
