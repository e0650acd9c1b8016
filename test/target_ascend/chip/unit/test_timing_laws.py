"""Laws that the timing engine keeps: counts by hand, monotony, the roofline, the L2, equal answers every time."""

from dataclasses import replace
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models.hand_kernels import (
    UB,
    X,
    Y,
    affine,
    barrier,
    copy,
    kernel,
    launch,
    load_ub,
    loop,
    mmad,
    set_flag,
    store_ub,
    sync,
    vector,
    view,
    wait_flag,
)

from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.chip.steps import flatten_kernel
from graph_engine.target_ascend.chip.timing import TaskTiming, TimingEngine
from graph_engine.target_ascend.isa.model import (
    Blocks,
    DType,
    Instr,
    Kernel,
    Node,
    Opcode,
    Operand,
    Pipe,
    Rotate,
    Space,
    Walker,
)
from graph_engine.target_ascend.om.program import AicpuCall, Copy, Location, Segment, TensorDesc
from graph_engine.target_ascend.soc.soc import Soc, load_soc

SOC = load_soc("Ascend310P3")
ISSUE = 1


def timed(*body: Node, soc: Soc = SOC, block_dim: int = 1) -> TaskTiming:
    return TimingEngine(soc).launch(launch(block_dim), kernel(*body, block_dim=block_dim))


# counts by hand


def test_one_mmad():
    timing = timed(mmad(16, 16, 16))
    assert timing.engine_cycles == {Pipe.S: 1, Pipe.M: 6 + 1}
    assert timing.kernel_cycles == ISSUE + 7
    assert timing.overhead_cycles == 2544
    assert timing.cycles == 2544 + 8
    assert timing.us == pytest.approx(2.4 + 8 / 1060)


def test_one_vector_add():
    assert timed(vector(Opcode.VADD, 128 * 30)).kernel_cycles == ISSUE + 24 + 2 * 30


def test_a_load_from_ddr_and_then_from_l2():
    engine, work = TimingEngine(SOC), kernel(load_ub(10752))
    assert engine.launch(launch(), work).kernel_cycles == ISSUE + 800 + 21504 // 21
    assert engine.launch(launch(), work).kernel_cycles == ISSUE + 50 + -(-21504 // 114)
    engine.reset()
    assert engine.launch(launch(), work).kernel_cycles == ISSUE + 800 + 21504 // 21


def test_a_load_that_does_not_begin_with_a_line_takes_longer_from_ddr():
    engine, work = TimingEngine(SOC), kernel(load_ub(10752, offset=affine(16)))
    assert engine.launch(launch(), work).kernel_cycles == ISSUE + 800 + 1498  # 43 lines of 512 bytes at 0.7 of 21 bytes
    assert engine.launch(launch(), work).kernel_cycles == ISSUE + 50 + -(-21504 // 114)
    lines = replace(SOC, ddr=replace(SOC.ddr, unaligned_factor=1.0))
    assert timed(load_ub(10752, offset=affine(16)), soc=lines).kernel_cycles == ISSUE + 800 + -(-43 * 512 // 21)


@pytest.mark.parametrize(("distance", "factor"), [(512, 1.0), (528, 0.7)])
def test_rows_and_blocks_that_do_not_begin_with_a_line_take_longer(distance: int, factor: float):
    rows = Operand(X, DType.F16, affine(), (8, 256), (distance, 1))
    lines = (
        8 if factor == 1 else 15
    )  # the first row of those apart by 1056 bytes begins a line, the others lie in two each
    cycles = -(-round(lines * 512 / factor + 0.49) // 21)
    assert timed(copy(view(UB, 2048), rows, Pipe.MTE2)).kernel_cycles == ISSUE + 800 + cycles
    apart = timed(load_ub(10752, offset=affine(s0=10752 + distance - 512)), block_dim=2)
    lines = 84 if factor == 1 else 85
    assert apart.kernel_cycles == ISSUE + 800 + -(-round(lines * 512 / factor + 0.49) // 42)


def test_a_store_stays_in_the_l2():
    timing = timed(store_ub(9120))
    assert timing.kernel_cycles == ISSUE + 50 + 18240 // 114
    assert (timing.bytes_written, timing.ddr_bytes_written) == (18240, 0)


def test_blocks_share_what_they_read_in_common():
    common = timed(load_ub(5376), block_dim=8)
    assert common.kernel_cycles == ISSUE + 800 + -(-10752 // 114)
    assert (common.bytes_read, common.ddr_bytes_read) == (8 * 10752, 10752)
    apart = timed(load_ub(5376, offset=affine(s0=5376)), block_dim=8)
    assert apart.kernel_cycles == ISSUE + 800 + 10752 // 21
    assert (apart.bytes_read, apart.ddr_bytes_read) == (8 * 10752, 8 * 10752)


def test_blocks_share_the_ddr_fairly():
    slow = replace(SOC, ddr=replace(SOC.ddr, total_bytes_per_s=42 * 1060e6))
    apart = load_ub(5376, offset=affine(s0=5376))
    assert timed(apart, soc=slow, block_dim=2).kernel_cycles == ISSUE + 800 + 10752 // 21
    assert timed(apart, soc=slow, block_dim=8).kernel_cycles == ISSUE + 800 + 8 * 10752 // 42


def test_launches_that_overlap_share_the_ddr_fairly():
    slow = replace(SOC, ddr=replace(SOC.ddr, total_bytes_per_s=84 * 1060e6))
    engine = TimingEngine(slow)
    work = kernel(load_ub(10752, offset=affine(s0=10752)), block_dim=4)
    times: list[int] = []
    for beside in (0, 4, 0):
        engine.reset()
        times.append(engine.launch(launch(4), work, beside).kernel_cycles)
    assert times == [ISSUE + 800 + 21504 // 21, ISSUE + 800 + 21504 * 8 // 84, ISSUE + 800 + 21504 // 21]
    assert TimingEngine(SOC).launch(launch(4), work, 4).kernel_cycles == times[0]  # all cores get their own rate


def test_a_footprint_beyond_the_l2_is_fetched_again():
    small = replace(SOC, buffers={**SOC.buffers, "l2": 1 << 20})
    sweep = loop(2, loop(32, load_ub(32768, offset=affine(s2=32768))))  # twice 2 MiB
    assert timed(sweep).ddr_bytes_read == 2 << 20
    assert timed(sweep, soc=small).ddr_bytes_read == 4 << 20


def test_a_second_sweep_is_as_fast_as_the_memory_that_holds_it():
    small = replace(SOC, buffers={**SOC.buffers, "l2": 1 << 20})
    sweep = loop(2, loop(32, load_ub(32768, offset=affine(s2=32768))))
    assert timed(sweep).kernel_cycles == ISSUE + 800 + 32 * 3121 + 32 * 575
    assert timed(sweep, soc=small).kernel_cycles == ISSUE + 800 + 64 * 3121


def test_every_instruction_of_a_stream_pays_its_fixed_part():
    """A thousand independent additions of 64 repeats took 2390 ticks of 50 MHz on a 910B at 1850 MHz, 4167 where they met."""
    for shift, slope, ticks in ((8192 + 128, 1, 2390), (8192, 2, 4167)):
        operands = view(UB, 8192), view(UB, 8192), view(UB, 8192, offset=affine(shift))
        stream = timed(loop(1000, Instr(Opcode.VADD, Pipe.V, operands)))
        assert stream.kernel_cycles == ISSUE + 1000 * (24 + slope * 64)
        assert stream.kernel_cycles == pytest.approx(ticks / 50 * 1850, rel=0.02)


def test_a_third_of_the_rate_is_three_times_the_transfer_and_half_the_clock_as_many_cycles():
    assert timed(load_ub(10752), soc=scaled(SOC, moves=3)).kernel_cycles == ISSUE + 800 + 21504 // 7
    half = replace(SOC, freq_mhz=replace(SOC.freq_mhz, cube=SOC.freq_mhz.cube / 2))
    assert timed(load_ub(10752), soc=half).kernel_cycles == timed(load_ub(10752)).kernel_cycles == ISSUE + 1824


def test_written_lines_leave_a_full_l2_once():
    small = replace(SOC, buffers={**SOC.buffers, "l2": 1 << 20})
    sweep = loop(32, store_ub(32768, offset=affine(s1=32768)))  # 2 MiB
    assert timed(sweep, soc=small).ddr_bytes_written == 1 << 20
    assert timed(sweep).ddr_bytes_written == 0


def test_groups_of_blocks_have_their_own_time():
    body = kernel(Blocks(0, 7, (mmad(16, 16, 160),)), Blocks(7, 8, (mmad(16, 16, 16),)), block_dim=8)
    timing = TimingEngine(SOC).launch(launch(8), body)
    assert timing.block_cycles == (17,) * 7 + (8,)
    assert timing.kernel_cycles == 17
    assert timing.engine_cycles[Pipe.M] == 7 * 16 + 7


def test_parts_that_several_groups_run():
    parts = (Blocks(0, 4, (mmad(16, 16, 16),)), Blocks(2, 4, (mmad(16, 16, 16),)))
    timing = TimingEngine(SOC).launch(launch(4), kernel(*parts, block_dim=4))
    assert timing.block_cycles == (8, 8, 15, 15)


def test_groups_share_what_they_read_in_common():
    together = timed(load_ub(32768), block_dim=8)
    parts = (Blocks(0, 1, (load_ub(32768), barrier())), Blocks(1, 8, (load_ub(32768),)))
    apart = TimingEngine(SOC).launch(launch(8), kernel(*parts, block_dim=8))
    assert apart.block_cycles == (together.kernel_cycles + 1, *(ISSUE + 50 + -(-65536 // 114),) * 7)
    assert apart.ddr_bytes_read == together.ddr_bytes_read == 65536


def test_more_blocks_than_cores_run_in_turns():
    timing = timed(mmad(16, 16, 16), block_dim=17)
    assert timing.kernel_cycles == 3 * 8
    assert timing.cores == 8


def double_buffered(tiles: int, elements: int, repeats: int, versions: int) -> Kernel:
    """Loads a tile, works on it; the load of the next one may start when one of `versions` buffers is free."""
    turn = Rotate(versions, affine(s1=1))
    free = [set_flag(Pipe.V, Pipe.MTE2, event) for event in range(versions)]
    tile = (
        wait_flag(Pipe.V, Pipe.MTE2, rotate=turn),
        load_ub(elements, offset=affine(s1=elements), rotate=turn),
        set_flag(Pipe.MTE2, Pipe.V, rotate=turn),
        wait_flag(Pipe.MTE2, Pipe.V, rotate=turn),
        vector(Opcode.VADD, 128 * repeats, rotate=turn),
        set_flag(Pipe.V, Pipe.MTE2, rotate=turn),
    )
    return kernel(*free, loop(tiles, *tile))


@pytest.mark.parametrize("repeats", [10, 400, 3000])
def test_double_buffering_hides_the_smaller_of_load_and_compute(repeats: int):
    tiles, elements = 20, 10752
    latency, transfer, compute = 800, elements * 2 // 21, 24 + 2 * repeats
    load = latency + transfer
    one = TimingEngine(SOC).launch(launch(), double_buffered(tiles, elements, repeats, 1)).kernel_cycles
    two = TimingEngine(SOC).launch(launch(), double_buffered(tiles, elements, repeats, 2)).kernel_cycles
    flags = 4  # wait, set, wait, set of a tile at one cycle each
    # Two loads can be on their way: the latency of one passes in the other's transfer and compute, or two tiles take its time.
    longer = max(transfer, compute)
    hidden = max(load + compute + (tiles - 1) * longer, tiles / 2 * (load + compute) + longer)
    assert tiles * (load + compute) <= one <= tiles * (load + compute + flags) + 4
    assert hidden <= two <= hidden + tiles * flags + 4


def test_barriers_forbid_overlap():
    both = timed(load_ub(10752), vector(Opcode.VADD, 12800))
    turns = timed(load_ub(10752), barrier(), vector(Opcode.VADD, 12800))
    assert both.kernel_cycles == ISSUE + 1824
    assert turns.kernel_cycles == ISSUE + 1824 + 1 + ISSUE + 224


def test_a_wait_that_nothing_satisfies_is_named():
    with pytest.raises(GraphEngineError, match=r"kernel k, block 0: step 1, a wait_flag of V"):
        timed(mmad(16, 16, 16), wait_flag(Pipe.MTE2, Pipe.V))


# laws over random kernels


@st.composite
def kernels(draw: st.DrawFn) -> tuple[Node, ...]:
    """A loop of load, compute and store with sizes, trip counts and synchronisation drawn at random."""
    elements = draw(st.sampled_from([16, 1000, 4096, 16384]))
    tile: list[Node] = [load_ub(elements, offset=affine(s0=draw(st.sampled_from([0, 65536])), s1=elements))]
    tile += sync(Pipe.MTE2, Pipe.V)
    tile += [vector(draw(st.sampled_from([Opcode.VADD, Opcode.VEXP, Opcode.VRELU])), elements)]
    if draw(st.booleans()):
        tile.append(loop(draw(st.integers(1, 5)), mmad(draw(st.integers(1, 128)), 64, draw(st.integers(1, 64)))))
    tile += sync(Pipe.V, Pipe.MTE3)
    tile.append(store_ub(elements, offset=affine(s1=elements)))
    if draw(st.booleans()):
        tile += sync(Pipe.MTE3, Pipe.MTE2)
    if draw(st.booleans()):
        tile.append(barrier())
    return (loop(draw(st.integers(1, 12)), *tile),)


def scaled(soc: Soc, *, moves: int = 1, ddr: int = 1, l2: int = 1) -> Soc:
    """`soc` with its rates divided."""
    paths = {
        name: replace(path, bytes_per_cycle=max(1, path.bytes_per_cycle // moves)) for name, path in soc.paths.items()
    }
    return replace(
        soc,
        paths=paths,
        ddr=replace(soc.ddr, total_bytes_per_s=soc.ddr.total_bytes_per_s / ddr),
        l2=replace(soc.l2, total_bytes_per_cycle=soc.l2.total_bytes_per_cycle // l2),
    )


@settings(max_examples=40, deadline=None)
@given(kernels(), st.integers(1, 12), st.integers(1, 9), st.integers(1, 9), st.integers(1, 9))
def test_time_never_falls_when_bandwidth_falls(body: tuple[Node, ...], block_dim: int, moves: int, ddr: int, l2: int):
    fast = timed(*body, block_dim=block_dim).cycles
    slow = timed(*body, block_dim=block_dim, soc=scaled(SOC, moves=moves, ddr=ddr, l2=l2)).cycles
    assert slow >= fast


@settings(max_examples=40, deadline=None)
@given(kernels(), st.integers(1, 9), st.integers(2, 5))
def test_time_never_falls_when_the_clock_falls(body: tuple[Node, ...], block_dim: int, factor: int):
    slower = replace(SOC, freq_mhz=replace(SOC.freq_mhz, cube=SOC.freq_mhz.cube / factor))
    assert timed(*body, block_dim=block_dim, soc=slower).us >= timed(*body, block_dim=block_dim).us


@settings(max_examples=40, deadline=None)
@given(kernels(), kernels(), st.integers(1, 9))
def test_time_never_falls_when_work_is_added(body: tuple[Node, ...], more: tuple[Node, ...], block_dim: int):
    assert timed(*body, *more, block_dim=block_dim).cycles >= timed(*body, block_dim=block_dim).cycles


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 2000), st.integers(0, 2000), st.integers(1, 300), st.integers(0, 300))
def test_time_never_falls_when_sizes_grow(elements: int, extra: int, m: int, more: int):
    def both(elements: int, m: int) -> int:
        return timed(load_ub(elements), vector(Opcode.VADD, elements), mmad(m, 16, 16), store_ub(elements)).cycles

    assert both(elements + extra, m + more) >= both(elements, m)


@settings(max_examples=40, deadline=None)
@given(kernels(), st.integers(0, 5))
def test_a_larger_l2_or_deeper_queues_never_hurt(body: tuple[Node, ...], steps: int):
    """A page that leaves a larger L2 later may leave at a move that nothing hides: no more than all write-backs are lost."""
    small = replace(SOC, buffers={**SOC.buffers, "l2": 65536}, sync=replace(SOC.sync, queue_depth=1))
    deep = replace(small, sync=replace(SOC.sync, queue_depth=1 + steps))
    large = replace(small, buffers={**SOC.buffers, "l2": 65536 << steps})
    base, more = timed(*body, soc=small), timed(*body, soc=large)
    assert timed(*body, soc=deep).cycles <= base.cycles
    assert more.ddr_bytes_read + more.ddr_bytes_written <= base.ddr_bytes_read + base.ddr_bytes_written
    assert more.cycles <= base.cycles + more.ddr_bytes_written / 21


def roofline(work: Kernel, block_dim: int) -> float:
    """A bound from totals alone: Cube peak, vector width, L2 rate, distinct lines over the DDR's rate."""
    cores = min(block_dim, SOC.cores.aic)
    macs = vector_bytes = moved = 0
    lines = set[int]()
    for block in range(block_dim):
        for instr, counters in Walker(work, block):
            if instr.opcode == Opcode.MMAD:
                m, k, n = (p.const for p in instr.params)
                macs += m * k * n
            elif instr.pipe == Pipe.V and instr.operands:
                vector_bytes += instr.operands[0].sizes[0] * 2
            for operand in instr.operands:
                buffer = work.buffers[operand.buffer]
                if buffer.space == Space.GM:
                    count = operand.sizes[0] * 2
                    moved += count
                    start = operand.offset.at(counters) * 2
                    if operand.buffer == X:
                        lines |= set(range(start // 512, (start + count - 1) // 512 + 1))
    ddr_rate = min(21 * cores, 180e9 / 1060e6)
    return max(macs / 4096 / cores, vector_bytes / 256 / cores, moved / 114 / cores / 2, len(lines) * 512 / ddr_rate)


@settings(max_examples=40, deadline=None)
@given(kernels(), st.integers(1, 12))
def test_never_below_the_roofline(body: tuple[Node, ...], block_dim: int):
    work = kernel(*body, block_dim=block_dim)
    assert TimingEngine(SOC).launch(launch(block_dim), work).kernel_cycles >= roofline(work, block_dim)


@settings(max_examples=30, deadline=None)
@given(kernels(), st.integers(1, 9))
def test_never_below_the_busiest_engine_and_equal_every_time(body: tuple[Node, ...], block_dim: int):
    work = kernel(*body, block_dim=block_dim)
    engine = TimingEngine(SOC, timeline=True)
    first, second = engine.launch(launch(block_dim), work), engine.launch(launch(block_dim), work)
    again = TimingEngine(SOC)
    assert replace(first, busy=()) == again.launch(launch(block_dim), work)
    assert replace(second, busy=()) == again.launch(launch(block_dim), kernel(*body, block_dim=block_dim))
    assert first.kernel_cycles >= max(first.engine_cycles.values()) / block_dim
    for pipe in (Pipe.V, Pipe.MTE2):
        spans = [(start, end) for p, start, end in first.busy if p == pipe]
        assert all(a[1] < b[0] for a, b in zip(spans, spans[1:], strict=False))
        assert sum(end - start for start, end in spans) * block_dim == first.engine_cycles[pipe]


@settings(max_examples=30, deadline=None)
@given(kernels(), st.integers(1, 3))
def test_steps_are_the_walk_of_the_kernel(body: tuple[Node, ...], block_dim: int):
    work = kernel(*body, block_dim=block_dim)
    flat = flatten_kernel(SOC, work, block_dim).groups[0]
    walked = list(Walker(work, 0))
    assert len(flat.steps) == len(walked)
    kinds = {Opcode.SET_FLAG: 2, Opcode.WAIT_FLAG: 3}
    for (kind, pipe, _, _), (instr, _) in zip(flat.steps, walked, strict=True):
        assert kinds.get(instr.opcode, kind) == kind
        assert pipe == instr.pipe or instr.opcode == Opcode.BARRIER


def test_rotating_events_in_nested_loops_are_expanded_as_walked():
    turn = Rotate(3, affine(1, s1=2, s2=1))
    body = loop(4, loop(5, set_flag(Pipe.MTE1, Pipe.M, rotate=turn), wait_flag(Pipe.MTE1, Pipe.M, rotate=turn)))
    flat = flatten_kernel(SOC, kernel(body), 1)
    walked = [(1 + 2 * i + j) % 3 for i in range(4) for j in range(5) for _ in range(2)]
    assert [flag for _, _, _, flag in flat.groups[0].steps] == walked
    assert flat.flags == 3


# tasks that are no launches


def flat_tensor(*shape: int) -> TensorDesc:
    count = prod(shape)
    return TensorDesc("t", DType.F16, shape, "ND", shape, 2 * count, Location(Segment.WORKSPACE, 0, 0))


@pytest.mark.parametrize("op", ["gather", "gather_elements", "gather_nd", "slice", "slice_at", "compress"])
def test_an_aicpu_task_that_picks_is_charged_what_it_touches(op: str):
    table, indices, rows = flat_tensor(30522, 768), flat_tensor(128), flat_tensor(128, 768)
    call = AicpuCall("a", op, f"ge.{op}", {}, (table, indices), (rows,))
    # By hand: 128 indices, 128 rows of 768 elements read and written, one element a nanosecond.
    assert TimingEngine(SOC).aicpu_us(call) == pytest.approx(7.5 + (128 + 2 * 98304) / 1000)
    # Ten elements are not read more often than they are there.
    call = AicpuCall("a", op, f"ge.{op}", {}, (flat_tensor(10), indices), (rows,))
    assert TimingEngine(SOC).aicpu_us(call) == pytest.approx(7.5 + (128 + 10 + 98304) / 1000)


def test_an_aicpu_task_that_updates_is_charged_the_whole_table():
    table, indices, rows = flat_tensor(1000, 64), flat_tensor(8), flat_tensor(8, 64)
    call = AicpuCall("a", "ScatterNd", "ge.scatter_nd", {}, (table, indices, rows), (table,))
    assert TimingEngine(SOC).aicpu_us(call) == pytest.approx(7.5 + (2 * 64000 + 8 + 512) / 1000)


def test_aicpu_and_copies():
    tensor = TensorDesc("t", DType.F16, (10, 100), "ND", (10, 100), 2000, Location(Segment.WORKSPACE, 0, 0))
    engine = TimingEngine(SOC)
    call = AicpuCall("a", "LRN", "ge.lrn", {}, (tensor,), (tensor,))
    assert engine.aicpu_us(call) == 7.5 + 2
    assert engine.aicpu_cycles(call) == 9.5 * 1060
    # what the AI CPU wrote is no longer in the L2
    load = kernel(copy(view(UB, 1000), view(Y, 1000), Pipe.MTE2))
    first = engine.launch(launch(), load).ddr_bytes_read
    assert engine.launch(launch(), load).ddr_bytes_read == 0 < first
    engine.aicpu_us(call)
    assert engine.launch(launch(), load).ddr_bytes_read == first
    target = Location(Segment.OUTPUT, 0, 0)
    assert engine.copy_cycles(Copy("c", target, target, 84000)) == 2544 + 800 + 84000 // 84
