"""Patterns, reasons, and the driver of rewrite rules."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from ge_core.errors import PassError
from ge_core.ir import Builder, Graph, Location, Value, symbol
from ge_core.passes import PassContext
from ge_core.passes.locations import merged
from ge_core.passes.matching import Any_, Constant, Either, Match, Node, Scalar, Trial
from ge_core.passes.rewrite import RewritePass, Rule, apply, rule
from tests.core.passes.rewriting import ops

X, Y = Any_("x"), Any_("y")


def found(pattern: Node, value: Value) -> Match | None:
    node = value.producer
    assert node is not None
    m = Match(node)
    for _ in pattern.match_node(node, m, Trial(node)):
        return m
    return None


def reason(pattern: Node, value: Value) -> str:
    node = value.producer
    assert node is not None
    m, trial = Match(node), Trial(node)
    assert not list(pattern.match_node(node, m, trial))
    assert not m.values and not m.matched and not m.named
    return trial.reason


@pytest.fixture
def b() -> Builder:
    return Builder(Graph("test"))


@pytest.fixture
def x(b: Builder) -> Value:
    return b.input("x", "float32", (symbol("n", 1), 4))


def test_commutative_operands_match_in_both_orders(b: Builder, x: Value) -> None:
    pattern = Node("Mul", X, Node("Sigmoid", X))
    s = b.Sigmoid(x)
    for value in (b.Mul(x, s), b.Mul(s, x)):
        m = found(pattern, value)
        assert m is not None and m["x"] is x
    assert found(Node("Sub", X, Node("Sigmoid", X)), b.Sub(s, x)) is None


def test_a_name_binds_one_value(b: Builder, x: Value) -> None:
    y = b.Neg(x)
    assert found(Node("Add", X, X), b.Add(x, x)) is not None
    assert reason(Node("Sub", X, X), b.Sub(x, y)) == "%neg and %x must be one value (x)"


def test_matching_backtracks_into_inner_choices(b: Builder, x: Value) -> None:
    # the first way to bind the inner product leaves the outer factor unmatched
    y, z = b.Neg(x), b.Abs(x)
    pattern = Node("Mul", Node("Mul", X, Y), X)
    m = found(pattern, b.Mul(b.Mul(y, z), z))
    assert m is not None and m["x"] is z and m["y"] is y


def test_reasons_name_the_deepest_failure(b: Builder, x: Value) -> None:
    pattern = Node("Mul", X, Node("Sigmoid", Node("Neg", X)))
    assert reason(pattern, b.Mul(x, b.Sigmoid(b.Abs(x)))) == "expected Neg, %abs is Abs"
    assert reason(Node("Softmax", X, axis=0), b.Softmax(x)) == "axis is -1, expected 0"
    assert reason(Node("Clip", X), b.Clip(x, 0.0)) == "Clip has 2 inputs, expected 1"
    assert "expected 2.0" in reason(Node("Sub", X, Scalar(value=2.0)), b.Sub(x, 3.0))
    assert reason(Node("Sub", X, Constant("c")), b.Sub(x, x)) == "%x is no constant"


def test_scalars_match_to_the_rounding_of_their_type(b: Builder) -> None:
    h = b.input("h", "float16", (2,))
    assert found(Node("Mul", X, Scalar(value=0.7978845608)), b.Mul(h, np.float16(0.7978845608))) is not None
    assert found(Node("Mul", X, Scalar(value=0.79)), b.Mul(h, np.float16(0.7978845608))) is None


def test_either_takes_the_first_that_fits(b: Builder, x: Value) -> None:
    pattern = Node("Neg", Either(Node("Abs", X), X))
    wide, narrow = found(pattern, b.Neg(b.Abs(x))), found(pattern, b.Neg(x))
    assert wide is not None and wide["x"] is x
    assert narrow is not None and narrow["x"] is x


@rule(Node("Neg", Node("Neg", X)), single_use=True, explain=True)
def double(m: Match, b: Builder) -> Value:
    return m["x"]


def test_single_use_keeps_what_others_read_and_says_so(b: Builder, x: Value) -> None:
    inner = b.Neg(x)
    b.outputs(b.Neg(inner), inner)
    ctx = PassContext(explain=True)
    assert not apply(b.graph, [double], ctx)
    assert "read outside the match" in ctx.report.misses[0].reason
    assert ctx.report.misses[0].rule == "double"


@rule(Node("Abs", X))
def builds_then_declines(m: Match, b: Builder) -> Value:
    y = b.Add(m["x"], b.constant(np.float32(7)))
    m.require(False, "changed its mind")
    return y


def test_a_rule_that_declines_after_building_leaves_no_trace(b: Builder, x: Value) -> None:
    b.outputs(b.Abs(x))
    assert not apply(b.graph, [builds_then_declines], PassContext(debug=True))
    assert ops(b.graph) == ["Abs"] and not b.graph.constants


def test_declining_inside_a_region_takes_back_captures(b: Builder, x: Value) -> None:
    c = b.input("c", "bool", ())
    y = b.If(c, then_branch=lambda r: [r.Abs(r.Neg(x))], else_branch=lambda r: [r.Neg(x)])
    b.outputs(y)
    assert not apply(b.graph, [builds_then_declines], PassContext(debug=True))
    assert [len(r.captures) for r in b.graph.nodes.first.regions.values()] == [1, 1]  # type: ignore[union-attr]


@rule(Node("Abs", X))
def other_type(m: Match, b: Builder) -> Value:
    return b.Cast(m["x"], to="float16")


def test_another_element_type_is_an_error_that_names_the_rule(b: Builder, x: Value) -> None:
    b.outputs(b.Abs(x))
    with pytest.raises(PassError, match="rule other-type replaces"):
        apply(b.graph, [other_type], PassContext())


@rule(Node("Add", X, Y))
def first_operand(m: Match, b: Builder) -> Value:
    return m["x"]


def test_a_replacement_that_knows_less_of_the_shape_is_declined(b: Builder) -> None:
    x = b.input("a", "float32", (symbol("k", 1),))
    y = b.input("b", "float32", (4,))
    b.outputs(b.Add(x, y))
    assert not apply(b.graph, [first_operand], PassContext())


def test_rewrites_merge_locations(b: Builder, x: Value) -> None:
    with b.at(Location("torch", "net.block.act", "net.py", 7, "neg")):
        y = b.Neg(x)
    with b.at(Location("torch", "net.block.out", "net.py", 9, "abs")):
        b.outputs(b.Abs(y))

    @rule(Node("Abs", Node("Neg", X)))
    def abs_of_neg(m: Match, b: Builder) -> Value:
        return b.Abs(m["x"])

    assert apply(b.graph, [abs_of_neg], PassContext())
    assert b.graph.nodes.first.loc == Location("torch", "net.block", "net.py", 9, "abs")  # type: ignore[union-attr]


def test_a_value_keeps_its_name_through_rewrites(b: Builder, x: Value) -> None:
    @rule(Node("Abs", Node("Neg", X)))
    def abs_of_neg(m: Match, b: Builder) -> Value:
        return b.Abs(m["x"])

    y = b.Exp(b.op("Abs", b.Neg(x), names=["magnitude"]))
    b.outputs(y)
    assert apply(b.graph, [abs_of_neg], PassContext())
    assert [n.outputs[0].name for n in b.graph.nodes] == ["magnitude", "exp"]


def test_merged_locations() -> None:
    a, c = Location("torch", "a.b", "f.py", 1, "x"), Location("torch", "a.c", "f.py", 2, "y")
    assert merged(a, [c]) == Location("torch", "a", "f.py", 1, "x")
    assert merged(Location(), [c]) == c
    assert merged(a, [Location()]) == a
    assert merged(Location(), []) == Location()


@dataclass(frozen=True)
class Doubles(RewritePass):
    @property
    def rules(self) -> tuple[Rule, ...]:
        return (double,)


def test_the_worklist_follows_new_chances(b: Builder, x: Value) -> None:
    for _ in range(101):
        x = b.Neg(x)
    b.outputs(x)
    ctx = PassContext(debug=True)
    assert Doubles()(b.graph, ctx)
    assert ops(b.graph) == ["Neg"] and ctx.rewrites == 50
