"""Evaluations in MLflow, with the real library."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.integrations.mlflow import log_evaluation, to_metrics


def evaluation(**names: Any) -> Any:
    truth = np.arange(60) % 2
    score = np.random.default_rng(0).random((len(names or {"a": 0}), 60)) + 0.5 * truth
    said: Any = dict(zip(names, score, strict=True)) if names else score[0]
    return cal.classification(truth, score=said, measures=["AUC", "precision@recall=0.9"])


def test_names_are_allowed_and_none_is_lost() -> None:
    both = evaluation(**{"a/b": 0, "..": 0})
    metrics = to_metrics(both)
    assert metrics["a_b/AUC"] == both["a/b", "AUC"].value
    assert {name.partition("/")[0] for name in metrics} == {"a_b", "_.."}
    twins = to_metrics(evaluation(**{"a:b": 0, "a@b": 0, "a_b": 0}))
    assert {"a:b/AUC", "a_b/AUC", "a_b/AUC_2", "a_b/AUC_2.low"} <= set(twins)
    one = to_metrics(evaluation())
    assert set(one) >= {"AUC", "AUC.low", "AUC.high", "precision_recall_0.9"}
    undefined = cal.classification([1, 1], [1, 1], measures=["specificity"])
    assert to_metrics(undefined) == {}


PAGE = Path(__file__).resolve().parents[2] / "docs" / "notebook.md"


def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """MLflow, which keeps its runs in a folder and tells nobody."""
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    return mlflow


@pytest.mark.slow
def test_the_example_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = store(tmp_path, monkeypatch)
    [block] = [
        b for b in re.findall(r"```py\n(.*?)```", PAGE.read_text(), re.DOTALL) if "mlflow" in b
    ]
    exec(block, {"ev": evaluation(a=0, b=0)})
    [run] = mlflow.MlflowClient().search_runs(["0"])
    assert "b/AUC.high" in run.data.metrics


@pytest.mark.slow
def test_a_run_has_values_page_and_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = store(tmp_path, monkeypatch)
    ev = evaluation(**{"old model": 0, "new@2": 0})
    with mlflow.start_run() as run:
        logged = log_evaluation(ev, prefix="test/", step=3)
    client = mlflow.MlflowClient()
    found = client.get_run(run.info.run_id).data.metrics
    assert found == pytest.approx(logged)
    assert found["test/old model/AUC"] == ev["old model", "AUC"].value
    assert found["test/new_2/AUC.low"] == ev["new@2", "AUC"].low
    [history] = client.get_metric_history(run.info.run_id, "test/new_2/AUC")
    assert history.step == 3
    folder = Path(mlflow.artifacts.download_artifacts(run_id=run.info.run_id, dst_path=tmp_path))
    assert cal.from_json(folder / "calipers" / "evaluation.json").systems == ev.systems  # type: ignore[attr-defined]
    assert (folder / "calipers" / "evaluation.html").read_text("utf-8") == ev.to_html()
    # Into a run that is over.
    again = evaluation()
    assert log_evaluation(again, run_id=run.info.run_id)["AUC"] == again["AUC"].value
    assert client.get_run(run.info.run_id).data.metrics["AUC"] == again["AUC"].value


def test_prefixes_are_allowed_names_too() -> None:
    ev = evaluation()
    assert set(to_metrics(ev, "test/")) >= {"test/AUC", "test/AUC.low"}
    assert set(to_metrics(ev, "fold@1/x:")) >= {"fold_1/x:AUC"}
    assert set(to_metrics(ev, "/a//../b")) >= {"a/_../bAUC"}
    with pytest.raises(cal.InputError, match="prefix: has 500 characters, expected at most 120"):
        to_metrics(ev, "p" * 500)
    long = evaluation(**{"s" * 240: 0, "s" * 241: 0})
    names = to_metrics(long, "p" * 100 + "/")
    assert max(map(len, names)) <= 250
    assert len({name.removesuffix(".low") for name in names if name.endswith(".low")}) == 4
