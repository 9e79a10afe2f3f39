"""Type rules of sizes as values and of operators that change the shape alone."""

from __future__ import annotations

from collections.abc import Sequence

from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import int64
from ge_core.ir.types import Shape, TensorType, Type
from ge_core.ops.infer import Infer, UnknownRank
from ge_core.ops.registry import type_rule


@type_rule("ge.Dims")
def dims_(c: Infer) -> Type:
    exprs: tuple[Size, ...] = c.attr("exprs")
    scalar = bool(c.attr("scalar"))
    if scalar and len(exprs) != 1:
        raise c.error(f"a scalar has one size, got {len(exprs)}")
    c.set_content(0, exprs)
    return TensorType(int64, () if scalar else (len(exprs),))


@type_rule("ge.BindDim")
def bind_dim(c: Infer) -> Type:
    content = c.content(0)
    if dims.equal(c.tensor(0).elements, 1) is False:
        raise c.error(f"needs one integer, got {c.type(0)}")
    hi = c.attr("hi")
    c.set_content(0, content or (c.data_content(0, c.attr("lo"), None if hi < 0 else hi),))
    return TensorType(int64, ())


@type_rule("ge.Check")
def check(c: Infer) -> Sequence[Type]:
    return []


@type_rule("ge.Relayout")
def relayout(c: Infer) -> Type:
    return c.type(0)


@type_rule("Shape")
def shape(c: Infer) -> Type:
    known = c.tensor(0).shape
    if known is None:
        return TensorType(int64, (c.data_dim(0, 0),))
    part = known[slice(c.attr("start"), c.attr("end"))]
    c.set_content(0, part)
    return TensorType(int64, (len(part),))


@type_rule("Size")
def size(c: Infer) -> Type:
    if c.tensor(0).shape is not None:
        c.set_content(0, (c.tensor(0).elements,))
    return TensorType(int64, ())


def length_of(c: Infer, index: int) -> int:
    """The number of elements of a vector input.

    Raises:
        UnknownRank: it is not known.
        TypeRuleError: the input is no vector.
    """
    if c.rank(index) != 1:
        raise c.error(f"input {c.schema.input(index).name} is {c.type(index)}, expected a vector")
    length = c.shape(index)[0]
    if not isinstance(length, int):
        raise UnknownRank
    return length


def data_shape(c: Infer, index: int, output: int = 0) -> Shape:
    """The shape that the unknown elements of input `index` will give an output: a new size for each of them."""
    return tuple(c.data_dim(output, axis) for axis in range(length_of(c, index)))


def same_content(c: Infer, shape: Shape) -> None:
    """Hand on the elements of input 0 when the result holds the same ones in the same order."""
    content = c.content(0)
    if content is not None and len(shape) <= 1:
        c.set_content(0, content)


@type_rule("Reshape")
def reshape(c: Infer) -> Type:
    wanted = c.content(1)
    if wanted is None:
        return TensorType(c.dtype(0), data_shape(c, 1))
    source = c.shape(0)
    out: list[Size] = []
    unknown: int | None = None
    for i, target in enumerate(wanted):
        if target == -1:
            if unknown is not None:
                raise c.error(f"shape {list(wanted)} has more than one -1")
            unknown = i
            out.append(1)
        elif target == 0 and not c.attr("allowzero"):
            if i >= len(source):
                raise c.error(f"shape {list(wanted)} copies axis {i} of {c.type(0)}")
            out.append(source[i])
        elif isinstance(target, int) and target < 0:
            raise c.error(f"shape {list(wanted)} has a negative size")
        else:
            out.append(target)
    total, rest = dims.product(source), dims.product(out)
    if unknown is not None:
        out[unknown] = _remaining(c, total, rest, wanted)
        rest = rest * out[unknown]
    if dims.equal(total, rest) is False:
        raise c.error(f"{c.type(0)} has {total} elements, shape {list(wanted)} {rest}")
    c.require(total, rest)
    same_content(c, tuple(out))
    return TensorType(c.dtype(0), tuple(out))


def _remaining(c: Infer, total: Size, rest: Size, wanted: Shape) -> Size:
    """The size that -1 stands for."""
    exact = dims.exact_div(total, rest)
    if exact is not None:
        return exact
    if rest == 0:
        raise c.error(f"the -1 in shape {list(wanted)} could be anything, since another size is 0")
    if isinstance(total, int) and isinstance(rest, int):
        raise c.error(f"{total} elements do not fill shape {list(wanted)}")
    return dims.floordiv(total, rest)


@type_rule("Flatten")
def flatten(c: Infer) -> Type:
    shape, axis = c.shape(0), c.attr("axis")
    if not -len(shape) <= axis <= len(shape):
        raise c.error(f"axis {axis} is out of range for rank {len(shape)}")
    axis += len(shape) if axis < 0 else 0
    return TensorType(c.dtype(0), (dims.product(shape[:axis]), dims.product(shape[axis:])))


def axes_of(c: Infer, index: int, rank: int) -> tuple[int, ...] | None:
    """The axes that input `index` names, made non-negative; None when they are unknown.

    Raises:
        TypeRuleError: an axis is out of range or named twice.
    """
    content = c.content(index)
    if content is None:
        return None
    axes = tuple(c.normal_axis(a, rank) for a in content if isinstance(a, int))
    if len(axes) != len(content):
        return None
    if len(set(axes)) != len(axes):
        raise c.error(f"axes {list(content)} name one axis twice")
    return axes


@type_rule("Squeeze")
def squeeze(c: Infer) -> Type:
    shape = c.shape(0)
    if not c.has(1):
        if any(dims.equal(d, 1) is None for d in shape):
            raise UnknownRank
        axes: tuple[int, ...] | None = tuple(i for i, d in enumerate(shape) if d == 1)
    else:
        axes = axes_of(c, 1, len(shape))
    if axes is None:
        kept = len(shape) - length_of(c, 1)
        return TensorType(c.dtype(0), tuple(c.data_dim(0, i) for i in range(kept)))
    for axis in axes:
        if dims.equal(shape[axis], 1) is False:
            raise c.error(f"axis {axis} of {c.type(0)} is not 1")
        c.require(shape[axis], 1)
    out = tuple(d for i, d in enumerate(shape) if i not in axes)
    same_content(c, out)
    return TensorType(c.dtype(0), out)


@type_rule("Unsqueeze")
def unsqueeze(c: Infer) -> Type:
    shape = c.shape(0)
    count = c.tensor(1).elements
    if not isinstance(count, int):
        raise UnknownRank
    rank = len(shape) + count
    axes = axes_of(c, 1, rank)
    if axes is None:
        return TensorType(c.dtype(0), tuple(c.data_dim(0, i) for i in range(rank)))
    rest = iter(shape)
    out = tuple(1 if i in axes else next(rest) for i in range(rank))
    same_content(c, out)
    return TensorType(c.dtype(0), out)


@type_rule("Expand")
def expand(c: Infer) -> Type:
    shape, wanted = c.shape(0), c.content(1)
    if wanted is None:
        length = length_of(c, 1)
        rank = max(length, len(shape))
        padded = (1,) * (rank - len(shape)) + shape
        # a size over 1 stays, and so does one that nothing is matched with
        free = [i for i, d in enumerate(padded) if i >= rank - length and (d == 1 or not isinstance(d, int))]
        return TensorType(c.dtype(0), tuple(c.data_dim(0, i) if i in free else d for i, d in enumerate(padded)))
    out = c.broadcast(shape, wanted, data_may_be_one=True)
    content = c.content(0)
    if content is not None and len(out) <= 1 and all(isinstance(n, int) for n in out):
        count = dims.product(out)
        assert isinstance(count, int)
        c.set_content(0, content if len(content) == count else content[:1] * min(count, 65))
    return TensorType(c.dtype(0), out)
