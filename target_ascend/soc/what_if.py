"""Chips that differ from a described one in some numbers: `hbm_bandwidth=2x,ub_size=512K`.

A number is named by its key in the chip file (`ddr.total_bytes_per_s`, `paths.l1->l0a.bytes_per_cycle`,
`vector.ops.vadd.per_repeat`) or by one of `ALIASES`, which scale what belongs together. A value is a factor (`2x`) or a number
with a unit. The changed chip is a chip file that extends the other one, checked like any other.
"""

from __future__ import annotations

import difflib
import re
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.soc.schema import allowed_range
from graph_engine.target_ascend.soc.soc import Soc, load_soc


@dataclass(frozen=True, slots=True)
class Number:
    """A number of a chip: where it stands in the file (and in a list), its value, what it may be."""

    key: str
    path: tuple[str, ...]
    index: int | None
    value: float
    low: float
    high: float
    whole: bool

    def fitted(self, value: float) -> float:
        """`value` as the file can hold it."""
        return round(value) if self.whole else value


@dataclass(frozen=True, slots=True)
class Alias:
    """A friendly name: the number that a value with a unit sets, what is scaled by the same factor, what it means.

    `summed`: a value with a unit is that of all of them together.
    """

    key: str
    along: tuple[str, ...]
    meaning: str
    summed: bool = False


ALIASES: dict[str, Alias] = {
    "hbm_bandwidth": Alias("ddr.total_bytes_per_s", ("paths.*@ddr.bytes_per_cycle",), "device memory, chip and cores"),
    "hbm_latency": Alias("paths.gm->l1@ddr.latency_cycles", ("paths.*@ddr.latency_cycles",), "first byte of a miss"),
    "l2_bandwidth": Alias("l2.total_bytes_per_cycle", ("paths.*@l2.bytes_per_cycle",), "the L2, chip and cores"),
    "l2_latency": Alias("paths.gm->l1@l2.latency_cycles", ("paths.*@l2.latency_cycles",), "first byte of a hit"),
    "l2_size": Alias("buffers.l2", (), "capacity of the L2"),
    "l1_size": Alias("buffers.l1", (), "bytes a core"),
    "ub_size": Alias("buffers.ub", (), "bytes a core"),
    "l0a_size": Alias("buffers.l0a", (), "bytes a core"),
    "l0b_size": Alias("buffers.l0b", (), "bytes a core"),
    "l0c_size": Alias("buffers.l0c", (), "bytes a core"),
    "l0_bandwidth": Alias(
        "paths.l1->l0a.bytes_per_cycle",
        ("paths.l1->l0b.bytes_per_cycle", "load3d.bytes_per_cycle"),
        "filling L0A and L0B",
    ),
    "cores": Alias("cores.aic", ("cores.aiv",), "AI Cores, with their Vector cores"),
    "frequency": Alias("freq_mhz.cube", ("freq_mhz.vec",), "clock of a core and of all that is counted in cycles"),
    "cube_rate": Alias("cube.tile.f16.m", ("cube.tile.*.m",), "rows that the Cube multiplies in a cycle"),
    "vector_rate": Alias("vector.repeat_bytes", ("vector.bytes_per_cycle",), "bytes of a repeat of the Vector"),
    "launch_overhead": Alias(
        "overheads.sw_init_us",
        ("overheads.hw_init_us", "overheads.aicore_scheduler_us", "overheads.completion_report_us"),
        "set-up and report of a launch",
        summed=True,
    ),
    "queue_depth": Alias("sync.queue_depth", (), "instructions that wait before an engine"),
    "aicpu_rate": Alias("aicpu.elements_per_us", (), "elements a microsecond on the AI CPU"),
}

SYNONYMS = {"ddr_bandwidth": "hbm_bandwidth", "ddr_latency": "hbm_latency", "clock": "frequency", "aicores": "cores"}

COMPILED = (
    "buffers.*",
    "alignment.*",
    "cores.*",
    "c0.*",
    "n0",
    "load3d.small_channels.*",
    "sync.event_ids",
    "limits.*",
)
"""Numbers that kernels are built by, so that another value is another program. The L2's size is none of them."""

_LISTS = {"cube.tile": ("m", "k", "n"), "vector.ops": ("per_repeat", "fixed")}
_BINARY, _DECIMAL = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}, {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def numbers(soc: Soc) -> dict[str, Number]:
    """Every number of a chip by its key."""
    return {number.key: number for number in _numbers(soc, (), {})}


def _numbers(value: Any, path: tuple[str, ...], hint: Any) -> Iterator[Number]:
    if is_dataclass(value) and not isinstance(value, type):
        hints = typing.get_type_hints(type(value), include_extras=True)
        for field in fields(value):
            if field.name != "validity":
                yield from _numbers(getattr(value, field.name), (*path, field.name), hints[field.name])
    elif isinstance(value, dict):
        for name, entry in typing.cast(dict[str, Any], value).items():
            yield from _numbers(entry, (*path, name), hint)
    elif isinstance(value, tuple):
        items = typing.cast(tuple[Any, ...], value)
        names = _LISTS.get(".".join(path[:2]), ())
        for index, (name, item) in enumerate(zip(names, items, strict=False)):
            yield _number(item, path, index, name, hint)
    elif type(value) in (int, float):
        yield _number(value, path, None, "", hint)


def _number(value: Any, path: tuple[str, ...], index: int | None, name: str, hint: Any) -> Number:
    low, high = allowed_range(hint)
    key = ".".join((*path, name)) if name else ".".join(path)
    return Number(key, path, index, value, low, high, type(value) is int)


@dataclass(frozen=True, slots=True)
class Change:
    """One `name=value` of a question, with the new values of all numbers that it stands for."""

    text: str
    name: str
    old: float
    new: float
    values: dict[str, float]

    @property
    def recompiles(self) -> bool:
        """Whether it changes a number that kernels are built by."""
        return any(fnmatchcase(key, pattern) for key in self.values for pattern in COMPILED if key != "buffers.l2")


def parse_changes(soc: Soc, text: str) -> list[Change]:
    """The changes of `name=value,name=value`. Raises GraphEngineError: unknown names with the nearest, wrong values."""
    found: list[Change] = []
    known = numbers(soc)
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not value:
            raise GraphEngineError(f"{part}: write name=value, as in hbm_bandwidth=2x or ub_size=512K")
        if any(change.name == name for change in found):
            raise GraphEngineError(f"{part}: {name} is given twice")
        found.append(change(soc, name, value, known))
    if not found:
        raise GraphEngineError("nothing to change: write name=value, as in hbm_bandwidth=2x or ub_size=512K")
    return found


def change(soc: Soc, name: str, value: str, known: Mapping[str, Number] | None = None) -> Change:
    """The change of one name. Raises GraphEngineError."""
    known = known or numbers(soc)
    alias = ALIASES.get(SYNONYMS.get(name, name))
    key = alias.key if alias is not None else name
    if key not in known:
        raise GraphEngineError(_unknown(soc, name, known))
    moved = [known[key]]
    for pattern in alias.along if alias is not None else ():
        moved += [number for number in known.values() if number not in moved and fnmatchcase(number.key, pattern)]
    old = sum(number.value for number in moved) if alias is not None and alias.summed else moved[0].value
    new = _value(moved[0], old, name, value)
    values: dict[str, float] = {}
    for number in moved:
        wanted = number.value * new / old if old else new
        values[number.key] = _in_range(number, name, value, new if number.value == old else wanted)
    for path, rate in values.items():  # no core moves more from device memory than through its L2
        near = path.replace("@ddr.bytes", "@l2.bytes")
        if alias is not None and near != path and near in known:
            values[path] = min(rate, known[near].value)
    return Change(f"{name}={value}", name, old, new if len(moved) > 1 else values[key], values)


def write_chip(base: str, changes: list[Change], folder: Path) -> str:
    """Path of a chip file that extends `base` (a name or a file) by the changes. Raises GraphEngineError."""
    soc = load_soc(base)
    known = numbers(soc)
    tree: dict[str, Any] = {}
    for key, value in {key: value for change in changes for key, value in change.values.items()}.items():
        number = known[key]
        section = tree
        for part in number.path[:-1]:
            section = section.setdefault(part, {})
        if number.index is None:
            section[number.path[-1]] = {"value": value, "assumed": "what if"}
        else:
            whole: Any = soc
            for part in number.path:
                whole = whole[part] if isinstance(whole, dict) else getattr(whole, part)
            leaf = section.setdefault(number.path[-1], {"value": list(whole), "assumed": "what if"})
            leaf["value"][number.index] = value
    import yaml

    file = Path(base)
    extends = file.resolve().with_suffix("").as_posix() if file.suffix in (".yaml", ".yml") else base
    path = folder / f"what-if-{len(list(folder.iterdir()))}.yaml"
    path.write_text(yaml.safe_dump({"extends": extends, "sources": {}, **tree}), encoding="utf-8")
    try:
        load_soc(str(path))
    except GraphEngineError as problem:
        asked = ",".join(change.text for change in changes)
        told = "; ".join(re.sub(r"^\S+?:\d+: ", "", line) for line in str(problem).splitlines())
        raise GraphEngineError(f"{asked}: {told}") from None
    return str(path)


def _value(number: Number, old: float, name: str, text: str) -> float:
    """What `text` makes of `old`, in the unit of `number`."""
    match = re.fullmatch(r"(\d+(?:\.\d*)?(?:e[+-]?\d+)?|\.\d+)\s*([A-Za-z/]*)", text)
    units = _units(number.key)
    if match is None:
        raise GraphEngineError(f"{name}={text}: expected a factor as in 2x, or a number{_spelt(units)}")
    amount, unit = float(match[1]), match[2]
    if unit in ("x", "X"):
        return amount * old
    if unit not in units:
        raise GraphEngineError(f"{name}={text}: unknown unit {unit!r}; expected x (times){_spelt(units)}")
    return amount * units[unit]


def _units(key: str) -> dict[str, float]:
    """Units of a number by name; "" alone where it has none."""
    found: dict[str, float] = {"": 1.0}
    if key.startswith("buffers.") or key == "ddr.size_bytes":
        found |= {unit + end: scale for unit, scale in _BINARY.items() for end in ("", "B", "iB")}
    elif key.endswith("_per_s"):
        found |= {unit + end: scale for unit, scale in _DECIMAL.items() for end in ("", "B/s", "B")}
    elif key.startswith("freq_mhz."):
        found |= {"MHz": 1.0, "GHz": 1e3}
    elif key.endswith("_us"):
        found |= {"ns": 1e-3, "us": 1.0, "ms": 1e3}
    return found


def _spelt(units: Mapping[str, float]) -> str:
    names = [unit for unit in units if unit]
    return f" with one of {', '.join(names)}" if names else ""


def _in_range(number: Number, name: str, text: str, value: float) -> float:
    fitted = number.fitted(value)
    if not number.low <= fitted <= number.high:
        raise GraphEngineError(
            f"{name}={text}: {number.key} would be {fitted:.12g}, which is out of range: {number.low:.12g} to {number.high:.12g} "
            f"(now {number.value:.12g})"
        )
    return fitted


def _unknown(soc: Soc, name: str, known: Mapping[str, Number]) -> str:
    names = [*ALIASES, *SYNONYMS, *known]
    near = difflib.get_close_matches(name, names, 1, 0.5) or [key for key in known if key.endswith(f".{name}")]
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"{soc.name} has no number {name!r}{hint} (names: {', '.join(ALIASES)}, or a key of the chip file)"
