"""Conditions that are known at import: those on constants and on sizes."""

from __future__ import annotations

from collections.abc import Callable

from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.graph import Value, constant_of, source_of
from ge_core.ir.types import TensorType

_DEEPEST = 16


def known_condition(value: Value) -> bool | None:
    """Whether a condition of one element always holds (True), never holds (False), or depends (None)."""
    return _known(value, 0)


def _known(value: Value, depth: int) -> bool | None:
    constant = constant_of(value)
    if constant is not None:
        array = constant.array()
        return bool(array.reshape(-1)[0]) if array.size == 1 and array.dtype.kind in "biuf" else None
    node = source_of(value).producer
    if node is None or depth > _DEEPEST:
        return None
    operands = [v for v in node.inputs if v is not None]
    if node.op in _COMPARISONS and len(operands) == 2:
        a, b = (_size(v) for v in operands)
        return None if a is None or b is None else _COMPARISONS[node.op](a, b)
    if node.op in ("Identity", "Squeeze", "Unsqueeze", "Reshape"):
        return _known(operands[0], depth + 1)
    if node.op == "Cast":
        size = _size(operands[0])
        return _known(operands[0], depth + 1) if size is None else _not(dims.equal(size, 0))
    if node.op == "Not":
        return _not(_known(operands[0], depth + 1))
    if node.op in ("And", "Or"):
        return _joined([_known(v, depth + 1) for v in operands], decides=node.op == "Or")
    return None


def _joined(parts: list[bool | None], decides: bool) -> bool | None:
    if decides in parts:
        return decides
    return None if None in parts else not decides


def _not(known: bool | None) -> bool | None:
    return None if known is None else not known


def _size(value: Value) -> Size | None:
    """The integer that a value of one element holds, when it is known."""
    if not isinstance(value.type, TensorType) or not value.type.dtype.is_integer:
        return None
    content = source_of(value).content
    return content[0] if content is not None and len(content) == 1 else None


_COMPARISONS: dict[str, Callable[[Size, Size], bool | None]] = {
    "Equal": dims.equal,
    "LessOrEqual": dims.less_equal,
    "Less": lambda a, b: dims.less_equal(a + 1, b),
    "GreaterOrEqual": lambda a, b: dims.less_equal(b, a),
    "Greater": lambda a, b: dims.less_equal(b + 1, a),
}
