"""Turn a graph in bf16 into one in fp32 between casts, for the precision modes that choose types themselves.

    %y = ge.relu %x : (tensor<1x8xbf16>) -> tensor<1x8xbf16>
    // becomes
    %0 = ge.cast %x : (tensor<1x8xbf16>) -> tensor<1x8xf32>
    %1 = ge.relu %0 : (tensor<1x8xf32>) -> tensor<1x8xf32>
    %y = ge.cast %1 : (tensor<1x8xf32>) -> tensor<1x8xbf16>

What follows then sees fp32 alone: mode and lists say what becomes fp16, and the check of fp16's range warns of numbers that
bf16 holds and fp16 does not. Inputs and outputs keep their types, casts in between vanish, constants become fp32 by a
recipe. In mode must_keep_origin_dtype the graph stays as it is; control flow does in every mode.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, bf16, f32

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.control_flow import RegionOp
from graph_engine.dialects.ge.core import GeOp, element_of
from graph_engine.dialects.ge.elementwise import CastOp
from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.transforms.driver import RewriteContext
from graph_engine.transforms.fusion import graphs
from graph_engine.transforms.narrowing import Narrowed
from graph_engine.transforms.pass_base import APPROXIMATE, GePass
from graph_engine.transforms.precision_modes import FORCE_FP16, MODES, ORIGIN, mode_named

BF16_SHARE = 2.0**-6
"""How far some roundings to 8 digits, which the widened graph does not make, may have moved a tensor of the other one."""


@dataclass(frozen=True)
class WidenBf16(GePass):
    """Walks in program order; the graph is valid after each operator."""

    name = "widen-bf16"
    numerics = APPROXIMATE(BF16_SHARE)

    mode: str = field(default=FORCE_FP16, metadata={"help": f"one of {', '.join(MODES)}"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if mode_named(self.mode) == ORIGIN:
            return
        context = RewriteContext.current()
        for block in graphs(op):
            wide = Narrowed(block, bf16, f32)
            for inner in tuple(block.ops):
                if not isinstance(inner, GeOp | FusedOp) or isinstance(inner, ConstantOp | RegionOp):
                    continue
                changed = [i for i, x in enumerate(inner.operands) if element_of(x) == bf16]
                if isinstance(inner, CastOp) and {element_of(inner.x), element_of(inner.result)} == {bf16, f32}:
                    if changed:
                        with context.rewrite("drop-widening-cast", [inner]) as rewriter:
                            rewriter.replace(inner, (), [wide.of(inner.x, inner, rewriter)])
                elif changed or any(element_of(result) == bf16 for result in inner.results):
                    with context.rewrite("widen-bf16", [inner]) as rewriter:
                        wide.compute(inner, changed, rewriter)
