"""Primitives of MindSpore's newer functions that its CPU has too."""

from __future__ import annotations

from tests.frontends.mindspore.agreement import Variant
from tests.frontends.mindspore.variants.arrays import bools, ints, positive, real, values

VARIANTS: list[Variant] = []


def _v(op: str, *rows: tuple[str, str, object]) -> None:
    for init, call, arrays in rows:
        VARIANTS.append(Variant(op, init, call, arrays if isinstance(arrays, tuple) else (arrays,)))


_i = values([[0, 2], [1, 0]], "int64")
_boxes = values([[0, 0, 4, 5], [1, 2, 6, 7], [3, 3, 9, 8]])
_truth = values([[1, 1, 5, 5], [0, 2, 7, 9], [2, 2, 6, 6]])
_one, _zero = "mindspore.Tensor(1)", "mindspore.Tensor(0)"
_low = values([[2.0, 0, 0], [1, 3, 0], [0.5, -1, 1.5]])

_v("LogSoftmaxExt", *(("", "x, 0, None", a) for a in (real(2, 3), real(4), real(1, 2))))
_v("AddV2", *(("", "x, y", (a, a)) for a in (real(2, 3), ints(4), real(1))))
for _op in ("AddExt", "SubExt"):
    _v(_op, ("", "x, y, 1", (real(2, 3), real(2, 3))), ("", "x, y, 2", (real(2, 1), real(3))),
       ("", "x, y, 3", (ints(4), ints(4))))  # fmt: skip
for _op in ("SumExt", "MeanExt"):
    _v(_op, ("", "x, None, False, None", real(2, 3)), ("", "x, (0,), True, None", real(2, 3)),
       ("", "x, (0, 1), False, dtype.float32", real(2, 3, 2)))  # fmt: skip
_v("ProdExt", ("", "x, None, False, None", real(2, 3)), ("", "x, 0, True, None", real(2, 3)),
   ("", "x, 1, False, dtype.float32", real(2, 3)))  # fmt: skip
_v("ClampScalar", ("", "x, -0.5, 0.5", real(2, 3)), ("", "x, None, 0.5", real(4)), ("", "x, 1, 3", ints(6)))
_v("ClampTensor", ("", "x, y, z", (real(2, 3), real(1), real(1))), ("", "x, None, z", (real(4), real(1), real(1))),
   ("", "x, y, None", (real(4), real(1))))  # fmt: skip
_v("DivMod", ("", "x, y, 'trunc'", (real(2, 3, scale=5), positive(2, 3))),
   ("", "x, y, 'floor'", (real(2, 3, scale=5), positive(3))), ("", "x, y, None", (real(4), positive(4))))  # fmt: skip
_v("FlattenExt", ("", "x, 0, -1", real(2, 3)), ("", "x, 1, 2", real(2, 3, 4)), ("", "x, -2, -1", ints(2, 1, 3)))
for _op in ("MaxDim", "MinDim"):
    _v(_op, ("", "x, 0, False", real(2, 3)), ("", "x, -1, True", real(2, 3)), ("", "x, 1, False", ints(2, 3)))
for _op in ("NewOnes", "NewZeros"):
    _v(_op, ("", "x, (2, 3), None", real(2)), ("", "x, (4,), dtype.int32", real(2)), ("", "x, (1,), None", ints(2)))
_v("NonZeroExt", ("", "x", ints(2, 3, low=0, high=2)), ("", "x", bools(4)), ("", "x", values([0.0, 1.0])))
_v("OneHotExt", ("-1", f"x, 3, {_one}, {_zero}", values([0, 2], "int64")),
   ("-1", f"x, 4, {_one}, {_zero}", values([[0], [3]], "int64")),
   ("-1", f"x, 2, {_one}, {_zero}", values([1], "int64")))  # fmt: skip
_v("Scatter", ("", "x, 0, y, z, 'none'", (real(3, 2), _i, real(2, 2))),
   ("", "x, 1, y, z, 'add'", (real(2, 3), _i, real(2, 2))),
   ("", "x, -1, y, z, 'none'", (ints(2, 3), _i, ints(2, 2))))  # fmt: skip
_v("ScatterValue", ("", "x, 0, y, 2.5, 'none'", (real(3, 2), _i)), ("", "x, 1, y, 1.5, 'add'", (real(2, 3), _i)),
   ("", "x, -1, y, 3, 'none'", (ints(2, 3), _i)))  # fmt: skip
_v("RangeV2", ("", "x, y, z", (values(0, "int32"), values(5, "int32"), values(2, "int32"))),
   ("", "x, y, z", (values(5.0), values(-1.0), values(-1.5))),
   ("", "x, y, z", (values(1, "int64"), values(4, "int64"), values(1, "int64"))))  # fmt: skip
_v(
    "BatchMatMulExt",
    *(
        ("", "x, y", p)
        for p in ((real(2, 2, 3), real(2, 3, 4)), (real(1, 2, 3), real(1, 3, 1)), (real(3, 1, 1), real(3, 1, 2)))
    ),
)
_v("MatMulExt", *(("", "x, y", p) for p in ((real(2, 3), real(3, 4)), (real(2, 2, 3), real(3)), (real(3), real(3)))))
_v("SequenceConcat", *((init, "(x, y)", (real(2, 3), real(2, 3))) for init in ("0", "1", "-1")))
for _op in ("InplaceAddExt", "InplaceSubExt"):
    _v(_op, ("", "x, y, 1", (real(2, 3), real(2, 3))), ("", "x, y, 2", (real(2, 3), real(3))),
       ("", "x, y, 1", (ints(4), ints(1))))  # fmt: skip
for _op in ("InplaceMul", "InplaceDiv"):
    _v(
        _op,
        *(("", "x, y", p) for p in ((real(2, 3), positive(2, 3)), (real(2, 3), positive(3)), (real(4), positive(1)))),
    )
_v("Divs", ("", "x, 2.0", real(2, 3)), ("", "x, -4.0", real(4)), ("", "x, 3", real(1)))
_v("Muls", ("", "x, 2.0", real(2, 3)), ("", "x, -4", ints(4)), ("", "x, 3", real(1)))
for _op in ("LessScalar", "GreaterEqualScalar", "EqScalar"):
    _v(_op, ("", "x, 2", ints(4)), ("", "x, 0.5", real(2, 3)), ("", "x, 0", real(1)))
for _op in ("AddScalar", "SubScalar"):
    _v(_op, ("", "x, 2, 1", ints(4)), ("", "x, 0.5, 2", real(2, 3)), ("", "x, 1, 1", real(1)))
_v("PowTensorScalar", ("", "x, 2", real(2, 3)), ("", "x, 0.5", positive(4)), ("", "x, 3", real(1)))
_v("PowScalarTensor", ("", "2, x", real(2, 3)), ("", "0.5, x", positive(4)), ("", "3, x", real(1)))

_v(
    "AdjustContrastv2",
    *(
        ("", "x, y", (a, values(f)))
        for a, f in ((positive(2, 4, 3), 2.0), (positive(1, 2, 2, 3), 0.5), (positive(3, 3, 3), 0.0))
    ),
)
_v(
    "BoundingBoxEncode",
    *(
        (init, "x, y", (_boxes, _truth))
        for init in ("", "(0.1, 0.2, 0.0, 0.0), (0.5, 0.5, 2.0, 2.0)", "(0.0, 0.0, 0.1, 0.1)")
    ),
)
_v(
    "BoundingBoxDecode",
    *(
        (init, "x, y", (_boxes, real(3, 4, scale=0.3)))
        for init in ("(32, 48)", "(8, 6)", "(16, 16), (0.1, 0.0, 0.0, 0.2), (0.5, 1.0, 2.0, 1.0)")
    ),
)
_v("IOU", ("", "x, y", (_boxes, _truth)), ('"iof"', "x, y", (_boxes, _truth)), ("", "x, y", (_boxes, _truth[:1])))
_v("MultiMarginLoss", ("", "x, y, z", (real(2, 3), values([0, 2], "int64"), positive(3))),
   ("2, 0.5, 'sum'", "x, y, z", (real(2, 3), values([1, 2], "int64"), positive(3))),
   ("1, 1.0, 'none'", "x, y, z", (real(4, 3), values([1, 2, 0, 0], "int64"), positive(3))))  # fmt: skip
_v("Mvlgamma", ("2", "x", positive(2, 3, low=2)), ("1", "x", positive(4, low=2)), ("3", "x", positive(2, low=2)))
_v(
    "CholeskySolve",
    *((init, "x, y", (real(3, 2), m)) for init, m in (("False", _low), ("True", _low.T.copy()), ("False", _low * 2))),
)
_v("CholeskyInverse", *((init, "x", m) for init, m in (("False", _low), ("True", _low.T.copy()), ("False", _low * 2))))
_v(
    "MatrixTriangularSolve",
    *((init, "x, y", (m, real(3, 2))) for init, m in (("", _low), ("False", _low.T.copy()), ("True, True", _low))),
)
_v("LogMatrixDeterminant", *(("", "x", a) for a in (real(3, 3), real(2, 2, 2), _low)))
_v(
    "Correlate",
    *((f"'{mode}'", "x, y", (real(7), real(3))) for mode in ("valid", "same", "full")),
    ("'same'", "x, y", (real(7), real(4))),
)
for _op in ("FFTShift", "IFFTShift"):
    _v(_op, ("", "x, None", real(5, 4)), ("", "x, (0,)", real(5, 2)), ("", "x, (-1,)", real(2, 6)))
