"""Winograd's minimal filtering F(m x m, 3 x 3): Y = A^T [(G w G^T) * (B^T d B)] A (A. Lavin, S. Gray, 2016).

For m = 4 the points are 0, +-a, +-b and infinity with a = sqrt(1/2), b = sqrt(2): since a * b = 1 the error is about a
fourth of that of the customary 1 and 2, and no more than that of the direct sum. For m = 2: 0, +-1 and infinity.
G has the powers of the points alone; what they are divided by stands in A^T, where it costs nothing.

With stride 2 and m = 2 the even inputs e meet the outer weights, the odd ones o the middle one, five multiplications
for six: y0 = (e0 - e1) w0 + e1 (w0 + w2) + o0 w1, y1 = e1 (w0 + w2) - (e1 - e2) w2 + o1 w1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ge_backend_cpu.contract.pack import panels
from ge_backend_cpu.contract.pieces import MOST, multiplied
from ge_backend_cpu.contract.tile import PANEL
from ge_backend_cpu.emit import FLOAT, Function, constant
from ge_backend_cpu.integers import Value
from ge_backend_cpu.kernel import recipe
from ge_backend_cpu.vmath.base import float_constant
from ge_core.ir.types import Layout, TensorType

_A, _B = math.sqrt(0.5), math.sqrt(2.0)
_NA, _NB = 2 * _A**2 * (_A**2 - _B**2), 2 * _B**2 * (_B**2 - _A**2)
"""The products of the differences between +-a, +-b and the other points."""


class Form:
    """One form.

    Attributes:
        outputs: m, outputs of a tile along each axis.
        stride: of the convolution, 1, or 2 where m is 2.
        points: inputs of a tile along each axis, as many as there are products.
    """

    def __init__(self, outputs: int, stride: int = 1) -> None:
        self.outputs, self.stride, self.points = outputs, stride, (outputs - 1) * stride + 3

    def matrices(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """B^T, G and A^T in float64."""
        rows: list[list[float]]
        columns: list[list[float]]
        if self.stride == 2:
            rows = [[1, 0, -1, 0, 0], [0, 0, 1, 0, 0], [0, 0, 1, 0, -1], [0, 1, 0, 0, 0], [0, 0, 0, 1, 0]]
            columns = [[1, 0, 0], [1, 0, 1], [0, 0, 1], [0, 1, 0], [0, 1, 0]]
            at = [[1.0, 1, 0, 1, 0], [0, 1, -1, 0, 1]]
            return np.array(rows, float), np.array(columns, float), np.array(at)
        if self.outputs == 2:
            rows = [[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, -1, 0, 1]]
            columns = [[1, 0, 0], [1, 1, 1], [1, -1, 1], [0, 0, 1]]
            at = [[1.0, 0.5, 0.5, 0], [0, 0.5, -0.5, 1]]
            return np.array(rows, float), np.array(columns, float), np.array(at)
        a, b, a2, b2 = _A, _B, _A * _A, _B * _B
        rows = [
            [a2 * b2, 0, -a2 - b2, 0, 1, 0],
            [0, -a * b2, -b2, a, 1, 0],
            [0, a * b2, -b2, -a, 1, 0],
            [0, -b * a2, -a2, b, 1, 0],
            [0, b * a2, -a2, -b, 1, 0],
            [0, a2 * b2, 0, -a2 - b2, 0, 1],
        ]
        columns = [[1, 0, 0], [1, a, a2], [1, -a, a2], [1, b, b2], [1, -b, b2], [0, 0, 1]]
        scaled = ((0.0, 1.0), (a, _NA), (-a, _NA), (b, _NB), (-b, _NB))
        at = [[x**i / n for x, n in scaled] + [float(i == 3)] for i in range(4)]
        return np.array(rows, float), np.array(columns, float), np.array(at, float)

    def input(self, f: Function, d: Sequence[Value]) -> list[Value]:
        """B^T d on vectors, by even and odd parts."""
        b = f.b
        if self.stride == 2:
            return [b.fsub(d[0], d[2]), d[2], b.fsub(d[2], d[4]), d[1], d[3]]
        if self.outputs == 2:
            return [b.fsub(d[0], d[2]), b.fadd(d[1], d[2]), b.fsub(d[2], d[1]), b.fsub(d[3], d[1])]
        even_a, odd_a = _mac(f, -_B * _B, d[2], d[4]), _mac(f, -_B * _B, d[1], d[3])
        even_b, odd_b = _mac(f, -_A * _A, d[2], d[4]), _mac(f, -_A * _A, d[1], d[3])
        middle = -_A * _A - _B * _B
        return [
            b.fadd(d[0], _mac(f, middle, d[2], d[4])),  # (a * b)^2 is 1
            _mac(f, _A, odd_a, even_a),
            _mac(f, -_A, odd_a, even_a),
            _mac(f, _B, odd_b, even_b),
            _mac(f, -_B, odd_b, even_b),
            b.fadd(d[1], _mac(f, middle, d[3], d[5])),
        ]

    def filter(self, f: Function, w: Sequence[Value]) -> list[Value]:
        """G w on vectors, by even and odd parts."""
        b = f.b
        if self.stride == 2:
            return [w[0], b.fadd(w[0], w[2]), w[2], w[1], w[1]]
        if self.outputs == 2:
            even = b.fadd(w[0], w[2])
            return [w[0], b.fadd(even, w[1]), b.fsub(even, w[1]), w[2]]
        even_a, even_b = _mac(f, _A * _A, w[2], w[0]), _mac(f, _B * _B, w[2], w[0])
        pairs = ((_A, even_a), (-_A, even_a), (_B, even_b), (-_B, even_b))
        return [w[0], *(_mac(f, x, w[1], even) for x, even in pairs), w[2]]

    def output(self, f: Function, y: Sequence[Value]) -> list[Value]:
        """A^T y on vectors."""
        b = f.b
        if self.stride == 2:
            return [b.fadd(b.fadd(y[0], y[1]), y[3]), b.fadd(b.fsub(y[1], y[2]), y[4])]
        if self.outputs == 2:
            return [_mac(f, 0.5, b.fadd(y[1], y[2]), y[0]), _mac(f, 0.5, b.fsub(y[1], y[2]), y[3])]
        s, t, u, v = b.fadd(y[1], y[2]), b.fsub(y[1], y[2]), b.fadd(y[3], y[4]), b.fsub(y[3], y[4])
        return [
            _mac(f, 1 / _NA, s, _mac(f, 1 / _NB, u, y[0])),
            _mac(f, _B / _NB, v, _times(f, _A / _NA, t)),
            _mac(f, _B**2 / _NB, u, _times(f, _A**2 / _NA, s)),
            _mac(f, _B**3 / _NB, v, _mac(f, _A**3 / _NA, t, y[5])),
        ]


def _number(value: float, like: Value) -> Any:
    return constant(like.type, float_constant(FLOAT, value))


def _mac(f: Function, c: float, x: Value, y: Value) -> Value:
    return f.fma(_number(c, x), x, y)


def _times(f: Function, c: float, x: Value) -> Value:
    return f.b.fmul(_number(c, x), x)


def transformed(weights: np.ndarray, form: Form) -> np.ndarray:
    """G w G^T of weights [o, i, 3, 3] as float32 [point, i, o]."""
    _, g, _ = form.matrices()
    out, channels = weights.shape[:2]
    taps = np.ascontiguousarray(weights.transpose(2, 3, 1, 0), np.float64).reshape(9, channels * out)
    both = np.kron(g, g)
    found = np.empty((len(both), channels * out), np.float32)
    columns = MOST // both.size
    for start in range(0, channels * out, columns):
        found[:, start : start + columns] = both @ taps[:, start : start + columns]
    return found.reshape(len(both), channels, out)


@recipe("contract.winograd_filters")
def filters(weights: np.ndarray, *, outputs: int, stride: int) -> np.ndarray:
    """Weights [o, i, 3, 3] as panels [point, panel, i, 16]."""
    found = transformed(weights, Form(outputs, stride))
    return panels(found, shape=found.shape)


def taps_layout(type: TensorType) -> Layout:
    """The panels of `taps`: output channels in blocks of 16."""
    return Layout((0, 1, 2, 3), ((0, PANEL),))


@recipe("contract.winograd_taps", layout=taps_layout)
def taps(weights: np.ndarray) -> np.ndarray:
    """Weights [o, i, 3, 3] as panels [panel, i, tap, 16], for kernels that transform them."""
    out, channels = weights.shape[:2]
    return panels(weights.reshape(out, channels * 9), shape=[out, channels * 9], transpose=True)


def sampled(weights: np.ndarray) -> np.ndarray:
    """Weights [o, i, 3, 3] of up to 16 output channels: what `error` looks at."""
    return np.ascontiguousarray(weights[:: max(len(weights) // 16, 1)][:16])


def error(chosen: np.ndarray, form: Form, late: bool = False) -> float:
    """The largest error of a layer's result against float64, relative to its largest element: on random tiles, for
    some output channels (see `sampled`), in float32 as the kernel computes.

    Args:
        late: the kernel transforms the weights too.
    """
    if not chosen.size:
        return 0.0
    _, g, at = (m.astype(np.float32) for m in form.matrices())
    v, runs = _random_tiles(chosen.shape[1], form.outputs, form.stride)
    u = transformed(chosen, form)
    if late:
        u = (g @ chosen.astype(np.float32) @ g.T).transpose(2, 3, 1, 0).reshape(u.shape)
    y = np.matmul(v, u).transpose(1, 2, 0)
    got = at @ y.reshape(_TILES, len(chosen), form.points, form.points) @ at.T
    want = multiplied(runs, chosen.astype(np.float64).reshape(len(chosen), -1).T)
    want = want.reshape(_TILES, form.outputs, form.outputs, len(chosen)).transpose(0, 3, 1, 2)
    scale = float(np.abs(want).max())
    return float(np.abs(got - want).max()) / scale if scale > 0 else float(np.abs(got).max())


_TILES = 8
"""Random ones."""


@lru_cache(maxsize=8)
def _random_tiles(channels: int, outputs: int, stride: int) -> tuple[np.ndarray, np.ndarray]:
    """Random tiles as the kernel transforms them, float32 [point, tile, channel], and as runs of the direct sums,
    float64 [tile and output, channel and tap]."""
    form = Form(outputs, stride)
    bt = form.matrices()[0].astype(np.float32)
    random = np.random.default_rng(0).standard_normal((_TILES, channels, form.points, form.points))
    d = random.astype(np.float32)
    v = (bt @ d @ bt.T).reshape(_TILES, channels, -1).transpose(2, 0, 1)
    windows = np.lib.stride_tricks.sliding_window_view(d.astype(np.float64), (3, 3), (2, 3))
    windows = windows[:, :, :: form.stride, :: form.stride]
    return np.ascontiguousarray(v), windows.transpose(0, 2, 3, 1, 4, 5).reshape(_TILES * outputs * outputs, -1)
