"""Writes what passes remarked: text for a reader, or YAML in the form of LLVM's optimisation records for a script.

--- !Missed
Pass: fuse-conv-bn-relu
Name: NotFused
Operator: ge.conv2d
Nodes: [{name: conv1, type: Conv}]
Message: its result is also read by 'pool1'
Args: {guard: single-user}
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

from graph_engine.errors import GraphEngineError

if TYPE_CHECKING:
    from graph_engine.transforms.remarks import Kind, Remark

TO_STDERR = "-"
"""The value of --remarks that asks for text on standard error."""
OPTION_HELP = "explain decisions: as text on standard error, with =FILE as YAML"
FILTER_HELP = "only remarks whose 'Kind pass Name' this regular expression is found in, e.g. 'Missed fuse-'"


@dataclass(frozen=True)
class RemarkReport:
    """Where remarks go (None: nowhere, `-`: text to standard error, else a YAML file), and which ones."""

    target: str | None = None
    pattern: str = ""

    def __post_init__(self) -> None:
        try:
            re.compile(self.pattern)
        except re.error as error:
            raise GraphEngineError(f"--remarks-filter: '{self.pattern}' is no regular expression: {error}") from None

    def kinds(self) -> frozenset[Kind]:
        """The kinds that passes have to remark: warnings always."""
        from graph_engine.transforms.remarks import Kind

        return frozenset({Kind.WARNING}) if self.target is None else frozenset(Kind)

    def chosen(self, remarks: Iterable[Remark]) -> list[Remark]:
        """The remarks that the filter lets through, in the order of the passes."""
        found = re.compile(self.pattern).search
        return [remark for remark in remarks if found(f"{remark.kind.title} {remark.pass_name} {remark.name}")]

    def write(self, remarks: Sequence[Remark]) -> None:
        """Write the chosen remarks. Raises GraphEngineError if the file cannot be written."""
        if self.target is None:
            return
        try:
            with _opened(self.target) as file:
                (write_text if self.target == TO_STDERR else write_yaml)(self.chosen(remarks), file)
        except OSError as error:
            raise GraphEngineError(f"cannot write '{self.target}': {error.strerror}") from None


def _opened(target: str) -> AbstractContextManager[TextIO]:
    return nullcontext(sys.stderr) if target == TO_STDERR else open(target, "w", encoding="utf-8")


def write_text(remarks: Iterable[Remark], file: TextIO) -> None:
    """One line a remark: `missed: node 'conv1' (Conv): its result is also read by 'pool1' [fuse-conv-bn-relu]`."""
    for remark in remarks:
        file.write(f"{remark.kind.title.lower()}: {remark}\n")


def write_yaml(remarks: Iterable[Remark], file: TextIO) -> None:
    """One YAML document a remark, tagged with its kind."""
    import yaml

    for remark in remarks:
        file.write(f"--- !{remark.kind.title}\n")
        yaml.safe_dump(as_mapping(remark), file, sort_keys=False, allow_unicode=True, default_flow_style=None)


def as_mapping(remark: Remark) -> dict[str, Any]:
    """A remark as plain data: Pass, Name, Operator, Nodes (name and ONNX type each), Message, Args if there are any."""
    mapping: dict[str, Any] = {
        "Pass": remark.pass_name,
        "Name": remark.name,
        "Operator": remark.op,
        "Nodes": [{"name": node.name, "type": node.op_type} for node in remark.nodes],
        "Message": remark.message,
    }
    if remark.args:
        mapping["Args"] = dict(remark.args)
    return mapping
