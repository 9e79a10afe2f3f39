"""Code of the family "contract.recurrent"."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ge_backend_cpu.contract.arithmetic import Arithmetic
from ge_backend_cpu.contract.micro import Run
from ge_backend_cpu.contract.recurrent import FAMILY, Recurrent
from ge_backend_cpu.contract.tile import PANEL, SKINNY, shapes
from ge_backend_cpu.emit import Function
from ge_backend_cpu.integers import Value
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import family
from ge_backend_cpu.vmath import kit
from ge_core.ir.dtype import DType


@family(FAMILY, lean=True)
def emit_recurrent(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """Operands and integers as `Recurrent` names them."""
    _Emitter(module, symbol, Recurrent.from_json(parameters), isa).kernel()


class _Emitter:
    def __init__(self, module: Any, symbol: str, form: Recurrent, isa: Isa) -> None:
        self.form, self.isa = form, isa
        names = form.operands()
        self.f = f = Function(module, symbol, isa, len(names), form.names())
        self.at = dict(zip(names, f.operands, strict=True))
        self.sums = Arithmetic(form.arithmetic)
        self.element, self.y = self.sums.element, DType.of(form.y)
        self.width = self.sums.width(isa)
        self.math: Any = kit(f, self.sums.zero(self.width))
        self.run = Run(self.sums, self.width, self.element, DType.of(form.weights), form.even)

    def kernel(self) -> None:
        f, p, form = self.f, self.f.params, self.form
        self.hidden = f.mul(f.ceildiv(p["hidden"], PANEL), PANEL)
        self.out = f.mul(f.ceildiv(p["out"], PANEL), PANEL)
        with f.loop(f.lo, f.hi) as item:
            self.direction = f.div(item.index, p["blocks"])
            self.first = f.mul(f.sub(item.index, f.mul(self.direction, p["blocks"])), form.rows)
            self.last = f.sub(f.minimum(f.add(self.first, form.rows), p["batch"]), 1)
            area = f.at(self.at["work"], f.mul(item.index, p["area"]), self.element)
            sizes = [f.mul(form.rows, size) for size in (self.out, self.out, f.mul(form.gates, self.hidden),
                                                         self.hidden, self.hidden, self.out)]  # fmt: skip
            places = []
            for size in sizes:
                places.append(area)
                area = f.at(area, size, self.element)
            self.totals, self.cell, self.extra, self.projected = places[2:]
            self._start(places[0], f.mul(2, sizes[0]))
            with f.loop(0, p["steps"]) as step:
                odd = f.b.icmp_signed("!=", f.b.and_(step.index, f.i(1)), f.i(0))
                source = f.b.select(odd, places[1], places[0])
                target = f.b.select(odd, places[0], places[1])
                self._step(self._time(step.index), source, target)
            odd = f.b.icmp_signed("!=", f.b.and_(p["steps"], f.i(1)), f.i(0))
            self._end(f.b.select(odd, places[1], places[0]))
        f.finish()

    def _time(self, step: Value) -> Value:
        f = self.f
        if not any(self.form.backwards):
            return step
        reversed_ = f.sub(f.sub(f.params["steps"], 1), step)
        if all(self.form.backwards):
            return reversed_
        return f.b.select(f.b.icmp_signed("==", self.direction, f.i(1)), reversed_, f.i(step))

    # Rows of an item

    def _rows(self, body: Callable[[Value, Value], None]) -> None:
        """body(place in the item, row of the batch) for every row that there is."""
        f = self.f
        with f.loop(self.first, f.add(self.last, 1)) as row:
            body(f.sub(row.index, self.first), row.index)

    def _vectors(self, size: Value, body: Callable[[Value, Value | None], None]) -> None:
        """body(first, None) for whole vectors, body(first, count) for what is left."""
        f = self.f
        whole = f.mul(f.div(size, self.width), self.width)
        with f.loop(0, whole, self.width) as at:
            body(at.index, None)
        with f.when(f.lt(whole, size)):
            body(whole, f.sub(size, whole))

    def _load(self, pointer: Value, index: Value, dtype: DType, count: Value | None) -> Value:
        f = self.f
        if count is None:
            return f.load(pointer, index, dtype, self.width)
        return f.load_part(pointer, index, dtype, self.width, count)

    def _store(self, value: Value, pointer: Value, index: Value, dtype: DType, count: Value | None) -> None:
        if count is None:
            self.f.store(value, pointer, index, dtype)
        else:
            self.f.store_part(value, pointer, index, dtype, count)

    def _start(self, h: Value, size: Value) -> None:
        """Initial states; rows that are not there are zeros."""
        f, p = self.f, self.f.params
        zero = self.sums.zero(self.width)
        for pointer, length in ((h, size), (self.cell, f.mul(self.form.rows, self.hidden))):
            with f.loop(0, length, self.width) as at:
                f.store(zero, pointer, at.index, self.element)
        for name, state, length, line in (("h", h, p["out"], self.out), ("c", self.cell, p["hidden"], self.hidden)):
            if f"start_{name}" in self.at:
                self._copy_states(self.at[f"start_{name}"], state, name, length, line, True)

    def _end(self, h: Value) -> None:
        p = self.f.params
        for name, state, length, line in (("h", h, p["out"], self.out), ("c", self.cell, p["hidden"], self.hidden)):
            if f"last_{name}" in self.at:
                self._copy_states(self.at[f"last_{name}"], state, name, length, line, False)

    def _copy_states(self, outer: Value, own: Value, name: str, length: Value, line: Value, read: bool) -> None:
        f, p = self.f, self.f.params

        def row(place: Value, number: Value) -> None:
            there = f.add(f.mul(self.direction, p[f"{name}_d"]), f.mul(number, p[f"{name}_b"]))
            here = f.mul(place, line)

            def vector(at: Value, count: Value | None) -> None:
                if read:
                    f.store(self._load(outer, f.add(there, at), self.y, count), own, f.add(here, at), self.element)
                else:
                    value = self._load(own, f.add(here, at), self.element, None)
                    self._store(value, outer, f.add(there, at), self.y, count)

            self._vectors(length, vector)

        self._rows(row)

    # Products

    def _product(
        self,
        source: Value,
        line: Value,
        run: Value,
        weights: Value,
        panels: tuple[Value, Value],
        target: Value,
        target_line: Value,
        start: tuple[Value, Value] | None,
    ) -> None:
        """target[row] = start[row] + source[row] * weights, for panels [first, last).

        Args:
            start: pointer to the gates' input part of row 0 of the batch, and its stride; None for zeros.
        """
        f, form = self.f, self.form
        dtype, at = DType.of(form.weights), panels[0]
        rows = [f.at(source, f.mul(i, line), self.element) for i in range(form.rows)]
        numbers = [f.minimum(f.add(self.first, i), self.last) for i in range(form.rows)]
        height, widths = tiles(self.isa, self.width, form.rows)
        for width in widths:
            end = f.add(at, f.mul(f.div(f.sub(panels[1], at), width), width))
            with f.loop(at, end, width) as panel:
                lines = [f.at(weights, f.mul(f.mul(f.add(panel.index, j), run), PANEL), dtype) for j in range(width)]
                column = f.mul(panel.index, PANEL)
                vectors = width * PANEL // self.width
                for first in range(0, form.rows, height):
                    some = range(first, min(first + height, form.rows))
                    if start is None:
                        sums = [self.sums.zero(self.width)] * (len(some) * vectors)
                    else:
                        sums = [
                            f.load(start[0], f.add(f.add(f.mul(numbers[i], start[1]), column), j * self.width),
                                   self.element, self.width)
                            for i in some
                            for j in range(vectors)
                        ]  # fmt: skip
                    sums = self.run.multiply(f, [rows[i] for i in some], lines, run, sums)
                    for at_sum, (i, j) in enumerate((i, j) for i in some for j in range(vectors)):
                        place = f.add(f.add(f.mul(i, target_line), column), j * self.width)
                        f.store(sums[at_sum], target, place, self.element)
            at = end

    def _step(self, time: Value, source: Value, target: Value) -> None:
        f, p, form = self.f, self.f.params, self.form
        line = f.mul(form.gates, self.hidden)
        each = f.div(self.hidden, PANEL)
        run = p["out"]
        weights = f.at(self.at["panels"], f.mul(f.mul(self.direction, f.mul(line, run)), 1), DType.of(form.weights))
        gates = f.add(f.mul(self.direction, p["gate_d"]), f.mul(time, p["gate_t"]))
        start = (f.at(self.at["gates"], gates, self.element), p["gate_b"])
        if form.cell == "gru":
            self._product(source, self.out, run, weights, (0, f.mul(2, each)), self.totals, line, start)
            last = (f.mul(2, each), f.mul(3, each))
            if form.after:
                self._product(source, self.out, run, weights, last, self.totals, line, None)
                self._over(lambda *where: self._gru(time, source, target, start, *where))
                return
            self._over(lambda *where: self._reset(source, *where))
            self._product(self.extra, self.hidden, run, weights, last, self.totals, line, start)
            self._over(lambda *where: self._gru(time, source, target, start, *where))
            return
        self._product(source, self.out, run, weights, (0, f.mul(form.gates, each)), self.totals, line, start)
        if form.cell == "rnn":
            self._over(lambda *where: self._rnn(time, source, target, *where))
            return
        self._over(lambda *where: self._lstm(time, source, target, *where))
        if form.projected:
            size = f.mul(self.out, p["hidden"])
            projection = f.at(self.at["projection"], f.mul(self.direction, size), DType.of(form.weights))
            panels = (0, f.div(self.out, PANEL))
            self._product(self.extra, self.hidden, p["hidden"], projection, panels, self.projected, self.out, None)

            def row(place: Value, number: Value) -> None:
                def vector(at: Value, count: Value | None) -> None:
                    value = f.load(self.projected, f.add(f.mul(place, self.out), at), self.element, self.width)
                    self._new_h(value, time, source, target, place, number, at, count)

                self._vectors(p["out"], vector)

            self._rows(row)

    def _over(self, body: Callable[..., None]) -> None:
        """body(place, row, first element, count) for all elements of the hidden state."""
        self._rows(
            lambda place, number: self._vectors(
                self.f.params["hidden"], lambda at, count: body(place, number, at, count)
            )
        )

    # Cells

    def _total(self, gate: int, place: Value, at: Value) -> Value:
        f = self.f
        line = f.add(f.mul(place, f.mul(self.form.gates, self.hidden)), f.mul(gate, self.hidden))
        return f.load(self.totals, f.add(line, at), self.element, self.width)

    def _old(self, state: Value, line: Value, place: Value, at: Value) -> Value:
        return self.f.load(state, self.f.add(self.f.mul(place, line), at), self.element, self.width)

    def _active(self, time: Value, number: Value) -> Value | None:
        """Whether the row's sequence has not ended."""
        if not self.form.lengths:
            return None
        length = self.f.load(self.at["lengths"], number, DType.of(self.form.lengths))
        wide = length if length.type == self.f.i(0).type else self.f.b.sext(length, self.f.i(0).type)
        return self.f.lt(time, wide)

    def _kept(self, new: Value, old: Value, time: Value, number: Value) -> Value:
        active = self._active(time, number)
        return new if active is None else self.f.b.select(active, new, old)

    def _new_h(
        self, value: Value, time: Value, source: Value, target: Value, place: Value, number: Value, at: Value,
        count: Value | None,
    ) -> None:  # fmt: skip
        """Store an element of the next state h, and of y: zeros where the sequence has ended."""
        f, p = self.f, self.f.params
        here = f.add(f.mul(place, self.out), at)
        old = f.load(source, here, self.element, self.width)
        f.store(self._kept(value, old, time, number), target, here, self.element)
        if "y" in self.at:
            shown = self._kept(value, self.sums.zero(self.width), time, number)
            line = f.add(f.mul(time, p["y_t"]), f.add(f.mul(self.direction, p["y_d"]), f.mul(number, p["y_b"])))
            self._store(shown, self.at["y"], f.add(line, at), self.y, count)

    def _rnn(
        self, time: Value, source: Value, target: Value, place: Value, number: Value, at: Value, count: Value | None
    ) -> None:
        value = self._activation(0, self._total(0, place, at))
        self._new_h(value, time, source, target, place, number, at, count)

    def _reset(self, source: Value, place: Value, number: Value, at: Value, count: Value | None) -> None:
        """What the last gate's product reads: reset * h."""
        f = self.f
        reset = self._activation(0, self._total(1, place, at))
        value = self.math.mul(reset, self._old(source, self.out, place, at))
        f.store(value, self.extra, f.add(f.mul(place, self.hidden), at), self.element)

    def _gru(
        self, time: Value, source: Value, target: Value, start: tuple[Value, Value], place: Value, number: Value,
        at: Value, count: Value | None,
    ) -> None:  # fmt: skip
        f, m = self.f, self.math
        update = self._activation(0, self._total(0, place, at))
        candidate = self._total(2, place, at)
        if self.form.after:
            reset = self._activation(0, self._total(1, place, at))
            bias = f.load(self.at["hidden_bias"], f.add(f.mul(self.direction, self.hidden), at), self.element,
                          self.width)  # fmt: skip
            given = f.add(f.add(f.mul(number, start[1]), f.mul(2, self.hidden)), at)
            ours = f.load(start[0], given, self.element, self.width)
            candidate = m.add(ours, m.mul(reset, m.add(candidate, bias)))
        hidden = self._activation(1, candidate)
        old = self._old(source, self.out, place, at)
        value = m.add(m.mul(m.sub(m.c(1.0), update), hidden), m.mul(update, old))
        self._new_h(value, time, source, target, place, number, at, count)

    def _lstm(
        self, time: Value, source: Value, target: Value, place: Value, number: Value, at: Value, count: Value | None
    ) -> None:
        f, m, form = self.f, self.math, self.form
        i, o, forget, candidate = (self._total(gate, place, at) for gate in range(4))
        cell = self._old(self.cell, self.hidden, place, at)
        i = self._peep(i, 0, cell, at, count)
        if form.coupled:
            forget = m.sub(m.c(1.0), self._activation(0, i))
        else:
            forget = self._activation(0, self._peep(forget, 2, cell, at, count))
        new = m.add(m.mul(forget, cell), self._gated(i, 1, candidate))
        value = self._gated(self._peep(o, 1, new, at, count), 2, new)
        here = f.add(f.mul(place, self.hidden), at)
        f.store(self._kept(new, cell, time, number), self.cell, here, self.element)
        if form.projected:
            f.store(value, self.extra, here, self.element)
        else:
            self._new_h(value, time, source, target, place, number, at, count)

    def _gated(self, gate: Value, number: int, x: Value) -> Value:
        """A gate's activation times activation `number` of x: sigmoid(a) tanh(b) = tanh(b) / (1 + exp(-a))."""
        m, form = self.math, self.form
        names = form.activations[0][0], form.activations[number][0]
        if names != ("sigmoid", "tanh") or self.element.bits != 32:
            return m.mul(self._activation(0, gate), self._activation(number, x))
        return m.tanh_over(self._clipped(x), m.add(m.c(1.0), m.exp(m.neg(self._clipped(gate)))))

    def _clipped(self, x: Value) -> Value:
        clip = self.form.clip
        return x if clip is None else self.math.clamp(x, -clip, clip)

    def _peep(self, gate: Value, number: int, cell: Value, at: Value, count: Value | None) -> Value:
        """A gate that sees the cell. Args: number: of the weights: input, output, forget."""
        if not self.form.peephole:
            return gate
        f, hidden = self.f, self.f.params["hidden"]
        line = f.add(f.mul(self.direction, f.mul(3, hidden)), f.mul(number, hidden))
        weights = self._load(self.at["peephole"], f.add(line, at), DType.of(self.form.peephole), count)
        return self.math.add(gate, self.math.mul(weights, cell))

    def _activation(self, number: int, x: Value) -> Value:
        """Activation `number` of the cell; its operand is clipped first."""
        f, m = self.f, self.math
        name, alpha, beta = self.form.activations[number]
        x = self._clipped(x)
        zero, one = m.c(0.0), m.c(1.0)
        table: dict[str, Callable[[], Value]] = {
            "relu": lambda: f.b.select(m.compare("<", x, zero), zero, x),
            "tanh": lambda: m.tanh(x),
            "sigmoid": lambda: m.div(one, m.add(one, m.exp(m.neg(x)))),
            "affine": lambda: m.add(m.mul(m.c(alpha), x), m.c(beta)),
            "leakyrelu": lambda: f.b.select(m.compare("<", x, zero), m.mul(m.c(alpha), x), x),
            "thresholdedrelu": lambda: f.b.select(m.compare("<=", m.c(alpha), x), x, zero),
            "scaledtanh": lambda: m.mul(m.c(alpha), m.tanh(m.mul(m.c(beta), x))),
            "hardsigmoid": lambda: m.clamp(m.add(m.mul(m.c(alpha), x), m.c(beta)), 0.0, 1.0),
            "elu": lambda: f.b.select(
                m.compare("<", x, zero),
                m.mul(m.c(alpha), m.expm1(x)),
                x,
            ),
            "softsign": lambda: m.div(x, m.add(one, m.abs(x))),
            "softplus": lambda: m.add(
                m.larger(x, zero),
                m.log1p(m.exp(m.neg(m.abs(x)))),
            ),
        }
        return table[name]()


def tiles(isa: Isa, width: int, rows: int) -> tuple[int, list[int]]:
    """How many rows are multiplied at a time, and by how many panels: wide tiles first, at last single panels."""
    if rows <= SKINNY:
        return rows, list(dict.fromkeys([*(s.panels for s in shapes(isa, width, rows, 0)), 1]))
    sums, each = (24 if isa.registers >= 32 else 12), max(PANEL // width, 1)
    parts = -(-rows // max(sums // each, 1))
    height = -(-rows // parts)
    widest = max(sums // (height * each), 1)
    return height, list(dict.fromkeys([widest, max(widest // 2, 1), 1]))
