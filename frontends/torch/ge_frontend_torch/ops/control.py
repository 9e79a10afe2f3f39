"""Control flow: branches and bodies are sub graphs of torch's and become regions.

torch passes everything that a sub graph reads as an operand; here outer values are captured instead, except for
what a loop carries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ge_core.ir.builder import Builder
from ge_core.ir.dims import Dim
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import Call
from ..convert import Condition
from ..registry import higher_order
from .check import condition

_BOOL = DType.of("bool")


def _run(c: Call, b: Builder, module: Any, operands: Sequence[Any]) -> list[Value]:
    """A sub graph at the end of a block; its results as tensors."""
    return [_tensor(c, b, v) for v in c.converter.run(b, module.graph, operands)]


def _tensor(c: Call, b: Builder, value: Any) -> Value:
    if isinstance(value, Condition):
        value = condition(c, b, value)
    if isinstance(value, Value):
        return value
    if isinstance(value, bool):
        return b.constant(value)
    if isinstance(value, int | Dim):
        return b.scalar(value)
    if isinstance(value, float):
        return b.constant(value, "float64")
    raise c.unsupported(f"a sub graph that gives {type(value).__name__}", "let it return tensors")


def _entering(c: Call, b: Builder, module: Any, values: Sequence[Any]) -> list[Any]:
    """Values as a sub graph's placeholders take them: those that torch knows as sizes are bound as sizes."""
    placeholders = [n for n in module.graph.nodes if n.op == "placeholder"]
    entering: list[Any] = []
    for placeholder, value in zip(placeholders, values, strict=False):
        expr = getattr(getattr(placeholder.meta.get("val"), "node", None), "expr", None)
        if isinstance(value, Value) and expr is not None and expr.is_Symbol:
            bound = b.ge.BindDim(value)
            assert bound.content is not None
            (value,) = bound.content
            c.converter.symbols.bind(expr, value)
        entering.append(value)
    return [*entering, *values[len(entering) :]]


def _results(found: Any) -> list[Value]:
    return list(found) if isinstance(found, tuple) else [found]


@higher_order("cond")
def cond(c: Call, pred: Any, true_fn: Any, false_fn: Any, operands: Sequence[Any] = ()) -> list[Value]:
    """cond(pred, true_graph, false_graph, operands): the results of one of two graphs."""
    if isinstance(pred, Condition):
        pred = condition(c, c.b, pred)
    if isinstance(pred, bool):
        return _run(c, c.b, true_fn if pred else false_fn, operands)
    found = c.b.If(
        c.reshape(c.cast(pred, _BOOL), ()),
        then_branch=lambda r: _run(c, r, true_fn, operands),
        else_branch=lambda r: _run(c, r, false_fn, operands),
    )
    return _results(found)


@higher_order("while_loop")
def while_loop(
    c: Call, cond_fn: Any, body_fn: Any, carried: Sequence[Any], additional: Sequence[Any] = ()
) -> list[Value]:
    """while_loop(cond_graph, body_graph, carried, additional): carried values after the last iteration."""
    initial = [_tensor(c, c.b, v) for v in carried]

    def again(b: Builder, values: Sequence[Value]) -> Value:
        (go_on,) = _run(c, b, cond_fn, _entering(c, b, cond_fn, [*values, *additional]))
        return go_on

    def body(r: Builder, i: Value, go_on: Value, *values: Value) -> list[Value]:
        new = _run(c, r, body_fn, _entering(c, r, body_fn, [*values, *additional]))
        return [again(r, new), *new]

    return _results(c.b.Loop(None, again(c.b, initial), initial, body=body))


@higher_order("scan")
def scan(
    c: Call, combine_fn: Any, init: Sequence[Any], xs: Sequence[Any], additional: Sequence[Any] = ()
) -> list[Value]:
    """scan(combine_graph, init, xs, additional): carries first, then the stacked results; along the first axis."""
    initial = [_tensor(c, c.b, v) for v in init]

    def body(r: Builder, *values: Value) -> list[Value]:
        return _run(c, r, combine_fn, [*values, *additional])

    return _results(c.b.Scan([*initial, *xs], num_scan_inputs=len(xs), body=body))


@higher_order("map_impl")
def map_(c: Call, body_fn: Any, xs: Sequence[Any], operands: Sequence[Any] = ()) -> list[Value]:
    """map_impl(body_graph, xs, operands): the body for each element of the first axis."""

    def body(r: Builder, *values: Value) -> list[Value]:
        return _run(c, r, body_fn, [*values, *operands])

    return _results(c.b.Scan(list(xs), num_scan_inputs=len(xs), body=body))


@higher_order("wrap_with_set_grad_enabled")
def set_grad_enabled(c: Call, enabled: bool, module: Any, *operands: Any) -> list[Any]:
    """wrap_with_set_grad_enabled(enabled, graph, *operands): the graph, for inference."""
    return c.converter.run(c.b, module.graph, operands)


@higher_order("wrap_with_autocast")
def autocast(c: Call, device: str, dtype: Any, enabled: bool, cache: Any, module: Any, *operands: Any) -> list[Any]:
    """wrap_with_autocast(device, dtype, enabled, cache_enabled, graph, *operands): the graph, without autocast."""
    if enabled:
        raise c.unsupported("autocast", "convert the module with .to(dtype), or leave autocast out")
    return c.converter.run(c.b, module.graph, operands)
