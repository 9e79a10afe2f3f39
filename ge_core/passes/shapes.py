"""Moving data less: slices, pads, concatenations, reshapes, transposes and broadcasts that can be left out.

Exact bit for bit, except that a product of rows may be summed in another order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ge_core.ir.builder import Builder
from ge_core.ir.dims import Size
from ge_core.ir.graph import Node as IrNode
from ge_core.ir.graph import Value, constant_of, source_of
from ge_core.ir.types import TensorType
from ge_core.ops.pointwise import POINTWISE
from ge_core.passes.matching import Any_, Constant, Either, Match, Node, NoMatch, attribute, ints_of, same_shape
from ge_core.passes.reshaping import expand, reshape
from ge_core.passes.rewrite import RewritePass, Rule, rebuilt, rule

X = Any_("x")
_FAR = 2**31 - 1
INT64_MAX = 2**63 - 1


@dataclass(frozen=True)
class Window:
    """What a Slice takes of one axis: `start` and `end` as given."""

    start: Size
    end: Size
    step: int


def windows(node: IrNode) -> dict[int, Window]:
    """The windows of a Slice by axis, starts and ends made non-negative where the axis' size is known.

    Raises:
        NoMatch: an operand is unknown.
    """
    x = node.inputs[0]
    assert x is not None
    shape = x.tensor.shape
    operands = [v.content if (v := node.input(i)) is not None else () for i in range(1, 5)]
    if shape is None or any(c is None for c in operands):
        raise NoMatch("the window is unknown", node)
    starts, ends, axes, steps = (tuple(c or ()) for c in operands)
    axes = axes or tuple(range(len(starts)))
    steps = steps or (1,) * len(starts)
    found: dict[int, Window] = {}
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if not isinstance(axis, int) or not isinstance(step, int):
            raise NoMatch("an axis or step is no number", node)
        axis %= len(shape)
        size = shape[axis]
        if step > 0:
            start, end = _from_front(start, size), _from_front(end, size)
        found[axis] = Window(start, end, step)
    return found


def _from_front(position: Size, size: Size) -> Size:
    """A Slice position counted from the front and clamped, as far as the numbers are known."""
    if isinstance(position, int):
        if position >= _FAR:
            return size
        if isinstance(size, int):
            return min(max(position + size, 0), size) if position < 0 else min(position, size)
    return position


@rule(Node("Slice", X, rest=True))
def slice_form(m: Match, b: Builder) -> Value:
    """A Slice that takes everything is left out; else only the axes that it cuts are named."""
    node, x = m.root, m["x"]
    shape = m.shape(x)
    found = windows(node)
    cut = {a: w for a, w in found.items() if not (w.start == 0 and w.end == shape[a] and w.step == 1)}
    if not cut:
        return x
    axes = sorted(cut)
    parts = [cut[a] for a in axes]
    wanted: list[tuple[Size, ...] | None] = [
        tuple(w.start for w in parts),
        tuple(w.end for w in parts),
        tuple(axes),
        tuple(w.step for w in parts) if any(w.step != 1 for w in parts) else None,
    ]
    have = [None if (v := node.input(i)) is None else v.content for i in range(1, 5)]
    m.require(have != wanted, "the Slice has this form")
    m.require(all(m.expressible(w) for w in wanted if w is not None), "a position depends on data")
    operands = [None if w is None else b.ints(w) for w in wanted]
    while operands and operands[-1] is None:
        operands.pop()
    result: Value = b.Slice(x, *operands)
    return result


@rule(Node("Expand", Node("Expand", X), Any_()))
def expand_twice(m: Match, b: Builder) -> Value:
    return expand(b, m["x"], m.shape(m.root.output))


@rule(Node("Reshape", Node("Reshape", X, rest=True), Any_()))
def reshape_twice(m: Match, b: Builder) -> Value:
    return reshape(b, m["x"], m.shape(m.root.output))


# PRelu broadcasts only its slope, Clip only numbers, SwiGLU nothing.
_POINTWISE = "|".join(sorted(set(POINTWISE) - {"Identity", "PRelu", "Clip", "SwiGLU"}))


@rule(Node(_POINTWISE, rest=True))
def broadcast_later(m: Match, b: Builder) -> Value:
    """op(Expand(x), y) = op(x, y) where y brings the shape."""
    node = m.root
    out = node.output.type
    m.require(len(node.inputs) > 1, "a single operand brings the shape itself")
    m.require(isinstance(out, TensorType) and out.shape is not None, "the rank is unknown")
    assert isinstance(out, TensorType) and out.shape is not None
    operands = list(node.inputs)
    changed = False
    for i, v in enumerate(operands):
        producer = None if v is None else v.producer
        if producer is None or producer.op != "Expand":
            continue
        trial = [*operands[:i], producer.inputs[0], *operands[i + 1 :]]
        if _broadcast_is([t.shape for t in _types(trial)], out.shape):
            operands, changed = trial, True
    m.require(changed, "no operand is broadcast by itself")
    result: Value = rebuilt(b, node, operands)
    return result


def _types(values: Sequence[Value | None]) -> list[TensorType]:
    return [v.type for v in values if v is not None and isinstance(v.type, TensorType)]


def _broadcast_is(shapes: Sequence[Sequence[Size] | None], result: Sequence[Size]) -> bool:
    """Whether shapes surely broadcast to `result`: each size is 1 or the result's, and one brings each of them."""
    for axis in range(1, len(result) + 1):
        found = False
        for shape in shapes:
            if shape is None:
                return False
            size = shape[-axis] if axis <= len(shape) else 1
            if size == result[-axis]:
                found = True
            elif size != 1:
                return False
        if not found:
            return False
    return True


@rule(Node("Pad", X, Any_("pads"), rest=True))
def pad_nothing(m: Match, b: Builder) -> Value:
    pads = m["pads"].content
    m.require(pads is not None and all(p == 0 for p in pads), "something is padded")
    return m["x"]


@rule(Node("Concat", X))
def concat_one(m: Match, b: Builder) -> Value:
    return m["x"]


@rule(Node("Concat", rest=True))
def concat_parts(m: Match, b: Builder) -> Value:
    """Leaves out empty parts, and takes the parts of an inner Concat along the same axis directly."""
    node = m.root
    axis = attribute(node, "axis") % node.output.rank
    parts: list[Value] = []
    for v in node.inputs:
        assert v is not None
        inner = v.producer
        if v.tensor.shape is not None and v.shape[axis] == 0 and len(node.inputs) > 1:
            continue
        if (
            inner is not None
            and inner.op == "Concat"
            and v.use_count == 1
            and attribute(inner, "axis") % v.rank == axis
        ):
            parts.extend(p for p in inner.inputs if p is not None)
        else:
            parts.append(v)
    m.require(parts and parts != list(node.inputs), "no part is empty or a Concat along this axis")
    result: Value = rebuilt(b, node, parts)
    return result


@rule(Node("Concat", rest=True))
def concat_of_split(m: Match, b: Builder) -> Value:
    """All outputs of one Split in order are its input."""
    node = m.root
    first = node.inputs[0]
    split = None if first is None else first.producer
    m.require(split is not None and split.op == "Split", "the parts come from no Split")
    assert split is not None and split.inputs[0] is not None
    whole = split.inputs[0]
    m.require(list(node.inputs) == split.outputs, "the parts are not all of the Split in order")
    rank = node.output.rank
    m.require(attribute(node, "axis") % rank == attribute(split, "axis") % rank, "another axis")
    m.require(same_shape(whole, node.output), "the sizes differ")
    return whole


@rule(Node("Concat", rest=True))
def concat_of_slices(m: Match, b: Builder) -> Value:
    """Slices of one value, one after another without a gap, are a larger Slice or the value itself."""
    node = m.root
    axis = attribute(node, "axis") % node.output.rank
    whole: Value | None = None
    position: Size = 0
    for v in node.inputs:
        part = None if v is None else v.producer
        m.require(part is not None and part.op == "Slice", "a part is no Slice")
        assert part is not None and part.inputs[0] is not None
        source = part.inputs[0]
        m.require(whole is None or source_of(source) is source_of(whole), "the parts come from two values")
        whole = source
        cut = windows(part)
        m.require(set(cut) == {axis} and cut[axis].step == 1, "a part cuts another axis, or in steps")
        m.require(cut[axis].start == position, "there is a gap between two parts")
        position = cut[axis].end
    assert whole is not None
    m.require(position == whole.shape[axis] and same_shape(whole, node.output), "the parts do not cover it")
    return whole


@rule(Node("Split", X, rest=True))
def split_into_one(m: Match, b: Builder) -> list[Value]:
    m.require(len(m.root.outputs) == 1 and same_shape(m["x"], m.root.outputs[0]), "several parts")
    return [m["x"]]


@rule(Node("Gather", X, Constant("indices")))
def gather_all(m: Match, b: Builder) -> Value:
    """All indices in order."""
    x, constant = m["x"], constant_of(m["indices"])
    assert constant is not None
    size = x.shape[attribute(m.root, "axis") % x.rank]
    m.require(isinstance(size, int) and constant.type.shape == (size,), "another number of indices")
    indices = constant.known()
    m.require(indices is not None and bool(np.array_equal(indices, np.arange(size))), "another order")
    return x


@rule(Node("Reshape", Node("ReduceSum|ReduceMean|ReduceMax|ReduceMin|ReduceProd|ReduceL1|ReduceL2|ReduceSumSquare|"
                           "ReduceLogSum|ReduceLogSumExp|ArgMax|ArgMin", X, rest=True, name="reduce", keepdims=0),
           Any_()), single_use=True)  # fmt: skip
def keep_reduced(m: Match, b: Builder) -> Value:
    """A reduction whose axes are put back at once keeps them."""
    inner = m.node("reduce")
    kept: Value = rebuilt(b, inner, keepdims=1)
    m.require(same_shape(kept, m.root.output), "the axes are put back elsewhere")
    return kept


def _selected(m: Match) -> tuple[int, int]:
    """(axis, index) of a Gather that takes one position, counted from the front."""
    index, x = ints_of(m["index"]), m.root.inputs[0]
    assert x is not None
    m.require(m["index"].rank == 0 and index is not None, "not one known position")
    assert index is not None
    axis = attribute(m.root, "axis") % x.rank
    size = x.shape[axis]
    m.require(isinstance(size, int) and -size <= index[0] < size, "the axis has no fixed size")
    assert isinstance(size, int)
    return axis, index[0] % size


@rule(Node("Gather", Node("Transpose", X, name="t"), Any_("index")))
def select_before_transpose(m: Match, b: Builder) -> Value:
    """One position of a transposed value is a transposed position, or one as it is."""
    axis, index = _selected(m)
    perm = m.node("t").attrs.get("perm")
    m.require(isinstance(perm, tuple), "the permutation is not written out")
    assert isinstance(perm, tuple)
    source = [p for p in perm if isinstance(p, int)]
    gone = source.pop(axis)
    part: Value = b.Gather(m["x"], b.constant(np.int64(index)), axis=gone)
    rest = [p - (p > gone) for p in source]
    if rest == sorted(rest):
        return part
    result: Value = b.Transpose(part, perm=rest)
    return result


@rule(Node("Gather", Node("Reshape", X, Any_(), name="unflatten"), Any_("index")))
def select_of_unflattened(m: Match, b: Builder) -> Value:
    """One of n parts into which an axis was cut is a Slice of that axis (packed queries, keys and values)."""
    axis, index = _selected(m)
    whole, cut = m.shape(m["x"]), m.shape(m.node("unflatten").output)
    m.require(len(cut) == len(whole) + 1 and axis + 1 < len(cut), "the axis was not cut in two")
    width = cut[axis + 1]
    m.require(
        cut[:axis] + cut[axis + 2 :] == whole[:axis] + whole[axis + 1 :] and cut[axis] * width == whole[axis],
        "the axis was not cut in two",
    )
    ends = (b.ints(index * width), b.ints((index + 1) * width), b.constant(np.array([axis], np.int64)))
    result: Value = b.Slice(m["x"], *ends)
    return result


_ROWS = Node("MatMul", Node("Reshape", X, Any_(), name="rows"), Any_("w"))


@rule(Node("Reshape", Either(Node("Add", _ROWS, Any_("bias")), _ROWS), Any_()), single_use=True, shared=["rows"])
def product_of_rows(m: Match, b: Builder) -> Value:
    """A product of flattened rows that are unflattened after it needs no flattening."""
    x, w, out = m["x"], m["w"], m.root.output
    m.require(w.rank == 2 and x.rank > 2, "no product of rows")
    m.require(out.shape == (*x.shape[:-1], w.shape[1]) and x.shape[-1] == w.shape[0], "the rows are cut otherwise")
    y: Value = b.MatMul(x, w)
    if "bias" in m:
        m.require(m["bias"].rank == 1, "the bias is no vector")
        y = b.Add(y, m["bias"])
    return y


@dataclass(frozen=True)
class Shapes(RewritePass):
    """Enters regions."""

    @property
    def rules(self) -> Sequence[Rule]:
        return (
            slice_form, expand_twice, reshape_twice, broadcast_later, pad_nothing, concat_one, concat_parts,
            concat_of_split, concat_of_slices, split_into_one, gather_all, select_before_transpose,
            select_of_unflattened, keep_reduced, product_of_rows,
        )  # fmt: skip
