"""Broadcasting between stored tensors: how an operand walks along the stored axes of the result."""

from __future__ import annotations

from functools import lru_cache
from math import prod

from graph_engine.dialects.ascend.spaces import row_major
from graph_engine.dialects.ge.core import Tensor
from graph_engine.dialects.ge.interning import shape_of_type
from graph_engine.dialects.layout import encoding_of, format_name, is_plain
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.planning.index_map import IndexMap

_PROBE = 4096
"""An extent that spreads over all stored axes that a logical one is cut into."""


@lru_cache(maxsize=256)
def origins(map: IndexMap, rank: int) -> tuple[frozenset[int], ...]:
    """For every stored axis, the logical axes that it comes from."""
    ones = (1,) * rank
    found: list[set[int]] = [set() for _ in map.physical_shape(ones)]
    for axis in range(rank):
        probe = tuple(_PROBE if a == axis else 1 for a in range(rank))
        index = tuple(_PROBE - 1 if a == axis else 0 for a in range(rank))
        for stored, position in enumerate(map.physical_index(probe, index)):
            if position:
                found[stored].add(axis)
    return tuple(frozenset(axes) for axes in found)


def strides_over(operand: Tensor, result: Tensor) -> tuple[int, ...]:
    """Elements of `operand` between neighbours along each stored axis of `result`, 0 where it repeats (numpy's rules).

    Raises NoKernel where the two are stored differently, unless the operand is plain and the result's blocks are whole
    wherever it varies.
    """
    target, source = encoding_of(result), encoding_of(operand)
    shape, wanted = shape_of_type(operand), shape_of_type(result)
    stored = target.map.physical_shape(wanted)
    if all(n == 1 for n in shape):
        return (0,) * len(stored)
    plain = is_plain(operand) and is_plain(result)
    if is_plain(operand) and not plain:
        return _plain_strides(shape, result)
    if not plain and source.with_pad("zero") != target.with_pad("zero"):
        raise NoKernel(f"an operand is stored as {format_name(operand)}, the result as {format_name(result)}")
    if len(shape) < len(wanted):
        if not plain and target.map.format.promote != "leading":
            raise NoKernel(f"an operand of rank {len(shape)} beside a {format_name(result)} result")
        shape = (1,) * (len(wanted) - len(shape)) + shape
    strides = list(row_major(target.map.physical_shape(shape)))
    for axis, logical in enumerate(origins(target.map, len(wanted))):
        repeats = {shape[a] != wanted[a] for a in logical}
        if any(shape[a] not in (1, wanted[a]) for a in logical):
            raise NoKernel(f"an operand {list(shape)} does not broadcast to {list(wanted)}")
        if len(repeats) > 1:
            raise NoKernel(f"{format_name(result)} merges a broadcast axis with another one")
        if True in repeats:
            strides[axis] = 0
    return tuple(strides)


def _plain_strides(shape: tuple[int, ...], result: Tensor) -> tuple[int, ...]:
    """Of a row-major operand beside a tensor in blocks: a block of an axis is that many of its elements."""
    wanted = shape_of_type(result)
    map = encoding_of(result).map
    shape = (1,) * (len(wanted) - len(shape)) + shape
    steps, stored, sources = row_major(shape), map.physical_shape(wanted), origins(map, len(wanted))
    strides: list[int] = []
    for place, logical in enumerate(sources):
        axes = [axis for axis in logical if shape[axis] != 1]
        for axis in axes:
            if prod(n for n, s in zip(stored, sources, strict=True) if axis in s) != shape[axis]:
                raise NoKernel(f"a plain operand {list(shape)} beside the padded blocks of {format_name(result)}")
        inner = prod(stored[p] for p in range(place + 1, len(stored)) if sources[p] == logical)
        strides.append(steps[axes[0]] * inner if axes else 0)
    return tuple(strides)
