"""Damaged and hostile models: a graph or an error of ours, in seconds and in little memory, whatever they hold."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from onnx import ModelProto

from ge_core.errors import ModelImportError
from ge_core.ir.verifier import verify
from ge_frontend_onnx.importer import import_model
from tests.frontends.onnx.hostile import BASES, SECONDS

_ROOT = Path(__file__).resolve().parents[3]

# GE_HOSTILE runs another number of mutations.
_COUNT = int(os.environ.get("GE_HOSTILE", "5000"))


@pytest.mark.parametrize("base", BASES, ids=lambda base: base.__name__)
def test_the_models_are_whole_before_they_are_changed(base: Callable[[], Any]) -> None:
    verify(import_model(base()).graph)


def test_names_that_are_no_text() -> None:
    data = BASES[0]().SerializeToString().replace(b"Softmax", b"Soft\xff\xfex")
    with pytest.raises(ModelImportError, match="no text"):
        import_model(ModelProto.FromString(data))


def test_mutated_models() -> None:
    """In a process of its own, with a limit of its address space."""
    command = [sys.executable, str(_ROOT / "tests" / "frontends" / "onnx" / "hostile.py"), "0", str(_COUNT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60 + _COUNT, cwd=_ROOT)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr[-2000:]
    assert not [line for line in lines if line.startswith("BAD")]
    word, graphs, errors, undecodable, slowest = lines[-1].split()
    assert word == "DONE" and int(graphs) + int(errors) + int(undecodable) == _COUNT
    assert int(graphs) > _COUNT // 50 and int(errors) > _COUNT // 2
    assert float(slowest) < SECONDS
