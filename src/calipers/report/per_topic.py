"""Values on every topic or other unit, as a table and in the format of trec_eval -q.

CSV, JSON and Arrow are written by the result itself: see :class:`calipers.results.PerUnit`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from calipers.report import numbers
from calipers.report.blocks import Block, Heading, Notes, Table, mark_literal
from calipers.report.safe_names import escape_unprintable, shorten_name, unique_labels
from calipers.report.table_rows import report_heading
from calipers.report.tables import KEY, NUMBER, Column, drop_empty_columns
from calipers.results import NAN, Evaluation, PerUnit

#: Id of the summary line over all topics, as in trec_eval.
ALL_TOPICS_ID = "all"


def trec_lines(evaluation: Evaluation, per_unit: PerUnit, system: str) -> str:
    """Return lines of ``measure``, ``topic`` and ``value``, tab-separated, of one system.

    There is a line for every topic, and then for ``all``. Values have full precision, and are
    ``nan`` if undefined.
    """
    values_by_measure = per_unit.values[system]
    lines = [
        f"{measure}\t{escape_unprintable(unit)}\t{float(values[index])!r}"
        for index, unit in enumerate(per_unit.ids)
        for measure, values in values_by_measure.items()
    ]
    lines += [
        f"{measure}\t{ALL_TOPICS_ID}\t{evaluation.exact(system, measure).value!r}"
        for measure in values_by_measure
    ]
    return "\n".join(lines) + "\n"


def trec_files(evaluation: Evaluation, per_unit: PerUnit) -> dict[str, str]:
    """Return the lines of each system by file name."""
    files: dict[str, str] = {}
    for system in evaluation.systems:
        name = (
            re.sub(r'[\x00-\x1f/\\:*?"<>|]+', "_", escape_unprintable(system)).strip(". ") or "run"
        )
        while f"{name}.eval".lower() in map(str.lower, files):
            name += "_"
        files[f"{name}.eval"] = trec_lines(evaluation, per_unit, system)
    return files


def unit_blocks(evaluation: Evaluation, per_unit: PerUnit) -> Iterator[Block]:
    """Yield the blocks of a table by topic.

    It has a row per topic and one of all topics, and a column per measure.
    """
    systems = evaluation.systems
    names = unique_labels(systems)
    ids = [shorten_name(name) for name in per_unit.ids]
    rows = {
        per_unit.unit.removesuffix("s"): [name for name in (*ids, ALL_TOPICS_ID) for _ in systems]
    }
    if len(systems) > 1:
        rows["system"] = [names[system] for _ in (*ids, ALL_TOPICS_ID) for system in systems]
    keys = [Column(name, KEY, cells) for name, cells in rows.items()]
    columns = [
        Column(shorten_name(measure), NUMBER, _measure_cells(evaluation, per_unit, measure))
        for measure in evaluation.measures
        if measure in per_unit.values[systems[0]]
    ]
    yield Heading(report_heading(evaluation), 1)
    yield Table(drop_empty_columns([*keys, *columns]), is_wrapped=True)
    yield Notes(list(map(mark_literal, evaluation.notes)))


def _measure_cells(evaluation: Evaluation, per_unit: PerUnit, measure: str) -> list[str]:
    """Return the cells of one measure on every unit and on all units, for each system in turn."""
    systems = evaluation.systems
    values = [
        float(per_unit.values[system][measure][index])
        for index in range(len(per_unit.ids))
        for system in systems
    ]
    values += [evaluation.exact(system, measure).value for system in systems]
    digits = numbers.rounding((value, NAN, NAN) for value in values)
    return [digits(value) for value in values]
