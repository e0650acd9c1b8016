"""Turn operators between transposes, so that NHWC models work in NCHW and their transposes meet and vanish.

    %1 = ge.transpose %0 {perm = [0, 2, 3, 1]} : (tensor<1x16x4x4xf32>) -> tensor<1x4x4x16xf32>
    %2 = ge.concat %1, %1 {axis = 3} : ...
    %3 = ge.transpose %2 {perm = [0, 3, 1, 2]} : (tensor<1x4x4x32xf32>) -> tensor<1x32x4x4xf32>
    // becomes
    %3 = ge.concat %0, %0 {axis = 1} : ... -> tensor<1x32x4x4xf32>

Which operators turn: `orientation.py`. Each is put between transposes; those that cancel are merged at the end. A product
of channels with constant weights turns to a convolution of 1 x 1 pixels, a LayerNorm of channels to one over axis 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from graph_engine.dialects.ge.convolution import Conv2dOp
from graph_engine.dialects.ge.core import GeOp, element_of, elements_of, shape_of
from graph_engine.dialects.ge.interning import int_attr, ints_attr, tensor_type
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.normalization import LayerNormOp
from graph_engine.dialects.ge.reduction import ReduceOp
from graph_engine.dialects.ge.sampling import ResizeOp
from graph_engine.dialects.ge.shape import ConcatOp, PadOp, SliceOp, TransposeOp
from graph_engine.transforms.driver import CountedRewriter, RewriteContext, apply_patterns
from graph_engine.transforms.fusion import graphs
from graph_engine.transforms.ge_canonicalize import MergeTransposes
from graph_engine.transforms.no_ops import RemoveIdentityTranspose
from graph_engine.transforms.orientation import turned_operators
from graph_engine.transforms.pass_base import ROUNDING, GePass
from graph_engine.transforms.recipes import computed, known, reshaped


def turn(op: Operation, perm: Sequence[int], rewriter: CountedRewriter) -> None:
    """Replaces `op` by itself on operands permuted by `perm`, between transposes."""
    if isinstance(op, MatmulOp):
        new = _convolution(op, perm, rewriter)
        rewriter.replace(op, [new, TransposeOp(new.result, perm=_inverse(perm))])
        return
    operands = [_turned(value, perm, rewriter) for value in op.operands]
    shape = shape_of(op.results[0])
    result = tensor_type([shape[axis] for axis in perm], element_of(op.results[0]))
    properties = {**op.properties, **_turned_axes(op, perm)}
    new = type(op).create(operands=operands, result_types=[result], properties=properties, attributes=op.attributes)
    rewriter.replace(op, [new, TransposeOp(new.results[0], perm=_inverse(perm))])


def _inverse(perm: Sequence[int]) -> list[int]:
    return [list(perm).index(axis) for axis in range(len(perm))]


def _convolution(op: MatmulOp, perm: Sequence[int], rewriter: CountedRewriter) -> Conv2dOp:
    """The product of channels that come last as a convolution of single pixels of its operand permuted."""
    weights = known(op.b)
    assert weights is not None
    if not op.transpose_b.value.data:
        turned = tensor_type(weights.shape[::-1], weights.type.element_type)
        weights = computed("ge.transpose", [weights], turned, perm=[1, 0])
    filters = rewriter.insert(reshaped(weights, (*weights.shape, 1, 1)).op()).result
    return Conv2dOp(_turned(op.a, perm, rewriter), filters, op.bias)


def _turned(value: SSAValue, perm: Sequence[int], rewriter: CountedRewriter) -> SSAValue:
    """An operand with its axes permuted; numbers stay, constants of lower rank get leading ones first."""
    constant = known(value)
    if constant is not None and constant.elements != 1:
        aligned = reshaped(constant, (1,) * (len(perm) - len(constant.shape)) + constant.shape)
        result = tensor_type([aligned.shape[axis] for axis in perm], aligned.type.element_type)
        return rewriter.insert(computed("ge.transpose", [aligned], result, perm=list(perm)).op()).result
    if len(shape_of(value)) != len(perm) or (constant is not None and elements_of(value) == 1):
        return value
    return rewriter.insert(TransposeOp(value, perm=perm)).result


def _turned_axes(op: Operation, perm: Sequence[int]) -> dict[str, Attribute]:
    """The properties that name axes, for axes permuted by `perm`."""

    def moved(axis: int) -> int:
        return list(perm).index(axis % len(perm))

    match op:
        case ConcatOp():
            return {"axis": int_attr(moved(op.axis.value.data))}
        case PadOp():
            pads = op.ints("pads")
            return {"pads": ints_attr([pads[axis + side] for side in (0, len(perm)) for axis in perm])}
        case LayerNormOp():
            return {name: int_attr(moved(op.axes()[0])) for name in ("axis", "last_axis")}
        case SliceOp() | ReduceOp() | ResizeOp():
            assert isinstance(op, GeOp)
            return {"axes": ints_attr([moved(axis) for axis in op.ints("axes")])}
        case _:
            return {}


@dataclass(frozen=True)
class PropagateTransposes(GePass):
    """Turns the chosen operators one by one, then merges transposes."""

    name = "propagate-transposes"

    numerics = ROUNDING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        context = RewriteContext.current()
        for block in graphs(op):
            for inner, perm in turned_operators(block).items():
                with context.rewrite("turn-axes", [inner]) as rewriter:
                    turn(inner, perm, rewriter)
        apply_patterns(op, [MergeTransposes(), RemoveIdentityTranspose()])
