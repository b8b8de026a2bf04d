"""Logs of Inspect, lm-evaluation-harness and promptfoo, and what may be wrong with them."""

from __future__ import annotations

import gzip
import io
import json
import struct
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import calipers as cal
from calipers.cli.group import cli
from calipers.data import evaluation_logs
from calipers.data.errors import InputError
from calipers.data.evaluation_logs import is_log, read_log, read_logs

# --- Files, in the formats that the tools write ---------------------------------------------------


def inspect_sample(
    case: str | int, scores: Mapping[str, Any] | None, epoch: int = 1, **fields: Any
) -> dict[str, Any]:
    """A sample of Inspect (``EvalSample``), with scores by scorer."""
    return {
        "id": case,
        "epoch": epoch,
        "input": f"question {case}",
        "target": f"answer {case}",
        "messages": [],
        "output": {"model": "m", "choices": []},
        "scores": None
        if scores is None
        else {
            name: {"value": value, "answer": "x", "history": []} for name, value in scores.items()
        },
        "metadata": {"topic": "a", "tags": ["x"]},
        "model_usage": {"m": {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}},
        "total_time": 1.5,
        "working_time": 1.25,
        "error": None,
        **fields,
    }


def inspect_header(model: str, task: str = "qa", **fields: Any) -> dict[str, Any]:
    """Header of a log of Inspect (``EvalLog`` without samples)."""
    spec = {
        "created": "2026-01-02T03:04:05+00:00",
        "task": task,
        "dataset": {"name": "d", "samples": 3, "sample_ids": None},
        "model": model,
        "config": {"epochs": 1},
    }
    return {
        "version": 2,
        "status": fields.pop("status", "success"),
        "eval": {**spec, **fields},
        "plan": {"name": "plan", "steps": []},
        "results": None,
        "stats": {},
    }


def write_eval(
    path: Path,
    header: Mapping[str, Any],
    samples: Sequence[Mapping[str, Any]],
    *,
    finished: bool = True,
    compression: int = zipfile.ZIP_DEFLATED,
) -> str:
    """A log in the format ``.eval``."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        start = {key: header[key] for key in ("version", "eval", "plan")}
        archive.writestr("_journal/start.json", json.dumps(start))
        for sample in samples:
            name = f"samples/{sample['id']}_epoch_{sample['epoch']}.json"
            archive.writestr(name, json.dumps(sample))
        if finished:
            archive.writestr("summaries.json", "[]")
            archive.writestr("header.json", json.dumps(header))
    return str(path)


def write_inspect_json(
    path: Path, header: Mapping[str, Any], samples: Sequence[Mapping[str, Any]]
) -> str:
    """A log in the JSON format of Inspect."""
    path.write_text(json.dumps({**header, "samples": samples}, indent=2))
    return str(path)


def write_lm_eval(
    folder: Path,
    rows: Sequence[Mapping[str, Any]],
    model: str | None = None,
    task: str = "gsm8k",
    date: str = "2026-01-02T03-04-05.678901",
) -> str:
    """A file of samples of lm-evaluation-harness, with the results beside it if there is a model."""
    folder.mkdir(exist_ok=True)
    path = folder / f"samples_{task}_{date}.jsonl"
    lines = []
    for fields in rows:
        row = {"filter": "none", **fields}
        metrics = [k for k in row if k not in ("doc_id", "filter", "doc", "doc_hash")]
        lines.append(
            {
                "doc_id": row["doc_id"],
                "doc": row.get("doc", {"question": "?", "subject": "s"}),
                "target": "4",
                "arguments": {"gen_args_0": {"arg_0": "?"}},
                "resps": [["4"]],
                "filtered_resps": ["4"],
                "filter": row["filter"],
                "metrics": metrics,
                "doc_hash": row.get("doc_hash", f"hash {row['doc_id']}"),
                "prompt_hash": "p",
                "target_hash": "t",
                **{k: row[k] for k in metrics},
            }
        )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    if model is not None:
        results = {"results": {}, "model_source": "hf", "model_name": model}
        (folder / f"results_{date}.json").write_text(json.dumps(results))
    return str(path)


def promptfoo_result(
    test: int, index: int, provider: str, success: bool, score: float, **fields: Any
) -> dict[str, Any]:
    """A result of promptfoo (``EvaluateResult``)."""
    variables = fields.pop("vars", {"question": f"question {test}"})
    return {
        "id": f"{test}-{index}",
        "testIdx": test,
        "promptIdx": index,
        "promptId": f"p{index}",
        "provider": {"id": provider, "label": ""},
        "prompt": {"raw": "Answer {{question}}", "label": "plain"},
        "testCase": {"vars": variables, "assert": [{"type": "llm-rubric", "value": "right"}]},
        "vars": variables,
        "success": success,
        "failureReason": 0 if success else 1,
        "score": score,
        "namedScores": {},
        "gradingResult": {"pass": success, "score": score, "reason": "", "componentResults": []},
        "latencyMs": 120,
        "cost": 0.001,
        "error": None if success else "not right",
        **fields,
    }


def write_promptfoo(path: Path, results: Sequence[Mapping[str, Any]], **config: Any) -> str:
    """The results that promptfoo writes with ``-o results.json``."""
    document = {
        "evalId": "eval-abc",
        "results": {
            "version": 3,
            "timestamp": "2026-01-02T03:04:05Z",
            "prompts": [],
            "results": list(results),
            "stats": {"successes": 1, "failures": 1, "errors": 0},
        },
        "config": {"evaluateOptions": config},
        "shareableUrl": None,
    }
    path.write_text(json.dumps(document, indent=2))
    return str(path)


def scored(texts: str, scorer: str = "match", **fields: Any) -> list[dict[str, Any]]:
    """Samples with one score each, a letter for each."""
    return [inspect_sample(k, {scorer: text}, **fields) for k, text in enumerate(texts)]


def values(path: str, score: str | None = None) -> list[str | None]:
    return read_logs([path], score).rows["score"].to_pylist()


# --- Inspect --------------------------------------------------------------------------------------


def test_texts_are_scores_as_in_inspect(tmp_path: Path) -> None:
    path = write_eval(tmp_path / "a.eval", inspect_header("m"), scored("CIPN"))
    table = read_logs([path])
    assert table.rows["score"].to_pylist() == ["1.0", "0.0", "0.5", "0.0"]
    assert table.rows["system"].to_pylist() == ["m"] * 4
    assert table.rows["case"].to_pylist() == ["0", "1", "2", "3"]
    assert table.rows["metadata.topic"].to_pylist() == ["a"] * 4
    assert table.rows["total_tokens"].to_pylist() == [10] * 4
    assert "C (1), I (1), N (1), P (1)" in table.notes[0]


def test_the_two_formats_of_inspect_are_the_same(tmp_path: Path) -> None:
    header, samples = inspect_header("m"), scored("CICIC")
    first = read_logs([write_eval(tmp_path / "a.eval", header, samples)])
    second = read_logs([write_inspect_json(tmp_path / "a.json", header, samples)])
    assert first.rows.equals(second.rows)
    assert first.notes == second.notes


def test_the_content_says_what_a_file_is(tmp_path: Path) -> None:
    zipped = Path(write_eval(tmp_path / "a.eval", inspect_header("m"), scored("CI")))
    text = Path(write_inspect_json(tmp_path / "b.json", inspect_header("m"), scored("CI")))
    for source in (zipped, text):
        other = tmp_path / f"{source.stem}.bin"
        other.write_bytes(source.read_bytes())
        assert is_log(other)
        assert values(str(other)) == ["1.0", "0.0"]
    compressed = tmp_path / "c.json.gz"
    compressed.write_bytes(gzip.compress(text.read_bytes()))
    assert values(str(compressed)) == ["1.0", "0.0"]
    table = tmp_path / "table.jsonl"
    table.write_text('{"id": 1, "score": 1}\n{"id": 2, "score": 0}\n')
    other_zip = tmp_path / "other.zip"
    with zipfile.ZipFile(other_zip, "w") as archive:
        archive.writestr("a.txt", "a")
    for path in (table, other_zip, tmp_path / "missing.eval", tmp_path):
        assert not is_log(path)


@pytest.mark.parametrize(
    ("value", "score"),
    [
        (True, "1.0"), (False, "0.0"), ("yes", "1.0"), ("No", "0.0"), ("TRUE", "1.0"),
        ("0.25", "0.25"), (3, "3.0"), (float("nan"), None), (None, None),
    ],
)  # fmt: skip
def test_values_of_a_scorer(value: Any, score: str | None, tmp_path: Path) -> None:
    samples = [inspect_sample("x", {"s": value}), inspect_sample("y", {"s": 1.0})]
    assert values(write_eval(tmp_path / "a.eval", inspect_header("m"), samples))[0] == score


def test_a_judge_that_failed_is_not_a_failure(tmp_path: Path) -> None:
    error = {"message": "timeout", "traceback": "", "traceback_ansi": ""}
    samples = [
        inspect_sample("a", {"judge": 1.0}),
        inspect_sample("b", {"judge": float("nan")}),
        inspect_sample("c", None, error=error),
        inspect_sample("d", {}),
        inspect_sample("e", {"judge": 0.0}, error=error),  # scored in spite of an error
    ]
    path = write_eval(tmp_path / "a.eval", inspect_header("m"), samples)
    assert values(path) == ["1.0", None, "error", None, "0.0"]
    [estimate] = cal.scores(path)
    assert (estimate.value, estimate.n, estimate.n_total) == (0.5, 2, 5)
    assert (estimate.lower_bound, estimate.upper_bound) == (0.2, 0.8)
    notes = cal.scores(path).notes
    assert any("3 of 5 cases have no score (2 missing, 1 error)" in note for note in notes)


def test_epochs_are_samples_of_a_case(tmp_path: Path) -> None:
    samples = [
        inspect_sample(case, {"s": int(passed)}, epoch=k + 1)
        for case, text in (("a", "110"), ("b", "000"), ("c", "111"))
        for k, passed in enumerate(text)
    ]
    path = write_eval(tmp_path / "a.eval", inspect_header("m"), samples[::-1])
    ev = cal.scores(path, measures=["pass@1", "pass@2", "pass^2"])
    assert [e.value for e in ev] == pytest.approx([5 / 9, 2 / 3, (1 / 3 + 0 + 1) / 3])
    assert any("not 9 samples" in note for note in ev.notes)
    with pytest.raises(InputError, match="samples is 2, but the log has 3 samples"):
        cal.scores(path, samples=2)


def test_samples_that_did_not_run_have_no_score(tmp_path: Path) -> None:
    header = inspect_header(
        "m", dataset={"name": "d", "sample_ids": [0, 1, 2]}, config={"epochs": 2}
    )
    samples = [inspect_sample(0, {"s": 1}, epoch=1), inspect_sample(0, {"s": 0}, epoch=2),
               inspect_sample(1, {"s": 1}, epoch=1)]  # fmt: skip
    table = read_logs([write_eval(tmp_path / "a.eval", header, samples, finished=False)])
    rows = list(zip(table.rows["case"].to_pylist(), table.rows["score"].to_pylist(), strict=True))
    assert rows == [("0", "1.0"), ("0", "0.0"), ("1", "1.0"), ("1", None), ("2", None), ("2", None)]
    assert "did not finish (status started): 3 of 6 samples were run" in table.notes[0]


def test_samples_that_are_marked_as_invalid_are_noted(tmp_path: Path) -> None:
    samples = [*scored("CI"), inspect_sample(2, {"match": "C"}, invalidation={"author": "me"})]
    table = read_logs([write_eval(tmp_path / "a.eval", inspect_header("m"), samples)])
    assert any("1 of 3 samples are marked as invalid" in note for note in table.notes)


def test_a_sample_that_ran_again_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "a.eval"
    samples = scored("IC")
    write_eval(path, inspect_header("m"), samples)
    again = json.dumps(inspect_sample(0, {"match": "C"}))
    with zipfile.ZipFile(path, "a") as archive, warnings.catch_warnings(action="ignore"):
        archive.writestr("samples/0_epoch_1.json", again)
    assert values(str(path)) == ["1.0", "1.0"]


def test_samples_in_several_files(tmp_path: Path) -> None:
    """Large samples have a folder, in which the metadata is a file of its own."""
    path = tmp_path / "a.eval"
    sample = inspect_sample("x", {"s": "C"})
    metadata = sample.pop("metadata")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps(inspect_header("m")))
        archive.writestr("samples/x_epoch_1/sample.json", json.dumps(sample))
        archive.writestr("samples/x_epoch_1/metadata.json", json.dumps(metadata))
        archive.writestr("samples/x_epoch_1/events/0.json", "[]")
    table = read_logs([str(path)])
    assert table.rows["score"].to_pylist() == ["1.0"]
    assert table.rows["metadata.topic"].to_pylist() == ["a"]


def zstandard_archive(contents: dict[str, bytes], n_frames: int = 2) -> bytes:
    """A zip archive whose files are compressed with Zstandard, in several frames."""
    body, directory = io.BytesIO(), io.BytesIO()
    for name, content in contents.items():
        step = max(1, -(-len(content) // n_frames))
        parts = [content[k : k + step] for k in range(0, len(content), step)]
        packed = b"".join(pa.compress(part, "zstd", asbytes=True) for part in parts)
        sizes = (zlib.crc32(content), len(packed), len(content))
        common = struct.pack("<HHHHHIIIHH", 63, 0, 93, 0, 33, *sizes, len(name), 0)
        offset = body.tell()
        body.write(b"PK\x03\x04" + common + name.encode() + packed)
        directory.write(
            b"PK\x01\x02" + struct.pack("<H", 63) + common
            + struct.pack("<HHHII", 0, 0, 0, 0, offset) + name.encode()
        )  # fmt: skip
    n, start, size = len(contents), body.tell(), directory.tell()
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, n, n, size, start, 0)
    return body.getvalue() + directory.getvalue() + end


def test_archives_compressed_with_zstandard(tmp_path: Path) -> None:
    contents = {f"samples/{k}_epoch_1.json": json.dumps(s).encode()
                for k, s in enumerate(scored("CIC"))}  # fmt: skip
    contents["header.json"] = json.dumps(inspect_header("m")).encode()
    whole = zstandard_archive(contents)
    path = tmp_path / "a.eval"
    path.write_bytes(whole)
    assert values(str(path)) == ["1.0", "0.0", "1.0"]
    damaged = bytearray(whole)
    damaged[80] ^= 0xFF
    path.write_bytes(damaged)
    with pytest.raises(InputError, match=r"a\.eval: samples/0_epoch_1\.json: is damaged"):
        read_log(str(path))


# --- Which scorer, which systems ------------------------------------------------------------------


def test_several_scorers(tmp_path: Path) -> None:
    samples = [inspect_sample(k, {"exact": k % 2, "judge": {"style": 2, "tone": 3}})
               for k in range(3)]  # fmt: skip
    path = write_eval(tmp_path / "a.eval", inspect_header("m"), samples)
    with pytest.raises(InputError, match=r"several scores.*'exact', 'judge.style', 'judge.tone'"):
        cal.scores(path)
    assert cal.scores(data=path, score="exact")["pass-rate"].value == pytest.approx(1 / 3)
    assert cal.scores(data=path, score="judge.tone")["mean-score"].value == 3
    with pytest.raises(InputError, match=r"a\.eval: score: there is no 'judge\.stile'; did you"):
        cal.scores(data=path, score="judge.stile")
    other = write_eval(tmp_path / "b.eval", inspect_header("n"), scored("CIC", "exact"))
    assert len(cal.scores(data=[path, other], score="exact").estimates) == 2
    with pytest.raises(InputError, match=r"b\.eval: score: there is no 'judge\.tone'"):
        cal.scores(data=[path, other], score="judge.tone")


def test_logs_are_paired_by_their_cases(tmp_path: Path) -> None:
    a = write_eval(tmp_path / "a.eval", inspect_header("m"), scored("CCIIC"))
    b = write_eval(tmp_path / "b.eval", inspect_header("n"), scored("CICCC")[::-1])
    ev = cal.scores([a, b])
    assert ev.systems == ("m", "n")
    assert ev.comparison is not None
    [difference] = ev.comparison.differences
    y = np.array([[1, 1, 0, 0, 1], [1, 0, 1, 1, 1]])
    assert difference.value == pytest.approx((y[1] - y[0]).mean())
    assert (difference.wins, difference.losses) == (2, 1)
    named = cal.scores(data={"old": a, "new": Path(b)}, baseline="old")
    assert named.systems == ("old", "new")


def test_logs_that_do_not_belong_together(tmp_path: Path) -> None:
    a = write_eval(tmp_path / "a.eval", inspect_header("m"), scored("CI"))
    same = write_eval(tmp_path / "same.eval", inspect_header("m"), scored("II"))
    with pytest.raises(InputError, match=r"same\.eval: is of 'm', as .*a\.eval is; name the sys"):
        cal.scores([a, same])
    task = write_eval(tmp_path / "task.eval", inspect_header("n", "mmlu"), scored("II"))
    with pytest.raises(InputError, match=r"a log of Inspect, task 'mmlu' and .* task 'qa'"):
        cal.scores([a, task])
    cases = write_eval(tmp_path / "c.eval", inspect_header("n"), scored("II", target="other"))
    with pytest.raises(InputError, match=r"c\.eval: sample '0': is another case than .*a\.eval"):
        cal.scores([a, cases])
    epochs = [inspect_sample(0, {"match": 1}, epoch=k) for k in (1, 2)]
    twice = write_eval(tmp_path / "d.eval", inspect_header("n"), epochs)
    with pytest.raises(InputError, match="expected the same number"):
        cal.scores([a, twice])
    foo = write_promptfoo(tmp_path / "p.json", [promptfoo_result(0, 0, "m", True, 1.0)])
    with pytest.raises(InputError, match=r"a log of promptfoo and .* one of Inspect"):
        cal.scores([a, foo])
    table = tmp_path / "t.csv"
    table.write_text("a,b\n1,0\n")
    with pytest.raises(InputError, match=r"t\.csv: is not a log of Inspect"):
        cal.scores([a, str(table)])
    with pytest.raises(InputError, match=r"none\.eval: there is no such file"):
        cal.scores(str(tmp_path / "none.eval"))


# --- lm-evaluation-harness ------------------------------------------------------------------------


def test_samples_of_the_harness(tmp_path: Path) -> None:
    rows = [{"doc_id": k, "exact_match": float(k % 2), "ppl": [1.0, 2]} for k in range(4)]
    path = write_lm_eval(tmp_path / "org__m", rows, "org/m")
    log = read_log(path)
    assert (log.tool, log.task, log.systems) == ("lm-evaluation-harness", "gsm8k", ["org/m"])
    assert values(path) == ["0.0", "1.0", "0.0", "1.0"]
    assert read_logs([path]).rows["doc.subject"].to_pylist() == ["s"] * 4
    other = write_lm_eval(tmp_path / "other", rows)  # without results the folder names the model
    assert cal.scores([path, other]).systems == ("org/m", "other")


def test_filters_of_the_harness(tmp_path: Path) -> None:
    rows = [
        {"doc_id": k, "filter": name, "exact_match": int(k < passed)}
        for name, passed in (("strict-match", 1), ("flexible-extract", 3))
        for k in range(4)
    ]
    path = write_lm_eval(tmp_path / "m", rows)
    with pytest.raises(InputError, match="'exact_match,strict-match', 'exact_match,flexible-ext"):
        cal.scores(path)
    for name, rate in (("strict-match", 0.25), ("flexible-extract", 0.75)):
        assert cal.scores(data=path, score=f"exact_match,{name}")["pass-rate"].value == rate
    single = write_lm_eval(tmp_path / "n", [r for r in rows if r["filter"] == "strict-match"])
    assert cal.scores(data=single, score="exact_match")["pass-rate"].value == 0.25


def test_documents_of_the_harness_are_compared(tmp_path: Path) -> None:
    rows = [{"doc_id": k, "acc": 1} for k in range(3)]
    a = write_lm_eval(tmp_path / "a", rows)
    b = write_lm_eval(tmp_path / "b", [{**row, "doc_hash": "new"} for row in rows])
    with pytest.raises(InputError, match=r":1: doc_id 0: is another case than .*:1: doc_id 0"):
        cal.scores([a, b])
    twice = write_lm_eval(tmp_path / "c", [*rows, rows[0]])
    with pytest.raises(InputError, match=r":4: doc_id 0: is a second time in the log"):
        cal.scores(twice)


def test_lines_before_metrics_were_listed(tmp_path: Path) -> None:
    path = tmp_path / "samples_t_2024-01-02T03-04-05.6.jsonl"
    path.write_text('{"doc_id": 0, "doc": {}, "target": "a", "arguments": [], "resps": [],'
                    ' "filtered_resps": [], "doc_hash": "h", "acc": 1.0}\n')  # fmt: skip
    assert values(str(path)) == ["1.0"]


# --- promptfoo ------------------------------------------------------------------------------------


def test_results_of_promptfoo(tmp_path: Path) -> None:
    results = [
        promptfoo_result(test, 0, provider, passed == "1", 0.25 + 0.5 * int(passed))
        for provider, text in (("openai:a", "1101"), ("openai:b", "0101"))
        for test, passed in enumerate(text)
    ]
    path = write_promptfoo(tmp_path / "results.json", results)
    ev = cal.scores(path)
    assert [(e.system, e.measure, e.value) for e in ev] == [
        ("openai:a", "pass-rate", 0.75), ("openai:b", "pass-rate", 0.5)
    ]  # fmt: skip
    assert cal.scores(data=path, score="score")["openai:a", "mean-score"].value == 0.625
    lines = tmp_path / "results.jsonl"
    lines.write_text("".join(json.dumps(result) + "\n" for result in results))
    assert read_logs([str(lines)]).rows.equals(read_logs([path]).rows)
    costs = cal.scores(path, cost={"latency": "latencyMs"}).costs
    assert costs is not None
    assert costs["openai:a", "mean-cost[latency]"].value == 120


def test_errors_of_promptfoo_are_not_failures(tmp_path: Path) -> None:
    judge = {"pass": False, "score": 0, "reason": "no JSON", "metadata": {"graderError": True}}
    results = [
        promptfoo_result(0, 0, "a", True, 1.0),
        promptfoo_result(1, 0, "a", False, 0.0),
        promptfoo_result(2, 0, "a", False, 0.0, failureReason=2, error="429"),
        promptfoo_result(
            3, 0, "a", False, 0.0,
            gradingResult={"pass": False, "score": 0, "reason": "", "componentResults": [judge]},
        ),
    ]  # fmt: skip
    path = write_promptfoo(tmp_path / "results.json", results)
    assert values(path) == ["1.0", "0.0", "error", "error"]
    [estimate] = cal.scores(path)
    assert (estimate.value, estimate.lower_bound, estimate.upper_bound) == (0.5, 0.25, 0.75)


def test_prompts_of_promptfoo_are_systems(tmp_path: Path) -> None:
    def result(test: int, k: int, provider: str) -> dict[str, Any]:
        label = "short" if k == 0 else "a prompt that is its own label " * 10
        return promptfoo_result(test, k, provider, True, 1.0, prompt={"raw": "x", "label": label})

    one = [result(test, k, "a") for test in range(2) for k in range(2)]
    two = [*one, *(result(test, k + 2, "b") for test in range(2) for k in range(2))]
    path = write_promptfoo(tmp_path / "one.json", one)
    assert read_log(path).systems == ["short", "prompt 1"]
    path = write_promptfoo(tmp_path / "two.json", two)
    assert len(read_log(path).systems) == 4
    assert read_log(path).systems[0] == "a, short"


def test_repetitions_of_promptfoo_are_samples(tmp_path: Path) -> None:
    """A repetition has the variables of the test and an index of its own."""
    variables = [{"question": "p"}, {"question": "q"}]
    results = [
        promptfoo_result(3 * k + r, 0, "a", bool((k + r) % 2), 0.0, vars=variables[k])
        for k in range(2)
        for r in range(3)
    ]
    ev = cal.scores(write_promptfoo(tmp_path / "r.json", results, repeat=3), measures=["pass@1"])
    assert ev["pass@1"].value == pytest.approx((1 / 3 + 2 / 3) / 2)
    assert ev["pass@1"].n == 2
    # Two equal tests among others are no repetitions, unless all tests have them.
    uneven = [*results[:2], results[3]]
    table = read_logs([write_promptfoo(tmp_path / "u.json", uneven)])
    assert (table.n_samples, table.rows["case"].to_pylist()) == (1, ["0", "1", "3"])


# --- Hostile input --------------------------------------------------------------------------------


def test_a_damaged_archive(tmp_path: Path) -> None:
    whole = Path(write_eval(tmp_path / "a.eval", inspect_header("m"), scored("CIC"))).read_bytes()
    path = tmp_path / "b.eval"
    for size in (2, 40, len(whole) // 2, len(whole) - 30):
        path.write_bytes(whole[:size])
        with pytest.raises(InputError, match=r"b\.eval: "):
            cal.scores(str(path))
    rng = np.random.default_rng(0)
    for _ in range(300):
        damaged = bytearray(whole)
        for k in rng.integers(0, len(whole), 4):
            damaged[k] = rng.integers(256)
        path.write_bytes(damaged)
        with suppress(InputError):  # any other error is a fault
            cal.scores(str(path))


def test_an_archive_that_would_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation_logs, "MAX_MEMBER_BYTES", 1 << 20)
    samples = scored("C", store={"text": "0" * (2 << 20)})
    path = write_eval(tmp_path / "a.eval", inspect_header("m"), samples)
    assert Path(path).stat().st_size < 1 << 16
    with pytest.raises(InputError, match=r"samples/0_epoch_1\.json: has 2,09\d,\d+ bytes, expect"):
        cal.scores(path)
    plan = inspect_header("m", dataset={"sample_ids": [1, 2]}, config={"epochs": 10**15})
    path = write_eval(tmp_path / "b.eval", plan, scored("C"))
    with pytest.raises(InputError, match="expected at most 10,000,000 samples"):
        cal.scores(path)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("great", "match is 'great', expected a number, true or false, or C, I, P or N"),
        ([1, 0], r"match is \[1, 0\], expected a number"),
        (1e300, r"match is 1e\+300, expected a number from -1e\+45"),
        (float("inf"), "match is inf, expected a number from"),
        (10**400, "match is 1000.*, expected a number from"),
        ("1_0", "match is '1_0', expected a number"),
    ],
)
def test_a_value_that_is_no_score_names_its_sample(
    value: Any, expected: str, tmp_path: Path
) -> None:
    samples = [*scored("CI"), inspect_sample("q7", {"match": value}, epoch=2)]
    path = write_inspect_json(tmp_path / "a.json", inspect_header("m"), samples)
    with pytest.raises(InputError, match=rf"a\.json: sample 'q7', epoch 2: {expected}"):
        cal.scores(path)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"id": None}, "has no id and epoch"),
        ({"epoch": 0}, "has no id and epoch"),
        ({"epoch": True}, "has no id and epoch"),
        ({"scores": [1]}, r"sample '0': scores is \[1\], expected a value for each"),
        ({"scores": {"match": 1}}, "sample '0': scores is .*, expected a value for each"),
        ({"id": 1}, "sample '1': is a second time in the log"),
    ],
)
def test_a_sample_that_is_none(change: dict[str, Any], expected: str, tmp_path: Path) -> None:
    samples = scored("CI")
    samples[0] |= change
    path = write_inspect_json(tmp_path / "a.json", inspect_header("m"), samples)
    with pytest.raises(InputError, match=rf"a\.json: .*{expected}"):
        cal.scores(path)


def mutations(value: Any) -> Iterator[Any]:
    """Copies of a document with something else in one place, each."""
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            for changed in mutations(value[key]):
                copy = value.copy()
                copy[key] = changed
                yield copy
    yield from (None, 1, -1, 1e300, "x", [], [{}], {}, {"x": []}, True)


@pytest.mark.slow
def test_values_of_other_types(tmp_path: Path) -> None:
    """Whatever stands in the place of a value, there is a result or an error that names the file."""
    path = tmp_path / "log.json"
    header = inspect_header("m", dataset={"sample_ids": [0, 1]}, config={"epochs": 1})
    write_inspect_json(path, header, scored("CI"))
    documents = [json.loads(path.read_text())]
    write_promptfoo(path, [promptfoo_result(k, 0, "a", True, 1.0) for k in range(2)])
    documents.append(json.loads(path.read_text()))
    lines = Path(write_lm_eval(tmp_path / "m", [{"doc_id": k, "acc": 1} for k in range(2)]))
    documents.append(json.loads(lines.read_text().splitlines()[0]))
    documents += [assigned("1", "vs on"), supported(1, "FS -")]
    n_results, messages = 0, []
    for document in documents:
        for changed in mutations(document):
            path.write_text(json.dumps(changed))
            try:
                n_results += read_logs([str(path)]).rows.num_rows > 0
            except InputError as error:
                messages.append(str(error))
    assert n_results > 500
    assert len(messages) > 100
    assert all("log.json" in message for message in messages)


def test_other_faults(tmp_path: Path) -> None:
    path = write_inspect_json(tmp_path / "a.json", inspect_header("m"), [])
    with pytest.raises(InputError, match="none of its samples has a score"):
        cal.scores(path)
    path = write_inspect_json(tmp_path / "b.json", inspect_header(""), scored("C"))
    with pytest.raises(InputError, match="the header names no model and task"):
        cal.scores(path)
    path = write_inspect_json(tmp_path / "c.json", inspect_header("m"), scored("CI", "s"))
    with pytest.raises(InputError, match=r"sample '0': the score is 1\.0, expected 2 to 5"):
        cal.scores(path, score_range=(2, 5))
    with pytest.raises(
        InputError, match="engine is 'stream', expected 'memory': the samples of a case"
    ):
        cal.scores(path, engine="stream")
    with pytest.raises(InputError, match="expected the name of a scorer"):
        cal.scores(data=path, score=[1, 0])
    lines = write_lm_eval(tmp_path / "m", [{"doc_id": 0, "acc": 1}])
    with Path(lines).open("a") as file:
        file.write('{"doc_id": 1, "acc"\n')
    with pytest.raises(InputError, match=r"\.jsonl:2: is incomplete: it ends in column 20, after "):
        cal.scores(lines)
    half = inspect_sample("\ud800", {"s": 1}, metadata={"\udfff": "\ud801"})
    assert values(write_inspect_json(tmp_path / "d.json", inspect_header("m"), [half])) == ["1.0"]
    foo = write_promptfoo(tmp_path / "p.json", [{"testIdx": "0", "promptIdx": 0, "provider": "a"}])
    with pytest.raises(InputError, match=r"p\.json: result 0: has no testIdx, promptIdx and prov"):
        cal.scores(foo)


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("tool", ["inspect", "promptfoo"])
def test_a_document_that_is_cut_off_says_where_it_ends(
    tool: str, indent: int | None, tmp_path: Path
) -> None:
    path = tmp_path / "log.json"
    if tool == "inspect":
        write_inspect_json(path, inspect_header("m"), scored("CICC"))
    else:
        write_promptfoo(path, [promptfoo_result(k, 0, "a", True, 1.0) for k in range(3)])
    text = json.dumps(json.loads(path.read_text()), indent=indent)
    for length in (len(text) - 1, len(text) * 2 // 3, len(text) * 2 // 3 + 3):
        path.write_text(text[:length])
        rest = text[:length].rstrip()
        column = len(rest.split("\n")[-1]) + 1
        place = f"line {rest.count(chr(10)) + 1:,}, " * (indent is not None)
        expected = f"log.json: is incomplete: it ends in {place}column {column:,}, after "
        for arguments in ({"score": str(path)}, {"data": str(path)}):
            with pytest.raises(InputError) as caught:
                cal.scores(**arguments)
            assert expected in str(caught.value)
        assert expected in str(run(str(path)).exception)
    path.write_text(text.replace(":", ";", 40).replace(";", ":", 20))
    with pytest.raises(InputError, match=r"log\.json: is not JSON: Expecting"):
        cal.scores(data=str(path))


def test_a_document_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "log.json")
    write_inspect_json(Path(path), inspect_header("m"), scored("CICC"))
    size, loads, lengths = Path(path).stat().st_size, json.loads, []

    def counted(text: bytes) -> Any:
        lengths.append(len(text))
        return loads(text)

    monkeypatch.setattr("calipers.data.evaluation_logs.json.loads", counted)
    assert cal.scores(path).estimates[0].value == 0.75
    assert [n for n in lengths if n > size / 2] == [size]


# --- TREC's RAG track -----------------------------------------------------------------------------


NUGGET_LABELS = ("support", "partial_support", "not_support")


def write_lines(path: Path, rows: Sequence[Mapping[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def assigned(topic: str, words: str, run: str = "r", **fields: Any) -> dict[str, Any]:
    """A line of Nuggetizer: of each nugget v or o, and s, p, n or f for its assignment."""
    labels = {label[0]: label for label in (*NUGGET_LABELS, "failed")}
    return {
        "query": "?",
        "qid": topic,
        "answer_text": ["…"],
        "response_length": 12,
        "run_id": run,
        "nuggets": [
            {
                "text": f"nugget {k}",
                "importance": {"v": "vital", "o": "okay"}[word[0]],
                "assignment": labels[word[1]],
            }
            for k, word in enumerate(words.split())
        ],
        **fields,
    }


def nugget_scores(nuggets: Sequence[Mapping[str, str]]) -> dict[str, float | None]:
    """The definitions of the track (Pradeep et al. 2024), written out."""
    weight = {"vital": 1.0, "okay": 0.5}
    vital = [n["assignment"] for n in nuggets if n["importance"] == "vital"]
    everything = [n["assignment"] for n in nuggets]
    out: dict[str, float | None] = {}
    for prefix, half in (("strict_", 0.0), ("", 0.5)):
        value = {"support": 1.0, "partial_support": half, "not_support": 0.0}
        for name, labels in (("vital", vital), ("all", everything)):
            total = sum(value[label] for label in labels)
            out[f"{prefix}{name}_score"] = total / len(labels) if labels else None
        weights = [weight[n["importance"]] for n in nuggets]
        weighted = sum(w * value[n["assignment"]] for w, n in zip(weights, nuggets, strict=True))
        out[f"{prefix}weighted_score"] = weighted / sum(weights) if weights else None
    return out


def test_scores_of_nuggets(tmp_path: Path) -> None:
    lines = [
        assigned("1", "vs vp on vn os op"),
        assigned("2", "os on"),
        assigned("3", "vs"),
        assigned("4", ""),
        assigned("5", "vp vp vs op op op os"),
    ]
    path = write_lines(tmp_path / "a.jsonl", lines)
    assert is_log(path)
    for name in nugget_scores([]):
        expected = [nugget_scores(line["nuggets"])[name] for line in lines]
        scored_texts = values(path, name)
        assert [t is None for t in scored_texts] == [e is None for e in expected]
        pairs = zip(scored_texts, expected, strict=True)
        assert all(abs(float(t) - e) < 1e-12 for t, e in pairs if t is not None and e is not None)
    # By hand: 1 of 3 vital nuggets, and (1 + ½ + ½·1 + ½·½) of 3 + 3·½.
    assert values(path)[0] == repr(1 / 3)
    assert float(values(path, "weighted_score")[0] or "nan") == pytest.approx(2.25 / 4.5, abs=1e-12)
    table = read_logs([path])
    assert table.rows["system"].to_pylist() == ["r"] * 5
    assert table.rows["response_length"].to_pylist() == [12] * 5
    assert "The score is strict_vital_score" in table.notes[0]


def test_a_nugget_without_a_verdict(tmp_path: Path) -> None:
    """A model that failed on a nugget is not an answer that misses it."""
    path = write_lines(tmp_path / "a.jsonl", [assigned("1", "vs vf"), assigned("2", "vs vn")])
    assert values(path) == ["error", "0.5"]
    estimate = cal.scores(path).estimates[0]
    assert (estimate.value, estimate.n, estimate.n_total) == (0.5, 1, 2)
    assert (estimate.lower_bound, estimate.upper_bound) == (0.25, 0.75)


def test_runs_of_nuggets_are_compared_by_topic(tmp_path: Path) -> None:
    words = [("vs vn", "vs vs"), ("vn vn", "vs vn"), ("vs vp", "vs vp"), ("vn vp", "vp vs")]
    a = write_lines(
        tmp_path / "a.jsonl", [assigned(str(k), w, "a") for k, (w, _) in enumerate(words)]
    )
    b = write_lines(
        tmp_path / "b.jsonl", [assigned(str(k), w, "b") for k, (_, w) in enumerate(words)]
    )
    evaluation = cal.scores([a, b], measures=["mean-score"])
    assert [e.value for e in evaluation] == [0.25, 0.625]
    assert evaluation.comparison["mean-score"].value == 0.375
    lines = [assigned(str(k), w, run) for k, pair in enumerate(words)
             for run, w in zip("ab", pair, strict=True)]  # fmt: skip
    both = write_lines(tmp_path / "both.jsonl", lines)
    assert [e.value for e in cal.scores(both, measures=["mean-score"])] == [0.25, 0.625]
    other = write_lines(tmp_path / "c.jsonl", [assigned("0", "vs os", "c")])
    with pytest.raises(InputError, match="is another case than"):
        cal.scores([a, other])
    unnamed = [{k: v for k, v in assigned("0", "vs").items() if k != "run_id"}]
    table = read_logs([write_lines(tmp_path / "team 1.jsonl", unnamed)])
    assert table.rows["system"].to_pylist() == ["team 1"]


def supported(topic: int, sentences: str, **fields: Any) -> dict[str, Any]:
    """A line of the support evaluation: of each sentence the labels of its citations, or -."""
    labels = [[] if word == "-" else word.split("+") for word in sentences.split()]
    answer = [{"text": f"sentence {k}", "citations": [0] * len(v)} for k, v in enumerate(labels)]
    return {
        "topic_id": topic,
        "run_id": "r",
        "answer": answer,
        "support_eval": [
            {"answer": a["text"], "citations": a["citations"], "count": len(v), "eval_scores": v}
            for a, v in zip(answer, labels, strict=True)
        ],
        **fields,
    }


def test_support_as_in_the_example_of_the_track(tmp_path: Path) -> None:
    """Section 3.4 of Thakur et al. 2025: 0.75 and 0.5. Further citations were not judged."""
    lines = [supported(1, "PS FS -"), supported(2, "PS+FS FS+NS -")]
    path = write_lines(tmp_path / "a.jsonl", lines)
    assert values(path) == ["0.75", "0.75"]
    assert values(path, "weighted_recall") == ["0.5", "0.5"]


def test_support_by_citations(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "a.jsonl",
        [supported(1, "FS PS+FS NS -"), supported(2, "- -"), supported(3, "FS")],
    )
    assert values(path) == ["0.5", None, "1.0"]  # of sentences that cite, by the first citation
    assert values(path, "weighted_recall") == ["0.375", "0.0", "1.0"]  # of all sentences
    assert values(path, "hard_precision") == [repr(1 / 3), None, "1.0"]
    assert values(path, "hard_recall") == ["0.25", "0.0", "1.0"]
    # Sentences that were not assessed count in recall; those without a verdict leave no score.
    longer = supported(1, "FS", answer=[{"text": "x"}] * 4)
    failed = supported(2, "FS")
    failed["support_eval"][0]["eval_scores"] = [None]
    path = write_lines(tmp_path / "b.jsonl", [longer, failed])
    assert values(path, "weighted_recall") == ["0.25", "error"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (assigned("1", "vs", nuggets=[{"assignment": "support"}]), "nugget 1 is .*expected the im"),
        (
            assigned("1", "vs", nuggets=[{"importance": "vital", "assignment": "maybe"}]),
            "nugget 1 is .*support, partial_support, not_support, failed",
        ),
        (assigned("1", "vs", qid=None), r"has no topic \(qid, topic_id, narrative_id\)"),
        (supported(1, "FS XX"), "sentence 2 is .*expected eval_scores, a list of FS, PS, NS"),
        (supported(1, "FS", support_eval=3), "support_eval is 3, expected a list of sentences"),
        (supported(1, "FS FS", answer=[]), "support_eval has 2 sentences, the answer 0"),
    ],
)
def test_lines_of_the_track_that_are_none(
    line: dict[str, Any], expected: str, tmp_path: Path
) -> None:
    path = write_lines(tmp_path / "a.jsonl", [line])
    with pytest.raises(InputError, match=rf"a\.jsonl:1: .*{expected}"):
        cal.scores(path)
    good = assigned("2", "vs") if "nuggets" in line else supported(2, "FS")
    twice = write_lines(tmp_path / "b.jsonl", [good, good])
    with pytest.raises(InputError, match=r"b\.jsonl:2: topic .*: is a second time in the log"):
        cal.scores(twice)


# --- The command ----------------------------------------------------------------------------------


def run(*words: str) -> Any:
    return CliRunner().invoke(cli, ["scores", *words])


def test_the_command_reads_logs(tmp_path: Path) -> None:
    a = write_eval(tmp_path / "a.eval", inspect_header("m"), scored("CCIIC"))
    b = write_eval(tmp_path / "b.eval", inspect_header("n"), scored("CICCC"))
    done = run(f"old={a}", f"new={b}", "--baseline", "old", "--format", "json")
    assert done.exit_code == 0, done.output
    systems = json.loads(done.stdout)["systems"]
    assert [s["name"] for s in systems] == ["old", "new"]
    assert [s["estimates"][0]["value"] for s in systems] == pytest.approx([0.6, 0.8])
    done = run(a, b, "--slice", "metadata.topic", "--cost", "time=total_time", "--cluster",
               "metadata.topic", "--format", "json")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert [s["name"] for s in json.loads(done.stdout)["systems"]] == ["m", "n"]
    lines = write_lm_eval(
        tmp_path / "h", [{"doc_id": k, "filter": f, "em": 1} for k in range(3) for f in "xy"]
    )
    done = run(lines, "--score", "em,x", "--format", "json")
    assert done.exit_code == 0, done.output
    # With a column of cases it is a table as any other.
    rows = [json.loads(line) for line in Path(lines).read_text().splitlines()]
    table = tmp_path / "table.jsonl"
    table.write_text("".join(json.dumps({k: r[k] for k in ("doc_id", "filter", "em", "resps")})
                             + "\n" for r in rows))  # fmt: skip
    done = run(str(table), "--case", "doc_id", "--system", "filter", "--score", "em")
    assert done.exit_code == 0, done.output


def test_what_the_command_refuses(tmp_path: Path) -> None:
    a = write_eval(tmp_path / "a.eval", inspect_header("m"), scored("CCI"))
    b = write_eval(tmp_path / "b.eval", inspect_header("m"), scored("CCI"))
    table = tmp_path / "t.csv"
    table.write_text("id,s\n1,0\n2,1\n")
    for words, code, expected in (
        ([a, b], 1, "name the systems, as in old="),
        ([f"x={a}", b], 2, "name it as the others"),
        ([f"x={a}", f"x={b}"], 2, "x= names two systems"),
        ([a, b, "--case", "id"], 2, "--case goes with one table"),
        ([a, "--score", "s", "--score", "t"], 2, "name one scorer"),
        ([a, "--save-state", str(tmp_path / "state")], 2, "--save-state goes with a table"),
        ([a, str(table)], 1, "is not a log of Inspect"),
        ([str(table)], 2, "give at least one of --score"),
        ([], 2, "Missing argument"),
    ):
        done = run(*words)
        assert (done.exit_code, expected in done.output + str(done.exception)) == (code, True), (
            done.output
        )
    assert run(str(table), "--score", "s").exit_code == 0
