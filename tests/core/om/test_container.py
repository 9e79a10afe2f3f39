from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from ge_core.errors import OfflineModelError
from ge_core.om import (
    Header,
    PartitionType,
    Stream,
    open_container,
    parse,
    read_container,
    stated_digests,
    verify,
    write_container,
)

Pack = Callable[[Mapping[PartitionType, Any]], bytes]
Partitions = dict[PartitionType, bytes]

BODY = 256
ENTRY = struct.Struct("<I4xQQ")


def entry_at(index: int) -> int:
    return BODY + 8 + ENTRY.size * index


def test_every_partition_comes_back(partitions: Partitions, tmp_path: Path) -> None:
    path = tmp_path / "sample.om"
    digests = write_container(path, partitions, Header(name="sample", ops=4))

    container = open_container(path)

    assert container.header.name == "sample"
    assert container.header.ops == 4
    assert container.header.model_length == path.stat().st_size - 256
    assert [p.type for p in container.groups[0].partitions] == [8, 0, 1, 3, 2]
    for kind, data in partitions.items():
        if kind != PartitionType.MODEL_DEF:
            assert container[kind] == data
    model = parse("ModelDef", container[PartitionType.MODEL_DEF])
    assert [op.name for op in model.graph[0].op] == ["x", "c", "add", "net_output"]
    assert verify(container) == digests == stated_digests(container)


def test_partitions_lie_without_gaps_and_the_table_says_so(partitions: Partitions, pack: Pack) -> None:
    data = pack(partitions)
    (count,) = struct.unpack_from("<I", data, BODY)
    entries = [ENTRY.unpack_from(data, entry_at(i)) for i in range(count)]
    place = 0
    for _, offset, size in entries:
        assert offset == place
        place += size
    assert entry_at(count) + place == len(data)


@pytest.mark.parametrize("extra", range(0, 130, 13))
def test_weights_begin_on_a_64_byte_boundary_of_the_file(partitions: Partitions, pack: Pack, extra: int) -> None:
    partitions[PartitionType.MODEL_INOUT_INFO] = struct.pack("<II", 6, extra) + bytes(extra)
    container = read_container(pack(partitions))
    (weights,) = (p for p in container.groups[0].partitions if p.type == PartitionType.WEIGHTS_DATA)
    assert weights.offset % 64 == 0
    verify(container)


def test_equal_input_gives_equal_bytes(partitions: Partitions, pack: Pack) -> None:
    assert pack(partitions) == pack(dict(reversed(partitions.items())))


def test_weights_are_written_chunk_by_chunk_and_never_joined(partitions: Partitions, pack: Pack) -> None:
    written: list[int] = []

    class Watched(BytesIO):
        def write(self, data: Any) -> int:
            written.append(len(data))
            return super().write(data)

    chunk = bytearray(b"\x05" * 1000)
    partitions[PartitionType.WEIGHTS_DATA] = Stream(5000, (memoryview(chunk) for _ in range(5)))  # type: ignore[assignment]
    file = Watched()
    write_container(file, partitions)
    assert written.count(1000) == 5
    partitions[PartitionType.WEIGHTS_DATA] = bytes(chunk) * 5
    assert file.getvalue() == pack(partitions)


@pytest.mark.parametrize("chunks", [[b"123"], [b"123", b"45"]])
def test_chunks_that_do_not_add_up_are_refused(partitions: Partitions, chunks: list[bytes]) -> None:
    partitions[PartitionType.WEIGHTS_DATA] = Stream(4, chunks)  # type: ignore[assignment]
    with pytest.raises(OfflineModelError, match="WEIGHTS_DATA was announced with 4 bytes"):
        write_container(BytesIO(), partitions)


def test_weights_that_cannot_be_read_leave_the_old_file(partitions: Partitions, tmp_path: Path) -> None:
    def chunks() -> Iterator[bytes]:
        yield b"12"
        raise MemoryError

    path = tmp_path / "model.om"
    path.write_bytes(b"the old file")
    with pytest.raises(MemoryError):
        write_container(path, {**partitions, PartitionType.WEIGHTS_DATA: Stream(4, chunks())})
    assert path.read_bytes() == b"the old file"
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.om"]


def test_empty_partitions_are_left_out(partitions: Partitions, pack: Pack) -> None:
    partitions[PartitionType.TBE_KERNELS] = b""
    container = read_container(pack(partitions))
    assert PartitionType.TBE_KERNELS not in container
    assert container.get(PartitionType.TBE_KERNELS) == b""
    with pytest.raises(OfflineModelError, match="no TBE_KERNELS partition"):
        container[PartitionType.TBE_KERNELS]


def test_a_model_without_model_def_is_refused() -> None:
    with pytest.raises(OfflineModelError, match="needs a MODEL_DEF"):
        write_container(BytesIO(), {PartitionType.WEIGHTS_DATA: b"1"})


def test_partition_types_of_other_formats_are_refused(partitions: Partitions) -> None:
    with pytest.raises(OfflineModelError, match="FLOW_MODEL"):
        write_container(BytesIO(), partitions | {PartitionType.FLOW_MODEL: b"1"})


def foreign(groups: list[list[tuple[int, bytes]]], *, wide: bool = True, **fields: Any) -> bytes:
    """A file as others write it, without padding and seal."""
    body = b""
    for group in groups:
        body += struct.pack("<I4x" if wide else "<I", len(group))
        place = 0
        for kind, data in group:
            body += struct.pack("<I4xQQ" if wide else "<III", kind, place, len(data))
            place += len(data)
        body += b"".join(data for _, data in group)
    length = {"model_length": len(body)} if wide else {"length": len(body)}
    return Header(**{**length, **fields}).pack() + body


def test_the_narrow_table_of_old_files_is_read() -> None:
    container = read_container(foreign([[(0, b"model"), (1, b"w")]], wide=False, version=0x10000000))
    assert container[PartitionType.MODEL_DEF] == b"model"
    assert container[PartitionType.WEIGHTS_DATA] == b"w"


def test_several_groups_of_a_dynamic_model_are_read() -> None:
    groups = [[(0, b"root"), (3, b"k"), (2, b"t")], [(0, b"one"), (1, b"w"), (2, b"t")], [(0, b"two")]]
    data = foreign(groups, model_num=3, is_unknow_model=True)
    container = read_container(data)
    assert [bytes(group[PartitionType.MODEL_DEF]) for group in container.groups] == [b"root", b"one", b"two"]
    longer = foreign(groups, model_num=3, is_unknow_model=True, model_length=len(data) - 256 + 8) + bytes(8)
    with pytest.raises(OfflineModelError, match="8 bytes after the last partition"):
        read_container(longer)


def test_flow_models_may_repeat_their_sub_models() -> None:
    sub_models = [(7, b"sub")] * 20
    container = read_container(foreign([[(0, b"root"), (6, b"flow"), *sub_models]], modeltype=3))
    assert len(container.groups[0].partitions) == 22


def test_files_of_others_carry_no_digests() -> None:
    container = read_container(foreign([[(0, b"model"), (1, b"w")]]))
    assert stated_digests(container) is None
    with pytest.raises(OfflineModelError, match="no checksums"):
        verify(container)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "only 0 bytes"),
        (b"PK\x03\x04" + bytes(300), "ZIP"),
        (b"IMOD" + bytes(100), "only 104 bytes"),
        (bytes(300), "not an offline model"),
        (foreign([[]]), "table of 0 entries"),
        (foreign([[(i, b"1") for i in range(9)]]), "table of 9 entries"),
        (foreign([[(0, b"a"), (0, b"b")]]), "two partitions of type MODEL_DEF"),
        (foreign([[(0, b"a"), (99, b"b")]]), "unknown type 99"),
        (foreign([[(0, b"a")]], modeltype=5), "bundle"),
        (foreign([[(0, b"a")]], modeltype=6), "modeltype is 6"),
        (foreign([[(0, b"a")]], version=3), "version is 0x3"),
        (foreign([[(0, b"a")]], model_num=5000), "5000 models"),
        (foreign([[(0, b"a")]], model_num=2), "ends inside a partition table"),
    ],
)
def test_unsound_files_are_refused_with_the_reason(data: bytes, message: str) -> None:
    with pytest.raises(OfflineModelError, match=message):
        read_container(data)


@pytest.mark.parametrize(
    ("index", "change", "message"),
    [
        (1, lambda k, o, s: (k, o + 8, s), "table puts MODEL_DEF at"),
        (1, lambda k, o, s: (k, 0, s), "table puts MODEL_DEF at 0"),
        (4, lambda k, o, s: (k, o, s + 1), "ends inside TASK_INFO"),
        (1, lambda k, o, s: (k, o, 2**64 - 1), "ends inside MODEL_DEF of 18446744073709551615"),
        (2, lambda k, o, s: (k, o, s - 1), "table puts TBE_KERNELS"),
    ],
)
def test_a_table_that_lies_is_refused(
    partitions: Partitions, pack: Pack, index: int, change: Any, message: str
) -> None:
    data = bytearray(pack(partitions))
    ENTRY.pack_into(data, entry_at(index), *change(*ENTRY.unpack_from(data, entry_at(index))))
    with pytest.raises(OfflineModelError, match=message):
        read_container(bytes(data))


@pytest.mark.parametrize("kind", list(PartitionType)[:4])
def test_damage_in_any_partition_is_found(partitions: Partitions, pack: Pack, kind: PartitionType) -> None:
    data = bytearray(pack(partitions))
    (partition,) = (p for p in read_container(bytes(data)).groups[0].partitions if p.type == kind)
    data[partition.offset] ^= 1
    with pytest.raises(OfflineModelError, match=f"damaged: .*{kind.name}"):
        verify(read_container(bytes(data)))


def test_weights_are_verified_only_on_request(partitions: Partitions, pack: Pack) -> None:
    data = bytearray(pack(partitions))
    (weights,) = (p for p in read_container(bytes(data)).groups[0].partitions if p.type == PartitionType.WEIGHTS_DATA)
    data[weights.offset] ^= 1
    verify(read_container(bytes(data)), weights=False)


def test_ten_gigabytes_open_without_being_read(partitions: Partitions, pack: Pack, tmp_path: Path) -> None:
    size = 10 << 30
    path = tmp_path / "large.om"
    parts = [(8, partitions[PartitionType.MODEL_INOUT_INFO]), (0, partitions[PartitionType.MODEL_DEF])]
    table = struct.pack("<I4x", 3)
    place = 0
    for kind, data in parts:
        table += ENTRY.pack(kind, place, len(data))
        place += len(data)
    body = table + ENTRY.pack(1, place, size) + b"".join(data for _, data in parts)
    with path.open("wb") as file:
        file.write(Header(model_length=len(body) + size).pack() + body)
        file.truncate(256 + len(body) + size)
    assert path.stat().st_blocks * 512 < 1 << 20
    container = open_container(path)
    assert len(container[PartitionType.WEIGHTS_DATA]) == size
    assert container[PartitionType.WEIGHTS_DATA][-1] == 0


def test_missing_and_strange_paths_are_offline_model_errors(tmp_path: Path) -> None:
    with pytest.raises(OfflineModelError, match="cannot be read: No such file"):
        open_container(tmp_path / "none.om")
    with pytest.raises(OfflineModelError, match="cannot be read"):
        open_container(tmp_path)
    with pytest.raises(OfflineModelError, match="not a regular file"):
        open_container("/dev/null")
    (tmp_path / "empty.om").touch()
    with pytest.raises(OfflineModelError, match="empty"):
        open_container(tmp_path / "empty.om")
