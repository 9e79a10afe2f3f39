"""The one table of element types.

numpy.dtype is no substitute: ml_dtypes' bf16, fp8 and int4 have kind 'V', and `finfo` and `issubdtype` fail on
them. Bytes come from bits. ONNX numbers: onnx.TensorProto.DataType. GE numbers: the proto enumeration
(TensorDescriptor.dtype) and the in-memory enumeration (AttrDef.dt, Cast's dst_type, MODEL_INOUT_INFO).
DLPack codes: DLDataTypeCode of dlpack 1.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import ml_dtypes
import numpy as np

from ge_core.errors import GraphError

Kind = Literal["float", "int", "uint", "bool", "complex", "string"]


@dataclass(frozen=True)
class DType:
    """An element type; compare by identity or equality, look up with `DType.of`.

    Attributes:
        name: the name in the text form (`float32`).
        bits: bits per element in a packed buffer; 0 for strings.
        kind: float, int, uint, bool, complex or string.
        numpy: the numpy type that holds one element (sub-byte types take one byte each in numpy).
        onnx, ge_proto, ge_memory, dlpack: the numbers of the other worlds; None where it has none.
        llvm: the LLVM storage type.
    """

    name: str
    bits: int
    kind: Kind
    numpy: np.dtype
    onnx: int
    ge_proto: int | None
    ge_memory: int | None
    dlpack: int | None
    llvm: str

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DType) and self.name == other.name

    def __reduce__(self) -> tuple[object, ...]:
        return (DType.of, (self.name,))

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_integer(self) -> bool:
        return self.kind in ("int", "uint")

    @property
    def is_numeric(self) -> bool:
        return self.kind in ("float", "int", "uint")

    @property
    def min(self) -> float | int:
        """Least finite value."""
        if self.kind == "bool":
            return 0
        if self.is_integer:
            return -(1 << (self.bits - 1)) if self.kind == "int" else 0
        return float(ml_dtypes.finfo(self.numpy).min)

    @property
    def max(self) -> float | int:
        """Largest finite value."""
        if self.kind == "bool":
            return 1
        if self.is_integer:
            return (1 << (self.bits - 1)) - 1 if self.kind == "int" else (1 << self.bits) - 1
        return float(ml_dtypes.finfo(self.numpy).max)

    def nbytes(self, elements: int) -> int:
        """Bytes of `elements` packed elements; sub-byte types fill whole bytes at the end."""
        return (elements * self.bits + 7) // 8

    @staticmethod
    def of(spec: object) -> DType:
        """The DType of a name, a numpy dtype or scalar type, or a DType.

        Raises:
            GraphError: nothing in the table matches.
        """
        if isinstance(spec, DType):
            return spec
        if isinstance(spec, str) and spec in _BY_NAME:
            return _BY_NAME[spec]
        try:
            found = _BY_NUMPY.get(np.dtype(spec))  # type: ignore[call-overload]
        except TypeError:
            found = None
        if found is None and isinstance(spec, np.dtype) and spec.kind in "USTO":
            return string
        if found is None:
            raise GraphError(f"unknown element type {spec!r}", expected=", ".join(_BY_NAME))
        return found

    @staticmethod
    def of_onnx(number: int) -> DType:
        """The DType of an onnx.TensorProto.DataType number."""
        if number not in _BY_ONNX:
            raise GraphError(f"unknown ONNX element type number {number}")
        return _BY_ONNX[number]


def _t(
    name: str,
    bits: int,
    kind: Kind,
    np_type: object,
    onnx: int,
    proto: int | None,
    memory: int | None,
    dlpack: int | None,
    llvm: str,
) -> DType:
    return DType(name, bits, kind, np.dtype(np_type), onnx, proto, memory, dlpack, llvm)  # type: ignore[call-overload]


float32 = _t("float32", 32, "float", np.float32, 1, 1, 0, 2, "float")
float64 = _t("float64", 64, "float", np.float64, 11, 12, 11, 2, "double")
float16 = _t("float16", 16, "float", np.float16, 10, 2, 1, 2, "half")
bfloat16 = _t("bfloat16", 16, "float", ml_dtypes.bfloat16, 16, 27, 27, 4, "i16")
int8 = _t("int8", 8, "int", np.int8, 3, 3, 2, 0, "i8")
int16 = _t("int16", 16, "int", np.int16, 5, 5, 6, 0, "i16")
int32 = _t("int32", 32, "int", np.int32, 6, 7, 3, 0, "i32")
int64 = _t("int64", 64, "int", np.int64, 7, 8, 9, 0, "i64")
uint8 = _t("uint8", 8, "uint", np.uint8, 2, 4, 4, 1, "i8")
uint16 = _t("uint16", 16, "uint", np.uint16, 4, 6, 7, 1, "i16")
uint32 = _t("uint32", 32, "uint", np.uint32, 12, 9, 8, 1, "i32")
uint64 = _t("uint64", 64, "uint", np.uint64, 13, 10, 10, 1, "i64")
boolean = _t("bool", 8, "bool", np.bool_, 9, 11, 12, 6, "i8")
complex64 = _t("complex64", 64, "complex", np.complex64, 14, 16, 16, 5, "i64")
complex128 = _t("complex128", 128, "complex", np.complex128, 15, 17, 17, 5, "i128")
string = _t("string", 0, "string", np.object_, 8, 13, 13, None, "ptr")
float8e4m3fn = _t("float8e4m3fn", 8, "float", ml_dtypes.float8_e4m3fn, 17, 35, 36, 10, "i8")
float8e4m3fnuz = _t("float8e4m3fnuz", 8, "float", ml_dtypes.float8_e4m3fnuz, 18, None, None, 11, "i8")
float8e5m2 = _t("float8e5m2", 8, "float", ml_dtypes.float8_e5m2, 19, 34, 35, 12, "i8")
float8e5m2fnuz = _t("float8e5m2fnuz", 8, "float", ml_dtypes.float8_e5m2fnuz, 20, None, None, 13, "i8")
uint4 = _t("uint4", 4, "uint", ml_dtypes.uint4, 21, None, None, 1, "i4")
int4 = _t("int4", 4, "int", ml_dtypes.int4, 22, 28, 29, 0, "i4")
float4e2m1 = _t("float4e2m1", 4, "float", ml_dtypes.float4_e2m1fn, 23, 39, 40, 17, "i4")
float8e8m0 = _t("float8e8m0", 8, "float", ml_dtypes.float8_e8m0fnu, 24, 36, 37, 14, "i8")
uint2 = _t("uint2", 2, "uint", ml_dtypes.uint2, 25, 31, 32, 1, "i2")
int2 = _t("int2", 2, "int", ml_dtypes.int2, 26, 30, 31, 0, "i2")

DTYPES: tuple[DType, ...] = (
    float32, float64, float16, bfloat16, int8, int16, int32, int64, uint8, uint16, uint32, uint64, boolean,
    complex64, complex128, string, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, uint4, int4,
    float4e2m1, float8e8m0, uint2, int2,
)  # fmt: skip

_BY_NAME = {d.name: d for d in DTYPES}
_BY_NUMPY = {d.numpy: d for d in DTYPES}
_BY_ONNX = {d.onnx: d for d in DTYPES}


def pack(array: np.ndarray, dtype: DType) -> bytes:
    """The packed little-endian bytes of an array; sub-byte types put the first element in the low bits.

    Args:
        array: numpy array whose dtype is `dtype.numpy`.
    """
    if dtype.bits >= 8:
        return np.ascontiguousarray(array).tobytes()
    per_byte = 8 // dtype.bits
    mask = (1 << dtype.bits) - 1
    raw = np.ascontiguousarray(array).view(np.uint8).ravel() & mask
    raw = np.concatenate([raw, np.zeros(-len(raw) % per_byte, np.uint8)]).reshape(-1, per_byte)
    shifts = np.arange(per_byte, dtype=np.uint8) * np.uint8(dtype.bits)
    return np.bitwise_or.reduce(raw << shifts, axis=1).astype(np.uint8).tobytes()


def unpack(data: memoryview | bytes, dtype: DType, shape: tuple[int, ...]) -> np.ndarray:
    """The array of packed bytes; a view of `data` unless the type is smaller than a byte.

    Args:
        data: at least `dtype.nbytes(prod(shape))` bytes.
    """
    count = int(np.prod(shape, dtype=np.int64)) if shape else 1
    if dtype.bits >= 8:
        return np.frombuffer(data, dtype.numpy, count).reshape(shape)
    per_byte = 8 // dtype.bits
    raw = np.frombuffer(data, np.uint8, dtype.nbytes(count))
    shifts = np.arange(per_byte, dtype=np.uint8) * np.uint8(dtype.bits)
    parts = ((raw[:, None] >> shifts) & np.uint8((1 << dtype.bits) - 1)).ravel()[:count]
    if dtype.kind == "int":
        sign = np.uint8(1 << (dtype.bits - 1))
        parts = ((parts ^ sign).astype(np.int8) - np.int8(sign)).astype(np.int8)
        return parts.astype(dtype.numpy).reshape(shape)
    if dtype.kind == "uint":
        return parts.astype(dtype.numpy).reshape(shape)
    return parts.view(dtype.numpy).reshape(shape)
