"""Epilogues: pointwise operators on the sums of a contraction while they are in registers.

An epilogue is a list of steps. Value 0 is the sum, value i + 1 the result of step i. What else the steps read are
sides: scalars, values by column (bias, per-channel scale), by row, or full tensors of the output's shape (residual).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ge_core.ir.dtype import DType
from ge_core.ops.expression import Apply, Arg, Expr, Number

Tree: TypeAlias = list[Any]
"""["value", i], ["side", i], ["number", x], [primitive, *trees], ["cast", tree, name of the element type, saturate],
["quantise", tree, scale, zero point, name of the element type, whether the scale's reciprocal will do], or
["rounded", i] for a "quantise" that is value i: what it was before its zero point was added, as float32."""

Kind = Literal["scalar", "column", "row", "full"]


@dataclass(frozen=True)
class Side:
    """An operand of the epilogue.

    Attributes:
        kind: what its element depends on.
        dtype: name of its element type.
    """

    kind: Kind
    dtype: str


@dataclass(frozen=True)
class Step:
    """One operator.

    Attributes:
        tree: what it computes.
        dtype: name of the element type of the result.
    """

    tree: Tree
    dtype: str


@dataclass(frozen=True)
class Epilogue:
    """What becomes of the sums.

    Attributes:
        source: name of the sums' element type as the graph has it (a float16 product is summed in float32).
        outputs: numbers of the values that are stored; the kernel's outputs, in order.
    """

    source: str
    steps: tuple[Step, ...] = ()
    sides: tuple[Side, ...] = ()
    outputs: tuple[int, ...] = (0,)

    def dtype(self, value: int) -> DType:
        """Element type of a value."""
        return DType.of(self.source if value == 0 else self.steps[value - 1].dtype)

    def to_json(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "steps": [[s.tree, s.dtype] for s in self.steps],
            "sides": [[s.kind, s.dtype] for s in self.sides],
            "outputs": list(self.outputs),
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Epilogue:
        return Epilogue(
            data["source"],
            tuple(Step(*s) for s in data["steps"]),
            tuple(Side(*s) for s in data["sides"]),
            tuple(data["outputs"]),
        )

    @property
    def weight(self) -> int:
        """Primitives per element, functions counted as twenty: what decides between one copy of the code and many."""
        return sum(_weight(step.tree) for step in self.steps)


def tree_of(expression: Expr, arguments: Sequence[Tree]) -> Tree:
    """The tree of a pointwise row's expression on some operands."""
    if isinstance(expression, Arg):
        return arguments[expression.index]
    if isinstance(expression, Number):
        return ["number", expression.value]
    assert isinstance(expression, Apply)
    operands = [tree_of(a, arguments) for a in expression.args]
    if expression.name in _COMMUTATIVE:
        operands.sort(key=lambda tree: tree[0] != "value")  # x + residual and residual + x are one kernel
    return [expression.name, *operands]


_COMMUTATIVE = frozenset({"add", "mul"})

_CHEAP = frozenset({"add", "sub", "mul", "neg", "abs", "min", "max", "select", "lt", "le", "eq", "ne", "not", "cast"})


def _weight(tree: Tree) -> int:
    if tree[0] in ("value", "side", "number"):
        return 0
    own = 1 if tree[0] in _CHEAP else 10 if tree[0] == "quantise" else 20
    return own + sum(_weight(t) for t in tree[1:] if isinstance(t, list))
