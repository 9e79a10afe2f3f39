"""Emitting one CANN operator: its ports by the prototype, types that the kernels take, and what it means."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from ge_ascend.chips import Chip
from ge_ascend.lower.notes import Notes
from ge_ascend.lower.scope import Scope
from ge_ascend.meaning import Call, meaning_of
from ge_ascend.meaning.call import Branch
from ge_ascend.net import Op, Out
from ge_ascend.prototypes import Port, Prototype, prototype
from ge_core.errors import BackendError, GeError
from ge_core.ir.constant import Constant
from ge_core.ir.dtype import DType, bfloat16, float16, float32
from ge_core.ir.graph import Node, Value
from ge_core.ir.location import UNKNOWN, Location
from ge_core.ir.types import TensorType

Operand: TypeAlias = "Out | np.ndarray | np.generic | int | float | bool | Sequence[Out] | None"

_INSTEAD: Mapping[str, tuple[str, ...]] = {
    "int64": ("int32", "float32"), "uint64": ("int64", "int32"), "int32": ("int64", "float32"),
    "uint32": ("int64", "int32"), "uint16": ("int32", "int64", "float32"), "int16": ("int32", "int64", "float32"),
    "uint8": ("int32", "float16", "float32"), "int8": ("int32", "float16", "float32"),
    "bool": ("uint8", "int8", "int32", "float16", "float32"), "float64": ("float32",),
    "bfloat16": ("float32", "float16"), "float16": ("float32",),
}  # fmt: skip
"""Types to compute in where a kernel lacks one: those that hold its values come first."""

_CORE_FLOATS = frozenset({"float32", "float16", "bfloat16"})
"""Types for which the list of kernels has the last word; the AI CPU, which it leaves out, has more of the others."""


@dataclass(eq=False)
class Emitter:
    """Makes operators in a scope.

    Attributes:
        names: taken operator names, for unique ones.
        node: the IR node that is being lowered.
    """

    chip: Chip
    notes: Notes
    names: dict[str, int] = field(default_factory=dict)
    node: Node | None = None

    def emit(
        self,
        scope: Scope,
        type: str,
        operands: Sequence[Operand],
        attrs: Mapping[str, Any],
        *,
        count: int = 1,
        dtypes: Mapping[str, DType] | None = None,
        formats: Mapping[str, str] | None = None,
        graphs: Sequence[str] = (),
        branches: Sequence[Branch] = (),
    ) -> tuple[Out, ...]:
        """One operator in the scope's graph.

        Args:
            operands: by the prototype's inputs; a list for a dynamic one, numbers become scalars of the first
                operand's type.
            attrs: only those that differ from their defaults are kept.
            count: how many outputs, where their number is free.
            dtypes, formats: of the outputs and ports, where they are not plain.

        Raises:
            BackendError: the operator does not take these operands.
        """
        declared = prototype(type)
        if declared is None:
            raise BackendError(f"CANN has no operator {type}")
        ports = self._ports(scope, declared, operands)
        ports, back = self._supported(scope, declared, ports)
        op = Op(self.name(type), type, ports, self._attrs(declared, attrs), loc=self._loc, source=self._source)
        op.formats, op.graphs = dict(formats or {}), list(graphs)
        call = Call(
            scope.b, op.name, type, {name: out.value for name, out in ports}, op.attrs, dtypes=dtypes,
            formats=op.formats, branches=branches, outputs=count,
        )  # fmt: skip
        mean = meaning_of(type)
        if mean is None:
            raise BackendError(f"the operator {type} has no meaning here")
        with scope.b.at(self._loc):
            try:
                found = mean(call)
            except GeError as error:
                raise BackendError(f"{type}: {error.what}", expected=error.expected, fix=error.fix) from error
        values = [found] if isinstance(found, Value) else list(found)
        for (name, _), value in zip(_output_ports(declared, len(values)), values, strict=False):
            op.outs.append(Out(op, len(op.outs), name, value))
        if len(op.outs) != len(values):
            raise BackendError(f"{type} has {len(op.outs)} outputs, {len(values)} wanted")
        scope.net.ops.append(op)
        return tuple(self._restored(scope, out, back) for out in op.outs)

    def const(self, scope: Scope, constant: Constant, hint: str = "const") -> Out:
        """A constant of the scope's graph; bfloat16, which no prototype gives Const, is cast from float32."""
        if constant.type.dtype == bfloat16:
            wide = self.const(scope, self.converted(constant, float32), hint)
            return self.emit(scope, "Cast", [wide], {"dst_type": bfloat16.ge_memory})[0]
        op = Op(self.name(hint), "Const", loc=self._loc, source="constant")
        op.attrs["value"] = constant
        out = Out(op, 0, "y", scope.b.constant(constant))
        op.outs.append(out)
        scope.net.ops.append(op)
        return out

    def small(self, scope: Scope, array: np.ndarray | np.generic) -> Out:
        """A small constant, made once per graph."""
        array = np.asarray(array)
        key = ("small", str(array.dtype), array.shape, array.tobytes())
        if key not in scope.made:
            scope.made[key] = self.const(scope, Constant.of(array.copy()))
        return scope.made[key]

    def cast(self, scope: Scope, out: Out, dtype: DType) -> Out:
        """The output in another element type; made once per graph."""
        if out.value.dtype == dtype:
            return out
        key = (out, dtype)
        if key not in scope.made:
            constant = out.op.attrs.get("value") if out.op.type == "Const" else None
            if isinstance(constant, Constant):
                scope.made[key] = self.const(scope, self.converted(constant, dtype))
            else:
                (scope.made[key],) = self.emit(scope, "Cast", [out], {"dst_type": dtype.ge_memory})
        return scope.made[key]

    def converted(self, constant: Constant, dtype: DType) -> Constant:
        """A constant in another element type; what half precision cannot hold becomes its largest number."""
        if constant.type.dtype == dtype:
            return constant
        kind = TensorType(dtype, constant.type.shape)

        def load() -> np.ndarray:
            array = constant.array()
            if dtype == float16 and constant.type.dtype.is_float:
                wide = array.astype(np.float32)
                array = np.where(np.isfinite(wide), np.clip(wide, -65504.0, 65504.0), wide)
            return array.astype(dtype.numpy)

        if dtype == float16 and constant.type.dtype in (float32,) and self._overflows(constant):
            self.notes.add("clipped", "constants beyond float16 became its largest number", self.node)
        return Constant(kind, load, constant.source)

    @staticmethod
    def _overflows(constant: Constant) -> bool:
        array = constant.array()
        if array.size == 0:
            return False
        least, most = float(array.min()), float(array.max())
        return (np.isfinite(least) and least < -65504.0) or (np.isfinite(most) and most > 65504.0)

    def name(self, hint: str) -> str:
        """A name that no other operator has."""
        if self.node is not None and self.node.outputs:
            hint = f"{self.node.outputs[0].name}_{hint}"
        base = re.sub(r"[^A-Za-z0-9_./-]", "_", hint)
        number = self.names.get(base, -1) + 1
        self.names[base] = number
        if number == 0:
            return base
        return self.name_of(f"{base}_{number}")

    def name_of(self, base: str) -> str:
        """A name that is `base` when nobody has it."""
        base = re.sub(r"[^A-Za-z0-9_./-]", "_", base)
        if base not in self.names:
            self.names[base] = 0
            return base
        self.names[base] += 1
        return self.name_of(f"{base}_{self.names[base]}")

    def has(self, port: tuple[str, str], dtype: DType) -> bool:
        """Whether an operator's port takes an element type on this chip."""
        declared = prototype(port[0])
        return declared is not None and self._takes(declared, port[1], dtype)

    def allows(self, declared: Prototype, port: Port, dtype: DType) -> bool:
        """Whether the operator takes an element type at a port on this chip."""
        if declared.name == "Cast":
            return port.takes(dtype)  # the way out of types that the chip lacks; those are reported elsewhere
        if not self.chip.takes(dtype):
            return False
        kernels = declared.kernel_types(port.name)
        if self.chip.kernels and kernels and dtype.name in _CORE_FLOATS:
            # never less exact on our own account: the compiler has other ways to run declared float32
            return dtype.name in kernels or (dtype == float32 and port.takes(dtype))
        return port.takes(dtype) or dtype.name in kernels

    @property
    def _loc(self) -> Location:
        return UNKNOWN if self.node is None else self.node.loc

    @property
    def _source(self) -> str:
        return "" if self.node is None else self.node.op

    def _ports(self, scope: Scope, declared: Prototype, operands: Sequence[Operand]) -> list[tuple[str, Out]]:
        found: list[tuple[str, Out]] = []
        if len(operands) > len(declared.inputs):
            raise BackendError(f"{declared.name} takes {len(declared.inputs)} inputs, {len(operands)} given")
        first = next((o for o in operands if isinstance(o, Out)), None)
        for port, operand in zip(declared.inputs, operands, strict=False):
            if operand is None:
                continue
            if port.kind == "d":
                assert isinstance(operand, (list, tuple))
                found += [(f"{port.name}{i}", out) for i, out in enumerate(operand)]
                first = first or operand[0]
            elif isinstance(operand, Out):
                found.append((port.name, operand))
            else:
                dtype = None if first is None or isinstance(operand, (np.ndarray, np.generic)) else first.value.dtype
                array = np.asarray(operand)
                found.append((port.name, self.small(scope, array if dtype is None else array.astype(dtype.numpy))))
        for port in declared.inputs[len(operands) :]:
            if port.kind == "r":
                raise BackendError(f"{declared.name} needs the input {port.name}")
        return found

    def _supported(
        self, scope: Scope, declared: Prototype, ports: list[tuple[str, Out]]
    ) -> tuple[list[tuple[str, Out]], dict[str, DType]]:
        """The operands in types that the kernels take, and the types that results go back to."""
        back: dict[str, DType] = {}
        refused = {out.value.dtype for port, out in ports if not self._takes(declared, port, out.value.dtype)}
        for dtype in sorted(refused, key=str):
            touched = [port for port, out in ports if out.value.dtype == dtype]
            other = next(
                (d for d in map(DType.of, _INSTEAD.get(dtype.name, ()))
                 if all(self._takes(declared, port, d) for port in touched)),
                None,
            )  # fmt: skip
            if other is None:
                raise BackendError(
                    f"{declared.name} takes no {dtype} on {self.chip.name}",
                    expected=", ".join(sorted(declared.inputs[0].dtypes or ())) if declared.inputs else None,
                )
            self.notes.add("type", f"{declared.name} runs in {other} instead of {dtype}", self.node)
            ports = [(p, self.cast(scope, out, other) if out.value.dtype == dtype else out) for p, out in ports]
            back[other.name] = dtype
        return ports, back

    def _takes(self, declared: Prototype, port: str, dtype: DType) -> bool:
        found = declared.input(port) or declared.input(port.rstrip("0123456789"))
        return found is not None and self.allows(declared, found, dtype)

    def _restored(self, scope: Scope, out: Out, back: Mapping[str, DType]) -> Out:
        if not isinstance(out.value.type, TensorType):
            return out
        wanted = back.get(out.value.dtype.name)
        return out if wanted is None or out.op.type == "Cast" else self.cast(scope, out, wanted)

    @staticmethod
    def _attrs(declared: Prototype, attrs: Mapping[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in attrs.items():
            spec = declared.attributes.get(name)
            if spec is None:
                raise BackendError(f"{declared.name} has no attribute {name}")
            plain = list(value) if isinstance(value, tuple) else value
            if spec.required or plain != spec.default:
                found[name] = plain
        missing = [a.name for a in declared.attributes.values() if a.required and a.name not in found]
        if missing:
            raise BackendError(f"{declared.name} needs the attribute {missing[0]}")
        return found


def _output_ports(declared: Prototype, count: int) -> list[tuple[str, Port]]:
    """The names of `count` outputs."""
    found: list[tuple[str, Port]] = []
    for port in declared.outputs:
        if port.kind == "d":
            free = count - (len(declared.outputs) - 1)
            found += [(f"{port.name}{i}", port) for i in range(free)]
        else:
            found.append((port.name, port))
    return found
