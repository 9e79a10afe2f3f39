"""Primitives that MindSpore's CPU has no kernel for, though documentation of some function names the CPU.

`tools/coverage_mindspore.py` asks MindSpore for each of them, and leaves out those that it still refuses.
"""

from __future__ import annotations

from tests.frontends.mindspore.agreement import Variant
from tests.frontends.mindspore.variants.arrays import ints, positive, real, unit, values

_X = real(2, 3)

REFUSED: list[Variant] = [
    *(Variant(op, "", "x", (unit(2, 3),)) for op in ("AcosExt", "AsinExt", "AsinhExt", "AtanExt", "Exp2", "IsNegInf",
                                                     "InplaceSiLU", "MishExt", "SeLUExt", "Frac")),
    *(Variant(op, "", "x", (positive(2, 3, low=1.1),)) for op in ("AcoshExt", "Log2", "Log10")),
    *(Variant(op, "", "x, y", (_X, _X)) for op in ("LogAddExp", "LogAddExp2")),
    Variant("BitwiseNot", "", "x", (ints(4),)),
    Variant("CountNonZero", "(0,)", "x", (ints(4),)),
    Variant("ExpandAs", "", "x, y", (real(3), _X)),
    Variant("LogSigmoid", "", "x", (_X,)),
    Variant("LogSumExp", "", "x, (0,), False", (_X,)),
    Variant("AddcmulExt", "", "x, y, z, 2.0", (_X, _X, _X)),
    Variant("AvgPool1D", "", "x, (2,), (2,), (0,), False, True", (real(1, 2, 6),)),
    Variant("BatchNormExt", "", "x, y, z, w, u, False, 0.1, 1e-5", (_X, real(3), real(3), real(3), positive(3))),
    Variant("IndexSelect", "", "x, 0, y", (_X, values([1], "int64"))),
    Variant("LayerNormExt", "", "x, (3,), y, z, 1e-5", (_X, real(3), real(3))),
    Variant("Narrow", "", "x, 0, 1, 1", (_X,)),
    Variant("Roll", "1, 0", "x", (_X,)),
    Variant("SequenceMask", "", "x, 5", (values([1, 3], "int64"),)),
    Variant("SoftMarginLoss", "", "x, y", (_X, _X)),
    *(Variant(op, "", "x, None, -1, None", (_X,)) for op in ("FFT", "IFFT", "RFFT", "HFFT", "IHFFT", "IRFFT")),
    *(Variant(op, "", "x, None, None, None", (_X,)) for op in ("FFT2", "FFTN", "IFFT2", "IFFTN", "RFFT2", "RFFTN",
                                                               "HFFT2", "HFFTN", "IHFFT2", "IHFFTN", "IRFFT2",
                                                               "IRFFTN")),
    Variant("SolveTriangular", "", "x, y, 0, True, False", (_X[:, :2].copy(), _X)),
    Variant("Geqrf", "", "x", (_X,)),
]  # fmt: skip
