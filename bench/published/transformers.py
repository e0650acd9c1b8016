"""Networks of attention: text encoders and image classifiers, from the papers' tables."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx

from published.net import Net, Value


def feed_forward(net: Net, x: Value, width: int) -> Value:
    """Two products with a GELU between."""
    return net.linear(net.linear(x, width, "gelu"), x.shape[-1])


def self_attention(net: Net, x: Value, heads: int, mask: Value | None = None) -> Value:
    """Three products, attention, and one product."""
    q, k, v = (net.linear(x, x.shape[-1]) for _ in range(3))
    return net.linear(net.attention(q, k, v, heads, mask), x.shape[-1])


# -- text -------------------------------------------------------------------------------------------------------------


def bert(
    tokens: int, *, layers: int = 12, hidden: int = 768, embedding: int = 0, vocabulary: int = 30522, head: str = "pool"
) -> Callable[[Net], list[Value]]:
    """BERT and its relatives: LayerNorm after each addition; `embedding` narrower than `hidden` as in ALBERT, whose
    layers share their weights.

    `head`: "pool" is the pooled first token with two classes, "spans" two numbers a token, "hidden" nothing.
    """
    heads = hidden // 64

    def build(net: Net) -> list[Value]:
        ids, mask, kinds = (net.input(tokens, dtype=onnx.TensorProto.INT64) for _ in range(3))
        width = embedding or hidden
        words = net.node("Gather", [net.weight(vocabulary, width), ids], (net.batch, tokens, width), axis=0)
        types = net.node("Gather", [net.weight(2, width), kinds], words.shape, axis=0)
        x = net.layer_norm(net.add(net.add(words, types), net.weight(1, tokens, width)))
        if width != hidden:
            x = net.linear(x, hidden)
        wide = net.node("Unsqueeze", [mask, net.constant([1, 2])], (net.batch, 1, 1, tokens))
        kept = net.node("Cast", [wide], wide.shape, to=1)
        bias = net.scale(net.node("Sub", [net.constant(1.0), kept], kept.shape), -10000.0)

        def encoder(x: Value) -> Value:
            x = net.layer_norm(net.add(x, self_attention(net, x, heads, bias)))
            return net.layer_norm(net.add(x, feed_forward(net, x, 4 * hidden)))

        if embedding:
            x = net.repeat(encoder, x, layers)
        else:
            for _ in range(layers):
                x = encoder(x)
        if head == "spans":
            return [net.linear(x, 2)]
        if head == "pool":
            first = net.reshape(net.slice(x, 1, 0, 1), net.batch, hidden)
            return [net.classifier(net.classifier(first, hidden, "tanh"), 2)]
        return [x]

    return build


# -- images -----------------------------------------------------------------------------------------------------------


def patches(net: Net, x: Value, width: int, size: int) -> Value:
    """Non-overlapping windows of an image as [n, c, h, w]."""
    return net.conv(x, width, size, size, pad=0, act=None)


def with_class_token(net: Net, x: Value) -> Value:
    """A learnt token before the others."""
    first = net.node(
        "Expand", [net.weight(1, 1, x.shape[-1]), net.constant([net.batch, 1, 1])], (net.batch, 1, x.shape[-1])
    )
    return net.concat([first, x], 1)


def first_token(net: Net, x: Value) -> Value:
    """The first token as [n, features]."""
    return net.reshape(net.slice(x, 1, 0, 1), x.shape[0], x.shape[-1])


def vit(side: int, patch: int, *, width: int = 768, beit: bool = False) -> Callable[[Net], list[Value]]:
    """ViT; as BEiT with a bias of relative positions, scaled branches and the mean of the tokens."""

    def build(net: Net) -> list[Value]:
        x = with_class_token(net, net.tokens(patches(net, net.input(3, side, side), width, patch)))
        if not beit:
            x = net.add(x, net.weight(1, x.shape[1], width))
        for _ in range(12):
            bias = net.weight(1, width // 64, x.shape[1], x.shape[1]) if beit else None
            y = self_attention(net, net.layer_norm(x), width // 64, bias)
            x = net.add(x, net.mul(y, net.weight(width)) if beit else y)
            y = feed_forward(net, net.layer_norm(x), 4 * width)
            x = net.add(x, net.mul(y, net.weight(width)) if beit else y)
        if beit:
            rest = net.slice(x, 1, 1, x.shape[1])
            mean = net.node("ReduceMean", [rest], (net.batch, width), axes=[1], keepdims=0)
            return [net.classifier(net.layer_norm(mean), 1000)]
        return [net.classifier(first_token(net, net.layer_norm(x)), 1000)]

    return build


def rolled(net: Net, x: Value, by: int) -> Value:
    """[n, h, w, c] rolled backwards by `by` along height and width."""
    for axis in (1, 2):
        size = x.shape[axis]
        by_axis = by % size
        x = net.concat([net.slice(x, axis, by_axis, size), net.slice(x, axis, 0, by_axis)], axis)
    return x


def swin(side: int, width: int, depths: tuple[int, ...], window: int) -> Callable[[Net], list[Value]]:
    """Swin: attention in windows that shift in every other block."""

    def block(net: Net, x: Value, heads: int, shift: int) -> Value:
        n, h, w, c = x.shape
        y = net.layer_norm(x)
        if shift:
            y = rolled(net, y, shift)
        rows, columns, inner = h // window, w // window, window * window
        y = net.transpose(net.reshape(y, n, rows, window, columns, window, c), 0, 1, 3, 2, 4, 5)
        y = net.reshape(y, n * rows * columns, inner, c)
        q, k, v = net.split(net.linear(y, 3 * c), [c] * 3, 2)
        bias = net.weight(1, heads, inner, inner)
        y = windowed(net, q, k, v, heads, bias, rows * columns if shift else 0)
        y = net.reshape(net.linear(y, c), n, rows, columns, window, window, c)
        y = net.reshape(net.transpose(y, 0, 1, 3, 2, 4, 5), n, h, w, c)
        x = net.add(x, rolled(net, y, -shift) if shift else y)
        return net.add(x, feed_forward(net, net.layer_norm(x), 4 * c))

    def windowed(net: Net, q: Value, k: Value, v: Value, heads: int, bias: Value, masks: int) -> Value:
        if not masks:
            return net.attention(q, k, v, heads, bias)
        count, tokens, c = q.shape
        keys = net.transpose(net.heads(k, heads), 0, 1, 3, 2)
        scores = net.scale(net.matmul(net.heads(q, heads), keys), (c // heads) ** -0.5)
        scores = net.reshape(net.add(scores, bias), net.batch, masks, heads, tokens, tokens)
        scores = net.add(scores, net.weight(1, masks, 1, tokens, tokens))
        scores = net.reshape(scores, count, heads, tokens, tokens)
        context = net.matmul(net.softmax(scores), net.heads(v, heads))
        return net.reshape(net.transpose(context, 0, 2, 1, 3), count, tokens, c)

    def build(net: Net) -> list[Value]:
        x = net.transpose(patches(net, net.input(3, side, side), width, 4), 0, 2, 3, 1)
        x = net.layer_norm(x)
        for stage, depth in enumerate(depths):
            if stage:
                parts = [
                    net.slice(net.slice(x, 1, i, x.shape[1], 2), 2, j, x.shape[2], 2) for j in (0, 1) for i in (0, 1)
                ]
                x = net.linear(net.layer_norm(net.concat(parts, 3)), 2 * x.shape[-1], bias=False)
            for i in range(depth):
                shift = window // 2 if i % 2 and x.shape[1] > window else 0
                x = block(net, x, x.shape[-1] // 32, shift)
        x = net.layer_norm(x)
        mean = net.node("ReduceMean", [x], (net.batch, x.shape[-1]), axes=[1, 2], keepdims=0)
        return [net.classifier(mean, 1000)]

    return build


def reduced_attention(net: Net, x: Value, heads: int, side: int, ratio: int) -> Value:
    """Attention whose keys and values come from the image reduced by `ratio`."""
    q = net.linear(x, x.shape[-1])
    small = x
    if ratio > 1:
        small = net.tokens(patches(net, net.image(x, side, side), x.shape[-1], ratio))
        small = net.layer_norm(small)
    k, v = net.split(net.linear(small, 2 * x.shape[-1]), [x.shape[-1]] * 2, 2)
    n, _, c = q.shape
    scores = net.matmul(net.heads(q, heads), net.transpose(net.heads(k, heads), 0, 1, 3, 2))
    context = net.matmul(net.softmax(net.scale(scores, (c // heads) ** -0.5)), net.heads(v, heads))
    return net.linear(net.reshape(net.transpose(context, 0, 2, 1, 3), n, q.shape[1], c), c)


def twins(
    widths: tuple[int, ...], depths: tuple[int, ...], heads: tuple[int, ...], ratios: tuple[int, ...], *, windows: bool
) -> Callable[[Net], list[Value]]:
    """Twins: PCPVT (reduced keys everywhere), or SVT with windows of 7 in every other block."""

    def build(net: Net) -> list[Value]:
        x, side = net.input(3, 224, 224), 224
        for stage, (width, depth) in enumerate(zip(widths, depths, strict=True)):
            size = 2 if stage else 4
            y, side = net.layer_norm(net.tokens(patches(net, x, width, size))), side // size
            for i in range(depth):
                normed = net.layer_norm(y)
                local = windows and i % 2 == 0
                if local:
                    mixed = locally(net, normed, heads[stage], side)
                else:
                    mixed = reduced_attention(net, normed, heads[stage], side, ratios[stage])
                y = net.add(y, mixed)
                y = net.add(y, feed_forward(net, net.layer_norm(y), (4 if windows or stage > 1 else 8) * width))
                if i == 0:
                    image = net.image(y, side, side)
                    y = net.tokens(net.add(net.depthwise(image, 3, act=None), image))
            x = net.image(y, side, side)
        mean = net.node("ReduceMean", [net.layer_norm(y)], (net.batch, widths[-1]), axes=[1], keepdims=0)
        return [net.classifier(mean, 1000)]

    def locally(net: Net, x: Value, heads: int, side: int) -> Value:
        n, tokens, c = x.shape
        k = side // 7
        y = net.transpose(net.reshape(x, n, k, 7, k, 7, c), 0, 1, 3, 2, 4, 5)
        y = self_attention(net, net.reshape(y, n * k * k, 49, c), heads)
        y = net.transpose(net.reshape(y, n, k, k, 7, 7, c), 0, 1, 3, 2, 4, 5)
        return net.reshape(y, n, tokens, c)

    return build


def convnext_tiny(net: Net) -> list[Value]:
    """A wide depthwise convolution and two products over channels that stand last."""

    def normed(x: Value) -> Value:
        return net.transpose(net.layer_norm(net.transpose(x, 0, 2, 3, 1)), 0, 3, 1, 2)

    x = normed(patches(net, net.input(3, 224, 224), 96, 4))
    for stage, depth in enumerate((3, 3, 9, 3)):
        if stage:
            x = patches(net, normed(x), 2 * x.shape[1], 2)
        for _ in range(depth):
            y = net.transpose(net.depthwise(x, 7, act=None), 0, 2, 3, 1)
            y = feed_forward(net, net.layer_norm(y), 4 * x.shape[1])
            x = net.add(x, net.transpose(net.mul(y, net.weight(x.shape[1])), 0, 3, 1, 2))
    x = net.flatten(net.global_pool(x))
    return [net.classifier(net.layer_norm(x), 1000)]


def tnt_small(net: Net) -> list[Value]:
    """Transformer in transformer: 4 x 4 pixels of 24 features inside each of 196 patches of 384."""
    x = net.conv(net.input(3, 224, 224), 24, 7, 4, act=None)
    n = net.batch
    pixels = net.transpose(net.reshape(x, n, 24, 14, 4, 14, 4), 0, 2, 4, 3, 5, 1)
    pixels = net.add(net.reshape(pixels, n * 196, 16, 24), net.weight(1, 16, 24))
    words = net.layer_norm(net.linear(net.reshape(net.layer_norm(pixels), n, 196, 384), 384))
    words = net.add(with_class_token(net, words), net.weight(1, 197, 384))
    for _ in range(12):
        pixels = net.add(pixels, self_attention(net, net.layer_norm(pixels), 4))
        pixels = net.add(pixels, feed_forward(net, net.layer_norm(pixels), 96))
        gathered = net.linear(net.layer_norm(net.reshape(pixels, n, 196, 384)), 384)
        rest = net.add(net.slice(words, 1, 1, 197), gathered)
        words = net.concat([net.slice(words, 1, 0, 1), rest], 1)
        words = net.add(words, self_attention(net, net.layer_norm(words), 6))
        words = net.add(words, feed_forward(net, net.layer_norm(words), 1536))
    return [net.classifier(first_token(net, net.layer_norm(words)), 1000)]


def cross_covariance(net: Net, x: Value, heads: int) -> Value:
    """Attention among the channels of each head: queries and keys of unit length along the tokens, a learnt temperature."""
    n, tokens, width = x.shape
    shape = (n, heads, width // heads, tokens)
    q, k, v = (
        net.transpose(net.reshape(part, n, tokens, heads, width // heads), 0, 2, 3, 1)
        for part in net.split(net.linear(x, 3 * width), [width] * 3, 2)
    )

    def normalised(x: Value) -> Value:
        length = net.node("ReduceL2", [x], (*shape[:3], 1), axes=[-1])
        least = net.node("Clip", [length, net.constant(1e-12)], length.shape)
        return net.node("Div", [x, least], shape)

    scores = net.matmul(normalised(q), net.transpose(normalised(k), 0, 1, 3, 2))
    context = net.matmul(net.softmax(net.mul(scores, net.weight(heads, 1, 1))), v)
    return net.linear(net.reshape(net.transpose(context, 0, 3, 1, 2), n, tokens, width), width)


def class_attention(net: Net, x: Value, heads: int) -> Value:
    """The first token attends to all."""
    first = net.slice(x, 1, 0, 1)
    q, k, v = (net.linear(part, x.shape[-1]) for part in (first, x, x))
    return net.linear(net.attention(q, k, v, heads), x.shape[-1])


def xcit_small(net: Net) -> list[Value]:
    """XCiT-S12/16 (El-Nouby et al. 2021): 12 layers of cross-covariance attention, two of class attention."""
    x = net.input(3, 224, 224)
    for channels in (48, 96, 192):
        x = net.conv(x, channels, 3, 2, act="gelu")
    x = net.tokens(net.conv(x, 384, 3, 2, act=None))
    x = net.add(x, net.weight(1, 196, 384))

    def branch(x: Value, y: Value) -> Value:
        return net.add(x, net.mul(y, net.weight(384)))

    for _ in range(12):
        x = branch(x, cross_covariance(net, net.layer_norm(x), 8))
        y = net.depthwise(net.image(net.layer_norm(x), 14, 14), 3, act="gelu")
        y = net.depthwise(net.add(net.mul(y, net.weight(384, 1, 1)), net.weight(384, 1, 1)), 3, act=None)
        x = branch(x, net.tokens(y))
        x = branch(x, feed_forward(net, net.layer_norm(x), 1536))
    x = with_class_token(net, x)
    for _ in range(2):
        y = net.layer_norm(x)
        x = branch(x, net.concat([class_attention(net, y, 8), net.slice(y, 1, 1, 197)], 1))
        y = net.layer_norm(x)
        first = branch(net.slice(y, 1, 0, 1), feed_forward(net, net.slice(y, 1, 0, 1), 1536))
        x = net.add(x, net.concat([first, net.slice(y, 1, 1, 197)], 1))
    return [net.classifier(first_token(net, net.layer_norm(x)), 1000)]


def outlook(net: Net, x: Value, heads: int) -> Value:
    """Outlook attention on [n, h, w, c]: each second position weighs the 3 x 3 values around it and adds what comes of them
    to these places. Windows are taken out by two gathers, as torch exports Unfold; those that overlap are added by a
    transposed convolution of ones, since Fold has no operator before opset 18."""
    n, h, w, c = x.shape
    rows, columns, width = h // 2, w // 2, c // heads
    v = net.pad(net.transpose(net.linear(x, c, bias=False), 0, 3, 1, 2), 1, 1, 1, 1)
    down, across = (net.constant(2 * np.arange(size)[None] + np.arange(3)[:, None]) for size in (rows, columns))
    v = net.node("Gather", [v, down], (n, c, 3, rows, w + 2), axis=2)
    v = net.node("Gather", [v, across], (n, c, 3, rows, 3, columns), axis=4)
    v = net.reshape(net.transpose(v, 0, 1, 2, 4, 3, 5), n, heads, width, 9, rows * columns)
    pooled = net.pool(net.transpose(x, 0, 3, 1, 2), "AveragePool", 2, 2, 0)
    weights = net.linear(net.transpose(pooled, 0, 2, 3, 1), 81 * heads)
    weights = net.transpose(net.reshape(weights, n, rows * columns, heads, 9, 9), 0, 2, 1, 3, 4)
    mixed = net.matmul(net.softmax(net.scale(weights, width**-0.5)), net.transpose(v, 0, 1, 4, 3, 2))
    mixed = net.reshape(net.transpose(mixed, 0, 1, 4, 3, 2), n, 9 * c, rows, columns)
    ones = net.constant(np.tile(np.eye(9, dtype=np.float32).reshape(9, 1, 3, 3), (c, 1, 1, 1)))
    window = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1], "group": c}
    y = net.node("ConvTranspose", [mixed, ones], (n, c, h, w), **window)
    return net.linear(net.transpose(y, 0, 2, 3, 1), c)


def volo_d1(net: Net) -> list[Value]:
    """VOLO-D1 (Yuan et al. 2021): 4 layers of outlook attention, 14 of attention, 2 of class attention, a head for each token."""
    x = net.conv(net.input(3, 224, 224), 64, 7, 2)
    for _ in range(2):
        x = net.conv(x, 64, 3)
    x = net.transpose(patches(net, x, 192, 4), 0, 2, 3, 1)
    for _ in range(4):
        x = net.add(x, outlook(net, net.layer_norm(x), 6))
        x = net.add(x, feed_forward(net, net.layer_norm(x), 576))
    x = net.transpose(patches(net, net.transpose(x, 0, 3, 1, 2), 384, 2), 0, 2, 3, 1)
    x = net.reshape(net.add(x, net.weight(1, 14, 14, 384)), net.batch, 196, 384)
    for _ in range(14):
        x = net.add(x, self_attention(net, net.layer_norm(x), 12))
        x = net.add(x, feed_forward(net, net.layer_norm(x), 1152))
    x = with_class_token(net, x)
    for _ in range(2):
        first, rest = net.slice(x, 1, 0, 1), net.slice(x, 1, 1, 197)
        first = net.add(first, class_attention(net, net.layer_norm(x), 12))
        x = net.concat([net.add(first, feed_forward(net, net.layer_norm(first), 1152)), rest], 1)
    x = net.layer_norm(x)
    tokens = net.linear(net.slice(x, 1, 1, 197), 1000)
    best = net.node("ReduceMax", [tokens], (net.batch, 1000), axes=[1], keepdims=0)
    return [net.add(net.classifier(first_token(net, x), 1000), net.scale(best, 0.5))]
