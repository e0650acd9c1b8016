"""Which order of axes, NCHW or NHWC, operators work in: the one with the fewest bytes transposed, by a minimum cut.

Exporters of NHWC frameworks put a transpose in front of every convolution and one behind it. What lies between works in
either order, so it is free to choose; convolutions, pools and batch norms are NCHW, and what is neither keeps its order.
The transposes that are there cost nothing by themselves: what counts is where producer and readers of a tensor differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.convolution import Conv2dOp
from graph_engine.dialects.ge.core import DYNAMIC, GeOp, Trait, bytes_of, elements_of, shape_of
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.normalization import BatchNormOp, LayerNormOp, LrnOp
from graph_engine.dialects.ge.reduction import ReduceOp
from graph_engine.dialects.ge.sampling import ResizeOp
from graph_engine.dialects.ge.shape import ConcatOp, PadOp, SliceOp, TransposeOp
from graph_engine.planning.minimum_cut import INFINITE, Arc, minimum_cut
from graph_engine.transforms.recipes import known

TO_NCHW, TO_NHWC = (0, 3, 1, 2), (0, 2, 3, 1)
NCHW, NHWC = 0, 1
"""The two orders, and the ends of the cut."""


def turned_operators(block: Block) -> dict[Operation, tuple[int, ...]]:
    """The operators that are to work in the other order, each with the permutation of its operands."""
    orders = _Orders(block)
    if not orders.transposes:
        return {}
    chosen = _chosen(block, orders)
    return {
        op: TO_NCHW if order == NCHW else TO_NHWC for op, order in chosen.items() if order != orders.of(op.results[0])
    }


def can_turn(op: Operation) -> bool:
    """Whether an operator is the same in any order of its axes, but for attributes that name them."""
    match op:
        case ConcatOp() | PadOp() | SliceOp():
            pass
        case ResizeOp():
            if op.target is not None:
                return False
        case ReduceOp():
            if not op.keepdims.value.data:
                return False
        case LayerNormOp():
            if len(op.axes()) != 1:
                return False
        case MatmulOp():
            return is_pointwise(op)
        case GeOp() if op.has(Trait.ELEMENTWISE) and "axis" not in op.properties:
            pass
        case _:
            return False
    if len(op.results) != 1 or len(shape_of(op.results[0])) != 4:
        return False
    return all(
        len(shape_of(value)) == 4 or isinstance(value.owner, ConstantOp) or elements_of(value) == 1
        for value in op.operands
    )


def is_pointwise(op: MatmulOp) -> bool:
    """Whether a product with constants mixes the last axis of a tensor of rank 4: where that holds the channels, it is a
    convolution of 1 x 1 pixels of the same tensor with its channels first."""
    if len(shape_of(op.a)) != 4 or DYNAMIC in shape_of(op.a) or op.transpose_a.value.data or known(op.a) is not None:
        return False
    biased = op.bias is None or (known(op.bias) is not None and shape_of(op.bias) == shape_of(op.result)[-1:])
    return len(shape_of(op.b)) == 2 and known(op.b) is not None and biased


def _is_nchw(op: Operation) -> bool:
    """Whether an operator takes feature maps as NCHW by definition."""
    if not isinstance(op, GeOp) or not op.results or len(shape_of(op.results[0])) != 4:
        return False
    return isinstance(op, Conv2dOp | BatchNormOp | LrnOp) or op.has(Trait.POOL)


@dataclass
class _Link:
    """A value's way to the representative of its set, and whether the order changes on it."""

    parent: SSAValue | None = None
    flips: bool = False


class _Orders:
    """The order that the model has every value in, as far as transposes connect it to an operator that is NCHW."""

    def __init__(self, block: Block):
        self._links: dict[SSAValue, _Link] = {}
        self._anchor: SSAValue | None = None
        self.transposes: set[Operation] = set()
        candidates: list[TransposeOp] = []
        for op in block.ops:
            if isinstance(op, TransposeOp) and op.ints("perm") in (TO_NCHW, TO_NHWC):
                candidates.append(op)
            elif _is_nchw(op):
                self._join(op.operands[0], op.results[0], False)
                self._join(self._anchor or op.results[0], op.results[0], False)
                self._anchor = self._anchor or op.results[0]
            elif can_turn(op):
                for value in feature_maps(op):
                    self._join(value, op.results[0], False)
        for op in candidates:
            self._join(op.x, op.result, True)
        for op in candidates:
            if (self.of(op.x), self.of(op.result)) == ((NHWC, NCHW) if op.ints("perm") == TO_NCHW else (NCHW, NHWC)):
                self.transposes.add(op)

    def of(self, value: SSAValue) -> int | None:
        """The order of a value; None where nothing tells."""
        if self._anchor is None or value not in self._links:
            return None
        (root, flips), (other, _) = self._root(value), self._root(self._anchor)
        flips ^= self._root(self._anchor)[1]
        return None if root is not other else (NHWC if flips else NCHW)

    def _root(self, value: SSAValue) -> tuple[SSAValue, bool]:
        chain: list[tuple[_Link, bool]] = []
        flips = False
        while (link := self._links.setdefault(value, _Link())).parent is not None:
            chain.append((link, flips))
            flips ^= link.flips
            value = link.parent
        for link, before in chain:  # next time in one step
            link.parent, link.flips = value, flips ^ before
        return value, flips

    def _join(self, a: SSAValue, b: SSAValue, flips: bool) -> None:
        """States that the orders of two values agree, or do not; what contradicts earlier statements is ignored."""
        (root_a, flips_a), (root_b, flips_b) = self._root(a), self._root(b)
        if root_a is not root_b:
            self._links[root_a] = _Link(root_b, flips_a ^ flips_b ^ flips)


def feature_maps(op: Operation) -> list[SSAValue]:
    """The operands with axes to turn: of rank 4, no constant."""
    return [value for value in op.operands if len(shape_of(value)) == 4 and not isinstance(value.owner, ConstantOp)]


def _chosen(block: Block, orders: _Orders) -> dict[Operation, int]:
    """The order of every operator that has a choice."""
    nodes: dict[Operation, int] = {}
    for op in block.ops:
        order = orders.of(op.results[0]) if can_turn(op) else None
        if order is not None and not (isinstance(op, MatmulOp) and order == NCHW):
            nodes[op] = 2 + len(nodes)
    arcs: list[Arc] = [(NCHW, node, 1) for node in nodes.values()]  # of equal choices the one nearer to the Cube's
    scale = 1 + len(nodes)
    count = 2 + len(nodes)
    for value in [*block.args, *(result for op in block.ops for result in op.results)]:
        order = orders.of(value)
        if order is None or value.owner in orders.transposes or isinstance(value.owner, ConstantOp):
            continue
        ends = [value.owner] if isinstance(value.owner, Operation) else []
        producer = nodes[ends[0]] if ends and ends[0] in nodes else order
        readers = list(dict.fromkeys(_readers(value, orders, nodes)))
        cost = 2 * bytes_of(value) * scale
        count += 2
        some_nchw, all_nchw = count - 2, count - 1
        arcs += [(some_nchw, producer, cost), (producer, all_nchw, cost)]
        for reader in readers:
            arcs += [(reader, some_nchw, INFINITE), (all_nchw, reader, INFINITE)]
    side = minimum_cut(count, arcs, NCHW, NHWC).source_side
    return {op: NCHW if side[node] else NHWC for op, node in nodes.items()}


def _readers(value: SSAValue, orders: _Orders, nodes: dict[Operation, int]) -> Sequence[int]:
    """The nodes (or ends) of all that read a value, directly or behind transposes."""
    found: list[int] = []
    pending = [value]
    for tensor in pending:  # grows while it is walked
        for use in tensor.uses:
            op = use.operation
            if op in orders.transposes:
                pending.append(op.results[0])
                continue
            found.append(nodes.get(op, NCHW if orders.of(tensor) == NCHW else NHWC))
    return found
