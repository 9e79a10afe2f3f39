"""Random numbers on the chip: the words of CANN's Philox, which are those of the graph's own definition."""

from __future__ import annotations

import numpy as np
import pytest

from ge_core.ir import Builder, Value
from tests.backends.ascend.roundtrip import graph_of, lowered, same, types

SEED, OFFSET = np.array(2**62 + 12345, np.int64), np.array(-3, np.int64)
WORDS = "StatelessRandomUniformFullIntV2"


@pytest.mark.parametrize(
    ("distribution", "dtype", "low", "high"),
    [
        ("uniform", "float32", -1.0, 3.0), ("uniform", "float16", 0.0, 1.0), ("uniform", "float64", 2.0, 2.5),
        ("normal", "float32", 1.0, 2.0), ("normal", "float64", 0.0, 1.0), ("bernoulli", "bool", 0.0, 0.3),
        ("bernoulli", "int32", 0.0, 0.7), ("randint", "int64", -5.0, 1000.0), ("randint", "int32", 0.0, 3.0),
        ("randint", "int64", 0.0, float(1 << 32)),
    ],
)  # fmt: skip
def test_numbers_are_those_of_the_graph(distribution: str, dtype: str, low: float, high: float) -> None:
    def build(b: Builder, seed: Value, offset: Value) -> object:
        shape = b.ints(7, 3)
        return b.ge.Random(shape, seed, offset, dtype=dtype, distribution=distribution, low=low, high=high)

    found = same(graph_of(build, ("int64", ()), ("int64", ())), [SEED, OFFSET], tolerance=2e-6)
    assert WORDS in types(found)


def test_their_number_may_be_known_at_run_time_only() -> None:
    def build(b: Builder, x: Value, offset: Value) -> object:
        return b.ge.Random(b.Shape(x), np.int64(4), offset, dtype="float32", distribution="normal")

    same(graph_of(build, ("float32", ("n", 3)), ("int64", ())), [np.zeros((5, 3), np.float32), OFFSET])


@pytest.mark.parametrize("mode", ["force_fp16", None])
def test_uniform_numbers_stay_below_their_end_in_half_precision(mode: str | None) -> None:
    def build(b: Builder, offset: Value) -> object:
        return b.ge.Random(b.ints(4096), np.int64(0), offset, dtype="float32", distribution="uniform")

    from ge_ascend.chips import CHIPS
    from ge_ascend.precision import policy_of

    from ge_core.reference.interpret import interpret
    from tests.backends.ascend.roundtrip import back

    assert policy_of(mode, CHIPS["ascend310p"]).low is not None
    graph = graph_of(build, ("int64", ()))
    (got,), _ = interpret(back(lowered(graph, "ascend310p", mode), "ascend310p"), [OFFSET])
    (want,), _ = interpret(graph, [OFFSET])
    assert (np.asarray(got) < 1).all() and want.max() > 0.9998  # which rounds to 1 in float16
    kept = want < 0.9997
    assert np.allclose(np.asarray(got)[kept], want[kept], atol=5e-4)


def test_a_range_above_the_word_is_refused() -> None:
    def build(b: Builder, offset: Value) -> object:
        return b.ge.Random(
            b.ints(2), np.int64(0), offset, dtype="int64", distribution="randint", low=0.0, high=float(1 << 40)
        )

    (problem,) = lowered(graph_of(build, ("int64", ()))).problems
    assert "a range of 1099511627776" in str(problem) and "at most 2^32" in str(problem)
