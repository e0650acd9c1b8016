"""The k largest or smallest elements of rows and their places, taken one after another.

    for each row:                        x                                             GM -> UB
      for each of k:                     the extreme; the first place that holds it
                                         x and the place's number leave the race
      values and places                                                                UB -> GM

A pass over the row an element: k passes cost less than a sort where k is small, as it is behind detectors, samplers and
gates of experts; `sort` takes many. What was taken becomes the worst number and its place infinite, so that elements that are as bad by
themselves still come in order. Numbers that are none are never taken.
"""

from __future__ import annotations

from math import inf

from xdsl.ir import SSAValue

from graph_engine.dialects.ascend.affine import Expr
from graph_engine.dialects.ascend.kernel import KernelOp
from graph_engine.lowering.kernels.builder import Arg, Buf, KernelBuilder
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.top_k_shape import EXACT_IN_HALF, TopKShape
from graph_engine.lowering.kernels.vector_tiling import BLOCK, buffer_bytes
from graph_engine.target_ascend.isa.model import DType, Space
from graph_engine.target_ascend.soc.soc import Soc

MOST_TAKEN = 256
"""Elements that are taken before they leave the unified buffer."""
WORDS = BLOCK // 4
"""Each result lies in a data block of its own until it leaves: instructions write to the begin of blocks."""


def build_top_k(name: str, shape: TopKShape, soc: Soc) -> KernelOp:
    """The kernel; arguments: x, the numbers 0, 1, 2, ... in fp32, values, places. Raises NoKernel if a row does not fit UB."""
    require_places(shape.row, shape.dtype, soc)
    taken = min(shape.k, MOST_TAKEN)
    row = sum(buffer_bytes(shape.row, dtype) for dtype in (DType.F32, DType.F32, DType.F32, DType.F32))
    masks = 2 * buffer_bytes(shape.row, DType.BOOL)
    if row + masks + buffer_bytes(shape.row, shape.dtype, 2) + 4 * BLOCK * taken + 8 * BLOCK > soc.buffers["ub"]:
        raise NoKernel(
            f"a row of {shape.row} elements, from which the largest are taken, does not fit the unified buffer"
        )
    split = shape.split(soc)
    args = [
        Arg("x", (shape.rows, shape.row), shape.dtype, "r"),
        Arg("counter", (shape.row,), DType.F32, "r"),
        Arg("values", (shape.rows, shape.k), shape.dtype, "w"),
        Arg("places", (shape.rows, shape.k), DType.I64, "w"),
    ]
    kb = KernelBuilder(name, args, split.block_dim)
    for start, size in split.bodies(kb):
        writer = _Writer(kb, shape)
        with kb.loop(size, "r") as r:
            writer.row(start + r, taken)
    return kb.kernel


def require_places(extent: int, dtype: DType, soc: Soc) -> None:
    """Raises NoKernel where extremes are found in fp16, in which neither fp32 numbers nor that many places are exact."""
    if not soc.supports("cmin", "f32") and (dtype is not DType.F16 or extent > EXACT_IN_HALF):
        raise NoKernel(f"{soc.name} finds places of extremes among {EXACT_IN_HALF} numbers of fp16")


class _Writer:
    """Writes the body of a core."""

    def __init__(self, kb: KernelBuilder, shape: TopKShape):
        self.kb, self.shape = kb, shape
        self.counter = self.whole("counter", DType.F32)
        kb.copy(self.counter, kb.view(kb.args[1]))
        self.worst, self.far = (self.number(slot, value) for slot, value in (("worst", self.end), ("far", inf)))

    @property
    def end(self) -> float:
        """What nothing is worse than."""
        return -inf if self.shape.largest else inf

    def whole(self, slot: str, dtype: DType) -> SSAValue:
        """A buffer of a row."""
        return self.kb.view(self.kb.alloc(slot, Space.UB, (self.shape.row,), dtype))

    def number(self, slot: str, value: float) -> SSAValue:
        """A number, repeated along a row."""
        buf = self.kb.alloc(slot, Space.UB, (WORDS,), DType.F32)
        self.kb.vec("dup", self.kb.view(buf), imm=value)
        return self.kb.view(buf, 0, (self.shape.row,), (0,))

    def row(self, number: Expr, taken: int) -> None:
        """One row: the race, `taken` elements at a time."""
        kb, shape = self.kb, self.shape
        loaded = self.whole("x_ub", shape.dtype)
        kb.copy(loaded, kb.view(kb.args[0], number * shape.row, (shape.row,), (1,)))
        x, left = self.whole("race", DType.F32), self.whole("left", DType.F32)
        kb.vec("conv", x, loaded)
        kb.vec("conv", left, self.counter)
        for first, count in kb.tiles(shape.k, taken, "c"):
            values = kb.alloc("values_ub", Space.UB, (count, BLOCK // shape.dtype.bytes), shape.dtype)
            places = kb.alloc("places_ub", Space.UB, (count, WORDS), DType.I32)
            kb.vec("dup", kb.view(places), imm=0.0)
            with kb.loop(count, "k") as i:
                self.take(x, left, values, places, i)
            at = number * shape.k + first
            kb.copy(kb.view(kb.args[2], at, (count,), (1,)), kb.view(values, 0, (count,), (values.shape[1],)))
            low, _ = kb.words(kb.view(kb.args[3], at, (count,), (1,)))
            pairs = kb.restride(low, (count, 2), (2, 1))
            kb.copy(pairs, kb.view(places, 0, (count, 2), (WORDS, 1)))

    def take(self, x: SSAValue, left: SSAValue, values: Buf, places: Buf, i: Expr) -> None:
        """The best element that is left, to block `i` of the results."""
        kb, shape = self.kb, self.shape

        def one(slot: str) -> Buf:
            return kb.alloc(slot, Space.UB, (WORDS,), DType.F32)

        best, place = one("best"), one("place")
        mask, candidates = self.whole("mask", DType.BOOL), self.whole("candidates", DType.F32)
        kb.vec("cmax" if shape.largest else "cmin", kb.view(best, 0, (1,)), x)
        kb.compare("eq", mask, x, kb.view(best, 0, (shape.row,), (0,)))
        kb.vec("sel", candidates, mask, left, self.far)
        kb.vec("cmin", kb.view(place, 0, (1,)), candidates)
        kb.vec("conv", kb.view(values, i * values.shape[1], (1,), (1,)), kb.view(best, 0, (1,)))
        kb.vec("conv", kb.view(places, i * WORDS, (1,), (1,)), kb.view(place, 0, (1,)))
        kb.compare("eq", mask, left, kb.view(place, 0, (shape.row,), (0,)))
        kb.vec("sel", x, mask, self.worst, x)
        kb.vec("sel", left, mask, self.far, left)
