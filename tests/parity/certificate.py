"""The certificate of parity: how many values were compared with each program, and where they differ.

Tests of parity hand their values to a `Certificate`. It fails on a difference that no entry of
`DIFFERENCES` explains, and counts the others; ``pytest tests/parity --certificate FOLDER`` writes the
counts, from which `tools/certificate.py` makes the tables of docs/migration.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from calipers.measures.undefined_reasons import REASONS


@dataclass(frozen=True)
class Peer:
    """A program that computes the same measures."""

    name: str
    #: What is installed, or None for a program of one file.
    distribution: str | None = None
    #: Of a program of one file.
    version: str = ""
    source: str = "its package"

    def installed_version(self) -> str:
        """Version that takes part in the comparison."""
        if self.source == RECORDED:
            return str(recorded(self.name)["version"])
        return metadata.version(self.distribution) if self.distribution else self.version


COMPILED, SCRIPT = "compiled from its source", "its script"
FORMULAS = "its formulas, written in the test"
#: Of packages that need older versions of what is installed, or very much: see `recorded`.
RECORDED = "recorded values"


def recorded(peer: str) -> dict[str, Any]:
    """Values of a package that is not installed, with its version, its calls and the date."""
    path = Path(__file__).with_name(f"{peer}.json")
    record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return record


PEERS: Mapping[str, Peer] = {
    peer.name: peer
    for peer in (
        Peer("trec_eval", version="10.0", source=COMPILED),
        Peer("ndeval", version="2013", source=COMPILED),
        Peer("gdeval", version="1.3", source=SCRIPT),
        Peer("sample_eval", version="2011", source=SCRIPT),
        Peer("statAP_MQ_eval_v3", version="3 (2007)", source=SCRIPT),
        Peer("statAP_MQ_eval_v4", version="4 (2018)", source=SCRIPT),
        Peer("pytrec_eval", "pytrec-eval-terrier"),
        Peer("ir_measures", "ir_measures"),
        Peer("pyndeval", "pyndeval"),
        Peer("cwl-eval", "cwl-eval"),
        Peer("pyNTCIREVAL", "pyNTCIREVAL"),
        Peer("ranx", "ranx"),
        Peer("ydf", "ydf"),
        Peer("scikit-learn", "scikit-learn"),
        Peer("ppi-python", "ppi-python"),
        Peer("truescore", "truescore"),
        Peer("krippendorff", "krippendorff"),
        Peer("irrCAC", source=RECORDED),
        Peer("netcal", source=RECORDED),
        Peer("torchmetrics", source=RECORDED),
        Peer("scikit-uplift", source=RECORDED),
        Peer("MLstatkit", "MLstatkit"),
        Peer("pycm", "pycm"),
        Peer("scikit-survival", source=RECORDED),
        Peer("lifelines", source=RECORDED),
        Peer("BEIR", version="2", source=FORMULAS),
        Peer("MTEB", version="2", source=FORMULAS),
        Peer("MS MARCO", version="2019", source=FORMULAS),
        Peer("yardstick", version="1.4.0.9000", source=FORMULAS),
        Peer("SciPy", "scipy"),
        Peer("statsmodels", "statsmodels"),
    )
}

#: Documented reasons of differences, by the name with which a test refers to them. A reason for which
#: Calipers has no value is one as well, by its name in `REASONS`: see `sentence`.
DIFFERENCES: Mapping[str, str] = {
    "no_relevant": "No document of the topic is relevant: the value is undefined and the topic is left "
    "out of the mean. The peer has 0, 0/0 or no line.",
    "stratum_not_drawn": "No document of a stratum of the pool was judged: the value is undefined. The "
    "peer leaves the stratum out, as if it had no relevant document.",
    "not judged": "The topic has no judgments: it is not evaluated, and a note says so. The peer prints "
    "a value, which is 0.",
    "ranking ends before the cutoff": "Fewer documents than the cutoff were retrieved: precision counts "
    "those that are missing as not relevant. The peer has 0.",
    "not in the run": "The run omits the topic, which counts with 0. The peer leaves it out of its "
    "output and of the mean.",
    "counts without the run": "The run omits the topic, whose judgments count all the same. The peer "
    "has the default of the measure, which is 0.",
    "share of nothing": "A row or column of the matrix is empty: its shares are undefined. The peer "
    "has 0.",
    "straight across ties": "With tied scores the peer joins points of precision and recall by straight "
    "lines; here the area follows the curve on which the tied rows are in random order.",
    "precision before the score": "The peer multiplies each step of recall by the precision before it, "
    "where everybody else takes that after it.",
    "strict threshold": "The peer predicts positive above the threshold; here it is from the threshold "
    "on.",
    "relevant among the first": "The peer divides by the relevant rows among the first five, not by all "
    "of the group.",
    "highest grade is a hit": "The peer counts a hit if a row of the highest grade is first, also in a "
    "group without a relevant row.",
    "group without gain": "A group without gain has no value and is left out of the mean. The peer "
    "counts it as 0.",
    "order of tied rows": "Among tied rows the peer takes that which its sort puts first; here it is the "
    "mean over all orders.",
    "censored at the time of an event": "Rows are censored at the time of an event, which precedes "
    "them: the event has the weight 1/G just before its time, as it was observed with that "
    "probability. The peer takes G at its time.",
    "bins closed on the left": "Probabilities on the edges of bins: those of the peer are closed on the "
    "left, ours on the right.",
    "whole rows": "The proportion is not one of whole rows: the last one counts in part here. The peer "
    "leaves it out.",
    "absent label": "A label that no row has is left out of the mean. The peer counts it with 0.",
    "rows without an order": "Rows that have no label, or all of them, have no labels to order: they are "
    "left out of the mean. The peer counts them as perfect.",
    "score of 0": "The peer counts a document whose score is 0 or less as not relevant.",
    "labels of equal score": "The peer takes labels of equal score in the order of their columns, where "
    "each such pair is an error here.",
    "other parameters in the call": "The call has measures by subtopic with other parameters, for which "
    "the peer has 0.",
    "output without variance": "`force_finite=False`: an output whose truth is constant has no weight "
    "here, and makes the mean NaN there.",
    "place of tied classes": "Classes with the same score: the mean over their orders. The peer takes "
    "them in the order of their names.",
    "judged elsewhere": "A retrieved document is not judged for its topic, but for another. The peer "
    "counts it as judged.",
    "order of ids": "The peer sorts documents by the second character of their ids, where it means the "
    "score.",
    "limit at the edge": "None or all of the rows: the limit is 0 or 1, where the formula ends within.",
    "approximate with ties": "Ties or zeros among the differences: the test is exact here. The peer has a "
    "normal approximation, or leaves zeros out of the ranks.",
    "nothing left to judge": "With `-J` no document of the topic is left: nothing was retrieved. The "
    "peer divides by 0.",
    "below the levels": "No document reaches the relevance level: `bpref` is undefined. The peer reads "
    "beyond its table of levels.",
    "gain below the level": "No document reaches the relevance level, although some have a gain, of "
    "which `Rndcg` is made. The peer has 0.",
}


#: Why calls of a program are not compared.
OMISSIONS: Mapping[str, str] = {
    "not offered": "Calipers does not offer the option.",
    "no measure": "It is not a measure with one value: the message of `cal.measure` says what there is "
    "instead.",
    "pairs of documents": "It is of pairs of documents; `Accuracy@k` is read as `Success@k` here.",
    "curve": "A curve and no value; points of ROC and precision-recall curves are compared on random "
    "data.",
    "some of the classes": "`labels=` leaves out rows of the other classes, which Calipers keeps.",
    "sums of probabilities": "Probabilities of a row do not add up to 1, which Calipers refuses.",
    "no rows": "There are no rows, which Calipers refuses.",
}


def sentence(reason: str) -> str:
    """Why values differ; a KeyError if that is not documented."""
    if reason in DIFFERENCES:
        return DIFFERENCES[reason]
    return f"Undefined here: {REASONS[reason]}. The peer has a number, such as 0, or 0/0."


#: Values, and where a documented difference applies.
Values = npt.ArrayLike
Masks = Mapping[str, Any]


@dataclass
class Comparison:
    """Counts of one measure."""

    values: int = 0
    #: The largest relative or absolute tolerance; 0 where all printed digits have to be the same.
    tolerance: float = 0.0
    differences: dict[str, int] = field(default_factory=dict)
    #: Calls that were not compared, by reason.
    omitted: dict[str, int] = field(default_factory=dict)


class Certificate:
    """Counts of compared values by peer and measure."""

    def __init__(self) -> None:
        self.comparisons: dict[str, dict[str, Comparison]] = {}

    def compare(
        self,
        peer: str,
        measure: str,
        ours: Values,
        theirs: Values,
        *,
        rtol: float = 1e-12,
        atol: float = 1e-12,
        because: Masks | None = None,
        where: Callable[[int], object] = lambda index: index,
    ) -> None:
        """Compare values and count them.

        Parameters
        ----------
        peer : str
            A name of `PEERS`.
        measure : str
            The other program's name of the measure.
        ours, theirs : array_like of shape (n,)
            Values in the same order. NaN equals NaN.
        rtol, atol : float
            Tolerances as of `numpy.isclose`.
        because : mapping of str to array_like of bool, shape (n,)
            Where a documented difference may occur, by its key in `DIFFERENCES` or, where Calipers
            has NaN, in `REASONS`. Values that agree there count as equal.
        where : callable
            Describes the value at an index, for the message of a failure.

        Raises
        ------
        AssertionError
            Where values differ and no difference is documented.
        """
        first, second = (np.atleast_1d(np.asarray(v, float)) for v in (ours, theirs))
        assert first.shape == second.shape, f"{peer} {measure}: {first.shape} and {second.shape}"
        differs = ~np.isclose(first, second, rtol=rtol, atol=atol, equal_nan=True)
        entry = self.comparisons.setdefault(peer, {}).setdefault(measure, Comparison())
        assert peer in PEERS
        for reason, mask in (because or {}).items():
            assert sentence(reason)
            explained = differs & np.broadcast_to(np.asarray(mask, bool), differs.shape)
            assert reason not in REASONS or np.isnan(first[explained]).all(), f"{measure}: {reason}"
            if explained.any():
                entry.differences[reason] = entry.differences.get(reason, 0) + int(explained.sum())
            differs &= ~explained
        if differs.any():
            at = int(np.flatnonzero(differs)[0])
            raise AssertionError(
                f"{measure} of {peer}: {int(differs.sum())} of {differs.size} values differ, first "
                f"{where(at)}: {float(first[at])!r}, {peer} {float(second[at])!r}"
            )
        entry.values += first.size
        entry.tolerance = max(entry.tolerance, rtol, atol)

    def omit(self, peer: str, measure: str, reason: str) -> None:
        """Count a call of the peer that is not compared, for a reason of `OMISSIONS`."""
        assert peer in PEERS
        assert reason in OMISSIONS
        entry = self.comparisons.setdefault(peer, {}).setdefault(measure, Comparison())
        entry.omitted[reason] = entry.omitted.get(reason, 0) + 1

    def record(self) -> dict[str, Any]:
        """Versions, counts and reasons, as JSON."""
        return {
            "peers": {
                peer: {
                    "version": PEERS[peer].installed_version(),
                    "source": PEERS[peer].source,
                    "measures": {name: asdict(entry) for name, entry in measures.items()},
                }
                for peer, measures in self.comparisons.items()
            },
            "differences": {
                reason: sentence(reason)
                for measures in self.comparisons.values()
                for entry in measures.values()
                for reason in entry.differences
            },
            "omissions": {
                reason: OMISSIONS[reason]
                for measures in self.comparisons.values()
                for entry in measures.values()
                for reason in entry.omitted
            },
        }
