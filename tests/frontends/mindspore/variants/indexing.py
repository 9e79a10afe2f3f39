"""Gathers and scatters that give a new tensor."""

from __future__ import annotations

from tests.frontends.mindspore.agreement import Variant
from tests.frontends.mindspore.variants.arrays import bools, ints, real, values

VARIANTS: list[Variant] = []


def _v(op: str, *rows: tuple[str, str, object]) -> None:
    for init, call, arrays in rows:
        VARIANTS.append(Variant(op, init, call, arrays if isinstance(arrays, tuple) else (arrays,)))


def _i(data: object) -> object:
    return values(data, "int64")


_v(
    "Gather",
    ("", "x, y, 0", (real(4, 3), _i([3, 0, 1]))),
    ("", "x, y, 1", (real(2, 4), _i([[0, 3], [1, 1]]))),
    ("1", "x, y, 1", (real(2, 4, 3), _i([[0, 3], [1, 1]]))),
    ("", "x, y, -1", (ints(2, 4), values([1], "int32"))),
)
_v(
    "GatherD",
    ("", "x, 0, y", (real(3, 2), _i([[2, 0], [1, 1]]))),
    ("", "x, 1, y", (real(2, 3), _i([[2, 0], [1, 1]]))),
    ("", "x, -1, y", (ints(2, 3), values([[0, 2, 1, 1], [1, 1, 0, 2]], "int32"))),
)
_v(
    "GatherNd",
    ("", "x, y", (real(3, 2), _i([[0, 1], [2, 0]]))),
    ("", "x, y", (real(3, 2), _i([[2], [0]]))),
    ("", "x, y", (real(2, 3, 2), _i([[[0, 1]], [[1, 2]]]))),
)
_v(
    "MaskedSelect",
    ("", "x, y", (real(2, 3), bools(2, 3))),
    ("", "x, y", (ints(4), bools(4))),
    ("", "x, y", (real(2, 3), bools(3))),
)
_v("NonZero", ("", "x", ints(2, 3, low=0, high=2)), ("", "x", bools(4)), ("", "x", values([[0.0, 1.5], [2.0, 0.0]])))
_v(
    "ScatterNd",
    ("", "x, y, (4, 3)", (_i([[0], [2], [0]]), real(3, 3))),
    ("", "x, y, (3, 2)", (_i([[0, 1], [2, 0]]), real(2))),
    ("", "x, y, (5,)", (_i([[1], [1]]), ints(2))),
)
for _op in ("TensorScatterUpdate", "TensorScatterAdd", "TensorScatterMax", "TensorScatterMin", "TensorScatterSub",
            "TensorScatterMul", "TensorScatterDiv"):  # fmt: skip
    _v(
        _op,
        ("", "x, y, z", (real(4, 3), _i([[0], [2]]), real(2, 3))),
        ("", "x, y, z", (real(3, 2), _i([[0, 1], [2, 0]]), real(2))),
        ("", "x, y, z", (real(4), _i([[1], [3]]), real(2))),
    )
_v(
    "TensorScatterElements",
    ("0", "x, y, z", (real(3, 2), _i([[2, 0]]), real(1, 2))),
    ("1", "x, y, z", (real(2, 3), _i([[2], [0]]), real(2, 1))),
    ('0, "add"', "x, y, z", (real(3, 2), _i([[1, 1], [1, 0]]), real(2, 2))),
)
_v(
    "IndexFill",
    ("", "x, 0, y, mindspore.Tensor(2.0, dtype.float32)", (real(3, 2), values([2, 0], "int32"))),
    ("", "x, 1, y, mindspore.Tensor(-1.0, dtype.float32)", (real(2, 3), values([1], "int32"))),
    ("", "x, -1, y, mindspore.Tensor(7, dtype.int32)", (ints(2, 3), values([0, 2], "int32"))),
)
_v(
    "InplaceAdd",
    ("(0, 1)", "x, y", (real(3, 2), real(2, 2))),
    ("(2,)", "x, y", (real(3, 2), real(1, 2))),
    ("(1, 0)", "x, y", (real(3), real(2))),
)
_v(
    "InplaceSub",
    ("(0, 1)", "x, y", (real(3, 2), real(2, 2))),
    ("(2,)", "x, y", (real(3, 2), real(1, 2))),
    ("(1, 0)", "x, y", (real(3), real(2))),
)
_v(
    "InplaceUpdateV2",
    ("", "x, (0, 1), y", (real(3, 2), real(2, 2))),
    ("", "x, (2,), y", (real(3, 2), real(1, 2))),
    ("", "x, (1, 0), y", (real(3), real(2))),
)
_v("FillDiagonal", ("5.0", "x", real(3, 3)), ("2.0, True", "x", real(5, 2)), ("2.0", "x", real(5, 2)))
_v(
    "OneHot",
    ("", "x, 3, mindspore.Tensor(1.0), mindspore.Tensor(0.0)", _i([0, 2, 1])),
    ("0", "x, 4, mindspore.Tensor(2.0), mindspore.Tensor(-1.0)", values([[0, 3], [1, 1]], "int32")),
    ("", "x, 2, mindspore.Tensor(5, dtype.int32), mindspore.Tensor(1, dtype.int32)", _i([1, 0, 4])),
)
for _op in ("UnsortedSegmentSum", "UnsortedSegmentMax", "UnsortedSegmentMin", "UnsortedSegmentProd"):
    _v(
        _op,
        ("", "x, y, 3", (real(4, 2), values([0, 2, 0, 1], "int32"))),
        ("", "x, y, 2", (real(3), values([1, 1, 0], "int32"))),
        ("", "x, y, 2", (real(2, 2, 3), values([[0, 1], [1, 0]], "int32"))),
    )
_v(
    "UnravelIndex",
    ("", "x, mindspore.Tensor([3, 4])", values([2, 7, 11], "int64")),
    ("", "x, mindspore.Tensor([2, 3, 2])", values([2, 7, 11], "int64")),
    ("", "x, mindspore.Tensor([12])", values([2, 7], "int64")),
)
_v(
    "EmbeddingLookup",
    ("", "x, y, 0", (real(4, 3), values([3, 0], "int32"))),
    ("", "x, y, 2", (real(4, 3), values([3, 0, 5], "int32"))),
    ("", "x, y, 1", (real(4, 2), values([[1, 2]], "int32"))),
)
