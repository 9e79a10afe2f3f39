"""A TFLite file as sub graphs of tensors and operators (tensorflow/lite/schema/schema.fbs, version 3)."""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ge_core.errors import ModelImportError, UnsupportedError
from ge_core.ir.constant import Constant
from ge_core.ir.dtype import DType
from ge_core.ir.types import TensorType

from .flatbuffer import Table, is_table, members
from .sparse import dense

_VERSION = 3
_MAX_PARTS = 1 << 20  # tensors and operators of one file
_DTYPES = {
    "FLOAT32": "float32", "FLOAT16": "float16", "INT32": "int32", "UINT8": "uint8", "INT64": "int64", "BOOL": "bool",
    "INT16": "int16", "INT8": "int8", "FLOAT64": "float64", "UINT64": "uint64", "UINT32": "uint32",
    "UINT16": "uint16", "INT4": "int4", "UINT4": "uint4", "BFLOAT16": "bfloat16",
}  # fmt: skip
NUMBERS = {
    "float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int16": 5, "int8": 6, "int64": 9, "bool": 10,
    "bfloat16": 14, "uint16": 17, "float16": 19, "uint32": 22, "uint64": 23, "int4": 29, "uint4": 30,
}  # fmt: skip
"""TensorFlow's number of each element type (types.proto)."""


@dataclass(frozen=True)
class Quantised:
    """How integers stand for reals: real = (stored - zero point) * scale, by slices of an axis where there are several.

    Attributes:
        scales: one, or one for each slice.
        zero_points: as many.
        axis: the axis of the slices.
    """

    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int


@dataclass
class Tensor:
    """A tensor of a sub graph.

    Attributes:
        type: the name of TFLite's element type.
        shape: the sizes; None for a size that may change, where the file says so.
        quantised: None for reals and plain integers.
        variable: whether it keeps its value from call to call.
        constant: its data, None when it is computed.
    """

    name: str
    type: str
    shape: tuple[int | None, ...]
    quantised: Quantised | None
    variable: bool
    constant: Constant | None

    @property
    def dtype(self) -> DType:
        """The element type.

        Raises:
            UnsupportedError: strings, resources, complex numbers.
        """
        if self.type not in _DTYPES:
            raise UnsupportedError(f"the tensor {self.name!r} is {self.type}, which is not supported")
        return DType.of(_DTYPES[self.type])


@dataclass
class Operator:
    """An operator of a sub graph.

    Attributes:
        name: of the builtin operator, or `CUSTOM:` and the custom operator's own name.
        inputs: tensors by index, -1 for one that is left out.
        options: the builtin operator's options.
        custom: the bytes of a custom operator's options.
    """

    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Table | None
    custom: bytes = b""


@dataclass
class SubGraph:
    """A graph or a function."""

    tensors: list[Tensor]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    operators: list[Operator]


@dataclass
class ModelFile:
    """The whole file.

    Attributes:
        signatures: by key: the number of the sub graph, its inputs and its outputs as name to tensor.
    """

    graphs: list[SubGraph]
    signatures: Mapping[str, tuple[int, Mapping[str, int], Mapping[str, int]]] = field(default_factory=dict)


def read_model_file(path: str) -> ModelFile:
    """Read a file; its weights stay in it and are mapped.

    Raises:
        ModelImportError: it cannot be read, or is damaged.
    """
    try:
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size < 8:
                raise ModelImportError(f"{path} is no TFLite file: it has less than 8 bytes")
            data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except OSError as error:
        raise ModelImportError(f"{path} cannot be read: {error.strerror}") from error
    if bytes(data[4:8]) != b"TFL3":
        raise ModelImportError(f"{path} is no TFLite file", expected="TFL3 at byte 4")
    try:
        return _Reader(data, path).model()
    except ModelImportError as error:
        if path in error.what:
            raise
        raise ModelImportError(
            f"{path}: {error.what}", expected=error.expected, fix="convert the model again"
        ) from error


class _Reader:
    def __init__(self, data: memoryview, path: str) -> None:
        self.data, self.path = data, path
        self.root = Table(data, int.from_bytes(data[:4], "little"), "Model")
        self.buffers = self.root.tables("buffers", "Buffer")
        self.codes = [self._code(c) for c in self.root.tables("operator_codes", "OperatorCode")]
        self.parts = 0

    def model(self) -> ModelFile:
        if self.root.get("version") != _VERSION:
            raise ModelImportError(f"the file has the version {self.root.get('version')}", expected=str(_VERSION))
        graphs = [self._graph(g) for g in self.root.tables("subgraphs", "SubGraph")]
        if not graphs:
            raise ModelImportError("the file holds no graph")
        signatures = {}
        for row in self.root.tables("signature_defs", "SignatureDef"):
            index = int(row.get("subgraph_index"))
            if index >= len(graphs):
                raise ModelImportError(f"a signature names the sub graph {index}", expected=f"below {len(graphs)}")
            count = len(graphs[index].tensors)
            inputs, outputs = (self._names(row, f, count) for f in ("inputs", "outputs"))
            signatures[row.get("signature_key") or ""] = (index, inputs, outputs)
        return ModelFile(graphs, signatures)

    def _names(self, row: Table, field: str, count: int) -> dict[str, int]:
        found = {t.get("name") or "": int(t.get("tensor_index")) for t in row.tables(field, "TensorMap")}
        if any(index >= count for index in found.values()):
            raise ModelImportError("a signature names a tensor that is not there")
        return found

    def _code(self, row: Table) -> str:
        # numbers above 127 do not fit into the old field, which then holds 127
        number = max(int(row.get("deprecated_builtin_code")), int(row.get("builtin_code")))
        name = members("BuiltinOperator").get(number, f"operator number {number}")
        return f"CUSTOM:{row.get('custom_code')}" if name == "CUSTOM" else name

    def _count(self, parts: int) -> None:
        self.parts += parts
        if self.parts > _MAX_PARTS:
            raise ModelImportError(f"the file has more than {_MAX_PARTS} tensors and operators")

    def _graph(self, row: Table) -> SubGraph:
        tensors, operators = row.get("tensors") or (), row.get("operators") or ()
        self._count(len(tensors) + len(operators))
        graph = SubGraph(
            [self._tensor(Table(self.data, at, "Tensor")) for at in tensors],
            _indices(row, "inputs"),
            _indices(row, "outputs"),
            [self._operator(Table(self.data, at, "Operator")) for at in operators],
        )
        count = len(graph.tensors)
        for used in (graph.inputs, graph.outputs, *(o.outputs for o in graph.operators)):
            if any(not 0 <= i < count for i in used):
                raise ModelImportError("a sub graph refers to a tensor that is not there")
        if any(not -1 <= i < count for o in graph.operators for i in o.inputs):
            raise ModelImportError("an operator refers to a tensor that is not there")
        return graph

    def _operator(self, row: Table) -> Operator:
        index = int(row.get("opcode_index"))
        if index >= len(self.codes):
            raise ModelImportError(f"an operator has the code {index}", expected=f"below {len(self.codes)}")
        kind = members("BuiltinOptions").get(int(row.get("builtin_options_type")), "NONE")
        options = row.table("builtin_options", kind) if is_table(kind) else None
        custom = row.get("custom_options")
        return Operator(
            self.codes[index],
            _indices(row, "inputs"),
            _indices(row, "outputs"),
            options,
            b"" if custom is None else custom.tobytes(),
        )

    def _tensor(self, row: Table) -> Tensor:
        shape = _indices(row, "shape")
        open_sizes = _indices(row, "shape_signature")
        has_signature = bool(shape) and len(open_sizes) == len(shape)
        sizes = tuple(None if s < 0 else s for s in open_sizes) if has_signature else shape
        name = row.get("name") or ""
        if any(s is not None and s < 0 for s in sizes):
            raise ModelImportError(f"the tensor {name!r} has the shape {list(shape)}")
        type = members("TensorType").get(int(row.get("type")), f"type number {row.get('type')}")
        tensor = Tensor(name, type, sizes, self._quantised(row, name, len(shape)), bool(row.get("is_variable")), None)
        tensor.constant = self._constant(row, tensor, shape)
        return tensor

    def _quantised(self, row: Table, name: str, rank: int) -> Quantised | None:
        found = row.table("quantization", "QuantizationParameters")
        scales = None if found is None else found.get("scale")
        if found is None or scales is None or len(scales) == 0:
            return None
        zeros = found.get("zero_point")
        zeros = np.zeros(len(scales), np.int64) if zeros is None or len(zeros) == 0 else zeros
        axis = int(found.get("quantized_dimension"))
        if len(zeros) == 1:
            zeros = np.repeat(zeros, len(scales))
        if found.get("details_type") or len(zeros) != len(scales) or not 0 <= axis < max(rank, 1):
            raise UnsupportedError(f"the tensor {name!r} is quantised in a way that is not supported")
        return Quantised(tuple(float(s) for s in scales), tuple(int(z) for z in zeros), axis)

    def _constant(self, row: Table, tensor: Tensor, shape: Sequence[int]) -> Constant | None:
        index = int(row.get("buffer"))
        if index >= len(self.buffers):
            raise ModelImportError(f"the tensor {tensor.name!r} has the buffer {index}", expected="one of the file's")
        data = self._bytes(self.buffers[index])
        if data is None or tensor.variable or tensor.type not in _DTYPES:
            return None
        sparsity = row.table("sparsity", "SparsityParameters")
        dtype = tensor.dtype
        type = TensorType(dtype, tuple(shape))
        if sparsity is not None:
            return Constant.of(dense(sparsity, data, shape, dtype, tensor.name), dtype)
        wanted = type.nbytes()
        if len(data) != wanted:
            raise ModelImportError(f"the tensor {tensor.name!r} has {len(data)} bytes", expected=f"{wanted}: {type}")
        return Constant(type, lambda: _elements(data, type), f"{self.path}: {tensor.name}")

    def _bytes(self, buffer: Table) -> np.ndarray | None:
        data = buffer.get("data")
        if data is not None and len(data):
            return data
        offset, size = int(buffer.get("offset")), int(buffer.get("size"))
        if offset <= 1:  # 0 and 1 stand for no data behind the FlatBuffer
            return None
        if offset + size > len(self.data):
            raise ModelImportError(f"a buffer has {size} bytes at {offset}", expected=f"{len(self.data)} bytes at most")
        return np.frombuffer(self.data, np.uint8, size, offset)


def _elements(data: np.ndarray, type: TensorType) -> np.ndarray:
    shape = tuple(s for s in type.shape or () if isinstance(s, int))
    if type.dtype.bits >= 8:
        return data.view(type.dtype.numpy).reshape(shape)
    count = int(np.prod(shape, dtype=np.int64))
    halves = np.stack([data & 15, data >> 4], 1).ravel()[:count].astype(np.int8)
    if type.dtype.name == "int4":
        halves = (halves ^ 8) - 8
    return halves.astype(type.dtype.numpy).reshape(shape)


def _indices(row: Table, field: str) -> tuple[int, ...]:
    found: Any = row.get(field)
    return () if found is None else tuple(int(i) for i in found)
