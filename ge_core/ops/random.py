"""Type rules of random numbers.

ONNX leaves the numbers themselves open, so that its own operators have types but are refused when run; `ge.Random`
defines every bit.
"""

from __future__ import annotations

from ge_core.ir import dims
from ge_core.ir.dtype import DType
from ge_core.ir.types import TensorType
from ge_core.ops.constraints import float_dtype, require_choice, require_rank
from ge_core.ops.infer import Infer
from ge_core.ops.registry import type_rule

DISTRIBUTIONS = ("uniform", "normal", "bernoulli", "randint")


@type_rule("RandomNormal", "RandomUniform")
def random(c: Infer) -> TensorType:
    return TensorType(c.attr("dtype"), tuple(c.attr("shape")))


@type_rule("RandomNormalLike", "RandomUniformLike", "Bernoulli")
def random_like(c: Infer) -> TensorType:
    dtype: DType = c.attr("dtype") or c.dtype(0)
    return TensorType(dtype, c.tensor(0).shape)


@type_rule("Multinomial")
def multinomial(c: Infer) -> TensorType:
    float_dtype(c, 0)
    require_rank(c, 0, 2)
    return TensorType(c.attr("dtype"), (c.shape(0)[0], c.attr("sample_size")))


@type_rule("ge.Random")
def philox(c: Infer) -> TensorType:
    distribution = require_choice(c, "distribution", DISTRIBUTIONS)
    dtype: DType = c.attr("dtype")
    if distribution in ("uniform", "normal") and not (dtype.is_float and dtype.bits >= 16):
        raise c.error(f"distribution {distribution} gives floating-point numbers of 16 bits or more, not {dtype}")
    if not dtype.is_numeric and dtype.kind != "bool":
        raise c.error(f"does not give {dtype}")
    low, high = c.attr("low"), c.attr("high")
    if distribution in ("uniform", "randint") and not low < high:
        raise c.error(f"the range from {low} to {high} is empty")
    for index in (1, 2):
        if dims.equal(c.tensor(index).elements, 1) is False:
            raise c.error(f"{c.schema.input(index).name} has more than one element")
    require_rank(c, 0, 1)
    shape, rank = c.content(0), c.shape(0)[0]
    if shape is None and not isinstance(rank, int):
        return TensorType(dtype, None)
    assert isinstance(rank, int)
    return TensorType(dtype, shape if shape is not None else tuple(c.data_dim(0, i) for i in range(rank)))
