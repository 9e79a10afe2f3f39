"""FlatBuffers read by a table of fields, without trusting a byte.

A table starts with a signed offset back to its vtable: two 16-bit sizes, then one 16-bit offset for each field, 0 for
a field that is left out. Strings, vectors and tables are reached by unsigned 32-bit offsets from where they stand.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ge_core.errors import ModelImportError

_SCALARS = {
    "bool": "?", "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q",
    "uint64": "Q", "float32": "f", "float64": "d",
}  # fmt: skip


@lru_cache(maxsize=1)
def _schema() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((Path(__file__).parent / "schema.json").read_text(encoding="utf-8"))
    return found


@cache
def members(enum: str) -> Mapping[int, str]:
    """The names of an enumeration's numbers."""
    return {number: name for name, number in _schema()["enums"][enum].items()}


def is_table(name: str) -> bool:
    """Whether the schema has a table of this name."""
    return name in _schema()["tables"]


class Table:
    """One table.

    Args:
        data: the whole file.
        at: where the table starts.
        name: its name in the schema.

    Raises:
        ModelImportError: it does not lie in the file; `get` raises the same for its fields.
    """

    def __init__(self, data: memoryview, at: int, name: str) -> None:
        self.data, self.at, self.name = data, at, name
        self._fields: Mapping[str, list[Any]] = _schema()["tables"][name]
        self._vtable = at - int(self._scalar("i", at))
        self._vtable_size = int(self._scalar("H", self._vtable))

    def get(self, field: str) -> Any:
        """A field: a scalar (its default when left out), text, a Table, a list of those, or None.

        Vectors of scalars are arrays that are views of the file. A union is where its table starts, see `table`.
        """
        slot, kind, default = self._fields[field]
        place = 4 + 2 * slot
        offset = int(self._scalar("H", self._vtable + place)) if place + 2 <= self._vtable_size else 0
        if offset == 0:
            return default
        at = self.at + offset
        if kind in _SCALARS:
            return self._scalar(_SCALARS[kind], at)
        target = at + int(self._scalar("I", at))
        if kind == "string":
            return self._text(target)
        if kind == "union":
            return target
        if kind == "table":
            return target
        inner = kind[1:-1]
        count = int(self._scalar("I", target))
        if inner in _SCALARS:
            return self._array(inner, target + 4, count)
        self._check(target + 4, 4 * count)
        places = [target + 4 + 4 * i for i in range(count)]
        starts = [p + int(self._scalar("I", p)) for p in places]
        return [self._text(s) for s in starts] if inner == "string" else starts

    def table(self, field: str, name: str) -> Table | None:
        """The table in a field."""
        at = self.get(field)
        return None if at is None else Table(self.data, at, name)

    def tables(self, field: str, name: str) -> list[Table]:
        """The tables in a field; an empty list when it is left out."""
        return [Table(self.data, at, name) for at in self.get(field) or ()]

    def _check(self, at: int, size: int) -> None:
        if not (at >= 0 and size >= 0 and at + size <= len(self.data)):
            raise ModelImportError(
                f"the file is damaged: a {self.name} refers to {size} bytes at {at}",
                expected=f"places in its {len(self.data)} bytes",
            )

    def _scalar(self, form: str, at: int) -> Any:
        form = f"<{form}"
        self._check(at, struct.calcsize(form))
        return struct.unpack_from(form, self.data, at)[0]

    def _array(self, kind: str, at: int, count: int) -> np.ndarray:
        dtype = np.dtype(kind).newbyteorder("<")
        self._check(at, dtype.itemsize * count)
        return np.frombuffer(self.data, dtype, count, at)

    def _text(self, at: int) -> str:
        size = int(self._scalar("I", at))
        self._check(at + 4, size)
        return bytes(self.data[at + 4 : at + 4 + size]).decode("utf-8", "replace")
