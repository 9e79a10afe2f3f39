"""Building one kernel: the calling convention, structured loops, integers that fold, memory of every element type.

Generators are width-generic: a value is a scalar (width 1) or a vector of `width` elements, by default the
instruction set's lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ge_backend_cpu import convert
from ge_backend_cpu import llvm_ir as ir
from ge_backend_cpu.integers import I64, Int, Integers, Truth, Value
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import OK
from ge_backend_cpu.splat import constant
from ge_core.ir.dtype import DType

I1, I8, I16, I32 = (ir.IntType(n) for n in (1, 8, 16, 32))
HALF, FLOAT, DOUBLE = ir.HalfType(), ir.FloatType(), ir.DoubleType()
POINTER = ir.PointerType()
_MANGLED: dict[ir.Type, str] = {HALF: "f16", FLOAT: "f32", DOUBLE: "f64", POINTER: "p0"}


def new_module(isa: Isa, name: str = "kernels") -> ir.Module:
    """An empty module for an instruction set."""
    module = ir.Module(name)
    module.triple = isa.triple
    return module


def vector(element: ir.Type, width: int) -> ir.Type:
    """The type of `width` elements; the element itself for 1."""
    return element if width == 1 else ir.VectorType(element, width)


def width_of(value: Value) -> int:
    """Elements of a value: 1 for a scalar."""
    return value.type.count if isinstance(value.type, ir.VectorType) else 1


def mangled(type: ir.Type) -> str:
    """The type's part of an intrinsic's name."""
    if isinstance(type, ir.VectorType):
        return f"v{type.count}{mangled(type.element)}"
    if isinstance(type, ir.IntType):
        return f"i{type.width}"
    return _MANGLED[type]


class Loop:
    """A loop under construction.

    Attributes:
        index: i64, the loop variable.
        values: carried values at the start of a round; after the loop they are its results.
        next: what the next round gets; to be set in the body (by default nothing changes).
    """

    def __init__(self, index: Value, values: list[Value]) -> None:
        self.index, self.values = index, values
        self.next: Sequence[Value] = values


class Function(Integers):
    """One kernel under construction.

    Args:
        module: where it goes.
        symbol: its name.
        isa: what it is generated for.
        operands: number of operands.
        params: names of the launch's own integers, in order.

    Attributes:
        b: the builder of instructions.
        operands: pointers to the operands' first bytes.
        params: the launch's integers by name.
        lo, hi: the range of work items, i64.
        lanes: of the instruction set.
    """

    def __init__(self, module: ir.Module, symbol: str, isa: Isa, operands: int, params: Sequence[str] = ()) -> None:
        self.module, self.isa, self.lanes = module, isa, isa.lanes
        kind = ir.FunctionType(I32, [POINTER, POINTER, I64, I64])
        self.function = ir.Function(module, kind, symbol)
        self.function.attributes.add("nounwind")
        # else LLVM would turn loops into calls of memset and memcpy, which the kernel's object does not have
        self.function.attributes.add('"no-builtins"')
        self._entry = self.function.append_basic_block("entry")
        self._first = self.function.append_basic_block("begin")
        super().__init__(ir.Builder(self._entry))
        self._intrinsics: dict[tuple[object, ...], ir.Function] = {}
        words, bases, self.lo, self.hi = self.function.args
        words.add_attribute("noalias")
        bases.add_attribute("noalias")
        self.operands: list[Value] = []
        for k in range(operands):
            base = self.b.load(self._at(bases, self._word(words, 2 * k), POINTER), typ=POINTER)
            self.operands.append(self.b.gep(base, [self._word(words, 2 * k + 1)], source_etype=I8))
        self.params: dict[str, Value] = {name: self._word(words, 2 * operands + i) for i, name in enumerate(params)}
        self.b.position_at_end(self._first)

    def _word(self, words: Value, index: int) -> Value:
        return self.b.load(self._at(words, ir.Constant(I64, index), I64), typ=I64)

    def _at(self, base: Value, index: Value, element: ir.Type) -> Value:
        return self.b.gep(base, [index], source_etype=element)

    def finish(self, status: Value | None = None) -> None:
        """End the kernel: return a status, by default OK. Nothing may be added after it."""
        self.b.ret(ir.Constant(I32, OK) if status is None else status)
        with self.b.goto_block(self._entry):
            self.b.branch(self._first)
        self._leave_out_unused()

    def _leave_out_unused(self) -> None:
        """Remove sums and products that only addresses were made of (see `at`)."""
        for value, (_, source, _) in reversed(self._linear.items()):
            if not value.uses:
                value.lines[value.place] = ""
                source.uses -= 1

    # Control

    @contextmanager
    def loop(self, start: Int, stop: Int, step: Int = 1, carry: Sequence[Value] = ()) -> Iterator[Loop]:
        """for (index = start; index < stop; index += step), with carried values; step is positive."""
        b, before = self.b, self.b.block
        head, body, done = (self.function.append_basic_block(n) for n in ("head", "body", "done"))
        b.branch(head)
        b.position_at_end(head)
        index = b.phi(I64)
        index.add_incoming(self.i(start), before)
        values = [b.phi(v.type) for v in carry]
        for phi, value in zip(values, carry, strict=True):
            phi.add_incoming(value, before)
        b.cbranch(b.icmp_signed("<", index, self.i(stop)), body, done)
        b.position_at_end(body)
        loop = Loop(index, values)
        yield loop
        index.add_incoming(b.add(index, self.i(step), flags=("nsw",)), b.block)
        for phi, value in zip(values, loop.next, strict=True):
            phi.add_incoming(value, b.block)
        b.branch(head)
        b.position_at_end(done)

    def repeat(
        self, carry: Sequence[Value], condition: Callable[..., Truth], body: Callable[..., Sequence[Value]]
    ) -> list[Value]:
        """while condition(*values): values = body(*values); the last values."""
        b, before = self.b, self.b.block
        head, inside, done = (self.function.append_basic_block(n) for n in ("while", "inside", "after"))
        b.branch(head)
        b.position_at_end(head)
        values = [b.phi(v.type) for v in carry]
        for phi, value in zip(values, carry, strict=True):
            phi.add_incoming(value, before)
        b.cbranch(condition(*values), inside, done)
        b.position_at_end(inside)
        for phi, value in zip(values, body(*values), strict=True):
            phi.add_incoming(value, b.block)
        b.branch(head)
        b.position_at_end(done)
        return values

    @contextmanager
    def when(self, condition: Truth) -> Iterator[bool]:
        """Run the body if the condition holds; yields False when it is known not to (then emit nothing)."""
        if isinstance(condition, bool):
            yield condition
            return
        then, join = self.function.append_basic_block("then"), self.function.append_basic_block("join")
        self.b.cbranch(condition, then, join)
        self.b.position_at_end(then)
        yield True
        self.b.branch(join)
        self.b.position_at_end(join)

    def choose(
        self, condition: Truth, then: Callable[[], Sequence[Value]], other: Callable[[], Sequence[Value]]
    ) -> list[Value]:
        """The values of one of two pieces of code, only one of which runs."""
        if isinstance(condition, bool):
            return list(then() if condition else other())
        b = self.b
        blocks = [self.function.append_basic_block(n) for n in ("yes", "no", "join")]
        b.cbranch(condition, blocks[0], blocks[1])
        results, ends = [], []
        for block, code in zip(blocks, (then, other), strict=False):
            b.position_at_end(block)
            results.append(list(code()))
            ends.append(b.block)
            b.branch(blocks[2])
        b.position_at_end(blocks[2])
        merged = []
        for pair in zip(*results, strict=True):
            phi = b.phi(pair[0].type)
            for value, end in zip(pair, ends, strict=True):
                phi.add_incoming(value, end)
            merged.append(phi)
        return merged

    def fail(self, condition: Truth, status: int) -> None:
        """Return the status from the kernel if the condition (a scalar) holds."""
        if condition is False:
            return
        out, on = self.function.append_basic_block("fail"), self.function.append_basic_block("ok")
        self.b.cbranch(ir.Constant(I1, 1) if condition is True else condition, out, on)
        self.b.position_at_end(out)
        self.b.ret(ir.Constant(I32, status))
        self.b.position_at_end(on)

    # Local memory

    def variable(self, value: Value) -> Value:
        """A pointer to a mutable local that begins with a value (a register, after LLVM's passes)."""
        with self.b.goto_block(self._entry):
            slot = self.b.alloca(value.type)
        self.b.store(value, slot)
        return slot

    def scratch(self, nbytes: int, alignment: int = 64) -> Value:
        """A pointer to bytes on the stack; keep it to a few pages, threads may have small stacks."""
        with self.b.goto_block(self._entry):
            return self.b.alloca(ir.ArrayType(I8, nbytes), align=alignment)

    def prefetch(self, pointer: Value, locality: int = 3, write: bool = False) -> None:
        """Ask for the cache line of an address; locality 3 is the first level."""
        function = self.module.declared("llvm.prefetch.p0", ir.VoidType(), [POINTER, I32, I32, I32])
        words = [ir.Constant(I32, n) for n in (int(write), locality, 1)]
        self.b.call(function, [pointer, *words])

    # Elements in memory

    def at(self, pointer: Value, index: Int, dtype: DType) -> Value:
        """The address of an element; not for types smaller than a byte."""
        assert dtype.bits >= 8, dtype
        if isinstance(index, int) and index == 0:
            return pointer
        known = 0
        if not isinstance(index, int) and index in self._linear and self._linear[index][0] == "add":
            _, index, known = self._linear[index]  # what is known becomes a part of the instruction that reads there
        pointer = self._byte(pointer, self.mul(index, dtype.bits // 8))
        return self._byte(pointer, known * dtype.bits // 8) if known else pointer

    def _byte(self, pointer: Value, offset: Int) -> Value:
        return self._once("byte", pointer, offset, lambda: self.b.gep(pointer, [self.i(offset)], source_etype=I8))

    def load(self, pointer: Value, index: Int, dtype: DType, width: int = 1) -> Value:
        """Elements [index, index + width) as they are computed with (see `convert.compute_type`)."""
        if dtype.bits < 8:
            return self.gather(pointer, [self.add(index, k) for k in range(width)], dtype)
        stored = convert.stored_type(dtype)
        raw = self.b.load(self.at(pointer, index, dtype), typ=vector(stored, width), align=dtype.bits // 8)
        return convert.widen(self, raw, dtype)

    def store(self, value: Value, pointer: Value, index: Int, dtype: DType) -> None:
        """Write elements [index, index + width); types smaller than a byte need `store_packed`."""
        raw = convert.narrow(self, value, dtype)
        self.b.store(raw, self.at(pointer, index, dtype), align=dtype.bits // 8)

    def load_part(self, pointer: Value, index: Int, dtype: DType, width: int, count: Int, other: float = 0) -> Value:
        """Elements [index, index + count) in the first lanes, `other` (of the stored type) in the rest.

        Memory beyond them is not touched; 0 <= count.
        """
        stored = vector(convert.stored_type(dtype), width)
        rest = constant(stored, other)
        address = self.at(pointer, index, dtype)
        mask = self.first_lanes(count, width)
        name = f"llvm.masked.load.{mangled(stored)}.p0"
        raw = self._masked(name, stored, [address, mask, rest], 1, dtype.bits // 8)
        return convert.widen(self, raw, dtype)

    def store_part(self, value: Value, pointer: Value, index: Int, dtype: DType, count: Int) -> None:
        """Write the first `count` lanes to elements [index, index + count)."""
        raw = convert.narrow(self, value, dtype)
        mask = self.first_lanes(count, width_of(value))
        name = f"llvm.masked.store.{mangled(raw.type)}.p0"
        self._masked(name, ir.VoidType(), [raw, self.at(pointer, index, dtype), mask], 2, dtype.bits // 8)

    def _masked(self, name: str, returns: ir.Type, arguments: list[Value], place: int, align: int) -> Value:
        """Call a masked intrinsic, whose alignment is an argument at `place` (older LLVM's form, still read)."""
        arguments = [*arguments[:place], ir.Constant(I32, align), *arguments[place:]]
        return self.b.call(self.module.declared(name, returns, [a.type for a in arguments]), arguments)

    def gather(self, pointer: Value, indices: Sequence[Int], dtype: DType) -> Value:
        """The elements at some indices, one load each."""
        found = [self._element(pointer, index, dtype) for index in indices]
        raw = found[0] if len(found) == 1 else self.pack(found)
        return convert.widen(self, raw, dtype)

    def _element(self, pointer: Value, index: Int, dtype: DType) -> Value:
        """One element as it is stored; types smaller than a byte come as i8 with the other bits cleared."""
        if dtype.bits >= 8:
            return self.b.load(self.at(pointer, index, dtype), typ=convert.stored_type(dtype), align=dtype.bits // 8)
        per_byte = 8 // dtype.bits
        byte = self.b.load(self.b.gep(pointer, [self.i(self.div(index, per_byte))], source_etype=I8), typ=I8, align=1)
        shift = self.mul(self.rem(index, per_byte), dtype.bits)
        places = ir.Constant(I8, shift) if isinstance(shift, int) else self.b.trunc(shift, I8)
        return self.b.and_(self.b.lshr(byte, places), ir.Constant(I8, (1 << dtype.bits) - 1))

    def scatter(self, value: Value, pointer: Value, indices: Sequence[Int], dtype: DType) -> None:
        """Write lane k to the element at indices[k], in order; not for types smaller than a byte."""
        raw = convert.narrow(self, value, dtype)
        for k, index in enumerate(indices):
            lane = raw if len(indices) == 1 else self.b.extract_element(raw, ir.Constant(I32, k))
            self.b.store(lane, self.at(pointer, index, dtype), align=dtype.bits // 8)

    def store_packed(self, values: Sequence[Value], pointer: Value, byte: Int, dtype: DType) -> None:
        """Write 8 / bits scalars of a type smaller than a byte as one byte, the first in its low bits."""
        assert dtype.bits < 8 and len(values) == 8 // dtype.bits
        whole: Value = ir.Constant(I8, 0)
        for k, value in enumerate(values):
            raw = self.b.and_(convert.narrow(self, value, dtype), ir.Constant(I8, (1 << dtype.bits) - 1))
            whole = self.b.or_(whole, self.b.shl(raw, ir.Constant(I8, k * dtype.bits)))
        self.b.store(whole, self.b.gep(pointer, [self.i(byte)], source_etype=I8), align=1)

    # Vectors

    def splat(self, value: Value, width: int | None = None) -> Value:
        """A scalar in every lane; `width` 1 leaves it as it is."""
        width = self.lanes if width is None else width
        if width == 1:
            return value
        if isinstance(value, ir.Constant):
            return constant(ir.VectorType(value.type, width), value.constant)
        type = ir.VectorType(value.type, width)
        one = self.b.insert_element(ir.Constant(type, ir.Undefined), value, ir.Constant(I32, 0))
        return self.shuffle(one, one, [0] * width)

    def pack(self, values: Sequence[Value]) -> Value:
        """A vector of scalars."""
        whole: Value = ir.Constant(ir.VectorType(values[0].type, len(values)), ir.Undefined)
        for k, value in enumerate(values):
            whole = self.b.insert_element(whole, value, ir.Constant(I32, k))
        return whole

    def lane(self, value: Value, k: int) -> Value:
        """One element of a vector; a scalar is its own lane 0."""
        return self.b.extract_element(value, ir.Constant(I32, k)) if width_of(value) > 1 else value

    def shuffle(self, a: Value, b: Value, picks: Sequence[int]) -> Value:
        """A vector of elements of a and b (numbered on after a's)."""
        mask = ir.Constant(ir.VectorType(I32, len(picks)), list(picks))
        return self.b.shuffle_vector(a, b, mask)

    def lane_numbers(self, width: int, element: ir.Type = I64) -> Value:
        """0, 1, 2, ... as a vector (for width 1 the scalar 0)."""
        if width == 1:
            return ir.Constant(element, 0)
        return ir.Constant(ir.VectorType(element, width), list(range(width)))

    def first_lanes(self, count: Int, width: int) -> Value:
        """A mask of the first `count` lanes."""
        if isinstance(count, int):
            return ir.Constant(ir.VectorType(I1, width), [int(k < count) for k in range(width)])
        few = self.b.trunc(self.minimum(count, width), I32)
        return self.b.icmp_unsigned("<", self.lane_numbers(width, I32), self.splat(few, width))

    def fold(self, value: Value, combine: Callable[[Value, Value], Value]) -> Value:
        """One scalar from all lanes, by halving; `combine` works on any width."""
        width = width_of(value)
        while width > 1:
            half = width // 2
            low = self.shuffle(value, value, range(half)) if half > 1 else self.lane(value, 0)
            high = self.shuffle(value, value, range(half, width)) if half > 1 else self.lane(value, 1)
            value, width = combine(low, high), half
        return value

    def intrinsic(self, name: str, *arguments: Value, returns: ir.Type | None = None, suffix: str = "") -> Value:
        """Call `llvm.<name>.<type of the first argument>`; it returns that type unless told."""
        kind = arguments[0].type
        key = name, kind, returns, suffix
        function = self._intrinsics.get(key)
        if function is None:
            full = f"llvm.{name}.{suffix or mangled(kind)}"
            function = self.module.declared(full, returns or kind, [a.type for a in arguments])
            self._intrinsics[key] = function
        return self.b.call(function, arguments)

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        """a * b + c, rounded once."""
        return self.intrinsic("fma", a, b, c)


__all__ = [
    "DOUBLE",
    "FLOAT",
    "HALF",
    "I1",
    "I8",
    "I16",
    "I32",
    "I64",
    "POINTER",
    "Function",
    "Int",
    "Loop",
    "Truth",
    "Value",
    "constant",
    "mangled",
    "new_module",
    "vector",
    "width_of",
]
