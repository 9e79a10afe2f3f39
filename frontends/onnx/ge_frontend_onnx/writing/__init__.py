"""Writing a graph as an ONNX model: what an opset can say, what must be expanded first, and the messages."""
