"""The structure of ResNet-50 with an eighth of its channels and small images: 53 convolutions that run in no time."""

from __future__ import annotations

import numpy as np
import onnx
from models.small import GraphBuilder

STAGES = ((3, 8), (4, 16), (6, 32), (3, 64))
"""Blocks and inner channels of each stage; a block leaves four times as many."""


def deep_residual(seed: int = 0, size: int = 32, stages: tuple[tuple[int, int], ...] = STAGES) -> onnx.ModelProto:
    """Bottlenecks with BatchNormalization behind every convolution, then a classifier; images of 3 x size x size."""
    b = GraphBuilder(seed)
    y = b.conv_bn_relu(b.input("x", (1, 3, size, size)), 3, 8, 7, strides=[2, 2])
    y = b.node("MaxPool", [y], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = 8
    for stage, (blocks, inner) in enumerate(stages):
        for block in range(blocks):
            step = 2 if stage and not block else 1
            main = b.conv_bn_relu(b.conv_bn_relu(y, channels, inner, 1), inner, inner, strides=[step, step])
            main = b.batch_norm(b.conv(main, inner, 4 * inner, 1, bias=False), 4 * inner)
            if not block:
                y = b.batch_norm(b.conv(y, channels, 4 * inner, 1, bias=False, strides=[step, step]), 4 * inner)
            scale = b.constant(f"scale{stage}.{block}", np.full((1, 1, 1), 0.5**0.5, np.float32))  # keeps the variance
            y = b.node("Relu", [b.node("Mul", [b.node("Add", [main, y]), scale])])
            channels = 4 * inner
    y = b.node("Flatten", [b.node("GlobalAveragePool", [y])])
    b.node("Gemm", [y, b.weight((10, channels), -0.3, 0.3), b.weight((10,), -0.2, 0.2)], "logits", transB=1)
    return b.model("logits")
