"""Make one wide matrix product of several that read one input: query, key and value; gate and up.

    %q = ge.matmul %x, %wq, %bq : (tensor<1x128x768xf32>, tensor<768x768xf32>, tensor<768xf32>) -> ...
    %k = ge.matmul %x, %wk, %bk : ...
    // becomes
    %w = ge.constant #ge.fold<"ge.concat", [%wq, %wk], {axis = 1}, tensor<768x1536xf32>>
    %b = ge.constant #ge.fold<"ge.concat", [%bq, %bk], {axis = 0}, tensor<1536xf32>>
    %0 = ge.matmul %x, %w, %b : ... -> tensor<1x128x1536xf32>
    %q = ge.slice %0 {starts = [0], ends = [768], axes = [2], steps = [1]} : ...
    %k = ge.slice %0 {starts = [768], ends = [1536], axes = [2], steps = [1]} : ...

One task starts instead of several, and the input is read once. The parts are free where they are views: whole blocks of
columns of one matrix in FRACTAL_NZ. Of several matrices, a batch, heads are free that attention reads where they lie:

    %0 = ge.matmul %x, %w, %b : ... -> tensor<2x128x1536xf32>
    %h = ge.split_heads %0 {heads = 24} : ... -> tensor<2x24x128x64xf32>
    %q = ge.slice %h {starts = [0], ends = [12], axes = [1], steps = [1]} : ...

Elsewhere each part is a copy, and the estimated times of both forms decide. A product that takes other operators along, a
residual Add or an activation, is a kernel already and stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Block, Operation, SSAValue

from graph_engine.dialects.ge.attention import reads_heads
from graph_engine.dialects.ge.core import DYNAMIC, element_of, elements_of, shape_of
from graph_engine.dialects.ge.heads import SplitHeadsOp
from graph_engine.dialects.ge.interning import element_name
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.precision import DEVICE_FLOATS
from graph_engine.dialects.ge.shape import ReshapeOp, SliceOp
from graph_engine.target_ascend.soc.soc import Soc, load_soc
from graph_engine.transforms.driver import RewriteContext
from graph_engine.transforms.fusion import graphs, single_user
from graph_engine.transforms.pass_base import ROUNDING, GePass
from graph_engine.transforms.recipes import Known, cast_to, filled, joined, known
from graph_engine.transforms.remarks import missed, passed
from graph_engine.transforms.task_time import copy_us, product_us


def may_join(op: Operation) -> bool:
    """Whether an operator is a product with a constant matrix and at most one constant value a column."""
    if not isinstance(op, MatmulOp) or op.transpose_a.value.data or DYNAMIC in shape_of(op.result):
        return False
    if element_name(element_of(op.result)) not in DEVICE_FLOATS:
        return False
    bias, columns = known(op.bias), shape_of(op.result)[-1:]
    return (
        known(op.b) is not None
        and len(shape_of(op.b)) == 2
        and (op.bias is None or (bias is not None and bias.shape == columns))
    )


def groups(block: Block) -> list[list[MatmulOp]]:
    """Products of one input that store their weights alike, in the order of the graph, two or more. Linear."""
    found: dict[tuple[object, ...], list[MatmulOp]] = {}
    for op in block.ops:
        if isinstance(op, MatmulOp) and may_join(op):
            key = (op.a, op.transpose_b.value.data, element_of(op.b))
            found.setdefault(key, []).append(op)
    return [group for group in found.values() if len(group) > 1]


def parts_are_views(group: Sequence[MatmulOp], soc: Soc) -> bool:
    """Whether the columns of each product are whole blocks of one matrix in FRACTAL_NZ."""
    block = soc.c0["f16"]
    return MatmulOp.name in soc.heavy_operators and all(
        prod(shape_of(op.result)[:-2]) == 1 and shape_of(op.result)[-1] % block == 0 for op in group
    )


def columns_are_read_in_place(group: Sequence[MatmulOp], soc: Soc) -> bool:
    """Whether all products are cut into heads on a chip whose products read plain matrices, which lie in any columns."""
    return MatmulOp.name not in soc.heavy_operators and all(_leads_to_heads(op.result) for op in group)


def _leads_to_heads(value: SSAValue) -> bool:
    user = single_user(value)
    while isinstance(user, ReshapeOp):
        user = single_user(user.result)
    return isinstance(user, SplitHeadsOp)


def heads_of(group: Sequence[MatmulOp], soc: Soc) -> list[SplitHeadsOp]:
    """The operators that cut the products into heads of one width, if attention reads all of these where they lie."""
    splits = [op for op in map(_only_split, group) if op is not None]
    widths = {shape_of(split.result)[-1] for split in splits}
    in_place = MatmulOp.name in soc.heavy_operators and not soc.has("split")
    if not in_place or len(splits) < len(group) or len(widths) > 1 or widths.pop() % soc.c0["f16"]:
        return []
    return splits if all(reads_heads(use) for split in splits for use in split.result.uses) else []


def _only_split(op: MatmulOp) -> SplitHeadsOp | None:
    user = single_user(op.result)
    return user if isinstance(user, SplitHeadsOp) and user.result.uses else None


def gain_us(group: Sequence[MatmulOp], soc: Soc) -> float:
    """Microseconds that one wide product and its parts are expected to take less than the products one by one."""
    first = group[0]
    k, columns = first.reduction_extent(), [shape_of(op.result)[-1] for op in group]
    m = prod(shape_of(first.a)[:-1])
    apart = sum(product_us(soc, m, k, n) for n in columns)
    free = parts_are_views(group, soc) or columns_are_read_in_place(group, soc) or heads_of(group, soc)
    copies = 0.0 if free else sum(copy_us(soc, elements_of(op.result)) for op in group)
    return apart - product_us(soc, m, k, sum(columns)) - copies


def wide_product(group: Sequence[MatmulOp]) -> list[Operation]:
    """The constants of one product for all, and that product as the last."""
    first = group[0]
    transposed = bool(first.transpose_b.value.data)
    constants = [joined([_constant(op.b) for op in group], axis=0 if transposed else 1).op()]
    if any(op.bias is not None for op in group):
        constants.append(joined([_bias(op) for op in group], axis=0).op())
    product = MatmulOp(first.a, *(constant.result for constant in constants), transpose_b=transposed)
    return [*constants, product]


def _constant(value: SSAValue) -> Known:
    constant = known(value)
    assert constant is not None
    return constant


def _bias(op: MatmulOp) -> Known:
    """The bias in fp32, zeros if there is none."""
    return filled(0.0, shape_of(op.result)[-1:]) if op.bias is None else cast_to(_constant(op.bias), f32)


def fuse_block(block: Block, context: RewriteContext, soc: Soc) -> None:
    """Every group that gains by it. The wide product stands where the first one stood, the parts behind it."""
    for group in groups(block):
        gain = gain_us(group, soc)
        if gain <= 0:
            missed(
                "ParallelMatmuls",
                group[0],
                f"{len(group)} products of one input stay: {-gain:.1f} us cheaper",
                gain_us=gain,
            )
            continue
        made = wide_product(group)
        product, rank = made[-1], len(shape_of(group[0].result))
        replaced: Sequence[MatmulOp | SplitHeadsOp] = (
            group if parts_are_views(group, soc) else heads_of(group, soc) or group
        )
        counts, axis = [shape_of(op.result)[-1] for op in group], rank - 1
        if replaced is not group:
            counts, axis = [shape_of(op.result)[-3] for op in replaced], rank - 2
            made.append(SplitHeadsOp(product.results[0], heads=sum(counts)))
        ends = [0, *accumulate(counts)]
        with context.rewrite("fuse-parallel-matmuls", list(group)) as rewriter:
            parts = [
                SliceOp(made[-1].results[0], starts=[start], ends=[end], axes=[axis]) for start, end in pairwise(ends)
            ]
            rewriter.insert([*made, *parts])
            for op, own, part in zip(group, replaced, parts, strict=True):
                part.location = op.location
                rewriter.replace(own, [], [part.result])
        passed("ParallelMatmuls", product, f"one product of {len(group)}, {gain:.1f} us less", gain_us=gain)


@dataclass(frozen=True)
class FuseParallelMatmuls(GePass):
    """One walk that groups products by their input."""

    name = "fuse-parallel-matmuls"
    numerics = ROUNDING

    soc: str = field(default="Ascend310P3", metadata={"help": "chip whose rates and overheads decide"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        context, soc = RewriteContext.current(), load_soc(self.soc)
        for block in graphs(op):
            fuse_block(block, context, soc)
