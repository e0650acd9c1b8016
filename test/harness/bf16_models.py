"""A model in fp32 as one in bf16: weights, inputs, results and what lies between; and what onnxruntime can run of it."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, numpy_helper

BF16 = np.dtype(ml_dtypes.bfloat16)


def in_bf16(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with bf16 for every fp32: initialisers, constants, casts and declared types."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    _retype(copy.graph)
    return copy


def rounded_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model in fp32 with the weights of `in_bf16`: what computes the same without rounding in between."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for tensor in copy.graph.initializer:
        if tensor.data_type == TensorProto.FLOAT:
            tensor.CopyFrom(numpy_helper.from_array(rounded(numpy_helper.to_array(tensor)), tensor.name))
    return copy


def rounded(array: Any) -> Any:
    """The nearest bf16 numbers, in fp32."""
    return array.astype(BF16).astype(np.float32)


def _retype(graph: onnx.GraphProto) -> None:
    for tensor in graph.initializer:
        _narrow(tensor)
    for value in (*graph.input, *graph.output, *graph.value_info):
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.BFLOAT16
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.TENSOR:
                _narrow(attribute.t)
            elif attribute.type == AttributeProto.GRAPH:
                _retype(attribute.g)
            elif node.op_type == "Cast" and attribute.name == "to" and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.BFLOAT16


def _narrow(tensor: onnx.TensorProto) -> None:
    if tensor.data_type == TensorProto.FLOAT:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(BF16), tensor.name))
