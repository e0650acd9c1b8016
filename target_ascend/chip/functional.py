"""The functional engine: runs kernels' instructions on modelled memories, in program order.

A kernel is turned once into a tree of Python functions with everything resolved that does not depend on loop
counters; launching it calls them. Flags and barriers have no effect here: program order is the meaning, and the
checker proves that flags make every other order equal to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.chip.blas import single_blas_thread
from graph_engine.target_ascend.chip.cube import build_mmad
from graph_engine.target_ascend.chip.fixpipe import build_fixpipe
from graph_engine.target_ascend.chip.memory import GlobalMemory, MatrixMemory, Memory
from graph_engine.target_ascend.chip.moves import build_copy, build_dup, build_load2d, build_load3d, build_transpose
from graph_engine.target_ascend.chip.operands import CUBE_SPACES, Core, Counters, Site, Step
from graph_engine.target_ascend.chip.selection import build_compare, build_gather, build_load_scalar, build_select
from graph_engine.target_ascend.chip.vector import build_arithmetic, build_convert, build_reduce
from graph_engine.target_ascend.isa.model import SLOTS, SPECS, Blocks, Instr, Kernel, Loop, Node, Opcode, Space
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
        self, kernel: Kernel, core: Core, block_dim: int, task_name: str, source_nodes: tuple[SourceNode, ...]
    ) -> None: ...
    def begin_block(self, block: int) -> None: ...
    def end_block(self) -> None: ...
    def end_launch(self) -> None: ...
    def wrap(self, site: Site) -> Step | None: ...


def build_step(site: Site) -> Step | None:
    """The executor of one instruction; None for synchronisation. Raises GraphEngineError for a malformed one."""
    instr = site.instr
    spec = SPECS[instr.opcode]
    if spec.group == "sync":
        return None
    if len(instr.operands) != spec.operands or len(instr.params) != len(spec.params):
        raise site.fail(f"has {len(instr.operands)} operands and {len(instr.params)} parameters")
    if spec.group == "move":
        return build_copy(site) if instr.opcode is Opcode.COPY else build_load2d(site)
    return _BUILDERS[spec.group](site)


@dataclass(slots=True)
class CompiledKernel:
    """A kernel's block ranges as functions of the counters."""

    kernel: Kernel
    ranges: list[tuple[int, int, Step]]


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
        spaces: dict[Space, Memory] = {}
        for space in Space:
            size = soc.buffers.get(space.name.lower(), 0)
            if space is not Space.GM and size:
                kind = MatrixMemory if space in CUBE_SPACES else Memory
                spaces[space] = kind(space.name, size, typed=not real_bytes)
        self.soc = soc
        self.gm = gm
        self.core = Core(spaces, not real_bytes, soc.numerics.overflow_mode == "saturating")
        self.checker = checker
        self._compiled: dict[int, CompiledKernel] = {}

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
        compiled = self._compiled.get(id(kernel))
        if compiled is None:
            compiled = self._compiled[id(kernel)] = self._compile(kernel)
        count = kernel.block_dim if block_dim is None else block_dim
        self.core.args[:] = [self.gm.bind(location) for location in args]
        checker = self.checker
        if checker is not None:
            checker.begin_launch(kernel, self.core, count, task_name, source_nodes)
        with np.errstate(all="ignore"), single_blas_thread():
            for block in range(count):
                if checker is not None:
                    checker.begin_block(block)
                counters = [block] + [0] * (SLOTS - 1)
                for low, high, run in compiled.ranges:
                    if low <= block < high:
                        run(counters)
                if checker is not None:
                    checker.end_block()
        if checker is not None:
            checker.end_launch()

    def _compile(self, kernel: Kernel) -> CompiledKernel:
        numbers = iter(range(1 << 62))
        built: dict[int, Step | None] = {}

        def sequence(body: tuple[Node, ...], slot: int) -> Step:
            steps: list[Step] = []
            for node in body:
                if isinstance(node, Instr):
                    step = self._instruction(kernel, node, next(numbers), built)
                    if step is not None:
                        steps.append(step)
                elif isinstance(node, Loop):
                    steps.append(_loop(node.trip, slot, sequence(node.body, slot + 1)))
                else:
                    raise GraphEngineError(f"{kernel.name}: a block range inside a loop or another range")
            return _sequence(steps)

        ranges: list[tuple[int, int, Step]] = []
        for node in kernel.body:
            if isinstance(node, Blocks):
                ranges.append((node.lo, node.hi, sequence(node.body, 1)))
            else:
                ranges.append((0, 1 << 62, sequence((node,), 1)))
        return CompiledKernel(kernel, ranges)

    def _instruction(self, kernel: Kernel, instr: Instr, number: int, built: dict[int, Step | None]) -> Step | None:
        """Its executor; without a checker, which tells them apart, one instruction in several places has one of `built`."""
        site = Site(self.core, kernel.buffers, instr, kernel.name, number)
        if self.checker is not None:
            return self.checker.wrap(site)
        if id(instr) not in built:
            built[id(instr)] = build_step(site)
        return built[id(instr)]


def _sequence(steps: list[Step]) -> Step:
    if len(steps) == 1:
        return steps[0]

    def run(counters: Counters) -> None:
        for step in steps:
            step(counters)

    return run


def _loop(trip: int, slot: int, body: Step) -> Step:
    def run(counters: Counters) -> None:
        for i in range(trip):
            counters[slot] = i
            body(counters)
        counters[slot] = 0

    return run
