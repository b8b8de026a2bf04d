"""Parser of names of measures.

NAME            AP
NAME@VALUE      nDCG@10         the argument ``cutoff`` (or that of ``at``)
NAME(K=V, …)    AP(rel=2)@100   the others, if not at their defaults
NAMEVALUE       F2              the argument of ``suffix``
NAME@WORD=VALUE P@recall=0.5    if the name in the catalogue is NAME@WORD
NAME[CLASS]     recall[child]   one class against all others
HOW-NAME        macro-F1        averaged over classes: macro, micro or weighted
                ovo-AUC         or over pairs of them: ovo or weighted-ovo
                macro-R2        over outputs: macro or variance-weighted
HOW-NAME(labels=['a', 'b'])     over these classes only; without=['a']: all but these
NA-VALUE-ME     top-5-accuracy  the argument of ``infix``

A text that cannot be parsed is looked up as a phrase, such as ``Mean Reciprocal Rank``: see
:mod:`calipers.measures.phrases`.
"""

from __future__ import annotations

import ast
import contextlib
import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from calipers import plugins
from calipers.measures.aliases import ALTERNATIVE_HINTS, find_other_meaning, translate_name
from calipers.measures.averages import PAIRWISE_AVERAGES, VARIANCE_WEIGHTED, WEIGHTS
from calipers.measures.definition import ALIAS_SEPARATOR, Definition, Measure, insert_suffix
from calipers.measures.errors import UnknownMeasureError
from calipers.measures.families import FAMILIES, TASKS, find_families
from calipers.measures.parameters import MAX_NAME_LENGTH, format_request
from calipers.measures.registry import definitions, find_candidates, load_families, normalize_name

_NAME = re.compile(
    r"""(?P<name>[^()@\s]+?)            # nDCG
        (?:\((?P<arguments>.*)\))?      # (rel=2, dcg='exp-log2')
        (?:@(?P<at>[^()@\s]+))?$        # @10
    """,
    re.VERBOSE,
)
_CLASS = re.compile(r"(?P<name>[^\[\]()@\s]+)\[(?P<label>.+)\](?P<rest>(?:\(.*\))?(?:@[^\]]*)?)$")
_AVERAGE_GROUP = (
    "(?P<average>weighted[-_]ov[or]|ov[or][-_]weighted|ov[or]|macro|micro|variance[-_]weighted"
    "|uniform[-_]average|weighted)"
)
_AVERAGE = re.compile(rf"{_AVERAGE_GROUP}[-_](?P<name>.+)$", re.IGNORECASE)
_AVERAGE_SUFFIX = re.compile(
    rf"(?P<name>.+?)_{_AVERAGE_GROUP}(?P<rest>(?:\(.*\))?)$", re.IGNORECASE
)
#: Names of averages in scikit-learn, and ours.
_AVERAGE_ALIASES = {"ovr": "macro", "weighted-ovr": "weighted", "ovr-weighted": "weighted"} | {
    "ovo-weighted": "weighted-ovo",
    "uniform-average": "macro",
}
#: Options of an average: a subset of classes or outputs, or weights of outputs.
_SUBSET_OPTIONS, _WEIGHT_OPTIONS = ("labels", "without"), (WEIGHTS, "multioutput")
_INFIX = re.compile(r"(?P<name>.+?)[-_](?P<number>\d+)[-_](?P<rest>.+)$")
_NUMBER_INSIDE = re.compile(r"(?P<beginning>[A-Za-z]+)(?P<number>\d+(?:\.\d+)?)(?P<rest>[-_].+)$")
_TRAILING_NUMBER = re.compile(r"(?P<name>.+?)(?P<joint>[_.]?)(?P<number>\d+(?:\.\d+)?|(?i:inf))$")


def parse(
    text: str,
    family: str | Sequence[str] | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> Measure:
    """Return the measure that a name means.

    Names ignore case, and may be aliases of other tools or phrases.

    Parameters
    ----------
    text : str
        Name of a measure.
    family : str or sequence of str, optional
        Families among which the name is looked up. By default all.
    defaults : mapping, optional
        Values of parameters that the name does not mention, for measures that have them, such as
        the relevance level of an evaluation.

    Returns
    -------
    Measure
        Definition with its parameters.

    Raises
    ------
    UnknownMeasureError
        If no measure has this name, if it has several meanings, or if a parameter is missing or
        not valid.

    Examples
    --------
    >>> str(parse("ndcg_cut_10")), str(parse("map", family="retrieval")), str(parse("f2"))
    ('nDCG@10', 'AP', 'F2')
    >>> str(parse("Hit rate", family="counts")), str(parse("Recall @ False Positive Rate = 0.1"))
    ('recall', 'recall@FPR=0.1')
    """
    value: Any = text
    if not isinstance(value, str) or len(value) > MAX_NAME_LENGTH:
        received = repr(value[:40]) if isinstance(value, str) else f"of type {type(value).__name__}"
        raise UnknownMeasureError(
            f"the name of a measure is {received}, expected one like 'nDCG@10'"
        )
    families = find_families(family)
    load_families(families)
    try:
        return _parse_name(text, families, defaults, _unknown_message)
    except UnknownMeasureError:
        # A name that is known as it is spelled lacks a parameter, or has one too many.
        measure = (
            None
            if matching_definitions(text, families)
            else _parse_phrase(text, families, defaults)
        )
        if measure is None:
            raise
        return measure


def _parse_phrase(
    text: str, families: Sequence[str], defaults: Mapping[str, Any] | None
) -> Measure | None:
    """Return the measure that a phrase means; None if there is none.

    Raises
    ------
    UnknownMeasureError
        If it has several meanings, or lacks a parameter. The message says how to request each.
    """
    from calipers.measures import phrases  # imported lazily: rarely needed, slow to index

    pair = phrases.split_aliases(text)
    if pair:
        return _parse_name_pair(text, pair, families, defaults)
    if _alternative_hint(text, families) is not None:
        raise UnknownMeasureError(_unknown_message(text, families))
    topic_name = phrases.strip_topic_macro(text, families)
    if topic_name is not None:
        with contextlib.suppress(UnknownMeasureError):
            measure = parse(topic_name, families, defaults)
            if measure.definition.summary == "mean":
                return measure
    matches: dict[Measure, None] = {}
    first_error = ""
    candidates = phrases.expand_phrase(text, families)
    for candidate in candidates:
        try:
            matches.setdefault(_parse_name(candidate, families, defaults, _unknown_message))
        except UnknownMeasureError as error:
            first_error = first_error or str(error).removeprefix(f"{candidate!r}: ")
    if len(candidates) > 1 and len(matches) != 1:
        meanings = dict.fromkeys(
            d for candidate in candidates for d in matching_definitions(candidate, families)[:1]
        )
        raise UnknownMeasureError(_ambiguity_message(text, [*meanings]))
    if matches:
        return next(iter(matches))
    if first_error:
        raise UnknownMeasureError(f"{text!r}: {first_error}")
    if _NAME.match(text.strip()) or any(mark in text for mark in "[]()") or not text.strip():
        return None
    raise UnknownMeasureError(_unknown_message(text, families))


def _parse_name_pair(
    text: str, pair: Sequence[str], families: Sequence[str], defaults: Mapping[str, Any] | None
) -> Measure:
    """Return the measure of a name with further names in parentheses, which have to agree."""
    measure = parse(pair[0], families, defaults)
    for alias in pair[1:]:
        if measure.definition not in possible_definitions(alias, families):
            raise UnknownMeasureError(
                f"{text!r}: {alias} is not {measure}, which is called "
                + ", ".join(measure.definition.spellings)
            )
    return measure


def possible_definitions(text: str, families: Sequence[str]) -> list[Definition]:
    """Return the definitions that a name or a phrase may mean, whatever their parameters."""
    from calipers.measures import phrases

    load_families(families)
    matches = dict.fromkeys(matching_definitions(text, families))
    if not matches:
        pair, topic_name = phrases.split_aliases(text), phrases.strip_topic_macro(text, families)
        if pair:
            matches = dict.fromkeys(possible_definitions(pair[0], families))
        candidates = [*phrases.expand_phrase(text, families), *([topic_name] if topic_name else [])]
        for candidate in candidates if not matches else ():
            matches |= dict.fromkeys(matching_definitions(candidate, families))
    return list(matches)


def _ambiguity_message(text: str, candidates: Sequence[Definition]) -> str:
    """Return the message that a name has several meanings, and how to request each."""
    tasks = dict.fromkeys(d.task for d in candidates)
    task_suffixes = {d: f" of {d.task}" if len(tasks) > 1 else "" for d in candidates}
    choices = " or ".join(
        f"{d.example()}{task_suffixes[d]} ({_lower_first(d.title)})" for d in candidates
    )
    return f"{text!r} has several meanings; ask for {choices}"


def _lower_first(title: str) -> str:
    """Return a title as within a sentence: in lower case, unless it begins with an abbreviation."""
    return title if title[1:2].isupper() else title[:1].lower() + title[1:]


def _parse_name(
    text: str,
    families: Sequence[str],
    defaults: Mapping[str, Any] | None,
    make_message: Callable[[str, Sequence[str]], str],
) -> Measure:
    """Return the measure that a name means in these families.

    ``make_message`` makes the message for a name without a meaning.
    """
    view_split = _split_view(text, families)
    if view_split is not None:
        name_without_view, view = view_split
        measure = _parse_name(
            name_without_view, _families_with_view(families, view), defaults, make_message
        )
        if view.get("average") in PAIRWISE_AVERAGES and measure.reads != "scores":
            raise UnknownMeasureError(
                f"{text!r}: {measure} is not a measure of scores, as averages over pairs require"
            )
        if view.get("average") == VARIANCE_WEIGHTED and measure.interval != "fit":
            raise UnknownMeasureError(
                f"{text!r}: {measure} is not a proportion of the variance of the truth; expected "
                f"macro-{measure}"
            )
        _check_weights(text, measure, view)
        return replace(measure, **view)
    name, interpretations, values = _interpretations(text, families)
    if not interpretations:
        if plugins.load("calipers.measures"):
            return _parse_name(text, families, defaults, make_message)
        raise UnknownMeasureError(make_message(text, families))
    definition, name_numbers = _select_interpretation(
        text, name, interpretations, values, defaults, must_bind=True
    )
    for trait, number in name_numbers.items():
        parameter = getattr(definition, trait)
        if parameter is None or parameter not in definition.parameters:
            raise UnknownMeasureError(f"{text!r}: {definition.name} takes no number there")
        if parameter in values:
            raise UnknownMeasureError(f"{text!r}: sets {parameter} twice")
        values[parameter] = _parse_number(text, number, definition, parameter)
    applicable_defaults = {k: v for k, v in (defaults or {}).items() if k in definition.parameters}
    note = find_other_meaning(definition.family, definition.name, name)
    return replace(
        definition.bind({**applicable_defaults, **values}),
        alias=_find_alias(definition, name),
        note=note,
    )


def _find_alias(definition: Definition, name: str) -> str | None:
    """Return the alias that was written, if it is a term of the field.

    An alias with an underscore is a name of another tool.
    """
    if definition.suffix is not None or definition.infix is not None:
        return None
    normalized = normalize_name(name)
    words = (a for a in definition.aliases if normalize_name(a) == normalized and "_" not in a)
    return None if normalize_name(definition.name) == normalized else next(words, None)


def _check_weights(text: str, measure: Measure, view: Mapping[str, Any]) -> None:
    """Check that weights are of the outputs of a regression."""
    kind = (view.get("among") or ("",))[0]
    if kind == WEIGHTS and (measure.task != "regression" or view["average"] == VARIANCE_WEIGHTED):
        raise UnknownMeasureError(
            f"{text!r}: weights= are of the outputs of a regression, as in "
            "macro-R2(weights=[0.3, 0.7])"
        )


def deduplicate(measures: Iterable[Measure]) -> list[Measure]:
    """Return distinct measures in their order, each under all names by which it was requested.

    >>> [measure.display_name for measure in deduplicate(map(parse, ["sensitivity", "PPV", "TPR"]))]
    ['sensitivity/TPR', 'PPV']
    """
    aliases_by_measure: dict[Measure, dict[str, None]] = {}
    for measure in measures:
        aliases_by_measure.setdefault(measure, {})[measure.alias or measure.definition.name] = None
    return [
        measure if list(aliases) == [measure.definition.name] else _set_alias(measure, aliases)
        for measure, aliases in aliases_by_measure.items()
    ]


def _set_alias(measure: Measure, names: Iterable[str]) -> Measure:
    return replace(measure, alias=ALIAS_SEPARATOR.join(names))


#: Name that stands for the default measures among requested ones.
DEFAULT = "default"


#: Commas between measures, not those between parameters or in names of classes.
_COMMA = re.compile(r",(?![^(\[]*[)\]])")


def split_measures(requested: str | Measure | Iterable[str | Measure]) -> list[str | Measure]:
    """Return the requested measures one by one.

    ``"default+nDCG@5,P@5"`` stands for the default measures and those added.

    Examples
    --------
    >>> split_measures("default+cost(cost_fp=1,cost_fn=5),MCC")
    ['default', 'cost(cost_fp=1,cost_fn=5)', 'MCC']
    """
    measures: list[str | Measure] = []
    names: Any = requested  # whatever was passed
    if isinstance(requested, str) or not isinstance(requested, Iterable):
        names = [requested]
    for name in names:
        if isinstance(name, str) and name.startswith(f"{DEFAULT}+"):
            added = map(str.strip, _COMMA.split(name.removeprefix(f"{DEFAULT}+")))
            measures += [DEFAULT, *filter(None, added)]
        else:
            measures.append(name)
    return measures


def parse_by_task(
    text: str, first: str | None = None, defaults: Mapping[str, Any] | None = None
) -> Iterator[Measure]:
    """Yield the measures that a name means in each task.

    Tasks in which it is an exact name precede those in which it is a phrase.

    Parameters
    ----------
    text : str
        Name of a measure.
    first : str, optional
        Task whose measure precedes all others.
    defaults : mapping, optional
        Values of parameters that the name does not mention.

    Yields
    ------
    Measure
        Measure of a task.
    """
    phrase_tasks = []
    for task in sorted(TASKS, key=lambda task: task != first):
        if task == first or _is_exact_name(text, TASKS[task]):
            with contextlib.suppress(UnknownMeasureError):
                yield parse(text, TASKS[task], defaults)
        else:
            phrase_tasks.append(task)
    for task in phrase_tasks:
        with contextlib.suppress(UnknownMeasureError):
            yield parse(text, TASKS[task], defaults)


def _is_exact_name(text: Any, families: Sequence[str]) -> bool:
    """Return whether a text is an exact name of a measure of these families."""
    load_families(families)
    return (
        isinstance(text, str)
        and len(text) <= MAX_NAME_LENGTH
        and bool(matching_definitions(text, families))
    )


def canonical_name(name: str, defaults: Mapping[str, Any] | None = None) -> str | None:
    """Return the canonical name of a measure.

    Parameters
    ----------
    name : str
        Name of a measure.
    defaults : mapping, optional
        Values of parameters that the name does not mention.

    Returns
    -------
    str or None
        Canonical name, None if there is no such measure.
    """
    return next(map(str, parse_by_task(name, defaults=defaults)), None)


def list_measures(family: str | None = None) -> list[Measure]:
    """Return the measures of the catalogue, with examples of required parameters.

    Parameters
    ----------
    family : str, optional
        Family of the measures. By default all.

    Returns
    -------
    list of Measure
        Measures in the order of the catalogue.

    Raises
    ------
    UnknownMeasureError
        If there is no such family.

    Examples
    --------
    >>> import calipers as cal
    >>> [str(m) for m in cal.measures(family="scores")[:3]]
    ['AUC', 'AP', 'PR-AUC']
    """
    find_families(None if family is None else [family])
    return [d.example() for d in definitions(family)]


def _interpretations(
    text: str, families: Sequence[str]
) -> tuple[str, list[Interpretation], dict[str, Any]]:
    """Return the translated name in a text, its possible interpretations, and its parameters."""
    match = _NAME.match(text.strip())
    if match is None:
        raise UnknownMeasureError(
            f"{text!r} is not the name of a measure; expected one like nDCG@10"
        )
    name, at_suffix, values = _translate(
        text, match["name"], match["at"], _parse_arguments(text, match["arguments"])
    )
    name_numbers: dict[str, str] = {}
    if at_suffix is not None:
        word, equals, number = at_suffix.rpartition("=")
        if not equals and find_candidates(
            f"{name}@{at_suffix}", families
        ):  # the number is left out
            name = f"{name}@{at_suffix}"
        else:
            name, name_numbers = f"{name}@{word}" if equals else name, {"suffix_parameter": number}
    interpretations = [(d, name_numbers) for d in find_candidates(name, families)]
    interpretations += _match_trailing_number(name, families, name_numbers)
    interpretations += _match_infix(name, families, name_numbers)
    interpretations += _match_suffix_inside(name, families, name_numbers)
    return name, interpretations, values


def matching_definitions(text: str, families: Sequence[str]) -> list[Definition]:
    """Return the definitions that a text may mean, whatever the values of its parameters.

    The first of several is the one that :func:`parse` selects.
    """
    view_split = _split_view(text, families)
    try:
        if view_split is not None:
            return matching_definitions(view_split[0], _families_with_view(families, view_split[1]))
        name, interpretations, values = _interpretations(text, families)
        valid = [r for r in interpretations if _can_bind(*r, values)] or interpretations
        chosen = _select_interpretation(text, name, valid, values)[0] if valid else None
        return [d for d, _ in valid if d is chosen] + [d for d, _ in valid if d is not chosen]
    except UnknownMeasureError:
        return []


def first_definition(text: str, families: Sequence[str]) -> Definition | None:
    """Return the first of :func:`matching_definitions`, if any."""
    return next(iter(matching_definitions(text, families)), None)


def _translate(
    text: str, name: str, at_suffix: str | None, values: Mapping[str, Any]
) -> tuple[str, str | None, dict[str, Any]]:
    """Translate what another tool may have written."""
    try:
        return translate_name(name, at_suffix, values)
    except ValueError as error:
        raise UnknownMeasureError(f"{text!r}: {error}") from None


#: A definition that a name may mean, and the numbers written into the name, by their place.
Interpretation = tuple[Definition, dict[str, str]]


def _select_interpretation(
    text: str,
    name: str,
    interpretations: list[Interpretation],
    values: Mapping[str, Any],
    defaults: Mapping[str, Any] | None = None,
    *,
    must_bind: bool = False,
) -> Interpretation:
    """Return the interpretation that a name means.

    Of several, it is one with valid parameters, and of these the one whose own name it is.
    ``defaults`` are used if no interpretation is valid without them. If all of several lack a
    parameter, it is the first of them; with ``must_bind`` this is an error.
    """
    all_readings = interpretations
    interpretations = [r for r in interpretations if _can_bind(*r, values)]
    if not interpretations and defaults:
        interpretations = [r for r in all_readings if _can_bind(*r, values, defaults)]
    can_bind, interpretations = bool(interpretations), interpretations or all_readings
    exact_matches = [
        (d, written)
        for d, written in interpretations
        if normalize_name(name) == normalize_name(d.name) + written.get("suffix", "")
    ]
    interpretations = exact_matches or interpretations
    families = list(dict.fromkeys(d.family for d, _ in interpretations))
    if len(families) > 1:
        raise UnknownMeasureError(
            f"{text!r} is defined for {' and '.join(families)}; "
            f"say which with family={families[0]!r}"
        )
    if must_bind and not can_bind:
        lacking = [
            d for d, w in interpretations if _named_parameters(d, w, values) <= set(d.parameters)
        ]
        if len(lacking) > 1:
            raise UnknownMeasureError(_ambiguity_message(text, lacking))
    return interpretations[0]


def _named_parameters(
    definition: Definition, written: Mapping[str, str], values: Mapping[str, Any]
) -> set[str | None]:
    """Return the parameters that a name gives, by keyword or by the position of a number."""
    return {*values, *(getattr(definition, trait) for trait in written)}


def _can_bind(
    definition: Definition,
    name_numbers: Mapping[str, str],
    values: Mapping[str, Any],
    defaults: Mapping[str, Any] | None = None,
) -> bool:
    """Return whether these parameters, and no others but defaults, are valid for the definition."""
    parameters = _named_parameters(definition, name_numbers, values)
    return definition.required <= parameters | {*(defaults or {})} and parameters <= set(
        definition.parameters
    )


def _match_trailing_number(
    name: str, families: Sequence[str], name_numbers: dict[str, str]
) -> list[Interpretation]:
    """Return readings of names with a number at the end: ``F2``, trec_eval's ``P_5`` or ``P.5``."""
    match = _TRAILING_NUMBER.match(name)
    if match is None:
        return []
    candidates = find_candidates(match["name"], families)
    if match["joint"]:
        return [
            (d, {**name_numbers, "suffix_parameter": match["number"]})
            for d in candidates
            if d.suffix_parameter in d.parameters
        ]
    return [(d, {**name_numbers, "suffix": match["number"]}) for d in candidates if d.suffix]


def _match_suffix_inside(
    name: str, families: Sequence[str], name_numbers: dict[str, str]
) -> list[Interpretation]:
    """Return readings of names with a suffix after their beginning: ``p95-cost``."""
    match = _NUMBER_INSIDE.match(name)
    if match is None:
        return []
    return [
        (d, {**name_numbers, "suffix": match["number"]})
        for d in find_candidates(match["beginning"] + match["rest"], families)
        if d.suffix and d.suffix_after == match["beginning"].lower()
    ]


def _match_infix(
    name: str, families: Sequence[str], name_numbers: dict[str, str]
) -> list[Interpretation]:
    """Return readings of names with a number in the middle: ``top-5-accuracy``."""
    match = _INFIX.match(name)
    if match is None:
        return []
    # As the catalogue has it, or as an alias: top-k-accuracy, top_k_accuracy_score.
    variants = (f"{match['name']}{joint}k{joint}{match['rest']}" for joint in "-_")
    candidates = {d: None for name in variants for d in find_candidates(name, families) if d.infix}
    return [(d, {**name_numbers, "infix": match["number"]}) for d in candidates]


def _split_view(text: str, families: Sequence[str]) -> tuple[str, dict[str, Any]] | None:
    """Return the name without the requested class or average, and these; None if it has neither."""
    text = text.strip()
    exact = find_candidates(text, families)
    if any(normalize_name(text) == normalize_name(d.name) for d in exact) and _is_complete_name(
        text, families
    ):
        return None
    match = _CLASS.match(text)
    if match is not None and _families_with_view(families, {"label": ""}):
        return match["name"] + match["rest"], {"label": match["label"]}
    match = _AVERAGE.match(text) or _AVERAGE_SUFFIX.match(text)
    if match is None:
        return None
    average = match["average"].lower().replace("_", "-")
    view: dict[str, Any] = {"average": _AVERAGE_ALIASES.get(average, average)}
    view_families = _families_with_view(families, view)
    if not view_families:
        return None
    name, among = _pop_class_set(text, match["name"] + match.groupdict().get("rest", ""))
    # Some aliases contain such a word (micro averages over topics). An average over classes takes
    # precedence over such an alias, as over the plain name.
    if not _is_complete_name(name, view_families) and (exact or _is_complete_name(text, families)):
        return None
    return name, {**view, **among}


def _is_complete_name(text: str, families: Sequence[str]) -> bool:
    """Return whether a name with its parameters, and no others, is that of a measure."""
    if _NAME.match(text) is None:
        return False
    _, interpretations, values = _interpretations(text, families)
    return any(_can_bind(*interpretation, values) for interpretation in interpretations)


def _pop_class_set(text: str, name: str) -> tuple[str, dict[str, Any]]:
    """Return the name without the set of classes of an average, and this set."""
    match = _NAME.match(name)
    if match is None or match["arguments"] is None:
        return name, {}
    values = _parse_arguments(text, match["arguments"])
    subset_options = {
        option: values.pop(option)
        for option in (*_SUBSET_OPTIONS, *_WEIGHT_OPTIONS)
        if option in values
    }
    if not subset_options:
        return name, {}
    (option, classes), *extra_options = subset_options.items()
    is_weights = option in _WEIGHT_OPTIONS and not extra_options
    if is_weights and not _are_weights(classes):
        raise UnknownMeasureError(
            f"{text!r}: expected what each output counts for, as in weights=[0.3, 0.7]"
        )
    if extra_options or not isinstance(classes, list | tuple) or not classes:
        raise UnknownMeasureError(
            f"{text!r}: expected labels= or without=, a list of classes such as labels=['a', 'b']"
        )
    remaining_arguments = ",".join(f"{key}={value!r}" for key, value in values.items())
    at_suffix = "" if match["at"] is None else f"@{match['at']}"
    name_without_set = (
        match["name"] + (f"({remaining_arguments})" if remaining_arguments else "") + at_suffix
    )
    if is_weights:
        return name_without_set, {"among": (WEIGHTS, tuple(map(float, classes)))}
    return name_without_set, {"among": (option, tuple(dict.fromkeys(map(str, classes))))}


def _are_weights(values: Any) -> bool:
    """Return whether these are nonnegative numbers, some of them positive."""
    is_number_list = isinstance(values, list | tuple) and all(
        isinstance(x, int | float) for x in values
    )
    return is_number_list and all(0 <= x < math.inf for x in values) and any(x > 0 for x in values)


def _families_with_view(families: Sequence[str], view: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the families whose measures can be computed for a part, or averaged this way."""
    families_by_name = ((f, FAMILIES[f]) for f in families)
    if "label" in view:
        return tuple(f for f, family in families_by_name if family.has_labels)
    return tuple(f for f, family in families_by_name if view["average"] in family.averages)


def _parse_arguments(text: str, arguments: str | None) -> dict[str, Any]:
    """Parse the parameters in parentheses as Python literals."""
    if not arguments:
        return {}
    try:
        call = ast.parse(f"_({arguments})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args:
            raise ValueError
        return {str(k.arg): _parse_literal(k.value) for k in call.keywords if k.arg}
    except (SyntaxError, ValueError):
        raise UnknownMeasureError(
            f"{text!r}: expected parameters like (rel=2), got ({arguments})"
        ) from None


_CONSTANTS = {"inf": math.inf, "true": True, "false": False, "none": None}


def _parse_literal(node: ast.expr) -> Any:
    if isinstance(node, ast.List):  # labels=[a, b]: a shell takes quotation marks away
        return [x.id if isinstance(x, ast.Name) else ast.literal_eval(x) for x in node.elts]
    # Constants however they are spelled: options of commands are written true and false elsewhere.
    word = node.id.lower() if isinstance(node, ast.Name) else ""
    return _CONSTANTS[word] if word in _CONSTANTS else ast.literal_eval(node)


def _parse_number(text: str, number: str, definition: Definition, parameter: str) -> int | float:
    try:
        return int(number) if re.fullmatch(r"\d+", number) else float(number)
    except ValueError:
        example = format_request(
            definition.name, parameter, definition.suffix_parameter, definition.infix
        )
        raise UnknownMeasureError(
            f"{text!r}: {number!r} is not a number; expected one, as in {example}"
        ) from None


def _unknown_message(text: str, families: Sequence[str]) -> str:
    from calipers.measures.nearest_measures import nearest_hint  # a long table, for errors only

    base = re.split(r"[@(]", text.strip())[0]
    task = [task for task, task_families in TASKS.items() if families == task_families]
    scope = "" if families == tuple(FAMILIES) else f" of {' or '.join(task or families)}"
    message = f"no measure{scope} is called {text!r}; "
    hint = _alternative_hint(text, families) or _alternative_hint(base, families)
    hint = hint or nearest_hint(text) or nearest_hint(base)
    if hint is not None:
        return message + hint
    average_match = _AVERAGE.match(text.strip())
    averaging_families = _families_with_view(families, {"average": "macro"})
    if (
        average_match
        and averaging_families
        and _is_measure_name(f"macro-{average_match['name']}", families)
    ):
        return message + f"its mean is macro-{average_match['name']}"
    other_meanings = [
        f"{m.name} of {other_task}"
        for other_task, task_families in TASKS.items()
        if not set(task_families) & set(families)
        for m in possible_definitions(text, task_families)[:1]
    ]
    if other_meanings:
        return message + f"there is {' and '.join(other_meanings)}"
    similar_names = _similar_names(text.strip(), base, families)
    return message + (
        f"did you mean {' or '.join(similar_names)}?"
        if similar_names
        else "`calipers measures` lists them"
    )


def _similar_names(text: str, base: str, families: Sequence[str], max_names: int = 3) -> list[str]:
    """Return names similar to the given one, each of a measure of these families.

    They have the parameters of the given name if possible, otherwise none, or those that they
    require.
    """
    import difflib

    definitions_by_spelling: dict[str, list[Definition]] = {}
    spellings: dict[str, str] = {}
    for definition in (d for d in definitions() if d.family in families):
        for spelling in (*definition.aliases, definition.name):
            definitions_by_spelling.setdefault(spelling.lower(), []).append(definition)
            spellings[spelling.lower()] = spelling
    matches: dict[str, str] = {}
    query = base.lower().replace(" ", "_") if " " in base else base.lower()
    for name in difflib.get_close_matches(
        query, definitions_by_spelling, n=4 * max_names, cutoff=0.6
    ):
        candidates = [spellings[name] + text[len(base) :], spellings[name]]
        candidates += [str(definition.example()) for definition in definitions_by_spelling[name]]
        valid_names = (
            candidate
            for candidate in candidates
            if normalize_name(candidate) != normalize_name(text)
            and _is_measure_name(candidate, families)
        )
        for candidate in itertools.islice(valid_names, 1):
            matches.setdefault(normalize_name(candidate), candidate)
    return list(matches.values())[:max_names]


def _alternative_hint(text: str, families: Sequence[str]) -> str | None:
    """Return what to request instead of a name that is known not to be a measure."""
    from calipers.measures import phrases

    constant = phrases.parse_default_phrase(text)
    if constant is not None:
        matches = possible_definitions(constant, families)
        example = matches[0].example() if matches else "accuracy"
        return f"the value of the best constant prediction is evaluation[{str(example)!r}].no_skill"
    spelled = re.sub(r"[\s-]+", "_", text.strip().lower())
    return phrases.non_measure_hint(text, families) or ALTERNATIVE_HINTS.get(spelled)


def _is_measure_name(text: str, families: Sequence[str]) -> bool:
    """Return whether a name means a measure of these families."""
    try:
        _parse_name(text, families, None, lambda *_: "")
    except UnknownMeasureError:
        return False
    return True


def spellings(definition: Definition, name: str | None = None) -> list[str]:
    """Return the names that mean the definition, with all numbers and averages that they may have.

    They are derived from each name of the definition, or from ``name``.
    """
    out = []
    for spelled in definition.spellings if name is None else (name,):
        variants = [spelled] if not definition.required else []
        if definition.suffix_parameter in definition.parameters:
            variants += [f"{spelled}=7"] if "@" in spelled else [f"{spelled}{j}7" for j in "@_."]
        if definition.suffix:
            variants.append(
                insert_suffix(definition, spelled, "7")
                + ("@7" if definition.suffix_parameter in definition.required else "")
            )
        if definition.infix:
            variants.append(re.sub("([-_])k([-_])", r"\g<1>7\g<2>", spelled))
        averages = FAMILIES[definition.family].averages
        variants += [
            f"{average}-{variant}"
            for average in averages
            if average not in PAIRWISE_AVERAGES
            for variant in variants
        ]
        out += variants
    return list(dict.fromkeys(out))
