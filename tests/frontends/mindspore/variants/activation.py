"""Activations."""

from __future__ import annotations

from tests.frontends.mindspore.agreement import Variant
from tests.frontends.mindspore.variants.arrays import real, values

VARIANTS: list[Variant] = []
_FINITE = values([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 12.0, -12.0])


def _three(ops: str, *inits: str, tolerance: float | None = None) -> None:
    for op in ops.split():
        for init, array in zip(inits or ("", "", ""), (real(2, 3), _FINITE, real(2, 4, 1, 3)), strict=False):
            VARIANTS.append(Variant(op, init, "x", (array,), tolerance))


_three("ReLU ReLU6 Sigmoid Tanh SiLU HSigmoid HSwish Mish Softplus Softsign SeLU ReLUV3")
_three("GeLU FastGeLU", tolerance=2e-5)
_three("Elu", "1.0", "1.0", "1.0")
_three("CeLU", "1.0", "0.5", "2.0")
_three("HShrink SoftShrink", "0.5", "0.1", "1.5")
_three("GLU", "-1", "0", "1")
VARIANTS = [v for v in VARIANTS if not (v.op == "GLU" and v.arrays[0].shape[int(v.init)] % 2)]
VARIANTS += [
    Variant("GLU", "1", "x", (real(2, 4),)),
    Variant("GLU", "-1", "x", (real(3, 2),)),
    *(Variant("PReLU", "", "x, y", (x, y)) for x, y in ((real(2, 3), real(3)), (real(2, 3, 4, 1), real(1)),
                                                         (real(2, 4, 2), real(4)))),  # fmt: skip
    *(Variant(op, init, "x", (x,)) for op in ("Softmax", "LogSoftmax")
      for init, x in (("-1", real(2, 3)), ("0", real(4, 2, 2)), ("1", real(2, 1, 3)))),
]  # fmt: skip
