"""What a selection of the largest elements is, whichever kernel does it."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from graph_engine.lowering.kernels.vector_tiling import BLOCK, CoreSplit
from graph_engine.target_ascend.isa.model import DType
from graph_engine.target_ascend.soc.soc import Soc

EXACT_IN_HALF = 1 << 11
"""Whole numbers that fp16 counts exactly."""


@dataclass(frozen=True)
class TopKShape:
    """`rows` of `row` elements, of which the `k` `largest` (or smallest) are taken."""

    rows: int
    row: int
    k: int
    largest: bool
    dtype: DType

    def split(self, soc: Soc) -> CoreSplit:
        """The rows that a core takes: its results are whole blocks of memory."""
        return CoreSplit.of(self.rows, BLOCK // gcd(BLOCK, self.k * self.dtype.bytes), soc.vector_cores)
