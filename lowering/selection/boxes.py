"""Stored tensors as strided axes, and a conversion between two of them as boxes that both sides can stride over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

from graph_engine.dialects.ge.core import Tensor
from graph_engine.dialects.layout import encoding_of
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
    encoding, shape = encoding_of(ty), ty.get_shape()
    parts = encoding.map.parts(shape)
    if parts is None or any(len(cut) > 2 for cut in parts):
        raise NoKernel(f"{encoding.form.name} is no strided form of the logical axes")
    matrix = len(shape) == 2 or encoding.map.format.promote == "leading"
    return [_axis(size, cut, matrix) for size, cut in zip(shape, parts, strict=True)]


def _axis(size: int, cut: list[tuple[int, int]], matrix: bool) -> Axis:
    """An axis of one part, or of blocks. Blocks one behind the other are one part if they are full; torn ones of a matrix
    as well, whose tiles hold all rows of a column of fractals."""
    if len(cut) == 1:
        return Axis(size, cut[0][1], cut[0][0])
    (count, outer), (block, stride) = cut
    if outer == block * stride and stride > 1 and (matrix or size == count * block):
        return Axis(size, stride, count * block)
    return Axis(size, stride, 0, block, outer)


def boxes(src: Sequence[Axis], dst: Sequence[Axis]) -> list[tuple[int, int, tuple[Dim, ...]]]:
    """(source offset, result offset, dims) of the boxes that make up a conversion, axis by axis."""
    choices: list[list[tuple[int, int, tuple[Dim, ...]]]] = []
    for s, d in zip(src, dst, strict=True):
        blocks = {axis.block for axis in (s, d) if axis.block}
        if not blocks:
            choices.append([(0, 0, (Dim(s.size, d.padded, s.stride, d.stride),))])
            continue
        if len(blocks) > 1:
            choices.append(_cut_finer(s, d))
            continue
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


def _cut_finer(s: Axis, d: Axis) -> list[tuple[int, int, tuple[Dim, ...]]]:
    """The boxes of an axis of which one side has several blocks in each block of the other (8 channels of fp32, 16 of fp16)."""
    small, large = sorted((s.block, d.block))
    each, rest = divmod(large, small)
    if rest:
        raise NoKernel("the two formats cut an axis into blocks of different sizes")
    # From block to block of either size.
    (s_large, s_small), (d_large, d_small) = (
        (axis.outer, small * axis.stride) if axis.block == large else (each * axis.outer, axis.outer) for axis in (s, d)
    )
    inner, full, tail = Dim(small, small, s.stride, d.stride), s.size // large, s.size % large
    found: list[tuple[int, int, tuple[Dim, ...]]] = []
    if full:
        found.append((0, 0, (Dim(full, full, s_large, d_large), Dim(each, each, s_small, d_small), inner)))
    if tail:  # the last of its small blocks fills up what is left of the result's
        at, whole = (full * s_large, full * d_large), (tail - 1) // small
        if whole:
            found.append((*at, (Dim(whole, whole, s_small, d_small), inner)))
        written = large - whole * small if d.block == large else small
        last = Dim(tail - whole * small, written, s.stride, d.stride)
        found.append((at[0] + whole * s_small, at[1] + whole * d_small, (last,)))
    return found


def joins_blocks(src: Sequence[Axis], dst: Sequence[Axis]) -> bool:
    """Whether blocks of an axis are larger in the result than in the source, so that several boxes write to one."""
    return any(0 < s.block < d.block for s, d in zip(src, dst, strict=True))


def lanes_last(part: Part) -> Part:
    """The same box with the axis last whose elements lie together on both sides."""
    lanes = next(d for d in reversed(part.dims) if d.src == d.dst == 1)
    others = list(part.dims)
    others.remove(lanes)
    return replace(part, dims=(*others, lanes))


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
