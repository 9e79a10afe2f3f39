"""A size with listed values, named in dynamic shapes or in a spec."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import ge_core
from ge_core.errors import InputError

BATCH = ge_core.Dim("batch", values=(1, 2, 8))


@pytest.mark.parametrize(
    "said",
    [
        {"inputs": (torch.zeros(4, 3),), "dynamic_shapes": {"input": {0: BATCH}}},
        {"inputs": ge_core.InputSpec((BATCH, 3))},
    ],
)
def test_a_model_takes_the_listed_sizes_alone(said: dict[str, Any]) -> None:
    torch.manual_seed(0)
    net = torch.nn.Linear(3, 5).eval()
    model = ge_core.compile(net, **said, target="reference")
    assert model.plan is not None and model.plan.gears == {"batch": (1, 2, 8)}
    for rows in BATCH.values:
        x = torch.randn(rows, 3)
        np.testing.assert_allclose(model(x).numpy(), net(x).detach().numpy(), atol=1e-6)
    with pytest.raises(InputError, match="size 4 in dim 0") as caught:
        model(torch.zeros(4, 3))
    assert caught.value.expected == "batch, where batch is one of 1, 2, 8"
