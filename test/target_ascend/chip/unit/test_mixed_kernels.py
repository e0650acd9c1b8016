"""Mixed kernels on the chip: right where flags order the cores, an error or a finding where they do not; their time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models.mixed_kernels import ELEMENTS, FULL, RING, block_set, relu_of_product
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from graph_engine.dialects.ascend.kernel import KernelOp
from graph_engine.errors import GraphEngineError
from graph_engine.lowering.decode_kernel import decode_kernel as to_operator
from graph_engine.lowering.encode_kernel import encode_kernel as to_kernel
from graph_engine.pipelines.context import make_context
from graph_engine.target_ascend.chip.accounts import explain_team
from graph_engine.target_ascend.chip.checker import Checker, Finding
from graph_engine.target_ascend.chip.functional import FunctionalEngine
from graph_engine.target_ascend.chip.memory import GlobalMemory
from graph_engine.target_ascend.chip.queues import queue_flow
from graph_engine.target_ascend.chip.steps import CROSS_SET, CROSS_WAIT, WORK, Step
from graph_engine.target_ascend.chip.teams import CrossFlags, run_team
from graph_engine.target_ascend.chip.timing import TaskTiming, TimingEngine
from graph_engine.target_ascend.isa.encoding import decode_kernel, encode_kernel
from graph_engine.target_ascend.isa.model import Blocks, Instr, Kernel, Part, Pipe
from graph_engine.target_ascend.om.program import Launch, Location, Segment
from graph_engine.target_ascend.soc.soc import load_soc


def launched(kernel: Kernel, *, real_bytes: bool = False) -> tuple[np.ndarray, np.ndarray, list[Finding]]:
    """x, what the kernel made of it, and what checking mode says."""
    soc = load_soc("Ascend910B3")
    memory = GlobalMemory(real_bytes=real_bytes)
    count = kernel.buffers[0].bytes // 2
    x = np.random.default_rng(1).normal(size=count).astype(np.float16)
    memory.add(Segment.INPUT, 0, x)
    memory.add(Segment.INPUT, 1, np.eye(16, dtype=np.float16))
    memory.add(Segment.OUTPUT, 0, 4 * count)
    memory.add(Segment.WORKSPACE, 0, kernel.buffers[3].bytes)
    checker = Checker(soc, memory)
    checker.declare_valid(Location(Segment.OUTPUT, 0, 0), 4 * count)
    engine = FunctionalEngine(soc, memory, real_bytes=real_bytes, checker=checker)
    places = (Segment.INPUT, 0), (Segment.INPUT, 1), (Segment.OUTPUT, 0), (Segment.WORKSPACE, 0)
    engine.launch(kernel, tuple(Location(*place, 0) for place in places), None, "task")
    y = memory.read(Location(Segment.OUTPUT, 0, 0), 4 * count).view(np.float32).copy()
    return x, y, checker.findings


@settings(max_examples=12, deadline=None)
@given(tiles=st.integers(1, 7), blocks=st.integers(1, 3), real_bytes=st.booleans())
def test_the_cores_of_a_team_meet_in_global_memory(tiles: int, blocks: int, real_bytes: bool) -> None:
    kernel = relu_of_product(tiles, blocks)
    assert decode_kernel(encode_kernel(kernel)) == kernel
    x, y, findings = launched(kernel, real_bytes=real_bytes)
    assert not findings
    assert np.array_equal(y, np.maximum(x.astype(np.float32), 0))


@pytest.mark.parametrize(
    ("part", "what"),
    [(Part.CUBE, "set"), (Part.VECTOR_0, "set"), (Part.VECTOR_1, "set"), (Part.VECTOR_1, "credit")],
)
def test_a_flag_that_is_not_raised_is_a_deadlock(part: Part, what: str) -> None:
    with pytest.raises(GraphEngineError, match="block 0: deadlock, its cores wait for each other: .* for flag [01]"):
        launched(relu_of_product(4, 1, (part, what)))


@pytest.mark.parametrize("part", [Part.CUBE, Part.VECTOR_0, Part.VECTOR_1])
def test_a_flag_that_nobody_waits_for_is_a_race_and_left_up(part: Part) -> None:
    _, _, findings = launched(relu_of_product(5, 1, (part, "wait")))
    assert {"pipe-race", "unmatched-flag"} <= {finding.kind for finding in findings}
    (race, *_) = (finding.message for finding in findings if finding.kind == "pipe-race")
    vector = "VECTOR_0" if part is Part.CUBE else part.name
    assert "on CUBE FIX" in race and f"on {vector} MTE2" in race and "not ordered after" in race


def test_credits_that_are_not_taken_back_are_left_up() -> None:
    _, _, findings = launched(relu_of_product(3, 1, (Part.CUBE, "return")))
    assert {finding.kind for finding in findings} == {"unmatched-flag"}
    assert "raised by VECTOR_0 and never waited for by CUBE" in findings[0].message


def _with(kernel: Kernel, part: Part, *instrs: Instr) -> Kernel:
    body = tuple(
        replace(node, body=(*instrs, *node.body)) if isinstance(node, Blocks) and node.part is part else node
        for node in kernel.body
    )
    return replace(kernel, body=body)


def test_flags_beyond_those_of_the_chip_and_beyond_their_count_are_found() -> None:
    _, _, findings = launched(_with(relu_of_product(2), Part.CUBE, block_set(Pipe.MTE2, 11)))
    assert "this chip has cross-core flags 0 to 10, not 11" in {finding.message for finding in findings}
    many = [block_set(Pipe.FIX, FULL + 2)] * 16
    _, _, findings = launched(_with(relu_of_product(2), Part.CUBE, *many))
    assert [f.message for f in findings if f.kind == "flag-overflow"] == [
        "cross-core flag 2 is up 16 times, it counts to 15"
    ]


def test_blocks_have_places_of_their_own() -> None:
    kernel = relu_of_product(2, 2)
    ring = replace(kernel.buffers[RING], bytes=ELEMENTS)
    shared = replace(kernel, buffers=(*kernel.buffers[:RING], ring, *kernel.buffers[RING + 1 :]))
    _, _, findings = launched(shared)
    assert "out-of-range" in {finding.kind for finding in findings}


# Time.


def cycles_of_team(cube: list[Step], vector: list[Step], arrival: int) -> int:
    """The end of a team whose Vector cores do the same."""
    flags = CrossFlags[int]()
    parts = [(Part.CUBE, cube), (Part.VECTOR_0, vector), (Part.VECTOR_1, vector)]
    flows = {part: queue_flow(steps, (), 0, 32, 21, None, (part, flags, arrival)) for part, steps in parts}
    end = max(ends[-1] for ends in run_team(flows, flags).values())
    account = explain_team([(part, steps, ()) for part, steps in parts], 0, 32, 21, arrival)
    assert account.cycles == end == sum(account.chain.values())
    assert all(sum(spent.values()) == end for spent in account.engines.values())
    return end


@settings(max_examples=60, deadline=None)
@given(tiles=st.integers(1, 40), product=st.integers(1, 300), steps=st.integers(1, 300), arrival=st.integers(0, 200))
def test_tiles_overlap_so_that_the_slower_core_sets_the_time(
    tiles: int, product: int, steps: int, arrival: int
) -> None:
    """The Cube core raises a flag every product + 1 cycles, from 1 on. The first is there after product + 2 + arrival; one
    cycle later the Vector cores begin, and do a tile in `steps`. So either all products and the last tile of the Vector
    cores lie in a row, or the first product and all tiles of the Vector cores do."""
    cube: list[Step] = [(WORK, Pipe.M, product, 0), (CROSS_SET, Pipe.M, 1, 0)] * tiles
    vector: list[Step] = [(CROSS_WAIT, 0, 1, 0), (WORK, Pipe.V, steps, 0)] * tiles
    cube_bound = 1 + tiles * (product + 1) + arrival + 1 + steps
    vector_bound = 1 + (product + 1) + arrival + 1 + tiles * steps
    assert cycles_of_team(cube, vector, arrival) == max(cube_bound, vector_bound)


def test_a_ring_of_two_holds_the_cube_core_until_a_place_is_free() -> None:
    """Products of 10, steps of 100, a flag is there at once. Places are free at 0, 0, and when the Vector core has done a
    tile; S of the Cube core waits before it issues the product."""
    start: list[Step] = [(CROSS_SET, Pipe.MTE2, 1, 1)] * 2
    cube: list[Step] = [(CROSS_WAIT, 0, 1, 1), (WORK, Pipe.M, 10, 0), (CROSS_SET, Pipe.M, 1, 0)] * 4
    tile: list[Step] = [(CROSS_WAIT, 0, 1, 0), (WORK, Pipe.V, 100, 0), (CROSS_SET, Pipe.V, 1, 1)]
    # Credits at 2 and 3; product 3..13, flag at 14; tile 1 from 15 to 115, free at 116; tiles of 101 from there.
    assert cycles_of_team(cube, start + tile * 4, 0) == 15 + 4 * 101


def timed(kernel: Kernel, soc: str = "Ascend910B3") -> TaskTiming:
    places = (Segment.INPUT, 0), (Segment.INPUT, 1), (Segment.OUTPUT, 0), (Segment.WORKSPACE, 0)
    args = tuple(Location(*place, 0) for place in places)
    engine = TimingEngine(load_soc(soc), timeline=True, accounts=True)
    return engine.launch(Launch("task", "Test", "k", kernel.block_dim, args), kernel)


def test_a_mixed_launch_tells_of_both_kinds_of_cores() -> None:
    soc = load_soc("Ascend910B3")
    timing = timed(relu_of_product(4, 3))
    assert timing.cores == 3
    assert timing.engine_cycles[Pipe.M] == 3 * 4 * (soc.cube.fixed_cycles + 1)
    assert Pipe.V not in timing.engine_cycles and Pipe.M not in timing.vector_cycles
    relu = soc.vector_cost("relu")
    assert timing.vector_cycles[Pipe.V] == 2 * 3 * 4 * (relu[1] + relu[0] * 2)  # 8 rows of 16 fp32: two repeats
    assert {"M", "FIX", "AIV V", "AIV MTE3"} <= set(timing.engine_us())
    assert {Pipe.V, Pipe.MTE2, Pipe.MTE3} == {pipe for pipe, _, _ in timing.vector_busy}
    assert timing.overhead_cycles == round((soc.overheads.kernel_task_us + soc.overheads.mix_us) * soc.freq_mhz.cube)
    account = timing.account
    assert account is not None and account.cycles == timing.cycles == sum(account.chain.values())
    assert all(sum(spent.values()) == account.cores * account.cycles for spent in account.engines.values())
    assert {"M", "AIV0 V", "AIV1 V"} <= set(account.engines)
    assert account.engines["AIV0 V"]["busy"] + account.engines["AIV1 V"]["busy"] == timing.vector_cycles[Pipe.V]


def test_cores_that_wait_for_each_other_are_told() -> None:
    with pytest.raises(GraphEngineError, match="kernel relu_of_product, block 0: deadlock"):
        timed(relu_of_product(4, 1, (Part.VECTOR_0, "set")))


@pytest.mark.parametrize("tiles", [1, 3])
def test_a_mixed_kernel_survives_the_text(tiles: int) -> None:
    """From the chip's form to operators, through their text, and back."""
    kernel = relu_of_product(tiles, 2)
    module = ModuleOp([to_operator(kernel)])
    module.verify()
    again = Parser(make_context(), str(module)).parse_module()
    again.verify()
    (operator,) = again.ops
    assert isinstance(operator, KernelOp) and operator.core is kernel.core_kind
    back = to_kernel(operator)
    assert [node for node in back.body if isinstance(node, Blocks) and node.part is Part.CUBE]
    x, y, findings = launched(back)
    assert not findings and np.array_equal(y, np.maximum(x.astype(np.float32), 0))
