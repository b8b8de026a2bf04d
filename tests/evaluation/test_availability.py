"""The table of options, tasks and engines: what says yes is tried, and all else says why."""

from __future__ import annotations

import inspect
import runpy
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import parquet

import calipers as cal
from calipers.cli.group import cli
from calipers.evaluation.availability import (
    ENGINE_REASONS,
    ENGINES,
    OUTPUT_REASONS,
    ROW_REASONS,
    TABLE_OPTIONS,
    TASK_REASONS,
    get_availability,
    unavailable_reason,
)
from calipers.evaluation.conventions import CONVENTIONS
from calipers.evaluation.tasks import JUDGE, TASKS
from calipers.evaluation.tasks import OPTIONS as DECLARED

ROOT = Path(__file__).resolve().parents[2]
RANDOM = np.random.default_rng(3)
ROWS = 240
#: Errors that last for some rows, and clusters of rows that err alike.
LASTING = np.repeat(RANDOM.normal(size=ROWS // 8), 8)
TRUTH = np.arange(ROWS) // 8 % 2
GROUP = np.arange(ROWS) % 30
NUMBER = RANDOM.normal(size=ROWS)
SITE = np.where(GROUP // 3 % 2, "x", "y")
SYSTEMS = {"a": 0.4, "b": 0.8, "c": 1.2}


def noisy(values: Any, size: float) -> Any:
    return values + size * (LASTING + RANDOM.normal(size=ROWS))


def probable(size: float) -> Any:
    return 1 / (1 + np.exp(-noisy(2.0 * TRUTH - 1, 2 * size)))


COLUMNS: dict[str, Any] = {
    "row": np.array([f"r{row}" for row in range(ROWS)]),
    "half": (SITE == "x").astype(float),
    "twice": np.where(SITE == "x", 2, 1),
    "user": np.arange(ROWS) // 8,
    "team": GROUP // 3,
    "day": np.arange(ROWS),
    "site": SITE,
    "age": GROUP / 29,
    "ms": RANDOM.random(ROWS),
    "truth": TRUTH,
    "number": NUMBER,
    "group": GROUP,
    "grade": np.where(GROUP == 3, 0, TRUTH),  # a group without a relevant row
    "treated": np.arange(ROWS) // 40 % 2,
    "kind": np.arange(ROWS) % 3,
    "duration": np.exp(-NUMBER).round(2),
    "died": np.arange(ROWS) % 4 < 3,
    **{f"p{name}": probable(size) for name, size in SYSTEMS.items()},
    **{f"n{name}": noisy(NUMBER, size) for name, size in SYSTEMS.items()},
    **{
        f"k{name}": np.where(RANDOM.random(ROWS) < size / 2, 0, np.arange(ROWS) % 3)
        for name, size in SYSTEMS.items()
    },
    "l_u": TRUTH,
    "l_v": np.arange(ROWS) % 3 == 0,
    **{
        f"l{name}_{label}": np.where(noisy(np.zeros(ROWS), 1) > 1.5 / size, 0, of)
        for name, size in SYSTEMS.items()
        for label, of in (("u", TRUTH), ("v", np.arange(ROWS) % 3 == 0))
    },
    **{
        f"rater{rater}": np.where(
            RANDOM.random(ROWS) < (LASTING + 0.3 * rater > 0.8) * 0.8, 1 - TRUTH, TRUTH
        )
        for rater in range(6)
    },
}
WHOLE = np.ones(ROWS, int)
#: How a task is asked, by the names of columns.
ASKED: dict[str, dict[str, Any]] = {
    "classification": {
        "truth": "truth",
        "probability": {name: f"p{name}" for name in SYSTEMS},
        "measures": ["accuracy", "AUC"],
    },
    "multilabel": {
        "truth": "l_*",
        "predicted": {name: f"l{name}_*" for name in SYSTEMS},
        "measures": ["macro-F1", "Hamming-loss"],
    },
    "regression": {
        "truth": "number",
        "predicted": {name: f"n{name}" for name in SYSTEMS},
        "measures": ["MAE", "RMSE"],
    },
    "ranking": {
        "group": "group",
        "truth": "grade",
        "score": {name: f"p{name}" for name in SYSTEMS},
        "measures": ["AP", "P@1"],
    },
    "clustering": {
        "features": None,
        "truth": "kind",
        "labels": {name: f"k{name}" for name in SYSTEMS},
        "measures": ["ARI", "purity"],
    },
    "agreement": {
        "raters": {n: [f"rater{2 * k}", f"rater{2 * k + 1}"] for k, n in enumerate(SYSTEMS)},
        "measures": ["Krippendorff-alpha", "percent-agreement"],
    },
    "scores": {
        "score": {name: f"n{name}" for name in SYSTEMS},
        "measures": ["mean-score", "pass-rate@0.5"],
    },
    "survival": {
        "time": "duration",
        "event": "died",
        "risk": {name: f"n{name}" for name in SYSTEMS},
        "measures": ["C-index", "Uno-C"],
    },
    "uplift": {
        "treatment": "treated",
        "outcome": "truth",
        "score": {name: f"p{name}" for name in SYSTEMS},
        "measures": ["AUUC", "Qini-area"],
    },
    "retrieval": {"measures": ["AP", "P@1"]},
}


def verb(task: str) -> Callable[..., Any]:
    module, name = TASKS[task].verb.split(":")
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found


def table(times: Any = WHOLE) -> pa.Table:
    """The rows, each so many times; of a group that is there again, in a group of another name."""
    rows = np.repeat(np.arange(ROWS), times)
    columns = {name: values[rows] for name, values in COLUMNS.items()}
    again = np.concatenate([np.arange(n) for n in times])
    return pa.table({**columns, "group": columns["group"] + 100 * again})


#: So that an evaluation takes no longer than it has to.
QUICK: dict[str, Any] = {"curves": False, "n_resamples": 200}


def run(task: str, engine: str, *, times: Any = WHOLE, **changed: Any) -> Any:
    """The evaluation of the rows, each so many times."""
    how: dict[str, Any] = {"engine": engine} if engine != "memory" else {}
    usual = {name: of for name, of in QUICK.items() if name in TASKS[task].takes}
    how = {**usual, **ASKED[task], **how, **changed}
    if task == "retrieval":
        return verb(task)(*judged(times), **how)
    how.setdefault(TASKS[task].table, table(times))
    if (task, engine) == ("ranking", "stream"):
        how["data"] = how["data"].sort_by("group")
    return verb(task)(**how)


def judged(times: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Groups as topics; one counts as often as its rows do."""
    there = [(row, again) for row in range(ROWS) for again in range(times[row])]
    judgments: dict[str, Any] = {}
    runs: dict[str, Any] = {name: {} for name in SYSTEMS}
    for row, again in there:
        topic = str(COLUMNS["group"][row] + 100 * again)
        judgments.setdefault(topic, {})[f"d{row}"] = int(COLUMNS["grade"][row])
        for name, run in runs.items():
            run.setdefault(topic, {})[f"d{row}"] = float(COLUMNS[f"p{name}"][row])
    return judgments, runs


def topics(task: str, **columns: Any) -> dict[str, Any]:
    """What is known of topics."""
    if task != "retrieval":
        return columns
    first = np.arange(30)
    known = {n: COLUMNS[n][first] for n in ("half", "twice", "team", "site", "age", "ms")}
    known |= {"hour": HOURS[:30]} if HOURS else {}
    return {"topic_table": {"topic": COLUMNS["group"][first].astype(str), **known}, **columns}


#: When groups were asked, which those of near values follow each other in.
HOURS: list[int] = []


def values(evaluation: Any) -> list[float]:
    return [e.value for e in evaluation.estimates]


def same(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(values(found), values(expected), rtol=1e-9)


def lengths(evaluation: Any) -> Any:
    return np.array([e.high - e.low for e in evaluation.estimates])


#: Rows of one site, and what is missing in a row.
X = (SITE == "x").astype(int)


def weight(task: str, engine: str, base: Any) -> None:
    same(run(task, engine, **topics(task, weight="half")), run(task, engine, times=X))


def count(task: str, engine: str, base: Any) -> None:
    found = run(task, engine, **topics(task, count="twice"))
    expected = run(task, engine, times=X + 1)
    same(found, expected)
    assert np.nanmax(lengths(found)) == pytest.approx(np.nanmax(lengths(expected)))


def cluster(task: str, engine: str, base: Any) -> None:
    of_groups = TASKS[task].unit in ("groups", "topics")
    found = run(task, engine, **topics(task, cluster="team" if of_groups else "user"))
    same(found, base)
    assert (lengths(found) != lengths(base)).any()


def time(task: str, engine: str, base: Any) -> None:
    how: dict[str, Any] = {"time": "day"}
    if TASKS[task].unit in ("groups", "topics"):
        values = base.per_unit.values["a"]["AP"]
        names = {
            name: hour for hour, name in enumerate(np.array(base.per_unit.ids)[np.argsort(values)])
        }
        HOURS[:] = [names[str(group)] for group in GROUP]
        how = topics(task, time="hour")
        if task == "ranking":
            how["data"] = table().append_column("hour", pa.array(HOURS))
    found = run(task, engine, **how)
    same(found, base)
    assert (lengths(found) > lengths(base)).any()


def slices(task: str, engine: str, base: Any) -> None:
    found, alone = run(task, engine, **topics(task, slices=["site"])), run(task, engine, times=X)
    of = [s.estimate.value for s in found.slices if s.slice == "x"]
    np.testing.assert_allclose(sorted(of), sorted(values(alone)), rtol=1e-9)


def slice_bins(task: str, engine: str, base: Any) -> None:
    how = topics(task, slices=["age"])
    assert len({s.slice for s in run(task, engine, **how).slices}) == 4
    assert len({s.slice for s in run(task, engine, **how, slice_bins={"age": [0.5]}).slices}) == 2


def cost(task: str, engine: str, base: Any) -> None:
    column = "age" if task == "ranking" else "ms"  # one for each group
    found = run(task, engine, **topics(task, cost={"ms": dict.fromkeys(SYSTEMS, column)}))
    told = {(c.system, c.measure): c.value for c in found.costs}
    rows = slice(30 if task == "retrieval" else None)
    of_a = [value for (system, _), value in told.items() if system == "a"]
    assert any(value == pytest.approx(COLUMNS[column][rows].mean()) for value in of_a)


def data(task: str, engine: str, base: Any) -> None:
    def columns(of: Any) -> Any:
        if isinstance(of, dict):
            return {name: columns(one) for name, one in of.items()}
        if isinstance(of, str) and of.endswith("*"):
            start = of[:-1]
            return {n[len(start) :]: COLUMNS[n] for n in COLUMNS if n.startswith(start)}
        return COLUMNS.get(of, of) if isinstance(of, str) else of

    if task == "agreement":  # whose columns are the table, by whichever name that is given
        same(base, verb(task)(table(), **ASKED[task]))
        return
    same(base, verb(task)(**{k: columns(v) for k, v in ASKED[task].items()}))


def id(task: str, engine: str, base: Any) -> None:  # noqa: A001
    of, names = system_columns(task)
    stands = {
        name: pa.table(
            {"row": COLUMNS["row"][::-1]} | {behind: COLUMNS[c][::-1] for behind, c in cs.items()}
        )
        for name, cs in names.items()
    }
    same(run(task, engine, **{of: stands}, id="row"), base)


def system_columns(task: str) -> tuple[str, dict[str, dict[str, str]]]:
    of = next(c.role for c in TASKS[task].per_system if c.role in ASKED[task])
    return of, {
        name: {n[3:]: n for n in COLUMNS if n.startswith(text[:-1])}
        if text.endswith("*")
        else {of: text}
        for name, text in ASKED[task][of].items()
    }


def missing(task: str, engine: str, base: Any) -> None:
    """A row without a value in one column is refused, or left out."""
    _, names = system_columns(task)
    name = next(iter(names["a"].values()))
    column = COLUMNS[name].astype(float).tolist()
    column[7] = None
    whole = table()
    place = whole.column_names.index(name)
    given = {TASKS[task].table: whole.set_column(place, name, pa.array(column))}
    with pytest.raises(cal.InputError, match=r"missing|no value|7"):
        run(task, engine, **given)
    there = WHOLE.copy()
    there[7] = 0
    same(run(task, engine, **given, missing="drop"), run(task, engine, times=there))


def measures(task: str, engine: str, base: Any) -> None:
    second = ASKED[task]["measures"][1:]
    assert {e.measure for e in run(task, engine, measures=second).estimates} == {
        e.measure for e in base.estimates[1::2]
    }


def undefined(task: str, engine: str, base: Any) -> None:
    if task in ("ranking", "retrieval"):
        found = run(task, engine, undefined="zero")
        assert values(found)[0] == pytest.approx(values(base)[0] * 29 / 30)
        return
    how: dict[str, Any] = (
        {"measures": ["precision"], "threshold": 1.0}
        if task == "classification"
        else {"measures": ["macro-precision"], "labels": ["u", "v", "z"]}
    )
    if task == "multilabel":
        how["truth"] = {"u": "l_u", "v": "l_v", "z": "none"}
        how["predicted"] = {"a": {"u": "la_u", "v": "la_v", "z": "none"}}
        how["data"] = table().append_column("none", pa.array(np.zeros(ROWS, int)))
    zero, one = (values(run(task, engine, **how, undefined=to))[0] for to in ("zero", "one"))
    assert one - zero == pytest.approx(1.0 if task == "classification" else 1 / 3)


def conventions(task: str, engine: str, base: Any) -> None:
    """They set options of the task, name the measures as the tool does, and are stated."""
    tool = {"retrieval": "trec_eval", "ranking": "ydf"}.get(task, "sklearn")
    name = {"retrieval": "map", "ranking": "MAP"}.get(task, ASKED[task]["measures"][1])
    found = run(task, engine, conventions=tool, measures=[name])
    assert found.provenance["conventions"]["tool"].startswith(CONVENTIONS[tool].tool)
    assert found.notes[0].startswith("Conventions of")
    if task in ("ranking", "retrieval"):  # the one without a relevant row counts with 0
        assert values(found)[0] == pytest.approx(values(base)[0] * 29 / 30)
        assert found.requested_names["AP"] == name
    else:
        assert values(found)[0] == pytest.approx(values(base)[1])


def baseline(task: str, engine: str, base: Any) -> None:
    assert {d.baseline for d in run(task, engine, baseline="b").comparison} == {"b"}


def primary(task: str, engine: str, base: Any) -> None:
    second = base.estimates[1].measure
    assert run(task, engine, primary=second).comparison.primary == second != base.comparison.primary


def compare(task: str, engine: str, base: Any) -> None:
    assert base.comparison is not None
    alone = run(task, engine, compare=False)
    assert alone.comparison is None
    found = [[(d.value, d.low, d.p) for d in of] for of in (alone.compare(), base.comparison)]
    np.testing.assert_array_equal(*found)
    assert values(alone) == pytest.approx(values(base), nan_ok=True)
    for option in ({"baseline": "a"}, {"primary": base.estimates[0].measure}):
        with pytest.raises(cal.InputError, match=rf"{next(iter(option))}= .* compare=False"):
            run(task, engine, compare=False, **option)


def curves(task: str, engine: str, base: Any) -> None:
    how: dict[str, Any] = {}
    if task == "clustering":
        how = {"features": ["na", "nb"], "measures": ["silhouette"]}
    if task == "survival":
        how = {"survival": {name: {1.0: f"p{name}"} for name in SYSTEMS}, "measures": ["C-index"]}
    assert len(run(task, engine, **how, curves=True).curves)
    assert not len(run(task, engine, **how, curves=False).curves)


def interval(task: str, engine: str, base: Any) -> None:
    assert np.isfinite(lengths(base)).any()
    assert np.isnan(lengths(run(task, engine, interval="none"))).all()


def level(task: str, engine: str, base: Any) -> None:
    there = np.isfinite(lengths(base))
    assert (lengths(run(task, engine, level=0.5))[there] < lengths(base)[there]).all()


def n_resamples(task: str, engine: str, base: Any) -> None:
    with pytest.raises(cal.InputError, match="n_resamples"):
        run(task, engine, n_resamples=3)
    drawn(task, engine, {"n_resamples": 200}, {"n_resamples": 300})


def seed(task: str, engine: str, base: Any) -> None:
    for outside in (-1, 2**63):
        with pytest.raises(cal.InputError, match="seed"):
            run(task, engine, seed=outside)
    run(task, engine, seed=2**63 - 1)
    drawn(task, engine, {"n_resamples": 200, "seed": 1}, {"n_resamples": 200, "seed": 2})


def drawn(task: str, engine: str, one: dict[str, Any], other: dict[str, Any]) -> None:
    """Draws that differ, where any are made: of a stream of classes those of a table of scores."""
    how: dict[str, Any] = {"interval": "bootstrap"} if engine == "memory" else {"measures": ["KS"]}
    if task == "agreement" and "seed" not in one:
        return  # its intervals are known without drawing; only a comparison draws, as it will
    if engine == "memory" or task == "classification":
        found = [run(task, engine, **how, **draws) for draws in (one, other)]
        limits = [[x.low for x in (*of.estimates, *of.comparison)] for of in found]
        assert limits[0] != limits[1]


def memory(task: str, engine: str, base: Any) -> None:
    """What may be taken decides whether a file is streamed, and is read by the stream."""
    if engine == "stream":
        with pytest.raises(cal.InputError, match="memory"):
            run(task, engine, memory="much")
        return
    if task == "clustering":  # whose stream says no word, but samples no points
        how = {"data": FILE[0], "features": ["na"], "sample": 50, "measures": ["silhouette"]}
        with pytest.raises(cal.InputError, match="sample= takes all rows in memory"):
            run(task, engine, **how, memory=1)
        assert run(task, engine, **how, memory="1GB").estimates
        return
    if task == "uplift":  # which takes all rows whatever reads them
        with pytest.raises(cal.InputError, match="uplift take all rows in memory"):
            run(task, engine, data=FILE[0], memory=1)
        assert run(task, engine, data=FILE[0], memory="1GB").estimates
        return
    small, large = (run(task, engine, data=FILE[0], memory=of) for of in (1, "1GB"))
    assert any("read in batches" in note for note in small.notes)
    assert not any("read in batches" in note for note in large.notes)
    same(small, large)


def human(task: str, engine: str, base: Any) -> None:
    """Labels of all that say what the judge says."""
    if task == "clustering":  # a few points have a biased purity
        how = {"measures": ["ARI", "pair-F1"]}
        same(run(task, engine, human="kind", **how), run(task, engine, **how))
        return
    labels = judged(WHOLE)[0] if task == "retrieval" else ASKED[task].get("truth")
    same(run(task, engine, human=labels or ASKED[task]["score"]), base)


def human_weight(task: str, engine: str, base: Any) -> None:
    """Labels of all that say what the judge says, half of which stand for two rows each."""
    labels = ASKED[task].get("truth") or ASKED[task]["score"]
    found = run(task, engine, human=labels, human_weight="twice")
    np.testing.assert_allclose(values(found), values(run(task, engine, times=X + 1)), rtol=1e-9)


FILE: list[Path] = []


@pytest.fixture(scope="module", autouse=True)
def _file(tmp_path_factory: pytest.TempPathFactory) -> None:
    FILE[:] = [tmp_path_factory.mktemp("options") / "rows.parquet"]
    parquet.write_table(table(), FILE[0])


BASES: dict[tuple[str, str], Any] = {}
CELLS = [
    pytest.param(task, option, engine, id=f"{task}-{option}-{engine}")
    for task in TASKS
    for option in TABLE_OPTIONS
    for engine in ("memory", "stream")
    if get_availability(TASKS[task], option, engine).text == "yes"
]


@pytest.mark.slow
@pytest.mark.parametrize(("task", "option", "engine"), CELLS)
def test_what_the_table_says_is_true(task: str, option: str, engine: str) -> None:
    base = BASES.setdefault((task, engine), None) or run(task, engine)
    BASES[task, engine] = base
    globals()[option](task, engine, base)


@pytest.mark.parametrize("task", TASKS)
def test_a_verb_takes_what_is_declared(task: str) -> None:
    declared = TASKS[task]
    own = {argument.name for argument in declared.python_only}
    assert set(inspect.signature(verb(task)).parameters) == {*declared.takes, *own}


@pytest.mark.parametrize("task", TASKS)
def test_defaults_are_those_of_the_verb(task: str) -> None:
    """So that the help says what holds where nothing is said."""
    shared = [DECLARED[name] for name in TASKS[task].options if name in DECLARED]
    taken = inspect.signature(verb(task)).parameters
    told = {a.name: a.choices[0] if a.choices else a.default for a in shared}
    told |= {
        a.name: a.choices[0] if a.choices else a.default
        for a in TASKS[task].arguments
        if a.kind != "switch" and not a.is_repeatable and a.name != "max_unretrieved"
    }
    assert told == {name: taken[name].default for name in told}


def has_own_meaning(task: str, option: str) -> bool:
    """Whether it is another column there, as the time of an event is."""
    column = TASKS[task].column(option)
    return column is not None and column.required


@pytest.mark.parametrize("task", TASKS)
def test_every_option_of_the_table_is_taken_or_refused(task: str) -> None:
    for option in TABLE_OPTIONS:
        taken = option in TASKS[task].takes and not has_own_meaning(task, option)
        assert taken == (get_availability(TASKS[task], option).text == "yes"), option
        assert (unavailable_reason(task, option) is None) == (option in TASKS[task].takes)


@pytest.mark.parametrize(
    ("task", "option"),
    [
        (task, o)
        for task in TASKS
        for o in TABLE_OPTIONS
        if get_availability(TASKS[task], o).text != "yes" and not has_own_meaning(task, o)
    ],
)
def test_what_is_refused_says_why(task: str, option: str) -> None:
    found = get_availability(TASKS[task], option)
    why = f": {found.reason}" if found.reason else " yet"
    with pytest.raises(TypeError) as error:
        run(task, "memory", **{option: None})
    assert str(error.value) == f"{task}() has no {option}={why}"
    if option in ("data", "curves"):  # which no command has
        return
    flag = {"slices": "--slice"}.get(option, f"--{option}")
    files = ["q", "r"] if task == "retrieval" else ["t"]
    done = CliRunner().invoke(cli, [task, *files, flag, "x"])
    assert done.exit_code == 2
    assert f"{task} has no {flag}{why}" in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("task", "option"),
    [
        (task, option)
        for task in TASKS
        for option in TABLE_OPTIONS
        if option in TASKS[task].takes and "stream" in TASKS[task].engines
        if get_availability(TASKS[task], option, "stream").text == "no"
        if option != "human_weight"  # whose labels are refused
    ],
)
def test_what_takes_all_rows_says_why(task: str, option: str) -> None:
    if option == "curves":  # of which there are none, though they are not refused
        base = run(task, "stream", features=["na", "nb"], measures=["simplified-silhouette"])
        assert not len(base.curves)
        return
    given = {"id": "row", "time": "day", "human": "half"}[option]
    with pytest.raises(cal.InputError, match="takes all rows in memory") as error:
        run(task, "stream", **{option: given})
    assert ROW_REASONS[option] in str(error.value)


#: Training series of each kind of site, and how forecasts are asked for by arguments of regression
#: alone, with what each of them is compared with.
PAST = {site: 0.3 * RANDOM.normal(size=40).cumsum() for site in "xy"}
FORECASTS: dict[str, dict[str, Any]] = {
    "training": {"training": PAST, "series": "site", "measures": ["MASE", "RMSSE"]},
    "series": {"training": PAST, "series": "site", "measures": ["MASE"], "cluster": "user"},
    "ensemble": {"predicted": None, "ensemble": {"a": "n*"}, "measures": ["CRPS", "RMSE"]},
    "quantiles": {
        "predicted": None,
        "quantiles": {"a": {0.2: "nb", 0.5: "na", 0.8: "nc"}},
        "measures": ["WIS", "MAE"],
    },
}


def by_hand(option: str) -> list[float]:
    """The measures of the first system, written out."""
    residual = COLUMNS["na"] - NUMBER
    if option in ("training", "series"):
        steps = {site: np.diff(past) for site, past in PAST.items()}
        mean, square = (
            np.array([size(steps[site]) for site in SITE])
            for size in (lambda d: np.abs(d).mean(), lambda d: np.square(d).mean())
        )
        return [np.mean(np.abs(residual) / mean), np.sqrt(np.mean(residual**2 / square))]
    if option == "ensemble":
        members = np.column_stack([COLUMNS[n] for n in ("number", "na", "nb", "nc")])
        apart = np.abs(members[:, :, None] - members[:, None]).mean(axis=(1, 2))
        error = np.abs(members - NUMBER[:, None]).mean(axis=1)
        mean = members.mean(axis=1) - NUMBER
        return [np.mean(error - apart / 2), np.sqrt(np.mean(mean**2))]
    losses = [
        np.abs(residual) / 2,
        *(
            np.where(COLUMNS[n] < NUMBER, level, 1 - level) * np.abs(NUMBER - COLUMNS[n])
            for level, n in ((0.2, "nb"), (0.8, "nc"))
        ),
    ]
    return [2 * np.mean(losses), np.mean(np.abs(residual))]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["memory", "stream", "dask"])
@pytest.mark.parametrize("option", FORECASTS)
def test_forecasts_work_with_every_engine(option: str, engine: str) -> None:
    """With the values by hand, and the intervals of all rows in memory."""
    how = {**FORECASTS[option], "interval": "analytic"}
    if engine == "dask":
        frames = pytest.importorskip("dask.dataframe")
        how["data"] = frames.from_pandas(table().to_pandas(), npartitions=3)
    found, base = run("regression", engine, **how), run("regression", "memory", **how)
    expected = by_hand(option)[: len(how["measures"])]
    np.testing.assert_allclose(values(found)[: len(expected)], expected, rtol=1e-9)
    same(found, base)
    np.testing.assert_allclose(lengths(found), lengths(base), rtol=1e-6)


@pytest.mark.parametrize("engine", ["memory", "stream"])
@pytest.mark.parametrize("option", OUTPUT_REASONS)
def test_what_is_of_one_output_says_why(option: str, engine: str) -> None:
    how = {**FORECASTS[option], "truth": ["number", "age"]}
    if option == "training":
        how["predicted"] = {"a": ["na", "nb"]}
    with pytest.raises(cal.InputError, match="of one output; the truth has several") as error:
        run("regression", engine, **how)
    assert OUTPUT_REASONS[option] in str(error.value)


def test_batches_that_would_cut_through_groups_are_refused() -> None:
    with pytest.raises(cal.InputError, match="cut through the documents of a topic"):
        run("retrieval", "stream")
    with pytest.raises(cal.InputError, match="group 0 begins in row 0 and occurs again in row 30"):
        verb("ranking")(**ASKED["ranking"], data=table(), engine="stream")


def test_the_lists_name_what_there_is() -> None:
    """A reason for what is taken after all, or of no option, is a mistake."""
    tasks = {**TASKS, JUDGE.name: JUDGE}
    for task, option in TASK_REASONS:
        assert option in (*TABLE_OPTIONS, "engine")
        assert option not in tasks[task].takes or has_own_meaning(task, option)
    for name, task in tasks.items():
        reasoned = {option for of, option in TASK_REASONS if of == name}
        assert set(TABLE_OPTIONS) - task.takes - reasoned == set()
    for name, task in TASKS.items():
        assert set(ENGINES) - set(task.engines) == {e for of, e in ENGINE_REASONS if of == name}


def test_the_page_is_as_declared() -> None:
    made = runpy.run_path(str(ROOT / "tools" / "options_page.py"))["page"]()
    assert (ROOT / "docs" / "options.md").read_text("utf-8") == made
