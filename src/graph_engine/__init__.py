"""Graph Engine: an open compiler from ONNX to a modelled Ascend chip."""

__version__ = "0.1.0"
