"""Biases of a judge: how its scores differ from human labels, and on what that depends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Annotated

from calipers.lazy_dataclasses import dataclass
from calipers.results.estimate import invalid_probabilities, misordered_limits
from calipers.results.serialization import BRIEF, NAN, Choices, Count, JsonSerializable, Level

#: Kind of the bias that is about the errors on one system; all others are differences of errors.
MEAN_ERROR = "mean error"
#: Kinds of biases.
BIAS_KINDS = (MEAN_ERROR, "system", "position", "length", "self-preference", "drift")


@dataclass(frozen=True, slots=True)
class JudgeBias(JsonSerializable):
    """Bias of a judge, with its interval and a test that it is 0.

    Errors of a judge are its scores minus the human labels of the same outputs.

    Attributes
    ----------
    kind : {"mean error", "system", "position", "length", "self-preference", "drift"}
        What the bias is about: the mean error itself, or its dependence on the system, the position
        of the output, its length, whether it is the judge's own, or time.
    contrast : str
        System, or what is compared with what, such as ``"new - old"``.
    value : float
        Mean error, or the difference of mean errors.
    low, high : float
        Limits of the confidence interval.
    level : float, default=0.95
        Confidence level.
    method : str
        Method of the interval.
    p : float
        Two-sided p-value of a bias of 0.
    p_adjusted : float
        p-value adjusted by Holm's method, for all mean errors or for all other biases.
    test : str
        Name of the test.
    min_detectable : float
        Minimum detectable difference: the smallest true bias that the test detects with 80% power.
    standard_error : float
        Standard error of ``value``.
    n : int
        Number of outputs, or of pairs of outputs, that it is estimated from.
    unit : str, default="labels"
        What these are.
    interval_reason : str or None
        Reason for a missing interval, a key of :data:`INTERVAL_REASONS`.
    """

    kind: Annotated[str, Choices(BIAS_KINDS)]
    contrast: str
    value: float
    low: float = NAN
    high: float = NAN
    level: Level = 0.95
    method: str = "none"
    p: float = NAN
    p_adjusted: float = NAN
    test: str = "none"
    min_detectable: float = NAN
    standard_error: float = NAN
    n: Count = 0
    unit: str = "labels"
    interval_reason: str | None = field(default=None, metadata=BRIEF)

    @property
    def is_significant(self) -> bool:
        """Whether the adjusted p-value is at most 1 − level."""
        return self.p_adjusted <= 1 - self.level

    def inconsistencies(self) -> Iterator[tuple[str, str]]:
        """Yield limits in the wrong order, and p-values outside [0, 1].

        Yields
        ------
        path : str
            Path of the field in the result, such as ``"low"``.
        problem : str
            What is wrong with the value of the field.
        """
        yield from misordered_limits(self, "low", "high")
        yield from invalid_probabilities(self, "p", "p_adjusted")


def bias_measure(bias: JudgeBias) -> str:
    """Return the name of a bias as that of a measure in tidy rows, such as ``"length-bias"``."""
    return "mean-error" if bias.kind == MEAN_ERROR else f"{bias.kind}-bias"
