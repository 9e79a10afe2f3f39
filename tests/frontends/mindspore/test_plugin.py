"""The entry module: thin, recognised, and its smaller hooks."""

from __future__ import annotations

import subprocess
import sys

import mindspore
import ml_dtypes
import numpy as np
import pytest
from mindspore import Tensor, nn

import ge_core
import tests.frontends.mindspore.agreement  # noqa: F401 - sets MindSpore up
from ge_core.errors import InputError, ModelImportError, OptionError
from ge_core.plugins import host

X = Tensor(np.ones((2, 3), np.float32))


def test_knowing_of_the_frontend_does_not_import_mindspore():
    code = (
        "import sys; from ge_core.plugins import host; plugin = host().frontend('mindspore');"
        "print(plugin.tensor_to_numpy(3), 'mindspore' in sys.modules, plugin.cost.milliseconds < 50)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "None False True\n"


def test_cells_and_files_are_recognised(tmp_path):
    assert host().recognise(nn.Dense(2, 3)).name == "mindspore"
    path = tmp_path / "net.mindir"
    path.write_bytes(b"\x0a\x031.1\x12\x09MindSpore")
    assert host().recognise(str(path)).name == "mindspore"


def test_tensors_are_mindspores():
    tensor = Tensor(np.ones(2, np.float32)).astype(mindspore.bfloat16)
    owner = host().tensor_owner(tensor)
    assert owner is not None and owner.name == "mindspore"
    array = host().tensor_to_numpy(tensor)
    assert array.dtype == ml_dtypes.bfloat16
    assert owner.tensor_from_numpy(array, tensor).dtype == mindspore.bfloat16
    assert owner.tensor_from_numpy(np.float32(3.0).reshape(()), tensor).shape == ()
    assert host().tensor_owner(np.ones(2)) is None
    with pytest.raises(InputError, match="has no values"):
        host().tensor_to_numpy(Tensor(shape=[None, 3], dtype=mindspore.float32))


def test_a_cell_is_compiled_and_returns_tensors():
    cell = nn.Dense(3, 4)
    compiled = ge_core.compile(cell, [X])
    result = compiled(X)
    assert isinstance(result, Tensor)
    np.testing.assert_allclose(result.asnumpy(), cell(X).asnumpy(), rtol=1e-5, atol=1e-6)


def test_weights_are_those_of_the_cell():
    cell = nn.Dense(3, 4)
    graph = ge_core.import_model(cell, [X])
    cell.weight.set_data(Tensor(np.full((4, 3), 7, np.float32)))
    found = {value.name: value for value in graph.constants}
    assert found["weight"].constant.array()[0, 0] == 7


def test_the_original_runs_for_inference_and_keeps_its_mode():
    cell = nn.SequentialCell(nn.Dense(3, 64), nn.Dropout(p=0.9))
    cell.set_train(True)
    plugin = host().frontend("mindspore")
    first, second = (plugin.run_original(cell, [X], {}) for _ in range(2))
    np.testing.assert_array_equal(first.asnumpy(), second.asnumpy())
    assert cell.training and cell[1].training


def test_a_cell_in_training_mode_is_imported_for_inference():
    cell = nn.SequentialCell(nn.Dense(3, 64), nn.Dropout(p=0.9))
    cell.set_train(True)
    with pytest.warns(UserWarning, match="is in training mode"):
        ge_core.import_model(cell, [X])
    assert cell.training


def test_what_is_wrong_with_the_call_is_said():
    cell = nn.Dense(3, 4)
    with pytest.raises(InputError, match="do not fit Dense.construct"):
        ge_core.import_model(cell, [X, X])
    with pytest.raises(InputError, match="dynamic_shapes names 'nothing'"):
        ge_core.import_model(cell, [X], dynamic_shapes={"nothing": {0: "n"}})
    with pytest.raises(ModelImportError, match="mindspore.export cannot compile Dense"):
        ge_core.import_model(cell, [Tensor(np.ones((2, 5), np.float32))])
    from ge_frontend_mindspore.importer import import_model

    with pytest.raises(OptionError, match="knows no option 'level'"):
        import_model(cell, [X], options={"level": 3})
    with pytest.raises(ModelImportError, match="is no MindSpore cell"):
        import_model(3)


class Unsupported(nn.Cell):
    def __init__(self):
        super().__init__()
        self.r = mindspore.ops.StandardNormal()
        self.s = mindspore.ops.UniformReal()

    def construct(self, x):
        return self.r((2, 3)) + x + self.r((2, 3)) + self.s((2, 3))


def test_all_that_is_not_supported_is_named_at_once():
    from ge_core.errors import UnsupportedError

    with pytest.raises(UnsupportedError) as error:
        ge_core.import_model(Unsupported(), [X])
    assert error.value.details == ("StandardNormal ×2: in the model", "UniformReal ×1: in the model")
