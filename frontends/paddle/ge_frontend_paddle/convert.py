"""Phase two of an import: the program operator by operator through the functions of `ops`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ge_core.errors import GeError, GraphError, ModelImportError, UnsupportedError
from ge_core.ir import dims
from ge_core.ir.builder import Builder
from ge_core.ir.dims import Size
from ge_core.ir.graph import Value
from ge_core.ir.location import Location
from ge_core.ir.types import TensorType
from ge_core.plugins.unsupported import Unsupported

from .call import Call
from .program import ABSENT, LOST, Block, Operator, Result, Tensor, Vector
from .registry import IGNORED, Conversion, find
from .scan import describe_place, location

_REPORT_IT = "this is a fault of the Paddle frontend; please report it"

# Operators whose results Paddle declares with another element type than they have.
_MISDECLARED = frozenset(
    {
        "accuracy", "all", "any", "ctc_align", "dequantize_abs_max", "equal_all", "exp", "expm1", "im2sequence",
        "slogdet", "unique", "unique_consecutive",
    }
)  # fmt: skip
# Operators whose results Paddle declares with another shape than they have.
_OTHER_SHAPES = frozenset({"matmul"})

# What a number stands for: a tensor, several of them, a tensor array, or None where nothing is.
Entry = Any


class Missing:
    """A result that the conversion of its operator leaves out; nothing may read it."""

    def __init__(self, op: Operator, index: int) -> None:
        self.op, self.index = op, index


class Scope:
    """What numbers stand for inside a block; an inner block sees the outer ones.

    Args:
        outer: the scope around it.
    """

    def __init__(self, outer: Scope | None = None) -> None:
        self._outer = outer
        self._entries: dict[int, Entry] = {}

    def set(self, number: int, entry: Entry) -> None:
        """Let a number stand for something from here on, in this block."""
        self._entries[number] = entry

    def has(self, number: int) -> bool:
        """Whether a number stands for something here or in an outer block."""
        scope: Scope | None = self
        while scope is not None and number not in scope._entries:
            scope = scope._outer
        return scope is not None

    def get(self, number: int) -> Entry:
        """What a number stands for.

        Raises:
            ModelImportError: nothing defines it.
            UnsupportedError: it is a result that is not supported.
        """
        if number == ABSENT:
            return None
        scope: Scope | None = self
        while scope is not None:
            if number in scope._entries:
                found = scope._entries[number]
                if isinstance(found, Missing):
                    raise UnsupportedError(
                        f"result {found.index} of {found.op.name} is not supported", where=location(found.op)
                    )
                if isinstance(found, Delayed):
                    found = scope._entries[number] = found.make()
                return found
            scope = scope._outer
        raise ModelImportError(f"the program is damaged: it reads value {number}, which nothing defines")


class Delayed:
    """A parameter, made when it is first read."""

    def __init__(self, make: Callable[[], Value]) -> None:
        self.make = make


class Converter:
    """Converts blocks of a program into blocks of one graph.

    Args:
        weights: the constant of a parameter by its name.
        exact_shapes: whether the program states the shapes of results, so that they are checked.

    Attributes:
        failures: forms that could not be converted; conversion goes on behind each of them so that all are found.
    """

    def __init__(self, weights: Callable[[str], Value], exact_shapes: bool = True) -> None:
        self._weights, self._exact_shapes = weights, exact_shapes
        self.failures: list[Unsupported] = []
        self._streams = 0

    def next_stream(self) -> int:
        """A number for the random numbers of one more operator."""
        self._streams += 1
        return self._streams

    def run(self, b: Builder, block: Block, scope: Scope) -> list[Entry]:
        """Convert a block at the end of `b`'s block; returns what it yields, nothing for the outermost one."""
        for op in block.operators:
            name = op.name
            if name == "cf.yield":
                return [scope.get(number) for number in op.operands]
            if name in ("data", "fetch", "feed", "builtin.shadow_output"):
                continue
            if name == "builtin.parameter":
                scope.set(op.results[0].number, self._parameter(op))
                continue
            self._convert(b, op, scope)
        return []

    def _parameter(self, op: Operator) -> Delayed:
        name = op.attributes["name"]
        return Delayed(lambda: self._weights(name))

    def _convert(self, b: Builder, op: Operator, scope: Scope) -> None:
        known = find(op.name)
        loc = location(op)
        if known is None:
            raise UnsupportedError(f"{op.name} is not supported", where=loc)
        with b.at(loc):
            call = Call(self, b, scope, op, loc)
            try:
                operands, attributes = self._arguments(call, known, scope)
                found = known.function(call, *operands, **attributes)
                self._settle(op, found, scope, loc)
            except UnsupportedError as error:
                self.failures.append(Unsupported(error.what, describe_place(op)))
                for result in op.results:
                    scope.set(result.number, self._stand_in(b, result, error))
            except GeError as error:
                raise _placed(op.name, loc, error) from error
            except (
                ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, StopIteration, TypeError,
                ValueError,
            ) as error:  # fmt: skip
                raise GraphError(
                    f"{op.name} cannot be converted: {type(error).__name__}: {error}",
                    where=loc,
                    expected="a program as Paddle writes it",
                    fix=_REPORT_IT,
                ) from error

    def _arguments(self, call: Call, known: Conversion, scope: Scope) -> tuple[list[Entry], dict[str, Any]]:
        op = call.op
        if len(op.operands) > known.operands:
            raise call.unsupported(f"a form with {len(op.operands)} operands")
        operands = [None if i in known.unread else scope.get(number) for i, number in enumerate(op.operands)]
        for place in known.required:
            if place >= len(operands) or operands[place] is None:
                raise ModelImportError(f"{op.name} has no operand {place}", where=call.loc, expected="a whole program")
        attributes: dict[str, Any] = {}
        for name, value in op.attributes.items():
            parameter = known.attributes.get(name)
            if value is LOST:
                raise call.unsupported(f"the attribute {name}, an infinity or NaN that Paddle's file has lost")
            if parameter is not None:
                attributes[parameter] = value
            elif name not in IGNORED and name not in known.ignores:
                raise call.unsupported(f"the attribute {name} = {value!r}")
        return operands, attributes

    def _settle(self, op: Operator, found: Any, scope: Scope, loc: Location) -> None:
        """Enter the results of an operator, checked against what Paddle says of them."""
        results = op.results
        entries: Sequence[Entry] = (found,) if len(results) == 1 and not isinstance(found, tuple) else found or ()
        if len(results) == 0:
            return
        if isinstance(found, Value) and len(results) > 1:
            entries = (found,)
        for i, result in enumerate(results):
            entry = entries[i] if i < len(entries) else None
            if entry is None:
                entry = Missing(op, i)
            elif op.name in _MISDECLARED:
                pass
            elif isinstance(entry, Value) and isinstance(result.kind, Tensor):
                _check(op, i, entry, result.kind, loc, self._exact_shapes and op.name not in _OTHER_SHAPES)
            elif isinstance(entry, list) and isinstance(result.kind, Vector):
                if len(entry) != len(result.kind.items):
                    raise GraphError(f"{op.name} became {len(entry)} tensors", where=loc, fix=_REPORT_IT)
                for value, kind in zip(entry, result.kind.items, strict=True):
                    if kind is not None and isinstance(value, Value):
                        _check(op, i, value, kind, loc, self._exact_shapes)
            scope.set(result.number, entry)

    def _stand_in(self, b: Builder, result: Result, error: UnsupportedError) -> Entry:
        """Tensors of the right types, so that the rest of the program can be looked at too."""
        if isinstance(result.kind, Tensor):
            return _stand_in_for(b, result.kind, error)
        if isinstance(result.kind, Vector):
            return [None if kind is None else _stand_in_for(b, kind, error) for kind in result.kind.items]
        raise error


def _stand_in_for(b: Builder, kind: Tensor, error: UnsupportedError) -> Value:
    if kind.dtype is None or kind.dtype.kind == "complex":
        raise error
    shape: list[Size] = []
    for size in kind.shape:
        if size < 0:
            s = b.graph.fresh_symbol("u", 0)
            shape.append(dims.symbol(s.name, s.lo, s.hi))
        else:
            shape.append(size)
    return b.Expand(b.constant(0, kind.dtype), b.ints(shape))


def _check(op: Operator, index: int, value: Value, kind: Tensor, loc: Location, shapes: bool) -> None:
    """Raises GraphError when a result has another type than Paddle says."""
    got = value.tensor
    fits = kind.dtype is None or got.dtype == kind.dtype
    if fits and shapes and got.shape is not None:
        fits = len(got.shape) == len(kind.shape) and all(
            theirs < 0 or ours == theirs or dims.equal(ours, theirs) is not False
            for ours, theirs in zip(got.shape, kind.shape, strict=True)
        )
    if not fits:
        raise GraphError(
            f"result {index} of {op.name} became {got}",
            where=loc,
            expected=f"Paddle's {TensorType(kind.dtype, kind.shape) if kind.dtype else list(kind.shape)}",
            fix=_REPORT_IT,
        )


def _placed(name: str, loc: Location, error: GeError) -> GeError:
    """An error of the graph while an operator is converted, with the operator's place."""
    if error.where is not None:
        return error
    return type(error)(
        f"{name}: {error.what}", where=loc, expected=error.expected, fix=error.fix, details=error.details
    )
