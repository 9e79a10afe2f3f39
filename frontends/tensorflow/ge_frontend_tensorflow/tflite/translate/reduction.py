"""Reductions, products of matrices, normalisations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ...program import Ref
from ..call import Call
from ..hybrid import is_hybrid, rounded_data
from ..registry import tflite

_REDUCED = {
    "SUM": "Sum", "MEAN": "Mean", "REDUCE_PROD": "Prod", "REDUCE_MAX": "Max", "REDUCE_MIN": "Min",
    "REDUCE_ANY": "Any", "REDUCE_ALL": "All",
}  # fmt: skip
_SEGMENTS = {
    "UNSORTED_SEGMENT_SUM": "UnsortedSegmentSum", "UNSORTED_SEGMENT_PROD": "UnsortedSegmentProd",
    "UNSORTED_SEGMENT_MAX": "UnsortedSegmentMax", "UNSORTED_SEGMENT_MIN": "UnsortedSegmentMin",
}  # fmt: skip


def _reduced(op: str, c: Call) -> Ref:
    return c.node(op, c.input(0), c.raw(1), keep_dims=bool(c.option("keep_dims", False)))


def _segments(op: str, c: Call) -> Ref:
    return c.node(op, c.input(0), c.raw(1), c.raw(2))


for _name, _op in _REDUCED.items():
    tflite(_name)(partial(_reduced, _op))
for _name, _op in _SEGMENTS.items():
    tflite(_name)(partial(_segments, _op))


@tflite("SEGMENT_SUM")
def segment_sum(c: Call) -> Ref:
    return c.node("SegmentSum", c.input(0), c.raw(1))


@tflite("ARG_MAX")
def arg_max(c: Call) -> Ref:
    return c.node("ArgMax", c.input(0), c.raw(1), output_type=c.type_of(c.out()))


@tflite("ARG_MIN")
def arg_min(c: Call) -> Ref:
    return c.node("ArgMin", c.input(0), c.raw(1), output_type=c.type_of(c.out()))


@tflite("TOPK_V2", moves=True)
def top_k(c: Call) -> Sequence[Ref]:
    return c.nodes("TopKV2", 2, c.input(0), c.raw(1), sorted=True, index_type=c.type_of(c.out(1)))


@tflite("CUMSUM")
def cumsum(c: Call) -> Ref:
    exclusive, reverse = (bool(c.option(name, False)) for name in ("exclusive", "reverse"))
    return c.node("Cumsum", c.input(0), c.raw(1), exclusive=exclusive, reverse=reverse)


@tflite("SOFTMAX")
def softmax(c: Call) -> Ref:
    x, beta = c.input(0), float(c.option("beta", 1.0))
    return c.node("Softmax", x if beta == 1.0 else c.node("Mul", x, c.constant(beta, "float32")))


@tflite("LOG_SOFTMAX")
def log_softmax(c: Call) -> Ref:
    return c.node("LogSoftmax", c.input(0))


@tflite("L2_NORMALIZATION")
def l2_normalization(c: Call) -> Ref:
    """x / max(|x|, 1e-6) over the last axis (reference_ops::L2Normalization)."""
    x = c.input(0)
    squares = c.node("Sum", c.node("Square", x), c.constant([-1]), keep_dims=True)
    length = c.node("Maximum", c.node("Sqrt", squares), c.constant(1e-6, "float32"))
    return c.activated(c.node("RealDiv", x, length))


@tflite("FULLY_CONNECTED")
def fully_connected(c: Call) -> Ref:
    """Weights are [out, in]; the data are rows of `in` elements, whatever their shape."""
    if int(c.option("weights_format", 0)):
        raise c.unsupported("shuffled weights")
    out, inner = c.shape(1)
    x = c.input(0)
    kept = bool(c.option("keep_num_dims", False)) and len(c.tensor(0).shape) != 2
    rows = c.node("Reshape", x, c.constant((-1, inner))) if len(c.tensor(0).shape) != 2 else x
    if is_hybrid(c, 0, 1):
        rows = rounded_data(c, rows, 2, symmetric=not c.option("asymmetric_quantize_inputs", False))
    y = c.node("MatMul", rows, c.input(1), transpose_a=False, transpose_b=True)
    if c.has(2) and not c.is_zero(2):
        y = c.node("BiasAdd", y, c.input(2), data_format="NHWC")
    if kept:
        count = len(c.tensor(0).shape) - 1
        sizes = c.node("Shape", x, out_type=c.type_of_name("int32"))
        outer = c.node("Slice", sizes, c.constant([0]), c.constant([count]))
        y = c.node("Reshape", y, c.node("ConcatV2", outer, c.constant([out]), c.constant(0), N=2))
    return c.activated(y)


@tflite("BATCH_MATMUL")
def batch_matmul(c: Call) -> Ref:
    adj_x, adj_y = bool(c.option("adj_x", False)), bool(c.option("adj_y", False))
    return c.node("BatchMatMulV2", c.input(0), c.input(1), adj_x=adj_x, adj_y=adj_y)


@tflite("NON_MAX_SUPPRESSION_V4")
def non_max_suppression_v4(c: Call) -> Sequence[Ref]:
    """Indices padded with 0 to the largest number, and how many are valid."""
    return c.nodes("NonMaxSuppressionV4", 2, *c.inputs(), pad_to_max_output_size=True)


@tflite("NON_MAX_SUPPRESSION_V5")
def non_max_suppression_v5(c: Call) -> Sequence[Ref]:
    return c.nodes("NonMaxSuppressionV5", 3, *c.inputs(), pad_to_max_output_size=True)
