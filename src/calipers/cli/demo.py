"""Command ``calipers demo``."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

import click

from calipers.cli.files import Command, NamedPath, check_files

if TYPE_CHECKING:
    from calipers.results import Evaluation


@click.command("demo", cls=Command)
@click.option(
    "-o",
    "--output",
    type=NamedPath(file_okay=False, path_type=Path),
    default=Path("calipers-demo"),
    show_default=True,
    help="Folder for the reports.",
)
def command(output: Path) -> None:
    """Evaluate the bundled example data sets and write their reports.

    The cases are image retrieval on handwritten digits, diagnosis of breast cancer, progression of
    diabetes, and ranking of patients of equal age by it, with two systems each; three clusterings
    of flowers; and three versions of an assistant, with scores by a judge and labels by people.
    Prints the results, and writes one HTML report per case.
    """
    from calipers.cli.output import write_result

    output.mkdir(parents=True, exist_ok=True)
    reports = {name: output / f"{name}.html" for name in CASES}
    with as_file(files("calipers.data") / "demo") as data:
        check_files(
            [("the data of the demo,", str(path)) for path in data.rglob("*") if path.is_file()],
            [("the report", str(path)) for path in reports.values()],
        )
        for name, evaluate in CASES.items():
            evaluation = evaluate(data)
            click.secho(f"{name}: {_heading(evaluate)}", bold=True)
            click.echo()
            write_result(evaluation, "table", None)
            evaluation.to_html(reports[name])
            click.echo(f"\nReport: {reports[name]}\n")


def _heading(evaluate: Callable[[Path], Evaluation]) -> str:
    return (evaluate.__doc__ or "").split("\n", 1)[0]


def digits(data: Path) -> Evaluation:
    """100 queries on 1,697 images of handwritten digits; raw pixels against learned features."""
    from calipers.evaluate.retrieval import retrieval

    folder = data / "digits"
    return retrieval(
        folder / "qrels.txt.gz",
        {name: folder / f"{name}.run.gz" for name in ("nca", "pixels")},
        measures=["AP", "AP(rel=2)", "nDCG@10", "P@10", "R@100", "RR", "Rprec"],
        baseline="pixels",
    )


def breast_cancer(data: Path) -> Evaluation:
    """569 tumors with out-of-fold probabilities of malignancy; two models."""
    from calipers.cli.tables import read_input_table
    from calipers.evaluate.classification import classification

    rows, _, origin, *_ = read_input_table(str(data / "breast_cancer.parquet"))
    return classification(
        rows["diagnosis"],
        probability={"logistic": rows["p_logistic"], "forest": rows["p_forest"]},
        positive="malignant",
        baseline="forest",
        inputs=[origin],
    )


def diabetes(data: Path) -> Evaluation:
    """442 patients with out-of-fold predictions of disease progression; two models."""
    from calipers.cli.tables import read_input_table
    from calipers.evaluate.regression import regression

    rows, _, origin, *_ = read_input_table(str(data / "diabetes.csv"))
    return regression(
        rows["progression"],
        {"ridge": rows["pred_ridge"], "forest": rows["pred_forest"]},
        baseline="forest",
        inputs=[origin],
    )


def diabetes_by_age(data: Path) -> Evaluation:
    """442 patients in 58 groups of equal age, ranked by predicted progression; two models."""
    from calipers.cli.tables import read_input_table
    from calipers.evaluate.ranking import ranking

    rows, _, origin, *_ = read_input_table(str(data / "diabetes.csv"))
    return ranking(
        rows["age"],
        rows["grade"],
        {"ridge": rows["pred_ridge"], "forest": rows["pred_forest"]},
        baseline="forest",
        inputs=[origin],
    )


def iris(data: Path) -> Evaluation:
    """150 flowers of three species, clustered by their measurements; three clusterings."""
    from calipers.cli.tables import read_input_table
    from calipers.evaluate.clustering import clustering

    rows, _, origin, *_ = read_input_table(str(data / "iris.csv"))
    names = [name for name in rows.column_names if name.startswith(("sepal", "petal"))]
    return clustering(
        {name: rows[name] for name in names},
        {name: rows[name] for name in ("kmeans_2", "kmeans_3", "ward_3")},
        rows["species"],
        baseline="kmeans_3",
        inputs=[origin],
    )


def assistant(data: Path) -> Evaluation:
    """200 answers of three (simulated) assistants, scored by a judge; 60 with human labels."""
    from calipers.cli.tables import read_input_table
    from calipers.evaluate.case_scores import scores

    rows, _, origin, *_ = read_input_table(str(data / "assistant" / "scores.csv"))
    names = ("old", "new", "small")
    return scores(
        {name: rows[name] for name in names},
        human={name: rows[f"human_{name}"] for name in names},
        cost={"cents": {name: rows[f"cents_{name}"] for name in names}},
        baseline="old",
        inputs=[origin],
    )


CASES = {
    "retrieval": digits,
    "classification": breast_cancer,
    "regression": diabetes,
    "ranking": diabetes_by_age,
    "clustering": iris,
    "scores": assistant,
}
