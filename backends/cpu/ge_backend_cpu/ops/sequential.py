"""Operators that must go along an axis in order: running sums and products, and writes at indices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ge_backend_cpu.groups import typical
from ge_backend_cpu.implementations import implementation
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import Kernel, Launch, launch_data, result, source
from ge_backend_cpu.loops.checks import unread_checks
from ge_backend_cpu.loops.expr import Expr, Space, compute_kind
from ge_backend_cpu.loops.index import Affine, Axis, Unsupported
from ge_backend_cpu.loops.program import Range
from ge_backend_cpu.loops.reading import attribute, integers
from ge_backend_cpu.loops.tensor import address
from ge_backend_cpu.loops.writer import Writer
from ge_core.backend import Implementation, Options
from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType, float32, float64, int64
from ge_core.ir.graph import Node, Value
from ge_core.ir.types import Shape

BLOCK = 1024
"""Elements of the innermost axis that one work item takes."""
_REDUCTIONS: Mapping[str, str] = {"add": "add", "mul": "mul", "max": "max", "min": "min"}
Offer = Callable[[Node], Implementation]


def _offered(make: Offer, node: Node) -> list[Implementation]:
    try:
        return [make(node)]
    except Unsupported:
        return []


def _implemented(node: Node, launches: Sequence[Launch], in_place: Sequence[tuple[int, int]] = ()) -> Implementation:
    total = sum((typical(launch.picoseconds) for launch in launches), 0)
    return Implementation(
        name=f"sequential.{node.op}",
        in_place=tuple(in_place),
        cost=total * 1e-12,
        precision="accurate",
        data=launch_data(launches),
    )


def _input(node: Node, index: int) -> Value:
    value = node.input(index)
    assert value is not None
    return value


# Running sums and products


@implementation("CumSum", "CumProd")
def cumulative(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    """Lanes lie along the innermost axis unless the sum goes along it; float32 is summed in float64."""
    return _offered(_cumulative, node)


def _cumulative(node: Node) -> Implementation:
    shape, dtype = node.output.shape, node.output.dtype
    if not shape or dtype.bits < 8:
        raise Unsupported("nothing to go along")
    over = integers(node.input(1))[0] % len(shape)
    kind = compute_kind(dtype)
    wide = float64 if kind == float32 else kind
    axes = [Axis(size) for size in shape]
    place = address(shape, None)
    index = [Affine.axis(a) for a in axes]
    if attribute(node, "reverse"):
        index[over] = index[over] * -1 + (shape[over] - 1)
    at, space = place(tuple(index)), Space()
    body = space.cast(space.load(0, dtype, at), wide)
    total = space.reduce("sum" if node.op == "CumSum" else "prod", body, (axes[over],))
    lanes = None if over == len(shape) - 1 or axes[-1].size == 1 else axes[-1]
    writer = Writer({}, {0: 0, 1: 1}, 4 if lanes is not None else 0, 1)
    outer = [a for k, a in enumerate(axes) if k != over and a is not lanes]

    def along() -> None:
        with writer.sweep([total]), writer.loop(axes[over], False):
            if attribute(node, "exclusive"):
                # the result may lie in the operand's memory: read before writing
                writer.value(body)
                _write(writer, total, at, wide, kind)
                writer.accumulate(total, body)
            else:
                writer.accumulate(total, body)
                _write(writer, total, at, wide, kind)

    launch = _launched(writer, outer, lanes, along, [dtype, dtype], (source(0), result()))
    return _implemented(node, [launch], [(0, 0)])


def _write(writer: Writer, total: Expr, at: Affine, wide: DType, kind: DType) -> None:
    value = writer.converted(writer.running(total), wide.name, kind.name)
    writer.store(1, at, value, kind)


def _launched(
    writer: Writer,
    outer: Sequence[Axis],
    lanes: Axis | None,
    body: Callable[[], None],
    dtypes: Sequence[DType],
    operands: Sequence[object],
    barrier: bool = True,
) -> Launch:
    """A launch whose work items are the places of some axes and blocks of the vector axis."""
    items = [Range(writer.axis(a)) for a in outer]
    extent = dims.product([a.size for a in outer])
    if lanes is not None:
        items.append(Range(writer.axis(lanes), BLOCK))
        extent = extent * dims.ceildiv(lanes.size, BLOCK)
    with writer.scope(outer):
        if lanes is None:
            body()
        else:
            with writer.loop(lanes, True):
                body()
    program = writer.program([d.name for d in dtypes], [], items)
    return Launch(
        kernel=Kernel("loops", program.to_json()),
        operands=tuple(operands),  # type: ignore[arg-type]
        params=tuple(writer.params),
        extent=extent,
        picoseconds=writer.picoseconds,
        barrier=barrier,
    )


# Writes at indices


@implementation("ScatterElements", "ScatterND")
def scatter(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    """A copy of the data, then the updates in order; work items never share an element."""
    return _offered(_scatter_nd if node.op == "ScatterND" else _scatter_elements, node)


def copied(node: Node) -> Launch:
    """The data as it is; where it lies in the same memory as the result this changes nothing."""
    shape, dtype = node.output.shape, node.output.dtype
    axis = Axis(dims.product(shape))
    space, at = Space(), Affine.axis(axis)
    value = space.load(0, dtype, at)
    writer = Writer({}, {0: 0, 1: 1}, _lane_bytes(dtype), 4)

    def body() -> None:
        writer.store(1, at, writer.value(value), value.kind)

    return _launched(writer, [], axis, body, [dtype, dtype], (source(0), result()))


def _lane_bytes(dtype: DType) -> int:
    return min(max(compute_kind(dtype).bits // 8, 1), 4)


def checked(space: Space, value: Expr, size: Size) -> Affine:
    """An index that was read: negative ones count from the end, those outside are an error."""
    wide = space.cast(value, int64)
    end = space.apply("add", wide, space.index(Affine((), size)))
    place = space.apply("select", space.apply("lt", wide, space.const(0, int64)), end, wide)
    return Affine.of({space.check(place, size): 1})


def _combined(space: Space, node: Node, at: Affine, update: Expr) -> Expr:
    """What is written: the update, or its combination with what is there."""
    reduction = str(attribute(node, "reduction"))
    if reduction == "none":
        return update
    if node.output.dtype.is_float and node.output.dtype.bits < 32:
        raise Unsupported("sums in a type that would be rounded at each step")
    if reduction not in _REDUCTIONS:
        raise Unsupported(f"the reduction {reduction}")
    return space.apply(_REDUCTIONS[reduction], space.load(3, node.output.dtype, at), update)


def _scatter_nd(node: Node) -> Implementation:
    data, indices, updates = (_input(node, k) for k in range(3))
    dtype, count = node.output.dtype, indices.shape[-1]
    if dtype.bits < 8 or not isinstance(count, int):
        raise Unsupported("tuples of a length that only the run knows")
    space = Space()
    rows, inner = Axis(dims.product(indices.shape[:-1])), Axis(dims.product(data.shape[count:]))
    reads: Shape = (rows.size, count)
    lookup = address(reads, None)
    at = Affine()
    for k in range(count):
        read = space.load(1, indices.dtype, lookup((Affine.axis(rows), Affine((), k))))
        at = at * data.shape[k] + checked(space, read, data.shape[k])
    at = at * inner.size + Affine.axis(inner)
    update = space.load(2, dtype, Affine.axis(rows) * inner.size + Affine.axis(inner))
    value = _combined(space, node, at, update)
    lanes = None if inner.size == 1 else inner
    writer = Writer({}, {1: 0, 2: 1, 3: 2}, _lane_bytes(dtype) if lanes is not None else 0, 1)

    def body() -> None:
        with writer.loop(rows, False):
            writer.store(3, at, writer.value(value), value.kind)

    dtypes = [indices.dtype, updates.dtype, dtype]
    second = _launched(writer, [], lanes, body, dtypes, (source(1), source(2), result()))
    checks = unread_checks([rows, inner], space.checks, [dtype, *dtypes])
    return _implemented(node, [*checks, copied(node), second], [(0, 0)])


def _scatter_elements(node: Node) -> Implementation:
    data, indices, updates = (_input(node, k) for k in range(3))
    dtype, axis = node.output.dtype, int(attribute(node, "axis")) % max(data.rank, 1)
    if dtype.bits < 8 or data.rank == 0:
        raise Unsupported("an axis to write along")
    for k, (few, most) in enumerate(zip(indices.shape, data.shape, strict=True)):
        if k != axis and dims.less_equal(few, most) is not True:
            raise Unsupported("indices that may reach beyond the data")
    space = Space()
    axes = [Axis(size) for size in indices.shape]
    index = [Affine.axis(a) for a in axes]
    read = space.load(1, indices.dtype, address(indices.shape, None)(tuple(index)))
    place = [*index[:axis], checked(space, read, data.shape[axis]), *index[axis + 1 :]]
    at = address(data.shape, None)(tuple(place))
    update = space.load(2, dtype, address(updates.shape, None)(tuple(index)))
    value = _combined(space, node, at, update)
    lanes = None if axis == data.rank - 1 or axes[-1].size == 1 else axes[-1]
    writer = Writer({}, {1: 0, 2: 1, 3: 2}, _lane_bytes(dtype) if lanes is not None else 0, 1)
    outer = [a for k, a in enumerate(axes) if k != axis and a is not lanes]

    def body() -> None:
        with writer.loop(axes[axis], False):
            writer.store(3, at, writer.value(value), value.kind)

    dtypes = [indices.dtype, updates.dtype, dtype]
    second = _launched(writer, outer, lanes, body, dtypes, (source(1), source(2), result()))
    return _implemented(node, [copied(node), second], [(0, 0)])
