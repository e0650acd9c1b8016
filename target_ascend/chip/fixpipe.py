"""Executor of FixPipe: the way out of L0C, with an activation or a scale and a conversion on the way."""

from __future__ import annotations

import numpy as np

from graph_engine.target_ascend.chip.cube import accumulator_window
from graph_engine.target_ascend.chip.operands import Counters, Site, Step, reader, value_of, writer
from graph_engine.target_ascend.chip.vector import INTEGERS, half_store, limits_of, to_integer
from graph_engine.target_ascend.isa.model import (
    ACTIVATIONS,
    FACTOR_BITS,
    OFFSET_BITS,
    OFFSET_SHIFT,
    SIGNED_BIT,
    DType,
    Opcode,
    Space,
)


def build_fixpipe(site: Site) -> Step:
    """dst = convert(activation(src)); of i32 sums in fp64, so that no digit is lost before the one rounding."""
    if site.instr.opcode is Opcode.REQUANTISE:
        return build_requantise(site)
    dst, src = site.instr.operands
    number, immediate = value_of(site.instr.params[0]), site.instr.immediate
    if dst.sizes != src.sizes or site.buffers[src.buffer].space is not Space.L0C:
        raise site.fail(f"takes {src.sizes} of {site.buffers[src.buffer].space.name} to {dst.sizes}")
    if src.dtype not in (DType.F32, DType.I32) or (src.dtype, dst.dtype) == (DType.I32, DType.BF16):
        raise site.fail(f"does not take {src.dtype.mlir} to {dst.dtype.mlir}")
    if not isinstance(number, int) or not 0 <= number < len(ACTIVATIONS):
        raise site.fail(f"has no activation {number}")
    activation = ACTIVATIONS[number]
    read = accumulator_window(site, src) or reader(site, src)
    out = writer(site, dst)
    values = np.empty(dst.sizes, np.float32 if src.dtype is DType.F32 else np.float64)
    store = half_store(site, out, dst.sizes) if dst.dtype is DType.F16 else None
    limits = limits_of(dst.dtype) if dst.dtype in INTEGERS else None

    def fixpipe(counters: Counters) -> None:
        np.copyto(values, read(counters))
        if activation in ("relu", "clip"):
            np.maximum(values, 0, out=values)
        if activation == "clip":
            np.minimum(values, immediate, out=values)
        elif immediate != 1.0:
            np.multiply(values, immediate, out=values, where=values < 0 if activation == "leaky_relu" else True)
        if store is not None:
            store(values.astype(np.float32, copy=False), counters)
            return
        found = values if limits is None else to_integer(values, limits, np.rint)
        np.copyto(out.target(counters), found, casting="unsafe")
        if out.commit is not None:
            out.commit()

    return fixpipe


def build_requantise(site: Site) -> Step:
    """dst = 8 bits of src * factor + offset; the product is exact in fp64, so that it is rounded once."""
    dst, src, table = site.instr.operands
    activation = value_of(site.instr.params[0])
    spaces = [site.buffers[operand.buffer].space for operand in (src, table)]
    if spaces != [Space.L0C, Space.FB] or not dst.sizes == src.sizes == table.sizes:
        raise site.fail(f"takes {src.sizes} of {spaces[0].name} by {table.sizes} of {spaces[1].name} to {dst.sizes}")
    if src.dtype is not DType.I32 or table.dtype is not DType.U64 or dst.dtype not in (DType.I8, DType.U8):
        raise site.fail(f"does not take {src.dtype.mlir} by {table.dtype.mlir} to {dst.dtype.mlir}")
    if activation not in (0, 1):
        raise site.fail(f"has no activation {activation}")
    read, words, out = reader(site, src), reader(site, table), writer(site, dst)
    low, high = limits_of(dst.dtype)

    def requantise(counters: Counters) -> None:
        word = words(counters)
        if ((word >> SIGNED_BIT & 1) != (low < 0)).any():
            raise site.fail(f"writes {dst.dtype.mlir} by words for numbers of the other sign")
        factor = (word & FACTOR_BITS).astype(np.uint32).view(np.float32).astype(np.float64)
        offset = (word >> OFFSET_SHIFT & (1 << OFFSET_BITS) - 1).astype(np.int64)
        offset -= offset >> (OFFSET_BITS - 1) << OFFSET_BITS
        scaled = read(counters) * factor
        if activation:
            np.maximum(scaled, 0, out=scaled)
        np.copyto(out.target(counters), np.clip(np.rint(scaled) + offset, low, high), casting="unsafe")
        if out.commit is not None:
            out.commit()

    return requantise
