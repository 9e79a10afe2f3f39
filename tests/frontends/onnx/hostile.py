"""Mutated models: fields set to what they should never hold. Run as a program, it imports a range of them.

python hostile.py FIRST LAST    one line for each mutation that ends in anything but a graph or a GeError
"""

from __future__ import annotations

import random
import resource
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from typing import Any

import numpy as np
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message
from onnx import ModelProto, TensorProto, ValueInfoProto, helper, numpy_helper

MEMORY = 4 << 30
SECONDS = 20

_INTS = (-1, 0, 1, 2, 3, 7, 29, 255, 1 << 31, (1 << 31) - 1, 1 << 40, 1 << 62, (1 << 63) - 1, -(1 << 63), -(1 << 31))
_FLOATS = (0.0, -0.0, float("nan"), float("inf"), -float("inf"), 1e-40, 3e38)
_TEXTS = ("", "x", "y", "w", "\0", "é" * 300, "ij,jk->ik", "...->", "i" * 70 + "->", "->->", "SAME_UPPER", "nearest",
          "Conv", "Loop", "If", "com.microsoft", "ai.onnx", "Squeeze", "Reshape", "Einsum", "../../w", "a+b*c-",
          "f")  # fmt: skip


def _info(name: str, kind: int = TensorProto.FLOAT, shape: Any = None) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def _model(nodes: list[Any], inputs: list[Any], outputs: str, tensors: dict[str, Any], opset: int, **more: Any) -> Any:
    made = [numpy_helper.from_array(np.asarray(a), name) for name, a in tensors.items()]
    graph = helper.make_graph(nodes, "net", inputs, [ValueInfoProto(name=n) for n in outputs.split()], made)
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10, **more)


def _node(op: str, inputs: str, outputs: str, domain: str = "", **attrs: Any) -> Any:
    return helper.make_node(op, [i.strip("_") for i in inputs.split()], outputs.split(), domain=domain, **attrs)


def _layers() -> Any:
    nodes = [
        _node("Conv", "x k", "a", pads=[1, 1, 1, 1], strides=[2, 2]), _node("BatchNormalization", "a s s s s", "b"),
        _node("MaxPool", "b", "c", kernel_shape=[2, 2], ceil_mode=1), _node("Flatten", "c", "d"),
        _node("Gemm", "d w s", "e", transB=1), _node("Softmax", "e", "y", axis=-1),
        _node("Resize", "x _ r", "z", mode="linear"), _node("Transpose", "x", "t", perm=[0, 2, 3, 1]),
        _node("Split", "x n", "p q", axis=1), _node("Concat", "p q", "v", axis=-3), _node("Pad", "x m", "u"),
    ]  # fmt: skip
    tensors = {"k": np.ones((4, 3, 3, 3), "f"), "s": np.ones(4, "f"), "w": np.ones((4, 36), "f"),
               "r": np.float32([1, 1, 2, 2]), "n": np.int64([1, 2]),
               "m": np.int64([0, 0, 1, 1, 0, 0, 1, 1])}  # fmt: skip
    return _model(nodes, [_info("x", shape=["n", 3, 8, 8])], "y z t v u", tensors, 17)


def _sizes() -> Any:
    nodes = [
        _node("Shape", "x", "s"), _node("Gather", "s zero", "d"), _node("Unsqueeze", "d zero1", "d1"),
        _node("Concat", "d1 minus", "shape", axis=0), _node("Reshape", "x shape", "y"),
        _node("Slice", "x zero1 d1", "z"), _node("Einsum", "x x", "e", equation="ij,kj->ik"),
        _node("Expand", "one shape2", "f"), _node("Range", "zero d step", "r"),
        _node("TopK", "x k", "t i", axis=-1), _node("OneHot", "i depth pair", "o"), _node("Tile", "x rep", "g"),
        _node("ScatterND", "x idx upd", "h"), _node("CumSum", "x zero", "c"), _node("ConstantOfShape", "shape2", "w"),
    ]  # fmt: skip
    tensors = {"zero": np.int64(0), "zero1": np.int64([0]), "minus": np.int64([-1]), "one": np.float32([1]),
               "shape2": np.int64([2, 3]), "step": np.int64(1), "k": np.int64([2]), "depth": np.int64(5),
               "pair": np.float32([0, 1]), "rep": np.int64([2, 2]), "idx": np.int64([[0, 0]]),
               "upd": np.float32([1])}  # fmt: skip
    return _model(nodes, [_info("x", shape=["n", 4])], "y z e f r t o g h c w", tensors, 18)


def _control() -> Any:
    inner = helper.make_graph([_node("Add", "s x", "r"), _node("Identity", "go", "again")], "body",
                              [_info("i", TensorProto.INT64, []), _info("go", TensorProto.BOOL, []), _info("s")],
                              [ValueInfoProto(name=n) for n in ("again", "r", "r")])  # fmt: skip
    then = helper.make_graph([_node("Neg", "x", "t")], "then", [], [ValueInfoProto(name="t")])
    scan = helper.make_graph([_node("Add", "h e", "h2")], "scan", [_info("h"), _info("e")],
                             [ValueInfoProto(name="h2"), ValueInfoProto(name="h2")])  # fmt: skip
    nodes = [
        _node("Loop", "m true x", "a b", body=inner), _node("If", "c", "d", then_branch=then, else_branch=then),
        _node("Scan", "h0 x", "last all", body=scan, num_scan_inputs=1), _node("SequenceConstruct", "x a", "q"),
        _node("SequenceAt", "q zero", "y"), _node("ConcatFromSequence", "q", "z", axis=0),
        _node("Optional", "x", "o"),
        _node("OptionalGetElement", "o", "p"), _node("F", "x", "f", domain="own", alpha=0.5),
        _node("SplitToSequence", "x", "parts", axis=0),
    ]  # fmt: skip
    leaky = _node("LeakyRelu", "v", "w")
    leaky.attribute.add(name="alpha", ref_attr_name="alpha", type=1)
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    function = helper.make_function("own", "F", ["v"], ["w"], [leaky], imports, attributes=["alpha"])
    tensors = {"m": np.int64(3), "true": np.bool_(True), "zero": np.int64(0), "h0": np.zeros(4, "f")}
    inputs = [_info("x", shape=[3, 4]), _info("c", TensorProto.BOOL, [])]
    return _model(nodes, inputs, "a b d last all y z p f", tensors, 18, functions=[function])


def _quantised() -> Any:
    nodes = [
        _node("QuantizeLinear", "x s z", "q"), _node("DequantizeLinear", "q s z", "d"),
        _node("MatMulInteger", "q q8 z", "i"),
        _node("MatMulNBits", "d b sc", "n", "com.microsoft", K=32, N=4, bits=4, block_size=16),
        _node("SkipLayerNormalization", "d d g", "k", "com.microsoft"), _node("LSTM", "l lw lr", "y yh", hidden_size=2),
        _node("Attention", "d aw ab", "att", "com.microsoft", num_heads=2), _node("Clip", "x lo", "cl"),
        _node("GroupQueryAttention", "d d d _ _ e t", "gqa", "com.microsoft", num_heads=2, kv_num_heads=2),
    ]  # fmt: skip
    tensors = {"s": np.float32(0.1), "z": np.uint8(9), "q8": np.ones((32, 2), np.uint8),
               "b": np.ones((4, 2, 8), np.uint8), "sc": np.ones(8, "f"), "g": np.ones(32, "f"),
               "lw": np.ones((1, 8, 3), "f"), "lr": np.ones((1, 8, 2), "f"),
               "aw": np.ones((32, 96), "f"), "ab": np.ones(96, "f"), "lo": np.float32(0), "e": np.int32([2, 2]),
               "t": np.int32(3)}  # fmt: skip
    inputs = [_info("x", shape=[2, 3, 32]), _info("l", shape=["seq", 2, 3])]
    return _model(nodes, inputs, "i n k y yh att cl gqa", tensors, 18)


def _learned() -> Any:
    ml = "ai.onnx.ml"
    tree = {
        "nodes_treeids": [0] * 3, "nodes_nodeids": [0, 1, 2], "nodes_featureids": [1, 0, 0],
        "nodes_values": [0.5, 0.0, 0.0], "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
        "nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0],
    }  # fmt: skip
    vectors = {"kernel_type": "RBF", "kernel_params": [0.5, 0.0, 3.0], "support_vectors": [1.0, 2.0, 3.0, 4.0]}
    vectors |= {"rho": [0.1]}
    nodes = [
        _node("TreeEnsembleRegressor", "x", "r", ml, **tree, n_targets=1, target_treeids=[0, 0],
              target_nodeids=[1, 2], target_ids=[0, 0], target_weights=[1.0, 2.0], aggregate_function="SUM"),
        _node("TreeEnsembleClassifier", "x", "a b", ml, **tree, class_treeids=[0, 0], class_nodeids=[1, 2],
              class_ids=[0, 0], class_weights=[0.1, 0.9], classlabels_int64s=[3, 4], post_transform="LOGISTIC"),
        _node("SVMRegressor", "x", "c", ml, **vectors, n_supports=2, coefficients=[1.0, -1.0]),
        _node("SVMClassifier", "x", "d e", ml, **vectors, vectors_per_class=[1, 1], coefficients=[1.0, -1.0],
              classlabels_ints=[3, 4]),
        _node("LinearClassifier", "x", "f g", ml, coefficients=[1.0, 2.0], intercepts=[0.5], classlabels_ints=[0, 1]),
        _node("Scaler", "x", "h", ml, offset=[0.5], scale=[2.0]), _node("Normalizer", "h", "i", ml, norm="L2"),
        _node("FeatureVectorizer", "x h", "j", ml, inputdimensions=[3, 1]),
        _node("Imputer", "x", "k", ml, imputed_value_floats=[1.0, 2.0], replaced_value_float=0.0),
    ]  # fmt: skip
    model = _model(nodes, [_info("x", shape=["n", 2])], "r a b c d e f g i j k", {}, 17)
    model.opset_import.append(helper.make_opsetid(ml, 3))
    return model


BASES = (_layers, _sizes, _control, _quantised, _learned)


def mutated(seed: int) -> ModelProto | None:
    """A model with one to four fields changed, or some bytes; None when the bytes are no message any more."""
    rng = random.Random(seed)
    model = rng.choice(BASES)()
    if seed % 10 == 9:
        data = bytearray(model.SerializeToString())
        for _ in range(rng.randint(1, 8)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        try:
            return ModelProto.FromString(bytes(data[: rng.choice([len(data), rng.randrange(len(data))])]))
        except DecodeError:
            return None
    for _ in range(rng.randint(1, 4)):
        _change(rng, rng.choice(list(_messages(model))))
    return model


def _messages(message: Message) -> Iterator[Message]:
    yield message
    for field, value in message.ListFields():
        if field.message_type is not None:
            for inner in value if _is_repeated(field) else [value]:
                yield from _messages(inner)


def _is_repeated(field: FieldDescriptor) -> bool:
    return bool(field.is_repeated)


def _change(rng: random.Random, message: Message) -> None:
    """Change one field: those that are set, and now and then one that is not."""
    fields = [f for f, _ in message.ListFields()] or list(message.DESCRIPTOR.fields)
    field = rng.choice(fields if rng.random() < 0.8 else list(message.DESCRIPTOR.fields))
    if _is_repeated(field):
        _change_list(rng, getattr(message, field.name), field)
    elif field.message_type is not None:
        if rng.random() < 0.5:
            message.ClearField(field.name)
        else:
            getattr(message, field.name).SetInParent()
    else:
        setattr(message, field.name, _value(rng, field, getattr(message, field.name)))


def _change_list(rng: random.Random, items: Any, field: FieldDescriptor) -> None:
    kind = rng.randrange(4)
    if kind == 0 and len(items):
        del items[rng.randrange(len(items))]
    elif kind == 1 and len(items):
        items.append(items[rng.randrange(len(items))])
    elif kind == 2 and len(items) > 1:
        copies = list(items)
        rng.shuffle(copies)
        del items[:]
        items.extend(copies)
    elif field.message_type is None:
        value = _value(rng, field, items[0] if len(items) else None)
        if len(items) and rng.random() < 0.7:
            items[rng.randrange(len(items))] = value
        else:
            items.extend([value] * rng.choice([1, 2, 70]))
    else:
        items.add()


def _value(rng: random.Random, field: FieldDescriptor, old: Any) -> Any:
    kinds = FieldDescriptor
    if field.cpp_type == kinds.CPPTYPE_ENUM:
        return rng.choice(field.enum_type.values).number
    if field.cpp_type == kinds.CPPTYPE_STRING:
        if field.type == kinds.TYPE_BYTES:
            data = old or b""
            return rng.choice([b"", data[: len(data) // 2], data + b"\xff" * 7, b"\xff\xfe", b"ij->j", b"add"])
        return rng.choice(_TEXTS)
    if field.cpp_type in (kinds.CPPTYPE_FLOAT, kinds.CPPTYPE_DOUBLE):
        return rng.choice(_FLOATS)
    if field.cpp_type == kinds.CPPTYPE_BOOL:
        return not old
    value = rng.choice(_INTS)
    if field.cpp_type == kinds.CPPTYPE_INT32:
        return max(-(1 << 31), min(value, (1 << 31) - 1))
    if field.cpp_type in (kinds.CPPTYPE_UINT64, kinds.CPPTYPE_UINT32):
        return abs(value) & 0xFFFFFFFF
    return value


class TooSlowError(Exception):
    """An import took longer than it may."""


def _alarm(*_: Any) -> None:
    raise TooSlowError


def main(first: int, last: int) -> None:
    """Import the mutations of a range of seeds with little memory and time."""
    from ge_core.errors import GeError
    from ge_core.ir.verifier import verify
    from ge_frontend_onnx.importer import import_model

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGALRM, _alarm)
    counts = {"graph": 0, "error": 0, "undecodable": 0}
    slowest = 0.0
    for seed in range(first, last):
        model = mutated(seed)
        if model is None:
            counts["undecodable"] += 1
            continue
        start = time.perf_counter()
        signal.alarm(SECONDS)
        try:
            verify(import_model(model).graph)
            counts["graph"] += 1
        except GeError as error:
            counts["error"] += 1
            if not str(error):
                print("BAD", seed, "an error without a message", flush=True)
        except BaseException:  # noqa: BLE001  whatever else it is, it is what this looks for
            print("BAD", seed, traceback.format_exc()[-700:].replace("\n", " | "), flush=True)
        signal.alarm(0)
        slowest = max(slowest, time.perf_counter() - start)
    print("DONE", counts["graph"], counts["error"], counts["undecodable"], f"{slowest:.2f}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
