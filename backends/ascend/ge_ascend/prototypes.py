"""CANN's operators: ports, attributes and the element types that they take, from `data/cann_operators.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any, Literal

from ge_ascend.chips import Chip
from ge_core.ir.dtype import DType

PortKind = Literal["r", "o", "d"]
"""Required, optional, or dynamic (any number of tensors under name0, name1, ...)."""

SHORT: Mapping[str, str] = {
    "f32": "float32", "f16": "float16", "bf16": "bfloat16", "f64": "float64", "i8": "int8", "u8": "uint8",
    "i16": "int16", "u16": "uint16", "i32": "int32", "u32": "uint32", "i64": "int64", "u64": "uint64", "b": "bool",
    "c64": "complex64", "c128": "complex128", "str": "string", "i4": "int4", "i2": "int2", "u2": "uint2",
    "f8e5m2": "float8e5m2", "f8e4m3": "float8e4m3fn", "f8e8m0": "float8e8m0", "f4e2m1": "float4e2m1",
}  # fmt: skip
"""The table's short names of element types that the IR has too."""

_NUMBERS: Mapping[str, int] = {
    "DT_FLOAT": 0, "DT_FLOAT16": 1, "DT_INT8": 2, "DT_INT32": 3, "DT_UINT8": 4, "DT_INT16": 6, "DT_UINT16": 7,
    "DT_UINT32": 8, "DT_INT64": 9, "DT_UINT64": 10, "DT_DOUBLE": 11, "DT_BOOL": 12, "DT_STRING": 13, "DT_BF16": 27,
    "DT_UNDEFINED": 28,
}  # fmt: skip
"""Defaults of attributes that hold an element type: numbers of the in-memory enumeration."""


@dataclass(frozen=True)
class Port:
    """An input or output. `dtypes` None takes every type; `symbol` ties ports of one type together."""

    name: str
    kind: PortKind
    dtypes: frozenset[str] | None
    symbol: str = ""

    def takes(self, dtype: DType) -> bool:
        return self.dtypes is None or dtype.name in self.dtypes


@dataclass(frozen=True)
class AttrSpec:
    """An attribute; `type` is CANN's word for it (Int, Float, ListInt, Type, ...)."""

    name: str
    type: str
    required: bool
    default: Any = None


@dataclass(frozen=True)
class Prototype:
    """One operator.

    Attributes:
        graphs: names and kinds of its sub graphs.
        columns: what the 910B kernels take: port name to one type name per combination; empty when not known.
        reduce: whether mixed precision may compute it in half precision (None: it follows its neighbours).
        dynamic: whether the 910B kernel takes sizes that are known at run time only.
        chips: chips that an open definition of the operator names.
        conflict: releases of CANN disagree about its ports or attributes.
        kernel_only: no release declares its types; the ports come from the kernel list.
    """

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    attributes: Mapping[str, AttrSpec]
    graphs: tuple[tuple[str, PortKind], ...] = ()
    columns: Mapping[str, tuple[str, ...]] | None = None
    reduce: bool | None = None
    dynamic: bool = False
    chips: tuple[str, ...] = ()
    conflict: bool = False
    kernel_only: bool = False

    @property
    def has_kernel(self) -> bool:
        """Whether the 910B list has a kernel of the AI Core for it."""
        return self.columns is not None

    def on(self, chip: Chip) -> bool:
        """Whether an open definition or the list of kernels says that a chip has it."""
        return chip.family in self.chips or (chip.kernels and self.has_kernel)

    def input(self, name: str) -> Port | None:
        return next((p for p in self.inputs if p.name == name), None)

    def kernel_types(self, port: str) -> frozenset[str]:
        """Types that some 910B kernel takes at a port; empty when not known."""
        return frozenset(self.columns.get(port, ())) if self.columns else frozenset()


@lru_cache(maxsize=4096)
def prototype(name: str) -> Prototype | None:
    """The operator of this type, None when no source declares it."""
    row = _table().get(name)
    return None if row is None else _parse(name, row)


@lru_cache(maxsize=1)
def unsure_rows() -> dict[str, str]:
    """Mappings from ONNX that no official plugin confirms, with what is known."""
    found: dict[str, str] = _table()["_meta"]["unsure"]
    return found


def all_names() -> list[str]:
    """The names of all operators that a release declares."""
    return [name for name, row in _table().items() if name != "_meta" and ("i" in row or "o" in row)]


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    text = resources.files("ge_ascend").joinpath("data/cann_operators.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def _parse(name: str, row: dict[str, Any]) -> Prototype:
    kernel = row.get("kernel")
    columns = None
    if kernel is not None:
        columns = {port: tuple(SHORT.get(t, t) for t in text.split()) for port, text in kernel["types"].items()}
    inputs = [_port(port) for port in row.get("i", ())]
    kernel_only = "i" not in row and "o" not in row
    if kernel_only and kernel is not None:
        inputs = [Port(port, kind, None) for port, kind in kernel["ports"]]
    return Prototype(
        name,
        tuple(inputs),
        tuple(_port(port) for port in row.get("o", ())),
        {
            a[0]: AttrSpec(a[0], a[1], len(a) == 2, _default(a[2], a[1]) if len(a) > 2 else None)
            for a in row.get("a", ())
        },
        tuple((g[0], g[1]) for g in row.get("g", ())),
        columns,
        None if kernel is None else kernel.get("reduce"),
        bool(kernel and kernel.get("dynamic")),
        tuple(row.get("chips", ())),
        bool(row.get("conflict")),
        kernel_only,
    )


def _default(value: Any, type: str) -> Any:
    if type == "Int" and isinstance(value, str) and value.startswith("0x"):
        return int(value, 16)
    return _NUMBERS.get(value, value) if isinstance(value, str) else value


def _port(entry: list[Any]) -> Port:
    name, kind, *rest = entry
    dtypes: set[str] | None = set()
    symbol = ""
    for word in rest[0].split() if rest and rest[0] else ["$?"]:
        if word.startswith("$"):
            dtypes, symbol = None, word
            break
        assert dtypes is not None
        dtypes |= set(_table()["_meta"]["sets"][word[1:]].split()) if word.startswith("@") else {word}
    known = None if dtypes is None else frozenset(SHORT.get(t, t) for t in dtypes)
    return Port(name, kind, known, symbol)
