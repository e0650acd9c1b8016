"""Where every microsecond of a run goes: along the chain of what ends last, and by engine. Nothing is left over.

Needs a run with accounts; their reasons are explained in `chip/accounts`. Off a chip's cores time goes to "AI CPU",
"copy" and "between tasks" (events and streams that wait).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graph_engine.target_ascend.profile.profile import Profile, TaskProfile

AI_CORE, VECTOR_CORE = "AI Core", "Vector core"
AI_CPU, COPY, BETWEEN = "AI CPU", "copy", "between tasks"
OFF = "no task"
"""Time of a core that no launch holds."""


def chain_us(profile: Profile) -> dict[str, float]:
    """Microseconds by reason along the tasks that follow each other up to the last; adds up to the latency."""
    spent: dict[str, float] = {}

    def add(reason: str, us: float) -> None:
        if us > 0:
            spent[reason] = spent.get(reason, 0.0) + us

    now = profile.latency_us
    for task in sorted(profile.tasks, key=lambda task: task.end_us, reverse=True):
        if task.end_us > now + 1e-9:
            continue
        add(BETWEEN, now - task.end_us if now - task.end_us > 1e-9 else 0.0)
        for reason, us in task_chain_us(profile, task).items():
            add(reason, us)
        now = task.start_us
    add(BETWEEN, now)
    return dict(sorted(spent.items(), key=lambda item: -item[1]))


def task_chain_us(profile: Profile, task: TaskProfile) -> dict[str, float]:
    """Microseconds by reason of one task; adds up to its duration."""
    if task.account is None:
        return {COPY if task.core_type == "MEMCPY" else AI_CPU: task.duration_us}
    scale = task.duration_us / task.account.cycles
    return {reason: cycles * scale for reason, cycles in task.account.chain.most_common()}


def engines_us(profile: Profile) -> dict[str, dict[str, dict[str, float]]]:
    """Microseconds by kind of core, engine and reason, mean over the chip's cores of the kind.

    An engine's reasons add up to the latency. Engines that never have work on a kind of core are left out.
    """
    cycles: dict[str, dict[str, Counter[str]]] = {}
    for task in profile.tasks:
        if task.account is not None:
            kind = VECTOR_CORE if profile.vector_cores and task.core_type == "AI_VECTOR_CORE" else AI_CORE
            engines = cycles.setdefault(kind, {})
            for name, spent in task.account.engines.items():
                engines.setdefault(name, Counter()).update(spent)
    found: dict[str, dict[str, dict[str, float]]] = {}
    for kind, engines in cycles.items():
        scale = 1 / profile.aic_mhz / (profile.vector_cores if kind == VECTOR_CORE else profile.cores)
        found[kind] = {}
        for name, spent in engines.items():
            if all(spent[reason] == 0 for reason in ("busy", "latency", "l2", "ddr")):
                continue
            us = {reason: count * scale for reason, count in spent.items()}
            us[OFF] = max(0.0, profile.latency_us - sum(us.values()))
            found[kind][name] = us
    return found


def in_words(reason: str) -> str:
    """A reason as people read it: "MTE2 DDR"."""
    return reason.replace(" l2", " L2").replace(" ddr", " DDR")


def breakdown_json(profile: Profile) -> dict[str, Any]:
    """Both as in `--profile-json`."""
    return {"latency_us": chain_us(profile), "engines_us": engines_us(profile)}
