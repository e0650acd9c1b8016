"""Reductions whose reduced elements do not fit UB together: a pass over tiles of them for each statistic, one for the result.

    for each tile of the kept axes:
      for each statistic:              the neutral element
        for each tile of the rest:     operands GM -> UB; the steps that lead to it; reduced; combined with what was before
      for each tile of the rest:       operands GM -> UB; the steps that lead to the result; UB -> GM

Nothing is kept between passes but the statistics: what is cheap to compute is computed again, and operands come out of
the L2 where they fit it. Softmax takes three passes, a layer norm three, a sum one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import cast

from xdsl.ir import SSAValue

from graph_engine.dialects.ascend.affine import Expr
from graph_engine.dialects.ascend.kernel import KernelOp
from graph_engine.lowering.kernels.builder import KernelBuilder
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.reduction import (
    ReductionGroup,
    RowsWriter,
    Tile,
    build_reduction,
    bytes_of_writing,
    deal_rows,
)
from graph_engine.lowering.kernels.row_reduction import COMBINE, RowReduction
from graph_engine.lowering.kernels.step import Step, Value
from graph_engine.lowering.kernels.streams import arguments, shares
from graph_engine.lowering.kernels.vector_steps import emit_step
from graph_engine.lowering.kernels.vector_tiling import BLOCK, even_tile, largest
from graph_engine.target_ascend.soc.soc import Soc

NEUTRAL = {"cadd": 0.0, "cmax": -inf, "cmin": inf}
"""What changes nothing when it is combined."""
_LATER = cast(Value, None)
"""Stands for a value that nobody reads in this pass."""
ALONGSIDE = 64
"""Kept elements of a tile where they lie innermost: runs that a move engine brings at once."""


def build_any_reduction(name: str, group: ReductionGroup, soc: Soc) -> KernelOp:
    """The kernel in one pass where what is reduced together fits UB, else in several. Raises NoKernel."""
    try:
        return build_reduction(name, group, soc)
    except NoKernel:
        return build_reduction_in_passes(name, group, soc)


def build_reduction_in_passes(name: str, group: ReductionGroup, soc: Soc) -> KernelOp:
    """The kernel; arguments: operands, then the result. Raises NoKernel if not even the smallest tile fits UB."""
    axis, split = deal_rows(group, soc)
    share = tuple(split.step if a == axis else n for a, n in enumerate(group.sizes))
    tile = _tile(group, share, soc)
    kb = KernelBuilder(name, arguments(group.inputs, group.result), split.block_dim)
    for sizes, base in shares(kb, group.sizes, axis, split):
        PassWriter(kb, group, sizes, tile, base, reduction=RowReduction.on(soc)).kept_axes({}, {})
    return kb.kernel


def _tile(group: ReductionGroup, sizes: tuple[int, ...], soc: Soc) -> tuple[int, ...]:
    """Extents of a tile: one kept element, or a run of innermost ones; of the reduced axes the inner ones whole, one cut."""
    kept = [1] * len(sizes)
    if not group.reduced[-1]:
        kept[-1] = even_tile(sizes[-1], ALONGSIDE)

    def box(elements: int) -> tuple[int, ...]:
        extents = list(kept)
        for a in range(len(sizes) - 1, -1, -1):
            if group.reduced[a]:
                unit = BLOCK if a == len(sizes) - 1 else 1
                extents[a] = sizes[a] if sizes[a] <= elements else even_tile(sizes[a], elements, unit)
                elements = elements // sizes[a] if sizes[a] <= elements else 1
        return tuple(extents)

    def fits(elements: int) -> bool:
        extents = box(elements)

        def write(kb: KernelBuilder) -> None:
            writer = PassWriter(kb, group, extents, extents, [Expr()] * len(sizes), reduction=RowReduction.on(soc))
            writer.kept_axes({}, {})

        return bytes_of_writing(group, write) <= soc.buffers["ub"]

    most = largest(group.elements, fits)
    if not most:
        raise NoKernel("the smallest tile of a reduction does not fit the unified buffer")
    return box(most)


@dataclass
class PassWriter(RowsWriter):
    """Writes the body of a core; `starts` and `extents` of a tile are known axis by axis."""

    def kept_axes(self, starts: dict[int, Expr], extents: dict[int, int]) -> None:
        """Loops over the kept axes; behind them the passes."""
        axis = next((a for a, role in enumerate(self.group.reduced) if not role and a not in starts), None)
        if axis is None:
            _Passes(self, starts, extents).write()
            return
        for start, size in self.kb.tiles(self.sizes[axis], self.tile[axis], f"k{axis}"):
            self.kept_axes({**starts, axis: start + self.base[axis]}, {**extents, axis: size})

    def tiles(self, starts: dict[int, Expr], extents: dict[int, int]) -> Iterator[tuple[list[Expr], tuple[int, ...]]]:
        """(starts, extents) of the tiles along the reduced axes, inside their loops."""
        axis = next((a for a in range(len(self.sizes)) if a not in starts), None)
        if axis is None:
            order = range(len(self.sizes))
            yield [starts[a] for a in order], tuple(extents[a] for a in order)
            return
        for start, size in self.kb.tiles(self.sizes[axis], self.tile[axis], f"r{axis}"):
            yield from self.tiles({**starts, axis: start}, {**extents, axis: size})


class _Passes:
    """The passes over one tile of the kept axes. Values have numbers, inputs first; `known` are the statistics so far."""

    def __init__(self, writer: PassWriter, starts: dict[int, Expr], extents: dict[int, int]):
        self.writer, self.kb, self.group = writer, writer.kb, writer.group
        self.starts, self.extents = starts, extents
        whole = tuple(extents.get(a, 1) for a in range(len(writer.sizes)))
        self.kept = Tile(writer, whole)
        self.known: dict[int, Value] = {}

    def write(self) -> None:
        """Statistics in the order of the steps; what is as large as the operands waits until a pass wants it."""
        group, inputs = self.group, len(self.group.inputs)
        at = [self.starts.get(a, Expr()) for a in range(len(self.writer.sizes))]
        for number, stream in enumerate(group.inputs):
            if not group.whole[number]:
                self.kept.add_input(stream, self.writer.load(number, stream, at, list(self.kept.extents)))
                self.known[number] = self.kept.values[number]
            else:
                self.kept.values.append(_LATER)
        for number, step in enumerate(group.steps, inputs):
            if step.op in COMBINE:
                self.known[number] = Value(self.statistic(number, step), step.dtype)
            elif not group.whole[number]:
                self.known[number] = Value(self.small_step(number, step), step.dtype)
        last = inputs + len(group.steps) - 1
        if group.whole[last]:
            self.result(last)
        else:
            self.store(at, self.kept.extents, self.known[last].view)

    def slot(self, number: int) -> str:
        """The buffer of a statistic; the result's has its own name, since it leaves."""
        return "y_ub" if number == len(self.group.inputs) + len(self.group.steps) - 1 else f"held{number}"

    def statistic(self, number: int, step: Step) -> SSAValue:
        """A pass that reduces the operand of a step."""
        held = self.kept.allocate(self.slot(number), step.dtype, False)
        self.kb.vec("dup", held, imm=NEUTRAL[step.op])
        for starts, extents in self.writer.tiles(dict(self.starts), dict(self.extents)):
            tile = self.tile(starts, extents, step.operands)

            def part(tile: Tile = tile) -> SSAValue:
                return tile.allocate("part", step.dtype, False)

            self.kb.vec(COMBINE[step.op], held, held, tile.reduce(step, part))
        return held

    def small_step(self, number: int, step: Step) -> SSAValue:
        """A step over statistics alone."""

        def target() -> SSAValue:
            return self.kept.allocate(self.slot(number), step.dtype, False)

        return emit_step(self.kb, step, [self.known[i] for i in step.operands], target, self.kept.scratch[False])

    def result(self, last: int) -> None:
        """The pass that writes the result."""
        for starts, extents in self.writer.tiles(dict(self.starts), dict(self.extents)):
            tile = self.tile(starts, extents, [last])
            self.store(starts, extents, tile.values[last].view)

    def store(self, starts: Sequence[Expr], extents: Sequence[int], view: SSAValue) -> None:
        """The way out of a tile of the result."""
        result = self.group.result
        target = self.kb.view(self.kb.args[-1], result.at(starts), result.small(extents), result.strides)
        self.kb.copy_value(target, view, result.dtype)

    def tile(self, starts: list[Expr], extents: tuple[int, ...], wanted: Sequence[int]) -> Tile:
        """A tile in which the values `wanted` are computed, from operands and what is known."""
        group, inputs = self.group, len(self.group.inputs)
        needed = self.needed(wanted)
        tile = Tile(self.writer, extents)
        for number, stream in enumerate(group.inputs):
            if number in needed:
                tile.add_input(stream, self.writer.load(number, stream, starts, list(extents)))
            else:
                tile.values.append(self.known.get(number, _LATER))
        uses = {
            i: number for number in sorted(needed) if number >= inputs for i in group.steps[number - inputs].operands
        }
        final = inputs + len(group.steps) - 1
        for number, step in enumerate(group.steps, inputs):
            if number in needed:
                dying = [
                    i for i in dict.fromkeys(step.operands) if i in needed and uses[i] == number and i not in wanted
                ]
                tile.add_step(step, dying, final=number == final)
            else:
                tile.values.append(self.known.get(number, _LATER))
        return tile

    def needed(self, wanted: Sequence[int]) -> set[int]:
        """The values as large as the operands that lead to `wanted`."""
        found: set[int] = set()
        open_values = [number for number in wanted if self.group.whole[number]]
        while open_values:
            number = open_values.pop()
            if number in found:
                continue
            found.add(number)
            if number >= len(self.group.inputs):
                operands = self.group.steps[number - len(self.group.inputs)].operands
                open_values += [i for i in operands if self.group.whole[i]]
        return found
