"""GE's fusion switch file, in both of its forms, and counts of fusions in the form of its `fusion_result.json`.

    ConvBatchnormFusionPass:off             {"Switch": {"GraphFusion": {"ALL": "off", "ConvBatchnormFusionPass": "on"},
    fuse-reduction:off                                  "UBFusion": {"TbeEltwiseFusionPass": "off"}}}

A name is one of GE's, or of our passes, patterns or other rewrites (`pass/rewrite` where passes share one). `ALL` stands
for the fusions of its section, in the text form for those of both; a name beats `ALL`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from graph_engine.errors import GraphEngineError
from graph_engine.pipelines import ge_pass_names, registry
from graph_engine.pipelines.default import DEFAULT, Phase
from graph_engine.pipelines.spec import nearest, parse_pipeline
from graph_engine.transforms.switches import Switches

if TYPE_CHECKING:
    from graph_engine.pipelines.runner import RunReport

SWITCH_HELP = "GE's fusion switch file: NAME:on|off lines, or JSON; names of GE or of our passes and patterns"
RESULT_HELP = "write how often which fusion was made, as GE's fusion_result.json (-: to standard error)"
SECTIONS = ("GraphFusion", "UBFusion")

REQUIRED = frozenset({"ge-infer-shapes"})
"""Passes of the phases below that cannot be switched off: what comes later needs their work."""
OTHER_FORMS = frozenset({"expand-batch-norm", "expand-cum-sum", "expand-resize"})
"""Passes of the fused phase that fuse nothing, but write an operator in others that have kernels."""
_OPTIONAL_PHASES = (Phase.SIMPLIFIED, Phase.FUSED, Phase.GROUPED)
_OPTIONAL_ELSEWHERE = ("narrow-int64", "eliminate-transdata", "split-batch", "double-buffer")


@dataclass(frozen=True)
class Entry:
    """`name` is switched on or off; `section` is None in the text form."""

    section: str | None
    name: str
    on: bool


def read_switches(path: str) -> Switches:
    """The switches of a file; names that say nothing here are told on standard error. Raises GraphEngineError."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise GraphEngineError(f"--fusion-switch-file: cannot read '{path}': {reason}") from None
    entries = list(_json_entries(text, path) if text.lstrip().startswith("{") else _text_entries(text, path))
    names: dict[str, bool] = {}
    groups: dict[str, bool] = {}
    absent: list[str] = []
    for entry in entries:
        if entry.name == "ALL":
            groups |= _group(entry)
            groups.setdefault("fuse-epilogue", True)  # in a graph pass, but of the other section
            continue
        ours = _resolve(entry.name, entry.section)
        if ours is None:
            hint = nearest(entry.name, [*ge_pass_names.GRAPH, *ge_pass_names.UB, *switchable()])
            _tell("warning", path, f"no fusion is called '{entry.name}'{hint}; the line is ignored")
        elif not ours:
            absent.append(entry.name)
        elif not REQUIRED.isdisjoint(ours) or not all(name.split("/")[0] in switchable() for name in ours):
            if not entry.on:
                _tell("warning", path, f"'{entry.name}' cannot be switched off: later passes need what it does")
        else:
            names |= dict.fromkeys(ours, entry.on)
    if absent:
        _tell("note", path, f"nothing here corresponds to {', '.join(absent)}")
    return Switches(names, groups, path)


def _tell(kind: str, path: str, message: str) -> None:
    print(f"{kind}: --fusion-switch-file {path}: {message}", file=sys.stderr)


def _resolve(name: str, section: str | None) -> tuple[str, ...] | None:
    """Our names for an entry; none for a fusion of GE that we do not have; None for a name that nobody knows."""
    if all(part in registry.all_passes() or part in switchable() for part in name.split("/")):
        return (name,)
    return ge_pass_names.our_names(name, section)


def _group(entry: Entry) -> dict[str, bool]:
    """What `ALL` sets: the fusions of its section."""
    chosen: dict[str, bool] = {}
    sections = SECTIONS if entry.section is None else (entry.section,)
    if "GraphFusion" in sections:
        graph = {name for name in fusion_passes() if name not in ge_pass_names.UB_REWRITES}
        chosen |= dict.fromkeys((*graph, *ge_pass_names.FUSING_PATTERNS), entry.on)
    if "UBFusion" in sections:
        chosen |= dict.fromkeys(ge_pass_names.UB_REWRITES, entry.on)
    return chosen


@cache
def fusion_passes() -> tuple[str, ...]:
    """Passes that `ALL` stands for: those of the default pipeline's fused and grouped phases, and what recognises."""
    found: list[str] = []
    for phase, text in DEFAULT:
        for spec in parse_pipeline(text):
            recognises = phase is Phase.SIMPLIFIED and spec.name.startswith(("recognise-", "fuse-"))
            if (phase in (Phase.FUSED, Phase.GROUPED) or recognises) and spec.name not in OTHER_FORMS:
                found.append(spec.name)
    return tuple(found)


@cache
def switchable() -> tuple[str, ...]:
    """Names of passes, patterns and other rewrites that can be switched off."""
    in_default = {spec.name: phase for phase, text in DEFAULT for spec in parse_pipeline(text)}
    names: dict[str, None] = dict.fromkeys(ge_pass_names.UB_REWRITES)
    for name in registry.all_passes():
        if in_default.get(name, Phase.FUSED) in _OPTIONAL_PHASES or name in _OPTIONAL_ELSEWHERE:
            names[name] = None
            names |= dict.fromkeys(_patterns_of(name))
    return tuple(name for name in names if name not in REQUIRED)


def _patterns_of(pass_name: str) -> Iterator[str]:
    """The patterns that the file of a pass defines or lists; a base of several patterns has no name."""
    from graph_engine.transforms.driver import Pattern

    module = sys.modules[registry.load_pass(pass_name).__module__]
    for item in (*vars(module).values(), *getattr(module, "PATTERNS", ())):
        if isinstance(item, type) and issubclass(item, Pattern) and hasattr(item, "name"):
            yield item.name


def _text_entries(text: str, path: str) -> Iterator[Entry]:
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if line and not line.startswith("#"):
            name, colon, value = (part.strip() for part in line.rpartition(":"))
            if not colon or not name:
                raise GraphEngineError(f"{path}:{number}: error: expected NAME:on or NAME:off, found '{line}'")
            yield Entry(None, name, _is_on(value, name, f"{path}:{number}"))


def _json_entries(text: str, path: str) -> Iterator[Entry]:
    try:
        whole = json.loads(text)
    except json.JSONDecodeError as error:
        raise GraphEngineError(f"{path}:{error.lineno}:{error.colno}: error: not JSON: {error.msg}") from None

    def place(key: str) -> str:
        before = text.partition(json.dumps(key, ensure_ascii=False))[0]
        return f"{path}:{before.count(chr(10)) + 1}"

    for key in whole:
        if key != "Switch":
            _tell("warning", path, f"'{key}' is ignored: passes run in the order of the pipeline")
    for section, entries in _mapping(whole.get("Switch"), "Switch", f"{path}:1").items():
        if section not in SECTIONS:
            hint = nearest(section, SECTIONS) or f"; sections: {', '.join(SECTIONS)}"
            raise GraphEngineError(f"{place(section)}: error: unknown section '{section}'{hint}")
        for name, value in _mapping(entries, section, place(section)).items():
            yield Entry(section, name, _is_on(value, name, place(name)))


def _mapping(value: Any, name: str, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise GraphEngineError(f'{where}: error: expected an object under "{name}"')
    return cast(dict[str, Any], value)


def _is_on(value: Any, name: str, where: str) -> bool:
    if value not in ("on", "off"):
        raise GraphEngineError(f"{where}: error: '{name}' is '{value}', expected on or off")
    return value == "on"


def fusion_counts(reports: Sequence[RunReport]) -> dict[str, Any]:
    """What each graph's fusions did, in the form of GE's `fusion_result.json`: counts are strings.

    A rewrite that matches is made: both counts are equal. There is no repository of kernels to hit.
    """
    result: dict[str, Any] = {}
    for graph, report in enumerate(reports):
        graph_fusion: dict[str, int] = {}
        ub_fusion: dict[str, int] = {}
        for step in report.steps:
            for name, count in step.rewrites.items():
                is_ub = name in ge_pass_names.UB_REWRITES
                if is_ub or step.name in fusion_passes() or name in ge_pass_names.FUSING_PATTERNS:
                    counts = ub_fusion if is_ub else graph_fusion
                    shown = ge_pass_names.counted_as(step.name, name)
                    counts[shown] = counts.get(shown, 0) + count
        result[f"session_and_graph_id_0_{graph}"] = {
            "graph_fusion": {
                name: {"effect_times": str(count), "match_times": str(count)} for name, count in graph_fusion.items()
            },
            "ub_fusion": {
                name: {"effect_times": str(count), "match_times": str(count), "repository_hit_times": "0"}
                for name, count in ub_fusion.items()
            },
        }
    return result


def write_fusion_result(path: str | None, reports: Sequence[RunReport]) -> None:
    """Write `fusion_counts` to `path` (`-`: standard error), if there is one. Raises GraphEngineError."""
    if path is None:
        return
    text = json.dumps(fusion_counts(reports), indent=2) + "\n"
    if path == "-":
        sys.stderr.write(text)
        return
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise GraphEngineError(f"cannot write '{path}': {error.strerror}") from None
