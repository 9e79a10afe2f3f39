"""From expressions to loops: which axes are work items, which is vectorised, in what order things are computed.

Axes that no reduction goes over are *kept*; the others make up a *row*. Either the vector axis lies in the row (its
reductions end across the lanes), or it is a kept one (each lane reduces for itself). Reductions are sweeps over the
row, those that need others' results later; stores follow, or join the first sweep that has what they need.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ge_backend_cpu.loops import staging, strides
from ge_backend_cpu.loops.expr import Expr, reachable
from ge_backend_cpu.loops.index import Affine, Axis, Unsupported
from ge_backend_cpu.loops.program import Program, Range
from ge_backend_cpu.loops.writer import STAGED, Writer, stride_price
from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType

POINTWISE_BLOCK = 4096
"""Elements of the vector axis that one work item takes."""
COLUMN_BLOCK = 256
"""The same where each item also sweeps over the row."""
DEAR = 250
"""Expressions of more picoseconds are kept from one sweep to the next rather than computed again."""
SHORT = 8
"""Sizes below which tiles of transposed operands do not pay."""
MOST_TILES = 4
SCRATCH_BYTES = 1 << 15
"""Largest row of intermediates that is kept on the stack."""


@dataclass(frozen=True)
class Target:
    """A store: element `at` of an operand becomes a value."""

    operand: int
    dtype: DType
    at: Affine
    value: Expr


@dataclass
class Sweep:
    """One pass over the row (or, without axes, what is done once per row).

    Attributes:
        axes: of the row, from outermost to innermost.
        results: reductions, with what is reduced.
        stores: targets, and expressions that are written to a place from which later sweeps read them.
    """

    axes: tuple[Axis, ...]
    results: dict[Expr, Expr] = field(default_factory=dict)
    stores: list[Target] = field(default_factory=list)


@dataclass(frozen=True)
class Schedule:
    """How a nest runs.

    Attributes:
        operands: those of the program, by the numbers that expressions know them by.
        params: its integers.
        extent: number of work items.
        first_write, last_read: sweep numbers by operand, to judge which operands may share memory.
        reads_elsewhere: operands that are read at other places than those that are being written.
    """

    program: Program
    operands: tuple[int, ...]
    params: tuple[Size, ...]
    extent: Size
    picoseconds: Size
    first_write: dict[int, int]
    last_read: dict[int, int]
    reads_elsewhere: frozenset[int]


@dataclass
class Tile:
    """Axes of which work items take blocks: operands are contiguous along `rows`, lanes lie along `columns`.

    Attributes:
        loads: what is brought into local buffers, by the buffers' (negative) numbers.
    """

    rows: Axis
    columns: Axis
    loads: dict[int, Expr] = field(default_factory=dict)


def schedule(axes: Sequence[Axis], targets: Sequence[Target], dtypes: Sequence[DType]) -> Schedule:
    """Loops for some stores.

    Args:
        axes: of the domain, from outermost to innermost as the result is stored.
        targets: stores; their addresses use these axes alone.
        dtypes: of the operands.

    Raises:
        Unsupported: the reductions do not fit into one nest.
    """
    return _Scheduler(axes, targets, dtypes).run()


class _Scheduler:
    def __init__(self, axes: Sequence[Axis], targets: Sequence[Target], dtypes: Sequence[DType]) -> None:
        self.axes, self.targets, self.dtypes = list(axes), list(targets), list(dtypes)
        self.exprs = reachable(t.value for t in targets)
        self.reductions = [e for e in self.exprs if e.op in ("reduce", "arg")]
        self.kept = self._kept()
        self.row = [a for a in self.axes if a not in self.kept]
        self.scratch: list[tuple[DType, int]] = []
        self.held: dict[int, int] = {}
        self.kept_values: set[Expr] = set()

    def _kept(self) -> list[Axis]:
        """The axes that all reductions keep."""
        if not self.reductions:
            return list(self.axes)
        kept = frozenset().union(*(r.axes for r in self.reductions))
        for r in self.reductions:
            if r.axes != kept:
                raise Unsupported("reductions over different parts of the data")
        if not kept <= set(self.axes):
            raise Unsupported("a reduction depends on an axis that is not of the result")
        return [a for a in self.axes if a in kept]

    def run(self) -> Schedule:
        sweeps = self._sweeps()
        vector = self._kept_vector(sweeps)
        sweeps = [self._ordered(sweep, vector is None) for sweep in sweeps]
        merged = self._merge(sweeps, vector)
        self._hold(sweeps, vector)
        tile = self._tile(sweeps, vector)
        outer = [a for a in self.kept if a is not vector and a not in merged]
        for target in self.targets:
            whole = not outer and target.at.const == 0 and not any(s.axes for s in sweeps)
            if target.dtype.bits < 8 and not (whole and (vector is None or target.at.coefficient(vector) == 1)):
                raise Unsupported(f"bytes of several {target.dtype} that are not computed together")
        return self._write(sweeps, outer, vector, merged, tile)

    # What is computed in which sweep

    def _sweeps(self) -> list[Sweep]:
        depth: dict[Expr, int] = {}
        level: dict[Expr, int] = {}
        for e in self.exprs:
            under = max((level[a] for a in e.args), default=0)
            if e.op in ("reduce", "arg"):
                depth[e] = under
                under += 1
            level[e] = under
        sweeps: list[Sweep] = []
        place: dict[Expr, int] = {}
        for k in range(max(depth.values(), default=-1) + 1):
            for r in [r for r in self.reductions if depth[r] == k]:
                axes = tuple(sorted(r.data[1], key=lambda a: a.uid))
                own = [s for s in sweeps if set(s.axes) == set(axes) and sweeps.index(s) >= self._ready(r, place)]
                if not own:
                    own = [Sweep(axes)]
                    sweeps += own
                own[0].results[r] = r.args[0]
                place[r] = sweeps.index(own[0])
        for target in self.targets:
            self._place_store(target, sweeps, place)
        return sweeps

    def _ready(self, expr: Expr, place: dict[Expr, int]) -> int:
        """The first sweep in which everything that an expression needs has been reduced."""
        inner = [e for e in reachable(expr.args) if e.op in ("reduce", "arg")]
        return max((place[e] + 1 for e in inner), default=0)

    def _place_store(self, target: Target, sweeps: list[Sweep], place: dict[Expr, int]) -> None:
        needed = [e for e in reachable([target.value]) if e.op in ("reduce", "arg")]
        ready = max((place[e] + 1 for e in needed), default=0)
        axes = tuple(a for a in self.row if a in target.value.axes or target.at.coefficient(a) != 0)
        for sweep in sweeps[ready:]:
            if set(sweep.axes) == set(axes):
                sweep.stores.append(target)
                return
        sweeps.append(Sweep(axes, {}, [target]))

    # Which axis the vectors lie along

    def _kept_vector(self, sweeps: Sequence[Sweep]) -> Axis | None:
        """The kept axis for the lanes; None when the row holds it."""
        best: Axis | None = None
        least = float("inf")
        for axis in self.kept:
            price = sum(self._price(sweep, axis) for sweep in sweeps)
            if price < least - 1e-9 or (best is not None and price <= least + 1e-9):
                best, least = axis, price
        if any(sweep.axes for sweep in sweeps):
            # what is computed once per row costs little
            row = sum(min(self._price(s, a) for a in s.axes) for s in sweeps if s.axes)
            swept = sum(self._price(s, best) for s in sweeps if s.axes) if best is not None else float("inf")
            if row <= swept or best is None:
                return None
        return best

    def _price(self, sweep: Sweep, axis: Axis) -> float:
        """Relative cost of one place of a sweep when the lanes lie along an axis."""
        total = 0.2
        for e in self._members(sweep):
            if e.op == "load":
                tiled = not self.reductions and axis in self.kept and self._transposed(e, axis) is not None
                total += STAGED if tiled else stride_price(e.data[2], axis)
        for target in sweep.stores:
            total += stride_price(target.at, axis) if target.at.coefficient(axis) != 0 else 16
        if isinstance(axis.size, int) and axis.size > 0:
            total *= 16 * -(-axis.size // 16) / axis.size
        return total

    def _members(self, sweep: Sweep) -> list[Expr]:
        """Expressions that a sweep computes at each place."""
        roots = [*sweep.results.values(), *(t.value for t in sweep.stores)]
        inside: list[Expr] = []
        seen: set[Expr] = set()
        stack = list(roots)
        while stack:
            e = stack.pop()
            if e in seen:
                continue
            seen.add(e)
            if e.op in ("reduce", "arg"):
                continue
            inside.append(e)
            stack += e.args
        return sorted(inside, key=lambda e: e.uid)

    def _ordered(self, sweep: Sweep, across: bool) -> Sweep:
        """With the axis for the lanes innermost if they lie in the row, the others by their stride in memory."""
        if len(sweep.axes) < 2:
            return sweep
        last = min(sweep.axes, key=lambda a: (self._price(sweep, a), -a.uid)) if across else None
        loads = [e.data[2] for e in self._members(sweep) if e.op == "load"]
        main = max(loads, key=lambda at: sum(at.coefficient(a) != 0 for a in sweep.axes), default=Affine())
        rest = strides.by_stride([a for a in sweep.axes if a is not last], main)
        return Sweep((*rest, *(() if last is None else (last,))), sweep.results, sweep.stores)

    def _merge(self, sweeps: Sequence[Sweep], vector: Axis | None) -> dict[Axis, Axis]:
        """Axes that another one takes in: outer to inner."""
        addresses = [e.data[2] if e.op == "load" else e.data for e in self.exprs if e.op in ("load", "index")]
        addresses += [t.at for t in self.targets]
        numbered = {a for e in self.exprs if e.op == "arg" for a in e.data[1]}
        kept = [a for a in self.kept if a is not vector] + ([vector] if vector is not None else [])
        return strides.merged_axes(kept, [s.axes for s in sweeps], addresses, numbered)

    # Values that are too dear to be computed in two sweeps

    def _hold(self, sweeps: list[Sweep], vector: Axis | None) -> None:
        """Keep dear expressions that several sweeps compute: in a result's own memory, or on the stack."""
        for k, sweep in enumerate(sweeps):
            if not sweep.axes:
                continue
            later = [s for s in sweeps[k + 1 :] if set(s.axes) == set(sweep.axes)]
            for e in self._shared(sweep, later):
                last = max(n for n, s in enumerate(sweeps) if s in later and e in self._members(s))
                home = self._home(e, k, last, sweeps, vector)
                if home is None:
                    continue
                if not any(t.operand == home.operand and t.value is e for t in sweep.stores):
                    sweep.stores.append(home)
                self.held[home.operand] = last
                self._reread(e, home, later)

    def _shared(self, sweep: Sweep, later: Sequence[Sweep]) -> list[Expr]:
        """The largest dear expressions of a sweep that later ones compute again."""
        again = {e for s in later for e in self._members(s)}
        row = set(sweep.axes)
        dear = [e for e in self._members(sweep) if e in again and e.cost > DEAR and row <= e.axes]
        return [e for e in dear if not any(e in o.args for o in dear)]

    def _home(self, e: Expr, here: int, last: int, sweeps: Sequence[Sweep], vector: Axis | None) -> Target | None:
        """Where an expression of a sweep is kept until its last use: a place that nothing else needs meanwhile."""
        sweep = sweeps[here]
        for target in sweep.stores:
            if target.value is e and target.dtype == e.kind and self._covers(target, sweep):
                return target
        for target in (t for s in sweeps[last:] for t in s.stores):
            free = target.operand >= 0 and self.held.get(target.operand, -1) <= here and target.dtype == e.kind
            written = any(
                t.operand == target.operand for s in sweeps[:last] for t in s.stores if t.value not in self.kept_values
            )
            if free and not written and self._covers(target, sweep):
                self.kept_values.add(e)
                return Target(target.operand, target.dtype, target.at, e)
        size = dims.product([a.size for a in sweep.axes])
        nbytes = size * (e.kind.bits // 8)
        if vector is None and isinstance(nbytes, int) and nbytes <= SCRATCH_BYTES and e.kind.bits >= 8:
            self.scratch.append((e.kind, int(nbytes) // (e.kind.bits // 8)))
            stride: Size = 1
            terms: dict[Axis, Size] = {}
            for axis in reversed(sweep.axes):
                terms[axis], stride = stride, stride * axis.size
            return Target(-len(self.scratch), e.kind, Affine.of(terms), e)
        return None

    def _covers(self, target: Target, sweep: Sweep) -> bool:
        """Whether a store has a place of its own for each place of a sweep."""
        return all(target.at.coefficient(a) != 0 for a in (*sweep.axes, *self.kept))

    def _reread(self, e: Expr, home: Target, later: Iterable[Sweep]) -> None:
        """In later sweeps replace an expression by a load of what was stored."""
        load = Expr("load", e.kind, (), (home.operand, home.dtype.name, home.at, False), e.axes)
        known: dict[Expr, Expr] = {e: load}
        for sweep in later:
            sweep.stores = [Target(t.operand, t.dtype, t.at, _rebuilt(t.value, known)) for t in sweep.stores]
            sweep.results = {r: _rebuilt(body, known) for r, body in sweep.results.items()}

    # Operands that are contiguous along another axis than the lanes

    def _tile(self, sweeps: Sequence[Sweep], vector: Axis | None) -> Tile | None:
        """The axis along which transposed operands are contiguous, and buffers for their tiles."""
        if vector is None or self.reductions or self.scratch:
            return None
        loads = [e for e in self._members(sweeps[0]) if e.op == "load" and self._transposed(e, vector) is not None]
        if not loads or len(loads) > MOST_TILES:
            return None
        axes = [self._transposed(e, vector) for e in loads]
        rows = max(set(axes), key=axes.count)
        assert rows is not None
        tile = Tile(rows, vector)
        known: dict[Expr, Expr] = {}
        for load in (e for e, axis in zip(loads, axes, strict=True) if axis is rows):
            dtype = DType.of(load.data[1])
            self.scratch.append((dtype, staging.height(dtype) * staging.COLUMNS))
            number = -len(self.scratch)
            at = Affine.of({rows: staging.COLUMNS, vector: 1})
            tile.loads[number] = load
            known[load] = Expr("load", load.kind, (), (number, dtype.name, at, False), load.axes)
        sweep = sweeps[0]
        sweep.stores = [Target(t.operand, t.dtype, t.at, _rebuilt(t.value, known)) for t in sweep.stores]
        return tile

    def _transposed(self, e: Expr, vector: Axis) -> Axis | None:
        """The axis along which a load is contiguous, when it is worth a tile."""
        operand, dtype, at, masked = e.data
        if masked or operand < 0 or DType.of(dtype).bits < 8 or at.coefficient(vector) in (-1, 0, 1):
            return None
        if any(isinstance(v, Expr) and v.axes for v, _ in at.terms):
            return None
        for axis in self.kept:
            long = not isinstance(axis.size, int) or axis.size >= SHORT
            if axis is not vector and at.coefficient(axis) == 1 and long:
                return axis
        return None

    # The program

    def _write(
        self,
        sweeps: list[Sweep],
        outer: list[Axis],
        vector: Axis | None,
        merged: dict[Axis, Axis],
        tile: Tile | None,
    ) -> Schedule:
        first, last, elsewhere = self._hazards(sweeps)
        if tile is not None:
            staged = [load.data[0] for load in tile.loads.values()]
            last |= dict.fromkeys(staged, 0)
            elsewhere |= set(staged)
        used = sorted(k for k in {*first, *last} if k >= 0)
        numbers = {k: n for n, k in enumerate(used)}
        numbers |= {-1 - k: len(used) + k for k in range(len(self.scratch))}
        kinds = {e.kind for s in sweeps for e in self._members(s)} | {t.dtype for s in sweeps for t in s.stores}
        members = [e for s in sweeps for e in self._members(s)]
        wide = vector is not None or any(s.axes for s in sweeps)
        weight = sum(map(_weight, set(members))) + 100 * len(self.reductions)
        writer = Writer(merged, numbers, _lane_bytes(kinds) if wide else 0, _rounds(weight))
        block = 0
        if vector is not None:
            limit = COLUMN_BLOCK if any(s.axes for s in sweeps) else POINTWISE_BLOCK
            size = writer.whole(vector)
            block = 0 if isinstance(size, int) and size <= limit else limit
        blocks = {vector: block} if block else {}
        if tile is not None:
            heights = [staging.height(self.scratch[-1 - number][0]) for number in tile.loads]
            blocks = {tile.rows: min(heights), tile.columns: staging.COLUMNS}
            outer = [a for a in outer if a is not tile.rows]
            writer.staged.update(tile.loads)
        items = [Range(writer.axis(a)) for a in outer]
        items += [Range(writer.axis(a), size) for a, size in blocks.items() if a is not None]
        with writer.scope(outer):
            if vector is None:
                self._rows(writer, sweeps, merged, True)
            else:
                for number, load in tile.loads.items() if tile is not None else ():
                    writer.stage(load, number, tile.rows, vector)  # type: ignore[union-attr]
                with writer.nest([] if tile is None else [tile.rows], False), writer.loop(vector, True):
                    self._rows(writer, sweeps, merged, False)
        extent = dims.product([writer.whole(a) for a in outer])
        for axis, size in blocks.items():
            assert axis is not None
            extent = extent * dims.ceildiv(writer.whole(axis), size)
        names = [self.dtypes[k].name for k in used]
        program = writer.program(names, [(d.name, n) for d, n in self.scratch], items)
        return Schedule(
            program, tuple(used), tuple(writer.params), extent, writer.picoseconds, first, last, elsewhere
        )  # fmt: skip

    def _rows(self, writer: Writer, sweeps: list[Sweep], merged: dict[Axis, Axis], across: bool) -> None:
        for sweep in sweeps:
            axes = [a for a in sweep.axes if a not in merged]
            with writer.sweep(list(sweep.results)), writer.nest(axes, across):
                for result, body in sweep.results.items():
                    writer.accumulate(result, body)
                values = [(t, writer.value(t.value)) for t in sweep.stores]
                for target, value in values:
                    writer.store(target.operand, target.at, value, target.value.kind)

    def _hazards(self, sweeps: Sequence[Sweep]) -> tuple[dict[int, int], dict[int, int], frozenset[int]]:
        """First sweep that writes an operand, last that reads one, and those read elsewhere than written."""
        first: dict[int, int] = {}
        last: dict[int, int] = {}
        places: dict[int, set[Affine]] = {}
        for k, sweep in enumerate(sweeps):
            for target in sweep.stores:
                first.setdefault(target.operand, k)
            for e in self._members(sweep):
                if e.op == "load":
                    last[e.data[0]] = k
                    places.setdefault(e.data[0], set()).add(e.data[2])
        stored = {t.operand: t.at for t in self.targets}
        single = {next(iter(stored.values()))} if len(set(stored.values())) == 1 else set()
        return first, last, frozenset(o for o, found in places.items() if found != single)


def _lane_bytes(kinds: Iterable[DType]) -> int:
    """The element size that decides the number of lanes."""
    sizes = {max(k.bits // 8, 1) for k in kinds}
    if len(sizes) == 1:
        return min(max(sizes), 8)
    return min(max(sizes), 4)


def _weight(e: Expr) -> int:
    return e.cost - sum(a.cost for a in e.args)


def _rounds(weight: int) -> int:
    """Vectors of one round of the innermost loop: light bodies need several to keep the processor busy."""
    return 4 if weight <= 500 else 2 if weight <= 1000 else 1


def _rebuilt(e: Expr, known: dict[Expr, Expr]) -> Expr:
    """An expression with others in place of some of its parts."""
    for part in reachable([e]):
        if part not in known:
            args = tuple(known[a] for a in part.args)
            # reductions are done by then; the index of a load names its expressions once more and stays as it is
            same = args == part.args or part.op in ("load", "index", "reduce", "arg")
            known[part] = part if same else Expr(part.op, part.kind, args, part.data, part.axes)
    return known[e]
