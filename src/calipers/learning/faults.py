"""The faults of a split, one function each: what it finds, or nothing.

A check speaks only where what it found changes the numbers or cannot be chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from calipers.data.classes import coded
from calipers.findings.words import Valued
from calipers.learning.columns import Columns, moments
from calipers.learning.fitting import Fit, Job, Material, Places, fit_all
from calipers.learning.parts import Split, split
from calipers.learning.scoring import Scoring, usual

#: What is looked for, and when it is told.
CHECKS: Mapping[str, str] = {
    "copies": "2 or more test rows, and at least 1% of them, have the features and the target of a "
    "row trained on, in a table of which most rows are distinct",
    "shared-groups": "a group has rows in both parts",
    "time-order": "a row trained on is not earlier than the first row tested",
    "gives-away": "one feature alone leaves less than 1% of the error of the best constant, and "
    "without it the model leaves 10% more of it",
    "row-numbers": "the values of a feature number the rows, and it predicts better than the best "
    "constant (p < .001)",
    "shift": "a column differs between the parts (p < .001 after Holm), or a model tells their "
    "rows apart (its AUC is above .5 at level .999)",
}
#: Of test rows, so many have to be copies.
_COPIES, _SHARE = 2, 0.01
#: A feature that gives the answer away leaves so much of the error, and its absence so much more.
_LEFT, _LOST = 0.01, 0.1
#: What is called no chance.
_SURE = 0.001
#: So many examples are shown.
_SHOWN = 5


@dataclass(frozen=True, eq=False)
class Asked:
    """What the checks look at."""

    columns: Columns
    parts: Split
    scoring: Scoring | None
    target: Any
    group: Any
    time: Any
    seed: int

    @property
    def train(self) -> Places:
        """The rows that are trained on or chosen on: none of them is tested on."""
        return np.concatenate([self.parts.train, self.parts.validation])

    @property
    def test(self) -> Places:
        """The rows tested on."""
        return self.parts.test


@dataclass(frozen=True, eq=False)
class Found:
    """What a check found: as a sentence, in numbers, and some of it."""

    sentence: str
    severity: str
    numbers: Mapping[str, float | Valued]
    examples: tuple[Any, ...]


def _listed(values: Any) -> str:
    """Some of what was found."""
    first = [str(plain(value)) for value in values[:_SHOWN]]
    more = ", …" if len(values) > _SHOWN else ""
    return ", ".join(first) + more


def plain(value: Any) -> Any:
    """A value as Python has it."""
    return value.item() if isinstance(value, np.generic) else value


# ------------------------------------------------------------------------------ rows on both sides


def copies(a: Asked) -> Iterator[Found]:
    """Test rows that were trained on."""
    rows = a.columns.same_rows(a.target)
    # Where features have few values, rows are alike by chance and nobody copied them.
    if len(np.unique(rows[a.train])) < len(a.train) / 2:
        return
    copied = np.isin(rows[a.test], rows[a.train])
    count = int(copied.sum())
    if count < max(_COPIES, _SHARE * len(a.test)):
        return
    where = a.test[copied]
    sentence = (
        f"{count:,} of {len(a.test):,} test rows ({count / len(a.test):.1%}) are also among those "
        f"trained on, feature by feature{' and with their target' if a.target is not None else ''}"
        f" (rows {_listed(where)})."
    )
    numbers: dict[str, float | Valued] = {"copies": count}
    if a.scoring is not None and count < len(a.test):
        with_, without = a.scoring.on(a.train, a.test), a.scoring.on(a.train, a.test[~copied])
        numbers |= {f"{a.scoring.name} with": with_, f"{a.scoring.name} without": without}
        sentence += f" {a.scoring.called} is {with_}, and {without} without them."
    yield Found(sentence, "warning", numbers, tuple(where[:_SHOWN].tolist()))


def shared_groups(a: Asked) -> Iterator[Found]:
    """Groups in both parts; the score of a split as large that keeps them whole."""
    groups = coded(a.group, "group")
    shared = np.intersect1d(groups.codes[a.train], groups.codes[a.test])
    if not len(shared):
        return
    names = [groups.names[k] for k in shared]
    rows = int(np.isin(groups.codes[a.test], shared).sum())
    sentence = (
        f"{len(shared):,} of {len(groups.names):,} groups have rows in both parts "
        f"({_listed(names)}), {rows:,} of {len(a.test):,} test rows among them."
    )
    numbers: dict[str, float | Valued] = {"groups": len(shared), "rows": rows}
    if a.scoring is not None and len(groups.names) > 1:
        used = np.sort(np.concatenate([a.train, a.test]))
        whole = split(
            len(used),
            test=len(a.test) / len(used),
            group=groups.codes[used],
            stratify=a.target[used] if a.scoring.classes else None,
            seed=a.seed,
        )
        here = a.scoring.on(a.train, a.test)
        there = a.scoring.on(used[whole.train], used[whole.test])
        numbers |= {f"{a.scoring.name} with": here, f"{a.scoring.name} without": there}
        sentence += (
            f" {a.scoring.called} is {here}, and {there} on a split that keeps groups whole."
        )
    yield Found(sentence, "warning", numbers, tuple(names[:_SHOWN]))


def time_order(a: Asked) -> Iterator[Found]:
    """Rows trained on that come after the first tested; the score of a split as large in time."""
    moment = moments(a.time)
    late = a.train[moment[a.train] >= moment[a.test].min()]
    if not len(late):
        return
    sentence = (
        f"{len(late):,} of {len(a.train):,} rows trained on are not earlier than the first row "
        f"tested ({a.time[a.test[moment[a.test].argmin()]]}): rows {_listed(late)}."
    )
    numbers: dict[str, float | Valued] = {"rows": len(late)}
    if a.scoring is not None:
        used = np.sort(np.concatenate([a.train, a.test]))
        forward = split(len(used), test=len(a.test) / len(used), time=a.time[used])
        here = a.scoring.on(a.train, a.test)
        there = a.scoring.on(used[forward.train], used[forward.test])
        numbers |= {f"{a.scoring.name} with": here, f"{a.scoring.name} without": there}
        sentence += f" {a.scoring.called} is {here}, and {there} when the latest rows are tested."
    yield Found(sentence, "warning", numbers, tuple(late[:_SHOWN].tolist()))


# -------------------------------------------------------------------------------------- features


def gives_away(a: Asked) -> Iterator[Found]:
    """A feature that alone leaves nearly no error, where the others cannot."""
    assert a.scoring is not None
    for column in range(len(a.columns.names)):
        if a.scoring.alone(a.train, a.test, column) > _LEFT or len(a.columns.names) < 2:
            continue
        if a.scoring.left(a.train, a.test, without=column) < _LOST + max(
            _LEFT, a.scoring.left(a.train, a.test)
        ):
            continue
        here = a.scoring.on(a.train, a.test)
        there = a.scoring.on(a.train, a.test, without=column)
        name, score = a.columns.names[column], a.scoring.name
        yield Found(
            f"{name} gives the answer away: alone it leaves less than 1% of the error of the best "
            f"constant, in all {len(a.test):,} test rows. {a.scoring.called} is {here}, and "
            f"{there} without it. Is it known when a prediction is made?",
            "warning",
            {f"{score} with": here, f"{score} without": there},
            (name,),
        )


def row_numbers(a: Asked) -> Iterator[Found]:
    """A feature that numbers the rows, and yet predicts."""
    assert a.scoring is not None
    for column in a.columns.numberings():
        p = a.scoring.p_alone(a.train, a.test, column)
        if not p < _SURE:
            continue
        here = a.scoring.on(a.train, a.test)
        there = a.scoring.on(a.train, a.test, without=column) if len(a.columns.names) > 1 else None
        name, score = a.columns.names[column], a.scoring.name
        alone = f", and {there} without it" if there is not None else ""
        yield Found(
            f"{name} numbers the {a.columns.rows:,} rows, and yet predicts the target: their order "
            f"says something that new rows will not have. {a.scoring.called} is {here}{alone}.",
            "warning",
            {f"{score} with": here, **({} if there is None else {f"{score} without": there})},
            (name,),
        )


# ----------------------------------------------------------------------------------- unlike parts


def shift(a: Asked) -> Iterator[Found]:
    """Columns whose values are distributed otherwise where they are tested."""
    from calipers.inference.multiplicity import holm

    train, test = (_one_a_group(rows, a.group) for rows in (a.train, a.test))
    columns = list(a.columns.compared(train, test))
    names = list(a.columns.names)
    if a.target is not None:
        columns += list(Columns.of(np.asarray(a.target)[:, None]).compared(train, test))
        names.append("the target")
    p = holm(np.array([one.p for one in columns]))
    differ = [k for k in np.argsort(p, kind="stable") if p[k] < _SURE]
    apart = _told_apart(a, train, test)
    if not differ and not (apart is not None and apart.low > 0.5):
        return
    unit = "groups" if a.group is not None else "rows"
    told = ""
    numbers: dict[str, float | Valued] = {"columns": len(differ)}
    if apart is not None:
        numbers["AUC"] = apart
        told = f" A model tells the parts apart with an AUC of {apart}."
    listed = ", ".join(f"{names[k]} ({columns[k].said})" for k in differ[:_SHOWN])
    more = f" and {len(differ) - _SHOWN} more" if len(differ) > _SHOWN else ""
    which = f"differ in {listed}{more}" if differ else "differ in several columns at once"
    sentence = (
        f"The {len(test):,} {unit} tested and the {len(train):,} trained on {which}.{told} "
        "A score on them says how the model does on such rows as are tested."
    )
    if a.scoring is not None:
        here, there = a.scoring.on(a.train, a.test), a.scoring.within(a.train)
        numbers |= {f"{a.scoring.name} tested": here, f"{a.scoring.name} within": there}
        sentence += (
            f" {a.scoring.called} is {here}, and {there} on rows like those trained on (held "
            "out of them)."
        )
    yield Found(sentence, "caution", numbers, tuple(names[k] for k in differ[:_SHOWN]))


def _one_a_group(rows: Places, group: Any) -> Places:
    """Rows of a group are alike, so that one of each is compared: the first."""
    if group is None:
        return rows
    _, first = np.unique(coded(group, "group").codes[rows], return_index=True)
    return rows[np.sort(first)]


def _told_apart(a: Asked, train: Places, test: Places) -> Valued | None:
    """How well a model tells rows of both parts apart, on rows that it did not see."""
    from calipers.evaluate.classification import classification

    if min(len(train), len(test)) < 40:
        return None
    rows = np.concatenate([train, test])
    tested = np.repeat([False, True], [len(train), len(test)])
    learned = split(len(rows), test=0.5, stratify=tested, seed=a.seed)
    model = usual(len(rows), a.seed, classes=True)
    job = Job(model, learned.train, (learned.test,), name="telling the parts apart")
    fit: Fit[Any] | None = fit_all([job], Material(a.columns.numbers[rows], tested), _odds).all[0]
    assert fit is not None
    (said,) = fit.said
    made = classification(
        tested[learned.test], score=said, positive=True, measures="AUC", level=1 - _SURE,
        curves=False,
    )  # fmt: skip
    return Valued.of(made["AUC"])


def _odds(model: Any, features: Any) -> Any:
    """How likely rows are of the class that comes second."""
    return model.predict_proba(features)[:, 1]
