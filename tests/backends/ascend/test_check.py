"""The checker: our files pass, and each kind of broken file is refused with a message of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ge_ascend.air import import_air, parse_air, write_air
from ge_ascend.check import check_air, check_file
from ge_ascend.chips import CHIPS

from ge_core.device_contract import FileFinding
from ge_core.errors import GeError, ModelImportError
from ge_core.ir import Builder, Graph, symbol
from ge_core.om.attributes import DataTypeNumber, set_value
from ge_core.om.messages import message_class, serialize
from ge_core.reference.interpret import interpret
from tests.backends.ascend.roundtrip import lowered

Break = Callable[[Any], None]
CASES: dict[str, tuple[str, str, Break]] = {}


def case(name: str, rule: str, message: str) -> Callable[[Break], Break]:
    """A way to break the file, the rule that finds it, and a part of the message."""

    def register(function: Break) -> Break:
        assert name not in CASES
        CASES[name] = (rule, message, function)
        return function

    return register


@pytest.fixture(scope="module")
def good() -> bytes:
    """A convolution, a join, a branch."""
    graph = Graph("net")
    b = Builder(graph)
    x = b.input("x", "float32", (symbol("batch", 1, 8), 3, 8, 8))
    go = b.input("go", "bool", ())
    w = b.constant(np.ones((4, 3, 3, 3), np.float32), name="w")
    y = b.Relu(b.Conv(x, w, pads=[1, 1, 1, 1]))
    y = b.Concat([y, b.Sigmoid(y)], axis=1)
    y = b.If(go, then_branch=lambda r: r.Add(y, 1.0), else_branch=lambda r: r.Mul(y, y))
    b.outputs(b.Softmax(y, axis=1))
    return write_air(lowered(graph).program).data


def node(model: Any, type: str, graph: int = 0) -> Any:
    return next(op for op in model.graph[graph].op if op.type == type)


def put(attr: Any, value: Any) -> None:
    """Replace an attribute; lists would be joined."""
    attr.Clear()
    set_value(attr, value)


def broken(good: bytes, function: Break) -> bytes:
    model = message_class("ModelDef")()
    model.ParseFromString(good)
    function(model)
    return serialize(model)


def findings(data: bytes, target: str = "ascend910b") -> list[FileFinding]:
    return check_air(parse_air(data), CHIPS[target])


def test_a_file_of_ours_has_no_errors(good: bytes) -> None:
    assert [str(f) for f in findings(good) if f.severity == "error"] == []


@case("type", "unknown-type", "no release of CANN has an operator Reluu")
def _(m: Any) -> None:
    node(m, "Relu").type = "Reluu"


@case("missing source", "dangling", "there is no nowhere")
def _(m: Any) -> None:
    node(m, "Relu").input[0] = "nowhere:0"


@case("source index", "source-index", "reads output 3")
def _(m: Any) -> None:
    relu = node(m, "Relu")
    relu.input[0] = relu.input[0].rsplit(":", 1)[0] + ":3"


@case("control edge", "control-edge", "it must run after ghost")
def _(m: Any) -> None:
    node(m, "Relu").input.append("ghost:-1")


@case("no descriptor", "no-descriptor", "input 0 has no descriptor")
def _(m: Any) -> None:
    del node(m, "Relu").input_desc[:]


@case("unconnected", "unconnected", "the required input x of Relu is not connected")
def _(m: Any) -> None:
    node(m, "Relu").input[0] = ""


@case("one input too many", "unknown-port", "has no input more at this place")
def _(m: Any) -> None:
    relu = node(m, "Relu")
    relu.input.append(relu.input[0])
    relu.input_desc.add().CopyFrom(relu.input_desc[0])
    relu.input_desc[1].name = "more"
    del relu.attr["_input_name_key"], relu.attr["_input_name_value"]


@case("port order", "port-order", "has filter where its input x belongs")
def _(m: Any) -> None:
    put(node(m, "Conv2D").attr["_input_name_key"], ["filter", "x"])


@case("dynamic gap", "dynamic-gap", "the input x3 follows 1 of x")
def _(m: Any) -> None:
    put(node(m, "ConcatV2").attr["_input_name_key"], ["x0", "x3", "concat_dim"])


@case("no output", "missing-output", "Relu has 0 output descriptors")
def _(m: Any) -> None:
    del node(m, "Relu").output_desc[:]


@case("extra output", "extra-output", "Relu has 2 outputs")
def _(m: Any) -> None:
    relu = node(m, "Relu")
    relu.output_desc.add().CopyFrom(relu.output_desc[0])


@case("edge type", "edge-type", "is described as float16")
def _(m: Any) -> None:
    node(m, "Relu").input_desc[0].dtype = 2


@case("operand type", "type", "Conv2D takes no int64 at its input x")
def _(m: Any) -> None:
    node(m, "Conv2D").input_desc[0].dtype = 8


@case("type number", "type-number", "element type number 77")
def _(m: Any) -> None:
    node(m, "Relu").output_desc[0].dtype = 77


@case("tied types", "tied-types", "they must be equal")
def _(m: Any) -> None:
    relu = node(m, "Relu")
    relu.type = "GeluV2"
    relu.output_desc[0].dtype = 2


@case("format", "format", "unknown format 'NCWH'")
def _(m: Any) -> None:
    node(m, "Conv2D").input_desc[0].layout = "NCWH"


@case("shape", "shape", "has the shape [-7, 3, 8, 8]")
def _(m: Any) -> None:
    node(m, "Conv2D").input_desc[0].shape.dim[0] = -7


@case("shape range", "shape-range", "1 ranges for 4 axes")
def _(m: Any) -> None:
    put(node(m, "Conv2D").input_desc[0].attr["shape_range"], [[1, 8]])


@case("origin shape", "origin-shape", "origin_shape that GE does not read")
def _(m: Any) -> None:
    del node(m, "Conv2D").input_desc[0].attr["origin_shape_initialized"]


@case("missing attribute", "missing-attribute", "Conv2D needs the attribute strides")
def _(m: Any) -> None:
    del node(m, "Conv2D").attr["strides"]


@case("attribute field", "attribute-field", "stands in the field i")
def _(m: Any) -> None:
    put(node(m, "Conv2D").attr["pads"], 1)


@case("list without its type", "attribute", "a list without its val_type")
def _(m: Any) -> None:
    node(m, "Conv2D").attr["pads"].list.val_type = 0


@case("attribute without a value", "attribute", "an attribute without a value")
def _(m: Any) -> None:
    node(m, "Conv2D").attr["groups"].Clear()


@case("attribute of two types", "attribute", "mixes types")
def _(m: Any) -> None:
    node(m, "Conv2D").attr["pads"].list.f.append(1.0)


@case("ir attributes", "ir-attributes", "is not a prefix of")
def _(m: Any) -> None:
    put(node(m, "Conv2D").attr["_ir_attr_names"], ["pads", "strides"])


@case("ir inputs", "ir-inputs", "_ir_inputs_key ['filter']")
def _(m: Any) -> None:
    put(node(m, "Conv2D").attr["_ir_inputs_key"], ["filter"])


@case("name twice", "node-name", "2 nodes have this name")
def _(m: Any) -> None:
    node(m, "Sigmoid").name = node(m, "Relu").name


@case("no name", "node-name", "a Relu has no name")
def _(m: Any) -> None:
    node(m, "Relu").name = ""


@case("cycle", "cycle", "form a cycle")
def _(m: Any) -> None:
    node(m, "Conv2D").input[0] = f"{node(m, 'Relu').name}:0"


@case("graph name twice", "graph-name", "2 graphs are called")
def _(m: Any) -> None:
    m.graph[2].name = m.graph[1].name


@case("recursion", "recursion", "the graph contains itself")
def _(m: Any) -> None:
    inner = node(m, "Add", 1)
    inner.subgraph_name.append(m.graph[1].name)


@case("sub graph", "sub-graph", "the sub graph gone does not exist")
def _(m: Any) -> None:
    node(m, "If").subgraph_name[0] = "gone"


@case("one branch", "sub-graph", "If has 1 sub graphs, it needs 2")
def _(m: Any) -> None:
    del node(m, "If").subgraph_name[1]


@case("parent index", "parent-index", "reads input 9 of")
def _(m: Any) -> None:
    put(node(m, "Data", 1).attr["_parent_node_index"], 9)


@case("no parent index", "parent-index", "needs _parent_node_index")
def _(m: Any) -> None:
    del node(m, "Data", 1).attr["_parent_node_index"]


@case("data index", "data-index", "the indexes of its Data are [0, 5]")
def _(m: Any) -> None:
    put([op for op in m.graph[0].op if op.type == "Data"][1].attr["index"], 5)


@case("data descriptors", "data-descriptors", "its descriptors x and y differ")
def _(m: Any) -> None:
    node(m, "Data").input_desc[0].dtype = 2


@case("outputs", "outputs", "it has no output")
def _(m: Any) -> None:
    end = node(m, "NetOutput")
    m.graph[0].op.remove(end)


@case("empty output", "outputs", "its NetOutput has no inputs")
def _(m: Any) -> None:
    del node(m, "NetOutput").input[:]


@case("two outputs", "outputs", "it has 2 NetOutput nodes")
def _(m: Any) -> None:
    end = node(m, "NetOutput")
    more = m.graph[0].op.add()
    more.CopyFrom(end)
    more.name = "another"


@case("output name", "output-name", "its output ghost:0 does not exist")
def _(m: Any) -> None:
    m.graph[0].output.append("ghost:0")


@case("constant bytes", "constant-bytes", "holds 4 bytes")
def _(m: Any) -> None:
    node(m, "Const").attr["value"].t.data = b"1234"


@case("constant without data", "constant", "has no tensor in its attribute value")
def _(m: Any) -> None:
    del node(m, "Const").attr["value"]


@case("constant shape", "constant-shape", "it holds [4, 3, 3, 3]")
def _(m: Any) -> None:
    node(m, "Const").output_desc[0].shape.dim[0] = 5


@case("constant type", "constant-type", "have different element types")
def _(m: Any) -> None:
    node(m, "Const").output_desc[0].dtype = 7


@case("file of weights", "file-constant", "cannot be read")
def _(m: Any) -> None:
    const = node(m, "Const")
    const.type = "FileConstant"
    del const.attr["value"]
    put(const.attr["shape"], [4, 3, 3, 3])
    put(const.attr["dtype"], DataTypeNumber(0))
    put(const.attr["file_path"], "weight/none")


@case("path out of the folder", "file-constant", "names ../../etc/passwd")
def _(m: Any) -> None:
    const = node(m, "Const")
    const.type = "FileConstant"
    del const.attr["value"]
    put(const.attr["file_path"], "../../etc/passwd")


def test_there_are_more_than_thirty_ways() -> None:
    assert len(CASES) >= 40
    assert len({(rule, message) for rule, message, _ in CASES.values()}) == len(CASES)


@pytest.mark.parametrize("name", CASES)
def test_a_broken_file_is_refused_with_its_own_message(good: bytes, name: str) -> None:
    rule, message, function = CASES[name]
    found = findings(broken(good, function))
    assert any(f.severity == "error" and f.rule == rule and message in f.what for f in found), [str(f) for f in found]


@pytest.mark.parametrize("name", CASES)
def test_importing_a_broken_file_raises_an_error_of_ours_or_is_harmless(good: bytes, name: str) -> None:
    """What the importer does not rely on may be wrong; nothing else than our errors may come out."""
    try:
        import_air(parse_air(broken(good, CASES[name][2])))
    except GeError as error:
        assert error.what


@pytest.mark.parametrize(
    ("data", "message"),
    [(b"", "holds no graph"), (b"\xff" * 40, "is no AIR file"), (b"IMOD" + bytes(300), "is no AIR file")],
)
def test_what_is_no_air_file_is_one_finding(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "bad.air"
    path.write_bytes(data)
    (found,) = check_file(path, "ascend310p")
    assert found.severity == "error" and message in found.what


def test_a_type_that_the_chip_has_not_is_an_error(good: bytes) -> None:
    def bfloat(m: Any) -> None:
        for graph in m.graph:
            for op in graph.op:
                for desc in (*op.input_desc, *op.output_desc):
                    if desc.dtype == 1:
                        desc.dtype = 27

    data = broken(good, bfloat)
    assert any(f.rule == "chip-type" for f in findings(data, "ascend310p"))
    assert not any(f.rule == "chip-type" for f in findings(data, "ascend910b"))


def test_other_writers_forms_are_accepted(good: bytes) -> None:
    """No port tables, no names in descriptors, operators in another order, outputs named by the graph."""

    def foreign(m: Any) -> None:
        for graph in m.graph:
            for op in graph.op:
                for key in [k for k in op.attr if "_name_" in k]:
                    del op.attr[key]
                for desc in (*op.input_desc, *op.output_desc):
                    desc.name = ""
            ops = list(graph.op)
            del graph.op[:]
            graph.op.extend(reversed(ops))
        end = node(m, "NetOutput")
        m.graph[0].output.extend(end.input)
        m.graph[0].op.remove(end)

    data = broken(good, foreign)
    assert [str(f) for f in findings(data) if f.severity == "error"] == []
    inputs = [np.ones((2, 3, 8, 8), np.float32), np.array(True)]
    want = interpret(import_air(parse_air(good)).graph, inputs)[0][0]
    np.testing.assert_array_equal(interpret(import_air(parse_air(data)).graph, inputs)[0][0], want)


def test_sub_graphs_that_multiply_are_refused(good: bytes) -> None:
    """Each graph refers twice to the next one: sixteen of them stand for 65,536 copies of the last."""

    def multiply(m: Any) -> None:
        chain = [m.graph.add() for _ in range(15)]
        for number, graph in enumerate(chain):
            graph.CopyFrom(m.graph[1])
            graph.name = f"level_{number}"
        for number, graph in enumerate([m.graph[1], m.graph[2], *chain]):
            if number in (0, 1) or number - 1 < len(chain):
                follows = 0 if number < 2 else number - 1
                if follows >= len(chain):
                    continue
                add = next(op for op in graph.op if op.type in ("Add", "Mul"))
                for copy in range(2):
                    node = graph.op.add()
                    node.name, node.type = f"again_{copy}_{number}", "PartitionedCall"
                    node.subgraph_name.append(f"level_{follows}")
                    node.input.append(add.input[0])
                    node.input_desc.add().CopyFrom(add.input_desc[0])
                    node.input_desc[0].name = "args0"
                    node.output_desc.add().CopyFrom(add.output_desc[0])

    with pytest.raises(ModelImportError, match="stand for more than|nested deeper"):
        import_air(parse_air(broken(good, multiply)))
