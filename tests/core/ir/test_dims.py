"""Sizes: arithmetic is a homomorphism of evaluation, text round-trips, answers hold for every binding."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_core.errors import GraphError, InputError
from ge_core.ir import dims
from ge_core.ir.dims import Size, Symbol, symbol
from ge_core.ir.size_text import parse_size

A, B = Symbol("a", 1, 9), Symbol("b", 0, 5)
TABLE = {"a": A, "b": B}
BINDINGS = [{"a": a, "b": b} for a in (1, 2, 3, 7, 9) for b in (0, 1, 4, 5)]


def _dim(s: Symbol) -> Size:
    return symbol(s.name, s.lo, s.hi)


Expr = tuple[Size, Callable[[dict[str, int]], int]]


def _leaf() -> st.SearchStrategy[Expr]:
    ints = st.integers(-6, 6).map(lambda n: (n, lambda env: n))
    return st.one_of(ints, st.just((_dim(A), lambda env: env["a"])), st.just((_dim(B), lambda env: env["b"])))


def _combine(children: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    def binary(op: str) -> Callable[[tuple[Expr, Expr]], Expr]:
        sized = {"+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y}
        sized |= {"min": dims.minimum, "max": dims.maximum}
        plain = {"+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y, "min": min, "max": max}
        return lambda p: (sized[op](p[0][0], p[1][0]), lambda env: plain[op](p[0][1](env), p[1][1](env)))

    def divided(p: tuple[Expr, int, str]) -> Expr:
        (size, value), n, op = p
        if op == "//":
            return dims.floordiv(size, n), lambda env: value(env) // n
        return dims.mod(size, n), lambda env: value(env) % n

    pairs = st.tuples(children, children)
    return st.one_of(
        *(pairs.map(binary(op)) for op in ("+", "-", "*", "min", "max")),
        st.tuples(children, st.sampled_from([1, 2, 3, 4, -2]), st.sampled_from(["//", "%"])).map(divided),
    )


EXPRESSIONS = st.recursive(_leaf(), _combine, max_leaves=7)


@given(EXPRESSIONS)
@settings(max_examples=300, deadline=None)
def test_evaluation_bounds_and_text(e: Expr) -> None:
    size, value = e
    lo, hi = dims.bounds(size)
    for env in BINDINGS:
        got = dims.evaluate(size, env)
        assert got == value(env)
        assert lo is None or lo <= got
        assert hi is None or got <= hi
    parsed = parse_size(str(size), TABLE)
    assert all(dims.evaluate(parsed, env) == dims.evaluate(size, env) for env in BINDINGS)


@given(EXPRESSIONS, EXPRESSIONS)
@settings(max_examples=200, deadline=None)
def test_answers_hold_for_every_binding(x: Expr, y: Expr) -> None:
    equal, below = dims.equal(x[0], y[0]), dims.less_equal(x[0], y[0])
    for env in BINDINGS:
        assert equal is None or equal == (x[1](env) == y[1](env))
        assert below is None or below == (x[1](env) <= y[1](env))
    quotient = dims.exact_div(x[0], y[0])
    if quotient is not None:
        assert quotient * y[0] == x[0]


def test_normal_form_makes_equal_sizes_equal() -> None:
    s = symbol("s", 1)
    assert (s + 1) * (s - 1) == s * s - 1
    assert (4 * s + 6) // 2 == 2 * s + 3
    assert dims.floordiv(dims.floordiv(s, 2), 3) == s // 6
    assert (4 * s + 3) % 4 == 3
    assert dims.exact_div((s + 1) * 64 * s, 64 * (s + 1)) == s
    assert dims.floordiv((s - 1) // 2 + 1 - 1, 2) + 1 == (s - 1) // 4 + 1


def test_quotients_and_remainders_are_within_what_they_are_made_of() -> None:
    s = symbol("s", 1)
    assert dims.less_equal(s // 2, s) is True
    assert dims.less_equal(1, s - dims.mod(3, s)) is True
    assert dims.less_equal(2, s - dims.mod(3, s)) is None


def test_constants_are_plain_ints() -> None:
    s = symbol("s", 1)
    assert s - s == 0 and isinstance(s - s, int)
    assert dims.floordiv(symbol("k", 0, 3), 4) == 0


def test_a_symbolic_size_has_no_truth_value() -> None:
    with pytest.raises(TypeError, match="symbolic"):
        bool(symbol("s"))


@pytest.mark.parametrize("text", ["", "1+", "(a", "a b", "min(a)", "9" * 30, "(" * 200 + "a", "a//0", "a%0", "é!"])
def test_malformed_text_is_refused(text: str) -> None:
    with pytest.raises(GraphError):
        parse_size(text, TABLE)


def test_evaluation_needs_every_symbol() -> None:
    with pytest.raises(InputError, match="needs a value for s"):
        dims.evaluate(symbol("s") + 1, {})
