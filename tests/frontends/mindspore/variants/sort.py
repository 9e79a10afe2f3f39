"""Sorting, searching, counting."""

from __future__ import annotations

from tests.frontends.mindspore.agreement import Variant
from tests.frontends.mindspore.variants.arrays import ints, real, values

VARIANTS: list[Variant] = []


def _v(op: str, *rows: tuple[str, str, object], results: tuple[int, ...] | None = None) -> None:
    for init, call, arrays in rows:
        VARIANTS.append(Variant(op, init, call, arrays if isinstance(arrays, tuple) else (arrays,), None, results))


_v("Sort", ("", "x", real(2, 5)), ("0, True", "x", real(4, 2)), ("-1, False", "x", ints(3, 4, dtype="int32")))
_v("TopK", ("", "x, 2", real(2, 5)), ("", "x, 1", real(4)), ("", "x, 3", values([[3, 1, 2, 7]], "int32")))
_v(
    "Median",
    ("False, 0", "x", real(5, 2)),
    ("False, -1, True", "x", real(2, 4)),
    ("True", "x", real(2, 3)),
    results=(0,),
)
_v(
    "SearchSorted",
    ("", "x, y", (values([1.0, 3.0, 5.0]), real(4, scale=4))),
    ("dtype.int32, True", "x, y", (values([1.0, 3.0, 5.0]), values([1.0, 3.0, 6.0]))),
    ("", "x, y", (values([[1, 3], [2, 4]], "int32"), values([[3], [3]], "int32"))),
)
_v(
    "Bucketize",
    ("[0.0, 1.0, 2.0]", "x", real(2, 3)),
    ("[0.0, 1.0]", "x", values([0.0, 1.0, 5.0])),
    ("[1.0]", "x", ints(4)),
)
_v(
    "Unique",
    ("", "x", ints(8, low=0, high=4)),
    ("", "x", values([3.0, 1.0, 3.0])),
    ("", "x", ints(5, dtype="int64", low=0, high=2)),
)
_v(
    "Bincount",
    ("", "x, mindspore.Tensor(5, dtype.int32), y", (ints(6, low=0, high=4), real(6))),
    ("", "x, mindspore.Tensor(3, dtype.int32), y", (ints(6, low=0, high=4), real(6))),
    ("", "x, mindspore.Tensor(4, dtype.int32), y", (ints(3, low=0, high=4), ints(3))),
)
_v("Histogram", ("5, 0.0, 1.0", "x", real(10)), ("4", "x", real(2, 5)), ("3, -1.0, 1.0", "x", real(8)))
_v(
    "InTopK",
    ("2", "x, y", (real(3, 5), values([0, 3, 4], "int32"))),
    ("1", "x, y", (real(2, 3), values([0, 2], "int32"))),
    ("3", "x, y", (real(2, 3), values([1, 1], "int32"))),
)
