"""The geometry of a convolution on the Cube: its shape in blocks, the bands of its result, and their deal over cores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.target_ascend.isa.model import DType


@dataclass(frozen=True)
class Depth:
    """The third axis of a convolution of volumes: slices of x and of the result, taps of the filter and where they lie."""

    inputs: int
    outputs: int
    taps: int
    stride: int
    dilation: int
    pad: int

    def needed(self, output: int) -> tuple[int, int, int]:
        """First input slice, first tap, and how many taps lie inside the volume, for one slice of the result."""
        begin = output * self.stride - self.pad
        inside = [tap for tap in range(self.taps) if 0 <= begin + tap * self.dilation < self.inputs]
        if not inside:
            raise NoKernel("a slice of the result sees nothing but padding")
        return begin + inside[0] * self.dilation, inside[0], len(inside)


@dataclass(frozen=True)
class ConvShape:
    """A convolution as the Cube sees it; of one block of groups, c1 counts blocks of c0 and n1 blocks of 16.

    `batch` counts images of the result; of volumes those are all slices, and c1 is that of one slice of x.
    `last` holds c1 and n1 of the last block where fewer groups are left for it than fit the others. `dtype` is that of the input; outside the image it holds `padding`. The sum of `filters` filters of one shape is the
    weight: of numbers of 9 bits. `small`: channels of a pixel of x as stored where they are fewer than c0 (NC1HWC0_C04, filters in
    FRACTAL_Z_C04); a block of K then holds several positions of the kernel. `half`: of the last block of 16 outputs the result,
    in blocks of 8, has but the first.
    """

    batch: int
    groups: int
    c1: int
    h: int
    w: int
    n1: int
    ho: int
    wo: int
    kernel: tuple[int, int]
    strides: tuple[int, int]
    dilations: tuple[int, int]
    pads: tuple[int, int, int, int]
    bias: bool
    dtype: DType = DType.F16
    padding: int = 0
    filters: int = 1
    last: tuple[int, int] | None = None
    depth: Depth | None = None
    small: int = 0
    half: bool = False

    @property
    def quantised(self) -> bool:
        """Whether 8-bit numbers are multiplied, summed in i32 and leave with 8 bits."""
        return self.dtype.bytes == 1

    @property
    def c0(self) -> int:
        """Channels in a block of 32 bytes, of the input as of the result."""
        return 32 // self.dtype.bytes

    @property
    def x_c0(self) -> int:
        """Channels in a block of the input."""
        return self.small or self.c0

    @property
    def pixel_bytes(self) -> int:
        """Bytes of a pixel of all blocks of channels that an output of one block of groups sees."""
        return self.read_c1 * self.x_c0 * self.dtype.bytes

    def blocks_of_k(self, c1: int) -> int:
        """Column blocks of K of so many blocks of input channels."""
        return c1 * self.taps if not self.small else -(-self.taps * self.small // self.c0)

    @property
    def n_unit(self) -> int:
        """Blocks of 16 outputs that make one block of the result."""
        return max(1, self.c0 // 16)

    @property
    def lanes(self) -> int:
        """Channels of a block of the result that lie together in the accumulator."""
        return min(16, self.c0)

    @property
    def out_c1(self) -> int:
        """Blocks of c0 output channels of all groups."""
        return self.out_blocks * 16 // self.c0 - self.half

    @property
    def weights(self) -> DType:
        """Element type of the filter."""
        return DType.I8 if self.quantised else self.dtype

    @property
    def sums(self) -> DType:
        """Element type of the accumulator."""
        return DType.I32 if self.quantised else DType.F32

    @property
    def taps(self) -> int:
        """Positions of the kernel."""
        return self.kernel[0] * self.kernel[1]

    @property
    def read_c1(self) -> int:
        """Blocks of channels that an output of one block of groups sees at most."""
        return self.c1 * (self.depth.taps if self.depth else 1)

    @property
    def k1(self) -> int:
        """Column blocks of K of one block of groups."""
        return self.blocks_of_k(self.read_c1)

    @property
    def streams(self) -> bool:
        """Whether K can come through L1 in parts of the input channels."""
        return self.groups == 1 and self.filters == 1 and self.depth is None and self.c1 > 1

    def holds(self, column_bytes: int, l0b: int) -> bool:
        """Whether the weights of all output channels fit L0B, of `column_bytes` a block of K, and are one filter in one tile."""
        plain = self.groups == 1 and self.filters == 1 and self.depth is None and not self.half
        return plain and self.k1 * column_bytes <= l0b

    def fractals(self, positions: int) -> bool:
        """Whether so many positions of a band lie in L1 as whole fractals of the left side: load2d, then, which is faster."""
        plain = self.kernel == (1, 1) == self.strides and not any(self.pads)
        return plain and not self.small and positions % 16 == 0

    @property
    def images(self) -> int:
        """Images of x."""
        return self.batch if self.depth is None else self.batch // self.depth.outputs * self.depth.inputs

    @property
    def in_blocks(self) -> int:
        """Blocks of c0 input channels of all groups."""
        return self.groups * self.c1 - (self.c1 - self.last[0] if self.last else 0)

    @property
    def out_blocks(self) -> int:
        """Blocks of 16 output channels of all groups."""
        return self.groups * self.n1 - (self.n1 - self.last[1] if self.last else 0)

    @property
    def fractal(self) -> int:
        """Elements of a block of the filter: 16 outputs by c0 inputs."""
        return 16 * self.c0

    @property
    def image(self) -> int:
        """Elements of one image of x."""
        return self.in_blocks * self.h * self.w * self.x_c0

    def reach(self, axis: int, count: int) -> int:
        """At most so many input rows or columns do `count` outputs next to each other need."""
        whole = (count - 1) * self.strides[axis] + (self.kernel[axis] - 1) * self.dilations[axis] + 1
        return min((self.h, self.w)[axis], whole)

    def needed(self, axis: int, start: int, count: int) -> tuple[int, int, int]:
        """First input row or column, how many, and the padding before them, that outputs start..start+count need."""
        begin = start * self.strides[axis] - self.pads[axis]
        end = begin + (count - 1) * self.strides[axis] + (self.kernel[axis] - 1) * self.dilations[axis] + 1
        first, last = max(0, begin), max(1, min((self.h, self.w)[axis], end))
        first = min(first, last - 1)
        return first, last - first, first - begin

    def band(self, batch: int, rows: tuple[int, int], columns: tuple[int, int]) -> Band:
        """The part of the input that the outputs in `rows` and `columns` (start, count) of one image need."""
        top, in_rows, pad_top = self.needed(0, *rows)
        left, in_columns, pad_left = self.needed(1, *columns)
        first, slices = batch, (0, 1)
        if self.depth is not None:
            volume, output = divmod(batch, self.depth.outputs)
            first, *slices = self.depth.needed(output)
            first += volume * self.depth.inputs
        out_image = self.out_c1 * self.ho * self.wo * self.c0
        return Band(
            (rows[1], columns[1]),
            (in_rows, in_columns),
            (pad_top, pad_left),
            (slices[0], slices[1]),
            first * self.image + (top * self.w + left) * self.x_c0,
            batch * out_image + (rows[0] * self.wo + columns[0]) * self.c0,
        )


@dataclass(frozen=True)
class Band:
    """Output rows and columns, the input's, padding on top and on the left, first tap and taps in depth, and where both
    start (elements).

    Several rows are whole ones, so that their positions follow one another.
    """

    size: tuple[int, int]
    read: tuple[int, int]
    pads: tuple[int, int]
    slices: tuple[int, int]
    x_offset: int
    y_offset: int

    @property
    def signature(self) -> tuple[tuple[int, int], ...]:
        """Bands of one signature run the same code."""
        return self.size, self.read, self.pads, self.slices


@dataclass(frozen=True)
class Run:
    """`count` bands of one signature whose offsets advance evenly."""

    first: Band
    count: int
    x_step: int
    y_step: int


def split_bands(shape: ConvShape, rows: int, columns: int, cores: int) -> list[list[Run]]:
    """Bands of `rows` x `columns` outputs, dealt to `cores` in contiguous shares, each as runs."""
    bands = [
        shape.band(n, (row, min(rows, shape.ho - row)), (column, min(columns, shape.wo - column)))
        for n in range(shape.batch)
        for row in range(0, shape.ho, rows)
        for column in range(0, shape.wo, columns)
    ]
    share = -(-len(bands) // cores)
    return [_runs(bands[i : i + share]) for i in range(0, len(bands), share)]


def _runs(bands: Sequence[Band]) -> list[Run]:
    runs: list[Run] = []
    for band in bands:
        if runs and runs[-1].first.signature == band.signature:
            run = runs[-1]
            x_step, y_step = band.x_offset - run.first.x_offset, band.y_offset - run.first.y_offset
            if run.count == 1 or (x_step, y_step) == (run.x_step * run.count, run.y_step * run.count):
                runs[-1] = Run(run.first, run.count + 1, x_step // run.count, y_step // run.count)
                continue
        runs.append(Run(band, 1, 0, 0))
    return runs


def _code(runs: Sequence[Run]) -> tuple[object, ...]:
    """What two cores must share to run one body, up to their start."""
    base = runs[0].first
    return tuple(
        (
            r.first.signature,
            r.count,
            r.x_step,
            r.y_step,
            r.first.x_offset - base.x_offset,
            r.first.y_offset - base.y_offset,
        )
        for r in runs
    )


def core_groups(shares: Sequence[list[Run]]) -> list[tuple[int, int, int, int]]:
    """(first core, cores, x step, y step) of neighbouring cores that run one body at evenly spaced starts."""
    groups: list[tuple[int, int, int, int]] = []
    for _, members in groupby(enumerate(shares), key=lambda item: _code(item[1])):
        indices = [i for i, _ in members]
        start = indices[0]
        while start <= indices[-1]:
            end, steps = start + 1, (0, 0)
            while end <= indices[-1]:
                a, b = shares[end - 1][0].first, shares[end][0].first
                delta = b.x_offset - a.x_offset, b.y_offset - a.y_offset
                if end > start + 1 and delta != steps:
                    break
                steps, end = delta, end + 1
            groups.append((start, end - start, *steps))
            start = end
    return groups


def peel_first(runs: Sequence[Run]) -> list[Run]:
    """The same bands, the first one in a run of its own."""
    first, *others = runs
    band = first.first
    if first.count > 1:
        second = replace(band, x_offset=band.x_offset + first.x_step, y_offset=band.y_offset + first.y_step)
        others = [replace(first, first=second, count=first.count - 1), *others]
    return [Run(band, 1, 0, 0), *others]
