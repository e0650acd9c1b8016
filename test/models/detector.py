"""A small detector of two scales, as an exporter of NCHW frameworks writes it, or as one of NHWC frameworks does: with a
transpose in front of every convolution, normalisation and pool, and one behind it. Both hold the same weights and give
the same numbers, the second with the channels last. Imports onnx and numpy only.
"""

from __future__ import annotations

import numpy as np
import onnx
from models.small import GraphBuilder

TO_NCHW, TO_NHWC = [0, 3, 1, 2], [0, 2, 3, 1]


class DetectorBuilder(GraphBuilder):
    """Operators in either order of axes; `last` puts the channels last."""

    def __init__(self, seed: int, last: bool):
        super().__init__(seed)
        self.last = last

    def nchw(self, op_type: str, inputs: list[str], **attributes: object) -> str:
        """An operator that takes NCHW, between transposes if the model is NHWC."""
        if not self.last:
            return self.node(op_type, inputs, **attributes)
        turned = self.node("Transpose", [inputs[0]], perm=TO_NCHW)
        return self.node("Transpose", [self.node(op_type, [turned, *inputs[1:]], **attributes)], perm=TO_NHWC)

    def layer(
        self,
        x: str,
        c_in: int,
        c_out: int,
        kernel: int = 3,
        stride: int = 1,
        act: str = "Relu",
        pads: int | None = None,
        group: int = 1,
    ) -> str:
        """Convolution, normalisation and activation."""
        bound = (6.0 / (c_in // group * kernel * kernel)) ** 0.5
        w = self.weight((c_out, c_in // group, kernel, kernel), -bound, bound)
        y = self.nchw(
            "Conv",
            [x, w],
            kernel_shape=[kernel] * 2,
            pads=[kernel // 2 if pads is None else pads] * 4,
            strides=[stride] * 2,
            group=group,
        )
        bounds = ((0.75, 1.25), (-0.3, 0.3), (-0.3, 0.3), (0.6, 1.6))
        y = self.nchw("BatchNormalization", [y, *(self.weight((c_out,), *b) for b in bounds)])
        if act == "Silu":
            return self.node("Mul", [y, self.node("Sigmoid", [y])])
        return self.node(act, [y])

    def per_channel(self, channels: int) -> str:
        """A constant that broadcasts along the pixels."""
        w = np.linspace(0.5, 1.5, channels, dtype=np.float32)
        return self.constant(f"scale{len(self._weights)}", w if self.last else w.reshape(-1, 1, 1))

    def concat(self, *values: str) -> str:
        """Along the channels."""
        return self.node("Concat", list(values), axis=3 if self.last else 1)

    def doubled(self, x: str) -> str:
        """Every pixel four times."""
        scales = np.array([1, 2, 2, 1] if self.last else [1, 1, 2, 2], np.float32)
        roi = self.constant(f"roi{len(self._weights)}", np.zeros(0, np.float32))
        return self.node(
            "Resize", [x, roi, self.constant(f"scales{len(self._weights)}", scales)],
            mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor",
        )  # fmt: skip

    def padded(self, x: str) -> str:
        """A row below and a column to the right, as "same" means for even sizes and a stride of 2."""
        pads = [0, 0, 0, 0, 0, 1, 1, 0] if self.last else [0, 0, 0, 0, 0, 0, 1, 1]
        return self.node("Pad", [x, self.constant(f"pads{len(self._weights)}", np.array(pads, np.int64))])

    def gate(self, x: str, channels: int) -> str:
        """Squeeze and excitation."""
        axes = [1, 2] if self.last else [2, 3]
        mean = self.node("ReduceMean", [x], axes=axes)
        inner = self.layer(mean, channels, 8, 1)
        return self.node("Mul", [x, self.layer(inner, 8, channels, 1, act="Sigmoid")])

    def halves(self, x: str, channels: int) -> tuple[str, str]:
        """The first and the second half of the channels."""
        names = (f"left_{x}", f"right_{x}")
        axis = self.constant(f"axis_{x}", np.array([3 if self.last else 1], np.int64))
        ends = [self.constant(f"end{i}_{x}", np.array([i * channels // 2], np.int64)) for i in range(3)]
        left, right = (self.node("Slice", [x, *ends[i : i + 2], axis], names[i]) for i in range(2))
        return left, right

    def stage(self, x: str, c_in: int, c_out: int, depth: int = 1, shortcut: bool = True) -> str:
        """Cross stage partial: half of the channels passes, the other through residual bottlenecks, all halves are joined."""
        left, y = self.halves(self.layer(x, c_in, c_out, 1, act="Silu"), c_out)
        parts, half = [left, y], c_out // 2
        for _ in range(depth):
            inner = self.layer(self.layer(y, half, half, act="Silu"), half, half, act="Silu")
            y = self.node("Add", [y, inner]) if shortcut else inner
            parts.append(y)
        return self.layer(self.concat(*parts), half * len(parts), c_out, 1, act="Silu")

    def pyramid(self, x: str, channels: int) -> str:
        """Pooling over growing windows, joined."""
        parts = [self.layer(x, channels, channels // 2, 1, act="Silu")]
        for _ in range(3):
            parts.append(self.nchw("MaxPool", [parts[-1]], kernel_shape=[5, 5], pads=[2] * 4, strides=[1, 1]))
        return self.layer(self.concat(*parts), 2 * channels, channels, 1, act="Silu")

    def flat(self, x: str, anchors: int, numbers: int) -> str:
        """The channels of a head as rows of `numbers`, one for each pixel and anchor."""
        turned = x if self.last else self.node("Transpose", [x], perm=TO_NHWC)
        return self.node("Reshape", [turned, self.constant(f"rows_{x}", np.array([1, -1, numbers], np.int64))])


def detector(*, last: bool = False, seed: int = 0, size: int = 32) -> onnx.ModelProto:
    """A backbone with a residual block, a gate and a pool, a neck that joins two scales, two heads; input 3 x size x size."""
    b = DetectorBuilder(seed, last)
    x = b.input("x", (1, size, size, 3) if last else (1, 3, size, size))
    x = b.layer(b.padded(x), 3, 16, 3, 2, "Silu", pads=0)
    x = b.node("Add", [x, b.layer(b.layer(x, 16, 8, 1), 8, 16, act="Silu")])
    fine = b.gate(b.node("Mul", [x, b.per_channel(16)]), 16)
    coarse = b.layer(b.nchw("MaxPool", [fine], kernel_shape=[2, 2], strides=[2, 2]), 16, 24)
    joined = b.concat(fine, b.doubled(b.layer(coarse, 24, 24, 1)))
    fine = b.layer(joined, 40, 24, act="Silu")
    heads = [b.layer(level, 24, 16, 1, act="Sigmoid") for level in (fine, coarse)]
    return b.model(*heads)


def yolo(*, last: bool = False, seed: int = 0, size: int = 64) -> onnx.ModelProto:
    """Partial stages, a pooling pyramid, a neck that goes up and down over three scales, depthwise heads, decoded boxes."""
    b = DetectorBuilder(seed, last)
    x = b.input("x", (1, size, size, 3) if last else (1, 3, size, size))
    x = b.layer(b.layer(x, 3, 16, stride=2, act="Silu"), 16, 32, stride=2, act="Silu")
    fine = b.stage(b.layer(b.stage(x, 32, 32), 32, 48, stride=2, act="Silu"), 48, 48, depth=2)
    middle = b.stage(b.layer(fine, 48, 64, stride=2, act="Silu"), 64, 64)
    coarse = b.pyramid(b.gate(b.layer(middle, 64, 96, stride=2, act="Silu"), 96), 96)
    middle = b.stage(b.concat(b.doubled(coarse), middle), 160, 64, shortcut=False)
    fine = b.stage(b.concat(b.doubled(middle), fine), 112, 48, shortcut=False)
    middle = b.stage(b.concat(b.layer(fine, 48, 48, stride=2, act="Silu"), middle), 112, 64, shortcut=False)
    coarse = b.stage(b.concat(b.layer(middle, 64, 64, stride=2, act="Silu"), coarse), 160, 96, shortcut=False)
    rows: list[str] = []
    for level, channels in ((fine, 48), (middle, 64), (coarse, 96)):
        y = b.layer(b.layer(level, channels, channels, group=channels, act="Silu"), channels, 32, 1, act="Silu")
        rows.append(b.flat(b.layer(y, 32, 27, 1, act="Sigmoid"), 3, 9))
    joined = b.node("Concat", rows, axis=1)
    return b.model(b.node("Mul", [joined, b.constant("scale", np.linspace(1, 4, 9, dtype=np.float32))]))
