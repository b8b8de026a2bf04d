"""A campaign to try things with, which does not wait for the disk."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import calipers as cal
from calipers.campaign import storage
from calipers.campaign.records import Assessor, Topic


@pytest.fixture
def durable() -> None:
    """For tests of durability: as it is for everybody."""


@pytest.fixture(autouse=True)
def quick(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """For all others nothing waits for the disk, in this process."""
    if "durable" not in request.fixturenames:
        monkeypatch.setattr(storage, "PRAGMAS", {**storage.PRAGMAS, "synchronous": 0})


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("campaign") / "a.campaign"
    with cal.Campaign.create(path, name="a") as made, made.write():
        made.add_topics([Topic("1", "first", author="p"), Topic("2", "second")])
        for name in ("ada", "bob"):
            made.add_assessor(Assessor(name))
        made.add_assessor(Assessor("eve", role="adjudicator"))
    return path


@pytest.fixture
def campaign(template: Path, tmp_path: Path) -> Iterator[cal.Campaign]:
    """Topics 1 and 2; ada and bob judge, and eve decides."""
    with cal.Campaign.open(shutil.copy(template, tmp_path / "a.campaign")) as made:
        yield made
