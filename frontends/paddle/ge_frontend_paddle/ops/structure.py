"""What moves values without changing them: vectors of tensors, copies, assertions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ge_core.ir.graph import Value

from ..call import BOOL, Call
from ..registry import pd


@pd("builtin.combine")
def combine(c: Call, *parts: Value) -> list[Value]:
    """builtin.combine(*inputs) -> out"""
    return list(parts)


@pd("builtin.split")
def split_vector(c: Call, vector: Sequence[Value]) -> tuple[Value, ...]:
    """builtin.split(input) -> *outputs"""
    return tuple(vector)


@pd("builtin.slice")
def slice_vector(c: Call, vector: Sequence[Value], *, index: int) -> Value:
    """builtin.slice(input, *, index) -> out"""
    return vector[index]


@pd("assign", "share_data", "memcpy", "memcpy_d2h", "memcpy_h2d", "nop", "copy_to", "shadow_feed", "npu_identity",
    ignores=("dst_place_type", "format"))  # fmt: skip
def assign(c: Call, x: Value) -> Value:
    """assign(x) -> out
    share_data(x) -> out
    memcpy(x, *, dst_place_type) -> out
    memcpy_d2h(x, *, dst_place_type) -> out
    memcpy_h2d(x, *, dst_place_type) -> out
    nop(x) -> out
    copy_to(x) -> out
    shadow_feed(x, *, dst_place_type) -> out
    npu_identity(x, *, format=-1) -> out
    """
    return x


@pd("shadow_feed_tensors", "memcpy_d2h_multi_io", ignores=("dst_place_type",))
def shadow_feed_tensors(c: Call, x: list[Value]) -> list[Value]:
    """shadow_feed_tensors(x, *, dst_place_type) -> out
    memcpy_d2h_multi_io(x, *, dst_place_type) -> out
    """
    return x


@pd("depend")
def depend(c: Call, x: Value, dep: Any) -> Value:
    """depend(x, dep) -> out"""
    return x


@pd("print", ignores=("first_n", "message", "summarize", "print_tensor_name", "print_tensor_type",
    "print_tensor_shape", "print_tensor_layout", "print_tensor_lod", "print_phase", "is_forward"))  # fmt: skip
def print_(c: Call, x: Value) -> Value:
    """print(in, *, first_n, message, summarize, print_tensor_name=true, print_tensor_type=true,
    print_tensor_shape=true, print_tensor_layout=true, print_tensor_lod=true, print_phase="BOTH",
    is_forward=true) -> out
    """
    return x


@pd("assign_out")
def assign_out(c: Call, x: Value, output: Value) -> Value:
    """assign_out_(x, output) -> out"""
    return x


@pd("assert", ignores=("summarize",))
def assert_(c: Call, cond: Value, data: Any = None) -> tuple[()]:
    """assert(cond, data, *, summarize) ->"""
    c.b.op("ge.Check", c.cast(cond, BOOL), message=f"an assertion of the model failed ({c.loc})")
    return ()


@pd("check_numerics", ignores=("op_type", "var_name", "check_nan_inf_level", "stack_height_limit", "output_dir"))
def check_numerics(c: Call, tensor: Value) -> tuple[()]:
    """check_numerics(tensor, *, op_type="", var_name="", check_nan_inf_level=0, stack_height_limit=-1, output_dir="")
    -> stats, values
    """
    return ()
