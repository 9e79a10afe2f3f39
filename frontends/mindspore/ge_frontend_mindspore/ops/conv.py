"""Convolutions, and windows as columns. Data [N, C, *spatial], or without N; weights [out, in / group, *kernel]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ge_core.ir.graph import Value

from ..call import Call
from ..registry import primitive

# MindSpore's PadMode as a number
PADS = {0: "pad", 1: "same", 2: "valid", 3: "full"}
_BY_NUMBERS = frozenset({"pad", "calculated"})  # names of the mode in which the numbers of the paddings are given


def pad_mode(mode: Any) -> str:
    """A padding mode that stands as a number or as a text."""
    return PADS.get(mode, "") if isinstance(mode, int) else str(mode).lower()


def spatial_of(numbers: Any, rank: int) -> list[int]:
    """The numbers of the spatial axes: one for all, one for each, or with two in front for N and C."""
    given = [numbers] if isinstance(numbers, int) else list(numbers)
    if len(given) == 1:
        return given * rank
    return given[-rank:]


def pads_of(c: Call, mode: Any, pad_list: Any, rank: int) -> dict[str, Any]:
    """The attributes auto_pad or pads of ONNX."""
    name = pad_mode(mode)
    if name == "same":
        return {"auto_pad": "SAME_UPPER"}
    if name == "valid":
        return {"pads": [0] * (2 * rank)}
    if name not in _BY_NUMBERS:
        raise c.unsupported(f"the padding mode {mode!r}")
    given = [pad_list] * (2 * rank) if isinstance(pad_list, int) else list(pad_list)
    if len(given) == 1:
        given *= 2 * rank
    if len(given) == rank:
        given = [p for p in given for _ in range(2)]
    return {"pads": [*given[0::2], *given[1::2]]}


def _channels_first(c: Call, format: str) -> None:
    if format.startswith("N") and not format.startswith("NC"):
        raise c.unsupported(f"the data format {format}")


@primitive("Conv2D", "Conv3D",
           ignores=("out_channel", "kernel_size", "pad", "groups", "data_format", "offset_x", "offset_a", "stride_list",
                    "mode"))  # fmt: skip
def conv(
    c: Call,
    x: Value,
    w: Value,
    pad_mode: Any,
    pad_list: Any,
    group: int = 1,
    stride: Any = None,
    strides: Any = None,
    dilation: Any = None,
    dilations: Any = None,
    format: str = "NC",
) -> Value:
    """Conv2D(out_channel, kernel_size, mode=1, pad_mode='valid', pad=0, stride=1, dilation=1, group=1,
    data_format='NCHW')(x, w)"""
    _channels_first(c, format)
    rank = x.rank - 2
    return c.b.Conv(
        x,
        w,
        strides=spatial_of(1 if stride is None and strides is None else stride or strides, rank),
        dilations=spatial_of(1 if dilation is None and dilations is None else dilation or dilations, rank),
        group=group,
        **pads_of(c, pad_mode, pad_list, rank),
    )


@primitive("Conv2DTranspose", "Conv2DBackpropInput",
           ignores=("out_channel", "kernel_size", "pad", "groups", "data_format", "mode", "weight_init",
                    "bias_init"))  # fmt: skip
def conv_transpose(
    c: Call,
    x: Value,
    w: Value,
    input_sizes: Any,
    pad_mode: Any,
    pad_list: Any,
    stride: Any,
    dilation: Any,
    group: int = 1,
    format: str = "NC",
) -> Value:
    """Conv2DTranspose(out_channel, kernel_size, pad_mode='valid', pad=0, pad_list=None, mode=1, stride=1, dilation=1,
    group=1, data_format='NCHW')(dout, weight, input_size)"""
    _channels_first(c, format)
    rank = x.rank - 2
    steps, gaps = spatial_of(stride, rank), spatial_of(dilation, rank)
    sizes = c.sizes(input_sizes)[-rank:]
    kernel = w.shape[2:]
    low, extra = [], []
    given = pads_of(c, pad_mode, pad_list, rank)
    for k in range(rank):
        # what a forward convolution of this padding would have read of the wanted output
        full = steps[k] * (x.shape[2 + k] - 1) + gaps[k] * (kernel[k] - 1) + 1
        over = full - sizes[k]
        if not isinstance(over, int):
            raise c.unsupported("an output size that depends on a symbol")
        first = given["pads"][k] if "pads" in given else max(over, 0) // 2
        low.append(first)
        extra.append(over - first)
    ends = [max(e, 0) for e in extra]
    return c.b.ConvTranspose(
        x, w, strides=steps, dilations=gaps, group=group, pads=[*low, *ends],
        output_padding=[max(-e, 0) for e in extra],
    )  # fmt: skip


@primitive("Conv3DTranspose",
           ignores=("in_channel", "out_channel", "kernel_size", "pad", "groups", "data_format", "mode", "pad_mode",
                    "stride", "dilation", "input_size"))  # fmt: skip
def conv3d_transpose(
    c: Call,
    x: Value,
    w: Value,
    pad_list: Any,
    strides: Any,
    dilations: Any,
    group: int = 1,
    output_padding: Any = 0,
    format: str = "NC",
) -> Value:
    """Conv3DTranspose(in_channel, out_channel, kernel_size, mode=1, pad_mode='valid', pad=0, stride=1, dilation=1,
    group=1, output_padding=0, data_format='NCDHW')(dout, weight)"""
    _channels_first(c, format)
    rank = x.rank - 2
    return c.b.ConvTranspose(
        x, w, strides=spatial_of(strides, rank), dilations=spatial_of(dilations, rank), group=group,
        output_padding=spatial_of(output_padding, rank), **pads_of(c, "pad", pad_list, rank),
    )  # fmt: skip


def batched(c: Call, x: Value, spatial: int, build: Callable[[Value], Any]) -> Any:
    """An operator on data with a batch axis, for data without it too; it may have several results."""
    if x.rank == spatial + 2:
        return build(x)
    found = build(c.unsqueeze(x, 0))
    return tuple(c.squeeze(v, 0) for v in found) if isinstance(found, tuple) else c.squeeze(found, 0)


@primitive("Conv1DExt", "Conv2DExt", "Conv3DExt", "Conv1DPadding", "Conv2DPadding", "Conv3DPadding")
def conv_ext(
    c: Call,
    input: Value,
    weight: Value,
    bias: Value | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Value:
    """Conv2DExt(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1); Conv2DPadding: padding by a
    name"""
    rank = weight.rank - 2
    gaps = spatial_of(dilation, rank)
    if c.op.endswith("Padding"):
        if pad_mode(padding) == "same":
            totals = [d * (c.integer(k, "a kernel size") - 1) for d, k in zip(gaps, weight.shape[2:], strict=True)]
        else:
            totals = [0] * rank
        pads = [*(t // 2 for t in totals), *(t - t // 2 for t in totals)]
    else:
        pads = spatial_of(padding, rank) * 2

    def build(x: Value) -> Value:
        result: Value = c.b.Conv(
            x, weight, bias, strides=spatial_of(stride, rank), pads=pads, dilations=gaps, group=groups
        )
        return result

    found: Value = batched(c, input, rank, build)
    return found


@primitive("ConvTranspose2D", "Convolution", "ConvolutionStr")
def convolution(
    c: Call, input: Value, weight: Value, bias: Value | None, stride: Any, padding: Any, *rest: Any
) -> Value:
    """ConvTranspose2D(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1);
    Convolution(input, weight, bias=None, stride=1, padding=0, dilation=1, transposed=False, output_padding=0,
    groups=1)"""
    rank = weight.rank - 2
    if c.op == "ConvTranspose2D":
        transposed, (output_padding, groups, dilation) = True, rest
    else:
        dilation, transposed, output_padding, groups = rest
    if c.op == "ConvolutionStr":
        raise c.unsupported("a padding by name")
    pads = spatial_of(padding, rank) * 2
    steps, gaps = spatial_of(stride, rank), spatial_of(dilation, rank)

    def build(x: Value) -> Value:
        result: Value
        if not transposed:
            result = c.b.Conv(x, weight, bias, strides=steps, pads=pads, dilations=gaps, group=groups)
        else:
            result = c.b.ConvTranspose(
                x, weight, bias, strides=steps, pads=pads, dilations=gaps, group=groups,
                output_padding=spatial_of(output_padding, rank),
            )  # fmt: skip
        return result

    found: Value = batched(c, input, rank, build)
    return found


@primitive("Im2ColExt")
def im2col(c: Call, input: Value, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Value:
    """Im2ColExt(input, kernel_size, dilation=1, padding=0, stride=1)"""

    def build(x: Value) -> Value:
        result: Value = c.b.ge.Im2Col(
            x, kernel_shape=spatial_of(kernel_size, 2), strides=spatial_of(stride, 2),
            pads=spatial_of(padding, 2) * 2, dilations=spatial_of(dilation, 2),
        )  # fmt: skip
        return result

    found: Value = batched(c, input, 2, build)
    return found


@primitive("Im2Col", ignores=("padding_mode",))
def unfold(c: Call, x: Value, ksizes: Any, strides: Any, dilations: Any, pads: Any) -> Value:
    """Im2Col(ksizes, strides=1, dilations=1, pads=0)(x): [N, C, kernel, places]"""
    kernel = spatial_of(ksizes, 2)
    found = c.b.ge.Im2Col(
        x, kernel_shape=kernel, strides=spatial_of(strides, 2),
        pads=_four(pads), dilations=spatial_of(dilations, 2),
    )  # fmt: skip
    return c.reshape(found, (x.shape[0], x.shape[1], kernel[0] * kernel[1], found.shape[-1]))


def _four(pads: Any) -> list[int]:
    given = [pads] if isinstance(pads, int) else list(pads)
    return given * 4 if len(given) == 1 else given * 2 if len(given) == 2 else [*given[0::2], *given[1::2]]


@primitive("Col2Im", "Col2ImExt")
def col2im(c: Call, x: Value, output_size: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Value:
    """Col2Im(kernel_size, dilation=1, padding=0, stride=1)(x, output_size); Col2ImExt(input, output_size, kernel_size,
    dilation=1, padding=0, stride=1)"""
    kernel = spatial_of(kernel_size, 2)

    def build(data: Value) -> Value:
        if data.rank == 4:
            batch, channels, inner, places = data.shape
            data = c.reshape(data, (batch, channels * inner, places))
        result: Value = c.b.Col2Im(
            data, c.b.ints(c.sizes(output_size)), c.b.ints(kernel), strides=spatial_of(stride, 2),
            pads=spatial_of(padding, 2) * 2, dilations=spatial_of(dilation, 2),
        )  # fmt: skip
        return result

    if c.op == "Col2Im":
        return build(x)
    found: Value = batched(c, x, 1, build)
    return found
