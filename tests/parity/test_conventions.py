"""``conventions=`` reproduces the values that the tools report, from their own calls or formulas."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.evaluation.conventions import CONVENTIONS

Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]


def random_data(seed: int) -> tuple[Qrels, Run]:
    """Topics without a relevant document, without results and without judgments; near ties."""
    generator = np.random.default_rng([41, seed])
    qrels: Qrels = {}
    run: Run = {}
    for t in range(60):
        documents = [f"d{i}" for i in generator.permutation(40)]
        grades = generator.choice([0, 1] if t % 5 else [0, 0, 3], 40)
        if t % 9:
            qrels[f"t{t}"] = {
                d: int(g) * (t % 7 > 0) for d, g in zip(documents[:25], grades, strict=False)
            }
        if t % 11:
            scores = 1 + generator.integers(0, 9, 30) * (2e-8 if t % 2 else 0.1)
            run[f"t{t}"] = dict(zip(documents[10:], scores.tolist(), strict=True))
    return qrels, run


def values(evaluation: cal.Evaluation, names: list[str]) -> list[float]:
    return [evaluation[name].value for name in names]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("tool", ["beir", "mteb"])
def test_means_of_pytrec_eval(tool: str, seed: int) -> None:
    """BEIR and MTEB average pytrec_eval's values over the topics that it evaluates."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    qrels, run = random_data(seed)
    theirs = pytrec_eval.RelevanceEvaluator(
        qrels, {"ndcg_cut.1,10,100", "map_cut.1,10,100", "recall.1,10,100", "P.1,10,100"}
    ).evaluate(run)
    evaluation = cal.retrieval(qrels, run, conventions=tool, interval="none")
    names = {"ndcg_cut": ("NDCG", "ndcg"), "map_cut": ("MAP", "map")}
    names |= {"recall": ("Recall", "recall"), "P": ("P", "precision")}
    for name, (beir, mteb) in names.items():
        for k in (1, 10, 100):
            expected = np.mean([by_measure[f"{name}_{k}"] for by_measure in theirs.values()])
            estimate = evaluation[f"{beir}@{k}" if tool == "beir" else f"{mteb}_at_{k}"]
            assert estimate.value == pytest.approx(float(expected), rel=1e-12, abs=1e-15)
            assert estimate.n == len(theirs)


@pytest.mark.parametrize("seed", range(3))
def test_means_of_ir_measures(seed: int) -> None:
    irm = pytest.importorskip("ir_measures")
    qrels, run = random_data(seed)
    names = ["AP", "nDCG@10", "P@5", "RR", "Rprec", "IPrec@0.1", "IPrec@0.5", "R@100", "Bpref"]
    asked = [irm.parse_measure(name) for name in names]
    theirs = irm.calc_aggregate(asked, qrels, run)
    evaluation = cal.retrieval(
        qrels, run, measures=names, conventions="ir_measures", interval="none"
    )
    expected = [theirs[measure] for measure in asked]
    assert values(evaluation, names) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("seed", range(3))
def test_the_script_of_ms_marco(seed: int) -> None:
    """The sum of 1/rank of the first relevant document of ten, over the number of judged topics."""
    qrels, run = random_data(seed)
    total = 0.0
    for topic, scores in run.items():
        ranked = sorted(sorted(scores, reverse=True), key=lambda d: -scores[d])
        for rank, document in enumerate(ranked[:10], 1):
            if qrels.get(topic, {}).get(document, 0) > 0:
                total += 1 / rank
                break
    evaluation = cal.retrieval(qrels, run, conventions="msmarco", interval="none")
    assert evaluation["MRR@10"].value == pytest.approx(total / len(qrels), rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_what_ntcireval_prints(seed: int, tmp_path: Any) -> None:
    """Documents in the order of their ranks, which the scores contradict, by pyNTCIREVAL's names."""
    theirs = pytest.importorskip("pyNTCIREVAL.metrics", reason="pyNTCIREVAL is not installed")
    labeler = pytest.importorskip("pyNTCIREVAL.labeler").Labeler
    generator = np.random.default_rng([43, seed])
    qrels: Qrels = {}
    lines, values_by_name = ["<SYSDESC>BM25 with default parameters, titles</SYSDESC>"], {}
    for t in range(12):
        grades = generator.choice(4, 30, p=[0.6, 0.2, 0.1, 0.1])
        grades[0] = 1  # without a relevant document NTCIREVAL ends with an error
        qrels[f"{t:04}"] = {f"d{i}": int(g) for i, g in enumerate(grades)}
        ranked = [f"d{i}" for i in generator.permutation(40)[: 25 * (t != 7)]]
        scores = generator.random(len(ranked))
        lines += [
            f"{t:04} 0 {d} {rank} {score:.4f} run"
            for rank, (d, score) in enumerate(zip(ranked, scores, strict=True), 1)
        ]
        labels = labeler(qrels[f"{t:04}"])
        levels, gains = labels.compute_per_level_doc_num(4), [1, 2, 3]
        metrics = {
            "RR": theirs.RR(), "O-measure": theirs.OMeasure(levels, gains, 1.0),
            "P-measure": theirs.PMeasure(levels, gains, 1.0),
            "P-plus": theirs.PPlusMeasure(levels, gains, 1.0), "AP": theirs.AP(levels, gains),
            "Q-measure": theirs.QMeasure(levels, gains, 1.0),
            "NCUguP": theirs.NCUguP(levels, gains, gains),
            "NCUguBR": theirs.NCUguBR(levels, gains, gains, 1.0),
            "NCUrbP": theirs.NCUrbP(levels, gains, 0.95),
            "NCUrbBR": theirs.NCUrbBR(levels, gains, 0.95, 1.0),
            "RBP": theirs.RBP(levels, gains, 0.95), "ERR": theirs.ERR(levels, gains),
        }  # fmt: skip
        for k in (10, 1000):
            metrics |= {
                f"AP@{k}": theirs.AP(levels, gains, k),
                f"Q-measure@{k}": theirs.QMeasure(levels, gains, 1.0, k),
                f"nDCG@{k}": theirs.nDCG(levels, gains, 2.0, k),
                f"MSnDCG@{k}": theirs.MSnDCG(levels, gains, k),
                f"P@{k}": theirs.Precision(k), f"nERR@{k}": theirs.nERR(levels, gains, k),
                f"Hit@{k}": theirs.Hit(k),
            }  # fmt: skip
        for name, metric in metrics.items():
            value = metric.compute(labels.label(ranked)) if ranked else 0.0
            values_by_name.setdefault(name, []).append(value)
    path = tmp_path / "ntcir.run"
    path.write_text("\n".join(lines))
    options: dict[str, Any] = {"conventions": "ntcireval", "interval": "none"}
    evaluation = cal.retrieval(qrels, path, **options)
    assert [evaluation.requested_names.get(e.measure, e.measure) for e in evaluation] == [
        name for name in values_by_name if not name.endswith("@10")
    ]
    evaluation = cal.retrieval(qrels, path, measures=list(values_by_name), **options)
    for name, expected in values_by_name.items():
        assert evaluation[name].value == pytest.approx(float(np.mean(expected)), rel=1e-12), name
    assert evaluation["nDCG@0010"].value == evaluation["nDCG@10"].value
    by_score = cal.retrieval(qrels, path, measures=["Q-measure"], order="score", **options)
    assert by_score["Q-measure"].value != evaluation["Q-measure"].value
    assert by_score.notes[0].endswith("(-g 1:2:3). Except: order='score'.")


def test_levels_of_ntcireval() -> None:
    """``max_grade`` is the number of levels; a name with other parameters is read as here."""
    qrels = {"q": {"a": 1, "b": 4, "c": 2}}
    run = {"topic": ["q"] * 3, "doc": ["c", "b", "x"], "score": [1, 2, 3], "rank": [1, 2, 3]}
    names = ["ERR(max_grade=4)@10", "rbp(max_grade=4)", "ERR", "iRBU@5", "EBR(max_grade=4)"]
    options: dict[str, Any] = {"conventions": "ntcireval", "interval": "none"}
    evaluation = cal.retrieval(qrels, run, measures=names, **options)
    gains = "gains={1:1,2:2,3:3,4:4}"
    ours = [
        f"ERR({gains})@10", "RBP(p=0.95,gain='scale',max_grade=4)",
        "ERR(max_grade=3,gains={1:1,2:2,3:3})", "iRBU(max_grade=3)@5", "EBR",
    ]  # fmt: skip
    assert [e.measure for e in evaluation] == ours
    assert values(evaluation, names)[:2] == pytest.approx(
        [2 / 5 + 3 / 5 * 4 / 5 / 2, 0.05 * (2 / 4 + 0.95)], rel=1e-12
    )
    assert np.isnan(evaluation["ERR"].value)  # a level beyond -g 1:2:3


def test_names_are_those_of_the_tool() -> None:
    qrels, run = random_data(0)
    evaluation = cal.retrieval(qrels, run, conventions="trec_eval", interval="none")
    text = evaluation.to_text()
    for name in ("num_q", "map", "gm_map", "recip_rank", "iprec_at_recall_0.10", "P_1000"):
        assert f"\n{name} " in text
    assert evaluation["iprec_at_recall_0.10"].measure == "IPrec(rule='nearest')@0.1"
    again = cal.retrieval(qrels, run, measures="rbp", conventions="trec_eval", interval="none")
    assert [e.measure for e in again] == ["RBP(p=0.9,gain='topic-max')"]


def test_what_is_set_is_stated() -> None:
    qrels, run = random_data(0)
    evaluation = cal.retrieval(qrels, run, conventions="beir", topics="qrels", interval="none")
    note = evaluation.notes[0]
    assert note.startswith("Conventions of BEIR 2: means are over topics that the judgments and")
    assert note.endswith("rounded to 32 bits. Except: topics='qrels'.")
    recorded = evaluation.provenance["conventions"]
    assert (recorded["tool"], recorded["topics"], recorded["scores"]) == (
        "BEIR 2", "qrels", "float32",
    )  # fmt: skip
    assert cal.Evaluation.from_json(evaluation.to_json()).requested_names["nDCG@10"] == "NDCG@10"


@pytest.mark.parametrize("tool", CONVENTIONS)
def test_the_statement_is_about_the_task(tool: str) -> None:
    """What is said of labels, groups, topics and losses is said where there are any."""
    words = {
        "labels": ("classification", "multilabel"), "classes": ("classification",),
        "log_loss": ("classification",), "loss": ("classification",), "group": ("ranking",),
        "topics": ("retrieval",), "scores": ("retrieval",), "documents": ("retrieval",),
    }  # fmt: skip
    for task, conventions in CONVENTIONS[tool].tasks.items():
        said = set(re.findall(r"[a-z_]+", conventions.statement))
        for word, tasks in words.items():
            assert word not in said or task in tasks, (task, word)
        if not conventions.options:
            assert conventions.statement == "no option differs from the defaults"
    truth, predicted = [1.0, 2.0, 3.0], [1.5, 2.0, 2.0]
    for evaluation in (
        cal.regression(truth, predicted, conventions="sklearn", interval="none"),
        cal.regression(truth, predicted, conventions="ydf", interval="none"),
        cal.clustering(None, [0, 0, 1], [0, 1, 1], conventions="sklearn", interval="none"),
    ):
        assert evaluation.notes[0].endswith(": no option differs from the defaults.")


@pytest.mark.parametrize(
    ("rule", "measure"),
    [
        ("rbp >= 0", "RBP(p=0.9,gain='topic-max')"), ("RBP >= 0", "RBP(p=0.9,gain='topic-max')"),
        ("MAP >= 0", "AP"), ("low(map) >= 0", "AP"), ("map not worse than a by 0.5", "AP"),
        ("11pt_avg >= 0", "11pt-avg(rule='nearest')"),
        ("rbp not worse than a by 0.5", "RBP(p=0.9,gain='topic-max')"),
    ],
)  # fmt: skip
def test_requirements_in_the_names_of_the_tool(rule: str, measure: str) -> None:
    qrels, run = random_data(0)
    second = {topic: {d: -s for d, s in scores.items()} for topic, scores in run.items()}
    evaluation = cal.retrieval(
        qrels, {"a": run, "b": second}, measures=["map", "rbp", "11pt_avg"],
        conventions="trec_eval", baseline="a",
    )  # fmt: skip
    name = evaluation.requested_names[measure]
    [ruling] = cal.check_requirements(evaluation, [rule])
    assert name in ruling.message
    assert cal.Evaluation.from_json(evaluation.to_json()).canonical_name(name.upper()) == measure
    with pytest.raises(cal.InputError, match="'P_5' is not among the measures"):
        cal.check_requirements(evaluation, ["P_5 > 0"])


def test_a_name_that_is_that_of_another_measure_here() -> None:
    """MSnDCG@10 of NTCIREVAL is nDCG@10 here, and its nDCG@10 has another discount."""
    qrels, run = random_data(0)
    second = {topic: {d: -s for d, s in scores.items()} for topic, scores in run.items()}
    evaluation = cal.retrieval(
        qrels, {"a": run, "b": second}, measures=["MSnDCG@10", "nDCG@10"],
        conventions="ntcireval", order="score", baseline="a",
    )  # fmt: skip
    for name, ours in (("MSnDCG@10", "nDCG@10"), ("nDCG@10", "nDCG(dcg='log-base')@10")):
        plain = cal.retrieval(qrels, {"a": run, "b": second}, measures=[ours], baseline="a")
        assert evaluation["a", name].value == plain["a", ours].value
        assert evaluation["a", name].measure == ours
        results = [
            cal.check_requirements(e, [f"{n} not worse than a by 0.01"])[0].message
            for e, n in ((evaluation, name), (plain, ours))
        ]
        assert results[0] == results[1].replace(ours, name)
        plan = cal.plan(name, evaluation, system="a", half_width=0.05)
        assert (plan.measure, plan.n) == (
            ours,
            cal.plan(ours, plain, system="a", half_width=0.05).n,
        )
        assert f"interval of {name} has" in plan.sentence
        assert cal.Plan.from_json(plan.to_json()).sentence == plan.sentence


@pytest.mark.parametrize(
    ("names", "displayed"),
    [
        (["rbp", "RBP"], {"RBP(p=0.9,gain='topic-max')": "rbp"}),
        (["map", "MAP"], {"AP": "map"}),
        (["map", "AP", "map"], {"AP": "map/AP"}),
    ],
)
def test_names_that_are_requested_twice(names: list[str], displayed: dict[str, str]) -> None:
    qrels, run = random_data(0)
    evaluation = cal.retrieval(qrels, run, measures=names, conventions="trec_eval", interval="none")
    assert evaluation.requested_names == displayed
    for name in names:
        assert evaluation[name].measure == evaluation.measures[0]


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_scikit_learn(engine: str, tmp_path: Any) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    generator = np.random.default_rng(7)
    truth = generator.choice(["a", "b", "c"], 60)
    predicted = np.where(generator.random(60) < 0.6, truth, "a")  # neither b nor c may be missing
    predicted[predicted == "c"] = "b"
    data: Any = {"truth": truth, "predicted": predicted}
    if engine == "stream":
        pa, csv = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.csv")
        csv.write_csv(pa.table(data), tmp_path / "rows.csv")
        data = str(tmp_path / "rows.csv")
    evaluation = cal.classification(
        "truth", "predicted", data=data, conventions="sklearn", engine=engine, interval="none",
        measures=["macro-precision", "macro-f1", "weighted-f1", "matthews_corrcoef"],
    )  # fmt: skip
    options = {"zero_division": 0.0}
    expected = [
        metrics.precision_score(truth, predicted, average="macro", **options),
        metrics.f1_score(truth, predicted, average="macro", **options),
        metrics.f1_score(truth, predicted, average="weighted", **options),
        metrics.matthews_corrcoef(truth, predicted),
    ]
    assert [e.value for e in evaluation] == pytest.approx(expected, rel=1e-12)


def test_a_certain_error_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    truth, probability = [0, 1, 1, 0], [0.0, 0.0, 1.0, 0.25]
    evaluation = cal.classification(
        truth, probability=probability, measures=["log_loss"], conventions="sklearn"
    )
    expected = metrics.log_loss(truth, probability)
    assert evaluation["log_loss"].value == pytest.approx(expected, rel=1e-12)


def test_ydf() -> None:
    """Groups without a relevant row count with 0, and a probability of 0 is clipped."""
    ydf = pytest.importorskip("ydf", reason="ydf is not installed")
    generator = np.random.default_rng(9)
    group = np.repeat(np.arange(30), 12)
    grade = generator.choice([0, 0, 0, 1, 2, 3], 360) * (group % 5 > 0)
    score = generator.permutation(360) / 360
    made = ydf.evaluate_predictions(
        score.astype(np.float32), grade.astype(np.float32), ydf.Task.RANKING, ranking_groups=group
    )
    evaluation = cal.ranking(group, grade, score, conventions="ydf", interval="none")
    theirs = made._evaluation_proto.ranking
    assert evaluation["NDCG@5"].value == pytest.approx(theirs.ndcg.value, rel=1e-6)
    assert evaluation["MRR@5"].value == pytest.approx(theirs.mrr.value, rel=1e-6)

    truth, probability = np.array([1, 0, 1, 1]), np.array([0.0, 0.25, 0.5, 1.0])
    made = ydf.evaluate_predictions(probability.astype(np.float32), truth, ydf.Task.CLASSIFICATION)
    evaluation = cal.classification(
        truth, probability=probability, measures=["accuracy", "loss"], conventions="ydf"
    )
    assert evaluation["loss"].value == pytest.approx(made.loss, rel=1e-6)
    assert evaluation["accuracy"].value == pytest.approx(made.accuracy)


@pytest.mark.parametrize(
    ("task", "arguments", "message"),
    [
        ("retrieval", ({"q": {"a": 1}}, {"q": {"a": 1.0}}), "did you mean 'trec_eval'"),
        ("classification", ([0, 1], [0, 1]), "'trec_evall'"),
    ],
)
def test_unknown_conventions(task: str, arguments: Any, message: str) -> None:
    with pytest.raises(cal.InputError, match=message):
        getattr(cal, task)(*arguments, conventions="trec_evall")


def test_conventions_of_another_task() -> None:
    with pytest.raises(cal.InputError, match="trec_eval 10 has no task classification; expected"):
        cal.classification([0, 1], [0, 1], conventions="trec_eval")


def test_names_of_the_tool_are_read_everywhere() -> None:
    qrels, first = random_data(0)
    second = {topic: {d: -s for d, s in scores.items()} for topic, scores in first.items()}
    runs, names = {"a": first, "b": second}, ["map", "rbp", "11pt_avg_0.25,0.5"]
    evaluation = cal.retrieval(qrels, runs, measures=names, primary="rbp", conventions="trec_eval")
    comparison = evaluation.comparison
    assert comparison is not None
    assert comparison.primary == "RBP(p=0.9,gain='topic-max')"
    again = cal.Evaluation.from_json(evaluation.to_json())
    for name in names:
        difference = evaluation["b", name].value - evaluation["a", name].value
        assert comparison[name].value == pytest.approx(difference, abs=1e-12)
        assert again["a", name].value == evaluation["a", name].value
    assert evaluation["a", names[2]].measure == "11pt-avg(recalls=(0.25,0.5),rule='nearest')"


@pytest.mark.parametrize("name", ["default", "official", ["official"]])
def test_names_that_stand_for_the_measures_of_the_tool(name: Any) -> None:
    qrels, run = random_data(0)
    options: dict[str, Any] = {"conventions": "trec_eval", "interval": "none"}
    asked, default = (
        [e.measure for e in cal.retrieval(qrels, run, measures=m, **options)] for m in (name, None)
    )
    assert asked == default
    given = cal.retrieval(
        qrels, run, measures="IPrec(rule='least')@0.3", conventions="ir_measures", interval="none"
    )
    assert [e.measure for e in given] == ["IPrec@0.3"]
