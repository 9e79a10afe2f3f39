"""Random graphs for the passes: many operators, named sizes, shape arithmetic, regions, NaN and infinities.

`models()` is a hypothesis strategy of `Model`: how to build a graph, again and again, and inputs for several bindings
of its sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ge_core.errors import TypeRuleError
from ge_core.ir import Builder, Graph, Value, dims
from ge_core.ir.types import TensorType
from ge_core.reference.interpret import interpret

N = dims.symbol("n", 1, 6)
S = dims.symbol("s", 2, 5)
SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -0.5, 4.0, 3.0]
EDGES = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-40, 1e15, -2.5], np.float32)
MAX_ELEMENTS = 4000

Draw = Callable[[st.SearchStrategy[Any]], Any]


@dataclass
class Model:
    """A graph as a list of choices, so that equal graphs can be built anew.

    Attributes:
        build: makes the graph.
        inputs: one list of arrays for each binding of the sizes.
    """

    build: Callable[[], Graph]
    inputs: list[list[np.ndarray]]

    def results(self, graph: Graph) -> list[list[np.ndarray]]:
        return [interpret(graph, arrays)[0] for arrays in self.inputs]


class NothingFits(Exception):
    """No value of the wanted kind is at hand."""


class Choices:
    """Draws from hypothesis the first time, and repeats what was drawn after that."""

    def __init__(self, draw: Draw) -> None:
        self.draw, self.log, self.at = draw, [], 0
        self.replaying = False

    def pick(self, options: Sequence[Any]) -> Any:
        if not options:
            raise NothingFits
        return options[self.number(len(options) - 1)]

    def number(self, top: int, low: int = 0) -> int:
        if self.replaying:
            self.at += 1
            return self.log[self.at - 1]
        self.log.append(self.draw(st.integers(low, top)))
        return self.log[-1]

    def replay(self) -> None:
        self.replaying, self.at = True, 0


class Maker:
    """Appends random nodes to a block."""

    def __init__(self, choices: Choices, b: Builder, pool: list[Value], depth: int = 0) -> None:
        self.c, self.b, self.pool, self.depth = choices, b, pool, depth

    def floats(self, least_rank: int = 0, top_rank: int = 5) -> list[Value]:
        return [v for v in self.pool if v.dtype.name == "float32" and least_rank <= v.rank <= top_rank]

    def of(self, *names: str) -> list[Value]:
        return [v for v in self.pool if v.dtype.name in names]

    def step(self) -> None:
        action = self.c.pick(ACTIONS)
        try:
            made = action(self)
        except (TypeRuleError, NothingFits):
            return  # the choice does not fit the shapes at hand
        for v in made if isinstance(made, (list, tuple)) else [made]:
            if v is not None and isinstance(v.type, TensorType) and _small(v):
                self.pool.append(v)


def _small(v: Value) -> bool:
    top = 1
    for d in v.tensor.shape or ():
        hi = dims.bounds(d)[1]
        if hi is None:
            return False
        top *= hi
    return top <= MAX_ELEMENTS and v.rank <= 5


def _broadcast(x: Value, y: Value) -> bool:
    """Whether two shapes broadcast for every binding of the sizes."""
    pairs = zip(reversed(x.shape), reversed(y.shape), strict=False)
    return all(a == b or 1 in (a, b) for a, b in pairs)


def constants(m: Maker) -> Any:
    """A chain of constants."""
    c = m.b.constant(np.array(m.c.pick(SPECIAL), np.float32))
    c = m.b.op(m.c.pick(["Exp", "Neg", "Sqrt"]), m.b.op(m.c.pick(["Add", "Mul", "Div"]), c, m.c.pick(SPECIAL)))
    return m.b.Add(m.c.pick(m.floats()), c)


def unary(m: Maker) -> Any:
    op = m.c.pick(
        ["Neg", "Abs", "Relu", "Exp", "Sqrt", "Sigmoid", "Tanh", "Floor", "Ceil", "Reciprocal", "Identity", "Erf",
         "ge.Square", "ge.Rsqrt", "Softplus", "Sign", "Round"]
    )  # fmt: skip
    return m.b.op(op, m.c.pick(m.floats()))


def twice(m: Maker) -> Any:
    op, x = m.c.pick(["Neg", "Abs", "Relu", "Floor", "Sigmoid", "Exp"]), m.c.pick(m.floats())
    return m.b.op(op, m.b.op(op, x))


def same_again(m: Maker) -> Any:
    op, x = m.c.pick(["Tanh", "Sigmoid", "Exp"]), m.c.pick(m.floats())
    return m.b.Add(m.b.op(op, x), m.b.op(op, x))


def with_constant(m: Maker) -> Any:
    op, x = (
        m.c.pick(["Add", "Sub", "Mul", "Div", "Max", "Min", "Pow", "Equal", "Less", "GreaterOrEqual"]),
        m.c.pick(m.floats()),
    )
    c = np.float32(m.c.pick(SPECIAL))
    shape = m.c.pick([(), (1,), (1, 1)])
    if m.c.number(1):
        return m.b.op(op, x, np.full(shape, c, np.float32))
    return m.b.op(op, np.full(shape, c, np.float32), x)


def binary(m: Maker) -> Any:
    op = m.c.pick(["Add", "Sub", "Mul", "Div", "Max", "Min", "Less", "Greater", "Sum"])
    x = m.c.pick(m.floats())
    return m.b.op(op, x, m.c.pick([v for v in m.floats() if _broadcast(x, v)]))


def vector_constant(m: Maker) -> Any:
    x = m.c.pick(m.floats(1))
    size = x.shape[-1]
    if not isinstance(size, int):
        return None
    return m.b.op(m.c.pick(["Add", "Mul", "Sub"]), x, np.linspace(-2, 2, size, dtype=np.float32))


def integers(m: Maker) -> Any:
    x = m.c.pick(m.of("int64", "int32"))
    c = np.array(m.c.pick([0, 1, -1, 2, 7, -3]), x.dtype.numpy)
    op = m.c.pick(["Add", "Sub", "Mul", "Max", "Min", "BitwiseAnd", "BitwiseOr", "Less", "Equal", "LessOrEqual"])
    return m.b.op(op, x, c)


def integer_pair(m: Maker) -> Any:
    x = m.c.pick(m.of("int64"))
    y = m.c.pick([v for v in m.of("int64") if _broadcast(x, v)])
    return m.b.op(m.c.pick(["Add", "Sub", "Mul", "Max", "Less"]), x, y)


def logic(m: Maker) -> Any:
    x = m.c.pick(m.of("bool"))
    op = m.c.pick(["And", "Or", "Xor", "Not"])
    if op == "Not":
        return m.b.Not(x)
    fitting = [v for v in m.of("bool") if _broadcast(x, v)]
    other = m.c.pick([*fitting, np.array(True), np.array(False)])
    return m.b.op(op, x, other)


def where(m: Maker) -> Any:
    x = m.c.pick(m.floats())
    y = m.c.pick([v for v in m.floats() if v.type == x.type])
    fitting = [v for v in m.of("bool") if _broadcast(x, v)]
    return m.b.Where(m.c.pick([*fitting, np.array(True), np.array(False)]), x, y)


def cast(m: Maker) -> Any:
    to = m.c.pick(["float32", "float16", "int32", "int64", "int8", "bool", "float64", "bfloat16"])
    return m.b.Cast(m.c.pick(m.pool), to=to)


def cast_back(m: Maker) -> Any:
    x = m.c.pick(m.of("float32", "int32", "int64", "bool"))
    through = m.c.pick(["float16", "float64", "int64", "int8", "bool"])
    return m.b.Cast(m.b.Cast(x, to=through), to=x.dtype)


def transpose(m: Maker) -> Any:
    x = m.c.pick(m.floats(2))
    perm = list(range(x.rank))
    i, j = m.c.number(x.rank - 1), m.c.number(x.rank - 1)
    perm[i], perm[j] = perm[j], perm[i]
    y = m.b.Transpose(x, perm=perm)
    if m.c.number(1):
        y = m.b.op(m.c.pick(["Relu", "Neg", "Sigmoid"]), y)
    return m.b.Transpose(y, perm=perm) if m.c.number(1) else y


def transposed_sum(m: Maker) -> Any:
    x = m.c.pick(m.floats(2))
    perm = [*range(1, x.rank), 0]
    y = m.b.Add(m.b.Transpose(x, perm=perm), m.b.Relu(m.b.Transpose(x, perm=perm)))
    y = m.b.Mul(y, np.float32(0.5))
    return m.b.Transpose(y, perm=[perm.index(i) for i in range(x.rank)])


def merge_axes(m: Maker) -> Any:
    """Reshape by arithmetic on Shape, as frameworks write it."""
    x = m.c.pick(m.floats(2))
    shape = m.b.Shape(x)
    head = [m.b.Unsqueeze(m.b.Gather(shape, np.int64(i)), np.array([0])) for i in range(x.rank - 2)]
    last = m.b.Mul(m.b.Gather(shape, np.int64(x.rank - 2)), m.b.Gather(shape, np.int64(x.rank - 1)))
    tail = m.b.Unsqueeze(last, np.array([0])) if m.c.number(1) else np.array([-1])
    return m.b.Reshape(x, m.b.Concat([*head, tail], axis=0))


def reshape_forms(m: Maker) -> Any:
    x = m.c.pick(m.floats(1))
    form = m.c.number(3)
    if form == 0:
        return m.b.Flatten(x, axis=m.c.number(x.rank))
    if form == 1:
        return m.b.Unsqueeze(x, np.array([m.c.number(x.rank)]))
    if form == 2:
        ones = [i for i, d in enumerate(x.shape) if d == 1]
        return m.b.Squeeze(x, np.array([m.c.pick(ones)])) if ones else None
    return m.b.Reshape(x, np.array([0] * (x.rank - 1) + [-1]))


def size_as_data(m: Maker) -> Any:
    """A size that is computed with, not only reshaped by."""
    x = m.c.pick(m.floats(1))
    n = m.b.Gather(m.b.Shape(x), np.int64(m.c.number(x.rank - 1)))
    n = m.b.Add(m.b.Mul(n, np.int64(2)), np.int64(-1))
    return [n, m.b.Mul(x, m.b.Cast(n, to="float32"))]


def slices(m: Maker) -> Any:
    x = m.c.pick(m.floats(1))
    axis = m.c.number(x.rank - 1)
    start, end = m.c.pick([0, 1, -1, -2]), m.c.pick([1, 2, 2**63 - 1, -1, 2**31 - 1])
    step = m.c.pick([1, 1, 2])
    axes = np.array([m.c.pick([axis, axis - x.rank])])
    return m.b.Slice(x, np.array([start]), np.array([end]), axes, np.array([step]))


def cut_and_join(m: Maker) -> Any:
    x = m.c.pick(m.floats(1))
    axis, at = m.c.number(x.rank - 1), m.c.pick([1, 2, -1])
    first = m.b.Slice(x, np.array([0]), np.array([at]), np.array([axis]))
    second = m.b.Slice(x, np.array([at]), np.array([2**63 - 1]), np.array([axis]))
    return m.b.Concat([first, second] if m.c.number(3) else [second, first], axis=m.c.pick([axis, axis - x.rank]))


def split_and_join(m: Maker) -> Any:
    x = m.c.pick(m.floats(1))
    even = [i for i, d in enumerate(x.shape) if isinstance(d, int) and d % 2 == 0 and d]
    if not even:
        return None
    axis = m.c.pick(even)
    parts = m.b.Split(x, axis=axis, num_outputs=2)
    return m.b.Concat([parts[0], parts[1]] if m.c.number(3) else [parts[1], parts[0]], axis=axis)


def concat(m: Maker) -> Any:
    x = m.c.pick(m.floats(1))
    return m.b.Concat([x] * (1 + m.c.number(1)), axis=m.c.number(x.rank - 1))


def pad(m: Maker) -> Any:
    x = m.c.pick(m.floats(1))
    return m.b.Pad(x, np.array([m.c.number(1) for _ in range(2 * x.rank)]))


def expand(m: Maker) -> Any:
    x = m.c.pick(m.floats(1))
    y = m.b.Unsqueeze(x, np.array([0]))
    y = m.b.Expand(y, m.b.ints(m.c.pick([1, 2, N]), *x.shape))
    return m.b.Add(y, m.b.Unsqueeze(x, np.array([0]))) if m.c.number(1) else y


def filled(m: Maker) -> Any:
    x = m.c.pick(m.floats(1))
    return m.b.Add(x, m.b.ConstantOfShape(m.b.Shape(x), value=np.array([m.c.pick(SPECIAL)], np.float32)))


def tile(m: Maker) -> Any:
    x = m.c.pick(m.floats(1))
    return m.b.Tile(x, np.array([1 + m.c.number(1) for _ in range(x.rank)]))


def gather(m: Maker) -> Any:
    x = m.c.pick(m.floats(1))
    axis = m.c.number(x.rank - 1)
    size = x.shape[axis]
    indices = m.c.pick([np.int64(0), np.array([0, -1]), np.arange(size if isinstance(size, int) else 1)])
    return m.b.Gather(x, indices, axis=m.c.pick([axis, axis - x.rank]))


def reduce(m: Maker) -> Any:
    x = m.c.pick(m.floats(1))
    op = m.c.pick(["ReduceMax", "ReduceMin", "ReduceSum", "ReduceMean"])
    axis = m.c.number(x.rank - 1)
    if m.c.number(3) == 0:
        return m.b.op(op, x, keepdims=m.c.number(1))
    y = m.b.op(op, x, np.array([m.c.pick([axis, axis - x.rank])]), keepdims=0)
    return m.b.Sub(x, m.b.Unsqueeze(y, np.array([axis]))) if m.c.number(1) else y


def softmax(m: Maker) -> Any:
    x = m.c.pick(m.floats(1))
    return m.b.Softmax(x, axis=m.c.pick([-1, 0]))


def matmul(m: Maker) -> Any:
    x = m.c.pick(m.floats(2))
    size = x.shape[-1]
    if not isinstance(size, int) or size > 64:
        return None
    w = np.linspace(-1, 1, size * 3, dtype=np.float32).reshape(size, 3)
    if x.rank == 2 and m.c.number(1):
        scale = {"alpha": m.c.pick([1.0, 0.5]), "beta": m.c.pick([1.0, 0.0, 2.0])}
        return m.b.Gemm(x, w.T.copy(), np.arange(3, dtype=np.float32), transB=1, **scale)
    y = m.b.MatMul(x, w)
    return m.b.Add(y, np.arange(3, dtype=np.float32)) if m.c.number(1) else y


def conv_norm(m: Maker) -> Any:
    images = [v for v in m.floats(4, 4) if isinstance(v.shape[1], int)]
    if not images:
        return None
    x = m.c.pick(images)
    c = x.shape[1]
    y = x
    if m.c.number(2):
        w = np.linspace(-1, 1, 2 * c * 4, dtype=np.float32).reshape(2, c, 2, 2)
        y = m.b.Conv(x, w, *([np.array([1.0, -1.0], np.float32)] if m.c.number(1) else []), pads=[1, 1, 0, 0])
        c = 2
    g = np.linspace(0.5, 1.5, c, dtype=np.float32)
    return m.b.BatchNormalization(y, g, g - 1, g * 0.1, g + 0.1)


def branch(m: Maker) -> Any:
    if m.depth:
        return None
    x = m.c.pick(m.floats())
    scalars = [v for v in m.of("bool") if v.rank == 0]
    condition = m.c.pick([*scalars, np.array(True), np.array(False)])

    def body(op: str) -> Callable[[Builder], list[Value]]:
        def make(r: Builder) -> list[Value]:
            inner = Maker(m.c, r, [r.op(op, x), r.Mul(x, np.float32(2.0))], 1)
            for _ in range(m.c.number(3)):
                inner.step()
            same = [v for v in inner.pool if v.type == x.type]
            return [m.c.pick(same), r.op(op, x)]

        return make

    return m.b.If(condition, then_branch=body("Neg"), else_branch=body("Relu"))


def loop(m: Maker) -> Any:
    if m.depth:
        return None
    x = m.c.pick(m.floats())

    def body(r: Builder, i: Value, go: Value, *carried: Value) -> list[Value]:
        inner = Maker(m.c, r, [r.Add(carried[0], x), r.Mul(carried[1], np.float32(1.0))], 1)
        for _ in range(m.c.number(3)):
            inner.step()
        same = [v for v in inner.pool if v.type == x.type]
        return [r.Identity(go), m.c.pick(same), m.c.pick(same), r.Neg(carried[0])]

    trips = np.int64(1 + m.c.number(2))
    outputs = m.b.Loop(trips, np.array(True), [x, x], body=body)
    return [v for v in outputs if m.c.number(1)]


ACTIONS = [
    unary, unary, twice, same_again, with_constant, with_constant, binary, vector_constant, integers, integer_pair,
    logic, where, cast, cast_back, transpose, transposed_sum, merge_axes, reshape_forms, reshape_forms, size_as_data,
    slices, cut_and_join, split_and_join, concat, pad, expand, filled, tile, gather, reduce, softmax, matmul,
    conv_norm, branch, loop, constants,
]  # fmt: skip


def _graph(choices: Choices, steps: int) -> Graph:
    graph = Graph("generated")
    b = Builder(graph)
    pool = [
        b.input("x", "float32", (N, 4, S)),
        b.input("image", "float32", (N, 3, 4, 4)),
        b.input("i", "int64", (4, S)),
        b.input("flag", "bool", ()),
    ]
    inputs = list(pool)
    maker = Maker(choices, b, pool)
    for _ in range(steps):
        maker.step()
    made = [v for v in pool if v not in inputs]
    unread = [v for v in made if not v.has_uses] or [inputs[0]]
    kept = unread[-4:] + [choices.pick(made or inputs)]
    b.outputs(*kept)
    return graph


def _arrays(rng: np.random.Generator, n: int, s: int, edges: bool) -> list[np.ndarray]:
    def floats(*shape: int) -> np.ndarray:
        array = rng.normal(size=shape).astype(np.float32)
        if edges:
            spots = rng.random(shape) < 0.2
            array[spots] = rng.choice(EDGES, size=int(spots.sum()))
        return array

    return [
        floats(n, 4, s),
        floats(n, 3, 4, 4),
        rng.integers(-5, 6, size=(4, s)).astype(np.int64),
        np.array(bool(rng.integers(2))),
    ]


@st.composite
def models(draw: Draw, most_steps: int = 14, edges: bool = True) -> Model:
    """Graphs of up to `most_steps` choices, each with inputs at two bindings of the sizes."""
    choices = Choices(draw)
    steps = draw(st.integers(1, most_steps))
    _graph(choices, steps)
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))

    def build() -> Graph:
        choices.replay()
        return _graph(choices, steps)

    bindings = [(2, 3), (draw(st.integers(1, 6)), draw(st.integers(2, 5)))]
    return Model(build, [_arrays(rng, n, s, edges) for n, s in bindings])
