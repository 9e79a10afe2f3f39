"""The family "contract.pool": pools over windows, channels last.

    max, sum / count, or (sum |x|^p)^(1/p) over the part of a window that lies within the image

A vector holds neighbouring channels. Sums over a row of the window are added to those of the rows before it, so that
large windows keep their digits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from ge_backend_cpu.convert import compute_type
from ge_backend_cpu.emit import Function, constant, vector
from ge_backend_cpu.integers import Value
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import Kernel, family
from ge_backend_cpu.vmath import Primitives
from ge_backend_cpu.vmath.base import float_constant
from ge_core.errors import BackendError
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType

FAMILY = "contract.pool"
CHANNELS = 64
"""Channels of a work item."""


@dataclass(frozen=True)
class Pool:
    """What the code depends on.

    Attributes:
        dtype: element type.
        form: what is computed over a window.
        axes: spatial axes.
        adaptive: windows share the image evenly: window i of n begins at i * size / n and ends at
            (i + 1) * size / n, rounded outwards.
        divisor: of an average: "inside" counts elements of the image, "padded" those of the padding as well, "given"
            is the integer `divisor`.
        power: p of the form "power".
    """

    dtype: str
    form: Literal["max", "average", "power"]
    axes: int
    adaptive: bool = False
    divisor: Literal["inside", "padded", "given"] = "inside"
    power: int = 2

    def names(self) -> tuple[str, ...]:
        """The kernel's integers, in order: channels, blocks of channels, divisor; by axis the sizes of image and
        result, and unless adaptive the window's size, stride, dilation and pads.

        Work items are rows of the result (places of the batch and of all spatial axes but the last), times blocks of
        channels.
        """
        own = ("size", "out") if self.adaptive else ("size", "out", "taps", "stride", "dilation", "begin", "end")
        return ("channels", "blocks", "divisor", *(f"{name}{i}" for i in range(self.axes) for name in own))

    def params(self, values: Mapping[str, Size]) -> tuple[Size, ...]:
        return tuple(values[name] for name in self.names())

    def kernel(self) -> Kernel:
        return Kernel(FAMILY, asdict(self))


@dataclass(frozen=True)
class _Span:
    """A window along one axis: input of tap t is `start` + t * `step`, for t in [low, high); `count` taps divide."""

    start: Value
    step: Value
    low: Value
    high: Value
    count: Value


@family(FAMILY, lean=True)
def emit_pool(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """Operands: image, result."""
    _Emitter(module, symbol, Pool(**parameters), isa).kernel()


class _Emitter:
    def __init__(self, module: Any, symbol: str, pool: Pool, isa: Isa) -> None:
        self.pool, self.dtype = pool, DType.of(pool.dtype)
        self.f = Function(module, symbol, isa, 2, pool.names())
        # the largest of bytes needs no wider registers than the bytes themselves
        self.width = isa.lanes * (4 if pool.form == "max" and self.dtype.bits == 8 else 1)
        self.element = compute_type(self.dtype)
        self.primitives = Primitives(self.f, _no_check)
        self.last = pool.axes - 1

    def kernel(self) -> None:
        f, p = self.f, self.f.params
        with f.loop(f.lo, f.hi) as item:
            rest = f.div(item.index, p["blocks"])
            first = f.mul(f.sub(item.index, f.mul(rest, p["blocks"])), CHANNELS)
            pixel = f.mul(rest, p[f"out{self.last}"])
            spans: list[_Span] = []
            for axis in range(self.last - 1, -1, -1):
                whole = f.div(rest, p[f"out{axis}"])
                spans.insert(0, self._span(axis, f.sub(rest, f.mul(whole, p[f"out{axis}"]))))
                rest = whole
            stop = f.minimum(f.add(first, CHANNELS), p["channels"])
            with f.loop(0, p[f"out{self.last}"]) as x:
                self._pixel(rest, [*spans, self._span(self.last, x.index)], f.add(pixel, x.index), first, stop)
        f.finish()

    def _span(self, axis: int, place: Value) -> _Span:
        f, p = self.f, self.f.params
        size = p[f"size{axis}"]
        if self.pool.adaptive:
            out = p[f"out{axis}"]
            start = f.div(f.mul(place, size), out)
            count = f.sub(f.ceildiv(f.mul(f.add(place, 1), size), out), start)
            return _Span(start, 1, 0, count, count)
        taps, step = p[f"taps{axis}"], p[f"dilation{axis}"]
        start = f.sub(f.mul(place, p[f"stride{axis}"]), p[f"begin{axis}"])

        def below(limit: Value) -> Value:
            """Taps that read before a place."""
            return f.minimum(f.ceildiv(f.maximum(f.sub(limit, start), 0), step), taps)

        low, high = below(0), below(size)
        high = f.maximum(high, low)
        count = f.sub(high, low)
        if self.pool.divisor == "padded":
            count = f.sub(below(f.add(size, p[f"end{axis}"])), below(f.sub(0, p[f"begin{axis}"])))
        return _Span(start, step, low, high, count)

    def _pixel(self, batch: Value, spans: Sequence[_Span], pixel: Value, first: Value, stop: Value) -> None:
        f, p, width = self.f, self.f.params, self.width
        whole = f.add(first, f.mul(f.div(f.sub(stop, first), width), width))
        divisor = p["divisor"]
        if self.pool.divisor != "given":
            divisor = spans[0].count
            for span in spans[1:]:
                divisor = f.mul(divisor, span.count)
        target = f.mul(pixel, p["channels"])
        with f.loop(first, whole, width) as at:
            value = self._finished(self._fold(batch, spans, at.index, None), divisor)
            f.store(value, f.operands[1], f.add(target, at.index), self.dtype)
        rest = f.sub(stop, whole)
        with f.when(f.lt(0, rest)):
            value = self._finished(self._fold(batch, spans, whole, rest), divisor)
            f.store_part(value, f.operands[1], f.add(target, whole), self.dtype, rest)

    def _fold(self, batch: Value, spans: Sequence[_Span], channel: Value, count: Value | None) -> Value:
        f, p = self.f, self.f.params

        def nest(axis: int, pixel: Value) -> Value:
            span = spans[axis]
            with f.loop(span.low, span.high, carry=[self._neutral()]) as loop:
                inner = f.add(f.mul(pixel, p[f"size{axis}"]), f.add(span.start, f.mul(loop.index, span.step)))
                value = nest(axis + 1, inner) if axis < self.last else self._element(inner, channel, count)
                loop.next = [self._combined(loop.values[0], value)]
            return loop.values[0]

        return nest(0, batch)

    def _element(self, pixel: Value, channel: Value, count: Value | None) -> Value:
        f = self.f
        index = f.add(f.mul(pixel, f.params["channels"]), channel)
        if count is None:
            value = f.load(f.operands[0], index, self.dtype, self.width)
        else:
            value = f.load_part(f.operands[0], index, self.dtype, self.width, count)
        if self.pool.form == "power":
            value = self._apply("abs", value)
            if self.pool.power == 2:
                return self._apply("mul", value, value)
            if self.pool.power != 1:
                return self._apply("pow", value, self._number(self.pool.power))
        return value

    def _neutral(self) -> Value:
        if self.pool.form != "max":
            return self._number(0)
        return self._number(float("-inf") if self.dtype.is_float else self.dtype.min)

    def _combined(self, a: Value, b: Value) -> Value:
        return self._apply("max" if self.pool.form == "max" else "add", a, b)

    def _finished(self, total: Value, divisor: Value) -> Value:
        f, form = self.f, self.pool.form
        if form == "average":
            scalar = f.b.sitofp(f.i(divisor), self.element)
            return f.b.fdiv(total, f.splat(scalar, self.width))
        if form == "power" and self.pool.power == 2:
            return self._apply("sqrt", total)
        if form == "power" and self.pool.power != 1:
            return self._apply("pow", total, self._number(1 / self.pool.power))
        return total

    def _number(self, value: float) -> Value:
        number = float_constant(self.element, value) if self.dtype.is_float else int(value)
        return constant(vector(self.element, self.width), number)

    def _apply(self, name: str, *arguments: Value) -> Value:
        return self.primitives.apply(name, self.dtype, list(arguments))


def _no_check(condition: Value, status: int) -> None:
    raise BackendError("a pool that can fail")
