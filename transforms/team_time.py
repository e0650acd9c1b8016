"""Whether what follows a product is done sooner by the Vector cores of its team than by a task of its own.

Both forms pay the product and the launch of one task. Apart, the rest pays another launch, and the Vector cores read what
the product has written: all of them, but nothing else runs meanwhile. In a team the launch takes `mix_us` more, and
the Vector cores of the blocks that the product has work at its side: what remains is what they take longer than the
product, and their last tile. Cycles are those of the arithmetic in fp32 or of all bytes through the L2, whichever are more.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import bf16, f16
from xdsl.ir import Operation

from graph_engine.dialects.ge.attention import Attention
from graph_engine.dialects.ge.core import GeOp, element_of, shape_of
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.target_ascend.soc.soc import Soc

TILES = 2
"""Of a block, at least: the Vector cores finish one while the Cube core computes the next."""

TILE_ELEMENTS = 16 * 1024
"""Elements of a product that are worth a block."""


SCORE_CYCLES = 0.3
"""Of a Vector core for one number of a softmax with a step or two."""

BESIDE, APART = 1.25, 1.6
"""Attention takes so many times its softmax: in a team, which also adds sums up and waits; as three tasks, whose products nothing
hides."""

TILE_US, ENDS_US, PRODUCTS_US = 0.5, 1.7, 1.3
"""A tile of keys in a team takes so long at least, however small; its first scores and last sums; so does what is small of three tasks,
beside their launches. This and the above as the timing model has it on Ascend910B3, within a few us for 16 to 2048 rows and keys."""


def attention_in_a_team(attention: Attention, soc: Soc) -> bool:
    """Whether a team of cores does attention sooner than two products and a softmax between them; only of plain matrices
    of 16 bits."""
    if (
        attention.partitions
        or MatmulOp.name in soc.heavy_operators
        or element_of(attention.scores.result) not in (f16, bf16)
    ):
        return False
    *batch, rows, keys = shape_of(attention.scores.result)
    strips, tiles = prod(batch) * -(-rows // 16), -(-keys // 256) if keys > 512 else 1
    teams = max(1, min(soc.cores.aic, soc.cores.aiv // 2, strips))
    scores = SCORE_CYCLES * prod(batch) * rows * keys / soc.freq_mhz.cube
    team = (
        max(BESIDE * scores / (2 * teams), TILE_US * tiles * -(-strips // (4 * teams))) + ENDS_US + soc.overheads.mix_us
    )
    apart = 2 * soc.overheads.kernel_task_us + PRODUCTS_US + APART * scores / soc.cores.aiv
    return team <= apart


def sooner_in_a_team(anchor: GeOp, rest: Sequence[Operation], soc: Soc) -> bool:
    """Whether the operators `rest` behind the Cube's `anchor` are."""
    inside = {anchor.results[0], *(result for op in rest for result in op.results)}
    sides = {operand for op in rest for operand in op.operands if operand not in inside}
    elements = prod(shape_of(anchor.results[0]))
    moved = sum(2 * prod(shape_of(value)) for value in sides) + 2 * 2 * elements
    operations = sum(op.cost().vector_ops for op in rest if isinstance(op, GeOp))
    blocks = max(1, min(soc.cores.aic, soc.cores.aiv // 2, -(-elements // TILE_ELEMENTS)))
    m, k, n = soc.cube.tile["f16"]
    product = anchor.cost().macs / (m * k * n * blocks)

    def cycles(cores: int) -> float:
        arithmetic = 4 * operations / soc.vector.bytes_per_cycle / cores
        port = moved / (cores * soc.path("gm", "ub", "l2").bytes_per_cycle)
        return max(arithmetic, port, moved / soc.l2.total_bytes_per_cycle)

    way = soc.path("gm", "ub", "l2").latency_cycles + soc.path("ub", "gm", "l2").latency_cycles
    beside = cycles(2 * blocks)
    apart_us = soc.overheads.kernel_task_us + (way + cycles(soc.cores.aiv)) / soc.freq_mhz.cube
    left = max(0.0, beside - product) + beside / TILES + way + soc.sync.cross_cycles
    return soc.overheads.mix_us + left / soc.freq_mhz.cube < apart_us
