"""Tile sizes and the split over cores for Cube kernels: enumerated from the SoC's buffers, judged by a bound.

The score of a candidate is the busiest engine's cycles of one core plus the first loads that nothing hides. All
capacities, rates and fractal sizes come from the SoC description.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING

from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.target_ascend.isa.model import DType
from graph_engine.target_ascend.soc.soc import Soc

if TYPE_CHECKING:
    from graph_engine.lowering.kernels.conv_shape import ConvShape
    from graph_engine.lowering.kernels.epilogue import Epilogue
    from graph_engine.lowering.kernels.requantise import Requantise

FRACTAL = 512
"""Bytes of a fractal of 16 rows: 16 x 16 numbers of two bytes, 16 x 32 of one, 16 x 8 of four; an accumulator fractal has
twice that."""

HELD, RESIDENT, RELOADED, STREAMED = "held", "resident", "reloaded", "streamed"
"""Weights of a core that stay in L0B; in L1; that come again for each band; that come with the input, a part of K at a time."""

WEIGHT_PARTS, PART_BYTES = 3, 32768
"""Weights that stay come in so many parts at most, of at least so many bytes: more would hide little more and cost flags."""

STEP_ENTRIES = 4
"""Instructions of MTE1 a matrix step: two loads to L0, a flag before and one behind. S issues in order, so that a load to L1 is
issued when no more steps in front of it are left than MTE1's queue holds."""

NEARLY_EQUAL = 1.03
"""Bounds within this factor count as equal: they leave out more than that (start-up, flags, short bursts)."""


@dataclass(frozen=True)
class ConvTiling:
    """`rows` output rows a band, or `columns` of one row; `m_cores` x `n_cores` cores; `n_share` units of N a core (the last may have
    fewer); tiles of `mt` position blocks, `nt` channel blocks, `kt` K blocks; epilogue chunks of `nc` channel
    blocks; `resident`: all weights of the core stay in L1, or, `held`, in L0B; `c1`: blocks of input channels that are in L1
    at a time, fewer than there are where K streams through L1. `cycles` is the bound of one core, `steps` counts its matrix
    steps and epilogue chunks."""

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
    held: bool
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


def weight_part(k1: int, weight_bytes: int, kt: int) -> int:
    """Blocks of K in a part of weights that stay: half, or a third where the versions of L0 would not alternate from half to
    half."""
    if weight_bytes < WEIGHT_PARTS * PART_BYTES:
        return k1
    half = -(-k1 // 2)
    return -(-k1 // WEIGHT_PARTS) if stumbles(half, kt) else half


def stumbles(k1: int, kt: int) -> bool:
    """Whether steps of so many blocks of K end with the version of L0 that the next ones begin with: an odd number of them,
    the last one shorter, and so no part of their loop."""
    steps = -(-k1 // kt)
    return steps % 2 == 1 and k1 % -(-k1 // steps) != 0


def block_cycles(soc: Soc, dtype: DType, k: int = 16) -> int:
    """Cycles in which the Cube multiplies two blocks of 16 x `k` numbers. Raises NoKernel where it has no such type."""
    if dtype.mlir not in soc.cube.tile:
        raise NoKernel(f"the Cube of {soc.name} does not multiply {dtype.mlir}")
    return prod(-(-size // extent) for size, extent in zip((16, k, 16), soc.cube.tile[dtype.mlir], strict=True))


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
    soc: Soc, m1: int, n1: int, k1: int, ub_fractal: int, ub_fixed: int, nt: int, n_unit: int = 1, *, l0c: int = 2,
    k_bytes: int = FRACTAL,
) -> CubeTile:  # fmt: skip
    """The tile for m1 x n1 x k1 blocks, those of K of `k_bytes` by 16 rows with `nt` channel blocks: halves of the L0 buffers, so that they can be
    double-buffered; `ub_fractal` bytes of UB a fractal of the epilogue, besides `ub_fixed` a core. The epilogue takes
    channel blocks in multiples of `n_unit`. `l0c` accumulators are there at a time."""
    half = {space: soc.buffers[space] // 2 for space in ("l0a", "l0b")}
    ub = (soc.buffers["ub"] - ub_fixed) // (2 * ub_fractal * n_unit)
    if ub < 1:
        raise NoKernel("the epilogue of one 16 x 16 block does not fit the unified buffer")
    mt = max(1, min(m1, 16, soc.buffers["l0c"] // l0c // (2 * FRACTAL) // nt, ub))
    tiles = -(-m1 // mt)
    mt = -(-m1 // tiles)
    kt = max(1, min(k1, half["l0a"] // k_bytes // mt, half["l0b"] // k_bytes // nt))
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
                held = (HELD,) if nt == n and shape.holds(n * FRACTAL, soc.buffers["l0b"]) else ()
                for way in (*held, RESIDENT, RELOADED, *((STREAMED,) if versions == 2 and shape.streams else ())):
                    for l0c in (2, 1) if soc.has("fixpipe") else (2,):
                        tiling = _candidate(
                            shape,
                            epilogue,
                            soc,
                            (rows, columns),
                            wanted,
                            n_cores,
                            units,
                            n_share,
                            nt,
                            way,
                            versions,
                            l0c,
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
    row = shape.reach(0, 1) * shape.w * shape.pixel_bytes
    if shape.ho == 1 or versions * (row + shape.filters * shape.k1 * FRACTAL) > soc.buffers["l1"]:
        share = -(-shape.wo // max(1, cores // shape.batch))
        widths = {-(-width // 16) * 16 for width in (*halves(shape.wo), *halves(share))}
        bands += [(1, width) for width in sorted(widths, reverse=True) if width < shape.wo]
    return bands


def _part_of_channels(shape: ConvShape, soc: Soc, m1: int, nt: int, most: int) -> int:
    """Of so many blocks of input channels at most, those whose matrix steps MTE1's queue holds, in even steps if it can be."""
    kt = max(1, min(soc.buffers["l0a"] // m1, soc.buffers["l0b"] // nt) // (2 * FRACTAL))
    ahead = max(1, min(most, (soc.sync.queue_depth // STEP_ENTRIES + 1) * kt // shape.taps))

    def steps(c1: int) -> tuple[float, int]:
        each = -(-c1 * shape.taps // kt) + stumbles(c1 * shape.taps, kt)
        return -(-shape.c1 // c1) * each, -c1

    fewest = -(-shape.c1 // ahead)
    return min({1, *(-(-shape.c1 // (fewest + more)) for more in range(5))}, key=steps)


def _candidate(
    shape: ConvShape, epilogue: Epilogue | Requantise, soc: Soc, band: tuple[int, int], wanted: int, n_cores: int, units: int, n_share: int,
    nt: int, way: str, versions: int, l0c: int,
) -> ConvTiling | None:  # fmt: skip
    rows, columns = band
    bands = shape.batch * -(-shape.ho // rows) * -(-shape.wo // columns)
    share = -(-bands // wanted)
    m_cores = -(-bands // share)
    groups = n_share if shape.groups > 1 else 1
    n = shape.n1 if shape.groups > 1 else n_share * shape.n_unit
    x_bytes = shape.reach(0, rows) * shape.reach(1, columns) * shape.pixel_bytes
    resident = way in (RESIDENT, HELD)
    w_bytes = shape.filters * shape.k1 * (n if resident else nt) * FRACTAL
    many_bands, many_weights = share * groups > 1, groups > 1 or not resident
    m1 = -(-rows * columns // 16)
    c1 = shape.read_c1
    if way == STREAMED:
        most = soc.buffers["l1"] * c1 // (versions * (x_bytes + w_bytes))
        if not most or m1 > 16:
            return None
        c1 = _part_of_channels(shape, soc, m1, nt, min(most, c1 - 1))
    elif x_bytes * (versions if many_bands else 1) + w_bytes * (versions if many_weights else 1) > soc.buffers["l1"]:
        return None
    vectors = 64 * n * (int(shape.bias) + sum(side.kind == "channel" for side in epilogue.inputs)) * 2
    try:
        tile = cube_tile(
            soc, m1, n, shape.blocks_of_k(c1), epilogue.fractal_bytes(), vectors, nt, shape.n_unit, l0c=l0c
        )
    except NoKernel:
        return None
    if way == HELD:
        kt = max(1, min(shape.k1, soc.buffers["l0a"] // (2 * FRACTAL) // tile.mt))
        tile = replace(tile, kt=-(-shape.k1 // -(-shape.k1 // kt)))
    if way == STREAMED and tile.mt < m1:  # each accumulator sees all of K, which is gone then
        return None
    ddr, l2 = soc.path("gm", "l1", "ddr"), soc.path("gm", "l1", "l2")
    chip = soc.ddr.total_bytes_per_s / (soc.freq_mhz.cube * 1e6)
    ddr_rate = min(float(ddr.bytes_per_cycle), chip / (m_cores * n_cores))
    l2_rate = min(float(l2.bytes_per_cycle), soc.l2.total_bytes_per_cycle / (m_cores * n_cores))
    n_tiles, m_tiles = -(-n // nt), -(-m1 // tile.mt)
    parts = -(-shape.read_c1 // c1)
    part = weight_part(shape.k1, w_bytes, tile.kt) if resident and shape.filters == 1 else shape.blocks_of_k(c1)
    k_tiles = -(-shape.k1 // part) * -(-part // tile.kt)
    loads = share * groups
    k1 = shape.filters * shape.k1
    # What several cores read comes from DDR once for all of them; what is read again comes from L2.
    x_readers = n_cores if shape.groups == 1 else 1
    # Layers find their input in L2 or in DDR: half and half.
    x_load = x_bytes * (max(1 / (ddr_rate * x_readers), 1 / l2_rate) + 1 / l2_rate) / 2
    # Cores fetch weights together where they do it alike: once and for all, for one band each, or for bands that are all equal.
    alike = share == 1 or (not any(shape.pads) and (bands % share, shape.ho % rows, shape.wo % columns) == (0, 0, 0))
    together = m_cores if resident or alike else 1
    w_load = k1 * n * FRACTAL * max(1 / (ddr_rate * together), 1 / l2_rate)
    mte2 = loads * x_load + groups * w_load
    if not resident:
        mte2 += (loads - groups) * k1 * n * FRACTAL / l2_rate
    if way == STREAMED:
        mte2 += loads * (n_tiles - 1) * x_bytes / l2_rate
    tiles = sum(s.kind == "tile" for s in epilogue.inputs)
    y_bytes = loads * m1 * n * 256 * epilogue.out_dtype.bytes
    mte2 += tiles * y_bytes / l2_rate
    # Moves are requested ahead, so that their latencies pass while others transfer.
    mte2 += soc.sync.gm_move_cycles * (
        loads * (n_tiles * parts if way == STREAMED else 1) + (0 if resident else loads * n_tiles * parts)
    )
    steps = loads * n_tiles * m_tiles * k_tiles * shape.filters
    cube = loads * m1 * n * k1 * block_cycles(soc, shape.weights, shape.c0) + soc.cube.fixed_cycles * steps
    if shape.fractals(rows * columns):
        path = soc.path("l1", "l0a")
        left_latency, left = path.latency_cycles, FRACTAL / path.bytes_per_cycle
    else:
        left_latency, left = soc.load3d.latency_cycles, soc.load3d.cycles(shape.taps, shape.strides[1], FRACTAL)
    mte1 = loads * n_tiles * m1 * k1 * left
    right = soc.path("l1", "l0b")
    mte1 += (1 if way == HELD else loads * m_tiles) * n * k1 * FRACTAL / right.bytes_per_cycle
    mte1 += (left_latency + (0 if way == HELD else right.latency_cycles) + 4 * soc.sync.cycles) * steps
    vec = loads * m1 * n * epilogue.fractal_cycles + 120.0 * loads * n_tiles * m_tiles * -(-nt // tile.nc)
    mte3 = y_bytes / l2_rate
    # Nothing hides the first band with the first part of the weights, nor the last tile's way out.
    x_first, w_first = x_load * c1 / shape.read_c1, w_load / groups
    if way == STREAMED:
        w_first *= c1 / shape.read_c1 * nt / n
    elif way == RELOADED:
        w_first *= nt / n
    else:
        w_first *= part / shape.k1
    first = x_first + w_first + 2 * ddr.latency_cycles
    if way == HELD:  # all of them go to L0B before the first step
        first += right.latency_cycles + n * k1 * FRACTAL / right.bytes_per_cycle
    if stumbles(part, tile.kt):
        turn = left_latency + tile.kt * (tile.mt * left + tile.nt)
        mte1 += turn * steps / -(-part // tile.kt)
        cube += turn * steps / -(-part // tile.kt)
    computed = max(cube, mte1, vec, mte3)
    last = computed / loads / (n_tiles * parts if not resident else 1)
    drain = (vec + mte3) / (loads * n_tiles * m_tiles)
    if tile.mt * nt > soc.buffers["l0c"] // (4 * FRACTAL):  # the next tile waits for the accumulator
        computed += drain * (loads * n_tiles * m_tiles - 1)
    cycles = max(first + computed, mte2 + 0.5 * mte3 + last) + drain
    # What L1 holds at a time is multiplied in so many steps; the next is on its way during those alone that the queue holds.
    if (turns := {HELD: loads, RESIDENT: loads, RELOADED: loads * n_tiles, STREAMED: loads * n_tiles * parts}[way]) > 1:
        ahead = min(1.0, (soc.sync.queue_depth / STEP_ENTRIES + 1) * turns / steps)
        again = (loads - 1) * x_load if resident else mte2 * (1 - 1 / turns)
        again += ddr.latency_cycles * (turns - 1) * (ahead < 1)
        cycles = max(cycles, first + computed * (1 - ahead * (1 - 1 / turns)) + again + drain)
    if resident:  # the first band waits for all weights
        cycles = max(cycles, x_first + w_load / groups + computed * (1 - (1 - part / shape.k1) / share))
    if versions == 1:
        cycles += mte2
    issued = steps + loads * n_tiles * m_tiles * -(-nt // tile.nc)
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
        way == HELD,
        c1,
        cycles,
        issued,
    )
