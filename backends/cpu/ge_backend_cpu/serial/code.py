"""Writing a kernel that is an ordinary program: scalars with operators, variables, loops, arrays of any element type.

For operators whose steps depend on the data. A value is computed in its element type's compute type, so that code
is the same for all types; what is independent goes into work items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from ge_backend_cpu import convert
from ge_backend_cpu import llvm_ir as ir
from ge_backend_cpu.emit import I1, I32, POINTER, Function, constant, mangled, vector, width_of
from ge_backend_cpu.integers import I64, Value
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.loops.expr import compute_kind
from ge_backend_cpu.vmath import Primitives
from ge_backend_cpu.vmath.base import float_constant
from ge_backend_cpu.vmath.casts import cast
from ge_core.ir.dtype import DType, boolean, int64

Given: TypeAlias = "Num | int | float"


@dataclass(frozen=True, eq=False)
class Num:
    """A scalar in a register, or a vector.

    Attributes:
        kind: a compute type (`compute_kind`); operators take two of one kind, or a Python number.
    """

    code: Code
    value: Value
    kind: DType

    def _apply(self, name: str, *others: Given) -> Num:
        return self.code.apply(name, *self.code.as_wide(self, *[self.code.number(o, self.kind) for o in others]))

    def _reversed(self, name: str, other: Given) -> Num:
        return self.code.apply(name, *self.code.as_wide(self.code.number(other, self.kind), self))

    def __add__(self, other: Given) -> Num:
        return self._apply("add", other)

    def __radd__(self, other: Given) -> Num:
        return self._reversed("add", other)

    def __sub__(self, other: Given) -> Num:
        return self._apply("sub", other)

    def __rsub__(self, other: Given) -> Num:
        return self._reversed("sub", other)

    def __mul__(self, other: Given) -> Num:
        return self._apply("mul", other)

    def __rmul__(self, other: Given) -> Num:
        return self._reversed("mul", other)

    def __truediv__(self, other: Given) -> Num:
        return self._apply("div", other)

    def __rtruediv__(self, other: Given) -> Num:
        return self._reversed("div", other)

    def __neg__(self) -> Num:
        return self._apply("neg")

    def __floordiv__(self, other: Given) -> Num:
        """The quotient of integers: of self >= 0 by other > 0."""
        a, b = self.code.as_wide(self, self.code.number(other, self.kind))
        return Num(self.code, self.code.f.b.udiv(a.value, b.value), self.kind)

    def __mod__(self, other: Given) -> Num:
        """The remainder of integers: of self >= 0 by other > 0."""
        a, b = self.code.as_wide(self, self.code.number(other, self.kind))
        return Num(self.code, self.code.f.b.urem(a.value, b.value), self.kind)

    def __lt__(self, other: Given) -> Num:
        return self._apply("lt", other)

    def __le__(self, other: Given) -> Num:
        return self._apply("le", other)

    def __gt__(self, other: Given) -> Num:
        return self._reversed("lt", other)

    def __ge__(self, other: Given) -> Num:
        return self._reversed("le", other)

    def __and__(self, other: Given) -> Num:
        return self._apply("bitand", other)

    def __or__(self, other: Given) -> Num:
        return self._apply("bitor", other)

    def __xor__(self, other: Given) -> Num:
        return self._apply("bitxor", other)

    def __invert__(self) -> Num:
        return self._apply("bitnot")

    def equals(self, other: Given) -> Num:
        return self._apply("eq", other)

    def differs(self, other: Given) -> Num:
        return self._apply("ne", other)

    def min(self, other: Given) -> Num:
        """The smaller one; NaN if one is."""
        return self._apply("min", other)

    def max(self, other: Given) -> Num:
        return self._apply("max", other)

    def call(self, name: str, *others: Given) -> Num:
        """A primitive of this value and others."""
        return self._apply(name, *others)

    def choose(self, yes: Given, no: Given) -> Num:
        """One of two values by this bool; at least one of them is no Python number."""
        kind = next(v.kind for v in (yes, no) if isinstance(v, Num))
        condition, *parts = self.code.as_wide(self, *[self.code.number(v, kind) for v in (yes, no)])
        return Num(self.code, self.code.f.b.select(condition.value, parts[0].value, parts[1].value), kind)

    def picked(self, lanes: Sequence[int]) -> Num:
        """Lanes of a vector in any order; one lane is a scalar."""
        f = self.code.f
        value = f.lane(self.value, lanes[0]) if len(lanes) == 1 else f.shuffle(self.value, self.value, lanes)
        return Num(self.code, value, self.kind)

    def to(self, dtype: DType) -> Num:
        """Converted by the rules of Cast; rounded to a float type below 32 bits."""
        found = cast(self.code.f, self.value, self.kind, dtype)
        return Num(self.code, found, compute_kind(dtype))


class Variable:
    """A value that changes."""

    def __init__(self, first: Num) -> None:
        self._first = first
        self._slot = first.code.f.variable(first.value)

    @property
    def value(self) -> Num:
        first = self._first
        return Num(first.code, first.code.f.b.load(self._slot, typ=first.value.type), first.kind)

    @value.setter
    def value(self, value: Num) -> None:
        assert value.kind == self._first.kind, (value.kind, self._first.kind)
        self._first.code.f.b.store(value.value, self._slot)


@dataclass(frozen=True)
class Array:
    """Elements in memory; read and written in the element type's compute type.

    Attributes:
        width: how many of them an index names: that many are read and written together, as a vector.
    """

    code: Code
    pointer: Value
    dtype: DType
    width: int = 1

    @property
    def kind(self) -> DType:
        return compute_kind(self.dtype)

    def __getitem__(self, index: Given) -> Num:
        value = self.code.f.load(self.pointer, self._first(index), self.dtype, self.width)
        return Num(self.code, value, self.kind)

    def __setitem__(self, index: Given, value: Num) -> None:
        assert value.kind == self.kind, (value.kind, self.kind)
        self.code.f.store(value.value, self.pointer, self._first(index), self.dtype)

    def _first(self, index: Given) -> Value:
        return self.code.f.mul(self.code.index(index), self.width)

    def moved(self, start: Given) -> Array:
        """The array that begins at an element of this one."""
        return replace(self, pointer=self.code.f.at(self.pointer, self._first(start), self.dtype))

    def gather(self, index: Num, where: Num | None = None) -> Num:
        """The elements at a vector's places, or at one place; 0 where a condition does not hold."""
        width = width_of(index.value)
        if width == 1:
            found = self[index.to(int64)]
            return found if where is None else where.choose(found, 0)
        f, stored = self.code.f, vector(convert.stored_type(self.dtype), width)
        pointers = f.b.gep(self.pointer, [index.value], source_etype=convert.stored_type(self.dtype))
        pointers.type = ir.VectorType(POINTER, width)
        mask = constant(vector(I1, width), 1) if where is None else where.value
        raw = f.intrinsic(
            "masked.gather", pointers, ir.Constant(I32, self.dtype.bits // 8), mask, constant(stored, 0),
            returns=stored, suffix=f"{mangled(stored)}.v{width}p0",
        )  # fmt: skip
        return Num(self.code, convert.widen(f, raw, self.dtype), self.kind)

    def in_vectors(self, width: int) -> Array:
        """The same elements, several of them to an index."""
        return replace(self, width=width)


class Code:
    """One kernel under construction. Its parameters name its operands' element types and the launch's integers.

    Attributes:
        f: the builder below.
        arrays: the operands.
        sizes: the launch's integers by name.
        options: the kernel's parameters.
    """

    def __init__(self, module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
        names: Sequence[str] = parameters["names"]
        dtypes = [DType.of(name) for name in parameters["dtypes"]]
        self.f = Function(module, symbol, isa, len(dtypes), names)
        self.options = parameters
        self.arrays = [Array(self, p, d) for p, d in zip(self.f.operands, dtypes, strict=True)]
        self.sizes = {name: Num(self, self.f.params[name], int64) for name in names}
        self._primitives = Primitives(self.f, self._check)

    def _check(self, condition: Value, status: int) -> None:
        """Leave the kernel with a status if a condition holds in any lane."""
        width = width_of(condition)
        if width > 1:
            word = self.f.b.bitcast(condition, ir.IntType(width))
            condition = self.f.b.icmp_unsigned("!=", word, ir.Constant(word.type, 0))
        self.f.fail(condition, status)

    def number(self, given: Given, kind: DType) -> Num:
        """A Python number as a value of a kind; values stay."""
        if isinstance(given, Num):
            return given
        element = convert.compute_type(kind)
        if kind.is_float:
            return Num(self, ir.Constant(element, float_constant(element, given)), kind)
        return Num(self, ir.Constant(element, int(given)), kind)

    def index(self, given: Given) -> Value:
        """An element number as emit.Function takes it."""
        return given.value if isinstance(given, Num) else int(given)

    def integer(self, given: Given) -> Num:
        return self.number(given, int64)

    def as_wide(self, *values: Num) -> list[Num]:
        """Scalars in every lane, where one of the values is a vector."""
        width = max(width_of(v.value) for v in values)
        return [v if width_of(v.value) == width else Num(self, self.f.splat(v.value, width), v.kind) for v in values]

    def lanes(self, first: Num, width: int) -> Num:
        """first, first + 1, ...; the number itself for width 1."""
        if width == 1:
            return first
        return first + Num(self, self.f.lane_numbers(width, convert.compute_type(first.kind)), first.kind)

    def apply(self, name: str, *arguments: Num) -> Num:
        """A primitive (`ge_core.ops.pointwise.PRIMITIVES`)."""
        from ge_backend_cpu.vmath.primitives import TESTS

        kind = arguments[0].kind
        value = self._primitives.apply(name, kind, [a.value for a in arguments])
        return Num(self, value, boolean if name in TESTS else kind)

    def variable(self, first: Given, kind: DType = int64) -> Variable:
        return Variable(self.number(first, kind))

    def scratch(self, dtype: DType, count: int) -> Array:
        """A small array on the stack."""
        return Array(self, self.f.scratch(count * dtype.bits // 8), dtype)

    @contextmanager
    def items(self) -> Iterator[Num]:
        """The work items of the call."""
        with self.f.loop(self.f.lo, self.f.hi) as loop:
            yield Num(self, loop.index, int64)

    @contextmanager
    def count(self, start: Given, stop: Given, step: Given = 1) -> Iterator[Num]:
        """for i in range(start, stop, step), step > 0"""
        with self.f.loop(*(self.index(v) for v in (start, stop, step))) as loop:
            yield Num(self, loop.index, int64)

    @contextmanager
    def repeat(self, condition: Callable[[], Num]) -> Iterator[None]:
        """While a condition holds; what changes is in variables."""
        f, b = self.f, self.f.b
        head, inside, done = (f.function.append_basic_block(n) for n in ("while", "inside", "after"))
        b.branch(head)
        b.position_at_end(head)
        b.cbranch(condition().value, inside, done)
        b.position_at_end(inside)
        yield
        b.branch(head)
        b.position_at_end(done)

    @contextmanager
    def when(self, condition: Num) -> Iterator[None]:
        with self.f.when(condition.value):
            yield

    def fail(self, condition: Num, status: int) -> None:
        """Leave the kernel with a status."""
        self.f.fail(condition.value, status)

    def place(self, index: Num, size: Num, status: int) -> Num:
        """An index of any integer type as int64; negative ones count from the end, those outside are an error."""
        if index.kind.kind == "uint" and index.kind.bits == 64:
            self.fail(index >= self.number((1 << 63) - 1, index.kind), status)
        wide = index.to(int64)
        found = (wide < 0).choose(wide + size, wide)
        self.fail(Num(self, self.f.b.icmp_unsigned(">=", found.value, size.value), boolean), status)
        return found

    def finish(self) -> None:
        self.f.finish()


def split(code: Code, item: Num, *sizes: Num) -> list[Num]:
    """The places on some axes of a row-major number, from the outermost axis; the first size is not used."""
    found: list[Num] = []
    for size in reversed(sizes[1:]):
        found.append(item % size)
        item = item // size
    return [item, *reversed(found)]


__all__ = ["I64", "Array", "Code", "Given", "Num", "Variable", "split"]
