"""Compares imported programs, run by the interpreter, with Paddle."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import paddle

from ge_core.ir.verifier import verify
from ge_core.plugins.frontend import ImportedModel
from ge_core.reference.interpret import interpret
from ge_frontend_paddle.importer import Source, import_model, import_source
from ge_frontend_paddle.pir_json import read_json
from ge_frontend_paddle.program import Program

# Largest error allowed, relative to the largest finite value of the result.
TOLERANCE = {"float64": 1e-10, "float32": 1e-5, "float16": 2e-3, "bfloat16": 1.6e-2}


@dataclass(frozen=True)
class Variant:
    """One form of an operator: a function of Paddle's, and the arrays that it is called with.

    Attributes:
        tolerance: instead of the one for the result's element type.
        skipped: places of results that are not compared.
    """

    function: Callable[..., Any]
    arrays: tuple[np.ndarray, ...]
    tolerance: float | None = None
    skipped: tuple[int, ...] = ()


@contextmanager
def static_mode() -> Iterator[None]:
    """Paddle's static mode inside, its dynamic mode after it."""
    paddle.enable_static()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        paddle.disable_static()


def results_of(found: Any) -> list[Any]:
    """Tensors in the order of a nested result."""
    if isinstance(found, (list, tuple)):
        return [leaf for part in found for leaf in results_of(part)]
    return [] if found is None else [found]


def names_in(program: Program) -> set[str]:
    """The operators of a program, inner blocks included."""
    return {op.name for op in program.operators()}


class Traced:
    """Several variants in one static program: what Paddle computes, and what it stores.

    Attributes:
        program: read from Paddle's own stored form.
        feeds: the inputs by name.
        expected: Paddle's results.
        counts: how many results each variant has.
    """

    def __init__(self, variants: Sequence[Variant]) -> None:
        main = paddle.static.Program()
        self.feeds: dict[str, np.ndarray] = {}
        fetched: list[Any] = []
        self.counts: list[int] = []
        with paddle.static.program_guard(main):
            given = []
            for i, variant in enumerate(variants):
                inputs = []
                for k, array in enumerate(variant.arrays):
                    name = f"v{i}_{k}"
                    self.feeds[name] = array
                    inputs.append(paddle.static.data(name, list(array.shape), _dtype_name(array)))
                given += inputs
                results = results_of(variant.function(*inputs))
                fetched += results
                self.counts.append(len(results))
            pruned = paddle.static.normalize_program(main, given, fetched)
            executor = paddle.static.Executor(paddle.CPUPlace())
            feeds = {name: _fed(array) for name, array in self.feeds.items()}
            self.expected = [_read(v) for v in executor.run(main, feed=feeds, fetch_list=fetched, return_numpy=False)]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "program.json"
            paddle.base.core.serialize_pir_program(pruned, str(path), True, True, False)
            self.program = read_json(path.read_bytes(), "program.json")


def _dtype_name(array: np.ndarray) -> str:
    return str(array.dtype)


def _fed(array: np.ndarray) -> np.ndarray:
    return array.view(np.uint16) if array.dtype.name == "bfloat16" else array


def _read(tensor: Any) -> np.ndarray:
    array = np.array(tensor)
    return array.view(ml_dtypes.bfloat16) if array.dtype == np.uint16 else array  # numpy has no bfloat16


def check_variants(variants: Sequence[Variant]) -> Traced:
    """Import a program of several variants from its stored form, run it, compare it with Paddle.

    Raises:
        AssertionError: a result differs; the message names the variant.
    """
    with static_mode():
        traced = Traced(variants)
    imported = import_source(Source(traced.program, lambda name: None))
    verify(imported.graph)
    arrays = [traced.feeds[value.name] for value in imported.graph.inputs]
    ours, _ = interpret(imported.graph, arrays)
    theirs = iter(zip(ours, traced.expected, strict=True))
    for i, (variant, count) in enumerate(zip(variants, traced.counts, strict=True)):
        for k in range(count):
            got, want = next(theirs)
            if k not in variant.skipped:
                try:
                    assert_close(got, want, variant.tolerance)
                except AssertionError as error:
                    raise AssertionError(f"variant {i}, result {k}: {error}") from error
    return traced


def check(
    model: Any,
    specs: Sequence[Any],
    *calls: Sequence[np.ndarray],
    dynamic: object = None,
    tolerance: float | None = None,
) -> ImportedModel:
    """Import a layer or function, compare it with Paddle's eager mode at the sizes of several calls."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        imported = import_model(model, specs, dynamic_shapes=dynamic)
    verify(imported.graph)
    for arrays in calls:
        with paddle.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wanted = paddle.utils.flatten(model(*(paddle.to_tensor(a) for a in arrays)))
        found = paddle.utils.flatten(imported.signature.unflatten(interpret(imported.graph, list(arrays))[0]))
        assert len(found) == len(wanted)
        for got, want in zip(found, wanted, strict=True):
            assert_close(np.asarray(got), want.numpy(), tolerance)
    return imported


def assert_close(got: np.ndarray, want: np.ndarray, tolerance: float | None = None) -> None:
    """Element type and shape are the same, and values agree within the tolerance of the element type."""
    assert got.dtype == want.dtype, f"{got.dtype}, Paddle gives {want.dtype}"
    assert got.shape == want.shape, f"{got.shape}, Paddle gives {want.shape}"
    if want.dtype.kind in "biu":
        np.testing.assert_array_equal(got, want)
        return
    left, right = got.astype(np.float64), want.astype(np.float64)
    finite = np.isfinite(right)
    np.testing.assert_array_equal(np.isnan(left), np.isnan(right), err_msg="NaN")
    infinite = np.isinf(right)
    np.testing.assert_array_equal(left[infinite], right[infinite], err_msg="infinities")
    scale = max(float(np.abs(right[finite]).max(initial=0.0)), 1e-30)
    error = float(np.abs(left[finite] - right[finite]).max(initial=0.0)) / scale
    allowed = TOLERANCE[want.dtype.name] if tolerance is None else tolerance
    assert error <= allowed, f"error {error:.2e} of the result's scale, allowed {allowed:.0e}"


def merged(*tables: Mapping[str, Sequence[Variant]]) -> dict[str, list[Variant]]:
    """Variants of several tables by operator."""
    found: dict[str, list[Variant]] = {}
    for table in tables:
        for name, variants in table.items():
            found.setdefault(name, []).extend(variants)
    return found
