"""Runs programs in orders that flags allow and program order is not: a judge of races without the checker.

A core's scalar unit issues in program order; every other pipe runs its own queue in order, and waits for flags and
barriers alone. `Schedule(last=p)` lets pipe p run only when nothing else can: whatever is not forced to come after an
instruction of p then comes before it. Six such orders reverse every pair of accesses that may be reversed at all. Of a
team the first core always goes as far as it can, and the others one instruction at a time: whatever lets it go on early shows.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.chip.blas import single_blas_thread
from graph_engine.target_ascend.chip.functional import FunctionalEngine, build_step
from graph_engine.target_ascend.chip.memory import GlobalMemory
from graph_engine.target_ascend.chip.operands import Counters, Site, Step
from graph_engine.target_ascend.chip.teams import CrossFlags
from graph_engine.target_ascend.isa.model import FIRST_REGISTER, SLOTS, Instr, Kernel, Opcode, Part, Pipe, Walker
from graph_engine.target_ascend.om.program import AicpuCall, Launch, Location, Program, Segment
from graph_engine.target_ascend.runtime.device import bind_memory, find_entry, run_aicpu
from graph_engine.target_ascend.runtime.schedule import execution_order
from graph_engine.target_ascend.runtime.stored_tensor import read_tensor
from graph_engine.target_ascend.soc.soc import load_soc

Array = np.ndarray[Any, Any]
PIPES = (Pipe.MTE2, Pipe.MTE1, Pipe.M, Pipe.V, Pipe.FIX, Pipe.MTE3)


class Stuck(GraphEngineError):
    """No pipe can go on."""


@dataclass(frozen=True)
class Schedule:
    """`last`: the pipe that runs only when no other can; None is program order. `reverse`: the last block runs first, and of a
    team the last core."""

    last: Pipe | None = None
    reverse: bool = False


SCHEDULES = (*(Schedule(last=pipe) for pipe in PIPES), Schedule(reverse=True))
"""Every pipe last, and the blocks in the other order."""


def run_in_order(program: Program, inputs: Sequence[Array], schedule: Schedule) -> tuple[list[Array], bytes]:
    """The outputs, and all bytes of outputs and workspace. Raises Stuck where the order ends in a deadlock."""
    point = find_entry(program, None)
    memory = bind_memory(program, point, inputs)
    for (segment, _), part in memory.segments.items():
        if segment in (Segment.WORKSPACE, Segment.OUTPUT):
            part.poison()
    soc = load_soc(program.soc)
    engine = FunctionalEngine(soc, memory)
    for step in execution_order(point):
        task = step.task
        if isinstance(task, Launch):
            launch_in_order(engine, program.kernels[task.kernel], task.args, schedule, range(task.block_dim))
        elif isinstance(task, AicpuCall):
            run_aicpu(memory, task)
    outputs = [read_tensor(memory, tensor).copy() for tensor in point.outputs]
    return outputs, _content(memory)


def launch_in_order(
    engine: FunctionalEngine, kernel: Kernel, args: Sequence[Location], schedule: Schedule, blocks: range | None = None
) -> None:
    """One launch of a kernel, by default with all of its blocks. Raises Stuck where the order ends in a deadlock."""
    for part in kernel.parts:
        engine.core_of(part).args[:] = [engine.gm.bind(location) for location in args]
    launch = _Launch(kernel, engine)
    blocks = range(kernel.block_dim) if blocks is None else blocks
    with np.errstate(all="ignore"), single_blas_thread():
        for block in reversed(blocks) if schedule.reverse else blocks:
            launch.run(block, schedule)


def _content(memory: GlobalMemory) -> bytes:
    parts: list[bytes] = []
    for (segment, _), part in memory.segments.items():
        if segment in (Segment.WORKSPACE, Segment.OUTPUT):
            parts.append(part.read(0, part.size).tobytes())
    return b"".join(parts)


class _Launch:
    def __init__(self, kernel: Kernel, engine: FunctionalEngine) -> None:
        self.kernel, self.engine = kernel, engine
        self.steps: dict[tuple[int, Part], Step | None] = {}

    def step(self, instr: Instr, part: Part) -> Step | None:
        """The executor of an instruction on a core, built once."""
        key = id(instr), part
        if key not in self.steps:
            site = Site(self.engine.core_of(part), self.kernel.buffers, instr, self.kernel.name, 0)
            self.steps[key] = build_step(site)
        return self.steps[key]

    def run(self, block: int, schedule: Schedule) -> None:
        """One block on fresh memories; a step of another core of a team only where the first one waits."""
        parts = self.kernel.parts[::-1] if schedule.reverse else self.kernel.parts
        crossing = CrossFlags[None]()
        cores = [_Core(self, part, block, schedule.last, crossing) for part in parts]
        while not all(core.done for core in cores):
            if not cores[0].advance() and not any(core.step() for core in cores[1:]):
                raise Stuck(f"{self.kernel.name}: block {block} comes to no end")


class _Core:
    """One core on its way through a block."""

    def __init__(self, launch: _Launch, part: Part, block: int, last: Pipe | None, crossing: CrossFlags[None]) -> None:
        self.launch, self.part, self.last, self.crossing = launch, part, last, crossing
        for space in launch.engine.core_of(part).spaces.values():
            space.poison()
        self.queues: dict[Pipe, deque[tuple[Instr, Counters]]] = {pipe: deque() for pipe in Pipe}
        self.order = sorted(PIPES, key=lambda pipe: pipe is last)
        self.flags: Counter[tuple[int, ...]] = Counter()
        self.registers = [0] * (SLOTS - FIRST_REGISTER)
        self.issued = iter(Walker(launch.kernel, block, part=part))
        self.following: tuple[Instr, Counters] | None = None
        self.ended = False

    @property
    def done(self) -> bool:
        """Whether nothing is left to do."""
        return self.ended and not any(self.queues.values())

    def advance(self) -> bool:
        """Goes on until it has to wait for another core; whether it got anywhere."""
        moved = False
        while self.step():
            moved = True
        return moved

    def step(self) -> bool:
        """Issues what it may and runs one instruction; whether it got anywhere."""
        return self.issue() | self.execute_one()

    def issue(self) -> bool:
        """Issues as far as the scalar unit comes, in program order one at a time; whether it came any further."""
        moved = False
        while not self.ended:
            if self.following is None:
                found = next(self.issued, None)
                if found is None:
                    self.ended = moved = True
                    break
                instr, counters = found
                self.following = instr, [*counters, *[0] * (FIRST_REGISTER - len(counters)), *self.registers]
            instr, counters = self.following
            if instr.opcode is Opcode.BARRIER and instr.params[0].const == Pipe.ALL and any(self.queues.values()):
                break
            pipe = _pipe(instr)
            if pipe is not Pipe.S:
                self.queues[pipe].append(self.following)
            elif not self.execute(instr, counters):
                break
            elif instr.opcode is Opcode.LOAD_SCALAR:
                self.registers = counters[FIRST_REGISTER:]
            self.following, moved = None, True
            if self.last is None:
                break
        return moved

    def execute_one(self) -> bool:
        """Lets the first pipe that can run its next instruction."""
        for pipe in self.order:
            if self.queues[pipe] and self.execute(*self.queues[pipe][0]):
                self.queues[pipe].popleft()
                return True
        return False

    def execute(self, instr: Instr, counters: Counters) -> bool:
        """Runs an instruction; False if it waits for a flag that is not up."""
        if instr.opcode is Opcode.BLOCK_SET:
            self.crossing.raise_(self.part, instr.params[0].at(counters), None)
            return True
        if instr.opcode is Opcode.BLOCK_WAIT:
            return bool(self.crossing.take(self.part, instr.params[0].at(counters)))
        if instr.opcode in (Opcode.SET_FLAG, Opcode.WAIT_FLAG):
            source, target, event = (p.at(counters) for p in instr.params)
            if instr.event_rotate is not None:
                event += instr.event_rotate.index.at(counters) % instr.event_rotate.count
            key = source, target, event
            if instr.opcode is Opcode.SET_FLAG:
                self.flags[key] += 1
            elif self.flags[key]:
                self.flags[key] -= 1
            else:
                return False
            return True
        step = self.launch.step(instr, self.part)
        if step is not None:
            step(counters)
        return True


def _pipe(instr: Instr) -> Pipe:
    """Where an instruction runs: a set on the pipe that it is set by, a wait on the one that waits."""
    if instr.opcode is Opcode.SET_FLAG:
        return Pipe(instr.params[0].const)
    if instr.opcode is Opcode.WAIT_FLAG:
        return Pipe(instr.params[1].const)
    return Pipe.S if instr.opcode in (Opcode.BARRIER, Opcode.LOAD_SCALAR) else instr.pipe
