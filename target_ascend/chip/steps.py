"""A kernel flattened for timing: one list of steps per group of equal blocks, loops expanded, costs filled in.

Steps share one tuple per instruction (and flag version), so a loop without device memory accesses is expanded by
list repetition; a loop body is expanded once per combination of flag versions that it starts with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.chip.costs import (
    GmPath,
    check_pipe,
    collapse,
    gm_path,
    instruction_cycles,
    moved_bytes,
    payload_bytes,
)
from graph_engine.target_ascend.isa.model import (
    FIRST_REGISTER,
    Affine,
    Blocks,
    Instr,
    Kernel,
    Loop,
    Node,
    Opcode,
    Operand,
    Part,
    Pipe,
    Rotate,
    Space,
)
from graph_engine.target_ascend.isa.specs import SPECS
from graph_engine.target_ascend.soc.soc import Soc

WORK, MOVE_GM, SET, WAIT, BARRIER_ALL, CROSS_SET, CROSS_WAIT = range(7)
"""Kinds of steps. MOVE_GM takes its latency and transfer from the list of device memory accesses."""

Step: TypeAlias = tuple[int, int, int, int]
"""(kind, pipe, cycles, flag number). Flags are numbered over (source pipe, destination pipe, event); cross-core flags have
their own numbers."""


Move: TypeAlias = tuple[int, int]
"""(latency, transfer) in cycles of a device memory move."""


@dataclass(slots=True)
class GmAccess:
    """A move to or from device memory, for all blocks of a group in step.

    `runs`: (offset, bytes) of what the group's blocks touch, from the first byte on, merged where they meet; `const`
    and `terms` place that byte in the argument; `handled` and `payload` are per block (see `costs`). `movers`:
    blocks of all groups that make just this access, so that what they share is fetched at their joint rate.
    `indirect`: the place depends on data, so that every block fetches lines of its own, which the L2 does not hold.
    `even`: rows and blocks lie whole lines apart, so that all begin with a line where the first does.
    """

    argument: int
    write: bool
    path: GmPath
    handled: int
    payload: int
    const: int
    terms: tuple[tuple[int, int], ...]
    runs: list[tuple[int, int]]
    movers: int = 1
    indirect: bool = False
    even: bool = True
    rotate: tuple[Rotate, int] | None = None
    """Of what has versions, with the bytes of one."""
    footprints: dict[int, list[tuple[int, int]]] = field(default_factory=dict[int, list[tuple[int, int]]])
    moves: dict[tuple[int, int], Move] = field(default_factory=dict[tuple[int, int], Move])


@dataclass(slots=True)
class BlockGroup:
    """Blocks, or their parts, that run the same steps. `accesses`: (access, byte offset in the argument) in program order."""

    part: Part
    blocks: tuple[int, ...]
    steps: list[Step]
    accesses: list[tuple[GmAccess, int]]
    busy: list[int]
    """Cycles by pipe without those of device memory moves and flags; S counts one for every instruction."""
    payload_read: int = 0
    payload_written: int = 0

    @property
    def payload(self) -> int:
        """Bytes that a block moves from and to device memory."""
        return self.payload_read + self.payload_written

    timed: dict[tuple[tuple[Move, ...], ...], tuple[int, list[list[int]]]] = field(
        default_factory=dict[tuple[tuple[Move, ...], ...], tuple[int, list[list[int]]]]
    )
    """Of the first group of a team: end and busy cycles of each group, by the moves of each."""


@dataclass(slots=True)
class KernelSteps:
    """The groups of a kernel's blocks, of a mixed one three to a team. `flags`: how many flags the steps number."""

    teams: list[tuple[BlockGroup, ...]]
    flags: int

    @property
    def groups(self) -> list[BlockGroup]:
        """All groups."""
        return [group for team in self.teams for group in team]

    def sharers(self, part: Part, teams: int) -> int:
        """How many cores of its kind share the memories, as a part of a mixed launch sees it.

        No core is left less than its fair share among all that the launch holds. Where a kind of core moves most of the bytes,
        it has as well what the other kind leaves: the part of the rate that its bytes are of all.
        """
        bytes_of = {True: 0, False: 0}
        for group in self.groups:
            bytes_of[group.part is Part.CUBE] += group.payload * len(group.blocks)
        own, cores = bytes_of[part is Part.CUBE], teams if part is Part.CUBE else 2 * teams
        return min(-(-cores * sum(bytes_of.values()) // own), 3 * teams) if own else cores


def flatten_kernel(soc: Soc, kernel: Kernel, block_dim: int) -> KernelSteps:
    """Flattens `kernel` for a launch of `block_dim` blocks. Raises GraphEngineError for what the chip lacks."""
    edges = {0, block_dim}
    for node in kernel.body:
        if isinstance(node, Blocks):
            edges |= {min(node.lo, block_dim), min(node.hi, block_dim)}
    merged: dict[tuple[int, ...], list[int]] = {}
    ordered = sorted(edges)
    for lo, hi in zip(ordered, ordered[1:], strict=False):
        runs = tuple(i for i, node in enumerate(kernel.body) if not isinstance(node, Blocks) or node.lo <= lo < node.hi)
        merged.setdefault(runs, []).extend(range(lo, hi))
    flags: dict[tuple[int, int, int], int] = {}
    teams: list[tuple[BlockGroup, ...]] = []
    shared: dict[int, _Static] = {}
    for indexes, blocks in merged.items():
        bodies: dict[Part, list[Node]] = {part: [] for part in kernel.parts}
        for i in indexes:
            node = kernel.body[i]
            if isinstance(node, Blocks):
                bodies[node.part].extend(node.body)
            else:
                bodies[Part.WHOLE].append(node)
        of_blocks = tuple(blocks)
        teams.append(
            tuple(
                _Expander(soc, kernel, of_blocks, flags, shared).group(part, tuple(body))
                for part, body in bodies.items()
            )
        )
    steps = KernelSteps(teams, len(flags))
    _count_movers(steps.groups)
    return steps


def _count_movers(groups: list[BlockGroup]) -> None:
    """Adds up, for every device memory access, the blocks of the groups that make the very same one."""
    sharers: dict[tuple[object, ...], int] = {}
    keyed: list[tuple[tuple[object, ...], GmAccess]] = []
    for group in groups:
        found: set[tuple[object, ...]] = set()
        for access in {id(access): access for access, _ in group.accesses}.values():
            key = access.argument, access.write, access.const, access.terms, tuple(access.runs)
            found.add(key)
            keyed.append((key, access))
        for key in found:
            sharers[key] = sharers.get(key, 0) + len(group.blocks)
    for key, access in keyed:
        access.movers = sharers[key]


_Static: TypeAlias = tuple[list[Step], Rotate | None, GmAccess | None]
"""Steps of an instruction by version of its event id, the rotation that chooses, its device memory access."""


class _Expander:
    """Expands the body of one group of blocks; the first block stands for all in loop-carried event ids.

    `flags` and `shared`, the steps of instructions that are the same for all blocks, belong to all groups of a kernel.
    """

    def __init__(
        self,
        soc: Soc,
        kernel: Kernel,
        blocks: tuple[int, ...],
        flags: dict[tuple[int, int, int], int],
        shared: dict[int, _Static],
    ):
        self.soc, self.kernel, self.blocks, self.flags, self.shared = soc, kernel, blocks, flags, shared
        self.gm = [buffer.space is Space.GM for buffer in kernel.buffers]
        self.steps: list[Step] = []
        self.accesses: list[tuple[GmAccess, int]] = []
        self.static: dict[int, _Static] = {}
        self.rotates: dict[int, tuple[Rotate, ...] | None] = {}
        self.memo: dict[tuple[int, tuple[int, ...]], list[Step]] = {}

    def group(self, part: Part, body: tuple[Node, ...]) -> BlockGroup:
        self.expand(body, [self.blocks[0]], self.steps)
        busy = [0] * len(Pipe)
        count = Counter(map(id, self.steps))
        table = {id(step): step for step in self.steps}
        for key, times in count.items():
            kind, pipe, cycles, _ = table[key]
            if kind == WORK:
                busy[pipe] += cycles * times
        busy[Pipe.S] = len(self.steps)
        group = BlockGroup(part, self.blocks, self.steps, self.accesses, busy)
        for access, _ in self.accesses:
            if access.write:
                group.payload_written += access.payload
            else:
                group.payload_read += access.payload
        return group

    def expand(self, body: tuple[Node, ...], counters: list[int], out: list[Step]) -> None:
        for node in body:
            if isinstance(node, Instr):
                static = self.static.get(id(node))
                if static is None:
                    static = self.static[id(node)] = self.shared.get(id(node)) or self.prepare(node)
                    if static[2] is None:
                        self.shared[id(node)] = static
                steps, rotate, access = static
                if rotate is not None:
                    out.append(steps[rotate.index.at(counters) % rotate.count])
                    continue
                out.append(steps[0])
                if access is not None:
                    offset = access.const
                    for slot, coef in access.terms:
                        offset += coef * counters[slot]
                    if access.rotate is not None:
                        version, size = access.rotate
                        offset += version.index.at(counters) % version.count * size
                    self.accesses.append((access, offset))
            elif isinstance(node, Loop):
                self.loop(node, counters, out)

    def loop(self, node: Loop, counters: list[int], out: list[Step]) -> None:
        if id(node) not in self.rotates:
            self.rotates[id(node)] = self.versions(node)
        rotates = self.rotates[id(node)]
        depth = len(counters)
        counters.append(0)
        if rotates is None:
            for i in range(node.trip):
                counters[-1] = i
                self.expand(node.body, counters, out)
        elif not rotates:
            once: list[Step] = []
            self.expand(node.body, counters, once)
            out.extend(once * node.trip)
        else:
            key = (id(node), tuple(_outer(r.index, counters, depth) % r.count for r in rotates))
            if key not in self.memo:
                expanded: list[Step] = []
                for i in range(node.trip):
                    counters[-1] = i
                    self.expand(node.body, counters, expanded)
                self.memo[key] = expanded
            out.extend(self.memo[key])
        counters.pop()

    def versions(self, node: Loop) -> tuple[Rotate, ...] | None:
        """Rotations of event ids inside the loop; None where it accesses device memory."""
        found: list[Rotate] = []
        for instr in _instructions(node):
            if any([self.gm[o.buffer] for o in instr.operands]):
                return None
            if instr.event_rotate is not None:
                found.append(instr.event_rotate)
        return tuple(dict.fromkeys(found))

    def prepare(self, instr: Instr) -> _Static:
        """The steps that stand for an instruction: one, or one for every version of its event id."""
        kernel, opcode = self.kernel, instr.opcode
        if opcode in (Opcode.SET_FLAG, Opcode.WAIT_FLAG):
            if any(p.terms for p in instr.params):
                raise GraphEngineError(f"kernel {kernel.name}: an event id is a number or rotates")
            source, target, event = (p.const for p in instr.params)
            kind, pipe = (SET, source) if opcode == Opcode.SET_FLAG else (WAIT, target)
            versions = instr.event_rotate.count if instr.event_rotate else 1
            numbers = [self.flags.setdefault((source, target, event + v), len(self.flags)) for v in range(versions)]
            return [(kind, pipe, self.soc.sync.cycles, number) for number in numbers], instr.event_rotate, None
        if opcode in (Opcode.BLOCK_SET, Opcode.BLOCK_WAIT):
            (flag,) = instr.params
            if flag.terms:
                raise GraphEngineError(f"kernel {kernel.name}: a cross-core flag is a number")
            kind = CROSS_SET if opcode is Opcode.BLOCK_SET else CROSS_WAIT
            pipe = instr.pipe.value if opcode is Opcode.BLOCK_SET else 0
            return [(kind, pipe, self.soc.sync.cycles, flag.const)], None, None
        check_pipe(kernel, instr)
        cycles = instruction_cycles(self.soc, kernel.buffers, instr)
        if opcode == Opcode.BARRIER:
            pipe = instr.params[0].const
            whole = pipe == Pipe.ALL
            return [(BARRIER_ALL, 0, cycles, 0) if whole else (WORK, pipe, cycles, 0)], None, None
        if any([self.gm[o.buffer] for o in instr.operands]):
            return [(MOVE_GM, instr.pipe.value, 0, 0)], None, self.access(instr)
        return [(WORK, instr.pipe.value, cycles, 0)], None, None

    def access(self, instr: Instr) -> GmAccess:
        target, source = instr.operands[:2]
        buffers = self.kernel.buffers
        write = buffers[target.buffer].space == Space.GM
        operand = target if write else source
        size = operand.dtype.bytes
        coef = sum(c for slot, c in operand.offset.terms if slot == 0) * size
        runs = _runs(operand, [coef * b for b in self.blocks] if coef else [0], self.soc.l2.line_bytes)
        first = runs[0][0]
        axes = collapse(operand.sizes, (operand.strides,))
        rows = [stride for _, (stride,) in axes if stride != 1]
        steps = [
            coef,
            *(step * size for step in rows + [c for slot, c in operand.offset.terms if slot >= FIRST_REGISTER]),
        ]
        return GmAccess(
            argument=buffers[operand.buffer].address,
            write=write,
            path=gm_path(self.soc, buffers[source.buffer].space, buffers[target.buffer].space),
            handled=_handled(instr),
            payload=payload_bytes(operand),
            const=operand.offset.const * size + first,
            terms=tuple((slot, c * size) for slot, c in operand.offset.terms if 0 < slot < FIRST_REGISTER),
            indirect=operand.offset.indirect,
            even=not any(step % self.soc.l2.line_bytes for step in steps),
            rotate=(operand.rotate, buffers[operand.buffer].bytes) if operand.rotate is not None else None,
            runs=[(start - first, length) for start, length in runs],
        )


def _handled(instr: Instr) -> int:
    """Bytes that the engine of a move handles; of what leaves L0C those that are written."""
    target, source = map(moved_bytes, instr.operands[:2])
    return target if SPECS[instr.opcode].group == "fixpipe" else max(target, source)


def _outer(index: Affine, counters: list[int], depth: int) -> int:
    """`index` at the first `depth` counters, the inner ones at 0."""
    value = index.const
    for slot, coef in index.terms:
        if slot < depth:
            value += coef * counters[slot]
    return value


def _instructions(node: Node) -> Iterator[Instr]:
    if isinstance(node, Instr):
        yield node
    else:
        for inner in node.body:
            yield from _instructions(inner)


def _runs(operand: Operand, shifts: list[int], line: int) -> list[tuple[int, int]]:
    """(offset, bytes) of everything that the view touches at the given byte shifts, merged where less than a
    line lies between."""
    run, starts = operand.dtype.bytes, [0]
    for count, (stride,) in reversed(collapse(operand.sizes, (operand.strides,))):
        step = stride * operand.dtype.bytes
        if len(starts) == 1 and step - run < line:
            run += (count - 1) * step
        else:
            starts = [s + i * step for s in starts for i in range(count)]
    starts = sorted({s + shift for s in starts for shift in shifts})
    merged: list[tuple[int, int]] = []
    first = end = starts[0]
    for start in starts:
        if start >= end + line:
            merged.append((first, end - first))
            first = start
        end = start + run
    merged.append((first, end - first))
    return merged
