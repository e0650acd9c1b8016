"""Blocks of a launch in lockstep: one execution of an instruction serves all blocks that run the same program.

Blocks differ in the places of device memory that they name. Where these lie at equal distances, an instruction of all
blocks is one instruction whose operands have leading axes that count the blocks: of what lies in device memory with the
distance as stride, of an on-chip buffer with the size of a copy, for every block has its own. What all blocks
find alike (a weight that each of them loads) has one copy and the stride 0, and what makes it runs once.

Three kinds of axes: the blocks of one range, ranges whose bodies differ in places alone, and the iterations of a loop that do
not see each other (`iterations`), which have copies of their own of what the loop writes. Buffers move: each lies
behind the one before, so that memories of any size serve. A kernel whose blocks differ in more runs block after block.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from graph_engine.target_ascend.chip.iterations import independent, instructions, unturned
from graph_engine.target_ascend.isa.model import Affine, Blocks, Buffer, Instr, Kernel, Loop, Node, Operand, Part, Space
from graph_engine.target_ascend.isa.specs import SPECS

_ALIGN = 512
"""Bytes to whose multiples buffers are moved: a fractal."""

_ROOM = 1 << 22
"""Bytes of on-chip memory that the iterations of a loop may have in all."""


@dataclass(frozen=True, slots=True)
class Gang:
    """Blocks that run as one, or block after block where nothing is gained (`axes` empty and `body` as it was).

    `axes`: leading axes of an instruction, by its identity. `sizes`: bytes of the memories that the moved buffers need.
    """

    blocks: range
    buffers: tuple[Buffer, ...]
    body: tuple[Node, ...]
    axes: dict[int, int]
    sizes: dict[Space, int]


class _Different(Exception):
    """Blocks that cannot run as one."""


def gangs(kernel: Kernel, count: int, loops: bool = True) -> list[Gang] | None:
    """The blocks of a launch of `count` in groups that may run in any order; None where a block runs several ranges.

    `loops`: no argument that the kernel writes overlaps one that it reads.
    """
    ranges: list[_Range] = []
    end = 0
    for node in kernel.body:
        if not isinstance(node, Blocks) or node.part is not Part.WHOLE or node.lo < end:
            return None
        end = node.hi
        if node.lo < count:
            ranges.append(_Range(node.lo, min(node.hi, count), tuple(_working(node.body))))
    found: list[Gang] = []
    while ranges:
        first, *others = ranges
        team, steps = [first], list[int]()
        for other in others:
            shifts = _shifts(first, other)
            if shifts is None or other.high - other.low != first.high - first.low:
                continue
            if len(team) == 1:
                steps = shifts
            if shifts == [step * len(team) for step in steps]:
                team.append(other)
        gang = _gathered(kernel, first, len(team), steps, loops)
        if gang is None:
            found.append(Gang(range(first.low, first.high), kernel.buffers, first.body, {}, {}))
        else:
            found.append(gang)
        ranges = others if gang is None else [r for r in ranges if r not in team]
    return found


def _gathered(kernel: Kernel, first: _Range, team: int, steps: list[int], loops: bool) -> Gang | None:
    """With loops in lockstep, without, or not at all."""
    for with_loops in (True, False) if loops else (False,):
        try:
            return _Gathering(kernel, first, team, steps, with_loops).gang()
        except _Different:
            pass
    return None


@dataclass(frozen=True, slots=True, eq=False)
class _Range:
    """Blocks [low, high) and their body without synchronisation."""

    low: int
    high: int
    body: tuple[Node, ...]


def _working(body: tuple[Node, ...]) -> Iterator[Node]:
    for node in body:
        if isinstance(node, Instr):
            if SPECS[node.opcode].group != "sync":
                yield node
        else:
            assert isinstance(node, Loop)
            yield Loop(node.trip, tuple(_working(node.body)))


def _shifts(first: _Range, other: _Range) -> list[int] | None:
    """How many elements further on each operand of `other`'s first block lies; None where more differs than that."""
    found: list[int] = []
    return found if _match(first.body, other.body, first.low, other.low, found) else None


def _match(first: tuple[Node, ...], other: tuple[Node, ...], low: int, high: int, found: list[int]) -> bool:
    if len(first) != len(other):
        return False
    for a, b in zip(first, other, strict=True):
        if isinstance(a, Instr) and isinstance(b, Instr):
            if a.opcode is not b.opcode or a.params != b.params or len(a.operands) != len(b.operands):
                return False
            if a.first_of != b.first_of or a.immediate != b.immediate:
                return False
            for p, q in zip(a.operands, b.operands, strict=True):
                if p.buffer != q.buffer or p.sizes != q.sizes or p.strides != q.strides or p.dtype is not q.dtype:
                    return False
                if p.offset.terms != q.offset.terms or p.rotate != q.rotate:
                    return False
                coefficient = _coefficient(p.offset, 0)
                found.append(q.offset.const - p.offset.const + coefficient * (high - low))
        elif not (isinstance(a, Loop) and isinstance(b, Loop) and a.trip == b.trip) or not _match(
            a.body, b.body, low, high, found
        ):
            return False
    return True


def _coefficient(offset: Affine, slot: int) -> int:
    for number, coefficient in offset.terms:
        if number == slot:
            return coefficient
    return 0


class _Gathering:
    """Makes one body of those of `team` ranges like `first`, whose operands lie `steps` further on from one to the next.

    `loops`: iterations of loops that do not see each other run in lockstep too.
    """

    def __init__(self, kernel: Kernel, first: _Range, team: int, steps: list[int], loops: bool) -> None:
        blocks = first.high - first.low
        self.first, self.blocks = first, range(first.low, first.low + team * blocks)
        self.buffers = list(kernel.buffers)
        self.sizes = [team, blocks]
        # Of every instruction the axis of its loop, or that of the blocks.
        self.loop: dict[int, int] = {}
        self.body = self._place(first.body, loops)
        self.on_chip = [buffer.space is not Space.GM for buffer in self.buffers]
        # Of every instruction its operands' strides along the axes.
        self.strides: dict[int, list[tuple[int, ...]]] = {}
        places = iter(steps)
        for instr in instructions(self.body):
            axis = self.loop[id(instr)]
            strides = [
                (
                    next(places) if team > 1 else 0,
                    _coefficient(operand.offset, 0) if blocks > 1 else 0,
                    *(_coefficient(operand.offset, 1) if axis == other else 0 for other in range(2, len(self.sizes))),
                )
                for operand in instr.operands
            ]
            if self.strides.setdefault(id(instr), strides) != strides:
                raise _Different
        self.instructions = {id(instr): instr for instr in instructions(self.body)}
        # Of every buffer the axes along which its content differs, as a mask.
        self.masks = [0] * len(self.buffers)

    def _place(self, body: tuple[Node, ...], loops: bool) -> tuple[Node, ...]:
        """The body with an axis for each of its loops whose iterations may run in lockstep, and buffers of their own there."""
        found: list[Node] = []
        for number, node in enumerate(body):
            own = None
            if isinstance(node, Loop) and loops and node.trip > 1:
                own = independent(node, body[number + 1 :], tuple(self.buffers))
            if isinstance(node, Loop) and own is not None:
                room = node.trip * len(self.blocks) * sum(self.buffers[n].bytes for n in own)
                if room <= _ROOM:
                    clones = {n: len(self.buffers) + i for i, n in enumerate(sorted(own))}
                    self.buffers += [self.buffers[n] for n in clones]
                    self.sizes.append(node.trip)
                    found.append(Loop(1, self._owned(node.body, clones, {})))
                    continue
            found.append(node)
            for instr in instructions((node,)):
                self.loop[id(instr)] = 1
        return tuple(found)

    def _owned(self, body: tuple[Node, ...], clones: dict[int, int], made: dict[int, Instr]) -> tuple[Node, ...]:
        """The body of the loop of the last axis on buffers of its own."""
        for instr in instructions(body):
            if id(instr) not in made:
                operands = tuple(
                    replace(o, buffer=clones.get(o.buffer, o.buffer), rotate=unturned(o.rotate)) for o in instr.operands
                )
                made[id(instr)] = replace(instr, operands=operands)
                self.loop[id(made[id(instr)])] = len(self.sizes) - 1
        return _replaced(body, made)

    def gang(self) -> Gang:
        """Raises _Different where blocks differ in more than places."""
        if max(self.sizes) == 1:
            raise _Different
        for instr in self.instructions.values():
            self._check(instr)
        while self._spread():
            pass
        buffers, sizes = self._move()
        axes: dict[int, int] = {}
        made: dict[int, Instr] = {}
        for number, instr in self.instructions.items():
            made[number], leading = self._widen(instr)
            axes[id(made[number])] = leading
        return Gang(self.blocks, buffers, _replaced(self.body, made), axes, sizes)

    def _check(self, instr: Instr) -> None:
        """Nothing but places may depend on the block, and nothing on data."""
        if SPECS[instr.opcode].group in ("cross", "gather", "scalar_load"):
            raise _Different
        if len(self.blocks) == 1:
            return
        indexes = [*instr.params, *(o.rotate.index for o in instr.operands if o.rotate is not None)]
        if any(_coefficient(index, 0) for index in indexes) or (instr.first_of and 0 in instr.first_of):
            raise _Different
        if any(operand.offset.indirect for operand in instr.operands):
            raise _Different

    def _mask(self, instr: Instr) -> int:
        """Axes along which an instruction's operands differ."""
        mask = 0
        for operand, strides in zip(instr.operands, self.strides[id(instr)], strict=True):
            mask |= self.masks[operand.buffer]
            for axis, stride in enumerate(strides):
                mask |= bool(stride) << axis
        return mask

    def _spread(self) -> bool:
        """Lets results differ where what they are made from does; whether there was something new."""
        new = False
        for instr in self.instructions.values():
            target = instr.operands[0].buffer
            if self.on_chip[target]:
                mask = self._mask(instr)
                if mask | self.masks[target] != self.masks[target]:
                    self.masks[target] |= mask
                    new = True
        return new

    def _move(self) -> tuple[tuple[Buffer, ...], dict[Space, int]]:
        """Buffers with room for all copies, and the memories' sizes; notes the copies' distances in bytes along the axes."""
        sizes: dict[Space, int] = {}
        buffers: list[Buffer] = []
        self.copies: list[list[int]] = []
        for buffer, mask in zip(self.buffers, self.masks, strict=True):
            copies = [0] * len(self.sizes)
            self.copies.append(copies)
            if buffer.space is Space.GM:
                buffers.append(buffer)
                continue
            size = -(-buffer.bytes // _ALIGN) * _ALIGN
            for axis in reversed(range(len(self.sizes))):
                if mask & 1 << axis:
                    copies[axis] = size
                    size *= self.sizes[axis]
            address = sizes.get(buffer.space, 0)
            buffers.append(replace(buffer, address=address, bytes=size))
            sizes[buffer.space] = address + size * buffer.versions
        return tuple(buffers), sizes

    def _widen(self, instr: Instr) -> tuple[Instr, int]:
        """The instruction for all blocks, and how many leading axes it has."""
        mask, loop = self._mask(instr), self.loop[id(instr)]
        used = [axis for axis, size in enumerate(self.sizes) if mask & 1 << axis and size > 1]
        operands: list[Operand] = []
        for operand, strides in zip(instr.operands, self.strides[id(instr)], strict=True):
            copies = self.copies[operand.buffer]
            terms = operand.offset.terms
            offset = operand.offset
            if terms and terms[0][0] == 0:
                offset = Affine(offset.const + terms[0][1] * self.first.low, terms[1:])
            if loop > 1:
                offset = Affine(offset.const, tuple(term for term in offset.terms if term[0] != 1))
            operands.append(
                replace(
                    operand,
                    offset=offset,
                    sizes=(*(self.sizes[axis] for axis in used), *operand.sizes),
                    strides=(*(strides[axis] + copies[axis] // operand.dtype.bytes for axis in used), *operand.strides),
                )
            )
        if not self.on_chip[instr.operands[0].buffer] and not _apart(operands[0]):
            raise _Different
        return replace(instr, operands=tuple(operands)), len(used)


def _replaced(body: tuple[Node, ...], made: dict[int, Instr]) -> tuple[Node, ...]:
    return tuple(
        made[id(node)] if isinstance(node, Instr) else replace(node, body=_replaced(node.body, made)) for node in body
    )


def _apart(operand: Operand) -> bool:
    """Whether all elements lie in places of their own, as far as nested axes tell."""
    reach = 1
    for stride, size in sorted(zip(map(abs, operand.strides), operand.sizes, strict=True)):
        if size > 1:
            if stride < reach:
                return False
            reach = stride * (size - 1) + reach
    return True
