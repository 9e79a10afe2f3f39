"""Reads a program out of Paddle's memory (paddle.pir)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import paddle

from ge_core.ir.dtype import DType

from .element_types import BY_NAME
from .program import ABSENT, Array, Block, Input, Kind, Operator, Program, Result, Tensor, Vector, writes

_DataType = paddle.base.core.DataType
_DATA_TYPES = {value: BY_NAME.get(name.lower()) for name, value in _DataType.__members__.items()}
# Attributes that say nothing about values.
_LEFT_OUT = frozenset({"stop_gradient", "place", "op_callstack", "struct_name"})


def read_live(program: Any, name: str, outputs: Sequence[Any]) -> Program:
    """The program of a static function.

    Args:
        program: a paddle.pir.Program.
        name: for messages.
        outputs: the values that it returns; the results of `fetch` operators for an empty sequence.
    """
    reader = _Reader()
    block = reader.block(program.global_block())
    returned = [(f"output_{i}", reader.number(value)) for i, value in enumerate(outputs)]
    return Program(name, block, reader.inputs, returned or reader.fetched, reader.stored)


class _Reader:
    """Gives numbers to Paddle's values."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self.inputs: list[Input] = []
        self.fetched: list[tuple[str, int]] = []
        self.stored: dict[str, Tensor] = {}

    def number(self, value: Any) -> int:
        """The number of a value; an absent operand is an uninitialised one."""
        if not value.initialized():
            return ABSENT
        key = value.id
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self._numbers) + 1
        return found

    def _result(self, value: Any) -> Result:
        number = self.number(value)
        return Result(number, None if number == ABSENT else _kind(value))

    def block(self, block: Any, params: Sequence[Any] = ()) -> Block:
        made = Block(params=[self._result(v) for v in params])
        for op in block.ops:
            made.operators.append(self._operator(op))
        return made

    def _operator(self, op: Any) -> Operator:
        name = op.name().removeprefix("pd_op.")
        if name == "builtin.parameter":
            return self._parameter(op)
        operands = [self.number(v) for v in op.operands_source()]
        attributes = op.attrs()
        written = writes(name)
        found = op.results()
        for i, operand in written.items():
            if i < len(found) and found[i].initialized():
                self._numbers[found[i].id] = operands[operand]
        results = [self._result(value) for value in found]
        # asking for the blocks of an operator that has none takes Paddle longer than all else here
        blocks = [self.block(inner, _params(name, inner)) for inner in op.blocks()] if op.num_regions() else ()
        made = Operator(
            name,
            operands,
            results,
            {key: _attribute(value) for key, value in attributes.items() if key not in _LEFT_OUT},
            blocks,
            attributes.get("op_callstack") or (),
            str(attributes.get("struct_name") or "").strip("/"),
        )
        if name == "data":
            kind = results[0].kind
            assert isinstance(kind, Tensor)
            self.inputs.append(Input(attributes["name"], results[0].number, kind))
        elif name == "fetch":
            self.fetched.append((attributes["name"], operands[0]))
        return made

    def _parameter(self, op: Any) -> Operator:
        result, name = self._result(op.result(0)), op.str_attr("parameter_name")
        if isinstance(result.kind, Tensor):
            self.stored[name] = result.kind
        return Operator("builtin.parameter", (), [result], {"name": name})


def _params(name: str, block: Any) -> Sequence[Any]:
    return list(block.args()) if name == "while" else ()


def _kind(value: Any) -> Kind:
    """What an initialised value is."""
    if value.is_dense_tensor_type():
        return Tensor(_DATA_TYPES.get(value.dtype), tuple(value.shape))
    if value.is_combine():
        items = value.type().as_vec_type().as_list()
        return Vector(tuple(Tensor(_DATA_TYPES.get(t.dtype), tuple(t.shape)) for t in items))
    if value.is_dense_tensor_array_type():
        return Array(_DATA_TYPES.get(value.dtype))
    return None


def _attribute(value: Any) -> Any:
    if isinstance(value, _DataType):
        return _DATA_TYPES.get(value)
    return list(value) if isinstance(value, (list, tuple)) else value


def dtype_of(dtype: Any) -> DType | None:
    """The table's type for one of Paddle's."""
    return _DATA_TYPES.get(dtype)
