"""Trees, linear models and columns of features of ai.onnx.ml, as ONNX Runtime computes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from ge_core.errors import ModelImportError, UnsupportedError
from ge_frontend_onnx.importer import import_model
from tests.frontends.onnx.agreement import check, one_node, run, run_ort

_ML = "ai.onnx.ml"
_random = np.random.default_rng(4)
_ROWS = _random.standard_normal((60, 4)).astype(np.float32)
_POSTS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
_TWO = (True, True)


def _agree(op: str, x: np.ndarray, attrs: dict[str, Any], outputs: tuple[bool, ...] = (True,), **form: Any) -> None:
    model = _model(op, x, attrs, outputs, **form)
    got, want = run(model, {"i0": x}), run_ort(model, {"i0": x})
    assert len(got) == len(want)
    for g, w in zip(got, want, strict=True):
        assert (g.dtype, g.shape) == (w.dtype, w.shape)
        np.testing.assert_allclose(g, w, rtol=1e-4, atol=1e-5)


def _model(
    op: str, x: np.ndarray, attrs: dict[str, Any], outputs: tuple[bool, ...] = (True,), **form: Any
) -> ModelProto:
    model = one_node(op, [x], attrs, domain=_ML, outputs=outputs, dynamic=(0,), **form)
    model.opset_import[1].version = 3
    return model


def _grown(seed: int, trees: int, depth: int, modes: list[str]) -> dict[str, Any]:
    """A forest whose trees stop at random depths; the nodes of a tree stand in the order of a walk."""
    random = np.random.default_rng(seed)
    nodes: dict[str, list[Any]] = {
        name: [] for name in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")
    }

    def add(tree: int, level: int) -> int:
        at = len(nodes["modes"])
        number = at - nodes["treeids"].index(tree) if tree in nodes["treeids"] else 0
        leaf = level == depth or (level > 0 and random.random() < 0.3)
        row = (tree, number, random.integers(4), random.normal(), "LEAF" if leaf else random.choice(modes), 0, 0)
        for column, value in zip(nodes.values(), row, strict=True):
            column.append(value if isinstance(value, (str, float)) else int(value))
        if not leaf:
            nodes["truenodeids"][at] = add(tree, level + 1)
            nodes["falsenodeids"][at] = add(tree, level + 1)
        return number

    for tree in range(trees):
        add(tree, 0)
    return {f"nodes_{name}": values for name, values in nodes.items()}


def _forest(kind: str, results: int, positive: bool = False, **more: Any) -> dict[str, Any]:
    """Every leaf has a weight for each result."""
    grown = _grown(2, 5, 4, ["BRANCH_LEQ", "BRANCH_GT"])
    leaves = [i for i, mode in enumerate(grown["nodes_modes"]) if mode == "LEAF"]
    rows = [(i, result) for i in leaves for result in range(results)]
    weights = _random.random(len(rows)) * 0.3 if positive else _random.standard_normal(len(rows))
    return grown | {
        f"{kind}_treeids": [grown["nodes_treeids"][i] for i, _ in rows],
        f"{kind}_nodeids": [grown["nodes_nodeids"][i] for i, _ in rows],
        f"{kind}_ids": [result for _, result in rows],
        f"{kind}_weights": weights.astype(np.float32).tolist(),
        **more,
    }


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
@pytest.mark.parametrize("targets", [1, 3])
def test_regression_forests(aggregate: str, targets: int) -> None:
    attrs = _forest("target", targets, n_targets=targets, aggregate_function=aggregate)
    _agree("TreeEnsembleRegressor", _ROWS, attrs)
    _agree("TreeEnsembleRegressor", _ROWS, {**attrs, "base_values": [0.5, -1.0, 2.0][:targets]})


@pytest.mark.parametrize("post", _POSTS)
def test_classification_forests(post: str) -> None:
    three = _forest("class", 3, positive=True, classlabels_int64s=[4, 9, 2], post_transform=post)
    _agree("TreeEnsembleClassifier", _ROWS, three, _TWO)
    _agree("TreeEnsembleClassifier", _ROWS, {**three, "base_values": [0.1, 0.0, 0.05]}, _TWO)


@pytest.mark.parametrize("post", ["NONE", "LOGISTIC"])
@pytest.mark.parametrize("positive", [True, False])
@pytest.mark.parametrize("base", [[], [0.2]])
def test_two_classes_of_which_one_has_weights(post: str, positive: bool, base: list[float]) -> None:
    attrs = _forest("class", 1, positive, classlabels_int64s=[4, 9], post_transform=post)
    _agree("TreeEnsembleClassifier", _ROWS, attrs | ({"base_values": base} if base else {}), _TWO)


@pytest.mark.parametrize("mode", ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"])
def test_branches_and_missing_values(mode: str) -> None:
    x = np.where(_random.random((60, 4)) < 0.2, np.nan, _random.integers(-1, 2, (60, 4))).astype(np.float32)
    attrs = _forest("target", 1, n_targets=1)
    attrs |= {
        "nodes_modes": ["LEAF" if m == "LEAF" else mode for m in attrs["nodes_modes"]],
        "nodes_values": _random.integers(-1, 2, len(attrs["nodes_modes"])).astype(np.float32).tolist(),
        "nodes_missing_value_tracks_true": _random.integers(0, 2, len(attrs["nodes_modes"])).tolist(),
    }
    _agree("TreeEnsembleRegressor", x, attrs)


def test_scores_without_labels_that_are_strings() -> None:
    attrs = _forest("class", 3, classlabels_strings=["a", "b", "c"])
    model = _model("TreeEnsembleClassifier", _ROWS, attrs, (False, True))
    (got,) = run(model, {"i0": _ROWS})
    model.graph.node[0].output[0] = "label"  # ONNX Runtime needs a name
    np.testing.assert_allclose(got, run_ort(model, {"i0": _ROWS})[0], rtol=1e-4, atol=1e-5)
    with pytest.raises(UnsupportedError, match="labels that are strings"):
        import_model(_model("TreeEnsembleClassifier", _ROWS, attrs, _TWO))


@pytest.mark.parametrize("post", _POSTS)
def test_linear_models(post: str) -> None:
    x = np.abs(_ROWS) % 1.0
    many = {"coefficients": (_random.random(12) * 0.2).tolist(), "intercepts": [0.1, 0.05, 0.0], "post_transform": post}
    _agree("LinearClassifier", x, {**many, "classlabels_ints": [7, 3, 5]}, _TWO)
    _agree("LinearRegressor", x, {**many, "targets": 3})


@pytest.mark.parametrize("post", ["NONE", "LOGISTIC"])
def test_one_score_for_two_classes(post: str) -> None:
    one = {"coefficients": [1.0, -2.0, 0.5, 0.1], "intercepts": [0.2], "post_transform": post}
    _agree("LinearClassifier", _ROWS, {**one, "classlabels_ints": [7, 3]}, _TWO)
    _agree("LinearRegressor", _ROWS, {**one, "targets": 1, "post_transform": "NONE"})


_KERNELS = ("LINEAR", "POLY", "RBF", "SIGMOID")


def _vectors(kernel: str, count: int, **more: Any) -> dict[str, Any]:
    vectors = _random.standard_normal(count * 4).astype(np.float32)
    return {"kernel_type": kernel, "kernel_params": [0.3, 0.1, 3.0], "support_vectors": vectors.tolist(), **more}


@pytest.mark.parametrize("kernel", _KERNELS)
def test_support_vectors_of_a_regression(kernel: str) -> None:
    attrs = _vectors(kernel, 7, n_supports=7, rho=[0.2], coefficients=_random.standard_normal(7).tolist())
    _agree("SVMRegressor", _ROWS, attrs)
    _agree("SVMRegressor", _ROWS, {**attrs, "one_class": 1})


@pytest.mark.parametrize("kernel", _KERNELS)
@pytest.mark.parametrize(("sizes", "posts"), [([3, 4], ("NONE", "LOGISTIC")), ([2, 2, 3], _POSTS[:4])])
def test_support_vectors_of_classes(kernel: str, sizes: list[int], posts: tuple[str, ...]) -> None:
    pairs = len(sizes) * (len(sizes) - 1) // 2
    attrs = _vectors(
        kernel, 7, vectors_per_class=sizes, classlabels_ints=[5, 8, 2][: len(sizes)],
        rho=_random.standard_normal(pairs).tolist(),
        coefficients=_random.standard_normal((len(sizes) - 1) * 7).tolist(),
    )  # fmt: skip
    for post in posts:
        _agree("SVMClassifier", _ROWS, {**attrs, "post_transform": post}, _TWO)


def test_columns_of_features() -> None:
    for x in (_ROWS, _ROWS[0]):
        check("Scaler", [x], {"offset": [0.1, 0.2, 0.3, 0.4], "scale": [2.0, 3.0, 4.0, 5.0]}, domain=_ML)
        check("Scaler", [x], {"offset": [0.5], "scale": [2.0]}, domain=_ML)
    rows = np.concatenate([_ROWS, np.zeros((1, 4), np.float32)])
    for norm in ("MAX", "L1", "L2"):
        check("Normalizer", [rows], {"norm": norm}, domain=_ML)
    check("OneHotEncoder", [np.int64([[3, 0], [9, 5]])], {"cats_int64s": [0, 5, 3]}, domain=_ML)
    holes = np.where(_random.random((6, 4)) < 0.4, np.nan, 1.5).astype(np.float32)
    filled = {"imputed_value_floats": [1.0, 2.0, 3.0, 4.0], "replaced_value_float": float("nan")}
    check("Imputer", [holes], filled, domain=_ML)
    check("Imputer", [np.int64([[1, 0], [0, 2]])], {"imputed_value_int64s": [8], "replaced_value_int64": 0}, domain=_ML)
    check("FeatureVectorizer", [_ROWS, _ROWS[:, :2]], {"inputdimensions": [3, 4]}, domain=_ML)


@pytest.mark.parametrize(
    ("op", "attrs", "error", "message"),
    [
        ("TreeEnsembleClassifier", _forest("class", 2, classlabels_int64s=[0, 1]), UnsupportedError, "2 classes with"),
        ("TreeEnsembleClassifier", _forest("class", 1), ModelImportError, "names no classes"),
        ("TreeEnsembleRegressor", _forest("target", 2, n_targets=1), ModelImportError, "that are not there"),
        ("TreeEnsembleRegressor", _forest("target", 1, n_targets=1, nodes_values=[1.0]), ModelImportError, "of nodes"),
        ("TreeEnsembleRegressor", _forest("target", 1, n_targets=1, target_ids=[0]), ModelImportError, "of weights"),
        ("LinearClassifier", {"coefficients": [1.0] * 4, "intercepts": [0.0]}, UnsupportedError, "one score for 0"),
        ("LinearRegressor", {"coefficients": [1.0] * 5, "targets": 2}, ModelImportError, "5 coefficients"),
        ("SVMClassifier", {"prob_a": [1.0]}, UnsupportedError, "probabilities of classes"),
        ("SVMClassifier", {"coefficients": [1.0]}, UnsupportedError, "without support vectors"),
        ("SVMRegressor", _vectors("RBF", 3, n_supports=5, coefficients=[1.0]), ModelImportError, "12 numbers"),
        ("ZipMap", {"classlabels_int64s": [1]}, UnsupportedError, "maps are not supported"),
        ("Normalizer", {"norm": "L3"}, ModelImportError, "the norm 'L3'"),
        ("OneHotEncoder", {"cats_strings": ["a"]}, UnsupportedError, "categories that are strings"),
        ("OneHotEncoder", {"cats_int64s": [1], "zeros": 0}, UnsupportedError, "unknown categories"),
        ("FeatureVectorizer", {"inputdimensions": [1, 2]}, ModelImportError, "1 inputs and 2 inputdimensions"),
    ],
)  # fmt: skip
def test_forms_that_are_refused(op: str, attrs: dict[str, Any], error: Any, message: str) -> None:
    outputs = _TWO if op.endswith("Classifier") else (True,)
    with pytest.raises(error, match=message):
        import_model(_model(op, _ROWS, attrs, outputs))
