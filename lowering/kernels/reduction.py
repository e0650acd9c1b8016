"""Reductions and what goes with them, as one kernel: softmax, normalizations, sums, and elementwise steps around them.

    for each tile of the kept axes:   operands GM -> UB
                                      the steps: over the whole tile, over its statistics, or reducing one to the other
                                      result UB -> GM

The iteration space is the main operand as it is stored, its axes in up to four runs: kept, reduced, kept, reduced. All
reduced elements of a tile stand in UB (`reduction_passes.py`: where they do not fit). A run of reduced axes in front of kept ones is halved by whole slabs, the last
run by rows. A statistic has one element for every index of the kept axes. The last run begins at multiples of 32 bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from math import prod

from xdsl.ir import SSAValue

from graph_engine.dialects.ascend.affine import Expr
from graph_engine.dialects.ascend.kernel import KernelOp
from graph_engine.dialects.ascend.memory import AllocOp
from graph_engine.dialects.ascend.spaces import row_major, strides_of
from graph_engine.lowering.kernels.builder import Buf, KernelBuilder
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.row_reduction import COMBINE, RowReduction, combine_slabs
from graph_engine.lowering.kernels.step import Scratch, Step, Value
from graph_engine.lowering.kernels.streams import Stream, TileWriter, arguments, shares
from graph_engine.lowering.kernels.vector_steps import emit_step, unrounded
from graph_engine.lowering.kernels.vector_tiling import (
    BLOCK,
    BURST,
    CoreSplit,
    buffer_bytes,
    cores_for,
    deal_axis,
    even_tile,
    largest,
    merge_axes,
    round_up,
    worthwhile_tile,
)
from graph_engine.target_ascend.isa.model import DType, Space
from graph_engine.target_ascend.soc.soc import Soc

UNIT = BLOCK // DType.F16.bytes
"""Elements that a row's length in UB is a multiple of."""


@dataclass(frozen=True)
class ReductionGroup:
    """Sizes of the iteration space, which axes are reduced, operands and result as streams over it, steps.

    A step whose operator is "cadd", "cmax" or "cmin" reduces a whole value to a statistic. The result's strides are 0
    along the reduced axes if it is one.
    """

    sizes: tuple[int, ...]
    reduced: tuple[bool, ...]
    inputs: tuple[Stream, ...]
    result: Stream
    steps: tuple[Step, ...]

    @staticmethod
    def of(
        sizes: Sequence[int], reduced: Sequence[bool], inputs: Sequence[Stream], result: Stream, steps: Sequence[Step]
    ) -> ReductionGroup:
        """Joins neighbouring axes of one role. Raises NoKernel where reduced and kept axes alternate more often."""
        joined: list[tuple[int, bool, tuple[int, ...]]] = []
        for role, run in groupby(range(len(sizes)), key=lambda axis: reduced[axis]):
            axes = list(run)
            streams = [tuple(s.strides[a] for a in axes) for s in (*inputs, result)]
            order = row_major([sizes[a] for a in axes])
            merged, strides = merge_axes([sizes[a] for a in axes], [order, *streams])
            if merged != (1,):
                joined += [(n, role, steps) for n, *steps in zip(merged, *strides[1:], strict=True)]  # pyright: ignore
        joined = joined or [(1, True, (1,) * (len(inputs) + 1))]
        runs = [role for role, _ in groupby(role for _, role, _ in joined)]
        if len(runs) > 4 - runs[0]:
            raise NoKernel("reduced axes lie between kept ones more than once")
        columns = [tuple(steps[i] for _, _, steps in joined) for i in range(len(inputs) + 1)]
        streams = tuple(Stream(s.shape, s.dtype, t) for s, t in zip((*inputs, result), columns, strict=True))
        shape, roles = tuple(n for n, _, _ in joined), tuple(role for _, role, _ in joined)
        return ReductionGroup(shape, roles, streams[:-1], streams[-1], unrounded(steps))

    @cached_property
    def whole(self) -> tuple[bool, ...]:
        """For every value, inputs first: whether it has an element everywhere, and is no statistic."""
        found = [any(s and r for s, r in zip(stream.strides, self.reduced, strict=True)) for stream in self.inputs]
        for step in self.steps:
            found.append(step.op not in COMBINE and any(found[i] for i in step.operands))
        return tuple(found)

    @cached_property
    def last_run(self) -> int:
        """The first axis of the last run of one role."""
        return next((a + 1 for a in range(len(self.sizes) - 2, -1, -1) if self.reduced[a] != self.reduced[-1]), 0)

    @cached_property
    def slabs(self) -> tuple[int, int]:
        """First and last + 1 of the reduced axes in front of kept ones."""
        front = [a for a, role in enumerate(self.reduced) if role and not all(self.reduced[a:])]
        return (front[0], front[-1] + 1) if front else (0, 0)

    @property
    def elements(self) -> int:
        """How many elements are reduced to one."""
        return prod(n for n, role in zip(self.sizes, self.reduced, strict=True) if role)

    def widened(self, number: int) -> bool:
        """Whether an operand is converted to fp32 as it is loaded: it is small, and only fp32 steps read it."""
        stream = self.inputs[number]
        readers = [step for step in self.steps if number in step.operands]
        types = self.types
        wide = all(types[step.operands[0]] is DType.F32 and step.operands[0] != number for step in readers)
        return stream.dtype is not DType.F32 and not stream.full and bool(readers) and wide

    @cached_property
    def types(self) -> tuple[DType, ...]:
        """The element type of every value as it is stored."""
        return (*(s.dtype for s in self.inputs), *(step.dtype for step in self.steps))


def build_reduction(name: str, group: ReductionGroup, soc: Soc) -> KernelOp:
    """The kernel; its arguments are the operands and the result. Raises `NoKernel` if no tile fits UB."""
    axis, split = deal_rows(group, soc)
    share = tuple(split.step if a == axis else n for a, n in enumerate(group.sizes))
    tile = _tile(group, share, soc)
    kb = KernelBuilder(name, arguments(group.inputs, group.result), split.block_dim)
    for sizes, base in shares(kb, group.sizes, axis, split):
        RowsWriter(kb, group, sizes, tile, base, reduction=RowReduction.on(soc)).axis([], [])
    return kb.kernel


def deal_rows(group: ReductionGroup, soc: Soc) -> tuple[int, CoreSplit]:
    """The kept axis that the cores share; a group that reduces everything has one core."""
    kept = [a for a, role in enumerate(group.reduced) if not role]
    if not kept:
        return -1, CoreSplit(1, 1)
    width = group.result.dtype.bytes
    moved = max(prod(n for n, s in zip(group.sizes, stream.strides, strict=True) if s) for stream in group.inputs)
    strides = [group.result.strides[a] for a in kept]
    place, split = deal_axis([group.sizes[a] for a in kept], strides, width, cores_for(moved * width, soc), soc)
    return kept[place], split


def _tile(group: ReductionGroup, sizes: tuple[int, ...], soc: Soc) -> tuple[int, ...]:
    """Extents of a core's tiles: reduced axes whole. Raises NoKernel if the smallest tile does not fit UB."""
    width = group.result.dtype.bytes
    first_slab = group.slabs[0] if group.slabs[1] else 0

    def box(positions: int) -> tuple[int, ...]:
        extents = list(sizes)
        for a in range(len(sizes) - 1, -1, -1):
            if group.reduced[a]:
                continue
            if a < first_slab:
                extents[a] = 1
            elif sizes[a] <= positions:
                positions //= sizes[a]
            else:
                unit = min(BURST // width, positions) if a == len(sizes) - 1 else 1
                extents[a] = even_tile(sizes[a], max(1, positions // unit * unit), unit)
                positions = 1
        return tuple(extents)

    total = prod(n for n, role in zip(sizes, group.reduced, strict=True) if not role)

    def fits(positions: int) -> bool:
        return _tile_bytes(group, box(positions), soc) <= soc.buffers["ub"]

    most = largest(total, fits)
    if not most:
        raise NoKernel(f"{group.elements} elements that are reduced together do not fit the unified buffer")
    enough = min(most, worthwhile_tile(total, group.elements * width, soc))
    return box(enough if fits(enough) else most)


def _tile_bytes(group: ReductionGroup, extents: tuple[int, ...], soc: Soc) -> int:
    """UB that a tile takes, found by writing it."""

    def write(kb: KernelBuilder) -> None:
        RowsWriter(kb, group, extents, extents, [Expr()] * len(extents), reduction=RowReduction.on(soc)).axis([], [])

    return bytes_of_writing(group, write)


def bytes_of_writing(group: ReductionGroup, write: Callable[[KernelBuilder], None]) -> int:
    """UB of the buffers that `write` asks for: two versions of what moves, one of the rest."""
    kb = KernelBuilder("count", arguments(group.inputs, group.result), 1)
    with kb.blocks(0, 1):
        write(kb)
    sizes: dict[str, int] = {}
    for op in kb.kernel.walk():
        if isinstance(op, AllocOp):
            slot, memory = op.slot.data, op.memory.type
            dtype = DType.from_mlir(str(memory.element_type))
            count = buffer_bytes(prod(memory.get_shape()), dtype, 2 if slot.startswith(("x", "y")) else 1)
            sizes[slot] = max(sizes.get(slot, 0), count)
    return sum(sizes.values())


@dataclass
class RowsWriter(TileWriter[ReductionGroup]):
    """Writes the body of a core in tiles that hold all reduced elements."""

    reduction: RowReduction = field(kw_only=True)

    def lies(self, extents: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Shape (rows, pitch) of a buffer of `extents` in which the last run begins at whole blocks, and its strides.

        Statistics of rows, one number each, lie side by side; slabs of one number do not: they are added to each other.
        """
        at = self.group.last_run
        rows, row = prod(extents[:at]), prod(extents[at:])
        pitch = round_up(row, UNIT) if rows > 1 and (row > 1 or not self.group.reduced[-1]) else row
        return (rows, pitch), (*(s * pitch for s in row_major(extents[:at])), *row_major(extents[at:]))

    def load(self, number: int, stream: Stream, starts: list[Expr], extents: list[int]) -> Buf:
        """An operand's part of the tile, in fp32 at once where only fp32 steps read it."""
        buf = super().load(number, stream, starts, extents)
        if not self.group.widened(number):
            return buf
        small = stream.small([*extents, *self.sizes[len(starts) :]])
        shape, strides = self.lies(small)
        wide = self.kb.alloc(f"wide{number}", Space.UB, shape, DType.F32)
        self.kb.vec("conv", self.kb.view(wide, 0, small, strides), self.kb.view(buf, 0, small, strides))
        return wide

    def compute(self, starts: list[Expr], extents: list[int]) -> None:
        """The steps over one tile, and the way out."""
        group, tile = self.group, Tile(self, tuple(extents))
        for stream, buf in zip(group.inputs, self.loaded, strict=True):
            tile.add_input(stream, buf)
        last_use = {i: number for number, step in enumerate(group.steps) for i in step.operands}
        for number, step in enumerate(group.steps):
            dying = [i for i in dict.fromkeys(step.operands) if last_use[i] == number]
            tile.add_step(step, dying, final=number == len(group.steps) - 1)
        out = group.result.small(extents)
        target = self.kb.view(self.kb.args[-1], group.result.at(starts), out, group.result.strides)
        self.kb.copy_value(target, tile.values[-1].view, group.result.dtype)


class Tile:
    """The values of one tile in UB; a statistic has size 1 along reduced axes."""

    def __init__(self, writer: RowsWriter, extents: tuple[int, ...]):
        self.writer, self.kb, self.group, self.extents = writer, writer.kb, writer.group, extents
        self.kept = tuple(1 if role else n for n, role in zip(extents, self.group.reduced, strict=True))
        self.values: list[Value] = []
        self.scratch = {
            True: Scratch(lambda dtype, number: self.allocate(f"tmp{number}_{dtype.mlir}", dtype, True)),
            False: Scratch(lambda dtype, number: self.allocate(f"statistic{number}_{dtype.mlir}", dtype, False)),
        }

    def allocate(self, slot: str, dtype: DType, whole: bool) -> SSAValue:
        """A buffer for a value of the tile, or for a statistic."""
        extents = self.extents if whole else self.kept
        shape, strides = self.writer.lies(extents)
        return self.kb.view(self.kb.alloc_value(slot, shape, dtype), 0, extents, strides)

    def add_input(self, stream: Stream, buf: Buf) -> None:
        """An operand, repeated where it is small."""
        whole = self.group.whole[len(self.values)]
        dense = self.writer.lies(stream.small(self.extents))[1]
        strides = [d if s else 0 for d, s in zip(dense, stream.strides, strict=True)]
        view = self.kb.view(buf, 0, self.extents if whole else self.kept, strides)
        self.values.append(Value(view, buf.dtype, reusable=stream.full))

    def add_step(self, step: Step, dying: Sequence[int], *, final: bool) -> None:
        """One step; buffers of the values in `dying` are free behind it, and may be written by it."""
        whole = self.group.whole[len(self.values)]

        def target() -> SSAValue:
            for i in dying:
                if self.values[i].reusable:
                    self.scratch[self.group.whole[i]].give(self.values[i].dtype, self.values[i].view)
            return self.allocate("y_ub", step.dtype, whole) if final else self.scratch[whole].take(step.dtype)

        if step.op in COMBINE:
            view = self.reduce(step, target)
        else:
            operands = [self.spread(i) if whole and not self.group.whole[i] else self.values[i] for i in step.operands]
            view = emit_step(self.kb, step, operands, target, self.scratch[whole])
        self.values.append(Value(view, step.dtype, reusable=True))

    def spread(self, number: int) -> Value:
        """A statistic repeated along the reduced axes."""
        value = self.values[number]
        strides = strides_of(value.view.type)
        repeated = [0 if role else s for s, role in zip(strides, self.group.reduced, strict=True)]
        return Value(self.kb.restride(value.view, self.extents, repeated), value.dtype)

    def reduce(self, step: Step, target: Callable[[], SSAValue]) -> SSAValue:
        """Slabs first, halved; then rows."""
        (number,) = step.operands
        source, kb = self.values[number], self.kb
        view, wide = source.view, None
        if source.dtype is not DType.F32:
            view = wide = self.scratch[True].take(DType.F32)
            kb.vec("conv", view, source.view)
        statistic = target()
        rows_follow = self.group.reduced[-1]
        first, last = self.group.slabs
        if not last and not rows_follow and statistic is not view:  # every reduced axis has one element
            kb.vec("conv", statistic, view)
        if last:
            view = self._halve(step.op, view, None if rows_follow else statistic)
        if rows_follow:
            (rows, pitch), _ = self.writer.lies((*(1 if first <= a < last else n for a, n in enumerate(self.extents)),))
            column = kb.restride(statistic, (rows, 1), (1, 1))
            run = prod(self.extents[self.group.last_run :])
            self.writer.reduction.emit(kb, step.op, column, kb.buffer_of(view, (rows, pitch)), run)
        if wide is not None:
            self.scratch[True].give(DType.F32, wide)
        return statistic

    def _halve(self, mnemonic: str, view: SSAValue, statistic: SSAValue | None) -> SSAValue:
        """The slabs combined to one, in a buffer of their own or in `statistic`; axes before them have size 1."""
        first, last = self.group.slabs
        sizes = (prod(self.extents[first:last]), *self.extents[last:])
        if sizes[0] == 1 and statistic is not None:
            if statistic is not view:
                self.kb.vec("conv", statistic, view)
            return statistic
        return combine_slabs(self.kb, mnemonic, view, sizes, strides_of(view.type)[last - 1 :], statistic)
