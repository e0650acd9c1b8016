"""Operators that a rewrite makes of one, in order; what is computed of constants is a constant at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.ir import Attribute, SSAValue

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.core import GeOp, element_of, elements_of, shape_of
from graph_engine.dialects.ge.elementwise import CastOp
from graph_engine.dialects.ge.interning import element_name, numpy_dtype, tensor_type
from graph_engine.dialects.ge.precision import FP32, set_precision
from graph_engine.dialects.ge.repetition import ExpandOp
from graph_engine.dialects.ge.shape import ConcatOp, PadOp, ReshapeOp, SliceOp
from graph_engine.dialects.ge.weights import constant_attr
from graph_engine.transforms.recipes import Known, computed, known


@dataclass
class Made:
    """The operators, in order."""

    made: list[GeOp] = field(default_factory=list[GeOp])
    constants: dict[Known, SSAValue] = field(default_factory=dict["Known", SSAValue])

    def put(self, op: GeOp) -> SSAValue:
        """The result of an operator."""
        values = [constant for value in op.operands if (constant := known(value)) is not None]
        if values and len(values) == len(op.operands):
            constant = computed(op.name, values, op.result.type, **op.attribute_values())
            op.erase()
            return self.constant(constant)
        self.made.append(op)
        return op.results[0]

    def put_all(self, op: GeOp) -> Sequence[SSAValue]:
        """The results of an operator that has several, computed when the graph runs."""
        self.made.append(op)
        return op.results

    def constant(self, constant: Known) -> SSAValue:
        """A constant, once however often it is asked for."""
        if constant not in self.constants:
            op = constant.op()
            self.made.append(op)
            self.constants[constant] = op.result
        return self.constants[constant]

    def numbers(self, array: Any, name: str) -> SSAValue:
        """A constant of numbers."""
        op = ConstantOp(constant_attr(array, name))
        return self.constant(Known(op.value, op.result.type))

    def number(self, value: float, like: SSAValue) -> SSAValue:
        """A constant of one element."""
        return self.numbers(np.full(1, value, numpy_dtype(element_name(element_of(like)))), "number")

    def needed(self, results: Sequence[SSAValue]) -> list[GeOp]:
        """The operators, without those that nothing reads."""
        read: list[GeOp] = []
        for op in reversed(self.made):
            if any(value.uses or value in results for value in op.results):
                read.append(op)
            else:
                op.erase()
        return read[::-1]

    def shaped(self, x: SSAValue, shape: Sequence[int]) -> SSAValue:
        """x in another shape."""
        return x if shape_of(x) == tuple(shape) else self.put(ReshapeOp(x, shape=shape))

    def as_element(self, x: SSAValue, element: Attribute) -> SSAValue:
        """x in another element type."""
        return x if element_of(x) == element else self.put(CastOp(x, result_type=tensor_type(shape_of(x), element)))

    def part(self, x: SSAValue, axis: int, start: int, count: int = 1) -> SSAValue:
        """`count` entries of an axis from `start` on."""
        if count == shape_of(x)[axis]:
            return x
        return self.put(SliceOp(x, starts=[start], ends=[start + count], axes=[axis], steps=[1]))

    def filled(self, x: SSAValue, shape: Sequence[int]) -> SSAValue:
        """x with zeros behind every axis that is shorter than in `shape`."""
        missing = [new - old for new, old in zip(shape, shape_of(x), strict=True)]
        return self.put(PadOp(x, pads=[0] * len(missing) + missing)) if any(missing) else x

    def joined(self, parts: Sequence[SSAValue], axis: int) -> SSAValue:
        """Parts one behind the other."""
        return parts[0] if len(parts) == 1 else self.put(ConcatOp(parts, axis=axis))

    def spread(self, x: SSAValue, count: int) -> SSAValue:
        """The elements of x as a vector; one number `count` times."""
        flat = self.shaped(x, (elements_of(x),))
        return flat if elements_of(x) == count else self.put(ExpandOp(flat, shape=(count,)))


class MadeInFp32(Made):
    """Operators that stay in fp32 whatever the graph is computed in."""

    def put(self, op: GeOp) -> SSAValue:
        set_precision(op, FP32)
        return super().put(op)
