"""Loop nests: operators against the reference at every width, groups, shapes, statuses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from ge_backend_cpu.backend import CpuBackend
from ge_backend_cpu.implementations import may_join
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import INDEX_OUT_OF_RANGE, OK
from ge_backend_cpu.loops.lower import Lowered, lower
from ge_backend_cpu.loops.part import Part
from ge_core.backend import Group, Refusal
from ge_core.errors import DivisionByZeroError, IndexRangeError
from ge_core.ir import Builder, DType, Graph, Value, dims, symbol
from ge_core.plan.plan import KernelStep
from ge_core.plan.states import StateStore
from ge_core.reference.interpret import interpret
from tests.backends.cpu.calling import call
from tests.backends.cpu.native import check as check_native
from tests.backends.cpu.native import widths
from tests.backends.cpu.vehicle import executable, planned
from tests.core.ops.onnx_cases import assert_close

WIDTHS = ["host", "x86-64-v3", "x86-64-v3/4"]
RNG = np.random.default_rng(3)
Make = Callable[..., Any]


def data(*shape: int, dtype: str = "float32") -> np.ndarray:
    kind = DType.of(dtype)
    if kind.kind == "bool":
        return RNG.random(shape) < 0.5
    values = RNG.standard_normal(shape) * (1 if kind.is_float else 40)
    return (np.abs(values) if kind.kind == "uint" else values).astype(kind.numpy)


def launch(lowered: Lowered, arrays: Sequence[np.ndarray], outputs: Sequence[np.ndarray], isa: str) -> int:
    """Run the launches of a part; each in two ranges of work items, so that both halves are right alone."""
    for found in lowered.launches:
        operands = [(arrays if o.kind == "in" else outputs)[o.index] for o in found.operands]
        params = [dims.evaluate(p, {}) for p in found.params]
        extent = dims.evaluate(found.extent, {})
        for lo, hi in ((0, extent // 2), (extent // 2, extent)):
            if lo < hi:
                status = call(found.kernel, Isa.of(isa), operands, params, lo, hi)
                if status != OK:
                    return status
    return OK


def check(make: Make, *arrays: Any, isa: str = "host") -> None:
    """Lower a graph with one nest or more and compare it with the reference."""
    graph = Graph()
    b = Builder(graph)
    given = [np.asarray(a) for a in arrays]
    made = make(b, *[b.input(f"x{i}", DType.of(a.dtype), a.shape) for i, a in enumerate(given)])
    outputs: tuple[Value, ...] = made if isinstance(made, tuple) else (made,)
    b.outputs(*outputs)
    wanted, _ = interpret(graph, given)
    constants = list(graph.constants)
    part = Part(tuple(graph.nodes), (*graph.inputs, *constants), outputs)
    sources = [*given, *(v.constant.array() for v in constants if v.constant is not None)]
    found = [np.zeros(w.shape, w.dtype) for w in wanted]
    assert launch(lower(part), sources, found, isa) == OK
    for actual, expected in zip(found, wanted, strict=True):
        assert_close(actual, expected)


CASES: dict[str, tuple[Make, Sequence[Any]]] = {
    "broadcast": (lambda b, x, y: b.Relu(b.Add(x, y)), [data(3, 5, 37), data(5, 1)]),
    "scalar": (lambda b, x: b.Mul(x, 0.3), [data(77)]),
    "known powers": (
        lambda b, x: tuple(b.Pow(x, e) for e in (0.5, -0.5, 2.0, 3.0, 4.0, -1.0)),
        [np.array([0.0, -0.0, 1, 4, 0.3, -2, np.inf, -np.inf, np.nan, 1e-39, 3e38] * 3, np.float32)],
    ),
    "rank 0": (lambda b, x, y: b.Add(x, y), [data(), data()]),
    "empty": (lambda b, x, y: b.Add(x, y), [data(3, 0, 2), data(2)]),
    "gelu": (lambda b, x: b.Gelu(x), [data(4, 33)]),
    "softmax": (lambda b, x: b.Softmax(x), [data(7, 37)]),
    "softmax of channels": (lambda b, x: b.Softmax(x, axis=1), [data(2, 5, 3, 19)]),
    "log softmax": (lambda b, x: b.LogSoftmax(x, axis=0), [data(9, 21)]),
    "layer norm": (lambda b, x, s, c: b.LayerNormalization(x, s, c, num_outputs=3), [data(6, 70), data(70), data(70)]),
    "rms norm": (lambda b, x, s: b.RMSNormalization(x, s), [data(3, 4, 64), data(64)]),
    "group norm": (
        lambda b, x, s, c: b.GroupNormalization(x, s, c, num_groups=3), [data(2, 6, 5, 7), data(6), data(6)]
    ),
    "instance norm": (lambda b, x, s, c: b.InstanceNormalization(x, s, c), [data(2, 3, 5, 7), data(3), data(3)]),
    "lrn": (lambda b, x: b.LRN(x, size=3), [data(2, 7, 3, 5)]),
    "norm with what stands around it": (
        lambda b, x, y, s: b.Mul(b.LayerNormalization(b.Add(x, y), s), 0.5), [data(5, 40), data(40), data(40)]
    ),
    "norm, gelu, softmax": (
        lambda b, x, s: b.Softmax(b.Add(b.Gelu(b.LayerNormalization(x, s)), x)), [data(5, 40), data(40)]
    ),
    "sum and mean of last": (lambda b, x: (b.ReduceSum(x, b.ints(2)), b.ReduceMean(x, b.ints(2))), [data(3, 4, 137)]),
    "mean of middle": (lambda b, x: b.ReduceMean(x, b.ints(1), keepdims=0), [data(3, 40, 37)]),
    "max of first and last": (lambda b, x: b.ReduceMax(x, b.ints(0, 2)), [data(3, 4, 37)]),
    "sum of all": (lambda b, x: b.ReduceSum(x, b.ints(0, 1)), [data(30, 41)]),
    "log sum exp": (lambda b, x: b.ReduceLogSumExp(x, b.ints(1)), [data(5, 37)]),
    "arg max": (lambda b, x: b.ArgMax(x, axis=1), [data(5, 83)]),
    "arg min of first, last place": (
        lambda b, x: b.ArgMin(x, axis=0, select_last_index=1), [data(9, 40).round().astype(np.float32)]
    ),
    "transpose": (lambda b, x: b.Transpose(x, perm=[1, 0]), [data(70, 91)]),
    "transpose bytes": (lambda b, x: b.Transpose(x, perm=[1, 0]), [data(70, 91, dtype="uint8")]),
    "transpose and add": (
        lambda b, x, y: b.Relu(b.Add(b.Transpose(x, perm=[0, 2, 1]), y)), [data(2, 20, 35), data(20)]
    ),
    "heads": (lambda b, x: b.Transpose(b.Reshape(x, b.ints(2, 9, 4, 8)), perm=[0, 2, 1, 3]), [data(2, 9, 32)]),
    "merged heads": (lambda b, x: b.Reshape(b.Transpose(x, perm=[0, 2, 1, 3]), b.ints(2, 9, 32)), [data(2, 4, 9, 8)]),
    "slice": (lambda b, x: b.Slice(x, b.ints(-1, 2), b.ints(-100, 40), b.ints(0, 1), b.ints(-2, 3)), [data(10, 45)]),
    "concat": (lambda b, x, y: b.Concat(b.Neg(x), y, axis=1), [data(3, 4, 5), data(3, 2, 5)]),
    "rotated halves": (
        lambda b, x: b.Concat(
            b.Neg(b.Slice(x, b.ints(8), b.ints(16), b.ints(1))), b.Slice(x, b.ints(0), b.ints(8), b.ints(1)), axis=1
        ),
        [data(5, 16)],
    ),
    "sum of a concat": (lambda b, x, y: b.ReduceSum(b.Concat(x, y, axis=1), b.ints(1)), [data(3, 4), data(3, 30)]),
    "pad": (lambda b, x: b.Pad(x, b.ints(0, 1, 2, 0, 2, 3)), [data(2, 5, 7)]),
    "reflect": (lambda b, x: b.Pad(x, b.ints(0, 4, 0, 3), mode="reflect"), [data(2, 6)]),
    "wrap": (lambda b, x: b.Pad(x, b.ints(0, 7, 0, 9), mode="wrap"), [data(3, 4)]),
    "tile": (lambda b, x: b.Tile(x, b.ints(2, 1, 3)), [data(2, 3, 5)]),
    "depth to space": (lambda b, x: b.DepthToSpace(x, blocksize=2), [data(2, 8, 3, 5)]),
    "gather rows": (lambda b, x, i: b.Gather(x, i), [data(10, 37), np.array([[1, -2], [3, 0]])]),
    "gather elements": (
        lambda b, x, i: b.GatherElements(x, i, axis=0), [data(4, 20), RNG.integers(-4, 4, (3, 20))]
    ),
    "where": (lambda b, c, x, y: b.Where(c, x, y), [data(3, 50, dtype="bool"), data(3, 50), data(50)]),
    "half": (lambda b, x, y: b.Mul(x, y), [data(5, 37, dtype="float16"), data(5, 1, dtype="float16")]),
    "bfloat16": (lambda b, x: b.Sigmoid(x), [data(5, 37, dtype="bfloat16")]),
    "half softmax": (lambda b, x: b.Softmax(x), [data(5, 37, dtype="float16")]),
    "double": (lambda b, x: b.Tanh(x), [data(5, 37, dtype="float64")]),
    "bytes": (lambda b, x, y: b.Add(x, y), [data(5, 137, dtype="int8"), data(137, dtype="int8")]),
    "saturating cast": (lambda b, x: b.Cast(b.Mul(x, 90.0), to="int8"), [data(130)]),
    "cast to half": (lambda b, x: b.Cast(x, to="float16"), [data(130, dtype="float64")]),
    "dequantised": (
        lambda b, x, s, z: b.DequantizeLinear(x, s, z, axis=0),
        [data(5, 40, dtype="int8"), np.abs(data(5)), data(5, dtype="int8")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("isa", WIDTHS)
@pytest.mark.parametrize("name", CASES)
def test_against_the_reference(name: str, isa: str) -> None:
    make, arrays = CASES[name]
    check(make, *arrays, isa=isa)


def test_long_sums_keep_their_digits() -> None:
    x = np.full((1, 1 << 20), 0.1, np.float32)
    check(lambda b, v: b.ReduceSum(v, b.ints(1)), x)
    check(lambda b, v: b.ReduceSum(v, b.ints(0)), x.reshape(-1, 16))


def test_nothing_beyond_the_end_is_touched() -> None:
    """Every length of a row up to three vectors, with a guard behind the result."""
    for n in range(1, 50):
        x = data(2, n)
        graph = Graph()
        b = Builder(graph)
        y = b.Softmax(b.input("x", "float32", x.shape))
        b.outputs(y)
        room = np.full(x.size + 32, 7, np.float32)
        assert launch(lower(Part(tuple(graph.nodes), graph.inputs, (y,))), [x], [room], "host") == OK
        wanted, _ = interpret(graph, [x])
        np.testing.assert_allclose(room[: x.size].reshape(x.shape), wanted[0], rtol=1e-5, atol=1e-6)
        assert (room[x.size :] == 7).all()


def model(make: Make, *shapes: Any, dtypes: Sequence[str] = ()) -> Graph:
    graph = Graph()
    b = Builder(graph)
    kinds = [*dtypes, *["float32"] * len(shapes)]
    made = make(b, *[b.input(f"x{i}", kinds[i], s) for i, s in enumerate(shapes)])
    b.outputs(*(made if isinstance(made, tuple) else (made,)))
    return graph


def test_one_kernel_for_all_shapes() -> None:
    kernels = set()
    for shape in ((4, 64), (9, 768), (symbol("n", 1), 100), (symbol("n", 1), symbol("m", 1))):
        graph = model(lambda b, x: b.Softmax(x), shape)
        kernels.update(found.kernel for found in lower(Part.of(next(iter(graph.nodes)))).launches)
    # rows of known size keep the exponentials in a local buffer, which the kernel's text names
    assert len(kernels) <= 2


def test_symbolic_sizes() -> None:
    n, m = symbol("n", 1), symbol("m", 1)
    graph = model(lambda b, x, y: b.Relu(b.Add(b.Transpose(x, perm=[1, 0]), y)), (n, m), (n,))
    run = executable(graph, CpuBackend())
    for shape in ((3, 5), (40, 33), (1, 70)):
        x, y = data(*shape), data(shape[0])
        wanted, _ = interpret(graph, [x, y])
        np.testing.assert_allclose(run.run([x, y], StateStore(graph.states))[0], wanted[0])


@pytest.mark.parametrize("mode", ["reflect", "wrap", "edge"])
def test_pads_of_axes_of_any_size(mode: str) -> None:
    """More is added than there is; nothing of an empty axis is read."""
    graph = model(lambda b, x: b.Pad(x, b.ints(0, 3, 0, 9), mode=mode), (2, symbol("n", 0)))
    check_native(graph, [[data(2, n)] for n in (40, 4, 2, 1)], 0)
    with pytest.raises(IndexRangeError):
        executable(graph, CpuBackend()).run([data(2, 0)], StateStore(graph.states))


def test_results_are_written_beside_empty_ones() -> None:
    """A part of size 1 next to one of size 0, and a sum over an axis that may be empty next to its elements."""
    graph = model(lambda b, x: tuple(b.Split(x, b.ints(0, 1, 2), axis=1, num_outputs=3)), (2, 3, 4))
    check_native(graph, [[data(2, 3, 4)]])
    graph = model(lambda b, x: (b.Exp(x), b.ReduceSum(x, b.ints(1), keepdims=1)), (2, symbol("n", 0)))
    check_native(graph, [[data(2, n)] for n in (0, 1, 5)])


def test_resized_axes_may_be_empty() -> None:
    scales = np.array([1, 2, 1.7], np.float32)
    for mode in ("nearest", "linear"):
        graph = model(
            lambda b, x, m=mode: b.Resize(x, None, b.constant(scales), mode=m), (2, symbol("n", 0), symbol("m", 0))
        )
        check_native(graph, [[data(2, 3, 5)], [data(2, 0, 5)], [data(2, 3, 0)]])


@pytest.mark.parametrize("to", ["int4", "uint4", "int2", "uint2", "float4e2m1"])
@pytest.mark.parametrize("count", [1, 7, 131])
def test_several_elements_in_a_byte(to: str, count: int) -> None:
    graph = model(lambda b, x: b.Cast(b.Mul(x, 3.0), to=to), (count,))
    plan = planned(graph, CpuBackend())
    assert all(isinstance(s, KernelStep) for s in plan.steps)
    x = data(count)
    wanted, _ = interpret(graph, [x])
    assert_close(executable(graph, CpuBackend()).run([x], StateStore(graph.states))[0], wanted[0])


@pytest.mark.parametrize("isa", widths())
@pytest.mark.parametrize("source", ["float16", "float32", "float64"])
def test_floats_become_integers(source: str, isa: str) -> None:
    """Truncated, saturated, NaN as 0; around the ends of every integer type."""
    real = DType.of(source).numpy
    ends = [2.0**k for k in (3, 4, 7, 8, 15, 16, 31, 32, 63, 64)]
    near = [v for end in ends for v in (end - 1, end - 0.5, end, end + 0.5, end + 1, np.nextafter(end, 0, dtype="f8"))]
    values = [
        0.0,
        0.5,
        0.999,
        1.5,
        1e-40,
        np.nan,
        np.inf,
        1e30,
        float(np.nextafter(np.float32(2**31), np.float32(0))),
        *near,
    ]
    with np.errstate(over="ignore"):
        x = np.array([*values, *(-v for v in values)]).astype(real)
    g = Graph()
    b = Builder(g)
    given = b.input("x", source, x.shape)
    kinds = [f"{sign}int{bits}" for sign in ("", "u") for bits in (4, 8, 16, 32, 64)]
    b.outputs(*(b.Cast(b.Cast(given, to=kind), to="int64" if kind != "uint64" else kind) for kind in kinds))
    check_native(g, [[x]], tolerance=0, isa=isa)


@pytest.mark.parametrize("saturate", [0, 1])
def test_powers_of_two(saturate: int) -> None:
    """float8e8m0: rounded up, moved, read."""
    edges = [0.0, -0.0, 1, -1, 1.5, 3, 0.1, np.nan, np.inf, -np.inf, 3.4e38, 1e-38, 1e-40, 2.0**-127, 2.0**127]

    def make(b: Any, x: Value) -> Any:
        scales = b.Transpose(b.Cast(x, to="float8e8m0", saturate=saturate), perm=[1, 0])
        return scales, b.Cast(scales, to="float32")

    for dtype in (np.float32, np.float64):
        x = np.array(edges * 2, dtype).reshape(6, 5)
        check_native(model(make, x.shape, dtypes=[str(x.dtype)]), [[x]], 0)


def test_groups() -> None:
    """A chain of element by element work around a norm and a softmax is one step."""
    graph = model(lambda b, x, y: b.Softmax(b.Add(b.Mul(b.LayerNormalization(b.Relu(x), y), 0.5), x)), (8, 64), (64,))
    plan = planned(graph, CpuBackend())
    assert [type(s) for s in plan.steps] == [KernelStep]
    x, y = data(8, 64), data(64)
    wanted, _ = interpret(graph, [x, y])
    found = executable(graph, CpuBackend()).run([x, y], StateStore(graph.states))
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-5, atol=1e-6)


def test_every_refusal_is_told() -> None:
    """Neither loops nor an epilogue of a product take a sort after a softmax."""
    graph = model(lambda b, x: b.ge.Sort(b.Softmax(x), axis=1), (8, 64))
    softmax, sort = graph.nodes
    refused = may_join(Group((softmax,)), sort)
    assert isinstance(refused, Refusal)
    assert set(refused.code.split("+")) == {"no-loop", "no-contraction"}
    assert len(refused.reason.split("; ")) == 2


def test_reductions_over_different_parts_stay_apart() -> None:
    graph = model(lambda b, x: b.ReduceMean(b.Softmax(x), b.ints(0)), (8, 64))
    assert len(planned(graph, CpuBackend()).steps) == 2


@pytest.mark.parametrize("isa", WIDTHS)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("index", [5, -6, 1 << 40, -(1 << 62), (1 << 63) - 1])
def test_indices_out_of_range(index: int, axis: int, isa: str) -> None:
    graph = model(lambda b, x, i: b.Gather(x, i, axis=axis), (5, 5), (40,), dtypes=["float32", "int64"])
    indices = np.zeros(40, np.int64)
    indices[37] = index
    out = np.zeros(graph.outputs[0].shape, np.float32)
    part = Part.of(next(iter(graph.nodes)))
    assert launch(lower(part), [data(5, 5), indices], [out], isa) == INDEX_OUT_OF_RANGE


def test_statuses_become_errors() -> None:
    graph = model(lambda b, x, i: b.Gather(x, i), (5, 3), (4,), dtypes=["float32", "int64"])
    run = executable(graph, CpuBackend())
    with pytest.raises(IndexRangeError):
        run.run([data(5, 3), np.array([0, 1, 5, 2])], StateStore(graph.states))
    graph = model(lambda b, x, y: b.Div(x, y), (70,), (70,), dtypes=["int32", "int32"])
    run = executable(graph, CpuBackend())
    ones = np.ones(70, np.int32)
    zeros = ones.copy()
    zeros[69] = 0
    np.testing.assert_array_equal(run.run([ones, ones], StateStore(graph.states))[0], ones)
    with pytest.raises(DivisionByZeroError):
        run.run([ones, zeros], StateStore(graph.states))
