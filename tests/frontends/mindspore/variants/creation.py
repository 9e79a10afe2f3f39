"""New tensors, and diagonals."""

from __future__ import annotations

from tests.frontends.mindspore.agreement import Variant
from tests.frontends.mindspore.variants.arrays import ints, real, values

VARIANTS: list[Variant] = []


def _v(op: str, *rows: tuple[str, str, object]) -> None:
    for init, call, arrays in rows:
        VARIANTS.append(Variant(op, init, call, arrays if isinstance(arrays, tuple) else (arrays,)))


_v("Eye", ("", "3, 4, dtype.float32", ()), ("", "2, 2, dtype.int32", ()), ("", "1, 3, dtype.bool_", ()))
_v(
    "Range",
    ("", "x, y, z", (values(0, "int64"), values(5, "int64"), values(2, "int64"))),
    ("", "x, y, z", (values(5.0), values(-1.0), values(-1.5))),
    ("", "x, y, z", (values(1, "int32"), values(4, "int32"), values(1, "int32"))),
)
_v(
    "LinSpace",
    ("", "x, y, 5", (values(0.0), values(1.0))),
    ("", "x, y, 1", (values(2.0), values(3.0))),
    ("", "x, y, 4", (values(3.0), values(-1.0))),
)
_v(
    "LogSpace",
    ("5", "x, y", (values(0.0), values(2.0))),
    ("3, 2", "x, y", (values(1.0), values(3.0))),
    ("1", "x, y", (values(1.0), values(3.0))),
)
_v(
    "BartlettWindow",
    ("", "mindspore.Tensor(5)", ()),
    ("False", "mindspore.Tensor(6)", ()),
    ("", "mindspore.Tensor(1)", ()),
)
_v(
    "BlackmanWindow",
    ("", "mindspore.Tensor(5)", ()),
    ("False", "mindspore.Tensor(6)", ()),
    ("", "mindspore.Tensor(1)", ()),
)
_v(
    "HammingWindow",
    ("", "mindspore.Tensor([5])", ()),
    ("False", "mindspore.Tensor([6])", ()),
    ("True, 0.6, 0.4", "mindspore.Tensor([4])", ()),
)
_v("TrilIndices", ("3, 4", "", ()), ("3, 4, 1", "", ()), ("2, 5, -1", "", ()))
_v("TriuIndices", ("3, 4", "", ()), ("3, 4, 1", "", ()), ("2, 5, -1", "", ()))
_v("Diag", ("", "x", real(3)), ("", "x", ints(2)), ("", "x", real(2, 2)))
_v("DiagPart", ("", "x", real(3, 3)), ("", "x", ints(2, 2)), ("", "x", real(2, 3, 2, 3)))
_v("Diagonal", ("", "x", real(3, 4)), ("1", "x", real(3, 4)), ("-1, 1, 2", "x", real(2, 3, 4)))
_v("Trace", ("", "x", real(3, 3)), ("", "x", real(2, 4)), ("", "x", ints(3, 2)))
