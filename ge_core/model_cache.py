"""Compiled models in the user's cache: compiling a model again is opening a file.

An entry is an offline model, named by what it depends on (`request_key`): the digest of the form is its folder, the
fingerprint of the weights its name. It is written after the compilation, by a thread of its own, whole or not at all;
it is used only by the user who wrote it, from a folder that nobody else can write to, and only if nothing changed it
since. What the cache cannot do (a full disk, a read-only folder, a damaged entry) is no error: the model is compiled.

Fingerprints are keyed by a random secret of this user's cache, so that nobody who does not know it can make two sets
of weights of one fingerprint; the backend makes them, and states how likely two different sets have the same one.

GE_MODEL_CACHE_MB bounds the folder (4096 by default; 0 turns the cache off), the backend's option `cache` a
compilation; models of more than a quarter of it, and those that compile in no time, are not kept.
"""

from __future__ import annotations

import os
import secrets
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ge_core.device_contract import KeepsModels
from ge_core.errors import GeError, OptionError
from ge_core.ir.constant import Constant
from ge_core.passes.base import debug_from_environment
from ge_core.request_key import Unkeyed, data_of, request_form
from ge_core.trust import cache_folder, is_private

if TYPE_CHECKING:
    from ge_core.compiler import CompileRequest, EntrySource
    from ge_core.model import CompiledModel

LIMIT_VARIABLE = "GE_MODEL_CACHE_MB"
DEFAULT_LIMIT = 4096
"""Mebibytes of the whole folder."""
WORTH = 0.1
"""Seconds that a compilation must have taken to be kept."""
_FORM = 1
"""Number of the way in which entries are kept."""
_SECRET_BYTES = 32
_NO_REPEAT = ("share_weights", "print_after", "save_graphs")
"""Options of compilations that do more than to give a model of their own."""


def limit() -> int:
    """Bytes that the folder may hold.

    Raises:
        OptionError: the environment's number is none.
    """
    given = os.environ.get(LIMIT_VARIABLE, str(DEFAULT_LIMIT))
    if not given.isascii() or not given.isdigit():
        raise OptionError(f"{LIMIT_VARIABLE}={given!r}", expected="mebibytes for compiled models, or 0 for none")
    return int(given) << 20


@dataclass(frozen=True)
class Lookup:
    """The place of one compilation in the cache, whose entry may be there."""

    folder: Path
    backend: KeepsModels
    constants: tuple[Constant, ...]
    limit: int
    started: float

    @property
    def is_hopeful(self) -> bool:
        """Whether models of this form are there at all; the weights are not looked at for this."""
        return self.folder.is_dir()

    def path(self) -> Path | None:
        """The entry's file, which may not exist; None where the cache cannot be used."""
        secret = _secret(self.folder.parent)
        if secret is None:
            return None
        try:
            return self.folder / f"{self.backend.fingerprint(secret, data_of(self.constants)).hex()}.om"
        except (GeError, OSError, MemoryError):
            return None


def serves(request: CompileRequest) -> bool:
    """Whether models for this target and with these options are kept at all.

    Raises:
        OptionError: the environment's limit is none.
    """
    if not limit() or not isinstance(request.plugin.backend(), KeepsModels) or debug_from_environment():
        return False
    return not any(request.options.get(name) for name in _NO_REPEAT)


def lookup(sources: Mapping[str, EntrySource], request: CompileRequest) -> Lookup | None:
    """Where the model of a compilation is kept; None for one that is not."""
    started, backend, most = time.perf_counter(), request.plugin.backend(), limit()
    assert isinstance(backend, KeepsModels)
    stamp = backend.stamp(request.target, request.backend_options)
    if stamp is None:
        return None
    try:
        form, constants = request_form(sources, request, stamp)
    except Unkeyed:
        return None
    if any(c.residence == "absent" for c in constants) or sum(c.nbytes for c in constants) > most // 4:
        return None
    folder = cache_folder() / "models"
    return Lookup(folder / f"{_FORM:02}{form}", backend, tuple(constants), most, started)


def found(path: Path) -> bool:
    """Whether an entry is there, and as it was written; it is then the one used last."""
    try:
        state = path.stat()
        if not is_private(path.parent) or state.st_mtime_ns != _written(path, state.st_size):
            return False
        os.utime(path, ns=(time.time_ns(), state.st_mtime_ns))
    except OSError:
        return False
    return True


def keep(model: CompiledModel, place: Lookup, path: Path) -> threading.Thread | None:
    """Write an entry beside what the caller does next; the interpreter waits for it when it ends."""
    if time.perf_counter() - place.started < WORTH:
        return None
    thread = threading.Thread(target=_keep, args=(model, path, place.limit), name="ge-model-cache")
    thread.start()
    return thread


def _keep(model: CompiledModel, path: Path, most: int) -> None:
    with suppress(OSError, AttributeError):  # whatever the caller does goes first
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
    with suppress(GeError, OSError, MemoryError):
        _write(path, model.save)
        sweep(path.parent.parent, most)


def _write(path: Path, save: Callable[[Path], None]) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not is_private(path.parent):
        return
    # the time of change is set before the entry has its name
    staging = path.with_name(f".{path.stem}-{os.getpid()}-{threading.get_native_id()}")
    try:
        save(staging)
        written = _written(path, staging.stat().st_size)
        os.utime(staging, ns=(time.time_ns(), written))
        os.replace(staging, path)
    finally:
        staging.unlink(missing_ok=True)


def _written(path: Path, size: int) -> int:
    """The time of change that an untouched entry has, in nanoseconds: a number of its name and size, since the
    weights are too many to be read for a checksum; whatever writes to the file changes it."""
    seconds = (int(path.stem[:8], 16) ^ size * 0x9E3779B1) % (1 << 28)
    return (1_000_000_000 + 2 * seconds) * 10**9  # file systems keep even seconds exactly


def sweep(folder: Path, most: int) -> None:
    """Remove the entries that were not used for longest, until the rest fits, and what killed processes left."""
    entries = []
    for path in folder.glob("*/*.om"):
        with suppress(OSError):
            state = path.stat()
            entries.append((state.st_atime_ns, state.st_size, path))
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= most:
            break
        with suppress(OSError):
            path.unlink()
            total -= size
            path.parent.rmdir()
    for path in (*folder.glob(".*"), *folder.glob("*/.*")):
        with suppress(OSError):
            if time.time() - path.stat().st_ctime > 3600:
                path.unlink()


def _secret(folder: Path) -> bytes | None:
    """The key of this cache's fingerprints, made at first use; None where it cannot be kept to oneself."""
    path = folder / "secret"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not is_private(folder):
            return None
        if not path.exists():
            _make_secret(path)
        secret = path.read_bytes()
        private = not path.stat().st_mode & 0o077
    except OSError:
        return None
    return secret if private and len(secret) == _SECRET_BYTES else None


def _make_secret(path: Path) -> None:
    """Of several that make one at the same time, the first gives it its name."""
    handle, staging = tempfile.mkstemp(dir=path.parent, prefix=".secret-")  # for this user's eyes alone
    try:
        with open(handle, "wb") as file:
            file.write(secrets.token_bytes(_SECRET_BYTES))
        with suppress(FileExistsError):
            os.link(staging, path)
    finally:
        os.unlink(staging)
