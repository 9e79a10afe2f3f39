"""Convolutions, and windows as columns. Weights stand as in the IR, whatever the order of the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.graph import Value

from ..call import Call, Sizes
from ..registry import pd
from ..windows import channels_first, dilations_of, explicit, padding, pads_of, same_pads


def _kernel(c: Call, weight: Value) -> list[int]:
    kernel = weight.shape[2:]
    if not all(isinstance(k, int) for k in kernel):
        raise c.unsupported("a kernel whose size is not fixed")
    return [int(k) for k in kernel]  # type: ignore[arg-type]


@pd("conv2d", "depthwise_conv2d", "conv3d")
def conv(
    c: Call,
    input: Value,
    filter: Value,
    *,
    strides: Sequence[int] = (1, 1),
    paddings: Sequence[int] = (0, 0),
    padding_algorithm: str = "EXPLICIT",
    dilations: Sequence[int] = (1, 1),
    groups: int = 1,
    data_format: str = "NCHW",
) -> Value:
    """conv2d(input, filter, *, strides={1, 1}, paddings={0, 0}, padding_algorithm="EXPLICIT", dilations={1, 1},
        groups=1, data_format="NCHW") -> out
    depthwise_conv2d(input, filter, *, strides={1, 1}, paddings={0, 0}, padding_algorithm="EXPLICIT", groups=1,
        dilations={1, 1}, data_format="NCHW") -> out
    conv3d(input, filter, *, strides={1, 1, 1}, paddings={0, 0, 0}, padding_algorithm="EXPLICIT", groups=1,
        dilations={1, 1, 1}, data_format="NCDHW") -> out
    """
    return _conv(c, input, filter, None, strides, paddings, padding_algorithm, dilations, groups, data_format)


def _conv(
    c: Call,
    input: Value,
    filter: Value,
    bias: Value | None,
    strides: Sequence[int],
    paddings: Sequence[int],
    algorithm: str,
    dilations: Sequence[int],
    groups: int,
    data_format: str,
) -> Value:
    kernel = _kernel(c, filter)
    spread = dilations_of(algorithm, dilations, len(kernel))

    def build(x: Value) -> Value:
        pads = padding(algorithm, paddings, x.shape[2:], kernel, strides)
        return c.b.Conv(x, filter, bias, strides=list(strides), dilations=spread, group=groups, **pads)

    found: Value = channels_first(c, input, data_format, build)
    return found


@pd("fused_conv2d_add_act", ignores=("exhaustive_search", "workspace_size_MB", "fuse_alpha"))
def fused_conv2d_add_act(
    c: Call,
    input: Value,
    filter: Value,
    bias: Value | None = None,
    residual_data: Value | None = None,
    *,
    strides: Sequence[int] = (1, 1),
    paddings: Sequence[int] = (0, 0),
    padding_algorithm: str = "EXPLICIT",
    dilations: Sequence[int] = (1, 1),
    groups: int = 1,
    data_format: str = "NCHW",
    activation: str = "relu",
    split_channels: Sequence[int] = (),
) -> tuple[Value]:
    """fused_conv2d_add_act(input, filter, bias, residual_data, *, strides={1, 1}, paddings={0, 0},
    padding_algorithm="EXPLICIT", dilations={1, 1}, groups=1, data_format="NCHW", activation="relu",
    split_channels={}, exhaustive_search=false, workspace_size_MB=32, fuse_alpha=0.0f) -> output, outputs
    """
    if split_channels or activation not in ("relu", "identity", "sigmoid", "tanh"):
        raise c.unsupported(f"the activation {activation}, or split channels")
    found = _conv(c, input, filter, bias, strides, paddings, padding_algorithm, dilations, groups, data_format)
    if residual_data is not None:
        found = c.b.Add(found, residual_data)
    return (found if activation == "identity" else c.b.op(activation.capitalize(), found),)


@pd("conv2d_transpose", "depthwise_conv2d_transpose")
def conv2d_transpose(
    c: Call,
    x: Value,
    filter: Value,
    output_size: Sizes | None = None,
    *,
    strides: Sequence[int] = (1, 1),
    paddings: Sequence[int] = (0, 0),
    output_padding: Sequence[int] = (),
    padding_algorithm: str = "EXPLICIT",
    groups: int = 1,
    dilations: Sequence[int] = (1, 1),
    data_format: str = "NCHW",
) -> Value:
    """conv2d_transpose(x, filter, output_size, *, strides={1, 1}, paddings={0, 0}, output_padding={},
        padding_algorithm="EXPLICIT", groups=1, dilations={1, 1}, data_format="NCHW") -> out
    depthwise_conv2d_transpose(x, filter, output_size, *, strides={1, 1}, paddings={0, 0}, output_padding={},
        padding_algorithm="EXPLICIT", groups=1, dilations={1, 1}, data_format="NCHW") -> out
    """
    wanted = () if output_size is None else c.known_sizes(output_size, "an output size")
    return _transposed(
        c, x, filter, None, wanted, strides, paddings, output_padding, padding_algorithm, groups, dilations, data_format
    )


@pd("conv3d_transpose")
def conv3d_transpose(
    c: Call,
    x: Value,
    filter: Value,
    *,
    strides: Sequence[int] = (1, 1, 1),
    paddings: Sequence[int] = (0, 0, 0),
    output_padding: Sequence[int] = (),
    output_size: Sequence[int] = (),
    padding_algorithm: str = "EXPLICIT",
    groups: int = 1,
    dilations: Sequence[int] = (1, 1, 1),
    data_format: str = "NCHW",
) -> Value:
    """conv3d_transpose(x, filter, *, strides={1, 1, 1}, paddings={0, 0, 0}, output_padding={}, output_size={},
    padding_algorithm="EXPLICIT", groups=1, dilations={1, 1, 1}, data_format="NCHW") -> out
    """
    return _transposed(
        c, x, filter, None, output_size, strides, paddings, output_padding, padding_algorithm, groups, dilations,
        data_format,
    )  # fmt: skip


@pd("conv2d_transpose_bias")
def conv2d_transpose_bias(
    c: Call,
    x: Value,
    filter: Value,
    bias: Value,
    output_size: Sizes | None = None,
    *,
    strides: Sequence[int] = (1, 1),
    paddings: Sequence[int] = (0, 0),
    output_padding: Sequence[int] = (),
    padding_algorithm: str = "EXPLICIT",
    groups: int = 1,
    dilations: Sequence[int] = (1, 1),
    data_format: str = "NCHW",
) -> Value:
    """conv2d_transpose_bias(x, filter, bias, output_size, *, strides={1, 1}, paddings={0, 0}, output_padding={},
    padding_algorithm="EXPLICIT", groups=1, dilations={1, 1}, data_format="NCHW") -> out
    """
    wanted = () if output_size is None else c.known_sizes(output_size, "an output size")
    return _transposed(
        c, x, filter, bias, wanted, strides, paddings, output_padding, padding_algorithm, groups, dilations, data_format
    )


def _transposed(
    c: Call,
    x: Value,
    filter: Value,
    bias: Value | None,
    output_size: Sequence[Size],
    strides: Sequence[int],
    paddings: Sequence[int],
    output_padding: Sequence[int],
    algorithm: str,
    groups: int,
    dilations: Sequence[int],
    data_format: str,
) -> Value:
    kernel = _kernel(c, filter)
    spread = dilations_of(algorithm, dilations, len(kernel))

    def build(data: Value) -> Value:
        b, half = c.b, len(kernel)
        fixed = pads_of(algorithm, paddings, data.shape[2:], kernel, strides)
        before: Sequence[Size]
        if fixed is None:
            before, after = same_pads(data.shape[2:], kernel, strides)
        else:
            before, after = list(fixed[:half]), list(fixed[half:])
        extra = list(output_padding) or [0] * half
        least = [
            (data.shape[2 + i] - 1) * strides[i] - before[i] - after[i] + spread[i] * (kernel[i] - 1) + 1
            for i in range(half)
        ]
        over = [wanted - size for wanted, size in zip(output_size, least, strict=True)] if output_size else extra
        attributes: dict[str, Any] = {"strides": list(strides), "dilations": spread, "group": groups}
        if fixed is not None and all(isinstance(size, int) for size in over):
            return b.ConvTranspose(data, filter, bias, pads=fixed, output_padding=over, **attributes)
        # sizes that only the call knows: the result without padding, cut
        most = [stride - 1 for stride in strides] if output_size else extra
        whole = b.ConvTranspose(data, filter, bias, pads=[0] * (2 * half), output_padding=most, **attributes)
        ends = [start + size + more for start, size, more in zip(before, least, over, strict=True)]
        return b.Slice(whole, b.ints(before), b.ints(ends), b.ints(range(2, 2 + half)), b.ints([1] * half))

    found: Value = channels_first(c, x, data_format, build)
    return found


@pd("deformable_conv", ignores=("im2col_step",))
def deformable_conv(
    c: Call,
    x: Value,
    offset: Value,
    filter: Value,
    mask: Value | None = None,
    *,
    strides: Sequence[int],
    paddings: Sequence[int],
    dilations: Sequence[int],
    deformable_groups: int,
    groups: int,
) -> Value:
    """deformable_conv(x, offset, filter, mask, *, strides, paddings, dilations, deformable_groups, groups,
    im2col_step) -> out
    """
    before, after = explicit(paddings, 2)
    return c.b.DeformConv(
        x, filter, offset, None, mask,
        strides=list(strides), pads=[*before, *after], dilations=list(dilations), group=groups,
        offset_group=deformable_groups, kernel_shape=_kernel(c, filter),
    )  # fmt: skip


@pd("unfold")
def unfold(
    c: Call,
    x: Value,
    *,
    kernel_sizes: Sequence[int],
    strides: Sequence[int],
    paddings: Sequence[int],
    dilations: Sequence[int],
) -> Value:
    """unfold(x, *, kernel_sizes, strides, paddings, dilations) -> out"""
    # paddings: top, left, bottom, right
    return c.b.ge.Im2Col(
        x, kernel_shape=list(kernel_sizes), strides=list(strides), pads=_four(paddings), dilations=list(dilations)
    )


def _four(paddings: Sequence[int]) -> list[int]:
    given = list(paddings)
    return given * (4 // len(given)) if len(given) < 4 else given


@pd("fold")
def fold(
    c: Call,
    x: Value,
    *,
    output_sizes: Sequence[int],
    kernel_sizes: Sequence[int],
    strides: Sequence[int],
    paddings: Sequence[int],
    dilations: Sequence[int],
) -> Value:
    """fold(x, *, output_sizes, kernel_sizes, strides, paddings, dilations) -> out"""
    return c.b.Col2Im(
        x, c.b.ints(output_sizes), c.b.ints(kernel_sizes),
        strides=list(strides), pads=_four(paddings), dilations=list(dilations),
    )  # fmt: skip


@pd("im2sequence")
def im2sequence(
    c: Call,
    x: Value,
    y: Value | None = None,
    *,
    kernels: Sequence[int],
    strides: Sequence[int] = (1, 1),
    paddings: Sequence[int] = (0, 0, 0, 0),
    out_stride: Sequence[int] = (1, 1),
) -> Value:
    """im2sequence(x, y, *, kernels, strides={1, 1}, paddings={0, 0, 0, 0}, out_stride={1, 1}) -> out"""
    if y is not None:
        raise c.unsupported("sizes of each image")
    columns = c.b.ge.Im2Col(x, kernel_shape=list(kernels), strides=list(strides), pads=list(paddings), dilations=[1, 1])
    n, inner, count = columns.shape
    return c.reshape(c.transpose(columns, [0, 2, 1]), (n * count, inner))


@pd("row_conv")
def row_conv(c: Call, x: Value, filter: Value) -> Value:
    """row_conv(x, filter) -> out"""
    b = c.b
    steps = filter.shape[0]
    if x.rank != 3 or not isinstance(steps, int):
        raise c.unsupported("rows of different lengths")
    data = b.Pad(x, b.ints(0, 0, 0, 0, steps - 1, 0), c.scalar(0, x.dtype))
    length, width = x.shape[1], filter.shape[1]
    weight = c.reshape(c.transpose(filter, [1, 0]), (width, 1, steps))
    found = b.Conv(c.transpose(data, [0, 2, 1]), weight, None, group=width)
    assert dims.equal(found.shape[2], length) is not False
    return c.transpose(found, [0, 2, 1])
