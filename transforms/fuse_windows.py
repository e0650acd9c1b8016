"""Let attention read its windows out of whole maps: partition, roll and their reverses become part of its kernel.

    %0 = ge.reshape %x {shape = [8, 7, 8, 672]} : (tensor<1x56x56x96xf32>) -> ...
    %1 = ge.transpose %0 {perm = [0, 2, 1, 3]} : ...
    %2 = ge.reshape %1 {shape = [64, 49, 96]} : ...
    %3 = ge.matmul %2, %w : ...                             // queries, keys and values of 64 windows
    %y = ge.fused ins(...) {anchor = "ge.matmul"} { matmul, mul, add, softmax, matmul }
    ...                                                     // a product, and the windows back into the map
    // becomes
    %0 = ge.reshape %x {shape = [3136, 96]} : ...
    %1 = ge.matmul %0, %w : ...
    %y = ge.fused ins(%1, ...) {anchor = "ge.matmul"} { window_partition, split_heads, slice, ..., merge_heads, window_merge }

Products and sums with a row of constants work row by row, so that they may come before the partition and behind its
reverse: on the rows of the map, without padding of windows to whole blocks. What moves rows is found by moving their
numbers: any chain of reshapes, transposes, slices and concats counts that has the effect of a partition or its reverse.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from graph_engine.dialects.ge.attention import attention_of
from graph_engine.dialects.ge.core import DYNAMIC, elements_of, shape_of
from graph_engine.dialects.ge.elementwise import AddOp, MulOp
from graph_engine.dialects.ge.evaluate import evaluate_op
from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.dialects.ge.heads import MergeHeadsOp, SplitHeadsOp
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.reference.windows import window_partition
from graph_engine.dialects.ge.shape import ConcatOp, ReshapeOp, SliceOp, TransposeOp
from graph_engine.dialects.ge.windows import WindowMergeOp, WindowPartitionOp
from graph_engine.target_ascend.soc.soc import load_soc
from graph_engine.transforms.cuts_and_joins import part_of
from graph_engine.transforms.driver import RewriteContext
from graph_engine.transforms.fusion import gather, graphs, single_user
from graph_engine.transforms.pass_base import ROUNDING, GePass
from graph_engine.transforms.recipes import in_shape, known
from graph_engine.transforms.stored_values import FRACTAL_COLUMNS, FRACTAL_ROWS

MOVES = (ReshapeOp, TransposeOp, SliceOp, ConcatOp)
MOST_ROWS = 64
"""Rows of a window at most: all of its scores lie in the unified buffer at once."""
MOST_MOVES = 16

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Windows:
    """The attributes of `ge.window_partition`."""

    grid: tuple[int, int, int]
    window: tuple[int, int]
    shift: tuple[int, int]

    @staticmethod
    def like(rows: Array) -> Windows | None:
        """The partition that puts the rows of a matrix at these places, [windows, rows of each]; None for any other."""
        count, size = rows.shape
        first = rows[0].astype(int)
        jumps = np.flatnonzero(np.diff(first) != 1)
        w = int(jumps[0]) + 1 if jumps.size else size
        if size % w:
            return None
        h, width = size // w, int(first[w] - first[0]) if jumps.size else size
        if width < w or width % w:
            return None
        shift = (int(first[0]) // width, int(first[0]) % width)
        total = count * size
        for height in range(
            total // width // h * h, 0, -h
        ):  # few tall maps: their rows of windows are dealt to the cores
            if total % (height * width) == 0 and shift[0] < h and shift[1] < w:
                grid = (total // (height * width), height, width)
                places = window_partition(np.arange(total)[:, None], grid=grid, window=(h, w), shift=shift)
                if np.array_equal(places[..., 0], rows):
                    return Windows(grid, (h, w), shift)
        return None


@dataclass(frozen=True)
class Rows:
    """A chain of operators that work row by row, the last one first, and the value in front of it."""

    source: SSAValue
    chain: tuple[Operation, ...]

    @staticmethod
    def behind(value: SSAValue) -> Rows:
        """The chain that makes `value`: products with weights, sums and products with a row of constants."""
        chain: list[Operation] = []
        while isinstance(value.owner, Operation) and (source := row_source(value.owner)) is not None:
            chain.append(value.owner)
            value = source
        return Rows(value, tuple(chain))

    def on(self, flat: SSAValue) -> list[Operation]:
        """The same operators on another matrix with the rows of the source."""
        made: list[Operation] = []
        for op in reversed(self.chain):
            if isinstance(op, MatmulOp):
                made.append(MatmulOp(flat, op.b, op.bias, transpose_b=bool(op.transpose_b.value.data)))
            elif isinstance(op, AddOp | MulOp):
                constant = op.rhs if known(op.rhs) is not None else op.lhs
                if len(shape_of(constant)) > 1:
                    made.append(in_shape(constant, (elements_of(constant),)))
                    constant = made[-1].results[0]
                made.append(type(op)(flat, constant))
            else:
                continue
            made[-1].location = op.location
            flat = made[-1].results[0]
        return made


def row_source(op: Operation) -> SSAValue | None:
    """The operand whose rows an operator works on one by one; None if there is none."""
    match op:
        case MatmulOp() if not op.transpose_a.value.data and known(op.b) is not None and len(shape_of(op.b)) == 2:
            return op.a if op.bias is None or len(shape_of(op.bias)) == 1 else None
        case AddOp() | MulOp():
            for value, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
                row = known(other) is not None and elements_of(other) in (1, shape_of(op.result)[-1])
                if row and value.type == op.result.type and shape_of(other)[-1:] in ((), shape_of(value)[-1:], (1,)):
                    return value
            return None
        case ReshapeOp() if shape_of(op.x)[-1:] == shape_of(op.result)[-1:]:
            return op.x
        case _:
            return None


def moved_from(value: SSAValue, root: SSAValue | None = None) -> tuple[SSAValue, Array] | None:
    """The one value that moves alone make `value` of (`root`, if given), and the places its elements come from."""
    found: dict[SSAValue, Array] = {}
    sources: list[SSAValue] = [] if root is None else [root]

    def visit(value: SSAValue, left: int) -> bool:
        if value in found:
            return True
        op = value.owner
        if value is root or not isinstance(op, MOVES) or not left:
            if value not in sources:
                sources.append(value)
            if len(sources) > 1 or DYNAMIC in shape_of(value):
                return False
            found[value] = np.arange(elements_of(value)).reshape(shape_of(value))
            return True
        if not all(visit(operand, left - 1) for operand in op.operands):
            return False
        found[value] = evaluate_op(op, [found[operand] for operand in op.operands])[0]
        return True

    return (sources[0], found[value]) if visit(value, MOST_MOVES) else None


def rows_of(places: Array, columns: int, shape: tuple[int, ...]) -> Array | None:
    """The rows, as an array of `shape`, whose elements lie at `places`; None where a row is torn."""
    table = places.reshape(-1, columns)
    whole = np.array_equal(table, table[:, :1] + np.arange(columns)) and not (table[:, 0] % columns).any()
    return (table[:, 0] // columns).reshape(shape) if whole else None


def end_of_moves(value: SSAValue) -> SSAValue | None:
    """The one value that the moves behind `value` end in."""
    reached, inside = [value], {value}
    ends: list[SSAValue] = []
    while reached and len(inside) <= MOST_MOVES:
        here = reached.pop()
        users = [use.operation for use in here.uses]
        moves = [user for user in users if isinstance(user, MOVES)]
        if len(moves) < len(users) or not users:
            ends.append(here)
        for result in (move.results[0] for move in moves):
            if result not in inside:
                inside.add(result)
                reached.append(result)
    return ends[0] if len(ends) == 1 and not reached else None


def heads_of(value: SSAValue) -> tuple[SSAValue, int, range] | None:
    """The matrix [windows, rows, columns] that a value is heads of, the heads in it, and which of them the value has.

    Queries, keys and values that are cut out of one product come as heads of all of it, or as columns of it (`chunk`).
    """
    part = part_of(value, 1)
    split, which = (value.owner, None) if part is None else (part[0].owner, part[1])
    if not isinstance(split, SplitHeadsOp) or len(shape_of(split.result)) != 4:
        return None
    count, width = split.heads.value.data, shape_of(split.result)[-1]
    columns = part_of(split.x, 2)
    whole, first = (split.x, 0) if columns is None else (columns[0], columns[1].start)
    if width % FRACTAL_COLUMNS or first % width or shape_of(whole)[-1] % width:
        return None
    which = range(count) if which is None else which
    return whole, shape_of(whole)[-1] // width, range(first // width + which.start, first // width + which.stop)


@dataclass(frozen=True)
class Found:
    """An attention of windows: where its heads come from and where its result goes."""

    fused: FusedOp
    windows: Windows
    sources: tuple[tuple[Rows, SSAValue, int, range], ...]
    """Of q, k and v: the rows, the map before them, the heads of the whole, which of them."""
    behind: Rows
    end: SSAValue


def find(fused: FusedOp) -> Found | None:
    """What `fuse_windows` needs to know of an attention; None if it is none of windows."""
    attention = attention_of(fused)
    if attention is None or attention.partitions:
        return None
    inside: dict[SSAValue, SSAValue] = {}
    for arg, value in zip(fused.block.args, fused.inputs, strict=True):
        inside[arg] = value
    sources: list[tuple[Rows, SSAValue, int, range]] = []
    windows: set[Windows | None] = set()
    shape, operands = shape_of(fused.results[0]), {attention.scores.a, attention.scores.b, attention.result.b}
    if len(shape) != 4 or shape[0] == 1 or len(operands) < 3 or shape[-2] > MOST_ROWS or shape[-2] % FRACTAL_ROWS == 0:
        return None
    for value in (attention.scores.a, attention.scores.b, attention.result.b):
        heads = heads_of(inside[value])
        if heads is None:
            return None
        whole, count, which = heads
        rows = Rows.behind(whole)
        moved = moved_from(rows.source)
        if moved is None:
            return None
        table = rows_of(moved[1], shape_of(rows.source)[-1], (shape_of(whole)[0], shape_of(whole)[1]))
        windows.add(None if table is None else Windows.like(table))
        sources.append((rows, moved[0], count, which))
    merge = single_user(fused.results[0])
    (found,) = windows if len(windows) == 1 else (None,)
    if found is None or not isinstance(merge, MergeHeadsOp):
        return None
    value = merge.result
    while (user := single_user(value)) is not None and row_source(user) is value and not _tears(user):
        value = user.results[0]
    end = end_of_moves(value)
    back = None if end is None else moved_from(end, value)
    if end is None or back is None or elements_of(end) != elements_of(value):
        return None
    columns = shape_of(value)[-1]
    table = rows_of(back[1], columns, (elements_of(value) // columns,))
    there = (
        window_partition(table[:, None], grid=found.grid, window=found.window, shift=found.shift)
        if table is not None
        else None
    )
    if there is None or not np.array_equal(there.reshape(-1), np.arange(there.size)) or shape_of(end)[-1] != columns:
        return None
    behind = Rows.behind(value)
    return Found(fused, found, tuple(sources), Rows(merge.result, behind.chain), end)


def _tears(op: Operation) -> bool:
    """Whether a reshape begins to move windows: it is a matter of the moves behind."""
    return isinstance(op, ReshapeOp) and not isinstance(single_user(op.result), MatmulOp | AddOp | MulOp)


def fuse(found: Found, context: RewriteContext) -> None:
    """Rows first, then attention with its windows, then rows again."""
    attention, windows = attention_of(found.fused), found.windows
    end = found.end.owner
    assert attention is not None and isinstance(end, Operation)
    with context.rewrite("fuse-windows", [end]) as rewriter:
        heads: dict[SSAValue, SSAValue] = {}
        cuts: list[Operation] = []
        values: dict[SSAValue, SSAValue] = {}
        for arg, value in zip(found.fused.block.args, found.fused.inputs, strict=True):
            values[arg] = value
        operands: tuple[SSAValue, ...] = (attention.scores.a, attention.scores.b, attention.result.b)
        for operand, (rows, whole, count, which) in zip(operands, found.sources, strict=True):
            key = rows.chain[0].results[0] if rows.chain else whole
            if key not in heads:
                columns = shape_of(rows.source)[-1]
                flat = ReshapeOp(whole, shape=(elements_of(whole) // columns, columns))
                before = [flat, *rows.on(flat.result)]
                rewriter.insert(before)
                partition = WindowPartitionOp(
                    before[-1].results[0], grid=windows.grid, window=windows.window, shift=windows.shift
                )
                split = SplitHeadsOp(partition.result, heads=count)
                cuts += [partition, split]
                heads[key] = split.result
            values[operand] = heads[key]
            if len(which) < count:
                cuts.append(SliceOp(heads[key], starts=[which.start], ends=[which.stop], axes=[1]))
                values[operand] = cuts[-1].results[0]
        inner = [op.clone(values) for op in list(found.fused.block.ops)[:-1]]
        merge = MergeHeadsOp(inner[-1].results[0])
        back = WindowMergeOp(merge.result, grid=windows.grid, window=windows.window, shift=windows.shift)
        members = [*cuts, *inner, merge, back]
        rewriter.insert(members)
        fused = gather(rewriter, members, attention.scores)
        made = [fused, *found.behind.on(fused.results[0])]
        rewriter.replace(end, [*made[1:], ReshapeOp(made[-1].results[0], shape=shape_of(found.end))])


def fuse_block(block: Block, context: RewriteContext) -> None:
    """Every attention of windows. Linear."""
    for op in [op for op in block.ops if isinstance(op, FusedOp)]:
        if (found := find(op)) is not None:
            fuse(found, context)


@dataclass(frozen=True)
class FuseWindows(GePass):
    """One walk; where the chip's cores have Cube and Vector, so that attention is one kernel."""

    name = "fuse-windows"
    numerics = ROUNDING

    soc: str = field(default="Ascend310P3", metadata={"help": "chip that has attention as one kernel, or not"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        soc, context = load_soc(self.soc), RewriteContext.current()
        if soc.has("split") or MatmulOp.name not in soc.heavy_operators:
            return
        for block in graphs(op):
            fuse_block(block, context)
