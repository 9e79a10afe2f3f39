"""What running a stored model needs of MODEL_DEF, read without protobuf: metadata, and where the constants lie.

The graphs themselves are decoded when somebody asks for them, which running does not. This is for files whose writer
is trusted: that the graph, the plan and the outline belong together is checked by nobody.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from ge_core.errors import GeError, OfflineModelError
from ge_core.ir.constant import Constant
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Graph
from ge_core.ir.types import Layout, TensorType
from ge_core.om import vocabulary as words
from ge_core.om.message_table import Message
from ge_core.om.tensors import TensorReader
from ge_core.om.wire import fields

_WANTED = frozenset({words.FORMAT, words.METADATA, words.OUTLINE})
# Field numbers: ModelDef.attr 11 (a map: key 1, value 2), AttrDef.s 2, AttrDef.i 3.
_ATTR, _KEY, _VALUE, _TEXT, _NUMBER = 11, 1, 2, 2, 3


def constant_row(kind: TensorType, layout: Layout | None, tensor: Message) -> list[Any] | None:
    """A constant as the outline tells it, by its TensorDef; None for strings."""
    if kind.dtype.kind == "string":
        return None
    described = tensor.desc
    place = bytes(tensor.data).hex() if tensor.data else [described.data_offset, described.weight_size]
    return [kind.dtype.name, list(kind.shape or ()), None if layout is None else layout.to_json(), place]


@dataclass(frozen=True)
class Outline:
    """Metadata, and the constants of each entry with the layouts in which they are stored."""

    metadata: dict[str, Any]
    constants: dict[str, list[tuple[Constant, Layout | None]]]


def read_outline(model_def: memoryview, weights: memoryview) -> Outline | None:
    """The outline of a file; None where it has none.

    Raises:
        OfflineModelError: it is damaged.
    """
    try:
        found = _attributes(model_def)
        if found.get(words.FORMAT) != words.FORMAT_VERSION or words.OUTLINE not in found:
            return None
        metadata, rows = (json.loads(bytes(found[name])) for name in (words.METADATA, words.OUTLINE))
        if rows is None:
            return None
        reader = TensorReader(weights.toreadonly())
        made: dict[str, Constant] = {}
        constants = {name: [_constant(reader, row, made) for row in listed] for name, listed in rows}
    except OfflineModelError:
        raise
    except (GeError, KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise OfflineModelError(f"the outline of the model is damaged: {error}") from error
    if not isinstance(metadata, dict) or not constants:
        raise OfflineModelError("the outline of the model is damaged")
    return Outline(metadata, constants)


def _attributes(model_def: memoryview) -> dict[str, Any]:
    """The attributes of ModelDef that are wanted here: texts as bytes, and numbers."""
    found: dict[str, Any] = {}
    for number, _, entry in fields(model_def):
        if number != _ATTR or not isinstance(entry, memoryview):
            continue
        parts = {key: value for key, _, value in fields(entry)}
        key, value = parts.get(_KEY), parts.get(_VALUE)
        if not isinstance(key, memoryview) or not isinstance(value, memoryview):
            continue
        name = bytes(key).decode(errors="replace")
        if name in _WANTED:
            found[name] = next((inner for field, _, inner in fields(value) if field in (_TEXT, _NUMBER)), None)
    return found


@dataclass
class _Place:
    data_offset: int
    weight_size: int


@dataclass
class _Tensor:
    """A TensorDef as far as a reader looks at it."""

    desc: _Place
    data: bytes


def _constant(reader: TensorReader, row: Any, made: dict[str, Constant]) -> tuple[Constant, Layout | None]:
    dtype, shape, parts, place = row
    layout = None if parts is None else Layout.from_json(parts)
    key = repr(row)
    if key not in made:
        kind = TensorType(DType.of(dtype), tuple(map(int, shape)))
        inner = _Tensor(_Place(0, 0), bytes.fromhex(place)) if isinstance(place, str) else _Tensor(_Place(*place), b"")
        stored = None if layout is None or layout.is_row_major else layout
        made[key] = reader.constant(kind, inner, stored)
    return made[key], layout


class LazyGraphs(MutableMapping[str, Graph]):
    """Entry graphs by name, decoded together when the first one is read.

    Args:
        decode: gives them; called once, unless it fails.
    """

    def __init__(self, names: tuple[str, ...], decode: Callable[[], Mapping[str, Graph]]) -> None:
        self._names, self._decode = names, decode
        self._graphs: dict[str, Graph] | None = None
        self._lock = threading.Lock()

    @property
    def is_decoded(self) -> bool:
        return self._graphs is not None

    def _read(self) -> dict[str, Graph]:
        with self._lock:
            if self._graphs is None:
                self._graphs = dict(self._decode())
            return self._graphs

    def __getitem__(self, name: str) -> Graph:
        return self._read()[name]

    def __setitem__(self, name: str, graph: Graph) -> None:
        self._read()[name] = graph

    def __delitem__(self, name: str) -> None:
        del self._read()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names if self._graphs is None else self._graphs)

    def __len__(self) -> int:
        return len(self._names if self._graphs is None else self._graphs)
