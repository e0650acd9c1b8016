"""ONNX's element types in `ge`."""

from __future__ import annotations

from xdsl.ir import Attribute

from graph_engine.dialects.ge.interning import element_type

# TensorProto.DataType numbers (onnx.proto), an interface fact; written out so that they can be read without onnx.
_NAMES = {
    1: "f32",
    2: "ui8",
    3: "i8",
    4: "ui16",
    5: "i16",
    6: "i32",
    7: "i64",
    9: "i1",
    10: "f16",
    11: "f64",
    12: "ui32",
    13: "ui64",
    14: "complex<f32>",
    15: "complex<f64>",
    16: "bf16",
    17: "f8E4M3FN",
    18: "f8E4M3FNUZ",
    19: "f8E5M2",
    20: "f8E5M2FNUZ",
    21: "ui4",
    22: "i4",
    23: "f4E2M1FN",
    24: "f8E8M0FNU",
    25: "ui2",
    26: "i2",
    27: "f6E2M3FN",
    28: "f6E3M2FN",
}


def element_of_onnx(data_type: int) -> Attribute | None:
    """The element type for a TensorProto data type, None for one that `ge` lacks (strings)."""
    name = _NAMES.get(data_type)
    return None if name is None else element_type(name)
