"""Runs passes on a module in memory: verification, timing, dumps and rewrite counts in one place."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from graph_engine.errors import GraphEngineError
from graph_engine.pipelines.collection import relaxed_gc
from graph_engine.pipelines.default import Phase
from graph_engine.pipelines.printing import to_text
from graph_engine.pipelines.reproducer import write_reproducer
from graph_engine.pipelines.verification import InvalidOperation, Verifier
from graph_engine.transforms.driver import RewriteContext, RewriteEvent, RewriteLimitReached, RewriteSwitchedOff
from graph_engine.transforms.pass_base import OperatorError
from graph_engine.transforms.remarks import Kind, Remark, listening
from graph_engine.transforms.switches import ALL_ON, Switches

if TYPE_CHECKING:
    from graph_engine.pipelines.validation import Validation, Validator

PHASE_ATTRIBUTE = "ge.phase"
"""Set on a module by the default pipeline at the end of each phase, so that a dumped stage can be resumed."""


@dataclass(frozen=True)
class Step:
    """One pass, and the phase of the default pipeline that it belongs to, if any."""

    body: ModulePass
    phase: Phase | None = None


@dataclass(frozen=True)
class RunOptions:
    """What to do around the passes; dumps and timing go to standard error. `remarks`: kinds to collect.

    `validation` compares what the graph computes before and after each pass. `crash_reproducer` names the file to
    write when a pass fails; each pass is verified then. `on_rewrite` is told every rewrite. `switches` say which passes
    and rewrites are off.
    """

    verify_each: bool = False
    print_after_all: bool = False
    print_after_change: bool = False
    timing: bool = False
    rewrite_limit: int | None = None
    remarks: frozenset[Kind] = frozenset({Kind.WARNING})
    validation: Validation | None = None
    crash_reproducer: str | None = None
    on_rewrite: Callable[[RewriteEvent], None] | None = None
    switches: Switches = ALL_ON


DEFAULT_OPTIONS = RunOptions()


@dataclass(frozen=True)
class StepReport:
    """What one pass did: seconds of wall and CPU time for the pass and for its verification, rewrites by name."""

    name: str
    wall_s: float
    cpu_s: float
    verify_cpu_s: float
    rewrites: dict[str, int]


@dataclass
class RunReport:
    """What a run of passes did, pass by pass, and what the passes remarked."""

    steps: list[StepReport] = field(default_factory=list[StepReport])
    remarks: list[Remark] = field(default_factory=list[Remark])

    @property
    def rewrites(self) -> int:
        return sum(sum(step.rewrites.values()) for step in self.steps)


class PassFailed(GraphEngineError):
    """A pass stopped, or left an invalid module; `invalid` holds the operator when it is known."""

    def __init__(self, message: str, invalid: InvalidOperation | None = None):
        super().__init__(message)
        self.invalid = invalid


def run_steps(
    context: Context, module: ModuleOp, steps: Sequence[Step], options: RunOptions = DEFAULT_OPTIONS
) -> RunReport:
    """Apply `steps` in order to `module` in place; verified at phase ends, at the end, or after each pass.

    Raises PassFailed naming the pass when a pass fails or leaves an invalid module.
    """
    report = RunReport()
    verifier = Verifier()
    remarked = listening(report.remarks.append, options.remarks)
    start = module.clone() if options.crash_reproducer else None
    with relaxed_gc(), remarked, RewriteContext(options.rewrite_limit, options.switches).activate() as rewrites:
        if options.on_rewrite is not None:
            rewrites.listeners.append(options.on_rewrite)
        validator = _validator(options.validation, module)
        for number, step in enumerate(steps):
            following = steps[number + 1] if number + 1 < len(steps) else None
            phase_ends = step.phase is not None and (following is None or following.phase is not step.phase)
            before = to_text(module) if options.print_after_change else ""
            rewrites.pass_name = step.body.name
            counted = rewrites.counts.copy()
            try:
                wall, cpu = time.perf_counter(), time.process_time()
                _apply(context, module, step.body, rewrites)
                wall, cpu = time.perf_counter() - wall, time.process_time() - cpu

                verify_cpu = time.process_time()
                if options.verify_each or phase_ends or following is None or start is not None:
                    _verify_after(verifier, module, step.body.name)
                verify_cpu = time.process_time() - verify_cpu
                if validator is not None:
                    validator.check(module, step.body)
            except PassFailed as failure:
                if start is not None:
                    _reproduce(context, start, steps, number, failure, options)
                raise
            if phase_ends and step.phase is not None:
                module.attributes[PHASE_ATTRIBUTE] = StringAttr(step.phase.title)

            done = {name: count for (_, name), count in (rewrites.counts - counted).items()}
            report.steps.append(StepReport(step.body.name, wall, cpu, verify_cpu, done))
            if options.print_after_all or (options.print_after_change and to_text(module) != before):
                _dump(module, step.body)
    if validator is not None:
        validator.report(module)
    if options.timing:
        print_timing(report)
    return report


def _validator(validation: Validation | None, module: ModuleOp) -> Validator | None:
    if validation is None:
        return None
    from graph_engine.pipelines.validation import Validator  # numpy and the references, for those who ask

    return Validator(validation, module)


def _apply(context: Context, module: ModuleOp, body: ModulePass, rewrites: RewriteContext) -> None:
    rewrites.at = None
    if not rewrites.switches.run(body.name):
        return
    try:
        body.apply(context, module)
    except (RewriteLimitReached, RewriteSwitchedOff):
        pass
    except InvalidOperation as error:
        raise PassFailed(f"pass '{body.name}': {error}", error) from None
    except OperatorError as error:
        raise PassFailed(f"pass '{body.name}': {error}", InvalidOperation(error.op, str(error))) from None
    except (GraphEngineError, DiagnosticException) as error:
        raise PassFailed(f"pass '{body.name}': {error}") from error
    except MemoryError as error:
        raise PassFailed(f"pass '{body.name}': out of memory: {error}") from error
    except Exception as error:  # a mistake of the pass, which must not look like one of the tool
        at = None if rewrites.at is None else InvalidOperation(rewrites.at, str(error))
        raise PassFailed(f"pass '{body.name}' crashed: {_told(error, body)}", at) from error


def _told(error: Exception, body: ModulePass) -> str:
    """`KeyError: 'axis' (my_pass.py:31)`: what was raised, and the line of the pass's own file that led to it."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename == type(body).apply.__code__.co_filename]
    frame = (own or frames)[-1]
    text = traceback.format_exception_only(error)[-1].strip()
    return f"{text} ({Path(frame.filename).name}:{frame.lineno})"


def _reproduce(
    context: Context,
    module: ModuleOp,
    steps: Sequence[Step],
    number: int,
    failure: PassFailed,
    options: RunOptions,
) -> None:
    """Write what reruns the failure of pass `number`: from the first module, compiled anew up to that pass."""
    before = RunOptions(rewrite_limit=options.rewrite_limit, switches=options.switches)
    done = run_steps(context, module, [Step(step.body) for step in steps[:number]], before)
    flags: list[str] = []
    if options.switches.source is not None:
        flags.append(f"--fusion-switch-file={options.switches.source}")
    if options.rewrite_limit is not None:
        flags.append(f"--rewrite-limit={options.rewrite_limit - done.rewrites}")
    if options.validation is not None:
        flags.append(options.validation.flag)
    assert options.crash_reproducer is not None
    passes = [step.body for step in steps[number:]]
    try:
        command = write_reproducer(module, passes, options.crash_reproducer, reason=str(failure), flags=flags)
    except GraphEngineError as error:  # must not stand in for the failure itself
        print(f"warning: no reproducer: {error}", file=sys.stderr)
        return
    print(f"note: to rerun the pass that failed: {command}", file=sys.stderr)


def _verify_after(verifier: Verifier, module: ModuleOp, name: str) -> None:
    try:
        verifier.verify(module)
    except InvalidOperation as error:
        raise PassFailed(f"after pass '{name}': {error}", error) from None


def _dump(module: ModuleOp, body: ModulePass) -> None:
    print(f"// -----// IR Dump After {type(body).__name__} ({body}) //----- //", file=sys.stderr)
    sys.stderr.write(to_text(module, elide=True))


def print_warnings(report: RunReport) -> None:
    """What may change the model's results, a line each, to standard error."""
    for remark in report.remarks:
        if remark.kind is Kind.WARNING:
            print(f"warning: {remark}", file=sys.stderr)


def print_timing(report: RunReport) -> None:
    """A table of times and rewrites, pass by pass, to standard error."""
    total = sum(step.cpu_s + step.verify_cpu_s for step in report.steps) or 1.0
    print(f"{'pass':<24}{'wall s':>9}{'CPU s':>9}{'verify s':>10}{'share':>8}{'rewrites':>10}", file=sys.stderr)
    for step in report.steps:
        share = (step.cpu_s + step.verify_cpu_s) / total
        print(
            f"{step.name:<24}{step.wall_s:>9.3f}{step.cpu_s:>9.3f}{step.verify_cpu_s:>10.3f}{share:>8.1%}"
            f"{sum(step.rewrites.values()):>10}",
            file=sys.stderr,
        )
    print(f"{'total':<24}{'':>9}{total:>9.3f}", file=sys.stderr)
