"""How quantised operators are stored: feature maps of 8 bits in NC1HWC0, a block of 32 channels each, filters in FRACTAL_Z.

Integers are always finite, and the filter's padding is zero: what lies behind the last channel of an input never counts.
What a kernel keeps between its operators is stored nowhere; it is written down as the result is.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import BlockArgument, Operation, SSAValue

from graph_engine.dialects.ge.core import DYNAMIC, GeOp, element_of, elements_of, shape_of
from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.dialects.ge.interning import element_name
from graph_engine.dialects.ge.pooling import MaxPoolOp
from graph_engine.dialects.ge.quantization import Conv2dIntegerOp, QuantizeOp
from graph_engine.dialects.layout import Encoding, Pad, fractal_z, nc1hwc0

EIGHT_BITS = ("i8", "ui8")


def is_quantised(op: Operation | None) -> bool:
    """Whether `op` is a kernel on feature maps of 8 bits: an integer convolution, arithmetic in between, a pool."""
    if isinstance(op, MaxPoolOp):
        return _is_map(op.result)
    return isinstance(op, FusedOp) and isinstance(op.anchor_op, Conv2dIntegerOp | QuantizeOp) and _is_map(op.results[0])


def quantised_formats(
    op: FusedOp | GeOp, given: Sequence[Encoding | None], c0: int
) -> tuple[tuple[Encoding | None, ...], Encoding] | None:
    """Formats of the operands and of the result of a kernel that `is_quantised`, in the Cube's family."""
    filters: dict[SSAValue, int] = {}
    values: Sequence[SSAValue] = op.operands
    if isinstance(op, FusedOp):
        values = op.block.args
        anchor = op.anchor_op
        if isinstance(anchor, Conv2dIntegerOp):
            filters[anchor.w] = anchor.group.value.data
    formats: list[Encoding | None] = []
    for value, format in zip(values, given, strict=True):
        if value in filters:
            formats.append(fractal_z(c0, c0, filters[value]))
        elif _is_map(value):
            wanted = nc1hwc0(c0)
            same = format is not None and format.with_pad("zero") == wanted and format.promises(Pad.finite)
            formats.append(format if same else wanted)
        elif elements_of(value) == 1 or _is_channel_vector(value, op):
            formats.append(None)
        else:
            return None
    return tuple(formats), stored_map(op.results[0], c0)


def stored_map(value: SSAValue, c0: int) -> Encoding:
    """NC1HWC0 of what a kernel on 8-bit numbers computes: it computes behind the last channel as well."""
    return nc1hwc0(c0, "zero" if shape_of(value)[1] % c0 == 0 else "finite")


def _is_map(value: SSAValue) -> bool:
    """Whether a value holds 8-bit numbers of known shape, one channel or more at several positions."""
    shape = shape_of(value)
    several = not isinstance(value, BlockArgument) or elements_of(value) > 1
    return len(shape) == 4 and DYNAMIC not in shape and element_name(element_of(value)) in EIGHT_BITS and several


def _is_channel_vector(value: SSAValue, op: Operation) -> bool:
    return shape_of(value) == (1, shape_of(op.results[0])[1], 1, 1)
