"""Executors of the instructions that choose: comparison to a mask, selection by one, look-up by index, registers."""

from __future__ import annotations

from typing import Any

import numpy as np

from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.chip.operands import Array, Counters, Site, Step, coalesce, reader, value_of, writer
from graph_engine.target_ascend.isa.model import FIRST_REGISTER, PREDICATES, SLOTS, DType, Space

_COMPARISONS: dict[str, Any] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


def build_compare(site: Site) -> Step:
    """dst (i1) = a predicate b."""
    dst, a, b = site.instr.operands
    if dst.dtype is not DType.BOOL or a.dtype is not b.dtype or not dst.sizes == a.sizes == b.sizes:
        raise site.fail(
            f"compares {a.sizes} {a.dtype.mlir} with {b.sizes} {b.dtype.mlir} to {dst.sizes} {dst.dtype.mlir}"
        )
    sizes, strides = coalesce(dst.sizes, [o.strides for o in (dst, a, b)])
    target = writer(site, dst, sizes, strides[0]).target
    left, right = reader(site, a, sizes, strides[1]), reader(site, b, sizes, strides[2])
    predicate = value_of(site.instr.params[0])
    if not isinstance(predicate, int) or not 0 <= predicate < len(PREDICATES):
        raise site.fail(f"has no predicate {predicate}")
    function = _COMPARISONS[PREDICATES[predicate]]
    return lambda counters: np.copyto(target(counters), function(left(counters), right(counters)))


def build_select(site: Site) -> Step:
    """dst = a where mask holds, else b."""
    dst, mask, a, b = site.instr.operands
    same = a.dtype is b.dtype is dst.dtype and dst.sizes == mask.sizes == a.sizes == b.sizes
    if mask.dtype is not DType.BOOL or not same or dst.dtype.bytes not in (2, 4):
        shown = ", ".join(f"{o.sizes} {o.dtype.mlir}" for o in (mask, a, b, dst))
        raise site.fail(f"selects {shown}")
    sizes, strides = coalesce(dst.sizes, [o.strides for o in (dst, mask, a, b)])
    target = writer(site, dst, sizes, strides[0], raw=True).target
    chosen = reader(site, mask, sizes, strides[1])
    first, second = reader(site, a, sizes, strides[2], raw=True), reader(site, b, sizes, strides[3], raw=True)

    def select(counters: Counters) -> None:
        result = np.where(chosen(counters), first(counters), second(counters))
        np.copyto(target(counters), result)

    return select


def build_gather(site: Site) -> Step:
    """dst[i...] = element number indices[i...] of src."""
    dst, src, indices = site.instr.operands
    if indices.dtype is not DType.I32 or dst.sizes != indices.sizes or dst.dtype is not src.dtype:
        shown = f"{src.sizes} {src.dtype.mlir} by {indices.sizes} {indices.dtype.mlir}"
        raise site.fail(f"gathers {shown} to {dst.sizes} {dst.dtype.mlir}")
    target = writer(site, dst, raw=True).target
    table, places = reader(site, src, raw=True), reader(site, indices)
    count = int(np.prod(src.sizes))

    def gather(counters: Counters) -> None:
        index: Array = places(counters)
        _inside(site, index, count)
        result = table(counters).reshape(-1).take(index)
        np.copyto(target(counters), result)

    return gather


def build_load_scalar(site: Site) -> Step:
    """A register of the scalar unit takes an index, counted from the front."""
    (src,) = site.instr.operands
    register, extent = (value_of(p) for p in site.instr.params)
    if src.dtype is not DType.I32 or np.prod(src.sizes) != 1 or site.buffers[src.buffer].space is not Space.UB:
        raise site.fail(f"loads {src.sizes} {src.dtype.mlir}; it takes one i32 of UB")
    if not isinstance(register, int) or not isinstance(extent, int) or not FIRST_REGISTER <= register < SLOTS:
        raise site.fail(f"names register {register} and extent {extent}")
    read = reader(site, src)

    def load(counters: Counters) -> None:
        index = int(read(counters).reshape(-1)[0])
        index += extent if index < 0 else 0
        if not 0 <= index < extent:
            raise _outside(site, index, extent)
        counters[register] = index

    return load


def _inside(site: Site, index: Array, count: int) -> None:
    """Raises GraphEngineError for an index outside the table."""
    if index.size and not (index.min() >= 0 and index.max() < count):
        wrong = index.min() if index.min() < 0 else index.max()
        raise _outside(site, int(wrong), count)


def _outside(site: Site, index: int, extent: int) -> GraphEngineError:
    return site.fail(f"index {index} is outside {extent} entries")
