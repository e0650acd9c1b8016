"""What every instruction costs: one formula a family, each with its source.

All results are whole cycles of the AI Core clock (`freq_mhz.cube`). Costs follow from sizes, element types and
memory spaces alone, never from data or loop counters; the one exception is a move that touches device memory,
whose share of the L2 and DDR is added by the timing engine (`gm_cycles` here is its formula).
`docs/timing.md` works the formulas through by hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import prod

from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.isa.model import (
    MOVE_PIPES,
    Buffer,
    CoreKind,
    Instr,
    Kernel,
    Opcode,
    Operand,
    Pipe,
    Space,
)
from graph_engine.target_ascend.isa.specs import SPECS
from graph_engine.target_ascend.soc.soc import Soc

BLOCK_BYTES = 32
"""Smallest piece that UB and the move engines handle (source: ascdoc, data block of the vector unit)."""

FORMULAS: dict[str, tuple[str, str]] = {
    "move": (
        "latency + ceil(bytes / rate); every contiguous run counts in whole 32-byte blocks",
        "rates: platform configuration; latencies: dav-2201 performance tests",
    ),
    "img2col": (
        "load3d latency + ceil(bytes written to L0A / rate), rate = 2 * load3d rate / (2 * stride_w + n), n = 0 for one tap; "
        "of few channels as well (assumed)",
        "dav-2201 performance tests, API appendix (rate)",
    ),
    "cube": (
        "cube.fixed_cycles + ceil(m / tile m) * ceil(n / tile n) * ceil(k / tile k)",
        "API appendix (formula), A2/A3 cost model (6 cycles)",
    ),
    "fixpipe": (
        "latency + ceil(bytes written / rate) of l0c->gm, l0c->l1 or l0c->ub; whole 32-byte blocks",
        "A2/A3 cost model; dav-2201 performance tests",
    ),
    "convert": (
        "fixed + slope * repeats; out of L0C: latency + ceil(bytes read / rate of l0c->ub)",
        "A2/A3 cost model; platform configuration",
    ),
    "fill": ("fixed + slope * repeats", "A2/A3 cost model"),
    "transpose": ("fixed + slope * ceil(bytes / 256), bytes in whole 16 x 16 blocks", "API appendix"),
    "binary": (
        "fixed + slope * repeats; slope 1 where the sources never meet in a bank group",
        "A2/A3 cost model, ascdoc",
    ),
    "scalar": ("fixed + slope * repeats", "A2/A3 cost model"),
    "unary": ("fixed + slope * repeats", "A2/A3 cost model"),
    "reduce": (
        "per level fixed + slope * rows * ceil(n / lanes); a level leaves n = ceil(n / lanes) values a row, until 1",
        "A2/A3 cost model (vcadd)",
    ),
    "compare": ("fixed + slope * repeats", "A2/A3 cost model"),
    "select": ("fixed + slope * repeats", "A2/A3 cost model"),
    "gather": ("fixed + slope * repeats of what is written", "API appendix (rate of Gather)"),
    "scalar_load": ("latency of ub->ub, on S", "assumed: no figure found"),
    "sync": ("sync.cycles; barrier on V: vector.barrier_cycles", "A2/A3 cost model; pypto simulator"),
    "cross": ("sync.cycles where it is raised, sync.cross_cycles later it is there", "assumed: no figure found"),
}
"""(formula, source) of every instruction family; the families are `SPECS[opcode].group`."""


def ceil_div(a: int, b: int) -> int:
    """a / b rounded up."""
    return -(-a // b)


@dataclass(frozen=True, slots=True)
class GmPath:
    """How one kind of move reaches device memory: bytes per cycle and latencies in cycles, per core."""

    l2_rate: int
    l2_latency: int
    ddr_rate: int
    ddr_latency: int


def payload_bytes(operand: Operand) -> int:
    """Bytes of the elements that a view names (a repeated element counts each time)."""
    return prod(operand.sizes) * operand.dtype.bytes


@lru_cache(maxsize=8192)
def collapse(sizes: tuple[int, ...], strides: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Joins neighbouring axes that all views walk without a gap.

    `strides[v]` are the strides of view v. Returns (size, stride of every view), outermost first, without axes
    of size 1; at least one axis. Two axes join where outer stride = inner stride * inner size in every view.
    """
    axes: list[tuple[int, tuple[int, ...]]] = []
    for size, *here in zip(sizes, *strides, strict=True):
        if size == 1:
            continue
        if axes:
            outer_size, outer = axes[-1]
            if all(o == i * size for o, i in zip(outer, here, strict=True)):
                axes[-1] = (outer_size * size, tuple(here))
                continue
        axes.append((size, tuple(here)))
    return tuple(axes) or ((1, (1,) * len(strides)),)


def moved_bytes(operand: Operand) -> int:
    """Bytes that a move engine handles for a view: its contiguous runs, each in whole 32-byte blocks.

    A view whose innermost stride is not 1 has runs of one element, so a gather of fp16 elements handles 32
    bytes for each (source: data block of 32 bytes, ascdoc).
    """
    axes = collapse(operand.sizes, (operand.strides,))
    runs = prod(size for size, _ in axes[:-1])
    size, (stride,) = axes[-1]
    if stride != 1:
        runs, size = runs * size, 1
    return runs * ceil_div(size * operand.dtype.bytes, BLOCK_BYTES) * BLOCK_BYTES


def move_cycles(latency: int, rate: int, count: int) -> int:
    """latency + ceil(bytes / rate)."""
    return latency + ceil_div(count, rate)


def mmad_cycles(soc: Soc, m: int, k: int, n: int, dtype: str) -> int:
    """Fixed cycles plus one cycle a tile; `dtype` is the operands' MLIR type. Tiles are rounded up per axis."""
    if dtype not in soc.cube.tile:
        raise GraphEngineError(f"{soc.name}: the Cube takes no {dtype} (it takes {', '.join(soc.cube.tile)})")
    tm, tk, tn = soc.cube.tile[dtype]
    return soc.cube.fixed_cycles + ceil_div(m, tm) * ceil_div(k, tk) * ceil_div(n, tn)


def vector_repeats(soc: Soc, operands: tuple[Operand, ...]) -> int:
    """Repeats of `repeat_bytes` that an elementwise instruction over these views needs.

    A repeat is 8 blocks of 32 bytes with one distance from block to block (source: ascdoc, data block stride and
    repeat stride). The widest element type sets the elements of a block. Runs that all views walk without a gap
    count in whole blocks; a repeat then takes 8 steps along any one axis, be it the blocks of a run or a surrounding
    axis, and the axis that needs the fewest repeats is taken. A stride other than 1 (and 0 in a source) leaves one
    element a block.
    """
    width = max(o.dtype.bytes for o in operands)
    axes = collapse(operands[0].sizes, tuple(o.strides for o in operands))
    size, strides = axes[-1]
    counts = [s for s, _ in axes[:-1]]
    if strides[0] == 1 and all(s in (0, 1) for s in strides[1:]):
        counts.append(ceil_div(size * width, BLOCK_BYTES))
    else:
        counts.append(size)
    per_repeat = soc.vector.repeat_bytes // BLOCK_BYTES
    blocks = prod(counts)
    return min(blocks // count * ceil_div(count, per_repeat) for count in counts)


def vector_cycles(soc: Soc, mnemonic: str, buffers: tuple[Buffer, ...], operands: tuple[Operand, ...]) -> int:
    """fixed + slope * repeats of an elementwise instruction ("add")."""
    slope, fixed = soc.vector_cost(mnemonic)
    clean = soc.vector.conflict_free.get(f"v{mnemonic}")
    if clean is not None and never_meet(soc, buffers, *operands[-2:]):
        slope = clean
    return fixed + slope * vector_repeats(soc, operands)


def never_meet(soc: Soc, buffers: tuple[Buffer, ...], first: Operand, second: Operand) -> bool:
    """Whether two sources lie in different bank groups in every repeat.

    A cycle reads one repeat of each, 8 blocks. Two equal walks lie apart all the way where the blocks of one repeat
    follow each other and half the groups lie between the sources (source: ascdoc, bank conflicts). Anything else, and
    what moves with a loop by less than all groups, counts as meeting.
    """
    if first.sizes != second.sizes or first.strides != second.strides or first.dtype != second.dtype:
        return False
    *outer, (run, step) = collapse(first.sizes, (first.strides,))
    if step != (1,) or (outer and run * first.dtype.bytes % soc.vector.repeat_bytes):
        return False
    around = soc.vector.bank_groups * BLOCK_BYTES
    distance = 0
    for operand, sign in ((first, 1), (second, -1)):
        buffer, size = buffers[operand.buffer], operand.dtype.bytes
        if any(coef * size % around for _, coef in operand.offset.terms) or operand.offset.indirect:
            return False
        if operand.rotate is not None and buffer.bytes % around:
            return False
        distance += sign * (buffer.address + operand.offset.const * size)
    return distance % around == around // 2


def reduce_cycles(soc: Soc, mnemonic: str, source: Operand) -> int:
    """Levels of whole-repeat reductions until a row has one value; every level pays its fixed cycles."""
    slope, fixed = soc.vector_cost(mnemonic)
    lanes = soc.vector.repeat_bytes // source.dtype.bytes
    rows = prod(source.sizes[:-1])
    left, cycles = source.sizes[-1], 0
    while True:
        left = ceil_div(left, lanes)
        cycles += fixed + slope * rows * left
        if left == 1:
            return cycles


def transpose_cycles(soc: Soc, source: Operand) -> int:
    """fixed + slope a repeat of the data in whole 16 x 16 blocks (vnchwconv)."""
    slope, fixed = soc.vector_cost("transpose")
    count = source.dtype.bytes
    for axis, size in enumerate(source.sizes):
        count *= ceil_div(size, 16) * 16 if axis >= len(source.sizes) - 2 else size
    return fixed + slope * ceil_div(count, soc.vector.repeat_bytes)


def instruction_cycles(soc: Soc, buffers: tuple[Buffer, ...], instr: Instr) -> int:
    """Cycles that `instr` holds its pipe; for a move to or from device memory, as if it hit the L2 alone.

    Raises GraphEngineError for a way or type that the chip does not have.
    """
    group = SPECS[instr.opcode].group
    mnemonic = SPECS[instr.opcode].mnemonic
    ops = instr.operands
    if group == "cube":
        if any(p.terms for p in instr.params):
            raise GraphEngineError("mmad with sizes that depend on a loop counter has no fixed cost")
        m, k, n = (p.const for p in instr.params)
        return mmad_cycles(soc, m, k, n, ops[1].dtype.mlir)
    if group == "sync":
        on_vector = instr.opcode == Opcode.BARRIER and instr.params[0].const == Pipe.V
        return soc.vector.barrier_cycles if on_vector else soc.sync.cycles
    if group == "img2col":
        pixel, block = ops[1].sizes[3], ops[0].sizes[3]
        if pixel != block and soc.load3d.small_channels.get(ops[1].dtype.mlir) != pixel:
            raise GraphEngineError(f"{soc.name}: img2col does not take pixels of {pixel} {ops[1].dtype.mlir} channels")
        kernel_h, kernel_w, _, stride_w = (p.const for p in instr.params[2:6])
        moved = soc.load3d.cycles(kernel_h * kernel_w, stride_w, payload_bytes(ops[0]))
        return soc.load3d.latency_cycles + moved
    if group == "fixpipe":
        path = soc.path("l0c", buffers[ops[0].buffer].space.name.lower(), "l2")
        return move_cycles(path.latency_cycles, path.bytes_per_cycle, moved_bytes(ops[0]))
    if group in ("move", "convert"):
        source, target = buffers[ops[1].buffer].space, buffers[ops[0].buffer].space
        if source == target == Space.UB:
            return vector_cycles(soc, "conv" if group == "convert" else "copy", buffers, ops)
        path = soc.path(source.name.lower(), target.name.lower(), "l2")
        handled = moved_bytes(ops[1]) if source == Space.L0C else max(moved_bytes(ops[0]), moved_bytes(ops[1]))
        return move_cycles(path.latency_cycles, path.bytes_per_cycle, handled)
    if group == "scalar_load":
        return soc.path("ub", "ub").latency_cycles
    if group == "gather":
        return vector_cycles(soc, mnemonic, buffers, ops[:1])
    if group == "reduce":
        return reduce_cycles(soc, mnemonic, ops[1])
    if group == "transpose":
        return transpose_cycles(soc, ops[1])
    return vector_cycles(soc, mnemonic, buffers, ops)


def gm_path(soc: Soc, source: Space, target: Space) -> GmPath:
    """Rates and latencies of a move with device memory at one end."""
    names = source.name.lower(), target.name.lower()
    l2, ddr = soc.path(*names, "l2"), soc.path(*names, "ddr")
    return GmPath(l2.bytes_per_cycle, l2.latency_cycles, ddr.bytes_per_cycle, ddr.latency_cycles)


def ddr_load(soc: Soc, fetched: int, written: int, aligned: bool) -> int:
    """Bytes of DDR traffic that a move stands for, which fetches and writes back so many lines of the L2.

    Lines fetched for a move that does not begin with a line (512 bytes) take 1 / `ddr.unaligned_factor` of their time,
    whole bytes rounded up; what leaves the L2 leaves it in whole lines. Source: the guide's bandwidth of 32-byte
    and of 512-byte addresses.
    """
    line = soc.l2.line_bytes
    if aligned:
        return (fetched + written) * line
    return written * line + ceil_div(fetched * line * 1000, round(soc.ddr.unaligned_factor * 1000))


def gm_cycles(soc: Soc, path: GmPath, handled: int, ddr_bytes: int, movers: int, active: int) -> tuple[int, int]:
    """(latency, transfer) in cycles of one move in each of `movers` blocks, while `active` blocks of the launch share the memories.

    Every block brings `handled` bytes through the L2, at its own rate or its fair share of the L2's; all movers
    together need `ddr_bytes` of DDR traffic (lines missed, counted once, and lines written back), at their
    cores' rates or their fair share of the DDR's:

        transfer = max(ceil(handled / l2_rate), ceil(handled * active / l2_total),
                       ceil(ddr_bytes / (movers * ddr_rate)), ceil(ddr_bytes * active / (movers * ddr_total)))

    The latency is the DDR's where `ddr_bytes` is not 0. Source: rates of the platform configuration; fair
    sharing and the overlap of both ways are the model's own.
    """
    cycles = max(ceil_div(handled, path.l2_rate), ceil_div(handled * active, soc.l2.total_bytes_per_cycle))
    if not ddr_bytes:
        return path.l2_latency, cycles
    own = ceil_div(ddr_bytes, movers * path.ddr_rate)
    shared = ceil_div(ddr_bytes * active * clock_hz(soc), movers * int(soc.ddr.total_bytes_per_s))
    return path.ddr_latency, max(cycles, own, shared)


def clock_hz(soc: Soc) -> int:
    """The AI Core clock, in which all cycles are counted."""
    return round(soc.freq_mhz.cube * 1_000_000)


def microseconds(soc: Soc, cycles: int) -> float:
    """Cycles of the AI Core clock in microseconds."""
    return cycles * 1_000_000 / clock_hz(soc)


def cycles_of(soc: Soc, us: float) -> int:
    """Microseconds in whole cycles, rounded up (by more than a thousandth of a cycle)."""
    return ceil_div(round(us * clock_hz(soc) / 1000), 1000)


def cores_of(soc: Soc, kernel: Kernel) -> int:
    """How many cores of the kernel's kind the chip has, of a mixed one teams."""
    if kernel.core_kind is CoreKind.MIXED:
        return min(soc.cores.aic, soc.cores.aiv // 2)
    return soc.vector_cores if kernel.core_kind is CoreKind.VECTOR_CORE else soc.cores.aic


def task_overhead_cycles(soc: Soc) -> int:
    """What a launch pays around its compute: scheduler, hardware and software set-up, completion report."""
    return cycles_of(soc, soc.overheads.kernel_task_us)


def check_pipe(kernel: Kernel, instr: Instr) -> None:
    """Raises GraphEngineError where an instruction names another pipe than the one that moves such data."""
    spec = SPECS[instr.opcode]
    if spec.group == "fixpipe" and instr.pipe is not Pipe.FIX:
        raise GraphEngineError(f"kernel {kernel.name}: {spec.mnemonic} runs on FIX, not on {instr.pipe.name}")
    if instr.opcode not in (Opcode.COPY, Opcode.LOAD2D, Opcode.LOAD3D):
        return
    ends = kernel.buffers[instr.operands[1].buffer].space, kernel.buffers[instr.operands[0].buffer].space
    if ends in MOVE_PIPES and MOVE_PIPES[ends] != instr.pipe:
        wanted = MOVE_PIPES[ends].name
        raise GraphEngineError(
            f"kernel {kernel.name}: {ends[0].name} -> {ends[1].name} runs on {wanted}, not on {instr.pipe.name}"
        )
