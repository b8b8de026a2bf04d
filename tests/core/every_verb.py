"""Every verb on little data: at once, after a fork, or until a signal. Run as a program by
``test_threads.py``, in a process that can be given up when it hangs."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import calipers as cal
from calipers import _core

VERBS: dict[str, Callable[[], Any]] = {}
CORE: dict[str, Callable[[], Any]] = {}

#: Work for minutes, of each long loop.
LONG: dict[str, Callable[[], Any]] = {}


def data(rows: int) -> dict[str, Any]:
    """Labels, scores and probabilities of so many rows."""
    draw = np.random.default_rng(0)
    truth = draw.random(rows) < 0.4
    classes = draw.integers(0, 4, rows)
    shares = draw.random((rows, 4)) + 2 * np.eye(4)[classes]
    return {
        "truth": truth,
        "score": {
            name: draw.random(rows) + lead * truth for name, lead in (("a", 0.3), ("b", 0.5))
        },
        "weight": draw.random(rows),
        "classes": classes,
        "shares": shares / shares.sum(axis=1, keepdims=True),
        "sets": draw.random((rows, 5)) < 0.4,
        "said": draw.random((rows, 5)),
        "value": draw.normal(size=rows),
        "order": np.argsort(draw.random(rows)),
    }


def rankings(topics: int, documents: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Judgments, and two runs."""
    draw = random.Random(0)
    names = [f"q{topic}" for topic in range(topics)]
    docs = [f"d{doc}" for doc in range(documents)]
    qrels = {topic: {doc: draw.randrange(3) for doc in docs} for topic in names}
    runs = {
        system: {
            topic: {doc: qrels[topic][doc] + noise * draw.random() for doc in docs}
            for topic in names
        }
        for system, noise in (("a", 3.0), ("b", 6.0))
    }
    return qrels, runs


def set_up() -> None:
    """Fill the tables above."""
    d = data(300)
    truth, score = d["truth"], d["score"]
    qrels, runs = rankings(10, 12)
    few: dict[str, Any] = {"n_resamples": 100}

    def retrieval() -> Any:
        return cal.retrieval(qrels, runs, measures=["nDCG@10", "AP"], interval="percentile", **few)

    def classification() -> Any:
        return cal.classification(truth, score=score, measures=["AUC", "PR-AUC"], **few)

    def probability() -> Any:
        one = {name: values / 2 for name, values in score.items()}
        return cal.classification(truth, probability=one, weight=d["weight"], **few)

    def multiclass() -> Any:
        return cal.classification(d["classes"], probability=d["shares"], **few)

    def regression() -> Any:
        said = {name: d["value"] + values for name, values in score.items()}
        return cal.regression(d["value"], said, interval="percentile", **few)

    VERBS.update(
        retrieval=retrieval,
        compare_retrieval=lambda: retrieval().compare(test="randomization"),
        tukey=lambda: retrieval().compare(adjust="tukey"),
        classification=classification,
        compare_classification=lambda: classification().compare(),
        probability=probability,
        multiclass=multiclass,
        multilabel=lambda: cal.multilabel(d["sets"], d["said"] > 0.5, **few),
        regression=regression,
        compare_regression=lambda: regression().compare(interval="bca"),
        operating_point=lambda: cal.operating_point(truth, score["a"], rule="youden", **few),
        curve=lambda: cal.curve(classification(), "ROC", "a"),
        overlap=lambda: cal.overlap(runs, depth=10, **few),
        from_values=lambda: cal.from_values(
            {"a": list(d["value"][:30]), "b": list(d["value"][30:60])}, **few
        ),
        agreement=lambda: cal.system_rank_correlation(retrieval(), "AP", "nDCG@10", **few),
        plan=lambda: cal.plan("nDCG@10", sd=0.1, difference=0.05),
        measure=lambda: cal.measure("AUC")(truth, score["a"]),
    )
    last = np.ones(300, bool)
    sign = d["said"] - 0.5
    square = np.abs(d["value"][:, None] - d["value"])
    level = np.linspace(0, 1, 1000)
    curves = np.cumsum(np.ones((100, 1000)), axis=1)
    CORE.update(
        score_table=lambda: _core.score_table(truth, score["a"]),
        weighted_table=lambda: _core.score_table(truth, score["a"], d["weight"]),
        order=lambda: _core.order_descending(score["a"].astype(np.float32)),
        midranks=lambda: _core.midranks(score["a"], d["weight"]),
        quantile=lambda: _core.weighted_quantile(score["a"], d["weight"], 0.5),
        weighted_moments=lambda: _core.weighted_moments(score["a"], d["weight"]),
        coarse=lambda: _core.bootstrap_coarse(truth, last, d["weight"], None, 0, 20, 64),
        means=lambda: _core.bootstrap_means(d["said"], 0, 20),
        signs=lambda: _core.randomization(sign, 0, 100),
        deals=lambda: _core.randomized_ranges(sign, 5, 0, 20),
        rows=lambda: _core.class_rows(d["shares"], d["classes"], 1e-6),
        blocks=lambda: _core.isotonic_blocks(score["a"], score["a"] + 1),
        fits=lambda: _core.isotonic_fits(level, np.ones(2000), level, 0, 100),
        draws=lambda: _core.poisson_draws(level, 0, 100),
        curves=lambda: _core.interpolated_rows(curves, curves, level),
        precision=lambda: _core.replicate_precision(curves, curves, level > 0.5, level),
        sampled=lambda: _core.sampled_range(100_000, 2),
        differences=lambda: _core.error_differences(score["a"], score["b"], 0.5, squared=True),
        thin=lambda: _core.simplified_curve(level, level, [(0, 1)] * 2, np.nan, True, 0.01, 0.1),
        thin_lines=lambda: _core.simplified_lines(np.stack([[level] * 2] * 2).T.copy(), 0.01),
        ranks=lambda: _core.class_ranks(d["shares"].astype(np.float32), d["classes"]),
        distances=lambda: _core.distance_sums(d["shares"], d["classes"], 4, "cosine"),
        dunn=lambda: _core.dunn_distances(d["shares"], d["classes"], 4, "euclidean"),
        matrix=lambda: _core.matrix_sums(square, d["classes"], 4),
    )


def set_up_long(*names: str) -> None:
    """Work for minutes, unless it is stopped; what only some of it takes is made for these names."""
    d = data(200_000)
    truth, score, weight = d["truth"], d["score"], d["weight"]
    many: dict[str, Any] = {"n_resamples": 1_000_000}
    last = np.ones(len(truth), bool)
    ends = np.array([100_000, 200_000])
    every = 1_000_000
    ranked = (truth, last, weight, None, 0)
    one = np.zeros(len(truth), np.uint32)
    called = np.full(every, 50_000)
    qrels, runs = rankings(1000, 10)
    rows = 2_500_000 if "judgments" in names else 1
    digits = np.full(7 * rows, ord("1"), np.uint8)
    topics = (np.arange(rows + 1) * 2, digits[: 2 * rows])
    documents = (np.arange(rows + 1) * 7, digits)
    documents_of_one = dict.fromkeys(map(str, range(100_000)), 1)
    nested = {f"q{topic}": documents_of_one for topic in range(200)}  # one dict, many times over
    LONG.update(
        classification=lambda: cal.classification(
            truth, score=score, measures=["AUC"], interval="percentile", **many
        ),
        multiclass=lambda: cal.classification(
            d["classes"], probability=d["shares"], measures=["log_loss"], interval="bca", **many
        ),
        regression=lambda: cal.regression(
            d["value"], weight, measures=["RMSE"], interval="percentile", **many
        ),
        retrieval=lambda: cal.retrieval(
            qrels, runs, measures=["AP"], interval="studentized", **many
        ),
        operating_point=lambda: cal.operating_point(truth, score["a"], **many),
        bootstrap_scores=lambda: _core.bootstrap_scores(*ranked, every),
        bootstrap_tables=lambda: _core.bootstrap_tables(
            truth, ends_at(truth), *ranked[2:], 0, every
        ),
        bootstrap_coarse=lambda: _core.bootstrap_coarse(*ranked, every, 1 << 16),
        bootstrap_left_out=lambda: _core.bootstrap_left_out(*ranked, called),
        bootstrap_runs=lambda: _core.bootstrap_runs(*ranked, every, ends, weight),
        bootstrap_cells=lambda: _core.bootstrap_cells(one, weight, 1, 0, every),
        bootstrap_means=lambda: _core.bootstrap_means(weight[:, None], 0, every),
        randomization=lambda: _core.randomization(weight[:, None] - 0.5, 0, 10**12),
        randomized_ranges=lambda: _core.randomized_ranges(d["said"], 5, 0, every),
        distance_sums=lambda: _core.distance_sums(weight[:, None], truth * 1, 2, "manhattan"),
        dunn_distances=lambda: _core.dunn_distances(d["said"], d["classes"], 4, "cosine"),
        some_distances=lambda: _core.distance_sums(
            d["said"], d["classes"], 4, "cosine", None, np.arange(100_000)
        ),
        matrix_sums=lambda: _core.matrix_sums(
            np.broadcast_to(weight, (len(truth),) * 2), truth * 1, 2
        ),
        judgments=lambda: _core.Judgments.from_columns(topics, documents, np.ones(rows, np.int64)),
        judgments_of_dict=lambda: _core.Judgments.from_dict(nested),
        one_replicate=lambda: _core.poisson_counts(0, 0, 20_000_000_000),
        isotonic_fits=lambda: _core.isotonic_fits(weight, np.ones(400_000), weight[:1], 0, every),
    )


def ends_at(truth: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Two blocks of equal scores."""
    last = np.zeros(len(truth), bool)
    last[[100, -1]] = True
    return last


def at_once(threads: int, rounds: int) -> None:
    """All verbs on all threads, each in an order of its own; all must say the same."""

    def call(number: int) -> list[dict[str, str]]:
        order = random.Random(number)
        said = []
        for _ in range(rounds):
            names = sorted(VERBS)
            order.shuffle(names)
            said.append({name: str(VERBS[name]()) for name in names})
        return said

    def call_core(number: int) -> None:
        order = random.Random(number)
        for _ in range(20):
            for name in order.sample(sorted(CORE), len(CORE)):
                CORE[name]()

    with ThreadPoolExecutor(threads) as executor:
        # First of all calls in this process: modules are imported by all threads at once, too.
        found = [said for all_said in executor.map(call, range(threads)) for said in all_said]
        list(executor.map(call_core, range(threads)))
    expected = {name: str(verb()) for name, verb in VERBS.items()}
    assert all(said == expected for said in found)


def _said(name: str) -> str:
    return str(VERBS[name]())


def after_fork() -> None:
    """A child of a process that has worked before works as well, and so does its own child."""
    expected = {name: _said(name) for name in VERBS}
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert dict(zip(VERBS, pool.map(_said, VERBS), strict=True)) == expected

    def grandchildren(depth: int) -> None:
        child = os.fork()
        if child == 0:
            good = _said("classification") == expected["classification"]
            if good and depth:
                grandchildren(depth - 1)
            os._exit(0 if good else 1)
        assert os.waitpid(child, 0)[1] == 0

    grandchildren(2)
    # From another thread, while a third is in the core.
    done = threading.Event()

    def keep_busy() -> None:
        while not done.is_set():
            VERBS["classification"]()

    busy = threading.Thread(target=keep_busy)
    busy.start()
    for _ in range(3):
        forking = threading.Thread(target=grandchildren, args=(0,))
        forking.start()
        forking.join()
    done.set()
    busy.join()
    assert _said("classification") == expected["classification"]


def with_joblib() -> None:
    """joblib's processes and threads, after work."""
    import joblib

    expected = [_said("classification"), _said("retrieval")]
    for backend in ("multiprocessing", "threading"):
        made = joblib.Parallel(n_jobs=2, backend=backend)(
            joblib.delayed(_said)(name) for name in ("classification", "retrieval")
        )
        assert made == expected


def until_signal(*names: str) -> None:
    """Work that Ctrl-C ends, and the library goes on after."""
    set_up_long(*names)
    for name in names:
        told, tell = os.pipe()
        # From another process, as a thread of this one could not press while the core holds the lock.
        pressing = os.fork()
        if pressing == 0:
            time.sleep(0.15)
            while True:  # what is raised in a weak reference's callback, Python drops
                os.write(tell, f"{time.monotonic()}\n".encode())
                os.kill(os.getppid(), signal.SIGINT)
                time.sleep(5)
        try:
            LONG[name]()
        except KeyboardInterrupt:
            stopped = time.monotonic()
        else:
            raise AssertionError(f"{name} was over before it could be stopped")
        finally:
            os.kill(pressing, signal.SIGKILL)
            os.waitpid(pressing, 0)
        waited = stopped - float(os.read(told, 1000).split()[-1])
        os.close(told)
        os.close(tell)
        print(f"{name}: {waited:.3f} s after Ctrl-C")
    assert _said("classification")


def handler_raises() -> None:
    """Whatever a handler raises ends the work, and a handler that returns does not."""
    set_up_long()
    seen: list[int] = []

    class LateError(Exception):
        pass

    def handle(number: int, _: object) -> None:
        seen.append(number)
        if len(seen) == 2:
            raise LateError

    signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)
    try:
        LONG["bootstrap_means"]()
    except LateError:
        signal.setitimer(signal.ITIMER_REAL, 0)
    else:
        raise AssertionError("not stopped")
    assert len(seen) == 2


def end_with_daemons() -> None:
    """A process ends while threads are still in the core."""
    set_up_long()
    for name in ("bootstrap_means", "randomization"):
        threading.Thread(target=LONG[name], daemon=True).start()

    def keep_busy() -> None:
        while True:
            CORE["score_table"]()

    for _ in range(4):
        threading.Thread(target=keep_busy, daemon=True).start()
    time.sleep(0.3)


if __name__ == "__main__":
    faulthandler.dump_traceback_later(100, exit=True)
    set_up()
    what, *arguments = sys.argv[1:]
    {
        "at_once": lambda: at_once(*map(int, arguments)),
        "after_fork": after_fork,
        "with_joblib": with_joblib,
        "until_signal": lambda: until_signal(*arguments),
        "handler_raises": handler_raises,
        "end_with_daemons": end_with_daemons,
    }[what]()
    print("done")
