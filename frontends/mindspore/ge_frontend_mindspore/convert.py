"""Phase two of an import: the model step by step through the functions of `ops`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ge_core.errors import GeError, GraphError, UnsupportedError
from ge_core.ir import dims
from ge_core.ir.builder import Builder
from ge_core.ir.constant import Constant
from ge_core.ir.dims import Size
from ge_core.ir.graph import Graph, State, Value
from ge_core.ir.types import TensorType
from ge_core.plugins.unsupported import Unsupported

from .call import Call
from .control import Control
from .findings import place
from .literals import MONAD, Described
from .loops import Round
from .memory import Memory, Ref
from .messages import damaged
from .program import MAKE_TUPLE, SWITCH_LAYER, TUPLE_ITEM, Function, Program, Step
from .registry import Operator, find
from .values import Choice, Closure, Result, mapped
from .weights import parameter_constant
from .written import Written

_REPORT_IT = "this is a fault of the MindSpore frontend; please report it"
_MOST_INLINED = 50


class Converter:
    """Converts the functions of a model into blocks of one graph; calls are inlined, recursion becomes loops.

    Args:
        graph: gets the nodes, constants and states.
        program: the model.
        written: what is written in place.
        live: loads parameters of a live cell by name.

    Attributes:
        failures: forms that could not be converted; conversion goes on behind each of them so that all are found.
    """

    def __init__(
        self, graph: Graph, program: Program, written: Written, live: Mapping[str, Callable[[], np.ndarray]]
    ) -> None:
        self.graph, self.program, self.written = graph, program, written
        self.failures: list[Unsupported] = []
        self._live = live
        self._constants: dict[str, Result] = {}
        self._parameters: dict[str, Ref] = {}
        self._states: dict[str, State] = {}
        self._left = max(100_000, _MOST_INLINED * program.size)
        self._control = Control(self)

    def run(self, b: Builder, arguments: Sequence[Result]) -> Result:
        """Convert the model's own function; its writes to parameters become writes to states.

        Returns:
            What the model returns: values, numbers, texts and None in tuples.
        """
        memory = Memory()
        result = self.function(b, self.program.main, arguments, memory, None)
        for name, state in self._states.items():
            value = memory.read(self._parameters[name])
            if value is not state.read:
                self.graph.set_state_write(state, value)
        return mapped(lambda x: memory.read(x) if isinstance(x, Ref) else x, result)

    def function(
        self, b: Builder, function: Function, arguments: Sequence[Result], memory: Memory, round: Round | None
    ) -> Result:
        """Convert a function at the end of `b`'s block.

        Args:
            arguments: what its inputs stand for.
            memory: what places hold; receives its writes.
            round: given when its result is to come from the next round of a loop, see `control`.
        """
        if len(arguments) != len(function.inputs):
            raise damaged(f"the function {function.name} is called with {len(arguments)} arguments")
        frame = _Frame(self, b, function, arguments, memory)
        for step in function.steps:
            self._left -= 1
            if self._left < 0:
                raise UnsupportedError(
                    f"{self.program.name} is too large when its functions are put in place of their calls",
                    expected=f"at most {_MOST_INLINED} times the size of the file",
                )
            if step.primitive is not None:
                frame.env[step.output] = frame.primitive(step)
                continue
            target = frame.callee(step)
            if round is not None and self._control.comes_back(target, round):
                frame.check_tail(step)
                return self._control.tail(b, target, memory, round, step)
            frame.env[step.output] = frame.keep(step, self._control.call(b, target, memory, step))
        if round is not None:
            raise UnsupportedError(f"recursion of {function.name} that is no loop is not supported")
        return frame.lookup(function.output)

    def head(self, b: Builder, function: Function, arguments: Sequence[Result], memory: Memory) -> Choice:
        """Convert a loop's first function up to the choice that it ends with.

        Raises:
            UnsupportedError: it does not end with a choice.
        """
        if len(arguments) != len(function.inputs):
            raise damaged(f"the function {function.name} is called with {len(arguments)} arguments")
        frame = _Frame(self, b, function, arguments, memory)
        for step in function.steps:
            if step.primitive is not None:
                frame.env[step.output] = frame.primitive(step)
                continue
            target = frame.callee(step)
            if isinstance(target, Choice):
                frame.check_tail(step)
                return target
            frame.env[step.output] = frame.keep(step, self._control.call(b, target, memory, step))
        raise UnsupportedError(f"recursion of {function.name} that is no loop is not supported")

    def place_of(self, name: str) -> Ref:
        """The place of a parameter; it is a constant unless the model writes it."""
        if name not in self._parameters:
            parameter = self.program.parameters[name]
            constant = parameter_constant(parameter, self._live)
            if name in self.written.of(self.program.main):
                copied = Constant(constant.type, lambda: np.array(constant.array()), parameter.key)
                state = self._states[name] = self.graph.add_state(parameter.key, copied)
                value = state.read
            else:
                value = self.graph.add_constant(constant, parameter.key)
            self._parameters[name] = Ref(parameter.key, lambda: value)
        return self._parameters[name]

    def constant(self, name: str) -> Result:
        """What a constant stands for."""
        if name not in self._constants:
            self._constants[name] = mapped(self._literal, self.program.constant(name))
        return self._constants[name]

    def _literal(self, x: Any) -> Result:
        return self.graph.add_constant(x, "c") if isinstance(x, Constant) else x


class _Frame:
    """One function while it is converted."""

    def __init__(
        self, converter: Converter, b: Builder, function: Function, arguments: Sequence[Result], memory: Memory
    ) -> None:
        self._converter, self._b, self._function, self._memory = converter, b, function, memory
        self._program = converter.program
        self._written = converter.written.of(function)
        self.env: dict[str, Result] = {}
        for (name, _), argument in zip(function.inputs, arguments, strict=True):
            self.env[name] = self._keep(name, argument)

    def lookup(self, name: str) -> Result:
        """What a name stands for.

        Raises:
            ModelImportError: nothing has the name.
        """
        if name in self.env:
            return self.env[name]
        program = self._program
        if name in program:
            return self._converter.constant(name)
        if name in program.parameters:
            return self._converter.place_of(name)
        if name in program.functions:
            return Closure(name, ())
        raise damaged(f"{name!r} is used in {self._function.name} before anything makes it")

    def keep(self, step: Step, result: Result) -> Result:
        """A step's result; a place when it is written later."""
        return self._keep(step.output, result)

    def _keep(self, name: str, result: Result) -> Result:
        if name in self._written and isinstance(result, Value):
            ref = Ref(name)
            self._memory.write(ref, result)
            return ref
        return result

    def callee(self, step: Step) -> Closure | Choice:
        """What a call calls."""
        target = self.lookup(step.callee)
        if not isinstance(target, (Closure, Choice)):
            raise damaged(f"{step.callee!r} is called in {self._function.name} and is no function")
        return target.given([self.lookup(name) for name in step.operands])

    def check_tail(self, step: Step) -> None:
        """Check that a function returns a call's result as it stands."""
        output = self._function.output
        while output != step.output:
            producer = self._function.producers.get(output)
            if producer is None or producer.op != "Depend" or not producer.operands:
                raise UnsupportedError(
                    f"{self._function.name} calls itself and goes on with the result, which is not supported",
                    where=step.location(),
                    fix="write the recursion as a while loop",
                )
            output = producer.operands[0]

    def primitive(self, step: Step) -> Result:
        """Convert a primitive."""
        op = step.op
        if op == "UpdateState":
            return MONAD
        operands = [self.lookup(name) for name in step.operands]
        if op in MAKE_TUPLE:
            return tuple(operands)
        if op in TUPLE_ITEM:
            return self._item(step, operands)
        if op in ("Depend", "Load", "TensorMove"):
            if not operands:
                raise damaged(f"{op} has no operand")
            if op == "Depend" or step.output in self._written:
                return operands[0]
            return self._value(operands[0])
        if op == "Partial":
            if not operands or not isinstance(operands[0], (Closure, Choice)):
                raise damaged("Partial has no function")
            return operands[0].given(operands[1:])
        if op == "Switch" or op in SWITCH_LAYER:
            return self._switch(step, operands)
        known = find(op)
        assert known is not None
        if known.writes:
            return self._write(step, known, operands)
        return self.keep(step, self._convert(step, known, operands))

    def _item(self, step: Step, operands: Sequence[Result]) -> Result:
        items, index = self._pair(step, operands)
        if not isinstance(items, tuple):
            raise damaged(f"{step.op} takes an item of what is no tuple")
        if isinstance(index, bool) or not isinstance(index, int):
            raise UnsupportedError(f"{step.op}: an index that the model computes is not supported")
        if not -len(items) <= index < len(items):
            raise damaged(f"{step.op} takes item {index} of {len(items)}")
        found = items[index]
        if found is None and isinstance(step.described, Described) and step.described.dtype is not None:
            raise UnsupportedError(
                f"result {index} of the operator before {step.op} is not supported", where=step.location()
            )
        return found

    def _pair(self, step: Step, operands: Sequence[Result]) -> tuple[Result, Result]:
        if len(operands) != 2:
            raise damaged(f"{step.op} has {len(operands)} operands")
        return operands[0], operands[1]

    def _switch(self, step: Step, operands: Sequence[Result]) -> Result:
        if step.op == "Switch":
            if len(operands) != 3:
                raise damaged(f"Switch has {len(operands)} operands")
            condition, *branches = operands
            conditions: tuple[Result, ...] = (self._value(condition),)
        else:
            index, closures = self._pair(step, operands)
            branches = list(closures) if isinstance(closures, tuple) else []
            conditions = self._indices(step, self._value(index), len(branches))
        if not branches or not all(isinstance(c, (Closure, Choice)) for c in branches):
            raise UnsupportedError(f"{step.op} of what are no functions is not supported", where=step.location())
        return Choice(conditions, tuple(branches))

    def _indices(self, step: Step, index: Result, count: int) -> tuple[Result, ...]:
        """For each branch but the last, whether an index, which may count from the end, means it."""
        if isinstance(index, int):
            return tuple((index % count if count else 0) == k for k in range(count - 1))
        with self._b.at(step.location()) as b:
            flat = b.Reshape(index, b.ints([]))
            return tuple(b.Or(b.Equal(flat, k), b.Equal(flat, k - count)) for k in range(count - 1))

    def _write(self, step: Step, known: Operator, operands: list[Result]) -> Result:
        """A primitive that writes its result over its first operand."""
        if not operands:
            raise damaged(f"{step.op} has no operand")
        base = operands[0]
        if isinstance(base, Value):
            base = self.env[step.operands[0]] = Ref(step.operands[0])
            self._memory.write(base, operands[0])
        if not isinstance(base, Ref):
            raise damaged(f"{step.op} writes to what is no tensor")
        old = self._memory.read(base)
        new = self._convert(step, known, [base, *operands[1:]])
        assert isinstance(new, Value)
        with self._b.at(step.location()) as b:
            if new.dtype != old.dtype:
                new = b.Cast(new, to=old.dtype)
            if new.tensor.shape != old.tensor.shape and old.tensor.shape is not None:
                new = b.Expand(new, b.ints(old.shape))
        self._memory.write(base, new)
        return base

    def _value(self, x: Result) -> Result:
        return mapped(lambda r: self._memory.read(r) if isinstance(r, Ref) else r, x)

    def _convert(self, step: Step, known: Operator, operands: Sequence[Result]) -> Result:
        loc = step.location()
        with self._b.at(loc) as b:
            call = Call(b, step.op, step.described, loc)
            try:
                result = known.function(call, *self._arguments(step, known, operands))
                return self._settle(step, result)
            except UnsupportedError as error:
                self._converter.failures.append(Unsupported(error.what, place(loc)))
                return self._stand_in(step, error)
            except GeError as error:
                if error.where is not None:
                    raise
                raise type(error)(
                    f"{step.op}: {error.what}", where=loc, expected=error.expected, fix=error.fix,
                    details=error.details,
                ) from error  # fmt: skip
            except (AssertionError, AttributeError, LookupError, TypeError, ValueError, ArithmeticError) as error:
                raise GraphError(
                    f"{step.op} cannot be converted: {type(error).__name__}: {error}", where=loc, fix=_REPORT_IT
                ) from error

    def _arguments(self, step: Step, known: Operator, operands: Sequence[Result]) -> list[Result]:
        """The arguments of the function that converts a step, in the order of its parameters."""
        assert step.primitive is not None
        given = [self._value(x) for x in operands if x is not MONAD]
        if known.variadic:
            attributes = step.primitive.attributes
            return [*(attributes[name] for name in known.parameters if name in attributes), *given]
        names = known.parameters
        if len(given) > len(names):
            raise damaged(f"{step.op} has {len(given)} operands, and takes {len(names)}: {', '.join(names)}")
        attributes = step.primitive.attributes
        arguments = list(given)
        for name in names[len(given) :]:
            if name in attributes:
                x = attributes[name]
                arguments.append(self._converter._literal(x) if isinstance(x, Constant) else x)
            elif name in known.required:
                raise damaged(f"{step.op} lacks {name}")
            else:
                break
        else:
            return arguments
        # behind a parameter that takes its default, the others are looked for one by one
        function: Any = known.function
        defaults = dict(zip(names[::-1], (function.__defaults__ or ())[::-1], strict=False))
        for name in names[len(arguments) :]:
            arguments.append(attributes[name] if name in attributes else defaults[name])
        return arguments

    def _settle(self, step: Step, result: Result) -> Result:
        """Check a result against what the file says of it."""
        if isinstance(step.described, tuple) and isinstance(result, tuple):
            return tuple(
                self._settle_one(step, r, d) for r, d in zip(result, step.described, strict=False)
            ) + result[len(step.described) :]  # fmt: skip
        return self._settle_one(step, result, step.described)

    def _settle_one(self, step: Step, result: Result, said: Any) -> Result:
        if not isinstance(result, Value) or not isinstance(said, Described) or said.dtype is None:
            return result
        got = result.tensor
        fits = got.dtype == said.dtype
        number = said.sizes == (0,) and got.shape == ()
        if fits and got.shape is not None and said.sizes is not None and not number:
            fits = len(got.shape) == len(said.sizes)
            sizes = [_merged(ours, theirs) for ours, theirs in zip(got.shape, said.sizes, strict=False)]
            fits = fits and None not in sizes
            if fits and result.producer is not None:
                result.type = TensorType(said.dtype, tuple(s for s in sizes if s is not None))
        if not fits:
            raise GraphError(
                f"{step.op} became {got}",
                where=step.location(),
                expected=f"MindSpore's {said.dtype}{list(said.sizes or ())}",
                fix=_REPORT_IT,
            )
        return result

    def _stand_in(self, step: Step, error: UnsupportedError) -> Result:
        """Tensors of the right types, so that the rest of the model can be looked at too."""

        def one(said: Any) -> Result:
            if not isinstance(said, Described) or said.dtype is None or said.sizes is None or said.dtype.kind in (
                "complex", "string"
            ):  # fmt: skip
                raise error
            b, shape = self._b, [_size(self._converter.graph, s) for s in said.sizes]
            return b.Expand(b.constant(0, said.dtype), b.ints(shape))

        return mapped(one, step.described)


def _size(graph: Graph, size: int) -> Size:
    if size >= 0:
        return size
    s = graph.fresh_symbol("u", 0)
    return dims.symbol(s.name, s.lo, s.hi)


def _merged(ours: Size, theirs: int) -> Size | None:
    """One size from the graph's inference and from the file, None when they contradict each other."""
    if theirs < 0:
        return ours
    return None if dims.equal(ours, theirs) is False else theirs
