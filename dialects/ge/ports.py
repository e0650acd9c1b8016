"""The names of a graph's inputs and outputs: as imported, as written, or by number."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

NAME = "ge.name"


def input_names(function: FuncOp) -> list[str]:
    """`ge.name` of each argument, else its name in the text, else `x0`, `x1`, ..."""
    numbered = [f"x{i}" for i in range(len(function.body.block.args))]
    written = [argument.name_hint or own for argument, own in zip(function.body.block.args, numbered, strict=True)]
    return _named(function.arg_attrs, written if len(set(written)) == len(written) else numbered)


def output_names(function: FuncOp) -> list[str]:
    """`ge.name` of each result, else `y0`, `y1`, ..."""
    return _named(function.res_attrs, [f"y{i}" for i in range(len(function.function_type.outputs))])


def _named(entries: ArrayAttr[DictionaryAttr] | None, defaults: Sequence[str]) -> list[str]:
    names: Sequence[Attribute | None] = [None] * len(defaults)
    if entries is not None:
        names = [entry.data.get(NAME) for entry in entries]
    return [name.data if isinstance(name, StringAttr) else own for name, own in zip(names, defaults, strict=True)]
