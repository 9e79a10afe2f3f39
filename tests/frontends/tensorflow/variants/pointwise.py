"""Operators on elements."""

from __future__ import annotations

import numpy as np

from .form import SPECIAL, Variant, b, f, i, k, open_, v

F64 = np.float64


def _unary(low: float | None = None, scale: float = 1.0) -> list[Variant]:
    return [
        v(f(2, 3, low=low, scale=scale)),
        open_(f(4, 1, low=low, scale=scale, seed=1)),
        v(f(5, dtype=F64, low=low, scale=scale)),
        v(f(0, 3, low=low, scale=scale)),
    ]


_ANY = (
    "Abs Ceil Cos Erf Erfc Exp Expm1 Floor Neg Rint Round Sigmoid Sign Sin Square Tanh Softsign Elu Selu Relu "
    "Relu6 Softplus Atan Asinh Cosh Sinh Tan IsFinite IsInf IsNan OnesLike ZerosLike Identity StopGradient "
    "PreventGradient Snapshot DeepCopy"
)
POINTWISE: dict[str, list[Variant]] = {name: _unary() for name in _ANY.split()}
POINTWISE |= {
    name: _unary(0.1, 3) for name in ("Log", "Log1p", "Sqrt", "Rsqrt", "Lgamma", "Digamma", "Reciprocal", "Inv")
}
POINTWISE |= {name: _unary(-0.9, 1.8) for name in ("Acos", "Asin", "Atanh", "Erfinv")}
POINTWISE |= {"Acosh": _unary(1.1, 3), "Ndtri": _unary(0.05, 0.9)}
for _name in (
    "Abs",
    "Ceil",
    "Floor",
    "Sign",
    "Relu",
    "Relu6",
    "Round",
    "Rint",
    "IsFinite",
    "IsInf",
    "IsNan",
    "Sigmoid",
    "Tanh",
    "Softplus",
    "Exp",
    "Sqrt",
    "Square",
    "Neg",
    "Elu",
    "Selu",
    "Erf",
    "Reciprocal",
):
    POINTWISE[_name].append(v(SPECIAL))
for _name in ("Abs", "Neg", "Sign", "Square", "OnesLike", "ZerosLike", "Identity"):
    POINTWISE[_name].append(v(i(3, 4)))

POINTWISE |= {
    "LeakyRelu": [v(f(3, 4)), v(f(2, 2), alpha=0.5), open_(f(5), alpha=0.01), v(SPECIAL)],
    "LogicalNot": [v(b(3, 4)), open_(b(2)), v(b(0, 2))],
    "Invert": [v(i(3, 4)), v(i(5, dtype=np.int8)), open_(i(2, 2, low=0, dtype=np.uint8))],
    "CheckNumerics": [v(f(2, 3), message="x"), open_(f(4), message="x"), v(f(0), message="x")],
    "CheckNumericsV2": [v(f(2, 3), message="x"), open_(f(4), message="x"), v(f(0), message="x")],
    "GuaranteeConst": [v(f(2, 3)), open_(i(4)), v(b(2))],
    "PopulationCount": [v(i(3, 4)), v(i(5, low=0, high=255, dtype=np.uint8)), open_(i(4, dtype=np.int64))],
    "Cast": [
        v(f(3, 4, scale=5), DstT=np.int32),
        v(i(5, low=-2, high=3), DstT=bool),
        open_(i(2, 3), DstT=np.float32),
        v(f(4), DstT=F64),
        v(b(3), DstT=np.float32),
        v(f(4), DstT=np.float16),
        v(i(3, low=0), DstT=np.uint8),
    ],
    "Bitcast": [v(f(3, 4), type=np.int32), v(i(4), type=np.float32), open_(i(3), type=np.uint32)],
    "ClipByValue": [v(f(3, 4), k(-0.5), k(0.5)), v(i(4), k(-2), k(3)), open_(f(2, 3), k(0.0), k(1.0))],
    "ToBool": [v(f()), v(f(3)), v(f(0)), v(i())],
    "Select": [
        v(b(3, 4), f(3, 4), f(3, 4, seed=1)),
        v(b(3), f(3, 4), f(3, 4, seed=1)),
        v(np.array(True), f(2), f(2, seed=1)),
    ],
    "SelectV2": [
        v(b(3, 4), f(3, 4), f(4, seed=1)),
        v(b(3, 1), f(1, 4), f(3, 4, seed=1)),
        open_(b(2), i(2), i(2, seed=1)),
    ],
    "AddN": [v([f(2, 3), f(2, 3, seed=1), f(2, 3, seed=2)]), v([i(4)]), open_([f(3), f(3, seed=1)])],
    "AccumulateNV2": [
        v([f(2, 3), f(2, 3, seed=1)], shape=[2, 3]),
        v([f(4)], shape=[4]),
        v([f(1, 2), f(1, 2)], shape=[1, 2]),
    ],
    "ApproximateEqual": [v(f(3), f(3, seed=1)), v(f(2, 2), f(2, 2)), open_(f(4), f(4, seed=1))],
    "IdentityN": [v([f(2), i(3)]), v([f(1)]), open_([b(2), f(2, 2)])],
    "PlaceholderWithDefault": [v(k(f(2, 3)), shape=[2, 3]), v(k(i(3)), shape=[3]), v(k(1.5), shape=[])],
}


def _binary(low: float | None = None, scale: float = 1.0) -> list[Variant]:
    def n(*shape: int, seed: int = 0, dtype: type = np.float32) -> np.ndarray:
        return f(*shape, low=low, scale=scale, seed=seed, dtype=dtype)

    return [
        v(n(2, 3), n(3, seed=1)),
        v(n(4, 1), n(1, 3, seed=1)),
        open_(n(2, 2), n(2, 2, seed=1)),
        v(n(3, dtype=F64), n(3, seed=1, dtype=F64)),
        v(n(0, 2), n(2, seed=1)),
        v(n(), n(seed=1)),
    ]


_EACH = (
    "Add AddV2 Sub Mul RealDiv Div Maximum Minimum SquaredDifference Equal NotEqual Less LessEqual Greater "
    "GreaterEqual Atan2 DivNoNan FloorDiv FloorMod NextAfter MulNoNan Xdivy"
)
POINTWISE |= {name: _binary() for name in _EACH.split()}
POINTWISE |= {name: _binary(0.1, 2) for name in ("Pow", "Xlogy", "Xlog1py")}
_NEGATIVE = (np.array([-7, 7, -7, 7, 0], np.int32), np.array([3, -3, -3, 3, 5], np.int32))
for _name in (
    "Add",
    "AddV2",
    "Sub",
    "Mul",
    "Div",
    "Maximum",
    "Minimum",
    "Equal",
    "Less",
    "FloorDiv",
    "FloorMod",
    "SquaredDifference",
):
    POINTWISE[_name] += [v(*_NEGATIVE), v(i(3, 4, dtype=np.int64), i(4, low=1, seed=1, dtype=np.int64))]
for _name in ("Add", "Mul", "Maximum", "Minimum", "Less", "Equal", "DivNoNan", "MulNoNan"):
    POINTWISE[_name].append(v(SPECIAL[:, None], SPECIAL))
POINTWISE |= {
    "TruncateDiv": [v(*_NEGATIVE), v(i(3, 4), i(4, low=1, seed=1)), open_(i(2), i(2, low=1, seed=1))],
    "TruncateMod": [v(*_NEGATIVE), v(f(3, 4), f(4, low=0.5, seed=1)), open_(i(2), i(2, low=1, seed=1))],
    "Mod": [v(*_NEGATIVE), v(f(3, 4), f(4, low=0.5, seed=1)), open_(i(2), i(2, low=1, seed=1))],
    "LogicalAnd": [v(b(3, 4), b(4, seed=1)), open_(b(2), b(2, seed=1)), v(b(1), b(3, seed=1))],
    "LogicalOr": [v(b(3, 4), b(4, seed=1)), open_(b(2), b(2, seed=1)), v(b(1), b(3, seed=1))],
    "BitwiseAnd": [
        v(i(3, 4), i(4, seed=1)),
        open_(i(2), i(2, seed=1)),
        v(i(3, dtype=np.int8), i(3, seed=1, dtype=np.int8)),
    ],
    "BitwiseOr": [
        v(i(3, 4), i(4, seed=1)),
        open_(i(2), i(2, seed=1)),
        v(i(3, dtype=np.int8), i(3, seed=1, dtype=np.int8)),
    ],
    "BitwiseXor": [
        v(i(3, 4), i(4, seed=1)),
        open_(i(2), i(2, seed=1)),
        v(i(3, dtype=np.int8), i(3, seed=1, dtype=np.int8)),
    ],
    "LeftShift": [
        v(i(3, 4), i(4, low=0, seed=1)),
        v(i(3, dtype=np.int8), i(3, low=0, high=7, dtype=np.int8)),
        open_(i(2), i(2, low=0)),
    ],
    "RightShift": [
        v(i(3, 4), i(4, low=0, seed=1)),
        v(i(3, low=0, dtype=np.uint8), i(3, low=0, high=7, dtype=np.uint8)),
        open_(i(2), i(2, low=0)),
    ],
    "Pow": [*POINTWISE["Pow"], v(i(4), i(4, low=0, high=4, seed=1)), v(f(3), k(2.0))],
}
