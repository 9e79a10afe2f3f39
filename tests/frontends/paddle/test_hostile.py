"""Damaged and hostile files end in an error of ge's, soon and without much memory; pickles are never opened."""

# ruff: noqa: E501  damage is written in one line each

from __future__ import annotations

import json
import random
import struct
import time
import tracemalloc
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ge_core.errors import GeError, ModelImportError, UnsupportedError
from ge_frontend_paddle.importer import import_model
from ge_frontend_paddle.program_desc import new_program

TENSOR = {"#": "0.t_dtensor", "D": [{"#": "0.t_f32"}, [-1, 4], "NCHW", [], 0]}
WEIGHT = {"#": "0.t_dtensor", "D": [{"#": "0.t_f32"}, [4, 2], "NCHW", [], 0]}


def attribute(name: str, kind: str, value: Any) -> dict[str, Any]:
    return {"N": name, "AT": {"#": kind, "D": value}}


def operators() -> list[dict[str, Any]]:
    """x @ w."""
    return [
        {"#": "p", "A": [0, 1, 1, "w"], "OA": [1, 0, 1], "O": {"%": 1, "TT": WEIGHT}},
        {"#": "1.data", "A": [attribute("name", "0.a_str", "x")], "I": [], "O": [{"%": 2, "TT": TENSOR}]},
        {"#": "1.matmul", "A": [attribute("transpose_x", "0.a_bool", False), attribute("transpose_y", "0.a_bool", False)],
         "I": [{"%": 2}, {"%": 1}], "O": [{"%": 3, "TT": TENSOR}]},
        {"#": "1.fetch", "A": [attribute("name", "0.a_str", "y"), attribute("col", "0.a_i32", 0)], "I": [{"%": 3}],
         "O": [{"%": 4, "TT": TENSOR}]},
    ]  # fmt: skip


def program(ops: list[dict[str, Any]], **head: Any) -> dict[str, Any]:
    base = {"magic": "pir", "trainable": False, "version": 4, **head}
    return {"base_code": base, "program": {"regions": [{"#": "r", "blocks": [{"#": "b", "args": [], "ops": ops}]}]}}


def tensor(dims: list[int], data: bytes, dtype: int = 5, levels: int = 0) -> bytes:
    """One tensor of a parameter file."""
    packed = b"".join(b"\x10" + _varint(d) for d in dims)
    description = b"\x08" + _varint(dtype) + packed
    return struct.pack("<IQ", 0, levels) + struct.pack("<Ii", 0, len(description)) + description + data


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


GOOD = tensor([4, 2], np.ones((4, 2), np.float32).tobytes())


def write(folder: Path, tree: Any, parameters: bytes = GOOD) -> Path:
    path = folder / "model.json"
    path.write_text(tree if isinstance(tree, str) else json.dumps(tree, separators=(",", ":")))
    (folder / "model.pdiparams").write_bytes(parameters)
    return path


def test_the_undamaged_model_is_read(tmp_path: Path) -> None:
    write(tmp_path, program([]))
    ops = operators()
    ops[2]["O"][0]["TT"] = {"#": "0.t_dtensor", "D": [{"#": "0.t_f32"}, [-1, 2], "NCHW", [], 0]}
    imported = import_model(write(tmp_path, program(ops)))
    assert str(imported.graph.outputs[0].type) == "float32[x_0, 2]"


def _without(key: str) -> Any:
    ops = operators()
    for op in ops:
        op.pop(key, None)
    return program(ops)


def _with(index: int, **fields: Any) -> Any:
    ops = operators()
    ops[index] |= fields
    return program(ops)


def _nested(depth: int) -> str:
    """A program with a branch in a branch in a branch."""
    text = json.dumps(program(operators()[:2]), separators=(",", ":"))
    opened = '{"#":"1.if","A":[],"I":[{"%":2}],"O":[],"regions":[{"blocks":[{"args":[],"ops":['
    end = text.rindex("]}]}]}}")
    return text[:end] + "," + opened * depth + "]}]}]}" * depth + text[end:]


DAMAGED = {
    "no text": "{",
    "deep brackets": '{"base_code":' + "[" * 200_000,
    "another magic": program(operators(), magic="other"),
    "another version": program(operators(), version=99),
    "no program": {"base_code": {"magic": "pir", "version": 4}},
    "no regions": {"base_code": {"magic": "pir", "version": 4}, "program": {"regions": []}},
    "no names": _without("A"),
    "no results": _without("O"),
    "no kind": _without("#"),
    "operators are text": program("text"),  # type: ignore[arg-type]
    "an operand of nothing": _with(2, I=[{"%": 99}, {"%": 1}]),
    "an operand that is text": _with(2, I=[{"%": "x"}, {"%": 1}]),
    "an attribute of another type": _with(2, A=[attribute("transpose_x", "0.a_str", "yes")], I=[{"%": 2}, {"%": 1}, {"%": 1}]),
    "a result of an endless size": _with(2, O=[{"%": 3, "TT": {"#": "0.t_dtensor", "D": [{"#": "0.t_f32"}, [10**30], "", [], 0]}}]),
    "a rank of a thousand": _with(1, O=[{"%": 2, "TT": {"#": "0.t_dtensor", "D": [{"#": "0.t_f32"}, [1] * 1000, "", [], 0]}}]),
    "blocks in blocks": _nested(100),
}  # fmt: skip


@pytest.mark.parametrize("what", DAMAGED)
def test_a_damaged_program_is_refused(what: str, tmp_path: Path) -> None:
    path = write(tmp_path, DAMAGED[what])
    start = time.process_time()
    tracemalloc.start()
    with pytest.raises(GeError):
        import_model(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert time.process_time() - start < 5 and peak < 200 << 20


PARAMETERS = {
    "empty": b"",
    "cut off": GOOD[:-1],
    "too much": GOOD + b"\0",
    "another shape": tensor([2, 4], bytes(32)),
    "another type": tensor([4, 2], bytes(64), dtype=6),
    "an unknown type": tensor([4, 2], bytes(32), dtype=77),
    "an endless size": tensor([1 << 62, 1 << 62], b""),
    "a negative size": tensor([-4, -2], bytes(32)),
    "endless levels": tensor([4, 2], bytes(32), levels=1 << 60),
    "a level without end": struct.pack("<IQQ", 0, 1, 1 << 63) + GOOD,
    "a long description": struct.pack("<IQIi", 0, 0, 0, 1 << 30),
    "a negative description": struct.pack("<IQIi", 0, 0, 0, -5),
    "another version": b"\1" + GOOD[1:],
    "a description without end": struct.pack("<IQIi", 0, 0, 0, 3) + b"\x10\xff\xff" + bytes(64),
    "noise": random.Random(0).randbytes(4096),
}


@pytest.mark.parametrize("what", PARAMETERS)
def test_damaged_parameters_are_refused(what: str, tmp_path: Path) -> None:
    path = write(tmp_path, program(operators()), PARAMETERS[what])
    tracemalloc.start()
    with pytest.raises(ModelImportError):
        import_model(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50 << 20


def test_lying_counts_of_parts_make_no_work(tmp_path: Path) -> None:
    vector = {"#": "0.t_vec", "D": [TENSOR]}
    ops = [*operators()[:2], {"#": "1.full", "A": [attribute("shape", "1.a_intarray", []), attribute("value", "0.a_f64", 0.0), attribute("dtype", "1.a_dtype", "int32")], "I": [], "O": [{"%": 8, "TT": {"#": "0.t_dtensor", "D": [{"#": "0.t_i32"}, [], "", [], 0]}}]},
           {"#": "1.split_with_num", "A": [attribute("num", "0.a_i32", 1 << 30)], "I": [{"%": 2}, {"%": 8}], "O": [{"%": 9, "TT": vector}]},
           {"#": "0.split", "A": [], "I": [{"%": 9}], "O": [{"%": 3, "TT": TENSOR}]}, operators()[3]]  # fmt: skip
    start = time.process_time()
    import_model(write(tmp_path, program(ops)))
    assert time.process_time() - start < 2


def test_every_byte_of_a_program_may_be_damaged(tmp_path: Path) -> None:
    text = json.dumps(program(operators()), separators=(",", ":"))
    noise = random.Random(1)
    for _ in range(300):
        damaged = bytearray(text.encode())
        for _ in range(noise.randint(1, 3)):
            damaged[noise.randrange(13, len(damaged))] = noise.choice(b'0123456789"{}[],:ax-')
        path = tmp_path / "model.json"
        path.write_bytes(bytes(damaged))
        (tmp_path / "model.pdiparams").write_bytes(GOOD)
        with suppress(GeError):
            import_model(path)


def legacy(**op: Any) -> bytes:
    """A legacy program of one operator on one input."""
    message = new_program()
    block = message.blocks.add(idx=0, parent_idx=-1)
    for name in (b"x", b"y"):
        var = block.vars.add(name=name)
        var.type.type = 7
        var.type.dense_tensor.tensor.data_type = 5
        var.type.dense_tensor.tensor.dims.extend([-1, 4])
    feed = block.ops.add(type=b"feed")
    feed.outputs.add(parameter=b"Out", arguments=[b"x"])
    made = block.ops.add(type=op.get("type", b"relu"))
    made.inputs.add(parameter=op.get("parameter", b"X"), arguments=op.get("arguments", [b"x"]))
    made.outputs.add(parameter=b"Out", arguments=[b"y"])
    for name, number in op.get("attributes", ()):
        made.attrs.add(name=name, type=8, block_idx=number)
    fetch = block.ops.add(type=b"fetch")
    fetch.inputs.add(parameter=b"X", arguments=[b"y"])
    data: bytes = message.SerializeToString()
    return data


def test_the_undamaged_legacy_program_is_read(tmp_path: Path) -> None:
    path = tmp_path / "model.pdmodel"
    path.write_bytes(legacy())
    assert str(import_model(path).graph.outputs[0].type) == "float32[x_0, 4]"


@pytest.mark.parametrize(
    "op",
    [
        {"type": b"no_such_operator"},
        {"parameter": b"Other"},
        {"arguments": [b"nothing"]},
        {"type": b"while", "parameter": b"Condition", "attributes": [(b"sub_block", 0)]},
        {"type": b"while", "parameter": b"Condition", "attributes": [(b"sub_block", 99)]},
        {"type": b"\xff\xfe"},
    ],
)
def test_a_damaged_legacy_program_is_refused(op: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "model.pdmodel"
    path.write_bytes(legacy(**op))
    with pytest.raises(GeError):
        import_model(path)


def test_every_byte_of_a_legacy_program_may_be_damaged(tmp_path: Path) -> None:
    data, noise = legacy(), random.Random(2)
    for _ in range(300):
        damaged = bytearray(data)
        for _ in range(noise.randint(1, 3)):
            damaged[noise.randrange(len(damaged))] = noise.randrange(256)
        path = tmp_path / "model.pdmodel"
        path.write_bytes(bytes(damaged))
        with suppress(GeError):
            import_model(path, [np.zeros((1, 4), np.float32)])


def test_unknown_legacy_operators_are_named_at_once(tmp_path: Path) -> None:
    path = tmp_path / "model.pdmodel"
    path.write_bytes(legacy(type=b"no_such_operator"))
    with pytest.raises(UnsupportedError, match="no_such_operator ×1"):
        import_model(path)


def test_a_pickle_beside_the_model_is_never_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.pdmodel"
    path.write_bytes(legacy())
    info = tmp_path / "model.pdiparams.info"
    info.write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    info.chmod(0)
    import pickle

    monkeypatch.setattr(pickle, "loads", lambda *a, **k: pytest.fail("a pickle was opened"))
    monkeypatch.setattr(pickle, "load", lambda *a, **k: pytest.fail("a pickle was opened"))
    import_model(path)
