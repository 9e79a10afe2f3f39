"""Grids over element types, ranks 0 to 5 and sizes 0 and 1, thinned by a fixed seed."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np

from tests.frontends.mindspore.agreement import Sized, Variant
from tests.frontends.mindspore.variants.arrays import bools, ints, real

VARIANTS: list[Variant] = []

_SHAPES = ((), (3,), (1, 4), (2, 0), (2, 3, 1), (2, 1, 3, 2), (1, 2, 2, 1, 3))
_FLOATS = ("float16", "float32", "float64")
_INTEGERS = ("int8", "int16", "int32", "int64", "uint8")
_KEPT = 3
_chance = random.Random(11)


def _array(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    if dtype == "bool":
        return bools(*shape)
    if dtype in _INTEGERS:
        return ints(*shape, low=0 if dtype == "uint8" else -9, dtype=dtype)
    return real(*shape, dtype=dtype)


def _thinned(dtypes: tuple[str, ...], shapes: tuple[tuple[int, ...], ...]) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield from _chance.sample([(d, s) for d in dtypes for s in shapes], _KEPT)


def _unary(ops: str, dtypes: tuple[str, ...]) -> None:
    for op in ops.split():
        for dtype, shape in _thinned(dtypes, _SHAPES):
            VARIANTS.append(Variant(op, "", "x", (_array(dtype, shape),)))


def _binary(ops: str, dtypes: tuple[str, ...]) -> None:
    for op in ops.split():
        for dtype, shape in _thinned(dtypes, _SHAPES):
            VARIANTS.append(Variant(op, "", "x, y", (_array(dtype, shape), _array(dtype, shape[1:]))))


_unary("Abs Neg Square", _FLOATS + _INTEGERS[:4])
_unary("Exp Sin Tanh Sigmoid", _FLOATS[1:])
for _op in ("ZerosLike", "OnesLike"):  # of known sizes MindSpore makes constants
    for _dtype, _shape in _thinned((*_FLOATS, *_INTEGERS), _SHAPES[1:]):
        VARIANTS.append(Variant(_op, "", "x", (Sized(_array(_dtype, _shape)),)))
_unary("Identity", (*_FLOATS, *_INTEGERS))
_binary("Add Sub Mul", _FLOATS + _INTEGERS)
_binary("Maximum Minimum", _FLOATS + _INTEGERS[2:4])
_binary("Equal Greater LessEqual", _FLOATS + _INTEGERS)
for _dtype, _shape in _thinned((*_FLOATS, *_INTEGERS, "bool"), _SHAPES[2:]):
    VARIANTS.append(Variant("Reshape", "", "x, (-1,)" if 0 not in _shape else "x, (0, 7)", (_array(_dtype, _shape),)))
for _dtype, _shape in _thinned((*_FLOATS, *_INTEGERS), _SHAPES[1:]):
    _axis = _chance.randrange(-len(_shape), len(_shape))
    VARIANTS.append(Variant("ExpandDims", "", f"x, {_axis}", (_array(_dtype, _shape),)))
for _dtype, _shape in _thinned((*_FLOATS, *_INTEGERS, "bool"), tuple(s for s in _SHAPES[2:] if 0 not in s)):
    _order = [len(_shape) - 1, *_chance.sample(range(len(_shape) - 1), len(_shape) - 1)]
    VARIANTS.append(Variant("Transpose", "", f"x, {(*_order,)}", (_array(_dtype, _shape),)))
for _op in ("ReduceSum", "ReduceMax", "ReduceMean"):
    for _dtype, _shape in _thinned(_FLOATS[1:], tuple(s for s in _SHAPES[1:] if 0 not in s)):
        _axis = _chance.randrange(-len(_shape), len(_shape))
        VARIANTS.append(Variant(_op, str(bool(_chance.randrange(2))), f"x, {_axis}", (_array(_dtype, _shape),)))
for _dtype, _shape in _thinned(_FLOATS[:2], tuple(s for s in _SHAPES[1:] if 0 not in s)):
    VARIANTS.append(
        Variant("Softmax", str(_chance.randrange(-len(_shape), len(_shape))), "x", (_array(_dtype, _shape),))
    )
for _dtype, _shape in _thinned((*_FLOATS, *_INTEGERS), tuple(s for s in _SHAPES[1:] if 0 not in s)):
    _axis = _chance.randrange(-len(_shape), len(_shape))
    VARIANTS.append(Variant("Concat", str(_axis), "(x, y)", (_array(_dtype, _shape), _array(_dtype, _shape))))
