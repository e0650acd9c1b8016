"""What `ge-run --what-if` and `--sensitivity` ask: the same model on a chip that differs in some numbers.

A number that kernels are built by (sizes, cores) compiles the model again; any other times the same program again.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.om.program import Program
from graph_engine.target_ascend.profile.breakdown import chain_us, in_words, task_chain_us
from graph_engine.target_ascend.profile.profile import Profile
from graph_engine.target_ascend.runtime.device import run
from graph_engine.target_ascend.soc.soc import load_soc
from graph_engine.target_ascend.soc.what_if import ALIASES, Change, change, numbers, parse_changes, write_chip

REASONS = 6
"""So many reasons are shown, the largest of either chip."""

COSTS = ("hbm_latency", "l2_latency", "launch_overhead")
"""Names of which less is better."""

Compile = Callable[[str], Program]
"""The model's program for a chip file."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A question's answer: time now and then, or why there is none."""

    changes: tuple[Change, ...]
    now: Profile
    then: Profile | None = None
    problem: str = ""

    @property
    def saved_us(self) -> float:
        """Microseconds that the changes save."""
        return self.now.latency_us - self.then.latency_us if self.then is not None else 0.0


class Questions:
    """Asks for one program. `compile_for` is None where the model cannot be compiled again: an OM file."""

    def __init__(self, program: Program, compile_for: Compile | None) -> None:
        self.program, self.compile_for = program, compile_for
        self.now = _timed(program)

    def ask(self, changes: Iterable[Change]) -> Answer:
        """Times the model on the changed chip. Raises GraphEngineError: a chip that contradicts itself, no way to compile."""
        changes = tuple(changes)
        with tempfile.TemporaryDirectory() as folder:
            chip = write_chip(self.program.soc, list(changes), Path(folder))
            program = replace(self.program, soc=chip)
            again = [item.text for item in changes if item.recompiles]
            if again:
                if self.compile_for is None:
                    raise GraphEngineError(
                        f"{', '.join(again)}: kernels are built by it, and an OM file cannot be compiled again: "
                        "give the .onnx or .mlir"
                    )
                program = self.compile_for(chip)
            return Answer(changes, self.now, _timed(program))


def what_if_text(questions: Questions, text: str) -> str:
    """The answer to `--what-if` for people."""
    answer = questions.ask(parse_changes(load_soc(questions.program.soc), text))
    now, then = answer.now, answer.then
    assert then is not None
    lines = [f"what if {', '.join(map(_told, answer.changes))}:"]
    lines.append(
        f"latency {now.latency_us:.2f} -> {then.latency_us:.2f} us ({_percent(now.latency_us, then.latency_us)}), "
        f"tasks {len(now.tasks)} -> {len(then.tasks)}"
    )
    before, after = chain_us(now), chain_us(then)
    rows = sorted(before.keys() | after.keys(), key=lambda reason: -max(before.get(reason, 0), after.get(reason, 0)))
    lines.append(f"{'where the latency goes':<24}{'now us':>10}{'then us':>10}")
    for reason in rows[:REASONS]:
        lines.append(f"  {in_words(reason):<22}{before.get(reason, 0.0):>10.2f}{after.get(reason, 0.0):>10.2f}")
    others = sum(before.get(r, 0.0) for r in rows[REASONS:]), sum(after.get(r, 0.0) for r in rows[REASONS:])
    lines.append(f"  {'others':<22}{others[0]:>10.2f}{others[1]:>10.2f}")
    lines.append(f"bottleneck: {_bottleneck(now)} -> {_bottleneck(then)}")
    lines.append(f"validity: {then.validity}")
    return "\n".join(lines) + "\n"


def sensitivity_text(questions: Questions) -> str:
    """Every name made twice as good and half as good, the one that saves most first."""
    soc = load_soc(questions.program.soc)
    known = numbers(soc)
    rows: list[tuple[float, str]] = []
    skipped: list[str] = []
    for name, alias in ALIASES.items():
        if alias.key not in known:
            continue
        better, worse = ("0.5x", "2x") if name in COSTS else ("2x", "0.5x")
        if questions.compile_for is None and change(soc, name, better, known).recompiles:
            skipped.append(name)
            continue
        answers = [_attempt(questions, name, value) for value in (better, worse)]
        cells = "".join(_cell(answer) for answer in answers)
        then = answers[0].then
        rows.append((answers[0].saved_us, f"{name:<18}{cells}  {_bottleneck(then) if then is not None else ''}"))
        for answer, value in zip(answers, (better, worse), strict=True):
            if answer.problem:
                skipped.append(f"{name}={value} ({answer.problem})")
    now = questions.now
    lines = [f"latency {now.latency_us:.2f} us on {now.soc}; bottleneck {_bottleneck(now)}"]
    lines.append(f"{'':<18}{'twice as good':>24}{'half as good':>24}  bottleneck of the better")
    lines += [row for _, row in sorted(rows, key=lambda row: -row[0])]
    if skipped:
        lines.append(f"not asked or without an answer: {', '.join(skipped)}")
    lines.append(f"validity: {now.validity}")
    return "\n".join(lines) + "\n"


def _attempt(questions: Questions, name: str, value: str) -> Answer:
    try:
        return questions.ask([change(load_soc(questions.program.soc), name, value)])
    except GraphEngineError as problem:
        return Answer((), questions.now, None, str(problem).splitlines()[0])


def _timed(program: Program) -> Profile:
    profile = run(program, mode="timing", accounts=True).profile
    assert profile is not None
    return profile


def _bottleneck(profile: Profile) -> str:
    """The reason with the largest part of the latency, and how many tasks it is the largest of."""
    chain = chain_us(profile)
    if not chain:
        return "none"
    reason = next(iter(chain))
    tasks = sum(next(iter(task_chain_us(profile, task)), "") == reason for task in profile.tasks)
    return f"{in_words(reason)} {chain[reason] / profile.latency_us:.0%} ({tasks} tasks)"


def _cell(answer: Answer) -> str:
    if answer.then is None:
        return f"{'-':>24}"
    now, then = answer.now.latency_us, answer.then.latency_us
    return f"{then:>14.2f} us {_percent(now, then):>7}"


def _percent(now: float, then: float) -> str:
    return f"{then / now - 1:+.1%}" if now else "0.0%"


def _told(change: Change) -> str:
    return f"{change.name} {change.old:.10g} -> {change.new:.10g}"
