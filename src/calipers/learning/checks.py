"""What is wrong with how rows were divided: copies, groups and times on both sides, features that
give the answer away, and parts that are not alike.

Each check speaks only where what it found changes the numbers or cannot be chance; it says how many
rows, shows some, and gives the score with and without them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from calipers.data.arrays import as_array, same_length
from calipers.data.classes import coded
from calipers.data.errors import InputError, shown
from calipers.evaluate.arguments import verb
from calipers.findings.words import Valued
from calipers.learning.columns import Columns
from calipers.learning.fitting import Fit, Job, Material, Places, fit_all
from calipers.learning.parts import Split, split
from calipers.learning.scoring import Scoring, usual
from calipers.results import Finding

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
class SplitCheck:
    """What was looked for in a split (``checked``), what could not be (``notes``), and what was
    found, the gravest first."""

    checked: tuple[str, ...]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()
    examples: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "checked": list(self.checked),
            "findings": [one.to_dict() for one in self.findings],
            "examples": {kind: [_plain(e) for e in of] for kind, of in self.examples.items()},
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        looked = f"Looked for {', '.join(self.checked)}."
        found = [f"{one.severity}: {one.sentence}" for one in self.findings]
        return "\n".join([*(found or ["Nothing was found."]), looked, *self.notes])

    __repr__ = __str__


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


@dataclass(frozen=True, eq=False)
class _Asked:
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
class _Found:
    sentence: str
    severity: str
    numbers: Mapping[str, float | Valued]
    examples: tuple[Any, ...]


@verb
def check_split(
    parts: Any,
    X: Any,
    y: Any = None,
    *,
    group: Any = None,
    time: Any = None,
    estimator: Any = None,
    task: str | None = None,
    seed: int = 0,
) -> SplitCheck:
    """Look for what makes a test score too good, or the test rows unlike those trained on.

    Looked for are copies of test rows among those trained on, groups and times on both sides, a
    feature that gives the answer away, a feature that numbers the rows, and parts that differ. What
    is found comes with the number of rows, examples, and the score with and without them.

    Parameters
    ----------
    parts
        What :func:`calipers.split` made; or a pair of the places of rows trained and tested on; or
        a column that says "train", "validation" or "test" of each row.
    X, y
        Features (a table, or an array of rows and columns) and what is to be predicted; without
        ``y`` nothing is scored, and what needs scores is left out.
    group, time
        What the rows come from, and when; a row's place on either side is checked against them.
    estimator
        The model whose scores are told: by default a random forest of scikit-learn, of more than
        10,000 rows gradient-boosted trees.
    task
        ``"classification"`` or ``"regression"``, where the target does not tell: text, and whole
        numbers of at most 20 values, are classes.
    seed
        Decides the fits.

    Returns
    -------
    SplitCheck
        True where something was found. ``findings`` are in order of gravity, and ``examples`` hold
        rows (or groups, or columns) of each kind.

    Raises
    ------
    InputError
        For anything wrong with the input, and for fits that fail.

    Notes
    -----
    Scores are accuracy for classes and RMSE for numbers, with the intervals of
    :func:`calipers.classification` and :func:`calipers.regression`. Rules and limits: of copies,
    only exact ones are found; of features that give the answer away, only those that do so alone.

    Examples
    --------
    >>> import numpy as np, calipers as cal
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 4))
    >>> y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    >>> bool(cal.check_split(cal.split(300), X, y))
    False
    >>> given_away = np.column_stack([X, 2 * y - 1])
    >>> [f.kind for f in cal.check_split(cal.split(300), given_away, y).findings]
    ['gives-away']
    """
    columns = Columns.of(X)
    made = _parts(parts, columns.rows)
    known = {
        name: None if given is None else as_array(given, name)
        for name, given in {"y": y, "group": group, "time": time}.items()
    }
    for name, given in known.items():
        if given is not None:
            same_length(given, columns.rows, name, "X has")
    scoring = None if y is None else Scoring.of(columns, known["y"], X, estimator, task, seed)
    asked = _Asked(columns, made, scoring, known["y"], known["group"], known["time"], seed)
    looks: dict[str, Callable[[_Asked], Iterator[_Found]]] = {"copies": _copies}
    if group is not None:
        looks["shared-groups"] = _shared_groups
    if time is not None:
        looks["time-order"] = _time_order
    if scoring is not None:
        looks |= {"gives-away": _gives_away, "row-numbers": _row_numbers}
    looks["shift"] = _shift
    found = [(kind, one) for kind, look in looks.items() for one in look(asked)]
    found.sort(key=lambda pair: ("warning", "caution", "information").index(pair[1].severity))
    notes = [] if scoring is not None else ["Without y= nothing was scored."]
    return SplitCheck(
        tuple(looks),
        tuple(_finding(kind, one) for kind, one in found),
        tuple(notes),
        {kind: one.examples for kind, one in found},
    )


def _parts(given: Any, rows: int) -> Split:
    """The split, whose places are within the rows and in one part each."""
    if isinstance(given, Split):
        made = given
    elif isinstance(given, tuple | list) and len(given) == 2 and not isinstance(given[0], str):
        train, test = (np.asarray(one) for one in given)
        if any((one.dtype.kind not in "iu" and len(one)) or one.ndim != 1 for one in (train, test)):
            raise InputError("parts: expected the places of rows trained and tested on")
        made = Split(train.astype(np.intp), np.zeros(0, np.intp), test.astype(np.intp), "as given")
    else:
        codes = coded(given, "parts")
        same_length(codes.codes, rows, "parts", "X has")
        names = [str(name) for name in codes.names]
        strange = set(names) - {"train", "validation", "test"}
        if strange:
            expected = "expected 'train', 'validation' or 'test'"
            raise InputError(f"parts: holds {shown(min(strange))}, {expected}")
        places = {name: np.flatnonzero(codes.codes == k) for k, name in enumerate(names)}
        none = np.zeros(0, np.intp)
        train, validation, test = (
            places.get(name, none) for name in ("train", "validation", "test")
        )
        made = Split(train, validation, test, "as given")
    for name, of in (("train", made.train), ("test", made.test)):
        if not len(of):
            raise InputError(f"parts: no row to {name} on")
    together = np.concatenate([made.train, made.validation, made.test])
    if together.min() < 0 or together.max() >= rows:
        raise InputError(f"parts: hold places outside of the {rows} rows of X")
    times = np.bincount(together)
    if times.max() > 1:
        raise InputError(f"parts: row {int(times.argmax())} stands in them more than once")
    return made


def _finding(kind: str, one: _Found) -> Finding:
    valued = {n: v for n, v in one.numbers.items() if isinstance(v, Valued)}
    return Finding(
        kind=kind,
        sentence=one.sentence,
        rule=CHECKS[kind],
        severity=one.severity,
        numbers={n: float(v.value if isinstance(v, Valued) else v) for n, v in one.numbers.items()},
        intervals={n: (v.low, v.high) for n, v in valued.items() if not math.isnan(v.low)},
    )


def _listed(values: Any) -> str:
    """Some of what was found."""
    first = [str(_plain(value)) for value in values[:_SHOWN]]
    more = ", …" if len(values) > _SHOWN else ""
    return ", ".join(first) + more


# ------------------------------------------------------------------------------ rows on both sides


def _copies(a: _Asked) -> Iterator[_Found]:
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
        sentence += f" {a.scoring.name} is {with_}, and {without} without them."
    yield _Found(sentence, "warning", numbers, tuple(where[:_SHOWN].tolist()))


def _shared_groups(a: _Asked) -> Iterator[_Found]:
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
        sentence += f" {a.scoring.name} is {here}, and {there} on a split that keeps groups whole."
    yield _Found(sentence, "warning", numbers, tuple(names[:_SHOWN]))


def _time_order(a: _Asked) -> Iterator[_Found]:
    """Rows trained on that come after the first tested; the score of a split as large in time."""
    _, moment = np.unique(a.time, return_inverse=True)
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
        sentence += f" {a.scoring.name} is {here}, and {there} when the latest rows are tested."
    yield _Found(sentence, "warning", numbers, tuple(late[:_SHOWN].tolist()))


# -------------------------------------------------------------------------------------- features


def _gives_away(a: _Asked) -> Iterator[_Found]:
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
        yield _Found(
            f"{name} gives the answer away: alone it leaves less than 1% of the error of the best "
            f"constant, in all {len(a.test):,} test rows. {score} is {here}, and {there} without "
            "it. Is it known when a prediction is made?",
            "warning",
            {f"{score} with": here, f"{score} without": there},
            (name,),
        )


def _row_numbers(a: _Asked) -> Iterator[_Found]:
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
        yield _Found(
            f"{name} numbers the {a.columns.rows:,} rows, and yet predicts the target: their order "
            f"says something that new rows will not have. {score} is {here}{alone}.",
            "warning",
            {f"{score} with": here, **({} if there is None else {f"{score} without": there})},
            (name,),
        )


# ----------------------------------------------------------------------------------- unlike parts


def _shift(a: _Asked) -> Iterator[_Found]:
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
            f" {a.scoring.name} is {here}, and {there} on rows like those trained on (held out of "
            "them)."
        )
    yield _Found(sentence, "caution", numbers, tuple(names[k] for k in differ[:_SHOWN]))


def _one_a_group(rows: Places, group: Any) -> Places:
    """Rows of a group are alike, so that one of each is compared: the first."""
    if group is None:
        return rows
    _, first = np.unique(coded(group, "group").codes[rows], return_index=True)
    return rows[np.sort(first)]


def _told_apart(a: _Asked, train: Places, test: Places) -> Valued | None:
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
