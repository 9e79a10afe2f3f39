"""Type rules of convolutions and their relatives.

Layouts are ONNX's: data [N, C, *spatial], weights [O, C/group, *kernel] ([C, O/group, *kernel] transposed).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ge_core.errors import GeError
from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType, int32
from ge_core.ir.types import Shape, TensorType
from ge_core.ops.constraints import float_dtype, require_choice, require_rank
from ge_core.ops.infer import Infer
from ge_core.ops.registry import type_rule
from ge_core.ops.windows import (
    AUTO_PADS,
    Attributes,
    Windows,
    auto_pad_of,
    explicit_windows,
    halves,
    output_positions,
    window_attributes,
)


def _spatial(c: Infer, data: int, weights: int) -> tuple[Shape, Shape, Shape]:
    """Shapes of data and weights and the kernel sizes.

    Raises:
        TypeRuleError: ranks differ, there is no spatial axis, or kernel_shape contradicts the weights.
    """
    x, w = c.shape(data), c.shape(weights)
    if len(x) < 3:
        raise c.error(f"data of rank {len(x)}, expected at least 3: batch, channels and spatial axes")
    if len(w) != len(x):
        raise c.error(f"weights of rank {len(w)} for data of rank {len(x)}")
    kernel = w[2:]
    declared = c.attr("kernel_shape")
    if declared is not None:
        if len(declared) != len(kernel):
            raise c.error(f"kernel_shape has {len(declared)} numbers for {len(kernel)} spatial axes")
        kernel = tuple(
            c.merge(a, b, "kernel_shape and the weights' sizes") for a, b in zip(declared, w[2:], strict=True)
        )
    return x, w, kernel


def _check_bias(c: Infer, index: int, channels: Size) -> None:
    if c.has(index):
        require_rank(c, index, 1)
        c.merge(c.shape(index)[0], channels, "the sizes of bias and output channels")


def _groups(c: Infer, channels: Size, what: str) -> int:
    group: int = c.attr("group")
    if group < 1 or (isinstance(channels, int) and channels % group):
        raise c.error(f"{channels} {what} do not divide into {group} groups")
    return group


def _conv_shape(c: Infer, data: int, weights: int, bias: int) -> Shape:
    x, w, kernel = _spatial(c, data, weights)
    group = _groups(c, w[0], "output channels")
    c.merge(x[1], w[1] * group, "the channels of the data and group times those of the weights")
    _check_bias(c, bias, w[0])
    windows = window_attributes(c, c.error, kernel, x[2:])
    return (x[0], w[0], *output_positions(windows, auto_pad_of(c), x[2:], False, c.error))


@type_rule("Conv")
def conv(c: Infer) -> TensorType:
    dtype = float_dtype(c, 0, 1, 2)
    return TensorType(dtype, _conv_shape(c, 0, 1, 2))


@type_rule("ConvInteger")
def conv_integer(c: Infer) -> TensorType:
    return TensorType(int32, _conv_shape(c, 0, 1, 4))


@type_rule("QLinearConv")
def qlinear_conv(c: Infer) -> TensorType:
    dtype: DType = c.dtype(7)
    return TensorType(dtype, _conv_shape(c, 0, 3, 8))


@type_rule("ConvTranspose")
def conv_transpose(c: Infer) -> TensorType:
    dtype = float_dtype(c, 0, 1, 2)
    x, w, kernel = _spatial(c, 0, 1)
    c.merge(x[1], w[0], "the channels of data and weights")
    group = _groups(c, w[0], "input channels")
    _check_bias(c, 2, w[1] * group)
    _, sizes = transposed_windows(c, c.error, kernel, x[2:])
    return TensorType(dtype, (x[0], w[1] * group, *sizes))


def transposed_windows(
    c: Attributes, fail: Callable[[str], GeError], kernel: Sequence[Size], spatial: Sequence[Size]
) -> tuple[Windows, tuple[Size, ...]]:
    """The windows of a ConvTranspose with its effective pads, and the output's spatial sizes.

    Given output_shape, or SAME_* (output = size * stride), the pads make up the difference to the full size
    stride * (size - 1) + extent + output_padding; what is missing is zeros at the end (negative end pads).

    Raises:
        GeError: an attribute has the wrong length or is out of range.
    """
    rank = len(spatial)
    windows = explicit_windows(c, fail, kernel, rank)
    auto_pad = auto_pad_of(c)
    extra = tuple(c.attr("output_padding", (0,) * rank))
    shape = c.attr("output_shape")
    if shape is not None and len(shape) == rank + 2:
        shape = shape[2:]
    for name, numbers in (("output_padding", extra), ("output_shape", shape)):
        if numbers is not None and len(numbers) != rank:
            raise fail(f"{name} has {len(numbers)} numbers, expected {rank}")
    if any(e < 0 or e >= max(windows.strides[i], windows.dilations[i]) for i, e in enumerate(extra)):
        raise fail(f"output_padding {list(extra)} must be smaller than strides or dilations")
    if auto_pad not in AUTO_PADS:
        raise fail(f"auto_pad is {auto_pad!r}, expected one of {', '.join(AUTO_PADS)}")
    if auto_pad == "VALID":
        windows = replace(windows, begin=(0,) * rank, end=(0,) * rank)
    if shape is None and not auto_pad.startswith("SAME"):
        return windows, windows.transposed(spatial, extra)
    sizes = tuple(s * windows.strides[i] for i, s in enumerate(spatial)) if shape is None else tuple(shape)
    full = replace(windows, begin=(0,) * rank, end=(0,) * rank).transposed(spatial, extra)
    begin, end = [], []
    for size, whole in zip(sizes, full, strict=True):
        first, _ = halves(dims.maximum(whole - size, 0), upper=auto_pad == "SAME_UPPER")
        begin.append(first)
        end.append(whole - size - first)
    return replace(windows, begin=tuple(begin), end=tuple(end)), sizes


@type_rule("DeformConv")
def deform_conv(c: Infer) -> TensorType:
    dtype = float_dtype(c, 0, 1, 2, 3, 4)
    x, w, kernel = _spatial(c, 0, 1)
    group = _groups(c, w[0], "output channels")
    c.merge(x[1], w[1] * group, "the channels of the data and group times those of the weights")
    _check_bias(c, 3, w[0])
    windows = window_attributes(c, c.error, kernel, x[2:])
    out = output_positions(windows, "NOTSET", x[2:], False, c.error)
    points = dims.product(kernel) * c.attr("offset_group")
    for index, channels in ((2, points * len(kernel)), (4, points)):
        if c.has(index):
            require_rank(c, index, len(x))
            given = c.shape(index)
            for a, b in zip(given, (x[0], channels, *out), strict=True):
                c.merge(a, b, f"a size of {c.schema.input(index).name} and the expected one")
    return TensorType(dtype, (x[0], w[0], *out))


@type_rule("Col2Im")
def col2im(c: Infer) -> TensorType:
    require_rank(c, 0, 3)
    n, blocks, _ = c.shape(0)
    image, block = c.content(1), c.content(2)
    rank = image and len(image) or block and len(block) or c.shape(1)[0]
    if not isinstance(rank, int):
        return TensorType(c.dtype(0), None)
    if block is not None:
        explicit_windows(c, c.error, block, rank)
        channels: Size | None = dims.exact_div(blocks, dims.product(block))
        if channels is None and isinstance(blocks, int) and all(isinstance(b, int) for b in block):
            raise c.error(f"{blocks} rows do not divide into blocks of {list(block)}")
        if channels is None:
            channels = dims.floordiv(blocks, dims.product(block))
    else:
        channels = c.data_dim(0, 1, hi=blocks)
    sizes = image or tuple(c.data_dim(0, 2 + i) for i in range(rank))
    return TensorType(c.dtype(0), (n, channels, *sizes))


@type_rule("ge.Im2Col")
def im2col(c: Infer) -> TensorType:
    x = c.shape(0)
    windows = window_attributes(c, c.error, c.attr("kernel_shape"), x[2:])
    out = output_positions(windows, "NOTSET", x[2:], False, c.error)
    return TensorType(c.dtype(0), (x[0], x[1] * dims.product(windows.kernel), dims.product(out)))


@type_rule("CausalConvWithState")
def causal_conv_with_state(c: Infer) -> list[TensorType]:
    dtype = float_dtype(c, 0, 1, 2, 3)
    require_choice(c, "activation", ("none", "silu", "swish"))
    for index in (0, 1):
        require_rank(c, index, 3)
    n, channels, length = c.shape(0)
    w = c.shape(1)
    c.merge(channels, w[0], "the channels of input and weight")
    c.merge(w[1], 1, "the weight's second size and 1")
    _check_bias(c, 2, channels)
    state = (n, channels, w[2] - 1)
    if c.has(3):
        require_rank(c, 3, 3)
        for a, b in zip(c.shape(3), state, strict=True):
            c.merge(a, b, "a size of past_state and the expected one")
    return [TensorType(dtype, (n, channels, length)), TensorType(dtype, state)]
