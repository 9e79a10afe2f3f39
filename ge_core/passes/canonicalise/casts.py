"""Casts that do nothing, and chains of casts."""

from __future__ import annotations

from ge_core.ir.builder import Builder
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value
from ge_core.passes.matching import Any_, Match, Node
from ge_core.passes.rewrite import rebuilt, rule

X = Any_("x")

# exponent bits, mantissa bits
_FLOATS = {"float64": (11, 52), "float32": (8, 23), "bfloat16": (8, 7), "float16": (5, 10)}


def keeps_every_value(source: DType, target: DType) -> bool:
    """Whether each value of `source` is a value of `target`, so that casting there and on loses nothing."""
    if source == target:
        return True
    if source.kind == "bool":
        return target.is_integer or target.name in _FLOATS
    if source.is_integer and target.is_integer:
        if source.kind == target.kind:
            return source.bits <= target.bits
        return source.kind == "uint" and source.bits < target.bits
    if source.name in _FLOATS and target.name in _FLOATS:
        return all(a <= b for a, b in zip(_FLOATS[source.name], _FLOATS[target.name], strict=True))
    if source.is_integer and target.name in _FLOATS:
        return source.bits - (source.kind == "int") <= _FLOATS[target.name][1] + 1
    return False


@rule(Node("Cast", X))
def same_type(m: Match, b: Builder) -> Value:
    m.require(m["x"].dtype == m.root.attrs["to"], "the type changes")
    return m["x"]


@rule(Node("Cast", Node("Cast", X, name="inner")))
def cast_of_cast(m: Match, b: Builder) -> Value:
    """Through a type that holds every value of the source, the way makes no difference.

    bool as the middle type makes -1 to 1, float64 to float16 to float32 rounds: those stay.
    """
    middle, target = m.node("inner").attrs["to"], m.root.attrs["to"]
    assert isinstance(middle, DType)
    m.require(keeps_every_value(m["x"].dtype, middle), f"{m['x'].dtype} to {middle} loses values, then to {target}")
    if m["x"].dtype == target:
        return m["x"]
    result: Value = rebuilt(b, m.root, [m["x"]])
    return result


CAST_RULES = (same_type, cast_of_cast)
