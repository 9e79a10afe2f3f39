"""Recognising a model imports no framework; no claim and two claims are errors that say what to do."""

from __future__ import annotations

import sys
import zipfile

import pytest

import ge_core
from ge_core.errors import ModelImportError, PluginError
from ge_core.ir import Builder, Graph
from ge_core.plugins import Evidence, installed_catalogue
from ge_core.plugins.evidence import gather


def model_of(module: str, name: str = "Net", bases: tuple[type, ...] = (object,)) -> object:
    """An object whose class says that it was defined in `module`."""
    return type(name, bases, {"__module__": module})()


def test_the_only_claim_wins(site):
    site.add("one")
    site.add("two")
    assert site.host().recognise(model_of("two.nn")).name == "two"


def test_a_claim_may_rest_on_a_base_class(site):
    site.add("one")
    base = type(model_of("one.nn", "Module"))
    assert site.host().recognise(model_of("somebody.models", "Mine", (base,))).name == "one"


def test_two_claims_are_an_error_that_names_both(site):
    site.add("one")
    site.add("two")
    both = model_of("two.nn", "Both", (type(model_of("one.nn")),))
    with pytest.raises(ModelImportError, match="'one' and 'two' both claim this model") as caught:
        site.host().recognise(both)
    assert "framework='one'" in caught.value.fix
    assert site.host().recognise(both, framework="two").name == "two"


def test_no_claim_lists_who_was_asked_and_who_could_not_be(site):
    site.add("one")
    site.add("bad", "1 / 0")
    site.add("off")
    with pytest.raises(ModelImportError) as caught:
        site.host(disabled=frozenset({"off"})).recognise(model_of("paddle.nn.layer.layers", "Layer"))
    text = str(caught.value)
    assert "one (ge-frontend-one 1.0): does not claim it" in text
    assert "bad (ge-frontend-bad 1.0): broken, import failed: ZeroDivisionError" in text
    assert "off (ge-frontend-off 1.0): disabled, named in GE_DISABLE_PLUGINS" in text
    assert caught.value.fix == "pip install ge-frontend-paddle"
    assert "an object of type paddle.nn.layer.layers.Layer" in text


def test_a_broken_claimant_of_the_catalogue_gives_its_own_fix(site):
    site.add("paddle", "import no_such_module_of_ours")
    with pytest.raises(ModelImportError) as caught:
        site.host().recognise(model_of("paddle.nn.layer.layers", "Layer"))
    assert caught.value.fix == "pip install -U ge-frontend-paddle (brings what provides 'no_such_module_of_ours')"


def test_nobodys_model_gets_the_list_of_frameworks(site):
    with pytest.raises(ModelImportError, match="no frontend is installed") as caught:
        site.host().recognise(object())
    assert "torch, tensorflow, mindspore, paddle, onnx" in str(caught.value)


def test_a_path_that_does_not_exist_is_said_first(site, tmp_path):
    with pytest.raises(ModelImportError, match="no such file or folder"):
        site.host().recognise(str(tmp_path / "absent.onnx"))


def test_an_offline_model_is_to_be_loaded(site, tmp_path):
    site.add("one")
    path = tmp_path / "net.om"
    graph = Graph("net")
    b = Builder(graph)
    b.outputs(b.Neg(b.input("x", "float32", (2,))))
    ge_core.compile(graph, target="reference").save(path)
    with pytest.raises(ModelImportError, match="is an offline model, which is compiled already") as caught:
        site.host().recognise(path)
    assert str(path) in str(caught.value) and "ge_core.load(path)" in str(caught.value.fix)
    path.write_bytes(b"IMO")
    with pytest.raises(ModelImportError, match="no installed frontend recognises"):
        site.host().recognise(path)


def test_a_file_is_claimed_by_its_path(site, tmp_path):
    site.add("one")
    path = tmp_path / "net.one"
    path.write_bytes(b"x")
    assert site.host().recognise(path).name == "one"


def test_a_claim_that_fails_later_takes_that_plugin_out_alone(site):
    site.add("good")
    site.add(
        "moody",
        """
from ge_core.plugins import PluginInfo, hookimpl
GE_PLUGIN_API = 1

@hookimpl
def ge_plugin_info():
    return PluginInfo(name={name!r}, kind="frontend", api=1)

@hookimpl
def ge_claims_model(type_names):
    if type_names != ("builtins.object",):
        raise RuntimeError("not today")
    return False

@hookimpl
def ge_import_model(model):
    return None
""",
    )
    host = site.host()
    assert host.recognise(model_of("good.nn")).name == "good"
    moody = next(row for row in host.statuses() if row.name == "moody")
    assert moody.state == "broken" and "RuntimeError: not today" in moody.reason
    with pytest.raises(PluginError, match="RuntimeError: not today"):
        host.frontend("moody")


@pytest.mark.parametrize(
    ("names", "frontend"),
    [
        (("torch.nn.modules.module.Module",), "torch"),
        (("torch.export.exported_program.ExportedProgram",), "torch"),
        (("keras.src.models.functional.Functional",), "tensorflow"),
        (("tensorflow.python.eager.polymorphic_function.polymorphic_function.Function",), "tensorflow"),
        (("mindspore.nn.cell.Cell",), "mindspore"),
        (("paddle.nn.layer.layers.Layer",), "paddle"),
        (("onnx.onnx_ml_pb2.ModelProto",), "onnx"),
        (("builtins.dict", "builtins.object"), None),
    ],
)
def test_the_catalogue_knows_the_frameworks_classes(names, frontend):
    claimants = [entry.name for entry in installed_catalogue().claimants(Evidence(type_names=names))]
    assert claimants == ([frontend] if frontend else [])


FILES = {
    "net.pt2": (b"PK\x03\x04", "torch"),
    "net.PT": (b"PK\x03\x04", "torch"),
    "frozen.pb": (b"\x0a\x05", "tensorflow"),
    "net.tflite": (b"\x1c\x00\x00\x00TFL3", "tensorflow"),
    "unnamed_tflite": (b"\x1c\x00\x00\x00TFL3", "tensorflow"),
    "net.keras": (b"PK\x03\x04", "tensorflow"),
    "net.mindir": (b"\x0a\x031.1", "mindspore"),
    "net.pdmodel": (b"\x0a", "paddle"),
    "net.json": (b'{"base_code":{"magic":"pir"', "paddle"),
    "config.json": (b'{"layers": 3}', None),
    "net.onnx": (b"\x08\x08", "onnx"),
    "unnamed_onnx": (b"\x08\x0a\x12\x07pytorch", "onnx"),
    "model.pb": (b"\x08\x0a\x12\x07pytorch", "onnx"),
    "notes.txt": (b"hello", None),
    "empty": (b"", None),
}


@pytest.mark.parametrize("name", FILES)
def test_the_catalogue_knows_files(tmp_path, name):
    head, frontend = FILES[name]
    path = tmp_path / name
    path.write_bytes(head)
    claimants = [entry.name for entry in installed_catalogue().claimants(gather(str(path)))]
    assert claimants == ([frontend] if frontend else [])


def test_the_catalogue_knows_folders_and_zip_members(tmp_path):
    saved = tmp_path / "saved"
    saved.mkdir()
    (saved / "saved_model.pb").write_bytes(b"\x08\x01\x12")
    (tmp_path / "empty").mkdir()
    with zipfile.ZipFile(tmp_path / "unnamed", "w") as archive:
        archive.writestr("net/archive_format", "pt2")
    (tmp_path / "damaged").write_bytes(b"PK\x03\x04 and no more")
    known = {
        name: [entry.name for entry in installed_catalogue().claimants(gather(tmp_path / name))]
        for name in ("saved", "empty", "unnamed", "damaged")
    }
    assert known == {"saved": ["tensorflow"], "empty": [], "unnamed": ["torch"], "damaged": []}


def test_recognition_imports_no_framework(site):
    before = set(sys.modules)
    site.add("one")
    site.host().recognise(model_of("one.nn"))
    new = set(sys.modules) - before
    assert not new & {"torch", "tensorflow", "mindspore", "paddle", "onnx"}
