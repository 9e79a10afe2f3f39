"""Times quantised products, convolutions and whole models against ONNX Runtime, one thread each, in turns.

    python bench/int8.py [words that names must contain]
    python bench/int8.py --table                            the stored results, in Markdown

Prints the best time of ours and how many times longer ONNX Runtime takes, and how far the results are apart: whole
numbers that are rounded differently where a value lies between two of them. Models are quantised by ONNX Runtime's own
tools from random data; rows of earlier runs stay in bench/results/int8.json. Needs onnx and onnxruntime.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import ge_core

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results" / "int8.json"
PACKAGES = ("onnx", "onnxruntime", "numpy", "llvmlite")
SECONDS = 1.0
"""For each side of a case."""
RNG = np.random.default_rng(5)
Made = tuple[onnx.ModelProto, dict[str, np.ndarray]]
_TYPES = {
    np.dtype(np.float32): TensorProto.FLOAT,
    np.dtype(np.uint8): TensorProto.UINT8,
    np.dtype(np.int8): TensorProto.INT8,
}


def _model(nodes: list[Any], inputs: dict[str, np.ndarray], outputs: dict[str, int], weights: dict[str, Any]) -> Made:
    graph = helper.make_graph(
        nodes,
        "case",
        [helper.make_tensor_value_info(name, _TYPES[x.dtype], x.shape) for name, x in inputs.items()],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs.items()],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), inputs


def _bytes(kind: str, *shape: int) -> np.ndarray:
    info = np.iinfo(kind)
    return RNG.integers(info.min, info.max, shape, np.dtype(kind), endpoint=True)


def matmul(m: int, k: int, n: int) -> Made:
    """MatMulInteger of uint8 and constant int8."""
    node = helper.make_node("MatMulInteger", ["x", "w", "z"], ["y"])
    weights = {"w": _bytes("int8", k, n), "z": np.uint8(128)}
    return _model([node], {"x": _bytes("uint8", m, k)}, {"y": TensorProto.INT32}, weights)


def dynamic(m: int, k: int, n: int) -> Made:
    """A product of floats as dynamic quantisation makes it."""
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        helper.make_node("MatMulInteger", ["q", "w", "z"], ["i"]),
        helper.make_node("Cast", ["i"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["s", "t"], ["st"]),
        helper.make_node("Mul", ["f", "st"], ["p"]),
        helper.make_node("Add", ["p", "c"], ["y"]),
    ]
    weights = {"w": _bytes("int8", k, n), "t": np.float32(0.01), "c": RNG.standard_normal(n).astype(np.float32)}
    x = RNG.standard_normal((m, k)).astype(np.float32)
    return _model(nodes, {"x": x}, {"y": TensorProto.FLOAT}, weights)


def convolution(size: int, channels: int, out: int, kernel: int, stride: int = 1) -> Made:
    """QLinearConv with a scale for each channel and a bias."""
    names = ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"]
    node = helper.make_node("QLinearConv", names, ["y"], pads=[kernel // 2] * 4, strides=[stride] * 2)
    scale = RNG.uniform(0.001, 0.002, out).astype(np.float32)
    weights = {
        "xs": np.float32(0.02), "xz": np.uint8(120), "w": _bytes("int8", out, channels, kernel, kernel), "ws": scale,
        "wz": np.zeros(out, np.int8), "ys": np.float32(0.00014 * kernel * channels**0.5 * 10), "yz": np.uint8(128),
        "b": RNG.integers(-9999, 9999, out).astype(np.int32),
    }  # fmt: skip
    return _model([node], {"x": _bytes("uint8", 1, channels, size, size)}, {"y": TensorProto.UINT8}, weights)


class _Net:
    """A network of convolutions under construction."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.weights: dict[str, np.ndarray] = {}

    def add(self, op: str, inputs: list[str], **attrs: Any) -> str:
        """A node; its result."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=f"n{len(self.nodes)}", **attrs))
        return name

    def weight(self, *shape: int, scale: float) -> str:
        """A constant of random numbers."""
        name = f"w{len(self.weights)}"
        self.weights[name] = (RNG.standard_normal(shape) * scale).astype(np.float32)
        return name

    def conv(
        self, x: str, channels: int, out: int, kernel: int, stride: int = 1, group: int = 1, act: str = "Relu"
    ) -> str:
        """A convolution with a bias and what follows it."""
        fan = channels // group * kernel * kernel
        operands = [x, self.weight(out, channels // group, kernel, kernel, scale=(2 / fan) ** 0.5)]
        operands.append(self.weight(out, scale=0.1))
        y = self.add("Conv", operands, pads=[kernel // 2] * 4, strides=[stride] * 2, group=group)
        return self.add(act, [y]) if act == "Relu" else self.add("Clip", [y, "zero", "six"]) if act == "Relu6" else y

    def model(self, x: str, channels: int) -> Made:
        """With a pool and a classifier behind it."""
        pooled = self.add("Flatten", [self.add("GlobalAveragePool", [x])])
        y = self.add(
            "Gemm", [pooled, self.weight(1000, channels, scale=channels**-0.5), self.weight(1000, scale=0.1)], transB=1
        )
        inputs = {"image": RNG.standard_normal((1, 3, 224, 224)).astype(np.float32)}
        return _model(self.nodes, inputs, {y: TensorProto.FLOAT}, self.weights)


def resnet50() -> Made:
    """ResNet-50 with its batch norms folded."""
    net = _Net()
    x = net.add("MaxPool", [net.conv("image", 3, 64, 7, 2)], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels = 64
    for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(count):
            step = stride if i == 0 else 1
            y = net.conv(net.conv(x, channels, width, 1), width, width, 3, step)
            y = net.conv(y, width, 4 * width, 1, act="")
            shortcut = net.conv(x, channels, 4 * width, 1, step, act="") if i == 0 else x
            x, channels = net.add("Relu", [net.add("Add", [y, shortcut])]), 4 * width
    return net.model(x, channels)


def mobilenet() -> Made:
    """MobileNetV2 with its batch norms folded."""
    net = _Net()
    net.weights |= {"zero": np.array(0, np.float32), "six": np.array(6, np.float32)}
    x, channels = net.conv("image", 3, 32, 3, 2, act="Relu6"), 32
    for factor, out, count, stride in (
        (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
    ):  # fmt: skip
        for i in range(count):
            step, wide = stride if i == 0 else 1, factor * channels
            y = net.conv(x, channels, wide, 1, act="Relu6") if factor > 1 else x
            y = net.conv(net.conv(y, wide, wide, 3, step, wide, act="Relu6"), wide, out, 1, act="")
            x, channels = net.add("Add", [x, y]) if step == 1 and out == channels else y, out
    return net.model(net.conv(x, channels, 1280, 1, act="Relu6"), 1280)


def quantised(make: Callable[[], Made], kinds: tuple[str, str]) -> Made:
    """A model with QuantizeLinear and DequantizeLinear. Args: kinds: of activations and weights."""
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    model, inputs = make()

    class Reader(CalibrationDataReader):
        def __init__(self) -> None:
            self.left = 2

        def get_next(self) -> Any:
            self.left -= 1
            image = RNG.standard_normal((1, 3, 224, 224)).astype(np.float32)
            return {"image": image} if self.left >= 0 else None

    with tempfile.TemporaryDirectory() as folder:
        before, after = Path(folder) / "before.onnx", Path(folder) / "after.onnx"
        onnx.save(model, before)
        types = {"uint8": QuantType.QUInt8, "int8": QuantType.QInt8}
        quantize_static(
            before, after, Reader(), quant_format=QuantFormat.QDQ, per_channel=True,
            activation_type=types[kinds[0]], weight_type=types[kinds[1]],
        )  # fmt: skip
        return onnx.load(after), inputs


CASES: dict[str, Callable[[], Made]] = {
    **{f"MatMulInteger {m}x{k}x{n}": partial(matmul, m, k, n)
       for m, k, n in ((128, 768, 768), (512, 512, 512), (1, 4096, 4096), (8, 4096, 4096), (1024, 1024, 1024))},
    **{f"dynamic product {m}x{k}x{n}": partial(dynamic, m, k, n) for m, k, n in ((128, 768, 3072), (1, 4096, 4096))},
    "QLinearConv 56x56x64->64 3x3": partial(convolution, 56, 64, 64, 3),
    "QLinearConv 14x14x256->256 3x3": partial(convolution, 14, 256, 256, 3),
    "QLinearConv 14x14x1024->256 1x1": partial(convolution, 14, 1024, 256, 1),
    "QLinearConv 56x56x64->256 1x1": partial(convolution, 56, 64, 256, 1),
    "QLinearConv 7x7x512->512 3x3": partial(convolution, 7, 512, 512, 3),
    "QLinearConv 28x28x128->128 3x3/2": partial(convolution, 28, 128, 128, 3, 2),
    "ResNet-50 uint8": partial(quantised, resnet50, ("uint8", "int8")),
    "ResNet-50 int8": partial(quantised, resnet50, ("int8", "int8")),
    "MobileNetV2 uint8": partial(quantised, mobilenet, ("uint8", "int8")),
}  # fmt: skip


def run(make: Callable[[], Made]) -> dict[str, float]:
    """The row of a case: best seconds, ratio to ONNX Runtime, and how far apart the results are."""
    model, inputs = make()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    peer = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    ours = ge_core.compile(model, target="cpu", options={"num_threads": 1})
    values = list(inputs.values())
    functions = (lambda: ours(*values), lambda: peer.run(None, inputs))
    found = [np.asarray(functions[0]()), np.asarray(functions[1]()[0])]
    apart = float(np.abs(found[0].astype(np.float64).reshape(found[1].shape) - found[1]).max(initial=0))
    best = [float("inf")] * 2
    end = time.perf_counter() + 2 * SECONDS
    while time.perf_counter() < end:
        for i, function in enumerate(functions):
            start = time.perf_counter()
            function()
            best[i] = min(best[i], time.perf_counter() - start)
    scale = float(np.abs(found[1].astype(np.float64)).max(initial=0))
    return {"seconds": best[0], "onnxruntime": best[1] / best[0], "apart": apart, "largest": scale}


def main(words: list[str]) -> int:
    """Time the cases whose names contain all words."""
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {"rows": {}}
    if words == ["--table"]:
        from bench.operator_tables import int8_table

        print(int8_table(results))
        return 0
    kept = results["rows"]
    results["versions"] = {name: metadata.version(name) for name in PACKAGES}
    for name, make in CASES.items():
        if all(word in name for word in words):
            row = kept[name] = run(make)
            print(
                f"{name:36} {1e3 * row['seconds']:9.3f} ms   ONNX Runtime x{row['onnxruntime']:.2f}   "
                f"apart {row['apart']:g} of {row['largest']:g}", flush=True,
            )  # fmt: skip
            RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT)]
    sys.exit(main(sys.argv[1:]))
