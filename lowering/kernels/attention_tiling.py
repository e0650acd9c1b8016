"""What attention computes, in blocks of 16, and the shares and tiles of it that fit a chip."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from graph_engine.lowering.kernels.cube_tiling import FRACTAL
from graph_engine.lowering.kernels.matmul import Side
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.step import Step
from graph_engine.lowering.kernels.vector_tiling import ceil_div, even_tile, largest, temporaries
from graph_engine.target_ascend.isa.model import DType
from graph_engine.target_ascend.soc.soc import Soc


@dataclass(frozen=True)
class ScoreInput:
    """An operand of the steps: "matrix" one value a score, "row" one a key, "number" one; `steps` as in `Side`."""

    kind: str
    steps: tuple[int, ...] = ()


@dataclass(frozen=True)
class AttentionShape:
    """Blocks of 16 rows, of q's and of v's columns; keys, counted one by one; batch axes; how the operands lie, which are of
    `dtype`."""

    m1: int
    d1: int
    e1: int
    keys: int
    batch: tuple[int, ...]
    q: Side
    k: Side
    v: Side
    inputs: tuple[ScoreInput, ...] = ()
    steps: tuple[Step, ...] = ()
    dtype: DType = DType.F16

    @property
    def score_type(self) -> DType:
        """Of scores that leave the Cube: where steps follow they are rounded as the operators would apart, but not to bf16."""
        return self.dtype if self.steps and self.dtype is DType.F16 else DType.F32

    @property
    def n1(self) -> int:
        """Blocks of 16 keys."""
        return ceil_div(self.keys, 16)

    @property
    def rest(self) -> int:
        """Keys in the last block, 0 if it is full."""
        return self.keys % 16

    def ub_bytes(self, mt: int, nt: int) -> int:
        """UB for a tile of mt x nt blocks, one version of each buffer."""
        matrices = sum(side.kind == "matrix" for side in self.inputs)
        scored = self.score_type
        taken = temporaries(self.steps, ((scored, True), *((self.dtype, False) for _ in self.inputs)), scored)
        halves = len(taken) + (scored is not DType.F32) if self.steps else 0
        narrow = halves + matrices + 1  # scores and temporaries of the steps, masks, weights
        wide = taken.count(DType.F32)
        score = FRACTAL * (narrow + 2 + wide) + FRACTAL  # fp32 scores, and half as much to reduce them
        row = 5 * FRACTAL * self.e1 + 2 * FRACTAL  # sums twice in fp32 and once in fp16; statistics
        vectors = 64 * nt * len(self.inputs) + 2 * FRACTAL * max(self.d1, self.e1)
        return mt * nt * score + mt * row + vectors


@dataclass(frozen=True)
class AttentionTiling:
    """Shares of the cores (matrices along the longest batch axis, blocks of rows), blocks of rows and keys a tile."""

    b_share: int
    m_share: int
    mt: int
    nt: int


def _shares(shape: AttentionShape, soc: Soc, strip: int = 0) -> tuple[int, int]:
    """Matrices along the longest batch axis and blocks of rows of a core: the fewest for the busiest one; each matrix counts
    as `strip` blocks more."""
    longest, others = max(shape.batch), prod(shape.batch) // max(shape.batch)
    shares: list[tuple[int, int, int, int]] = []
    for m_cores in range(1, min(soc.cores.aic, shape.m1) + 1):
        b_share = ceil_div(longest, min(longest, soc.cores.aic // m_cores))
        m_share = ceil_div(shape.m1, m_cores)
        shares.append((b_share * others * (m_share + strip), m_cores, b_share, m_share))
    return min(shares)[2:]


def choose_attention_tiling(shape: AttentionShape, soc: Soc) -> AttentionTiling:
    """The shares with the fewest rows for the busiest core, and tiles that take up to all keys at once."""
    b_share, m_share = _shares(shape, soc)
    l0 = min(soc.buffers["l0a"], soc.buffers["l0b"]) // FRACTAL
    accumulators = soc.buffers["l0c"] // (2 * FRACTAL)

    def fits(mt: int, nt: int) -> bool:
        return (
            mt * (shape.d1 + nt) <= l0
            and nt * (shape.d1 + shape.e1) <= l0
            and mt * (nt + shape.e1) <= accumulators
            and shape.ub_bytes(mt, nt) <= soc.buffers["ub"]
        )

    nt = largest(min(shape.n1, 16), lambda n: fits(1, n))
    if not nt:
        raise NoKernel("a tile of 16 rows and 16 keys does not fit the chip")
    nt = even_tile(shape.n1, nt)
    mt = even_tile(m_share, largest(m_share, lambda m: fits(m, nt)))
    return AttentionTiling(b_share, m_share, mt, nt)


MOST_KEYS = 32
"""Blocks of keys that a team may take at once, where that is all of them."""


def choose_team_tiling(shape: AttentionShape, soc: Soc) -> AttentionTiling:
    """The same for a team, whose Vector cores have half of the rows of a tile each; both products take turns in L0."""
    b_share, m_share = _shares(shape, soc, strip=1)
    l0a, l0b, l0c = (
        soc.buffers[name] // size for name, size in (("l0a", FRACTAL), ("l0b", FRACTAL), ("l0c", 2 * FRACTAL))
    )
    widest = max(shape.d1, shape.e1)

    def fits(mt: int, nt: int) -> bool:
        rooms = mt * max(shape.d1, nt) <= l0a, nt * widest <= l0b, mt * (nt + shape.e1) <= l0c
        l1 = 2 * (mt * (shape.d1 + nt) + nt * (shape.d1 + shape.e1)) * FRACTAL
        return all(rooms) and l1 <= soc.buffers["l1"] and shape.ub_bytes(ceil_div(mt, 2), nt) <= soc.buffers["ub"]

    if shape.n1 <= MOST_KEYS and fits(1, shape.n1):
        nt = shape.n1
    else:
        nt = even_tile(shape.n1, largest(min(shape.n1, 16), lambda n: fits(1, n)) or 1)
    mt = largest(m_share, lambda m: fits(m, nt))
    if not mt:
        raise NoKernel("a tile of 16 rows and 16 keys does not fit the chip")
    return AttentionTiling(b_share, m_share, even_tile(m_share, mt), nt)
