"""Random tensors. The numbers are other ones than Paddle's; their distributions are the same."""

from __future__ import annotations

from collections.abc import Sequence

from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import FLOAT32, INT64, Call, Sizes
from ..registry import pd


def _drawn(c: Call, shape: Value, distribution: str, dtype: DType, seed: int, low: float, high: float) -> Value:
    """Random numbers; each operator of the model has a stream of its own."""
    b = c.b
    stream = c.converter.next_stream()
    wide = FLOAT32 if dtype.is_float and dtype.bits == 16 else dtype
    found: Value = b.ge.Random(
        shape, b.scalar(int(seed)), b.scalar(stream << 40), dtype=wide, distribution=distribution, low=float(low),
        high=float(high),
    )  # fmt: skip
    return c.cast(found, dtype)


@pd("gaussian")
def gaussian(c: Call, shape: Sizes, *, mean: float, std: float, seed: int, dtype: DType | None = None) -> Value:
    """gaussian(shape, *, mean, std, seed, dtype, place={}) -> out"""
    return _drawn(c, c.vector(shape), "normal", c.dtype(), seed, mean, std)


@pd("uniform")
def uniform(c: Call, shape: Sizes, min: Value, max: Value, *, seed: int = 0, dtype: DType | None = None) -> Value:
    """uniform(shape, min, max, *, dtype, seed, place={}) -> out"""
    low, high = c.number(min), c.number(max)
    if low is None or high is None:
        raise c.unsupported("bounds that are computed", "give the bounds as numbers")
    return _drawn(c, c.vector(shape), "uniform", c.dtype(), seed, low, high)


@pd("randint")
def randint(c: Call, shape: Sizes, *, low: int, high: int, seed: int = 0, dtype: DType | None = None) -> Value:
    """randint(shape, *, low, high, dtype=phi::DataType::INT64, place={}) -> out"""
    return c.cast(_drawn(c, c.vector(shape), "randint", INT64, seed, low, high), c.dtype())


@pd("bernoulli")
def bernoulli(c: Call, x: Value) -> Value:
    """bernoulli(x) -> out"""
    drawn = _drawn(c, c.b.Shape(x), "uniform", FLOAT32, 0, 0.0, 1.0)
    return c.cast(c.b.Less(drawn, c.cast(x, FLOAT32)), x.dtype)


@pd("randperm")
def randperm(c: Call, *, n: int, dtype: DType | None = None) -> Value:
    """randperm(*, n, dtype, place={}) -> out"""
    drawn = _drawn(c, c.b.ints(n), "uniform", FLOAT32, 0, 0.0, 1.0)
    _, places = c.b.ge.Sort(drawn, axis=0, descending=0)
    return c.cast(places, c.dtype())


@pd("uniform_random_batch_size_like", ignores=("diag_num", "diag_step", "diag_val"))
def uniform_random_batch_size_like(
    c: Call,
    input: Value,
    *,
    shape: Sequence[int],
    input_dim_idx: int = 0,
    output_dim_idx: int = 0,
    min: float = -1.0,
    max: float = 1.0,
    seed: int = 0,
    dtype: DType | None = None,
) -> Value:
    """uniform_random_batch_size_like(input, *, shape, input_dim_idx=0, output_dim_idx=0, min=-1.0f, max=1.0f, seed=0,
    diag_num=0, diag_step=0, diag_val=1.0f, dtype=phi::DataType::FLOAT32) -> out
    """
    sizes: list[Size] = list(shape)
    sizes[output_dim_idx] = input.shape[input_dim_idx]
    return _drawn(c, c.b.ints(sizes), "uniform", c.dtype(), seed, min, max)
