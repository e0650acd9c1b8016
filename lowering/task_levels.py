"""Which elementwise operators could share a task without closing a cycle, and the order of a graph in which some do.

Every task has a *level* above those of all that it reads. An operator may join a task if everything it reads is made by
that task or on a lower level: what reads the operator comes later and gets a higher level, so levels rise along every edge
of the graph of tasks, whatever else is joined. One walk in the order of the graph, so linear. Operators take the highest
level that they can, so that branches that end together meet. Partners on lower levels are not found: whether a path leads
there, levels do not tell.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.dialects.ge.interning import shape_of_type
from graph_engine.dialects.layout import encoding_of
from graph_engine.dialects.operator_class import operands_of
from graph_engine.lowering.selection.choice import tensor
from graph_engine.lowering.selection.vector import ELEMENTWISE_OPERATORS


@dataclass(frozen=True)
class Form:
    """Shape, element type and format of what a task makes, whatever fills the padding."""

    shape: tuple[int, ...]
    element: Hashable
    format: Hashable


def form_of(op: Operation) -> Form | None:
    """The form of an elementwise operator, or of a group of them; None for every other operator."""
    kind = op.anchor.data if isinstance(op, FusedOp) else op.name
    if kind not in ELEMENTWISE_OPERATORS:
        return None
    ty = tensor(op.results[-1])
    return Form(shape_of_type(ty), ty.element_type, encoding_of(ty).with_pad("zero"))


def operators_in(op: Operation) -> int:
    """How many operators are a part of the task of one."""
    return len(list(op.block.ops)) - 1 if isinstance(op, FusedOp) else 1


def makers(op: Operation) -> Iterator[Operation]:
    """The operators that make what an operator reads."""
    return (value.owner for value in operands_of(op) if isinstance(value.owner, Operation))


@dataclass(eq=False)
class Joint:
    """A task to be: its level, its operators in the order of the graph, the tensors that they read and make."""

    form: Form
    level: int
    members: list[Operation] = field(default_factory=list[Operation])
    tensors: set[SSAValue] = field(default_factory=set[SSAValue])
    operators: int = 0

    def add(self, op: Operation) -> None:
        """One more operator."""
        self.members.append(op)
        self.tensors.update((*op.operands, *op.results))
        self.operators += operators_in(op)


class TaskLevels:
    """The tasks of a graph; `joints` are those of elementwise operators. Linear in the operators `ops`, given in order."""

    def __init__(self, ops: Sequence[Operation], max_ops: int, max_tensors: int):
        self.joints: list[Joint] = []
        self._limits = max_ops, max_tensors
        self._latest = latest_levels(ops)
        self._levels: dict[Operation, int] = {}
        self._of: dict[Operation, Joint] = {}
        self._at: dict[tuple[Form, int], Joint] = {}
        self._last: dict[Form, Joint] = {}
        for op in ops:
            self._add(op)

    def _add(self, op: Operation) -> None:
        """The next operator of the graph joins a task, or is one of its own."""
        earliest = 1 + max((self._levels[maker] for maker in makers(op)), default=-1)
        form = form_of(op)
        if form is None:
            self._levels[op] = earliest
            return
        joint = next((joint for joint in self._open(op, form, earliest) if self._room(op, joint)), None)
        if joint is None:
            joint = Joint(form, max(earliest, self._latest[op]))
            self.joints.append(joint)
            self._at[form, joint.level] = self._last[form] = joint
        joint.add(op)
        self._of[op], self._levels[op] = joint, joint.level

    def _open(self, op: Operation, form: Form, earliest: int) -> Iterator[Joint]:
        """Tasks that an operator may join: first those that make its operands, then others of its level, or above it."""
        for joint in dict.fromkeys(self._of[maker] for maker in makers(op) if maker in self._of):
            own = (self._of.get(maker) is joint or self._levels[maker] < joint.level for maker in makers(op))
            if joint.form == form and all(own):
                yield joint
        for level in (max(earliest, self._latest[op]), earliest):
            if (form, level) in self._at:
                yield self._at[form, level]
        if form in self._last and self._last[form].level >= earliest:
            yield self._last[form]

    def _room(self, op: Operation, joint: Joint) -> bool:
        """Whether a task stays within the limits with one more operator."""
        max_ops, max_tensors = self._limits
        tensors = joint.tensors.union(op.operands, op.results)
        return joint.operators + operators_in(op) <= max_ops and len(tensors) <= max_tensors


def latest_levels(ops: Sequence[Operation]) -> dict[Operation, int]:
    """The highest level of every operator at which the longest path of the graph grows no longer."""
    behind: dict[Operation, int] = {}
    for op in reversed(ops):
        length = behind.setdefault(op, 0) + 1
        for maker in makers(op):
            behind[maker] = max(behind.get(maker, 0), length)
    longest = max(behind.values(), default=0)
    return {op: longest - length for op, length in behind.items()}


def reordered(ops: Sequence[Operation], tasks: Mapping[Operation, Sequence[Operation]]) -> Iterator[list[Operation]]:
    """Moves the operators of a block so that those of one task stand together, where the first of them stood.

    What they need moves in front of them, nothing else moves. Yields the operators of each task as soon as they stand; they
    may then be replaced.
    """
    waiting = set(ops)
    for op in ops:
        if op not in waiting:
            continue
        block, anchor = op.parent_block(), op.next_op
        sequence = _sequence(op, tasks, waiting)
        moved = set(sequence)
        while anchor is not None and anchor in moved:
            anchor = anchor.next_op
        if len(sequence) > 1 and block is not None and anchor is not None:
            for one in sequence:
                one.detach()
                block.insert_op_before(one, anchor)
        for one in sequence:
            if one in tasks and tasks[one][0] is one:
                yield list(tasks[one])


def _sequence(
    op: Operation, tasks: Mapping[Operation, Sequence[Operation]], waiting: set[Operation]
) -> list[Operation]:
    """An operator, the others of its task and all that these need of those that wait, which they then do no more."""
    sequence: list[Operation] = []
    stack = [op]
    while stack:
        members = tasks.get(stack[-1], stack[-1:])
        needed = [maker for m in members for maker in makers(m) if maker in waiting and maker not in members]
        if needed and members[0] in waiting:
            stack += reversed(needed)
            continue
        stack.pop()
        if members[0] in waiting:
            waiting.difference_update(members)
            sequence += members
    return sequence
