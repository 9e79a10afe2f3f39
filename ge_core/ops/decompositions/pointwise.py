"""Pointwise composites by their rows' expressions: one node for each primitive."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ge_core.ir.builder import Builder
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Node, Value
from ge_core.ops.decompositions.precision import cast, widened
from ge_core.ops.expression import Apply, Arg, Expr, Number, expression_of
from ge_core.ops.registry import decomposition

COMPOSITES = (
    "Celu", "Clip", "Elu", "Gelu", "GreaterOrEqual", "HardSigmoid", "HardSwish", "LeakyRelu", "LessOrEqual", "Mean",
    "Mish", "PRelu", "Reciprocal", "Relu", "Selu", "Shrink", "Sigmoid", "Softplus", "Softsign", "Sum", "SwiGLU",
    "Swish", "ThresholdedRelu", "ge.Square", "ge.FMax", "ge.FMin", "ge.IsFinite", "ge.LogAddExp", "ge.LogSigmoid",
)  # fmt: skip

# Primitive -> operator with the same operands.
_OPERATORS = {
    "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "neg": "Neg", "abs": "Abs", "sign": "Sign",
    "floor": "Floor", "ceil": "Ceil", "trunc": "ge.Trunc", "round": "Round", "sqrt": "Sqrt", "rsqrt": "ge.Rsqrt",
    "exp": "Exp", "expm1": "ge.Expm1", "log": "Log", "log1p": "ge.Log1p", "tanh": "Tanh", "erf": "Erf", "pow": "Pow",
    "min": "Min", "max": "Max", "lt": "Less", "eq": "Equal", "and": "And", "or": "Or", "not": "Not",
    "select": "Where", "isnan": "IsNaN", "isinf": "IsInf",
}  # fmt: skip


@decomposition(*COMPOSITES)
def pointwise(b: Builder, node: Node) -> Sequence[Value]:
    inputs = [None if v is None else widened(b, v) for v in node.inputs]
    first = next(v for v in inputs if v is not None)
    made = _build(b, expression_of(node), inputs, first.dtype)
    return [cast(b, made, node.output.dtype)]


def _build(b: Builder, tree: Expr, inputs: Sequence[Value | None], dtype: DType) -> Value:
    """The value of an expression; numbers get the type of the computation."""
    if isinstance(tree, Arg):
        value = inputs[tree.index]
        assert value is not None
        return value
    if isinstance(tree, Number):
        return b.constant(tree.value, dtype)
    assert isinstance(tree, Apply)
    operands = [_build(b, a, inputs, dtype) for a in tree.args]
    special = _SPECIAL.get(tree.name)
    made: Value = special(b, *operands) if special else b.op(_OPERATORS[tree.name], *operands)
    return made


def _less_equal(b: Builder, x: Value, y: Value) -> Value:
    # not(y < x) would be true of NaN
    made: Value = b.Or(b.Less(x, y), b.Equal(x, y))
    return made


def _not_equal(b: Builder, x: Value, y: Value) -> Value:
    made: Value = b.Not(b.Equal(x, y))
    return made


_SPECIAL: dict[str, Callable[..., Value]] = {"le": _less_equal, "ne": _not_equal}
