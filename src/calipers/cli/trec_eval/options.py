"""Options of trec_eval, parsed as getopt_long does, and the output of -h."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import field
from getopt import GetoptError, gnu_getopt

from calipers.cli.trec_eval.c_parsing import MAX_INT, ProgramExit, parse_int
from calipers.cli.trec_eval.measure_table import MEASURES, NICKNAMES
from calipers.lazy_dataclasses import dataclass

SHORT_OPTIONS = "hvqm:cl:nD:JN:M:R:T:oZ:"
LONG_OPTIONS = {
    "help": "-h",
    "version": "-v",
    "query_eval_wanted": "-q",
    "measure=": "-m",
    "complete_rel_info_wanted": "-c",
    "level_for_rel=": "-l",
    "nosummary": "-n",
    "Debug_level=": "-D",
    "Judged_docs_only": "-J",
    "Number_docs_in_coll=": "-N",
    "Max_retrieved_per_topic=": "-M",
    "Rel_info_format=": "-R",
    "Results_format=": "-T",
    "Output_old_results_format=": "-o",
    "Zscore=": "-Z",
}
#: Versions with conventions of their own, by the names that users may give.
CONVENTIONS = {"9": 9, "9.0.8": 9, "10": 10, "10.0": 10}
#: What documents are ordered by.
ORDERS = ("score", "rank")


@dataclass
class Options:
    """Options of a command line."""

    #: Names of measures and nicknames, each with the first parameters given for it.
    measures: dict[str, str | None] = field(default_factory=dict)
    per_topic: bool = False
    summary: bool = True
    is_complete: bool = False
    level: int = 1
    topic: str | None = None
    judged_only: bool = False
    collection_size: int = 0
    depth: int = MAX_INT
    judgments_format: str = "qrels"
    results_format: str = "trec_results"
    zscores: str | None = None
    is_help: bool = False
    conventions: int = 10
    order: str = "score"
    files: tuple[str, ...] = ()

    @property
    def requested_measures(self) -> list[str]:
        """Requested measures, in the order in which they are printed."""
        requested = self.measures or {"official": None}
        names = {
            name
            for name_or_nickname in requested
            for name in NICKNAMES.get(name_or_nickname, (name_or_nickname,))
        }
        return [
            name
            for name, row in MEASURES.items()
            if name in names and row.since_version <= self.conventions
        ]


def read_options(arguments: Sequence[str]) -> Options:
    """Parse the options; raise :class:`ProgramExit` for -v and for invalid options."""
    options = Options()
    remaining, version = _pop_option("--conventions", CONVENTIONS, "9 or 10", arguments)
    options.conventions = CONVENTIONS.get(version or "", options.conventions)
    remaining, order = _pop_option("--order", ORDERS, "score or rank", remaining)
    options.order = order or options.order
    parsed, options.files, problem = _scan_arguments(remaining)
    for option, value in parsed:
        _apply_option(options, option, value)
    if problem is not None:
        raise ProgramExit(1, f"{problem}\n{USAGE}")
    if not options.is_help and len(options.files) != 2:
        raise ProgramExit(1, f"expected 2 files, got {len(options.files)}\n{USAGE}")
    return options


def _pop_option(
    option: str, values: Collection[str], expected: str, arguments: Sequence[str]
) -> tuple[list[str], str | None]:
    """Remove an option that the original lacks, which getopt would treat as an abbreviation.

    Returns the other arguments, and the value.
    """
    for index, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if argument == "--":
            break
        if name == option:
            end = index + (1 if equals else 2)
            value = value if equals else "".join(arguments[index + 1 : end])
            if value not in values:
                raise ProgramExit(1, f"{name} is {value!r}, expected {expected}")
            return [*arguments[:index], *arguments[end:]], value
    return list(arguments), None


def _scan_arguments(
    arguments: Sequence[str],
) -> tuple[Iterator[tuple[str, str]], tuple[str, ...], str | None]:
    """Return the options in order, the files, and the error of the first invalid option.

    The options before the invalid one still take effect: ``-v`` there ends the program with
    success.
    """
    problem = None
    for end in range(len(arguments), -1, -1):
        try:
            parsed, files = gnu_getopt(list(arguments[:end]), SHORT_OPTIONS, list(LONG_OPTIONS))
        except GetoptError as error:
            problem = error.msg
            continue
        short = {f"--{name.rstrip('=')}": option for name, option in LONG_OPTIONS.items()}
        return ((short.get(name, name), value) for name, value in parsed), tuple(files), problem
    raise AssertionError("no options at all are always right")


def _apply_option(options: Options, option: str, value: str) -> None:
    if option == "-v":
        from calipers import __version__

        raise ProgramExit(0, f"version {options.conventions}, as of Calipers {__version__}")
    if option == "-m":
        _add_measure(options, value)
    elif option == "-l":
        options.level = parse_int(value)
    elif option == "-D":
        _, dot, topic = value.partition(".")
        options.topic = topic if dot else options.topic
    elif option == "-N":
        options.collection_size = parse_int(value)
    elif option == "-M":
        options.depth = parse_int(value)
        if options.depth < 0:
            raise ProgramExit(1, f"-M is {value}, expected 0 or more")
    elif option == "-R":
        options.judgments_format = value
    elif option == "-T":
        options.results_format = value
    elif option == "-Z":
        options.zscores = value
    options.is_help |= option == "-h"
    options.per_topic |= option == "-q"
    options.is_complete |= option == "-c"
    options.summary &= option != "-n"
    options.judged_only |= option == "-J"


def _add_measure(options: Options, value: str) -> None:
    name, dot, parameters = value.partition(".")
    is_known = name in NICKNAMES or (
        name in MEASURES and MEASURES[name].since_version <= options.conventions
    )
    if not is_known or (dot and not parameters):
        raise ProgramExit(
            1, f"no measure is called {value!r}; -h -m all_trec describes most of them"
        )
    if options.measures.get(name) is None:
        options.measures[name] = parameters if dot else None


USAGE = """\
Usage: trec_eval [options] judgments results
  -m MEASURE[.PARAMETERS]  print this measure; repeatable (official, the default; all_trec: most)
  -q                       print the values of each topic, too
  -h                       print all options; with -m also what these measures are"""


OPTIONS_HELP = """\
trec_eval [options] judgments results

Prints how well a run (results) ranks the documents that the judgments name, in the format of
trec_eval. "-" as results reads them from stdin.

Of the measures and the topics:
  -m, --measure NAME[.PARAMETERS]   a measure or a nickname, repeatable; parameters are separated by
                                    commas, as in -m P.5,10 -m ndcg.1=3,2=9 (default: official)
  -l, --level_for_rel N             the lowest judgment that counts as relevant (default: 1)
  -c, --complete_rel_info_wanted    average over all judged topics; those that the results leave out
                                    are evaluated as if one unjudged document had been retrieved
  -J, --Judged_docs_only            take unjudged documents out of the rankings first
  -M, --Max_retrieved_per_topic N   take only the first N documents of each topic
  -N, --Number_docs_in_coll N       documents in the collection, for utility (default: 0)
  -D, --Debug_level N[.TOPIC]       evaluate this topic only; N has no effect

Of the files:
  -R, --Rel_info_format FORMAT      qrels, qrels_jg, prefs or qrels_prefs (default: qrels)
  -T, --Results_format FORMAT       trec_results

Of the output:
  -q, --query_eval_wanted           print the values of each topic, too
  -n, --nosummary                   print no values over all topics
  -Z, --Zscore FILE                 print z-scores; lines of FILE are "topic measure mean deviation"
  -o                                no effect
  -h, --help                        this, and the description of every measure named by -m
  -v, --version

Two that the original does not have:
  --order rank                      by the ranks of the results, which are whole numbers that differ
                                    within a topic, and not by their scores
  --conventions 9                   as version 9 of the original: scores of 32 bits, topics without
                                    results passed over, no rbp, rbp_resid and unj
"""

RESULTS_HELP = """\
Results, format trec_results: lines of "topic Q0 document rank score tag". The rank is ignored,
unless --order rank: documents are put in order by descending score, those of equal score by
descending id. Further fields, blank lines and lines that begin with # are ignored.
"""

JUDGMENTS_HELP = {
    "qrels": """\
Judgments, format qrels: lines of "topic iteration document judgment", a whole number. A negative
one says that the document was pooled but not judged. Lines that begin with # are ignored.
""",
    "qrels_jg": """\
Judgments, format qrels_jg: lines of "topic assessor document judgment". Measures are computed by
the judgments of each assessor, then averaged over the assessors of a topic.
""",
    "prefs": """\
Judgments, format prefs: lines of "topic group part document level". Within a part of a group, a
document is preferred to those of lower level; levels of different parts are not compared, but
preferences of a group carry on from part to part. Level 0 says that a document is not relevant.
""",
    "qrels_prefs": """\
Judgments, format qrels_prefs: lines as in qrels, read as preferences: "topic group document level",
where a group has one part. Documents of equal score are put in order by ascending id.
""",
}


def help_text(options: Options) -> str:
    """Return the options, the formats that were chosen, and the requested measures."""
    sections = [OPTIONS_HELP]
    sections.append(
        "Nicknames:\n"
        + "".join(f"  {name:<10} {' '.join(names)}\n" for name, names in NICKNAMES.items())
    )
    if options.results_format == "trec_results":
        sections.append(RESULTS_HELP)
    if options.judgments_format in JUDGMENTS_HELP:
        sections.append(JUDGMENTS_HELP[options.judgments_format])
    if options.measures:
        sections.extend(
            f"{name}\n{_format_description(name)}" for name in options.requested_measures
        )
    else:
        sections.append("Name measures with -m to read here what they are.\n")
    return "\n".join(sections)


def _format_description(name: str) -> str:
    return "".join(f"  {line}".rstrip() + "\n" for line in MEASURES[name].description.splitlines())
