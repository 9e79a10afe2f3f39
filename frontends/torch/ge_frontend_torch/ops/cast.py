"""Conversions of element types, and operators that are the identity in inference."""

from __future__ import annotations

from typing import Any

from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import Call
from ..complex_pair import ComplexPair
from ..element_types import real_of
from ..registry import aten
from .signal import pair


@aten("to.dtype", "to.dtype_layout", "_to_copy.default", complex=True)
def to_dtype(c: Call, x: Value | ComplexPair, dtype: DType | None = None) -> Value | ComplexPair:
    """to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat?
        memory_format=None) -> Tensor(a)
    to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None,
        bool? pin_memory=None, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None)
        -> Tensor(a)
    _to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool?
        pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor
    """
    to = c.dtype()
    if to.kind != "complex" and not isinstance(x, ComplexPair):
        return c.cast(x, to)
    if to.kind != "complex":
        raise c.unsupported("a conversion that drops the imaginary part", "use .real or .abs()")
    if isinstance(x, ComplexPair):
        return ComplexPair(c.cast(x.parts, real_of(to)))
    return pair(c, c.cast(x, real_of(to)), c.scalar(0, real_of(to)))


@aten("to.device")
def to_device(c: Call, x: Value, dtype: DType) -> Value:
    """to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False,
    MemoryFormat? memory_format=None) -> Tensor(a)
    """
    return c.cast(x, c.dtype())


@aten("to.other")
def to_other(c: Call, x: Value, other: Value) -> Value:
    """to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, MemoryFormat?
    memory_format=None) -> Tensor(a)
    """
    return c.cast(x, c.dtype())


@aten("type_as.default")
def type_as(c: Call, x: Value, other: Value) -> Value:
    """type_as(Tensor self, Tensor other) -> Tensor"""
    return c.cast(x, c.dtype())


@aten("view.dtype")
def view_dtype(c: Call, x: Value, dtype: DType) -> Value:
    """view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)"""
    if x.dtype.bits != dtype.bits or "bool" in (x.dtype.kind, dtype.kind):
        raise c.unsupported(f"reading {x.dtype} as {dtype}", "use element types of one width")
    return c.b.BitCast(x, to=dtype)


@aten("contiguous.default", "clone.default", "alias.default", "detach.default", "lift.default", complex=True)
def same(c: Call, x: Any) -> Any:
    """contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)
    clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor
    alias(Tensor(a) self) -> Tensor(a)
    detach(Tensor(a) self) -> Tensor(a)
    lift(Tensor self) -> Tensor
    """
    return x


@aten("lift_fresh.default", "lift_fresh_copy.default", "resolve_neg.default", "resolve_conj.default", complex=True)
def same_value(c: Call, x: Value | ComplexPair) -> Value | ComplexPair:
    """lift_fresh(Tensor(a) self) -> Tensor(a)
    lift_fresh_copy(Tensor self) -> Tensor
    resolve_neg(Tensor(a) self) -> Tensor(a)
    resolve_conj(Tensor(a) self) -> Tensor(a)
    """
    return x


@aten("dropout.default", "feature_dropout.default", "alpha_dropout.default", "feature_alpha_dropout.default")
def dropout(c: Call, input: Value, p: float, train: bool) -> Value:
    """dropout(Tensor input, float p, bool train) -> Tensor
    feature_dropout(Tensor input, float p, bool train) -> Tensor
    alpha_dropout(Tensor input, float p, bool train) -> Tensor
    feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor
    """
    if train and p > 0:
        raise c.unsupported(
            "training mode", "export the module after eval(), and call functional dropout with training=False"
        )
    return input


@aten("native_dropout.default")
def native_dropout(c: Call, input: Value, p: float, train: bool | None) -> tuple[Value, Value]:
    """native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)"""
    return dropout(c, input, p, bool(train)), c.full(input.shape, True, DType.of("bool"))
