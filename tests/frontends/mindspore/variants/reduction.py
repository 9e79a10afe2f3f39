"""Reductions."""

from __future__ import annotations

from tests.frontends.mindspore.agreement import Variant
from tests.frontends.mindspore.variants.arrays import bools, ints, positive, real, values

VARIANTS: list[Variant] = []

_AXES = (("False", "x, ()", real(2, 3)), ("True", "x, 1", real(2, 3, 4)),
         ("False", "x, (0, -1)", real(3, 2, 2)))  # fmt: skip
for _op in ("ReduceSum", "ReduceMean", "ReduceProd", "ReduceMax", "ReduceMin"):
    for _init, _call, _array in _AXES:
        VARIANTS.append(Variant(_op, _init, _call, (_array,)))
VARIANTS.append(Variant("ReduceMax", "False", "x, 0", (ints(3, 2),)))
for _op in ("ReduceAll", "ReduceAny"):
    for _init, _call, _array in (
        ("False", "x, ()", bools(2, 3)),
        ("True", "x, 1", bools(2, 3)),
        ("False", "x, 0", bools(3)),
    ):
        VARIANTS.append(Variant(_op, _init, _call, (_array,)))
for _init, _array in (
    ("(), True, False", real(2, 3)),
    ("1, False, True", real(2, 3)),
    ("(0, 1), True, False", real(2, 3, 4)),
):
    VARIANTS.append(Variant("ReduceStd", _init, "x", (_array,)))
for _init, _array in (
    ("0, 2, False, 1e-12", real(2, 3)),
    ("1, 1, True, 1e-12", real(2, 3)),
    ("[0, 1], 3, False, 1e-12", real(2, 3)),
):
    VARIANTS.append(Variant("LpNorm", _init, "x", (_array,)))
for _array in (real(2, 3), real(4), positive(2, 1, 2)):
    VARIANTS.append(Variant("L2Loss", "", "x", (_array,)))
for _op in ("CumSum", "CumProd"):
    for _init, _call, _array in (("", "x, 0", real(2, 3)), ("True, False", "x, 1", real(2, 3)),
                                 ("False, True", "x, -1", real(4)),
                                 ("True, True", "x, 0", real(4))):  # fmt: skip
        VARIANTS.append(Variant(_op, _init, _call, (_array,)))
for _call, _array in (
    ("x, mindspore.Tensor(0)", real(2, 3)),
    ("x, mindspore.Tensor(1)", real(2, 3)),
    ("x, mindspore.Tensor(-1)", real(4)),
):
    VARIANTS.append(Variant("CumulativeLogsumexp", "", _call, (_array,)))
VARIANTS += [
    *(Variant("Cummax", str(axis), "x", (a,)) for axis, a in ((0, real(4)), (1, real(2, 5)), (-1, ints(2, 4)))),
    *(Variant("Cummin", str(axis), "x", (a,)) for axis, a in ((0, real(4)), (1, real(2, 5)), (-1, ints(2, 4)))),
    *(Variant(op, str(axis), "x", (a,)) for op in ("Argmax", "Argmin")
      for axis, a in ((-1, real(2, 5)), (0, real(3, 2)), (1, real(2, 3, 4)))),
    *(Variant(op, init, "x", (a,)) for op in ("ArgMaxWithValue", "ArgMinWithValue")
      for init, a in (("-1", real(2, 5)), ("0, True", real(3, 2)), ("1", real(2, 3, 4)))),
    *(Variant(op, "", "x", (a,)) for op in ("Max", "Min") for a in (real(2, 3), real(4), values([1.0, 3.0, -2.0]))),
]  # fmt: skip
