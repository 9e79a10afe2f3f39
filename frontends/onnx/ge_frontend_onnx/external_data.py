"""Tensors that lie in files beside the model: mapped, never copied, and never outside of the model's folder.

They are read when they are needed, which may be long after the import: by then the file must not have changed.
"""

from __future__ import annotations

import mmap
import os
import stat
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from ge_core.errors import ModelImportError


@dataclass(frozen=True)
class FilePart:
    """Some bytes of a mapped file.

    Attributes:
        state: of the file when it was mapped: device, inode, size, time of the last change.
    """

    view: memoryview
    path: str
    offset: int
    state: tuple[int, int, int, int]

    @property
    def identity(self) -> tuple[object, ...]:
        """Equal for the same bytes of the same file."""
        return (*self.state, self.offset)

    def bytes(self) -> memoryview:
        """The bytes.

        Raises:
            ModelImportError: the file was written to since it was mapped.
        """
        try:
            now = os.stat(self.path)
        except OSError:
            return self.view  # removed, and so not overwritten: the mapping holds what was there
        if now.st_ino == self.state[1] and _state(now) != self.state:
            raise ModelImportError(
                "the file with the weights was changed after the model was imported",
                where=self.path,
                fix="import and compile the model again; replace such files by renaming a new one over them",
            )
        return self.view


class ExternalData:
    """The files beside a model.

    Args:
        folder: where the model lies, against which locations are resolved; None for a model without a file.
        root: the folder that no file may lie outside of; by default `folder`.
    """

    def __init__(self, folder: Path | None, root: Path | None = None) -> None:
        self._folder = folder
        self._root = root or folder
        self._maps: dict[str, FilePart] = {}

    def part_of(self, proto: Any, nbytes: int) -> FilePart:
        """The bytes of a tensor in the mapped file.

        Args:
            proto: a TensorProto with external data.
            nbytes: how many bytes its type and shape need.

        Raises:
            ModelImportError: the location leaves the folder, is no regular file, or does not hold the bytes.
        """
        entries = {entry.key: entry.value for entry in proto.external_data}
        where = f"the external data of {proto.name!r}"
        location = entries.get("location", "")
        offset = _number(entries.get("offset", "0"), "offset", where)
        length = _number(entries["length"], "length", where) if "length" in entries else nbytes
        if length != nbytes:
            raise ModelImportError(f"{where} has {length} bytes", expected=f"{nbytes}, as its type and shape say")
        if nbytes == 0:
            return FilePart(memoryview(b""), "", 0, (0, 0, 0, 0))
        whole = self._map(location, where)
        if offset + nbytes > len(whole.view):
            raise ModelImportError(
                f"{where} ends at byte {offset + nbytes} of {location}", expected=f"at most {len(whole.view)}, its size"
            )
        return replace(whole, view=whole.view[offset : offset + nbytes], offset=offset)

    def _map(self, location: str, where: str) -> FilePart:
        path = self._path(location, where)
        if path not in self._maps:
            self._maps[path] = _map_file(path, where)
        return self._maps[path]

    def _path(self, location: str, where: str) -> str:
        """The real path of a location inside the root."""
        if self._folder is None or self._root is None:
            raise ModelImportError(
                f"{where} lies in {location!r}, and the model was given without a folder",
                fix="pass the path of the .onnx file, or load the external data into the model first",
            )
        parts = PurePosixPath(location).parts
        outside = (
            not location
            or "\0" in location
            or location.startswith("/")
            or ".." in parts
            or PureWindowsPath(location).drive
            or ".." in PureWindowsPath(location).parts
        )
        if outside:
            raise ModelImportError(
                f"{where} has the location {location!r}", expected="a relative path inside the model's folder"
            )
        path = os.path.realpath(self._folder / location)
        root = os.path.realpath(self._root)
        if os.path.commonpath([root, path]) != root:
            raise ModelImportError(
                f"{where} lies in {location!r}, which a link leads out of the model's folder",
                expected=f"a file inside {root}",
                fix="if you trust the model, name the folder that holds the file: options={'external_data_root': ...}",
            )
        return path


def _number(text: str, what: str, where: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise ModelImportError(f"{where} has the {what} {text[:40]!r}", expected="a number of bytes, 0 or more")
    return int(text)


def _state(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _map_file(path: str, where: str) -> FilePart:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise ModelImportError(f"{where} cannot be read: {error.strerror}", where=path) from error
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise ModelImportError(f"{where} is no regular file", where=path)
        empty = status.st_size == 0
        view = memoryview(b"" if empty else mmap.mmap(handle, status.st_size, access=mmap.ACCESS_READ))
        return FilePart(view, path, 0, _state(status))
    finally:
        os.close(handle)
