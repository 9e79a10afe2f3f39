"""Fused, quantised and decomposed forms: the file that was written gives the numbers of the source."""

from __future__ import annotations

import numpy as np
import pytest
from ge_ascend.device import estimate, figures

import ge_core
from ge_core.ir import Builder, Graph, Value
from tests.backends.ascend.roundtrip import back, data, graph_of, lowered, same, types

INT = np.random.default_rng(3)


def _ints(*shape: int, low: int = -128, high: int = 128, dtype: str = "int8") -> np.ndarray:
    return INT.integers(low, high, shape).astype(dtype)


@pytest.mark.parametrize(
    ("target", "mode", "matrix", "stack"),
    [
        ("ascend910b", None, "MatMulV3", "BatchMatMulV3"),
        ("ascend910b", "mixed_bfloat16", "MatMulV3", "BatchMatMulV3"),
        ("ascend910_93", "force_fp16", "MatMulV3", "BatchMatMulV3"),
        ("ascend910b", "cube_fp16in_fp32out", "MatMulV2", "BatchMatMulV3"),
        ("ascend310p", None, "MatMulV2", "BatchMatMulV2"),
        ("ascend910a", None, "MatMulV2", "BatchMatMulV2"),
    ],
)
def test_products_have_the_newest_form_of_the_chip(target: str, mode: str | None, matrix: str, stack: str) -> None:
    def build(b: Builder, x: Value, y: Value, z: Value) -> list[Value]:
        return [b.MatMul(x, y), b.Gemm(x, y, transA=1, transB=1), b.MatMul(z, y)]

    graph = graph_of(build, ("float32", (8, 8)), ("float32", (8, 8)), ("float32", ("n", 2, 8)))
    found = same(graph, target=target, mode=mode, tolerance=2e-2 if target != "ascend910b" or mode else 1e-5)
    assert [t for t in types(found) if "MatMul" in t] == [matrix, matrix, stack]
    program = estimate(found.program, figures(target))
    assert all(row.operations for row in program.rows if "MatMul" in row.op.type)


def test_the_older_form_for_older_releases() -> None:
    graph = graph_of(lambda b, x, y: b.MatMul(x, y), ("float32", (4, 8)), ("float32", (8, 8)))
    assert "MatMulV2" in types(same(graph, matmul_v2=True))
    compiled = ge_core.compile(graph, target="ascend910b", options={"matmul_v2": True})
    assert b"MatMulV2" in bytes(compiled.artifact.items["main.air"])


def test_stacks_of_many_axes_keep_the_older_form() -> None:
    shape = ("float32", (1, 2, 1, 2, 1, 2, 3))
    found = same(graph_of(lambda b, x, y: b.MatMul(x, b.Transpose(y, perm=[0, 1, 2, 3, 4, 6, 5])), shape, shape))
    assert "BatchMatMulV2" in types(found)


@pytest.mark.parametrize("length", [None, 6, 11])
@pytest.mark.parametrize("attrs", [{}, {"inverse": 1}, {"onesided": 1}])
@pytest.mark.parametrize("parts", [1, 2])
def test_fourier_transforms_are_products(length: int | None, attrs: dict[str, int], parts: int) -> None:
    if parts == 2 and "onesided" in attrs:
        return
    size = None if length is None else np.int64(length)
    graph = graph_of(lambda b, x: b.DFT(x, size, np.int64(1), **attrs), ("float32", (2, 8, 3, parts)))
    found = same(graph, tolerance=1e-5)
    assert "BatchMatMulV3" in types(found)
    assert any("product with constant tables" in line for line in found.notes.lines())


def test_half_of_the_frequencies_back_is_refused() -> None:
    graph = graph_of(lambda b, x: b.DFT(x, None, np.int64(1), inverse=1, onesided=1), ("float32", (2, 5, 2)))
    (problem,) = lowered(graph).problems
    assert "one half of the frequencies" in str(problem)


@pytest.mark.parametrize("onesided", [0, 1])
def test_short_transforms_are_convolutions(onesided: int) -> None:
    window = np.hanning(8).astype(np.float32)
    graph = graph_of(
        lambda b, x: b.STFT(x, np.int64(4), b.constant(window), onesided=onesided), ("float32", (2, 32, 1))
    )
    assert "Conv2D" in types(same(graph, tolerance=1e-5))


@pytest.mark.parametrize(
    "attrs",
    [
        {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]},
        {"kernel_shape": [2, 2], "dilations": [2, 3], "pads": [1, 1, 0, 1]},
        {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1},
        {"kernel_shape": [2, 3], "storage_order": 1},
    ],
)
def test_places_of_the_largest_elements(attrs: dict[str, object]) -> None:
    graph = graph_of(lambda b, x: b.MaxPool(x, num_outputs=2, **attrs), ("float32", (2, 3, 9, 8)))
    found = types(same(graph))
    assert "Im2col" in found and "ArgMaxV2" in found


def test_places_on_one_axis_and_with_a_size_that_is_known_at_run_time() -> None:
    same(graph_of(lambda b, x: b.MaxPool(x, kernel_shape=[3], strides=[2], num_outputs=2), ("float32", (2, 3, 9))))
    graph = graph_of(
        lambda b, x: b.MaxPool(x, kernel_shape=[2, 2], pads=[1, 1, 1, 1], num_outputs=2), ("float32", ("n", 2, "h", 5))
    )
    same(graph, sizes={"n": 2, "h": 7})


def test_a_dilated_pooling_needs_no_places() -> None:
    graph = graph_of(lambda b, x: b.MaxPool(x, kernel_shape=[2, 2], dilations=[2, 2]), ("float32", (1, 2, 8, 8)))
    found = types(same(graph))
    assert "Im2col" in found and "ArgMaxV2" not in found


def test_windows_of_padding_alone_are_no_place() -> None:
    """Every window of the test above holds an element: equal ones give the first."""
    graph = graph_of(
        lambda b, x: b.MaxPool(x, kernel_shape=[2, 2], strides=[2, 2], num_outputs=2), ("float32", (1, 1, 4, 4))
    )
    same(graph, [np.ones((1, 1, 4, 4), np.float32)])


def geglu(approximate: str, right: bool) -> Graph:
    def build(b: Builder, x: Value) -> Value:
        left, other = b.Split(x, axis=-1, num_outputs=2)
        gate, value = (other, left) if right else (left, other)
        return b.Mul(value, b.Gelu(gate, approximate=approximate))

    return graph_of(build, ("float32", (3, 8)))


@pytest.mark.parametrize("target", ["ascend910b", "ascend310p"])
@pytest.mark.parametrize("approximate", ["none", "tanh"])
@pytest.mark.parametrize("right", [False, True])
def test_gelu_of_one_half_times_the_other(target: str, approximate: str, right: bool) -> None:
    found = same(geglu(approximate, right), target=target, tolerance=2e-3 if target == "ascend310p" else 1e-5)
    assert "GeGluV2" in types(found) and "Mul" not in types(found) and "Split" not in types(found)
    assert any("GeGluV2" in line for line in found.notes.lines())


def test_gelu_that_is_read_twice_stays_apart() -> None:
    def build(b: Builder, x: Value) -> list[Value]:
        left, right = b.Split(x, axis=-1, num_outputs=2)
        gelu = b.Gelu(right)
        return [b.Mul(left, gelu), gelu]

    assert "GeGluV2" not in types(same(graph_of(build, ("float32", (3, 8)))))
    assert "GeGluV2" not in types(same(geglu("none", True), target="ascend910a", tolerance=2e-3))


def heads(turned: int = 2) -> Graph:
    """Queries and keys of two and one heads, turned."""

    def build(b: Builder, x: Value, cos: Value, sin: Value) -> list[Value]:
        found = []
        for count in (2, 1)[:turned]:
            w = np.random.default_rng(count).standard_normal((6, count * 4)).astype(np.float32)
            rows = b.Reshape(b.MatMul(x, b.constant(w)), b.ints(1, 3, count, 4))
            found.append(b.Transpose(rows, perm=[0, 2, 1, 3]))
        return [b.RotaryEmbedding(y, cos, sin) for y in found]

    table = ("float32", (1, 3, 2))
    return graph_of(build, ("float32", (1, 3, 6)), table, table)


def test_queries_and_keys_turn_together_where_the_form_is_allowed() -> None:
    assert types(same(heads())).count("RotaryMul") == 2
    both = same(heads(), allow_unsure=True)
    assert "ApplyRotaryPosEmb" in types(both) and "RotaryMul" not in types(both)
    assert any("ApplyRotaryPosEmb" in line for line in both.notes.lines())
    assert "RotaryMul" in types(same(heads(1), allow_unsure=True))


def quantised(zero: int, kind: str = "int8", weight_zero: int = 0, per_column: bool = True) -> Graph:
    """MatMul of a quantised operand and quantised constant weights."""
    w = _ints(16, 6)
    scale = np.linspace(0.01, 0.03, 6).astype(np.float32) if per_column else np.float32(0.02)
    zeros = np.full(6, weight_zero, np.int8) if per_column else np.int8(weight_zero)

    def build(b: Builder, x: Value) -> Value:
        a = b.DequantizeLinear(x, np.float32(0.05), np.array(zero, kind))
        v = b.DequantizeLinear(b.constant(w), b.constant(scale), b.constant(zeros), axis=1)
        return b.MatMul(a, v)

    return graph_of(build, (kind, (2, 4, 16)))


@pytest.mark.parametrize("target", ["ascend910b", "ascend310p"])
@pytest.mark.parametrize(("zero", "kind"), [(0, "int8"), (7, "int8"), (130, "uint8")])
def test_products_of_quantised_operands(target: str, zero: int, kind: str) -> None:
    graph = quantised(zero, kind)
    inputs = [_ints(2, 4, 16, low=np.iinfo(kind).min, high=np.iinfo(kind).max, dtype=kind)]
    plain = same(graph, inputs, target=target, mode="force_fp16", tolerance=3e-3)
    assert "WeightQuantBatchMatmulV2" in types(plain)
    fused = same(graph, inputs, target=target, mode="force_fp16", tolerance=1e-3, allow_unsure=True)
    assert "QuantBatchMatmulV3" in types(fused) and not {"MatMulV2", "MatMulV3"} & set(types(fused))
    assert any("QuantBatchMatmulV3" in line for line in fused.notes.lines())


def test_weights_alone_may_be_quantised() -> None:
    w, scale = _ints(16, 6), np.linspace(0.01, 0.03, 6).astype(np.float32)

    def build(b: Builder, x: Value) -> Value:
        zeros = b.constant(np.full(6, 3, np.int8))
        return b.MatMul(x, b.DequantizeLinear(b.constant(w), b.constant(scale), zeros, axis=1))

    for target, mode in (("ascend910b", "mixed_bfloat16"), ("ascend310p", "force_fp16")):
        found = same(
            graph_of(build, ("float32", (5, 16))), target=target, mode=mode, tolerance=3e-2 if "b" in mode else 3e-3
        )
        assert "WeightQuantBatchMatmulV2" in types(found)
    assert "WeightQuantBatchMatmulV2" not in types(same(graph_of(build, ("float32", (5, 16))), tolerance=1e-5))


@pytest.mark.parametrize("depth", [16, 700])
def test_integer_products_are_exact(depth: int) -> None:
    def build(b: Builder, x: Value, y: Value) -> Value:
        return b.MatMulInteger(x, y, b.constant(np.uint8(250)), b.constant(np.int8(-128)))

    graph = graph_of(build, ("uint8", (3, depth)), ("int8", (depth, 5)))
    inputs = [np.full((3, depth), 0, np.uint8), np.full((depth, 5), 127, np.int8)]
    for target in ("ascend910b", "ascend310p"):
        assert "MatMulV2" in types(same(graph, inputs, target=target))


def test_integer_products_by_the_unconfirmed_form() -> None:
    graph = graph_of(lambda b, x, y: b.MatMulInteger(x, y), ("int8", (3, 700)), ("int8", (700, 5)))
    inputs = [_ints(3, 700), _ints(700, 5)]
    assert types(same(graph, inputs, allow_unsure=True)) == ["MatMulV2"]
    assert "Cast" in types(same(graph, inputs))


def test_integer_convolutions_are_exact() -> None:
    def build(b: Builder, x: Value, w: Value) -> Value:
        return b.ConvInteger(x, w, b.constant(np.uint8(9)), pads=[1, 1, 1, 1])

    graph = graph_of(build, ("uint8", (1, 70, 5, 5)), ("int8", (4, 70, 3, 3)))
    inputs = [_ints(1, 70, 5, 5, low=0, high=256, dtype="uint8"), _ints(4, 70, 3, 3)]
    assert types(same(graph, inputs)).count("Conv2D") == 3


@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_products_of_whole_numbers(kind: str) -> None:
    big = 2**20 + 1
    graph = graph_of(lambda b, x, y: b.MatMul(x, y), (kind, (2, 3, 4)), (kind, (4, 5)))
    same(graph, [_ints(2, 3, 4, low=-big, high=big, dtype=kind), _ints(4, 5, dtype=kind)])
    same(graph_of(lambda b, x, y: b.MatMul(x, y), (kind, (4,)), (kind, (4,))))


def test_what_a_fused_operator_took_over_is_gone() -> None:
    found = lowered(geglu("none", True))
    assert {op.type for op in found.program.ops()} <= {"Data", "Const", "GeGluV2"}
    assert len(data(back(found))) == 1


@pytest.mark.parametrize(
    "attrs",
    [
        {"strides": [2, 1, 3], "pads": [1, 0, 2, 0, 1, 1], "output_padding": [1, 0, 2]},
        {"strides": [1, 2, 2], "pads": [4, 0, 3, 3, 0, 3], "dilations": [2, 1, 1]},
        {"group": 2},
    ],
)
def test_transposed_convolutions_in_three_dimensions_without_a_kernel(attrs: dict[str, object]) -> None:
    groups = attrs.get("group", 1)
    w = np.random.default_rng(0).standard_normal((4, 6 // (2 if groups == 2 else 1), 3, 2, 3)).astype(np.float32)

    def build(b: Builder, x: Value) -> Value:
        return b.ConvTranspose(x, b.constant(w), b.constant(np.arange(6, dtype=np.float32)), **attrs)

    graph = graph_of(build, ("float32", (2, 4, 5, 4, 3)))
    assert "Conv3D" in types(same(graph))
    assert "Conv3DTranspose" in types(same(graph, mode="mixed_float16", tolerance=5e-3))


@pytest.mark.parametrize(
    ("attrs", "masked"),
    [({"strides": [2, 1], "pads": [1, 0, 1, 2], "offset_group": 2}, True), ({"group": 2, "dilations": [1, 2]}, False)],
)
def test_deformable_convolutions_sample_and_multiply(attrs: dict[str, object], masked: bool) -> None:
    parts, group = attrs.get("offset_group", 1), attrs.get("group", 1)
    rng = np.random.default_rng(0)
    w = rng.standard_normal((6, 4 // (2 if group == 2 else 1), 3, 2)).astype(np.float32)
    bias = rng.standard_normal(6).astype(np.float32)
    rows, columns = (4, 8) if masked else (5, 5)

    def build(b: Builder, x: Value, offset: Value, *mask: Value) -> Value:
        return b.DeformConv(x, b.constant(w), offset, b.constant(bias), *mask, **attrs)

    offsets = ("float32", (2, (2 if parts == 2 else 1) * 12, rows, columns))
    masks = [("float32", (2, (2 if parts == 2 else 1) * 6, rows, columns))] if masked else []
    graph = graph_of(build, ("float32", (2, 4, 7, 7)), offsets, *masks)
    found = same(graph, tolerance=1e-5)
    assert "GridSampler2D" in types(found) and "BatchMatMulV3" in types(found)
    same(graph, target="ascend310p", tolerance=5e-3)


@pytest.mark.parametrize(
    "attrs",
    [
        {},
        {"scan_input_directions": [1], "scan_output_directions": [1, 0]},
        {"scan_input_axes": [1], "scan_output_axes": [1, 0]},
    ],
)
@pytest.mark.parametrize("rounds", ["n", 700])
def test_scans_of_many_rounds_are_loops(attrs: dict[str, list[int]], rounds: object) -> None:
    def build(b: Builder, x: Value, first: Value, shift: Value) -> list[Value]:
        def body(r: Builder, total: Value, row: Value) -> list[Value]:
            after = r.Add(r.Mul(total, 0.5), r.Mul(row, shift))
            return [after, r.Neg(after), r.Mul(row, total)]

        found: list[Value] = b.Scan(first, x, num_scan_inputs=1, **attrs, body=body)
        return found

    shape = [3, rounds] if "scan_input_axes" in attrs else [rounds, 3]
    graph = graph_of(build, ("float32", shape), ("float32", (3,)), ("float32", (3,)))  # type: ignore[arg-type]
    found = types(same(graph, sizes={"n": 5}))
    assert "While" in found


@pytest.mark.parametrize("kind", ["known", "size", "early", "given"])
def test_rows_of_a_loop_are_written_where_their_number_is_known(kind: str) -> None:
    def build(b: Builder, x: Value, n: Value, start: Value) -> list[Value]:
        def body(r: Builder, i: Value, go: Value, y: Value) -> list[Value]:
            after = r.Mul(r.Add(y, r.Gather(x, i, axis=0)), 0.5)
            more = r.Less(i, np.int64(2)) if kind == "early" else r.Identity(go)
            return [more, after, r.Neg(after), r.ReduceSum(after, keepdims=0)]

        point = b.constant(np.zeros(0, np.int64))
        trip = {
            "known": b.constant(np.int64(5)), "size": b.Reshape(b.Shape(x, start=0, end=1), point),
            "early": b.constant(np.int64(5)), "given": n,
        }[kind]  # fmt: skip
        found: list[Value] = b.Loop(trip, True, [start], body=body)
        return found

    rows: int | str = "rows" if kind == "size" else 5
    graph = graph_of(build, ("float32", (rows, 3)), ("int64", ()), ("float32", (3,)))
    inputs = [
        np.random.default_rng(5).standard_normal((5, 3)).astype(np.float32),
        np.array(4, np.int64),
        np.zeros(3, np.float32),
    ]
    found = types(same(graph, inputs))
    assert ("TensorScatterUpdate" in found) == (kind in ("known", "size"))
    assert ("ConcatV2" in found) == (kind not in ("known", "size"))


@pytest.mark.parametrize("dtype", ["int64", "uint32", "int32", "uint8"])
@pytest.mark.parametrize("op", ["BitwiseAnd", "BitwiseOr", "BitwiseXor"])
def test_bits_of_every_width_are_exact(dtype: str, op: str) -> None:
    kind = np.iinfo(dtype)
    x, y = (INT.integers(kind.min, kind.max, 20, np.dtype(dtype), endpoint=True) for _ in range(2))
    x[:2], y[:2] = [kind.min, kind.max], [kind.max, kind.min]
    found = same(graph_of(lambda b, x, y: b.op(op, x, y), (dtype, (20,)), (dtype, (20,))), [x, y])
    assert op not in types(found)
