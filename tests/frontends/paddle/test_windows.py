"""Windows over dynamic heights and widths, sizes that are computed, and lists that a loop fills."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import paddle
import pytest
from paddle import nn
from paddle.nn import functional as F
from paddle.static import InputSpec

import ge_core
from tests.frontends.paddle.agreement import check
from tests.frontends.paddle.variants.data import f32

IMAGE = InputSpec([None, 3, None, None], "float32", "x")
OTHER = InputSpec([None, 3, None, None], "float32", "y")
IMAGES = ([f32(2, 3, 9, 7)], [f32(1, 3, 8, 6)], [f32(1, 3, 12, 4)])


class Function(nn.Layer):
    """A function that Paddle does not rewrite."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = paddle.jit.not_to_static(function)

    def forward(self, x: Any) -> Any:
        return self.function(x)


class OfTwo(Function):
    def forward(self, x: Any, y: Any) -> Any:
        return self.function(x, y)


@pytest.mark.parametrize("exclusive", [True, False])
@pytest.mark.parametrize(
    ("padding", "ceil"), [(1, False), (1, True), ([1, 0, 1, 1], False), ([1, 0, 0, 1], True), ("SAME", False),
                          ("SAME", True), ("VALID", False)],
)  # fmt: skip
def test_averages(padding: Any, ceil: bool, exclusive: bool) -> None:
    pool = Function(lambda x: F.avg_pool2d(x, 3, 2, padding, ceil_mode=ceil, exclusive=exclusive))
    check(pool, [IMAGE], *IMAGES)


@pytest.mark.parametrize("size", [1, [2, None], (3, 2)])
def test_adaptive_pools(size: Any) -> None:
    check(Function(lambda x: (F.adaptive_avg_pool2d(x, size), F.adaptive_max_pool2d(x, size))), [IMAGE], *IMAGES)


@pytest.mark.parametrize("padding", ["SAME", 1])
def test_transposed_convolutions(padding: Any) -> None:
    weight = f32(3, 4, 3, 3)
    check(Function(lambda x: F.conv2d_transpose(x, paddle.to_tensor(weight), None, 2, padding)), [IMAGE], *IMAGES)


def test_a_transposed_convolution_to_a_computed_size() -> None:
    weight = f32(3, 4, 3, 3)

    def model(x: Any, y: Any) -> Any:
        return F.conv2d_transpose(x, paddle.to_tensor(weight), None, 2, 1, output_size=paddle.shape(y)[2:])

    check(
        OfTwo(model), [IMAGE, OTHER],
        [f32(2, 3, 4, 3), f32(1, 3, 8, 5)], [f32(1, 3, 5, 5), f32(1, 3, 9, 10)],
    )  # fmt: skip


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
def test_broken_scales(mode: str, corners: bool) -> None:
    if mode == "nearest" and corners:
        pytest.skip("Paddle has no such form")
    check(Function(lambda x: F.interpolate(x, scale_factor=1.7, mode=mode, align_corners=corners)), [IMAGE], *IMAGES)


def test_nearest_neighbours_round_as_paddle_rounds() -> None:
    check(Function(lambda x: F.interpolate(x, size=[49, 98])), [InputSpec([1, 3, 1, 2], "float32")], [f32(1, 3, 1, 2)])


def test_paddings_that_are_computed() -> None:
    pads = InputSpec([4], "int32", "pads")
    for mode in ("constant", "replicate"):
        model = OfTwo(lambda x, p, mode=mode: F.pad(x, p, mode=mode, value=2.0))
        check(model, [IMAGE, pads], [f32(1, 3, 4, 4), np.array([1, 0, 2, 3], np.int32)])


class Appends(nn.Layer):
    def forward(self, x: Any, n: Any) -> Any:
        found = []
        i = paddle.zeros([1], "int64")
        while i < n:
            x = x * 2
            found.append(x)
            i = i + 1
        return paddle.concat(found, 0)


def test_a_list_that_a_loop_appends_to() -> None:
    model = Appends()
    specs = [InputSpec([None, 3], "float32", "x"), InputSpec([1], "int64", "n")]
    check(model, specs, [f32(2, 3), np.array([3])], [f32(1, 3), np.array([1])])


def test_a_compiled_layer_takes_empty_tensors() -> None:
    compiled = ge_core.compile(nn.Linear(4, 2), [InputSpec([None, 4], "float32", "x")], target="reference")
    assert compiled(paddle.zeros([0, 4])).shape == [0, 2]
