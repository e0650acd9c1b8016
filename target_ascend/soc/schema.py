"""Reads a chip description: the dataclasses of `soc` are its schema, errors carry file, line and allowed range.

A file may extend another one: `nodes.compose_chip` joins the two into one tree, whose nodes still know the file and
the line that they come from. All problems of a file are told at once.
"""

from __future__ import annotations

import difflib
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import yaml

from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.soc.contradictions import contradictions
from graph_engine.target_ascend.soc.nodes import LEAF_KEYS, compose_chip, mapping, place
from graph_engine.target_ascend.soc.soc import Assumption, Soc, Validity

_KINDS = {int: "an integer", float: "a number", str: "a string", bool: "true or false"}
_LARGEST = 1 << 48
"""No number of a chip is larger."""


def read_soc(path: Path) -> Soc:
    """Parses and checks one file. Raises GraphEngineError, a line `file:line: key: what is wrong` for each problem."""
    reader = _Reader()
    try:
        soc = reader.read(compose_chip(path))
    except _Problem as problem:
        reader.problems.append(str(problem))
        soc = None
    if soc is None or reader.problems:
        raise GraphEngineError("\n".join(dict.fromkeys(reader.problems)))
    return soc


class _Problem(Exception):
    """One wrong place; the reader goes on with the next."""


class _Reader:
    """Walks the YAML nodes (they know their lines) along the dataclasses' type hints."""

    def __init__(self) -> None:
        self.sources: tuple[str, ...] = ()
        self.values = 0
        self.assumptions: list[Assumption] = []
        self.problems: list[str] = []

    def read(self, root: Any) -> Soc | None:
        """The chip, or None with `problems`."""
        top = mapping(root, "")
        if "sources" not in top:
            raise self.error(root, "sources", "is missing")
        self.sources = tuple(mapping(top.pop("sources"), "sources"))
        built = self.struct(root, top, Soc, "", skip=("validity",))
        if self.problems:
            return None
        built["validity"] = Validity(self.values, tuple(self.assumptions))
        soc = Soc(**built)
        for key, problem in contradictions(soc):
            node: Any = root
            for part in key.split("/"):
                node = mapping(node, "").get(part, node)
            self.problems.append(str(self.error(node, key.replace("/", "."), problem)))
        return soc

    def error(self, node: Any, key: str, problem: str) -> _Problem:
        return _Problem(f"{place(node)}: {f'{key}: ' if key else ''}{problem}")

    def struct(
        self, node: Any, entries: dict[str, Any], cls: type[Any], key: str, skip: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        """Arguments for dataclass `cls`; notes missing and unknown keys."""
        hints, annotated = typing.get_type_hints(cls), typing.get_type_hints(cls, include_extras=True)
        wanted = {f.name: _metadata(annotated[f.name]) for f in fields(cls) if f.name not in skip}
        for name in entries:
            if name not in wanted:
                near = difflib.get_close_matches(name, wanted, 1)
                hint = f"; did you mean {near[0]}?" if near else f"; expected {', '.join(wanted)}"
                self.note(self.error(entries[name], f"{key}.{name}".lstrip("."), f"unknown key{hint}"))
        built: dict[str, Any] = {}
        for name, metadata in wanted.items():
            at = f"{key}.{name}".lstrip(".")
            if name not in entries:
                self.note(self.error(node, at, f"is missing; {_expected(hints[name], metadata)}"))
                continue
            try:
                built[name] = self.build(entries[name], hints[name], at, metadata)
            except _Problem as problem:
                self.note(problem)
        return built

    def note(self, problem: _Problem) -> None:
        self.problems.append(str(problem))

    def build(self, node: Any, hint: Any, key: str, metadata: Mapping[str, Any]) -> Any:
        if is_dataclass(hint) and isinstance(hint, type):
            before = len(self.problems)
            arguments = self.struct(node, mapping(node, key), hint, key)
            return hint(**arguments) if len(self.problems) == before else None
        if typing.get_origin(hint) is dict:
            element = typing.get_args(hint)[1]
            return {
                name: self.build(value, element, f"{key}.{name}", metadata)
                for name, value in mapping(node, key).items()
            }
        return self.leaf(node, hint, key, metadata)

    def leaf(self, node: Any, hint: Any, key: str, metadata: Mapping[str, Any]) -> Any:
        """A value with its origin; counts it and notes it when it is assumed."""
        if not isinstance(node, yaml.MappingNode):
            raise self.error(node, key, "a bare value; write {value: ..., source: ...} or {value: ..., assumed: why}")
        entries = mapping(node, key)
        for name, entry in entries.items():
            if name not in LEAF_KEYS:
                raise self.error(entry, key, f"unknown key {name!r}; expected {', '.join(LEAF_KEYS)}")
        if "value" not in entries:
            raise self.error(node, key, "has no value")
        texts = {name: self.check(entry, str, key, {}) for name, entry in entries.items() if name != "value"}
        if "source" not in texts and "assumed" not in texts:
            raise self.error(node, key, "has neither a source nor a reason why it is assumed")
        if "source" in texts and texts["source"] not in self.sources:
            raise self.error(entries["source"], key, f"source {texts['source']!r} is not listed under sources")
        value = self.check(entries["value"], hint, key, metadata)
        self.values += 1
        if "assumed" in texts or "assumed_from" in texts:
            reason = texts.get("assumed") or texts.get("note", "")
            origin = texts.get("assumed_from")
            self.assumptions.append(Assumption(key, place(node), value, origin, texts.get("source", ""), reason))
        return value

    def check(self, node: Any, hint: Any, key: str, metadata: Mapping[str, Any]) -> Any:
        """The plain value of `node`, which must be of type `hint` and in the range that the schema allows."""
        if typing.get_origin(hint) is tuple:
            arguments = typing.get_args(hint)
            if not isinstance(node, yaml.SequenceNode):
                raise self.error(node, key, f"expected a list; {_expected(hint, metadata)}")
            if arguments[-1] is Ellipsis:
                arguments = arguments[:1] * len(node.value)
            if len(arguments) != len(node.value):
                raise self.error(node, key, f"expected {len(arguments)} values, found {len(node.value)}")
            return tuple(
                self.check(item, kind, key, metadata) for item, kind in zip(node.value, arguments, strict=True)
            )
        if not isinstance(node, yaml.ScalarNode):
            raise self.error(node, key, f"expected {_KINDS[hint]}")
        value: Any = yaml.SafeLoader("").construct_object(node)
        if hint is float and type(value) is int:
            value = float(value)
        if type(value) is not hint:
            raise self.error(node, key, f"expected {_KINDS[hint]}, found {node.value!r}; {_expected(hint, metadata)}")
        choices = metadata.get("choices")
        if choices and value not in choices:
            raise self.error(node, key, f"{value!r} is not one of {', '.join(choices)}")
        low, high = _range(metadata)
        if hint in (int, float) and not low <= value <= high:
            raise self.error(node, key, f"{node.value} is out of range: {low} to {high}")
        return value


def allowed_range(hint: Any) -> tuple[float, float]:
    """The lowest and the highest number that a field with this type hint of the schema may hold."""
    return _range(_metadata(hint))


def _range(metadata: Mapping[str, Any]) -> tuple[float, float]:
    return metadata.get("range", (0, _LARGEST))


def _metadata(hint: Any) -> Mapping[str, Any]:
    """What an `Annotated` type of the schema says beside the type."""
    return hint.__metadata__[0] if typing.get_origin(hint) is typing.Annotated else {}


def _expected(hint: Any, metadata: Mapping[str, Any]) -> str:
    """What a value of the schema may be, in words."""
    if is_dataclass(hint) and isinstance(hint, type):
        return f"a section with {', '.join(f.name for f in fields(hint))}"
    if typing.get_origin(hint) is dict:
        return "a section by names"
    many = typing.get_origin(hint) is tuple
    kind: Any = typing.get_args(hint)[0] if many else hint
    if "choices" in metadata:
        return f"{'of' if many else 'one of'} {', '.join(metadata['choices'])}"
    low, high = _range(metadata)
    words = _KINDS[kind] if kind not in (int, float) else f"{_KINDS[kind]} from {low} to {high}"
    return f"a list, each {words}" if many else words
