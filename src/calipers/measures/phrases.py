"""Names of measures in words, as in textbooks, and the names in the catalogue that they mean.

A name is first parsed by :mod:`calipers.measures.name_parsing`. If it has no meaning there, it is
looked up here, in an index of the names, aliases, phrases and titles of a task that ignores case,
spaces, hyphens, underscores, plurals and accents. The index therefore never changes the meaning of
a valid name.

    Mean Reciprocal Rank           RR, as its alias mean_reciprocal_rank
    False positives (FP)           the measure of both names, which has to be the same
    Precision @ Recall = 0.9       precision@recall=0.9, composed of two measures
    macro-averaged precision       macro-precision
    Top 5 accuracy                 top-5-accuracy, for rankings Success@5
    Jaccard coefficient            Jaccard, whose index, score or coefficient it is
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

from calipers import plugins
from calipers.measures.definition import Definition
from calipers.measures.families import FAMILIES, TASKS, get_task
from calipers.measures.registry import definitions, find_candidates, load_families, registry_state

#: Phrases for F, shared by retrieval and classification.
_F_MEASURES = {
    "balanced F measure": "F1",
    "balanced F score": "F1",
    "weighted harmonic mean": "F",
    "weighted harmonic mean of precision and recall": "F",
    "F#": "F#",
    "F# measure": "F#",
    "F# score": "F#",
    "balanced F# measure": "F#",
    "balanced F# score": "F#",
}

#: Phrases that are not aliases, by task: those whose words do not spell a name, those with a number
#: (#) in them, and those that another task has as well, for which the plain name is its own. A
#: phrase with several meanings has several names.
PHRASES: Mapping[str, Mapping[str, str | tuple[str, ...]]] = {
    "retrieval": {
        "positive predictive value": "SetP",
        "PPV": "SetP",
        "true positive rate": "SetR",
        "TPR": "SetR",
        "sensitivity": "SetR",
        "true negative rate": "SetSpecificity",
        "TNR": "SetSpecificity",
        "false positive rate": "fallout",
        "micro FPR": "micro-fallout",
        "negative predictive value": "SetNPV",
        "misclassification rate": "SetErrorRate",
        "ACC": "SetAcc",
        "IoU": "SetJaccard",
        "total recall": "SetGenerality",
        "prevalence": "SetGenerality",
        "phi coefficient": "SetMCC",
        "Matthews correlation coefficient": "SetMCC",
        "F measure": "F",
        "F score": "F",
        "F beta": "F",
        "F beta score": "F",
        **_F_MEASURES,
        "top # accuracy": "Success@#",
        "top # precision": "P@#",
        "top # recall": "R@#",
        "RP": "R-precision",
        "Rp": "R-precision",
        "interpolated precision": "IPrec",
        "P interp": "IPrec",
        "average interpolated precision": "11pt-avg",
        "mean interpolated precision": "11pt-avg",
        "AvgP interp": "11pt-avg",
        "average precision AveP": "AP",
        "# point average interpolated precision": "#pt-avg",
        "# point average interpolation precision": "#pt-avg",
        "# point interpolated average precision": "#pt-avg",
        "# point average precision": "#pt-avg",
        "# point average": "#pt-avg",
        "# point precision": "#pt-avg",
        "interpolated average precision": "11pt-avg",
        "geometric mean average precision": "gm-AP",
        "normalized discounted cumulative gain": "nDCG",
        "normalized cumulative gain": "nCG",
        "ideal discounted cumulative gain": "IDCG",
        "max DCG": "IDCG",
        "maximal DCG": "IDCG",
        "binary preference": "Bpref",
        "area under the precision recall curve": ("rank-PR-AUC", "AP"),
        "area under the PR curve": ("rank-PR-AUC", "AP"),
        "PR AUC": ("rank-PR-AUC", "AP"),
        "area under the ROC curve": "rank-ROC-AUC",
        "area under the receiver operating characteristic curve": "rank-ROC-AUC",
        "ROC AUC": "rank-ROC-AUC",
        "AUROC": "rank-ROC-AUC",
        "area under the curve": ("rank-PR-AUC", "AP", "rank-ROC-AUC"),
        "AUC": ("rank-PR-AUC", "AP", "rank-ROC-AUC"),
    },
    "classification": {
        "fallout": "FPR",
        "1 specificity": "FPR",
        "1 sensitivity": "FNR",
        "1 recall": "FNR",
        "1 precision": "FDR",
        "1 accuracy": "error-rate",
        "misclassification error": "error-rate",
        "classification error": "error-rate",
        "false alarms": "FPR",
        "type I error": "FPR",
        "type II error": "FNR",
        "type I error rate": "FPR",
        "type II error rate": "FNR",
        "type # error rate": "type-#-error",
        "Matthews correlation coefficient": "MCC",
        "phi coefficient": "MCC",
        "F beta": "F",
        **_F_MEASURES,
        "top # precision": "top-#-accuracy",
        "sum of sensitivity and specificity": "generalized-Youden",
        "sum of specificity and sensitivity": "generalized-Youden",
        "weighted sum of sensitivity and specificity": "generalized-Youden",
        "weighted sum of specificity and sensitivity": "generalized-Youden",
        "distance to the ideal point": "ROC-distance",
        "distance to the corner": "ROC-distance",
        "area under the curve": "AUC",
        "area under the ROC curve": "AUC",
        "area under the ROC": "AUC",
        "area under the curve of the ROC": "AUC",
        "area under the receiver operating characteristic": "AUC",
        "area under the receiver operating characteristic curve": "AUC",
        "area under the PR curve": "PR-AUC",
        "area under the precision recall curve": "PR-AUC",
        "interpolated precision": "interpolated-precision@recall",
        "P interp": "interpolated-precision@recall",
        "average interpolated precision": "PR-11pt",
        "# point average interpolated precision": "PR-#pt",
        "# point average interpolation precision": "PR-#pt",
        "# point interpolated average precision": "PR-#pt",
        "# point average precision": "PR-#pt",
        "break even point": "PR-break-even",
        "cross entropy loss": "log-loss",
        "negative log likelihood": "log-loss",
    },
    "regression": {
        "root mean square error": "RMSE",
        "root mean square deviation": "RMSE",
        "mean square error": "MSE",
        "mean error": "mean-error",
        "bias": "mean-error",
        "R squared": "R2",
    },
    "multilabel": {
        "exact match ratio": "subset-accuracy",
        "label ranking AP": "LRAP",
    },
    "clustering": {
        "variance ratio criterion": "Calinski-Harabasz",
        "within cluster sum of squares": "WCSS",
    },
}

#: Terms that are not measures, by task or for every task, and what to use instead.
_CURVE_HINT = "it is a curve: calipers.curve(evaluation, {kind!r}); the area is {area}"
_TOPIC_CURVE_HINT = "it is a curve, in evaluation.curves {how}; the area, topic by topic, is {area}"
_CHART_HINT = "it is a chart: evaluation.chart({name!r})"
_ROC = ("ROC", "ROC curve", "receiver operating characteristic",
        "receiver operating characteristic curve")  # fmt: skip
_PR = ("PR", "PR curve", "P-R curve", "precision recall", "precision recall curve",
       "precision recall graph", "interpolated precision recall curve")  # fmt: skip
NON_MEASURE_HINTS: Mapping[str, Mapping[str, str]] = {
    "classification": {
        **dict.fromkeys(_ROC, _CURVE_HINT.format(kind="ROC", area="AUC")),
        **dict.fromkeys(_PR, _CURVE_HINT.format(kind="PR", area="PR-AUC")),
        "X@Y metrics": "there are precision@recall=0.9, precision@volume=0.5, "
        "recall@precision=0.9, recall@FPR=0.1 and FPR@recall=0.9",
        **dict.fromkeys(
            ("entropy", "Shannon entropy", "entropy of the labels"),
            "of the labels it is evaluation['log-loss'].no_skill",
        ),
    },
    "regression": {
        **dict.fromkeys(
            (
                "normal probability plot",
                "residual normal probability plot",
                "Q-Q plot",
                "quantile quantile plot",
                "normal quantile quantile plot",
            ),
            _CHART_HINT.format(name="normal quantiles"),
        ),
        "residual histogram": _CHART_HINT.format(name="residuals"),
        **dict.fromkeys(
            ("conditional plot", "conditional ground truth plot"),
            _CHART_HINT.format(name="prediction given truth"),
        ),
        "conditional prediction plot": _CHART_HINT.format(name="truth given prediction"),
    },
    "retrieval": {
        **dict.fromkeys(
            ("macro evaluation", "macro averaging", "macro average"),
            "values are means over topics unless the name begins with micro: there are SetP and "
            "SetR",
        ),
        **dict.fromkeys(
            ("micro evaluation", "micro averaging", "micro average"),
            "sums over topics have names of their own: there are micro-SetP, micro-SetR "
            "and micro-SetF",
        ),
        **dict.fromkeys(
            _ROC,
            _TOPIC_CURVE_HINT.format(
                how="where topic_curves= names topics and collection_size= is given",
                area="rank-ROC-AUC(collection_size=1000)",
            ),
        ),
        **dict.fromkeys(
            _PR,
            _TOPIC_CURVE_HINT.format(
                how="as a mean over topics, and of each that topic_curves= names",
                area="rank-PR-AUC",
            ),
        ),
    },
}

_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—―−", "-"))
_QUOTES = str.maketrans(dict.fromkeys("'’ʼ`´^\"“”", None))
_GREEK = str.maketrans({"α": "alpha", "β": "beta", "κ": "kappa", "φ": "phi", "ρ": "rho",
                        "χ": "chi", "ϰ": "kappa", "ϕ": "phi"})  # fmt: skip
_WORD_SEPARATOR = re.compile(r"[\s_./,:;-]+")
_ARTICLES = frozenset(["the", "a", "an"])
#: Words after the name of a measure that do not change its meaning.
_GENERIC = re.compile(
    r"(?<=\w{2})[\s_-]+(?:index|score|coefficient|statistic|value|metric)s?$", re.IGNORECASE
)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_AVERAGE_PREFIX = re.compile(
    r"(?P<how>macro|micro|variance[\s_-]weighted|weighted[\s_-]ov[or]|weighted|ov[or])[\s_-]+"
    r"(?P<told>averaged?[\s_-]+(?:of[\s_-]+)?)?(?P<name>\S.*)",
    re.IGNORECASE,
)
_AT_WORD = re.compile(r"[\s_-]+at[\s_-]+(?:(?:an?|the|given|fixed)[\s_-]+)*", re.IGNORECASE)
_WORD_AND_NUMBER = re.compile(
    r"(?P<word>.*?[^\W\d].*?)(?:\s*=\s*|\s+of\s+|\s+)(?P<number>\.?\d[\d.]*)"
)
#: A cutoff as a subscript, or a letter in its place.
_CUTOFF = re.compile(r"(?:[-\s]+(?P<letter>[kKnT])|_(?P<number>\d+))$")
_PHRASE_PARTS = re.compile(
    r"""(?P<base>[^\[\]()@=]+?)
        (?P<label>\[.+\]\s*)?
        (?P<arguments>\([^()]*=.*\)\s*)?
        (?:@(?P<at>[^@]+))?""",
    re.VERBOSE,
)
_NAME_WITH_ALIASES = re.compile(
    r"(?P<name>[^()\[\]]+?)\s*\((?P<other>[^()=]*[^()=\s\d.][^()=]*)\)(?P<more>(?:\s*,[^()\[\]=]+)?)"
)
_NAME_WITH_NUMBER = re.compile(r"(?P<name>[^()\[\]@]+?)\s*\(\s*(?P<number>\.?\d[\d.]*)\s*\)")


def normalize_text(text: str) -> str:
    """Return a text with the characters of names: hyphens for dashes, no subscripts or accents."""
    text = unicodedata.normalize("NFKC", text).translate(_DASHES).translate(_GREEK)
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


def phrase_keys(text: str) -> tuple[str, str]:
    """Return the keys of a phrase: its words without separators, and its words in the singular.

    >>> phrase_keys("Mean Reciprocal Ranks"), phrase_keys("mean_reciprocal_rank")[0]
    (('meanreciprocalranks', 'meanreciprocalrank'), 'meanreciprocalrank')
    >>> phrase_keys("LR−") == phrase_keys("LR")
    False
    """
    text = normalize_text(text).translate(_QUOTES).casefold().translate(_GREEK).strip()
    words = [word for word in _WORD_SEPARATOR.split(text) if word]
    words = [word for word in words if word not in _ARTICLES] or words
    end = "-" if text.endswith("-") else ""
    return _join_words(words) + end, _join_words(map(_to_singular, words)) + end


def _join_words(words: Iterable[str]) -> str:
    return "".join(words).replace("isation", "ization").replace("ised", "ized")


def _to_singular(word: str) -> str:
    if len(word) <= 3 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[: -2 if word.endswith("sses") else -1]


class PhraseIndex:
    """Index of the names of measures of some families by phrase."""

    def __init__(self, families: Sequence[str]) -> None:
        self._exact: dict[str, tuple[int, dict[str, None]]] = {}
        self._singular: dict[str, tuple[int, dict[str, None]]] = {}
        tasks = dict.fromkeys(get_task(family) for family in families)
        for definition in (d for family in families for d in definitions(family)):
            self._add_definition(definition)
        for task in tasks:
            for phrase, measure_names in PHRASES.get(task or "", {}).items():
                for name in (measure_names,) if isinstance(measure_names, str) else measure_names:
                    self._add(2, phrase, name)

    def _add_definition(self, definition: Definition) -> None:
        name, title = definition.name, definition.title
        for rank, spelled in enumerate((name, *definition.aliases)):
            if definition.infix is not None:
                for joint in "-_":
                    numbered = spelled.replace(f"{joint}k{joint}", f"{joint}#{joint}")
                    self._add(0, numbered, name.replace(f"-{definition.infix}-", "-#-"))
            self._add(min(rank, 1), spelled, spelled)
        self._add(3, title, name)
        self._add(4, title.partition(",")[0], name)

    def _add(self, rank: int, phrase: str, name: str) -> None:
        for names_by_phrase, key in zip(
            (self._exact, self._singular), phrase_keys(phrase), strict=True
        ):
            best_rank, names = names_by_phrase.get(key, (rank, {}))
            if rank < best_rank:
                best_rank, names = rank, {}
            if rank == best_rank:
                names_by_phrase[key] = best_rank, {**names, name: None}

    def names(self, phrase: str, max_rank: int = 4) -> tuple[str, ...]:
        """Return the names that a phrase means: none, one or several."""
        exact, singular = phrase_keys(phrase)
        for names_by_phrase, key in ((self._exact, exact), (self._singular, singular)):
            rank, names = names_by_phrase.get(key, (max_rank + 1, {}))
            if rank <= max_rank:
                return tuple(names)
        return ()


_INDEX_CACHE: dict[tuple[str, ...], tuple[tuple[Definition, ...], PhraseIndex]] = {}


def get_phrase_index(families: Sequence[str]) -> PhraseIndex:
    """Return the cached index of some families, updated if measures were registered since."""
    plugins.load("calipers.measures")
    load_families(families)
    current_edition = registry_state()
    entry = _INDEX_CACHE.get(tuple(families))
    if entry is None or entry[0] != current_edition:
        entry = _INDEX_CACHE[tuple(families)] = current_edition, PhraseIndex(families)
    return entry[1]


def split_aliases(text: str) -> list[str]:
    """Return the names in ``Positive Predictive Value (PPV), Precision``; none for another text."""
    match = _NAME_WITH_ALIASES.fullmatch(text.strip())
    if match is None:
        return []
    aliases = re.split(r"\s*[,/;]\s*|\s+or\s+", f"{match['other']}{match['more']}".strip())
    return [match["name"], *filter(None, aliases)]


def expand_phrase(text: str, families: Sequence[str]) -> list[str]:
    """Return the names that a phrase may mean, in the grammar of names.

    >>> expand_phrase("Precision @ Recall = 0.9", ["counts", "scores"])
    ['precision@recall=0.9']
    """
    text = text.strip()
    number_match = _NAME_WITH_NUMBER.fullmatch(text)
    match = _PHRASE_PARTS.fullmatch(
        f"{number_match['name']}@{number_match['number']}" if number_match else text
    )
    if match is None:
        return []
    base, at_suffix, index = (
        normalize_text(match["base"]).strip(),
        match["at"],
        get_phrase_index(families),
    )
    at_suffix = None if at_suffix is None else at_suffix.strip()
    names = _find_names(base, index)
    if at_suffix is None and not names and (segments := _AT_WORD.split(base, maxsplit=1))[1:]:
        base, at_suffix = segments
        names = _find_names(base, index)
    if at_suffix is None and not names and (cutoff_match := _CUTOFF.search(base)):
        base, at_suffix = (
            base[: cutoff_match.start()],
            cutoff_match["letter"] or cutoff_match["number"],
        )
        names = _find_names(base, index)
    middle = (match["label"] or "").rstrip() + (match["arguments"] or "").rstrip()
    if at_suffix is None:
        return [name + middle for name in names]
    at_match = _WORD_AND_NUMBER.fullmatch(at_suffix) or re.fullmatch(
        r"(?P<word>.*[^\W\d].*)(?P<number>)", at_suffix
    )
    if at_match is None:
        return [f"{name}{middle}@{at_suffix}" for name in names]
    composed_names = _compose_at_names(names, at_match["word"], at_match["number"], index, families)
    if not composed_names and len(at_suffix) == 1:  # a letter in place of a number
        return [f"{name}{middle}@{at_suffix}" for name in names]
    return [name.replace("@", f"{middle}@") if middle else name for name in composed_names]


def _find_names(base: str, index: PhraseIndex) -> list[str]:
    """Return the names that a phrase without parameters may mean."""
    names = list(index.names(base))
    numbers = _NUMBER.findall(base)
    if not names and len(numbers) == 1:
        names = [
            name.replace("#", numbers[0])
            for name in index.names(_NUMBER.sub(" # ", base), max_rank=2)
        ]
    average_match = _AVERAGE_PREFIX.fullmatch(base)
    if not names and average_match is not None:
        average = re.sub(r"[\s_]", "-", average_match["how"].lower())
        averaged_names = [f"{average}-{name}" for name in _find_names(average_match["name"], index)]
        # A macro average of average precision, or a macro average, precision?
        average_word = average_match["told"]
        if average_word and _WORD_SEPARATOR.split(average_word)[0].lower() == "average":
            longer = _find_names(average_word + average_match["name"], index)
            averaged_names += [f"{average}-{name}" for name in longer]
        names = averaged_names
    if not names and _GENERIC.search(base):
        names = list(index.names(_GENERIC.sub("", base), max_rank=2))
    return names


def _compose_at_names(
    names: Sequence[str], word: str, number: str, index: PhraseIndex, families: Sequence[str]
) -> list[str]:
    """Return names with an ``@`` in the catalogue, composed of the measures on both sides.

    The number after the ``@`` is appended.
    """
    right_phrases = dict.fromkeys([*index.names(word, max_rank=2), word.strip()])
    left_names = dict.fromkeys(
        own_name for name in names for own_name in _canonical_names(name, families)
    )
    right_names = [
        own_name
        for right_name in right_phrases
        for own_name in _canonical_names(right_name, families)
    ]
    matches: dict[str, None] = {}
    for left_name, right_name in product(
        (*left_names, *names), dict.fromkeys((*right_names, *right_phrases))
    ):
        for definition in find_candidates(f"{left_name}@{right_name}", families):
            matches[f"{definition.name}={number}" if number else definition.name] = None
    if not matches and number:
        for definition in (d for name in names for d in find_candidates(name, families)):
            if definition.suffix_parameter == word.strip().lower():
                matches[f"{definition.name}@{number}"] = None
    return list(matches)


def _canonical_names(name: str, families: Sequence[str]) -> Iterator[str]:
    for definition in find_candidates(name, families):
        yield definition.name


def non_measure_hint(text: str, families: Sequence[str]) -> str | None:
    """Return what to request instead of a phrase that is not a measure; None if it is unknown."""
    key = phrase_keys(text)[1]
    tasks = dict.fromkeys(task for family in families if (task := get_task(family)) is not None)
    for task in tasks if len(tasks) < len(TASKS) else ("classification", "retrieval"):
        for phrase, hint in NON_MEASURE_HINTS.get(task, {}).items():
            if phrase_keys(phrase)[1] == key:
                return hint
    return None


def parse_default_phrase(text: str) -> str | None:
    """Return the measure in ``default accuracy``; None for another text."""
    match = re.fullmatch(r"default[\s_-]+(.+)", text.strip(), re.IGNORECASE)
    return None if match is None else match[1]


def strip_topic_macro(text: str, families: Sequence[str]) -> str | None:
    """Return the name after ``macro`` if all families are of rankings, otherwise None.

    Values of rankings are means over topics, that is, macro averages.
    """
    match = _AVERAGE_PREFIX.fullmatch(text.strip())
    if match is None or match["how"].lower() != "macro":
        return None
    if any(FAMILIES[family].reads != "rankings" for family in families):
        return None
    return match["name"]
