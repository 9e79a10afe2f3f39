"""Gemm and Einsum as matrix products."""

from __future__ import annotations

from collections.abc import Sequence

from ge_core.ir import dims
from ge_core.ir.builder import Builder
from ge_core.ir.dims import Size
from ge_core.ir.graph import Node, Value
from ge_core.ops.decompositions.precision import cast, operand, widened
from ge_core.ops.einsum import parse_equation
from ge_core.ops.registry import decomposition
from ge_core.ops.schema import schema

Labels = tuple[str, ...]


@decomposition("Gemm")
def gemm(b: Builder, node: Node) -> Sequence[Value]:
    """alpha * A @ B + beta * C"""
    factors = {n: node.attrs.get(n, schema("Gemm").attributes[n].default) for n in ("alpha", "beta")}
    sides = [widened(b, operand(node.inputs, i)) for i in (0, 1)]
    sides = [
        b.Transpose(v, perm=[1, 0]) if node.attrs.get(f"trans{n}", 0) else v for n, v in zip("AB", sides, strict=True)
    ]
    y = b.MatMul(*sides)
    if factors["alpha"] != 1:
        y = _scaled(b, y, factors["alpha"])
    added = node.input(2)
    if added is not None and factors["beta"] != 0:
        added = widened(b, added)
        y = b.Add(y, added if factors["beta"] == 1 else _scaled(b, added, factors["beta"]))
    return [cast(b, y, node.output.dtype)]


def _scaled(b: Builder, x: Value, factor: object) -> Value:
    """x * factor; integers with a fraction through float64, truncated as the kernel does."""
    assert isinstance(factor, (int, float))
    if x.dtype.is_float or float(factor).is_integer():
        made: Value = b.Mul(x, b.constant(factor, x.dtype))
        return made
    return cast(b, b.Mul(b.Cast(x, to="float64"), factor), x.dtype)


@decomposition("Einsum")
def einsum(b: Builder, node: Node) -> Sequence[Value]:
    """Operands from left to right, each pair as one batched product."""
    operands = [widened(b, v) for v in node.inputs if v is not None]
    equation = parse_equation(str(node.attrs["equation"]), [v.rank for v in operands])
    labels, x = _diagonal(b, equation.operands[0], operands[0])
    for i, other in enumerate(operands[1:], 1):
        needed = set(equation.result).union(*equation.operands[i + 1 :])
        labels, x = _contract(b, labels, x, *_diagonal(b, equation.operands[i], other), needed)
    labels, x = _summed(b, labels, x, set(equation.result))
    order = [labels.index(label) for label in equation.result]
    if order != sorted(order):
        x = b.Transpose(x, perm=order)
    return [cast(b, x, node.output.dtype)]


def _diagonal(b: Builder, labels: Labels, x: Value) -> tuple[Labels, Value]:
    """Axes with the same label become their diagonal, two at a time: index i * n + i of the two as one axis."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            rest = [i for i in range(len(labels)) if i not in (first, second)]
            size = x.shape[first] if x.shape[first] != 1 else x.shape[second]
            shape = list(x.shape)
            shape[first] = shape[second] = size
            x = b.Transpose(b.Expand(x, b.ints(shape)), perm=[*rest, first, second])
            kept = [shape[i] for i in rest]
            x = b.Reshape(x, b.ints(*kept, size * size))
            places = b.Range(b.scalar(0), b.scalar(size * size), b.scalar(size + 1))
            x = b.Gather(x, places, axis=len(rest))
            labels = (*(labels[i] for i in rest), label)
    return labels, x


def _summed(b: Builder, labels: Labels, x: Value, needed: set[str]) -> tuple[Labels, Value]:
    gone = [i for i, label in enumerate(labels) if label not in needed]
    if not gone:
        return labels, x
    return tuple(label for label in labels if label in needed), b.ReduceSum(x, b.ints(gone), keepdims=0)


def _contract(
    b: Builder, a_labels: Labels, x: Value, b_labels: Labels, y: Value, needed: set[str]
) -> tuple[Labels, Value]:
    a_labels, x = _summed(b, a_labels, x, needed | set(b_labels))
    b_labels, y = _summed(b, b_labels, y, needed | set(a_labels))
    shared = [label for label in a_labels if label in b_labels]
    batch = [label for label in shared if label in needed]
    inner = [label for label in shared if label not in needed]
    rows = [label for label in a_labels if label not in b_labels]
    columns = [label for label in b_labels if label not in a_labels]
    a_sizes, b_sizes = dict(zip(a_labels, x.shape, strict=True)), dict(zip(b_labels, y.shape, strict=True))
    sizes = a_sizes | b_sizes
    sizes |= {label: b_sizes[label] if a_sizes[label] == 1 else a_sizes[label] for label in shared}
    left = _arranged(b, a_labels, x, [batch, rows, inner], sizes)
    right = _arranged(b, b_labels, y, [batch, inner, columns], sizes)
    out = (*batch, *rows, *columns)
    return out, b.Reshape(b.MatMul(left, right), b.ints([sizes[label] for label in out]))


def _arranged(b: Builder, labels: Labels, x: Value, groups: Sequence[Sequence[str]], sizes: dict[str, Size]) -> Value:
    """The operand with its axes in the order of the groups, each group as one axis; sizes of 1 are expanded."""
    order = [label for group in groups for label in group]
    perm = [labels.index(label) for label in order]
    if perm != sorted(perm):
        x = b.Transpose(x, perm=perm)
    if any(x.shape[i] == 1 and sizes[label] != 1 for i, label in enumerate(order)):
        x = b.Expand(x, b.ints([sizes[label] for label in order]))
    made: Value = b.Reshape(x, b.ints([dims.product(sizes[label] for label in group) for group in groups]))
    return made
