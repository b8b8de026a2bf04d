"""Sequential evaluation: the published job, all sequences, and one design against another."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import calipers as cal
from calipers.data.request_log import Request, read_requests
from calipers.evaluate.monitor import MonitorSession
from calipers.results import MonitorResult

JOB = Path(__file__).parents[3] / "shared/research/judges_prototype/job5.csv"


def log_e(result: MonitorResult) -> float:
    return math.log(result.last.e_value)


def random_scores(n: int, *rates: float, seed: int = 1) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    return [(random.random(n) < rate) * 1 for rate in rates]


# ----------------------------------------------------------------------------------- the fifth job


@pytest.mark.skipif(not JOB.exists(), reason="the data of the specification are not here")
def test_the_fifth_job_gives_the_numbers_of_the_specification() -> None:
    result = cal.monitor(data=JOB, pairs=True, every=50, prior=10, interval="asymptotic")
    last = result.last
    assert (result.decided_at, last.n, last.wins, last.losses, last.ties) == (692, 692, 87, 51, 554)
    assert f"{last.e_value:.1f}" == "20.6"
    assert f"{last.p:.3f}" == "0.048"
    assert [f"{x:.3f}" for x in (last.value, last.low, last.high)] == ["0.052", "0.000", "0.104"]
    assert f"{result.fixed_half_width:.3f}" == "0.033"
    assert result.fixed_decided_at == 100
    for words in (
        "Stop at request 692: new scores higher than old (E = 20.6, anytime-valid p = 0.0485).",
        "new - old 0.052 [0.000, 0.104]",
        "new won 87, lost 51, tied 554",
        "±0.033",
        "would have stopped at request 100",
    ):
        assert words in result.sentence
    betting = cal.monitor(data=JOB, pairs=True, prior=10)
    assert betting.decided_at == 692
    assert f"{betting.last.e_value:.1f}" == "22.6"
    assert f"{betting.last.p:.3f}" == "0.044"


@pytest.mark.skipif(not JOB.exists(), reason="the data of the specification are not here")
def test_the_fifth_job_by_default() -> None:
    result = cal.monitor(data=JOB, pairs=True)
    assert (result.decided_at, result.last.wins, result.last.losses) == (696, 88, 51)
    assert result.method == "confidence sequence by betting"
    assert 0 < result.last.low < 0.001


# ---------------------------------------------------------------------------------- all sequences


def ended(session: MonitorSession, rows: list[tuple[Any, ...]]) -> float:
    """The e-value after some requests."""
    for _ in session.update([Request("", row) for row in rows]):
        pass
    return float(np.exp(session._log_e))


@pytest.mark.slow
@pytest.mark.parametrize("allocation", [0.5, 0.3])
@pytest.mark.parametrize("rate", [0.1, 0.6])
def test_split_traffic_has_an_expected_capital_of_one(allocation: float, rate: float) -> None:
    """Without a difference, over all allocations and scores of five requests."""
    total = 0.0
    kinds = list(itertools.product((0, 1), ("old", "new")))
    for rows in itertools.product(kinds, repeat=5):
        chance = math.prod(
            (rate if score else 1 - rate) * (allocation if arm == "new" else 1 - allocation)
            for score, arm in rows
        )
        session = MonitorSession(
            columns=("score", "system"), is_split=True, baseline="old", allocation=allocation,
            stop=False,
        )  # fmt: skip
        total += chance * ended(session, list(rows))
    assert total == pytest.approx(1, abs=1e-9)


def test_pairs_of_different_drifting_rates_have_an_expected_capital_of_one() -> None:
    rates = (0.1, 0.4, 0.02, 0.3)
    total = 0.0
    for outcomes in itertools.product((1, 0, -1), repeat=len(rates)):
        chance = math.prod(p if x else 1 - 2 * p for p, x in zip(rates, outcomes, strict=True))
        total += chance * ended(MonitorSession(pairs=True), [(x,) for x in outcomes])
    assert total == pytest.approx(1, abs=1e-12)


# ---------------------------------------------------------------------------------------- designs


def test_two_columns_are_pairs_of_outcomes() -> None:
    old, new = random_scores(400, 0.6, 0.63)
    columns = cal.monitor({"old": old, "new": new}, every=100, stop=False)
    outcomes = cal.monitor(new - old, pairs=True, every=100, stop=False)
    assert columns.looks == outcomes.looks
    assert columns.last.value == pytest.approx(new.mean() - old.mean())
    assert [(x.system, x.n, x.mean) for x in columns.systems] == [
        ("old", 400, old.mean()), ("new", 400, new.mean()),
    ]  # fmt: skip
    reverse = cal.monitor({"old": old, "new": new}, baseline="new", stop=False)
    assert reverse.system == "old"
    assert reverse.last.value == pytest.approx(-columns.last.value)
    assert reverse.last.low == pytest.approx(-columns.last.high)
    assert log_e(reverse) == pytest.approx(log_e(columns))


def test_grades_are_scaled_by_their_bounds() -> None:
    grades = np.random.default_rng(2).integers(1, 6, 200)
    result = cal.monitor(grades, bounds=(1, 5), target=2.5, stop=False)
    scaled = cal.monitor((grades - 1) / 4, target=1.5 / 4, stop=False)
    assert result.last.low == pytest.approx(1 + 4 * scaled.last.low)
    assert result.last.high == pytest.approx(1 + 4 * scaled.last.high)
    assert log_e(result) == pytest.approx(log_e(scaled))


def test_the_test_and_the_interval_agree_where_it_stops() -> None:
    for seed in range(5):
        (scores,) = random_scores(3000, 0.9, seed=seed)
        result = cal.monitor(scores, target=0.8)
        assert result.decided_at == result.last.n
        assert result.stopped
        assert result.last.low > 0.8
        before = cal.monitor(scores[: result.last.n - 1], target=0.8)
        assert before.decided_at is None
        assert before.last.low <= 0.8 <= before.last.high
        assert result.last.e_value >= 20 > before.last.e_value
        assert result.last.p == pytest.approx(1 / result.last.e_value)


def excludes(result: MonitorResult) -> bool:
    return not result.last.low <= result.target <= result.last.high


def worlds(n: int, seed: int, effect: float) -> dict[str, tuple[Any, dict[str, Any]]]:
    """Scores of n requests in each design, with its options."""
    random = np.random.default_rng(seed)
    passes, others = ((random.random(n) < p) * 1.0 for p in (0.5 + effect, 0.5))
    grades = np.r_[0.25, passes[1:]]
    arm = random.choice(["a", "b"], n)
    return {
        "0/1": (passes, {"target": 0.5}),
        "graded": (grades, {"target": 0.5}),
        "narrow": (0.4 + 0.2 * random.beta(5, 5, n) + effect / 4, {"target": 0.5}),
        "bounds": (1 + np.round(4 * grades + random.random(n) / 2) % 5, {"target": 2.8, "bounds": (1, 5)}),
        "paired": ({"old": others, "new": passes}, {}),
        "paired grades": ({"old": others, "new": grades}, {}),
        "outcomes": (passes - others, {"pairs": True, "target": effect / 2}),
        "split": (np.where(arm == "b", passes, others), {"system": arm, "baseline": "a"}),
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("interval", ["betting", "asymptotic"])
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_the_hypothesis_is_rejected_where_the_interval_excludes_it(
    interval: str, alternative: str
) -> None:
    n_excluded = 0
    for seed in range(6):
        sign = -1 if alternative == "less" else 1
        for scores, options in worlds(600, seed, 0.06 * sign).values():
            options |= {"interval": interval, "alternative": alternative}
            result = cal.monitor(scores, stop=False, every=150, **options)
            for look in result:
                is_outside = not (math.isnan(look.low) or look.low <= result.target <= look.high)
                assert is_outside == (look.e_value >= 20)
                assert not is_outside or look.p <= 0.05
                n_excluded += is_outside
            stopped = cal.monitor(scores, **options)
            assert stopped.stopped == (stopped.decided_at is not None) == excludes(stopped)
            assert stopped.decided_at == result.decided_at
    assert n_excluded > 20


@pytest.mark.slow
def test_the_test_and_the_interval_agree_after_many_requests() -> None:
    """One partial credit among 400,000 passes and failures changes nothing that matters."""
    n = 400_000
    scores = np.zeros(n)
    scores[: round(n * 0.5037)] = 1
    np.random.default_rng(5).shuffle(scores)
    binary = cal.monitor(scores, target=0.5, stop=False)
    scores[0] = 0.25
    graded = cal.monitor(scores, target=0.5, stop=False)
    assert log_e(graded) == pytest.approx(log_e(binary), abs=0.02)
    assert excludes(graded)
    assert graded.last.e_value >= 20
    assert graded.decided_at == pytest.approx(binary.decided_at, rel=1e-3)


def test_an_asymptotic_interval_has_an_asymptotic_test() -> None:
    random = np.random.default_rng(277)
    scores = (random.random(1000) < 0.55) * 1.0
    options: dict[str, Any] = {"target": 0.5, "stop": False}
    result = cal.monitor(scores, interval="asymptotic", **options)
    # The e-value is that of the interval: a mixture over a normal distribution.
    size = 1000 * 0.162646**2
    t = (scores.mean() - 0.5) / scores.std(ddof=1) * math.sqrt(1000)
    expected = t**2 / 2 * size / (size + 1) - math.log(size + 1) / 2
    assert log_e(result) == pytest.approx(expected, rel=1e-5)
    assert excludes(result)
    assert result.decided_at is not None
    assert "Interval and test are asymptotic" in result.notes[0]
    betting = cal.monitor(scores, **options)
    assert not excludes(betting)
    assert betting.decided_at is None


def test_an_asymptotic_test_needs_events() -> None:
    scores = np.ones(1000)
    scores[::25] = 0  # the 30th failure is that of request 726
    result = cal.monitor(scores, target=0.5, interval="asymptotic")
    assert result.decided_at == result.last.n == 726
    assert result.interval_reason is None
    few = cal.monitor(scores[:725], target=0.5, interval="asymptotic")
    assert few.decided_at is None
    assert math.isnan(few.last.e_value)
    assert few.interval_reason == "too_few_for_asymptotics"


def test_without_a_target_one_system_has_no_test() -> None:
    (scores,) = random_scores(300, 0.7)
    result = cal.monitor(scores)
    assert math.isnan(result.target)
    assert math.isnan(result.last.e_value)
    assert math.isnan(result.last.p)
    assert result.decided_at is None
    assert result.last.low < scores.mean() < result.last.high
    tested = cal.monitor(scores, target=0.7, stop=False)
    assert (tested.last.low, tested.last.high) == (result.last.low, result.last.high)


def test_it_reads_on_where_it_does_not_stop() -> None:
    outcomes = [1] * 12 + [0] * 50 + [-1] * 12
    stopped = cal.monitor(outcomes, pairs=True)
    result = cal.monitor(outcomes, pairs=True, stop=False)
    assert stopped.last.n == result.decided_at == 9
    assert result.last.n == len(outcomes)
    assert result.last.e_value < 1
    assert result.last.p < 0.05  # at the largest e-value
    assert "may have changed since" in result.notes[0]
    assert "Decided at request 9: the hypothesis was rejected" in result.sentence
    reversed_ = cal.monitor([*outcomes, *[-1] * 99], pairs=True, stop=False)
    assert "Decided at request 9: new scores lower than old" in reversed_.sentence


def test_a_difference_may_have_a_target() -> None:
    outcomes = random_scores(600, 0.2)[0] - random_scores(600, 0.2, seed=9)[0]
    result = cal.monitor(outcomes, pairs=True, target=-0.2)
    assert result.decided_at is not None
    assert result.last.low > -0.2
    assert "new - old is above -0.2" in result.sentence


def test_split_traffic() -> None:
    random = np.random.default_rng(4)
    is_new = random.random(4000) < 0.25
    scores = (random.random(4000) < np.where(is_new, 0.9, 0.8)) * 1
    arm = np.where(is_new, "new", "old")
    result = cal.monitor(scores, system=arm, baseline="old", allocation=0.25, stop=False)
    assert result.design == "split"
    assert [x.mean for x in result.systems] == [scores[~is_new].mean(), scores[is_new].mean()]
    difference = scores[is_new].mean() - scores[~is_new].mean()
    assert result.last.value == pytest.approx(difference, abs=0.005)
    assert result.last.low < 0.1 < result.last.high
    assert result.decided_at is not None
    assert result.notes == ()
    wrong = cal.monitor(scores, system=arm, baseline="old", stop=False)
    assert wrong.notes[0].startswith("Sample ratio mismatch: ")


def test_scores_without_bounds() -> None:
    x = np.random.default_rng(6).normal(0.3, 2, 2000)
    result = cal.monitor(x, bounds=None, target=0.0)
    assert result.method == "asymptotic confidence sequence"
    assert result.decided_at is not None
    assert result.decided_at >= 300
    assert result.last.low > 0
    assert "heavy tails" in result.notes[0]
    early = cal.monitor(x[:299], bounds=None, target=0.0)
    assert early.interval_reason == "too_few_for_asymptotics"
    assert math.isnan(early.last.e_value)
    assert early.last.p == 1
    assert "no e-value yet" in early.sentence
    sd = x[: result.last.n].std(ddof=1)
    half = (result.last.high - result.last.low) / 2
    from calipers.inference.confidence_sequences import asymptotic_half_width

    assert half == pytest.approx(asymptotic_half_width(sd, result.last.n, 0.95))


def test_differences_without_bounds() -> None:
    random = np.random.default_rng(11)
    old, new = random.normal(10, 3, 1500), random.normal(11, 3, 1500)
    pairs = cal.monitor({"old": old, "new": new}, bounds=None, stop=False)
    difference = new - old
    assert pairs.last.value == pytest.approx(difference.mean())
    assert pairs.last.wins == (difference > 0).sum()
    assert pairs.last.low > 0
    is_new = random.random(1500) < 0.5
    split = cal.monitor(
        np.where(is_new, new, old), system=np.where(is_new, "b", "a"), baseline="a", bounds=None,
        stop=False,
    )  # fmt: skip
    assert split.last.value == pytest.approx(new[is_new].mean() - old[~is_new].mean(), abs=0.05)
    # As precise as a comparison of two means: s² of both over the numbers of requests.
    se = math.sqrt(new[is_new].var() / is_new.sum() + old[~is_new].var() / (~is_new).sum())
    assert split.fixed_half_width == pytest.approx(1.96 * se, rel=0.05)


def test_bounded_scores_have_an_asymptotic_interval_with_enough_events() -> None:
    few = cal.monitor([1] * 980 + [0] * 20, interval="asymptotic")
    enough = cal.monitor([1] * 960 + [0] * 40, interval="asymptotic")
    assert few.interval_reason == "too_few_for_asymptotics"
    assert enough.interval_reason is None


@pytest.mark.parametrize("design", ["one", "pairs", "split"])
def test_requests_may_come_one_by_one(design: str) -> None:
    random = np.random.default_rng(8)
    rows: list[tuple[Any, ...]] = [(float(x),) for x in random.random(150).round(2)]
    options: dict[str, Any] = {"target": 0.45}
    if design == "pairs":
        rows, options = [(int(x),) for x in random.integers(-1, 2, 150)], {"pairs": True}
    elif design == "split":
        rows = [(*row, arm) for row, arm in zip(rows, random.choice(["a", "b"], 150), strict=True)]
        options = {"is_split": True, "baseline": "a", "columns": ("score", "system")}
    requests = [Request(f"row {i}", row) for i, row in enumerate(rows)]
    whole, single = (MonitorSession(every=40, stop=False, **options) for _ in range(2))
    looks = list(whole.update(requests))
    assert [look.n for look in looks] == [40, 80, 120]
    single_looks = [look for request in requests for look in single.update([request])]
    for one, other in zip(single_looks, looks, strict=True):
        assert (one.low, one.high) == pytest.approx((other.low, other.high))
        assert one.e_value == pytest.approx(other.e_value)
    assert single.result().last.value == pytest.approx(whole.result().last.value)


# ------------------------------------------------------------------------------------------- input


def test_the_same_log_in_every_form(tmp_path: Path) -> None:
    (scores,) = random_scores(120, 0.7)
    expected = cal.monitor(scores, target=0.5, stop=False).last
    frame = pd.DataFrame({"id": range(120), "score": scores})
    frame.to_csv(tmp_path / "log.csv", index=False)
    frame.to_csv(tmp_path / "log.tsv", index=False, sep="\t")
    frame.to_csv(tmp_path / "log.csv.gz", index=False)
    frame.to_parquet(tmp_path / "log.parquet")
    frame.to_json(tmp_path / "log.jsonl", orient="records", lines=True)
    words = "\n".join("pass" if x else "fail" for x in scores)
    (tmp_path / "words.txt").write_text(words)
    (tmp_path / "numbers.txt").write_text("\n".join(map(str, scores)) + "\n\n")
    for name in ("log.csv", "log.tsv", "log.csv.gz", "log.parquet", "log.jsonl"):
        for column in ("score", None):
            last = cal.monitor(column, data=tmp_path / name, target=0.5, stop=False).last
            assert last == expected, name
    for name in ("words.txt", "numbers.txt"):
        assert cal.monitor(data=tmp_path / name, target=0.5, stop=False).last == expected
    rows = (json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines())
    assert cal.monitor("score", data=rows, target=0.5, stop=False).last == expected
    for data in (frame, {"score": scores.tolist()}, scores.tolist()):
        assert cal.monitor(data=data, target=0.5, stop=False).last == expected


def test_it_reads_no_further_than_it_has_to() -> None:
    read = []

    def requests() -> Any:
        for index in itertools.count():
            read.append(index)
            yield {"outcome": "won"}

    result = cal.monitor(data=requests(), pairs=True)
    assert result.last.n == len(read) == 9


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (
            '{"score": 1}\n{"score": 2}\n',
            {},
            "log.jsonl:2: the score is 2, expected 0 to 1; bounds=",
        ),
        ('{"score": 1}\n{"score": "ok"}\n', {}, "log.jsonl:2: 'ok' is not a score; expected a num"),
        (
            '{"score": 1}\n\n{"score": \n',
            {},
            "log.jsonl:3: expected a JSON object: Expecting value",
        ),
        ('{"score": 1}\n[1]\n', {}, "log.jsonl:2: expected a JSON object, found [1]"),
        (
            '{"score": 1}\n{"store": 1}\n',
            {},
            "log.jsonl:2: no column 'score'; did you mean 'store'?",
        ),
        (
            '{"score": 1, "score": 1}\n',
            {},
            "log.jsonl:1: expected a JSON object: the key 'score' ap",
        ),
        ('{"score": 1}\n{"score": null}\n', {}, "log.jsonl:2: a value is missing; missing='drop'"),
        (
            '{"a": 1, "b": 1}\n',
            {},
            "log.jsonl:1: name the column of the scores; there are 'a', 'b'",
        ),
        (
            "won\nlost\nwinner\n",
            {"pairs": True},
            "log.jsonl:3: 'winner' is not a score; expected won,",
        ),
        (
            "1\n0.5\n",
            {"pairs": True},
            "log.jsonl:2: the outcome is '0.5', expected won, lost or tied",
        ),
        (
            "score,arm\n1,a\n1\n",
            {"score": "score"},
            "log.jsonl:3: has 1 fields, expected 2: score, arm",
        ),
        ('score\n"1\n', {"score": "score"}, "log.jsonl:2: is not a line of CSV"),
        ("score,score\n1,1\n", {"score": "score"}, "log.jsonl:1: column 'score' appears more than"),
        ("1\nnan\n", {}, "log.jsonl:2: 'nan' is not a score"),
        (
            "score,arm\n1,a\n1,b\n1,c\n",
            {"score": "score", "system": "arm", "baseline": "a"},
            "log.jsonl:4: the system is 'c', expected 'a', the baseline, or 'b'",
        ),
        (
            "score,arm\n1,a\n1,a\n",
            {"score": "score", "system": "arm", "baseline": "a"},
            "system: all 2 requests went to 'a'",
        ),
    ],
)
def test_a_broken_line_is_an_error_with_its_number(
    text: str, options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(text)
    with pytest.raises(cal.InputError) as caught:
        cal.monitor(data=path, **options)
    assert message in str(caught.value)


def test_missing_scores_are_dropped_and_counted() -> None:
    scores = [1, None, 0, 1, float("nan"), 1]
    with pytest.raises(cal.InputError, match="data: row 1: a value is missing"):
        cal.monitor(scores)
    result = cal.monitor(scores, missing="drop")
    assert (result.last.n, result.n_missing, result.last.value) == (4, 2, 0.75)
    assert "2 requests with a missing value" in result.notes[0]


def test_numbers_that_may_be_meant_otherwise_are_noted() -> None:
    assert "No request was lost" in cal.monitor([1, 0, 0, 1], pairs=True).notes[0]
    assert cal.monitor(["won", "tied"], pairs=True).notes == ()


@pytest.mark.parametrize(
    ("scores", "options", "message"),
    [
        ([1, 0], {"target": 1}, "target is 1, expected a value strictly between 0 and 1"),
        ([1, 0], {"bounds": (1, 0)}, "bounds are 1 and 0, expected the smaller one first"),
        (
            [1, 0],
            {"bounds": None, "interval": "betting"},
            "interval is 'betting', which needs bounds",
        ),
        ([1, 0], {"interval": "beting"}, "did you mean 'betting'?"),
        ([1, 0], {"prior": 0.5}, "prior is 0.5, expected a number from 1 to 1000"),
        ([1, 0], {"level": 1}, "level is 1, expected a proportion"),
        ([1, 0], {"every": 0}, "every is 0, expected 1 or more"),
        ([1, 0], {"baseline": "old"}, "baseline: there is one system only"),
        ([1, 0], {"allocation": 0.2}, "allocation is of split traffic"),
        ([1, 0], {"missing": "omit"}, "missing is 'omit'"),
        ({"a": [1], "b": [0]}, {"baseline": "c"}, "baseline is 'c', which is not a system"),
        ({"a": [1], "b": [0, 1]}, {}, "the columns differ in length: a has 1 and b has 2"),
        ({"a": [1], "b": [0], "c": [0]}, {}, "score has 3 columns, expected one or two"),
        ({"a": [1], "b": [0]}, {"pairs": True}, "pairs: expected one column of outcomes"),
        ([1], {"system": ["a"]}, "baseline: name the system"),
        ([1, 0], {"alternative": "better"}, "alternative is 'better', expected one of two-sided"),
        ([1, 0], {"bounds": None, "drift": True}, "drift: only of scores with bounds"),
        ({"a": [1], "cluster": [0]}, {"cluster": [1]}, "score: 'cluster' is the name of a system"),
        ([1, 0], {"cluster": ["u", None]}, "data: row 1: a value is missing"),
        ("passed", {}, "score is 'passed', the name of a column; give data="),
        (None, {}, "score: expected the scores of requests"),
        ([], {}, "score: is empty"),
    ],
)
def test_arguments_are_checked(scores: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(cal.InputError) as caught:
        cal.monitor(scores, **options)
    assert message in str(caught.value)


# ------------------------------------------------------------------------ one side, clusters, drift


def test_one_side_has_one_limit_and_rejects_earlier() -> None:
    old, new = random_scores(1500, 0.6, 0.68, seed=4)
    both = cal.monitor({"old": old, "new": new})
    greater = cal.monitor({"old": old, "new": new}, alternative="greater", every=100)
    assert both.decided_at is not None
    assert greater.decided_at is not None
    assert greater.decided_at < both.decided_at
    assert greater.last.low > 0
    assert greater.last.high == 1
    assert greater.method == "confidence sequence by betting, one-sided"
    assert "new scores higher than old" in greater.sentence
    assert "A limit for a fixed number of" in greater.sentence
    # Against the other side there is no evidence, whatever is seen.
    less = cal.monitor({"old": old, "new": new}, alternative="less")
    assert less.decided_at is None
    assert less.last.low == -1
    # The names of the systems exchanged, it is the other side.
    turned = cal.monitor({"old": old, "new": new}, baseline="new", alternative="less")
    assert turned.decided_at == greater.decided_at
    assert turned.last.high == pytest.approx(-greater.last.low, abs=1e-9)
    assert "old scores lower than new" in turned.sentence
    assert cal.from_json(greater.to_json()) == greater


@pytest.mark.parametrize("design", ["one system", "pairs", "split", "no bounds"])
def test_the_test_and_the_limit_of_one_side_agree_where_it_stops(design: str) -> None:
    random = np.random.default_rng(5)
    x, y = random_scores(2000, 0.7, 0.85, seed=6)
    arms = np.where(random.random(2000) < 0.5, "new", "old")
    scores, options = {
        "one system": (y, {"target": 0.8}),
        "pairs": (y - x, {"pairs": True}),
        "split": (np.where(arms == "new", y, x), {"system": arms, "baseline": "old"}),
        "no bounds": (random.normal(0.1, 1, 2000), {"target": 0.0, "bounds": None}),
    }[design]
    result = cal.monitor(scores, alternative="greater", **options)
    assert result.stopped
    assert result.last.low == pytest.approx(result.target, abs=0.02)
    assert result.last.low >= result.target
    page = result.to_html()
    assert "one-sided" in page


def test_the_first_request_of_each_cluster_counts(tmp_path: Path) -> None:
    random = np.random.default_rng(7)
    user = random.integers(0, 150, 400)
    scores = (random.random(400) < 0.8) * 1
    result = cal.monitor(scores, cluster=user, target=0.7, stop=False)
    first = np.sort(np.unique(user, return_index=True)[1])
    alone = cal.monitor(scores[first], target=0.7, stop=False)
    assert result.last == alone.last
    assert result.n_repeated == 400 - len(first)
    assert f"{400 - len(first)} requests were left out" in result.notes[0]
    # The same on split traffic, one by one, from a file.
    rows = [
        {"ok": int(ok), "arm": "ab"[u % 2], "user": f"u{u}"}
        for ok, u in zip(scores, user, strict=True)
    ]
    options = {"baseline": "a", "stop": False, "system": "arm"}
    split = cal.monitor("ok", data=rows, cluster="user", **options)
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    read = cal.monitor("ok", data=path, cluster="user", **options)
    plain = cal.monitor("ok", data=[rows[i] for i in first], **options)
    assert split.last == read.last == plain.last
    assert read.provenance["conventions"]["cluster"] == "user"


def test_a_change_of_the_value_is_found() -> None:
    before, _ = random_scores(900, 0.95, 0.5)
    after, _ = random_scores(700, 0.8, 0.5, seed=2)
    result = cal.monitor(np.r_[before, after] * 4 + 1, bounds=(1, 5), drift=True)
    drift = result.drift
    assert drift is not None
    assert drift.p < 0.001
    assert 700 < drift.n_before < 1100
    n = drift.n_before
    scores = np.r_[before, after] * 4 + 1
    assert drift.mean_before == pytest.approx(scores[:n].mean())
    assert drift.mean_after == pytest.approx(scores[n:].mean())
    assert "The value changed" in result.sentence
    same = cal.monitor(before, drift=True)
    assert same.drift is not None
    assert same.drift.p == 1
    assert "No change of the value was found" in same.sentence
    assert cal.from_json(result.to_json()).drift == drift
    assert cal.monitor(before).drift is None


def test_logs_are_read_in_blocks() -> None:
    blocks = list(read_requests([{"a": 1, "b": 2}, {"a": 3, "b": 4}], ["b"]))
    assert [r.values for block in blocks for r in block] == [(2,), (4,)]
    with pytest.raises(cal.InputError, match="expected a path, a data frame"):
        list(read_requests(3))


# ------------------------------------------------------------------------------------------ result


@pytest.mark.slow
def test_a_result_in_every_format(tmp_path: Path) -> None:
    old, new = random_scores(900, 0.6, 0.7)
    result = cal.monitor({"old": old, "new": new}, every=20)
    again = cal.from_json(result.to_json())
    assert again.to_json() == result.to_json()
    assert str(again) == str(result)
    assert len(result) == len(result.looks) > 2
    assert result[0].n == 20
    assert [look.n for look in result[:2]] == [20, 40]
    frame = result.to_frame()
    assert frame["n"].tolist() == [row["n"] for row in result.rows()]
    assert frame["n"].iloc[-1] == result.last.n
    assert result.to_csv().startswith("system,baseline,n,value,low,high,e_value,p,wins,losses,ties")
    assert "| requests | wins | losses |" in result.to_markdown()
    assert r"\toprule" in result.to_latex()
    page = result.to_html()
    assert "Sequential comparison on the same requests: new - old" in page
    assert "<svg" in page
    cell = result._repr_html_()
    assert "<svg" in cell
    assert "lost" in cell
    for kind in ("typst", "org"):
        assert "new - old" in result.to_format(kind)


@pytest.mark.parametrize("name", ["<b>&amp;", "a|b*_`c`", "\x1b[31m", "$x_1$ % {", "-"])
def test_names_may_be_anything(name: str) -> None:
    result = cal.monitor({"old": [1, 0, 1, 1], name: [0, 1, 1, 1]}, every=2)
    for kind in ("table", "markdown", "latex", "typst", "org", "html"):
        text = result.to_format(kind)
        assert "\x1b" not in text
        assert "<b>" not in text or kind not in ("markdown", "html")
    assert cal.from_json(result.to_json()).system == name


def test_a_result_that_contradicts_itself_is_refused() -> None:
    data = cal.monitor([1, 0, 1], every=1).to_dict()
    data["last"]["low"] = 2.0
    with pytest.raises(cal.InputError, match=r"last\.low: 2\.0 is above high"):
        cal.from_json(json.dumps(data))
    data = cal.monitor([1, 0, 1], every=1).to_dict()
    data["looks"][0]["n"] = 99
    with pytest.raises(cal.InputError, match="looks: expected numbers of requests in ascending"):
        cal.from_json(json.dumps(data))


def test_a_third_system_and_unknown_methods_are_refused() -> None:
    with pytest.raises(
        cal.InputError, match="row 1: the system is 'b', expected 'z', the baseline"
    ):
        cal.monitor([1, 0] * 4, system=["a", "b"] * 4, baseline="z")
    with pytest.raises(cal.InputError, match="interval is 'foo'; there are 'auto', 'betting'"):
        cal.monitor([1, 0] * 4, interval="foo")
