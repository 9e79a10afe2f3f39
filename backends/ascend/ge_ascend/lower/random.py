"""Random numbers: drawn now where seed and offset are constant, else made of the words that CANN's Philox gives.

The cipher of `ge.Random` is that of CANN's (and TensorFlow's) stateless operators: equal seeds and counters give equal
words, in the same order. What becomes of the words is the graph's own definition (`ge_core/reference/random.py`).
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ge_ascend.lower.call import LowerCall
from ge_ascend.lower.registry import lowering
from ge_ascend.meaning.random import PHILOX
from ge_ascend.net import Out
from ge_core.ir.builder import Builder
from ge_core.ir.dtype import DType, float32, float64, int64, uint32, uint64
from ge_core.ir.graph import Graph, constant_of
from ge_core.reference.interpret import interpret
from ge_core.reference.random import BITS

_MOST = 1 << 22
"""Numbers that a file may hold for one operator."""
_HALF, _WORD = 1 << 16, 1 << 32


@lowering("ge.Random")
def random(c: LowerCall) -> Out:
    """Numbers of the graph's own definition; constants where nothing about them changes from call to call."""
    given = [constant_of(value) for value in c.node.inputs]
    known = [constant.array() for constant in given if constant is not None]
    if len(known) == len(given) and math.prod(int(n) for n in known[0]) <= _MOST:
        return _drawn(c, known)
    c.note("form", "random numbers from the words of StatelessRandomUniformFullIntV2")
    dtype, kind = c.node.output.dtype, c.attr("distribution")
    low, high = float(c.attr("low")), float(c.attr("high"))
    shape = c.cast(c.as_is(0), int64)
    if kind == "randint":
        return c.cast(_integers(c, shape, int(low), int(high)), c.output_type())
    if kind == "bernoulli":
        below = c.op("Less", _uniform(c, shape, float32), c.const(high, float32))
        return c.cast(below, c.output_type())
    if kind == "normal":
        normal = _normal(c, shape, dtype)
        real = normal.value.dtype
        scaled = c.op("Mul", normal, c.const(high, real))
        return c.cast(c.op("Add", scaled, c.const(low, real)), c.output_type())
    values = _uniform(c, shape, dtype)
    real = values.value.dtype
    spread = c.op("Add", c.op("Mul", values, c.const(high - low, real)), c.const(low, real))
    spread = c.cast(spread, c.output_type())
    # rounding may reach the open end
    end, begin = (c.const(bound, spread.value.dtype) for bound in (high, low))
    return c.op("SelectV2", c.op("Less", spread, end), spread, begin)


def _drawn(c: LowerCall, arrays: list[np.ndarray]) -> Out:
    """By the reference kernel."""
    alone = Graph("random")
    b = Builder(alone)
    b.outputs(b.ge.Random(*(b.constant(array) for array in arrays), **c.node.attrs))
    (drawn,), _ = interpret(alone, [])
    c.note("form", "random numbers of a constant seed and offset, drawn when the model is compiled")
    return c.const(drawn, c.output_type())


def _words(c: LowerCall, shape: Out) -> Out:
    """The first words of the stream, as int64 numbers below 2^32."""
    seed, offset = (c.reshape(c.cast(c.as_is(i), uint64), [1]) for i in (1, 2))
    counter = c.op("ConcatV2", [offset, c.const([0], uint64)], c.const(0, int64), N=2)
    words = c.op("StatelessRandomUniformFullIntV2", shape, seed, counter, np.int32(PHILOX), dtype=uint32.ge_memory)
    return c.cast(words, int64)


def _over(c: LowerCall, x: Out, divisor: int) -> Out:
    return c.op("FloorDiv", x, c.const(divisor, int64))


def _uniform(c: LowerCall, shape: Out, dtype: DType) -> Out:
    """Numbers in [0, 1) with as many bits as the type holds, in float32; in float64 of two words each."""
    if dtype != float64:
        kept = BITS[dtype.name]
        top = _over(c, _words(c, shape), 1 << (32 - kept))
        return c.op("Mul", c.cast(top, float32), c.const(2.0**-kept, float32))
    count = c.op("ReduceProd", shape, c.const([0], int64), keep_dims=True)
    both = _words(c, c.op("ConcatV2", [count, c.const([2], int64)], c.const(0, int64), N=2))
    lower, upper = (c.op("GatherV2", both, c.const(i, int64), c.const(1, int64)) for i in (0, 1))
    bits = c.op("Add", c.op("Mul", upper, c.const(1 << 21, int64)), _over(c, lower, 1 << 11))
    real = c.engine.mapped(float64, c.node)
    return c.op("Reshape", c.op("Mul", c.cast(bits, real), c.const(2.0**-53, real)), shape)


def _normal(c: LowerCall, shape: Out, dtype: DType) -> Out:
    """sqrt(-2 ln(1 - u)) times cos and sin of 2 pi v, for pairs (u, v); 1 - u is exact."""
    count = c.op("ReduceProd", shape, c.const([0], int64), keep_dims=True)
    pairs = _over(c, c.op("Add", count, c.const(1, int64)), 2)
    both = c.op("ConcatV2", [pairs, c.const([2], int64)], c.const(0, int64), N=2)
    numbers = _uniform(c, both, dtype if dtype == float64 else float32)
    part = partial(c.const, dtype=numbers.value.dtype)
    u, v = (c.op("GatherV2", numbers, c.const(i, int64), c.const(1, int64)) for i in (0, 1))
    radius = c.op("Sqrt", c.op("Mul", c.op("Log", c.op("Sub", part(1.0), u)), part(-2.0)))
    angle = c.op("Mul", v, part(2 * math.pi))
    sides = [c.op("Mul", radius, c.op(kind, angle)) for kind in ("Cos", "Sin")]
    flat = c.reshape(c.op("Pack", sides, axis=1, N=2), [-1])
    first = c.op("GatherV2", flat, _counted(c, count), c.const(0, int64))
    return c.op("Reshape", first, shape)


def _counted(c: LowerCall, count: Out) -> Out:
    """0, 1, ... below a number."""
    return c.op("Range", c.const(0, int64), c.reshape(count, []), c.const(1, int64))


def _integers(c: LowerCall, shape: Out, low: int, high: int) -> Out:
    """low + (word * span) / 2^32, in halves of the word so that nothing overflows."""
    span = high - low
    if span > _WORD:
        raise c.refuse(f"integers of a range of {span}", "draw from at most 2^32 numbers")
    words = _words(c, shape)
    lower = c.op("Mul", c.op("FloorMod", words, c.const(_HALF, int64)), c.const(span, int64))
    upper = c.op("Mul", _over(c, words, _HALF), c.const(span, int64))
    found = _over(c, c.op("Add", upper, _over(c, lower, _HALF)), _HALF)
    return c.op("Add", found, c.const(low, int64))
