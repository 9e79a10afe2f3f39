"""Phase one of an import: everything in the exported graph that is not supported, in one report."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

import torch

from ge_core.errors import UnsupportedError
from ge_core.plugins.unsupported import Unsupported, unsupported_error

from .aliasing import graphs
from .locations import location, module_class
from .registry import find, find_higher_order, operator_name

# Assertions that torch puts in for what it assumed while tracing; the graph's own types say the same.
NO_OPERATION = frozenset({"_assert_tensor_metadata.default", "sym_constrain_range.default",
                          "sym_constrain_range_for_size.default", "_functional_assert_scalar.default"})  # fmt: skip


def target_name(node: torch.fx.Node) -> str:
    """The name of what a call_function node calls."""
    target: Any = node.target
    if isinstance(target, torch._ops.OpOverload):
        return operator_name(target)
    if isinstance(target, torch._ops.HigherOrderOperator):
        return target.name()
    return f"{getattr(target, '__module__', '')}.{getattr(target, '__name__', target)}".lstrip(".")


def is_symbolic(node: torch.fx.Node) -> bool:
    """Whether a node computes a size, a condition on sizes or a plain number, and no tensor."""
    return isinstance(node.meta.get("val"), (int, float, bool, torch.SymInt, torch.SymFloat, torch.SymBool))


def unknown_operators(module: torch.fx.GraphModule) -> dict[Any, list[torch.fx.Node]]:
    """Nodes by target for the targets that nothing here converts."""
    found: dict[Any, list[torch.fx.Node]] = {}
    for graph in graphs(module):
        for node in graph.nodes:
            if node.op == "call_function" and not _known(node):
                found.setdefault(node.target, []).append(node)
    return found


def _known(node: torch.fx.Node) -> bool:
    name = target_name(node)
    if node.target is operator.getitem or name in NO_OPERATION or find(name) is not None:
        return True
    return find_higher_order(name) is not None or is_symbolic(node)


def complex_uses(module: torch.fx.GraphModule) -> list[Unsupported]:
    """Operators that take or give complex numbers and that are not registered to do so."""
    found = []
    for graph in graphs(module):
        for node in graph.nodes:
            known = find(target_name(node)) if node.op == "call_function" else None
            if known is None or known.complex:
                continue
            if any(_is_complex(n.meta.get("val")) for n in (node, *node.all_input_nodes)):
                found.append(Unsupported(f"{known.name} on complex numbers", describe_place(node)))
    return found


def _is_complex(value: Any) -> bool:
    values = value if isinstance(value, (tuple, list)) else [value]
    return any(isinstance(v, torch.Tensor) and v.is_complex() for v in values)


def expandable(targets: Iterable[Any]) -> dict[Any, Callable[..., Any]]:
    """Expansions that torch has for operators: the bodies of composite operators, and its decompositions."""
    table: dict[Any, Callable[..., Any]] = {}
    for target in targets:
        if not isinstance(target, torch._ops.OpOverload):
            continue
        if target._can_decompose():
            table[target] = _body(target)
        elif target in _decompositions():
            table[target] = _decompositions()[target]
    return table


def _body(op: Any) -> Callable[..., Any]:
    """The composite implementation of an operator: its Python kernel, else the compiled one.

    `op.decompose` would look itself up again while torch runs decompositions.
    """
    key = torch._C.DispatchKey.CompositeImplicitAutograd
    kernel = op.py_kernels.get(key)
    if kernel is not None and not isinstance(kernel, torch._C.DispatchKey):
        return kernel
    return lambda *args, **kwargs: op._op_dk(key, *args, **kwargs)


@lru_cache(maxsize=1)
def _decompositions() -> Mapping[Any, Callable[..., Any]]:
    from torch._decomp import decomposition_table

    return decomposition_table


def findings(unknown: Mapping[Any, list[torch.fx.Node]]) -> list[Unsupported]:
    """One finding for each node that nothing converts."""
    return [Unsupported(_original_name(node), describe_place(node)) for nodes in unknown.values() for node in nodes]


def _original_name(node: torch.fx.Node) -> str:
    """The operator that the model called, where torch has expanded it since."""
    original = node.meta.get("original_aten")
    return operator_name(original) if isinstance(original, torch._ops.OpOverload) else target_name(node)


def describe_place(node: torch.fx.Node) -> str:
    """`in layers.3 (Block) at model.py:12`."""
    place = location(node, "")
    cls = module_class(node)
    module = f"in {place.module or 'the model'}{f' ({cls})' if cls else ''}"
    source = f" at {place.file}:{place.line}" if place.file else ""
    return module + source


def report(found: list[Unsupported], model: str) -> UnsupportedError:
    """One error that names every operator or form with its count and its places."""
    return unsupported_error(found, model, "PyTorch", "ge_frontend_torch.registry.aten")
