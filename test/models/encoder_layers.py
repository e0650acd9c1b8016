"""One layer of each transformer family as torch exports it, small: 64 features, 2 heads of 32, seeded weights.

The input is "x", the output "y"; what differs is how attention, norms and activations are written. onnx and numpy only.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
from models.architectures import Exporter

FEATURES, HEADS, WIDTH = 64, 2, 32


class LayerExporter(Exporter):
    """The parts that families share."""

    def layer_norm(self, x: str) -> str:
        return self("LayerNormalization", x, self.weight((FEATURES,), 0.5, 1.5), self.weight((FEATURES,)), axis=-1)

    def product(self, x: str, outputs: int, inputs: int = FEATURES) -> str:
        bound = inputs**-0.5
        return self("MatMul", x, self.weight((inputs, outputs), -bound, bound))

    def cut(self, x: str, rows: int, heads: int = HEADS, batch: int = 1) -> str:
        """[batch, rows, heads * WIDTH] as [batch, heads, rows, WIDTH]."""
        return self("Transpose", self("Reshape", x, self.ints([batch, rows, heads, WIDTH])), perm=[0, 2, 1, 3])

    def joined(self, x: str, rows: int, batch: int = 1) -> str:
        return self("Reshape", self("Transpose", x, perm=[0, 2, 1, 3]), self.ints([batch, rows, FEATURES]))

    def turned(self, x: str) -> str:
        return self("Transpose", x, perm=[0, 1, 3, 2])

    def where_nan(self, p: str) -> str:
        """SDPA's guard against rows without any key."""
        return self("Where", self("IsNaN", p), self.number(0.0), p)

    def gelu(self, x: str) -> str:
        """Exact, in small operators."""
        y = self("Add", self("Erf", self("Div", x, self.number(2**0.5))), self.number(1.0))
        return self("Mul", self("Mul", x, y), self.number(0.5))

    def gelu_tanh(self, x: str) -> str:
        """GPT-2's approximation."""
        cubic = self("Mul", self("Pow", x, self.number(3.0)), self.number(0.044715))
        inner = self("Mul", self("Add", x, cubic), self.number((2 / np.pi) ** 0.5))
        return self("Mul", self("Mul", x, self.number(0.5)), self("Add", self("Tanh", inner), self.number(1.0)))

    def feed_forward(self, x: str, activation: Callable[[str], str]) -> str:
        return self.linear(activation(self.linear(x, FEATURES, 2 * FEATURES)), 2 * FEATURES, FEATURES)


def bert(rows: int = 16, batch: int = 1) -> onnx.ModelProto:
    """Norms behind the sums, a mask computed from the tokens that are there."""
    b = LayerExporter()
    x, there = b.input("x", (batch, rows, FEATURES)), b.input("mask", (batch, rows), onnx.TensorProto.INT64)
    mask = b("Unsqueeze", b("Cast", there, to=1), b.ints([1, 2]))
    mask = b("Mul", b("Sub", b.number(1.0), mask), b.number(-10000.0))
    q, k, v = (b.cut(b.linear(x, FEATURES, FEATURES), rows, batch=batch) for _ in range(3))
    scores = b("Div", b("MatMul", q, b.turned(k)), b.number(WIDTH**0.5))
    y = b("MatMul", b("Softmax", b("Add", scores, mask), axis=-1), v)
    x = b.layer_norm(b("Add", b.linear(b.joined(y, rows, batch), FEATURES, FEATURES), x))
    return b.model(b("Identity", b.layer_norm(b("Add", b.feed_forward(x, b.gelu), x)), output="y"))


def bert_sdpa(rows: int = 16) -> onnx.ModelProto:
    """The same with scaled_dot_product_attention: scales on queries and keys, a choice of two numbers, a guard."""
    b = LayerExporter()
    x, there = b.input("x", (1, rows, FEATURES)), b.input("mask", (1, rows), onnx.TensorProto.INT64)
    keep = b("Unsqueeze", b("Cast", there, to=onnx.TensorProto.BOOL), b.ints([1, 2]))
    mask = b("Where", keep, b.number(0.0), b.number(float(np.finfo(np.float32).min)))
    q, k, v = (b.cut(b.linear(x, FEATURES, FEATURES), rows) for _ in range(3))
    q, k = b("Mul", q, b.number(WIDTH**-0.25)), b("Mul", b.turned(k), b.number(WIDTH**-0.25))
    y = b("MatMul", b.where_nan(b("Softmax", b("Add", b("MatMul", q, k), mask), axis=-1)), v)
    x = b.layer_norm(b("Add", b.linear(b.joined(y, rows), FEATURES, FEATURES), x))
    return b.model(b("Identity", b.layer_norm(b("Add", b.feed_forward(x, b.gelu), x)), output="y"))


def gpt2(rows: int = 16) -> onnx.ModelProto:
    """One product for queries, keys and values, split; a causal choice of -inf; GELU by tanh."""
    b = LayerExporter()
    x = b.input("x", (1, rows, FEATURES))
    packed = b.linear(b.layer_norm(x), FEATURES, 3 * FEATURES)
    q, k, v = (b.cut(part, rows) for part in b.several(3, "Split", packed, axis=2))
    scores = b("Div", b("MatMul", q, b.turned(k)), b.number(WIDTH**0.5))
    causal = b.constant("causal", np.tri(rows, dtype=bool)[None, None])
    scores = b("Where", causal, scores, b.number(float(np.finfo(np.float32).min)))
    y = b("MatMul", b("Softmax", scores, axis=-1), v)
    x = b("Add", b.linear(b.joined(y, rows), FEATURES, FEATURES), x)
    return b.model(b("Add", x, b.feed_forward(b.layer_norm(x), b.gelu_tanh), output="y"))


def llama(rows: int = 16, head_norms: bool = False) -> onnx.ModelProto:
    """RMS norms, rotary embedding, one head of keys and values for two of queries, a causal sum, SiLU."""
    b = LayerExporter()
    x = b.input("x", (1, rows, FEATURES))
    angles = np.outer(np.arange(rows), 10000.0 ** (-np.arange(0, WIDTH, 2) / WIDTH)).astype(np.float32)
    angles = np.concatenate([angles, angles], -1)[None, None]
    cos, sin = b.constant("cos", np.cos(angles)), b.constant("sin", np.sin(angles))

    def rotated(x: str) -> str:
        half, axes, steps = WIDTH // 2, b.ints([3]), b.ints([1])
        left = b("Slice", x, b.ints([0]), b.ints([half]), axes, steps)
        right = b("Slice", x, b.ints([half]), b.ints([2**62]), axes, steps)
        turned = b("Concat", b("Neg", right), left, axis=3)
        return b("Add", b("Mul", x, cos), b("Mul", turned, sin))

    def heads(x: str, count: int) -> str:
        if not head_norms:
            return b.cut(x, rows, count)
        x = b.rms_norm(b("Reshape", x, b.ints([1, rows, count, WIDTH])), WIDTH)
        return b("Transpose", x, perm=[0, 2, 1, 3])

    def repeated(x: str) -> str:
        y = b("Expand", b("Unsqueeze", x, b.ints([2])), b.ints([1, 1, HEADS, rows, WIDTH]))
        return b("Reshape", y, b.ints([1, HEADS, rows, WIDTH]))

    y = b.rms_norm(x, FEATURES)
    q, k = rotated(heads(b.product(y, FEATURES), HEADS)), heads(b.product(y, WIDTH), 1)
    v = b.cut(b.product(y, WIDTH), rows, 1)
    causal = b.constant("causal", np.where(np.tri(rows), 0, -np.inf).astype(np.float32)[None, None])
    scores = b("Mul", b("MatMul", q, b.turned(repeated(rotated(k)))), b.number(WIDTH**-0.5))
    y = b("MatMul", b.where_nan(b("Softmax", b("Add", scores, causal), axis=-1)), repeated(v))
    x = b("Add", x, b.product(b.joined(y, rows), FEATURES))
    y = b.rms_norm(x, FEATURES)
    gated = b("Mul", b.silu(b.product(y, 2 * FEATURES)), b.product(y, 2 * FEATURES))
    return b.model(b("Add", x, b.product(gated, FEATURES, 2 * FEATURES), output="y"))


def qwen3(rows: int = 16) -> onnx.ModelProto:
    """Llama's layer with a norm of each head of queries and keys before they are rotated."""
    return llama(rows, head_norms=True)


def vit(rows: int = 17) -> onnx.ModelProto:
    """torch's MultiheadAttention: rows first, one product cut in three, scales on queries and keys; a class token."""
    b = LayerExporter()
    x = b.input("x", (1, rows, FEATURES))
    packed = b.linear(b("Transpose", b.layer_norm(x), perm=[1, 0, 2]), FEATURES, 3 * FEATURES)
    packed = b("Transpose", b("Reshape", packed, b.ints([rows, 1, 3, FEATURES])), perm=[2, 1, 0, 3])
    q, k, v = (b.cut(b("Gather", packed, b.ints(i), axis=0), rows) for i in range(3))
    q, k = b("Mul", q, b.number(WIDTH**-0.25)), b("Mul", b.turned(k), b.number(WIDTH**-0.25))
    y = b.joined(b("MatMul", b("Softmax", b("MatMul", q, k), axis=-1), v), rows)
    x = b("Add", x, b.linear(y, FEATURES, FEATURES))
    return b.model(b("Add", x, b.feed_forward(b.layer_norm(x), b.gelu), output="y"))


def whisper(rows: int = 30) -> onnx.ModelProto:
    """Queries scaled behind their product, keys without a bias."""
    b = LayerExporter()
    x = b.input("x", (1, rows, FEATURES))
    y = b.layer_norm(x)
    q = b.cut(b("Mul", b.linear(y, FEATURES, FEATURES), b.number(WIDTH**-0.5)), rows)
    k, v = b.cut(b.product(y, FEATURES), rows), b.cut(b.linear(y, FEATURES, FEATURES), rows)
    y = b("MatMul", b("Softmax", b("MatMul", q, b.turned(k)), axis=-1), v)
    x = b("Add", x, b.linear(b.joined(y, rows), FEATURES, FEATURES))
    return b.model(b("Add", x, b.feed_forward(b.layer_norm(x), b.gelu), output="y"))


def t5(rows: int = 16) -> onnx.ModelProto:
    """RMS norms, no scale, a bias of relative positions a head, ReLU."""
    b = LayerExporter()
    x = b.input("x", (1, rows, FEATURES))
    y = b.rms_norm(x, FEATURES)
    q, k, v = (b.cut(b.product(y, FEATURES), rows) for _ in range(3))
    scores = b("Add", b("MatMul", q, b.turned(k)), b.weight((1, HEADS, rows, rows)))
    y = b("MatMul", b("Softmax", scores, axis=-1), v)
    x = b("Add", x, b.product(b.joined(y, rows), FEATURES))
    y = b("Relu", b.product(b.rms_norm(x, FEATURES), 2 * FEATURES))
    return b.model(b("Add", x, b.product(y, FEATURES, 2 * FEATURES), output="y"))


def swin(side: int = 4) -> onnx.ModelProto:
    """Four windows of `side` x `side`: a bias a head, and a mask a window, which another batch axis is made for."""
    b, rows = LayerExporter(), side * side
    x = b.input("x", (4, rows, FEATURES))
    packed = b("Reshape", b.linear(b.layer_norm(x), FEATURES, 3 * FEATURES), b.ints([4, rows, 3, HEADS, WIDTH]))
    packed = b("Transpose", packed, perm=[2, 0, 3, 1, 4])
    q, k, v = (b("Gather", packed, b.ints(i), axis=0) for i in range(3))
    scores = b("MatMul", b("Mul", q, b.number(WIDTH**-0.5)), b.turned(k))
    scores = b("Add", scores, b.weight((1, HEADS, rows, rows)))
    apart = b._rng.integers(0, 2, (4, 1, rows, 1))
    mask = np.where(apart == apart.swapaxes(2, 3), 0, -100).astype(np.float32)[None]
    scores = b("Add", b("Reshape", scores, b.ints([1, 4, HEADS, rows, rows])), b.constant("mask", mask))
    scores = b("Reshape", scores, b.ints([4, HEADS, rows, rows]))
    y = b("Transpose", b("MatMul", b("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
    x = b("Add", x, b.linear(b("Reshape", y, b.ints([4, rows, FEATURES])), FEATURES, FEATURES))
    return b.model(b("Add", x, b.feed_forward(b.layer_norm(x), b.gelu), output="y"))


def swin_map(side: int = 14, window: int = 7, shift: int = 3, *, chunked: bool = False) -> onnx.ModelProto:
    """Windows cut out of a map that is rolled first, as torchvision has it, and the way back; a bias a head.

    `chunked`: queries, keys and values are thirds of the product's columns, each cut into heads by itself (MaxViT).
    """
    b, rows, count = LayerExporter(), window * window, (side // window) ** 2
    x = b.input("x", (1, side, side, FEATURES))

    def rolled(x: str, by: int) -> str:
        for axis in (1, 2) if by else ():
            parts = [
                b("Slice", x, b.ints([start]), b.ints([end]), b.ints([axis]), b.ints([1]))
                for start, end in ((by % side, side), (0, by % side))
            ]
            x = b("Concat", *parts, axis=axis)
        return x

    grid = [side // window, window, side // window, window, FEATURES]
    y = b("Transpose", b("Reshape", rolled(b.layer_norm(x), shift), b.ints([1, *grid])), perm=[0, 1, 3, 2, 4, 5])
    packed = b.linear(b("Reshape", y, b.ints([count, rows, FEATURES])), FEATURES, 3 * FEATURES)
    if chunked:
        bounds = [(i * FEATURES, (i + 1) * FEATURES) for i in range(3)]
        thirds = [b("Slice", packed, *(b.ints([n]) for n in (*bound, 2, 1))) for bound in bounds]
        q, k, v = (
            b("Transpose", b("Reshape", x, b.ints([count, rows, HEADS, WIDTH])), perm=[0, 2, 1, 3]) for x in thirds
        )
    else:
        packed = b("Transpose", b("Reshape", packed, b.ints([count, rows, 3, HEADS, WIDTH])), perm=[2, 0, 3, 1, 4])
        q, k, v = (b("Gather", packed, b.ints(i), axis=0) for i in range(3))
    scores = b("MatMul", b("Mul", q, b.number(WIDTH**-0.5)), b.turned(k))
    scores = b("Add", scores, b.weight((1, HEADS, rows, rows)))
    y = b("Transpose", b("MatMul", b("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
    y = b.linear(b("Reshape", y, b.ints([count, rows, FEATURES])), FEATURES, FEATURES)
    y = b("Reshape", y, b.ints([1, side // window, side // window, window, window, FEATURES]))
    y = b("Reshape", b("Transpose", y, perm=[0, 1, 3, 2, 4, 5]), b.ints([1, side, side, FEATURES]))
    x = b("Add", x, rolled(y, -shift))
    return b.model(b("Add", x, b.feed_forward(b.layer_norm(x), b.gelu), output="y"))


def one_head(width: int = 36, rows: int = 20, gate: str = "Exp") -> onnx.ModelProto:
    """Attention without heads, whose queries, keys and values are a `gate` of products: of 0 it makes something else."""
    b = LayerExporter()
    x = b.input("x", (1, rows, width))
    q, k, v = (b(gate, b.linear(x, width, width)) for _ in range(3))
    scores = b("Mul", b("MatMul", q, b("Transpose", k, perm=[0, 2, 1])), b.number(width**-0.5))
    y = b("MatMul", b("Softmax", scores, axis=-1), v)
    return b.model(b("Add", x, b.linear(y, width, width), output="y"))


def odd_heads(width: int = 36, rows: int = 20, heads: int = 2) -> onnx.ModelProto:
    """MobileViT's attention: heads that are no whole blocks of columns."""
    b, columns = LayerExporter(), heads * width
    x = b.input("x", (1, rows, columns))
    packed = b("Reshape", b.linear(x, columns, 3 * columns), b.ints([1, rows, 3, heads, width]))
    packed = b("Transpose", packed, perm=[2, 0, 3, 1, 4])
    q, k, v = (b("Gather", packed, b.ints(i), axis=0) for i in range(3))
    scores = b("Mul", b("MatMul", q, b.turned(k)), b.number(width**-0.5))
    y = b("Transpose", b("MatMul", b("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
    y = b("Reshape", y, b.ints([1, rows, columns]))
    return b.model(b("Add", x, b.linear(y, columns, columns), output="y"))


LAYERS: dict[str, Callable[[], onnx.ModelProto]] = {
    layer.__name__: layer for layer in (bert, bert_sdpa, gpt2, llama, qwen3, vit, whisper, t5, swin, swin_map)
}
