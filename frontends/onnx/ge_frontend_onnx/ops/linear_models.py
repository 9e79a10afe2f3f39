"""Scaler, Normalizer and the linear models of ai.onnx.ml."""

from __future__ import annotations

import numpy as np

from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import Call
from ..registry import Results, converts
from .class_scores import best, either, labels_of, matrix, transformed

_FLOAT32 = DType.of("float32")
_REDUCTIONS = {"MAX": "ReduceMax", "L1": "ReduceL1", "L2": "ReduceL2"}


@converts("Scaler", domain="ai.onnx.ml")
def scaler(c: Call) -> Results:
    """Scaler(T X) -> (float Y); offset, scale: (X - offset) * scale, for each column or for all"""
    b, x = c.b, c.cast(c.input(0), _FLOAT32)
    offset, scale = (b.constant(np.array(c.attr(name) or (0.0,), np.float32)) for name in ("offset", "scale"))
    return b.Mul(b.Sub(x, offset), scale)


@converts("Normalizer", domain="ai.onnx.ml")
def normalizer(c: Call) -> Results:
    """Normalizer(T X) -> (float Y); norm: each row divided by its largest element, its L1 or L2 norm; a row whose
    norm is 0 stays
    """
    b, x, norm = c.b, c.cast(c.input(0), _FLOAT32), c.attr("norm", "MAX")
    if norm not in _REDUCTIONS:
        raise c.error(f"has the norm {norm!r}", expected=", ".join(_REDUCTIONS))
    if c.rank(x) not in (1, 2):
        raise c.error(f"needs a vector or matrix, got {x.type}")
    size = b.op(_REDUCTIONS[norm], x, b.ints(-1))
    return b.Where(b.Equal(size, 0.0), x, b.Div(x, size))


@converts("LinearRegressor", domain="ai.onnx.ml")
def linear_regressor(c: Call) -> Results:
    """LinearRegressor(T X) -> (float Y); coefficients, intercepts, post_transform, targets"""
    targets = int(c.attr("targets", 1))
    y = _product(c, c.cast(matrix(c, c.input(0)), _FLOAT32), targets)
    post = c.attr("post_transform", "NONE")
    if post != "NONE" and targets == 1:
        raise c.unsupported(f"the post transform {post} of a single result")
    return transformed(c, y, post)


@converts("LinearClassifier", domain="ai.onnx.ml")
def linear_classifier(c: Call) -> Results:
    """LinearClassifier(T1 X) -> (T2 Y, float Z); classlabels_*, coefficients, intercepts, multi_class, post_transform

    With two classes and one score, the score decides by its sign.
    """
    b, labels, post = c.b, labels_of(c, "classlabels_ints"), c.attr("post_transform", "NONE")
    count = len(c.attr("intercepts") or ()) or (1 if labels is None else len(labels))
    scores = _product(c, c.cast(matrix(c, c.input(0)), _FLOAT32), count)
    if count > 1:
        chosen = np.arange(count, dtype=np.int64) if labels is None else labels
        if len(chosen) != count:
            raise c.error(f"has {len(chosen)} classes and {count} scores")
        return [best(c, scores, chosen) if c.wants(0) else None, transformed(c, scores, post)]
    if labels is None or len(labels) != 2 or post not in ("NONE", "LOGISTIC"):
        raise c.unsupported(
            f"one score for {0 if labels is None else len(labels)} classes, transformed by {post},",
            "export the model with a score for each class",
        )
    label = either(c, b.Greater(scores, 0.0), labels) if c.wants(0) else None
    if post == "LOGISTIC":
        return [label, b.Sigmoid(b.Concat([b.Neg(scores), scores], axis=1))]
    return [label, b.Concat([b.Sub(1.0, scores), scores], axis=1)]


def _product(c: Call, x: Value, count: int) -> Value:
    """`[rows, count]`: the rows times the coefficients, plus the intercepts."""
    weights = np.array(c.needed("coefficients"), np.float32)
    features = x.shape[1]
    if len(weights) % max(count, 1) or (isinstance(features, int) and len(weights) != count * features):
        raise c.error(f"has {len(weights)} coefficients", expected=f"{count} times {features}")
    y: Value = c.b.MatMul(x, c.b.constant(np.ascontiguousarray(weights.reshape(count, -1).T)))
    added = c.attr("intercepts")
    if not added:
        return y
    if len(added) != count:
        raise c.error(f"has {len(added)} intercepts", expected=str(count))
    return c.b.Add(y, c.b.constant(np.array(added, np.float32)))
