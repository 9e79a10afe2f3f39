"""One node of the IR as its lowering sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ge_ascend.lower.emit import Operand
from ge_ascend.net import Out
from ge_ascend.prototypes import unsure_rows
from ge_core.errors import BackendError
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType, float32, int64
from ge_core.ir.graph import Node, Value
from ge_core.ops.schema import schema

if TYPE_CHECKING:
    from ge_ascend.lower.engine import Lowering
    from ge_ascend.lower.scope import Scope
    from ge_core.ir.builder import Builder

Decomposition: TypeAlias = "Callable[[Builder, Node], Sequence[Value]]"


class LowerCall:
    """A node, its operands as outputs of CANN operators, and the means to emit more."""

    def __init__(self, engine: Lowering, scope: Scope, node: Node) -> None:
        self.engine, self.scope, self.node = engine, scope, node
        self._float = engine.operand_type(scope, node)

    def __getitem__(self, index: int) -> Out:
        found = self.get(index)
        if found is None:
            raise BackendError(f"{self.node.op} lacks its input {index}")
        return found

    def get(self, index: int) -> Out | None:
        """An operand in the type that the precision mode wants; None when it is omitted."""
        value = self.node.input(index)
        return None if value is None else self.taken(value)

    def all(self) -> list[Out]:
        """All operands that are given."""
        return [self.taken(v) for v in self.node.inputs if v is not None]

    def taken(self, value: Value) -> Out:
        """What stands for a value, in the type that the precision mode wants."""
        wanted = self.engine.mapped(value.dtype, self.node)
        return self.engine.value(self.scope, value, self._float if wanted == float32 else wanted)

    def as_is(self, index: int) -> Out:
        """An operand in whatever type it has."""
        value = self.node.input(index)
        assert value is not None
        return self.engine.value(self.scope, value, None)

    def input(self, index: int) -> Value:
        """The IR's value of an operand."""
        value = self.node.input(index)
        if value is None:
            raise BackendError(f"{self.node.op} lacks its input {index}")
        return value

    def shape(self, index: int = 0) -> tuple[Size, ...]:
        return self.input(index).shape

    def rank(self, index: int = 0) -> int:
        return self.input(index).rank

    def content(self, index: int) -> tuple[Size, ...] | None:
        """The elements of a small integer operand as far as they are known."""
        value = self.node.input(index)
        return None if value is None else value.content

    def known(self, index: int) -> tuple[int, ...]:
        """The elements of an operand that must be plain numbers."""
        found = self.content(index)
        if found is None or not all(isinstance(size, int) for size in found):
            raise BackendError(f"{self.node.op}: the input {index} must be known when the model is compiled")
        return tuple(int(size) for size in found)  # type: ignore[arg-type]

    def attr(self, name: str) -> Any:
        """An attribute or its default in the schema."""
        if name in self.node.attrs:
            return self.node.attrs[name]
        return schema(self.node.op).attributes[name].default

    def output_shape(self, index: int = 0) -> tuple[Size, ...]:
        return self.node.outputs[index].shape

    def output_type(self, index: int = 0) -> DType:
        """The element type of a result under the precision mode."""
        found = self.engine.mapped(self.node.outputs[index].dtype, self.node)
        return self._float if found == float32 else found

    @property
    def float_type(self) -> DType:
        """The type in which this node computes float32."""
        return self._float

    def op(self, type: str, /, *operands: Operand, **attrs: Any) -> Out:
        """Emit an operator and return its first output.

        Raises:
            BackendError: it does not take these operands.
        """
        return self.ops(type, *operands, **attrs)[0]

    def ops(
        self,
        type: str,
        /,
        *operands: Operand,
        count: int = 1,
        formats: Mapping[str, str] | None = None,
        dtypes: Mapping[str, DType] | None = None,
        **attrs: Any,
    ) -> tuple[Out, ...]:
        """Emit an operator and return all its outputs; see `Emitter.emit`."""
        return self.engine.emitter.emit(self.scope, type, operands, attrs, count=count, formats=formats, dtypes=dtypes)

    def product(self, type: str, /, *operands: Operand, formats: Mapping[str, str] | None = None, **attrs: Any) -> Out:
        """Emit an operator of the cube unit; the precision mode may want a float32 result of half operands."""
        wide = self.engine.policy.wide_products and self.output_type() != float32
        return self.ops(type, *operands, formats=formats, dtypes={"y": float32} if wide else None, **attrs)[0]

    def cast(self, out: Out, dtype: DType) -> Out:
        return self.engine.emitter.cast(self.scope, out, dtype)

    def const(self, data: object, dtype: DType | None = None) -> Out:
        """A small constant."""
        array = np.asarray(data)
        return self.engine.emitter.small(self.scope, array if dtype is None else array.astype(dtype.numpy))

    def ints(self, sizes: Iterable[Size], dtype: DType = int64) -> Out:
        """An integer vector of sizes: a constant, or computed where one is symbolic."""
        return self.engine.sizes(self.scope, tuple(sizes), dtype)

    def scalar(self, size: Size, dtype: DType = int64) -> Out:
        """An integer scalar of a size."""
        return self.cast(self.engine.size(self.scope, size), dtype)

    def reshape(self, out: Out, sizes: Sequence[Size]) -> Out:
        return self.op("Reshape", out, self.ints(sizes))

    def transpose(self, out: Out, perm: Sequence[int]) -> Out:
        return self.op("Transpose", out, self.ints(perm))

    def may_use(self, row: str) -> bool:
        """Whether an unconfirmed mapping may be used.

        Args:
            row: the name under which the table of mappings lists it as unconfirmed.
        """
        assert row in unsure_rows(), row
        return self.engine.allow_unsure

    def expand(self, rule: Decomposition | None = None) -> list[Out]:
        """Lower a decomposition of the node instead, by default that of the IR."""
        return self.engine.expand(self.scope, self.node, rule)

    def note(self, kind: str, what: str) -> None:
        self.engine.notes.add(kind, what, self.node)

    def refuse(self, reason: str, fix: str | None = None) -> BackendError:
        """The error that this node cannot be lowered."""
        return BackendError(f"{self.node.op}: {reason}", where=self.node.loc, fix=fix)
