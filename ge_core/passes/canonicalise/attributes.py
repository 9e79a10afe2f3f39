"""Attributes and axes in one form: counted from the front, sorted, written out."""

from __future__ import annotations

import numpy as np

from ge_core.ir.builder import Builder
from ge_core.ir.graph import Value
from ge_core.ir.types import TensorType
from ge_core.passes.matching import Any_, Match, Node, attribute, ints_of
from ge_core.passes.rewrite import Replacement, rebuilt, rule

X = Any_("x")

_AXIS = (
    "Softmax|LogSoftmax|Hardmax|Concat|Gather|GatherElements|ScatterElements|Split|ArgMax|ArgMin|TopK|"
    "LayerNormalization|RMSNormalization|ge.Sort|ge.CumMax|ge.CumMin|ge.LogCumSumExp|ge.RepeatInterleave|"
    "ge.ScatterReduce"
)
_REDUCE = (
    "ReduceSum|ReduceMean|ReduceMax|ReduceMin|ReduceProd|ReduceL1|ReduceL2|ReduceLogSum|ReduceLogSumExp|ReduceSumSquare"
)


@rule(Node(_AXIS, X, rest=True))
def axis_from_the_front(m: Match, b: Builder) -> Replacement:
    axis = attribute(m.root, "axis")
    m.require(axis is not None and axis < 0, "the axis counts from the front")
    t = m["x"].type
    m.require(isinstance(t, TensorType) and t.rank is not None, "the rank is unknown")
    assert isinstance(t, TensorType) and t.rank is not None
    result: Replacement = rebuilt(b, m.root, axis=axis + t.rank)
    return result


@rule(Node(_REDUCE, X, rest=True))
def reduced_axes(m: Match, b: Builder) -> Value:
    """The axes as a sorted constant counted from the front; all of them when none is given."""
    node = m.root
    rank = len(m["x"].shape) if isinstance(m["x"].type, TensorType) and m["x"].type.shape is not None else None
    m.require(rank is not None, "the rank is unknown")
    assert rank is not None
    axes = node.input(1)
    given = () if axes is None else ints_of(axes)
    m.require(given is not None, "the axes are unknown")
    noop = attribute(node, "noop_with_empty_axes")
    m.require(given or not noop, "no axis is reduced")
    wanted = tuple(sorted(a % max(rank, 1) for a in given or ())) or tuple(range(rank))
    m.require(wanted and (axes is None or given != wanted or noop), "the axes have this form")
    result: Value = rebuilt(b, node, [m["x"], b.constant(np.array(wanted, np.int64))], noop_with_empty_axes=None)
    return result


ATTRIBUTE_RULES = (axis_from_the_front, reduced_axes)
