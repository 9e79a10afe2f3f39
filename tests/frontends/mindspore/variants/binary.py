"""Arithmetic, comparisons and logic of two or more tensors."""

from __future__ import annotations

from tests.frontends.mindspore.agreement import Variant
from tests.frontends.mindspore.variants.arrays import bools, ints, positive, real, special, values

VARIANTS: list[Variant] = []


def _pairs(ops: str, *pairs: tuple[object, object], call: str = "x, y", tolerance: float | None = None) -> None:
    for op in ops.split():
        for pair in pairs:
            VARIANTS.append(Variant(op, "", call, pair, tolerance))


_wide = (real(2, 1, 3), real(4, 1))
_pairs("Add Sub Mul", (real(2, 3), real(2, 3)), _wide, (ints(4), ints(4)), (real(2, dtype="float16"),) * 2)
# what MindSpore's CPU gives where a number is NaN is wrong, see test_numbers.py
_finite = values([0.0, -0.0, 1.0, -1.0, float("inf"), float("-inf")])
_pairs("Maximum Minimum", (real(2, 3), real(2, 3)), _wide, (_finite, _finite[::-1].copy()))
_pairs("Div RealDiv", (real(2, 3), positive(2, 3)), (real(2, 1, 3), positive(4, 1)), (_finite[2:], values([0.0] * 4)))
_pairs("FloorDiv FloorMod", (real(2, 3, scale=5), positive(2, 3)), (ints(6), values([1, -2, 3, -4, 5, 2], "int32")),
       (real(2, 1), positive(3)))  # fmt: skip
_pairs("Mod", (real(2, 3, scale=5), positive(2, 3)), (ints(6), values([1, -2, 3, -4, 5, 2], "int32")),
       (real(2, 1), positive(3)))  # fmt: skip
_pairs("TruncateDiv TruncateMod", (ints(6), values([1, -2, 3, -4, 5, 2], "int32")),
       (ints(2, 3), values([2, -3, 4], "int32")), (ints(4, dtype="int8"), values([1, 2, -3, 4], "int8")))  # fmt: skip
_pairs("DivNoNan", (real(2, 3), values([0.0, 1.0, -2.0])), (special(), special()), (real(4), positive(4)))
_pairs("MulNoNan", (real(2, 3), values([0.0, 1.0, -2.0])), (special(), values([0.0] * 10)), (real(4), positive(4)))
_pairs("Xdivy", (values([0.0, 1.0, -2.0]), values([0.0, 2.0, 4.0])), (real(2, 3), positive(3)), (real(4), real(4)))
_pairs("Xlogy", (values([0.0, 1.0, -2.0]), positive(3)), (real(2, 3), positive(3)), (real(2, 1), positive(1, 4)))
_pairs(
    "Pow", (positive(2, 3), real(2, 3)), (positive(2, 1), real(3)), (values([-2.0, -1.0, 3.0]), values([2.0, 3.0, 0.0]))
)
_pairs("Atan2", (real(2, 3), real(2, 3)), (real(2, 1), real(3)), (values([0.0, 1.0, -1.0]), values([-1.0, 0.0, 0.0])))
_pairs("SquaredDifference", (real(2, 3), real(2, 3)), _wide, (ints(4), ints(4)))
_pairs("Hypot", (real(2, 3), real(2, 3)), _wide, (values([0.0, 3e30, 1.0]), values([0.0, 4e30, 0.0])))
_pairs("Heaviside", (values([0.0, -1.0, 2.0]), real(3)), (real(2, 3), real(3)), (ints(4, low=-1, high=2), ints(4)))
_pairs("Fmax", (real(2, 3), real(2, 3)), (special(), special()[::-1].copy()), _wide)
_pairs("Gcd Lcm", (ints(6, low=1, high=40), ints(6, low=1, high=40)), (ints(2, 3, low=1, dtype="int64"),
       ints(3, low=1, dtype="int64")), (ints(4, low=1, high=9), ints(1, low=2, high=9)))  # fmt: skip
_pairs("Equal NotEqual Greater GreaterEqual Less LessEqual", (ints(2, 3, low=0, high=3), ints(2, 3, low=0, high=3)),
       (special(), special()[::-1].copy()), _wide)  # fmt: skip
_pairs("ApproximateEqual", (values([1.0, 2.0]), values([1.000001, 2.1])), (real(2, 3), real(2, 3)), (real(1), real(1)))
_pairs(
    "LogicalAnd LogicalOr LogicalXor", (bools(2, 3), bools(2, 3)), (bools(2, 1), bools(3)), (bools(0, 2), bools(0, 2))
)
_pairs("BitwiseAnd BitwiseOr BitwiseXor", (ints(2, 3), ints(2, 3)), (ints(2, 1, dtype="int16"), ints(3, dtype="int16")),
       (ints(4, dtype="int64"), ints(4, dtype="int64")))  # fmt: skip
_pairs("LeftShift RightShift", (ints(4, low=0), ints(4, low=0, high=5)), (ints(2, 3, dtype="int64"),
       ints(2, 3, low=0, high=5, dtype="int64")),
       (ints(3, dtype="int16"), ints(3, low=0, high=5, dtype="int16")))  # fmt: skip
_pairs("NextAfter", (real(2, 3), real(2, 3)), (real(4, dtype="float64"), real(4, dtype="float64")), (real(2), real(2)))
_pairs("SquareSumAll", (real(2, 3), real(2, 3)), (real(4), real(4)), (real(1, 2, 3), real(1, 2, 3)))
_pairs("EqualCount", (ints(6, low=0, high=2), ints(6, low=0, high=2)), (ints(3), ints(3)), (ints(2, 3), ints(2, 3)))
_pairs("Ger", (real(3), real(4)), (real(1), real(2)), (real(2, dtype="float16"), real(3, dtype="float16")))

for _arrays in (
    (real(2, 3), real(2, 3), positive(2, 3)),
    (real(2, 1), real(3), positive(1)),
    (real(4), real(4), positive(4)),
):
    VARIANTS.append(Variant("Addcdiv", "", "x, y, z, mindspore.Tensor(0.5, dtype.float32)", _arrays))
    VARIANTS.append(Variant("Addcmul", "", "x, y, z, mindspore.Tensor(0.5, dtype.float32)", _arrays))
for _arrays in ((real(2, 3), real(2, 3), real(2, 3)), (real(2, 3), real(3), positive(1)), (real(4), real(4), real(4))):
    VARIANTS.append(Variant("Lerp", "", "x, y, z", _arrays))
for _arrays in (
    (bools(2, 3), real(2, 3), real(2, 3)),
    (bools(4), ints(4), ints(4)),
    (bools(2, 1), real(2, 3), real(3)),
):
    VARIANTS.append(Variant("Select", "", "x, y, z", _arrays))
for _arrays, _value in (
    ((real(2, 3), bools(2, 3)), "0.5"),
    ((ints(4), bools(4)), "3"),
    ((real(2, 3), bools(3)), "-1.0"),
):
    VARIANTS.append(Variant("MaskedFill", "", f"x, y, mindspore.Tensor({_value}, dtype.{_arrays[0].dtype})", _arrays))
for _init, _arrays in (("1e-05, 1e-08, True", (special(), special())), ("0.1, 0.01, True", (real(2, 3), real(2, 3))),
                       ("1e-05, 1e-08, True", (ints(4), ints(4)))):  # fmt: skip
    VARIANTS.append(Variant("IsClose", _init, "x, y", _arrays))
for _arrays in ((real(2, 3), real(2, 3), real(2, 3)), (real(4), real(4)), (ints(3), ints(3), ints(3))):
    _names = ", ".join("xyz"[: len(_arrays)])
    VARIANTS.append(Variant("AddN", "", f"({_names})", _arrays))
