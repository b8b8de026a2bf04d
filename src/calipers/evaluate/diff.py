"""Changes between two saved evaluations."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from calipers.data.errors import InputError
from calipers.evaluation.separate_rows import SeparateRowsSample, has_matrices, restore_systems
from calipers.evaluation.shared import TWO_JUDGES
from calipers.evaluation.topic_scores import used_unit_columns
from calipers.inference.settings import Settings
from calipers.inference.two_samples import INDEPENDENT_SAMPLES
from calipers.lazy_dataclasses import dataclass
from calipers.measures import Measure
from calipers.measures.judge import TASK as JUDGE_TASK
from calipers.report.safe_names import join_words
from calipers.results import Difference, Estimate, Evaluation

#: What of the provenance is of the inference, and how a reader calls it.
_SETTING_NAMES = ("level", "interval", "n_resamples", "seed")

#: The two evaluations, where they are compared as systems.
_BEFORE, _AFTER = "before", "after"


@dataclass(frozen=True)
class MeasureChange:
    """Change of a measure between two evaluations.

    Attributes
    ----------
    system : str
        Name of the system, or ``"old → new"`` if it was renamed.
    measure : str
        Name of the measure.
    before, after : Estimate
        Estimates of the two evaluations.
    difference : Difference, optional
        Tested difference on the units that both evaluations stored.
    """

    system: str
    measure: str
    before: Estimate
    after: Estimate
    difference: Difference | None = None

    @property
    def value(self) -> float:
        """Value after minus value before; NaN if either is undefined."""
        return self.after.value - self.before.value

    @property
    def p(self) -> float:
        """Adjusted p-value if there is one, else the p-value; NaN without a test."""
        d = self.difference
        if d is None:
            return float("nan")
        return d.p if math.isnan(d.p_adjusted) else d.p_adjusted

    @property
    def is_different(self) -> bool:
        """Whether the two values differ."""
        before, after = self.before.value, self.after.value
        return not (before == after or (math.isnan(before) and math.isnan(after)))

    def row(self) -> dict[str, Any]:
        """Return the change as a row of a table, in full precision."""
        out: dict[str, Any] = {"system": self.system, "measure": self.measure}
        for name, estimate in (("before", self.before), ("after", self.after)):
            out[name] = _finite_or_none(estimate.value)
        out["change"] = _finite_or_none(self.value)
        d = self.difference
        out["low"], out["high"] = (
            (None, None) if d is None else (_finite_or_none(d.low), _finite_or_none(d.high))
        )
        out["p"] = _finite_or_none(self.p)
        out["test"] = None if d is None else d.test
        return out


def _finite_or_none(x: float) -> float | None:
    return None if math.isnan(x) else float(x)


def diff_evaluations(
    before: Evaluation, after: Evaluation
) -> tuple[list[MeasureChange], list[str]]:
    """Compare the values of two evaluations, and list their other differences.

    Systems are matched by name; if one system of each evaluation is left, these two are matched as
    well. If both evaluations stored the same topics or groups, each change is tested as by
    :func:`calipers.compare`. Stored confusion matrices are compared as independent samples.

    Parameters
    ----------
    before, after : Evaluation
        Evaluations of the same task.

    Returns
    -------
    list of MeasureChange
        Change of each measure that both evaluations have.
    list of str
        Other differences, one sentence each.

    Raises
    ------
    InputError
        If the evaluations are of different tasks.
    """
    if before.task != after.task:
        raise InputError(
            f"the evaluations are of {before.task} and {after.task}; expected the same task"
        )
    pairs = _match_systems(before.systems, after.systems)
    differences, reasons = _tested_differences(before, after, pairs)
    changes = [
        MeasureChange(_format_rename(old, new), measure, then, now, differences.get((new, measure)))
        for old, new in pairs.items()
        for measure, then, now in _paired_estimates(before, after, old, new)
    ]
    return changes, [*reasons, *_other_changes(before, after, pairs)]


def _match_systems(before: Sequence[str], after: Sequence[str]) -> dict[str, str]:
    """Match the systems of two evaluations; keys are the names in ``before``."""
    same = {name: name for name in before if name in after}
    old = [name for name in before if name not in same]
    new = [name for name in after if name not in same]
    return {**same, old[0]: new[0]} if len(old) == len(new) == 1 else same


def _format_rename(old: str, new: str) -> str:
    return old if old == new else f"{old} → {new}"


def _paired_estimates(
    before: Evaluation, after: Evaluation, old: str, new: str
) -> Iterator[tuple[str, Estimate, Estimate]]:
    """Yield each measure that a system has in both evaluations, with both estimates."""
    then, now = (
        {e.measure: e for e in evaluation.estimates if e.system == name}
        for evaluation, name in ((before, old), (after, new))
    )
    for measure in then:
        if measure in now:
            yield measure, then[measure], now[measure]


def _tested_differences(
    before: Evaluation, after: Evaluation, pairs: Mapping[str, str]
) -> tuple[dict[tuple[str, str], Difference], list[str]]:
    """Return the tested differences by system and measure, and the reasons if there are none."""
    if before.task == after.task == JUDGE_TASK:
        return {}, [f"No test of two evaluations of a judge: {TWO_JUDGES}."]
    then, now = before.predictions, after.predictions
    if then is None or now is None:
        missing = " and ".join(
            name
            for name, predictions in (("the first", then), ("the second", now))
            if predictions is None
        )
        return {}, [
            f"No test: {missing} has no stored predictions; write them with --keep-predictions."
        ]
    if has_matrices(then) and has_matrices(now):
        try:
            return {
                (new, d.measure): d
                for old, new in pairs.items()
                for d in _independent_differences(before, after, old, new)
            }, [
                (
                    f"Changes are tested as of {INDEPENDENT_SAMPLES}: no rows were stored, only "
                    "matrices."
                )
            ]
        except InputError as error:
            return {}, [f"No test: {error}."]
    if now.truth is not None or then.truth is not None:
        return {}, ["No test of rows: evaluate the new system with --baseline FIRST.json."]
    unit_columns = used_unit_columns(before, after)
    if "weights" in unit_columns:
        return {}, ["No test: units are weighted, and weights are not stored."]
    if unit_columns:
        return {}, [f"No test: {join_words(unit_columns)} of units are not stored."]
    try:
        return {
            (new, d.measure): d
            for old, new in pairs.items()
            for d in _paired_differences(before, after, old, new)
        }, []
    except InputError as error:
        return {}, [f"No test: {error}."]


def _common_measures(before: Evaluation, after: Evaluation, old: str, new: str) -> list[Measure]:
    """Return the measures that the system has in both evaluations."""
    from calipers.measures import TASKS, parse

    shared_names = [m for m, *_ in _paired_estimates(before, after, old, new)]
    return [parse(name, TASKS[after.task]) for name in shared_names]


def _inference_settings(evaluation: Evaluation) -> Settings:
    """Return the settings of inference of an evaluation."""
    from calipers.evaluation.options import make_settings

    provenance = evaluation.provenance
    return make_settings(
        provenance["interval"], evaluation.level, provenance["n_resamples"], provenance["seed"]
    )


def _paired_differences(
    before: Evaluation, after: Evaluation, old: str, new: str
) -> Sequence[Difference]:
    """Compare a system after with before, on the topics that both evaluations stored."""
    from calipers.evaluation.compare import paired_comparison
    from calipers.evaluation.stored_predictions import StoredSystem
    from calipers.evaluation.topic_scores import TopicScores

    assert before.predictions is not None
    assert after.predictions is not None
    measures = _common_measures(before, after, old, new)
    if not measures:
        return ()
    topics = after.predictions.ids
    stored_after = StoredSystem(
        new, after.predictions.systems[new], after.predictions, "the second"
    )
    new_statistics = stored_after.statistics(
        {measure.definition.statistic for measure in measures}, topics
    )
    stored_before = StoredSystem(
        _BEFORE, before.predictions.systems[old], before.predictions, "the first"
    )
    stored_before.check_common(after.predictions.common)
    settings = _inference_settings(after)
    scores = TopicScores.from_systems(
        topics,
        {_BEFORE: stored_before.checked_statistics(new_statistics, topics), _AFTER: new_statistics},
        measures,
        settings,
        zero=after.provenance["conventions"].get("undefined") == "zero",
        unit=after.predictions.unit,
    )
    return paired_comparison(scores, _BEFORE, settings).differences


def _independent_differences(
    before: Evaluation, after: Evaluation, old: str, new: str
) -> Sequence[Difference]:
    """Compare a system after with before, by the stored confusion matrices."""
    from calipers.evaluation.compare import paired_comparison

    assert before.predictions is not None
    assert after.predictions is not None
    measures = _common_measures(before, after, old, new)
    if not measures:
        return ()
    settings = _inference_settings(after)
    then, now = before.predictions.systems[old], after.predictions.systems[new]
    systems = restore_systems(
        ((_AFTER, now, after.predictions), (_BEFORE, then, before.predictions)),
        after.provenance["conventions"].get("positive"),
        settings,
    )
    source = SeparateRowsSample(
        {name: s.with_measures(measures) for name, s in systems.items()}, measures, settings
    )
    return paired_comparison(source, _BEFORE, settings).differences


def _other_changes(
    before: Evaluation, after: Evaluation, pairs: Mapping[str, str]
) -> Iterator[str]:
    """Yield the other differences of two evaluations, one sentence each."""
    measures = [
        list(dict.fromkeys(e.measure for e in source.estimates)) for source in (before, after)
    ]
    for names, heading in (
        ([n for n in before.systems if n not in pairs], "Only in the first"),
        ([n for n in after.systems if n not in pairs.values()], "Only in the second"),
        ([m for m in measures[0] if m not in measures[1]], "Measured only in the first"),
        ([m for m in measures[1] if m not in measures[0]], "Measured only in the second"),
    ):
        if names:
            yield f"{heading}: {', '.join(names)}."
    then, now = before.provenance, after.provenance
    settings = {key: (then.get(key), now.get(key)) for key in ("calipers", *_SETTING_NAMES)}
    old, new = then.get("conventions", {}), now.get("conventions", {})
    settings |= {key: (old.get(key), new.get(key)) for key in dict.fromkeys([*old, *new])}
    for key, (was, is_now) in settings.items():
        if was != is_now:
            yield f"{key}: {was} → {is_now}."
    digests = (
        {i["name"]: i.get("sha256") for i in source.get("inputs", ())} for source in (then, now)
    )
    first, second = digests
    for name in first:
        if name in second and first[name] != second[name]:
            yield f"The file of {name} has changed."
