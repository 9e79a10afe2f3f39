"""Reads `prefix.json`, in which Paddle 3 stores a program; nothing in the file is trusted."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

from ge_core.errors import ModelImportError
from ge_core.ir.dtype import DType

from .element_types import BY_JSON, BY_NAME
from .program import ABSENT, LOST, Array, Block, Input, Kind, Operator, Program, Result, Tensor, Vector, writes

Json: TypeAlias = Any

MAGIC = b'{"base_code":'
MAX_BYTES = 256 << 20
_MAX_DEPTH = 64
_VERSIONS = range(6)
_DIALECTS = {"0": "builtin.", "1": "", "2": "cf."}
_LEFT_OUT = ("place", "struct_name")
_MAX_RANK = 64
_MAX_SIZE = 1 << 48


def read_json(data: bytes, name: str) -> Program:
    """The program of a file's bytes.

    Raises:
        ModelImportError: the bytes are no program, or one from another version of Paddle.
    """
    if len(data) > MAX_BYTES:
        raise ModelImportError(f"{name} has {len(data)} bytes", expected=f"a program of at most {MAX_BYTES} bytes")
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ModelImportError(f"{name} is no Paddle program: {type(error).__name__}: {str(error)[:200]}") from error
    reader = _Reader(name)
    head = reader.field(tree, "base_code", dict)
    if head.get("magic") != "pir":
        raise ModelImportError(f"{name} is no Paddle program: its magic is {head.get('magic')!r}", expected="'pir'")
    if head.get("version") not in _VERSIONS:
        raise ModelImportError(
            f"{name} is of version {head.get('version')!r} of Paddle's format",
            expected=f"a version from {_VERSIONS.start} to {_VERSIONS.stop - 1}",
        )
    regions = reader.field(reader.field(tree, "program", dict), "regions", list)
    block = reader.only_block(regions[0] if len(regions) == 1 else None, 0)
    return Program(name, block, reader.inputs, [entry for _, *entry in sorted(reader.fetched)], reader.stored)


class _Reader:
    """Reads the parts of one file and checks the form of each."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._storage: dict[int, int] = {}
        self.inputs: list[Input] = []
        self.fetched: list[Any] = []
        self.stored: dict[str, Tensor] = {}

    def damaged(self, what: str) -> ModelImportError:
        return ModelImportError(f"{self._name} is damaged: {what}")

    def field(self, table: Json, key: str, kind: type | tuple[type, ...], default: Any = None) -> Any:
        """An entry of a JSON object, of one of the given types."""
        if not isinstance(table, dict):
            raise self.damaged(f"{str(table)[:60]!r} stands where an object with {key!r} is expected")
        found = table.get(key, default)
        if not isinstance(found, kind) or (isinstance(found, bool) and kind is int):
            raise self.damaged(f"{key!r} is {str(found)[:60]!r}")
        return found

    def only_block(self, region: Json, depth: int) -> Block:
        blocks = self.field(region, "blocks", list)
        if len(blocks) != 1:
            raise self.damaged(f"a region has {len(blocks)} blocks")
        return self.block(blocks[0], depth)

    def block(self, table: Json, depth: int) -> Block:
        if depth > _MAX_DEPTH:
            raise self.damaged(f"blocks lie {depth} deep in each other")
        args = self.field(table, "args", list, [])
        params = [self._result(arg, "#") for arg in args]
        keywords = self.field(table, "kwargs", (dict, list), [])
        if keywords:
            raise self.damaged("a block has arguments by name")
        made = Block(params=params)
        for op in self.field(table, "ops", list):
            made.operators.append(self._operator(op, depth))
        return made

    def _number(self, table: Json, key: str = "%") -> int:
        number: int = self.field(table, key, int)
        return self._storage.get(number, number)

    def _result(self, table: Json, key: str = "%") -> Result:
        number = self.field(table, key, int)
        return Result(number, self._kind(self.field(table, "TT", dict)))

    def _operator(self, table: Json, depth: int) -> Operator:
        kind = self.field(table, "#", str)
        if kind == "p":
            return self._parameter(table)
        dialect, _, name = kind.partition(".")
        if dialect not in _DIALECTS or not name:
            raise self.damaged(f"an operator is named {kind[:60]!r}")
        name = _DIALECTS[dialect] + name
        operands = [self._number(entry) for entry in self.field(table, "I", list, [])]
        results = [self._result(entry) for entry in self.field(table, "O", list, [])]
        for i, operand in writes(name).items():
            if i < len(results) and operand < len(operands) and operands[operand] != ABSENT:
                self._storage[results[i].number] = operands[operand]
                results[i] = Result(operands[operand], results[i].kind)
        attributes: dict[str, Any] = {}
        for entry in self.field(table, "A", list, []):
            attributes[self.field(entry, "N", str)] = self._attribute(self.field(entry, "AT", dict), 0)
        module = attributes.get("struct_name")
        blocks = [self.only_block(region, depth + 1) for region in self.field(table, "regions", list, [])]
        made = Operator(
            name,
            operands,
            results,
            {key: value for key, value in attributes.items() if key not in _LEFT_OUT},
            blocks,
            (),
            module.strip("/") if isinstance(module, str) else "",
        )
        if name == "data":
            self._input(made)
        elif name == "fetch":
            self._fetch(made)
        return made

    def _input(self, op: Operator) -> None:
        name, kind = op.attributes.get("name"), op.results[0].kind if op.results else None
        if not isinstance(name, str) or not isinstance(kind, Tensor):
            raise self.damaged("an input has no name or no type")
        self.inputs.append(Input(name, op.results[0].number, kind))

    def _fetch(self, op: Operator) -> None:
        name, column = op.attributes.get("name", ""), op.attributes.get("col", 0)
        if not isinstance(name, str) or not isinstance(column, int) or len(op.operands) != 1:
            raise self.damaged("an output has no name or no value")
        self.fetched.append((column, name, op.operands[0]))

    def _parameter(self, table: Json) -> Operator:
        flags = self.field(table, "A", list)
        result = self._result(self.field(table, "O", dict))
        name = flags[-1] if flags else None
        if not isinstance(name, str) or not isinstance(result.kind, Tensor):
            raise self.damaged("a parameter has no name or no type")
        if name in self.stored:
            raise self.damaged(f"two parameters are named {name[:60]!r}")
        saved = self.field(table, "OA", list, [1])
        if not saved or saved[0]:
            self.stored[name] = result.kind
        return Operator("builtin.parameter", (), [result], {"name": name})

    def _kind(self, table: Json, depth: int = 0) -> Kind:
        kind = self.field(table, "#", str)
        if kind == "0.t_dtensor":
            return self._tensor(self.field(table, "D", list))
        if kind == "0.t_vec" and depth == 0:
            items = [self._kind(entry, 1) for entry in self.field(table, "D", list)]
            return Vector(tuple(item if isinstance(item, Tensor) else None for item in items))
        if kind == "1.t_dense_tensor_array":
            data = self.field(table, "D", list)
            return Array(self._dtype(data[0] if data else None))
        return None

    def _tensor(self, data: list[Json]) -> Tensor:
        shape = data[1] if len(data) > 1 else None
        if not isinstance(shape, list) or len(shape) > _MAX_RANK:
            raise self.damaged(f"a tensor has the shape {str(shape)[:60]}")
        for size in shape:
            if not isinstance(size, int) or isinstance(size, bool) or not -1 <= size <= _MAX_SIZE:
                raise self.damaged(f"a tensor has a size of {str(size)[:30]}")
        return Tensor(self._dtype(data[0]), tuple(shape))

    def _dtype(self, table: Json) -> DType | None:
        return BY_JSON.get(self.field(table, "#", str))

    def _attribute(self, table: Json, depth: int) -> Any:
        kind = self.field(table, "#", str)
        value = table.get("D")
        if kind == "1.a_dtype":
            return BY_NAME.get(value) if isinstance(value, str) else None
        if kind == "0.a_array":
            if not isinstance(value, list) or depth:
                raise self.damaged("an attribute is no plain list")
            return [self._attribute(entry, depth + 1) for entry in value]
        if kind in ("0.a_f32", "0.a_f64") and value is None:
            return LOST
        if kind == "0.a_bool":
            return bool(value)
        return value
