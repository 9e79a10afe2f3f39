"""TFLite files, made by TensorFlow's converter, against its interpreter."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import ge_core
from ge_core.errors import GeError, ModelImportError, UnsupportedError
from ge_core.ir.graph import Value
from ge_core.plugins.frontend import ImportedModel
from ge_core.reference.call import compute
from ge_core.reference.interpret import interpret
from ge_frontend_tensorflow.tflite.importer import import_tflite

pytestmark = pytest.mark.filterwarnings("ignore")

Function = Callable[..., Any]
random = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return random.standard_normal(shape).astype(np.float32)


def converted(function: Function, *args: np.ndarray, **settings: Any) -> bytes:
    """The TFLite form of a function of tensors."""
    specs = [tf.TensorSpec(a.shape, tf.as_dtype(a.dtype)) for a in args]
    concrete = tf.function(function, autograph=False).get_concrete_function(*specs)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete])
    for name, value in settings.items():
        setattr(converter, name, value)
    return bytes(converter.convert())


def answers(data: bytes, *args: np.ndarray) -> list[np.ndarray]:
    """What TensorFlow's interpreter computes, without delegates."""
    resolver = tf.lite.experimental.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    found = tf.lite.Interpreter(model_content=data, experimental_op_resolver_type=resolver)
    found.allocate_tensors()
    for detail, array in zip(found.get_input_details(), args, strict=True):
        found.set_tensor(detail["index"], array)
    found.invoke()
    return [found.get_tensor(d["index"]) for d in found.get_output_details()]


def imported(data: bytes, folder: Path) -> ImportedModel:
    path = folder / "model.tflite"
    path.write_bytes(data)
    return import_tflite(str(path))


def compare(data: bytes, folder: Path, *args: np.ndarray, tolerance: float = 2e-6) -> ImportedModel:
    """Import the file, run it, compare; integers are equal."""
    model = imported(data, folder)
    ours, _ = interpret(model.graph, list(args))
    expected = answers(data, *args)
    # the interpreter's results are the graph's outputs in order; a signature may name them in another one
    for index, theirs in enumerate(expected):
        alike = [np.asarray(o) for o in ours if o.shape == theirs.shape and o.dtype == theirs.dtype]
        assert alike, f"result {index} is {theirs.dtype}{list(theirs.shape)}"
        assert min(_distance(o, theirs) for o in alike) <= tolerance, index
    return model


def _distance(ours: np.ndarray, theirs: np.ndarray, steps: int = 0) -> float:
    if theirs.dtype.kind in "iub":
        return 0.0 if np.abs(ours.astype(np.int64) - theirs.astype(np.int64)).max(initial=0) <= steps else np.inf
    if not np.array_equal(np.isnan(ours), np.isnan(theirs)):
        return np.inf
    scale = max(float(np.abs(theirs[np.isfinite(theirs)]).max(initial=0)), 1e-30)
    return float(np.nan_to_num(np.abs(ours - theirs), nan=0.0, posinf=0.0).max(initial=0)) / scale


X = normal(2, 5, 6, 3)
Y = normal(2, 5, 6, 3)
I = random.integers(-9, 9, (3, 4)).astype(np.int32)  # noqa: E741
POSITIVE = np.abs(X) + 0.5
K = normal(3, 2, 3, 4)

CASES: dict[str, tuple[Function, tuple[np.ndarray, ...]]] = {
    "arithmetic": (lambda x, y: (x + y, x - y, x * y, x / (tf.abs(y) + 1), tf.maximum(x, y), tf.minimum(x, y)), (X, Y)),
    "integers": (lambda x: (x + 3, x // 4, x % 4, tf.math.floormod(x, -3), tf.truncatediv(x, 4)), (I,)),
    "unary": (
        lambda x: (tf.floor(x), tf.math.ceil(x), tf.round(x), tf.exp(x), tf.sin(x), tf.cos(x), tf.abs(x), -x,
                   tf.sign(x), tf.tanh(x), tf.sigmoid(x), tf.nn.elu(x), tf.square(x)),
        (X,),
    ),
    "positive": (lambda x: (tf.sqrt(x), tf.math.rsqrt(x), tf.math.log(x), tf.pow(x, x)), (POSITIVE,)),
    "activations": (
        lambda x: (tf.nn.relu(x), tf.nn.relu6(x * 4), tf.nn.leaky_relu(x, 0.3), tf.nn.gelu(x, True),
                   tf.clip_by_value(x, -1.0, 1.0), x * tf.nn.relu6(x + 3) / 6, tf.nn.silu(x), tf.nn.softplus(x)),
        (X,),
    ),
    "comparisons": (lambda x, y: (x < y, x <= y, x > y, x >= y, tf.equal(x, y), tf.not_equal(x, y)), (X, Y)),
    "logic": (lambda x, y: (tf.logical_and(x > 0, y > 0), tf.logical_or(x > 0, y > 0), ~(x > 0)), (X, Y)),
    "where": (lambda x, y: (tf.where(x > 0, x, y), tf.where(x > 0)), (X[0, 0], Y[0, 0])),
    "conv": (lambda x: (tf.nn.conv2d(x, K, 1, "SAME"), tf.nn.relu(tf.nn.conv2d(x, K, 2, "SAME") + normal(4)),
                        tf.nn.conv2d(x, K, 1, "VALID", dilations=2)), (X,)),
    "depthwise": (lambda x: (tf.nn.depthwise_conv2d(x, normal(3, 3, 3, 2), [1, 2, 2, 1], "SAME"),
                             tf.nn.depthwise_conv2d(x, normal(2, 2, 3, 1), [1, 1, 1, 1], "VALID")), (X,)),
    "transposed": (
        lambda x: (tf.nn.conv2d_transpose(x, normal(3, 2, 4, 3), [2, 10, 12, 4], 2, "SAME"),
                   tf.nn.conv2d_transpose(x, normal(3, 2, 4, 3), [2, 11, 12, 4], 2, "VALID")),
        (X,),
    ),
    "conv3d": (lambda x: tf.nn.conv3d(x, normal(2, 2, 2, 3, 4), [1, 1, 1, 1, 1], "SAME"), (normal(1, 4, 5, 6, 3),)),
    "pools": (lambda x: (tf.nn.max_pool2d(x, 3, 2, "SAME"), tf.nn.avg_pool2d(x, 3, 2, "SAME"),
                         tf.nn.avg_pool2d(x, 2, 1, "VALID")), (X,)),
    "dense": (lambda x: (tf.nn.relu(tf.matmul(x, normal(6, 5)) + normal(5)), tf.matmul(x, x, transpose_b=True)),
              (normal(4, 6),)),
    "batched products": (lambda x, y: (tf.matmul(x, y, transpose_b=True), tf.tensordot(x, normal(6, 2), 1)),
                         (normal(2, 3, 6), normal(2, 4, 6))),
    "softmax": (lambda x: (tf.nn.softmax(x), tf.nn.log_softmax(x), tf.nn.l2_normalize(x, -1)), (normal(4, 6),)),
    "reductions": (
        lambda x: (tf.reduce_sum(x, 1), tf.reduce_mean(x, [1, 2], keepdims=True), tf.reduce_max(x, -1),
                   tf.reduce_min(x, 0), tf.reduce_prod(x, 3), tf.reduce_any(x > 1, 1), tf.reduce_all(x > -9, 1)),
        (X,),
    ),
    "arguments": (lambda x: (tf.argmax(x, -1), tf.argmin(x, 1, tf.int32), *tf.math.top_k(x, 2)), (normal(4, 6),)),
    "cumsum": (lambda x: (tf.cumsum(x, 1), tf.cumsum(x, 0, exclusive=True, reverse=True)), (normal(4, 6),)),
    "shapes": (
        lambda x: (tf.reshape(x, [10, -1]), tf.transpose(x, [0, 3, 1, 2]), tf.squeeze(x[:1], [0]),
                   tf.expand_dims(x, 2), tf.tile(x, [1, 2, 1, 3]), tf.broadcast_to(x[:, :1], [2, 5, 6, 3])),
        (X,),
    ),
    "slices": (lambda x: (x[:, 1:4, ::2], x[..., 0], x[:, ::-1], tf.slice(x, [0, 1, 2, 0], [-1, 2, 3, 2]), x[1, 2:]),
               (X,)),
    "joins": (lambda x, y: (tf.concat([x, y], -1), tf.stack([x, y], 1), *tf.unstack(x, axis=1), *tf.split(x, 3, 3),
                            *tf.split(x, [2, 4], 2)), (X, Y)),
    "pads": (lambda x: (tf.pad(x, [[0, 0], [1, 2], [0, 1], [0, 0]]), tf.pad(x, [[0, 0], [1, 2], [0, 1], [0, 0]],
                        constant_values=3.0), tf.pad(x, [[0, 0], [1, 2], [0, 1], [0, 0]], "REFLECT"),
                        tf.pad(x, [[0, 0], [1, 2], [0, 1], [0, 0]], "SYMMETRIC")), (X,)),
    "gathers": (
        lambda x: (tf.gather(x, [2, 0, 1], axis=1), tf.gather_nd(x, [[0, 1], [1, 2]]),
                   tf.gather(x, [[1], [0]], axis=1, batch_dims=1), tf.scatter_nd([[1], [3], [1]], x[0, :3], [5, 6, 3])),
        (X,),
    ),
    "resizes": (
        lambda x: (tf.image.resize(x, [9, 7]), tf.image.resize(x, [9, 7], "nearest"),
                   tf.compat.v1.image.resize_bilinear(x, [4, 11], align_corners=True),
                   tf.compat.v1.image.resize_nearest_neighbor(x, [4, 11], align_corners=True),
                   tf.compat.v1.image.resize_bilinear(x, [4, 11])),
        (X,),
    ),
    "blocks": (
        lambda x: (tf.nn.space_to_depth(x, 2), tf.nn.depth_to_space(x, 2),
                   tf.space_to_batch(x, [2, 3], [[0, 0], [1, 2]]), tf.batch_to_space(x, [2, 1], [[0, 1], [0, 0]])),
        (normal(2, 4, 6, 4),),
    ),
    "reverses": (lambda x: (tf.reverse(x, [1]), tf.reverse_sequence(x, [2, 5], 1)), (X,)),
    "creation": (lambda x: (tf.fill([2, 3], x[0]), tf.range(5.0), tf.zeros_like(x), tf.one_hot([1, 0, 4], 3)),
                 (Y[0, 0, 0],)),
    "diagonals": (lambda x: (tf.linalg.diag(x), tf.linalg.set_diag(tf.ones([3, 3]), x)), (normal(3),)),
    "casts": (lambda x: (tf.cast(x * 9, tf.int32), tf.cast(x > 0, tf.float32), tf.cast(x * 9, tf.int64)), (X,)),
    "segments": (lambda x: (tf.math.segment_sum(x, [0, 0, 1, 2]), tf.math.unsorted_segment_max(x, [2, 0, 2, 1], 4)),
                 (normal(4, 3),)),
    "suppression": (
        lambda x: tf.raw_ops.NonMaxSuppressionV5(
            boxes=x, scores=tf.reduce_sum(x, 1), max_output_size=3, iou_threshold=0.4, score_threshold=0.1,
            soft_nms_sigma=0.0, pad_to_max_output_size=True),
        (np.abs(normal(6, 4)).cumsum(1),),
    ),
    "condition": (lambda x: tf.cond(tf.reduce_sum(x) > 0, lambda: x * 2, lambda: x - 1), (X,)),
    "loop": (
        lambda x: tf.while_loop(lambda i, v: i < 5, lambda i, v: (i + 1, v * 0.5 + x), [0, tf.zeros_like(x)])[1],
        (normal(3),),
    ),
    "not numbers": (
        lambda x: (tf.nn.relu(x), tf.maximum(x, 0.5), tf.reduce_max(x), tf.sign(x), tf.floor(x)),
        (np.array([np.nan, np.inf, -np.inf, -0.0, 1.5], np.float32)[3:],),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_operators(name: str, tmp_path: Path) -> None:
    function, args = CASES[name]
    compare(converted(function, *args), tmp_path, *args)


def network() -> tuple[Function, np.ndarray]:
    """A small network of convolutions, a residual, a pool and a dense layer."""
    first, depth, second, dense = normal(3, 3, 3, 8), normal(3, 3, 8, 1), normal(1, 1, 8, 8), normal(8, 5)

    def function(x: Any) -> Any:
        x = tf.nn.relu6(tf.nn.conv2d(x, first, 2, "SAME") + normal(8))
        y = tf.nn.relu(tf.nn.depthwise_conv2d(x, depth, [1, 1, 1, 1], "SAME"))
        x = x + tf.nn.conv2d(y, second, 1, "SAME")
        x = tf.reduce_mean(tf.nn.max_pool2d(x, 2, 2, "SAME"), [1, 2])
        return tf.nn.softmax(tf.matmul(x, dense) * 0.1)

    return function, normal(1, 12, 12, 3)


def quantised(function: Function, x: np.ndarray, *, whole: bool, wide: bool = False) -> bytes:
    """A file whose operators compute with integers; `whole`: its input and output are integers too."""

    def samples() -> Iterator[list[np.ndarray]]:
        for _ in range(8):
            yield [normal(*x.shape)]

    kind = tf.lite.OpsSet.TFLITE_BUILTINS_INT8
    if wide:
        kind = tf.lite.OpsSet.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8
    settings: dict[str, Any] = {
        "optimizations": [tf.lite.Optimize.DEFAULT], "representative_dataset": samples,
        "target_spec": tf.lite.TargetSpec(supported_ops=[kind]),
    }  # fmt: skip
    if whole:
        settings |= {"inference_input_type": tf.int8, "inference_output_type": tf.int8}
    return converted(function, x, **settings)


@pytest.mark.parametrize("seed", range(3))
def test_each_operator_of_a_whole_integer_network_is_within_one_step(seed: int, tmp_path: Path) -> None:
    """Each on the interpreter's own data: a step of an early operator may be some steps at the end."""
    random.bit_generator.state = np.random.default_rng(seed).bit_generator.state
    function, x = network()
    data = quantised(function, x, whole=True)
    stored = np.clip(np.round(x * 30), -128, 127).astype(np.int8)
    interpreter = tf.lite.Interpreter(
        model_content=data,
        experimental_op_resolver_type=tf.lite.experimental.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
        experimental_preserve_all_tensors=True,
    )
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], stored)
    interpreter.invoke()
    tensors = {f"{d['name']}/quantised": d["index"] for d in interpreter.get_tensor_details()}
    graph = imported(data, tmp_path).graph
    values: dict[Value, Any] = {graph.inputs[0]: stored}
    judged = 0
    for node in graph.nodes:
        arrays = [v if v is None else v.constant.array() if v.constant else values[v] for v in node.inputs]
        values.update(zip(node.outputs, compute(node, arrays, {}), strict=True))
        if node.op == "QuantizeLinear":
            ours, theirs = values[node.outputs[0]], interpreter.get_tensor(tensors[node.loc.module])
            assert _distance(ours, theirs, steps=1) == 0, node.loc
            values[node.outputs[0]] = theirs
            judged += 1
    assert judged == 7  # every operator but the pool, which only chooses


def test_integer_network_with_real_ends_is_within_one_step(tmp_path: Path) -> None:
    function, x = network()
    data = quantised(function, x, whole=False)
    compare(data, tmp_path, x, tolerance=1 / 256 / 0.2)


def test_weights_of_8_bits_alone(tmp_path: Path) -> None:
    """The data are rounded row by row as the interpreter's kernels do."""
    weight, kernel = normal(64, 96), normal(3, 3, 32, 64)

    def function(x: Any) -> Any:
        y = tf.nn.relu(tf.nn.conv2d(x, kernel, 1, "SAME"))
        return tf.matmul(tf.reduce_mean(y, [1, 2]), weight)

    x = normal(3, 5, 5, 32)
    data = converted(function, x, optimizations=[tf.lite.Optimize.DEFAULT])
    compare(data, tmp_path, x, tolerance=1e-5)


def test_weights_of_16_bits(tmp_path: Path) -> None:
    function, x = network()
    target = tf.lite.TargetSpec(supported_types=[tf.float16])
    data = converted(function, x, optimizations=[tf.lite.Optimize.DEFAULT], target_spec=target)
    compare(data, tmp_path, x)


def test_signature_names_inputs_and_outputs(tmp_path: Path) -> None:
    module = tf.Module()
    module.call = tf.function(
        lambda a, b: {"sum": a + b, "product": a * b}, input_signature=[tf.TensorSpec([None, 3])] * 2
    )
    tf.saved_model.save(module, str(tmp_path / "saved"), signatures=module.call)
    data = tf.lite.TFLiteConverter.from_saved_model(str(tmp_path / "saved")).convert()
    (tmp_path / "m.tflite").write_bytes(data)
    compiled = ge_core.compile(str(tmp_path / "m.tflite"), target="reference")
    for rows in (1, 4):
        a, b = normal(rows, 3), normal(rows, 3)
        result = compiled(a=a, b=b)
        np.testing.assert_array_equal(result["sum"], a + b)
        np.testing.assert_array_equal(result["product"], a * b)


def test_file_is_read_without_tensorflow(tmp_path: Path) -> None:
    function, x = network()
    path = tmp_path / "m.tflite"
    path.write_bytes(converted(function, x))
    np.save(tmp_path / "x.npy", x)
    program = f"""
import sys
sys.modules.update(dict.fromkeys(("tensorflow", "keras", "flatbuffers")))
import numpy, ge_core
model = ge_core.compile({str(path)!r}, target="reference")
numpy.save({str(tmp_path / "y.npy")!r}, model(numpy.load({str(tmp_path / "x.npy")!r})))
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
    expected = answers(path.read_bytes(), x)[0]
    assert _distance(np.load(tmp_path / "y.npy"), expected, 0) <= 2e-6


def test_operators_that_are_not_supported_are_named_at_once(tmp_path: Path) -> None:
    settings = {
        "allow_custom_ops": True,
        "target_spec": tf.lite.TargetSpec(supported_ops=[tf.lite.OpsSet.SELECT_TF_OPS]),
    }
    data = converted(lambda x: (tf.linalg.det(x), tf.math.erfinv(x)), normal(3, 3), **settings)
    with pytest.raises(UnsupportedError) as caught:
        imported(data, tmp_path)
    assert "CUSTOM:FlexMatrixDeterminant" in str(caught.value) and "CUSTOM:Erfinv" in str(caught.value)


def test_damaged_files_end_in_errors(tmp_path: Path) -> None:
    """Bytes changed at random places and cut files: an error of ge, or a graph that passes its checks."""
    function, x = network()
    data = converted(function, x)
    generator = np.random.default_rng(1)
    refused = 0
    for round in range(150):
        broken = bytearray(data)
        if round % 3 == 0:
            broken = broken[: int(generator.integers(0, len(broken)))]
        # offsets, counts and types stand in front of and behind the weights
        for place in generator.integers(0, max(len(broken), 1), 6):
            if place < len(broken):
                broken[place] = int(generator.choice([0, 1, 127, 128, 255]))
        try:
            imported(bytes(broken), tmp_path)
        except GeError:
            refused += 1
    assert refused > 50


@pytest.mark.parametrize("head", [b"", b"TFL3", b"\x1c\x00\x00\x00TFL3", b"\xff\xff\xff\xffTFL3" + bytes(40)])
def test_files_that_are_none(head: bytes, tmp_path: Path) -> None:
    with pytest.raises(ModelImportError):
        imported(head, tmp_path)


def recurrent(batch: int, steps: int, size: int, hidden: int) -> bytes:
    """A file of one UNIDIRECTIONAL_SEQUENCE_LSTM; the converter makes none of today's Keras layers."""
    import flatbuffers
    from tensorflow.lite.python import schema_py_generated as schema

    graph, model = schema.SubGraphT(), schema.ModelT()
    model.version, model.description, model.buffers, graph.tensors = 3, "test", [schema.BufferT()], []

    def tensor(shape: tuple[int, ...], data: np.ndarray | None = None, variable: bool = False) -> int:
        found = schema.TensorT()
        found.shape, found.type, found.isVariable = list(shape), schema.TensorType.FLOAT32, variable
        found.name, found.buffer = f"tensor_{len(graph.tensors)}", 0
        if data is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(data.tobytes(), np.uint8)
            model.buffers.append(buffer)
            found.buffer = len(model.buffers) - 1
        graph.tensors.append(found)
        return len(graph.tensors) - 1

    x = tensor((batch, steps, size))
    weights = [tensor((hidden, n), normal(hidden, n) * 0.4) for n in [size] * 4 + [hidden] * 4]
    biases = [tensor((hidden,), normal(hidden)) for _ in range(4)]
    states = [tensor((batch, hidden), variable=True) for _ in range(2)]
    y = tensor((batch, steps, hidden))
    operator, code, options = schema.OperatorT(), schema.OperatorCodeT(), schema.UnidirectionalSequenceLSTMOptionsT()
    options.fusedActivationFunction = schema.ActivationFunctionType.TANH
    operator.inputs = [x, *weights, -1, -1, -1, *biases, -1, -1, *states, -1, -1, -1, -1]
    operator.outputs, operator.builtinOptions = [y], options
    operator.builtinOptionsType = schema.BuiltinOptions.UnidirectionalSequenceLSTMOptions
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.UNIDIRECTIONAL_SEQUENCE_LSTM
    model.operatorCodes, model.subgraphs = [code], [graph]
    graph.inputs, graph.outputs, graph.operators = [x], [y], [operator]
    builder = flatbuffers.Builder()
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def test_state_of_a_recurrent_layer_stays_from_call_to_call(tmp_path: Path) -> None:
    data = recurrent(2, 5, 3, 4)
    (tmp_path / "m.tflite").write_bytes(data)
    compiled = ge_core.compile(str(tmp_path / "m.tflite"), target="reference")
    peer = tf.lite.Interpreter(model_content=data)
    peer.allocate_tensors()
    for _ in range(3):
        x = normal(2, 5, 3)
        peer.set_tensor(peer.get_input_details()[0]["index"], x)
        peer.invoke()
        expected = peer.get_tensor(peer.get_output_details()[0]["index"])
        np.testing.assert_allclose(compiled(x), expected, rtol=0, atol=2e-6)
