"""Reference kernels of random numbers: Philox 4x32 with 10 rounds (Salmon et al., 2011).

Block b is the cipher of the counter offset + b (64 bits; the upper two words are 0) under the key seed (64 bits). An
element takes one 32-bit word, in order: element i is word i % 4 of block i // 4. Elements of float64, and integers
from a range over 2^32, take two words, the lower half first; normal ones a pair of words for two elements.
"""

from __future__ import annotations

import math

import numpy as np

from ge_core.errors import ExecutionError
from ge_core.ir.dtype import DType
from ge_core.ops.registry import kernel
from ge_core.reference.call import Call
from ge_core.reference.cast import convert

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
# Random bits of a uniform number: those that the type represents exactly in [0, 1).
BITS = {"float16": 11, "bfloat16": 8, "float32": 24}


def philox(seed: int, offset: int, words: int) -> np.ndarray:
    """The first 32-bit words of the stream (uint32)."""
    blocks = -(-words // 4)
    counter = np.uint64(offset % (1 << 64)) + np.arange(blocks, dtype=np.uint64)
    c0, c1 = counter & _LOW, counter >> _HALF
    c2, c3 = np.zeros_like(c0), np.zeros_like(c0)
    k0, k1 = seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF
    for _ in range(10):
        first, second = c0 * np.uint64(MULTIPLIERS[0]), c2 * np.uint64(MULTIPLIERS[1])
        c0, c1, c2, c3 = (
            (second >> _HALF) ^ c1 ^ np.uint64(k0),
            second & _LOW,
            (first >> _HALF) ^ c3 ^ np.uint64(k1),
            first & _LOW,
        )
        k0, k1 = (k0 + KEY_STEPS[0]) & 0xFFFFFFFF, (k1 + KEY_STEPS[1]) & 0xFFFFFFFF
    return np.stack([c0, c1, c2, c3], axis=1).astype(np.uint32).ravel()[:words]


def _doubled(words: np.ndarray) -> np.ndarray:
    """Pairs of words as 64-bit numbers, the lower half first."""
    pairs = words.reshape(-1, 2).astype(np.uint64)
    return pairs[:, 0] | (pairs[:, 1] << _HALF)


def uniform(seed: int, offset: int, count: int, dtype: DType) -> np.ndarray:
    """Numbers in [0, 1), as multiples of 2^-53 for float64, else of the type's own step below 1 (as float32)."""
    if dtype.name == "float64":
        return (_doubled(philox(seed, offset, 2 * count)) >> np.uint64(11)) * 2.0**-53
    bits = BITS[dtype.name]
    words = philox(seed, offset, count) >> np.uint32(32 - bits)
    return words.astype(np.float32) * np.float32(2.0**-bits)


def normal(seed: int, offset: int, count: int, dtype: DType) -> np.ndarray:
    """Standard normal numbers by Box and Muller: sqrt(-2 ln(1 - u)) times cos and sin of 2 pi v."""
    base = dtype if dtype.name == "float64" else DType.of("float32")
    u = uniform(seed, offset, count + count % 2, base).reshape(-1, 2).astype(np.float64)
    radius, angle = np.sqrt(-2 * np.log1p(-u[:, 0])), 2 * math.pi * u[:, 1]
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).ravel()[:count]


def _integers(seed: int, offset: int, count: int, low: int, high: int) -> np.ndarray:
    span = high - low
    if span <= 1 << 32:
        words = philox(seed, offset, count).astype(np.uint64)
        return ((words * np.uint64(span)) >> _HALF).astype(np.int64) + low
    return (_doubled(philox(seed, offset, 2 * count)) % np.uint64(span)).astype(np.int64) + low


@kernel("ge.Random")
def random(call: Call, shape: np.ndarray, seed: np.ndarray, offset: np.ndarray) -> np.ndarray:
    sizes = tuple(int(n) for n in shape)
    count = math.prod(sizes)
    key, start = int(seed.reshape(())) % (1 << 64), int(offset.reshape(()))
    distribution, dtype = call.attr("distribution"), call.dtype()
    low, high = call.attr("low"), call.attr("high")
    if distribution == "randint":
        return convert(_integers(key, start, count, int(low), int(high)), dtype).reshape(sizes)
    if distribution == "bernoulli":
        hits = uniform(key, start, count, DType.of("float32")) < np.float32(high)
        return convert(hits, dtype).reshape(sizes)
    if distribution == "normal":
        return convert(normal(key, start, count, dtype) * high + low, dtype).reshape(sizes)
    values = uniform(key, start, count, dtype)
    spread = convert(values * values.dtype.type(high - low) + values.dtype.type(low), dtype)
    # rounding may reach the open end
    return np.where(spread < convert(np.array(high), dtype), spread, convert(np.array(low), dtype)).reshape(sizes)


@kernel("RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli", "Multinomial")
def refused(call: Call, *_: np.ndarray) -> np.ndarray:
    raise call.error(
        ExecutionError,
        "the numbers of this operator are not defined, so that no target could agree with another: "
        "use ge.Random with a seed",
    )
