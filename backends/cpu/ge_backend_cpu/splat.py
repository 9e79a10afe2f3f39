"""Constants, and vectors of one constant in LLVM's short form: texts of kernels are mostly that."""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
import llvmlite.ir as ir

SHORT_FROM = 19
"""The first LLVM that reads `splat (float 1.0)`."""

_short = llvm.llvm_version_info[0] >= SHORT_FROM
_made: dict[tuple[str, str], ir.Constant] = {}


class Splat(ir.Constant):
    """A vector constant with equal elements."""

    def _get_reference(self) -> str:
        return f"splat ({self.constant[0]})"


def constant(type: ir.Type, value: float | int) -> Any:
    """A constant of a scalar type, or the same one in every element of a vector type."""
    if not isinstance(type, ir.VectorType):
        return ir.Constant(type, value)
    if not _short:
        return ir.Constant(type, [value] * type.count)
    key = (str(type), repr(value))  # 0.0 and -0.0, 1 and 1.0 are equal, their texts are not
    if key not in _made:
        _made[key] = Splat(type, [value] * type.count)
    return _made[key]
