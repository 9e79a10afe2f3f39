"""Variables: constants where the model only reads them, states where it writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ge_core.errors import GraphError, UnsupportedError
from ge_core.ir.builder import Builder
from ge_core.ir.constant import Constant
from ge_core.ir.graph import State, Value
from ge_core.ir.types import TensorType

from .program import Body, Op, Program, called

ASSIGNS = frozenset(
    {
        "AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp", "ResourceScatterAdd", "ResourceScatterSub",
        "ResourceScatterMul", "ResourceScatterDiv", "ResourceScatterMin", "ResourceScatterMax",
        "ResourceScatterUpdate", "ResourceScatterNdUpdate", "ResourceScatterNdAdd", "ResourceScatterNdSub",
        "ResourceScatterNdMin", "ResourceScatterNdMax", "ResourceStridedSliceAssign", "ResourceCountUpTo",
    }
)  # fmt: skip
"""Operators that write the variable of their first argument."""


class Variable:
    """A variable of the model.

    Args:
        key: tells it from all others: a name in a file, an object in memory.
        load: its constant, made on first use.

    Attributes:
        type: its element type and shape.
    """

    def __init__(self, key: object, name: str, type: TensorType, load: Callable[[], Constant]) -> None:
        self.key, self.name, self.type, self._load = key, name, type, load
        self._constant: Constant | None = None

    def constant(self) -> Constant:
        """Its value when the model was imported."""
        if self._constant is None:
            self._constant = self._load()
        return self._constant


class Store:
    """The values of all variables while a model is converted.

    Attributes:
        assigned: variables that the model writes somewhere.
        current: what those hold at this point of the conversion.
    """

    def __init__(self, b: Builder) -> None:
        self._b = b
        self._constants: dict[object, Value] = {}
        self._states: dict[Variable, State] = {}
        self.assigned: set[Variable] = set()
        self.current: dict[Variable, Value] = {}

    def assign_somewhere(self, variables: Sequence[Variable]) -> None:
        """Make states of variables that the model writes."""
        for variable in variables:
            if variable not in self.assigned:
                self.assigned.add(variable)
                # a copy: TensorFlow may write the variable in place later
                initial = Constant.of(variable.constant().array().copy(), variable.type.dtype)
                state = self._b.graph.add_state(variable.name, initial)
                self._states[variable] = state
                self.current[variable] = state.read

    def read(self, variable: Variable) -> Value:
        """What the variable holds now."""
        if variable in self.assigned:
            return self.current[variable]
        if variable.key not in self._constants:
            self._constants[variable.key] = self._b.graph.add_constant(variable.constant(), variable.name)
        return self._constants[variable.key]

    def write(self, variable: Variable, value: Value) -> None:
        """Let the variable hold `value` from now on.

        Raises:
            UnsupportedError: the value has another shape, so that the variable would change its size.
        """
        if variable not in self.assigned:
            raise GraphError(f"the variable {variable.name} was not expected to be written")
        if value.tensor.shape != variable.type.shape or value.dtype != variable.type.dtype:
            raise UnsupportedError(
                f"the variable {variable.name} of {variable.type} is assigned {value.tensor}",
                expected="a value of the variable's own shape",
            )
        self.current[variable] = value

    def finish(self) -> None:
        """Let each state keep what its variable holds at the end."""
        for variable, state in self._states.items():
            if self.current[variable] is not state.read:
                self._b.graph.set_state_write(state, self.current[variable])


class Writes:
    """Which arguments of functions are variables that are written, and which nodes write anything."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._known: dict[str, frozenset[int | str]] = {}

    def writes(self, node: Op) -> bool:
        """Whether a node writes a variable."""
        return node.op in ASSIGNS or any(self.of_function(name) for name in called(node))

    def of_function(self, name: str) -> frozenset[int | str]:
        """Written variables: indices of arguments, and names of handles that the function makes itself."""
        if name not in self._known:
            self._known[name] = frozenset()
            self._known[name] = self.of_body(self._program.function(name))
        return self._known[name]

    def of_body(self, body: Body, nodes: Iterable[Op] | None = None) -> frozenset[int | str]:
        """Like `of_function`, for a body, or for some of its nodes."""
        found: set[int | str] = set()
        for node in body.nodes.values() if nodes is None else nodes:
            if node.op in ASSIGNS:
                found.add(self._root(body, node, 0))
            for name in called(node):
                shift = 1 if node.op in ("If", "StatelessIf", "Case", "StatelessCase") else 0
                for place in self.of_function(name):
                    found.add(place if isinstance(place, str) else self._root(body, node, place + shift))
        return frozenset(found)

    def _root(self, body: Body, node: Op, index: int) -> int | str:
        """Where a variable that a node is given comes from."""
        for _ in range(len(body.nodes) + 1):
            if index >= len(node.inputs):
                break
            ref = node.inputs[index]
            if ref.node in body.argument_indices:
                return body.argument_indices[ref.node]
            node = body.nodes[ref.node]
            if node.op == "VarHandleOp":
                return node.name
            index = ref.output if node.op in ("IdentityN", "While", "StatelessWhile") else 0
        return node.name
