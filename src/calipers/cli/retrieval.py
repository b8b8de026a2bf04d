"""Features of ``calipers retrieval`` beyond the declaration of the task: it reads runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from calipers.cli.costs import read_costs
from calipers.cli.files import OutputFolder, name_files
from calipers.cli.options import Option, text_option
from calipers.cli.output import write_trec_files
from calipers.cli.shared_options import OutputOptions
from calipers.cli.streams import connect_engine, is_distributed
from calipers.cli.tasks import TaskCommand

if TYPE_CHECKING:
    from calipers.results import Evaluation


class RetrievalCommand(TaskCommand):
    """Command ``calipers retrieval``."""

    display_options = ("per_topic_dir",)

    def task_options(self) -> Option:
        """Return the option for one file per run."""
        return text_option(
            "--per-topic-dir",
            "DIR",
            "Write the output of trec_eval -q for every run to a file RUN.eval in DIR as well.",
            type=OutputFolder(),
        )

    def check(self, options: dict[str, Any], output: OutputOptions) -> None:
        """Check the combination of options."""
        if output.kind == "trec" and len(options["runs"]) > 1:
            raise click.UsageError(
                "the lines of trec_eval have no place for a system; give one run, or "
                "--per-topic-dir for a file each"
            )
        if not options["judgment_bounds"] and (
            options["max_unretrieved"],
            options["max_grade"],
        ) != (None, None):
            raise click.UsageError("--max-unretrieved and --max-grade go with --judgment-bounds")
        if options["topic_curves"] and not output.report.is_requested:
            raise click.UsageError("--topic-curves goes with --report, --open or --charts")
        has_columns = any(
            options[name] for name in ("weight", "count", "cluster", "time", "slices")
        )
        if options["topic_table"] and not (has_columns or options["cost"]):
            raise click.UsageError(
                "--topic-table is there for --weight, --count, --cluster, --time, --slice or "
                "--cost; none of them is given"
            )
        if has_columns and not options["topic_table"]:
            raise click.UsageError(
                "--weight, --count, --cluster, --time and --slice name columns of "
                "--topic-table: give it, too"
            )

    def evaluate(self, options: dict[str, Any], output: OutputOptions) -> Evaluation:
        """Evaluate the runs."""
        from calipers.data.run_names import named_runs
        from calipers.evaluate.retrieval import retrieval

        if options["max_unretrieved"] is None:
            del options["max_unretrieved"]
        self.parse(options)
        options["cost"] = read_costs(options["cost"], str)
        options["slices"] = list(options["slices"]) or None
        qrels, runs = options.pop("qrels"), name_files(options.pop("runs"), named_runs)
        folder = options.pop("per_topic_dir")
        if is_distributed(self.task, qrels, None, options):
            connect_engine(options)
        evaluation = retrieval(qrels, runs, **options)
        if folder is not None:
            write_trec_files(evaluation, folder, [qrels, *runs.values()])
        return evaluation
