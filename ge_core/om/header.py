"""The 256-byte header of GE's container."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from ge_core.errors import OfflineModelError

SIZE = 256
MAGIC = 0x444F4D49  # the letters IMOD in the file
VERSION = 0x20000000
OLD_VERSION = 0x10000000  # has no model_num

IR_MODEL, STANDARD, TINY, FLOW, LITE, BUNDLE = range(6)

# magic, headsize, version, checksum, length, is_encrypt, is_checksum, modeltype, genmode, name, ops,
# userdefineinfo, om_ir_version, model_num, platform_version, platform_type, model_length,
# need_check_os_cpu_info, is_unknow_model
_LAYOUT = struct.Struct("<III64sIBBBB32sI32sII20sB3xQBB62x")
assert _LAYOUT.size == SIZE

_OTHER_FILES = {
    b"PK\x03\x04": "a ZIP archive (GE's OM2 format)",
    b"PICO": "an OM file for the Smart Vision Platform",
}


@dataclass(frozen=True)
class Header:
    """The fields with a meaning; names as in GE.

    Attributes:
        name: at most 31 bytes are stored.
        ops: number of operators, informative.
        model_num: number of groups of one table and its partitions.
        model_length: bytes after the header; 0 in old files, which use `length`.
        is_unknow_model: True for GE's dynamic-shape models, whose groups fill the file exactly.
    """

    name: str = ""
    ops: int = 0
    version: int = VERSION
    modeltype: int = IR_MODEL
    genmode: int = 0
    om_ir_version: int = 0
    model_num: int = 1
    platform_version: str = ""
    platform_type: int = 0
    length: int = 0
    model_length: int = 0
    need_check_os_cpu_info: bool = False
    is_unknow_model: bool = False

    @property
    def wide(self) -> bool:
        """Whether the partition tables have 64-bit entries."""
        return self.model_length != 0 or self.modeltype == FLOW

    @property
    def several_groups(self) -> bool:
        return self.version >= VERSION and (self.model_num > 1 or self.is_unknow_model)

    def pack(self) -> bytes:
        """The 256 bytes; the checksum stays zero and is marked unchecked, as GE's own files have it."""
        return _LAYOUT.pack(
            MAGIC, SIZE, self.version, b"", self.length, 0, 1, self.modeltype, self.genmode,
            _clip(self.name, 31), self.ops, b"", self.om_ir_version, self.model_num,
            _clip(self.platform_version, 19), self.platform_type, self.model_length,
            self.need_check_os_cpu_info, self.is_unknow_model,
        )  # fmt: skip

    @staticmethod
    def unpack(data: memoryview, file_size: int) -> Header:
        """The header of a file of `file_size` bytes.

        Raises:
            OfflineModelError: not GE's container, encrypted, of an unknown version, or the length is wrong.
        """
        start = bytes(data[:4])
        if start in _OTHER_FILES:
            raise OfflineModelError(
                f"this is {_OTHER_FILES[start]}, not GE's container", expected="a file that starts with IMOD"
            )
        if len(data) < SIZE:
            raise OfflineModelError(f"the file has only {len(data)} bytes", expected=f"at least {SIZE}, the header")
        (
            magic, headsize, version, _, length, is_encrypt, _, modeltype, genmode, name, ops, _,
            om_ir_version, model_num, platform_version, platform_type, model_length, so_packed, unknown,
        ) = _LAYOUT.unpack(data[:SIZE])  # fmt: skip
        if magic != MAGIC:
            raise OfflineModelError("not an offline model", expected="a file that starts with IMOD")
        if headsize != SIZE:
            raise _wrong("headsize", headsize, str(SIZE))
        if version not in (VERSION, OLD_VERSION):
            raise _wrong("version", hex(version), f"{VERSION:#x} or {OLD_VERSION:#x}")
        if is_encrypt:
            raise OfflineModelError("the file is encrypted", fix="export it without encryption")
        if modeltype > BUNDLE:
            raise _wrong("modeltype", modeltype, f"at most {BUNDLE}")
        body = model_length or length
        if body != file_size - SIZE:
            raise _wrong("length", body, f"{file_size - SIZE}, the bytes after the header: the file may be cut off")
        return Header(
            name=_text(name, "name"),
            ops=ops,
            version=version,
            modeltype=modeltype,
            genmode=genmode,
            om_ir_version=om_ir_version,
            model_num=model_num if version >= VERSION else 1,
            platform_version=_text(platform_version, "platform_version"),
            platform_type=platform_type,
            length=length,
            model_length=model_length,
            need_check_os_cpu_info=bool(so_packed),
            is_unknow_model=bool(unknown),
        )


def _clip(text: str, size: int) -> bytes:
    return text.encode()[:size].decode(errors="ignore").encode()


def _text(data: bytes, field: str) -> str:
    try:
        return data.split(b"\0", 1)[0].decode()
    except UnicodeDecodeError as error:
        raise OfflineModelError(f"the header's {field} is not UTF-8") from error


def _wrong(field: str, value: object, expected: str) -> OfflineModelError:
    return OfflineModelError(f"the header's {field} is {value}", expected=expected)
