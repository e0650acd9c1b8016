"""Convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def

from graph_engine.dialects.ge.core import (
    DYNAMIC,
    TENSOR,
    Cost,
    GeOp,
    Tensor,
    Trait,
    bytes_of,
    dims_agree,
    elements_of,
    int_prop,
    ints_prop,
    shape_of,
    typed,
)
from graph_engine.dialects.ge.interning import int_attr, ints_attr


def window_extent(extent: int, kernel: int, stride: int, pads: int, dilation: int = 1) -> int:
    """Output extent of a sliding window over `extent` elements with `pads` added in total (ONNX Conv, floor mode); 0 if it does not fit."""
    if extent == DYNAMIC:
        return DYNAMIC
    return max(0, (extent + pads - dilation * (kernel - 1) - 1) // stride + 1)


@irdl_op_definition
class Conv2dOp(GeOp):
    """Two-dimensional convolution (ONNX Conv): x[N,C,H,W], w[O,C/group,kh,kw], optional bias b[O] -> [N,O,H',W'].

    `pads` = [h_begin, w_begin, h_end, w_end]; outputs o of group g see only the input channels of group g. All operands
    have one element type, except that b may be fp32: the sums that it is added to are.
    """

    name = "ge.conv2d"
    TRAITS: ClassVar[frozenset[Trait]] = frozenset({Trait.HEAVY, Trait.KEEPS_ZERO_PAD})

    x = operand_def(TENSOR)
    w = operand_def(TENSOR)
    b = opt_operand_def(TENSOR)
    strides = ints_prop((1, 1))
    pads = ints_prop((0, 0, 0, 0))
    dilations = ints_prop((1, 1))
    group = int_prop(1)

    def __init__(
        self,
        x: SSAValue | Operation,
        w: SSAValue | Operation,
        b: SSAValue | Operation | None = None,
        *,
        strides: Sequence[int] = (1, 1),
        pads: Sequence[int] = (0, 0, 0, 0),
        dilations: Sequence[int] = (1, 1),
        group: int = 1,
        result_type: Tensor | None = None,
    ):
        properties = {
            "strides": ints_attr(strides),
            "pads": ints_attr(pads),
            "dilations": ints_attr(dilations),
            "group": int_attr(group),
        }
        self.init((x, w, b), properties, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        self.require_same_element(self.b)
        batch, channels, *spatial = self.require_rank(self.x, 4, "x")
        outputs, group_channels, *kernel = self.require_rank(self.w, 4, "w")
        strides, dilations = self.require_length("strides", 2), self.require_length("dilations", 2)
        pads, group = self.require_length("pads", 4), self.group.value.data
        if min(*strides, *dilations, group) < 1 or min(pads) < 0:
            raise self.fail("strides, dilations and group must be positive, pads not negative")
        if channels != DYNAMIC and not dims_agree(channels, group_channels * group):
            raise self.fail(
                f"x has {channels} channels, w wants {group_channels} x group {group} (operands {self.operand_shapes()})"
            )
        if outputs % group:
            raise self.fail(f"w has {outputs} outputs, not a multiple of group {group}")
        if self.b is not None and not dims_agree(self.require_rank(self.b, 1, "b")[0], outputs):
            raise self.fail(f"b must have {outputs} elements (operands {self.operand_shapes()})")
        extents = [
            window_extent(spatial[i], kernel[i], strides[i], pads[i] + pads[i + 2], dilations[i]) for i in range(2)
        ]
        if any(e < 1 and e != DYNAMIC for e in extents):
            raise self.fail(
                f"the kernel does not fit into the padded input (operands {self.operand_shapes()}, pads {list(pads)})"
            )
        return typed((batch, outputs, *extents), self.x)

    def cost(self) -> Cost:
        macs = elements_of(self.result) * prod(shape_of(self.w)[1:])
        bias = elements_of(self.result) if self.b is not None else 0
        return Cost(macs, bias, sum(map(bytes_of, self.operands)), bytes_of(self.result))


CONVOLUTION = [Conv2dOp]
