"""Images sampled between their elements, in operators that have kernels: coordinates in fp32, rows of channels by index.

    neighbours of a coordinate p:   floor(p), floor(p) + 1    with weights 1 - (p - floor(p)), p - floor(p)
    a sample:                       sum over combinations of neighbours of  (product of weights) * gather(rows, place)

Rows are the positions of an image, each with all of its channels behind one another: one index fetches them together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import product
from math import prod

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from graph_engine.dialects.ge.core import GeOp, element_of, shape_of
from graph_engine.dialects.ge.elementwise import AddOp, BinaryOp, CastOp, ClipOp, MinimumOp, MulOp, SubOp
from graph_engine.dialects.ge.indexing import GatherOp
from graph_engine.dialects.ge.interning import element_name, tensor_type
from graph_engine.dialects.ge.logic import CompareOp, ModOp, SelectOp
from graph_engine.dialects.ge.shape import TransposeOp
from graph_engine.dialects.ge.unary_math import FloorOp
from graph_engine.transforms.made_operators import Made, MadeInFp32

MOST_ROWS = 1 << 24
"""Places that fp32 counts exactly."""
CUBIC = -0.75
"""The parameter of the cubic weights."""

Taps = Sequence[tuple[SSAValue, SSAValue]]
"""Neighbours along an axis: their positions and weights, fp32 of one shape."""


@dataclass
class Sampler:
    """Makes the operators: coordinates, places and weights by `exact`, what is fetched by `made`; one list of both."""

    made: Made = field(default_factory=Made)

    @property
    def exact(self) -> Made:
        """Makes operators of fp32."""
        return MadeInFp32(self.made.made, self.made.constants)

    def put(self, op: GeOp) -> SSAValue:
        """The result of an operator of fp32."""
        return self.exact.put(op)

    def number(self, value: float, like: SSAValue) -> SSAValue:
        """A constant of one element."""
        return self.made.number(value, like)

    def scaled(self, x: SSAValue, factor: float, shift: float = 0.0) -> SSAValue:
        """x * factor + shift."""
        if factor != 1:
            x = self.put(MulOp(x, self.number(factor, x)))
        return self.put(AddOp(x, self.number(shift, x))) if shift else x

    def as_fp32(self, x: SSAValue) -> SSAValue:
        """x in fp32."""
        return self.exact.as_element(x, f32)

    def clipped(self, x: SSAValue, low: float, high: float) -> SSAValue:
        """x between two numbers."""
        return self.put(ClipOp(x, min=low, max=high))

    def where_inside(self, x: SSAValue, low: float, high: float) -> SSAValue:
        """1 where low <= x <= high, else 0."""
        masks = [
            self.put(CompareOp(x, self.number(end, x), predicate=predicate))
            for predicate, end in (("ge", low), ("le", high))
        ]
        one, zero = self.number(1.0, x), self.number(0.0, x)
        above = self.put(SelectOp(masks[0], one, zero))
        return self.put(SelectOp(masks[1], above, zero))

    def inside(self, place: SSAValue, extent: int, padding: str, align_corners: bool) -> SSAValue:
        """Coordinates outside the axis brought to its border or mirrored into it, those beside zeros as they are."""
        if padding == "border":
            return self.clipped(place, 0.0, extent - 1.0)
        if padding != "reflection":
            return place
        low = 0.0 if align_corners else -0.5
        span = extent - 1.0 if align_corners else float(extent)
        if span <= 0:
            return self.scaled(place, 0.0)
        shifted = self.scaled(place, 1.0, -low)
        period = self.put(ModOp(shifted, self.number(2 * span, place)))
        back = self.scaled(period, -1.0, 2 * span)
        mirrored = self.scaled(self.put(MinimumOp(period, back)), 1.0, low)
        return self.clipped(mirrored, low, low + span)

    def taps(self, place: SSAValue, mode: str) -> Taps:
        """The neighbours of coordinates: one of whole ones ("nearest"), two or four."""
        if mode == "nearest":
            return [(place, self.scaled(place, 0.0, 1.0))]
        low = self.put(FloorOp(place))
        rest = self.put(SubOp(place, low))
        other = self.scaled(rest, -1.0, 1.0)
        if mode == "linear":
            return [(low, other), (self.scaled(low, 1.0, 1.0), rest)]
        far = [self.scaled(rest, 1.0, 1.0), self.scaled(other, 1.0, 1.0)]
        weights = [self._far(far[0]), self._near(rest), self._near(other), self._far(far[1])]
        return [(self.scaled(low, 1.0, float(i)), weight) for i, weight in zip(range(-1, 3), weights, strict=True)]

    def _near(self, d: SSAValue) -> SSAValue:
        """Keys' cubic convolution of distances up to 1: ((a + 2) d - (a + 3)) d^2 + 1."""
        square = self.put(MulOp(d, d))
        return self.scaled(self.put(MulOp(self.scaled(d, CUBIC + 2, -(CUBIC + 3)), square)), 1.0, 1.0)

    def _far(self, d: SSAValue) -> SSAValue:
        """The same from 1 to 2: ((a d - 5 a) d + 8 a) d - 4 a."""
        inner = self.scaled(self.put(MulOp(self.scaled(d, CUBIC, -5 * CUBIC), d)), 1.0, 8 * CUBIC)
        return self.scaled(self.put(MulOp(inner, d)), 1.0, -4 * CUBIC)

    def combined(self, kind: type[BinaryOp], values: Sequence[SSAValue]) -> SSAValue:
        """Values of shapes that broadcast, by one operator."""
        return reduce(lambda a, b: self.put(kind(a, b)), values)

    def rows_of(self, x: SSAValue) -> SSAValue:
        """x (N, C, spatial axes) as (N * positions, C)."""
        batch, channels, *extents = shape_of(x)
        last = self.made.put(TransposeOp(x, perm=[0, *range(2, len(extents) + 2), 1]))
        return self.made.shaped(last, (batch * prod(extents), channels))

    def samples(
        self, rows: SSAValue, starts: SSAValue | None, extents: Sequence[int], taps: Sequence[Taps]
    ) -> list[SSAValue]:
        """For each combination of neighbours its rows times its weight, (samples, channels); positions lie within the axes.

        `starts`: fp32, the first row of each sample's image.
        """
        dtype, found = element_of(rows), list[SSAValue]()
        for combination in product(*taps):
            steps = [prod(extents[axis + 1 :]) for axis in range(len(extents))]
            terms = [self.scaled(position, float(step)) for (position, _), step in zip(combination, steps, strict=True)]
            place = self.combined(AddOp, [*terms, *([starts] if starts is not None else [])])
            count = prod(shape_of(place))
            index = self.put(CastOp(self.exact.shaped(place, (count,)), result_type=tensor_type((count,), i32)))
            fetched = self.made.put(GatherOp(rows, index, axis=0))
            weight = self.combined(MulOp, [weight for _, weight in combination])
            weight = self.exact.shaped(weight, (count, 1))
            if element_name(dtype) != "f32":
                weight = self.put(CastOp(weight, result_type=tensor_type((count, 1), dtype)))
            found.append(self.made.put(MulOp(fetched, weight)))
        return found
