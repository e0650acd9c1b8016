"""Pooling of whole planes to one value a channel.

    for each tile of planes:   for each run of positions: GM -> UB, halved until one is left
                               mean, tail, UB -> GM

The halves of many planes are combined by one instruction.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from graph_engine.dialects.ascend.affine import Expr
from graph_engine.dialects.ascend.kernel import KernelOp
from graph_engine.lowering.kernels.builder import Buf, KernelBuilder
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.pool_shape import PoolShape, finish
from graph_engine.lowering.kernels.vector_tiling import (
    CoreSplit,
    buffer_bytes,
    cores_for,
    even_tile,
    largest,
    worthwhile_tile,
)
from graph_engine.target_ascend.isa.model import Space
from graph_engine.target_ascend.soc.soc import Soc


def build_planes(name: str, shape: PoolShape, soc: Soc) -> KernelOp:
    positions = shape.rows.inputs * shape.columns.inputs
    lanes, tail = shape.lanes, shape.tail

    def tile_bytes(planes: int, count: int) -> int:
        total = buffer_bytes(planes * count * lanes, tail.dtype, 2) + buffer_bytes(planes * lanes, tail.out_dtype, 2)
        if shape.accumulator is not tail.dtype:
            total += buffer_bytes(planes * count * lanes, shape.accumulator)
        return total + buffer_bytes(planes * lanes, shape.accumulator) + tail.bytes(planes * lanes, shape.accumulator)

    split = CoreSplit.of(shape.planes, 1, cores_for(shape.input_bytes, soc))
    planes = largest(split.step, lambda n: tile_bytes(n, positions) <= soc.buffers["ub"])
    count = positions
    if planes:
        planes = even_tile(split.step, min(planes, worthwhile_tile(split.step, positions * lanes * 2, soc)))
    else:
        planes, count = 1, largest(positions, lambda n: tile_bytes(1, n) <= soc.buffers["ub"])
        if not count:
            raise NoKernel("no position of a plane fits the unified buffer")
        count = even_tile(positions, count)
    kb = KernelBuilder(name, shape.args(), split.block_dim)
    for start, size in split.bodies(kb):
        for at, n in kb.tiles(size, planes, "p"):
            _planes(kb, shape, start + at, n, positions, count)
    return kb.kernel


def _planes(kb: KernelBuilder, shape: PoolShape, start: Expr, planes: int, positions: int, count: int) -> None:
    """`planes` planes from `start`, `count` positions at a time."""
    lanes = shape.lanes
    one = (planes, 1, lanes)
    out = kb.alloc("y_ub", Space.UB, one, shape.tail.out_dtype)
    total: SSAValue | None = None
    if count < positions:
        total = kb.view(kb.alloc("total", Space.UB, one, shape.accumulator))
        kb.vec("dup", total, imm=shape.start)
    for at, n in kb.tiles(positions, count, "at"):
        values = kb.alloc("x_ub", Space.UB, (planes, n, lanes), shape.tail.dtype)
        source = kb.view(
            kb.args[0], start * (positions * lanes) + at * lanes, values.shape, (positions * lanes, lanes, 1)
        )
        kb.copy(kb.view(values), source)
        if shape.accumulator is not shape.tail.dtype:
            wide = kb.alloc("wide", Space.UB, values.shape, shape.accumulator)
            kb.vec("conv", kb.view(wide), kb.view(values))
            values = wide
        left = n
        while left > 1:
            half = left // 2
            low = kb.view(values, 0, (planes, half, lanes), values.strides)
            high = kb.view(values, (left - half) * lanes, (planes, half, lanes), values.strides)
            kb.vec(shape.mnemonic, low, low, high)
            left -= half
        first = kb.view(values, 0, one, values.strides)
        if total is None:
            _finish_planes(kb, shape, first, out)
        else:
            kb.vec(shape.mnemonic, total, total, first)
    if total is not None:
        _finish_planes(kb, shape, total, out)
    kb.copy(kb.view(kb.args[-1], start * lanes, one, (lanes, lanes, 1)), kb.view(out))


def _finish_planes(kb: KernelBuilder, shape: PoolShape, values: SSAValue, out: Buf) -> None:
    if shape.in_place and shape.mean is None:
        kb.vec("conv", kb.view(out), values)
    else:
        finish(kb, shape, values, None, out)
