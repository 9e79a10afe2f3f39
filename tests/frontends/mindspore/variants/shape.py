"""Reshapes, transposes, joins, splits, repeats, pads."""

from __future__ import annotations

from tests.frontends.mindspore.agreement import Variant
from tests.frontends.mindspore.variants.arrays import bools, ints, real, values

VARIANTS: list[Variant] = []


def _v(op: str, *rows: tuple[str, str, object]) -> None:
    for init, call, arrays in rows:
        VARIANTS.append(Variant(op, init, call, arrays if isinstance(arrays, tuple) else (arrays,)))


_v(
    "Reshape",
    ("", "x, (3, 2)", real(2, 3)),
    ("", "x, (-1,)", real(2, 3)),
    ("", "x, (0, 4)", real(2, 0)),
    ("", "x, (2, -1, 1)", ints(2, 4)),
)
_v("Flatten", ("", "x", real(2, 3, 4)), ("", "x", real(2, 3)), ("", "x", ints(2, 1, 2)))
_v("Squeeze", ("", "x", real(1, 3, 1)), ("0", "x", real(1, 3, 1)), ("(-1,)", "x", real(2, 1)))
_v("ExpandDims", ("", "x, 0", real(2, 3)), ("", "x, -1", real(2, 3)), ("", "x, 1", ints(4)))
_v(
    "Transpose",
    ("", "x, (1, 0)", real(2, 3)),
    ("", "x, (0, 2, 1)", real(2, 3, 4)),
    ("", "x, (-1, 0, 1)", ints(2, 3, 1)),
)
_v("BroadcastTo", ("(2, 3)", "x", real(3)), ("(2, 4, 3)", "x", real(4, 1)), ("(-1, 3)", "x", real(2, 1)))
_v(
    "Concat",
    ("0", "(x, y)", (real(2, 3), real(1, 3))),
    ("-1", "(x, y)", (real(2, 3), real(2, 1))),
    ("1", "(x, y, z)", (ints(2, 1), ints(2, 2), ints(2, 1))),
)
_v(
    "Stack",
    ("0", "(x, y)", (real(2, 3), real(2, 3))),
    ("-1", "(x, y)", (real(2), real(2))),
    ("1", "(x, y)", (ints(2, 3), ints(2, 3))),
)
_v("Unstack", ("0", "x", real(2, 3)), ("-1", "x", real(2, 3)), ("1", "x", ints(2, 2, 3)))
_v("Split", ("0, 2", "x", real(4, 3)), ("-1, 3", "x", real(2, 3)), ("1, 1", "x", real(2, 3)))
_v("Tile", ("", "x, (2, 1)", real(2, 3)), ("", "x, (2, 1, 3)", real(2, 3)), ("", "x, (3,)", ints(4)))
_v("ReverseV2", ("(0,)", "x", real(3, 2)), ("(0, -1)", "x", real(3, 2)), ("(1,)", "x", ints(2, 3, 1)))
_v(
    "ReverseSequence",
    ("1, 0", "x, y", (real(3, 4), values([1, 4, 2], "int64"))),
    ("0, 1", "x, y", (real(4, 3), values([1, 4, 2], "int64"))),
    ("2, 0", "x, y", (real(2, 3, 4), values([3, 2], "int32"))),
)
_v(
    "Meshgrid",
    ('"xy"', "(x, y)", (real(3), real(4))),
    ('"ij"', "(x, y)", (real(3), real(4))),
    ('"xy"', "(x, y, z)", (real(2), real(3), real(1))),
)
_v("ChannelShuffle", ("2", "x", real(1, 4, 2, 2)), ("3", "x", real(2, 6, 1, 3)), ("1", "x", real(1, 2, 2, 2)))
_v("DepthToSpace", ("2", "x", real(1, 8, 2, 3)), ("3", "x", real(1, 9, 1, 2)), ("2", "x", real(2, 4, 1, 1)))
_v("SpaceToDepth", ("2", "x", real(1, 2, 4, 6)), ("3", "x", real(1, 1, 3, 6)), ("2", "x", real(2, 1, 2, 2)))
_v(
    "SpaceToBatchND",
    ("[2, 2], [[0, 0], [0, 0]]", "x", real(1, 2, 4, 2)),
    ("[2, 1], [[1, 1], [0, 0]]", "x", real(1, 2, 2, 3)),
    ("[1, 3], [[0, 0], [1, 2]]", "x", real(2, 1, 2, 3)),
)
_v(
    "BatchToSpaceND",
    ("[2, 2], [[0, 0], [0, 0]]", "x", real(4, 2, 2, 1)),
    ("[2, 1], [[1, 0], [0, 0]]", "x", real(2, 2, 2, 3)),
    ("[1, 3], [[0, 0], [1, 1]]", "x", real(3, 1, 2, 3)),
)
_v(
    "Pad",
    ("((1, 2), (0, 1))", "x", real(2, 3)),
    ("((0, 0), (1, 0), (2, 0))", "x", real(2, 3, 1)),
    ("((0, 0),)", "x", real(4)),
)
_v(
    "MirrorPad",
    ('"REFLECT"', "x, mindspore.Tensor([[1, 1], [0, 2]])", real(2, 3)),
    ('"SYMMETRIC"', "x, mindspore.Tensor([[1, 2], [0, 1]])", real(2, 3)),
    ('"REFLECT"', "x, mindspore.Tensor([[0, 0], [1, 0], [0, 1]])", real(2, 3, 4)),
)
_v(
    "PadV3",
    ('"constant"', "x, (1, 2), 0.5", real(2, 3)),
    ('"reflect"', "x, (1, 1)", real(1, 2, 3)),
    ('"edge"', "x, (2, 0)", real(1, 2, 3)),
    ('"constant"', "x, (1, 0, 0, 1), 2", ints(2, 3)),
)
_v("Tril", ("0", "x", real(3, 4)), ("1", "x", real(2, 3, 3)), ("-1", "x", ints(3, 2)))
_v("Triu", ("0", "x", real(3, 4)), ("1", "x", real(2, 3, 3)), ("-1", "x", ints(3, 2)))
_v("DynamicBroadcastTo", ("", "x, (2, 3)", real(3)), ("", "x, (2, 4, 3)", real(4, 1)), ("", "x, (2, 2)", ints(2, 1)))
_v(
    "StridedSlice",
    ("", "x, (0, 1), (2, 3), (1, 1)", real(2, 3)),
    ("", "x, (0, 2), (2, 0), (1, -1)", real(2, 3)),
    ("1, 2, 0, 0, 0", "x, (1, 0), (2, 1), (1, 1)", real(3, 4)),
    ("0, 0, 0, 0, 1", "x, (1, 0), (2, 3), (1, 2)", real(3, 4)),
    ("0, 0, 0, 2, 0", "x, (1, 0), (3, 1), (1, 1)", real(3, 4)),
)
_v(
    "Slice",
    ("", "x, (0, 1), (2, 2)", real(2, 3)),
    ("", "x, (1, 0), (1, -1)", real(2, 3)),
    ("", "x, (2,), (1,)", ints(4)),
)
_v("IdentityN", ("", "(x, y)", (real(2), ints(3))), ("", "(x,)", real(2, 3)), ("", "(x, y)", (bools(2), real(1))))
