"""Which forms are chosen: fused ones, unconfirmed ones, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from ge_core.ir import Builder, Graph, Location, Value
from tests.backends.ascend.roundtrip import graph_of, lowered, same, types

QKV = [("float16", (1, 4, 6, 16)), ("float16", (1, 2, 6, 16)), ("float16", (1, 2, 6, 16))]


def attention(b: Builder, q: object, k: object, v: object) -> object:
    return b.Attention(q, k, v)


def test_attention_is_products_unless_the_unconfirmed_form_is_allowed() -> None:
    assert "SoftmaxV2" in types(same(graph_of(attention, *QKV), tolerance=2e-3))


def test_fused_attention_by_chip_and_length() -> None:
    graph = graph_of(attention, *QKV)
    assert "FusedInferAttentionScore" in types(same(graph, allow_unsure=True, tolerance=2e-3))
    prompt = same(graph, target="ascend310p", allow_unsure=True, tolerance=2e-3)
    assert "PromptFlashAttention" in types(prompt)
    step = graph_of(attention, ("float16", (1, 4, 1, 16)), *QKV[1:])
    assert "IncreFlashAttention" in types(same(step, target="ascend310p", allow_unsure=True, tolerance=2e-3))


def test_fused_attention_with_a_mask() -> None:
    graph = graph_of(lambda b, q, k, v, m: b.Attention(q, k, v, m), *QKV, ("bool", (1, 1, 6, 6)))
    inputs = [np.random.default_rng(1).standard_normal(shape).astype(np.float16) for _, shape in QKV]
    mask = np.tril(np.ones((1, 1, 6, 6), bool))
    for target in ("ascend910b", "ascend310p"):
        same(graph, [*inputs, mask], target=target, allow_unsure=True, tolerance=2e-3)


def test_fused_causal_attention() -> None:
    graph = graph_of(lambda b, q, k, v: b.Attention(q, k, v, is_causal=1), *QKV)
    found = same(graph, target="ascend310p", allow_unsure=True, tolerance=2e-3)
    assert "PromptFlashAttention" in types(found)


@pytest.mark.parametrize("length", [6, "n"])
@pytest.mark.parametrize(
    "attrs",
    [{"is_causal": 1}, {"is_causal": 1, "left_window_size": 2}, {"left_window_size": 1, "right_window_size": 2}],
)
@pytest.mark.parametrize("masked", [False, True])
def test_fused_attention_leaves_out_what_order_and_windows_do(
    length: int | str, attrs: dict[str, int], masked: bool
) -> None:
    shapes = [("float16", (1, heads, length, 16)) for heads in (4, 2, 2)]
    masks = [("bool", (1, 1, 1, length))] if masked else []
    graph = graph_of(lambda b, q, k, v, *m: b.Attention(q, k, v, *m, **attrs), *shapes, *masks)
    inputs = [
        np.random.default_rng(i).standard_normal((1, h, 6, 16)).astype(np.float16) for i, h in enumerate((4, 2, 2))
    ]
    inputs += [np.arange(6).reshape(1, 1, 1, 6) < 5] if masked else []
    for target, form in (("ascend910b", "FusedInferAttentionScore"), ("ascend310p", "PromptFlashAttention")):
        assert form in types(same(graph, inputs, target=target, allow_unsure=True, tolerance=2e-3))


def test_swiglu_takes_both_halves_as_one_tensor() -> None:
    graph = graph_of(lambda b, x: b.SwiGLU(*b.Split(x, axis=-1, num_outputs=2)), ("float32", (3, 8)))
    assert "SwiGlu" in types(same(graph))


def test_norms_have_operators_of_their_own() -> None:
    ones = ("float32", (8,))
    assert "RmsNorm" in types(lowered(graph_of(lambda b, x, g: b.RMSNormalization(x, g), ("float32", (2, 8)), ones)))
    assert "LayerNormV4" in types(
        lowered(graph_of(lambda b, x, g: b.LayerNormalization(x, g), ("float32", (2, 8)), ones))
    )


def test_rotary_positions_turn_by_one_operator() -> None:
    table = ("float32", (1, 3, 2))
    graph = graph_of(lambda b, x, c, s: b.RotaryEmbedding(x, c, s), ("float32", (1, 2, 3, 4)), table, table)
    assert types(same(graph))[-1] == "RotaryMul"


def test_an_addition_before_a_norm_joins_it() -> None:
    def build(b: Builder, x: object, y: object, g: object) -> object:
        total = b.Add(x, y)
        return b.RMSNormalization(total, g), b.Mul(total, 2.0)

    graph = graph_of(build, ("float32", (2, 8)), ("float32", (2, 8)), ("float32", (8,)))
    found = types(same(graph))
    assert "AddRmsNorm" in found and "Add" not in found


@pytest.mark.parametrize("target", ["ascend910b", "ascend310p"])
def test_an_addition_before_a_layer_norm_joins_it_where_that_is_allowed(target: str) -> None:
    def build(b: Builder, x: Value, y: Value, g: Value, z: Value) -> object:
        total = b.Add(x, y)
        return b.LayerNormalization(total, g, z), b.Mul(total, 2.0)

    kinds = [("float32", shape) for shape in ((2, 8), (2, 8), (8,), (8,))]
    graph = graph_of(build, *kinds)
    fused = types(same(graph, target=target, tolerance=1e-2, allow_unsure=True))
    assert "AddLayerNorm" in fused and "Add" not in fused
    assert "AddLayerNorm" not in types(same(graph, target=target, tolerance=1e-2))


def test_unconfirmed_activations_are_built_from_primitives() -> None:
    graph = graph_of(lambda b, x: b.Gelu(x), ("float32", (3, 4)))
    assert "GeluV2" not in types(same(graph))
    assert types(same(graph, allow_unsure=True)) == ["GeluV2"]


def test_convolutions_say_their_format_and_everything_else_none() -> None:
    graph = graph_of(lambda b, x, w: b.Relu(b.Conv(x, w)), ("float32", (1, 3, 8, 8)), ("float32", (4, 3, 3, 3)))
    ops = {op.type: op for op in lowered(graph).program.ops()}
    assert ops["Conv2D"].formats == {"x": "NCHW", "filter": "NCHW", "y": "NCHW"}
    assert ops["Relu"].formats == {}


def test_everything_that_cannot_be_lowered_is_reported_at_once_with_its_place() -> None:
    graph = Graph("net")
    b = Builder(graph)
    x = b.input("x", "float32", (1, 2, 8, 8))
    with b.at(Location("torch", "pool", "model.py", 3, "lp_pool2d")):
        y = b.LpPool(x, kernel_shape=[2, 2], dilations=[2, 2])
    with b.at(Location("torch", "pad", "model.py", 4, "pad")):
        y = b.Pad(y, b.ints(0, 0, 1, 1, 0, 0, 1, 1), mode="wrap")
    with b.at(Location("torch", "end", "model.py", 5, "digamma")):
        b.outputs(b.ge.Digamma(b.Relu(y)))
    found = [str(p) for p in lowered(graph).problems]
    assert len(found) == 3
    assert "dilations" in found[0] and "model.py:3" in found[0]
    assert "wrap" in found[1] and "model.py:4" in found[1]
    assert "ge.Digamma" in found[2] and "model.py:5" in found[2]


def test_every_form_that_is_emitted_exists_in_the_table() -> None:
    from ge_ascend.lower.registry import LOWERINGS, lowering_of
    from ge_ascend.meaning import MEANINGS, meaning_of
    from ge_ascend.prototypes import prototype

    assert lowering_of("Conv") and meaning_of("Conv2D")
    assert len(LOWERINGS) > 180 and len(MEANINGS) > 180
    assert all(prototype(name) is not None for name in MEANINGS)


def test_a_refused_operator_says_why_and_what_to_do() -> None:
    def build(b: Builder, x: Value) -> object:
        return b.ge.Lgamma(x)

    (problem,) = lowered(graph_of(build, ("float32", (2,)))).problems
    assert "no logarithm of the gamma function" in str(problem) and "before the model" in str(problem)


def test_random_numbers_of_a_constant_seed_stand_in_the_file() -> None:
    def build(b: Builder, x: Value) -> object:
        return b.Add(x, b.ge.Random(b.ints(2, 3), np.int64(7), np.int64(5), dtype="float32", distribution="normal"))

    found = same(graph_of(build, ("float32", (2, 3))))
    assert types(found) == ["Add"] and any("drawn when" in line for line in found.notes.lines())
