"""Operators that move elements, choose them, or tell of shapes."""

from __future__ import annotations

from collections.abc import Sequence

from ...program import Ref
from ..call import Call
from ..registry import tflite


@tflite("RESHAPE", moves=True)
def reshape(c: Call) -> Ref:
    """The shape is an input, or in old files an option."""
    if c.has(1):
        return c.node("Reshape", c.input(0), c.raw(1))
    return c.node("Reshape", c.input(0), c.constant([int(v) for v in c.option("new_shape", ())]))


@tflite("TRANSPOSE", moves=True)
def transpose(c: Call) -> Ref:
    return c.node("Transpose", c.input(0), c.raw(1))


@tflite("SQUEEZE", moves=True)
def squeeze(c: Call) -> Ref:
    axes = c.option("squeeze_dims")
    return c.node("Squeeze", c.input(0), squeeze_dims=[] if axes is None else [int(a) for a in axes])


@tflite("EXPAND_DIMS", moves=True)
def expand_dims(c: Call) -> Ref:
    return c.node("ExpandDims", c.input(0), c.raw(1))


@tflite("SLICE", moves=True)
def slice_(c: Call) -> Ref:
    return c.node("Slice", c.input(0), c.raw(1), c.raw(2))


@tflite("STRIDED_SLICE", moves=True)
def strided_slice(c: Call) -> Ref:
    if c.option("offset", False):
        raise c.unsupported("ends that are counted from the begins")
    names = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
    masks = {name: int(c.option(name, 0)) for name in names}
    return c.node("StridedSlice", c.input(0), c.raw(1), c.raw(2), c.raw(3), **masks)


@tflite("CONCATENATION", moves=True)
def concatenation(c: Call) -> Ref:
    axis = c.constant(int(c.option("axis", 0)))
    return c.activated(c.node("ConcatV2", *c.inputs(), axis, N=len(c.operator.inputs)))


@tflite("PACK", moves=True)
def pack(c: Call) -> Ref:
    return c.node("Pack", *c.inputs(), axis=int(c.option("axis", 0)), N=len(c.operator.inputs))


@tflite("UNPACK", moves=True)
def unpack(c: Call) -> Sequence[Ref]:
    count = len(c.operator.outputs)
    return c.nodes("Unpack", count, c.input(0), num=count, axis=int(c.option("axis", 0)))


@tflite("SPLIT", moves=True)
def split(c: Call) -> Sequence[Ref]:
    count = len(c.operator.outputs)
    return c.nodes("Split", count, c.raw(0), c.input(1), num_split=count)


@tflite("SPLIT_V", moves=True)
def split_v(c: Call) -> Sequence[Ref]:
    count = len(c.operator.outputs)
    return c.nodes("SplitV", count, c.input(0), c.raw(1), c.raw(2), num_split=count)


@tflite("TILE", moves=True)
def tile(c: Call) -> Ref:
    return c.node("Tile", c.input(0), c.raw(1))


@tflite("BROADCAST_TO", moves=True)
def broadcast_to(c: Call) -> Ref:
    return c.node("BroadcastTo", c.input(0), c.raw(1))


@tflite("BROADCAST_ARGS", raw=True)
def broadcast_args(c: Call) -> Ref:
    return c.node("BroadcastArgs", c.input(0), c.input(1))


@tflite("PAD")
def pad(c: Call) -> Ref:
    return c.node("Pad", c.input(0), c.raw(1))


@tflite("PADV2")
def pad_v2(c: Call) -> Ref:
    return c.node("PadV2", c.input(0), c.raw(1), c.input(2))


@tflite("MIRROR_PAD", moves=True)
def mirror_pad(c: Call) -> Ref:
    mode = "SYMMETRIC" if int(c.option("mode", 0)) else "REFLECT"
    return c.node("MirrorPad", c.input(0), c.raw(1), mode=mode)


@tflite("GATHER", moves=True)
def gather(c: Call) -> Ref:
    axis = c.constant(int(c.option("axis", 0)))
    return c.node("GatherV2", c.input(0), c.raw(1), axis, batch_dims=int(c.option("batch_dims", 0)))


@tflite("EMBEDDING_LOOKUP")
def embedding_lookup(c: Call) -> Ref:
    """Inputs: rows to take, the table."""
    return c.node("GatherV2", c.input(1), c.raw(0), c.constant(0), batch_dims=0)


@tflite("GATHER_ND", moves=True)
def gather_nd(c: Call) -> Ref:
    return c.node("GatherNd", c.input(0), c.raw(1))


@tflite("SCATTER_ND")
def scatter_nd(c: Call) -> Ref:
    return c.node("ScatterNd", c.raw(0), c.input(1), c.raw(2))


@tflite("SPARSE_TO_DENSE", raw=True)
def sparse_to_dense(c: Call) -> Ref:
    return c.node("SparseToDense", *c.inputs(), validate_indices=bool(c.option("validate_indices", False)))


@tflite("DYNAMIC_UPDATE_SLICE", moves=True)
def dynamic_update_slice(c: Call) -> Ref:
    """The begins are clamped so that the update fits."""
    x, update, begin = c.input(0), c.input(1), c.raw(2)
    number = c.type_of(c.tensor(2))
    room = c.node("Sub", c.node("Shape", x, out_type=number), c.node("Shape", update, out_type=number))
    zero = c.constant(0, c.tensor(2).dtype.name)
    start = c.node("Minimum", c.node("Maximum", begin, zero), room)
    end = c.node("AddV2", start, c.node("Shape", update, out_type=number))
    ones = c.node("OnesLike", start)
    masks = dict.fromkeys(("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"), 0)
    return c.node("TensorStridedSliceUpdate", x, start, end, ones, update, **masks)


@tflite("REVERSE_V2", moves=True)
def reverse(c: Call) -> Ref:
    return c.node("ReverseV2", c.input(0), c.raw(1))


@tflite("REVERSE_SEQUENCE", moves=True)
def reverse_sequence(c: Call) -> Ref:
    return c.node(
        "ReverseSequence",
        c.input(0),
        c.raw(1),
        seq_dim=int(c.option("seq_dim", 0)),
        batch_dim=int(c.option("batch_dim", 0)),
    )


@tflite("MATRIX_DIAG")
def matrix_diag(c: Call) -> Ref:
    return c.node("MatrixDiag", c.input(0))


@tflite("MATRIX_SET_DIAG", moves=True)
def matrix_set_diag(c: Call) -> Ref:
    return c.node("MatrixSetDiag", c.input(0), c.input(1))


@tflite("SHAPE", raw=True)
def shape(c: Call) -> Ref:
    return c.node("Shape", c.input(0), out_type=c.type_of(c.out()))


@tflite("RANK", raw=True)
def rank(c: Call) -> Ref:
    return c.node("Rank", c.input(0))


@tflite("FILL", moves=True)
def fill(c: Call) -> Ref:
    return c.node("Fill", c.raw(0), c.input(1))


@tflite("RANGE", raw=True)
def range_(c: Call) -> Ref:
    return c.node("Range", *c.inputs())


@tflite("ONE_HOT")
def one_hot(c: Call) -> Ref:
    return c.node("OneHot", c.raw(0), c.raw(1), c.input(2), c.input(3), axis=int(c.option("axis", -1)))


@tflite("WHERE", raw=True)
def where(c: Call) -> Ref:
    return c.node("Where", c.input(0))


@tflite("UNIQUE", raw=True)
def unique(c: Call) -> Sequence[Ref]:
    return c.nodes("Unique", 2, c.input(0), out_idx=c.type_of(c.out(1)))


@tflite("BUCKETIZE")
def bucketize(c: Call) -> Ref:
    bounds = c.option("boundaries")
    return c.node("Bucketize", c.input(0), boundaries=[] if bounds is None else [float(v) for v in bounds])
