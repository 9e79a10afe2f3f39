"""Operators in the form of other writers: what is an input elsewhere stands in an attribute (TransposeD, SplitD, ...).

MindSpore's exporter and older tools write these; the lowering writes the forms with inputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from ge_ascend.meaning.call import Call, Result, meaning, meaning_of
from ge_core.ir.dtype import int32
from ge_core.ir.graph import Value

FORMS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "TransposeD": ("Transpose", {"perm": "perm"}),
    "Permute": ("Transpose", {"order": "perm"}),
    "TileD": ("Tile", {"multiples": "multiples"}),
    "SplitD": ("Split", {"split_dim": "split_dim"}),
    "SplitVD": ("SplitV", {"size_splits": "size_splits", "split_dim": "split_dim"}),
    "PadD": ("Pad", {"paddings": "paddings"}),
    "StridedSliceD": ("StridedSlice", {"begin": "begin", "end": "end", "strides": "strides"}),
    "SliceD": ("Slice", {"offsets": "offsets", "size": "size"}),
    "GatherV2D": ("GatherV2", {"axis": "axis"}),
    "OneHotD": ("OneHot", {"depth": "depth"}),
    "CumsumD": ("Cumsum", {"axis": "axis"}),
    "CumprodD": ("Cumprod", {"axis": "axis"}),
    "FillD": ("Fill", {"dims": "dims"}),
    "BroadcastToD": ("BroadcastTo", {"shape": "shape"}),
    "ExpandD": ("BroadcastTo", {"shape": "shape"}),
    "ReverseV2D": ("ReverseV2", {"axis": "axis"}),
    "UnsortedSegmentSumD": ("UnsortedSegmentSum", {"num_segments": "num_segments"}),
    "ResizeNearestNeighborV2D": ("ResizeNearestNeighborV2", {"size": "size"}),
    "ResizeBilinearV2D": ("ResizeBilinearV2", {"size": "size"}),
    "Conv2DTransposeD": ("Conv2DTranspose", {"input_size": "input_size"}),
}
"""Operator: the one of the same meaning, and which attribute is which of its inputs."""


def _with_inputs(c: Call, base: str, ports: Mapping[str, str]) -> Result:
    """The meaning of the other form, with constants for the attributes."""
    inputs, attrs = dict(c.inputs), dict(c.attrs)
    for name, port in ports.items():
        inputs[port] = c.b.constant(np.array(c.attr(name), np.int64))
        attrs.pop(name, None)
    same = meaning_of(base)
    assert same is not None
    other = Call(
        c.b, c.name, base, inputs, attrs, dtypes=c.dtypes, formats=c.formats, branches=c.branches, outputs=c.outputs
    )
    return same(other)


for _type, (_base, _ports) in FORMS.items():
    meaning(_type)(partial(_with_inputs, base=_base, ports=_ports))


def _arg(c: Call, base: str) -> Result:
    """ArgMaxD(x; dimension, dtype): the indices in the type that the descriptor states, by default int32."""
    found = _with_inputs(c, base, {"dimension": "dimension"})
    assert isinstance(found, Value)
    return c.cast(found, c.dtypes.get("y", int32))


for _type, _base in {"ArgMaxD": "ArgMaxV2", "ArgMinD": "ArgMin"}.items():
    meaning(_type)(partial(_arg, base=_base))


def _all_or_any(c: Call, op: str) -> Result:
    """ReduceAllD(x; axes, keep_dims) on bool: no axes are all of them."""
    axes = [int(a) for a in c.attr("axes")]
    result: Value = c.b.op(op, c["x"], c.b.ints(*axes) if axes else None, keepdims=int(c.attr("keep_dims")))
    return result


for _type, _op in {"ReduceAllD": "ReduceMin", "ReduceAnyD": "ReduceMax"}.items():
    meaning(_type)(partial(_all_or_any, op=_op))
