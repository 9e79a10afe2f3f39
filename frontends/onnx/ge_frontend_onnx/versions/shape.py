"""Operators on shapes with attributes that became inputs."""

from __future__ import annotations

from collections.abc import Sequence

from ge_core.ir.graph import Value

from ..call import Call
from ..registry import Results, before


@before(13, "Squeeze", "Unsqueeze")
def axes_attribute(c: Call) -> Results:
    """Below 13 the axes are an attribute; Squeeze without it takes away every axis of size 1."""
    c.only("axes")
    axes = c.attrs.get("axes") if c.op == "Squeeze" else c.needed("axes")
    return c.b.op(c.op, c.input(0), None if axes is None else c.b.ints(axes))


@before(5, "Reshape")
def shape_attribute(c: Call) -> Results:
    """Below 5 the shape is an attribute."""
    c.only("shape", "consumed_inputs")
    return c.b.Reshape(c.input(0), c.b.ints(c.needed("shape")))


@before(4, "Concat")
def concat_default_axis(c: Call) -> Results:
    """Below 4 the axis is 1 where it is not given."""
    return c.build("Concat", c.inputs, {"axis": 1, **c.attrs})


@before(2, "Split")
def split_first_form(c: Call) -> Results:
    """Below 2 the sizes of the parts are an input or an attribute."""
    c.only("axis", "split")
    return _split(c, c.optional(1) or _sizes(c))


@before(13, "Split")
def split_attribute(c: Call) -> Results:
    """Below 13 the sizes of the parts are an attribute; without it the parts are equal."""
    c.only("axis", "split")
    return _split(c, _sizes(c))


@before(18, "Split")
def split_counted(c: Call) -> Results:
    """Below 18 the node's outputs say how many equal parts there are."""
    c.only("axis")
    return _split(c, c.optional(1))


@before(29, "Split")
def split(c: Call) -> Results:
    """Split(T input, int64 split?) -> (T outputs, ...); axis, num_outputs"""
    c.only("axis", "num_outputs")
    count = c.attr("num_outputs")
    if c.has(1) == (count is not None):
        raise c.error("needs either the sizes of its parts or their number")
    if count is not None and count != len(c.outputs):
        raise c.error(f"num_outputs is {count} for {len(c.outputs)} outputs")
    return _split(c, c.optional(1), even=False)


def _sizes(c: Call) -> Value | None:
    return c.b.ints(c.attrs["split"]) if "split" in c.attrs else None


def _split(c: Call, sizes: Value | None, even: bool = True) -> Sequence[Value]:
    """The parts; without sizes one for each output, all of one size when `even`."""
    count, axis, x = len(c.outputs), c.attr("axis", 0), c.input(0)
    shape = x.tensor.shape
    if sizes is None and even and shape is not None and -len(shape) <= axis < len(shape):
        total = shape[axis]
        if isinstance(total, int) and total % count:
            raise c.error(f"{total} elements cannot be split into {count} equal parts")
    parts = c.b.op("Split", x, sizes, axis=axis, num_outputs=count)
    return [parts] if isinstance(parts, Value) else list(parts)


@before(10, "Slice")
def slice_attributes(c: Call) -> Results:
    """Below 10 starts, ends and axes are attributes and every step is 1."""
    c.only("starts", "ends", "axes")
    b, axes = c.b, c.attrs.get("axes")
    return b.Slice(
        c.input(0), b.ints(c.needed("starts")), b.ints(c.needed("ends")), None if axes is None else b.ints(axes)
    )


@before(6, "Tile")
def tile_one_axis(c: Call) -> Results:
    """Below 6 one axis is repeated, and the number and the axis are inputs."""
    tiles, axis = c.constant(1), c.constant(2)
    if tiles is None or axis is None:
        raise c.unsupported("a number or an axis that is no constant")
    repeats = [1] * c.rank(c.input(0))
    repeats[int(axis.reshape(()))] = int(tiles.reshape(()))
    return c.b.Tile(c.input(0), c.b.ints(repeats))


@before(2, "Pad")
def pad_first_form(c: Call) -> Results:
    """Below 2 the attribute `pads` is called `paddings`."""
    c.attrs["pads"] = c.attrs.pop("paddings", ())
    return pad_attributes(c)


@before(11, "Pad")
def pad_attributes(c: Call) -> Results:
    """Below 11 the sizes of the pads and the value in them are attributes."""
    c.only("mode", "pads", "value")
    b, x = c.b, c.input(0)
    value = c.attr("value", 0.0)
    return b.Pad(
        x, b.ints(c.needed("pads")), c.scalar(value, x.dtype) if value else None, mode=c.attr("mode", "constant")
    )
