"""Live objects: signatures, dynamic sizes, states, what is refused."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers as L

import ge_core
from ge_core import InputSpec
from ge_core.errors import InputError, ModelImportError, UnsupportedError
from ge_core.ir.traverse import walk
from ge_core.passes import optimise
from ge_core.reference.interpret import interpret
from ge_frontend_tensorflow.importer import import_model

from .agreement import check

X = np.random.default_rng(0).standard_normal((2, 3)).astype(np.float32)


def shapes(imported):
    return [str(v.type) for v in imported.graph.inputs]


def test_the_structure_of_arguments_and_results_is_kept():
    function = tf.function(lambda x, *, more: {"z": x + more["b"], "a": [more["a"], None, 3]})
    spec = tf.TensorSpec([2, 3])
    imported = import_model(function, [spec], {"more": {"b": spec, "a": spec}})
    arrays = imported.signature.flatten([X], {"more": {"b": X * 2, "a": X * 3}})
    result = imported.signature.unflatten(interpret(imported.graph, arrays)[0])
    assert list(result) == ["z", "a"]
    np.testing.assert_allclose(result["z"], X * 3, rtol=1e-6)
    np.testing.assert_allclose(result["a"][0], X * 3, rtol=1e-6)
    assert result["a"][1] is None and result["a"][2] == 3


def test_examples_are_static_unless_asked_otherwise():
    function = tf.function(lambda x, y: x + y)
    assert shapes(import_model(function, [X, X])) == ["float32[2, 3]"] * 2
    named = import_model(function, [X, X], dynamic_shapes={"x": {0: "n"}, "y": ("n", None)})
    assert shapes(named) == ["float32[n, 3]"] * 2
    specs = import_model(function, [InputSpec(("n", 3)), tf.TensorSpec([None, 3])])
    assert shapes(specs) == ["float32[n, 3]", "float32[y_0, 3]"]
    with pytest.raises(InputError, match="names 'z'"):
        import_model(function, [X, X], dynamic_shapes={"z": {0: "n"}})


def test_models_with_a_specification_of_their_own_need_no_examples():
    model = keras.Model([a := keras.Input((3,)), b := keras.Input((3,))], L.Add()([a, b]))
    assert shapes(import_model(model)) == ["float32[batch, 3]"] * 2

    @tf.function(input_signature=[tf.TensorSpec([None, 3])])
    def function(x):
        return x * 2

    assert shapes(import_model(function)) == ["float32[x_0, 3]"]
    with pytest.raises(InputError, match="no signature of its own"):
        import_model(tf.function(lambda x: x))


def test_modules_and_loaded_saved_models(tmp_path):
    class Module(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable(tf.ones([3]) * 2)

        @tf.function(input_signature=[tf.TensorSpec([None, 3])])
        def __call__(self, x):
            return x * self.w

    module = Module()
    np.testing.assert_allclose(interpret(import_model(module).graph, [X])[0][0], X * 2)
    tf.saved_model.save(module, tmp_path, signatures=module.__call__)
    loaded = import_model(tf.saved_model.load(tmp_path))
    np.testing.assert_allclose(interpret(loaded.graph, [X])[0][0], X * 2)


def test_weights_share_memory_and_states_do_not():
    w, v = tf.Variable(tf.ones([64, 64])), tf.Variable(tf.zeros([3]))
    imported = import_model(tf.function(lambda x: tf.matmul(x, w)), [np.ones((2, 64), np.float32)])
    (weight,) = [c.constant for c in imported.graph.constants if c.constant.type.shape == (64, 64)]
    assert np.shares_memory(weight.array(), np.asarray(w.read_value()))
    check(lambda x: (v.assign_add(tf.reduce_sum(x, 0)), x * v)[1], X, calls=3)


def test_two_variables_of_one_name_are_two():
    first, second = tf.Variable([1.0, 2.0], name="v"), tf.Variable([3.0, 5.0], name="v")
    check(lambda x: x * first + second, np.ones(2, np.float32))


def test_a_variable_written_in_a_branch_and_in_a_loop():
    v = tf.Variable([0.0, 0.0])
    check(lambda x: (tf.cond(x[0] > 0, lambda: v.assign_add(x), lambda: v.assign(x * 2)), v + 0.0)[1],
          np.array([1.0, 2.0], np.float32), calls=3)  # fmt: skip

    def loop(x):
        for _ in tf.range(3):
            v.assign_add(x)
        return v + 0.0

    concrete = tf.function(loop).get_concrete_function(tf.TensorSpec([2]))
    imported = import_model(concrete)
    before = v.numpy()
    out, states = interpret(imported.graph, [np.ones(2, np.float32)])
    np.testing.assert_allclose(out[0], before + 3)
    np.testing.assert_allclose(next(iter(states.values())), before + 3)


def test_text_that_reaches_no_result_does_not_matter():
    check(lambda x: (tf.strings.as_string(x), tf.print(x), x + 1.0)[2], X)


def test_text_and_tables_are_refused_by_name():
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), -1)
    function = tf.function(lambda s: table.lookup(tf.strings.split(s).flat_values))
    with pytest.raises(UnsupportedError) as caught:
        import_model(function, [tf.TensorSpec([None], tf.string)])
    text = str(caught.value)
    assert "StringSplitV2" in text and "LookupTableFindV2" in text and "test_importer.py" in text


def test_all_unsupported_operators_are_named_at_once_with_their_place():
    def function(x):
        q, r = tf.linalg.qr(x)
        return tf.cond(x[0, 0] > 0, lambda: q + tf.math.bessel_i0(x[:2, :2])[0, 0], lambda: r[0, 0] + q)

    with pytest.raises(UnsupportedError) as caught:
        import_model(tf.function(function), [X])
    text = str(caught.value)
    assert "Qr ×1" in text and "BesselI0 ×1" in text and "test_importer.py" in text


def test_unknown_ranks_are_refused_or_resolved():
    function = tf.function(lambda x: x + 1.0)
    with pytest.raises(UnsupportedError, match="unknown rank"):
        import_model(function, [tf.TensorSpec(None)])
    assert shapes(import_model(function, [X])) == ["float32[2, 3]"]


def test_complex_results_are_refused():
    with pytest.raises(UnsupportedError, match="returns complex numbers"):
        import_model(tf.function(lambda x: tf.complex(x, x)), [X])


def test_a_model_that_cannot_be_traced():
    def broken(x):
        raise RuntimeError("no way")

    with pytest.raises(ModelImportError, match="no way"):
        import_model(tf.function(broken, autograph=False), [X])


def test_nodes_know_where_they_come_from():
    imported = import_model(tf.function(lambda x: tf.nn.relu(x) + 1.0), [X])
    places = {node.op: node.loc for node in walk(imported.graph)}
    assert places["Relu"].file.endswith("test_importer.py") and places["Relu"].op == "Relu"
    assert places["Relu"].framework == "tensorflow"


def test_each_name_scope_has_a_line_of_its_own():
    def function(x):
        with tf.name_scope("first"):
            y = tf.nn.relu(x)
        with tf.name_scope("second"):
            return tf.tanh(y)

    places = {node.op: node.loc for node in walk(import_model(tf.function(function), [X]).graph)}
    first = function.__code__.co_firstlineno
    assert (places["Relu"].line, places["Tanh"].line) == (first + 2, first + 4)


def test_what_called_the_import_is_no_place_in_the_model():
    net = keras.Sequential([L.Input((8,)), L.Dense(4, activation="gelu")])  # all of its lines are Keras'
    graph = ge_core.import_model(net, framework="tensorflow")
    assert {(node.loc.file, node.loc.line) for node in walk(graph)} == {("", 0)}


def test_errors_of_operators_that_become_no_nodes_name_the_line():
    with pytest.raises(UnsupportedError, match="element type string") as caught:
        import_model(tf.function(lambda x: (x, tf.constant("text"))), [X])
    assert "test_importer.py:" in caught.value.where


def count(graph, *ops):
    return sum(node.op in ops for node in walk(graph))


def test_no_transpose_stays_between_convolutions():
    model = keras.Sequential([
        L.Input((16, 16, 3)), L.ZeroPadding2D(1), L.Conv2D(8, 3, 2, "same"), L.BatchNormalization(), L.ReLU(),
        L.ZeroPadding2D(1), L.DepthwiseConv2D(3), L.BatchNormalization(), L.ReLU(6.0), L.MaxPooling2D(2),
        L.Conv2D(4, 1), L.GlobalAveragePooling2D(), L.Dense(2),
    ])  # fmt: skip
    graph = import_model(model).graph
    optimise(graph)
    assert count(graph, "Transpose") == 1  # the input's
    assert count(graph, "Conv") == 3
    assert count(graph, "Mul", "Sub", "BatchNormalization") == 0


def test_dilation_by_space_to_batch_is_one_convolution():
    def function(x):
        apart = tf.space_to_batch(x, [2, 2], [[2, 2], [2, 2]])
        return tf.batch_to_space(tf.nn.conv2d(apart, kernel, 1, "VALID"), [2, 2], [[0, 0], [0, 0]])

    kernel = np.random.default_rng(0).standard_normal((3, 3, 4, 5)).astype(np.float32)
    imported = check(function, np.random.default_rng(1).standard_normal((2, 8, 8, 4)).astype(np.float32))
    optimise(imported.graph)
    assert count(imported.graph, "Conv") == 1 and count(imported.graph, "Reshape", "Pad") == 0


def test_a_recurrent_layer_is_a_counted_loop_without_lists():
    model = keras.Sequential([L.Input((None, 4)), L.LSTM(8, return_sequences=True)])
    graph = import_model(model, [InputSpec(("batch", "length", 4))]).graph
    (loop,) = [node for node in walk(graph) if node.op == "Loop"]
    assert loop.input(0) is not None and loop.input(1) is None
    assert len(loop.inputs) == 4  # two states
    assert str(graph.outputs[0].type) == "float32[batch, length, 8]"


def test_compiled_models_take_and_give_tensors():
    model = keras.Sequential([L.Input((3,)), L.Dense(2)])
    compiled = ge_core.compile(model, target="reference")
    result = compiled(tf.constant(X))
    assert isinstance(result, tf.Tensor)
    np.testing.assert_allclose(result, model(X), rtol=1e-5)
