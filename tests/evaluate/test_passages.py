"""Passages against highlighted text: sets of characters, and examples by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.cli.group import cli
from calipers.results import Evaluation, from_json

JUDGMENTS = [
    "1 Q0 a 100 900 50 50:100",
    "1 Q0 b 50 400 0 0:50",
    "1 Q0 c 0 300",
    "2 Q0 a 10 900 80 80:5 50:5",
    "3 Q0 a 0 900",
]
RUN = ["1 Q0 a 1 9 mine 100 100", "1 Q0 b 2 8 mine 0 50", "2 Q0 x 1 3 mine 0 3", "9 Q0 a 1 1 m 0 1"]


def values(ev: Evaluation, measure: str, system: str = "run") -> list[float]:
    assert ev.per_unit is not None
    return list(ev.per_unit.values[system][measure])


def test_by_hand() -> None:
    ev = cal.passages(JUDGMENTS, {"run": RUN}, recalls=[0, 0.3, 0.5, 0.9], cutoffs=[1, 2, 5])
    # After the first passage 50 of 100 characters are highlighted, after the second 100 of 150.
    for recall, value in ((0, 2 / 3), (0.3, 2 / 3), (0.5, 2 / 3), (0.9, 0.0)):
        assert values(ev, f"iP@{recall}")[:2] == pytest.approx([value, 0])
    assert values(ev, "AiP")[:2] == pytest.approx([67 / 101 * 2 / 3, 0])
    # Of article a half is retrieved, by half of the passage; of b everything.
    assert values(ev, "gP@1")[0] == pytest.approx(0.5)
    assert values(ev, "gP@2")[0] == pytest.approx(0.75)
    assert values(ev, "gP@5")[0] == pytest.approx(0.3)
    assert values(ev, "gR@1")[:2] == pytest.approx([0.5, 0])
    assert values(ev, "AgP")[0] == pytest.approx((0.5 + 0.75) / 2)
    # The entry points are off by 50 and by 0 characters.
    assert values(ev, "AgP-entry")[0] == pytest.approx((0.9 + (0.9 + 1) / 2) / 2)
    near = cal.passages(JUDGMENTS, {"run": RUN}, L=40)
    assert values(near, "AgP-entry(L=40)")[0] == pytest.approx((0 + 1 / 2) / 2)
    assert np.isnan(values(ev, "AgP")[2])
    assert dict(ev["run", "AgP"].undefined) == {"no_relevant": 1}


def random_case(random: np.random.Generator) -> tuple[list[str], list[str], Any, Any]:
    """Judgments and a run, as lines and as sets of characters."""
    judged: dict[tuple[int, str], set[int]] = {}
    retrieved: list[tuple[int, str, range]] = []
    judgments, run = [], []
    for topic in range(3):
        for article in "abcdef":
            if random.random() < 0.7:
                mask = np.repeat(random.random(8) < 0.4, 5)
                characters = set(np.flatnonzero(mask).tolist())
                judged[topic, article] = characters
                edges = np.flatnonzero(np.diff(np.r_[0, mask, 0]))
                parts = [f"{a}:{b - a}" for a, b in zip(edges[::2], edges[1::2], strict=True)]
                entry = [str(int(random.integers(0, 40)))] if parts else []
                judgments.append(
                    " ".join([f"{topic} Q0 {article} {len(characters)} 40", *entry, *parts])
                )
        places = [(article, start) for article in "abcdefg" for start in (0, 12, 25)]
        for rank, k in enumerate(random.permutation(len(places))[: random.integers(0, 15)], 1):
            article, start = places[k]
            length = int(random.integers(1, 12))
            retrieved.append((topic, article, range(start, start + length)))
            run.append(f"{topic} Q0 {article} {rank} {-rank} r {start} {length}")
    random.shuffle(run)
    return judgments, run, judged, retrieved


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("beta", [1.0, 0.25])
def test_sets_of_characters(seed: int, beta: float) -> None:
    judgments, run, judged, retrieved = random_case(np.random.default_rng(seed))
    ev = cal.passages(
        judgments, {"run": run}, recalls=[0.1, 0.5], cutoffs=[2], beta=beta, interval="none"
    )
    option = "" if beta == 1 else f"(beta={beta})"
    topics = sorted({topic for topic, _ in judged})
    for index, topic in enumerate(topics):
        highlighted = {a: c for (t, a), c in judged.items() if t == topic and c}
        total = sum(map(len, highlighted.values()))
        if not total:
            assert np.isnan(values(ev, "AiP")[index])
            continue
        read = hits = 0
        points = []
        articles: dict[str, set[int]] = {}
        for t, article, characters in retrieved:
            if t == topic:
                read += len(characters)
                hits += len(highlighted.get(article, set()) & set(characters))
                points.append((hits / total, hits / read))
                articles.setdefault(article, set()).update(characters)

        def at(recall: float, points: list[tuple[float, float]] = points) -> float:
            return max((p for r, p in points if r >= recall - 1e-12), default=0.0)

        assert values(ev, "iP@0.1")[index] == pytest.approx(at(0.1))
        assert values(ev, "iP@0.5")[index] == pytest.approx(at(0.5))
        assert values(ev, "AiP")[index] == pytest.approx(sum(at(x / 100) for x in range(101)) / 101)
        scores, relevant, average = [], [], 0.0
        for article, characters in articles.items():
            wanted = highlighted.get(article, set())
            shared = len(wanted & characters)
            precision = shared / len(characters)
            recall = shared / len(wanted) if wanted else 0.0
            total_weight = beta**2 * precision + recall
            scores.append(
                (1 + beta**2) * precision * recall / total_weight if total_weight else 0.0
            )
            relevant.append(bool(wanted))
            average += relevant[-1] * sum(scores) / len(scores)
        assert values(ev, f"AgP{option}")[index] == pytest.approx(average / len(highlighted))
        assert values(ev, f"gP{option}@2" if beta == 1 else f"gP(beta={beta})@2")[
            index
        ] == pytest.approx(sum(scores[:2]) / 2)
        assert values(ev, "gR@2")[index] == pytest.approx(sum(relevant[:2]) / len(highlighted))


def test_comparison_and_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    judgments, run, _, _ = random_case(np.random.default_rng(3))
    (tmp_path / "qrels").write_text("\n".join(judgments) + "\n")
    (tmp_path / "old.run").write_text("\n".join(run) + "\n")
    (tmp_path / "new.run").write_text("\n".join(run[::2]) + "\n\n")
    paths = [tmp_path / "old.run", tmp_path / "new.run"]
    ev = cal.passages(tmp_path / "qrels", paths, baseline="old", cutoffs=[3])
    difference = ev.comparison["AgP"]
    assert difference.value == pytest.approx(ev["new", "AgP"].value - ev["old", "AgP"].value)
    arguments = ["passages", str(tmp_path / "qrels"), *map(str, paths), "-k", "3"]
    cli([*arguments, "--baseline", "old", "--format", "json"], standalone_mode=False)
    printed = from_json(capsys.readouterr().out)
    assert isinstance(printed, Evaluation)
    assert [e.value for e in printed.estimates] == [e.value for e in ev.estimates]
    assert [entry["path"] for entry in printed.provenance["inputs"]] == [
        str(path) for path in (tmp_path / "qrels", *paths)
    ]


@pytest.mark.parametrize(
    ("judgments", "run", "message"),
    [
        ("1 Q0 a 3", "", r"qrels:1: has 4 fields, expected topic Q0 article characters length"),
        ("\n1 Q0 a x 9 0 0:3", "", r"qrels:2: characters is 'x', expected a whole number from 0"),
        ("1 Q0 a 4 9 0 0:3", "", r"qrels:1: 4 characters are highlighted, but 3 are in the pass"),
        ("1 Q0 a 3 9 0 0-3", "", r"qrels:1: offset is '0-3', expected a whole number"),
        ("1 Q0 a 0 9\n1 Q0 a 0 9", "", r"qrels:2: article 'a' of topic '1' is judged twice"),
        ("", "", r"judgments: there are no judgments"),
        ("1 Q0 a 0 9", "1 Q0 a 1 1 r 0", r"r\.run:1: has 7 fields, expected topic Q0 article rank"),
        ("1 Q0 a 0 9", "1 Q0 a 1 1 r 0 0", r"r\.run:1: length is '0', expected .* from 1 on"),
        ("1 Q0 a 0 9", "1 Q0 a -1 1 r 0 2", r"r\.run:1: rank is '-1', expected a whole number"),
        ("1 Q0 a 0 9", "1 Q0 a 1 1 r 0 2\n1 Q0 b 1 1 r 0 2", r"r\.run:2: rank 1 occurs twice"),
        ("1 Q0 a 0 9", "1 Q0 a 1 1 r 0 5\n1 Q0 a 2 1 r 4 2", r"r\.run:2: the passage overlaps"),
    ],
)
def test_errors_name_the_line(tmp_path: Path, judgments: str, run: str, message: str) -> None:
    (tmp_path / "qrels").write_text(judgments)
    (tmp_path / "r.run").write_text(run)
    with pytest.raises(cal.InputError, match=message):
        cal.passages(tmp_path / "qrels", tmp_path / "r.run")


def test_invalid_arguments() -> None:
    for options, message in (
        ({"recalls": [2]}, "recalls: is 2, expected numbers from 0 to 1"),
        ({"cutoffs": [0]}, "cutoffs: is 0, expected numbers from 1 on"),
        ({"beta": 0}, "beta is 0, expected a number above 0, below 1e"),
        ({"baseline": "rum"}, "baseline 'rum' is not a run; did you mean 'run'"),
        ({"runs": {}}, "runs: an empty dict"),
        ({"runs": {"run": 3}}, "run: is 3, expected a path, or rows of fields"),
        ({"runs": {"run": [3]}}, "run row 0: is 3, expected fields"),
    ):
        with pytest.raises(cal.InputError, match=message):
            cal.passages(**{"judgments": JUDGMENTS, "runs": {"run": RUN}, **options})
