"""Products: matrices, convolutions."""

from __future__ import annotations

from ge_ascend.lower.call import LowerCall
from ge_ascend.lower.product import matrices
from ge_ascend.lower.quantised_product import fused_product, whole_product
from ge_ascend.lower.registry import lowering
from ge_ascend.lower.spread import spread_product
from ge_ascend.net import Out
from ge_core.ir.dims import Size

_NCHW = {"x": "NCHW", "filter": "NCHW", "y": "NCHW"}
_NCDHW = {"x": "NCDHW", "filter": "NCDHW", "y": "NCDHW"}


@lowering("MatMul")
def matmul(c: LowerCall) -> Out:
    """Vectors get an axis for the product."""
    if c.input(0).dtype.is_integer:
        return whole_product(c)
    fused = fused_product(c)
    if fused is not None:
        return fused
    a, b = c[0], c[1]
    ranks = c.rank(0), c.rank(1)
    if ranks[0] == 1:
        a = c.reshape(a, [1, c.shape(0)[0]])
    if ranks[1] == 1:
        b = c.reshape(b, [c.shape(1)[0], 1])
    y = matrices(c, a, b)
    return c.reshape(y, c.output_shape()) if 1 in ranks else y


@lowering("Gemm")
def gemm(c: LowerCall) -> Out:
    """alpha * A' * B' + beta * C"""
    alpha, beta = float(c.attr("alpha")), float(c.attr("beta"))
    third = c.get(2)
    y = matrices(c, c[0], c[1], swapped=(bool(c.attr("transA")), bool(c.attr("transB"))))
    if alpha != 1.0:
        y = c.op("Mul", y, alpha)
    if third is None or beta == 0.0:
        return y
    third = c.cast(third, y.value.dtype)
    return c.op("Add", y, third if beta == 1.0 else c.op("Mul", third, beta))


def interleaved(pads: list[int]) -> list[int]:
    """ONNX's begins, ends as CANN's begin, end per axis."""
    half = len(pads) // 2
    return [p for pair in zip(pads[:half], pads[half:], strict=True) for p in pair]


def window(c: LowerCall, spatial: int) -> tuple[list[int], list[int], list[int]]:
    """Strides, dilations and pads (begins, ends) of a window; automatic padding becomes numbers."""
    strides = list(c.attr("strides") or [1] * spatial)
    dilations = list(c.attr("dilations") or [1] * spatial)
    mode = c.attr("auto_pad") or "NOTSET"
    if mode == "NOTSET":
        return strides, dilations, list(c.attr("pads") or [0] * (2 * spatial))
    if mode == "VALID":
        return strides, dilations, [0] * (2 * spatial)
    kernel = c.attr("kernel_shape") or c.shape(1)[2:]
    begins, ends = [], []
    for size, k, s, d in zip(c.shape(0)[2:], kernel, strides, dilations, strict=True):
        if not isinstance(size, int):
            raise c.refuse(f"automatic padding of the size {size}, which is known at run time only")
        total = max((-(-size // s) - 1) * s + (k - 1) * d + 1 - size, 0)
        less = total // 2
        begins.append(less if mode == "SAME_UPPER" else total - less)
        ends.append(total - begins[-1])
    return strides, dilations, begins + ends


@lowering("Conv")
def conv(c: LowerCall) -> Out:
    """Conv2D in NCHW, Conv3D in NCDHW; one spatial axis gets a second one of size 1."""
    spatial = c.rank() - 2
    strides, dilations, pads = window(c, spatial)
    x, w, bias = c[0], c[1], c.get(2)
    if spatial == 1:
        x, w = (c.op("Unsqueeze", v, axes=[2]) for v in (x, w))
        strides, dilations, pads = [1, *strides], [1, *dilations], [0, pads[0], 0, pads[1]]
    if spatial > 3 or spatial == 0:
        raise c.refuse(f"{spatial} spatial axes")
    type, formats = ("Conv3D", _NCDHW) if spatial == 3 else ("Conv2D", _NCHW)
    y = c.product(
        type, x, w, bias, strides=[1, 1, *strides], dilations=[1, 1, *dilations], pads=interleaved(pads),
        groups=c.attr("group"), data_format=formats["x"], formats=formats,
    )  # fmt: skip
    return c.op("Squeeze", y, axis=[2]) if spatial == 1 else y


@lowering("ConvTranspose")
def conv_transpose(c: LowerCall) -> Out:
    """Conv2DTranspose and Conv3DTranspose with the result's size as their first input."""
    spatial = c.rank() - 2
    if spatial not in (1, 2, 3):
        raise c.refuse(f"{spatial} spatial axes")
    strides = list(c.attr("strides") or [1] * spatial)
    dilations = list(c.attr("dilations") or [1] * spatial)
    pads = _transposed_pads(c, spatial, strides, dilations)
    extra = list(c.attr("output_padding") or [0] * spatial)
    x, w, bias = c[0], c[1], c.get(2)
    sizes: list[Size] = list(c.output_shape())
    if spatial == 1:
        x, w = (c.op("Unsqueeze", v, axes=[2]) for v in (x, w))
        strides, dilations, extra = [1, *strides], [1, *dilations], [0, *extra]
        pads, sizes = [0, pads[0], 0, pads[1]], [*sizes[:2], 1, sizes[2]]
    if spatial == 3 and not c.engine.emitter.has(("Conv3DTranspose", "x"), x.value.dtype):
        return spread_product(c, x, bias, strides, dilations, pads, extra)
    type, formats = ("Conv3DTranspose", _NCDHW) if spatial == 3 else ("Conv2DTranspose", _NCHW)
    y = c.product(
        type, c.ints(sizes), x, w, bias, strides=[1, 1, *strides], dilations=[1, 1, *dilations],
        pads=interleaved(pads), groups=c.attr("group"), data_format=formats["x"], output_padding=[0, 0, *extra],
        formats=formats,
    )  # fmt: skip
    return c.op("Squeeze", y, axis=[2]) if spatial == 1 else y


def _transposed_pads(c: LowerCall, spatial: int, strides: list[int], dilations: list[int]) -> list[int]:
    if c.attr("output_shape") is None and (c.attr("auto_pad") or "NOTSET") == "NOTSET":
        return list(c.attr("pads") or [0] * (2 * spatial))
    if (c.attr("auto_pad") or "NOTSET") == "VALID":
        return [0] * (2 * spatial)
    extra = list(c.attr("output_padding") or [0] * spatial)
    kernel = c.shape(1)[2:]
    begins, ends = [], []
    for i, (size, out) in enumerate(zip(c.shape(0)[2:], c.output_shape()[2:], strict=True)):
        k = kernel[i]
        if not isinstance(size, int) or not isinstance(out, int) or not isinstance(k, int):
            raise c.refuse("automatic padding of sizes that are known at run time only")
        total = strides[i] * (size - 1) + extra[i] + (k - 1) * dilations[i] + 1 - out
        less = total // 2
        begins.append(less if c.attr("auto_pad") == "SAME_UPPER" else total - less)
        ends.append(total - begins[-1])
    return begins + ends


@lowering("Einsum")
def einsum(c: LowerCall) -> list[Out]:
    """By transposes and products."""
    return c.expand()
