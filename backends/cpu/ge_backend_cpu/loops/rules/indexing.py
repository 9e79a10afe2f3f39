"""Gathers: the index of the operand is read from memory and checked."""

from __future__ import annotations

from collections.abc import Sequence

from ge_backend_cpu.loops.expr import Expr
from ge_backend_cpu.loops.index import Affine
from ge_backend_cpu.loops.part import INDICES
from ge_backend_cpu.loops.reading import attribute, required
from ge_backend_cpu.loops.registry import Operands, rule
from ge_backend_cpu.loops.tensor import Index, Tensor, Tracer
from ge_core.ir.dims import Size
from ge_core.ir.dtype import int64
from ge_core.ir.graph import Node, Value, constant_of


def checked(t: Tracer, value: Expr, size: Size) -> Affine:
    """An index that was read: negative ones count from the end, those outside are an error."""
    apply, wide = t.space.apply, t.space.cast(value, int64)
    if wide.op == "const" and isinstance(size, int) and -size <= wide.data[0] < size:
        return Affine((), int(wide.data[0]) % size)
    end = apply("add", wide, t.space.index(Affine((), size)))
    place = apply("select", apply("lt", wide, t.space.const(0, int64)), end, wide)
    return Affine.of({t.space.check(place, size): 1})


def _known_within(value: Value | None, size: Size) -> bool:
    """Whether indices are constants that need no check."""
    constant = constant_of(value)
    if constant is None or not isinstance(size, int) or constant.residence == "absent":
        return False
    if constant.type.elements not in range(1, INDICES + 1) or constant.type.dtype.bits < 32:
        return False
    array = constant.array()
    return bool(array.min() >= 0 and array.max() < size)


@rule("Gather")
def gather(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    """Slices of an axis by number."""
    data, indices = required(x[0]), required(x[1])
    axis = int(attribute(node, "axis")) % data.rank
    size, known = data.shape[axis], _known_within(node.input(1), data.shape[axis])

    def element(index: Index, mask: Expr | None) -> Expr:
        value = indices.at(index[axis : axis + indices.rank], mask)
        wide = t.space.cast(value, int64)
        plain = known and wide.op != "const"
        place = Affine.of({t.space.within(wide, size): 1}) if plain else checked(t, value, size)
        return data.at((*index[:axis], place, *index[axis + indices.rank :]), mask)

    return [Tensor(data.dtype, node.output.shape, element)]


@rule("GatherElements")
def gather_elements(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    """Elements of an axis by number, at the same place of the other axes."""
    data, indices = required(x[0]), required(x[1])
    axis = int(attribute(node, "axis")) % data.rank

    def element(index: Index, mask: Expr | None) -> Expr:
        place = checked(t, indices.at(index, mask), data.shape[axis])
        return data.at((*index[:axis], place, *index[axis + 1 :]), mask)

    return [Tensor(data.dtype, node.output.shape, element)]


@rule("GatherND")
def gather_nd(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    """Slices by tuples of numbers."""
    data, indices = required(x[0]), required(x[1])
    batch = int(attribute(node, "batch_dims"))
    count = indices.shape[-1]
    assert isinstance(count, int)

    def element(index: Index, mask: Expr | None) -> Expr:
        outer = index[: indices.rank - 1]
        places = [checked(t, indices.at((*outer, Affine((), k)), mask), data.shape[batch + k]) for k in range(count)]
        return data.at((*index[:batch], *places, *index[indices.rank - 1 :]), mask)

    return [Tensor(data.dtype, node.output.shape, element)]
