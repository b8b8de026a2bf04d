"""Logging of evaluations to MLflow: values with limits as metrics, page and JSON as artifacts."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from calipers.data.errors import InputError
from calipers.results import Evaluation

#: What names of metrics may not hold, and how long they may be.
_INVALID_CHARACTER = re.compile(r"[^\w\-. :]")
_MAX_NAME_LENGTH = 240


def log_evaluation(
    evaluation: Evaluation,
    *,
    prefix: str = "",
    step: int | None = None,
    run_id: str | None = None,
    folder: str = "calipers",
) -> dict[str, float]:
    """Log an evaluation to the active run of MLflow, or to ``run_id``.

    Every defined value is a metric, such as ``AUC``, with the limits of its interval as
    ``AUC.low`` and ``AUC.high``; with several systems its name is ``forest/AUC``. Characters that
    MLflow does not allow in names are replaced by ``_``: ``nDCG@10`` becomes ``nDCG_10``. The page
    and the JSON of the evaluation are artifacts in ``folder``.

    Parameters
    ----------
    evaluation : Evaluation
        Evaluation to log.
    prefix : str, default=''
        Prefix of the names of the metrics, such as ``"test/"``. Characters that MLflow does not
        allow are replaced as in names.
    step : int, optional
        Step of the metrics.
    run_id : str, optional
        Run of MLflow. By default the active run, or a new one.
    folder : str, default='calipers'
        Folder of the artifacts.

    Returns
    -------
    dict
        The metrics that were logged.
    """
    import mlflow

    metrics = to_metrics(evaluation, prefix)
    mlflow.log_metrics(metrics, step=step, run_id=run_id)
    mlflow.log_text(evaluation.to_html(), f"{folder}/evaluation.html", run_id=run_id)
    mlflow.log_text(evaluation.to_json(), f"{folder}/evaluation.json", run_id=run_id)
    return metrics


def to_metrics(evaluation: Evaluation, prefix: str = "") -> dict[str, float]:
    """Return the finite values and limits of an evaluation, by names that MLflow allows.

    Parameters
    ----------
    evaluation : Evaluation
        Evaluation to convert.
    prefix : str, default=''
        Prefix of the names, such as ``"test/"``.

    Returns
    -------
    dict of str to float
        The metrics.

    Examples
    --------
    >>> import calipers as cal
    >>> qrels, run = {"1": {"a": 1}}, {"1": {"a": 1.0}}
    >>> to_metrics(cal.retrieval(qrels, run, measures=["nDCG@10"], interval="none"))
    {'nDCG_10': 1.0}
    """
    metrics: dict[str, float] = {}
    allowed_prefix = _sanitize_prefix(prefix)
    for full_name, values_by_suffix in _named_values(evaluation):
        name = f"{allowed_prefix}{full_name}"[:_MAX_NAME_LENGTH]
        unique_name, suffix_number = name, 1
        while unique_name in metrics:
            suffix_number += 1
            unique_name = f"{name}_{suffix_number}"
        metrics |= {
            f"{unique_name}{suffix}": value
            for suffix, value in values_by_suffix.items()
            if math.isfinite(value)
        }
    return metrics


def _named_values(evaluation: Evaluation) -> Iterator[tuple[str, dict[str, float]]]:
    has_multiple_systems = len(evaluation.systems) > 1
    for estimate in evaluation:
        components = (
            [estimate.system, estimate.measure] if has_multiple_systems else [estimate.measure]
        )
        name = "/".join(map(_sanitize_name, components))
        yield (
            name,
            {"": estimate.value, ".low": estimate.low, ".high": estimate.high},
        )


def _sanitize_prefix(prefix: str) -> str:
    """Return a prefix that MLflow allows, whose components before a slash are names."""
    *folders, start = prefix.split("/")
    folders = [_sanitize_name(folder) for folder in folders if folder]
    start = _sanitize_name(start) if start else ""
    result = "/".join([*folders, start])
    if len(result) > _MAX_NAME_LENGTH // 2:
        raise InputError(
            f"prefix: has {len(result)} characters, expected at most {_MAX_NAME_LENGTH // 2}"
        )
    return result


def _sanitize_name(name: str) -> str:
    """Return a name that MLflow allows, which is neither empty nor a folder."""
    sanitized = _INVALID_CHARACTER.sub("_", name)
    return sanitized if sanitized.strip(". ") else f"_{sanitized}"
