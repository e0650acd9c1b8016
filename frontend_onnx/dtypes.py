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
    16: "bf16",
}


def element_of_onnx(data_type: int) -> Attribute | None:
    """The element type for a TensorProto data type, None for one that `ge` lacks (strings, complex, 4- and 8-bit floats)."""
    name = _NAMES.get(data_type)
    return None if name is None else element_type(name)
