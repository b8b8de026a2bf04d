"""Requirements on the command line, and output of their results."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.files import OutputFile
from calipers.cli.options import combine_options, repeatable_option, text_option
from calipers.cli.output import write_output
from calipers.cli.process import EXIT_UNMET, write_stderr
from calipers.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from calipers.evaluate.requirements import RequirementResult
    from calipers.results import Evaluation

#: Environment variables of GitHub: the file of the summary of a job, and the sign that it is one.
SUMMARY_VARIABLE, ACTIONS_VARIABLE = "GITHUB_STEP_SUMMARY", "GITHUB_ACTIONS"

requirement_options = combine_options(
    repeatable_option(
        "--require requirements",
        "RULE",
        "Exit with status 1 unless this requirement is met: 'nDCG@10 >= 0.35', 'low(AUC) >= "
        "0.9', 'AUC not worse than last by 0.01', 'AP better than bm25'. Repeatable.",
    ),
    text_option(
        "--junit",
        "FILE.xml",
        "Write the outcome of each --require to this file (JUnit XML).",
        type=OutputFile(),
    ),
    click.option(
        "--github-summary",
        is_flag=True,
        help="Add the result, and the outcome of each --require, to the summary of a job on "
        f"GitHub: to the file that {SUMMARY_VARIABLE} names.",
    ),
)


@dataclass(frozen=True)
class RequirementOptions:
    """Requirements, and the files for their results."""

    rules: tuple[str, ...]
    junit: str | None
    summary: str | None
    baseline: str | None = None

    @classmethod
    def pop_from(cls, options: dict[str, Any]) -> RequirementOptions:
        """Pop these options from the options of a command, and parse the requirements."""
        rules, junit = options.pop("requirements"), options.pop("junit")
        summary = None
        if options.pop("github_summary"):
            summary = os.environ.get(SUMMARY_VARIABLE)
            if not summary:
                raise click.UsageError(
                    f"--github-summary adds to the file that {SUMMARY_VARIABLE} names, which is "
                    "not set "
                    "here; "
                    "-o FILE.md writes Markdown anywhere"
                )
        if rules:
            from calipers.data.errors import InputError
            from calipers.evaluate.requirements import parse_requirement

            for each in rules:
                try:
                    parse_requirement(each)
                except InputError as error:
                    raise click.UsageError(f"--require {error}") from None
        elif junit:
            raise click.UsageError("--junit goes with --require")
        return cls(rules, junit, summary, options.get("baseline"))

    def check(self, evaluation: Evaluation) -> tuple[RequirementResult, ...]:
        """Return the results of the requirements."""
        if not self.rules:
            return ()
        from calipers.data.errors import InputError
        from calipers.evaluate.requirements import check_requirements
        from calipers.evaluation.stored_predictions import resolve_baseline_name

        try:
            baseline = resolve_baseline_name(evaluation, self.baseline)
            return check_requirements(evaluation, self.rules, baseline=baseline)
        except InputError as error:
            raise click.UsageError(f"--require {error}") from None

    def write_and_exit(self, evaluation: Evaluation, rulings: Sequence[RequirementResult]) -> None:
        """Write the results, and exit with 1 if a requirement is not met."""
        if self.junit is not None:
            write_output(format_junit(evaluation.task, rulings), self.junit)
        if self.summary is not None:
            with open(self.summary, "a", encoding="utf-8") as file:  # noqa: PTH123
                file.write(format_markdown(rulings) + evaluation.to_markdown().rstrip() + "\n")
        for ruling in rulings:
            write_stderr(str(ruling))
            if not ruling.passed and os.environ.get(ACTIONS_VARIABLE) == "true":
                write_stderr(
                    "::error "
                    f"title={_escape_command(ruling.rule, ':,')}::{_escape_command(ruling.message)}"
                )
        if not all(ruling.passed for ruling in rulings):
            raise click.exceptions.Exit(EXIT_UNMET)


def _escape_command(text: str, extra_characters: str = "") -> str:
    """Escape the text of a workflow command of GitHub."""
    for sign in "%\r\n" + extra_characters:
        text = text.replace(sign, f"%{ord(sign):02X}")
    return text


def format_junit(name: str, rulings: Sequence[RequirementResult]) -> str:
    """Return the results as JUnit XML, with a test case for each rule and system."""
    failures = sum(not ruling.passed for ruling in rulings)
    counts = {"tests": str(len(rulings)), "failures": str(failures), "errors": "0"}
    from xml.etree import ElementTree as ET

    suites = ET.Element("testsuites", counts)
    suite = ET.SubElement(suites, "testsuite", {"name": f"calipers {name}", **counts})
    for ruling in rulings:
        names = {"classname": f"calipers.{name}.{ruling.system}", "name": ruling.rule}
        case = ET.SubElement(suite, "testcase", {k: _printable_text(v) for k, v in names.items()})
        if not ruling.passed:
            failure = ET.SubElement(case, "failure", {"message": "not met"})
            failure.text = _printable_text(ruling.message)
        else:
            ET.SubElement(case, "system-out").text = _printable_text(ruling.message)
    ET.indent(suites)
    return ET.tostring(suites, encoding="unicode", xml_declaration=True)


def _printable_text(text: str) -> str:
    """Replace characters that XML does not support."""
    return "".join(
        c if c in "\t\n" or c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text
    )


def format_markdown(rulings: Sequence[RequirementResult]) -> str:
    """Return the results as a Markdown table."""
    from calipers.report.writers.markdown import escape

    if not rulings:
        return ""
    rows = (
        ("✅ pass" if r.passed else "❌ fail", escape(r.rule), escape(r.message)) for r in rulings
    )
    lines = ["| | Requirement | |", "|---|---|---|", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines) + "\n\n"
