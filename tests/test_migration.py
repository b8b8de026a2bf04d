"""docs/migration.md: its names are what it says, and none is missing."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import calipers as cal
from calipers.cli.trec_eval.measure_table import MEASURES
from calipers.measures import TASKS, UnknownMeasureError, parse
from calipers.measures.aliases import ALTERNATIVE_HINTS
from calipers.measures.families import FAMILIES
from calipers.measures.name_parsing import matching_definitions
from calipers.measures.nearest_measures import NEAREST_MEASURES, OTHER_VALUES, nearest_hint
from calipers.measures.registry import definitions, normalize_name

PAGE = Path(__file__).resolve().parents[1] / "docs" / "migration.md"
CERTIFICATE = Path(__file__).parent / "parity" / "certificate.json"

#: Names of measures of other tools, from their sources.
TOOLS = json.loads((CERTIFICATE.parent / "names.json").read_text(encoding="utf-8"))

RANX = (
    *("hits", "hit_rate", "precision", "recall", "f1", "r-precision", "mrr", "map", "bpref", "rbp"),
    *("dcg", "dcg_burges", "ndcg", "ndcg_burges"),
)


def rows(tool: str) -> list[tuple[list[str], bool, str | None]]:
    """Of each row: their names, whether they are read as what they mean, and our name."""
    section = PAGE.read_text(encoding="utf-8").split(f"\n| {tool} | Calipers |")[1].split("\n\n")[0]
    out = []
    for line in section.splitlines()[2:]:
        theirs, ours = re.split(r"(?<!\\)\|", line)[1:3]
        found = re.findall(r"`([^`]+)`", ours)
        assert len(found) == 1 or ours.strip() == "—", line
        out.append(
            (re.findall(r"`([^`]+)`", theirs), "†" not in theirs, found[0] if found else None)
        )
    return out


NAMES = [
    (name, read, ours)
    for tool in ("trec_eval", "ir_measures", "ranx", "NTCIREVAL", "elsewhere")
    for names, read, ours in rows(tool)
    for name in names
]


@pytest.mark.parametrize(("theirs", "read", "ours"), NAMES, ids=[name for name, *_ in NAMES])
def test_a_name_means_what_the_page_says(theirs: str, read: bool, ours: str | None) -> None:
    families = TASKS["retrieval"]
    if ours is not None:
        assert str(parse(ours, families)) == ours
    if read:
        assert str(parse(theirs, families)) == ours
    elif ours is not None:
        assert str(parse(theirs, families)) != ours
    else:
        with pytest.raises(UnknownMeasureError):
            parse(theirs, families)


def test_names_for_what_other_programs_write_otherwise() -> None:
    for names, _, ours in rows("cwl_eval"):
        assert str(parse(ours or "", TASKS["retrieval"])) == ours, names


@pytest.mark.parametrize("seed", range(5))
def test_average_precision_of_sentence_transformers(seed: int) -> None:
    # Its InformationRetrievalEvaluator: Σ of the precision at each hit over min(k, R).
    random = np.random.default_rng(seed)
    documents = [f"d{k}" for k in range(40)]
    order, relevant = random.permutation(40), set(random.choice(40, 5 * seed + 2, replace=False))
    hits = [int(k in relevant) for k in order[:10]]
    precisions = [sum(hits[: k + 1]) / (k + 1) for k in range(10) if hits[k]]
    judged = {"q": {documents[k]: int(k in relevant) for k in range(40)}}
    run = {"q": {documents[k]: -float(rank) for rank, k in enumerate(order)}}
    there = parse("AP(denominator='min(k,R)')@10", TASKS["retrieval"])
    assert there(judged, run) == pytest.approx(sum(precisions) / min(10, len(relevant)))
    beir = parse("MAP@10", TASKS["retrieval"])
    assert beir(judged, run) == pytest.approx(sum(precisions) / len(relevant))


def test_names_of_scikit_learn_mean_what_the_page_says() -> None:
    families = TASKS["classification"]
    found = rows("scikit-learn, of classes")
    assert len(found) > 15
    for names, _, ours in found:
        assert [str(parse(name, families)) for name in (*names, str(ours))] == [ours] * (
            len(names) + 1
        )


#: Of scikit-learn's metrics those that measure nothing.
HELPERS = re.compile(
    r"[A-Z]|(check|get|make)_scor|.*distances|pairwise_|cluster$|DistanceMetric|.*_scorer"
)


def test_every_name_of_scikit_learn_is_read_or_refused_with_what_to_ask_for() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    needs, elsewhere = set(), set()
    for name in sorted({*metrics.get_scorer_names(), *metrics.__all__}):
        if HELPERS.match(name):
            continue
        for families in (TASKS["classification"], tuple(FAMILIES)):
            try:
                assert parse(name, families).definition.name
            except UnknownMeasureError as error:
                told = str(error)
                if " needs " in told or "is defined for" in told:
                    needs.add(name)
                    continue
                if name not in ALTERNATIVE_HINTS:
                    assert f"is called {name!r}; there is " in told
                    continue
                elsewhere.add(name)
                # One of the words is the name of a measure, or what to call.
                words = re.findall(r"[\w.+-]+", told.split("; ", 1)[1])
                known = [w for w in words if w.startswith(("calipers.", "evaluation."))]
                known += [w for w in words if matching_definitions(w, tuple(FAMILIES))]
                assert known, told
    assert needs == {
        "average_precision", "top_k_accuracy", "top_k_accuracy_score",
    }  # fmt: skip
    # Some are new there, and seven are no names of its.
    assert len(elsewhere) >= len(ALTERNATIVE_HINTS) - 10


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("top_k_accuracy", "top-k-accuracy needs k, as in top-5-accuracy$"),
        ("coverage_error", "of classification is called 'coverage_error'; there is coverage-error"),
        ("ndcg@10", "of classification is called 'ndcg@10'; there is nDCG of retrieval$"),
        ("roc_curve", r"it is a curve: calipers.curve\(evaluation, 'ROC'\)"),
    ],
)
def test_what_is_told_of_a_name(name: str, message: str) -> None:
    with pytest.raises(UnknownMeasureError, match=message):
        parse(name, TASKS["classification"])


@pytest.mark.parametrize(
    ("name", "value"),
    [("rmse", 5**0.5), ("SQUARED_ERROR", 5.0), ("MEAN_AVERAGE_ERROR", 2.0), ("mae", 2.0)],
)
def test_names_of_ydf_for_losses_of_numbers(name: str, value: float) -> None:
    assert parse(name, TASKS["regression"])([1.0, 2.0], [2.0, 5.0]) == pytest.approx(value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("rmse_ci95_bootstrap", "it is the interval of RMSE; interval='bootstrap'"),
        ("num_examples", r"each estimate has its n: evaluation\['RMSE'\].n"),
    ],
)
def test_what_is_told_of_a_name_of_ydf(name: str, message: str) -> None:
    with pytest.raises(UnknownMeasureError, match=message):
        parse(name, TASKS["regression"])


def missing(tool: str, wanted: set[str], separator: str) -> set[str]:
    """Those of these names that the table lacks."""
    found = {name for names, *_ in rows(tool) for name in names}
    return {
        name
        for name in wanted
        if not any(re.fullmatch(rf"{re.escape(name)}({separator}.*)?", f) for f in found)
    }


def test_every_measure_of_trec_eval_is_there() -> None:
    assert len(MEASURES) == 57
    assert missing("trec_eval", set(MEASURES), r"_[\dp]") == set()


def test_every_measure_of_ir_measures_is_there() -> None:
    ir_measures = pytest.importorskip("ir_measures", reason="ir_measures is not installed")
    assert missing("ir_measures", set(ir_measures.measures.registry), r"[(@]") == set()


def test_every_measure_of_ranx_is_there() -> None:
    assert missing("ranx", set(RANX), r"[@.]") == set()


def test_where_scipy_and_we_differ() -> None:
    """Wilcoxon's test with ties or above fifty units, Friedman's; and nowhere below."""
    random = np.random.default_rng(3)

    def both(d: np.ndarray) -> tuple[float, float]:
        values = {"a": d.tolist(), "b": [0.0] * len(d)}
        ours = cal.from_values(values, measure="AP").compare(test="wilcoxon")["AP"].p
        return ours, float(stats.wilcoxon(d).pvalue)

    ours, theirs = both(random.normal(0.3, 1, 50))
    assert ours == pytest.approx(theirs, rel=1e-9)
    for d in (random.normal(0.3, 1, 60), random.integers(1, 5, 20) * random.choice([-1, 1], 20)):
        ours, theirs = both(d)
        assert ours == pytest.approx(theirs, rel=0.2)
        assert ours != pytest.approx(theirs, rel=1e-6)

    n, k = 30, 3
    table = {name: random.normal(shift, 1, n) for name, shift in (("a", 0), ("b", 0.3), ("c", 0.5))}
    overall = cal.from_values(table, measure="AP").compare().omnibus
    chi, p = stats.friedmanchisquare(*table.values())
    f = (n - 1) * chi / (n * (k - 1) - chi)
    assert overall[0].friedman_p == pytest.approx(stats.f.sf(f, k - 1, (k - 1) * (n - 1)), rel=1e-9)
    assert overall[0].friedman_p != pytest.approx(p, rel=1e-3)


def test_what_ir_measures_does_with_topics_left_out() -> None:
    irm = pytest.importorskip("ir_measures", reason="ir_measures is not installed")
    qrels, run = {"1": {"a": 1, "b": 0}, "2": {"a": 1, "b": 0}}, {"1": {"a": 2.0, "b": 1.0}}
    for name, topics in (("Accuracy", ["1"]), ("AP", ["1", "2"]), ("Judged@10", ["1", "2"])):
        found = irm.iter_calc([irm.parse_measure(name)], qrels, run)
        assert sorted(one.query_id for one in found) == topics
    ours = cal.retrieval(qrels, run, measures=["Judged@10"], interval="none")["Judged@10"]
    assert (ours.value, ours.n, dict(ours.undefined)) == (1.0, 1, {"nothing_retrieved": 1})


def test_a_fractional_grade_is_an_error_of_pytrec_eval() -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec_eval is not installed")
    with pytest.raises(TypeError, match="integer"):
        pytrec_eval.RelevanceEvaluator({"1": {"a": 1.9}}, {"map"})


def names_of(tool: str) -> dict[str, str]:
    """Names of the measures of a tool, and under which name the certificate has each."""
    if tool == "trec_eval":
        return {name: name for name in MEASURES}
    if tool == "pytrec_eval":
        return {name: name for name in pytest.importorskip("pytrec_eval").supported_measures}
    if tool == "ranx":
        return {name: name for name in RANX}
    if tool == "ir_measures":
        registry = pytest.importorskip("ir_measures").measures.registry
        return {name: measure.NAME for name, measure in registry.items()}
    metrics = pytest.importorskip("sklearn.metrics")
    scorers = {name: metrics.get_scorer(name)._score_func for name in metrics.get_scorer_names()}
    functions = {name: name for name in metrics.__all__ if name[0].islower()}
    return {**functions, **{name: function.__name__ for name, function in scorers.items()}}


#: Spellings of measures that are a name of the tool and are not compared with it, and why.
NOT_COMPARED = {
    "trec_eval": {},
    "pytrec_eval": {},
    "ir_measures": {
        "Accuracy": "means Success: see the page",
        "Compat": "down to another depth: see the page",
    },
    "ranx": {},
    "scikit-learn": {
        "auc": "an area below points",
        "positive_likelihood_ratio": "a scorer of class_likelihood_ratios",
    },
}


@pytest.mark.parametrize("tool", NOT_COMPARED)
def test_a_spelling_that_is_a_name_of_a_tool_is_compared_with_it(tool: str) -> None:
    """So that no alias is registered whose value differs from that of the tool."""
    record = json.loads(CERTIFICATE.read_text(encoding="utf-8"))["peers"][tool]["measures"]
    compared = {name for name, counts in record.items() if counts["values"]}
    spellings = {normalize_name(name) for d in definitions() for name in d.spellings}
    uncompared = {
        name
        for name, there in names_of(tool).items()
        if normalize_name(name) in spellings
        and not any(re.fullmatch(rf"{re.escape(there)}([@(.].*|_[\dp].*)?", c) for c in compared)
    }
    assert uncompared == set(NOT_COMPARED[tool])


def is_read(name: str) -> bool:
    """Whether a name is that of a measure of some task; an AssertionError if it is neither that
    nor answered with what to ask for."""
    told = []
    for families in (tuple(FAMILIES), *TASKS.values()):
        try:
            parse(name, families)
        except UnknownMeasureError as error:
            told.append(str(error))
        else:
            return True
    answers = ("; it is ", " needs ", "has several meanings")
    answered = nearest_hint(name) is not None or name in ALTERNATIVE_HINTS
    assert answered or any(answer in text for answer in answers for text in told), told[0]
    return False


@pytest.mark.parametrize("tool", TOOLS)
def test_every_name_of_a_tool_is_read_or_answered(tool: str) -> None:
    assert len(TOOLS[tool]["names"]) > 20
    for name in TOOLS[tool]["names"]:
        is_read(name)


def plain_name(name: str) -> str:
    """A name of torchmetrics or yardstick, whether of a class or of a function, and of which labels."""
    words = re.sub(r"[(@].*|_", "", name.lower())
    return re.sub(r"^(binary|multiclass|multilabel)", "", words)


@pytest.mark.parametrize("tool", ["yardstick", "torchmetrics"])
def test_a_name_that_is_read_is_compared_with_its_tool(tool: str) -> None:
    record = json.loads(CERTIFICATE.read_text(encoding="utf-8"))["peers"][tool]["measures"]
    compared = {plain_name(name) for name, counts in record.items() if counts["values"]}
    uncompared = {plain_name(n) for n in TOOLS[tool]["names"] if is_read(n)} - compared
    assert uncompared <= {plain_name(name) for name in OTHER_VALUES[tool]}


@pytest.mark.parametrize("tool", ["yardstick", "torchmetrics"])
def test_a_name_that_is_answered_with_the_same_measure_is_compared(tool: str) -> None:
    record = json.loads(CERTIFICATE.read_text(encoding="utf-8"))["peers"][tool]["measures"]
    compared = {plain_name(name) for name, counts in record.items() if counts["values"]}
    same = {n for n, (_, difference) in NEAREST_MEASURES[tool].items() if not difference}
    assert {n for n in same if plain_name(n) not in compared} == set()


@pytest.mark.parametrize("tool", NEAREST_MEASURES)
def test_a_name_of_another_tool_is_answered_with_the_nearest_measure(tool: str) -> None:
    for name, (measure, difference) in NEAREST_MEASURES[tool].items():
        is_ambiguous = any(
            len(matching_definitions(measure, families)) == 1 for families in TASKS.values()
        )
        assert is_ambiguous or parse(measure), measure
        with pytest.raises(UnknownMeasureError) as error:
            parse(name)
        told = str(error.value)
        assert measure in told.split("; ", 1)[1], told
        assert difference in told, told
