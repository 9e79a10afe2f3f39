"""What a function that converts a primitive sees: the step, what the file says of its results, the builder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from ge_core.errors import UnsupportedError
from ge_core.ir import dims
from ge_core.ir.builder import Builder
from ge_core.ir.dims import Dim, Size
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value
from ge_core.ir.location import Location

from .element_types import of_operator
from .literals import Described, Description
from .messages import damaged

Number: TypeAlias = "bool | int | float | Dim"
Operand: TypeAlias = "Value | bool | int | float | Dim"
Axes: TypeAlias = "int | Sequence[int] | None"

_FLOAT32, _INT64, _BOOL = DType.of("float32"), DType.of("int64"), DType.of("bool")


class Call:
    """One step of the model while it is converted.

    Tensors arrive as Values, numbers that MindSpore knows as int, float, bool or Dim, numbers that the model
    computes as Values of rank 0, several results as tuples.

    Attributes:
        b: builds nodes at the step's location.
        op: the primitive's name.
        loc: its place in the user's model.
    """

    def __init__(self, b: Builder, op: str, described: Description, loc: Location) -> None:
        self.b, self.op, self.loc = b, op, loc
        self._described = described

    def described(self, index: int = 0) -> Described:
        """What the file says of result `index`."""
        said = self._described
        if isinstance(said, tuple):
            if index >= len(said):
                raise damaged(f"{self.op} is described with {len(said)} results")
            said = said[index]
        return said if isinstance(said, Described) else Described(None, None)

    @property
    def results(self) -> int:
        """How many results the file describes."""
        return len(self._described) if isinstance(self._described, tuple) else 1

    def dtype(self, index: int = 0) -> DType:
        """The element type of result `index`, as the file says."""
        found = self.described(index).dtype
        if found is None:
            raise damaged(f"the result of {self.op} has no element type")
        return found

    def dtype_of(self, number: object, default: DType | None = None) -> DType:
        """The element type that an operand names; the result's when it names none."""
        found = of_operator(number)
        if found is not None:
            return found
        if number is not None:
            raise self.unsupported(f"the element type number {number}")
        return default or self.dtype()

    def cast(self, x: Value, dtype: DType) -> Value:
        """`x` in another element type; itself when it has it."""
        return x if x.dtype == dtype else self.b.Cast(x, to=dtype)

    def tensor(self, x: Operand | Sequence[Any], dtype: DType | None = None) -> Value:
        """An operand as a tensor in an element type (its own when None); a tuple of numbers is a vector."""
        if isinstance(x, Value):
            return x if dtype is None else self.cast(x, dtype)
        if isinstance(x, (tuple, list)):
            if all(isinstance(e, (bool, int, float)) for e in x):
                return self.b.constant(_element(list(x), dtype or _vector_type(x)))
            parts = [self.b.Unsqueeze(self.tensor(e, dtype or _INT64), self.b.ints(0)) for e in x]
            return self.b.Concat(parts, axis=0)
        if isinstance(x, Dim):
            return self.cast(self.b.scalar(x), dtype or _INT64)
        if isinstance(x, (bool, int, float)):
            return self.b.constant(_element(x, dtype or number_type(x)))
        raise self.unsupported(f"{x!r} as a tensor")

    def tensors(self, dtype: DType | None, *operands: Operand) -> list[Value]:
        """Operands as tensors in one element type."""
        return [self.tensor(x, dtype) for x in operands]

    def size(self, x: Operand) -> Size:
        """A number as a size; one that the model computes becomes known when it runs."""
        if isinstance(x, Value):
            content = x.content
            if content is not None and len(content) == 1:
                return content[0]
            flat = self.reshape(self.cast(x, _INT64), ())
            bound = self.b.ge.BindDim(flat)
            assert isinstance(bound, Value) and bound.content is not None
            return bound.content[0]
        if isinstance(x, Dim):
            return x
        if isinstance(x, float) and not x.is_integer():
            raise self.unsupported(f"the size {x}")
        return int(x)

    def sizes(self, x: Any) -> list[Size]:
        """A shape, or a list of numbers, as sizes."""
        if isinstance(x, Value):
            if x.content is not None and (x.rank or 0) <= 1:
                return list(x.content)
            length = x.shape[0] if x.rank == 1 else 1
            if not isinstance(length, int):
                raise self.unsupported("a list of sizes of unknown length")
            flat = self.reshape(self.cast(x, _INT64), (length,))
            return [self.size(self.b.Gather(flat, self.b.constant(np.int64(i)), axis=0)) for i in range(length)]
        if isinstance(x, (tuple, list)):
            return [self.size(e) for e in x]
        return [self.size(x)]

    def integer(self, x: Any, what: str) -> int:
        """A number that must be known while importing."""
        if isinstance(x, Value) and x.content is not None and len(x.content) == 1:
            x = x.content[0]
        if isinstance(x, (bool, int)):
            return int(x)
        raise self.unsupported(f"{what} that the model computes")

    def integers(self, x: Any, what: str) -> list[int]:
        """Numbers that must be known while importing; one number is a list of one."""
        if isinstance(x, Value) and x.content is not None:
            x = x.content
        return [self.integer(e, what) for e in (x if isinstance(x, (tuple, list)) else (x,))]

    def number(self, x: Any, what: str) -> float:
        """A real number that must be known while importing."""
        if isinstance(x, (bool, int, float)):
            return float(x)
        raise self.unsupported(f"{what} that the model computes")

    def full(self, shape: Sequence[Size], number: Operand, dtype: DType | None = None) -> Value:
        """A tensor of one number (or of a tensor of rank 0)."""
        element = self.tensor(number, dtype or self.dtype())
        return self.expand(self.reshape(element, ()), shape)

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

    def swap(self, x: Value, a: int = -2, b: int = -1) -> Value:
        """`x` with two axes exchanged."""
        order = list(range(x.rank))
        order[a], order[b] = order[b], order[a]
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

    def axis(self, axis: Any, rank: int) -> int:
        """An axis operand as a non-negative axis.

        Raises:
            ModelImportError: it is out of range.
        """
        number = self.integer(axis, "an axis")
        if not -max(rank, 1) <= number < max(rank, 1):
            raise damaged(f"{self.op} has the axis {number} on a tensor of rank {rank}")
        return number + max(rank, 1) if number < 0 else number

    def axes(self, axes: Any, rank: int) -> list[int]:
        """An axis or several as sorted non-negative axes; all of them for None and for none."""
        if axes is None or (isinstance(axes, (tuple, list)) and not axes):
            return list(range(rank))
        given = axes if isinstance(axes, (tuple, list)) else self.integers(axes, "an axis")
        return sorted({self.axis(a, rank) for a in given}) if given else list(range(rank))

    def count(self, x: Value, axes: Sequence[int]) -> Size:
        """The number of elements over some axes."""
        return dims.product(x.shape[a] for a in axes)

    def unsupported(self, what: str, fix: str | None = None) -> UnsupportedError:
        """An error for a form of this primitive that cannot be converted."""
        return UnsupportedError(f"{self.op}: {what} is not supported", where=self.loc, fix=fix)


def number_type(number: object) -> DType:
    """The type in which a number becomes a tensor."""
    if isinstance(number, bool):
        return _BOOL
    return _FLOAT32 if isinstance(number, float) else _INT64


def _vector_type(numbers: Sequence[Any]) -> DType:
    if any(isinstance(n, float) for n in numbers):
        return _FLOAT32
    return _BOOL if numbers and all(isinstance(n, bool) for n in numbers) else _INT64


def _element(number: Any, dtype: DType) -> np.ndarray:
    """A number or a list of numbers as an array; integers wrap."""
    if isinstance(number, list):
        made = [_element(n, dtype) for n in number]
        return np.array(made, dtype.numpy) if made else np.zeros(0, dtype.numpy)
    if dtype.is_integer and not isinstance(number, float):
        bits = int(number) & ((1 << dtype.bits) - 1)
        if dtype.kind == "int" and bits >> (dtype.bits - 1):
            bits -= 1 << dtype.bits
        return np.asarray(bits, dtype.numpy)
    if dtype.kind == "bool":
        return np.asarray(bool(number))
    with np.errstate(all="ignore"):
        return np.asarray(number, np.float64).astype(dtype.numpy)
