"""Numbers that MindSpore computes with beside the tensors, from sizes that it does not know."""

from __future__ import annotations

from tests.frontends.mindspore.agreement import Sized, Variant
from tests.frontends.mindspore.variants.arrays import real

VARIANTS: list[Variant] = []
_X, _Y, _Z = Sized(real(2, 5)), Sized(real(3, 2)), Sized(real(7, 1))


def _three(op: str, *calls: str) -> None:
    for call in calls:
        arrays = (_X, _Y, _Z)[: 3 if "z" in call else 2 if "y" in call else 1]
        VARIANTS.append(Variant(op, None, call, arrays))


_three("ScalarAdd", "x.shape[0] + 3", "x.shape[0] + y.shape[1]", "x.shape[0] + 0.5")
_three("ScalarSub", "x.shape[1] - 3", "x.shape[0] - y.shape[0]", "1 - x.shape[0]")
_three("ScalarMul", "x.shape[0] * 3", "x.shape[1] * y.shape[0]", "x.shape[0] * 0.5")
_three("ScalarDiv", "x.shape[0] / 4", "x.shape[0] / y.shape[0]", "1 / x.shape[1]")
_three("ScalarFloorDiv", "x.shape[1] // 2", "x.shape[1] // y.shape[0]", "-x.shape[1] // 2")
_three("ScalarMod", "x.shape[1] % 3", "x.shape[1] % y.shape[0]", "-x.shape[1] % 3")
_three("ScalarPow", "x.shape[1] ** 2", "x.shape[0] ** y.shape[0]", "2 ** x.shape[0]")
_three("ScalarUsub", "-x.shape[0]", "-(x.shape[0] + 2)", "-y.shape[1] + x.shape[0]")
_three("ScalarEq", "x.shape[0] == 2", "x.shape[0] == y.shape[0]", "x.shape[1] == 4")
_three("ScalarLt", "x.shape[0] < 2", "x.shape[0] < y.shape[0]", "x.shape[1] < 6")
_three("ScalarLe", "x.shape[0] <= 2", "x.shape[0] <= y.shape[0]", "x.shape[1] <= 4")
_three("ScalarGt", "x.shape[0] > 2", "y.shape[0] > x.shape[0]", "x.shape[1] > 4")
_three("ScalarGe", "x.shape[0] >= 2", "x.shape[0] >= y.shape[0]", "x.shape[1] >= 6")
_three("bit_and", "x.shape[1] & 4", "x.shape[1] & y.shape[0]", "x.shape[0] & 1")
_three("bit_or", "x.shape[1] | 2", "x.shape[1] | y.shape[0]", "x.shape[0] | 1")
_three(
    "ScalarToTensor",
    "mindspore.ops.scalar_to_tensor(x.shape[0], dtype.int64)",
    "mindspore.ops.scalar_to_tensor(x.shape[1], dtype.float32)",
    "mindspore.ops.scalar_to_tensor(x.shape[0] * 2, dtype.int32)",
)
_three(
    "TupleToTensor",
    "mindspore.ops.tuple_to_array(x.shape)",
    "mindspore.ops.tuple_to_array((x.shape[0], 3))",
    "mindspore.ops.tuple_to_array((1, x.shape[1] + 1))",
)
_three("Shape", "x.shape[0]", "x.shape", "y.shape[1]")
_three(
    "TensorShape", "mindspore.ops.TensorShape()(x)", "mindspore.ops.TensorShape()(y)", "mindspore.ops.TensorShape()(z)"
)
_three("Size", "mindspore.ops.Size()(x)", "mindspore.ops.Size()(y)", "mindspore.ops.Size()(z)")
_three(
    "Zeros",
    "mindspore.ops.Zeros()((x.shape[0], 3), dtype.float32)",
    "mindspore.ops.Zeros()((x.shape[1],), dtype.int64)",
    "mindspore.ops.Zeros()(x.shape, dtype.float16)",
)
_three(
    "Ones",
    "mindspore.ops.Ones()((x.shape[0], 3), dtype.float32)",
    "mindspore.ops.Ones()((x.shape[1],), dtype.int64)",
    "mindspore.ops.Ones()(x.shape, dtype.bool_)",
)
_three(
    "FillV2",
    "mindspore.ops.FillV2()((x.shape[0], 3), mindspore.Tensor(1.5))",
    "mindspore.ops.FillV2()((x.shape[1],), mindspore.Tensor(3))",
    "mindspore.ops.FillV2()(x.shape, mindspore.Tensor(True))",
)
_three(
    "Eye",
    "mindspore.ops.Eye()(x.shape[0], 3, dtype.float32)",
    "mindspore.ops.Eye()(x.shape[0], y.shape[0], dtype.int32)",
    "mindspore.ops.Eye()(2, x.shape[1], dtype.bool_)",
)
_three("tuple_equal", "x.shape == y.shape", "x.shape == (2, 5)", "(x.shape[0], 3) == (2, y.shape[0])")
