"""Matrix product on the Cube: both sides stream through L1 in chunks of K, Vector epilogue.

    for each tile of rows, for each tile of columns:
      for each chunk of K:                  left and right GM -> L1
        for each tile of K in the chunk:    load2d to L0A and L0B, mmad into L0C
      for each chunk of columns:            L0C -> UB, bias, conversion, epilogue steps, UB -> GM

Left FRACTAL_NZ (k1, m1, 16, 16), right FRACTAL_Z (k1, n1, 16, 16), result FRACTAL_NZ (n1, m1, 16, 16).
"""

from __future__ import annotations

from dataclasses import dataclass

from graph_engine.dialects.ascend.affine import Expr
from graph_engine.dialects.ascend.memory import KernelOp
from graph_engine.lowering.kernels.builder import Arg, KernelBuilder
from graph_engine.lowering.kernels.cube_tiling import FRACTAL, CubeTile, cube_tile
from graph_engine.lowering.kernels.epilogue import Epilogue, EpilogueTile
from graph_engine.target_ascend.isa.model import DType, Space
from graph_engine.target_ascend.soc.soc import Soc


@dataclass(frozen=True)
class MatmulShape:
    """A product as the Cube sees it: blocks of 16 of each dimension. `shared`: all batches use one right side."""

    batch: int
    m1: int
    k1: int
    n1: int
    bias: bool
    shared: bool = True


@dataclass(frozen=True)
class MatmulTiling:
    """Shares of the cores (in blocks of 16), tile, and K blocks that stand in L1 at a time."""

    m_share: int
    n_share: int
    tile: CubeTile
    kc: int


def choose_matmul_tiling(shape: MatmulShape, epilogue: Epilogue, soc: Soc) -> MatmulTiling:
    """Splits columns over the cores first (weights are read once), rows over what is left."""
    cores = max(1, soc.cores.aic // min(shape.batch, soc.cores.aic))
    best: tuple[float, int, int] | None = None
    for n_cores in range(1, min(cores, shape.n1) + 1):
        n_share = -(-shape.n1 // n_cores)
        m_share = -(-shape.m1 // max(1, min(shape.m1, cores // n_cores)))
        cube = m_share * n_share * shape.k1
        bytes_moved = (m_share + n_share) * shape.k1 * FRACTAL
        cycles = max(float(cube), bytes_moved / soc.path("gm", "l1", "ddr").bytes_per_cycle)
        if best is None or cycles < best[0]:
            best = cycles, m_share, n_share
    assert best is not None
    _, m_share, n_share = best
    vectors = 64 * n_share * (int(shape.bias) + sum(side.kind == "channel" for side in epilogue.inputs))
    tile = cube_tile(soc, m_share, n_share, shape.k1, epilogue.fractal_bytes(), vectors, min(16, n_share))
    room = soc.buffers["l1"] // (2 * FRACTAL) // (tile.mt + tile.nt)
    kc = max(tile.kt, min(shape.k1, room) // tile.kt * tile.kt)
    return MatmulTiling(m_share, n_share, tile, kc)


def build_matmul(name: str, shape: MatmulShape, epilogue: Epilogue, soc: Soc) -> KernelOp:
    """The kernel; its arguments are left, right, [bias], the epilogue's inputs, result."""
    tiling = choose_matmul_tiling(shape, epilogue, soc)
    a = Arg("a", (shape.batch, shape.k1, shape.m1, 16, 16), DType.F16, "r")
    b = Arg("b", (1 if shape.shared else shape.batch, shape.k1, shape.n1, 16, 16), DType.F16, "r")
    bias = [Arg("bias", (shape.n1 * 16,), DType.F32, "r")] if shape.bias else []
    plane = (shape.batch, shape.n1, shape.m1 * 16, 1, 16)
    y = Arg("y", plane, epilogue.out_dtype, "w")
    m_cores, n_cores = -(-shape.m1 // tiling.m_share), -(-shape.n1 // tiling.n_share)
    kb = KernelBuilder(name, [a, b, *bias, *epilogue.args(plane), y], m_cores * n_cores)
    for m_core in range(m_cores):
        m_at = m_core * tiling.m_share
        rows = min(tiling.m_share, shape.m1 - m_at)
        first = m_core * n_cores
        full, tail = divmod(shape.n1, tiling.n_share)
        if full:
            with kb.blocks(first, first + full) as blk:
                _core(kb, shape, tiling, epilogue, m_at, rows, (blk + -first) * tiling.n_share, tiling.n_share)
        if tail:
            with kb.blocks(first + full, first + full + 1):
                _core(kb, shape, tiling, epilogue, m_at, rows, Expr(full * tiling.n_share), tail)
    return kb.kernel


def _core(
    kb: KernelBuilder, shape: MatmulShape, tiling: MatmulTiling, epilogue: Epilogue,
    m_start: int, rows: int, n_start: Expr, columns: int,
) -> None:  # fmt: skip
    """The rows m_start..m_start+rows and `columns` columns from n_start, in blocks of 16."""
    tile, m1, n1 = tiling.tile, shape.m1, shape.n1
    vectors = epilogue.load_channels(kb, kb.args[2] if shape.bias else None, n_start, columns)
    with kb.loop(shape.batch, "batch") as batch:
        for m_at, mt in kb.tiles(rows, tile.mt, "m"):
            for n_at, nt in kb.tiles(columns, tile.nt, "n"):
                l0c = kb.alloc("l0c", Space.L0C, (nt, mt, 16, 16), DType.F32)
                first_chunk = True
                for c_at, kc in kb.tiles(shape.k1, tiling.kc, "kc"):
                    left = kb.alloc("a_l1", Space.L1, (kc, mt, 16, 16), DType.F16)
                    a_at = batch * (shape.k1 * m1 * 256) + c_at * (m1 * 256) + (m_at + m_start) * 256
                    kb.copy(kb.view(left), kb.view(kb.args[0], a_at, left.shape, (m1 * 256, 256, 16, 1)))
                    right = kb.alloc("b_l1", Space.L1, (kc, nt, 16, 16), DType.F16)
                    b_at = c_at * (n1 * 256) + (n_at + n_start) * 256
                    if not shape.shared:
                        b_at = b_at + batch * (shape.k1 * n1 * 256)
                    kb.copy(kb.view(right), kb.view(kb.args[1], b_at, right.shape, (n1 * 256, 256, 16, 1)))
                    first_tile = first_chunk
                    for k_at, kt in kb.tiles(kc, tile.kt, "k"):
                        l0a = kb.alloc("l0a", Space.L0A, (mt, kt, 16, 16), DType.F16)
                        kb.load2d(kb.view(l0a), kb.view(left, k_at * (mt * 256), l0a.shape, (256, mt * 256, 16, 1)))
                        l0b = kb.alloc("l0b", Space.L0B, (kt, nt, 16, 16), DType.F16)
                        kb.load2d(kb.view(l0b), kb.view(right, k_at * (nt * 256), l0b.shape))
                        sizes = (mt * 16, kt * 16, nt * 16)
                        first_of = [c_at, k_at] if first_tile else None
                        kb.mmad(kb.view(l0c), kb.view(l0a), kb.view(l0b), sizes, first_of)
                        first_tile = False
                    first_chunk = False
                y_at = batch * (n1 * m1 * 256) + n_start * (m1 * 256) + (m_at + m_start) * 256
                epilogue.emit(kb, EpilogueTile(l0c, mt, mt * 16, y_at, m1 * 256, n_at), nt, tile.nc, vectors)
