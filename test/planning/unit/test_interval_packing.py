"""Laws of the packer: no overlap, alignment, bounds; growth; hand-counted cases."""

import random
from collections.abc import Sequence
from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_engine.planning import interval_packing
from graph_engine.planning.interval_packing import Interval, Packing, lower_bound, pack_intervals

_buffers = st.lists(
    st.builds(
        lambda start, width, size, align: Interval(start, start + width, size, align),
        st.integers(-5, 30),
        st.integers(1, 12),
        st.integers(0, 3000),
        st.sampled_from([1, 32, 48, 512]),
    ),
    max_size=40,
)


def _assert_valid(buffers: Sequence[Interval], packing: Packing):
    """Every pair, every law: independent of how the packer works."""
    assert len(packing.offsets) == len(buffers)
    for i, (a, at) in enumerate(zip(buffers, packing.offsets, strict=True)):
        assert at >= 0
        assert at % a.align == 0
        for b, bt in zip(buffers[:i], packing.offsets[:i], strict=True):
            if a.start < b.end and b.start < a.end and a.size and b.size:
                assert at + a.size <= bt or bt + b.size <= at
    assert packing.peak == max((at + b.size for b, at in zip(buffers, packing.offsets, strict=True)), default=0)
    moments = {b.start for b in buffers}
    live = [sum(b.size for b in buffers if b.start <= t < b.end) for t in moments]
    assert packing.peak >= packing.lower_bound >= max(live, default=0)


@settings(max_examples=150, deadline=None)
@given(_buffers)
def test_never_overlaps_and_never_beats_the_bound(buffers: list[Interval]):
    _assert_valid(buffers, pack_intervals(buffers))


@settings(max_examples=60, deadline=None)
@given(_buffers)
def test_every_construction_is_valid(buffers: list[Interval]):
    problem = interval_packing._Problem(buffers)
    for sparse in (True, False):
        problem.sparse = sparse
        for name, construct in interval_packing._portfolio(problem):
            offsets = tuple(construct())
            peak = max((at + b.size for b, at in zip(buffers, offsets, strict=True)), default=0)
            _assert_valid(buffers, Packing(offsets, peak, lower_bound(buffers), name))


@settings(max_examples=60, deadline=None)
@given(_buffers, st.sampled_from(["size", "TWA", "area"]), st.booleans())
def test_masks_and_lists_place_alike(buffers: list[Interval], order: str, best: bool):
    problem = interval_packing._Problem(buffers)
    by_list = problem.fit(problem.order(order), best)
    problem.sparse = False
    assert problem.fit(problem.order(order), best) == by_list


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3), st.integers(1, 4)), min_size=1, max_size=4))
def test_bound_is_below_every_packing(rows: list[tuple[int, int, int]]):
    """Small instances against all packings on a grid (exhaustive search)."""
    buffers = [Interval(start, start + width, size, 2) for start, width, size in rows]
    best = min(
        max(at + b.size for b, at in zip(buffers, offsets, strict=True))
        for offsets in product(range(0, 14, 2), repeat=len(buffers))
        if all(
            a.end <= b.start or b.end <= a.start or at + a.size <= bt or bt + b.size <= at
            for (a, at), (b, bt) in combinations(zip(buffers, offsets, strict=True), 2)
        )
    )
    packing = pack_intervals(buffers)
    assert packing.lower_bound <= best <= packing.peak


def test_hand_counted():
    """A residual block: x lives across two layers, t and y are its inside; 100 + 100 + 50 bytes at 32."""
    buffers = [Interval(0, 3, 100, 32), Interval(1, 2, 50, 32), Interval(2, 4, 100, 32)]
    packing = pack_intervals(buffers)
    assert packing.peak == packing.lower_bound == 228  # x at 0, y at 128: 128 + 100
    assert packing.proved_optimal
    assert pack_intervals([]) == Packing((), 0, 0, "TWA/skyline")
    assert pack_intervals([Interval(0, 1, 7), Interval(1, 2, 9)]).peak == 9


def test_stops_at_the_capacity():
    """An instance whose first construction is above the bound: a generous capacity ends the search there."""
    rng = random.Random(5)
    buffers = [Interval(s, s + rng.randint(1, 9), rng.randint(1, 99)) for s in (rng.randint(0, 40) for _ in range(60))]
    assert pack_intervals(buffers, capacity=10**9).method == "TWA/skyline"
    assert pack_intervals(buffers).peak <= pack_intervals(buffers, capacity=10**9).peak


@pytest.mark.parametrize("wrong", [Interval(1, 1, 4), Interval(0, 1, -1), Interval(0, 1, 4, 0)])
def test_wrong_buffers_are_refused(wrong: Interval):
    with pytest.raises(ValueError, match="buffer 1"):
        pack_intervals([Interval(0, 1, 1), wrong])


def _chain(count: int) -> list[Interval]:
    """Lifetimes of a network: mostly short, some skip connections."""
    rng = random.Random(0)
    return [Interval(i, i + 1 + rng.choice([1, 1, 2, 3, 8]), rng.randint(1, 400) * 100, 512) for i in range(count)]


def test_large_instances_stay_near_the_bound(monkeypatch: pytest.MonkeyPatch):
    """Twenty thousand buffers in one construction, within 5 % of the bound."""
    monkeypatch.setattr(interval_packing, "WORK_LIMIT", 0)
    packing = pack_intervals(_chain(20000))
    assert packing.peak <= 1.05 * packing.lower_bound


def test_many_conflicts_take_the_masks(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(interval_packing, "SPARSE_LIMIT", 100)
    buffers = _chain(200)
    packing = pack_intervals(buffers)
    _assert_valid(buffers, packing)
    assert "skyline" not in packing.method
