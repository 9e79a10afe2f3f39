"""Values whose number of axes the data decide, and inputs that are optional: what reads them runs on the host."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ge_core
from ge_core.compiler import unknown_ranks
from ge_core.errors import InputError
from ge_core.ir import Builder, Graph, symbol
from ge_core.ir.dtype import DType
from ge_core.ir.types import OptionalType, SequenceType, TensorType
from ge_core.plan.plan import HostStep

RNG = np.random.default_rng(3)
FLOAT32 = DType.of("float32")


def squeezed() -> Graph:
    """A Squeeze that names no axes, and what torch's exporter writes behind it."""
    graph = Graph("squeezed")
    b = Builder(graph)
    x = b.input("x", "float32", (symbol("n"), 1, 3))
    narrow = b.Squeeze(b.Relu(x))
    turned = b.Transpose(b.Transpose(narrow))
    wide = b.Unsqueeze(b.Mul(turned, 2.0), b.ints(0))
    b.outputs(b.Concat([wide, wide], axis=0), b.Shape(narrow))
    return graph


@pytest.mark.parametrize("n", [1, 2, 5])
def test_what_reads_a_value_of_unknown_rank_runs(n: int) -> None:
    model = ge_core.compile(squeezed(), target="reference")
    x = RNG.standard_normal((n, 1, 3)).astype(np.float32)
    both, shape = model(x)
    want = np.maximum(x, 0).squeeze()
    np.testing.assert_array_equal(both, np.stack([want * 2] * 2))
    assert shape.tolist() == list(want.shape)
    assert model.plan is not None
    assert any(isinstance(step, HostStep) for step in model.plan.all_steps())


def handed_out() -> Graph:
    """Squeezes that outputs alone read: of a value that is an output too, of one that a later step could write over,
    of an input, and twice."""
    graph = Graph("handed")
    b = Builder(graph)
    x = b.input("x", "float32", (symbol("n"), 1, 3))
    own, inner = b.Exp(x), b.Relu(x)
    narrow = b.Squeeze(inner)
    later = b.Neg(b.Sub(inner, 1.0))
    b.outputs(own, b.Squeeze(own), narrow, later, b.Squeeze(x), narrow)
    return graph


@pytest.mark.parametrize("memory", [True, False])
def test_a_squeeze_that_outputs_alone_read_needs_no_step(tmp_path: Path, memory: bool) -> None:
    model = ge_core.compile(handed_out(), target="reference", optimize="default" if memory else "none")
    assert model.plan is not None
    assert not any(isinstance(step, HostStep) for step in model.plan.all_steps())
    assert [isinstance(t, TensorType) and t.shape is None for t in model.plan.output_types].count(True) == 4
    model.save(tmp_path / "handed.om")
    for run in (model, ge_core.load(tmp_path / "handed.om")):
        for n in (1, 2, 5):
            x = RNG.standard_normal((n, 1, 3)).astype(np.float32)
            kept = np.maximum(x, 0)
            want = [np.exp(x), np.exp(x).squeeze(), kept.squeeze(), 1 - kept, x.squeeze(), kept.squeeze()]
            for found, wanted in zip(run(x), want, strict=True):
                assert found.shape == wanted.shape
                np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_a_rank_on_which_branches_differ() -> None:
    graph = Graph("branches")
    b = Builder(graph)
    x = b.input("x", "float32", (symbol("n"), 4))
    flat = b.Equal(b.scalar(symbol("n")), b.constant(np.int64(1)))
    y = b.If(flat, then_branch=lambda r: [r.Squeeze(x, r.ints(0))], else_branch=lambda r: [r.Relu(x)])
    b.outputs(b.Exp(y))
    model = ge_core.compile(graph, target="reference")
    for n in (1, 3):
        x = RNG.standard_normal((n, 4)).astype(np.float32)
        np.testing.assert_allclose(model(x), np.exp(x[0] if n == 1 else np.maximum(x, 0)), rtol=1e-6)


def test_targets_that_run_nothing_on_the_host_are_told() -> None:
    graph = squeezed()
    told = unknown_ranks(graph)
    assert [p.node for p in told][0] == "Squeeze" and "depends on data" in str(told[0])


def optional(element: TensorType | SequenceType) -> Graph:
    graph = Graph("optional")
    x = graph.add_param("x", OptionalType(element))
    b = Builder(graph)
    b.outputs(b.OptionalHasElement(x), b.Identity(x))
    return graph


def test_optional_inputs_take_nothing_a_tensor_or_a_sequence() -> None:
    row = np.arange(3, dtype=np.float32)
    model = ge_core.compile(optional(TensorType(FLOAT32, (3,))), target="reference")
    assert [v if v is None else v.tolist() for v in model(None)] == [False, None]
    there, same = model(row)
    assert there and np.array_equal(same, row)
    model = ge_core.compile(optional(SequenceType(TensorType(FLOAT32, (3,)))), target="reference")
    there, same = model([row, row])
    assert there and len(same) == 2
    with pytest.raises(InputError, match=r"x\[1\]' has element type int64"):
        model([row, np.arange(3)])
    with pytest.raises(InputError, match="list of tensors"):
        model(row)


def test_other_inputs_may_not_be_missing() -> None:
    with pytest.raises(InputError, match="input 'x' is missing"):
        ge_core.compile(squeezed(), target="reference")(None)
