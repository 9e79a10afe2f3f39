"""Attention written out, shared key heads, and masks recovered as causal when that is proven."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ge_core.ir import Builder, Graph, Value, symbol
from ge_core.passes.algebraic import Algebraic
from ge_core.passes.canonicalise import Canonicalise, ShapeArithmetic
from ge_core.passes.cse import CommonSubexpressions
from ge_core.passes.dce import DeadCode
from ge_core.passes.fold import ConstantFolding
from ge_core.passes.recognise import RecogniseAttention
from ge_core.passes.recognise.index_forms import Affine, IndexForms, Mask
from ge_core.passes.shapes import Shapes
from ge_core.passes.transposes import MergeTransposes
from tests.core.passes.rewriting import check, normal, ops

B, S, T = symbol("b", 1, 4), symbol("s", 2, 16), symbol("t", 2, 16)
CLEAN = (
    ShapeArithmetic(), Canonicalise(), ConstantFolding(), Algebraic(), Shapes(), MergeTransposes(),
    CommonSubexpressions(), DeadCode(),
)  # fmt: skip
PASSES = (*CLEAN, *CLEAN, RecogniseAttention(), *CLEAN, *CLEAN)
LOWEST = float(np.finfo(np.float32).min)
END = 2**63 - 1


def qkv(b: Builder, queries=S, keys=S, heads: int = 4, kv_heads: int = 4) -> tuple[Value, Value, Value]:  # type: ignore[no-untyped-def]
    return (
        b.input("q", "float32", (B, heads, queries, 8)),
        b.input("k", "float32", (B, kv_heads, keys, 8)),
        b.input("v", "float32", (B, kv_heads, keys, 8)),
    )


def arrays(heads: int = 4, kv_heads: int = 4, queries: int = 5, keys: int = 5) -> list[np.ndarray]:
    return [normal(2, heads, queries, 8), normal(2, kv_heads, keys, 8, seed=1), normal(2, kv_heads, keys, 8, seed=2)]


def written_out(b: Builder, q: Value, k: Value, v: Value, mask: Value | None = None) -> Value:
    scores = b.Mul(b.MatMul(q, b.Transpose(k, perm=[0, 1, 3, 2])), 0.3)
    return b.MatMul(b.Softmax(scores if mask is None else b.Add(scores, mask), axis=-1), v)


def attention(graph: Graph) -> dict[str, object]:
    (node,) = [n for n in graph.nodes if n.op == "Attention"]
    return {**node.attrs, "mask": node.input(3)}


SCALES: list[tuple[str, Callable[[Builder, Value, Value], Value]]] = [
    ("product scaled", lambda b, q, kt: b.Mul(b.MatMul(q, kt), 0.3)),
    ("product divided", lambda b, q, kt: b.Div(b.MatMul(q, kt), 3.0)),
    ("queries scaled", lambda b, q, kt: b.MatMul(b.Mul(q, 0.3), kt)),
    ("both scaled", lambda b, q, kt: b.MatMul(b.Mul(q, 0.5), b.Mul(kt, 0.5))),
    ("not scaled", lambda b, q, kt: b.MatMul(q, kt)),
]


@pytest.mark.parametrize("scores", [f for _, f in SCALES], ids=[name for name, _ in SCALES])
def test_scales(scores: Callable[[Builder, Value, Value], Value]) -> None:
    def build(b: Builder) -> None:
        q, k, v = qkv(b, keys=T)
        b.outputs(b.MatMul(b.Softmax(scores(b, q, b.Transpose(k, perm=[0, 1, 3, 2])), axis=-1), v))

    check(build, arrays(keys=7), *PASSES, gives=["Attention"], tolerance=1e-5)


def test_three_axes_and_keys_that_were_laid_out_transposed() -> None:
    def build(b: Builder) -> None:
        q, v = b.input("q", "float32", (B, S, 8)), b.input("v", "float32", (B, T, 6))
        packed = b.input("k", "float32", (T, B, 8))
        scores = b.MatMul(q, b.Transpose(packed, perm=[1, 2, 0]))
        b.outputs(b.MatMul(b.Softmax(scores, axis=2), v))

    inputs = [normal(2, 5, 8), normal(2, 7, 6, seed=2), normal(7, 2, 8, seed=1)]
    check(
        build,
        inputs,
        *PASSES,
        gives=["Transpose", "Reshape", "Reshape", "Reshape", "Attention", "Reshape"],
        tolerance=1e-5,
    )


def test_soft_cap() -> None:
    def build(b: Builder) -> None:
        q, k, v = qkv(b)
        scores = b.MatMul(q, b.Transpose(k, perm=[0, 1, 3, 2]))
        b.outputs(b.MatMul(b.Softmax(b.Mul(b.Tanh(b.Div(scores, 50.0)), 50.0), axis=-1), v))

    graph, _ = check(build, arrays(), *PASSES, gives=["Attention"], tolerance=1e-5)
    assert attention(graph)["softcap"] == 50.0


def test_a_bias_and_a_padding_mask_of_finite_numbers_are_added() -> None:
    def build(b: Builder) -> None:
        q, k, v = qkv(b, 5, 5)
        padding = b.input("padding", "int64", (B, 5))
        mask = b.Mul(b.Sub(b.constant(np.float32(1)), b.Cast(padding, to="float32")), -10000.0)
        scores = b.Add(b.MatMul(q, b.Transpose(k, perm=[0, 1, 3, 2])), normal(4, 5, 5))
        b.outputs(b.MatMul(b.Softmax(b.Add(scores, b.Unsqueeze(mask, np.array([1, 2]))), axis=-1), v))

    padding = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    graph, _ = check(build, [*arrays(), padding], *PASSES, tolerance=1e-5)
    assert attention(graph)["mask"] is not None and "Softmax" not in ops(graph)


@pytest.mark.parametrize("case", ["mask that may be -inf", "filled with -inf", "filled with -50", "softmax elsewhere"])
def test_what_stays_written_out(case: str) -> None:
    """A row that is hidden wholly by -inf gives NaN written out and zeros in Attention."""

    def build(b: Builder) -> None:
        q, k, v = qkv(b, 5, 5)
        mask, keep = b.input("mask", "float32", (B, 1, 5, 5)), b.input("keep", "bool", (B, 1, 5, 5))
        scores = b.MatMul(q, b.Transpose(k, perm=[0, 1, 3, 2]))
        if case == "mask that may be -inf":
            scores = b.Add(scores, mask)
        elif case.startswith("filled"):
            scores = b.Where(keep, scores, np.float32(case.rsplit(" ", 1)[1]))
        b.outputs(b.MatMul(b.Softmax(scores, axis=2 if case == "softmax elsewhere" else 3), v))

    mask, keep = np.zeros((2, 1, 5, 5), np.float32), np.tri(5, dtype=np.bool_)[None, None].repeat(2, 0)
    mask[0, 0, 0], keep[0, 0, 0] = -np.inf, False
    graph, ctx = check(build, [*arrays(), mask, keep], *PASSES)
    assert "Attention" not in ops(graph)
    assert any(m.rule == "attention" for m in ctx.report.misses)


def test_hidden_scores_filled_with_the_lowest_number() -> None:
    def build(b: Builder) -> None:
        q, k, v = qkv(b, 5, 5)
        keep = b.input("keep", "bool", (B, 1, 5, 5))
        scores = b.MatMul(q, b.Transpose(k, perm=[0, 1, 3, 2]))
        b.outputs(b.MatMul(b.Softmax(b.Where(keep, scores, LOWEST), axis=3), v))

    keep = np.random.default_rng(0).random((2, 1, 5, 5)) < 0.5
    keep[0, 0, 0] = False
    check(build, [*arrays(), keep], *PASSES, gives=["Where", "Attention"], tolerance=1e-5)


@pytest.mark.parametrize("how", ["expand", "interleave"])
def test_shared_key_heads(how: str) -> None:
    def build(b: Builder) -> None:
        q, k, v = qkv(b, kv_heads=2)

        def repeat(x: Value) -> Value:
            if how == "interleave":
                return b.ge.RepeatInterleave(x, np.int64(2), axis=1)
            wide = b.Expand(b.Unsqueeze(x, np.array([2])), b.ints(B, 2, 2, S, 8))
            return b.Reshape(wide, b.ints(B, 4, S, 8))

        b.outputs(b.Attention(q, repeat(k), repeat(v), scale=0.3))

    check(build, arrays(kv_heads=2), *PASSES, gives=["Attention"], tolerance=1e-6)


def test_a_factor_on_the_queries_joins_the_scale() -> None:
    def double(b: Builder) -> None:
        x, (_, k, v) = b.input("x", "float32", (B, S, 32)), qkv(b)
        q = b.Transpose(b.Reshape(b.Mul(x, 0.25), b.ints(B, S, 4, 8)), perm=[0, 2, 1, 3])
        b.outputs(b.Attention(q, k, v, scale=2.0), b.Attention(q, k, v))

    inputs = [normal(2, 5, 32), *arrays()]
    graph, _ = check(double, inputs, RecogniseAttention(), tolerance=1e-5)
    assert "Mul" in ops(graph), "the scaled queries have two readers"

    def single(b: Builder) -> None:
        x, (_, k, v) = b.input("x", "float32", (B, S, 32)), qkv(b)
        q = b.Transpose(b.Reshape(b.Mul(x, 0.25), b.ints(B, S, 4, 8)), perm=[0, 2, 1, 3])
        b.outputs(b.Attention(q, k, v))

    graph, _ = check(single, inputs, RecogniseAttention(), gives=["Reshape", "Transpose", "Attention"], tolerance=1e-5)
    assert attention(graph)["scale"] == pytest.approx(0.25 / 8**0.5)


def test_heads_repeated_as_a_whole_are_not_shared_heads() -> None:
    def build(b: Builder) -> None:
        q, k, v = qkv(b, kv_heads=2)

        def repeat(x: Value) -> Value:
            wide = b.Expand(b.Unsqueeze(x, np.array([1])), b.ints(B, 2, 2, S, 8))
            return b.Reshape(wide, b.ints(B, 4, S, 8))

        b.outputs(b.Attention(q, repeat(k), repeat(v), scale=0.3))

    graph, _ = check(build, arrays(kv_heads=2), *PASSES, tolerance=1e-6)
    assert ops(graph).count("Expand") == 2


def positions(b: Builder, size, axis: int) -> Value:  # type: ignore[no-untyped-def]
    line = b.Add(b.Range(np.int64(0), b.scalar(size), np.int64(1)), np.int64(0))
    return b.Unsqueeze(line, np.array([a for a in range(4) if a != axis]))


def of_transformers(b: Builder) -> Value:
    """transformers 5: positions indexed by batch and place, documents told apart by cumsum of jumps."""
    ids = b.Expand(b.Unsqueeze(b.Range(np.int64(0), b.scalar(S), np.int64(1)), np.array([0])), b.ints(B, S))
    before = b.Sub(b.Slice(ids, np.array([0]), np.array([1]), np.array([1])), np.int64(1))
    longer = b.Concat([before, ids], axis=1)
    later = b.Slice(longer, np.array([1]), b.ints(S + 1), np.array([1]))
    jump = b.Not(b.Equal(b.Sub(later, b.Slice(longer, np.array([0]), b.ints(S), np.array([1]))), np.int64(1)))
    document = b.CumSum(b.Cast(jump, to="int64"), np.int64(1))

    def at(data: Value, axis: int) -> Value:
        shape = (B, 1, S, 1) if axis == 2 else (B, 1, 1, S)
        parts = (b.Expand(positions(b, size, a), b.ints(shape)) for size, a in ((B, 0), (S, axis)))
        return b.GatherND(data, b.Concat([b.Unsqueeze(p, np.array([4])) for p in parts], axis=4))

    ordered = b.LessOrEqual(at(ids, 3), at(ids, 2))
    same = b.Equal(at(document, 2), at(document, 3))
    return b.And(b.And(b.constant(np.array(True)), ordered), same)


def by_comparison(b: Builder) -> Value:
    return b.LessOrEqual(positions(b, S, 3), positions(b, S, 2))


def by_greater(b: Builder) -> Value:
    return b.Not(b.Greater(positions(b, S, 3), positions(b, S, 2)))


def by_constant(b: Builder) -> Value:
    whole = b.constant(np.tri(16, dtype=np.bool_)[None, None])
    return b.Slice(whole, np.array([0, 0]), b.ints(S, S), np.array([2, 3]))


def expanded(b: Builder) -> Value:
    return b.Expand(by_comparison(b), b.ints(B, 1, S, S))


@pytest.mark.parametrize("mask", [of_transformers, by_comparison, by_greater, by_constant, expanded])
@pytest.mark.parametrize("size", [2, 5])
def test_causal_masks(mask: Callable[[Builder], Value], size: int) -> None:
    def build(b: Builder) -> None:
        q, k, v = qkv(b)
        b.outputs(b.Attention(q, k, v, mask(b), scale=0.3))

    graph, _ = check(build, arrays(queries=size, keys=size), *PASSES, gives=["Attention"], tolerance=1e-6)
    assert attention(graph)["is_causal"] == 1 and attention(graph)["mask"] is None


def shifted(b: Builder) -> Value:
    return b.LessOrEqual(positions(b, S, 3), b.Add(positions(b, S, 2), np.int64(1)))


def reversed_(b: Builder) -> Value:
    return b.LessOrEqual(positions(b, S, 2), b.Mul(positions(b, S, 3), np.int64(2)))


def of_data(b: Builder) -> Value:
    place = b.input("place", "int64", (S,))
    return b.LessOrEqual(positions(b, S, 3), b.Unsqueeze(place, np.array([0, 1, 3])))


@pytest.mark.parametrize("mask", [reversed_, of_data])
def test_masks_that_are_not_proven_causal_stay(mask: Callable[[Builder], Value]) -> None:
    def build(b: Builder) -> None:
        q, k, v = qkv(b)
        b.outputs(b.Attention(q, k, v, mask(b), scale=0.3))

    inputs = [*arrays(), *([np.arange(5)] if mask is of_data else [])]
    graph, ctx = check(build, inputs, *PASSES, tolerance=1e-6)
    assert attention(graph)["mask"] is not None and not attention(graph).get("is_causal")
    assert any("not proven to be causal" in m.reason for m in ctx.report.misses)


def test_a_shifted_diagonal_and_a_sliding_window_become_window_sizes() -> None:
    def build(b: Builder) -> None:
        q, k, v = qkv(b)
        near = b.Less(b.Add(positions(b, S, 2), np.int64(-3)), positions(b, S, 3))
        b.outputs(
            b.Attention(q, k, v, shifted(b), scale=0.3), b.Attention(q, k, v, b.And(by_comparison(b), near), scale=0.3)
        )

    graph, _ = check(build, arrays(), *PASSES, gives=["Attention", "Attention"], tolerance=1e-6)
    first, second = (n.attrs for n in graph.nodes)
    assert first["right_window_size"] == 1 and not first["is_causal"]
    assert second["is_causal"] == 1 and second["left_window_size"] == 2


def test_padding_stays_when_causality_is_taken_out() -> None:
    def build(b: Builder) -> None:
        q, k, v = qkv(b)
        padding = b.Unsqueeze(b.input("padding", "bool", (B, S)), np.array([1, 2]))
        b.outputs(b.Attention(q, k, v, b.And(by_comparison(b), padding), scale=0.3))

    padding = np.array([[False, True, True, True, False], [True] * 5])  # the first row of the first is hidden wholly
    graph, _ = check(build, [*arrays(), padding], *PASSES, tolerance=1e-6)
    assert attention(graph)["is_causal"] == 1 and attention(graph)["mask"] is not None
    assert "LessOrEqual" not in ops(graph)


def test_additive_causal_masks_of_eager_attention() -> None:
    def build(b: Builder) -> None:
        q, k, v = qkv(b)
        mask = b.Where(of_transformers(b), np.float32(0), np.float32(LOWEST))
        b.outputs(written_out(b, q, k, v, mask))

    graph, _ = check(build, arrays(), *PASSES, gives=["Attention"], tolerance=1e-5)
    assert attention(graph)["is_causal"] == 1


def test_a_causal_mask_by_fill_with_infinity_as_in_small_language_models() -> None:
    def build(b: Builder) -> None:
        q, k, v = qkv(b)
        scores = b.MatMul(q, b.Transpose(k, perm=[0, 1, 3, 2]))
        b.outputs(b.MatMul(b.Softmax(b.Where(b.Not(by_constant(b)), np.float32(-np.inf), scores), axis=3), v))

    graph, _ = check(build, arrays(), *PASSES, gives=["Attention"], tolerance=1e-5)
    assert attention(graph)["is_causal"] == 1


def test_past_keys_keep_their_mask() -> None:
    def build(b: Builder) -> None:
        q, k, v = qkv(b)
        past = (b.input(n, "float32", (B, 4, 3, 8)) for n in ("pk", "pv"))
        b.outputs(
            b.Attention(q, k, v, b.Pad(by_comparison(b), np.array([0, 0, 0, 0, 0, 0, 0, 3])), *past, num_outputs=3)[0]
        )

    check(build, [*arrays(), normal(2, 4, 3, 8), normal(2, 4, 3, 8)], *PASSES)


def test_a_mask_that_is_shorter_than_the_keys_hides_the_rest() -> None:
    def build(b: Builder) -> None:
        q, k, v = qkv(b, 5, 7)
        b.outputs(
            b.Attention(q, k, v, np.ones((5, 4), np.bool_)), b.Attention(q, k, v, np.zeros((5, 4), np.float32)),
            b.Attention(q, k, v, np.tri(5, 6, dtype=np.bool_)),
        )  # fmt: skip

    graph, _ = check(build, arrays(keys=7), *PASSES)
    assert all(n.input(3) is not None for n in graph.nodes if n.op == "Attention")


def test_a_mask_that_hides_nothing_goes() -> None:
    def build(b: Builder) -> None:
        q, k, v = qkv(b, 5, 5)
        everything = b.LessOrEqual(b.constant(np.arange(5)), np.int64(4))
        b.outputs(
            b.Attention(q, k, v, np.ones((5, 5), np.bool_)), b.Attention(q, k, v, np.zeros((1, 5), np.float32)),
            b.Attention(q, k, v, everything),
        )  # fmt: skip

    check(build, arrays(), *PASSES, gives=["Attention"])


def test_index_forms() -> None:
    b = Builder(Graph("g"))
    x = b.input("x", "int64", (S,))
    line = b.Range(np.int64(2), b.scalar(3 * S + 2), np.int64(3))
    forms = IndexForms()
    assert forms.of(line) == Affine(2, (3,))
    assert forms.of(b.Mul(b.Sub(line, np.int64(5)), np.int64(-2))) == Affine(6, (-6,))
    assert forms.of(b.constant(np.arange(12).reshape(3, 4))) == Affine(0, (4, 1))
    assert forms.of(b.constant(np.array([0, 1, 3]))) is None
    assert forms.of(x) is None and forms.of(b.Add(line, x)) is None
    assert forms.of(b.Cast(line, to="int32")) is None, "int32 may not hold every position"
    assert forms.of(b.Gather(line, b.constant(np.array([-1])))) is None, "counts from the end"
    assert forms.of(b.Gather(line, b.constant(np.array([1, 2])))) == Affine(5, (3,))
    assert forms.of(b.Less(line, np.int64(2))) == Mask(never=True)
    assert forms.of(b.LessOrEqual(b.constant(np.int64(2)), line)) == Mask()
    first, second = (b.Range(np.int64(0), b.scalar(size), np.int64(1)) for size in (S, T))
    whole = b.Concat([first, b.Add(second, b.scalar(S))], axis=0)
    assert forms.of(whole) == Affine(0, (1,))
    assert forms.of(b.Concat([line, line], axis=0)) is None
    assert forms.of(b.CumSum(b.Cast(b.Less(line, np.int64(0)), to="int64"), np.int64(0))) == Affine(0, (0,))
    assert forms.of(b.CumSum(line, np.int64(0))) is None
