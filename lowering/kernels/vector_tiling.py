"""What vector kernels share: dealing an axis to the cores, tiles that fit UB, counting temporaries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import gcd

from xdsl.ir import SSAValue

from graph_engine.dialects.ascend.affine import Expr
from graph_engine.dialects.ascend.spaces import dtype_of
from graph_engine.dialects.ascend.vec import VectorOp
from graph_engine.lowering.kernels.builder import KernelBuilder
from graph_engine.lowering.kernels.step import Scratch, Step, Value
from graph_engine.lowering.kernels.vector_steps import emit_steps
from graph_engine.target_ascend.isa.model import DType
from graph_engine.target_ascend.isa.specs import SPECS
from graph_engine.target_ascend.soc.soc import Soc

BLOCK = 32
"""Bytes of a data block: starts in UB are multiples of it, and cores write whole ones."""

BURST = 512
"""Bytes: moves that begin at multiples of it run at the full rate of device memory."""

TILES = 2
"""Tiles that a core's share is cut into where it is large enough: loads, arithmetic and stores then overlap."""


def ceil_div(a: int, b: int) -> int:
    """a / b rounded up."""
    return -(-a // b)


def round_up(a: int, unit: int) -> int:
    """The next multiple of `unit`."""
    return ceil_div(a, unit) * unit


def buffer_bytes(elements: int, dtype: DType, versions: int = 1) -> int:
    """Bytes of UB that a buffer of a value takes (see `KernelBuilder.alloc_value`)."""
    if dtype in (DType.I64, DType.U64):
        return 2 * buffer_bytes(elements, DType.I32, versions)
    return versions * round_up(elements * dtype.bytes, BLOCK)


def largest(limit: int, fits: Callable[[int], bool]) -> int:
    """The largest n of 1..limit that fits, 0 if none does; what fits must fit in smaller sizes as well."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low


def even_tile(extent: int, tile: int, unit: int = 1) -> int:
    """A tile no larger than `tile`, a multiple of `unit` if it can be, that leaves no small rest."""
    count = ceil_div(extent, tile)
    even = round_up(ceil_div(extent, count), unit)
    return even if even <= tile else tile


def cores_for(count: int, soc: Soc) -> int:
    """Cores for a result of `count` bytes: a share takes at least as long to move as to reach the L2."""
    path = soc.path("gm", "ub", "l2")
    return max(1, min(soc.vector_cores, count // max(1, path.latency_cycles * path.bytes_per_cycle)))


def worthwhile_tile(extent: int, bytes_each: int, soc: Soc) -> int:
    """The smallest tile of an axis that keeps moves efficient, at most `TILES` of them."""
    efficient = ceil_div(soc.ddr.min_good_transfer_bytes, max(1, bytes_each))
    return max(1, min(extent, max(ceil_div(extent, TILES), efficient)))


@dataclass(frozen=True)
class CoreSplit:
    """An axis in shares of `step` elements, the last one maybe smaller."""

    extent: int
    step: int

    @staticmethod
    def of(extent: int, unit: int, cores: int) -> CoreSplit:
        """Shares for at most `cores` cores, in multiples of `unit`."""
        return CoreSplit(extent, min(extent, ceil_div(ceil_div(extent, unit), max(1, cores)) * unit))

    @property
    def block_dim(self) -> int:
        """Shares."""
        return ceil_div(self.extent, self.step)

    def shares(self) -> Iterator[tuple[int, int]]:
        """(start, size) of every share."""
        for start in range(0, self.extent, self.step):
            yield start, min(self.step, self.extent - start)

    def bodies(self, kb: KernelBuilder, first_block: int = 0) -> Iterator[tuple[Expr, int]]:
        """(start, size) of the shares, once for all equal ones, inside their `ascend.blocks`."""
        full, tail = divmod(self.extent, self.step)
        if full:
            with kb.blocks(first_block, first_block + full) as blk:
                yield (blk + -first_block) * self.step if full > 1 else Expr(), self.step
        if tail:
            with kb.blocks(first_block + full, first_block + full + 1):
                yield Expr(full * self.step), tail


def deal_axis(sizes: Sequence[int], strides: Sequence[int], width: int, cores: int, soc: Soc) -> tuple[int, CoreSplit]:
    """The axis that the cores share: the one with the smallest largest share, the outermost of equal ones.

    `strides` are those of the result, in elements of `width` bytes. A core writes whole blocks of memory, so that no
    two of them meet in one. Shares that begin at multiples of `BURST` are worth a little imbalance.
    """
    best: tuple[float, int, CoreSplit] | None = None
    for axis, size in enumerate(sizes):
        if axis and any(strides[a] * width % BLOCK for a in range(axis)):
            break
        for align, rate in ((BURST, 1.0), (BLOCK, soc.ddr.unaligned_factor)):
            split = CoreSplit.of(size, align // gcd(align, strides[axis] * width), cores)
            cost = split.step / size / rate
            if best is None or cost < best[0]:
                best = cost, axis, split
    assert best is not None
    return best[1], best[2]


@dataclass(frozen=True)
class DryRun:
    """What steps take: element types of their temporary buffers; mnemonics of the instructions, bytes of their widest element."""

    temporaries: tuple[DType, ...]
    instructions: tuple[tuple[str, int], ...]


def temporaries(steps: tuple[Step, ...], inputs: tuple[tuple[DType, bool], ...], out_dtype: DType) -> tuple[DType, ...]:
    """Element types of the buffers of tile size that `emit_steps` takes over inputs of (type, reusable)."""
    return dry_run(steps, inputs, out_dtype).temporaries


@cache
def dry_run(
    steps: tuple[Step, ...], inputs: tuple[tuple[DType, bool], ...], out_dtype: DType, kept: tuple[int, ...] = ()
) -> DryRun:
    """What `emit_steps` takes over inputs of (type, reusable)."""
    kb = KernelBuilder("count", [], 1)
    taken: list[DType] = []
    with kb.blocks(0, 1):

        def allocate(dtype: DType, number: int) -> SSAValue:
            taken.append(dtype)
            return one("tmp", dtype)

        def one(slot: str, dtype: DType) -> SSAValue:
            return kb.view(kb.alloc_value(slot, (1,), dtype), 0, (1,))

        views = [Value(one("in", dtype), dtype, reusable) for dtype, reusable in inputs]
        out = one("out", out_dtype)
        results = {number: one("out", out_dtype) for number in kept}
        emit_steps(kb, steps, views, out, out_dtype, Scratch(allocate), results)
    instructions = [op for op in kb.kernel.walk() if isinstance(op, VectorOp)]
    widths = (max(dtype_of(value.type).bytes for value in (*op.sources, op.dst)) for op in instructions)
    specs = (SPECS[op.OPCODE] for op in instructions)
    names = ("conv" if spec.group == "convert" else spec.mnemonic for spec in specs)
    return DryRun(tuple(taken), tuple(zip(names, widths, strict=True)))


def merge_axes(sizes: Sequence[int], strides: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """The same elements with as few axes as all views allow.

    `strides[v]` are those of view v. Axes of size 1 vanish; neighbours join where, in every view, the outer stride
    is the inner one times the inner size. At least one axis is left.
    """
    axes: list[tuple[int, tuple[int, ...]]] = []
    for axis, size in enumerate(sizes):
        if size == 1:
            continue
        here = tuple(s[axis] for s in strides)
        if axes and all(outer == inner * size for outer, inner in zip(axes[-1][1], here, strict=True)):
            axes[-1] = axes[-1][0] * size, here
        else:
            axes.append((size, here))
    axes = axes or [(1, (1,) * len(strides))]
    return tuple(size for size, _ in axes), [tuple(axis[1][v] for axis in axes) for v in range(len(strides))]
