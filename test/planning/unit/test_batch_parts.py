"""Parts of a batch: a chain counted by hand, and laws on random chains."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from graph_engine.planning.batch_parts import BatchTask, Memory, Parts, batch_parts

MIB = 1 << 20
CHIP = Memory(l2=16 * MIB, ddr=1e5, start_us=5.0)
"""100 GB/s: 16 MiB take 168 us."""


def chain(sizes: list[int], images: int, weights: int = 0, work: float = 1.0) -> list[BatchTask]:
    """Task i reads map i and writes map i + 1."""
    return [BatchTask((i,), (i + 1,), weights, work, images) for i in range(len(sizes) - 1)]


def test_hand_counted() -> None:
    """Whole: each of two tasks moves 32 MiB in and out. With halves the map between them, twice 16 MiB and what lies beside
    it, still leaves; quarters of it stay: 8 more starts, 64 MiB less."""
    sizes = [16 * MIB, 32 * MIB, 16 * MIB]
    assert batch_parts(chain(sizes, 8), sizes, CHIP) == [Parts(0, 2, 4)]


def test_work_that_hides_the_traffic() -> None:
    sizes = [16 * MIB, 32 * MIB, 16 * MIB]
    assert not batch_parts(chain(sizes, 8, work=2000.0), sizes, CHIP)


def test_weights_that_come_again_with_every_part() -> None:
    sizes = [16 * MIB, 32 * MIB, 16 * MIB]
    assert not batch_parts(chain(sizes, 8, weights=40 * MIB), sizes, CHIP)


def test_what_is_no_batch_stays_whole() -> None:
    sizes = [16 * MIB, 32 * MIB, 16 * MIB]
    assert not batch_parts(chain(sizes, 0), sizes, CHIP)
    assert not batch_parts(chain(sizes, 1), sizes, CHIP)


@given(
    st.lists(st.integers(1, 64), min_size=2, max_size=12),
    st.lists(st.sampled_from([0, 1, 4, 6, 8]), min_size=11, max_size=11),
    st.integers(0, 8),
)
def test_runs_are_legal_and_small_batches_whole(mib: list[int], images: list[int], weights: int) -> None:
    sizes = [n * MIB for n in mib]
    tasks = [BatchTask((i,), (i + 1,), weights * MIB, 1.0, images[i]) for i in range(len(sizes) - 1)]
    found = batch_parts(tasks, sizes, CHIP)
    ends = [0, *(parts.end for parts in found)]
    for before, parts in zip(ends, found, strict=False):
        assert before <= parts.begin < parts.end - 1
        batches = {task.images for task in tasks[parts.begin : parts.end]}
        assert len(batches) == 1
        assert parts.count > 1 and batches.pop() % parts.count == 0
    if sum(sizes) + len(tasks) * weights * MIB <= CHIP.l2:
        assert not found
