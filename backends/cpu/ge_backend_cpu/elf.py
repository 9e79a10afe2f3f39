"""Links an object file against itself: the bytes that can be mapped and run anywhere, with no relocation left.

Kernels have no writable data and call nothing outside their object, so that this needs no linker, and running them
needs no LLVM. What does not keep to that is refused by name: LLVM would bind an unknown name to address 0.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

from ge_core.errors import BackendError

_ALLOC, _WRITE = 2, 1
_PROGBITS, _SYMTAB, _RELA, _NOBITS = 1, 2, 4, 8
_GLOBAL, _WEAK = 1, 2
_X86_64, _AARCH64 = 62, 183
_ALIGNMENT = {_X86_64: 64, _AARCH64: 4096}
"""aarch64 addresses pages, so that its code may be moved by whole pages alone."""


@dataclass(frozen=True)
class Code:
    """Position independent code: entry points by name as offsets into `data`.

    Attributes:
        alignment: of the first byte's address.
    """

    symbols: dict[str, int]
    data: bytes
    alignment: int = 64


@dataclass(frozen=True)
class _Section:
    name: str
    type: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    align: int


def link(object_file: bytes) -> Code:
    """The code of a relocatable ELF object that LLVM has just made.

    Raises:
        BackendError: it calls or reads something outside itself, has writable data, or an unknown relocation.
    """
    machine, sections = _sections(object_file)
    relocate = {_X86_64: _relocate_x86, _AARCH64: _relocate_aarch64}[machine]
    image, places = _laid_out(object_file, sections)
    symbols, exported = _symbols(object_file, sections, places)
    for section in sections:
        if section.type != _RELA or section.info not in places:
            continue
        for at in range(section.offset, section.offset + section.size, 24):
            offset, info, addend = struct.unpack_from("<QQq", object_file, at)
            name, target = symbols[info >> 32]
            if target is None:
                raise BackendError(f"generated code uses {name!r}, which is not part of it")
            relocate(image, places[section.info] + offset, info & 0xFFFFFFFF, target + addend)
    return Code(exported, bytes(image), _ALIGNMENT[machine])


def _sections(data: bytes) -> tuple[int, list[_Section]]:
    if data[:6] != b"\x7fELF\x02\x01":
        raise BackendError("LLVM gave no 64-bit little-endian ELF object")
    (machine,) = struct.unpack_from("<H", data, 18)
    (start,) = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    raw = [struct.unpack_from("<IIQQQQIIQQ", data, start + i * size) for i in range(count)]
    text = raw[names][4]
    return machine, [
        _Section(_text(data, text + r[0]), r[1], r[2], r[4], r[5], r[6], r[7], r[8]) for r in raw
    ]  # fmt: skip


def _text(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode()


def _laid_out(data: bytes, sections: list[_Section]) -> tuple[bytearray, dict[int, int]]:
    """Code and constants one after another, and where each section begins."""
    image, places = bytearray(), {}
    for number, section in enumerate(sections):
        # unwind tables: kernels do not unwind
        if not section.flags & _ALLOC or section.size == 0 or section.name.startswith(".eh_frame"):
            continue
        if section.flags & _WRITE or section.type == _NOBITS:
            raise BackendError(f"generated code has writable data ({section.name})")
        image += bytes(-len(image) % max(section.align, 16))
        places[number] = len(image)
        image += data[section.offset : section.offset + section.size]
    return image, places


def _symbols(
    data: bytes, sections: list[_Section], places: dict[int, int]
) -> tuple[list[tuple[str, int | None]], dict[str, int]]:
    """Every symbol with its place in the image, None outside it; and the exported ones."""
    table = next(s for s in sections if s.type == _SYMTAB)
    strings = sections[table.link].offset
    symbols: list[tuple[str, int | None]] = []
    exported: dict[str, int] = {}
    for at in range(table.offset, table.offset + table.size, 24):
        name, info, _, section, value, _ = struct.unpack_from("<IBBHQQ", data, at)
        place = places[section] + value if section in places else None
        text = _text(data, strings + name)
        symbols.append((text, place))
        if info >> 4 in (_GLOBAL, _WEAK) and place is not None:
            exported[text] = place
    return symbols, exported


def _relocate_x86(image: bytearray, spot: int, kind: int, target: int) -> None:
    """R_X86_64_PC32 and PLT32 (32 bits from the place), PC64."""
    value = target - spot
    if kind in (2, 4):
        struct.pack_into("<i", image, spot, value)
    elif kind == 24:
        struct.pack_into("<q", image, spot, value)
    else:
        raise BackendError(f"generated code has a relocation of the unknown type {kind} (x86-64)")


def _relocate_aarch64(image: bytearray, spot: int, kind: int, target: int) -> None:
    """Branches, page addresses and their low bits, differences. The image begins on a page when it is mapped."""
    if kind in (261, 314):  # PREL32, PLT32
        struct.pack_into("<i", image, spot, target - spot)
        return
    if kind == 260:  # PREL64
        struct.pack_into("<q", image, spot, target - spot)
        return
    (word,) = struct.unpack_from("<I", image, spot)
    if kind not in _AARCH64_FIELDS:
        raise BackendError(f"generated code has a relocation of the unknown type {kind} (aarch64)")
    struct.pack_into("<I", image, spot, _AARCH64_FIELDS[kind](word, spot, target))


def _branch(word: int, spot: int, target: int) -> int:
    return word & ~0x3FFFFFF | (target - spot >> 2) & 0x3FFFFFF


def _page(word: int, spot: int, target: int) -> int:
    pages = (target >> 12) - (spot >> 12)
    return word & ~(0x3 << 29 | 0x7FFFF << 5) | (pages & 3) << 29 | (pages >> 2 & 0x7FFFF) << 5


def _low_bits(scale: int) -> Callable[[int, int, int], int]:
    def fill(word: int, spot: int, target: int) -> int:
        return word & ~(0xFFF << 10) | ((target & 0xFFF) >> scale) << 10

    return fill


_AARCH64_FIELDS: dict[int, Callable[[int, int, int], int]] = {
    275: _page,  # ADR_PREL_PG_HI21
    277: _low_bits(0),  # ADD_ABS_LO12_NC
    278: _low_bits(0),  # LDST8
    282: _branch,  # JUMP26
    283: _branch,  # CALL26
    284: _low_bits(1),  # LDST16
    285: _low_bits(2),  # LDST32
    286: _low_bits(3),  # LDST64
    299: _low_bits(4),  # LDST128
}
