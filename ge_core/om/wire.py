"""Reading the protobuf wire format without trusting it.

Protobuf parsers bound their recursion but not their memory: an empty message costs two bytes in a file and
hundreds in memory. `check` walks the bytes against a schema first and refuses what would grow too much.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ge_core.errors import OfflineModelError

Fields = Mapping[int, "str | None"]
"""Field number to the name of its message, or None for every other field type."""

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5

MAX_BYTES = 2**31 - 1
MAX_DEPTH = 64
_GROWTH = 24
_BASE = 16 << 20
# Measured with protobuf's C parser: 65 bytes for a message of 5 fields, 193 for one of 21.
_MESSAGE_COST = 16
_FIELD_COST = 8


def read_varint(data: memoryview, at: int, end: int) -> tuple[int, int]:
    """The unsigned varint at `at` and the position after it.

    Raises:
        OfflineModelError: it does not end before `end`, or has more than 64 bits.
    """
    value = shift = 0
    while at < end:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >> 64:
                break
            return value, at
        shift += 7
        if shift > 63:
            break
    raise _damaged(at, "a varint does not end or is longer than 64 bits")


def varint(value: int) -> bytes:
    """The bytes of an unsigned varint."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number: int, data: bytes) -> bytes:
    """A length-delimited field: tag, length, bytes."""
    return varint(number << 3 | BYTES) + varint(len(data)) + data


def fields(data: memoryview) -> Iterator[tuple[int, int, memoryview | int]]:
    """The top-level fields of a message: number, wire type, and the bytes or the integer.

    Raises:
        OfflineModelError: the bytes are no protobuf message.
    """
    at, end = 0, len(data)
    while at < end:
        tag, at = read_varint(data, at, end)
        number, kind = tag >> 3, tag & 7
        if number == 0 or number > 0x1FFFFFFF:
            raise _damaged(at, f"field number {number}")
        if kind == VARINT:
            value, at = read_varint(data, at, end)
            yield number, kind, value
            continue
        if kind == BYTES:
            size, at = read_varint(data, at, end)
        elif kind in (FIXED64, FIXED32):
            size = 8 if kind == FIXED64 else 4
        else:
            raise _damaged(at, f"wire type {kind}")
        if size > end - at:
            raise _damaged(at, f"a field of {size} bytes where {end - at} are left")
        yield number, kind, data[at : at + size]
        at += size


def check(data: memoryview, root: str, schema: Mapping[str, Fields]) -> None:
    """Walk a message and everything in it.

    Raises:
        OfflineModelError: malformed, deeper than MAX_DEPTH messages, or it would take far more memory than
            its size justifies.
    """
    budget = _BASE + _GROWTH * len(data)
    open_messages = [(fields(data), schema[root])]
    while open_messages:
        reader, numbers = open_messages[-1]
        for number, kind, value in reader:
            inner = numbers.get(number)
            if inner is None or kind != BYTES:
                continue
            assert isinstance(value, memoryview)
            budget -= _MESSAGE_COST + _FIELD_COST * len(schema[inner])
            if budget < 0:
                raise OfflineModelError(
                    f"a message of {len(data)} bytes holds too many messages for its size",
                    expected=f"at most {_GROWTH} bytes of memory for each byte of the file",
                    fix="the file is damaged or hostile; write it again from its source model",
                )
            if len(open_messages) >= MAX_DEPTH:
                raise _damaged(0, f"messages nested deeper than {MAX_DEPTH}")
            open_messages.append((fields(value), schema[inner]))
            break
        else:
            open_messages.pop()


def _damaged(at: int, what: str) -> OfflineModelError:
    return OfflineModelError(f"not a valid protobuf message: {what}", where=f"byte {at}")
