"""What a function that converts an operator sees: the operator, its place, the builder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ge_core.errors import UnsupportedError
from ge_core.ir.builder import Builder
from ge_core.ir.constant import MAX_CONTENT, Constant, content_of
from ge_core.ir.dims import Dim, Size
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value, constant_of
from ge_core.ir.location import Location

from .program import Operator, Tensor, Vector

if TYPE_CHECKING:
    from .convert import Converter, Scope

Number: TypeAlias = bool | int | float
Operand: TypeAlias = Value | Number | Dim
Sizes: TypeAlias = Value | Sequence[Value] | Sequence[int] | int

INT64 = DType.of("int64")
INT32 = DType.of("int32")
FLOAT32 = DType.of("float32")
FLOAT64 = DType.of("float64")
BOOL = DType.of("bool")


class Call:
    """One operator while it is converted.

    Attributes:
        b: builds nodes at the operator's place.
        op: the operator.
        loc: its place in the user's model.
    """

    def __init__(self, converter: Converter, b: Builder, scope: Scope, op: Operator, loc: Location) -> None:
        self.converter, self.b, self.scope, self.op, self.loc = converter, b, scope, op, loc

    @property
    def name(self) -> str:
        """The operator's name, without the `_` of an in-place form."""
        return self.op.name.rstrip("_")

    def result_tensor(self, index: int = 0) -> Tensor:
        """What Paddle says of result `index`."""
        kind = self.op.results[index].kind
        if not isinstance(kind, Tensor):
            raise self.unsupported(f"a result that is {type(kind).__name__}")
        return kind

    def dtype(self, index: int = 0) -> DType:
        """The element type that Paddle says result `index` has."""
        found = self.result_tensor(index).dtype
        if found is None:
            raise self.unsupported("a result without an element type")
        return found

    def count(self, index: int = 0) -> int:
        """How many tensors the vector result `index` has."""
        kind = self.op.results[index].kind
        if not isinstance(kind, Vector):
            raise self.unsupported("a result that is no list of tensors")
        return len(kind.items)

    def cast(self, x: Value, dtype: DType) -> Value:
        """`x` in another element type; itself when it has it."""
        return x if x.dtype == dtype else self.b.Cast(x, to=dtype)

    def scalar(self, number: Operand, dtype: DType) -> Value:
        """A number, size or tensor in an element type; a number is of rank 0."""
        if isinstance(number, Value):
            return self.cast(number, dtype)
        if isinstance(number, Dim):
            return self.cast(self.b.scalar(number), dtype)
        return self.b.constant(element(number, dtype))

    def number(self, value: Operand | None) -> Number | None:
        """The number that a tensor of one element holds, None when it is not known while compiling."""
        if not isinstance(value, Value):
            return value if isinstance(value, (bool, int, float)) else None
        constant = constant_of(value)
        if constant is None:
            content = value.content
            return content[0] if content is not None and len(content) == 1 and isinstance(content[0], int) else None
        if constant.type.elements != 1:
            return None
        found: Number = constant.array().reshape(()).item()
        return found

    def axis_of(self, value: Operand | None, rank: int) -> int:
        """An axis given as a number or as a constant tensor, counted from the front."""
        number = self.number(value)
        if number is None:
            raise self.unsupported("an axis that is computed", "give the axis as a number")
        return self.axis(int(number), rank)

    def sizes(self, given: Sizes | None) -> tuple[Size, ...] | None:
        """Integers given as a tensor, as several tensors or as an attribute; None when they are not known.

        Raises:
            UnsupportedError: nothing is given.
        """
        if given is None:
            raise self.unsupported("a left out operand")
        if isinstance(given, int):
            return (given,)
        if isinstance(given, Value):
            if given.content is not None:
                return given.content
            return _integers(constant_of(given))
        found: list[Size] = []
        for part in given:
            if isinstance(part, int):
                found.append(part)
                continue
            content = self.sizes(part)
            if content is None:
                return None
            found.extend(content)
        return tuple(found)

    def known_sizes(self, given: Sizes | None, what: str) -> tuple[Size, ...]:
        """Integers that must be known while compiling.

        Raises:
            UnsupportedError: they are computed by the model.
        """
        found = self.sizes(given)
        if found is None:
            raise self.unsupported(f"{what} that the model computes from data", f"give {what} as numbers")
        return found

    def known_ints(self, given: Sizes | None, what: str) -> list[int]:
        """Integers that must be plain numbers.

        Raises:
            UnsupportedError: one is computed, or depends on a dynamic size.
        """
        found = self.known_sizes(given, what)
        if not all(isinstance(size, int) for size in found):
            raise self.unsupported(f"{what} that depends on a dynamic size", f"give {what} as numbers")
        return [int(size) for size in found]  # type: ignore[arg-type]

    def vector(self, given: Sizes) -> Value:
        """Integers as an int64 vector, known or not."""
        found = self.sizes(given)
        if found is not None:
            return self.b.ints(found)
        if isinstance(given, Value):
            flat = self.cast(given, INT64)
            return flat if flat.rank == 1 else self.b.Reshape(flat, self.b.ints(-1))
        assert not isinstance(given, int)
        parts = [self.vector(part) for part in given]
        return parts[0] if len(parts) == 1 else self.b.Concat(parts, axis=0)

    def integers(self, elements: Sequence[Size], dtype: DType, scalar: bool = False) -> Value:
        """Known integers as a vector; the first of them as a scalar."""
        return self.cast(self.b.scalar(elements[0]) if scalar else self.b.ints(elements), dtype)

    def full(self, shape: Sequence[Size], number: Operand, dtype: DType) -> Value:
        """A tensor of one number (or of a scalar tensor)."""
        if isinstance(number, (Value, Dim)):
            return self.b.Expand(self.scalar(number, dtype), self.b.ints(shape))
        value = element(number, dtype)
        if not shape:
            return self.b.constant(value)
        if len(shape) == 1 and isinstance(shape[0], int) and shape[0] <= 16:
            return self.b.constant(np.full(shape[0], value))
        return self.b.ConstantOfShape(self.b.ints(shape), value=value.reshape(1))

    def reshape(self, x: Value, shape: Sequence[Size]) -> Value:
        """`x` in another shape; itself when it has it."""
        if x.tensor.shape == tuple(shape):
            return x
        return self.b.Reshape(x, self.b.ints(shape), allowzero=1)

    def flat(self, x: Value) -> Value:
        """`x` as a vector."""
        return x if x.rank == 1 else self.b.Reshape(x, self.b.ints(-1))

    def expand(self, x: Value, shape: Sequence[Size]) -> Value:
        """`x` broadcast to a shape; itself when it has it."""
        return x if x.tensor.shape == tuple(shape) else self.b.Expand(x, self.b.ints(shape))

    def transpose(self, x: Value, perm: Sequence[int]) -> Value:
        """`x` with its axes in another order; itself when they are in order."""
        return x if list(perm) == list(range(x.rank)) else self.b.Transpose(x, perm=list(perm))

    def swap(self, x: Value, a: int = -1, b: int = -2) -> Value:
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

    def range(self, count: Size) -> Value:
        """0, 1, ... count-1 as int64."""
        b = self.b
        return b.Range(b.scalar(0), b.scalar(count), b.scalar(1))

    def axis(self, dim: int, rank: int) -> int:
        """An axis counted from the front.

        Raises:
            UnsupportedError: there is no such axis.
        """
        found = dim + rank if dim < 0 else dim
        if not 0 <= found < max(rank, 1):
            raise self.unsupported(f"axis {dim} of a tensor of rank {rank}")
        return found

    def axes(self, dims: Sequence[int] | int | None, rank: int) -> list[int]:
        """Axes counted from the front, sorted; all of them for none."""
        if isinstance(dims, int):
            dims = [dims]
        return sorted({self.axis(d, rank) for d in dims}) if dims else list(range(rank))

    def split(self, x: Value, sizes: Sequence[Size], axis: int) -> list[Value]:
        """Consecutive parts of these sizes along an axis."""
        if len(sizes) == 1:
            return [x]
        return list(self.b.op("Split", x, self.b.ints(sizes), axis=axis, num_outputs=len(sizes)))

    def concat(self, parts: Sequence[Value], axis: int) -> Value:
        """Parts behind each other along an axis."""
        return parts[0] if len(parts) == 1 else self.b.Concat(list(parts), axis=axis)

    def wide(self, x: Value) -> Value:
        """A 16-bit float as float32, anything else itself: Paddle computes those in float32 and rounds once."""
        return self.b.Cast(x, to=FLOAT32) if x.dtype.is_float and x.dtype.bits == 16 else x

    def unsupported(self, what: str, fix: str | None = None) -> UnsupportedError:
        """An error for a form of this operator that cannot be converted."""
        return UnsupportedError(f"{self.op.name}: {what} is not supported", where=self.loc, fix=fix)


def _integers(constant: Constant | None) -> tuple[Size, ...] | None:
    """The elements of a small constant; floats that are whole numbers count."""
    if constant is None or not constant.type.dtype.is_float:
        return None if constant is None else content_of(constant)
    elements = constant.type.elements
    if not isinstance(elements, int) or elements > MAX_CONTENT:
        return None
    flat = [float(v) for v in constant.array().ravel()]
    return tuple(int(v) for v in flat) if all(v.is_integer() for v in flat) else None


def element(number: Any, dtype: DType) -> np.ndarray:
    """A number as an array of rank 0; integers wrap, as in Paddle."""
    if dtype.kind == "bool":
        return np.asarray(bool(number))
    if dtype.is_integer:
        if isinstance(number, float) and not np.isfinite(number):
            number = 0
        bits = int(number) & ((1 << dtype.bits) - 1)
        if dtype.kind == "int" and bits >> (dtype.bits - 1):
            bits -= 1 << dtype.bits
        return np.asarray(bits, dtype.numpy)
    with np.errstate(all="ignore"):
        return np.asarray(number, np.float64).astype(dtype.numpy)
