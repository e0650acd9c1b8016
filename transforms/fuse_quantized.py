"""Multiply quantised numbers as integers: dequantise, convolve, quantise becomes one convolution of 8-bit numbers.

%f = ge.dequantize %x, %sx, %zx : (tensor<1x64x8x8xi8>, ...) -> tensor<1x64x8x8xf32>
%w = ge.dequantize %wq, %sw, %zw : (tensor<32x64x3x3xi8>, ...) -> tensor<32x64x3x3xf32>
%c = ge.conv2d %f, %w, %b : ...
%r = ge.relu %c : ...
%y = ge.quantize %r, %sy, %zy : ... -> tensor<1x32x6x6xi8>
// becomes
%y = ge.fused ins(%x, %wq, ...) {anchor = "ge.conv2d_integer"} { conv2d_integer, add, requantize, maximum }

The sums are exact in i32: onnxruntime does the same to such graphs, and the models were calibrated for it. The bias becomes
integer steps of sx * sw, the factor is sx * sw / sy in fp32, ReLU a maximum with the zero point. ONNX's QLinearConv arrives
in these operators and is gathered alike. Between two convolutions, what only moves 8-bit numbers works on them, and sums of
dequantised numbers that are quantised again are one kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32, i8
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.convolution import Conv2dOp
from graph_engine.dialects.ge.core import DYNAMIC, GeOp, Trait, element_of, python_value, shape_of
from graph_engine.dialects.ge.elementwise import AddOp, MaximumOp, ReluOp
from graph_engine.dialects.ge.interning import element_name, tensor_type
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.pooling import GlobalAvgPoolOp, MaxPoolOp
from graph_engine.dialects.ge.precision import FP32, precision_of, set_precision
from graph_engine.dialects.ge.quantization import (
    Conv2dIntegerOp,
    DequantizeOp,
    MatmulIntegerOp,
    QuantizedAddOp,
    QuantizeOp,
    RequantizeOp,
)
from graph_engine.dialects.ge.reduction import ReduceMeanOp
from graph_engine.dialects.ge.shape import ReshapeOp, SliceOp, TransposeOp
from graph_engine.dialects.ge.weights import FoldAttr, attribute_type, constant_attr
from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.soc.soc import Soc, load_soc
from graph_engine.transforms.driver import CountedRewriter, Pattern, RewriteContext, apply_patterns
from graph_engine.transforms.fusion import gather, graphs, single_user
from graph_engine.transforms.pass_base import APPROXIMATE, GePass
from graph_engine.transforms.recipes import Known, computed, known, reshaped

Roots = tuple[type[Operation], ...]
Array = np.ndarray[Any, Any]

EIGHT_BITS = ("i8", "ui8")
MOVES = (MaxPoolOp, ReshapeOp, TransposeOp, SliceOp)
"""Operators that give elements of their operand, in an order that quantisation keeps."""
MOST_OPERATORS, MOST_INPUTS = 12, 4


@dataclass(frozen=True)
class Quantised:
    """Numbers of 8 bits and what they stand for: (q - zero) * scale, one scale or one along an axis."""

    q: SSAValue | Known
    scale: Array
    zero: Array
    axis: int


def dequantised(value: SSAValue | None) -> Quantised | None:
    """Where a float tensor comes from, if it is 8-bit numbers dequantised with constants, be it folded into a recipe."""
    owner = None if value is None else value.owner
    try:
        if isinstance(owner, DequantizeOp):
            scale, zero = known(owner.scale), known(owner.zero_point)
            if scale is None or zero is None or owner.block.value.data or element_of(owner.result) != f32:
                return None
            if element_name(element_of(owner.x)) not in EIGHT_BITS:
                return None
            return Quantised(known(owner.x) or owner.x, scale.numbers(), zero.numbers(), owner.axis.value.data)
        if (
            isinstance(owner, ConstantOp)
            and isinstance(owner.value, FoldAttr)
            and owner.value.op.data == "ge.dequantize"
        ):
            q, scale, zero = (Known(attribute, attribute_type(attribute)) for attribute in owner.value.operands)
            keywords: dict[str, Any] = python_value(owner.value.attributes)
            if keywords.get("block") or element_name(q.type.element_type) not in EIGHT_BITS:
                return None
            return Quantised(q, scale.numbers(), zero.numbers(), int(keywords["axis"]))
    except GraphEngineError:  # a store that is not there
        pass
    return None


def _one(op: QuantizeOp | DequantizeOp) -> tuple[float, int, Attribute] | None:
    """Scale, zero point and type of a quantisation by single constants."""
    scale, zero = known(op.scale), known(op.zero_point)
    if scale is None or zero is None or scale.elements != 1 or zero.elements != 1:
        return None
    if element_name(zero.type.element_type) not in EIGHT_BITS or scale.type.element_type != f32:
        return None
    return float(scale.numbers().reshape(())), int(zero.numbers().reshape(())), zero.type.element_type


class QuantiseOnce(Pattern):
    """quantize(relu(dequantize(quantize(x)))), all by the same numbers -> quantize(relu(x)): both round the same number."""

    name = "quantise-once"
    root: ClassVar[Roots] = (QuantizeOp,)

    def rewrite(self, op: QuantizeOp, rewriter: CountedRewriter) -> bool:
        relu = op.x.owner
        outer = relu.x.owner if isinstance(relu, ReluOp) else None
        inner = outer.x.owner if isinstance(outer, DequantizeOp) else None
        if not isinstance(relu, ReluOp) or not isinstance(outer, DequantizeOp) or not isinstance(inner, QuantizeOp):
            return False
        alone = single_user(op.x) is op and single_user(relu.x) is relu and single_user(outer.x) is outer
        if not alone or _one(op) is None or not _one(op) == _one(outer) == _one(inner) or element_of(inner.x) != f32:
            return False
        again = ReluOp(inner.x)
        rewriter.sources(inner, outer, relu)
        rewriter.replace(op, [again, QuantizeOp(again.result, op.scale, op.zero_point, result_type=op.result.type)])
        return True


class MoveQuantised(Pattern):
    """quantize(move(dequantize(q))) by the same numbers -> move(q): pools of maxima and what changes places alone."""

    name = "move-quantised"
    root: ClassVar[Roots] = (QuantizeOp,)

    def rewrite(self, op: QuantizeOp, rewriter: CountedRewriter) -> bool:
        move = op.x.owner
        back = move.operands[0].owner if isinstance(move, MOVES) else None
        if not isinstance(move, MOVES) or not isinstance(back, DequantizeOp) or single_user(op.x) is not op:
            return False
        if _one(op) is None or _one(op) != _one(back):
            return False
        rewriter.sources(move)
        rewriter.replace(
            op, type(move).create(operands=[back.x], result_types=op.result_types, properties=dict(move.properties))
        )
        return True


class IntegerConvolution(Pattern):
    """quantize(relu(conv2d(dequantize(x), dequantize(w), b))) -> maximum(requantize(conv2d_integer(x, w) + b)).

    A matrix product of rows by a constant matrix is one, every row an image of one pixel.
    """

    name = "integer-convolution"
    root: ClassVar[Roots] = (QuantizeOp,)

    def __init__(self, kinds: Sequence[str]):
        self.kinds = kinds
        """Element types of x that the chip multiplies."""

    def rewrite(self, op: QuantizeOp, rewriter: CountedRewriter) -> bool:
        product, relu = op.x.owner, None
        if isinstance(product, ReluOp):
            product, relu = product.x.owner, product
        if not isinstance(product, Conv2dOp | MatmulOp) or (y := _one(op)) is None or single_user(op.x) is not op:
            return False
        if relu is not None and single_user(relu.x) is not relu:
            return False
        factors = _factors(product)
        if factors is None:
            return False
        x, w, bias = factors
        assert isinstance(x.q, SSAValue) and isinstance(w.q, Known)
        if element_name(element_of(x.q)) not in self.kinds:
            return False
        scales = x.scale.astype(np.float32).reshape(()) * w.scale.astype(np.float32).reshape(-1)
        outputs = w.q.shape[0]
        made: list[Operation] = []

        def constant(array: Array, name: str) -> SSAValue:
            made.append(_constant(array, name))
            return made[-1].results[0]

        def put(new: GeOp) -> SSAValue:
            made.append(new)
            return new.result

        shape = shape_of(product.result)
        images = x.q if isinstance(product, Conv2dOp) else put(ReshapeOp(x.q, shape=(*shape_of(x.q), 1, 1)))
        made.append(w.q.op())
        filters = made[-1].results[0]
        zeros = (np.asarray(z).reshape(()).astype(t) for z, t in ((x.zero, x.zero.dtype), (0, np.int8)))
        x_zero, w_zero = (constant(zero, "zero_point") for zero in zeros)
        names = ("strides", "pads", "dilations", "group") if isinstance(product, Conv2dOp) else ()
        window = {name: product.attribute_values()[name] for name in names}
        sums = put(Conv2dIntegerOp(images, filters, x_zero, w_zero, **window))
        if bias is not None:
            steps = np.rint(np.broadcast_to(bias.reshape(-1).astype(float), (outputs,)) / scales.astype(float))
            sums = put(AddOp(sums, constant(steps.astype(np.int32).reshape(1, -1, 1, 1), "bias")))
        factor = np.broadcast_to(scales / np.float32(y[0]), (outputs,)).reshape(1, -1, 1, 1)
        result = put(RequantizeOp(sums, constant(np.ascontiguousarray(factor), "factor"), op.zero_point))
        if relu is not None:
            result = put(MaximumOp(result, op.zero_point))
        if isinstance(product, MatmulOp):
            put(ReshapeOp(result, shape=shape))
        rewriter.sources(product)
        rewriter.replace(op, made)
        return True


def _factors(product: Conv2dOp | MatmulOp) -> tuple[Quantised, Quantised, Array | None] | None:
    """Image, filter [O, C, kh, kw] of signed numbers around 0 and float bias, where all but the image are constants."""
    conv = isinstance(product, Conv2dOp)
    x, w = dequantised(product.x if conv else product.a), dequantised(product.w if conv else product.b)
    b = product.b if conv else product.bias
    if x is None or w is None or not isinstance(x.q, SSAValue) or not isinstance(w.q, Known) or x.scale.size != 1:
        return None
    bias = known(b)
    if (b is not None and bias is None) or DYNAMIC in shape_of(product.result):
        return None
    if not conv and (product.transpose_a.value.data or len(shape_of(product.a)) != 2 or len(w.q.shape) != 2):
        return None
    outputs = 0 if conv or product.transpose_b.value.data else 1
    if w.scale.size != 1 and w.axis % len(w.q.shape) != outputs:
        return None
    q = w.q
    if outputs:
        q = computed("ge.transpose", [q], tensor_type(q.shape[::-1], q.type.element_type), perm=[1, 0])
    if not conv:
        q = reshaped(q, (*q.shape, 1, 1))
    signed = around_zero(q, w.zero)
    if signed is None:
        return None
    try:
        numbers = None if bias is None else bias.numbers()
    except GraphEngineError:
        return None
    if numbers is not None and numbers.size not in (1, q.shape[0]):
        return None
    return x, Quantised(signed, w.scale, np.zeros(()), 0), numbers


class WeightsAroundZero(Pattern):
    """conv2d_integer with weights of any zero point -> with signed weights around 0, where they fit 8 bits."""

    name = "weights-around-zero"
    root: ClassVar[Roots] = (Conv2dIntegerOp,)

    def rewrite(self, op: Conv2dIntegerOp, rewriter: CountedRewriter) -> bool:
        w, zero = known(op.w), known(op.w_zero)
        if w is None or zero is None:
            return False
        try:
            point = zero.numbers()
        except GraphEngineError:
            return False
        if w.type.element_type == i8 and not point.any():
            return False
        signed = around_zero(w, point)
        if signed is None:
            return False
        filters, none = signed.op(), _constant(np.zeros((), np.int8), "zero_point")
        operands = [op.x, filters.result, op.x_zero, none.result]
        new = Conv2dIntegerOp.create(operands=operands, result_types=op.result_types, properties=dict(op.properties))
        rewriter.replace(op, [filters, none, new])
        return True


class RowsAsImages(Pattern):
    """requantize(matmul_integer(x, w) + b), w and b constants -> requantize(conv2d_integer(x, w) + b), rows as pixels."""

    name = "rows-as-images"
    root: ClassVar[Roots] = (RequantizeOp,)

    def rewrite(self, op: RequantizeOp, rewriter: CountedRewriter) -> bool:
        value, bias = op.x, None
        if isinstance(value.owner, AddOp):
            product = next((v for v in value.owner.operands if isinstance(v.owner, MatmulIntegerOp)), None)
            if product is None or single_user(value) is not op:
                return False
            bias, value = known(value.owner.other(product)), product
            if bias is None:
                return False
        product, factor = value.owner, known(op.factor)
        if not isinstance(product, MatmulIntegerOp) or single_user(value) is None or factor is None:
            return False
        w, zero, x_zero = known(product.b), known(product.b_zero), known(product.a_zero)
        outputs = shape_of(value)[-1]
        if w is None or zero is None or x_zero is None or x_zero.elements != 1 or len(shape_of(product.a)) != 2:
            return False
        fits = all(c is None or c.elements in (1, outputs) for c in (bias, factor, zero))
        if not fits or len(w.shape) != 2 or DYNAMIC in shape_of(value) or known(op.zero_point) is None:
            return False
        made: list[Operation] = []

        def put(new: GeOp) -> SSAValue:
            made.append(new)
            return new.result

        turned = computed("ge.transpose", [w], tensor_type(w.shape[::-1], w.type.element_type), perm=[1, 0])
        filters = put(reshaped(turned, (*turned.shape, 1, 1)).op())
        points = put(reshaped(zero, (zero.elements, 1, 1, 1)).op()) if zero.elements > 1 else product.b_zero
        images = put(ReshapeOp(product.a, shape=(*shape_of(product.a), 1, 1)))
        sums = put(Conv2dIntegerOp(images, filters, product.a_zero, points))
        if bias is not None:
            sums = put(AddOp(sums, put(reshaped(bias, (1, bias.elements, 1, 1)).op())))
        scaled = put(RequantizeOp(sums, put(reshaped(factor, (1, factor.elements, 1, 1)).op()), op.zero_point))
        put(ReshapeOp(scaled, shape=shape_of(op.result)))
        rewriter.sources(product)
        rewriter.replace(op, made)
        return True


class PlainAddition(Pattern):
    """quantized_add(a, b) of one shape -> quantize(dequantize(a) + dequantize(b)): where a tie falls may differ by a step."""

    name = "plain-addition"
    root: ClassVar[Roots] = (QuantizedAddOp,)

    def rewrite(self, op: QuantizedAddOp, rewriter: CountedRewriter) -> bool:
        numbers = (op.a_scale, op.a_zero, op.b_scale, op.b_zero, op.y_scale, op.y_zero)
        same = shape_of(op.a) == shape_of(op.b)
        if not same or len(shape_of(op.a)) != 4 or any(known(number) is None for number in numbers):
            return False
        first, second = DequantizeOp(op.a, op.a_scale, op.a_zero), DequantizeOp(op.b, op.b_scale, op.b_zero)
        total = AddOp(first.result, second.result)
        rewriter.replace(op, [first, second, total, QuantizeOp(total.result, op.y_scale, op.y_zero)])
        return True


def _constant(array: Array, name: str) -> ConstantOp:
    return ConstantOp(constant_attr(array, name))


def around_zero(w: Known, zero: Array) -> Known | None:
    """w - zero, one zero or one an output, as signed numbers of 8 bits; None where they do not fit. Reads w if it must."""
    if w.type.element_type == i8 and not zero.any():
        return w
    try:
        moved = w.numbers().astype(np.int16) - zero.astype(np.int16).reshape(-1, 1, 1, 1)
    except GraphEngineError:
        return None
    if moved.min() < -128 or moved.max() > 127:
        return None
    return Known(constant_attr(moved.astype(np.int8), "weights around zero"), tensor_type(w.shape, i8))


def integer_region(op: Conv2dIntegerOp) -> list[Operation] | None:
    """The convolution with all that the kernel does on the way out, if its constants are such as the Cube takes."""
    w, x_zero, w_zero = known(op.w), known(op.x_zero), known(op.w_zero)
    if w is None or x_zero is None or w_zero is None or x_zero.elements != 1 or DYNAMIC in shape_of(op.result):
        return None
    members: list[Operation] = [op]
    user = single_user(op.result)
    if isinstance(user, AddOp) and _channels(user.other(op.result), user.result):
        members.append(user)
        user = single_user(user.result)
    if not isinstance(user, RequantizeOp) or known(user.zero_point) is None or not _channels(user.factor, user.result):
        return None
    if shape_of(user.zero_point) not in ((), (1,)):
        return None
    members.append(user)
    after = single_user(user.result)
    if isinstance(after, MaximumOp) and after.other(user.result) is user.zero_point:
        members.append(after)
    return members


def _channels(value: SSAValue, result: SSAValue) -> bool:
    """Whether a value is a constant number or one number a channel."""
    shape, constant = shape_of(value), known(value)
    return constant is not None and (constant.elements == 1 or shape == (1, shape_of(result)[1], 1, 1))


def arithmetic_region(op: QuantizeOp) -> list[Operation] | None:
    """Elementwise operators over dequantised numbers of one shape that are quantised at the end, producers first."""
    from graph_engine.transforms.formats import rides_along

    shape = shape_of(op.result)
    if _one(op) is None or element_of(op.x) != f32 or DYNAMIC in shape:
        return None
    members: dict[Operation, None] = {op: None}
    pending: list[SSAValue] = [op.x]
    inputs: set[SSAValue] = set()
    while pending:
        value = pending.pop()
        owner = value.owner
        if shape_of(value) != shape:
            return None
        if isinstance(owner, DequantizeOp) and _one(owner) is not None:
            inputs.add(owner.x)
        elif (
            isinstance(owner, GeOp)
            and rides_along(owner)
            and not owner.has(Trait.HOST)
            and single_user(value) is not None
        ):
            pending += owner.operands
        else:
            return None
        members[owner] = None
        if len(members) > MOST_OPERATORS or len(inputs) > MOST_INPUTS:
            return None
    return list(members)[::-1] if len(members) > 2 else None


def gather_regions(block: Block, context: RewriteContext) -> None:
    """Every integer convolution with what follows it, then what stands between quantised tensors. Linear."""
    for op in tuple(block.ops):
        members = None
        if isinstance(op, Conv2dIntegerOp):
            members = integer_region(op)
        if members is not None:
            with context.rewrite("gather-integer-convolution", [members[-1]]) as rewriter:
                gather(rewriter, members, op)
    for op in tuple(block.ops):
        members = arithmetic_region(op) if isinstance(op, QuantizeOp) else None
        if members is None:
            continue
        with context.rewrite("gather-quantised-arithmetic", [op]) as rewriter:
            gather(rewriter, _ordered(members), op)


class MeanOfPixels(Pattern):
    """quantize(global_avg_pool(dequantize(x))) -> with a reduction in between, which needs no blocks of channels."""

    name = "mean-of-pixels"
    root: ClassVar[Roots] = (GlobalAvgPoolOp,)

    def rewrite(self, op: GlobalAvgPoolOp, rewriter: CountedRewriter) -> bool:
        shape = shape_of(op.x)
        quantised = isinstance(op.x.owner, DequantizeOp) and isinstance(single_user(op.result), QuantizeOp)
        if not quantised or DYNAMIC in shape:
            return False
        rewriter.replace(op, ReduceMeanOp(op.x, axes=list(range(2, len(shape))), keepdims=True))
        return True


def keep_exact(block: Block) -> None:
    """Means between quantised tensors, and results that leave the graph, stay in fp32: fp16 would move them by a step."""
    for op in block.ops:
        if not isinstance(op, DequantizeOp) or element_of(op.result) != f32 or precision_of(op) is not None:
            continue
        users = {use.operation for use in op.result.uses}
        mean = next(iter(users)) if len(users) == 1 else None
        if users and all(isinstance(user, ReturnOp) for user in users):
            set_precision(op, FP32)
        elif isinstance(mean, ReduceMeanOp) and isinstance(single_user(mean.result), QuantizeOp):
            set_precision(op, FP32)
            set_precision(mean, FP32)


def _ordered(members: Sequence[Operation]) -> list[Operation]:
    """Members in dataflow order."""
    left, order = list(members), []
    chosen = set(left)
    while left:
        for op in left:
            if all(
                not isinstance(v.owner, Operation) or v.owner not in chosen or v.owner in order for v in op.operands
            ):
                order.append(op)
                left.remove(op)
                break
    return order


def multiplied_types(soc: Soc) -> list[str]:
    """The 8-bit types that the chip's kernel of integers takes; for others floats on the Cube are faster than the host."""
    if not all(soc.supports("conv", kinds) for kinds in ("i32 -> f32", "f32 -> i32")):
        return []  # nothing makes 8 bits of the sums
    return [kind for kind in EIGHT_BITS if soc.supports_mmad(kind, "i8", "i32")]


@dataclass(frozen=True)
class FuseQuantized(GePass):
    """Fewer quantisations first, integer convolutions of what is left, then a walk that gathers each kernel."""

    name = "fuse-quantized"
    numerics = APPROXIMATE(0.01)

    soc: str = field(default="Ascend310P3", metadata={"help": "chip that multiplies the integers, or does not"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [QuantiseOnce(), MoveQuantised(), MeanOfPixels()])
        patterns: list[Pattern] = [RowsAsImages(), WeightsAroundZero(), PlainAddition()]
        patterns.append(IntegerConvolution(multiplied_types(load_soc(self.soc))))
        apply_patterns(op, patterns)
        context = RewriteContext.current()
        for block in graphs(op):
            gather_regions(block, context)
            keep_exact(block)
