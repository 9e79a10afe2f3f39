"""Random numbers: of the same distributions, not the same numbers, as TensorFlow's.

Stateful operators draw on from a state of the graph; stateless ones give the same numbers for the same seed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ge_core.ir.dtype import DType
from ge_core.ir.graph import Graph, Value

from ..call import INT64, Call
from ..registry import tf_op

_UINT64 = DType.of("uint64")
_FLOAT = DType.of("float32")


def _draw(c: Call, shape: Value, seed: Value, offset: Value, dtype: DType, kind: str, low: float, high: float) -> Value:
    sizes = c.sizes(shape)
    dims = c.int64(shape) if sizes is None else c.b.ints(sizes)
    whole = dtype if dtype.is_float or kind == "randint" else _FLOAT
    found = c.b.ge.Random(dims, seed, offset, dtype=whole, distribution=kind, low=low, high=high)
    return c.cast(found, dtype)


def _stateful(c: Call, shape: Value) -> tuple[Value, Value]:
    """Seed and place in the sequence of a stateful operator; the state moves on by what it draws."""
    graph = c.b.block
    if not isinstance(graph, Graph):
        raise c.unsupported("inside of a branch or loop", "use tf.random.stateless_uniform and the like")
    state = c.converter.random_state(graph)
    seed = (c.attr("seed") * 1_000_003 + c.attr("seed2") * 7919 + 12345) & ((1 << 63) - 1)
    offset = c.converter.random_offset
    sizes = c.sizes(shape)
    total = c.b.ReduceProd(c.int64(shape) if sizes is None else c.b.ints(sizes), keepdims=0)
    c.converter.random_offset = c.b.Add(offset, total)
    graph.set_state_write(state, c.converter.random_offset)
    # each operator has a sequence of its own even where two have the same seeds
    own = (seed ^ hash_of(c.node.name)) & ((1 << 63) - 1)
    return c.number(own, INT64), offset


def hash_of(text: str) -> int:
    """A number for a text, the same in every process."""
    value = 1469598103934665603
    for byte in text.encode():
        value = (value ^ byte) * 1099511628211 & ((1 << 64) - 1)
    return value


@tf_op("RandomUniform")
def random_uniform(c: Call, shape: Value) -> Value:
    """RandomUniform(shape) -> output; seed, seed2, dtype, T"""
    return _draw(c, shape, *_stateful(c, shape), c.dtype("dtype"), "uniform", 0.0, 1.0)


@tf_op("RandomStandardNormal")
def random_normal(c: Call, shape: Value) -> Value:
    """RandomStandardNormal(shape) -> output; seed, seed2, dtype, T"""
    return _draw(c, shape, *_stateful(c, shape), c.dtype("dtype"), "normal", 0.0, 1.0)


@tf_op("RandomUniformInt")
def random_uniform_int(c: Call, shape: Value, minval: Value, maxval: Value) -> Value:
    """RandomUniformInt(shape, minval, maxval) -> output; seed, seed2, Tout, T"""
    low, high = c.whole(minval, "a bound"), c.whole(maxval, "a bound")
    return _draw(c, shape, *_stateful(c, shape), minval.dtype, "randint", float(low), float(high))


@tf_op("TruncatedNormal")
def truncated_normal(c: Call, shape: Value) -> Value:
    """TruncatedNormal(shape) -> output; seed, seed2, dtype, T"""
    return _truncated(c, _draw(c, shape, *_stateful(c, shape), c.dtype("dtype"), "uniform", 0.0, 1.0))


def _truncated(c: Call, uniform: Value) -> Value:
    """A normal distribution cut off at two standard deviations, by the inverse of its distribution function."""
    b = c.b
    edge = 0.9544997361036416  # erf(2 / sqrt 2)
    spread = b.Mul(b.Sub(b.Mul(uniform, c.like(2, uniform)), c.like(1, uniform)), c.like(edge, uniform))
    return b.Mul(b.ge.ErfInv(spread), c.like(np.sqrt(2), uniform))


def _seed(c: Call, seed: Value) -> Value:
    """The two numbers of a seed as one."""
    b = c.b
    wide = c.int64(seed)
    first, second = (b.Gather(wide, np.int64(i), axis=0) for i in (0, 1))
    return b.Add(b.Mul(first, np.int64(0x9E3779B97F4A7C15 - (1 << 64))), second)


@tf_op("StatelessRandomGetKeyCounter")
def key_counter(c: Call, seed: Value) -> list[Value]:
    """StatelessRandomGetKeyCounter(seed) -> key, counter; Tseed"""
    key = c.reshape(c.b.BitCast(_seed(c, seed), to=_UINT64), (1,))
    return [key, c.full((2,), 0, _UINT64)]


@tf_op("StatelessRandomGetKeyCounterAlg")
def key_counter_alg(c: Call, seed: Value) -> list[Value]:
    """StatelessRandomGetKeyCounterAlg(seed) -> key, counter, alg; Tseed"""
    return [*key_counter(c, seed), c.b.constant(np.int32(1))]


@tf_op("StatelessRandomGetAlg")
def random_alg(c: Call) -> Value:
    """StatelessRandomGetAlg() -> alg"""
    return c.b.constant(np.int32(1))


@tf_op("StatelessRandomUniformFullInt")
def stateless_full_int(c: Call, shape: Value, seed: Value) -> Value:
    """StatelessRandomUniformFullInt(shape, seed) -> output; dtype, T, Tseed"""
    return _full_int(c, shape, _seed(c, seed), _zero(c))


@tf_op("StatelessRandomUniformFullIntV2")
def stateless_full_int_v2(c: Call, shape: Value, key: Value, counter: Value, alg: Value) -> Value:
    """StatelessRandomUniformFullIntV2(shape, key, counter, alg) -> output; dtype, Tshape"""
    return _full_int(c, shape, *_of_key(c, key, counter))


def _full_int(c: Call, shape: Value, seed: Value, offset: Value) -> Value:
    """All bits drawn: two halves of 32 bits, since numbers are drawn below 2^53."""
    b = c.b
    dtype = c.dtype("dtype")
    sizes = c.sizes(shape)
    assert sizes is not None
    halves = _draw(c, b.ints(2, sizes), seed, offset, INT64, "randint", 0.0, float(1 << 32))
    low, high = (b.Gather(halves, np.int64(i), axis=0) for i in (0, 1))
    whole = b.BitwiseOr(b.Mul(high, np.int64(1 << 32)), low)
    if dtype.bits == 64:
        return whole if dtype == INT64 else b.BitCast(whole, to=dtype)
    unsigned = c.cast(low, DType.of("uint32"))
    return unsigned if dtype.name == "uint32" else b.BitCast(unsigned, to=dtype)


def _of_key(c: Call, key: Value, counter: Value) -> tuple[Value, Value]:
    seed = c.reshape(c.b.BitCast(key, to=INT64), ())
    return seed, c.cast(c.b.Gather(counter, np.int64(0), axis=0), INT64)


def _zero(c: Call) -> Value:
    return c.number(0, INT64)


@tf_op("StatelessRandomUniform")
def stateless_uniform(c: Call, shape: Value, seed: Value) -> Value:
    """StatelessRandomUniform(shape, seed) -> output; dtype, T, Tseed"""
    return _draw(c, shape, _seed(c, seed), _zero(c), c.dtype("dtype"), "uniform", 0.0, 1.0)


@tf_op("StatelessRandomNormal")
def stateless_normal(c: Call, shape: Value, seed: Value) -> Value:
    """StatelessRandomNormal(shape, seed) -> output; dtype, T, Tseed"""
    return _draw(c, shape, _seed(c, seed), _zero(c), c.dtype("dtype"), "normal", 0.0, 1.0)


@tf_op("StatelessTruncatedNormal")
def stateless_truncated(c: Call, shape: Value, seed: Value) -> Value:
    """StatelessTruncatedNormal(shape, seed) -> output; dtype, T, Tseed"""
    return _truncated(c, _draw(c, shape, _seed(c, seed), _zero(c), c.dtype("dtype"), "uniform", 0.0, 1.0))


@tf_op("StatelessRandomUniformInt")
def stateless_uniform_int(c: Call, shape: Value, seed: Value, minval: Value, maxval: Value) -> Value:
    """StatelessRandomUniformInt(shape, seed, minval, maxval) -> output; dtype, T, Tseed"""
    low, high = c.whole(minval, "a bound"), c.whole(maxval, "a bound")
    return _draw(c, shape, _seed(c, seed), _zero(c), minval.dtype, "randint", float(low), float(high))


@tf_op("StatelessRandomUniformV2")
def stateless_uniform_v2(c: Call, shape: Value, key: Value, counter: Value, alg: Value) -> Value:
    """StatelessRandomUniformV2(shape, key, counter, alg) -> output; dtype, Tshape"""
    return _draw(c, shape, *_of_key(c, key, counter), c.dtype("dtype"), "uniform", 0.0, 1.0)


@tf_op("StatelessRandomNormalV2")
def stateless_normal_v2(c: Call, shape: Value, key: Value, counter: Value, alg: Value) -> Value:
    """StatelessRandomNormalV2(shape, key, counter, alg) -> output; dtype, Tshape"""
    return _draw(c, shape, *_of_key(c, key, counter), c.dtype("dtype"), "normal", 0.0, 1.0)


@tf_op("StatelessTruncatedNormalV2")
def stateless_truncated_v2(c: Call, shape: Value, key: Value, counter: Value, alg: Value) -> Value:
    """StatelessTruncatedNormalV2(shape, key, counter, alg) -> output; dtype, Tshape"""
    return _truncated(c, _draw(c, shape, *_of_key(c, key, counter), c.dtype("dtype"), "uniform", 0.0, 1.0))


@tf_op("StatelessRandomUniformIntV2")
def stateless_uniform_int_v2(
    c: Call, shape: Value, key: Value, counter: Value, alg: Value, minval: Value, maxval: Value
) -> Value:
    """StatelessRandomUniformIntV2(shape, key, counter, alg, minval, maxval) -> output; dtype, Tshape"""
    low, high = c.whole(minval, "a bound"), c.whole(maxval, "a bound")
    return _draw(c, shape, *_of_key(c, key, counter), minval.dtype, "randint", float(low), float(high))


@tf_op("RandomShuffle")
def random_shuffle(c: Call, value: Value) -> Value:
    """RandomShuffle(value) -> output; seed, seed2, T"""
    count = c.b.ints(value.shape[0])
    return _shuffled(c, value, _draw(c, count, *_stateful(c, count), _FLOAT, "uniform", 0.0, 1.0))


@tf_op("StatelessShuffle")
def stateless_shuffle(c: Call, value: Value, key: Value, counter: Value, alg: Value) -> Value:
    """StatelessShuffle(value, key, counter, alg) -> output; T"""
    count = c.b.ints(value.shape[0])
    return _shuffled(c, value, _draw(c, count, *_of_key(c, key, counter), _FLOAT, "uniform", 0.0, 1.0))


def _shuffled(c: Call, x: Value, order: Value) -> Value:
    return c.b.Gather(x, c.b.ge.Sort(order, axis=0)[1], axis=0)


@tf_op("Multinomial")
def multinomial(c: Call, logits: Value, num_samples: Value) -> Value:
    """Multinomial(logits, num_samples) -> output; seed, seed2, T, output_dtype"""
    return _sampled(c, logits, num_samples, lambda shape: _stateful(c, shape))


@tf_op("StatelessMultinomial")
def stateless_multinomial(c: Call, logits: Value, num_samples: Value, seed: Value) -> Value:
    """StatelessMultinomial(logits, num_samples, seed) -> output; T, Tseed, output_dtype"""
    return _sampled(c, logits, num_samples, lambda shape: (_seed(c, seed), _zero(c)))


def _sampled(c: Call, logits: Value, num_samples: Value, source: Callable[[Value], tuple[Value, Value]]) -> Value:
    """Classes drawn by the largest of logits with Gumbel noise."""
    b = c.b
    batch, classes = logits.shape
    shape = b.ints(batch, c.size(num_samples), classes)
    seed, offset = source(shape)
    uniform = _draw(c, shape, seed, offset, _FLOAT, "uniform", 1e-20, 1.0)
    noise = b.Neg(b.Log(b.Neg(b.Log(uniform))))
    found = b.ArgMax(b.Add(c.unsqueeze(c.cast(logits, _FLOAT), 1), noise), axis=2, keepdims=0)
    return c.cast(found, c.dtype("output_dtype"))
