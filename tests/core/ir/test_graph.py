"""Uses, the node list, captures and states stay consistent under every change; the verifier sees when not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ge_core.errors import GraphError, TextFormError
from ge_core.ir import Builder, Graph, Layout, Location, Node, TensorType, constant_of, replace_node, source_of, symbol
from ge_core.ir.constant import Constant
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value
from ge_core.ir.parser import parse_graph
from ge_core.ir.printer import constants_by_digest, print_graph
from ge_core.ir.verifier import verify

TEXT = """graph net imported {
  symbols s [1, 64]
  input %x: float32[s, 4]
  input %"cond/0:1": bool[]
  const %one: float32[] = [1.0]
  const %odd: float32[3] = [nan, -inf, 0.15625]
  state "cache" %k: float32[2] = [0.0, 0.0] -> %k2
  %y: float32[s, 4] = Add(%x, %one)
  %z: float32[s, 4] = If(%"cond/0:1") then_branch() captures(%y1: float32[s, 4] = %y) {
    %m: float32[s, 4] = Mul(%y1, %y1)
    return %m
  } else_branch() captures(%x1: float32[s, 4] = %x) {
    return %x1
  }
  %n: int64[2] (s*s+1, 4) = ge.Dims() {exprs=[<s*s+1>, 4]}
  %c: int8[s, 4] = Cast(%z) {to=:int8}
  %k2: float32[2] = Clip(%k, _, %one)
  return %z, %n, %c
}
"""


def test_text_round_trips() -> None:
    graph = parse_graph(TEXT)
    verify(graph)
    assert print_graph(graph) == TEXT


def test_large_constants_and_locations_round_trip() -> None:
    graph = Graph("g")
    b = Builder(graph)
    x = b.input("x", "float32", (100,))
    with b.at(Location("torch", "layers.0", "net.py", 7, "aten.add")):
        b.outputs(b.Add(x, b.constant(np.arange(100, dtype=np.float32))))
    text = print_graph(graph, locations=True)
    again = parse_graph(text, constants_by_digest(graph))
    assert print_graph(again, locations=True) == text
    assert next(iter(again.nodes)).loc.line == 7
    with pytest.raises(TextFormError, match="no data given"):
        parse_graph(text)


def test_layouts_round_trip() -> None:
    graph = parse_graph(TEXT)
    graph.stage = "selected"
    graph.inputs[0].layout = Layout((1, 0), ((1, 8),), ((0, 0), (1, 2)), -1.5)
    text = print_graph(graph)
    assert print_graph(parse_graph(text)) == text
    assert graph.inputs[0].layout.storage_shape((5, 4)) == (1, 5, 8)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return %z, %n, %c", "return %nothing"),
        ("%y: float32[s, 4] = Add", "%x: float32[s, 4] = Add"),
        ("= [1.0]", "= [1.0, 2.0]"),
        ("bool[]", "boolean[]"),
        ("float32[2] = [0.0", "float32[s] = [0.0"),
        ("graph net", "grph net"),
        ("Mul(%y1, %y1)", "Mul(%y, %y)"),
    ],
)
def test_malformed_text_is_refused_with_its_line(old: str, new: str) -> None:
    with pytest.raises(TextFormError, match="line "):
        parse_graph(TEXT.replace(old, new, 1))


def _nested(i: int) -> str:
    outer = "c" if i == 0 else f"d{i - 1}"
    return f"If(%{outer}) then_branch() captures(%d{i}: bool[] = %{outer}) {{\n"


def test_deep_text_is_refused() -> None:
    head = "graph g imported {\n input %c: bool[]\n"
    with pytest.raises(TextFormError, match="nested deeper"):
        parse_graph(head + "".join(_nested(i) for i in range(100)))


def test_replace_and_remove_keep_uses() -> None:
    graph = parse_graph(TEXT)
    add = next(iter(graph.nodes))
    x = graph.inputs[0]
    with pytest.raises(GraphError, match="still used"):
        graph.nodes.remove(add)
    replace_node(add, [x])
    verify(graph)
    assert add.block is None and len(graph.nodes) == 4
    assert {u.kind for u in x.uses} == {"capture"}


def test_removing_a_node_with_regions_releases_its_captures() -> None:
    graph = parse_graph(TEXT)
    branch = next(n for n in graph.nodes if n.op == "If")
    branch.output.replace_uses(graph.inputs[0])
    graph.nodes.remove(branch)
    verify(graph)
    assert not graph.nodes.first.output.has_uses  # type: ignore[union-attr]


def test_nodes_may_be_inserted_and_removed_while_iterating() -> None:
    graph = Graph()
    b = Builder(graph)
    x = b.input("x", "float32", (2,))
    for _ in range(4):
        x = b.Relu(x)
    b.outputs(x)
    seen = 0
    for node in graph.nodes:
        seen += 1
        first = node.inputs[0]
        assert first is not None
        replace_node(node, [first])
    assert seen == 4 and len(graph.nodes) == 0
    assert graph.outputs == (graph.inputs[0],)


def test_captures_are_seen_through() -> None:
    graph = Graph()
    b = Builder(graph)
    c = b.input("c", "bool", ())
    one = b.constant(np.float32(1))
    b.outputs(
        b.If(
            c,
            then_branch=lambda r: r.If(c, then_branch=lambda q: q.Add(one, one), else_branch=lambda q: q.Relu(one)),
            else_branch=lambda r: r.Relu(one),
        )
    )
    verify(graph)
    outer = graph.nodes.first
    assert outer is not None
    inner = outer.regions["then_branch"].nodes.first
    assert inner is not None
    add = inner.regions["then_branch"].nodes.first
    assert add is not None
    assert source_of(add.inputs[0]) is one  # type: ignore[arg-type]
    assert constant_of(add.inputs[0]) is one.constant


def test_builder_errors_name_the_problem() -> None:
    b = Builder(Graph(), loc=Location("torch", "head", "net.py", 3, "aten.relu"))
    x = b.input("x", "float32", (2,))
    for call, text in [
        (lambda: b.Relu(x, x), "got 2 inputs"),
        (lambda: b.Relu(x, alpha=1), "no attribute alpha"),
        (lambda: b.Cast(x), "needs the attribute to"),
        (lambda: b.op("Reluu", x), "unknown operator Reluu"),
        (lambda: b.Add(x, b.constant(np.zeros(3, np.float32))), "do not broadcast"),
        (lambda: b.Cast(x, to="int31"), "int31"),
    ]:
        with pytest.raises(GraphError, match=text):
            call()
    assert len(b.graph.nodes) == 0


def _broken(graph: Graph, what: str) -> str:
    add = graph.nodes.first
    assert add is not None and add.next is not None
    branch = add.next
    breaks: dict[str, Callable[[], object]] = {
        "reads %m before": lambda: add.set_input(1, branch.regions["then_branch"].nodes.first.output),  # type: ignore[union-attr]
        "two values are named": lambda: setattr(add.output, "name", "x"),
        "its type rule says": lambda: setattr(
            add.output, "type", TensorType(DType.of("float32"), (symbol("s", 1, 64), 5))
        ),
        "two bounds": lambda: setattr(graph.inputs[0], "type", TensorType(DType.of("float32"), (symbol("s", 2), 4))),
        "unknown operator": lambda: setattr(add, "op", "Foo"),
        "no attribute": lambda: add.attrs.update(axis=1),
        "attribute to is missing": lambda: next(n for n in graph.nodes if n.op == "Cast").attrs.clear(),
        "does not know its producer": lambda: setattr(add.output, "producer", branch),
        "does not know that": lambda: graph.inputs[0]._uses.clear(),
        "has a layout": lambda: setattr(add.output, "layout", Layout.row_major(2)),
        "before anything defines it": lambda: (
            setattr(graph.nodes.last, "prev", None)
            or setattr(next(n for n in graph.nodes if n.op == "ge.Dims").output, "content", (symbol("q"), 4))
        ),
        "its data": lambda: setattr(next(iter(graph.constants)), "constant", Constant.of(np.zeros(2, np.float32))),
        "written with": lambda: graph.set_state_write(graph.states[0], add.output),
        "inputs, expected": lambda: add.append_input(add.inputs[0]),
    }
    breaks[what]()
    return what


@pytest.mark.parametrize(
    "what",
    [
        "reads %m before", "two values are named", "its type rule says", "two bounds", "unknown operator",
        "no attribute", "attribute to is missing", "does not know its producer", "does not know that",
        "has a layout", "before anything defines it", "its data", "written with", "inputs, expected",
    ],
)  # fmt: skip
def test_the_verifier_names_each_broken_rule(what: str) -> None:
    graph = parse_graph(TEXT)
    with pytest.raises(GraphError, match=_broken(graph, what)):
        verify(graph)


def test_constants_are_checked_when_loaded() -> None:
    constant = Constant(TensorType(DType.of("float32"), (2,)), lambda: np.zeros(3, np.float32), "weights.bin")
    with pytest.raises(GraphError, match="weights.bin"):
        constant.array()


def test_equal_constants_have_equal_digests() -> None:
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert Constant.of(a).digest() == Constant.of(a.T.copy().T).digest()
    assert Constant.of(a).digest() != Constant.of(a.reshape(3, 2)).digest()
    assert Constant.of(a).digest() != Constant.of(a.view(np.int32)).digest()


def test_fresh_names_never_repeat() -> None:
    graph = Graph()
    names = [graph.fresh_name(h) for h in ("a", "a", "a_1", "a", "")]
    assert len(set(names)) == len(names)


def test_value_questions() -> None:
    value = Value("v", TensorType(DType.of("float32"), None))
    with pytest.raises(GraphError, match="unknown rank"):
        _ = value.shape
    node = Node("Split")
    with pytest.raises(GraphError, match="0 outputs"):
        _ = node.output
