"""The family "contract.attention": softmax(softcap(scale * Q K^T) + mask) V without the matrix of scores.

Rows of queries pass over the keys in blocks and keep the maximum so far, the sum of exponentials and the weighted sum
of values, all relative to that maximum (M. Milakov, N. Gimelshein, 2018; T. Dao and others, 2022):

    m' = max(m, max s);  l' = l * exp(m - m') + sum exp(s - m');  o' = o * exp(m - m') + exp(s - m') V;  y = o / l

Keys come in panels of 16 columns, [panel of keys][d][16]; values too, [panel of dv][key][16], or as rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ge_backend_cpu.contract.arithmetic import Arithmetic
from ge_backend_cpu.contract.micro import Run
from ge_backend_cpu.contract.tile import MANY, PANEL, shapes
from ge_backend_cpu.emit import FLOAT, I32, Function, constant
from ge_backend_cpu.integers import Value
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import Kernel, family
from ge_backend_cpu.vmath.single import Single
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType, float32

FAMILY = "contract.attention"
QUERIES = 24
"""Rows of queries of a work item at most."""
KEYS = 256
"""Keys of a block."""


@dataclass(frozen=True)
class Attention:
    """What the code depends on.

    Attributes:
        y: element type of the result; queries, keys and values are float32.
        depth: sizes of a head of the keys and of the values.
        rows: queries of a head, 0 when it is not known.
        scale, softcap: numbers; no cap with 0.
        mask: element type of the mask, "" without one.
        rows_of_values: whether values come as rows, whose length panels divide.
        causal, left, right: whether the position, or a window around it, limits the keys.
        lengths: element type of the numbers of keys that count, "" without them.
    """

    y: str
    depth: tuple[int, int]
    rows: int
    scale: float
    softcap: float = 0.0
    mask: str = ""
    rows_of_values: bool = False
    causal: bool = False
    left: bool = False
    right: bool = False
    lengths: str = ""

    @property
    def plain(self) -> bool:
        """Whether all queries see the same keys, by nothing but products."""
        limits = self.mask or self.causal or self.left or self.right
        return not limits and not self.softcap and self.scale > 0

    @property
    def strip(self) -> int:
        """Rows that are multiplied at a time."""
        return self.rows if 0 < self.rows < 6 else 6

    @property
    def block(self) -> int:
        """Rows of a work item."""
        return QUERIES // self.strip * self.strip

    def names(self) -> tuple[str, ...]:
        """The kernel's integers, in order; strides count elements.

        heads, shared: query heads, and how many of them read the same keys. queries, keys, past: keys before the
        first query. left, right: of the windows. q_, y_, mask_ b, h, s: strides by batch, head and query; k_, v_ b:
        distance of the keys (values) of two heads. mask_keys: keys that the mask covers. Work items are
        blocks of queries of a head, `parts` of them.
        """
        return (
            "heads", "shared", "queries", "keys", "past", "left", "right", "parts", "q_b", "q_h", "q_s", "k_b", "v_b",
            "y_b", "y_h", "y_s", "mask_b", "mask_h", "mask_s", "mask_keys",
        )  # fmt: skip

    def params(self, values: Mapping[str, Size]) -> tuple[Size, ...]:
        return tuple(values.get(name, 0) for name in self.names())

    def kernel(self) -> Kernel:
        return Kernel(FAMILY, asdict(self))


@family(FAMILY, lean=True)
def emit_attention(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """Operands: queries, panels of keys, panels of values, the mask and lengths if they are there, result."""
    form = Attention(**{**parameters, "depth": tuple(parameters["depth"])})
    _Emitter(module, symbol, form, isa).kernel()


class _Emitter:
    def __init__(self, module: Any, symbol: str, form: Attention, isa: Isa) -> None:
        self.form = form
        count = 4 + bool(form.mask) + bool(form.lengths)
        self.f = f = Function(module, symbol, isa, count, form.names())
        self.q, self.k, self.v = f.operands[:3]
        self.mask = f.operands[3] if form.mask else None
        self.lengths = f.operands[3 + bool(form.mask)] if form.lengths else None
        self.y = f.operands[-1]
        self.sums = Arithmetic("float32")
        self.width = self.sums.width(isa)
        self.math = Single(f, self.width)
        self.run = Run(self.sums, self.width, float32, float32, form.depth[0] % 4 == 0)
        self.odd = Run(self.sums, self.width, float32, float32, False)
        self.heights = tuple(dict.fromkeys((form.strip, *((2, 1) if form.rows == 0 else ()))))
        self.value_panels = -(-form.depth[1] // PANEL)
        self.key_shape = shapes(isa, self.width, MANY, KEYS // PANEL)
        self.value_shape = shapes(isa, self.width, MANY, self.value_panels)
        self.block = rows = form.block
        self.scores = f.scratch(form.strip * KEYS * 4)
        self.out = f.scratch(rows * self.value_panels * PANEL * 4)
        self.tops, self.totals = f.scratch(rows * 4), f.scratch(rows * 4)
        self.factors, self.largest = f.scratch(form.strip * 4), f.scratch(form.strip * self.width * 4)

    def kernel(self) -> None:
        f, p = self.f, self.f.params
        with f.loop(f.lo, f.hi) as item:
            head = f.div(item.index, p["parts"])
            part = f.sub(item.index, f.mul(head, p["parts"]))
            batch = f.div(head, p["heads"])
            own = f.sub(head, f.mul(batch, p["heads"]))
            shared = f.add(f.mul(batch, f.div(p["heads"], p["shared"])), f.div(own, p["shared"]))
            first = f.mul(part, self.block)
            last = f.minimum(f.add(first, self.block), p["queries"])
            self._block(batch, own, shared, first, last)
        f.finish()

    def _block(self, batch: Value, head: Value, shared: Value, first: Value, last: Value) -> None:
        """Queries [first, last) of a head."""
        f, p = self.f, self.f.params
        q = f.at(self.q, f.add(f.mul(batch, p["q_b"]), f.mul(head, p["q_h"])), float32)
        k, v = f.at(self.k, f.mul(shared, p["k_b"]), float32), f.at(self.v, f.mul(shared, p["v_b"]), float32)
        zero = self.sums.zero(self.width)
        with f.loop(0, self.block) as row:
            f.store(constant(FLOAT, float("-inf")), self.tops, row.index, float32)
            f.store(constant(FLOAT, 0.0), self.totals, row.index, float32)
        with f.loop(0, self.block * self.value_panels * PANEL, self.width) as at:
            f.store(zero, self.out, at.index, float32)
        length = p["keys"]
        offset = p["past"]
        if self.lengths is not None:
            given = f.load(self.lengths, batch, DType.of(self.form.lengths))
            given = given if given.type == f.i(0).type else f.b.sext(given, f.i(0).type)
            length, offset = f.maximum(f.minimum(given, length), 0), f.sub(given, p["queries"])
        start = f.mul(f.div(self._low(f.add(first, offset)), PANEL), PANEL)
        stop = self._high(f.sub(f.add(last, offset), 1), length)
        with f.loop(start, stop, KEYS) as keys:
            size = f.minimum(f.sub(stop, keys.index), KEYS)
            self._strips(
                first, last, lambda height, row, present: self._keys(
                    height, row, present, first, q, k, v, batch, head, offset, length, keys.index, size
                )
            )  # fmt: skip
        with f.loop(first, last) as row:
            self._result(batch, head, row.index, f.sub(row.index, first))

    def _low(self, position: Value) -> Value:
        """The first key that a query at a position sees."""
        f = self.f
        return f.maximum(f.sub(position, f.params["left"]), 0) if self.form.left else 0

    def _high(self, position: Value, length: Value) -> Value:
        """The end of the keys that a query at a position sees."""
        f, form = self.f, self.form
        stop = length
        if form.causal:
            stop = f.minimum(stop, f.add(position, 1))
        if form.right:
            stop = f.minimum(stop, f.add(f.add(position, f.params["right"]), 1))
        return f.maximum(stop, 0)

    def _strips(self, first: Value, last: Value, body: Any) -> None:
        """Strips of rows: as high as there is code for, the last one partly absent."""
        f = self.f
        at = first
        for height in self.heights:
            lowest = height == self.heights[-1]
            rows = f.sub(last, at)
            count = f.ceildiv(rows, height) if lowest else f.div(rows, height)
            end = f.add(at, f.mul(count, height))
            with f.loop(at, end, height) as strip:
                body(height, strip.index, f.minimum(f.sub(last, strip.index), height) if lowest else height)
            at = end

    def _keys(
        self, height: int, row: Value, present: Value, first: Value, q: Value, k: Value, v: Value, batch: Value,
        head: Value, offset: Value, length: Value, key: Value, size: Value,
    ) -> None:  # fmt: skip
        """Some rows and a block of keys."""
        f, p, width = self.f, self.f.params, self.width
        numbers = [f.add(row, f.minimum(i, f.sub(present, 1))) for i in range(height)]
        rows = [f.at(q, f.mul(n, p["q_s"]), float32) for n in numbers]
        panels = f.ceildiv(size, PANEL)
        depth = self.form.depth[0]
        zero, lowest = self.sums.zero(width), self.math.c(float("-inf"))
        first_panel = f.div(key, PANEL)
        at: Any = 0
        tops = [lowest] * height
        for shape in self._all(self.key_shape):
            end = f.add(at, f.mul(f.div(f.sub(panels, at), shape), shape))
            with f.loop(at, end, shape, carry=tops) as panel:
                lines = [
                    f.at(k, f.mul(f.add(f.add(first_panel, panel.index), j), depth * PANEL), float32)
                    for j in range(shape)
                ]
                vectors = shape * PANEL // width
                sums = self.run.multiply(f, rows, lines, depth, [zero] * (height * vectors))
                panel.next = self._stored(sums, vectors, f.mul(panel.index, PANEL), size, panel.values)
            tops, at = list(panel.values), end
        if not self.form.plain:
            tops = self._limited(height, row, present, batch, head, offset, length, key, size)
        self._exponentials(tops, f.sub(row, first), size)
        self._add_values(height, row, first, v, key, size)

    def _stored(
        self, sums: Sequence[Value], vectors: int, column: Value, size: Value, tops: Sequence[Value]
    ) -> list[Value]:
        """Keep the products of some rows and keys; the rows' largest so far, where nothing else limits the keys."""
        f, m, width = self.f, self.math, self.width
        found = list(tops)
        inside = [self._between(f.add(column, j * width), 0, size) for j in range(vectors)] if self.form.plain else []
        for n, value in enumerate(sums):
            i, j = divmod(n, vectors)
            if self.form.plain:
                value = f.b.select(inside[j], value, m.c(float("-inf")))
                found[i] = m.larger(value, found[i])
            f.store(value, self.scores, f.add(column, i * KEYS + j * width), float32)
        return found

    def _all(self, found: Sequence[Any]) -> list[int]:
        """Widths of tiles, down to a single panel."""
        widths = [shape.panels for shape in found]
        return list(dict.fromkeys([*widths, 1]))

    def _limited(
        self, height: int, row: Value, present: Value, batch: Value, head: Value, offset: Value, length: Value,
        key: Value, size: Value,
    ) -> list[Value]:  # fmt: skip
        """Scores scaled, capped and masked; the rows' largest."""
        f, m, width = self.f, self.math, self.width
        lowest = m.c(float("-inf"))
        with f.loop(0, height) as each:
            number = f.add(row, f.minimum(each.index, f.sub(present, 1)))
            line = f.at(self.scores, f.mul(each.index, KEYS), float32)
            position = f.add(number, offset)
            low = f.sub(self._low(position), key)
            high = f.minimum(f.sub(self._high(position, length), key), size)
            with f.loop(0, f.mul(f.ceildiv(size, width), width), width, carry=[lowest]) as at:
                value = self._score(f.load(line, at.index, float32, width), batch, head, number, key, at.index)
                value = f.b.select(self._between(at.index, low, high), value, lowest)
                f.store(value, line, at.index, float32)
                at.next = [m.larger(value, at.values[0])]
            f.store(at.values[0], self.largest, f.mul(each.index, width), float32)
        return [f.load(self.largest, i * width, float32, width) for i in range(height)]

    def _exponentials(self, tops: Sequence[Value], state: Value, size: Value) -> None:
        """Scores of some rows become exponentials, all rows in turn; the rows' states and factors follow.

        Products that nothing limits are not scaled yet: exp(scale * s - scale * m) takes no more operations. As
        scale * m is the same number for all keys of a block, its rounding has no part in the result.
        """
        f, m, width, height = self.f, self.math, self.width, len(tops)
        scale = self.form.scale if self.form.plain else 1.0
        bases, states = [], []
        for i, values in enumerate(tops):
            top = f.fold(values, lambda a, b: f.b.select(f.b.fcmp_ordered(">", a, b), a, b))
            old = f.load(self.tops, f.add(state, i), float32)
            new = f.b.select(f.b.fcmp_ordered(">", top, old), top, old)
            # as long as all keys are masked the maximum is taken to be 0: exp(-inf - 0) is 0
            none = f.b.fcmp_ordered("==", new, constant(FLOAT, float("-inf")))
            base = f.splat(f.b.select(none, constant(FLOAT, 0.0), new), width)
            bases.append(m.mul(base, m.c(scale)))
            states.append((new, f.splat(old, width)))
        with f.loop(0, f.mul(f.ceildiv(size, width), width), width, carry=[m.c(0.0)] * height) as at:
            found = []
            for i, total in enumerate(at.values):
                place = f.add(at.index, i * KEYS)
                score = f.load(self.scores, place, float32, width)
                value = m.exp_nonpositive(self._relative(score, bases[i]))
                f.store(value, self.scores, place, float32)
                found.append(m.add(total, value))
            at.next = found
        for i, (values, (new, old)) in enumerate(zip(at.values, states, strict=True)):
            factor = f.lane(m.exp_nonpositive(m.sub(m.mul(old, m.c(scale)), bases[i])), 0)
            place = f.add(state, i)
            before = f.load(self.totals, place, float32)
            f.store(f.b.fadd(f.b.fmul(before, factor), f.fold(values, f.b.fadd)), self.totals, place, float32)
            f.store(new, self.tops, place, float32)
            f.store(factor, self.factors, i, float32)

    def _relative(self, score: Value, base: Value) -> Value:
        """A vector of scores less the scaled maximum."""
        m = self.math
        return m.fma(score, m.c(self.form.scale), m.neg(base)) if self.form.plain else m.sub(score, base)

    def _between(self, at: Value, low: Value, high: Value) -> Value:
        """Which of the elements from `at` on lie in [low, high)."""
        f, width = self.f, self.width
        numbers = f.lane_numbers(width, I32)

        def splat(limit: Value) -> Value:
            near = f.minimum(f.maximum(f.sub(limit, at), -1), 2 * KEYS)
            return f.splat(f.b.trunc(f.i(near), I32), width)

        below = f.b.icmp_signed("<", numbers, splat(high))
        if not self.form.left:
            return below
        return f.b.and_(below, f.b.icmp_signed(">=", numbers, splat(low)))

    def _score(self, value: Value, batch: Value, head: Value, row: Value, key: Value, at: Value) -> Value:
        """A vector of products scaled, capped and masked."""
        f, m, form, p, width = self.f, self.math, self.form, self.f.params, self.width
        value = m.mul(value, m.c(form.scale))
        if form.softcap:
            value = m.mul(m.tanh(m.div(value, m.c(form.softcap))), m.c(form.softcap))
        if self.mask is None:
            return value
        dtype = DType.of(form.mask)
        where = f.add(f.add(f.mul(batch, p["mask_b"]), f.mul(head, p["mask_h"])), f.mul(row, p["mask_s"]))
        column = f.add(key, at)
        count = f.maximum(f.sub(p["mask_keys"], column), 0)
        found = f.load_part(self.mask, f.add(where, column), dtype, width, count)
        if dtype.kind == "bool":
            return f.b.select(found, value, m.c(float("-inf")))
        covered = f.first_lanes(count, width)
        return f.b.select(covered, m.add(value, found), m.c(float("-inf")))

    def _add_values(self, height: int, row: Value, first: Value, v: Value, key: Value, size: Value) -> None:
        """o = o * factor + exponentials * values."""
        f, width = self.f, self.width
        lines = [f.at(self.scores, i * KEYS, float32) for i in range(height)]
        factors = [f.splat(f.load(self.factors, i, float32), width) for i in range(height)]
        columns = self.value_panels * PANEL
        start = f.mul(f.sub(row, first), columns)
        at: Any = 0
        for shape in self.value_shape:
            end = at + (self.value_panels - at) // shape.panels * shape.panels
            with f.loop(at, end, shape.panels) as panel:
                pointers = [
                    f.at(v, self._value_place(f.add(panel.index, j), key), float32) for j in range(shape.panels)
                ]
                vectors = shape.panels * PANEL // width
                places = [
                    f.add(start, f.add(f.mul(panel.index, PANEL), i * columns + j * width))
                    for i in range(height)
                    for j in range(vectors)
                ]
                old = [
                    f.b.fmul(f.load(self.out, place, float32, width), factors[n // vectors])
                    for n, place in enumerate(places)
                ]
                step = self.form.depth[1] if self.form.rows_of_values else PANEL
                found = self.odd.multiply(f, lines, pointers, size, old, step=step)
                for value, place in zip(found, places, strict=True):
                    f.store(value, self.out, place, float32)
            at = end

    def _value_place(self, panel: Value, key: Value) -> Value:
        """The index of a key's first element in a panel of values."""
        f = self.f
        if self.form.rows_of_values:
            return f.add(f.mul(key, self.form.depth[1]), f.mul(panel, PANEL))
        return f.mul(f.add(f.mul(panel, f.params["keys"]), key), PANEL)

    def _result(self, batch: Value, head: Value, row: Value, state: Value) -> None:
        f, p, m, width = self.f, self.f.params, self.math, self.width
        dtype, size = DType.of(self.form.y), self.form.depth[1]
        total = f.load(self.totals, state, float32)
        # a row without any key is zeros
        none = f.b.fcmp_ordered("==", total, constant(FLOAT, 0.0))
        divisor = f.splat(f.b.select(none, constant(FLOAT, 1.0), total), width)
        start = f.mul(state, self.value_panels * PANEL)
        to = f.add(f.add(f.mul(batch, p["y_b"]), f.mul(head, p["y_h"])), f.mul(row, p["y_s"]))
        for at in range(0, size, width):
            value = m.div(f.load(self.out, f.add(start, at), float32, width), divisor)
            if at + width <= size:
                f.store(value, self.y, f.add(to, at), dtype)
            else:
                f.store_part(value, self.y, f.add(to, at), dtype, size - at)
