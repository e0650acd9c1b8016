"""How long a task is expected to take on a chip: what passes weigh one form of a graph against another with.

A task starts, then computes while it moves its operands: the longer of both counts. Rates and overheads are those of
the chip's description; the timing model of `ge-run`, which knows tiles, buffers and queues, is finer and slower.
"""

from __future__ import annotations

from math import ceil

from graph_engine.target_ascend.soc.soc import Soc

HALF = 2
"""Bytes of an element: graphs are weighed before precision is chosen, as if all were fp16."""


def product_us(soc: Soc, m: int, k: int, n: int) -> float:
    """Microseconds of a task that multiplies an (m, k) by a (k, n) matrix, tiles of the result dealt to all cores."""
    return soc.overheads.kernel_task_us + max(_cube_us(soc, m, k, n), moved_us(soc, m * k + k * n + m * n))


def convolution_us(soc: Soc, x: int, m: int, k: int, n: int) -> float:
    """Microseconds of a task that convolves `x` elements into `m` pixels of `n` channels, each a sum of `k` products."""
    return soc.overheads.kernel_task_us + max(_cube_us(soc, m, k, n), moved_us(soc, x + k * n + m * n))


def copy_us(soc: Soc, elements: int) -> float:
    """Microseconds of a task that reads and writes a tensor."""
    return soc.overheads.kernel_task_us + moved_us(soc, 2 * elements)


def moved_us(soc: Soc, elements: int) -> float:
    """Microseconds that all cores together take to read or write that many elements."""
    return elements * HALF / soc.ddr.total_bytes_per_s * 1e6


def _cube_us(soc: Soc, m: int, k: int, n: int) -> float:
    tile_m, tile_k, tile_n = soc.cube.tile["f16"]
    cycles = ceil(ceil(m / tile_m) * ceil(n / tile_n) / soc.cores.aic) * ceil(k / tile_k)
    return cycles / soc.freq_mhz.cube
