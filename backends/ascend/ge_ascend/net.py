"""A CANN graph in memory: operators with named ports, before it is written and after it was read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ge_core.ir.graph import Value
from ge_core.ir.location import UNKNOWN, Location


@dataclass(eq=False)
class Op:
    """One operator.

    Attributes:
        inputs: (port name, what feeds it) in the prototype's order; ports of a dynamic input are name0, name1, ...
        attrs: attributes by name, as plain values; element types are numbers of the in-memory enumeration.
        outs: its outputs in order.
        formats: port name to format where it is not ND.
        graphs: names of its sub graphs, in the prototype's order.
        loc: the place in the user's model that it was lowered from.
        source: the IR operator that it was lowered from.
    """

    name: str
    type: str
    inputs: list[tuple[str, Out]] = field(default_factory=list)
    attrs: dict[str, Any] = field(default_factory=dict)
    outs: list[Out] = field(default_factory=list)
    formats: dict[str, str] = field(default_factory=dict)
    graphs: list[str] = field(default_factory=list)
    loc: Location = UNKNOWN
    source: str = ""

    def __repr__(self) -> str:
        fed = ", ".join(f"{port}={out.op.name}:{out.index}" for port, out in self.inputs)
        return f"{self.name} = {self.type}({fed})"


@dataclass(eq=False)
class Out:
    """One output of an operator.

    Attributes:
        value: what it means: a value of the IR graph that is built beside the operators and gives it its type.
    """

    op: Op
    index: int
    port: str
    value: Value

    def __repr__(self) -> str:
        return f"{self.op.name}:{self.index} {self.value.type}"


@dataclass(eq=False)
class Net:
    """One graph: operators in topological order, and what it returns."""

    name: str
    ops: list[Op] = field(default_factory=list)
    outputs: list[Out] = field(default_factory=list)


@dataclass(eq=False)
class Program:
    """A whole model: the root graph and the sub graphs of its control flow."""

    name: str
    nets: list[Net] = field(default_factory=list)

    @property
    def root(self) -> Net:
        return self.nets[0]

    def ops(self) -> Iterator[Op]:
        for net in self.nets:
            yield from net.ops
