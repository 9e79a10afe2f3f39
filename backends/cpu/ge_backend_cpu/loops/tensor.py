"""Tensors as functions of an index: a chain of operators becomes one expression by asking for an element.

Operators that move data map the index of the result to that of their operand and cost nothing in a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from ge_backend_cpu.loops.expr import Expr, Space, compute_kind
from ge_backend_cpu.loops.index import Affine, Axis, CutAxis, SplitAxis, Unsupported, divided, linear, placed
from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType
from ge_core.ir.types import Layout, Shape

Index: TypeAlias = tuple[Affine, ...]


@dataclass(frozen=True)
class Domain:
    """A box of a shape that is computed by one nest.

    Attributes:
        shape: the whole.
        index: the place in it, by the axes.
        axes: from outermost to innermost.
        whole: for each dim whether the box covers it.
    """

    shape: Shape
    index: Index
    axes: tuple[Axis, ...]
    whole: tuple[bool, ...]

    @staticmethod
    def of(shape: Shape) -> Domain:
        """All of a shape, one axis for each dim."""
        axes = [Axis(size) for size in shape]
        index = tuple(Affine.axis(a) for a in axes)
        return Domain(shape, index, tuple(a for a in axes if a.size != 1), (True,) * len(shape))

    def split(self, axis: Axis, inner: Size) -> Domain:
        """With an axis replaced by two."""
        parts, value = halves(axis, inner)
        axes = tuple(p for a in self.axes for p in (parts if a is axis else (a,)))
        return Domain(self.shape, tuple(i.substituted(axis, value) for i in self.index), axes, self.whole)

    def cut(self, axis: Axis, place: Size) -> list[Domain]:
        """The two parts before and from a place on an axis."""
        whole = tuple(w and i.coefficient(axis) == 0 for w, i in zip(self.whole, self.index, strict=True))
        parts = []
        for start, size in ((0, place), (place, axis.size - place)):
            new = Axis(size)
            value = Affine.axis(new) + start
            axes = tuple(p for a in self.axes for p in (((new,) if size != 1 else ()) if a is axis else (a,)))
            if size != 0:
                parts.append(Domain(self.shape, tuple(i.substituted(axis, value) for i in self.index), axes, whole))
        return parts


def halves(axis: Axis, inner: Size) -> tuple[tuple[Axis, ...], Affine]:
    """The two axes that an axis is split into (those of size 1 left out), and the axis by them."""
    count = dims.exact_div(axis.size, inner)
    assert count is not None
    outer_axis, inner_axis = Axis(count), Axis(inner)
    value = Affine.axis(outer_axis) * inner + Affine.axis(inner_axis)
    return tuple(a for a in (outer_axis, inner_axis) if a.size != 1), value


@dataclass(eq=False)
class Tensor:
    """A tensor that is computed element by element.

    Attributes:
        dtype: element type; the values are of its `compute_kind`.
        element: gives the value at an index; with a mask only where the mask holds (see `Space.load`).
        flat: gives the value at a row-major number, where that needs no division.
        kept: for an operand of the nest its number: it is not computed.
        plain: the tensor that this one is another shape of, with the elements in the same order.
    """

    dtype: DType
    shape: Shape
    element: Callable[[Index, Expr | None], Expr]
    flat: Callable[[Affine, Expr | None], Expr] | None = None
    kept: int = -1
    plain: Tensor | None = None
    _memo: dict[tuple[Index, Expr | None], Expr] = field(default_factory=dict, repr=False)

    def at(self, index: Index, mask: Expr | None = None) -> Expr:
        """The value at an index.

        Raises:
            SplitAxis, CutAxis: the domain must be changed first.
            Unsupported: one nest cannot compute it.
        """
        key = (index, mask)
        found = self._memo.get(key)
        if found is None:
            assert len(index) == len(self.shape), (index, self.shape)
            found = self._memo[key] = self.element(index, mask)
        return found

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def is_single(self) -> bool:
        return all(d == 1 for d in self.shape)


class Tracer:
    """Makes tensors for one lowering.

    Attributes:
        main: the domain for which elements are being asked; reductions over its dims use its axes.
    """

    def __init__(self) -> None:
        self.space = Space()
        self.main: Domain | None = None

    # Sources

    def operand(self, number: int, dtype: DType, shape: Shape, layout: Layout | None = None) -> Tensor:
        """A tensor in memory."""
        place = address(shape, layout)

        def element(index: Index, mask: Expr | None) -> Expr:
            return self.space.load(number, dtype, place(index), mask)

        def flat(at: Affine, mask: Expr | None) -> Expr:
            return self.space.load(number, dtype, at, mask)

        plain = layout is None or layout.is_row_major
        return Tensor(dtype, shape, element, flat if plain else None, number)

    def full(self, value: float | int | Expr, dtype: DType, shape: Shape) -> Tensor:
        """The same value everywhere."""
        kind = compute_kind(dtype)
        expr = value if isinstance(value, Expr) else self.space.const(value, kind)
        return Tensor(dtype, shape, lambda index, mask: expr, lambda at, mask: expr)

    def constant(self, array: np.ndarray, dtype: DType, shape: Shape) -> Tensor | None:
        """A constant of one element that is simple enough to stand in the code; None for others."""
        if array.size != 1 or dtype.kind not in ("float", "int", "uint", "bool"):
            return None
        value = array.reshape(()).astype(np.float64) if dtype.is_float else array.reshape(()).astype(np.int64)
        number = float(value) if dtype.is_float else int(value)
        return self.full(number, dtype, shape) if is_simple(number) else None

    # Element by element

    def pointwise(
        self, dtype: DType, shape: Shape, inputs: Sequence[Tensor | None], combine: Callable[..., Expr]
    ) -> Tensor:
        """`combine` of the broadcast inputs' values (None for omitted ones)."""

        def element(index: Index, mask: Expr | None) -> Expr:
            values = [None if x is None else x.at(broadcast_index(index, x.shape, shape), mask) for x in inputs]
            return combine(*values)

        flats = [None if x is None else _flat(x, shape) for x in inputs]
        plain = all(x is None or f is not None for x, f in zip(inputs, flats, strict=True))

        def flat(at: Affine, mask: Expr | None) -> Expr:
            return combine(*[None if f is None else f(at, mask) for f in flats])

        return Tensor(dtype, shape, element, flat if plain else None)

    def converted(self, x: Tensor, to: DType, saturate: bool = True) -> Tensor:
        """Cast."""
        source = x.dtype if x.dtype.bits < 8 else compute_kind(x.dtype)
        return self.pointwise(to, x.shape, [x], lambda v: self.space.cast(v, to, source, saturate))

    def coordinate(self, shape: Shape, axis: int, dtype: DType) -> Tensor:
        """The index along an axis."""
        kind = compute_kind(dtype)
        return Tensor(dtype, shape, lambda index, mask: self.space.index(index[axis], kind))

    # Movement

    def broadcast(self, x: Tensor, shape: Shape) -> Tensor:
        return self.pointwise(x.dtype, shape, [x], lambda v: v)

    def transpose(self, x: Tensor, order: Sequence[int]) -> Tensor:
        """Dim k of the result is dim order[k] of x."""
        inverse = [list(order).index(k) for k in range(x.rank)]
        shape = tuple(x.shape[k] for k in order)
        return Tensor(x.dtype, shape, lambda index, mask: x.at(tuple(index[k] for k in inverse), mask))

    def reshape(self, x: Tensor, shape: Shape) -> Tensor:
        def element(index: Index, mask: Expr | None) -> Expr:
            direct = _regrouped(index, shape, x.shape)
            if direct is not None:
                return x.at(direct, mask)
            at = linear(index, shape)
            if x.flat is not None:
                return x.flat(at, mask)
            found: list[Affine] = []
            for size in reversed(x.shape[1:]):
                at, rest = divided(at, size)
                found.append(rest)
            return x.at((at, *reversed(found)) if x.shape else (), mask)

        return Tensor(x.dtype, shape, element, x.flat, plain=x.plain or x)

    def strided(self, x: Tensor, shape: Shape, starts: Sequence[Size], steps: Sequence[Size]) -> Tensor:
        """Element i of a dim is element start + step i of that dim of x."""

        def element(index: Index, mask: Expr | None) -> Expr:
            return x.at(tuple(i * step + start for i, start, step in zip(index, starts, steps, strict=True)), mask)

        return Tensor(x.dtype, shape, element)

    def concat(self, parts: Sequence[Tensor], axis: int, shape: Shape) -> Tensor:
        ends: list[Size] = []
        at: Size = 0
        for part in parts:
            at = at + part.shape[axis]
            ends.append(at)

        def piece(index: Index, mask: Expr | None, k: int) -> Expr:
            start = ends[k - 1] if k else 0
            return parts[k].at((*index[:axis], index[axis] + -1 * start, *index[axis + 1 :]), mask)

        def element(index: Index, mask: Expr | None) -> Expr:
            for k, end in enumerate(ends[:-1]):
                try:
                    beyond = placed(index[axis], end)
                except (CutAxis, Unsupported) as need:
                    if isinstance(need, CutAxis) and self._may_cut(need.axis):
                        raise
                    return self._choose_piece(index, mask, axis, ends, piece, k)
                if not beyond:
                    return piece(index, mask, k)
            return piece(index, mask, len(parts) - 1)

        return Tensor(parts[0].dtype, shape, element)

    def _choose_piece(
        self,
        index: Index,
        mask: Expr | None,
        axis: int,
        ends: Sequence[Size],
        piece: Callable[[Index, Expr | None, int], Expr],
        first: int,
    ) -> Expr:
        """Every part from the first on under a mask."""
        if len(ends) - first > 4:
            raise Unsupported("a reduction over a concatenation of many parts")
        place = self.space.index(index[axis])
        value: Expr | None = None
        for k in range(len(ends) - 1, first - 1, -1):
            inside = self._mask(place, ends[k - 1] if k > first else None, ends[k] if k < len(ends) - 1 else None)
            part = piece(index, self.both(mask, inside), k)
            value = part if value is None else self.space.apply("select", inside, part, value)
        assert value is not None
        return value

    def _mask(self, place: Expr, low: Size | None, high: Size | None) -> Expr:
        apply, number = self.space.apply, lambda n: self.space.index(Affine((), n))
        if low is None:
            assert high is not None
            return apply("lt", place, number(high))
        above = apply("le", number(low), place)
        return above if high is None else apply("and", above, apply("lt", place, number(high)))

    def both(self, a: Expr | None, b: Expr) -> Expr:
        """The mask of two masks."""
        return b if a is None else self.space.apply("and", a, b)

    def side(self, at: Affine, boundary: Size) -> bool:
        """Whether an index lies at or beyond a boundary (see `placed`)."""
        return placed(at, boundary)

    def _may_cut(self, axis: Axis) -> bool:
        return self.main is not None and axis in self.main.axes

    def pad(self, x: Tensor, shape: Shape, before: Sequence[Size], value: Tensor) -> Tensor:
        """x inside a larger shape, `value` (a single element) around it; negative pads take away."""

        def element(index: Index, mask: Expr | None) -> Expr:
            inner: list[Affine] = []
            conditions: list[Expr] = []
            for i, size, start in zip(index, x.shape, before, strict=True):
                at = i + -1 * start
                for boundary, wanted in ((0, True), (size, False)):
                    try:
                        inside = placed(at, boundary) is wanted
                    except (CutAxis, Unsupported) as need:
                        if isinstance(need, CutAxis) and self._may_cut(need.axis):
                            raise
                        place = self.space.index(at)
                        low, high = (0, None) if wanted else (None, size)
                        conditions.append(self._mask(place, low, high))
                        continue
                    if not inside:
                        return value.at(single_index(value.shape), mask)
                inner.append(at)
            if not conditions:
                return x.at(tuple(inner), mask)
            both = mask
            test: Expr | None = None
            for condition in conditions:
                both, test = self.both(both, condition), self.both(test, condition)
            assert test is not None
            filled = value.at(single_index(value.shape), mask)
            return self.space.apply("select", test, x.at(tuple(inner), both), filled)

        return Tensor(x.dtype, shape, element)

    def tile(self, x: Tensor, shape: Shape) -> Tensor:
        """x repeated to a larger shape."""

        def element(index: Index, mask: Expr | None) -> Expr:
            inner = [
                Affine() if size == 1 else i if dims.equal(size, total) is True else divided(i, size)[1]
                for i, size, total in zip(index, x.shape, shape, strict=True)
            ]
            return x.at(tuple(inner), mask)

        return Tensor(x.dtype, shape, element)

    # Reductions

    def reduce(self, op: str, x: Tensor, over: Sequence[int], keep: bool = True) -> Tensor:
        """sum, prod, max or min over some dims, of x's values as they are.

        The result has x's dtype; its values are of the compute kind (sums are not rounded).
        """
        axes = tuple(sorted(over))
        shape = tuple(1 if k in axes else d for k, d in enumerate(x.shape))

        def element(index: Index, mask: Expr | None) -> Expr:
            if not axes:
                return x.at(index, mask)
            inner = self._reduction_index(x, axes, index)
            return self._reduced(op, x, index, axes, inner, mask)

        kept = Tensor(x.dtype, shape, element)
        return kept if keep else self.squeeze(kept, axes)

    def squeeze(self, x: Tensor, axes: Sequence[int]) -> Tensor:
        """x without some dims of size 1."""
        shape = tuple(d for k, d in enumerate(x.shape) if k not in axes)

        def element(index: Index, mask: Expr | None) -> Expr:
            rest = iter(index)
            return x.at(tuple(Affine() if k in axes else next(rest) for k in range(x.rank)), mask)

        return Tensor(x.dtype, shape, element, x.flat, plain=x.plain or x)

    def arg(self, op: str, x: Tensor, axis: int, last: bool, dtype: DType) -> Tensor:
        """The place of the max or min along a dim, which stays with size 1."""
        shape = tuple(1 if k == axis else d for k, d in enumerate(x.shape))

        def element(index: Index, mask: Expr | None) -> Expr:
            inner = self._reduction_index(x, (axis,), index)[0]
            if inner.is_constant:
                return self.space.const(0, dtype)
            if len(inner.terms) != 1 or not isinstance(inner.terms[0][0], Axis) or inner.const != 0:
                inner = Affine.axis(Axis(x.shape[axis]))
            place = inner.terms[0][0]
            body = x.at((*index[:axis], inner, *index[axis + 1 :]), mask)
            return self.space.arg(op, body, place, last)

        return Tensor(dtype, shape, element)

    def _reduction_index(self, x: Tensor, axes: tuple[int, ...], index: Index) -> tuple[Affine, ...]:
        """The index along the reduced dims: by the main domain's axes where it has them, else by fresh ones."""
        used = {v for k, i in enumerate(index) if k not in axes for v, _ in i.terms}
        found = []
        for k in axes:
            own = self._main_index(x, k)
            if own is None or any(v in used for v, _ in own.terms):
                own = Affine.axis(Axis(x.shape[k]))
            found.append(own)
        return tuple(found)

    def _main_index(self, x: Tensor, k: int) -> Affine | None:
        main = self.main
        if main is None or len(main.shape) != x.rank or not main.whole[k]:
            return None
        return main.index[k] if dims.equal(main.shape[k], x.shape[k]) is True else None

    def _reduced(
        self, op: str, x: Tensor, index: Index, axes: tuple[int, ...], inner: tuple[Affine, ...], mask: Expr | None
    ) -> Expr:
        """The reduction over the box that `inner` describes; split and cut as the body needs it."""
        own = [v for i in inner for v, _ in i.terms]
        whole = list(index)
        for k, i in zip(axes, inner, strict=True):
            whole[k] = i
        try:
            body = x.at(tuple(whole), mask)
        except SplitAxis as need:
            if need.axis not in own:
                raise
            _, value = halves(need.axis, need.inner)
            moved = tuple(i.substituted(need.axis, value) for i in inner)
            return self._reduced(op, x, index, axes, moved, mask)
        if not own:
            return body
        return self.space.reduce(op, body, tuple(v for v in own if isinstance(v, Axis)))


def _flat(x: Tensor, shape: Shape) -> Callable[[Affine, Expr | None], Expr] | None:
    """The access by number of an operand that broadcasts to a shape, where it has one."""
    if x.is_single:
        return lambda at, mask: x.at(single_index(x.shape), mask)
    same = len(x.shape) == len(shape) and all(dims.equal(a, b) is True for a, b in zip(x.shape, shape, strict=True))
    return x.flat if same else None


def single_index(shape: Shape) -> Index:
    """The index of the only element."""
    return (Affine(),) * len(shape)


def broadcast_index(index: Index, small: Shape, large: Shape) -> Index:
    """The index into an operand that broadcasts to a shape; where only the run knows whether a dim does, its stride
    becomes 0 then."""
    inner = index[len(large) - len(small) :]
    found = []
    for i, own, whole in zip(inner, small, large[len(large) - len(small) :], strict=True):
        if own == 1:
            found.append(Affine())
        elif dims.equal(own, whole) is True or dims.less_equal(2, own) is True:
            found.append(i)
        else:
            found.append(i * dims.minimum(own - 1, 1))
    return tuple(found)


def _regrouped(index: Index, shape: Shape, wanted: Shape) -> Index | None:
    """The index of a reshape that only adds or removes dims of size 1; None for others."""
    kept = [(i, d) for i, d in zip(index, shape, strict=True) if d != 1]
    wide = [d for d in wanted if d != 1]
    if len(kept) != len(wide) or any(dims.equal(a, b) is not True for (_, a), b in zip(kept, wide, strict=True)):
        return None
    rest = iter(i for i, _ in kept)
    return tuple(Affine() if d == 1 else next(rest) for d in wanted)


def address(shape: Shape, layout: Layout | None) -> Callable[[Index], Affine]:
    """A function from an index to the number of the stored element."""
    rank = len(shape)
    if layout is None:
        layout = Layout.row_major(rank)
    sizes = layout.storage_shape(shape)
    strides: list[Size] = [1] * len(sizes)
    for k in range(len(sizes) - 2, -1, -1):
        strides[k] = strides[k + 1] * sizes[k + 1]
    halo = layout.halo or ((0, 0),) * rank
    outer = {axis: strides[k] for k, axis in enumerate(layout.order)}
    blocks = [(axis, block, strides[rank + k]) for k, (axis, block) in enumerate(layout.blocks)]

    def place(index: Index) -> Affine:
        total = Affine()
        for axis, i in enumerate(index):
            at = i + halo[axis][0]
            inner = [(block, stride) for own, block, stride in blocks if own == axis]
            for block, stride in reversed(inner):
                at, rest = divided(at, block)
                total = total + rest * stride
            total = total + at * outer[axis]
        return total

    return place


def is_simple(number: float | int) -> bool:
    """Whether a number may stand in a kernel's code; others are read, so that layers share kernels."""
    if number != number or number in (float("inf"), float("-inf")):
        return True
    if abs(number) <= 64 and number == int(number):
        return True
    return isinstance(number, float) and abs(number) in (0.5, 0.25, 0.125, 1.5)


__all__ = [
    "Domain", "Index", "Tensor", "Tracer", "address", "broadcast_index", "halves", "is_simple", "single_index",
]  # fmt: skip
