"""Products of com.microsoft: with transposed operands, activations, and weights of a few bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from ge_core.ir.constant import Constant
from ge_core.ir.dtype import DType, unpack
from ge_core.ir.graph import Value, constant_of
from ge_core.ir.types import TensorType

from ..call import Call
from ..registry import Results, converts
from .fused_activation import activated, with_bias

_MS = "com.microsoft"


@converts("FusedMatMul", "TransposeMatMul", domain=_MS)
def fused_matmul(c: Call) -> Results:
    """FusedMatMul(T A, T B) -> (T Y); alpha, transA, transB, transBatchA, transBatchB"""
    c.only("alpha", "transA", "transB", "transBatchA", "transBatchB")
    return _product(c)


@converts("FusedMatMulActivation", domain=_MS)
def fused_matmul_activation(c: Call) -> Results:
    """FusedMatMulActivation(T A, T B) -> (T Y); activation, activation_*, alpha, trans*"""
    return activated(c, _product(c), c.needed("activation"), _numbers(c))


@converts("FusedGemm", domain=_MS)
def fused_gemm(c: Call) -> Results:
    """FusedGemm(T A, T B, T C?) -> (T Y); activation, activation_*, alpha, beta, transA, transB"""
    attrs: dict[str, Any] = {name: c.attrs[name] for name in ("alpha", "beta", "transA", "transB") if name in c.attrs}
    return activated(c, c.build("Gemm", c.inputs, attrs), c.attr("activation"), _numbers(c))


@converts("GemmFastGelu", domain=_MS)
def gemm_fast_gelu(c: Call) -> Results:
    """GemmFastGelu(T X, T W, T bias?) -> (T Y)"""
    y = c.b.MatMul(c.input(0), c.input(1))
    return c.b.Gelu(with_bias(c, y, c.optional(2)), approximate="tanh")


def _product(c: Call) -> Value:
    b = c.b
    sides = []
    for i, name in enumerate("AB"):
        x = c.input(i)
        rank = c.rank(x)
        order = list(range(rank))
        if c.attr(f"transBatch{name}", 0) and rank > 2:
            order = [*order[1:-1], order[0], order[-1]]
        if c.attr(f"trans{name}", 0) and rank > 1:
            order[-2:] = order[-1], order[-2]
        sides.append(c.transpose(x, *order))
    y: Value = b.MatMul(*sides)
    alpha = c.attr("alpha", 1.0)
    scaled: Value = y if alpha == 1.0 else b.Mul(y, c.scalar(alpha, y.dtype))
    return scaled


def _numbers(c: Call) -> list[float]:
    given = (c.attr(f"activation_{name}") for name in ("alpha", "beta", "gamma"))
    return [float(x) for x in given if x is not None]


@converts("MatMulNBits", domain=_MS)
def matmul_n_bits(c: Call) -> Results:
    """MatMulNBits(T1 A, T2 B, T1 scales, T3 zero_points?, T4 g_idx?, T1 bias?) -> (T1 Y); K, N, bits, block_size, ...

    B holds `[N, blocks, block_size]` numbers of `bits` bits, the first one in the lowest bits of a byte; row n of the
    weights is (B[n] - zero point of the block) * scale of the block. A is not rounded, whatever `accuracy_level` asks.
    """
    b, a = c.b, c.input(0)
    rows, depth = int(c.needed("N")), int(c.needed("K"))
    bits, block = int(c.attr("bits", 4)), int(c.needed("block_size"))
    if c.has(4) or c.attr("weight_prepacked", 0):
        raise c.unsupported("weights in another order (g_idx, weight_prepacked)")
    if bits not in (2, 4, 8) or block < 1 or depth < 1:
        raise c.unsupported(f"{bits} bits in blocks of {block}")
    blocks = -(-depth // block)
    stored = DType.of(f"uint{bits}")
    weights = b.constant(_packed(c, 1, stored, (rows, blocks * block)), name="weights")
    scales = c.reshape(c.input(2), (rows, blocks))
    zero = c.optional(3)
    if zero is not None and zero.dtype == a.dtype:
        parts = b.Sub(c.reshape(b.Cast(weights, to=a.dtype), (rows, blocks, block)), c.reshape(zero, (rows, blocks, 1)))
        dense = c.reshape(b.Mul(parts, c.unsqueeze(scales, 2)), (rows, blocks * block))
    else:
        dense = b.DequantizeLinear(weights, scales, _zero_points(c, stored, rows, blocks), axis=1, block_size=block)
    if blocks * block > depth:
        dense = c.slice(dense, 1, 0, depth)
    y = b.MatMul(a, b.Transpose(c.cast(dense, a.dtype), perm=[1, 0]))
    return with_bias(c, y, c.optional(5))


def _zero_points(c: Call, stored: DType, rows: int, blocks: int) -> Value:
    """`[rows, blocks]` zero points; each row begins in a byte of its own. Without any they are the middle number."""
    if not c.has(3):
        middle = np.full((rows, blocks), 1 << (stored.bits - 1)).astype(stored.numpy)
        value: Value = c.b.constant(Constant.of(middle, stored), name="zero_points")
        return value
    per_row = stored.nbytes(blocks) * 8 // stored.bits
    packed = _packed(c, 3, stored, (rows, per_row))
    points: Value = c.b.constant(packed, name="zero_points")
    return points if per_row == blocks else c.slice(points, 1, 0, blocks)


def _packed(c: Call, index: int, stored: DType, shape: tuple[int, int]) -> Constant:
    """The bytes of a constant input as packed numbers, read when they are first used."""
    found = constant_of(c.optional(index))
    if found is None or found.type.dtype.name != "uint8":
        raise c.unsupported("packed weights that are no uint8 constant")
    if found.nbytes != stored.nbytes(shape[0] * shape[1]):
        raise c.error(f"input {index} has {found.nbytes} bytes", expected=f"{stored.nbytes(shape[0] * shape[1])}")

    def load() -> np.ndarray:
        return unpack(np.ascontiguousarray(found.array()).data.cast("B"), stored, shape)

    return Constant(TensorType(stored, shape), load, found.source)
