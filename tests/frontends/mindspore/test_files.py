"""MindIR files: with weights inside and beside them, read in a process that has no mindspore."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path

import mindspore
import numpy as np
import pytest
from mindspore import Tensor, nn

import ge_core
from ge_core.errors import InputError, ModelImportError, UnsupportedError
from ge_core.reference.interpret import interpret
from ge_frontend_mindspore.messages import message_class
from tests.frontends.mindspore.agreement import relative_error


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(3, 8, 3, has_bias=True)
        self.b = nn.BatchNorm2d(8)
        self.d = nn.Dense(8 * 36, 5)

    def construct(self, x):
        y = mindspore.ops.relu(self.b(self.c(x)))
        if y.sum() > 0:
            y = y * 2
        return self.d(y.reshape(2, -1)), y


X = np.random.default_rng(0).standard_normal((2, 3, 6, 6)).astype(np.float32)


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A file, and what MindSpore gives for it."""
    cell = Net()
    cell.set_train(False)
    path = tmp_path_factory.mktemp("model") / "net"
    mindspore.export(cell, Tensor(X), file_name=str(path), file_format="MINDIR")
    return path.with_suffix(".mindir"), [r.asnumpy() for r in cell(Tensor(X))]


def _check(path: Path, expected: list[np.ndarray]) -> None:
    graph = ge_core.import_model(str(path))
    outputs, _ = interpret(graph, [X])
    assert [v.name for v in graph.inputs] == ["x"]
    for ours, theirs in zip(outputs, expected, strict=True):
        assert relative_error(ours, theirs) < 1e-5


def test_a_file_agrees_with_mindspore(exported):
    _check(*exported)


def test_files_are_read_without_mindspore(exported, tmp_path):
    path, expected = exported
    np.savez(tmp_path / "call.npz", x=X, y0=expected[0], y1=expected[1])
    code = f"""
import sys
class Refuse:
    def find_spec(self, name, *rest):
        if name.split('.')[0] == 'mindspore': raise ImportError('no mindspore here')
sys.meta_path.insert(0, Refuse())
import numpy as np, ge_core
call = np.load({str(tmp_path / "call.npz")!r})
y0, y1 = ge_core.compile({str(path)!r})(call["x"])
print(np.allclose(y0, call["y0"], atol=1e-4), np.allclose(y1, call["y1"], atol=1e-4), "mindspore" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "True True False\n", done.stderr


def split(path: Path, folder: Path) -> Path:
    """The same model with its weights beside it, as MindSpore writes it above 1 GiB."""
    model = message_class("Model")()
    model.ParseFromString(path.read_bytes())
    (folder / "net_variables").mkdir()
    data = bytearray(64)
    for parameter in model.graph.parameter:
        raw = bytes(parameter.raw_data)
        parameter.external_data.location = "net_variables/data_0"
        parameter.external_data.offset, parameter.external_data.length = len(data), len(raw)
        data += raw + bytes(-len(raw) % 64)
        parameter.ClearField("raw_data")
    (folder / "net_variables" / "data_0").write_bytes(data)
    target = folder / "net_graph.mindir"
    target.write_bytes(model.SerializeToString())
    return target


def test_weights_beside_the_file(exported, tmp_path):
    _check(split(exported[0], tmp_path), exported[1])


def test_weights_are_mapped_and_not_read(tmp_path):
    tensor = message_class("Tensor")(name="g:w", data_type=1, dims=[300_000_000])
    tensor.external_data.location, tensor.external_data.offset, tensor.external_data.length = (
        "data_0",
        64,
        1_200_000_000,
    )
    model = message_class("Model")(ir_version="1.1", producer_name="MindSpore", little_endian=True)
    model.graph.name = "g"
    model.graph.parameter.append(tensor)
    model.graph.output.add(name="g:w")
    path = tmp_path / "big_graph.mindir"
    path.write_bytes(model.SerializeToString())
    with open(tmp_path / "data_0", "wb") as file:
        file.truncate(64 + 1_200_000_000)  # takes no room
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    graph = ge_core.import_model(str(path))
    array = next(iter(graph.constants)).constant.array()
    assert time.process_time() - started < 1
    assert array.shape == (300_000_000,) and not array.flags.owndata
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10  # KiB


def test_dynamic_sizes_of_a_file(tmp_path):
    x = Tensor(shape=[None, 3, None], dtype=mindspore.float32)
    mindspore.export(nn.ReLU(), x, file_name=str(tmp_path / "net"), file_format="MINDIR")
    path = str(tmp_path / "net.mindir")
    graph = ge_core.import_model(path, dynamic_shapes={"input": {0: "batch", 2: 7}})
    assert [str(d) for d in graph.inputs[0].shape] == ["batch", "3", "7"]
    assert len(ge_core.import_model(path).inputs[0].shape) == 3
    graph = ge_core.import_model(path, [ge_core.InputSpec(("n", 3, "n"))])
    assert [str(d) for d in graph.inputs[0].shape] == ["n", "3", "n"]
    with pytest.raises(InputError, match="the model fixes it at 3"):
        ge_core.import_model(path, dynamic_shapes={"input": {1: "channels"}})
    with pytest.raises(InputError, match="dynamic_shapes names 'y'"):
        ge_core.import_model(path, dynamic_shapes={"y": {1: "channels"}})
    with pytest.raises(InputError, match="the example of 'input' has the shape"):
        ge_core.import_model(path, [np.ones((2, 4, 3), np.float32)])


def test_encrypted_files_are_refused_by_name(tmp_path):
    mindspore.export(nn.ReLU(), Tensor(X), file_name=str(tmp_path / "net"), file_format="MINDIR",
                     enc_key=b"0123456789ABCDEF", enc_mode="AES-GCM")  # fmt: skip
    with pytest.raises(UnsupportedError, match="net.mindir is encrypted"):
        ge_core.import_model(str(tmp_path / "net.mindir"))


def _changed(path: Path, folder: Path, change) -> str:
    model = message_class("Model")()
    model.ParseFromString(path.read_bytes())
    change(model)
    target = folder / "changed.mindir"
    target.write_bytes(model.SerializeToString())
    return str(target)


def _obfuscate(model):
    model.user_info.add(key="obf_ratio", value="0.3")


def _newer(model):
    model.mind_ir_version = 9


def _stranger(model):
    model.producer_name = "somebody"


def _big_endian(model):
    model.little_endian = False


def _compress(model):
    model.graph.parameter[0].compression_type = 3


@pytest.mark.parametrize(
    ("change", "says"),
    [(_obfuscate, "is obfuscated"), (_newer, "has the MindIR version 9"), (_stranger, "was made by 'somebody'"),
     (_big_endian, "the other byte order"), (_compress, "is compressed or quantised")],
)  # fmt: skip
def test_files_of_other_kinds_are_refused_by_name(exported, tmp_path, change, says):
    with pytest.raises(ModelImportError, match=says):
        ge_core.import_model(_changed(exported[0], tmp_path, change))


@pytest.mark.parametrize("location", ["../data_0", "/etc/passwd", "a/../../b", "", "C:\\x", "missing"])
def test_weights_never_lie_outside_of_the_folder(exported, tmp_path, location):
    def change(model):
        parameter = model.graph.parameter[0]
        parameter.ClearField("raw_data")
        parameter.external_data.location, parameter.external_data.length = location, 4

    with pytest.raises(ModelImportError):
        ge_core.import_model(_changed(exported[0], tmp_path, change))


def test_a_link_out_of_the_folder_is_refused(exported, tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    target = split(exported[0], inner)
    data = inner / "net_variables" / "data_0"
    outside = tmp_path / "data"
    data.rename(outside)
    data.symlink_to(outside)
    with pytest.raises(ModelImportError, match="a link leads out of the model's folder"):
        ge_core.import_model(str(target))


def test_what_is_no_file(tmp_path):
    (tmp_path / "empty.mindir").touch()
    (tmp_path / "text.mindir").write_text("a text, no model")
    for name, says in (("empty", "is empty"), ("text", "does not begin as a MindIR file"), ("none", "cannot be read")):
        with pytest.raises(ModelImportError, match=says):
            ge_core.import_model(str(tmp_path / f"{name}.mindir"), framework="mindspore")
