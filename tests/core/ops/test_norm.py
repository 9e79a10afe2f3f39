"""Normalisations, softmax, dropout and losses: ONNX's cases, comparison with PyTorch, symbolic sizes, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from ge_core.errors import IndexRangeError, TypeRuleError
from tests.core.ops.onnx_cases import Case, cases, check_case
from tests.core.ops.single_node import Rule, check_rule, run_node

RNG = np.random.default_rng(0)
OPS = (
    "BatchNormalization", "LayerNormalization", "RMSNormalization", "GroupNormalization", "InstanceNormalization",
    "LpNormalization", "MeanVarianceNormalization", "LRN", "Softmax", "LogSoftmax", "Dropout",
    "NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss",
)  # fmt: skip


def _training(case: Case) -> bool:
    return "training" in case.name


@pytest.mark.parametrize("case", [p for p in cases(*OPS) if not _training(p.values[0])])
def test_onnx(case: Case) -> None:
    check_case(case)


@pytest.mark.parametrize("case", [p for p in cases("BatchNormalization", "Dropout") if _training(p.values[0])])
def test_training_forms_are_refused(case: Case) -> None:
    with pytest.raises(TypeRuleError, match="training mode is not part of the IR"):
        check_case(case)


def f32(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


RULES = [
    Rule("BatchNormalization", [("a", 3, "b"), (3,), (3,), (3,), (3,)]),
    Rule("LayerNormalization", [("a", "b", 4), (4,), (4,)], num_outputs=3),
    Rule("LayerNormalization", [("a", "b", 4), ("b", 4)], {"axis": 1}),
    Rule("RMSNormalization", [("a", "b", 4), (4,)]),
    Rule("GroupNormalization", [("a", 6, "b"), (6,), (6,)], {"num_groups": 3}),
    Rule("InstanceNormalization", [("a", 3, "b"), (3,), (3,)]),
    Rule("LpNormalization", [("a", "b")], {"axis": 0, "p": 1}),
    Rule("MeanVarianceNormalization", [("a", "b")], {"axes": [1]}),
    Rule("LRN", [("a", 5, "b")], {"size": 3}),
    Rule("Softmax", [("a", "b")], {"axis": 0}),
    Rule("LogSoftmax", [("a", "b")]),
    Rule("Dropout", [("a", "b")], num_outputs=2),
    Rule("NegativeLogLikelihoodLoss", [("a", 5, "b"), ("a", "b")], {"reduction": "none"}, {1: "int64"}, {1: 5}),
    Rule("SoftmaxCrossEntropyLoss", [("a", 5, "b"), ("a", "b")], {}, {1: "int32"}, {1: 5}, num_outputs=2),
]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_sizes(rule: Rule) -> None:
    check_rule(rule)


def test_against_torch() -> None:
    x, w, b = f32(3, 6, 5, 4), f32(6), f32(6)
    mean, var = f32(6), np.abs(f32(6))
    t, tw, tb = map(torch.from_numpy, (x, w, b))
    close = {"rtol": 1e-5, "atol": 1e-5}
    expected = F.batch_norm(t, torch.from_numpy(mean), torch.from_numpy(var), tw, tb, eps=1e-3)
    got = run_node("BatchNormalization", x, w, b, mean, var, epsilon=1e-3)
    np.testing.assert_allclose(got, expected.numpy(), **close)
    expected = F.group_norm(t, 2, tw, tb, 1e-4)
    np.testing.assert_allclose(run_node("GroupNormalization", x, w, b, num_groups=2, epsilon=1e-4), expected, **close)
    expected = F.instance_norm(t, weight=tw, bias=tb)
    np.testing.assert_allclose(run_node("InstanceNormalization", x, w, b), expected, **close)
    w, b = f32(5, 4), f32(5, 4)
    expected = F.layer_norm(t, (5, 4), torch.from_numpy(w), torch.from_numpy(b))
    np.testing.assert_allclose(run_node("LayerNormalization", x, w, b, axis=-2), expected, **close)
    expected = F.rms_norm(t, (5, 4), torch.from_numpy(w), 1e-5)
    np.testing.assert_allclose(run_node("RMSNormalization", x, w, axis=2), expected, **close)
    expected = F.local_response_norm(t, 3, 0.01, 0.6, 1.5)
    np.testing.assert_allclose(run_node("LRN", x, size=3, alpha=0.01, beta=0.6, bias=1.5), expected, **close)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("op", ["LayerNormalization", "RMSNormalization", "Softmax", "LogSoftmax"])
def test_small_floats_are_rounded_once(op: str, dtype: str) -> None:
    """The float32 result of the same data, rounded, is the result."""
    x = (f32(4, 64) * 3).astype(dtype)
    operands = [x, f32(64).astype(dtype)] if "Norm" in op else [x]
    got = run_node(op, *operands)
    wide = run_node(op, *(v.astype(np.float32) for v in operands))
    np.testing.assert_array_equal(got, wide.astype(dtype))


def test_large_values_do_not_overflow() -> None:
    x = np.array([[1e4, 1e4 - 1, -np.inf]], np.float32)
    np.testing.assert_allclose(run_node("Softmax", x), [[0.731058, 0.268941, 0]], rtol=1e-5)
    np.testing.assert_allclose(run_node("LogSoftmax", x), [[-0.313262, -1.313262, -np.inf]], rtol=1e-5)


def test_layer_norm_of_doubles_keeps_their_precision() -> None:
    x = 1e6 + RNG.standard_normal((2, 50))
    expected = F.layer_norm(torch.from_numpy(x), (50,)).numpy()
    np.testing.assert_allclose(run_node("LayerNormalization", x, np.ones(50)), expected, rtol=1e-7)


def test_empty_data() -> None:
    assert run_node("Softmax", np.zeros((2, 0), np.float32)).shape == (2, 0)
    assert run_node("LogSoftmax", np.zeros((0, 3), np.float32)).shape == (0, 3)


def test_a_vector_of_zeros_stays_zero() -> None:
    for p in (1, 2):
        got = run_node("LpNormalization", np.array([[0, 0], [3, 4]], np.float32), p=p)
        np.testing.assert_allclose(got, [[0, 0], [3 / (7 if p == 1 else 5), 4 / (7 if p == 1 else 5)]], rtol=1e-6)


def test_labels_that_are_no_class_are_errors() -> None:
    with pytest.raises(IndexRangeError, match="there are 3 classes"):
        run_node("NegativeLogLikelihoodLoss", f32(2, 3), np.array([0, 3]))


@pytest.mark.parametrize(
    ("op", "shapes", "attrs", "why"),
    [
        ("LayerNormalization", [(2, 4), (5,)], {}, "data and Scale differ: 4 and 5"),
        ("LayerNormalization", [(4,), (1, 4)], {}, "Scale of rank 2 for data of rank 1"),
        ("GroupNormalization", [(2, 5), (5,), (5,)], {"num_groups": 2}, "do not divide into 2 groups"),
        ("BatchNormalization", [(2, 3), (4,), (3,), (3,), (3,)], {}, "scale and the channels differ"),
        ("Softmax", [(2, 3)], {"axis": 2}, "axis 2 is out of range for rank 2"),
        ("LpNormalization", [(2, 3)], {"p": 3}, "expected 1 or 2"),
    ],
)
def test_refused(op: str, shapes: list[tuple[int, ...]], attrs: dict[str, Any], why: str) -> None:
    with pytest.raises(TypeRuleError, match=why):
        run_node(op, *(np.ones(s, np.float32) for s in shapes), **attrs)
