"""Loops whose iterations do not see each other, so that they may run in lockstep as blocks do.

An iteration may read an on-chip buffer that the loop writes only where it has written it before itself; what
comes behind the loop only where it writes it anew; and device memory that the loop writes not at all. Each iteration then
may have a copy of its own of what the loop writes.
"""

from __future__ import annotations

from collections.abc import Iterator

from graph_engine.target_ascend.chip.operands import coalesce, extent
from graph_engine.target_ascend.isa.model import Affine, Buffer, Instr, Loop, Node, Operand, Rotate, Space
from graph_engine.target_ascend.isa.specs import SPECS

_SLOT = 1
"""Counter of the loops that are looked at: those that are in no other."""


def independent(loop: Loop, behind: tuple[Node, ...], buffers: tuple[Buffer, ...]) -> set[int] | None:
    """The on-chip buffers that each iteration may have of its own; None where iterations depend on each other.

    `behind`: what follows the loop in its block.
    """
    inside = [*instructions(loop.body)]
    written = {instr.operands[0].buffer for instr in inside if SPECS[instr.opcode].writes}
    device = {number for number in written if buffers[number].space is Space.GM}
    for instr in inside:
        if any(_coefficient(p) for p in instr.params) or (instr.first_of and _SLOT in instr.first_of):
            return None
        if any(operand.buffer in device for operand in _read(instr)):
            return None
    if not all(_turns(number, inside, number in written) for number in {o.buffer for i in inside for o in i.operands}):
        return None
    own = written - device
    if _Coverage(own).holds(loop.body, 1) and _Coverage(own).holds(behind, 0):
        return own
    return None


def instructions(body: tuple[Node, ...]) -> Iterator[Instr]:
    """In program order, each once."""
    for node in body:
        if isinstance(node, Instr):
            yield node
        else:
            yield from instructions(node.body)


def unturned(rotate: Rotate | None) -> Rotate | None:
    """A rotation in an iteration that has all versions to itself."""
    if rotate is None or not _coefficient(rotate.index):
        return rotate
    return Rotate(rotate.count, Affine(rotate.index.const, tuple(t for t in rotate.index.terms if t[0] != _SLOT)))


def _coefficient(affine: Affine) -> int:
    return next((coefficient for slot, coefficient in affine.terms if slot == _SLOT), 0)


def _read(instr: Instr) -> tuple[Operand, ...]:
    """Operands whose content counts: an accumulator too that is not overwritten when an iteration first meets it."""
    adds = SPECS[instr.opcode].group == "cube" and not _starts(instr)
    return instr.operands if adds or not SPECS[instr.opcode].writes else instr.operands[1:]


def _starts(instr: Instr) -> bool:
    """Whether a product overwrites its accumulator the first time in an iteration: its place has to stay meanwhile."""
    first = instr.first_of
    return first is not None and not any(slot in first for slot, _ in instr.operands[0].offset.terms)


def _turns(number: int, inside: list[Instr], written: bool) -> bool:
    """Whether all that name a buffer turn its versions alike; one that is only read not at all."""
    turns = {
        _coefficient(operand.rotate.index) if operand.rotate is not None else 0
        for instr in inside
        for operand in instr.operands
        if operand.buffer == number
    }
    return len(turns) == 1 if written else turns == {0}


class _Coverage:
    """Whether reads of some buffers find what was written before, in the same pass through a body."""

    def __init__(self, buffers: set[int]) -> None:
        self.buffers = buffers
        self.trips: dict[int, int] = {}

    def holds(self, body: tuple[Node, ...], depth: int) -> bool:
        """`depth`: loops around the body."""
        return self._walk(body, depth, [])

    def _walk(self, body: tuple[Node, ...], depth: int, written: list[Operand]) -> bool:
        for node in body:
            if isinstance(node, Loop):
                slot = depth + 1
                self.trips[slot] = node.trip
                inner = list(written)
                if not self._walk(node.body, slot, inner):
                    return False
                written += [o for o in inner[len(written) :] if all(s != slot for s, _ in o.offset.terms + _index(o))]
            elif isinstance(node, Instr):
                for operand in _read(node):
                    if operand.buffer in self.buffers and not any(self._covers(w, operand) for w in written):
                        return False
                if node.operands and SPECS[node.opcode].writes and node.operands[0].buffer in self.buffers:
                    written.append(node.operands[0])
        return True

    def _covers(self, written: Operand, read: Operand) -> bool:
        """Whether a write has filled all that is read."""
        if written.buffer != read.buffer or written.rotate != read.rotate:
            return False
        width = written.dtype.bytes
        alike = written.offset == read.offset and written.strides == read.strides and width == read.dtype.bytes
        if alike and all(w >= r for w, r in zip(written.sizes, read.sizes, strict=True)):
            return True
        sizes, (strides,) = coalesce(written.sizes, [written.strides])
        if strides != (1,):
            return False
        apart = read.offset * read.dtype.bytes + written.offset * -width
        low, high = extent(read.sizes, read.strides, read.dtype.bytes)
        reach = [(self.trips.get(slot, 1) - 1) * coefficient for slot, coefficient in apart.terms]
        low += apart.const + sum(r for r in reach if r < 0)
        high += apart.const + sum(r for r in reach if r > 0)
        return low >= 0 and high <= sizes[0] * width and all(slot > _SLOT for slot, _ in apart.terms)


def _index(operand: Operand) -> tuple[tuple[int, int], ...]:
    return operand.rotate.index.terms if operand.rotate is not None else ()
