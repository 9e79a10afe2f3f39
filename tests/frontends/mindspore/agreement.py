"""Compares imported models, run by the interpreter, with MindSpore in graph mode."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import itertools
import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("GLOG_v", "4")  # before the import: MindSpore's own log

import mindspore
import numpy as np
from mindspore import nn

from ge_core.ir.verifier import verify
from ge_core.plugins.frontend import ImportedModel
from ge_core.reference.interpret import interpret
from ge_frontend_mindspore.importer import import_model
from ge_frontend_mindspore.model_file import read_model
from ge_frontend_mindspore.program import Program, walk
from ge_frontend_mindspore.tensors import to_numpy

mindspore.set_context(mode=mindspore.GRAPH_MODE, device_target="CPU")
# with numpy 2.4 the first eager call that takes a tuple fails, and those behind it do not
with contextlib.suppress(SystemError):
    mindspore.ops.reshape(mindspore.Tensor(np.zeros(4, np.float32)), (2, 2)) * mindspore.Tensor(1.0)

# Largest error allowed, relative to the largest finite value of the result.
TOLERANCE = {"float64": 1e-12, "float32": 5e-6, "float16": 2e-3, "bfloat16": 1.6e-2}
_NAMES = "xyzwuv"
_MODULES = ("operations", "auto_generate", "operations.nn_ops", "operations.math_ops", "operations.array_ops",
            "operations.image_ops", "operations.inner_ops", "operations._inner_ops", "operations.linalg_ops",
            "operations.other_ops", "operations.random_ops", "operations.sparse_ops")  # fmt: skip


@dataclass(frozen=True)
class State:
    """An input of a variant that is a parameter of the cell."""

    array: np.ndarray


@dataclass(frozen=True)
class Sized:
    """An input of a variant whose sizes MindSpore does not know, so that it computes with them when the model runs."""

    array: np.ndarray


@dataclass(frozen=True)
class Variant:
    """One way to call a primitive.

    Attributes:
        op: the primitive.
        init: the arguments of its class, as text; None when `call` is an expression that MindSpore makes the
            primitive of.
        call: the arguments of the call, as text; `x`, `y`, `z`, ... are the arrays.
        arrays: the inputs.
        tolerance: instead of the one for the result's element type.
        results: which results are compared; all of them when None.
    """

    op: str
    init: str | None
    call: str
    arrays: tuple[Any, ...]
    tolerance: float | None = None
    results: tuple[int, ...] | None = None


def primitive_class(name: str) -> Any:
    """The class of a primitive, wherever MindSpore keeps it."""
    for module in _MODULES:
        found = getattr(importlib.import_module(f"mindspore.ops.{module}"), name, None)
        if isinstance(found, type):
            return found
    raise LookupError(name)


def cell_of(variants: Sequence[Variant]) -> tuple[nn.Cell, list[np.ndarray]]:
    """One cell that calls every variant, and the arrays that it takes."""
    lines, inits, names, arrays, calls = [], [], [], [], []
    for k, variant in enumerate(variants):
        call = f" {variant.call} "
        for letter, array in zip(_NAMES, variant.arrays, strict=False):
            name = f"{letter}{k}"
            if isinstance(array, State):
                inits.append(f"        self.{name} = Parameter(Tensor(data['{name}']), name='{name}')")
                name = f"self.{name}"
            else:
                names.append(name)
                arrays.append(array)
            call = _renamed(call, letter, name)
        if variant.init is None:
            calls.append(call.strip())
            continue
        inits.append(f"        self.p{k} = find('{variant.op}')({variant.init})")
        calls.append(f"self.p{k}({call.strip()})")
    data = {
        f"{n}{k}": a.array
        for k, v in enumerate(variants)
        for n, a in zip(_NAMES, v.arrays, strict=False)
        if isinstance(a, State)
    }
    lines = [
        "import mindspore", "from mindspore import Parameter, Tensor, nn, dtype", "class Net(nn.Cell):",
        "    def __init__(self, find, data):", "        super().__init__()", *inits,
        f"    def construct(self, {', '.join(names)}):" if names else "    def construct(self):",
        f"        return ({', '.join(calls)},)",
    ]  # fmt: skip
    return _module("\n".join(lines)).Net(primitive_class, data), arrays


def _renamed(call: str, letter: str, name: str) -> str:
    out = []
    for k, ch in enumerate(call):
        alone = ch == letter and not (call[k - 1].isalnum() or call[k - 1] in "_.'") and not (
            call[k + 1].isalnum() or call[k + 1] in "_'="
        )  # fmt: skip
        out.append(name if alone else ch)
    return "".join(out)


# Removed when the process ends.
_SOURCES = tempfile.TemporaryDirectory(prefix="ge_mindspore_test_")
_NUMBERS = itertools.count()


def _module(source: str) -> Any:
    """A module with this source, in a file: MindSpore reads the sources of cells."""
    name = f"net_{next(_NUMBERS)}"
    path = Path(_SOURCES.name) / f"{name}.py"
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def check_variants(variants: Sequence[Variant]) -> None:
    """Import one cell of variants, run it in both worlds, compare.

    Raises:
        AssertionError: naming the variant that differs, or a primitive that MindSpore folds away.
    """
    cell, given = cell_of(variants)
    examples = [
        mindspore.Tensor(shape=[None] * a.array.ndim, dtype=mindspore.Tensor(a.array).dtype)
        if isinstance(a, Sized)
        else mindspore.Tensor(a)
        for a in given
    ]
    arrays = [a.array if isinstance(a, Sized) else a for a in given]
    with exported_operators() as operators:
        imported = import_model(cell, examples)
    verify(imported.graph)
    with np.errstate(all="ignore"):
        outputs, _ = interpret(imported.graph, [a.copy() for a in arrays])
    result = imported.signature.unflatten(outputs)
    cell, _ = cell_of(variants)
    expected = cell(*(mindspore.Tensor(a.copy()) for a in arrays))
    assert isinstance(result, tuple)
    for variant, ours, theirs in zip(variants, result, expected, strict=True):
        try:
            compare(ours, theirs, variant.tolerance, variant.results)
        except AssertionError as error:
            raise AssertionError(f"{variant.op}({variant.init})({variant.call}): {error}") from error
    wanted = Counter(variant.op for variant in variants)
    folded = [op for op, count in wanted.items() if operators[op] < count]
    assert not folded, f"MindSpore exports {', '.join(folded)} less often than it is called"


@contextlib.contextmanager
def exported_operators() -> Iterator[Counter[str]]:
    """How often each primitive stands in what MindSpore exports while the context lasts."""
    found: Counter[str] = Counter()
    plain = mindspore.export

    def export(*args: Any, file_name: str, **kwargs: Any) -> None:
        plain(*args, file_name=file_name, **kwargs)
        found.update(step.op for _, step in walk(Program(read_model(f"{file_name}.mindir"))))

    mindspore.export = export
    try:
        yield found
    finally:
        mindspore.export = plain


def compare(ours: Any, theirs: Any, tolerance: float | None = None, results: Sequence[int] | None = None) -> None:
    """The same structure, element types and shapes, and values within the tolerance."""
    if isinstance(theirs, (tuple, list)):
        assert isinstance(ours, tuple) and len(ours) == len(theirs), (ours, theirs)
        for k, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            if results is None or k in results:
                compare(a, b, tolerance)
        return
    if not isinstance(theirs, mindspore.Tensor):
        assert np.asarray(ours) == theirs
        return
    want = to_numpy(theirs)
    assert want is not None
    got = np.asarray(ours)
    assert got.dtype == want.dtype, f"{got.dtype}, MindSpore gives {want.dtype}"
    assert got.shape == want.shape, f"{got.shape}, MindSpore gives {want.shape}"
    if want.dtype.kind in "iub":
        np.testing.assert_array_equal(got, want)
        return
    allowed = TOLERANCE[str(want.dtype)] if tolerance is None else tolerance
    error = relative_error(got, want)
    assert error <= allowed, f"error {error:.2e} of the result's scale, allowed {allowed:.0e}"


def relative_error(got: np.ndarray, want: np.ndarray) -> float:
    """The largest error relative to the largest finite value; NaN and infinities must stand in the same places."""
    a, b = got.astype(np.float64), want.astype(np.float64)
    np.testing.assert_array_equal(np.isnan(a), np.isnan(b), err_msg="NaN")
    infinite, finite = np.isinf(b), np.isfinite(b)
    np.testing.assert_array_equal(a[infinite], b[infinite], err_msg="infinities")
    scale = max(float(np.abs(b[finite]).max(initial=0.0)), 1e-30)
    return float(np.abs(a[finite] - b[finite]).max(initial=0.0)) / scale


def check(
    cell: nn.Cell, args: Sequence[Any], calls: Sequence[Sequence[Any]] | None = None, tolerance: float | None = None,
    dynamic: Any = None,
) -> ImportedModel:  # fmt: skip
    """Import a cell; call it in both worlds, one call after the other on the same states.

    Args:
        args: the example: tensors, numbers.
        calls: arguments of each call; the example alone when None.
    """
    imported = import_model(cell, args, dynamic_shapes=dynamic)
    verify(imported.graph)
    states: dict[str, np.ndarray] | None = {s.name: s.initial.array().copy() for s in imported.graph.states}
    for given in calls if calls is not None else [args]:
        arrays = [to_numpy(t) for t in imported.signature.flatten(list(given), {})]
        outputs, states = interpret(imported.graph, [np.array(a) for a in arrays], states)
        fresh = [mindspore.Tensor(to_numpy(t).copy()) if isinstance(t, mindspore.Tensor) else t for t in given]
        compare(imported.signature.unflatten(outputs), cell(*fresh), tolerance)
    return imported
