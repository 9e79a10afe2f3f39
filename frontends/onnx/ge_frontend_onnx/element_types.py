"""ONNX's element types as those of the table, with the ones that are refused."""

from __future__ import annotations

from ge_core.errors import GraphError, ModelImportError, UnsupportedError
from ge_core.ir.dtype import DType

_UNDEFINED = 0


def dtype_of(number: int, where: str) -> DType:
    """The element type of an onnx.TensorProto.DataType number.

    Args:
        where: what has the type, for messages.

    Raises:
        ModelImportError: the number is undefined or unknown.
        UnsupportedError: the type is not supported: strings.
    """
    if number == _UNDEFINED:
        raise ModelImportError(f"{where} has no element type")
    try:
        dtype = DType.of_onnx(number)
    except GraphError as error:
        raise ModelImportError(f"{where} has the unknown element type number {number}") from error
    if dtype.kind == "string":
        raise UnsupportedError(f"{where} holds strings, which are not supported")
    return dtype
