"""Measure of the scores of a judge against human labels of the same outputs.

It is not in the catalogue, as it is a difference of two means of scores.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from math import inf

from calipers.lazy_imports import numpy as np
from calipers.measures.definition import Measure
from calipers.measures.errors import UnknownMeasureError
from calipers.measures.name_parsing import parse
from calipers.measures.registry import external_definition
from calipers.statistics import FloatArray, Moments

#: Name of the task.
TASK = "judge"
#: Families of the other measures of a judge: of its table, and of raters.
_FAMILIES = ("counts", "agreement")


def mean_error(m: Moments) -> FloatArray:
    """Mean error of the judge, the mean over labeled outputs of its score minus the human label.

    It is positive for a lenient judge, negative for a severe one, and 0 for an unbiased one. It is
    undefined without human labels.
    """
    return np.asarray(m.mean)


_MEAN_ERROR = external_definition(
    name="mean-error",
    formula=mean_error,
    family="judge",
    statistic=Moments,
    higher_is_better=None,
    range=(-inf, inf),
    perfect=0.0,
)


def mean_error_measure() -> Measure:
    """Return the mean error of a judge as a measure."""
    return _MEAN_ERROR.bind({})


def judge_measures(names: Iterable[str]) -> list[Measure]:
    """Return the measures of a judge with these names; unknown ones are left out."""
    mean_error_name, measures = str(mean_error_measure()), []
    for name in names:
        if name == mean_error_name:
            measures.append(mean_error_measure())
            continue
        with suppress(UnknownMeasureError):
            measures.append(parse(name, _FAMILIES))
    return measures
