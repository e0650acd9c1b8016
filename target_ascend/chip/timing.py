"""The timing engine: instructions in queues, one per pipe and core, ordered by flags; whole cycles.

A kernel becomes steps (`steps.py`) of known cycles (`costs.py`), and the queues of a core (`queues.py`) tell when each ends.
Device memory goes through the L2 (`l2.L2Cache`), whose state lives on from launch to launch; the blocks of a launch
access it in step.

Time depends on the kernel, the addresses and the order of launches only, never on data. With the same access
order every start time is a maximum of sums of costs, so time never falls when a cost rises.
`docs/timing.md` explains the model with examples to recompute by hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TypeAlias

from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.chip.accounts import BlockAccount, TaskAccount, explain_team, vector_name
from graph_engine.target_ascend.chip.costs import (
    cores_of,
    cycles_of,
    ddr_load,
    gm_cycles,
    microseconds,
    move_cycles,
    task_overhead_cycles,
)
from graph_engine.target_ascend.chip.l2 import PAGE_BITS, PAGE_BYTES, L2Cache
from graph_engine.target_ascend.chip.queues import Span, busy_intervals, run_groups, stuck
from graph_engine.target_ascend.chip.steps import (
    BlockGroup,
    GmAccess,
    KernelSteps,
    Move,
    flatten_kernel,
)
from graph_engine.target_ascend.chip.teams import Deadlock
from graph_engine.target_ascend.isa.model import Kernel, Part, Pipe
from graph_engine.target_ascend.om.program import AicpuCall, Copy, Launch, Location, TensorDesc
from graph_engine.target_ascend.soc.soc import Soc

PreparedSteps: TypeAlias = dict[tuple[int, int], tuple[Kernel, KernelSteps]]
"""Steps of kernels, with what they were timed at, by the kernel's identity and its number of blocks."""

PICKS = frozenset(f"ge.{name}" for name in ("gather", "gather_elements", "gather_nd", "slice", "slice_at", "compress"))
"""Operators that copy some elements of their first operand, by indices, bounds or a mask, and read no others of it."""


@dataclass(frozen=True, slots=True)
class TaskTiming:
    """What one launch costs.

    `cycles` = `overhead_cycles` + `kernel_cycles` (of the slowest core); `us` the same in microseconds.
    `engine_cycles`: busy cycles by pipe, summed over all blocks; S counts one for every instruction issued.
    `block_cycles`: by block. `bytes_read`/`bytes_written`: elements moved from and to device memory by all
    blocks; `ddr_bytes_read`/`ddr_bytes_written`: what the L2 fetched and wrote back for it, in whole lines.
    `busy`: (pipe, start, end) in cycles from the start of the kernel, of block `timeline_block`, and `account`, where
    asked for. Of a mixed kernel `cores` counts teams, pipes are those of the Cube cores, and `vector_cycles` and
    `vector_busy` tell the same of the Vector cores, of a block the first of them.
    """

    name: str
    cycles: int
    us: float
    overhead_cycles: int
    kernel_cycles: int
    cores: int
    engine_cycles: dict[Pipe, int]
    block_cycles: tuple[int, ...]
    instructions: int
    bytes_read: int
    bytes_written: int
    ddr_bytes_read: int
    ddr_bytes_written: int
    busy: tuple[tuple[Pipe, int, int], ...] = ()
    account: TaskAccount | None = None
    vector_cycles: dict[Pipe, int] = field(default_factory=dict[Pipe, int])
    vector_busy: tuple[tuple[Pipe, int, int], ...] = ()

    def engine_us(self) -> dict[str, float]:
        """Busy microseconds by pipe, mean over the cores that the launch uses; `AIV V` is a pipe of a team's Vector cores."""
        scale = self.us / self.cycles / self.cores if self.cycles else 0.0
        found = {pipe.name: cycles * scale for pipe, cycles in self.engine_cycles.items()}
        return found | {vector_name(pipe): cycles * scale / 2 for pipe, cycles in self.vector_cycles.items()}


class TimingEngine:
    """Times the tasks of one run on `soc`, in the order in which they are given; keeps the L2's state.

    `timeline` also records the busy intervals of one block of every launch, `accounts` where all its cycles go. `prepared`
    keeps kernels' steps for other runs on the same SoC.
    """

    def __init__(
        self, soc: Soc, *, timeline: bool = False, accounts: bool = False, prepared: PreparedSteps | None = None
    ):
        self.soc = soc
        self.timeline = timeline
        self.accounts = accounts
        self.l2 = L2Cache(soc.buffers["l2"], soc.l2.line_bytes)
        self._overhead = task_overhead_cycles(soc)
        self._flat: PreparedSteps = {} if prepared is None else prepared
        self._explained: dict[tuple[int, tuple[tuple[tuple[int, int, str], ...], ...]], BlockAccount] = {}

    def launch(self, launch: Launch, kernel: Kernel, beside: int = 0) -> TaskTiming:
        """Times one launch, which shares the L2 and the DDR with `beside` cores of launches that run already.

        Raises GraphEngineError: a wait without a set before it, moves the chip lacks.
        """
        soc, blocks = self.soc, launch.block_dim
        key = id(kernel), blocks
        if key not in self._flat:
            self._flat[key] = kernel, flatten_kernel(soc, kernel, blocks)
        trace = self._flat[key][1]
        cores = min(blocks, cores_of(soc, kernel))
        overhead = self._overhead + (cycles_of(soc, soc.overheads.mix_us) if len(kernel.parts) > 1 else 0)
        bases = [_address(location) for location in launch.args]
        block_cycles = [0] * blocks
        engines, vector_engines = [0] * len(Pipe), [0] * len(Pipe)
        fetched = written = read_bytes = written_bytes = instructions = 0
        timelines: list[tuple[tuple[Pipe, int, int], ...]] = []
        explained: dict[int, BlockAccount] = {}
        for team in trace.teams:
            sharing = [self._sharing(trace, group.part, cores, beside) for group in team]
            moves: list[list[Move]] = []
            for group, shares in zip(team, sharing, strict=True):
                times, lines_in, lines_out = self._device_memory(group, bases, *shares)
                moves.append(times)
                fetched += lines_in
                written += lines_out
            end, busy = self._time(kernel, trace, team, moves)
            if self.timeline and not timelines:
                timelines = busy_intervals(soc, team, moves, trace.flags)
            blocks_of = team[0].blocks
            if self.accounts:
                explained |= dict.fromkeys(blocks_of, self._explain(trace, team, moves, sharing))
            count = len(blocks_of)
            for block in blocks_of:
                block_cycles[block] = end
            for group, pipes in zip(team, busy, strict=True):
                mine = engines if group.part in (Part.WHOLE, Part.CUBE) else vector_engines
                for pipe, cycles in enumerate(pipes):
                    mine[pipe] += cycles * count
                read_bytes += group.payload_read * count
                written_bytes += group.payload_written * count
                instructions += len(group.steps) * count
        per_core = [sum(block_cycles[core::cores]) for core in range(cores)]
        total = max(per_core, default=0)
        line = self.l2.line_bytes
        return TaskTiming(
            name=launch.name,
            cycles=overhead + total,
            us=microseconds(soc, overhead + total),
            overhead_cycles=overhead,
            kernel_cycles=total,
            cores=cores,
            engine_cycles={Pipe(pipe): cycles for pipe, cycles in enumerate(engines) if cycles},
            block_cycles=tuple(block_cycles),
            instructions=instructions,
            bytes_read=read_bytes,
            bytes_written=written_bytes,
            ddr_bytes_read=fetched * line,
            ddr_bytes_written=written * line,
            busy=timelines[0] if timelines else (),
            account=self._account(explained, cores, overhead),
            vector_cycles={Pipe(pipe): cycles for pipe, cycles in enumerate(vector_engines) if cycles},
            vector_busy=timelines[1] if len(timelines) > 1 else (),
        )

    def _sharing(self, trace: KernelSteps, part: Part, cores: int, beside: int) -> tuple[int, int]:
        """(cores of the launch that may make a move of the part, cores that share the memories with it)."""
        if part is Part.WHOLE:
            return cores, cores + beside
        own = cores if part is Part.CUBE else 2 * cores
        return own, trace.sharers(part, cores) + beside

    def _account(self, explained: dict[int, BlockAccount], cores: int, overhead: int) -> TaskAccount | None:
        blocks = [explained[block] for block in sorted(explained)]
        return TaskAccount.of(blocks, cores, overhead) if self.accounts else None

    def aicpu_us(self, call: AicpuCall) -> float:
        """Microseconds of an AICPU task: fixed + (elements read and written + MACs) / elements per microsecond.

        An operator of `PICKS` reads of its first operand only as much as it writes: a gather the rows that its indices
        name, not the table. Both constants are assumptions of the SoC file. What it writes leaves the L2.
        """
        read = [prod(map(abs, tensor.physical_shape)) for tensor in call.inputs]
        written = sum(prod(map(abs, tensor.physical_shape)) for tensor in call.outputs)
        if call.op in PICKS:
            read[0] = min(read[0], written)
        elements = call.macs + sum(read) + written
        self._forget(call.outputs)
        return self.soc.overheads.aicpu_task_us + elements / self.soc.aicpu.elements_per_us

    def aicpu_cycles(self, call: AicpuCall) -> int:
        """`aicpu_us` in cycles of the AI Core clock, rounded up."""
        return cycles_of(self.soc, self.aicpu_us(call))

    def copy_cycles(self, copy: Copy) -> int:
        """A device copy: read latency + bytes at half the DDR's rate (read and written); outside the L2."""
        path = self.soc.path("gm", "l1", "ddr")
        rate = max(1, int(self.soc.ddr.total_bytes_per_s / (self.soc.freq_mhz.cube * 1e6) / 2))
        first = _address(copy.target) >> PAGE_BITS
        self.l2.forget(first, first + copy.bytes // PAGE_BYTES + 1)
        return self._overhead + move_cycles(path.latency_cycles, rate, copy.bytes)

    def reset(self) -> None:
        """Forgets what the L2 holds; flattened kernels stay."""
        self.l2.clear()

    def _forget(self, tensors: Iterable[TensorDesc]) -> None:
        for tensor in tensors:
            first = _address(tensor.location) >> PAGE_BITS
            self.l2.forget(first, first + tensor.bytes // PAGE_BYTES + 1)

    def _device_memory(
        self, group: BlockGroup, bases: Sequence[int], cores: int, active: int
    ) -> tuple[list[Move], int, int]:
        """Latency and transfer of every device memory move of a group, and the lines that the L2 fetched and wrote back."""
        l2 = self.l2
        times: list[Move] = []
        fetched = written = 0
        for access, offset in group.accesses:
            if access.indirect:
                lines = len(group.blocks) * -(-access.handled // l2.line_bytes)
                fetched += 0 if access.write else lines
                written += lines if access.write else 0
                times.append(self._move(access, ddr_load(self.soc, lines, 0, access.even), cores, active))
                continue
            address = bases[access.argument] + offset
            low = address & (PAGE_BYTES - 1)
            footprint = access.footprints.get(low)
            if footprint is None:
                footprint = access.footprints[low] = l2.footprint(address, access.runs)
            lines_in, lines_out = l2.touch(address >> PAGE_BITS, footprint, access.write)
            fetched += lines_in
            written += lines_out
            ddr = (lines_in + lines_out) * l2.line_bytes
            if lines_in and (not access.even or address % l2.line_bytes):
                ddr = ddr_load(self.soc, lines_in, lines_out, False)
            times.append(self._move(access, ddr, cores, active))
        return times, fetched, written

    def _move(self, access: GmAccess, ddr_bytes: int, cores: int, active: int) -> Move:
        """Latency and transfer of a move that stands for so many bytes of DDR traffic."""
        move = access.moves.get((ddr_bytes, active))
        if move is None:
            movers = min(access.movers, cores)
            move = gm_cycles(self.soc, access.path, access.handled, ddr_bytes, movers, active)
            access.moves[ddr_bytes, active] = move
        return move

    def _time(
        self, kernel: Kernel, trace: KernelSteps, team: tuple[BlockGroup, ...], moves: list[list[Move]]
    ) -> tuple[int, list[list[int]]]:
        """(end, busy cycles by pipe of each group) of a team's blocks; equal device memory times are timed once."""
        key = tuple(map(tuple, moves))
        timed = team[0].timed
        if key not in timed:
            spans: list[list[Span]] = [[] for _ in team]
            try:
                ends = run_groups(self.soc, team, moves, trace.flags, spans)
            except Deadlock as deadlock:
                raise GraphEngineError(f"kernel {kernel.name}, block {team[0].blocks[0]}: {deadlock}") from None
            except IndexError:
                raise GraphEngineError(stuck(kernel, team)) from None
            busy = [list(group.busy) for group in team]
            for mine, found in zip(busy, spans, strict=True):
                for pipe, start, end in found:
                    mine[pipe] += end - start
            timed[key] = max((max(steps, default=0) for steps in ends), default=0), busy
        return timed[key]

    def _explain(
        self,
        trace: KernelSteps,
        team: tuple[BlockGroup, ...],
        times: list[list[Move]],
        sharing: list[tuple[int, int]],
    ) -> BlockAccount:
        """Where the cycles of a team's blocks go; a transfer that takes longer than through the L2 alone is the DDR's."""
        moves = tuple(
            tuple(
                (latency, transfer, "ddr" if transfer > self._move(access, 0, *shares)[1] else "l2")
                for (access, _), (latency, transfer) in zip(group.accesses, own, strict=True)
            )
            for group, own, shares in zip(team, times, sharing, strict=True)
        )
        key = id(team[0]), moves
        if key not in self._explained:
            sync = self.soc.sync
            parts = [(group.part, group.steps, own) for group, own in zip(team, moves, strict=True)]
            limits = trace.flags, sync.queue_depth, sync.gm_move_cycles, sync.cross_cycles
            self._explained[key] = explain_team(parts, *limits)
        return self._explained[key]


def _address(location: Location) -> int:
    """One number for a place in any segment; segments lie 2**48 bytes apart."""
    return (((location.segment << 16) | location.index) << 48) + location.offset
