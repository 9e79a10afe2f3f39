"""What is known of the elements of a value without running it: a small analysis for exact float rules."""

from __future__ import annotations

import numpy as np

from ge_core.ir.graph import Value, constant_of
from ge_core.ir.types import TensorType

_DEPTH = 8
_POSITIVE = frozenset({"Exp", "Abs", "Sigmoid", "Softmax", "Softplus", "ReduceL1", "ReduceL2", "ReduceSumSquare"})
_MOVING = frozenset(
    {"Reshape", "Transpose", "Expand", "Slice", "Gather", "Identity", "Unsqueeze", "Squeeze", "Flatten", "Split"}
)
_KEEPING = frozenset({"ReduceSum", "ReduceMean", "ReduceMin", "ReduceProd", "Sqrt"})


def never_negative(value: Value, depth: int = _DEPTH) -> bool:
    """Whether every element is NaN, or at least +0.0 (so neither negative nor -0.0); integers: at least 0."""
    if not isinstance(value.type, TensorType) or depth == 0:
        return False
    if value.dtype.kind in ("bool", "uint"):
        return True
    constant = constant_of(value)
    if constant is not None:
        array = constant.known()
        if array is None or array.size > 1 << 16 or constant.type.dtype.kind not in ("float", "int"):
            return False
        wide = array.astype(np.float64)
        return bool(np.all(np.isnan(wide) | ~np.signbit(wide)))
    node = value.producer
    if node is None:
        return False

    def operand(index: int) -> bool:
        v = node.input(index)
        return v is not None and never_negative(v, depth - 1)

    if node.op in _POSITIVE:
        return node.output.dtype.is_float
    if node.op in _MOVING or node.op in _KEEPING:
        return operand(0)
    if node.op == "Cast":
        source = node.inputs[0]
        assert source is not None
        if not source.dtype.is_float and not source.dtype.is_integer and source.dtype.kind != "bool":
            return False
        return node.output.dtype.is_float and never_negative(source, depth - 1)
    if node.op == "Mul" and node.inputs[0] is node.inputs[1] and node.output.dtype.is_float:
        return True
    if node.op in ("Add", "Mul", "Div") and node.output.dtype.is_float:
        return operand(0) and operand(1)
    if node.op == "Pow" and node.output.dtype.is_float:
        return operand(0)
    return False


def never_negative_zero(value: Value, depth: int = _DEPTH) -> bool:
    """Whether no element is -0.0."""
    if not isinstance(value.type, TensorType) or depth == 0:
        return False
    if not value.dtype.is_float or never_negative(value, depth):
        return True
    constant = constant_of(value)
    if constant is not None and constant.type.dtype.bits >= 16:
        array = constant.known()
        if array is None or array.size > 1 << 16:
            return False
        return not bool(np.any((array == 0) & np.signbit(array.astype(np.float64))))
    node = value.producer
    if node is None:
        return False
    if node.op in _MOVING:
        source = node.inputs[0]
        return source is not None and never_negative_zero(source, depth - 1)
    if node.op == "Cast":
        source = node.inputs[0]
        return source is not None and (source.dtype.is_integer or source.dtype.kind == "bool")
    if node.op == "Add":
        # a sum is -0.0 only when both terms are
        return any(v is not None and never_negative_zero(v, depth - 1) for v in node.inputs)
    return False


_FINITE_TO_FINITE = frozenset({"Neg", "Abs", "Relu", "Sigmoid", "Tanh", "Sign", "Floor", "Ceil", "Round", "Identity"})


def surely_finite(value: Value, depth: int = _DEPTH * 2) -> bool:
    """Whether no element is NaN or infinite, as far as ordinary magnitudes go (sums and products of finite numbers)."""
    if not isinstance(value.type, TensorType) or depth == 0:
        return False
    if not value.dtype.is_float:
        return value.dtype.is_integer or value.dtype.kind == "bool"
    constant = constant_of(value)
    if constant is not None:
        array = constant.known(1 << 26)
        return array is not None and array.size <= 1 << 24 and bool(np.isfinite(array.astype(np.float64)).all())
    node = value.producer
    if node is None:
        return False
    if node.op in ("Add", "Sub", "Mul") or node.op in _FINITE_TO_FINITE | _MOVING | {"Cast"}:
        data = node.inputs[:1] if node.op in _MOVING | {"Cast"} else node.inputs
        return all(v is not None and surely_finite(v, depth - 1) for v in data)
    if node.op in ("Where", "Concat"):
        data = node.inputs[1:] if node.op == "Where" else node.inputs
        return all(v is not None and surely_finite(v, depth - 1) for v in data)
    return False
