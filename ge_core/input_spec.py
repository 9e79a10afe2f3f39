"""An input described instead of given: what examples are needed for, without data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ge_core.errors import InputError
from ge_core.ir.dims import Dim, Size
from ge_core.ir.dtype import DType


@dataclass(frozen=True, init=False)
class InputSpec:
    """Shape, element type and name of an input, in place of an example tensor.

    Args:
        shape: sizes; an int is fixed, a name (or None) is a size that may change from call to call.
        dtype: a name ("float32"), a numpy dtype or a DType.
        name: for messages and for graphs that are built from the spec.

    Raises:
        InputError: a size is negative, or neither int, name, None nor Dim.
        GraphError: an unknown element type.
    """

    shape: tuple[Size | str | None, ...]
    dtype: DType
    name: str

    def __init__(self, shape: Sequence[Any], dtype: object = "float32", name: str = "") -> None:
        sizes: list[Size | str | None] = []
        for axis, size in enumerate(shape):
            if size is None or isinstance(size, (str, Dim)):
                sizes.append(size)
                continue
            try:
                number = size.__index__()
            except AttributeError:
                number = -1
            if number < 0:
                raise InputError(
                    f"size {size!r} in dim {axis} of {name or 'an input'}",
                    expected="an int of at least 0, a name, or None",
                )
            sizes.append(number)
        object.__setattr__(self, "shape", tuple(sizes))
        object.__setattr__(self, "dtype", DType.of(dtype))
        object.__setattr__(self, "name", name)

    def __str__(self) -> str:
        sizes = ", ".join("?" if d is None else str(d) for d in self.shape)
        return f"{self.name}: {self.dtype}[{sizes}]" if self.name else f"{self.dtype}[{sizes}]"
