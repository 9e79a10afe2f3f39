"""Writing a file whole or not at all.

The bytes go to a file that has no name yet, in the folder of the target; after fsync it gets its name in
one step. Whatever fails in between (full disk, exception, Ctrl-C, a killed process) leaves the old file as
it was, and no litter. Where the system has no nameless files, a hidden file `.NAME.saving` is used, and the
next save removes one that a killed process left behind.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from ge_core.errors import OfflineModelError

_NO_NAMELESS_FILES = {errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL, errno.ENOSYS}


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary file to write, seekable; it becomes `path` when the block ends without an exception.

    A symbolic link keeps pointing at its file, which is replaced; the old file's permissions are kept.

    Raises:
        OfflineModelError: the folder is missing or read-only, the disk is full, or `path` is no regular file.
    """
    target = Path(os.path.realpath(path))
    try:
        mode = _mode_of(target)
        staging = target.with_name(f".{target.name}.saving")
        handle, named = _open(target, staging)
        try:
            with os.fdopen(handle, "w+b", buffering=1 << 20) as file:
                yield file
                file.flush()
                if mode is not None:
                    os.fchmod(file.fileno(), mode)
                os.fsync(file.fileno())
                named = named or _give_name(file.fileno(), target, staging)
                if named:
                    # Before the file is closed: that frees the lock which keeps others off the staging file.
                    os.replace(staging, target)
                    named = False
        finally:
            if named:
                with suppress(FileNotFoundError):
                    os.unlink(staging)
        _sync_folder(target.parent)
    except OSError as error:
        raise _cannot_write(target, error) from error


def _mode_of(target: Path) -> int | None:
    try:
        found = os.stat(target)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise OfflineModelError(f"{target} is not a regular file", fix="give the path of a file to write")
    return stat.S_IMODE(found.st_mode)


def _open(target: Path, staging: Path) -> tuple[int, bool]:
    """A new file in the target's folder, and whether it has a name (`staging`)."""
    nameless = getattr(os, "O_TMPFILE", None)
    if nameless is not None and os.path.exists("/proc/self/fd"):
        try:
            return os.open(target.parent, nameless | os.O_RDWR | os.O_CLOEXEC, 0o666), False
        except OSError as error:
            if error.errno not in _NO_NAMELESS_FILES or not target.parent.is_dir():
                raise
    return _open_named(staging), True


def _open_named(staging: Path) -> int:
    while True:
        try:
            handle = os.open(staging, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        except FileExistsError:
            _remove_left_over(staging)
            continue
        # Between creation and lock another process may have taken the file for a left-over and removed it.
        if _lock(handle) and os.fstat(handle).st_nlink:
            return handle
        os.close(handle)


def _lock(handle: int) -> bool:
    """Whether this process now holds the file's lock; the system frees it when the process ends."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _remove_left_over(staging: Path) -> None:
    """Remove a staging file whose writer is gone.

    Raises:
        OfflineModelError: its writer is alive.
    """
    try:
        handle = os.open(staging, os.O_RDWR)
    except FileNotFoundError:
        return
    try:
        if not _lock(handle):
            raise OfflineModelError(
                f"another process is writing {staging.name[1:].removesuffix('.saving')}",
                where=staging.parent,
                fix="wait until it has finished, or save under another name",
            )
        with suppress(FileNotFoundError):
            os.unlink(staging)
    finally:
        os.close(handle)


def _give_name(handle: int, target: Path, staging: Path) -> bool:
    """Link a nameless file; True when it is linked as `staging`: a link cannot replace an old target."""
    source = f"/proc/self/fd/{handle}"
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        # A folder descriptor makes Python call linkat with AT_SYMLINK_FOLLOW, which plain link does not do.
        if not target.exists():
            with suppress(FileExistsError):
                os.link(source, target, src_dir_fd=folder, follow_symlinks=True)
                return False
        _lock(handle)
        while True:
            try:
                os.link(source, staging, src_dir_fd=folder, follow_symlinks=True)
            except FileExistsError:
                _remove_left_over(staging)
                continue
            return True
    finally:
        os.close(folder)


def _sync_folder(folder: Path) -> None:
    """Make the new name durable; some file systems do not let a folder be synced."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _cannot_write(target: Path, error: OSError) -> OfflineModelError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        fix = "free some space, raise the file size limit, or save to another disk; an old file is unchanged"
    elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        fix = "save to a folder that you may write to"
    elif error.errno in (errno.ENOENT, errno.ENOTDIR):
        fix = f"create the folder {target.parent} first"
    else:
        fix = "an old file of this name is unchanged; save again or elsewhere"
    reason = error.strerror or str(error)
    return OfflineModelError(f"the file cannot be written: {reason}", where=target, fix=fix)
