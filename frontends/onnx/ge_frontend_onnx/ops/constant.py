"""Constants that stand as nodes."""

from __future__ import annotations

import numpy as np

from ge_core.ir.constant import Constant

from ..call import Call
from ..registry import Results, converts


@converts("Constant")
def constant(c: Call) -> Results:
    """Constant() -> (T output); sparse_value, value, value_float, value_floats, value_int, value_ints, ..."""
    if len(c.attrs) != 1:
        raise c.error(f"has the attributes {', '.join(sorted(c.attrs)) or '(none)'}", expected="exactly one value")
    name, value = next(iter(c.attrs.items()))
    if name in ("value", "sparse_value"):
        if not isinstance(value, Constant):
            raise c.error(f"the attribute {name} is no tensor")
        made = value
    elif name in ("value_float", "value_floats"):
        made = Constant.of(np.asarray(value, np.float32))
    elif name in ("value_int", "value_ints"):
        made = Constant.of(np.asarray(value, np.int64))
    elif name in ("value_string", "value_strings"):
        raise c.unsupported("a value of strings")
    else:
        raise c.error(f"has no attribute {name}")
    return c.b.constant(made, name=next((n for n in c.outputs if n), "c"))


@converts("ConstantOfShape")
def constant_of_shape(c: Call) -> Results:
    """ConstantOfShape(T1 input) -> (T2 output); value"""
    if "value" not in c.attrs:
        c.attrs["value"] = Constant.of(np.zeros(1, np.float32))
    return c.build("ConstantOfShape", c.inputs, c.attrs)
