"""Chip descriptions: one YAML file a SoC, read into a tree of dataclasses.

The dataclasses are the schema. Every leaf of the file is `{value, source}`, `{value, assumed_from, source}` or
`{value, assumed}`; a wrong file is refused with its line. Behaviour follows from these values alone: nothing
tests a SoC's name.

Units: bytes, MHz, microseconds, cycles; rates are bytes per cycle per core unless a name says otherwise.
Element types have their MLIR names (`f16`, `i8`, `ui8`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from graph_engine.errors import GraphEngineError


@dataclass(frozen=True, slots=True)
class Cores:
    """Number of AI Cores (or Cube cores), Vector cores, AI CPUs."""

    aic: int
    aiv: int
    aicpu: int


@dataclass(frozen=True, slots=True)
class Frequencies:
    """Clocks in MHz. `cube` is the clock of an AI Core."""

    cube: float
    vec: float


@dataclass(frozen=True, slots=True)
class Cube:
    """`tile[dtype]` = (m, k, n) elements a cycle; an mmad costs `fixed_cycles` + its tiles."""

    tile: dict[str, tuple[int, int, int]]
    fixed_cycles: int


@dataclass(frozen=True, slots=True)
class Vector:
    """`ops[intrinsic]` = (cycles per repeat of `repeat_bytes`, fixed cycles); see `Soc.vector_cost`."""

    bytes_per_cycle: int
    repeat_bytes: int
    unaligned_extra_cycles: int
    barrier_cycles: int
    ops: dict[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class MovePath:
    """One way from memory to memory: the pipe that drives it, its rate, the latency before the first byte."""

    pipe: str
    bytes_per_cycle: int
    latency_cycles: int


@dataclass(frozen=True, slots=True)
class Load3d:
    """img2col from L1 to L0A."""

    latency_cycles: int
    bytes_per_cycle: int


@dataclass(frozen=True, slots=True)
class L2:
    """The cache before device memory; its capacity is `Soc.buffers["l2"]`. The rate is the whole chip's."""

    line_bytes: int
    total_bytes_per_cycle: int


@dataclass(frozen=True, slots=True)
class Ddr:
    """Device memory; `unaligned_factor` scales the rate of accesses at multiples of 32 but not of 512 bytes."""

    size_bytes: int
    total_bytes_per_s: float
    unaligned_factor: float
    min_good_transfer_bytes: int


@dataclass(frozen=True, slots=True)
class Sync:
    """Flags: cycles of one, event ids per ordered pair of pipes, instructions that a pipe's queue holds."""

    cycles: int
    event_ids: int
    queue_depth: int
    cross_core: bool


@dataclass(frozen=True, slots=True)
class Overheads:
    """Time around a task's compute, in microseconds."""

    aicore_scheduler_us: float
    hw_init_us: float
    sw_init_us: float
    completion_report_us: float
    aicpu_task_us: float
    event_us: float

    @property
    def kernel_task_us(self) -> float:
        """Sum of the parts that a kernel launch pays."""
        return self.aicore_scheduler_us + self.hw_init_us + self.sw_init_us + self.completion_report_us


@dataclass(frozen=True, slots=True)
class Aicpu:
    """Speed of a task on the AI CPU: elements read and written per microsecond."""

    elements_per_us: float


@dataclass(frozen=True, slots=True)
class Numerics:
    """`overflow_mode`: "saturating" (the largest finite value) or "inf_nan"."""

    overflow_mode: str
    bf16: bool


@dataclass(frozen=True, slots=True)
class Limits:
    """What the runtime can hold."""

    streams: int
    stream_depth_tasks: int
    events: int
    notifies: int
    max_block_dim: int


@dataclass(frozen=True, slots=True)
class Assumption:
    """A value of the file that is not published for this chip: where, and taken from which family or why."""

    key: str
    line: int
    assumed_from: str | None
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
    cores: Cores
    freq_mhz: Frequencies
    pipes: tuple[str, ...]
    buffers: dict[str, int]
    alignment: dict[str, int]
    c0: dict[str, int]
    n0: int
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

    def supports_mmad(self, left: str, right: str, accumulator: str) -> bool:
        """Whether the Cube multiplies these element types into this accumulator."""
        return f"{left} x {right} -> {accumulator}" in self.instructions.get("mmad", ())


def available_socs() -> tuple[str, ...]:
    """Names of the chip descriptions that come with the package."""
    return tuple(sorted(path.stem for path in Path(__file__).parent.glob("*.yaml")))


def load_soc(name_or_path: str) -> Soc:
    """The chip of that name, or the one described by a `.yaml` file.

    Raises GraphEngineError: unknown name (with the nearest one), unreadable file, or a file that breaks the
    schema (`file:line: key: what is wrong`).
    """
    path = Path(name_or_path)
    if path.suffix not in (".yaml", ".yml"):
        path = Path(__file__).parent / f"{name_or_path}.yaml"
        if name_or_path not in available_socs():
            raise GraphEngineError(_unknown(name_or_path))
    if not path.is_file():
        raise GraphEngineError(f"{name_or_path}: no such chip description")
    return _load(path.resolve(), path.stat().st_mtime_ns)


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
