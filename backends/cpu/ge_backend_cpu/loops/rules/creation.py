"""Operators that make tensors from sizes and scalars."""

from __future__ import annotations

from collections.abc import Sequence

from ge_backend_cpu.loops.expr import Expr, compute_kind
from ge_backend_cpu.loops.index import Affine, Unsupported
from ge_backend_cpu.loops.reading import attribute, required
from ge_backend_cpu.loops.registry import Operands, rule
from ge_backend_cpu.loops.tensor import Index, Tensor, Tracer, single_index
from ge_core.ir.constant import Constant
from ge_core.ir.dtype import float32, int64
from ge_core.ir.graph import Node
from ge_core.passes.rewrite import defined_sizes


@rule("ConstantOfShape")
def constant_of_shape(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    given = node.attrs.get("value")
    value = given.array().reshape(()).item() if isinstance(given, Constant) else 0
    return [t.full(float(value) if node.output.dtype.is_float else int(value), node.output.dtype, node.output.shape)]


@rule("Range")
def range_(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    """start + i * delta; of 16-bit floats in float32, unless they are told to round each step."""
    if defined_sizes(node):
        raise Unsupported("a range whose length only the run knows")
    start, delta = required(x[0]), required(x[2])
    dtype, apply = node.output.dtype, t.space.apply
    kind, rounds = compute_kind(dtype), rounds_each_step(node)

    def rounded(value: Expr) -> Expr:
        return t.space.cast(value, dtype) if rounds else value

    def element(index: Index, mask: Expr | None) -> Expr:
        place = rounded(t.space.index(index[0], kind))
        step = rounded(apply("mul", place, delta.at(single_index(delta.shape))))
        return apply("add", start.at(single_index(start.shape)), step)

    return [Tensor(dtype, node.output.shape, element)]


def rounds_each_step(node: Node) -> bool:
    """Whether a Range of 16-bit floats computes in these."""
    dtype = node.output.dtype
    return dtype.is_float and dtype.bits == 16 and attribute(node, "stash_type") != float32


@rule("EyeLike")
def eye_like(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    """Ones on a diagonal."""
    dtype = node.output.dtype
    kind, k = compute_kind(dtype), int(attribute(node, "k"))

    def element(index: Index, mask: Expr | None) -> Expr:
        hit = t.space.apply("eq", t.space.index(index[0] + k), t.space.index(index[1]))
        return t.space.cast(hit, kind)

    return [Tensor(dtype, node.output.shape, element)]


@rule("OneHot")
def one_hot(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    """`on` where the index along the new axis is the given one (negative ones count from the end), else `off`."""
    indices, values = required(x[0]), required(x[2])
    axis = int(attribute(node, "axis")) % len(node.output.shape)
    depth, apply = node.output.shape[axis], t.space.apply

    def element(index: Index, mask: Expr | None) -> Expr:
        off, on = (values.at((Affine((), k),)) for k in (0, 1))
        wanted = t.space.cast(indices.at((*index[:axis], *index[axis + 1 :]), mask), int64)
        size = t.space.index(Affine((), depth))
        wrapped = apply("select", apply("lt", wanted, t.space.const(0, int64)), apply("add", wanted, size), wanted)
        return apply("select", apply("eq", wrapped, t.space.index(index[axis])), on, off)

    return [Tensor(node.output.dtype, node.output.shape, element)]


@rule("Shape", "Size", "ge.Dims")
def known_sizes(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    """Sizes that the type rules have computed already."""
    content = node.output.content
    if content is None:
        raise Unsupported("more sizes than are known at compile time")
    elements = content
    if not elements:
        return [t.full(0, node.output.dtype, node.output.shape)]

    def element(index: Index, mask: Expr | None) -> Expr:
        if not index:
            return t.space.index(Affine((), elements[0]))
        if index[0].is_constant and isinstance(index[0].const, int):
            return t.space.index(Affine((), elements[index[0].const]))
        place = t.space.index(index[0])
        value = t.space.index(Affine((), elements[-1]))
        for k in range(len(elements) - 2, -1, -1):
            here = t.space.apply("eq", place, t.space.const(k, int64))
            value = t.space.apply("select", here, t.space.index(Affine((), elements[k])), value)
        return value

    return [Tensor(node.output.dtype, node.output.shape, element)]


@rule("Dropout")
def dropout(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    """The data itself; the mask keeps everything."""
    data = required(x[0])
    kept = [t.full(1, v.dtype, v.shape) for v in node.outputs[1:]]
    return [data, *kept]
