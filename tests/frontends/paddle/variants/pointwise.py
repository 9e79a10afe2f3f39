"""Variants of elementwise operators: ranks 0 to 5, empty tensors, special values, integers."""

# ruff: noqa: E501  a line for each form of an operator

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import paddle
from paddle import _C_ops as C
from paddle.nn import functional as F

from tests.frontends.paddle.agreement import Variant
from tests.frontends.paddle.variants.data import INF, SPECIAL, f32, f64, flags, i32, i64, v

_PLAIN: dict[str, Callable[..., Any]] = {
    "sin": paddle.sin, "cos": paddle.cos, "tan": paddle.tan, "sinh": paddle.sinh, "cosh": paddle.cosh,
    "tanh": paddle.tanh, "asinh": paddle.asinh, "atan": paddle.atan, "exp": paddle.exp, "expm1": paddle.expm1,
    "erf": paddle.erf, "sigmoid": F.sigmoid, "logsigmoid": F.log_sigmoid, "silu": F.silu, "softsign": F.softsign,
    "ceil": paddle.ceil, "floor": paddle.floor, "trunc": paddle.trunc, "abs": paddle.abs, "sign": paddle.sign,
    "square": paddle.square, "round": paddle.round, "angle": paddle.angle, "relu": F.relu, "relu6": F.relu6,
    "gelu": F.gelu, "swish": F.swish, "mish": F.mish, "hardsigmoid": F.hardsigmoid, "hardswish": F.hardswish,
    "hardtanh": F.hardtanh, "hardshrink": F.hardshrink, "softshrink": F.softshrink, "tanh_shrink": F.tanhshrink,
    "thresholded_relu": F.thresholded_relu, "softplus": F.softplus, "elu": F.elu, "celu": F.celu, "selu": F.selu,
    "leaky_relu": F.leaky_relu, "stanh": paddle.stanh, "rint": C.rint,
}  # fmt: skip
_POSITIVE: dict[str, Callable[..., Any]] = {
    "log": paddle.log, "log2": paddle.log2, "log10": paddle.log10, "log1p": paddle.log1p, "sqrt": paddle.sqrt,
    "rsqrt": paddle.rsqrt, "reciprocal": paddle.reciprocal, "lgamma": paddle.lgamma, "gammaln": paddle.gammaln,
    "digamma": paddle.digamma, "acosh": lambda x: paddle.acosh(x + 1),
}  # fmt: skip
_UNIT: dict[str, Callable[..., Any]] = {
    "acos": paddle.acos, "asin": paddle.asin, "atanh": paddle.atanh, "erfinv": paddle.erfinv,
}  # fmt: skip
# Where Paddle's answer to a special value is no rule of the operator: the sign of a NaN, gelu of infinities and so on.
_NO_SPECIAL = {"gelu", "mish", "hardswish", "silu", "swish", "tanh_shrink", "sign", "angle", "asinh", "celu", "softsign",
               "selu", "softshrink", "relu", "thresholded_relu", "logsigmoid", "hardsigmoid", "hardtanh", "relu6", "softplus"}  # fmt: skip
_LOOSE = {"digamma": 1e-4, "lgamma": 1e-4, "gammaln": 1e-4, "erfinv": 1e-4}


def _unary(name: str, function: Callable[..., Any], low: float, high: float) -> list[Variant]:
    tol = _LOOSE.get(name)
    made = [
        v(function, f32(2, 3, 4, low=low, high=high), tol=tol),
        v(function, f64(low=low, high=high), tol=tol),
        v(function, f32(0, 3), tol=tol),
        v(function, f32(2, 1, 2, 1, 3, low=low, high=high, seed=3), tol=tol),
    ]
    if low == -2 and name not in _NO_SPECIAL:
        made.append(v(function, SPECIAL, tol=tol))
    return made


UNARY = {
    **{name: _unary(name, f, -2, 2) for name, f in _PLAIN.items()},
    **{name: _unary(name, f, 0.2, 3) for name, f in _POSITIVE.items()},
    **{name: _unary(name, f, -0.9, 0.9) for name, f in _UNIT.items()},
}

WITH_SETTINGS = {
    "round": [v(lambda x: paddle.round(x, 2), f32(5)), v(lambda x: paddle.round(x, -1), f32(5, high=50))],
    "gelu": [v(lambda x: F.gelu(x, approximate=True), f32(3, 4))],
    "hardsigmoid": [v(lambda x: F.hardsigmoid(x, 0.3, 0.4), f32(3, 4))],
    "hardtanh": [v(lambda x: F.hardtanh(x, -0.5, 1.5), f32(3, 4))],
    "hardshrink": [v(lambda x: F.hardshrink(x, 0.9), f32(3, 4))],
    "softshrink": [v(lambda x: F.softshrink(x, 0.9), f32(3, 4))],
    "thresholded_relu": [v(lambda x: F.thresholded_relu(x, 0.3), f32(3, 4)),
                         v(lambda x: F.thresholded_relu(x, 0.3, -1.0), f32(3, 4))],
    "softplus": [v(lambda x: F.softplus(x, 2.0, 1.0), f32(3, 4))],
    "elu": [v(lambda x: F.elu(x, 0.3), f32(3, 4))],
    "celu": [v(lambda x: F.celu(x, 0.3), f32(3, 4))],
    "selu": [v(lambda x: F.selu(x, 1.5, 1.2), f32(3, 4))],
    "leaky_relu": [v(lambda x: F.leaky_relu(x, 0.3), f32(3, 4))],
    "stanh": [v(lambda x: paddle.stanh(x, 0.5, 2.0), f32(3, 4))],
    "rrelu": [v(lambda x, n=n: F.rrelu(x, 0.1, 0.3, training=False), f32(*n)) for n in ((3,), (2, 3), (2, 0))],
    "logit": [v(lambda x, e=e: paddle.logit(x, e), f32(3, 4, low=0.1, high=0.9)) for e in (None, 1e-6, 0.2)],
    "maxout": [v(lambda x: F.maxout(x, 2, 1), f32(2, 6, 3, 3)), v(lambda x: F.maxout(x, 3, 1), f32(2, 6, 3, 3)),
               v(lambda x: F.maxout(x, 2, -1), f32(2, 3, 3, 4))],
    "prelu": [v(F.prelu, f32(2, 3, 4), f32(1)), v(F.prelu, f32(2, 3, 4, 4), f32(3)),
              v(lambda x, w: F.prelu(x, w, data_format="NHWC"), f32(2, 4, 4, 3), f32(3))],
    "swiglu": [v(paddle.incubate.nn.functional.swiglu, f32(2, 6)),
               v(paddle.incubate.nn.functional.swiglu, f32(2, 3), f32(2, 3, seed=1)),
               v(paddle.incubate.nn.functional.swiglu, f32(2, 3, 8))],
    "softmax": [v(F.softmax, f32(2, 3, 4)), v(lambda x: F.softmax(x, 0), f32(2, 3)), v(lambda x: F.softmax(x, 1), f64(2, 3, 2)),
                v(F.softmax, np.array([[1, INF, 2], [3, -INF, 1]], np.float32)[1:])],
    "log_softmax": [v(F.log_softmax, f32(2, 3, 4)), v(lambda x: F.log_softmax(x, 0), f32(2, 3)),
                    v(lambda x: F.log_softmax(x, 1), f64(2, 3, 2))],
    "dropout": [v(lambda x: F.dropout(x, 0.3, training=False), f32(2, 3)),
                v(lambda x: F.dropout(x, 0.3, training=False, mode="downscale_in_infer"), f32(2, 3)),
                v(lambda x: F.dropout(x, 0.5, training=False, mode="downscale_in_infer"), f64(4, 2))],
    "scale": [v(lambda x: paddle.scale(x, 2.0, 1.0), f32(2, 3)), v(lambda x: paddle.scale(x, 2.0, 1.0, False), f32(2, 3)),
              v(lambda x: paddle.scale(x, 3.0, -1.0), i64(4)), v(lambda x, s: paddle.scale(x, s, 0.5), f32(2, 3), f32(1)),
              v(lambda x: paddle.abs(x + 1), i32(3)), v(lambda x: x * 2.5, f64())],
    "pow": [v(lambda x: paddle.pow(x, 2.0), f32(2, 3)), v(lambda x: paddle.pow(x, 3), i64(4)),
            v(lambda x: paddle.pow(x, 0.5), f32(2, 3, low=0)), v(lambda x: x ** -1.0, f64(3, low=1)), v(lambda x: x**1.0, f32())],
    "clip": [v(lambda x: paddle.clip(x, -1, 1), f32(2, 3)), v(lambda x: paddle.clip(x, min=0.5), f32(2, 3)),
             v(lambda x: paddle.clip(x, max=2), i64(5)), v(lambda x: paddle.clip(x, -1.0, 1.0), SPECIAL),
             v(lambda x, a, b: paddle.clip(x, a, b), f32(2, 3), np.float32([-0.5]), np.float32([0.5]))],
    "cast": [v(lambda x: x.astype("int32"), f32(2, 3)), v(lambda x: x.astype("bool"), i64(4)),
             v(lambda x: x.astype("float64"), flags(3)), v(lambda x: x.astype("float16"), f32(2, 2)),
             v(lambda x: x.astype("uint8"), i32(4, low=0, high=9))],
    "isnan": [v(paddle.isnan, SPECIAL), v(paddle.isnan, i64(3)), v(paddle.isnan, f64())],
    "isinf": [v(paddle.isinf, SPECIAL), v(paddle.isinf, i64(3)), v(paddle.isinf, f64())],
    "isfinite": [v(paddle.isfinite, SPECIAL), v(paddle.isfinite, i64(3)), v(paddle.isfinite, f64())],
    "logical_not": [v(paddle.logical_not, flags(3)), v(paddle.logical_not, f32(3)), v(paddle.logical_not, i64(2, 3, low=0, high=2))],
    "bitwise_not": [v(paddle.bitwise_not, flags(3)), v(paddle.bitwise_not, i64(3)), v(paddle.bitwise_not, i32(2, 2))],
    "abs": [v(paddle.abs, i64(5)), v(paddle.abs, i32(2, 3))],
    "sign": [v(paddle.sign, i64(5))],
    "square": [v(paddle.square, i64(5))],
    "ceil": [v(paddle.ceil, i64(5))],
    "floor": [v(paddle.floor, i32(5))],
    "sin": [v(paddle.sin, i32(5))],
    "sqrt": [v(paddle.sqrt, i64(5, low=0))],
    "reciprocal": [v(paddle.reciprocal, np.array([0.0, -0.0, 2.0], np.float32))],
    "log": [v(paddle.log, np.array([0.0, -1.0, INF], np.float32))],
    "label_smooth": [v(lambda x: F.label_smooth(x, epsilon=0.2), f32(2, 4)), v(lambda x: F.label_smooth(x), f64(3, 5), tol=1e-6),
                     v(lambda x, p: F.label_smooth(x, p, 0.1), f32(2, 4), f32(1, 4))],
}  # fmt: skip

_BINARY: dict[str, Callable[..., Any]] = {
    "add": paddle.add, "subtract": paddle.subtract, "multiply": paddle.multiply, "divide": paddle.divide,
    "maximum": paddle.maximum, "minimum": paddle.minimum, "fmax": paddle.fmax, "fmin": paddle.fmin,
    "heaviside": paddle.heaviside, "equal": paddle.equal, "not_equal": paddle.not_equal,
    "less_than": paddle.less_than, "less_equal": paddle.less_equal, "greater_than": paddle.greater_than,
    "greater_equal": paddle.greater_equal,
}  # fmt: skip
_BOTH_KINDS = {"remainder": paddle.remainder, "floor_divide": paddle.floor_divide}


def _numbers(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


BINARY = {
    **{
        name: [
            v(f, f32(2, 3, 4), f32(3, 1, seed=1)),
            v(f, f64(), f64(seed=1)),
            v(f, i64(2, 3), i64(3, seed=2, low=1)),
            v(f, f32(2, 0), f32(1, seed=1)),
            v(f, f32(1, 2, 1, 3, 1), f32(2, 1, 1, 1, 4, seed=5)),
            v(f, np.repeat(SPECIAL, 3), np.tile(np.array([1.0, -INF, INF], np.float32), len(SPECIAL))),
        ]
        for name, f in _BINARY.items()
    },
    **{
        name: [
            v(f, np.array([7, -7, 7, -7, 0]), np.array([3, 3, -3, -3, 5])),
            v(f, _numbers(7, -7, 7.5, -7.5, 0), _numbers(3, 3, -3, -3, 5)),
            v(f, i32(4, 3, low=-9, high=9), i32(3, low=1, high=5)),
            v(f, f64(2, 3), f64(2, 3, seed=4)),
        ]
        for name, f in _BOTH_KINDS.items()
    },
    "elementwise_pow": [
        v(paddle.pow, f32(2, 3, low=0.1), f32(2, 3, seed=1)), v(paddle.pow, f64(3, low=0.5), f64(3)),
        v(paddle.pow, i64(4, low=1), i64(4, low=0, high=3)), v(lambda x: paddle.pow(paddle.to_tensor(2.0), x), f32(3)),
    ],
    "atan2": [v(paddle.atan2, f32(2, 3), f32(2, 3, seed=1)), v(paddle.atan2, f64(3), f64(3, seed=1)),
              v(paddle.atan2, _numbers(0, 0, 1, -1), _numbers(1, -1, 0, 0))],
    "nextafter": [v(paddle.nextafter, f32(2, 3), f32(2, 3, seed=1)), v(paddle.nextafter, f64(3), f64(3, seed=1)),
                  v(paddle.nextafter, _numbers(0, 1, 1), _numbers(1, 1, -1))],
    "copysign": [v(paddle.copysign, f32(2, 3), f32(2, 3, seed=1)), v(paddle.copysign, f64(3), f64(3, seed=1)),
                 v(paddle.copysign, _numbers(1, 2), _numbers(-0.0, 0.0))],
    "trunc_divide": [v(C.trunc_divide, np.array([7, -7, 7, -7]), np.array([3, 3, -3, -3])),
                     v(C.trunc_divide, i32(4), i32(4, low=1)), v(C.trunc_divide, i64(2, 3), i64(3, low=1))],
    **{
        name: [v(f, flags(4), flags(4, seed=1)), v(f, f32(3), f32(3, seed=1)),
               v(f, i64(2, 3, low=0, high=2), i64(3, low=0, high=2, seed=1)), v(f, flags(), flags(seed=2))]
        for name, f in {"logical_and": paddle.logical_and, "logical_or": paddle.logical_or,
                        "logical_xor": paddle.logical_xor}.items()
    },
    **{
        name: [v(f, flags(4), flags(4, seed=1)), v(f, i64(4), i64(4, seed=1)), v(f, i32(2, 3), i32(3, seed=1))]
        for name, f in {"bitwise_and": paddle.bitwise_and, "bitwise_or": paddle.bitwise_or,
                        "bitwise_xor": paddle.bitwise_xor}.items()
    },
    **{
        name: [v(f, i64(4), i64(4, low=0, high=4)), v(f, i32(2, 3), i32(3, low=0, high=4)),
               v(lambda x, y, f=f: f(x, y, False), i32(5), i32(5, low=0, high=9)),
               v(f, i64(4, low=0).astype(np.uint8), i64(4, low=0, high=4).astype(np.uint8))]
        for name, f in {"bitwise_left_shift": paddle.bitwise_left_shift,
                        "bitwise_right_shift": paddle.bitwise_right_shift}.items()
    },
    "where": [v(paddle.where, flags(2, 3), f32(2, 3), f32(2, 3, seed=1)), v(paddle.where, flags(3), i64(3), i64(3, seed=1)),
              v(lambda x: paddle.where(x > 0, x, -x), f64(2, 2))],
    "lerp": [v(paddle.lerp, f32(2, 3), f32(2, 3, seed=1), f32(2, 3, seed=2)), v(lambda x, y: paddle.lerp(x, y, 0.3), f32(4), f32(4, seed=1)),
             v(paddle.lerp, f64(2), f64(2, seed=1), f64(1))],
    "add_n": [v(lambda x, y: paddle.add_n([x, y]), f32(2, 3), f32(2, 3, seed=1)), v(lambda x: paddle.add_n([x]), f32(3)),
              v(lambda x, y, z: paddle.add_n([x, y, z]), f64(3), f64(3, seed=1), f64(3, seed=2))],
    "isclose": [v(paddle.isclose, SPECIAL, SPECIAL + np.float32(1e-9)), v(lambda x, y: paddle.isclose(x, y, equal_nan=True), SPECIAL, SPECIAL),
                v(lambda x, y: paddle.isclose(x, y, 0.1, 0.1), f32(9), f32(9, seed=1)),
                v(paddle.isclose, np.repeat(SPECIAL, 13), np.tile(SPECIAL, 13))],
    "allclose": [v(paddle.allclose, f32(3), f32(3)), v(paddle.allclose, f32(3), f32(3, seed=1)),
                 v(lambda x, y: paddle.allclose(x, y, equal_nan=True), SPECIAL, SPECIAL)],
    "equal_all": [v(paddle.equal_all, f32(3), f32(3)), v(paddle.equal_all, f32(3), f32(3, seed=1)), v(paddle.equal_all, i64(2, 3), i64(2, 3))],
}  # fmt: skip

TABLES = (UNARY, WITH_SETTINGS, BINARY)
