"""The type rule of all pointwise rows: broadcast shapes, and known contents through integer expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from ge_core.errors import GraphError
from ge_core.ir import dims
from ge_core.ir.constant import Content
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType
from ge_core.ir.types import TensorType, Type
from ge_core.ops.expression import Apply, Arg, Expr, Number, expression_of
from ge_core.ops.infer import Infer
from ge_core.ops.pointwise import POINTWISE
from ge_core.ops.registry import TYPE_RULES


def pointwise(c: Infer) -> Type:
    """The rule of every row."""
    row = POINTWISE[c.node.op]
    if c.node.op == "Identity" and not isinstance(c.type(0), TensorType):
        return c.type(0)
    present = [i for i in range(c.num_inputs) if c.has(i)]
    dtype = _fixed(row.output)
    if dtype is None:
        dtype = c.dtype(next(i for i in present if row.inputs[min(i, len(row.inputs) - 1)][1] == row.output))
    shape = c.broadcast(*(c.shape(i) for i in present), data_may_be_one=True)
    if c.node.op == "PRelu" and len(shape) != c.rank(0):
        raise c.error(f"slope of rank {c.rank(1)} does not broadcast to the rank {c.rank(0)} of x")
    if len(shape) <= 1 and (dtype.is_integer or dtype.kind == "bool"):
        content = known_content(c, dtype)
        if content is not None:
            c.set_content(0, content)
    return TensorType(dtype, shape)


@cache
def _fixed(output: str) -> DType | None:
    """The element type that a row always gives; None for a type variable."""
    try:
        return DType.of(output)
    except GraphError:
        return None


def operand_content(c: Infer, index: int) -> Content | None:
    """Known elements of an integer or bool input; bools are 0 and 1."""
    content = c.content(index)
    if content is not None or c.dtype(index).kind != "bool":
        return content
    constant = c.constant(index)
    if constant is None or constant.ndim > 1 or constant.size > 64:
        return None
    return tuple(int(x) for x in constant.ravel())


def known_content(c: Infer, dtype: DType) -> Content | None:
    """The elements of the result when those of all inputs are known and the expression is exact on sizes."""
    contents: list[Content | None] = []
    for i in range(c.num_inputs):
        content = operand_content(c, i) if c.has(i) else None
        if content is None and c.has(i):
            return None
        contents.append(content)
    tree = expression_of(c.node)
    sizes = {len(e) for e in contents if e is not None}
    count = 1 if sizes == {1} else max(sizes - {1}, default=0)
    if sizes - {1, count}:
        return None
    out: list[Size] = []
    for k in range(count):
        value = _value(tree, [None if e is None else e[0] if len(e) == 1 else e[k] for e in contents])
        if value is None or (isinstance(value, int) and not dtype.min <= value <= dtype.max):
            return None
        out.append(value)
    return tuple(out)


def _value(tree: Expr, inputs: Sequence[Size | None]) -> Size | None:
    if isinstance(tree, Arg):
        return inputs[tree.index]
    if isinstance(tree, Number):
        return int(tree.value) if float(tree.value).is_integer() else None
    if not isinstance(tree, Apply):
        return None
    if tree.name == "select":
        condition = _value(tree.args[0], inputs)
        if not isinstance(condition, int):
            return None
        return _value(tree.args[1 if condition else 2], inputs)
    function = _FUNCTIONS.get(tree.name)
    args = [_value(a, inputs) for a in tree.args]
    if function is None or any(a is None for a in args):
        return None
    return function(*args)


def _known(answer: bool | None) -> Size | None:
    return None if answer is None else int(answer)


def _negated(answer: bool | None) -> Size | None:
    return None if answer is None else int(not answer)


def _truncdiv(a: Size, b: Size) -> Size | None:
    """Division towards zero: floor where both are known to be non-negative and the divisor positive."""
    if isinstance(a, int) and isinstance(b, int):
        return None if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    exact = dims.exact_div(a, b)
    low_a, low_b = dims.bounds(a)[0], dims.bounds(b)[0]
    if low_b is None or low_b <= 0:
        return None
    if exact is not None:
        return exact
    return dims.floordiv(a, b) if low_a is not None and low_a >= 0 else None


def _fmod(a: Size, b: Size) -> Size | None:
    quotient = _truncdiv(a, b)
    return None if quotient is None else a - quotient * b


def _floordiv(a: Size, b: Size) -> Size | None:
    return None if dims.equal(b, 0) is not False else dims.floordiv(a, b)


def _floormod(a: Size, b: Size) -> Size | None:
    return None if dims.equal(b, 0) is not False else dims.mod(a, b)


def _abs(a: Size) -> Size | None:
    if dims.less_equal(0, a):
        return a
    return -1 * a if dims.less_equal(a, 0) else None


def _sign(a: Size) -> Size | None:
    low, high = dims.bounds(a)
    if low is not None and low > 0:
        return 1
    return -1 if high is not None and high < 0 else 0 if low == high == 0 else None


def _logic(function: Callable[[bool, bool], bool]) -> Callable[..., Size | None]:
    def run(a: Size, b: Size) -> Size | None:
        return int(function(bool(a), bool(b))) if isinstance(a, int) and isinstance(b, int) else None

    return run


def _pow(a: Size, b: Size) -> Size | None:
    if not isinstance(b, int) or not 0 <= b <= 8:
        return None
    return dims.product([a] * b)


_FUNCTIONS: dict[str, Callable[..., Size | None]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "neg": lambda a: -1 * a,
    "abs": _abs,
    "sign": _sign,
    "min": dims.minimum,
    "max": dims.maximum,
    "div": _truncdiv,
    "truncdiv": _truncdiv,
    "floordiv": _floordiv,
    "floormod": _floormod,
    "fmod": _fmod,
    "pow": _pow,
    "floor": lambda a: a,
    "ceil": lambda a: a,
    "round": lambda a: a,
    "trunc": lambda a: a,
    "lt": lambda a, b: _negated(dims.less_equal(b, a)),
    "le": lambda a, b: _known(dims.less_equal(a, b)),
    "eq": lambda a, b: _known(dims.equal(a, b)),
    "ne": lambda a, b: _negated(dims.equal(a, b)),
    "not": lambda a: int(not a) if isinstance(a, int) else None,
    "and": _logic(lambda a, b: a and b),
    "or": _logic(lambda a, b: a or b),
    "xor": _logic(lambda a, b: a != b),
}


def _register() -> None:
    for name in POINTWISE:
        TYPE_RULES.add(name)(pointwise)


_register()
