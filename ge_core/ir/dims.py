"""Symbolic sizes: integer polynomials over atoms, in normal form, with interval bounds.

A `Dim` is a sum of integer coefficients times products of atoms. An atom is a `Symbol`, or FloorDiv, Mod, Min or
Max of polynomials. Two Dims are equal exactly when their normal forms are; "unknown" is an answer of every
question. Results that are constant are plain ints, so that `int | Dim` is the type of a size everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from ge_core.errors import GraphError, InputError

AtomKind = Literal["floordiv", "mod", "min", "max"]

MAX_TERMS = 4096
"""A product of sums grows exponentially with its text; no model comes near this."""


@dataclass(frozen=True, order=True)
class Symbol:
    """A named size; `lo` and `hi` are inclusive bounds, `hi` None means unbounded."""

    name: str
    lo: int = 0
    hi: int | None = None

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Op:
    """An atom that is no symbol: `kind` applied to two polynomials (or ints)."""

    kind: AtomKind
    a: Size
    b: Size

    def __str__(self) -> str:
        if self.kind in ("min", "max"):
            return f"{self.kind}({self.a}, {self.b})"
        sign = "//" if self.kind == "floordiv" else "%"
        return f"({_grouped(self.a)}{sign}{_grouped(self.b)})"


Atom: TypeAlias = Symbol | Op
Monomial: TypeAlias = tuple[tuple[Atom, int], ...]


@lru_cache(maxsize=65536)
def _key(atom: Atom) -> tuple[int, str]:
    return (0, atom.name) if isinstance(atom, Symbol) else (1, str(atom))


@lru_cache(maxsize=65536)
def _monomial_key(m: Monomial) -> tuple[object, ...]:
    return (-sum(p for _, p in m), tuple((_key(a), -p) for a, p in m))


class Dim:
    """A non-constant polynomial; build it from `symbol` and arithmetic, never directly."""

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: tuple[tuple[Monomial, int], ...]) -> None:
        self.terms = terms
        self._hash = hash(terms)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dim) and self._hash == other._hash and self.terms == other.terms

    def __reduce__(self) -> tuple[object, ...]:
        return (Dim, (self.terms,))

    def __str__(self) -> str:
        return _text(self.terms)

    __repr__ = __str__

    def __add__(self, other: Size) -> Size:
        if not isinstance(other, Dim) and other == 0:
            return self
        return _sum(self, other)

    __radd__ = __add__

    def __neg__(self) -> Size:
        return self * -1

    def __sub__(self, other: Size) -> Size:
        return self + (-1 * other)

    def __rsub__(self, other: Size) -> Size:
        return -1 * self + other

    def __mul__(self, other: Size) -> Size:
        if not isinstance(other, Dim) and other == 1:
            return self
        return _product_of(self, other)

    __rmul__ = __mul__

    def __floordiv__(self, other: Size) -> Size:
        return floordiv(self, other)

    def __rfloordiv__(self, other: Size) -> Size:
        return floordiv(other, self)

    def __mod__(self, other: Size) -> Size:
        return mod(self, other)

    def __rmod__(self, other: Size) -> Size:
        return mod(other, self)

    def __bool__(self) -> bool:
        raise TypeError(f"the size {self} is symbolic: ask `equal`, `less_equal` or `bounds` instead")


Size: TypeAlias = int | Dim


def symbol(name: str, lo: int = 0, hi: int | None = None) -> Dim:
    """A named size with inclusive bounds."""
    return Dim(((((Symbol(name, lo, hi), 1),), 1),))


def _terms(size: Size) -> tuple[tuple[Monomial, int], ...]:
    if isinstance(size, Dim):
        return size.terms
    return (((), int(size)),) if size else ()


def _merge(a: Iterable[tuple[Monomial, int]], b: Iterable[tuple[Monomial, int]]) -> dict[Monomial, int]:
    acc = dict(a)
    for m, c in b:
        acc[m] = acc.get(m, 0) + c
    return acc


@lru_cache(maxsize=65536)
def _sum(a: Dim, b: Size) -> Size:
    return _from(_merge(a.terms, _terms(b)))


@lru_cache(maxsize=65536)
def _product_of(a: Dim, b: Size) -> Size:
    if len(a.terms) * len(_terms(b)) > MAX_TERMS:
        raise GraphError(f"a size of more than {MAX_TERMS} terms")
    acc: dict[Monomial, int] = {}
    for m1, c1 in a.terms:
        for m2, c2 in _terms(b):
            m = _times(m1, m2)
            acc[m] = acc.get(m, 0) + c1 * c2
    return _from(acc)


def _from(acc: Mapping[Monomial, int]) -> Size:
    items = [(m, c) for m, c in acc.items() if c]
    if not items:
        return 0
    if len(items) == 1 and not items[0][0]:
        return items[0][1]
    if len(items) > 1:
        items.sort(key=lambda t: _monomial_key(t[0]))
    return Dim(tuple(items))


def _times(a: Monomial, b: Monomial) -> Monomial:
    if not a or not b:
        return a or b
    powers: dict[Atom, int] = {}
    for atom, p in (*a, *b):
        powers[atom] = powers.get(atom, 0) + p
    return tuple(sorted(powers.items(), key=lambda t: _key(t[0])))


def _over(a: Monomial, b: Monomial) -> Monomial | None:
    powers = dict(a)
    for atom, p in b:
        have = powers.get(atom, 0)
        if have < p:
            return None
        powers[atom] = have - p
    return tuple((atom, p) for atom, p in sorted(powers.items(), key=lambda t: _key(t[0])) if p)


def _text(terms: tuple[tuple[Monomial, int], ...]) -> str:
    out = ""
    for m, c in terms:
        body = "*".join("*".join([_atom_text(a)] * p) for a, p in m)
        text = str(abs(c)) if not body else body if abs(c) == 1 else f"{abs(c)}*{body}"
        sign = "-" if c < 0 else "+" if out else ""
        out += sign + text
    return out or "0"


def _atom_text(atom: Atom) -> str:
    return str(atom)


def _grouped(size: Size) -> str:
    if isinstance(size, Dim) and (len(size.terms) > 1 or size.terms[0][1] != 1 or _product(size)):
        return f"({size})"
    return f"({size})" if not isinstance(size, Dim) and size < 0 else str(size)


def _product(size: Dim) -> bool:
    m = size.terms[0][0]
    return len(m) > 1 or m[0][1] > 1


def exact_div(a: Size, b: Size) -> Size | None:
    """a / b when it is a polynomial without remainder, else None (multivariate long division)."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b if b and a % b == 0 else None
    divisor = _terms(b)
    if not divisor:
        return None
    (lead, lead_c) = divisor[0]
    rest: Size = a
    quotient: Size = 0
    for _ in range(64):
        terms = _terms(rest)
        if not terms:
            return quotient
        step = None
        for m, c in terms:
            over = _over(m, lead)
            if over is not None and c % lead_c == 0:
                step = _from({over: c // lead_c})
                break
        if step is None:
            return None
        quotient = quotient + step
        rest = rest - step * b
    return None


def floordiv(a: Size, b: Size) -> Size:
    """floor(a / b), Python's rule for negatives."""
    if isinstance(b, int) and b == 0:
        raise GraphError(f"size {a} divided by zero")
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    exact = exact_div(a, b)
    if exact is not None and (isinstance(b, int) or (bounds(b)[0] or 0) > 0):
        return exact
    if isinstance(b, int) and b > 0 and isinstance(a, Dim):
        # floor((b*q + r)/b) = q + floor(r/b): take out what divides, term by term
        whole = {m: c // b for m, c in a.terms if m}
        left = _from({m: c - whole.get(m, 0) * b for m, c in a.terms})
        carry, part = _from(whole), left
        if isinstance(part, Dim):
            const = dict(part.terms).get((), 0)
            carry, part = carry + const // b, part - (const // b) * b
            nested = _nested_floor(part, b) if isinstance(part, Dim) else None
            if nested is not None:
                return carry + nested
            lo, hi = bounds(part)
            if lo is not None and hi is not None and lo // b == hi // b:
                return carry + lo // b
            return carry + _atom("floordiv", part, b)
        return carry + part // b
    lo_a, hi_a = bounds(a)
    lo_b, _ = bounds(b)
    if lo_a is not None and hi_a is not None and lo_b is not None and lo_a >= 0 and hi_a < lo_b:
        return 0
    return _atom("floordiv", a, b)


def _nested_floor(part: Dim, b: int) -> Size | None:
    """floor((floor(x/a) + c)/b) = floor((x + a*c)/(a*b)) for positive a and b."""
    const = dict(part.terms).get((), 0)
    rest = [(m, c) for m, c in part.terms if m]
    if len(rest) != 1 or rest[0][1] != 1 or len(rest[0][0]) != 1 or rest[0][0][0][1] != 1:
        return None
    atom = rest[0][0][0][0]
    if isinstance(atom, Op) and atom.kind == "floordiv" and isinstance(atom.b, int) and atom.b > 0:
        return floordiv(atom.a + atom.b * const, atom.b * b)
    return None


def mod(a: Size, b: Size) -> Size:
    """a modulo b with the sign of b, Python's rule."""
    if isinstance(b, int) and b == 0:
        raise GraphError(f"size {a} modulo zero")
    if isinstance(a, int) and isinstance(b, int):
        return a % b
    if exact_div(a, b) is not None:
        return 0
    lo_a, hi_a = bounds(a)
    lo_b, _ = bounds(b)
    if lo_a is not None and hi_a is not None and lo_b is not None and lo_a >= 0 and hi_a < lo_b:
        return a
    if isinstance(b, int) and isinstance(a, Dim):
        reduced = _from({m: c % b for m, c in a.terms})
        if reduced != a:
            return mod(reduced, b)
    return _atom("mod", a, b)


def ceildiv(a: Size, b: Size) -> Size:
    """ceil(a / b) for positive b."""
    if isinstance(a, int) and isinstance(b, int):
        return -(-a // b)
    return floordiv(a + b - 1, b)


def minimum(a: Size, b: Size) -> Size:
    """The smaller of two sizes."""
    if less_equal(a, b):
        return a
    if less_equal(b, a):
        return b
    return _atom("min", *_ordered(a, b))


def maximum(a: Size, b: Size) -> Size:
    """The larger of two sizes."""
    if less_equal(a, b):
        return b
    if less_equal(b, a):
        return a
    return _atom("max", *_ordered(a, b))


def _ordered(a: Size, b: Size) -> tuple[Size, Size]:
    return (a, b) if str(a) <= str(b) else (b, a)


def _atom(kind: AtomKind, a: Size, b: Size) -> Size:
    return Dim(((((Op(kind, a, b), 1),), 1),))


def product(sizes: Iterable[Size]) -> Size:
    """The product of sizes; 1 for none."""
    total: Size = 1
    for size in sizes:
        total = total * size
    return total


Bounds: TypeAlias = tuple[int | None, int | None]


@lru_cache(maxsize=65536)
def bounds(size: Size) -> Bounds:
    """Inclusive bounds (lo, hi); None where there is none."""
    if isinstance(size, int):
        return size, size
    lo: int | None = 0
    hi: int | None = 0
    for m, c in size.terms:
        mlo, mhi = _monomial_bounds(m)
        if c < 0:
            mlo, mhi = mhi, mlo
        lo = None if lo is None or mlo is None else lo + c * mlo
        hi = None if hi is None or mhi is None else hi + c * mhi
    return lo, hi


def _monomial_bounds(m: Monomial) -> Bounds:
    lo: int | None = 1
    hi: int | None = 1
    for atom, power in m:
        alo, ahi = _atom_bounds(atom)
        for _ in range(power):
            if lo is None or alo is None or lo < 0 or alo < 0:
                ends = [lo, hi, alo, ahi]
                if any(e is None for e in ends):
                    return None, None
                products = [x * y for x in (lo, hi) for y in (alo, ahi)]  # type: ignore[operator]
                lo, hi = min(products), max(products)
                continue
            lo, hi = lo * alo, (None if hi is None or ahi is None else hi * ahi)
    return lo, hi


def _atom_bounds(atom: Atom) -> Bounds:
    if isinstance(atom, Symbol):
        return atom.lo, atom.hi
    (alo, ahi), (blo, bhi) = bounds(atom.a), bounds(atom.b)
    if atom.kind == "min":
        highs = [h for h in (ahi, bhi) if h is not None]
        return (None if alo is None or blo is None else min(alo, blo)), (min(highs) if highs else None)
    if atom.kind == "max":
        lows = [x for x in (alo, blo) if x is not None]
        return (max(lows) if lows else None), (None if ahi is None or bhi is None else max(ahi, bhi))
    if atom.kind == "mod":
        if blo is None or blo <= 0:
            return None, None
        return 0, (None if bhi is None else bhi - 1)
    if blo is None or blo <= 0:
        return None, None
    lo = (
        None
        if alo is None
        else (0 if bhi is None and alo >= 0 else None if bhi is None else min(alo // blo, alo // bhi))
    )
    hi = None if ahi is None else max(ahi // blo, (ahi // bhi if bhi is not None else 0))
    return lo, hi


def equal(a: Size, b: Size) -> bool | None:
    """True or False when it holds for every binding within the bounds, else None."""
    if a == b:
        return True
    lo, hi = bounds(a - b)
    if (lo is not None and lo > 0) or (hi is not None and hi < 0):
        return False
    return None


def less_equal(a: Size, b: Size) -> bool | None:
    """Whether a <= b for every binding: True, False, or None when it depends or is unknown."""
    excess = a - b
    lo, hi = bounds(excess)
    if hi is not None and hi <= 0:
        return True
    if lo is not None and lo > 0:
        return False
    most = bounds(_no_less(excess))[1]
    return True if most is not None and most <= 0 else None


def _no_less(size: Size) -> Size:
    """A size that is never smaller, in which quotients and remainders are replaced by what they are made of."""
    if isinstance(size, int):
        return size
    total: Size = 0
    for m, c in size.terms:
        term = None
        if len(m) == 1 and m[0][1] == 1 and not isinstance(m[0][0], Symbol):
            term = _most(m[0][0], c)
        total = total + (Dim(((m, c),)) if term is None else term)
    return total


def _most(atom: Op, c: int) -> Size | None:
    """What c times an atom is at most; None when nothing is known."""
    a, b = atom.a, atom.b
    least, divisor = bounds(a)[0], bounds(b)[0]
    if atom.kind == "mod" and divisor is not None and divisor > 0:
        return (b - 1) * c if c > 0 else 0
    if atom.kind == "floordiv" and divisor is not None and divisor > 0 and least is not None and least >= 0:
        return a * c if c > 0 else 0
    return None


def symbols(size: Size) -> frozenset[Symbol]:
    """All symbols of a size."""
    if isinstance(size, int):
        return frozenset()
    return frozenset(s for m, _ in size.terms for atom, _ in m for s in _atom_symbols(atom))


def _atom_symbols(atom: Atom) -> frozenset[Symbol]:
    return frozenset({atom}) if isinstance(atom, Symbol) else symbols(atom.a) | symbols(atom.b)


def substitute(size: Size, mapping: Mapping[Symbol, Size] | Callable[[Symbol], Size]) -> Size:
    """The size with symbols replaced; symbols not in the mapping stay."""
    if isinstance(size, int):
        return size
    get = mapping if callable(mapping) else lambda s: mapping.get(s, Dim(((((s, 1),), 1),)))
    total: Size = 0
    for m, c in size.terms:
        term: Size = c
        for atom, power in m:
            value = (
                get(atom)
                if isinstance(atom, Symbol)
                else _apply(atom.kind, substitute(atom.a, get), substitute(atom.b, get))
            )
            for _ in range(power):
                term = term * value
        total = total + term
    return total


def _apply(kind: AtomKind, a: Size, b: Size) -> Size:
    return {"floordiv": floordiv, "mod": mod, "min": minimum, "max": maximum}[kind](a, b)


def evaluate(size: Size, env: Mapping[str, int]) -> int:
    """The value of a size for symbol values by name.

    Raises:
        InputError: a symbol has no value.
    """
    if isinstance(size, int):
        return size

    def value(s: Symbol) -> Size:
        if s.name not in env:
            raise InputError(f"the size {size} needs a value for {s.name}")
        return env[s.name]

    result = substitute(size, value)
    assert isinstance(result, int)
    return result
