"""What element types the IR allows: checks that type rules share. ONNX's own lists are narrower in places."""

from __future__ import annotations

from ge_core.ir.dtype import DType
from ge_core.ops.infer import Infer


def float_dtype(c: Infer, *indices: int) -> DType:
    """The common element type of the given inputs that are present: any float type.

    Raises:
        TypeRuleError: they differ, or are no floats.
    """
    dtype = c.same_dtype(*indices)
    if not dtype.is_float:
        raise c.error(f"needs floating-point inputs, got {dtype}")
    return dtype


def numeric_dtype(c: Infer, *indices: int) -> DType:
    """The common element type of the given inputs that are present: any integer or float type.

    Raises:
        TypeRuleError: they differ, or are no numbers.
    """
    dtype = c.same_dtype(*indices)
    if not dtype.is_numeric:
        raise c.error(f"needs integer or floating-point inputs, got {dtype}")
    return dtype


def require_rank(c: Infer, index: int, rank: int) -> None:
    """Raises TypeRuleError unless input `index` has exactly this rank."""
    if c.rank(index) != rank:
        name = c.schema.input(index).name
        raise c.error(f"input {name} has rank {c.rank(index)}, expected {rank}")


def require_choice(c: Infer, name: str, allowed: tuple[str, ...], default: str | None = None) -> str:
    """The string attribute `name`, checked against the allowed words.

    Raises:
        TypeRuleError: it is none of them.
    """
    given = c.attr(name, default)
    if given not in allowed:
        raise c.error(f"attribute {name} is {given!r}, expected one of {', '.join(allowed)}")
    return str(given)
