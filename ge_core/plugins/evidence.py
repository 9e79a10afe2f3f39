"""What a model shows of itself without its framework: its classes' names, or its file's first bytes."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from ge_core.errors import ModelImportError
from ge_core.regular_file import open_regular

HEAD_BYTES = 4096
OFFLINE_MODEL = b"IMOD"
_ZIP_MAGIC = b"PK\x03\x04"


@dataclass(frozen=True)
class Evidence:
    """Either the class names of a live object, or a path with the first bytes of its file."""

    type_names: tuple[str, ...] = ()
    path: str | None = None
    head: bytes | None = None

    @property
    def is_offline_model(self) -> bool:
        """Whether the file begins as every offline model (`.om`) does, ours and those of others."""
        return self.head is not None and self.head.startswith(OFFLINE_MODEL)

    def __str__(self) -> str:
        return self.path if self.path is not None else f"an object of type {self.type_names[0]}"


def gather(model: object) -> Evidence:
    """The evidence of a model.

    Raises:
        ModelImportError: the path does not exist or cannot be read.
    """
    if not isinstance(model, str | os.PathLike):
        return Evidence(type_names=tuple(f"{c.__module__}.{c.__qualname__}" for c in type(model).__mro__))
    path = os.fsdecode(os.fspath(model))
    if os.path.isdir(path):
        return Evidence(path=path)
    try:
        with open_regular(path) as file:
            return Evidence(path=path, head=file.read(HEAD_BYTES))
    except FileNotFoundError as error:
        raise ModelImportError(
            f"there is no model at {path!r}: no such file or folder", fix="check the path"
        ) from error
    except (OSError, ValueError) as error:
        raise ModelImportError(f"the model at {path!r} cannot be read: {error}") from error


@dataclass(frozen=True)
class FileRule:
    """A rule over one path; all parts that are given must hold.

    Args:
        suffix: the end of the file's name, in any case.
        magic: bytes, of which one must stand at `offset`.
        offset: where the magic stands.
        zip_member: a pattern that a member of the zip file must match.
        folder_member: a pattern that a name in the folder must match; without it, folders match no rule.
    """

    suffix: str = ""
    magic: tuple[bytes, ...] = ()
    offset: int = 0
    zip_member: str = ""
    folder_member: str = ""

    @classmethod
    def parse(cls, row: Mapping[str, object]) -> FileRule:
        """A rule from its row in the catalogue, where `magic` is a list of hexadecimal strings."""
        fields = dict(row)
        magic = fields.pop("magic", [])
        if not isinstance(magic, list) or not (fields or magic):
            raise ValueError(f"no rule over files: {dict(row)}")
        return cls(magic=tuple(bytes.fromhex(text) for text in magic), **fields)  # type: ignore[arg-type]

    def holds(self, path: str, head: bytes | None) -> bool:
        """Whether the path satisfies this rule; lists a folder or a zip only when the rule needs it."""
        if not path.lower().endswith(self.suffix):
            return False
        if head is None:
            return bool(self.folder_member) and _any_match(_folder_names(path), self.folder_member)
        if self.folder_member:
            return False
        if self.magic and not any(head.startswith(magic, self.offset) for magic in self.magic):
            return False
        if not self.zip_member:
            return True
        return head.startswith(_ZIP_MAGIC) and _any_match(_zip_names(path), self.zip_member)


def claims(evidence: Evidence, types: Iterable[str], files: Iterable[FileRule]) -> bool:
    """Whether any pattern of class names, or any rule over files, fits the evidence."""
    path = evidence.path
    if path is not None:
        return any(rule.holds(path, evidence.head) for rule in files)
    return any(fnmatchcase(name, pattern) for pattern in types for name in evidence.type_names)


def _any_match(names: Iterable[str], pattern: str) -> bool:
    return any(fnmatchcase(name, pattern) for name in names)


def _folder_names(path: str) -> list[str]:
    try:
        return [child.name for child in Path(path).iterdir()]
    except OSError:
        return []


def _zip_names(path: str) -> list[str]:
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()
    except (OSError, zipfile.BadZipFile, ValueError):
        return []
