"""What a function that translates an operator sees: the operator, its tensors, and TensorFlow nodes to make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ge_core.errors import UnsupportedError
from ge_core.ir.constant import Constant
from ge_core.ir.location import Location
from ge_core.ir.types import TensorType
from ge_core.om.message_table import Message

from ..messages import message_class
from ..program import Op, Ref
from ..variables import Variable
from .model_file import NUMBERS, Operator, Quantised, SubGraph, Tensor

_ACTIVATIONS = {0: "", 1: "RELU", 2: "RELU_N1_TO_1", 3: "RELU6", 4: "TANH"}


class Body:
    """The TensorFlow nodes that a sub graph becomes.

    Args:
        constants: of the whole model; nodes refer to them by place.

    Attributes:
        values: what each tensor is, as it is stored.
        reals: what each quantised tensor is as real numbers, where that was asked for.
        variables: what keeps its value from call to call, by the names of the nodes that stand for it.
        writes: the nodes that write those.
    """

    def __init__(self, graph: SubGraph, constants: list[Constant]) -> None:
        self.graph, self.constants = graph, constants
        self.nodes: dict[str, Op] = {}
        self.values: dict[int, Ref] = {}
        self.reals: dict[int, Ref] = {}
        self.variables: dict[str, Variable] = {}
        self.writes: list[str] = []
        self._names: dict[str, int] = {}

    def add(self, op: str, hint: str, inputs: Sequence[Ref], attributes: dict[str, Any]) -> str:
        """Add a node; its name."""
        count = self._names.get(hint, 0)
        self._names[hint] = count + 1
        name = f"{hint}#{count}" if count else hint
        proto = message_class("NodeDef")()
        proto.name, proto.op = name, op
        for key, value in attributes.items():
            _set(proto.attr[key], value)
        self.nodes[name] = Op(name, op, tuple(inputs), (), proto)
        return name

    def constant(self, constant: Constant, hint: str) -> Ref:
        """A node for a constant."""
        self.constants.append(constant)
        return Ref(self.add("_TfliteConstant", hint, (), {"index": len(self.constants) - 1}), 0)

    def stored(self, index: int) -> Ref:
        """A tensor as it is stored."""
        if index not in self.values:
            tensor = self.graph.tensors[index]
            if tensor.variable:
                return Ref(self.add("ReadVariableOp", tensor.name, [self._handle(index)], {}), 0)
            if tensor.constant is None:
                raise UnsupportedError(f"the tensor {tensor.name!r} is read before anything computes it")
            self.values[index] = self.constant(tensor.constant, tensor.name or f"constant_{index}")
        return self.values[index]

    def real(self, index: int) -> Ref:
        """A tensor as real numbers: dequantised where it is quantised."""
        tensor = self.graph.tensors[index]
        if tensor.quantised is None:
            return self.stored(index)
        if index not in self.reals:
            name = self.add(
                "_TfliteDequantize", f"{tensor.name}/dequantised", [self.stored(index)], _parameters(tensor.quantised)
            )
            self.reals[index] = Ref(name, 0)
        return self.reals[index]

    def write(self, index: int, value: Ref) -> None:
        """Let a variable tensor keep a value; reads that follow see it."""
        self.writes.append(self.add("AssignVariableOp", "write", [self._handle(index), value], {}))

    def _handle(self, index: int) -> Ref:
        """The node that stands for a variable tensor, which is zeros before the first call."""
        tensor = self.graph.tensors[index]
        name = f"variable_{index}"
        if name not in self.variables:
            type = TensorType(tensor.dtype, tuple(s or 0 for s in tensor.shape))
            if type.dtype.name != "float32" or None in tensor.shape:
                raise UnsupportedError(f"the variable tensor {tensor.name!r} of {type} is not supported")
            zeros = Constant.of(np.zeros(tuple(s or 0 for s in tensor.shape), np.float32))
            self.variables[name] = Variable(name, tensor.name or name, type, lambda: zeros)
            self.add("VarHandleOp", name, (), {})
        return Ref(name, 0)

    def quantise(self, index: int, real: Ref) -> Ref:
        """Real numbers as a quantised tensor stores them."""
        tensor = self.graph.tensors[index]
        assert tensor.quantised is not None
        attributes = {**_parameters(tensor.quantised), "dtype": DTypeNumber(NUMBERS[tensor.dtype.name])}
        return Ref(self.add("_TfliteQuantize", f"{tensor.name}/quantised", [real], attributes), 0)


class DTypeNumber(int):
    """TensorFlow's number of an element type, where an attribute's kind is type."""


class Function(str):
    """The name of a function, where an attribute's kind is func."""

    __slots__ = ()


def _parameters(quantised: Quantised) -> dict[str, Any]:
    return {
        "scale": list(quantised.scales),
        "zero_point": list(quantised.zero_points),
        "axis": quantised.axis,
    }


def _set(target: Message, value: Any) -> None:
    if isinstance(value, bool):
        target.b = value
    elif isinstance(value, DTypeNumber):
        target.type = value
    elif isinstance(value, Function):
        target.func.name = value
    elif isinstance(value, int):
        target.i = value
    elif isinstance(value, float):
        target.f = value
    elif isinstance(value, str):
        target.s = value.encode()
    else:
        _set_list(target.list, list(value))


def _set_list(target: Message, values: list[Any]) -> None:
    if values and isinstance(values[0], float):
        target.f.extend(values)
    elif values and isinstance(values[0], DTypeNumber):
        target.type.extend(values)
    else:
        target.i.extend(int(v) for v in values)


class Call:
    """One operator while it is translated.

    Attributes:
        name: the operator's name, `CONV_2D`.
        stored: whether inputs are given, and results taken, as they are stored.
    """

    def __init__(self, body: Body, operator: Operator, stored: bool) -> None:
        self.body, self.operator, self.stored_form = body, operator, stored
        self.name = operator.name
        first = operator.outputs[0] if operator.outputs else -1
        self.hint = body.graph.tensors[first].name if first >= 0 else self.name
        self.loc = Location("tensorflow", self.hint, op=self.name)

    # --- the operator ---

    def option(self, name: str, default: Any = None) -> Any:
        """A field of the options; the default when the file leaves the options out."""
        return default if self.operator.options is None else self.operator.options.get(name)

    def has(self, index: int) -> bool:
        """Whether there is an input at this place."""
        return index < len(self.operator.inputs) and self.operator.inputs[index] >= 0

    def tensor(self, index: int) -> Tensor:
        """An input's tensor.

        Raises:
            UnsupportedError: it is left out.
        """
        if not self.has(index):
            raise self.unsupported(f"leaving out input {index}")
        return self.body.graph.tensors[self.operator.inputs[index]]

    def out(self, index: int = 0) -> Tensor:
        """A result's tensor."""
        if index >= len(self.operator.outputs):
            raise self.unsupported(f"having {len(self.operator.outputs)} results")
        return self.body.graph.tensors[self.operator.outputs[index]]

    def input(self, index: int) -> Ref:
        """An input, as real numbers unless the operator only moves elements."""
        self.tensor(index)
        read = self.body.stored if self.stored_form else self.body.real
        return read(self.operator.inputs[index])

    def raw(self, index: int) -> Ref:
        """An input as it is stored."""
        self.tensor(index)
        return self.body.stored(self.operator.inputs[index])

    def inputs(self) -> list[Ref]:
        """All inputs."""
        return [self.input(i) for i in range(len(self.operator.inputs))]

    def known(self, index: int, what: str) -> np.ndarray:
        """The elements of a constant input.

        Raises:
            UnsupportedError: it is computed.
        """
        constant = self.tensor(index).constant
        if constant is None:
            raise self.unsupported(f"{what} that is computed")
        return constant.array()

    def is_zero(self, index: int) -> bool:
        """Whether an input is a constant of zeros, as the biases are that the converter puts where there were none."""
        constant = self.tensor(index).constant
        return constant is not None and not constant.array().any()

    def shape(self, index: int) -> list[int]:
        """The sizes of an input that must be fixed in the file."""
        found = self.tensor(index).shape
        if any(size is None for size in found):
            raise self.unsupported(f"open sizes of {self.tensor(index).name!r}")
        return [int(size) for size in found if size is not None]

    def unsupported(self, what: str) -> UnsupportedError:
        """An error for a form of this operator that cannot be translated."""
        return UnsupportedError(f"{self.name}: {what} is not supported", where=self.loc)

    # --- nodes ---

    def node(self, op: str, *inputs: Ref, **attributes: Any) -> Ref:
        """The first result of a TensorFlow node."""
        return Ref(self.body.add(op, self.hint, inputs, attributes), 0)

    def nodes(self, op: str, count: int, *inputs: Ref, **attributes: Any) -> list[Ref]:
        """All results of a TensorFlow node."""
        name = self.body.add(op, self.hint, inputs, attributes)
        return [Ref(name, i) for i in range(count)]

    def constant(self, value: Any, dtype: str = "int32") -> Ref:
        """A constant."""
        return self.body.constant(Constant.of(np.asarray(value, dtype)), f"{self.hint}/constant")

    def type_of(self, tensor: Tensor) -> DTypeNumber:
        """A tensor's element type as an attribute."""
        return DTypeNumber(NUMBERS[tensor.dtype.name])

    def type_of_name(self, dtype: str) -> DTypeNumber:
        """An element type as an attribute."""
        return DTypeNumber(NUMBERS[dtype])

    def activated(self, x: Ref) -> Ref:
        """`x` behind the activation that the operator has built in."""
        number = int(self.option("fused_activation_function", 0))
        if number not in _ACTIVATIONS:
            raise self.unsupported(f"the activation number {number}")
        kind = _ACTIVATIONS[number]
        return activation(self, kind, x) if kind else x


def activation(c: Call, kind: str, x: Ref) -> Ref:
    """RELU, RELU6, RELU_N1_TO_1, RELU_0_TO_1 or TANH."""
    bounds = {"RELU_N1_TO_1": (-1, 1), "RELU_0_TO_1": (0, 1)}
    if kind in bounds:
        low, high = (c.constant(v, "float32") for v in bounds[kind])
        return c.node("ClipByValue", x, low, high)
    return c.node({"RELU": "Relu", "RELU6": "Relu6", "TANH": "Tanh"}[kind], x)
