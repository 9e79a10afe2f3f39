"""Phase two of an import: the exported graph node by node through the functions of `ops`."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ge_core.errors import GeError, GraphError, UnsupportedError
from ge_core.ir import dims
from ge_core.ir.builder import Builder
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value
from ge_core.ir.location import Location
from ge_core.ir.types import TensorType
from ge_core.plugins.unsupported import Unsupported

from .aliasing import Writes
from .call import Call
from .complex_pair import ComplexPair
from .element_types import from_torch, real_of
from .locations import location
from .registry import Operator, argument_names, find, find_higher_order
from .scan import NO_OPERATION, describe_place, is_symbolic, target_name
from .symbols import Symbols

_REPORT_IT = "this is a fault of the PyTorch frontend; please report it"

# What stands for a result: a tensor, several of them, a size, or None.
Result = Any


class Converter:
    """Converts exported graphs, sub graphs included, into blocks of one graph.

    Args:
        symbols: torch's sizes as Dims.
        writes: what in-place operators rename.

    Attributes:
        failures: forms that could not be converted; conversion goes on behind each of them so that all are found.
    """

    def __init__(self, symbols: Symbols, writes: Writes) -> None:
        self.symbols, self.writes = symbols, writes
        self.failures: list[Unsupported] = []
        self._bound: dict[Any, _Binding] = {}

    def run(self, b: Builder, graph: torch.fx.Graph, params: Sequence[Result]) -> list[Result]:
        """Convert a graph at the end of `b`'s block.

        Args:
            params: what its placeholders stand for, in order; a callable is called on first use.

        Returns:
            What its outputs stand for.
        """
        env: dict[torch.fx.Node, Result] = {}
        given = iter(params)
        for node in graph.nodes:
            if node.op == "placeholder":
                env[node] = next(given)
            elif node.op == "get_attr":
                env[node] = _attribute(graph, node)
            elif node.op == "output":
                return [self._argument(b, env, a) for a in _flat(node.args[0])]
            else:
                env[node] = self._convert(b, env, node)
                for renamed in self.writes.renamed.get(node, ()):
                    env[renamed] = env[node]
        raise GraphError("the exported graph has no output")

    def _convert(self, b: Builder, env: dict[torch.fx.Node, Result], node: torch.fx.Node) -> Result:
        if node.target is operator.getitem:
            return self._item(node, self._argument(b, env, node.args[0]))
        name = target_name(node)
        known = find(name)
        if known is None:
            if name in NO_OPERATION or is_symbolic(node):
                return None  # sizes are read from torch's description where they are used
            return self._control_flow(b, env, node, name)
        loc = location(node, name)
        with b.at(loc):
            call = Call(self, b, node, name, loc)
            try:
                result = known.function(call, **self._arguments(b, env, node, known))
                return self._settle(node, result, loc)
            except UnsupportedError as error:
                self.failures.append(Unsupported(error.what, describe_place(node)))
                return self._stand_in(b, node, error)
            except GeError as error:
                raise _internal(name, loc, error) from error
            except (AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
                raise GraphError(
                    f"{name} cannot be converted: {type(error).__name__}: {error}", where=loc, fix=_REPORT_IT
                ) from error

    def _item(self, node: torch.fx.Node, parts: Any) -> Result:
        """One of several results; one that the conversion leaves out must not be used."""
        found = parts[node.args[1]]
        if found is None and isinstance(node.meta.get("val"), torch.Tensor) and node.users:
            source: Any = node.args[0]
            raise UnsupportedError(
                f"result {node.args[1]} of {target_name(source)} is not supported", where=describe_place(node)
            )
        return found

    def _control_flow(self, b: Builder, env: dict[torch.fx.Node, Result], node: torch.fx.Node, name: str) -> Result:
        function = find_higher_order(name)
        if function is None:
            raise UnsupportedError(f"{name} is not supported", where=describe_place(node))
        loc = location(node, name)
        with b.at(loc):
            arguments = [self._argument(b, env, a) for a in node.args]
            keywords = {key: self._argument(b, env, a) for key, a in node.kwargs.items()}
            return self._settle(node, function(Call(self, b, node, name, loc), *arguments, **keywords), loc)

    def _arguments(
        self, b: Builder, env: dict[torch.fx.Node, Result], node: torch.fx.Node, known: Operator
    ) -> dict[str, Any]:
        binding = self._bound.get(node.target)
        if binding is None:
            binding = self._bound[node.target] = _Binding(node.target, known)
        values = dict(binding.defaults)
        for name, given in zip(binding.names, node.args, strict=False):
            if name is not None:
                values[name] = self._argument(b, env, given)
        for key, given in node.kwargs.items():
            name = binding.renamed.get(key)
            if name is not None:
                values[name] = self._argument(b, env, given)
        return values

    def _argument(self, b: Builder, env: Mapping[torch.fx.Node, Result], arg: Any) -> Result:
        """What an argument of a node stands for."""
        if isinstance(arg, torch.fx.Node):
            found = env.get(arg)
            if callable(found) and not isinstance(found, torch.nn.Module):
                found = env[arg] = found()  # type: ignore[index]
            return self._number(b, arg.meta.get("val")) if found is None else found
        if isinstance(arg, (list, tuple)):
            return [self._argument(b, env, a) for a in arg]
        if isinstance(arg, torch.dtype):
            return _dtype(arg)
        return arg

    def _number(self, b: Builder, value: Any) -> Result:
        """A size or number that torch computed while tracing."""
        if isinstance(value, torch.SymInt):
            return self.symbols.size(value)
        if isinstance(value, torch.SymFloat):
            expr = value.node.expr
            return float(expr) if expr.is_number else self.symbols.scalar(b, expr)
        if isinstance(value, torch.SymBool):
            return Condition(value.node.expr)
        return value

    def _settle(self, node: torch.fx.Node, result: Result, loc: Location) -> Result:
        """Check a result against torch's description; bind the data-dependent sizes that it defines."""
        described = node.meta.get("val")
        if isinstance(result, (list, tuple)) and isinstance(described, (list, tuple)):
            for one, meta in zip(result, described, strict=False):
                self._settle_one(node, one, meta, loc)
        else:
            self._settle_one(node, result, described, loc)
        return result

    def _settle_one(self, node: torch.fx.Node, result: Result, meta: Any, loc: Location) -> None:
        if not isinstance(meta, torch.Tensor):
            return
        if isinstance(result, ComplexPair):
            self._check(node, result.parts, real_of(_dtype(meta.dtype)), (*meta.shape, 2), loc)
        elif isinstance(result, Value):
            self._check(node, result, _dtype(meta.dtype), tuple(meta.shape), loc)

    def _check(self, node: torch.fx.Node, value: Value, dtype: DType, shape: tuple[Any, ...], loc: Location) -> None:
        got = value.tensor
        fits = got.dtype == dtype and (got.shape is None or len(got.shape) == len(shape))
        if fits and got.shape is not None:
            sizes = [self._merged(ours, theirs) for ours, theirs in zip(got.shape, shape, strict=True)]
            fits = None not in sizes
            if fits and value.producer is not None:
                value.type = TensorType(dtype, tuple(size for size in sizes if size is not None))
        if not fits:
            raise GraphError(
                f"{node.name} became {got}",
                where=loc,
                expected=f"torch's {dtype}{list(shape)}",
                fix=_REPORT_IT,
            )

    def _merged(self, ours: Size, theirs: Any) -> Size | None:
        """One size from the graph's inference and from torch's, None when they contradict each other.

        torch's is taken where both are symbolic: one form for one size, so that equal sizes stay equal.
        """
        if isinstance(theirs, torch.SymInt):
            expr = theirs.node.expr
            if expr.is_Symbol and not self.symbols.is_bound(expr):
                self.symbols.bind(expr, ours)
                return ours
            if not all(self.symbols.is_bound(s) for s in expr.free_symbols):
                return ours
            theirs = self.symbols.expression(expr)
        if dims.equal(ours, theirs) is False:
            return None
        return ours if isinstance(ours, int) else theirs

    def _stand_in(self, b: Builder, node: torch.fx.Node, error: UnsupportedError) -> Result:
        """Tensors of the right types, so that the rest of the graph can be looked at too."""
        described = node.meta.get("val")
        try:
            if isinstance(described, (list, tuple)):
                return [self._stand_in_for(b, meta) for meta in described]
            return self._stand_in_for(b, described)
        except UnsupportedError:
            raise error from None

    def _stand_in_for(self, b: Builder, meta: Any) -> Result:
        if not isinstance(meta, torch.Tensor):
            return None
        for size in meta.shape:
            if isinstance(size, torch.SymInt):
                for s in size.node.expr.free_symbols:
                    if not self.symbols.is_bound(s):
                        self.symbols.declare(s, "u")
        shape = tuple(self.symbols.size(s) for s in meta.shape)
        dtype = _dtype(meta.dtype)
        real = TensorType(real_of(dtype), (*shape, 2) if dtype.kind == "complex" else shape)
        value = b.Expand(b.constant(0, real.dtype), b.ints(real.shape or ()))
        return ComplexPair(value) if dtype.kind == "complex" else value


class Condition:
    """A condition on sizes that torch computed while tracing; `expr` is a sympy relation."""

    def __init__(self, expr: Any) -> None:
        self.expr = expr


class _Binding:
    """How the arguments of one operator overload reach its function."""

    def __init__(self, target: Any, known: Operator) -> None:
        self.renamed = argument_names(target._schema, known)
        self.names = [self.renamed[a.name] for a in target._schema.arguments if not a.kwarg_only]
        self.defaults: dict[str, Any] = {}
        for argument in target._schema.arguments:
            name = self.renamed[argument.name]
            if name is not None and argument.has_default_value():
                default = argument.default_value
                self.defaults[name] = _dtype(default) if isinstance(default, torch.dtype) else default


def _attribute(graph: torch.fx.Graph, node: torch.fx.Node) -> Any:
    found: Any = graph.owning_module
    for part in str(node.target).split("."):
        found = getattr(found, part)
    return found


def _flat(outputs: Any) -> list[Any]:
    return list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]


def _dtype(dtype: torch.dtype) -> DType:
    found = from_torch(dtype)
    if found is None:
        raise UnsupportedError(f"the element type {dtype} is not supported")
    return found


def _internal(name: str, loc: Location, error: GeError) -> GeError:
    """An error of the graph while an operator is converted, with the operator's place."""
    if error.where is not None:
        return error
    return type(error)(
        f"{name}: {error.what}", where=loc, expected=error.expected, fix=error.fix, details=error.details
    )
