"""Runs a compiled program on the modelled device: binds memory, runs the streams, gives values and times.

Values and times are separate answers from the same instructions. The functional pass executes all tasks in one
fixed order; the timing pass simulates the clock from declared costs. Neither sees the other, so that every mode
gives the same values and the same times.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.om.program import (
    AicpuCall,
    Copy,
    EntryPoint,
    Launch,
    Program,
    Segment,
    Task,
    TensorDesc,
)
from graph_engine.target_ascend.runtime.schedule import Cost, execution_order, place_tasks
from graph_engine.target_ascend.runtime.stored_tensor import read_tensor, write_tensor
from graph_engine.target_ascend.runtime.tensor_files import Port, check_input
from graph_engine.target_ascend.soc.soc import Soc, load_soc

if TYPE_CHECKING:
    from graph_engine.target_ascend.chip.checker import Finding
    from graph_engine.target_ascend.chip.functional import FunctionalEngine
    from graph_engine.target_ascend.chip.memory import GlobalMemory, Memory
    from graph_engine.target_ascend.chip.timing import PreparedSteps
    from graph_engine.target_ascend.profile.profile import Profile

Array = np.ndarray[Any, np.dtype[Any]]
Progress = Callable[[str], None]

MODES = ("functional", "timing", "both")


@dataclass
class RunResult:
    """`outputs` in logical order (empty in timing mode), `profile` (None in functional mode), `findings` of checking."""

    outputs: list[Array]
    profile: Profile | None = None
    findings: list[Finding] = field(default_factory=list["Finding"])


def run(
    program: Program,
    inputs: Sequence[Array] = (),
    *,
    mode: str = "both",
    check: bool = False,
    real_bytes: bool = False,
    entry: str | None = None,
    timeline: bool = False,
    accounts: bool = False,
    progress: Progress | None = None,
) -> RunResult:
    """Runs entry point `entry` (default: the first) on the program's SoC.

    `inputs` are logical arrays whose shapes and dtypes must be those of the entry point (not needed in timing
    mode). `check` turns on the checker, `real_bytes` the memory without typed content; `timeline` keeps busy
    intervals of the pipes for traces, `accounts` where every cycle of a launch goes. `progress` is called with the name
    of each task before it runs.
    Raises GraphEngineError on wrong inputs, streams that wait for each other, and everything the chip refuses.
    """
    device = Device(program, check=check, real_bytes=real_bytes, entry=entry)
    return device.run(inputs, mode=mode, timeline=timeline, accounts=accounts, progress=progress)


class Device:
    """The modelled device with a program on it, for any number of runs: each kernel is prepared once, when it first runs.

    `check`, `real_bytes` and `entry` as in `run`. Nothing of one run is left in the memory of the next but the weights, of which
    the second run keeps the form that the engine computes with.
    """

    def __init__(
        self, program: Program, *, check: bool = False, real_bytes: bool = False, entry: str | None = None
    ) -> None:
        self.program, self.point, self.soc = program, find_entry(program, entry), load_soc(program.soc)
        self.check, self.real_bytes = check, real_bytes
        self._engine: FunctionalEngine | None = None
        self._weights: Memory | None = None
        self._steps: PreparedSteps = {}

    def run(
        self,
        inputs: Sequence[Array] = (),
        *,
        mode: str = "both",
        timeline: bool = False,
        accounts: bool = False,
        progress: Progress | None = None,
    ) -> RunResult:
        """The function `run` on this device."""
        if mode not in MODES:
            raise GraphEngineError(f"unknown mode '{mode}': choose {', '.join(MODES)}")
        result = RunResult([])
        if mode != "timing":
            result.outputs, result.findings = self._values(inputs, progress)
        if mode != "functional":
            result.profile = time_program(
                self.program, self.point, self.soc, timeline=timeline, accounts=accounts, prepared=self._steps
            )
        return result

    def _values(self, inputs: Sequence[Array], progress: Progress | None) -> tuple[list[Array], list[Finding]]:
        from graph_engine.target_ascend.chip.functional import FunctionalEngine

        program, point = self.program, self.point
        memory = bind_memory(program, point, inputs, self._weights, real_bytes=self.real_bytes)
        weights = memory.segments[Segment.WEIGHT, 0]
        if self._weights is not None and not self.real_bytes:
            weights.keep_lanes()
        self._weights = weights
        checker = checks = None
        if self.check:
            from graph_engine.target_ascend.chip.checker import Checker
            from graph_engine.target_ascend.runtime.checking import TaskChecks

            checker = Checker(self.soc, memory)
            checks = TaskChecks(checker, point)
        engine = self._engine
        if engine is None or checker is not None:
            engine = FunctionalEngine(self.soc, memory, real_bytes=self.real_bytes, checker=checker)
            self._engine = engine
        engine.gm = memory
        for step in execution_order(point):
            task = step.task
            if progress is not None and isinstance(task, Launch | AicpuCall | Copy):
                progress(task.name)
            if checks is not None:
                checks.before(step)
            if isinstance(task, Launch):
                kernel = program.kernels[task.kernel]
                engine.launch(kernel, task.args, task.block_dim, task.name, task.source_nodes)
            elif isinstance(task, AicpuCall):
                run_aicpu(memory, task)
            elif isinstance(task, Copy):
                memory.write(task.target, memory.read(task.source, task.bytes).copy())
            if checks is not None:
                checks.after(step)
        outputs = [read_tensor(memory, tensor).copy() for tensor in point.outputs]
        return outputs, list(checker.findings) if checker is not None else []


def find_entry(program: Program, name: str | None = None) -> EntryPoint:
    """The entry point of that name, or the first. Raises GraphEngineError if there is none."""
    for point in program.entry_points:
        if name in (None, point.name):
            return point
    known = ", ".join(point.name for point in program.entry_points) or "none"
    raise GraphEngineError(f"'{program.name}' has no entry point{f' {name!r}' if name else ''}; it has {known}")


def bind_memory(
    program: Program, point: EntryPoint, inputs: Sequence[Array], weights: Memory | None = None, *, real_bytes: bool = False
) -> GlobalMemory:  # fmt: skip
    """Global memory with all segments of the entry point: inputs and weights in place, the rest zero; `weights` are those of an
    earlier run.

    An output that aliases an input starts as a copy of it, so that the caller's array stays as it is.
    """
    from graph_engine.target_ascend.chip.memory import GlobalMemory

    if len(inputs) != len(point.inputs):
        raise GraphEngineError(f"'{program.name}' takes {len(point.inputs)} inputs, found {len(inputs)}")
    memory = GlobalMemory(real_bytes=real_bytes)
    aliased = {source for source, _ in point.aliases}
    for index, (tensor, array) in enumerate(zip(point.inputs, inputs, strict=True)):
        check_input(Port.of(tensor), array, f"input {index}")
        if tensor.physical_shape != tensor.shape or index in aliased or tensor.location.offset:
            memory.add(Segment.INPUT, index, tensor.location.offset + tensor.bytes)
            write_tensor(memory, tensor, array)
        else:
            memory.add(Segment.INPUT, index, _read_only(array))
    for index, tensor in enumerate(point.outputs):
        if tensor.location.segment is Segment.OUTPUT:
            memory.add(Segment.OUTPUT, index, tensor.location.offset + tensor.bytes)
    for source, target in point.aliases:
        memory.alias(Segment.OUTPUT, target, memory.segments[Segment.INPUT, source])
    if weights is None:
        content = program.weights[0 : len(program.weights)]
        memory.add(Segment.WEIGHT, 0, _read_only(np.frombuffer(content, np.uint8)))
    else:
        memory.alias(Segment.WEIGHT, 0, weights)
    memory.add(Segment.WORKSPACE, 0, point.workspace_bytes)
    return memory


def _read_only(array: Array) -> Array:
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def time_program(
    program: Program,
    point: EntryPoint,
    soc: Soc,
    *,
    timeline: bool = False,
    accounts: bool = False,
    prepared: PreparedSteps | None = None,
) -> Profile:
    """Times `point` on `soc`, which need not be the program's, from an empty L2 on."""
    from graph_engine.target_ascend.chip.costs import microseconds
    from graph_engine.target_ascend.chip.timing import TaskTiming, TimingEngine
    from graph_engine.target_ascend.profile.profile import Profile, TaskProfile

    engine = TimingEngine(soc, timeline=timeline, accounts=accounts, prepared=prepared)

    def cost(task: Task, beside: int) -> Cost[TaskTiming]:
        if isinstance(task, Launch):
            timing = engine.launch(task, program.kernels[task.kernel], beside)
            return Cost(timing.us, timing)
        if isinstance(task, AicpuCall):
            return Cost(engine.aicpu_us(task))
        assert isinstance(task, Copy)
        return Cost(microseconds(soc, engine.copy_cycles(task)))

    overheads = soc.overheads
    placed = place_tasks(
        point,
        cost,
        cores=soc.cores.aic,
        aicpus=soc.cores.aicpu,
        event_us=overheads.event_us,
        vector_cores=soc.cores.aiv if soc.has("split") else 0,
        core_kind=lambda task: program.kernels[task.kernel].core_kind,
    )
    records: list[TaskProfile] = []
    for item in placed:
        task, number, start = item.step.task, item.step.stream, item.start_us
        device = point.streams[number].device
        if isinstance(task, Launch) and item.cost.detail is not None:
            kernel = program.kernels[task.kernel]
            records.append(
                TaskProfile.of_launch(task, kernel, item.cost.detail, soc, start_us=start, stream=number, device=device)
            )
        elif isinstance(task, AicpuCall):
            records.append(TaskProfile.of_aicpu(task, item.cost.us, start_us=start, stream=number, device=device))
        elif isinstance(task, Copy):
            records.append(TaskProfile.of_copy(task, item.cost.us, start_us=start, stream=number, device=device))
    return Profile.of(program, point, soc, records)


def run_aicpu(memory: GlobalMemory, call: AicpuCall) -> None:
    """Runs the numpy reference of an operator on the tensors in memory.

    `layout.transdata` needs no arithmetic: every input is unpacked and every output packed as its format says.
    """
    groups = int(call.attributes.get("groups", 1)) if call.op == "layout.transdata" else 1
    inputs = [read_tensor(memory, tensor, groups) for tensor in call.inputs]
    if call.op == "layout.transdata":
        outputs = [_converted(array, tensor) for array, tensor in zip(inputs, call.outputs, strict=True)]
    else:
        from graph_engine.dialects.ge.reference import evaluate

        outputs = evaluate(call.op, inputs, call.attributes)[: len(call.outputs)]
    for tensor, array in zip(call.outputs, outputs, strict=True):
        write_tensor(memory, tensor, array, groups)


def _converted(array: Array, tensor: TensorDesc) -> Array:
    from graph_engine.dialects.ge.reference.element_types import convert

    return convert(array, tensor.dtype.mlir)
