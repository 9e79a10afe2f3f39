"""Operators that move elements: maps from the index of the result to that of the operand."""

from __future__ import annotations

from collections.abc import Sequence

from ge_backend_cpu.contract.windows import windows_of
from ge_backend_cpu.loops.expr import Expr, compute_kind
from ge_backend_cpu.loops.index import Affine, Unsupported, divided
from ge_backend_cpu.loops.reading import attribute, integers, required, sizes
from ge_backend_cpu.loops.registry import Operands, rule
from ge_backend_cpu.loops.tensor import Index, Tensor, Tracer, single_index
from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import int64
from ge_core.ir.graph import Node

FAR = 1 << 31
"""Starts and ends of slices beyond this mean the end of the axis."""
MOST_TURNS = 8
"""Repetitions and reflections of an axis of known size; each is a part of the domain."""


@rule("Transpose")
def transpose(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    data = required(x[0])
    order = node.attrs.get("perm", tuple(reversed(range(data.rank))))
    assert isinstance(order, tuple)
    return [t.transpose(data, [int(k) for k in order])]  # type: ignore[arg-type]


@rule("Reshape", "Flatten", "Squeeze", "Unsqueeze")
def reshape(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    return [t.reshape(required(x[0]), node.output.shape)]


@rule("Expand")
def expand(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    return [t.broadcast(required(x[0]), node.output.shape)]


@rule("ge.BindDim")
def bind_dim(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    """The scalar as int64."""
    return [t.converted(t.reshape(required(x[0]), ()), int64)]


@rule("ge.Relayout")
def relayout(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    return [required(x[0])]


@rule("Slice")
def slice_(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    """x[start : end : step] on some axes; the sizes come from the result's type."""
    data = required(x[0])
    starts = sizes(node.input(1))
    axes = integers(node.input(3)) if node.input(3) is not None else tuple(range(len(starts)))
    steps = integers(node.input(4)) if node.input(4) is not None else (1,) * len(starts)
    first: list[Size] = [0] * data.rank
    step = [1] * data.rank
    for axis, start, stride in zip(axes, starts, steps, strict=True):
        first[axis % data.rank] = slice_start(start, data.shape[axis % data.rank], stride)
        step[axis % data.rank] = stride
    return [t.strided(data, node.output.shape, first, step)]


def slice_start(start: Size, size: Size, step: int) -> Size:
    """Where a slice begins: negative starts count from the end, those outside are moved to the end they are past.

    Raises:
        Unsupported: the sign of a symbolic start is unknown.
    """
    last = size if step > 0 else size - 1
    if isinstance(start, int) and abs(start) >= FAR:
        return last if start > 0 else 0 if step > 0 else -1
    if dims.less_equal(0, start) is True:
        return dims.minimum(start, last)
    if dims.less_equal(start, -1) is True:
        return dims.maximum(start + size, 0 if step > 0 else -1)
    raise Unsupported(f"a slice from {start}, which may count from either end")


@rule("Concat")
def concat(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    parts = [required(p) for p in x]
    axis = int(attribute(node, "axis")) % parts[0].rank
    return [t.concat([p for p in parts if p.shape[axis] != 0] or parts[:1], axis, node.output.shape)]


@rule("Split")
def split(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    data = required(x[0])
    axis = int(attribute(node, "axis")) % data.rank
    found: list[Tensor] = []
    at: Size = 0
    for value in node.outputs:
        starts: list[Size] = [0] * data.rank
        starts[axis] = at
        found.append(t.strided(data, value.shape, starts, [1] * data.rank))
        at = at + value.shape[axis]
    if node.input(1) is not None and dims.equal(at, data.shape[axis]) is not True:
        raise Unsupported("parts whose sizes only the run knows")
    return found


@rule("Pad")
def pad(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    """Constant, edge, reflect or wrap."""
    data, mode = required(x[0]), attribute(node, "mode")
    amounts = sizes(node.input(1))
    axes = range(data.rank)
    if node.input(3) is not None:
        axes = [a % data.rank for a in integers(node.input(3))]  # type: ignore[assignment]
    before: list[Size] = [0] * data.rank
    for axis, amount in zip(axes, amounts[: len(amounts) // 2], strict=True):
        before[axis] = amount
    if mode == "constant":
        fill = x[2] if len(x) > 2 and x[2] is not None else t.full(0, data.dtype, ())
        return [t.pad(data, node.output.shape, before, fill)]
    return [_extended(t, data, node.output.shape, before, mode)]


def _extended(t: Tracer, x: Tensor, shape: Sequence[Size], before: Sequence[Size], mode: str) -> Tensor:
    """x continued beyond its ends; each continuation is a part of the domain with an index of its own."""

    def element(index: Index, mask: Expr | None) -> Expr:
        inner = []
        for i, size, start, total in zip(index, x.shape, before, shape, strict=True):
            if dims.equal(size, total) is True and start == 0:
                inner.append(i)
                continue
            inner.append(_place(t, i + -1 * start, size, mode))
        return x.at(tuple(inner), mask)

    return Tensor(x.dtype, tuple(shape), element)


def _place(t: Tracer, at: Affine, size: Size, mode: str) -> Affine:
    """Where a position outside of [0, size) reads."""
    try:
        return _turned(t, at, size, mode)
    except Unsupported:
        return _folded(t, at, size, mode)


def _turned(t: Tracer, at: Affine, size: Size, mode: str) -> Affine:
    """The same where it is known how often the axis is repeated or reflected before the position.

    Raises:
        CutAxis: it is, once an axis is cut.
        Unsupported: it is not.
    """
    if t.side(at, 0) and not t.side(at, size):
        return at
    if dims.less_equal(2 if mode == "reflect" else 1, size) is not True:
        raise Unsupported("an axis with nothing to continue with")
    if mode == "edge":
        return Affine((), size - 1 if t.side(at, size) else 0)
    if mode == "wrap":
        turns = 0
        while not t.side(at, 0):
            at, turns = at + size, turns + 1
        while t.side(at, size):
            at, turns = at + -1 * size, turns + 1
            if turns > MOST_TURNS:
                raise Unsupported(f"more than {MOST_TURNS} repetitions")
        return at
    for _ in range(MOST_TURNS):
        if not t.side(at, 0):
            at = at * -1
        elif t.side(at, size):
            at = at * -1 + (size + size - 2)
        else:
            return at
    raise Unsupported(f"more than {MOST_TURNS} reflections")


def _folded(t: Tracer, at: Affine, size: Size, mode: str) -> Affine:
    """The same computed by the run; an empty axis is an error."""
    apply, one, zero = t.space.apply, t.space.const(1, int64), t.space.const(0, int64)
    count, place = t.space.index(Affine((), size)), t.space.index(at)
    last = apply("sub", count, one)
    if mode == "edge":
        found = apply("max", apply("min", place, last), zero)
    elif mode == "wrap":
        found = apply("floormod", place, apply("max", count, one))
    else:
        period = apply("max", apply("add", last, last), one)
        rest = apply("floormod", place, period)
        found = apply("min", rest, apply("sub", period, rest))
    return _inside(t, found, size)


def _inside(t: Tracer, place: Expr, size: Size) -> Affine:
    return Affine.of({t.space.check(place, size): 1})


@rule("ge.Im2Col")
def im2col(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    """Element (c, tap; place) is the one of channel c under that tap at that place; beyond the border 0."""
    data = required(x[0])
    windows = windows_of(node, attribute(node, "kernel_shape"), data.shape[2:])
    places = windows.positions(data.shape[2:])
    ends = [
        dims.maximum((count - 1) * stride + windows.extent(i) - begin - size, 0)
        for i, (count, stride, begin, size) in enumerate(
            zip(places, windows.strides, windows.begin, data.shape[2:], strict=True)
        )
    ]
    whole = (*data.shape[:2], *(b + n + e for b, n, e in zip(windows.begin, data.shape[2:], ends, strict=True)))
    padded = t.pad(data, whole, (0, 0, *windows.begin), t.full(0, data.dtype, ()))
    spread = (*data.shape[:2], *windows.kernel, *places)
    rank = windows.rank

    def element(index: Index, mask: Expr | None) -> Expr:
        taps, at = index[2 : 2 + rank], index[2 + rank :]
        moved = [
            tap * dilation + place * stride
            for tap, place, dilation, stride in zip(taps, at, windows.dilations, windows.strides, strict=True)
        ]
        return padded.at((*index[:2], *moved), mask)

    return [t.reshape(Tensor(data.dtype, spread, element), node.output.shape)]


@rule("Tile")
def tile(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    return [t.tile(required(x[0]), node.output.shape)]


@rule("ge.RepeatInterleave")
def repeat_interleave(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    """Each slice the same number of times."""
    data = required(x[0])
    axis = int(attribute(node, "axis")) % data.rank
    counts = integers(node.input(1))
    if len(counts) != 1 or counts[0] < 1:
        raise Unsupported("a count for each slice")

    def element(index: Index, mask: Expr | None) -> Expr:
        return data.at((*index[:axis], divided(index[axis], counts[0])[0], *index[axis + 1 :]), mask)

    return [Tensor(data.dtype, node.output.shape, element)]


@rule("DepthToSpace")
def depth_to_space(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    data, b = required(x[0]), int(attribute(node, "blocksize"))
    n, depth, h, w = data.shape
    c = dims.floordiv(depth, b * b)
    if attribute(node, "mode") == "DCR":
        parts = t.transpose(t.reshape(data, (n, b, b, c, h, w)), (0, 3, 4, 1, 5, 2))
    else:
        parts = t.transpose(t.reshape(data, (n, c, b, b, h, w)), (0, 1, 4, 2, 5, 3))
    return [t.reshape(parts, node.output.shape)]


@rule("SpaceToDepth")
def space_to_depth(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    data, b = required(x[0]), int(attribute(node, "blocksize"))
    n, depth, h, w = data.shape
    rows, columns = dims.exact_div(h, b), dims.exact_div(w, b)
    if rows is None or columns is None:
        raise Unsupported("sizes that may not be multiples of the block")
    order = (0, 3, 5, 1, 2, 4) if attribute(node, "mode") == "DCR" else (0, 1, 3, 5, 2, 4)
    parts = t.transpose(t.reshape(data, (n, depth, rows, b, columns, b)), order)
    return [t.reshape(parts, node.output.shape)]


@rule("CenterCropPad")
def center_crop_pad(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    """Axis by axis the middle is taken, or zeros are put around it."""
    data = required(x[0])
    before: list[Size] = []
    for size, total in zip(data.shape, node.output.shape, strict=True):
        if dims.less_equal(size, total) is True:
            before.append(dims.floordiv(total - size, 2))
        elif dims.less_equal(total, size) is True:
            before.append(-1 * dims.floordiv(size - total, 2))
        else:
            raise Unsupported("a size that may grow or shrink")
    return [t.pad(data, node.output.shape, before, t.full(0, data.dtype, ()))]


@rule("Trilu")
def trilu(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    """The upper or lower triangle, zeros elsewhere."""
    data = required(x[0])
    zero = t.space.const(0, compute_kind(data.dtype))
    offset = x[1] if len(x) > 1 else None

    def element(index: Index, mask: Expr | None) -> Expr:
        row, column = t.space.index(index[-2]), t.space.index(index[-1])
        if offset is not None:
            row = t.space.apply("add", row, t.space.cast(offset.at(single_index(offset.shape)), int64))
        inside = t.space.apply("le", row, column) if attribute(node, "upper") else t.space.apply("le", column, row)
        return t.space.apply("select", inside, data.at(index, mask), zero)

    return [Tensor(data.dtype, data.shape, element)]


@rule("ReverseSequence")
def reverse_sequence(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    """The first steps of each sample in reverse order, the others as they are."""
    data, lengths = required(x[0]), required(x[1])
    time, batch = int(attribute(node, "time_axis")), int(attribute(node, "batch_axis"))
    steps, apply = data.shape[time], t.space.apply

    def element(index: Index, mask: Expr | None) -> Expr:
        length = t.space.check(lengths.at((index[batch],)), steps + 1)
        step = t.space.index(index[time])
        mirrored = apply("sub", apply("sub", length, t.space.const(1, int64)), step)
        place = t.space.check(apply("select", apply("lt", step, length), mirrored, step), steps)
        return data.at((*index[:time], Affine.of({place: 1}), *index[time + 1 :]), mask)

    return [Tensor(data.dtype, data.shape, element)]
