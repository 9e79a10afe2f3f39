"""Reductions over any dims, and the places of extremes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ge_backend_cpu.loops.expr import Expr, compute_kind
from ge_backend_cpu.loops.index import Affine, Unsupported
from ge_backend_cpu.loops.reading import attribute, integers, required
from ge_backend_cpu.loops.registry import Operands, rule
from ge_backend_cpu.loops.tensor import Tensor, Tracer
from ge_core.ir import dims
from ge_core.ir.dtype import DType, boolean, float64, int64
from ge_core.ir.graph import Node

Function = Callable[[Tracer, Tensor, Sequence[int]], Tensor]


def mapped(t: Tracer, x: Tensor, function: Callable[[Expr], Expr], dtype: DType | None = None) -> Tensor:
    """A function of one value applied to each element."""
    return t.pointwise(dtype or x.dtype, x.shape, [x], function)


def named(t: Tracer, name: str, *x: Tensor) -> Tensor:
    """A primitive of tensors that broadcast to the first one's shape."""
    return t.pointwise(x[0].dtype, x[0].shape, x, lambda *values: t.space.apply(name, *values))


def real(t: Tracer, x: Tensor) -> Tensor:
    """Integers and bools as float64, for what leaves the integers."""
    return x if x.dtype.is_float else t.converted(x, float64)


def mean(t: Tracer, x: Tensor, over: Sequence[int]) -> Tensor:
    """The mean over dims, which stay with size 1; of integers in float64."""
    total = t.reduce("sum", real(t, x), over)
    count = t.space.index(Affine((), dims.product([x.shape[k] for k in over])), compute_kind(total.dtype))
    return mapped(t, total, lambda v: t.space.apply("div", v, count))


def _log_sum_exp(t: Tracer, x: Tensor, over: Sequence[int]) -> Tensor:
    """log(sum(exp(x - m))) + m with m the maximum, or 0 where that is infinite."""
    x, space = real(t, x), t.space
    kind = compute_kind(x.dtype)

    def finite(v: Expr) -> Expr:
        bad = space.apply("or", space.apply("isinf", v), space.apply("isnan", v))
        return space.apply("select", bad, space.const(0, kind), v)

    shift = mapped(t, t.reduce("max", x, over), finite)
    shifted = t.pointwise(x.dtype, x.shape, [x, shift], lambda v, m: space.apply("exp", space.apply("sub", v, m)))
    total = t.reduce("sum", shifted, over)
    return named(t, "add", named(t, "log", total), shift)


def _square(t: Tracer, x: Tensor) -> Tensor:
    return mapped(t, x, lambda v: t.space.apply("mul", v, v))


_REDUCTIONS: dict[str, Function] = {
    "ReduceSum": lambda t, x, over: t.reduce("sum", x, over),
    "ReduceMean": mean,
    "ReduceProd": lambda t, x, over: t.reduce("prod", x, over),
    "ReduceMax": lambda t, x, over: t.reduce("max", x, over),
    "ReduceMin": lambda t, x, over: t.reduce("min", x, over),
    "ReduceL1": lambda t, x, over: t.reduce("sum", mapped(t, x, lambda v: t.space.apply("abs", v)), over),
    "ReduceL2": lambda t, x, over: named(t, "sqrt", t.reduce("sum", _square(t, real(t, x)), over)),
    "ReduceSumSquare": lambda t, x, over: t.reduce("sum", _square(t, x), over),
    "ReduceLogSum": lambda t, x, over: named(t, "log", t.reduce("sum", real(t, x), over)),
    "ReduceLogSumExp": _log_sum_exp,
}


@rule(*_REDUCTIONS)
def reduce(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    """Over the dims in the second operand; over all without one."""
    data = required(x[0])
    over = reduced_dims(node, data.rank)
    if data.dtype == boolean and node.op not in ("ReduceMax", "ReduceMin"):
        raise Unsupported("sums of bools")
    result = converted(t, _REDUCTIONS[node.op](t, data, over), node.output.dtype)
    return [result if attribute(node, "keepdims") else t.squeeze(result, over)]


@rule("GlobalAveragePool", "GlobalMaxPool")
def global_pool(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    """Over all dims but the first two."""
    data = required(x[0])
    if not data.dtype.is_float and node.op == "GlobalAveragePool":
        raise Unsupported("means of integers")
    over = tuple(range(2, data.rank))
    found = mean(t, data, over) if node.op == "GlobalAveragePool" else t.reduce("max", data, over)
    return [converted(t, found, node.output.dtype)]


def reduced_dims(node: Node, rank: int) -> tuple[int, ...]:
    """The dims that a Reduce operator goes over."""
    given = integers(node.input(1)) if node.input(1) is not None else ()
    if not given and not attribute(node, "noop_with_empty_axes"):
        return tuple(range(rank))
    if rank == 0:
        return ()
    return tuple(sorted({a % rank for a in given}))


def converted(t: Tracer, x: Tensor, dtype: DType) -> Tensor:
    """A result in the node's element type; small floats are rounded when they are stored."""
    if compute_kind(x.dtype) == compute_kind(dtype) and (x.dtype.is_float or x.dtype == dtype):
        return Tensor(dtype, x.shape, x.element, x.flat)
    return t.converted(x, dtype)


@rule("ArgMax", "ArgMin")
def arg(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    """The place of the first (or last) extreme along an axis; NaN is the extreme of all."""
    data = required(x[0])
    if data.rank == 0:
        return [t.full(0, node.output.dtype, node.output.shape)]
    axis = int(attribute(node, "axis")) % data.rank
    if dims.bounds(data.shape[axis])[0] == 0:
        raise Unsupported("an axis that may be empty")
    op = "max" if node.op == "ArgMax" else "min"
    found = t.arg(op, data, axis, bool(attribute(node, "select_last_index")), node.output.dtype)
    return [found if attribute(node, "keepdims") else t.squeeze(found, (axis,))]


@rule("Hardmax")
def hardmax(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    """1 at the first maximum along an axis, 0 elsewhere."""
    data = required(x[0])
    axis = int(attribute(node, "axis")) % data.rank
    place = t.arg("max", data, axis, False, int64)
    here = t.coordinate(data.shape, axis, int64)

    def combine(i: Expr, best: Expr) -> Expr:
        return t.space.cast(t.space.apply("eq", i, best), compute_kind(data.dtype))

    return [t.pointwise(data.dtype, data.shape, [here, place], combine)]
