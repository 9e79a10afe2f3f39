"""Compares an imported model, run by the interpreter, with torch."""

from __future__ import annotations

import copy
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from ge_core.ir import dims
from ge_core.ir.graph import Graph
from ge_core.ir.verifier import verify
from ge_core.plugins.frontend import ImportedModel
from ge_core.reference.interpret import interpret
from ge_frontend_torch.importer import import_model
from ge_frontend_torch.tensors import to_numpy

# Largest error allowed, relative to the largest finite value of the result.
TOLERANCE = {torch.float64: 1e-12, torch.float32: 5e-6, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}


class Wrapped(torch.nn.Module):
    """A function as a module, so that torch.export takes it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


def check(
    model: Callable[..., Any],
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic: Any = None,
    tolerance: float | None = None,
    sizes: Sequence[int] = (1, 5),
    calls: int = 1,
) -> ImportedModel:
    """Import, run, compare with torch; with dynamic dims also at other sizes.

    Args:
        model: a module or a function of tensors.
        dynamic: torch.export's dynamic_shapes; for a function, one entry for each argument.
        tolerance: instead of the one for the result's element type.
        sizes: values tried for every symbolic size, where its bounds allow them.
        calls: calls in sequence on the same states.
    """
    module = model if isinstance(model, torch.nn.Module) else Wrapped(model)
    module = copy.deepcopy(module).eval()
    kwargs = dict(kwargs or {})
    if dynamic is not None and isinstance(module, Wrapped):
        dynamic = (tuple(dynamic),)
    imported = import_model(module, tuple(args), kwargs, dynamic)
    verify(imported.graph)
    states = {s.name: s.initial.array().copy() for s in imported.graph.states}
    for call in range(calls):
        given = resized(imported, args, kwargs, {}, seed=call)
        states = compare(module, imported, *given, states=states, tolerance=tolerance)
    for size in sizes:
        env = {s.name: size for s in input_symbols(imported.graph)}
        if env and all(_allowed(s, size) for s in input_symbols(imported.graph)):
            compare(module, imported, *resized(imported, args, kwargs, env), states=None, tolerance=tolerance)
    return imported


def check_all(
    functions: Sequence[Callable[..., Any]],
    args: Sequence[Any],
    *,
    dynamic: Any = None,
    tolerance: float | None = None,
    sizes: Sequence[int] = (1, 5),
) -> ImportedModel:
    """Several functions of the same arguments, as one model: one export for a whole table of variants."""
    return check(
        lambda *given: tuple(function(*given) for function in functions),
        args,
        dynamic=dynamic,
        tolerance=tolerance,
        sizes=sizes,
    )


def _allowed(symbol: dims.Symbol, size: int) -> bool:
    return symbol.lo <= size and (symbol.hi is None or size <= symbol.hi)


def input_symbols(graph: Graph) -> list[dims.Symbol]:
    """The symbols of a graph's inputs in order."""
    found: dict[dims.Symbol, None] = {}
    for value in graph.inputs:
        for size in value.shape:
            found.update(dict.fromkeys(sorted(dims.symbols(size))))
    return list(found)


def resized(
    imported: ImportedModel, args: Sequence[Any], kwargs: Mapping[str, Any], env: Mapping[str, int], seed: int = 0
) -> tuple[list[Any], dict[str, Any]]:
    """The example with symbolic sizes replaced; new tensors have values like the example's."""
    generator = torch.Generator().manual_seed(seed)
    shapes = iter([v.shape for v in imported.graph.inputs])

    def visit(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        declared = next(shapes)
        if not env and not seed:
            return value.clone()
        shape = [dims.evaluate(d, env) if env else n for d, n in zip(declared, value.shape, strict=True)]
        return _like(value, shape, generator)

    tree = torch.utils._pytree
    positional = [tree.tree_map(visit, a) for a in args]
    return positional, {k: tree.tree_map(visit, kwargs[k]) for k in kwargs}


def _like(value: torch.Tensor, shape: Sequence[int], generator: torch.Generator) -> torch.Tensor:
    if list(shape) == list(value.shape) and not value.dtype.is_floating_point:
        return value.clone()
    if value.dtype.is_floating_point:
        return torch.randn(shape, generator=generator).to(value.dtype)
    if value.dtype == torch.bool:
        return torch.randint(0, 2, shape, generator=generator).bool()
    low, high = (int(value.min()), int(value.max())) if value.numel() else (0, 1)
    return torch.randint(low, high + 1, shape, generator=generator).to(value.dtype)


def compare(
    module: torch.nn.Module,
    imported: ImportedModel,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    states: dict[str, np.ndarray] | None,
    tolerance: float | None = None,
) -> dict[str, np.ndarray]:
    """Run once in both worlds and compare results and structure; returns the states after the run."""
    tree = torch.utils._pytree
    arrays = [_array(t) for t in imported.signature.flatten(tree.tree_map(_clone, list(args)), dict(kwargs))]
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = module(*tree.tree_map(_clone, list(args)), **kwargs)
    outputs, after = interpret(imported.graph, arrays, states)
    result = imported.signature.unflatten(outputs)
    same_structure(expected, result)
    for number, (ours, theirs) in enumerate(zip(_leaves(result), _leaves(expected), strict=True)):
        try:
            assert_close(ours, theirs, tolerance)
        except AssertionError as error:
            raise AssertionError(f"result {number}: {error}") from error
    return after


def _clone(value: Any) -> Any:
    return value.clone() if isinstance(value, torch.Tensor) else value


def _array(tensor: Any) -> np.ndarray:
    array = to_numpy(tensor)
    assert array is not None
    return array


def _leaves(value: Any) -> list[Any]:
    return [leaf for leaf in torch.utils._pytree.tree_leaves(value) if leaf is not None]


def same_structure(expected: Any, result: Any) -> None:
    """The result comes in the container that torch gives; an ordered dict comes back as a dict."""
    kind = dict if type(expected) is OrderedDict else type(expected)
    assert kind is type(result) or isinstance(expected, (torch.Tensor, int, float)), (type(expected), type(result))


def assert_close(ours: Any, theirs: Any, tolerance: float | None = None) -> None:
    """Element type and shape are the same, and values agree within the tolerance of the element type."""
    if not isinstance(theirs, torch.Tensor):
        assert np.asarray(ours) == theirs
        return
    want = _array(theirs.detach())
    ours = np.asarray(ours)
    assert ours.dtype == want.dtype, f"{ours.dtype}, torch gives {want.dtype}"
    assert ours.shape == want.shape, f"{ours.shape}, torch gives {want.shape}"
    if not theirs.dtype.is_floating_point:
        np.testing.assert_array_equal(ours, want)
        return
    got, wanted = ours.astype(np.float64), want.astype(np.float64)
    finite = np.isfinite(wanted)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(wanted), err_msg="NaN")
    infinite = np.isinf(wanted)
    np.testing.assert_array_equal(got[infinite], wanted[infinite], err_msg="infinities")
    scale = max(float(np.abs(wanted[finite]).max(initial=0.0)), 1e-30)
    error = float(np.abs(got[finite] - wanted[finite]).max(initial=0.0)) / scale
    allowed = TOLERANCE[theirs.dtype] if tolerance is None else tolerance
    assert error <= allowed, f"error {error:.2e} of the result's scale, allowed {allowed:.0e}"
