"""Convolutions on the native backend: every form, at all vector widths, between guard pages."""

from __future__ import annotations

import json
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ge_backend_cpu.ops.conv_transpose import phases
from ge_core.ir import Builder, DType, Graph, symbol
from ge_core.plan.plan import KernelStep
from tests.backends.cpu.native import check, kernels, plan_of, widths

RNG = np.random.default_rng(5)


def data(*shape: int, dtype: object = np.float32) -> np.ndarray:
    return RNG.standard_normal(shape).astype(dtype)  # type: ignore[call-overload]


def convolution(
    op: str, x: tuple[int, ...], w: tuple[int, ...], dtype: object = np.float32, constant: bool = True, **attrs: Any
) -> tuple[Graph, list[list[np.ndarray]]]:
    """The operator with a bias."""
    g = Graph()
    b = Builder(g)
    name = DType.of(np.dtype(dtype)).name  # type: ignore[call-overload]
    group = attrs.get("group", 1)
    channels = w[0] if op == "Conv" else w[1] * group
    weights, inputs = data(*w, dtype=dtype), [data(*x, dtype=dtype)]
    image = b.input("x", name, x)
    if constant:
        filters = b.constant(weights)
    else:
        filters = b.input("w", name, w)
        inputs.append(weights)
    b.outputs(getattr(b, op)(image, filters, b.constant(data(channels, dtype=dtype)), **attrs))
    return g, [inputs]


FORMS: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "1x1": ((2, 32, 9, 10), (24, 32, 1, 1), {}),
    "1x1 stride": ((2, 32, 9, 10), (24, 32, 1, 1), {"strides": [2, 3]}),
    "1x1 pads": ((1, 16, 5, 4), (24, 16, 1, 1), {"pads": [1, 0, 2, 1]}),
    "3x3": ((1, 17, 9, 10), (20, 17, 3, 3), {"pads": [1, 1, 1, 1]}),
    "3x3 valid": ((2, 16, 6, 7), (33, 16, 3, 3), {}),
    "3x3 crops": ((1, 16, 9, 9), (8, 16, 3, 3), {"pads": [-1, 0, 1, -2]}),
    "asymmetric": ((1, 16, 8, 9), (8, 16, 2, 4), {"pads": [0, 3, 1, 0], "strides": [2, 1]}),
    "same": ((1, 16, 8, 9), (8, 16, 4, 3), {"auto_pad": "SAME_UPPER", "strides": [3, 2]}),
    "dilated": ((1, 16, 11, 12), (8, 16, 3, 3), {"pads": [2, 3, 2, 3], "dilations": [2, 3]}),
    "groups": ((2, 24, 7, 8), (30, 8, 3, 3), {"pads": [1, 1, 1, 1], "group": 3}),
    "many groups": ((1, 32, 7, 8), (64, 4, 3, 3), {"pads": [1, 1, 1, 1], "group": 8}),
    "few channels": ((2, 3, 19, 23), (20, 3, 7, 7), {"pads": [3, 3, 3, 3], "strides": [2, 2]}),
    "few channels crops": ((1, 2, 9, 23), (20, 2, 3, 3), {"pads": [-1, 1, 0, -2]}),
    "one channel": ((1, 1, 20, 20), (8, 1, 3, 3), {"pads": [1, 1, 1, 1]}),
    "seven channels": ((1, 7, 9, 8), (8, 7, 3, 5), {"pads": [1, 2, 1, 2], "dilations": [2, 1]}),
    "1-D": ((2, 20, 30), (24, 20, 5), {"pads": [2, 2]}),
    "1-D few channels": ((2, 3, 40), (24, 3, 5), {"pads": [2, 2], "strides": [2]}),
    "3-D": ((2, 20, 5, 6, 7), (24, 20, 3, 2, 3), {"pads": [1, 1, 1, 1, 0, 1], "strides": [1, 2, 1]}),
    "3-D few channels": ((1, 3, 5, 6, 7), (24, 3, 3, 2, 3), {"pads": [1, 1, 1, 1, 0, 1], "strides": [1, 2, 1]}),
    "depthwise": ((2, 20, 9, 21), (20, 1, 3, 3), {"pads": [1, 1, 1, 1], "group": 20}),
    "depthwise wide": ((1, 40, 6, 40), (40, 1, 5, 5), {"pads": [2, 2, 2, 2], "group": 40, "strides": [1, 2]}),
    "depthwise small": ((1, 33, 7, 7), (33, 1, 5, 5), {"pads": [2, 2, 2, 2], "group": 33}),
    "depthwise many": ((2, 150, 4, 14), (150, 1, 3, 3), {"pads": [1, 1, 1, 1], "group": 150}),
    "depthwise rows that end early": ((1, 16, 3, 12), (16, 1, 3, 5), {"pads": [1, 0, 1, 7], "group": 16}),
    "depthwise large": ((1, 40, 90, 80), (40, 1, 3, 3), {"pads": [1, 1, 1, 1], "group": 40, "strides": [2, 2]}),
    "depthwise dilated": ((1, 16, 12, 13), (16, 1, 3, 3), {"pads": [2, 2, 2, 2], "group": 16, "dilations": [2, 2]}),
    "depthwise crops": ((1, 16, 12, 13), (16, 1, 3, 3), {"pads": [-1, 1, 0, -2], "group": 16}),
    "depthwise 1-D": ((2, 19, 31), (19, 1, 7), {"group": 19, "pads": [6, 0]}),
    "depthwise 3-D": ((1, 19, 4, 5, 6), (19, 1, 3, 3, 2), {"group": 19, "pads": [1, 1, 1, 1, 0, 0]}),
    "multiplier": ((1, 6, 8, 8), (18, 1, 3, 3), {"group": 6, "pads": [1, 1, 1, 1]}),
    "deep taps": ((1, 258, 9, 7), (20, 258, 4, 4), {"pads": [1, 2, 1, 2], "strides": [1, 2]}),
    "deep taps in parts": ((2, 1030, 5, 6), (70, 1030, 2, 2), {}),
    "deep taps in blocks": ((1, 130, 25, 24), (17, 130, 6, 6), {"pads": [2, 3, 2, 3]}),
    "deep groups": ((1, 600, 6, 6), (40, 300, 4, 4), {"group": 2, "pads": [1, 1, 2, 2]}),
    "no images": ((0, 16, 5, 5), (8, 16, 3, 3), {}),
    "no pixels": ((1, 16, 2, 5), (8, 16, 3, 3), {}),
    "no channels": ((1, 16, 5, 5), (0, 16, 3, 3), {}),
}


@pytest.mark.parametrize("isa", widths())
@pytest.mark.parametrize("form", FORMS)
def test_forms(form: str, isa: str) -> None:
    x, w, attrs = FORMS[form]
    check(*convolution("Conv", x, w, **attrs), isa=isa, precision="accuracy")


@pytest.mark.parametrize("form", ["1x1", "3x3", "groups", "1-D", "depthwise"])
def test_weights_of_the_call(form: str) -> None:
    x, w, attrs = FORMS[form]
    check(*convolution("Conv", x, w, constant=False, **attrs))


@pytest.mark.parametrize("form", ["3x3", "few channels", "depthwise"])
@pytest.mark.parametrize("dtype, tolerance", [(np.float64, 1e-14), (np.float16, 2e-3), (ml_dtypes.bfloat16, 1e-2)])
def test_element_types(form: str, dtype: object, tolerance: float) -> None:
    x, w, attrs = FORMS[form]
    check(*convolution("Conv", x, w, dtype, **attrs), tolerance=tolerance)


def test_first_layers_read_planes() -> None:
    x, w, attrs = FORMS["few channels"]
    plan = check(*convolution("Conv", x, w, **attrs))
    assert "conv.planes" in kernels(plan)


def test_channels_stay_last_between_convolutions() -> None:
    g = Graph()
    b = Builder(g)
    y = b.input("x", "float32", (1, 32, 20, 20))
    first = y = b.Relu(b.Conv(y, b.constant(data(32, 32, 3, 3) / 17), pads=[1, 1, 1, 1]))
    y = b.HardSwish(b.Conv(y, b.constant(data(32, 1, 3, 3)), group=32, pads=[1, 1, 1, 1]))
    b.outputs(b.Add(b.Conv(y, b.constant(data(32, 32, 1, 1) / 6)), first))
    plan = check(g, [[data(1, 32, 20, 20)]])
    assert len([name for name in kernels(plan) if "Relayout" in name]) == 2, kernels(plan)


@pytest.mark.parametrize("special", [np.nan, np.inf])
def test_special_values_stay_in_their_windows(special: float) -> None:
    for w, attrs in (((8, 20, 3, 3), {}), ((20, 1, 3, 3), {"group": 20})):
        graph, calls = convolution("Conv", (1, 20, 9, 9), w, pads=[1, 1, 1, 1], **attrs)
        calls[0][0][0, 5, 0, 4] = special
        check(graph, calls, precision="accuracy")


def test_sizes_of_the_call() -> None:
    n, h, w = symbol("n", 1), symbol("h", 3), symbol("w", 3)
    g = Graph()
    b = Builder(g)
    x = b.input("x", "float32", (n, 3, h, w))
    y = b.Relu(b.Conv(x, b.constant(data(16, 3, 3, 3)), pads=[1, 1, 1, 1], strides=[2, 2]))
    y = b.Conv(y, b.constant(data(16, 1, 3, 3)), group=16, auto_pad="SAME_LOWER")
    b.outputs(b.Conv(y, b.constant(data(20, 16, 3, 3)), pads=[1, 1, 1, 1]))
    check(g, [[data(*shape)] for shape in ((1, 3, 9, 10), (3, 3, 5, 4), (1, 3, 40, 33), (2, 3, 3, 3))])


TRANSPOSED: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "2x2": ((1, 32, 9, 10), (32, 24, 2, 2), {"strides": [2, 2]}),
    "stride 1": ((2, 6, 5, 4), (6, 24, 3, 3), {"pads": [1, 1, 1, 1]}),
    "strides": ((2, 6, 5, 4), (6, 24, 3, 3), {"strides": [2, 3], "pads": [1, 0, 1, 2], "output_padding": [1, 0]}),
    "groups": ((2, 6, 5, 4), (6, 4, 3, 2), {"strides": [2, 3], "group": 3, "dilations": [2, 2]}),
    "same": ((2, 6, 5), (6, 4, 5), {"strides": [2], "auto_pad": "SAME_UPPER"}),
    "gaps": ((2, 6, 5), (6, 4, 1), {"strides": [3]}),
    "3-D": ((1, 6, 3, 4, 5), (6, 4, 3, 3, 2), {"strides": [2, 1, 2]}),
    "output shape": ((1, 6, 4, 5), (6, 4, 3, 3), {"strides": [2, 2], "output_shape": [10, 8]}),
}


@pytest.mark.parametrize("isa", widths()[:2])
@pytest.mark.parametrize("form", TRANSPOSED)
def test_transposed(form: str, isa: str) -> None:
    x, w, attrs = TRANSPOSED[form]
    check(*convolution("ConvTranspose", x, w, **attrs), isa=isa)


def test_every_tap_belongs_to_one_phase() -> None:
    for kernel, stride, dilation, begin in ((3, 2, 1, 1), (5, 3, 2, 4), (1, 4, 1, 0), (4, 2, 2, 3), (7, 6, 4, 2)):
        found = phases(kernel, stride, dilation, begin)
        for phase in found:
            for t, tap in enumerate(phase.taps):
                for j in range(3):
                    at = phase.corner + j + t * phase.step
                    assert at * stride == stride * j + phase.first + begin - tap * dilation
        reached = sorted(tap for phase in found for tap in phase.taps)
        assert set(reached) == set(range(kernel))


def test_what_stands_between_convolutions_keeps_the_channels_last() -> None:
    """A squeeze-and-excitation gate and a concatenation: no storage is converted but the model's own ends."""
    g = Graph()
    b = Builder(g)
    x = b.Relu(b.Conv(b.input("x", "float32", (1, 32, 20, 20)), b.constant(data(32, 32, 3, 3) / 17), pads=[1, 1, 1, 1]))
    gate = b.Sigmoid(b.Conv(b.GlobalAveragePool(x), b.constant(data(32, 32, 1, 1))))
    y = b.Concat([b.Mul(x, gate), x], axis=1)
    b.outputs(b.Conv(y, b.constant(data(32, 64, 1, 1) / 8)))
    plan = check(g, [[data(1, 32, 20, 20)]])
    assert len([name for name in kernels(plan) if "Relayout" in name]) <= 2, kernels(plan)


def test_activations_of_convolutions_divide_nothing() -> None:
    """A division of vectors takes longer than a product's whole epilogue."""
    g = Graph()
    b = Builder(g)
    y = b.Conv(b.input("x", "float32", (1, 32, 20, 20)), b.constant(data(32, 32, 1, 1)))
    b.outputs(b.HardSigmoid(b.HardSwish(y)))
    steps = [step for step in plan_of(g).steps if isinstance(step, KernelStep) and "conv" in step.implementation]
    (text,) = (json.dumps(step.data["launches"]) for step in steps)
    assert '"max"' in text and '"div"' not in text
