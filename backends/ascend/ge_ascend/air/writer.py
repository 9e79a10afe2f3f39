"""From CANN operators to the bytes of an AIR file.

Descriptors are repeated at both ends of an edge; convolution-like tensors get their logical format and shape,
all others ND and nothing more. Weights stand inside; when they are too much for one message, each large one is
a file beside it (FileConstant).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ge_ascend.air.model import FORMATS
from ge_ascend.net import Net, Op, Out, Program
from ge_ascend.prototypes import prototype
from ge_core.errors import BackendError
from ge_core.ir import dims
from ge_core.ir.constant import Constant
from ge_core.ir.dims import Dim
from ge_core.ir.dtype import DType, pack
from ge_core.ir.types import TensorType
from ge_core.om.attributes import AttrValue, DataTypeNumber, set_value
from ge_core.om.message_table import Message
from ge_core.om.messages import message_class, serialize

MOST_INSIDE = 1_932_735_283
"""Bytes of weights that may stand inside (1.8 GiB): protobuf ends at 2 GiB, and the rest needs room too."""

_LARGE = 4096


@dataclass
class AirFile:
    """What is written: the message, and weights by their path beside it."""

    data: bytes
    weights: dict[str, Constant] = field(default_factory=dict)


def write_air(program: Program, *, most_inside: int = MOST_INSIDE, folder: str = "weight") -> AirFile:
    """The file of a program; equal programs give equal bytes.

    Args:
        most_inside: weights of more bytes than this go into files.
        folder: where those files lie, seen from the AIR file.

    Raises:
        BackendError: an element type has no number in GE.
    """
    return _Writer(program, most_inside, folder).write()


class _Writer:
    def __init__(self, program: Program, most_inside: int, folder: str) -> None:
        self.program, self.folder = program, folder
        self.file = AirFile(b"")
        constants = {id(c): c.nbytes for op in program.ops() if (c := _constant(op)) is not None}
        self.beside = sum(constants.values()) > most_inside
        self.formats = _formats(program)

    def write(self) -> AirFile:
        model = message_class("ModelDef")(name=self.program.name or "main", version=1)
        set_value(model.attr["target_type"], "MINI")
        for name in ("memory_size", "weight_size", "stream_num", "event_num", "label_num", "p2p_memory_size"):
            set_value(model.attr[name], 0)
        for index, net in enumerate(self.program.nets):
            self._graph(model.graph.add(), net, root=index == 0)
        self.file.data = serialize(model)
        return self.file

    def _graph(self, graph: Message, net: Net, *, root: bool) -> None:
        graph.name = net.name
        for op in net.ops:
            self._node(graph.op.add(), op, len(graph.op) - 1)
            if op.type in ("Data", "RefData"):
                graph.input.append(f"{op.name}:0")
        after = [op.name for op in net.ops if op.type == "Assign"]
        self._net_output(graph.op.add(), net, after, len(graph.op) - 1, root=root)

    def _net_output(self, node: Message, net: Net, after: Sequence[str], number: int, *, root: bool) -> None:
        node.name, node.type, node.id = f"{net.name}_NetOutput", "NetOutput", number
        node.input.extend(f"{name}:-1" for name in after)
        for index, out in enumerate(net.outputs):
            node.input.append(f"{out.op.name}:{out.index}")
            desc = node.input_desc.add()
            self._desc(desc, f"input{index}", out, "ND")
            if not root:
                set_value(desc.attr["_parent_node_index"], index)
        self._ports(node, [f"input{i}" for i in range(len(net.outputs))], [])

    def _node(self, node: Message, op: Op, number: int) -> None:
        constant = _constant(op)
        node.name, node.type, node.id = op.name, op.type, number
        for port, out in op.inputs:
            node.input.append(f"{out.op.name}:{out.index}")
            self._desc(node.input_desc.add(), port, out, op.formats.get(port, "ND"))
        for out in op.outs:
            self._desc(node.output_desc.add(), out.port, out, self.formats.get(out, "ND"))
        if op.type in ("Data", "RefData"):
            self._desc(node.input_desc.add(), "x", op.outs[0], self.formats.get(op.outs[0], "ND"))
        inputs = ["x"] if op.type in ("Data", "RefData") else [port for port, _ in op.inputs]
        self._ports(node, inputs, [out.port for out in op.outs])
        node.subgraph_name.extend(op.graphs)
        if constant is not None and op.type == "Const":
            self._weight(node, op, constant)
            return
        for name, value in op.attrs.items():
            self._attr(node.attr[name], op, name, value)

    def _weight(self, node: Message, op: Op, constant: Constant) -> None:
        if self.beside and constant.nbytes >= _LARGE:
            path = f"{self.folder}/{op.name.replace('/', '_')}"
            node.type = "FileConstant"
            shape = [int(s) for s in constant.type.shape or ()]  # type: ignore[arg-type]
            set_value(node.attr["shape"], shape)
            set_value(node.attr["dtype"], DataTypeNumber(_memory(constant.type.dtype)))
            set_value(node.attr["file_path"], path)
            self.file.weights[path] = constant
            return
        tensor = node.attr["value"].t
        self._desc(tensor.desc, "", op.outs[0], self.formats.get(op.outs[0], "ND"))
        tensor.data = bytes(pack(constant.array(), constant.type.dtype))

    def _attr(self, attr: Message, op: Op, name: str, value: Any) -> None:
        if isinstance(value, Constant):
            tensor = attr.t
            _plain_desc(tensor.desc, value.type, "ND")
            tensor.data = bytes(pack(value.array(), value.type.dtype))
            return
        set_value(attr, _converted(op, name, value))

    def _desc(self, desc: Message, port: str, out: Out, layout: str) -> None:
        kind = out.value.type
        if not isinstance(kind, TensorType):
            raise BackendError(f"{out.op.name} gives a {kind}, which AIR cannot describe")
        desc.name = port
        _plain_desc(desc, kind, layout)
        if out.op.type in ("Data", "RefData"):
            desc.device_type = "NPU"
            shape = kind.shape or ()
            if any(isinstance(size, Dim) for size in shape):
                set_value(desc.attr["_ge_sizes"], [str(size) for size in shape])

    @staticmethod
    def _ports(node: Message, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        for key, names in (("input", inputs), ("output", outputs)):
            if names:
                set_value(node.attr[f"_{key}_name_key"], list(names))
                set_value(node.attr[f"_{key}_name_value"], list(range(len(names))))


def _constant(op: Op) -> Constant | None:
    found = op.attrs.get("value")
    return found if isinstance(found, Constant) else None


def _formats(program: Program) -> dict[Out, str]:
    """The format of each output: what its own port says; for data and weights what their readers say."""
    found: dict[Out, str] = {}
    for op in program.ops():
        for out in op.outs:
            if out.port in op.formats:
                found[out] = op.formats[out.port]
        for port, out in op.inputs:
            if port in op.formats and out.op.type in ("Data", "Const"):
                found.setdefault(out, op.formats[port])
    return found


def _plain_desc(desc: Message, kind: TensorType, layout: str) -> None:
    number = kind.dtype.ge_proto
    if number is None:
        raise BackendError(f"GE has no number for {kind.dtype}")
    desc.dtype, desc.layout = number, layout
    shape = kind.shape or ()
    numbers = [-1 if isinstance(size, Dim) else int(size) for size in shape]
    desc.shape.dim.extend(numbers)
    if kind.shape is not None:
        desc.shape.SetInParent()
    if any(isinstance(size, Dim) for size in shape):
        ranges = []
        for size in shape:
            low, high = dims.bounds(size)
            ranges.append([max(low or 0, 0), -1 if high is None else high])
        set_value(desc.attr["shape_range"], ranges)
    if layout != "ND":
        format_number = FORMATS.index(layout)
        set_value(desc.attr["format_for_int"], format_number)
        set_value(desc.attr["origin_format_for_int"], format_number)
        set_value(desc.attr["origin_format"], layout)
        set_value(desc.attr["origin_shape"], numbers)
        set_value(desc.attr["origin_shape_initialized"], True)


def _memory(dtype: DType) -> int:
    if dtype.ge_memory is None:
        raise BackendError(f"GE has no number for {dtype}")
    return dtype.ge_memory


def _converted(op: Op, name: str, value: Any) -> AttrValue:
    """An attribute's value in the form that its declared type is stored in."""
    declared = prototype(op.type)
    spec = None if declared is None else declared.attributes.get(name)
    kind = "" if spec is None else spec.type
    if kind == "Type":
        return DataTypeNumber(int(value))
    if kind == "Int":
        return int(value)
    if kind == "Float":
        return float(value)
    if kind == "Bool":
        return bool(value)
    if kind == "ListInt":
        return [int(v) for v in value]
    if kind == "ListFloat":
        return [float(v) for v in value]
    if isinstance(value, (np.generic,)):
        plain: AttrValue = value.item()
        return plain
    result: AttrValue = value
    return result
