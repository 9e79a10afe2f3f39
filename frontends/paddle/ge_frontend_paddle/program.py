"""What every reader gives: a program as a list of operators, from a live layer or from either file form.

Values have numbers. An operator that writes one of its operands in place (`relu_`, `array_write_`) gives a result
with the operand's number: reading the number afterwards gives what was written, as in Paddle's memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ge_core.ir.dtype import DType

ABSENT = 0
"""The number of an optional operand that is not given."""


LOST = object()
"""The value of an attribute that was an infinity or NaN: Paddle writes null for all three."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor's element type (None when Paddle states none) and shape (-1 for a size that is not fixed)."""

    dtype: DType | None
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Array:
    """A tensor array: a list of tensors of one element type."""

    dtype: DType | None


@dataclass(frozen=True, slots=True)
class Vector:
    """Several tensors that stand together as one operand or result."""

    items: tuple[Tensor | None, ...]


Kind: TypeAlias = Tensor | Array | Vector | None


@dataclass(frozen=True, slots=True)
class Result:
    """A value that an operator or block defines: its number and what it is."""

    number: int
    kind: Kind


@dataclass(slots=True)
class Operator:
    """One operator.

    Attributes:
        name: without dialect (`conv2d`); those of the builtin and control flow dialects with it (`builtin.split`,
            `cf.yield`).
        operands: numbers of values; `ABSENT` for an optional one that is left out.
        attributes: numbers, texts, lists, element types (DType, None for "as the data").
        blocks: of `if`, `while` and the like.
        stack: Paddle's call stack, its lines of text from the outermost call inwards.
        module: the path of the layer.
    """

    name: str
    operands: Sequence[int]
    results: Sequence[Result]
    attributes: dict[str, Any]
    blocks: Sequence[Block] = ()
    stack: Sequence[str] = ()
    module: str = ""


@dataclass(slots=True)
class Block:
    """Operators in order, and the values that enter."""

    operators: list[Operator] = field(default_factory=list)
    params: Sequence[Result] = ()


@dataclass(frozen=True, slots=True)
class Input:
    """An input of a program; its shape has -1 for a size that is not fixed."""

    name: str
    number: int
    tensor: Tensor


@dataclass(slots=True)
class Program:
    """A whole program.

    Attributes:
        name: for messages: the layer's class, or the file's name.
        inputs, outputs: of the outermost block; an output has a name and the number of a value.
        stored: names of the parameters that a parameter file holds.
        exact_shapes: whether the shapes of results are what Paddle computes; those of legacy programs are hints.
    """

    name: str
    block: Block
    inputs: list[Input]
    outputs: list[tuple[str, int]]
    stored: dict[str, Tensor] = field(default_factory=dict)
    exact_shapes: bool = True

    def operators(self) -> Iterator[Operator]:
        """All operators, those of inner blocks behind the one that holds them."""
        yield from walk(self.block)


def walk(block: Block) -> Iterator[Operator]:
    """All operators of a block and of its inner blocks."""
    for operator in block.operators:
        yield operator
        for inner in operator.blocks:
            yield from walk(inner)


# Operators whose in-place form does not write operand 0 as result 0: result -> operand.
_WRITES = {
    "assign_out_": {0: 1},
    "batch_norm_": {},
    "sync_batch_norm_": {},
    "fused_multi_transformer_": {},
}


def writes(name: str) -> dict[int, int]:
    """Which results of an operator are operands that it writes in place: result -> operand."""
    if not name.endswith("_") or "." in name:
        return {}
    return _WRITES.get(name, {0: 0})
