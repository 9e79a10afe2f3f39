"""Reads a model: a ModelProto, the path of a `.onnx` file, or a model of onnx_ir."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from google.protobuf.message import DecodeError
from onnx import ModelProto

from ge_core.errors import ModelImportError

_LARGEST = 1 << 31  # protobuf's limit for a message


@dataclass(frozen=True)
class Source:
    """A model as it was read.

    Attributes:
        proto: the ModelProto.
        folder: where its file lies, None for a live object.
        owned: the proto was made for this import.
        name: what to call the model in messages.
    """

    proto: Any
    folder: Path | None
    owned: bool
    name: str


def read_source(model: object) -> Source:
    """The model that a caller gave.

    Raises:
        ModelImportError: there is no such file, or it holds no ONNX model.
    """
    if isinstance(model, ModelProto):
        return Source(model, None, False, model.graph.name or "the model")
    if isinstance(model, (str, os.PathLike)):
        path = Path(model)
        return Source(_parse(_read(path), str(path)), path.parent, True, path.name)
    if type(model).__module__.startswith("onnx_ir"):
        import onnx_ir  # type: ignore[import-not-found, unused-ignore]

        return Source(
            onnx_ir.serde.serialize_model(cast("Any", model)), None, True, getattr(model, "name", None) or "the model"
        )
    raise ModelImportError(
        f"{type(model).__name__} is no ONNX model", expected="an onnx.ModelProto or the path of a .onnx file"
    )


def _read(path: Path) -> bytes:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise ModelImportError(f"{path} is no file", expected="a .onnx file")
        if status.st_size >= _LARGEST:
            raise ModelImportError(
                f"{path} has {status.st_size} bytes",
                expected="less than 2 GiB, the limit of the format",
                fix="store the weights as external data: onnx.save(model, path, save_as_external_data=True)",
            )
        return path.read_bytes()
    except OSError as error:
        raise ModelImportError(f"{path} cannot be read: {error.strerror}") from error


def _parse(data: bytes, path: str) -> Any:
    proto = ModelProto()
    try:
        proto.ParseFromString(data)
    except DecodeError as error:
        raise ModelImportError(f"{path} is no ONNX model, or it is damaged: {error}") from error
    return proto
