"""Random numbers by their definition (`ge_core/reference/random.py`): the cipher in arithmetic of int64.

A word of 32 bits stands in an int64; products are put together from halves of 16 bits, so that nothing overflows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ge_core.ir.builder import Builder
from ge_core.ir.dtype import DType, float32, float64
from ge_core.ir.graph import Node, Value
from ge_core.ops.decompositions.precision import cast, operand
from ge_core.reference.random import BITS, KEY_STEPS, MULTIPLIERS

from .lowerings import lowers
from .sizes import Sizes

_HALF, _WORD = np.int64(1 << 16), np.int64(1 << 32)
_ROUNDS = 10


def _over(b: Builder, x: Value, y: np.int64) -> Value:
    """The quotient of numbers that are not negative, rounded down."""
    made: Value = b.Div(x, y)
    return made


def _product(b: Builder, x: Value, factor: int) -> tuple[Value, Value]:
    """Both words of the product of words."""
    low = b.Mul(x, np.int64(factor & 0xFFFF))
    high = b.Mul(x, np.int64(factor >> 16))
    upper = _over(b, b.Add(high, _over(b, low, _HALF)), _HALF)
    lower = b.Mod(b.Add(b.Mul(b.Mod(high, _HALF), _HALF), low), _WORD)
    return upper, lower


def _words(b: Builder, seed: Value, offset: Value, count: Value) -> Value:
    """At least the first `count` words of the stream."""
    blocks = _over(b, b.Add(count, np.int64(3)), np.int64(4))
    counter = b.Add(offset, b.Range(np.int64(0), blocks, np.int64(1)))  # wraps as a counter of 64 bits does

    def halves(x: Value) -> tuple[Value, Value]:
        low = b.Mod(x, _WORD)
        # without its lower half the number is a multiple, so that the quotient is exact also of a negative one
        return low, b.Mod(b.Div(b.Sub(x, low), _WORD), _WORD)

    (c0, c1), (k0, k1) = halves(counter), halves(seed)
    zero = b.Sub(c0, c0)

    def body(r: Builder, i: Value, go: Value, *state: Value) -> list[Value]:
        c0, c1, c2, c3, k0, k1 = state
        (high0, low0), (high2, low2) = (_product(r, c, m) for c, m in zip((c0, c2), MULTIPLIERS, strict=True))
        mixed = (r.BitwiseXor(r.BitwiseXor(high, c), k) for high, c, k in ((high2, c1, k0), (high0, c3, k1)))
        first, third = mixed
        keys = (r.Mod(r.Add(k, np.int64(step)), _WORD) for k, step in zip((k0, k1), KEY_STEPS, strict=True))
        return [go, first, low2, third, low0, *keys]

    rounds = b.constant(np.int64(_ROUNDS))
    found = b.Loop(rounds, None, [c0, c1, zero, b.Identity(zero), k0, k1], body=body)[:4]
    made: Value = b.Reshape(b.Concat([b.Unsqueeze(c, b.ints(1)) for c in found], axis=1), b.ints(-1))
    return made


def _pairs(b: Builder, seed: Value, offset: Value, count: Value) -> tuple[Value, Value]:
    """Lower and upper words of numbers of 64 bits."""
    twice = b.Mul(count, np.int64(2))
    words = b.Reshape(_first(b, _words(b, seed, offset, twice), twice), b.ints(-1, 2))
    return b.Gather(words, np.int64(0), axis=1), b.Gather(words, np.int64(1), axis=1)


def _first(b: Builder, x: Value, count: Value) -> Value:
    made: Value = b.Slice(x, b.ints(0), b.Reshape(count, b.ints(1)), b.ints(0))
    return made


def _uniform(b: Builder, seed: Value, offset: Value, count: Value, dtype: DType) -> Value:
    """Numbers in [0, 1): multiples of 2^-53 in float64, else of the type's own step, in float32."""
    if dtype == float64:
        low, high = _pairs(b, seed, offset, count)
        bits = b.Add(b.Mul(high, np.int64(1 << 21)), _over(b, low, np.int64(1 << 11)))
        return b.Mul(b.Cast(bits, to=float64), b.constant(2.0**-53, float64))
    words = _first(b, _words(b, seed, offset, count), count)
    kept = BITS[dtype.name]
    top = _over(b, words, np.int64(1 << (32 - kept)))
    return b.Mul(b.Cast(top, to=float32), b.constant(2.0**-kept, float32))


def _normal(b: Builder, seed: Value, offset: Value, count: Value, dtype: DType) -> Value:
    """sqrt(-2 ln(1 - u)) times cos and sin of 2 pi v, in float64; 1 - u is exact."""
    even = b.Mul(_over(b, b.Add(count, np.int64(1)), np.int64(2)), np.int64(2))
    base = dtype if dtype == float64 else float32
    pairs = b.Reshape(b.Cast(_uniform(b, seed, offset, even, base), to=float64), b.ints(-1, 2))
    u, v = b.Gather(pairs, np.int64(0), axis=1), b.Gather(pairs, np.int64(1), axis=1)
    radius = b.Sqrt(b.Mul(b.Log(b.Sub(b.constant(1.0, float64), u)), -2.0))
    angle = b.Mul(v, 2 * math.pi)
    both = [b.Unsqueeze(b.Mul(radius, part), b.ints(1)) for part in (b.Cos(angle), b.Sin(angle))]
    return _first(b, b.Reshape(b.Concat(both, axis=1), b.ints(-1)), count)


def _integers(b: Builder, seed: Value, offset: Value, count: Value, low: int, high: int) -> Value:
    span = high - low
    if span <= 1 << 32:
        words = _first(b, _words(b, seed, offset, count), count)
        lower, upper = b.Mul(b.Mod(words, _HALF), np.int64(span)), b.Mul(_over(b, words, _HALF), np.int64(span))
        made = _over(b, b.Add(upper, _over(b, lower, _HALF)), _HALF)
    else:
        below, above = (b.Cast(v, to="uint64") for v in _pairs(b, seed, offset, count))
        whole = b.Add(b.Mul(above, np.uint64(1 << 32)), below)
        made = b.Cast(b.Mod(whole, b.constant(np.uint64(span))), to="int64")
    return b.Add(made, np.int64(low))


@lowers("ge.Random")
def random(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """The numbers in order, as the shape that is given."""
    shape = operand(node.inputs, 0)
    point = b.constant(np.zeros(0, np.int64))
    seed, offset = (b.Reshape(cast(b, operand(node.inputs, i), DType.of("int64")), point) for i in (1, 2))
    count = b.Reshape(b.ReduceProd(shape, keepdims=0), point)
    dtype, given = node.output.dtype, node.attrs
    low, high = float(given.get("low", 0.0)), float(given.get("high", 1.0))  # type: ignore[arg-type]
    kind = given["distribution"]
    if kind == "randint":
        flat = _integers(b, seed, offset, count, int(low), int(high))
    elif kind == "bernoulli":
        flat = b.Less(_uniform(b, seed, offset, count, float32), b.constant(np.float32(high)))
    elif kind == "normal":
        normal = _normal(b, seed, offset, count, dtype)
        flat = b.Add(b.Mul(normal, high), low)
    else:
        values = _uniform(b, seed, offset, count, dtype)
        spread = cast(b, b.Add(b.Mul(values, high - low), low), dtype)
        # rounding may reach the open end
        flat = b.Where(b.Less(spread, b.constant(high, dtype)), spread, b.constant(low, dtype))
    return [b.Reshape(cast(b, flat, dtype), shape, allowzero=1)]
