"""The k largest or smallest elements of short rows of fp16 and their places, by sorting the rows whole.

A bitonic network: for every length 2, 4, 8, ... of sorted runs, elements in distances of half of it, a quarter, ..., 1 trade
places if they are out of order. All pairs of a distance trade at once, as two strided views:

    for each row:                                  x                                  GM -> UB
      for each length of runs:                     every other run the other way round, by a sign
        for each distance:                         a, b = the two views
                                                   in order = a > b, or equal and a's place is first
                                                   a, b and their places, chosen
      the first k values and places                                                   UB -> GM

A place is a number of fp16; beyond those that fp16 counts it is the one whose bits, as an integer, are the place and some.
Positive numbers are in the order of their bits. Views begin at blocks of memory. Distances below 16 elements therefore trade in a transposed row, where neighbours lie
`length / 16` apart; the row is turned twice a length.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from graph_engine.dialects.ascend.affine import Expr
from graph_engine.dialects.ascend.kernel import KernelOp
from graph_engine.dialects.ascend.spaces import shape_of
from graph_engine.lowering.kernels.builder import Arg, Buf, KernelBuilder
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.top_k_shape import EXACT_IN_HALF, TopKShape
from graph_engine.target_ascend.isa.model import DType, Space
from graph_engine.target_ascend.soc.soc import Soc

SIDE = 16
"""Elements of fp16 in a block of memory, and rows and columns of a block that is transposed."""
FIXED, LANES = 30, 128
"""Cycles of an instruction beside its repeats, and elements of fp16 in a repeat: near those of all chips."""
MOST_SORTED = 1 << 13
"""Elements of a row that fit the unified buffer beside what their trades need."""
FIRST_BITS = 0x0400
"""The bits of the first number of fp16 that has all of its digits."""
STORED = 1024
"""Places that are stored at a time."""
TRADE, TAKE = 8, 7
"""Instructions for a distance, and for an element that is taken alone, which are in fp32."""


def sorted_length(row: int) -> int:
    """Elements that are sorted for a row: a power of two that can be turned."""
    return max(SIDE * SIDE, 1 << (row - 1).bit_length())


def sort_numbers(row: int) -> Any:
    """What the kernel takes beside x, as rows of fp16 in turned order: places, then signs for each length of runs."""
    length = sorted_length(row)
    places = np.arange(length)
    coded = (places + FIRST_BITS).astype(np.uint16).view(np.float16) if length > EXACT_IN_HALF else places
    signs = [np.ones(length)]
    run = 2
    while run <= length:
        signs.append(np.where(places & run, -1, 1))
        run *= 2
    changes = [before * after for before, after in zip(signs, signs[1:], strict=False)]
    table = np.stack([coded, *changes]).reshape(-1, length // SIDE, SIDE)
    return table.transpose(0, 2, 1).reshape(-1, length).astype(np.float16)


def is_sorted_faster(shape: TopKShape) -> bool:
    """Whether a row can be sorted, in fewer cycles than it takes to find its elements one by one."""
    if shape.dtype is not DType.F16 or shape.row > MOST_SORTED:
        return False
    length = sorted_length(shape.row)
    levels = length.bit_length() - 1
    sort = levels * (levels + 1) // 2 * TRADE * (FIXED + length // 2 // LANES)
    return sort < shape.k * TAKE * (FIXED + 2 * shape.row // LANES)


def build_sort(name: str, shape: TopKShape, soc: Soc) -> KernelOp:
    """The kernel; arguments: x, `sort_numbers`, values, places. Raises NoKernel if bits are not read as numbers."""
    length = sorted_length(shape.row)
    if length > EXACT_IN_HALF and not soc.supports("conv", "i16 -> f32"):
        raise NoKernel(f"{soc.name} counts {EXACT_IN_HALF} places in fp16")
    split = shape.split(soc)
    args = [
        Arg("x", (shape.rows, shape.row), shape.dtype, "r"),
        Arg("numbers", sort_numbers(shape.row).shape, shape.dtype, "r"),
        Arg("values", (shape.rows, shape.k), shape.dtype, "w"),
        Arg("places", (shape.rows, shape.k), DType.I64, "w"),
    ]
    kb = KernelBuilder(name, args, split.block_dim)
    for start, size in split.bodies(kb):
        with kb.loop(size, "r") as r:
            _Row(kb, shape, length).sort(start + r)
    return kb.kernel


@dataclass
class _Pair:
    """Keys and their places, side by side in one buffer each, and the buffers that the next step writes."""

    keys: Buf
    places: Buf
    next_keys: Buf
    next_places: Buf

    def swap(self) -> None:
        self.keys, self.next_keys = self.next_keys, self.keys
        self.places, self.next_places = self.next_places, self.places


class _Row:
    """Writes the sort of one row."""

    def __init__(self, kb: KernelBuilder, shape: TopKShape, length: int):
        self.kb, self.shape, self.length = kb, shape, length
        self.columns = length // SIDE
        self.pair = _Pair(*(self.buffer(slot) for slot in ("keys", "places", "keys_2", "places_2")))

    def buffer(self, slot: str, parts: int = 1, dtype: DType = DType.F16) -> Buf:
        """A buffer of a row, or of a part of it."""
        return self.kb.alloc(slot, Space.UB, (self.length // parts,), dtype)

    def sort(self, number: Expr) -> None:
        """Loads, sorts, stores."""
        kb, shape, pair = self.kb, self.shape, self.pair
        x, numbers, values, places = kb.args
        kb.vec("dup", kb.view(pair.keys), imm=-inf if shape.largest else inf)
        kb.copy(kb.view(pair.keys, 0, (shape.row,), (1,)), kb.view(x, number * shape.row, (shape.row,), (1,)))
        self.turn_round(pair.keys)
        self.transpose(pair.keys, pair.next_keys, (self.columns, SIDE))
        pair.keys, pair.next_keys = pair.next_keys, pair.keys
        kb.copy(kb.view(pair.places), kb.view(numbers, 0, (self.length,), (1,)))
        for level, distances in enumerate(self.levels(), 1):
            self.flip(level)
            far = [distance for distance in distances if distance >= SIDE]
            if far:
                self.turn((SIDE, self.columns))
                for distance in far:
                    self.trade(distance)
                self.turn((self.columns, SIDE))
            for distance in distances[len(far) :]:
                self.trade(distance * self.columns)
        self.turn((SIDE, self.columns))
        self.turn_round(pair.keys)
        at = number * shape.k
        kb.copy(kb.view(values, at, (shape.k,), (1,)), kb.view(pair.keys, 0, (shape.k,), (1,)))
        for first, count in kb.tiles(shape.k, STORED, "s"):
            found = kb.view(kb.alloc_value("found", (count,), DType.I64), 0, (count,), (1,))
            low, high = kb.words(found)
            self.decode(low, kb.view(pair.places, first, (count,), (1,)))
            kb.vec("dup", high, imm=0.0)
            kb.copy_value(kb.view(places, at + first, (count,), (1,)), found, DType.I64)

    def decode(self, word: SSAValue, place: SSAValue) -> None:
        """A place as int32."""
        kb = self.kb
        if self.length <= EXACT_IN_HALF:
            kb.vec("conv", word, place)
            return
        real = kb.view(kb.alloc("real", Space.UB, shape_of(place), DType.F32))
        kb.vec("conv", real, kb.as_type(place, DType.I16))
        kb.vec("adds", real, real, imm=-float(FIRST_BITS))
        kb.vec("conv", word, real)

    def turn_round(self, keys: Buf) -> None:
        """Of the smallest, the negated keys are the largest."""
        if not self.shape.largest:
            self.kb.vec("muls", self.kb.view(keys), self.kb.view(keys), imm=-1.0)

    def levels(self) -> Iterator[list[int]]:
        """The distances for each length of runs."""
        for level in range(1, self.length.bit_length()):
            yield [1 << bit for bit in reversed(range(level))]

    def flip(self, level: int) -> None:
        """Turns the order of some runs round: keys and places by signs."""
        kb, pair = self.kb, self.pair
        signs = self.buffer("signs")
        kb.copy(kb.view(signs), kb.view(kb.args[1], level * self.length, (self.length,), (1,)))
        for source, target in ((pair.keys, pair.next_keys), (pair.places, pair.next_places)):
            kb.vec("mul", kb.view(target), kb.view(source), kb.view(signs))
        pair.swap()

    def turn(self, form: tuple[int, int]) -> None:
        """Transposes the row, seen as a matrix."""
        pair = self.pair
        self.transpose(pair.keys, pair.next_keys, form)
        self.transpose(pair.places, pair.next_places, form)
        pair.swap()

    def transpose(self, source: Buf, target: Buf, form: tuple[int, int]) -> None:
        """target = source, a matrix of `form`, transposed."""
        rows, columns = form
        kb = self.kb
        kb.vec(
            "transpose",
            kb.view(target, 0, (columns, rows), (rows, 1)),
            kb.view(source, 0, (rows, columns), (columns, 1)),
        )

    def trade(self, distance: int) -> None:
        """Elements `distance` apart trade places if they are out of order; of equal ones the first place comes first."""
        kb, pair = self.kb, self.pair

        def sides(buf: Buf) -> tuple[SSAValue, SSAValue]:
            form, strides = (self.length // (2 * distance), distance), (2 * distance, 1)
            return kb.view(buf, 0, form, strides), kb.view(buf, distance, form, strides)

        def half(slot: str, dtype: DType = DType.F16) -> SSAValue:
            return kb.view(self.buffer(slot, 2, dtype), 0, (self.length // (2 * distance), distance), (distance, 1))

        (a, b), (first, second) = sides(pair.keys), sides(pair.places)
        equal, ordered = half("equal", DType.BOOL), half("ordered", DType.BOOL)
        left, right = half("left"), half("right")
        kb.compare("eq", equal, a, b)
        kb.vec("sel", left, equal, second, a)
        kb.vec("sel", right, equal, first, b)
        kb.compare("gt", ordered, left, right)
        for buf, x, y in ((pair.next_keys, a, b), (pair.next_places, first, second)):
            better, worse = sides(buf)
            kb.vec("sel", better, ordered, x, y)
            kb.vec("sel", worse, ordered, y, x)
        pair.swap()
