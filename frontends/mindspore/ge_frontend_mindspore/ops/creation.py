"""New tensors, casts, and numbers from tensors and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from ge_core.ir import dims
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import Call, Operand
from ..registry import primitive


@primitive("Cast")
def cast(c: Call, input_x: Operand, dtype: Any) -> Value:
    """Cast(input_x, dtype)"""
    target = c.dtype_of(dtype)
    if target.kind == "complex":
        raise c.unsupported("complex numbers")
    return c.tensor(input_x, target) if isinstance(input_x, (Value, bool, int, float)) else c.tensor(input_x)


@primitive("ToDtype", "ToDevice", "ToOther", "TypeAs")
def to_dtype(c: Call, input: Value, *rest: Any) -> Value:
    """ToDtype(input, dtype, non_blocking=False, copy=False); TypeAs(input, other)"""
    return c.cast(input, c.dtype())


@primitive("MixedPrecisionCast")
def mixed_precision_cast(c: Call, dst_dtype: Any, input_x: Any) -> Any:
    """MixedPrecisionCast()(dst_dtype, input_x): of one tensor or of a tuple"""
    target = c.dtype_of(dst_dtype)
    if isinstance(input_x, tuple):
        return tuple(c.cast(x, target) if isinstance(x, Value) and x.dtype.is_float else x for x in input_x)
    return c.cast(input_x, target)


@primitive("Zeros", "Ones")
def filled(c: Call, shape: Any, dtype: Any = None) -> Value:
    """Zeros(size, dtype=None); Ones(shape, dtype=None)"""
    return c.full(c.sizes(shape), int(c.op == "Ones"), c.dtype_of(dtype))


@primitive("ZerosLike", "OnesLike", "ZerosLikeExt", "OnesLikeExt")
def filled_like(c: Call, x: Value, dtype: Any = None) -> Value:
    """ZerosLike(x); OnesLike(x); ZerosLikeExt(input, dtype=None); OnesLikeExt(input, dtype=None)"""
    return c.full(x.shape, int(c.op.startswith("Ones")), c.dtype_of(dtype))


@primitive("NewZeros", "NewOnes")
def new_filled(c: Call, input: Value, size: Any, dtype: Any = None) -> Value:
    """NewZeros(input, size, dtype=None); NewOnes(input, size, dtype=None)"""
    return c.full(c.sizes(size), int(c.op == "NewOnes"), c.dtype())


@primitive("NewFull")
def new_full(c: Call, input: Value, size: Any, fill_value: Operand, dtype: Any = None) -> Value:
    """NewFull(input, size, fill_value, dtype=None)"""
    return c.full(c.sizes(size), fill_value, c.dtype())


@primitive("FullLike")
def full_like(c: Call, input: Value, fill_value: Operand, dtype: Any = None) -> Value:
    """FullLike(input, fill_value, dtype=None)"""
    return c.full(input.shape, fill_value, c.dtype())


@primitive("FillScalar", "FillTensor", "FillV2")
def fill(c: Call, shape: Any, value: Operand, dtype: Any = None) -> Value:
    """FillScalar(size, fill_value, dtype=None); FillV2()(shape, value)"""
    return c.full(c.sizes(shape), value, c.dtype())


@primitive("Fill")
def fill_type(c: Call, dtype: Any, shape: Any, value: Operand) -> Value:
    """Fill()(type, shape, value)"""
    return c.full(c.sizes(shape), value, c.dtype())


@primitive("Eye")
def eye(c: Call, n: int, m: int | None, dtype: Any) -> Value:
    """Eye(n, m, dtype)"""
    b, rows = c.b, c.size(n)
    columns = rows if m is None else c.size(m)
    row = c.unsqueeze(_range(c, rows), 1)
    return b.Cast(b.Equal(row, c.unsqueeze(_range(c, columns), 0)), to=c.dtype())


def _range(c: Call, count: Any) -> Value:
    found: Value = c.b.Range(c.b.constant(np.int64(0)), c.b.scalar(count), c.b.constant(np.int64(1)))
    return found


@primitive("Range", "RangeV2")
def range_(c: Call, start: Operand, end: Operand, step: Operand, maxlen: int = 0) -> Value:
    """Range(start, end, step, maxlen=1000000)"""
    return c.b.Range(*c.tensors(c.dtype(), start, end, step))


@primitive("Arange")
def arange(c: Call, start: Operand, end: Operand, step: Operand, dtype: Any = None) -> Value:
    """Arange(start, end, step, dtype=None)"""
    working = c.dtype()
    if working.is_integer and any(isinstance(x, float) for x in (start, end, step)):
        raise c.unsupported("a range of integers by fractions")
    return c.b.Range(*c.tensors(working, start, end, step))


@primitive("LinSpace", "LinSpaceExt")
def lin_space(c: Call, start: Operand, end: Operand, steps: Any, dtype: Any = None) -> Value:
    """LinSpace()(start, stop, num); LinSpaceExt(start, end, steps, dtype=None)"""
    dtype_, b = c.dtype(), c.b
    count = c.size(steps)
    wide = DType.of("float64") if dtype_.bits == 64 else DType.of("float32")
    low, high = c.tensors(wide, start, end)
    if count == 1:
        return c.cast(c.unsqueeze(low, low.rank), dtype_)
    places = b.Cast(_range(c, count), to=wide)
    last = b.Cast(b.scalar(dims.maximum(count - 1, 1)), to=wide)
    step = b.Div(b.Sub(high, low), last)
    from_start = b.Add(c.unsqueeze(low, low.rank), b.Mul(places, c.unsqueeze(step, step.rank)))
    # the second half counts from the end, so that the end is met exactly
    from_end = b.Sub(c.unsqueeze(high, high.rank), b.Mul(b.Sub(last, places), c.unsqueeze(step, step.rank)))
    first_half = b.Less(places, b.Div(b.Add(last, 1.0), 2.0))
    return c.cast(b.Where(first_half, from_start, from_end), dtype_)


@primitive("LogSpace", ignores=("dtype",))
def log_space(c: Call, start: Value, end: Value, steps: int = 10, base: int = 10) -> Value:
    """LogSpace(steps=10, base=10, dtype)(start, end): powers of the base"""
    spread = lin_space(c, start, end, steps) if steps else c.full((0,), 0)
    return c.b.Pow(c.tensor(float(base), c.dtype()), spread)


@primitive("TupleToTensor", "ListToTensor", "ScalarToTensor")
def to_tensor(c: Call, x: Any, dtype: Any = None) -> Value:
    """TupleToTensor(input_tuple, dtype=None); ScalarToTensor(x, dtype)"""
    return c.tensor(x, c.dtype())


@primitive("TensorToTuple", "TensorToList")
def tensor_to_tuple(c: Call, x: Value) -> tuple[Any, ...]:
    """TensorToTuple(x): the numbers of a vector"""
    if x.content is not None:
        return tuple(x.content)
    length = x.shape[0] if x.rank == 1 else None
    if not isinstance(length, int):
        raise c.unsupported("a tuple of unknown length")
    return tuple(c.b.Gather(x, c.b.constant(np.int64(k)), axis=0) for k in range(length))


@primitive("TensorToScalar")
def tensor_to_scalar(c: Call, x: Value) -> Any:
    """TensorToScalar(x): a number"""
    if x.content is not None and len(x.content) == 1:
        return x.content[0]
    return c.reshape(x, ())


@primitive("ScalarCast")
def scalar_cast(c: Call, x: Any, dtype: Any) -> Any:
    """ScalarCast(input_x, dtype): a number"""
    target = c.dtype_of(dtype)
    if isinstance(x, Value):
        return c.cast(x, target)
    if isinstance(x, (bool, int, float)):
        return bool(x) if target.kind == "bool" else float(x) if target.kind == "float" else int(x)
    return x if target.kind == "int" else c.tensor(x, target)


@primitive("Shape", "TensorShape", "DynamicShape")
def shape(c: Call, x: Value) -> Any:
    """Shape(x): sizes as a tuple; TensorShape(x): as a vector"""
    return c.b.ints(x.shape) if c.op != "Shape" else tuple(x.shape)


@primitive("Rank")
def rank(c: Call, x: Value) -> int:
    """Rank(x)"""
    return x.rank


@primitive("Size")
def size(c: Call, x: Value) -> Any:
    """Size()(x): the number of elements"""
    return dims.product(x.shape)


@primitive("BartlettWindow", "BlackmanWindow", "HammingWindow", ignores=("dtype", "max_length"))
def window(c: Call, length: Any, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46) -> Value:
    """BartlettWindow(periodic=True, dtype)(window_length); BlackmanWindow; HammingWindow(periodic, alpha, beta)"""
    b, wide = c.b, DType.of("float64")
    count = c.integer(length, "the length of a window")
    if count <= 1:
        return c.full((count,), 1)
    places = np.arange(count, dtype=np.float64)
    last = count if periodic else count - 1
    if c.op == "BartlettWindow":
        values = 1 - np.abs(2 * places / last - 1)
    elif c.op == "HammingWindow":
        values = alpha - beta * np.cos(2 * np.pi * places / last)
    else:
        values = 0.42 - 0.5 * np.cos(2 * np.pi * places / last) + 0.08 * np.cos(4 * np.pi * places / last)
    return c.cast(b.constant(values, wide), c.dtype())


@primitive("Tril", "Triu", "TrilExt", "TriuExt")
def triangle(c: Call, input: Value, diagonal: int = 0) -> Value:
    """Tril(diagonal=0)(x); TrilExt(input, diagonal=0); Triu(input, diagonal=0)"""
    x, b = input, c.b
    k = b.constant(np.int64(c.integer(diagonal, "a diagonal")))
    if x.dtype.kind == "bool":
        return b.Cast(b.Trilu(b.Cast(x, to="uint8"), k, upper=int(c.op.startswith("Triu"))), to="bool")
    return b.Trilu(x, k, upper=int(c.op.startswith("Triu")))


@primitive("TrilIndices", "TriuIndices", ignores=("dtype",))
def triangle_indices(c: Call, row: int, col: int, offset: int = 0) -> Value:
    """TrilIndices(row, col, offset=0, dtype)(): places of a triangle, rows above columns"""
    make = np.tril_indices if c.op == "TrilIndices" else np.triu_indices
    return c.b.constant(np.array(make(row, offset, col), c.dtype().numpy))


@primitive("InvertPermutation")
def invert_permutation(c: Call, x: tuple[int, ...]) -> tuple[int, ...]:
    """InvertPermutation()(x): of a tuple of numbers"""
    order = c.integers(x, "an order of axes")
    return tuple(order.index(k) for k in range(len(order)))


@primitive("MatrixDiag", "Diag", "DiagExt")
def diag(c: Call, input: Value, diagonal: int = 0) -> Value:
    """Diag(input): a diagonal tensor of twice the rank; DiagExt(input, diagonal=0): of a vector, or a matrix's"""
    b = c.b
    if c.op == "DiagExt" and input.rank == 2:
        return diagonal_of(c, input, diagonal, 0, 1)
    if c.op == "DiagExt" and diagonal != 0:
        low, high = max(diagonal, 0), max(-diagonal, 0)
        wide = diag_of(c, input)
        return b.Pad(wide, b.ints([high, low, low, high]))
    if c.op == "MatrixDiag":
        return diag_of(c, input)
    flat = c.reshape(input, (dims.product(input.shape),))
    return c.reshape(diag_of(c, flat), (*input.shape, *input.shape))


def diag_of(c: Call, x: Value) -> Value:
    """Vectors on the diagonals of matrices."""
    size = x.shape[-1]
    row, column = c.unsqueeze(_range(c, size), 1), c.unsqueeze(_range(c, size), 0)
    return c.b.Where(c.b.Equal(row, column), c.unsqueeze(x, x.rank), c.tensor(0, x.dtype))


@primitive("DiagPart")
def diag_part(c: Call, x: Value) -> Value:
    """DiagPart()(x): the diagonal of a tensor of twice the rank"""
    half = x.rank // 2
    lead = x.shape[:half]
    flat = c.reshape(x, (dims.product(lead), dims.product(x.shape[half:])))
    return c.reshape(diagonal_of(c, flat, 0, 0, 1), lead)


def diagonal_of(c: Call, x: Value, offset: int, dim1: int, dim2: int) -> Value:
    """Diagonals over two axes, as the last axis."""
    first, second = c.axis(dim1, x.rank), c.axis(dim2, x.rank)
    rest = [k for k in range(x.rank) if k not in (first, second)]
    moved = c.transpose(x, [*rest, first, second])
    rows, columns = moved.shape[-2:]
    low, right = max(-offset, 0), max(offset, 0)
    count = dims.maximum(dims.minimum(rows - low, columns - right), 0)
    places = c.b.Add(c.b.Mul(_range(c, count), c.tensor(c.b.scalar(columns + 1), None)),
                     c.b.scalar(columns * low + right))  # fmt: skip
    flat = c.reshape(moved, (*moved.shape[:-2], rows * columns))
    return c.b.Gather(flat, places, axis=flat.rank - 1)


@primitive("Diagonal", "DiagonalView")
def diagonal(c: Call, input: Value, offset: int, dim1: int, dim2: int) -> Value:
    """Diagonal(input, offset=0, dim1=0, dim2=1)"""
    return diagonal_of(c, input, c.integer(offset, "an offset"), dim1, dim2)


@primitive("Trace", "TraceExt", "TraceV2")
def trace(c: Call, input: Value, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Value:
    """Trace(input); TraceV2(input, offset=0, axis1=1, axis2=0, dtype=None)"""
    found = c.cast(diagonal_of(c, input, offset, axis1, axis2), c.dtype())
    return c.b.ReduceSum(found, c.b.ints(found.rank - 1), keepdims=0)
