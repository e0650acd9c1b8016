"""How tensors are stored: encodings of tensor types, and the one operator that changes them.

A tensor keeps its logical shape; its encoding names the storage format, the inner sizes and what the padding
lanes hold: `tensor<1x64x56x56xf16, #layout.nc1hwc0<c0 = 16, pad = zero>>`. No encoding means ND: row-major,
contiguous. The maps are in `planning.index_map`, the encodings in `dialects.encodings`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import FixedBitwidthType, IntegerType, NoneAttr, Signedness, TensorType
from xdsl.ir import Attribute, Dialect, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from graph_engine.dialects.encodings import (
    HWCN,
    NC1HWC0,
    NC1HWC0C04,
    NCHW,
    ND,
    NDC1HWC0,
    NHWC,
    Declared,
    Encoding,
    FractalNZ,
    FractalZ,
    FractalZ3D,
    FractalZC04,
    FractalZKN,
    Pad,
    PadAttr,
)
from graph_engine.dialects.ge.interning import NO_ENCODING, once_a_type, shape_of_type, tensor_type
from graph_engine.dialects.operator_class import Operator
from graph_engine.dialects.traits import VerifiedByForm

if TYPE_CHECKING:
    from graph_engine.planning.index_map import Array
    from graph_engine.target_ascend.soc.soc import Soc


_PLAIN = ND.of()


@cache
def nc1hwc0(c0: int = 16, pad: str = "zero") -> Encoding:
    """`#layout.nc1hwc0<c0, pad>`."""
    return NC1HWC0.of(c0=c0, pad=pad)


@cache
def nc1hwc0_c04(pad: str = "zero") -> Encoding:
    """`#layout.nc1hwc0_c04<pad>`: four channels a pixel."""
    return NC1HWC0C04.of(pad=pad)


@cache
def ndc1hwc0(c0: int = 16, pad: str = "zero") -> Encoding:
    """`#layout.ndc1hwc0<c0, pad>`."""
    return NDC1HWC0.of(c0=c0, pad=pad)


@cache
def fractal_z(n0: int = 16, c0: int = 16, groups: int = 1, pad: str = "zero") -> Encoding:
    """`#layout.fractal_z<n0, c0, groups, pad>`."""
    return FractalZ.of(n0=n0, c0=c0, groups=groups, pad=pad)


@cache
def fractal_z_c04(n0: int = 16, c0: int = 16, pad: str = "zero") -> Encoding:
    """`#layout.fractal_z_c04<n0, c0, pad>`."""
    return FractalZC04.of(n0=n0, c0=c0, pad=pad)


@cache
def fractal_z_3d(n0: int = 16, c0: int = 16, groups: int = 1, pad: str = "zero") -> Encoding:
    """`#layout.fractal_z_3d<n0, c0, groups, pad>`."""
    return FractalZ3D.of(n0=n0, c0=c0, groups=groups, pad=pad)


@cache
def fractal_z_kn(n0: int = 16, c0: int = 16, pad: str = "zero") -> Encoding:
    """`#layout.fractal_z_kn<n0, c0, pad>`."""
    return FractalZKN.of(n0=n0, c0=c0, pad=pad)


@cache
def fractal_nz(c0: int = 16, pad: str = "zero") -> Encoding:
    """`#layout.fractal_nz<c0, pad>`."""
    return FractalNZ.of(c0=c0, pad=pad)


@once_a_type
def encoding_of(tensor: Attribute) -> Encoding:
    """The encoding of a tensor type; ND where it has none. Raises VerifyException for a foreign encoding."""
    encoding = cast("TensorType[Any]", tensor).encoding if type(tensor) is TensorType else NO_ENCODING
    if encoding is NO_ENCODING or isinstance(encoding, NoneAttr):
        return _PLAIN
    if not isinstance(encoding, Encoding):
        raise VerifyException(f"{encoding} is no storage format")
    return encoding


@once_a_type
def is_plain(tensor: Attribute) -> bool:
    """Whether the tensor is stored row-major without padding, whatever the name of its format."""
    encoding = encoding_of(tensor)
    return encoding is _PLAIN or encoding.form.patterns == _PLAIN.form.patterns


def format_name(tensor: Attribute) -> str:
    """Name of the storage format: a key of `FORMATS` (GE's where GE has it), "NC1HWC0"; or a declaration, "n c -> c n"."""
    return encoding_of(tensor).form.name


def with_encoding(tensor: TensorType[Any], encoding: Encoding | None) -> TensorType[Any]:
    """The tensor type with another encoding; None and ND give the bare type."""
    stored = NO_ENCODING if encoding is None or isinstance(encoding, ND) else encoding
    return tensor_type(shape_of_type(tensor), tensor.element_type, stored)


def physical_shape(tensor: TensorType[Any]) -> tuple[int, ...]:
    """Stored shape; -1 where a size is not known. Raises ValueError where the shape does not fit the format."""
    return encoding_of(tensor).map.physical_shape(shape_of_type(tensor))


def element_bits(element: Attribute) -> int:
    """Stored bits of one element: i1 takes a byte, int4 packs two to a byte."""
    if not isinstance(element, FixedBitwidthType):
        raise ValueError(f"elements of type {element} have no fixed size")
    return max(element.bitwidth, 8) if element.bitwidth != 4 else 4


def storage_bytes(tensor: TensorType[Any]) -> int:
    """Bytes of the stored tensor, padding included. Raises ValueError where a size is not known."""
    shape = physical_shape(tensor)
    if -1 in shape:
        raise ValueError(f"the size of {tensor} is not known before run time")
    return -(-math.prod(shape) * element_bits(tensor.element_type) // 8)


def padding_elements(tensor: TensorType[Any]) -> int:
    """Stored elements that hold no logical one."""
    return encoding_of(tensor).map.padding(shape_of_type(tensor))


def element_name(element: Attribute) -> str:
    """MLIR's spelling of an element type, as chip descriptions use it: "f16", "i8", "ui8"."""
    if isinstance(element, IntegerType) and element.signedness.data is Signedness.SIGNED:
        return f"i{element.bitwidth}"
    return str(element)


def c0_for(element: Attribute | str, soc: Soc) -> int:
    """C0 of an element type on a chip. Raises ValueError where the chip's table has none."""
    name = element if isinstance(element, str) else element_name(element)
    if name not in soc.c0:
        raise ValueError(f"{soc.name} gives no C0 for {name}")
    return soc.c0[name]


def fill_value(tensor: TensorType[Any]) -> Any:
    """What padding lanes are filled with: 0, for `pad = finite` 0.5, for `pad = undef` NaN, so that a leak shows.

    Integers that are not zero are 0x5A bytes.
    """
    if encoding_of(tensor).pads_zero:
        return 0
    if isinstance(tensor.element_type, IntegerType):
        largest = (1 << max(1, tensor.element_type.bitwidth - 1)) - 1
        return 0x5A5A5A5A5A5A5A5A & largest or 1
    return 0.5 if encoding_of(tensor).promises(Pad.finite) else math.nan


def pack(array: Array, tensor: TensorType[Any]) -> Array:
    """The logical array as stored by `tensor` (contiguous, physical shape)."""
    return encoding_of(tensor).map.pack(array, fill_value(tensor))


def unpack(physical: Array, tensor: TensorType[Any]) -> Array:
    """The logical array of a stored one."""
    return encoding_of(tensor).map.unpack(physical, shape_of_type(tensor))


def transdata(stored: Array, source: TensorType[Any], target: TensorType[Any]) -> Array:
    """Reference of `layout.transdata`: unpack, convert (to nearest even), pack."""
    from graph_engine.dialects.ge.reference.element_types import convert

    logical = unpack(stored, source)
    if source.element_type != target.element_type:
        logical = convert(logical, element_name(target.element_type))
    return pack(logical, target)


@irdl_op_definition
class TransDataOp(Operator):
    """Stores the same logical tensor in another format; the only operator that changes an encoding.

    `%y = layout.transdata %x : tensor<...> -> tensor<..., #layout.nc1hwc0<...>>`. Logical shapes are equal; the
    element type may change as well (one task does both), to nearest even. CANN's TransData.
    """

    name = "layout.transdata"
    x = operand_def(TensorType)
    y = result_def(TensorType)
    traits = traits_def(Pure(), VerifiedByForm())
    assembly_format = "$x attr-dict `:` type($x) `->` type($y)"

    def __init__(self, x: SSAValue, result_type: TensorType[Any]):
        self.fill([x], result_types=[result_type])

    def verify_(self) -> None:
        source, target = cast("TensorType[Any]", self.x.type), cast("TensorType[Any]", self.y.type)
        if source.get_shape() != target.get_shape():
            raise VerifyException(f"layout.transdata keeps the logical shape, found {source} -> {target}")
        for tensor in (source, target):
            try:
                physical_shape(tensor)
            except ValueError as error:
                raise VerifyException(f"layout.transdata: {tensor}: {error}") from None

    def evaluate(self, inputs: Sequence[Array]) -> list[Array]:
        """Stored input to stored output."""
        return [transdata(inputs[0], cast("TensorType[Any]", self.x.type), cast("TensorType[Any]", self.y.type))]


def groups_of(op: TransDataOp) -> int:
    """The groups of the convolution whose filter is stored or read, 1 for every other tensor."""
    encodings = [encoding_of(cast("TensorType[Any]", value.type)) for value in (op.x, op.y)]
    grouped = [encoding for encoding in encodings if isinstance(encoding, FractalZ | FractalZ3D)]
    return max((encoding.groups.data for encoding in grouped), default=1)


LAYOUT = Dialect(
    "layout",
    [TransDataOp],
    [
        PadAttr,
        ND,
        NCHW,
        NHWC,
        HWCN,
        NC1HWC0,
        NC1HWC0C04,
        NDC1HWC0,
        FractalZ,
        FractalZC04,
        FractalZ3D,
        FractalZKN,
        FractalNZ,
        Declared,
    ],
)
