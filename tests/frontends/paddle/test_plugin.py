"""The entry module: thin, recognised, and its smaller hooks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import paddle
import pytest

from ge_core.errors import ModelImportError, OptionError
from ge_core.plugins import host
from ge_frontend_paddle.importer import import_model


def test_knowing_of_the_frontend_does_not_import_paddle() -> None:
    code = (
        "import sys; from ge_core.plugins import host; plugin = host().frontend('paddle');"
        "print(plugin.tensor_to_numpy(3), 'paddle' in sys.modules, plugin.cost.milliseconds < 100)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "None False True\n"


def test_layers_and_static_functions_are_recognised(tmp_path: Path) -> None:
    layer = paddle.nn.Linear(2, 3)
    assert host().recognise(layer).name == "paddle"
    assert host().recognise(paddle.jit.to_static(lambda x: x + 1, full_graph=True)).name == "paddle"


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "bfloat16", "float16"])
def test_tensors_are_paddles(dtype: str) -> None:
    tensor = paddle.ones([2, 3]).astype(dtype)
    owner = host().tensor_owner(tensor)
    assert owner is not None and owner.name == "paddle"
    array = host().tensor_to_numpy(tensor)
    assert array is not None and str(array.dtype) == dtype and array.shape == (2, 3)
    back = owner.tensor_from_numpy(array, tensor)
    assert back.dtype == tensor.dtype and bool((back == tensor).all())
    assert host().tensor_owner(np.ones(2)) is None


def test_a_tensor_is_shared_and_not_copied() -> None:
    tensor = paddle.zeros([3])
    array = host().tensor_to_numpy(tensor)
    assert array is not None
    tensor[1] = 5.0
    assert array[1] == 5.0


def test_the_original_runs_for_inference_and_keeps_its_modes() -> None:
    model = paddle.nn.Sequential(paddle.nn.Linear(2, 64), paddle.nn.Dropout(0.9))
    model[0].eval()
    plugin = host().frontend("paddle")
    x = paddle.ones([3, 2])
    first, second = (plugin.run_original(model, [x], {}) for _ in range(2))
    assert bool((first == second).all()) and first.stop_gradient
    assert [model.training, model[0].training, model[1].training] == [True, False, True]


def test_what_is_no_model_is_refused() -> None:
    with pytest.raises(ModelImportError, match="cannot read a int"):
        import_model(3)
    with pytest.raises(ModelImportError, match="cannot call"):
        host().frontend("paddle").run_original(3, [], {})
    with pytest.raises(OptionError, match="no option 'x'"):
        import_model(paddle.nn.Linear(1, 1), options={"x": 1})
