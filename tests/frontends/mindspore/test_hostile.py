"""Damaged and hostile files end in a graph or in a GeError, in bounded time and memory."""

from __future__ import annotations

import subprocess
import sys

import mindspore
import numpy as np
import pytest
from mindspore import Tensor

from tests.frontends.mindspore.test_control import Break, Counter, WhileAndIf
from tests.frontends.mindspore.test_files import Net, X

_SMALL = Tensor(np.ones((2, 3), np.float32))
MODELS = [
    (Net, [Tensor(X)]),
    (Counter, [_SMALL]),
    (Break, [_SMALL]),
    (WhileAndIf, [_SMALL, Tensor(3, mindspore.int32)]),
]


@pytest.mark.parametrize(("cell", "args"), MODELS, ids=[cell.__name__ for cell, _ in MODELS])
def test_mutations(cell, args, tmp_path):
    net = cell()
    net.set_train(False)
    mindspore.export(net, *args, file_name=str(tmp_path / "net"), file_format="MINDIR")
    command = [sys.executable, "-m", "tests.frontends.mindspore.hostile", str(tmp_path / "net.mindir"), "150"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == "", done.stdout


def test_files_that_grow():
    command = [sys.executable, "-m", "tests.frontends.mindspore.hostile", "--grow"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == "", done.stdout
