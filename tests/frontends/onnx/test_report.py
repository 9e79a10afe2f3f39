"""What is not supported is said at once, by operator and place; versions and files that are not known are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, ValueInfoProto, helper

from ge_core.errors import ModelImportError, UnsupportedError
from ge_core.ir.traverse import walk
from ge_core.plugins import host
from ge_frontend_onnx.importer import import_model
from tests.frontends.onnx.agreement import run


def _model(*nodes: Any, opset: int = 21, kind: int = TensorProto.FLOAT, **domains: int) -> ModelProto:
    x = helper.make_tensor_value_info("x", kind, [2])
    graph = helper.make_graph(list(nodes), "net", [x], [ValueInfoProto(name="y")])
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, v) for d, v in domains.items())]
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


def _node(op: str, inputs: str, outputs: str, name: str = "", domain: str = "", **attrs: Any) -> Any:
    return helper.make_node(op, inputs.split(), outputs.split(), name=name, domain=domain, **attrs)


def test_all_unknown_operators_in_one_report() -> None:
    nodes = [_node("Wobble", f"v{i}" if i else "x", f"v{i + 1}", f"w{i}", "own") for i in range(5)]
    nodes += [_node("RandomNormal", "", "r", "noise", shape=[2]), _node("ImageDecoder", "r", "d"),
              _node("Adam", "r", "a", domain="ai.onnx.preview.training"), _node("Relu", "r", "y")]  # fmt: skip
    with pytest.raises(UnsupportedError) as error:
        import_model(_model(*nodes, own=3))
    text = str(error.value)
    assert "net uses 4 operators that the ONNX frontend does not support" in text
    assert "own::Wobble (version 3) ×5: own::Wobble in w0; own::Wobble in w1; own::Wobble in w2; and 2 more" in text
    assert "RandomNormal: random numbers" in text and "training is not supported" in text and "decoded" in text


def test_forms_that_are_found_while_converting_are_one_report_too() -> None:
    """What reads an unconverted result is no finding of its own."""
    nodes = [_node("MatMulNBits", "x x x", "d", "mat", "com.microsoft", K=2, N=1, block_size=16, bits=5),
             _node("QuickGelu", "d", "e", domain="com.microsoft"), _node("GroupQueryAttention", "x x x x x x x", "y",
             "gqa", "com.microsoft", num_heads=1, kv_num_heads=1, smooth_softmax=1)]  # fmt: skip
    with pytest.raises(UnsupportedError) as error:
        import_model(_model(*nodes))
    assert error.value.details and len(error.value.details) == 2
    assert "MatMulNBits: 5 bits in blocks of 16 is not supported ×1: com.microsoft::MatMulNBits in mat" in str(
        error.value
    )


def test_strings_are_refused_wherever_they_stand() -> None:
    with pytest.raises(UnsupportedError, match="the value 'x' holds strings"):
        import_model(_model(_node("Identity", "x", "y"), kind=TensorProto.STRING))
    text = helper.make_tensor("t", TensorProto.STRING, [1], [b"a"])
    for node in (_node("Constant", "", "y", value=text), _node("Constant", "", "y", value_string="a")):
        with pytest.raises(UnsupportedError, match="strings"):
            import_model(_model(node))
    model = _model(_node("Identity", "t", "y"))
    model.graph.initializer.append(text)
    with pytest.raises(UnsupportedError, match="strings"):
        import_model(model)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (_model(_node("Relu", "x", "y"), opset=29), "imports version 29 of ai.onnx\n  expected: 1 to 28"),
        (_model(_node("Relu", "x", "y"), opset=0), "imports version 0"),
        (_model(_node("Gelu", "x", "y", domain="com.microsoft"), **{"com.microsoft": 7}), "version 7 of com.microsoft"),
        (ModelProto(ir_version=8), "holds no graph"),
    ],
)
def test_versions_that_are_not_known(model: ModelProto, message: str) -> None:
    with pytest.raises(ModelImportError) as error:
        import_model(model)
    assert message in str(error.value)


def test_domains() -> None:
    """ai.onnx is the default domain; com.microsoft need not be imported; one without a version is an error."""
    model = _model(_node("Relu", "x", "y", domain="ai.onnx"))
    model.opset_import[0].domain = "ai.onnx"
    assert run(model, {"x": np.float32([1, -1])})[0].tolist() == [1, 0]
    assert run(_model(_node("Gelu", "x", "y", domain="com.microsoft")), {"x": np.zeros(2, np.float32)})[0].tolist() == [
        0,
        0,
    ]
    twice = _model(_node("Relu", "x", "y"))
    twice.opset_import.append(helper.make_opsetid("ai.onnx", 20))
    with pytest.raises(ModelImportError, match="the versions 21 and 20 of 'ai.onnx'"):
        import_model(twice)
    only = _model(_node("Relu", "x", "y"))
    only.opset_import[0].domain = "own"
    with pytest.raises(ModelImportError, match="does not say of which version"):
        import_model(only)


def test_files(tmp_path: Path) -> None:
    model = _model(_node("Relu", "x", "y"))
    path = tmp_path / "net.onnx"
    onnx.save(model, path)
    plugin = host().recognise(path)
    imported = plugin.import_model(str(path), None, None, None, {})
    assert [n.op for n in walk(imported.graph)] == ["Relu"] and imported.signature.output_names == ("y",)
    path.write_bytes(b"\x08\x0a\x12\xff\xff")
    with pytest.raises(ModelImportError, match="is no ONNX model, or it is damaged"):
        import_model(path)
    path.write_bytes(b"")
    with pytest.raises(ModelImportError, match="holds no graph"):
        import_model(path)
    for missing in (tmp_path / "gone.onnx", tmp_path):
        with pytest.raises(ModelImportError, match=r"cannot be read|is no file"):
            import_model(missing)
    with (tmp_path / "large.onnx").open("wb") as f:
        f.truncate(1 << 31)
    with pytest.raises(ModelImportError, match="2147483648 bytes"):
        import_model(tmp_path / "large.onnx")
    with pytest.raises(ModelImportError, match="int is no ONNX model"):
        import_model(3)


def test_names_and_places_are_kept() -> None:
    node = _node("Relu", "x", "y", "layers.0/act")
    node.metadata_props.add(key="pkg.torch.onnx.stack_trace", value='File "net.py", line 7, in forward\n  relu(x)')
    imported = import_model(_model(node))
    (made,) = walk(imported.graph)
    assert made.output.name == "y" and str(made.loc) == "Relu in layers.0/act at net.py:7"
    assert imported.signature.input_names == ("x",) and imported.graph.name == "net"


def test_errors_of_type_rules_name_the_node() -> None:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
    w = helper.make_tensor("w", TensorProto.FLOAT, [3], [1, 2, 3])
    graph = helper.make_graph([_node("Add", "x w", "y", "sum")], "g", [x], [ValueInfoProto(name="y")], [w])
    with pytest.raises(Exception, match="do not broadcast") as error:
        import_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]))
    assert "Add in sum" in str(error.value)
    with pytest.raises(Exception, match="Relu has no attribute speed") as error:
        import_model(_model(_node("Relu", "x", "y", "fast", speed=3)))
    assert "fast" in str(error.value)


@pytest.mark.parametrize("attribute", ["twice", "untyped", "empty"])
def test_damaged_attributes(attribute: str) -> None:
    node = _node("LeakyRelu", "x", "y", "leak", alpha=0.5)
    if attribute == "twice":
        node.attribute.append(node.attribute[0])
    elif attribute == "untyped":
        node.attribute[0].type = onnx.AttributeProto.UNDEFINED
        node.attribute[0].ClearField("f")
    else:
        node = _node("Constant", "", "y", "leak")
        node.attribute.add(name="value", type=onnx.AttributeProto.TENSOR)
    with pytest.raises(ModelImportError, match=r"twice|unknown type|holds no") as error:
        import_model(_model(node))
    assert "leak" in str(error.value)
