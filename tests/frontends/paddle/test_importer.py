"""Layers and functions: inputs and their sizes, structures, weights, places, errors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import paddle
import pytest
from paddle import nn
from paddle.static import InputSpec

import ge_core
from ge_core.errors import InputError, ModelImportError, UnsupportedError
from ge_frontend_paddle.importer import import_model
from ge_frontend_paddle.layers import ImportNotice
from tests.frontends.paddle.agreement import check
from tests.frontends.paddle.variants.data import f32, i64


def spec(*shape: int | None, dtype: str = "float32", name: str = "x") -> InputSpec:
    return InputSpec(list(shape), dtype, name)


def test_specs_with_dynamic_sizes() -> None:
    net = nn.Sequential(
        nn.Conv2D(3, 4, 3, padding=1), nn.BatchNorm2D(4), nn.ReLU(), nn.AdaptiveAvgPool2D(1), nn.Flatten()
    )
    net.eval()
    imported = check(net, [spec(None, 3, None, None)], [f32(2, 3, 8, 6)], [f32(1, 3, 5, 9)])
    assert [str(v.type) for v in imported.graph.inputs] == ["float32[input_0, 3, input_2, input_3]"]
    assert imported.signature.input_names == ("input",)


def test_examples_fix_sizes_and_dynamic_shapes_open_them() -> None:
    layer = nn.Linear(4, 2)
    fixed = check(layer, [paddle.ones([3, 4])], [f32(3, 4)])
    assert fixed.graph.inputs[0].shape == (3, 4)
    opened = check(layer, [f32(3, 4)], [f32(3, 4)], [f32(7, 4)], dynamic={"input": {0: "rows"}})
    assert str(opened.graph.inputs[0].type) == "float32[rows, 4]"
    with pytest.raises(InputError, match="axis 5"):
        import_model(layer, [f32(3, 4)], dynamic_shapes={"input": {5: "n"}})
    with pytest.raises(InputError, match="names 'y'"):
        import_model(layer, [f32(3, 4)], dynamic_shapes={"y": {0: "n"}})


def test_equal_names_are_equal_sizes() -> None:
    def model(x: Any, y: Any) -> Any:
        return paddle.concat([x, y], 1)

    imported = check(
        model, [spec(None, 2), spec(None, 3, name="y")], [f32(2, 2), f32(2, 3)],
        dynamic={"x": {0: "n"}, "y": {0: "n"}},
    )  # fmt: skip
    assert [str(v.type) for v in imported.graph.inputs] == ["float32[n, 2]", "float32[n, 3]"]


def test_our_own_specs() -> None:
    imported = import_model(nn.Linear(4, 2), [ge_core.InputSpec((None, 4), "float32", "data")])
    assert str(imported.graph.inputs[0].type) == "float32[input_0, 4]"


def test_names_in_our_specs_are_equal_sizes() -> None:
    def model(x: Any, y: Any) -> Any:
        return x + y

    imported = import_model(model, [ge_core.InputSpec(("n", 4))], {"y": ge_core.InputSpec(("n", None))})
    assert [str(v.type) for v in imported.graph.inputs] == ["float32[n, 4]", "float32[n, y_1]"]


class Structured(nn.Layer):
    def forward(self, pair: Any, scale: Any) -> Any:
        left, right = pair
        return {"sum": (left + right) * scale, "parts": [left, (right,)]}


def test_nested_arguments_and_results() -> None:
    imported = import_model(Structured(), [[spec(2, 3), spec(2, 3, name="y")], spec(1, name="s")])
    compiled = ge_core.compile(imported.graph, target="reference")
    assert len(compiled.graph.inputs) == 3
    arrays = imported.signature.flatten([[f32(2, 3), f32(2, 3, seed=1)], f32(1)], {})
    assert [getattr(a, "shape", None) for a in arrays] == [(2, 3), (2, 3), (1,)]
    result = imported.signature.unflatten(["a", "b", "c"])
    assert isinstance(result, dict) and set(result) == {"sum", "parts"}


def test_weights_share_the_memory_of_the_layer() -> None:
    layer = nn.Linear(64, 64)
    imported = import_model(layer, [spec(None, 64)])
    weight = next(v for v in imported.graph.constants if v.constant.type.shape == (64, 64))
    array = weight.constant.array()
    layer.weight.set_value(paddle.full([64, 64], 3.0))
    assert (array == 3.0).all()


def test_a_layer_in_training_mode_is_imported_for_inference() -> None:
    layer = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.BatchNorm1D(4))
    with pytest.warns(ImportNotice, match="training mode"):
        imported = import_model(layer, [spec(2, 4)])
    assert layer.training and layer[1].training
    assert "Dropout" not in {node.op for node in imported.graph.nodes}


def test_a_layer_is_not_changed_by_its_import() -> None:
    layer = nn.Linear(4, 4)
    before = layer.forward
    import_model(layer, [spec(2, 4)])
    assert layer.forward == before and not hasattr(layer.forward, "concrete_program")


def test_a_static_function_with_its_own_specs() -> None:
    layer = paddle.jit.to_static(nn.Linear(4, 2), input_spec=[spec(None, 4)], full_graph=True)
    layer.eval()
    imported = import_model(layer)
    assert str(imported.graph.inputs[0].type) == "float32[input_0, 4]"


def test_all_unsupported_operators_are_named_at_once_with_their_lines() -> None:
    def model(x: Any) -> Any:
        q, r = paddle.linalg.qr(x)
        u, s, v = paddle.linalg.svd(x)
        return q @ r + u @ u

    with pytest.raises(UnsupportedError) as caught:
        import_model(model, [spec(3, 3)])
    message = str(caught.value)
    assert "uses 2 operators" in message and "qr ×1" in message and "svd ×1" in message
    assert "test_importer.py" in message


def test_places_are_the_users_lines() -> None:
    def model(x: Any) -> Any:
        return paddle.tanh(x) + 1

    imported = import_model(model, [spec(3)])
    node = next(iter(imported.graph.nodes))
    assert node.loc.framework == "paddle" and node.loc.file.endswith("test_importer.py") and node.loc.op == "tanh"


def test_a_model_that_paddle_cannot_trace() -> None:
    def model(x: Any) -> Any:
        raise RuntimeError("no way")

    with pytest.raises(ModelImportError, match="cannot trace model: .*no way"):
        import_model(model, [spec(3)])


def test_compiled_layers_take_and_give_paddles_tensors() -> None:
    layer = nn.Linear(4, 2)
    layer.eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = ge_core.compile(layer, [paddle.ones([3, 4])], framework="paddle", target="reference")
    result = compiled(paddle.ones([3, 4]))
    assert isinstance(result, paddle.Tensor)
    np.testing.assert_allclose(result.numpy(), layer(paddle.ones([3, 4])).numpy(), rtol=1e-5)


def test_embedding_of_dynamic_length() -> None:
    check(
        nn.Embedding(10, 4), [spec(None, None, dtype="int64")], [i64(2, 3, low=0, high=9)], [i64(1, 5, low=0, high=9)]
    )


def test_infinite_attributes() -> None:
    inf = float("inf")

    def norms(x: Any) -> Any:
        return [paddle.norm(x, inf, 1), paddle.norm(x, -inf, 1)]

    def masked(x: Any) -> Any:
        return paddle.where(x > 0, x, paddle.full([], -inf))

    for model in (norms, masked):
        check(model, [spec(2, 3)], [f32(2, 3)])


def test_what_called_the_import_is_no_place_in_the_model() -> None:
    net = paddle.vision.models.LeNet()  # all of its lines are Paddle's
    net.eval()
    graph = ge_core.import_model(net, [spec(1, 1, 28, 28)], framework="paddle")
    assert {(node.loc.file, node.loc.line) for node in graph.nodes} == {("", 0)}
