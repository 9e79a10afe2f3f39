"""What a function that converts an operator sees: the node, its attributes, the builder."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ge_core.errors import UnsupportedError
from ge_core.ir.builder import Builder
from ge_core.ir.constant import Constant
from ge_core.ir.dims import Dim, Size
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value, constant_of
from ge_core.ir.location import Location
from ge_core.ir.types import TensorType

from .element_types import dtype_of
from .evaluate import evaluate
from .operator_table import Described
from .program import Op

if TYPE_CHECKING:
    from .convert import Converter

INT64 = DType.of("int64")
BOOL = DType.of("bool")
Number = int | float | bool | np.generic


class Call:
    """One operator of the model while it is converted.

    Attributes:
        b: builds nodes at the operator's location.
        name: the operator's name, `Conv2D`.
        node: the node.
    """

    def __init__(self, converter: Converter, b: Builder, node: Op, known: Described) -> None:
        self.converter, self.b, self.node, self.known = converter, b, node, known
        self.name = node.op

    @cached_property
    def loc(self) -> Location:
        """The node's place in the user's model, looked up when it is asked for."""
        return self.converter.location(self.node)

    # --- attributes ---

    def attr(self, name: str) -> Any:
        """An attribute's plain value, its default when the node leaves it out.

        Numbers, bools and text are themselves; an element type is TensorFlow's number; a shape is a tuple with
        None for what is not known, or None; a function is its name; lists are lists of those.

        Raises:
            UnsupportedError: it is missing.
        """
        kind = self.known.attributes[name]
        value = self.node.attr(name)
        if value is None or value.WhichOneof("value") is None:
            if name not in self.known.defaults:
                raise UnsupportedError(f"{self.name} has no attribute {name}", where=self.loc)
            return _default(kind, self.known.defaults[name])
        return _plain(kind, value)

    def dtype(self, name: str = "T") -> DType:
        """The element type in an attribute."""
        return dtype_of(self.attr(name), f"{self.name}: {name}")

    # --- values that are known at import ---

    def array(self, x: Value) -> np.ndarray | None:
        """The elements of a tensor that depends on constants alone; None when it does not."""
        return evaluate(x)

    def known_array(self, x: Value, what: str) -> np.ndarray:
        """Like `array`.

        Raises:
            UnsupportedError: the tensor is not known at import.
        """
        found = self.array(x)
        if found is None:
            raise self.unsupported(f"{what} that is computed from the inputs")
        return found

    def ints(self, x: Value, what: str = "an argument") -> list[int]:
        """The elements of an integer tensor that must be known, row by row."""
        return [int(v) for v in self.known_array(x, what).ravel()]

    def whole(self, x: Value, what: str = "an argument") -> int:
        """The only element of an integer tensor that must be known."""
        found = self.ints(x, what)
        if len(found) != 1:
            raise self.unsupported(f"{what} of {len(found)} elements")
        return found[0]

    def sizes(self, x: Value) -> list[Size] | None:
        """The elements of an integer vector as sizes; what the data decide is bound as a size. None for a vector
        of unknown length."""
        found = self.maybe_sizes(x)
        if found is not None:
            return found
        shape = x.tensor.shape
        if shape is None or not all(isinstance(n, int) for n in shape) or math.prod(cast("tuple[int]", shape)) > 16:
            return None
        flat = self.reshape(self.int64(x), (math.prod(cast("tuple[int]", shape)),))
        bound = []
        for i in range(cast("int", flat.shape[0])):
            content = self.b.ge.BindDim(self.b.Gather(flat, np.int64(i), axis=0)).content
            assert content is not None
            bound.append(content[0])
        return bound

    def maybe_sizes(self, x: Value) -> list[Size] | None:
        """The elements of an integer vector as sizes where they are known."""
        if x.content is not None:
            return list(x.content)
        found = self.array(x)
        return None if found is None else [int(v) for v in found.ravel()]

    def size(self, x: Value) -> Size:
        """An integer scalar as a size."""
        found = self.sizes(self.reshape(x, (1,)) if x.rank == 0 and x.content is None else x)
        assert found is not None
        return found[0]

    # --- builders ---

    def cast(self, x: Value, dtype: DType) -> Value:
        """`x` in another element type; itself when it has it."""
        return x if x.dtype == dtype else self.b.Cast(x, to=dtype)

    def int64(self, x: Value) -> Value:
        """`x` in int64; shape arithmetic often is int32 of int64, which is then left out."""
        if x.dtype == INT64:
            return x
        if x.content is not None and x.rank <= 1:
            return self.b.ints(x.content) if x.rank == 1 else self.b.scalar(x.content[0])
        return self.b.Cast(x, to=INT64)

    def number(self, value: Number, dtype: DType) -> Value:
        """A number of rank 0."""
        return self.b.constant(np.asarray(value).astype(dtype.numpy))

    def like(self, value: Number, x: Value) -> Value:
        """A number of rank 0 in the element type of `x`."""
        return self.number(value, x.dtype)

    def full(self, shape: Sequence[Size], value: Number | Value, dtype: DType | None = None) -> Value:
        """A tensor of one number (or of a scalar tensor)."""
        if isinstance(value, Value):
            return self.b.Expand(value, self.b.ints(shape)) if shape else value
        assert dtype is not None
        element = np.asarray(value).astype(dtype.numpy)
        if not shape:
            return self.b.constant(element)
        return self.b.ConstantOfShape(self.b.ints(shape), value=element.reshape(1))

    def size_tensor(self, sizes: Sequence[Size], dtype: DType) -> Value:
        """Sizes as a vector of an integer type."""
        return self.cast(self.b.ints(sizes), dtype)

    def scalar(self, size: Size, dtype: DType) -> Value:
        """A size as a scalar of a numeric type."""
        if isinstance(size, Dim):
            return self.cast(self.b.scalar(size), dtype)
        return self.number(size, dtype)

    def reshape(self, x: Value, shape: Sequence[Size]) -> Value:
        """`x` in another shape; itself when it has it."""
        if x.tensor.shape == tuple(shape):
            return x
        constant = constant_of(x)
        if constant is not None and x.constant is not None and all(isinstance(s, int) for s in shape):
            return self.view(x, tuple(cast("Sequence[int]", shape)), None)
        return self.b.Reshape(x, self.b.ints(shape), allowzero=1)

    def expand(self, x: Value, shape: Sequence[Size]) -> Value:
        """`x` broadcast to a shape; itself when it has it."""
        return x if x.tensor.shape == tuple(shape) else self.b.Expand(x, self.b.ints(shape))

    def transpose(self, x: Value, perm: Sequence[int]) -> Value:
        """`x` with its axes in another order: a constant as a view of the same memory, a Transpose merged."""
        order = list(perm)
        inner = _transposed(x)
        if inner is not None:
            x, before = inner
            order = [before[p] for p in order]
        if order == list(range(x.rank)):
            return x
        if x.constant is not None:
            return self.view(x, None, tuple(order))
        return self.b.Transpose(x, perm=order)

    def view(self, x: Value, shape: tuple[int, ...] | None, perm: tuple[int, ...] | None) -> Value:
        """A constant reshaped, then with its axes in another order: one more view of its memory."""
        key = (x, shape, perm)
        cached = self.converter.views.get(key)
        if cached is None:
            source = x.constant
            assert source is not None
            old = source.type.shape
            assert old is not None
            whole = shape if shape is not None else cast("tuple[int, ...]", old)
            order = perm if perm is not None else tuple(range(len(whole)))
            type = TensorType(source.type.dtype, tuple(whole[p] for p in order))
            constant = Constant(type, lambda: source.array().reshape(whole).transpose(order), source.source)
            cached = self.b.graph.add_constant(constant, x.name)
            self.converter.views[key] = cached
        return cached

    def transpose_last(self, x: Value) -> Value:
        """`x` with its last two axes exchanged."""
        order = list(range(x.rank))
        order[-1], order[-2] = order[-2], order[-1]
        return self.transpose(x, order)

    def unsqueeze(self, x: Value, *axes: int) -> Value:
        """`x` with axes of size 1 put in at these places of the result; behind it stays a Transpose that makes `x`."""
        if not axes:
            return x
        inner = _transposed(x)
        if inner is None:
            return self.b.Unsqueeze(x, self.b.ints(axes))
        source, perm = inner
        count = len(perm)
        old = iter(perm)
        order = [count + axes.index(i) if i in axes else next(old) for i in range(count + len(axes))]
        wide = self.b.Unsqueeze(source, self.b.ints(range(count, count + len(axes))))
        return self.transpose(wide, order)

    def squeeze(self, x: Value, *axes: int) -> Value:
        """`x` without these axes of size 1; behind it stays a Transpose that makes `x`."""
        if not axes:
            return x
        inner = _transposed(x)
        if inner is None:
            return self.b.Squeeze(x, self.b.ints(axes))
        source, perm = inner
        gone = sorted(perm[a] for a in axes)
        kept = [p for i, p in enumerate(perm) if i not in axes]
        narrow = self.b.Squeeze(source, self.b.ints(gone))
        return self.transpose(narrow, [p - sum(g < p for g in gone) for p in kept])

    def slice(self, x: Value, axis: int, start: Size, end: Size, step: int = 1) -> Value:
        """`x[..., start:end:step, ...]`."""
        b = self.b
        return b.Slice(x, b.ints(start), b.ints(end), b.ints(axis), b.ints(step))

    def axis(self, axis: int, rank: int) -> int:
        """An axis as a non-negative number.

        Raises:
            UnsupportedError: it is out of range.
        """
        if not -rank <= axis < max(rank, 1):
            raise self.unsupported(f"the axis {axis} of a tensor of rank {rank}")
        return axis + rank if axis < 0 else axis

    def axes(self, x: Value, rank: int) -> list[int]:
        """The axes that a tensor lists, sorted and unique."""
        return sorted({self.axis(a, rank) for a in self.ints(x, "axes")})

    def unsupported(self, what: str, fix: str | None = None) -> UnsupportedError:
        """An error for a form of this operator that cannot be converted."""
        return UnsupportedError(f"{self.name}: {what} is not supported", where=self.loc, fix=fix)


def _transposed(x: Value) -> tuple[Value, tuple[int, ...]] | None:
    """What a Transpose made `x` of, and its permutation."""
    node = x.producer
    if node is None or node.op != "Transpose":
        return None
    source, perm = node.input(0), node.attrs["perm"]
    assert source is not None and isinstance(perm, tuple)
    return source, tuple(int(p) for p in perm)  # type: ignore[arg-type]


def _default(kind: str, value: Any) -> Any:
    if kind == "type":
        return value["type"]
    if kind == "list(type)":
        return [v["type"] for v in value]
    if kind == "shape":
        sizes = value["shape"]
        return None if sizes is None else tuple(None if s < 0 else s for s in sizes)
    return value


def _plain(kind: str, value: Any) -> Any:
    if kind == "int":
        return int(value.i)
    if kind == "float":
        return float(value.f)
    if kind == "bool":
        return bool(value.b)
    if kind == "string":
        return value.s.decode("utf-8", "replace")
    if kind == "type":
        return int(value.type)
    if kind == "shape":
        return _shape(value.shape)
    if kind == "func":
        return value.func.name
    if kind == "tensor":
        return value.tensor
    return _plain_list(kind, value.list)


def _plain_list(kind: str, found: Any) -> list[Any]:
    if kind == "list(int)":
        return [int(v) for v in found.i]
    if kind == "list(float)":
        return [float(v) for v in found.f]
    if kind == "list(bool)":
        return [bool(v) for v in found.b]
    if kind == "list(string)":
        return [v.decode("utf-8", "replace") for v in found.s]
    if kind == "list(type)":
        return [int(v) for v in found.type]
    if kind == "list(shape)":
        return [_shape(v) for v in found.shape]
    return [f.name for f in found.func]


def _shape(proto: Any) -> tuple[int | None, ...] | None:
    return None if proto.unknown_rank else tuple(None if d.size < 0 else int(d.size) for d in proto.dim)
