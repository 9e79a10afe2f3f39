from __future__ import annotations

import errno
import os
import resource
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ge_core.errors import OfflineModelError
from ge_core.om.file import atomic_write

OLD = b"the old file"


@pytest.fixture(params=["nameless", "named"])
def target(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An old file to replace, on a system with and without nameless files."""
    if request.param == "named":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    path = tmp_path / "model.om"
    path.write_bytes(OLD)
    return path


def only_the_old_file(path: Path) -> bool:
    return path.read_bytes() == OLD and os.listdir(path.parent) == [path.name]


def test_a_file_appears_whole_and_alone(target: Path) -> None:
    with atomic_write(target) as file:
        file.write(b"new")
        file.flush()
        assert target.read_bytes() == OLD
    assert target.read_bytes() == b"new"
    assert os.listdir(target.parent) == [target.name]


def test_a_new_name_follows_the_umask(target: Path) -> None:
    target.unlink()
    old = os.umask(0o027)
    try:
        with atomic_write(target) as file:
            file.write(b"new")
    finally:
        os.umask(old)
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert os.listdir(target.parent) == [target.name]


def test_the_old_permissions_are_kept(target: Path) -> None:
    target.chmod(0o604)
    with atomic_write(target) as file:
        file.write(b"new")
    assert stat.S_IMODE(target.stat().st_mode) == 0o604


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError, SystemExit])
def test_an_exception_leaves_the_old_file(target: Path, error: type[BaseException]) -> None:
    with pytest.raises(error), atomic_write(target) as file:
        file.write(b"half")
        raise error
    assert only_the_old_file(target)


def test_a_full_disk_leaves_the_old_file(target: Path) -> None:
    with pytest.raises(OfflineModelError, match="free some space"), atomic_write(target) as file:
        file.write(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")
    assert only_the_old_file(target)


def test_a_file_size_limit_leaves_the_old_file(target: Path) -> None:
    def save() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        with atomic_write(target) as file:
            file.write(bytes(10_000_000))

    assert "free some space" in in_child(save)
    assert only_the_old_file(target)


def test_a_read_only_folder_is_named(target: Path) -> None:
    def save() -> None:
        if os.geteuid() == 0:
            os.seteuid(65534)
        with atomic_write(target) as file:
            file.write(b"new")

    modes = {folder: stat.S_IMODE(folder.stat().st_mode) for folder in target.parents}
    try:
        for folder, mode in modes.items():
            if os.geteuid() == 0 and not mode & 0o001:  # the child is another user and must get here
                folder.chmod(mode | 0o011)
        target.parent.chmod(0o555)
        message = in_child(save)
    finally:
        for folder, mode in modes.items():
            if stat.S_IMODE(folder.stat().st_mode) != mode:
                folder.chmod(mode)
    assert "save to a folder that you may write to" in message
    assert only_the_old_file(target)


def test_a_missing_folder_is_named(target: Path) -> None:
    missing = target.parent / "none" / "model.om"
    with pytest.raises(OfflineModelError, match="create the folder"), atomic_write(missing):
        pass


def test_only_regular_files_are_replaced(target: Path) -> None:
    with pytest.raises(OfflineModelError, match="not a regular file"), atomic_write(target.parent):
        pass


def test_a_link_keeps_pointing_at_its_file(target: Path) -> None:
    link = target.parent / "link.om"
    link.symlink_to(target)
    with atomic_write(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_the_left_over_of_a_dead_writer_is_removed(target: Path) -> None:
    (target.parent / ".model.om.saving").write_bytes(b"left over")
    with atomic_write(target) as file:
        file.write(b"new")
    assert target.read_bytes() == b"new"
    assert os.listdir(target.parent) == [target.name]


def test_a_living_writer_is_not_disturbed(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    with atomic_write(target) as file:
        file.write(b"first")
        with pytest.raises(OfflineModelError, match="another process is writing"), atomic_write(target):
            pass
    assert target.read_bytes() == b"first"


def test_a_folder_that_cannot_be_synced_is_no_error(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sync = os.fsync

    def files_only(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        sync(handle)

    monkeypatch.setattr(os, "fsync", files_only)
    with atomic_write(target) as file:
        file.write(b"new")
    assert target.read_bytes() == b"new"


WRITER = """
import sys
from ge_core.om.file import atomic_write
number = 0
print("ready", flush=True)
while True:
    number += 1
    with atomic_write(sys.argv[1]) as file:
        for _ in range(64):
            file.write(bytes([number % 251 + 1]) * 65536)
"""


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="this system has no nameless files")
def test_killed_writers_leave_a_whole_file_and_no_litter(tmp_path: Path) -> None:
    path = tmp_path / "model.om"
    for delay in (0.0, 0.003, 0.01, 0.02, 0.05, 0.08, 0.11, 0.17):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, os.fspath(path)], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        try:
            assert writer.stdout.readline() == b"ready\n"
            time.sleep(delay)
        finally:
            writer.send_signal(signal.SIGKILL)
            writer.wait()
            writer.stdout.close()
        if path.exists():  # a writer killed early has not saved yet
            data = path.read_bytes()
            assert len(data) == 64 * 65536
            assert data == data[:1] * len(data)
    with atomic_write(path) as file:
        file.write(b"new")
    assert os.listdir(tmp_path) == [path.name]


def in_child(act: Callable[[], Any]) -> str:
    """Run `act` in a forked process whose limits and user it may change; the message of its OfflineModelError."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            act()
            os.write(write_end, b"no error")
        except OfflineModelError as error:
            os.write(write_end, str(error).encode())
        finally:
            os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        message = pipe.read()
    os.waitpid(child, 0)
    return message


@pytest.fixture(autouse=True)
def _nothing_stays_open(tmp_path: Path) -> Iterator[None]:
    yield
    links = []
    for handle in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # the handle of the listing itself
            links.append(os.readlink(f"/proc/self/fd/{handle}"))
    assert not [link for link in links if link.startswith(os.fspath(tmp_path))]
