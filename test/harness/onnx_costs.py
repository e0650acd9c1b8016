"""Multiply-accumulates of an ONNX network, counted from the standard's definitions and onnx's own shapes."""

from __future__ import annotations

from math import prod

import onnx
from models.light import light_path


def light_macs(name: str, batch: int = 1) -> int:
    """Of the Conv and Gemm nodes of a light network (no padding counted), for `batch` images."""
    model = onnx.shape_inference.infer_shapes(onnx.load(str(light_path(name))))
    graph = model.graph
    values = [*graph.value_info, *graph.input, *graph.output]
    shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in values}
    total = 0
    for node in graph.node:
        if node.op_type == "Conv":
            total += prod(shapes[node.output[0]]) * prod(shapes[node.input[1]][1:])
        elif node.op_type == "Gemm":
            transposed = any(a.name == "transA" and a.i for a in node.attribute)
            total += prod(shapes[node.output[0]]) * shapes[node.input[0]][0 if transposed else 1]
    return total * batch
