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
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, f16
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from graph_engine.dialects.ge.core import DYNAMIC, element_of, shape_of
from graph_engine.dialects.ge.interning import element_name, tensor_type
from graph_engine.dialects.layout import (
    Encoding,
    TransDataOp,
    encoding_of,
    fractal_nz,
    is_plain,
    nc1hwc0,
    with_encoding,
)
from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.soc.soc import load_soc
from graph_engine.transforms.driver import RewriteContext
from graph_engine.transforms.pass_base import APPROXIMATE, FP16_SHARE, GePass
from graph_engine.transforms.stored_values import tensor

FORMATS: Mapping[str, tuple[Callable[[int], Encoding], str]] = {
    "NC1HWC0": (nc1hwc0, "four axes"),
    "FRACTAL_NZ": (fractal_nz, "two axes or more"),
}
"""The format of a block size, and what it can hold."""


def wanted_formats(text: str, names: Sequence[str], values: Sequence[SSAValue], flag: str) -> dict[int, str]:
    """Which tensors are asked for in which format, by number. Raises GraphEngineError for what cannot be."""
    wanted: dict[int, str] = {}
    for part in filter(None, (part.strip() for part in text.split(";"))):
        name, colon, form = part.rpartition(":")
        if form not in (*FORMATS, "ND"):
            raise GraphEngineError(f"{flag}: '{form}' is no format of a border; there are ND, {', '.join(FORMATS)}")
        if not colon:
            wanted |= {i: form for i, value in enumerate(values) if form != "ND" and not _unfit(value, form)}
            continue
        if name not in names:
            near = difflib.get_close_matches(name, names, 1)
            hint = f"; did you mean '{near[0]}'?" if near else f"; there are {', '.join(names)}"
            raise GraphEngineError(f"{flag}: the model has no '{name}'{hint}")
        number = names.index(name)
        if form == "ND":
            wanted.pop(number, None)
            continue
        if problem := _unfit(values[number], form):
            raise GraphEngineError(f"{flag}: '{name}' cannot be {form}: {problem}")
        wanted[number] = form
    return wanted


def _unfit(value: SSAValue, form: str) -> str:
    """Why a tensor cannot have the format; empty if it can."""
    shape = shape_of(value)
    if element_name(element_of(value)) not in ("f16", "f32"):
        return f"its elements are {element_name(element_of(value))}, not floats"
    if not (len(shape) == 4 if form == "NC1HWC0" else len(shape) >= 2):
        return f"it has {len(shape)} axes, not {FORMATS[form][1]}"
    return "a size is not known" if DYNAMIC in shape else ""


def adjust_input(function: FuncOp, number: int, encoding: Encoding) -> None:
    """Gives an argument the format: conversions to it vanish, other readers get one back to what it was."""
    argument = function.body.block.args[number]
    before = tensor(argument)
    after = with_encoding(tensor_type(before.get_shape(), f16), encoding)
    readers = [use.operation for use in argument.uses]
    same = [op for op in readers if isinstance(op, TransDataOp) and op.y.type == after]
    first = next(iter(function.body.block.ops))
    with RewriteContext.current().rewrite("adjust-input", [first]) as rewriter:
        rewriter.replace_value_with_new_type(argument, after)
        new = function.body.block.args[number]
        for op in same:
            rewriter.replace(op, (), [new])
        if len(same) < len(readers):
            back = TransDataOp(new, before)
            rewriter.insert(back, InsertPoint.at_start(function.body.block))
            _read_instead(new, back, [op for op in readers if op not in same])


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


def border_names(entries: Attribute | None, count: int, stem: str) -> list[str]:
    """The names of the inputs or outputs."""
    names = [f"{stem}{i}" for i in range(count)]
    if isinstance(entries, ArrayAttr):
        for i, entry in enumerate(entries):
            name = entry.data.get("ge.name") if isinstance(entry, DictionaryAttr) else None
            if isinstance(name, StringAttr):
                names[i] = name.data
    return names


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
            names = border_names(function.arg_attrs, len(block.args), "x")
            asked = wanted_formats(self.inputs, names, block.args, "--input-format")
            for number, form in asked.items():
                if is_plain(block.args[number].type):
                    adjust_input(function, number, FORMATS[form][0](c0))
            names = border_names(function.res_attrs, len(last.operands), "y")
            for number, form in wanted_formats(self.outputs, names, last.operands, "--output-format").items():
                if is_plain(last.operands[number].type):
                    adjust_output(last, number, FORMATS[form][0](c0))
            function.update_function_type()
