"""Decoding of sequences of class scores."""

from __future__ import annotations

import numpy as np

from ge_core.ir.graph import Value

from ..call import INT64, Call
from ..registry import tf_op


@tf_op("CTCGreedyDecoder")
def greedy_decoder(c: Call, inputs: Value, sequence_length: Value) -> list[Value]:
    """CTCGreedyDecoder(inputs, sequence_length) -> decoded_indices, decoded_values, decoded_shape, log_probability;
        merge_repeated, blank_index, T

    Best classes [T, B] without blanks, repetitions merged; indices, values and shape of a sparse tensor."""
    b = c.b
    times, batch, classes = inputs.shape
    blank = c.attr("blank_index")
    last = b.scalar(classes + blank if blank < 0 else blank)
    best = b.ArgMax(inputs, axis=2, keepdims=0)
    inside = b.Less(
        c.unsqueeze(b.Range(b.scalar(0), b.scalar(times), b.scalar(1)), 1), c.int64(c.unsqueeze(sequence_length, 0))
    )
    keep = b.And(inside, b.Not(b.Equal(best, last)))
    if c.attr("merge_repeated"):
        before = b.Concat([c.full((1, batch), -1, INT64), c.slice(best, 0, 0, times - 1)], axis=0)
        keep = b.And(keep, b.Not(b.Equal(best, before)))
    kept = c.transpose(keep, (1, 0))
    number = c.cast(kept, INT64)
    place = b.Sub(b.CumSum(number, np.int64(1)), np.int64(1))
    found = b.NonZero(kept)
    pairs = c.transpose(found, (1, 0))
    rows = b.Gather(found, np.int64(0), axis=0)
    columns = b.GatherND(place, pairs)
    indices = b.Concat([c.unsqueeze(rows, 1), c.unsqueeze(columns, 1)], axis=1)
    values = b.GatherND(c.transpose(best, (1, 0)), pairs)
    longest = b.ReduceMax(
        b.Concat([b.ReduceSum(number, b.ints(1), keepdims=0), b.ints(0)], axis=0), b.ints(0), keepdims=1
    )
    shape = b.Concat([b.ints(batch), longest], axis=0)
    top = b.ReduceMax(inputs, b.ints(2), keepdims=0)
    scores = b.Where(inside, top, c.like(0, top))
    total = b.Neg(b.ReduceSum(scores, b.ints(0), keepdims=0))
    return [indices, values, shape, c.unsqueeze(total, 1)]
