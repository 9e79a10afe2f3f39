"""Products of bytes by dot products: exact on all instruction sets, in tiles, in vectors and widened."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ge_backend_cpu.contract.dot import has_dots
from ge_backend_cpu.contract.quads import fits
from ge_backend_cpu.contract.span import TILES
from ge_backend_cpu.isa import Isa, host
from ge_core.ir import Builder, Graph, symbol
from ge_core.ir.constant import Constant
from ge_core.ir.dtype import DType
from ge_core.ir.types import TensorType
from ge_core.plan.plan import KernelStep
from tests.backends.cpu.native import DOTS, WIDTHS, check, dots, kernels, plan_of

RNG = np.random.default_rng(41)
PLANNED = DOTS[0]
"""What plans are made for that code without dot products runs."""
needs_dots = pytest.mark.skipif(not has_dots(host()), reason="this machine has no dot products of bytes")


def data(name: str, *shape: int) -> np.ndarray:
    """Numbers of the whole range, a third of them at its ends."""
    info = np.iinfo(name)
    found = RNG.integers(info.min, info.max + 1, shape, np.dtype(name))
    ends = RNG.choice(np.array([info.min, info.max], np.dtype(name)), shape)
    return np.asarray(np.where(RNG.random(shape) < 1 / 3, ends, found), np.dtype(name))


def product(shapes: tuple[int, int, int], types: tuple[str, str], constant: bool, zeros: Any = ()) -> tuple[Graph, Any]:
    """MatMulInteger and its inputs. Args: zeros: shapes of the zero points; those of the call for the left one."""
    m, k, n = shapes
    g = Graph()
    b = Builder(g)
    x, inputs = b.input("x", types[0], (m, k)), [data(types[0], m, k)]
    if constant:
        w = b.constant(data(types[1], k, n))
    else:
        w = b.input("w", types[1], (k, n))
        inputs.append(data(types[1], k, n))
    points: list[Any] = []
    if zeros:
        points.append(b.input("zero", types[0], zeros[0]))
        inputs.append(data(types[0], *zeros[0]))
        points.append(b.constant(np.zeros(zeros[1], types[1])))
    b.outputs(b.MatMulInteger(x, w, *points))
    return g, inputs


SHAPES = [
    (1, 37, 20),
    (9, 64, 35),
    (3, 1, 16),
    (40, 2, 17),
    (2, 0, 5),
    (0, 8, 8),
    (5, 8, 0),
    (33, 132, 65),
    (70, 260, 31),
]


@needs_dots
@pytest.mark.parametrize("isa", dots())
@pytest.mark.parametrize(("left", "constant"), [("uint8", True), ("int8", False)])
def test_products(left: str, constant: bool, isa: str) -> None:
    for i, shapes in enumerate(SHAPES):
        g, inputs = product(shapes, (left, "int8"), constant, ((), ((), ()), ((1,), (shapes[2],)))[i % 3])
        plan = check(g, [inputs], tolerance=0, isa=isa)
        assert kernels(plan) == ["product.quads"]


@needs_dots
@pytest.mark.parametrize("code", WIDTHS)
def test_widened_where_there_are_no_dot_products(code: str) -> None:
    if not Isa.of(code).runs_here:
        pytest.skip("not on this machine")
    for shapes in ((1, 37, 20), (40, 132, 65)):
        g, inputs = product(shapes, ("uint8", "int8"), True, ((), ()))
        check(g, [inputs], tolerance=0, isa=PLANNED, code=code)


@needs_dots
@pytest.mark.parametrize("isa", dots())
def test_sums_wrap_and_nothing_saturates_before(isa: str) -> None:
    for w in (127, -128):
        g = Graph()
        b = Builder(g)
        x = b.input("x", "uint8", (2, 70_000))
        b.outputs(b.MatMulInteger(x, b.constant(np.full((70_000, 3), w, np.int8))))
        check(g, [[np.full((2, 70_000), 255, np.uint8)]], tolerance=0, isa=isa)
    g = Graph()
    b = Builder(g)
    b.outputs(b.MatMulInteger(b.input("x", "uint8", (40, 64)), b.constant(np.full((64, 20), -128, np.int8))))
    check(g, [[np.full((40, 64), 255, np.uint8)]], tolerance=0, isa=isa)


@needs_dots
def test_uint8_weights_near_their_zero_points() -> None:
    """Those whose differences are int8 go by dot products, others by pairs."""
    for low, high, name in ((100, 220, "product.quads"), (0, 255, "product.pairs")):
        g = Graph()
        b = Builder(g)
        zeros = RNG.integers(max(low, 110), 130, 24).astype(np.uint8)
        w = RNG.integers(low, high, (40, 24), endpoint=True).astype(np.uint8)
        w[0] = low
        w[1] = high
        b.outputs(b.MatMulInteger(b.input("x", "uint8", (9, 40)), b.constant(w), None, b.constant(zeros)))
        assert kernels(check(g, [[data("uint8", 9, 40)]], tolerance=0)) == [name]


@needs_dots
@pytest.mark.parametrize("isa", ["host", PLANNED])
def test_batches(isa: str) -> None:
    """One right operand for all, one for each, and one that broadcasts."""
    for left, right in (
        ((3, 5, 12), (12, 20)),
        ((2, 3, 17, 30), (3, 30, 20)),
        ((2, 1, 9, 8), (3, 8, 33)),
        ((4,), (4, 5)),
    ):
        for constant in (True, False):
            g = Graph()
            b = Builder(g)
            x, values = b.input("x", "uint8", left), [data("uint8", *left)]
            w: Any = b.constant(data("int8", *right))
            if not constant:
                w = b.input("w", "int8", right)
                values.append(data("int8", *right))
            b.outputs(b.MatMulInteger(x, w, b.constant(np.uint8(77))))
            check(g, [values], tolerance=0, isa=isa)


@needs_dots
@pytest.mark.parametrize("isa", ["host", PLANNED])
def test_sizes_of_the_call(isa: str) -> None:
    g = Graph()
    b = Builder(g)
    x = b.input("x", "uint8", (symbol("m", 0), symbol("k", 0)))
    b.outputs(b.MatMulInteger(x, b.input("w", "int8", (symbol("k", 0), symbol("n", 0))), b.constant(np.uint8(3))))
    calls = [[data("uint8", m, k), data("int8", k, n)] for m, k, n in ((1, 5, 3), (40, 64, 40), (0, 4, 4), (3, 0, 2))]
    check(g, calls, tolerance=0, isa=isa)
    g = Graph()
    b = Builder(g)
    x = b.input("x", "int8", (symbol("m", 0), 64))
    b.outputs(b.MatMulInteger(x, b.constant(data("int8", 64, 40))))
    check(g, [[data("int8", m, 64)] for m in (0, 1, 7, 50)], tolerance=0, isa=isa)


@needs_dots
@pytest.mark.parametrize("isa", dots())
@pytest.mark.parametrize("kind", ["uint8", "int8"])
def test_quantising_rounds_as_division_does(kind: str, isa: str) -> None:
    """All sums of one product, many of them halfway between two results; scales that are known, and of the call."""
    x = np.arange(256, dtype=np.uint8).reshape(-1, 1)
    w = np.arange(-128, 128, dtype=np.int8).reshape(1, -1)
    for factor, scale, zero in (
        (0.25, 64.0, 3),
        (0.0371, 7.3, 128),
        (1e-9, 3e-7, 200),
    ):
        for known in (True, False):
            g = Graph()
            b = Builder(g)
            sums = b.Cast(b.MatMulInteger(b.input("x", "uint8", (256, 1)), b.constant(w)), to="float32")
            inputs: list[Any] = [x]
            size: Any = b.constant(np.float32(scale))
            if not known:
                size = b.input("scale", "float32", ())
                inputs.append(np.array(scale, np.float32))
            point = np.array(zero - (128 if kind == "int8" else 0), kind)
            b.outputs(b.QuantizeLinear(b.Mul(sums, b.constant(np.float32(factor))), size, b.constant(point)))
            assert kernels(check(g, [inputs], tolerance=0, isa=isa)) == ["product.quads.fused"]


@needs_dots
def test_values_that_are_no_numbers_quantise_to_zero() -> None:
    g = Graph()
    b = Builder(g)
    sums = b.Cast(b.MatMulInteger(b.input("x", "uint8", (3, 4)), b.constant(data("int8", 4, 5))), to="float32")
    added = np.array([np.nan, np.inf, -np.inf, 1e30, 0], np.float32)
    b.outputs(b.QuantizeLinear(b.Add(sums, b.constant(added)), b.constant(np.float32(0.5)), b.constant(np.uint8(9))))
    assert kernels(check(g, [[data("uint8", 3, 4)]], tolerance=0)) == ["product.quads.fused"]


def test_tiles_are_used_where_the_machine_has_them() -> None:
    if not host().has(TILES):
        pytest.skip("this machine has no tile registers")
    from ge_backend_cpu.contract.product import Product
    from ge_backend_cpu.contract.span import uses_tiles

    found = []
    for rows in (1, 40):
        g, _ = product((rows, 64, 32), ("uint8", "int8"), True)
        (step,) = plan_of(g).steps
        assert isinstance(step, KernelStep)
        (launch,) = step.data["launches"]
        found.append(uses_tiles(Product.from_json(launch["parameters"]), host()))
    assert found == [False, True]


def residual(kind: str, channels: int = 32) -> tuple[Graph, list[Any]]:
    """Three quantised convolutions, the last one's result added to the first one's and quantised again."""
    g = Graph()
    b = Builder(g)
    low = 128 if kind == "int8" else 0

    def point(x: int) -> Any:
        return b.constant(np.array(x - low, kind))

    def dequantised(q: Any, scale: float, zero: int) -> Any:
        return b.DequantizeLinear(q, b.constant(np.float32(scale)), point(zero))

    def convolution(x: Any, size: int) -> Any:
        w = b.constant(RNG.integers(-127, 128, (channels, channels, size, size)).astype(np.int8))
        scales = b.constant(RNG.uniform(0.001, 0.002, channels).astype(np.float32))
        weights = b.DequantizeLinear(w, scales, b.constant(np.zeros(channels, np.int8)), axis=0)
        bias = b.constant(RNG.standard_normal(channels).astype(np.float32))
        return b.Conv(x, weights, bias, pads=[size // 2] * 4)

    x = b.input("x", "float32", (1, channels, 9, 10))
    q = b.QuantizeLinear(x, b.constant(np.float32(0.03)), point(121))
    q = b.QuantizeLinear(convolution(dequantised(q, 0.03, 121), 1), b.constant(np.float32(0.03)), point(121))
    first = b.Relu(convolution(dequantised(q, 0.03, 121), 1))
    y = b.QuantizeLinear(first, b.constant(np.float32(0.05)), point(0))
    y = b.QuantizeLinear(convolution(dequantised(y, 0.05, 0), 3), b.constant(np.float32(0.07)), point(130))
    total = b.Add(dequantised(y, 0.07, 130), dequantised(q, 0.03, 121))
    b.outputs(b.QuantizeLinear(b.Relu(total), b.constant(np.float32(0.04)), point(3)))
    return g, [RNG.standard_normal((1, channels, 9, 10)).astype(np.float32)]


@needs_dots
@pytest.mark.parametrize("isa", ["host", PLANNED])
@pytest.mark.parametrize("kind", ["uint8", "int8"])
def test_layers_hand_bytes_to_each_other(kind: str, isa: str) -> None:
    """Whole numbers, one apart at most: the sums of floats are rounded, those of integers are not."""
    g, inputs = residual(kind)
    plan = check(g, [inputs], tolerance=1 / 128, isa=isa)
    assert [name for name in kernels(plan) if "elayout" not in name] == [
        "loops.QuantizeLinear",
        *["conv.quads.fused"] * 3,
    ]


@needs_dots
def test_what_moves_bytes_moves_them_as_they_are() -> None:
    g = Graph()
    b = Builder(g)
    scale, zero = b.constant(np.float32(0.1)), b.constant(np.int8(-5))
    q = b.QuantizeLinear(b.input("x", "float32", (2, 8, 7, 7)), scale, zero)
    y = b.MaxPool(b.DequantizeLinear(q, scale, zero), kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    y = b.Transpose(b.DequantizeLinear(b.QuantizeLinear(y, scale, zero), scale, zero), perm=[0, 2, 3, 1])
    b.outputs(b.DequantizeLinear(b.QuantizeLinear(y, scale, zero), scale, zero))
    plan = check(g, [[RNG.standard_normal((2, 8, 7, 7)).astype(np.float32) * 20]], tolerance=0)
    pools = [n for n in plan.graph.nodes if n.op == "MaxPool"]
    assert [n.output.dtype.name for n in pools] == ["uint8"]


@needs_dots
def test_products_of_transposed_weights() -> None:
    g = Graph()
    b = Builder(g)
    x = b.DequantizeLinear(b.input("x", "uint8", (3, 40)), b.constant(np.float32(0.1)), b.constant(np.uint8(9)))
    scales, zeros = b.constant(RNG.random(20).astype(np.float32)), b.constant(np.zeros(20, np.int8))
    w = b.DequantizeLinear(b.constant(data("int8", 20, 40)), scales, zeros, axis=0)
    b.outputs(
        b.Gemm(x, w, b.constant(RNG.standard_normal(20).astype(np.float32)), transB=1), b.MatMul(x, b.Transpose(w))
    )
    plan = check(g, [[data("uint8", 3, 40)]])
    assert kernels(plan) == ["product.quads.fused"] * 2


@needs_dots
def test_operators_on_quantised_operands() -> None:
    """QLinearConv and QLinearMatMul as nodes: the exact sums, scaled in float64."""
    g = Graph()
    b = Builder(g)
    x, w = b.input("x", "uint8", (1, 8, 6, 7)), b.constant(data("int8", 20, 8, 3, 3))
    scales, zeros = b.constant(RNG.uniform(0.001, 0.002, 20).astype(np.float32)), b.constant(np.zeros(20, np.int8))
    bias = b.constant(RNG.integers(-9999, 9999, 20).astype(np.int32))
    x_scale, x_zero = b.constant(np.float32(0.02)), b.constant(np.uint8(120))
    y_scale, y_zero = b.constant(np.float32(0.25)), b.constant(np.uint8(128))
    b.outputs(b.QLinearConv(x, x_scale, x_zero, w, scales, zeros, y_scale, y_zero, bias, pads=[1] * 4))
    plan = check(g, [[data("uint8", 1, 8, 6, 7)]], tolerance=0)
    assert [name for name in kernels(plan) if "elayout" not in name] == ["conv.quads.fused"]
    g = Graph()
    b = Builder(g)
    a, scale = b.input("a", "uint8", (5, 40)), b.constant(np.float32(0.5))
    w, zero = b.constant(data("int8", 40, 20)), b.constant(np.int8(0))
    size, point = b.constant(np.float32(96.0)), b.constant(np.int8(-3))
    b.outputs(b.QLinearMatMul(a, scale, b.constant(np.uint8(3)), w, b.constant(np.float32(0.25)), zero, size, point))
    plan = check(g, [[data("uint8", 5, 40)]], tolerance=0)
    assert kernels(plan) == ["product.quads.fused"]


@pytest.mark.parametrize("isa", ["host", "x86-64-v3"])
def test_images_of_bytes_are_transposed(isa: str) -> None:
    if not Isa.of(isa).runs_here:
        pytest.skip("not on this machine")
    for shape in ((2, 17, 19, 33), (1, 64, 16, 16), (3, 3, 5, 7), (0, 16, 8, 8), (2, 40, 50)):
        g = Graph()
        b = Builder(g)
        b.outputs(b.MaxPool(b.input("x", "int8", shape), kernel_shape=[2] * (len(shape) - 2)))
        plan = check(g, [[data("int8", *shape)]], tolerance=0, isa=isa)
        assert kernels(plan) == ["relayout.bytes", "pool.max", "relayout.bytes"]


@pytest.mark.parametrize("isa", ["aarch64", "aarch64+dotprod", "x86-64-v3", "x86-64-v4+amx-int8+avx512vnni"])
def test_code_for_other_machines(isa: str) -> None:
    """Encoded, not run: `sdot` and the tile instructions come up where they are meant to."""
    from ge_backend_cpu.emit import new_module
    from ge_backend_cpu.generate import assembly
    from ge_backend_cpu.kernel import Kernel, generator

    g, _ = product((40, 64, 32), ("uint8", "int8"), True, ((), ()))
    (step,) = plan_of(g, "x86-64-v4+avx512vnni").steps
    assert isinstance(step, KernelStep)
    (launch,) = step.data["launches"]
    kernel, level = Kernel(launch["family"], launch["parameters"]), Isa.of(isa)
    module = new_module(level)
    generator(kernel.family)(module, kernel.symbol, kernel.parameters, level)
    text = assembly(str(module), level, lean=True)
    assert ("sdot" in text) == level.has("dotprod")
    assert ("tdpbusd" in text) == level.has(TILES)


@needs_dots
@pytest.mark.parametrize("isa", ["host", PLANNED, "x86-64-v3+avxvnni"])
@pytest.mark.parametrize(("channels", "size"), [(20, 9), (64, 13)])
def test_epilogues_of_integer_layers_are_exact(channels: int, size: int, isa: str) -> None:
    """Sums, scales, bias, two quantisations and a residual: the interpreter's numbers bit for bit."""
    if not Isa.of(isa).runs_here:
        pytest.skip("not on this machine")
    g = Graph()
    b = Builder(g)
    x, r = b.input("x", "uint8", (1, 16, size, size)), b.input("r", "uint8", (1, channels, size, size))
    sums = b.ConvInteger(x, b.constant(data("int8", channels, 16, 3, 3)), b.constant(np.uint8(117)), pads=[1] * 4)
    scale = b.constant(RNG.uniform(0.0005, 0.002, (channels, 1, 1)).astype(np.float32))
    bias = b.constant(RNG.standard_normal((channels, 1, 1)).astype(np.float32))
    y = b.Relu(b.Add(b.Mul(b.Cast(sums, to="float32"), scale), bias))
    step, zero = b.constant(np.float32(0.37)), b.constant(np.uint8(21))
    y = b.DequantizeLinear(b.QuantizeLinear(y, step, zero), step, zero)
    other = b.DequantizeLinear(r, b.constant(np.float32(0.41)), b.constant(np.uint8(130)))
    b.outputs(b.QuantizeLinear(b.Add(y, other), b.constant(np.float32(0.53)), b.constant(np.uint8(64))))
    plan = check(g, [[data("uint8", 1, 16, size, size), data("uint8", 1, channels, size, size)]], tolerance=0, isa=isa)
    assert [name for name in kernels(plan) if "elayout" not in name] == ["conv.quads.fused"]


@pytest.mark.parametrize(("kind", "zero", "fit"), [("int8", 0, True), ("uint8", 128, True), ("uint8", 3, False)])
def test_absent_weights_are_judged_unread(kind: str, zero: int, fit: bool) -> None:
    def unread() -> Any:
        raise AssertionError("absent weights were read")

    weights = Constant(TensorType(DType.of(kind), (4, 4)), unread, "w", "absent")
    assert fits(weights, Constant.of(np.array(zero, kind), DType.of(kind))) is fit
