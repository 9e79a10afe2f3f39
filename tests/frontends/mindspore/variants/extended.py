"""Primitives of MindSpore's newer functions that its CPU has too."""

from __future__ import annotations

from tests.frontends.mindspore.agreement import Variant
from tests.frontends.mindspore.variants.arrays import bools, ints, positive, real, unit, values

VARIANTS: list[Variant] = []


def _v(op: str, *rows: tuple[str, str, object]) -> None:
    for init, call, arrays in rows:
        VARIANTS.append(Variant(op, init, call, arrays if isinstance(arrays, tuple) else (arrays,)))


for _op in ("AcosExt", "AsinExt"):
    _v(_op, *(("", "x", a) for a in (unit(2, 3), unit(4), unit(1, 2))))
for _op in ("AcoshExt",):
    _v(_op, *(("", "x", a) for a in (positive(2, 3, low=1.1), positive(4, low=1.1), positive(1, low=2))))
for _op in ("AsinhExt", "AtanExt", "Exp2", "IsNegInf", "InplaceSiLU", "MishExt", "SeLUExt", "LogSoftmaxExt"):
    _v(_op, *(("", "x" if "Soft" not in _op else "x, 0, None", a) for a in (real(2, 3), real(4), real(1, 2))))
_v(
    "AddV2",
    ("", "x, y", (real(2, 3), real(2, 3))),
    ("", "x, y", (ints(4), ints(1))),
    ("", "x, y", (real(2, 1), real(3))),
)
for _op in ("AddExt", "SubExt"):
    _v(
        _op,
        ("", "x, y, 1", (real(2, 3), real(2, 3))),
        ("", "x, y, 2", (real(2, 1), real(3))),
        ("", "x, y, 3", (ints(4), ints(4))),
    )
for _op in ("SumExt", "MeanExt"):
    _v(
        _op,
        ("", "x, None, False, None", real(2, 3)),
        ("", "x, (0,), True, None", real(2, 3)),
        ("", "x, (0, 1), False, dtype.float32", real(2, 3, 2)),
    )
_v(
    "ProdExt",
    ("", "x, None, False, None", real(2, 3)),
    ("", "x, 0, True, None", real(2, 3)),
    ("", "x, 1, False, dtype.float32", real(2, 3)),
)
_v("ClampScalar", ("", "x, -0.5, 0.5", real(2, 3)), ("", "x, None, 0.5", real(4)), ("", "x, 1, 3", ints(6)))
_v(
    "ClampTensor",
    ("", "x, y, z", (real(2, 3), real(1), real(1))),
    ("", "x, None, z", (real(4), real(1), real(1))),
    ("", "x, y, None", (real(4), real(1))),
)
_v(
    "DivMod",
    ("", "x, y, 1", (real(2, 3, scale=5), positive(2, 3))),
    ("", "x, y, 2", (real(2, 3, scale=5), positive(3))),
    ("", "x, y, None", (real(4), positive(4))),
)
_v("FlattenExt", ("", "x, 0, -1", real(2, 3)), ("", "x, 1, 2", real(2, 3, 4)), ("", "x, -2, -1", ints(2, 1, 3)))
_v("MaxDim", ("", "x, 0, False", real(2, 3)), ("", "x, -1, True", real(2, 3)), ("", "x, 1, False", ints(2, 3)))
_v("MinDim", ("", "x, 0, False", real(2, 3)), ("", "x, -1, True", real(2, 3)), ("", "x, 1, False", ints(2, 3)))
_v("Narrow", ("", "x, 0, 1, 2", real(4, 3)), ("", "x, 1, 0, 1", real(4, 3)), ("", "x, -1, 2, 1", ints(2, 3)))
_v("NewOnes", ("", "x, (2, 3), None", real(2)), ("", "x, (4,), dtype.int32", real(2)), ("", "x, (1,), None", ints(2)))
_v("NewZeros", ("", "x, (2, 3), None", real(2)), ("", "x, (4,), dtype.int32", real(2)), ("", "x, (1,), None", ints(2)))
_v("NonZeroExt", ("", "x", ints(2, 3, low=0, high=2)), ("", "x", bools(4)), ("", "x", values([0.0, 1.0])))
_v(
    "OneHotExt",
    ("", "x, 3, mindspore.Tensor(1), mindspore.Tensor(0), -1", values([0, 2], "int64")),
    ("", "x, 4, mindspore.Tensor(1), mindspore.Tensor(0), -1", values([[0], [3]], "int64")),
    ("", "x, 2, mindspore.Tensor(1), mindspore.Tensor(0), -1", values([1], "int64")),
)
_i = values([[0, 2], [1, 0]], "int64")
_v(
    "Scatter",
    ("", "x, 0, y, z, 0", (real(3, 2), _i, real(2, 2))),
    ("", "x, 1, y, z, 1", (real(2, 3), _i, real(2, 2))),
    ("", "x, -1, y, z, 0", (ints(2, 3), _i, ints(2, 2))),
)
_v(
    "ScatterValue",
    ("", "x, 0, y, 2.5, 0", (real(3, 2), _i)),
    ("", "x, 1, y, 1.5, 1", (real(2, 3), _i)),
    ("", "x, -1, y, 3, 0", (ints(2, 3), _i)),
)
_v(
    "RangeV2",
    ("", "x, y, z", (values(0, "int32"), values(5, "int32"), values(2, "int32"))),
    ("", "x, y, z", (values(5.0), values(-1.0), values(-1.5))),
    ("", "x, y, z", (values(1, "int64"), values(4, "int64"), values(1, "int64"))),
)
_v(
    "AvgPool1D",
    ("", "x, (2,), (2,), (0,), False, True", real(1, 2, 6)),
    ("", "x, (3,), (1,), (1,), False, False", real(1, 2, 6)),
    ("", "x, (2,), (2,), (0,), True, True", real(1, 2, 5)),
)
_v(
    "BatchMatMulExt",
    ("", "x, y", (real(2, 2, 3), real(2, 3, 4))),
    ("", "x, y", (real(1, 2, 3), real(1, 3, 1))),
    ("", "x, y", (real(3, 1, 1), real(3, 1, 2))),
)
_v(
    "MatMulExt",
    ("", "x, y", (real(2, 3), real(3, 4))),
    ("", "x, y", (real(2, 2, 3), real(3))),
    ("", "x, y", (real(3), real(3))),
)
_v(
    "InstanceNormV2",
    *(
        (
            "",
            "x, y, z, w, u",
            (real(2, 3, 4, 5), positive(2, 3, 1, 1), real(2, 3, 1, 1), real(2, 3, 1, 1), positive(2, 3, 1, 1)),
        ),
    )
    * 1,
)
_v("SequenceStack", *((init, "(x, y)", (real(2, 3), real(2, 3))) for init in ("0", "1", "-1")))
_v("SequenceConcat", *((init, "(x, y)", (real(2, 3), real(2, 3))) for init in ("0", "1", "-1")))
_v("SequenceUnstack", *((init, "x", real(2, 3)) for init in ("0", "1", "-1")))
_v(
    "MixedPrecisionCast",
    ("", "dtype.float16, x", real(2, 3)),
    ("", "dtype.float32, x", real(4, dtype="float16")),
    ("", "dtype.float32, x", real(2)),
)
_v(
    "AddcmulExt",
    ("", "x, y, z, 2.0", (real(2, 3), real(2, 3), real(2, 3))),
    ("", "x, y, z, 0.5", (real(2, 1), real(3), real(3))),
    ("", "x, y, z, 1.0", (real(4), real(4), real(4))),
)
for _op in ("InplaceAddExt", "InplaceSubExt"):
    _v(
        _op,
        ("", "x, y, 1", (real(2, 3), real(2, 3))),
        ("", "x, y, 2", (real(2, 3), real(3))),
        ("", "x, y, 1", (ints(4), ints(1))),
    )
for _op in ("InplaceMul", "InplaceDiv"):
    _v(
        _op,
        ("", "x, y", (real(2, 3), positive(2, 3))),
        ("", "x, y", (real(2, 3), positive(3))),
        ("", "x, y", (real(4), positive(1))),
    )
_v("Divs", ("", "x, 2.0", real(2, 3)), ("", "x, -4.0", real(4)), ("", "x, 3", real(1)))
_v("Muls", ("", "x, 2.0", real(2, 3)), ("", "x, -4", ints(4)), ("", "x, 3", real(1)))
_v("LessScalar", ("", "x, 2", ints(4)), ("", "x, 0.5", real(2, 3)), ("", "x, 0", real(1)))
_v("GreaterEqualScalar", ("", "x, 2", ints(4)), ("", "x, 0.5", real(2, 3)), ("", "x, 0", real(1)))
_v("EqScalar", ("", "x, 2", ints(4)), ("", "x, 0.5", real(2, 3)), ("", "x, 0", real(1)))
_v("AddScalar", ("", "x, 2, 1", ints(4)), ("", "x, 0.5, 2", real(2, 3)), ("", "x, 1, 1", real(1)))
_v("SubScalar", ("", "x, 2, 1", ints(4)), ("", "x, 0.5, 2", real(2, 3)), ("", "x, 1, 1", real(1)))
_v("PowTensorScalar", ("", "x, 2", real(2, 3)), ("", "x, 0.5", positive(4)), ("", "x, 3", real(1)))
_v("PowScalarTensor", ("", "2, x", real(2, 3)), ("", "0.5, x", positive(4)), ("", "3, x", real(1)))
_v("BatchNormExt", ("", "x, y, z, w, u, False, 0.1, 1e-5", (real(2, 3, 2), positive(3), real(3), real(3), positive(3))))
_v("Any", *(("", "x", a) for a in (bools(2, 3), bools(1), bools(4))))
