"""Types and values of the IR in GE's tensor descriptors, and back.

A symbolic size is -1 in the shape, its bounds stand in GE's `shape_range`, and its expression in `ge.shape`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ge_core.errors import GeError, OfflineModelError
from ge_core.ir import dims
from ge_core.ir.constant import Content
from ge_core.ir.dims import Dim, Size, Symbol
from ge_core.ir.dtype import DTYPES, DType
from ge_core.ir.graph import Value
from ge_core.ir.size_text import parse_size
from ge_core.ir.types import Layout, OptionalType, SequenceType, TensorType, Type
from ge_core.om import attributes
from ge_core.om import vocabulary as words
from ge_core.om.message_table import Message
from ge_core.om.messages import message_class

MAX_EXPRESSION = 4096
MAX_RANK = 32  # numpy 1's limit
_MAX_CONTAINERS = 8

_BY_PROTO = {d.ge_proto: d for d in DTYPES if d.ge_proto is not None}
_CONTAINERS: dict[str, type[SequenceType] | type[OptionalType]] = {
    "seq": SequenceType,
    "optional": OptionalType,
}


class DescriptorWriter:
    """Makes descriptors and collects the symbols in them."""

    def __init__(self) -> None:
        self.symbols: dict[str, Symbol] = {}
        self._texts: dict[Dim, str] = {}
        self._plain: dict[Type, Message] = {}
        self._typed: dict[Type, Message] = {}

    def size(self, size: Size) -> str:
        """The text of a size.

        Raises:
            OfflineModelError: reading it would give another size.
        """
        if not isinstance(size, Dim):
            return str(size)
        text = self._texts.get(size)
        if text is None:
            for symbol in sorted(dims.symbols(size)):
                if self.symbols.setdefault(symbol.name, symbol) != symbol:
                    raise OfflineModelError(f"two symbols of different bounds are named {symbol.name}")
            text = self._texts[size] = str(size)
            if not self._reads_back(text, size):
                raise OfflineModelError(f"the size {text[:200]} cannot be written as text")
        return text

    def _reads_back(self, text: str, size: Dim) -> bool:
        try:
            return len(text) <= MAX_EXPRESSION and parse_size(text, self.symbols) == size
        except GeError:
            return False

    def plain(self, type: Type) -> Message:
        """The descriptor of a consumer's input: element type and shape as the producer states them."""
        found = self._plain.get(type)
        if found is None:
            found = message_class("TensorDescriptor")(layout="ND")
            self._set_type(found, type)
            self._plain[type] = found
        return found

    def typed(self, type: Type) -> Message:
        """The descriptor that states everything about a type."""
        found = self._typed.get(type)
        if found is None:
            found = message_class("TensorDescriptor")()
            found.CopyFrom(self.plain(type))
            attributes.encode_map(found.attr, self._about_type(type))
            self._typed[type] = found
        return found

    def of(self, value: Value) -> Message:
        """The descriptor of a value where it is defined."""
        described = message_class("TensorDescriptor")()
        described.CopyFrom(self.typed(value.type))
        described.name = value.name
        extra: dict[str, Any] = {}
        if value.content is not None and value.constant is None:
            # A leading mark, since an empty list has no form of its own.
            extra[words.CONTENT] = ["(", *(self.size(size) for size in value.content)]
        if value.layout is not None:
            extra[words.LAYOUT] = _layout_text(value.layout)
        attributes.encode_map(described.attr, extra)
        return described

    def _about_type(self, type: Type) -> dict[str, Any]:
        extra: dict[str, Any] = {}
        tensor = _tensor(type)
        containers = _containers(type)
        if containers:
            extra[words.CONTAINER] = containers
        if tensor.dtype.ge_proto is None:
            extra[words.DTYPE] = tensor.dtype.name
        if tensor.shape is not None and not tensor.is_static:
            extra[words.SHAPE] = [self.size(size) for size in tensor.shape]
            extra[words.SHAPE_RANGE] = [_range(size) for size in tensor.shape]
        return extra

    def _set_type(self, described: Message, type: Type) -> None:
        tensor = _tensor(type)
        described.dtype = tensor.dtype.ge_proto or 0
        if tensor.shape is None:
            described.shape.dim.append(words.UNKNOWN_RANK)
            return
        described.shape.SetInParent()
        described.shape.dim.extend(words.UNKNOWN_DIM if isinstance(size, Dim) else size for size in tensor.shape)


@dataclass(frozen=True)
class Description:
    """What a descriptor says: a type, known elements, a storage layout; `dtype` and `dims` are GE's numbers."""

    type: Type
    content: Content | None
    layout: Layout | None
    dtype: int
    dims: tuple[int, ...]


class DescriptorReader:
    """Reads descriptors of one entry graph, whose symbols are given."""

    def __init__(self, symbols: Mapping[str, Symbol]) -> None:
        self.symbols = symbols
        self._sizes: dict[str, Size] = {}
        self._found: dict[bytes, Description] = {}

    def size(self, text: Any) -> Size:
        """The size of a text.

        Raises:
            OfflineModelError: not a size, or a symbol that the graph does not declare.
        """
        if not isinstance(text, str) or len(text) > MAX_EXPRESSION:
            raise OfflineModelError(f"{str(text)[:80]!r} is not a size")
        found = self._sizes.get(text)
        if found is None:
            try:
                found = parse_size(text, self.symbols)
            except (GeError, RecursionError) as error:
                raise OfflineModelError(f"{text[:80]!r} is not a size") from error
            unknown = [s.name for s in dims.symbols(found) if s.name not in self.symbols]
            if unknown:
                raise OfflineModelError(f"the size {text[:80]} uses {unknown[0][:80]}, which is not declared")
            self._sizes[text] = found
        return found

    def read(self, described: Message) -> Description:
        """What a descriptor says beside the name.

        Raises:
            OfflineModelError: an unknown element type, sizes that are none, or parts that contradict each other.
        """
        name, described.name = described.name, ""
        key = described.SerializeToString(deterministic=True)
        described.name = name
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._read(described)
        return found

    def tensor(self, described: Message) -> TensorType:
        """The type of a descriptor that must be a tensor's."""
        found = self.read(described).type
        if not isinstance(found, TensorType):
            raise OfflineModelError(f"{described.name or 'a value'} is {found}, expected a tensor")
        return found

    def _read(self, described: Message) -> Description:
        extra = attributes.decode_map(described.attr)
        tensor = TensorType(_dtype(described.dtype, extra), self._shape(described, extra))
        content = extra.get(words.CONTENT)
        if content is not None:
            if not isinstance(content, list) or not content:
                raise OfflineModelError("a content that is no list of sizes")
            content = tuple(self.size(text) for text in content[1:])
        layout = _layout(extra[words.LAYOUT], tensor.rank) if words.LAYOUT in extra else None
        return Description(_contained(tensor, extra), content, layout, described.dtype, tuple(described.shape.dim))

    def _shape(self, described: Message, extra: Mapping[str, Any]) -> tuple[Size, ...] | None:
        stated = tuple(described.shape.dim)
        if stated == (words.UNKNOWN_RANK,):
            return None
        if len(stated) > MAX_RANK:
            raise OfflineModelError(f"a tensor of rank {len(stated)}", expected=f"at most {MAX_RANK}")
        shape: tuple[Size, ...] = stated
        if words.SHAPE in extra:
            texts = extra[words.SHAPE]
            shape = tuple(map(self.size, texts)) if isinstance(texts, list) else ()
            if stated != tuple(words.UNKNOWN_DIM if isinstance(size, Dim) else size for size in shape):
                raise OfflineModelError(f"the shape {list(stated)} and its text {texts!r} differ")
        for size in shape:
            if isinstance(size, int) and size < 0:
                raise OfflineModelError(f"a size of {size} in the shape {list(stated)}")
        return shape


def _dtype(number: int, extra: Mapping[str, Any]) -> DType:
    if words.DTYPE in extra:
        name = extra[words.DTYPE]
        found = next((d for d in DTYPES if d.name == name), None)
        if found is None or found.ge_proto is not None or number != 0:
            raise OfflineModelError(f"element type {name!r} with GE's number {number}")
        return found
    if number not in _BY_PROTO:
        raise OfflineModelError(f"element type number {number} is not supported")
    return _BY_PROTO[number]


def _contained(tensor: TensorType, extra: Mapping[str, Any]) -> Type:
    """The type of a tensor in the containers that a descriptor names."""
    found: Type = tensor
    names = extra.get(words.CONTAINER, [])
    if not isinstance(names, list) or len(names) > _MAX_CONTAINERS:
        raise OfflineModelError("a type of too many containers")
    for name in reversed(names):
        if name not in _CONTAINERS:
            raise OfflineModelError(f"a type in an unknown container {name!r}")
        if isinstance(found, _CONTAINERS[name]):
            raise OfflineModelError(f"a {name} directly in a {name}")
        found = _CONTAINERS[name](found)  # type: ignore[arg-type]
    return found


def _tensor(type: Type) -> TensorType:
    while not isinstance(type, TensorType):
        type = type.element
    return type


def _containers(type: Type) -> list[str]:
    names = []
    while not isinstance(type, TensorType):
        names.append("seq" if isinstance(type, SequenceType) else "optional")
        type = type.element
    return names


def _range(size: Size) -> list[int]:
    """GE's pair of a size: low, high; -1 without an upper bound."""
    low, high = dims.bounds(size)
    return [max(low or 0, 0), words.UNKNOWN_DIM if high is None else high]


def shape_ranges(shape: Iterable[Size]) -> tuple[tuple[int, int], ...]:
    """GE's pairs of all sizes of a shape."""
    return tuple((low, high) for low, high in map(_range, shape))


def _layout_text(layout: Layout) -> str:
    return json.dumps(layout.to_json(), sort_keys=True, separators=(",", ":"))


def _layout(text: Any, rank: int | None) -> Layout:
    try:
        parts = json.loads(text)
        if set(parts) != {"order", "blocks", "halo", "fill"}:
            raise ValueError("parts")
        order = tuple(map(_whole, parts["order"]))
        blocks = tuple((_whole(axis), _whole(block)) for axis, block in parts["blocks"])
        halo = tuple((_whole(before), _whole(after)) for before, after in parts["halo"])
        fill = float.fromhex(parts["fill"])
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise OfflineModelError(f"{str(text)[:80]!r} is not a layout") from error
    fits = sorted(order) == list(range(rank or 0)) and len(halo) in (0, rank)
    if rank is None or not fits or any(axis >= rank or block < 1 for axis, block in blocks):
        raise OfflineModelError(f"the layout {text[:80]} does not fit rank {rank}")
    return Layout(order, blocks, halo, fill)


def _whole(number: Any) -> int:
    if type(number) is not int or not 0 <= number < 1 << 31:
        raise ValueError(number)
    return number
