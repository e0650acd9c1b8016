"""Classifiers whose cells were found by search: NASNet and PNASNet."""

from __future__ import annotations

from published.convnets import head, separable
from published.net import Net, Value


def twice(net: Net, x: Value, channels: int, kernel: int, stride: int = 1) -> Value:
    """ReLU and a separable convolution, two times; the first with the stride."""
    y = net.act(separable(net, net.act(x, "relu"), channels, kernel, stride), "relu")
    return separable(net, y, channels, kernel)


def fitted(net: Net, x: Value, like: Value, channels: int) -> Value:
    """The cell before last at the last one's extent: two paths of pooled halves, or a 1 x 1 convolution."""
    x = net.act(x, "relu")
    if x.shape[2] == like.shape[2]:
        return net.conv(x, channels, 1, act=None)
    shifted = net.slice(net.slice(net.pad(x, 0, 0, 1, 1), 2, 1, x.shape[2] + 1), 3, 1, x.shape[3] + 1)
    sizes = (channels // 2, channels - channels // 2)
    halves = [
        net.conv(net.pool(part, "AveragePool", 1, 2, 0), size, 1, act=None)
        for part, size in zip((x, shifted), sizes, strict=True)
    ]
    return net.concat(halves)


def nasnet_large(net: Net) -> list[Value]:
    """NASNet-A large (6 @ 4032), 331 x 331."""

    def normal(x: Value, before: Value, channels: int) -> Value:
        h, p = net.conv(net.act(x, "relu"), channels, 1, act=None), fitted(net, before, x, channels)
        pooled = [net.pool(v, "AveragePool", 3, 1) for v in (h, p)]
        parts = [
            net.add(twice(net, h, channels, 5), twice(net, p, channels, 3)),
            net.add(twice(net, p, channels, 5), twice(net, p, channels, 3)),
            net.add(pooled[0], p),
            net.add(pooled[1], pooled[1]),
            net.add(twice(net, h, channels, 3), h),
        ]
        return net.concat([p, *parts])

    def reduction(x: Value, before: Value, channels: int) -> Value:
        h, p = net.conv(net.act(x, "relu"), channels, 1, act=None), fitted(net, before, x, channels)
        first = net.add(twice(net, h, channels, 5, 2), twice(net, p, channels, 7, 2))
        second = net.add(net.pool(h, "MaxPool", 3, 2), twice(net, p, channels, 7, 2))
        third = net.add(net.pool(h, "AveragePool", 3, 2), twice(net, p, channels, 5, 2))
        fourth = net.add(net.pool(first, "AveragePool", 3, 1), second)
        fifth = net.add(twice(net, first, channels, 3), net.pool(h, "MaxPool", 3, 2))
        return net.concat([second, third, fourth, fifth])

    before = x = net.conv(net.input(3, 331, 331), 96, 3, 2, pad=0, act=None)
    for channels in (42, 84):
        before, x = x, reduction(x, before, channels)
    for stage in range(3):
        for _ in range(6):
            before, x = x, normal(x, before, 168 << stage)
        if stage < 2:
            before, x = x, reduction(x, before, 336 << stage)
    return head(net, net.act(x, "relu"))


def pnasnet_large(net: Net) -> list[Value]:
    """PNASNet-5 large, 331 x 331."""

    def cell(x: Value, before: Value, channels: int, stride: int) -> Value:
        h, p = net.conv(net.act(x, "relu"), channels, 1, act=None), fitted(net, before, x, channels)

        def pooled(value: Value) -> Value:
            return net.pool(value, "MaxPool", 3, stride)

        first = net.add(twice(net, p, channels, 5, stride), pooled(p))
        second = net.add(twice(net, h, channels, 7, stride), pooled(h))
        third = net.add(twice(net, h, channels, 5, stride), twice(net, h, channels, 3, stride))
        fourth = net.add(twice(net, third, channels, 3), pooled(h))
        kept = h if stride == 1 else net.conv(net.act(h, "relu"), channels, 1, 2, act=None)
        fifth = net.add(twice(net, p, channels, 3, stride), kept)
        return net.concat([first, second, third, fourth, fifth])

    before = x = net.conv(net.input(3, 331, 331), 96, 3, 2, pad=0, act=None)
    for channels in (54, 108):
        before, x = x, cell(x, before, channels, 2)
    for stage in range(3):
        for i in range(4):
            before, x = x, cell(x, before, 216 << stage, 2 if stage and i == 0 else 1)
    return head(net, net.act(x, "relu"))
