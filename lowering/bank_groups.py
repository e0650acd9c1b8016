"""Which buffers of UB should lie half the bank groups apart, so that an instruction reads both of its sources at once.

    vadd of %a and %b, 64 repeats:   %a at 0, %b at 8192   24 + 2 * 64 = 152 cycles: they meet in every bank group
                                     %a at 0, %b at 8448   24 + 1 * 64 = 88

The UB deals blocks of 32 bytes to its bank groups in turn. Two sources that walk whole repeats together never meet if they lie
an odd multiple of half the groups apart. Every buffer takes one of two sides; where an odd cycle of buffers cannot have it
all, the instructions with more work come first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import prod

from graph_engine.dialects.ascend.kernel import KernelOp
from graph_engine.dialects.ascend.memory import AllocOp, ViewOp
from graph_engine.dialects.ascend.spaces import dtype_of, shape_of, space_of, strides_of
from graph_engine.dialects.ascend.vec import VectorOp
from graph_engine.lowering.kernels.loops import enclosing_loops
from graph_engine.lowering.kernels.vector_tiling import BLOCK, merge_axes
from graph_engine.target_ascend.isa.model import Space
from graph_engine.target_ascend.isa.specs import SPECS
from graph_engine.target_ascend.soc.soc import Soc


def around(soc: Soc) -> int:
    """Bytes after which the bank groups begin anew."""
    return soc.vector.bank_groups * BLOCK


def bank_sides(kernel: KernelOp, soc: Soc) -> dict[str, int]:
    """Slots of UB whose place in the bank groups matters -> bytes beyond a multiple of all groups: 0 or half of them."""
    wishes: Counter[tuple[str, str, int]] = Counter()
    for first, second, distance, work in _pairs(kernel, soc):
        wishes[first, second, distance] += work
    parent: dict[str, tuple[str, int]] = {}

    def root(slot: str) -> tuple[str, int]:
        above, side = parent.setdefault(slot, (slot, 0))
        if above == slot:
            return slot, 0
        top, more = root(above)
        parent[slot] = top, side ^ more
        return parent[slot]

    for (first, second, apart), _ in wishes.most_common():
        (one, side), (other, more) = root(first), root(second)
        if one != other:
            parent[one] = other, side ^ more ^ apart
    return {slot: root(slot)[1] * around(soc) // 2 for slot in list(parent)}


def _pairs(kernel: KernelOp, soc: Soc) -> Iterator[tuple[str, str, int, int]]:
    """(slot, slot, whether they should lie on different sides, elements) of sources that need not meet."""
    for op in kernel.walk():
        if not isinstance(op, VectorOp) or len(op.sources) != 2:
            continue
        if f"v{SPECS[op.OPCODE].mnemonic}" not in soc.vector.conflict_free:
            continue
        first, second = (source.owner for source in op.sources)
        if not isinstance(first, ViewOp) or not isinstance(second, ViewOp):
            continue
        one, other = first.source.owner, second.source.owner
        if not isinstance(one, AllocOp) or not isinstance(other, AllocOp) or one.slot.data == other.slot.data:
            continue
        distance = _distance(first, second, soc)
        if distance is not None:
            work = prod(shape_of(op.dst)) * prod(loop.trip.value.data for loop in enclosing_loops(op))
            low, high = sorted((one.slot.data, other.slot.data))
            yield low, high, int(distance == 0), work


def _distance(first: ViewOp, second: ViewOp, soc: Soc) -> int | None:
    """Bytes between two views within their buffers, 0 or half the groups; None where they meet wherever the buffers lie."""
    if first.result.type != second.result.type or space_of(first.result) is not Space.UB:
        return None
    width, whole = dtype_of(first.result.type).bytes, around(soc)
    sizes, (strides,) = merge_axes(shape_of(first.result), [strides_of(first.result.type)])
    if strides[-1] != 1 or (len(sizes) > 1 and sizes[-1] * width % soc.vector.repeat_bytes):
        return None
    if any(coef * width % whole for view in (first, second) for coef in view.expr.terms.values()):
        return None
    distance = (first.expr.const - second.expr.const) * width % whole
    return distance if distance in (0, whole // 2) else None
