"""What is written where: over files whole or not at all, into anything else."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from calipers.report.output_files import OutputTarget, atomic_writer, write_text

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX files")
linux = pytest.mark.skipif(sys.platform != "linux", reason="devices and /proc of Linux")
not_root = pytest.mark.skipif(
    sys.platform != "win32" and os.geteuid() == 0, reason="root may write everywhere"
)


def device(path: Path, minor: int) -> Path:
    """A device of our own: 3 is null, 7 is full. Only root can make one."""
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, minor))
    except (OSError, AttributeError):
        pytest.skip("no devices can be made here")
    return path


def in_a_process(code: str, redirect: str, folder: Path, before: str = "") -> str:
    """What the shell writes to where ``code`` is run with its output redirected; the messages."""
    program = f"import sys; from calipers.report.output_files import *; {code}"
    line = f"{before} {sys.executable} -c '{program}' {redirect}"
    return subprocess.run(
        ["bash", "-c", line], cwd=folder, capture_output=True, text=True, check=False
    ).stderr


# --- What is no regular file ----------------------------------------------------------------------


@linux
def test_a_device_is_written_into_and_stays_one(tmp_path: Path) -> None:
    null = device(tmp_path / "null", 3)
    write_text(null, "text")
    assert stat.S_ISCHR(null.stat().st_mode)
    assert list(tmp_path.iterdir()) == [null]


@linux
def test_a_full_device_is_told_by_the_name_that_was_given(tmp_path: Path) -> None:
    full = device(tmp_path / "full", 7)
    (tmp_path / "link").symlink_to(full)
    with pytest.raises(OSError, match="No space left") as raised:
        write_text(tmp_path / "link", "text")
    assert raised.value.errno == errno.ENOSPC
    assert raised.value.filename == str(tmp_path / "link")
    assert stat.S_ISCHR(full.stat().st_mode)


def test_a_pipe_is_written_into(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text(encoding="utf-8")))
    reader.start()
    write_text(pipe, "täxt" * 50_000)
    reader.join()
    assert got == ["täxt" * 50_000]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@linux
@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_the_standard_output_is_written_to_where_it_stands(tmp_path: Path, name: str) -> None:
    log = tmp_path / "log"
    log.write_text("before\n")
    inode = log.stat().st_ino
    code = f'print("printed"); write_text("{name}", "written\\n"); print("after")'
    assert in_a_process(code, ">> log", tmp_path) == ""
    assert log.read_text() == "before\nprinted\nwritten\nafter\n"
    assert log.stat().st_ino == inode
    assert list(tmp_path.iterdir()) == [log]


@linux
def test_a_process_substitution_gets_the_text(tmp_path: Path) -> None:
    code = 'write_text(sys.argv[1], "text")'
    assert in_a_process(code, ">(cat > got); wait $!; sleep 0.2", tmp_path) == ""
    assert (tmp_path / "got").read_text() == "text"


@linux
def test_an_open_file_of_another_process_is_not_replaced(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("a longer text before\n")
    with log.open("rb") as stream:
        code = f'write_text("/proc/{os.getpid()}/fd/{stream.fileno()}", "text")'
        assert in_a_process(code, "", tmp_path) == ""
        assert stream.read() == b"text"


def test_a_folder_is_not_written_over(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError) as raised:
        write_text(tmp_path, "text")
    assert raised.value.filename == str(tmp_path)


# --- Links ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("there", [True, False])
def test_links_are_followed_to_their_target(tmp_path: Path, *, there: bool) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "links").mkdir()
    target = tmp_path / "data" / "out"
    if there:
        target.write_text("old")
    (tmp_path / "links" / "first").symlink_to("../data/out")
    (tmp_path / "folder").symlink_to("links")
    (tmp_path / "second").symlink_to("folder/first")
    write_text(tmp_path / "second", "new")
    assert (tmp_path / "second").is_symlink()
    assert (tmp_path / "links" / "first").is_symlink()
    assert target.read_text() == "new"
    assert not target.is_symlink()
    assert list((tmp_path / "data").iterdir()) == [target]
    assert [p.name for p in (tmp_path / "links").iterdir()] == ["first"]


def test_other_hard_links_keep_the_old_content(tmp_path: Path) -> None:
    """As the page on guarantees says: the file is replaced, not written into."""
    path, other = tmp_path / "a", tmp_path / "b"
    path.write_text("old")
    other.hardlink_to(path)
    write_text(path, "new")
    assert (path.read_text(), other.read_text()) == ("new", "old")


def test_a_link_into_nowhere_and_one_to_itself_are_told(tmp_path: Path) -> None:
    (tmp_path / "lost").symlink_to("none/out")
    with pytest.raises(FileNotFoundError, match="the folder does not exist") as raised:
        write_text(tmp_path / "lost", "new")
    assert raised.value.filename == str(tmp_path / "lost")
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(OSError) as raised:
        write_text(tmp_path / "round", "new")
    assert raised.value.errno == errno.ELOOP


# --- Permissions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755, 0o666])
def test_a_file_keeps_its_permissions(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    path.chmod(mode)
    write_text(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_text() == "new"


def test_what_a_private_file_will_hold_is_private_from_the_start(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    path.chmod(0o600)
    with atomic_writer(path) as stream:
        stream.write(b"new")
        modes = {stat.S_IMODE(p.stat().st_mode) for p in tmp_path.iterdir()}
    assert modes == {0o600}


@pytest.mark.parametrize(("umask", "mode"), [("022", 0o644), ("077", 0o600), ("002", 0o664)])
def test_a_new_file_has_the_permissions_of_any_new_file(
    tmp_path: Path, umask: str, mode: int
) -> None:
    assert in_a_process('write_text("out", "new")', "", tmp_path, f"umask {umask};") == ""
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == mode


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root gives away")
def test_a_file_keeps_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    os.chown(path, 12345, 54321)
    write_text(path, "new")
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 54321)


@not_root
def test_what_is_protected_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    path.chmod(0o400)
    with pytest.raises(PermissionError, match="the file is protected"):
        write_text(path, "new")
    path.chmod(0o600)
    tmp_path.chmod(0o500)
    try:
        for name in ("out", "other"):
            with pytest.raises(PermissionError, match="the folder is protected"):
                write_text(tmp_path / name, "new")
    finally:
        tmp_path.chmod(0o700)
    assert path.read_text() == "old"


# --- Failures -------------------------------------------------------------------------------------


def test_a_full_disk_leaves_the_old_file_and_is_told_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("old")
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000));"
        'write_text("out", "x" * 100_000)'
    )
    said = in_a_process(code, "", tmp_path)
    assert said.splitlines()[-1] == "OSError: [Errno 27] File too large: 'out'"
    assert (tmp_path / "out").read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def _half_written(path: Path, error: type[BaseException]) -> None:
    with atomic_writer(path) as stream:
        stream.write(b"half")
        raise error


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, MemoryError])
def test_whatever_stops_the_writing_leaves_the_old_file(
    tmp_path: Path, error: type[BaseException]
) -> None:
    (tmp_path / "out").write_text("old")
    with pytest.raises(error):
        _half_written(tmp_path / "out", error)
    assert (tmp_path / "out").read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_an_error_of_another_file_keeps_its_name(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as raised, atomic_writer(tmp_path / "out"):
        (tmp_path / "missing").read_bytes()
    assert raised.value.filename == str(tmp_path / "missing")


def test_a_long_name_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("ж" * 120 + ".html")
    write_text(path, "text")
    assert path.read_text() == "text"


# --- One file under two names ---------------------------------------------------------------------


def _linked(folder: Path) -> tuple[Path, Path]:
    (folder / "a").write_text("")
    (folder / "b").symlink_to("a")
    return folder / "a", folder / "b"


def _hard_linked(folder: Path) -> tuple[Path, Path]:
    (folder / "a").write_text("")
    (folder / "b").hardlink_to(folder / "a")
    return folder / "a", folder / "b"


def _not_yet_there(folder: Path) -> tuple[Path, Path]:
    (folder / "sub").mkdir()
    (folder / "way").symlink_to("sub")
    return folder / "sub" / ".." / "sub" / "a", folder / "way" / "a"


def _dangling(folder: Path) -> tuple[Path, Path]:
    (folder / "b").symlink_to("a")
    return folder / "a", folder / "b"


def _one_pipe(folder: Path) -> tuple[Path, Path]:
    os.mkfifo(folder / "a")
    return folder / "a", folder / "a"


SAME = (_linked, _hard_linked, _not_yet_there, _dangling, _one_pipe)


@pytest.mark.parametrize("make", SAME)
def test_one_file_under_two_names_is_known(
    tmp_path: Path, make: Callable[[Path], tuple[Path, Path]]
) -> None:
    one, other = map(OutputTarget.from_path, make(tmp_path))
    assert one.is_same(other)
    assert other.is_same(one)


def test_different_files_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    (tmp_path / "b").write_text("")
    names = [tmp_path / name for name in ("a", "b", "c", "d")] + [Path("/dev/null")]
    places = [OutputTarget.from_path(name) for name in names]
    same = [(i, j) for i, a in enumerate(places) for j, b in enumerate(places) if a.is_same(b)]
    assert same == [(0, 0), (1, 1), (2, 2), (3, 3)]  # and two may write to /dev/null
