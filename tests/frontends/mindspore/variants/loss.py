"""Losses."""

from __future__ import annotations

from tests.frontends.mindspore.agreement import Variant
from tests.frontends.mindspore.variants.arrays import positive, real, values

VARIANTS: list[Variant] = []


def _v(op: str, *rows: tuple[str, str, object], results: tuple[int, ...] | None = None) -> None:
    for init, call, arrays in rows:
        VARIANTS.append(Variant(op, init, call, arrays if isinstance(arrays, tuple) else (arrays,), 1e-5, results))


_v(
    "SmoothL1Loss",
    ("", "x, y", (real(2, 3), real(2, 3))),
    ('0.5, "mean"', "x, y", (real(2, 3), real(2, 3))),
    ('2.0, "sum"', "x, y", (real(4), real(4))),
)
_v(
    "KLDivLoss",
    ('"none"', "x, y", (real(2, 3), positive(2, 3))),
    ('"mean"', "x, y", (real(2, 3), positive(2, 3))),
    ('"sum"', "x, y", (real(4), values([0.0, 0.5, 0.2, 0.3]))),
)
_p = {"low": 0.1, "high": 0.9}
_v(
    "BinaryCrossEntropy",
    ('"none"', "x, y, z", (positive(2, 3, **_p), positive(2, 3, **_p), positive(2, 3))),
    ('"mean"', "x, y, z", (positive(2, 3, **_p), positive(2, 3, **_p), positive(2, 3))),
    ('"sum"', "x, y, z", (positive(4, **_p), positive(4, **_p), positive(4))),
)
_v(
    "BCEWithLogitsLoss",
    ('"none"', "x, y, z, w", (real(2, 3), positive(2, 3, **_p), positive(2, 3), positive(3))),
    ('"mean"', "x, y, z, w", (real(2, 3), positive(2, 3, **_p), positive(2, 3), positive(3))),
    ('"sum"', "x, y, z, w", (real(4), positive(4, **_p), positive(4), positive(4))),
)
_v(
    "SigmoidCrossEntropyWithLogits",
    ("", "x, y", (real(2, 3), real(2, 3))),
    ("", "x, y", (real(4), real(4))),
    ("", "x, y", (real(1, 2), real(1, 2))),
)
_v(
    "NLLLoss",
    ('"mean"', "x, y, z", (real(3, 4), values([0, 3, 1], "int32"), positive(4))),
    ('"sum"', "x, y, z", (real(3, 4), values([0, 3, 1], "int32"), positive(4))),
    ('"none"', "x, y, z", (real(2, 3), values([2, 2], "int32"), positive(3))),
)
_v(
    "SoftmaxCrossEntropyWithLogits",
    ("", "x, y", (real(2, 3), positive(2, 3))),
    ("", "x, y", (real(4, 2), positive(4, 2))),
    ("", "x, y", (real(1, 5), positive(1, 5))),
)
_v(
    "SparseSoftmaxCrossEntropyWithLogits",
    ("", "x, y", (real(2, 3), values([0, 2], "int32"))),
    ("", "x, y", (real(4, 2), values([0, 1, 1, 0], "int32"))),
    ("", "x, y", (real(1, 5), values([3], "int32"))),
)
