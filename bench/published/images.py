"""Networks for whole images and clips: detectors, segmentation, denoising and video."""

from __future__ import annotations

from collections.abc import Callable

from published.convnets import vgg
from published.net import Net, Value


def c3d(net: Net) -> list[Value]:
    """Eight 3 x 3 x 3 convolutions on ten crops of 16 frames of 112 x 112."""
    crops = net.input(10, 3, 16, 112, 112)
    x = net.reshape(crops, net.batch * 10, 3, 16, 112, 112)
    for stage, channels in enumerate(((64,), (128,), (256, 256), (512, 512), (512, 512))):
        for c in channels:
            x = net.conv(x, c, 3)
        n, c, d, h, w = x.shape
        deep, pad = (1 if stage == 0 else 2), (1 if stage == 4 else 0)
        shape = (n, c, d // deep, (h + 2 * pad) // 2, (w + 2 * pad) // 2)
        window = [deep, 2, 2]
        x = net.node("MaxPool", [x], shape, kernel_shape=window, strides=window, pads=[0, pad, pad] * 2)
    x = net.classifier(net.classifier(net.flatten(x), 4096, "relu"), 4096, "relu")
    return [net.classifier(x, 101)]


def dncnn(net: Net) -> list[Value]:
    """Seventeen convolutions at full resolution, 481 x 481."""
    image = net.input(1, 481, 481)
    x = net.conv(image, 64, 3)
    for _ in range(15):
        x = net.conv(x, 64, 3)
    return [net.conv(x, 1, 3, act=None)]


def unet(net: Net) -> list[Value]:
    """U-Net with padded convolutions, 572 x 572."""
    x = net.input(3, 572, 572)
    skips: list[Value] = []
    for channels in (64, 128, 256, 512, 1024):
        if skips:
            x = net.pool(x, "MaxPool", 2, 2, 0)
        x = net.conv(net.conv(x, channels, 3), channels, 3)
        skips.append(x)
    for skip in reversed(skips[:-1]):
        up = net.up_conv(x, skip.shape[1])
        lower, right = skip.shape[2] - up.shape[2], skip.shape[3] - up.shape[3]
        if lower or right:
            up = net.pad(up, lower // 2, right // 2, lower - lower // 2, right - right // 2)
        x = net.concat([skip, up])
        x = net.conv(net.conv(x, skip.shape[1], 3), skip.shape[1], 3)
    return [net.conv(x, 2, 1, act=None)]


def ssd300(net: Net) -> list[Value]:
    """SSD 300 on VGG-16 for 20 classes: six scales, boxes and scores before their selection."""
    stages = vgg(net, net.input(3, 300, 300), (2, 2, 3, 3, 3))
    x = net.pool(stages[-1], "MaxPool", 3, 1)
    x = net.conv(net.conv(x, 1024, 3, dilation=6), 1024, 1)
    scales = [stages[3], x]
    for inner, outer, stride, pad in ((256, 512, 2, 1), (128, 256, 2, 1), (128, 256, 1, 0), (128, 256, 1, 0)):
        x = net.conv(net.conv(x, inner, 1), outer, 3, stride, pad=pad)
        scales.append(x)
    results: list[Value] = []
    for width in (4, 21):
        rows = []
        for scale, boxes in zip(scales, (4, 6, 6, 6, 4, 4), strict=True):
            y = net.transpose(net.conv(scale, boxes * width, 3, act=None), 0, 2, 3, 1)
            rows.append(net.reshape(y, net.batch, y.shape[1] * y.shape[2] * boxes, width))
        results.append(net.concat(rows))
    return [results[0], net.softmax(results[1])]


def csp(net: Net, x: Value, channels: int, depth: int, act: str, *, add: bool = True) -> Value:
    """Half of the channels through `depth` bottlenecks, joined with the other half."""
    inner = channels // 2
    y = net.conv(x, inner, 1, act=act)
    for _ in range(depth):
        z = net.conv(net.conv(y, inner, 1, act=act), inner, 3, act=act)
        y = net.add(z, y) if add else z
    return net.conv(net.concat([y, net.conv(x, inner, 1, act=act)]), channels, 1, act=act)


def pyramid(net: Net, x: Value, windows: tuple[int, ...]) -> Value:
    """`x` beside its maxima over windows of several sizes."""
    return net.concat([x, *(net.pool(x, "MaxPool", k, 1) for k in windows)])


def yolox(width: float, depth: float) -> Callable[[Net], list[Value]]:
    """YOLOX, 640 x 640: raw boxes and scores of three scales."""

    def build(net: Net) -> list[Value]:
        image = net.input(3, 640, 640)
        base, blocks = int(64 * width), max(round(3 * depth), 1)
        columns = [net.slice(net.slice(image, 2, i, 640, 2), 3, j, 640, 2) for j in (0, 1) for i in (0, 1)]
        x = net.conv(net.concat(columns), base, 3, act="silu")
        scales: list[Value] = []
        for stage, repeats in enumerate((1, 3, 3, 1)):
            channels = base << (stage + 1)
            x = net.conv(x, channels, 3, 2, act="silu")
            if stage == 3:
                y = pyramid(net, net.conv(x, channels // 2, 1, act="silu"), (5, 9, 13))
                x = net.conv(y, channels, 1, act="silu")
            x = csp(net, x, channels, blocks * repeats, "silu", add=stage < 3)
            scales.append(x)
        fine, middle, coarse = scales[1:]
        top = net.conv(coarse, middle.shape[1], 1, act="silu")
        y = csp(net, net.concat([net.resize(top, 2), middle]), middle.shape[1], blocks, "silu", add=False)
        side = net.conv(y, fine.shape[1], 1, act="silu")
        small = csp(net, net.concat([net.resize(side, 2), fine]), fine.shape[1], blocks, "silu", add=False)
        y = net.concat([net.conv(small, small.shape[1], 3, 2, act="silu"), side])
        medium = csp(net, y, middle.shape[1], blocks, "silu", add=False)
        y = net.concat([net.conv(medium, medium.shape[1], 3, 2, act="silu"), top])
        large = csp(net, y, coarse.shape[1], blocks, "silu", add=False)
        rows: list[Value] = []
        for scale in (small, medium, large):
            y = net.conv(scale, int(256 * width), 1, act="silu")
            branches = []
            for _ in range(2):
                branches.append(net.conv(net.conv(y, y.shape[1], 3, act="silu"), y.shape[1], 3, act="silu"))
            classes = net.conv(branches[0], 80, 1, act="sigmoid")
            boxes, seen = net.conv(branches[1], 4, 1, act=None), net.conv(branches[1], 1, 1, act="sigmoid")
            joined = net.concat([boxes, seen, classes])
            rows.append(net.reshape(joined, net.batch, 85, joined.shape[2] * joined.shape[3]))
        return [net.transpose(net.concat(rows, 2), 0, 2, 1)]

    return build


def yolov3(net: Net) -> list[Value]:
    """YOLOv3 on Darknet-53, 416 x 416: raw maps of three scales."""
    x = net.conv(net.input(3, 416, 416), 32, 3, act="leaky")
    scales: list[Value] = []
    for stage, repeats in enumerate((1, 2, 8, 8, 4)):
        x = net.conv(x, 64 << stage, 3, 2, act="leaky")
        for _ in range(repeats):
            y = net.conv(net.conv(x, x.shape[1] // 2, 1, act="leaky"), x.shape[1], 3, act="leaky")
            x = net.add(y, x)
        scales.append(x)
    results: list[Value] = []
    x = scales[4]
    for channels, skip in ((512, None), (256, scales[3]), (128, scales[2])):
        if skip is not None:
            x = net.concat([net.resize(net.conv(x, channels, 1, act="leaky"), 2), skip])
        for _ in range(2):
            x = net.conv(net.conv(x, channels, 1, act="leaky"), 2 * channels, 3, act="leaky")
        x = net.conv(x, channels, 1, act="leaky")
        results.append(net.conv(net.conv(x, 2 * channels, 3, act="leaky"), 255, 1, act=None))
    return results


def yolov4(net: Net) -> list[Value]:
    """YOLOv4 on CSPDarknet-53 with Mish, 608 x 608: raw maps of three scales."""
    x = net.conv(net.input(3, 608, 608), 32, 3, act="mish")
    scales: list[Value] = []
    for stage, repeats in enumerate((1, 2, 8, 8, 4)):
        channels = 64 << stage
        x = net.conv(x, channels, 3, 2, act="mish")
        inner = channels if stage == 0 else channels // 2
        side, y = net.conv(x, inner, 1, act="mish"), net.conv(x, inner, 1, act="mish")
        for _ in range(repeats):
            z = net.conv(net.conv(y, 32 if stage == 0 else inner, 1, act="mish"), inner, 3, act="mish")
            y = net.add(z, y)
        x = net.conv(net.concat([net.conv(y, inner, 1, act="mish"), side]), channels, 1, act="mish")
        scales.append(x)

    def leaky(x: Value, *layers: tuple[int, int]) -> Value:
        for channels, kernel in layers:
            x = net.conv(x, channels, kernel, act="leaky")
        return x

    def five(x: Value, channels: int) -> Value:
        return leaky(x, (channels, 1), (2 * channels, 3), (channels, 1), (2 * channels, 3), (channels, 1))

    x = pyramid(net, leaky(scales[4], (512, 1), (1024, 3), (512, 1)), (5, 9, 13))
    coarse = leaky(x, (512, 1), (1024, 3), (512, 1))
    y = net.concat([leaky(scales[3], (256, 1)), net.resize(leaky(coarse, (256, 1)), 2)])
    middle = five(y, 256)
    fine = five(net.concat([leaky(scales[2], (128, 1)), net.resize(leaky(middle, (128, 1)), 2)]), 128)
    middle = five(net.concat([net.conv(fine, 256, 3, 2, act="leaky"), middle]), 256)
    coarse = five(net.concat([net.conv(middle, 512, 3, 2, act="leaky"), coarse]), 512)
    return [net.conv(leaky(x, (2 * x.shape[1], 3)), 255, 1, act=None) for x in (fine, middle, coarse)]
