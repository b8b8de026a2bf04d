"""The data behind the slider of a page, against counting by hand."""

from __future__ import annotations

import json

import numpy as np

import calipers as cal
from calipers.report.blocks import Explorer, Lines
from calipers.report.page_data import explorer_block


def test_each_place_has_its_counts_and_the_threshold_in_use_is_one() -> None:
    random = np.random.default_rng(4)
    truth = random.integers(0, 2, 4000)
    score = random.normal(truth, 1)
    ev = cal.classification(truth, score=score, interval="none", measures="AUC", threshold=0.5)
    made = explorer_block(ev)
    assert isinstance(made, Explorer)
    [system] = json.loads(made.data)["systems"]
    assert 0.5 in system["at"]
    assert system["at"] == sorted(system["at"], reverse=True)
    for at, tp, fp in zip(system["at"], system["tp"], system["fp"], strict=True):
        above = score >= at
        assert (tp, fp) == ((above & (truth == 1)).sum(), (above & (truth == 0)).sum())


def test_of_one_class_there_is_nothing_to_move() -> None:
    ev = cal.classification([1, 1, 1], score=[0.1, 0.5, 0.9], positive=1, interval="none")
    assert explorer_block(ev) is None


def test_weights_without_a_threshold_are_told() -> None:
    truth, score = [0, 1, 0, 1, 1], [0.1, 0.4, 0.5, 0.7, 0.9]
    options = {"weight": [1.0, 2.5, 1.0, 1.0, 2.0], "interval": "none"}
    ev = cal.classification(truth, score=score, **options)
    made = explorer_block(ev)
    assert isinstance(made, Lines)
    page = ev.to_html()
    assert made.items[0].split("(")[0] in page
    assert 'class="explorer"' not in page
    with_one = explorer_block(cal.classification(truth, score=score, threshold=0.5, **options))
    assert isinstance(with_one, Explorer)
