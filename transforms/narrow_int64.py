"""Compute int64 in int32 where every number that an operator reads and gives is proven to fit.

    %i = ge.arg_max %x {axis = 1} : (tensor<4x1000xf32>) -> tensor<4x1xi64>      // 0 ... 999
    %y = ge.add %i, %one : (tensor<4x1xi64>, tensor<1xi64>) -> tensor<4x1xi64>
    // becomes
    %0 = ge.cast %i : (tensor<4x1xi64>) -> tensor<4x1xi32>
    %1 = ge.add %0, %one32 : (tensor<4x1xi32>, tensor<1xi32>) -> tensor<4x1xi32>
    %y = ge.cast %1 : (tensor<4x1xi32>) -> tensor<4x1xi64>

The proof is the walk of `value_ranges`: constants, extents, places that arg_max and top_k give, clips, and integers that
were narrow before. Inputs may hold anything, and so may what a NaN becomes as an integer: operators on these stay int64,
and a remark says which bound is missing. Results are equal, bit for bit. Not part of the default pipeline: kernels
compute int64 as well, in several times the instructions.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i32, i64
from xdsl.ir import Block, Operation, SSAValue

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.core import GeOp, element_of
from graph_engine.dialects.ge.elementwise import CastOp
from graph_engine.dialects.ge.interning import element_name
from graph_engine.planning.bounds import Bounds
from graph_engine.transforms.driver import RewriteContext
from graph_engine.transforms.fusion import graphs
from graph_engine.transforms.narrowing import Narrowed
from graph_engine.transforms.pass_base import EXACT, GePass
from graph_engine.transforms.remarks import Kind, missed, wanted
from graph_engine.transforms.value_ranges import Ranges

INT32 = Bounds(-(2**31), 2**31 - 1)

OPERATORS = frozenset(
    "ge." + name
    for name in (
        *("add", "sub", "mul", "div", "mod", "maximum", "minimum", "neg", "abs", "sign", "compare", "select", "cast"),
        *("reshape", "transpose", "concat", "slice", "expand", "tile", "gather", "gather_elements", "gather_nd"),
        *("reduce_sum", "reduce_max", "reduce_min", "cum_sum"),
    )
)
"""Operators that mean the same in int32 as long as what they read and give fits, partial sums included (they wrap)."""


def wide_operands(op: Operation) -> list[int]:
    """The numbers of the operands that are int64."""
    return [index for index, value in enumerate(op.operands) if element_of(value) == i64]


def from_floats(block: Block) -> set[SSAValue]:
    """int64 values that come from floats: of a NaN, which becomes the smallest integer of its type, no bound speaks."""
    found: set[SSAValue] = set()
    for op in block.ops:
        first = isinstance(op, CastOp) and element_name(element_of(op.x)) not in _INTEGERS
        if first or any(op.operands[index] in found for index in wide_operands(op)):
            found.update(result for result in op.results if element_of(result) == i64)
    return found


_INTEGERS = ("i1", "i8", "ui8", "i16", "ui16", "i32", "ui32", "i64", "ui64")


def provable(block: Block) -> list[GeOp]:
    """The operators whose int64 all fits into int32, in order; a remark says what keeps the others."""
    ranges, doubtful = Ranges(block), from_floats(block)
    found: list[GeOp] = []
    for op in block.ops:
        if not isinstance(op, GeOp) or op.name not in OPERATORS or not wide_operands(op):
            continue
        if all(isinstance(value.owner, ConstantOp) for value in op.operands):
            continue  # folding's business
        values = [value for value in (*op.operands, *op.results) if element_of(value) == i64]
        limit = next((x for x in values if x in doubtful or not ranges[x].within(INT32)), None)
        if limit is None:
            found.append(op)
        elif wanted(Kind.MISSED):
            low, high = ranges[limit].low, ranges[limit].high
            why = "made of floats, of which one may be NaN" if limit in doubtful else f"from {low:g} to {high:g}"
            what = "reads" if limit in op.operands else "gives"
            missed("NotNarrowed", op, f"stays int64: it {what} numbers {why}", low=low, high=high)
    return found


def worth(op: GeOp, narrowed: Narrowed) -> bool:
    """Whether something is computed in int32: an operator, or a cast or view of what is int32 already."""
    only_moves = isinstance(op, CastOp) or op.name == "ge.reshape"
    return not only_moves or any(narrowed.has(op.operands[index]) for index in wide_operands(op))


@dataclass(frozen=True)
class NarrowInt64(GePass):
    """Walks in program order; the graph is valid, and its numbers the same, after each operator."""

    name = "narrow-int64"
    numerics = EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        context = RewriteContext.current()
        for block in graphs(op):
            narrowed = Narrowed(block, i64, i32)
            for inner in provable(block):
                if worth(inner, narrowed):
                    with context.rewrite("narrow-int64", [inner]) as rewriter:
                        narrowed.compute(inner, wide_operands(inner), rewriter)
