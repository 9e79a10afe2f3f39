"""Products of matrices."""

from __future__ import annotations

from collections.abc import Sequence

from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import Call
from ..complex_pair import ComplexPair
from ..layout import is_last
from ..registry import tf_op
from .complex_number import as_pair, halves, joined
from .conv import activated


@tf_op("MatMul", complex=True)
def matmul(c: Call, a: Value | ComplexPair, b: Value | ComplexPair) -> Value | ComplexPair:
    """MatMul(a, b) -> product; transpose_a, transpose_b, T, grad_a, grad_b"""
    return product(c, a, b, c.attr("transpose_a"), c.attr("transpose_b"))


def product(
    c: Call, a: Value | ComplexPair, b: Value | ComplexPair, turn_a: bool, turn_b: bool, conjugate: bool = False
) -> Value | ComplexPair:
    """a @ b, each turned over first where asked."""
    if isinstance(a, ComplexPair) or isinstance(b, ComplexPair):
        (ar, ai), (br, bi) = halves(c, as_pair(c, a)), halves(c, as_pair(c, b))
        if conjugate:
            ai = c.b.Neg(ai) if turn_a else ai
            bi = c.b.Neg(bi) if turn_b else bi

        def times(x: Value, y: Value) -> Value:
            found = product(c, x, y, turn_a, turn_b)
            assert isinstance(found, Value)
            return found

        return joined(c, c.b.Sub(times(ar, br), times(ai, bi)), c.b.Add(times(ar, bi), times(ai, br)))
    a = c.transpose_last(a) if turn_a else a
    b = c.transpose_last(b) if turn_b else b
    return c.b.MatMul(a, b)


@tf_op("BatchMatMul", "BatchMatMulV2", complex=True)
def batch_matmul(c: Call, x: Value | ComplexPair, y: Value | ComplexPair) -> Value | ComplexPair:
    """BatchMatMul(x, y) -> output; T, adj_x, adj_y, grad_x, grad_y
    BatchMatMulV2(x, y) -> output; T, adj_x, adj_y, grad_x, grad_y
    """
    return product(c, x, y, c.attr("adj_x"), c.attr("adj_y"), conjugate=True)


@tf_op("BatchMatMulV3")
def batch_matmul_v3(c: Call, x: Value, y: Value) -> Value:
    """BatchMatMulV3(x, y) -> output; Ta, Tb, Tout, adj_x, adj_y, grad_x, grad_y"""
    dtype = c.dtype("Tout")
    found = product(c, c.cast(x, dtype), c.cast(y, dtype), c.attr("adj_x"), c.attr("adj_y"))
    assert isinstance(found, Value)
    return found


@tf_op("SparseMatMul")
def sparse_matmul(c: Call, a: Value, b: Value) -> Value:
    """SparseMatMul(a, b) -> product; transpose_a, transpose_b, a_is_sparse, b_is_sparse, Ta, Tb"""
    float32 = DType.of("float32")
    a, b = c.cast(a, float32), c.cast(b, float32)
    found = product(c, a, b, c.attr("transpose_a"), c.attr("transpose_b"))
    assert isinstance(found, Value)
    return found


@tf_op("_FusedMatMul")
def fused_matmul(c: Call, a: Value, b: Value, args: Sequence[Value]) -> Value:
    """_FusedMatMul(a, b, args...) -> product; transpose_a, transpose_b, T, num_args, fused_ops, epsilon,
    leakyrelu_alpha
    """
    result = product(c, a, b, c.attr("transpose_a"), c.attr("transpose_b"))
    assert isinstance(result, Value)
    for name in c.attr("fused_ops"):
        result = c.b.Add(result, args[0]) if name == "BiasAdd" else activated(c, result, name)
    return result


@tf_op("BiasAdd")
def bias_add(c: Call, value: Value, bias: Value) -> Value:
    """BiasAdd(value, bias) -> output; T, data_format"""
    if not is_last(c) and value.rank > 2:
        bias = c.reshape(bias, (bias.shape[0], *[1] * (value.rank - 2)))
    return c.b.Add(value, bias)


@tf_op("BiasAddV1")
def bias_add_v1(c: Call, value: Value, bias: Value) -> Value:
    """BiasAddV1(value, bias) -> output; T"""
    return c.b.Add(value, bias)


@tf_op("BiasAddGrad")
def bias_add_grad(c: Call, out_backprop: Value) -> Value:
    """BiasAddGrad(out_backprop) -> output; T, data_format"""
    axes = [i for i in range(out_backprop.rank) if i != (out_backprop.rank - 1 if is_last(c) else 1)]
    return c.b.ReduceSum(out_backprop, c.b.ints(axes), keepdims=0)


@tf_op("Einsum")
def einsum(c: Call, inputs: Sequence[Value]) -> Value:
    """Einsum(inputs...) -> output; equation, N, T"""
    return c.b.Einsum(list(inputs), equation=c.attr("equation").replace(" ", ""))


@tf_op("Cross")
def cross(c: Call, a: Value, b: Value) -> Value:
    """Cross(a, b) -> product; T"""
    g = c.b

    def turned(x: Value, order: list[int]) -> Value:
        return g.Gather(x, g.ints(order), axis=x.rank - 1)

    left = g.Mul(turned(a, [1, 2, 0]), turned(b, [2, 0, 1]))
    return g.Sub(left, g.Mul(turned(a, [2, 0, 1]), turned(b, [1, 2, 0])))
