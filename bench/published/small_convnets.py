"""Small classifiers for small devices: depthwise, grouped and shuffled convolutions, re-parametrised ones."""

from __future__ import annotations

from collections.abc import Callable

from published.convnets import head, shortcut
from published.net import Net, Value


def mobilenet_v1(net: Net) -> list[Value]:
    """Thirteen pairs of a depthwise and a pointwise convolution."""
    x = net.conv(net.input(3, 224, 224), 32, 3, 2)
    for channels, stride in [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)] + [(512, 1)] * 5:
        x = net.conv(net.depthwise(x, 3, stride), channels, 1)
    for channels, stride in [(1024, 2), (1024, 1)]:
        x = net.conv(net.depthwise(x, 3, stride), channels, 1)
    return head(net, x)


MOBILENET_V3 = [
    (3, 16, 16, False, "relu", 1),
    (3, 64, 24, False, "relu", 2),
    (3, 72, 24, False, "relu", 1),
    (5, 72, 40, True, "relu", 2),
    (5, 120, 40, True, "relu", 1),
    (5, 120, 40, True, "relu", 1),
    (3, 240, 80, False, "hard_swish", 2),
    (3, 200, 80, False, "hard_swish", 1),
    (3, 184, 80, False, "hard_swish", 1),
    (3, 184, 80, False, "hard_swish", 1),
    (3, 480, 112, True, "hard_swish", 1),
    (3, 672, 112, True, "hard_swish", 1),
    (5, 672, 160, True, "hard_swish", 2),
    (5, 960, 160, True, "hard_swish", 1),
    (5, 960, 160, True, "hard_swish", 1),
]
"""Window, width, channels, squeeze-and-excite, activation, stride."""


def mobilenet_v3(net: Net) -> list[Value]:
    """MobileNetV3-large."""
    x = net.conv(net.input(3, 224, 224), 16, 3, 2, act="hard_swish")
    for kernel, width, channels, squeeze, act, stride in MOBILENET_V3:
        y = x if width == x.shape[1] else net.conv(x, width, 1, act=act)
        y = net.depthwise(y, kernel, stride, act=act)
        if squeeze:
            y = net.squeeze_excite(y, max(8, round(width / 4 / 8) * 8), gate="hard_sigmoid")
        y = net.conv(y, channels, 1, act=None)
        x = net.add(y, x) if y.shape == x.shape else y
    x = net.conv(x, 960, 1, act="hard_swish")
    x = net.classifier(net.flatten(net.global_pool(x)), 1280)
    return [net.classifier(net.act(x, "hard_swish"), 1000)]


EFFICIENTNET = [(3, 1, 16, 1, 1), (3, 6, 24, 2, 2), (5, 6, 40, 2, 2), (3, 6, 80, 2, 3), (5, 6, 112, 1, 3)]
EFFICIENTNET += [(5, 6, 192, 2, 4), (3, 6, 320, 1, 1)]
"""Window, expansion, channels, stride, depth of EfficientNet-B0's stages."""


def efficientnet(side: int, width: float, depth: float) -> Callable[[Net], list[Value]]:
    """EfficientNet-B0 to B7 by their factors of width and depth."""

    def wide(channels: float) -> int:
        rounded = max(8, int(channels * width + 4) // 8 * 8)
        return rounded + 8 if rounded < 0.9 * channels * width else rounded

    def build(net: Net) -> list[Value]:
        x = net.conv(net.input(3, side, side), wide(32), 3, 2, act="silu")
        for kernel, expansion, channels, stride, repeats in EFFICIENTNET:
            for i in range(-int(-repeats * depth // 1)):
                inner = x.shape[1] * expansion
                y = x if expansion == 1 else net.conv(x, inner, 1, act="silu")
                y = net.depthwise(y, kernel, stride if i == 0 else 1, act="silu")
                y = net.squeeze_excite(y, max(1, x.shape[1] // 4), act="silu")
                y = net.conv(y, wide(channels), 1, act=None)
                x = net.add(y, x) if y.shape == x.shape else y
        return head(net, net.conv(x, wide(1280), 1, act="silu"))

    return build


def efficientnet_v2_rw_t(net: Net) -> list[Value]:
    """EfficientNetV2-rw-t at 288 x 288, the side of its published measurement."""
    x = net.conv(net.input(3, 288, 288), 24, 3, 2, act="silu")
    for i in range(2):
        y = net.conv(x, 24, 3, act="silu")
        x = net.add(y, x) if i or y.shape == x.shape else y
    for channels, depth in ((40, 4), (48, 4)):
        for i in range(depth):
            y = net.conv(net.conv(x, 4 * x.shape[1], 3, 2 if i == 0 else 1, act="silu"), channels, 1, act=None)
            x = net.add(y, x) if y.shape == x.shape else y
    for expansion, channels, first, depth in ((4, 104, 2, 6), (6, 128, 1, 9), (6, 208, 2, 14)):
        for i in range(depth):
            y = net.depthwise(net.conv(x, expansion * x.shape[1], 1, act="silu"), 3, first if i == 0 else 1, act="silu")
            y = net.squeeze_excite(y, x.shape[1] // 4, act="silu")
            y = net.conv(y, channels, 1, act=None)
            x = net.add(y, x) if y.shape == x.shape else y
    return head(net, net.conv(x, 1024, 1, act="silu"))


GHOSTNET = [
    [(3, 16, 16, False, 1)],
    [(3, 48, 24, False, 2), (3, 72, 24, False, 1)],
    [(5, 72, 40, True, 2), (5, 120, 40, True, 1)],
    [(3, 240, 80, False, 2), (3, 200, 80, False, 1), (3, 184, 80, False, 1), (3, 184, 80, False, 1)],
    [(3, 480, 112, True, 1), (3, 672, 112, True, 1)],
    [(5, 672, 160, True, 2), (5, 960, 160, False, 1), (5, 960, 160, True, 1), (5, 960, 160, False, 1)],
    [(5, 960, 160, True, 1)],
]
"""Window, width, channels, squeeze-and-excite, stride of GhostNet 1.0's blocks."""


def ghostnet(net: Net) -> list[Value]:
    """Half of the channels of each layer come from a cheap depthwise convolution of the other half."""

    def ghost(x: Value, channels: int, act: str | None) -> Value:
        primary = net.conv(x, channels // 2, 1, act=act)
        return net.concat([primary, net.depthwise(primary, 3, act=act)])

    x = net.conv(net.input(3, 224, 224), 16, 3, 2)
    for kernel, width, channels, squeeze, stride in [block for stage in GHOSTNET for block in stage]:
        y = ghost(x, width, "relu")
        if stride > 1:
            y = net.depthwise(y, kernel, stride, act=None)
        if squeeze:
            y = net.squeeze_excite(y, round(width / 4 / 4) * 4, gate="hard_sigmoid")
        y = ghost(y, channels, None)
        if y.shape != x.shape:
            x = net.conv(net.depthwise(x, kernel, stride, act=None), channels, 1, act=None)
        x = net.add(y, x)
    x = net.conv(net.global_pool(net.conv(x, 960, 1)), 1280, 1)
    return [net.classifier(net.flatten(x), 1000)]


def shufflenet_v1(net: Net) -> list[Value]:
    """ShuffleNet v1 of three groups: grouped pointwise convolutions with a shuffle of channels between."""

    def shuffle(x: Value) -> Value:
        n, c, h, w = x.shape
        turned = net.transpose(net.reshape(x, n, 3, c // 3, h, w), 0, 2, 1, 3, 4)
        return net.reshape(turned, n, c, h, w)

    x = net.pool(net.conv(net.input(3, 224, 224), 24, 3, 2), "MaxPool", 3, 2)
    for channels, depth in ((240, 4), (480, 8), (960, 4)):
        for i in range(depth):
            stride, groups = (2 if i == 0 else 1), (1 if x.shape[1] == 24 else 3)
            outer = channels - x.shape[1] if i == 0 else channels
            y = shuffle(net.conv(x, channels // 4, 1, groups=groups))
            y = net.conv(net.depthwise(y, 3, stride, act=None), outer, 1, groups=3, act=None)
            if i == 0:
                x = net.act(net.concat([net.pool(x, "AveragePool", 3, 2), y]), "relu")
            else:
                x = net.add(x, y, "relu")
    return head(net, x)


def repvgg_a0(net: Net) -> list[Value]:
    """As deployed: 3 x 3 convolutions only."""
    x = net.conv(net.input(3, 224, 224), 48, 3, 2)
    for channels, depth in ((48, 2), (96, 4), (192, 14), (1280, 1)):
        for i in range(depth):
            x = net.conv(x, channels, 3, 2 if i == 0 else 1)
    return head(net, x)


def osnet(net: Net) -> list[Value]:
    """OSNet x1.0 for person re-identification, 256 x 128: streams of one to four light convolutions under one gate."""

    def light(x: Value) -> Value:
        return net.depthwise(net.conv(x, x.shape[1], 1, act=None), 3)

    def block(x: Value, channels: int) -> Value:
        inner = channels // 4
        squeezed = net.conv(x, inner, 1)
        streams: list[Value] = []
        for length in (1, 2, 3, 4):
            y = squeezed
            for _ in range(length):
                y = light(y)
            streams.append(net.squeeze_excite(y, inner // 16))
        y = net.conv(net.add(net.add(net.add(streams[0], streams[1]), streams[2]), streams[3]), channels, 1, act=None)
        return net.add(y, shortcut(net, x, channels, 1), "relu")

    x = net.pool(net.conv(net.input(3, 256, 128), 64, 7, 2), "MaxPool", 3, 2)
    for stage, channels in enumerate((256, 384, 512)):
        x = block(block(x, channels), channels)
        if stage < 2:
            x = net.pool(net.conv(x, channels, 1), "AveragePool", 2, 2, 0)
    x = net.flatten(net.global_pool(net.conv(x, 512, 1)))
    return [net.classifier(x, 512, "relu")]
