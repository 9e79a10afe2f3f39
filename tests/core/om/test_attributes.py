from __future__ import annotations

import math
from typing import Any

import pytest

from ge_core.errors import OfflineModelError
from ge_core.om import DataTypeNumber, Expression, Named, message_class, parse, serialize
from ge_core.om.attributes import decode, decode_map, encode, encode_map

VALUES = [
    True, 0, -1, 2**63 - 1, -(2**63), 0.5, -0.0, math.inf, "", "größe", b"", b"\x00\xff", DataTypeNumber(27),
    Expression("2*n+1"), Named("f", {"a": 1, "b": Named("g", {"c": ["x"]})}), [], [1, -2], [0.5, 1.0], ["a", ""],
    [b"\xff", b""], [True, False], [DataTypeNumber(3)], [Named("f"), Named("g", {"i": 1})], [[1], [], [2, 3]],
    [[0.5], [1.5, 2.5]],
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_come_back_with_their_types(value: Any) -> None:
    back = decode(parse("AttrDef", serialize(encode(value))))
    assert back == value
    assert type(back) is type(value)
    assert math.copysign(1, back) == math.copysign(1, value) if isinstance(value, float) else True


def test_messages_come_back() -> None:
    tensor = message_class("TensorDescriptor")(name="x", dtype=1)
    assert decode(encode(tensor)) == tensor
    assert decode(encode([tensor, tensor])) == [tensor, tensor]
    data = message_class("TensorDef")(desc=tensor, data=b"1234")
    assert decode(encode(data)) == data


def test_lists_carry_the_type_without_which_ge_drops_them() -> None:
    kinds = [encode([value]).list.val_type for value in ("s", 1, 0.5, True, b"b")]
    assert kinds == [1, 2, 3, 4, 5]
    assert encode([DataTypeNumber(1)]).list.val_type == 10
    assert encode([Named("f")]).list.val_type == 9


def test_data_types_are_in_their_own_field() -> None:
    assert encode(DataTypeNumber(9)).WhichOneof("value") == "dt"
    assert encode(b"x").WhichOneof("value") == "bt"
    assert encode("x").WhichOneof("value") == "s"


def test_floats_are_rounded_to_float32() -> None:
    assert decode(encode(0.1)) == 0.10000000149011612
    assert decode(encode(1e300)) == math.inf


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, [1, "a"], [1, 0.5], [[1], ["a"]], None, {1}, [None], 1j])
def test_what_ge_cannot_hold_is_refused(value: Any) -> None:
    with pytest.raises(OfflineModelError, match="cannot be an attribute"):
        encode(value)


def test_maps_are_decoded_in_order_and_name_the_bad_one() -> None:
    op = message_class("OpDef")()
    encode_map(op.attr, {"b": 1, "a": "x"})
    assert list(decode_map(op.attr).items()) == [("a", "x"), ("b", 1)]
    op.attr["c"].SetInParent()
    with pytest.raises(OfflineModelError, match="without a value\n  at: attribute c"):
        decode_map(op.attr)


def test_lists_that_mix_types_are_refused() -> None:
    attr = encode([1])
    attr.list.s.append(b"x")
    with pytest.raises(OfflineModelError, match="mixes types"):
        decode(attr)
    attr = encode([1])
    attr.list.val_type = 3
    with pytest.raises(OfflineModelError, match="of type 3 that holds type 2"):
        decode(attr)


def test_lists_that_ge_writes_without_a_type_are_read() -> None:
    attr = encode(["x", "y"])
    attr.list.val_type = 0
    assert decode(attr) == ["x", "y"]
