"""Convolutions and their relatives: ONNX's cases, comparison with PyTorch, symbolic sizes, refusals."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from ge_core.errors import ExecutionError, TypeRuleError
from ge_core.ir import Builder, Graph, symbol
from ge_core.reference.interpret import interpret
from tests.core.ops.onnx_cases import Case, cases, check_case
from tests.core.ops.single_node import Rule, check_rule, run_node

RNG = np.random.default_rng(0)
OPS = ("Conv", "ConvInteger", "QLinearConv", "ConvTranspose", "Col2Im", "DeformConv", "CausalConvWithState")


@pytest.mark.parametrize("case", cases(*OPS))
def test_onnx(case: Case) -> None:
    check_case(case)


def f32(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


RULES = [
    Rule("Conv", [("a", 4, 12, "b"), (6, 4, 3, 1)], {"pads": [1, 2, 1, 2], "strides": [2, 2], "dilations": [2, 1]}),
    Rule("Conv", [("a", 4, "b"), (6, 2, 3), (6,)], {"auto_pad": "SAME_UPPER", "strides": [2], "group": 2}),
    Rule("Conv", [(1, 4, "b", 9), ("a", 4, 1, 3)], {"auto_pad": "SAME_LOWER", "strides": [3, 2]}),
    Rule("Conv", [("a", 6, 7), (12, 1, 3)], {"auto_pad": "VALID", "group": 6}),
    Rule("ConvInteger", [("a", 2, "b", 5), (3, 2, 1, 3)], dtypes={0: "uint8", 1: "uint8"}),
    Rule("ConvTranspose", [("a", 4, "b", 5), (4, 2, 3, 3)], {"strides": [2, 3], "output_padding": [1, 2], "group": 2}),
    Rule("ConvTranspose", [("a", 4, "b"), (4, 2, 3)], {"auto_pad": "SAME_UPPER", "strides": [2]}),
    Rule("ConvTranspose", [("a", 4, "b"), (4, 2, 3)], {"output_shape": [7], "strides": [2]}),
    Rule("DeformConv", [("a", 2, 4, 5), (3, 2, 2, 2), ("a", 8, 3, 4)]),
    Rule("Col2Im", [("a", 12, 6), np.array([4, 3]), np.array([2, 2])]),
    Rule("CausalConvWithState", [("a", 3, "b"), (3, 1, 4)], num_outputs=2),
    Rule(
        "ge.Im2Col",
        [("a", 3, 5, "b")],
        {"kernel_shape": [2, 1], "strides": [1, 2], "pads": [1, 0, 0, 1], "dilations": [2, 1]},
    ),
    Rule(
        "QLinearConv",
        [
            ("a", 2, "b"),
            np.float32(0.5),
            np.uint8(3),
            (4, 2, 1),
            np.float32(0.25),
            np.uint8(1),
            np.float32(1),
            np.uint8(9),
        ],
        dtypes={0: "uint8", 3: "uint8"},
    ),
]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_sizes(rule: Rule) -> None:
    check_rule(rule)


_CONV = [
    # rank, channels, out, kernel, stride, pad, dilation, group
    (1, 4, 6, 3, 2, 1, 1, 1),
    (1, 6, 6, 5, 1, 2, 2, 6),
    (2, 3, 8, 7, 2, 3, 1, 1),
    (2, 8, 8, 3, 1, 1, 1, 8),
    (2, 4, 12, 3, 2, 0, 2, 4),
    (2, 6, 4, 1, 2, 0, 1, 2),
    (2, 6, 4, 3, 1, 1, 1, 2),
    (3, 4, 6, 3, 1, 1, 1, 2),
    (3, 2, 2, 2, 2, 0, 1, 1),
]


@pytest.mark.parametrize("shape", _CONV, ids=str)
def test_conv_against_torch(shape: tuple[int, ...]) -> None:
    rank, channels, out, kernel, stride, pad, dilation, group = shape
    x, w, b = f32(2, channels, *(13, 11, 9)[:rank]), f32(out, channels // group, *[kernel] * rank), f32(out)
    function = (F.conv1d, F.conv2d, F.conv3d)[rank - 1]
    expected = function(*map(torch.from_numpy, (x, w, b)), stride, pad, dilation, group).numpy()
    attrs = {"strides": [stride] * rank, "pads": [pad] * 2 * rank, "dilations": [dilation] * rank, "group": group}
    np.testing.assert_allclose(run_node("Conv", x, w, b, **attrs), expected, rtol=1e-4, atol=1e-5)


def test_bands_of_rows_join() -> None:
    """An image whose windows do not fit in one band gives the same as torch."""
    x, w = f32(1, 64, 150, 140), f32(8, 64, 3, 3)
    expected = F.conv2d(torch.from_numpy(x), torch.from_numpy(w), padding=1).numpy()
    # 576 terms of size 1: absolute errors of a few 1e-5 are rounding
    np.testing.assert_allclose(run_node("Conv", x, w, pads=[1] * 4), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_conv_types(dtype: str) -> None:
    x, w = f32(1, 4, 6, 6).astype(dtype), f32(3, 4, 3, 3).astype(dtype)
    wide = np.float64 if dtype == "float64" else np.float32
    expected = F.conv2d(torch.from_numpy(x.astype(wide)), torch.from_numpy(w.astype(wide))).numpy().astype(dtype)
    got = run_node("Conv", x, w)
    assert got.dtype == dtype
    # at most one step of the type: the float32 sums differ in their last bits
    steps = {"float16": 1e-3, "bfloat16": 8e-3, "float64": 1e-12}[dtype]
    np.testing.assert_allclose(got.astype(np.float64), expected.astype(np.float64), rtol=steps, atol=steps)


@pytest.mark.parametrize(
    ("stride", "pad", "extra", "dilation", "group"),
    [(1, 0, 0, 1, 1), (2, 1, 1, 1, 2), (3, 1, 2, 1, 1), (2, 0, 1, 2, 2), (2, 2, 0, 3, 1)],
)
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_conv_transpose_against_torch(rank: int, stride: int, pad: int, extra: int, dilation: int, group: int) -> None:
    x, w, b = f32(2, 4, *(6, 5, 4)[:rank]), f32(4, 3, *[3] * rank), f32(3 * group)
    function = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[rank - 1]
    expected = function(*map(torch.from_numpy, (x, w, b)), stride, pad, extra, group, dilation).numpy()
    attrs: dict[str, Any] = {
        "strides": [stride] * rank, "pads": [pad] * 2 * rank, "output_padding": [extra] * rank,
        "dilations": [dilation] * rank, "group": group,
    }  # fmt: skip
    np.testing.assert_allclose(run_node("ConvTranspose", x, w, b, **attrs), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("kernel", "stride", "pad", "dilation"), [*itertools.product((2, 3), (1, 2), (0, 1), (1, 2))])
def test_im2col_and_col2im_against_torch(kernel: int, stride: int, pad: int, dilation: int) -> None:
    x = f32(2, 3, 8, 7)
    attrs: dict[str, Any] = {"strides": [stride] * 2, "pads": [pad] * 4, "dilations": [dilation] * 2}
    blocks = F.unfold(torch.from_numpy(x), kernel, dilation, pad, stride)
    got = run_node("ge.Im2Col", x, kernel_shape=[kernel] * 2, **attrs)
    np.testing.assert_array_equal(got, blocks.numpy())
    image = F.fold(blocks, (8, 7), kernel, dilation, pad, stride).numpy()
    got = run_node("Col2Im", got, np.array([8, 7]), np.array([kernel] * 2), **attrs)
    np.testing.assert_allclose(got, image, rtol=1e-5, atol=1e-6)


def test_conv_integer_is_exact_beyond_float32() -> None:
    x = RNG.integers(0, 255, (1, 600, 5, 5)).astype(np.uint8)
    w = RNG.integers(0, 255, (2, 600, 3, 3)).astype(np.uint8)
    expected = F.conv2d(torch.from_numpy(x).double() - 7, torch.from_numpy(w).double() - 100).numpy()
    got = run_node("ConvInteger", x, w, np.uint8(7), np.uint8(100))
    np.testing.assert_array_equal(got, expected.astype(np.int32))


def test_state_of_a_causal_conv_carries_over() -> None:
    x, w, b = f32(2, 3, 9), f32(3, 1, 4), f32(3)
    whole, end = run_node("CausalConvWithState", x, w, b, num_outputs=2, activation="silu")
    first, state = run_node("CausalConvWithState", x[:, :, :2], w, b, num_outputs=2, activation="silu")
    rest, last = run_node("CausalConvWithState", x[:, :, 2:], w, b, state, num_outputs=2, activation="silu")
    np.testing.assert_allclose(np.concatenate([first, rest], axis=2), whole, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(last, end)


@pytest.mark.parametrize(
    ("op", "shapes", "attrs", "why"),
    [
        ("Conv", [(1, 3, 8, 8), (4, 2, 3, 3)], {}, "group times those of the weights differ: 3 and 2"),
        ("Conv", [(1, 4, 8), (3, 2, 3)], {"group": 2}, "do not divide into 2 groups"),
        ("Conv", [(1, 3, 2, 8), (4, 3, 4, 3)], {}, "larger than the padded input of 2"),
        ("Conv", [(1, 3, 8, 8), (4, 3, 3, 3)], {"strides": [1]}, "strides has 1 numbers, expected 2"),
        ("Conv", [(1, 3, 8, 8), (4, 3, 3, 3)], {"strides": [0, 1]}, "at least 1"),
        ("Conv", [(1, 3, 8, 8), (4, 3, 3, 3)], {"kernel_shape": [5, 3]}, "kernel_shape"),
        ("Conv", [(1, 3, 8, 8), (4, 3, 3, 3)], {"auto_pad": "SAME"}, "auto_pad is 'SAME'"),
        ("Conv", [(1, 3), (4, 3)], {}, "rank 2, expected at least 3"),
        ("Conv", [(1, 3, 8), (4, 3, 3), (5,)], {}, "bias and output channels differ"),
        ("ConvTranspose", [(1, 3, 8), (3, 3, 3)], {"output_padding": [1]}, "smaller than strides"),
        ("Col2Im", [(1, 7, 6), (0,), (0,)], {}, "image_shape"),
    ],
)
def test_refused(op: str, shapes: list[tuple[int, ...]], attrs: dict[str, Any], why: str) -> None:
    with pytest.raises(TypeRuleError, match=why):
        run_node(op, *(np.ones(s, np.float32) for s in shapes), **attrs)


def test_a_window_too_large_at_run_time_is_an_error() -> None:
    graph = Graph()
    b = Builder(graph)
    x = b.input("x", "float32", (1, 2, symbol("n", 1)))
    b.outputs(b.Conv(x, b.constant(np.ones((1, 2, 5), np.float32))))
    with pytest.raises(ExecutionError, match="larger than the padded input of 3"):
        interpret(graph, [np.ones((1, 2, 3), np.float32)])
