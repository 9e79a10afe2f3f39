"""Quantisation: ONNX's cases, granularities, 4-bit and 8-bit types, symbolic sizes, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ge_core.errors import TypeRuleError
from ge_core.ir import DType
from tests.core.ops.onnx_cases import Case, cases, check_case
from tests.core.ops.single_node import Rule, check_rule, run_node

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("case", cases("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"))
def test_onnx(case: Case) -> None:
    check_case(case)


RULES = [
    Rule("QuantizeLinear", [("a", "b"), np.float32(0.1)]),
    Rule("QuantizeLinear", [("a", "b"), ("b",), ("b",)], {"axis": -1}, {2: "int8"}),
    Rule("QuantizeLinear", [("a", 7), ("a", 3), ("a", 3)], {"axis": 1, "block_size": 3}, {2: "uint8"}),
    Rule("DequantizeLinear", [("a", "b"), ("a",)], {"axis": 0}, {0: "int8"}),
    Rule("DequantizeLinear", [("a", 8), ("a", 2)], {"block_size": 4, "output_dtype": "float16"}, {0: "uint8"}),
    Rule("DynamicQuantizeLinear", [("a", "b")], num_outputs=3),
]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_sizes(rule: Rule) -> None:
    check_rule(rule)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int4", "uint4", "int2", "uint2"])
def test_integers_round_to_even_and_saturate(dtype: str) -> None:
    kind = DType.of(dtype)
    x = np.array([-1e9, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 1e9, -np.inf, np.inf], np.float32)
    zero = np.array(1, np.int64).astype(kind.numpy)
    got = run_node("QuantizeLinear", x, np.float32(1), zero).astype(np.int64)
    whole = np.array([-1e9, -2, -2, 0, 0, 2, 2, 1e9, -1e9, 1e9]) + 1
    np.testing.assert_array_equal(got, np.clip(whole, kind.min, kind.max).astype(np.int64))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int4", "uint4"])
@pytest.mark.parametrize(("scale", "attrs"), [((), {}), ((3,), {"axis": 0}), ((3, 2), {"axis": 1, "block_size": 5})])
def test_quantised_values_come_back(dtype: str, scale: tuple[int, ...], attrs: dict[str, Any]) -> None:
    kind = DType.of(dtype)
    x = RNG.integers(int(kind.min), int(kind.max), (3, 9), endpoint=True).astype(
        np.int8 if kind.kind == "int" else np.uint8
    )
    factor = (RNG.random(scale) + 0.5).astype(np.float32)
    zero = RNG.integers(0, 4, scale).astype(np.int8).astype(kind.numpy)
    real = run_node("DequantizeLinear", x.astype(kind.numpy), factor, zero, **attrs)
    spread = np.repeat(factor, 5, axis=1)[:, :9] if len(scale) == 2 else factor.reshape(-1, 1) if scale else factor
    offset = zero.astype(np.float32)
    offset = np.repeat(offset, 5, axis=1)[:, :9] if len(scale) == 2 else offset.reshape(-1, 1) if scale else offset
    np.testing.assert_allclose(real, (x.astype(np.float32) - offset) * spread, rtol=1e-6)
    back = run_node("QuantizeLinear", real, factor, zero, **attrs)
    np.testing.assert_array_equal(back.astype(np.int8), x.astype(np.int8))


def test_float8_saturates_or_overflows() -> None:
    x = np.array([1.0, 1e6, -1e6, np.nan], np.float32)
    zero = np.zeros((), DType.of("float8e5m2").numpy)
    got = run_node("QuantizeLinear", x, np.float32(1), zero).astype(np.float32)
    np.testing.assert_array_equal(got, np.array([1, 57344, -57344, np.nan], np.float32))
    got = run_node("QuantizeLinear", x, np.float32(1), zero, saturate=0).astype(np.float32)
    np.testing.assert_array_equal(got, np.array([1, np.inf, -np.inf, np.nan], np.float32))


def test_the_scale_decides_the_precision() -> None:
    """1.5 in float16 steps of the quotient: 2049.5 rounds to 2050 in float32 and is 2048 or 2050 in float16."""
    x, scale = np.array([2049.0], np.float32), np.array(1, np.float16)
    got = run_node("QuantizeLinear", x, scale, np.int16(0))
    assert got[0] == 2048
    assert run_node("QuantizeLinear", x, scale, np.int16(0), precision=1)[0] == 2049


def test_dynamic_quantisation_covers_zero() -> None:
    for data, scale, zero in (([1, 2, 3], 3 / 255, 0), ([-1, -3], 3 / 255, 255), ([0, 0], 0, 0)):
        x = np.array(data, np.float32)
        y, s, z = run_node("DynamicQuantizeLinear", x, num_outputs=3)
        np.testing.assert_allclose(s, scale, rtol=1e-6)
        assert z == zero
        np.testing.assert_allclose((y.astype(np.float32) - z) * s, x, atol=scale)


@pytest.mark.parametrize(
    ("shapes", "attrs", "why"),
    [
        ([(2, 3), (2,)], {}, "scale and of the quantised axis differ: 2 and 3"),
        ([(2, 3), (2, 3)], {}, "a scale of rank 2 needs block_size"),
        ([(2, 6), (2, 2)], {"block_size": 2}, "scales and blocks differ: 2 and 3"),
        ([(2, 3), ()], {"output_dtype": "int32"}, "does not quantise to int32"),
    ],
)
def test_refused(shapes: list[tuple[int, ...]], attrs: dict[str, Any], why: str) -> None:
    with pytest.raises(TypeRuleError, match=why):
        run_node("QuantizeLinear", *(np.ones(s, np.float32) for s in shapes), **attrs)


def test_zero_points_have_the_shape_of_scales() -> None:
    with pytest.raises(TypeRuleError, match="zero point"):
        run_node("QuantizeLinear", np.ones((2, 3), np.float32), np.ones(3, np.float32), np.uint8(1))
