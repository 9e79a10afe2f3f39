"""Control flow: sub graphs as regions."""

from __future__ import annotations

from ge_ascend.meaning.call import Call, Result, meaning
from ge_core.ir.builder import Builder
from ge_core.ir.graph import Value


@meaning("If", "StatelessIf")
def if_(c: Call) -> Result:
    """If(cond, input0, ...; then_branch, else_branch) -> output0, ..."""
    then, other = c.branches
    operands = c.dynamic("input")
    condition = c["cond"]
    if condition.rank:
        condition = c.b.Reshape(condition, c.b.ints([]))
    if condition.dtype.kind != "bool":
        condition = c.b.Cast(condition, to="bool")
    found = c.b.If(condition, then_branch=lambda r: then(r, operands), else_branch=lambda r: other(r, operands))
    return list(found) if isinstance(found, tuple) else [found]


@meaning("While", "StatelessWhile")
def while_(c: Call) -> Result:
    """While(input0, ...; cond, body) -> output0, ...: body as long as cond holds before it"""
    condition, body = c.branches
    first = c.dynamic("input")

    def check(r: Builder, values: list[Value]) -> Value:
        (found,) = condition(r, values)
        if found.rank:
            found = r.Reshape(found, r.ints([]))
        return found

    def step(r: Builder, i: Value, go: Value, *values: Value) -> list[Value]:
        after = body(r, list(values))
        return [check(r, after), *after]

    found = c.b.Loop(None, check(c.b, first), list(first), body=step)
    return list(found) if isinstance(found, tuple) else [found]


@meaning("PartitionedCall", "StatefulPartitionedCall")
def call(c: Call) -> Result:
    """PartitionedCall(args0, ...; f) -> output0, ..."""
    return c.branches[0](c.b, c.dynamic("args"))
