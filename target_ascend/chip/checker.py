"""Checking mode: finds accesses that would give other results on a chip that keeps less strict an order than ours.

The engine shows every instruction to a `Checker`, which reports `Finding`s and never changes numbers of a clean
kernel. It finds

* `out-of-range`: an operand outside its buffer or its memory; `alignment`: an address that a memory refuses;
* `pipe-race`: two pipes of a core, or of the cores of a team, on the same granule, not ordered by flags or barriers;
* `block-race`, `task-race`: the same bytes of global memory used by two blocks of a launch or two concurrent
  tasks, at least one of them writing;
* `self-overlap`: an instruction that overwrites elements of a source before it comes to them;
* `unmatched-flag`, `event-id`: flags set and never taken, waited for and never set, or outside the chip's range;
* `flag-overflow`: a cross-core flag raised more often than it counts before it is waited for;
* `invalid-lane`: content that nobody wrote, or padding of undefined value, on bytes declared valid;
* `read-only`: a write through an argument that the kernel declares as read;
* `padding`: padding lanes of a task's result that are not the zeros or finite numbers that its format promises.

Fresh memory (on-chip at the start of a block, workspace and outputs) is filled with NaN as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from graph_engine.target_ascend.chip.accesses import Access, describe, in_step
from graph_engine.target_ascend.chip.findings import Finding, FindingLog
from graph_engine.target_ascend.chip.functional import build_step
from graph_engine.target_ascend.chip.global_order import GlobalOrder, Record
from graph_engine.target_ascend.chip.memory import GRANULE, GlobalMemory, Memory
from graph_engine.target_ascend.chip.operands import Core, Counters, OutOfRange, Site, Step
from graph_engine.target_ascend.chip.races import PIPES, GranuleClocks, PipeClocks, pipe_name
from graph_engine.target_ascend.chip.rounding import lanes_from_brain
from graph_engine.target_ascend.chip.validity import Mask, Plane, Rule, build_rule
from graph_engine.target_ascend.isa.model import MOST_RAISED, DType, Instr, Kernel, Opcode, Part, Space
from graph_engine.target_ascend.isa.specs import SPECS
from graph_engine.target_ascend.om.program import Location, Segment, SourceNode
from graph_engine.target_ascend.soc.soc import Soc


@dataclass(slots=True)
class _State:
    """A core's memories: who touched which granule when, and the buffer that a granule was last written as."""

    core: Core
    clocks: dict[Space, GranuleClocks]
    owners: dict[Space, npt.NDArray[np.int16]]

    @staticmethod
    def of(core: Core) -> _State:
        """Of a core that has done nothing."""
        granules = {space: len(memory.tags) for space, memory in core.spaces.items()}
        clocks = {space: GranuleClocks(count, core.part) for space, count in granules.items()}
        return _State(core, clocks, {space: np.full(count, -1, np.int16) for space, count in granules.items()})


class Checker:
    """Watches the launches of one engine. `findings` grows; equal ones are reported once.

    `strict_buffers`: what was written through one on-chip buffer and is read through another one at the same
    address counts as invalid (it finds overlapping placements); switch it off for kernels that alias on purpose.
    """

    def __init__(self, soc: Soc, gm: GlobalMemory, *, strict_buffers: bool = True) -> None:
        self.soc = soc
        self.gm = gm
        self.strict_buffers = strict_buffers
        self._log = FindingLog()
        self._order = GlobalOrder(self._log)
        self._planes: dict[int, Plane] = {}
        self._states: dict[Part, _State] = {}
        self._cores: Sequence[Core] = ()
        self._pipes = PipeClocks()
        self._kernel: Kernel | None = None
        for (segment, _), memory in gm.segments.items():
            if segment in (Segment.WORKSPACE, Segment.OUTPUT) and not self._given(memory):
                memory.poison()

    @property
    def findings(self) -> list[Finding]:
        """What was found so far, in the order in which it was found."""
        return self._log.findings

    # Global memory: what is valid, what must be.

    def _given(self, memory: Memory) -> bool:
        return any(m is memory and s in (Segment.INPUT, Segment.WEIGHT) for (s, _), m in self.gm.segments.items())

    def _plane(self, memory: Memory) -> Plane:
        plane = self._planes.get(id(memory))
        if plane is None:
            plane = self._planes[id(memory)] = Plane(memory, self._given(memory))
        return plane

    def set_valid(self, location: Location, count: int, mask: bool | npt.NDArray[Any] = True) -> None:
        """States what a range of `count` bytes holds already: valid, not, or a mask with one entry a byte."""
        memory, offset = self.gm.bind(location)
        self._plane(memory).fill(offset, count, mask)

    def declare_valid(self, location: Location, count: int, mask: npt.NDArray[Any] | None = None) -> None:
        """From now on whatever is written to these bytes must be valid (`mask`: one entry a byte; None: all)."""
        memory, offset = self.gm.bind(location)
        self._plane(memory).declare(offset, count, True if mask is None else mask)

    def fresh(self, location: Location, count: int) -> None:
        """A new tensor begins here: its bytes are invalid, hold NaN (whole granules), and nothing is declared."""
        memory, offset = self.gm.bind(location)
        plane = self._plane(memory)
        plane.fill(offset, count, False)
        plane.declare(offset, count, False)
        first, last = -(-offset // GRANULE) * GRANULE, (offset + count) // GRANULE * GRANULE
        if first < last:
            memory.poison(first, last - first)

    def check_output(
        self,
        location: Location,
        count: int,
        mask: npt.NDArray[Any] | None = None,
        *,
        task_name: str = "",
        buffer: str = "",
        source_nodes: tuple[SourceNode, ...] = (),
    ) -> bool:
        """Reports bytes of the range that must be valid (`mask`, else all) and are not. True if all are."""
        self.declare_valid(location, count, mask)
        memory, offset = self.gm.bind(location)
        missing = self._plane(memory).missing(offset, count)
        if not missing.size:
            return True
        self._log.context("", task_name, source_nodes)
        message = f"{missing.size} of {count} bytes hold nothing valid, the first at byte {int(missing[0])}"
        self._log.report("invalid-lane", message, buffer=buffer or f"{memory.name} + {offset}")
        return False

    def check_padding(
        self,
        location: Location,
        dtype: DType,
        padding: Mask,
        promise: str,
        *,
        task_name: str = "",
        buffer: str = "",
        source_nodes: tuple[SourceNode, ...] = (),
    ) -> None:
        """Reports padding lanes of a stored tensor (`padding`: one flag an element) that are not "zero", or not "finite"."""
        lanes = self.gm.read(location, padding.size * dtype.bytes).view(dtype.numpy)[padding]
        lanes = lanes_from_brain(lanes) if dtype is DType.BF16 else lanes
        wrong = lanes != 0
        if promise == "finite":
            wrong = ~np.isfinite(lanes) if lanes.dtype.kind == "f" else np.zeros_like(wrong)
        if wrong.any():
            self._log.context("", task_name, source_nodes)
            message = (
                f"{np.count_nonzero(wrong)} of {lanes.size} padding lanes are not {promise}, as the format promises"
            )
            self._log.report("padding", message, buffer=buffer or str(location))

    # Tasks: which ones are ordered.

    def begin_task(self, name: str, after: Iterable[str] | None = None) -> None:
        """The launches and accesses that follow belong to task `name`.

        `after` names the tasks that must have ended before it may start (their own predecessors are implied);
        None: every earlier task.
        """
        self._order.begin_task(name, after)

    def host_access(
        self,
        task_name: str,
        reads: Iterable[tuple[Location, int]],
        writes: Iterable[tuple[Location, int]],
        source_nodes: tuple[SourceNode, ...] = (),
    ) -> None:
        """A task outside the cores (AI CPU, device copy) read and wrote whole ranges: valid ones, validly."""
        self._log.context("", task_name, source_nodes)
        ranges: list[tuple[Memory, int, int, bool]] = []
        for write, places in ((False, reads), (True, writes)):
            for location, count in places:
                memory, offset = self.gm.bind(location)
                plane = self._plane(memory)
                if write:
                    plane.fill(offset, count, True)
                elif not plane.read_bytes(offset, count).all():
                    message = f"reads {count} bytes that are not all valid"
                    self._log.report("invalid-lane", message, buffer=f"{memory.name} + {offset}")
                ranges.append((memory, offset, offset + count, write))
        if self._order.task is None:
            self.begin_task(task_name)
        self._order.host(ranges)

    # The engine's calls.

    def begin_launch(
        self, kernel: Kernel, cores: Sequence[Core], task_name: str, source_nodes: tuple[SourceNode, ...]
    ) -> None:
        """A kernel starts."""
        if self._order.task is None or (task_name and self._order.task != task_name):
            self.begin_task(task_name or kernel.name)
        self._kernel, self._cores = kernel, cores
        self._log.context(kernel.name, task_name, source_nodes)
        self._order.begin_launch()

    def begin_block(self, block: int) -> None:
        """Fresh on-chip memories and clocks."""
        self._pipes = PipeClocks([core.part for core in self._cores])
        self._order.begin_block()
        for core in self._cores:
            known = self._states.get(core.part)
            if known is None:
                known = self._states[core.part] = _State.of(core)
            for space, memory in core.spaces.items():
                memory.poison()
                self._plane(memory).fill(0, memory.data.size, False)
                known.clocks[space].clear()
                known.owners[space][...] = -1

    def end_block(self) -> None:
        """Flags left over, and races through global memory within the block."""
        for source, target, event, number in self._pipes.unmatched():
            message = f"flag {pipe_name(source)} -> {pipe_name(target)}, event {event}, is set and never waited for"
            self._log.report("unmatched-flag", message, number)
        for flag, (source, target), number in self._pipes.never_taken():
            message = f"cross-core flag {flag} is raised by {source.name} and never waited for by {target.name}"
            self._log.report("unmatched-flag", message, number)
        self._order.end_block()

    def end_launch(self) -> None:
        """Races between blocks and with other tasks."""
        self._order.end_launch()

    def wrap(self, site: Site) -> Step | None:
        """The executor of an instruction with all checks around it."""
        instr, number = site.instr, site.number
        self._log.mnemonics[site.kernel, number] = SPECS[instr.opcode].mnemonic
        if SPECS[instr.opcode].group == "sync":
            return self._sync_step(instr, number, site.core.part)
        if SPECS[instr.opcode].group == "cross":
            return self._cross_step(instr, number, site.core.part)
        try:
            run = build_step(site)
        except OutOfRange:
            run = None
        accesses = [describe(site, i) for i in range(len(instr.operands))]
        rule = build_rule(site)

        def checked(counters: Counters) -> None:
            places = self._locate(accesses, counters, number)
            if places is None or run is None:
                return
            self._check_overlap(accesses, places, number)
            self._order_access(accesses, places, instr, number)
            masks = self._masks(accesses, places)
            if not accesses[0].write and not all(mask.all() for mask in masks):
                self._log.report("invalid-lane", "takes an address from bytes that hold nothing valid", number)
            run(counters)
            if accesses[0].write:
                self._carry(accesses, places, masks, rule, instr, counters, number)

        return checked

    # One instruction.

    def _locate(self, accesses: list[Access], counters: Counters, number: int) -> list[tuple[Memory, int]] | None:
        """Memory and byte offset of every operand; None if one lies outside its memory."""
        assert self._kernel is not None
        places: list[tuple[Memory, int]] = []
        inside = True
        for access in accesses:
            offset = access.where if isinstance(access.where, int) else access.where(counters)
            if access.space is Space.GM:
                memory, base = access.core.args[access.argument]
                offset += base
            else:
                memory = access.core.spaces[access.space]
            places.append((memory, offset))
            low, high = offset + access.footprint.low, offset + access.footprint.high
            relative = access.buffer_offset if isinstance(access.buffer_offset, int) else access.buffer_offset(counters)
            first, last = relative + access.footprint.low, relative + access.footprint.high
            if low < 0 or high > memory.size:
                inside = False
                message = f"touches bytes {low} to {high} of {memory.name}, which has {memory.size}"
                self._log.report("out-of-range", message, number, access.name)
            elif first < 0 or last > access.buffer_bytes or access.versions > access.buffer_versions:
                message = f"touches bytes {first} to {last} in {access.versions} versions of a buffer of {access.buffer_versions} x {access.buffer_bytes} bytes"
                self._log.report("out-of-range", message, number, access.name)
            self._check_alignment(access, offset, number)
            modes = self._kernel.arg_access
            if (
                access.write
                and access.space is Space.GM
                and access.argument < len(modes)
                and "w" not in modes[access.argument]
            ):
                self._log.report(
                    "read-only", "writes an argument that the kernel declares as read", number, access.name
                )
        return places if inside else None

    def _check_alignment(self, access: Access, offset: int, number: int) -> None:
        unit = access.operand.dtype.bytes if access.space is Space.GM else self._alignment(access, number)
        start = offset + access.footprint.low
        if start % unit:
            self._log.report(
                "alignment", f"byte {start} of {access.space.name} is no multiple of {unit}", number, access.name
            )

    def _alignment(self, access: Access, number: int) -> int:
        assert self._kernel is not None
        mnemonic = self._log.mnemonic(number)
        if mnemonic == "load_scalar" or (access.write and mnemonic in ("cadd", "cmax", "cmin")):
            return access.operand.dtype.bytes
        return self.soc.alignment.get(access.space.name.lower(), 1)

    def _check_overlap(self, accesses: list[Access], places: list[tuple[Memory, int]], number: int) -> None:
        """A result on a source's bytes that are read after it was written: an instruction goes on from front to back."""
        target, (memory, offset) = accesses[0], places[0]
        if not target.write:
            return
        low, high = offset + target.footprint.low, offset + target.footprint.high
        for access, (other, at) in zip(accesses[1:], places[1:], strict=True):
            if other is not memory or at + access.footprint.low >= high or at + access.footprint.high <= low:
                continue
            if at == offset and in_step(target.operand, access.operand):
                continue
            mine, theirs = target.footprint.intervals(offset), access.footprint.intervals(at)
            if (both := mine.overlap(theirs)) is not None:
                message = f"writes byte {both[0]} of {memory.name} and reads it as another element of {access.name}"
                self._log.report("self-overlap", message, number, target.name)

    def _order_access(
        self, accesses: list[Access], places: list[tuple[Memory, int]], instr: Instr, number: int
    ) -> None:
        pipe = accesses[0].core.part * PIPES + instr.pipe
        time = self._pipes.step(pipe, number)
        for access, (memory, offset) in zip(accesses, places, strict=True):
            if access.space is Space.GM:
                known = self._pipes.now[pipe].copy()
                for write in ([True] if access.write else []) + ([False] if access.read else []):
                    footprint, name = access.footprint, access.name
                    self._order.record(Record(memory, offset, footprint, name, number, write, pipe, time, known))
                continue
            where = access.footprint.granules(offset)
            for write in ([False] if access.read else []) + ([True] if access.write else []):
                clocks = self._states[access.core.part].clocks[access.space]
                race = clocks.access(self._pipes, pipe, time, where, write)
                if race is not None:
                    kind, whose, when, granule = race
                    other = self._pipes.history[whose][when]
                    verb = "writes" if write else "reads"
                    message = (
                        f"{verb} byte {granule * GRANULE} of {access.space.name} on {pipe_name(pipe)}, not ordered after the "
                        f"{kind} of instruction {other} ({self._log.mnemonic(other)}) on {pipe_name(whose)}"
                    )
                    self._log.report("pipe-race", message, number, access.name)

    def _masks(self, accesses: list[Access], places: list[tuple[Memory, int]]) -> list[Mask]:
        """Validity of every operand that is read (the destination's first place is kept as well)."""
        masks: list[Mask] = []
        for access, (memory, offset) in zip(accesses, places, strict=True):
            if not access.read:
                masks.append(np.broadcast_to(np.True_, access.operand.sizes))
                continue
            mask = self._plane(memory).read(access.operand, offset)
            if access.space is not Space.GM and self.strict_buffers:
                mask = self._own(access, offset, mask)
            masks.append(mask)
        return masks

    def _own(self, access: Access, offset: int, mask: Mask) -> Mask:
        owners = self._states[access.core.part].owners[access.space]
        foreign = owners[access.footprint.granules(offset)] != access.buffer
        if not foreign.any():
            return mask
        width = access.operand.dtype.bytes
        grid = np.full(access.operand.sizes, offset, np.int64)
        for axis, stride in enumerate(access.operand.strides):
            shape = [1] * grid.ndim
            shape[axis] = -1
            grid += (np.arange(grid.shape[axis]) * (stride * width)).reshape(shape)
        return mask & (owners[grid // GRANULE] == access.buffer)

    def _carry(
        self,
        accesses: list[Access],
        places: list[tuple[Memory, int]],
        masks: list[Mask],
        rule: Rule,
        instr: Instr,
        counters: Counters,
        number: int,
    ) -> None:
        """Writes the result's validity and reports where it falls short of what is declared."""
        access, (memory, offset) = accesses[0], places[0]
        plane = self._plane(memory)
        adds = SPECS[instr.opcode].group == "cube" and (
            instr.first_of is None or any(counters[s] for s in instr.first_of)
        )
        result = rule(counters, masks[1:], masks[0] if adds else None)
        if access.space is not Space.GM:
            where = access.footprint.granules(offset)
            owners = self._states[access.core.part].owners[access.space]
            changed = owners[where] != access.buffer
            if changed.any():
                valid = plane.valid.reshape(-1, GRANULE)
                valid[where] = np.where(changed[:, None], 0, valid[where])
                owners[where] = access.buffer
        if plane.write(access.operand, offset, result):
            count = result.size - int(np.count_nonzero(result))
            message = f"{count} of {result.size} lanes that it writes are not valid where the tensor must be"
            self._log.report("invalid-lane", message, number, access.name)

    def _cross_step(self, instr: Instr, number: int, part: Part) -> Step:
        """What is done when a cross-core flag has been raised, or taken down."""

        def cross(counters: Counters) -> None:
            (flag,) = (p.at(counters) for p in instr.params)
            if not 0 <= flag < self.soc.sync.cross_flags:
                message = f"this chip has cross-core flags 0 to {self.soc.sync.cross_flags - 1}, not {flag}"
                self._log.report("event-id", message, number)
            if instr.opcode is Opcode.BLOCK_WAIT:
                self._pipes.block_wait(part, flag)
            elif (up := self._pipes.block_set(part, part * PIPES + instr.pipe, flag, number)) > MOST_RAISED:
                message = f"cross-core flag {flag} is up {up} times, it counts to {MOST_RAISED}"
                self._log.report("flag-overflow", message, number)

        return cross

    def _sync_step(self, instr: Instr, number: int, part: Part) -> Step:
        first = part * PIPES

        def sync(counters: Counters) -> None:
            values = [p.at(counters) for p in instr.params]
            if instr.opcode is Opcode.BARRIER:
                self._pipes.barrier(values[0], part)
                return
            source, target, event = values
            if instr.event_rotate is not None:
                event += instr.event_rotate.index.at(counters) % instr.event_rotate.count
            name = f"flag {pipe_name(first + source)} -> {pipe_name(first + target)}, event {event}"
            if not 0 <= event < self.soc.sync.event_ids:
                self._log.report("event-id", f"{name}: this chip has events 0 to {self.soc.sync.event_ids - 1}", number)
            if instr.opcode is Opcode.SET_FLAG:
                self._pipes.set(first + source, first + target, event, number)
            elif not self._pipes.wait(first + source, first + target, event):
                self._log.report("unmatched-flag", f"{name}, is waited for and was not set before", number)

        return sync
