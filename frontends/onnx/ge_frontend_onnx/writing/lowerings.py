"""What an opset cannot say, in terms of what it can: rules besides the operators' own decompositions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ge_core.ir.builder import Builder
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Node, Value
from ge_core.ir.types import OptionalType
from ge_core.ops.expression import Apply, Arg, Expr, Number, expression_of
from ge_core.ops.pointwise import POINTWISE

from . import special_functions
from .forms import InexpressibleError
from .sizes import Sizes

Lowering = Callable[[Builder, Node, Sizes], Sequence[Value]]
LOWERINGS: dict[str, Lowering] = {}


def lowers(*ops: str) -> Callable[[Lowering], Lowering]:
    """Register the rule for operators."""

    def register(function: Lowering) -> Lowering:
        for op in ops:
            LOWERINGS[op] = function
        return function

    return register


def _input(node: Node, index: int) -> Value:
    value = node.input(index)
    assert value is not None
    return value


def _ints(node: Node, name: str) -> list[int]:
    found = node.attrs[name]
    assert isinstance(found, tuple)
    if not all(isinstance(x, int) for x in found):
        raise InexpressibleError(f"{node.op} with sizes that are not known")
    return [int(x) for x in found]  # type: ignore[arg-type]


@lowers("ge.Dims")
def dims_(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """Each expression by itself, put together."""
    exprs: Any = node.attrs["exprs"]
    parts = [sizes.vector(b, e) for e in exprs]
    if node.attrs.get("scalar"):
        return [b.Reshape(parts[0], b.constant(np.zeros(0, np.int64)))]
    return [parts[0] if len(parts) == 1 else b.Concat(parts, axis=0)]


@lowers("ge.BindDim")
def bind_dim(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """The scalar itself."""
    return [b.Reshape(b.Cast(_input(node, 0), to="int64"), b.constant(np.zeros(0, np.int64)))]


@lowers("Shape")
def shape(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """Below 15 the whole shape, and a part of it."""
    start, end = node.attrs.get("start", 0), node.attrs.get("end", np.iinfo(np.int64).max)
    return [b.Slice(b.Shape(_input(node, 0)), b.ints(int(start)), b.ints(int(end)), b.ints(0))]  # type: ignore[arg-type]


@lowers("Softmax", "LogSoftmax", "Hardmax")
def along_the_last_axis(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """Below 13 along the last axis alone."""
    x = _input(node, 0)
    axis = int(node.attrs.get("axis", -1)) % x.rank  # type: ignore[arg-type]
    order = list(range(x.rank))
    order[axis], order[-1] = order[-1], order[axis]
    return [b.Transpose(b.op(node.op, b.Transpose(x, perm=order), axis=-1), perm=order)]


@lowers("Split")
def split_by_sizes(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """Parts of different sizes as slices."""
    x, axis = _input(node, 0), int(node.attrs.get("axis", 0))  # type: ignore[arg-type]
    made, start, given = [], b.ints(0), node.input(1)
    for i, part in enumerate(node.outputs):
        if given is None:
            length = sizes.vector(b, part.shape[axis])
        else:
            length = b.Slice(given, b.ints(i), b.ints(i + 1), b.ints(0))
        end = b.Add(start, length)
        made.append(b.Slice(x, start, end, b.ints(axis)))
        start = end
    return made


@lowers("Max", "Min")
def by_comparison(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """Below 12 of integers by comparisons."""
    values = [v for v in node.inputs if v is not None]
    result = values[0]
    if result.dtype.is_float:
        raise InexpressibleError(f"{node.op} of {result.dtype}")
    for other in values[1:]:
        first = b.Less(other, result) if node.op == "Max" else b.Less(result, other)
        result = b.Where(first, result, other)
    return [result]


@lowers("Pow")
def power(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """Below 12 of one floating-point type; whole powers of integers by squaring."""
    x, y = _input(node, 0), _input(node, 1)
    if x.dtype.is_float:
        return [b.Pow(x, b.Cast(y, to=x.dtype))]
    if y.dtype.is_float:
        wide = DType.of("float64")
        return [b.Cast(b.Pow(b.Cast(x, to=wide), b.Cast(y, to=wide)), to=x.dtype)]
    start, left = b.Cast(x, to="int64"), b.Cast(y, to="int64")
    one = b.Add(b.Mul(b.Mul(start, left), np.int64(0)), np.int64(1))

    def body(r: Builder, i: Value, go: Value, base: Value, left: Value, total: Value) -> list[Value]:
        odd = r.Mod(left, np.int64(2))
        return [
            go, r.Mul(base, base), r.Div(r.Sub(left, odd), np.int64(2)),
            r.Where(r.Equal(odd, np.int64(1)), r.Mul(total, base), total),
        ]  # fmt: skip

    *_, total = b.Loop(b.constant(np.int64(63)), None, [start, left, one], body=body)
    # over 1 the quotient of 1 rounds to 0; of 1 and -1 the sign of a power follows from whether it is odd
    unit = b.Equal(b.Abs(start), np.int64(1))
    odd = b.Equal(b.Mod(left, np.int64(2)), np.int64(1))
    below = b.Where(unit, b.Where(odd, start, one), np.int64(0))
    return [b.Cast(b.Where(b.Less(left, np.int64(0)), below, total), to=x.dtype)]


@lowers("OptionalGetElement", "OptionalHasElement")
def optional(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """Of what is no optional, below 18: itself, and that it is there."""
    x = node.input(0)
    if x is not None and isinstance(x.type, OptionalType):
        raise InexpressibleError("optionals are not sayable in this opset")
    if node.op == "OptionalHasElement":
        return [b.constant(np.array(x is not None))]
    return [b.Identity(x)]


@lowers("MaxPool")
def max_pool(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """Below 12 of bytes in float32, which holds them all."""
    x = _input(node, 0)
    attrs: dict[str, Any] = dict(node.attrs)
    made = b.op("MaxPool", b.Cast(x, to="float32"), num_outputs=len(node.outputs), **attrs)
    results = [made] if isinstance(made, Value) else list(made)
    return [b.Cast(results[0], to=x.dtype), *results[1:]]


@lowers("LSTM", "GRU", "RNN")
def batch_first(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """Below 14 the batch stands second."""
    attrs: dict[str, Any] = {k: v for k, v in node.attrs.items() if k != "layout"}
    moved = {0: [1, 0, 2], 5: [1, 0, 2], 6: [1, 0, 2]}
    inputs = [b.Transpose(v, perm=moved[i]) if v is not None and i in moved else v for i, v in enumerate(node.inputs)]
    made = b.op(node.op, *inputs, num_outputs=len(node.outputs), **attrs)
    results = [made] if isinstance(made, Value) else list(made)
    return [b.Transpose(y, perm=[2, 0, 1, 3] if i == 0 else [1, 0, 2]) for i, y in enumerate(results)]


@lowers("GatherND")
def gather_in_batches(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """Below 12 the places within the batch stand in front of the indices."""
    x, indices, count = _input(node, 0), _input(node, 1), int(node.attrs.get("batch_dims", 0))  # type: ignore[arg-type]
    rank = indices.rank
    shape = b.Concat([b.Shape(indices, start=0, end=rank - 1), b.ints(1)], axis=0)
    places = []
    for axis in range(count):
        size = b.Reshape(b.Shape(indices, start=axis, end=axis + 1), b.constant(np.zeros(0, np.int64)))
        line = b.Range(np.int64(0), size, np.int64(1))
        places.append(b.Expand(b.Unsqueeze(line, b.ints([i for i in range(rank) if i != axis])), shape))
    return [b.GatherND(x, b.Concat([*places, indices], axis=-1))]


@lowers("Mod")
def remainder(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """Below 28 of floats by the remainder that has the dividend's sign."""
    return pointwise(b, node, sizes)


_HOLDS = {"bool": "uint8", "uint16": "int32", "int16": "int32", "uint64": "int64"}


@lowers("Where")
def where(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """Of types that ONNX Runtime does not choose from by way of one that holds the same bits."""
    mask, x, y = (_input(node, i) for i in range(3))
    if x.dtype.name not in _HOLDS:
        raise InexpressibleError(f"Where of {x.dtype}")
    wide = _HOLDS[x.dtype.name]
    return [b.Cast(b.Where(mask, b.Cast(x, to=wide), b.Cast(y, to=wide)), to=x.dtype)]


@lowers("Trilu")
def trilu(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """Below 14 by comparing rows with columns."""
    x, k = _input(node, 0), node.input(1)
    rows, columns = (
        b.Range(np.int64(0), b.Reshape(sizes.vector(b, x.shape[axis]), b.constant(np.zeros(0, np.int64))), np.int64(1))
        for axis in (-2, -1)
    )
    distance = b.Sub(b.Unsqueeze(columns, b.ints(0)), b.Unsqueeze(rows, b.ints(1)))
    offset = b.constant(np.int64(0)) if k is None else k
    upper = node.attrs.get("upper", 1)
    outside = b.Less(distance, offset) if upper else b.Greater(distance, offset)
    return [b.Where(outside, b.constant(0, x.dtype), x)]


@lowers("Pad")
def pad_all_axes(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """Below 18 with pads for every axis; below 19 what is wrapped around is gathered."""
    x, pads, axes = _input(node, 0), _input(node, 1), node.input(3)
    if axes is None:
        return [_wrapped(b, x, pads)]
    attrs = {"mode": node.attrs["mode"]} if "mode" in node.attrs else {}
    if axes.content is None:
        named = b.Mod(b.Cast(axes, to="int64"), np.int64(x.rank))
        same = b.Equal(b.Unsqueeze(b.constant(np.arange(x.rank)), b.ints(1)), b.Unsqueeze(named, b.ints(0)))
        sides = b.Unsqueeze(b.Reshape(pads, b.ints(2, -1)), b.ints(1))
        chosen = b.ReduceSum(b.Mul(sides, b.Cast(same, to="int64")), b.ints(2), keepdims=0)
        return [b.Pad(x, b.Reshape(chosen, b.ints(-1)), node.input(2), **attrs)]
    count = len(axes.content)
    whole: list[Value] = []
    for side in (0, 1):
        at = {int(a) % x.rank: i for i, a in enumerate(axes.content) if isinstance(a, int)}
        for axis in range(x.rank):
            place = at.get(axis)
            start = None if place is None else side * count + place
            whole.append(b.ints(0) if start is None else b.Slice(pads, b.ints(start), b.ints(start + 1), b.ints(0)))
    return [b.Pad(x, b.Concat(whole, axis=0), node.input(2), **attrs)]


def _wrapped(b: Builder, x: Value, pads: Value) -> Value:
    """Each axis repeated on both sides: element i of the result is element (i - begin) modulo the size."""
    point = b.constant(np.zeros(0, np.int64))
    for axis in range(x.rank):
        size = b.Reshape(b.Shape(x, start=axis, end=axis + 1), point)
        begin, end = (
            b.Reshape(b.Slice(pads, b.ints(i), b.ints(i + 1), b.ints(0)), point) for i in (axis, x.rank + axis)
        )
        places = b.Mod(b.Range(b.Neg(begin), b.Add(size, end), np.int64(1)), size)
        x = b.Gather(x, places, axis=axis)
    return x


@lowers("ge.Im2Col")
def im2col(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """A convolution that picks one point of the window for each output channel."""
    x, kernel = _input(node, 0), _ints(node, "kernel_shape")
    channels, points = x.shape[1], math.prod(kernel)
    if not isinstance(channels, int):
        raise InexpressibleError("ge.Im2Col over channels that are not known")
    weights = np.tile(np.eye(points).reshape(points, 1, *kernel), (channels, 1, *(1 for _ in kernel)))
    attrs = {name: node.attrs[name] for name in ("strides", "pads", "dilations")}
    y = b.Conv(x, b.constant(weights, x.dtype), group=channels, **attrs)
    return [b.Reshape(y, b.ints(0, channels * points, -1))]


@lowers("ge.Check")
def check(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """ONNX has no assertions: left out."""
    return []


_SAME = {
    "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "truncdiv": "Div", "neg": "Neg", "abs": "Abs",
    "sign": "Sign", "floor": "Floor", "ceil": "Ceil", "round": "Round", "sqrt": "Sqrt", "exp": "Exp", "log": "Log",
    "sin": "Sin", "cos": "Cos", "tan": "Tan", "asin": "Asin", "acos": "Acos", "atan": "Atan", "sinh": "Sinh",
    "cosh": "Cosh", "tanh": "Tanh", "asinh": "Asinh", "acosh": "Acosh", "atanh": "Atanh", "erf": "Erf", "pow": "Pow",
    "min": "Min", "max": "Max", "lt": "Less", "eq": "Equal", "and": "And", "or": "Or", "xor": "Xor", "not": "Not",
    "select": "Where", "isnan": "IsNaN", "isinf": "IsInf",
}  # fmt: skip
_FLOAT32 = DType.of("float32")


def pointwise(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """A row's expression, an operator for each primitive; floats of 16 bits and less are computed in float32."""
    narrow = node.output.dtype
    inputs = [v for v in node.inputs if v is not None]
    wide = inputs[0].dtype
    if wide.is_float and wide.bits < 32:
        wide, inputs = _FLOAT32, [b.Cast(v, to=_FLOAT32) for v in inputs]
    y = _built(b, expression_of(node), inputs, wide)
    return [y if y.dtype == narrow else b.Cast(y, to=narrow)]


for _op in POINTWISE:
    if _op.startswith("ge."):
        LOWERINGS.setdefault(_op, pointwise)


def _built(b: Builder, tree: Expr, inputs: Sequence[Value], dtype: DType) -> Value:
    if isinstance(tree, Arg):
        return inputs[tree.index]
    if isinstance(tree, Number):
        return b.constant(tree.value, dtype)
    assert isinstance(tree, Apply)
    operands = [_built(b, a, inputs, dtype) for a in tree.args]
    rule = _PRIMITIVES.get(tree.name)
    if rule is None and tree.name not in _SAME:
        raise InexpressibleError(f"the function {tree.name}")
    value: Value = rule(b, *operands) if rule is not None else b.op(_SAME[tree.name], *operands)
    return value


def _trunc(b: Builder, x: Value) -> Value:
    value: Value = x if x.dtype.is_integer else b.Where(b.Less(x, 0.0), b.Ceil(x), b.Floor(x))
    return value


def _floordiv(b: Builder, x: Value, y: Value) -> Value:
    value: Value = b.Floor(b.Div(x, y)) if x.dtype.is_float else b.Div(b.Sub(x, b.Mod(x, y)), y)
    return value


def _floormod(b: Builder, x: Value, y: Value) -> Value:
    if x.dtype.is_integer:
        whole: Value = b.Mod(x, y)
        return whole
    rest = b.Mod(x, y, fmod=1)
    other = b.And(b.Not(b.Equal(rest, 0.0)), b.Xor(b.Less(rest, 0.0), b.Less(y, 0.0)))
    value: Value = b.Where(other, b.Add(rest, y), rest)
    return value


def _expm1(b: Builder, x: Value) -> Value:
    # tanh(x/2) * (e^x + 1) keeps the digits that e^x - 1 loses near 0
    exact = b.Mul(b.Tanh(b.Mul(x, 0.5)), b.Add(b.Exp(x), 1.0))
    value: Value = b.Where(b.Less(b.Abs(x), 1.0), exact, b.Sub(b.Exp(x), 1.0))
    return value


def _log1p(b: Builder, x: Value) -> Value:
    # log(u) * x / (u - 1) with u = 1 + x corrects the rounding of u (Kahan)
    u = b.Add(x, 1.0)
    step = b.Sub(u, 1.0)
    corrected = b.Mul(b.Log(u), b.Div(x, step))
    plain = b.Or(b.Equal(step, 0.0), b.IsInf(u))
    value: Value = b.Where(plain, b.Where(b.IsInf(u), b.Log(u), x), corrected)
    return value


def _atan2(b: Builder, y: Value, x: Value) -> Value:
    half, whole = b.constant(math.pi, y.dtype), b.constant(math.pi / 2, y.dtype)
    base = b.Atan(b.Div(y, x))
    turned = b.Where(b.Less(y, 0.0), b.Sub(base, half), b.Add(base, half))
    upright = b.Where(b.Less(y, 0.0), b.Neg(whole), b.Where(b.Equal(y, 0.0), b.constant(0, y.dtype), whole))
    value: Value = b.Where(b.Equal(x, 0.0), upright, b.Where(b.Less(x, 0.0), turned, base))
    return value


_PRIMITIVES: dict[str, Callable[..., Value]] = {
    "trunc": _trunc,
    "floordiv": _floordiv,
    "floormod": _floormod,
    "expm1": _expm1,
    "log1p": _log1p,
    "atan2": _atan2,
    "rsqrt": lambda b, x: b.Reciprocal(b.Sqrt(x)),
    "exp2": lambda b, x: b.Exp(b.Mul(x, math.log(2))),
    "log2": lambda b, x: b.Mul(b.Log(x), 1 / math.log(2)),
    "log10": lambda b, x: b.Mul(b.Log(x), 1 / math.log(10)),
    "erfc": special_functions.erfc,
    "erfinv": special_functions.erfinv,
    "lgamma": special_functions.lgamma,
    "digamma": special_functions.digamma,
    "copysign": special_functions.copysign,
    "fmod": lambda b, x, y: b.Mod(x, y, fmod=1),
    "ne": lambda b, x, y: b.Not(b.Equal(x, y)),
    "le": lambda b, x, y: b.Or(b.Less(x, y), b.Equal(x, y)),
    "isposinf": lambda b, x: b.IsInf(x, detect_negative=0),
    "isneginf": lambda b, x: b.IsInf(x, detect_positive=0),
}
