"""Runs programs in orders that flags allow and program order is not: a judge of races without the checker.

A core's scalar unit issues in program order; every other pipe runs its own queue in order, and waits for flags and
barriers alone. `Schedule(last=p)` lets pipe p run only when nothing else can: whatever is not forced to come after an
instruction of p then comes before it. Six such orders reverse every pair of accesses that may be reversed at all.
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
from graph_engine.target_ascend.chip.operands import Core, Counters, Site, Step
from graph_engine.target_ascend.isa.model import FIRST_REGISTER, SLOTS, Instr, Kernel, Opcode, Pipe, Walker
from graph_engine.target_ascend.om.program import AicpuCall, Launch, Program, Segment
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
    """`last`: the pipe that runs only when no other can; None is program order. `reverse`: the last block runs first."""

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
    core = FunctionalEngine(soc, memory).core
    for step in execution_order(point):
        task = step.task
        if isinstance(task, Launch):
            core.args[:] = [memory.bind(location) for location in task.args]
            blocks = range(task.block_dim)
            launch = _Launch(program.kernels[task.kernel], core)
            with np.errstate(all="ignore"), single_blas_thread():
                for block in reversed(blocks) if schedule.reverse else blocks:
                    launch.run(block, schedule.last)
        elif isinstance(task, AicpuCall):
            run_aicpu(memory, task)
    outputs = [read_tensor(memory, tensor).copy() for tensor in point.outputs]
    return outputs, _content(memory)


def _content(memory: GlobalMemory) -> bytes:
    parts: list[bytes] = []
    for (segment, _), part in memory.segments.items():
        if segment in (Segment.WORKSPACE, Segment.OUTPUT):
            parts.append(part.read(0, part.size).tobytes())
    return b"".join(parts)


class _Launch:
    def __init__(self, kernel: Kernel, core: Core) -> None:
        self.kernel, self.core = kernel, core
        self.steps: dict[int, Step | None] = {}

    def step(self, instr: Instr) -> Step | None:
        """The executor of an instruction, built once."""
        if id(instr) not in self.steps:
            self.steps[id(instr)] = build_step(Site(self.core, self.kernel.buffers, instr, self.kernel.name, 0))
        return self.steps[id(instr)]

    def run(self, block: int, last: Pipe | None) -> None:
        """One block on fresh memories."""
        for space in self.core.spaces.values():
            space.poison()
        queues: dict[Pipe, deque[tuple[Instr, Counters]]] = {pipe: deque() for pipe in Pipe}
        order = sorted(PIPES, key=lambda pipe: pipe is last)
        flags: Counter[tuple[int, ...]] = Counter()
        registers = [0] * (SLOTS - FIRST_REGISTER)
        issued = iter(Walker(self.kernel, block))
        following: tuple[Instr, Counters] | None = None
        ended = False
        while True:
            while not ended:  # issue as far as the scalar unit comes
                if following is None:
                    found = next(issued, None)
                    if found is None:
                        ended = True
                        break
                    instr, counters = found
                    padded = [*counters, *[0] * (FIRST_REGISTER - len(counters)), *registers]
                    following = instr, padded
                instr, counters = following
                if instr.opcode is Opcode.BARRIER and instr.params[0].const == Pipe.ALL and any(queues.values()):
                    break
                pipe = _pipe(instr)
                if pipe is not Pipe.S:
                    queues[pipe].append(following)
                elif not self.execute(instr, counters, flags):
                    break
                elif instr.opcode is Opcode.LOAD_SCALAR:
                    registers = counters[FIRST_REGISTER:]
                following = None
                if last is None:
                    break
            for pipe in order:
                if queues[pipe] and self.execute(*queues[pipe][0], flags):
                    queues[pipe].popleft()
                    break
            else:
                if ended and not any(queues.values()):
                    return
                if ended or following is not None:
                    raise Stuck(f"{self.kernel.name}: block {block} comes to no end")

    def execute(self, instr: Instr, counters: Counters, flags: Counter[tuple[int, ...]]) -> bool:
        """Runs an instruction; False if it waits for a flag that is not up."""
        if instr.opcode in (Opcode.SET_FLAG, Opcode.WAIT_FLAG):
            source, target, event = (p.at(counters) for p in instr.params)
            if instr.event_rotate is not None:
                event += instr.event_rotate.index.at(counters) % instr.event_rotate.count
            key = source, target, event
            if instr.opcode is Opcode.SET_FLAG:
                flags[key] += 1
            elif flags[key]:
                flags[key] -= 1
            else:
                return False
            return True
        step = self.step(instr)
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
