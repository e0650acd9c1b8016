"""Element types that numpy lacks: their names, their sizes, and casts to them by values counted by hand."""

import numpy as np
import pytest

from graph_engine.dialects.ge.interning import element_bits, element_of_numpy, element_type, numpy_dtype
from graph_engine.dialects.ge.reference import evaluate
from graph_engine.dialects.ge.reference.element_types import NUMPY_NAMES


@pytest.mark.parametrize("name", NUMPY_NAMES)
def test_every_type_goes_both_ways(name: str) -> None:
    assert element_of_numpy(numpy_dtype(name)) == element_type(name)
    assert element_bits(name) == 8 * numpy_dtype(name).itemsize


@pytest.mark.parametrize(
    ("to", "attributes", "values", "right"),
    [
        ("bf16", {}, [1.0, 1 + 2**-8, 1 + 3 * 2**-8], [1.0, 1.0, 1 + 2**-6]),  # ties to even
        ("f8E4M3FN", {}, [447.0, 1e6, -np.inf], [448.0, 448.0, -448.0]),
        ("f8E4M3FN", {"saturate": False}, [447.0, 1e6, -np.inf], [448.0, np.nan, np.nan]),
        ("f8E5M2", {}, [1e6, np.inf], [57344.0, 57344.0]),
        ("f8E5M2", {"saturate": False}, [1e6, np.inf], [np.inf, np.inf]),
        ("f8E8M0FNU", {}, [3.0, 4.0], [4.0, 4.0]),
        ("f8E8M0FNU", {"round_mode": "down"}, [3.0, 7.9], [2.0, 4.0]),
        ("f8E8M0FNU", {"round_mode": "nearest"}, [2.9, 3.1], [2.0, 4.0]),
        ("f4E2M1FN", {}, [0.25, 0.75, 5.0, 100.0], [0.0, 1.0, 4.0, 6.0]),
        ("i4", {}, [-8.0, 7.0, 2.7], [-8, 7, 2]),
        ("i8", {}, [3.99, -3.99], [3, -3]),
    ],
)
def test_casts(to: str, attributes: dict[str, object], values: list[float], right: list[float]) -> None:
    [found] = evaluate("ge.cast", [np.array(values, np.float32)], {"to": to, **attributes})
    assert found.dtype == numpy_dtype(to)
    np.testing.assert_array_equal(found.astype(np.float64), right)


def test_arithmetic_of_small_floats_is_rounded_once() -> None:
    x = np.array([256, 1], numpy_dtype("bf16"))
    [found] = evaluate("ge.add", [x, np.array([1.5, 2**-7], numpy_dtype("bf16"))], {})
    assert found.dtype == x.dtype
    assert found.astype(np.float32).tolist() == [258.0, 1 + 2**-7]
