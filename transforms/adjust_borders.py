"""Begin and end the model in the hardware's formats, where asked: the conversions at its borders vanish.

    func.func @main(%x: tensor<1x3x8x8xf32>) -> tensor<1x16x8x8xf32>
      %0 = layout.transdata %x : tensor<1x3x8x8xf32> -> tensor<1x3x8x8xf16, #layout.nc1hwc0<...>>
      %1 = ge.conv2d %0, %w : ...
      %2 = layout.transdata %1 : tensor<1x16x8x8xf16, #layout.nc1hwc0<...>> -> tensor<1x16x8x8xf32>
    // becomes, with inputs = "NC1HWC0" outputs = "NC1HWC0"
    func.func @main(%x: tensor<1x3x8x8xf16, #layout.nc1hwc0<...>>) -> tensor<1x16x8x8xf16, #layout.nc1hwc0<...>>
      %1 = ge.conv2d %x, %w : ...

ATC's `is_input_adjust_hw_layout` and `is_output_adjust_hw_layout`: fp16, in the format that the Cube takes. Both options are
a format for every tensor that it can hold, or `name:FORMAT` for each that is named, with semicolons between them. What is
read or made in ND all the same is converted inside. Padding lanes of inputs are zeros, which the runtime puts there.
`propagate-layout` is told of both as well and counts them in its choice of formats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f16
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from graph_engine.dialects.ge.core import element_of
from graph_engine.dialects.ge.elementwise import CastOp
from graph_engine.dialects.ge.interning import tensor_type
from graph_engine.dialects.layout import Encoding, TransDataOp, encoding_of, is_plain, with_encoding
from graph_engine.target_ascend.soc.soc import load_soc
from graph_engine.transforms.border_formats import FORMATS, asked_inputs, asked_outputs
from graph_engine.transforms.driver import RewriteContext
from graph_engine.transforms.pass_base import APPROXIMATE, FP16_SHARE, GePass
from graph_engine.transforms.stored_values import tensor


def adjust_input(function: FuncOp, number: int, encoding: Encoding) -> None:
    """Gives an argument the format: conversions to it vanish, other readers get one back to what it was."""
    argument = function.body.block.args[number]
    before = tensor(argument)
    after = with_encoding(tensor_type(before.get_shape(), f16), encoding)
    readers = [use.operation for use in argument.uses]
    halves = [op for op in readers if isinstance(op, CastOp) and element_of(op.result) == f16]
    first = next(iter(function.body.block.ops))
    with RewriteContext.current().rewrite("adjust-input", [first]) as rewriter:
        rewriter.replace_value_with_new_type(argument, after)
        new = function.body.block.args[number]
        converted = [*readers, *(use.operation for cast in halves for use in cast.result.uses)]
        same = [op for op in converted if isinstance(op, TransDataOp) and op.y.type == after]
        for op in same:
            rewriter.replace(op, (), [new])
        for cast in halves:
            rewriter.replace(cast, TransDataOp(new, tensor(cast.result)))
        others = [op for op in readers if op not in same and op not in halves]
        if others:
            back = TransDataOp(new, before)
            rewriter.insert(back, InsertPoint.at_start(function.body.block))
            _read_instead(new, back, others)


def _read_instead(old: SSAValue, conversion: TransDataOp, readers: Sequence[Operation]) -> None:
    for reader in readers:
        for index, operand in enumerate(reader.operands):
            if operand is old:
                reader.operands[index] = conversion.y


def adjust_output(last: ReturnOp, number: int, encoding: Encoding) -> None:
    """Returns a result in the format: what was converted from it is returned before the conversion."""
    value = last.operands[number]
    conversion = value.owner
    with RewriteContext.current().rewrite("adjust-output", [last]) as rewriter:
        if isinstance(conversion, TransDataOp) and isinstance(encoding_of(conversion.x.type), type(encoding)):
            last.operands[number] = conversion.x
        else:
            stored = with_encoding(tensor_type(tensor(value).get_shape(), f16), encoding)
            new = TransDataOp(value, stored)
            new.location = value.owner.location if isinstance(value.owner, Operation) else last.location
            rewriter.insert(new, InsertPoint.before(last))
            last.operands[number] = new.y
        rewriter.notify_op_modified(last)


@dataclass(frozen=True)
class AdjustBorders(GePass):
    """Begin and end the model in the hardware's formats, where asked: the conversions at its borders vanish."""

    name = "adjust-borders"
    numerics = APPROXIMATE(FP16_SHARE)

    soc: str = field(default="Ascend310P3", metadata={"help": "chip that gives C0 of fp16"})
    inputs: str = field(default="", metadata={"help": "NC1HWC0 or FRACTAL_NZ for all, or name:FORMAT;name:FORMAT"})
    outputs: str = field(default="", metadata={"help": "the same for the outputs"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not self.inputs and not self.outputs:
            return
        c0 = load_soc(self.soc).c0["f16"]
        for function in op.ops:
            if not isinstance(function, FuncOp) or not function.body.blocks:
                continue
            block, last = function.body.block, function.body.block.last_op
            assert isinstance(last, ReturnOp)
            for number, form in asked_inputs(function, self.inputs).items():
                if is_plain(block.args[number].type):
                    adjust_input(function, number, FORMATS[form][0](c0))
            for number, form in asked_outputs(function, last, self.outputs).items():
                if is_plain(last.operands[number].type):
                    adjust_output(last, number, FORMATS[form][0](c0))
            function.update_function_type()
