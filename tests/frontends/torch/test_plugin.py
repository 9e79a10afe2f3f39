"""The entry module: thin, recognised, and its smaller hooks."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch

from ge_core.errors import ModelImportError
from ge_core.plugins import host


def test_knowing_of_the_frontend_does_not_import_torch():
    code = (
        "import sys; from ge_core.plugins import host; plugin = host().frontend('torch');"
        "print(plugin.tensor_to_numpy(3), 'torch' in sys.modules, plugin.cost.milliseconds < 50)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "None False True\n"


def test_modules_and_exported_programs_are_recognised():
    module = torch.nn.Linear(2, 3)
    program = torch.export.export(module, (torch.ones(1, 2),))
    assert host().recognise(module).name == "torch"
    assert host().recognise(program).name == "torch"


def test_tensors_are_torchs():
    tensor = torch.ones(2, dtype=torch.bfloat16)
    owner = host().tensor_owner(tensor)
    assert owner is not None and owner.name == "torch"
    assert owner.tensor_from_numpy(host().tensor_to_numpy(tensor), tensor).dtype == torch.bfloat16
    assert host().tensor_owner(np.ones(2)) is None


def test_the_original_runs_for_inference_and_keeps_its_modes():
    model = torch.nn.Sequential(torch.nn.Linear(2, 64), torch.nn.Dropout(0.9), torch.nn.BatchNorm1d(64))
    model[2].eval()
    x = torch.ones(3, 2)
    plugin = host().frontend("torch")
    first, second = (plugin.run_original(model, [x], {}) for _ in range(2))
    assert torch.equal(first, second)
    assert not first.requires_grad
    assert [module.training for module in model] == [True, True, False]


def test_the_original_takes_arrays_as_tensors():
    plugin = host().frontend("torch")
    twice = plugin.run_original(torch.nn.Identity(), [{"x": np.ones(2, np.float32)}], {})["x"]
    assert torch.equal(twice, torch.ones(2))


def test_the_original_of_a_program_and_of_nothing_callable():
    module = torch.nn.Linear(2, 3)
    program = torch.export.export(module, (torch.ones(1, 2),))
    plugin = host().frontend("torch")
    assert torch.equal(plugin.run_original(program, [torch.ones(1, 2)], {}), module(torch.ones(1, 2)))
    with pytest.raises(ModelImportError, match="torch cannot call an object of type int"):
        plugin.run_original(3, [], {})
