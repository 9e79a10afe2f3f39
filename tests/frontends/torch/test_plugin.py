"""The entry module: thin, recognised, and its smaller hooks."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch

import ge_core
from ge_core.errors import InputError, ModelImportError
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


def form_of(kind: str, tensor: torch.Tensor) -> torch.Tensor:
    """The same values as a tensor that is not an ordinary one."""
    if kind == "parameter":
        return torch.nn.Parameter(tensor)
    if kind == "with gradient":
        return tensor.clone().requires_grad_()
    if kind == "negative view":
        return torch._neg_view(-tensor)
    if kind == "strided":
        return tensor.T.contiguous().T
    return tensor.expand(2, *tensor.shape)[0]


@pytest.mark.parametrize("kind", ["parameter", "with gradient", "negative view", "strided", "expanded"])
def test_a_model_takes_tensors_of_every_form(kind):
    x = torch.arange(6.0).reshape(2, 3) - 2
    model = ge_core.compile(torch.nn.ReLU(), [x])
    found = model(form_of(kind, x))
    assert type(found) is torch.Tensor and not found.requires_grad and torch.equal(found, x.relu())


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (torch.ones(2, 3, device="meta"), "no values"),
        (torch.ones(2, 3).to_sparse(), "is sparse"),
        (torch.ones(2, 3, dtype=torch.complex64), "is complex"),
        (torch.ones(2, 3, dtype=torch.float64), "element type float64"),
        (torch.ones(2), "rank 1"),
        (torch.ones(2, 4), "4"),
    ],
)
def test_a_model_refuses_other_tensors(bad, told):
    model = ge_core.compile(torch.nn.ReLU(), [torch.ones(2, 3)])
    with pytest.raises(InputError, match=told):
        model(bad)


def test_arrays_and_tensors_may_be_mixed():
    class Sum(torch.nn.Module):
        def forward(self, a, b):
            return a + b

    x = torch.arange(3.0)
    model = ge_core.compile(Sum(), [x, x])
    assert torch.equal(model(x, x.numpy()), x + x)
    assert np.array_equal(model(x.numpy(), x.numpy()), (x + x).numpy())
