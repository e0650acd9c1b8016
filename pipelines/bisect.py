"""Finds the pass, then the rewrite, that makes a check fail, and a small graph on which the pass still fails.

The compile is deterministic and every rewrite goes through one driver that counts and can stop, so that "the module
after n rewrites" is well defined and binary search finds the first n that is bad.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from graph_engine.dialects.ge.locations import source_nodes
from graph_engine.errors import GraphEngineError
from graph_engine.pipelines.compile import import_model, parse_bindings, parse_input_shapes, read_module
from graph_engine.pipelines.context import make_context
from graph_engine.pipelines.default import Phase
from graph_engine.pipelines.numerics import (
    Answers,
    Difference,
    Feeds,
    answers,
    first_different,
    has_16_bits,
    largest_difference,
)
from graph_engine.pipelines.optimise import DEFAULT_PIPELINE, chosen_passes, expand
from graph_engine.pipelines.output import write_modules
from graph_engine.pipelines.reduction import operators, reduce_graph
from graph_engine.pipelines.reference import graph_functions
from graph_engine.pipelines.reproducer import check_name, write_reproducer
from graph_engine.pipelines.runner import PassFailed, RunOptions, Step, run_steps
from graph_engine.pipelines.spec import PassSpec, build_options, pass_text
from graph_engine.pipelines.validation import Validation, declared
from graph_engine.pipelines.verification import InvalidOperation, verify
from graph_engine.target_ascend.om.program import SourceNode
from graph_engine.transforms.driver import RewriteEvent

LAST_GRAPH = Phase.GROUPED
"""Where the default pipeline ends: what follows has kernels, which the reference does not run."""
NOTHING_TO_FIND = 2
"""Exit code where all is good: as `grep` tells that it found nothing from an error, which is 1 here."""
CANNOT_TELL = 125
"""Exit code of a check script that cannot tell, as for `git bisect run`; up to 127 means bad."""


@dataclass(frozen=True)
class BisectOptions(Feeds):
    """What is good, on which inputs, and where the reproducer goes.

    `numerics` holds each pass to what it declares; `reference` compares with the first module, within `tolerance` of
    the range; a script decides by its exit code on an .mlir file. With a script `check` is not used.
    """

    check: Literal["numerics", "reference"] = "numerics"
    tolerance: float = 0.01
    check_script: str = ""
    reproducer: str = "bisect.mlir"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_name(self.reproducer)

    @staticmethod
    def of(options: Mapping[str, str]) -> BisectOptions:
        """From options as written. Raises GraphEngineError for wrong ones."""
        return build_options(BisectOptions, options, "--bisect", "--bisect")


Verdict = bool | None
"""Good, bad, or cannot tell."""


@dataclass
class Trial:
    """What passes left of a copy of a module, or how they failed, and their rewrites."""

    module: ModuleOp | None
    failure: PassFailed | None
    events: list[RewriteEvent]


@dataclass(frozen=True)
class Culprit:
    """Pass `number` (from 0), which spoils the module `before`; `done` rewrites were made up to there."""

    number: int
    body: ModulePass
    before: ModuleOp
    done: int


def bisect(context: Context, module: ModuleOp, passes: Sequence[ModulePass], options: BisectOptions) -> bool:
    """Tell on standard output which rewrite of which pass breaks `module`, write a reproducer, say how to avoid it.

    False, and one line that says so, if the check holds after all passes. Raises GraphEngineError if it fails before any.
    """
    with tempfile.TemporaryDirectory(prefix="ge-bisect-") as folder:
        return Bisection(context, module, passes, options, Path(folder)).run()


class Bisection:
    """One search; trials are told on standard error as they are made."""

    def __init__(
        self, context: Context, module: ModuleOp, passes: Sequence[ModulePass], options: BisectOptions, folder: Path
    ):
        self.context, self.module, self.passes, self.options, self.folder = context, module, passes, options, folder
        self.feeds: Feeds = options
        self._answers: dict[ModuleOp, Answers] = {}

    def run(self) -> bool:
        """Pass, rewrite, reproducer, remedy; whether there is any."""
        culprit = self.find_pass_by_declaration() if self.by_declaration else self.find_pass()
        if culprit is None:
            holds = "every pass keeps the numbers within what it declares" if self.by_declaration else "the check holds"
            print(f"nothing to find: {holds} (passes: {len(self.passes)})")
            return False
        whole = self.apply(culprit.before, [culprit.body])
        print(f"pass {culprit.number + 1} of {len(self.passes)}: {pass_text(culprit.body)}: {self.why(culprit, whole)}")
        event, bases = self.find_rewrite(culprit, whole)
        self.reproduce(culprit, whole, event, [*bases, culprit.before])
        self.tell_how_to_avoid(culprit, event)
        return True

    # Trials.

    def apply(self, module: ModuleOp, passes: Sequence[ModulePass], limit: int | None = None) -> Trial:
        """What `passes` make of a copy of `module`, with at most `limit` rewrites."""
        copy = module.clone()
        events: list[RewriteEvent] = []
        options = RunOptions(verify_each=True, rewrite_limit=limit, on_rewrite=events.append, remarks=frozenset())
        try:
            run_steps(self.context, copy, [Step(body) for body in passes], options)
        except PassFailed as failure:
            return Trial(None, failure, events)
        return Trial(copy, None, events)

    @property
    def by_declaration(self) -> bool:
        """Whether each pass is held to what it declares, and not all of them to the first module."""
        return self.options.check == "numerics" and not self.options.check_script

    def verdict(self, right: ModuleOp, trial: Trial, body: ModulePass) -> Verdict:
        """Whether `trial`, the last of whose passes was `body`, is good; numbers are compared with those of `right`."""
        if trial.failure is not None or trial.module is None:
            return False
        if self.options.check_script:
            return self.ask(trial.module)
        bound = self.bound(body, right, trial.module)
        if self.difference(right, trial.module).share > bound:
            return False
        return not (self.options.inner and first_different(right, trial.module, self.feeds, bound))

    def bound(self, body: ModulePass, before: ModuleOp, after: ModuleOp) -> float:
        """The share of the range by which outputs may differ."""
        return declared(body).bound(has_16_bits(before, after)) if self.by_declaration else self.options.tolerance

    def difference(self, right: ModuleOp, module: ModuleOp) -> Difference:
        """How far the outputs of a graph are from those of `right`, which are remembered."""
        if not graph_functions(module):
            raise GraphEngineError(
                "kernels and tasks do not run by reference: end the passes before, or give a --check-script"
            )
        if right.is_structurally_equivalent(module):
            self._answers[module] = self.answers_of(right)
        return largest_difference(self.answers_of(right), self.answers_of(module))

    def answers_of(self, module: ModuleOp) -> Answers:
        """What a graph computes, remembered for the last few graphs."""
        if module not in self._answers:
            while len(self._answers) > 2:
                del self._answers[next(iter(self._answers))]
            self._answers[module] = answers(module, self.feeds)
        return self._answers[module]

    def ask(self, module: ModuleOp) -> Verdict:
        """What the user's script says to a file that holds `module`. Raises GraphEngineError if it cannot be run."""
        path = self.folder / "module.mlir"
        write_modules([module], str(path))
        command = [*shlex.split(self.options.check_script), str(path)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            raise GraphEngineError(f"--check-script: cannot run '{command[0]}': {error.strerror}") from None
        sys.stderr.write(done.stdout + done.stderr)
        code = done.returncode
        if not 0 <= code <= 127:
            raise GraphEngineError(
                f"--check-script: '{self.options.check_script}' ended with {code}: neither good nor bad"
            )
        return None if code == CANNOT_TELL else code == 0

    # Searching.

    def find_pass_by_declaration(self) -> Culprit | None:
        """The first pass that moves the outputs further than it declares, in one walk; None if none does."""
        module, done = self.module, 0
        for number, body in enumerate(self.passes):
            trial = self.apply(module, [body])
            good = self.verdict(module, trial, body)
            self.tell(f"{body.name}, {len(trial.events)} rewrites", good)
            if not good or trial.module is None:
                return Culprit(number, body, module, done)
            module = trial.module
            done += len(trial.events)
        return None

    def find_pass(self) -> Culprit | None:
        """The first pass after which the check fails, by binary search; None if it holds after all."""
        states = {0: (self.module, 0)}

        def check(count: int) -> Verdict:
            near = max(known for known in states if known <= count)
            module, done = states[near]
            trial = self.apply(module, self.passes[near:count])
            if trial.module is not None:
                states[count] = trial.module, done + len(trial.events)
            good = self.verdict(self.module, trial, self.passes[count - 1])
            self.tell(f"{count} of {len(self.passes)} passes", good)
            return good

        if self.options.check_script and not self.ask(self.module):
            raise GraphEngineError("the check fails before any pass")
        match check(len(self.passes)):
            case True:
                return None
            case None:
                raise GraphEngineError("the check cannot tell after all passes")
            case False:
                pass
        good, bad = first_bad(0, len(self.passes), check)
        if bad - good > 1:
            names = ", ".join(body.name for body in self.passes[good:bad])
            raise GraphEngineError(f"the check cannot tell between these passes: {names}")
        if good not in states:
            check(good)
        return Culprit(good, self.passes[good], *states[good])

    def find_rewrite(self, culprit: Culprit, whole: Trial) -> tuple[RewriteEvent | None, list[ModuleOp]]:
        """The first bad rewrite of the culprit, and the module before it; none if no rewrite is to blame."""
        right = culprit.before if self.by_declaration else self.module
        total = len(whole.events)

        def check(count: int) -> Verdict:
            trial = self.apply(culprit.before, [culprit.body], count)
            fails = trial.failure is not None
            good = not fails if whole.failure is not None else self.verdict(right, trial, culprit.body)
            self.tell(f"{culprit.body.name}, {count} of {total} rewrites", good)
            return good

        if check(0) is not True:
            print(
                f"{culprit.body.name} fails before its first rewrite, or changes the graph past the driver that counts them"
            )
            return None, []
        if check(total) is True:  # the failure comes behind the last rewrite that was counted
            print(f"rewrite {culprit.done + total} is the last good one, number {total} of the pass")
            return None, [self.apply(culprit.before, [culprit.body], total).module or culprit.before]
        good, bad = first_bad(0, total, check)
        event = whole.events[bad - 1]
        nodes = ", ".join(f"'{node.name}' ({node.op_type})" for node in source_nodes(event.location))
        first = (
            f"rewrite {culprit.done + bad}"
            if bad - good == 1
            else f"one of rewrites {culprit.done + good + 1} to {culprit.done + bad}"
        )
        where = f" at node {nodes}" if nodes else ""
        print(f"{first}: {culprit.body.name}/{event.name}{where}, number {bad} of {total} of the pass")
        return event, [self.apply(culprit.before, [culprit.body], good).module or culprit.before]

    def why(self, culprit: Culprit, whole: Trial) -> str:
        """What is wrong behind the culprit, in words."""
        if whole.failure is not None or whole.module is None:
            return str(whole.failure)
        if self.options.check_script:
            return f"'{self.options.check_script}' fails"
        right = culprit.before if self.by_declaration else self.module
        bound = self.bound(culprit.body, right, whole.module)
        return f"{self.difference(right, whole.module)}, allowed is {bound:.2g}"

    # What the user gets.

    def reproduce(self, culprit: Culprit, whole: Trial, event: RewriteEvent | None, bases: Sequence[ModuleOp]) -> None:
        """Write the smallest graph found on which the culprit alone still fails."""
        nodes = set(source_nodes(event.location)) if event is not None else set[SourceNode]()
        options = self.options
        self.feeds = Feeds(options.seed, options.inputs, extent=options.extent, inner=options.inner)  # cuts have others

        def fails(module: ModuleOp) -> bool:
            try:
                verify(module)
                trial = self.apply(module, [culprit.body])
                if whole.failure is not None:
                    return trial.failure is not None
                if trial.failure is not None or (self.options.check_script and self.ask(module) is not True):
                    return False
                return self.verdict(module, trial, culprit.body) is False
            except (InvalidOperation, GraphEngineError):
                return False  # a cut that does not run: its inputs mean something that seeded numbers do not

        found: ModuleOp | None = None
        for base in bases:
            for function in graph_functions(base):
                block = function.body.block
                first = [op for op in operators(block) if nodes.intersection(source_nodes(op.location))]
                found = found or reduce_graph(block, first, fails)
        small = found or culprit.before
        flags: list[str] = []
        if not self.options.check_script and whole.failure is None:
            flags = [Validation(options.seed, options.inputs, extent=options.extent, inner=options.inner).flag]
        path = self.options.reproducer
        reason = f"found by ge-bisect: {culprit.body.name}" + (f"/{event.name}" if event is not None else "")
        command = write_reproducer(small, [culprit.body], path, reason=reason, flags=flags)
        count = sum(len(operators(function.body.block)) for function in graph_functions(small))
        size = f"{count} operator{'s' if count != 1 else ''}"
        if found is None:
            size += " (no part of the graph fails by itself)"
        elif not fails(read_module(path, self.context)):
            size += " (which does not fail when read again)"
        print(f"reproducer: {path}, {size}: {command}")

    def tell_how_to_avoid(self, culprit: Culprit, event: RewriteEvent | None) -> None:
        """The passes without the culprit, or without its bad pattern where it can skip one; and a switch file."""
        texts = [pass_text(body) for body in self.passes]
        kept = texts[: culprit.number] + texts[culprit.number + 1 :]
        pattern = event.name if event is not None else None
        skipped: tuple[str, ...] | None = getattr(culprit.body, "skip", None)
        if pattern is not None and isinstance(skipped, tuple):
            with suppress(GraphEngineError):
                without = dataclasses.replace(culprit.body, **{"skip": (*skipped, pattern)})
                if self.apply(culprit.before, [without]).failure is None:
                    kept.insert(culprit.number, pass_text(without))
        print(f"avoid it: ge-opt -p {shlex.quote(','.join(kept))}")
        print(f"          {json.dumps({'Switch': {'GraphFusion': {culprit.body.name: 'off'}}})}")

    def tell(self, what: str, good: Verdict) -> None:
        """One line a trial."""
        print(f"{({True: 'good', False: 'bad', None: 'skip'})[good]}: {what}", file=sys.stderr)


def bisect_model(found: argparse.Namespace, options: BisectOptions) -> int:
    """`ge-opt --bisect` and `ge-bisect` behind their command lines; returns the exit code: 0 if a culprit was found."""
    specs = chosen_passes(found)
    until = Phase.named(found.compile_to) if found.compile_to else LAST_GRAPH
    shapes, bound = getattr(found, "input_shape", ""), getattr(found, "bind_input", [])
    module = import_model(found.input, parse_input_shapes(shapes), parse_bindings(bound))
    steps, _ = expand(specs or [PassSpec(DEFAULT_PIPELINE)], module, until)
    return 0 if bisect(make_context(), module, [step.body for step in steps], options) else NOTHING_TO_FIND


def first_bad(good: int, bad: int, check: Callable[[int], Verdict]) -> tuple[int, int]:
    """The last good and the first bad count, next to each other unless `check` cannot tell in between."""
    while bad - good > 1:
        middle = (good + bad) // 2
        for count in sorted(range(good + 1, bad), key=lambda count: abs(count - middle)):
            verdict = check(count)
            if verdict is not None:
                good, bad = (count, bad) if verdict else (good, count)
                break
        else:
            return good, bad
    return good, bad
