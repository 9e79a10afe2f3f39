"""Shape rules on named sizes, and known contents of shape arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ge_core.errors import TypeRuleError
from ge_core.ir import Builder, Graph, Value, dims, symbol
from ge_core.ir.dims import Size
from ge_core.ops.pointwise import POINTWISE
from ge_core.ops.slice import sliced
from tests.core.ops.single_node import Rule, check_rule

I64 = "int64"


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


SHAPES = [
    Rule("Shape", [("a", 3, "b")]),
    Rule("Shape", [("a", 3, "b")], {"start": -2, "end": 7}),
    Rule("Size", [("a", 3, "b")]),
    Rule("ge.Dims", [], {"exprs": (4, 5)}),
    Rule("ge.BindDim", [()], dtypes={0: I64}, data_dependent=True),
    Rule("Identity", [("a", 2)]),
    Rule("Reshape", [("a", 6, "b"), ints(0, 2, -1)]),
    Rule("Reshape", [("a", 6, "b"), ints(-1)]),
    Rule("Reshape", [("a", 6, "b"), ints(-1, 3)]),
    Rule("Flatten", [("a", 3, "b")], {"axis": 2}),
    Rule("Flatten", [("a", 3, "b")], {"axis": -3}),
    Rule("Squeeze", [("a", 1, "b", 1), ints(1, -1)]),
    Rule("Unsqueeze", [("a", "b"), ints(0, -1)]),
    Rule("Expand", [("a", 1), ints(4, 1, 5)]),
    Rule("Transpose", [("a", 3, "b")]),
    Rule("Transpose", [("a", 3, "b")], {"perm": [1, 2, 0]}),
    Rule("Concat", [("a", 3), ("b", 3), (2, 3)], {"axis": 0}),
    Rule("Split", [(3, "a")], {"axis": 1}, num_outputs=1),
    Rule("Split", [(7, "a")], {"axis": 0}, num_outputs=3),
    Rule("Split", [("a", 7), ints(3, 4)], {"axis": -1}, num_outputs=2),
    Rule("Slice", [("a", "b"), ints(0, 1), ints(2**63 - 1, 3)]),
    Rule("Slice", [("a", "b"), ints(-1, -2), ints(-(2**63), 0), ints(1, 0), ints(-2, -1)]),
    Rule("Slice", [("a", "b"), ints(1), ints(-1), ints(-1), ints(2)]),
    Rule("Slice", [("a", "b"), ints(-3, 5), ints(2**31 - 1, 2)]),
    Rule("Tile", [("a", 2), ints(2, 3)]),
    Rule("Pad", [("a", 2), ints(1, 0, 2, -1)]),
    Rule("Pad", [("a", 2), ints(1, 2), None, ints(-2)], {"mode": "edge"}),
    Rule("Pad", [("a", 4), ints(3, 1), None, ints(0)], {"mode": "reflect"}),
    Rule("Pad", [("a", 4), ints(3, 1), None, ints(0)], {"mode": "wrap"}),
    Rule("Trilu", [("a", "b")], {"upper": 0}),
    Rule("DepthToSpace", [("a", 8, "b", 3)], {"blocksize": 2}),
    Rule("SpaceToDepth", [("a", 2, 4, 6)], {"blocksize": 2}),
    Rule("ReverseSequence", [("a", "b", 2), ("b",)], dtypes={1: I64}, below={1: 2}),
    Rule("CenterCropPad", [("a", "b"), ints(3, 4)]),
    Rule("CenterCropPad", [("a", "b"), ints(6)], {"axes": [-1]}),
    Rule("Range", [np.int64(0), np.int64(7), np.int64(2)]),
    Rule("ConstantOfShape", [ints(2, 3)]),
    Rule("EyeLike", [("a", "b")], {"k": 1}),
    Rule("OneHot", [("a", "b"), np.int64(6), np.array([0, 1], np.float32)], {"axis": 1}, {0: I64}),
    Rule("Compress", [("a", 4), np.array([True, False, True])], {"axis": 1}, data_dependent=True),
    Rule("ge.RepeatInterleave", [("a", 3), ints(2)], {"axis": 0}),
    Rule("ge.RepeatInterleave", [("a", 3), ints(2, 0, 1)], {"axis": 1}),
]

INDEXING = [
    Rule("Gather", [(5, "a"), ("b", 2)], {"axis": 0}, {1: I64}),
    Rule("Gather", [("a", 5), ()], {"axis": -1}, {1: I64}),
    Rule("GatherElements", [("a", 5), ("a", "b")], {"axis": 1}, {1: I64}),
    Rule("GatherND", [(2, 2, "a"), ("b", 2)], {}, {1: I64}, {1: 2}),
    Rule("GatherND", [("b", 5, "a"), ("b", 3, 1)], {"batch_dims": 1}, {1: I64}),
    Rule("ScatterElements", [(5, "a"), ("b", "a"), ("b", "a")], {"axis": 0}, {1: I64}),
    Rule("ScatterND", [(2, 2, "a"), ("b", 2), ("b", "a")], {"reduction": "add"}, {1: I64}, {1: 2}),
    Rule("TensorScatter", [("a", 9, "b"), ("a", 3, "b"), ("a",)], {}, {2: I64}),
    Rule("ge.ScatterReduce", [(5, "a"), ("b", "a"), ("b", "a")], {"axis": 0, "reduction": "mean"}, {1: I64}),
    Rule("ge.SegmentReduce", [("a", "b"), ("a",), np.int64(5)], {"reduction": "max"}, {1: I64}),
    Rule("ge.MaskedScatter", [("a", "b"), ("a", "b"), (100,)], {}, {1: "bool"}),
    Rule("NonZero", [("a", "b")], data_dependent=True),
    Rule("Unique", [("a", "b")], num_outputs=4, data_dependent=True),
    Rule("Unique", [("a", "b")], {"axis": 1}, num_outputs=4, data_dependent=True),
    Rule("TopK", [("a", 6), ints(4)], {"axis": 1}),
    Rule("ge.Sort", [("a", "b")], {"axis": 0}),
    Rule("ArgMax", [("a", "b")], {"axis": 1}),
    Rule("ArgMin", [("a", "b")], {"axis": 0, "keepdims": 0}),
    Rule("ge.SearchSorted", [(4,), ("a", "b")]),
    Rule("ge.SearchSorted", [("a", 4), ("a", "b")]),
    Rule("ge.BinCount", [("a",), None, np.int64(5)], {}, {0: I64}),
    Rule("ge.KeptBoxes", [("a", "b", 4), ("a", 2, "b"), ints(2), np.array([0.5], np.float32)]),
    Rule("NonMaxSuppression", [("a", "b", 4), ("a", 2, "b"), ints(2), np.array([0.5], np.float32)],
         data_dependent=True),
]  # fmt: skip

REDUCTIONS = [
    *(Rule(f"Reduce{kind}", [("a", 3, "b"), ints(1, -1)], {"keepdims": keep})
      for kind in ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSum", "LogSumExp")
      for keep in (0, 1)),
    Rule("ReduceSum", [("a", "b")], {"keepdims": 0}),
    Rule("ReduceSum", [("a", "b")], {"noop_with_empty_axes": 1}),
    Rule("CumSum", [("a", "b"), np.int64(1)]),
    Rule("CumProd", [("a", "b"), np.int64(-1)]),
    Rule("ge.CumMax", [("a", "b")], {"axis": 0}),
    Rule("ge.CumMin", [("a", "b")], {"axis": 1}),
    Rule("ge.LogCumSumExp", [("a", "b")], {"axis": 1}),
    Rule("Hardmax", [("a", "b")]),
]  # fmt: skip


@pytest.mark.parametrize("rule", [*SHAPES, *INDEXING, *REDUCTIONS], ids=str)
def test_named_sizes(rule: Rule) -> None:
    check_rule(rule)


_DTYPE_OF = {"And": "bool", "Or": "bool", "Xor": "bool", "Not": "bool", "Where": "bool"}
_ATTRS: dict[str, dict[str, Any]] = {"BitShift": {"direction": "LEFT"}}


@pytest.mark.parametrize("name", POINTWISE)
def test_pointwise_sizes(name: str) -> None:
    row = POINTWISE[name]
    integral = name.startswith("Bit") or name == "ge.ArithmeticShift"
    dtype = _DTYPE_OF.get(name, "int32" if integral else "float32")
    shapes: list[tuple[Any, ...]] = [("a", 3, "b"), ("a", 3, 1), (1, 3, "b")]
    count = 3 if row.fold else len(row.inputs)
    dtypes = {i: dtype if name != "Where" or i == 0 else "float32" for i in range(count)}
    check_rule(Rule(name, shapes[:count], _ATTRS.get(name, {}), dtypes))


class Arithmetic:
    """x of shape [n, 6, h] in a builder, with its sizes as values."""

    def __init__(self) -> None:
        self.b = Builder(Graph())
        self.n, self.h = symbol("n", 1), symbol("h", 2)
        self.x = self.b.input("x", "float32", (self.n, 6, self.h))
        self.shape = self.b.Shape(self.x)

    def size(self, axis: int) -> Value:
        return self.b.Gather(self.shape, np.int64(axis))

    def reshaped(self, *parts: Value) -> tuple[Size, ...]:
        vectors = [self.b.Unsqueeze(p, ints(0)) for p in parts]
        return self.b.Reshape(self.x, self.b.Concat(vectors, axis=0)).shape


def test_shape_arithmetic_stays_known() -> None:
    a = Arithmetic()
    b = a.b
    n, h = a.size(0), a.size(2)
    assert a.reshaped(n, b.Mul(h, 2), b.constant(np.int64(3))) == (a.n, 2 * a.h, 3)
    assert a.reshaped(b.Mul(n, h), b.constant(np.int64(-1))) == (a.n * a.h, 6)
    assert b.Add(b.Div(b.Mul(h, 4), 2), b.Neg(n)).content == (2 * a.h - a.n,)
    assert b.ge.FloorDiv(h, 2).content == (a.h // 2,)
    assert b.Mod(h, 2).content == (a.h % 2,)
    assert b.Max(h, b.constant(np.int64(2))).content == (a.h,)
    assert b.Min(n, b.constant(np.int64(1))).content == (1,)
    assert b.Cast(b.Cast(h, to="int32"), to="int64").content == (a.h,)
    assert b.ReduceProd(a.shape, keepdims=0).content == (6 * a.n * a.h,)
    assert b.Slice(a.shape, ints(-2), ints(2**63 - 1)).content == (6, a.h)
    assert b.Slice(a.shape, ints(-1), ints(-(2**63)), ints(0), ints(-1)).content == (a.h, 6, a.n)
    assert b.Split(a.shape, ints(1, 2), axis=0, num_outputs=2)[1].content == (6, a.h)
    assert b.Squeeze(b.Slice(a.shape, ints(0), ints(1)), ints(0)).content == (a.n,)
    assert b.ScatterND(a.shape, np.array([[1]]), b.Unsqueeze(n, ints(0))).content == (a.n, a.n, a.h)
    assert b.Tile(b.Unsqueeze(n, ints(0)), ints(2)).content == (a.n, a.n)
    assert b.Expand(n, ints(3)).content == (a.n,) * 3
    assert b.Size(a.x).content == (6 * a.n * a.h,)


def test_the_expand_idiom_stays_known() -> None:
    """Exporters write expand(-1, ...) as Where(Equal(shape, -1), ones, shape)."""
    a = Arithmetic()
    b = a.b
    wanted = b.Concat([b.Unsqueeze(a.size(0), ints(0)), ints(-1), ints(4)], axis=0)
    ones = b.ConstantOfShape(b.Shape(wanted), value=ints(1))
    shape = b.Where(b.Equal(wanted, b.Mul(ones, -1)), ones, wanted)
    assert shape.content == (a.n, 1, 4)


def test_ranges_and_constants_of_symbolic_sizes() -> None:
    a = Arithmetic()
    assert a.b.Range(np.int64(0), a.size(2), np.int64(1)).shape == (a.h,)
    assert a.b.Range(np.int64(1), a.size(2), np.int64(2)).shape == (a.h // 2,)
    assert a.b.ConstantOfShape(a.shape).shape == (a.n, 6, a.h)
    assert a.b.Range(np.int64(3), np.int64(0), np.int64(-1)).content == (3, 2, 1)
    assert a.b.Slice(a.x, ints(0), a.b.Unsqueeze(a.b.Sub(a.size(2), 1), ints(0)), ints(2)).shape == (a.n, 6, a.h - 1)


def test_contents_end_where_values_are_unknown() -> None:
    b = Builder(Graph())
    x, n = b.input("x", "int64", (2,)), b.Shape(b.input("y", "float32", (symbol("n"),)))
    assert b.Add(x, n).content is None
    assert b.Equal(n, 0).content is None  # n may be 0
    assert b.Div(n, b.constant(np.int64(0))).content is None
    assert b.Cast(n, to="int8").content is None
    assert b.Sub(b.constant(np.array([-128], np.int8)), b.constant(np.array([1], np.int8))).content is None
    assert b.Gather(n, np.int64(3)).content is None  # out of range: an error when it runs


def test_unknown_shape_operands_give_new_sizes() -> None:
    b = Builder(Graph())
    x, s = b.input("x", "float32", (2, 6)), b.input("s", "int64", (3,))
    assert len(b.Reshape(x, s).shape) == 3
    assert len(b.Expand(x, s).shape) == 3
    assert b.Reshape(x, b.input("t", "int64", (symbol("r"),))).tensor.shape is None


@pytest.mark.parametrize(
    ("op", "shapes", "attrs", "message"),
    [
        ("Add", [(2, 3), (4,)], {}, "do not broadcast"),
        ("Transpose", [(2, 3)], {"perm": [0, 0]}, "no permutation"),
        ("Concat", [(2, 3), (2, 4)], {"axis": 0}, "differ"),
        ("Concat", [(2, 3), (2,)], {"axis": 0}, "ranks"),
        ("Reshape", [(2, 3), ints(4, -1)], {}, "do not fill"),
        ("Reshape", [(2, 3), ints(-1, -1)], {}, "more than one"),
        ("Squeeze", [(2, 3), ints(0)], {}, "is not 1"),
        ("Unsqueeze", [(2, 3), ints(1, 1)], {}, "twice"),
        ("Split", [(7,), ints(3, 3)], {"axis": 0}, "add up"),
        ("Slice", [(7,), ints(0), ints(1), ints(0), ints(0)], {}, "step"),
        ("Pad", [(7,), ints(-5, -5)], {}, "take more"),
        ("Gather", [(), ints(0)], {}, "scalar"),
        ("TopK", [(3,), ints(4)], {}, "k is 4"),
        ("ReduceSum", [(3,), ints(1)], {}, "out of range"),
        ("DepthToSpace", [(1, 6, 2, 2)], {"blocksize": 2}, "no multiple"),
        ("ScatterND", [(2, 2), np.zeros((1, 3), np.int64), (1,)], {}, "last size"),
    ],
)
def test_broken_rules_are_named(op: str, shapes: list[Any], attrs: dict[str, Any], message: str) -> None:
    b = Builder(Graph())
    operands = [b.input("x", "float32", s) if isinstance(s, tuple) else s for s in shapes]
    with pytest.raises(TypeRuleError, match=message):
        b.op(op, *operands, num_outputs=2 if op == "Split" else None, **attrs)


def test_element_types_are_checked() -> None:
    b = Builder(Graph())
    f, i = b.input("f", "float32", (2,)), b.input("i", "int64", (2,))
    with pytest.raises(TypeRuleError, match="float32"):
        b.Add(f, i)
    with pytest.raises(TypeRuleError, match="expected float16, bfloat16|expected float32"):
        b.Sqrt(i)
    with pytest.raises(TypeRuleError, match="bool"):
        b.And(f, f)
    assert b.MatMul(b.input("p", "int8", (2, 2)), b.input("q", "int8", (2, 2))).dtype.name == "int8"


FAR = 2**31 - 1


@pytest.mark.parametrize("step", [1, 2, 3, -1, -2])
def test_slices_of_a_named_size_take_what_python_takes(step):
    n = symbol("n")
    for start in (-FAR, -9, -3, -1, 0, 1, 2, 9, FAR):
        for end in (-FAR, -9, -3, -1, 0, 1, 2, 9, FAR):
            size = sliced(n, start, end, step)
            assert size is not None
            for value in range(8):
                assert dims.evaluate(size, {"n": value}) == len(range(value)[start:end:step]), (start, end, size)


def test_slices_from_the_beginning_nest_no_comparisons():
    """A size is never negative: what a chain of them would ask again and again is not asked."""
    n, m = symbol("n"), symbol("m")
    size = n - m  # of a padding, whose sign nobody knows
    assert sliced(size, 0, FAR, 1) == size
    assert sliced(size, 0, 8, 1) == dims.minimum(8, size)
