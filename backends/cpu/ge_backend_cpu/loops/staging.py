"""Tiles of transposed operands: brought into a local buffer row by row, through square transposes in registers.

Reading along the vector axis would touch a cache line per element; a tile reads whole lines of the operand, and what
computes with it then reads rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ge_backend_cpu import convert
from ge_backend_cpu import llvm_ir as ir
from ge_backend_cpu.emit import I32, Function, constant, mangled, vector
from ge_backend_cpu.integers import Int, Value
from ge_core.ir.dtype import DType

LINE = 64
"""Bytes of the operand's lines that are read whole."""
COLUMNS = 64
"""Places of the vector axis in a tile."""


def height(dtype: DType) -> int:
    """Rows of a tile: one cache line of the operand."""
    return LINE * 8 // dtype.bits


def load_tile(
    f: Function, source: Value, start: Int, step: Int, rows: Int, columns: Int, target: Value, dtype: DType
) -> None:
    """target[r, c] = source[start + r + c * step] for r < rows and c < columns; rows of `COLUMNS` elements.

    The target has `height(dtype)` rows; what lies beyond rows and columns is left with any values.
    """
    side = min(f.lanes * 4 * 8 // dtype.bits, 16)
    raw = vector(convert.stored_type(dtype), side)
    last = f.sub(columns, 1)
    with f.loop(0, columns, side) as across:
        places = [f.minimum(f.add(across.index, k), last) for k in range(side)]
        firsts = [f.add(start, f.mul(place, step)) for place in places]
        with f.loop(0, rows, side) as down:
            left = f.sub(rows, down.index)
            lines = f.choose(
                f.lt(left, side),
                lambda firsts=firsts, down=down, left=left: [  # type: ignore[misc]
                    _part(f, f.at(source, f.add(first, down.index), dtype), raw, left, dtype) for first in firsts
                ],
                lambda firsts=firsts, down=down: [  # type: ignore[misc]
                    f.b.load(f.at(source, f.add(first, down.index), dtype), typ=raw, align=dtype.bits // 8)
                    for first in firsts
                ],
            )
            for k, line in enumerate(transposed(f, lines)):
                at = f.add(f.mul(f.add(down.index, k), COLUMNS), across.index)
                f.b.store(line, f.at(target, at, dtype), align=dtype.bits // 8)


def _part(f: Function, pointer: Value, raw: Any, count: Int, dtype: DType) -> Value:
    """The first `count` elements, zeros in the other lanes."""
    name = f"llvm.masked.load.{mangled(raw)}.p0"
    arguments = [pointer, ir.Constant(I32, dtype.bits // 8), f.first_lanes(count, raw.count), constant(raw, 0)]
    return f.b.call(f.module.declared(name, raw, [a.type for a in arguments]), arguments)


def transposed(f: Function, lines: Sequence[Value]) -> list[Value]:
    """The columns of a square of vectors: rounds that exchange halves, quarters, ... of pairs of lines."""
    count = len(lines)
    found = list(lines)
    distance = count // 2
    while distance:
        picks = [[], []]  # type: list[list[int]]
        for k in range(count):
            high = bool(k & distance)
            picks[0].append(k if not high else k - distance + count)
            picks[1].append(k + distance if not high else k + count)
        for k in range(count):
            if not k & distance:
                a, b = found[k], found[k + distance]
                found[k], found[k + distance] = f.shuffle(a, b, picks[0]), f.shuffle(a, b, picks[1])
        distance //= 2
    return found
