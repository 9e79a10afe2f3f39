"""Functions of one tensor."""

from __future__ import annotations

from tests.frontends.mindspore.agreement import Variant
from tests.frontends.mindspore.variants.arrays import bools, ints, positive, real, special, unit, values

VARIANTS: list[Variant] = []


def _three(ops: str, *arrays: object, tolerance: float | None = None) -> None:
    for op in ops.split():
        for array in arrays:
            VARIANTS.append(Variant(op, "", "x", (array,), tolerance))


# everywhere, with the numbers at which functions go wrong
_three("Abs Neg Square", real(2, 3), special(), ints(4))
_three("Sign", real(2, 3), values([0.0, -0.0, 2.0, float("-inf")]), ints(4))  # of NaN MindSpore's CPU gives 0
_three("Exp Expm1 Sin Cos Erf Erfc Atan Sinh Cosh Tan", real(2, 3), real(0, 2), real(2, 1, 3))
_three("Floor Ceil Trunc", real(2, 3, scale=3), special(), values([-2.5, -0.5, 0.5, 1.5]))
_three("Rint Round", real(2, 3, scale=3), values([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5]), real(1))
_three("Sqrt Rsqrt Log Reciprocal Inv Log1p", positive(2, 3), positive(5), positive(2, 1, 2))
_three("Asinh", real(2, 3), real(5), real(1, 2, 1))
_three("ACos Asin Atanh", unit(2, 3), unit(5), unit(1, 4))
_three("Acosh", positive(2, 3, low=1.1), positive(4, low=1.0), positive(1, 2, low=2))
_three("Erfinv", unit(2, 3), unit(5), unit(1, 2), tolerance=2e-5)
_three("Digamma Lgamma", positive(2, 3), positive(5), positive(1, 3), tolerance=2e-5)
_three("LogicalNot", bools(2, 3), bools(1), bools(0, 2))
_three("Invert", ints(2, 3, dtype="int16"), ints(4, dtype="int8"), ints(2, dtype="int64"))
_three("IsNan IsInf IsFinite", real(2, 3), special(), special("float16"))
_three("Real Imag Conj", real(2, 3), real(4, dtype="float64"), special())
_three("Sinc", real(2, 3), values([0.0, 1.0, -0.5]), real(1))
_three("PopulationCount", ints(2, 3, dtype="int16"), ints(5, low=0, high=200, dtype="uint8"), ints(4, dtype="int8"))

for _eps, _array in (("0.1", positive(2, 3, low=0.0, high=1.0)), ("-1.0", positive(4, low=0.1, high=0.9)),
                     ("1e-3", values([0.0, 0.5, 1.0]))):  # fmt: skip
    VARIANTS.append(Variant("Logit", _eps, "x", (_array,)))
for _init, _array in (("0.0, 1.0, -1.0", special()), ("None, None, None", special()), ("2.0, None, 5.0", real(2, 3))):
    VARIANTS.append(Variant("NanToNum", _init, "x", (_array,)))
for _to in ("float16", "int32", "bool_", "float64", "int64", "uint8"):
    VARIANTS.append(Variant("Cast", "", f"x, dtype.{_to}", (positive(2, 3, high=100),)))
VARIANTS += [
    Variant("Cast", "", "x, dtype.float32", (ints(2, 3),)),
    Variant("Cast", "", "x, dtype.int32", (bools(4),)),
    Variant("Identity", "", "x", (real(2, 3),)),
    Variant("Identity", "", "x", (ints(4),)),
    Variant("Identity", "", "x", (real(0, 2),)),
]
