"""What models say of the same rows, measured there: values whose intervals are those of the rows,
as one division of the data has no others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from calipers.data.two_classes import self_explaining
from calipers.evaluate.classification import classification
from calipers.evaluate.regression import regression
from calipers.evaluate.scorer import Scorer, covers
from calipers.results import Difference, Estimate, Evaluation
from calipers.statistics import FloatArray

#: Of the columns of an evaluation, which one a measure reads.
_COLUMNS = {"scores": "score", "ranks": "score", "probabilities": "probability"}
#: Replicates of intervals that take some.
RESAMPLES = 2000


@dataclass(frozen=True, eq=False)
class OnRows:
    """The ``truth`` of rows and what each model ``said`` of them, as :meth:`Scorer.said` gives it;
    what the rows weigh, which come together (``cluster``) and when they are from."""

    scorer: Scorer
    truth: Any
    said: Mapping[str, tuple[Any, Mapping[str, Any]]]
    weight: FloatArray | None = None
    cluster: Any = None
    time: Any = None
    level: float = 0.95
    seed: int = 0

    def estimate(self, name: str) -> Estimate:
        """The value of one model, with the interval that any evaluation of these rows has."""
        made = self._evaluated([name])
        found = next(e for e in made if e.measure == str(self.scorer.measure))
        return replace(found, system=name)

    def differences(self, baseline: str) -> Mapping[str, Difference]:
        """Each model less the ``baseline``, by the rows that both are measured on; the intervals
        hold together."""
        if len(self.said) < 2:
            return {}
        made = self._evaluated(list(self.said)).compare(baseline=baseline)
        return {row.system: row for row in made if row.measure == str(self.scorer.measure)}

    def _evaluated(self, names: list[str]) -> Evaluation:
        """The evaluation of some models."""
        kind = _COLUMNS.get(self.scorer.measure.definition.reads or "", "predicted")
        how: dict[str, Any] = {
            kind: {name: self.said[name][0] for name in names}, "measures": [self.scorer.measure],
            "weight": self.weight, "cluster": self.cluster, "time": self.time, "curves": False,
            "level": self.level, "resamples": RESAMPLES, "seed": self.seed,
        }  # fmt: skip
        if self.scorer.measure.definition.task == "regression":
            return regression(self.truth, **how)
        return classification(self.truth, **how, **self._classes(names[0]))

    def _classes(self, name: str) -> dict[str, Any]:
        """Which classes there are, which the rows alone need not say, and the positive one."""
        labels, positive = self.said[name][1].get("labels"), self.scorer.positive
        if labels is not None and not covers(labels, self.truth):
            labels = None
        if labels is not None and len(labels) == 2 and positive is None:
            place = self_explaining(labels)
            positive = None if place is None else labels[place]
        return {"labels": labels, "positive": positive}
