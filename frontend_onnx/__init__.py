"""ONNX to `ge`, one file per operator family."""
