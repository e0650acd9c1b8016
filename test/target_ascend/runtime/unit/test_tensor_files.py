"""Inputs from files and outputs to files: every accepted form, and every mismatch named from both sides."""

import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.runtime.tensor_files import Port, fill_inputs, read_inputs, write_outputs

X = Port("x", np.dtype("float32"), (2, 3))
Y = Port("a/y:0", np.dtype("int64"), (-1, 2))
A = np.arange(6, dtype=np.float32).reshape(2, 3)
B = np.arange(8, dtype=np.int64).reshape(4, 2)


def assert_arrays(found: list[np.ndarray], *expected: np.ndarray) -> None:
    assert len(found) == len(expected)
    for have, want in zip(found, expected, strict=True):
        assert have.dtype == want.dtype
        np.testing.assert_array_equal(have, want)


def test_a_list_goes_by_order(tmp_path: Path) -> None:
    np.save(tmp_path / "one.npy", A)
    (tmp_path / "two.bin").write_bytes(B.tobytes())
    assert_arrays(read_inputs([X, Y], f"{tmp_path}/one.npy,{tmp_path}/two.bin"), A, B)


def test_an_npz_goes_by_name_whatever_its_order(tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", **{"a/y:0": B, "x": A})
    assert_arrays(read_inputs([X, Y], f"{tmp_path}/in.npz"), A, B)


def test_an_npz_without_names_goes_by_order(tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", A, B)
    assert_arrays(read_inputs([X, Y], f"{tmp_path}/in.npz"), A, B)


def test_a_directory_goes_by_names_or_else_by_order(tmp_path: Path) -> None:
    x, z = Port("x", X.dtype, X.shape), Port("b", Y.dtype, Y.shape)
    np.save(tmp_path / "x.npy", A)
    np.save(tmp_path / "b.npy", B)
    (tmp_path / "notes.txt").write_text("ignored")
    assert_arrays(read_inputs([x, z], str(tmp_path)), A, B)
    (tmp_path / "x.npy").rename(tmp_path / "0.npy")
    assert_arrays(read_inputs([x, z], str(tmp_path)), A, B)


def test_fortran_order_is_read_as_values_not_as_memory(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.asfortranarray(A))
    (array,) = read_inputs([X], f"{tmp_path}/x.npy")
    assert array.flags.c_contiguous
    np.testing.assert_array_equal(array, A)


def npz(path: Path, **arrays: np.ndarray) -> str:
    np.savez(path / "in.npz", **arrays)
    return f"{path}/in.npz"


def npy(path: Path, array: np.ndarray) -> str:
    np.save(path / "in.npy", array)
    return f"{path}/in.npy"


def raw(path: Path, data: bytes, name: str = "in.bin") -> str:
    (path / name).write_bytes(data)
    return str(path / name)


def test_mismatches_name_both_sides(tmp_path: Path) -> None:
    cases = [
        (npy(tmp_path, A.astype(np.float64)), [X], "is float64[2, 3], input 'x' takes float32[2, 3]"),
        (raw(tmp_path, A.T.tobytes()[:-4]), [X], "has 20 bytes, input 'x' takes float32[2, 3] = 24 bytes"),
        (
            raw(tmp_path, b"123", "odd.bin"),
            [Y],
            "has 3 bytes, input 'a/y:0' takes int64[?, 2] = a multiple of 16 bytes",
        ),
        (npz(tmp_path, z=A), [X], "holds z, the model has 1 input: 'x' float32[2, 3]"),
        (f"{tmp_path}/in.npy,{tmp_path}/in.npy", [X], "names 2 files, the model has 1 input"),
        (str(tmp_path), [X], "holds 5 .npy or .bin files, the model has 1 input"),
        (f"{tmp_path}/none.npy", [X], "No such file"),
        (raw(tmp_path, b"junk", "junk.npy"), [X], "cannot read"),
        (raw(tmp_path, b"junk", "junk.npz"), [X], "cannot read"),
        (raw(tmp_path, b"", "empty.npy"), [X], "cannot read"),
        (raw(tmp_path, b"junk", "in.jpg"), [X], "an input is an .npy, .bin or .npz"),
    ]
    for argument, ports, message in cases:
        with pytest.raises(GraphEngineError, match=re.escape(message)) as caught:
            read_inputs(ports, argument)
        assert "\n" not in str(caught.value)
    np.save(tmp_path / "t.npy", A.T)
    with pytest.raises(GraphEngineError, match=re.escape("is float32[3, 2], input 'x' takes float32[2, 3]")):
        read_inputs([X], f"{tmp_path}/t.npy")


def test_pickles_are_not_opened(tmp_path: Path) -> None:
    np.save(tmp_path / "o.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(GraphEngineError, match="cannot read"):
        read_inputs([X], f"{tmp_path}/o.npy")


def test_zeros_and_seeded_random() -> None:
    ports = [X, Y, Port("m", np.dtype(bool), ())]
    zeros = fill_inputs(ports, "zero", 0)
    assert [z.shape for z in zeros] == [(2, 3), (1, 2), ()]
    assert all(z.dtype == p.dtype and not z.any() for z, p in zip(zeros, ports, strict=True))
    first, again, other = (fill_inputs(ports, "random", seed) for seed in (7, 7, 8))
    assert all((a == b).all() for a, b in zip(first, again, strict=True))
    assert (first[0] != other[0]).all()


def test_seeded_integers_are_in_the_range_of_small_tables() -> None:
    """Types of tokens index two rows; numbers of 8 bits are quantised ones."""
    tokens, pixels = fill_inputs(
        [Port("t", np.dtype("int64"), (64,)), Port("q", np.dtype("uint8"), (64,))], "random", 3
    )
    assert set(tokens.tolist()) == {0, 1}
    assert pixels.max() > 1


@given(st.sampled_from(["float16", "float32", "int32", "uint8", "bool"]), st.integers(0, 3), st.data())
@settings(max_examples=25, deadline=None)
def test_outputs_read_back_equal(
    tmp_path_factory: pytest.TempPathFactory, dtype: str, rank: int, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("out", numbered=True)
    shape = tuple(data.draw(st.integers(1, 3)) for _ in range(rank))
    array = (np.random.default_rng(0).standard_normal(shape) * 50).astype(dtype)
    array = np.asarray(array)
    for form in ("NPY", "BIN", "TXT"):
        (path,) = write_outputs(str(folder / "deep" / form), "m", [array], form)
        assert path.name == f"m_output_0.{form.lower()}"
    base = folder / "deep"
    np.testing.assert_array_equal(np.load(base / "NPY" / "m_output_0.npy"), array)
    assert (base / "BIN" / "m_output_0.bin").read_bytes() == array.tobytes()
    text = np.loadtxt(base / "TXT" / "m_output_0.txt", ndmin=2)
    np.testing.assert_array_equal(text.astype(dtype).reshape(shape), array)


def test_output_directory_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("")
    with pytest.raises(GraphEngineError, match="cannot create"):
        write_outputs(str(tmp_path / "f"), "m", [A], "NPY")


def test_bf16_is_16_bit_patterns_in_files(tmp_path: Path) -> None:
    numbers = np.array([1.5, -2.0, 3.25], np.float32).astype(ml_dtypes.bfloat16)
    port = Port("x", numbers.dtype, (3,))
    for name, stored in (("as_saved", numbers), ("as_bits", numbers.view(np.uint16))):
        np.save(tmp_path / f"{name}.npy", stored)
        assert_arrays(read_inputs([port], str(tmp_path / f"{name}.npy")), numbers)
    for form in ("NPY", "BIN"):
        (path,) = write_outputs(str(tmp_path), "m", [numbers], form)
        assert_arrays(read_inputs([port], str(path)), numbers)
    (path,) = write_outputs(str(tmp_path), "m", [numbers], "TXT")
    np.testing.assert_array_equal(np.loadtxt(path), [1.5, -2.0, 3.25])
    (filled,) = fill_inputs([port], "random", 1)
    assert filled.dtype == numbers.dtype and len(set(filled.tolist())) == 3
