from __future__ import annotations

import pytest
from samples import binary, difference, regression, retrieval, undefined

import calipers as cal
from calipers.evaluate import requirements
from calipers.report import headlines, verdict, wide
from calipers.report.verdict import Outcome
from calipers.results import Comparison, Estimate, Evaluation

NAN = float("nan")


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "dense is better than bm25 on nDCG@10 by 0.021 [0.011, 0.032] "
             "(adjusted p < 0.001, paired randomization, 50 topics)."),
        ({"value": -0.021, "low": -0.032, "high": -0.011},
         "dense is worse than bm25 on nDCG@10: difference -0.021 [-0.032, -0.011] "
         "(adjusted p < 0.001, paired randomization, 50 topics)."),
        ({"value": -0.021, "low": -0.032, "high": -0.011, "higher_is_better": False},
         "dense has a lower (better) nDCG@10 than bm25: difference -0.021 [-0.032, -0.011] "
         "(adjusted p < 0.001, paired randomization, 50 topics)."),
        ({"higher_is_better": False},
         "dense has a higher (worse) nDCG@10 than bm25: difference 0.021 [0.011, 0.032] "
         "(adjusted p < 0.001, paired randomization, 50 topics)."),
        ({"higher_is_better": None},
         "dense has a higher nDCG@10 than bm25: difference 0.021 [0.011, 0.032] "
         "(adjusted p < 0.001, paired randomization, 50 topics)."),
        ({"value": 0.004, "low": -0.010, "high": 0.018, "p_adjusted": 0.41},
         "No significant difference between dense and bm25 on nDCG@10: "
         "0.004 [-0.010, 0.018], adjusted p = 0.41."),
        ({"p_adjusted": 0.12},
         "No significant difference between dense and bm25 on nDCG@10: 0.021 [0.011, 0.032], "
         "adjusted p = 0.12; the unadjusted interval excludes 0, but the p-value is not "
         "significant."),
        ({"low": -0.001},
         "No significant difference between dense and bm25 on nDCG@10: 0.021 [-0.001, 0.032], "
         "adjusted p < 0.001; the p-value is significant, but the interval contains 0."),
        ({"p_adjusted": NAN},
         "The difference between dense and bm25 on nDCG@10 is not tested: 0.021 [0.011, 0.032]."),
        ({"p_adjusted": NAN, "low": NAN, "high": NAN, "alternative": "greater", "margin": 0.05},
         "The difference between dense and bm25 on nDCG@10 is not tested: 0.0210."),
        ({"value": NAN, "low": NAN, "high": NAN, "undefined": {"no_relevant": 50}},
         "On nDCG@10 the difference between dense and bm25 is undefined (no_relevant)."),
        ({"alternative": "greater", "high": float("inf"), "p_adjusted": 0.2},
         "dense is not significantly better than bm25 on nDCG@10: difference 0.0210 [0.0110, ∞], "
         "adjusted one-sided p = 0.20."),
        ({"alternative": "less", "p_adjusted": 0.2},
         "dense is not significantly worse than bm25 on nDCG@10: difference 0.021 [0.011, 0.032], "
         "adjusted one-sided p = 0.20."),
        ({"alternative": "greater", "low": -0.001, "p_adjusted": 0.04},
         "dense is better than bm25 on nDCG@10 by 0.021 [-0.001, 0.032] "
         "(adjusted one-sided p = 0.040, paired randomization, 50 topics)."),
        ({"value": 0.004, "low": -0.010, "high": 0.018, "p_adjusted": 0.41, "min_detectable": 0.0203},
         "No significant difference between dense and bm25 on nDCG@10: 0.004 [-0.010, 0.018], "
         "adjusted p = 0.41; minimum detectable difference 0.021 (80% power)."),
        ({"margin": 0.05, "p_noninferiority": 0.001, "p_equivalence": 0.01},
         "dense is better than bm25 on nDCG@10 by 0.021 [0.011, 0.032] (adjusted p < 0.001, "
         "paired randomization, 50 topics). The two are equivalent within a margin of 0.05 "
         "(adjusted one-sided p = 0.010). With 50 topics, differences on up to 6% of other topics "
         "are not excluded."),
        ({"value": 0.004, "low": -0.010, "high": 0.018, "p_adjusted": 0.41, "margin": 0.012,
          "p_noninferiority": 0.02, "p_equivalence": 0.2},
         "No significant difference between dense and bm25 on nDCG@10: 0.004 [-0.010, 0.018], "
         "adjusted p = 0.41. dense is non-inferior to bm25 within a margin of 0.012 (adjusted "
         "one-sided p = 0.020). With 50 topics, differences on up to 6% of other topics are not "
         "excluded."),
        ({"value": 0.004, "low": -0.010, "high": 0.018, "p_adjusted": 0.41, "margin": 0.001,
          "p_noninferiority": 0.3, "p_equivalence": 0.4},
         "No significant difference between dense and bm25 on nDCG@10: 0.004 [-0.010, 0.018], "
         "adjusted p = 0.41. dense is not shown to be non-inferior to bm25 within a margin of "
         "0.001 (adjusted one-sided p = 0.30)."),
    ],
)  # fmt: skip
def test_sentences(changes: dict[str, object], text: str) -> None:
    assert verdict.difference_sentence(difference(**changes)) == text


def test_one_difference_needs_no_adjustment() -> None:
    text = verdict.difference_sentences(Comparison((difference(),)))[0]
    assert "(p < 0.001," in text


def test_the_level_decides() -> None:
    assert verdict.outcome(difference(p_adjusted=0.05)) is Outcome.BETTER
    assert verdict.outcome(difference(p_adjusted=0.0501)) is Outcome.NOT_SIGNIFICANT
    assert verdict.outcome(difference(p_adjusted=0.05, level=0.99)) is Outcome.NOT_SIGNIFICANT


def test_without_an_interval_the_p_value_decides() -> None:
    assert verdict.outcome(difference(low=NAN, high=NAN)) is Outcome.BETTER
    assert "by 0.0210 (" in verdict.difference_sentence(difference(low=NAN, high=NAN))


def test_no_difference_is_no_verdict() -> None:
    assert verdict.outcome(difference(value=0.0, low=NAN, high=NAN)) is Outcome.NOT_SIGNIFICANT


KINDS: dict[str, dict[str, object]] = {
    "b": {}, "w": {"higher_is_better": False}, "n": {"p_adjusted": 0.5},
    "h": {"higher_is_better": None}, "u": {"value": NAN, "undefined": {"one_class": 1}},
}  # fmt: skip


@pytest.mark.parametrize(
    ("outcomes", "first", "others"),
    [
        ("bbn", "A is better than B on m0",
         "Other significant difference (A - B): m1 0.021 (better)."),
        ("nb", "No significant difference between A and B on m0",
         "Other significant difference (A - B): m1 0.021 (better)."),
        ("bn", "A is better than B on m0",
         "On m1, the other measure, there is no significant difference."),
        ("wnn", "A has a higher (worse) m0 than B",
         "On the 2 other measures there is no significant difference."),
        ("nbbbbbbb", "No significant difference between A and B on m0",
         "Significant differences (A - B) on other measures: m1, m2, m3, m4, m5, m6 and m7."),
        ("un", "On m0 the difference between A and B is undefined",
         "On m1, the other measure, there is no significant difference."),
        ("h", "A has a higher m0 than B", ""),
    ],
)  # fmt: skip
def test_the_primary_measure_leads(outcomes: str, first: str, others: str) -> None:
    found = [
        difference(measure=f"m{i}", system="A", baseline="B", **KINDS[kind])
        for i, kind in enumerate(outcomes)
    ]
    for primary in (None, "m0"):
        comparison = Comparison(tuple(found), adjustment="max-t", primary=primary)
        [said] = headlines.comparison_headlines(comparison)
        assert said.startswith(first)
        assert headlines.other_measures_sentence(comparison) == others
    turned = Comparison(tuple(found), adjustment="max-t", primary=f"m{len(outcomes) - 1}")
    assert f" m{len(outcomes) - 1}" in headlines.comparison_headlines(turned)[0]


def several(values: dict[str, float], apart: float, baseline: str | None = None) -> Comparison:
    """Systems by their means, of which those that are so far apart differ."""
    names = list(values)
    named = [(s, baseline) for s in names if s != baseline] if baseline else [
        (s, b) for j, s in enumerate(names) for b in names[:j]
    ]  # fmt: skip
    gaps = {(s, b): values[s] - values[b] for s, b in named}
    return Comparison(
        tuple(
            difference(measure="AP", system=s, baseline=b, value=gap, low=gap - apart,
                       high=gap + apart, p_adjusted=0.01 if abs(gap) > apart else 0.5)
            for (s, b), gap in gaps.items()
        ),
        adjustment="max-t", primary="AP", baseline=baseline,
    )  # fmt: skip


def test_many_systems_have_a_leader() -> None:
    ten = {f"s{j}": 0.3 + 0.02 * (j * 7 % 10) for j in range(10)}
    assert headlines.comparison_headlines(several(ten, 0.05)) == [
        "s7 ranks first of 10 systems on AP; not significantly different from it: s4 and s1; "
        "significantly worse: 7 others."
    ]
    assert headlines.comparison_headlines(several(ten, 0.5)) == [
        "s7 ranks first of 10 systems on AP; none is significantly different from it."
    ]
    assert headlines.comparison_headlines(several({**ten, "best": 1.0}, 0.4)) == [
        "best ranks first of 11 systems on AP; significantly worse: all others."
    ]
    assert headlines.comparison_headlines(several(ten, 0.05, "s4")) == [
        "AP against s4, the baseline: worse: s0, s2, s3, s5, s6 and s9; no significant difference: "
        "s1, s7 and s8."
    ]


def test_of_equal_systems_none_leads_alone() -> None:
    equal = {f"s{j}": 0.3 for j in range(10)}
    assert headlines.comparison_headlines(several(equal, 0.05)) == [
        "All 10 systems have the same AP."
    ]
    two = {f"s{j}": 0.3 - 0.1 * (j > 1) for j in range(10)}
    assert headlines.comparison_headlines(several(two, 0.05)) == [
        "s1 and s0 tie for first of 10 systems on AP; significantly worse: all others."
    ]


def test_few_systems_have_a_sentence_a_pair() -> None:
    four = {"a": 0.3, "b": 0.32, "c": 0.31, "d": 0.5, "e": 0.33}
    said = headlines.comparison_headlines(several(four, 0.1))
    assert [line.split(" by ")[0] for line in said[:4]] == [
        f"d is better than {name} on AP" for name in "abc"
    ] + ["e is worse than d on AP: difference -0.17 [-0.27, -0.07] (adjusted p = 0.010, paired "
         "randomization, 50 topics)."]  # fmt: skip
    assert said[4] == (
        "No significant difference on AP between b and a, c and a, c and b, e and a, e and b and e "
        "and c."
    )


def test_headlines_of_evaluations() -> None:
    [said] = headlines.headlines(retrieval())
    assert said.startswith("dense is better than bm25 on nDCG@10 by 0.036 [")
    rest = "On RR, the other measure, there is no significant difference."
    assert headlines.secondary_headline(retrieval()) == rest
    assert headlines.headlines(regression()) == [
        "RMSE is 56.3 [53.0, 59.9] (95% BCa; 442 rows); best constant prediction: 77.0."
    ]
    assert headlines.headlines(undefined()) == ["AUC is undefined (one_class: 1 of 12 rows)."]
    alone = Evaluation("classification", binary().estimates)
    assert headlines.headlines(alone) == ["2 systems on 3 measures, without pairwise comparisons."]
    assert headlines.headlines(Evaluation("retrieval", ())) == ["No measure was requested."]


def test_an_estimate_says_how_it_was_made() -> None:
    e = Estimate("AUC", 0.912, 0.880, 0.936, method="DeLong, logit scale", n=569, no_skill=0.627)
    assert headlines.estimate_verdict(e) == (
        "AUC is 0.912 [0.880, 0.936] (95% DeLong on the logit scale; 569 rows); "
        "best constant prediction: 0.627."
    )


def test_a_threshold_that_was_chosen_does_not_lead() -> None:
    score = [0.1, 0.4, 0.35, 0.8, 0.7, 0.2]
    ev = cal.classification(
        [0, 0, 1, 1, 1, 0], score=score, positive=1, threshold="youden", measures=["F1", "AUC"]
    )
    assert [e.measure for e in ev] == ["threshold", "F1", "AUC"]
    assert headlines.headlines(ev)[0].startswith("F1 is ")


# ------------------------------------------------------------------------------------- not tested


def _untested(systems: int, *, also: str = "") -> Comparison:
    """Every pair of systems on nDCG@10, none of them tested; and on another measure that is."""
    names = [f"s{j}" for j in range(systems)]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    rows = [
        difference(measure="nDCG@10", system=b, baseline=a, value=0.1 * int(b[1:]), p_adjusted=NAN)
        for a, b in pairs
    ]
    if also:
        rows += [
            difference(measure=m, system=b, baseline=a, p_adjusted=0.5 if m == also else NAN)
            for m in (also, "RR")
            for a, b in pairs
        ]
    return Comparison(tuple(rows), primary="nDCG@10")


@pytest.mark.parametrize("systems", [2, 3, 5, 12])
def test_what_nobody_tested_is_nowhere_said_not_to_differ(systems: int) -> None:
    comparison = _untested(systems, also="AP")
    said = headlines.comparison_headlines(comparison)
    assert all("not tested" in x or "Not tested" in x or "is tested" in x for x in said)
    assert not any("ignificant" in x or "undefined" in x for x in said)
    others = headlines.other_measures_sentence(comparison)
    assert others == "On the 2 other measures there is no significant difference. Not tested: RR."
    assert "0 of " in headlines.omitted_pairs_note(comparison)
    assert " Not tested: " in headlines.omitted_pairs_note(comparison)
    own = headlines.primary_differences(comparison)
    names = {name: float(name[1:]) for d in own for name in (d.system, d.baseline)}
    key_of = dict(zip(names, "abcdefghijkl", strict=False))
    # No letters, which systems share that do not differ; and a question mark in the row of signs.
    assert not any(wide.mark_systems(comparison, own, names, key_of).values())
    assert set("".join(wide.sign_rows(own, list(names)))) == {"\\", "?"}


def test_a_requirement_that_nobody_tested_is_not_met() -> None:
    rule = requirements.parse_requirement("nDCG@10 not worse than bm25")
    assert rule.is_met(difference(p_adjusted=0.5))
    assert not rule.is_met(difference(p_adjusted=NAN))
    assert not requirements.parse_requirement("nDCG@10 better than bm25").is_met(
        difference(p_adjusted=NAN)
    )


def test_slices_without_a_test_say_so_in_every_layout() -> None:
    truth, score = [0, 1, 1, 0, 1, 0] * 20, [0.2, 0.7, 0.6, 0.4, 0.9, 0.1] * 20
    options = {"slices": {"part": ["x", "y"] * 60}, "curves": False, "positive": 1}
    ev = cal.classification(
        truth, probability=score, measures=["Brier", "AUC"], interval="none", **options
    )
    assert {verdict.outcome(s.vs_rest) for s in ev.slices} == {Outcome.NOT_TESTED}
    for page in (str(ev), ev.to_markdown(), ev.to_html()):
        assert "not tested" in page
        assert "No slice differs significantly" not in page
    assert "No slice was tested against all other rows by" in ev.to_html()
    assert "is not tested: " in str(ev.slices[0].vs_rest)


def test_captions_do_not_say_of_untested_systems_that_none_differs() -> None:
    ev = cal.regression([1.0], {"a": [1.0], "b": [2.0]}, measures=["MAE", "MSE"])
    for said in (ev.to_text(), ev.to_markdown(), ev.to_latex()):
        assert "No differences were tested." in said
        assert "significantly" not in said
        assert "p-values and intervals" not in said  # there are none to adjust
