"""Operations on the bits of integers in opsets that lack them: digit by digit, and shifts as products and quotients."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ge_core.ir.builder import Builder
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Node, Value
from ge_core.ops.decompositions.precision import cast, operand

from .lowerings import lowers
from .sizes import Sizes


def _wide(x: Value) -> DType:
    """The type to compute in: wraps like the narrower one once it is narrowed again."""
    return x.dtype if x.dtype.name == "uint64" else DType.of("int64")


_BASE, _DIGITS = 16, 16  # of 64 bits
_TABLES: dict[str, np.ufunc] = {
    "BitwiseAnd": np.bitwise_and, "BitwiseOr": np.bitwise_or, "BitwiseXor": np.bitwise_xor,
}  # fmt: skip


@lowers(*_TABLES)
def by_digits(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """A loop over hexadecimal digits, the lowest first, by a table; the highest weight wraps to the sign."""
    x, y = operand(node.inputs, 0), operand(node.inputs, 1)
    wide = _wide(x)
    x, y = cast(b, x, wide), cast(b, y, wide)
    base, numbers = b.constant(_BASE, wide), np.arange(_BASE)
    table = b.constant(_TABLES[node.op].outer(numbers, numbers).ravel(), wide)
    start = b.Mul(b.Mul(x, y), b.constant(0, wide))

    def body(r: Builder, i: Value, go: Value, x: Value, y: Value, weight: Value, total: Value) -> list[Value]:
        first, second = r.Mod(x, base), r.Mod(y, base)
        digit = r.Gather(table, r.Cast(r.Add(r.Mul(first, base), second), to="int64"), axis=0)
        x, y = r.Div(r.Sub(x, first), base), r.Div(r.Sub(y, second), base)
        return [go, x, y, r.Mul(weight, base), r.Add(total, r.Mul(digit, weight))]

    *_, total = b.Loop(b.constant(np.int64(_DIGITS)), None, [x, y, b.constant(1, wide), start], body=body)
    return [cast(b, total, node.output.dtype)]


@lowers("BitwiseNot")
def bitwise_not(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """-1 - x, of unsigned integers the largest number less x."""
    x = operand(node.inputs, 0)
    if x.dtype.name == "uint64":
        return [b.Sub(b.constant(np.uint64(2**64 - 1)), x)]
    return [cast(b, b.Sub(b.constant(np.int64(-1)), cast(b, x, DType.of("int64"))), x.dtype)]


@lowers("BitShift", "ge.ArithmeticShift")
def shift(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """Times or over a power of two; a shift by the width or more, or by a negative number, leaves 0 or the sign."""
    x, by = operand(node.inputs, 0), operand(node.inputs, 1)
    most = x.dtype.bits - 1
    if node.op != "BitShift" and x.dtype.kind == "uint":
        # by products, since ONNX Runtime has no Where of uint64
        small = b.Cast(b.Less(by, b.constant(x.dtype.bits, x.dtype)), to=x.dtype)
        return [b.Mul(b.BitShift(x, b.Mul(by, small), direction="RIGHT"), small)]
    wide, left = DType.of("int64"), node.attrs.get("direction") == "LEFT"
    value, steps = cast(b, x, wide), cast(b, by, wide)
    beyond = b.Or(b.Less(steps, np.int64(0)), b.Less(np.int64(most), steps))
    power = b.Gather(b.constant(1 << np.arange(most + 1, dtype=np.int64)), b.Where(beyond, np.int64(0), steps), axis=0)
    if left:
        return [cast(b, b.Where(beyond, np.int64(0), b.Mul(value, power)), x.dtype)]
    # 2^63 stands in int64 as a negative number: that quotient is the sign
    quotient = b.ge.FloorDiv(value, b.Where(b.Less(power, np.int64(0)), np.int64(1), power))
    sign = b.Where(b.Less(value, np.int64(0)), np.int64(-1), np.int64(0))
    return [cast(b, b.Where(b.Or(beyond, b.Less(power, np.int64(0))), sign, quotient), x.dtype)]
