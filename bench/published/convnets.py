"""Classifiers made of convolutions, from the papers' tables; batch and image side as in the published measurements."""

from __future__ import annotations

from collections.abc import Callable

from published.net import Net, Value

Block = Callable[[Net, Value, int, int], Value]


def head(net: Net, x: Value, classes: int = 1000) -> list[Value]:
    """The means of the channels and a fully connected layer."""
    return [net.classifier(net.flatten(net.global_pool(x)), classes)]


# -- ResNet and its relatives -----------------------------------------------------------------------------------------


def stem(net: Net, x: Value, channels: int = 64) -> Value:
    """7 x 7 at stride 2, and max pooling."""
    return net.pool(net.conv(x, channels, 7, 2), "MaxPool", 3, 2)


def shortcut(net: Net, x: Value, channels: int, stride: int) -> Value:
    """`x`, through a 1 x 1 convolution where the shape changes."""
    return x if stride == 1 and x.shape[1] == channels else net.conv(x, channels, 1, stride, act=None)


def basic(net: Net, x: Value, width: int, stride: int) -> Value:
    """Two 3 x 3 convolutions around which the input is added."""
    y = net.conv(net.conv(x, width, 3, stride), width, 3, act=None)
    return net.add(y, shortcut(net, x, width, stride), "relu")


def bottleneck(*, groups: int = 1, base: int = 64, squeeze: int = 0) -> Block:
    """1 x 1, 3 x 3 in groups of `base` / 64 of the width each, 1 x 1; with `squeeze` the channels are weighed."""

    def block(net: Net, x: Value, width: int, stride: int) -> Value:
        inner = width * base // 64 * groups
        y = net.conv(net.conv(x, inner, 1), inner, 3, stride, groups=groups)
        y = net.conv(y, 4 * width, 1, act=None)
        if squeeze:
            y = net.squeeze_excite(y, 4 * width // squeeze)
        return net.add(y, shortcut(net, x, 4 * width, stride), "relu")

    return block


def selective(net: Net, x: Value, width: int, stride: int) -> Value:
    """SKNet's block: two dilations of a grouped convolution, mixed by a softmax over their channels' means."""
    inner = 2 * width
    y = net.conv(x, inner, 1)
    branches = [net.conv(y, inner, 3, stride, groups=32, dilation=d) for d in (1, 2)]
    means = net.conv(net.global_pool(net.add(*branches)), max(32, inner // 16), 1)
    weights = net.reshape(net.conv(means, 2 * inner, 1, act=None), net.batch, 2, inner, 1, 1)
    parts = net.split(net.softmax(weights, 1), [1, 1])
    mixed = [
        net.mul(branch, net.reshape(part, net.batch, inner, 1, 1)) for branch, part in zip(branches, parts, strict=True)
    ]
    y = net.conv(net.add(*mixed), 4 * width, 1, act=None)
    return net.add(y, shortcut(net, x, 4 * width, stride), "relu")


def res2(net: Net, x: Value, width: int, stride: int) -> Value:
    """Res2Net v1b's block of 26 channels a part and four parts, each fed by the one before."""
    part = int(width * 26 / 64)
    parts = net.split(net.conv(x, 4 * part, 1), [part] * 4)
    outs: list[Value] = []
    for i, piece in enumerate(parts[:3]):
        fed = piece if i == 0 or stride != 1 or x.shape[1] != 4 * width else net.add(outs[-1], piece)
        outs.append(net.conv(fed, part, 3, stride))
    last = parts[3]
    if stride != 1 or x.shape[1] != 4 * width:
        last = net.pool(last, "AveragePool", 3, stride)
    y = net.conv(net.concat([*outs, last]), 4 * width, 1, act=None)
    if stride == 1 and x.shape[1] == 4 * width:
        return net.add(y, x, "relu")
    pooled = x if stride == 1 else net.pool(x, "AveragePool", stride, stride, 0)
    return net.add(y, net.conv(pooled, 4 * width, 1, act=None), "relu")


def residual(depths: list[int], block: Block, *, deep_stem: bool = False) -> Callable[[Net], list[Value]]:
    """Four stages of `block`, widths 64 to 512."""

    def build(net: Net) -> list[Value]:
        x = net.input(3, 224, 224)
        if deep_stem:
            x = net.conv(net.conv(net.conv(x, 32, 3, 2), 32, 3), 64, 3)
            x = net.pool(x, "MaxPool", 3, 2)
        else:
            x = stem(net, x)
        for stage, depth in enumerate(depths):
            for i in range(depth):
                x = block(net, x, 64 << stage, 2 if stage and i == 0 else 1)
        return head(net, x)

    return build


def regnet(widths: list[int], depths: list[int], group_width: int, *, squeeze: bool) -> Callable[[Net], list[Value]]:
    """RegNet: bottlenecks without widening, in groups of one width, with squeeze-and-excite in RegNetY."""

    def build(net: Net) -> list[Value]:
        x = net.conv(net.input(3, 224, 224), 32, 3, 2)
        for width, depth in zip(widths, depths, strict=True):
            for i in range(depth):
                stride = 2 if i == 0 else 1
                y = net.conv(net.conv(x, width, 1), width, 3, stride, groups=width // group_width)
                if squeeze:
                    y = net.squeeze_excite(y, x.shape[1] // 4)
                y = net.conv(y, width, 1, act=None)
                x = net.add(y, shortcut(net, x, width, stride), "relu")
        return head(net, x)

    return build


def dpn131(net: Net) -> list[Value]:
    """Dual path: a residual part and a dense part beside one another."""
    x = net.pool(net.conv(net.input(3, 224, 224), 128, 7, 2), "MaxPool", 3, 2)
    dense: Value | None = None
    stages = zip((4, 8, 28, 3), (16, 32, 32, 128), (256, 512, 1024, 2048), strict=True)
    for stage, (depth, growth, width) in enumerate(stages):
        inner = 160 * width // 256
        for i in range(depth):
            stride = 2 if stage and i == 0 else 1
            whole = x if dense is None else net.concat([x, dense])
            if i == 0:
                x, dense = net.split(net.conv(whole, width + 2 * growth, 1, stride), [width, 2 * growth])
            y = net.conv(net.conv(whole, inner, 1), inner, 3, stride, groups=40)
            kept, grown = net.split(net.conv(y, width + growth, 1), [width, growth])
            assert dense is not None
            x, dense = net.add(x, kept), net.concat([dense, grown])
    assert dense is not None
    return head(net, net.concat([x, dense]))


def densenet121(net: Net) -> list[Value]:
    """BatchNorm and ReLU stand before each convolution, so they cannot fold into it."""

    def normalised(x: Value) -> Value:
        vectors = [net.weight(x.shape[1]) for _ in range(3)]
        variance = net.constant([1.0] * x.shape[1])
        variance = net.node("Cast", [variance], variance.shape, to=1)
        return net.act(net.node("BatchNormalization", [x, *vectors, variance], x.shape), "relu")

    x = stem(net, net.input(3, 224, 224))
    for stage, depth in enumerate((6, 12, 24, 16)):
        for _ in range(depth):
            y = net.conv(normalised(x), 128, 1)
            x = net.concat([x, net.conv(y, 32, 3, act=None)])
        if stage < 3:
            x = net.pool(net.conv(normalised(x), x.shape[1] // 2, 1, act=None), "AveragePool", 2, 2, 0)
    return head(net, normalised(x))


def vgg(net: Net, x: Value, depths: tuple[int, ...]) -> list[Value]:
    """The stages of 3 x 3 convolutions; returns what each stage leaves before its pooling."""
    stages: list[Value] = []
    for depth, channels in zip(depths, (64, 128, 256, 512, 512), strict=True):
        if stages:
            x = net.pool(x, "MaxPool", 2, 2, 0, ceil=True)
        for _ in range(depth):
            x = net.conv(x, channels, 3)
        stages.append(x)
    return stages


def vgg19(net: Net) -> list[Value]:
    """Sixteen convolutions and three wide fully connected layers."""
    x = net.pool(vgg(net, net.input(3, 224, 224), (2, 2, 4, 4, 4))[-1], "MaxPool", 2, 2, 0)
    x = net.classifier(net.flatten(x), 4096, "relu")
    return [net.classifier(net.classifier(x, 4096, "relu"), 1000)]


def vovnet39(net: Net) -> list[Value]:
    """One-shot aggregation: five convolutions in a row, joined once."""
    x = net.conv(net.conv(net.conv(net.input(3, 224, 224), 64, 3, 2), 64, 3), 128, 3, 2)
    stages = zip((128, 160, 192, 224), (256, 512, 768, 1024), (1, 1, 2, 2), strict=True)
    for stage, (inner, outer, blocks) in enumerate(stages):
        if stage:
            x = net.pool(x, "MaxPool", 3, 2, 0, ceil=True)
        for block in range(blocks):
            parts = [x]
            for _ in range(5):
                parts.append(net.conv(parts[-1], inner, 3))
            y = net.conv(net.concat(parts), outer, 1)
            x = net.add(y, x) if block else y
    return head(net, x)


# -- Inception --------------------------------------------------------------------------------------------------------


def googlenet(net: Net) -> list[Value]:
    """Inception v1: four branches a block."""
    x = net.pool(net.conv(net.input(3, 224, 224), 64, 7, 2), "MaxPool", 3, 2, 0, ceil=True)
    x = net.pool(net.conv(net.conv(x, 64, 1), 192, 3), "MaxPool", 3, 2, 0, ceil=True)
    blocks: list[tuple[int, ...] | None] = [
        (64, 96, 128, 16, 32, 32),
        (128, 128, 192, 32, 96, 64),
        None,
        (192, 96, 208, 16, 48, 64),
        (160, 112, 224, 24, 64, 64),
        (128, 128, 256, 24, 64, 64),
        (112, 144, 288, 32, 64, 64),
        (256, 160, 320, 32, 128, 128),
        None,
        (256, 160, 320, 32, 128, 128),
        (384, 192, 384, 48, 128, 128),
    ]
    for i, block in enumerate(blocks):
        if block is None:
            x = net.pool(x, "MaxPool", 3 if i == 2 else 2, 2, 0, ceil=True)
            continue
        one, three_in, three, five_in, five, pooled = block
        branches = [
            net.conv(x, one, 1),
            net.conv(net.conv(x, three_in, 1), three, 3),
            net.conv(net.conv(x, five_in, 1), five, 3),
            net.conv(net.pool(x, "MaxPool", 3, 1), pooled, 1),
        ]
        x = net.concat(branches)
    return head(net, x)


def inception_resnet_v2(net: Net) -> list[Value]:
    """Inception blocks inside residual connections, 299 x 299."""

    def scaled(x: Value, branches: list[Value], factor: float, act: str | None = "relu") -> Value:
        y = net.conv(net.concat(branches), x.shape[1], 1, act=None)
        return net.add(net.scale(y, factor), x, act)

    x = net.conv(net.input(3, 299, 299), 32, 3, 2, pad=0)
    x = net.pool(net.conv(net.conv(x, 32, 3, pad=0), 64, 3), "MaxPool", 3, 2, 0)
    x = net.pool(net.conv(net.conv(x, 80, 1), 192, 3, pad=0), "MaxPool", 3, 2, 0)
    branches = [
        net.conv(x, 96, 1),
        net.conv(net.conv(x, 48, 1), 64, 5),
        net.conv(net.conv(net.conv(x, 64, 1), 96, 3), 96, 3),
        net.conv(net.pool(x, "AveragePool", 3, 1), 64, 1),
    ]
    x = net.concat(branches)
    for _ in range(10):
        deep = net.conv(net.conv(net.conv(x, 32, 1), 48, 3), 64, 3)
        x = scaled(x, [net.conv(x, 32, 1), net.conv(net.conv(x, 32, 1), 32, 3), deep], 0.17)
    deep = net.conv(net.conv(net.conv(x, 256, 1), 256, 3), 384, 3, 2, pad=0)
    x = net.concat([net.conv(x, 384, 3, 2, pad=0), deep, net.pool(x, "MaxPool", 3, 2, 0)])
    for _ in range(20):
        deep = net.conv(net.conv(net.conv(x, 128, 1), 160, (1, 7)), 192, (7, 1))
        x = scaled(x, [net.conv(x, 192, 1), deep], 0.1)
    branches = [
        net.conv(net.conv(x, 256, 1), 384, 3, 2, pad=0),
        net.conv(net.conv(x, 256, 1), 288, 3, 2, pad=0),
        net.conv(net.conv(net.conv(x, 256, 1), 288, 3), 320, 3, 2, pad=0),
        net.pool(x, "MaxPool", 3, 2, 0),
    ]
    x = net.concat(branches)
    for i in range(10):
        deep = net.conv(net.conv(net.conv(x, 192, 1), 224, (1, 3)), 256, (3, 1))
        x = scaled(x, [net.conv(x, 192, 1), deep], 0.2 if i < 9 else 1.0, "relu" if i < 9 else None)
    return head(net, net.conv(x, 1536, 1))


def separable(net: Net, x: Value, channels: int, kernel: int = 3, stride: int = 1) -> Value:
    """A depthwise and a pointwise convolution, without activation."""
    return net.conv(net.depthwise(x, kernel, stride, act=None), channels, 1, act=None)


def xception(net: Net) -> list[Value]:
    """Separable convolutions under residual connections, 299 x 299."""
    x = net.conv(net.conv(net.input(3, 299, 299), 32, 3, 2, pad=0), 64, 3, pad=0)
    for i, channels in enumerate((128, 256, 728)):
        y = separable(net, x if i == 0 else net.act(x, "relu"), channels)
        y = net.pool(separable(net, net.act(y, "relu"), channels), "MaxPool", 3, 2)
        x = net.add(y, net.conv(x, channels, 1, 2, act=None))
    for _ in range(8):
        y = x
        for _ in range(3):
            y = separable(net, net.act(y, "relu"), 728)
        x = net.add(y, x)
    y = separable(net, net.act(separable(net, net.act(x, "relu"), 728), "relu"), 1024)
    x = net.add(net.pool(y, "MaxPool", 3, 2), net.conv(x, 1024, 1, 2, act=None))
    x = net.act(separable(net, x, 1536), "relu")
    return head(net, net.act(separable(net, x, 2048), "relu"))
