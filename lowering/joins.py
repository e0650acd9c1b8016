"""Concats that copy nothing: their parts are written where they belong, side by side in one piece of memory.

    %a = ascend.task.call @conv2d_0(%x, %wa)        rows of memory:  | a | b |
    %b = ascend.task.call @conv2d_1(%x, %wb)                         |<- y ->|
    %y = ge.concat %a, %b {axis = 1}                no task

A *place* is a byte of a piece of memory. Every value that a task writes gets one; views and joined concats only name
bytes that others write. To join a concat is to demand that its parts follow one another. The demands of several concats
over the same values (DenseNet: each layer reads all before it) are consistent if every value keeps one place, and sound
if no two tasks write to the same byte. A concat that would break either stays a task.

Refused as well: parts that do not lie in one piece in the result, a part that is an input of the graph or a constant,
one that a task has to put into an output of its own. An output is joined into where it is the whole piece.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import cast

from xdsl.dialects.func import ReturnOp
from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.core import Tensor, shape_of
from graph_engine.dialects.ge.shape import ConcatOp
from graph_engine.dialects.layout import encoding_of, storage_bytes
from graph_engine.lowering.views import is_whole_view, part_offset, view_offset


@dataclass(frozen=True)
class Whole:
    """A value that the graph returns, and its bytes: those of an output of their own."""

    value: SSAValue
    begin: int
    end: int

    def moved(self, shift: int) -> Whole:
        """The same, `shift` bytes further on."""
        return Whole(self.value, self.begin + shift, self.end + shift)


@dataclass(eq=False)
class Piece:
    """Values that tasks write into one piece of memory, and where: bytes from a common origin."""

    places: dict[SSAValue, int]
    spans: list[tuple[int, int]]
    """(begin, end) of each of them, sorted; they do not overlap."""
    wholes: list[Whole]
    shared: bool = False
    """Whether a concat was joined in it."""

    @property
    def bytes(self) -> int:
        """Its extent."""
        return self.spans[-1][1] - self.spans[0][0]

    def has_room(self, begin: int, end: int) -> bool:
        """Whether nobody writes any of these bytes."""
        at = bisect_left(self.spans, (begin, end))
        return (at == len(self.spans) or end <= self.spans[at][0]) and (at == 0 or self.spans[at - 1][1] <= begin)


class Joins:
    """Which concats of a graph are joined, and the place of every value."""

    def __init__(self) -> None:
        self._pieces: dict[SSAValue, Piece] = {}
        self._joined: dict[SSAValue, tuple[SSAValue, int]] = {}

    def _piece(self, value: SSAValue) -> Piece:
        """The piece of memory of a value that a task writes."""
        if value not in self._pieces:
            wholes = [Whole(value, 0, _size(value))] if is_returned(value) else []
            self._pieces[value] = Piece({value: 0}, [(0, _size(value))], wholes)
        return self._pieces[value]

    def _written(self, value: SSAValue) -> tuple[SSAValue, int] | None:
        """A value that a task writes, and how far behind its begin `value` begins; None for inputs and constants."""
        offset = 0
        while isinstance(value.owner, Operation):
            if value in self._joined:
                root, inside = self._joined[value]
                return root, inside + offset
            inside = view_offset(value.owner)
            if inside is None:
                return None if isinstance(value.owner, ConstantOp) else (value, offset)
            offset += inside
            value = value.owner.operands[0]
        return None

    def place(self, value: SSAValue) -> tuple[Piece, int] | None:
        """The shared piece of memory of a written value or a joined concat, and where in it; None for all others."""
        root, inside = self._joined.get(value, (value, 0))
        piece = self._pieces.get(root)
        return (piece, piece.places[root] + inside - piece.spans[0][0]) if piece is not None and piece.shared else None

    def join(self, op: Operation) -> bool:
        """Joins a concat, if it can be; concats are to be tried in the order of the graph."""
        if not isinstance(op, ConcatOp) or "ge.no_kernel" in op.attributes or (inside := part_offsets(op)) is None:
            return False
        parts = [self._written(value) for value in op.xs]
        roots = [part for part in parts if part is not None]
        if len(roots) < len(parts):
            return False
        home = self._piece(roots[0][0])
        begin = home.places[roots[0][0]] + roots[0][1]  # of the result, by the origin of `home`
        shifts: dict[Piece, int] = {home: 0}
        for (root, offset), at in zip(roots, inside, strict=True):
            piece = self._piece(root)
            shift = begin + at - (piece.places[root] + offset)
            if shifts.setdefault(piece, shift) != shift:
                return False
        if not self._merge(shifts, op.result, begin):
            return False
        self._joined[op.result] = roots[0]
        return True

    def _merge(self, shifts: dict[Piece, int], result: SSAValue, begin: int) -> bool:
        """Makes one piece of several, moved by their shifts, with `result` at `begin`; changes nothing if it fails."""
        home = max(shifts, key=lambda piece: len(piece.places))
        others = [(piece, shift - shifts[home]) for piece, shift in shifts.items() if piece is not home]
        moved = [(value, at + shift) for piece, shift in others for value, at in piece.places.items()]
        spans = sorted((at, at + _size(value)) for value, at in moved)
        if any(end > following for (_, end), (following, _) in pairwise(spans)):
            return False
        if not all(home.has_room(*span) for span in spans):
            return False
        wholes = [*home.wholes, *(whole.moved(shift) for piece, shift in others for whole in piece.wholes)]
        if is_returned(result):
            at = begin - shifts[home]
            wholes.append(Whole(result, at, at + _size(result)))
        ends = [*spans[:1], *spans[-1:], home.spans[0], home.spans[-1]]
        extent = min(ends)[0], max(end for _, end in ends)
        if wholes and [(whole.begin, whole.end) for whole in wholes] != [extent]:
            return False
        home.wholes, home.shared = wholes, True
        for span in spans:
            insort(home.spans, span)
        for value, at in moved:
            home.places[value] = at
            self._pieces[value] = home
        return True


def _size(value: SSAValue) -> int:
    return storage_bytes(cast(Tensor, value.type))


def is_returned(value: SSAValue) -> bool:
    """Whether the graph returns a value, or a view of it as a whole."""
    readers = [use.operation for use in value.uses]
    return any(
        isinstance(reader, ReturnOp) or (is_whole_view(reader) and is_returned(reader.results[0])) for reader in readers
    )


def part_offsets(op: ConcatOp) -> Sequence[int] | None:
    """Where the parts of a concat begin in the result, in bytes; None if one does not lie there in one piece.

    Padding of the parts becomes padding of the result, so it has to hold what the result promises.
    """
    result = op.result.type
    if any(-1 in shape_of(value) or 0 in shape_of(value) for value in (*op.xs, op.result)):
        return None
    if not all(encoding_of(value.type).promises(encoding_of(result).pad_lanes) for value in op.xs):
        return None
    axis, start = op.axis.value.data % len(shape_of(op.result)), 0
    offsets: list[int] = []
    for value in op.xs:
        cut = [(0, n) for n in shape_of(op.result)]
        cut[axis] = start, shape_of(value)[axis]
        offset = part_offset(result, cast(Tensor, value.type), cut)
        if offset is None:
            return None
        offsets.append(offset)
        start += shape_of(value)[axis]
    return offsets
