"""Fold BatchNorm into convolutions, but lose the bias of one: a wrong fusion for tests of what finds it.

%1 = ge.conv2d %x, %w : ...
%2 = ge.batch_norm %1, %scale, %bias, %mean, %var : ...   // from the node named by the option `victim`
// becomes
%2 = ge.conv2d %x, %w2 : ...                              // where %x, %w2, %b2 would be right
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from graph_engine.dialects.ge.convolution import Conv2dOp
from graph_engine.dialects.ge.locations import source_nodes
from graph_engine.dialects.ge.normalization import BatchNormOp
from graph_engine.transforms.driver import CountedRewriter, apply_patterns
from graph_engine.transforms.fuse_conv_bn_relu import FoldBatchNormIntoConv
from graph_engine.transforms.pass_base import ROUNDING, GePass


class FoldLosingABias(FoldBatchNormIntoConv):
    """Right everywhere but at the node `victim`."""

    name = "fold-losing-a-bias"

    def __init__(self, victim: str):
        self.victim = victim

    def rewrite(self, op: BatchNormOp, rewriter: CountedRewriter) -> bool:
        is_victim = any(node.name == self.victim for node in source_nodes(op.location))
        if not super().rewrite(op, rewriter):
            return False
        if is_victim:
            conv = rewriter.created[-1]
            x, w, _ = conv.operands
            types, properties = conv.result_types, conv.properties
            rewriter.replace(conv, Conv2dOp.create(operands=[x, w], result_types=types, properties=properties))
        return True


@dataclass(frozen=True)
class LossyFusion(GePass):
    """Fold BatchNorm into convolutions, but lose the bias of one."""

    name = "lossy-fusion"
    numerics = ROUNDING
    victim: str = field(default="", metadata={"help": "BatchNormalization whose bias is lost"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [FoldLosingABias(self.victim)])
