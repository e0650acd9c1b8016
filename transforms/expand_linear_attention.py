"""Linear attention step by step: a state a head that is decayed, changed and read.

    %y, %s = ge.linear_attention %q, %k, %v, %s0, %decay, %beta {heads = 4, kv_heads = 2} : ...
    // becomes for every step, with S from %s0 on,
    S = S * exp(decay)
    S = S + k * (beta * (v - sum(k * S)))      // without %beta: S + k * v
    y = sum(q * S)

All of it stays in fp32, in which the many small changes of the state add up; sums are those along the keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.core import DYNAMIC, element_of, shape_of
from graph_engine.dialects.ge.elementwise import AddOp, ExpOp, MulOp, SubOp
from graph_engine.dialects.ge.recurrence import LinearAttentionOp
from graph_engine.dialects.ge.reduction import ReduceSumOp
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.made_operators import Made, MadeInFp32
from graph_engine.transforms.pass_base import ROUNDING, GePass

MOST_STEPS = 128
"""Steps that are written out; more of them are too many tasks."""


class ExpandLinearAttention(Pattern):
    """linear_attention of a known number of steps -> these steps."""

    name = "expand-linear-attention"
    root: ClassVar[tuple[type[Operation], ...]] = (LinearAttentionOp,)

    def rewrite(self, op: LinearAttentionOp, rewriter: CountedRewriter) -> bool:
        batch, steps, _ = shape_of(op.q)
        if any(DYNAMIC in shape_of(v) or 0 in shape_of(v) for v in (*op.operands, *op.results)) or steps > MOST_STEPS:
            return False
        heads, kv_heads, scale = op.heads.value.data, op.kv_heads.value.data, float(op.scale.value.data)
        made = Made()
        exact = MadeInFp32(made.made, made.constants)

        def at(value: SSAValue, step: int, form: Sequence[int]) -> SSAValue:
            """A step of an operand, (batch, kv_heads, ...); one for all steps or for the whole batch is so for each."""
            one = made.part(value, 1, step if shape_of(value)[1] > 1 else 0)
            return exact.as_element(made.shaped(one, (shape_of(value)[0], *form)), f32)

        def read(rows: SSAValue, state: SSAValue) -> SSAValue:
            """Rows (batch, kv_heads, count, keys, 1) times the state."""
            held = made.shaped(state, (*shape_of(state)[:2], 1, *shape_of(state)[2:]))
            return exact.put(ReduceSumOp(exact.put(MulOp(rows, held)), axes=[3], keepdims=False))

        state = exact.as_element(op.state, f32)
        fading = exact.put(ExpOp(exact.as_element(op.decay, f32)))
        faded = (kv_heads, shape_of(op.decay)[2] // kv_heads, 1)
        found: list[SSAValue] = []
        for step in range(steps):
            state = exact.put(MulOp(state, at(fading, step, faded)))
            change = at(op.v, step, (kv_heads, 1, -1))
            if op.beta is not None:
                seen = read(at(op.k, step, (kv_heads, 1, -1, 1)), state)
                rate = at(op.beta, step, (shape_of(op.beta)[2], 1, 1))
                change = exact.put(MulOp(rate, exact.put(SubOp(change, seen))))
            state = exact.put(AddOp(state, exact.put(MulOp(at(op.k, step, (kv_heads, -1, 1)), change))))
            y = read(at(op.q, step, (kv_heads, heads // kv_heads, -1, 1)), state)
            found.append(made.shaped(y, (batch, 1, shape_of(op.result)[2])))
        result = made.joined(found, 1)
        if scale != 1:
            result = exact.put(MulOp(result, exact.number(scale, result)))
        result = exact.as_element(result, element_of(op.result))
        results = [result, exact.as_element(state, element_of(op.last))]
        rewriter.replace(op, made.needed(results), results)
        return True


@dataclass(frozen=True)
class ExpandLinearAttentionPass(GePass):
    """Applies the pattern above."""

    name = "expand-linear-attention"
    numerics = ROUNDING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [ExpandLinearAttention()])
