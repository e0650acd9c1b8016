"""What all rounding of a graph does to its outputs on one sample of the inputs, and which operators in fp32 mend it.

No operator need be at fault: where a graph magnifies (a difference of large numbers, a steep function far from 0, logits
of 90 that differ by 0.2), the roundings of all operators before it leave the bound together. Then the operator is found
at which the error leaves the bound, and, by bisection, a stretch of its ancestors whose rounding is to blame.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from xdsl.dialects.builtin import f32
from xdsl.ir import Block, Operation, SSAValue

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.core import GeOp, element_of
from graph_engine.dialects.ge.evaluate import evaluate_op
from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.transforms.force_fp16 import stays
from graph_engine.transforms.fp16_sample import flat, half
from graph_engine.transforms.value_ranges import LARGEST, Ranges

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Magnified:
    """An operator at which rounding has added up beyond the bound: what part of its result's range the error is."""

    op: GeOp
    share: float


@dataclass(frozen=True)
class Cure:
    """Kernels that, computed in fp32, bring all outputs back into the bound, and whether these are all that lead there."""

    kernels: tuple[Operation, ...]
    everything: bool


class Propagation:
    """A graph on one sample, as often as needed, with some of its kernels in fp32 and the rest in fp16.

    A kernel is an operator of the block, a `ge.fused` as a whole; `halved` are the plain operators that fp16 is meant for.
    """

    def __init__(self, block: Block, inputs: Mapping[SSAValue, Array], halved: Collection[Operation], ranges: Ranges):
        self._block, self._inputs, self._halved, self._ranges = block, inputs, frozenset(halved), ranges
        self._right = self._outputs(frozenset())

    def outputs_beyond(self, limit: float, kept: Collection[Operation]) -> list[SSAValue]:
        """The outputs that move by more than `limit` of their range while the kernels `kept` stay in fp32."""
        found = self._outputs(self._without(kept))
        (*_, end) = self._block.ops
        return [v for v, right, got in zip(end.operands, self._right, found, strict=True) if moved(right, got) > limit]

    def magnified(self, limit: float, kept: Collection[Operation], outputs: Collection[SSAValue]) -> list[Magnified]:
        """Where the error leaves `limit` on the way to `outputs`, in program order: operators with operands inside it."""
        shares: dict[Operation, float] = {}
        both = zip(self._evaluated(frozenset()), self._evaluated(self._without(kept)), strict=True)
        for (op, right), (_, got) in both:
            shares[op] = max(map(moved, right, got), default=0.0)
        found: dict[Operation, None] = {}
        seen: set[Operation] = set()
        waiting = [self._ranges.definition(value) for value in outputs]
        while waiting:
            op = waiting.pop()
            if op is None or op in seen or shares.get(op, 0.0) <= limit:
                continue
            seen.add(op)
            before = [self._ranges.definition(value) for value in op.operands]
            waiting += before
            if all(maker is None or shares.get(maker, 0.0) <= limit for maker in before):
                found[op] = None
        return [Magnified(op, shares[op]) for op in shares if op in found and isinstance(op, GeOp)]

    def cure(self, limit: float, kept: Collection[Operation], outputs: Collection[SSAValue]) -> Cure:
        """A stretch of the ancestors of `outputs`, in program order, that is short and enough, beside `kept`."""
        chain = [op for op in self._ancestors(outputs) if op not in kept]

        def enough(first: int, end: int) -> bool:
            return not self.outputs_beyond(limit, {*kept, *chain[first:end]})

        end = _least(range(len(chain)), lambda end: enough(0, end))
        first = end - _least(range(end), lambda length: enough(end - length, end))
        return Cure(tuple(chain[first:end]), len(chain) == end - first)

    def kernels_of(self, ops: Collection[Operation]) -> set[Operation]:
        """The kernels that hold one of the operators."""
        return {op for op in self._block.ops if any(inner in ops for inner in _inside(op))}

    def _without(self, kept: Collection[Operation]) -> frozenset[Operation]:
        return self._halved.difference(inner for op in kept for inner in _inside(op))

    def _ancestors(self, outputs: Collection[SSAValue]) -> list[Operation]:
        """The kernels that lead to `outputs` and have something to round, in program order."""
        needed = set(outputs)
        found: list[Operation] = []
        for op in reversed(tuple(self._block.ops)):
            if any(result in needed for result in op.results):
                needed.update(op.operands)
                if any(inner in self._halved for inner in _inside(op)):
                    found.append(op)
        return found[::-1]

    def _outputs(self, halved: frozenset[Operation]) -> list[Array]:
        ((_, outputs),) = deque(self._evaluated(halved), maxlen=1)
        return outputs

    def _evaluated(self, halved: frozenset[Operation]) -> Iterator[tuple[Operation, list[Array]]]:
        """Every operator with its results, `halved` ones in fp16; at last the end of the block with what it is given."""
        import numpy as np

        values: dict[SSAValue, Array] = dict(self._inputs)
        (*_, end) = self._block.ops
        for op in flat(self._block, values):
            operands = [values[value] for value in op.operands]
            with np.errstate(all="ignore"):
                if op in halved:
                    operands = [self._halved_operand(op, i, x) for i, x in enumerate(operands)]
                results = evaluate_op(op, operands)
                if op in halved:
                    results = [half(x) if x.dtype == np.float32 else x for x in results]
            values.update(zip(op.results, results, strict=True))
            yield op, results
        yield end, [values[value] for value in end.operands]

    def _halved_operand(self, op: Operation, index: int, x: Array) -> Array:
        """An operand as `force-fp16` gives it: what joins an accumulator stays, constants end at the largest number."""
        import numpy as np

        value = op.operands[index]
        if element_of(value) != f32 or stays(op, index):
            return x
        if isinstance(self._ranges.definition(value), ConstantOp):
            x = np.where(np.isfinite(x), np.clip(x, -LARGEST["f16"], LARGEST["f16"]), x)
        return half(x)


def moved(right: Array, got: Array) -> float:
    """The largest difference as a part of the range, or of the magnitude where all numbers are one."""
    import numpy as np

    if right is got or not right.size or right.dtype.kind not in "fiub":
        return 0.0
    with np.errstate(all="ignore"):
        wide, near = right.astype(np.float64), got.astype(np.float64)
        same = (wide == near) | (np.isnan(wide) & np.isnan(near))
        error = np.nan_to_num(np.where(same, 0, np.abs(near - wide)), nan=np.inf).max()
    finite = wide[np.isfinite(wide)]
    span = (np.ptp(finite) or np.abs(finite).max()) if finite.size else 0.0
    return float(error / (span or 1.0))


def _least(candidates: range, enough: Callable[[int], bool]) -> int:
    """The smallest number for which `enough` holds if it holds from there on; the end of `candidates` is taken for granted."""
    low, high = candidates.start, candidates.stop
    while low < high:
        middle = (low + high) // 2
        if enough(middle):
            high = middle
        else:
            low = middle + 1
    return high


def _inside(op: Operation) -> Iterator[Operation]:
    return iter(op.block.ops) if isinstance(op, FusedOp) else iter((op,))
