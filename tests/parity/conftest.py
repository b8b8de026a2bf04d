"""The certificate that tests of parity share."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from certificate import Certificate


@pytest.fixture(scope="session")
def certificate(request: pytest.FixtureRequest) -> Iterator[Certificate]:
    """Collects what is compared; ``--certificate FOLDER`` writes it, a file for each process."""
    collected = Certificate()
    yield collected
    folder = request.config.getoption("--certificate")
    if folder is not None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        name = os.environ.get("PYTEST_XDIST_WORKER", "all")
        record = json.dumps(collected.record(), indent=1, sort_keys=True)
        Path(folder, f"{name}.json").write_text(record + "\n", encoding="utf-8")
