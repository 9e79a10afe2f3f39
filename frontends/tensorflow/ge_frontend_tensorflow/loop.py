"""While loops. What the body passes through is captured, a counter becomes the loop's own, and lists that it fills
in order become stacked outputs.

TensorFlow gives a loop all that its functions read as loop variables. Here each variable is one of:

- invariant: the body gives back its argument; it is read where it is;
- counter: the body adds 1; it is the first value plus the loop's counter;
- filled: a list of which the body sets element `counter` (or adds one at the end) and does nothing else with;
  the elements are stacked by the loop;
- carried: everything else.

When the condition compares counters with limits that do not change, the number of rounds is known beforehand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ge_core.ir import dims
from ge_core.ir.builder import Builder, RegionBody
from ge_core.ir.dims import Size
from ge_core.ir.graph import Region, Value
from ge_core.ir.types import TensorType, Type

from .call import BOOL, INT64
from .complex_pair import ComplexPair
from .program import Body, Op, Ref
from .tensor_list import TensorList
from .variables import Variable

if TYPE_CHECKING:
    from .call import Call

_ATTEMPTS = 8
_PASSES_ON = frozenset({"Identity", "StopGradient", "PreventGradient"})


@dataclass
class Shape:
    """What a loop does with its variables, by their indices.

    Attributes:
        filled: list to (the counter that indexes it or None for adding at the end, the element's Ref in the body,
            whether the list may grow).
        limits: pairs (counter, argument index of the limit or its constant node); None when the condition is
            something else.
    """

    invariant: set[int] = field(default_factory=set)
    counters: set[int] = field(default_factory=set)
    filled: dict[int, tuple[int | None, Ref, bool]] = field(default_factory=dict)
    limits: list[tuple[int, Any]] | None = None


def origin(body: Body, ref: Ref) -> Ref:
    """Where a tensor comes from, seen through nodes that pass it on."""
    while ref.node not in body.argument_indices:
        node = body.nodes[ref.node]
        if node.op in _PASSES_ON and node.inputs:
            ref = node.inputs[0]
        elif node.op == "IdentityN":
            ref = node.inputs[ref.output]
        else:
            break
    return ref


def _argument(body: Body, ref: Ref) -> int | None:
    return body.argument_indices.get(origin(body, ref).node)


def _is_one(body: Body, ref: Ref, input: Sequence[Any]) -> bool:
    """Whether a tensor of the body is the number 1: a constant, or an argument that stays 1."""
    ref = origin(body, ref)
    place = body.argument_indices.get(ref.node)
    if place is not None:
        value = input[place]
        return isinstance(value, Value) and value.content == (1,) and _argument(body, body.results[place]) == place
    node = body.nodes[ref.node]
    if node.op != "Const":
        return False
    from .tensor_proto import constant_of_proto

    value = node.attr("value")
    if value is None or value.tensor.dtype not in (3, 9):
        return False
    array = constant_of_proto(value.tensor, node.name).array()
    return array.size == 1 and int(array.reshape(())) == 1


def analyse(c: Call, cond: Body, body: Body, input: Sequence[Any]) -> Shape:
    """What a loop does with its variables."""
    shape = Shape()
    for i, ref in enumerate(body.results):
        if _argument(body, ref) == i or isinstance(input[i], Variable):
            shape.invariant.add(i)
        elif _counts(body, origin(body, ref), i, input):
            shape.counters.add(i)
    users = _users(body)
    for i, ref in enumerate(body.results):
        if isinstance(input[i], TensorList) and i not in shape.invariant and not _reads(cond, i):
            found = _filled(body, users, origin(body, ref), i, shape)
            if found is not None:
                shape.filled[i] = found
    shape.limits = _limits(c, cond, shape)
    return shape


def _counts(body: Body, ref: Ref, index: int, input: Sequence[Any]) -> bool:
    if ref.node in body.argument_indices:
        return False
    node = body.nodes[ref.node]
    if node.op not in ("AddV2", "Add"):
        return False
    left, right = node.inputs
    return (_argument(body, left) == index and _is_one(body, right, input)) or (
        _argument(body, right) == index and _is_one(body, left, input)
    )


def _users(body: Body) -> dict[str, list[Op]]:
    users: dict[str, list[Op]] = {}
    for node in body.nodes.values():
        for ref in node.inputs:
            users.setdefault(ref.node, []).append(node)
    return users


def _filled(
    body: Body, users: dict[str, list[Op]], ref: Ref, index: int, shape: Shape
) -> tuple[int | None, Ref, bool] | None:
    """How the list `index` is filled, when nothing but that happens to it."""
    if ref.node in body.argument_indices:
        return None
    node = body.nodes[ref.node]
    if node.op not in ("TensorListSetItem", "TensorListPushBack") or _argument(body, node.inputs[0]) != index:
        return None
    if not _only_user(body, users, body.arguments[index], node):
        return None
    if node.op == "TensorListPushBack":
        return None, node.inputs[1], True
    counter = _argument(body, node.inputs[1])
    if counter not in shape.counters:
        return None
    grow = node.attr("resize_if_index_out_of_bounds")
    return counter, node.inputs[2], bool(grow is not None and grow.b)


def _only_user(body: Body, users: dict[str, list[Op]], name: str, wanted: Op) -> bool:
    for node in users.get(name, []):
        if node is wanted:
            continue
        if node.op not in _PASSES_ON or not _only_user(body, users, node.name, wanted):
            return False
    return True


def _reads(cond: Body, index: int) -> bool:
    """Whether the condition looks at an argument."""
    name = cond.arguments[index]
    return any(ref.node == name for node in cond.nodes.values() for ref in node.inputs)


def _limits(c: Call, cond: Body, shape: Shape) -> list[tuple[int, Any]] | None:
    found: list[tuple[int, Any]] = []
    waiting = [cond.results[0]]
    while waiting:
        ref = origin(cond, waiting.pop())
        if ref.node in cond.argument_indices:
            return None
        node = cond.nodes[ref.node]
        if node.op == "LogicalAnd":
            waiting += list(node.inputs)
        elif node.op in ("Less", "Greater"):
            low, high = node.inputs if node.op == "Less" else reversed(node.inputs)
            counter = _argument(cond, low)
            if counter not in shape.counters:
                return None
            limit = origin(cond, high)
            place = cond.argument_indices.get(limit.node)
            if place is not None and place not in shape.invariant:
                return None
            if place is None and cond.nodes[limit.node].op != "Const":
                return None
            found.append((counter, place if place is not None else cond.nodes[limit.node]))
        elif node.op != "Const" or not _is_true(node):
            return None
    return found or None


def _is_true(node: Op) -> bool:
    value = node.attr("value")
    return (
        value is not None
        and value.tensor.dtype == 10
        and bytes(value.tensor.tensor_content or b"") == b"\1"
        or (value is not None and list(value.tensor.bool_val) == [True])
    )


def convert_while(c: Call, cond: str, body: str, input: Sequence[Any], written: Sequence[Variable]) -> list[Any]:
    """Build a Loop.

    Args:
        cond, body: names of functions.
        written: variables that they write.
    """
    return _Loop(c, cond, body, list(input), list(written)).build()


class _Loop:
    def __init__(self, c: Call, cond: str, body: str, input: list[Any], written: list[Variable]) -> None:
        self.c, self.cond, self.body, self.input, self.written = c, cond, body, input, written
        program = c.converter.program
        self.shape = analyse(c, program.function(cond), program.function(body), input)
        self.rounds = self._rounds()
        left = self.shape.invariant | self.shape.filled.keys() | (self.shape.counters if self._counted else set())
        self.carried = [i for i in range(len(input)) if i not in left]

    @property
    def _counted(self) -> bool:
        """Whether counters are taken from the loop's own; what they are at the end tells the number of rounds."""
        return self.rounds is not None and all(isinstance(self.input[i], Value) for i in self.shape.counters)

    def _rounds(self) -> Value | None:
        """The number of rounds, when only counters and limits decide it."""
        if self.shape.limits is None:
            return None
        c, b = self.c, self.c.b
        least: Value | None = None
        sizes: list[Size] | None = []
        for counter, limit in self.shape.limits:
            start = self.input[counter]
            end = self.input[limit] if isinstance(limit, int) else self._constant(limit)
            if not isinstance(start, Value) or not isinstance(end, Value):
                return None
            if start.content is not None and end.content is not None and sizes is not None:
                sizes.append(end.content[0] - start.content[0])
            else:
                sizes = None
            count = b.Sub(c.int64(end), c.int64(start))
            least = count if least is None else b.Min([least, count])
        if sizes:
            total = sizes[0]
            for size in sizes[1:]:
                # a limit that is the length of the same tensor, or no limit at all
                total = dims.minimum(total, size)
            return b.scalar(dims.maximum(total, 0))
        assert least is not None
        return c.reshape(b.Max([least, np.int64(0)]), ())

    def _constant(self, node: Op) -> Value | None:
        from .tensor_proto import constant_of_proto

        value = node.attr("value")
        if value is None:
            return None
        return self.c.b.constant(constant_of_proto(value.tensor, node.name).array())

    # --- one round ---

    def _arguments(self, b: Builder, i: Value | None, values: Sequence[Any]) -> list[Any]:
        """The arguments of a function in round `i`, or before the first one."""
        given: list[Any] = list(self.input)
        for place, value in zip(self.carried, values, strict=True):
            given[place] = value
        if self._counted and i is not None:
            for counter in self.shape.counters:
                start = self.input[counter]
                given[counter] = self._plus(b, i, start)
        return given

    def _plus(self, b: Builder, i: Value, start: Value) -> Value:
        whole = i
        if start.content != (0,):
            whole = b.Add(i, self.c.int64(start))
        whole = whole if start.dtype == INT64 else b.Cast(whole, to=start.dtype)
        return b.Reshape(whole, b.ints(start.shape), allowzero=1) if start.rank else whole

    def _call(self, b: Builder, name: str, arguments: Sequence[Any]) -> list[Any]:
        from .ops.control import placed

        old, self.c.b = self.c.b, b
        try:
            return placed(self.c, b, name, arguments)
        finally:
            self.c.b = old

    # --- the loop ---

    def build(self) -> list[Any]:
        c, store = self.c, self.c.converter.store
        self._settle_lists()
        initial = [self._plain(self.input[i]) for i in self.carried]
        states = [store.read(v) for v in self.written]
        go_on = None if self.rounds is not None else self._condition(c.b, None, [self.input[i] for i in self.carried])
        collected = list(self.shape.filled)

        def body(r: Builder, i: Value, cond: Value, *params: Value) -> list[Value]:
            old, c.b = c.b, r
            try:
                values = [self._like(self.input[k], p) for k, p in zip(self.carried, params, strict=False)]
                for variable, value in zip(self.written, params[len(self.carried) :], strict=True):
                    store.current[variable] = value
                results = self._call(r, self.body, self._arguments(r, i, values))
                after = [results[k] for k in self.carried]
                again = r.constant(True) if self.rounds is not None else self._next(r, i, after)
                carried = [self._plain(v) for v in after]
                rows = [self._element(results[k], k) for k in collected]
                return [again, *carried, *(store.read(v) for v in self.written), *rows]
            finally:
                c.b = old

        if not (initial or states or collected):
            return self._results([])
        region = self._region([*initial, *states], body)
        found = c.b.Loop(self.rounds, go_on, [*initial, *states], body=region)
        outputs = [found] if isinstance(found, Value) else list(found)
        return self._results(outputs)

    def _region(self, initial: Sequence[Value], body: RegionBody) -> Region:
        """The body with params wide enough: a size that a round may change is a symbol of the loop's own."""
        b = self.c.b
        types: list[TensorType] = [v.tensor for v in initial]
        own: set[Size] = set()
        for _ in range(_ATTEMPTS):
            params: list[tuple[str, Type]] = [("i", TensorType(INT64, ())), ("cond", TensorType(BOOL, ()))]
            region = b.region([*params, *((f"s{k}", t) for k, t in enumerate(types))], body)
            after = [v.tensor for v in region.outputs[1 : len(types) + 1]]
            wider = [self._wider(x, y, own) for x, y in zip(types, after, strict=True)]
            if wider == types:
                return region
            region.drop()
            types = wider
        raise self.c.unsupported("a loop whose variables do not keep their shapes")

    def _wider(self, before: TensorType, after: TensorType, own: set[Size]) -> TensorType:
        if before.shape is None or after.shape is None or len(before.shape) != len(after.shape):
            raise self.c.unsupported(f"a loop variable that is {before} in one round and {after} in the next")
        shape = []
        for x, y in zip(before.shape, after.shape, strict=True):
            if x in own or dims.equal(x, y) is True:
                shape.append(x)
                continue
            s = self.c.b.graph.fresh_symbol("carried", 0)
            shape.append(dims.symbol(s.name, s.lo, s.hi))
            own.add(shape[-1])
        return TensorType(before.dtype, tuple(shape))

    def _next(self, b: Builder, i: Value, values: Sequence[Any]) -> Value:
        return self._condition(b, b.Add(i, np.int64(1)), values)

    def _condition(self, b: Builder, i: Value | None, values: Sequence[Any]) -> Value:
        from .ops.control import truth

        (found,) = self._call(b, self.cond, self._arguments(b, i, values))
        old, self.c.b = self.c.b, b
        try:
            return truth(self.c, found)
        finally:
            self.c.b = old

    def _element(self, result: Any, index: int) -> Value:
        """What the body adds to a list: the list that it gives holds the one element alone."""
        assert isinstance(result, TensorList) and result.items is not None
        counter, _, _ = self.shape.filled[index]
        return self.c.squeeze(result.items, 0) if result.items.shape[0] == 1 else result.items

    def _plain(self, value: Any) -> Value:
        if isinstance(value, TensorList):
            return value.dense(self.c)
        if isinstance(value, ComplexPair):
            return value.parts
        if not isinstance(value, Value):
            raise self.c.unsupported(f"a loop variable that is a {type(value).__name__}")
        return value

    def _like(self, first: Any, value: Value) -> Any:
        if isinstance(first, TensorList):
            return first.written(value)
        return ComplexPair(value) if isinstance(first, ComplexPair) else value

    def _settle_lists(self) -> None:
        """Give lists that are carried and still empty the element shape that the body writes."""
        c = self.c
        for place in self.shape.filled:
            first = self.input[place]
            # in the body the list stands empty, so that what is written to it comes out alone
            self.input[place] = _Empty(first.dtype, first.element, 0, None, first)
        unsettled = [
            i for i in self.carried
            if isinstance(self.input[i], TensorList) and self.input[i].items is None
            and self.input[i].element_shape() is None
        ]  # fmt: skip
        if not unsettled:
            return
        trial: list[Any] = []

        def body(r: Builder, i: Value) -> list[Value]:
            trial.extend(self._call(r, self.body, self._arguments(r, i, [self.input[k] for k in self.carried])))
            return []

        region = c.b.region([("i", TensorType(INT64, ()))], body)
        shapes = {i: trial[i].element_shape() for i in unsettled}
        region.drop()
        for i, shape in shapes.items():
            if shape is None:
                raise c.unsupported("a list of which nothing tells the shape of its elements")
            first = self.input[i]
            self.input[i] = first.written(first.dense(c, shape))

    def _results(self, outputs: Sequence[Value]) -> list[Any]:
        c, b = self.c, self.c.b
        results: list[Any] = list(self.input)
        for place, value in zip(self.carried, outputs, strict=False):
            results[place] = self._like(self.input[place], value)
        at = len(self.carried)
        for variable in self.written:
            c.converter.store.current[variable] = outputs[at]
            at += 1
        for place, rows in zip(self.shape.filled, outputs[at:], strict=True):
            results[place] = self._stacked(place, rows)
        if self._counted and self.rounds is not None:
            for counter in self.shape.counters:
                results[counter] = self._plus(b, self.rounds, self.input[counter])
        return results

    def _stacked(self, place: int, rows: Value) -> TensorList:
        """The list after the loop: what it held before, with the rows that the loop wrote put in."""
        c = self.c
        empty = self.input[place]
        assert isinstance(empty, _Empty)
        first = empty.first
        counter, _, grow = self.shape.filled[place]
        start = c.size(self.input[counter]) if counter is not None else first.length
        end = start + rows.shape[0]
        length = first.length
        before = dims.equal(start, 0)
        covered = dims.equal(end, length) is True or dims.less_equal(length, end) is True
        if before is True and (covered or (grow and dims.equal(length, 0) is True)):
            return first.written(rows)
        old = first.dense(c, rows.shape[1:])
        parts = [c.slice(old, 0, 0, start), rows] if before is not True else [rows]
        if not covered:
            parts.append(c.slice(old, 0, end, np.iinfo(np.int64).max))
        return first.written(c.b.Concat(parts, axis=0) if len(parts) > 1 else parts[0])


@dataclass(frozen=True)
class _Empty(TensorList):
    """A list inside of the loop that fills it.

    Attributes:
        first: the list before the loop.
    """

    first: TensorList = None  # type: ignore[assignment]
