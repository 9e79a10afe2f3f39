"""Convolutions, and windows as columns. Data [N, C, *spatial], or without N; weights as torch has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ge_core.ir.graph import Value

from ..call import Call
from ..registry import aten


def _batched(c: Call, x: Value, spatial: int, build: Callable[[Value], Value]) -> Value:
    """An operator on data with a batch axis, for data without it too."""
    if x.rank == spatial + 2:
        return build(x)
    return c.squeeze(build(c.unsqueeze(x, 0)), 0)


def _all(numbers: int | Sequence[int], spatial: int) -> list[int]:
    """One number for each spatial axis; torch allows one for all."""
    given = [numbers] if isinstance(numbers, int) else list(numbers)
    return given * spatial if len(given) == 1 else given


def _convolution(
    c: Call,
    x: Value,
    weight: Value,
    bias: Value | None,
    stride: Sequence[int],
    begin: Sequence[int],
    end: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Value:
    spatial = weight.rank - 2

    def build(data: Value) -> Value:
        return c.b.Conv(
            data,
            weight,
            bias,
            strides=_all(stride, spatial),
            pads=[*_all(begin, spatial), *_all(end, spatial)],
            dilations=_all(dilation, spatial),
            group=groups,
        )

    return _batched(c, x, spatial, build)


@aten("conv1d.default", "conv2d.default", "conv3d.default")
def conv(
    c: Call,
    input: Value,
    weight: Value,
    bias: Value | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Value:
    """conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], SymInt[1] padding=[0],
        SymInt[1] dilation=[1], SymInt groups=1) -> Tensor
    conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0,
        0], SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor
    conv3d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0,
        0, 0], SymInt[3] dilation=[1, 1, 1], SymInt groups=1) -> Tensor
    """
    return _convolution(c, input, weight, bias, stride, padding, padding, dilation, groups)


@aten("conv1d.padding", "conv2d.padding", "conv3d.padding")
def conv_padding(
    c: Call,
    input: Value,
    weight: Value,
    bias: Value | None,
    stride: Sequence[int],
    padding: str,
    dilation: Sequence[int],
    groups: int,
) -> Value:
    """conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], str
        padding="valid", SymInt[1] dilation=[1], SymInt groups=1) -> Tensor
    conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], str
        padding="valid", SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor
    conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], str
        padding="valid", SymInt[3] dilation=[1, 1, 1], SymInt groups=1) -> Tensor
    """
    spatial = weight.rank - 2
    totals = [0] * spatial
    if padding == "same":
        kernel = weight.shape[2:]
        if not all(isinstance(k, int) for k in kernel):
            raise c.unsupported("padding='same' with a kernel of symbolic size", "give numbers for the padding")
        totals = [d * (int(k) - 1) for d, k in zip(_all(dilation, spatial), kernel, strict=True)]  # type: ignore[arg-type]
    begin = [t // 2 for t in totals]
    end = [t - t // 2 for t in totals]
    return _convolution(c, input, weight, bias, stride, begin, end, dilation, groups)


@aten("conv_transpose1d.default", "conv_transpose2d.input", "conv_transpose3d.input")
def conv_transpose(
    c: Call,
    input: Value,
    weight: Value,
    bias: Value | None,
    stride: Sequence[int],
    padding: Sequence[int],
    output_padding: Sequence[int],
    groups: int,
    dilation: Sequence[int],
) -> Value:
    """conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], SymInt[1]
        padding=[0], SymInt[1] output_padding=[0], SymInt groups=1, SymInt[1] dilation=[1]) -> Tensor
    conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1],
        SymInt[2] padding=[0, 0], SymInt[2] output_padding=[0, 0], SymInt groups=1, SymInt[2] dilation=[1,
        1]) -> Tensor
    conv_transpose3d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1],
        SymInt[3] padding=[0, 0, 0], SymInt[3] output_padding=[0, 0, 0], SymInt groups=1, SymInt[3]
        dilation=[1, 1, 1]) -> Tensor
    """
    spatial = weight.rank - 2

    def build(data: Value) -> Value:
        pads = _all(padding, spatial)
        return c.b.ConvTranspose(
            data,
            weight,
            bias,
            strides=_all(stride, spatial),
            pads=[*pads, *pads],
            dilations=_all(dilation, spatial),
            output_padding=_all(output_padding, spatial),
            group=groups,
        )

    return _batched(c, input, spatial, build)


@aten("convolution.default")
def convolution(
    c: Call,
    input: Value,
    weight: Value,
    bias: Value | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Value:
    """convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[]
    dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor
    """
    if transposed:
        return conv_transpose(c, input, weight, bias, stride, padding, output_padding, groups, dilation)
    return conv(c, input, weight, bias, stride, padding, dilation, groups)


@aten("im2col.default")
def im2col(
    c: Call,
    x: Value,
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Value:
    """im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor"""

    def build(data: Value) -> Value:
        pads = _all(padding, 2)
        return c.b.ge.Im2Col(
            data,
            kernel_shape=_all(kernel_size, 2),
            strides=_all(stride, 2),
            pads=[*pads, *pads],
            dilations=_all(dilation, 2),
        )

    return _batched(c, x, 2, build)


@aten("col2im.default")
def col2im(
    c: Call,
    x: Value,
    output_size: Sequence[int],
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Value:
    """col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2]
    stride) -> Tensor
    """

    def build(data: Value) -> Value:
        pads = _all(padding, 2)
        return c.b.Col2Im(
            data,
            c.b.ints(_all(output_size, 2)),
            c.b.ints(_all(kernel_size, 2)),
            strides=_all(stride, 2),
            pads=[*pads, *pads],
            dilations=_all(dilation, 2),
        )

    return _batched(c, x, 1, build)
