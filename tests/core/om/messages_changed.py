"""Changes of protobuf messages that still parse: hostile numbers and texts, parts dropped, repeated, swapped."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

NUMBERS = (-(2**63), -(2**31), -3, -2, -1, 0, 1, 2, 7, 63, 64, 100, 2**31 - 1, 2**31, 2**62, 2**63 - 1)
TEXTS = (
    "",
    "x",
    ":",
    "x:",
    "x:0",
    "x:-1",
    "x:99999999999",
    "main",
    "ai.onnx",
    "ge",
    "n",
    "(",
    "-1",
    "[]",
    "{}",
    "9" * 5000,
)


def fields_of(message: Any) -> Iterator[tuple[Any, Any]]:
    """Every set field in a message and all messages in it, with the message that has it."""
    for field, value in message.ListFields():
        yield message, field
        if field.type != field.TYPE_MESSAGE:
            continue
        if field.message_type.GetOptions().map_entry:
            if field.message_type.fields_by_name["value"].type == field.TYPE_MESSAGE:
                for key in value:
                    yield from fields_of(value[key])
        elif field.is_repeated:
            for inner in value:
                yield from fields_of(inner)
        else:
            yield from fields_of(value)


def hostile(field: Any, choose: random.Random) -> Any:
    if field.type == field.TYPE_STRING:
        return choose.choice(TEXTS)
    if field.type == field.TYPE_BYTES:
        return choose.choice(TEXTS).encode() + choose.choice([b"", b"\xff", bytes(1000)])
    if field.type == field.TYPE_BOOL:
        return choose.random() < 0.5
    if field.type == field.TYPE_FLOAT:
        return choose.choice([float("nan"), float("inf"), -1.0, 1e30])
    number = choose.choice(NUMBERS)
    bits = 31 if field.type in (field.TYPE_INT32, field.TYPE_UINT32) else 63
    low = 0 if field.type in (field.TYPE_UINT32, field.TYPE_UINT64) else -(1 << bits)
    return max(low, min((1 << bits) - 1, number))


def change(message: Any, field: Any, choose: random.Random) -> None:
    """Set, drop, repeat or reorder one field."""
    value = getattr(message, field.name)
    if field.type == field.TYPE_MESSAGE and field.message_type.GetOptions().map_entry:
        key = choose.choice(sorted(value))
        if choose.random() < 0.5:
            del value[key]
        else:
            other = choose.choice(sorted(value))
            value[choose.choice([key + "x", other])].CopyFrom(value[key])
    elif field.is_repeated:
        index = choose.randrange(len(value))
        act = choose.choice(["drop", "repeat", "set", "swap"])
        if act == "drop":
            del value[index]
        elif act == "repeat":
            value.append(value[index])
        elif act == "swap":
            items = list(value)
            choose.shuffle(items)
            kept = [type(item)() for item in items] if field.type == field.TYPE_MESSAGE else items
            if field.type == field.TYPE_MESSAGE:
                for copy, item in zip(kept, items, strict=True):
                    copy.CopyFrom(item)
            del value[:]
            value.extend(kept)
        elif field.type != field.TYPE_MESSAGE:
            value[index] = hostile(field, choose)
    elif field.type == field.TYPE_MESSAGE or choose.random() < 0.2:
        message.ClearField(field.name)
    else:
        setattr(message, field.name, hostile(field, choose))


def changed_fields(message: Any, choose: random.Random, count: int) -> None:
    """Change `count` random fields of a message and of all messages in it."""
    for _ in range(count):
        found = list(fields_of(message))
        if found:
            change(*choose.choice(found), choose)
