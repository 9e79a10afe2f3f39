"""Operators on each element."""

from __future__ import annotations

from functools import partial

from ...program import Ref
from ..call import Call, activation
from ..registry import tflite

_UNARY = {
    "FLOOR": "Floor", "CEIL": "Ceil", "ROUND": "Round", "EXP": "Exp", "LOG": "Log", "SIN": "Sin", "COS": "Cos",
    "SQRT": "Sqrt", "RSQRT": "Rsqrt", "SQUARE": "Square", "ABS": "Abs", "NEG": "Neg", "SIGN": "Sign", "TANH": "Tanh",
    "LOGISTIC": "Sigmoid", "ELU": "Elu", "LOGICAL_NOT": "LogicalNot", "ZEROS_LIKE": "ZerosLike",
}  # fmt: skip
_BINARY = {
    "MAXIMUM": "Maximum", "MINIMUM": "Minimum", "POW": "Pow", "FLOOR_DIV": "FloorDiv", "FLOOR_MOD": "FloorMod",
    "SQUARED_DIFFERENCE": "SquaredDifference", "LOGICAL_AND": "LogicalAnd", "LOGICAL_OR": "LogicalOr",
    "LESS": "Less", "LESS_EQUAL": "LessEqual", "GREATER": "Greater", "GREATER_EQUAL": "GreaterEqual",
    "EQUAL": "Equal", "NOT_EQUAL": "NotEqual", "ATAN2": "Atan2", "BITWISE_XOR": "BitwiseXor",
    "RIGHT_SHIFT": "RightShift",
}  # fmt: skip
_ACTIVATED = {"ADD": "AddV2", "SUB": "Sub", "MUL": "Mul"}


def _plain(op: str, c: Call) -> Ref:
    return c.node(op, *c.inputs())


def _activated(op: str, c: Call) -> Ref:
    return c.activated(c.node(op, *c.inputs()))


for _name, _op in {**_UNARY, **_BINARY}.items():
    tflite(_name)(partial(_plain, _op))
for _name, _op in _ACTIVATED.items():
    tflite(_name)(partial(_activated, _op))


@tflite("DIV")
def div(c: Call) -> Ref:
    """Integers round towards zero."""
    plain_integers = c.out().quantised is None and c.out().dtype.kind in ("int", "uint")
    return c.activated(c.node("TruncateDiv" if plain_integers else "RealDiv", *c.inputs()))


@tflite("RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1")
def relu(c: Call) -> Ref:
    return activation(c, c.name, c.input(0))


@tflite("LEAKY_RELU")
def leaky_relu(c: Call) -> Ref:
    return c.node("LeakyRelu", c.input(0), alpha=float(c.option("alpha", 0.0)))


@tflite("PRELU")
def prelu(c: Call) -> Ref:
    """max(x, 0) + alpha * min(x, 0); alpha broadcasts as any operand does."""
    x, alpha = c.inputs()
    below = c.node("Mul", alpha, c.node("Neg", c.node("Relu", c.node("Neg", x))))
    return c.node("AddV2", c.node("Relu", x), below)


@tflite("HARD_SWISH")
def hard_swish(c: Call) -> Ref:
    """x * relu6(x + 3) / 6"""
    x = c.input(0)
    gate = c.node("Relu6", c.node("AddV2", x, c.constant(3, "float32")))
    return c.node("Mul", x, c.node("Mul", gate, c.constant(1 / 6, "float32")))


@tflite("GELU")
def gelu(c: Call) -> Ref:
    """0.5 x (1 + erf(x / sqrt 2)), or with tanh(sqrt(2 / pi) (x + 0.044715 x^3)) for the approximation."""
    x = c.input(0)
    half = c.node("Mul", x, c.constant(0.5, "float32"))
    one = c.constant(1, "float32")
    if not c.option("approximate", False):
        inner = c.node("Erf", c.node("Mul", x, c.constant(0.7071067811865476, "float32")))
        return c.node("Mul", half, c.node("AddV2", one, inner))
    cube = c.node("Mul", x, c.node("Mul", x, x))
    line = c.node("AddV2", x, c.node("Mul", cube, c.constant(0.044715, "float32")))
    inner = c.node("Tanh", c.node("Mul", line, c.constant(0.7978845608028654, "float32")))
    return c.node("Mul", half, c.node("AddV2", one, inner))


@tflite("ADD_N")
def add_n(c: Call) -> Ref:
    return c.node("AddN", *c.inputs(), N=len(c.operator.inputs))


@tflite("SELECT")
def select(c: Call) -> Ref:
    """A condition of rank 1 chooses among rows."""
    return c.node("Select", c.raw(0), c.input(1), c.input(2))


@tflite("SELECT_V2")
def select_v2(c: Call) -> Ref:
    return c.node("SelectV2", c.raw(0), c.input(1), c.input(2))


@tflite("CAST")
def cast(c: Call) -> Ref:
    return c.node("Cast", c.input(0), SrcT=c.type_of(c.tensor(0)), DstT=c.type_of(c.out()))


@tflite("BITCAST", raw=True)
def bitcast(c: Call) -> Ref:
    return c.node("Bitcast", c.input(0), type=c.type_of(c.out()))


@tflite("DEQUANTIZE")
def dequantize(c: Call) -> Ref:
    """Integers to reals; 16-bit reals to 32-bit ones."""
    x = c.input(0)
    if c.tensor(0).quantised is None and c.tensor(0).dtype != c.out().dtype:
        return c.node("Cast", x, SrcT=c.type_of(c.tensor(0)), DstT=c.type_of(c.out()))
    return x


@tflite("QUANTIZE", "DENSIFY")
def quantize(c: Call) -> Ref:
    """QUANTIZE: what is returned is quantised like every result. DENSIFY: sparse weights are read whole."""
    return c.input(0)


@tflite("FAKE_QUANT")
def fake_quant(c: Call) -> Ref:
    return c.node(
        "FakeQuantWithMinMaxArgs",
        c.input(0),
        min=float(c.option("min", 0.0)),
        max=float(c.option("max", 0.0)),
        num_bits=int(c.option("num_bits", 8)),
        narrow_range=bool(c.option("narrow_range", False)),
    )
