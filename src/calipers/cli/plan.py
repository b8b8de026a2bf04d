"""Command ``calipers plan``: planning from assumptions, or from a pilot."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.files import Command, Group, OutputFile, is_given
from calipers.cli.options import (
    added_parameters,
    choice_option,
    combine_options,
    flag_option,
    number_option,
    option_with_default,
    text_option,
)
from calipers.cli.output import (
    DATA_FORMATS,
    format_and_file,
    format_options,
    write_document,
    write_output,
)
from calipers.cli.tasks import evaluation_options
from calipers.evaluation.tasks import TASKS

if TYPE_CHECKING:
    from calipers.results import Evaluation, Plan


#: Options of goals and output, the same for assumptions and pilots.
GOALS = added_parameters(
    combine_options(
        number_option("--half-width", "W", "Maximum half-width of the interval."),
        number_option("--difference", "D", "True difference to detect."),
        number_option("--margin", "M", "Non-inferiority margin."),
        flag_option("--equivalence", "With --margin: test equivalence instead of non-inferiority."),
        number_option("--reference", "X", "Reference value to test against."),
        text_option(
            "-n --units n",
            "N",
            "Compute the power or precision of this number of topics or rows.",
            type=click.IntRange(2, 10**12),
        ),
        number_option("--power", "P", "Power of the test (default: 0.8)."),
        number_option(
            "--assurance",
            "P",
            "With --half-width: probability that the interval is no wider.",
            default=0.8,
            show_default=True,
        ),
        choice_option("--test", ["t", "wilcoxon", "anova", "tukey"], "Planned test of means."),
        option_with_default(
            "--comparisons",
            1,
            "Number of comparisons (Bonferroni).",
            type=click.IntRange(1, 10**6),
            metavar="M",
        ),
        partial(format_options, report=False),
    )
)

#: Options of assumptions, without a pilot.
ASSUMPTIONS = added_parameters(
    combine_options(
        number_option(
            "--value", "V", "Expected value (of the baseline), for proportions and areas."
        ),
        number_option(
            "--sd",
            "S",
            "Standard deviation over units; for a difference, that of the paired differences.",
        ),
        number_option("--prevalence", "P", "Proportion of positive rows."),
        number_option(
            "--discordant",
            "P",
            "Proportion of rows that exactly one of two systems classifies correctly.",
        ),
        number_option(
            "--correlation",
            "R",
            "Correlation of the values of two systems over units, or of their two areas.",
        ),
        flag_option(
            "--independent", "Two independent samples of N units each, instead of a paired design."
        ),
        option_with_default(
            "--systems",
            2,
            "Number of systems compared by --test anova or tukey.",
            type=click.IntRange(2, 1000),
        ),
        number_option(
            "--cluster-size", "M", "Number of rows per cluster.", default=1, show_default=True
        ),
        number_option("--icc", "R", "Intraclass correlation.", default=0, show_default=True),
        number_option(
            "--level", "L", "Confidence level of the intervals.", default=0.95, show_default=True
        ),
    )
)


SUBCOMMANDS = {
    "assumed": "Plan from assumptions; MEASURE alone means this.",
    "labels": "Plan human labels for a judge: how many, and of which cases.",
    **{name: f"Plan from a pilot on the input of `calipers {name}`." for name in TASKS},
}


class PlanGroup(Group):
    """Group in which a first word that is not a command is a measure."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve ``plan nDCG@10 …`` as ``plan assumed nDCG@10 …``."""
        return super().resolve_command(ctx, args if args[0] in SUBCOMMANDS else ["assumed", *args])


@click.group(
    "plan",
    cls=PlanGroup,
    help_by_command=SUBCOMMANDS,
    find=lambda name: _find_command(name),  # noqa: PLW0108 - defined below
    subcommand_metavar="MEASURE [OPTIONS] | COMMAND …",
    no_args_is_help=True,
)
def command() -> None:
    """Compute the required sample size, or the power of an existing sample.

    Give one of --half-width, --difference (with --power), --margin, --reference; or -n. See
    `calipers plan assumed --help` for the numbers, and the others for planning from a pilot.

    \b
    Examples:
      calipers plan nDCG@10 --sd 0.1 --difference 0.02
      calipers plan recall --value 0.9 --half-width 0.03 --prevalence 0.1
      calipers plan AUC --value 0.8 --prevalence 0.1 -n 2000
      calipers plan retrieval qrels.txt bm25.run dense.run -m nDCG@10 --difference 0.02
      calipers plan classification scan.csv --truth y --score s -m AUC --half-width 0.02
      calipers plan labels verdicts.csv --score old --score new --human old=human_old \\
        --human new=human_new --difference 0.1 --cases next.csv
    """


def _find_command(name: str) -> click.Command:
    if name == "labels":
        return _make_labels_command()
    return assumed if name == "assumed" else _make_pilot_command(name)


def _plan_from_assumptions(measure: str, **options: Any) -> None:
    kind, path = format_and_file(options, DATA_FORMATS, "a plan")
    options["paired"] = not options.pop("independent")
    _write_plans([_plan(measure, **options)], kind, path)


def _plan(*arguments: Any, **options: Any) -> Plan:
    """Return a plan; an error about the power names the option."""
    from calipers.data.errors import InputError
    from calipers.evaluate.plan import plan

    try:
        return plan(*arguments, **options)
    except InputError as error:
        if str(error).startswith("power: "):
            raise click.UsageError(f"--{error}") from None
        raise


assumed: click.Command = Command(
    "assumed",
    callback=_plan_from_assumptions,
    help="Plan from assumptions. MEASURE is a measure such as nDCG@10, recall or AUC.",
    params=[click.Argument(["measure"]), *ASSUMPTIONS, *GOALS],
)


def _make_pilot_command(name: str) -> click.Command:
    """Create the command that plans from an evaluation of a task, with the task's arguments."""
    task_params, evaluate = evaluation_options(name, {"interval", "target"})

    def callback(**options: Any) -> None:
        kind, path = format_and_file(options, DATA_FORMATS, "a plan")
        goals = {key: options.pop(key) for key in goal_names}
        system = options.pop("target")
        if not options["measures"]:
            raise click.UsageError("give a measure to plan for, such as -m nDCG@10")

        def planned(evaluation: Evaluation) -> None:
            names = [evaluation.requested_names.get(m, m) for m in evaluation.measures]
            shared = {
                "system": system,
                "baseline": options["baseline"],
                "level": options["level"],
                "n_resamples": options["n_resamples"],
                "seed": options["seed"],
            }
            _write_plans([_plan(m, evaluation, **goals, **shared) for m in names], kind, path)

        # Defaults of the options, as in the command of the task.
        evaluate(**options, then=planned)

    goal_names = [str(p.name) for p in GOALS if p.name not in ("format_", "output")]
    target_option = click.Option(
        ["--target"],
        metavar="NAME",
        help="System to plan for, if there are several; see --baseline.",
    )
    return Command(
        name,
        callback=callback,
        params=[*task_params, target_option, *GOALS],
        help=f"Plan from a pilot on the input of `calipers {name}`. With two systems, their "
        "difference is planned for, and with one its value.",
    )


_LABELS_HELP = """
Plan human labels in addition to the scores of a judge, from a pilot with some labels.

With two systems, their difference is planned for, and with one its value. Cases are drawn from
strata of the judge's verdicts and of disagreement between systems (Neyman's allocation). -n counts
all labeled cases, including those of the pilot.
"""


def _make_labels_command() -> click.Command:
    """Create the command that plans human labels, with the arguments of ``calipers scores``."""
    task_params, evaluate = evaluation_options("scores", {"interval", "target"})

    def callback(**options: Any) -> None:
        kind, path = format_and_file(options, DATA_FORMATS, "a plan")
        goals = {key: options.pop(key) for key in (*goal_names, "min_labels")}
        system, cases = options.pop("target"), options.pop("cases")
        if not options["human"]:
            raise click.UsageError("plan labels needs the labels of a pilot: --human")

        def planned(evaluation: Evaluation) -> None:
            from calipers.evaluate.plan_labels import plan_labels

            shared = {"system": system, **{k: options[k] for k in ("baseline", "level", "seed")}}
            plan = plan_labels(evaluation.measures[0], evaluation, **goals, **shared)
            if cases is not None:
                assert plan.selection is not None
                write_output(plan.selection.to_csv(), cases)
            write_plans([plan], kind, path)

        evaluate(**options, then=planned)

    goal_names = ("half_width", "difference", "n", "power")
    goals = [p for p in GOALS if p.name in (*goal_names, "format_", "output")]
    labels_params = added_parameters(
        combine_options(
            text_option(
                "--target", "NAME", "System to plan for, if there are several; see --baseline."
            ),
            option_with_default(
                "--min-labels",
                10,
                "Least number of labels in each stratum.",
                type=click.IntRange(0),
                metavar="N",
            ),
            text_option(
                "--cases",
                "FILE.csv",
                "Write the cases to label, with their probability pi and weight 1/pi.",
                type=OutputFile(),
            ),
        )
    )
    return Command(
        "labels",
        callback=callback,
        params=[*task_params, *labels_params, *goals],
        help=inspect.cleandoc(_LABELS_HELP),
    )


def _write_plans(plans: Sequence[Plan], kind: str, path: str | None) -> None:
    """Write the plans, after checking that --test applies to them."""
    if is_given("test") and all(
        math.isnan(row.power) and math.isnan(row.min_detectable) for p in plans for row in p.table
    ):
        raise click.UsageError(
            "--test: does not apply to the interval of one system's value, as nothing is tested"
        )
    write_plans(plans, kind, path)


def write_plans(plans: Sequence[Plan], kind: str, path: str | None) -> None:
    """Write the plans in one format; JSON has an object for one and a list for several."""
    if kind == "json":
        data = [plan.to_dict() for plan in plans]
        text = json.dumps(data if len(data) > 1 else data[0], indent=2, ensure_ascii=False)
        write_output(text, path)
    elif kind == "csv":
        from calipers.report.spreadsheets import csv_text

        write_output(csv_text([row for p in plans for row in p.rows()], plans[0].kinds()), path)
    else:
        from calipers.report.documents import DisplayOptions, document
        from calipers.report.writers import get_writer

        look = DisplayOptions(get_writer(kind).medium)
        write_document(chain.from_iterable(document(p, look) for p in plans), kind, path)
