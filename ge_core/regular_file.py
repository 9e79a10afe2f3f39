"""Opens files that a person names: regular ones only, and never waiting for the other end of a pipe."""

from __future__ import annotations

import errno
import os
import stat
from typing import IO


def open_regular(path: str | os.PathLike[str]) -> IO[bytes]:
    """A regular file for reading.

    Raises:
        OSError: it does not exist, cannot be read, or is a folder, a pipe, a socket or a device.
    """
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is not a regular file", os.fspath(path))
    return os.fdopen(handle, "rb")
