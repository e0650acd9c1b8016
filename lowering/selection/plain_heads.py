"""Heads of attention of plain matrices where they lie: products read and write them by strides, no task cuts or joins them.

x[B, S, H * D] holds head h of its matrices from column h * D on. A product that reads `ge.split_heads` of x, some heads of
that, or some columns of x, reads x; one whose only reader is `ge.merge_heads` writes what that one would.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ascend.spaces import row_major
from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.dialects.ge.heads import MergeHeadsOp, SplitHeadsOp
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.shape import ReshapeOp, SliceOp
from graph_engine.dialects.layout import is_plain
from graph_engine.lowering.selection.choice import tensor
from graph_engine.transforms.cuts_and_joins import part_of
from graph_engine.transforms.fusion import single_user
from graph_engine.transforms.stored_values import keeps_matrices

DEEPEST = 8
"""Cuts and other names between a value and what holds it, at most: as many as any exporter writes, and a few."""


@dataclass(frozen=True)
class Placed:
    """Matrices within `source`: rows `pitch` elements apart, matrices `steps[i]` apart along batch axis i, from `start` on."""

    source: SSAValue
    steps: tuple[int, ...]
    pitch: int
    start: int = 0

    @property
    def extent(self) -> int:
        """Elements of `source`."""
        return prod(tensor(self.source).get_shape())


def placed(value: SSAValue, deepest: int = DEEPEST) -> Placed:
    """Where the matrices of a plain value lie: within what its heads or columns were cut from, or in itself."""
    shape, op = tensor(value).get_shape(), value.owner
    within: Placed | None = None
    if not deepest or len(shape) < 2:
        pass
    elif keeps_matrices(op) and isinstance(op, ReshapeOp):
        within = regrouped(placed(op.x, deepest - 1), tensor(op.x).get_shape()[:-2], shape[:-2])
    elif isinstance(op, SplitHeadsOp) and is_plain(op.x.type):
        within = heads_of(placed(op.x, deepest - 1), shape[-1])
    elif isinstance(op, SliceOp) and is_plain(value.type):
        within = _part(placed(op.x, deepest - 1), value)
    matrix = prod(shape[-2:])
    return within or Placed(value, tuple(step * matrix for step in row_major(shape[:-2])), shape[-1])


def heads_of(joined: Placed, width: int) -> Placed:
    """Heads of `width` columns side by side in each matrix; the last batch axis counts them."""
    return replace(joined, steps=(*joined.steps, width))


def _part(whole: Placed, value: SSAValue) -> Placed | None:
    """What a slice takes, of matrices or of their columns; None if it cuts something else."""
    rank = len(tensor(value).get_shape())
    for axis, step in enumerate((*whole.steps, whole.pitch, 1)):
        part = part_of(value, axis)
        if part is not None and axis != rank - 2:
            return replace(whole, start=whole.start + part[1].start * step)
    return None


def regrouped(place: Placed, before: Sequence[int], after: Sequence[int]) -> Placed | None:
    """The same matrices counted by other batch axes; None where an axis would join matrices that are not evenly spaced."""
    left = [(extent, step) for extent, step in zip(before, place.steps, strict=True) if extent != 1]
    steps: list[int] = []
    for extent in reversed(after):
        if extent == 1:
            steps.append(0)
            continue
        count, step = left.pop()
        while count % extent:
            if not left or left[-1][1] != step * count:
                return None
            count *= left.pop()[0]
        steps.append(step)
        if count > extent:
            left.append((count // extent, step * extent))
    return replace(place, steps=tuple(reversed(steps)))


def merging(op: Operation) -> tuple[Operation, ...]:
    """The only readers of a product's plain result down to the one that joins its heads; empty if none does."""
    chain: list[Operation] = []
    value = op.results[0]
    while len(chain) < DEEPEST and (user := single_user(value)) is not None:
        chain.append(user)
        if isinstance(user, MergeHeadsOp):
            plain = is_plain(user.x.type) and is_plain(user.result.type)
            return tuple(chain) if plain and written(op.results[0], chain).source is user.result else ()
        if not keeps_matrices(user):
            break
        value = user.results[0]
    return ()


def written(result: SSAValue, chain: Sequence[Operation]) -> Placed:
    """Where the matrices of a product's result lie: one behind the other, or side by side behind `chain`."""
    whole = placed(result)
    if not chain:
        return whole
    merge = chain[-1]
    assert isinstance(merge, MergeHeadsOp)
    heads, batch = tensor(merge.x).get_shape(), tensor(result).get_shape()[:-2]
    return regrouped(heads_of(placed(merge.result), heads[-1]), heads[:-2], batch) or whole


def products_read(op: Operation, deepest: int = DEEPEST) -> bool:
    """Whether products read all that `op` cuts, where it lies: no task of its own."""
    if not isinstance(op, SplitHeadsOp | SliceOp) or not is_plain(op.result.type):
        return False
    return _all_read(op.result, deepest) and placed(op.result).source is not op.result


def _all_read(value: SSAValue, deepest: int) -> bool:
    return bool(value.uses and deepest) and all(_reads(use.operation, use.index, deepest - 1) for use in value.uses)


def _reads(user: Operation, index: int, deepest: int) -> bool:
    if "ge.no_kernel" in user.attributes:
        return False
    if isinstance(user, SliceOp | SplitHeadsOp):
        return products_read(user, deepest)
    if keeps_matrices(user):
        return _all_read(user.results[0], deepest)
    if isinstance(user, FusedOp):
        return _all_read(user.block.args[index], deepest)
    plain = isinstance(user, MatmulOp) and all(is_plain(v.type) for v in (user.a, user.b, user.result))
    return plain and index < 2
