"""Inputs that are smaller than a window: refused where the window is used, of no matter where it is not."""

from __future__ import annotations

import numpy as np
import pytest

import ge_core
from ge_core.errors import SizeBoundError
from ge_core.ir import Builder, Graph, Location, symbol

WINDOW = 400
N = symbol("n")


def windowed(branches: bool) -> Graph:
    graph = Graph("windowed")
    b = Builder(graph)
    x, wide = b.input("x", "float32", (1, 1, N)), b.input("wide", "bool", ())
    w = b.constant(np.ones((2, 1, WINDOW), np.float32))

    def slide(r: Builder) -> list[object]:
        with r.at(Location("onnx", "stft", "net.onnx", 7, "Conv")):
            return [r.ReduceSum(r.Relu(r.Conv(x, w)), r.ints(2))]

    def add(r: Builder) -> list[object]:
        total = r.ReduceSum(x, r.ints(2))
        return [r.Concat([total, total], axis=1)]

    b.outputs(b.If(wide, then_branch=slide, else_branch=add) if branches else slide(b)[0], b.Not(wide))
    return graph


@pytest.mark.parametrize("target", ["reference", "cpu"])
def test_an_input_that_is_too_small_is_refused_with_its_place(target: str) -> None:
    model = ge_core.compile(windowed(branches=False), target=target)
    assert model.plan is not None and model.plan.example["n"] >= WINDOW
    np.testing.assert_array_equal(model(np.ones((1, 1, WINDOW + 1), np.float32), np.True_)[0], [[[800.0], [800.0]]])
    with pytest.raises(SizeBoundError, match=r"\[1, 2, -299\]") as error:
        model(np.ones((1, 1, 100), np.float32), np.True_)
    assert "net.onnx" in str(error.value) and "n = 100" in str(error.value)


@pytest.mark.parametrize("target", ["reference", "cpu"])
def test_a_branch_that_does_not_run_may_be_impossible(target: str) -> None:
    model = ge_core.compile(windowed(branches=True), target=target)
    small = np.ones((1, 1, 100), np.float32)
    np.testing.assert_array_equal(model(small, np.False_)[0], [[[100.0], [100.0]]])
    with pytest.raises(SizeBoundError, match=r"\[1, 2, -299\]"):
        model(small, np.True_)
    np.testing.assert_array_equal(model(small, np.False_)[0], [[[100.0], [100.0]]])
