"""Recognise group and instance normalisation: reshapes around another normalisation, a scale and bias per channel behind it.

    %r = ge.reshape %x {shape = [1, 32, 4096]} : (tensor<1x64x32x64xf32>) -> ...
    %n = ge.group_norm %r, %ones, %zeros {groups = 32} : ...
    %b = ge.reshape %n {shape = [1, 64, 32, 64]} : ...
    %t = ge.mul %b, %scale : ...          // [64, 1, 1]
    %y = ge.add %t, %bias : ...           // [64, 1, 1]
    // becomes
    %y = ge.group_norm %x, %scale, %bias {groups = 32} : ...

Where means are written out, `fuse-layer-norm` makes a normalisation of rows of them first.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.core import DYNAMIC, element_of, shape_of
from graph_engine.dialects.ge.elementwise import AddOp, MulOp
from graph_engine.dialects.ge.normalization import GroupNormOp, LayerNormOp
from graph_engine.dialects.ge.shape import ReshapeOp
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.fusion import single_user
from graph_engine.transforms.pass_base import ROUNDING, GePass
from graph_engine.transforms.recipes import Known, cast_to, elementwise, filled, known, per_channel, spread

Roots = tuple[type[Operation], ...]


def _number_everywhere(value: SSAValue | None) -> float | None:
    """The one number of which a constant consists; 0 of none."""
    if value is None:
        return 0.0
    constant = known(value)
    if constant is None or not constant.elements:
        return None
    numbers = constant.numbers().reshape(-1)
    return float(numbers[0]) if (numbers == numbers[0]).all() else None


def _group_norm(x: SSAValue, scale: Known, bias: Known, groups: int, epsilon: float) -> list[Operation]:
    """The operator behind its constants, which become vectors [C] in the type of x."""
    constants = [spread(cast_to(v, element_of(x)), (shape_of(x)[1],)).op() for v in (scale, bias)]
    return [*constants, GroupNormOp(x, *(c.result for c in constants), groups=groups, epsilon=epsilon)]


class FuseReshapedGroups(Pattern):
    """reshape(group_norm(reshape(x))), with the same scale and bias everywhere -> group_norm(x)."""

    name = "fuse-reshaped-groups"
    root: ClassVar[Roots] = (ReshapeOp,)

    def rewrite(self, op: ReshapeOp, rewriter: CountedRewriter) -> bool:
        norm = op.x.owner
        before = norm.x.owner if isinstance(norm, GroupNormOp) else None
        if not isinstance(norm, GroupNormOp) or not isinstance(before, ReshapeOp) or single_user(op.x) is not op:
            return False
        x, groups = before.x, norm.groups.value.data
        shape, inner = shape_of(x), shape_of(norm.x)
        if x.type != op.result.type or len(shape) < 2 or DYNAMIC in shape or shape[0] != inner[0] or shape[1] % groups:
            return False
        scale, bias = _number_everywhere(norm.scale), _number_everywhere(norm.bias)
        if scale is None or bias is None:
            return False
        rewriter.replace(op, _group_norm(x, filled(scale), filled(bias), groups, norm.epsilon.value.data))
        return True


class FuseChannelScaleIntoRows(Pattern):
    """layer_norm(x) without scale and bias, over all pixels of one or several channels, times a scale per channel -> group_norm.

    Reshapes around the layer_norm go along. The scale tells channels from other leading axes.
    """

    name = "fuse-channel-scale-into-rows"
    root: ClassVar[Roots] = (MulOp,)

    def rewrite(self, op: MulOp, rewriter: CountedRewriter) -> bool:
        return any(self.from_rows(op, value, rewriter) for value in (op.lhs, op.rhs))

    def from_rows(self, op: MulOp, value: SSAValue, rewriter: CountedRewriter) -> bool:
        after = value.owner
        if single_user(value) is not op or value.type != op.result.type:
            return False
        norm = after.x.owner if isinstance(after, ReshapeOp) else after
        if not isinstance(norm, LayerNormOp) or single_user(norm.result) is None:
            return False
        x = norm.x
        if isinstance(after, ReshapeOp):
            if not isinstance(x.owner, ReshapeOp):
                return False
            x = x.owner.x
        shape, inner = shape_of(x), shape_of(norm.x)
        if x.type != value.type or len(shape) < 3 or DYNAMIC in shape or shape[0] != inner[0]:
            return False
        axis = norm.axes()[0]
        if norm.axes()[-1] != len(inner) - 1:
            return False
        groups = prod(inner[1:axis])
        scale = per_channel(known(op.other(value)), x)
        if axis < 1 or shape[1] % groups or scale is None or scale.shape != (shape[1],):
            return False
        if _number_everywhere(norm.scale) != 1 or _number_everywhere(norm.bias) != 0:
            return False
        rewriter.replace(op, _group_norm(x, scale, filled(0.0), groups, norm.epsilon.value.data))
        return True


class FuseAffineIntoGroupNorm(Pattern):
    """group_norm(x) * scale + bias, each a number or one per channel -> group_norm with the product in its own constants."""

    name = "fuse-affine-into-group-norm"
    root: ClassVar[Roots] = (GroupNormOp,)

    def rewrite(self, op: GroupNormOp, rewriter: CountedRewriter) -> bool:
        user = single_user(op.result)
        scale, bias = known(op.scale), known(op.bias)
        if not isinstance(user, MulOp | AddOp) or user.result.type != op.result.type or scale is None or bias is None:
            return False
        other = per_channel(known(user.other(op.result)), op.result)
        if other is None:
            return False
        if isinstance(user, MulOp):
            scale, bias = elementwise("ge.mul", scale, other), elementwise("ge.mul", bias, other)
        else:
            bias = elementwise("ge.add", bias, other)
        rewriter.replace(user, _group_norm(op.x, scale, bias, op.groups.value.data, op.epsilon.value.data))
        return True


PATTERNS = (FuseReshapedGroups, FuseChannelScaleIntoRows, FuseAffineIntoGroupNorm)


@dataclass(frozen=True)
class FuseGroupNorm(GePass):
    """All patterns in one walk."""

    name = "fuse-group-norm"
    numerics = ROUNDING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [pattern() for pattern in PATTERNS])
