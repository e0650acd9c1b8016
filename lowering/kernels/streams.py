"""What kernels over an iteration space share: operands as streams, core shares, loops over tiles, loads when they are due."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from xdsl.ir import SSAValue

from graph_engine.dialects.ascend.affine import Expr
from graph_engine.dialects.ascend.spaces import row_major
from graph_engine.lowering.kernels.builder import Arg, Buf, KernelBuilder
from graph_engine.lowering.kernels.vector_tiling import CoreSplit
from graph_engine.target_ascend.isa.model import DType


@dataclass(frozen=True)
class Stream:
    """An operand: stored shape, element type, elements between neighbours along each axis of the iteration space
    (0 where it repeats)."""

    shape: tuple[int, ...]
    dtype: DType
    strides: tuple[int, ...]

    @property
    def full(self) -> bool:
        """Whether it has an element of its own everywhere."""
        return all(self.strides)

    def small(self, extents: Sequence[int]) -> tuple[int, ...]:
        """Extents of the part that a tile reads."""
        return tuple(n if s else 1 for n, s in zip(extents, self.strides, strict=True))

    def at(self, starts: Sequence[Expr]) -> Expr:
        """Offset of a tile."""
        return sum((start * s for start, s in zip(starts, self.strides, strict=True)), Expr())

    def depth(self, tile: Sequence[int], sizes: Sequence[int]) -> int:
        """How many loops over tiles of `sizes` are open when the operand's part of the tile is known."""
        cut = [a for a, s in enumerate(self.strides) if s and tile[a] < sizes[a]]
        return cut[-1] + 1 if cut else 0

    def view(self, kb: KernelBuilder, buf: Buf, extents: Sequence[int]) -> SSAValue:
        """A tile of `extents` read from its small form in `buf`."""
        dense = row_major(self.small(extents))
        return kb.view(buf, 0, extents, [d if s else 0 for d, s in zip(dense, self.strides, strict=True)])


def arguments(inputs: Sequence[Stream], result: Stream, count: int = 1) -> list[Arg]:
    """The kernel's arguments: operands x0, x1, ..., then the result y, or `count` alike: y0, y1, ..."""
    operands = [Arg(f"x{i}", s.shape, s.dtype, "r") for i, s in enumerate(inputs)]
    names = ["y"] if count == 1 else [f"y{i}" for i in range(count)]
    return [*operands, *(Arg(name, result.shape, result.dtype, "w") for name in names)]


def shares(
    kb: KernelBuilder, sizes: Sequence[int], axis: int, split: CoreSplit
) -> Iterator[tuple[tuple[int, ...], list[Expr]]]:
    """(sizes, start of every axis) of the cores' shares of an iteration space cut along `axis`, inside their blocks."""
    for start, size in split.bodies(kb):
        yield (
            tuple(size if a == axis else n for a, n in enumerate(sizes)),
            [start if a == axis else Expr() for a in range(len(sizes))],
        )


class Group(Protocol):
    """What a kernel computes, as far as its loops want to know."""

    @property
    def inputs(self) -> tuple[Stream, ...]: ...


G = TypeVar("G", bound=Group)


@dataclass
class TileWriter(Generic[G]):
    """Writes the body of a core: `sizes` of its share, which begins at `base`, in tiles of `tile`."""

    kb: KernelBuilder
    group: G
    sizes: tuple[int, ...]
    tile: tuple[int, ...]
    base: list[Expr]
    loaded: list[Buf] = field(default_factory=list[Buf])

    def axis(self, starts: list[Expr], extents: list[int]) -> None:
        """Loops over the axes that are left; an operand is loaded as soon as its part of the tile is known."""
        depth, inputs = len(starts), self.group.inputs
        self.loaded = self.loaded or [_NOWHERE] * len(inputs)
        for i, stream in enumerate(inputs):
            if stream.depth(self.tile, self.sizes) == depth:
                self.loaded[i] = self.load(i, stream, starts, extents)
        if depth == len(self.sizes):
            self.compute(starts, extents)
            return
        for start, size in self.kb.tiles(self.sizes[depth], self.tile[depth], "ijkmnpqr"[depth % 8]):
            self.axis([*starts, start + self.base[depth]], [*extents, size])

    def load(self, number: int, stream: Stream, starts: list[Expr], extents: list[int]) -> Buf:
        """An operand's part of the tile, in its small form; axes still to come are whole."""
        depth = len(starts)
        small = stream.small([*extents, *self.sizes[depth:]])
        shape, strides = self.lies(small)
        buf = self.kb.alloc_value(f"x{number}_ub", shape, stream.dtype)
        at = stream.at([*starts, *self.base[depth:]])
        source = self.kb.view(self.kb.args[number], at, small, stream.strides)
        self.kb.copy_value(self.kb.view(buf, 0, small, strides), source, stream.dtype)
        return buf

    def lies(self, extents: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Shape of a buffer of `extents` in UB, and its strides along them."""
        return tuple(extents), row_major(extents)

    def compute(self, starts: list[Expr], extents: list[int]) -> None:
        """The work on one tile whose operands are loaded, and the way out."""
        raise NotImplementedError


_NOWHERE: Any = None
