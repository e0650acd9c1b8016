"""Borders of the model that are asked for in the hardware's formats, as the choice of formats sees them.

An input that is asked for is there in its format at no cost, and so is what a cast to fp16 makes of it, since the adjusted
input is fp16; a result that is asked for, or what a cast in front of it reads, is wanted in its format.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr, f16
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from graph_engine.dialects.encodings import Encoding
from graph_engine.dialects.ge.core import DYNAMIC, element_of, shape_of
from graph_engine.dialects.ge.elementwise import CastOp
from graph_engine.dialects.ge.interning import element_name
from graph_engine.dialects.ge.precision import DEVICE_FLOATS
from graph_engine.dialects.layout import fractal_nz, is_plain, nc1hwc0
from graph_engine.errors import GraphEngineError
from graph_engine.transforms.fusion import single_user
from graph_engine.transforms.padding import keep
from graph_engine.transforms.stored_values import Format

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
            near = get_close_matches(name, names, 1)
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
    if element_name(element_of(value)) not in DEVICE_FLOATS:
        return f"its elements are {element_name(element_of(value))}, not floats"
    if not (len(shape) == 4 if form == "NC1HWC0" else len(shape) >= 2):
        return f"it has {len(shape)} axes, not {FORMATS[form][1]}"
    return "a size is not known" if DYNAMIC in shape else ""


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
class Borders:
    """What the borders of one graph hold and want. `made`: values that are there in a format already; `wanted`: the format
    in which an operator at a border reads its operand, by operator and number of the operand."""

    made: Mapping[SSAValue, Encoding] = field(default_factory=dict[SSAValue, Encoding])
    wanted: Mapping[tuple[Operation, int], Encoding] = field(default_factory=dict[tuple[Operation, int], Encoding])

    def reads(self, op: Operation, index: int, given: Format) -> Format:
        """The format in which an operator outside all families reads an operand, `given` with its padding if it fits."""
        wanted = self.wanted.get((op, index))
        return None if wanted is None else keep(given, wanted)


ND_BORDERS = Borders()


def asked_inputs(function: FuncOp, text: str) -> dict[int, str]:
    """The inputs that `text` asks for in a format. Raises GraphEngineError for what cannot be."""
    arguments = function.body.block.args
    return wanted_formats(text, border_names(function.arg_attrs, len(arguments), "x"), arguments, "--input-format")


def asked_outputs(function: FuncOp, last: ReturnOp, text: str) -> dict[int, str]:
    """The outputs that `text` asks for in a format. Raises GraphEngineError for what cannot be."""
    names = border_names(function.res_attrs, len(last.operands), "y")
    return wanted_formats(text, names, last.operands, "--output-format")


def borders_of(block: Block, inputs: str, outputs: str, c0: int) -> Borders:
    """The borders of a graph whose values are still plain."""
    function, last = block.parent_op(), block.last_op
    if not (inputs or outputs) or not isinstance(function, FuncOp) or not isinstance(last, ReturnOp):
        return ND_BORDERS
    made: dict[SSAValue, Encoding] = {}
    wanted: dict[tuple[Operation, int], Encoding] = {}
    for number, form in asked_inputs(function, inputs).items():
        argument, encoding = block.args[number], FORMATS[form][0](c0)
        if is_plain(argument.type):
            halves = (use.operation for use in argument.uses if isinstance(use.operation, CastOp))
            for value in (argument, *(cast.result for cast in halves)):
                if element_of(value) == f16:
                    made[value] = encoding
    for number, form in asked_outputs(function, last, outputs).items():
        value, encoding = last.operands[number], FORMATS[form][0](c0)
        cast = value.owner
        if isinstance(cast, CastOp) and element_of(cast.x) == f16 and single_user(value) is last:
            wanted[cast, 0] = encoding
        elif is_plain(value.type):
            wanted[last, number] = encoding
    return Borders(made, wanted)
