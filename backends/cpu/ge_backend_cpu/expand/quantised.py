"""Products and convolutions of quantised operands on integers, and weights that are dequantised once, at build.

With x = sx (qx - zx) and w = sw (qw - zw), where sw and zw may differ from column to column,
x @ w = sx sw ((qx - zx) @ (qw - zw)): an integer product, exact, and one factor for each column. The padding of a
convolution is qx = zx. Convolutions that minimal filtering serves better stay in float32.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ge_backend_cpu.contract.quads import fits
from ge_backend_cpu.contract.quantising import is_quantising
from ge_backend_cpu.contract.windows import NodeAttributes, windows_of
from ge_backend_cpu.expand.integer import MOST_TERMS, WINDOW_ATTRIBUTES
from ge_backend_cpu.expand.select import operand
from ge_backend_cpu.loops.reading import attribute
from ge_backend_cpu.ops.conv_integer import suits
from ge_backend_cpu.ops.depthwise import MOST_TAPS, SHORT_TERMS
from ge_core.ir import dims
from ge_core.ir.builder import Builder
from ge_core.ir.dtype import float32
from ge_core.ir.graph import Graph, Node, Value, constant_of
from ge_core.ir.traverse import walk
from ge_core.ir.types import TensorType
from ge_core.passes.base import Pass, PassContext
from ge_core.reference.call import run_kernel

MOST_ELEMENTS = 1 << 24
"""Weights of a product up to which they are kept in float32: more would take too much memory."""
_PRODUCTS = frozenset({"MatMul", "Gemm"})
_WEIGHTED = frozenset({"Conv", "ConvTranspose", *_PRODUCTS})


@dataclass(frozen=True)
class IntegerProducts(Pass):
    """Products where the switch "fusion" is on, weights where "fold" is.

    Enters regions. Sums of integers are exact, so that results may differ in the last places.

    Attributes:
        dots: whether the target has dot products of bytes: with them integers serve every convolution better.
    """

    dots: bool = False

    def run(self, graph: Graph, ctx: PassContext) -> bool:
        changed = False
        for node in list(walk(graph)):
            if node.op not in _WEIGHTED or node.block is None:
                continue
            fits = "fusion" in ctx.switches and (
                (node.op in _PRODUCTS and _fits(node))
                or (node.op == "Conv" and self._fits_windows(node, ctx.precision))
            )
            if fits and ctx.allow("integer-product", node):
                (_rewrite_windows if node.op == "Conv" else _rewrite)(node)
                changed = True
            elif not fits and "fold" in ctx.switches:
                changed |= _fold_weights(node, ctx)
        if "fusion" in ctx.switches:
            for node in list(walk(graph)):
                changed |= node.op == "DequantizeLinear" and _move_up(node)
        return changed

    def _fits_windows(self, node: Node, precision: str) -> bool:
        """Whether a convolution is one of quantised operands that the integer kernel takes, and serves better."""
        x, w = _quantised(node.input(0)), _quantised(node.input(1), 0)
        if x is None or w is None or node.output.dtype != float32:
            return False
        weights, points = constant_of(w.q), constant_of(w.zero)
        if weights is None or (w.zero is not None and points is None):
            return False
        group = int(NodeAttributes(node).attr("group"))
        terms = dims.product(w.q.shape[1:])
        if not isinstance(terms, int) or terms > MOST_TERMS:
            return False
        if group > 1 and w.q.shape[:2] == (group, 1):
            taps = w.q.shape[-1]
            known = x.zero is None or constant_of(x.zero) is not None
            return known and terms <= SHORT_TERMS and isinstance(taps, int) and taps <= MOST_TAPS
        if not suits(group, w.q.shape[0]):
            return False
        if precision == "accuracy" or (self.dots and fits(weights, points)):
            return True
        windows = windows_of(node, w.q.shape[2:], x.q.shape[2:])
        return not (group == 1 and windows.kernel == (3, 3) and windows.strides == windows.dilations == (1, 1))


def _move_up(node: Node) -> bool:
    """Let a node stand right behind what makes its operand: groups take the latest operand of a sum first, which
    should be the one that a product has just made."""
    if not is_quantising(node) or node.block is None:
        return False
    q = node.input(0)
    producer = None if q is None else q.producer
    if q is None or (producer.block if producer is not None else q.owner) is not node.block:
        return False
    before = node.prev
    while before is not None and before.op == "DequantizeLinear":
        before = before.prev
    if before is producer or any(v is not None and v.producer is not None for v in node.inputs[1:]):
        return False
    nodes = node.block.nodes
    nodes.unlink(node)
    if producer is None:
        nodes.insert_before(next(iter(nodes)), node)
    else:
        nodes.insert_after(producer, node)
    return True


@dataclass(frozen=True)
class _Quantised:
    """scale (q - zero) of 8-bit integers."""

    q: Value
    scale: Value
    zero: Value | None


def _quantised(value: Value | None, axis: int | None = None) -> _Quantised | None:
    """The quantised form of an operand: one scale for all, or one for each place of the axis."""
    node = None if value is None else value.producer
    if node is None or node.op != "DequantizeLinear" or node.output.dtype != float32:
        return None
    q, scale, zero = operand(node, 0), operand(node, 1), node.input(2)
    if q.dtype.bits != 8 or not q.dtype.is_integer or attribute(node, "block_size") or scale.dtype != float32:
        return None
    single = dims.product(scale.shape) == 1
    rank = max(q.rank, 1)
    along = axis is not None and scale.rank == 1 and int(attribute(node, "axis")) % rank == axis % rank
    return _Quantised(q, scale, zero) if single or along else None


def _right(node: Node) -> tuple[_Quantised | None, bool]:
    """The quantised right operand of a product, and whether it is stored by columns; a transpose is seen through."""
    value = node.input(1)
    rows = node.op == "Gemm" and bool(node.attrs.get("transB", 0))
    source = None if value is None else value.producer
    if source is not None and source.op == "Transpose" and len(source.output.tensor.shape or ()) == 2:
        perm = source.attrs.get("perm")
        if perm is None or tuple(perm) == (1, 0):  # type: ignore[arg-type]
            value, rows = source.input(0), not rows
    return _quantised(value, 0 if rows else -1), rows


def _fits(node: Node) -> bool:
    """Whether a product is one of quantised operands that the integer kernel takes."""
    x, (w, rows) = _quantised(node.input(0)), _right(node)
    if x is None or w is None or w.q.rank != 2 or x.q.rank < 2 or node.output.dtype != float32:
        return False
    terms = w.q.shape[1 if rows else 0]
    if not isinstance(terms, int) or terms > MOST_TERMS or (rows and constant_of(w.q) is None):
        return False
    plain = {"alpha": 1.0, "beta": 1.0, "transA": 0}
    return node.op == "MatMul" or all(node.attrs.get(name, wanted) == wanted for name, wanted in plain.items())


def _rewrite(node: Node) -> None:
    x, (w, rows) = _quantised(node.input(0)), _right(node)
    assert x is not None and w is not None and node.block is not None
    b = Builder(node.block, node, node.loc)
    weights = constant_of(w.q)
    if rows and weights is not None:
        w = replace(w, q=b.constant(np.ascontiguousarray(weights.array().T), w.q.dtype))
    # one zero point for all of x: a vector of one element would mean one for each row
    zero = None if x.zero is None else _single(b, x.zero)
    other = None if w.zero is None else w.zero if w.scale.rank == 1 and w.scale.shape != (1,) else _single(b, w.zero)
    sums = b.Cast(b.MatMulInteger(x.q, w.q, zero, other), to="float32")
    y = b.Mul(sums, _product(b, _single(b, x.scale), w.scale))
    added = node.input(2) if node.op == "Gemm" else None
    if added is not None:
        y = b.Add(y, added)
    node.output.replace_uses(y)
    node.output.name, y.name = y.name, node.output.name
    node.block.nodes.remove(node)


def _rewrite_windows(node: Node) -> None:
    x, w = _quantised(node.input(0)), _quantised(node.input(1), 0)
    assert x is not None and w is not None and node.block is not None
    b = Builder(node.block, node, node.loc)
    zero = None if x.zero is None else _single(b, x.zero)
    attributes = {name: value for name, value in node.attrs.items() if name in WINDOW_ATTRIBUTES}
    sums = b.Cast(b.ConvInteger(x.q, w.q, zero, w.zero, **attributes), to="float32")
    y = b.Mul(sums, _channelwise(b, _product(b, _single(b, x.scale), w.scale), sums.rank))
    bias = node.input(2)
    if bias is not None:
        y = b.Add(y, _channelwise(b, bias, sums.rank))
    node.output.replace_uses(y)
    node.output.name, y.name = y.name, node.output.name
    node.block.nodes.remove(node)


def _channelwise(b: Builder, x: Value, rank: int) -> Value:
    """A vector of channels in a form that broadcasts to images."""
    if x.rank == 0:
        return x
    shape = (x.shape[0], *([1] * (rank - 2)))
    constant = constant_of(x)
    if constant is not None:
        return b.constant(constant.array().reshape(-1, *([1] * (rank - 2))), x.dtype)
    made: Value = b.Reshape(x, b.ints(*shape))
    return made


def _single(b: Builder, x: Value) -> Value:
    """The only element as a scalar."""
    constant = constant_of(x)
    if constant is not None:
        return b.constant(constant.array().reshape(()), x.dtype)
    made: Value = b.Reshape(x, b.ints())
    return made


def _product(b: Builder, x: Value, w: Value) -> Value:
    """The product of two scales, known ones at once."""
    known = [constant_of(v) for v in (x, w)]
    if known[0] is not None and known[1] is not None:
        return b.constant(np.asarray(known[0].array() * known[1].array(), np.float32), float32)
    made: Value = b.Mul(x, w)
    return made


def _fold_weights(node: Node, ctx: PassContext) -> bool:
    """Constant weights that are dequantised only for this kind of node become float constants."""
    weights = node.input(1)
    source = None if weights is None else weights.producer
    if weights is None or source is None or source.op != "DequantizeLinear" or source.block is None:
        return False
    given = [None if v is None else constant_of(v) for v in source.inputs]
    if any(v is not None and c is None for v, c in zip(source.inputs, given, strict=True)):
        return False
    count = weights.type.elements if isinstance(weights.type, TensorType) else None
    if node.op in _PRODUCTS and not (isinstance(count, int) and count <= MOST_ELEMENTS):
        return False
    if not ctx.allow("dequantised-weights", source):
        return False
    (found,) = run_kernel(source, [None if c is None else c.array() for c in given], {})
    folded = Builder(source.block, source, source.loc).constant(np.asarray(found), weights.dtype)
    weights.replace_uses(folded)
    source.block.nodes.remove(source)
    return True
