"""Several named entries over one set of weights and states."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ge_core
from ge_core import EntrySpec
from ge_core.errors import InputError
from ge_core.ir import Builder, Graph, symbol
from ge_core.model_description import describe_file

WEIGHT = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)


def accumulator(first: float = 0.0, rows: int = 1) -> dict[str, EntrySpec]:
    """`add` adds x @ W to the total, `read` gives total @ W; each graph has a copy of W of its own."""
    add, read = Graph("add"), Graph("read")
    b = Builder(add)
    total = b.state("total", np.zeros((1, 64), np.float32))
    x = b.input("x", "float32", (symbol("n", 1), 64))
    after = b.Add(total.read, b.ReduceSum(b.MatMul(x, b.constant(WEIGHT.copy())), np.array([0])))
    add.set_state_write(total, after)
    b.outputs(b.Neg(after))
    b = Builder(read)
    total = b.state("total", np.full((rows, 64), first, np.float32))
    b.outputs(b.MatMul(total.read, b.constant(WEIGHT.copy())))
    return {"add": EntrySpec(add), "read": EntrySpec(read)}


def test_entries_share_states_and_weights(tmp_path: Path) -> None:
    model = ge_core.compile_entries(accumulator(), target="reference")
    x = np.ones((3, 64), np.float32)
    model.save(tmp_path / "net.om")
    for net in (model, ge_core.load(tmp_path / "net.om"), ge_core.load(tmp_path / "net.om", rebuild=True)):
        assert list(net.entries) == ["add", "read"]
        session, other = net.session(), net.session()
        want = x.sum(0, keepdims=True) @ WEIGHT
        assert np.allclose(session(x), -want, rtol=1e-4, atol=1e-4)
        assert np.allclose(session.entry("read"), want @ WEIGHT, rtol=1e-3, atol=1e-3)
        assert not other.entry("read").any()
        assert np.allclose(net.entries["add"](x), -want, rtol=1e-4, atol=1e-4)  # in the default session
        assert net.entries["read"]().any()
    first, second = (entry.graph for entry in model.entries.values())
    assert {id(v.constant) for v in first.constants} & {id(v.constant) for v in second.constants}
    assert dict(describe_file(tmp_path / "net.om").partitions)["WEIGHTS_DATA"] < 1.5 * WEIGHT.nbytes


@pytest.mark.parametrize("change", [{"first": 1.0}, {"rows": 2}])
def test_a_state_is_one_state(change: dict[str, float]) -> None:
    with pytest.raises(InputError, match="'add' and 'read' have different states 'total'"):
        ge_core.compile_entries(accumulator(**change), target="reference")  # type: ignore[arg-type]


def test_what_is_no_entry_is_refused() -> None:
    with pytest.raises(InputError, match="no entries"):
        ge_core.compile_entries({})
    with pytest.raises(InputError, match="'main' is a Graph"):
        ge_core.compile_entries({"main": Graph()}, target="reference")  # type: ignore[dict-item]
    session = ge_core.compile_entries(accumulator(), target="reference").session()
    with pytest.raises(InputError, match="no entry 'write'"):
        session.entry("write")
