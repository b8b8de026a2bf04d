"""Command ``calipers compare``: paired comparison of systems."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.files import Command, Group, NameableFile, is_given, name_files
from calipers.cli.options import (
    added_parameters,
    choice_option,
    combine_options,
    number_option,
    option_with_default,
    repeatable_option,
    text_option,
)
from calipers.cli.output import (
    DATA_FORMATS,
    ReportOptions,
    format_and_file,
    format_options,
    is_for_papers,
    pop_layout,
    write_document,
    write_evaluation,
    write_result,
)
from calipers.cli.shared_options import inference_options
from calipers.cli.tasks import evaluation_options
from calipers.evaluation.tasks import TASKS
from calipers.report import writers

if TYPE_CHECKING:
    from calipers.results import Comparison, Evaluation

TESTS = (
    *("auto", "t", "wilcoxon", "sign", "randomization", "bootstrap", "normal", "delong"),
    *("mcnemar", "mid-p", "diebold-mariano"),
)
ALTERNATIVES = ("two-sided", "better", "worse", "greater", "less")
ADJUSTMENTS = (
    *("max-t", "tukey", "tukey-anova", "holm", "bonferroni", "benjamini-hochberg"),
    "none",
)
DESIGNS = ("k-fold", "resampled", "5x2-f", "5x2-t", "independent")


#: Options of tests and differences.
TEST_PARAMETERS = added_parameters(
    combine_options(
        choice_option(
            "--test",
            TESTS,
            "Test of the null hypothesis of no difference; auto is the "
            "default test of each measure.",
        ),
        click.option(
            "--horizon",
            type=int,
            metavar="H",
            help="Forecast horizon in steps, for --test diebold-mariano.",
        ),
        choice_option(
            "--alternative",
            ALTERNATIVES,
            "One-sided alternative: better or worse in the direction of the measure; greater or "
            "less in value.",
        ),
        choice_option(
            "--adjust",
            ADJUSTMENTS,
            "Multiplicity adjustment of p-values and intervals. max-t is the single-step "
            "max-t method; tukey is the randomized HSD test, tukey-anova that of the two-way "
            "analysis of variance.",
        ),
        repeatable_option(
            "--margin margins",
            "[NAME=]X",
            "Margin of non-inferiority and equivalence tests, for all measures or for one. "
            "Repeatable.",
        ),
    )
)

#: Options of the output.
OUTPUT_PARAMETERS = added_parameters(format_options)

#: Options of the design of test splits.
DESIGN_PARAMETERS = added_parameters(
    combine_options(
        click.option(
            "--design",
            type=click.Choice(DESIGNS),
            help="Compare over test splits of this design: (repeated) cross-validation, repeated "
            "hold-out, 5x2-fold cross-validation (F or t test), or splits that share no training "
            "rows.",
        ),
        number_option("--train-rows train", "N", "Number of training rows."),
        number_option("--test-rows", "N", "Number of test rows."),
    )
)

#: The options that name columns of splits.
SPLIT_OPTIONS = ("split", "repetition")
REPETITION = text_option("--repetition", "COL", "Column of the repetition of each split.")
SPLIT_PARAMETERS = added_parameters(
    combine_options(
        text_option("--split", "COL", "Column of the test split of each row."), REPETITION
    )
)


#: Commands of the tasks, whose results are compared, and values of other tools.
SUBCOMMANDS = {
    **{name: f"Compare systems on the input of `calipers {name}`." for name in TASKS},
    "values": "Compare values by topic, data set or split from another tool.",
}


@click.group(
    "compare",
    cls=Group,
    help_by_command=SUBCOMMANDS,
    find=lambda name: values_command if name == "values" else make_compare_command(name),
    subcommand_metavar="COMMAND …",
    no_args_is_help=True,
)
def command() -> None:
    """Compare systems with paired tests and confidence intervals.

    Systems are compared on the same data: all pairs, or every system with --baseline. Each
    difference is reported with its confidence interval, a paired test, a p-value adjusted for the
    number of pairs, and the minimum detectable difference.

    \b
    Examples:
      calipers compare retrieval qrels.txt bm25.run dense.run -m nDCG@10 --baseline bm25
      calipers compare retrieval qrels.txt *.run -m AP --adjust tukey --report runs.html
      calipers compare classification scan.csv --truth y --score old --score new -m AUC \\
        --baseline old --margin 0.01
      calipers compare classification folds.csv --truth y --score old --score new -m AUC \\
        --split fold --design k-fold
      calipers compare values bm25.eval dense.eval --test wilcoxon
    """


def make_compare_command(name: str) -> click.Command:
    """Create the command that compares the systems of a task, with the task's arguments."""
    task_params, evaluate = evaluation_options(name)
    split_params = [*SPLIT_PARAMETERS, *DESIGN_PARAMETERS] if TASKS[name].has_splits else []

    def callback(**options: Any) -> None:
        out = pop_output(options)
        test_options = pop_test_options(options)
        design, columns = pop_design(options), (options.pop(c, None) for c in SPLIT_OPTIONS)
        split, repetition = columns
        interval, primary = pop_interval(options), options.pop("primary")

        def compared(evaluation: Evaluation) -> None:
            from calipers.evaluation.stored_predictions import resolve_baseline_name

            baseline = resolve_baseline_name(evaluation, options["baseline"])
            if design["design"] is None:
                comparison = evaluation.compare(
                    baseline, primary=primary, interval=interval, **test_options
                )
            else:
                comparison = compare_over_splits(
                    evaluation,
                    test_options,
                    design,
                    split=_read_column(options["table"], split, "split"),
                    repetition=_read_column(options["table"], repetition, "repetition"),
                    count=_read_column(options["table"], options["count"]),
                    baseline=baseline,
                    level=options["level"],
                )
            write_evaluation(comparison, *out)

        if (split is None) != (design["design"] is None):
            raise click.UsageError("--split and --design go together")
        if repetition is not None and split is None:
            raise click.UsageError("--repetition goes with --split")

        evaluate(**options, then=compared)

    return Command(
        name,
        callback=callback,
        params=[*task_params, *TEST_PARAMETERS, *split_params, *OUTPUT_PARAMETERS],
        help=f"Compare systems on the input of `calipers {name}`.",
    )


def pop_output(options: dict[str, Any]) -> tuple[str, str | None, ReportOptions, str | None]:
    """Pop the format, file, report and layout from the options."""
    kind, path = format_and_file(options, DATA_FORMATS, "a comparison")
    return kind, path, ReportOptions.pop_from(options), pop_layout(options, kind)


def _read_column(table: str, name: str | None, role: str = "") -> Any:
    if name is None:
        return None
    from calipers.cli.tables import label_columns, read_input_table
    from calipers.data.tables import column

    rows = read_input_table(table, categories=label_columns({role: name})).table
    return column(rows, name, table)


def pop_test_options(options: dict[str, Any]) -> dict[str, Any]:
    """Pop the options of tests and differences from the options."""
    test_options = {key: options.pop(key) for key in ("test", "alternative", "adjust", "horizon")}
    return {**test_options, "margin": parse_margins(options.pop("margins"))}


def pop_interval(options: dict[str, Any]) -> str | None:
    """Pop the interval method, and disable the intervals of the evaluation.

    The values of single systems are not displayed, and with intervals the evaluation would compare
    all pairs itself.
    """
    from calipers.evaluation.options import make_settings

    interval: str = options["interval"]
    make_settings(interval, options["level"], options["n_resamples"], options["seed"])
    options["interval"] = "none"
    return None if "none" in interval.lower() else interval


def pop_design(options: dict[str, Any]) -> dict[str, Any]:
    """Pop the design of the test splits from the options."""
    design = {key: options.pop(key, None) for key in ("design", "train", "test_rows")}
    if design["design"] is None and (design["train"], design["test_rows"]) != (None, None):
        raise click.UsageError("--train-rows and --test-rows go with --design")
    if design["design"] is not None:
        for name in filter(is_given, ("interval", "unit", "primary")):
            raise click.UsageError(
                f"--{name} does not apply to test splits: with --design the units are the splits, "
                "and the design determines the test and the interval"
            )
    return design


def compare_over_splits(
    source: Any, test_options: dict[str, Any], design: dict[str, Any], **options: Any
) -> Comparison:
    """Compare systems over test splits."""
    has_margin_or_horizon = (
        test_options["margin"] is not None or test_options["horizon"] is not None
    )
    replaces_test = test_options["adjust"] in ("tukey", "tukey-anova")
    if test_options["test"] != "auto" or has_margin_or_horizon or replaces_test:
        raise click.UsageError(
            "the design determines the test: --design excludes --test, --margin, --horizon and "
            "--adjust tukey and tukey-anova"
        )
    from calipers.evaluate.splits import compare_splits

    return compare_splits(
        source,
        design=design["design"],
        train=design["train"],
        test=design["test_rows"],
        alternative=test_options["alternative"],
        adjust="holm" if test_options["adjust"] == "max-t" else test_options["adjust"],
        **options,
    )


def _compare_values(
    files: tuple[str, ...], measure: str, lower_is_better: tuple[str, ...], **options: Any
) -> None:
    out = pop_output(options)
    test_options, design = pop_test_options(options), pop_design(options)
    baseline, unit, primary = (options.pop(name) for name in ("baseline", "unit", "primary"))
    interval, repetition = pop_interval(options), options.pop("repetition")
    if repetition is not None and design["design"] is None:
        raise click.UsageError("--repetition goes with --design")
    shared: dict[str, Any] = {"measure": measure, "lower_is_better": lower_is_better}
    from calipers.data.external_values import files_by_name

    paths = name_files(files, files_by_name)
    if design["design"] is not None:
        comparison = compare_over_splits(
            paths,
            test_options,
            design,
            repetition=repetition,
            baseline=baseline,
            level=options["level"],
            **shared,
        )
    else:
        from calipers.evaluate.external_values import from_values

        options["interval"] = interval or "none"
        evaluation = from_values(paths, unit=unit, compare=False, **shared, **options)
        comparison = evaluation.compare(
            baseline, primary=primary, interval=interval, **test_options
        )
        _write_with_values(evaluation, comparison, *out)
        return
    write_evaluation(comparison, *out)


def _write_with_values(
    evaluation: Evaluation,
    comparison: Comparison,
    kind: str,
    path: str | None,
    report: ReportOptions,
    layout: str | None,
) -> None:
    """Write a comparison; in documents other than for papers with the value of each system.

    A page is that of the evaluation, which opens with the verdict, the values and their plot.
    """
    page = replace(evaluation, comparison=comparison)
    charts = replace(report, path=None, opens_report=False)
    if kind in DATA_FORMATS or is_for_papers(kind):
        write_evaluation(comparison, kind, path, charts, layout)
    else:
        from calipers.report.documents import DisplayOptions, document, values_document

        look = DisplayOptions(writers.get_writer(kind).medium, layout)
        if look.is_in_browser:
            write_result(page, kind, path, layout=layout)
        else:
            blocks = [*values_document(evaluation, look), *document(comparison, look)]
            write_document(blocks, kind, path)
        charts.write(comparison)
    # Last, as charts need more memory than anything else.
    replace(report, charts=None).write(page)


values_command: click.Command = Command(
    "values",
    callback=_compare_values,
    params=[
        click.Argument(["files"], nargs=-1, required=True, type=NameableFile()),
        *added_parameters(
            combine_options(
                text_option(
                    "--measure",
                    "NAME",
                    "Measure of the values, if the files do not name it.",
                    default="value",
                ),
                repeatable_option(
                    "--lower-is-better",
                    "NAME",
                    "Measure of which lower values are better; repeatable.",
                ),
                option_with_default("--unit", "topics", "Name of the units.", metavar="NAME"),
                text_option(
                    "--baseline", "NAME", "Compare every system with this one instead of all pairs."
                ),
                text_option("--primary", "MEASURE", "Primary measure (default: the first)."),
                inference_options,
            )
        ),
        *TEST_PARAMETERS,
        *DESIGN_PARAMETERS,
        *added_parameters(REPETITION),
        *OUTPUT_PARAMETERS,
    ],
    help="Compare values by topic, data set or split from another tool. FILES are tables with the "
    "columns system, topic (or unit), value and perhaps measure; or, one for each system, such "
    "tables without a system, or what trec_eval -q printed. A system has the name of its file, or "
    "NAME=FILE.",
)


def parse_margins(specs: tuple[str, ...]) -> Any:
    """Parse margins: one number for all measures, numbers by measure, or None."""
    if not specs:
        return None
    margin_by_measure: dict[str, float] = {}
    for spec in specs:
        name, _, size = spec.rpartition("=")
        try:
            margin_by_measure[name] = float(size)
        except ValueError:
            raise click.UsageError(
                f"--margin {spec!r}: expected a number, or NAME=number"
            ) from None
    if "" in margin_by_measure and len(margin_by_measure) > 1:
        raise click.UsageError("--margin: give a number for all measures, or one for each by name")
    return margin_by_measure.get("", margin_by_measure)
