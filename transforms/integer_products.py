"""Products of quantised numbers as `conv2d_integer` with constant filters of signed numbers, and a requantisation.

QDQ models arrive as products of dequantised numbers that are quantised again, QLinear models as integer products of any
zero points; a product of rows is a convolution of images of one pixel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import i8
from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.convolution import Conv2dOp
from graph_engine.dialects.ge.core import DYNAMIC, GeOp, element_of, shape_of
from graph_engine.dialects.ge.elementwise import AddOp, MaximumOp, ReluOp
from graph_engine.dialects.ge.interning import element_name, tensor_type
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.quantization import Conv2dIntegerOp, MatmulIntegerOp, QuantizeOp, RequantizeOp
from graph_engine.dialects.ge.shape import ReshapeOp
from graph_engine.errors import GraphEngineError
from graph_engine.transforms.driver import CountedRewriter, Pattern
from graph_engine.transforms.fusion import single_user
from graph_engine.transforms.quantised_values import Quantised, around_zero, constant, dequantised, quantisation
from graph_engine.transforms.recipes import Known, computed, known, reshaped

Roots = tuple[type[Operation], ...]
Array = np.ndarray[Any, Any]


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
        if (
            not isinstance(product, Conv2dOp | MatmulOp)
            or (y := quantisation(op)) is None
            or single_user(op.x) is not op
        ):
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

        def put(new: GeOp) -> SSAValue:
            made.append(new)
            return new.result

        shape = shape_of(product.result)
        images = x.q if isinstance(product, Conv2dOp) else put(ReshapeOp(x.q, shape=(*shape_of(x.q), 1, 1)))
        made.append(w.q.op())
        filters = made[-1].results[0]
        zeros = (np.asarray(z).reshape(()).astype(t) for z, t in ((x.zero, x.zero.dtype), (0, np.int8)))
        x_zero, w_zero = (put(constant(zero, "zero_point")) for zero in zeros)
        names = ("strides", "pads", "dilations", "group") if isinstance(product, Conv2dOp) else ()
        window = {name: product.attribute_values()[name] for name in names}
        sums = put(Conv2dIntegerOp(images, filters, x_zero, w_zero, **window))
        if bias is not None:
            steps = np.rint(np.broadcast_to(bias.reshape(-1).astype(float), (outputs,)) / scales.astype(float))
            sums = put(AddOp(sums, put(constant(steps.astype(np.int32).reshape(1, -1, 1, 1), "bias"))))
        factor = np.broadcast_to(scales / np.float32(y[0]), (outputs,)).reshape(1, -1, 1, 1)
        result = put(RequantizeOp(sums, put(constant(np.ascontiguousarray(factor), "factor")), op.zero_point))
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
        filters, none = signed.op(), constant(np.zeros((), np.int8), "zero_point")
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
