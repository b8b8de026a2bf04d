"""Categories such as 01 and 1 are two in CSV, as in Parquet, in memory and in batches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import calipers as cal
from calipers.cli import cli
from calipers.data import batch_sources
from calipers.data.errors import InputError

pd = pytest.importorskip("pandas")

ROWS = 120
TEXT = ("group", "user", "y", "said", "kind", "site", "ann", "ben")


@pytest.fixture(scope="module")
def frame() -> Any:
    random = np.random.default_rng(7)

    def drawn(*names: str) -> Any:
        return np.array(names)[random.integers(0, len(names), ROWS)]

    truth = drawn("01", "1", "2")
    return pd.DataFrame(
        {
            "group": np.repeat(["01", "1", "2", "02", "003", "3"], ROWS // 6),
            "user": np.repeat([f"{i % 10:0{1 + i % 2}}" for i in range(20)], ROWS // 20),
            "y": truth,
            "said": np.where(random.random(ROWS) < 0.7, truth, drawn("01", "1", "2")),
            "kind": drawn("1", "2", "002"),
            "site": drawn("01234", "1234", "5"),
            "ann": drawn("1", "2"),
            "ben": drawn("01", "1", "2"),
            "grade": random.integers(0, 3, ROWS),
            "score": random.random(ROWS),
            "w": [f"{i % 3 + 1:02}" for i in range(ROWS)],  # numbers, however they are written
        }
    )


#: Calls by what is text in them.
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "groups": ("ranking", {"group": "group", "truth": "grade", "score": "score"}),
    "clusters": (
        "classification",
        {"truth": "y", "predicted": "said", "cluster": "user", "weight": "w"},
    ),
    "classes": ("classification", {"truth": "y", "predicted": "said", "count": "w"}),
    "slices": ("classification", {"truth": "y", "predicted": "said", "slices": ["site"]}),
    "slices of a regression": (
        "regression",
        {"truth": "w", "predicted": "score", "slices": ["site"], "cluster": "user"},
    ),
    "clusterings": ("clustering", {"features": None, "labels": "kind", "truth": "y"}),
    "raters": ("agreement", {"raters": ["ann", "ben"]}),
    "labels": ("multilabel", {"truth": "y", "predicted": "said", "separator": "|"}),
}


@pytest.fixture(scope="module")
def paths(frame: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("tables")
    paths = {name: str(folder / f"a.{name}") for name in ("csv", "tsv", "csv.gz", "parquet")}
    for name, path in paths.items():
        if name == "parquet":
            frame.assign(w=frame.w.astype(int)).to_parquet(path)
        else:
            frame.to_csv(path, index=False, sep="\t" if name == "tsv" else ",")
    return paths


def numbers(evaluation: cal.Evaluation) -> dict[str, Any]:
    """What an evaluation says of its estimates and slices."""
    result = json.loads(evaluation.to_json(details=True))
    return {
        key: json.loads(json.dumps(result[key]), parse_float=lambda x: round(float(x), 9))
        for key in ("systems", "slices", "confusions", "label_tables")
    }


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_files_are_as_parquet(paths: dict[str, str], call: str, engine: str) -> None:
    task, columns = CALLS[call]
    arguments = {**columns, "engine": engine, "n_resamples": 100}
    expected = numbers(getattr(cal, task)(**arguments, data=paths["parquet"]))
    for name in ("csv", "tsv", "csv.gz"):
        found = numbers(getattr(cal, task)(**arguments, data=paths[name]))
        assert found == expected, name


@pytest.mark.parametrize("call", CALLS)
def test_engines_agree(paths: dict[str, str], call: str) -> None:
    task, arguments = CALLS[call]
    values = [
        {
            e.measure: e.value
            for e in getattr(cal, task)(**arguments, data=paths["csv"], engine=engine)
        }
        for engine in ("memory", "stream")
    ]
    shared = values[0].keys() & values[1].keys()
    assert shared
    for name in shared:
        np.testing.assert_allclose(values[0][name], values[1][name], rtol=1e-9, err_msg=name)


OPTIONS: dict[str, tuple[str, ...]] = {
    "groups": ("ranking", "--group=group", "--truth=grade", "--score=score"),
    "clusters": (
        "classification", "--truth=y", "--predicted=said", "--cluster=user", "--weight=w",
    ),
    "slices": ("classification", "--truth=y", "--predicted=said", "--slice=site"),
    "clusterings": ("clustering", "--labels=kind", "--truth=y"),
    "raters": ("agreement", "--raters=ann,ben"),
    "labels": ("multilabel", "--truth=y", "--predicted=said", "--separator=|"),
}  # fmt: skip


def printed(arguments: list[str], stdin: bytes | None = None) -> Any:
    result = CliRunner().invoke(cli, [*arguments, "--format=json"], input=stdin)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)["systems"]


@pytest.mark.parametrize("call", OPTIONS)
@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_commands(paths: dict[str, str], call: str, engine: str) -> None:
    command, *options = OPTIONS[call]
    options += [f"--engine={engine}"]
    expected = printed([command, paths["parquet"], *options])
    assert printed([command, paths["csv"], *options]) == expected
    if call == "groups":
        assert printed([command, "-", *options], Path(paths["csv"]).read_bytes()) == expected


def test_ids_join_tables(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,y\n01,a\n1,b\n2,a\n")
    (tmp_path / "b.csv").write_text("id,said\n2,a\n1,b\n01,a\n")
    evaluation = cal.classification(
        "y", {"b": tmp_path / "b.csv"}, data=tmp_path / "a.csv", id="id", positive="a",
        measures=["accuracy"],
    )  # fmt: skip
    assert evaluation["accuracy"].value == 1


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_bins_need_numbers(paths: dict[str, str], engine: str) -> None:
    with pytest.raises(InputError, match="bins need"):
        cal.regression(
            "w", "score", data=paths["csv"], slices=["site"], slice_bins={"site": [9]},
            engine=engine,
        )  # fmt: skip


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_slices_of_numbers_may_have_any_decimals(tmp_path: Path, engine: str) -> None:
    rows = "".join(f"{i % 7},{i % 5},{i / 10:.2f}\n" for i in range(100))
    (tmp_path / "a.csv").write_text(f"y,p,age\n{rows}5,5,2.5\n")
    evaluation = cal.regression(
        "y", "p", data=tmp_path / "a.csv", slices=["age"], slice_bins={"age": [5]}, engine=engine
    )
    assert len({estimate.slice for estimate in evaluation.slices}) == 2


def test_a_later_contradiction_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_sources, "HEAD_BYTES", 64)
    path = tmp_path / "a.csv"
    path.write_text("q,y,p\n" + "1,0,0.5\n1,1,0.4\n" * 20 + "01,1,0.5\n01,0,0.4\n")
    expected = r"a\.csv: row 40: column 'q': '01' is text .* write Parquet"
    with pytest.raises(InputError, match=expected):
        cal.ranking("q", "y", "p", data=path, engine="stream")
    assert cal.ranking("q", "y", "p", data=path)["P@1"].n_total == 2


@pytest.mark.parametrize("engine", ["memory", "stream"])
@pytest.mark.parametrize("positive", ["true", "True", True])
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_the_positive_class_is_true_in_any_case(
    tmp_path: Path, engine: str, positive: Any, suffix: str
) -> None:
    truth = ["true", "false", "true", "false"]
    rows = pd.DataFrame({"y": truth, "p": [0.9, 0.1, 0.4, 0.6]})
    path = str(tmp_path / f"a.{suffix}")
    if suffix == "csv":
        rows.to_csv(path, index=False)
    elif suffix == "jsonl":
        rows.to_json(path, orient="records", lines=True)
    else:
        rows.to_parquet(path)
    evaluation = cal.classification(
        "y", probability="p", data=path, positive=positive, measures=["AUC"], engine=engine
    )
    assert evaluation["AUC"].value == 0.75


def test_two_classes_that_differ_in_case_are_two() -> None:
    truth = ["true", "True", "true", "True"]
    for positive in ("true", "True"):
        ev = cal.classification(truth, score=[4, 1, 3, 2], positive=positive, measures=["AUC"])
        assert ev["AUC"].value == (positive == "true")
    with pytest.raises(InputError, match="no row has the class 'TRUE'"):
        cal.classification(truth, score=[4, 1, 3, 2], positive="TRUE")
