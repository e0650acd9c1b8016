"""Compute operators on constants: small results at once, large ones as `#ge.fold` recipes that nobody evaluates yet.

%0 = ge.constant #ge.weight<"w", ...> : tensor<64x32xf32>
%1 = ge.transpose %0 {perm = [1, 0]} : (tensor<64x32xf32>) -> tensor<32x64xf32>
// becomes
%1 = ge.constant #ge.fold<"ge.transpose", [#ge.weight<"w", ...>], {perm = array<i64: 1, 0>}, tensor<32x64xf32>>
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.core import DYNAMIC, GeOp, Tensor, shape_of
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.pass_base import GePass
from graph_engine.transforms.recipes import computed, known


class FoldConstantOperands(Pattern):
    """An operator whose operands are all constants becomes a constant."""

    name = "fold-constant-operands"
    root: ClassVar[tuple[type[Operation], ...]] = (GeOp,)

    def rewrite(self, op: GeOp, rewriter: CountedRewriter) -> bool:
        if isinstance(op, ConstantOp) or any(DYNAMIC in shape_of(result) for result in op.results):
            return False
        operands = [constant for value in op.operands if (constant := known(value)) is not None]
        if len(operands) != len(op.operands) or not operands:
            return False
        constants = [
            computed(op.name, operands, cast(Tensor, result.type), result=number, **op.attribute_values()).op()
            for number, result in enumerate(op.results)
        ]
        rewriter.replace(op, constants, [constant.result for constant in constants])
        return True


@dataclass(frozen=True)
class FoldConstants(GePass):
    """Folds in program order, so that chains fold in one go."""

    name = "fold-constants"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [FoldConstantOperands()])
