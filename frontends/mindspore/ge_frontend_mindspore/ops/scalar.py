"""Numbers and tuples of numbers that MindSpore computes with beside the tensors."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from ge_core.ir import dims
from ge_core.ir.dims import Dim
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import Call
from ..registry import primitive

_PLAIN: dict[str, Callable[[Any, Any], Any]] = {
    "ScalarAdd": operator.add, "ScalarSub": operator.sub, "ScalarMul": operator.mul, "ScalarDiv": operator.truediv,
    "ScalarFloorDiv": operator.floordiv, "ScalarMod": operator.mod, "ScalarPow": pow, "ScalarMax": max,
    "ScalarMin": min, "bit_and": operator.and_, "bit_or": operator.or_, "ScalarEq": operator.eq,
    "ScalarLt": operator.lt, "ScalarLe": operator.le, "ScalarGt": operator.gt, "ScalarGe": operator.ge,
}  # fmt: skip
_SIZES: dict[str, Callable[[Any, Any], Any]] = {
    "ScalarAdd": operator.add, "ScalarSub": operator.sub, "ScalarMul": operator.mul, "ScalarFloorDiv": dims.floordiv,
    "ScalarMod": dims.mod, "ScalarMax": dims.maximum, "ScalarMin": dims.minimum,
}  # fmt: skip
_BUILT = {
    "ScalarAdd": "Add", "ScalarSub": "Sub", "ScalarMul": "Mul", "ScalarDiv": "Div", "ScalarFloorDiv": "ge.FloorDiv",
    "ScalarMod": "ge.FloorMod", "ScalarPow": "Pow", "ScalarMax": "Max", "ScalarMin": "Min",
}  # fmt: skip
_BUILT_COMPARE = {"ScalarEq": "Equal", "ScalarLt": "Less", "ScalarLe": "LessOrEqual", "ScalarGt": "Greater",
                  "ScalarGe": "GreaterOrEqual"}  # fmt: skip
_BITS = {"bit_and": "BitwiseAnd", "bit_or": "BitwiseOr"}
_INT64 = DType.of("int64")
_LARGEST_POWER = 64  # to which numbers are raised while importing


def _decided(op: str, x: Any, y: Any) -> bool | None:
    """A comparison of sizes that holds, or fails, for all of them; None when it depends."""
    if op == "ScalarEq":
        return dims.equal(x, y)
    if op in ("ScalarLe", "ScalarGe"):
        return dims.less_equal(x, y) if op == "ScalarLe" else dims.less_equal(y, x)
    other = dims.less_equal(y, x) if op == "ScalarLt" else dims.less_equal(x, y)
    return None if other is None else not other


@primitive(*_PLAIN)
def scalar(c: Call, x: Any, y: Any) -> Any:
    """ScalarAdd(x, y); ScalarSub; ScalarMul; ScalarDiv; ScalarFloorDiv; ScalarMod; ScalarPow; ScalarMax; ScalarMin;
    ScalarEq; ScalarLt; ScalarLe; ScalarGt; ScalarGe; bit_and; bit_or"""
    numbers = (bool, int, float)
    if isinstance(x, numbers) and isinstance(y, numbers):
        if c.op in ("ScalarDiv", "ScalarFloorDiv", "ScalarMod") and y == 0:
            raise c.unsupported("a division by the constant 0")
        if c.op == "ScalarPow" and abs(y) > _LARGEST_POWER:
            raise c.unsupported(f"the power {y}")
        return _PLAIN[c.op](x, y)
    if isinstance(x, (Dim, int)) and isinstance(y, (Dim, int)):
        if c.op in _SIZES:
            return _SIZES[c.op](x, y)
        if c.op in _BUILT_COMPARE and (known := _decided(c.op, x, y)) is not None:
            return known
    if c.op in _BUILT_COMPARE:
        like = next((v.dtype for v in (x, y) if isinstance(v, Value)), None)
        return c.b.op(_BUILT_COMPARE[c.op], c.tensor(x, like), c.tensor(y, like))
    if c.op in _BITS:
        return c.b.op(_BITS[c.op], *c.tensors(_INT64, x, y))
    return c.b.op(_BUILT[c.op], *c.tensors(c.dtype(), x, y))


@primitive("ScalarUsub", "ScalarUadd", "ScalarBool", "ScalarLog")
def scalar_unary(c: Call, x: Any) -> Any:
    """ScalarUsub(x); ScalarUadd(x); ScalarBool(x); ScalarLog(x)"""
    if isinstance(x, (bool, int, float)):
        if c.op == "ScalarLog":
            return math.log(x) if x > 0 else (-math.inf if x == 0 else math.nan)
        return bool(x) if c.op == "ScalarBool" else -x if c.op == "ScalarUsub" else x
    if c.op == "ScalarUadd":
        return x
    if isinstance(x, Dim) and c.op == "ScalarUsub":
        return -x
    value = c.tensor(x)
    if c.op == "ScalarBool":
        return c.b.Cast(value, to="bool")
    return c.b.Neg(value) if c.op == "ScalarUsub" else c.b.Log(c.cast(value, c.dtype()))


@primitive("string_eq", "string_not")
def text(c: Call, x: str, y: str = "") -> bool:
    """string_eq(x, y); string_not(x)"""
    return x == y if c.op == "string_eq" else not x


@primitive("sequence_len")
def sequence_len(c: Call, x: Sequence[Any]) -> int:
    """sequence_len(x)"""
    return len(x)


@primitive("make_range")
def make_range(c: Call, *limits: Any) -> tuple[int, ...]:
    """make_range(limit) or (start, limit, step): a tuple of numbers"""
    given = [c.integer(x, "a limit") for x in limits]
    found = range(*given)
    if len(found) > 1 << 16:
        raise c.unsupported(f"a range of {len(found)} numbers")
    return tuple(found)


@primitive("SequenceAdd", "SequenceMul", "SequenceSlice", "SequenceCount", "SequenceIndex", "InSequence")
def sequence(c: Call, x: Any, *rest: Any) -> Any:
    """SequenceAdd(x, y); SequenceMul(x, n); SequenceSlice(x, start, stop, step); SequenceCount(x, target);
    SequenceIndex(x, target, start, end); InSequence(element, x)"""
    if c.op == "SequenceAdd":
        return (*x, *rest[0])
    if c.op == "SequenceMul":
        return x * c.integer(rest[0], "a count")
    if c.op == "SequenceSlice":
        return x[slice(*(c.integer(r, "a limit") for r in rest))]
    items, target = (rest[0], x) if c.op == "InSequence" else (x, rest[0])
    if any(not isinstance(e, (bool, int, float, str)) for e in (*items, target)):
        raise c.unsupported("a search among values that the model computes")
    if c.op == "InSequence":
        return target in items
    if c.op == "SequenceCount":
        return items.count(target)
    low, high = (c.integer(r, "a limit") for r in rest[1:3])
    return items.index(target, low, high)


@primitive("SequenceMax", "SequenceMin")
def sequence_extreme(c: Call, x: Sequence[Any]) -> Any:
    """SequenceMax(x); SequenceMin(x): of numbers"""
    if not all(isinstance(e, (bool, int, float)) for e in x):
        raise c.unsupported("the largest of numbers that the model computes")
    return max(x) if c.op == "SequenceMax" else min(x)


@primitive("tuple_equal", "list_equal", "tuple_lt", "list_lt", "tuple_le", "list_le", "tuple_greater_than",
           "list_greater_than", "tuple_greater_equal", "list_greater_equal")  # fmt: skip
def tuple_compare(c: Call, x: Sequence[Any], y: Sequence[Any]) -> Any:
    """tuple_equal(x, y); tuple_lt; tuple_le; tuple_greater_than; tuple_greater_equal, and of lists"""
    if any(not isinstance(e, (bool, int, float, str)) for e in (*x, *y)):
        return _equal_sizes(c, x, y)
    kind = c.op.partition("_")[2]
    compare = {"equal": operator.eq, "lt": operator.lt, "le": operator.le, "greater_than": operator.gt,
               "greater_equal": operator.ge}[kind]  # fmt: skip
    return bool(compare(tuple(x), tuple(y)))


def _equal_sizes(c: Call, x: Sequence[Any], y: Sequence[Any]) -> Any:
    """Whether two tuples of sizes are equal."""
    if not c.op.endswith("_equal") or "greater" in c.op:
        raise c.unsupported("an order of values that the model computes")
    if len(x) != len(y):
        return False
    found: Any = True
    for a, b in zip(x, y, strict=True):
        known = dims.equal(a, b) if isinstance(a, (int, Dim)) and isinstance(b, (int, Dim)) else None
        if known is False:
            return False
        if known is None:
            same = c.b.Equal(c.tensor(a), c.tensor(b))
            found = same if found is True else c.b.And(found, same)
    return found


@primitive("Print", "TensorDump", ignores=("summarize",))
def show(c: Call, *values: Any) -> None:
    """Print()(values): the imported model prints nothing"""


@primitive("Assert", ignores=("summarize",))
def check(c: Call, condition: Any, *rest: Any) -> None:
    """Assert(summarize=3)(condition, input_data)"""
    if condition is not True:
        c.b.ge.Check(c.b.Cast(c.tensor(condition), to="bool"), message="an assertion of the model failed")
