"""The options of trec_eval, read as getopt_long reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from getopt import GetoptError, gnu_getopt

from calipers.cli.trec_eval.reading import MOST, Stop, whole
from calipers.cli.trec_eval.table import NICKNAMES, TABLE

SHORT = "hvqm:cl:nD:JN:M:R:T:oZ:"
LONG = {
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
#: Versions whose conventions there are, by what a user may call them.
CONVENTIONS = {"9": 9, "9.0.8": 9, "10": 10, "10.0": 10}


#: The fields that options set to a number, to a text, or to the other state.
NUMBERS = {"-l": "level", "-N": "collection", "-M": "depth"}
TEXTS = {"-R": "judgments_format", "-T": "results_format", "-Z": "zscores"}
SWITCHES = {"-h": "help", "-q": "per_topic", "-c": "complete", "-n": "summary", "-J": "judged_only"}


@dataclass
class Options:
    """What a command line asks for."""

    #: Names of measures and nicknames, each with the first parameters given for it.
    measures: dict[str, str | None] = field(default_factory=dict)
    per_topic: bool = False
    summary: bool = True
    complete: bool = False
    level: int = 1
    topic: str | None = None
    judged_only: bool = False
    collection: int = 0
    depth: int = MOST
    judgments_format: str = "qrels"
    results_format: str = "trec_results"
    zscores: str | None = None
    help: bool = False
    conventions: int = 10
    files: tuple[str, ...] = ()

    @property
    def chosen(self) -> list[str]:
        """The measures that were asked for, in the order in which they are printed."""
        asked = self.measures or {"official": None}
        named = {name for ask in asked for name in NICKNAMES.get(ask, (ask,))}
        return [
            name for name, row in TABLE.items() if name in named and row.since <= self.conventions
        ]


def read_options(arguments: Sequence[str]) -> Options:
    """The options; :class:`Stop` for a version, or where there is something wrong with them."""
    options = Options()
    left, options.conventions = _without_conventions(list(arguments))
    found, options.files, problem = _scanned(left)
    for option, value in found:
        _set(options, option, value)
    if problem is not None:
        raise Stop(1, f"{problem}\n{USAGE}")
    if not options.help and len(options.files) != 2:
        raise Stop(1, f"expected 2 files, got {len(options.files)}\n{USAGE}")
    return options


def _without_conventions(arguments: list[str]) -> tuple[list[str], int]:
    """The arguments without our own option, which getopt would take for an abbreviation."""
    for place, argument in enumerate(arguments):
        name, equals, version = argument.partition("=")
        if argument == "--":
            break
        if name == "--conventions":
            end = place + (1 if equals else 2)
            version = version if equals else "".join(arguments[place + 1 : end])
            if version not in CONVENTIONS:
                raise Stop(1, f"{name} is {version!r}, expected 9 or 10")
            return arguments[:place] + arguments[end:], CONVENTIONS[version]
    return arguments, 10


def _scanned(
    arguments: Sequence[str],
) -> tuple[Iterator[tuple[str, str]], tuple[str, ...], str | None]:
    """Options in their order, the files, and what is wrong with the first option that is wrong.

    The options before that one still count: ``-v`` there ends the program well.
    """
    problem = None
    for end in range(len(arguments), -1, -1):
        try:
            found, files = gnu_getopt(list(arguments[:end]), SHORT, list(LONG))
        except GetoptError as error:
            problem = error.msg
            continue
        short = {f"--{name.rstrip('=')}": option for name, option in LONG.items()}
        return ((short.get(name, name), value) for name, value in found), tuple(files), problem
    raise AssertionError("no options at all are always right")


def _set(options: Options, option: str, value: str) -> None:
    if option == "-v":
        from calipers import __version__

        raise Stop(0, f"version {options.conventions}, as of Calipers {__version__}")
    if option == "-m":
        _add_measure(options, value)
    elif option == "-D":
        _, dot, topic = value.partition(".")
        options.topic = topic if dot else options.topic
    elif option in NUMBERS:
        setattr(options, NUMBERS[option], whole(value))
        if options.depth < 0:
            raise Stop(1, f"-M is {value}, expected 0 or more")
    elif option in TEXTS:
        setattr(options, TEXTS[option], value)
    elif option in SWITCHES:
        setattr(options, SWITCHES[option], option != "-n")


def _add_measure(options: Options, value: str) -> None:
    name, dot, parameters = value.partition(".")
    known = name in NICKNAMES or (name in TABLE and TABLE[name].since <= options.conventions)
    if not known or (dot and not parameters):
        raise Stop(1, f"no measure is called {value!r}; -h -m all_trec describes most of them")
    if options.measures.get(name) is None:
        options.measures[name] = parameters if dot else None


USAGE = """\
Usage: trec_eval [options] judgments results
  -m MEASURE[.PARAMETERS]  print this measure; repeatable (official, the default; all_trec: most)
  -q                       print the values of each topic, too
  -h                       print all options; with -m also what these measures are"""
