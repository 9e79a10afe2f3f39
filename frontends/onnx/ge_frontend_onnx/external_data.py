"""Tensors that lie in files beside the model: mapped, never copied, and never outside of the model's folder."""

from __future__ import annotations

import mmap
import os
import stat
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from ge_core.errors import ModelImportError


class ExternalData:
    """The files beside a model.

    Args:
        folder: where the model lies, against which locations are resolved; None for a model without a file.
        root: the folder that no file may lie outside of; by default `folder`.
    """

    def __init__(self, folder: Path | None, root: Path | None = None) -> None:
        self._folder = folder
        self._root = root or folder
        self._maps: dict[str, memoryview] = {}

    def bytes_of(self, proto: Any, nbytes: int) -> memoryview:
        """The bytes of a tensor, as a view of the mapped file.

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
            return memoryview(b"")
        data = self._map(location, where)
        if offset + nbytes > len(data):
            raise ModelImportError(
                f"{where} ends at byte {offset + nbytes} of {location}", expected=f"at most {len(data)}, its size"
            )
        return data[offset : offset + nbytes]

    def _map(self, location: str, where: str) -> memoryview:
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


def _map_file(path: str, where: str) -> memoryview:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise ModelImportError(f"{where} cannot be read: {error.strerror}", where=path) from error
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise ModelImportError(f"{where} is no regular file", where=path)
        if status.st_size == 0:
            return memoryview(b"")
        return memoryview(mmap.mmap(handle, status.st_size, access=mmap.ACCESS_READ))
    finally:
        os.close(handle)
