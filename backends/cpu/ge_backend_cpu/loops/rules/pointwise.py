"""Pointwise operators: the expression of their row, in the element types that the reference computes in."""

from __future__ import annotations

from collections.abc import Sequence

from ge_backend_cpu.loops.expr import Expr, Space, compute_kind
from ge_backend_cpu.loops.index import Unsupported
from ge_backend_cpu.loops.registry import Operands, rule
from ge_backend_cpu.loops.tensor import Tensor, Tracer
from ge_core.ir.dtype import DType, boolean, float64
from ge_core.ir.graph import Node
from ge_core.ops.expression import Apply, Arg, Number, expression_of
from ge_core.ops.expression import Expr as Tree
from ge_core.ops.pointwise import POINTWISE


@rule(*POINTWISE)
def pointwise(t: Tracer, node: Node, x: Operands) -> Sequence[Tensor]:
    """The row's expression after broadcasting."""
    tree = expression_of(node)
    out = node.output
    if isinstance(tree, Arg):
        source = x[tree.index]
        assert source is not None
        return [source]
    if node.op == "ge.NextAfter" and out.dtype.bits < 32:
        raise Unsupported("neighbours of 16-bit floats")
    moves = _moves(tree)
    fractional = not moves and _fractional(tree) and all(v is None or not _is_float(v) for v in x)

    def combine(*values: Expr | None) -> Expr:
        if moves:
            return _evaluate(t.space, tree, values, boolean)
        given = _power(t.space, values) if node.op == "Pow" else list(values)
        if fractional:
            given = [None if v is None else t.space.cast(v, float64) for v in given]
        numbers = next((v.kind for v in given if v is not None and v.kind != boolean), boolean)
        return t.space.cast(_evaluate(t.space, tree, given, numbers), _stored(out.dtype))

    return [t.pointwise(out.dtype, out.shape, x, combine)]


def _stored(dtype: DType) -> DType:
    """What a result is converted to: small floats stay in float32 until they are stored."""
    return compute_kind(dtype) if dtype.is_float else dtype


def _is_float(x: Tensor) -> bool:
    return x.dtype.is_float or x.dtype.kind == "bool"


def _moves(tree: Tree) -> bool:
    if isinstance(tree, Apply):
        return tree.name == "select" and all(map(_moves, tree.args))
    return isinstance(tree, Arg)


def _fractional(tree: Tree) -> bool:
    if isinstance(tree, Apply):
        return any(map(_fractional, tree.args))
    return isinstance(tree, Number) and not float(tree.value).is_integer()


def _power(space: Space, values: Sequence[Expr | None]) -> list[Expr | None]:
    """Base and exponent in one type, see the row of Pow."""
    base, exponent = values
    assert base is not None and exponent is not None
    if base.kind == exponent.kind:
        return [base, exponent]
    if base.kind.is_float:
        return [base, space.cast(exponent, base.kind)]
    if exponent.kind.is_float:
        return [space.cast(base, float64), space.cast(exponent, float64)]
    wide = DType.of("int64")
    if exponent.kind.name == "uint64":
        top = space.const(int(wide.max), exponent.kind)
        exponent = space.apply("min", exponent, top)
    return [space.cast(base, wide), space.cast(exponent, wide)]


def _evaluate(space: Space, tree: Tree, values: Sequence[Expr | None], numbers: DType) -> Expr:
    if isinstance(tree, Arg):
        value = values[tree.index]
        assert value is not None
        return value
    if isinstance(tree, Number):
        return space.const(tree.value, numbers)
    assert isinstance(tree, Apply)
    args = [_evaluate(space, a, values, numbers) for a in tree.args]
    return applied(space, tree.name, args)


def applied(space: Space, name: str, args: Sequence[Expr]) -> Expr:
    """A primitive, in its simplest form."""
    if name == "pow" and args[1].op == "const" and args[0].kind.is_float:
        found = _known_power(space, args[0], args[1].data[0])
        if found is not None:
            return found
    return space.apply(name, *args)


def _known_power(space: Space, x: Expr, exponent: float) -> Expr | None:
    """Powers with an exponent that is known and small."""
    apply = space.apply
    if exponent == 1:
        return x
    if exponent in (2, 3, 4):
        square = apply("mul", x, x)
        return square if exponent == 2 else apply("mul", square, x if exponent == 3 else square)
    if exponent == -1:
        return apply("div", space.const(1, x.kind), x)
    if exponent == 0.5:
        return apply("sqrt", x)
    if exponent == -0.5:
        # unlike the inverse of the root, the power of -0 is inf and that of -inf is 0
        root = apply("sqrt", apply("add", x, space.const(0, x.kind)))
        safe = apply("select", apply("isneginf", x), space.const(float("inf"), x.kind), root)
        return apply("div", space.const(1, x.kind), safe)
    return None
