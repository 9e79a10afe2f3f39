"""Tensors made from sizes and numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ge_core.ir.dims import Dim, Size
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import Call
from ..element_types import Operand
from ..registry import aten


@aten("zeros.default", "empty.memory_format", "new_zeros.default", "new_empty.default", "zeros_like.default",
      "empty_like.default", "new_empty_strided.default", "empty_strided.default", "empty_permuted.default",
      ignores=("physical_layout",))  # fmt: skip
def zeros(
    c: Call,
    size: Sequence[Size] = (),
    x: Value | None = None,
    dtype: DType | None = None,
    stride: Sequence[Size] = (),
) -> Value:
    """zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool?
        pin_memory=None) -> Tensor
    empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None,
        bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
    new_zeros(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device?
        device=None, bool? pin_memory=None) -> Tensor
    new_empty(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device?
        device=None, bool? pin_memory=None) -> Tensor
    zeros_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool?
        pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
    empty_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool?
        pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
    new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, Layout?
        layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
    empty_strided(SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, Layout? layout=None, Device?
        device=None, bool? pin_memory=None) -> Tensor
    empty_permuted(SymInt[] size, int[] physical_layout, *, ScalarType? dtype=None, Layout? layout=None,
        Device? device=None, bool? pin_memory=None) -> Tensor
    """
    # what torch leaves unset is 0 here: the same in every run
    return c.full(c.shape(), 0)


@aten("ones.default", "new_ones.default", "ones_like.default")
def ones(c: Call, size: Sequence[Size] = (), x: Value | None = None, dtype: DType | None = None) -> Value:
    """ones(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool?
        pin_memory=None) -> Tensor
    new_ones(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device?
        device=None, bool? pin_memory=None) -> Tensor
    ones_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool?
        pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
    """
    return c.full(c.shape(), 1)


@aten("full.default")
def full(c: Call, size: Sequence[Size], fill_value: Operand, dtype: DType | None = None) -> Value:
    """full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device?
    device=None, bool? pin_memory=None) -> Tensor
    """
    return c.full(c.shape(), fill_value)


@aten("full_like.default")
def full_like(c: Call, x: Value, fill_value: Operand, dtype: DType | None = None) -> Value:
    """full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device?
    device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
    """
    return c.full(c.shape(), fill_value)


@aten("new_full.default")
def new_full(c: Call, x: Value, size: Sequence[Size], fill_value: Operand, dtype: DType | None = None) -> Value:
    """new_full(Tensor self, SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None,
    Device? device=None, bool? pin_memory=None) -> Tensor
    """
    return c.full(c.shape(), fill_value)


@aten("fill.Scalar", "fill.Tensor")
def fill(c: Call, x: Value, value: Operand) -> Value:
    """fill.Scalar(Tensor self, Scalar value) -> Tensor
    fill.Tensor(Tensor self, Tensor value) -> Tensor
    """
    return c.full(c.shape(), value)


@aten("zero.default")
def zero(c: Call, x: Value) -> Value:
    """zero(Tensor self) -> Tensor"""
    return c.full(c.shape(), 0)


@aten("copy.default")
def copy(c: Call, x: Value, src: Value) -> Value:
    """copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor"""
    return c.expand(c.cast(src, x.dtype), c.shape())


@aten("scalar_tensor.default")
def scalar_tensor(c: Call, s: Operand, dtype: DType | None = None) -> Value:
    """scalar_tensor(Scalar s, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool?
    pin_memory=None) -> Tensor
    """
    return c.scalar(s, c.dtype())


@aten("arange.default", "arange.start", "arange.start_step")
def arange(c: Call, end: Operand, start: Operand = 0, step: Operand = 1, dtype: DType | None = None) -> Value:
    """arange(Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool?
        pin_memory=None) -> Tensor
    arange.start(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device?
        device=None, bool? pin_memory=None) -> Tensor
    arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout?
        layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
    """
    given = (start, end, step)
    if not any(isinstance(v, (Dim, Value)) for v in given) and not any(isinstance(v, float) for v in given):
        return c.b.Range(*(c.b.constant(np.asarray(v, c.dtype().numpy)) for v in given))
    if all(isinstance(v, (int, Dim)) for v in given):
        line = c.b.Range(*(c.b.scalar(v) for v in given))  # type: ignore[arg-type]
        return c.cast(line, c.dtype())
    return _float_range(c, start, step)


def _float_range(c: Call, start: Operand, step: Operand) -> Value:
    """start + i * step, as torch computes it; how many there are is torch's (static) answer."""
    b = c.b
    wide = DType.of("float64")
    count = b.Cast(b.Range(b.scalar(0), b.scalar(c.shape()[0]), b.scalar(1)), to=wide)
    return c.cast(b.Add(b.Mul(count, c.scalar(step, wide)), c.scalar(start, wide)), c.dtype())


@aten("linspace.default")
def linspace(c: Call, start: Operand, end: Operand, steps: Size, dtype: DType | None = None) -> Value:
    """linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device?
    device=None, bool? pin_memory=None) -> Tensor
    """
    b, wide = c.b, DType.of("float64")
    first, last = c.scalar(start, wide), c.scalar(end, wide)
    count = c.shape()[0]
    if count == 1:
        return c.cast(c.unsqueeze(first, 0), c.dtype())
    place = b.Cast(b.Range(b.scalar(0), b.scalar(count), b.scalar(1)), to=wide)
    whole = b.Sub(c.scalar(count, wide), 1.0)
    step = b.Div(b.Sub(last, first), whole)
    rising = b.Add(first, b.Mul(step, place))
    falling = b.Sub(last, b.Mul(step, b.Sub(whole, place)))
    # torch counts the second half from the end, so that both ends are exact
    return c.cast(b.Where(b.Less(place, b.Floor(b.Div(c.scalar(count, wide), 2.0))), rising, falling), c.dtype())


@aten("eye.default", "eye.m")
def eye(c: Call, n: Size, m: Size | None = None, dtype: DType | None = None) -> Value:
    """eye(SymInt n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool?
        pin_memory=None) -> Tensor
    eye.m(SymInt n, SymInt m, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool?
        pin_memory=None) -> Tensor
    """
    return c.b.EyeLike(c.full(c.shape(), 0), dtype=c.dtype())


@aten("tril_indices.default", "triu_indices.default")
def triangle_indices(c: Call, row: int, col: int, offset: int, dtype: DType | None = None) -> Value:
    """tril_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, Device?
        device=None, bool? pin_memory=None) -> Tensor
    triu_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, Device?
        device=None, bool? pin_memory=None) -> Tensor
    """
    indices = np.tril_indices(row, offset, col) if c.name.startswith("tril") else np.triu_indices(row, offset, col)
    return c.b.constant(np.stack(indices).astype(c.dtype().numpy))


@aten("one_hot.default")
def one_hot(c: Call, x: Value, num_classes: int) -> Value:
    """one_hot(Tensor self, int num_classes=-1) -> Tensor"""
    b = c.b
    return b.OneHot(x, b.scalar(c.shape()[-1]), b.constant(np.array([0, 1], np.int64)), axis=-1)


@aten("hann_window.default", "hann_window.periodic", "hamming_window.default", "hamming_window.periodic",
      "blackman_window.default", "blackman_window.periodic")  # fmt: skip
def window(c: Call, window_length: Size, periodic: bool = True, dtype: DType | None = None) -> Value:
    """hann_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None,
        bool? pin_memory=None) -> Tensor
    hann_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None,
        Device? device=None, bool? pin_memory=None) -> Tensor
    hamming_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None,
        bool? pin_memory=None) -> Tensor
    hamming_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout?
        layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
    blackman_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None,
        bool? pin_memory=None) -> Tensor
    blackman_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout?
        layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
    """
    if window_length == 1:
        return c.full((1,), 1)
    kind = {"hann": "HannWindow", "hamm": "HammingWindow", "blac": "BlackmanWindow"}[c.name[:4]]
    made: Value = c.b.op(kind, c.b.scalar(window_length), periodic=int(periodic), output_datatype=DType.of("float64"))
    if kind == "HammingWindow":
        # ONNX's Hamming window has the coefficients 25/46 and 21/46, torch's 0.54 and 0.46
        phase = c.b.Sub(c.b.constant(25 / 46, "float64"), made)
        made = c.b.Sub(c.b.constant(0.54, "float64"), c.b.Mul(phase, 0.46 * 46 / 21))
    return c.cast(made, c.dtype())
