"""Checking mode: finds accesses that would give other results on a chip that keeps less strict an order than ours.

The engine shows every instruction to a `Checker`, which reports `Finding`s and never changes numbers of a clean
kernel. It finds

* `out-of-range`: an operand outside its buffer or its memory; `alignment`: an address that a memory refuses;
* `pipe-race`: two pipes of a core on the same granule, not ordered by flags or barriers;
* `block-race`, `task-race`: the same bytes of global memory used by two blocks of a launch or two concurrent
  tasks, at least one of them writing;
* `unmatched-flag`, `event-id`: flags set and never taken, waited for and never set, or outside the chip's range;
* `invalid-lane`: content that nobody wrote, or padding of undefined value, on bytes declared valid;
* `read-only`: a write through an argument that the kernel declares as read.

Fresh memory (on-chip at the start of a block, workspace and outputs) is filled with NaN as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from graph_engine.target_ascend.chip.footprint import Footprint, IntArray, Intervals, merge
from graph_engine.target_ascend.chip.functional import build_step
from graph_engine.target_ascend.chip.memory import GRANULE, GlobalMemory, Memory
from graph_engine.target_ascend.chip.operands import Core, Counters, Locator, OutOfRange, Site, Step, locator
from graph_engine.target_ascend.chip.races import GranuleClocks, PipeClocks
from graph_engine.target_ascend.chip.validity import Mask, Plane, Rule, build_rule
from graph_engine.target_ascend.isa.model import SPECS, Instr, Kernel, Opcode, Operand, Pipe, Space
from graph_engine.target_ascend.om.program import Location, Segment, SourceNode
from graph_engine.target_ascend.soc.soc import Soc


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong. `instruction_index` counts the kernel's instructions in program text, from 0;
    it is -1 (and `mnemonic` empty) where no single instruction is to blame."""

    kind: str
    kernel: str
    instruction_index: int
    mnemonic: str
    buffer: str
    task: str
    source_nodes: tuple[SourceNode, ...]
    message: str

    def __str__(self) -> str:
        place = (
            f"{self.kernel}: instruction {self.instruction_index} ({self.mnemonic})" if self.mnemonic else self.kernel
        )
        parts = [place] if place else []
        parts += [f"buffer {self.buffer}"] if self.buffer else []
        parts += [f"task {self.task}"] if self.task else []
        if self.source_nodes:
            parts.append("from " + ", ".join(node.name for node in self.source_nodes))
        return f"{self.kind}: {self.message} [{'; '.join(parts)}]"


@dataclass(slots=True)
class _Access:
    """An operand of a checked instruction."""

    operand: Operand
    buffer: int
    name: str
    space: Space
    argument: int
    where: Locator | int
    buffer_offset: Locator | int
    buffer_bytes: int
    buffer_versions: int
    versions: int
    footprint: Footprint
    write: bool
    read: bool


@dataclass(slots=True)
class _Record:
    """An access to global memory during a block."""

    memory: int
    offset: int
    access: _Access
    number: int
    write: bool
    pipe: int
    time: int
    known: list[int]

    def intervals(self) -> tuple[IntArray, IntArray]:
        """Starts and ends of the bytes touched."""
        starts = self.access.footprint.starts + self.offset
        return starts, starts + self.access.footprint.run


@dataclass(slots=True)
class _Task:
    """A task for the happens-before relation: `ancestors` is a bit set of task numbers."""

    name: str
    number: int
    ancestors: int
    touched: dict[tuple[int, bool], Intervals] = field(default_factory=dict[tuple[int, bool], Intervals])


_Touched = dict[tuple[int, bool], Intervals]


class Checker:
    """Watches the launches of one engine. `findings` grows; equal ones are reported once.

    `strict_buffers`: what was written through one on-chip buffer and is read through another one at the same
    address counts as invalid (it finds overlapping placements); switch it off for kernels that alias on purpose.
    """

    def __init__(self, soc: Soc, gm: GlobalMemory, *, strict_buffers: bool = True) -> None:
        self.soc = soc
        self.gm = gm
        self.strict_buffers = strict_buffers
        self.findings: list[Finding] = []
        self._seen: set[tuple[Any, ...]] = set()
        self._planes: dict[int, Plane] = {}
        self._memories: dict[int, Memory] = {}
        self._clocks: dict[Space, GranuleClocks] = {}
        self._owners: dict[Space, npt.NDArray[np.int16]] = {}
        self._pipes = PipeClocks()
        self._records: list[_Record] = []
        self._blocks: list[tuple[list[_Record], _Touched]] = []
        self._tasks: dict[str, _Task] = {}
        self._order: list[_Task] = []
        self._task = _Task("", -1, 0)
        self._kernel: Kernel | None = None
        self._core: Core | None = None
        self._task_name = ""
        self._source_nodes: tuple[SourceNode, ...] = ()
        self._mnemonics: dict[tuple[str, int], str] = {}
        for (segment, _), memory in gm.segments.items():
            if segment in (Segment.WORKSPACE, Segment.OUTPUT) and not self._given(memory):
                memory.poison()

    # Global memory: what is valid, what must be.

    def _given(self, memory: Memory) -> bool:
        return any(m is memory and s in (Segment.INPUT, Segment.WEIGHT) for (s, _), m in self.gm.segments.items())

    def _plane(self, memory: Memory) -> Plane:
        plane = self._planes.get(id(memory))
        if plane is None:
            plane = self._planes[id(memory)] = Plane(memory, self._given(memory))
            self._memories[id(memory)] = memory
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
        self._report(
            "invalid-lane",
            f"{missing.size} of {count} bytes hold nothing valid, the first at byte {int(missing[0])}",
            buffer=buffer or f"{memory.name} + {offset}",
            task=task_name,
            source_nodes=source_nodes,
        )
        return False

    # Tasks: which ones are ordered.

    def begin_task(self, name: str, after: Iterable[str] | None = None) -> None:
        """The launches and accesses that follow belong to task `name`.

        `after` names the tasks that must have ended before it may start (their own predecessors are implied);
        None: every earlier task.
        """
        ancestors = 0
        for task in self._order if after is None else [self._tasks[other] for other in after]:
            ancestors |= task.ancestors | 1 << task.number
        self._task = _Task(name, len(self._order), ancestors)
        self._order.append(self._task)
        self._tasks[name] = self._task

    def host_access(
        self,
        task_name: str,
        reads: Iterable[tuple[Location, int]],
        writes: Iterable[tuple[Location, int]],
        source_nodes: tuple[SourceNode, ...] = (),
    ) -> None:
        """A task outside the cores (AI CPU, device copy) read and wrote whole ranges: valid ones, validly."""
        touched: _Touched = {}
        for write, ranges in ((False, reads), (True, writes)):
            grouped: dict[int, list[tuple[int, int]]] = {}
            for location, count in ranges:
                memory, offset = self.gm.bind(location)
                plane = self._plane(memory)
                if write:
                    plane.fill(offset, count, True)
                elif not plane.read_bytes(offset, count).all():
                    message = f"reads {count} bytes that are not all valid"
                    self._report(
                        "invalid-lane",
                        message,
                        buffer=f"{memory.name} + {offset}",
                        task=task_name,
                        source_nodes=source_nodes,
                    )
                grouped.setdefault(id(memory), []).append((offset, offset + count))
            for memory, pairs in grouped.items():
                starts, ends = np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])
                touched[memory, write] = merge([starts], [ends])
        self._task_name, self._source_nodes, self._kernel = task_name, source_nodes, None
        self._compare_tasks(touched, [])

    # The engine's calls.

    def begin_launch(
        self, kernel: Kernel, core: Core, block_dim: int, task_name: str, source_nodes: tuple[SourceNode, ...]
    ) -> None:
        """A kernel starts."""
        if task_name and self._task.name != task_name:
            self.begin_task(task_name)
        elif self._task.number < 0:
            self.begin_task(kernel.name)
        self._kernel, self._core = kernel, core
        self._task_name, self._source_nodes = task_name, source_nodes
        self._blocks = []

    def begin_block(self, block: int) -> None:
        """Fresh on-chip memories and clocks."""
        assert self._core is not None
        self._pipes = PipeClocks()
        self._records = []
        for space, memory in self._core.spaces.items():
            memory.poison()
            self._plane(memory).fill(0, memory.data.size, False)
            if space not in self._clocks:
                self._clocks[space] = GranuleClocks(len(memory.tags))
                self._owners[space] = np.full(len(memory.tags), -1, np.int16)
            else:
                self._clocks[space].clear()
                self._owners[space][...] = -1

    def end_block(self) -> None:
        """Flags left over, and races through global memory within the block."""
        for source, target, event, number in self._pipes.unmatched():
            message = f"flag {Pipe(source).name} -> {Pipe(target).name}, event {event}, is set and never waited for"
            self._report("unmatched-flag", message, number)
        touched: _Touched = {}
        for key in {(r.memory, r.write) for r in self._records}:
            spans = [r.intervals() for r in self._records if (r.memory, r.write) == key]
            touched[key] = merge([s for s, _ in spans], [e for _, e in spans])
        self._blocks.append((self._records, touched))
        for memory, write in touched:
            if write and (
                touched.get((memory, False)) or sum(r.memory == memory and r.write for r in self._records) > 1
            ):
                self._pipe_races_in_gm(memory)

    def end_launch(self) -> None:
        """Races between blocks, then with other tasks."""
        union: dict[tuple[int, bool], list[Intervals]] = {}
        for block, (records, touched) in enumerate(self._blocks):
            for (memory, write), intervals in touched.items():
                union.setdefault((memory, write), []).append(intervals)
                for other in range(block):
                    for other_write in (True, False) if write else (True,):
                        theirs = self._blocks[other][1].get((memory, other_write))
                        both = theirs.overlap(intervals) if theirs is not None else None
                        if both is not None:
                            what = f"{'writes' if write else 'reads'} bytes {both[0]} to {both[1]} of {self._memories[memory].name}"
                            message = (
                                f"block {block} {what}, which block {other} {'writes' if other_write else 'reads'}"
                            )
                            self._blame("block-race", message, records, memory, write, both)
        touched = {key: merge([i.starts for i in parts], [i.ends for i in parts]) for key, parts in union.items()}
        self._compare_tasks(touched, [record for records, _ in self._blocks for record in records])
        self._blocks, self._records = [], []

    def wrap(self, site: Site) -> Step | None:
        """The executor of an instruction with all checks around it."""
        instr, number = site.instr, site.number
        self._mnemonics[site.kernel, number] = SPECS[instr.opcode].mnemonic
        if SPECS[instr.opcode].group == "sync":
            return self._sync_step(instr, number)
        try:
            run = build_step(site)
        except OutOfRange:
            run = None
        accesses = [_describe(site, i) for i in range(len(instr.operands))]
        rule = build_rule(site)

        def checked(counters: Counters) -> None:
            places = self._locate(accesses, counters, number)
            if places is None or run is None:
                return
            self._order_access(accesses, places, instr, number)
            masks = self._masks(accesses, places)
            run(counters)
            self._carry(accesses, places, masks, rule, instr, counters, number)

        return checked

    # One instruction.

    def _locate(self, accesses: list[_Access], counters: Counters, number: int) -> list[tuple[Memory, int]] | None:
        """Memory and byte offset of every operand; None if one lies outside its memory."""
        assert self._core is not None and self._kernel is not None
        places: list[tuple[Memory, int]] = []
        inside = True
        for access in accesses:
            offset = access.where if isinstance(access.where, int) else access.where(counters)
            if access.space is Space.GM:
                memory, base = self._core.args[access.argument]
                offset += base
            else:
                memory = self._core.spaces[access.space]
            places.append((memory, offset))
            low, high = offset + access.footprint.low, offset + access.footprint.high
            relative = access.buffer_offset if isinstance(access.buffer_offset, int) else access.buffer_offset(counters)
            first, last = relative + access.footprint.low, relative + access.footprint.high
            if low < 0 or high > memory.size:
                inside = False
                message = f"touches bytes {low} to {high} of {memory.name}, which has {memory.size}"
                self._report("out-of-range", message, number, access.name)
            elif first < 0 or last > access.buffer_bytes or access.versions > access.buffer_versions:
                message = f"touches bytes {first} to {last} in {access.versions} versions of a buffer of {access.buffer_versions} x {access.buffer_bytes} bytes"
                self._report("out-of-range", message, number, access.name)
            self._check_alignment(access, offset, number)
            modes = self._kernel.arg_access
            if (
                access.write
                and access.space is Space.GM
                and access.argument < len(modes)
                and "w" not in modes[access.argument]
            ):
                self._report("read-only", "writes an argument that the kernel declares as read", number, access.name)
        return places if inside else None

    def _check_alignment(self, access: _Access, offset: int, number: int) -> None:
        unit = access.operand.dtype.bytes if access.space is Space.GM else self._alignment(access, number)
        start = offset + access.footprint.low
        if start % unit:
            self._report(
                "alignment", f"byte {start} of {access.space.name} is no multiple of {unit}", number, access.name
            )

    def _alignment(self, access: _Access, number: int) -> int:
        assert self._kernel is not None
        if access.write and self._mnemonics[self._kernel.name, number] in ("cadd", "cmax", "cmin"):
            return access.operand.dtype.bytes
        return self.soc.alignment.get(access.space.name.lower(), 1)

    def _order_access(
        self, accesses: list[_Access], places: list[tuple[Memory, int]], instr: Instr, number: int
    ) -> None:
        time = self._pipes.step(instr.pipe, number)
        for access, (memory, offset) in zip(accesses, places, strict=True):
            if access.space is Space.GM:
                self._memories[id(memory)] = memory
                known = self._pipes.now[instr.pipe].copy()
                for write in ([True] if access.write else []) + ([False] if access.read else []):
                    self._records.append(_Record(id(memory), offset, access, number, write, instr.pipe, time, known))
                continue
            where = access.footprint.granules(offset)
            for write in ([False] if access.read else []) + ([True] if access.write else []):
                race = self._clocks[access.space].access(self._pipes, instr.pipe, time, where, write)
                if race is not None:
                    kind, pipe, when, granule = race
                    other = self._pipes.history[pipe][when]
                    verb = "writes" if write else "reads"
                    message = (
                        f"{verb} byte {granule * GRANULE} of {access.space.name} on {instr.pipe.name}, not ordered after the "
                        f"{kind} of instruction {other} ({self._mnemonic(other)}) on {Pipe(pipe).name}"
                    )
                    self._report("pipe-race", message, number, access.name)

    def _masks(self, accesses: list[_Access], places: list[tuple[Memory, int]]) -> list[Mask]:
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

    def _own(self, access: _Access, offset: int, mask: Mask) -> Mask:
        owners = self._owners[access.space]
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
        accesses: list[_Access],
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
        adds = instr.opcode is Opcode.MMAD and (instr.first_of is None or any(counters[s] for s in instr.first_of))
        result = rule(counters, masks[1:], masks[0] if adds else None)
        if access.space is not Space.GM:
            where = access.footprint.granules(offset)
            owners = self._owners[access.space]
            changed = owners[where] != access.buffer
            if changed.any():
                valid = plane.valid.reshape(-1, GRANULE)
                valid[where] = np.where(changed[:, None], 0, valid[where])
                owners[where] = access.buffer
        if plane.write(access.operand, offset, result):
            count = result.size - int(np.count_nonzero(result))
            message = f"{count} of {result.size} lanes that it writes are not valid where the tensor must be"
            self._report("invalid-lane", message, number, access.name)

    def _sync_step(self, instr: Instr, number: int) -> Step:
        def sync(counters: Counters) -> None:
            values = [p.at(counters) for p in instr.params]
            if instr.opcode is Opcode.BARRIER:
                self._pipes.barrier(values[0])
                return
            source, target, event = values
            if instr.event_rotate is not None:
                event += instr.event_rotate.index.at(counters) % instr.event_rotate.count
            name = f"flag {Pipe(source).name} -> {Pipe(target).name}, event {event}"
            if not 0 <= event < self.soc.sync.event_ids:
                self._report("event-id", f"{name}: this chip has events 0 to {self.soc.sync.event_ids - 1}", number)
            if instr.opcode is Opcode.SET_FLAG:
                self._pipes.set(source, target, event, number)
            elif not self._pipes.wait(source, target, event):
                self._report("unmatched-flag", f"{name}, is waited for and was not set before", number)

        return sync

    # Global memory: comparisons after the fact.

    def _pipe_races_in_gm(self, memory: int) -> None:
        records = [r for r in self._records if r.memory == memory]
        for i, later in enumerate(records):
            for earlier in records[:i]:
                if earlier.pipe == later.pipe or not (earlier.write or later.write):
                    continue
                if later.known[earlier.pipe] >= earlier.time:
                    continue
                both = merge(*([x] for x in later.intervals())).overlap(merge(*([x] for x in earlier.intervals())))
                if both is not None:
                    message = (
                        f"{'writes' if later.write else 'reads'} byte {both[0]} of {self._memories[memory].name} on "
                        f"{Pipe(later.pipe).name}, not ordered after the {'write' if earlier.write else 'read'} of "
                        f"instruction {earlier.number} ({self._mnemonic(earlier.number)}) on {Pipe(earlier.pipe).name}"
                    )
                    self._report("pipe-race", message, later.number, later.access.name)

    def _compare_tasks(self, touched: _Touched, records: list[_Record]) -> None:
        current = self._task
        for other in self._order:
            if other is current or current.ancestors >> other.number & 1:
                continue
            for (memory, write), intervals in touched.items():
                for other_write in (True, False) if write else (True,):
                    theirs = other.touched.get((memory, other_write))
                    both = theirs.overlap(intervals) if theirs is not None else None
                    if both is not None:
                        what = f"{'writes' if write else 'reads'} bytes {both[0]} to {both[1]} of {self._memories[memory].name}"
                        message = (
                            f"{what}, which the concurrent task {other.name} {'writes' if other_write else 'reads'}"
                        )
                        self._blame("task-race", message, records, memory, write, both)
        for key, intervals in touched.items():
            known = current.touched.get(key)
            parts = [intervals] if known is None else [known, intervals]
            current.touched[key] = merge([p.starts for p in parts], [p.ends for p in parts])

    def _blame(
        self, kind: str, message: str, records: list[_Record], memory: int, write: bool, both: tuple[int, int]
    ) -> None:
        """Reports a finding on the first instruction that touches the bytes."""
        target = Intervals(np.array([both[0]]), np.array([both[1]]))
        for record in records:
            same = record.memory == memory and record.write == write
            if same and merge(*([x] for x in record.intervals())).overlap(target) is not None:
                self._report(kind, message, record.number, record.access.name)
                return
        self._report(kind, message, buffer=self._memories[memory].name)

    def _mnemonic(self, number: int) -> str:
        return self._mnemonics.get((self._kernel.name if self._kernel else "", number), "")

    def _report(
        self,
        kind: str,
        message: str,
        number: int = -1,
        buffer: str = "",
        *,
        task: str | None = None,
        source_nodes: tuple[SourceNode, ...] | None = None,
    ) -> None:
        name = self._kernel.name if self._kernel is not None and number >= 0 else ""
        task = self._task_name if task is None else task
        key = (kind, name, number, buffer, task)
        if key in self._seen:
            return
        self._seen.add(key)
        nodes = self._source_nodes if source_nodes is None else source_nodes
        self.findings.append(Finding(kind, name, number, self._mnemonic(number), buffer, task, nodes, message))


def _describe(site: Site, index: int) -> _Access:
    operand = site.instr.operands[index]
    buffer = site.buffers[operand.buffer]
    on_chip = buffer.space is not Space.GM
    accumulates = site.instr.opcode is Opcode.MMAD and site.instr.first_of != ()
    return _Access(
        operand,
        operand.buffer,
        buffer.name,
        buffer.space,
        -1 if on_chip else buffer.address,
        locator(operand, buffer.address if on_chip else 0, buffer.bytes),
        locator(operand, 0, 0),
        buffer.bytes,
        buffer.versions,
        operand.rotate.count if operand.rotate is not None else 1,
        Footprint(operand),
        write=index == 0,
        read=index > 0 or accumulates,
    )
