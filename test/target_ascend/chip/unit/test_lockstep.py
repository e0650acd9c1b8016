"""Blocks in lockstep give every byte that blocks one after another give.

The judge is the engine on real bytes, which runs block after block.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from harness.random_instructions import SOC, SPACES, WINDOW, contents, instruction
from hypothesis import given, settings
from hypothesis import strategies as st
from models.kernel_builder import F16, KernelBuilder, slot

from graph_engine.target_ascend.chip.functional import FunctionalEngine
from graph_engine.target_ascend.chip.lockstep import gangs
from graph_engine.target_ascend.chip.memory import GlobalMemory
from graph_engine.target_ascend.isa.model import Blocks, Instr, Kernel, Node, Opcode, Operand, Pipe, Rotate, Space
from graph_engine.target_ascend.om.program import Location, Segment

ON_CHIP = SPACES[1:]
MOST = 6
"""Blocks of a random launch at most."""


def own_window(operand: Operand) -> Operand:
    """A view of device memory in the block's own window."""
    if operand.buffer:
        return operand
    return replace(operand, offset=operand.offset + slot(0, WINDOW // operand.dtype.bytes))


@st.composite
def launches(draw: Any) -> Kernel:
    """Ranges of blocks whose bodies may be alike. Each block fills its memories, works on them and on its window of
    device memory, and writes them back; some memories start alike in all blocks."""
    b = KernelBuilder("random")
    b.arg(WINDOW * MOST, "rw")
    for space in ON_CHIP:
        b.alloc(space, WINDOW, address=0)
    alike = [draw(st.booleans()) for _ in ON_CHIP]
    start = len(ON_CHIP) + 1
    b.buffers += [replace(b.buffers[0], address=1), replace(b.buffers[0], address=2)]
    for index, same in enumerate(alike, 1):
        place = slot(0, 0 if same else WINDOW // 2, index * MOST * WINDOW // 2)
        b.emit(Opcode.COPY, b.view(index, (WINDOW // 2,)), b.view(start, (WINDOW // 2,), F16, place), pipe=Pipe.MTE2)
    for _ in range(draw(st.integers(1, 8))):
        draw(instruction(b))
    for index in range(1, len(ON_CHIP) + 1):
        out = b.view(start + 1, (WINDOW // 2,), F16, slot(0, WINDOW // 2, index * MOST * WINDOW // 2))
        b.emit(Opcode.COPY, out, b.view(index, (WINDOW // 2,)), pipe=Pipe.MTE3)
    body = b.build().body
    nodes: list[Node] = []
    low = 0
    for size in draw(st.sampled_from([(1,), (3,), (2, 2), (1, 1, 1), (1, 4, 1), (2, 2, 2), (5,)])):
        for part in body:
            assert isinstance(part, Blocks)
            inside = tuple(
                replace(node, operands=tuple(map(own_window, node.operands))) if isinstance(node, Instr) else node
                for node in part.body
            )
            nodes.append(Blocks(low, low + size, inside))
        low += size
    return replace(b.build(), block_dim=low, body=tuple(nodes))


def execute(kernel: Kernel, content: list[Any], real_bytes: bool) -> list[Any]:
    """The device's memory after a launch."""
    gm = GlobalMemory(real_bytes=real_bytes)
    gm.add(Segment.INPUT, 0, content[0].copy())
    source = gm.add(Segment.INPUT, 1, content[1].copy())
    source.frozen = bool(content[1][0] & 1) and not real_bytes
    gm.add(Segment.OUTPUT, 0, content[1].size)
    args = (Location(Segment.INPUT, 0, 0), Location(Segment.INPUT, 1, 0), Location(Segment.OUTPUT, 0, 0))
    FunctionalEngine(SOC, gm, real_bytes=real_bytes).launch(kernel, args)
    return [gm.read(args[0], content[0].size).copy(), gm.read(args[2], content[1].size).copy()]


@settings(max_examples=80, deadline=None)
@given(launches(), st.integers(0, 1000), st.booleans())
def test_lockstep_equals_block_after_block(kernel: Kernel, seed: int, wild: bool) -> None:
    windows = [np.concatenate([contents(seed + i, wild)[0] for i in range(count)]) for count in (MOST, 7 * MOST)]
    for typed, plain in zip(execute(kernel, windows, False), execute(kernel, windows, True), strict=True):
        np.testing.assert_array_equal(typed, plain)


def test_bodies_that_differ_in_places_alone_run_as_one() -> None:
    b = KernelBuilder("places", 6)
    b.arg(WINDOW * 8)
    ub = b.alloc(Space.UB, WINDOW)
    for low, place in ((0, 0), (2, 64), (4, 128)):
        with b.blocks(low, low + 2):
            b.copy(b.view(ub, (16,)), b.view(0, (16,), F16, slot(0, 16, place)))
    (gang,) = gangs(b.build(), 6) or []
    (copy,) = gang.body
    assert isinstance(copy, Instr)
    assert (gang.blocks, gang.axes) == (range(6), {id(copy): 2})
    assert (copy.operands[1].sizes, copy.operands[1].strides) == ((3, 2, 16), (96, 16, 1))


def test_blocks_that_write_one_place_or_choose_by_their_number_run_one_after_another() -> None:
    b = KernelBuilder("apart", 2)
    b.arg(WINDOW, "w")
    ub = b.alloc(Space.UB, WINDOW, 2)
    b.copy(b.view(0, (16,), F16, slot(0, 8)), b.view(ub, (16,)))
    shared = b.build()
    b = KernelBuilder("rotated", 2)
    b.arg(WINDOW, "w")
    ub = b.alloc(Space.UB, WINDOW, 2)
    b.copy(b.view(0, (16,), F16, slot(0, 16)), b.view(ub, (16,), rotate=Rotate(2, slot(0))))
    for kernel in (shared, b.build()):
        (gang,) = gangs(kernel, 2) or []
        assert (gang.blocks, gang.axes) == (range(2), {})
