"""Sizes of inputs that some operator forces to be equal become one size.

A matrix product of `[3, a]` and `[b, 5]` runs only where a = b: `b` is replaced by `a` in the whole graph, so that a
call with other sizes is refused at the input that contradicts, and nothing has to ask again. Only operators outside
of branches and bodies count, since those inside may not run.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from ge_core.ir import dims
from ge_core.ir.dims import Dim, Size, Symbol
from ge_core.ir.graph import Graph
from ge_core.ir.types import TensorType, Type
from ge_core.ops.infer import requirements
from ge_core.passes.base import Pass, PassContext
from ge_core.passes.infer_types import InferTypes
from ge_core.passes.retype import bare_symbol, substitute


@dataclass(frozen=True)
class UnifySizes(Pass):
    """Looks at no regions, since what they hold may not run; replaces sizes everywhere."""

    def run(self, graph: Graph, ctx: PassContext) -> bool:
        order = {s: i for i, s in enumerate(dict.fromkeys(s for v in graph.inputs for s in _in_order(v.type)))}
        if not order:
            return False
        found = _Equalities(order)
        for node in graph.nodes:
            if not node.regions:
                for a, b in requirements(node):
                    found.add(a, b)
        if not found.table:
            return False
        substitute(graph, found.table)
        InferTypes().run(graph, ctx)
        return True


def _in_order(type: Type) -> list[Symbol]:
    sizes = type.shape or () if isinstance(type, TensorType) else ()
    return [s for size in sizes for s in sorted(dims.symbols(size))]


class _Equalities:
    """Replacements of symbols, none of which mentions a symbol that is replaced."""

    def __init__(self, order: dict[Symbol, int]) -> None:
        self.order = order
        self.table: dict[Symbol, Size] = {}

    def add(self, a: Size, b: Size) -> None:
        """Take in that two sizes are equal, where that says what the symbol of an input is."""
        difference = dims.substitute(a, self.table) - dims.substitute(b, self.table)
        if not isinstance(difference, Dim):
            return
        divisor = gcd(*(factor for _, factor in difference.terms))
        for symbol in sorted(dims.symbols(difference) & self.order.keys(), key=self.order.__getitem__, reverse=True):
            factor = dict(difference.terms).get(((symbol, 1),), 0)
            if abs(factor) == divisor:
                rest = difference - factor * self._sized(symbol)
                size = dims.exact_div(-rest if factor > 0 else rest, divisor)
                if size is not None and self._replace(symbol, size):
                    return

    def _join(self, kept: Symbol, gone: Symbol) -> bool:
        """Both symbols are one, within the bounds of both."""
        lo = max(kept.lo, gone.lo)
        hi = min((s.hi for s in (kept, gone) if s.hi is not None), default=None)
        if hi is not None and hi < lo:
            return False
        both = Symbol(kept.name, lo, hi)
        if both != kept:
            self.order[both] = self.order[kept]
            self._put(kept, dims.symbol(both.name, lo, hi))
        self._put(gone, dims.symbol(both.name, lo, hi))
        return True

    def _replace(self, symbol: Symbol, size: Size) -> bool:
        """Let a size stand for a symbol, where no call contradicts that."""
        other = bare_symbol(size)
        if other is not None and other in self.order:
            kept, gone = sorted((symbol, other), key=self.order.__getitem__)
            return self._join(kept, gone)
        if symbol in dims.symbols(size) or not dims.symbols(size) <= self.order.keys():
            return False
        if dims.less_equal(0, size) is not True or dims.equal(self._sized(symbol), size) is False:
            return False
        self._put(symbol, size)
        return True

    @staticmethod
    def _sized(symbol: Symbol) -> Size:
        return dims.symbol(symbol.name, symbol.lo, symbol.hi)

    def _put(self, symbol: Symbol, size: Size) -> None:
        for s, old in self.table.items():
            self.table[s] = dims.substitute(old, {symbol: size})
        self.table[symbol] = size
