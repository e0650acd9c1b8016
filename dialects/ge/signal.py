"""Frequencies of signals. The last axis holds real numbers (extent 1) or real and imaginary parts (extent 2)."""

from __future__ import annotations

from math import log2

from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def

from graph_engine.dialects.ge.core import DYNAMIC, TENSOR, Cost, GeOp, Tensor, bytes_of, elements_of, shape_of, typed
from graph_engine.dialects.ge.interning import bool_attr, int_attr
from graph_engine.dialects.ge.properties import bool_prop, int_prop


@irdl_op_definition
class DftOp(GeOp):
    """The discrete Fourier transform along `axis` (ONNX DFT): y[k] = sum over n of x[n] exp(-2 pi i k n / `length`).

    x is cut, or filled with zeros, to `length`. `onesided`: only length // 2 + 1 frequencies. `inverse`: exp(+...) and
    1 / length; with `onesided` from such frequencies back to real numbers.
    """

    name = "ge.dft"

    x = operand_def(TENSOR)
    axis = int_prop()
    length = int_prop()
    inverse = bool_prop(False)
    onesided = bool_prop(False)

    def __init__(
        self,
        x: SSAValue | Operation,
        *,
        axis: int,
        length: int,
        inverse: bool = False,
        onesided: bool = False,
        result_type: Tensor | None = None,
    ):
        properties = {
            "axis": int_attr(axis),
            "length": int_attr(length),
            "inverse": bool_attr(inverse),
            "onesided": bool_attr(onesided),
        }
        self.init((x,), properties, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        shape, length = list(shape_of(self.x)), self.length.value.data
        axis = self.axis_in(self.axis.value.data, len(shape))
        if len(shape) < 2 or axis == len(shape) - 1 or shape[-1] not in (1, 2, DYNAMIC) or length < 1:
            raise self.fail(f"x must end in an axis of 1 or 2, length be positive (operands {self.operand_shapes()})")
        inverse, onesided = bool(self.inverse.value.data), bool(self.onesided.value.data)
        shape[axis] = length // 2 + 1 if onesided and not inverse else length
        shape[-1] = 1 if onesided and inverse else 2
        return typed(shape, self.x)

    def cost(self) -> Cost:
        steps = 1 + round(log2(self.length.value.data))
        return Cost(0, 4 * steps * elements_of(self.result), bytes_of(self.x), bytes_of(self.result))


SIGNAL = [DftOp]
