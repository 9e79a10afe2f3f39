"""Random graphs: what is written and read prints the same text and has the same data."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_core.ir import DTYPES, Builder, Constant, Graph, Location, Value, symbol
from ge_core.ir.printer import constants_by_digest, print_graph
from ge_core.ir.verifier import verify
from ge_core.om.graph_codec import decode_entries, encode_entries

WIDTH = 4
ATTRIBUTES = (0.1, 0.5, 1e-30, 1e300, -0.0, float("inf"), 0.30000001192092896)


class Maker:
    """Makes random graphs whose values are all float32[rows, 4], with rows symbolic or not."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self.numbers = np.random.default_rng(seed)

    def graph(self, name: str) -> Graph:
        graph = Graph(name)
        b = Builder(graph)
        rows = self.choose.choice([3, symbol("n", 1, self.choose.choice([None, 64])), symbol("n", 2, 9) * 2 + 1])
        pool = [b.input(f"in{i}", "float32", (rows, WIDTH)) for i in range(self.choose.randint(1, 3))]
        self.flag = b.input("flag", "bool", ())
        for dtype in self.choose.sample([d for d in DTYPES if d.kind != "string"], 3):
            shape = tuple(self.choose.choices([0, 1, 3, 70], k=self.choose.randint(0, 2)))
            data = self.numbers.integers(0, 2, shape).astype(dtype.numpy)
            graph.add_constant(Constant.of(data, dtype), self.choose.choice(["c", "größe", "a:b", "c/d"]))
        if self.choose.random() < 0.5:
            state = b.state("cache", self.numbers.standard_normal((1, WIDTH)).astype(np.float32))
            pool.append(b.Add(pool[0], state.read))
            graph.set_state_write(state, b.Mul(state.read, state.read))
        self.grow(b, pool, self.choose.randint(1, 12), depth=0)
        b.outputs(*self.choose.sample(pool, min(len(pool), 2)), b.Shape(pool[-1]))
        graph.stage = self.choose.choice(["imported", "optimised", "legal"])
        return graph

    def grow(self, b: Builder, pool: list[Value], count: int, depth: int) -> None:
        for _ in range(count):
            kinds: list[Callable[..., Value]] = [self.unary, self.binary, self.product, self.activation]
            kinds += [self.clip, self.turned, self.cast, self.reshaped]
            if depth < 3:
                kinds += [self.branch, self.loop]
            loc = Location("torch", f"m.{depth}", "model.py", self.choose.randint(0, 99), "aten.x")
            with b.at(self.choose.choice([loc, Location(op="größe")])):
                pool.append(self.choose.choice(kinds)(b, pool, depth))

    def unary(self, b: Builder, pool: list[Value], depth: int) -> Value:
        return getattr(b, self.choose.choice(["Relu", "Tanh", "Neg", "Sigmoid", "Exp"]))(self.choose.choice(pool))

    def binary(self, b: Builder, pool: list[Value], depth: int) -> Value:
        other = self.choose.choice([self.choose.choice(pool), np.float32(self.choose.random()), self.row()])
        return getattr(b, self.choose.choice(["Add", "Sub", "Mul"]))(self.choose.choice(pool), other)

    def row(self) -> np.ndarray[Any, Any]:
        return self.numbers.standard_normal((1, WIDTH)).astype(np.float32)

    def product(self, b: Builder, pool: list[Value], depth: int) -> Value:
        weight = self.numbers.standard_normal((WIDTH, WIDTH)).astype(np.float32)
        return b.MatMul(self.choose.choice(pool), b.constant(weight))

    def activation(self, b: Builder, pool: list[Value], depth: int) -> Value:
        return b.LeakyRelu(self.choose.choice(pool), alpha=self.choose.choice(ATTRIBUTES))

    def clip(self, b: Builder, pool: list[Value], depth: int) -> Value:
        low = self.choose.choice([None, np.float32(-1)])
        return b.Clip(self.choose.choice(pool), low, np.float32(6))

    def turned(self, b: Builder, pool: list[Value], depth: int) -> Value:
        return b.Transpose(b.Transpose(self.choose.choice(pool), perm=[1, 0]), perm=[1, 0])

    def cast(self, b: Builder, pool: list[Value], depth: int) -> Value:
        dtype = self.choose.choice(["float16", "bfloat16", "float8e4m3fnuz", "int4", "float64"])
        return b.Cast(b.Cast(self.choose.choice(pool), to=dtype), to="float32")

    def reshaped(self, b: Builder, pool: list[Value], depth: int) -> Value:
        value = self.choose.choice(pool)
        rows = value.shape[0]
        return b.Reshape(b.Reshape(value, b.ints(rows * 2, 2)), b.ints(rows, WIDTH))

    def branch(self, b: Builder, pool: list[Value], depth: int) -> Value:
        def body(b: Builder) -> list[Value]:
            inner = list(pool)
            self.grow(b, inner, self.choose.randint(1, 3), depth + 1)
            return [inner[-1]]

        return b.If(self.flag, then_branch=body, else_branch=body)

    def loop(self, b: Builder, pool: list[Value], depth: int) -> Value:
        def body(b: Builder, i: Value, condition: Value, carried: Value) -> list[Value]:
            inner = [*pool, carried]
            self.grow(b, inner, self.choose.randint(1, 2), depth + 1)
            return [condition, b.Add(carried, inner[-1])]

        return b.Loop(b.constant(np.int64(3)), None, self.choose.choice(pool), body=body)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 3))
def test_random_graphs_come_back(seed: int, count: int) -> None:
    graphs = {f"entry{i}": Maker(seed + i).graph(f"graph {i}") for i in range(count)}
    for graph in graphs.values():
        verify(graph)

    model_def, weights = encode_entries(graphs, {"seed": seed})
    found = decode_entries(model_def, b"".join(weights.chunks))

    assert found.metadata == {"seed": seed}
    assert list(found.entries) == list(graphs)
    for name, graph in graphs.items():
        back = found.entries[name]
        assert print_graph(back, locations=True) == print_graph(graph, locations=True)
        assert constants_by_digest(back).keys() == constants_by_digest(graph).keys()
        again, _ = encode_entries({name: back}, {"seed": seed})
        assert again == encode_entries({name: graph}, {"seed": seed})[0]
