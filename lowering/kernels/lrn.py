"""Local response normalization over neighbouring channels, in fp32, of a plain (n, c, positions) tensor or of NC1HWC0.

    for each image, for each tile of positions:   all channels GM -> UB, to fp32
                                                  s = bias + alpha / size * x * x, summed over the window of channels
                                                  x * exp(-beta * ln s)
                                                  to the result's type, UB -> GM

A position of the window is one instruction over the channels for which it lies inside. Blocks of channels are turned to
rows in the unified buffer first, and back behind.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from graph_engine.dialects.ascend.affine import Expr
from graph_engine.dialects.ascend.kernel import KernelOp
from graph_engine.lowering.kernels.builder import Arg, Buf, KernelBuilder
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.reduction_tail import Tail
from graph_engine.lowering.kernels.vector_tiling import (
    BLOCK,
    CoreSplit,
    buffer_bytes,
    cores_for,
    even_tile,
    largest,
    round_up,
    worthwhile_tile,
)
from graph_engine.lowering.kernels.window_axis import WindowAxis, span_at
from graph_engine.target_ascend.isa.model import DType, Space
from graph_engine.target_ascend.soc.soc import Soc

_UNIT = BLOCK // DType.F16.bytes
"""Tiles and shares of positions are multiples of it, so that channels begin at whole blocks."""


@dataclass(frozen=True)
class LrnShape:
    """`batch` images of `channels` x `positions`; the parameters are ONNX's, the operand's type the tail's `dtype`.

    `blocked`: operand and result are fp16 in NC1HWC0.
    """

    batch: int
    channels: int
    positions: int
    size: int
    alpha: float
    beta: float
    bias: float
    tail: Tail
    blocked: bool = False

    @property
    def rows(self) -> int:
        """Channels as they are stored."""
        return round_up(self.channels, _UNIT) if self.blocked else self.channels

    @property
    def stored(self) -> tuple[int, ...]:
        """The shape of operand and result in memory."""
        if self.blocked:
            return (self.batch, self.rows // _UNIT, self.positions, _UNIT)
        return (self.batch, self.channels, self.positions)

    def tile_bytes(self, positions: int) -> int:
        """UB that a tile takes: two versions of what moves; value, squares and sum in fp32."""
        count, tail = self.rows * round_up(positions, _UNIT), self.tail
        moving = buffer_bytes(count, tail.dtype, 2) + buffer_bytes(count, tail.out_dtype, 2)
        if self.blocked:
            moving += buffer_bytes(count, DType.F16, 2)
        return moving + buffer_bytes(count, DType.F32, 3) + tail.bytes(count, DType.F32)


def build_lrn(name: str, shape: LrnShape, soc: Soc) -> KernelOp:
    """The kernel; its arguments are operand and result. Raises `NoKernel` if all channels of a block do not fit UB."""
    tail, full = shape.tail, shape.stored
    image_bytes = shape.channels * shape.positions * tail.dtype.bytes
    cores = cores_for(shape.batch * image_bytes, soc)
    by_image = shape.batch >= cores
    split = CoreSplit.of(shape.batch, 1, cores) if by_image else CoreSplit.of(shape.positions, _UNIT, cores)
    share = shape.positions if by_image else split.step
    blocks = largest(share // _UNIT + 1, lambda n: shape.tile_bytes(n * _UNIT) <= soc.buffers["ub"])
    if not blocks:
        raise NoKernel(f"{shape.channels} channels of {_UNIT} positions do not fit the unified buffer")
    enough = round_up(worthwhile_tile(share, shape.channels * tail.dtype.bytes, soc), _UNIT)
    tile = even_tile(share, min(blocks * _UNIT, enough), _UNIT)
    kb = KernelBuilder(name, [Arg("x", full, tail.dtype, "r"), Arg("y", full, tail.out_dtype, "w")], split.block_dim)
    for start, size in split.bodies(kb):
        images, positions = (size, shape.positions) if by_image else (shape.batch, size)
        first_image, first_position = (start, Expr()) if by_image else (Expr(), start)
        with kb.loop(images, "n") as image:
            for at, count in kb.tiles(positions, tile, "at"):
                _tile(kb, shape, first_image + image, first_position + at, count)
    return kb.kernel


def _tile(kb: KernelBuilder, shape: LrnShape, image: Expr, position: Expr, count: int) -> None:
    """All channels of `count` positions of an image."""
    channels, tail, pitch = shape.channels, shape.tail, round_up(count, _UNIT)
    offset = image * (shape.rows * shape.positions) + position * (_UNIT if shape.blocked else 1)

    def buffer(slot: str, dtype: DType) -> Buf:
        return kb.alloc(slot, Space.UB, (shape.rows, pitch), dtype)

    def rows(buf: Buf, first: int = 0, number: int = channels) -> SSAValue:
        return kb.view(buf, first * pitch, (number, count), (pitch, 1))

    def stored(argument: Buf) -> SSAValue:
        if shape.blocked:
            window, strides = (shape.rows // _UNIT, count, _UNIT), (shape.positions * _UNIT, _UNIT, 1)
            return kb.view(argument, offset, window, strides)
        return kb.view(argument, offset, (channels, count), (shape.positions, 1))

    x = wide = buffer("x_ub", tail.dtype)
    if shape.blocked:
        blocks = kb.alloc("x_blocks", Space.UB, (shape.rows // _UNIT, pitch, _UNIT), DType.F16)
        kb.copy(kb.view(blocks, 0, (shape.rows // _UNIT, count, _UNIT)), stored(kb.args[0]))
        kb.vec("transpose", _as_blocks(kb, x, pitch), kb.view(blocks))
    else:
        kb.copy(rows(x), stored(kb.args[0]))
    if tail.dtype is not DType.F32:
        wide = buffer("wide", DType.F32)
        kb.vec("conv", rows(wide), rows(x))
    squares, total = buffer("squares", DType.F32), buffer("total", DType.F32)
    kb.vec("mul", rows(squares), rows(wide), rows(wide))
    kb.vec("muls", rows(squares), rows(squares), imm=shape.alpha / shape.size)
    before = (shape.size - 1) // 2
    kb.vec("adds", rows(total), rows(squares), imm=shape.bias)
    for tap in span_at(WindowAxis(channels, channels, shape.size, pad=before), 0, channels)[0].taps:
        if tap.first or tap.at:  # not the channel itself, which the sum begins with
            part = rows(total, tap.first, tap.count)
            kb.vec("add", part, part, rows(squares, tap.at, tap.count))
    kb.vec("ln", rows(total), rows(total))
    kb.vec("muls", rows(total), rows(total), imm=-shape.beta)
    kb.vec("exp", rows(total), rows(total))
    kb.vec("mul", rows(wide), rows(wide), rows(total))
    y = buffer("y_ub", tail.out_dtype)
    tail.emit(kb, rows(wide), DType.F32, rows(y), lambda slot, dtype: rows(buffer(slot, dtype)))
    if not shape.blocked:
        kb.copy(stored(kb.args[-1]), rows(y))
        return
    if shape.rows > channels:
        kb.vec("dup", rows(y, channels, shape.rows - channels), imm=0.0)
    blocks = kb.alloc("y_blocks", Space.UB, (shape.rows // _UNIT, pitch, _UNIT), DType.F16)
    kb.vec("transpose", kb.view(blocks), _as_blocks(kb, y, pitch))
    kb.copy(stored(kb.args[-1]), kb.view(blocks, 0, (shape.rows // _UNIT, count, _UNIT)))


def _as_blocks(kb: KernelBuilder, rows: Buf, pitch: int) -> SSAValue:
    """Rows of channels as blocks of `_UNIT` of them."""
    blocks = rows.shape[0] // _UNIT
    return kb.view(rows, 0, (blocks, _UNIT, pitch), (_UNIT * pitch, pitch, 1))
