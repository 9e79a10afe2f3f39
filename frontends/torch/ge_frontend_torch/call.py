"""What a function that converts an operator sees: the node, torch's facts about its results, the builder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ge_core.errors import UnsupportedError
from ge_core.ir.builder import Builder
from ge_core.ir.dims import Dim, Size
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value
from ge_core.ir.location import Location

from .element_types import Operand, from_torch, result_type

if TYPE_CHECKING:
    from .convert import Converter


class Call:
    """One operator of the exported graph while it is converted.

    Tensor arguments arrive as Values, sizes as int or Dim, element types as DType (None when not given).

    Attributes:
        b: builds nodes at the operator's location.
        name: the operator's name, `add.Tensor`.
        loc: its place in the user's model.
    """

    def __init__(self, converter: Converter, b: Builder, node: Any, name: str, loc: Location) -> None:
        self.converter, self.b, self.node, self.name, self.loc = converter, b, node, name, loc

    def meta(self, index: int = 0) -> torch.Tensor:
        """torch's description of result `index`."""
        value = self.node.meta["val"]
        found = value[index] if isinstance(value, (tuple, list)) else value
        assert isinstance(found, torch.Tensor)
        return found

    def dtype(self, index: int = 0) -> DType:
        """The element type of result `index`."""
        found = from_torch(self.meta(index).dtype)
        if found is None:
            raise self.unsupported(f"the element type {self.meta(index).dtype}")
        return found

    def shape(self, index: int = 0) -> tuple[Size, ...]:
        """The shape of result `index`."""
        return tuple(self.converter.symbols.size(s) for s in self.meta(index).shape)

    def rank(self, index: int = 0) -> int:
        """The rank of result `index`."""
        return self.meta(index).dim()

    def cast(self, x: Value, dtype: DType) -> Value:
        """`x` in another element type; itself when it has it."""
        return x if x.dtype == dtype else self.b.Cast(x, to=dtype)

    def scalar(self, number: Operand, dtype: DType) -> Value:
        """A number, size or tensor in an element type; a number is of rank 0."""
        if isinstance(number, Value):
            return self.cast(number, dtype)
        if isinstance(number, Dim):
            return self.cast(self.b.scalar(number), dtype)
        return self.b.constant(_element(number, dtype))

    def operands(self, dtype: DType, *operands: Operand) -> list[Value]:
        """Operands in one element type."""
        return [self.scalar(operand, dtype) for operand in operands]

    def promoted(self, *operands: Operand) -> list[Value]:
        """Operands in the type in which torch combines them."""
        return self.operands(result_type(*operands), *operands)

    def working_type(self, dtype: DType, *operands: Operand) -> DType:
        """The type to compute in so that Python numbers keep their value: float32 for a 16-bit float type that
        cannot say one of them, since torch computes those in float32 and rounds once."""
        if dtype.bits == 16 and dtype.is_float:
            for operand in operands:
                if not isinstance(operand, (Value, Dim)) and not _exact(operand, dtype):
                    return DType.of("float32")
        return dtype

    def full(self, shape: Sequence[Size], number: Operand, dtype: DType | None = None) -> Value:
        """A tensor of one number (or of a scalar tensor)."""
        dtype = self.dtype() if dtype is None else dtype
        if isinstance(number, (Value, Dim)):
            return self.b.Expand(self.scalar(number, dtype), self.b.ints(shape))
        element = _element(number, dtype)
        if not shape:
            return self.b.constant(element)
        return self.b.ConstantOfShape(self.b.ints(shape), value=element.reshape(1))

    def reshape(self, x: Value, shape: Sequence[Size]) -> Value:
        """`x` in another shape; itself when it has it."""
        if x.tensor.shape == tuple(shape):
            return x
        return self.b.Reshape(x, self.b.ints(shape), allowzero=1)

    def expand(self, x: Value, shape: Sequence[Size]) -> Value:
        """`x` broadcast to a shape; itself when it has it."""
        if x.tensor.shape == tuple(shape):
            return x
        return self.b.Expand(x, self.b.ints(shape))

    def transpose(self, x: Value, perm: Sequence[int]) -> Value:
        """`x` with its axes in another order; itself when they are in order."""
        return x if list(perm) == list(range(x.rank)) else self.b.Transpose(x, perm=list(perm))

    def transpose_last(self, x: Value) -> Value:
        """`x` with its last two axes exchanged."""
        order = list(range(x.rank))
        order[-1], order[-2] = order[-2], order[-1]
        return self.transpose(x, order)

    def unsqueeze(self, x: Value, *axes: int) -> Value:
        """`x` with axes of size 1 put in at these places of the result."""
        return self.b.Unsqueeze(x, self.b.ints(axes)) if axes else x

    def squeeze(self, x: Value, *axes: int) -> Value:
        """`x` without these axes of size 1."""
        return self.b.Squeeze(x, self.b.ints(axes)) if axes else x

    def slice(self, x: Value, axis: int, start: Size, end: Size, step: int = 1) -> Value:
        """`x[..., start:end:step, ...]`."""
        b = self.b
        return b.Slice(x, b.ints(start), b.ints(end), b.ints(axis), b.ints(step))

    def axis(self, dim: int, rank: int) -> int:
        """A dim argument as a non-negative axis (torch checked its range)."""
        return dim + max(rank, 1) if dim < 0 else dim

    def axes(self, dims: int | Sequence[int] | None, rank: int) -> list[int]:
        """A dim or list of dims as sorted axes; all of them for None and for an empty list."""
        if isinstance(dims, int):
            dims = [dims]
        return sorted(self.axis(d, rank) for d in dims) if dims else list(range(rank))

    def unsupported(self, what: str, fix: str | None = None) -> UnsupportedError:
        """An error for a form of this operator that cannot be converted."""
        return UnsupportedError(f"{self.name}: {what} is not supported", where=self.loc, fix=fix)


def _element(number: Any, dtype: DType) -> np.ndarray:
    """A number as an array of rank 0; integers wrap, as in torch."""
    if dtype.is_integer and not isinstance(number, float):
        bits = int(number) & ((1 << dtype.bits) - 1)
        if dtype.kind == "int" and bits >> (dtype.bits - 1):
            bits -= 1 << dtype.bits
        return np.asarray(bits, dtype.numpy)
    with np.errstate(all="ignore"):
        return np.asarray(number, np.float64).astype(dtype.numpy) if dtype.kind != "bool" else np.asarray(bool(number))


def _exact(number: float, dtype: DType) -> bool:
    value = float(number)
    with np.errstate(all="ignore"):
        return value != value or float(np.asarray(value).astype(dtype.numpy)) == value
