"""The one rewrite driver: it counts, limits and bounds rewrites and carries source locations and precision marks.

Every change that any pass makes to a graph goes through this module, either as a `Pattern` run by `apply_patterns`
or, for a pass that restructures by itself, inside `RewriteContext.rewrite`:

    class DropIdentity(Pattern):
        name = "drop-identity"
        root = (ge.IdentityOp,)

        def rewrite(self, op: ge.IdentityOp, rewriter: CountedRewriter) -> bool:
            rewriter.replace(op, (), [op.x])
            return True

    apply_patterns(module, [DropIdentity()])
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from typing import Any, ClassVar

from xdsl.dialects.builtin import LocationAttr, ModuleOp, UnknownLoc
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint
from xdsl.traits import IsTerminator, Pure, SymbolOpInterface
from xdsl.transforms.dead_code_elimination import would_be_trivially_dead
from xdsl.utils.worklist import Worklist

from graph_engine.dialects.ge.locations import fuse
from graph_engine.dialects.ge.precision import carry_precision
from graph_engine.dialects.operator_class import operands_of
from graph_engine.errors import GraphEngineError
from graph_engine.transforms.switches import ALL_ON, Switches

MAX_ITERATIONS = 32


class CountedRewriter(PatternRewriter):
    """xDSL's rewriter that also remembers what one rewrite created, removed and changed, for the sake of locations.

    Use its methods (`insert`, `replace`, `erase`, `replace_all_uses_with`, `notify_op_modified`), never the block's.
    An inserted operator without a location of its own, and an operator passed to `notify_op_modified`, take over the
    locations of all that the rewrite removes.
    """

    _point: InsertPoint | None

    def __init__(self, root: Operation):
        super().__init__(root)
        self._root = root
        self.created: list[Operation] = []
        self.removed: dict[Operation, tuple[Operation, ...]] = {}
        self.touched: list[Operation] = []
        self._heirs: list[Operation] = []
        self._old_operands = operands_of(root)
        self.operation_insertion_handler.append(self.created.append)
        self.operation_removal_handler.append(self._note_removal)
        self.operation_modification_handler.append(self.touched.append)

    def look_at(self, root: Operation) -> None:
        """Turn to another operator, and forget what was done at the last one: cheaper than another rewriter."""
        self._root, self._point = root, None
        self.has_done_action = False
        for memory in (self.created, self.removed, self.touched, self._heirs):
            if memory:
                memory.clear()
        self._old_operands = operands_of(root)

    @property
    def insertion_point(self) -> InsertPoint:
        """Before the root, until somebody moves it; made when it is asked for, since most operators do not match."""
        if self._point is None:
            self._point = InsertPoint.before(self._root)
        return self._point

    @insertion_point.setter
    def insertion_point(self, point: InsertPoint) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        self._point = point

    def sources(self, *ops: Operation) -> None:
        """State that what this rewrite creates also does the work of `ops`, although they stay in the graph."""
        for op in ops:
            self._note_removal(op)

    def retyped(self, op: Operation, backs: Sequence[Operation | None]) -> None:
        """State that `op` has other types now, and counts as created; its location is its own.

        `backs`: for each result the operator that makes the old type of it, for all other readers, or None.
        """
        self.created.append(op)
        last = op
        for result, back in zip(op.results, backs, strict=True):
            if back is not None:
                readers = [use for use in result.uses if use.operation is not back]
                self.insert(back, InsertPoint.after(last))
                last, new = back, back.results[0]
                for use in readers:
                    use.operation.operands[use.index] = new
                    self.handle_operation_modification(use.operation)
                if new.name_hint is None:
                    new.name_hint = result.name_hint

    def notify_op_modified(self, op: Operation) -> None:
        """State that the pattern changed `op` in place."""
        super().notify_op_modified(op)
        self._heirs.append(op)

    def _note_removal(self, op: Operation) -> None:
        self.removed[op] = _producers(op)

    def finish(self) -> None:
        """Erase what this rewrite left without a user, then hand location and precision of the removed to their heirs."""
        pending = [*_defining(self._old_operands), *(op for producers in self.removed.values() for op in producers)]
        while pending:
            op = pending.pop()
            if op.parent is not None and _is_dead(op):
                pending += _producers(op)
                self.erase(op)
                if op.name.endswith(".constant"):  # a weight is no node of the model
                    del self.removed[op]
        if not self.removed:
            return
        carry_precision(self.removed, (op for op in (*self.created, *self._heirs) if op.parent is not None))
        created = (top for top in self.created if top.parent is not None)
        every = (op for top in created for op in (top.walk() if top.regions else (top,)))
        unnamed = [op for op in every if isinstance(op.location, UnknownLoc)]
        if not self._heirs and not unnamed:
            return
        sources = _locations_in_dataflow_order(self.removed)
        for heir in dict.fromkeys(self._heirs):
            if heir.parent is not None and heir not in self.created:
                produces = any(heir in producers for producers in self.removed.values())
                heir.location = fuse(heir.location, *sources) if produces else fuse(*sources, heir.location)
        if unnamed:
            location = fuse(*sources)
            for op in unnamed:
                op.location = location


def _producers(op: Operation) -> tuple[Operation, ...]:
    return _defining(operands_of(op))


def _defining(values: Iterable[SSAValue]) -> tuple[Operation, ...]:
    return tuple(value.op for value in values if type(value) is OpResult)


def _is_dead(op: Operation) -> bool:
    """Whether nobody reads what `op` makes, and it does nothing else; what xDSL says of a pure class is kept."""
    return all(result.first_use is None for result in op.results) and (
        _is_pure(type(op)) or would_be_trivially_dead(op)
    )


@cache
def _is_pure(kind: type[Operation]) -> bool:
    """Whether no operator of the class does anything but make its results."""
    if kind.has_trait(IsTerminator, value_if_unregistered=False):
        return False
    named = kind.has_trait(SymbolOpInterface, value_if_unregistered=False)
    return not named and kind.has_trait(Pure, value_if_unregistered=False)


def _locations_in_dataflow_order(removed: dict[Operation, tuple[Operation, ...]]) -> list[LocationAttr]:
    """Producers before consumers, whatever the order in which a pattern erased them."""
    if len(removed) == 1:
        return [op.location for op in removed]
    ordered: dict[Operation, None] = {}
    stack = [(op, False) for op in reversed(removed)]
    while stack:
        op, ready = stack.pop()
        if ready:
            ordered[op] = None
        elif op not in ordered:
            stack.append((op, True))
            stack += [(producer, False) for producer in removed[op] if producer in removed and producer not in ordered]
    return [op.location for op in ordered]


class Pattern(ABC):
    """One local rewrite: a name for statistics, the operator classes it starts from, and the rewrite itself."""

    name: ClassVar[str]
    root: ClassVar[tuple[type[Operation], ...]]

    @abstractmethod
    def rewrite(self, op: Any, rewriter: CountedRewriter) -> bool:
        """Match at `op` and rewrite; True if and only if the graph changed. The rewriter inserts before `op`."""


@dataclass
class RewriteStats:
    """Rewrites per pattern name."""

    counts: Counter[str] = field(default_factory=Counter[str])

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    def __bool__(self) -> bool:
        return bool(self.counts)


@dataclass(frozen=True)
class RewriteEvent:
    """One rewrite, as listeners see it: its number from 1, the pass that made it, its name, and its root's location."""

    index: int
    pass_name: str
    name: str
    location: LocationAttr


class RewriteLimitReached(Exception):
    """Raised by `RewriteContext.rewrite` beyond the limit; the pass runner then ends the pass where it stands."""


class RewriteSwitchedOff(Exception):
    """Raised by `RewriteContext.rewrite` for a rewrite that is off; the pass runner then ends the pass where it stands.

    A pass that goes on with other rewrites asks `RewriteContext.allows` first.
    """


@dataclass
class RewriteContext:
    """What all rewrites of one compilation share: limit, switches, counts, listeners, the pass that is running.

    `at` is the operator that was looked at last, for the message if a pattern crashes.
    """

    limit: int | None = None
    switches: Switches = ALL_ON
    counts: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    total: int = 0
    pass_name: str = ""
    at: Operation | None = None
    listeners: list[Callable[[RewriteEvent], None]] = field(default_factory=list[Callable[[RewriteEvent], None]])
    _idle: CountedRewriter | None = None

    @staticmethod
    def current() -> RewriteContext:
        """The context of the running compilation; outside of one, a fresh context without a limit."""
        return _CURRENT.get() or RewriteContext()

    @property
    def exhausted(self) -> bool:
        return self.limit is not None and self.total >= self.limit

    def allows(self, name: str) -> bool:
        """Whether the running pass may apply the rewrite of that name: nobody has switched it off."""
        return self.switches.allow(self.pass_name, name)

    @contextmanager
    def activate(self) -> Generator[RewriteContext]:
        """Make this the current context inside the `with` block."""
        token = _CURRENT.set(self)
        try:
            yield self
        finally:
            _CURRENT.reset(token)

    @contextmanager
    def rewrite(self, name: str, replaced_ops: Sequence[Operation]) -> Generator[CountedRewriter]:
        """One rewrite of a pass that walks the graph by itself: counted, limited, locations carried.

        `replaced_ops` (at least one, the first is where the rewriter inserts) are the operators whose work the
        created ones take over, whether the body erases them or not. The graph must be valid after each such rewrite.
        Raises RewriteLimitReached when the limit is reached; test `exhausted` to leave a loop tidily. Raises
        RewriteSwitchedOff for a rewrite that is off.
        """
        if not self.allows(name):
            raise RewriteSwitchedOff(name)
        if self.exhausted:
            raise RewriteLimitReached(name)
        self.at = replaced_ops[0]
        location = replaced_ops[0].location
        rewriter, self._idle = self._idle, None
        if rewriter is None:
            rewriter = CountedRewriter(replaced_ops[0])
        else:
            rewriter.look_at(replaced_ops[0])
        rewriter.sources(*replaced_ops)
        yield rewriter
        rewriter.finish()
        self.record(name, location)
        self._idle = rewriter

    def record(self, name: str, location: LocationAttr) -> None:
        """Count one rewrite and tell the listeners."""
        self.total += 1
        self.counts[self.pass_name, name] += 1
        for listener in self.listeners:
            listener(RewriteEvent(self.total, self.pass_name, name, location))


_CURRENT: ContextVar[RewriteContext | None] = ContextVar("rewrite_context", default=None)


@contextmanager
def rewrite_limit(limit: int | None) -> Generator[RewriteContext]:
    """Inside the `with` block at most `limit` rewrites happen, over all passes; None counts without a limit."""
    with RewriteContext(limit).activate() as context:
        yield context


def apply_patterns(
    module: ModuleOp, patterns: Sequence[Pattern], *, max_iterations: int = MAX_ITERATIONS
) -> RewriteStats:
    """Apply `patterns` to every operator under `module` until none matches; linear in operators plus rewrites.

    Operators are visited in program order, and again when a rewrite touched them, their operands or their users.
    Patterns are tried in the order given, but for those that are switched off. What a rewrite leaves unused is erased.
    Stops at the context's limit.
    Raises GraphEngineError, naming the busiest pattern, after `max_iterations` rewrites for each operator there was.
    """
    context = RewriteContext.current()
    patterns = [pattern for pattern in patterns if context.allows(pattern.name)]
    stats = RewriteStats()
    by_type: dict[type[Operation], tuple[Pattern, ...]] = {}
    worklist: Worklist[Operation] = Worklist()

    def patterns_for(op: Operation) -> tuple[Pattern, ...]:
        kind = type(op)
        if kind not in by_type:
            by_type[kind] = tuple(pattern for pattern in patterns if issubclass(kind, pattern.root))
        return by_type[kind]

    def push(op: Operation) -> None:
        if patterns_for(op):
            worklist.push(op)

    every = backwards(module)
    for op in every:
        if by_type.get(type(op), patterns):  # of a class that is not known yet, or has patterns
            push(op)
    budget = max_iterations * len(every)

    rewriter: CountedRewriter | None = None
    while worklist and not context.exhausted:
        op = worklist.pop()
        if op.parent is None:
            continue
        context.at = op
        location = op.location
        if rewriter is None:
            rewriter = CountedRewriter(op)
        else:
            rewriter.look_at(op)
        for pattern in patterns_for(op):
            if not pattern.rewrite(op, rewriter):
                assert not rewriter.has_done_action, f"pattern '{pattern.name}' changed the graph but returned False"
                continue
            rewriter.finish()
            stats.counts[pattern.name] += 1
            context.record(pattern.name, location)
            if stats.total > budget:
                busiest, count = stats.counts.most_common(1)[0]
                raise GraphEngineError(f"rewriting does not end: pattern '{busiest}' was applied {count} times")
            _push_neighbours(op, rewriter, worklist, push)
            break
    return stats


def backwards(top: Operation) -> list[Operation]:
    """`top.walk(reverse=True)` as a list, many times as fast."""
    found: list[Operation] = []

    def add(op: Operation) -> None:
        found.append(op)
        for region in reversed(op.regions):
            for block in reversed(region.blocks):
                inner = block.last_op
                while inner is not None:
                    if inner.regions:
                        add(inner)
                    else:
                        found.append(inner)
                    inner = inner._prev_op  # pyright: ignore[reportPrivateUsage]

    add(top)
    return found


def select_patterns(
    patterns: Sequence[type[Pattern]], only: Sequence[str] = (), skip: Sequence[str] = ()
) -> list[Pattern]:
    """The patterns called `only` (all if none is named) but for those called `skip`, in the order of `patterns`.

    Raises GraphEngineError with the nearest name for one that does not exist.
    """
    names = [pattern.name for pattern in patterns]
    for name in (*only, *skip):
        if name not in names:
            close = get_close_matches(name, names, n=1)
            hint = f", did you mean '{close[0]}'?" if close else f"; patterns: {', '.join(names)}"
            raise GraphEngineError(f"no pattern is called '{name}'{hint}")
    return [pattern() for pattern in patterns if pattern.name in (only or names) and pattern.name not in skip]


def _push_neighbours(
    root: Operation, rewriter: CountedRewriter, worklist: Worklist[Operation], push: Callable[[Operation], None]
) -> None:
    """Queue whatever a rewrite may have given a new chance; the created operators come first, in program order."""
    for op, producers in rewriter.removed.items():
        if op.parent is None:
            for inner in op.walk():
                worklist.remove(inner)
        for producer in producers:
            if producer.parent is not None:
                push(producer)
    changed = [op for op in (root, *rewriter.touched) if op.parent is not None]
    for op in changed:
        push(op)
    for op in (*changed, *rewriter.created):
        if op.parent is not None:
            for result in op.results:
                for use in result.uses:
                    push(use.operation)
    for top in reversed(rewriter.created):
        if top.parent is not None:
            for op in top.walk(reverse=True):
                push(op)
