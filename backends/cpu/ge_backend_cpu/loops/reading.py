"""What a rule reads of a node: attributes with their defaults, and small integer operands known at compile time."""

from __future__ import annotations

from typing import Any

from ge_backend_cpu.loops.index import Unsupported
from ge_backend_cpu.loops.tensor import Tensor
from ge_core.ir.dims import Size
from ge_core.ir.graph import Node, Value, source_of
from ge_core.ops.schema import schema


def attribute(node: Node, name: str) -> Any:
    """An attribute, else the schema's default, else None."""
    if name in node.attrs:
        return node.attrs[name]
    return schema(node.op).attributes[name].default


def required(x: Tensor | None) -> Tensor:
    """An operand that the schema requires."""
    assert x is not None
    return x


def sizes(value: Value | None) -> tuple[Size, ...]:
    """The elements of an integer operand.

    Raises:
        Unsupported: they are known at run time alone.
    """
    assert value is not None
    if value.content is not None:
        return value.content
    constant = source_of(value).constant
    if constant is None or constant.type.dtype.kind not in ("int", "uint"):
        raise Unsupported("an operand that only the run knows")
    return tuple(int(n) for n in constant.array().reshape(-1))


def integers(value: Value | None) -> tuple[int, ...]:
    """The elements of an integer operand that are numbers.

    Raises:
        Unsupported: some are not known at compile time.
    """
    found = sizes(value)
    if not all(isinstance(n, int) for n in found):
        raise Unsupported("an operand with symbolic sizes")
    return tuple(n for n in found if isinstance(n, int))
