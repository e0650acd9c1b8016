"""Place every workspace buffer at an offset: lifetimes, alignment, views, in-place results; report peak and bound.

    %b = ascend.task.buffer workspace : tensor<...>   ->   %b = ascend.task.buffer workspace + 1605632 : tensor<...>

A result takes over the storage of an operand that dies in the same task, has the same size, and may be overwritten
by the kernel (`in_place`). The lower bound is the largest sum of sizes that live at one time.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp
from xdsl.ir import SSAValue

from graph_engine.dialects.ascend.program import BufferOp, ProgramOp, StreamOp
from graph_engine.dialects.ascend.task import DeviceTaskOp, LaunchOp
from graph_engine.dialects.ge.interning import int_attr
from graph_engine.dialects.layout import storage_bytes
from graph_engine.planning.interval_packing import Interval, pack_intervals
from graph_engine.target_ascend.soc.soc import load_soc
from graph_engine.transforms.pass_base import EXACT, GePass


def root_of(value: SSAValue) -> BufferOp:
    """The buffer whose storage a buffer shares, itself if it shares none."""
    buffer = cast(BufferOp, value.owner)
    while buffer.alias is not None:
        buffer = cast(BufferOp, buffer.alias.owner)
    return buffer


@dataclass
class _Storage:
    """One piece of workspace and the buffers that live in it one after another."""

    size: int
    first: int
    last: int
    members: list[BufferOp]


def _lifetimes(program: ProgramOp) -> tuple[list[DeviceTaskOp], dict[BufferOp, list[int]]]:
    tasks = [
        task
        for stream in program.body.block.ops
        if isinstance(stream, StreamOp)
        for task in stream.body.block.ops
        if isinstance(task, DeviceTaskOp)
    ]
    life: dict[BufferOp, list[int]] = {}
    for time, task in enumerate(tasks):
        for value in (*task.inputs, *task.outputs):
            life.setdefault(root_of(value), []).append(time)
    for stream in program.body.block.ops:
        if isinstance(stream, StreamOp):
            for task in stream.body.block.ops:
                if not isinstance(task, DeviceTaskOp):
                    for value in task.operands:  # copies into outputs come last
                        life.setdefault(root_of(value), []).append(len(tasks))
    return tasks, life


def plan_buffers(program: ProgramOp, alignment: int, in_place: bool = True) -> None:
    """Sets the offsets of the workspace buffers and the program's sizes."""
    tasks, life = _lifetimes(program)
    storages: dict[BufferOp, _Storage] = {}
    for time, task in enumerate(tasks):
        for value in task.outputs:
            root = root_of(value)
            if root.segment.data != "workspace" or root in storages:
                continue
            size = storage_bytes(root.tensor.type)
            # What writes a part of a piece of memory may not take another's place: the other parts come elsewhere.
            taken = _dying(task, time, size, life, storages) if in_place and value is root.tensor else None
            if taken is not None:
                taken.members.append(root)
                taken.last = max(taken.last, life[root][-1])
                storages[root] = taken
            else:
                storages[root] = _Storage(size, time, life[root][-1], [root])
    pieces = list({id(s): s for s in storages.values()}.values())
    packing = pack_intervals(
        [Interval(s.first, s.last + 1, -(-s.size // alignment) * alignment, alignment) for s in pieces]
    )
    for piece, offset in zip(pieces, packing.offsets, strict=True):
        for member in piece.members:
            member.offset = int_attr(offset)
    program.workspace_bytes = int_attr(packing.peak)
    program.lower_bound_bytes = int_attr(packing.lower_bound)


def _dying(
    task: DeviceTaskOp, time: int, size: int, life: dict[BufferOp, list[int]], storages: dict[BufferOp, _Storage]
) -> _Storage | None:
    """The storage of an operand that this task uses last and may overwrite."""
    allowed = task.info.data.get("in_place")
    if not isinstance(task, LaunchOp) or not isinstance(allowed, DenseArrayBase):
        return None
    for number in allowed.get_values():
        root = root_of(task.inputs[int(number)])
        storage = storages.get(root)
        if storage is None or storage.size != size or storage.last != time or life[root][-1] != time:
            continue
        if storage.members[-1] is not root:  # another result of this task took it
            continue
        if sum(root_of(v) is root for v in task.inputs) == 1:
            return storage
    return None


@dataclass(frozen=True)
class PlanBuffers(GePass):
    """Place every workspace buffer at an offset: lifetimes, alignment, views, in-place results; report peak and bound."""

    name = "plan-buffers"
    numerics = EXACT

    soc: str = field(default="Ascend310P3", metadata={"help": "chip whose alignment of tensors holds"})
    in_place: bool = field(default=True, metadata={"help": "let results overwrite operands that die"})
    report: bool = field(default=True, metadata={"help": "print peak and lower bound to stderr"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        alignment = load_soc(self.soc).alignment["tensor"]
        for program in op.ops:
            if isinstance(program, ProgramOp):
                plan_buffers(program, alignment, self.in_place)
                if self.report and program.workspace_bytes is not None and program.lower_bound_bytes is not None:
                    peak, bound = program.workspace_bytes.value.data, program.lower_bound_bytes.value.data
                    print(
                        f"plan-buffers: @{program.sym_name.data} peak {peak} bytes, lower bound {bound} bytes",
                        file=sys.stderr,
                    )
