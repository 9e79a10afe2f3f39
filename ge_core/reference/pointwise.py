"""Reference kernels of pointwise operators: the numpy evaluator of a row's expression."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ge_core.errors import DivisionByZeroError
from ge_core.ops.expression import Apply, Arg, Expr, Key, Number, expression_key, resolved
from ge_core.ops.pointwise import POINTWISE
from ge_core.ops.registry import KERNELS
from ge_core.reference import special_functions as special
from ge_core.reference.call import Call
from ge_core.reference.cast import convert, widened

Array = np.ndarray

_UFUNCS: dict[str, np.ufunc] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "neg": np.negative, "abs": np.absolute,
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.rint, "sqrt": np.sqrt, "exp": np.exp,
    "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "atan2": np.arctan2, "min": np.minimum, "max": np.maximum, "copysign": np.copysign,
    "bitand": np.bitwise_and, "bitor": np.bitwise_or, "bitxor": np.bitwise_xor, "bitnot": np.bitwise_not,
    "sign": np.sign, "fmod": np.fmod, "floordiv": np.floor_divide, "floormod": np.remainder,
    "nextafter": np.nextafter,
}  # fmt: skip

# Results are bools, so that no operand's buffer can hold them.
_TESTS: dict[str, Callable[..., Any]] = {
    "lt": np.less, "le": np.less_equal, "eq": np.equal, "ne": np.not_equal, "and": np.logical_and,
    "or": np.logical_or, "xor": np.logical_xor, "not": np.logical_not, "isnan": np.isnan, "isinf": np.isinf,
    "isposinf": np.isposinf, "isneginf": np.isneginf,
}  # fmt: skip

_SPECIAL: dict[str, Callable[[Array], Array]] = {
    "erf": special.erf, "erfc": special.erfc, "erfinv": special.erfinv, "lgamma": special.lgamma,
    "digamma": special.digamma,
}  # fmt: skip

_DIVIDING = frozenset({"div", "truncdiv", "floordiv", "floormod", "fmod"})
# On integers these are the identity.
_ROUNDING = frozenset({"floor", "ceil", "trunc", "round"})


class _DivisionByZero(Exception):
    """Raised inside an evaluation; the kernel names the node."""


def _div(a: Array, b: Array) -> Array:
    return _truncdiv(a, b) if a.dtype.kind in "iu" else np.divide(a, b)


def _truncdiv(a: Array, b: Array) -> Array:
    if a.dtype.kind not in "iu":
        return np.trunc(np.divide(a, b))
    quotient = np.floor_divide(a, b)
    if a.dtype.kind == "u":
        return quotient
    # floor is one too low where the signs differ and something remains
    low = (quotient * b != a) & ((a < 0) != (b < 0))
    return quotient + low.astype(quotient.dtype)


def _rsqrt(x: Array) -> Array:
    return np.divide(x.dtype.type(1), np.sqrt(x))


def _width(a: Array) -> int:
    return a.dtype.itemsize * 8


def _shl(a: Array, b: Array) -> Array:
    inside = (b >= 0) & (b < _width(a))
    return np.where(inside, np.left_shift(a, np.where(inside, b, 0).astype(a.dtype)), a.dtype.type(0))


def _shr(a: Array, b: Array) -> Array:
    inside = (b >= 0) & (b < _width(a))
    unsigned = np.dtype(f"u{a.dtype.itemsize}")
    shifted = np.right_shift(a.astype(unsigned), np.where(inside, b, 0).astype(unsigned))
    return np.where(inside, shifted, unsigned.type(0)).astype(a.dtype)


def _sar(a: Array, b: Array) -> Array:
    if a.dtype.kind == "u":
        return _shr(a, b)
    inside = (b >= 0) & (b < _width(a))
    return np.right_shift(a, np.where(inside, b, _width(a) - 1).astype(a.dtype))


def _pow(a: Array, b: Array) -> Array:
    if a.dtype.kind not in "iu":
        return np.power(a, b)
    result = np.power(a, np.maximum(b, 0))
    if a.dtype.kind == "u" or not (b < 0).any():
        return result
    # 1 / a^n truncated: 0, except of 1 and -1
    odd = np.where(np.bitwise_and(b, 1) == 1, a, np.ones_like(a))
    return np.where(b < 0, np.where(np.abs(a) == 1, odd, np.zeros_like(a)), result)


def _select(condition: Array, a: Array, b: Array) -> Array:
    return np.where(condition, a, b)


_OTHER: dict[str, Callable[..., Array]] = {
    "div": _div, "truncdiv": _truncdiv, "rsqrt": _rsqrt, "shl": _shl, "shr": _shr, "sar": _sar, "pow": _pow,
    "select": _select,
}  # fmt: skip


def evaluate(tree: Expr, inputs: Sequence[Array | None]) -> Array:
    """The value of an expression of arrays, with numpy's broadcasting; inputs have types that numpy computes in.

    Returns:
        A new array; an input (or a view) when the expression is just that input.
    """
    numbers = next((a.dtype for a in inputs if a is not None and a.dtype != np.bool_), np.dtype(np.bool_))
    return _evaluate(tree, inputs, numbers)[0]


def _evaluate(tree: Expr, inputs: Sequence[Array | None], numbers: np.dtype) -> tuple[Array, bool]:
    """The value, and whether its buffer belongs to the evaluation and may be overwritten."""
    if isinstance(tree, Arg):
        array = inputs[tree.index]
        assert array is not None
        return array, False
    if isinstance(tree, Number):
        return np.asarray(tree.value, numbers), False
    assert isinstance(tree, Apply)
    parts = [_evaluate(a, inputs, numbers) for a in tree.args]
    arrays = [array for array, _ in parts]
    name = tree.name
    if name in _TESTS:
        return np.asarray(_TESTS[name](*arrays), np.bool_), True
    integral = arrays[0].dtype.kind in "iub"
    if integral and name in _ROUNDING:
        return parts[0]
    if integral and name in _DIVIDING and not arrays[1].all():
        raise _DivisionByZero
    if integral and name == "sign":
        return np.asarray(np.sign(arrays[0])), True
    if name in _UFUNCS:
        return np.asarray(_UFUNCS[name](*arrays, out=_reusable(parts))), True
    if name in _SPECIAL:
        return _SPECIAL[name](arrays[0].astype(np.float64) if integral else arrays[0]), True
    return np.asarray(_OTHER[name](*arrays)), True


def _reusable(parts: Sequence[tuple[Array, bool]]) -> Array | None:
    """An operand that the evaluation owns and that has the result's shape and type."""
    for array, owned in parts:
        if owned and array.ndim and all(_covers(array, other) for other, _ in parts):
            return array
    return None


def _covers(array: Array, other: Array) -> bool:
    """Whether `other` broadcasts to the shape of `array` and has its type."""
    if array.dtype != other.dtype:
        return False
    if other.ndim == 0 or other.shape == array.shape:
        return True
    shape = array.shape[array.ndim - other.ndim :]
    return other.ndim <= array.ndim and all(o in (1, n) for o, n in zip(other.shape, shape, strict=True))


@dataclass(frozen=True)
class _Program:
    """An expression with what decides how its operands are prepared.

    Attributes:
        moves: it only picks among its inputs, which takes any element type as it is.
        fractional: it has a number that is no integer.
    """

    tree: Expr
    moves: bool
    fractional: bool


@lru_cache(maxsize=4096)
def _program(key: Key) -> _Program:
    tree = resolved(key)
    return _Program(tree, _moves(tree), _fractional(tree))


def _moves(tree: Expr) -> bool:
    if isinstance(tree, Apply):
        return tree.name == "select" and all(map(_moves, tree.args))
    return isinstance(tree, Arg)


def _fractional(tree: Expr) -> bool:
    if isinstance(tree, Apply):
        return any(map(_fractional, tree.args))
    return isinstance(tree, Number) and not float(tree.value).is_integer()


def _power_operands(a: Array, b: Array) -> tuple[Array, Array]:
    """Base and exponent in one type, see the row of Pow."""
    a, b = widened(a), widened(b)
    if a.dtype == b.dtype:
        return a, b
    if a.dtype.kind == "f":
        return a, b.astype(a.dtype)
    if b.dtype.kind == "f":
        return a.astype(np.float64), b.astype(np.float64)
    # modulo 2^64 an integer power is that of the narrower type, which the conversion at the end takes
    exponent = np.minimum(b, np.uint64(np.iinfo(np.int64).max)) if b.dtype == np.uint64 else b
    return a.astype(np.int64), exponent.astype(np.int64)


def pointwise(call: Call, *inputs: Any) -> Any:
    """The kernel of every row."""
    program = _program(expression_key(call.node))
    tree = program.tree
    if isinstance(tree, Arg):
        return inputs[tree.index]
    if program.moves:
        return evaluate(tree, inputs)
    if call.node.op == "Pow":
        operands: Sequence[Array | None] = _power_operands(inputs[0], inputs[1])
    elif call.node.op == "ge.NextAfter":
        operands = inputs  # the neighbour in the type itself
    else:
        operands = [None if x is None else widened(x) for x in inputs]
    if program.fractional and all(x is None or x.dtype.kind in "iu" for x in operands):
        operands = [None if x is None else x.astype(np.float64) for x in operands]
    try:
        result = evaluate(tree, operands)
    except _DivisionByZero:
        raise call.error(DivisionByZeroError, "integer division by zero") from None
    return convert(result, call.dtype())


def _register() -> None:
    for name in POINTWISE:
        KERNELS.add(name)(pointwise)


_register()
