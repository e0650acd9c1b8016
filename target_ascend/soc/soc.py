"""Chip descriptions: one YAML file a family, one a SoC, read into a tree of dataclasses.

The dataclasses are the schema; `within` and `one_of` give what a value may be. Every leaf of a file is
`{value, source}`, `{value, assumed_from, source}` or `{value, assumed}`; a wrong file is refused with its lines.
What a chip does follows from these values and from four named behaviours: nothing tests a SoC's name.

Units: bytes, MHz, microseconds, cycles; rates are bytes per cycle per core unless a name says otherwise.
Element types have their MLIR names (`f16`, `i8`, `ui8`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

from graph_engine.errors import GraphEngineError

BEHAVIOURS = ("coupled", "split", "fixpipe", "direct")
"""How Cube and Vector meet, the one thing that kernels are built by.

coupled: one core has both; split: a core each, which meet in L2; fixpipe: L0C leaves through a pipe of its own, else
through the Vector; direct: split, with a way from L0C to the UB of a Vector core.
"""

COMPARED = {
    "networks": "measured against published times of whole networks on it",
    "operators": "measured against published times of single operators on it",
    "family": "extrapolated from a chip of its family that is measured against published times",
    "nothing": "assumed: no published time of its family has been compared",
}
"""How far the times of a chip have been compared (`docs/timing_validation.md`), and what reports say of it."""

PIPES = ("S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX")


def within(low: float, high: float) -> dict[str, Any]:
    """What a field says whose number, or each of its numbers, lies in low..high."""
    return {"range": (low, high)}


def one_of(*choices: str) -> dict[str, Any]:
    """What a field says whose text, or each of its texts, is one of `choices`."""
    return {"choices": choices}


@dataclass(frozen=True, slots=True)
class Cores:
    """Number of AI Cores (or Cube cores), Vector cores, AI CPUs."""

    aic: Annotated[int, within(1, 1024)]
    aiv: Annotated[int, within(0, 1024)]
    aicpu: Annotated[int, within(1, 256)]


@dataclass(frozen=True, slots=True)
class Frequencies:
    """Clocks in MHz. `cube` is the clock of an AI Core."""

    cube: Annotated[float, within(1, 10_000)]
    vec: Annotated[float, within(1, 10_000)]


@dataclass(frozen=True, slots=True)
class Cube:
    """`tile[dtype]` = (m, k, n) elements a cycle; an mmad costs `fixed_cycles` + its tiles."""

    tile: Annotated[dict[str, tuple[int, int, int]], within(1, 4096)]
    fixed_cycles: Annotated[int, within(0, 10_000)]


@dataclass(frozen=True, slots=True)
class Vector:
    """`ops[intrinsic]` = (cycles per repeat of `repeat_bytes`, fixed cycles); see `Soc.vector_cost`.

    The UB deals its 32-byte blocks to `bank_groups` in turn; `conflict_free[intrinsic]` is the cycles per repeat of an
    instruction whose two sources never meet in one of them.
    """

    bytes_per_cycle: Annotated[int, within(1, 65_536)]
    repeat_bytes: Annotated[int, within(32, 65_536)]
    bank_groups: Annotated[int, within(1, 1024)]
    conflict_free: Annotated[dict[str, int], within(1, 10_000)]
    unaligned_extra_cycles: Annotated[int, within(0, 10_000)]
    barrier_cycles: Annotated[int, within(0, 10_000)]
    ops: Annotated[dict[str, tuple[int, int]], within(0, 10_000)]


@dataclass(frozen=True, slots=True)
class MovePath:
    """One way from memory to memory: the pipe that drives it, its rate, the latency before the first byte."""

    pipe: Annotated[str, one_of(*PIPES)]
    bytes_per_cycle: Annotated[int, within(1, 65_536)]
    latency_cycles: Annotated[int, within(0, 1_000_000)]


@dataclass(frozen=True, slots=True)
class Load3d:
    """img2col from L1 to L0A; `bytes_per_cycle` for one tap and stride 1. `slowed`: the published n of a window of `several_taps`
    and the `least` rate; without it nothing slows. `small_channels[dtype]`: channels of a pixel that it takes besides
    blocks of C0."""

    latency_cycles: Annotated[int, within(0, 1_000_000)]
    bytes_per_cycle: Annotated[int, within(1, 65_536)]
    slowed: Annotated[dict[str, int], within(1, 65_536)]
    small_channels: Annotated[dict[str, int], within(1, 1024)]

    def cycles(self, taps: int, stride_w: int, count: int) -> int:
        """Cycles, besides the latency, for `count` bytes of a window of so many taps.

        The rate is 2 * bytes_per_cycle / (2 * stride_w + n), n = 0 for one tap, and never below the least (source:
        asc-devkit appendix).
        """
        if not self.slowed:
            return -(-count // self.bytes_per_cycle)
        turns = 2 * stride_w + (self.slowed["several_taps"] if taps > 1 else 0)
        return min(-(-count * turns // (2 * self.bytes_per_cycle)), -(-count // self.slowed["least"]))


@dataclass(frozen=True, slots=True)
class L2:
    """The cache before device memory; its capacity is `Soc.buffers["l2"]`. The rate is the whole chip's."""

    line_bytes: Annotated[int, within(1, 1 << 20)]
    total_bytes_per_cycle: Annotated[int, within(1, 1 << 24)]


@dataclass(frozen=True, slots=True)
class Ddr:
    """Device memory; `unaligned_factor` scales the rate of accesses at multiples of 32 but not of 512 bytes."""

    size_bytes: Annotated[int, within(1 << 20, 1 << 48)]
    total_bytes_per_s: Annotated[float, within(1e6, 1e15)]
    unaligned_factor: Annotated[float, within(0.01, 1.0)]
    min_good_transfer_bytes: Annotated[int, within(1, 1 << 30)]


@dataclass(frozen=True, slots=True)
class Sync:
    """Flags: cycles of one, event ids per ordered pair of pipes, instructions that a pipe's queue holds.

    `gm_move_cycles`: between the starts of two moves of device memory in one pipe. `cross_flags`: numbers of flags between
    the cores of a team, 0 where there are none; `cross_cycles`: from one's raising to whoever waits for it.
    """

    cycles: Annotated[int, within(0, 10_000)]
    event_ids: Annotated[int, within(1, 64)]
    queue_depth: Annotated[int, within(1, 65_536)]
    gm_move_cycles: Annotated[int, within(1, 10_000)]
    cross_flags: Annotated[int, within(0, 64)]
    cross_cycles: Annotated[int, within(0, 100_000)]


@dataclass(frozen=True, slots=True)
class Overheads:
    """Time around a task's compute, in microseconds."""

    aicore_scheduler_us: float
    hw_init_us: float
    sw_init_us: float
    completion_report_us: float
    aicpu_task_us: float
    event_us: float
    mix_us: float
    """What a launch on teams of cores takes more."""

    @property
    def kernel_task_us(self) -> float:
        """Sum of the parts that a kernel launch pays."""
        return self.aicore_scheduler_us + self.hw_init_us + self.sw_init_us + self.completion_report_us


@dataclass(frozen=True, slots=True)
class Aicpu:
    """Speed of a task on the AI CPU: elements read and written per microsecond."""

    elements_per_us: Annotated[float, within(0.001, 1e9)]


@dataclass(frozen=True, slots=True)
class Numerics:
    """`overflow_mode`: "saturating" (the largest finite value) or "inf_nan"."""

    overflow_mode: Annotated[str, one_of("saturating", "inf_nan")]
    bf16: bool


@dataclass(frozen=True, slots=True)
class Limits:
    """What the runtime can hold."""

    streams: int
    stream_depth_tasks: int
    events: int
    notifies: int
    max_block_dim: Annotated[int, within(1, 65_535)]


@dataclass(frozen=True, slots=True)
class Assumption:
    """A value that is not published for this chip: `file:line`, the family and source it is taken from, or why."""

    key: str
    place: str
    value: Any
    assumed_from: str | None
    source: str
    reason: str


@dataclass(frozen=True, slots=True)
class Validity:
    """How many values a description has, and which are assumed."""

    values: int
    assumptions: tuple[Assumption, ...]

    def note(self) -> str:
        """One line for reports: how much of the model is assumed."""
        by_family: dict[str, int] = {}
        for assumption in self.assumptions:
            origin = assumption.assumed_from or "published nowhere"
            by_family[origin] = by_family.get(origin, 0) + 1
        parts = ", ".join(
            f"{count} {'' if origin[0] == 'p' else 'from '}{origin}" for origin, count in by_family.items()
        )
        total = len(self.assumptions)
        return (
            f"{total} of {self.values} chip values are assumed ({parts})"
            if total
            else f"all {self.values} chip values have a source"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Soc:
    """One chip. Mappings are keyed by memory space (`l1`), element type (`f16`) or intrinsic (`vadd`).

    `alignment["tensor"]` is the alignment of tensors in device memory. Compared and hashed by identity;
    `load_soc` returns the same object for the same file.
    """

    name: str
    short_name: str
    family: str
    aic_version: str
    npu_arch: int
    compared: Annotated[str, one_of(*COMPARED)]
    cores: Cores
    freq_mhz: Frequencies
    behaviours: Annotated[tuple[str, ...], one_of(*BEHAVIOURS)]
    pipes: Annotated[tuple[str, ...], one_of(*PIPES)]
    buffers: Annotated[dict[str, int], within(0, 1 << 40)]
    alignment: Annotated[dict[str, int], within(1, 1 << 20)]
    c0: Annotated[dict[str, int], within(1, 1024)]
    n0: Annotated[int, within(1, 1024)]
    cube: Cube
    vector: Vector
    paths: dict[str, MovePath]
    load3d: Load3d
    l2: L2
    ddr: Ddr
    sync: Sync
    overheads: Overheads
    aicpu: Aicpu
    numerics: Numerics
    heavy_operators: tuple[str, ...]
    limits: Limits
    instructions: dict[str, tuple[str, ...]]
    validity: Validity

    def trust(self) -> str:
        """One line for reports: what its times have been compared with, and how much of the description is assumed."""
        return f"modelled, not run on a chip; {COMPARED[self.compared]}; {self.validity.note()}"

    def has(self, behaviour: str) -> bool:
        """Whether the chip has one of `BEHAVIOURS`."""
        return behaviour in self.behaviours

    @property
    def vector_cores(self) -> int:
        """Cores that a kernel of the Vector alone is dealt to."""
        return self.cores.aiv if self.has("split") else self.cores.aic

    def path(self, source: str, target: str, level: str = "ddr") -> MovePath:
        """The way from space `source` to `target`; `level` ("ddr" or "l2") counts where device memory is an end.

        Raises GraphEngineError where the chip has no such way.
        """
        key = f"{source}->{target}"
        if "gm" in (source, target):
            key += f"@{level}"
        if key not in self.paths:
            raise GraphEngineError(f"{self.name} has no way {key}; it has {', '.join(self.paths)}")
        return self.paths[key]

    def vector_cost(self, mnemonic: str) -> tuple[int, int]:
        """(cycles per repeat, fixed cycles) of a vector instruction, by the instruction set's mnemonic ("add")."""
        key = f"v{mnemonic}"
        if key not in self.vector.ops:
            raise GraphEngineError(f"{self.name} gives no cost for {key}")
        return self.vector.ops[key]

    def supports(self, mnemonic: str, dtype: str) -> bool:
        """Whether a vector instruction ("add") takes an element type; conversions are spelt "f32 -> f16"."""
        return dtype in self.instructions.get(f"v{mnemonic}", ())

    @property
    def activations(self) -> tuple[str, ...]:
        """What FixPipe does with a result of the Cube on the way, of the instruction set's `ACTIVATIONS`."""
        return self.instructions.get("fixpipe_activation", ())

    def supports_mmad(self, left: str, right: str, accumulator: str) -> bool:
        """Whether the Cube multiplies these element types into this accumulator."""
        return f"{left} x {right} -> {accumulator}" in self.instructions.get("mmad", ())


def available_socs() -> tuple[str, ...]:
    """Names of the chip descriptions that come with the package."""
    return tuple(sorted(path.stem for path in Path(__file__).parent.glob("*.yaml")))


def load_soc(name_or_path: str) -> Soc:
    """The chip of that name, or the one described by a `.yaml` file; "Ascend950PR" is its only variant in the package.

    Raises GraphEngineError: unknown name (with the nearest one), unreadable file, or a file that breaks the
    schema (`file:line: key: what is wrong`, a line for each problem).
    """
    path = Path(name_or_path)
    if path.suffix not in (".yaml", ".yml"):
        known = available_socs()
        variants = [soc for soc in known if soc.startswith(f"{name_or_path}_")]
        name = variants[0] if len(variants) == 1 and name_or_path not in known else name_or_path
        if name not in known:
            raise GraphEngineError(_unknown(name_or_path))
        path = Path(__file__).parent / f"{name}.yaml"
    if not path.is_file():
        raise GraphEngineError(f"{name_or_path}: no such chip description")
    return _load(path.resolve(), path.stat().st_mtime_ns)


def chip_table() -> list[tuple[str, ...]]:
    """Rows of text, the first one the head: a chip's name, family, behaviours, cores, clock and memory."""
    rows: list[tuple[str, ...]] = [
        ("chip", "family", "Cube and Vector", "AIC", "AIV", "MHz", "L1 KiB", "UB KiB", "L2 MiB", "GB/s", "assumed")
    ]
    for name in available_socs():
        soc = load_soc(name)
        memory = [str(soc.buffers[space] // unit) for space, unit in (("l1", 1024), ("ub", 1024), ("l2", 2**20))]
        share = f"{len(soc.validity.assumptions)} of {soc.validity.values}"
        rate, clock = f"{soc.ddr.total_bytes_per_s / 1e9:.0f}", f"{soc.freq_mhz.cube:g}"
        cores = str(soc.cores.aic), str(soc.cores.aiv)
        rows.append((name, soc.family, " ".join(soc.behaviours), *cores, clock, *memory, rate, share))
    return rows


def describe_socs() -> str:
    """`chip_table` in columns."""
    rows = chip_table()
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def _unknown(name: str) -> str:
    import difflib

    known = available_socs()
    lowered = {soc.lower(): soc for soc in known}
    near = difflib.get_close_matches(name.lower(), lowered, 1, 0.5)
    hint = f"; did you mean {lowered[near[0]]}?" if near else ""
    return f"unknown SoC {name!r}{hint} (known: {', '.join(known)}; or the path of a .yaml file)"


@lru_cache
def _load(path: Path, _mtime_ns: int) -> Soc:
    from graph_engine.target_ascend.soc.schema import read_soc

    return read_soc(path)
