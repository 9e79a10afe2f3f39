"""SavedModels, frozen graphs and Keras files. SavedModels and graphs are read where TensorFlow cannot be imported."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers as L
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

from ge_core import InputSpec
from ge_core.errors import InputError, ModelImportError, OptionError
from ge_core.plugins import host
from ge_core.reference.interpret import interpret
from ge_frontend_tensorflow.importer import import_model
from ge_frontend_tensorflow.messages import message_class

X = np.random.default_rng(0).standard_normal((2, 8, 8, 3)).astype(np.float32)

# Reads files in a process that cannot import TensorFlow; prints the results.
READER = """
import json, sys
class Refuse:
    def find_spec(self, name, *_):
        if name.split(".")[0] in ("tensorflow", "keras", "tf_keras"):
            raise ImportError(name)
sys.meta_path.insert(0, Refuse())
import numpy as np
from ge_core.plugins import host
from ge_core.reference.interpret import interpret
for path in sys.argv[2:]:
    plugin = host().recognise(path)
    imported = plugin.import_model(path, None, None, None, {})
    outputs, states = interpret(imported.graph, [np.load(sys.argv[1])])
    print(json.dumps([plugin.name, [np.asarray(o).tolist() for o in outputs], sorted(states)]))
"""


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(0)
    model = keras.Sequential([
        L.Input((8, 8, 3)), L.Conv2D(4, 3, 2, "same"), L.BatchNormalization(), L.ReLU(), L.GlobalAveragePooling2D(),
        L.Dense(3),
    ])  # fmt: skip
    model.compile("adam", "mse")  # with slots of an optimizer
    model.fit(X, np.ones((2, 3), np.float32), verbose=0)
    return model


@pytest.fixture(scope="module")
def files(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    model.export(folder / "exported", verbose=False)
    tf.saved_model.save(model, folder / "saved")
    model.save(folder / "model.keras")
    model.save(folder / "model.h5")
    spec = tf.TensorSpec([None, 8, 8, 3], name="x")
    frozen = convert_variables_to_constants_v2(
        tf.function(lambda x: model(x, training=False)).get_concrete_function(spec)
    )
    (folder / "frozen.pb").write_bytes(frozen.graph.as_graph_def().SerializeToString())
    np.save(folder / "x.npy", X)
    return folder


def read_without_tensorflow(folder, *names):
    command = [sys.executable, "-c", READER, str(folder / "x.npy"), *(str(folder / n) for n in names)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_files_are_read_without_tensorflow(model, files):
    expected = model(X, training=False).numpy()
    names = ["exported", "saved", "exported/saved_model.pb", "frozen.pb"]
    for name, outputs, states in read_without_tensorflow(files, *names):
        assert name == "tensorflow" and states == []
        np.testing.assert_allclose(outputs[0], expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["model.keras", "model.h5"])
def test_keras_files(model, files, name):
    imported = host().recognise(str(files / name)).import_model(str(files / name), None, None, None, {})
    np.testing.assert_allclose(interpret(imported.graph, [X])[0][0], model(X, training=False), rtol=1e-4, atol=1e-6)
    assert str(imported.graph.inputs[0].type) == "float32[batch, 8, 8, 3]"


def test_written_variables_of_a_saved_model_are_states(tmp_path):
    class Counter(tf.Module):
        def __init__(self):
            super().__init__()
            self.first = tf.Variable([1.0, 2.0], name="v")
            self.second = tf.Variable([3.0, 4.0], name="v")

        @tf.function(input_signature=[tf.TensorSpec([None, 2])])
        def __call__(self, x):
            self.first.assign_add(tf.reduce_sum(x, 0))
            return {"sum": x + self.first, "product": x * self.second}

    counter = Counter()
    tf.saved_model.save(counter, tmp_path, signatures={"serving_default": counter.__call__, "other": counter.__call__})
    imported = import_model(tmp_path)
    outputs, states = interpret(imported.graph, [np.ones((3, 2), np.float32)])
    result = imported.signature.unflatten(outputs)
    np.testing.assert_allclose(result["sum"][0], [5, 6])
    np.testing.assert_allclose(result["product"][0], [3, 4])
    assert len(states) == 1
    np.testing.assert_allclose(next(iter(states.values())), [4, 5])
    assert import_model(tmp_path, options={"signature": "other"}).signature.output_names == ("product", "sum")
    with pytest.raises(OptionError, match="no signature 'third'"):
        import_model(tmp_path, options={"signature": "third"})


def test_sizes_and_names_of_a_saved_models_inputs(files):
    named = import_model(files / "exported", dynamic_shapes=[{0: "n"}])
    assert str(named.graph.inputs[0].type) == "float32[n, 8, 8, 3]"
    with pytest.raises(InputError, match="asked to be width, and the model fixes it at 8"):
        import_model(files / "exported", dynamic_shapes=({2: "width"},))
    fixed = import_model(files / "exported", [InputSpec((5, 8, 8, 3))])
    assert str(fixed.graph.inputs[0].type) == "float32[5, 8, 8, 3]"
    with pytest.raises(InputError, match=r"the example of 'keras_tensor\w*' has the shape"):
        import_model(files / "exported", [np.zeros((2, 9, 8, 3), np.float32)])


def test_results_of_a_frozen_graph_are_chosen_by_name(files):
    imported = import_model(files / "frozen.pb", options={"outputs": "Identity:0"})
    assert imported.signature.output_names == ("Identity",)
    with pytest.raises(OptionError, match="no node 'nothing'"):
        import_model(files / "frozen.pb", options={"outputs": "nothing"})


def test_an_old_graph_with_an_unknown_rank(tmp_path):
    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.float32, name="x")
        tf.nn.relu(x, name="y")
    path = tmp_path / "graph.pb"
    path.write_bytes(graph.as_graph_def().SerializeToString())
    with pytest.raises(ModelImportError, match="unknown rank"):
        import_model(path)
    imported = import_model(path, [np.ones((2, 3), np.float32)])
    assert str(imported.graph.inputs[0].type) == "float32[x_0, x_1]"


def test_variables_of_tensorflow_1(tmp_path):
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 2], "x")
        with v1.variable_scope("layer", use_resource=True):
            w = v1.get_variable("w", initializer=tf.constant([[1.0, 2.0], [3.0, 4.0]]))
        with v1.variable_scope("old", use_resource=False):
            b = v1.get_variable("b", initializer=tf.constant([5.0, 6.0]))
        y = tf.matmul(x, w) + b
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, str(tmp_path / "old"), {"x": x}, {"y": y})
    imported = import_model(tmp_path / "old")
    np.testing.assert_allclose(interpret(imported.graph, [np.eye(2, dtype=np.float32)])[0][0], [[6, 8], [8, 10]])
    assert imported.graph.states == []


def test_nodes_of_optimised_graphs(tmp_path):
    proto = message_class("GraphDef")()
    weights = np.random.default_rng(1).standard_normal((3, 3, 3, 4)).astype(np.float32)
    bias = np.array([1.0, -1.0, 0.5, 0.0], np.float32)
    x = proto.node.add(name="x", op="Placeholder")
    x.attr["dtype"].type = 1
    for size in X.shape:
        x.attr["shape"].shape.dim.add(size=size)
    for name, array in (("w", weights), ("b", bias), ("m", weights[0, 0])):
        value = proto.node.add(name=name, op="Const").attr["value"].tensor
        value.dtype, value.tensor_content = 1, array.tobytes()
        for size in array.shape:
            value.tensor_shape.dim.add(size=size)

    def fused(name, op, source, weight, activation):
        node = proto.node.add(name=name, op=op, input=[source, weight, "b"])
        node.attr["fused_ops"].list.s.extend([b"BiasAdd", activation])
        node.attr["TArgs"].list.type.append(1)
        node.attr["num_args"].i = 1
        node.attr["T"].type = 1
        return node

    for activation in (b"Relu", b"Relu6", b"Elu", b"LeakyRelu"):
        node = fused(f"conv{activation.decode()}", "_FusedConv2D", "x", "w", activation)
        node.attr["strides"].list.i.extend([1, 2, 2, 1])
        node.attr["padding"].s = b"SAME"
    node = proto.node.add(name="r", op="Mean", input=["x", "axes"])
    node.attr["T"].type = 1
    value = proto.node.add(name="axes", op="Const").attr["value"].tensor
    value.dtype, value.tensor_content = 3, np.array([1, 2], np.int32).tobytes()
    value.tensor_shape.dim.add(size=2)
    fused("product", "_FusedMatMul", "r", "m", b"Tanh")
    path = tmp_path / "optimised.pb"
    path.write_bytes(proto.SerializeToString())
    outputs = interpret(import_model(path).graph, [X])[0]
    conv = tf.nn.bias_add(tf.nn.conv2d(X, weights, 2, "SAME"), bias)
    expected = [tf.nn.relu(conv), tf.nn.relu6(conv), tf.nn.elu(conv), tf.nn.leaky_relu(conv, 0.2)]
    expected.append(tf.tanh(tf.matmul(tf.reduce_mean(X, [1, 2]), weights[0, 0]) + bias))
    for ours, theirs in zip(outputs, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_loops_of_tensorflow_1_are_refused(tmp_path):
    v1 = tf.compat.v1
    v1.disable_control_flow_v2()
    try:
        with tf.Graph().as_default() as graph:
            x = v1.placeholder(tf.float32, [2], "x")
            v1.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2.0), (0, x))
        path = tmp_path / "loop.pb"
        path.write_bytes(graph.as_graph_def().SerializeToString())
    finally:
        v1.enable_control_flow_v2()
    with pytest.raises(ModelImportError, match="TensorFlow 1|control flow v2"):
        import_model(path)


def test_no_code_of_a_file_runs(tmp_path, capsys):
    model = keras.Sequential([L.Input((3,)), L.Lambda(lambda x: (print("code of the file runs"), x)[1])])
    capsys.readouterr()
    model.save(tmp_path / "lambda.keras")
    model.save(tmp_path / "lambda.h5")
    for name in ("lambda.keras", "lambda.h5"):
        with pytest.raises(ModelImportError, match="Keras cannot load"):
            import_model(tmp_path / name)
    assert "code of the file" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("nothing.pb", None, "there is no file"),
        ("empty.pb", b"", "is empty"),
        ("text.pb", b"hello, this is no graph", "is no GraphDef"),
        ("text.keras", b"hello", "is no Keras file"),
        ("broken.h5", b"\x89HDF\r\n\x1a\nxxxx", "Keras cannot load"),
    ],
)
def test_what_is_no_model_is_said(tmp_path, name, data, message):
    path = tmp_path / name
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(ModelImportError, match=message):
        import_model(path)


def test_a_zip_that_is_no_keras_file(tmp_path):
    path = tmp_path / "model.keras"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("metadata.json", "{}")
    with pytest.raises(ModelImportError, match="Keras cannot load"):
        import_model(path)


def test_a_folder_without_variables(files, tmp_path):
    folder = tmp_path / "half"
    folder.mkdir()
    with pytest.raises(ModelImportError, match="it has no saved_model.pb"):
        import_model(folder)
    (folder / "saved_model.pb").write_bytes(Path(files / "exported" / "saved_model.pb").read_bytes())
    with pytest.raises(ModelImportError, match="the variables' index"):
        import_model(folder)
