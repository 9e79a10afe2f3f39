"""A MindIR model as functions of steps, with constants by name and a graph of calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ge_core.errors import UnsupportedError
from ge_core.ir.location import Location
from ge_core.om.message_table import Message

from .literals import MONAD, Described, Description, Literal, described, description, literal
from .messages import damaged
from .model_file import ModelFile, Parameter

FRAMEWORK = "mindspore"
_REFERENCE = "REF::"
_CONSTANT = "Constant"
_MOST_FUNCTIONS = 10_000
_FUNCTION_STYLE = 2  # PrimitiveProto.PrimType: all settings are operands

# Names of one primitive in different versions of MindSpore.
MAKE_TUPLE = frozenset({"MakeTuple", "make_tuple", "make_list", "MakeList"})
TUPLE_ITEM = frozenset({"TupleGetItem", "tuple_getitem", "list_getitem", "ListGetItem", "RealTupleGetItem"})
SWITCH_LAYER = frozenset({"switch_layer", "SwitchLayer"})

# Attributes that say nothing of an operator's value.
_SAY_NOTHING = frozenset({"input_names", "output_names", "primitive_target", "is_load", "IsFeatureMapInputList",
                          "IsFeatureMapOutput", "checkpoint", "dyn_input_sizes", "target", "use_locking", "visited",
                          "isAICPU", "cust_aicpu", "RecomputeId", "recompute", "forward_unique_id",
                          "primitive_unique_id", "unique_id", "related_fusion_key", "group_back", "no_eliminate",
                          "GLOBAL_RANDOM_SEED", "io_format", "inputs_names", "N"})  # fmt: skip


@dataclass(frozen=True)
class Primitive:
    """An operator as steps refer to it.

    Attributes:
        op: MindSpore's name of it, `Conv2D`.
        attributes: its settings by name, where they are no operands.
        function_style: all settings are operands, in the order of MindSpore's definition.
    """

    op: str
    attributes: Mapping[str, Literal]
    function_style: bool


@dataclass(frozen=True)
class Step:
    """A node.

    Attributes:
        output: the name of its value.
        operands: names of values, constants, parameters and functions.
        primitive: the operator; None for a call.
        callee: for a call, the name of a function or of a closure.
        described: what the file says of the result.
        domain: the scope path, `Default/layer-Dense/MatMul-op0`.
    """

    output: str
    operands: tuple[str, ...]
    primitive: Primitive | None
    callee: str
    described: Description
    domain: str

    @property
    def op(self) -> str:
        """The operator's name."""
        return self.primitive.op if self.primitive is not None else "call"

    def location(self) -> Location:
        """The cell that the step stands in."""
        parts = self.domain.split("/")[1:-1]
        return Location(FRAMEWORK, ".".join(part.rpartition("-")[0] or part for part in parts), "", 0, self.op)


@dataclass
class Function:
    """A graph: the model's own, a branch, a loop.

    Attributes:
        inputs: names, with what the file says of each; MONAD for a token.
        steps: in an order in which values stand before their uses.
        output: the name of the result.
        callees: the functions that it names anywhere.
    """

    name: str
    inputs: list[tuple[str, Description | object]]
    steps: list[Step]
    output: str
    callees: set[str] = field(default_factory=set)

    @cached_property
    def producers(self) -> dict[str, Step]:
        """The step that makes a value, by the value's name."""
        return {step.output: step for step in self.steps}


class Program:
    """All functions of a model.

    Args:
        file: the model as it was read.

    Attributes:
        main: the model's own function.
        functions: all of them by name.
        parameters: of the model, by the name that steps use.
        constants: attributes by the constant's name, see `constant`.

    Raises:
        ModelImportError: the model is damaged.
    """

    def __init__(self, file: ModelFile) -> None:
        model = file.model
        self.name = file.name
        self.parameters: dict[str, Parameter] = {p.name: p for p in file.parameters}
        self._constants: dict[str, Message] = {}
        self._read: dict[str, Literal] = {}
        primitives = {p.name: p for p in model.primitives}
        self._primitives: dict[str, Primitive] = {}
        graphs = [model.graph, *model.functions]
        if len(graphs) > _MOST_FUNCTIONS:
            raise UnsupportedError(f"{file.name} has {len(graphs)} functions", expected=f"at most {_MOST_FUNCTIONS}")
        self.functions: dict[str, Function] = {}
        names = {graph.name for graph in graphs}
        if len(names) != len(graphs):
            raise damaged("two functions have one name")
        for graph in graphs:
            self.functions[graph.name] = self._function(graph, primitives, names)
        self.main = self.functions[model.graph.name]
        self._reached: dict[tuple[str, frozenset[str]], set[str]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._constants

    @property
    def size(self) -> int:
        """The number of steps."""
        return sum(len(f.steps) for f in self.functions.values())

    def constant(self, name: str) -> Literal:
        """The value of a constant."""
        if name not in self._read:
            self._read[name] = literal(self._constants[name], f"the constant {name!r}")
        return self._read[name]

    def reached(self, name: str, cut: frozenset[str]) -> set[str]:
        """The functions that a function can come to call, without passing through those in `cut`."""
        key = (name, cut)
        if key not in self._reached:
            found: set[str] = set()
            waiting = [name]
            while waiting:
                for callee in self.functions[waiting.pop()].callees:
                    if callee not in found:
                        found.add(callee)
                        if callee not in cut:
                            waiting.append(callee)
            self._reached[key] = found
        return self._reached[key]

    def _function(self, graph: Message, primitives: Mapping[str, Message], names: set[str]) -> Function:
        if not graph.output:
            raise damaged(f"the function {graph.name!r} has no output")
        steps: list[Step] = []
        callees: set[str] = set()
        for node in graph.node:
            if len(node.output) != 1:
                raise damaged(f"the node {node.name!r} has {len(node.output)} outputs where one is expected")
            if node.op_type == _CONSTANT:
                self._constants[node.output[0]] = _attribute(node, "value")
                continue
            step = self._step(node, primitives)
            callees.update(name for name in (*step.operands, step.callee) if name in names)
            steps.append(step)
        output = graph.output[0].name
        if len(graph.output) > 1:
            operands = tuple(info.name for info in graph.output)
            output = f"{graph.name}:outputs"
            steps.append(Step(output, operands, Primitive("MakeTuple", {}, True), "", Described(None, None), ""))
        inputs = [(info.name, _input(info)) for info in graph.input]
        return Function(graph.name, inputs, steps, output, callees)

    def _step(self, node: Message, primitives: Mapping[str, Message]) -> Step:
        if not node.op_type.startswith(_REFERENCE):
            raise damaged(f"the node {node.name!r} is a {node.op_type!r}, where an operator or a call is expected")
        name = node.op_type[len(_REFERENCE) :]
        primitive = None
        if name in primitives:
            if name not in self._primitives:
                self._primitives[name] = _primitive(primitives[name])
            primitive, name = self._primitives[name], ""
        shape = next((a for a in node.attribute if a.name == "shape"), None)
        said = Described(None, None) if shape is None else description(shape, f"the node {node.name!r}")
        return Step(node.output[0], tuple(node.input), primitive, name, said, node.domain)


def _primitive(proto: Message) -> Primitive:
    attributes = {
        a.name: literal(a, f"the attribute {a.name!r} of {proto.op_type}")
        for a in proto.attribute
        if a.name not in _SAY_NOTHING and not a.name.startswith(("side_effect_", "_"))
    }
    return Primitive(proto.op_type, attributes, proto.prim_type == _FUNCTION_STYLE)


def _attribute(node: Message, name: str) -> Message:
    found = next((a for a in node.attribute if a.name == name), None)
    if found is None:
        raise damaged(f"the node {node.name!r} has no attribute {name!r}")
    return found


def _input(info: Message) -> Any:
    if len(info.tensor) == 1:
        return described(info.tensor[0], f"the input {info.name!r}")
    if info.attr_info.type in (23, 24):
        return MONAD
    return description(info.attr_info, f"the input {info.name!r}")


def walk(program: Program) -> Iterator[tuple[Function, Step]]:
    """All steps with their functions."""
    for function in program.functions.values():
        for step in function.steps:
            yield function, step


def names_of(described: Sequence[Any]) -> list[str]:
    """Names of inputs that are no tokens."""
    return [name for name, said in described if said is not MONAD]
