"""Convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

from xdsl.ir import Attribute, Operation, SSAValue
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
    shape_of,
    shapes_agree,
    typed,
)
from graph_engine.dialects.ge.interning import int_attr, ints_attr
from graph_engine.dialects.ge.properties import int_prop, ints_prop, python_value


def window_extent(extent: int, kernel: int, stride: int, pads: int, dilation: int = 1) -> int:
    """Output extent of a sliding window over `extent` elements with `pads` added in total (ONNX Conv, floor mode); 0 if it does not fit."""
    if extent == DYNAMIC:
        return DYNAMIC
    return max(0, (extent + pads - dilation * (kernel - 1) - 1) // stride + 1)


class ConvOp(GeOp):
    """Convolution over `SPATIAL` axes (ONNX Conv): x[N,C,...], w[O,C/group,...], optional bias b[O] -> [N,O,...].

    `pads` = [begins, ends]; outputs o of group g see only the input channels of group g. All operands have one element
    type, except that b may be fp32: the sums that it is added to are.
    """

    SPATIAL: ClassVar[int]

    x = operand_def(TENSOR)
    w = operand_def(TENSOR)
    b = opt_operand_def(TENSOR)

    def __init__(
        self,
        x: SSAValue | Operation,
        w: SSAValue | Operation,
        b: SSAValue | Operation | None = None,
        *,
        strides: Sequence[int] | None = None,
        pads: Sequence[int] | None = None,
        dilations: Sequence[int] | None = None,
        group: int = 1,
        result_type: Tensor | None = None,
    ):
        properties: dict[str, Attribute] = {
            "strides": ints_attr(strides or (1,) * self.SPATIAL),
            "pads": ints_attr(pads or (0,) * (2 * self.SPATIAL)),
            "dilations": ints_attr(dilations or (1,) * self.SPATIAL),
            "group": int_attr(group),
        }
        self.init((x, w, b), properties, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        self.require_same_element(self.b)
        n = self.SPATIAL
        batch, channels, *spatial = self.require_rank(self.x, n + 2, "x")
        outputs, group_channels, *kernel = self.require_rank(self.w, n + 2, "w")
        strides, dilations = self.require_length("strides", n), self.require_length("dilations", n)
        pads, group = self.require_length("pads", 2 * n), int(python_value(self.properties["group"]))
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
            window_extent(spatial[i], kernel[i], strides[i], pads[i] + pads[i + n], dilations[i]) for i in range(n)
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


@irdl_op_definition
class Conv2dOp(ConvOp):
    """Two-dimensional convolution (ONNX Conv): x[N,C,H,W], w[O,C/group,kh,kw], optional bias b[O] -> [N,O,H',W'].

    `pads` = [h_begin, w_begin, h_end, w_end]; outputs o of group g see only the input channels of group g. All operands
    have one element type, except that b may be fp32: the sums that it is added to are.
    """

    name = "ge.conv2d"
    TRAITS: ClassVar[frozenset[Trait]] = frozenset({Trait.HEAVY, Trait.KEEPS_ZERO_PAD})
    SPATIAL: ClassVar[int] = 2

    strides = ints_prop((1, 1))
    pads = ints_prop((0, 0, 0, 0))
    dilations = ints_prop((1, 1))
    group = int_prop(1)


@irdl_op_definition
class Conv3dOp(ConvOp):
    """Three-dimensional convolution (ONNX Conv): x[N,C,D,H,W], w[O,C/group,kd,kh,kw], optional bias b[O].

    `pads` = [d_begin, h_begin, w_begin, d_end, h_end, w_end]; element types as for `ge.conv2d`.
    """

    name = "ge.conv3d"
    TRAITS: ClassVar[frozenset[Trait]] = frozenset({Trait.HEAVY, Trait.KEEPS_ZERO_PAD})
    SPATIAL: ClassVar[int] = 3

    strides = ints_prop((1, 1, 1))
    pads = ints_prop((0, 0, 0, 0, 0, 0))
    dilations = ints_prop((1, 1, 1))
    group = int_prop(1)


@irdl_op_definition
class DeformConv2dOp(GeOp):
    """Convolution whose every tap reads where `offset` moves it, bilinearly between elements (ONNX DeformConv).

    x[N,C,H,W], w[O,C/group,kh,kw], offset[N,2*G*kh*kw,H',W'] in pairs (down, right), b[O], optional mask[N,G*kh*kw,H',W']
    that multiplies each tap; G = `offset_group` divides the channels. Outside x there is 0. Offsets may be fp32 always.
    """

    name = "ge.deform_conv2d"

    x = operand_def(TENSOR)
    w = operand_def(TENSOR)
    offset = operand_def(TENSOR)
    b = operand_def(TENSOR)
    mask = opt_operand_def(TENSOR)
    strides = ints_prop((1, 1))
    pads = ints_prop((0, 0, 0, 0))
    dilations = ints_prop((1, 1))
    group = int_prop(1)
    offset_group = int_prop(1)

    def __init__(
        self,
        x: SSAValue | Operation,
        w: SSAValue | Operation,
        offset: SSAValue | Operation,
        b: SSAValue | Operation,
        mask: SSAValue | Operation | None = None,
        *,
        strides: Sequence[int] = (1, 1),
        pads: Sequence[int] = (0, 0, 0, 0),
        dilations: Sequence[int] = (1, 1),
        group: int = 1,
        offset_group: int = 1,
        result_type: Tensor | None = None,
    ):
        properties: dict[str, Attribute] = {
            "strides": ints_attr(strides),
            "pads": ints_attr(pads),
            "dilations": ints_attr(dilations),
            "group": int_attr(group),
            "offset_group": int_attr(offset_group),
        }
        self.init((x, w, offset, b, mask), properties, result_type)

    def keeps_type(self, index: int) -> bool:
        return index == 2

    def infer(self) -> tuple[Tensor, ...]:
        self.require_same_element(self.offset)
        batch, channels, *spatial = self.require_rank(self.x, 4, "x")
        outputs, group_channels, *kernel = self.require_rank(self.w, 4, "w")
        strides, dilations = self.require_length("strides", 2), self.require_length("dilations", 2)
        pads, group, offset_group = self.require_length("pads", 4), self.group.value.data, self.offset_group.value.data
        if min(*strides, *dilations, group, offset_group) < 1 or min(pads) < 0:
            raise self.fail("strides, dilations and groups must be positive, pads not negative")
        if channels != DYNAMIC and (channels != group_channels * group or channels % offset_group or outputs % group):
            raise self.fail(f"groups do not divide the channels (operands {self.operand_shapes()})")
        extents = [
            window_extent(spatial[i], kernel[i], strides[i], pads[i] + pads[i + 2], dilations[i]) for i in range(2)
        ]
        taps = offset_group * prod(kernel)
        if not shapes_agree(self.require_rank(self.offset, 4, "offset"), (batch, 2 * taps, *extents)):
            raise self.fail(f"offset must be [N,{2 * taps},H',W'] (operands {self.operand_shapes()})")
        if self.mask is not None and not shapes_agree(shape_of(self.mask), (batch, taps, *extents)):
            raise self.fail(f"mask must be [N,{taps},H',W'] (operands {self.operand_shapes()})")
        if not shapes_agree(shape_of(self.b), (outputs,)):
            raise self.fail(f"b must have {outputs} elements (operands {self.operand_shapes()})")
        return typed((batch, outputs, *extents), self.x)

    def cost(self) -> Cost:
        macs = elements_of(self.result) * prod(shape_of(self.w)[1:])
        return Cost(macs, elements_of(self.offset) * 8, sum(map(bytes_of, self.operands)), bytes_of(self.result))


CONVOLUTION = [Conv2dOp, Conv3dOp, DeformConv2dOp]
