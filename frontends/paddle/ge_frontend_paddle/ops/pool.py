"""Pools. Data [N, C, *spatial], or with the channels last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.graph import Value

from ..call import Call, Sizes
from ..registry import pd
from ..windows import channels_first, explicit, padded, padding, pads_of, same_pads


@pd("pool2d")
def pool2d(
    c: Call,
    x: Value,
    kernel_size: Sizes,
    *,
    strides: Sequence[int],
    paddings: Sequence[int],
    ceil_mode: bool,
    exclusive: bool,
    data_format: str,
    pooling_type: str,
    global_pooling: bool,
    adaptive: bool,
    padding_algorithm: str,
) -> Value:
    """pool2d(x, kernel_size, *, strides, paddings, ceil_mode, exclusive, data_format, pooling_type, global_pooling,
    adaptive, padding_algorithm) -> out
    """
    kernel = c.known_sizes(kernel_size, "a kernel size")
    average = pooling_type == "avg"
    if not average and pooling_type != "max":
        raise c.unsupported(f"pooling of type {pooling_type}")

    def build(data: Value) -> Value:
        if global_pooling:
            return c.b.op("GlobalAveragePool" if average else "GlobalMaxPool", data)
        if adaptive:
            return _adaptive(c, data, kernel, average)
        sizes = c.known_ints(kernel_size, "a kernel size")
        same = padding_algorithm == "SAME"
        if same and ceil_mode and any(k < s for k, s in zip(sizes, strides, strict=True)):
            raise c.unsupported("ceil_mode with padding 'SAME' and a stride over the size of the window")
        ceil = ceil_mode and not same  # windows that are padded this way fit without a rest
        pads = padding(padding_algorithm, paddings, data.shape[2:], sizes, strides)
        half = len(sizes)
        if average and not exclusive and ("pads" not in pads or pads["pads"][:half] != pads["pads"][half:]):
            if same:
                before, after = same_pads(data.shape[2:], sizes, strides)
            else:
                before, after = pads["pads"][:half], pads["pads"][half:]
            return _uneven_average(c, data, sizes, list(strides), before, after, ceil)
        return _window(c, data, average, sizes, list(strides), pads, ceil, exclusive)

    found: Value = channels_first(c, x, data_format, build)
    return found


def _window(
    c: Call,
    x: Value,
    average: bool,
    kernel: list[int],
    strides: list[int],
    pads: dict[str, Any],
    ceil_mode: bool,
    exclusive: bool,
) -> Value:
    common: dict[str, Any] = {
        "kernel_shape": kernel, "strides": strides, "dilations": [1] * len(kernel),
        "ceil_mode": int(ceil_mode),
        **pads,
    }  # fmt: skip
    if not average:
        return c.b.op("MaxPool", x, num_outputs=1, **common)
    op = "ge.AveragePool" if ceil_mode else "AveragePool"
    return c.b.op(op, x, count_include_pad=int(not exclusive), **common)


def _uneven_average(
    c: Call,
    x: Value,
    kernel: list[int],
    strides: list[int],
    before: Sequence[Size],
    after: Sequence[Size],
    ceil_mode: bool,
) -> Value:
    """An average that counts padding. Paddle counts at the end of an axis as much of it as stands at its start:
    a window from i * stride - before counts min(kernel, size + 2 * before - i * stride).
    """
    b = c.b
    wide = padded(c, x, before, after)
    total: Value = b.ge.AveragePool(
        wide, kernel_shape=kernel, strides=strides, pads=[0] * (2 * len(kernel)), dilations=[1] * len(kernel),
        ceil_mode=int(ceil_mode), count_include_pad=1, divisor=1,
    )  # fmt: skip
    for axis, (k, stride, start) in enumerate(zip(kernel, strides, before, strict=True), 2):
        starts = b.Mul(c.range(total.shape[axis]), b.scalar(stride))
        counted = b.Min([b.Sub(b.scalar(x.shape[axis] + 2 * start), starts), b.scalar(k)])
        counts = c.reshape(c.cast(counted, x.dtype), (total.shape[axis], *[1] * (x.rank - axis - 1)))
        total = b.Div(total, counts)
    return total


def _adaptive(c: Call, x: Value, sizes: Sequence[Size], average: bool) -> Value:
    inner = x.shape[2:]
    wanted = _wanted(sizes, inner)
    if all(size == 1 for size in wanted):
        return c.b.op("GlobalAveragePool" if average else "GlobalMaxPool", x)
    if tuple(wanted) == tuple(inner):
        return x
    whole = [dims.exact_div(n, size) for n, size in zip(inner, wanted, strict=True)]
    if all(isinstance(k, int) and k > 0 for k in whole):
        op = "AveragePool" if average else "MaxPool"
        return c.b.op(op, x, kernel_shape=whole, strides=whole, num_outputs=1)
    found: Value = c.b.ge.AdaptivePool(x, output_size=wanted, mode="average" if average else "max", num_outputs=1)
    return found


def _wanted(sizes: Sequence[Size], inner: Sequence[Size]) -> list[Size]:
    """The sizes of an adaptive pool's result; -1 keeps one."""
    return [n if isinstance(size, int) and size == -1 else size for size, n in zip(sizes, inner, strict=True)]


@pd("pool3d")
def pool3d(
    c: Call,
    x: Value,
    *,
    kernel_size: Sequence[int],
    strides: Sequence[int],
    paddings: Sequence[int],
    ceil_mode: bool,
    exclusive: bool,
    data_format: str,
    pooling_type: str,
    global_pooling: bool,
    adaptive: bool,
    padding_algorithm: str,
) -> Value:
    """pool3d(x, *, kernel_size, strides, paddings, ceil_mode, exclusive, data_format, pooling_type, global_pooling,
    adaptive, padding_algorithm) -> out
    """
    return pool2d(
        c, x, kernel_size, strides=strides, paddings=paddings, ceil_mode=ceil_mode, exclusive=exclusive,
        data_format=data_format, pooling_type=pooling_type, global_pooling=global_pooling, adaptive=adaptive,
        padding_algorithm=padding_algorithm,
    )  # fmt: skip


@pd("max_pool2d_with_index", "max_pool3d_with_index")
def max_pool_with_index(
    c: Call,
    x: Value,
    *,
    kernel_size: Sequence[int],
    strides: Sequence[int] = (1, 1),
    paddings: Sequence[int] = (0, 0),
    global_pooling: bool = False,
    adaptive: bool = False,
    ceil_mode: bool = False,
) -> tuple[Value, Value]:
    """max_pool2d_with_index(x, *, kernel_size, strides={1, 1}, paddings={0, 0}, global_pooling=false, adaptive=false,
        ceil_mode=false) -> out, mask
    max_pool3d_with_index(x, *, kernel_size, strides={1, 1, 1}, paddings={0, 0, 0}, global_pooling=false,
        adaptive=false, ceil_mode=false) -> out, mask
    """
    inner = x.shape[2:]
    if adaptive or global_pooling:
        sizes = _wanted([1] * len(inner) if global_pooling else kernel_size, inner)
        places = c.b.ge.AdaptivePool(x, output_size=sizes, mode="max", num_outputs=2)[1]
        return _adaptive(c, x, sizes, False), c.cast(places, c.dtype(1))
    before, after = explicit(paddings, len(kernel_size))
    values, places = c.b.MaxPool(
        x, kernel_shape=list(kernel_size), strides=list(strides), pads=[*before, *after],
        dilations=[1] * len(kernel_size), ceil_mode=int(ceil_mode), num_outputs=2,
    )  # fmt: skip
    # ONNX counts places over the whole tensor, Paddle within a plane
    plane = c.b.scalar(dims.product(inner))
    return values, c.cast(c.b.Mod(places, plane), c.dtype(1))


@pd("lp_pool2d", ignores=("exclusive", "pooling_type"))
def lp_pool2d(
    c: Call,
    x: Value,
    *,
    kernel_size: Sequence[int],
    strides: Sequence[int] = (1, 1),
    paddings: Sequence[int] = (0, 0),
    ceil_mode: bool = False,
    data_format: str = "NCHW",
    global_pooling: bool = False,
    adaptive: bool = False,
    padding_algorithm: str = "EXPLICIT",
    norm_type: float = 0.0,
) -> Value:
    """lp_pool2d(x, *, kernel_size, strides={1,1}, paddings={0,0}, ceil_mode=false, exclusive=true, data_format="NCHW",
    pooling_type="", global_pooling=false, adaptive=false, padding_algorithm="EXPLICIT", norm_type=0.0f) -> out
    """
    if adaptive or norm_type == 0:
        raise c.unsupported("an adaptive pool, or the norm 0")

    def build(data: Value) -> Value:
        b = c.b
        sizes = list(kernel_size)
        pads = pads_of(padding_algorithm, paddings, data.shape[2:], sizes, strides)
        if pads is None:
            data = padded(c, data, *same_pads(data.shape[2:], sizes, strides))
            pads = [0] * (2 * len(sizes))
        powers = b.Pow(data, c.scalar(norm_type, x.dtype))
        if global_pooling:
            total = b.ReduceSum(powers, b.ints(range(2, data.rank)), keepdims=1)
        else:
            mean = b.ge.AveragePool(
                powers, kernel_shape=sizes, strides=list(strides), pads=pads, dilations=[1] * len(sizes),
                ceil_mode=int(ceil_mode), count_include_pad=1, divisor=1,
            )  # fmt: skip
            total = mean
        return b.Pow(total, c.scalar(1 / norm_type, x.dtype))

    found: Value = channels_first(c, x, data_format, build)
    return found


@pd("unpool", ignores=("ksize", "strides", "padding"))
def unpool(c: Call, x: Value, indices: Value, output_size: Sizes, *, data_format: str = "NCHW") -> Value:
    """unpool(x, indices, output_size, *, ksize, strides, padding, data_format) -> out"""
    return _unpooled(c, x, indices, c.known_sizes(output_size, "an output size"), data_format)


@pd("unpool3d", ignores=("ksize", "strides", "paddings"))
def unpool3d(c: Call, x: Value, indices: Value, *, output_size: Sequence[int], data_format: str = "NCDHW") -> Value:
    """unpool3d(x, indices, *, ksize, strides={1,1,1}, paddings={0,0,0}, output_size={0,0,0}, data_format="NCDHW") ->
    out
    """
    return _unpooled(c, x, indices, output_size, data_format)


def _unpooled(c: Call, x: Value, indices: Value, output_size: Sequence[Size], data_format: str) -> Value:
    if data_format not in ("NCHW", "NCDHW"):
        raise c.unsupported(f"the order {data_format}")
    spatial = x.rank - 2
    sizes = output_size[-spatial:]
    planes = dims.product(x.shape[:2])
    inner = dims.product(x.shape[2:])
    empty = c.full((planes, dims.product(sizes)), 0, x.dtype)
    written = c.b.ScatterElements(empty, c.reshape(indices, (planes, inner)), c.reshape(x, (planes, inner)), axis=1)
    return c.reshape(written, (*x.shape[:2], *sizes))
