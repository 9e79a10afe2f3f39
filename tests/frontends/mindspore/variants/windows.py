"""Convolutions, pools, resizes."""

from __future__ import annotations

from tests.frontends.mindspore.agreement import Variant
from tests.frontends.mindspore.variants.arrays import real, unit, values

VARIANTS: list[Variant] = []


def _v(op: str, *rows: tuple[str, str, object], tolerance: float | None = None) -> None:
    for init, call, arrays in rows:
        VARIANTS.append(Variant(op, init, call, arrays if isinstance(arrays, tuple) else (arrays,), tolerance))


_v(
    "Conv2D",
    ("4, 3", "x, y", (real(1, 2, 6, 7), real(4, 2, 3, 3))),
    ('4, 3, pad_mode="same", stride=2', "x, y", (real(2, 2, 6, 7), real(4, 2, 3, 3))),
    ('4, (3, 2), pad_mode="pad", pad=(1, 2, 0, 1), group=2', "x, y", (real(1, 2, 6, 7), real(4, 1, 3, 2))),
    ("2, 3, dilation=2", "x, y", (real(1, 1, 7, 7), real(2, 1, 3, 3))),
)
_v(
    "Conv3D",
    ("4, 3", "x, y", (real(1, 2, 4, 4, 5), real(4, 2, 3, 3, 3))),
    ('4, 3, pad_mode="same", stride=2', "x, y", (real(1, 2, 4, 5, 4), real(4, 2, 3, 3, 3))),
    ('2, (1, 2, 3), pad_mode="pad", pad=1', "x, y", (real(1, 1, 3, 4, 4), real(2, 1, 1, 2, 3))),
)
_v(
    "Conv2DTranspose",
    ("2, 3", "x, y, (1, 2, 6, 7)", (real(1, 4, 4, 5), real(4, 2, 3, 3))),
    ('2, 3, pad_mode="same", stride=2', "x, y, (1, 2, 8, 6)", (real(1, 4, 4, 3), real(4, 2, 3, 3))),
    ('2, 3, pad_mode="pad", pad=1, stride=2', "x, y, (1, 2, 7, 5)", (real(1, 4, 4, 3), real(4, 2, 3, 3))),
)
_v(
    "Conv3DTranspose",
    ("4, 2, 3", "x, y", (real(1, 4, 2, 3, 2), real(4, 2, 3, 3, 3))),
    ('4, 2, 2, pad_mode="pad", pad=1, stride=2', "x, y", (real(1, 4, 3, 3, 2), real(4, 2, 2, 2, 2))),
    ("4, 1, (1, 2, 2), stride=(1, 2, 2)", "x, y", (real(1, 4, 2, 2, 2), real(4, 1, 1, 2, 2))),
)
_v(
    "MaxPool",
    ("2, 2", "x", real(1, 2, 5, 6)),
    ('3, 2, "same"', "x", real(2, 1, 5, 6)),
    ('(2, 3), (1, 2), "valid"', "x", real(1, 1, 4, 7)),
)
_v(
    "AvgPool",
    ("2, 2", "x", real(1, 2, 5, 6)),
    ('3, 2, "same"', "x", real(2, 1, 5, 6)),
    ('(2, 3), (1, 2), "valid"', "x", real(1, 1, 4, 7)),
)
_v(
    "MaxPool3D",
    ("2, 2", "x", real(1, 2, 4, 5, 4)),
    ('3, 2, "same"', "x", real(1, 1, 4, 5, 4)),
    ('2, 1, "pad", 1', "x", real(1, 1, 3, 3, 3)),
)
_v(
    "AvgPool3D",
    ("2, 2", "x", real(1, 2, 4, 5, 4)),
    ('3, 2, "same"', "x", real(1, 1, 4, 5, 4)),
    ('2, 2, "pad", 1', "x", real(1, 1, 3, 3, 3)),
    ('2, 2, "pad", 1, False, False', "x", real(1, 1, 3, 3, 3)),
)
_v(
    "MaxPoolWithArgmaxV2",
    ("2, 2", "x", real(1, 2, 4, 6)),
    ("3, 2, 1", "x", real(1, 2, 5, 5)),
    ("2, 1, 0, (2, 1)", "x", real(1, 1, 5, 4)),
)
_v(
    "MaxPool3DWithArgmax",
    ("2, 2, 0", "x", real(1, 2, 4, 4, 4)),
    ("3, 2, 1", "x", real(1, 1, 4, 5, 4)),
    ("2, 1, 0", "x", real(1, 1, 3, 3, 3)),
)
_v(
    "AdaptiveAvgPool2D",
    ("(2, 3)", "x", real(1, 2, 5, 7)),
    ("1", "x", real(2, 3, 4, 4)),
    ("(2, None)", "x", real(3, 4, 5)),
)
_v(
    "AdaptiveAvgPool3D",
    ("(2, 3, 2)", "x", real(1, 2, 4, 5, 4)),
    ("1", "x", real(1, 3, 2, 4, 4)),
    ("(2, 2, 1)", "x", real(2, 4, 4, 3)),
)
_v(
    "AdaptiveMaxPool2D",
    ("(2, 3)", "x", real(1, 2, 5, 7)),
    ("(1, 1)", "x", real(2, 3, 4, 4)),
    ("(3, 2)", "x", real(3, 4, 5)),
)
_v(
    "AdaptiveMaxPool3D",
    ("", "x, mindspore.Tensor([2, 3, 2], dtype.int32)", real(1, 2, 4, 5, 4)),
    ("", "x, mindspore.Tensor([1, 1, 1], dtype.int32)", real(1, 2, 4, 5, 4)),
    ("", "x, mindspore.Tensor([2, 2, 1], dtype.int32)", real(2, 4, 4, 3)),
)
_v(
    "MaxUnpool2D",
    ("2, 2", "x, y", (real(1, 1, 2, 2), values([[[[0, 3], [8, 15]]]], "int64"))),
    ("2, 2", "x, y", (real(1, 2, 1, 2), values([[[[1, 2]], [[4, 7]]]], "int64"))),
    ("3, 2", "x, y", (real(1, 1, 1, 2), values([[[[1, 5]]]], "int64"))),
)
_v(
    "MaxUnpool3D",
    ("2, 2", "x, y", (real(1, 1, 1, 2, 1), values([[[[[3], [14]]]]], "int64"))),
    ("2, 2", "x, y", (real(1, 1, 1, 1, 1), values([[[[[7]]]]], "int64"))),
    ("2, 2", "x, y", (real(1, 2, 1, 1, 1), values([[[[[7]]], [[[0]]]]], "int64"))),
)
_v(
    "Im2Col",
    ("2, 1, 1, 0", "x", real(1, 2, 4, 5)),
    ("(2, 3), 2, 1, 1", "x", real(1, 2, 4, 5)),
    ("2, 1, 2, 0", "x", real(1, 1, 5, 4)),
)
_v(
    "Col2Im",
    ("(2, 2), (1, 1), (0, 0), (1, 1)", "x, mindspore.Tensor([3, 4], dtype.int32)", real(1, 2, 4, 6)),
    ("(2, 2), (1, 1), (0, 0), (2, 2)", "x, mindspore.Tensor([4, 4], dtype.int32)", real(1, 2, 4, 4)),
    ("(2, 2), (1, 1), (1, 1), (1, 1)", "x, mindspore.Tensor([3, 3], dtype.int32)", real(1, 1, 4, 16)),
)
_v(
    "ResizeBilinearV2",
    ("", "x, (5, 7)", real(1, 2, 3, 4)),
    ("True, False", "x, (5, 7)", real(1, 2, 3, 4)),
    ("False, True", "x, (2, 9)", real(1, 1, 3, 4)),
)
_v(
    "ResizeNearestNeighborV2",
    ("", "x, (5, 7)", real(1, 2, 3, 4)),
    ("True, False", "x, (5, 7)", real(1, 2, 3, 4)),
    ("False, True", "x, (2, 9)", real(1, 1, 3, 4)),
)
_v(
    "ResizeNearestNeighbor",
    ("(5, 7)", "x", real(1, 2, 3, 4)),
    ("(5, 7), True", "x", real(1, 2, 3, 4)),
    ("(2, 9)", "x", real(1, 1, 3, 4)),
)
_v(
    "ResizeBicubic",
    ("", "x, (5, 7)", real(1, 2, 3, 4)),
    ("True, False", "x, (5, 7)", real(1, 2, 3, 4)),
    ("False, True", "x, (2, 9)", real(1, 1, 3, 4)),
    tolerance=2e-3,  # MindSpore looks the weights up in a table of 1024 places
)
_v(
    "ResizeLinear1D",
    ("", "x, (7,)", real(1, 2, 4)),
    ('"half_pixel"', "x, (7,)", real(1, 2, 4)),
    ('"half_pixel"', "x, (2,)", real(2, 1, 5)),
)
_v(
    "UpsampleNearest3D",
    ("", "x, (3, 4, 5), None", real(1, 2, 2, 3, 2)),
    ("", "x, None, (2.0, 1.5, 2.0)", real(1, 1, 2, 2, 2)),
    ("", "x, (1, 2, 2), None", real(1, 1, 2, 3, 2)),
)
_v(
    "UpsampleTrilinear3D",
    ("", "x, (3, 4, 5), None", real(1, 2, 2, 3, 2)),
    ("True", "x, (3, 4, 5), None", real(1, 1, 2, 2, 2)),
    ("", "x, (1, 2, 2), None", real(1, 1, 2, 3, 2)),
)
_v(
    "GridSampler2D",
    ("", "x, y", (real(1, 2, 4, 5), unit(1, 3, 2, 2))),
    ('"nearest", "border", True', "x, y", (real(1, 2, 4, 5), unit(1, 3, 2, 2))),
    ('"bilinear", "reflection", False', "x, y", (real(2, 1, 3, 3), real(2, 2, 2, 2))),
)
_v(
    "GridSampler3D",
    ("", "x, y", (real(1, 2, 3, 4, 5), unit(1, 2, 3, 2, 3))),
    ('"nearest", "border", True', "x, y", (real(1, 2, 3, 4, 5), unit(1, 2, 3, 2, 3))),
    ('"bilinear", "reflection", False', "x, y", (real(1, 1, 3, 3, 2), real(1, 2, 2, 2, 3))),
)
_v(
    "AffineGrid",
    ("", "x, (2, 3, 4, 5)", real(2, 2, 3)),
    ("True", "x, (1, 3, 4, 5)", real(1, 2, 3)),
    ("", "x, (1, 1, 2, 3, 4)", real(1, 3, 4)),
)
