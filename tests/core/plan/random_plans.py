"""Random graphs with everything that makes memory plans hard: views, concats, splits, control flow, states, sizes that
depend on data, outputs that alias."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from ge_core.ir import Builder, Graph, Value, symbol

WIDTH = 4


class Maker:
    """Appends random nodes on values of shape [rows, 4] with rows n, 2 n, or as data decide."""

    def __init__(self, rng: random.Random, b: Builder, pool: list[Value], depth: int = 0) -> None:
        self.rng, self.b, self.pool, self.depth = rng, b, list(pool), depth

    def any(self) -> Value:
        return self.rng.choice(self.pool[-6:] if self.rng.random() < 0.7 else self.pool)

    def like(self, x: Value) -> Value:
        """A value of the same rows."""
        return self.rng.choice([v for v in self.pool if v.shape == x.shape])

    def step(self) -> None:
        choices: list[Callable[[Value], Value]] = [
            self.pointwise, self.pointwise, self.binary, self.binary, self.softmax, self.reshaped, self.halves,
            self.joined, self.joined, self.product,
        ]  # fmt: skip
        if self.depth < 2:
            choices += [self.branch, self.loop, self.scan, self.chosen]
        self.pool.append(self.rng.choice(choices)(self.any()))

    def pointwise(self, x: Value) -> Value:
        return self.b.op(self.rng.choice(["Tanh", "Neg", "Abs", "Sigmoid"]), x)

    def binary(self, x: Value) -> Value:
        return self.b.op(self.rng.choice(["Add", "Sub", "Max"]), x, self.like(x))

    def softmax(self, x: Value) -> Value:
        return self.b.Softmax(x)

    def product(self, x: Value) -> Value:
        weight = np.array([[self.rng.randint(-2, 2) / 4 for _ in range(WIDTH)] for _ in range(WIDTH)], np.float32)
        return self.b.MatMul(x, weight)

    def reshaped(self, x: Value) -> Value:
        flat = self.b.Reshape(x, self.b.ints(1, -1))
        return self.b.Reshape(self.b.Neg(flat) if self.rng.random() < 0.5 else flat, self.b.ints(-1, WIDTH))

    def halves(self, x: Value) -> Value:
        """Both halves of a split along the rows of a doubled value."""
        doubled = self.b.Concat([x, self.b.Tanh(x)], axis=0)
        first, second = self.b.Split(doubled, axis=0, num_outputs=2)
        return self.b.Sub(second, self.b.Softmax(first)) if self.rng.random() < 0.5 else second

    def joined(self, x: Value) -> Value:
        """A concat, cut again to the rows of its first part."""
        whole = self.b.Concat([x, self.any(), self.b.Sigmoid(x)], axis=0)
        rest = self.b.Softmax(whole) if self.rng.random() < 0.5 else whole
        return self.b.Slice(rest, self.b.ints(0), self.b.ints(x.shape[0]), self.b.ints(0))

    def chosen(self, x: Value) -> Value:
        """Rows that the data choose, spread out again by their sum."""
        rows = self.b.Squeeze(self.b.NonZero(self.b.Greater(self.b.ReduceMax(x, self.b.ints(1), keepdims=0), 0.25)),
                              self.b.ints(0))  # fmt: skip
        some = self.b.Tanh(self.b.Gather(x, rows))
        return self.b.Add(x, self.b.ReduceSum(some, self.b.ints(0)))

    def inner(self, b: Builder, *given: Value) -> Maker:
        return Maker(self.rng, b, [*self.pool[-3:], *given], self.depth + 1)

    def several(self, shape: tuple[object, ...], steps: int) -> Value:
        """A value of a shape after some steps."""
        for _ in range(steps):
            self.step()
        fitting = [v for v in self.pool if v.shape == shape]
        return self.rng.choice(fitting[-4:])

    def branch(self, x: Value) -> Value:
        condition = self.b.Greater(self.b.ReduceSum(self.any(), keepdims=0), self.rng.uniform(-1, 1))

        def side(r: Builder) -> list[Value]:
            return [self.inner(r, x).several(x.shape, self.rng.randint(0, 3))]

        return self.b.If(condition, then_branch=side, else_branch=side)

    def loop(self, x: Value) -> Value:
        kept = self.like(x)

        def body(r: Builder, i: Value, go: Value, s: Value, t: Value) -> list[Value]:
            made = self.inner(r, s, t)
            u, v = made.several(x.shape, 2), made.several(x.shape, 1)
            ends = r.Less(r.ReduceMax(u, keepdims=0), 50.0) if early else go
            return [ends, *((v, u) if swap else (u, v)), r.ReduceMax(u, keepdims=0)]

        early, swap = self.rng.random() < 0.5, self.rng.random() < 0.5
        trips = np.int64(self.rng.randint(0, 3))
        a, c, tops = self.b.Loop(trips, np.array(True), [x, kept], body=body)
        return self.b.Add(self.b.Sub(a, c), self.b.ReduceSum(tops, keepdims=0))

    def scan(self, x: Value) -> Value:
        start = self.b.ReduceMax(x, self.b.ints(0), keepdims=0)

        def body(r: Builder, s: Value, row: Value) -> list[Value]:
            s = r.Add(r.Mul(s, 0.5), row)
            return [s, r.Tanh(s)]

        last, rows = self.b.Scan(
            start, x, num_scan_inputs=1, body=body, scan_input_directions=[self.rng.randint(0, 1)],
            scan_output_directions=[self.rng.randint(0, 1)],
        )  # fmt: skip
        return self.b.Add(rows, last)


def random_graph(seed: int, steps: int = 12) -> Graph:
    """Inputs x: float32[n, 4] and y: float32[2 n, 4]; two states."""
    rng = random.Random(seed)
    graph = Graph(f"random{seed}")
    b = Builder(graph)
    n = symbol("n", 1, 8 if rng.random() < 0.5 else None)
    x, y = b.input("x", "float32", (n, WIDTH)), b.input("y", "float32", (2 * n, WIDTH))
    states = [b.state(name, np.full((3, WIDTH), at, np.float32)) for at, name in enumerate(("one", "two"))]
    maker = Maker(rng, b, [x, y, *(s.read for s in states)])
    for _ in range(steps):
        maker.step()
    for state in states:
        if rng.random() < 0.8:
            graph.set_state_write(state, rng.choice([v for v in maker.pool if v.shape == (3, WIDTH)]))
    outputs = [rng.choice(maker.pool[4:]) for _ in range(3)]
    b.outputs(*outputs, rng.choice(maker.pool), b.Reshape(outputs[0], b.ints(-1)))
    return graph


def random_inputs(seed: int, n: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((rows, WIDTH)).astype(np.float32) for rows in (n, 2 * n)]
