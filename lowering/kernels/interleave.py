"""Up to four planes of an image to pixels of four channels (NC1HWC0_C04), zeros where a pixel has fewer.

    GM -> UB (c, p) -> [convert] -> transpose -> UB (p3..p0, c, p7..p4) -> transpose -> UB (p, c) -> GM

A transpose of 16 x 16 blocks (vnchwconv) exchanges four bits of an element's place with the four that lie within 32 bytes.
Two of them bring the channel and the last two bits of the position p together: the first one takes p3..p0 out of the
32 bytes, the second one puts (p1, p0, c) in; where the blocks go is free. So 256 positions are the unit.
"""

from __future__ import annotations

from dataclasses import dataclass

from graph_engine.dialects.ascend.affine import Expr
from graph_engine.dialects.ascend.kernel import KernelOp
from graph_engine.lowering.kernels.builder import Arg, KernelBuilder
from graph_engine.lowering.kernels.shares import block_dim, deal
from graph_engine.target_ascend.isa.model import DType, Space
from graph_engine.target_ascend.soc.soc import Soc

PIXEL = 4
UNIT = 256
"""Positions that two transposes bring in order."""


@dataclass(frozen=True)
class Planes:
    """`images` of `channels` planes of `positions` elements, fp32 or fp16, that become fp16 pixels."""

    images: int
    channels: int
    positions: int
    dtype: DType

    @property
    def units(self) -> int:
        """Units of positions of an image, the last one maybe not full."""
        return -(-self.positions // UNIT)


def build_interleave(name: str, planes: Planes, soc: Soc) -> KernelOp:
    """The kernel; its arguments are x (images, channels, positions) and y (images, positions, 4)."""
    cores = soc.vector_cores
    by_image = -(-planes.images // cores) * planes.units <= planes.images * -(-planes.units // cores)
    extent, granule = (planes.images, 1) if by_image else (planes.positions, UNIT)
    x = Arg("x", (planes.images, planes.channels, planes.positions), planes.dtype, "r")
    y = Arg("y", (planes.images, planes.positions, PIXEL), DType.F16, "w")
    kb = KernelBuilder(name, [x, y], block_dim([extent], cores, [granule]))
    for share in deal([extent], cores, [granule]):
        with kb.blocks(share.lo, share.hi) as blk:
            start = blk * share.steps[0] if share.hi - share.lo > 1 else Expr(share.lo * share.steps[0])
            with kb.loop(share.sizes[0] if by_image else planes.images, "n") as n:
                if by_image:
                    _positions(kb, planes, start + n, Expr(), planes.positions, soc)
                else:
                    _positions(kb, planes, n, start, share.sizes[0], soc)
    return kb.kernel


def _positions(kb: KernelBuilder, planes: Planes, image: Expr, start: Expr, count: int, soc: Soc) -> None:
    """`count` positions of an image from `start` on, in tiles of which two fit the unified buffer."""
    converted = DType.F16.bytes if planes.dtype is not DType.F16 else 0
    each = planes.channels * (planes.dtype.bytes + converted) + 2 * PIXEL * DType.F16.bytes
    tile = soc.buffers["ub"] // (2 * each) // UNIT * UNIT
    for t, size in kb.tiles(count, min(tile, -(-count // UNIT) * UNIT), "t"):
        at = start + t
        _interleave(
            kb, planes, image * (planes.channels * planes.positions) + at, (image * planes.positions + at) * PIXEL, size
        )


def _interleave(kb: KernelBuilder, planes: Planes, source: Expr, target: Expr, size: int) -> None:
    """One tile of `size` positions."""
    c, units = planes.channels, -(-size // UNIT)
    span = units * UNIT
    loaded = kb.alloc("in", Space.UB, (c, span), planes.dtype)
    kb.copy(kb.view(loaded, 0, (c, size), (span, 1)), kb.view(kb.args[0], source, (c, size), (planes.positions, 1)))
    half = loaded
    if planes.dtype is not DType.F16:
        half = kb.alloc("half", Space.UB, (c, span), DType.F16)
        kb.vec("conv", kb.view(half), kb.view(loaded))
    # (unit, p3..p0, channel, p7..p4)
    turned = kb.alloc("turned", Space.UB, (units, 16, PIXEL, 16), DType.F16)
    blocks = kb.view(half, 0, (c, units, 16, 16), (span, UNIT, 16, 1))
    kb.vec("transpose", kb.view(turned, 0, (c, units, 16, 16), (16, UNIT * PIXEL, 16 * PIXEL, 1)), blocks)
    if c < PIXEL:
        behind = kb.view(turned, c * 16, (PIXEL - c, units * 16, 16), (16, 16 * PIXEL, 1))
        kb.vec("dup", behind, imm=0.0)
    # (unit, p7..p4, p3 p2, p1 p0 and channel)
    pixels = kb.alloc("out", Space.UB, (span, PIXEL), DType.F16)
    rows = kb.view(turned, 0, (units, 4, 16, 16), (UNIT * PIXEL, UNIT, 16, 1))
    kb.vec("transpose", kb.view(pixels, 0, (units, 4, 16, 16), (UNIT * PIXEL, 16, 16 * PIXEL, 1)), rows)
    kb.copy(kb.view(kb.args[1], target, (size, PIXEL), (PIXEL, 1)), kb.view(pixels, 0, (size, PIXEL), (PIXEL, 1)))
