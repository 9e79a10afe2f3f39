"""Every decomposition gives its kernel's values and types, on ONNX's cases and on cases of our own, for known sizes
and for symbolic ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes  # noqa: F401  numpy knows bfloat16 by name once it is imported
import numpy as np
import pytest

from ge_core.errors import GraphError
from ge_core.ir import Builder, DType, Graph, TensorType, symbol
from ge_core.ir.traverse import walk
from ge_core.ir.verifier import verify
from ge_core.ops.registry import DECOMPOSITIONS
from ge_core.passes.retype import compatible
from ge_core.reference.interpret import interpret
from tests.core.ops.onnx_cases import Case, assert_close, build, cases

RNG = np.random.default_rng(0)

# Of ONNX's many cases of these, a sample: their decompositions do not depend on the rest.
_SAMPLED = {"CastLike": 6, "Clip": 3, "SoftmaxCrossEntropyLoss": 2, "LayerNormalization": 2, "RMSNormalization": 2}


def _cases() -> list[Any]:
    out = []
    for op in DECOMPOSITIONS.names():
        if op.startswith("ge.") or op in ("GlobalLpPool",):
            continue
        found = [p for p in cases(op) if "training" not in p.id]
        out += found[:: _SAMPLED.get(op, 1)]
    return out


def expand(graph: Graph, op: str) -> None:
    """Replace every node of an operator once."""
    rule = DECOMPOSITIONS.get(op)
    assert rule is not None
    found = 0
    for node in list(walk(graph)):
        if node.op != op or node.block is None:
            continue
        found += 1
        results = rule(Builder(node.block, node, node.loc), node)
        for old, new in zip(node.outputs, results, strict=True):
            assert compatible(old.type, new.type), f"{old.type} became {new.type}"
            old.replace_uses(new)
        node.block.nodes.remove(node)
    assert found
    verify(graph)


def check(graph: Graph, arrays: Sequence[Any], op: str) -> None:
    """The expanded graph gives what the kernel gives."""
    expected = interpret(graph, arrays)[0]
    expand(graph, op)
    for got, wanted in zip(interpret(graph, arrays)[0], expected, strict=True):
        assert_close(got, wanted)


@pytest.mark.parametrize("case", _cases())
def test_onnx_cases(case: Case) -> None:
    graph, arrays = build(case, constants=True)
    check(graph, arrays, case.op)
    # the channels of a stateful convolution are the groups of a Conv, which are never symbolic
    symbolic = () if case.op == "CausalConvWithState" else range(len(case.inputs))
    graph, arrays = build(case, constants=True, symbolic=symbolic)
    check(graph, arrays, case.op)


def f32(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


@dataclass(frozen=True)
class Own:
    """A case of our own: arrays are inputs, numpy scalars and None stay what they are."""

    op: str
    inputs: Sequence[Any]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    num_outputs: int | None = None

    def __str__(self) -> str:
        return self.op


_SPECIAL = np.array([0.3, -0.7, 0.0, -0.0, 50.0, -50.0, np.inf, -np.inf, np.nan], np.float32)
_UNARY = ("ge.Square", "ge.IsFinite", "ge.LogSigmoid", "Sigmoid", "Relu", "Gelu", "Mish", "Softplus", "Swish")
_MASK = np.array([[True, False, True], [False, False, False]])

OWN = [
    *(Own(op, [_SPECIAL]) for op in _UNARY),
    *(Own(op, [f32(3, 4).astype("float16")]) for op in ("Gelu", "Softmax", "LogSoftmax", "Mish", "ReduceL2")),
    *(Own(op, [_SPECIAL, np.roll(_SPECIAL, 1)]) for op in ("ge.FMax", "ge.FMin", "ge.LogAddExp", "LessOrEqual")),
    Own("Gelu", [f32(4)], {"approximate": "tanh"}),
    Own("Clip", [np.arange(6, dtype=np.int64), None, np.int64(3)]),
    Own("GlobalLpPool", [f32(2, 3, 4, 5)], {"p": 3}),
    Own("GlobalMaxPool", [f32(2, 3, 4).astype("bfloat16")]),
    Own("BatchNormalization", [f32(2, 3, 4).astype("float16"), *[f32(3).astype("float16")] * 2, f32(3), f32(3) ** 2]),
    Own("BatchNormalization", [f32(2, 3), f32(3), f32(3), f32(3), f32(3) ** 2]),
    Own("LayerNormalization", [f32(2, 3, 4).astype("bfloat16"), f32(4).astype("bfloat16")], {}, 3),
    Own("LayerNormalization", [RNG.standard_normal((2, 3, 4)), RNG.standard_normal((3, 4))], {"axis": 1}),
    Own("RMSNormalization", [f32(2, 4).astype("float16"), f32(4)]),
    Own("LpNormalization", [np.array([[0, 0], [3, 4]], np.float32)], {"p": 1}),
    Own("ReduceLogSumExp", [np.array([[-np.inf, -np.inf], [1e4, 1e4]], np.float32), np.array([1])], {"keepdims": 0}),
    Own("ReduceL1", [np.array([[-3, 4], [5, -6]], np.int32)]),
    Own("Gemm", [f32(4, 3), f32(5, 4), f32(5)], {"transA": 1, "transB": 1, "alpha": 0.5, "beta": 2.0}),
    Own(
        "Gemm",
        [np.arange(6, dtype=np.int32).reshape(2, 3), np.ones((3, 2), np.int32), np.ones(2, np.int32)],
        {"alpha": 1.5},
    ),
    Own("Einsum", [f32(2, 3, 4, 5), f32(2, 3, 6, 5)], {"equation": "bhqd,bhkd->bqhk"}),
    Own("Einsum", [f32(3, 3, 2), f32(2)], {"equation": "iij,j->i"}),
    Own("Einsum", [f32(1, 4), f32(3, 4)], {"equation": "ij,ij->j"}),
    Own("Einsum", [f32(2, 3), f32(3, 4), f32(4)], {"equation": "ij,jk,k"}),
    Own("Einsum", [f32(2, 1, 3, 4), f32(5, 4, 6)], {"equation": "...ij,...jk->...ki"}),
    Own("Attention", [f32(2, 4, 2, 8), f32(2, 2, 3, 8), f32(2, 2, 3, 5), _MASK], {"softcap": 2.0, "scale": 0.2}, 4),
    Own(
        "Attention",
        [f32(1, 2, 16), f32(1, 5, 8), f32(1, 5, 6), None, f32(1, 2, 3, 4), f32(1, 2, 3, 3)],
        {"q_num_heads": 4, "kv_num_heads": 2, "is_causal": 1, "left_window_size": 2},
        3,
    ),
    Own(
        "Attention",
        [f32(2, 2, 1, 4), f32(2, 2, 6, 4), f32(2, 2, 6, 4), None, None, None, np.array([3, 6])],
        {"is_causal": 1},
    ),
    Own("CausalConvWithState", [f32(2, 3, 5), f32(3, 1, 4), f32(3), f32(2, 3, 3)], {"activation": "silu"}, 2),
    Own("DynamicQuantizeLinear", [np.zeros(3, np.float32)], {}, 3),
    Own("HannWindow", [np.int64(1)], {"periodic": 0}),
    Own("BlackmanWindow", [np.int64(9)], {"periodic": 0, "output_datatype": "float64"}),
    Own("AffineGrid", [f32(2, 2, 3), np.array([2, 1, 1, 4])], {"align_corners": 1}),
    Own("CenterCropPad", [f32(5, 4, 3), np.array([2, 7, 3])]),
    Own("CastLike", [f32(4), np.int8(1)]),
]


@pytest.mark.parametrize("own", OWN, ids=str)
@pytest.mark.parametrize("symbolic", [False, True])
def test_own_cases(own: Own, symbolic: bool) -> None:
    b = Builder(Graph())
    values, arrays = [], []
    for i, given in enumerate(own.inputs):
        constant = not isinstance(given, np.ndarray) or (given.ndim == 1 and given.dtype == np.int64 and i > 0)
        if given is None or constant:
            values.append(None if given is None else b.constant(given))
            continue
        fixed = not symbolic or own.op == "CausalConvWithState"
        shape = [n if fixed or n < 2 else symbol(f"d{n}", 2) for n in given.shape]
        values.append(b.input(f"x{i}", DType.of(given.dtype), shape))
        arrays.append(given)
    result = b.op(own.op, *values, num_outputs=own.num_outputs, **own.attrs)
    b.outputs(*(result if isinstance(result, tuple) else (result,)))
    check(b.graph, arrays, own.op)


def test_every_decomposition_is_tested() -> None:
    tested = {p.values[0].op for p in _cases()} | {own.op for own in OWN}
    assert set(DECOMPOSITIONS.names()) <= tested


def test_symbolic_channels_of_a_stateful_convolution_are_refused() -> None:
    b = Builder(Graph())
    c = symbol("c", 1)
    x, w = b.input("x", "float32", (1, c, 4)), b.input("w", "float32", (c, 1, 2))
    y, _ = b.CausalConvWithState(x, w)
    b.outputs(y)
    with pytest.raises(GraphError, match="the number of channels is c"):
        expand(b.graph, "CausalConvWithState")


def test_results_have_the_outputs_of_the_node() -> None:
    """An optional output that the node lacks is not in the result either."""
    b = Builder(Graph())
    x = b.input("x", "float32", (2, 4, 3, 8))
    y = b.Attention(x, x, x)
    rule = DECOMPOSITIONS.get("Attention")
    assert rule is not None and y.producer is not None
    made = rule(b, y.producer)
    assert len(made) == 1 and made[0].type == TensorType(DType.of("float32"), (2, 4, 3, 8))
