"""Take those taps off a convolution's filter that meet padding alone.

%0 = ge.conv2d %x, %w {pads = [24, 24, 24, 24], dilations = [24, 24]} : (tensor<1x4x14x14xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x14x14xf32>
// becomes, %v the middle of %w
%0 = ge.conv2d %x, %v : (tensor<1x4x14x14xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x14x14xf32>

Networks for segmentation have them where an image is smaller than the dilation of their widest branch. What is summed is the
same but for zeros, in an order that may differ; infinite weights of such a tap, which times 0 are NaN, are gone with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from graph_engine.dialects.ge.convolution import Conv2dOp
from graph_engine.dialects.ge.core import DYNAMIC, shape_of
from graph_engine.dialects.ge.interning import ints_attr, tensor_type
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.pass_base import ROUNDING, GePass
from graph_engine.transforms.recipes import computed, known


class TapsOfPadding(Pattern):
    """conv2d with outer taps that meet padding alone -> one of the smaller constant filter without them."""

    name = "drop-taps-of-padding"
    root: ClassVar[tuple[type[Operation], ...]] = (Conv2dOp,)

    def rewrite(self, op: Conv2dOp, rewriter: CountedRewriter) -> bool:
        w, image, result = known(op.w), shape_of(op.x)[2:], shape_of(op.result)[2:]
        if w is None or DYNAMIC in (*image, *result):
            return False
        kernel, pads, dilations = w.shape[2:], op.ints("pads"), op.ints("dilations")
        strides, begin, end = op.ints("strides"), pads[:2], pads[2:]
        axes = zip(image, result, kernel, strides, dilations, begin, end, strict=True)
        kept = [taps_that_read(*axis) for axis in axes]
        if all(len(taps) == extent for taps, extent in zip(kept, kernel, strict=True)):
            return False
        starts, ends = [taps.start for taps in kept], [taps.stop for taps in kept]
        behind = [extent - stop for extent, stop in zip(kernel, ends, strict=True)]
        smaller = computed(
            "ge.slice",
            [w],
            tensor_type((*w.shape[:2], *map(len, kept)), w.type.element_type),
            starts=starts, ends=ends, axes=[2, 3], steps=[1, 1],
        )  # fmt: skip
        less = [pad - cut * d for pad, cut, d in zip(pads, (*starts, *behind), (*dilations, *dilations), strict=True)]
        steps = [d if len(taps) > 1 else 1 for taps, d in zip(kept, dilations, strict=True)]
        properties = {**op.properties, "pads": ints_attr(less), "dilations": ints_attr(steps)}
        filter_op = smaller.op()
        operands = [op.x, filter_op.results[0], *op.operands[2:]]
        conv = Conv2dOp.create(operands=operands, result_types=op.result_types, properties=properties)
        rewriter.replace(op, [filter_op, conv])
        return True


def taps_that_read(image: int, result: int, kernel: int, stride: int, dilation: int, begin: int, end: int) -> range:
    """The taps of one axis from the first to the last that meets an element, more where the pads would be negative."""
    read = [
        tap for tap in range(kernel) if any(0 <= out * stride + tap * dilation - begin < image for out in range(result))
    ]
    if not read:
        return range(kernel)
    first, behind = min(read[0], begin // dilation), min(kernel - 1 - read[-1], end // dilation)
    return range(first, kernel - behind)


@dataclass(frozen=True)
class DropDeadTaps(GePass):
    """One pattern."""

    name = "drop-dead-taps"
    numerics = ROUNDING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [TapsOfPadding()])
