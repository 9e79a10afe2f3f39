"""Integer convolutions on the native backend: exact at all vector widths, and chosen for quantised models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ge_backend_cpu.contract.dot import has_dots
from ge_backend_cpu.isa import Isa, host
from ge_core.ir import Builder, Graph, symbol
from tests.backends.cpu.native import DOTS, check, dots, kernels, plan_of, widths

RNG = np.random.default_rng(17)
INTEGERS = {"uint8": np.uint8, "int8": np.int8}


def integers(dtype: str, *shape: Any) -> np.ndarray:
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max, shape, INTEGERS[dtype], endpoint=True)


FORMS: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "1x1": ((2, 32, 9, 10), (24, 32, 1, 1), {}),
    "3x3": ((1, 17, 9, 10), (20, 17, 3, 3), {"pads": [1, 1, 1, 1]}),
    "crops": ((1, 16, 9, 9), (8, 16, 3, 3), {"pads": [-1, 0, 1, -2]}),
    "strides": ((2, 16, 8, 9), (8, 16, 2, 4), {"pads": [0, 3, 1, 0], "strides": [2, 1]}),
    "same": ((1, 5, 8, 9), (8, 5, 4, 3), {"auto_pad": "SAME_LOWER", "strides": [3, 2]}),
    "dilated": ((1, 3, 11, 12), (40, 3, 3, 3), {"pads": [2, 3, 2, 3], "dilations": [2, 3]}),
    "groups": ((2, 24, 7, 8), (30, 8, 3, 3), {"pads": [1, 1, 1, 1], "group": 3}),
    "planes": ((2, 3, 21, 39), (20, 3, 7, 7), {"pads": [3, 3, 2, 4], "strides": [2, 2]}),
    "ready": ((1, 300, 7, 7), (40, 300, 3, 3), {"pads": [1, 1, 1, 1]}),
    "ready 1x1": ((2, 1024, 8, 9), (50, 1024, 1, 1), {"strides": [2, 1]}),
    "4 planes": ((1, 4, 9, 16), (8, 4, 3, 3), {}),
    "odd groups": ((1, 15, 7, 8), (40, 3, 3, 3), {"pads": [1, 1, 1, 1], "group": 5}),
    "deep": ((1, 520, 6, 6), (20, 520, 4, 4), {"pads": [1, 1, 1, 1]}),
    "1-D": ((2, 20, 30), (24, 20, 5), {"pads": [2, 2]}),
    "3-D": ((2, 7, 5, 6, 7), (24, 7, 3, 2, 3), {"pads": [1, 1, 1, 1, 0, 1], "strides": [1, 2, 1]}),
    "no images": ((0, 16, 5, 5), (8, 16, 3, 3), {}),
    "no pixels": ((1, 16, 2, 5), (8, 16, 3, 3), {}),
}


needs_dots = pytest.mark.skipif(not has_dots(host()), reason="this machine has no dot products of bytes")


def convolution(x: Any, w: tuple[int, ...], kinds: tuple[str, str], zeros: Any, **attrs: Any) -> Graph:
    """Args: zeros: "none", "one" of each, "each" output channel's, or that of the image alone."""
    g = Graph()
    b = Builder(g)
    image = b.input("x", kinds[0], x)
    zero, other = None, None
    if not isinstance(zeros, str):
        zero = b.constant(zeros)
    elif zeros != "none":
        zero = b.constant(integers(kinds[0])[()])
        other = b.constant(integers(kinds[1], w[0])) if zeros == "each" else b.constant(integers(kinds[1])[()])
    b.outputs(b.ConvInteger(image, b.constant(integers(kinds[1], *w)), zero, other, **attrs))
    return g


EVERYWHERE = ("3x3", "odd groups", "deep", "planes")
"""Forms that are tried at all widths."""


@pytest.mark.parametrize(
    ("form", "isa"), [(f, isa) for f in FORMS for isa in (widths() if f in EVERYWHERE else ["x86-64-v3"])]
)
def test_forms_are_exact_in_pairs(form: str, isa: str) -> None:
    if not Isa.of(isa).runs_here:
        pytest.skip("not on this machine")
    x, w, attrs = FORMS[form]
    g = convolution(x, w, ("uint8", "int8"), "one", **attrs)
    plan = check(g, [[integers("uint8", *x)]], tolerance=0, isa=isa)
    assert "conv.pairs" in kernels(plan)


@needs_dots
@pytest.mark.parametrize(
    ("form", "isa"), [(f, isa) for f in FORMS for isa in (dots() if f in EVERYWHERE else ["host", DOTS[0]])]
)
def test_forms_are_exact_in_quads(form: str, isa: str) -> None:
    x, w, attrs = FORMS[form]
    for kind in ("uint8", "int8"):
        g = convolution(x, w, (kind, "int8"), integers(kind), **attrs)
        plan = check(g, [[integers(kind, *x)]], tolerance=0, isa=isa)
        assert "conv.quads" in kernels(plan)


@pytest.mark.parametrize("isa", ["host", "x86-64-v3"])
@pytest.mark.parametrize("kinds", [("uint8", "int8"), ("int8", "uint8")])
@pytest.mark.parametrize("zeros", ["none", "one", "each"])
def test_channels_by_themselves_are_exact(kinds: tuple[str, str], zeros: str, isa: str) -> None:
    if not Isa.of(isa).runs_here:
        pytest.skip("not on this machine")
    for x, kernel, attrs in (
        ((2, 20, 9, 10), (3, 3), {"pads": [1, 1, 1, 1]}),
        ((1, 33, 30, 31), (5, 4), {"pads": [2, 1, 2, 2], "strides": [2, 1]}),
        ((1, 16, 11, 12), (3, 3), {"pads": [2, 3, 2, 3], "dilations": [2, 3]}),
    ):
        g = convolution(x, (x[1], 1, *kernel), kinds, zeros, group=x[1], **attrs)
        plan = check(g, [[integers(kinds[0], *x)]], tolerance=0, isa=isa)
        assert "depthwise.bytes" in kernels(plan)


@needs_dots
def test_zero_points_of_the_call() -> None:
    for form in ("1x1", "3x3"):
        x, w, attrs = FORMS[form]
        g = Graph()
        b = Builder(g)
        image, zero = b.input("x", "uint8", x), b.input("zero", "uint8", ())
        b.outputs(b.ConvInteger(image, b.constant(integers("int8", *w)), zero, **attrs))
        plan = check(g, [[integers("uint8", *x), integers("uint8")]], tolerance=0)
        assert "conv.quads" in kernels(plan)


@pytest.mark.parametrize("kinds", [("uint8", "uint8"), ("int8", "uint8"), ("int8", "int8")])
@pytest.mark.parametrize("zeros", ["none", "one", "each"])
def test_types_and_zero_points(kinds: tuple[str, str], zeros: str) -> None:
    """Weights that are no int8 less their zero points go by pairs."""
    x, w, attrs = FORMS["3x3"]
    check(convolution(x, w, kinds, zeros, **attrs), [[integers(kinds[0], *x)]], tolerance=0)


def test_extremes_do_not_overflow() -> None:
    """255 less 0 times 0 less 255, in every place."""
    g = Graph()
    b = Builder(g)
    x = b.input("x", "uint8", (1, 64, 4, 4))
    weights, most = b.constant(np.zeros((16, 64, 3, 3), np.uint8)), b.constant(np.uint8(255))
    b.outputs(b.ConvInteger(x, weights, b.constant(np.uint8(0)), most))
    check(g, [[np.full((1, 64, 4, 4), 255, np.uint8)]], tolerance=0)


@pytest.mark.parametrize("group", [8, 4])
def test_small_groups_and_weights_of_the_call(group: int) -> None:
    """By way of floats that hold all sums, as far as no kernel takes them."""
    g = convolution((1, 8, 9, 9), (8, 8 // group, 3, 3), ("uint8", "int8"), "one", group=group)
    check(g, [[integers("uint8", 1, 8, 9, 9)]], tolerance=0)
    g = Graph()
    b = Builder(g)
    x, w = b.input("x", "uint8", (1, 8, 9, 9)), b.input("w", "int8", (8, 8 // group, 3, 3))
    b.outputs(b.ConvInteger(x, w, None, None, group=group))
    check(g, [[integers("uint8", 1, 8, 9, 9), integers("int8", 8, 8 // group, 3, 3)]], tolerance=0)


def test_sizes_of_the_call() -> None:
    g = convolution((symbol("n", 0), 6, symbol("h", 3), 9), (20, 6, 3, 3), ("uint8", "int8"), "one", pads=[1, 1, 1, 1])
    check(g, [[integers("uint8", *shape)] for shape in ((1, 6, 9, 9), (3, 6, 4, 9), (0, 6, 3, 9))], tolerance=0)


def quantised(w: tuple[int, ...], along: bool, zero: bool = True, **attrs: Any) -> Graph:
    """DequantizeLinear of both, Conv with a bias, Relu."""
    g = Graph()
    b = Builder(g)
    x = b.input("x", "uint8", (2, w[1] * int(attrs.get("group", 1)), 9, 10))
    count = (w[0],) if along else ()
    scales = b.constant(RNG.uniform(0.01, 0.02, count).astype(np.float32))
    zeros = b.constant(integers("int8", *count)[()]) if zero else None
    weights = b.DequantizeLinear(b.constant(integers("int8", *w)), scales, zeros, axis=0)
    image = b.DequantizeLinear(x, b.constant(np.float32(0.03)), b.constant(np.uint8(131)))
    y = b.Conv(image, weights, b.constant(RNG.standard_normal(w[0]).astype(np.float32)), **attrs)
    b.outputs(b.Relu(y))
    return g


@pytest.mark.parametrize(("along", "zero"), [(True, False), (True, True), (False, True)])
def test_quantised_convolutions_are_computed_on_integers(along: bool, zero: bool) -> None:
    g = quantised((20, 16, 3, 3), along, zero, pads=[1, 1, 1, 1], strides=[2, 2])
    plan = check(g, [[integers("uint8", 2, 16, 9, 10)]])
    name = "conv.quads.fused" if has_dots(host()) and not zero else "conv.pairs.fused"
    assert name in kernels(plan)


def test_which_quantised_convolutions_stay_in_floats() -> None:
    filtered = quantised((32, 32, 3, 3), True, pads=[1, 1, 1, 1])
    assert not [name for name in kernels(plan_of(filtered, "x86-64-v3")) if "pairs" in name]
    assert "conv.pairs.fused" in kernels(plan_of(filtered, "x86-64-v3", precision="accuracy"))
    depthwise = quantised((32, 1, 3, 3), True, group=32)
    assert "depthwise.bytes.fused" in kernels(plan_of(depthwise))
    for g in (filtered, depthwise):
        check(g, [[integers("uint8", 2, 32, 9, 10)]])
