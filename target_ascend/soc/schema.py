"""Reads a chip description: the dataclasses of `soc` are its schema, errors carry file and line."""

from __future__ import annotations

import difflib
import typing
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import yaml

from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.soc.soc import Assumption, Soc, Validity

_LEAF_KEYS = ("value", "source", "assumed", "assumed_from", "note")
_KINDS = {int: "an integer", float: "a number", str: "a string", bool: "true or false"}


def read_soc(path: Path) -> Soc:
    """Parses and checks one file. Raises GraphEngineError `file:line: key: what is wrong`."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        root = yaml.compose(path.read_text(encoding="utf-8"), Loader=loader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise GraphEngineError(f"{path}:{line}: {error.problem}") from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise GraphEngineError(f"{path}: {error}") from None
    return _Reader(path).read(root)


class _Reader:
    """Walks the YAML nodes (they know their lines) along the dataclasses' type hints."""

    def __init__(self, path: Path):
        self.path = path
        self.sources: tuple[str, ...] = ()
        self.values = 0
        self.assumptions: list[Assumption] = []

    def read(self, root: Any) -> Soc:
        if root is None:
            raise GraphEngineError(f"{self.path}:1: the file is empty")
        top = self.mapping(root, "")
        if "sources" not in top:
            raise self.error(root, "sources", "is missing")
        self.sources = tuple(self.mapping(top.pop("sources"), "sources"))
        built = self.struct(root, top, Soc, "", skip=("validity",))
        built["validity"] = Validity(self.values, tuple(self.assumptions))
        soc = Soc(**built)
        self.cross_check(soc, top)
        return soc

    def error(self, node: Any, key: str, problem: str) -> GraphEngineError:
        where = f"{key}: " if key else ""
        return GraphEngineError(f"{self.path}:{node.start_mark.line + 1}: {where}{problem}")

    def mapping(self, node: Any, key: str) -> dict[str, Any]:
        """Keys to value nodes; refuses other kinds of node and repeated keys."""
        if not isinstance(node, yaml.MappingNode):
            raise self.error(node, key, "expected a mapping")
        entries: dict[str, Any] = {}
        for name, value in node.value:
            if name.value in entries:
                raise self.error(name, f"{key}.{name.value}".lstrip("."), "is given twice")
            entries[name.value] = value
        return entries

    def struct(
        self, node: Any, entries: dict[str, Any], cls: type[Any], key: str, skip: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        """Arguments for dataclass `cls`; refuses missing and unknown keys."""
        hints = typing.get_type_hints(cls)
        names = [f.name for f in fields(cls) if f.name not in skip]
        for name in entries:
            if name not in names:
                near = difflib.get_close_matches(name, names, 1)
                hint = f"; did you mean {near[0]}?" if near else f"; expected {', '.join(names)}"
                raise self.error(entries[name], f"{key}.{name}".lstrip("."), f"unknown key{hint}")
        for name in names:
            if name not in entries:
                raise self.error(node, f"{key}.{name}".lstrip("."), "is missing")
        return {name: self.build(entries[name], hints[name], f"{key}.{name}".lstrip(".")) for name in names}

    def build(self, node: Any, hint: Any, key: str) -> Any:
        if is_dataclass(hint) and isinstance(hint, type):
            return hint(**self.struct(node, self.mapping(node, key), hint, key))
        if typing.get_origin(hint) is dict:
            element = typing.get_args(hint)[1]
            return {
                name: self.build(value, element, f"{key}.{name}") for name, value in self.mapping(node, key).items()
            }
        return self.leaf(node, hint, key)

    def leaf(self, node: Any, hint: Any, key: str) -> Any:
        """A value with its origin; counts it and notes it when it is assumed."""
        if not isinstance(node, yaml.MappingNode):
            raise self.error(node, key, "a bare value; write {value: ..., source: ...} or {value: ..., assumed: why}")
        entries = self.mapping(node, key)
        for name, entry in entries.items():
            if name not in _LEAF_KEYS:
                raise self.error(entry, key, f"unknown key {name!r}; expected {', '.join(_LEAF_KEYS)}")
        if "value" not in entries:
            raise self.error(node, key, "has no value")
        texts = {name: self.check(entry, str, key) for name, entry in entries.items() if name != "value"}
        if "source" not in texts and "assumed" not in texts:
            raise self.error(node, key, "has neither a source nor a reason why it is assumed")
        if "source" in texts and texts["source"] not in self.sources:
            raise self.error(entries["source"], key, f"source {texts['source']!r} is not listed under sources")
        self.values += 1
        if "assumed" in texts or "assumed_from" in texts:
            reason = texts.get("assumed") or texts.get("note", "")
            self.assumptions.append(Assumption(key, node.start_mark.line + 1, texts.get("assumed_from"), reason))
        return self.check(entries["value"], hint, key)

    def check(self, node: Any, hint: Any, key: str) -> Any:
        """The plain value of `node`, which must be of type `hint`."""
        if typing.get_origin(hint) is tuple:
            arguments = typing.get_args(hint)
            if not isinstance(node, yaml.SequenceNode):
                raise self.error(node, key, "expected a list")
            if arguments[-1] is Ellipsis:
                arguments = arguments[:1] * len(node.value)
            if len(arguments) != len(node.value):
                raise self.error(node, key, f"expected {len(arguments)} values, found {len(node.value)}")
            return tuple(self.check(item, kind, key) for item, kind in zip(node.value, arguments, strict=True))
        if not isinstance(node, yaml.ScalarNode):
            raise self.error(node, key, f"expected {_KINDS[hint]}")
        value: Any = yaml.SafeLoader("").construct_object(node)
        if hint is float and type(value) is int:
            value = float(value)
        if type(value) is not hint:
            raise self.error(node, key, f"expected {_KINDS[hint]}, found {node.value!r}")
        if hint in (int, float) and value < 0:
            raise self.error(node, key, f"must not be negative, found {node.value}")
        return value

    def cross_check(self, soc: Soc, top: dict[str, Any]) -> None:
        """What types cannot say: names that refer to each other, and numbers that are divided by."""
        for name, path in soc.paths.items():
            node = self.mapping(top["paths"], "paths")[name]
            if path.pipe not in soc.pipes:
                raise self.error(
                    node, f"paths.{name}.pipe", f"{path.pipe} is not one of the pipes {', '.join(soc.pipes)}"
                )
            if path.bytes_per_cycle == 0:
                raise self.error(node, f"paths.{name}.bytes_per_cycle", "must be positive")
            if "gm" in name.partition("@")[0].split("->") and name.partition("@")[2] not in ("l2", "ddr"):
                raise self.error(node, f"paths.{name}", "a path to device memory ends in @l2 or @ddr")
        positive = {
            "cores": soc.cores.aic,
            "freq_mhz": min(soc.freq_mhz.cube, soc.freq_mhz.vec),
            "ddr": soc.ddr.total_bytes_per_s,
            "sync": min(soc.sync.event_ids, soc.sync.queue_depth),
            "vector": min(soc.vector.bytes_per_cycle, soc.vector.repeat_bytes),
            "c0": min(soc.c0.values(), default=1),
            "alignment": min(soc.alignment.values(), default=1),
        }
        for key, value in positive.items():
            if not value:
                raise self.error(top[key], key, "must be positive")
