"""Forms of every ONNX operator of inference models, by family: operands and attributes for models of one node."""
