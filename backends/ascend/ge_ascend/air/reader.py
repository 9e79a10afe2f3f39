"""From the bytes of an AIR file to plain data. Nothing is trusted; what does not fit is kept for the checker."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ge_ascend.air.model import AirGraph, AirModel, AirNode, TensorDesc
from ge_core.errors import ModelImportError, OfflineModelError
from ge_core.om.attributes import decode
from ge_core.om.message_table import Message
from ge_core.om.messages import parse
from ge_core.regular_file import open_regular


def read_air(path: str | os.PathLike[str]) -> AirModel:
    """Read a file.

    Raises:
        ModelImportError: it cannot be read, or is no ModelDef with a graph.
    """
    try:
        with open_regular(path) as file:
            data = file.read()
    except OSError as error:
        raise ModelImportError(f"{path} cannot be read: {error.strerror}") from error
    return parse_air(data, os.fspath(path))


def parse_air(data: bytes | memoryview, source: str = "AIR") -> AirModel:
    """Parse the bytes of a file.

    Raises:
        ModelImportError: no ModelDef, or one without a graph.
    """
    try:
        message = parse("ModelDef", data)
    except OfflineModelError as error:
        raise ModelImportError(
            f"{source} is no AIR file: {error.what}", expected=error.expected, fix="write it again from its model"
        ) from error
    if not message.graph:
        raise ModelImportError(f"{source} holds no graph", expected="a ModelDef with at least one GraphDef")
    return AirModel(
        message.name,
        [_graph(graph) for graph in message.graph],
        _attributes(message.attr)[0],
        source,
        str(Path(source).parent),
    )


def _graph(graph: Message) -> AirGraph:
    return AirGraph(graph.name, [_node(op) for op in graph.op], [_edge(text) for text in graph.output])


def _edge(text: str) -> tuple[str, int]:
    name, colon, index = text.rpartition(":")
    if not colon or not index.lstrip("-").isdigit():
        return text, 0
    return name, int(index)


def _node(op: Message) -> AirNode:
    values, kinds, broken = _attributes(op.attr)
    node = AirNode(op.name, op.type, attrs=values, kinds=kinds, broken=broken, graphs=list(op.subgraph_name))
    for text in op.input:
        if not text:
            node.inputs.append(None)
            continue
        name, index = _edge(text)
        if index == -1:
            node.controls.append(name)
        else:
            node.inputs.append((name, index))
    node.input_descs = [_desc(d) for d in op.input_desc]
    node.output_descs = [_desc(d) for d in op.output_desc]
    node.input_ports = _port_names(values, "input", node.input_descs)
    node.output_ports = _port_names(values, "output", node.output_descs)
    return node


def _port_names(attrs: Mapping[str, Any], side: str, descs: list[TensorDesc]) -> list[str]:
    """Names per slot: by the table of the node, else by the descriptors."""
    names = [desc.name for desc in descs]
    keys, slots = attrs.get(f"_{side}_name_key"), attrs.get(f"_{side}_name_value")
    if isinstance(keys, list) and isinstance(slots, list) and len(keys) == len(slots):
        for key, slot in zip(keys, slots, strict=True):
            if isinstance(key, str) and isinstance(slot, int) and 0 <= slot < len(names):
                names[slot] = key
    return names


def _attributes(attrs: Message) -> tuple[dict[str, Any], dict[str, str], dict[str, str]]:
    """Values, the field that each stands in, and what is wrong with those that hold none."""
    values: dict[str, Any] = {}
    kinds: dict[str, str] = {}
    broken: dict[str, str] = {}
    for name in sorted(attrs):
        message = attrs[name]
        field = message.WhichOneof("value")
        if field == "list":
            filled = [f.name for f, _ in message.list.ListFields() if f.name != "val_type"]
            field = f"list.{filled[0]}" if len(filled) == 1 else "list"
            special = name.startswith("_")
            if filled and message.list.val_type == 0 and not special:
                broken[name] = "a list without its val_type, which GE drops"
        try:
            values[name] = decode(message)
            kinds[name] = field or ""
        except OfflineModelError as error:
            broken[name] = error.what
    return values, kinds, broken


def _desc(desc: Message) -> TensorDesc:
    attrs, _, _ = _attributes(desc.attr)
    ranges = attrs.get("shape_range")
    sizes = attrs.get("_ge_sizes")
    shape = tuple(desc.shape.dim)
    pairs: tuple[tuple[int, int], ...] = ()
    if isinstance(ranges, list) and len(ranges) == len(shape) and all(len(pair) == 2 for pair in ranges):
        pairs = tuple((pair[0], pair[1]) for pair in ranges)
    named = isinstance(sizes, list) and len(sizes) == len(shape) and all(isinstance(s, str) for s in sizes)
    return TensorDesc(desc.name, desc.dtype, shape, desc.layout, pairs, tuple(sizes) if named and sizes else (), attrs)
