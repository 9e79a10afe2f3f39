"""External data: mapped from inside the model's folder, refused from everywhere else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from ge_core.errors import ModelImportError, OptionError
from ge_core.ir.graph import Graph
from ge_frontend_onnx.importer import import_model
from tests.frontends.onnx.agreement import run


def _save(folder: Path, dtype: int = TensorProto.FLOAT, shape: tuple[int, ...] = (2, 3), **entries: Any) -> Path:
    """A model `y = Identity(w)` whose tensor lies where `entries` say."""
    tensor = TensorProto(name="w", data_type=dtype, dims=shape, data_location=TensorProto.EXTERNAL)
    for key, value in {"location": "w.bin", **entries}.items():
        if value is not None:
            tensor.external_data.add(key=key, value=str(value))
    out = helper.make_tensor_value_info("y", dtype, shape)
    graph = helper.make_graph([helper.make_node("Identity", ["w"], ["y"])], "g", [], [out], [tensor])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    path = folder / "net.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def _weights(graph: Graph) -> np.ndarray:
    (value,) = graph.constants
    assert value.constant is not None
    return value.constant.array()


_DATA = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "model"
    (inside / "sub").mkdir(parents=True)
    for place in (inside, inside / "sub", tmp_path):
        (place / "w.bin").write_bytes(b"\0" * 64 + _DATA.tobytes())
    return inside


@pytest.mark.parametrize(
    "entries",
    [{"offset": 64}, {"offset": 64, "length": 24}, {"offset": 64, "location": "sub/w.bin"},
     {"offset": 64, "location": "./w.bin"}, {"offset": 64, "checksum": "unread"}],
)  # fmt: skip
def test_data_beside_the_model(folder: Path, entries: dict[str, Any]) -> None:
    array = _weights(import_model(str(_save(folder, **entries))).graph)
    np.testing.assert_array_equal(array, _DATA)
    assert not array.flags.owndata and not array.flags.writeable


def test_an_odd_offset_and_less_than_a_byte_each(folder: Path) -> None:
    np.testing.assert_array_equal(_weights(import_model(_save(folder, shape=(5,), offset=65)).graph)[:2] * 0, [0, 0])
    (folder / "w.bin").write_bytes(bytes([0x21, 0x43, 0x05]))
    array = _weights(import_model(_save(folder, TensorProto.INT4, (5,))).graph)
    assert array.dtype == ml_dtypes.int4 and array.astype(int).tolist() == [1, 2, 3, 4, 5]


def test_what_onnx_saves(tmp_path: Path) -> None:
    model = onnx.load(_save(tmp_path), load_external_data=False)
    tensor = model.graph.initializer[0]
    tensor.CopyFrom(onnx.numpy_helper.from_array(_DATA, "w"))
    onnx.save(model, tmp_path / "net.onnx", save_as_external_data=True, size_threshold=0, location="all.bin")
    np.testing.assert_array_equal(run(str(tmp_path / "net.onnx"), {})[0], _DATA)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"location": "../w.bin", "offset": 64}, "relative path inside"),
        ({"location": "sub/../../w.bin", "offset": 64}, "relative path inside"),
        ({"location": "..\\w.bin", "offset": 64}, "relative path inside"),
        ({"location": "C:\\w.bin", "offset": 64}, "relative path inside"),
        ({"location": "/etc/passwd"}, "relative path inside"),
        ({"location": ""}, "relative path inside"),
        ({"location": None}, "relative path inside"),
        ({"location": "w\0.bin"}, "relative path inside"),
        ({"location": "nothing.bin"}, "cannot be read"),
        ({"location": "sub"}, "no regular file|cannot be read"),
        ({"location": "pipe"}, "no regular file"),
        ({"location": "link_out", "offset": 64}, "leads out of the model's folder"),
        ({"location": "folder_out/w.bin", "offset": 64}, "leads out of the model's folder"),
        ({"offset": 80}, "ends at byte 104"),
        ({"offset": 1 << 40}, "ends at byte"),
        ({"offset": "9" * 30}, "has the offset"),
        ({"offset": -4}, "has the offset '-4'"),
        ({"offset": "0x40"}, "has the offset '0x40'"),
        ({"offset": "٣"}, "has the offset"),
        ({"length": 20}, "has 20 bytes"),
        ({"length": "all"}, "has the length 'all'"),
    ],
)
def test_what_is_refused(folder: Path, entries: dict[str, Any], message: str) -> None:
    os.mkfifo(folder / "pipe")
    (folder / "link_out").symlink_to(folder.parent / "w.bin")
    (folder / "folder_out").symlink_to(folder.parent)
    with pytest.raises(ModelImportError, match=message):
        import_model(str(_save(folder, **entries)))


def test_links_inside_the_folder_are_followed(folder: Path) -> None:
    (folder / "link").symlink_to(folder / "sub" / "w.bin")
    np.testing.assert_array_equal(_weights(import_model(str(_save(folder, location="link", offset=64))).graph), _DATA)


def test_the_caller_may_trust_a_wider_folder(folder: Path) -> None:
    (folder / "link_out").symlink_to(folder.parent / "w.bin")
    path = _save(folder, location="link_out", offset=64)
    options = {"external_data_root": folder.parent}
    np.testing.assert_array_equal(_weights(import_model(path, options=options).graph), _DATA)
    live = onnx.load(_save(folder, offset=64), load_external_data=False)
    with pytest.raises(ModelImportError, match="without a folder"):
        import_model(live)
    np.testing.assert_array_equal(_weights(import_model(live, options={"external_data_root": folder}).graph), _DATA)
    with pytest.raises(OptionError, match="external_data_root"):
        import_model(live, options={"external_root": folder})
    with pytest.raises(OptionError, match="the path of a folder"):
        import_model(live, options={"external_data_root": 3})


def test_what_is_read_late_is_what_was_imported(folder: Path) -> None:
    path = _save(folder, offset=64)
    graph = import_model(path).graph
    (constant,) = (v.constant for v in graph.constants if v.constant is not None)
    assert constant.residence == "file"
    again = next(v.constant for v in import_model(path).graph.constants)
    assert again is not None and constant.key() == again.key()
    data = (folder / "w.bin").read_bytes()
    (folder / "new.bin").write_bytes(data[::-1])
    (folder / "new.bin").replace(folder / "w.bin")  # another file: the mapped one is as it was
    np.testing.assert_array_equal(constant.array(), _DATA)
    (folder / "w.bin").unlink()
    np.testing.assert_array_equal(constant.array(), _DATA)


@pytest.mark.parametrize("cut", [False, True])
def test_a_file_that_was_written_to_since_is_refused(folder: Path, cut: bool) -> None:
    path = _save(folder, offset=64)
    graph = import_model(path).graph
    with (folder / "w.bin").open("r+b") as file:
        file.truncate(70) if cut else file.write(b"x")
    os.utime(folder / "w.bin", ns=(1, 1))
    with pytest.raises(ModelImportError, match=r"changed after the model was imported"):
        _weights(graph)


def test_more_than_two_gibibytes_are_only_mapped(tmp_path: Path) -> None:
    """The file is sparse: reading it all would take seconds, and memory that is not there."""
    size = 3 << 30
    with (tmp_path / "w.bin").open("wb") as f:
        f.truncate(size)
        f.seek(size - 4)
        f.write(np.float32(7).tobytes())
    graph = import_model(str(_save(tmp_path, shape=(size // 4,)))).graph
    assert _weights(graph)[-1] == 7
