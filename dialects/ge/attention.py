"""Attention as one kernel: a `ge.fused` of two matrix products with a softmax between them.

    softmax(steps(q k^T)) v        q[..., M, D], k[..., N, D], v[..., N, E], result [..., M, E]

The steps are elementwise operators over the scores [..., M, N]: a scale, a mask. No operator of its own stands for it:
the region says what is computed, is rounded as it would be apart, and falls into its parts where there is no kernel.

Of windows the region also says how their heads lie in matrices of whole maps: window_partition, split_heads and maybe a
slice of heads in front of each of q, k and v, merge_heads and window_merge behind the result.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import BlockArgument, Operation, SSAValue, Use

from graph_engine.dialects.ge.core import elements_of, shape_of
from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.dialects.ge.heads import MergeHeadsOp, SplitHeadsOp
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.normalization import SoftmaxOp
from graph_engine.dialects.ge.shape import SliceOp
from graph_engine.dialects.ge.windows import WindowMergeOp, WindowPartitionOp


@dataclass(frozen=True)
class Attention:
    """The operators of one attention, inside their `ge.fused`."""

    scores: MatmulOp
    steps: tuple[Operation, ...]
    softmax: SoftmaxOp
    result: MatmulOp
    partitions: tuple[WindowPartitionOp, ...] = ()
    """Of q, k and v, where these are heads of windows."""
    merge: WindowMergeOp | None = None

    @property
    def sides(self) -> list[SSAValue]:
        """The steps' operands from outside: masks and numbers, each once, in the order of their use."""
        found = (value for op in self.steps for value in op.operands if isinstance(value, BlockArgument))
        return list(dict.fromkeys(found))


def attention_of(op: Operation | None) -> Attention | None:
    """The attention that a `ge.fused` is; None for any other operator."""
    if not isinstance(op, FusedOp) or op.anchor.data != MatmulOp.name:
        return None
    members = list(op.block.ops)[:-1]
    match members:
        case [MatmulOp() as scores, *steps, SoftmaxOp() as softmax, MatmulOp() as result]:
            return Attention(scores, tuple(steps), softmax, result)
        case [WindowPartitionOp(), *_, MergeHeadsOp(), WindowMergeOp()]:
            return _attention_of_windows(members)
        case _:
            return None


def _attention_of_windows(members: list[Operation]) -> Attention | None:
    start = next((i for i, op in enumerate(members) if isinstance(op, MatmulOp)), 0)
    match members[start:-2]:
        case [MatmulOp() as scores, *steps, SoftmaxOp() as softmax, MatmulOp() as result]:
            cuts = [heads_of_windows(value) for value in (scores.a, scores.b, result.b)]
            partitions = tuple(cut[0] for cut in cuts if cut is not None)
            merge = members[-1]
            assert isinstance(merge, WindowMergeOp)
            return Attention(scores, tuple(steps), softmax, result, partitions, merge)
        case _:
            return None


def heads_of_windows(value: SSAValue) -> tuple[WindowPartitionOp, range] | None:
    """The windows whose heads a value is, and which of the heads; None if it is anything else."""
    op, heads = value.owner, None
    if isinstance(op, SliceOp) and op.ints("axes") == (1,) and op.ints("steps") == (1,):
        heads = range(*slice(op.ints("starts")[0], op.ints("ends")[0]).indices(shape_of(op.x)[1]))
        op = op.x.owner
    if not isinstance(op, SplitHeadsOp) or not isinstance(op.x.owner, WindowPartitionOp):
        return None
    return op.x.owner, range(op.heads.value.data) if heads is None else heads


def reads_heads(use: Use) -> bool:
    """Whether an attention reads the value as queries, keys or values, and as nothing else."""
    attention, fused = attention_of(use.operation), use.operation
    if attention is None or attention.partitions or not isinstance(fused, FusedOp):
        return False
    inside = fused.block.args[use.index]
    heads = [v for v in (*attention.scores.operands, *attention.result.operands) if v is inside]
    return len(heads) == len(list(inside.uses))


def side_kind(value: SSAValue, scores: SSAValue) -> str | None:
    """How an operand of a step lies beside the scores [..., M, N].

    "number": one element. "matrix": [..., M, N], "row": [..., 1, N], both of a rank and batch that broadcast onto the
    scores'. None: none of these.
    """
    shape, (*batch, rows, keys) = shape_of(value), shape_of(scores)
    if elements_of(value) == 1:
        return "number"
    if not shape or len(shape) > len(batch) + 2 or shape[-1] != keys:
        return None
    own = shape[:-2]
    if any(n not in (1, whole) for n, whole in zip(own, batch[len(batch) - len(own) :], strict=True)):
        return None
    if shape[-2:] == (rows, keys):
        return "matrix"
    return "row" if len(shape) == 1 or shape[-2] == 1 else None
