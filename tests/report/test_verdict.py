from __future__ import annotations

import pytest
from samples import binary, difference, regression, retrieval, undefined

from calipers.report import verdict
from calipers.report.verdict import Outcome
from calipers.results import Comparison, Estimate, Evaluation

NAN = float("nan")


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "dense is better than bm25 on nDCG@10 by 0.021 [0.011, 0.032] "
             "(adjusted p < 0.001, paired randomisation, 50 topics)."),
        ({"value": -0.021, "low": -0.032, "high": -0.011},
         "dense is worse than bm25 on nDCG@10: difference -0.021 [-0.032, -0.011] "
         "(adjusted p < 0.001, paired randomisation, 50 topics)."),
        ({"value": -0.021, "low": -0.032, "high": -0.011, "higher_is_better": False},
         "dense is lower (better) than bm25 on nDCG@10: difference -0.021 [-0.032, -0.011] "
         "(adjusted p < 0.001, paired randomisation, 50 topics)."),
        ({"higher_is_better": False},
         "dense is higher (worse) than bm25 on nDCG@10 by 0.021 [0.011, 0.032] "
         "(adjusted p < 0.001, paired randomisation, 50 topics)."),
        ({"higher_is_better": None},
         "dense is higher than bm25 on nDCG@10 by 0.021 [0.011, 0.032] "
         "(adjusted p < 0.001, paired randomisation, 50 topics)."),
        ({"value": 0.004, "low": -0.010, "high": 0.018, "p_adjusted": 0.41},
         "On nDCG@10 the data do not tell dense and bm25 apart: "
         "difference 0.004 [-0.010, 0.018], adjusted p = 0.41."),
        ({"p_adjusted": 0.12},
         "On nDCG@10 the data do not tell dense and bm25 apart: difference 0.021 [0.011, 0.032], "
         "adjusted p = 0.12; the interval, which is not adjusted, leaves out 0, but the p-value "
         "is not small."),
        ({"low": -0.001},
         "On nDCG@10 the data do not tell dense and bm25 apart: difference 0.021 [-0.001, 0.032], "
         "adjusted p < 0.001; the p-value is small, but the interval contains 0."),
        ({"p_adjusted": NAN},
         "On nDCG@10 the data do not tell dense and bm25 apart: difference 0.021 [0.011, 0.032], "
         "adjusted p undefined."),
        ({"value": NAN, "low": NAN, "high": NAN, "undefined": {"no_relevant": 50}},
         "On nDCG@10 the difference between dense and bm25 is undefined (no_relevant)."),
        ({"alternative": "greater", "high": float("inf"), "p_adjusted": 0.2},
         "That dense is better than bm25 on nDCG@10 is not shown: difference 0.0210 [0.0110, ∞], "
         "adjusted one-sided p = 0.20."),
        ({"alternative": "less", "p_adjusted": 0.2},
         "That dense is worse than bm25 on nDCG@10 is not shown: difference 0.021 [0.011, 0.032], "
         "adjusted one-sided p = 0.20."),
        ({"alternative": "greater", "low": -0.001, "p_adjusted": 0.04},
         "dense is better than bm25 on nDCG@10 by 0.021 [-0.001, 0.032] "
         "(adjusted one-sided p = 0.040, paired randomisation, 50 topics)."),
        ({"value": 0.004, "low": -0.010, "high": 0.018, "p_adjusted": 0.41, "detectable": 0.0203},
         "On nDCG@10 the data do not tell dense and bm25 apart: difference 0.004 [-0.010, 0.018], "
         "adjusted p = 0.41; a true difference of 0.021 would be found by a test of this pair alone "
         "with a probability of 80%."),
        ({"margin": 0.05, "p_not_inferior": 0.001, "p_equivalent": 0.01},
         "dense is better than bm25 on nDCG@10 by 0.021 [0.011, 0.032] (adjusted p < 0.001, "
         "paired randomisation, 50 topics). The two are within 0.05 of each other (adjusted "
         "one-sided p = 0.010)."),
        ({"value": 0.004, "low": -0.010, "high": 0.018, "p_adjusted": 0.41, "margin": 0.012,
          "p_not_inferior": 0.02, "p_equivalent": 0.2},
         "On nDCG@10 the data do not tell dense and bm25 apart: difference 0.004 [-0.010, 0.018], "
         "adjusted p = 0.41. dense is not worse than bm25 by 0.012 or more (adjusted one-sided "
         "p = 0.020)."),
        ({"value": 0.004, "low": -0.010, "high": 0.018, "p_adjusted": 0.41, "margin": 0.001,
          "p_not_inferior": 0.3, "p_equivalent": 0.4},
         "On nDCG@10 the data do not tell dense and bm25 apart: difference 0.004 [-0.010, 0.018], "
         "adjusted p = 0.41. That dense is not worse than bm25 by 0.001 or more is not shown "
         "(adjusted one-sided p = 0.30)."),
    ],
)  # fmt: skip
def test_sentences(changes: dict[str, object], text: str) -> None:
    assert verdict.sentence(difference(**changes)) == text


def test_one_difference_needs_no_adjustment() -> None:
    text = verdict.sentences(Comparison((difference(),)))[0]
    assert "(p < 0.001," in text


def test_the_level_decides() -> None:
    assert verdict.outcome(difference(p_adjusted=0.05)) is Outcome.BETTER
    assert verdict.outcome(difference(p_adjusted=0.0501)) is Outcome.NOT_TOLD_APART
    assert verdict.outcome(difference(p_adjusted=0.05, level=0.99)) is Outcome.NOT_TOLD_APART


def test_without_an_interval_the_p_value_decides() -> None:
    assert verdict.outcome(difference(low=NAN, high=NAN)) is Outcome.BETTER
    assert "by 0.0210 (" in verdict.sentence(difference(low=NAN, high=NAN))


def test_no_difference_is_no_verdict() -> None:
    assert verdict.outcome(difference(value=0.0, low=NAN, high=NAN)) is Outcome.NOT_TOLD_APART


@pytest.mark.parametrize(
    ("outcomes", "text"),
    [
        ("bbbbbnnn", "A beats B on 5 of 8 measures; on 3 the data do not tell them apart."),
        ("bb", "A beats B on all 2 measures."),
        ("ww", "B beats A on all 2 measures."),
        ("bbw", "A beats B on 2 of 3 measures and is beaten on 1."),
        ("nn", "On none of 2 measures do the data tell A and B apart."),
        ("bh", "A beats B on 1 of 2 measures; on 1 they differ, without a better or a worse."),
        ("nu", "On 1 the data do not tell A and B apart; on 1 the difference is undefined."),
        ("h", "A is higher than B on m0 by 0.021 [0.011, 0.032] "
              "(p < 0.001, paired randomisation, 50 topics)."),
    ],
)  # fmt: skip
def test_headlines(outcomes: str, text: str) -> None:
    kinds: dict[str, dict[str, object]] = {
        "b": {}, "w": {"higher_is_better": False}, "n": {"p_adjusted": 0.5},
        "h": {"higher_is_better": None}, "u": {"value": NAN},
    }  # fmt: skip
    found = [
        difference(measure=f"m{i}", system="A", baseline="B", **kinds[kind])
        for i, kind in enumerate(outcomes)
    ]
    assert verdict.comparison_headlines(Comparison(tuple(found))) == [text]


def test_headlines_of_evaluations() -> None:
    assert verdict.headlines(retrieval()) == [
        "dense beats bm25 on 1 of 2 measures; on 1 the data do not tell them apart."
    ]
    assert verdict.headlines(regression()) == [
        "RMSE is 56.3 [53.0, 59.9] (95% BCa; 442 rows); the best constant answer scores 77.0."
    ]
    assert verdict.headlines(undefined()) == ["AUC is undefined (one_class)."]
    alone = Evaluation("classification", binary().estimates)
    assert verdict.headlines(alone) == ["2 systems on 3 measures, not compared with one another."]
    assert verdict.headlines(Evaluation("retrieval", ())) == [
        "There is nothing to show: no measure was asked for."
    ]


def test_an_estimate_says_how_it_was_made() -> None:
    e = Estimate("AUC", 0.912, 0.880, 0.936, method="DeLong, logit scale", n=569, default=0.627)
    assert verdict.estimate_verdict(e) == (
        "AUC is 0.912 [0.880, 0.936] (95% DeLong, logit scale; 569 rows); "
        "the best constant answer scores 0.627."
    )
