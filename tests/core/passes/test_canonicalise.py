"""The canonical form: one way to say it."""

from __future__ import annotations

import numpy as np
import pytest

from ge_core.ir import Builder, Graph, symbol
from ge_core.ir.dtype import DTYPES, DType
from ge_core.passes.canonicalise import Canonicalise, InlineConstantBranches, ShapeArithmetic
from ge_core.passes.canonicalise.casts import keeps_every_value
from ge_core.passes.cse import CommonSubexpressions
from ge_core.passes.dce import DeadCode
from ge_core.passes.infer_types import InferTypes
from ge_core.reference.cast import convert
from tests.core.passes.rewriting import check, expected, lines, normal, ops, rewritten, run

N, S = symbol("n", 1, 8), symbol("s", 0, 8)
CLEAN = (ShapeArithmetic(), Canonicalise(), CommonSubexpressions(), DeadCode())


def test_the_ways_of_two_frameworks_to_flatten_become_one_node() -> None:
    def of_torch(b: Builder) -> None:
        x = b.input("x", "float32", (N, 3, 4))
        b.outputs(b.Reshape(x, b.ints(N * 3, 4)))

    def of_tensorflow(b: Builder) -> None:
        x = b.input("x", "float32", (N, 3, 4))
        shape = b.Shape(x)
        first = b.Slice(shape, np.array([0]), np.array([1]))
        rows = b.Mul(b.Squeeze(first, np.array([0])), np.int64(3))
        b.outputs(b.Reshape(x, b.Concat([b.Unsqueeze(rows, np.array([0])), np.array([-1])], axis=0)))

    def by_shape(b: Builder) -> None:
        x = b.input("x", "float32", (N, 3, 4))
        b.outputs(b.Reshape(b.Flatten(x, axis=1), b.Concat([np.array([-1]), b.Shape(x, start=2)], axis=0)))

    forms = []
    for build in (of_torch, of_tensorflow, by_shape):
        from ge_core.passes.shapes import Shapes

        graph, _ = check(build, [normal(2, 3, 4)], *CLEAN, Shapes(), *CLEAN)
        names = {v.name: f"v{i}" for i, v in enumerate(v for n in graph.nodes for v in n.outputs)}
        text = lines(graph)
        for old, new in sorted(names.items(), key=lambda t: -len(t[0])):
            text = text.replace(f"%{old}", f"%{new}")
        forms.append(text)
    assert (
        forms[0]
        == forms[1]
        == forms[2]
        == expected(
            """
        %v0: int64[2] (3*n, 4) = ge.Dims() {exprs=[<3*n>, 4]}
        %v1: float32[3*n, 4] = Reshape(%x, %v0)
        return %v1
        """
        )
    )


def test_reshape_forms() -> None:
    text = """
    graph g imported {
      symbols n [1, 8]
      input %x: float32[n, 1, 4]
      const %one: int64[1] = [1]
      const %copy: int64[3] = [0, 4, -1]
      %a: float32[n, 4] = Squeeze(%x, %one)
      %b: float32[n, 1, 4] = Unsqueeze(%a, %one)
      %c: float32[n, 4] = Flatten(%b)
      %d: float32[n, 4, 1] = Reshape(%b, %copy)
      return %c, %d
    }
    """
    assert rewritten(text, Canonicalise()) == expected(
        """
        %dims: int64[2] (n, 4) = ge.Dims() {exprs=[<n>, 4]}
        %a: float32[n, 4] = Reshape(%x, %dims)
        %dims_1: int64[3] (n, 1, 4) = ge.Dims() {exprs=[<n>, 1, 4]}
        %b: float32[n, 1, 4] = Reshape(%a, %dims_1)
        %dims_2: int64[2] (n, 4) = ge.Dims() {exprs=[<n>, 4]}
        %c: float32[n, 4] = Reshape(%b, %dims_2)
        %dims_3: int64[3] (n, 4, 1) = ge.Dims() {exprs=[<n>, 4, 1]}
        %d: float32[n, 4, 1] = Reshape(%b, %dims_3)
        return %c, %d
        """
    )


@pytest.mark.parametrize("size", [0, 3])
def test_a_size_that_may_be_zero_is_not_read_as_copy(size: int) -> None:
    def build(b: Builder) -> None:
        x = b.input("x", "float32", (2, 3, S))
        b.outputs(b.Reshape(x, b.Concat([b.Shape(x, start=2), np.array([6])], axis=0), allowzero=1))

    graph, _ = check(build, [normal(2, 3, size)], *CLEAN)
    assert graph.nodes.last.attrs["allowzero"] == 1  # type: ignore[union-attr]


def test_content_that_depends_on_data_keeps_the_node_that_binds_it() -> None:
    def build(b: Builder) -> None:
        x = b.input("x", "float32", (N,))
        b.outputs(b.Gather(b.Shape(b.NonZero(x)), np.int64(1)))

    graph, _ = check(build, [np.array([1, 0, 2], np.float32)], *CLEAN)
    assert "NonZero" in ops(graph)


def test_forms() -> None:
    def build(b: Builder) -> None:
        x, like = b.input("x", "float32", (N, 1)), b.input("like", "float16", (2,))
        b.outputs(
            b.Sum(x), b.Max(x), b.Sum(x, b.Neg(x)), b.Greater(x, 0.0), b.GreaterOrEqual(x, 0.0), b.CastLike(x, like),
            b.Tile(x, np.array([1, 3])), b.Add(x, b.ConstantOfShape(b.Shape(x))), b.Identity(b.Cast(x, to="float32")),
        )  # fmt: skip

    graph, _ = check(build, [normal(3, 1), normal(2, dtype="float16")], *CLEAN)
    assert sorted(ops(graph)) == sorted(["Neg", "Add", "Less", "LessOrEqual", "Cast", "Expand", "Expand", "Add"])


@pytest.mark.parametrize("options", [{}, {"transB": 1}, {"transA": 1, "alpha": 0.5, "beta": 2.0}, {"beta": 0.0}])
def test_gemm(options: dict[str, float]) -> None:
    def build(b: Builder) -> None:
        a = b.input("a", "float32", (4, 2) if options.get("transA") else (2, 4))
        w = normal(3, 4) if options.get("transB") else normal(4, 3)
        b.outputs(b.Gemm(a, w, normal(3, seed=1), **options))

    graph, _ = check(
        build, [normal(*((4, 2) if options.get("transA") else (2, 4)))], Canonicalise(), DeadCode(), tolerance=1e-6
    )
    assert "MatMul" in ops(graph) and "Gemm" not in ops(graph)


def test_a_half_gemm_is_rounded_once() -> None:
    def build(b: Builder) -> None:
        b.outputs(b.Gemm(b.input("a", "float16", (2, 4)), normal(4, 3, dtype="float16"), normal(3, dtype="float16")))

    check(build, [normal(2, 4, dtype="float16")], Canonicalise(), gives=["Gemm"])


def test_axes_are_counted_from_the_front_and_written_out() -> None:
    text = """
    graph g imported {
      input %x: float32[2, 3, 4]
      const %axes: int64[2] = [-1, -3]
      %a: float32[2, 3, 4] = Softmax(%x)
      %b: float32[1, 3, 1] = ReduceSum(%a, %axes)
      %c: float32[] = ReduceMax(%a) {keepdims=0}
      return %b, %c
    }
    """
    assert rewritten(text, Canonicalise()) == expected(
        """
        %a: float32[2, 3, 4] = Softmax(%x) {axis=2}
        %b: float32[1, 3, 1] = ReduceSum(%a, %c_1)
        %c: float32[] = ReduceMax(%a, %c_2) {keepdims=0}
        return %b, %c
        """
    )


@pytest.mark.parametrize("middle", ["bool", "int8", "float16", "bfloat16", "float64"])
def test_casts_merge_only_through_types_that_hold_every_value(middle: str) -> None:
    def build(b: Builder) -> None:
        x, i = b.input("x", "float32", (4,)), b.input("i", "int32", (4,))
        b.outputs(*(b.Cast(b.Cast(v, to=middle), to="int64") for v in (x, i)))

    x, i = np.array([-1, 0.5, 300, 7], np.float32), np.array([-1, 2**30 + 1, 300, 0], np.int32)
    graph, _ = check(build, [x, i], Canonicalise())
    assert len(ops(graph)) == (2 if middle == "float64" else 4)


def test_keeps_every_value_is_true_only_where_casting_back_gives_every_value() -> None:
    small = [d for d in DTYPES if d.bits <= 16 and d.kind in ("float", "int", "uint", "bool") and d.bits >= 8]
    for source in small:
        if source.kind == "float" and source.bits == 8:
            continue
        if source.kind == "bool":
            values = np.array([False, True])
        else:
            bits = np.arange(1 << source.bits, dtype=f"uint{source.bits}")
            values = bits.view(source.numpy)
        for name in ("float32", "float16", "bfloat16", "int8", "int16", "int32", "uint8", "uint16", "int64"):
            target = DType.of(name)
            if not keeps_every_value(source, target):
                continue
            with np.errstate(invalid="ignore"):  # signalling NaN
                back = convert(convert(values, target), source).astype(np.float64)
                same = np.array_equal(back, values.astype(np.float64), equal_nan=True)
            assert same, (source, target)
    assert not keeps_every_value(DType.of("int32"), DType.of("float32"))
    assert not keeps_every_value(DType.of("float16"), DType.of("bfloat16"))


def test_constant_scalars_get_rank_zero_unless_they_shape_the_result() -> None:
    def build(b: Builder) -> None:
        x = b.input("x", "float32", (N,))
        b.outputs(b.Mul(x, np.full((1,), 2, np.float32)), b.Mul(x, np.full((1, 1), 2, np.float32)))

    graph, _ = check(build, [normal(3)], Canonicalise(), DeadCode())
    assert sorted(v.rank for v in graph.constants) == [0, 2]


def test_an_if_with_a_constant_condition_becomes_its_branch() -> None:
    def build(b: Builder) -> None:
        x = b.input("x", "float32", (N,))
        inner = b.input("c", "bool", ())
        y, z = b.If(
            np.array(False),
            then_branch=lambda r: [r.Neg(x), x],
            else_branch=lambda r: [
                r.If(inner, then_branch=lambda q: [q.Exp(x)], else_branch=lambda q: [q.Abs(x)]), r.Tanh(x)
            ],
        )  # fmt: skip
        b.outputs(b.Add(y, z))

    check(build, [normal(3), np.array(True)], InlineConstantBranches(), gives=["If", "Tanh", "Add"])


def test_types_known_later_reach_everything() -> None:
    graph = Graph("g")
    b = Builder(graph)
    x = b.input("x", "float32", None)
    y = b.Exp(b.Neg(x))
    b.outputs(y)
    assert y.tensor.shape is None
    x.type = type(x.tensor)(x.dtype, (N, 4))
    run(graph, InferTypes())
    assert y.shape == (N, 4)
