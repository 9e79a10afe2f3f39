"""Type rules of element type conversions: Cast, CastLike, BitCast."""

from __future__ import annotations

from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType
from ge_core.ir.types import TensorType
from ge_core.ops.infer import Infer
from ge_core.ops.pointwise_rules import operand_content
from ge_core.ops.registry import type_rule


@type_rule("Cast")
def cast(c: Infer) -> TensorType:
    return _converted(c, c.attr("to"))


@type_rule("CastLike")
def cast_like(c: Infer) -> TensorType:
    return _converted(c, c.dtype(1))


def _converted(c: Infer, to: DType) -> TensorType:
    if "complex" in (c.dtype(0).kind, to.kind):
        raise c.error(f"{c.dtype(0)} to {to}: complex numbers are not supported")
    content = operand_content(c, 0) if c.dtype(0).is_integer or c.dtype(0).kind == "bool" else None
    if content is not None:
        elements = [_element(e, to) for e in content]
        if all(e is not None for e in elements):
            c.set_content(0, [e for e in elements if e is not None])
    return TensorType(to, c.tensor(0).shape)


def _element(size: Size, to: DType) -> Size | None:
    """The element in the new type, None when it may not fit."""
    if to.kind == "bool":
        differs = dims.equal(size, 0)
        return None if differs is None else int(not differs)
    if not to.is_integer:
        return None
    if isinstance(size, int):
        return size if to.min <= size <= to.max else None
    return size if to.name in ("int32", "int64") else None


@type_rule("BitCast")
def bit_cast(c: Infer) -> TensorType:
    to: DType = c.attr("to")
    if to.bits != c.dtype(0).bits:
        raise c.error(f"{c.dtype(0)} and {to} differ in bits")
    return TensorType(to, c.tensor(0).shape)
