"""onnx.backend.test: node, simple, operator, converted and the offline real models, on the reference kernels."""

from __future__ import annotations

import os
import tempfile
import warnings

from ge_core.errors import CheckError, UnsupportedError
from tests.frontends.onnx.onnx_backend import TOLERANCE, GeBackend, GeTest, refusal

# The runner writes the inputs of the real models there.
_HOME = tempfile.TemporaryDirectory(prefix="onnx_home_")  # removed when the process ends
os.environ.setdefault("ONNX_HOME", _HOME.name)

# Of the 1,884 node cases of onnx 1.23.
_NODE_CASES, _BAR = 1884, 1800

with warnings.catch_warnings():
    warnings.simplefilter("ignore", RuntimeWarning)  # the cases overflow on purpose
    _runner = GeTest(GeBackend, __name__, test_kwargs={name: {"rtol": rtol} for name, rtol in TOLERANCE.items()})


def _tests() -> dict[str, type]:
    """The runner's test classes, without the cases of other devices and those that are refused."""
    found = _runner.test_cases
    for cls in found.values():
        for name in [n for n in vars(cls) if n.startswith("test_")]:
            case, _, device = name.rpartition("_")
            if device != "cpu" or refusal(case):
                delattr(cls, name)
    return found


def _names(category: str) -> list[str]:
    return [name.removesuffix("_cpu") for name in _runner._test_items[category] if name.endswith("_cpu")]


globals().update(_tests())


def test_enough_node_cases_must_pass():
    names = _names("NodeModel")
    assert len(names) >= _NODE_CASES
    assert sum(refusal(name) is None for name in names) >= _BAR


def test_nothing_but_strings_training_images_and_random_numbers_is_refused():
    """Each refused case raises an error of ours, at the import or (for a mode that the caller gives) at the call."""
    wrong = []
    for category, items in _runner._test_items.items():
        for name, item in items.items():
            case, _, device = name.rpartition("_")
            if device != "cpu" or refusal(case) is None:
                continue
            try:
                item.func(None)
                wrong.append(f"{category} {case} gave a result")
            except (UnsupportedError, CheckError):
                pass
    assert not wrong
