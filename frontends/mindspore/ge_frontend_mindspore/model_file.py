"""Reads MindIR files without MindSpore: the messages by protobuf, the weights as views of the mapped file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ge_core.errors import ModelImportError, OfflineModelError, UnsupportedError
from ge_core.om import wire
from ge_core.om.message_table import Message

from .external import ExternalFiles, map_file
from .messages import damaged, merge, message_class

# Field numbers of ModelProto and GraphProto, see messages.py.
_GRAPH, _PARAMETER = 7, 3
_RAW_DATA = 9
_MOST_FIELDS = 1 << 20
_NEWEST = 3
_ENCRYPTED = bytes.fromhex("d85e3a7f")  # each block of a file that MindSpore encrypts begins so
_PRODUCER = "MindSpore"


@dataclass(frozen=True)
class Parameter:
    """A parameter of the model.

    Attributes:
        name: what nodes call it.
        key: its name in the cell, `layers.0.weight`.
        proto: its message without the data.
        data: its bytes, a view of the mapped file.
    """

    name: str
    key: str
    proto: Message
    data: memoryview


@dataclass
class ModelFile:
    """A model as it was read.

    Attributes:
        name: what to call it in messages.
        model: the message; `graph` is without its parameters.
        parameters: of the main graph, in the file's order.
    """

    name: str
    model: Message
    parameters: list[Parameter] = field(default_factory=list)


def read_model(path: str | os.PathLike[str]) -> ModelFile:
    """The model in a `.mindir` file.

    Raises:
        ModelImportError: the file cannot be read, is damaged, or is no MindIR.
        UnsupportedError: it is encrypted, compressed or newer than this reader.
    """
    path = Path(path)
    data = map_file(path)
    if not data:
        raise ModelImportError(f"{path.name} is empty", expected="a MindIR file")
    if bytes(data[:4]) == _ENCRYPTED:
        raise UnsupportedError(
            f"{path.name} is encrypted, which is not supported",
            fix="export the model again without enc_key and enc_mode",
        )
    if not _is_model(data):
        raise ModelImportError(
            f"{path.name} does not begin as a MindIR file does; it may be encrypted",
            expected="a file of mindspore.export(..., file_format='MINDIR') without enc_key",
        )
    files = ExternalFiles(path.parent)
    found = ModelFile(path.name, message_class("Model")())
    rest = bytearray()
    graph: memoryview | None = None
    for number, kind, value in _fields(data):
        if number == _GRAPH and kind == wire.BYTES:
            assert isinstance(value, memoryview)
            if graph is not None:
                raise damaged("it holds two graphs")
            graph = value
        else:
            rest += _encoded(number, kind, value)
    merge(found.model, rest)
    if graph is None:
        raise damaged("it holds no graph")
    _read_graph(found, graph, files)
    _check(found)
    return found


def _is_model(data: memoryview) -> bool:
    """Whether the first field is ir_version, a short text; an encrypted file begins with other bytes."""
    return len(data) > 2 and data[0] == 0x0A and 0 < data[1] < 16 and bytes(data[2 : 2 + data[1]]).isascii()


def _fields(data: memoryview) -> Iterator[tuple[int, int, memoryview | int]]:
    try:
        for count, found in enumerate(wire.fields(data)):
            if count >= _MOST_FIELDS:
                raise damaged(f"a message has more than {_MOST_FIELDS} fields")
            yield found
    except OfflineModelError as error:
        raise damaged(error.what) from error


def _encoded(number: int, kind: int, value: memoryview | int) -> bytes:
    if isinstance(value, int):
        return wire.varint(number << 3 | wire.VARINT) + wire.varint(value)
    tag = wire.varint(number << 3 | kind)
    return tag + (wire.varint(len(value)) if kind == wire.BYTES else b"") + bytes(value)


def _read_graph(found: ModelFile, data: memoryview, files: ExternalFiles) -> None:
    """The main graph: its parameters keep their bytes in the file, all else is parsed by protobuf."""
    rest = bytearray()
    parameters: list[memoryview] = []
    for number, kind, value in _fields(data):
        if number == _PARAMETER and kind == wire.BYTES:
            assert isinstance(value, memoryview)
            parameters.append(value)
        else:
            rest += _encoded(number, kind, value)
    merge(found.model.graph, rest)
    prefix = f"{found.model.graph.name}:"
    for view in parameters:
        found.parameters.append(_parameter(view, prefix, files))


def _parameter(view: memoryview, prefix: str, files: ExternalFiles) -> Parameter:
    proto = message_class("Tensor")()
    raw: memoryview | None = None
    rest = bytearray()
    for number, kind, value in _fields(view):
        if number == _RAW_DATA and kind == wire.BYTES:
            assert isinstance(value, memoryview)
            raw = value
        else:
            rest += _encoded(number, kind, value)
    merge(proto, rest)
    where = f"the parameter {proto.name!r}"
    if proto.compression_type or proto.quant_params:
        raise UnsupportedError(f"{where} is compressed or quantised, which is not supported")
    external = proto.external_data
    if proto.HasField("external_data") and external.location:
        if raw is not None:
            raise damaged(f"{where} has data both inside and outside of the file")
        raw = files.bytes_of(external.location, external.offset, external.length, where)
    return Parameter(proto.name, proto.ref_key or proto.name.removeprefix(prefix), proto, raw or memoryview(b""))


def _check(found: ModelFile) -> None:
    model = found.model
    if model.producer_name != _PRODUCER:
        raise ModelImportError(
            f"{found.name} was made by {model.producer_name or 'nobody'!r}", expected="a MindIR file of MindSpore"
        )
    if model.mind_ir_version > _NEWEST:
        raise UnsupportedError(
            f"{found.name} has the MindIR version {model.mind_ir_version}", expected=f"at most {_NEWEST}"
        )
    if not model.little_endian:
        raise UnsupportedError(f"{found.name} was written on a machine with the other byte order")
    if any("obf" in info.key for info in model.user_info) or any("obf_" in p.key for p in found.parameters):
        raise UnsupportedError(
            f"{found.name} is obfuscated, so that it gives right results only with MindSpore and its password",
            fix="export the model without obf_config",
        )
    for graph in (model.graph, *model.functions):
        if graph.map_parameter:
            raise UnsupportedError(f"{found.name} has map parameters, which are not supported")
    for function in model.functions:
        if function.parameter:
            raise damaged(f"the function {function.name} has parameters of its own")
