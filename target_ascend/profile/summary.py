"""The profile as text for people: latency, where it goes, engines, the longest tasks, layout changes, AI CPU, memory."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from graph_engine.target_ascend.om.program import SourceNode
from graph_engine.target_ascend.profile.breakdown import OFF, chain_us, engines_us, in_words, task_chain_us
from graph_engine.target_ascend.profile.profile import AICPU, TRANSDATA, Profile

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

LONGEST = 10

COLUMNS: dict[str, tuple[str, ...]] = {
    "busy": ("busy",),
    "latency": ("latency",),
    "L2": ("l2",),
    "DDR": ("ddr",),
    "flags": ("flag",),
    "issue": ("issue",),
    "queues": ("queue", "barrier"),
    "sync": ("sync", "spacing"),
    "done": ("done",),
    "uneven": ("uneven",),
    "launch": ("launch",),
    OFF: (OFF,),
}
"""Columns of the table of reasons, and the first words of the reasons in them (see `chip/accounts`)."""


def summary(profile: Profile, width: int = 120) -> str:
    """The summary as plain text, `width` columns wide."""
    from rich.console import Console

    text = io.StringIO()
    print_summary(profile, Console(file=text, width=width, color_system=None))
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


def print_summary(profile: Profile, console: Console) -> None:
    """Prints the summary on a rich console."""
    for part in _parts(profile):
        console.print(part, markup=False) if isinstance(part, str) else console.print(part)


def _parts(profile: Profile) -> Iterable[RenderableType]:
    yield f"{profile.model} on {profile.soc}: {_time(profile.latency_us)}, {profile.fps:.1f} FPS (batch {profile.batch})"
    transdata, transdata_share = profile.share(type=TRANSDATA)
    aicpu, aicpu_share = profile.share(core_type=AICPU)
    layout_bytes = sum(task.layout_bytes for task in profile.tasks)
    overhead = sum(task.overhead_us for task in profile.tasks)
    memory = profile.memory
    yield (
        f"tasks {len(profile.tasks)}; TransData {transdata} ({transdata_share:.1%} of task time, "
        f"{_size(layout_bytes)} moved for layout); AI CPU {aicpu} ({aicpu_share:.1%}); "
        f"launch overhead {_time(overhead)}"
    )
    yield (
        f"memory: workspace {_size(memory.workspace_bytes)} (lower bound {_size(memory.lower_bound_bytes)}), "
        f"weights {_size(memory.weight_bytes)}"
    )
    yield _engine_table(profile)
    if any(task.account is not None for task in profile.tasks):
        yield _chain_table(profile)
        for kind, engines in engines_us(profile).items():
            yield _reasons_table(kind, engines, profile.latency_us)
            yield from _flag_lines(engines)
    yield _longest_table(profile)
    yield f"validity: {profile.validity}"


def _engine_table(profile: Profile) -> RenderableType:
    from rich.table import Table

    table = Table(title="Engines (mean over the chip's cores)", title_justify="left")
    table.add_column("engine")
    for column in ("busy us", "of latency", "of its busiest task"):
        table.add_column(column, justify="right")
    for pipe, us in profile.engine_us().items():
        peak = max((t.engine_us.get(pipe, 0.0) / t.duration_us for t in profile.tasks if t.duration_us), default=0.0)
        share = us / profile.latency_us if profile.latency_us else 0.0
        table.add_row(pipe, f"{us:.2f}", f"{share:.1%}", f"{peak:.1%}")
    return table


def _chain_table(profile: Profile) -> RenderableType:
    """What the end of the run waited for; the rows add up to the latency."""
    from rich.table import Table

    table = Table(title="Where the latency goes", title_justify="left")
    table.add_column("reason")
    for column in ("us", "of latency"):
        table.add_column(column, justify="right")
    for reason, us in chain_us(profile).items():
        table.add_row(in_words(reason), f"{us:.2f}", f"{us / profile.latency_us:.1%}")
    table.add_section()
    table.add_row("latency", f"{profile.latency_us:.2f}", "100.0%")
    return table


def _reasons_table(kind: str, engines: Mapping[str, Mapping[str, float]], latency: float) -> RenderableType:
    """Every engine's time by reason; each row adds up to the latency."""
    from rich.table import Table

    title = f"Every microsecond of each engine (mean over the {kind}s)"
    table = Table(title=title, title_justify="left", padding=(0, 0), collapse_padding=True)
    table.add_column("engine")
    for column in (*COLUMNS, "sum"):
        table.add_column(column, justify="right")
    for name, spent in engines.items():
        cells = {column: 0.0 for column in COLUMNS}
        for reason, us in spent.items():
            cells[next(c for c, firsts in COLUMNS.items() if reason.startswith(firsts))] += us
        table.add_row(name, *(f"{us:.1f}" if us else "" for us in cells.values()), f"{latency:.1f}")
    return table


def _flag_lines(engines: Mapping[str, Mapping[str, float]]) -> Iterable[str]:
    """What the engines wait for in the columns flags and queues."""
    for name, spent in engines.items():
        waits = [(us, reason) for reason, us in spent.items() if reason.startswith(("flag", "queue", "barrier"))]
        if waits:
            yield f"{name} waits for " + ", ".join(f"{reason} {us:.1f}" for us, reason in sorted(waits, reverse=True))


def _longest_table(profile: Profile) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=f"Longest tasks ({min(LONGEST, len(profile.tasks))} of {len(profile.tasks)})", title_justify="left"
    )
    for column in ("task", "type"):
        table.add_column(column, overflow="fold")
    for column in ("us", "share"):
        table.add_column(column, justify="right", no_wrap=True)
    accounts = any(task.account is not None for task in profile.tasks)
    table.add_column("longest wait" if accounts else "busiest engine", no_wrap=True)
    table.add_column("source nodes", overflow="fold", ratio=1)
    total = profile.task_us
    for task in sorted(profile.tasks, key=lambda t: -t.duration_us)[:LONGEST]:
        busiest = max(task.engine_us.items(), key=lambda item: item[1], default=None)
        share = task.duration_us / total if total else 0.0
        engine = f"{busiest[0]} {busiest[1] / task.duration_us:.0%}" if busiest else task.core_type
        if task.account is not None:
            reason, us = next(iter(task_chain_us(profile, task).items()))
            engine = f"{in_words(reason)} {us / task.duration_us:.0%}"
        cells = (task.name, task.type, f"{task.duration_us:.2f}", f"{share:.1%}", engine, _nodes(task.source_nodes))
        table.add_row(*(Text(cell) for cell in cells))
    return table


def _nodes(nodes: Iterable[SourceNode]) -> str:
    return ", ".join(node.name for node in nodes)


def _time(us: float) -> str:
    return f"{us / 1000:.3f} ms" if us >= 1000 else f"{us:.2f} us"


def _size(count: int) -> str:
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= scale:
            return f"{count / scale:.2f} {unit}"
    return f"{count} B"
