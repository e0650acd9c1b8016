"""Compute operators on constants: small results at once, large ones as `#ge.fold` recipes that nobody evaluates yet.

%0 = ge.constant #ge.weight<"w", ...> : tensor<64x32xf32>
%1 = ge.transpose %0 {perm = [1, 0]} : (tensor<64x32xf32>) -> tensor<32x64xf32>
// becomes
%1 = ge.constant #ge.fold<"ge.transpose", [#ge.weight<"w", ...>], {perm = array<i64: 1, 0>}, tensor<32x64xf32>>
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.core import DYNAMIC, GeOp, Tensor, bytes_of, shape_of
from graph_engine.transforms.driver import RewriteContext
from graph_engine.transforms.pass_base import ROUNDING, GePass
from graph_engine.transforms.recipes import Known, computed, known
from graph_engine.transforms.remarks import missed

MAX_GROWTH = 1 << 20
SOURCES = 32
"""Constants that are remembered for each value, the largest ones: with more, a result only seems to grow more."""


def foldable(op: Operation) -> bool:
    """Whether `op` is an operator without bodies or effects, with results of known shape and something to compute."""
    return (
        isinstance(op, GeOp)
        and bool(op.operands)
        and not op.regions
        and is_side_effect_free(op)
        and not any(DYNAMIC in shape_of(result) for result in op.results)
    )


class Folding:
    """What of one block can be computed, and what of that may be stored. Linear.

    An operator may be stored if its results take at most `max_growth` bytes more than the constants that they are
    computed from. One in the middle of a chain need not: only what remaining operators read is stored.
    """

    def __init__(self, block: Block, max_growth: int):
        sources: dict[SSAValue, frozenset[SSAValue]] = {}
        self.computable: list[GeOp] = []
        for op in block.ops:
            if isinstance(op, ConstantOp):
                sources[op.result] = frozenset((op.result,))
            elif foldable(op) and all(value in sources for value in op.operands):
                self.computable.append(cast(GeOp, op))
                made_of = _largest({source for value in op.operands for source in sources[value]})
                sources.update((result, made_of) for result in op.results)
        read: set[SSAValue] = set()
        self.stored: set[Operation] = set()
        computable = set[Operation](self.computable)
        for op in reversed(tuple(block.ops)):
            if op not in computable:
                read.update(op.operands)
            elif not read.isdisjoint(op.results):
                grown = sum(map(bytes_of, op.results)) - sum(map(bytes_of, sources[op.results[0]]))
                if grown <= max_growth:
                    self.stored.add(op)
                else:
                    read.update(op.operands)
                    _missed(op, grown, max_growth)
        self.wanted: set[SSAValue] = set()
        for op in reversed(self.computable):
            if op in self.stored or not self.wanted.isdisjoint(op.results):
                self.wanted.update(op.operands)

    def apply(self) -> None:
        """Replaces what may be stored, in program order; what only led to it is dead then, and goes."""
        context = RewriteContext.current()
        values: dict[SSAValue, Known] = {}
        for op in self.computable:
            if op not in self.stored and self.wanted.isdisjoint(op.results):
                continue
            operands = [values.get(value) or cast(Known, known(value)) for value in op.operands]
            results = [
                computed(op.name, operands, cast(Tensor, result.type), result=number, **op.attribute_values())
                for number, result in enumerate(op.results)
            ]
            if op not in self.stored:
                values.update(zip(op.results, results, strict=True))
                continue
            constants = [result.op() for result in results]
            with context.rewrite("fold-constant-operands", [op]) as rewriter:
                rewriter.replace(op, constants, [constant.result for constant in constants])


def _missed(op: Operation, grown: int, limit: int) -> None:
    missed(
        "NotFolded", op, f"{op.name} stays: its result has {grown} bytes more than the constants behind it, max-growth "
        f"allows {limit}", guard="size", bytes=grown, limit=limit,
    )  # fmt: skip


def _largest(sources: Iterable[SSAValue]) -> frozenset[SSAValue]:
    return frozenset(sorted(sources, key=bytes_of, reverse=True)[:SOURCES])


def blocks(module: ModuleOp) -> Iterator[Block]:
    """Every block, bodies of operators included: each sees only its own values."""
    for op in module.walk():
        for region in op.regions:
            yield from region.blocks


@dataclass(frozen=True)
class FoldConstants(GePass):
    """Folds whole chains in one go, and leaves alone what would make the model larger than it came.

    A causal mask or a table that a few numbers expand to is computed by the model as before, unless `max-growth` lets
    it in. Bytes are counted against the constants that a result is computed from, as they are stored.
    """

    name = "fold-constants"
    numerics = ROUNDING

    max_growth: int = field(
        default=MAX_GROWTH,
        metadata={"help": "bytes that a folded constant may have beyond the constants it is computed from"},
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for block in tuple(blocks(op)):
            Folding(block, self.max_growth).apply()
