"""Reference kernel of Einsum: operands are contracted from left to right, each pair as one batched BLAS product."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce

import numpy as np

from ge_core.ops.einsum import parse_equation
from ge_core.ops.registry import kernel
from ge_core.reference.call import Call
from ge_core.reference.matmul import product
from ge_core.reference.precision import narrow, widen

Labels = tuple[str, ...]


@kernel("Einsum")
def einsum(call: Call, *operands: np.ndarray) -> np.ndarray:
    equation = parse_equation(call.attr("equation"), [x.ndim for x in operands])
    labels, x = _diagonal(equation.operands[0], widen(operands[0]))
    for i, operand in enumerate(operands[1:], 1):
        needed = set(equation.result).union(*equation.operands[i + 1 :])
        labels, x = _contract(labels, x, *_diagonal(equation.operands[i], widen(operand)), needed)
    labels, x = _summed(labels, x, set(equation.result))
    x = x.transpose([labels.index(label) for label in equation.result])
    return narrow(x, call.dtype())


def _diagonal(labels: Labels, x: np.ndarray) -> tuple[Labels, np.ndarray]:
    """Each label once: axes with the same label become their diagonal."""
    unique = tuple(dict.fromkeys(labels))
    if len(unique) == len(labels):
        return labels, x
    axes = [[i for i, other in enumerate(labels) if other == label] for label in unique]
    shape = [reduce(_joint, (x.shape[i] for i in group)) for group in axes]
    strides = [sum(x.strides[i] for i in group if x.shape[i] != 1) for group in axes]
    return unique, np.lib.stride_tricks.as_strided(x, shape, strides, writeable=False)


def _joint(a: int, b: int) -> int:
    """The size of two axes with one label: equal, or one of them 1."""
    if a != b and 1 not in (a, b):
        raise ValueError(f"sizes {a} and {b} have the same letter")
    return a if b == 1 else b


def _summed(labels: Labels, x: np.ndarray, needed: set[str]) -> tuple[Labels, np.ndarray]:
    """Axes that nothing needs any more are added up."""
    gone = tuple(i for i, label in enumerate(labels) if label not in needed)
    if not gone:
        return labels, x
    kept = tuple(label for label in labels if label in needed)
    return kept, x.sum(axis=gone, dtype=x.dtype)


def _contract(
    a_labels: Labels, a: np.ndarray, b_labels: Labels, b: np.ndarray, needed: set[str]
) -> tuple[Labels, np.ndarray]:
    """The product of two operands, summed over the labels that are in both and not needed later."""
    a_labels, a = _summed(a_labels, a, needed | set(b_labels))
    b_labels, b = _summed(b_labels, b, needed | set(a_labels))
    shared = [label for label in a_labels if label in b_labels]
    batch = [label for label in shared if label in needed]
    inner = [label for label in shared if label not in needed]
    rows = [label for label in a_labels if label not in b_labels]
    columns = [label for label in b_labels if label not in a_labels]
    a_sizes, b_sizes = dict(zip(a_labels, a.shape, strict=True)), dict(zip(b_labels, b.shape, strict=True))
    sizes = a_sizes | b_sizes | {label: _joint(a_sizes[label], b_sizes[label]) for label in shared}
    left = _arranged(a_labels, a, [batch, rows, inner], sizes)
    right = _arranged(b_labels, b, [batch, inner, columns], sizes)
    out = (*batch, *rows, *columns)
    return out, product(left, right).reshape([sizes[label] for label in out])


def _arranged(labels: Labels, x: np.ndarray, groups: Sequence[Sequence[str]], sizes: dict[str, int]) -> np.ndarray:
    """The operand with its axes in the order of the groups, each group as one axis; sizes of 1 are broadcast."""
    order = [label for group in groups for label in group]
    x = x.transpose([labels.index(label) for label in order])
    x = np.broadcast_to(x, [sizes[label] for label in order])
    return x.reshape([math.prod(sizes[label] for label in group) for group in groups])
