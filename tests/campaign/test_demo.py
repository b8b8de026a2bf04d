"""``calipers campaign demo`` copies the example, and writes over nothing."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import pytest
from click.testing import CliRunner

from calipers.cli import cli
from calipers.cli.campaign.demo import FILES

SOURCE = Path(str(resources.files("calipers") / "data" / "demo" / "campaign"))


def demo(folder: Path) -> tuple[int, str, BaseException | None]:
    done = CliRunner().invoke(cli, ["campaign", "demo", str(folder)])
    return done.exit_code, done.output, done.exception


def content(folder: Path) -> dict[Path, bytes]:
    return {
        path.relative_to(folder): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_all_of_it_is_copied(tmp_path: Path) -> None:
    code, output, _ = demo(tmp_path / "a" / "town")
    assert code == 0
    copied = content(tmp_path / "a" / "town")
    assert copied == content(SOURCE)
    assert len(copied) == 23
    for name in FILES:
        assert (tmp_path / "a" / "town" / name).exists()
        assert name in output


def test_an_empty_folder_will_do(tmp_path: Path) -> None:
    assert demo(tmp_path)[0] == 0
    assert content(tmp_path) == content(SOURCE)


@pytest.mark.parametrize("there", ["file", "folder", "dead link"])
def test_nothing_is_written_over(there: str, tmp_path: Path) -> None:
    place = tmp_path / "town"
    if there == "folder":
        place.mkdir()
        (place / "topics.xml").write_text("mine")
    elif there == "file":
        place.write_text("mine")
    else:
        place.symlink_to(tmp_path / "nowhere")
    before = content(tmp_path)
    code, output, error = demo(place)
    assert code != 0
    assert "town" in f"{output}{error}"
    assert content(tmp_path) == before
