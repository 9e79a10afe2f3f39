"""Files made by hand to cost time, memory or the interpreter's stack, all checksums right: errors, and soon."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ge_core.om import PartitionType, parse, read_container, serialize
from ge_core.om.attributes import encode_map
from tests.core.om.campaign import SECONDS, originals, outcome, resealed

Partitions = dict[PartitionType, bytes]

METADATA = {
    "nested lists": "[" * 100_000 + "]" * 100_000,
    "nested tables": '{"a":' * 50_000 + "1" + "}" * 50_000,
    "no finite numbers": '{"ge": NaN}',
    "many keys": "{" + ",".join(f'"{i}":1' for i in range(50_000)) + "}",
}
FIELDS = {
    "a number of 5,000 digits": ("report", "9" * 5000),
    "a report nested deeply": ("report", "[" * 900 + "]" * 900),
    "steps nested deeply": ("plans", '{"main":' + '{"steps":[' * 450 + "]}" * 450 + "}"),
    "a surrogate": ("target", '"\\ud800"'),
    "a megabyte of a name": ("target", '"' + "x" * 1_000_000 + '"'),
}
SIZES = {
    "parentheses": "(" * 100_000 + "n" + ")" * 100_000,
    "a long sum": "+".join(["n"] * 100_000),
    "a long product": "n" + "*n" * 3000,
    "divisions": "floordiv(" * 5000 + "n" + ",2)" * 5000,
    "maxima": "max(n," * 500 + "1" + ")" * 500,
    "signs": "-" * 50_000 + "n",
    "digits": "9" * 4000,
    "a power that expands": "(n+1)*(n+2)*" * 30 + "1",
}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A file with control flow, a state, symbols and a plan."""
    return originals(tmp_path_factory.mktemp("files"))[4]


def refused(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    started = time.process_time()
    assert outcome(path) == "error"
    assert time.process_time() - started < SECONDS


def changed(file: bytes, act: Callable[[Any], None]) -> bytes:
    """The file with a change of its ModelDef."""

    def on(partitions: Partitions) -> None:
        model = parse("ModelDef", partitions[PartitionType.MODEL_DEF])
        act(model)
        partitions[PartitionType.MODEL_DEF] = serialize(model)

    return resealed(file, on)


@pytest.mark.parametrize("text", METADATA.values(), ids=METADATA)
def test_metadata(file: bytes, tmp_path: Path, text: str) -> None:
    refused(tmp_path / "x.om", changed(file, lambda model: encode_map(model.attr, {"ge.metadata": text})))


@pytest.mark.parametrize(("field", "text"), FIELDS.values(), ids=FIELDS)
def test_fields_of_the_metadata(file: bytes, tmp_path: Path, field: str, text: str) -> None:
    partitions = {p.type: bytes(p.data) for p in read_container(file).groups[0].partitions}
    good = json.loads(parse("ModelDef", partitions[PartitionType.MODEL_DEF]).attr["ge.metadata"].s)
    bad = json.dumps(good | {field: "HERE"}).replace('"HERE"', text)
    refused(tmp_path / "x.om", changed(file, lambda model: encode_map(model.attr, {"ge.metadata": bad})))


@pytest.mark.parametrize("text", SIZES.values(), ids=SIZES)
def test_sizes(file: bytes, tmp_path: Path, text: str) -> None:
    def act(model: Any) -> None:
        for graph in model.graph:
            for op in graph.op:
                for described in (*op.input_desc, *op.output_desc):
                    for attribute in described.attr.values():
                        if attribute.HasField("s"):
                            attribute.s = text.encode()
                        elif attribute.HasField("list"):
                            attribute.list.s[:] = [text.encode()] * len(attribute.list.s)

    refused(tmp_path / "x.om", changed(file, act))


def test_ranks_and_numbers_of_nodes(file: bytes, tmp_path: Path) -> None:
    def wide(model: Any) -> None:
        for op in model.graph[0].op:
            for described in (*op.input_desc, *op.output_desc):
                described.shape.dim.extend([1] * 100_000)

    def many(model: Any) -> None:
        last = model.graph[0].op[-2]
        model.graph[0].op.extend([last] * 50_000)

    for act in (wide, many):
        refused(tmp_path / "x.om", changed(file, act))
