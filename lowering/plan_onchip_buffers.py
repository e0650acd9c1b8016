"""Place every on-chip buffer at a byte address of its memory space.

    ascend.alloc "x_l1" versions(2) : memref<...>   ->   ascend.alloc "x_l1" versions(2) address(0) bytes(65536) : ...

Slots that no `ascend.blocks` uses together may overlap, since a core runs one of them. The packer is the one that
plans device memory. In UB the sources of one instruction are kept in different bank groups (`bank_groups.py`), as far as
there is room.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from graph_engine.dialects.ascend.affine import i64_attr
from graph_engine.dialects.ascend.kernel import KernelOp
from graph_engine.dialects.ascend.memory import AllocOp
from graph_engine.dialects.ascend.spaces import space_of
from graph_engine.lowering.bank_groups import around, bank_sides
from graph_engine.lowering.kernels.loops import allocs_by_slot, slot_bytes
from graph_engine.planning.interval_packing import Interval, pack_intervals
from graph_engine.target_ascend.isa.model import Space
from graph_engine.target_ascend.soc.soc import Soc, load_soc
from graph_engine.transforms.pass_base import EXACT, GePass, OperatorError


def plan_onchip_buffers(kernel: KernelOp, soc: Soc) -> None:
    """Sets `address` and `bytes` on every alloc. Raises OperatorError where a space is too small."""
    regions: dict[str, list[int]] = {}
    allocs: dict[str, list[AllocOp]] = {}
    for number, region in enumerate(kernel.body.block.ops):
        for slot, ops in allocs_by_slot(region).items():
            if space_of(ops[0].memory) is Space.GM:  # an argument
                continue
            regions.setdefault(slot, []).append(number)
            allocs.setdefault(slot, []).extend(ops)
    spaces: dict[Space, list[str]] = {}
    for slot, ops in allocs.items():
        spaces.setdefault(space_of(ops[0].memory), []).append(slot)
    for space, slots in spaces.items():
        key = space.name.lower()
        align = soc.alignment.get(key, 32)
        sizes = {slot: slot_bytes(allocs[slot], align) for slot in slots}
        lives = {slot: (regions[slot][0], regions[slot][-1] + 1, allocs[slot][0].version_count) for slot in slots}
        sides = bank_sides(kernel, soc) if space is Space.UB else {}
        placed = _placed(sizes, lives, align, sides, around(soc))
        if sides and placed.peak > soc.buffers[key]:
            placed = _placed(sizes, lives, align, {}, around(soc))
        if placed.peak > soc.buffers[key]:
            message = f"needs {placed.peak} bytes of {space.name}, {soc.name} has {soc.buffers[key]}"
            raise OperatorError(kernel, f"kernel {kernel.sym_name.data} {message}")
        for slot, (address, size) in placed.slots.items():
            for op in allocs[slot]:
                op.address = i64_attr(address)
                op.bytes = i64_attr(size)


@dataclass(frozen=True)
class _Placed:
    """(address, bytes of a version) of the slots of a space, and the bytes that they take."""

    slots: dict[str, tuple[int, int]]
    peak: int


def _placed(
    sizes: dict[str, int], lives: dict[str, tuple[int, int, int]], align: int, sides: dict[str, int], groups: int
) -> _Placed:
    """Slots that live from, to, in so many versions; those of `sides` so far beyond a multiple of `groups` bytes."""
    sizes = {slot: -(-size // groups) * groups if slot in sides else size for slot, size in sizes.items()}
    packing = pack_intervals(
        [
            Interval(begin, end, sizes[slot] * count + sides.get(slot, 0), groups if slot in sides else align)
            for slot, (begin, end, count) in lives.items()
        ]
    )
    found = zip(sizes.items(), packing.offsets, strict=True)
    return _Placed({slot: (offset + sides.get(slot, 0), size) for (slot, size), offset in found}, packing.peak)


@dataclass(frozen=True)
class PlanOnchipBuffers(GePass):
    """Place every on-chip buffer at a byte address of its memory space."""

    name = "plan-onchip-buffers"
    numerics = EXACT

    soc: str = field(default="Ascend310P3", metadata={"help": "chip whose buffer sizes and alignments hold"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        chip = load_soc(self.soc)
        for kernel in op.ops:
            if isinstance(kernel, KernelOp):
                plan_onchip_buffers(kernel, chip)
