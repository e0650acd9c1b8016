"""Orders of elements against numpy: reshapes and transposes of a tensor of its own element numbers."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_engine.planning.strided_order import order, order_of, reshaped, row_major_axes, transposed


def shapes(elements: int) -> st.SearchStrategy[tuple[int, ...]]:
    """Shapes of that many elements, with axes of one element among them."""

    @st.composite
    def draw_shape(draw: st.DrawFn) -> tuple[int, ...]:
        left, shape = elements, []
        while left > 1 or draw(st.booleans()):
            shape.append(draw(st.sampled_from([n for n in range(1, left + 1) if left % n == 0])))
            left //= shape[-1]
        return tuple(shape)

    return draw_shape()


def numbers(runs: list[tuple[int, int]]) -> np.ndarray:
    """The elements that runs count through."""
    found = np.zeros(1, int)
    for extent, stride in runs:
        found = (found[:, None] + np.arange(extent) * stride).reshape(-1)
    return found


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.data())
def test_as_numpy_has_them(data: st.DataObject) -> None:
    elements = data.draw(st.sampled_from([1, 12, 48, 60, 64]))
    shape = data.draw(shapes(elements))
    array, axes = np.arange(elements).reshape(shape), row_major_axes(shape)
    for _ in range(data.draw(st.integers(0, 4))):
        if data.draw(st.booleans()):
            perm = data.draw(st.permutations(range(array.ndim)))
            array, axes = array.transpose(perm), transposed(axes, perm)
        else:
            shape = data.draw(shapes(elements))
            found = reshaped(axes, shape)
            if found is None:
                return
            array, axes = array.reshape(shape), found
    assert [int(np.prod([n for n, _ in axis])) for axis in axes] == list(array.shape)
    assert (numbers(order_of(axes)) == array.reshape(-1)).all()


def test_orders_are_equal_in_one_way_only() -> None:
    assert order([(2, 12), (1, 7), (3, 4), (4, 1)]) == [(24, 1)]
    assert order([(3, 4), (2, 12), (4, 1)]) == [(3, 4), (2, 12), (4, 1)]


def test_an_axis_that_begins_inside_a_run() -> None:
    assert reshaped([[(6, 1)]], (4,)) is None
    assert reshaped([[(6, 1)], [(4, 6)]], (8, 3)) is None
