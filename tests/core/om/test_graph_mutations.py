"""MODEL_DEFs that pass every checksum and still lie: reading ends in an OfflineModelError or in a valid graph."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import pytest

from ge_core.errors import OfflineModelError
from ge_core.ir.verifier import verify
from ge_core.om import parse, serialize
from ge_core.om.attributes import encode_map
from ge_core.om.graph_codec import decode_entries, encode_entries
from tests.core.om.messages_changed import change, fields_of
from tests.core.om.test_graph_codec import rich_graph


@pytest.fixture(scope="module")
def model() -> tuple[bytes, bytes]:
    model_def, weights = encode_entries({"main": rich_graph()}, {"a": 1})
    return model_def, b"".join(weights.chunks)


def outcome(model_def: bytes, weights: bytes) -> str:
    start = time.perf_counter()
    try:
        found = decode_entries(model_def, weights)
    except OfflineModelError:
        return "error"
    finally:
        assert time.perf_counter() - start < 2
    for graph in found.entries.values():
        verify(graph)
        for value in graph.constants:
            assert value.constant is not None
            value.constant.array()
    return "graph"


def test_changed_fields_end_in_an_error_or_a_valid_graph(model: tuple[bytes, bytes]) -> None:
    model_def, weights = model
    choose = random.Random(11)
    count = sum(1 for _ in fields_of(parse("ModelDef", model_def)))
    seen = {"error": 0, "graph": 0}
    for _ in range(400):
        changed = parse("ModelDef", model_def)
        for _ in range(choose.choice([1, 1, 1, 2, 4])):
            at = choose.randrange(count)
            for i, (message, field) in enumerate(fields_of(changed)):
                if i == at:
                    change(message, field, choose)
                    break
        seen[outcome(serialize(changed), weights)] += 1
    assert seen["error"] > 200
    assert seen["graph"] > 20


def test_flipped_bits_end_in_an_error_or_a_valid_graph(model: tuple[bytes, bytes]) -> None:
    model_def, weights = model
    choose = random.Random(5)
    seen = {"error": 0, "graph": 0}
    for _ in range(400):
        changed = bytearray(model_def)
        for _ in range(choose.choice([1, 1, 3])):
            changed[choose.randrange(len(changed))] ^= 1 << choose.randrange(8)
        seen[outcome(bytes(changed), weights)] += 1
    assert seen["error"] > 200


def test_cut_model_defs_are_errors(model: tuple[bytes, bytes]) -> None:
    model_def, weights = model
    for size in range(0, len(model_def) - 1, 131):
        assert outcome(model_def[:size], weights) == "error"


def op(model: Any, kind: str) -> Any:
    return next(op for graph in model.graph for op in graph.op if op.type == kind)


def add_cycle(model: Any) -> None:
    matmul = op(model, "MatMul")
    matmul.input[0] = f"{matmul.name}:0"


def drop_descriptor(model: Any) -> None:
    del op(model, "MatMul").input_desc[1]


def drop_outputs(model: Any) -> None:
    del model.graph[0].op[-1]


def share_region(model: Any) -> None:
    branches = op(model, "If").subgraph_name
    branches[1] = branches[0]


def region_of_itself(model: Any) -> None:
    inner = model.graph[-1]
    inner.op[-1].subgraph_name.append(inner.name)
    choice = inner.op.add()
    choice.CopyFrom(op(model, "If"))


def large_constant(model: Any) -> None:
    tensor = next(o for o in model.graph[0].op if o.name == "weight").attr["value"].t
    tensor.desc.shape.dim[:] = [2**40, 2**40]


def capture_beyond(model: Any) -> None:
    capture = next(o for g in model.graph for o in g.op if "_parent_node_index" in o.attr and o.type == "Data")
    capture.attr["_parent_node_index"].i = 99


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (add_cycle, "not defined before it is read"),
        (drop_descriptor, "2 inputs with 1 descriptors"),
        (drop_outputs, "without outputs"),
        (share_region, "missing or used twice"),
        (region_of_itself, "after the outputs"),
        (large_constant, "larger than any memory"),
        (capture_beyond, "which the operator outside does not have"),
        (lambda model: setattr(op(model, "MatMul"), "type", "Conjure"), "unknown operator Conjure"),
        (lambda model: encode_map(op(model, "LeakyRelu").attr, {"beta": 1.0}), "has no attribute beta"),
        (lambda model: encode_map(op(model, "LeakyRelu").attr, {"ge.loc": ["a"]}), "is no location"),
        (lambda model: model.graph.add(name="stray"), "nothing uses: stray"),
        (lambda model: model.graph.add(name="main"), "two graphs are named main"),
        (lambda model: encode_map(model.attr, {"ge.entries": ["other"]}), "entry other has no graph"),
        (lambda model: encode_map(model.attr, {"ge.metadata": "[]"}), "metadata in the file is a list"),
        (lambda model: encode_map(model.graph[0].attr, {"ge.stage": "done"}), "unknown stage done"),
        (lambda model: encode_map(model.graph[0].attr, {"ge.stage": "selected", "ge.symbols": "[]"}), "batch"),
        (lambda model: encode_map(op(model, "RefData").attr, {"ge.write": "none:0"}), "not defined"),
        (lambda model: setattr(op(model, "Const").output_desc[0], "name", "x"), "two values are named 'x'"),
        (lambda model: setattr(op(model, "Const"), "name", "x"), "two operators have this name"),
        (lambda model: setattr(op(model, "MatMul").output_desc[0], "dtype", 2), "described otherwise"),
    ],
)
def test_each_lie_is_named(model: tuple[bytes, bytes], act: Callable[[Any], Any], message: str) -> None:
    model_def, weights = model
    changed = parse("ModelDef", model_def)
    act(changed)
    with pytest.raises(OfflineModelError, match=message):
        decode_entries(serialize(changed), weights)
