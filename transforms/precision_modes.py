"""The precision modes, and the files in which a user names what keeps its type; read without xDSL.

`modify-mixlist` is a JSON object of up to three lists, each with operators to add and to remove; an operator is an ONNX
type (`Softmax`) or one of ours (`ge.softmax`):

    {"black-list": {"to-add": ["Softmax"], "to-remove": ["ReduceMean"]}, "white-list": {"to-add": ["Relu"]}}

`keep-dtype` is a text with one node name a line, or `OpType::Softmax` for all nodes of a type.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from graph_engine.errors import GraphEngineError

FORCE_FP16, ORIGIN = "force_fp16", "must_keep_origin_dtype"
MIXED, CUBE_ONLY = "allow_mix_precision", "allow_fp32_to_fp16"

MODES = {
    FORCE_FP16: "everything that is fp32 computes in fp16",
    ORIGIN: "every operator computes in the type that the model gives it",
    MIXED: "white list in fp16, black list as in the model, the rest as its producers",
    CUBE_ONLY: "convolutions and matrix products in fp16, the rest as in the model",
}

ALIASES = {
    "fp16": FORCE_FP16,
    "origin": ORIGIN,
    "allow_mix_precision_fp16": MIXED,
    "mixed_float16": MIXED,
}
"""Other names: those of precision_mode_v2, and the longer one of allow_mix_precision."""

NOT_OFFERED = (
    "force_fp32",
    "cube_fp16in_fp32out",
    "allow_mix_precision_bf16",
    "mixed_bfloat16",
    "mixed_hif8",
    "cube_hif8",
)

LISTS = ("black-list", "white-list", "gray-list")
_CHANGES = ("to-add", "to-remove")
_OF_TYPE = "OpType::"


def mode_named(name: str) -> str:
    """The mode of that name or alias. Raises GraphEngineError with the nearest name."""
    if name in MODES:
        return name
    if name in ALIASES:
        return ALIASES[name]
    names = [*MODES, *ALIASES]
    close = [] if name in NOT_OFFERED else get_close_matches(name, names, n=1)
    if close:
        raise GraphEngineError(f"unknown precision mode '{name}', did you mean '{close[0]}'?")
    what = f"precision mode '{name}' is not offered" if name in NOT_OFFERED else f"unknown precision mode '{name}'"
    raise GraphEngineError(f"{what}; modes: {', '.join(names)}")


def check_precision_options(mode: str, mixlist: str = "", keep_dtype: str = "") -> None:
    """Raises GraphEngineError for an unknown mode, a file that cannot be read, and lists for a mode without any."""
    canonical = mode_named(mode)
    if mixlist and canonical != MIXED:
        raise GraphEngineError(f"modify-mixlist changes the lists of precision mode {MIXED}, not of {canonical}")
    if mixlist:
        read_mixlist(mixlist)
    if keep_dtype:
        read_keep_dtype(keep_dtype)


@dataclass(frozen=True)
class Mixlist:
    """Changes to the lists of the mixed mode: list name -> operators."""

    add: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    remove: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])

    def names(self) -> list[str]:
        """Every operator that is named, in order of the alphabet."""
        return sorted(frozenset[str]().union(*self.add.values(), *self.remove.values()))


def read_mixlist(path: str) -> Mixlist:
    """The changes that a JSON file asks for. Raises GraphEngineError for one of another form."""
    try:
        content: Any = json.loads(_read(path))
    except ValueError as problem:
        raise GraphEngineError(f"{path}: not JSON: {problem}") from None
    changes: dict[str, dict[str, frozenset[str]]] = {change: {} for change in _CHANGES}
    for name, entry in _object(path, "the file", content, LISTS).items():
        for change, operators in _object(path, f"'{name}'", entry, _CHANGES).items():
            if not isinstance(operators, list) or not all(isinstance(operator, str) for operator in operators):
                raise GraphEngineError(f"{path}: '{change}' of '{name}' is no list of operator names")
            changes[change][name] = frozenset(operators)
    added = sorted(operator for operators in changes["to-add"].values() for operator in operators)
    for first, second in zip(added, added[1:], strict=False):
        if first == second:
            raise GraphEngineError(f"{path}: '{first}' is added to two lists")
    return Mixlist(changes["to-add"], changes["to-remove"])


def _object(path: str, what: str, value: Any, keys: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise GraphEngineError(f"{path}: {what} is no object with {', '.join(keys)}")
    for key in value:
        if key not in keys:
            close = get_close_matches(key, keys, n=1)
            hint = f", did you mean '{close[0]}'?" if close else f"; known: {', '.join(keys)}"
            raise GraphEngineError(f"{path}: {what} has an unknown entry '{key}'{hint}")
    return value


def read_keep_dtype(path: str) -> tuple[list[str], list[str]]:
    """Node names and operator types of a keep-dtype file, in order."""
    lines = [line.strip() for line in _read(path).splitlines()]
    types = [line.removeprefix(_OF_TYPE).strip() for line in lines if line.startswith(_OF_TYPE)]
    return [line for line in lines if line and not line.startswith(_OF_TYPE)], types


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError as problem:
        raise GraphEngineError(f"cannot read {path}: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise GraphEngineError(f"{path}: not a text in UTF-8") from None
