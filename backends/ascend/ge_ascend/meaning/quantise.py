"""Values to 8 bits."""

from __future__ import annotations

from ge_ascend.meaning.call import Call, Result, meaning
from ge_core.ir.dtype import float32, int8
from ge_core.ir.graph import Value

_ROUNDED = {"round": "Round", "floor": "Floor", "ceil": "Ceil", "trunc": "ge.Trunc"}


def _to_int8(c: Call, value: Value) -> Value:
    if c.dtype_attr("dst_type") != int8:
        raise c.error(f"a result of {c.dtype_attr('dst_type')} is not supported")
    return c.cast(c.b.Clip(value, -128.0, 127.0), int8)


@meaning("AscendQuantV2")
def ascend_quant(c: Call) -> Result:
    """AscendQuantV2(x, scale, offset; sqrt_mode, round_mode, dst_type, axis) = round(x * scale + offset), in float32,
    to even where two are as near; scale is squared with sqrt_mode and lies along the axis."""
    mode = c.attr("round_mode")
    if mode not in _ROUNDED:
        raise c.error(f"round_mode={mode!r} is not supported")
    x, scale, offset = c.cast(c["x"], float32), _along(c, "scale"), _along(c, "offset")
    assert scale is not None
    y = c.b.Mul(x, c.b.Mul(scale, scale) if c.attr("sqrt_mode") else scale)
    if offset is not None:
        y = c.b.Add(y, offset)
    return _to_int8(c, c.b.op(_ROUNDED[mode], y))


def _along(c: Call, port: str) -> Value | None:
    """A factor in float32, shaped for the axis that it lies along."""
    value = c.get(port)
    if value is None:
        return None
    value = c.cast(value, float32)
    rest = c["x"].rank - 1 - c.attr("axis") % c["x"].rank
    if value.rank != 1 or value.shape[0] == 1 or not rest:
        return value
    result: Value = c.b.Reshape(value, c.b.ints(-1, *[1] * rest))
    return result


@meaning("DynamicQuant")
def dynamic_quant(c: Call) -> Result:
    """DynamicQuant(x, smooth_scales; dst_type) -> y, scale: for each row (the last axis) of x * smooth_scales,
    scale = max |row| / 127 and y = round(row / scale); a row of zeros gives zeros."""
    if c.get("group_index") is not None:
        raise c.error("groups of rows are not supported")
    b, x, smooth = c.b, c.cast(c["x"], float32), c.get("smooth_scales")
    if smooth is not None:
        x = b.Mul(x, c.cast(smooth, float32))
    scale = b.Mul(b.ReduceMax(b.Abs(x), b.ints(-1), keepdims=1), 1.0 / 127.0)
    nothing = b.Equal(scale, 0.0)
    y = _to_int8(c, b.Round(b.Div(x, b.Where(nothing, b.constant(1.0, float32), scale))))
    return [y, b.Squeeze(scale, b.ints(-1))]


@meaning("AscendAntiQuantV2")
def ascend_anti_quant(c: Call) -> Result:
    """AscendAntiQuantV2(x, scale, offset; dst_type, sqrt_mode) = (x + offset) * scale on the last axis, in float32"""
    x, scale, offset = c.cast(c["x"], float32), c.cast(c["scale"], float32), c.get("offset")
    if offset is not None:
        x = c.b.Add(x, c.cast(offset, float32))
    factor = c.b.Mul(scale, scale) if c.attr("sqrt_mode") else scale
    return c.cast(c.b.Mul(x, factor), c.dtype_attr("dst_type"))
