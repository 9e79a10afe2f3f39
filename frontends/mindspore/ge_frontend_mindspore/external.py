"""Files of weights beside a MindIR file: mapped, never copied, and never outside of the model's folder."""

from __future__ import annotations

import mmap
import os
from pathlib import Path, PurePosixPath, PureWindowsPath

from ge_core.errors import ModelImportError
from ge_core.regular_file import open_regular

from .messages import damaged


class ExternalFiles:
    """The files beside a model, each mapped once.

    Args:
        folder: where the model lies.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._maps: dict[str, memoryview] = {}

    def bytes_of(self, location: str, offset: int, length: int, where: str) -> memoryview:
        """The bytes of a tensor, as a view of the mapped file.

        Args:
            where: what the bytes are, for messages.

        Raises:
            ModelImportError: the location leaves the folder, cannot be read, or does not hold the bytes.
        """
        data = self._map(location, where)
        if offset < 0 or length < 0 or offset + length > len(data):
            raise ModelImportError(
                f"{where} takes the bytes {offset} to {offset + length} of {location!r}",
                expected=f"at most {len(data)}, its size",
                fix="copy the folder of variables again, beside the .mindir file",
            )
        return data[offset : offset + length]

    def _map(self, location: str, where: str) -> memoryview:
        if location not in self._maps:
            self._maps[location] = map_file(self._path(location, where))
        return self._maps[location]

    def _path(self, location: str, where: str) -> str:
        windows = PureWindowsPath(location)
        if (
            not location
            or "\0" in location
            or location.startswith("/")
            or windows.drive
            or ".." in (*PurePosixPath(location).parts, *windows.parts)
        ):
            raise damaged(f"{where} lies in {location!r}, which is no path inside the model's folder")
        path, root = os.path.realpath(self._folder / location), os.path.realpath(self._folder)
        if os.path.commonpath([root, path]) != root:
            raise ModelImportError(
                f"{where} lies in {location!r}, which a link leads out of the model's folder",
                expected=f"a file inside {root}",
            )
        return path


def map_file(path: str | os.PathLike[str]) -> memoryview:
    """The bytes of a regular file, mapped.

    Raises:
        ModelImportError: there is none, or it cannot be read.
    """
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size == 0:
                return memoryview(b"")
            return memoryview(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ))
    except OSError as error:
        raise ModelImportError(f"{path} cannot be read: {error.strerror}") from error
