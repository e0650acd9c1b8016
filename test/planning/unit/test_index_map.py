"""Laws of the storage formats; the element formulas are written out here from the published definitions."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_engine.planning.index_map import DYNAMIC, FORMATS, Format

DTYPES = [
    "float16",
    "float32",
    "float64",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "bool",
]

# name -> (logical rank, stored index of a logical one at sizes s; c0 and n0 as bound)
FORMULAS = {
    "NHWC": (4, lambda i, s, c0, n0: (i[0], i[2], i[3], i[1])),
    "HWCN": (4, lambda i, s, c0, n0: (i[2], i[3], i[1], i[0])),
    "CHWN": (4, lambda i, s, c0, n0: (i[1], i[2], i[3], i[0])),
    "NDHWC": (5, lambda i, s, c0, n0: (i[0], i[2], i[3], i[4], i[1])),
    "DHWCN": (5, lambda i, s, c0, n0: (i[2], i[3], i[4], i[1], i[0])),
    "NC1HWC0": (4, lambda i, s, c0, n0: (i[0], i[1] // c0, i[2], i[3], i[1] % c0)),
    "NC1HWC0_C04": (4, lambda i, s, c0, n0: (i[0], i[1] // c0, i[2], i[3], i[1] % c0)),
    "NDC1HWC0": (5, lambda i, s, c0, n0: (i[0], i[2], i[1] // c0, i[3], i[4], i[1] % c0)),
    "FRACTAL_Z": (
        4,
        lambda i, s, c0, n0: ((i[1] // c0 * s[2] + i[2]) * s[3] + i[3], i[0] // n0, i[0] % n0, i[1] % c0),
    ),
    "FRACTAL_Z_3D": (
        5,
        lambda i, s, c0, n0: (
            ((i[2] * -(-s[1] // c0) + i[1] // c0) * s[3] + i[3]) * s[4] + i[4],
            i[0] // n0,
            i[0] % n0,
            i[1] % c0,
        ),
    ),
    "FRACTAL_Z_3D_TRANSPOSE": (
        5,
        lambda i, s, c0, n0: (
            ((i[2] * s[3] + i[3]) * s[4] + i[4]) * -(-s[0] // n0) + i[0] // n0,
            i[1] // c0,
            i[0] % n0,
            i[1] % c0,
        ),
    ),
    "FRACTAL_NZ": (3, lambda i, s, c0, n0: (i[0], i[2] // c0, i[1] // 16, i[1] % 16, i[2] % c0)),
    "FRACTAL_ZZ": (3, lambda i, s, c0, n0: (i[0], i[1] // 16, i[2] // c0, i[1] % 16, i[2] % c0)),
    "FRACTAL_Z_KN": (2, lambda i, s, c0, n0: (i[0] // c0, i[1] // n0, i[1] % n0, i[0] % c0)),
}


def _numbered(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Every element different where the type is wide enough; none zero."""
    return (np.arange(math.prod(shape)) % 250 + 1).astype(dtype).reshape(shape)


def _bind(name: str, c0: int):
    form = FORMATS[name]
    return form.bind(c0=c0) if "c0" in form.sizes else form.bind()


@st.composite
def _cases(draw: st.DrawFn):
    name = draw(st.sampled_from(sorted(FORMULAS)))
    rank = FORMULAS[name][0]
    sizes = st.sampled_from([1, 2, 3, 5, 7, 15, 16, 17, 31, 33]) if rank < 4 else st.sampled_from([1, 2, 3, 5, 17])
    shape = tuple(draw(st.lists(sizes, min_size=rank, max_size=rank)))
    return name, shape, draw(st.sampled_from([4, 8, 16, 32]))


@settings(max_examples=150, deadline=None)
@given(_cases(), st.sampled_from(DTYPES))
def test_pack_follows_the_published_element_formula(case: tuple[str, tuple[int, ...], int], dtype: str):
    name, shape, c0 = case
    bound = _bind(name, c0)
    array = _numbered(shape, dtype)
    packed = bound.pack(array)
    assert packed.shape == bound.physical_shape(shape)
    assert packed.dtype == array.dtype
    assert packed.flags.c_contiguous
    expected = np.zeros(packed.shape, dtype)
    n0 = FORMATS[name].sizes.get("n0", 1)
    places = FORMULAS[name][1](np.indices(shape).reshape(len(shape), -1), shape, c0, n0)
    expected[places] = array.reshape(-1)
    np.testing.assert_array_equal(packed, expected)
    for number in range(0, array.size, array.size // 7 + 1):
        index = tuple(int(i) for i in np.unravel_index(number, shape))
        assert bound.physical_index(shape, index) == tuple(int(place[number]) for place in places)


@settings(max_examples=150, deadline=None)
@given(_cases(), st.sampled_from(DTYPES))
def test_unpack_undoes_pack_and_padding_lanes_hold_the_fill(case: tuple[str, tuple[int, ...], int], dtype: str):
    name, shape, c0 = case
    bound = _bind(name, c0)
    array = _numbered(shape, dtype)
    fill = 0 if dtype == "bool" else 251 if dtype in ("uint8", "uint16") else -1 if np.dtype(dtype).kind != "u" else 251
    packed = bound.pack(array, fill)
    np.testing.assert_array_equal(bound.unpack(packed, shape), array)
    np.testing.assert_array_equal(bound.unpack(packed.reshape(-1), shape), array)
    if dtype != "bool":
        assert int((packed == fill).sum()) == bound.padding(shape) == packed.size - array.size


@settings(max_examples=100, deadline=None)
@given(
    groups=st.integers(2, 40),
    cout=st.integers(1, 20),
    cin=st.integers(1, 20),
    window=st.sampled_from([(1, 1), (3, 2), (2, 3, 2)]),
    c0=st.sampled_from([16, 32]),
)
def test_grouped_filters_sit_on_block_diagonals(groups: int, cout: int, cin: int, window: tuple[int, ...], c0: int):
    """FRACTAL_Z with groups, element by element as graphengine defines it; its depth comes before the channels' blocks."""
    bound = FORMATS["FRACTAL_Z" if len(window) == 2 else "FRACTAL_Z_3D"].bind(groups=groups, c0=c0)
    shape = (groups * cout, cin, *window)
    array = (np.arange(math.prod(shape)) + 1).astype(np.int32).reshape(shape)
    each = min(math.lcm(math.lcm(cin, c0) // cin, math.lcm(cout, 16) // cout), groups)
    blocks = -(-groups // each)
    cin_opt, cout_opt = -(-each * cin // c0) * c0, -(-each * cout // 16) * 16
    stored = (blocks * cin_opt // c0 * math.prod(window), cout_opt // 16, 16, c0)
    assert bound.physical_shape(shape) == stored
    expected = np.zeros(stored, np.int32)
    n, c, *depth, h, w = np.indices(shape).reshape(len(shape), -1)
    block, slot = n // cout // each, n // cout % each
    row, column = slot * cout + n % cout, slot * cin + c
    plane = block * window[0] + depth[0] if depth else block
    outer = ((plane * (cin_opt // c0) + column // c0) * window[-2] + h) * window[-1] + w
    places = (outer, row // 16, row % 16, column % c0)
    expected[places] = array.reshape(-1)
    for i in range(0, array.size, array.size // 7 + 1):
        logical = tuple(int(axis[i]) for axis in (n, c, *depth, h, w))
        assert bound.physical_index(shape, logical) == tuple(int(place[i]) for place in places)
    np.testing.assert_array_equal(bound.pack(array), expected)
    np.testing.assert_array_equal(bound.unpack(expected, shape), array)


def test_fractal_z_c04_fills_k_with_window_positions():
    """The published example: 7x7x3 -> 64 takes 13 blocks of K instead of 49."""
    bound, shape = FORMATS["FRACTAL_Z_C04"].bind(), (64, 3, 7, 7)
    assert bound.physical_shape(shape) == (13, 4, 16, 16)
    assert FORMATS["FRACTAL_Z"].bind().physical_shape(shape) == (49, 4, 16, 16)
    array = (np.arange(math.prod(shape)) + 1).reshape(shape)
    expected = np.zeros((13, 4, 16, 16), array.dtype)
    for n, c, h, w in product(*map(range, shape)):
        k = (h * 7 + w) * 4 + c
        expected[k // 16, n // 16, n % 16, k % 16] = array[n, c, h, w]
    np.testing.assert_array_equal(bound.pack(array), expected)
    np.testing.assert_array_equal(bound.unpack(expected, shape), array)


def test_published_shapes():
    """HWCN (2, 2, 32, 32) is (8, 2, 16, 16) in FRACTAL_Z; a vector is [ceil(n/c0), 1, 16, c0] in FRACTAL_NZ."""
    assert FORMATS["FRACTAL_Z"].bind().physical_shape((32, 32, 2, 2)) == (8, 2, 16, 16)
    assert FORMATS["FRACTAL_Z"].bind().physical_shape((1000, 2048)) == (128, 63, 16, 16)
    assert FORMATS["FRACTAL_NZ"].bind().physical_shape((50,)) == (4, 1, 16, 16)
    assert FORMATS["NC1HWC0"].bind().physical_shape((1, 2048)) == (1, 128, 1, 1, 16)
    assert FORMATS["NC1HWC0"].bind(c0=32).physical_shape((1, 64, 56, 56)) == (1, 2, 56, 56, 32)


def test_unknown_sizes_pass_through():
    assert FORMATS["NC1HWC0"].bind().physical_shape((DYNAMIC, 3, 224, 224)) == (DYNAMIC, 1, 224, 224, 16)
    assert FORMATS["NC1HWC0"].bind().physical_shape((1, DYNAMIC, 7, 7)) == (1, DYNAMIC, 7, 7, 16)
    assert FORMATS["FRACTAL_Z"].bind().physical_shape((16, 16, DYNAMIC, 3)) == (DYNAMIC, 1, 16, 16)


def test_empty_tensors():
    bound = FORMATS["NC1HWC0"].bind()
    packed = bound.pack(np.zeros((0, 3, 2, 2), np.float16))
    assert packed.shape == (0, 1, 2, 2, 16)
    assert bound.unpack(packed, (0, 3, 2, 2)).shape == (0, 3, 2, 2)


def _rank(form: Format) -> int:
    return form.rank or len(form.patterns[0].partition("->")[0].split())


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_every_declared_format_inverts(name: str):
    """Formats that have no formula above at least lose nothing."""
    form = FORMATS[name]
    shape = (3, 2, 5, 2, 3)[: _rank(form)]
    array = _numbered(shape, "int32")
    np.testing.assert_array_equal(form.bind().unpack(form.bind().pack(array, -1), shape), array)


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_a_stored_shape_shows_its_inner_sizes(name: str):
    """A tensor's description holds its format's name and stored shape: enough to read it, whatever C0 its type has."""
    form = FORMATS[name]
    shown = {"c0", "n0", "h0"} & form.sizes.keys() - ({"c0"} if name == "NC1HWC0_C04" else set())
    sizes = {size: 8 * (i + 1) for i, size in enumerate(sorted(shown))}
    bound = form.bind(**sizes)
    shape = (3, 4, 5, 6, 7)[: _rank(form)]
    found = form.inner_sizes(bound.physical_shape(shape))
    assert {size: found[size] for size in sizes} == sizes
    assert form.bind(**found).physical_shape(shape) == bound.physical_shape(shape)


def test_misfits_are_refused():
    with pytest.raises(ValueError, match="takes 4 axes, found 5"):
        FORMATS["NC1HWC0"].bind().physical_shape((1, 2, 3, 4, 5))
    with pytest.raises(ValueError, match="holds at most 4 of axis c4, found 5"):
        FORMATS["FRACTAL_Z_C04"].bind().physical_shape((1, 5, 3, 3))
    with pytest.raises(ValueError, match="takes positive c0"):
        FORMATS["NC1HWC0"].bind(n0=16)
    with pytest.raises(ValueError, match="has no form with groups"):
        FORMATS["NC1HWC0"].bind(groups=2)
    with pytest.raises(ValueError, match="a filter of 3 groups"):
        FORMATS["FRACTAL_Z"].bind(groups=3).physical_shape((16, 1, 3, 3))
    with pytest.raises(ValueError, match=r"stores \(1, 1, 2, 2, 16\)"):
        FORMATS["NC1HWC0"].bind().unpack(np.zeros(3), (1, 3, 2, 2))
