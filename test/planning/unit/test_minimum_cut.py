"""The minimum cut against all cuts, and the flow that proves it."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_engine.planning.minimum_cut import INFINITE, Arc, Cut, cut_cost, is_certified, minimum_cut


def test_hand_counted() -> None:
    """Of the two ways 0-1-3 and 0-2-3 the first is narrow in front (2), the second behind (3); 1-2 is then no use."""
    arcs = [(0, 1, 2), (1, 3, 9), (0, 2, 9), (2, 3, 3), (1, 2, 5)]
    cut = minimum_cut(4, arcs, 0, 3)
    assert cut.value == 5
    assert cut.source_side == (True, False, True, False)
    assert is_certified(arcs, cut, 0, 3)


def test_flow_goes_back_on_itself() -> None:
    """The shortest path takes the arc 1-2, which the best flow must not use."""
    arcs = [(0, 1, 1), (0, 2, 1), (1, 2, 1), (1, 4, 1), (2, 3, 1), (4, 5, 1), (3, 5, 1)]
    assert minimum_cut(6, arcs, 0, 5).value == 2


def test_nothing_joins_the_ends() -> None:
    cut = minimum_cut(3, [(0, 1, 4)], 0, 2)
    assert (cut.value, cut.source_side) == (0, (True, True, False))


def test_direct_and_parallel_arcs() -> None:
    arcs = [(0, 1, 2), (0, 1, 3), (1, 0, 7), (1, 1, 5), (0, 2, 1), (2, 1, 0)]
    cut = minimum_cut(3, arcs, 0, 1)
    assert cut.value == 5
    assert is_certified(arcs, cut, 0, 1)


def test_no_legal_cut() -> None:
    with pytest.raises(ValueError, match="must not be cut"):
        minimum_cut(3, [(0, 1, INFINITE), (1, 2, INFINITE)], 0, 2)
    with pytest.raises(ValueError, match="negative capacity"):
        minimum_cut(2, [(0, 1, -1)], 0, 1)


def test_a_wrong_cut_is_not_certified() -> None:
    arcs = [(0, 1, 2), (1, 2, 3)]
    cut = minimum_cut(3, arcs, 0, 2)
    assert is_certified(arcs, cut, 0, 2)
    sides = cut.source_side
    wrong = (Cut(2, sides, (2, 3)), Cut(3, sides, (2, 2)), Cut(2, (True, True, False), (2, 2)), Cut(3, sides, (3, 3)))
    assert not any(is_certified(arcs, other, 0, 2) for other in wrong)


@st.composite
def networks(draw: st.DrawFn) -> tuple[int, list[Arc]]:
    nodes = draw(st.integers(2, 9))
    node = st.integers(0, nodes - 1)
    return nodes, draw(st.lists(st.tuples(node, node, st.integers(0, 12)), max_size=24))


@given(networks())
def test_against_all_cuts(network: tuple[int, list[Arc]]) -> None:
    nodes, arcs = network
    cut = minimum_cut(nodes, arcs, 0, nodes - 1)
    assert is_certified(arcs, cut, 0, nodes - 1)
    sides = [(True, *inner, False) for inner in product((False, True), repeat=nodes - 2)]
    best = min(cut_cost(arcs, side) for side in sides)
    assert cut.value == best
    # The source's side is contained in that of every other minimum cut.
    for side in sides:
        if cut_cost(arcs, side) == best:
            assert all(side[n] for n in range(nodes) if cut.source_side[n])
