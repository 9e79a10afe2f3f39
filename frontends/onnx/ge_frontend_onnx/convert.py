"""Phase two of an import: the model node by node into blocks of one graph."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ge_core.errors import GeError, ModelImportError, UnsupportedError
from ge_core.ir.builder import Builder
from ge_core.ir.graph import Graph, Value
from ge_core.ir.location import Location
from ge_core.plugins.unsupported import Unsupported

from .attributes import read_attributes
from .call import Call
from .carried import Carried
from .frame import Frame, normal_domain
from .functions import Functions
from .order import ordered
from .registry import Results, find
from .scope import Mark, Scope
from .symbols import Symbols
from .weights import Weights

# What Python raises when an attribute of a damaged model is of another kind or size than a conversion expects.
_BROKEN = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)


class SkippedError(Exception):
    """A subgraph holds something that cannot be converted; the finding is recorded already."""


class Converter:
    """Converts the graphs of a model, subgraphs and functions included, into blocks of one graph.

    Args:
        graph: gets the constants.
        weights: reads the tensors.
        functions: the model's functions.
        symbols: the model's dimensions.

    Attributes:
        failures: forms that could not be converted; conversion goes on behind each of them so that all are found.
    """

    def __init__(self, graph: Graph, weights: Weights, functions: Functions, symbols: Symbols) -> None:
        self.graph, self.weights, self.functions, self.symbols = graph, weights, functions, symbols
        self.failures: list[Unsupported] = []
        self._named: set[Value] = set()
        self._carried: dict[tuple[int, str], tuple[Any, Carried]] = {}

    def run(self, b: Builder, proto: Any, scope: Scope, frame: Frame) -> list[Value | None]:
        """Convert the nodes of a GraphProto at the end of `b`'s block.

        Args:
            scope: its names; those of its inputs are defined, its initializers and nodes are added.

        Returns:
            Its outputs, None for one that could not be converted.
        """
        taken = {v.name for v in proto.input}
        for tensor in proto.initializer:
            scope.define(tensor.name, partial(self._constant, tensor))
            taken.add(tensor.name)
        for sparse in proto.sparse_initializer:
            scope.define(sparse.values.name, partial(self._sparse, sparse))
            taken.add(sparse.values.name)
        self.nodes(b, ordered(proto.node, taken), scope, frame)
        return [self._output(scope, info.name) for info in proto.output]

    def nodes(self, b: Builder, nodes: Sequence[Any], scope: Scope, frame: Frame) -> None:
        """Convert nodes that are in order."""
        for node in nodes:
            loc = frame.location(node)
            with b.at(loc):
                self._define(node, scope, self._converted(b, node, scope, frame, loc), loc)

    def subgraph(self, c: Call, b: Builder, proto: Any, params: Sequence[Value]) -> list[Value]:
        """Convert a subgraph of a node at the end of `b`'s block.

        Args:
            params: what its inputs stand for.

        Raises:
            SkippedError: something in it could not be converted.
            ModelImportError: it takes another number of inputs.
        """
        if len(proto.input) != len(params):
            raise c.error(f"the subgraph takes {len(proto.input)} inputs", expected=str(len(params)))
        scope = Scope(c.scope)
        for info, value in zip(proto.input, params, strict=True):
            scope.define(info.name, value)
        results = self.run(b, proto, scope, c.frame)
        found = [r for r in results if r is not None]
        if len(found) < len(results):
            raise SkippedError
        return found

    def carried(self, body: Any, frame: Frame) -> Carried:
        """What is known of the values that a loop carries, from when an outer loop was converted before."""
        # the message is kept with the entry: its identity would otherwise be given to another one
        return self._carried.setdefault((id(body), frame.path), (body, Carried()))[1]

    def _converted(self, b: Builder, node: Any, scope: Scope, frame: Frame, loc: Location) -> Results | None:
        """What a node gives, None when it could not be converted."""
        try:
            inputs = self._inputs(node, scope, loc)
            if inputs is None:
                return None
            function = self.functions.find(node)
            if function is not None:
                return self._inlined(b, node, function, inputs, frame, loc)
            domain = normal_domain(node.domain)
            opset = frame.opset(domain)
            handler = find(domain, node.op_type, opset)
            if handler is None:
                return None
            attrs = read_attributes(node.attribute, self.weights, frame.referred, loc)
            call = Call(self, b, node.op_type, opset, inputs, attrs, tuple(node.output), scope, frame, loc)
            return handler(call)
        except SkippedError:
            return None
        except UnsupportedError as error:
            self.failures.append(Unsupported(error.what, error.where or str(loc)))
            return None
        except GeError as error:
            raise _placed(error, loc) from error
        except _BROKEN as error:
            raise ModelImportError(
                f"{loc.op}: its attributes or inputs break the operator's rules: {error}", where=loc
            ) from error

    def _inputs(self, node: Any, scope: Scope, loc: Location) -> list[Value | None] | None:
        """The values of a node's inputs; None when one of them could not be converted."""
        inputs: list[Value | None] = []
        for name in node.input:
            found = scope.find(name) if name else Mark.ABSENT
            if found is None:
                raise ModelImportError(f"{node.op_type} reads {name!r}, which nothing defines", where=loc)
            if found is Mark.UNAVAILABLE:
                return None
            inputs.append(found if isinstance(found, Value) else None)
        return inputs

    def _inlined(
        self, b: Builder, node: Any, function: Any, inputs: Sequence[Value | None], frame: Frame, loc: Location
    ) -> Results | None:
        """The results of a function's body, converted where it is called."""
        if len(inputs) > len(function.input) or len(node.output) > len(function.output):
            raise ModelImportError(
                f"the function {node.op_type} is called with {len(inputs)} inputs and {len(node.output)} outputs",
                where=loc,
                expected=f"at most {len(function.input)} and {len(function.output)}",
            )
        scope = Scope()
        for i, name in enumerate(function.input):
            value = inputs[i] if i < len(inputs) else None
            scope.define(name, Mark.ABSENT if value is None else value)
        inner = self.functions.frame(frame, node, function)
        self.nodes(b, ordered(function.node, function.input), scope, inner)
        results = [self._output(scope, name) for name in function.output[: len(node.output)]]
        wanted = [r for r, name in zip(results, node.output, strict=True) if name]
        return None if None in wanted else results

    def _define(self, node: Any, scope: Scope, results: Results | None, loc: Location) -> None:
        """Let the names of a node's outputs stand for its results."""
        if results is None:
            for name in node.output:
                scope.define(name, Mark.UNAVAILABLE)
            return
        values = [results] if isinstance(results, Value) else list(results)
        for i, name in enumerate(node.output):
            if not name:
                continue
            value = values[i] if i < len(values) else None
            if value is None:
                self.failures.append(Unsupported(f"{node.op_type}: output {i} is not supported", str(loc)))
                scope.define(name, Mark.UNAVAILABLE)
                continue
            if value.producer is not None and value not in self._named:
                value.name = self.graph.fresh_name(name)
                self._named.add(value)
            scope.define(name, value)

    def _output(self, scope: Scope, name: str) -> Value | None:
        found = scope.find(name)
        if found is None or found is Mark.ABSENT:
            raise ModelImportError(f"the output {name!r} is made by no node")
        return found if isinstance(found, Value) else None

    def _constant(self, proto: Any) -> Value:
        return self.graph.add_constant(self.weights.constant(proto), proto.name)

    def _sparse(self, proto: Any) -> Value:
        return self.graph.add_constant(self.weights.dense(proto), proto.values.name)


def _placed(error: GeError, loc: Location) -> GeError:
    """An error with the node's place, where it has none."""
    if error.where is not None:
        return error
    return type(error)(
        f"{loc.op}: {error.what}", where=loc, expected=error.expected, fix=error.fix, details=error.details
    )
