"""Choices, loops, functions, states and writes in place against MindSpore."""

from __future__ import annotations

import mindspore
import numpy as np
import pytest
from mindspore import Parameter, Tensor, mint, nn, ops

from ge_core import InputSpec
from ge_core.errors import InputError, UnsupportedError
from ge_core.ir.traverse import walk
from ge_frontend_mindspore.importer import import_model
from tests.frontends.mindspore.agreement import check

X = Tensor(np.random.default_rng(0).standard_normal((2, 3)).astype(np.float32))
POSITIVE, NEGATIVE = Tensor(np.full((2, 3), 0.5, np.float32)), Tensor(np.full((2, 3), -0.5, np.float32))


def number(n: int) -> Tensor:
    return Tensor(n, mindspore.int32)


class Branch(nn.Cell):
    def __init__(self):
        super().__init__()
        self.d = nn.Dense(3, 3)

    def construct(self, x):
        if x.sum() > 0:  # noqa: SIM108 - a branch is what is tested
            y = self.d(x)
        else:
            y = x * 2
        return y + 1


class EarlyReturn(nn.Cell):
    def construct(self, x):
        if x.sum() > 0:
            return x
        if x.max() > -1:
            return x + 1
        return x + 2


class While(nn.Cell):
    def construct(self, x):
        i = Tensor(0, mindspore.int32)
        while i < 5:
            x = x * 2 + 1
            i = i + 1
        return x, i


class WhileAndIf(nn.Cell):
    def construct(self, x, n):
        i = Tensor(0, mindspore.int32)
        s = x
        while i < n:
            if s.sum() > 10:  # noqa: SIM108
                s = s - x
            else:
                s = s + x * 2
            i += 1
        return s * 2


class Break(nn.Cell):
    def construct(self, x):
        i = Tensor(0, mindspore.int32)
        while i < 5:
            x = x * 2 + 1
            if x.sum() > 30:
                break
            i = i + 1
        return x, i


class Continue(nn.Cell):
    def construct(self, x):
        i = Tensor(0, mindspore.int32)
        while i < 6:
            i = i + 1
            if i % 2 == 0:
                continue
            x = x + i
        return x


class ReturnFromLoop(nn.Cell):
    def construct(self, x):
        i = Tensor(0, mindspore.int32)
        while i < 4:
            x = x + 1
            if x.sum() > 12:
                return x * 100
            i = i + 1
        return x - 1


class Nested(nn.Cell):
    def construct(self, x):
        i = Tensor(0, mindspore.int32)
        while i < 3:
            j = Tensor(0, mindspore.int32)
            while j < i:
                x = x + j
                j = j + 1
            i = i + 1
        return x


class NestedBreak(nn.Cell):
    def construct(self, x):
        i = Tensor(0, mindspore.int32)
        while i < 4:
            j = Tensor(0, mindspore.int32)
            while j < 4:
                x = x + 1
                if x.sum() > 20:
                    break
                j = j + 1
            i = i + 1
        return x, i


class Two(nn.Cell):
    def construct(self, x):
        i = Tensor(0, mindspore.int32)
        while i < 2:
            x = x * 2
            i = i + 1
        while x.sum() < 100:
            x = x * 3
        return x


class Layers(nn.Cell):
    def __init__(self):
        super().__init__()
        self.choices = nn.CellList([nn.ReLU(), nn.Sigmoid(), nn.Tanh()])

    def construct(self, x, i):
        return self.choices[i](x)


class OnTruth(nn.Cell):
    def construct(self, x, y):
        if y:
            return x + 1
        return x - 1


@pytest.mark.parametrize("cell", [Branch, EarlyReturn, While, Break, Continue, ReturnFromLoop, Nested, NestedBreak])
def test_choices_and_loops(cell):
    check(cell(), [X], [[POSITIVE], [NEGATIVE], [X]])


@pytest.mark.parametrize("n", [0, 7])
def test_a_loop_of_choices_runs_as_often_as_an_input_says(n):
    # one call for each cell: MindSpore's CPU adds to the constant that the counter starts from
    check(WhileAndIf(), [POSITIVE, number(3)], [[POSITIVE, number(n)]])


def test_two_loops_one_behind_the_other():
    check(Two(), [POSITIVE])


def test_a_list_of_cells_is_chosen_from_by_an_input():
    check(Layers(), [X, number(1)], [[X, number(i)] for i in (0, 1, 2, -1)], tolerance=1e-5)


def test_a_truth_value_decides():
    check(OnTruth(), [X, Tensor(True)], [[X, Tensor(True)], [X, Tensor(False)]])


def test_a_while_loop_is_one_loop_without_a_choice_inside():
    imported = check(While(), [X])
    assert [n.op for n in walk(imported.graph) if n.op in ("Loop", "If")] == ["Loop"]


class Counter(nn.Cell):
    def __init__(self):
        super().__init__()
        self.p = Parameter(Tensor(np.zeros((2, 3), np.float32)), name="p")
        self.n = Parameter(Tensor(0, mindspore.int32), name="n")

    def construct(self, x):
        a = self.p + x
        self.p = a * 2
        ops.assign_add(self.n, Tensor(1, mindspore.int32))
        b = self.p - x
        return a, b, self.n


class StateInBranch(nn.Cell):
    def __init__(self):
        super().__init__()
        self.p = Parameter(Tensor(np.zeros((2, 3), np.float32)), name="p")

    def construct(self, x):
        if x.sum() > 0:
            self.p = self.p + x
        else:
            self.p = self.p * 2
        return self.p + 1


class StateInLoop(nn.Cell):
    def __init__(self):
        super().__init__()
        self.p = Parameter(Tensor(np.zeros((2, 3), np.float32)), name="p")

    def construct(self, x):
        i = Tensor(0, mindspore.int32)
        while i < 3:
            self.p = self.p + x
            i = i + 1
        return self.p * 2


class Cache(nn.Cell):
    def __init__(self):
        super().__init__()
        self.k = Parameter(Tensor(np.zeros((2, 4, 3), np.float32)), name="k")

    def construct(self, x):
        self.k[:, 1] = x
        return self.k + 0


@pytest.mark.parametrize(
    ("cell", "names"), [(Counter, ["n", "p"]), (StateInBranch, ["p"]), (StateInLoop, ["p"]), (Cache, ["k"])]
)
def test_parameters_that_are_written_are_states(cell, names):
    calls = [[X], [Tensor(-abs(X.asnumpy()))], [X]]
    imported = check(cell(), [X], calls)
    assert sorted(s.name for s in imported.graph.states) == names


class InPlace(nn.Cell):
    def construct(self, x, y):
        z = x * 2
        z.add_(y)
        w = z.reshape(-1)
        w.mul_(2.0)
        z += 1
        return z * 3, w


class Items(nn.Cell):
    def construct(self, x, y):
        x[0] = 1.0
        x[:, 1] = y
        return x + 1


class Getting(nn.Cell):
    def construct(self, x, i):
        return x[i], x[0, 1:], x[..., None, ::2], x[x > 0]


def test_writes_in_place():
    check(InPlace(), [X, X])
    check(Items(), [X, Tensor(np.ones(2, np.float32))])
    check(Getting(), [X, Tensor([1, 0])])


class WrittenView(nn.Cell):
    def construct(self, x):
        y = x * 2
        v = mint.transpose(y, 0, 1)
        y.add_(x)
        return v + 0, y


def test_writes_to_what_has_views_are_refused():
    with pytest.raises(UnsupportedError) as error:
        check(WrittenView(), [X])
    expected = "a tensor that is written while TransposeExtView makes a view of it ×1: in the model"
    assert error.value.details == (expected,)


class Unused(nn.Cell):
    def construct(self, x, y):
        return x.sum(axis=1) * 2


class Structure(nn.Cell):
    def construct(self, x):
        return x + 1, (x, 3), [x]


def test_numbers_unused_tensors_and_structures():
    check(Unused(), [X, X])
    check(Structure(), [X])


class Sizes(nn.Cell):
    def construct(self, x):
        s = x.shape
        y = x.reshape(s[0], -1)
        z = ops.zeros((s[0] // 2 + 1, s[2] * 2 - 1), mindspore.float32) + s[2]
        return ops.concat([y, y], 1).reshape(s[0] * 2, -1), z, ops.arange(s[0])


class SizeDecides(nn.Cell):
    def construct(self, x):
        b, c, h = x.shape
        if h > 4:
            return ops.mean(x, (2,)).reshape(b * c)
        return ops.reshape(x[:, :, 0], (-1,))


@pytest.mark.parametrize("cell", [Sizes, SizeDecides])
def test_sizes_that_change(cell):
    random = np.random.default_rng(1)
    calls = [[Tensor(random.standard_normal((b, 3, h)).astype(np.float32))] for b, h in ((2, 5), (4, 3), (1, 6))]
    check(cell(), [Tensor(shape=[None, 3, None], dtype=mindspore.float32)], calls)


class Sum(nn.Cell):
    def construct(self, x, y):
        return x + y


def test_specs_name_the_sizes():
    specs = [InputSpec(("n", 3)), InputSpec(("n", 3))]
    imported = import_model(Sum(), specs)
    assert [str(v.type) for v in imported.graph.inputs] == ["float32[n, 3]", "float32[n, 3]"]
    with pytest.raises(InputError, match="asked to be 5, and the model fixes it at 2"):
        import_model(Sum(), [Tensor(np.ones((2, 3), np.float32))] * 2, dynamic_shapes={"x": {0: 5}})


def test_dynamic_shapes_name_the_sizes():
    imported = check(nn.ReLU(), [X], [[X]], dynamic={"input": {0: "batch"}})
    assert str(imported.graph.inputs[0].shape[0]) == "batch"
