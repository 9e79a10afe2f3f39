"""One block while it is lowered: its operators, and what stands for which value."""

from __future__ import annotations

from dataclasses import dataclass, field

from ge_ascend.net import Net, Out
from ge_core.ir.builder import Builder
from ge_core.ir.dims import Dim, Symbol
from ge_core.ir.graph import Value
from ge_core.ir.types import TensorType


@dataclass(eq=False)
class Scope:
    """The state of a block.

    Attributes:
        b: builds the IR graph that the operators mean.
        outs: what stands for a value of the source graph.
        symbols: a value that has a symbol as one of its sizes, and the axis.
        scalars: int64 scalars that hold a symbol's value.
        made: results that are made once per block (constants, casts, sizes), by what they are.
    """

    net: Net
    b: Builder
    outs: dict[Value, Out] = field(default_factory=dict)
    symbols: dict[str, tuple[Out, int]] = field(default_factory=dict)
    scalars: dict[str, Out] = field(default_factory=dict)
    made: dict[object, Out] = field(default_factory=dict)

    def bind(self, value: Value, out: Out) -> None:
        """Let an output stand for a value; its symbolic sizes can be asked for from now on."""
        self.outs[value] = out
        if isinstance(value.type, TensorType) and value.type.shape is not None:
            for axis, size in enumerate(value.type.shape):
                symbol = bare_symbol(size)
                if symbol is not None:
                    self.symbols.setdefault(symbol.name, (out, axis))

    def knows(self, symbol: Symbol) -> bool:
        return symbol.name in self.symbols or symbol.name in self.scalars


def bare_symbol(size: object) -> Symbol | None:
    """The symbol that a size is, None for numbers and expressions."""
    if not isinstance(size, Dim) or len(size.terms) != 1:
        return None
    (monomial, factor), *_ = size.terms
    if factor != 1 or len(monomial) != 1:
        return None
    atom, exponent = monomial[0]
    return atom if isinstance(atom, Symbol) and exponent == 1 else None
