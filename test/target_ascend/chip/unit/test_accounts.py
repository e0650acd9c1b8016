"""Accounts of cycles: they add up without a remainder, agree with the queues, and name the reasons a hand count names."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models.hand_kernels import affine, barrier, kernel, launch, load_ub, loop, mmad, store_ub, sync, vector

from graph_engine.target_ascend.chip.accounts import ENGINES, TaskAccount, explain_block
from graph_engine.target_ascend.chip.queues import run_queues
from graph_engine.target_ascend.chip.steps import BARRIER_ALL, MOVE_GM, SET, WAIT, WORK, Step
from graph_engine.target_ascend.chip.timing import TimingEngine
from graph_engine.target_ascend.isa.model import Blocks, Kernel, Node, Opcode, Pipe
from graph_engine.target_ascend.soc.soc import load_soc

SOC = load_soc("Ascend310P3")
S, V, M, MTE1, MTE2 = range(5)
GAP = 3
BUSY = ("busy", "latency", "ddr", "l2")


def accounted(*body: Node, block_dim: int = 1) -> TaskAccount:
    account = TimingEngine(SOC, accounts=True).launch(launch(block_dim), kernel(*body, block_dim=block_dim)).account
    assert account is not None
    return account


Draw = tuple[int, int, int, int, str]
"""What a step is made from: kind, pipe, two numbers of cycles, what bounds a transfer."""

KINDS = (WORK, WORK, MOVE_GM, SET, SET, WAIT, BARRIER_ALL)
DRAWS = st.lists(
    st.tuples(
        st.sampled_from(KINDS),
        st.integers(0, 6),
        st.integers(0, 30),
        st.integers(0, 12),
        st.sampled_from(("l2", "ddr")),
    ),
    min_size=1,
    max_size=50,
)


def program(draws: list[Draw]) -> tuple[list[Step], list[tuple[int, int, str]]]:
    """Steps of all kinds on all pipes; a wait follows its set."""
    steps: list[Step] = []
    moves: list[tuple[int, int, str]] = []
    raised: list[int] = []
    for number, (kind, pipe, cycles, transfer, bound) in enumerate(draws):
        if kind == MOVE_GM:
            steps.append((MOVE_GM, max(pipe, 1), 0, 0))
            moves.append((cycles, transfer, bound))
        elif kind == BARRIER_ALL:
            steps.append((BARRIER_ALL, S, cycles % 3, 0))
        elif kind == SET:
            raised.append(number)
            steps.append((SET, pipe, 1, number))
        elif kind == WAIT and raised:
            steps.append((WAIT, pipe, 1, raised.pop(cycles % len(raised))))
        else:
            steps.append((WORK, pipe, cycles, 0))
    return steps, moves


@settings(max_examples=200)
@given(DRAWS, st.integers(1, 5))
def test_every_engine_and_the_chain_add_up_to_the_time_of_the_queues(draws: list[Draw], depth: int):
    steps, moves = program(draws)
    spans: list[tuple[int, int, int]] = []
    ends = run_queues(steps, [move[:2] for move in moves], len(steps), depth, GAP, spans)
    account = explain_block(steps, moves, len(steps), depth, GAP)
    assert account.cycles == max(ends)
    assert list(account.engines) == list(ENGINES)
    for spent in account.engines.values():
        assert sum(spent.values()) == account.cycles
        assert min(spent.values(), default=0) >= 0
    assert sum(account.chain.values()) == account.cycles
    busy = Counter({pipe: sum(end - start for p, start, end in spans if p == pipe) for pipe in range(1, 7)})
    for kind, pipe, cycles, _ in steps:
        if kind == WORK and pipe:
            busy[pipe] += cycles
    for pipe in range(1, 7):
        assert sum(account.engines[Pipe(pipe).name][reason] for reason in BUSY) == busy[pipe]


def test_a_load_a_flag_and_work_by_hand():
    # the table of docs/timing.md: load 1-11, set 11-12, wait 12-13, work 13-18
    steps = [(WORK, MTE2, 10, 0), (SET, MTE2, 1, 0), (WAIT, V, 1, 0), (WORK, V, 5, 0)]
    account = explain_block(steps, [], 1, 32, GAP)
    assert account.engines["MTE2"] == {"issue": 1, "busy": 10, "sync": 1, "done": 6}
    assert account.engines["V"] == {"issue": 3, "flag MTE2": 9, "sync": 1, "busy": 5}
    assert account.engines["S"] == {"busy": 4, "done": 14}
    assert account.engines["M"] == {"done": 18}
    assert account.chain == {"S issue": 1, "MTE2 busy": 10, "sync": 2, "V busy": 5}


def test_a_full_queue_is_named_by_the_engine_that_starves():
    # the third waits in S from 3 until the second starts at 11, so that M gets its work at 12
    steps = [(WORK, MTE2, 10, 0)] * 3 + [(WORK, M, 4, 0)]
    account = explain_block(steps, [], 0, 1, GAP)
    assert account.engines["S"] == {"busy": 4, "queue MTE2": 8, "done": 31 - 12}
    assert account.engines["M"] == {"issue": 4, "queue MTE2": 8, "busy": 4, "done": 31 - 16}
    assert account.chain == {"S issue": 1, "MTE2 busy": 30}


def test_a_load_from_device_memory_by_hand():
    # 21504 bytes out of DDR take 800 + 1024 cycles, then out of the L2 50 + 189
    load = load_ub(10752)
    account = accounted(load, load)
    assert account.engines["MTE2"] == {"issue": 1, "latency": 800, "ddr": 1024, "l2": 189, "launch": 2544}
    assert account.chain == {"launch": 2544, "S issue": 1, "MTE2 latency": 800, "MTE2 ddr": 1024, "MTE2 l2": 189}


def test_cores_with_less_to_do_are_uneven():
    work = kernel(Blocks(0, 1, (vector(Opcode.VADD, 128 * 30),)), Blocks(1, 2, (mmad(16, 16, 16),)), block_dim=2)
    timing = TimingEngine(SOC, accounts=True).launch(launch(2), work)
    assert timing.account is not None
    assert timing.account.engines["V"] == {"issue": 1, "busy": 84, "done": 8, "uneven": 85 - 8, "launch": 2 * 2544}


@pytest.mark.parametrize("blocks", [1, 3, 8, 11])
def test_a_launch_adds_up(blocks: int):
    tile = (load_ub(4096, offset=affine(s0=1 << 16, s1=4096)), *sync(Pipe.MTE2, Pipe.V), vector(Opcode.VADD, 4096))
    body = loop(6, *tile, *sync(Pipe.V, Pipe.MTE3), store_ub(4096), mmad(16, 16, 16)), barrier(Pipe.ALL)
    work: Kernel = kernel(*body, block_dim=blocks)
    timing = TimingEngine(SOC, accounts=True).launch(launch(blocks), work)
    account = timing.account
    assert account is not None
    assert (account.cycles, account.cores) == (timing.cycles, timing.cores)
    assert sum(account.chain.values()) == timing.cycles
    for name, spent in account.engines.items():
        assert sum(spent.values()) == timing.cycles * timing.cores
        assert sum(spent[reason] for reason in BUSY) == timing.engine_cycles.get(Pipe[name], 0)
