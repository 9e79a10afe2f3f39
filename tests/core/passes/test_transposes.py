"""Transposes that cancel, merge and sink."""

from __future__ import annotations

import numpy as np

from ge_core.ir import Builder, Value, symbol
from ge_core.passes.dce import DeadCode
from ge_core.passes.transposes import MergeTransposes, SinkTransposes
from tests.core.passes.rewriting import check, expected, normal, ops, rewritten

N = symbol("n", 1, 8)
TO_NCHW, TO_NHWC = [0, 3, 1, 2], [0, 2, 3, 1]


def test_merging() -> None:
    text = """
    graph g imported {
      symbols n [1, 8]
      input %x: float32[n, 2, 3]
      %a: float32[3, 2, n] = Transpose(%x)
      %b: float32[2, n, 3] = Transpose(%a) {perm=[1, 2, 0]}
      %c: float32[n, 2, 3] = Transpose(%b) {perm=[1, 0, 2]}
      %d: float32[n, 2, 3] = Neg(%c)
      return %b, %d
    }
    """
    assert rewritten(text, MergeTransposes()) == expected(
        """
        %b: float32[2, n, 3] = Transpose(%x) {perm=[1, 0, 2]}
        %d: float32[n, 2, 3] = Neg(%x)
        return %b, %d
        """
    )


def test_moving_single_positions_is_a_reshape() -> None:
    def build(b: Builder) -> None:
        x = b.input("x", "float32", (N, 1, 4))
        b.outputs(b.Transpose(x, perm=[1, 0, 2]), b.Transpose(x, perm=[2, 1, 0]))

    check(build, [normal(2, 1, 4)], MergeTransposes(), gives=["Reshape", "Transpose"])


def test_axes_of_size_one_between_reshapes_take_no_part() -> None:
    def build(b: Builder) -> None:
        x = b.input("x", "float32", (N, 4, 6))
        y = b.Transpose(b.Reshape(x, b.ints(1, N, 4, 3, 2)), perm=[3, 1, 2, 0, 4])
        z = b.Transpose(b.Reshape(x, b.ints(1, N, 1, 24)), perm=[2, 1, 0, 3])
        b.outputs(b.Reshape(y, b.ints(3, N, 8)), b.Reshape(z, b.ints(N, 8, 3)))

    graph, _ = check(build, [normal(2, 4, 6)], MergeTransposes(), DeadCode())
    turns = [n for n in graph.nodes if n.op == "Transpose"]
    assert [n.attrs["perm"] for n in turns] == [(2, 0, 1, 3)]


def test_a_transposed_constant_is_a_view_of_the_same_memory() -> None:
    w = normal(30, 40)

    def build(b: Builder) -> None:
        b.outputs(b.MatMul(b.input("x", "float32", (N, 40)), b.Transpose(b.constant(w), perm=[1, 0])))

    graph, _ = check(build, [normal(2, 40)], MergeTransposes(), DeadCode(), gives=["MatMul"], tolerance=1e-6)
    (constant,) = graph.constants
    assert constant.constant is not None and np.shares_memory(constant.constant.array(), w)


def nhwc(b: Builder, x: Value, seed: int) -> Value:
    """A convolution as TensorFlow's frontends hand it over."""
    y = b.Conv(b.Transpose(x, perm=TO_NCHW), normal(4, 4, 1, 1, seed=seed))
    return b.Transpose(y, perm=TO_NHWC)


def test_transposes_between_convolutions_vanish_through_bias_activation_and_residual() -> None:
    def build(b: Builder) -> None:
        x = b.input("x", "float32", (N, 3, 5, 4))
        y = b.Relu(b.Add(nhwc(b, x, 0), normal(4, seed=9)))
        z = b.Relu(b.Add(nhwc(b, y, 1), y))
        b.outputs(b.ReduceMean(nhwc(b, z, 2), np.array([1, 2]), keepdims=0))

    graph, _ = check(build, [normal(2, 3, 5, 4)], SinkTransposes(), DeadCode(), tolerance=1e-6)
    assert ops(graph).count("Transpose") == 1, "only the input's is left"
    assert ops(graph).count("Conv") == 3


def test_through_softmax_pad_concat_and_reductions_axes_are_renamed() -> None:
    def build(b: Builder) -> None:
        x = b.input("x", "float32", (N, 2, 3, 4))
        y = b.Transpose(x, perm=TO_NHWC)
        y = b.Concat([y, b.Softmax(b.Transpose(x, perm=TO_NHWC), axis=3)], axis=3)
        y = b.Pad(y, np.array([0, 1, 0, 0, 0, 0, 2, 1]))
        y = b.ReduceMax(y, np.array([1]))
        b.outputs(b.Transpose(y, perm=TO_NCHW))

    graph, _ = check(build, [normal(2, 2, 3, 4)], SinkTransposes(), DeadCode())
    assert "Transpose" not in ops(graph)


def test_through_a_pad_between_convolutions_and_into_a_reduction() -> None:
    def build(b: Builder) -> None:
        x = b.input("x", "float32", (N, 3, 8, 8))
        w, v = b.constant(normal(4, 3, 3, 3)), b.constant(normal(4, 4, 3, 3))
        y = b.Relu(b.Add(b.Transpose(b.Conv(x, w), perm=TO_NHWC), b.constant(normal(4))))
        y = b.Pad(y, b.ints(0, 1, 0, 0, 0, 0, 1, 0))
        z = b.Transpose(b.Conv(b.Transpose(y, perm=TO_NCHW), v), perm=TO_NHWC)
        b.outputs(b.ReduceMean(b.Add(z, b.constant(normal(4))), b.ints(1, 2), keepdims=0))

    graph, _ = check(build, [normal(2, 3, 8, 8)], SinkTransposes(), DeadCode(), tolerance=1e-6)
    assert "Transpose" not in ops(graph)


def test_a_transpose_with_other_readers_or_nothing_to_meet_stays() -> None:
    def build(b: Builder) -> None:
        x = b.input("x", "float32", (N, 2, 3))
        y = b.Transpose(x, perm=[2, 1, 0])
        b.outputs(y, b.Transpose(b.Relu(y), perm=[2, 1, 0]), b.Exp(b.Transpose(x, perm=[0, 2, 1])))

    check(build, [normal(2, 2, 3)], SinkTransposes(), gives=["Transpose", "Relu", "Transpose", "Transpose", "Exp"])


def test_a_constant_that_needs_turning_is_turned() -> None:
    def build(b: Builder) -> None:
        x = b.input("x", "float32", (N, 2, 3))
        y = b.Mul(b.Transpose(x, perm=[2, 0, 1]), normal(3, 1, 2))
        b.outputs(b.Transpose(y, perm=[1, 2, 0]))

    check(build, [normal(2, 2, 3)], SinkTransposes(), DeadCode(), gives=["Mul"])
