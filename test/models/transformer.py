"""A transformer encoder of as many nodes as asked for, taken apart as exporters do it: LayerNorm of nine nodes, GELU of
five, and Shape, Gather, Unsqueeze and Concat that give its extents to every Reshape. Imports onnx and numpy only.
"""

from __future__ import annotations

import numpy as np
import onnx
from models.small import GraphBuilder

HIDDEN, HEADS, TOKENS, VOCABULARY = 32, 2, 16, 50
NODES_PER_LAYER = 74


def transformer(nodes: int, seed: int = 0) -> onnx.ModelProto:
    """An encoder of about `nodes` nodes in whole layers of `NODES_PER_LAYER`, each with seeded weights of its own.

    Inputs are the tokens "x", int64[1, 16], and an additive "mask", fp32[1, 1, 1, 16]; the output "y" is fp32[1, 16, 32].
    """
    b = _Encoder(seed)
    ids, mask = b.input("x", (1, TOKENS), onnx.TensorProto.INT64), b.input("mask", (1, 1, 1, TOKENS))
    words = b.node("Gather", [b.weight((VOCABULARY, HIDDEN)), ids])
    y = b.layer_norm(b.node("Add", [words, b.weight((1, TOKENS, HIDDEN))]))
    for _ in range(max(1, round(nodes / NODES_PER_LAYER))):
        y = b.layer_norm(b.node("Add", [b.attention(y, mask), y]))
        y = b.layer_norm(b.node("Add", [b.feed_forward(y), y]))
    b.node("Identity", [y], "y")
    return b.model("y")


class _Encoder(GraphBuilder):
    """The parts of a layer; scalars and indices are initialisers that all layers share."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, opset=14)
        self._shared: dict[str, str] = {}

    def shared(self, value: float | list[int], dtype: type = np.float32) -> str:
        name = f"{dtype.__name__}_{value}"
        if name not in self._shared:
            self._shared[name] = self.constant(name, dtype(value))
        return self._shared[name]

    def linear(self, x: str, inputs: int, outputs: int) -> str:
        bound = inputs**-0.5
        product = self.node("MatMul", [x, self.weight((inputs, outputs), -bound, bound)])
        return self.node("Add", [self.weight((outputs,), -0.1, 0.1), product])

    def layer_norm(self, x: str) -> str:
        centred = self.node("Sub", [x, self.node("ReduceMean", [x], axes=[-1])])
        variance = self.node("ReduceMean", [self.node("Pow", [centred, self.shared(2.0)])], axes=[-1])
        deviation = self.node("Sqrt", [self.node("Add", [variance, self.shared(1e-12)])])
        scaled = self.node("Mul", [self.node("Div", [centred, deviation]), self.weight((HIDDEN,), 0.8, 1.2)])
        return self.node("Add", [scaled, self.weight((HIDDEN,), -0.1, 0.1)])

    def reshape(self, x: str, *dims: int) -> str:
        """To the first two extents of `x`, which the graph computes, and `dims`."""
        shape = self.node("Shape", [x])
        extents = [self.node("Gather", [shape, self.shared(i, np.int64)], axis=0) for i in (0, 1)]
        parts = [self.node("Unsqueeze", [extent, self.shared([0], np.int64)]) for extent in extents]
        whole = self.node("Concat", [*parts, *(self.shared([dim], np.int64) for dim in dims)], axis=0)
        return self.node("Reshape", [x, whole])

    def attention(self, x: str, mask: str) -> str:
        width = HIDDEN // HEADS
        q, k, v = (self.reshape(self.linear(x, HIDDEN, HIDDEN), HEADS, width) for _ in range(3))
        q, v = (self.node("Transpose", [t], perm=[0, 2, 1, 3]) for t in (q, v))
        scores = self.node("MatMul", [q, self.node("Transpose", [k], perm=[0, 2, 3, 1])])
        scores = self.node("Add", [self.node("Div", [scores, self.shared(width**0.5)]), mask])
        context = self.node("MatMul", [self.node("Softmax", [scores], axis=-1), v])
        context = self.reshape(self.node("Transpose", [context], perm=[0, 2, 1, 3]), HIDDEN)
        return self.linear(context, HIDDEN, HIDDEN)

    def feed_forward(self, x: str) -> str:
        inner = self.linear(x, HIDDEN, 2 * HIDDEN)
        erf = self.node("Erf", [self.node("Div", [inner, self.shared(2.0**0.5)])])
        inner = self.node("Mul", [inner, self.node("Add", [erf, self.shared(1.0)])])
        return self.linear(self.node("Mul", [inner, self.shared(0.5)]), 2 * HIDDEN, HIDDEN)
