"""The lines as trec_eval prints them."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

from calipers.cli.trec_eval.options import Options
from calipers.cli.trec_eval.values import Line, Outcome

#: Stands for the topic in the lines of a topic: no argument can hold it.
TOPIC = b"\0"

#: Measures whose topics are not printed.
SUMMARY_ONLY = ("runid", "num_q", "gm_map", "gm_bpref")


def printed(options: Options, outcome: Outcome) -> Iterator[bytes]:
    """What goes to stdout, piece by piece."""
    standard = options.zscores is not None
    if options.per_topic:
        lines = [line for line in outcome.lines if line.name not in SUMMARY_ONLY]
        if lines:
            yield from _topics(lines, outcome.topics, standard=standard)
    if options.summary and outcome.stop is None:
        for line in outcome.lines:
            if isinstance(line.summary, bytes):
                yield _padded(line.name) % () + b"\tall\t" + line.summary + b"\n"
            elif line.summary is not None:
                form = _form(line, standard=standard)
                yield _filled(form, line.summary).replace(TOPIC, b"all")


def _topics(lines: list[Line], topics: list[bytes], *, standard: bool) -> Iterator[bytes]:
    forms = [_form(line, standard=standard) for line in lines]
    whole = b"".join(forms)
    columns = [line.values.tolist() if line.texts is None else line.texts for line in lines]
    for topic, row in zip(topics, zip(*columns, strict=True), strict=True):
        if any(value != value for value in row):
            text = b"".join(map(_filled, forms, row))
        else:
            text = whole % row
        yield text.replace(TOPIC, topic)


def _form(line: Line, *, standard: bool) -> bytes:
    """A line with places for its topic and its value."""
    if line.texts is not None:
        return _padded(line.name) + b"\t\0\t'%s'\n"
    if standard:
        return b"Z" + _padded(line.name) + b"\t\0\t%6.4f\n"
    return _padded(line.name) + (b"\t\0\t%d\n" if line.row.counts else b"\t\0\t%6.4f\n")


def _padded(name: str) -> bytes:
    return os.fsencode(name).ljust(22).replace(b"%", b"%%")


def _filled(form: bytes, value: float | bytes) -> bytes:
    """The form with its value; NaN keeps its sign, as in C."""
    if isinstance(value, bytes) or value == value:
        return form % value
    return form.replace(b"%6.4f", b"  -nan" if np.signbit(value) else b"   nan") % ()
