"""Give back its name to a shuffle of channels that exporters write as reshape, transpose, reshape.

%1 = ge.reshape %x {shape = [1, 2, 8, 4, 4]} : (tensor<1x16x4x4xf32>) -> tensor<1x2x8x4x4xf32>
%2 = ge.transpose %1 {perm = [0, 2, 1, 3, 4]} : ... -> tensor<1x8x2x4x4xf32>
%3 = ge.reshape %2 {shape = [1, 16, 4, 4]} : ...
// becomes
%3 = ge.channel_shuffle %x {groups = 2} : (tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32>
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from graph_engine.dialects.ge.channels import ChannelShuffleOp
from graph_engine.dialects.ge.core import DYNAMIC, shape_of
from graph_engine.dialects.ge.shape import ReshapeOp, TransposeOp
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.fusion import single_user
from graph_engine.transforms.pass_base import EXACT, GePass


class ShuffleOfTranspose(Pattern):
    """reshape(transpose(reshape(x))) -> channel_shuffle(x), where the transpose swaps the two axes that C is cut into."""

    name = "shuffle-of-transpose"
    root: ClassVar[tuple[type[Operation], ...]] = (ReshapeOp,)

    def rewrite(self, op: ReshapeOp, rewriter: CountedRewriter) -> bool:
        transpose = op.x.owner
        if not isinstance(transpose, TransposeOp) or single_user(transpose.result) is not op:
            return False
        first = transpose.x.owner
        if not isinstance(first, ReshapeOp) or single_user(first.result) is not transpose:
            return False
        shape, split, perm = shape_of(first.x), shape_of(first.result), transpose.ints("perm")
        if len(shape) != 4 or DYNAMIC in shape or op.result.type != first.x.type or len(split) < 4:
            return False
        batch, groups, each, *pixels = split
        # The pixels may be one axis or two; they stay behind the channels.
        if (batch, groups * each) != shape[:2] or perm != (0, 2, 1, *range(3, len(split))) or not pixels:
            return False
        rewriter.replace(op, ChannelShuffleOp(first.x, groups=groups))
        return True


@dataclass(frozen=True)
class RecogniseChannelShuffle(GePass):
    """Applies the pattern wherever it matches."""

    name = "recognise-channel-shuffle"

    numerics = EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [ShuffleOfTranspose()])
