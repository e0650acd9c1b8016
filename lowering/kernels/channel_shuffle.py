"""Channels of a feature map in NC1HWC0 dealt in turn: turned to planes, rows of pixels copied, turned back.

    GM -> UB (C1, p, 16) -> transpose -> UB (C, p) -> row c * g + k of row k * C / g + c -> transpose -> UB -> GM

Lanes move inside the unified buffer, so device memory sees whole blocks.
"""

from __future__ import annotations

from dataclasses import dataclass

from graph_engine.dialects.ascend.affine import Expr
from graph_engine.dialects.ascend.kernel import KernelOp
from graph_engine.lowering.kernels.builder import Arg, KernelBuilder
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.shares import block_dim, deal
from graph_engine.target_ascend.isa.model import DType, Space
from graph_engine.target_ascend.soc.soc import Soc

LANES = 16


@dataclass(frozen=True)
class ShuffleShape:
    """Stored shape (N, C1, H, W, 16), the channels without padding, and the groups."""

    stored: tuple[int, ...]
    channels: int
    groups: int

    @property
    def pixels(self) -> int:
        """Pixels of a plane."""
        return self.stored[2] * self.stored[3]


def build_channel_shuffle(name: str, shape: ShuffleShape, soc: Soc) -> KernelOp:
    """The kernel; its arguments are x and y, fp16. Raises NoKernel where 16 pixels of all channels do not fit."""
    tensors = [Arg("x", shape.stored, DType.F16, "r"), Arg("y", shape.stored, DType.F16, "w")]
    tile = _tile(shape, soc)
    kb = KernelBuilder(name, tensors, block_dim([shape.pixels], soc.vector_cores, [LANES]))
    batch, blocks = shape.stored[:2]
    for share in deal([shape.pixels], soc.vector_cores, [LANES]):
        with kb.blocks(share.lo, share.hi) as blk:
            start = blk * share.steps[0] if share.hi - share.lo > 1 else Expr(share.lo * share.steps[0])
            with kb.loop(batch, "n") as n:
                for t, size in kb.tiles(share.sizes[0], tile, "t"):
                    _shuffle(kb, shape, (start + t) * LANES + n * (blocks * shape.pixels * LANES), size)
    return kb.kernel


def _tile(shape: ShuffleShape, soc: Soc) -> int:
    """Pixels of a tile: four buffers of all channels, each twice if that leaves any."""
    row = 4 * shape.stored[1] * LANES * DType.F16.bytes
    for copies in (2, 1):
        tile = soc.buffers["ub"] // (copies * row) // LANES * LANES
        if tile:
            return tile
    raise NoKernel(f"16 pixels of {shape.channels} channels do not fit the unified buffer")


def _shuffle(kb: KernelBuilder, shape: ShuffleShape, offset: Expr, size: int) -> None:
    """`size` pixels from `offset` on."""
    blocks, rows = shape.stored[1], -(-size // LANES) * LANES
    window, steps = (blocks, size, LANES), (shape.pixels * LANES, LANES, 1)
    loaded = kb.alloc("in", Space.UB, (blocks, rows, LANES), DType.F16)
    kb.copy(kb.view(loaded, 0, window), kb.view(kb.args[0], offset, window, steps))
    planes = kb.alloc("planes", Space.UB, (blocks, LANES, rows), DType.F16)
    kb.vec("transpose", kb.view(planes), kb.view(loaded))
    dealt = kb.alloc("dealt", Space.UB, (blocks, LANES, rows), DType.F16)
    each = shape.channels // shape.groups
    for k in range(shape.groups):
        source = kb.view(planes, k * each * rows, (each, rows), (rows, 1))
        kb.copy(kb.view(dealt, k * rows, (each, rows), (shape.groups * rows, 1)), source)
    padding = blocks * LANES - shape.channels
    if padding:
        kb.vec("dup", kb.view(dealt, shape.channels * rows, (padding, rows), (rows, 1)), imm=0.0)
    stored = kb.alloc("out", Space.UB, (blocks, rows, LANES), DType.F16)
    kb.vec("transpose", kb.view(stored), kb.view(dealt))
    kb.copy(kb.view(kb.args[1], offset, window, steps), kb.view(stored, 0, window))
