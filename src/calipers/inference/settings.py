"""Settings of intervals that users can choose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from calipers.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from calipers.statistics import FloatArray, Statistic

#: Values of the option ``interval`` other than names of methods.
INTERVAL_CHOICES = ("auto", "bootstrap", "analytic", "none")

#: The methods that can be requested by name, with descriptions.
METHODS: Mapping[str, str] = {
    "wilson": "Wilson's score interval",
    "clopper-pearson": "Clopper and Pearson's exact interval",
    "jeffreys": "Jeffreys' interval, of the Beta distribution",
    "agresti-coull": "Agresti and Coull's interval",
    "delong": "DeLong's standard error, normal; Obuchowski's of clustered rows",
    "hanley": "Hanley and McNeil's standard error, normal",
    "logit": "Boyd, Eng and Page's error by the number of positives, on the logit scale",
    "chi-square": "[X2]: χ² for normal residuals around 0; a caution says when their kurtosis is "
    "not 3",
    "t": "Student's t",
    "hall": "Student's t, corrected for skewness after Hall",
    "bayesian-bootstrap": "Bayesian bootstrap, half a unit added at the end of the range "
    "on the side of each limit",
    "delta": "the delta method, normal: from the influence of rows, or the derivatives by cells",
    "woodruff": "Woodruff's interval of a median, by the proportion of rows below it",
    "percentile": "percentiles of bootstrap replicates",
    "bca": "bootstrap, bias-corrected and accelerated",
    "studentized": "bootstrap-t: each replicate over its own standard error",
    "stratified": "percentiles of replicates drawn class by class, as many rows as there are",
}

#: Other names of the same methods in results, textbooks and tools, such as the letters that results
#: show in brackets.
_METHOD_ALIASES: Mapping[str, str] = {
    "w": "wilson",
    "wilson score": "wilson",
    "h": "hanley",
    "hanley-mcneil": "hanley",
    "hanley et al": "hanley",
    "l": "logit",
    "logistic": "logit",
    "x2": "chi-square",
    "b": "percentile",
    "percentile bootstrap": "percentile",
    "percentile bootstrapping": "percentile",
    "bootstrapping": "bootstrap",
    "studentised": "studentized",
    "student": "t",
    "bayesian": "bayesian-bootstrap",
    "bayesian bootstrap": "bayesian-bootstrap",
}


def _resolve_method(name: str) -> str:
    """Return the canonical name of a method; an unknown name is returned unchanged."""
    plain = name.strip().lower()
    plain = plain.removeprefix("[").removesuffix("]").removesuffix(" interval")
    plain = _METHOD_ALIASES.get(plain, plain)
    return plain if plain in INTERVAL_CHOICES or plain in METHODS else name.strip()


class MeasureLike(Protocol):
    """Protocol of measures, as far as inference uses them."""

    @property
    def definition(self) -> Any:
        """Traits of the measure."""

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameter values by name."""

    def apply(self, statistic: Statistic) -> FloatArray:
        """Return the value of the formula for a statistic, with its leading axes."""


@dataclass(frozen=True)
class Settings:
    """Settings of intervals.

    Attributes
    ----------
    interval : {"auto", "bootstrap", "analytic", "none"}
        General choice of the method.
    level : float, default=0.95
        Confidence level.
    n_resamples : int, default=2000
        Number of bootstrap replicates.
    seed : int, default=0
        Seed of the random numbers.
    methods : tuple of str
        Methods requested by name, of which the first applicable one is used; otherwise ``interval``
        decides.
    """

    interval: str = "auto"
    level: float = 0.95
    n_resamples: int = 2000
    seed: int = 0
    methods: tuple[str, ...] = ()

    @classmethod
    def parse(cls, interval: str | Sequence[str], **settings: Any) -> Settings:
        """Create settings from names of methods.

        Parameters
        ----------
        interval : str or sequence of str
            Names, separated by commas if they are one string: methods, and at most one of
            :data:`INTERVAL_CHOICES`, which is used where none of the methods applies. Aliases of a
            method, such as the letter that results print after it, are accepted.
        **settings
            Other settings.

        Returns
        -------
        Settings
            The settings.

        Raises
        ------
        ValueError
            If a name is unknown, or there is no name, or more than one of :data:`INTERVAL_CHOICES`.

        Examples
        --------
        >>> Settings.parse("jeffreys, bca").requested_text
        'jeffreys, bca'
        >>> Settings.parse("[X2], Wilson score interval").requested_text
        'chi-square, wilson'
        """
        requested = interval.split(",") if isinstance(interval, str) else interval
        names = [_resolve_method(str(name)) for name in requested]
        general = [name for name in names if name in INTERVAL_CHOICES]
        unknown = [name for name in names if name not in INTERVAL_CHOICES and name not in METHODS]
        if unknown:
            raise ValueError(unknown[0])
        if len(general) > 1 or not names:
            raise ValueError(", ".join(names))
        methods = tuple(dict.fromkeys(name for name in names if name in METHODS))
        return cls(general[0] if general else "auto", methods=methods, **settings)

    @property
    def requested_text(self) -> str:
        """Requested methods as text."""
        if self.methods and self.interval == "auto":
            return ", ".join(self.methods)
        return ", ".join((*self.methods, self.interval))

    @property
    def is_bootstrap_requested(self) -> bool:
        """Whether the bootstrap was requested in place of the default method."""
        return self.interval == "bootstrap"
