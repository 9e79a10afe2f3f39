"""Compares an imported model, run by the interpreter, with TensorFlow."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import tensorflow as tf

from ge_core.ir.verifier import verify
from ge_core.plugins.frontend import ImportedModel
from ge_core.reference.interpret import interpret
from ge_frontend_tensorflow.importer import import_model

from .variants.form import Fixed, Variant

# Largest error allowed, relative to the largest finite value of the result.
TOLERANCE = {np.float64: 1e-12, np.float32: 5e-6, np.float16: 2e-3, ml_dtypes.bfloat16: 1.6e-2}


def check(
    function: Callable[..., Any],
    *args: np.ndarray,
    open_sizes: bool = False,
    tolerance: float | None = None,
    compare: Callable[[list[np.ndarray], list[np.ndarray]], None] | None = None,
    calls: int = 1,
) -> ImportedModel:
    """Import a function of tensors, run it, compare with TensorFlow.

    Args:
        open_sizes: whether the sizes of the inputs are not known at import.
        compare: instead of comparing values.
        calls: calls in sequence on the same variables.
    """
    specs = [tf.TensorSpec([None] * a.ndim if open_sizes else a.shape, tf.as_dtype(a.dtype)) for a in args]
    # the wrapper hides parameters with defaults, which would become inputs
    concrete = tf.function(lambda *xs: function(*xs), autograph=False).get_concrete_function(*specs)
    imported = import_model(concrete)
    verify(imported.graph)
    states = {s.name: s.initial.array().copy() for s in imported.graph.states}
    for _ in range(calls):
        expected = [np.asarray(t) for t in tf.nest.flatten(concrete(*(tf.constant(a) for a in args)))]
        outputs, states = interpret(imported.graph, list(args), states)
        ours = [np.asarray(t) for t in tf.nest.flatten(imported.signature.unflatten(outputs))]
        if compare is not None:
            compare(ours, expected)
            continue
        for number, (mine, theirs) in enumerate(zip(ours, expected, strict=True)):
            try:
                assert_close(mine, theirs, tolerance)
            except AssertionError as error:
                raise AssertionError(f"result {number}: {error}") from error
    return imported


def check_variant(name: str, variant: Variant) -> None:
    """Compare one call of an operator."""
    inputs = [leaf for arg in variant.args for leaf in _leaves(arg) if isinstance(leaf, np.ndarray | np.generic)]
    function = variant.function or _call(name, variant)
    check(
        function,
        *(np.asarray(a) for a in inputs),
        open_sizes=variant.open_sizes,
        tolerance=variant.tolerance,
        compare=variant.check,
    )


def _leaves(arg: Any) -> list[Any]:
    return list(arg) if isinstance(arg, list) else [arg]


def _call(name: str, variant: Variant) -> Callable[..., Any]:
    """The operator as a function of the inputs."""
    from ge_frontend_tensorflow.operator_table import described

    known = described(name)
    assert known is not None
    operator = getattr(tf.raw_ops, name)
    names = _python_names(operator, [a.name for a in known.inputs], list(known.attributes))

    def call(*inputs: Any) -> Any:
        given = iter(inputs)

        def one(leaf: Any) -> Any:
            return tf.constant(leaf.value) if isinstance(leaf, Fixed) else next(given)

        values = [[one(leaf) for leaf in arg] if isinstance(arg, list) else one(arg) for arg in variant.args]
        found = operator(**dict(zip(names, values, strict=True)), **variant.attrs)
        return list(found) if isinstance(found, tuple) else found

    return call


def _python_names(operator: Callable[..., Any], names: Sequence[str], attributes: Sequence[str]) -> list[str]:
    """The Python function's names of an operator's inputs: some differ from the operator's own."""
    parameters = [p for p in inspect.signature(operator).parameters if p != "name"]
    left = [p for p in parameters if p not in names and p not in attributes]
    return [n if n in parameters else left.pop(0) for n in names]


def assert_close(ours: np.ndarray, theirs: np.ndarray, tolerance: float | None = None) -> None:
    """Element type and shape are the same, and values agree within the tolerance of the element type."""
    assert ours.dtype == theirs.dtype, f"{ours.dtype}, TensorFlow gives {theirs.dtype}"
    assert ours.shape == theirs.shape, f"{ours.shape}, TensorFlow gives {theirs.shape}"
    if theirs.dtype.type not in TOLERANCE:
        np.testing.assert_array_equal(ours, theirs)
        return
    got, wanted = ours.astype(np.float64), theirs.astype(np.float64)
    finite = np.isfinite(wanted)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(wanted), err_msg="NaN")
    infinite = np.isinf(wanted)
    np.testing.assert_array_equal(got[infinite], wanted[infinite], err_msg="infinities")
    scale = max(float(np.abs(wanted[finite]).max(initial=0.0)), 1e-30)
    error = float(np.abs(got[finite] - wanted[finite]).max(initial=0.0)) / scale
    allowed = TOLERANCE[theirs.dtype.type] if tolerance is None else tolerance
    assert error <= allowed, f"error {error:.2e} of the result's scale, allowed {allowed:.0e}"


def names_of(table: dict[str, Sequence[Variant]]) -> list[str]:
    """The operators of a table, in order."""
    return sorted(table)
