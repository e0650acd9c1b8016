"""Sum, maximum or minimum of rows in UB: long rows are halved by whole-row instructions, short ones reduced at once.

A repeat of a reduction costs a multiple of that of an addition (`vector.ops` of the chip description), but every
instruction has a fixed price, so only tiles with enough elements are halved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from graph_engine.dialects.ascend.spaces import strides_of
from graph_engine.lowering.kernels.builder import Buf, KernelBuilder
from graph_engine.lowering.kernels.vector_tiling import BLOCK, round_up
from graph_engine.target_ascend.isa.model import DType, Space
from graph_engine.target_ascend.soc.soc import Soc

COMBINE = {"cadd": "add", "cmax": "max", "cmin": "min"}
"""The instruction that combines two elements as the reduction does."""


@dataclass(frozen=True)
class RowReduction:
    """How rows of fp32 are reduced on a chip: halved while longer than `lanes` and of `worthwhile` elements or more."""

    lanes: int
    worthwhile: int

    @staticmethod
    def on(soc: Soc) -> RowReduction:
        """For one chip: a repeat a row, and halves that save several times an instruction's fixed cycles."""
        lanes = soc.vector.repeat_bytes // DType.F32.bytes
        (reduce, _), (add, fixed) = soc.vector_cost("cadd"), soc.vector_cost("add")
        return RowReduction(lanes, 8 * lanes * fixed // max(1, reduce - add))

    def pitch(self, length: int) -> int:
        """Elements from row to row of the temporary buffer; 0 where rows are short enough to need none."""
        return round_up(length // 2, BLOCK // DType.F32.bytes) if length > self.lanes else 0

    def emit(self, kb: KernelBuilder, mnemonic: str, dst: SSAValue, src: Buf, length: int) -> None:
        """dst[r] = reduction ("cadd", "cmax", "cmin") of src[r, :length], which stays as it is. Starts are aligned:
        a row of n falls into two halves of h elements, h a multiple of a block, and a rest shorter than two blocks."""
        rows, combine = src.shape[0], COMBINE[mnemonic]
        block = BLOCK // src.dtype.bytes
        buf = src
        while length > self.lanes and rows * length >= self.worthwhile:
            half = length // 2 // block * block
            rest = length - 2 * half
            target = buf
            if buf is src:
                target = kb.alloc("halves", Space.UB, (rows, self.pitch(length)), src.dtype)
            low, pitch = kb.view(target, 0, (rows, half), target.strides), buf.strides
            first = kb.view(buf, 0, (rows, half), pitch)
            kb.vec(combine, low, first, kb.view(buf, half, (rows, half), pitch))
            if rest:
                part = kb.view(target, 0, (rows, rest), target.strides)
                kb.vec(combine, part, part, kb.view(buf, 2 * half, (rows, rest), pitch))
            buf, length = target, half
        kb.vec(mnemonic, dst, kb.view(buf, 0, (rows, length), buf.strides))


def combine_slabs(
    kb: KernelBuilder,
    mnemonic: str,
    view: SSAValue,
    sizes: Sequence[int],
    strides: Sequence[int],
    statistic: SSAValue | None = None,
) -> SSAValue:
    """The slabs along the first of `sizes` combined to one by halving, in a buffer of their own or in `statistic`."""
    combine, (count, *rest) = COMBINE[mnemonic], sizes
    halves: SSAValue | None = None

    def slabs(source: SSAValue, at: int, number: int) -> SSAValue:
        return kb.restride(source, (number, *rest), strides, at * strides[0])

    while count > 1:
        half, odd = divmod(count, 2)
        if half == 1 and statistic is not None:
            low = kb.restride(statistic, (1, *rest), (1, *strides_of(statistic.type)[-len(rest) :]))
        else:
            if halves is None:
                halves = kb.view(kb.alloc("halves", Space.UB, (half, strides[0]), DType.F32))
            low = slabs(halves, 0, half)
        kb.vec(combine, low, slabs(view, 0, half), slabs(view, half, half))
        if odd:
            one = low if half == 1 else slabs(low, 0, 1)
            kb.vec(combine, one, one, slabs(view, 2 * half, 1))
        view, count = low, half
    return view
