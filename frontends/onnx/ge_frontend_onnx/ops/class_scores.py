"""Scores of ai.onnx.ml: their transforms, and the label that they choose."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import Call

_FLOAT32, _FLOAT64 = DType.of("float32"), DType.of("float64")
_NEARLY_ZERO = 1e-7
_WINITZKI = 0.147


def matrix(c: Call, x: Value) -> Value:
    """Rows of features as floats; a vector is one row.

    Raises:
        ModelImportError: it has more than two axes.
    """
    if c.rank(x) == 1:
        x = c.unsqueeze(x, 0)
    if c.rank(x) != 2:
        raise c.error(f"needs a matrix, got {x.type}")
    return x if x.dtype in (_FLOAT32, _FLOAT64) else c.cast(x, _FLOAT32)


def labels_of(c: Call, numbers: str) -> np.ndarray | None:
    """The labels of the classes; None when the model gives none.

    Raises:
        UnsupportedError: they are strings, and the model uses them.
    """
    given = c.attr(numbers)
    if given:
        return np.array(given, np.int64)
    names: Sequence[object] = c.attr("classlabels_strings") or ()
    if names and c.wants(0):
        raise c.unsupported("labels that are strings", "use the scores alone, or classes with numbers")
    return np.arange(len(names), dtype=np.int64) if names else None


def best(c: Call, scores: Value, labels: np.ndarray) -> Value:
    """The label of each row's largest score, the first of equal ones."""
    found: Value = c.b.Gather(c.b.constant(labels), c.b.ArgMax(scores, axis=1, keepdims=0))
    return found


def either(c: Call, holds: Value, labels: np.ndarray) -> Value:
    """The second of two labels where a column holds, else the first."""
    numbers = (c.b.constant(np.int64(label)) for label in reversed(labels))
    found: Value = c.b.Where(c.reshape(holds, (-1,)), *numbers)
    return found


def transformed(c: Call, scores: Value, kind: str) -> Value:
    """Scores `[rows, classes]` after a post transform.

    Raises:
        ModelImportError: there is no such transform.
    """
    b = c.b
    if kind == "NONE":
        return scores
    if kind == "LOGISTIC":
        return b.Sigmoid(scores)
    if kind == "SOFTMAX":
        return b.Softmax(scores, axis=1)
    if kind == "SOFTMAX_ZERO":
        return _softmax_zero(c, scores)
    if kind == "PROBIT":
        return _probit(c, scores)
    raise c.error(f"has the post transform {kind!r}")


def _softmax_zero(c: Call, scores: Value) -> Value:
    """A softmax in which scores of nothing stay nothing."""
    b = c.b
    top = b.ReduceMax(scores, b.ints(1))
    some = b.Greater(b.Abs(scores), c.scalar(_NEARLY_ZERO, scores.dtype))
    parts = b.Where(some, b.Exp(b.Sub(scores, top)), b.Mul(scores, b.Exp(b.Neg(top))))
    total = b.ReduceSum(parts, b.ints(1))
    shares: Value = b.Where(b.Equal(total, 0.0), 0.5, b.Div(parts, total))
    return shares


def _probit(c: Call, scores: Value) -> Value:
    """The quantile of the normal distribution, by Winitzki's approximation of the inverse error function."""
    b = c.b
    x = b.Sub(b.Mul(scores, 2.0), 1.0)
    log = b.Log(b.Mul(b.Sub(1.0, x), b.Add(1.0, x)))
    half = b.Add(b.Mul(log, 0.5), 2.0 / (math.pi * _WINITZKI))
    root = b.Sqrt(b.Sub(b.Sqrt(b.Sub(b.Mul(half, half), b.Mul(log, 1.0 / _WINITZKI))), half))
    found: Value = b.Mul(
        b.Mul(b.Where(b.Less(x, 0.0), c.scalar(-1, x.dtype), c.scalar(1, x.dtype)), root), math.sqrt(2.0)
    )
    return found
