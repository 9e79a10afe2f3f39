"""Writes to parameters."""

from __future__ import annotations

from tests.frontends.mindspore.agreement import State, Variant
from tests.frontends.mindspore.variants.arrays import ints, real, values

VARIANTS: list[Variant] = []


def _v(op: str, *rows: tuple[str, str, object]) -> None:
    for init, call, arrays in rows:
        VARIANTS.append(Variant(op, init, call, arrays if isinstance(arrays, tuple) else (arrays,)))


for _op in ("Assign", "AssignAdd", "AssignSub"):
    _v(
        _op,
        ("", "x, y", (State(real(2, 3)), real(2, 3))),
        ("", "x, y", (State(ints(4)), ints(4))),
        ("", "x, y", (State(real(1)), real(1))),
    )
for _op in ("ScatterUpdate", "ScatterAdd", "ScatterSub", "ScatterMul", "ScatterMax", "ScatterMin"):
    _v(
        _op,
        ("", "x, y, z", (State(real(4, 3)), values([2, 0], "int32"), real(2, 3))),
        ("", "x, y, z", (State(real(4)), values([[1, 3]], "int32"), real(1, 2))),
        ("", "x, y, z", (State(real(3, 2, 2)), values([1], "int32"), real(1, 2, 2))),
    )
for _op in ("ScatterNdUpdate", "ScatterNdAdd", "ScatterNdSub", "ScatterNdMul", "ScatterNdMax", "ScatterNdMin"):
    _v(
        _op,
        ("", "x, y, z", (State(real(4, 3)), values([[2], [0]], "int32"), real(2, 3))),
        ("", "x, y, z", (State(real(3, 2)), values([[0, 1], [2, 0]], "int32"), real(2))),
        ("", "x, y, z", (State(real(4)), values([[1], [3]], "int32"), real(2))),
    )
_v(
    "IndexAdd",
    ("0", "x, y, z", (State(real(3, 2)), values([2, 0], "int32"), real(2, 2))),
    ("1", "x, y, z", (State(real(2, 3)), values([1], "int32"), real(2, 1))),
    ("-1", "x, y, z", (State(real(2, 3)), values([0, 2], "int32"), real(2, 2))),
)
_v(
    "InplaceIndexAdd",
    ("0", "x, y, z", (State(real(3, 2)), values([2, 0], "int32"), real(2, 2))),
    ("1", "x, y, z", (State(real(2, 3)), values([1], "int32"), real(2, 1))),
    ("-1", "x, y, z", (State(real(2, 3)), values([0, 2], "int32"), real(2, 2))),
)
