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
    """`enclose` with a remark that tells what was fused."""
    names, kind = [op.name for op in members], anchor.name
    fused = enclose(rewriter, members, kind)
    passed("Fused", fused, f"fused {', '.join(names)}", anchor=kind, operators=names)
    return fused


def enclose(rewriter: CountedRewriter, members: Sequence[Operation], anchor: str) -> FusedOp:
    """Replaces `members` (in dataflow order, nobody else reads what is made before the last of them stands) by one `ge.fused`.

    Its results are those of the last one and, in front of them, all that are read by others. It stands where the last
    member stood, so everything that any member reads is available. A member that is a `ge.fused` itself gives its
    operators; inner operators keep their own locations.
    """
    produced = {result for op in members for result in op.results}
    inputs = list(dict.fromkeys(value for op in members for value in op.operands if value not in produced))
    block = Block(arg_types=[value.type for value in inputs])
    values: dict[SSAValue, SSAValue] = dict(zip(inputs, block.args, strict=True))
    for op in members:
        _copy_into(block, op, values)
    last = members[-1]
    kept = [*read_outside(members), *last.results]
    block.add_op(YieldOp(*(values[result] for result in kept)))
    fused = FusedOp(inputs, Region(block), anchor=anchor)
    fused.location = fuse(*(op.location for op in members))
    for new, old in zip(fused.results, kept, strict=True):
        new.name_hint = old.name_hint
    rewriter.insert(fused, InsertPoint.before(last))
    for old, new in zip(kept, fused.results, strict=True):
        rewriter.replace_all_uses_with(old, new)
    for op in reversed(members):
        rewriter.erase(op)
    return fused


def read_outside(members: Sequence[Operation]) -> list[SSAValue]:
    """What all members but the last one make and others than members read."""
    inside = set(members)
    results = (result for op in members[:-1] for result in op.results)
    return [result for result in results if any(use.operation not in inside for use in result.uses)]


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
