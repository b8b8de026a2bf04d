"""Assertions about evaluations, for tests of models."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from calipers.evaluate.join_evaluations import join_evaluations
from calipers.evaluate.requirements import BASELINE, RequirementResult, check_requirements
from calipers.results import Evaluation


def assert_not_worse(
    new: Evaluation,
    base: Evaluation | os.PathLike[str] | str,
    *,
    on: str,
    margin: float | None = None,
) -> None:
    """Assert that a system is not worse than another, with the semantics of ``--require``.

    Parameters
    ----------
    new : Evaluation
        Evaluation of one system, or of several, all of which except ``base`` are tested.
    base : Evaluation, path or str
        Reference system: its name in ``new``, an evaluation of it on the same rows, or the JSON
        file of one, written by :func:`calipers.keep_predictions` or with
        ``-o FILE.json --keep-predictions``.
    on : str
        Name of the measure.
    margin : float, optional
        Non-inferiority margin. If given, a test of non-inferiority has to show that ``new`` is
        worse by less than this. By default ``new`` must not be significantly worse.

    Raises
    ------
    AssertionError
        If the requirement is not met. The message states the difference, its interval and the
        p-value.
    InputError
        If the two systems cannot be compared.

    Examples
    --------
    >>> import calipers as cal
    >>> truth = [0, 0, 1, 1, 1, 0] * 20
    >>> new = cal.classification(truth, score=[0.1, 0.4, 0.3, 0.8, 0.9, 0.2] * 20)
    >>> old = cal.classification(truth, score=[0.3, 0.4, 0.3, 0.8, 0.6, 0.2] * 20)
    >>> assert_not_worse(new, old, on="AUC", margin=0.05)
    """
    __tracebackhide__ = True
    if isinstance(base, str) and base in new.systems:
        evaluation, name = new, base
    else:
        evaluation = join_evaluations(new, base, on)
        name = evaluation.systems[-1]
    margin_text = "" if margin is None else f" by {margin!r}"
    results = check_requirements(
        evaluation, f"{on} not worse than {BASELINE}{margin_text}", baseline=name
    )
    _assert(
        [replace(ruling, rule=f"{on} not worse than {name}{margin_text}") for ruling in results]
    )


def assert_met(evaluation: Evaluation, rules: str | Sequence[str], **options: str) -> None:
    """Assert that an evaluation meets requirements such as ``"low(AUC) >= 0.9"``.

    Parameters
    ----------
    evaluation : Evaluation
        Evaluation to check.
    rules : str or sequence of str
        Requirements, in the syntax of :func:`calipers.check_requirements`.
    **options : str
        Other arguments of :func:`calipers.check_requirements`.

    Raises
    ------
    AssertionError
        If a requirement is not met.

    Examples
    --------
    >>> import calipers as cal
    >>> assert_met(cal.classification([0, 1] * 20, score=[0.1, 0.8] * 20), "AUC >= 0.9")
    """
    __tracebackhide__ = True
    _assert(check_requirements(evaluation, rules, **options))


def _assert(results: Sequence[RequirementResult]) -> None:
    __tracebackhide__ = True
    failed = [f"{ruling.rule}: {ruling.message}" for ruling in results if not ruling.passed]
    if failed:
        raise AssertionError("\n".join(failed))
