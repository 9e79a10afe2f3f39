"""Generated size functions agree with the sizes; bounds are bounds; times and spans are as documented."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_core.errors import PlanError
from ge_core.ir import Builder, Graph, Size, dims, symbol
from ge_core.plan.bind import bindings
from ge_core.plan.lifetimes import lifetimes, merged
from ge_core.plan.sizes import SizeTable, has_bound, upper_bound

few = settings(max_examples=150, deadline=None, derandomize=True, database=None)
NAMES = ("a", "b", "odd.name", "lambda")
SYMBOLS = [symbol(name, 0, 9 if name == "b" else None) for name in NAMES]


def _combined(children: st.SearchStrategy[Size]) -> st.SearchStrategy[Size]:
    pairs = st.tuples(children, children)
    return st.one_of(
        pairs.map(lambda p: p[0] + p[1]),
        pairs.map(lambda p: p[0] * p[1]),
        pairs.map(lambda p: dims.minimum(*p)),
        pairs.map(lambda p: dims.maximum(*p)),
        st.tuples(children, st.integers(1, 7)).map(lambda p: dims.floordiv(*p)),
        st.tuples(children, st.integers(1, 7)).map(lambda p: dims.mod(*p)),
    )


sizes = st.recursive(st.one_of(st.integers(-3, 50), st.sampled_from(SYMBOLS)), _combined, max_leaves=8)


@few
@given(found=st.lists(sizes, max_size=5), values=st.tuples(*(st.integers(0, 9) for _ in NAMES)))
def test_table_evaluates_all_sizes(found: list[Size], values: tuple[int, ...]) -> None:
    table = SizeTable(NAMES)
    numbers = [table.add(size) for size in found]
    env = dict(zip(NAMES, values, strict=True))
    results = table.evaluate(values)
    assert [results[i] for i in numbers] == [dims.evaluate(size, env) for size in found]
    for size in found:
        top = upper_bound(size, {k: v for k, v in env.items() if k != "b"})
        assert top is None or dims.evaluate(size, env) <= top
        assert has_bound(size, NAMES)


def test_table_refuses_what_it_cannot_know() -> None:
    with pytest.raises(PlanError, match="needs values for u"):
        SizeTable(["a"]).add(symbol("u") * 2)
    assert not has_bound(symbol("u") * 2, ["a"]) and has_bound(symbol("u", 0, 8) * symbol("a"), ["a"])


def test_spans_touch_and_merge() -> None:
    assert merged([(4, 6), (1, 2), (2, 3), (8, 8), (5, 7)]) == ((1, 3), (4, 7))


def test_times_go_through_regions() -> None:
    g = Graph()
    b = Builder(g)
    x = b.input("x", "float32", (2,))
    h = b.Exp(x)
    y = b.If(b.input("c", "bool", ()), then_branch=lambda r: [r.Neg(h)], else_branch=lambda r: [r.Abs(h)])
    z = b.Loop(np.int64(2), None, [y], body=lambda r, i, go, s: [go, r.Add(s, h)])
    b.outputs(z)
    lives = lifetimes(g)
    exp, branch, loop = g.nodes
    # exp 0 | if 1, then 2 (neg 3) 4, else 5 (abs 6) 7, leave 8 | loop 9, body 10 (add 11) 12, leave 13 | end 14
    assert [lives.time[n] for n in (exp, branch, loop)] == [0, 1, 9] and lives.end == 14
    assert lives.leave[branch] == 8 and lives.leave[loop] == 13
    assert lives.spans[h] == ((0, 10),)  # read by the branches and captured by the loop
    (captured,) = (c.param for c in loop.regions["body"].captures if c.outer is h)
    assert lives.spans[captured] == ((9, 14),)  # every round reads it
    assert lives.spans[y] == ((4, 5), (7, 10))  # written at the end of each branch
    carried = loop.regions["body"].params[2]
    assert lives.spans[carried] == ((9, 14),)
    assert lives.spans[loop.regions["body"].outputs[1]] == ((11, 13),)


def test_symbols_bind_from_bare_sizes_first() -> None:
    g = Graph()
    b = Builder(g)
    n = symbol("n", 1)
    b.input("x", "float32", (2 * n, 3))
    b.input("y", "float32", (n,))
    found, checks = bindings(g.inputs)
    assert [(f.index, f.axis, f.factor) for f in found] == [(1, 0, 1)]
    assert [(c.index, c.axis, str(c.size)) for c in checks] == [(0, 0, "2*n"), (0, 1, "3")]
