"""Pages as people with other eyes and hands meet them: axe-core in a browser, light and dark, wide and
narrow; and what the page's own script does there."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calipers as cal

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
sync_api = pytest.importorskip("playwright.sync_api")
axe = pytest.importorskip("axe_playwright_python.sync_playwright")

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(BROWSER is None, reason="no chromium or google-chrome on PATH"),
]

RANDOM = np.random.default_rng(8)
ROWS = 90
SICK = np.arange(ROWS) % 3 == 0
SCORES = {
    name: np.round(1 / (1 + np.exp(-(2 * SICK - 1 + RANDOM.normal(0, noise, ROWS)))), 2)
    for name, noise in (("rough", 2.0), ("fine", 1.0))
}
FEW: dict[str, Any] = {"n_resamples": 100}
NUMBERS = RANDOM.normal(size=ROWS)
CLASSES = np.arange(ROWS) % 10
QRELS = {
    f"t{t}": {f"d{d}": int(g) for d, g in enumerate(RANDOM.choice([0, 1, 2], 8))} for t in range(12)
}
RUNS = {
    f"run{k}": {
        t: {d: g + float(RANDOM.normal(0, 0.5 + k / 4)) for d, g in judged.items()}
        for t, judged in QRELS.items()
    }
    for k in range(10)
}


def _two_classes() -> cal.Evaluation:
    ev = cal.classification(
        SICK,
        probability=SCORES,
        threshold="youden",
        measures=["AUC", "PR-AUC", "recall", "specificity", "precision", "F1", "Brier", "ECE"],
        slices={"site": np.arange(ROWS) % 2},
        **FEW,
    )
    from dataclasses import replace

    return replace(ev, thresholds=cal.threshold_table(ev, thresholds=[0.3, 0.6]))


#: A page of every verb.
PAGES: dict[str, Callable[[], Any]] = {
    "two classes": _two_classes,
    "labels": lambda: cal.classification(SICK, SCORES["fine"] > 0.5, **FEW),
    "ten classes": lambda: cal.classification(CLASSES, np.roll(CLASSES, 1), **FEW),
    "several labels": lambda: cal.multilabel(
        RANDOM.random((ROWS, 3)) < 0.4, probability=RANDOM.random((ROWS, 3)), **FEW
    ),
    "regression": lambda: cal.regression(NUMBERS, {"a": NUMBERS + SCORES["rough"]}, **FEW),
    "ten runs": lambda: cal.retrieval(QRELS, RUNS, measures=["nDCG@5"], **FEW),
    "ten runs compared": lambda: cal.retrieval(QRELS, RUNS, measures=["AP"], **FEW).compare(
        margin=0.1
    ),
    "ranking": lambda: cal.ranking(
        np.arange(ROWS) // 6, CLASSES % 3, {"s": NUMBERS}, measures=["nDCG@3"], **FEW
    ),
    "clusters": lambda: cal.clustering(RANDOM.normal(size=(30, 2)), {"k": CLASSES[:30] % 3}),
    "raters": lambda: cal.agreement({"a": CLASSES % 3, "b": (CLASSES + SICK) % 3}, **FEW),
    "overlap": lambda: cal.overlap({n: RUNS[n] for n in ("run0", "run1")}, cutoffs=[3], **FEW),
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield made
        made.close()


def _opened(browser: Any, path: Path, **options: Any) -> tuple[Any, list[str]]:
    page = browser.new_context(**options).new_page()
    problems: list[str] = []
    page.on("console", lambda m: problems.append(m.text) if m.type in ("error", "warning") else 0)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(path.as_uri())
    return page, problems


def _until(page: Any, expression: str) -> None:
    """Waits as the page's policy allows it: without text that is evaluated in the page."""
    for _ in range(200):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(50)
    raise AssertionError(expression)


def _alive(page: Any) -> None:
    """Every chart in sight was drawn anew."""
    _until(
        page,
        "[...document.querySelectorAll('figure[data-chart]')].every(f => f.hidden ||"
        " f.closest('details:not([open])') || ['true', 'failed'].includes(f.dataset.rendered))",
    )


WAYS: list[tuple[int, Any]] = [(1200, "light"), (400, "dark")]
#: What axe-core is asked for: every rule but that of contrast on the whole page, and contrast, which
#: takes ten times as long, where rows of tables that have the markup of two before them are gone.
#: (Elements on which a rule passes are not written down.)
VIOLATIONS: dict[str, Any] = {"resultTypes": ["violations"]}
ALL_BUT_CONTRAST = {**VIOLATIONS, "rules": {"color-contrast": {"enabled": False}}}
CONTRAST = {**VIOLATIONS, "runOnly": ["color-contrast"]}
WITHOUT_ROWS_ALIKE = """
for (const body of document.querySelectorAll("tbody")) {
  const seen = {};
  for (const row of [...body.rows]) {
    const markup = row.outerHTML.replace(/>[^<]+</g, ">a<").replace(/ (id|for|title)="[^"]*"/g, "");
    seen[markup] = (seen[markup] || 0) + 1;
    if (seen[markup] > 2) row.remove();
  }
}
"""


def _violations(page: Any, context: str | None, options: dict[str, Any]) -> list[tuple[str, str]]:
    found = axe.Axe().run(page, context=context, options=options)
    return [(v["id"], v["nodes"][0]["html"][:200]) for v in found.response["violations"]]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The page of a verb, written once."""

    @cache
    def of(name: str) -> Path:
        path = tmp_path_factory.mktemp("pages") / "page.html"
        PAGES[name]().to_html(path)
        return path

    return of


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing(name: str, browser: Any, written: Callable[[str], Path]) -> None:
    """Every page one of the ways, turn by turn, as they share their looks; and what only this page
    has, the other way as well."""
    turn = list(PAGES).index(name) % 2
    whole, other = WAYS[turn], WAYS[1 - turn]
    # bypass_csp is for axe-core itself.
    page, problems = _opened(browser, written(name), color_scheme=whole[1], bypass_csp=True)
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
    for (width, scheme), part in ((whole, "body"), (other, ".explorer")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        _alive(page)
        if page.locator(part).count():
            context = part if part != "body" else None
            assert not _violations(page, context, ALL_BUT_CONTRAST), (width, scheme)
            page.evaluate(WITHOUT_ROWS_ALIKE)
            assert not _violations(page, context, CONTRAST), (width, scheme)
        wider = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wider <= 0, f"{width}: the page is {wider} pixels too wide"
    assert not problems
    page.context.close()


#: Sizes in pixels of all texts that are visible, those in pictures as they are scaled.
TEXT_SIZES = """[...document.querySelectorAll("main *")].filter((element) =>
  element.checkVisibility() && !element.closest(".hidden, script, style, noscript") &&
  [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim())
).map((element) => {
  const svg = element.closest("svg"), box = svg && svg.viewBox.baseVal;
  const scale = box && box.width ? svg.getBoundingClientRect().width / box.width : 1;
  return parseFloat(getComputedStyle(element).fontSize) * scale;
})"""
TOO_WIDE = """[...document.querySelectorAll(".scroll, .plot, .contents ul")].filter(
  (part) => part.checkVisibility() && part.scrollWidth > part.clientWidth + 1
).map((part) => part.getAttribute("aria-label") || part.className)"""
#: How far right the first value and its interval are.
LEADER_ENDS = """[".estimation tbody .number", ".ranking tbody td.value"].map((place) =>
  document.querySelector(place)).filter(Boolean).map((cell) => cell.getBoundingClientRect().right)"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["two classes", "ten classes", "regression", "ten runs"])
def test_nothing_is_cut_and_text_keeps_its_size(
    name: str, browser: Any, written: Callable[[str], Path]
) -> None:
    page, _ = _opened(browser, written(name), viewport={"width": 1200, "height": 900})
    _alive(page)
    assert not page.evaluate(TOO_WIDE)
    page.context.close()
    page, _ = _opened(browser, written(name), viewport={"width": 400, "height": 900})
    _alive(page)
    sizes = page.evaluate(TEXT_SIZES)
    assert len(sizes) > 20
    assert min(sizes) > 11.9
    ends = page.evaluate(LEADER_ENDS)
    assert ends
    assert max(ends) <= 400
    page.context.close()


@pytest.mark.slow
def test_what_is_folded_is_in_print(browser: Any, written: Callable[[str], Path]) -> None:
    for scripts in (True, False):
        page, _ = _opened(browser, written("two classes"), java_script_enabled=scripts)
        folded = page.locator("details:not([open]) > .scroll table").first
        assert not folded.is_visible()
        page.emulate_media(media="print")
        assert folded.is_visible()
        assert not page.locator("nav").is_visible()
        page.context.close()


@pytest.fixture
def page(browser: Any, written: Callable[[str], Path]) -> Iterator[Any]:
    path = written("two classes")
    opened, problems = _opened(browser, path, viewport={"width": 1200, "height": 900})
    yield opened
    assert not problems
    opened.context.close()


def test_the_threshold_moves_everything_together(page: Any) -> None:
    page.select_option(".explorer select", label="fine")
    slide = page.locator(".explorer .slide")
    slide.focus()
    slide.press("Home")
    slide.press("ArrowRight")
    at = float(page.locator(".explorer .at").inner_text())
    ranked = np.unique(SCORES["fine"])
    assert at in ranked
    called = SCORES["fine"] >= at
    cells = [int(cell) for cell in page.locator(".explorer .cells td").all_inner_texts()]
    tp, fn, fp, tn = cells
    assert (tp, fp) == ((called & SICK).sum(), (called & ~SICK).sum())
    assert tp + fn + fp + tn == ROWS
    ev = cal.classification(SICK, called, measures=["sensitivity", "PPV", "NPV", "LR-"])
    shown = page.locator(".explorer .values tbody tr").all_inner_texts()
    values = {row.split("\t")[0]: row.split("\t")[1:] for row in shown}
    for name, measure in (
        ("Sensitivity (recall)", "recall"), ("PPV (precision)", "precision"), ("NPV", "NPV"),
    ):  # fmt: skip
        e = ev[measure]
        assert values[name][0] == f"{e.value:.3f}"
        assert values[name][1] == f"[{e.low:.3f}, {e.high:.3f}]"
    assert values["LR−"][0] == f"{ev['LR-'].value:.3f}"
    before = page.locator(".explorer circle.now").first.get_attribute("cx")
    slide.press("End")
    assert page.locator(".explorer circle.now").first.get_attribute("cx") != before


def test_regions_are_those_of_rule_in_rule_out(page: Any) -> None:
    page.select_option(".explorer select", label="fine")
    page.get_by_label("Rule in: PPV ≥").fill("0.8")
    page.get_by_label("Rule out: NPV ≥").fill("0.9")
    made = cal.rule_in_rule_out(SICK, SCORES["fine"], ppv=0.8, npv=0.9, interval="none")
    said = page.locator(".explorer > .traits").inner_text()
    assert f"Rule in at {made.rule_in:g} and above: {100 * made.proportions['in']:.1f}%" in said
    assert f"Rule out below {made.rule_out:g}: {100 * made.proportions['out']:.1f}%" in said
    assert page.locator(".explorer .region.in").count() == 3


def test_tables_are_sorted_filtered_and_taken_along(page: Any) -> None:
    table = page.locator(".estimates").first
    first = "document.querySelector('.estimates tbody tr td.value').firstChild.textContent"
    page.get_by_role("button", name="Value", exact=True).first.click()
    values = [
        float(text.split("\n")[0].replace("−", "-"))
        for text in table.locator("tbody td.value").all_inner_texts()
    ]
    assert values == sorted(values)
    assert float(page.evaluate(first)) == values[0]
    page.get_by_label("Filter").first.fill("fine auc")
    assert table.locator("tbody tr:visible").count() == 2  # AUC and PR-AUC
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy the table: Estimates").click()
    _until(page, "document.body.textContent.includes('Copied 2 rows')")
    copied = page.evaluate("navigator.clipboard.readText()").split("\n")
    assert len(copied) == 3
    assert copied[0].startswith("Measure\tSystem\tValue\t95% CI")


DOWNLOADS = [
    ("ROC curve as SVG", "ROC-curve.svg", b"<svg"),
    ("ROC curve as PNG", "ROC-curve.png", b"\x89PNG"),
    ("The data of ROC curve as CSV", "ROC-curve.csv", b"x,"),
    ("Download result.json", "result.json", b'{"schema": 2'),
    ("Download result.csv", "result.csv", b"system,measure"),
    ("Download result.tex", "result.tex", b"% needs"),
]


@pytest.mark.slow
def test_charts_and_the_result_are_downloaded(page: Any) -> None:
    _alive(page)
    for button, name, begins in DOWNLOADS:
        with page.expect_download() as waiting:
            page.get_by_role("button", name=button, exact=True).click()
        assert waiting.value.suggested_filename == name
        assert Path(waiting.value.path()).read_bytes().startswith(begins), name


@pytest.mark.slow
def test_a_link_opens_what_is_folded(page: Any) -> None:
    target = page.evaluate("document.querySelector('details.more figure').id")
    assert re.fullmatch(r"chart-[\w.-]+", target)
    page.evaluate(f"location.hash = '{target}'")
    _until(page, "document.querySelector('details.more').open")
