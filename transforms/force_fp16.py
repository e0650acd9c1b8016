"""Compute an fp32 graph in fp16, as ATC does by default: casts at the borders, weights rounded once.

    func.func @main(%x: tensor<1x8xf32>) { %y = ge.relu %x : (tensor<1x8xf32>) -> tensor<1x8xf32>  return %y }
    // becomes
    %0 = ge.cast %x : (tensor<1x8xf32>) -> tensor<1x8xf16>
    %1 = ge.relu %0 : (tensor<1x8xf16>) -> tensor<1x8xf16>
    %y = ge.cast %1 : (tensor<1x8xf16>) -> tensor<1x8xf32>

Inputs and outputs keep their declared types. Constants become fp16 by a recipe that rounds to nearest even, except the
bias of a convolution or matrix product, which joins the fp32 accumulator. Tensors of other types are not touched, nor
are operators marked `ge.precision = "fp32"` (see mark-precision); a value that crosses is cast once.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f16, f32
from xdsl.ir import Operation

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.control_flow import RegionOp
from graph_engine.dialects.ge.convolution import Conv2dOp, Conv3dOp
from graph_engine.dialects.ge.core import GeOp, element_of
from graph_engine.dialects.ge.elementwise import CastOp
from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.precision import FP32, precision_of
from graph_engine.transforms.driver import RewriteContext
from graph_engine.transforms.fusion import graphs
from graph_engine.transforms.narrowing import Narrowed
from graph_engine.transforms.pass_base import APPROXIMATE, FP16_SHARE, GePass


def is_bias(op: Operation, index: int) -> bool:
    """Whether operand `index` of `op` only ever joins an accumulator of the Cube."""
    return isinstance(op, Conv2dOp | Conv3dOp | MatmulOp) and index == 2


def stays(op: Operation, index: int) -> bool:
    """Whether operand `index` is left in fp32: it joins an accumulator, or is no number to compute with."""
    if isinstance(op, FusedOp):
        uses = list(op.block.args[index].uses)
        return bool(uses) and all(stays(use.operation, use.index) for use in uses)
    return is_bias(op, index) or (isinstance(op, GeOp) and op.keeps_type(index))


def is_border(op: Operation) -> bool:
    """Whether `op` is a cast between fp16 and fp32: such a cast has nothing to compute in fp16."""
    return isinstance(op, CastOp) and {element_of(op.x), element_of(op.result)} == {f16, f32}


def needs_halving(op: Operation) -> bool:
    """Whether `op` touches fp32 other than by what stays and border casts; control flow runs on the host, as it is."""
    if isinstance(op, ConstantOp | RegionOp) or not isinstance(op, GeOp | FusedOp) or is_border(op):
        return False
    if op.operands and all(isinstance(op, GeOp) and op.keeps_type(index) for index in range(len(op.operands))):
        return False
    if any(element_of(result) == f32 for result in op.results):
        return True
    return any(element_of(value) == f32 and not stays(op, index) for index, value in enumerate(op.operands))


@dataclass(frozen=True)
class ForceFp16(GePass):
    """Walks in program order; the graph is valid after each operator."""

    name = "force-fp16"
    numerics = APPROXIMATE(FP16_SHARE)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        context = RewriteContext.current()
        for block in graphs(op):
            halves = Narrowed(block, f32, f16)
            for inner in tuple(block.ops):
                if needs_halving(inner) and precision_of(inner) != FP32:
                    rounded = [i for i, x in enumerate(inner.operands) if element_of(x) == f32 and not stays(inner, i)]
                    with context.rewrite("force-fp16", [inner]) as rewriter:
                        halves.compute(inner, rounded, rewriter)
                elif is_border(inner) and element_of(inner.operands[0]) == f32 and halves.has(inner.operands[0]):
                    with context.rewrite("drop-cast-pair", [inner]) as rewriter:
                        rewriter.replace(inner, (), [halves.of(inner.operands[0], inner, rewriter)])
