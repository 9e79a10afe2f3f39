"""Type rules of Fourier transforms, windows and the mel scale."""

from __future__ import annotations

from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType
from ge_core.ir.types import TensorType
from ge_core.ops.constraints import float_dtype, require_rank
from ge_core.ops.infer import Infer
from ge_core.ops.registry import type_rule

# The coefficients a0, a1, a2 of windows a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n).
COSINES = {
    "HannWindow": (0.5, 0.5, 0.0),
    "HammingWindow": (25 / 46, 21 / 46, 0.0),
    "BlackmanWindow": (0.42, 0.5, 0.08),
}


def _number(c: Infer, index: int) -> Size | None:
    """The known value of an integer scalar input."""
    content = c.content(index)
    return content[0] if content is not None and len(content) == 1 else None


def _check_parts(c: Infer, wanted: int | None) -> None:
    """The first input's last size is 1 (real) or 2 (complex); as far as it is known, it is the `wanted` one."""
    last: Size = c.shape(0)[-1] if c.shape(0) else 0
    allowed = (1, 2) if wanted is None else (wanted,)
    if isinstance(last, int) and last not in allowed:
        expected = " or ".join({1: "1 (real)", 2: "2 (complex)"}[n] for n in allowed)
        raise c.error(f"the last size of the data is {last}, expected {expected}")


@type_rule("DFT")
def dft(c: Infer) -> TensorType:
    dtype, shape = float_dtype(c, 0), c.shape(0)
    inverse, onesided = bool(c.attr("inverse")), bool(c.attr("onesided"))
    if len(shape) < 2:
        raise c.error(f"data of rank {len(shape)}, expected at least 2: a signal and its parts")
    _check_parts(c, (2 if inverse else 1) if onesided else None)
    last = 1 if onesided and inverse else 2
    axis = _number(c, 2) if c.has(2) else -2
    if not isinstance(axis, int):
        return TensorType(dtype, (*(c.data_dim(0, i) for i in range(len(shape) - 1)), last))
    axis = c.normal_axis(axis, len(shape))
    if axis == len(shape) - 1:
        raise c.error("the last axis holds the parts of complex numbers")
    length: Size | None = (shape[axis] - 1) * 2 if onesided and inverse else shape[axis]
    if c.has(1):
        length = _number(c, 1)
    if length is None:
        out = c.data_dim(0, axis)
    else:
        out = dims.floordiv(length, 2) + 1 if onesided and not inverse else length
    return TensorType(dtype, (*shape[:axis], out, *shape[axis + 1 : -1], last))


@type_rule("STFT")
def stft(c: Infer) -> TensorType:
    dtype = float_dtype(c, 0, 2)
    require_rank(c, 0, 3)
    batch, length = c.shape(0)[:2]
    onesided = bool(c.attr("onesided"))
    _check_parts(c, 1 if onesided else None)
    frame: Size | None = length
    if c.has(2):
        require_rank(c, 2, 1)
        frame = c.shape(2)[0]
    elif c.has(3):
        frame = _number(c, 3)
    step = _number(c, 1)
    if isinstance(step, int) and step < 1:
        raise c.error(f"frame_step is {step}, expected at least 1")
    if frame is None or step is None:
        frames = c.data_dim(0, 1)
    else:
        frames = dims.floordiv(length - frame, step) + 1
        if dims.less_equal(frames, -1):
            raise c.error(f"a frame of {frame} is longer than the signal of {length}")
    if frame is None:
        return TensorType(dtype, (batch, frames, c.data_dim(0, 2), 2))
    return TensorType(dtype, (batch, frames, dims.floordiv(frame, 2) + 1 if onesided else frame, 2))


def _output_dtype(c: Infer) -> DType:
    dtype: DType = c.attr("output_datatype")
    if not dtype.is_numeric:
        raise c.error(f"output_datatype is {dtype}, expected a number type")
    return dtype


@type_rule("HannWindow", "HammingWindow", "BlackmanWindow")
def window(c: Infer) -> TensorType:
    size = _number(c, 0)
    return TensorType(_output_dtype(c), (c.data_dim(0, 0) if size is None else size,))


@type_rule("MelWeightMatrix")
def mel_weight_matrix(c: Infer) -> TensorType:
    length, bins = _number(c, 1), _number(c, 0)
    rows = c.data_dim(0, 0) if length is None else dims.floordiv(length, 2) + 1
    return TensorType(_output_dtype(c), (rows, c.data_dim(0, 1) if bins is None else bins))
