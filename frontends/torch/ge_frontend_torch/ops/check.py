"""Assertions of a model."""

from __future__ import annotations

from typing import Any

from ge_core.ir.builder import Builder
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import Call
from ..convert import Condition
from ..registry import aten
from ..symbols import Symbols

_RELATIONS = {
    "Equality": "Equal",
    "LessThan": "LessOrEqual",
    "StrictLessThan": "Less",
    "GreaterThan": "GreaterOrEqual",
    "StrictGreaterThan": "Greater",
}


@aten("_assert_async.msg")
def assert_async(c: Call, x: Value, assert_msg: str) -> None:
    """_assert_async.msg(Tensor self, str assert_msg) -> ()"""
    c.b.ge.Check(c.cast(x, DType.of("bool")), message=assert_msg)


@aten("_assert_async.default")
def assert_async_plain(c: Call, x: Value) -> None:
    """_assert_async(Tensor self) -> ()"""
    c.b.ge.Check(c.cast(x, DType.of("bool")), message="an assertion of the model")


@aten("_assert_scalar.default")
def assert_scalar(c: Call, x: Any, assert_msg: str) -> None:
    """_assert_scalar(Scalar self, str assert_msg) -> ()"""
    if isinstance(x, Condition):
        x = condition(c, c.b, x)
    if isinstance(x, bool):
        if not x:
            raise c.unsupported(f"an assertion that fails for every input ({assert_msg})")
        return
    if isinstance(x, Value):
        c.b.ge.Check(c.cast(x, DType.of("bool")), message=assert_msg)


def condition(c: Call, b: Builder, given: Condition) -> Value | bool:
    """A condition on sizes as a bool scalar, or as a bool where it is one for every input."""
    return _condition(c, b, c.converter.symbols, given.expr)


def _condition(c: Call, b: Builder, symbols: Symbols, expr: Any) -> Value | bool:
    name = type(expr).__name__
    if name in ("BooleanTrue", "BooleanFalse"):
        return name == "BooleanTrue"
    if name in _RELATIONS:
        left, right = (b.scalar(symbols.expression(side)) for side in expr.args)
        return b.op(_RELATIONS[name], left, right)
    if name == "Unequality":
        return b.Not(b.Equal(*(b.scalar(symbols.expression(side)) for side in expr.args)))
    if name == "Not":
        inner = _condition(c, b, symbols, expr.args[0])
        return not inner if isinstance(inner, bool) else b.Not(inner)
    if name in ("And", "Or"):
        found = [_condition(c, b, symbols, arg) for arg in expr.args]
        parts = [b.constant(part) if isinstance(part, bool) else part for part in found]
        total = parts[0]
        for part in parts[1:]:
            total = b.op(name, total, part)
        return total
    raise c.unsupported(f"the condition {expr} on sizes")
