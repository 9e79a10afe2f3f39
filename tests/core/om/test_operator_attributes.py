from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ge_core.errors import OfflineModelError
from ge_core.ir import DTYPES, Constant, Node, symbol
from ge_core.om import WeightsWriter, message_class, parse, serialize
from ge_core.om.attributes import decode, decode_map, encode_map
from ge_core.om.descriptors import DescriptorReader, DescriptorWriter
from ge_core.om.operator_attributes import read_attributes, write_attributes
from ge_core.om.tensors import TensorReader, TensorWriter
from ge_core.ops.schema import Attribute, AttrType, Schema

N = symbol("n", 1, 9)
KINDS: tuple[AttrType, ...] = ("int", "float", "string", "ints", "floats", "strings", "tensor", "dtype", "dims")
SCHEMA = Schema("Test", (), (), {kind: Attribute(kind, kind) for kind in KINDS}, {})

floats = st.floats(allow_nan=True, allow_infinity=True)
texts = st.text(st.characters(exclude_categories=["Cs"]))
values = st.fixed_dictionaries(
    {},
    optional={
        "int": st.integers(-(2**70), 2**70),
        "float": floats,
        "string": st.one_of(texts, st.binary()),
        "ints": st.lists(st.integers(-(2**64), 2**64)).map(tuple),
        "floats": st.lists(floats).map(tuple),
        "strings": st.lists(st.one_of(texts, st.binary())).map(tuple),
        "dtype": st.sampled_from(DTYPES),
        "dims": st.lists(st.one_of(st.integers(0, 99), st.sampled_from([N, N * 2 + 1]))).map(tuple),
    },
)


def through(attrs: dict[str, Any]) -> dict[str, Any]:
    descriptors, weights = DescriptorWriter(), WeightsWriter()
    op = message_class("OpDef")()
    write_attributes(Node("Test", (), attrs), op.attr, descriptors, TensorWriter(weights, merge=False))
    op = parse("OpDef", serialize(op))
    reader = TensorReader(memoryview(b"".join(weights.stream().chunks)))
    return read_attributes(SCHEMA, decode_map(op.attr), DescriptorReader(descriptors.symbols), reader)


@given(values)
def test_every_kind_of_attribute_comes_back_exactly(attrs: dict[str, Any]) -> None:
    back = through(attrs)
    assert repr(sorted(back.items())) == repr(sorted(attrs.items()))
    for name, value in attrs.items():
        assert type(back[name]) is type(value)


def test_tensors_come_back() -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    constant = through({"tensor": Constant.of(array)})["tensor"]
    assert constant.array().tolist() == array.tolist()
    assert constant.type == Constant.of(array).type


def test_other_readers_see_the_nearest_value() -> None:
    op = message_class("OpDef")()
    attrs = {"float": 0.1, "dims": (2, N), "int": 2**70, "dtype": DTYPES[17], "string": "x"}
    writer = TensorWriter(WeightsWriter(), merge=False)
    write_attributes(Node("Test", (), attrs), op.attr, DescriptorWriter(), writer)
    assert decode(op.attr["float"]) == pytest.approx(0.1)
    assert decode(op.attr["dims"]) == ["2", "n"]
    assert decode(op.attr["int"]) == str(2**70)
    assert decode(op.attr["dtype"]) == DTYPES[17].name
    assert op.attr["string"].WhichOneof("value") == "s"


def test_values_that_float32_holds_need_no_second_form() -> None:
    op = message_class("OpDef")()
    attrs = {"float": 0.5, "floats": (math.nan, math.inf, -0.0), "ints": (1, -(2**63))}
    writer = TensorWriter(WeightsWriter(), merge=False)
    write_attributes(Node("Test", (), attrs), op.attr, DescriptorWriter(), writer)
    assert sorted(op.attr) == ["float", "floats", "ints"]


@pytest.mark.parametrize("value", [None, {1}, np.float32(1), [1, 2]])
def test_what_is_no_attribute_of_the_ir_is_refused(value: Any) -> None:
    with pytest.raises(OfflineModelError, match="no attribute of the IR"):
        through({"int": value})


def test_names_of_this_form_are_refused() -> None:
    with pytest.raises(OfflineModelError, match="begins with ge."):
        through({"ge.exact": 1})


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({"unknown": 1}, "has no attribute unknown"),
        ({"int": "3"}, "attribute int is 3"),
        ({"int": 0.5}, "attribute int is 0.5"),
        ({"ints": ["a"]}, "attribute ints"),
        ({"ints": [0.5]}, "attribute ints"),
        ({"ints": 3}, "attribute ints"),
        ({"strings": [1]}, "attribute strings"),
        ({"strings": "ab"}, "attribute strings"),
        ({"dtype": "float99"}, "float99"),
        ({"int": 1, "ge.exact": "{"}, "damaged"),
        ({"int": 1, "ge.exact": "[]"}, "damaged"),
        ({"int": 1, "ge.exact": '{"int":["int","x"]}'}, "damaged"),
        ({"int": 1, "ge.exact": '{"int":["int","' + "9" * 5000 + '"]}'}, "damaged"),
        ({"int": 1, "ge.exact": '{"int":["dtype","x"]}'}, "damaged"),
        ({"int": 1, "ge.exact": '{"other":["int","1"]}'}, "does not have: other"),
        ({"int": 1, "ge.exact": "[" * 100000}, "damaged"),
    ],
)
def test_unsound_attributes_are_refused(stated: dict[str, Any], message: str) -> None:
    op = message_class("OpDef")()
    encode_map(op.attr, stated)
    with pytest.raises(OfflineModelError, match=message):
        read_attributes(SCHEMA, decode_map(op.attr), DescriptorReader({}), TensorReader(memoryview(b"")))
