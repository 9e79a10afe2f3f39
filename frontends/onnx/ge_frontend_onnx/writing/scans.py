"""Operators that ONNX has no word for, step by step: as a Scan, or by the places that they gather."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ge_core.ir.builder import Builder
from ge_core.ir.dtype import DType, int64
from ge_core.ir.graph import Node, Value
from ge_core.ops.decompositions.precision import cast, operand

from .cases import by_cases
from .lowerings import lowers
from .sizes import Sizes

_DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}


@lowers("ge.LSTM")
def lstm(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """ONNX's LSTM; with a projection, which it lacks, a Scan for each direction."""
    if node.input(7) is None:
        attrs: dict[str, Any] = dict(node.attrs)
        made = b.op("LSTM", *node.inputs[:7], num_outputs=len(node.outputs), **attrs)
        return [made] if isinstance(made, Value) else list(made)
    directions = _DIRECTIONS[str(node.attrs.get("direction", "forward"))]
    first = bool(node.attrs.get("layout", 0))
    parts = [_projected(b, node, sizes, d, backwards, first) for d, backwards in enumerate(directions)]
    ys, hs, cs = zip(*parts, strict=True)
    results: list[Value] = [b.Concat(list(ys), axis=1), b.Concat(list(hs), axis=0), b.Concat(list(cs), axis=0)]
    if first:
        results = [b.Transpose(y, perm=[2, 0, 1, 3] if i == 0 else [1, 0, 2]) for i, y in enumerate(results)]
    return results[: len(node.outputs)]


def _projected(
    b: Builder, node: Node, sizes: Sizes, direction: int, backwards: bool, batch_first: bool
) -> tuple[Value, Value, Value]:
    """One direction: all outputs `[steps, 1, batch, projected]`, the last one and the last cell `[1, batch, size]`.

    Rows that are shorter keep their state behind their end, where the output is 0; backwards they are turned first.
    """

    def of(index: int) -> Value:
        value = operand(node.inputs, index)
        if batch_first and index in (5, 6):
            value = b.Transpose(value, perm=[1, 0, 2])
        part: Value = b.Gather(value, np.int64(direction), axis=0)
        return part

    x, size = operand(node.inputs, 0), int(node.attrs["hidden_size"])  # type: ignore[arg-type]
    if batch_first:
        x = b.Transpose(x, perm=[1, 0, 2])
    lengths = node.input(4)
    long = None if lengths is None else b.Cast(lengths, to="int64")
    if long is not None and backwards:
        x = b.ReverseSequence(x, long, time_axis=0, batch_axis=1)
    given = b.MatMul(x, b.Transpose(of(1), perm=[1, 0]))
    if node.input(3) is not None:
        both = of(3)
        for half in (0, 1):
            given = b.Add(given, b.Slice(both, b.ints(half * 4 * size), b.ints((half + 1) * 4 * size), b.ints(0)))
    recurrent, projection = b.Transpose(of(2), perm=[1, 0]), b.Transpose(of(7), perm=[1, 0])
    widths = (recurrent.shape[0], size)
    states = [
        of(index) if node.input(index) is not None
        else b.Expand(b.constant(0.0, x.dtype), b.Concat([sizes.vector(b, x.shape[1]), b.ints(width)], axis=0))
        for index, width in zip((5, 6), widths, strict=True)
    ]  # fmt: skip

    def body(r: Builder, h: Value, c: Value, step: Value, part: Value) -> list[Value]:
        gates = r.Add(part, r.MatMul(h, recurrent))
        i, o, f, g = (r.Slice(gates, r.ints(k * size), r.ints((k + 1) * size), r.ints(1)) for k in range(4))
        cell = r.Add(r.Mul(r.Sigmoid(f), c), r.Mul(r.Sigmoid(i), r.Tanh(g)))
        out = r.MatMul(r.Mul(r.Sigmoid(o), r.Tanh(cell)), projection)
        seen = r.Identity(out)
        if long is not None:
            inside = r.Unsqueeze(r.Less(step, long), r.ints(1))
            seen = r.Where(inside, out, r.constant(0.0, out.dtype))
            out, cell = r.Where(inside, out, h), r.Where(inside, cell, c)
        return [out, cell, r.Add(step, np.int64(1)), seen]

    back = [1] if backwards and long is None else [0]
    h, c, _, y = b.Scan(
        [*states, b.constant(np.int64(0)), given], num_scan_inputs=1, scan_input_directions=back,
        scan_output_directions=back, body=body,
    )  # fmt: skip
    if long is not None and backwards:
        y = b.ReverseSequence(y, long, time_axis=0, batch_axis=1)
    return b.Unsqueeze(y, b.ints(1)), b.Unsqueeze(h, b.ints(0)), b.Unsqueeze(c, b.ints(0))


@lowers("ge.CumMax", "ge.CumMin")
def cumulative_extreme(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """A Scan that carries the extreme so far and its place; the first NaN stays, and is hit anew by every NaN."""
    x = node.input(0)
    assert x is not None
    if x.rank == 0:
        return [b.Identity(x), b.constant(np.int64(0))][: len(node.outputs)]
    axis = int(node.attrs["axis"]) % x.rank  # type: ignore[arg-type]
    place = b.Expand(b.constant(np.int64(0)), _without(b, x, axis, sizes))
    first = b.Gather(x, np.int64(0), axis=axis)
    largest = node.op == "ge.CumMax"

    def body(r: Builder, best: Value, at: Value, step: Value, element: Value) -> list[Value]:
        further = r.Less(element, best) if largest else r.Less(best, element)
        hit = r.Not(further)
        if element.dtype.is_float:
            hit = r.And(hit, r.Or(r.IsNaN(element), r.Not(r.IsNaN(best))))
        value, index = r.Where(hit, element, best), r.Where(hit, step, at)
        return [value, index, r.Add(step, np.int64(1)), r.Identity(value), r.Identity(index)]

    *_, values, places = b.Scan(
        [first, place, b.constant(np.int64(0)), x], num_scan_inputs=1, scan_input_axes=[axis],
        scan_output_axes=[axis, axis], body=body,
    )  # fmt: skip
    return [values, places][: len(node.outputs)]


@lowers("ge.RepeatInterleave")
def repeat_interleave(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """Each place of the result takes the slice whose repeats end behind it."""
    x, repeats = node.input(0), node.input(1)
    assert x is not None and repeats is not None
    axis = int(node.attrs["axis"])  # type: ignore[arg-type]
    counts = b.Reshape(repeats if repeats.dtype == int64 else b.Cast(repeats, to="int64"), b.ints(-1))
    counts = b.Expand(counts, sizes.vector(b, x.shape[axis]))
    ends = b.CumSum(counts, np.int64(0))
    places = b.Range(np.int64(0), b.ReduceSum(counts, keepdims=0), np.int64(1))
    before = b.Not(b.Less(b.Unsqueeze(places, b.ints(1)), b.Unsqueeze(ends, b.ints(0))))
    return [b.Gather(x, b.ReduceSum(b.Cast(before, to="int64"), b.ints(1), keepdims=0), axis=axis)]


@lowers("ge.MaskedScatter")
def masked_scatter(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """Where the mask holds, the element of the source that is its turn."""
    x, mask, source = node.inputs
    assert x is not None and mask is not None and source is not None
    shape = b.Concat([sizes.vector(b, n) for n in x.shape], axis=0) if x.rank else b.constant(np.zeros(0, np.int64))
    flat = b.Reshape(b.Expand(mask, shape), b.ints(-1))
    turn = b.Sub(b.CumSum(b.Cast(flat, to="int64"), np.int64(0)), np.int64(1))
    # places in front of the first turn read element 0, which is not used; one is put in, since there may be none
    elements = b.Concat([b.Reshape(source, b.ints(-1)), b.constant(np.zeros(1), x.dtype)], axis=0)
    taken = b.Gather(elements, b.Max(turn, np.int64(0)), axis=0)
    made = b.Where(flat, taken, b.Reshape(x, b.ints(-1)))
    return [b.Reshape(made, shape)]


@lowers("ge.LogCumSumExp")
def log_cumulative_sum_exp(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """A Scan that carries the logarithm of the sum so far, in float64."""
    x = operand(node.inputs, 0)
    if x.rank == 0:
        return [b.Identity(x)]
    axis, wide = int(node.attrs["axis"]) % x.rank, DType.of("float64")  # type: ignore[arg-type]
    start = b.Expand(b.constant(-np.inf, wide), _without(b, x, axis, sizes))

    def body(r: Builder, total: Value, element: Value) -> list[Value]:
        total = r.ge.LogAddExp(total, element)
        return [total, r.Identity(total)]

    _, y = b.Scan(
        [start, cast(b, x, wide)], num_scan_inputs=1, scan_input_axes=[axis], scan_output_axes=[axis], body=body
    )
    return [cast(b, y, x.dtype)]


@lowers("CumProd")
def cumulative_product(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """A Scan along the axis; of float32 in float64."""
    x = operand(node.inputs, 0)
    return [
        by_cases(
            b, operand(node.inputs, 1), x.rank, f"the axis of {node.op}",
            lambda r, axis: _running_product(r, node, x, axis, sizes),
        )
    ]  # fmt: skip


def _running_product(b: Builder, node: Node, x: Value, axis: int, sizes: Sizes) -> Value:
    wide = DType.of("float64") if x.dtype.is_float else x.dtype
    start = b.Expand(b.constant(1, wide), _without(b, x, axis, sizes))
    exclusive, back = node.attrs.get("exclusive", 0), [int(bool(node.attrs.get("reverse", 0)))]

    def body(r: Builder, total: Value, element: Value) -> list[Value]:
        after = r.Mul(total, element)
        return [after, r.Identity(total if exclusive else after)]

    _, y = b.Scan(
        [start, cast(b, x, wide)], num_scan_inputs=1, scan_input_axes=[axis], scan_output_axes=[axis],
        scan_input_directions=back, scan_output_directions=back, body=body,
    )  # fmt: skip
    return cast(b, y, x.dtype)


def _without(b: Builder, x: Value, axis: int, sizes: Sizes) -> Value:
    """The shape of x without an axis."""
    rest = [sizes.vector(b, n) for i, n in enumerate(x.shape) if i != axis]
    made: Value = b.Concat(rest, axis=0) if rest else b.constant(np.zeros(0, np.int64))
    return made
