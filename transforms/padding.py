"""What padding lanes hold: the part of a format that operators change, and that sums over padding ask for.

A promise is `zero`, `finite` (zero times it is zero) or `undef`; each promises the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf, isfinite
from typing import cast

from xdsl.dialects.builtin import i1
from xdsl.ir import BlockArgument, SSAValue

from graph_engine.dialects.ge.channels import DepthToSpaceOp
from graph_engine.dialects.ge.core import DYNAMIC, GeOp, element_of, shape_of
from graph_engine.dialects.ge.elementwise import ClipOp, DivOp, MaximumOp, MinimumOp, MulOp
from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.dialects.ge.interning import element_name
from graph_engine.dialects.ge.logic import SelectOp
from graph_engine.dialects.ge.sampling import ResizeOp
from graph_engine.dialects.ge.shape import ConcatOp, PadOp, SliceOp
from graph_engine.dialects.ge.upsampling import repetitions
from graph_engine.dialects.layout import Encoding, Pad
from graph_engine.transforms.recipes import Known, known
from graph_engine.transforms.stored_values import Format

FINITE_AT_ZERO = frozenset(
    f"ge.{name}" for name in ("sigmoid", "hard_sigmoid", "exp", "cos", "softplus", "add", "sub", "maximum", "minimum")
)
"""Operators that make finite numbers of zeros."""
FINITE_AT_FINITE = frozenset(
    f"ge.{name}" for name in ("sigmoid", "hard_sigmoid", "tanh", "relu", "abs", "neg", "maximum", "minimum")
)
"""Operators that cannot leave the finite numbers."""
FINITE_IF_SATURATING = frozenset({"ge.add", "ge.sub", "ge.mul"})
"""Operators that leave them by overflow alone."""


@dataclass
class Looks:
    """How often a rule looked beyond the form of an operator: what it found holds for that operator alone."""

    count: int = 0


LOOKS = Looks()


def constant_of(value: SSAValue) -> Known | None:
    """The constant that a value is, inside a `ge.fused` as well."""
    LOOKS.count += 1
    if isinstance(value, BlockArgument) and isinstance(fused := value.owner.parent_op(), FusedOp):
        value = fused.inputs[value.index]
    return known(value)


def is_finite(value: SSAValue) -> bool:
    """Whether a value is a constant, a number or a vector, without infinities and nan."""
    constant = constant_of(value)
    if constant is None or constant.elements != max(constant.shape, default=1):
        return False
    smallest, largest = _range(constant)
    return isfinite(smallest) and isfinite(largest)


def is_nonzero_number(value: SSAValue) -> bool:
    """Whether a value is one constant number other than zero."""
    constant = constant_of(value)
    return constant is not None and constant.elements == 1 and _range(constant)[0] != 0


@lru_cache(maxsize=4096)
def _range(constant: Known) -> tuple[float, float]:
    """The smallest and the largest number; nan if one is."""
    numbers = constant.numbers()
    return float(numbers.min()), float(numbers.max())


def all_zero(formats: Sequence[Format]) -> bool:
    """Whether no format has padding lanes that may hold anything else."""
    return all(format is None or format.pads_zero for format in formats)


def keep(given: Format, wanted: Encoding, *, strict: bool = False, least: Pad = Pad.undef) -> Encoding:
    """`given` if it is the wanted format with at least the promise `least` on padding (`strict`: zeros are summed over)."""
    least = Pad.zero if strict else least
    if given is not None and given.with_pad("zero") == wanted and given.promises(least):
        return given
    return wanted


def moved_padding(op: GeOp, operands: Sequence[Encoding], c0: int) -> Pad | None:
    """What a movement of feature maps leaves in the padding lanes; None for one that has no NC1HWC0 kernel.

    Lanes that stay in their places are copied with the padding; channels that change lanes get zeros behind them.
    """
    if any(DYNAMIC in shape_of(value) or 0 in shape_of(value) for value in (*op.operands, *op.results)):
        return None
    copied = max((format.pad_lanes for format in operands), key=list(Pad).index)
    match op:
        case ConcatOp() if op.axis.value.data % 4 == 1:
            last = shape_of(op.result)[1] - shape_of(op.xs[-1])[1]
            return operands[-1].pad_lanes if last % c0 == 0 else Pad.zero
        case ConcatOp():
            return copied
        case SliceOp():
            pad = copied
            for axis, begin, end, step in zip(*map(op.ints, ("axes", "starts", "ends", "steps")), strict=True):
                channels = shape_of(op.x)[1]
                taken = range(*slice(begin, end, step).indices(channels))
                if step < 1 or (axis % 4 == 1 and step != 1):
                    return None
                if axis % 4 == 1 and (taken.start % c0 or taken.stop != channels):
                    pad = Pad.zero
            return pad
        case PadOp():
            pads, value = op.ints("pads"), op.value.value.data
            if pads[1] or pads[5] or min(pads) < 0:
                return None
            return copied if value == 0 else Pad.undef
        case DepthToSpaceOp():
            return copied if op.mode.data == "DCR" else None
        case ResizeOp():
            times = repetitions(op)
            return copied if times is not None and times[:2] == (1, 1) else None
        case _:
            return None


def elementwise_padding(op: GeOp, operands: Sequence[Format], saturating: bool) -> str:
    """What an elementwise operator leaves in the padding lanes.

    An operand without a format is one number, or one a column: finite if it is a constant that is.
    """
    if isinstance(op, SelectOp):
        return max((_side(*side) for side in zip((op.x, op.y), operands[1:], strict=True)), key=list(Pad).index)
    if element_of(op.result) == i1:
        return "finite"
    stored = [format for format in operands if format is not None]
    some = len(stored) < len(operands)
    zero, finite = all_zero(stored), finite_operands(op, operands)
    if op.keeps_zero_pad() and zero and (not some or isinstance(op, MulOp)):
        return "zero"
    if isinstance(op, DivOp) and zero and operands[1] is None and finite and is_nonzero_number(op.rhs):
        return "zero"
    if not finite:
        return "undef"
    if (
        isinstance(op, MaximumOp | MinimumOp)
        and zero
        and all(_leaves_zero(op, value) for value, format in zip(op.operands, operands, strict=True) if format is None)
    ):
        return "zero"
    if isinstance(op, MulOp) and op.keeps_zero_pad() and any(format.pads_zero for format in stored):
        return "zero"
    if op.name in FINITE_AT_FINITE or (zero and op.name in FINITE_AT_ZERO):
        return "finite"
    if isinstance(op, ClipOp):
        return "finite" if op.min.value.data < inf and op.max.value.data > -inf else "undef"
    return "finite" if op.name in FINITE_IF_SATURATING and stays_finite(op, stored, saturating) else "undef"


def _side(value: SSAValue, format: Format) -> Pad:
    """What one of two sides offers to padding lanes that choose among them."""
    if format is not None:
        return format.pad_lanes
    if not is_finite(value):
        return Pad.undef
    return Pad.zero if _range(cast(Known, constant_of(value))) == (0, 0) else Pad.finite


def _leaves_zero(op: MaximumOp | MinimumOp, value: SSAValue) -> bool:
    """Whether zero beside the numbers of a constant gives zero."""
    smallest, largest = _range(cast(Known, constant_of(value)))
    return largest <= 0 if isinstance(op, MaximumOp) else smallest >= 0


def finite_operands(op: GeOp, operands: Sequence[Format]) -> bool:
    """Whether an operator reads finite numbers alone, in the padding lanes and of constants without a format."""
    return all(
        is_finite(value) if format is None else format.promises(Pad.finite)
        for value, format in zip(op.operands, operands, strict=True)
    )


def stays_finite(op: GeOp, operands: Sequence[Encoding], saturating: bool) -> bool:
    """Whether sums and products over padding are finite: of zeros, or of finite fp16 numbers that saturate."""
    saturating = saturating and element_name(element_of(op.result)) == "f16"
    return all(format.promises(Pad.finite if saturating else Pad.zero) for format in operands)
