"""Stored tensors as strided axes, and a conversion between two of them as boxes that both sides can stride over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from graph_engine.dialects.ascend.memory import row_major
from graph_engine.dialects.ge.core import Tensor
from graph_engine.dialects.layout import (
    NC1HWC0,
    NHWC,
    FractalNZ,
    FractalZ,
    FractalZ3D,
    FractalZKN,
    encoding_of,
    is_plain,
    physical_shape,
)
from graph_engine.lowering.kernels.movement import Dim, Part
from graph_engine.lowering.kernels.no_kernel import NoKernel


@dataclass(frozen=True)
class Axis:
    """A logical axis as stored: `size` elements `stride` apart; or, with `block`, blocks of that many elements,
    `outer` apart, elements `stride` apart inside. `padded`: elements that are stored, blocks aside."""

    size: int
    stride: int
    padded: int
    block: int = 0
    outer: int = 0


def storage(ty: Tensor) -> list[Axis]:
    """The logical axes of a stored tensor. Raises NoKernel for a format that is no strided form of them."""
    shape = ty.get_shape()
    if is_plain(ty):
        return [Axis(n, s, n) for n, s in zip(shape, row_major(shape), strict=True)]
    encoding = encoding_of(ty)
    stored = physical_shape(ty)
    strides = row_major(stored)
    if isinstance(encoding, NHWC):
        return [Axis(shape[axis], strides[place], shape[axis]) for axis, place in enumerate((0, 3, 1, 2))]
    if isinstance(encoding, NC1HWC0):
        channel = Axis(shape[1], 1, 0, stored[-1], strides[1])
        rest = [Axis(n, s, n) for n, s in zip(shape[2:], strides[2:4], strict=False)]
        return [Axis(shape[0], strides[0], shape[0]), channel, *rest]
    rows, columns = stored[-3] * 16, stored[-1]
    if isinstance(encoding, FractalNZ) and len(shape) >= 2:
        batch = [Axis(n, s, n) for n, s in zip(shape[:-2], strides, strict=False)]
        return [*batch, Axis(shape[-2], columns, rows), Axis(shape[-1], 1, 0, columns, strides[-4])]
    if isinstance(encoding, FractalZ | FractalZKN) and len(shape) == 2:
        k = Axis(shape[0 if isinstance(encoding, FractalZKN) else 1], 1, 0, columns, strides[0])
        n = Axis(shape[1 if isinstance(encoding, FractalZKN) else 0], columns, rows)
        return [k, n] if isinstance(encoding, FractalZKN) else [n, k]
    if isinstance(encoding, FractalZ3D) or (isinstance(encoding, FractalZ) and encoding.groups.data == 1):
        outputs, channels, *depth, height, width = shape
        pixel = rows * columns
        block = height * width * pixel
        slices = [Axis(n, -(-channels // columns) * block, n) for n in depth]
        pixels = [Axis(height, width * pixel, height), Axis(width, pixel, width)]
        return [Axis(outputs, columns, 0, 16, 16 * columns), Axis(channels, 1, 0, columns, block), *slices, *pixels]
    raise NoKernel(f"{encoding.FORM.name} is no strided form of the logical axes")


def boxes(src: Sequence[Axis], dst: Sequence[Axis]) -> list[tuple[int, int, tuple[Dim, ...]]]:
    """(source offset, result offset, dims) of the boxes that make up a conversion, axis by axis."""
    choices: list[list[tuple[int, int, tuple[Dim, ...]]]] = []
    for s, d in zip(src, dst, strict=True):
        blocks = {axis.block for axis in (s, d) if axis.block}
        if not blocks:
            choices.append([(0, 0, (Dim(s.size, d.padded, s.stride, d.stride),))])
            continue
        if len(blocks) > 1:
            raise NoKernel("the two formats cut an axis into blocks of different sizes")
        block = blocks.pop()
        s_outer, d_outer = (axis.outer if axis.block else axis.stride * block for axis in (s, d))
        full, tail = divmod(s.size, block)
        options: list[tuple[int, int, tuple[Dim, ...]]] = []
        if full:
            options.append((0, 0, (Dim(full, full, s_outer, d_outer), Dim(block, block, s.stride, d.stride))))
        if tail:
            written = block if d.block else tail
            options.append((full * s_outer, full * d_outer, (Dim(tail, written, s.stride, d.stride),)))
        choices.append(options)
    found: list[tuple[int, int, tuple[Dim, ...]]] = []
    for combination in product(*choices):
        dims = tuple(dim for option in combination for dim in option[2])
        found.append((sum(o[0] for o in combination), sum(o[1] for o in combination), dims))
    return found


def padding(pads: Sequence[int], x: list[Axis], target: list[Axis]) -> list[Part]:
    """Fills the borders, axis by axis, then copies the interior; the boxes do not overlap."""
    rank = len(x)
    before, after = pads[:rank], pads[rank:]
    if any(p < 0 for p in pads):
        raise NoKernel("negative pads")
    if any(axis.block and (before[i] or after[i]) for i, axis in enumerate(target)):
        raise NoKernel("padding of the blocked channel axis")
    parts: list[Part] = []
    ranges = [(0, axis.size) for axis in target]
    for i, axis in enumerate(target):
        for lo, hi in ((0, before[i]), (axis.size - after[i], axis.size)):
            if hi > lo:
                box = [*ranges[:i], (lo, hi), *ranges[i + 1 :]]
                pieces = [Axis(b - a, t.stride, b - a, t.block, t.outer) for (a, b), t in zip(box, target, strict=True)]
                at = sum(a * t.stride for (a, _), t in zip(box, target, strict=True) if not t.block)
                parts += [Part(None, 0, at + d, dims) for _, d, dims in boxes(pieces, pieces)]
        ranges[i] = (before[i], axis.size - after[i])
    inner = [Axis(b - a, t.stride, b - a, t.block, t.outer) for (a, b), t in zip(ranges, target, strict=True)]
    at = sum(a * t.stride for (a, _), t in zip(ranges, target, strict=True) if not t.block)
    return parts + [Part(0, s, at + d, dims) for s, d, dims in boxes(x, inner)]
