"""Operator schemas: inputs, outputs and attributes of ONNX's operators at the IR's opset, and of domain `ge`.

ONNX's part is generated (`tools/generate_schemas.py`) so that loading needs no onnx. Type constraints in it are
ONNX's own; `dtypes.py` holds what the IR allows.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

from ge_core.errors import GraphError
from ge_core.ir.dtype import DType

OPSET = 28

Option = Literal["single", "optional", "variadic"]
AttrType = Literal[
    "int",
    "float",
    "string",
    "ints",
    "floats",
    "strings",
    "tensor",
    "graph",
    "dtype",
    "dims",
    "type_proto",
    "sparse_tensor",
]


@dataclass(frozen=True)
class Parameter:
    """A formal input or output; `type` is a type variable of the schema or a concrete type."""

    name: str
    type: str = "T"
    option: Option = "single"
    minimum: int = 1
    homogeneous: bool = True


@dataclass(frozen=True)
class Attribute:
    """A formal attribute; `default` None means that leaving it out has a meaning of its own."""

    name: str
    type: AttrType
    required: bool = False
    default: Any = None


@dataclass(frozen=True)
class Schema:
    """The signature of one operator.

    Attributes:
        name: `Conv`, or `ge.Sort`.
        since: ONNX opset of this version; 0 for domain ge.
        types: type variable to the names of the types that ONNX allows.
    """

    name: str
    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]
    attributes: dict[str, Attribute]
    types: dict[str, tuple[str, ...]]
    since: int = 0

    @cached_property
    def min_inputs(self) -> int:
        needed = 0
        for i, p in enumerate(self.inputs):
            if p.option == "single":
                needed = i + 1
            elif p.option == "variadic":
                needed = i + p.minimum
        return needed

    @cached_property
    def max_inputs(self) -> int | None:
        return None if self.inputs and self.inputs[-1].option == "variadic" else len(self.inputs)

    @cached_property
    def min_outputs(self) -> int:
        return sum(1 for p in self.outputs if p.option == "single")

    @cached_property
    def max_outputs(self) -> int | None:
        return None if self.outputs and self.outputs[-1].option == "variadic" else len(self.outputs)

    def input(self, index: int) -> Parameter:
        """The formal parameter of input `index`."""
        return self.inputs[min(index, len(self.inputs) - 1)]

    @cached_property
    def required(self) -> tuple[str, ...]:
        """Names of the attributes and regions that every node has."""
        return tuple(a.name for a in self.attributes.values() if a.required)

    @cached_property
    def regions(self) -> tuple[str, ...]:
        """Names of the graph attributes, which are regions in the IR."""
        return tuple(a.name for a in self.attributes.values() if a.type == "graph")


def _parameter(entry: dict[str, Any]) -> Parameter:
    kind = entry["type"]
    return Parameter(
        entry["name"],
        kind.removeprefix("tensor(").removesuffix(")") if kind.startswith("tensor(") else kind,
        entry.get("option", "single"),
        entry.get("min", 1),
        entry.get("homogeneous", True),
    )


# ONNX stores these element types as numbers; in the IR they are DTypes (0, undefined, is None).
_DTYPE_ATTRIBUTES = frozenset({"to", "dtype", "output_dtype", "output_datatype", "softmax_precision", "stash_type"})


def _attribute(name: str, entry: dict[str, Any]) -> Attribute:
    default = entry.get("default")
    if name in _DTYPE_ATTRIBUTES and entry["type"] == "int":
        return Attribute(name, "dtype", entry.get("required", False), DType.of_onnx(default) if default else None)
    return Attribute(
        name,
        entry["type"],
        entry.get("required", False),
        tuple(default) if isinstance(default, list) else default,
    )


@lru_cache(maxsize=1)
def _onnx_table() -> dict[str, Any]:
    with (Path(__file__).parent / "onnx_schemas.json").open(encoding="utf-8") as f:
        operators: dict[str, Any] = json.load(f)["operators"]
    return operators


def onnx_names() -> tuple[str, ...]:
    """All operator names of the ONNX domain at the IR's opset."""
    return tuple(_onnx_table())


@cache
def schema(name: str) -> Schema:
    """The schema of an operator.

    Raises:
        GraphError: there is no such operator.
    """
    if name.startswith("ge."):
        from ge_core.ops.ge_schemas import GE_SCHEMAS

        if name in GE_SCHEMAS:
            return GE_SCHEMAS[name]
        raise GraphError(f"unknown operator {name}", expected="an operator of domain ge, see docs/ir.md")
    entry = _onnx_table().get(name)
    if entry is None:
        raise GraphError(f"unknown operator {name}", expected=f"an ONNX operator at opset {OPSET}, or ge.Name")
    return Schema(
        name,
        tuple(map(_parameter, entry["inputs"])),
        tuple(map(_parameter, entry["outputs"])),
        {k: _attribute(k, a) for k, a in entry["attributes"].items()},
        {k: tuple(v) for k, v in entry["types"].items()},
        entry["since"],
    )
