"""What a tensor of indices or a mask holds, as a formula in the position: 2 + i·1 + j·0, or j ≤ i.

An integer tensor is `Affine`: base + Σ coefficient[axis] · index[axis], over the axes of its shape. A bool tensor is a
`Mask`: a conjunction of conditions `affine ≤ 0`; no condition is all true. The forms are proven for every binding of
the sizes; None is "unknown".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.graph import Node, Value, constant_of, source_of
from ge_core.ir.types import Shape, TensorType
from ge_core.passes.canonicalise.casts import keeps_every_value
from ge_core.passes.matching import NoMatch, attribute, ints_of
from ge_core.passes.shapes import windows
from ge_core.passes.transposes import permutation

MOST_READ = 1 << 26
"""Bytes of a mask or an index table in a file that are read to recognise it."""
_LARGEST_CONSTANT = 1 << 20
_DEPTH = 200
# Sums of a few such numbers and sizes do not wrap.
_INTEGERS = {"int32": 1 << 28, "int64": 1 << 60}


@dataclass(frozen=True)
class Affine:
    """base + Σ coefficients[axis] · index[axis]; an axis of size 1 has coefficient 0."""

    base: Size
    coefficients: tuple[int, ...]

    def plus(self, other: Affine, sign: int = 1) -> Affine:
        return Affine(
            self.base + sign * other.base,
            tuple(a + sign * b for a, b in zip(self.coefficients, other.coefficients, strict=True)),
        )

    def times(self, factor: int) -> Affine:
        return Affine(self.base * factor, tuple(c * factor for c in self.coefficients))

    def shifted(self, by: int) -> Affine:
        return Affine(self.base + by, self.coefficients)

    @property
    def is_constant(self) -> bool:
        return not any(self.coefficients)

    def at_most(self, shape: Shape) -> Size:
        """An upper bound over all positions of a tensor of `shape` (no axis empty)."""
        return self.base + sum((c * (size - 1) for c, size in zip(self.coefficients, shape, strict=True) if c > 0), 0)

    def at_least(self, shape: Shape) -> Size:
        """A lower bound over all positions."""
        return self.base + sum((c * (size - 1) for c, size in zip(self.coefficients, shape, strict=True) if c < 0), 0)


@dataclass(frozen=True)
class Mask:
    """True where every condition is at most 0; `never` is a mask that is nowhere true."""

    conditions: tuple[Affine, ...] = ()
    never: bool = False


Form: TypeAlias = Affine | Mask


class IndexForms:
    """Finds the forms of values, remembering what it found."""

    def __init__(self) -> None:
        self._known: dict[Value, Form | None] = {}
        self._depth = 0

    def of(self, value: Value | None) -> Form | None:
        if value is None:
            return None
        value = source_of(value)
        if value not in self._known:
            if self._depth == _DEPTH:
                return None
            self._depth += 1
            self._known[value] = self._find(value)
            self._depth -= 1
        return self._known[value]

    def affine(self, value: Value | None) -> Affine | None:
        form = self.of(value)
        return form if isinstance(form, Affine) else None

    def mask(self, value: Value | None) -> Mask | None:
        form = self.of(value)
        return form if isinstance(form, Mask) else None

    def _find(self, value: Value) -> Form | None:
        t = value.type
        if not isinstance(t, TensorType) or t.shape is None or t.dtype.name not in (*_INTEGERS, "bool"):
            return None
        if (constant := constant_of(value)) is not None:
            array = constant.known(MOST_READ)
            return None if array is None else _of_constant(array)
        if t.rank == 0 and value.content is not None:
            return Affine(value.content[0], ())
        if value.producer is None or len(value.producer.outputs) != 1:
            return None
        rule = _RULES.get(value.producer.op)
        form = None if rule is None else rule(self, value.producer, t.shape)
        return _tidy(form, t.shape)


def _tidy(form: Form | None, shape: Shape) -> Form | None:
    """Without coefficients of single positions, and without conditions that always hold."""
    if isinstance(form, Affine):
        return Affine(form.base, tuple(0 if size == 1 else c for c, size in zip(form.coefficients, shape, strict=True)))
    if not isinstance(form, Mask):
        return None
    if form.never:
        return Mask(never=True)
    kept: list[Affine] = []
    for each in form.conditions:
        condition = _tidy(each, shape)
        assert isinstance(condition, Affine)
        if dims.less_equal(condition.at_most(shape), 0) is True:
            continue
        if dims.less_equal(condition.at_least(shape), 0) is False:
            return Mask(never=True)
        if condition not in kept:
            kept.append(condition)
    return Mask(tuple(kept))


def _of_constant(array: np.ndarray) -> Form | None:
    if array.size == 0 or array.size > _LARGEST_CONSTANT:
        return None
    if array.dtype == np.bool_:
        return _of_bools(array)
    wide = array.astype(np.int64)
    if int(np.abs(wide).max()) > _INTEGERS[array.dtype.name]:
        return None
    base = int(wide.reshape(-1)[0])
    coefficients = []
    expected = np.full((1,) * wide.ndim, base)
    for axis, size in enumerate(wide.shape):
        step = 0 if size == 1 else int(wide[(0,) * axis + (1,) + (0,) * (wide.ndim - axis - 1)]) - base
        coefficients.append(step)
        expected = expected + step * np.arange(size).reshape((-1,) + (1,) * (wide.ndim - axis - 1))
    return Affine(base, tuple(coefficients)) if np.array_equal(np.broadcast_to(expected, wide.shape), wide) else None


def _of_bools(array: np.ndarray) -> Mask | None:
    if array.all():
        return Mask()
    if not array.any():
        return Mask(never=True)
    if array.ndim < 2:
        return None
    plane = array.reshape(-1, *array.shape[-2:])
    row = plane[0, 0]
    offset = int(row.sum()) - 1  # a lower triangle allows keys 0 .. i + offset
    triangle = np.tri(plane.shape[1], plane.shape[2], offset, dtype=np.bool_)
    if not (plane == triangle).all():
        return None
    return Mask((Affine(-offset, (0,) * (array.ndim - 2) + (-1, 1)),))


def _aligned(form: Affine, shape: Shape, to: Shape) -> Affine:
    """A form over the axes of a broadcast shape."""
    missing = len(to) - len(shape)
    return Affine(form.base, (0,) * missing + form.coefficients)


def _broadcast(form: Form, shape: Shape, to: Shape) -> Form:
    if isinstance(form, Affine):
        return _aligned(form, shape, to)
    return Mask(tuple(_aligned(c, shape, to) for c in form.conditions), form.never)


def _operand(forms: IndexForms, node: Node, index: int, shape: Shape) -> Form | None:
    value = node.input(index)
    form = forms.of(value)
    if form is None or value is None or value.tensor.shape is None:
        return None
    return _broadcast(form, value.tensor.shape, shape)


def _pair(forms: IndexForms, node: Node, shape: Shape) -> tuple[Affine, Affine] | None:
    a, b = _operand(forms, node, 0, shape), _operand(forms, node, 1, shape)
    return (a, b) if isinstance(a, Affine) and isinstance(b, Affine) else None


def _add(forms: IndexForms, node: Node, shape: Shape) -> Form | None:
    pair = _pair(forms, node, shape)
    return None if pair is None else pair[0].plus(pair[1], 1 if node.op == "Add" else -1)


def _mul(forms: IndexForms, node: Node, shape: Shape) -> Form | None:
    pair = _pair(forms, node, shape)
    if pair is None:
        return None
    for a, b in (pair, pair[::-1]):
        if b.is_constant and isinstance(b.base, int):
            return a.times(b.base)
    return None


def _compare(forms: IndexForms, node: Node, shape: Shape) -> Form | None:
    pair = _pair(forms, node, shape)
    if pair is None:
        return None
    difference = pair[0].plus(pair[1], -1)
    if node.op == "Equal":
        return Mask((difference, difference.times(-1)))
    return Mask((difference.shifted(1 if node.op == "Less" else 0),))


def _and(forms: IndexForms, node: Node, shape: Shape) -> Form | None:
    a, b = _operand(forms, node, 0, shape), _operand(forms, node, 1, shape)
    if not isinstance(a, Mask) or not isinstance(b, Mask):
        return None
    return Mask(a.conditions + b.conditions, a.never or b.never)


def _or(forms: IndexForms, node: Node, shape: Shape) -> Form | None:
    a, b = _operand(forms, node, 0, shape), _operand(forms, node, 1, shape)
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Mask):
            if not one.conditions and not one.never:
                return one
            if one.never and isinstance(other, Mask):
                return other
    return None


def _not(forms: IndexForms, node: Node, shape: Shape) -> Form | None:
    form = forms.mask(node.inputs[0])
    if form is None:
        return None
    if form.never:
        return Mask()
    if not form.conditions:
        return Mask(never=True)
    if len(form.conditions) != 1:
        return None
    return Mask((form.conditions[0].times(-1).shifted(1),))


def _range(forms: IndexForms, node: Node, shape: Shape) -> Form | None:
    start, step = node.inputs[0], node.inputs[2]
    steps = ints_of(step)
    if start is None or start.content is None or not steps:
        return None
    return Affine(start.content[0], (steps[0],))


def _cast(forms: IndexForms, node: Node, shape: Shape) -> Form | None:
    source = node.inputs[0]
    form = forms.of(source)
    if source is None or form is None:
        return None
    target = node.output.dtype
    if isinstance(form, Affine):
        return form if target.is_integer and keeps_every_value(source.dtype, target) else None
    if target.kind == "bool":
        return form
    if target.is_integer and not form.conditions:
        return Affine(0 if form.never else 1, (0,) * len(shape))
    return None


def _same(forms: IndexForms, node: Node, shape: Shape) -> Form | None:
    return forms.of(node.inputs[0])


def _moved(form: Form, table: Sequence[int | None]) -> Form:
    """A form whose axis k is the old axis table[k], or a new single position."""
    if isinstance(form, Affine):
        return Affine(form.base, tuple(0 if old is None else form.coefficients[old] for old in table))
    moved = (_moved(c, table) for c in form.conditions)
    return Mask(tuple(c for c in moved if isinstance(c, Affine)), form.never)


def _reshape(forms: IndexForms, node: Node, shape: Shape) -> Form | None:
    """Only axes of size 1 come and go."""
    x = node.inputs[0]
    form = forms.of(x)
    if form is None or x is None or x.tensor.shape is None:
        return None
    kept = [axis for axis, size in enumerate(x.tensor.shape) if size != 1]
    if [x.tensor.shape[axis] for axis in kept] != [size for size in shape if size != 1]:
        return None
    left = iter(kept)
    return _moved(form, [None if size == 1 else next(left) for size in shape])


def _transpose(forms: IndexForms, node: Node, shape: Shape) -> Form | None:
    form = forms.of(node.inputs[0])
    return None if form is None else _moved(form, permutation(node))


def _expand(forms: IndexForms, node: Node, shape: Shape) -> Form | None:
    return _operand(forms, node, 0, shape)


def _slice(forms: IndexForms, node: Node, shape: Shape) -> Form | None:
    form = forms.of(node.inputs[0])
    if form is None:
        return None
    try:
        cut = windows(node)
    except NoMatch:
        return None
    starts: list[Size] = [0] * len(shape)
    steps = [1] * len(shape)
    for axis, window in cut.items():
        if window.step < 1 or dims.less_equal(0, window.start) is not True:
            return None
        starts[axis], steps[axis] = window.start, window.step
    return _indexed(form, [Affine(s, _unit(axis, len(shape), steps[axis])) for axis, s in enumerate(starts)])


def _unit(axis: int, rank: int, step: int = 1) -> tuple[int, ...]:
    return tuple(step if a == axis else 0 for a in range(rank))


def _indexed(form: Form, positions: Sequence[Affine]) -> Form:
    """The form at index[axis] = positions[axis]."""
    if isinstance(form, Mask):
        inner = (_indexed(c, positions) for c in form.conditions)
        return Mask(tuple(c for c in inner if isinstance(c, Affine)), form.never)
    rank = len(positions[0].coefficients) if positions else 0
    result = Affine(form.base, (0,) * rank)
    for c, position in zip(form.coefficients, positions, strict=True):
        if c:
            result = result.plus(position.times(c))
    return result


def _within(position: Affine, shape: Shape) -> bool:
    """Whether a position is surely not negative, which would count from the end."""
    return dims.less_equal(0, position.at_least(shape)) is True


def _gather(forms: IndexForms, node: Node, shape: Shape) -> Form | None:
    x, indices = node.inputs
    form, index = forms.of(x), forms.affine(indices)
    if form is None or index is None or x is None or indices is None or indices.tensor.shape is None:
        return None
    if not _within(index, indices.tensor.shape):
        return None
    axis, extra = attribute(node, "axis") % x.rank, indices.rank
    positions: list[Affine] = []
    for old in range(x.rank):
        if old == axis:
            positions.append(Affine(index.base, (0,) * axis + index.coefficients + (0,) * (x.rank - axis - 1)))
        else:
            positions.append(Affine(0, _unit(old if old < axis else old + extra - 1, len(shape))))
    return _indexed(form, positions)


def _gather_nd(forms: IndexForms, node: Node, shape: Shape) -> Form | None:
    """Indices that are a Concat of one column for each axis of the data."""
    x, table = node.inputs
    form = forms.of(x)
    concat = None if table is None else source_of(table).producer
    if form is None or x is None or concat is None or concat.op != "Concat" or attribute(node, "batch_dims"):
        return None
    if attribute(concat, "axis") % concat.output.rank != concat.output.rank - 1 or len(concat.inputs) != x.rank:
        return None
    positions: list[Affine] = []
    for column in concat.inputs:
        index = forms.affine(column)
        if index is None or column is None or column.shape[-1] != 1 or not _within(index, column.shape):
            return None
        positions.append(Affine(index.base, index.coefficients[:-1]))
    return _indexed(form, positions)


def _concat(forms: IndexForms, node: Node, shape: Shape) -> Form | None:
    """Parts that go on where the one before ended. A part of one position fits any step."""
    axis = attribute(node, "axis") % len(shape)
    parts = [(forms.affine(v), v.shape[axis]) for v in node.inputs if v is not None]
    if any(form is None for form, _ in parts):
        return None
    known = [(form, length) for form, length in parts if form is not None]
    step = _common_step(known, axis)
    if step is None:
        return None
    first = known[0][0]
    whole = Affine(first.base, tuple(step if a == axis else c for a, c in enumerate(first.coefficients)))
    start: Size = 0
    for form, length in known:
        across = tuple(whole.coefficients[a] if a == axis else c for a, c in enumerate(form.coefficients))
        if form.base != whole.base + step * start or across != whole.coefficients:
            return None
        start = start + length
    return whole


def _common_step(parts: Sequence[tuple[Affine, Size]], axis: int) -> int | None:
    """The step along the axis that parts of several positions agree on, else that between the first two."""
    steps = {form.coefficients[axis] for form, length in parts if length != 1}
    if len(steps) > 1:
        return None
    if steps:
        return steps.pop()
    difference = parts[1][0].base - parts[0][0].base if len(parts) > 1 else 0
    return difference if isinstance(difference, int) else None


def _cumsum(forms: IndexForms, node: Node, shape: Shape) -> Form | None:
    """The running sum of one number c is c·(i + 1)."""
    form, axis = forms.affine(node.inputs[0]), ints_of(node.input(1))
    if form is None or not form.is_constant or not isinstance(form.base, int) or not axis:
        return None
    if attribute(node, "exclusive") or attribute(node, "reverse"):
        return None
    return Affine(form.base, _unit(axis[0] % len(shape), len(shape), form.base))


_RULES = {
    "Add": _add, "Sub": _add, "Mul": _mul, "Less": _compare, "LessOrEqual": _compare, "Equal": _compare, "And": _and,
    "BitwiseAnd": _and, "Or": _or, "Not": _not, "Range": _range, "Cast": _cast, "Identity": _same,
    "Reshape": _reshape, "Unsqueeze": _reshape, "Squeeze": _reshape, "Transpose": _transpose, "Expand": _expand,
    "Slice": _slice, "Gather": _gather, "GatherND": _gather_nd, "Concat": _concat, "CumSum": _cumsum,
}  # fmt: skip
