"""Linear algebra beyond matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, var_operand_def

from graph_engine.dialects.ge.core import (
    DYNAMIC,
    TENSOR,
    Cost,
    GeOp,
    Tensor,
    bytes_of,
    dims_agree,
    elements_of,
    shape_of,
    typed,
)
from graph_engine.dialects.ge.interning import string_attr
from graph_engine.dialects.ge.properties import string_prop


@irdl_op_definition
class DetOp(GeOp):
    """Determinants of the matrices in the last two axes: x[..., n, n] -> [...]."""

    name = "ge.det"
    VECTOR_OPS: ClassVar[int] = 1

    x = operand_def(TENSOR)

    def __init__(self, x: SSAValue | Operation, *, result_type: Tensor | None = None):
        self.init((x,), {}, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        shape = shape_of(self.x)
        if len(shape) < 2 or not dims_agree(shape[-1], shape[-2]):
            raise self.fail(f"x must hold square matrices, got {self.operand_shapes()}")
        return typed(shape[:-2], self.x)

    def cost(self) -> Cost:
        return Cost(0, elements_of(self.x) * max(1, shape_of(self.x)[-1]), bytes_of(self.x), bytes_of(self.result))


@irdl_op_definition
class EinsumOp(GeOp):
    """Einstein's sum, in numpy's notation without ellipsis: `equation` = "ij,jk->ik".

    The importer turns what it can into `ge.matmul`; what is left are diagonals and more than two operands.
    """

    name = "ge.einsum"

    xs = var_operand_def(TENSOR)
    equation = string_prop()

    def __init__(self, xs: Sequence[SSAValue | Operation], *, equation: str, result_type: Tensor | None = None):
        self.init(xs, {"equation": string_attr(equation)}, result_type)

    def extents(self) -> dict[str, int]:
        """The extent of every letter."""
        terms, arrow, result = self.equation.data.partition("->")
        letters = terms.split(",")
        if not arrow or len(letters) != len(self.xs) or not set(result) <= set(terms) or len(set(result)) < len(result):
            raise self.fail(f'"{self.equation.data}" does not name {len(self.xs)} operands and a result')
        extents: dict[str, int] = {}
        for term, value in zip(letters, self.xs, strict=True):
            for letter, extent in zip(term, self.require_rank(value, len(term), f'operand "{term}"'), strict=True):
                known = extents.get(letter, DYNAMIC)
                if not dims_agree(known, extent) and 1 not in (known, extent):
                    raise self.fail(f'"{letter}" is {known} and {extent} in {self.operand_shapes()}')
                extents[letter] = max(known, extent)
        return extents

    def infer(self) -> tuple[Tensor, ...]:
        self.require_same_element()
        extents = self.extents()
        return typed([extents[letter] for letter in self.equation.data.partition("->")[2]], self.xs[0])

    def cost(self) -> Cost:
        operations = prod(extent for extent in self.extents().values() if extent != DYNAMIC)
        return Cost(0, len(self.xs) * operations, sum(map(bytes_of, self.xs)), bytes_of(self.result))


LINEAR_ALGEBRA = [DetOp, EinsumOp]
