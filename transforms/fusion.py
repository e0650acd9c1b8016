"""What the fusing passes share: values with one user, and gathering operators into `ge.fused`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from graph_engine.dialects.ge.fused import FusedOp, YieldOp
from graph_engine.dialects.ge.locations import fuse, source_nodes
from graph_engine.transforms.driver import CountedRewriter
from graph_engine.transforms.remarks import passed
from graph_engine.transforms.retyping import rebuilt

LEAVES = "its result leaves the graph"


def graphs(module: ModuleOp) -> Iterator[Block]:
    """The body of every function that has one: a graph is one straight-line block."""
    for op in module.body.block.ops:
        if isinstance(op, FuncOp) and op.body.blocks:
            yield op.body.block


def single_user(value: SSAValue) -> Operation | None:
    """The one operator that uses `value`, once; None if there are more uses (a graph output is a use) or none."""
    user = value.get_user_of_unique_use()
    home = value.owner if isinstance(value.owner, Block) else value.owner.parent
    return user if user is not None and user.parent is home else None


def only_reader(value: SSAValue) -> Operation | None:
    """`single_user`, or the first operator of a `ge.fused` that this is and that reads the value inside."""
    user = single_user(value)
    if not isinstance(user, FusedOp):
        return user
    inside = user.block.args[list(user.inputs).index(value)]
    return next((use.operation for use in inside.uses), user)


def why_not_single(value: SSAValue) -> tuple[str, list[str]]:
    """Why `single_user` finds none, in words, and the readers' node names or operators."""
    readers = [user for user in dict.fromkeys(use.operation for use in value.uses)]
    names = [next((node.name for node in source_nodes(user.location)), user.name) for user in readers]
    if not readers:
        return "nothing reads its result", names
    if any(isinstance(user, ReturnOp) for user in readers):
        return LEAVES, names
    return f"its result is read by {', '.join(repr(name) for name in names)}", names


def gather(rewriter: CountedRewriter, members: Sequence[Operation], anchor: Operation) -> FusedOp:
    """`enclose` with the results of the last one and a remark that tells what was fused.

    What others read too of what is made before stays where it is, and is made once more inside.
    """
    names, kind = [op.name for op in members], anchor.name
    fused = enclose(rewriter, members, kind, members[-1].results)
    passed("Fused", fused, f"fused {', '.join(names)}", anchor=kind, operators=names)
    return fused


def enclose(rewriter: CountedRewriter, members: Sequence[Operation], anchor: str, kept: Sequence[SSAValue]) -> FusedOp:
    """Makes one `ge.fused` of `members` (in dataflow order) that gives `kept`, and erases those that nobody reads then.

    It stands where the last member stood, so everything that any member reads is available; nobody reads `kept` before.
    A member that is a `ge.fused` itself gives its operators; inner operators keep their own locations.
    """
    produced = {result for op in members for result in op.results}
    inputs = list(dict.fromkeys(value for op in members for value in op.operands if value not in produced))
    block = Block(arg_types=[value.type for value in inputs])
    values: dict[SSAValue, SSAValue] = dict(zip(inputs, block.args, strict=True))
    for op in members:
        _copy_into(block, op, values)
    block.add_op(YieldOp(*(values[result] for result in kept)))
    fused = FusedOp(inputs, Region(block), anchor=anchor)
    fused.location = fuse(*(op.location for op in members))
    for new, old in zip(fused.results, kept, strict=True):
        new.name_hint = old.name_hint
    rewriter.insert(fused, InsertPoint.before(members[-1]))
    for old, new in zip(kept, fused.results, strict=True):
        rewriter.replace_all_uses_with(old, new)
    for op in reversed(members):
        if not any(result.uses for result in op.results):
            rewriter.erase(op)
    return fused


def read_outside(members: Sequence[Operation]) -> list[SSAValue]:
    """What others than members read of their results, and all that the last one gives."""
    inside = set(members)
    results = (result for op in members[:-1] for result in op.results)
    read = (result for result in results if any(use.operation not in inside for use in result.uses))
    return [*read, *members[-1].results]


def _copy_into(block: Block, op: Operation, values: dict[SSAValue, SSAValue]) -> None:
    """Adds a copy of an operator, or of what a `ge.fused` holds, on `values`, which learn of the results."""
    if isinstance(op, FusedOp):
        values.update((arg, values[value]) for arg, value in zip(op.block.args, op.inputs, strict=True))
        for inner in op.block.ops:
            if inner is not op.terminator:
                _copy_into(block, inner, values)
        values.update((out, values[value]) for out, value in zip(op.results, op.terminator.values, strict=True))
        return
    copy = rebuilt(op, [values[value] for value in op.operands], lambda op, _: op.result_types)
    values.update(zip(op.results, copy.results, strict=True))
    block.add_op(copy)


def scatter(rewriter: CountedRewriter, fused: FusedOp) -> list[Operation]:
    """Replaces a `ge.fused` by its operators, which it returns in order."""
    values: dict[SSAValue, SSAValue] = dict(zip(fused.block.args, fused.inputs, strict=True))
    parts: list[Operation] = []
    for op in fused.block.ops:
        if op is not fused.terminator:
            copy = rebuilt(op, [values[value] for value in op.operands], lambda op, _: op.result_types)
            values.update(zip(op.results, copy.results, strict=True))
            parts.append(copy)
    rewriter.replace(fused, parts, [values[value] for value in fused.terminator.values])
    return parts
