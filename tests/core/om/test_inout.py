from __future__ import annotations

import struct

import pytest

from ge_core.errors import OfflineModelError
from ge_core.om import InOutInfo, TensorInfo

INFO = InOutInfo(
    inputs=(TensorInfo("x", 0, 9, (-1, 4), ((1, 32), (4, 4))), TensorInfo("größe", 8, 9, ())),
    outputs=(TensorInfo("output_0_add_0", 16, 0, (4,), format=0),),
    others=((6, b"order"),),
)


def test_everything_comes_back() -> None:
    assert InOutInfo.unpack(INFO.pack()) == INFO


def test_the_layout_is_ges() -> None:
    info = InOutInfo((TensorInfo("ab", 16, 3, (4,), ((1, 2),)),), ())
    tensor = struct.pack("<qIIIIII", 16, 2, 3, 2, 8, 0, 16) + b"ab" + struct.pack("<qqq", 4, 1, 2)
    value = struct.pack("<I", 1) + tensor
    assert info.pack() == struct.pack("<II", 0, len(value)) + value + struct.pack("<III", 1, 4, 0)


def test_shapes_for_preprocessing_are_skipped() -> None:
    tensor = struct.pack("<qIIIIII", 16, 2, 3, 1, 8, 16, 0) + b"a" + struct.pack("<qqq", 4, 7, 7)
    value = struct.pack("<I", 1) + tensor
    info = InOutInfo.unpack(struct.pack("<II", 0, len(value)) + value)
    assert info.inputs == (TensorInfo("a", 16, 3, (4,)),)


def test_truncation_is_an_error_at_every_byte_but_between_records() -> None:
    data = INFO.pack()
    first = 8 + struct.unpack_from("<I", data, 4)[0]
    second = first + 8 + struct.unpack_from("<I", data, first + 4)[0]
    for size in set(range(1, len(data))) - {first, second}:
        with pytest.raises(OfflineModelError):
            InOutInfo.unpack(data[:size])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (b"", "without a count"),
        (struct.pack("<I", 2**32 - 1), "4294967295 tensors that is cut off"),
        (struct.pack("<I", 0) + b"x", "1 bytes after the last"),
        (struct.pack("<IqIIIIII", 1, 0, 2, 0, 0, 7, 0, 0) + bytes(7), "no whole number"),
        (struct.pack("<IqIIIIII", 1, 0, 2, 0, 1, 0, 0, 0) + b"\xff", "not UTF-8"),
        (struct.pack("<IqIIIIII", 1, 0, 2, 0, *[2**32 - 1] * 4), "cut off"),
    ],
)
def test_unsound_descriptions_are_refused(value: bytes, message: str) -> None:
    with pytest.raises(OfflineModelError, match=message):
        InOutInfo.unpack(struct.pack("<II", 0, len(value)) + value)


def test_a_description_twice_is_refused() -> None:
    record = struct.pack("<III", 0, 4, 0)
    with pytest.raises(OfflineModelError, match="twice"):
        InOutInfo.unpack(record * 2)
