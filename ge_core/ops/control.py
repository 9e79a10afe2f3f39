"""Type rules of If, Loop, Scan and ge.Fused.

A region's outputs leave it with the sizes that are the same on every path and mean something outside. A size that
differs between branches, changes in a loop, or depends on a symbol that the region defines becomes a symbol that
the node defines.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ge_core.ir import dims
from ge_core.ir.dims import Dim, Size, Symbol
from ge_core.ir.graph import Node, Region, Value, constant_of
from ge_core.ir.traverse import type_symbols
from ge_core.ir.types import OptionalType, SequenceType, TensorType, Type
from ge_core.ops.infer import Infer
from ge_core.ops.registry import type_rule

Path = tuple[Type, frozenset[Symbol]]  # a type, and the symbols in it that mean nothing outside


def value_symbols(value: Value) -> frozenset[Symbol]:
    """All symbols in a value's type and content."""
    return type_symbols(value.type).union(*map(dims.symbols, value.content or ()))


def _attribute_symbols(node: Node) -> Iterable[Symbol]:
    for attr in node.attrs.values():
        for part in attr if isinstance(attr, tuple) else (attr,):
            if isinstance(part, Dim):
                yield from dims.symbols(part)


def inner_symbols(region: Region, outside: Iterable[Value]) -> frozenset[Symbol]:
    """The symbols that a region's params and nodes define, new in each of its runs.

    Args:
        outside: values around the region (its node's inputs) whose symbols have a meaning there.
    """
    return _defined_and_free(region, outside)[0]


def _defined_and_free(region: Region, outside: Iterable[Value]) -> tuple[frozenset[Symbol], frozenset[Symbol]]:
    known: set[Symbol] = set()
    for value in (*outside, *(c.outer for c in region.captures)):
        known |= value_symbols(value)
    defined: set[Symbol] = set()
    for param in region.params:
        defined |= value_symbols(param) - known
    for node in region.nodes:
        known |= set(_attribute_symbols(node)) - defined
        for nested in node.regions.values():
            inner, free = _defined_and_free(nested, [v for v in node.inputs if v is not None])
            known |= free - inner - defined
        for output in node.outputs:
            defined |= value_symbols(output) - known
    return frozenset(defined), frozenset(known)


def join(c: Infer, index: int, paths: Sequence[Path]) -> Type:
    """The type of output `index`, which is one of several values.

    Raises:
        TypeRuleError: element types or kinds of type differ.
    """
    types = [t for t, _ in paths]
    hidden = frozenset[Symbol]().union(*(h for _, h in paths))
    if not all(isinstance(t, TensorType) for t in types):
        return _joined_containers(c, index, types, hidden)
    tensors = [t for t, _ in paths if isinstance(t, TensorType)]
    dtype = tensors[0].dtype
    if any(t.dtype != dtype for t in tensors):
        raise c.error(f"output {index} is {' or '.join(str(t.dtype) for t in tensors)}")
    ranks = {t.rank for t in tensors}
    if len(ranks) != 1 or None in ranks:
        return TensorType(dtype, None)
    shape = [
        _joined(c, index, axis, sizes, hidden)
        for axis, sizes in enumerate(zip(*(t.shape or () for t in tensors), strict=True))
    ]
    return TensorType(dtype, tuple(shape))


def _joined_containers(c: Infer, index: int, types: Sequence[Type], hidden: frozenset[Symbol]) -> Type:
    """Sequences and optionals: elements of different shapes have an unknown one; what may be absent is optional."""
    if any(isinstance(t, OptionalType) for t in types):
        inner = [t.element if isinstance(t, OptionalType) else t for t in types]
        same = all(t == inner[0] for t in inner) and not type_symbols(inner[0]) & hidden
        joined = inner[0] if same else join(c, index, [(t, hidden) for t in inner])
        assert isinstance(joined, (TensorType, SequenceType))
        return OptionalType(joined)
    elements = [t.element for t in types if isinstance(t, SequenceType)]
    dtypes = {e.dtype for e in elements if isinstance(e, TensorType)}
    if len(elements) < len(types) or len(dtypes) != 1 or any(isinstance(e, OptionalType) for e in elements):
        raise c.error(f"output {index} is {' or '.join(map(str, types))}")
    if all(t == types[0] for t in types) and not type_symbols(types[0]) & hidden:
        return types[0]
    return SequenceType(TensorType(dtypes.pop(), None))


def _joined(c: Infer, index: int, axis: int, sizes: Sequence[Size], hidden: frozenset[Symbol]) -> Size:
    if all(s == sizes[0] for s in sizes) and not any(dims.symbols(s) & hidden for s in sizes):
        return sizes[0]
    return _data_dim(c, index, axis, sizes)


def _data_dim(c: Infer, index: int, axis: int, sizes: Sequence[Size]) -> Size:
    lows, highs = zip(*map(dims.bounds, sizes), strict=True)
    low = min((x for x in lows if x is not None), default=0) if None not in lows else 0
    return c.data_dim(index, axis, max(low, 0), None if None in highs else max(highs))


def _given(c: Infer) -> list[Value]:
    return [v for v in c.node.inputs if v is not None]


def _share_contents(c: Infer, regions: Sequence[Region], hidden: frozenset[Symbol]) -> None:
    for i in range(c.num_outputs):
        contents = [r.outputs[i].content for r in regions]
        first = contents[0]
        if first is not None and all(x == first for x in contents) and not any(dims.symbols(s) & hidden for s in first):
            c.set_content(i, first)


@type_rule("If")
def if_(c: Infer) -> list[Type]:
    cond = c.tensor(0)
    if cond.dtype.kind != "bool":
        raise c.error(f"the condition is {cond.dtype}, expected bool")
    if cond.shape is not None and dims.equal(cond.elements, 1) is False:
        raise c.error(f"the condition has shape {list(cond.shape)}, expected one element")
    regions = [c.region("then_branch"), c.region("else_branch")]
    then, other = regions
    if len(then.outputs) != len(other.outputs):
        raise c.error(f"the branches have {len(then.outputs)} and {len(other.outputs)} outputs")
    hidden = [inner_symbols(r, _given(c)) for r in regions]
    _share_contents(c, regions, hidden[0] | hidden[1])
    return [
        join(c, i, [(a.type, hidden[0]), (b.type, hidden[1])])
        for i, (a, b) in enumerate(zip(then.outputs, other.outputs, strict=True))
    ]


@type_rule("ge.Fused")
def fused(c: Infer) -> list[Type]:
    region = c.region("body")
    if len(region.params) != c.num_inputs:
        raise c.error(f"the body takes {len(region.params)} values, {c.num_inputs} are given")
    for i, param in enumerate(region.params):
        _check_accepts(c, param, c.type(i), f"input {i}")
    _share_contents(c, [region], frozenset())
    return [v.type for v in region.outputs]


def _check_accepts(c: Infer, param: Value, given: Type, what: str, inner: frozenset[Symbol] = frozenset()) -> None:
    """A param can hold values of another type: same element type and rank, no size that provably differs.

    Args:
        inner: symbols that the region defines: a size of the param that has one is new in each run.
    """
    if not isinstance(param.type, TensorType) or not isinstance(given, TensorType):
        takes = param.type.element if isinstance(param.type, OptionalType) else param.type
        gives = given.element if isinstance(given, OptionalType) else given
        if type(takes) is not type(gives) or (isinstance(given, OptionalType) and takes is param.type):
            raise c.error(f"{what} is {given}, the body takes {param.type}")
        return
    wanted = param.type
    fits = wanted.dtype == given.dtype
    if fits and wanted.shape is not None and given.shape is not None:
        fits = len(wanted.shape) == len(given.shape) and all(
            dims.equal(a, b) is not False or dims.symbols(a) & inner
            for a, b in zip(wanted.shape, given.shape, strict=True)
        )
    if not fits:
        raise c.error(f"{what} is {given}, the body takes {wanted}; give the region a symbol for a size that changes")


@type_rule("Loop")
def loop(c: Infer) -> list[Type]:
    region = c.region("body")
    carried = c.num_inputs - 2
    if len(region.params) != carried + 2:
        raise c.error(f"the body takes {len(region.params)} values, expected {carried + 2}")
    if len(region.outputs) < carried + 1:
        raise c.error(f"the body gives {len(region.outputs)} values, expected at least {carried + 1}")
    if not c.has(0) and not c.has(1):
        raise c.error("a loop without trip count and condition never ends")
    hidden = inner_symbols(region, _given(c))
    limit = c.content(0)
    rounds = None if limit is None or _may_stop(c) else dims.maximum(limit[0], 0)
    types: list[Type] = []
    for k in range(carried):
        initial, param, after = c.type(k + 2), region.params[k + 2], region.outputs[k + 1]
        _check_accepts(c, param, initial, f"the initial value of carried value {k}", hidden)
        _check_accepts(c, param, after.type, f"carried value {k} after an iteration", hidden)
        last = _grown(initial, param.type, after.type, rounds, hidden)
        types.append(last or join(c, k, [(initial, frozenset()), (after.type, hidden)]))
    return types + [_collected(c, k + carried, v, _trips(c, k + carried), hidden) for k, v in
                    enumerate(region.outputs[carried + 1 :])]  # fmt: skip


def _grown(
    initial: Type, param: Type, after: Type, rounds: Size | None, hidden: frozenset[Symbol]
) -> TensorType | None:
    """The type after all rounds when each adds the same to some sizes and leaves the others; None when unknown."""
    if not all(isinstance(t, TensorType) for t in (initial, param, after)) or rounds is None:
        return None
    assert isinstance(initial, TensorType) and isinstance(param, TensorType) and isinstance(after, TensorType)
    if initial.shape is None or param.shape is None or after.shape is None or initial.dtype != after.dtype:
        return None
    shape: list[Size] = []
    for first, before, later in zip(initial.shape, param.shape, after.shape, strict=True):
        added = later - before
        own = dims.symbols(before) & hidden
        if dims.symbols(added) & hidden or (not own and (added != 0 or first != before)):
            return None
        shape.append(first + rounds * added)
    return TensorType(initial.dtype, tuple(shape))


def _trips(c: Infer, output: int) -> Size:
    """How often the body runs, as the first size of a scan output."""
    limit = c.content(0)
    if limit is None:
        return c.data_dim(output, 0, hint="trips")
    count = dims.maximum(limit[0], 0)
    return c.data_dim(output, 0, 0, count, "trips") if _may_stop(c) else count


def _may_stop(c: Infer) -> bool:
    """Whether the condition can end the loop before its trip count."""
    if c.has(1):
        start = c.constant(1)
        if start is None or not start.all():
            return True
    after = c.region("body").outputs[0]
    if after is c.region("body").params[1]:
        return False
    constant = constant_of(after)
    known = None if constant is None else constant.known()
    return known is None or not known.all()


def _collected(c: Infer, index: int, value: Value, trips: Size, hidden: frozenset[Symbol], axis: int = 0) -> TensorType:
    """The type of a scan output: the element's sizes with `trips` inserted at `axis`."""
    element = value.tensor
    if element.shape is None:
        return TensorType(element.dtype, None)
    axis = c.normal_axis(axis, len(element.shape) + 1)
    shape: list[Size] = [
        _data_dim(c, index, i + (i >= axis), [size]) if dims.symbols(size) & hidden else size
        for i, size in enumerate(element.shape)
    ]
    return TensorType(element.dtype, (*shape[:axis], trips, *shape[axis:]))


def scan_counts(c: Infer | Node) -> tuple[int, int]:
    """How many states and how many scanned inputs a Scan has."""
    node = c.node if isinstance(c, Infer) else c
    scanned = node.attrs["num_scan_inputs"]
    assert isinstance(scanned, int)
    return len(node.inputs) - scanned, scanned


@type_rule("Scan")
def scan(c: Infer) -> list[Type]:
    region = c.region("body")
    states, scanned = scan_counts(c)
    if scanned < 1 or states < 0:
        raise c.error(f"num_scan_inputs is {scanned} of {c.num_inputs} inputs")
    if len(region.params) != c.num_inputs or len(region.outputs) < states:
        raise c.error(f"the body takes {len(region.params)} and gives {len(region.outputs)} values")
    collected = len(region.outputs) - states
    in_axes = c.attr("scan_input_axes", (0,) * scanned)
    out_axes = c.attr("scan_output_axes", (0,) * collected)
    for name, count in (("input", scanned), ("output", collected)):
        for kind in ("axes", "directions"):
            given = c.attr(f"scan_{name}_{kind}")
            if given is not None and len(given) != count:
                raise c.error(f"scan_{name}_{kind} has {len(given)} numbers, expected {count}")
    length: Size | None = None
    for k in range(scanned):
        shape = c.shape(states + k)
        axis = c.normal_axis(in_axes[k], len(shape))
        if not shape:
            raise c.error(f"scanned input {k} is a scalar")
        length = shape[axis] if length is None else c.merge(length, shape[axis], "the lengths of scanned inputs")
        rest = TensorType(c.dtype(states + k), (*shape[:axis], *shape[axis + 1 :]))
        _check_accepts(c, region.params[states + k], rest, f"an element of scanned input {k}")
    assert length is not None
    hidden = inner_symbols(region, _given(c))
    types: list[Type] = []
    for k in range(states):
        after = region.outputs[k].type
        _check_accepts(c, region.params[k], c.type(k), f"the initial value of state {k}", hidden)
        _check_accepts(c, region.params[k], after, f"state {k} after an iteration", hidden)
        last = _grown(c.type(k), region.params[k].type, after, length, hidden)
        types.append(last or join(c, k, [(c.type(k), frozenset()), (after, hidden)]))
    for k, value in enumerate(region.outputs[states:]):
        types.append(_collected(c, states + k, value, length, hidden, out_axes[k]))
    return types
