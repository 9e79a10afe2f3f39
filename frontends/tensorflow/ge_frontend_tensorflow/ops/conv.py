"""Convolutions. Kernels are [*window, in, out], depthwise ones [*window, in, multiplier]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.graph import Value

from ..call import Call
from ..layout import channels_first, is_last, spatial, spatial_sizes, to_first, to_last
from ..padding import explicit_spatial, window_pads
from ..registry import tf_op


@dataclass(frozen=True)
class Spaced:
    """A tensor whose spatial axes were taken apart by SpaceToBatchND, perhaps convolved since.

    Attributes:
        source: the tensor before.
        filter: the kernel it was convolved with.
        depthwise: which kind of kernel.
    """

    source: Value
    block: tuple[int, ...]
    paddings: tuple[tuple[Size, Size], ...]
    filter: Value | None = None
    depthwise: bool = False


def _window(filter: Value) -> list[int]:
    sizes = filter.shape[:-2]
    return [s for s in sizes if isinstance(s, int)]


def _out_in(c: Call, filter: Value) -> Value:
    """[*window, in, out] as [out, in, *window]."""
    n = filter.rank - 2
    return c.transpose(filter, (n + 1, n, *range(n)))


def depthwise_kernel(c: Call, filter: Value) -> Value:
    """[*window, in, multiplier] as [in * multiplier, 1, *window]."""
    n = filter.rank - 2
    moved = c.transpose(filter, (n, n + 1, *range(n)))
    count = dims.product(filter.shape[-2:])
    return c.reshape(moved, (count, 1, *filter.shape[:-2]))


@tf_op("Conv2D", "Conv3D")
def conv(c: Call, input: Value, filter: Value) -> Value:
    """Conv2D(input, filter) -> output; T, strides, use_cudnn_on_gpu, padding, explicit_paddings, data_format,
        dilations
    Conv3D(input, filter) -> output; T, strides, padding, data_format, dilations
    """
    return convolved(c, input, filter, depthwise=False)


@tf_op("Conv")
def conv_any(c: Call, input: Value, filter: Value) -> Value:
    """Conv(input, filter) -> output; T, strides, padding, explicit_paddings, data_format, dilations, batch_dims,
    groups
    """
    if c.attr("batch_dims") != 1:
        raise c.unsupported("more than one batch axis")
    last = c.attr("data_format") == "CHANNELS_LAST"
    n = filter.rank - 2
    strides, rates = ((c.attr(a) or [1] * (n + 2)) for a in ("strides", "dilations"))
    strides, rates = ((v[1:-1] if last else v[2:]) for v in (strides, rates))
    given = c.attr("explicit_paddings")
    explicit = (given[2:-2] if last else given[4:]) if given else []
    sizes = input.shape[1:-1] if last else input.shape[2:]
    pads = window_pads(c.attr("padding"), explicit, sizes, _window(filter), strides, rates)
    x = to_first(c, input) if last else input
    y = c.b.Conv(x, _out_in(c, filter), strides=strides, dilations=rates, group=_groups(c, x, filter), **pads)
    return to_last(c, y) if last else y


@tf_op("DepthwiseConv2dNative")
def depthwise_conv(c: Call, input: Value, filter: Value) -> Value:
    """DepthwiseConv2dNative(input, filter) -> output; T, strides, padding, explicit_paddings, data_format, dilations"""
    return convolved(c, input, filter, depthwise=True)


def _known_channels(c: Call, input: Value, filter: Value) -> Value:
    """The input with its number of channels fixed to the kernel's where it is not known at import."""
    axis = input.rank - 1 if is_last(c) else 1
    count = filter.shape[-2]
    if isinstance(input.shape[axis], int) or not isinstance(count, int):
        return input
    b = c.b
    b.ge.Check(b.Equal(b.scalar(input.shape[axis]), b.scalar(count)), message=f"the input needs {count} channels")
    return c.reshape(input, [count if i == axis else n for i, n in enumerate(input.shape)])


def _groups(c: Call, x: Value, filter: Value) -> int:
    channels, each = x.shape[1], filter.shape[-2]
    if not isinstance(channels, int) or not isinstance(each, int) or each == 0 or channels % each:
        raise c.unsupported(f"a kernel of {each} channels on an input of {channels}")
    return channels // each


def convolved(c: Call, input: Value, filter: Value, *, depthwise: bool) -> Value:
    """A convolution with the strides, dilations and padding of the node."""
    input = _known_channels(c, input, filter)
    strides, rates = spatial(c, c.attr("strides")), spatial(c, c.attr("dilations"))
    kernel = _window(filter)
    pads = window_pads(c.attr("padding"), explicit_spatial(c), spatial_sizes(c, input), kernel, strides, rates)
    weight = depthwise_kernel(c, filter) if depthwise else _out_in(c, filter)

    def build(x: Value) -> Value:
        group = x.shape[1] if depthwise else _groups(c, x, filter)
        return c.b.Conv(x, weight, strides=strides, dilations=rates, group=group, kernel_shape=kernel, **pads)

    result = channels_first(c, input, build)
    spaced = c.converter.spaced.get(input)
    if spaced is not None and spaced.filter is None and is_last(c):
        plain = all(s == 1 for s in (*strides, *rates)) and c.attr("padding") == "VALID"
        if plain and len(spaced.block) == len(strides):
            c.converter.spaced[result] = Spaced(spaced.source, spaced.block, spaced.paddings, filter, depthwise)
    return result


@tf_op("SpaceToBatchND")
def space_to_batch_nd(c: Call, input: Value, block_shape: Value, paddings: Value) -> Value:
    """SpaceToBatchND(input, block_shape, paddings) -> output; T, Tblock_shape, Tpaddings"""
    block = c.ints(block_shape, "a block shape")
    flat = c.sizes(paddings)
    assert flat is not None
    pairs = list(zip(flat[::2], flat[1::2], strict=True))
    result = _space_to_batch(c, input, block, pairs)
    if input.rank == len(block) + 2:
        c.converter.spaced[result] = Spaced(input, tuple(block), tuple(pairs))
    return result


@tf_op("SpaceToBatch")
def space_to_batch(c: Call, input: Value, paddings: Value) -> Value:
    """SpaceToBatch(input, paddings) -> output; T, Tpaddings, block_size"""
    flat = c.sizes(paddings)
    assert flat is not None
    return _space_to_batch(c, input, [c.attr("block_size")] * 2, list(zip(flat[::2], flat[1::2], strict=True)))


def _space_to_batch(c: Call, x: Value, block: Sequence[int], pairs: Sequence[tuple[Size, Size]]) -> Value:
    """[N, S1.., rest] as [N * b1.., (S1 + pads) / b1.., rest]."""
    from .shape import padded

    n = len(block)
    x = padded(c, x, [(0, 0), *pairs, *([(0, 0)] * (x.rank - n - 1))], c.like(0, x))
    batch, sizes, rest = x.shape[0], x.shape[1 : n + 1], x.shape[n + 1 :]
    outer = [_divided(c, s, k) for s, k in zip(sizes, block, strict=True)]
    split: list[Size] = [batch]
    for o, k in zip(outer, block, strict=True):
        split += [o, k]
    x = c.reshape(x, (*split, *rest))
    perm = [2 * i + 2 for i in range(n)] + [0] + [2 * i + 1 for i in range(n)]
    x = c.transpose(x, [*perm, *range(2 * n + 1, x.rank)])
    return c.reshape(x, (batch * dims.product(block), *outer, *rest))


def _divided(c: Call, size: Size, block: int) -> Size:
    found = dims.exact_div(size, block)
    if found is None:
        if isinstance(size, int):
            raise c.unsupported(f"a size of {size} in blocks of {block}")
        found = dims.floordiv(size, block)
    return found


@tf_op("BatchToSpaceND")
def batch_to_space_nd(c: Call, input: Value, block_shape: Value, crops: Value) -> Value:
    """BatchToSpaceND(input, block_shape, crops) -> output; T, Tblock_shape, Tcrops"""
    block = c.ints(block_shape, "a block shape")
    flat = c.sizes(crops)
    assert flat is not None
    pairs = list(zip(flat[::2], flat[1::2], strict=True))
    dilated = _dilated(c, input, block, pairs)
    return _batch_to_space(c, input, block, pairs) if dilated is None else dilated


@tf_op("BatchToSpace")
def batch_to_space(c: Call, input: Value, crops: Value) -> Value:
    """BatchToSpace(input, crops) -> output; T, block_size, Tidx"""
    flat = c.sizes(crops)
    assert flat is not None
    return _batch_to_space(c, input, [c.attr("block_size")] * 2, list(zip(flat[::2], flat[1::2], strict=True)))


def _batch_to_space(c: Call, x: Value, block: Sequence[int], crops: Sequence[tuple[Size, Size]]) -> Value:
    n = len(block)
    sizes, rest = x.shape[1 : n + 1], x.shape[n + 1 :]
    batch = _divided(c, x.shape[0], int(dims.product(block)))  # type: ignore[arg-type]
    x = c.reshape(x, (*block, batch, *sizes, *rest))
    perm = [n]
    for i in range(n):
        perm += [n + 1 + i, i]
    x = c.transpose(x, [*perm, *range(2 * n + 1, x.rank)])
    whole = [s * k for s, k in zip(sizes, block, strict=True)]
    x = c.reshape(x, (batch, *whole, *rest))
    for axis, (before, after) in enumerate(crops):
        if dims.equal(before, 0) is not True or dims.equal(after, 0) is not True:
            x = c.slice(x, axis + 1, before, whole[axis] - after)
    return x


def _dilated(c: Call, x: Value, block: Sequence[int], crops: Sequence[tuple[Size, Size]]) -> Value | None:
    """The convolution with holes that SpaceToBatchND, a convolution and BatchToSpaceND were written for."""
    spaced = c.converter.spaced.get(x)
    if spaced is None or spaced.filter is None or list(spaced.block) != list(block):
        return None
    pads = [(a - before, z - after) for (a, z), (before, after) in zip(spaced.paddings, crops, strict=True)]
    if not all(isinstance(a, int) and isinstance(z, int) and a >= 0 and z >= 0 for a, z in pads):
        return None
    filter, source = spaced.filter, to_first(c, spaced.source)
    weight = depthwise_kernel(c, filter) if spaced.depthwise else _out_in(c, filter)
    group = source.shape[1] if spaced.depthwise else _groups(c, source, filter)
    flat: list[Any] = [*(a for a, _ in pads), *(z for _, z in pads)]
    return to_last(c, c.b.Conv(source, weight, strides=[1] * len(block), dilations=list(block), group=group, pads=flat))


# --- transposed ---------------------------------------------------------------------------------------------------


@tf_op("Conv2DBackpropInput", "Conv3DBackpropInputV2")
def conv_transposed(c: Call, input_sizes: Value, filter: Value, out_backprop: Value) -> Value:
    """Conv2DBackpropInput(input_sizes, filter, out_backprop) -> output; T, strides, use_cudnn_on_gpu, padding,
        explicit_paddings, data_format, dilations
    Conv3DBackpropInputV2(input_sizes, filter, out_backprop) -> output; T, strides, padding, data_format,
        dilations, Tshape
    """
    return _transposed(c, c.sizes(input_sizes), filter, out_backprop)


@tf_op("DepthwiseConv2dNativeBackpropInput")
def depthwise_transposed(c: Call, input_sizes: Value, filter: Value, out_backprop: Value) -> Value:
    """DepthwiseConv2dNativeBackpropInput(input_sizes, filter, out_backprop) -> output; T, strides, padding,
    explicit_paddings, data_format, dilations
    """
    sizes = c.sizes(input_sizes)
    return _transposed(c, sizes, filter, out_backprop, depthwise=True)


def _transposed(c: Call, sizes: list[Size] | None, filter: Value, y: Value, *, depthwise: bool = False) -> Value:
    """The input of a convolution of which `y` is the output, of the given sizes."""
    if sizes is None:
        raise c.unsupported("sizes of an unknown number")
    last = "data_format" not in c.known.attributes or is_last(c)
    n = filter.rank - 2
    strides = c.attr("strides")
    rates = c.attr("dilations") if "dilations" in c.known.attributes else [1] * (n + 2)
    strides, rates = ((v[1:-1] if last else v[2:]) for v in (strides, rates))
    wanted = sizes[-n:] if len(sizes) == n else sizes[1:-1] if last else sizes[2:]
    kernel = _window(filter)
    x = to_first(c, y) if last else y
    weight, group = _transposed_weight(c, filter, x, sizes[-1] if last else sizes[1], len(sizes) == n, depthwise)
    begin: list[int] = []
    crop_end: list[Size] = []
    for i in range(n):
        whole = (x.shape[2 + i] - 1) * strides[i] + (kernel[i] - 1) * rates[i] + 1
        extra = whole - wanted[i]
        begin.append(_first_pad(c, extra, i, x.shape[2 + i], strides[i], (kernel[i] - 1) * rates[i] + 1))
        crop_end.append(extra - begin[-1])
    result = _conv_transpose(c, x, weight, strides, rates, group, begin, crop_end, kernel, wanted)
    return to_last(c, result) if last else result


def _transposed_weight(
    c: Call, filter: Value, x: Value, channels: Size, short: bool, depthwise: bool
) -> tuple[Value, int]:
    """The kernel as [in, out / groups, *window] and the number of groups."""
    if depthwise:
        count = filter.shape[-2]
        assert isinstance(count, int)
        return depthwise_kernel(c, filter), count
    weight = _out_in(c, filter)
    each = filter.shape[-2]
    if short or not isinstance(channels, int) or not isinstance(each, int) or channels == each:
        return weight, 1
    return weight, channels // each


def _first_pad(c: Call, extra: Size, i: int, size: Size, stride: int, extent: int) -> int:
    """What is cut off at the start of an axis: half of SAME's padding, rounded down."""
    padding = c.attr("padding")
    if padding == "VALID":
        return 0
    if padding == "EXPLICIT":
        return explicit_spatial(c)[2 * i]
    if isinstance(extra, int):
        return max(extra, 0) // 2
    # the target is between stride * (n - 1) + 1 and stride * n, and SAME of it depends on which
    raise c.unsupported("a target size whose padding is not known at import", "give the spatial sizes")


def _conv_transpose(
    c: Call,
    x: Value,
    weight: Value,
    strides: Sequence[int],
    rates: Sequence[int],
    group: int,
    begin: Sequence[int],
    crop_end: Sequence[Size],
    kernel: Sequence[int],
    wanted: Sequence[Size],
) -> Value:
    attrs: dict[str, Any] = {"strides": list(strides), "dilations": list(rates), "group": group}
    if all(isinstance(e, int) for e in crop_end):
        ends = [e for e in crop_end if isinstance(e, int)]
        more = [max(-e, 0) for e in ends]
        if all(m < max(s, r) for m, s, r in zip(more, strides, rates, strict=True)):
            pads = [*begin, *(max(e, 0) for e in ends)]
            return c.b.ConvTranspose(x, weight, pads=pads, output_padding=more, **attrs)
    whole = c.b.ConvTranspose(x, weight, pads=[0] * (2 * len(kernel)), **attrs)
    for i, first in enumerate(begin):
        whole = c.slice(whole, 2 + i, first, first + wanted[i])
        short = wanted[i] - whole.shape[2 + i]
        if dims.equal(short, 0) is not True:
            from .shape import padded

            pairs: list[tuple[Size, Size]] = [(0, 0)] * whole.rank
            pairs[2 + i] = (0, short)
            whole = padded(c, whole, pairs, c.like(0, whole))
    return whole


# --- fused --------------------------------------------------------------------------------------------------------


@tf_op("_FusedConv2D")
def fused_conv(c: Call, input: Value, filter: Value, args: Sequence[Value], host_args: Sequence[Value]) -> Value:
    """_FusedConv2D(input, filter, args..., host_args...) -> output; T, TArgs, num_args, num_host_args, strides,
    padding, explicit_paddings, data_format, filter_format, dilations, use_cudnn_on_gpu, fused_ops, epsilon,
    leakyrelu_alpha
    """
    result = convolved(c, input, filter, depthwise=False)
    for name in c.attr("fused_ops"):
        if name == "BiasAdd":
            bias = args[0]
            result = c.b.Add(result, bias if is_last(c) else c.reshape(bias, (bias.shape[0], 1, 1)))
        else:
            result = activated(c, result, name)
    return result


def activated(c: Call, x: Value, name: str) -> Value:
    """An activation that a fused operator names."""
    b = c.b
    if name == "Relu6":
        return b.Clip(x, c.like(0, x), c.like(6, x))
    if name == "LeakyRelu":
        return b.LeakyRelu(x, alpha=c.attr("leakyrelu_alpha"))
    if name in ("Relu", "Elu", "Tanh", "Sigmoid"):
        return b.op(name, x)
    if name in ("GeluExact", "GeluApproximate"):
        return b.Gelu(x, approximate="none" if name == "GeluExact" else "tanh")
    raise c.unsupported(f"the fused operator {name}")


@tf_op("Dilation2D")
def dilation(c: Call, input: Value, filter: Value) -> Value:
    """Dilation2D(input, filter) -> output; T, strides, rates, padding"""
    from .pool import window_slices

    strides, rates = c.attr("strides")[1:-1], c.attr("rates")[1:-1]
    kernel = [int(n) for n in filter.shape[:2]]  # type: ignore[arg-type]
    slices = window_slices(c, input, kernel, strides, rates, c.attr("padding"), float(input.dtype.min))
    best = None
    for (i, j), part in slices.items():
        row = c.b.Gather(c.b.Gather(filter, c.b.scalar(i), axis=0), c.b.scalar(j), axis=0)
        total = c.b.Add(part, row)
        best = total if best is None else c.b.Max([best, total])
    assert best is not None
    return best
