"""Recompute every result type from the operands, so that a changed or unknown dimension reaches the outputs.

    %y = ge.relu %x : (tensor<4x8xf32>) -> tensor<?x8xf32>
    // becomes
    %y = ge.relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>

A dimension that cannot be computed keeps what was declared. Encodings stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation
from xdsl.utils.exceptions import VerifyException

from graph_engine.dialects.ge.core import DYNAMIC, GeOp, Tensor
from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.dialects.ge.interning import shape_of_type, tensor_type
from graph_engine.transforms.driver import RewriteContext
from graph_engine.transforms.fusion import graphs
from graph_engine.transforms.pass_base import EXACT, GePass, OperatorError


def refined(declared: Tensor, inferred: Tensor) -> Tensor:
    """The inferred type; unknown dimensions and the encoding come from the declared one."""
    shape, known = shape_of_type(inferred), shape_of_type(declared)
    if len(shape) == len(known):
        shape = tuple(d if i == DYNAMIC else i for i, d in zip(shape, known, strict=True))
    return tensor_type(shape, inferred.element_type, declared.encoding)


def infer_block(block: Block, context: RewriteContext) -> None:
    """Refine the results of every operator of a straight-line block, in order."""
    for op in block.ops:
        if isinstance(op, FusedOp):
            for arg, operand in zip(op.block.args, op.operands, strict=True):
                if arg.type != operand.type:
                    with context.rewrite("infer-shape", [op]) as rewriter:
                        rewriter.replace_value_with_new_type(arg, operand.type)
            infer_block(op.block, context)
        if isinstance(op, GeOp | FusedOp):
            _infer(op, context)


def _infer(op: GeOp | FusedOp, context: RewriteContext) -> None:
    try:
        inferred: Sequence[Tensor] = op.infer()
    except VerifyException as error:
        raise OperatorError(op, str(error)) from None
    for result, new in zip(op.results, inferred, strict=True):
        declared = cast(Tensor, result.type)
        if (new := refined(declared, new)) != declared:
            with context.rewrite("infer-shape", [op]) as rewriter:
                rewriter.replace_value_with_new_type(result, new)


@dataclass(frozen=True)
class GeInferShapes(GePass):
    """Infers shapes in program order, then the function's results."""

    name = "ge-infer-shapes"
    numerics = EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        context = RewriteContext.current()
        for block in graphs(op):
            infer_block(block, context)
            function = block.parent_op()
            assert isinstance(function, FuncOp)
            returned: Operation | None = block.last_op
            if returned is not None and returned.operand_types != tuple(function.function_type.outputs):
                with context.rewrite("infer-results", [returned]):
                    function.update_function_type()
