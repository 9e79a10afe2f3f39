"""Products of matrices in the newest form that a chip takes.

| chip | matrices | stacks |
|---|---|---|
| 910B, 910_93 | MatMulV3 | BatchMatMulV3 |
| 310P, 910A, and operands or results for which there is no kernel | MatMulV2 | BatchMatMulV2 |

GE replaces the older by the newer ones for chips after these alone (its rule MatMulToMatmulV3FusionPass). 310P has the
newer ones for a second operand in FRACTAL_NZ, which no weight of a file has; 910A lacks MatMulV3. Releases of CANN
before its operators were published do not declare the newer ones: the option `matmul_v2` keeps the older.
"""

from __future__ import annotations

from typing import Any

from ge_ascend.chips import Chip
from ge_ascend.lower.call import LowerCall
from ge_ascend.net import Out
from ge_ascend.prototypes import prototype
from ge_core.ir.dtype import DType, float32

_MOST_AXES = 6
"""Of the operands of BatchMatMulV3."""


def matrices(
    c: LowerCall, a: Out, b: Out, *, swapped: tuple[bool, bool] = (False, False), to: DType | None = None
) -> Out:
    """a times b over the last axis of a and the one before the last of b; leading axes broadcast.

    Args:
        swapped: which operands have these axes exchanged.
        to: the type of the result; by default that of the node under the precision mode.
    """
    ranks = a.value.rank, b.value.rank
    two = ranks == (2, 2)
    if to is None and c.engine.policy.wide_products and c.output_type() != float32:
        to = float32
    name = "MatMul" if two else "BatchMatMul"
    kinds = {"x1": a.value.dtype, "x2": b.value.dtype, "y": to or a.value.dtype}
    newer = not c.engine.matmul_v2 and max(ranks) <= _MOST_AXES and _has_kernel(c.engine.chip, f"{name}V3", kinds)
    first, second = ("transpose_x1", "transpose_x2") if two else ("adj_x1", "adj_x2")
    attrs: dict[str, Any] = {first: swapped[0], second: swapped[1]}
    return c.ops(f"{name}V3" if newer else f"{name}V2", a, b, dtypes=None if to is None else {"y": to}, **attrs)[0]


def _has_kernel(chip: Chip, name: str, kinds: dict[str, DType]) -> bool:
    """Whether the list of kernels that describes the chip has this combination of types."""
    declared = prototype(name)
    if declared is None or not declared.columns or not chip.kernels:
        return False
    columns = [declared.columns[port] for port in kinds]
    wanted = tuple(kind.name for kind in kinds.values())
    return wanted in zip(*columns, strict=True)
