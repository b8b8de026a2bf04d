"""Several systems, splits, margins: the tests of what does not differ."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special, stats

import calipers as cal
from calipers.inference import omnibus, resampled_tests
from worlds.scores import Scored
from worlds.topics import TOPICS, PerTopic
from worlds.world import Floats, Random, Trial


def several(number: int, systems: int, of: PerTopic) -> Trial:
    """Systems that are alike: a test errs where it finds any of them to differ."""

    def draw(random: Random, seed: int) -> dict[str, float]:
        common, own = random.normal(size=(number, 1)), random.normal(size=(number, systems))
        table = of.quantile(special.ndtr(np.sqrt(0.7) * common + np.sqrt(0.3) * own))
        friedman = omnibus.friedman(table)
        rank_error = np.sqrt(systems * (systems + 1) / (12 * number))
        evaluation = cal.from_values(
            {f"system {j}": column for j, column in enumerate(table.T)},
            measure=of.measure,
            n_resamples=200,
            seed=seed,
        )
        found = {
            "Friedman, χ²": friedman.p,
            "Friedman, Iman-Davenport F": friedman.p_f,
            "Nemenyi": float(
                stats.studentized_range.sf(
                    np.ptp(friedman.mean_ranks) / rank_error, systems, np.inf
                )
            ),
            "two-way ANOVA": omnibus.anova(table).p,
        }
        for adjust in ("tukey", "tukey-anova", "holm", "none"):
            made = evaluation.compare(adjust=adjust)
            name = {
                "tukey": "randomized Tukey HSD",
                "tukey-anova": "two-way Tukey HSD",
                "holm": "randomization, Holm",
                "none": "randomization, not adjusted",
            }[adjust]
            p = [row.p_adjusted for row in made.differences]
            found[name] = float(np.min(p))
        return found

    design = f"{systems} systems, {of.name}"
    bad = ("randomization, not adjusted",)
    size = f"{number} topics"
    return Trial("several", design, size, draw, number >= 25, known_bad=bad, dear=2)


def overlapping(rows: int, design: str, learner: str) -> Trial:
    """Two classifiers of a feature each, neither of which is better, trained and tested on splits of
    the same rows. They cut the feature midway between the means of the classes, or answer the class
    that is more frequent in its bin, which of few rows is erratic."""

    def features(random: Random) -> tuple[npt.NDArray[np.bool_], Floats]:
        truth = random.random(rows) < 0.5
        return truth, (random.normal(size=(2, rows)) + 0.8 * truth).clip(-2.99, 2.99)

    def by_bins(x: Floats, truth: npt.NDArray[np.bool_], test: npt.NDArray[np.bool_]) -> Any:
        place = np.floor((x + 3) * 2).astype(np.intp)
        votes = np.bincount(place[~test], 2 * truth[~test] - 1.0, 12)
        return (votes > 0)[place[test]]

    def by_means(x: Floats, truth: npt.NDArray[np.bool_], test: npt.NDArray[np.bool_]) -> Any:
        means = (x[~test & of].mean() for of in (truth, ~truth))
        return x[test] > sum(means) / 2

    def apart(truth: npt.NDArray[np.bool_], both: Floats, test: npt.NDArray[np.bool_]) -> float:
        called = by_bins if learner == "bins" else by_means
        first, second = (np.mean(called(x, truth, test) == truth[test]) for x in both)
        return float(first - second)

    def draw(random: Random, seed: int) -> dict[str, float]:
        truth, both = features(random)
        if design == "repeated hold-out":
            found = []
            for _ in range(15):
                test = np.zeros(rows, bool)
                test[random.permutation(rows)[: rows // 5]] = True
                found.append(apart(truth, both, test))
            values = np.array(found)
            held_out = 1 / 5
        elif design == "ten-fold":
            fold = random.permutation(rows) % 10
            values = np.array([apart(truth, both, fold == j) for j in range(10)])
            held_out = 1 / 10
        else:
            halves = [random.permutation(rows) % 2 for _ in range(5)]
            table = np.array([[apart(truth, both, half == j) for j in (0, 1)] for half in halves])
            return {
                "5×2 cv t (Dietterich)": resampled_tests.five_by_two_t(table).test.p,
                "5×2 cv F (Alpaydın)": resampled_tests.five_by_two_f(table).test.p,
            }
        return {
            "corrected resampled t (Nadeau-Bengio)": resampled_tests.corrected_t(
                values, 1 - held_out, held_out
            ).test.p,
            "plain t over splits": resampled_tests.uncorrected_t(values).test.p,
        }

    of_halves = ("5×2 cv t (Dietterich)", "5×2 cv F (Alpaydın)")
    bad = ("plain t over splits", *(of_halves if learner == "bins" else ()))
    size = f"{rows} rows"
    return Trial("splits", f"{design}, {learner}", size, draw, rows >= 100, known_bad=bad)


def at_margin(number: int, margin: float = 0.05) -> Trial:
    """Systems that differ by exactly the margin: finding them not inferior, or equivalent, errs."""

    def draw(random: Random, seed: int) -> dict[str, float]:
        common = random.normal(size=number)
        own = random.normal(size=(2, number))
        values = 0.5 + 0.15 * (np.sqrt(0.7) * common + np.sqrt(0.3) * own)
        values[0] -= margin
        given = {"base": values[1], "new": values[0]}
        evaluation = cal.from_values(given, measure="nDCG", n_resamples=500, seed=seed)
        found = {}
        for test in ("t", "wilcoxon", "randomization", "bootstrap"):
            [row] = evaluation.compare(test=test, margin=margin).differences
            found[f"not inferior, {test}"] = row.p_noninferiority
            found[f"equivalent, {test}"] = row.p_equivalence
        return found

    return Trial("margins", "a mean at the margin", f"{number} topics", draw, number >= 25)


def shares_at_margin(rows: int, margin: float = 0.05) -> Trial:
    """Accuracies, and areas under the curve, that differ by exactly the margin."""
    second = Scored.binormal(0.85)
    area = Scored.binormal(0.85 - margin)

    def draw(random: Random, seed: int) -> dict[str, float]:
        truth = np.arange(rows) % 2 == 1
        u = random.random(rows)
        right = {"base": (u < 0.65) | (u > 0.85), "new": u < 0.75}
        called = {name: np.where(of, truth, ~truth) for name, of in right.items()}
        labelled = cal.classification(truth, called, measures=["accuracy"], curves=False)
        [share] = labelled.compare(margin=margin).differences
        common, own = random.normal(size=rows), random.normal(size=(2, rows))
        z = np.sqrt(0.5) * common + np.sqrt(0.5) * own
        score = {
            "base": second.positive.mean() * truth + z[0],
            "new": area.positive.mean() * truth + z[1],
        }
        scored = cal.classification(truth, score=score, measures=["AUC"], curves=False)
        [auc] = scored.compare(margin=margin).differences
        return {
            "not inferior, accuracy, Tango": share.p_noninferiority,
            "equivalent, accuracy, Tango": share.p_equivalence,
            "not inferior, AUC, DeLong": auc.p_noninferiority,
            "equivalent, AUC, DeLong": auc.p_equivalence,
        }

    return Trial("margins", "rows at the margin", f"{rows} rows", draw, rows >= 100)


def trials() -> list[Trial]:
    """Those whose false positives are counted."""
    return [
        *(several(n, k, TOPICS[2]) for n in (25, 50) for k in (3, 6)),
        several(50, 4, TOPICS[1]),
        *(
            overlapping(n, design, learner)
            for design in ("repeated hold-out", "ten-fold", "5×2")
            for learner in ("means", "bins")
            for n in (200, 500)
        ),
        *(at_margin(n) for n in (25, 100)),
        *(shares_at_margin(n) for n in (100, 400)),
    ]
