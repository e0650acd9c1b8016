"""The functional engine: runs kernels' instructions on modelled memories, in program order.

Of a mixed kernel each core of a team runs in its own program order, and waits where cross-core flags make it.

A kernel is turned once into a tree of Python functions with everything resolved that does not depend on loop
counters; launching it calls them. Flags and barriers have no effect here: program order is the meaning, and the
checker proves that flags make every other order equal to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, cast

import numpy as np

from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.chip.blas import single_blas_thread
from graph_engine.target_ascend.chip.cube import build_mmad
from graph_engine.target_ascend.chip.fixpipe import build_fixpipe
from graph_engine.target_ascend.chip.lockstep import Gang, gangs
from graph_engine.target_ascend.chip.memory import GlobalMemory, MatrixMemory, Memory
from graph_engine.target_ascend.chip.moves import build_copy, build_dup, build_load2d, build_load3d, build_transpose
from graph_engine.target_ascend.chip.operands import CUBE_SPACES, Core, Counters, Site, Step
from graph_engine.target_ascend.chip.selection import build_compare, build_gather, build_load_scalar, build_select
from graph_engine.target_ascend.chip.teams import CrossFlags, Deadlock, Flow, run_team
from graph_engine.target_ascend.chip.vector import build_arithmetic, build_convert, build_reduce
from graph_engine.target_ascend.isa.model import SLOTS, Blocks, Instr, Kernel, Loop, Node, Opcode, Part, Space
from graph_engine.target_ascend.isa.specs import SPECS
from graph_engine.target_ascend.om.program import Location, SourceNode
from graph_engine.target_ascend.soc.soc import Soc

_BUILDERS: dict[str, Callable[[Site], Step]] = {
    "img2col": build_load3d,
    "cube": build_mmad,
    "fixpipe": build_fixpipe,
    "convert": build_convert,
    "fill": build_dup,
    "transpose": build_transpose,
    "binary": build_arithmetic,
    "scalar": build_arithmetic,
    "unary": build_arithmetic,
    "reduce": build_reduce,
    "compare": build_compare,
    "select": build_select,
    "gather": build_gather,
    "scalar_load": build_load_scalar,
}


class Observer(Protocol):
    """What watches an engine's launches: the checker. `wrap` gives the executor to use for an instruction."""

    def begin_launch(
        self, kernel: Kernel, cores: Sequence[Core], task_name: str, source_nodes: tuple[SourceNode, ...]
    ) -> None: ...
    def begin_block(self, block: int) -> None: ...
    def end_block(self) -> None: ...
    def end_launch(self) -> None: ...
    def wrap(self, site: Site) -> Step | None: ...


def build_step(site: Site) -> Step | None:
    """The executor of one instruction; None for synchronisation. Raises GraphEngineError for a malformed one."""
    instr = site.instr
    spec = SPECS[instr.opcode]
    if spec.group in ("sync", "cross"):
        return None
    if len(instr.operands) != spec.operands or len(instr.params) != len(spec.params):
        raise site.fail(f"has {len(instr.operands)} operands and {len(instr.params)} parameters")
    if spec.group == "move":
        return build_copy(site) if instr.opcode is Opcode.COPY else build_load2d(site)
    return _BUILDERS[spec.group](site)


TeamStep: TypeAlias = Callable[[Counters, CrossFlags[None]], Flow[None]]
"""What one core of a team does."""


@dataclass(slots=True)
class CompiledKernel:
    """A kernel's block ranges as functions of the counters; `teams` are those of a mixed kernel."""

    kernel: Kernel
    ranges: list[tuple[int, int, Step]]
    teams: list[tuple[int, int, Part, TeamStep]]


@dataclass(slots=True)
class CompiledGang:
    """Blocks in lockstep, run by the first of them, or blocks one after another."""

    blocks: range
    core: Core
    run: Step


class FunctionalEngine:
    """Runs kernels on the memories of `gm` and of one modelled core.

    With a `checker`, every instruction is also shown to it before it runs. `real_bytes` keeps every memory as
    plain bytes, slower and equal bit for bit; it must equal that of `gm`.
    """

    def __init__(
        self, soc: Soc, gm: GlobalMemory, *, real_bytes: bool = False, checker: Observer | None = None
    ) -> None:
        if gm.real_bytes != real_bytes:
            raise GraphEngineError("the engine and its global memory differ in real_bytes")
        self.soc = soc
        self.gm = gm
        self.checker = checker
        self._cores: dict[Part, Core] = {}
        self._compiled: dict[int, CompiledKernel] = {}
        self._wide: Core | None = None
        self._gangs: dict[tuple[int, int, bool], list[CompiledGang] | None] = {}

    @property
    def core(self) -> Core:
        """The core that runs kernels that are not mixed."""
        return self.core_of(Part.WHOLE)

    def core_of(self, part: Part) -> Core:
        """A core of a team; of those with a UB or L1 of their own only what they have."""
        if part not in self._cores:
            typed, spaces = not self.gm.real_bytes, dict[Space, Memory]()
            for space in Space:
                size = self.soc.buffers.get(space.name.lower(), 0)
                there = part is Part.WHOLE or (space is Space.UB) != (part is Part.CUBE)
                if space is not Space.GM and size and there:
                    kind = MatrixMemory if space in CUBE_SPACES else Memory
                    spaces[space] = kind(space.name, size, typed=typed)
            self._cores[part] = Core(spaces, typed, self.soc.numerics.overflow_mode == "saturating", part)
        return self._cores[part]

    def launch(
        self,
        kernel: Kernel,
        args: tuple[Location, ...],
        block_dim: int | None = None,
        task_name: str = "",
        source_nodes: tuple[SourceNode, ...] = (),
    ) -> None:
        """Runs all blocks of a kernel, one after another, with `args` as its launch arguments.

        Raises GraphEngineError for a malformed kernel or an access outside a memory.
        """
        if self.checker is None and not self.gm.real_bytes and self._launch_gangs(kernel, args, block_dim):
            return
        compiled = self._compiled.get(id(kernel))
        if compiled is None:
            compiled = self._compiled[id(kernel)] = self._compile(kernel)
        count = kernel.block_dim if block_dim is None else block_dim
        cores = [self.core_of(part) for part in kernel.parts]
        for core in cores:
            core.args[:] = [self.gm.bind(location) for location in args]
        checker = self.checker
        if checker is not None:
            checker.begin_launch(kernel, cores, task_name, source_nodes)
        with np.errstate(all="ignore"), single_blas_thread():
            for block in range(count):
                if checker is not None:
                    checker.begin_block(block)
                counters = [block] + [0] * (SLOTS - 1)
                for low, high, run in compiled.ranges:
                    if low <= block < high:
                        run(counters)
                if compiled.teams:
                    self._run_team(compiled, block)
                if checker is not None:
                    checker.end_block()
        if checker is not None:
            checker.end_launch()

    def _launch_gangs(self, kernel: Kernel, args: tuple[Location, ...], block_dim: int | None) -> bool:
        """Runs blocks that run the same program in lockstep; False where a kernel's blocks do not."""
        bound = [self.gm.bind(location) for location in args]
        key = id(kernel), kernel.block_dim if block_dim is None else block_dim, not _overlapping(kernel, bound)
        if key not in self._gangs:
            found = gangs(kernel, *key[1:])
            self._gangs[key] = None if found is None else [self._compile_gang(kernel, gang) for gang in found]
        compiled = self._gangs[key]
        if compiled is None:
            return False
        with np.errstate(all="ignore"), single_blas_thread():
            for gang in compiled:
                gang.core.args[:] = bound
                for block in gang.blocks:
                    gang.run([block] + [0] * (SLOTS - 1))
        return True

    def _compile_gang(self, kernel: Kernel, gang: Gang) -> CompiledGang:
        core = self._wide_core(gang.sizes) if gang.axes else self.core
        built: dict[int, Step] = {}
        numbers = iter(range(1 << 62))

        def sequence(body: tuple[Node, ...], slot: int) -> Step:
            steps: list[Step] = []
            for node in body:
                if isinstance(node, Instr):
                    number, key = next(numbers), id(node)
                    if key not in built:
                        site = Site(core, gang.buffers, node, kernel.name, number, gang.axes.get(key, 0))
                        step = build_step(site)
                        assert step is not None
                        built[key] = step
                    steps.append(built[key])
                else:
                    assert isinstance(node, Loop)
                    steps.append(_loop(node.trip, slot, sequence(node.body, slot + 1)))
            return _sequence(steps)

        blocks = gang.blocks[:1] if gang.axes else gang.blocks
        return CompiledGang(blocks, core, sequence(gang.body, 1))

    def _wide_core(self, sizes: dict[Space, int]) -> Core:
        """A core whose memories hold the buffers of blocks in lockstep; what is too small for them is replaced."""
        core = self._wide or Core({}, True, self.soc.numerics.overflow_mode == "saturating")
        small = {
            space: size for space, size in sizes.items() if space not in core.spaces or core.spaces[space].size < size
        }
        if small:
            spaces = dict(core.spaces)
            for space, size in small.items():
                kind = MatrixMemory if space in CUBE_SPACES else Memory
                spaces[space] = kind(space.name, 1 << (size - 1).bit_length())
                spaces[space].sparse = True
            core = self._wide = Core(spaces, True, core.saturate)
        return core

    def _run_team(self, compiled: CompiledKernel, block: int) -> None:
        """One block of a mixed kernel."""
        flags, flows = CrossFlags[None](), dict[Part, Flow[None]]()
        for low, high, part, run in compiled.teams:
            if low <= block < high:
                flows[part] = run([block] + [0] * (SLOTS - 1), flags)
        try:
            run_team(flows, flags)
        except Deadlock as deadlock:
            raise GraphEngineError(f"{compiled.kernel.name}, block {block}: {deadlock}") from None

    def _compile(self, kernel: Kernel) -> CompiledKernel:
        numbers = iter(range(1 << 62))
        built: dict[tuple[int, Part], Step | None] = {}

        def sequence(body: tuple[Node, ...], slot: int, core: Core) -> Step:
            steps: list[Step] = []
            for node in body:
                if isinstance(node, Instr):
                    step = self._instruction(core, kernel, node, next(numbers), built)
                    if step is not None:
                        steps.append(step)
                elif isinstance(node, Loop):
                    steps.append(_loop(node.trip, slot, sequence(node.body, slot + 1, core)))
                else:
                    raise GraphEngineError(f"{kernel.name}: a block range inside a loop or another range")
            return _sequence(steps)

        def team_step(body: tuple[Node, ...], slot: int, core: Core) -> TeamStep:
            """The same for a body that may wait in its middle: only what waits is a generator."""
            pieces: list[Step | TeamStep] = []
            waiting: list[bool] = []
            for node in body:
                waits = _crosses(node)
                if isinstance(node, Instr) and waits:
                    seen = self._instruction(core, kernel, node, next(numbers), built)
                    pieces.append(_cross(node, core.part, seen))
                elif isinstance(node, Loop) and waits:
                    pieces.append(_team_loop(node.trip, slot, team_step(node.body, slot + 1, core)))
                else:
                    pieces.append(sequence((node,), slot, core))
                waiting.append(waits)
            return _team_sequence(pieces, waiting)

        ranges: list[tuple[int, int, Step]] = []
        teams: list[tuple[int, int, Part, TeamStep]] = []
        for node in kernel.body:
            if not isinstance(node, Blocks):
                ranges.append((0, 1 << 62, sequence((node,), 1, self.core)))
            elif node.part is Part.WHOLE:
                ranges.append((node.lo, node.hi, sequence(node.body, 1, self.core)))
            else:
                teams.append((node.lo, node.hi, node.part, team_step(node.body, 1, self.core_of(node.part))))
        return CompiledKernel(kernel, ranges, teams)

    def _instruction(
        self, core: Core, kernel: Kernel, instr: Instr, number: int, built: dict[tuple[int, Part], Step | None]
    ) -> Step | None:
        """Its executor; without a checker, which tells them apart, one instruction in several places has one of `built`."""
        site = Site(core, kernel.buffers, instr, kernel.name, number)
        if self.checker is not None:
            return self.checker.wrap(site)
        key = id(instr), core.part
        if key not in built:
            built[key] = build_step(site)
        return built[key]


def _overlapping(kernel: Kernel, bound: list[tuple[Memory, int]]) -> bool:
    """Whether something that a kernel writes shares bytes with another of its arguments."""
    places = [
        (memory, start, start + buffer.bytes) for (memory, start), buffer in zip(bound, kernel.buffers, strict=False)
    ]
    return any(
        access != "r" and i != j and memory is other and start < high and low < end
        for i, ((memory, start, end), access) in enumerate(zip(places, kernel.arg_access, strict=False))
        for j, (other, low, high) in enumerate(places)
    )


def _sequence(steps: list[Step]) -> Step:
    if len(steps) == 1:
        return steps[0]

    def run(counters: Counters) -> None:
        for step in steps:
            step(counters)

    return run


def _crosses(node: Node) -> bool:
    """Whether an instruction of a node meets another core."""
    if isinstance(node, Instr):
        return SPECS[node.opcode].group == "cross"
    return any(map(_crosses, node.body))


def _cross(instr: Instr, part: Part, seen: Step | None) -> TeamStep:
    """A cross-core flag raised or waited for; `seen` is told when that has happened."""
    (number,) = instr.params

    def run(counters: Counters, flags: CrossFlags[None]) -> Flow[None]:
        flag = number.at(counters)
        if instr.opcode is Opcode.BLOCK_SET:
            flags.raise_(part, flag, None)
        else:
            while not flags.take(part, flag):
                yield flag
        if seen is not None:
            seen(counters)

    return run


def _team_sequence(pieces: list[Step | TeamStep], waiting: list[bool]) -> TeamStep:
    def run(counters: Counters, flags: CrossFlags[None]) -> Flow[None]:
        for piece, waits in zip(pieces, waiting, strict=True):
            if waits:
                yield from cast(TeamStep, piece)(counters, flags)
            else:
                cast(Step, piece)(counters)

    return run


def _team_loop(trip: int, slot: int, body: TeamStep) -> TeamStep:
    def run(counters: Counters, flags: CrossFlags[None]) -> Flow[None]:
        for i in range(trip):
            counters[slot] = i
            yield from body(counters, flags)
        counters[slot] = 0

    return run


def _loop(trip: int, slot: int, body: Step) -> Step:
    def run(counters: Counters) -> None:
        for i in range(trip):
            counters[slot] = i
            body(counters)
        counters[slot] = 0

    return run
