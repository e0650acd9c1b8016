"""Storage formats as index maps over a logical shape, each declared by one einops-like line.

`"n (c1 c0) h w -> n c1 h w c0"` reads: the logical axes are n, c, h, w; c is split into c1 x c0 (padded up to a
multiple of c0); the stored axes are those on the right, row-major, groups in parentheses merged into one. `...`
stands for any leading axes. A size such as c0 or n0 comes from the format's defaults or from `bind`.

The maps are those of graphengine r1.5 `ge/common/formats` (Apache-2.0) and the CANN format documentation. Pure
numpy: nothing here knows of IR or chips.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.generic[Any]]

Shape: TypeAlias = tuple[int, ...]
DYNAMIC = -1
"""A size that is not known before run time; it passes through every shape computation."""


class Stage(ABC):
    """One step from logical to stored order; a map is a chain of them."""

    @abstractmethod
    def shape(self, shape: Shape) -> Shape:
        """Stored shape. Raises ValueError where the logical shape does not fit the format."""

    @abstractmethod
    def pack(self, array: Array, fill: Any) -> Array:
        """Array in stored order, padding lanes = `fill`."""

    @abstractmethod
    def unpack(self, array: Array, shape: Shape) -> Array:
        """Inverse of `pack` for the logical `shape`; drops the padding lanes."""

    @abstractmethod
    def index(self, shape: Shape, index: Shape) -> Shape:
        """Stored index of the element at a logical index, by integer division and remainder alone."""


@dataclass(frozen=True, slots=True)
class _Split:
    """A pattern applied to a shape: logical -> padded -> split -> permuted -> merged."""

    padded: Shape
    split: Shape
    order: tuple[int, ...]
    stored: Shape


class Rearrange(Stage):
    """A stage given by a pattern and the sizes of its inner axes."""

    def __init__(self, pattern: str, sizes: dict[str, int]):
        left, arrow, right = pattern.partition("->")
        if not arrow:
            raise ValueError(f"pattern {pattern!r} has no '->'")
        self.pattern = pattern
        self.left, self.right = _groups(left), _groups(right)
        self.sizes = sizes
        self.split = lru_cache(maxsize=4096)(self._split)
        if sorted(a for g in self.left for a in g if a != "1") != sorted(a for g in self.right for a in g):
            raise ValueError(f"pattern {pattern!r} has different axes on its two sides")

    def check(self) -> None:
        """Raises ValueError where a pattern of a user's own says something that no shape makes right."""
        axes = [axis for group in self.left for axis in group]
        for axis in axes:
            if axis != "..." and not axis.isidentifier():
                raise ValueError(f"pattern {self.pattern!r}: '{axis}' is no name of an axis")
            if axes.count(axis) > 1:
                raise ValueError(f"pattern {self.pattern!r} names '{axis}' twice")
        if unused := [name for name in self.sizes if name not in axes]:
            raise ValueError(f"pattern {self.pattern!r} has no axis {', '.join(unused)}")
        if min(self.sizes.values(), default=1) < 1:
            raise ValueError(f"pattern {self.pattern!r} takes positive sizes, found {self.sizes}")
        for group in self.left:
            if len(outer := [axis for axis in group if axis not in self.sizes]) > 1:
                raise ValueError(f"pattern {self.pattern!r} needs the sizes of all of {' '.join(outer)} but one")

    def shape(self, shape: Shape) -> Shape:
        return self.split(shape).stored

    def parts(self, shape: Shape) -> list[list[tuple[int, int]]]:
        """What each logical axis is cut into, outer parts first: (size, elements from neighbour to neighbour)."""
        plan = self.split(shape)
        strides, stride = [0] * len(plan.order), 1
        for axis in reversed(plan.order):
            strides[axis] = stride
            stride *= plan.split[axis]
        flat = iter(zip(plan.split, strides, strict=True))
        return [[next(flat) for axis in group if axis != "1"] for group in _expand(self.left, len(shape))]

    def _split(self, shape: Shape) -> _Split:
        """Sizes of every axis at `shape` (see `_Split`)."""
        left, right = _expand(self.left, len(shape)), _expand(self.right, len(shape) - len(self.left) + len(self.right))
        if len(left) != len(shape):
            raise ValueError(f"format '{self.pattern}' takes {len(self.left)} axes, found {len(shape)}")
        size: dict[str, int] = {}
        padded: list[int] = []
        for group, extent in zip(left, shape, strict=True):
            inner = math.prod(self.sizes[axis] for axis in group if axis in self.sizes)
            outer = [axis for axis in group if axis not in self.sizes]
            size |= {axis: self.sizes[axis] for axis in group if axis in self.sizes}
            count = DYNAMIC if extent == DYNAMIC else -(-extent // inner)
            if outer in ([], ["1"]):
                if count > 1:
                    raise ValueError(
                        f"format '{self.pattern}' holds at most {inner} of axis {group[-1]}, found {extent}"
                    )
                count = 1
            elif len(outer) == 1:
                size[outer[0]] = count
            else:
                raise ValueError(f"format '{self.pattern}' does not give the sizes of {' '.join(outer)}")
            padded.append(DYNAMIC if count == DYNAMIC else count * inner)
        flat = [axis for group in left for axis in group if axis != "1"]
        order = tuple(flat.index(axis) for group in right for axis in group)
        return _Split(
            tuple(padded), tuple(size[a] for a in flat), order, tuple(_product(size[a] for a in g) for g in right)
        )

    def pack(self, array: Array, fill: Any) -> Array:
        import numpy as np

        plan = self.split(array.shape)
        if plan.padded != array.shape:
            full = np.full(plan.padded, fill, dtype=array.dtype)
            full[tuple(slice(extent) for extent in array.shape)] = array
            array = full
        return np.ascontiguousarray(array.reshape(plan.split).transpose(plan.order)).reshape(plan.stored)

    def unpack(self, array: Array, shape: Shape) -> Array:
        import numpy as np

        plan = self.split(shape)
        permuted = array.reshape(tuple(plan.split[axis] for axis in plan.order))
        back = tuple(plan.order.index(axis) for axis in range(len(plan.order)))
        whole = permuted.transpose(back).reshape(plan.padded)
        return np.ascontiguousarray(whole[tuple(slice(extent) for extent in shape)])

    def index(self, shape: Shape, index: Shape) -> Shape:
        left, right = _expand(self.left, len(shape)), _expand(self.right, len(shape) - len(self.left) + len(self.right))
        plan = self.split(shape)
        size = dict(zip((a for g in left for a in g if a != "1"), plan.split, strict=True))
        at: dict[str, int] = {}
        for group, position in zip(left, index, strict=True):
            for axis in reversed([a for a in group if a != "1"]):
                position, at[axis] = divmod(position, size[axis])
        stored: list[int] = []
        for group in right:
            merged = 0
            for axis in group:
                merged = merged * size[axis] + at[axis]
            stored.append(merged)
        return tuple(stored)


class BlockDiagonal(Stage):
    """Filter of a grouped convolution, (g*cout, cin, ...) -> (blocks, cout_opt, cin_opt, ...).

    E groups share one block and sit on its diagonal, so that channels fill the fractals:
    E = min(lcm(lcm(cin, c0)/cin, lcm(cout, n0)/cout), g), blocks = ceil(g/E), sizes rounded up to c0 and n0
    (graphengine r1.5, FRACTAL_Z with groups). Off-diagonal elements are 0 whatever the fill.
    """

    def __init__(self, groups: int, n0: int, c0: int):
        self.groups, self.n0, self.c0 = groups, n0, c0

    def per_block(self, shape: Shape) -> tuple[int, int, int]:
        """(E, cout, cin) for a filter shape, cout and cin per group."""
        if len(shape) < 2 or shape[0] % self.groups:
            raise ValueError(f"a filter of {self.groups} groups needs a multiple of it as first size, found {shape}")
        cout, cin = shape[0] // self.groups, shape[1]
        if not cout or not cin:
            raise ValueError(f"a grouped filter needs at least one channel a group, found {shape}")
        fill_c0 = math.lcm(cin, self.c0) // cin
        fill_n0 = math.lcm(cout, self.n0) // cout
        return min(math.lcm(fill_c0, fill_n0), self.groups), cout, cin

    def shape(self, shape: Shape) -> Shape:
        each, cout, cin = self.per_block(shape)
        blocks = -(-self.groups // each)
        return (blocks, -(-each * cout // self.n0) * self.n0, -(-each * cin // self.c0) * self.c0, *shape[2:])

    def pack(self, array: Array, fill: Any) -> Array:
        import numpy as np

        each, cout, cin = self.per_block(array.shape)
        out = np.full(self.shape(array.shape), fill, dtype=array.dtype)
        out[:, : each * cout, : each * cin] = 0
        grouped = array.reshape(self.groups, cout, cin, *array.shape[2:])
        for slot in range(each):
            part = grouped[slot::each]
            out[: len(part), slot * cout : (slot + 1) * cout, slot * cin : (slot + 1) * cin] = part
        return out

    def unpack(self, array: Array, shape: Shape) -> Array:
        import numpy as np

        each, cout, cin = self.per_block(shape)
        out = np.empty((self.groups, cout, cin, *shape[2:]), dtype=array.dtype)
        for slot in range(each):
            part = out[slot::each]
            part[:] = array[: len(part), slot * cout : (slot + 1) * cout, slot * cin : (slot + 1) * cin]
        return out.reshape(shape)

    def index(self, shape: Shape, index: Shape) -> Shape:
        each, cout, cin = self.per_block(shape)
        group, row = divmod(index[0], cout)
        block, slot = divmod(group, each)
        return (block, slot * cout + row, slot * cin + index[1], *index[2:])


@dataclass(frozen=True)
class Format:
    """A storage format: GE's name and number, patterns, default inner sizes.

    `rank`: logical axes the pattern needs; a lower rank gets axes of 1 in front (`promote = "leading"`, as for
    matrices) or behind (`"trailing"`, a filter without a window). `grouped`: pattern of filters with groups > 1.
    """

    name: str
    number: int
    patterns: tuple[str, ...]
    sizes: dict[str, int] = field(default_factory=dict[str, int])
    rank: int | None = None
    promote: str = "trailing"
    grouped: str | None = None

    def bind(self, *, groups: int = 1, **sizes: int) -> IndexMap:
        """The map with these inner sizes (`c0=16`, `n0=16`). Raises ValueError for a size the format has not."""
        unknown = set(sizes) - set(self.sizes)
        if unknown or min(sizes.values(), default=1) < 1 or groups < 1:
            raise ValueError(f"{self.name} takes positive {', '.join(self.sizes) or 'no sizes'}, found {sizes}")
        if groups > 1 and self.grouped is None:
            raise ValueError(f"{self.name} has no form with groups")
        if self.name not in FORMATS:
            stage = Rearrange(self.patterns[0], self.sizes | sizes)
            stage.check()
            return IndexMap(self, (stage,))
        return _bind(self.name, groups, tuple(sorted((self.sizes | sizes).items())))

    @staticmethod
    def declared(pattern: str, sizes: dict[str, int]) -> Format:
        """A format that stands in no table. Its name says all: `"n (c1 c0) -> c1 n c0; c0 = 32"`."""
        name = "; ".join([pattern, *(f"{axis} = {size}" for axis, size in sorted(sizes.items()))])
        return Format(name, FORMATS["ND"].number, (pattern,), sizes)

    @staticmethod
    def named(name: str) -> Format:
        """The format of a name: one of `FORMATS`, or declared. Raises KeyError where it is neither."""
        pattern, *sizes = name.split("; ")
        if "->" not in pattern:
            return FORMATS[name]
        return Format.declared(pattern, {axis: int(size) for axis, size in (text.split(" = ") for text in sizes)})

    def inner_sizes(self, physical: Shape) -> dict[str, int]:
        """The inner sizes that a stored shape shows: those whose axes stand alone at its end, as `n0 c0` of FRACTAL_Z."""
        stored = _groups(self.patterns[-1].partition("->")[2])
        shown: dict[str, int] = {}
        for axes, extent in zip(reversed(stored), reversed(physical), strict=False):
            if len(axes) != 1 or axes[0] not in self.sizes:
                break
            shown[axes[0]] = extent
        return shown


class IndexMap:
    """A format with all inner sizes known. Shapes may hold DYNAMIC."""

    def __init__(self, form: Format, stages: tuple[Stage, ...]):
        self.format = form
        self.stages = stages

    def full_rank(self, shape: Shape) -> Shape:
        """The logical shape with the axes of size 1 that the pattern needs."""
        ones = (1,) * max(0, (self.format.rank or 0) - len(shape))
        return ones + shape if self.format.promote == "leading" else shape + ones

    def physical_shape(self, shape: Shape) -> Shape:
        """Stored shape of a logical one. Raises ValueError where the shape does not fit the format."""
        shape = self.full_rank(shape)
        for stage in self.stages:
            shape = stage.shape(shape)
        return shape

    def parts(self, shape: Shape) -> list[list[tuple[int, int]]] | None:
        """Sizes and distances of what each logical axis is cut into; None where the format is more than one cut."""
        (stage, *more), full = self.stages, self.full_rank(shape)
        if more or not isinstance(stage, Rearrange) or DYNAMIC in shape:
            return None
        parts, missing = stage.parts(full), len(full) - len(shape)
        return parts[missing:] if self.format.promote == "leading" else parts[: len(shape)]

    def padding(self, shape: Shape) -> int:
        """Number of stored elements that hold no logical one."""
        return math.prod(self.physical_shape(shape)) - math.prod(shape)

    def pack(self, array: Array, fill: Any = 0) -> Array:
        """The array in stored order, contiguous; padding lanes hold `fill`."""
        array = array.reshape(self.full_rank(array.shape))
        for stage in self.stages:
            array = stage.pack(array, fill)
        return array

    def unpack(self, array: Array, shape: Shape) -> Array:
        """Inverse of `pack`: the logical array of `shape`. Raises ValueError where the stored shape is wrong."""
        if array.size != math.prod(self.physical_shape(shape)):
            raise ValueError(f"{self.format.name} of {shape} stores {self.physical_shape(shape)}, found {array.shape}")
        shapes = [self.full_rank(shape)]
        for stage in self.stages[:-1]:
            shapes.append(stage.shape(shapes[-1]))
        array = array.reshape(self.physical_shape(shape))
        for stage, before in zip(reversed(self.stages), reversed(shapes), strict=True):
            array = stage.unpack(array, before)
        return array.reshape(shape)

    def physical_index(self, shape: Shape, index: Shape) -> Shape:
        """Stored index of the element at a logical index (scalar arithmetic, independent of `pack`)."""
        missing = max(0, (self.format.rank or 0) - len(shape))
        index = (0,) * missing + index if self.format.promote == "leading" else index + (0,) * missing
        shape = self.full_rank(shape)
        for stage in self.stages:
            index, shape = stage.index(shape, index), stage.shape(shape)
        return index


@lru_cache(maxsize=256)
def _bind(name: str, groups: int, sizes: tuple[tuple[str, int], ...]) -> IndexMap:
    form, bound = FORMATS[name], dict(sizes)
    if groups == 1:
        return IndexMap(form, tuple(Rearrange(pattern, bound) for pattern in form.patterns))
    return IndexMap(form, (BlockDiagonal(groups, bound["n0"], bound["c0"]), Rearrange(form.grouped or "", bound)))


def _groups(side: str) -> tuple[tuple[str, ...], ...]:
    """Axes of one side of a pattern, a tuple for each logical or stored axis."""
    groups: list[tuple[str, ...]] = []
    inside: list[str] | None = None
    for token in side.replace("(", " ( ").replace(")", " ) ").split():
        if token == "(":
            inside = []
        elif token == ")":
            groups.append(tuple(inside or ()))
            inside = None
        elif inside is not None:
            inside.append(token)
        else:
            groups.append((token,))
    return tuple(groups)


def _expand(groups: tuple[tuple[str, ...], ...], rank: int) -> tuple[tuple[str, ...], ...]:
    """Replaces `...` by as many axes as the rank leaves."""
    if ("...",) not in groups:
        return groups
    at = groups.index(("...",))
    return groups[:at] + tuple((f"...{i}",) for i in range(rank - len(groups) + 1)) + groups[at + 1 :]


def _product(sizes: Any) -> int:
    values = tuple(sizes)
    return DYNAMIC if DYNAMIC in values else math.prod(values)


_C0, _FRACTAL = {"c0": 16}, {"n0": 16, "c0": 16}
_MATRIX = {"h0": 16, "c0": 16}

FORMATS: dict[str, Format] = {
    form.name: form
    for form in (
        Format("NCHW", 0, ("... -> ...",)),
        Format("NHWC", 1, ("n c h w -> n h w c",)),
        Format("ND", 2, ("... -> ...",)),
        Format("NC1HWC0", 3, ("n (c1 c0) h w -> n c1 h w c0",), _C0, rank=4),
        Format(
            "FRACTAL_Z", 4, ("(n1 n0) (c1 c0) h w -> (c1 h w) n1 n0 c0",), _FRACTAL, rank=4,
            grouped="g (n1 n0) (c1 c0) h w -> (g c1 h w) n1 n0 c0",
        ),
        Format("NC1HWC0_C04", 12, ("n (c1 c0) h w -> n c1 h w c0",), {"c0": 4}, rank=4),
        Format(
            "FRACTAL_Z_C04", 13, ("n (1 c4) h w -> n (h w c4)", "(n1 n0) (k1 c0) -> k1 n1 n0 c0"),
            _FRACTAL | {"c4": 4}, rank=4,
        ),
        Format("CHWN", 14, ("n c h w -> c h w n",)),
        Format("HWCN", 16, ("n c h w -> h w c n",)),
        Format("NDHWC", 27, ("n c d h w -> n d h w c",)),
        Format("FRACTAL_ZZ", 28, ("... (h1 h0) (w1 c0) -> ... h1 w1 h0 c0",), _MATRIX, rank=2, promote="leading"),
        Format("FRACTAL_NZ", 29, ("... (h1 h0) (w1 c0) -> ... w1 h1 h0 c0",), _MATRIX, rank=2, promote="leading"),
        Format("NCDHW", 30, ("... -> ...",)),
        Format("DHWCN", 31, ("n c d h w -> d h w c n",)),
        Format("NDC1HWC0", 32, ("n (c1 c0) d h w -> n d c1 h w c0",), _C0, rank=5),
        Format(
            "FRACTAL_Z_3D", 33, ("(n1 n0) (c1 c0) d h w -> (d c1 h w) n1 n0 c0",), _FRACTAL, rank=5,
            grouped="g (n1 n0) (c1 c0) d h w -> (g d c1 h w) n1 n0 c0",
        ),
        Format("FRACTAL_Z_3D_TRANSPOSE", 37, ("(n1 n0) (c1 c0) d h w -> (d h w n1) c1 n0 c0",), _FRACTAL, rank=5),
        # The same stored order as FRACTAL_Z with a 1 x 1 window, of a matrix whose rows are the reduced axis.
        Format("FRACTAL_Z_KN", 4, ("... (c1 c0) (n1 n0) -> ... c1 n1 n0 c0",), _FRACTAL, rank=2),
    )
}  # fmt: skip
"""Every format by GE's name; numbers are those of GE's `Format` enumeration."""
