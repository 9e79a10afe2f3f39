"""Which files' native code this user compiled here: their digests, in the user's cache folder.

A checksum is not a signature: it says that a file is whole, not who wrote it. Code from a file runs only when the
user asks for it, or when this user wrote the very file with this cache at hand.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

KEPT = 10_000
"""Digests that are remembered; the oldest ones go first."""


def cache_folder() -> Path:
    """GE_CACHE_DIR, else the user's cache folder."""
    given = os.environ.get("GE_CACHE_DIR")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "ge"


def remember(digest: bytes) -> None:
    """Trust the file with this digest from now on; a cache that cannot be written is no error."""
    folder = _folder()
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        (folder / digest.hex()).touch()
        known = list(folder.iterdir())
        if len(known) > KEPT:
            known.sort(key=lambda file: file.stat().st_mtime_ns)
            for file in known[: len(known) - KEPT]:
                file.unlink()


def is_known(digest: bytes) -> bool:
    """Whether this user wrote the file with this digest; a folder that others can write to says nothing."""
    folder = _folder()
    try:
        return is_private(folder) and (folder / digest.hex()).is_file()
    except OSError:
        return False


def is_private(folder: Path) -> bool:
    """Whether nobody but this user can write to a folder.

    Raises:
        OSError: it is not there.
    """
    state = folder.stat()
    return state.st_uid == os.geteuid() and not state.st_mode & 0o022


def _folder() -> Path:
    return cache_folder() / "trusted"
