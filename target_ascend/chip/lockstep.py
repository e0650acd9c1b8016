"""Blocks of a launch in lockstep: one execution of an instruction serves all blocks that run the same program.

Blocks differ in the places of device memory that they name. Where these lie at equal distances, an instruction of all
blocks is one instruction whose operands have leading axes that count the blocks: of what lies in device memory with the
distance as stride, of an on-chip buffer with the size of a copy, for every block has its own. What all blocks
find alike (a weight that each of them loads) has one copy and the stride 0, and what makes it runs once.

Two kinds of axes: the blocks of one range, and ranges whose bodies differ in places alone. Buffers move: each lies
behind the one before, so that memories of any size serve. A kernel whose blocks differ in more runs block after block.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from graph_engine.target_ascend.isa.model import (
    SPECS,
    Affine,
    Blocks,
    Buffer,
    Instr,
    Kernel,
    Loop,
    Node,
    Operand,
    Part,
    Space,
)

_ALIGN = 512
"""Bytes to whose multiples buffers are moved: a fractal."""


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


def gangs(kernel: Kernel, count: int) -> list[Gang] | None:
    """The blocks of a launch of `count` in groups that may run in any order; None where a block runs several ranges."""
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
        try:
            found.append(_Gathering(kernel, first, len(team), steps).gang())
            ranges = [r for r in ranges if r not in team]
        except _Different:
            found.append(Gang(range(first.low, first.high), kernel.buffers, first.body, {}, {}))
            ranges = others
    return found


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


def _instructions(body: tuple[Node, ...]) -> Iterator[Instr]:
    for node in body:
        if isinstance(node, Instr):
            yield node
        else:
            yield from _instructions(node.body)


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
    """Makes one body of those of `team` ranges like `first`, whose operands lie `steps` further on from one to the next."""

    def __init__(self, kernel: Kernel, first: _Range, team: int, steps: list[int]) -> None:
        self.kernel, self.first = kernel, first
        blocks = first.high - first.low
        self.sizes = (team, blocks)
        self.blocks = range(first.low, first.low + team * blocks)
        self.on_chip = [buffer.space is not Space.GM for buffer in kernel.buffers]
        # Of every instruction its operands' strides along the two axes.
        self.strides: dict[int, list[tuple[int, int]]] = {}
        places = iter(steps)
        for instr in _instructions(first.body):
            strides = [
                (next(places) if team > 1 else 0, _coefficient(operand.offset, 0) if blocks > 1 else 0)
                for operand in instr.operands
            ]
            if self.strides.setdefault(id(instr), strides) != strides:
                raise _Different
        self.instructions = {id(instr): instr for instr in _instructions(first.body)}
        # Of every buffer the axes along which its content differs, as a mask.
        self.masks = [0] * len(kernel.buffers)

    def gang(self) -> Gang:
        """Raises _Different where blocks differ in more than places."""
        body, buffers = self.first.body, self.kernel.buffers
        if self.sizes == (1, 1):
            raise _Different
        for instr in self.instructions.values():
            self._check(instr)
        while self._spread():
            pass
        buffers, copies, sizes = self._move()
        self.copies = copies
        axes: dict[int, int] = {}
        made: dict[int, Instr] = {}
        for number, instr in self.instructions.items():
            made[number], leading = self._widen(instr)
            axes[id(made[number])] = leading
        return Gang(self.blocks, buffers, _replaced(body, made), axes, sizes)

    def _check(self, instr: Instr) -> None:
        """Nothing but places may depend on the block, and nothing on data."""
        if SPECS[instr.opcode].group in ("cross", "gather", "scalar_load"):
            raise _Different
        indexes = [*instr.params, *(o.rotate.index for o in instr.operands if o.rotate is not None)]
        if any(_coefficient(index, 0) for index in indexes) or (instr.first_of and 0 in instr.first_of):
            raise _Different
        if any(operand.offset.indirect for operand in instr.operands):
            raise _Different

    def _mask(self, instr: Instr) -> int:
        """Axes along which an instruction's operands differ."""
        mask = 0
        for operand, (team, block) in zip(instr.operands, self.strides[id(instr)], strict=True):
            mask |= self.masks[operand.buffer] | bool(team) | bool(block) << 1
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

    def _move(self) -> tuple[tuple[Buffer, ...], list[tuple[int, int]], dict[Space, int]]:
        """Buffers with room for all copies, each copy's distance in bytes along the axes, and the memories' sizes."""
        sizes: dict[Space, int] = {}
        buffers: list[Buffer] = []
        copies: list[tuple[int, int]] = []
        for buffer, mask in zip(self.kernel.buffers, self.masks, strict=True):
            if buffer.space is Space.GM:
                buffers.append(buffer)
                copies.append((0, 0))
                continue
            size = -(-buffer.bytes // _ALIGN) * _ALIGN
            rows, columns = (n if mask & 1 << axis else 1 for axis, n in enumerate(self.sizes))
            copies.append((size * columns if mask & 1 else 0, size if mask & 2 else 0))
            address = sizes.get(buffer.space, 0)
            buffers.append(replace(buffer, address=address, bytes=size * rows * columns))
            sizes[buffer.space] = address + size * rows * columns * buffer.versions
        return tuple(buffers), copies, sizes

    def _widen(self, instr: Instr) -> tuple[Instr, int]:
        """The instruction for all blocks, and how many leading axes it has."""
        target = instr.operands[0].buffer
        mask = self._mask(instr)
        used = [axis for axis in (0, 1) if mask & 1 << axis and self.sizes[axis] > 1]
        operands: list[Operand] = []
        for operand, strides in zip(instr.operands, self.strides[id(instr)], strict=True):
            width = operand.dtype.bytes
            copies = self.copies[operand.buffer]
            terms = operand.offset.terms
            offset = operand.offset
            if terms and terms[0][0] == 0:
                offset = Affine(offset.const + terms[0][1] * self.first.low, terms[1:])
            operands.append(
                replace(
                    operand,
                    offset=offset,
                    sizes=(*(self.sizes[axis] for axis in used), *operand.sizes),
                    strides=(*(strides[axis] + copies[axis] // width for axis in used), *operand.strides),
                )
            )
        if not self.on_chip[target] and not _apart(operands[0]):
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
