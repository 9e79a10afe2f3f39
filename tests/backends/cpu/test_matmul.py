"""Products on the native backend: every shape tail, element type, batch form and epilogue, at all vector widths."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from ge_core.ir import Builder, DType, Graph, symbol
from ge_core.passes import PassContext
from ge_core.passes.precision import StoreWeightsInBytes
from ge_core.plan.plan import KernelStep
from ge_core.reference.interpret import interpret
from tests.backends.cpu.native import check, kernels, widths
from tests.core.passes.compare import assert_close

RNG = np.random.default_rng(11)


def data(*shape: int, dtype: object = np.float32) -> np.ndarray:
    dtype = np.dtype(dtype)  # type: ignore[call-overload]
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return RNG.integers(max(info.min, -100), min(info.max, 100), shape, dtype)
    return RNG.standard_normal(shape).astype(dtype)


def product(
    a: tuple[int, ...], b: tuple[int, ...], dtype: object = np.float32, constant: bool = True
) -> tuple[Graph, list[np.ndarray]]:
    g = Graph()
    builder = Builder(g)
    name = DType.of(np.dtype(dtype)).name  # type: ignore[call-overload]
    x = builder.input("x", name, a)
    inputs = [data(*a, dtype=dtype)]
    if constant:
        w = builder.constant(data(*b, dtype=dtype))
    else:
        w = builder.input("w", name, b)
        inputs.append(data(*b, dtype=dtype))
    builder.outputs(builder.MatMul(x, w))
    return g, inputs


@pytest.mark.parametrize("isa", widths())
@pytest.mark.parametrize("m", [1, 2, 3, 4, 5, 6, 7, 11, 13, 24, 25, 49, 97])
def test_rows(isa: str, m: int) -> None:
    for n, k in ((16, 4), (40, 9)):
        check(*_calls(product((m, k), (k, n))), isa=isa)


@pytest.mark.parametrize("isa", widths())
@pytest.mark.parametrize("n", [1, 15, 16, 17, 33, 48, 64, 65, 80, 100, 129, 200])
def test_columns(isa: str, n: int) -> None:
    for m in (1, 3, 8):
        check(*_calls(product((m, 5), (5, n))), isa=isa)


def _calls(made: tuple[Graph, list[np.ndarray]]) -> tuple[Graph, list[list[np.ndarray]]]:
    return made[0], [made[1]]


@pytest.mark.parametrize("k", [0, 1, 2, 3, 4, 7, 8, 300])
def test_runs(k: int) -> None:
    for constant in (True, False):
        check(*_calls(product((7, k), (k, 20), constant=constant)))


@pytest.mark.parametrize("isa", widths())
@pytest.mark.parametrize("m, k, n", [(25, 1025, 70), (31, 2050, 33), (300, 1100, 130), (290, 3000, 16), (577, 1030, 5)])
def test_deep_runs(isa: str, m: int, k: int, n: int) -> None:
    graph, inputs = product((m, k), (k, n))
    check(graph, [inputs], isa=isa, tolerance=1e-5)


def test_deep_runs_of_integers() -> None:
    check(*_calls(product((40, 1500), (1500, 70), dtype=np.int8)))


@pytest.mark.parametrize("a, b", [((0, 4), (4, 5)), ((3, 4), (4, 0)), ((2, 0, 4), (4, 5)), ((0, 3, 4), (0, 4, 5))])
def test_nothing_to_do(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    for constant in (True, False):
        check(*_calls(product(a, b, constant=constant)))


TYPES: dict[str, tuple[object, float]] = {
    "float32": (np.float32, 2e-6),
    "float64": (np.float64, 1e-14),
    "float16": (np.float16, 1e-3),
    "bfloat16": (ml_dtypes.bfloat16, 8e-3),
    "int8": (np.int8, 0),
    "uint8": (np.uint8, 0),
    "int16": (np.int16, 0),
    "uint16": (np.uint16, 0),
    "int32": (np.int32, 0),
    "uint32": (np.uint32, 0),
    "int64": (np.int64, 0),
    "uint64": (np.uint64, 0),
}


@pytest.mark.parametrize("isa", widths())
@pytest.mark.parametrize("name", TYPES)
def test_element_types(isa: str, name: str) -> None:
    dtype, tolerance = TYPES[name]
    for m, n, k in ((1, 20, 37), (9, 35, 21)):
        for constant in (True, False):
            check(*_calls(product((m, k), (k, n), dtype, constant)), tolerance=tolerance, isa=isa)


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize(
    "a, b",
    [
        ((4,), (4,)),
        ((4,), (4, 5)),
        ((3, 4), (4,)),
        ((2, 3, 4), (4,)),
        ((4,), (2, 4, 5)),
        ((2, 3, 4), (4, 5)),
        ((2, 3, 4), (2, 4, 5)),
        ((2, 3, 4), (1, 4, 5)),
        ((1, 3, 4), (2, 4, 5)),
        ((2, 1, 3, 4), (5, 4, 6)),
        ((2, 5, 3, 4), (2, 1, 4, 6)),
        ((3, 4), (2, 2, 4, 5)),
        ((2, 1, 2, 3, 4), (2, 3, 1, 4, 5)),
        ((20, 30, 4), (20, 4, 5)),
        ((2, 40, 17), (17, 19)),
    ],
)
def test_batches(a: tuple[int, ...], b: tuple[int, ...], constant: bool) -> None:
    check(*_calls(product(a, b, constant=constant)))


def test_integers_wrap() -> None:
    g = Graph()
    b = Builder(g)
    x, y = b.input("x", "int8", (3, 50)), b.input("y", "int8", (50, 7))
    b.outputs(b.MatMul(x, y))
    check(g, [[np.full((3, 50), -128, np.int8), np.full((50, 7), 127, np.int8)]], tolerance=0)
    g = Graph()
    b = Builder(g)
    x, y = b.input("x", "int64", (2, 3)), b.input("y", "int64", (3, 2))
    b.outputs(b.MatMul(x, y))
    check(g, [[np.full((2, 3), 2**62, np.int64), np.full((3, 2), 7, np.int64)]], tolerance=0)


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_special_values_stay_in_their_row_and_column(special: float) -> None:
    a, b = data(7, 6), data(6, 18)
    a[2, 3], b[4, 17] = special, special
    g = Graph()
    builder = Builder(g)
    builder.outputs(builder.MatMul(builder.input("a", "float32", (7, 6)), builder.input("b", "float32", (6, 18))))
    check(g, [[a, b]])


@pytest.mark.parametrize("isa", widths())
def test_sizes_of_the_call(isa: str) -> None:
    m, k, n = symbol("m", 0), symbol("k", 0), symbol("n", 0)
    g = Graph()
    b = Builder(g)
    x, y, w = b.input("x", "float32", (m, k)), b.input("y", "float32", (k, n)), b.constant(data(12, 50))
    b.outputs(b.MatMul(x, y), b.MatMul(b.input("z", "float32", (m, 12)), w))
    calls = []
    few, many = ((1, 3, 5), (3, 3, 3), (4, 2, 1), (2, 9, 70)), ((30, 4, 16), (150, 6, 33))
    for sizes in (*few, *many, (5, 0, 3), (0, 2, 2), (7, 2, 0)):
        calls.append([data(sizes[0], sizes[1]), data(sizes[1], sizes[2]), data(sizes[0], 12)])
    check(g, calls, isa=isa)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
@pytest.mark.parametrize("added", [None, (6, 9), (9,), (1, 9), (6, 1), (1,), ()])
def test_gemm(added: tuple[int, ...] | None, dtype: str) -> None:
    kind = np.dtype(dtype)
    for trans_a, trans_b, alpha, beta in ((0, 0, 1.0, 1.0), (1, 0, 2.0, 1.0), (0, 1, 1.0, 3.0), (1, 1, -1.0, 0.0)):
        g = Graph()
        b = Builder(g)
        x = b.input("x", dtype, (5, 6) if trans_a else (6, 5))
        w = b.constant(data(*((9, 5) if trans_b else (5, 9)), dtype=kind))
        operands = [x, w]
        inputs = [data(*((5, 6) if trans_a else (6, 5)), dtype=kind)]
        if added is not None:
            operands.append(b.input("c", dtype, added))
            inputs.append(data(*added, dtype=kind))
        b.outputs(b.Gemm(*operands, transA=trans_a, transB=trans_b, alpha=alpha, beta=beta))
        check(g, [inputs], tolerance={"float32": 2e-6, "float16": 1e-3, "int32": 0}[dtype])


def test_dynamic_transposes() -> None:
    for shape_a, shape_b in (((70, 45), (33, 70)), ((17, 100), (100, 17))):
        g = Graph()
        b = Builder(g)
        x, y = b.input("x", "float32", shape_a), b.input("y", "float32", shape_b)
        same = shape_a[0] == shape_b[1]
        b.outputs(b.Gemm(x, y, transA=1, transB=1) if same else b.Gemm(y, x, transA=1, transB=1))
        check(g, [[data(*shape_a), data(*shape_b)]])


@pytest.mark.parametrize("isa", widths())
def test_epilogues_are_fused(isa: str) -> None:
    g = Graph()
    b = Builder(g)
    x, r = b.input("x", "float32", (3, 10, 12)), b.input("r", "float32", (3, 10, 37))
    scale, bias = b.constant(data(37)), b.constant(data(37))
    row = b.input("row", "float32", (3, 10, 1))
    y = b.Add(b.Mul(b.MatMul(x, b.constant(data(12, 37))), scale), bias)
    y = b.Mul(b.Gelu(b.Add(y, r)), row)
    b.outputs(b.Clip(b.Sub(b.Mul(y, b.Sigmoid(y)), 0.25), -0.5, 3.0))
    plan = check(g, [[data(3, 10, 12), data(3, 10, 37), data(3, 10, 1)]], isa=isa)
    assert kernels(plan) == ["product.float32.fused"]


def test_a_result_that_others_read_is_stored_as_well() -> None:
    g = Graph()
    b = Builder(g)
    x = b.input("x", "float32", (30, 12))
    y = b.MatMul(x, b.constant(data(12, 20)))
    z = b.Relu(b.Add(y, b.constant(data(20))))
    b.outputs(y, z, b.Cast(z, to="float16"), b.Greater(y, 0.0))
    plan = check(g, [[data(30, 12)]], tolerance=1e-3)
    assert kernels(plan) == ["product.float32.fused"]


def test_residual_in_place() -> None:
    g = Graph()
    b = Builder(g)
    x = b.input("x", "float32", (30, 20))
    y = b.Add(b.MatMul(x, b.constant(data(20, 20))), b.constant(data(20)))
    z = b.Add(b.MatMul(y, b.constant(data(20, 20))), b.Tanh(y))
    b.outputs(b.MatMul(z, b.constant(data(20, 20))))
    plan = check(g, [[data(30, 20)]])
    assert all(isinstance(step, KernelStep) for step in plan.steps)


def test_half_weights_are_read_where_they_lie() -> None:
    g = Graph()
    b = Builder(g)
    x, w = b.input("x", "float32", (5, 64)), b.constant(data(64, 48, dtype=np.float16))
    b.outputs(b.Relu(b.MatMul(x, b.Cast(w, to="float32"))))
    plan = check(g, [[data(5, 64)]])
    assert kernels(plan) == ["product.float32.fused"]


@pytest.mark.parametrize("isa", widths())
@pytest.mark.parametrize("m, k, n", [(1, 37, 50), (2, 64, 48), (3, 5, 130), (4, 130, 17), (30, 1100, 70)])
def test_byte_weights_are_read_where_they_lie(isa: str, m: int, k: int, n: int) -> None:
    g = Graph()
    b = Builder(g)
    x, r = b.input("x", "float32", (m, k)), b.input("r", "float32", (m, n))
    q, s = b.constant(RNG.integers(-128, 128, (k, n), np.int8)), b.constant(data(n))
    b.outputs(b.Add(b.Mul(b.MatMul(x, b.Cast(q, to="float32")), s), r))
    plan = check(g, [[data(m, k), data(m, n)], [np.full((m, k), np.nan, np.float32), data(m, n)]], isa=isa)
    assert kernels(plan) == ["product.float32.fused"]


@pytest.mark.parametrize("transposed", [False, True])
def test_speed_reads_bytes(transposed: bool) -> None:
    g = Graph()
    b = Builder(g)
    x, r = b.input("x", "float32", (1, 600)), b.input("r", "float32", (1, 500))
    w = data(500, 600) if transposed else data(600, 500)
    b.outputs(b.Relu(b.Gemm(x, b.constant(w), r, transB=int(transposed))))
    inputs = [data(1, 600), data(1, 500)]
    (want,), _ = interpret(g, inputs)
    StoreWeightsInBytes()(g, PassContext(precision="speed"))
    assert_close(interpret(g, inputs)[0], [want], 0.02)
    plan = check(g, [inputs], precision="speed")
    assert kernels(plan) == ["product.float32.fused"]
    assert any(v.dtype.name == "int8" for v in plan.graph.constants)
