"""Calls, branches and loops: functions of the library put in place, or made regions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ge_core.ir.builder import Builder
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import BOOL, Call
from ..loop import convert_while
from ..packing import Packing
from ..registry import tf_op
from ..variables import Variable


@tf_op("PartitionedCall", "StatefulPartitionedCall", raw=True)
def call(c: Call, args: Sequence[Any]) -> list[Any]:
    """PartitionedCall(args...) -> output...; Tin, Tout, f, config, config_proto, executor_type
    StatefulPartitionedCall(args...) -> output...; Tin, Tout, f, config, config_proto, executor_type
    """
    return placed(c, c.b, c.attr("f"), args)


def placed(c: Call, b: Builder, name: str, args: Sequence[Any]) -> list[Any]:
    """A function at the end of a block; places in it start with the node's name."""
    converter = c.converter
    before = converter.inside(c.loc.module)
    try:
        return converter.function(b, name, args)
    finally:
        converter.inside(before)


@tf_op("If", "StatelessIf", raw=True)
def if_(c: Call, cond: Value, input: Sequence[Any]) -> list[Any]:
    """If(cond, input...) -> output...; Tcond, Tin, Tout, then_branch, else_branch, output_shapes
    StatelessIf(cond, input...) -> output...; Tcond, Tin, Tout, then_branch, else_branch, output_shapes
    """
    then, other = c.attr("then_branch"), c.attr("else_branch")
    known = c.array(cond)
    if known is not None:
        return placed(c, c.b, then if bool(np.asarray(known).any()) else other, input)
    return branches(c, truth(c, cond), [then, other], input)


def truth(c: Call, cond: Value) -> Value:
    """A condition as a bool of rank 0: a number is true unless it is 0, another tensor when it has elements."""
    if cond.rank:
        return c.b.Greater(c.b.scalar(cond.tensor.elements), np.int64(0))
    return cond if cond.dtype == BOOL else c.b.Not(c.b.Equal(cond, c.like(0, cond)))


@tf_op("Case", "StatelessCase", raw=True)
def case(c: Call, branch_index: Value, input: Sequence[Any]) -> list[Any]:
    """Case(branch_index, input...) -> output...; Tin, Tout, branches, output_shapes
    StatelessCase(branch_index, input...) -> output...; Tin, Tout, branches, output_shapes
    """
    names = c.attr("branches")
    known = c.array(branch_index)
    if known is not None:
        index = int(known)
        return placed(c, c.b, names[index if 0 <= index < len(names) else -1], input)
    return _case(c, c.b, branch_index, names, 0, input)


def _case(c: Call, b: Builder, index: Value, names: Sequence[str], at: int, input: Sequence[Any]) -> list[Any]:
    """The branches from `at` on; an index that is out of range takes the last one."""
    if at == len(names) - 1:
        return placed(c, b, names[at], input)
    hit = b.Equal(index, c.like(at, index))
    written = _written(c, names[at:], input)
    return _either(
        c, b, hit, lambda r: placed(c, r, names[at], input), lambda r: _case(c, r, index, names, at + 1, input), written
    )


def _written(c: Call, names: Sequence[str], input: Sequence[Any]) -> list[Variable]:
    """The variables that functions write."""
    found: dict[Variable, None] = {}
    for name in names:
        for place in sorted(c.converter.writes.of_function(name), key=str):
            variable = c.converter.handles[place] if isinstance(place, str) else input[place]
            if isinstance(variable, Variable):
                found[variable] = None
    return list(found)


def branches(c: Call, cond: Value, names: Sequence[str], input: Sequence[Any]) -> list[Any]:
    """One of two functions."""
    then, other = names
    written = _written(c, names, input)
    return _either(c, c.b, cond, lambda r: placed(c, r, then, input), lambda r: placed(c, r, other, input), written)


def _either(c: Call, b: Builder, cond: Value, then: Any, other: Any, written: Sequence[Variable]) -> list[Any]:
    store = c.converter.store
    before = {v: store.read(v) for v in written}
    packings: list[Packing] = []

    def region(build: Any) -> Any:
        def body(r: Builder) -> list[Value]:
            for variable, value in before.items():
                store.current[variable] = value
            old, c.b = c.b, r
            try:
                results = build(r)
                packing = Packing(results)
                packings.append(packing)
                return [*packing.values(c), *(store.read(v) for v in written)]
            finally:
                c.b = old

        return b.region([], body)

    first = region(then)
    second = region(other)
    packings[0].check_same(c, packings[1])
    if not first.outputs:
        return packings[0].results([])
    found = b.If(cond, then_branch=first, else_branch=second)
    values = [found] if isinstance(found, Value) else list(found)
    count = len(values) - len(written)
    for variable, value in zip(written, values[count:], strict=True):
        store.current[variable] = value
    return packings[0].results(values[:count])


@tf_op("While", "StatelessWhile", raw=True)
def while_(c: Call, input: Sequence[Any]) -> list[Any]:
    """While(input...) -> output...; T, cond, body, output_shapes, parallel_iterations
    StatelessWhile(input...) -> output...; T, cond, body, output_shapes, parallel_iterations
    """
    written = _written(c, [c.attr("cond"), c.attr("body")], input)
    return convert_while(c, c.attr("cond"), c.attr("body"), input, written)


@tf_op("NoOp", "ControlTrigger", raw=True)
def no_op(c: Call) -> list[Any]:
    """NoOp()
    ControlTrigger()
    """
    return []


@tf_op("Assert", raw=True)
def assert_(c: Call, condition: Value, data: Sequence[Any]) -> list[Any]:
    """Assert(condition, data...); T, summarize"""
    c.b.ge.Check(condition, message="an assertion of the model failed")
    return []


@tf_op("DeviceIndex")
def device_index(c: Call) -> Value:
    """DeviceIndex() -> index; device_names"""
    names = c.attr("device_names")
    return c.b.constant(np.int32(names.index("CPU") if "CPU" in names else len(names)))


@tf_op("For", raw=True)
def for_(c: Call, start: Value, limit: Value, delta: Value, input: Sequence[Any]) -> list[Any]:
    """For(start, limit, delta, input...) -> output...; T, body"""
    first, last, step = (c.whole(v, "a bound") for v in (start, limit, delta))
    values = list(input)
    body = c.attr("body")
    if step == 0:
        raise c.unsupported("a step of 0")
    numbers = range(first, last, step)
    if len(numbers) > 256:
        raise c.unsupported(f"{len(numbers)} iterations", "use tf.while_loop")
    for i in numbers:
        values = placed(c, c.b, body, [c.number(i, DType.of("int32")), *values])
    return values
