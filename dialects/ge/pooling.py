"""Pooling over spatial windows, per channel."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def

from graph_engine.dialects.ge.convolution import window_extent
from graph_engine.dialects.ge.core import (
    DYNAMIC,
    TENSOR,
    Cost,
    GeOp,
    Tensor,
    Trait,
    bytes_of,
    elements_of,
    shape_of,
    typed,
)
from graph_engine.dialects.ge.interning import bool_attr, ints_attr, tensor_type
from graph_engine.dialects.ge.properties import bool_prop, ints_prop

_POOL = frozenset({Trait.POOL, Trait.KEEPS_ZERO_PAD})


def pool_extent(extent: int, kernel: int, stride: int, begin: int, end: int, dilation: int, ceil_mode: bool) -> int:
    """Output extent of a pooling window (ONNX MaxPool).

    Rounding up never adds a window that would begin in the padding behind the input.
    """
    if extent == DYNAMIC or not ceil_mode:
        return window_extent(extent, kernel, stride, begin + end, dilation)
    count = -(-(extent + begin + end - dilation * (kernel - 1) - 1) // stride) + 1
    if (count - 1) * stride >= extent + begin:
        count -= 1
    return max(0, count)


class WindowPoolOp(GeOp):
    """x[N,C,...] -> [N,C,...] over `SPATIAL` axes, one number per window of `kernel` elements.

    Subclasses declare `kernel`, `strides`, `pads` = [begins, ends], `ceil_mode` in printing order.
    """

    TRAITS: ClassVar[frozenset[Trait]] = _POOL
    SPATIAL: ClassVar[int] = 2

    x = operand_def(TENSOR)

    def window(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Kernel, strides, pads, dilations, checked."""
        n = self.SPATIAL
        kernel, strides = self.require_length("kernel", n), self.require_length("strides", n)
        pads = self.require_length("pads", 2 * n)
        dilations = self.require_length("dilations", n) if "dilations" in self.properties else (1,) * n
        if min(*kernel, *strides, *dilations) < 1 or min(pads) < 0:
            raise self.fail("kernel, strides and dilations must be positive, pads not negative")
        if any(pads[i] >= dilations[i % n] * (kernel[i % n] - 1) + 1 for i in range(2 * n)):
            raise self.fail(f"pads {list(pads)} must be smaller than the kernel {list(kernel)}")
        return kernel, strides, pads, dilations

    def infer(self) -> tuple[Tensor, ...]:
        n = self.SPATIAL
        batch, channels, *spatial = self.require_rank(self.x, n + 2, "x")
        kernel, strides, pads, dilations = self.window()
        ceil_mode = self.properties["ceil_mode"] == bool_attr(True)
        extents = [
            pool_extent(spatial[i], kernel[i], strides[i], pads[i], pads[i + n], dilations[i], ceil_mode)
            for i in range(n)
        ]
        if any(e < 1 and e != DYNAMIC for e in extents):
            raise self.fail(f"the kernel {list(kernel)} does not fit into the padded input {self.operand_shapes()}")
        return typed((batch, channels, *extents), self.x)

    def cost(self) -> Cost:
        return Cost(0, elements_of(self.result) * prod(self.ints("kernel")), bytes_of(self.x), bytes_of(self.result))


@irdl_op_definition
class MaxPoolOp(WindowPoolOp):
    """The largest element of each window; padding never wins (ONNX MaxPool)."""

    name = "ge.max_pool"

    kernel = ints_prop()
    strides = ints_prop((1, 1))
    pads = ints_prop((0, 0, 0, 0))
    dilations = ints_prop((1, 1))
    ceil_mode = bool_prop(False)

    def __init__(
        self,
        x: SSAValue | Operation,
        *,
        kernel: Sequence[int],
        strides: Sequence[int] = (1, 1),
        pads: Sequence[int] = (0, 0, 0, 0),
        dilations: Sequence[int] = (1, 1),
        ceil_mode: bool = False,
        result_type: Tensor | None = None,
    ):
        properties: dict[str, Attribute] = {
            "kernel": ints_attr(kernel),
            "strides": ints_attr(strides),
            "pads": ints_attr(pads),
            "dilations": ints_attr(dilations),
            "ceil_mode": bool_attr(ceil_mode),
        }
        self.init((x,), properties, result_type)


@irdl_op_definition
class MaxPool3dOp(WindowPoolOp):
    """The largest element of each window of a volume x[N,C,D,H,W]; padding never wins (ONNX MaxPool).

    A kernel has it for windows in depth alone or in the planes alone; the import makes one of each.
    """

    name = "ge.max_pool3d"
    SPATIAL: ClassVar[int] = 3

    kernel = ints_prop()
    strides = ints_prop((1, 1, 1))
    pads = ints_prop((0, 0, 0, 0, 0, 0))
    dilations = ints_prop((1, 1, 1))
    ceil_mode = bool_prop(False)

    def __init__(
        self,
        x: SSAValue | Operation,
        *,
        kernel: Sequence[int],
        strides: Sequence[int] = (1, 1, 1),
        pads: Sequence[int] = (0, 0, 0, 0, 0, 0),
        dilations: Sequence[int] = (1, 1, 1),
        ceil_mode: bool = False,
        result_type: Tensor | None = None,
    ):
        properties: dict[str, Attribute] = {
            "kernel": ints_attr(kernel),
            "strides": ints_attr(strides),
            "pads": ints_attr(pads),
            "dilations": ints_attr(dilations),
            "ceil_mode": bool_attr(ceil_mode),
        }
        self.init((x,), properties, result_type)


@irdl_op_definition
class MaxPoolIndicesOp(GeOp):
    """The largest element of each window and where it stands (ONNX MaxPool with Indices), over any number of axes.

    x[N,C,...] -> y, indices (i64). An index counts the elements of x in row-major order, or, if `column_major`, within
    one channel with the first spatial axis running fastest (the channels still in order). The first of equals wins.
    """

    name = "ge.max_pool_indices"

    x = operand_def(TENSOR)
    result = result_def(TENSOR)
    indices = result_def(TENSOR)
    kernel = ints_prop()
    strides = ints_prop()
    pads = ints_prop()
    dilations = ints_prop()
    ceil_mode = bool_prop(False)
    column_major = bool_prop(False)

    def __init__(
        self,
        x: SSAValue | Operation,
        *,
        kernel: Sequence[int],
        strides: Sequence[int],
        pads: Sequence[int],
        dilations: Sequence[int],
        ceil_mode: bool = False,
        column_major: bool = False,
        result_type: Sequence[Tensor] | None = None,
    ):
        properties: dict[str, Attribute] = {
            "kernel": ints_attr(kernel),
            "strides": ints_attr(strides),
            "pads": ints_attr(pads),
            "dilations": ints_attr(dilations),
            "ceil_mode": bool_attr(ceil_mode),
            "column_major": bool_attr(column_major),
        }
        self.init((x,), properties, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        batch, channels, *spatial = shape_of(self.x)
        n = len(spatial)
        kernel, strides = self.require_length("kernel", n), self.require_length("strides", n)
        pads, dilations = self.require_length("pads", 2 * n), self.require_length("dilations", n)
        if min(*kernel, *strides, *dilations) < 1 or min(pads) < 0:
            raise self.fail("kernel, strides and dilations must be positive, pads not negative")
        ceil_mode = self.properties["ceil_mode"] == bool_attr(True)
        extents = [
            pool_extent(spatial[i], kernel[i], strides[i], pads[i], pads[i + n], dilations[i], ceil_mode)
            for i in range(n)
        ]
        if any(e < 1 and e != DYNAMIC for e in extents):
            raise self.fail(f"the kernel {list(kernel)} does not fit into the padded input {self.operand_shapes()}")
        shape = (batch, channels, *extents)
        return (*typed(shape, self.x), tensor_type(shape, "i64"))

    def cost(self) -> Cost:
        ops = elements_of(self.result) * prod(self.ints("kernel"))
        return Cost(0, 2 * ops, bytes_of(self.x), sum(map(bytes_of, self.results)))


@irdl_op_definition
class AvgPoolOp(WindowPoolOp):
    """The mean of each window (ONNX AveragePool).

    It divides by the elements inside the input, or inside input and pads if `count_include_pad`; what `ceil_mode`
    adds beyond the pads never counts.
    """

    name = "ge.avg_pool"

    kernel = ints_prop()
    strides = ints_prop((1, 1))
    pads = ints_prop((0, 0, 0, 0))
    ceil_mode = bool_prop(False)
    count_include_pad = bool_prop(False)

    def __init__(
        self,
        x: SSAValue | Operation,
        *,
        kernel: Sequence[int],
        strides: Sequence[int] = (1, 1),
        pads: Sequence[int] = (0, 0, 0, 0),
        ceil_mode: bool = False,
        count_include_pad: bool = False,
        result_type: Tensor | None = None,
    ):
        properties: dict[str, Attribute] = {
            "kernel": ints_attr(kernel),
            "strides": ints_attr(strides),
            "pads": ints_attr(pads),
            "ceil_mode": bool_attr(ceil_mode),
            "count_include_pad": bool_attr(count_include_pad),
        }
        self.init((x,), properties, result_type)


class GlobalPoolOp(GeOp):
    """x[N,C,...] -> [N,C,1,...], one number per channel."""

    TRAITS: ClassVar[frozenset[Trait]] = frozenset({Trait.POOL, Trait.REDUCTION, Trait.KEEPS_ZERO_PAD})

    x = operand_def(TENSOR)

    def __init__(self, x: SSAValue | Operation, *, result_type: Tensor | None = None):
        self.init((x,), {}, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        shape = shape_of(self.x)
        if len(shape) < 3:
            raise self.fail(f"x must have rank 3 or more, got {self.operand_shapes()}")
        return typed((*shape[:2], *(1 for _ in shape[2:])), self.x)

    def cost(self) -> Cost:
        return Cost(0, elements_of(self.x), bytes_of(self.x), bytes_of(self.result))


@irdl_op_definition
class GlobalAvgPoolOp(GlobalPoolOp):
    """The mean over all spatial positions (ONNX GlobalAveragePool)."""

    name = "ge.global_avg_pool"


@irdl_op_definition
class GlobalMaxPoolOp(GlobalPoolOp):
    """The largest element over all spatial positions (ONNX GlobalMaxPool)."""

    name = "ge.global_max_pool"


POOLING = [MaxPoolOp, MaxPool3dOp, MaxPoolIndicesOp, AvgPoolOp, GlobalAvgPoolOp, GlobalMaxPoolOp]
