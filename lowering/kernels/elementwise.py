"""Elementwise kernels: any group of vector steps over one iteration space, operands repeated where they broadcast.

    for each tile of the outer axes:         operands that stand still inside  GM -> UB
      for each tile of the inner axes:       the other operands                GM -> UB
        the steps, one instruction each over the whole tile
        result, or several of one shape and type                               UB -> GM

The iteration space is the stored result with neighbouring axes joined where all operands allow it. An operand that
repeats along an axis is loaded once per tile in its small form and read with stride 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from graph_engine.dialects.ascend.affine import Expr
from graph_engine.dialects.ascend.kernel import KernelOp
from graph_engine.dialects.ascend.spaces import row_major
from graph_engine.lowering.kernels.builder import KernelBuilder
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.step import Scratch, Step, Value
from graph_engine.lowering.kernels.streams import Stream, TileWriter, arguments, shares
from graph_engine.lowering.kernels.vector_steps import emit_steps
from graph_engine.lowering.kernels.vector_tiling import (
    BURST,
    CoreSplit,
    DryRun,
    buffer_bytes,
    cores_for,
    deal_axis,
    dry_run,
    even_tile,
    largest,
    merge_axes,
    worthwhile_tile,
)
from graph_engine.target_ascend.isa.model import DType
from graph_engine.target_ascend.soc.soc import Soc


@dataclass(frozen=True)
class Elementwise:
    """A group: sizes of the iteration space (axes joined), operands, result, steps over the operands.

    `kept`: numbers of earlier steps whose values are results too, stored like that of the last one and in front of it.
    """

    sizes: tuple[int, ...]
    inputs: tuple[Stream, ...]
    result: Stream
    steps: tuple[Step, ...]
    kept: tuple[int, ...] = ()

    @staticmethod
    def of(
        inputs: Sequence[Stream],
        shape: tuple[int, ...],
        dtype: DType,
        steps: Sequence[Step],
        kept: Sequence[int] = (),
    ) -> Elementwise:
        """Of operands whose strides follow the axes of the stored result of `shape`."""
        sizes, strides = merge_axes(shape, [row_major(shape), *(s.strides for s in inputs)])
        merged = tuple(Stream(s.shape, s.dtype, t) for s, t in zip(inputs, strides[1:], strict=True))
        return Elementwise(sizes, merged, Stream(shape, dtype, strides[0]), tuple(steps), tuple(kept))

    @property
    def results(self) -> int:
        """How many there are."""
        return len(self.kept) + 1

    @property
    def temporaries(self) -> tuple[DType, ...]:
        """Element types of the temporary tiles."""
        return self._dry_run.temporaries

    @property
    def instructions(self) -> tuple[tuple[str, int], ...]:
        """Mnemonics of a tile's instructions, and the bytes of their widest element."""
        return self._dry_run.instructions

    @property
    def _dry_run(self) -> DryRun:
        return dry_run(self.steps, tuple((s.dtype, s.full) for s in self.inputs), self.result.dtype, self.kept)

    def tile_bytes(self, extents: Sequence[int]) -> int:
        """UB that a tile takes: two versions of what moves, one of the temporaries."""
        streams = (*self.inputs, *(self.result,) * self.results)
        moving = sum(buffer_bytes(prod(s.small(extents)), s.dtype, 2) for s in streams)
        return moving + sum(buffer_bytes(prod(extents), dtype) for dtype in self.temporaries)


def build_elementwise(name: str, group: Elementwise, soc: Soc) -> KernelOp:
    """The kernel; its arguments are the operands and the results. Raises `NoKernel` if no tile fits."""
    axis, split, _, tile = plan(group, soc)
    kb = KernelBuilder(name, arguments(group.inputs, group.result, group.results), split.block_dim)
    for sizes, base in shares(kb, group.sizes, axis, split):
        _Writer(kb, group, sizes, tile, base).axis([], [])
    return kb.kernel


def plan(group: Elementwise, soc: Soc) -> tuple[int, CoreSplit, tuple[int, ...], tuple[int, ...]]:
    """The axis that the cores share and how, extents of a core's share and of its tiles. Raises `NoKernel` if none fits."""
    width = group.result.dtype.bytes
    cores = cores_for(prod(group.sizes) * width, soc)
    axis, split = deal_axis(group.sizes, group.result.strides, width, cores, soc)
    share = tuple(split.step if a == axis else n for a, n in enumerate(group.sizes))
    return axis, split, share, _tile(group, share, soc)


def _box(sizes: Sequence[int], elements: int, unit: int) -> tuple[int, ...]:
    """Extents of a tile of at most `elements`: inner axes whole, one axis cut, outer ones 1."""
    box = [1] * len(sizes)
    for axis in range(len(sizes) - 1, -1, -1):
        if sizes[axis] <= elements:
            box[axis] = sizes[axis]
            elements //= sizes[axis]
            continue
        unit = min(unit, elements) if axis == len(sizes) - 1 else 1
        box[axis] = even_tile(sizes[axis], elements // unit * unit, unit)
        break
    return tuple(box)


def _tile(group: Elementwise, sizes: tuple[int, ...], soc: Soc) -> tuple[int, ...]:
    """Extents of a core's tiles. Raises NoKernel if not even one block of elements fits UB."""
    width, total = group.result.dtype.bytes, prod(sizes)

    def box(elements: int) -> tuple[int, ...]:
        return _box(sizes, elements, BURST // width)

    def fits(elements: int) -> bool:
        return group.tile_bytes(box(elements)) <= soc.buffers["ub"]

    most = largest(total, fits)
    if not most:
        raise NoKernel("the operands of one tile do not fit the unified buffer")
    enough = min(most, worthwhile_tile(total, width, soc))
    return box(enough if fits(enough) else most)


class _Writer(TileWriter[Elementwise]):
    """Writes the body of a core."""

    def compute(self, starts: list[Expr], extents: list[int]) -> None:
        """The steps over one tile, and the way out."""
        kb, result = self.kb, self.group.result
        values = [
            Value(stream.view(kb, buf, extents), stream.dtype, reusable=stream.full)
            for stream, buf in zip(self.group.inputs, self.loaded, strict=True)
        ]

        def whole(slot: str, dtype: DType) -> SSAValue:
            return kb.view(kb.alloc_value(slot, extents, dtype), 0, extents, row_major(extents))

        def temporary(dtype: DType, number: int) -> SSAValue:
            return whole(f"tmp{number}_{dtype.mlir}", dtype)

        targets = kb.args[len(self.group.inputs) :]
        outs = [whole(f"{arg.value.name_hint}_ub", result.dtype) for arg in targets]
        kept = dict(zip(self.group.kept, outs[:-1], strict=True))
        emit_steps(kb, self.group.steps, values, outs[-1], result.dtype, Scratch(temporary), kept)
        for target, out in zip(targets, outs, strict=True):
            kb.copy_value(kb.view(target, result.at(starts), extents, result.strides), out, result.dtype)
