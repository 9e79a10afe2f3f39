"""The user's cache of compiled code: correct when it is damaged, shared, full or read-only, and then just slower.

An entry is named by everything that its code depends on, begins with the digest of the rest, and appears whole or
not at all. A folder that somebody else could write to is not used: its bytes would be executed.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from ge_core.source_stamp import source_stamp

LIMIT = 1 << 30
"""Bytes beyond which the oldest entries go."""
_SWEEP_AFTER = 600.0
"""Seconds between two looks at the whole folder, which takes long when it holds many entries."""


def cache_folder() -> Path:
    """GE_CACHE_DIR, else ge's folder in the user's cache."""
    given = os.environ.get("GE_CACHE_DIR")
    if given:
        return Path(given) / "cpu"
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(home) / "ge" / "cpu"


@lru_cache(maxsize=1)
def generator_version() -> str:
    """Digest of the sources that decide what code comes out: this package's, the scalar expressions', LLVM's number.

    It is kept under a stamp of the files, since reading them all and asking LLVM takes longer than opening a model.
    """
    import ge_core.ops as operators

    package = find_spec("llvmlite")
    llvm = package.submodule_search_locations if package is not None else None
    folders = [Path(__file__).parent, Path(str(operators.__file__)).parent, *(llvm or ())]
    cache, stamp = Cache(), source_stamp(*folders, suffixes=(".py", ".so"))
    known = cache.get(f"{0:02}version-{stamp}")
    if known is not None:
        return known.decode()
    version = _generator_version(folders[0], folders[1])
    cache.put(f"{0:02}version-{stamp}", version.encode())
    return version


def _generator_version(own: Path, core: Path) -> str:
    import llvmlite
    from llvmlite.binding import llvm_version_info

    digest = hashlib.sha256(f"{llvmlite.__version__} {llvm_version_info}".encode())
    for path in (*sorted(own.rglob("*.py")), core / "pointwise.py", core / "expression.py"):
        digest.update(f"{path.name}\0".encode() + path.read_bytes())
    return digest.hexdigest()


class Cache:
    """Named bytes in a folder.

    Args:
        folder: by default the user's.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = cache_folder() if folder is None else folder

    def get(self, key: str) -> bytes | None:
        """The bytes of an entry; None when there is none, or it is damaged."""
        path = self._path(key)
        try:
            if not _is_private(path.parent):
                return None
            raw = path.read_bytes()
        except OSError:
            return None
        if len(raw) < 32 or hashlib.sha256(raw[32:]).digest() != raw[:32]:
            return None
        return raw[32:]

    def put(self, key: str, data: bytes) -> None:
        """Keep an entry if that is possible."""
        path = self._path(key)
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _is_private(path.parent):
                return
            file, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
            try:
                with open(file, "wb") as writer:
                    writer.write(hashlib.sha256(data).digest() + data)
                os.replace(name, path)
            except OSError:
                os.unlink(name)
                raise
        except OSError:
            return
        self._sweep()

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / key[2:]

    def _sweep(self) -> None:
        """Remove the oldest entries of a cache that has grown too large, if nobody has looked lately."""
        stamp = self.folder / "swept"
        try:
            if stamp.exists() and time.time() - stamp.stat().st_mtime < _SWEEP_AFTER:
                return
            stamp.touch()
            entries = [(e.stat().st_mtime, e.stat().st_size, e) for e in self.folder.glob("*/*")]
            total = sum(size for _, size, _ in entries)
            for _, size, entry in sorted(entries, key=lambda e: e[0]):
                if total <= LIMIT:
                    return
                entry.unlink()
                total -= size
        except OSError:
            return


def _is_private(folder: Path) -> bool:
    """Whether nobody but this user can write to a folder."""
    state = folder.stat()
    return state.st_uid == os.geteuid() and not state.st_mode & 0o022
