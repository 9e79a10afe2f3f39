"""From a graph to an ONNX file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import onnx
from onnx import ModelProto, helper

from ge_core.errors import InputError, OfflineModelError
from ge_core.ir.clone import clone_graph
from ge_core.ir.dtype import pack
from ge_core.ir.graph import Graph, Value
from ge_core.ir.traverse import values
from ge_core.ir.types import TensorType
from ge_core.om.file import atomic_write
from ge_core.passes import optimise
from ge_core.plugins.unsupported import Unsupported

from .findings import unsayable
from .writing.lower import lower
from .writing.protos import Writer, tensor, tensor_header

OLDEST, NEWEST, DEFAULT = 11, 28, 21

# protobuf ends at 2 GiB; above this the weights stand in a file of their own.
_MOST_INSIDE = 1_800_000_000
_SMALL = 1024
_ALIGNMENT = 4096


def export(graph: Graph, path: str | os.PathLike[str], opset: int | None = None) -> None:
    """Write a graph as an ONNX model; weights over 1.8 GB go into `<path>.data` beside it.

    Fusion groups are dissolved, and what the opset lacks is expanded. States are an input and an output each, behind
    the graph's own. Assertions are left out, since ONNX has none.

    Args:
        graph: stays as it is.
        opset: 11 to 28; 21 by default.

    Raises:
        UnsupportedError: with every node that the opset cannot say.
        InputError: the opset is not one of those.
    """
    version = DEFAULT if opset is None else opset
    if not OLDEST <= version <= NEWEST:
        raise InputError(f"cannot write opset {version}", expected=f"{OLDEST} to {NEWEST}")
    copy = clone_graph(graph)
    if any(v.type.shape is None for v in values(copy) if isinstance(v.type, TensorType)):
        optimise(copy, ("fold", "dce"))  # decides the branches that a number of axes hangs on, as far as possible
    found = lower(copy, version) + list(_without_rank(copy))
    if found:
        raise unsayable(found, graph.name, version)
    writer = Writer(copy, version)
    proto = writer.block(copy, copy.name)
    imports = [helper.make_opsetid("", version)]
    model = ModelProto(
        ir_version=helper.find_min_ir_version_for(imports), producer_name="ge-engine", opset_import=imports
    )
    target = Path(path)
    if sum(v.constant.nbytes for v in writer.constants if v.constant is not None) > _MOST_INSIDE:
        _write_beside(proto, list(writer.constants), target)
    else:
        for value in writer.constants:
            assert value.constant is not None
            proto.initializer.append(tensor(value.constant, value.name))
    model.graph.CopyFrom(proto)
    with _written(target) as file:
        file.write(model.SerializeToString())


def _without_rank(graph: Graph) -> Iterator[Unsupported]:
    """onnx's checker takes no input or output without a shape."""
    for value in (*graph.inputs, *graph.outputs):
        if isinstance(value.type, TensorType) and value.type.shape is None:
            yield Unsupported(f"onnx wants the number of axes of every input and output, %{value.name} has none", "")


def _write_beside(proto: onnx.GraphProto, constants: list[Value], target: Path) -> None:
    """The data of large constants in a file beside the model, each at a page of its own."""
    beside = target.with_name(target.name + ".data")
    with _written(beside) as file:
        for value in constants:
            constant = value.constant
            assert constant is not None
            if constant.nbytes < _SMALL:
                proto.initializer.append(tensor(constant, value.name))
                continue
            file.seek(-(-file.tell() // _ALIGNMENT) * _ALIGNMENT)
            header = tensor_header(constant, value.name)
            header.data_location = onnx.TensorProto.EXTERNAL
            for key, entry in (("location", beside.name), ("offset", file.tell()), ("length", constant.nbytes)):
                header.external_data.add(key=key, value=str(entry))
            file.write(pack(constant.array(), constant.type.dtype))
            proto.initializer.append(header)


@contextmanager
def _written(target: Path) -> Iterator[IO[bytes]]:
    """A file to write, so that there is either the old one or the whole new one."""
    try:
        with atomic_write(target) as file:
            yield file
    except OfflineModelError as error:
        raise InputError(f"{target} cannot be written", details=[error.what, *error.details]) from error
