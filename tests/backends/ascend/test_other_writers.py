"""Operators that the lowering does not write, as files of other writers have them: what they compute here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from ge_ascend.air import import_air, parse_air, write_air
from ge_ascend.check import check_air
from ge_ascend.chips import CHIPS
from ge_ascend.lower.registry import lowering_of
from ge_ascend.meaning import MEANINGS, meaning_of
from ge_ascend.net import Net, Op, Out, Program
from ge_ascend.prototypes import prototype

from ge_core.ir import Builder, Graph
from ge_core.ir.constant import Constant
from ge_core.ir.dtype import DType
from ge_core.reference.interpret import interpret

RNG = np.random.default_rng(0)
X = RNG.standard_normal((2, 3, 4)).astype(np.float32)
Y = RNG.standard_normal((2, 3, 4)).astype(np.float32)
ROWS = np.array([1, 0, 1], np.int32)
IMAGE = RNG.standard_normal((2, 3, 6, 8)).astype(np.float32)
FLAGS = X > 0
INT32, INT64 = 3, 9


def windows(image: np.ndarray, reduce: Callable[..., Any]) -> np.ndarray:
    """Windows of 2 x 2, one beside the other."""
    n, c, h, w = image.shape
    found: np.ndarray = reduce(image.reshape(n, c, h // 2, 2, w // 2, 2), axis=(3, 5))
    return found


POOL = {"ksize": [1, 1, 2, 2], "strides": [1, 1, 2, 2], "padding": "VALID", "data_format": "NCHW"}
NCHW = {"x": "NCHW", "y": "NCHW"}
LAST = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID", "data_format": "NHWC"}
NORMED = (X + Y - (X + Y).mean(-1, keepdims=True)) / np.sqrt((X + Y).var(-1, keepdims=True) + 1e-5)

CASES: dict[str, tuple[str, Mapping[str, Any], Mapping[str, np.ndarray], Any, Mapping[str, str]]] = {}


def case(
    type: str, inputs: Mapping[str, Any], results: Any, formats: Mapping[str, str] | None = None, **attrs: Any
) -> None:
    name = type if type not in CASES else f"{type}-{len(CASES)}"
    CASES[name] = (type, attrs, inputs, results, formats or {})


case("TransposeD", {"x": X}, X.transpose(2, 0, 1), perm=[2, 0, 1])
case("Permute", {"x": X}, X.transpose(2, 0, 1), order=[2, 0, 1])
case("TileD", {"x": X}, np.tile(X, (1, 2, 3)), multiples=[1, 2, 3])
case("SplitD", {"x": X}, np.split(X, 2, 2), split_dim=2, num_split=2)
case("SplitVD", {"x": X}, np.split(X, [1], 1), size_splits=[1, 2], split_dim=1, num_split=2)
case("PadD", {"x": X}, np.pad(X, ((0, 0), (1, 2), (0, 3))), paddings=[[0, 0], [1, 2], [0, 3]])
case("StridedSliceD", {"x": X}, X[:, 0:3:2, 1:4], begin=[0, 0, 1], end=[2, 3, 4], strides=[1, 2, 1])
case("SliceD", {"x": X}, X[:, 1:3, 1:4], offsets=[0, 1, 1], size=[2, 2, 3])
case("GatherV2D", {"x": X, "indices": ROWS}, X[:, ROWS], axis=1)
case("OneHotD", {"x": ROWS, "on_value": np.float32(2), "off_value": np.float32(-1)},
     np.where(np.eye(4)[ROWS] > 0, 2, -1).astype(np.float32), depth=4)  # fmt: skip
case("CumsumD", {"x": X}, np.cumsum(X, 1), axis=1)
case("CumprodD", {"x": X}, np.cumprod(X, 2), axis=2)
case("FillD", {"value": np.float32(3)}, np.full((2, 5), 3, np.float32), dims=[2, 5])
case("BroadcastToD", {"x": X[:, :1]}, np.broadcast_to(X[:, :1], (2, 3, 4)), shape=[2, 3, 4])
case("ExpandD", {"x": X[:, :1]}, np.broadcast_to(X[:, :1], (2, 3, 4)), shape=[2, 3, 4])
case("ReverseV2D", {"x": X}, X[::-1, :, ::-1], axis=[0, 2])
case("UnsortedSegmentSumD", {"x": X[0], "segment_ids": ROWS}, np.stack([X[0][1], X[0][0] + X[0][2]]), num_segments=2)
case("ResizeNearestNeighborV2D", {"x": IMAGE}, IMAGE.repeat(2, 2).repeat(2, 3), NCHW, size=[12, 16])
case("ArgMaxD", {"x": X}, X.argmax(1).astype(np.int32), dimension=1)
case("ArgMinD", {"x": X}, X.argmin(2).astype(np.int32), dimension=2)
case("ReduceAllD", {"x": FLAGS}, FLAGS.all((0, 2)), axes=[0, 2])
case("ReduceAnyD", {"x": FLAGS}, FLAGS.any(1, keepdims=True), axes=[1], keep_dims=True)
case("AscendQuantV2", {"x": X, "scale": np.float32([4])}, np.clip(np.floor(X * 16), -128, 127).astype(np.int8),
     sqrt_mode=True, round_mode="floor")  # fmt: skip
case("AscendQuantV2", {"x": X, "scale": X[0, :, 0] + 9, "offset": np.float32([1, 2, 3])},
     np.clip(np.rint(X * (X[0, :, :1] + 9) + np.float32([[1], [2], [3]])), -128, 127).astype(np.int8),
     axis=-2)  # fmt: skip
ROWS_HALF = X.astype(np.float16)
ROW_SCALES = np.abs(ROWS_HALF.astype(np.float32)).max(-1) * np.float32(1 / 127)
case("DynamicQuant", {"x": ROWS_HALF}, [np.rint(ROWS_HALF / ROW_SCALES[..., None]).astype(np.int8), ROW_SCALES])
case("AddV2", {"x1": X, "x2": Y}, X + Y)
case("Inv", {"x": X}, 1 / X)
case("Rint", {"x": X}, np.rint(X))
case("BiasAdd", {"x": IMAGE, "bias": X[0, :, 0]}, IMAGE + X[0, :, 0][:, None, None], NCHW, data_format="NCHW")
case("BiasAdd", {"x": X, "bias": X[0, 0]}, X + X[0, 0])
case("MaxPool", {"x": IMAGE}, windows(IMAGE, np.max), NCHW, **POOL)
case("MaxPool", {"x": IMAGE.transpose(0, 2, 3, 1)}, windows(IMAGE, np.max).transpose(0, 2, 3, 1),
     {"x": "NHWC", "y": "NHWC"}, **LAST)  # fmt: skip
case("AvgPool", {"x": IMAGE}, windows(IMAGE, np.mean), NCHW, **POOL)
case("AvgPool", {"x": IMAGE[:, :, :1, :1]}, IMAGE[:, :, :1, :1], NCHW, **POOL | {"padding": "SAME"})
case("GlobalAveragePool", {"x": IMAGE}, IMAGE.mean((2, 3), keepdims=True), NCHW)
case("Relu6", {"x": 10 * X}, np.clip(10 * X, 0, 6))
case("HardShrink", {"input_x": X}, np.where(abs(X) > 0.5, X, 0))
case("SoftShrink", {"input_x": X}, np.sign(X) * np.maximum(abs(X) - 0.25, 0), lambd=0.25)
case("ZerosLike", {"x": X}, np.zeros_like(X))
case("OnesLike", {"x": X}, np.ones_like(X))
case("SquaredDifference", {"x1": X, "x2": Y[:, :1]}, (X - Y[:, :1]) ** 2)
case("Axpy", {"x1": X, "x2": Y}, X + np.float32(0.3) * Y, alpha=0.3)
case("AxpyV2", {"x1": X, "x2": Y, "alpha": np.float32(0.3)}, X + np.float32(0.3) * Y)
case("Lerp", {"start": X, "end": Y, "weight": abs(X)}, X + abs(X) * (Y - X))
case("Addcmul", {"input_data": X, "x1": Y, "x2": X, "value": np.float32(2)}, X + 2 * (Y * X))
case("Addcdiv", {"input_data": X, "x1": Y, "x2": X, "value": np.float32(2)}, X + 2 * (Y / X))
case("DivNoNan", {"x1": X, "x2": np.maximum(Y, 0)}, np.where(Y > 0, X / np.where(Y > 0, Y, 1), 0))
case("Xdivy", {"x1": np.maximum(X, 0), "x2": Y}, np.where(X > 0, X / Y, 0))
case("Xlogy", {"x1": np.maximum(X, 0), "x2": abs(Y)}, np.where(X > 0, X * np.log(abs(Y)), 0))
case("Select", {"condition": np.array([True, False]), "x1": X, "x2": Y}, np.stack([X[0], Y[1]]))
case("Select", {"condition": FLAGS, "x1": X, "x2": Y}, np.where(FLAGS, X, Y))
case("MaskedFill", {"x": X, "mask": FLAGS, "value": np.float32(9)}, np.where(FLAGS, 9, X))
case("Where", {"x": FLAGS}, np.argwhere(FLAGS))
case("Rank", {"x": X}, np.array(3, np.int32))
case("Concat", {"=concat_dim": np.array(1, np.int32), "x0": X, "x1": Y}, np.concatenate([X, Y], 1), N=2)
case("SqueezeV2", {"x": X[:, :1]}, X[:, 0], axis=[1])
case("UnsqueezeV2", {"x": X}, X[:, None], axis=[1])
case("FlattenV2", {"x": IMAGE}, IMAGE.reshape(2, 18, 8), axis=1, end_axis=2)
case("Einsum", {"x0": X, "x1": Y}, np.einsum("abc,adc->abd", X, Y), equation="abc,adc->abd", N=2)
case("Roll", {"x": X}, np.roll(X, (1, -2), (0, 2)), shifts=[1, -2], dims=[0, 2])
case("Roll", {"x": X}, np.roll(X, 5), shifts=[5])
case("AddLayerNorm", {"x1": X, "x2": Y, "gamma": X[0, 0], "beta": Y[0, 0]},
     [NORMED * X[0, 0] + Y[0, 0], (X + Y).mean(-1, keepdims=True),
      1 / np.sqrt((X + Y).var(-1, keepdims=True) + 1e-5), X + Y])  # fmt: skip
case("MatrixBandPart", {"x": X, "=num_lower": np.array(1, np.int64), "=num_upper": np.array(0, np.int64)},
     np.tril(X) - np.tril(X, -2))  # fmt: skip


QUERY, KEY, VALUE = (RNG.standard_normal((2, n, 5, 8)).astype(np.float32) for n in (4, 2, 2))


def attention(query: np.ndarray, key: np.ndarray, value: np.ndarray) -> np.ndarray:
    """By definition, [batch, heads, length, width]; two heads of queries share one of keys."""
    key, value = key.repeat(2, 1), value.repeat(2, 1)
    scores = np.exp(query @ key.transpose(0, 1, 3, 2) * 0.25)
    found: np.ndarray = scores / scores.sum(-1, keepdims=True) @ value
    return found


def beside(x: np.ndarray) -> np.ndarray:
    """[batch, heads, length, width] as [batch, length, heads * width]."""
    return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)


HEADS = {"num_heads": 4, "num_key_value_heads": 2, "scale_value": 0.25}
OPERANDS = {"query": QUERY, "key": KEY, "value": VALUE}
RESULT = attention(QUERY, KEY, VALUE)
case("PromptFlashAttention", {name: beside(x) for name, x in OPERANDS.items()}, beside(RESULT), **HEADS,
     input_layout="BSH")  # fmt: skip
case("PromptFlashAttention", {name: x.transpose(0, 2, 1, 3) for name, x in OPERANDS.items()},
     RESULT.transpose(0, 2, 1, 3), **HEADS, input_layout="BSND")  # fmt: skip
HALF, FILTER = IMAGE.astype(np.float16), RNG.standard_normal((1, 1, 3, 2)).astype(np.float16)
FACTOR = X[:1, :, :1, None].astype(np.float16)
case("DepthwiseConv2D", {"x": HALF, "filter": FILTER},
     (HALF[:, :, None] * FILTER[0, 0][:, :, None, None]).reshape(2, 6, 6, 8), NCHW | {"filter": "HWCN"},
     strides=[1, 1, 1, 1], pads=[0, 0, 0, 0], data_format="NCHW")  # fmt: skip
case("DepthwiseConv2D", {"x": HALF.transpose(0, 2, 3, 1), "filter": FACTOR},
     (HALF * FACTOR[0][None]).transpose(0, 2, 3, 1), {"x": "NHWC", "y": "NHWC", "filter": "NCHW"},
     strides=[1, 1, 1, 1], pads=[0, 0, 0, 0], data_format="NHWC")  # fmt: skip
case("ClipByValueV2", {"x": X, "clip_value_min": np.float32(-0.5), "clip_value_max": np.float32(0.2)},
     np.clip(X, -0.5, 0.2))  # fmt: skip
case("GatherD", {"x": X, "=dim": np.array(2, np.int32), "index": np.argsort(X, 2).astype(np.int64)}, np.sort(X, 2))
case("ReduceVar", {"x": X}, [X.var((0, 2), ddof=1), X.mean((0, 2))], dim=[0, 2])
case("ReduceStdV2", {"x": X}, [X.std(keepdims=True), X.mean(keepdims=True)], correction=0, keepdim=True)
case("ResizeBilinearV2D", {"x": IMAGE}, IMAGE, NCHW, size=[6, 8])
case("Conv2DTransposeD", {"x": IMAGE, "filter": X[0, :, :1, None, None]},
     (IMAGE * X[0, :, 0][:, None, None]).sum(1)[:, None],
     NCHW | {"filter": "NCHW"}, input_size=[2, 1, 6, 8], strides=[1, 1, 1, 1], pads=[0, 0, 0, 0],
     data_format="NCHW")  # fmt: skip


def file_of(name: str) -> tuple[Any, list[np.ndarray]]:
    """The message of a file with this operator alone, and the arrays that it takes."""
    type, attrs, inputs, results, formats = CASES[name]
    graph = Graph("net")
    b = Builder(graph)
    ops, fed, arrays = [], [], []
    for index, (port, given) in enumerate(inputs.items()):
        array = np.asarray(given)
        constant = port.startswith("=")
        source = Op(f"in{index}", "Const" if constant else "Data")
        source.attrs = {"value": Constant.of(array)} if constant else {"index": len(arrays)}
        if not constant:
            arrays.append(array)
        dtype = DType.of(array.dtype.name)
        source.outs.append(Out(source, 0, "y", b.input(f"in{index}", dtype, array.shape)))
        ops.append(source)
        fed.append((port.removeprefix("="), source.outs[0]))
    op = Op("made", type, fed, dict(attrs), formats=dict(formats))
    declared = prototype(type)
    assert declared is not None
    made = [np.asarray(r) for r in (results if isinstance(results, list) else [results])]
    dynamic = declared.outputs[0].kind == "d"
    for index, array in enumerate(made):
        port = f"y{index}" if dynamic else declared.outputs[index].name
        value = b.input(f"out{index}", DType.of(array.dtype.name), array.shape)
        op.outs.append(Out(op, index, port, value))
    return parse_air(write_air(Program("net", [Net("net", [*ops, op], list(op.outs))])).data), arrays


@pytest.mark.parametrize("name", CASES)
def test_what_it_computes(name: str) -> None:
    results = CASES[name][3]
    model, arrays = file_of(name)
    errors = [str(f) for f in check_air(model, CHIPS["ascend910b"]) if f.severity == "error"]
    assert errors == []
    got, _ = interpret(import_air(model).graph, arrays)
    for a, b in zip(got, results if isinstance(results, list) else [results], strict=True):
        assert np.shape(a) == np.shape(b) and np.asarray(a).dtype == np.asarray(b).dtype
        near = 2e-3 if np.asarray(b).dtype == np.float16 else 1e-5
        np.testing.assert_allclose(a, b, rtol=near, atol=near)


def test_every_form_of_others_has_a_case() -> None:
    assert meaning_of("Conv2D") and lowering_of("Conv")
    of_others = {
        name for name, mean in MEANINGS.items()
        if getattr(mean, "func", mean).__module__.endswith((".attribute_form", ".composed"))
    }  # fmt: skip
    assert of_others == {CASES[name][0] for name in CASES} - {"PromptFlashAttention", "AscendQuantV2", "DynamicQuant"}
