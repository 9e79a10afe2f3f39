"""Rotary embedding as torch's models write it, and what is no rotary embedding."""

from __future__ import annotations

import numpy as np
import pytest

from ge_core.ir import Builder, Value, symbol
from ge_core.passes.canonicalise import Canonicalise, ShapeArithmetic
from ge_core.passes.cse import CommonSubexpressions
from ge_core.passes.dce import DeadCode
from ge_core.passes.recognise import RecogniseRotary
from ge_core.passes.shapes import Shapes
from tests.core.passes.rewriting import check, normal, ops

N, S = symbol("n", 1, 4), symbol("s", 1, 16)
CLEAN = (ShapeArithmetic(), Canonicalise(), Shapes(), CommonSubexpressions(), DeadCode())
PASSES = (*CLEAN, RecogniseRotary(), *CLEAN)
END = 2**63 - 1
FREQUENCIES = (1.0 / 10000 ** (np.arange(0, 8, 2) / 8)).astype(np.float32)


def part(b: Builder, x: Value, start: int, end: int) -> Value:
    return b.Slice(x, np.array([start]), np.array([end]), np.array([-1]))


def rotate_half(b: Builder, x: Value, swapped: bool = False) -> Value:
    early, late = part(b, x, 0, 4), part(b, x, 4, END)
    return b.Concat([b.Neg(early), late] if swapped else [b.Neg(late), early], axis=-1)


def angles(b: Builder) -> Value:
    """position · frequency, twice."""
    position = b.Cast(b.Range(np.int64(0), b.scalar(S), np.int64(1)), to="float32")
    f = b.Mul(b.Unsqueeze(position, np.array([0, 2])), FREQUENCIES)
    return b.Concat([f, f], axis=-1)


def apply(b: Builder, x: Value, cos: Value, sin: Value) -> Value:
    return b.Add(b.Mul(x, cos), b.Mul(rotate_half(b, x), sin))


def test_llama() -> None:
    def build(b: Builder) -> None:
        q, k = b.input("q", "float32", (N, 4, S, 8)), b.input("k", "float32", (N, 2, S, 8))
        full = angles(b)
        cos, sin = (b.Unsqueeze(b.Mul(f(full), 1.25), np.array([1])) for f in (b.Cos, b.Sin))
        b.outputs(apply(b, q, cos, sin), apply(b, k, cos, sin))

    graph, _ = check(build, [normal(2, 4, 6, 8), normal(2, 2, 6, 8)], *PASSES, tolerance=1e-6)
    found = ops(graph)
    assert found.count("RotaryEmbedding") == 2 and found.count("Cos") == 1 and "Concat" not in found


def test_tables_picked_by_position() -> None:
    angle = np.arange(16)[:, None] * np.concatenate([FREQUENCIES, FREQUENCIES]).astype(np.float64)

    def build(b: Builder) -> None:
        x, ids = b.input("x", "float32", (N, 3, S, 8)), b.input("ids", "int64", (N, S))
        tables = (b.constant(f(angle).astype(np.float32)) for f in (np.cos, np.sin))
        cos, sin = (b.Unsqueeze(b.Gather(t, ids), np.array([1])) for t in tables)
        b.outputs(apply(b, x, cos, sin))

    ids = np.array([[3, 0, 7, 15], [1, 2, 3, 4]])
    graph, _ = check(build, [normal(2, 3, 4, 8), ids], *PASSES, tolerance=1e-6)
    assert ops(graph).count("RotaryEmbedding") == 1


def test_only_a_part_of_the_head_is_turned() -> None:
    def build(b: Builder) -> None:
        x = b.input("x", "float32", (N, 4, S, 12))
        full = angles(b)
        cos, sin = (b.Unsqueeze(f(full), np.array([1])) for f in (b.Cos, b.Sin))
        b.outputs(b.Concat([apply(b, part(b, x, 0, 8), cos, sin), part(b, x, 8, END)], axis=-1))

    graph, _ = check(build, [normal(2, 4, 6, 12)], *PASSES, tolerance=1e-6)
    node = graph.nodes.last
    assert node is not None and node.op == "RotaryEmbedding" and node.attrs["rotary_embedding_dim"] == 8


@pytest.mark.parametrize("how", ["constant", "expand", "interleave"])
def test_interleaved(how: str) -> None:
    """Even and odd elements turn together, as in GPT-J and EVA."""

    def build(b: Builder) -> None:
        x = b.input("x", "float32", (N, 3, 6, 8))
        if how == "constant":
            angle = b.constant((np.arange(6)[:, None] * FREQUENCIES.repeat(2)).astype(np.float32))
        else:
            f = b.constant((np.arange(6)[:, None] * FREQUENCIES).astype(np.float32))
            if how == "interleave":
                angle = b.ge.RepeatInterleave(f, np.int64(2), axis=1)
            else:
                angle = b.Reshape(b.Expand(b.Unsqueeze(f, np.array([2])), np.array([6, 4, 2])), np.array([6, 8]))
        even, odd = (b.Slice(x, np.array([k]), np.array([END]), np.array([3]), np.array([2])) for k in (0, 1))
        turned = b.Concat([b.Unsqueeze(b.Neg(odd), np.array([4])), b.Unsqueeze(even, np.array([4]))], axis=-1)
        b.outputs(b.Add(b.Mul(x, b.Cos(angle)), b.Mul(b.Reshape(turned, b.ints(N, 3, 6, 8)), b.Sin(angle))))

    graph, _ = check(build, [normal(2, 3, 6, 8)], *PASSES, tolerance=1e-6)
    assert [n.attrs["interleaved"] for n in graph.nodes if n.op == "RotaryEmbedding"] == [1]
    assert "Concat" not in ops(graph)


@pytest.mark.parametrize("case", ["halves differ", "swapped", "per head", "unknown halves"])
def test_what_is_no_rotary_embedding(case: str) -> None:
    def build(b: Builder) -> None:
        x, free = b.input("x", "float32", (N, 4, S, 8)), b.input("free", "float32", (N, 1, S, 8))
        full = angles(b)
        if case == "halves differ":
            f = part(b, full, 0, 4)
            full = b.Concat([f, b.Mul(f, 2.0)], axis=-1)
        cos, sin = (b.Unsqueeze(f(full), np.array([1])) for f in (b.Cos, b.Sin))
        if case == "per head":
            cos = b.Mul(cos, normal(1, 4, 1, 8))
        if case == "unknown halves":
            sin = free
        turned = rotate_half(b, x, swapped=case == "swapped")
        b.outputs(b.Add(b.Mul(x, cos), b.Mul(turned, sin)))

    graph, ctx = check(build, [normal(2, 4, 6, 8), normal(2, 1, 6, 8)], *PASSES)
    assert "RotaryEmbedding" not in ops(graph)
    assert any(m.rule == "rotary" for m in ctx.report.misses)
