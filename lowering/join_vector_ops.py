"""Let elementwise tasks of one shape, format and type share a launch, where the chip's estimated time gains by it.

    %c = ge.fused ins(%f, %before, %i, %g) {...} { c = f * before + i * g }       // also read by the next step
    %h = ge.fused ins(%o, %c) {...} { h = o * tanh(c) }
    %r = ge.sigmoid %z : ...                                                      // has nothing to do with either
    // becomes
    %c, %h, %r = ge.fused ins(%f, %before, %i, %g, %o, %z) {...} { c = ...; h = ...; r = ...; yield c, h, r }

An operator joins a task that makes one of its operands, so that this is not read again, or one that has nothing to do with
it. `task_levels.py` keeps the graph free of cycles. A task that is joined saves a launch and the ways to memory and back; it
loses where more tensors at a time make smaller tiles, on which instructions start more often, or no longer stay in the L2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.core import Tensor
from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.dialects.layout import storage_bytes
from graph_engine.lowering.kernels.elementwise import Elementwise
from graph_engine.lowering.kernels.elementwise_time import elementwise_us, moved_bytes
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.selection.choice import require_static, tensor
from graph_engine.lowering.selection.vector import elementwise_of
from graph_engine.lowering.task_levels import Joint, TaskLevels, makers, reordered
from graph_engine.target_ascend.soc.soc import Soc, load_soc
from graph_engine.transforms.driver import RewriteContext
from graph_engine.transforms.explain_transdata import name_of
from graph_engine.transforms.fusion import enclose, graphs, read_outside
from graph_engine.transforms.pass_base import EXACT, GePass
from graph_engine.transforms.remarks import Kind, missed, passed, wanted


def with_kernels(joint: Joint) -> dict[Operation, Elementwise]:
    """The members that the Vector has a kernel for and that read nothing of those that it has none for."""
    kernels: dict[Operation, Elementwise] = {}
    refused: set[Operation] = set()
    for op in joint.members:
        try:
            require_static(*(tensor(value) for value in (*op.operands, *op.results)))
            kernel, _ = elementwise_of([op], op.results)
        except NoKernel as reason:
            missed("NotJoined", op, f"shares no task: {reason}", guard="engine", reason=str(reason))
            refused.add(op)
            continue
        if refused.isdisjoint(makers(op)):
            kernels[op] = kernel
        else:
            refused.add(op)
    return kernels


def gain_us(kernels: dict[Operation, Elementwise], soc: Soc) -> float:
    """Microseconds that one task of all is expected to take less than a task for each. Raises NoKernel if no tile fits.

    What they read is in the L2 if it fits there together with all that is made until the last of them would have run.
    """
    room, members = soc.buffers["l2"], list(kernels)
    apart = sum(elementwise_us(kernel, soc, resident=moved_bytes(kernel) <= room) for kernel in kernels.values())
    together, _ = elementwise_of(members, read_outside(members))
    gain = apart - elementwise_us(together, soc, resident=False)
    if gain > 0 or moved_bytes(together) + _made_between(members, room) > room:
        return gain
    return apart - elementwise_us(together, soc, resident=True)


def _made_between(members: Sequence[Operation], enough: int) -> int:
    """Bytes that operators behind the first member, up to the last one, write; counted until there are `enough`."""
    written, op = 0, members[0]
    while op is not members[-1] and written <= enough:
        op = cast(Operation, op.next_op)
        if not isinstance(op, ConstantOp):
            written += sum(storage_bytes(cast(Tensor, result.type)) for result in op.results)
    return written


def worth_joining(joint: Joint, soc: Soc) -> tuple[list[Operation], float]:
    """The most members, first ones first, that gain as one task, and how much; none if no two do."""
    kernels = with_kernels(joint)
    while len(kernels) > 1:
        try:
            gain, lost = gain_us(kernels, soc), ""
        except NoKernel as reason:
            gain, lost = 0.0, str(reason)
        if gain > 0:
            return list(kernels), gain
        first, last = next(iter(kernels)), list(kernels)[-1]
        why = lost or f"{-gain:.1f} us slower"
        missed("NotJoined", last, f"one task with {name_of(first)}: {why}", guard="cost", gain_us=gain)
        del kernels[last]
    return [], 0.0


def explain_single(joints: Sequence[Joint]) -> None:
    """Remarks why an operator found no partner."""
    if not wanted(Kind.MISSED):
        return
    forms = Counter(joint.form for joint in joints)
    shapes = Counter(joint.form.shape for joint in joints)
    for joint in joints:
        if len(joint.members) > 1:
            continue
        if forms[joint.form] > 1:
            guard, why = (
                "path",
                "the others of its shape come before or behind it, maybe by way of each other, or are full",
            )
        elif shapes[joint.form.shape] > 1:
            guard, why = "form", "others of its shape have another element type or format"
        else:
            guard, why = "shape", "no other elementwise task has its shape"
        missed("NotJoined", joint.members[0], f"shares no task: {why}", guard=guard)


def join_block(block: Block, context: RewriteContext, soc: Soc, max_ops: int, max_tensors: int) -> None:
    """Every task that gains by it; the graph is valid after each."""
    ops = list(block.ops)
    joints = TaskLevels(ops, max_ops, max_tensors).joints
    explain_single(joints)
    tasks: dict[Operation, list[Operation]] = {}
    gains: dict[Operation, float] = {}
    for joint in joints:
        members, gain = worth_joining(joint, soc) if len(joint.members) > 1 else ([], 0.0)
        if members:
            tasks |= dict.fromkeys(members, members)
            gains[members[0]] = gain
    if not tasks:
        return
    for members in reordered(ops, tasks):
        names, gain = [name_of(op) for op in members], gains[members[0]]
        anchor = members[-1].anchor.data if isinstance(members[-1], FusedOp) else members[-1].name
        with context.rewrite("join-vector-ops", members) as rewriter:
            joint = enclose(rewriter, members, anchor, read_outside(members))
        message = f"one task for {', '.join(names)}: {gain:.1f} us less"
        passed("JoinedTasks", joint, message, operators=names, results=len(joint.results), gain_us=gain)


@dataclass(frozen=True)
class JoinVectorOps(GePass):
    """Shares launches within limits that keep the search linear; the chip's times decide."""

    name = "join-vector-ops"
    numerics = EXACT

    soc: str = field(default="Ascend310P3", metadata={"help": "chip whose times decide"})
    max_ops: int = field(default=32, metadata={"help": "operators in one task at most"})
    max_tensors: int = field(default=24, metadata={"help": "tensors that one task reads or makes at most"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        soc, context = load_soc(self.soc), RewriteContext.current()
        for block in graphs(op):
            join_block(block, context, soc, self.max_ops, self.max_tensors)
