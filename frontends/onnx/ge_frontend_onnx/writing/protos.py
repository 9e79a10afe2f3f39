"""A lowered graph as onnx messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, TypeProto, ValueInfoProto

from ge_core.ir.constant import Constant
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType, pack
from ge_core.ir.graph import Block, Graph, Names, Node, Region, Value, source_of
from ge_core.ir.parser import parse_type
from ge_core.ir.types import OptionalType, SequenceType, TensorType, Type

from .forms import form_of


class Writer:
    """Writes blocks of one graph.

    Args:
        opset: the version of the operators; every node can be said in it.
    """

    def __init__(self, graph: Graph, opset: int) -> None:
        self._graph, self._opset = graph, opset
        self._node_names = Names()
        self.constants: dict[Value, None] = {}

    def block(self, block: Block, name: str) -> GraphProto:
        """The message of a graph or region; tensors of constants are left out."""
        proto = GraphProto(name=name)
        proto.input.extend(value_info(v) for v in block.params)
        for node in block.nodes:
            proto.node.append(self._node(node))
        outputs: list[Value] = list(block.outputs)
        if isinstance(block, Graph):
            proto.input.extend(value_info(s.read) for s in block.states)
            outputs += [s.read if s.write is None else s.write for s in block.states]
        self._outputs(proto, block, outputs)
        return proto

    def _outputs(self, proto: GraphProto, block: Block, outputs: Iterable[Value]) -> None:
        """Outputs must be made in the graph itself, each once."""
        seen: set[Value] = set()
        for value in outputs:
            info = value_info(value)
            if value.producer is None or value.owner is not block or value in seen:
                info.name = self._graph.fresh_name(f"{value.name}_out")
                proto.node.append(NodeProto(op_type="Identity", input=[self._name(value)], output=[info.name]))
            seen.add(value)
            proto.output.append(info)

    def _node(self, node: Node) -> NodeProto:
        form = form_of(node, self._opset)
        proto = NodeProto(op_type=form.op, name=self._node_names.fresh(node.loc.module or node.op))
        proto.input.extend("" if v is None else self._name(v) for v in form.inputs)
        proto.output.extend(v.name for v in node.outputs)
        for name, value in sorted(form.attrs.items()):
            proto.attribute.append(_attribute(name, value))
        for name, region in node.regions.items():
            assert isinstance(region, Region)
            inner = self.block(region, f"{node.op}_{name}")
            proto.attribute.append(AttributeProto(name=name, type=AttributeProto.GRAPH, g=inner))
        return proto

    def _name(self, value: Value) -> str:
        source = source_of(value)
        if source.constant is not None:
            self.constants[source] = None
        return source.name


def value_info(value: Value) -> ValueInfoProto:
    """Name and type of a value."""
    return ValueInfoProto(name=value.name, type=type_proto(value.type))


def type_proto(type: Type) -> TypeProto:
    """The message of a type; sizes that are no numbers are written as their text."""
    proto = TypeProto()
    if isinstance(type, SequenceType):
        proto.sequence_type.elem_type.CopyFrom(type_proto(type.element))
    elif isinstance(type, OptionalType):
        proto.optional_type.elem_type.CopyFrom(type_proto(type.element))
    else:
        assert isinstance(type, TensorType)
        proto.tensor_type.elem_type = type.dtype.onnx
        if type.shape is not None:
            proto.tensor_type.shape.SetInParent()
            for size in type.shape:
                _add_size(proto.tensor_type.shape, size)
    return proto


def _add_size(shape: Any, size: Size) -> None:
    if isinstance(size, int):
        shape.dim.add(dim_value=size)
    else:
        shape.dim.add(dim_param=str(size))


def tensor(constant: Constant, name: str = "") -> TensorProto:
    """A tensor with its data."""
    proto = tensor_header(constant, name)
    proto.raw_data = pack(constant.array(), constant.type.dtype)
    return proto


def tensor_header(constant: Constant, name: str) -> TensorProto:
    """A tensor without its data."""
    shape = constant.type.shape or ()
    return TensorProto(name=name, data_type=constant.type.dtype.onnx, dims=[int(str(d)) for d in shape])


def _attribute(name: str, value: Any) -> AttributeProto:
    proto = AttributeProto(name=name)
    kinds = AttributeProto
    if isinstance(value, DType):
        proto.type, proto.i = kinds.INT, value.onnx
    elif isinstance(value, (bool, int)):
        proto.type, proto.i = kinds.INT, int(value)
    elif isinstance(value, float):
        proto.type, proto.f = kinds.FLOAT, value
    elif isinstance(value, Constant):
        proto.type = kinds.TENSOR
        proto.t.CopyFrom(tensor(value))
    elif isinstance(value, (str, bytes)) and name == "type":
        proto.type = kinds.TYPE_PROTO
        proto.tp.CopyFrom(type_proto(parse_type(str(value))))
    elif isinstance(value, (str, bytes)):
        proto.type, proto.s = kinds.STRING, value.encode() if isinstance(value, str) else value
    else:
        _several(proto, value)
    return proto


def _several(proto: AttributeProto, values: Sequence[Any]) -> None:
    kinds = AttributeProto
    if values and isinstance(values[0], float):
        proto.type = kinds.FLOATS
        proto.floats.extend(values)
    elif values and isinstance(values[0], (str, bytes)):
        proto.type = kinds.STRINGS
        proto.strings.extend(v.encode() if isinstance(v, str) else v for v in values)
    else:
        proto.type = kinds.INTS
        proto.ints.extend(int(v) for v in values)
