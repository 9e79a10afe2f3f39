"""Element types: what Paddle computes in each, for operators that move, compare and combine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import paddle
import pytest
from paddle.nn import functional as F

from tests.frontends.paddle.agreement import Variant, check_variants

OPERATORS: dict[str, Callable[..., Any]] = {
    "add": lambda x: x + x, "multiply": lambda x: x * x, "max": paddle.max, "sum": lambda x: paddle.sum(x, 0),
    "concat": lambda x: paddle.concat([x, x]), "slice": lambda x: x[1:], "transpose": lambda x: x.transpose([1, 0]),
    "abs": paddle.abs, "less": lambda x: x < x, "where": lambda x: paddle.where(x > 0, x, x),
    "cast": lambda x: x.astype("float32"), "gather": lambda x: paddle.gather(x, paddle.to_tensor([1, 0])),
    "matmul": lambda x: paddle.matmul(x, x, transpose_y=True), "relu": F.relu, "softmax": F.softmax,
    "tanh": paddle.tanh, "exp": paddle.exp, "scale": lambda x: paddle.scale(x, 2.0, 1.0),
    "mean": lambda x: paddle.mean(x, 1), "argmax": lambda x: paddle.argmax(x, 1), "flip": lambda x: paddle.flip(x, [0]),
    "tile": lambda x: paddle.tile(x, [2, 1]), "sort": lambda x: paddle.sort(x, 1), "topk": lambda x: paddle.topk(x, 2),
    "cumsum": lambda x: paddle.cumsum(x, 1), "clip": lambda x: paddle.clip(x, 0, 1),
    "pad": lambda x: F.pad(x.reshape([1, 1, 2, 3]), [1, 1, 1, 1]), "full_like": lambda x: paddle.full_like(x, 1),
    "floor_divide": lambda x: x // 2, "pow": lambda x: x**2, "expand": lambda x: paddle.expand(x, [2, 2, 3]),
}  # fmt: skip

EVERYWHERE = "sum slice transpose less cast full_like floor_divide expand"
# What Paddle's package for CPUs computes, besides.
ALSO = {
    "float16": "concat exp scale tile sort topk",
    "bfloat16": "add multiply max concat abs gather matmul relu softmax tanh exp scale mean sort clip pad pow",
    "float64": " ".join(OPERATORS),
    "int8": "add concat gather tanh scale cumsum",
    "uint8": "add gather tanh scale argmax sort cumsum",
    "int16": "add concat gather tanh scale argmax sort cumsum",
    "int32": " ".join(name for name in OPERATORS if name not in ("relu", "softmax")),
    "int64": " ".join(name for name in OPERATORS if name not in ("relu", "softmax")),
    "bool": "add multiply concat where gather flip tile pow",
}


@pytest.mark.parametrize("dtype", ALSO)
def test_operators_in_an_element_type(dtype: str) -> None:
    kind = np.dtype(ml_dtypes.bfloat16) if dtype == "bfloat16" else np.dtype(dtype)
    numbers = np.array([[1, 2, 3], [4, 0, 1]])
    x = (numbers / 2 if "float" in dtype else numbers).astype(kind)
    names = dict.fromkeys([*EVERYWHERE.split(), *ALSO[dtype].split()])
    check_variants([Variant(OPERATORS[name], (x,)) for name in names])
