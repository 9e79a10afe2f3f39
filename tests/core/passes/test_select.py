"""Selection against trying every combination: what it picks costs the least, counted in the graph that comes out."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from ge_core.backend import Group, Implementation, Refusal, Storage
from ge_core.ir import Builder, Graph, Layout
from ge_core.ir.clone import clone_graph
from ge_core.ir.graph import Node
from ge_core.ir.verifier import verify
from ge_core.passes.planned.relayout import insert_conversions
from ge_core.passes.planned.select import Selector
from ge_core.reference.backend import ReferenceBackend

STORAGES = [Storage(), Storage(Layout((0, 2, 1))), Storage(Layout((2, 0, 1)))]
BYTES = 4 * 5 * 6 * 4
RATE = 2 * BYTES  # a conversion takes one second


class Offering(ReferenceBackend):
    def __init__(self, offer: Callable[[Node], Sequence[Implementation]]) -> None:
        self.offer = offer

    def may_join(self, group: Group, node: Node) -> bool | Refusal:
        return Refusal("none")

    def implementations(self, node: Node, target: str, options: object) -> Sequence[Implementation]:
        return self.offer(node)


def table(graph: Graph, seed: int) -> dict[str, list[Implementation]]:
    """Two or three implementations per node, of random storages and costs."""
    rng = np.random.default_rng(seed)
    found = {}
    for node in graph.nodes:
        picks = [rng.integers(0, 3, len(node.inputs) + 1) for _ in range(rng.integers(2, 4))]
        found[node.output.name] = [
            Implementation(
                name=f"{node.output.name}.{k}",
                inputs=tuple(STORAGES[i] for i in pick[1:]),
                outputs=(STORAGES[pick[0]],),
                cost=float(rng.integers(0, 30)) / 10,
            )
            for k, pick in enumerate(picks)
        ]
    return found


def total(graph: Graph, offers: dict[str, list[Implementation]], costs: bool = True) -> float:
    """Seconds of the selected graph: its implementations and the conversions that stand in it."""
    copy = clone_graph(graph)
    copy.stage = "selected"
    selector = Selector(
        Offering(lambda n: offers.get(n.output.name, ())), "reference", {}, costs=costs, bytes_per_second=RATE
    )
    selection = selector.run(copy)
    insert_conversions(copy, selection)
    verify(copy)
    return sum(i.cost for i in selection.chosen.values()) + sum(1 for n in copy.nodes if n.op == "ge.Relayout")


def least(graph: Graph, offers: dict[str, list[Implementation]]) -> float:
    return min(
        total(graph, {name: [one] for name, one in zip(offers, combination, strict=True)}, costs=False)
        for combination in itertools.product(*offers.values())
    )


def chain(b: Builder) -> None:
    x = b.input("x", "float32", (4, 5, 6))
    for op in ("Exp", "Neg", "Abs", "Tanh", "Erf"):
        x = b.op(op, x)
    b.outputs(x)


def tree(b: Builder) -> None:
    x = [b.op(op, b.input(f"x{i}", "float32", (4, 5, 6))) for i, op in enumerate(("Exp", "Neg", "Abs"))]
    b.outputs(b.Tanh(b.Mul(b.Add(x[0], x[1]), x[2])))


def with_constants(b: Builder) -> None:
    w = np.ones((4, 5, 6), np.float32)
    x = b.Mul(b.Exp(b.input("x", "float32", (4, 5, 6))), w)
    b.outputs(b.Add(b.Neg(x), 2 * w))


def residual(b: Builder) -> None:
    x = b.Exp(b.input("x", "float32", (4, 5, 6)))
    y = b.Neg(b.Tanh(x))
    b.outputs(b.Abs(b.Add(y, x)))


def two_outputs(b: Builder) -> None:
    x = b.Exp(b.input("x", "float32", (4, 5, 6)))
    y = b.Neg(x)
    b.outputs(x, b.Tanh(y), b.Abs(x))


def build(shape: Callable[[Builder], None]) -> Graph:
    graph = Graph()
    shape(Builder(graph))
    return graph


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("shape", [chain, tree, with_constants])
def test_exact_where_every_value_has_one_reader(shape: Callable[[Builder], None], seed: int) -> None:
    graph = build(shape)
    offers = table(graph, seed)
    assert total(graph, offers) == pytest.approx(least(graph, offers))


@pytest.mark.parametrize("shape", [residual, two_outputs])
def test_shared_conversions(shape: Callable[[Builder], None]) -> None:
    graph = build(shape)
    found = [(total(graph, offers), least(graph, offers)) for offers in (table(graph, seed) for seed in range(25))]
    assert all(got <= best + 1.0 + 1e-9 for got, best in found)
    assert sum(got <= best + 1e-9 for got, best in found) >= 22


def test_a_conversion_that_two_readers_share_is_counted_once() -> None:
    """Both readers want turned storage: one conversion (1.0) pays against 0.8 in each, two would not."""
    graph = Graph()
    b = Builder(graph)
    x = b.Exp(b.input("x", "float32", (4, 5, 6)))
    b.outputs(b.Softmax(b.Neg(x)), b.Softmax(b.Abs(x)), b.Softmax(b.Tanh(x)))
    plain, turned = STORAGES[:2]
    readers = [
        Implementation(name="plain", inputs=(plain,), cost=1.3),
        Implementation(name="turned", inputs=(turned,), cost=0.5),
    ]
    offers = {n.output.name: readers for n in graph.nodes if n.op in ("Neg", "Abs", "Tanh")}
    offers["exp"] = [Implementation(name="exp", cost=0.0)]
    selection_cost = total(graph, offers)
    assert selection_cost == pytest.approx(least(graph, offers)) == pytest.approx(2.5)
