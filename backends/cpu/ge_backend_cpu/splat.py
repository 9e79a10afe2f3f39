"""Constants, and vectors of one constant in LLVM's short form: texts of kernels are mostly that."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ge_backend_cpu import llvm_ir as ir

SHORT_FROM = 19
"""The first LLVM that reads `splat (float 1.0)`."""

_made: dict[tuple[ir.Type, str], ir.Constant] = {}


def constant(type: ir.Type, value: float | int) -> Any:
    """A constant of a scalar type, or the same one in every element of a vector type."""
    key = (type, repr(value))  # 0.0 and -0.0, 1 and 1.0 are equal, their texts are not
    found = _made.get(key)
    if found is None:
        found = _made[key] = _constant(type, value)
    return found


def _constant(type: ir.Type, value: float | int) -> ir.Constant:
    if not isinstance(type, ir.VectorType):
        return ir.Constant(type, value)
    if not _reads_short():
        return ir.Constant(type, [value] * type.count)
    one = ir.Constant(type.element, value)
    return ir.Constant.written(type, f"splat ({type.element} {one.ref})", [value] * type.count)


@lru_cache(maxsize=1)
def _reads_short() -> bool:
    import llvmlite.binding as llvm

    return bool(llvm.llvm_version_info[0] >= SHORT_FROM)
