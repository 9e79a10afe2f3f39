"""Pointwise operators: broadcasting by attributes (below 7), limits and names as attributes, other defaults."""

from __future__ import annotations

from ge_core.errors import GraphError
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import Call
from ..registry import Results, before, direct

_FLOAT_LOWEST, _FLOAT_HIGHEST = DType.of("float32").min, DType.of("float32").max


@before(7, "Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Less", "Greater")
def aligned_at_axis(c: Call) -> Results:
    """Below 7 the second operand is broadcast only with broadcast=1, and `axis` says where its first axis lies."""
    c.only("broadcast", "axis", "consumed_inputs")
    return c.b.op(c.op, c.input(0), aligned(c, c.input(0), c.input(1)))


def aligned(c: Call, a: Value, b: Value) -> Value:
    """The second operand with axes of size 1 behind it, so that its first axis lies at attribute `axis` of `a`."""
    if not c.attr("broadcast", 0) or "axis" not in c.attrs:
        return b
    axis = c.attrs["axis"]
    behind = c.rank(a) - (axis + c.rank(a) if axis < 0 else axis) - c.rank(b)
    if behind < 0:
        raise c.error(f"axis {axis} leaves no room for {b.type} in {a.type}")
    return c.unsqueeze(b, *range(c.rank(b), c.rank(b) + behind)) if behind else b


@before(
    6, "Abs", "Ceil", "Elu", "Exp", "Floor", "HardSigmoid", "InstanceNormalization", "LeakyRelu", "Log", "Max", "Mean",
    "Min", "Neg", "Reciprocal", "Relu", "Sigmoid", "Sqrt", "Sum", "Tanh",
)  # fmt: skip
def without_consumed_inputs(c: Call) -> Results:
    """Below 6 `consumed_inputs` says which inputs may be overwritten, which changes no value."""
    c.attrs.pop("consumed_inputs", None)
    return direct(c)


@before(6, "Selu")
def selu_defaults(c: Call) -> Results:
    """Below 6 the defaults of alpha and gamma are rounded."""
    c.attrs.pop("consumed_inputs", None)
    return c.build("Selu", c.inputs, {"alpha": 1.6732, "gamma": 1.0507, **c.attrs})


@before(7, "PRelu")
def prelu_along_channels(c: Call) -> Results:
    """Below 7 a slope of rank 1 belongs to the channels, axis 1."""
    c.only("consumed_inputs")
    x, slope = c.input(0), c.input(1)
    if c.rank(slope) == 1 and c.rank(x) > 2 and slope.shape != (1,):
        slope = c.unsqueeze(slope, *range(1, c.rank(x) - 1))
    return c.b.PRelu(x, slope)


@before(11, "Clip")
def clip_attributes(c: Call) -> Results:
    """Below 11 the limits are attributes, by default the least and largest float32."""
    c.only("min", "max", "consumed_inputs")
    x = c.input(0)
    low, high = c.attr("min", _FLOAT_LOWEST), c.attr("max", _FLOAT_HIGHEST)
    return c.b.Clip(
        x,
        c.scalar(low, x.dtype) if low > _FLOAT_LOWEST else None,
        c.scalar(high, x.dtype) if high < _FLOAT_HIGHEST else None,
    )


@before(6, "Cast")
def cast_to_name(c: Call) -> Results:
    """Below 6 the target type is a name."""
    c.only("to")
    name = str(c.needed("to"))
    table = {"FLOAT": "float32", "DOUBLE": "float64"}
    try:
        return c.b.Cast(c.input(0), to=DType.of(table.get(name, name.lower())))
    except GraphError as error:
        raise c.unsupported(f"a cast to {name}") from error
