from __future__ import annotations

import subprocess
import sys

import pytest

from ge_core.errors import OfflineModelError
from ge_core.om import message_class, parse, serialize
from ge_core.om.wire import MAX_DEPTH, field, fields, read_varint, varint


def test_field_numbers_are_those_of_ge() -> None:
    op = message_class("OpDef")(name="a", has_out_attr=True, input_i=[1, 300], subgraph_name=["s"])
    op.attr["k"].i = -1
    tensor = op.input_desc.add(dtype=27, data_offset=5)
    tensor.shape.dim.append(-1)
    expected = (
        field(1, b"a")
        + field(10, field(1, b"k") + field(2, varint(3 << 3) + varint(2**64 - 1)))
        + varint(20 << 3) + b"\x01"
        + field(28, varint(1) + varint(300))
        + field(33, varint(2 << 3) + b"\x1b" + field(3, field(1, varint(2**64 - 1))) + varint(18 << 3) + b"\x05")
        + field(35, b"s")
    )  # fmt: skip
    assert serialize(op) == expected
    assert parse("OpDef", expected) == op


def test_our_messages_stay_out_of_the_default_pool() -> None:
    from google.protobuf import descriptor_pool

    assert message_class("ModelDef").DESCRIPTOR.full_name == "ge.proto.ModelDef"
    with pytest.raises(KeyError):
        descriptor_pool.Default().FindMessageTypeByName("ge.proto.ModelDef")


def test_protobuf_is_imported_at_the_first_use() -> None:
    code = "import sys, ge_core.om; assert not any(name.startswith('google.protobuf') for name in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_maps_are_written_in_one_order() -> None:
    names = [f"k{i}" for i in range(50)]
    one, other = message_class("ModelDef")(), message_class("ModelDef")()
    for name in names:
        one.attr[name].i = 1
    for name in reversed(names):
        other.attr[name].i = 1
    assert serialize(one) == serialize(other)


@pytest.mark.parametrize(
    "data",
    [b"\xff", b"\x0a\x05ab", b"\x0a\x02\xff\xfe", b"\x07", field(7, b"\x0a\x05a"), b"\x00\x00"],
    ids=["tag", "length", "utf8", "wire type", "inner", "field 0"],
)
def test_what_is_no_message_is_an_offline_model_error(data: bytes) -> None:
    with pytest.raises(OfflineModelError, match="not a valid ModelDef message"):
        parse("ModelDef", data)


def nested(depth: int) -> bytes:
    """A ModelDef whose attribute holds NamedAttrs in NamedAttrs in ..."""
    attr = varint(3 << 3) + b"\x01"
    for _ in range(depth):
        attr = field(10, field(2, field(1, b"k") + field(2, attr)))
    return field(11, field(1, b"k") + field(2, attr))


def test_deep_nesting_is_refused_small_and_large() -> None:
    with pytest.raises(OfflineModelError):
        parse("ModelDef", nested(5000))
    padding = field(1, b"x" * 100_000)
    with pytest.raises(OfflineModelError, match=f"deeper than {MAX_DEPTH}"):
        parse("ModelDef", padding + nested(MAX_DEPTH))
    parse("ModelDef", padding + nested(15))


@pytest.mark.parametrize(("message", "number"), [("GraphDef", 6), ("OpDef", 33)])
def test_a_flood_of_empty_messages_is_refused(message: str, number: int) -> None:
    with pytest.raises(OfflineModelError, match="too many messages for its size"):
        parse(message, field(number, b"") * 300_000)


def test_a_large_honest_model_is_read() -> None:
    model = message_class("ModelDef")()
    graph = model.graph.add(name="main")
    for i in range(2000):
        op = graph.op.add(name=f"n{i}", type="Add", input=[f"n{i - 1}:0", "c:0"])
        for desc in (op.input_desc.add(), op.input_desc.add(), op.output_desc.add()):
            desc.dtype = 1
            desc.shape.dim.extend([1, 2])
        op.attr["a"].i = i
    data = serialize(model)
    assert len(data) > 1 << 16
    assert parse("ModelDef", data) == model


@pytest.mark.parametrize("value", [0, 1, 127, 128, 300, 2**32, 2**63, 2**64 - 1])
def test_varints_come_back(value: int) -> None:
    data = memoryview(varint(value))
    assert read_varint(data, 0, len(data)) == (value, len(data))


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff" * 10, b"\x80" * 9 + b"\x02", b"\x80" * 20 + b"\x01"])
def test_bad_varints_are_refused(data: bytes) -> None:
    with pytest.raises(OfflineModelError):
        read_varint(memoryview(data), 0, len(data))


def test_fields_splits_one_level() -> None:
    data = field(1, b"abc") + varint(2 << 3) + varint(300) + varint(3 << 3 | 5) + b"1234"
    found = [(number, kind, value if isinstance(value, int) else bytes(value)) for number, kind, value in
             fields(memoryview(data))]  # fmt: skip
    assert found == [(1, 2, b"abc"), (2, 0, 300), (3, 5, b"1234")]
