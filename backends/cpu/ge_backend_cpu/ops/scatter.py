"""Writes and reductions at indices in every form that the loop nests of `sequential` do not have."""

from __future__ import annotations

from collections.abc import Sequence

from ge_backend_cpu.implementations import implementation
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import Launch, Operand, result, source, work
from ge_backend_cpu.loops.checks import unread_checks
from ge_backend_cpu.loops.expr import Space
from ge_backend_cpu.loops.index import Affine, Axis, Unsupported
from ge_backend_cpu.loops.reading import attribute, sizes
from ge_backend_cpu.ops.selecting import SCAN
from ge_backend_cpu.ops.sequential import checked, copied
from ge_backend_cpu.serial.launch import computes, implemented, launched, operand
from ge_core.backend import Implementation, Options
from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType, float32, int64
from ge_core.ir.graph import Node, Value


class _Sums:
    """Where sums lie: in the result, or in a workspace of a type that does not round at each step; then counts.

    Attributes:
        workspace: bytes.
    """

    def __init__(self, node: Node, elements: Size, reduction: str) -> None:
        out = node.output.dtype
        rounds = out.is_float and out.bits < 32 and reduction != "none"
        self.workspace: Size = elements * 4 if rounds else 0
        self.operands: list[tuple[Operand, DType]] = [(work(), float32) if rounds else (result(), out)]
        if reduction == "mean":
            # whole cache lines, so that the counts are aligned
            start = dims.ceildiv(self.workspace, 64) * 64
            self.operands.append((work(start), int64))
            self.workspace = start + elements * 8


def _fits(few: Size, most: Size) -> bool:
    return dims.less_equal(few, most) is True


@implementation("ScatterElements", "ge.ScatterReduce")
def scatter_elements(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    data, indices, updates = (operand(node, k) for k in range(3))
    if not computes(data, indices, updates) or not data.shape:
        return []
    axis = int(attribute(node, "axis")) % data.rank
    pairs = zip(indices.shape, data.shape, strict=True)
    if not all(k == axis or _fits(few, most) for k, (few, most) in enumerate(pairs)):
        return []
    if not all(_fits(few, most) for few, most in zip(indices.shape, updates.shape, strict=True)):
        return []
    reduction = str(attribute(node, "reduction"))
    elements = dims.product(data.shape)
    sums = _Sums(node, elements, reduction)
    values: dict[str, Size] = {}
    for what, value in (("data", data), ("index", indices), ("update", updates)):
        values |= {f"{what}{k}": size for k, size in enumerate(value.shape)}
    launch = launched(
        "scatter",
        [(source(k), v.dtype) for k, v in enumerate((data, indices, updates))]
        + sums.operands + [(result(), node.output.dtype)],
        values,
        dims.product(data.shape[:axis]) * dims.product(data.shape[axis + 1 :]),
        (elements + dims.product(indices.shape) * 4) * SCAN,
        rank=data.rank, axis=axis, reduction=reduction,
        own=bool(node.op == "ScatterElements" or attribute(node, "include_self")),
    )  # fmt: skip
    return [implemented(node, [launch], sums.workspace, [(0, 0)])]


@implementation("ScatterND")
def scatter_rows(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    """Reductions of floats that would be rounded at each step."""
    data, indices, updates = (operand(node, k) for k in range(3))
    depth, reduction = indices.shape[-1], str(attribute(node, "reduction"))
    if reduction == "none" or not computes(data, indices, updates) or not isinstance(depth, int):
        return []
    if not data.dtype.is_float or data.dtype.bits >= 32:
        return []
    inner, elements, rows = (dims.product(s) for s in (data.shape[depth:], data.shape, indices.shape[:-1]))
    if dims.equal(dims.product(updates.shape), rows * inner) is not True:
        return []
    sums = _Sums(node, elements, reduction)
    values = {"elements": elements, "rows": rows, "inner": inner}
    values |= {f"size{k}": data.shape[k] for k in range(depth)}
    launch = launched(
        "scatter_rows",
        [(source(k), v.dtype) for k, v in enumerate((data, indices, updates))]
        + sums.operands + [(result(), node.output.dtype)],
        values, inner, (elements + rows * inner * 4) * SCAN, depth=depth, reduction=reduction,
    )  # fmt: skip
    checks = _unread(1, indices, data.shape[:depth], rows, inner)
    return [implemented(node, [*checks, launch], sums.workspace, [(0, 0)])]


def _unread(number: int, indices: Value, limits: Sequence[Size], rows: Size, inner: Size) -> list[Launch]:
    """Checks of tuples of indices, which are operand `number`, for rows that have no element."""
    space, row = Space(), Axis(rows)
    read = [space.load(number, indices.dtype, Affine.axis(row) * len(limits) + k) for k in range(len(limits))]
    for value, limit in zip(read, limits, strict=True):
        checked(space, value, limit)
    return unread_checks([row, Axis(inner)], space.checks, [indices.dtype] * (number + 1))


@implementation("ge.SegmentReduce")
def segment_reduce(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    data, numbers = operand(node, 0), operand(node, 1)
    try:
        (segments,) = sizes(node.input(2))
    except Unsupported:
        return []
    if not computes(data, numbers) or dims.equal(data.shape[0], numbers.shape[0]) is not True:
        return []
    reduction, inner = str(attribute(node, "reduction")), dims.product(data.shape[1:])
    sums = _Sums(node, segments * inner, reduction)
    launch = launched(
        "segments",
        [(source(0), data.dtype), (source(1), numbers.dtype), *sums.operands, (result(), node.output.dtype)],
        {"inner": inner, "segments": segments, "rows": data.shape[0]},
        inner,
        (segments + data.shape[0]) * inner * 2 * SCAN,
        reduction=reduction,
    )
    space, row = Space(), Axis(data.shape[0])
    read = space.check(space.cast(space.load(1, numbers.dtype, Affine.axis(row)), int64), segments)
    checks = unread_checks([row, Axis(inner)], [read], [data.dtype, numbers.dtype])
    return [implemented(node, [*checks, launch], sums.workspace)]


@implementation("TensorScatter")
def tensor_scatter(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    cache, update, starts = operand(node, 0), operand(node, 1), node.input(2)
    axis = int(attribute(node, "axis")) % cache.rank
    pairs = zip(cache.shape, update.shape, strict=True)
    if not computes(cache, update) or not all(k == axis or dims.equal(a, b) is True for k, (a, b) in enumerate(pairs)):
        return []
    if starts is not None and dims.equal(starts.shape[0], cache.shape[0]) is not True:
        return []
    operands = [(source(1), update.dtype)]
    if starts is not None:
        operands.append((source(2), starts.dtype))
    items, inner = dims.product(update.shape[: axis + 1]), dims.product(cache.shape[axis + 1 :])
    values = {
        "batch": cache.shape[0], "middle": dims.product(cache.shape[1:axis]), "room": cache.shape[axis],
        "steps": update.shape[axis], "inner": inner,
    }  # fmt: skip
    circular = attribute(node, "mode") == "circular"
    write = launched(
        "cache", [*operands, (result(), cache.dtype)], values, items, items * inner * 100, circular=circular
    )
    launches: list[Launch] = [copied(node), write]
    return [implemented(node, launches, in_place=[(0, 0)])]
