"""Give on-chip buffers two versions, so that the next load overlaps the current compute.

    ascend.alloc "x_l1" : memref<...>   ->   ascend.alloc "x_l1" versions(2) : memref<...>

`phase` lets allocs that follow one another in straight code alternate as well. What cores of a team exchange takes its
versions strictly in turn, by `turns` of the loops around where it must. Another slot qualifies if one core refills it and
more than one pipe touches it. Smaller slots come first; a slot that would not fit its space twice stays single.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from graph_engine.dialects.ascend.affine import i64_attr
from graph_engine.dialects.ascend.kernel import KernelOp
from graph_engine.dialects.ascend.memory import AllocOp
from graph_engine.dialects.ascend.spaces import space_of
from graph_engine.dialects.ge.interning import ints_attr
from graph_engine.lowering.kernels.loops import (
    allocs_by_slot,
    contents_before,
    enclosing_loops,
    in_turn,
    instructions_of,
    slot_bytes,
)
from graph_engine.target_ascend.isa.model import Space
from graph_engine.target_ascend.soc.soc import Soc, load_soc
from graph_engine.transforms.pass_base import EXACT, GePass


def _refilled(allocs: list[AllocOp]) -> bool:
    pipes = {instruction.pipe for op in allocs for instruction in instructions_of(op)}
    return len(pipes) > 1 and (len(allocs) > 1 or any(enclosing_loops(op) for op in allocs))


def _double(allocs: list[AllocOp]) -> None:
    """Two versions; the contents of one core alternate, starting anew in every `ascend.blocks`.

    A loop that fills a slot an even number of times leaves it at the version where it began.
    """
    phase, before = 0, allocs[0]
    for op in allocs:
        if op is not before:
            around = enclosing_loops(op)
            runs = prod(loop.trip.value.data for loop in enclosing_loops(before) if loop not in around)
            phase = (phase + runs) % 2
        before = op
        op.versions = i64_attr(2)
        if phase:
            op.phase = i64_attr(1)


def _take_turns(allocs: list[AllocOp]) -> None:
    """Two versions; of two contents that follow one another on a core none has the other's, in whatever loops they stand."""
    for op in allocs:
        op.versions = i64_attr(2)
        before = contents_before(op, allocs)
        if before.const % 2:
            op.phase = i64_attr(1)
        if not in_turn(op, allocs):
            turns = (before.terms.get(loop.body.block.args[0], 0) % 2 for loop in enclosing_loops(op))
            op.properties["turns"] = ints_attr(tuple(turns))


def double_buffer(kernel: KernelOp, soc: Soc) -> None:
    """Sets `versions` on the allocs of every slot that qualifies and fits."""
    slots = allocs_by_slot(kernel)
    by_core = [allocs_by_slot(region) for region in kernel.body.block.ops]
    spaces = {slot: space_of(allocs[0].memory) for slot, allocs in slots.items()}
    sizes = {
        slot: slot_bytes(allocs, soc.alignment.get(spaces[slot].name.lower(), 32)) for slot, allocs in slots.items()
    }
    used: dict[Space, int] = {}
    for slot, space in spaces.items():
        used[space] = used.get(space, 0) + sizes[slot]
    for slot in sorted(slots, key=lambda s: sizes[s]):
        space = spaces[slot]
        contents = [region[slot] for region in by_core if slot in region]
        if space is Space.GM:  # filled on one core and read on others, with flags that count
            if any(len(allocs) > 1 or any(map(enclosing_loops, allocs)) for allocs in contents):
                for allocs in contents:
                    _take_turns(allocs)
            continue
        if any(map(_refilled, contents)) and used[space] + sizes[slot] <= soc.buffers[space.name.lower()]:
            used[space] += sizes[slot]
            for allocs in contents:
                _double(allocs)


@dataclass(frozen=True)
class DoubleBuffer(GePass):
    """Give on-chip buffers two versions, so that the next load overlaps the current compute."""

    name = "double-buffer"
    numerics = EXACT

    soc: str = field(default="Ascend310P3", metadata={"help": "chip whose buffer sizes bound the doubling"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        chip = load_soc(self.soc)
        for kernel in op.ops:
            if isinstance(kernel, KernelOp):
                double_buffer(kernel, chip)
