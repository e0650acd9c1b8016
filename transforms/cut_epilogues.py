"""Cut from a Cube kernel what its chip cannot do behind the Cube, so that it becomes a task of the Vector.

    %y = ge.fused ins(%x, %w) {anchor = "ge.conv2d"} { conv2d, relu, add, sigmoid }
    // becomes, where Cube and Vector have cores of their own
    %0 = ge.fused ins(%x, %w) {anchor = "ge.conv2d"} { conv2d, relu }
    %y = ge.fused ins(%0, ...) {anchor = "ge.add"} { add, sigmoid }

FixPipe converts and does one activation on the way out of L0C: ReLU and LeakyReLU everywhere, ReLU6 and its like on 950;
all else meets in L2: as a task of its own, or, where that is sooner (`team_time`), in one kernel of a team of cores. Attention
that is not becomes its products and, between them, the softmax with its steps. Chips whose cores have both keep everything
as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from graph_engine.dialects.ge.attention import attention_of
from graph_engine.dialects.ge.convolution import Conv2dOp, Conv3dOp
from graph_engine.dialects.ge.elementwise import ClipOp
from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.dialects.ge.gated import gated_of
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.normalization import SoftmaxOp
from graph_engine.target_ascend.soc.soc import Soc, load_soc
from graph_engine.transforms.driver import CountedRewriter, RewriteContext
from graph_engine.transforms.fusion import gather, graphs, scatter
from graph_engine.transforms.pass_base import APPROXIMATE, FP16_SHARE, GePass
from graph_engine.transforms.remarks import missed
from graph_engine.transforms.team_time import attention_in_a_team, sooner_in_a_team


def on_the_way(op: Operation, soc: Soc) -> bool:
    """Whether FixPipe does it with a result that it takes out of L0C."""
    if isinstance(op, ClipOp):
        return "clip" in soc.activations and op.min.value.data == 0 <= op.max.value.data
    return op.name.removeprefix("ge.") in soc.activations


def groups_of(fused: FusedOp, soc: Soc, *, teams: bool = True) -> list[list[Operation]]:
    """The operators of a fused region in the groups that are a kernel each on the chip; one if it stays whole.

    `teams`: what a team of cores does sooner stays so.
    """
    members = list(fused.block.ops)[:-1]
    if (attention := attention_of(fused)) is not None:
        if not soc.has("split") or (teams and attention_in_a_team(attention, soc)):
            return [members]
        return [members[:1], members[1:-1], [attention.result]]
    if soc.has("split") and gated_of(fused) is not None:
        return [members[:1], members[1:2], members[2:]]
    if not soc.has("split") or not isinstance(fused.anchor_op, Conv2dOp | Conv3dOp | MatmulOp):
        return [members]
    end = members.index(fused.anchor_op) + 1
    if end < len(members) and on_the_way(members[end], soc):
        end += 1
    if end == len(members) or (teams and _has_a_team(fused) and sooner_in_a_team(fused.anchor_op, members[end:], soc)):
        return [members]
    return [members[:end], members[end:]]


def _has_a_team(fused: FusedOp) -> bool:
    """Whether a kernel of a Cube core with two Vector cores does all of it."""
    return isinstance(fused.anchor_op, Conv2dOp | Conv3dOp | MatmulOp)


def cut(rewriter: CountedRewriter, fused: FusedOp, sizes: Sequence[int]) -> None:
    """Replaces a fused region by groups of so many of its operators."""
    parts = scatter(rewriter, fused)
    for size in sizes:
        group, parts = parts[:size], parts[size:]
        if size > 1:
            anchor = next((op for op in group if isinstance(op, Conv2dOp | Conv3dOp | MatmulOp | SoftmaxOp)), group[0])
            gather(rewriter, group, anchor)


@dataclass(frozen=True)
class CutEpilogues(GePass):
    """Cut from a Cube kernel what its chip cannot do behind the Cube, so that it becomes a task of the Vector."""

    name = "cut-epilogues"
    numerics = APPROXIMATE(FP16_SHARE)

    soc: str = field(default="Ascend310P3", metadata={"help": "chip whose way out of L0C decides"})
    teams: bool = field(default=True, metadata={"help": "leave to a team of cores what it does sooner"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        soc, context = load_soc(self.soc), RewriteContext.current()
        for block in graphs(op):
            for fused in [inner for inner in block.ops if isinstance(inner, FusedOp)]:
                groups = groups_of(fused, soc, teams=self.teams)
                if len(groups) > 1:
                    left = groups[1][0].name
                    missed("Fused", fused, f"{left} is a task of its own: {soc.name} cannot do it behind the Cube")
                    with context.rewrite("cut-epilogue", [fused]) as rewriter:
                        cut(rewriter, fused, [len(group) for group in groups])
