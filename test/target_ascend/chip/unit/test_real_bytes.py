"""Typed content and real bytes agree bit for bit, whatever instructions do to whatever bytes.

Programs are drawn at random: any opcode on views of one small window of every memory, so that the same bytes are
written at one type and read at another, partly overlapped, at odd places, in place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from harness.random_instructions import SOC, SPACES, WINDOW, contents, instruction
from hypothesis import given, settings
from hypothesis import strategies as st
from models.kernel_builder import KernelBuilder

from graph_engine.target_ascend.chip.checker import Checker
from graph_engine.target_ascend.chip.functional import FunctionalEngine
from graph_engine.target_ascend.chip.memory import GlobalMemory, Memory
from graph_engine.target_ascend.isa.model import Kernel
from graph_engine.target_ascend.om.program import Location, Segment


@st.composite
def program(draw: Any) -> Kernel:
    b = KernelBuilder("random")
    b.arg(WINDOW, "rw")
    for space in SPACES[1:]:
        b.alloc(space, WINDOW, address=0)
    for _ in range(draw(st.integers(1, 12))):
        draw(instruction(b))
    return b.build()


def execute(kernel: Kernel, content: Any, real_bytes: bool, checked: bool = False) -> list[Any]:
    """Bytes of every memory after the kernel ran twice over random content."""
    gm = GlobalMemory(real_bytes=real_bytes)
    gm.add(Segment.INPUT, 0, content[0].copy())
    checker = Checker(SOC, gm) if checked else None
    engine = FunctionalEngine(SOC, gm, real_bytes=real_bytes, checker=checker)
    memories: list[Memory] = [gm.bind(Location(Segment.INPUT, 0, 0))[0], *(engine.core.spaces[s] for s in SPACES[1:])]
    for _ in range(2):
        for memory, initial in zip(memories[1:], content[1:], strict=True):
            memory.write(0, initial)
        engine.launch(kernel, (Location(Segment.INPUT, 0, 0),))
    return [memory.read(0, WINDOW).copy() for memory in memories]


@settings(max_examples=80, deadline=None)
@given(program(), st.integers(0, 1000), st.booleans())
def test_typed_content_equals_real_bytes(kernel: Kernel, seed: int, wild: bool) -> None:
    content = contents(seed, wild)
    typed, plain = execute(kernel, content, False), execute(kernel, content, True)
    for space, a, b in zip(SPACES, typed, plain, strict=True):
        np.testing.assert_array_equal(a, b, err_msg=space.name)


@settings(max_examples=20, deadline=None)
@given(program(), st.integers(0, 1000))
def test_checking_changes_no_memory_outside_the_core(kernel: Kernel, seed: int) -> None:
    """Checked and real-bytes engines start from the same poison, so they agree as well."""
    content = contents(seed, False)
    results: list[Any] = []
    for real_bytes in (False, True):
        results.append(execute(kernel, content, real_bytes, checked=True)[0])
    np.testing.assert_array_equal(results[0], results[1])
