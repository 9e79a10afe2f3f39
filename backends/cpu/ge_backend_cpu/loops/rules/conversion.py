"""Conversions of element types."""

from __future__ import annotations

from collections.abc import Sequence

from ge_backend_cpu.loops.expr import compute_kind
from ge_backend_cpu.loops.index import Unsupported
from ge_backend_cpu.loops.reading import attribute, required
from ge_backend_cpu.loops.registry import Operands, rule
from ge_backend_cpu.loops.tensor import Tensor, Tracer
from ge_core.ir.graph import Node


@rule("Cast", "CastLike")
def cast(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    """Float to integer saturates, integers wrap, 8-bit floats saturate if told."""
    to = node.output.dtype
    if to.name == "float8e8m0" and attribute(node, "round_mode") != "up":
        raise Unsupported(f"conversion to float8e8m0 rounding {attribute(node, 'round_mode')}")
    compute_kind(to)
    return [t.converted(required(x[0]), to, bool(attribute(node, "saturate")))]


@rule("BitCast")
def bit_cast(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    """The same bits as another type."""
    data, to = required(x[0]), node.output.dtype
    names = (data.dtype.name, to.name)
    return [t.pointwise(to, data.shape, [data], lambda v: t.space.make("bits", compute_kind(to), (v,), names))]
