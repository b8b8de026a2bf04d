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

from calipers.data.arrays import as_array, same_length
from calipers.data.errors import InputError
from calipers.evaluate.arguments import verb
from calipers.findings.words import Valued
from calipers.learning import faults
from calipers.learning.columns import Columns
from calipers.learning.faults import CHECKS, Asked, Found, plain
from calipers.learning.fitting import check_there
from calipers.learning.parts import parts_of
from calipers.learning.scoring import Scoring
from calipers.results import Finding


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
            "examples": {kind: [plain(e) for e in of] for kind, of in self.examples.items()},
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        looked = f"Looked for {', '.join(self.checked)}."
        found = [f"{one.severity}: {one.sentence}" for one in self.findings]
        return "\n".join([*(found or ["Nothing was found."]), looked, *self.notes])

    __repr__ = __str__


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
        What :func:`calipers.split` made; or the places of rows trained and tested on, or of all
        three parts, in this order or by name; or a column that says "train", "validation" or "test"
        of each row.
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
    check_there("checking a split")
    columns = Columns.of(X)
    made = parts_of(parts, columns.rows, "parts", second="test")
    for name, of in (("train", made.train), ("test", made.test)):
        if not len(of):
            raise InputError(f"parts: no row to {name} on")
    known = {
        name: None if given is None else as_array(given, name)
        for name, given in {"y": y, "group": group, "time": time}.items()
    }
    for name, given in known.items():
        if given is not None:
            same_length(given, columns.rows, name, "X has")
    scoring = None if y is None else Scoring.of(columns, known["y"], X, estimator, task, seed)
    target = None if scoring is None else scoring.target
    asked = Asked(columns, made, scoring, target, known["group"], known["time"], seed)
    looks: dict[str, Callable[[Asked], Iterator[Found]]] = {"copies": faults.copies}
    if group is not None:
        looks["shared-groups"] = faults.shared_groups
    if time is not None:
        looks["time-order"] = faults.time_order
    if scoring is not None:
        looks |= {"gives-away": faults.gives_away, "row-numbers": faults.row_numbers}
    looks["shift"] = faults.shift
    found = [(kind, one) for kind, look in looks.items() for one in look(asked)]
    found.sort(key=lambda pair: ("warning", "caution", "information").index(pair[1].severity))
    notes = [] if scoring is not None else ["Without y= nothing was scored."]
    return SplitCheck(
        tuple(looks),
        tuple(_finding(kind, one) for kind, one in found),
        tuple(notes),
        {kind: one.examples for kind, one in found},
    )


def _finding(kind: str, one: Found) -> Finding:
    valued = {n: v for n, v in one.numbers.items() if isinstance(v, Valued)}
    return Finding(
        kind=kind,
        sentence=one.sentence,
        rule=CHECKS[kind],
        severity=one.severity,
        numbers={n: float(v.value if isinstance(v, Valued) else v) for n, v in one.numbers.items()},
        intervals={n: (v.low, v.high) for n, v in valued.items() if not math.isnan(v.low)},
    )
