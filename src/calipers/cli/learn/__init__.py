"""Group ``calipers learn``: performance of models on data that were not used for training."""

from __future__ import annotations

from functools import partial

import click

from calipers.cli.files import Group, import_command
from calipers.cli.process import allow_blas_threads

# Before NumPy is imported: models are fitted with the threads of their library.
allow_blas_threads()

#: Sub-commands, and their lines in the help.
COMMANDS = {
    "check-split": "Check a train/test split for data leakage and distribution shift.",
    "cv": "Cross-validate estimators, or evaluate out-of-fold predictions.",
    "select": "Select a model and estimate its performance by nested validation.",
    "validation-curve": "Compute a validation curve: errors over a hyperparameter.",
    "learning-curve": "Compute a learning curve and extrapolate it to more training rows.",
    "bias-variance": "Decompose the expected error of a model into bias, variance and noise.",
}


@click.group("learn", cls=Group, help_by_command=COMMANDS, find=partial(import_command, __name__))
def command() -> None:
    """Evaluate models on data that were not used for training.

    Cross-validate models; compute learning and validation curves, bias and variance; check splits
    for leakage.
    """
