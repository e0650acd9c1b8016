"""Fold BatchNorm and per-channel scales into convolutions, then fuse ReLU, residual Add and their kind behind the Cube.

    %1 = ge.conv2d %x, %w : ...
    %2 = ge.batch_norm %1, %scale, %bias, %mean, %var : ...
    %3 = ge.add %2, %shortcut : ...
    %4 = ge.relu %3 : ...
    // becomes
    %4 = ge.fused ins(%x, %w2, %b2, %shortcut : ...) {anchor = "ge.conv2d"} { conv2d, add, relu }

with w2 = w * factor and b2 = shift per output channel as fp32 recipes: rounding comes later and once. Nothing is moved
across a value that somebody else uses or that leaves the graph. What goes along behind the convolution: `epilogue.py`; past
the spreading of a transposed convolution: `lift_over_spread.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.convolution import Conv2dOp, Conv3dOp, ConvOp
from graph_engine.dialects.ge.core import element_of
from graph_engine.dialects.ge.elementwise import AddOp, BinaryOp, MulOp
from graph_engine.dialects.ge.normalization import BatchNormOp
from graph_engine.target_ascend.soc.soc import load_soc
from graph_engine.transforms.batch_norm import affine_of
from graph_engine.transforms.driver import CountedRewriter, Pattern, RewriteContext, apply_patterns
from graph_engine.transforms.epilogue import fuse_epilogues
from graph_engine.transforms.fusion import graphs, single_user, why_not_single
from graph_engine.transforms.lift_over_spread import LiftOverSpread
from graph_engine.transforms.norm_behind_product import product_before
from graph_engine.transforms.pass_base import ROUNDING, GePass
from graph_engine.transforms.recipes import Known, cast_to, elementwise, known, per_channel, reshaped, spread
from graph_engine.transforms.remarks import Kind, missed, passed, wanted

Roots = tuple[type[Operation], ...]


class AbsorbScaleIntoBatchNorm(Pattern):
    """mul(batch_norm(x), c) and add(batch_norm(x), c) -> batch_norm(x) with other scale and bias, c per channel."""

    name = "absorb-scale-into-batch-norm"
    root: ClassVar[Roots] = (BatchNormOp,)

    def rewrite(self, op: BatchNormOp, rewriter: CountedRewriter) -> bool:
        user = single_user(op.result)
        scale, bias = known(op.scale), known(op.bias)
        if not isinstance(user, MulOp | AddOp) or scale is None or bias is None:
            return False
        constant = per_channel(known(user.other(op.result)), op.result)
        if constant is None or user.result.type != op.result.type:
            return False
        if isinstance(user, MulOp):
            scale = elementwise("ge.mul", scale, constant)
            bias = elementwise("ge.mul", bias, constant)
        else:
            bias = elementwise("ge.add", bias, constant)
        new_scale, new_bias = scale.op(), bias.op()
        new = BatchNormOp(
            op.x, new_scale, new_bias, op.mean, op.var, epsilon=op.epsilon.value.data, result_type=op.result.type
        )
        rewriter.replace(user, [new_scale, new_bias, new])
        return True


class FoldBatchNormIntoConv(Pattern):
    """batch_norm(conv2d(x, w, b)) -> conv2d(x, w * factor, b * factor + shift)."""

    name = "fold-batch-norm-into-conv"
    root: ClassVar[Roots] = (BatchNormOp,)

    def rewrite(self, op: BatchNormOp, rewriter: CountedRewriter) -> bool:
        conv = _foldable_conv(op.x, op)
        affine = affine_of(op) if conv is not None else None
        if conv is None or affine is None:
            return False
        _replace_conv(rewriter, op, conv, affine.factor, affine.shift)
        return True


class FoldScaleIntoConv(Pattern):
    """mul(conv2d(x, w, b), c) or add(conv2d(x, w, b), c), c constant per channel -> conv2d with other constants."""

    name = "fold-scale-into-conv"
    root: ClassVar[Roots] = (MulOp, AddOp)

    def rewrite(self, op: BinaryOp, rewriter: CountedRewriter) -> bool:
        for value in op.operands:
            conv = _foldable_conv(value, op)
            if conv is None or op.result.type != conv.result.type:
                continue
            constant = per_channel(known(op.other(value)), value)
            if constant is not None:
                constant = cast_to(constant, f32)
                factor, shift = (constant, None) if isinstance(op, MulOp) else (None, constant)
                _replace_conv(rewriter, op, conv, factor, shift)
                return True
        return False


def _foldable_conv(value: SSAValue, user: Operation) -> ConvOp | None:
    """The convolution with constant weights that yields `value` for `user` alone."""
    conv = value.owner
    if not isinstance(conv, ConvOp) or single_user(value) is not user or known(conv.w) is None:
        return None
    return conv if conv.b is None or known(conv.b) is not None else None


def _replace_conv(
    rewriter: CountedRewriter, op: Operation, conv: ConvOp, factor: Known | None, shift: Known | None
) -> None:
    """Puts conv2d(x, w * factor, b * factor + shift) in place of `op`; arithmetic in fp32, results in conv's types."""
    weights, bias = known(conv.w), known(conv.b)
    assert weights is not None
    element = weights.type.element_type
    outputs = weights.shape[0]
    weights, bias = cast_to(weights, f32), None if bias is None else cast_to(bias, f32)
    if factor is not None:
        weights = elementwise("ge.mul", weights, reshaped(factor, (*factor.shape, *(1 for _ in weights.shape[1:]))))
        bias = None if bias is None else elementwise("ge.mul", bias, factor)
    if shift is not None:
        bias = shift if bias is None else elementwise("ge.add", bias, shift)
    constants = [cast_to(weights, element).op()]
    if bias is not None:
        bias = spread(bias, (outputs,))  # it may be one number for all channels
        constants.append(cast_to(bias, element if conv.b is None else element_of(conv.b)).op())
    operands = [conv.x, *(constant.result for constant in constants)]
    new = type(conv).create(operands=operands, result_types=conv.result_types, properties=conv.properties)
    passed("FoldedIntoWeights", op, f"{op.name} went into the weights of {conv.name}")
    rewriter.replace(op, [*constants, new])


def why_it_stays(op: BatchNormOp) -> tuple[str, str]:
    """What keeps a BatchNorm from being folded into a convolution: (guard, reason)."""
    conv = op.x.owner
    if not isinstance(conv, ConvOp):
        return "operator", f"it reads {conv.name if isinstance(conv, Operation) else 'an input'}, no convolution"
    if single_user(op.x) is not op:
        return "single-user", f"its convolution has other readers: {why_not_single(op.x)[0]}"
    if known(conv.w) is None or (conv.b is not None and known(conv.b) is None):
        return "constant", "the weights of the convolution are not constant"
    if any(known(value) is None for value in list(op.operands)[1:]):
        return "constant", "its parameters are not constant"
    if affine_of(op) is None:
        return "variance", "a variance + epsilon is not positive, its result is not finite"
    return "switched-off", "fold-batch-norm-into-conv is switched off"


def taken_later(op: BatchNormOp) -> bool:
    """Whether `fuse-matmul-elementwise` will find that a product can take it over."""
    return product_before(op) is not None and affine_of(op) is not None


PATTERNS = (AbsorbScaleIntoBatchNorm, FoldBatchNormIntoConv, FoldScaleIntoConv)


@dataclass(frozen=True)
class FuseConvBnRelu(GePass):
    """First the constants, by patterns; then one walk that gathers the epilogues."""

    name = "fuse-conv-bn-relu"
    numerics = ROUNDING

    soc: str = field(default="Ascend310P3", metadata={"help": "chip whose instruction times say what leaves along"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        context, soc = RewriteContext.current(), load_soc(self.soc)
        apply_patterns(op, [LiftOverSpread(soc.c0["f16"]), *(pattern() for pattern in PATTERNS)])
        for block in graphs(op):
            for norm in block.ops if wanted(Kind.MISSED) else ():
                if isinstance(norm, BatchNormOp) and not taken_later(norm):
                    guard, reason = why_it_stays(norm)
                    missed("BatchNormStays", norm, f"not folded: {reason}", guard=guard)
            for kind in (Conv2dOp, Conv3dOp):
                fuse_epilogues(block, context, kind, soc)
