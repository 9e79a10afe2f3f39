"""Branches of legacy programs: two conditional blocks and a choice. Today's Paddle cannot write them any more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ge_core.errors import ModelImportError
from ge_core.reference.interpret import interpret
from ge_frontend_paddle.importer import import_model
from ge_frontend_paddle.program_desc import new_program


def _variable(block: Any, name: bytes, dims: list[int], dtype: int = 5) -> None:
    var = block.vars.add(name=name)
    var.type.type = 7
    var.type.dense_tensor.tensor.data_type = dtype
    var.type.dense_tensor.tensor.dims.extend(dims)


def _operator(block: Any, kind: bytes, inputs: dict[bytes, list[bytes]], outputs: dict[bytes, list[bytes]]) -> Any:
    op = block.ops.add(type=kind)
    for name, arguments in inputs.items():
        op.inputs.add(parameter=name, arguments=arguments)
    for name, arguments in outputs.items():
        op.outputs.add(parameter=name, arguments=arguments)
    return op


def _program(order: tuple[bytes, bytes] = (b"f", b"t")) -> Any:
    """y = 2 x when c holds, else x + 1; z is -x or x."""
    program = new_program()
    main, yes, no = (program.blocks.add(idx=i, parent_idx=0 if i else -1) for i in range(3))
    for name in (b"x", b"y", b"z"):
        _variable(main, name, [-1, 3])
    for name, dtype in ((b"c", 0), (b"n", 0), (b"m", 2)):
        _variable(main, name, [1], dtype)
    for block, names in ((yes, (b"t", b"tz")), (no, (b"f", b"fz"))):
        for name in names:
            _variable(block, name, [-1, 3])
    for name in (b"x", b"c"):
        feed = _operator(main, b"feed", {}, {b"Out": [name]})
        feed.attrs.add(name=b"col", type=0, i=int(name == b"c"))
    for block, out, factor, bias in (
        (yes, b"t", 2.0, 0.0),
        (yes, b"tz", -1.0, 0.0),
        (no, b"f", 1.0, 1.0),
        (no, b"fz", 1.0, 0.0),
    ):
        scale = _operator(block, b"scale", {b"X": [b"x"]}, {b"Out": [out]})
        scale.attrs.add(name=b"scale", type=1, f=factor)
        scale.attrs.add(name=b"bias", type=1, f=bias)
        scale.attrs.add(name=b"bias_after_scale", type=6, b=True)
    branch = _operator(main, b"conditional_block", {b"Cond": [b"c"], b"Input": [b"x"]}, {b"Out": [b"t", b"tz"]})
    branch.attrs.add(name=b"sub_block", type=8, block_idx=1)
    _operator(main, b"logical_not", {b"X": [b"c"]}, {b"Out": [b"n"]})
    branch = _operator(main, b"conditional_block", {b"Cond": [b"n"], b"Input": [b"x"]}, {b"Out": [b"f", b"fz"]})
    branch.attrs.add(name=b"sub_block", type=8, block_idx=2)
    cast = _operator(main, b"cast", {b"X": [b"c"]}, {b"Out": [b"m"]})
    cast.attrs.add(name=b"out_dtype", type=0, i=2)
    _operator(main, b"select_input", {b"X": list(order), b"Mask": [b"m"]}, {b"Out": [b"y"]})
    _operator(main, b"select_input", {b"X": [b"fz", b"tz"], b"Mask": [b"m"]}, {b"Out": [b"z"]})
    for place, name in enumerate((b"y", b"z")):
        fetch = _operator(main, b"fetch", {b"X": [name]}, {b"Out": [b"fetched"]})
        fetch.attrs.add(name=b"col", type=0, i=place)
    return program


def test_a_choice_between_two_branches(tmp_path: Path) -> None:
    path = tmp_path / "model.pdmodel"
    path.write_bytes(_program().SerializeToString())
    graph = import_model(path).graph
    assert [node.op for node in graph.nodes].count("If") == 1, "one branch gives both results"
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for holds in (True, False):
        y, z = interpret(graph, [x, np.array([holds])])[0]
        np.testing.assert_array_equal(y, x * 2 if holds else x + 1)
        np.testing.assert_array_equal(z, -x if holds else x)


def test_a_choice_of_what_no_branch_defines_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.pdmodel"
    path.write_bytes(_program(order=(b"f", b"x")).SerializeToString())
    with pytest.raises(ModelImportError, match="'x', which no branch defines"):
        import_model(path)
