"""Elements chosen by value: the largest, the unique, the non-zero ones, the boxes that remain.

How many elements remain may depend on the data: such an extent is unknown (`?`) in the result type. The reference
gives the real one; on the chip a tensor needs a known size, so that these operators run on the host.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, result_def

from graph_engine.dialects.ge.core import (
    DYNAMIC,
    TENSOR,
    GeOp,
    Tensor,
    Trait,
    dims_agree,
    element_of,
    elements_of,
    shape_of,
    shape_text,
    shapes_agree,
    typed,
)
from graph_engine.dialects.ge.interning import bool_attr, element_name, int_attr, tensor_type
from graph_engine.dialects.ge.properties import bool_prop, int_prop


@irdl_op_definition
class TopKOp(GeOp):
    """The `k` largest (or smallest) elements along `axis` and their indices (i64).

    Of equal elements the one with the lower index comes first. Results are sorted; `sorted` = false allows any order.
    `k` -1 takes their number from the operand `count` (one element) at run time.
    """

    name = "ge.top_k"

    x = operand_def(TENSOR)
    count = opt_operand_def(TENSOR)
    k = int_prop(-1)
    axis = int_prop(-1)
    largest = bool_prop(True)
    sorted = bool_prop(True)
    result = result_def(TENSOR)
    indices = result_def(TENSOR)

    def __init__(
        self,
        x: SSAValue | Operation,
        count: SSAValue | Operation | None = None,
        *,
        k: int = -1,
        axis: int = -1,
        largest: bool = True,
        sorted: bool = True,
    ):
        properties = {
            "k": int_attr(k),
            "axis": int_attr(axis),
            "largest": bool_attr(largest),
            "sorted": bool_attr(sorted),
        }
        self.init((x, count), properties, None)

    def infer(self) -> tuple[Tensor, ...]:
        shape = list(shape_of(self.x))
        axis, k = self.axis_in(self.axis.value.data, len(shape)), self.k.value.data
        if (self.count is None) != (k >= 0) or (shape[axis] != DYNAMIC and k > shape[axis]):
            raise self.fail(f"k = {k} of axis {axis} of {shape_text(shape)}")
        shape[axis] = k
        return (*typed(shape, self.x), tensor_type(shape, "i64"))


@irdl_op_definition
class UniqueOp(GeOp):
    """The different slices of x along `axis`, each once: sorted, or else in the order of their first appearance.

    Further results (i64): where each appears first, the number of its slice for every entry of the axis, how often each
    appears.
    """

    name = "ge.unique"

    x = operand_def(TENSOR)
    axis = int_prop(0)
    sorted = bool_prop(True)
    result = result_def(TENSOR)
    indices = result_def(TENSOR)
    inverse = result_def(TENSOR)
    counts = result_def(TENSOR)

    def __init__(self, x: SSAValue | Operation, *, axis: int = 0, sorted: bool = True):
        self.init((x,), {"axis": int_attr(axis), "sorted": bool_attr(sorted)}, None)

    def infer(self) -> tuple[Tensor, ...]:
        shape = list(shape_of(self.x))
        axis = self.axis_in(self.axis.value.data, len(shape))
        extent, shape[axis] = shape[axis], DYNAMIC
        unknown = tensor_type((DYNAMIC,), "i64")
        return (*typed(shape, self.x), unknown, tensor_type((extent,), "i64"), unknown)


@irdl_op_definition
class NonZeroOp(GeOp):
    """The coordinates of the elements that are not zero, in row-major order: i64, one row an axis, one column an element."""

    name = "ge.non_zero"

    x = operand_def(TENSOR)

    def __init__(self, x: SSAValue | Operation):
        self.init((x,), {}, None)

    def infer(self) -> tuple[Tensor, ...]:
        return (tensor_type((len(shape_of(self.x)), DYNAMIC), "i64"),)


@irdl_op_definition
class CompressOp(GeOp):
    """The slices of x along `axis` whose `condition` (i1, rank 1) is true; entries beyond the condition are dropped."""

    name = "ge.compress"
    TRAITS: ClassVar[frozenset[Trait]] = frozenset({Trait.MOVEMENT})
    VECTOR_OPS: ClassVar[int] = 0

    x = operand_def(TENSOR)
    condition = operand_def(TENSOR)
    axis = int_prop(0)

    def __init__(self, x: SSAValue | Operation, condition: SSAValue | Operation, *, axis: int = 0):
        self.init((x, condition), {"axis": int_attr(axis)}, None)

    def infer(self) -> tuple[Tensor, ...]:
        self.require_rank(self.condition, 1, "condition")
        if element_name(element_of(self.condition)) != "i1":
            raise self.fail(f"condition must be i1, got {element_of(self.condition)}")
        shape = list(shape_of(self.x))
        shape[self.axis_in(self.axis.value.data, len(shape))] = DYNAMIC
        return typed(shape, self.x)


@irdl_op_definition
class NonMaxSuppressionOp(GeOp):
    """The boxes that remain when each suppresses those of lower score that overlap it (i64 rows: batch, class, box).

    `boxes` (batch, n, 4): two opposite corners y1, x1, y2, x2, or with `center_point_box` x, y, width, height. `scores`
    (batch, classes, n). Per batch entry and class, at most `limit` boxes are taken, in the order of falling scores above
    `score_threshold`; a box is dropped if its intersection over union with one taken before exceeds `iou_threshold`. The
    last three operands hold one element each.
    """

    name = "ge.non_max_suppression"

    boxes = operand_def(TENSOR)
    scores = operand_def(TENSOR)
    limit = operand_def(TENSOR)
    iou_threshold = operand_def(TENSOR)
    score_threshold = operand_def(TENSOR)
    center_point_box = bool_prop(False)

    def __init__(
        self,
        boxes: SSAValue | Operation,
        scores: SSAValue | Operation,
        limit: SSAValue | Operation,
        iou_threshold: SSAValue | Operation,
        score_threshold: SSAValue | Operation,
        *,
        center_point_box: bool = False,
    ):
        operands = (boxes, scores, limit, iou_threshold, score_threshold)
        self.init(operands, {"center_point_box": bool_attr(center_point_box)}, None)

    def keeps_type(self, index: int) -> bool:
        return True

    def infer(self) -> tuple[Tensor, ...]:
        boxes, scores = self.require_rank(self.boxes, 3, "boxes"), self.require_rank(self.scores, 3, "scores")
        if not (dims_agree(boxes[0], scores[0]) and dims_agree(boxes[1], scores[2]) and dims_agree(boxes[2], 4)):
            raise self.fail(f"boxes {shape_text(boxes)} and scores {shape_text(scores)} do not belong together")
        if any(
            elements_of(v) != 1 or not shapes_agree(shape_of(v), (1,) * len(shape_of(v))) for v in self.operands[2:]
        ):
            raise self.fail("limit and thresholds must hold one element each")
        return (tensor_type((DYNAMIC, 3), "i64"),)


SELECTION = [TopKOp, UniqueOp, NonZeroOp, CompressOp, NonMaxSuppressionOp]
