"""Random numbers: the published vectors of Philox, distributions, types, and the refusal of undefined numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ge_core.errors import ExecutionError, TypeRuleError
from ge_core.ir import Builder, DType, Graph, symbol
from ge_core.reference.interpret import interpret
from ge_core.reference.random import philox
from tests.core.ops.single_node import Rule, check_rule, run_node


def draw(shape: tuple[int, ...], seed: int = 7, offset: int = 0, **attrs: Any) -> np.ndarray:
    attrs = {"dtype": "float32", **attrs}
    result: np.ndarray = run_node("ge.Random", np.array(shape), np.int64(seed), np.int64(offset), **attrs)
    return result


def test_published_vector() -> None:
    """Known answer of Random123 for philox4x32 with 10 rounds, counter and key 0."""
    assert [hex(w) for w in philox(0, 0, 4)] == ["0x6627e8d5", "0xe169c58d", "0xbc57ac4c", "0x9b00dbd8"]


def test_key_and_counter_words_are_in_place() -> None:
    """The rounds written out with Python's integers."""
    seed, offset = 0x0123456789ABCDEF, 0xFEDCBA9876543210
    c, k = [offset & 0xFFFFFFFF, offset >> 32, 0, 0], [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        a, b = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [(b >> 32) ^ c[1] ^ k[0], b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ k[1], a & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    assert philox(seed, offset, 4).tolist() == c
    np.testing.assert_array_equal(philox(seed, offset, 12)[4:8], philox(seed, offset + 1, 4))


def test_streams_continue_and_differ() -> None:
    whole = draw((12,), distribution="uniform")
    np.testing.assert_array_equal(draw((4,), offset=2, distribution="uniform"), whole[8:])
    np.testing.assert_array_equal(draw((3, 4), distribution="uniform").ravel(), whole)
    assert not np.array_equal(draw((12,), seed=8, distribution="uniform"), whole)
    assert not np.array_equal(draw((12,), seed=7 + (1 << 40), distribution="uniform"), whole)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_uniform(dtype: str) -> None:
    x = draw((20000,), distribution="uniform", low=-1.0, high=3.0, dtype=dtype)
    assert x.dtype == dtype
    wide = x.astype(np.float64)
    assert wide.min() >= -1 and wide.max() < 3
    assert abs(wide.mean() - 1) < 0.03 and abs(wide.std() - 4 / np.sqrt(12)) < 0.03


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_normal(dtype: str) -> None:
    x = draw((20001,), distribution="normal", low=2.0, high=0.5, dtype=dtype).astype(np.float64)
    assert abs(x.mean() - 2) < 0.015 and abs(x.std() - 0.5) < 0.015
    z = (x - x.mean()) / x.std()
    assert abs((z**3).mean()) < 0.06 and abs((z**4).mean() - 3) < 0.15
    assert np.isfinite(x).all()


def test_bernoulli() -> None:
    x = draw((20000,), distribution="bernoulli", high=0.3, dtype="bool")
    assert x.dtype == np.bool_ and abs(x.mean() - 0.3) < 0.015
    assert not draw((100,), distribution="bernoulli", high=0.0).any()
    assert draw((100,), distribution="bernoulli", high=1.0).all()


@pytest.mark.parametrize(("low", "high"), [(0, 6), (-3, 4), (-(2.0**40), 2.0**40)])
def test_integers(low: float, high: float) -> None:
    x = draw((20000,), distribution="randint", low=low, high=high, dtype="int64")
    assert x.min() >= low and x.max() < high
    assert abs(x.mean() - (low + high - 1) / 2) < 0.03 * (high - low)
    if high - low < 10:
        counts = np.bincount(x - int(low))
        assert len(counts) == high - low and counts.min() > 0.9 * 20000 / (high - low)


RULES = [
    Rule("ge.Random", [np.array([3, 4]), np.int64(1), np.int64(2)], {"distribution": "normal", "dtype": "float16"}),
    Rule(
        "ge.Random",
        [(2,), (), ()],
        {"distribution": "uniform", "dtype": "float32"},
        dict.fromkeys(range(3), "int64"),
        data_dependent=True,
    ),
]


@pytest.mark.parametrize("rule", RULES, ids=["known", "from data"])
def test_sizes(rule: Rule) -> None:
    check_rule(rule)


def test_a_symbolic_shape_is_kept() -> None:
    b = Builder(Graph())
    n = symbol("n", 1)
    x = b.input("x", "float32", (n, 3))
    y = b.ge.Random(b.Shape(x), np.int64(1), np.int64(0), dtype="float32", distribution="uniform")
    assert y.shape == x.shape
    for op in ("RandomNormalLike", "RandomUniformLike", "Bernoulli"):
        assert b.op(op, x).shape == x.shape
    assert b.Multinomial(x, sample_size=4).shape == (n, 4)


@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "shape"),
    [
        ("RandomNormal", [], {"shape": [2, 3]}, (2, 3)),
        ("RandomUniform", [], {"shape": [2, 3], "dtype": "float64"}, (2, 3)),
        ("RandomNormalLike", [np.ones((2, 4), np.float32)], {}, (2, 4)),
        ("RandomUniformLike", [np.ones((2, 4), np.float32)], {}, (2, 4)),
        ("Bernoulli", [np.ones((2, 4), np.float32)], {"dtype": "bool"}, (2, 4)),
        ("Multinomial", [np.ones((2, 4), np.float32)], {"sample_size": 5}, (2, 5)),
    ],
)
def test_undefined_numbers_are_refused(op: str, inputs: list[np.ndarray], attrs: dict[str, Any], shape: Any) -> None:
    b = Builder(Graph())
    y = b.op(op, *(b.input("x", DType.of(x.dtype), x.shape) for x in inputs), **attrs)
    assert y.shape == shape
    b.outputs(y)
    with pytest.raises(ExecutionError, match=r"use ge\.Random with a seed"):
        interpret(b.graph, inputs)


@pytest.mark.parametrize(
    ("attrs", "why"),
    [
        ({"distribution": "poisson"}, "'poisson'"),
        ({"distribution": "uniform", "dtype": "int32"}, "not int32"),
        ({"distribution": "uniform", "low": 1.0, "high": 1.0}, "is empty"),
    ],
)
def test_refused(attrs: dict[str, Any], why: str) -> None:
    with pytest.raises(TypeRuleError, match=why):
        draw((2,), **attrs)
