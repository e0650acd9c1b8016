"""Multiply quantised numbers as integers: dequantise, convolve, quantise becomes one convolution of 8-bit numbers.

%f = ge.dequantize %x, %sx, %zx : (tensor<1x64x8x8xi8>, ...) -> tensor<1x64x8x8xf32>
%w = ge.dequantize %wq, %sw, %zw : (tensor<32x64x3x3xi8>, ...) -> tensor<32x64x3x3xf32>
%c = ge.conv2d %f, %w, %b : ...
%r = ge.relu %c : ...
%y = ge.quantize %r, %sy, %zy : ... -> tensor<1x32x6x6xi8>
// becomes
%y = ge.fused ins(%x, %wq, ...) {anchor = "ge.conv2d_integer"} { conv2d_integer, add, requantize, maximum }

The sums are exact in i32: onnxruntime does the same to such graphs, and the models were calibrated for it. The bias becomes
integer steps of sx * sw, the factor is sx * sw / sy in fp32, ReLU a maximum with the zero point. ONNX's QLinearConv arrives
in these operators and is gathered alike. Sums of dequantised numbers that are quantised again are one kernel. Where results
leave by FixPipe, which reads eleven digits of a factor, the factor is rounded to those.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from graph_engine.dialects.ge.core import DYNAMIC, GeOp, Trait, element_of, shape_of
from graph_engine.dialects.ge.elementwise import AddOp, MaximumOp
from graph_engine.dialects.ge.precision import FP32, precision_of, set_precision
from graph_engine.dialects.ge.quantization import Conv2dIntegerOp, DequantizeOp, QuantizeOp, RequantizeOp
from graph_engine.dialects.ge.reduction import ReduceMeanOp
from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.isa.model import FACTOR_BITS
from graph_engine.target_ascend.soc.soc import load_soc
from graph_engine.transforms.driver import CountedRewriter, Pattern, RewriteContext, apply_patterns
from graph_engine.transforms.fusion import gather, graphs, single_user
from graph_engine.transforms.integer_products import IntegerConvolution, RowsAsImages, WeightsAroundZero
from graph_engine.transforms.pass_base import APPROXIMATE, GePass
from graph_engine.transforms.quantised_values import constant, multiplied_types, quantisation
from graph_engine.transforms.recipes import known

MOST_OPERATORS, MOST_INPUTS = 12, 4


class ShortenFactor(Pattern):
    """requantize(sums, factor) -> with the factor rounded to the 11 digits by which FixPipe scales. Off: the Vector scales."""

    name = "shorten-factor"
    root: ClassVar[tuple[type[Operation], ...]] = (RequantizeOp,)

    def rewrite(self, op: RequantizeOp, rewriter: CountedRewriter) -> bool:
        product = op.x.owner
        if isinstance(product, AddOp):
            product = product.operands[0].owner
        factor = known(op.factor)
        if not isinstance(product, Conv2dIntegerOp) or factor is None:
            return False
        try:
            bits = factor.numbers().view(np.uint32)
        except GraphEngineError:  # a store that is not there
            return False
        half, kept = np.uint32((FACTOR_BITS & -FACTOR_BITS) >> 1), np.uint32(FACTOR_BITS)
        if not (bits & ~kept).any():
            return False
        made = constant((bits + half & kept).view(np.float32), "factor")
        rewriter.replace(op, [made, RequantizeOp(op.x, made.result, op.zero_point)])
        return True


def integer_region(op: Conv2dIntegerOp) -> list[Operation] | None:
    """The convolution with all that the kernel does on the way out, if its constants are such as the Cube takes."""
    w, x_zero, w_zero = known(op.w), known(op.x_zero), known(op.w_zero)
    if w is None or x_zero is None or w_zero is None or x_zero.elements != 1 or DYNAMIC in shape_of(op.result):
        return None
    members: list[Operation] = [op]
    user = single_user(op.result)
    if isinstance(user, AddOp) and _channels(user.other(op.result), user.result):
        members.append(user)
        user = single_user(user.result)
    if not isinstance(user, RequantizeOp) or known(user.zero_point) is None or not _channels(user.factor, user.result):
        return None
    if shape_of(user.zero_point) not in ((), (1,)):
        return None
    members.append(user)
    after = single_user(user.result)
    if isinstance(after, MaximumOp) and after.other(user.result) is user.zero_point:
        members.append(after)
    return members


def _channels(value: SSAValue, result: SSAValue) -> bool:
    """Whether a value is a constant number or one number a channel."""
    shape, constant = shape_of(value), known(value)
    return constant is not None and (constant.elements == 1 or shape == (1, shape_of(result)[1], 1, 1))


def arithmetic_region(op: QuantizeOp) -> list[Operation] | None:
    """Elementwise operators over dequantised numbers of one shape that are quantised at the end, producers first."""
    from graph_engine.transforms.formats import rides_along

    shape = shape_of(op.result)
    if quantisation(op) is None or element_of(op.x) != f32 or DYNAMIC in shape:
        return None
    members: dict[Operation, None] = {op: None}
    pending: list[SSAValue] = [op.x]
    inputs: set[SSAValue] = set()
    while pending:
        value = pending.pop()
        owner = value.owner
        if shape_of(value) != shape:
            return None
        if isinstance(owner, DequantizeOp) and quantisation(owner) is not None:
            inputs.add(owner.x)
        elif (
            isinstance(owner, GeOp)
            and rides_along(owner)
            and not owner.has(Trait.HOST)
            and single_user(value) is not None
        ):
            pending += owner.operands
        else:
            return None
        members[owner] = None
        if len(members) > MOST_OPERATORS or len(inputs) > MOST_INPUTS:
            return None
    return list(members)[::-1] if len(members) > 2 else None


def gather_regions(block: Block, context: RewriteContext) -> None:
    """Every integer convolution with what follows it, then what stands between quantised tensors. Linear."""
    for op in tuple(block.ops):
        members = None
        if isinstance(op, Conv2dIntegerOp):
            members = integer_region(op)
        if members is not None:
            with context.rewrite("gather-integer-convolution", [members[-1]]) as rewriter:
                gather(rewriter, members, op)
    for op in tuple(block.ops):
        members = arithmetic_region(op) if isinstance(op, QuantizeOp) else None
        if members is None:
            continue
        with context.rewrite("gather-quantised-arithmetic", [op]) as rewriter:
            gather(rewriter, _ordered(members), op)


def keep_exact(block: Block) -> None:
    """Means between quantised tensors, and results that leave the graph, stay in fp32: fp16 would move them by a step."""
    for op in block.ops:
        if not isinstance(op, DequantizeOp) or element_of(op.result) != f32 or precision_of(op) is not None:
            continue
        users = {use.operation for use in op.result.uses}
        mean = next(iter(users)) if len(users) == 1 else None
        if users and all(isinstance(user, ReturnOp) for user in users):
            set_precision(op, FP32)
        elif isinstance(mean, ReduceMeanOp) and isinstance(single_user(mean.result), QuantizeOp):
            set_precision(op, FP32)
            set_precision(mean, FP32)


def _ordered(members: Sequence[Operation]) -> list[Operation]:
    """Members in dataflow order."""
    left, order = list(members), []
    chosen = set(left)
    while left:
        for op in left:
            if all(
                not isinstance(v.owner, Operation) or v.owner not in chosen or v.owner in order for v in op.operands
            ):
                order.append(op)
                left.remove(op)
                break
    return order


@dataclass(frozen=True)
class FuseQuantized(GePass):
    """Integer convolutions of products of quantised numbers, then a walk that gathers each kernel."""

    name = "fuse-quantized"
    numerics = APPROXIMATE(0.01)

    soc: str = field(default="Ascend310P3", metadata={"help": "chip that multiplies the integers, or does not"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        soc = load_soc(self.soc)
        patterns: list[Pattern] = [RowsAsImages(), WeightsAroundZero(), IntegerConvolution(multiplied_types(soc))]
        apply_patterns(op, patterns)
        if "i32 -> i8" in soc.instructions.get("fixpipe", ()):
            apply_patterns(op, [ShortenFactor()])
        context = RewriteContext.current()
        for block in graphs(op):
            gather_regions(block, context)
            keep_exact(block)
