"""Saving for the device: the AIR road, the ONNX road, gears, failures, and no ATC at all."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from ge_ascend.air import read_air
from ge_ascend.check import check_file

import ge_core
from ge_core.errors import BackendError, OptionError
from ge_core.ir import Builder, Graph, Location, symbol

SCRIPT = Path(__file__).with_name("stand_in_atc.py")


def net() -> Graph:
    graph = Graph("net")
    b = Builder(graph)
    x = b.input("x", "float32", (symbol("batch", 1, 32), 8))
    with b.at(Location("torch", "head", "model.py", 12, "linear")):
        y = b.MatMul(x, b.constant(np.ones((8, 4), np.float32), name="w"))
    b.outputs(b.Tanh(y))
    return graph


@pytest.fixture
def no_atc(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ASCEND_TOOLKIT_HOME", "ASCEND_HOME_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")


def saved(tmp_path: Path, target: str = "ascend310p", **options: object) -> Path:
    path = tmp_path / "net.om"
    ge_core.compile(net(), target=target, options=options).save(path)
    return path


def test_atc_gets_the_air_file_and_its_om_is_kept_as_it_is(tmp_path: Path, atc: Path) -> None:
    path = saved(tmp_path)
    said, _, source = path.read_bytes().split(b"\n", 2)
    assert said == b"IMOD compiled by a stand-in" and source == (tmp_path / "net.air").read_bytes()
    given = json.loads(atc.read_text())
    assert given["--framework"] == "1" and given["--model"] == str(tmp_path / "net.air")
    assert given["--soc_version"] == "Ascend310P3"
    assert given["--precision_mode"] == "must_keep_origin_dtype"
    assert given["--input_shape"] == "x:1~32,8"
    assert sorted(p.name for p in tmp_path.glob("*.om")) == ["net.om"]
    assert not list(tmp_path.glob(".atc*"))


def test_the_onnx_road(tmp_path: Path, atc: Path) -> None:
    saved(tmp_path, "ascend910b", via="onnx", soc_version="Ascend910B1")
    given = json.loads(atc.read_text())
    assert given["--framework"] == "5" and given["--model"] == str(tmp_path / "net.onnx")
    assert given["--soc_version"] == "Ascend910B1"
    import onnx

    (opset,) = onnx.load(str(tmp_path / "net.onnx")).opset_import
    assert 11 <= opset.version <= 18


def test_the_onnx_road_carries_the_types_of_the_precision_mode(tmp_path: Path, atc: Path) -> None:
    saved(tmp_path, via="onnx", precision_mode="force_fp16")
    import onnx

    model = onnx.load(str(tmp_path / "net.onnx"))
    assert {t.data_type for t in model.graph.initializer if len(t.dims) == 2} == {onnx.TensorProto.FLOAT16}


def test_gears_of_a_leading_size_are_batches(tmp_path: Path, atc: Path) -> None:
    saved(tmp_path, gears={"batch": [1, 4, 8]})
    given = json.loads(atc.read_text())
    assert given["--input_shape"] == "x:-1,8" and given["--dynamic_batch_size"] == "1,4,8"


def test_listed_sizes_are_gears(tmp_path: Path, atc: Path) -> None:
    saved(tmp_path, dims={"batch": [8, 1, 4]})
    given = json.loads(atc.read_text())
    assert given["--input_shape"] == "x:-1,8" and given["--dynamic_batch_size"] == "1,4,8"


def test_gears_of_other_sizes_are_listed_for_each(tmp_path: Path, atc: Path) -> None:
    graph = Graph("net")
    b = Builder(graph)
    x = b.input("x", "float32", (symbol("batch", 1), symbol("length", 1), 8))
    b.outputs(b.Relu(x))
    gears = {"batch": [1, 2], "length": [16, 32]}
    ge_core.compile(graph, target="ascend310p", options={"gears": gears}).save(tmp_path / "net.om")
    given = json.loads(atc.read_text())
    assert given["--input_shape"] == "x:-1,-1,8"
    assert given["--dynamic_dims"] == "1,16;1,32;2,16;2,32" and given["--input_format"] == "ND"
    with pytest.raises(OptionError, match="length.*has no listed values"):
        ge_core.compile(graph, target="ascend310p", options={"gears": {"batch": [1, 2]}}).save(tmp_path / "net.om")


def test_images_keep_the_models_own_shapes(tmp_path: Path, atc: Path) -> None:
    graph = Graph("net")
    b = Builder(graph)
    x = b.input("x", "float32", (symbol("batch", 1), 3, 8, 6))
    b.outputs(b.ReduceMean(x, b.ints(2, 3)))
    image = {"dtype": "uint8", "layout": "NHWC", "mean": [1.0, 2.0, 3.0]}
    for via, shape in (("air", "x:-1,3,8,6"), ("onnx", "x:-1,8,6,3")):
        options = {"preprocess": {"x": image}, "gears": {"batch": [1, 2]}, "via": via}
        ge_core.compile(graph, target="ascend310p", options=options).save(tmp_path / "net.om")
        given = json.loads(atc.read_text())
        assert given["--input_shape"] == shape and given["--dynamic_batch_size"] == "1,2"
        assert ("--insert_op_conf" in given) == (via == "air")


def test_a_failure_names_our_node(tmp_path: Path, atc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GE_TEST_ATC_FAIL", "MatMulV2")
    with pytest.raises(BackendError) as caught:
        saved(tmp_path)
    assert "E19014" in caught.value.what
    assert "MatMulV2" in str(caught.value.where) and "model.py:12" in str(caught.value.where)
    assert not (tmp_path / "net.om").exists()


def test_a_wrong_option_is_atcs_own_error(tmp_path: Path, atc: Path) -> None:
    with pytest.raises(BackendError, match="E10001"):
        saved(tmp_path, atc_options=["--no_such=1"])


def test_an_old_om_stays_when_atc_fails(tmp_path: Path, atc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path)
    before = path.read_bytes()
    monkeypatch.setenv("GE_TEST_ATC_FAIL", "Tanh")
    with pytest.raises(BackendError):
        saved(tmp_path)
    assert path.read_bytes() == before


def test_without_atc_the_air_file_stays_and_the_command_is_shown(tmp_path: Path, no_atc: None) -> None:
    with pytest.raises(BackendError) as caught:
        saved(tmp_path)
    assert not (tmp_path / "net.om").exists()
    assert [f for f in check_file(tmp_path / "net.air", "ascend310p") if f.severity == "error"] == []
    assert caught.value.fix and "atc --framework=1 --model=" in caught.value.fix
    assert "ASCEND_TOOLKIT_HOME" in str(caught.value)


def test_other_suffixes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match=r"expected: net.air or net.om"):
        ge_core.compile(net(), target="ascend310p").save(tmp_path / "net.bin")


def test_equal_models_give_equal_files(tmp_path: Path) -> None:
    for name in ("a.air", "b.air"):
        ge_core.compile(net(), target="ascend310p").save(tmp_path / name)
    assert (tmp_path / "a.air").read_bytes() == (tmp_path / "b.air").read_bytes()


def test_calling_without_a_device_says_what_is_missing() -> None:
    compiled = ge_core.compile(net(), target="ascend310p")
    with pytest.raises(BackendError, match="ascend310p cannot run here") as caught:
        compiled(np.ones((2, 8), np.float32))
    assert "ge verify" in str(caught.value.fix)


def test_the_air_file_is_a_model_of_the_frontend_air(tmp_path: Path) -> None:
    path = tmp_path / "net.air"
    ge_core.compile(net(), target="ascend910b").save(path)
    x = np.random.default_rng(0).standard_normal((3, 8)).astype(np.float32)
    again = ge_core.compile(str(path), target="reference")
    assert again.provenance.framework == "air"
    np.testing.assert_allclose(again(x), np.tanh(x @ np.ones((8, 4), np.float32)), rtol=1e-5)
    assert [n.type for n in read_air(path).graphs[0].nodes][-1] == "NetOutput"
    with pytest.raises(OptionError, match="says itself"):
        ge_core.compile(str(path), target="reference", dynamic_shapes={"x": {0: "n"}})


def test_the_command_of_an_arm_host_is_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from ge_ascend.atc import find_atc

    home = tmp_path / "toolkit"
    tool = home / "aarch64-linux" / "bin" / "atc"
    tool.parent.mkdir(parents=True)
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("ASCEND_TOOLKIT_HOME", str(home))
    monkeypatch.setattr(os, "uname", lambda: type("U", (), {"machine": "aarch64"})())
    assert find_atc() == str(tool)


def image_net(channels: int = 3) -> Graph:
    graph = Graph("net")
    b = Builder(graph)
    x = b.input("x", "float32", (1, channels, 8, 6))
    b.outputs(b.Conv(x, b.constant(np.ones((2, channels, 3, 3), np.float32))))
    return graph


def test_images_are_prepared_by_aipp(tmp_path: Path, atc: Path) -> None:
    image = ge_core.Image("uint8", "NHWC", mean=(10.0, 20.0, 30.5), std=(2.0, 4.0, 8.0), swap_channels=True)
    options = {"preprocess": {"x": image}, "precision_mode": "cube_fp16in_fp32out"}
    compiled = ge_core.compile(image_net(), target="ascend310p", options=options)
    assert str(compiled.inputs[0].dtype) == "uint8" and compiled.inputs[0].shape == (1, 8, 6, 3)
    compiled.save(tmp_path / "net.om")
    config = Path(json.loads(atc.read_text())["--insert_op_conf"]).read_text()
    for line in ("input_format: RGB888_U8", "src_image_size_w: 6", "src_image_size_h: 8", "rbuv_swap_switch: true",
                 "min_chn_2: 30.5", "var_reci_chn_2: 0.125", "mean_chn_0: 0"):  # fmt: skip
        assert f"  {line}\n" in config
    data = next(n for n in read_air(tmp_path / "net.air").graphs[0].nodes if n.type == "Data")
    assert data.output_descs[0].shape == (1, 3, 8, 6)
    from ge_ascend.backend import AscendBackend

    raw = np.random.default_rng(0).integers(0, 256, (1, 8, 6, 3), np.uint8)
    (got,) = AscendBackend(("ascend310p",)).emulate(compiled.artifact, [raw])
    want = ge_core.compile(image_net(), target="reference", options={"preprocess": {"x": image}})(raw)
    np.testing.assert_allclose(got, want, rtol=2e-3, atol=1.0)


def test_images_that_aipp_does_not_take_are_prepared_by_operators(tmp_path: Path, atc: Path) -> None:
    image = ge_core.Image("uint8", "NCHW", mean=5.0)
    compiled = ge_core.compile(image_net(4), target="ascend310p", options={"preprocess": {"x": image}})
    assert any("not by AIPP" in notice for notice in compiled.report.notices)
    compiled.save(tmp_path / "net.om")
    assert "--insert_op_conf" not in json.loads(atc.read_text())
    data = next(n for n in read_air(tmp_path / "net.air").graphs[0].nodes if n.type == "Data")
    assert data.output_descs[0].dtype == 4  # uint8
