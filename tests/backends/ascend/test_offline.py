"""Files that ATC wrote: opened with their inputs and outputs, kept byte by byte, run by the device alone."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from ge_ascend.executable import AclModel
from ge_ascend.offline import target_of

import ge_core
from ge_core.errors import BackendError, InputError, OfflineModelError
from ge_core.om import InOutInfo, PartitionType, TensorInfo, message_class, serialize, write_container
from ge_core.om.attributes import encode_map

FLOAT, HALF = 0, 1


def written(folder: Path, soc: str | None = "Ascend310P3", rows: int = 2) -> Path:
    """What ATC's files hold that matters here: the chip, and the description of inputs and outputs."""
    model = message_class("ModelDef")(name="net")
    encode_map(model.attr, {} if soc is None else {"soc_version": soc})
    ranges = ((1, 8), (4, 4)) if rows < 0 else ()
    inputs = (TensorInfo("x", 64, HALF, (rows, 4), ranges),)
    outputs = (TensorInfo("y", 64, FLOAT, (rows, 4), ranges),)
    path = folder / "device.om"
    parts = {
        PartitionType.MODEL_INOUT_INFO: InOutInfo(inputs, outputs).pack(),
        PartitionType.MODEL_DEF: serialize(model),
        PartitionType.TASK_INFO: b"tasks",
    }
    write_container(path, parts)
    return path


def test_it_tells_its_inputs_and_what_is_missing(tmp_path: Path) -> None:
    model = ge_core.load(written(tmp_path))
    assert model.target == "ascend310p"
    assert [(i.name, i.shape, str(i.dtype)) for i in model.inputs] == [("x", (2, 4), "float16")]
    assert [(o.name, o.shape, str(o.dtype)) for o in model.outputs] == [("y", (2, 4), "float32")]
    with pytest.raises(BackendError, match=r"device.om runs on ascend310p alone: .*acl is not installed"):
        model(np.zeros((2, 4), np.float16))


def test_sizes_that_the_call_decides(tmp_path: Path) -> None:
    model = ge_core.load(written(tmp_path, rows=-1))
    (size, width) = model.inputs[0].shape
    assert str(size) == "x_0" and width == 4
    assert model.outputs[0].shape[1] == 4 and not isinstance(model.outputs[0].shape[0], int)


def test_its_bytes_are_kept(tmp_path: Path) -> None:
    path = written(tmp_path)
    again = tmp_path / "again.om"
    ge_core.load(path).save(again)
    assert again.read_bytes() == path.read_bytes()
    with pytest.raises(BackendError, match="opened from an offline model of ATC"):
        ge_core.load(path).save(tmp_path / "again.air")


@pytest.mark.parametrize("target", ["cpu", "reference", "ascend910b"])
def test_no_other_target_takes_it(tmp_path: Path, target: str) -> None:
    with pytest.raises(OfflineModelError, match="compiled by ATC for Ascend310P3"):
        ge_core.load(written(tmp_path), target=target)


def test_a_file_without_its_chip_needs_a_target(tmp_path: Path) -> None:
    path = written(tmp_path, soc=None)
    with pytest.raises(OfflineModelError, match="no graph of ge"):
        ge_core.load(path)
    assert ge_core.load(path, target="ascend910b").target == "ascend910b"


def test_the_device_runs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []

    class Loaded:
        def __init__(self, path: Path) -> None:
            seen.append(path.name)

        def run(self, inputs: list[np.ndarray], results: list[object]) -> list[np.ndarray]:
            seen.append(results)
            return [inputs[0].astype(np.float32) * 2]

    monkeypatch.setattr("ge_ascend.executable.AclModel", Loaded)
    monkeypatch.setattr("ge_ascend.executable.device_problem", lambda: "")
    model = ge_core.load(written(tmp_path))
    for _ in range(2):
        assert np.array_equal(model(np.ones((2, 4), np.float16)), np.full((2, 4), 2, np.float32))
    assert seen[0] == "device.om" and seen.count("device.om") == 1 and str(seen[1]).count("(2, 4)") == 1


@pytest.mark.parametrize(("batches", "listed"), [([2, 4], []), ([], [[2, 4], [4, 4]])])
def test_the_device_tells_the_gears_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batches: list[int], listed: list[list[int]]
) -> None:
    mdl = SimpleNamespace(
        get_input_index_by_name=lambda desc, name: (1, 0), get_dynamic_batch=lambda desc: ({"batch": batches}, 0),
        get_input_dynamic_gear_count=lambda desc, index: (len(listed), 0),
        get_input_dynamic_dims=lambda desc, index, count: ([{"dims": gear} for gear in listed], 0),
    )  # fmt: skip
    seen: list[object] = []

    class Loaded(AclModel):
        def __init__(self, path: Path) -> None:
            self.acl, self.desc = SimpleNamespace(mdl=mdl), None

        def run(self, inputs: list[np.ndarray], results: object, gear: object, is_open: bool) -> list[np.ndarray]:  # type: ignore[override]
            seen.append((gear, is_open))
            return [inputs[0].astype(np.float32)]

    monkeypatch.setattr("ge_ascend.executable.AclModel", Loaded)
    monkeypatch.setattr("ge_ascend.executable.device_problem", lambda: "")
    model = ge_core.load(written(tmp_path, rows=-1))
    model(np.ones((4, 4), np.float16))
    assert seen == [(4 if batches else [4, 4], False)]
    with pytest.raises(InputError, match="no gear of this model"):
        model(np.ones((3, 4), np.float16))
    mdl.get_input_index_by_name = lambda desc, name: (0, 500001)
    model(np.ones((3, 4), np.float16))
    assert seen[1:] == [(None, True)]


def test_the_device_tells_sizes_that_were_not_known() -> None:
    model = AclModel.__new__(AclModel)
    model.acl = SimpleNamespace(mdl=SimpleNamespace(get_cur_output_dims=lambda desc, index: ({"dims": [3, 4]}, 0)))
    model.desc = None
    assert model._told(0) == (3, 4)


def test_chips_as_atc_names_them() -> None:
    names = {
        "Ascend310P1": "ascend310p", "Ascend910B4": "ascend910b", "Ascend910B2C": "ascend910b",
        "Ascend910_9362": "ascend910_93", "Ascend910A": "ascend910a", "Ascend910PremiumA": "ascend910a",
        "Ascend910B": "ascend910a", "Ascend310B1": None, "": None,
    }  # fmt: skip
    assert {name: target_of(name) for name in names} == names
