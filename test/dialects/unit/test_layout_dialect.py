"""Encodings and helpers on tensor types; sizes are counted by hand."""

import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    IntegerType,
    Signedness,
    StringAttr,
    TensorType,
)
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.test_value import create_ssa_value

from graph_engine.dialects import layout
from graph_engine.target_ascend.isa.model import DType
from graph_engine.target_ascend.soc.soc import load_soc

F16, F32, I8 = Float16Type(), Float32Type(), IntegerType(8)
ENCODINGS = [
    layout.nc1hwc0(),
    layout.nc1hwc0(c0=32),
    layout.fractal_z(),
    layout.fractal_z(groups=2),
    layout.fractal_nz(),
    layout.fractal_z_kn(),
    layout.NHWC.of(),
    layout.NCHW.of(),
    layout.ND.of(),
]
ELEMENTS = {
    "f16": F16,
    "f32": F32,
    "i8": I8,
    "ui8": IntegerType(8, Signedness.UNSIGNED),
    "i32": IntegerType(32),
    "i1": IntegerType(1),
}


def _tensor(shape: tuple[int, ...], element=F16, encoding=None):
    return layout.with_encoding(TensorType(element, shape), encoding)


def test_sizes_of_resnet_tensors():
    """First filter: 7 x 7 blocks x 4 x 16 x 16 fp16 = 100,352 bytes; a 3-channel image pads to 16."""
    image = _tensor((1, 3, 224, 224), encoding=layout.nc1hwc0())
    assert layout.physical_shape(image) == (1, 1, 224, 224, 16)
    assert layout.storage_bytes(image) == 224 * 224 * 16 * 2
    assert layout.padding_elements(image) == 224 * 224 * 13
    assert layout.storage_bytes(_tensor((64, 3, 7, 7), encoding=layout.fractal_z())) == 100_352
    assert layout.storage_bytes(_tensor((1, 3, 224, 224), F32)) == 602_112
    assert layout.storage_bytes(_tensor((7,), IntegerType(4))) == 4
    assert layout.storage_bytes(_tensor((7,), IntegerType(1))) == 7
    assert layout.storage_bytes(_tensor((), F32)) == 4


def test_names_and_defaults():
    assert layout.format_name(_tensor((1, 3, 8, 8))) == "ND"
    assert layout.format_name(_tensor((1, 3, 8, 8), encoding=layout.nc1hwc0())) == "NC1HWC0"
    assert layout.format_name(_tensor((8, 8), encoding=layout.fractal_z_kn())) == "FRACTAL_Z_KN"
    assert layout.with_encoding(_tensor((2, 2), encoding=layout.fractal_nz()), layout.ND.of()) == TensorType(
        F16, (2, 2)
    )
    assert layout.nc1hwc0() == layout.NC1HWC0.of(c0=16, pad="zero")
    assert str(layout.fractal_z(groups=2)) == "#layout.fractal_z<n0 = 16, c0 = 16, groups = 2, pad = zero>"
    with pytest.raises(ValueError, match=r"layout\.nc1hwc0 has no parameter n0"):
        layout.NC1HWC0.of(n0=16)


def test_padding_promises():
    undef = layout.nc1hwc0(pad="undef")
    assert layout.nc1hwc0().pads_zero
    assert not undef.pads_zero
    assert undef.with_pad("zero") == layout.nc1hwc0()
    assert layout.NHWC.of().pads_zero
    assert layout.NHWC.of().with_pad("undef") == layout.NHWC.of()


@pytest.mark.parametrize("encoding", [None, layout.ND.of(), layout.NCHW.of()])
def test_plain_formats_share_their_storage(encoding: layout.Encoding | None):
    assert layout.is_plain(_tensor((1, 3, 8, 8), encoding=encoding))
    assert not layout.is_plain(_tensor((1, 3, 8, 8), encoding=layout.NHWC.of()))


def test_unknown_sizes_have_a_shape_but_no_bytes():
    tensor = _tensor((-1, 3, 8, 8), encoding=layout.nc1hwc0())
    assert layout.physical_shape(tensor) == (-1, 1, 8, 8, 16)
    with pytest.raises(ValueError, match="not known before run time"):
        layout.storage_bytes(tensor)


def test_c0_is_the_chips_table():
    chip = load_soc("Ascend310P3")
    assert layout.c0_for(F16, chip) == layout.c0_for("f16", chip) == 16
    assert layout.c0_for(I8, chip) == 32
    assert layout.c0_for(IntegerType(8, Signedness.SIGNED), chip) == 32
    assert layout.c0_for(IntegerType(4), chip) == 64
    with pytest.raises(ValueError, match="gives no C0 for bf16"):
        layout.c0_for(BFloat16Type(), chip)


def test_foreign_encodings_are_refused():
    with pytest.raises(VerifyException, match="is no storage format"):
        layout.encoding_of(TensorType(F16, (2, 2), StringAttr("sparse")))


@settings(max_examples=150, deadline=None)
@given(
    st.tuples(st.integers(1, 9).map(lambda n: 2 * n), st.integers(1, 40), st.integers(1, 5), st.integers(1, 5)),
    st.sampled_from(ENCODINGS),
    st.sampled_from(sorted(ELEMENTS)),
    st.sampled_from(["zero", "undef"]),
)
def test_storage_loses_nothing(shape: tuple[int, int, int, int], encoding: layout.Encoding, element: str, pad: str):
    """pack is invertible in every format, dtype and odd size; zero padding is zero and undef padding is marked."""
    if encoding.FORM.name == "FRACTAL_Z_KN":
        shape = shape[:2]  # type: ignore[assignment]
    tensor = _tensor(shape, ELEMENTS[element], encoding.with_pad(pad))
    dtype = np.dtype(DType.from_mlir(element).numpy)
    array = (np.arange(math.prod(shape)) % 89 + 1).astype(dtype).reshape(shape)
    stored = layout.pack(array, tensor)
    assert stored.dtype == dtype
    assert stored.nbytes == layout.storage_bytes(tensor)
    assert stored.shape == layout.physical_shape(tensor)
    np.testing.assert_array_equal(layout.unpack(stored, tensor), array)
    if pad == "zero":
        assert np.count_nonzero(stored) == array.size


def test_undef_lanes_hold_a_mark():
    stored = layout.pack(np.ones((1, 3, 1, 1), np.float16), _tensor((1, 3, 1, 1), encoding=layout.nc1hwc0(pad="undef")))
    assert np.isnan(stored[..., 3:]).all()
    tensor = _tensor((1, 3, 1, 1), I8, layout.nc1hwc0(pad="undef"))
    assert (layout.pack(np.ones((1, 3, 1, 1), np.int8), tensor)[..., 3:] == 0x5A).all()


def test_transdata_moves_and_converts():
    """Element by element: y[n, c//16, h, w, c%16] = fp16(x[n, c, h, w]), other lanes 0; and back."""
    rng = np.random.default_rng(0)
    array = rng.standard_normal((2, 19, 3, 4)).astype(np.float32)
    source, target = _tensor(array.shape, F32), _tensor(array.shape, F16, layout.nc1hwc0())
    value = create_ssa_value(source)
    op = layout.TransDataOp(value, target)
    op.verify()
    (stored,) = op.evaluate([array])
    expected = np.zeros((2, 2, 3, 4, 16), np.float16)
    for n, c, h, w in np.ndindex(array.shape):
        expected[n, c // 16, h, w, c % 16] = array[n, c, h, w]
    np.testing.assert_array_equal(stored, expected)
    nhwc = _tensor(array.shape, F16, layout.NHWC.of())
    np.testing.assert_array_equal(
        layout.transdata(stored, target, nhwc), array.transpose(0, 2, 3, 1).astype(np.float16)
    )


def test_transdata_rounds_to_bf16():
    x = np.array([[1.0, 1 + 2.0**-9], [np.pi, -3e38]], np.float32)
    stored = layout.transdata(x, _tensor((2, 2), F32), _tensor((2, 2), BFloat16Type()))
    np.testing.assert_array_equal(stored, x.astype(ml_dtypes.bfloat16))
