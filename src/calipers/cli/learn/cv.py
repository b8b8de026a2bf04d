"""``calipers learn cv``."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.completion import measure_names
from calipers.cli.files import Command, InputFile
from calipers.cli.learn.shared import (
    divided_options,
    parse_estimator,
    select_features,
    threshold_of,
    tuned_options,
)
from calipers.cli.options import (
    SHARE,
    choice_option,
    combine_options,
    flag_option,
    number_option,
    of_argument,
    option_with_default,
    repeatable_option,
    text_option,
)
from calipers.cli.process import EXIT_INTERRUPTED
from calipers.cli.shared_options import OutputOptions, output_options
from calipers.cli.tables import read_input_table
from calipers.cli.wording import as_options
from calipers.learning.parameters import GROUP, POSITIVE, TIME, WEIGHT

if TYPE_CHECKING:
    import pyarrow as pa

#: Columns of one name each.
_COLUMNS = ("fold", "repetition", "part", "group", "time", "weight")

_fitted_options = combine_options(
    repeatable_option(
        "--estimator",
        "[NAME=]PATH",
        "A class of scikit-learn or of your own, as in sklearn.linear_model.Ridge(alpha=0.5): "
        "numbers, texts, true, false and none in brackets. Repeatable: they are compared on the "
        "same folds.",
    ),
    text_option(
        "--features", "COL,…", "Its features: columns of numbers; unless given, all other ones."
    ),
    divided_options(10, 1),
    of_argument(GROUP),
    of_argument(TIME),
    flag_option("--stratify", "Spread the truth of a regression evenly, as classes are unasked."),
    option_with_default(
        "--jobs n_jobs", 1, "How many fits at a time; -1 for all processors.", type=int
    ),
)

_said_options = combine_options(
    click.option(
        "--on",
        type=click.Choice(["test", "validation"]),
        help="With --part: which rows are measured; the test rows unless given.",
    ),
    text_option("--fold", "COL", "Of predictions made elsewhere: column of the fold of each row."),
    text_option(
        "--repetition", "COL", "Column of the repetition, where rows stand there for each."
    ),
    number_option(
        "--train", "ROWS", "On how many rows models were trained; else on the other folds."
    ),
    repeatable_option(
        "--predicted", "[NAME=]COL", "Column of predicted labels or numbers; repeatable."
    ),
    repeatable_option("--score", "[NAME=]COL", "Column of scores; repeatable."),
    repeatable_option(
        "--probability", "[NAME=]COL", "Column of probabilities of the positive class."
    ),
)


@click.command("cv", cls=Command)
@click.argument("table", type=InputFile())
@text_option("--truth", "COL", "Column of what is to be predicted.", required=True)
@_fitted_options
@_said_options
@of_argument(WEIGHT)
@click.option(
    "--task",
    type=click.Choice(["classification", "regression"]),
    help="What it is, where neither estimators nor columns tell.",
)
@of_argument(POSITIVE)
@tuned_options
@repeatable_option(
    "-m --measure measures", "NAME", "A measure; repeatable.", shell_complete=measure_names
)
@text_option("--baseline", "NAME", "Compare with this estimator, not every pair.")
@choice_option("--interval", ["corrected", "nested", "none"], "How intervals are made.")
@option_with_default("--level", 0.95, "Level of the intervals.", type=SHARE)
@option_with_default("--seed", 0, "Seed of folds and fits.", type=click.IntRange(0, 2**31 - 1))
@output_options
def command(table: str, truth: str, **options: Any) -> None:
    """Cross-validate an estimator on TABLE (CSV, Parquet, Feather or JSON Lines; - is the standard
    input), or evaluate the predictions of folds that stand in it.

    Every measure is averaged over folds, with an interval that knows that these share training
    rows, and pooled over all rows. Estimators take scikit-learn (the extra learn).

    \b
    Examples:
      calipers learn cv patients.csv --truth progression -m MSE --repeats 5 \\
        --estimator 'ridge=sklearn.linear_model.Ridge(alpha=0.01)' \\
        --estimator ols=sklearn.linear_model.LinearRegression
      calipers learn cv scans.csv --truth malignant --probability p_net --fold fold
      calipers learn cv scans.csv --truth malignant --probability p_net --part part \\
        --threshold accuracy
    """
    output = OutputOptions.take(options)
    from calipers.data.tables import add_location, column
    from calipers.learning.cross_validation import cross_validate

    rows = read_input_table(table).rows
    given = options.pop("estimator")
    features, stratify = options.pop("features"), options.pop("stratify")
    said = {kind: options.pop(kind) for kind in ("predicted", "score", "probability")}
    options["threshold"] = threshold_of(options["threshold"])
    with add_location(table), as_options():
        own = {name: options.pop(name) for name in _COLUMNS}
        columns = {name: of and column(rows, of, table) for name, of in own.items()}
        target = column(rows, truth, table)
        for kind, texts_ in said.items():
            columns[kind] = _named_columns(texts_, rows, table) or None
        if given:
            taken = {truth, *filter(None, own.values())}
            options |= {
                "estimator": dict(map(parse_estimator, given)),
                "X": select_features(rows, features, taken, table),
                "y": target,
                "stratify": stratify or None,
            }
        else:
            _only_fitted(features, stratify)
            options["truth"] = target
            options["stratify"] = None
        with warnings.catch_warnings():
            # A note says so too.
            warnings.filterwarnings("ignore", "interrupted:", UserWarning)
            evaluation = cross_validate(
                **columns,
                **{**options, "measures": options["measures"] or None},
                curves=output.page.wanted,
                inputs=[read_input_table(table).origin],
            )
    output.finish(evaluation)
    if any(note.startswith("Interrupted:") for note in evaluation.notes):
        raise SystemExit(EXIT_INTERRUPTED)


def _only_fitted(features: str | None, stratify: bool) -> None:
    if features is not None or stratify:
        raise click.UsageError("--features and --stratify go with --estimator")


def _named_columns(given: tuple[str, ...], rows: pa.Table, table: str) -> dict[str, Any]:
    """The columns of systems, by the names of these."""
    from calipers.data.tables import column

    pairs = ((one, "", one) if one in rows.column_names else one.partition("=") for one in given)
    return {name: column(rows, of or name, table) for name, _, of in pairs}
