"""Global memory between those that run at the same time: pipes and blocks of a launch, and tasks.

Accesses are collected as byte intervals and compared after the fact, since blocks and tasks are run one by one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from graph_engine.target_ascend.chip.findings import FindingLog
from graph_engine.target_ascend.chip.footprint import Footprint, IntArray, Intervals, merge
from graph_engine.target_ascend.chip.memory import Memory
from graph_engine.target_ascend.chip.races import pipe_name

Touched: TypeAlias = dict[tuple[int, bool], Intervals]
"""Bytes by memory (its identity) and whether they were written."""


@dataclass(slots=True)
class Record:
    """An access of an instruction to global memory. `known` is the vector clock of its pipe at that time."""

    memory: Memory
    offset: int
    footprint: Footprint
    buffer: str
    number: int
    write: bool
    pipe: int
    time: int
    known: list[int]

    @property
    def verb(self) -> str:
        """For messages."""
        return _verb(self.write)

    def spans(self) -> tuple[IntArray, IntArray]:
        """Starts and ends of the bytes touched."""
        starts = self.footprint.starts + self.offset
        return starts, starts + self.footprint.run

    def intervals(self) -> Intervals:
        """The bytes touched."""
        return self.footprint.intervals(self.offset)


@dataclass(slots=True)
class _Task:
    """`ancestors` is a bit set of the numbers of the tasks that ended before."""

    name: str
    number: int
    ancestors: int
    touched: Touched = field(default_factory=dict[tuple[int, bool], Intervals])


class GlobalOrder:
    """Finds bytes used by two that are not ordered, at least one of them writing."""

    def __init__(self, log: FindingLog) -> None:
        self._log = log
        self._records: list[Record] = []
        self._blocks: list[tuple[list[Record], Touched]] = []
        self._tasks: list[_Task] = []
        self._by_name: dict[str, _Task] = {}
        self._names: dict[int, str] = {}

    @property
    def task(self) -> str | None:
        """Name of the task that runs now; None before the first."""
        return self._tasks[-1].name if self._tasks else None

    def begin_task(self, name: str, after: Iterable[str] | None) -> None:
        """The accesses that follow belong to task `name`, which follows the tasks `after` (None: all)."""
        ancestors = 0
        for task in self._tasks if after is None else [self._by_name[other] for other in after]:
            ancestors |= task.ancestors | 1 << task.number
        task = _Task(name, len(self._tasks), ancestors)
        self._tasks.append(task)
        self._by_name[name] = task

    def begin_launch(self) -> None:
        """Forgets the blocks of the launch before."""
        self._blocks, self._records = [], []

    def begin_block(self) -> None:
        """A block starts."""
        self._records = []

    def record(self, record: Record) -> None:
        """Notes an access of the current block."""
        self._names[id(record.memory)] = record.memory.name
        self._records.append(record)

    def end_block(self) -> None:
        """Reports races between the block's own pipes."""
        groups: dict[tuple[int, bool], list[Record]] = {}
        for record in self._records:
            groups.setdefault((id(record.memory), record.write), []).append(record)
        self._blocks.append((self._records, {key: _union(records) for key, records in groups.items()}))
        for (memory, write), records in groups.items():
            if write:
                self._compare_pipes(records + groups.get((memory, False), []))

    def _compare_pipes(self, records: list[Record]) -> None:
        """Each pipe's writes against whatever the other pipes touch; one by one only where they meet."""
        pipes = sorted({record.pipe for record in records})
        position = {id(record): i for i, record in enumerate(self._records)}
        for pipe in pipes:
            writes = [r for r in records if r.pipe == pipe and r.write]
            for other in pipes:
                theirs = [r for r in records if r.pipe == other]
                if other == pipe or not writes or _union(writes).overlap(_union(theirs)) is None:
                    continue
                for mine in writes:
                    for their in theirs:
                        first = position[id(mine)] < position[id(their)]
                        self._compare_pair(*((mine, their) if first else (their, mine)))

    def _compare_pair(self, earlier: Record, later: Record) -> None:
        if later.known[earlier.pipe] >= earlier.time:
            return
        both = later.intervals().overlap(earlier.intervals())
        if both is not None:
            self._log.report(
                "pipe-race",
                f"{later.verb} byte {both[0]} of {later.memory.name} on {pipe_name(later.pipe)}, not ordered after the "
                f"{'write' if earlier.write else 'read'} of instruction {earlier.number} "
                f"({self._log.mnemonic(earlier.number)}) on {pipe_name(earlier.pipe)}",
                later.number,
                later.buffer,
            )

    def end_launch(self) -> None:
        """Reports races between the launch's blocks, then with concurrent tasks."""
        parts: dict[tuple[int, bool], list[Intervals]] = {}
        for block, (records, touched) in enumerate(self._blocks):
            for key, intervals in touched.items():
                parts.setdefault(key, []).append(intervals)
                for other in range(block):
                    whom = f"block {other}"
                    self._compare(
                        "block-race", f"block {block} ", whom, key, intervals, self._blocks[other][1], records
                    )
        union = {key: merge([i.starts for i in every], [i.ends for i in every]) for key, every in parts.items()}
        self._compare_tasks(union, [record for records, _ in self._blocks for record in records])
        self.begin_launch()

    def host(self, ranges: Iterable[tuple[Memory, int, int, bool]]) -> None:
        """A task outside the cores touched (memory, first byte, one past the last, whether it wrote)."""
        grouped: dict[tuple[int, bool], list[tuple[int, int]]] = {}
        for memory, first, last, write in ranges:
            self._names[id(memory)] = memory.name
            grouped.setdefault((id(memory), write), []).append((first, last))
        touched = {
            key: merge([np.array([a]) for a, _ in p], [np.array([b]) for _, b in p]) for key, p in grouped.items()
        }
        self._compare_tasks(touched, [])

    def _compare_tasks(self, touched: Touched, records: list[Record]) -> None:
        current = self._tasks[-1]
        for other in self._tasks[:-1]:
            if not current.ancestors >> other.number & 1:
                for key, intervals in touched.items():
                    whom = f"the concurrent task {other.name}"
                    self._compare("task-race", "", whom, key, intervals, other.touched, records)
        for key, intervals in touched.items():
            known = current.touched.get(key, intervals)
            current.touched[key] = merge([known.starts, intervals.starts], [known.ends, intervals.ends])

    def _compare(
        self,
        kind: str,
        who: str,
        whom: str,
        key: tuple[int, bool],
        intervals: Intervals,
        touched: Touched,
        records: list[Record],
    ) -> None:
        """Reports bytes that both touched, on the first of `records` that did."""
        memory, write = key
        for other_write in (True, False) if write else (True,):
            theirs = touched.get((memory, other_write))
            both = theirs.overlap(intervals) if theirs is not None else None
            if both is None:
                continue
            span = f"bytes {both[0]} to {both[1]} of {self._names[memory]}"
            message = f"{who}{_verb(write)} {span}, which {whom} {_verb(other_write)}"
            target = Intervals(np.array([both[0]]), np.array([both[1]]))
            for record in records:
                same = id(record.memory) == memory and record.write == write
                if same and record.intervals().overlap(target) is not None:
                    self._log.report(kind, message, record.number, record.buffer)
                    break
            else:
                self._log.report(kind, message, buffer=self._names[memory])


def _verb(write: bool) -> str:
    return "writes" if write else "reads"


def _union(records: list[Record]) -> Intervals:
    spans = [record.spans() for record in records]
    return merge([starts for starts, _ in spans], [ends for _, ends in spans])
