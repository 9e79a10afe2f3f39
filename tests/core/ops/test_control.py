"""If, Loop, Scan and fusion groups: values, joined types, trip counts, sizes that change, captures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ge_core.errors import SizeBoundError, TypeRuleError
from ge_core.ir import Builder, Graph, SequenceType, TensorType, Value, symbol
from ge_core.ir.dims import Dim, Size, symbols
from ge_core.ir.dtype import float32
from ge_core.ir.graph import Region
from ge_core.ir.verifier import verify
from ge_core.ops.infer import refresh
from ge_core.reference.interpret import interpret
from tests.core.ops.onnx_cases import Case, cases, check_case


@pytest.mark.parametrize("case", cases("Loop"))
def test_onnx(case: Case) -> None:
    check_case(case, data_dependent=True)


def run(b: Builder, outputs: Any, *arrays: Any) -> list[Any]:
    b.outputs(*(outputs if isinstance(outputs, (tuple, list)) else (outputs,)))
    verify(b.graph)
    return interpret(b.graph, [np.asarray(a) for a in arrays])[0]


def f32(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def new(value: Value) -> list[str]:
    """The sizes of a value that the graph's inputs do not name."""
    known = {s for v in value.owner.params for d in v.shape for s in symbols(d)}  # type: ignore[union-attr]
    return [str(d) for d in value.shape if set(symbols(d)) - known]


def make(*shapes: tuple[Any, ...], dtypes: tuple[str, ...] = ()) -> tuple[Builder, list[Value]]:
    b = Builder(Graph())
    values = []
    for i, shape in enumerate(shapes):
        sizes: list[Size] = [symbol(n, 1) if isinstance(n, str) else n for n in shape]
        values.append(b.input(f"x{i}", dtypes[i] if i < len(dtypes) else "float32", sizes))
    return b, values


def test_if_with_equal_types_keeps_the_symbols() -> None:
    b, (c, x) = make((), ("n", 3), dtypes=("bool",))
    y = b.If(c, then_branch=lambda r: [r.Neg(x)], else_branch=lambda r: [r.Relu(x)])
    assert y.type == x.type
    for flag in (True, False):
        graph, array = b.graph, f32(2, 3)
        graph.set_outputs([y])
        expected = -array if flag else np.maximum(array, 0)
        np.testing.assert_array_equal(interpret(graph, [np.array(flag), array])[0][0], expected)


def test_if_with_different_sizes_defines_a_size() -> None:
    b, (c, x) = make((1,), ("n", 3), dtypes=("bool",))
    y = b.If(c, then_branch=lambda r: [r.Concat([x, x], axis=0)], else_branch=lambda r: [x])
    assert y.shape[1] == 3 and len(new(y)) == 1
    z = b.Add(y, 1.0)
    assert run(b, z, [True], f32(2, 3))[0].shape == (4, 3)
    assert interpret(b.graph, [np.array([False]), f32(2, 3)])[0][0].shape == (2, 3)


def test_a_size_that_only_a_branch_defines_does_not_leave_it() -> None:
    b, (c, x) = make((), ("n",), dtypes=("bool",))

    def branch(r: Builder) -> list[Value]:
        return [r.NonZero(x)]

    y = b.If(c, then_branch=branch, else_branch=branch)
    inner = {s for region in y.producer.regions.values() for d in region.outputs[0].shape for s in symbols(d)}
    assert y.shape[0] == 1 and not inner & set(symbols(y.shape[1]))
    assert run(b, y, True, np.array([0, 1, 2, 0], np.float32))[0].tolist() == [[1, 2]]


def test_if_shares_known_contents() -> None:
    b, (c, x) = make((), ("n", 3), dtypes=("bool",))
    y = b.If(c, then_branch=lambda r: [r.Shape(x)], else_branch=lambda r: [r.Shape(x)])
    assert y.content == x.shape


def test_if_refuses_branches_that_do_not_fit() -> None:
    b, (c, x) = make((), (2,), dtypes=("bool",))
    with pytest.raises(TypeRuleError, match="float32 or int64"):
        b.If(c, then_branch=lambda r: [x], else_branch=lambda r: [r.Shape(x)])
    with pytest.raises(TypeRuleError, match="1 and 2 outputs"):
        b.If(c, then_branch=lambda r: [x], else_branch=lambda r: [x, x])
    with pytest.raises(TypeRuleError, match="expected bool"):
        b.If(x, then_branch=lambda r: [x], else_branch=lambda r: [x])


def powers(b: Builder, trip: Any, cond: Any, x: Value) -> Any:
    return b.Loop(trip, cond, [x], body=lambda r, i, c, s: [c, r.Mul(s, 2.0), r.Add(s, r.Cast(i, to="float32"))])


def test_loop_with_a_known_trip_count() -> None:
    b, (x,) = make(("n",))
    last, scanned = powers(b, b.constant(np.int64(3)), None, x)
    assert last.type == x.type and scanned.shape == (3, *x.shape)
    a = f32(4)
    got = run(b, (last, scanned), a)
    np.testing.assert_array_equal(got[0], a * 8)
    np.testing.assert_array_equal(got[1], np.stack([a, a * 2 + 1, a * 4 + 2]))


@pytest.mark.parametrize("trips", [0, 1, 5])
def test_loop_with_a_trip_count_from_the_data(trips: int) -> None:
    b, (m, x) = make((), ("n",), dtypes=("int64",))
    last, scanned = powers(b, m, b.constant(np.array(True)), x)
    assert len(new(scanned)) == 1 and scanned.shape[1:] == x.shape
    a = f32(4)
    got = run(b, (last, scanned), trips, a)
    np.testing.assert_array_equal(got[0], a * 2**trips)
    assert got[1].shape == (trips, 4)


def test_a_trip_count_that_is_a_size() -> None:
    b, (x,) = make(("n", 2))
    count = b.Gather(b.Shape(x), np.int64(0))
    _, scanned = powers(b, count, None, x)
    assert scanned.shape == (x.shape[0], *x.shape)
    assert run(b, scanned, f32(3, 2))[0].shape == (3, 3, 2)


def test_a_negative_trip_count_is_none() -> None:
    b, (x,) = make((2,))
    _, scanned = powers(b, b.constant(np.int64(-4)), None, x)
    assert scanned.shape == (0, 2)
    assert run(b, scanned, f32(2))[0].shape == (0, 2)


def test_a_while_loop_ends_by_its_condition() -> None:
    b, (x,) = make(())

    def body(r: Builder, i: Value, c: Value, s: Value) -> list[Value]:
        doubled = r.Mul(s, 2.0)
        return [r.Less(doubled, 100.0), doubled, doubled]

    y, steps = b.Loop(None, b.Less(x, 100.0), [x], body=body)
    assert len(new(steps)) == 1
    got = run(b, (y, steps), np.float32(3))
    assert got[0] == 192 and got[1].tolist() == [6, 12, 24, 48, 96, 192]
    assert interpret(b.graph, [np.float32(1000)])[0][1].shape == (0,)


def test_a_condition_may_end_a_counted_loop() -> None:
    b, (x,) = make(())
    y, steps = b.Loop(np.int64(4), None, [x], body=lambda r, i, c, s: [r.Less(i, np.int64(1)), r.Add(s, 1.0), s])
    assert len(new(steps)) == 1
    assert run(b, (y, steps), np.float32(0))[0] == 2


def _growing(b: Builder, x: Value, rows: Size) -> Region:
    """A loop body that appends a row to its carried value, whose type is given."""
    inner = Region(b.graph, b.graph)
    r = Builder(inner)
    inner.add_param("i", TensorType(b.constant(np.int64(0)).dtype, ()))
    cond = inner.add_param("c", TensorType(b.constant(np.array(True)).dtype, ()))
    s = inner.add_param("s", TensorType(float32, (rows, 3)))
    r.outputs(cond, r.Concat([s, x], axis=0), r.Expand(r.ReduceSum(s, keepdims=0), r.ints(2)))
    return inner


def test_a_carried_value_may_grow() -> None:
    b, (m, x) = make((), (1, 3), dtypes=("int64",))
    s = b.graph.fresh_symbol("rows")
    start = b.constant(np.zeros((0, 3), np.float32))
    y, sums = b.Loop(m, None, [start], body=_growing(b, x, symbol(s.name, s.lo, s.hi)))
    assert len(new(y)) == 1 and y.shape[1] == 3 and new(y) != [s.name]
    got = run(b, (b.Neg(y), sums), 4, np.ones((1, 3), np.float32))
    assert got[0].shape == (4, 3)
    np.testing.assert_array_equal(got[1], [[0, 0], [3, 3], [6, 6], [9, 9]])


def test_a_changing_size_needs_a_symbol() -> None:
    b, (m, x) = make((), (1, 3), dtypes=("int64",))
    with pytest.raises(TypeRuleError, match="give the region a symbol for a size that changes"):
        b.Loop(m, None, [x], body=_growing(b, x, 1))


def test_an_unproved_size_is_checked_when_the_loop_runs() -> None:
    """The body claims to return n rows and returns u of them."""
    b, (x,) = make(("n",))
    y = b.Loop(np.int64(3), None, [x], body=lambda r, i, c, s: [c, r.Compress(s, r.Greater(s, 0.0), axis=0)])
    b.outputs(y)
    with pytest.raises(SizeBoundError):
        interpret(b.graph, [np.array([1, -1, 2], np.float32)])


def test_a_loop_without_an_end_is_refused() -> None:
    b, (x,) = make((2,))
    with pytest.raises(TypeRuleError, match="never ends"):
        powers(b, None, None, x)


def test_scan_directions_and_axes() -> None:
    b, (h, x, y) = make((2,), (2, "n"), ("n", 2))
    last, out = b.Scan(
        [h, x, y],
        num_scan_inputs=2,
        scan_input_axes=[1, 0],
        scan_input_directions=[1, 0],
        scan_output_axes=[-1],
        scan_output_directions=[1],
        body=lambda r, s, p, q: [r.Add(s, p), r.Mul(r.Add(s, p), q)],
    )
    assert last.shape == (2,) and out.shape == (2, x.shape[1])
    a, p, q = f32(2), f32(2, 4), f32(4, 2)
    got = run(b, (last, out), a, p, q)
    state, parts = a, []
    for t in range(4):
        state = state + p[:, 3 - t]
        parts.append(state * q[t])
    np.testing.assert_allclose(got[0], state, rtol=1e-6)
    np.testing.assert_allclose(got[1], np.stack(parts[::-1], axis=1), rtol=1e-6)


def test_the_order_of_a_scan_s_arguments_does_not_matter() -> None:
    b, (h, x) = make((2,), (2, 3))
    last = b.Scan([h, x], body=lambda r, s, p: [r.Add(s, p)], num_scan_inputs=1, scan_input_axes=[1])
    a, p = f32(2), f32(2, 3)
    np.testing.assert_allclose(run(b, (last,), a, p)[0], a + p.sum(axis=1), rtol=1e-6)


def test_scan_over_nothing() -> None:
    b, (h, x) = make((2,), (0, 2))
    last, out = b.Scan([h, x], num_scan_inputs=1, body=lambda r, s, p: [r.Add(s, p), p])
    assert out.shape == (0, 2)
    a = f32(2)
    got = run(b, (last, out), a, f32(0, 2))
    np.testing.assert_array_equal(got[0], a)
    assert got[1].shape == (0, 2)


def test_scan_refusals() -> None:
    b, (h, x, y) = make((2,), (3, 2), (4, 2))

    def body(r: Builder, s: Value, *parts: Value) -> list[Value]:
        return [s, parts[0]]

    with pytest.raises(TypeRuleError, match="lengths of scanned inputs differ: 3 and 4"):
        b.Scan([h, x, y], num_scan_inputs=2, body=body)
    with pytest.raises(TypeRuleError, match="scan_input_axes has 2 numbers, expected 1"):
        b.Scan([h, x], num_scan_inputs=1, scan_input_axes=[0, 0], body=body)


def test_regions_in_regions_capture_through() -> None:
    b, (m, x, w) = make((), ("n", 2), (2, 2), dtypes=("int64",))

    def body(r: Builder, i: Value, c: Value, s: Value) -> list[Value]:
        even = r.Equal(r.Mod(i, np.int64(2)), np.int64(0))
        return [c, r.If(even, then_branch=lambda t: [t.MatMul(s, w)], else_branch=lambda t: [t.Add(s, x)])]

    y = b.Loop(m, None, [x], body=body)
    assert y.type == x.type
    a, k = f32(3, 2), f32(2, 2)
    np.testing.assert_allclose(run(b, y, 3, a, k)[0], (a @ k + a) @ k, rtol=1e-5)


def test_a_fusion_group_has_the_types_of_its_outputs() -> None:
    b, (x,) = make(("n", 3))
    y, shape = b.ge.Fused([x], body=lambda r, p: [r.Relu(r.Neg(p)), r.Shape(p)])
    assert y.type == x.type and shape.content == x.shape
    b.graph.stage = "selected"
    a = f32(2, 3)
    got = run(b, (y, shape), a)
    np.testing.assert_array_equal(got[0], np.maximum(-a, 0))
    assert got[1].tolist() == [2, 3]


def test_a_sequence_may_be_carried() -> None:
    b, (m, x) = make((), ("n",), dtypes=("int64",))
    start = b.SequenceEmpty(dtype="float32")
    y = b.Loop(m, None, [start], body=lambda r, i, c, s: [c, r.SequenceInsert(s, r.Add(x, r.Cast(i, to="float32")))])
    assert isinstance(y.type, SequenceType)
    got = run(b, b.ConcatFromSequence(y, axis=0, new_axis=1), 3, np.array([1, 2], np.float32))[0]
    assert got.tolist() == [[1, 2], [2, 3], [3, 4]]


def test_symbols_are_the_same_when_inferred_again() -> None:
    b, (c, x) = make((), ("n", 3), dtypes=("bool",))
    y = b.If(c, then_branch=lambda r: [r.Concat([x, x], axis=0)], else_branch=lambda r: [x])
    before = y.type
    assert y.producer is not None and isinstance(y.shape[0], Dim)
    refresh(y.producer)
    assert y.type == before
