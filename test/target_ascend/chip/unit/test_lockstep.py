"""Blocks in lockstep give every byte that blocks one after another give.

The judge is the engine on real bytes, which runs block after block.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from graph_engine.target_ascend.isa.model import Affine, Blocks, Instr, Kernel, Loop, Node, Opcode, Pipe, Rotate, Space
from graph_engine.target_ascend.om.program import Location, Segment

ON_CHIP = SPACES[1:]
MOST, TRIPS = 6, 3
"""Blocks of a random launch at most, iterations of a loop."""
REGION = MOST * TRIPS
"""Windows of device memory for each memory: one for each block and iteration."""


def window(region: int, width: int, axes: Sequence[int] = (0, 1)) -> Affine:
    """Offset of a region's window, which depends on the block (axis 0) and on the iteration (1), or on one of them."""
    elements = WINDOW // width
    place = Affine(region * REGION * elements)
    for axis in axes:
        place += slot(axis, elements * (TRIPS, 1)[axis])
    return place


def in_windows(instr: Instr, looping: bool, source: int, target: int) -> Instr:
    """Its views of device memory in windows of their own; in a loop, what is read and what is written apart."""
    operands = list(instr.operands)
    for number, operand in enumerate(operands):
        if operand.buffer == 0:
            place = operand.offset + window(0, operand.dtype.bytes, (0, 1) if looping else (0,))
            buffer = (source if number else target) if looping else 0
            operands[number] = replace(operand, buffer=buffer, offset=place)
    return replace(instr, operands=tuple(operands))


def taken(b: KernelBuilder) -> Instr:
    """The last instruction, which leaves the builder."""
    instr = b.stack[0].pop()
    assert isinstance(instr, Instr)
    return instr


@st.composite
def launches(draw: Any) -> Kernel:
    """Ranges of blocks whose bodies may be alike. Each block, and in each iteration of a loop that there may be, fills its
    memories, works on them and on its windows of device memory, and writes them back; some start alike everywhere, some
    are filled before a loop or written back behind it."""
    b = KernelBuilder("random")
    b.arg(WINDOW * REGION, "rw")
    for space in ON_CHIP:
        b.alloc(space, WINDOW, address=0)
    source, target = len(ON_CHIP) + 1, len(ON_CHIP) + 2
    for address in (1, 2):
        b.access.append("r" if address == 1 else "w")
        b.buffers.append(replace(b.buffers[0], address=address, bytes=(len(SPACES) + 1) * WINDOW * REGION))
    looping = draw(st.booleans())
    everywhere = (0, 1) if looping else (0,)
    before, behind = list[Instr](), list[Instr]()
    for index in range(1, len(SPACES)):
        early = looping and draw(st.integers(0, 2)) == 0
        place = window(index, 2, draw(st.sampled_from([(), (0,)] if early else [(), everywhere[:1], everywhere])))
        b.emit(Opcode.COPY, b.view(index, (WINDOW // 2,)), b.view(source, (WINDOW // 2,), F16, place), pipe=Pipe.MTE2)
        if early:
            before.append(taken(b))
    for _ in range(draw(st.integers(1, 8))):
        draw(instruction(b))
    for index in range(1, len(SPACES)):
        late = looping and draw(st.integers(0, 2)) == 0
        out = b.view(target, (WINDOW // 2,), F16, window(index, 2, (0,) if late else everywhere))
        b.emit(Opcode.COPY, out, b.view(index, (WINDOW // 2,)), pipe=Pipe.MTE3)
        if late:
            behind.append(taken(b))
    inside = tuple(in_windows(node, looping, source, target) for node in b.stack[0] if isinstance(node, Instr))
    body: tuple[Node, ...] = (*before, Loop(TRIPS, inside), *behind) if looping else inside
    nodes: list[Node] = []
    low = 0
    for size in draw(st.sampled_from([(1,), (3,), (2, 2), (1, 1, 1), (1, 4, 1), (2, 2, 2), (5,)])):
        nodes.append(Blocks(low, low + size, body))
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
    windows = [
        np.concatenate([contents(seed + i, wild)[0] for i in range(count)])
        for count in (REGION, (len(SPACES) + 1) * REGION)
    ]
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
