"""Size expressions made fast: all sizes of a plan are evaluated by one generated function.

The function's text is built from the structure of the sizes (integers, operators and positions in a list), never
from names, so that a size read from a file cannot smuggle code in.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from ge_core.errors import PlanError
from ge_core.ir import dims
from ge_core.ir.dims import Atom, Dim, Size, Symbol

_MOST_DEPTH = 60


def upper_bound(size: Size, env: Mapping[str, int]) -> int | None:
    """The largest value of a size when the symbols of `env` are known; None when there is no bound."""
    if isinstance(size, int):
        return size
    known = dims.substitute(size, {s: env[s.name] for s in dims.symbols(size) if s.name in env})
    return dims.bounds(known)[1]


def has_bound(size: Size, known: Collection[str]) -> bool:
    """Whether a size is bounded once the symbols named in `known` have values."""
    if isinstance(size, int):
        return True
    ones = {s: max(s.lo, 1) for s in dims.symbols(size) if s.name in known}
    return dims.bounds(dims.substitute(size, ones))[1] is not None


def names_in(sizes: Iterable[Size]) -> set[str]:
    """Names of all symbols in some sizes."""
    return {s.name for size in sizes if isinstance(size, Dim) for s in dims.symbols(size)}


class SizeTable:
    """Distinct sizes, each with a number, evaluated all at once.

    Args:
        names: the symbols that have values when the table is evaluated.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._place = {name: i for i, name in enumerate(self.names)}
        self._index: dict[Size, int] = {}
        self._function: Callable[[Sequence[int]], tuple[int, ...]] | None = None

    def add(self, size: Size) -> int:
        """The number of a size.

        Raises:
            PlanError: it has a symbol without a value.
        """
        found = self._index.get(size)
        if found is None:
            missing = names_in([size]) - set(self._place)
            if missing:
                raise PlanError(f"the size {size} needs values for {', '.join(sorted(missing))}")
            found = self._index[size] = len(self._index)
            self._function = None
        return found

    def evaluate(self, values: Sequence[int]) -> tuple[int, ...]:
        """The values of all sizes, by number, for the symbols' values in the order of `names`."""
        if self._function is None:
            body = ", ".join(self._text(size, 0) for size in self._index)
            code = compile(f"lambda s: ({body}{',' if body else ''})", "<sizes>", "eval")
            self._function = eval(code, {"__builtins__": {}, "min": min, "max": max})
        return self._function(values)

    def _text(self, size: Size, depth: int) -> str:
        if isinstance(size, int):
            return f"({int(size)})"
        if depth > _MOST_DEPTH:
            raise PlanError("a size expression is nested too deeply")
        terms = []
        for monomial, factor in size.terms:
            factors = [str(int(factor))]
            for atom, power in monomial:
                factors += [self._atom(atom, depth + 1)] * power
            terms.append("*".join(factors))
        return f"({'+'.join(terms)})"

    def _atom(self, atom: Atom, depth: int) -> str:
        if isinstance(atom, Symbol):
            return f"s[{self._place[atom.name]}]"
        a, b = self._text(atom.a, depth), self._text(atom.b, depth)
        if atom.kind in ("min", "max"):
            return f"{atom.kind}({a},{b})"
        return f"({a}{'//' if atom.kind == 'floordiv' else '%'}{b})"
