"""The steps of a recurrent layer whose share of the sequence is known: what `expand-recurrence` leaves to one looping kernel."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, result_def

from graph_engine.dialects.ge.core import (
    TENSOR,
    Cost,
    GeOp,
    Tensor,
    Trait,
    bytes_of,
    elements_of,
    shape_of,
    shape_text,
    typed,
)
from graph_engine.dialects.ge.interning import string_attr
from graph_engine.dialects.ge.properties import string_prop
from graph_engine.dialects.ge.recurrence import DIRECTIONS

CELLS = {"lstm": (4, 2), "gru": (3, 1)}
"""Gates and states of a cell."""


@irdl_op_definition
class RecurrentStepsOp(GeOp):
    """All steps of an LSTM or GRU: given[S,B,D*G*H] is x wT + b for the gates of each direction, r[D,G*H,H], states[K,D,B,H].

    lstm: gates i, o, f, c; states h and c: c' = sigmoid(f) * c + sigmoid(i) * tanh(c gate), h' = sigmoid(o) * tanh(c'). gru: gates
    z, r, n; state h: h' = (1 - sigmoid(z)) * n' + sigmoid(z) * h, n' = tanh(n of given + sigmoid(r) * (n of h rT + inner[D,H])). Gates
    are the sums of given and h rT, but where it says otherwise. D is 2 for `direction` "bidirectional", else 1. Results: y[S,D,B,H],
    the last states.
    """

    name = "ge.recurrent_steps"
    TRAITS: ClassVar[frozenset[Trait]] = frozenset({Trait.HEAVY})
    VECTOR_OPERATIONS: ClassVar[int] = 4

    given = operand_def(TENSOR)
    r = operand_def(TENSOR)
    states = operand_def(TENSOR)
    inner = opt_operand_def(TENSOR)
    result = result_def(TENSOR)
    last = result_def(TENSOR)
    cell = string_prop("lstm")
    direction = string_prop("forward")

    def __init__(
        self,
        given: SSAValue | Operation,
        r: SSAValue | Operation,
        states: SSAValue | Operation,
        inner: SSAValue | Operation | None = None,
        *,
        cell: str,
        direction: str = "forward",
        result_type: tuple[Tensor, ...] | None = None,
    ):
        properties = {"cell": string_attr(cell), "direction": string_attr(direction)}
        self.init((given, r, states, inner), properties, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        if self.cell.data not in CELLS or self.direction.data not in DIRECTIONS:
            raise self.fail(f"cell must be one of {', '.join(CELLS)}, direction one of {', '.join(DIRECTIONS)}")
        gates, count = CELLS[self.cell.data]
        length, batch, _ = self.require_rank(self.given, 3, "given")
        directions, _, hidden = self.require_rank(self.r, 3, "r")
        wanted = 2 if self.direction.data == "bidirectional" else 1
        shapes: dict[str, tuple[SSAValue, tuple[int, ...]]] = {
            "given": (self.given, (length, batch, wanted * gates * hidden)),
            "r": (self.r, (wanted, gates * hidden, hidden)),
            "states": (self.states, (count, wanted, batch, hidden)),
        }
        if (self.inner is None) == (self.cell.data == "gru"):
            raise self.fail("a gru has an inner bias, an lstm has none")
        if self.inner is not None:
            shapes["inner"] = (self.inner, (wanted, hidden))
        for name, (value, shape) in shapes.items():
            if shape_of(value) != shape:
                raise self.fail(f"{name} must be {shape_text(shape)} (operands {self.operand_shapes()})")
        y, last = (length, directions, batch, hidden), (count, directions, batch, hidden)
        return (*typed(y, self.given), *typed(last, self.given))

    def cost(self) -> Cost:
        length, batch, _ = shape_of(self.given)
        return Cost(
            length * batch * elements_of(self.r),
            elements_of(self.given) * self.VECTOR_OPERATIONS,
            sum(map(bytes_of, self.operands)),
            sum(map(bytes_of, self.results)),
        )


RECURRENT_STEPS = [RecurrentStepsOp]
