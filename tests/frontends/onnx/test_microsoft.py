"""Operators of com.microsoft against ONNX Runtime; those that its CPU build lacks against formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ge_core.errors import UnsupportedError
from ge_core.ir.traverse import walk
from ge_frontend_onnx.importer import import_model
from tests.frontends.onnx.agreement import check, error_of_scale, feed_of, one_node, run, run_ort

_MS = "com.microsoft"
_random = np.random.default_rng(0)


def _f(*shape: int) -> np.ndarray:
    return _random.standard_normal(shape).astype(np.float32)


def _u8(*shape: int) -> np.ndarray:
    return _random.integers(0, 256, shape).astype(np.uint8)


def _i8(*shape: int) -> np.ndarray:
    return _random.integers(-128, 128, shape).astype(np.int8)


def _i32(*values: Any) -> np.ndarray:
    return np.array(values, np.int32)


def _step(size: float) -> np.ndarray:
    return np.array(size, np.float32)


def _zero(value: int, dtype: type = np.uint8) -> np.ndarray:
    return np.array(value, dtype)


def _steps(n: int) -> np.ndarray:
    return np.abs(_f(n)) * 0.01 + 0.001


def check_ms(op: str, inputs: list[Any], attrs: dict[str, Any] | None = None, **form: Any) -> None:
    check(op, inputs, attrs, domain=_MS, **form)


_x = _f(2, 3, 8)
_POINTWISE: list[tuple[str, list[Any], dict[str, Any]]] = [
    ("Gelu", [_x], {}),
    ("BiasGelu", [_x, _f(8)], {}),
    ("FastGelu", [_x], {}),
    ("FastGelu", [_x, _f(8)], {}),
    ("QuickGelu", [_x], {}),
    ("QuickGelu", [_x], {"alpha": 1.0}),
]
_PRODUCTS: list[tuple[str, list[Any], dict[str, Any]]] = [
    ("FusedMatMul", [_f(2, 3, 4), _f(2, 4, 5)], {"alpha": 0.5}),
    ("FusedMatMul", [_f(2, 4, 3), _f(2, 5, 4)], {"transA": 1, "transB": 1}),
    ("FusedMatMul", [_f(4, 2, 3), _f(2, 3, 5)], {"transBatchA": 1}),
    ("TransposeMatMul", [_f(2, 3, 4), _f(2, 5, 4)], {"transB": 1}),
    ("FusedGemm", [_f(3, 4), _f(4, 5), _f(5)], {"activation": "Relu"}),
    (
        "FusedGemm",
        [_f(3, 4), _f(5, 4)],
        {"activation": "LeakyRelu", "activation_alpha": 0.3, "alpha": 2.0, "transB": 1},
    ),
    ("FusedConv", [_f(1, 3, 6, 6), _f(4, 3, 3, 3), _f(4)], {"activation": "Relu", "pads": [1, 1, 1, 1]}),
    ("FusedConv", [_f(1, 3, 6, 6), _f(4, 3, 3, 3), _f(4), _f(1, 4, 6, 6)], {"activation": "Relu", "pads": [1] * 4}),
    ("FusedConv", [_f(1, 3, 6, 6), _f(4, 3, 3, 3)], {"activation": "Clip", "activation_params": [0.0, 1.0]}),
    ("FusedConv", [_f(1, 3, 6, 6), _f(4, 3, 3, 3)], {"activation": "HardSigmoid", "activation_params": [0.2, 0.5]}),
    ("NhwcMaxPool", [_i8(1, 6, 6, 3)], {"kernel_shape": [2, 2], "strides": [2, 2]}),
]


@pytest.mark.parametrize(("op", "inputs", "attrs"), _POINTWISE + _PRODUCTS)
def test_activations_and_products(op: str, inputs: list[Any], attrs: dict[str, Any]) -> None:
    check_ms(op, inputs, attrs)


def test_an_unknown_activation_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="1 operator") as error:
        run(one_node("FusedConv", [_f(1, 3, 6, 6), _f(4, 3, 3, 3)], {"activation": "Softmax"}, domain=_MS), {})
    assert "the activation Softmax is not supported" in str(error.value)


def _norm(x: np.ndarray, centre: bool) -> np.ndarray:
    x = x - x.mean(-1, keepdims=True) if centre else x
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12)


_ids = _random.integers(0, 10, (2, 5)).astype(np.int32)
_segments = _random.integers(0, 2, (2, 5)).astype(np.int32)
_mask = _i32([1, 1, 1, 0, 0], [1, 1, 1, 1, 1])


@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "outputs"),
    [
        ("SkipLayerNormalization", [_x, _x[::-1].copy(), _f(8), _f(8), _f(8)], {}, (True, False, False, True)),
        ("SkipLayerNormalization", [_x, _f(2, 3, 8), _f(8)], {"epsilon": 1e-3}, (True,)),
        ("SkipSimplifiedLayerNormalization", [_x, _f(2, 3, 8), _f(8), _f(8)], {}, (True, False, False, True)),
        ("EmbedLayerNormalization", [_ids, _segments, _f(10, 8), _f(6, 8), _f(2, 8), _f(8), _f(8), _mask], {},
         (True, True, True)),
        ("EmbedLayerNormalization", [_ids, None, _f(10, 8), _f(6, 8), None, _f(8), _f(8)], {}, (True, True)),
        ("EmbedLayerNormalization",
         [_ids, _segments, _f(10, 8), _f(6, 8), _f(2, 8), _f(8), _f(8), _mask, _ids % 6], {}, (True, True)),
    ],
)  # fmt: skip
def test_normalisations(op: str, inputs: list[Any], attrs: dict[str, Any], outputs: tuple[bool, ...]) -> None:
    check_ms(op, inputs, attrs, outputs=outputs)


def test_simplified_layer_normalization() -> None:
    """It stands in the default domain."""
    check("SimplifiedLayerNormalization", [_x, _f(8)], {"axis": -1, "epsilon": 1e-5})


def test_operators_that_onnx_runtime_has_no_cpu_kernel_for() -> None:
    x, bias, skip = _f(2, 3, 16), _f(16), _f(2, 3, 16)
    check_ms("BiasAdd", [x, bias, skip], expected=[x + bias + skip])
    left, right = np.split(x + bias, 2, axis=-1)
    gelu = run(one_node("Gelu", [right], domain=_MS), {"i0": right})[0]
    check_ms("BiasSplitGelu", [x, bias], expected=[left * gelu])
    image, scale, shift = _f(2, 3, 3, 4), _f(4), _f(4)
    parts = image.reshape(2, 9, 2, 2)
    centred = parts - parts.mean((1, 3), keepdims=True)
    normal = centred / np.sqrt(parts.var((1, 3), keepdims=True) + 1e-5)
    y = normal.reshape(image.shape) * scale + shift
    check_ms("GroupNorm", [image, scale, shift], {"groups": 2, "activation": 1}, expected=[y / (1 + np.exp(-y))])
    check_ms("SkipGroupNorm", [image * 0, scale, shift, image], {"groups": 2, "activation": 0},
             outputs=(True, True), expected=[y, image])  # fmt: skip
    mean = np.float32([[1, 2], [3, 6]])
    quantised = [(mean / 0.5 + 10).astype(np.uint8), _step(0.5), _zero(10), _step(0.25), _zero(0)]
    want = [np.array([6, 18], np.uint8)]
    check_ms("QLinearReduceMean", quantised, {"axes": [1], "keepdims": 0}, expected=want)
    conv = run(one_node("NhwcConv", [image, _f(2, 4, 1, 1)], domain=_MS), {"i0": image, "i1": (w := _f(2, 4, 1, 1))})
    np.testing.assert_allclose(conv[0], image @ w[:, :, 0, 0].T, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize(("depth", "rows", "block"), [(64, 6, 16), (40, 5, 16), (48, 3, 32)])
@pytest.mark.parametrize("zero", [False, True])
def test_weights_of_a_few_bits(bits: int, depth: int, rows: int, block: int, zero: bool) -> None:
    blocks = -(-depth // block)
    weights = _u8(rows, blocks, block * bits // 8)
    points = _u8(rows * (-(-blocks * bits // 8))) if zero else None
    inputs = [_f(2, 3, depth), weights, _f(rows * blocks) * 0.1, points]
    attrs = {"K": depth, "N": rows, "bits": bits, "block_size": block}
    check_ms("MatMulNBits", inputs, attrs, constants=(1, 2, 3))
    graph = import_model(one_node("MatMulNBits", inputs, attrs, domain=_MS, constants=(1, 2, 3))).graph
    stored = next(v for v in graph.constants if v.name.startswith("weights"))
    assert stored.dtype.bits == bits and stored.shape == (rows, blocks * block)


def test_zero_points_of_the_scales_type() -> None:
    inputs = [_f(2, 64), _u8(5, 4, 8), _f(20) * 0.1, _f(20), None, _f(5)]
    check_ms("MatMulNBits", inputs, {"K": 64, "N": 5, "bits": 4, "block_size": 16}, constants=(1, 2, 3, 5))


# One step of the result: sums in floats and in integers fall on neighbouring steps where they tie.
_QUANTISED: list[tuple[str, list[Any], dict[str, Any], dict[str, Any]]] = [
    ("QLinearAdd", [_u8(3, 4), _step(0.1), _zero(99), _u8(4), _step(0.05), _zero(120), _step(0.2), _zero(128)], {}, {}),
    ("QLinearMul", [_u8(3, 4), _step(0.1), _zero(99), _u8(4), _step(0.05), _zero(120), _step(0.2), _zero(128)], {}, {}),
    ("QLinearSigmoid", [_u8(3, 4), _step(0.02), _zero(100), _step(1 / 256), _zero(0)], {}, {}),
    ("QLinearLeakyRelu", [_u8(3, 4), _step(0.02), _zero(100), _step(0.02), _zero(50)], {"alpha": 0.1}, {}),
    ("QLinearSoftmax", [_u8(3, 4), _step(0.02), _zero(100), _step(1 / 256), _zero(0)], {"axis": -1, "opset": 13}, {}),
    ("QLinearAveragePool", [_u8(1, 2, 6, 6), _step(0.02), _zero(100), _step(0.02), _zero(90)],
     {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1] * 4}, {}),
    ("QLinearGlobalAveragePool", [_u8(1, 6, 6, 3), _step(0.02), _zero(100), _step(0.02), _zero(90)],
     {"channels_last": 1}, {}),
    ("QLinearConcat", [_step(0.1), _zero(3), _u8(2, 3), _step(0.1), _zero(3), _u8(2, 4), _step(0.2), _zero(9)],
     {"axis": 1}, {"constants": (0, 1, 3, 4, 6, 7)}),
    ("QLinearWhere", [np.array([[True], [False]]), _u8(2, 3), _step(0.1), _zero(3), _u8(2, 3), _step(0.2), _zero(9),
                      _step(0.15), _zero(7)], {}, {"constants": (2, 3, 5, 6, 7, 8)}),
    ("QGemm", [_u8(3, 4), _step(0.1), _zero(3), _i8(4, 5), _step(0.05), _zero(2, np.int8),
               _random.integers(-99, 99, 5).astype(np.int32), _step(0.3), _zero(100)],
     {}, {"constants": (1, 2, 3, 4, 5, 6, 7, 8)}),
    ("QLinearConv", [_u8(1, 6, 6, 3), _step(0.1), _zero(9), _i8(4, 3, 3, 3), _steps(4), np.zeros(4, np.int8),
                     _step(0.2), _zero(100)],
     {"pads": [1] * 4, "channels_last": 1}, {"constants": (1, 2, 3, 4, 5, 6, 7)}),
    ("QuantizeLinear", [_f(3, 4), _step(0.1), _zero(9)], {}, {}),
]  # fmt: skip
_TO_FLOATS: list[tuple[str, list[Any], dict[str, Any], dict[str, Any]]] = [
    ("QGemm", [_u8(3, 4), _step(0.1), _zero(3), _i8(5, 4), _steps(5), np.zeros(5, np.int8)],
     {"transB": 1, "alpha": 0.5}, {"constants": (1, 2, 3, 4, 5)}),
    ("MatMulIntegerToFloat", [_u8(3, 4), _i8(4, 5), _step(0.1), _steps(5), _zero(3), _i8(5), _f(5)], {}, {}),
    ("MatMulIntegerToFloat", [_u8(3, 4), _i8(4, 5), _step(0.1), _step(0.2), _zero(3)], {}, {}),
    ("DynamicQuantizeMatMul", [_f(3, 4), _i8(4, 5), _steps(5), _i8(5), _f(5)], {}, {}),
    ("DynamicQuantizeMatMul", [_f(2, 3, 4), _i8(4, 5), np.float32([0.1])], {}, {}),
    ("DequantizeLinear", [_u8(3, 4), _step(0.1), _zero(9)], {}, {}),
]  # fmt: skip


@pytest.mark.parametrize(("op", "inputs", "attrs", "form"), _QUANTISED)
def test_quantised_results_are_at_most_a_step_off(op: str, inputs: Any, attrs: Any, form: Any) -> None:
    model = one_node(op, inputs, attrs, domain=_MS, **form)
    feed = feed_of(inputs, form.get("constants", ()))
    (got,), (want,) = run(model, feed), run_ort(model, feed)
    assert got.dtype == want.dtype and got.shape == want.shape
    off = np.abs(got.astype(int) - want.astype(int))
    assert off.max() <= 1 and off.mean() <= 0.1


@pytest.mark.parametrize(("op", "inputs", "attrs", "form"), _TO_FLOATS)
def test_quantised_operands(op: str, inputs: Any, attrs: Any, form: Any) -> None:
    check_ms(op, inputs, attrs, **form)


def test_quantised_forms_become_qdq() -> None:
    inputs = [_u8(1, 3, 6, 6), _step(0.1), _zero(9), _i8(4, 3, 3, 3), _steps(4), np.zeros(4, np.int8), _step(0.2),
              _zero(100), _random.integers(-99, 99, 4).astype(np.int32)]  # fmt: skip
    graph = import_model(one_node("QLinearConv", inputs, {"pads": [1] * 4}, constants=range(1, 9))).graph
    ops = [node.op for node in walk(graph)]
    assert sorted(ops) == ["Conv", *["DequantizeLinear"] * 3, "Mul", "QuantizeLinear"]
    matmul = [_u8(2, 3), _step(0.1), _zero(9), _u8(3, 4), _step(0.1), _zero(9), _step(0.2), _zero(100)]
    graph = import_model(one_node("QLinearMatMul", matmul)).graph
    assert [n.op for n in walk(graph)] == ["DequantizeLinear", "DequantizeLinear", "MatMul", "QuantizeLinear"]


@pytest.mark.parametrize(("direction", "count"), [("forward", 1), ("reverse", 1), ("bidirectional", 2)])
@pytest.mark.parametrize("by_column", [False, True])
def test_dynamic_quantize_lstm(direction: str, count: int, by_column: bool) -> None:
    hidden = 5
    shape = (count, 4 * hidden) if by_column else (count,)
    scales = [np.abs(_f(*shape)) * 0.01 for _ in range(2)]
    zero = np.zeros(shape, np.int8)
    inputs = [_f(7, 3, 6), _i8(count, 6, 4 * hidden), _i8(count, hidden, 4 * hidden), _f(count, 8 * hidden), None,
              _f(count, 3, hidden), _f(count, 3, hidden), None, scales[0], zero, scales[1], zero]  # fmt: skip
    check_ms(
        "DynamicQuantizeLSTM", inputs, {"hidden_size": hidden, "direction": direction}, outputs=(True, True, True),
        constants=(1, 2, 8, 9, 10, 11), dynamic=(0,),
    )  # fmt: skip


_a, _w, _bias = _f(2, 4, 6), _f(6, 24), _f(24)
_part = _i32([1, 1, 1, 0], [1, 1, 1, 1])
_q, _k, _v = _f(2, 4, 8), _f(2, 5, 8), _f(2, 5, 8)
_ATTENTION: list[tuple[str, list[Any], dict[str, Any], int]] = [
    ("Attention", [_a, _w, _bias], {}, 1),
    ("Attention", [_a, _w, _bias], {"unidirectional": 1}, 1),
    ("Attention", [_a, _w, _bias, _part], {"unidirectional": 1}, 1),
    ("Attention", [_a, _w, _bias, _i32([1, 1, 0, 0, 1, 1], [1] * 6), _f(2, 2, 2, 2, 4)], {"unidirectional": 1}, 2),
    ("Attention", [_a, _w, _bias, None, _f(2, 2, 2, 2, 4)], {}, 2),
    ("Attention", [_a, _w, _bias, _random.integers(0, 2, (2, 4, 4)).astype(np.int32)], {}, 1),
    ("Attention", [_a, _w, _bias, None, None, _f(2, 2, 4, 4)], {"scale": 0.3}, 1),
    ("Attention", [_a, _w, _bias, np.zeros((2, 4), np.int32)], {"mask_filter_value": -5.0}, 1),
    ("Attention", [_a, _f(6, 20), _f(20)], {"qkv_hidden_sizes": [8, 8, 4]}, 1),
    ("Attention", [_a, _w, _bias, _i32(2, 3)], {}, 1),
    ("Attention", [_a, _w, _bias, _i32(2, 3, 0, 1)], {}, 1),
    ("MultiHeadAttention", [_q, _k, _v], {}, 1),
    ("MultiHeadAttention", [_q, _k, _v, _f(24)], {}, 1),
    ("MultiHeadAttention", [_q, _k, _f(2, 5, 12), _f(28)], {}, 1),
    ("MultiHeadAttention", [_q, _f(2, 2, 5, 4), _f(2, 2, 5, 4)], {}, 1),
    ("MultiHeadAttention", [_q, _k, _v, None, _i32([1, 1, 1, 0, 0], [1] * 5), _f(2, 2, 4, 5)], {}, 1),
    ("MultiHeadAttention", [_q, _k, _v, None, _i32(3, 5)], {}, 1),
    ("MultiHeadAttention", [_q, _q, _q, None, None, None, _f(2, 2, 3, 4), _f(2, 2, 3, 4)], {"unidirectional": 1}, 3),
    ("MultiHeadAttention", [_q, _q, _q, None, None, None, _f(2, 2, 3, 4), _f(2, 2, 3, 4)], {"scale": 0.7}, 3),
]


@pytest.mark.parametrize(("op", "inputs", "attrs", "outputs"), _ATTENTION)
def test_attention(op: str, inputs: list[Any], attrs: dict[str, Any], outputs: int) -> None:
    check_ms(op, inputs, {"num_heads": 2, **attrs}, outputs=(True,) * outputs)


def test_packed_operands_of_attention() -> None:
    """ONNX Runtime has these forms for GPUs only: they equal the separate ones."""
    q, k, v = (_f(2, 4, 8) for _ in range(3))
    (want,) = run(one_node("MultiHeadAttention", [q, k, v], {"num_heads": 2}, domain=_MS), feed_of([q, k, v]))
    heads = [x.reshape(2, 4, 2, 4) for x in (q, k, v)]
    check_ms("MultiHeadAttention", [np.stack(heads, axis=3)], {"num_heads": 2}, expected=[want])
    check_ms("MultiHeadAttention", [q, np.stack(heads[1:], axis=3)], {"num_heads": 2}, expected=[want])


def test_quantised_attention() -> None:
    inputs = [_u8(2, 4, 6), _i8(6, 24), _f(24), _step(0.02), _steps(24), _part, _zero(128), np.zeros(24, np.int8)]
    # the products are exact integers there and sums of floats here
    check_ms("QAttention", inputs, {"num_heads": 2, "unidirectional": 1}, constants=(1, 3, 4, 6, 7), tolerance=1e-4)


_angles = _f(16, 8)
_cos, _sin = np.cos(_angles), np.sin(_angles)
_places = np.array([[0, 1, 2], [3, 4, 5]], np.int64)


@pytest.mark.parametrize(
    ("inputs", "attrs"),
    [
        ([_f(2, 3, 32), _places, _cos, _sin], {}),
        ([_f(2, 2, 3, 16), _places, _cos, _sin], {"interleaved": 1}),
        ([_f(2, 3, 32), np.array([5], np.int64), _cos, _sin], {}),
        ([_f(2, 3, 48), _places, _cos, _sin], {"num_heads": 2, "rotary_embedding_dim": 16}),
    ],
)
def test_rotary_embedding(inputs: list[Any], attrs: dict[str, Any]) -> None:
    check_ms("RotaryEmbedding", inputs, attrs)


_HEADS, _KV, _SIZE = 4, 2, 16


def _grouped(batch: int, new: int, past: int, ends: list[int], total: int, rotary: bool) -> list[Any]:
    caches = [_f(batch, _KV, past, _SIZE) for _ in range(2)]
    projected = [_f(batch, new, n * _SIZE) for n in (_HEADS, _KV, _KV)]
    turn = [_cos, _sin] if rotary else []
    return [*projected, *caches, np.array(ends, np.int32), np.array(total, np.int32), *turn]


@pytest.mark.parametrize("rotary", [False, True])
@pytest.mark.parametrize("window", [-1, 2])
@pytest.mark.parametrize(
    ("batch", "new", "past", "ends", "total"),
    [(2, 5, 0, [4, 4], 5), (2, 5, 0, [2, 4], 5), (2, 1, 6, [6, 6], 7), (2, 1, 6, [4, 6], 7), (1, 1, 12, [6], 7),
     (1, 3, 6, [8], 9)],
    ids=["prompt", "padded-prompt", "one-token", "rows-of-two-lengths", "room-in-the-cache", "three-tokens"],
)  # fmt: skip
def test_group_query_attention(
    batch: int, new: int, past: int, ends: list[int], total: int, window: int, rotary: bool
) -> None:
    inputs = _grouped(batch, new, past, ends, total, rotary)
    attrs = {"num_heads": _HEADS, "kv_num_heads": _KV, "do_rotary": int(rotary), "local_window_size": window}
    outputs = (True, True, True)
    model = one_node("GroupQueryAttention", inputs, attrs, domain=_MS, outputs=outputs, dynamic=(0, 1, 2, 3, 4, 5))
    got, want = run(model, feed_of(inputs)), run_ort(model, feed_of(inputs))
    for row, end in enumerate(ends):
        valid = end + 1 - (0 if new == total else end + 1 - new)
        assert error_of_scale(got[0][row, :valid], want[0][row, :valid]) < 1e-5
        for k in (1, 2):  # what stands behind a row's end is never read
            assert got[k].shape == want[k].shape
            assert error_of_scale(got[k][row, :, : end + 1], want[k][row, :, : end + 1]) < 1e-5


def test_group_query_attention_softcap_and_packed_projections() -> None:
    attrs = {"num_heads": _HEADS, "kv_num_heads": _KV, "softcap": 3.0, "scale": 0.4}
    q, k, v, *rest = _grouped(2, 5, 0, [4, 4], 5, False)
    check_ms("GroupQueryAttention", [q, k, v, *rest], attrs, outputs=(True, True, True))
    packed = np.concatenate([q, k, v], axis=2)
    check_ms("GroupQueryAttention", [packed, None, None, *rest], attrs, outputs=(True, True, True))


@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "reason"),
    [
        ("MultiHeadAttention", [_q, _q, _q, None, None, None, _f(2, 2, 3, 4), _f(2, 2, 3, 4)], {"num_heads": 2},
         "a cache that is read and not given back"),
        ("MultiHeadAttention", [_q, _k, _v], {"num_heads": 2, "unidirectional": 1}, "another number of keys"),
        ("GroupQueryAttention", _grouped(1, 1, 6, [6], 7, False),
         {"num_heads": _HEADS, "kv_num_heads": _KV, "smooth_softmax": 1}, "smooth softmax"),
        ("Attention", [_a, _w, _bias], {"num_heads": 2, "do_rotary": 1}, "rotary"),
        ("DynamicQuantizeLSTM", [_f(2, 1, 3), _i8(1, 3, 8), _i8(1, 2, 8), None, _i32(2), None, None, None,
                                 _f(1), np.zeros(1, np.int8), _f(1), np.zeros(1, np.int8)], {"hidden_size": 2},
         "sequence lengths"),
        ("MatMulNBits", [_f(2, 16), _u8(3, 1, 8), _f(3)], {"K": 16, "N": 3, "block_size": 16}, "no uint8 constant"),
    ],
)  # fmt: skip
def test_forms_that_are_refused(op: str, inputs: list[Any], attrs: dict[str, Any], reason: str) -> None:
    with pytest.raises(UnsupportedError, match=reason):
        import_model(one_node(op, inputs, attrs, domain=_MS))


def test_products_and_convolutions_with_an_activation() -> None:
    """By formulas and by ONNX Runtime's other operators."""
    x, w, bias = _f(3, 4), _f(4, 5), _f(5)
    check_ms("FusedMatMulActivation", [x, w], {"activation": "Relu", "alpha": 0.5},
             expected=[np.maximum(x @ w * np.float32(0.5), 0)])  # fmt: skip
    y = x @ w + bias
    gelu = 0.5 * y * (1 + np.tanh(np.sqrt(2 / np.pi) * (y + 0.044715 * y**3)))
    check_ms("GemmFastGelu", [x, w, bias], expected=[gelu.astype(np.float32)])
    image, weights, added = _f(1, 3, 6, 6), _f(4, 3, 3, 3), _f(1, 4, 6, 6)
    attrs = {"pads": [1, 1, 1, 1], "activation": "Relu"}
    inputs = [image, weights, _f(4), added]
    (want,) = run_ort(one_node("FusedConv", inputs, attrs, domain=_MS), feed_of(inputs))
    first, last = image.transpose(0, 2, 3, 1).copy(), added.transpose(0, 2, 3, 1).copy()
    check_ms("NhwcFusedConv", [first, weights, inputs[2], last], attrs, expected=[want.transpose(0, 2, 3, 1)])
