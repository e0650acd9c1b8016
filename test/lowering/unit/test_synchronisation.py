"""Flags on random kernels: nothing races, nothing hangs, nothing is signalled twice; and flags that are missing show.

Two judges that share no code: the chip's checker, and the explicit happens-before graph of the harness.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
from harness.happens_before import order
from harness.kernels import SOC, compile_kernel
from harness.random_kernels import GM_ELEMENTS, RandomKernel, kernels, random_kernel
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_engine.target_ascend.chip.checker import Checker
from graph_engine.target_ascend.chip.functional import FunctionalEngine
from graph_engine.target_ascend.chip.memory import GlobalMemory
from graph_engine.target_ascend.isa.model import Blocks, Instr, Kernel, Loop, Node, Opcode
from graph_engine.target_ascend.om.program import Location, Segment

FLAGS = (Opcode.SET_FLAG, Opcode.WAIT_FLAG)


def kinds_of_findings(kernel: Kernel) -> set[str]:
    """What the chip's checker says about a launch."""
    gm = GlobalMemory()
    gm.add(Segment.INPUT, 0, np.ones(GM_ELEMENTS, np.float16))
    gm.add(Segment.OUTPUT, 0, np.zeros(GM_ELEMENTS, np.float16))
    checker = Checker(SOC, gm)
    places = (Location(Segment.INPUT, 0, 0), Location(Segment.OUTPUT, 0, 0))
    FunctionalEngine(SOC, gm, checker=checker).launch(kernel, places)
    return {finding.kind for finding in checker.findings}


def flags_of(body: tuple[Node, ...]) -> list[Instr]:
    """All flags in program text."""
    found: list[Instr] = []
    for node in body:
        if isinstance(node, Instr):
            found += [node] if node.opcode in FLAGS else []
        else:
            found += flags_of(node.body)
    return found


def without(kernel: Kernel, gone: list[Instr]) -> Kernel:
    """The kernel without some of its instructions."""
    ids = set(map(id, gone))

    def body(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        kept = (node for node in nodes if id(node) not in ids)
        return tuple(replace(n, body=body(n.body)) if isinstance(n, Loop | Blocks) else n for n in kept)

    return replace(kernel, body=body(kernel.body))


def orders_of(kernel: Kernel) -> list[list[Instr]]:
    """Flags by what they order: sets and waits of one event, or of the events that rotate with one slot.

    A credit's prologue and epilogue name the rotating events one by one; they belong to the credit.
    """
    flags = flags_of(kernel.body)
    starts: dict[tuple[int, int, int], int] = {}
    for flag in flags:
        if flag.event_rotate is not None:
            source, target, event = (p.const for p in flag.params)
            starts.update({(source, target, event + i): event for i in range(flag.event_rotate.count)})
    groups: dict[tuple[int, int, int], list[Instr]] = {}
    for flag in flags:
        source, target, event = (p.const for p in flag.params)
        groups.setdefault((source, target, starts.get((source, target, event), event)), []).append(flag)
    return list(groups.values())


@settings(max_examples=80, deadline=None, derandomize=True)
@given(kernels(), st.integers(0, 8), st.booleans())
def test_every_order_of_the_pipes_equals_program_order(drawn: RandomKernel, events: int, doubled: bool) -> None:
    kernel = compile_kernel(drawn.write(), events=events, doubled=doubled)
    assert all(flag.params[2].const + (flag.event_rotate.count if flag.event_rotate else 1) <= events
               for flag in flags_of(kernel.body))  # fmt: skip
    for block in range(kernel.block_dim):
        found = order(kernel, block)
        assert not found.races
        assert (found.unmatched, found.twice) == (0, 0)
    assert not kinds_of_findings(kernel)


def test_missing_flags_show() -> None:
    counts = dict.fromkeys(("single", "orders", "needed", "seen"), 0)
    for seed in range(25):
        random = Random(seed)
        kernel = compile_kernel(random_kernel(random).write())
        flags = flags_of(kernel.body)
        if not flags:
            continue
        # One side alone: the other one waits for ever, or stays up.
        counts["single"] += 1
        assert "unmatched-flag" in kinds_of_findings(without(kernel, [random.choice(flags)]))
        # Both sides: a race, unless other flags order the same instructions. The checker sees what the graph sees.
        for group in orders_of(kernel):
            mutant = without(kernel, group)
            found = order(mutant)
            assert not found.unmatched
            counts["orders"] += 1
            if found.races:
                counts["needed"] += 1
                counts["seen"] += "pipe-race" in kinds_of_findings(mutant)
    print(counts)
    assert counts["single"] > 15
    assert counts["needed"] > 0.9 * counts["orders"] > 100
    assert counts["seen"] == counts["needed"]
