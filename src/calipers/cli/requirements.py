"""Requirements on the command line, and output of their results."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.files import FAILURE_WRITER, OutputFile
from calipers.cli.options import combine_options, repeatable_option, text_option
from calipers.cli.process import EXIT_UNMET, write_stderr
from calipers.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from calipers.evaluate.requirements import RequirementResult
    from calipers.results import Evaluation

#: Environment variables of GitHub: the file of the summary of a job, and the sign that it is one.
SUMMARY_VARIABLE, ACTIONS_VARIABLE = "GITHUB_STEP_SUMMARY", "GITHUB_ACTIONS"

github_summary_option = click.option(
    "--github-summary",
    is_flag=True,
    help="Add the result, and the outcome of each requirement, to the summary of a job on GitHub: "
    f"to the file that {SUMMARY_VARIABLE} names. What fails becomes an error annotation there.",
)


def _report_failures(context: click.Context, _: click.Parameter, value: Any) -> Any:
    """Let a command report where its outcome goes that its input cannot be used."""
    context.meta[FAILURE_WRITER] = write_failure
    return value


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
        callback=_report_failures,
    ),
    github_summary_option,
)


def summary_file() -> str:
    """Return the file of the summary of the job on GitHub."""
    path = os.environ.get(SUMMARY_VARIABLE)
    if not path:
        raise click.UsageError(
            f"--github-summary adds to the file that {SUMMARY_VARIABLE} names, which is not set "
            "here; -o FILE.md writes Markdown anywhere"
        )
    return path


@dataclass(frozen=True)
class Outcome:
    """Outcome of the requirements of one evaluation, which has a name.

    ``error`` is the reason if it could not be evaluated; ``rules`` are then its requirements.
    """

    name: str
    results: Sequence[RequirementResult] = ()
    error: str = ""
    rules: Sequence[str] = ()

    def cases(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield the status (pass, FAIL, error), rule, system and message of each requirement."""
        for result in self.results:
            yield "pass" if result.passed else "FAIL", result.rule, result.system, result.message
        if self.error:
            for rule in self.rules or ("evaluation",):
                yield "error", rule, "", self.error

    def annotate(self) -> None:
        """Write an error annotation for what fails, in a job on GitHub."""
        if os.environ.get(ACTIONS_VARIABLE) != "true":
            return
        failures = [(rule, text) for status, rule, _, text in self.cases() if status == "FAIL"]
        for title, text in [*failures, *([(self.name, self.error)] if self.error else [])]:
            write_stderr(f"::error title={_escape_command(title, ':,')}::{_escape_command(text)}")


class OutcomeList(list[Outcome]):
    """Outcomes of the commands that a check runs, which it reports together."""


def write_failure(context: click.Context, error: str) -> None:
    """Write the outcome of a command whose input cannot be used, where it would have written it."""
    options = context.params
    outcome = Outcome(str(context.command.name), error=error, rules=options["requirements"])
    if options["junit"] is not None:
        write_junit([outcome], options["junit"])
    if context.find_object(OutcomeList) is not None:  # which tells of it as that of the check
        return
    if options["github_summary"]:
        append_summary(outcome)
    if outcome.rules or options["github_summary"]:
        outcome.annotate()


def append_summary(outcome: Outcome, result: str = "") -> None:
    """Add an outcome, and a result in Markdown, to the summary of the job on GitHub."""
    with open(summary_file(), "a", encoding="utf-8") as file:  # noqa: PTH123
        file.write(format_markdown(outcome) + result)


def write_junit(outcomes: Sequence[Outcome], path: str) -> None:
    """Write outcomes to a file, as JUnit XML."""
    from calipers.cli.output import write_output

    write_output(format_junit(outcomes), path)


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
        summary = summary_file() if options.pop("github_summary") else None
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
        outcome = Outcome(evaluation.task, rulings)
        if self.junit is not None:
            write_junit([outcome], self.junit)
        if self.summary is not None:
            append_summary(outcome, evaluation.to_markdown().rstrip() + "\n")
        for ruling in rulings:
            write_stderr(str(ruling))
        outcome.annotate()
        outcomes = click.get_current_context().find_object(OutcomeList)
        if outcomes is not None:
            outcomes.append(outcome)
        if not all(ruling.passed for ruling in rulings):
            raise click.exceptions.Exit(EXIT_UNMET)


def _escape_command(text: str, extra_characters: str = "") -> str:
    """Escape the text of a workflow command of GitHub."""
    for sign in "%\r\n" + extra_characters:
        text = text.replace(sign, f"%{ord(sign):02X}")
    return text


def format_junit(outcomes: Sequence[Outcome]) -> str:
    """Return outcomes as JUnit XML: a suite for each, with a case for each rule and system."""
    from xml.etree import ElementTree as ET

    suites = ET.Element("testsuites", _junit_counts(outcomes))
    for outcome in outcomes:
        name = f"calipers {_printable_text(outcome.name)}"
        suite = ET.SubElement(suites, "testsuite", {"name": name, **_junit_counts([outcome])})
        for status, rule, system, message in outcome.cases():
            class_name = ".".join(filter(None, ("calipers", outcome.name, system)))
            names = {"classname": class_name, "name": rule}
            case = ET.SubElement(
                suite, "testcase", {k: _printable_text(v) for k, v in names.items()}
            )
            if status == "pass":
                element = ET.SubElement(case, "system-out")
            elif status == "FAIL":
                element = ET.SubElement(case, "failure", {"message": "not met"})
            else:
                element = ET.SubElement(case, "error", {"message": "not evaluated"})
            element.text = _printable_text(message)
    ET.indent(suites)
    return ET.tostring(suites, encoding="unicode", xml_declaration=True)


def _junit_counts(outcomes: Iterable[Outcome]) -> dict[str, str]:
    statuses = [status for outcome in outcomes for status, *_ in outcome.cases()]
    counts = len(statuses), statuses.count("FAIL"), statuses.count("error")
    return dict(zip(("tests", "failures", "errors"), map(str, counts), strict=True))


def _printable_text(text: str) -> str:
    """Replace characters that XML does not support."""
    return "".join(
        c if c in "\t\n" or c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text
    )


#: Signs of the statuses in Markdown.
_SIGNS = {"pass": "✅ pass", "FAIL": "❌ fail", "error": "❌ error"}


def format_markdown(outcome: Outcome) -> str:
    """Return an outcome as a Markdown table."""
    from calipers.report.writers.markdown import escape

    rows = [
        (_SIGNS[status], escape(rule), escape(message).replace("\n", "<br>"))
        for status, rule, _, message in outcome.cases()
    ]
    if not rows:
        return ""
    heading = f"### {escape(outcome.name)}\n\n" if outcome.error else ""
    lines = ["| | Requirement | |", "|---|---|---|", *(f"| {' | '.join(row)} |" for row in rows)]
    return heading + "\n".join(lines) + "\n\n"
