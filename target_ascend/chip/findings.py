"""What checking mode reports, and the log that collects it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from graph_engine.target_ascend.om.program import SourceNode


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong. `instruction_index` counts the kernel's instructions in program text, from 0;
    it is -1 (and `mnemonic` empty) where no single instruction is to blame."""

    kind: str
    kernel: str
    instruction_index: int
    mnemonic: str
    buffer: str
    task: str
    source_nodes: tuple[SourceNode, ...]
    message: str

    def __str__(self) -> str:
        place = (
            f"{self.kernel}: instruction {self.instruction_index} ({self.mnemonic})" if self.mnemonic else self.kernel
        )
        parts = [place] if place else []
        parts += [f"buffer {self.buffer}"] if self.buffer else []
        parts += [f"task {self.task}"] if self.task else []
        if self.source_nodes:
            parts.append("from " + ", ".join(node.name for node in self.source_nodes))
        return f"{self.kind}: {self.message} [{'; '.join(parts)}]"


@dataclass(slots=True)
class FindingLog:
    """Findings of a run, equal ones once, with the launch that is going on as their context."""

    findings: list[Finding] = field(default_factory=list[Finding])
    kernel: str = ""
    task: str = ""
    source_nodes: tuple[SourceNode, ...] = ()
    mnemonics: dict[tuple[str, int], str] = field(default_factory=dict[tuple[str, int], str])
    """Of every checked instruction, by kernel and number."""
    _seen: set[tuple[Any, ...]] = field(default_factory=set[tuple[Any, ...]])

    def context(self, kernel: str, task: str, source_nodes: tuple[SourceNode, ...]) -> None:
        """What the following findings are about; an empty kernel for a task outside the cores."""
        self.kernel, self.task, self.source_nodes = kernel, task, source_nodes

    def mnemonic(self, number: int) -> str:
        """Of an instruction of the current kernel."""
        return self.mnemonics.get((self.kernel, number), "")

    def report(self, kind: str, message: str, number: int = -1, buffer: str = "") -> None:
        """Adds a finding unless one of its kind is known for the same instruction, buffer and task."""
        kernel = self.kernel if number >= 0 else ""
        key = (kind, kernel, number, buffer, self.task)
        if key in self._seen:
            return
        self._seen.add(key)
        mnemonic = self.mnemonic(number)
        self.findings.append(Finding(kind, kernel, number, mnemonic, buffer, self.task, self.source_nodes, message))
