"""The entry module: thin, recognised, and its smaller hooks."""

from __future__ import annotations

import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from ge_core.errors import InputError, ModelImportError
from ge_core.plugins import host


def test_knowing_of_the_frontend_does_not_import_tensorflow():
    code = (
        "import sys; from ge_core.plugins import host; plugin = host().frontend('tensorflow');"
        "print(plugin.tensor_to_numpy(3), 'tensorflow' in sys.modules, 'keras' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "None False False\n"


def test_objects_are_recognised():
    class Module(tf.Module):
        pass

    function = tf.function(lambda x: x)
    concrete = function.get_concrete_function(tf.TensorSpec([2]))
    for model in (function, concrete, Module(), keras.Sequential([keras.layers.Dense(1)])):
        assert host().recognise(model).name == "tensorflow"


def test_tensors_are_tensorflows():
    tensor = tf.constant([1.0, 2.0], tf.bfloat16)
    owner = host().tensor_owner(tensor)
    assert owner is not None and owner.name == "tensorflow"
    assert owner.tensor_from_numpy(host().tensor_to_numpy(tensor), tensor).dtype == tf.bfloat16
    np.testing.assert_array_equal(host().tensor_to_numpy(tf.Variable([3.0])), [3.0])
    with pytest.raises(InputError, match="strings"):
        host().tensor_to_numpy(tf.constant("text"))
    with pytest.raises(InputError, match="RaggedTensor"):
        host().tensor_to_numpy(tf.ragged.constant([[1], [2, 3]]))


def test_the_original_runs_for_inference():
    plugin = host().frontend("tensorflow")
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dropout(0.9)])
    x = np.ones((2, 4), np.float32)
    np.testing.assert_array_equal(plugin.run_original(model, [x], {}), x)
    np.testing.assert_array_equal(plugin.run_original(tf.function(lambda x: x * 2), [x], {}), x * 2)
    with pytest.raises(ModelImportError, match="TensorFlow cannot call an object of type int"):
        plugin.run_original(3, [], {})
