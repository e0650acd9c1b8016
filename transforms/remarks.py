"""What passes tell about their decisions: done, not done and why, measured, or dangerous for the result.

    missed("NotFused", op, "its result is also read by 'pool1'", guard="single-user", readers=["pool1"])

A remark costs nothing where nobody listens; guard the search for a reason with `wanted`:

    if wanted(Kind.MISSED):
        missed("NotFused", op, explain(op))
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from xdsl.ir import Operation

from graph_engine.dialects.ge.locations import source_nodes
from graph_engine.target_ascend.om.program import SourceNode
from graph_engine.transforms.driver import RewriteContext


class Kind(Enum):
    """What a remark says; the first three are those of LLVM's optimisation remarks."""

    PASSED = "an optimisation that was made"
    MISSED = "an optimisation that was not made, and why"
    ANALYSIS = "a choice or a measurement"
    WARNING = "the result may differ from the model's; told without being asked for"

    @property
    def title(self) -> str:
        """The name in files and on the command line, e.g. `Missed`."""
        return self.name.capitalize()


@dataclass(frozen=True)
class Remark:
    """One remark of the pass `pass_name` about an operator (`ge.conv2d`) that does the work of `nodes`.

    `name` is the same for all remarks of one sort (`FusedEpilogue`); `args` holds what the message says for a script:
    strings, numbers and lists of them.
    """

    kind: Kind
    pass_name: str
    name: str
    op: str
    nodes: tuple[SourceNode, ...]
    message: str
    args: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def where(self) -> str:
        """The nodes that a reader looks for, or the operator if the model names none."""
        if not self.nodes:
            return self.op
        first, more = self.nodes[0], len(self.nodes) - 1
        return f"node '{first.name}' ({first.op_type})" + (f" and {more} more" if more else "")

    def __str__(self) -> str:
        return f"{self.where}: {self.message} [{self.pass_name}]"


Listener = Callable[[Remark], None]
_LISTENERS: ContextVar[tuple[tuple[frozenset[Kind], Listener], ...]] = ContextVar("remark_listeners", default=())


@contextmanager
def listening(listener: Listener, kinds: frozenset[Kind] = frozenset(Kind)) -> Generator[None]:
    """Inside the `with` block `listener` is called with every remark of `kinds`."""
    token = _LISTENERS.set((*_LISTENERS.get(), (kinds, listener)))
    try:
        yield
    finally:
        _LISTENERS.reset(token)


def wanted(kind: Kind) -> bool:
    """Whether anybody listens to remarks of `kind`."""
    return any(kind in kinds for kinds, _ in _LISTENERS.get())


def emit(kind: Kind, name: str, op: Operation, message: str, **args: Any) -> None:
    """Tell all listeners of `kind` a remark of the running pass about `op`, which must still have its location."""
    if not wanted(kind):
        return
    nodes = tuple(source_nodes(op.location))
    remark = Remark(kind, RewriteContext.current().pass_name, name, op.name, nodes, message, args)
    for kinds, listener in _LISTENERS.get():
        if kind in kinds:
            listener(remark)


def passed(name: str, op: Operation, message: str, **args: Any) -> None:
    """An optimisation that was made; `op` is the operator that is left."""
    emit(Kind.PASSED, name, op, message, **args)


def missed(name: str, op: Operation, message: str, **args: Any) -> None:
    """An optimisation that was not made at `op`, and why."""
    emit(Kind.MISSED, name, op, message, **args)


def analysis(name: str, op: Operation, message: str, **args: Any) -> None:
    """A choice or a measurement."""
    emit(Kind.ANALYSIS, name, op, message, **args)


def warning(name: str, op: Operation, message: str, **args: Any) -> None:
    """The result may differ from the model's: say what leaves which bound, and the option that avoids it."""
    emit(Kind.WARNING, name, op, message, **args)
