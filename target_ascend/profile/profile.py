"""What a timed run tells: one record a task, totals, memory, and how far the numbers may be trusted.

Plain data; `summary`, `trace` and `op_summary` show it. Times are microseconds from the start of the run.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from graph_engine.target_ascend.chip.accounts import TaskAccount, vector_name
from graph_engine.target_ascend.chip.timing import TaskTiming
from graph_engine.target_ascend.isa.model import CoreKind, Kernel, Pipe
from graph_engine.target_ascend.om.program import AicpuCall, Copy, EntryPoint, Launch, Program, SourceNode, TensorDesc
from graph_engine.target_ascend.profile.breakdown import breakdown_json
from graph_engine.target_ascend.soc.soc import Soc

AICPU = "AI_CPU"
MIXED = "MIX_AIC"
TRANSDATA = "TransData"
_CORE_TYPES = {
    CoreKind.AI_CORE: "AI_CORE",
    CoreKind.CUBE_CORE: "AI_CORE",
    CoreKind.VECTOR_CORE: "AI_VECTOR_CORE",
    CoreKind.MIXED: MIXED,
}


@dataclass(frozen=True, slots=True)
class TaskProfile:
    """One task of a run.

    `core_type`: AI_CORE, AI_VECTOR_CORE, MIX_AIC, AI_CPU or MEMCPY (msprof's task types). `engine_us`: busy time by pipe,
    mean over the `cores` that the task holds; pipes overlap, so they do not add up to the duration. `head_us`:
    from the start of the task to that of its kernel, `overhead_us`: all that is not the kernel. `total_cycles`: of all its cores. `busy`: (pipe, start,
    end) in microseconds from the start of the kernel, of one block, if the run kept a timeline; `account`: where all its
    cycles go, if the run kept accounts.
    """

    name: str
    type: str
    core_type: str
    start_us: float
    duration_us: float
    block_dim: int
    stream: int
    source_nodes: tuple[SourceNode, ...]
    bytes_read: int
    bytes_written: int
    engine_us: dict[str, float]
    index: int = 0
    device: int = 0
    cores: int = 0
    head_us: float = 0.0
    overhead_us: float = 0.0
    total_cycles: int = 0
    ddr_bytes: int = 0
    macs: int = 0
    layout_bytes: int = 0
    inputs: tuple[TensorDesc, ...] = ()
    outputs: tuple[TensorDesc, ...] = ()
    busy: tuple[tuple[str, float, float], ...] = ()
    account: TaskAccount | None = None

    @property
    def end_us(self) -> float:
        """When the task is done."""
        return self.start_us + self.duration_us

    @staticmethod
    def of_launch(
        task: Launch, kernel: Kernel, timing: TaskTiming, soc: Soc, *, start_us: float, stream: int, device: int = 0
    ) -> TaskProfile:
        """The record of a kernel launch."""
        mhz = soc.freq_mhz.cube
        return TaskProfile(
            name=task.name,
            type=task.type,
            core_type=_CORE_TYPES[kernel.core_kind],
            start_us=start_us,
            duration_us=timing.us,
            block_dim=task.block_dim,
            stream=stream,
            source_nodes=task.source_nodes,
            bytes_read=timing.bytes_read,
            bytes_written=timing.bytes_written,
            engine_us=timing.engine_us(),
            device=device,
            cores=timing.cores,
            head_us=timing.overhead_cycles / mhz - soc.overheads.completion_report_us,
            overhead_us=timing.overhead_cycles / mhz,
            total_cycles=sum(timing.block_cycles),
            ddr_bytes=timing.ddr_bytes_read + timing.ddr_bytes_written,
            macs=task.macs,
            layout_bytes=task.layout_bytes,
            inputs=task.inputs,
            outputs=task.outputs,
            busy=(
                *((pipe.name, start / mhz, end / mhz) for pipe, start, end in timing.busy),
                *((vector_name(pipe), start / mhz, end / mhz) for pipe, start, end in timing.vector_busy),
            ),
            account=timing.account,
        )

    @staticmethod
    def of_aicpu(task: AicpuCall, us: float, *, start_us: float, stream: int, device: int = 0) -> TaskProfile:
        """The record of an operator on the AI CPU."""
        return TaskProfile(
            name=task.name,
            type=task.type,
            core_type=AICPU,
            start_us=start_us,
            duration_us=us,
            block_dim=1,
            stream=stream,
            source_nodes=task.source_nodes,
            bytes_read=sum(tensor.bytes for tensor in task.inputs),
            bytes_written=sum(tensor.bytes for tensor in task.outputs),
            engine_us={},
            device=device,
            macs=task.macs,
            layout_bytes=task.layout_bytes,
            inputs=task.inputs,
            outputs=task.outputs,
        )

    @staticmethod
    def of_copy(task: Copy, us: float, *, start_us: float, stream: int, device: int = 0) -> TaskProfile:
        """The record of a device copy."""
        return TaskProfile(
            task.name, "Memcpy", "MEMCPY", start_us, us, 1, stream, (), task.bytes, task.bytes, {}, device=device
        )

    def json(self) -> dict[str, Any]:
        """The task as in `--profile-json`."""
        found: dict[str, Any] = {
            "name": self.name,
            "type": self.type,
            "core_type": self.core_type,
            "start_us": _round(self.start_us),
            "duration_us": _round(self.duration_us),
            "block_dim": self.block_dim,
            "stream": self.stream,
            "source_nodes": [node.name for node in self.source_nodes],
            "bytes_read": self.bytes_read,
            "bytes_written": self.bytes_written,
            "engine_us": {pipe: _round(us) for pipe, us in self.engine_us.items()},
        }
        if self.account is not None:
            found["account"] = self.account.json()
        return found


@dataclass(frozen=True, slots=True)
class MemoryProfile:
    """Device memory in bytes; `lower_bound_bytes` is what no plan of the workspace can go below."""

    workspace_bytes: int
    lower_bound_bytes: int
    weight_bytes: int


@dataclass(frozen=True, slots=True)
class Profile:
    """A timed run. `latency_us` ends with the last task; `batch` is that of the first input; `cores` the chip's AI Cores.

    `vector_cores`: cores that hold kernels of the Vector alone, 0 where the AI Cores do.
    """

    soc: str
    model: str
    latency_us: float
    tasks: tuple[TaskProfile, ...]
    memory: MemoryProfile
    validity: str
    batch: int = 1
    cores: int = 1
    vector_cores: int = 0
    aic_mhz: float = 1000.0
    streams: tuple[str, ...] = ()
    pipes: tuple[str, ...] = ()

    @staticmethod
    def of(program: Program, entry: EntryPoint, soc: Soc, tasks: Sequence[TaskProfile]) -> Profile:
        """Puts the records of a run of `entry` together; tasks are numbered by start time."""
        ordered = sorted(tasks, key=lambda task: (task.start_us, task.stream))
        numbered = tuple(replace(task, index=index) for index, task in enumerate(ordered))
        shape = entry.inputs[0].shape if entry.inputs else ()
        pipes = [pipe for pipe in soc.pipes if pipe in Pipe.__members__]
        used = {pipe for task in numbered if task.core_type == MIXED for pipe in task.engine_us}
        pipes += [name for name in map(vector_name, Pipe) if name in used]
        return Profile(
            soc=soc.name,
            model=program.name,
            latency_us=max((task.end_us for task in numbered), default=0.0),
            tasks=numbered,
            memory=MemoryProfile(entry.workspace_bytes, entry.workspace_lower_bound, len(program.weights)),
            validity=soc.trust(),
            batch=shape[0] if len(shape) > 1 and shape[0] > 0 else 1,
            cores=soc.cores.aic,
            vector_cores=soc.cores.aiv if soc.has("split") else 0,
            aic_mhz=soc.freq_mhz.cube,
            streams=tuple(stream.name for stream in entry.streams),
            pipes=tuple(pipes),
        )

    @property
    def fps(self) -> float:
        """Samples a second when runs follow each other without a gap."""
        return self.batch * 1e6 / self.latency_us if self.latency_us else 0.0

    @property
    def task_us(self) -> float:
        """Sum of all task durations (more than the latency where streams overlap)."""
        return sum(task.duration_us for task in self.tasks)

    def engine_us(self) -> dict[str, float]:
        """Busy time by pipe over the run, mean over all cores of the chip; pipes in the SoC's order."""
        totals = {pipe: 0.0 for pipe in self.pipes}
        for task in self.tasks:
            for pipe, us in task.engine_us.items():
                totals[pipe] = totals.get(pipe, 0.0) + us * task.cores / self.cores
        return totals

    def share(self, *, type: str | None = None, core_type: str | None = None) -> tuple[int, float]:
        """(number of tasks, their share of `task_us`) of a type or core type."""
        chosen = [t for t in self.tasks if t.type == type or t.core_type == core_type]
        total = self.task_us
        return len(chosen), sum(t.duration_us for t in chosen) / total if total else 0.0

    def json(self) -> dict[str, Any]:
        """The object of `--profile-json`."""
        found: dict[str, Any] = {
            "soc": self.soc,
            "latency_us": _round(self.latency_us),
            "tasks": [task.json() for task in self.tasks],
            "memory": {
                "workspace_bytes": self.memory.workspace_bytes,
                "lower_bound_bytes": self.memory.lower_bound_bytes,
                "weight_bytes": self.memory.weight_bytes,
            },
            "validity": self.validity,
        }
        if any(task.account is not None for task in self.tasks):
            found["account"] = breakdown_json(self)
        return found

    def to_json(self) -> str:
        """`json()` as text, one task a line, so that two profiles compare well with a text diff."""
        data = self.json()
        tasks = ",\n".join(f"    {json.dumps(task)}" for task in data.pop("tasks"))
        head = json.dumps({"soc": data.pop("soc"), "latency_us": data.pop("latency_us")})[1:-1]
        tail = json.dumps(data)[1:-1]
        return f'{{\n  {head},\n  "tasks": [\n{tasks}\n  ],\n  {tail}\n}}\n'


def _round(us: float) -> float:
    """To a picosecond: below a cycle, above floating point noise."""
    return round(us, 6)
