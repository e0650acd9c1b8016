"""How long a task of an elementwise group is expected to take on a chip, from its steps and tiles alone.

    launch + (ways of the first and the last tile + the longer of moves and arithmetic + the first share of the shorter) / clock

A step costs its fixed cycles once a tile and its slope once a repeat; moves take the rate of the L2, or of device memory
where the tensors do not stay in the L2. The timing model of `ge-run` knows queues, banks and alignment as well.
"""

from __future__ import annotations

from math import prod

from graph_engine.lowering.kernels.elementwise import Elementwise, plan
from graph_engine.lowering.kernels.vector_tiling import ceil_div
from graph_engine.target_ascend.soc.soc import Soc


def moved_bytes(group: Elementwise) -> int:
    """Bytes that all cores together read and write."""
    streams = (*group.inputs, *(group.result,) * group.results)
    return sum(prod(stream.shape) * stream.dtype.bytes for stream in streams)


def elementwise_us(group: Elementwise, soc: Soc, *, resident: bool) -> float:
    """Microseconds of its task; `resident`: its tensors are in the L2. Raises NoKernel if no tile fits."""
    _, split, share, tile = plan(group, soc)
    tiles = prod(ceil_div(n, t) for n, t in zip(share, tile, strict=True))
    arithmetic = 0
    for mnemonic, width in group.instructions:
        slope, fixed = soc.vector_cost(mnemonic)
        arithmetic += tiles * (fixed + slope * ceil_div(prod(tile) * width, soc.vector.repeat_bytes))
    level, clock = "l2" if resident else "ddr", soc.freq_mhz.cube
    come, go = soc.path("gm", "ub", level), soc.path("ub", "gm", level)
    total = soc.l2.total_bytes_per_cycle if resident else soc.ddr.total_bytes_per_s / clock / 1e6
    moves = moved_bytes(group) / min(total, split.block_dim * come.bytes_per_cycle)
    shorter, longer = sorted((moves, arithmetic))
    return soc.overheads.kernel_task_us + (come.latency_cycles + go.latency_cycles + longer + shorter / tiles) / clock
