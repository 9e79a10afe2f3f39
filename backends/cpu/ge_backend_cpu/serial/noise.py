"""The family "serial.noise": Philox 4x32 with 10 rounds (Salmon et al., 2011), as `ge_core.reference.random` has it.

Operands: seed, offset, result; sizes: elements. A work item is one block of four words.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import family
from ge_backend_cpu.serial.code import Code, Num
from ge_core.ir.dtype import DType, float32, float64, int64

_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
_WORD = 0xFFFFFFFF
BITS = {"float16": 11, "bfloat16": 8, "float32": 24}
"""Random bits of a uniform number: those that the type represents exactly in [0, 1)."""
uint64 = DType.of("uint64")


def _words(c: Code, seed: Num, counter: Num) -> list[Num]:
    """The four words of a block, each in a uint64."""
    shift = c.number(32, uint64)
    c0, c1 = counter & _WORD, counter.call("shr", shift)
    c2 = c3 = c.number(0, uint64)
    k0, k1 = seed & _WORD, seed.call("shr", shift)
    for _ in range(10):
        first, second = c0 * _MULTIPLIERS[0], c2 * _MULTIPLIERS[1]
        c0, c1, c2, c3 = (
            second.call("shr", shift) ^ c1 ^ k0, second & _WORD, first.call("shr", shift) ^ c3 ^ k1, first & _WORD,
        )  # fmt: skip
        k0, k1 = (k0 + _KEY_STEPS[0]) & _WORD, (k1 + _KEY_STEPS[1]) & _WORD
    return [c0, c1, c2, c3]


def _doubled(c: Code, words: list[Num]) -> list[Num]:
    """Pairs of words as 64-bit numbers, the lower half first."""
    return [words[k] | words[k + 1].call("shl", c.number(32, uint64)) for k in (0, 2)]


def _uniform(c: Code, words: list[Num], dtype: DType) -> list[Num]:
    """Numbers in [0, 1)."""
    if dtype.name == "float64":
        found = [v.call("shr", c.number(11, uint64)) for v in _doubled(c, words)]
        return [v.to(int64).to(float64) * 2.0**-53 for v in found]
    bits = BITS[dtype.name]
    return [w.call("shr", c.number(32 - bits, uint64)).to(int64).to(float32) * 2.0**-bits for w in words]


def _normal(c: Code, words: list[Num], dtype: DType) -> list[Num]:
    """Box and Muller: sqrt(-2 ln(1 - u)) times cos and sin of 2 pi v, in float64."""
    base = float64 if dtype.name == "float64" else float32
    found = []
    u = [v.to(float64) for v in _uniform(c, words, base)]
    for k in range(0, len(u), 2):
        radius, angle = ((-u[k]).call("log1p") * -2.0).call("sqrt"), u[k + 1] * (2 * math.pi)
        found += [radius * angle.call("cos"), radius * angle.call("sin")]
    return found


def _integers(c: Code, words: list[Num], low: int, high: int) -> list[Num]:
    span = high - low
    if span <= 1 << 32:
        return [(w * span).call("shr", c.number(32, uint64)).to(int64) + low for w in words]
    return [(v % span).to(int64) + low for v in _doubled(c, words)]


def per_block(parameters: Mapping[str, Any], dtype: DType) -> int:
    """Elements that a block of four words gives."""
    name = parameters["distribution"]
    wide = dtype.name == "float64" if name in ("uniform", "normal") else False
    if name == "randint":
        wide = int(parameters["high"]) - int(parameters["low"]) > 1 << 32
    return 2 if wide else 4


@family("serial.noise")
def emit_noise(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    c = Code(module, symbol, parameters, isa)
    seed, offset, result = c.arrays
    name, low, high = (parameters[key] for key in ("distribution", "low", "high"))
    dtype, count = result.dtype, c.sizes["count"]
    each = per_block(parameters, dtype)
    with c.items() as block:
        words = _words(c, seed[0].to(uint64), (offset[0].to(int64) + block).to(uint64))
        if name == "randint":
            values = [v.to(dtype) for v in _integers(c, words, int(low), int(high))]
        elif name == "bernoulli":
            hits = [u < c.number(high, float32) for u in _uniform(c, words, float32)]
            values = [hit.to(dtype) for hit in hits]
        elif name == "normal":
            values = [(v * high + low).to(dtype) for v in _normal(c, words, dtype)]
        else:
            values = [_spread(c, v, dtype, low, high) for v in _uniform(c, words, dtype)]
        for k, value in enumerate(values):
            at = block * each + k
            with c.when(at < count):
                result[at] = value
    c.finish()


def _spread(c: Code, value: Num, dtype: DType, low: float, high: float) -> Num:
    """A uniform number in [low, high); rounding may reach the open end, which is low then."""
    found = (value * c.number(high - low, value.kind) + c.number(low, value.kind)).to(dtype)
    top, bottom = (c.number(v, float64).to(dtype) for v in (high, low))
    return (found < top).choose(found, bottom)
