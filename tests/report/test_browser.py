"""The page in a real browser: the charts come alive, nothing is refused, nothing is fetched."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from samples import HOSTILE, OF_JAVASCRIPT, binary, hostile, retrieval, values

import calipers as cal
from calipers.results import Comparison, Evaluation

page, comparison_page = Evaluation.to_html, Comparison.to_html

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(BROWSER is None, reason="no chromium or google-chrome on PATH"),
]

# Moves the pointer over the first chart once it is alive.
POINT = """
{
  const timer = setInterval(() => {
    const figure = document.querySelector("figure[data-chart]");
    if (figure.dataset.rendered !== "true") return;
    clearInterval(timer);
    const box = figure.querySelector("svg").getBoundingClientRect();
    const x = box.left + box.width * 0.3, y = box.top + box.height * 0.25;
    const under = document.elementFromPoint(x, y);
    for (const type of ["pointerover", "pointermove"])
      under.dispatchEvent(new PointerEvent(type, { bubbles: true, clientX: x, clientY: y }));
  }, 100);
}
"""


def browse(path: Path, text: str) -> tuple[str, str]:
    """The page after its scripts ran, and what the browser had to say."""
    path.write_bytes(text.encode())
    done = subprocess.run(
        [str(BROWSER), "--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom",
         "--window-size=1200,2400", "--virtual-time-budget=8000", "--enable-logging=stderr",
         "--v=0", f"--user-data-dir={path.parent / 'profile'}", path.as_uri()],
        capture_output=True, check=True, timeout=120,
    )  # fmt: skip
    return done.stdout.decode(), done.stderr.decode(errors="replace")


@pytest.mark.slow
@pytest.mark.parametrize(
    "evaluation",
    [
        *(binary(), retrieval(), retrieval(topics=300)),
        *(hostile(*names) for names in zip(HOSTILE[::2], HOSTILE[1::2], strict=True)),
    ],
)
def test_charts_come_alive_and_nothing_is_refused(tmp_path: Path, evaluation: Evaluation) -> None:
    text = page(evaluation)
    dom, log = browse(tmp_path / "page.html", text)
    figures = re.findall(r"<figure[^>]*data-chart[^>]*>", dom)
    assert len(figures) == text.count(" data-chart>")
    assert all('data-rendered="true"' in figure for figure in figures)
    assert "CONSOLE" not in log  # neither an error nor a violation of the policy
    assert "Refused" not in log


@pytest.mark.slow
def test_a_tooltip_shows_names_as_text(tmp_path: Path) -> None:
    # A script of the test's own would be refused, so here the policy makes way for it.
    text = re.sub(r"<meta http-equiv[^\n]*\n", "", page(hostile()), count=1)
    before, after = text.rsplit("</body>", 1)
    dom, _ = browse(tmp_path / "page.html", f"{before}<script>{POINT}</script></body>{after}")
    found = re.search(r'<div id="vg-tooltip-element".*?</div>', dom, re.DOTALL)
    assert found
    assert "undefined" not in found[0]
    assert "threshold" in found[0]
    assert "<script" not in found[0]
    assert "<img" not in found[0]
    assert "&lt;/script&gt;" in found[0]


@pytest.mark.slow
def test_the_charts_of_a_comparison_come_alive(tmp_path: Path) -> None:
    made = cal.from_values(values(), unit="units", n_resamples=200).compare(margin={"m2": 0.2})
    text = comparison_page(made)
    dom, log = browse(tmp_path / "page.html", text)
    figures = re.findall(r"<figure[^>]*data-chart[^>]*>", dom)
    shown = [figure for figure in figures if "hidden" not in figure]
    assert len(figures) == text.count(" data-chart>")
    assert len(shown) > 5
    assert all('data-rendered="true"' in figure for figure in shown)
    assert re.findall(r"<label>(\w+) <select>", dom) == ["Pair", "Pair"]
    assert "CONSOLE" not in log
    assert "Refused" not in log


# Specs of all tasks are looked at in test_charts.
@pytest.mark.slow
@pytest.mark.parametrize("task", ["clustering", "two classes", "topics"])
def test_names_that_every_object_has_are_names_like_others(tmp_path: Path, task: str) -> None:
    text = page(OF_JAVASCRIPT[task]())
    dom, log = browse(tmp_path / "page.html", text)
    figures = re.findall(r"<figure[^>]*data-chart[^>]*>", dom)
    states = [re.findall(r'data-rendered="(\w+)"', figure) for figure in figures]
    assert ["true"] in states
    assert all(state in ([], ["true"]) for state in states)  # not drawn yet, or drawn
    assert not re.findall(r"CONSOLE.*(?:Error|Uncaught|is not a function).*", log)
    drawn = re.sub("\u200c", "", "".join(re.findall(r"<svg.*?</svg>", dom, re.DOTALL)))
    assert all(name in drawn for name in ("constructor", "__proto__"))
    assert "</script>" not in drawn
