"""Tables, thresholds, trees and n-grams: ai.onnx.ml and TfIdfVectorizer on numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, numpy_helper

from ge_core.errors import ModelImportError, UnsupportedError
from ge_frontend_onnx.importer import import_model
from tests.frontends.onnx.agreement import check, one_node, run, run_ort

_ML = "ai.onnx.ml"
_random = np.random.default_rng(0)


def _model(op: str, inputs: list[Any], attrs: dict[str, Any], version: int, **form: Any) -> ModelProto:
    model = one_node(op, inputs, attrs, domain=_ML, **form)
    model.opset_import[1].version = version
    return model


def _tensor(array: np.ndarray) -> Any:
    return numpy_helper.from_array(array, "t")


_WORDS = np.array([[3, -7, 5], [9, 3, 0]], np.int64)


@pytest.mark.parametrize(
    ("x", "attrs", "version"),
    [
        (_WORDS, {"keys_int64s": [3, 9, 5], "values_int64s": [30, 90, 50]}, 2),
        (_WORDS, {"keys_int64s": [3, 9], "values_floats": [0.5, 1.5], "default_float": -1.0}, 2),
        (_WORDS.astype(np.float32), {"keys_floats": [3.0, np.nan], "values_int64s": [1, 2], "default_int64": 0}, 2),
        (_WORDS, {"keys_int64s": [3, 3], "values_int64s": [1, 2]}, 2),
        (_WORDS, {"keys_tensor": _tensor(np.int64([9, 0])), "values_tensor": _tensor(np.float64([1.5, 2.5])),
                  "default_tensor": _tensor(np.float64([7]))}, 4),
        (_WORDS.astype(np.float64), {"keys_tensor": _tensor(np.float64([9, 0])), "values_int64s": [1, 2]}, 4),
    ],
)  # fmt: skip
def test_label_encoder(x: np.ndarray, attrs: dict[str, Any], version: int) -> None:
    model = _model("LabelEncoder", [x], attrs, version)
    (got,), (want,) = run(model, {"i0": x}), run_ort(model, {"i0": x})
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


def test_the_last_of_equal_keys_counts_from_version_4_on() -> None:
    """As the operator's text says; ONNX Runtime takes the first."""
    attrs = {"keys_int64s": [3, 9, 3], "values_int64s": [1, 5, 2]}
    assert run(_model("LabelEncoder", [_WORDS], attrs, 4), {"i0": _WORDS})[0].tolist() == [[2, -1, -1], [5, 2, -1]]


@pytest.mark.parametrize("version", [2, 4])
def test_nan_is_a_key(version: int) -> None:
    """As the operator's text says; ONNX Runtime gives the default."""
    x = np.float32([1, np.nan, 2])
    attrs = {"keys_floats": [2.0, np.nan], "values_floats": [1.0, 2.0], "default_float": 9.0}
    assert run(_model("LabelEncoder", [x], attrs, version), {"i0": x})[0].tolist() == [9, 2, 1]


@pytest.mark.parametrize(
    ("attrs", "version", "error", "message"),
    [
        ({"classes_strings": ["a"]}, 1, UnsupportedError, "a table of strings"),
        ({"keys_int64s": [1], "values_strings": ["a"]}, 2, UnsupportedError, "a table of strings"),
        ({"keys_int64s": [1, 2], "values_int64s": [1]}, 2, ModelImportError, "2 keys and 1 values"),
        ({"keys_floats": [1.0], "values_int64s": [1]}, 2, ModelImportError, "keys of type float32"),
        ({"values_int64s": [1]}, 4, ModelImportError, "keys_tensor is missing"),
    ],
)
def test_label_encoders_that_are_refused(attrs: dict[str, Any], version: int, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        import_model(_model("LabelEncoder", [_WORDS], attrs, version))


def test_columns_and_thresholds() -> None:
    x = _random.standard_normal((3, 4)).astype(np.float32)
    for indices in (np.int64([[3, 0]]), np.int64([1])):
        check("ArrayFeatureExtractor", [x, indices], domain=_ML)
    check("ArrayFeatureExtractor", [x[0], np.int64([2, 2])], domain=_ML)
    check("Binarizer", [x], {"threshold": 0.25}, domain=_ML)


def _trees(seed: int, count: int, depth: int, modes: list[int], **more: Any) -> dict[str, Any]:
    """A forest of complete trees over four features, with three targets."""
    random = np.random.default_rng(seed)
    per_tree, leaves = 2**depth - 1, 2**depth
    rows: dict[str, list[Any]] = {key: [] for key in ("true", "false", "trueleaf", "falseleaf")}
    for tree in range(count):
        for node in range(per_tree):
            for side, child in (("false", 2 * node + 1), ("true", 2 * node + 2)):
                leaf = child >= per_tree
                rows[side].append(tree * leaves + child - per_tree if leaf else tree * per_tree + child)
                rows[f"{side}leaf"].append(int(leaf))
    total = count * per_tree
    return {
        "nodes_featureids": random.integers(0, 4, total).tolist(),
        "nodes_splits": _tensor(random.integers(-1, 2, total).astype(np.float32)),
        "nodes_modes": _tensor(random.choice(modes, total).astype(np.uint8)),
        "nodes_truenodeids": rows["true"], "nodes_falsenodeids": rows["false"],
        "nodes_trueleafs": rows["trueleaf"], "nodes_falseleafs": rows["falseleaf"],
        "leaf_targetids": random.integers(0, 3, count * leaves).tolist(),
        "leaf_weights": _tensor(random.standard_normal(count * leaves).astype(np.float32)),
        "tree_roots": [tree * per_tree for tree in range(count)], "n_targets": 3,
        **more,
    }  # fmt: skip


@pytest.mark.parametrize("aggregate", [0, 1, 2, 3])
@pytest.mark.parametrize("modes", [[0], [1, 2, 3], [0, 4, 5]])
def test_forests(aggregate: int, modes: list[int]) -> None:
    x = _random.integers(-2, 3, (50, 4)).astype(np.float32)
    attrs = _trees(1, 4, 3, modes, aggregate_function=aggregate)
    model = _model("TreeEnsemble", [x], attrs, 5, opset=21, dynamic=(0,))
    (got,), (want,) = run(model, {"i0": x}), run_ort(model, {"i0": x})
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_missing_values_take_a_side() -> None:
    x = np.where(_random.random((50, 4)) < 0.3, np.nan, _random.standard_normal((50, 4))).astype(np.float32)
    attrs = _trees(2, 3, 3, [0])
    attrs["nodes_missing_value_tracks_true"] = _random.integers(0, 2, 21).tolist()
    model = _model("TreeEnsemble", [x], attrs, 5, opset=21)
    np.testing.assert_allclose(run(model, {"i0": x})[0], run_ort(model, {"i0": x})[0], rtol=1e-5, atol=1e-6)


def test_trees_that_lead_nowhere() -> None:
    x = np.zeros((2, 4), np.float32)
    attrs = _trees(3, 1, 2, [0])
    circle = {**attrs, "nodes_truenodeids": [0, 1, 2], "nodes_trueleafs": [0, 0, 0]}
    outside = {**attrs, "nodes_falsenodeids": [9, 9, 9]}
    short = {**attrs, "nodes_featureids": [0]}
    for broken, message in ((circle, "lead in a circle"), (outside, "not there"), (short, "do not fit together")):
        with pytest.raises(ModelImportError, match=message):
            import_model(_model("TreeEnsemble", [x], broken, 5, opset=21))


_GRAMS = {
    "max_gram_length": 2, "min_gram_length": 1, "ngram_counts": [0, 3], "ngram_indexes": [0, 1, 2, 3, 4, 5, 6],
    "pool_int64s": [2, 3, 5, 5, 4, 5, 6, 7, 8, 6, 7],
}  # fmt: skip


@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
@pytest.mark.parametrize("skips", [0, 1, 5])
@pytest.mark.parametrize("shape", [(12,), (2, 6), (3, 1)])
@pytest.mark.parametrize("weighted", [False, True])
def test_counts_of_n_grams(mode: str, skips: int, shape: tuple[int, ...], weighted: bool) -> None:
    x = _random.integers(2, 9, shape).astype(np.int64)
    weights = {"weights": [0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]} if weighted else {}
    check("TfIdfVectorizer", [x], {**_GRAMS, **weights, "mode": mode, "max_skip_count": skips}, dynamic=(0,))


def test_n_grams_that_do_not_fit() -> None:
    x = np.zeros(3, np.int64)
    for change, message in (
        ({"ngram_counts": [0, 4]}, "n-grams of length 2 stand at 4 to 11"),
        ({"ngram_indexes": [0]}, "1 indexes for 7"),
        ({"min_gram_length": 3}, "n-grams of 3 to 2"),
        ({"mode": "BM25"}, "mode 'BM25'"),
    ):
        with pytest.raises(ModelImportError, match=message):
            import_model(one_node("TfIdfVectorizer", [x], {**_GRAMS, "mode": "TF", "max_skip_count": 0, **change}))
    strings = {**_GRAMS, "mode": "TF", "max_skip_count": 0, "pool_strings": ["a"]}
    with pytest.raises(UnsupportedError, match="a pool of strings"):
        import_model(one_node("TfIdfVectorizer", [x], strings))
