"""Reference kernels of operators that make tensors from sizes and scalars."""

from __future__ import annotations

import numpy as np

from ge_core.errors import ExecutionError, SizeBoundError
from ge_core.ir.dtype import float32
from ge_core.ops.creation import range_length
from ge_core.ops.registry import kernel
from ge_core.reference.call import Call
from ge_core.reference.cast import convert, widened

Array = np.ndarray


@kernel("Range")
def range_(call: Call, start: Array, limit: Array, delta: Array) -> Array:
    first, end, step = (widened(a).reshape(()) for a in (start, limit, delta))
    if step == 0:
        raise call.error(ExecutionError, "delta is 0")
    if first.dtype.kind in "iu":
        count = max(0, -((int(first) - int(end)) // int(step)))
        return first + np.arange(count).astype(first.dtype) * step
    count = range_length(float(first), float(end), float(step))
    # 16-bit floats are computed in float32 unless stash_type is their own type, which rounds each step
    if call.dtype().bits == 16 and call.attr("stash_type") != float32:
        steps = convert(np.arange(count).astype(np.float32), call.dtype()) * delta.reshape(())
        return start.reshape(()) + steps
    return convert(first + np.arange(count).astype(first.dtype) * step, call.dtype())


@kernel("ConstantOfShape")
def constant_of_shape(call: Call, shape: Array) -> Array:
    if (shape < 0).any():
        raise call.error(SizeBoundError, f"shape {shape.tolist()} has a negative size")
    value = call.attr("value")
    fill = np.float32(0) if value is None else value.array().reshape(())
    return np.full([int(n) for n in shape], fill, call.dtype().numpy)


@kernel("EyeLike")
def eye_like(call: Call, x: Array) -> Array:
    rows, columns = x.shape
    return np.eye(rows, columns, call.attr("k"), np.bool_).astype(call.dtype().numpy)


@kernel("OneHot")
def one_hot(call: Call, indices: Array, depth: Array, values: Array) -> Array:
    size = int(widened(depth).reshape(()))
    axis = call.attr("axis")
    places = np.expand_dims(widened(indices), axis)
    choices = np.arange(size).reshape([size if i == axis % places.ndim else 1 for i in range(places.ndim)])
    hit = (places == choices) | (places + size == choices)
    return np.where(hit, values[1], values[0])
