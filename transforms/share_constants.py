"""Store equal constants once: tied weights, and whatever passes made twice.

%0 = ge.constant dense<[1.0, 2.0]> : tensor<2xf32>
%1 = ge.constant dense<[1.0, 2.0]> : tensor<2xf32>
%2 = ge.add %0, %1 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// becomes
%2 = ge.add %0, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.stores import WeightRef
from graph_engine.dialects.ge.weights import WeightAttr
from graph_engine.transforms.driver import RewriteContext
from graph_engine.transforms.fusion import graphs
from graph_engine.transforms.pass_base import EXACT, GePass

SAMPLES = 16
"""Elements of a weight that are looked at before all of it is."""


def digests(constants: Iterable[ConstantOp]) -> dict[ConstantOp, str]:
    """A digest for every weight that may equal another one: of one type, and with the same few numbers in it.

    So a network of equal layers is not read from end to end. Where the numbers of a weight are not at hand, its digest
    is, and then those of its type are digested to compare with.
    """
    weights = [(op, op.result.type, op.value.data) for op in constants if isinstance(op.value, WeightAttr)]
    unread = {kind for _, kind, ref in weights if not ref.known}
    samples = {op: (kind, b"" if kind in unread else _sample(ref)) for op, kind, ref in weights}
    candidates = Counter(samples.values())
    return {op: ref.sha256 for op, _, ref in weights if candidates[samples[op]] > 1}


def _sample(ref: WeightRef) -> bytes:
    flat = ref.load().reshape(-1)
    return flat[:: max(1, flat.size // SAMPLES)].tobytes()


def share_constants(module: ModuleOp) -> None:
    """Keep the first of equal constants: it stands before all their users. Linear."""
    context = RewriteContext.current()
    for block in graphs(module):
        constants = [op for op in block.ops if isinstance(op, ConstantOp)]
        contents = digests(constants)
        seen: dict[tuple[Attribute | str, Attribute], ConstantOp] = {}
        for op in constants:
            first = seen.setdefault((contents.get(op, op.value), op.result.type), op)
            if first is not op:
                with context.rewrite("share-constant", [op]) as rewriter:
                    rewriter.replace(op, (), [first.result])


@dataclass(frozen=True)
class ShareConstants(GePass):
    """Numbers are compared bit by bit, so -0.0 is not 0.0, and of one element type and shape only."""

    name = "share-constants"
    numerics = EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        share_constants(op)
