"""TFLite files, read without TensorFlow: each operator becomes operators of TensorFlow, which `ops` converts."""
