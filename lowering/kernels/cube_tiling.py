"""Tile sizes and the split over cores for Cube kernels: enumerated from the SoC's buffers, judged by a bound.

The score of a candidate is the busiest engine's cycles of one core plus the first loads that nothing hides. All
capacities, rates and fractal sizes come from the SoC description.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.target_ascend.soc.soc import Soc

if TYPE_CHECKING:
    from graph_engine.lowering.kernels.conv_shape import ConvShape
    from graph_engine.lowering.kernels.epilogue import Epilogue
    from graph_engine.lowering.kernels.requantise import Requantise

FRACTAL = 512
"""Bytes of a fractal of 16 x 16 fp16 or 16 x 32 8-bit numbers; an accumulator fractal has twice that."""

RESIDENT, RELOADED, STREAMED = "resident", "reloaded", "streamed"
"""Weights of a core that stay in L1; that come again for each band; that come with the input, a part of K at a time."""

NEARLY_EQUAL = 1.15
"""Bounds within this factor count as equal: they leave out more than that (start-up, flags, short bursts)."""


@dataclass(frozen=True)
class ConvTiling:
    """`rows` output rows a band, or `columns` of one row; `m_cores` x `n_cores` cores; `n_share` units of N a core (the last may have
    fewer); tiles of `mt` position blocks, `nt` channel blocks, `kt` K blocks; epilogue chunks of `nc` channel
    blocks; `resident`: all weights of the core stay in L1; `c1`: blocks of input channels that are in L1 at a time, fewer
    than there are where K streams through L1. `cycles` is the bound of one core, `steps` counts its matrix steps and
    epilogue chunks."""

    rows: int
    columns: int
    m_cores: int
    n_cores: int
    n_units: int
    n_share: int
    mt: int
    nt: int
    kt: int
    nc: int
    resident: bool
    c1: int
    cycles: float
    steps: int

    def n_groups(self, *, apart: bool = False) -> list[tuple[int, int, int]]:
        """(first, last + 1, units) of neighbouring N shares of one size, the last one for itself if it is `apart`."""
        full, tail = divmod(self.n_units, self.n_share)
        if apart and not tail:
            full, tail = full - 1, self.n_share
        groups = [(0, full, self.n_share)] if full else []
        return groups + ([(full, full + 1, tail)] if tail else [])


def halves(n: int) -> Iterator[int]:
    """n, n/2, n/4, ... rounded up, down to 1."""
    while True:
        yield n
        if n == 1:
            return
        n = -(-n // 2)


@dataclass(frozen=True)
class CubeTile:
    """L0 and UB tile of one accumulator."""

    mt: int
    nt: int
    kt: int
    nc: int


def cube_tile(
    soc: Soc, m1: int, n1: int, k1: int, ub_fractal: int, ub_fixed: int, nt: int, n_unit: int = 1
) -> CubeTile:
    """The tile for m1 x n1 x k1 fractals with `nt` channel blocks: halves of the L0 buffers, so that they can be
    double-buffered; `ub_fractal` bytes of UB a fractal of the epilogue, besides `ub_fixed` a core. The epilogue takes
    channel blocks in multiples of `n_unit`."""
    half = {space: soc.buffers[space] // 2 for space in ("l0a", "l0b", "l0c")}
    ub = (soc.buffers["ub"] - ub_fixed) // (2 * ub_fractal * n_unit)
    if ub < 1:
        raise NoKernel("the epilogue of one 16 x 16 block does not fit the unified buffer")
    mt = max(1, min(m1, 16, half["l0c"] // (2 * FRACTAL) // nt, ub))
    tiles = -(-m1 // mt)
    mt = -(-m1 // tiles)
    kt = max(1, min(k1, half["l0a"] // FRACTAL // mt, half["l0b"] // FRACTAL // nt))
    kt = -(-k1 // -(-k1 // kt))
    units = nt // n_unit
    nc = max(1, min(units, ub // mt))
    nc = -(-units // -(-units // nc))
    return CubeTile(mt, nt, kt, nc * n_unit)


@lru_cache(maxsize=4096)
def choose_conv_tiling(shape: ConvShape, epilogue: Epilogue | Requantise, soc: Soc) -> ConvTiling:
    """The best tiling found. Raises `NoKernel` where not even the smallest fits."""
    # Only where nothing fits L1 twice, a core waits for each of its loads.
    for versions in (2, 1):
        if found := _tilings(shape, epilogue, soc, versions):
            break
    else:
        raise NoKernel("the input of 16 outputs of one row and one tile of the weights do not fit L1")
    whole = [tiling for tiling in found if tiling.c1 == shape.read_c1]
    least = min(tiling.cycles for tiling in found)
    if whole and min(tiling.cycles for tiling in whole) <= least * NEARLY_EQUAL:
        found = whole
    # Among nearly equal ones the tiling with the fewest steps: larger tiles reuse L0 more and issue less.
    close = min(tiling.cycles for tiling in found) * NEARLY_EQUAL
    return min((t for t in found if t.cycles <= close), key=lambda t: (t.steps, t.cycles))


def _tilings(shape: ConvShape, epilogue: Epilogue | Requantise, soc: Soc, versions: int) -> list[ConvTiling]:
    found: list[ConvTiling] = []
    units = shape.groups if shape.groups > 1 else shape.n1 // shape.n_unit
    for n_cores in range(1, min(units, soc.cores.aic) + 1):
        n_share = -(-units // n_cores)
        if -(-units // n_share) != n_cores:
            continue
        wanted = max(1, soc.cores.aic // n_cores)
        for rows, columns in _band_choices(shape, wanted, versions, soc):
            n = shape.n1 if shape.groups > 1 else n_share * shape.n_unit
            for nt in sorted({min(n, cap) for cap in (16, 8, 4, 2, 1) if cap >= shape.n_unit}, reverse=True):
                for way in (RESIDENT, RELOADED, *((STREAMED,) if versions == 2 and shape.streams else ())):
                    tiling = _candidate(
                        shape, epilogue, soc, (rows, columns), wanted, n_cores, units, n_share, nt, way, versions
                    )
                    if tiling is not None:
                        found.append(tiling)
    return found


def _band_choices(shape: ConvShape, cores: int, versions: int, soc: Soc) -> list[tuple[int, int]]:
    """Heights and widths of bands worth trying: an even deal over the cores, and its parts.

    A row is cut where it is the only one, or where what it needs does not fit L1.
    """
    per_core = -(-shape.ho * shape.batch // cores)
    start = min(shape.ho, per_core)
    bands = [(rows, shape.wo) for rows in sorted({*halves(start), *halves(shape.ho)}, reverse=True)]
    row = shape.read_c1 * shape.reach(0, 1) * shape.w * 32
    if shape.ho == 1 or versions * (row + shape.filters * shape.k1 * FRACTAL) > soc.buffers["l1"]:
        share = -(-shape.wo // max(1, cores // shape.batch))
        widths = {-(-width // 16) * 16 for width in (*halves(shape.wo), *halves(share))}
        bands += [(1, width) for width in sorted(widths, reverse=True) if width < shape.wo]
    return bands


def _candidate(
    shape: ConvShape, epilogue: Epilogue | Requantise, soc: Soc, band: tuple[int, int], wanted: int, n_cores: int, units: int, n_share: int,
    nt: int, way: str, versions: int,
) -> ConvTiling | None:  # fmt: skip
    rows, columns = band
    bands = shape.batch * -(-shape.ho // rows) * -(-shape.wo // columns)
    share = -(-bands // wanted)
    m_cores = -(-bands // share)
    groups = n_share if shape.groups > 1 else 1
    n = shape.n1 if shape.groups > 1 else n_share * shape.n_unit
    x_bytes = shape.read_c1 * shape.reach(0, rows) * shape.reach(1, columns) * 32
    resident = way == RESIDENT
    w_bytes = shape.filters * shape.k1 * (n if resident else nt) * FRACTAL
    many_bands, many_weights = share * groups > 1, groups > 1 or not resident
    m1 = -(-rows * columns // 16)
    c1 = shape.read_c1
    if way == STREAMED:
        most = soc.buffers["l1"] * c1 // (versions * (x_bytes + w_bytes))
        if not 0 < most < c1 or m1 > 16:
            return None
        c1 = -(-c1 // -(-c1 // most))
    elif x_bytes * (versions if many_bands else 1) + w_bytes * (versions if many_weights else 1) > soc.buffers["l1"]:
        return None
    vectors = 64 * n * (int(shape.bias) + sum(side.kind == "channel" for side in epilogue.inputs)) * 2
    try:
        tile = cube_tile(soc, m1, n, c1 * shape.taps, epilogue.fractal_bytes(), vectors, nt, shape.n_unit)
    except NoKernel:
        return None
    if way == STREAMED and tile.mt < m1:  # each accumulator sees all of K, which is gone then
        return None
    active = m_cores * n_cores
    ddr, l2 = soc.path("gm", "l1", "ddr"), soc.path("gm", "l1", "l2")
    chip = soc.ddr.total_bytes_per_s / (soc.freq_mhz.cube * 1e6)
    ddr_rate = min(float(ddr.bytes_per_cycle), chip / active)
    n_tiles, m_tiles = -(-n // nt), -(-m1 // tile.mt)
    k_tiles = -(-shape.read_c1 // c1) * -(-c1 * shape.taps // tile.kt)
    loads = share * groups
    w_reads = groups if resident else loads
    k1 = shape.filters * shape.k1
    w_total = k1 * n * FRACTAL * w_reads
    w_first = k1 * n * FRACTAL * groups
    # Weights that several cores read come from DDR once; repeated reads come from L2.
    w_cycles = w_first / m_cores / ddr_rate + (w_total - w_first / m_cores) / l2.bytes_per_cycle
    mte2 = loads * x_bytes / ddr_rate / (n_cores if shape.groups == 1 else 1) + w_cycles
    mte2 += loads * x_bytes / l2.bytes_per_cycle if n_cores > 1 and shape.groups == 1 else 0.0
    mte2 += loads * (n_tiles - 1) * x_bytes / l2.bytes_per_cycle if way == STREAMED else 0.0
    tiles = sum(s.kind == "tile" for s in epilogue.inputs)
    y_bytes = loads * m1 * n * 256 * (1 if shape.quantised else 2)
    mte2 += tiles * y_bytes / ddr_rate
    mte2 += ddr.latency_cycles * (loads + (0 if resident else loads * n_tiles))
    steps = loads * n_tiles * m_tiles * k_tiles * shape.filters
    cube = loads * m1 * n * k1 + soc.cube.fixed_cycles * steps
    mte1 = loads * n_tiles * m1 * k1 * FRACTAL / soc.path("l1", "l0a").bytes_per_cycle
    mte1 += loads * m_tiles * n * k1 * FRACTAL / soc.path("l1", "l0b").bytes_per_cycle
    mte1 += 78 * steps
    vec = loads * m1 * n * epilogue.fractal_cycles + 120.0 * loads * n_tiles * m_tiles * -(-nt // tile.nc)
    mte3 = y_bytes / ddr_rate
    first = x_bytes * c1 / shape.read_c1
    fill = (first / ddr_rate if not many_bands else 0.0) + m1 * 16.0
    issued = steps + loads * n_tiles * m_tiles * -(-nt // tile.nc)
    cycles = max(cube, mte1, vec, mte3, mte2 + 0.5 * mte3) + fill + (mte2 if versions == 1 else 0.0)
    return ConvTiling(
        rows,
        columns,
        m_cores,
        n_cores,
        units,
        n_share,
        tile.mt,
        tile.nt,
        tile.kt,
        tile.nc,
        resident,
        c1,
        cycles,
        issued,
    )
