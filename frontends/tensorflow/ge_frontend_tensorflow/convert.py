"""Phase two of an import: graphs and functions node by node through the functions of `ops`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ge_core.errors import GeError, GraphError, ModelImportError, UnsupportedError
from ge_core.ir.builder import Builder
from ge_core.ir.constant import Constant
from ge_core.ir.graph import Graph, State, Value
from ge_core.ir.location import Location

from .call import Call
from .complex_pair import ComplexPair
from .operator_table import Described, described
from .program import Body, Needed, Op, Program, count_of
from .registry import Operator, find
from .tensor_list import TensorList
from .variables import Store, Variable, Writes

_REPORT_IT = "this is a fault of the TensorFlow frontend; please report it"
_BUILDS_NOTHING = frozenset({"Const", "Identity", "ReadVariableOp", "VarHandleOp"})
"""Operators that become no nodes: their places, which take long to find, are asked for in errors alone."""

Result: TypeAlias = Value | Variable | TensorList | ComplexPair | None
"""What stands for a result of an operator."""


class Converter:
    """Converts bodies into blocks of one graph.

    Args:
        program: the functions.
        store: the variables' values.
        handles: variables by the names of VarHandleOps.
        places: source file and line by the names of the outermost graph's nodes.

    Attributes:
        views: constants that are views of other constants.
        spaced: tensors that SpaceToBatchND took apart.
        writes: which functions write what.
        random_offset: how many random numbers have been drawn, once there are any.
    """

    def __init__(
        self,
        program: Program,
        store: Store,
        handles: Mapping[str, Variable],
        places: Mapping[str, tuple[str, int]],
    ) -> None:
        self.program, self.store, self.handles, self.places = program, store, handles, places
        self.writes = Writes(program)
        self.views: dict[Any, Value] = {}
        self.spaced: dict[Value, Any] = {}
        self.random_offset: Any = None
        self._random_state: State | None = None
        self._orders: dict[str, list[Op]] = {}
        self._module = ""

    def random_state(self, graph: Graph) -> State:
        """The state that counts the random numbers drawn so far; `random_offset` is its value at this point."""
        if self._random_state is None:
            self._random_state = graph.add_state("random_numbers_drawn", Constant.of(np.int64(0)))
            self.random_offset = self._random_state.read
        return self._random_state

    def order(self, body: Body) -> list[Op]:
        """The nodes of a body that must be converted, in order."""
        if body.name not in self._orders:
            self._orders[body.name] = Needed(body, self.writes.writes).order
        return self._orders[body.name]

    def function(self, b: Builder, name: str, arguments: Sequence[Result]) -> list[Result]:
        """Convert a function of the library at the end of `b`'s block."""
        return self.run(b, self.program.function(name), arguments)

    def run(self, b: Builder, body: Body, arguments: Sequence[Result]) -> list[Result]:
        """Convert a body at the end of `b`'s block; what its results stand for."""
        if len(arguments) != len(body.arguments):
            raise ModelImportError(
                f"{body.name} is called with {len(arguments)} arguments", expected=str(len(body.arguments))
            )
        env: dict[str, Sequence[Result]] = {n: (a,) for n, a in zip(body.arguments, arguments, strict=True)}
        for node in self.order(body):
            env[node.name] = self._convert(b, env, body, node)
        return [_result(env, ref.node, ref.output, body.name) for ref in body.results]

    def inside(self, module: str) -> str:
        """Give the places of nodes this prefix from now on; the prefix before."""
        old, self._module = self._module, module
        return old

    def location(self, node: Op) -> Location:
        """Where a node of the body that is being converted stands in the user's model."""
        file, line = self.places.get(node.name, ("", 0)) if not self._module else ("", 0)
        module = f"{self._module}/{node.name}" if self._module else node.name
        return Location("tensorflow", module, file, line, node.op)

    def _convert(self, b: Builder, env: Mapping[str, Sequence[Result]], body: Body, node: Op) -> Sequence[Result]:
        known, signature = find(node.op), described(node.op)
        if known is None or signature is None:
            raise UnsupportedError(f"{node.op} is not supported", where=self.location(node))
        inputs = [_result(env, ref.node, ref.output, body.name) for ref in node.inputs]
        call = Call(self, b, node, signature)
        with b.at(b.loc if node.op in _BUILDS_NOTHING else call.loc):
            try:
                arguments = _grouped(signature, node, inputs)
                if not known.raw:
                    _check_kinds(known, inputs, call)
                found = known.function(call, *arguments)
            except GeError as error:
                raise _placed(node.op, call.loc, error) from error
            except (AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
                raise GraphError(
                    f"{node.op} cannot be converted: {type(error).__name__}: {error}", where=call.loc, fix=_REPORT_IT
                ) from error
        return found if isinstance(found, (list, tuple)) else (found,)


def _result(env: Mapping[str, Sequence[Result]], name: str, index: int, body: str) -> Result:
    found = env[name]
    if index >= len(found):
        raise ModelImportError(f"{body} reads result {index} of {name!r}, which has {len(found)}")
    return found[index]


def _grouped(signature: Described, node: Op, inputs: Sequence[Result]) -> list[Any]:
    """A node's tensors by the arguments of its operator."""
    if signature.is_plain:
        if len(inputs) != len(signature.inputs):
            raise ModelImportError(f"{node.op} has {len(inputs)} inputs", expected=str(len(signature.inputs)))
        return list(inputs)
    grouped: list[Any] = []
    at = 0
    for argument in signature.inputs:
        if not argument.count:
            grouped.extend(inputs[at : at + 1])
            at += 1
            continue
        count = count_of(node.proto, argument.count)
        grouped.append(list(inputs[at : at + count]))
        at += count
    if at != len(inputs):
        raise ModelImportError(f"{node.op} has {len(inputs)} inputs", expected=str(at))
    return grouped


def _check_kinds(known: Operator, inputs: Sequence[Result], call: Call) -> None:
    for given in inputs:
        if isinstance(given, ComplexPair) and not known.complex:
            raise UnsupportedError(f"{known.name} on complex numbers is not supported", where=call.loc)
        if not isinstance(given, (Value, ComplexPair)):
            kind = "nothing" if given is None else type(given).__name__
            raise ModelImportError(f"{known.name} is given {kind}", where=call.loc, expected="a tensor")


def _placed(name: str, loc: Location, error: GeError) -> GeError:
    """An error while an operator is converted, with the operator's place."""
    if error.where is not None:
        return error
    what = error.what if error.what.startswith(name) else f"{name}: {error.what}"
    return type(error)(what, where=loc, expected=error.expected, fix=error.fix, details=error.details)
