"""Support vector machines of ai.onnx.ml: one product with all vectors, and one with what they weigh."""

from __future__ import annotations

import numpy as np

from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import Call
from ..registry import Results, converts
from .class_scores import labels_of, matrix, transformed

_FLOAT32 = DType.of("float32")


@converts("SVMRegressor", domain="ai.onnx.ml")
def svm_regressor(c: Call) -> Results:
    """SVMRegressor(T X) -> (float Y); coefficients, kernel_params, kernel_type, n_supports, one_class,
    post_transform, rho, support_vectors
    """
    if c.attr("post_transform", "NONE") != "NONE":
        raise c.unsupported(f"the post transform {c.attr('post_transform')} of a single result")
    b, x = c.b, c.cast(matrix(c, c.input(0)), _FLOAT32)
    weights, count = _floats(c, "coefficients"), int(c.attr("n_supports", 0))
    if count:
        x = _kernels(c, x, _vectors(c, count))
        if len(weights) != count:
            raise c.error(f"has {len(weights)} coefficients for {count} vectors")
    y = b.Add(b.MatMul(x, b.constant(weights[:, None])), b.constant(_floats(c, "rho")[:1]))
    if not c.attr("one_class", 0):
        return y
    return b.Where(b.Greater(y, 0.0), c.scalar(1, y.dtype), c.scalar(-1, y.dtype))


@converts("SVMClassifier", domain="ai.onnx.ml")
def svm_classifier(c: Call) -> Results:
    """SVMClassifier(T1 X) -> (T2 Y, float Z); classlabels_*, coefficients, kernel_*, post_transform, prob_*, rho,
    support_vectors, vectors_per_class

    A score for each pair of classes; the class with the most pairs wins, the first of equal ones. Probabilities from
    pairs, which are found by iteration, are refused.
    """
    b, labels, post = c.b, labels_of(c, "classlabels_ints"), c.attr("post_transform", "NONE")
    if c.attr("prob_a") or c.attr("prob_b"):
        raise c.unsupported("probabilities of classes", "export the model with its scores")
    sizes = np.array(c.attr("vectors_per_class") or (), np.int64)
    if not len(sizes) or labels is None or len(labels) != len(sizes) or len(labels) < 2 or (sizes < 0).any():
        raise c.unsupported("a model without support vectors of each class", "export it as a LinearClassifier")
    x = _kernels(c, c.cast(matrix(c, c.input(0)), _FLOAT32), _vectors(c, int(sizes.sum())))
    weights, first, second = _pairs(c, sizes)
    rho = _floats(c, "rho")
    if len(rho) != len(first):
        raise c.error(f"has {len(rho)} rho for {len(first)} pairs of classes")
    scores = b.Add(b.MatMul(x, b.constant(weights)), b.constant(rho))
    label = None
    if c.wants(0):
        won = b.Cast(b.Greater(scores, 0.0), to="float32")
        table = (np.eye(len(sizes), dtype=np.float32)[side] for side in (first, second))
        votes = b.Add(*(b.MatMul(w, b.constant(t)) for w, t in zip((won, b.Sub(1.0, won)), table, strict=True)))
        label = b.Gather(b.constant(labels), b.ArgMax(votes, axis=1, keepdims=0))
    if len(first) > 1:
        return [label, transformed(c, scores, post)]
    if post not in ("NONE", "LOGISTIC"):
        raise c.unsupported(f"the post transform {post} of one score for two classes")
    return [label, transformed(c, b.Concat([b.Neg(scores), scores], axis=1), post)]


def _floats(c: Call, name: str) -> np.ndarray:
    return np.array(c.needed(name), np.float32)


def _vectors(c: Call, count: int) -> np.ndarray:
    """`[count, features]`."""
    found = _floats(c, "support_vectors")
    if count < 1 or not len(found) or len(found) % count:
        raise c.error(f"has {len(found)} numbers for {count} support vectors")
    return found.reshape(count, -1)


def _pairs(c: Call, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`[vectors, pairs]`, what each vector weighs in the score of each pair of classes; and the pairs."""
    total, count = int(sizes.sum()), len(sizes)
    given = _floats(c, "coefficients")
    if len(given) != (count - 1) * total:
        raise c.error(f"has {len(given)} coefficients", expected=f"{count - 1} times {total}")
    rows, start = given.reshape(count - 1, total), np.concatenate([[0], np.cumsum(sizes)])
    first, second = np.triu_indices(count, 1)
    weights = np.zeros((total, len(first)), np.float32)
    for pair, (i, j) in enumerate(zip(first, second, strict=True)):
        for of, other in ((i, j - 1), (j, i)):
            place = slice(start[of], start[of + 1])
            weights[place, pair] = rows[other, place]
    return weights, first, second


def _kernels(c: Call, x: Value, vectors: np.ndarray) -> Value:
    """`[rows, vectors]`: the kernel of each row and support vector."""
    b, kind = c.b, c.attr("kernel_type", "LINEAR")
    given = tuple(c.attr("kernel_params") or ())
    if given and len(given) != 3:
        raise c.error(f"has {len(given)} kernel_params", expected="gamma, coef0 and degree")
    gamma, offset, degree = given or (0.0, 0.0, 0.0)
    product: Value = b.MatMul(x, b.constant(np.ascontiguousarray(vectors.T)))
    if kind == "LINEAR":
        return product
    if kind == "RBF":
        lengths = b.Add(b.ReduceSumSquare(x, b.ints(1)), b.constant((vectors**2).sum(axis=1)))
        squares = b.Max(b.Sub(lengths, b.Mul(product, 2.0)), 0.0)
        distance: Value = b.Exp(b.Mul(squares, -gamma))
        return distance
    scaled = b.Add(b.Mul(product, gamma), offset)
    if kind == "POLY":
        return b.Pow(scaled, c.scalar(int(degree), scaled.dtype))
    if kind == "SIGMOID":
        return b.Tanh(scaled)
    raise c.error(f"has the kernel {kind!r}", expected="LINEAR, POLY, RBF or SIGMOID")
