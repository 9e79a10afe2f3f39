"""The generated schema table is what onnx says at the IR's opset, and every operator of it has a meaning."""

from __future__ import annotations

import json

import pytest

from ge_core.errors import GraphError
from ge_core.ir.dtype import DType
from ge_core.ops.ge_schemas import GE_SCHEMAS
from ge_core.ops.registry import KERNELS, TYPE_RULES
from ge_core.ops.schema import OPSET, onnx_names, schema
from tools.generate_schemas import TARGET, schemas

NO_MEANING = {
    "Constant",
    "ImageDecoder",
    "RegexFullMatch",
    "StringConcat",
    "StringNormalizer",
    "StringSplit",
    "TfIdfVectorizer",
}


def test_the_table_is_onnx_own() -> None:
    stored = json.loads(TARGET.read_text(encoding="utf-8"))
    assert stored == json.loads(json.dumps({"opset": OPSET, "operators": schemas()}))


def test_element_types_are_stored_as_such() -> None:
    assert schema("Cast").attributes["to"].type == "dtype"
    assert schema("HannWindow").attributes["output_datatype"].default is DType.of("float32")
    assert schema("DequantizeLinear").attributes["output_dtype"].default is None


@pytest.mark.parametrize("name", [*onnx_names(), *GE_SCHEMAS])
def test_every_operator_has_a_rule_and_a_kernel(name: str) -> None:
    has = (TYPE_RULES.get(name) is not None, KERNELS.get(name) is not None)
    assert has == ((False, False) if name in NO_MEANING else (True, True))


def test_an_unknown_operator_is_named() -> None:
    for name in ("Convv", "ge.Sortt"):
        with pytest.raises(GraphError, match=name):
            schema(name)
