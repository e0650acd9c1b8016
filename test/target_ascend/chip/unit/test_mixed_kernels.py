"""Mixed kernels on the chip: right where flags order the cores, an error or a finding where they do not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models.mixed_kernels import ELEMENTS, FULL, block_set, relu_of_product

from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.chip.checker import Checker, Finding
from graph_engine.target_ascend.chip.functional import FunctionalEngine
from graph_engine.target_ascend.chip.memory import GlobalMemory
from graph_engine.target_ascend.isa.encoding import decode_kernel, encode_kernel
from graph_engine.target_ascend.isa.model import Blocks, Instr, Kernel, Part, Pipe
from graph_engine.target_ascend.om.program import Location, Segment
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
    memory.add(Segment.WORKSPACE, 0, 2 * kernel.buffers[3].bytes)
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
    shared = replace(
        kernel, buffers=(*kernel.buffers[:3], replace(kernel.buffers[3], bytes=ELEMENTS), *kernel.buffers[4:])
    )
    _, _, findings = launched(shared)
    assert "out-of-range" in {finding.kind for finding in findings}
