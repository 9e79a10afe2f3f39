"""How generated loops read and write: addresses, lanes, masks, and types smaller than a byte.

A value is a scalar, or in a vector loop a list of vectors, one for each vector of the round.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ge_backend_cpu import convert
from ge_backend_cpu import llvm_ir as ir
from ge_backend_cpu.emit import I1, I32, Function, constant, mangled, vector, width_of
from ge_backend_cpu.integers import Int, Value
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.loops import reducing, staging
from ge_backend_cpu.loops.program import Let, Number, Program, Stage, Store
from ge_backend_cpu.vmath import Primitives
from ge_core.ir.dtype import DType

BYTE = DType.of("uint8")


class Access:
    """What one kernel has at hand, and its loads and stores.

    Attributes:
        values: by number: a scalar, or a list of vectors.
        offsets: of addresses, as far as their axes have values.
        along: the vector axis, -1 outside of a vector loop.
        rounds: vectors per value.
        mask: lanes that count, None when all do; `count` is their number.
        sums: accumulators of the sweeps that are open.
    """

    def __init__(self, module: Any, symbol: str, program: Program, isa: Isa) -> None:
        self.program = program
        names = [f"p{k}" for k in range(program.params)]
        self.f = Function(module, symbol, isa, len(program.operands), names)
        self.b = self.f.b
        self.width = isa.lanes * 4 // program.lane_bytes if program.lane_bytes else 1
        self.dtypes = [DType.of(name) for name in (*program.operands, *(name for name, _ in program.scratch))]
        self.pointers = list(self.f.operands)
        self.buffers: dict[int, Value] = {}
        for name, count in program.scratch:
            self.buffers[len(self.pointers)] = self.f.scratch(DType.of(name).bits // 8 * count)
            self.pointers.append(self.buffers[len(self.pointers)])
        self.values: dict[int, Any] = {}
        self.offsets: dict[int, Int] = {k: self.n(a.const) for k, a in enumerate(program.addresses)}
        self.blocks: dict[int, tuple[Int, Int]] = {}
        self.along, self.rounds = -1, 1
        self.mask: Value | None = None
        self.count: Int = 0
        self.sums: dict[int, reducing.Sum] = {}
        self.primitives = Primitives(self.f, self._check)

    def n(self, number: Number) -> Int:
        """An integer of the program."""
        return self.f.params[number] if isinstance(number, str) else number

    def _check(self, condition: Value, status: int) -> None:
        """Leave the kernel if a condition holds in a lane that counts."""
        width = width_of(condition)
        if width > 1 and self.mask is not None:
            condition = self.b.and_(condition, self.mask)
        if width > 1:
            word = self.b.bitcast(condition, ir.IntType(width))
            condition = self.b.icmp_unsigned("!=", word, ir.Constant(word.type, 0))
        self.f.fail(condition, status)

    def _wide(self, value: Any, width: int | None = None) -> list[Value]:
        """A value as vectors, one for each vector of the round; in scalar code as it is."""
        if isinstance(value, list):
            return value
        width = self.width if width is None else width
        return [self.f.splat(value, width)] * (self.rounds if width > 1 else 1)

    def _place(self, address: int) -> tuple[Int, Int, list[Value] | None]:
        """An address: its scalar part, the step of the vector axis, and what else differs by lane."""
        found = self.program.addresses[address]
        base = self.offsets[address]
        stride: Int = next((self.n(c) for axis, c in found.axes if axis == self.along), 0)
        vectors: list[Value] | None = None
        for value, coefficient in found.values:
            operand, factor = self.values[value], self.n(coefficient)
            if not isinstance(operand, list):
                base = self.f.add(base, self.f.mul(operand, factor))
                continue
            if factor != 1:
                operand = [self.b.mul(v, self.f.splat(self.f.i(factor), self.width)) for v in operand]
            vectors = operand if vectors is None else [self.b.add(a, o) for a, o in zip(vectors, operand, strict=True)]
        return base, stride, vectors

    def _lanes(self, base: Int, stride: Int, vectors: list[Value] | None) -> list[Value]:
        """Element numbers of all lanes."""
        numbers = self.f.lane_numbers(self.width)
        found = []
        for u in range(self.rounds):
            at = self.f.splat(self.f.i(self.f.add(base, self.f.mul(u * self.width, stride))), self.width)
            if stride != 0:
                step = self.f.splat(self.f.i(stride), self.width)
                at = self.b.add(at, numbers if stride == 1 else self.b.mul(numbers, step))
            found.append(at if vectors is None else self.b.add(at, vectors[u]))
        return found

    def _make_load(self, let: Let) -> Any:
        operand, address, masked = let.data
        dtype, pointer = DType.of(let.kind), self.pointers[operand]
        base, stride, vectors = self._place(address)
        where = self.values[let.args[0]] if masked else None
        if self.along < 0 or (stride == 0 and vectors is None and not isinstance(where, list)):
            return self._scalar_load(pointer, base, dtype, where)
        masks = None if where is None else self._wide(where)
        if self.mask is not None:
            masks = [self.mask if masks is None else self.b.and_(masks[0], self.mask)]
        if dtype.bits < 8:
            return self._packed_load(pointer, base, stride, vectors, dtype, masks)
        if vectors is None and stride == 1:
            return [
                self._contiguous(pointer, self.f.add(base, u * self.width), dtype, masks and masks[u])
                for u in range(self.rounds)
            ]
        if vectors is None and stride == -1:
            return [
                self._reversed(pointer, self.f.sub(base, u * self.width), dtype, masks and masks[u])
                for u in range(self.rounds)
            ]
        # the scalar part goes into the pointer, so that what is left may fit into narrower lanes
        lanes, first = self._lanes(0, stride, vectors), self.f.at(pointer, base, dtype)
        return [self._gather(first, at, dtype, masks and masks[u]) for u, at in enumerate(lanes)]

    def _scalar_load(self, pointer: Value, base: Int, dtype: DType, where: Value | None) -> Value:
        if where is None:
            return self.f.load(pointer, base, dtype)
        zero = constant(convert.compute_type(dtype), 0)
        return self.f.choose(where, lambda: [self.f.load(pointer, base, dtype)], lambda: [zero])[0]

    def _contiguous(self, pointer: Value, at: Int, dtype: DType, mask: Value | None) -> Value:
        if mask is None:
            return self.f.load(pointer, at, dtype, self.width)
        stored = vector(convert.stored_type(dtype), self.width)
        arguments = [self.f.at(pointer, at, dtype), ir.Constant(I32, dtype.bits // 8), mask, constant(stored, 0)]
        raw = self._intrinsic(f"llvm.masked.load.{mangled(stored)}.p0", stored, arguments)
        return convert.widen(self.f, raw, dtype)

    def _reversed(self, pointer: Value, last: Int, dtype: DType, mask: Value | None) -> Value:
        order = range(self.width - 1, -1, -1)
        mask = None if mask is None else self.f.shuffle(mask, mask, order)
        value = self._contiguous(pointer, self.f.sub(last, self.width - 1), dtype, mask)
        return self.f.shuffle(value, value, order)

    def _pointers(self, pointer: Value, lanes: Value, dtype: DType) -> Value:
        return self.b.gep(pointer, [lanes], source_etype=convert.stored_type(dtype))

    def _all_lanes(self) -> Value:
        return constant(ir.VectorType(I1, self.width), 1)

    def _gather(self, pointer: Value, lanes: Value, dtype: DType, mask: Value | None) -> Value:
        stored = vector(convert.stored_type(dtype), self.width)
        mask = self._all_lanes() if mask is None else mask
        arguments = [
            self._pointers(pointer, lanes, dtype), ir.Constant(I32, dtype.bits // 8), mask, constant(stored, 0)
        ]  # fmt: skip
        raw = self._intrinsic(f"llvm.masked.gather.{mangled(stored)}.v{self.width}p0", stored, arguments)
        return convert.widen(self.f, raw, dtype)

    def _packed_load(
        self, pointer: Value, base: Int, stride: Int, vectors: list[Value] | None, dtype: DType, masks: Any
    ) -> list[Value]:
        """Types smaller than a byte, lane by lane; lanes that do not count read element 0 of the address."""
        found = []
        for u, lanes in enumerate(self._lanes(base, stride, vectors)):
            if masks is not None:
                first = self.b.extract_element(lanes, ir.Constant(I32, 0))
                lanes = self.b.select(masks[u], lanes, self.f.splat(first, self.width))
            indices = [self.f.lane(lanes, k) for k in range(self.width)]
            found.append(self.f.gather(pointer, indices, dtype))
        return found

    def _store(self, store: Store) -> None:
        value = self.values[store.value]
        pointer, dtype = self.pointers[store.operand], self.dtypes[store.operand]
        base, stride, vectors = self._place(store.address)
        if dtype.bits < 8:
            self._store_packed(pointer, base, value, dtype)
            return
        if self.along < 0:
            self.f.store(value, pointer, base, dtype)
            return
        values = self._wide(value)
        if vectors is None and stride == 1:
            for u, v in enumerate(values):
                self._put(pointer, self.f.add(base, u * self.width), v, dtype)
            return
        mask = self._all_lanes() if self.mask is None else self.mask
        for v, lanes in zip(values, self._lanes(base, stride, vectors), strict=True):
            raw = convert.narrow(self.f, v, dtype)
            arguments = [raw, self._pointers(pointer, lanes, dtype), ir.Constant(I32, dtype.bits // 8), mask]
            self._intrinsic(f"llvm.masked.scatter.{mangled(raw.type)}.v{self.width}p0", ir.VoidType(), arguments)

    def _store_packed(self, pointer: Value, base: Int, value: Any, dtype: DType) -> None:
        """Types smaller than a byte: whole bytes, which the schedule has made sure of."""
        per_byte = 8 // dtype.bits
        if self.along < 0:
            zero = constant(convert.compute_type(dtype), 0)
            self.f.store_packed([value, *[zero] * (per_byte - 1)], pointer, 0, dtype)
            return
        for u, v in enumerate(self._wide(value)):
            raw = convert.narrow(self.f, v, dtype)
            raw = self.b.and_(raw, constant(raw.type, (1 << dtype.bits) - 1))
            if self.mask is not None:
                raw = self.b.select(self.mask, raw, constant(raw.type, 0))
            whole = self.f.shuffle(raw, raw, range(0, self.width, per_byte))
            for k in range(1, per_byte):
                part = self.f.shuffle(raw, raw, range(k, self.width, per_byte))
                whole = self.b.or_(whole, self.b.shl(part, constant(part.type, k * dtype.bits)))
            at = self.f.div(self.f.add(base, u * self.width), per_byte)
            if self.mask is None:
                self.f.store(whole, pointer, at, BYTE)
            else:
                self.f.store_part(whole, pointer, at, BYTE, self.f.ceildiv(self.count, per_byte))

    def _put(self, pointer: Value, at: Int, value: Value, dtype: DType) -> None:
        if self.mask is None:
            self.f.store(value, pointer, at, dtype)
            return
        raw = convert.narrow(self.f, value, dtype)
        arguments = [raw, self.f.at(pointer, at, dtype), ir.Constant(I32, dtype.bits // 8), self.mask]
        self._intrinsic(f"llvm.masked.store.{mangled(raw.type)}.p0", ir.VoidType(), arguments)

    def _intrinsic(self, name: str, returns: ir.Type, arguments: Sequence[Value]) -> Value:
        return self.b.call(self.f.module.declared(name, returns, [a.type for a in arguments]), arguments)

    def _stage(self, stage: Stage) -> None:
        """Fill a local buffer and let its pointer stand for the whole operand: the block begins inside of it."""
        rows, columns = self.blocks[stage.rows], self.blocks[stage.columns]
        dtype, buffer = self.dtypes[stage.source], self.buffers[stage.target]
        found = self.program.addresses[stage.address]
        step = next(self.n(c) for axis, c in found.axes if axis == stage.columns)
        base, _, _ = self._place(stage.address)
        start = self.f.add(self.f.add(base, rows[0]), self.f.mul(columns[0], step))
        counts = [self.f.sub(end, begin) for begin, end in (rows, columns)]
        staging.load_tile(self.f, self.pointers[stage.source], start, step, counts[0], counts[1], buffer, dtype)
        origin = self.f.add(self.f.mul(rows[0], staging.COLUMNS), columns[0])
        self.pointers[stage.target] = self.f.at(buffer, self.f.sub(0, origin), dtype)
