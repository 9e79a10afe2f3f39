"""Products: matrices, convolutions, attention.

Half-precision operands may give a float32 result (the cube unit accumulates in float32): the operands are converted
first then, so that nothing is rounded in between.
"""

from __future__ import annotations

from ge_ascend.meaning.call import Call, Result, meaning
from ge_ascend.meaning.quantised_product import integer_product, swapped
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value


def operands(c: Call, *ports: str, result: str = "y") -> list[Value | None]:
    """The operands in the type in which the product is computed."""
    stated = c.dtypes.get(result)
    found: list[Value | None] = []
    for port in ports:
        value = c.get(port)
        wide = value is not None and stated is not None and stated.is_float and value.dtype.is_float
        found.append(c.cast(value, _wider(value.dtype, stated)) if wide and value is not None else value)  # type: ignore[arg-type]
    return found


def _wider(have: DType, stated: DType) -> DType:
    return stated if stated.bits > have.bits else have


@meaning("MatMul", "MatMulV2", "MatMulV3")
def matmul(c: Call) -> Result:
    """MatMulV2(x1, x2, bias; transpose_x1, transpose_x2): matrices"""
    return _product(c, "transpose_x1", "transpose_x2")


@meaning("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
def batch_matmul(c: Call) -> Result:
    """BatchMatMulV2(x1, x2, bias; adj_x1, adj_x2)"""
    return _product(c, "adj_x1", "adj_x2")


def _product(c: Call, first: str, second: str) -> Value:
    a, b, bias = operands(c, "x1", "x2", "bias")
    assert a is not None and b is not None
    if a.dtype.is_integer:
        y = integer_product(c, swapped(c, a, first), swapped(c, b, second))
        return y if bias is None else c.b.Add(y, c.cast(bias, y.dtype))
    y = c.b.MatMul(swapped(c, a, first), swapped(c, b, second))
    if bias is not None:
        y = c.b.Add(y, c.cast(bias, y.dtype))
    return c.as_stated(y)


def _layout(c: Call, port: str, spatial: int) -> str:
    """The format of a tensor with channels: what its descriptor states, else the attribute data_format."""
    found = c.formats.get(port)
    if found in (None, "ND"):
        found = c.attr("data_format")
    allowed = {2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}[spatial]
    if found not in allowed:
        raise c.error(f"the format {found} of {port} is not supported")
    return str(found)


def channels_first(c: Call, x: Value, layout: str) -> Value:
    """x with its channels at axis 1."""
    if layout[1] == "C":
        return x
    result: Value = c.b.Transpose(x, perm=[0, x.rank - 1, *range(1, x.rank - 1)])
    return result


def channels_back(c: Call, y: Value, layout: str) -> Value:
    """y in the format that it is stored in."""
    if layout[1] == "C":
        return y
    result: Value = c.b.Transpose(y, perm=[0, *range(2, y.rank), 1])
    return result


def window(c: Call, layout: str, name: str) -> list[int]:
    """The sizes along the spatial axes of an attribute with one number per axis."""
    values = list(c.attr(name))
    at = [i for i, letter in enumerate(layout) if letter in "DHW"]
    return [int(values[i]) for i in at] if len(values) == len(layout) else [int(v) for v in values]


def onnx_pads(pads: list[int]) -> list[int]:
    """CANN's begin, end per axis as ONNX's begins, ends."""
    return [*pads[::2], *pads[1::2]]


def _filter(c: Call, w: Value, spatial: int) -> Value:
    stated = c.formats.get("filter")
    orders = {
        "NCHW": None, "NCDHW": None, "HWCN": [3, 2, 0, 1], "NHWC": [0, 3, 1, 2], "DHWCN": [4, 3, 0, 1, 2],
        "NDHWC": [0, 4, 1, 2, 3],
    }  # fmt: skip
    if stated in (None, "ND"):
        stated = "NCHW" if c.formats.get("x", c.attr("data_format"))[1] == "C" else {2: "HWCN", 3: "DHWCN"}[spatial]
    if stated not in orders:
        raise c.error(f"the format {stated} of filter is not supported")
    order = orders[stated]
    result: Value = w if order is None else c.b.Transpose(w, perm=order)
    return result


def _conv(c: Call, spatial: int) -> Value:
    if c.get("offset_w") is not None or (c["x"].dtype.is_integer and c.attr("offset_x")):
        raise c.error("offsets of quantised convolutions are not supported")
    layout = _layout(c, "x", spatial)
    if c["x"].dtype.is_integer:
        return _integer_conv(c, layout, spatial)
    x, w, bias = operands(c, "x", "filter", "bias")
    assert x is not None and w is not None
    x = channels_first(c, x, layout)
    y = c.b.Conv(
        x,
        _filter(c, w, spatial),
        None if bias is None else c.cast(bias, x.dtype),
        strides=window(c, layout, "strides"),
        dilations=window(c, layout, "dilations"),
        pads=onnx_pads(list(c.attr("pads"))),
        group=c.attr("groups"),
    )
    return c.as_stated(channels_back(c, y, layout))


def _integer_conv(c: Call, layout: str, spatial: int) -> Value:
    """8-bit operands with an int32 result."""
    y = c.b.ConvInteger(
        channels_first(c, c["x"], layout),
        _filter(c, c["filter"], spatial),
        strides=window(c, layout, "strides"),
        dilations=window(c, layout, "dilations"),
        pads=onnx_pads(list(c.attr("pads"))),
        group=c.attr("groups"),
    )
    bias = c.get("bias")
    if bias is not None:
        y = c.b.Add(y, c.b.Reshape(c.cast(bias, y.dtype), c.b.ints(-1, *[1] * spatial)))
    return c.as_stated(channels_back(c, y, layout))


@meaning("Conv2D")
def conv2d(c: Call) -> Result:
    """Conv2D(x, filter, bias; strides, pads [top, bottom, left, right], dilations, groups)"""
    return _conv(c, 2)


@meaning("Conv3D")
def conv3d(c: Call) -> Result:
    """Conv3D(x, filter, bias; strides, pads [front, back, top, bottom, left, right], dilations, groups)"""
    return _conv(c, 3)


def _conv_transpose(c: Call, spatial: int) -> Value:
    layout = _layout(c, "x", spatial)
    if layout[1] != "C":
        raise c.error("only channels first is supported")
    x, w, bias = operands(c, "x", "filter", "bias")
    assert x is not None and w is not None
    y = c.b.ConvTranspose(
        x,
        w,
        None if bias is None else c.cast(bias, x.dtype),
        strides=window(c, layout, "strides"),
        dilations=window(c, layout, "dilations"),
        pads=onnx_pads(list(c.attr("pads"))),
        output_padding=window(c, layout, "output_padding"),
        group=c.attr("groups"),
    )
    return c.as_stated(y)


@meaning("Conv2DTranspose")
def conv2d_transpose(c: Call) -> Result:
    """Conv2DTranspose(input_size, x, filter, bias; strides, pads, dilations, groups, output_padding)"""
    return _conv_transpose(c, 2)


@meaning("Conv3DTranspose")
def conv3d_transpose(c: Call) -> Result:
    """Conv3DTranspose(input_size, x, filter, bias; strides, pads, dilations, groups, output_padding)"""
    return _conv_transpose(c, 3)


@meaning("PromptFlashAttention", "IncreFlashAttention", "FusedInferAttentionScore")
def flash_attention(c: Call) -> Result:
    """PromptFlashAttention(query, key, value, ..., atten_mask; num_heads, scale_value, input_layout,
    num_key_value_heads, sparse_mode): mask true is left out; of layout BNSD, BSND or BSH, without sparse modes."""
    if c.attr("sparse_mode") if c.type != "IncreFlashAttention" else 0:
        raise c.error(f"sparse_mode {c.attr('sparse_mode')} is not supported")
    for port in c.inputs:
        if port.rstrip("0") not in ("query", "key", "value", "atten_mask"):
            raise c.error(f"the input {port} is not supported")
    heads = c.attr("num_heads")
    groups = c.attr("num_key_value_heads") or heads
    key, value = (_heads_first(c, c.get(p) or c.dynamic(p)[0], groups) for p in ("key", "value"))
    mask = c.get("atten_mask")
    if mask is not None and mask.dtype.kind == "bool":
        mask = c.b.Not(mask)
    elif mask is not None:
        mask = c.b.Not(c.b.Cast(mask, to="bool"))
    scale = c.attr("scale") if c.type == "FusedInferAttentionScore" else c.attr("scale_value")
    query = _heads_first(c, c["query"], heads)
    y: Value = c.b.Attention(query, key, value, mask, scale=scale, softmax_precision="float32")
    if c.attr("input_layout") != "BNSD":
        y = c.b.Transpose(y, perm=[0, 2, 1, 3])
    if c.attr("input_layout") == "BSH":
        y = c.b.Reshape(y, c.b.ints(*c["query"].shape))
    return y if c.outputs == 1 else [y, c.b.constant(0.0, y.dtype)]


def _heads_first(c: Call, x: Value, heads: int) -> Value:
    """An operand as [batch, heads, length, width]."""
    layout = c.attr("input_layout")
    if layout not in ("BNSD", "BSND", "BSH"):
        raise c.error(f"the layout {layout} is not supported")
    if layout == "BSH":
        x = c.b.Reshape(x, c.b.ints(x.shape[0], x.shape[1], heads, -1))
    result: Value = x if layout == "BNSD" else c.b.Transpose(x, perm=[0, 2, 1, 3])
    return result
