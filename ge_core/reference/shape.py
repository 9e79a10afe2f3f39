"""Reference kernels of sizes as values and of operators that change the shape alone."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ge_core.errors import CheckError, SizeBoundError
from ge_core.ops.registry import kernel
from ge_core.reference.call import Call

Array = np.ndarray


@kernel("ge.Dims")
def dims(call: Call) -> Array:
    sizes = [call.size(e) for e in call.attr("exprs")]
    return np.array(sizes[0] if call.attr("scalar") else sizes, np.int64)


@kernel("ge.BindDim")
def bind_dim(call: Call, x: Array) -> Array:
    return x.reshape(()).astype(np.int64)


@kernel("ge.Check")
def check(call: Call, condition: Array) -> tuple[()]:
    if not condition.all():
        raise call.error(CheckError, call.attr("message") or "an assertion of the model failed")
    return ()


@kernel("ge.Relayout")
def relayout(call: Call, x: Array) -> Array:
    return x


@kernel("Shape")
def shape(call: Call, x: Array) -> Array:
    return np.array(x.shape[call.attr("start") : call.attr("end")], np.int64)


@kernel("Size")
def size(call: Call, x: Array) -> Array:
    return np.array(x.size, np.int64)


@kernel("Reshape")
def reshape(call: Call, x: Array, wanted: Array) -> Array:
    sizes = [int(n) for n in wanted]
    if not call.attr("allowzero"):
        sizes = [x.shape[i] if n == 0 else n for i, n in enumerate(sizes)]
    rest = math.prod(n for n in sizes if n != -1)
    if -1 in sizes and rest > 0:
        sizes[sizes.index(-1)] = x.size // rest
    if -1 in sizes or math.prod(sizes) != x.size:
        raise call.error(SizeBoundError, f"{x.size} elements do not fill shape {wanted.tolist()}")
    return x.reshape(sizes)


@kernel("Flatten")
def flatten(call: Call, x: Array) -> Array:
    axis = call.attr("axis")
    axis += x.ndim if axis < 0 else 0
    return x.reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))


@kernel("Squeeze")
def squeeze(call: Call, x: Array, axes: Array | None = None) -> Array:
    return x.squeeze() if axes is None else x.squeeze(tuple(int(a) for a in axes.reshape(-1)))


@kernel("Unsqueeze")
def unsqueeze(call: Call, x: Array, axes: Array) -> Array:
    return np.expand_dims(x, tuple(int(a) for a in axes.reshape(-1)))


@kernel("Expand")
def expand(call: Call, x: Array, wanted: Array) -> Array:
    return np.broadcast_to(x, broadcast_shape(x.shape, wanted.tolist()))


def broadcast_shape(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...]:
    """numpy's broadcast of two shapes; ValueError when they do not fit."""
    return np.broadcast_shapes(tuple(a), tuple(int(n) for n in b))
