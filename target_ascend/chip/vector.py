"""Executors of the vector instructions.

fp16 operands are computed in fp32 and rounded once per instruction; selections (max, min, relu, abs) need no
rounding. Sources are read before the destination is written, so a destination may be one of the sources.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graph_engine.target_ascend.chip.cube import accumulator_window
from graph_engine.target_ascend.chip.operands import (
    Array,
    Counters,
    Reader,
    Site,
    Step,
    Writer,
    coalesce,
    may_clash,
    reader,
    writer,
)
from graph_engine.target_ascend.chip.rounding import round_scalar_to_half, round_to_half
from graph_engine.target_ascend.isa.model import DType, Opcode
from graph_engine.target_ascend.isa.specs import SPECS

FLOATS = (DType.F16, DType.F32)
INTEGERS = (DType.I8, DType.U8, DType.I16, DType.U16, DType.I32, DType.U32, DType.I64, DType.U64)

_BINARY: dict[Opcode, Any] = {
    Opcode.VADD: np.add,
    Opcode.VSUB: np.subtract,
    Opcode.VMUL: np.multiply,
    Opcode.VDIV: np.divide,
    Opcode.VMAX: np.maximum,
    Opcode.VMIN: np.minimum,
    Opcode.VAND: np.bitwise_and,
    Opcode.VOR: np.bitwise_or,
    Opcode.VADDS: np.add,
    Opcode.VMULS: np.multiply,
    Opcode.VMAXS: np.maximum,
    Opcode.VMINS: np.minimum,
}
_EXACT = {Opcode.VMAX, Opcode.VMIN, Opcode.VMAXS, Opcode.VMINS, Opcode.VRELU, Opcode.VABS}
_FLOAT_ONLY = {Opcode.VDIV, Opcode.VLRELU, Opcode.VEXP, Opcode.VLN, Opcode.VSQRT, Opcode.VRSQRT, Opcode.VREC}
_INTEGER_ONLY = {Opcode.VAND, Opcode.VOR}
_REDUCE: dict[Opcode, Any] = {Opcode.VCADD: np.add, Opcode.VCMAX: np.maximum, Opcode.VCMIN: np.minimum}


def _check(site: Site) -> DType:
    """All operands of one size and element type, of a type that the instruction takes."""
    operands = site.instr.operands
    dtype = operands[0].dtype
    if any(o.dtype is not dtype or o.sizes != operands[0].sizes for o in operands):
        raise site.fail("operands differ: " + ", ".join(f"{o.sizes} {o.dtype.mlir}" for o in operands))
    refused = site.instr.opcode in (_INTEGER_ONLY if dtype in FLOATS else _FLOAT_ONLY)
    if refused or dtype not in (*FLOATS, *INTEGERS):
        raise site.fail(f"does not take {dtype.mlir}")
    return dtype


def scalar(site: Site, dtype: DType) -> Array:
    """The immediate in an element type; fp16 is rounded, as the scalar of a half instruction is a half."""
    value = site.instr.immediate
    if dtype is DType.F16:
        return np.float32(round_scalar_to_half(value, saturate=site.core.saturate))  # type: ignore[return-value]
    if dtype is DType.BF16:
        raise site.fail("does not take bf16")
    return np.dtype(dtype.numpy).type(value)


def half_store(site: Site, out: Writer, sizes: tuple[int, ...]) -> Callable[[Array, Counters], None]:
    """Rounds an fp32 array to fp16 into the destination. The array shares no memory with the destination's plane."""
    core, saturate = site.core, site.core.saturate
    target, commit = out.target, out.commit
    bits = core.scratch(1, sizes)
    if out.contiguous:

        def store(values: Array, counters: Counters) -> None:
            round_to_half(values, target(counters), bits, saturate=saturate)
            if commit is not None:
                commit()

        return store
    rounded = core.scratch(2, sizes)

    def store_strided(values: Array, counters: Counters) -> None:
        round_to_half(values, rounded, bits, saturate=saturate)
        np.copyto(target(counters), rounded)

    return store_strided


def _elementwise(
    site: Site, sources: list[Reader], out: Writer, sizes: tuple[int, ...], half: bool, compute: Any
) -> Step:
    """`compute(*sources, out=...)` into the destination, rounded if `half`."""
    target, commit = out.target, out.commit
    if half:
        values = site.core.scratch(0, sizes)
        store = half_store(site, out, sizes)
        if len(sources) == 1:
            (read,) = sources

            def run_half_unary(counters: Counters) -> None:
                compute(read(counters), out=values)
                store(values, counters)

            return run_half_unary
        first, second = sources

        def run_half(counters: Counters) -> None:
            compute(first(counters), second(counters), out=values)
            store(values, counters)

        return run_half

    if commit is None and len(sources) == 1:
        (only,) = sources
        return lambda counters: compute(only(counters), out=target(counters))
    if commit is None and len(sources) == 2:
        left, right = sources
        return lambda counters: compute(left(counters), right(counters), out=target(counters))

    def run(counters: Counters) -> None:
        arrays = [read(counters) for read in sources]
        compute(*arrays, out=target(counters))
        if commit is not None:
            commit()

    return run


def build_arithmetic(site: Site) -> Step:
    """Element-wise instructions: two sources, source and immediate, or one source."""
    dtype = _check(site)
    opcode = site.instr.opcode
    operands = site.instr.operands
    sizes, strides = coalesce(operands[0].sizes, [o.strides for o in operands])
    out = writer(site, operands[0], sizes, strides[0])
    sources = [reader(site, o, sizes, s) for o, s in zip(operands[1:], strides[1:], strict=True)]
    half = dtype is DType.F16 and opcode not in _EXACT
    return _elementwise(site, sources, out, sizes, half, _function(site, dtype, sizes))


def _function(site: Site, dtype: DType, sizes: tuple[int, ...]) -> Any:
    opcode = site.instr.opcode
    group = SPECS[opcode].group
    if group == "binary":
        return _BINARY[opcode]
    if opcode is Opcode.VLRELU:
        slope, scaled = scalar(site, dtype), site.core.scratch(3, sizes)

        def leaky(x: Array, out: Array) -> None:
            np.multiply(x, slope, out=scaled)
            np.copyto(scaled, x, where=x >= 0)
            np.copyto(out, scaled)

        return leaky
    if group == "scalar":
        ufunc, value = _BINARY[opcode], scalar(site, dtype)
        return lambda x, out: ufunc(x, value, out=out)
    if opcode is Opcode.VRELU:
        zero = np.dtype("float32" if dtype is DType.F16 else dtype.numpy).type(0)
        return lambda x, out: np.maximum(x, zero, out=out)
    if opcode is Opcode.VABS:
        return np.abs
    return _dense(site, sizes, _TRANSCENDENTAL[opcode])


def _reciprocal(x: Array, out: Array) -> None:
    np.divide(np.float32(1), x, out=out)


def _reciprocal_root(x: Array, out: Array) -> None:
    np.sqrt(x, out=out)
    np.divide(np.float32(1), out, out=out)


_TRANSCENDENTAL: dict[Opcode, Any] = {
    Opcode.VEXP: np.exp,
    Opcode.VLN: np.log,
    Opcode.VSQRT: np.sqrt,
    Opcode.VRSQRT: _reciprocal_root,
    Opcode.VREC: _reciprocal,
}


def _dense(site: Site, sizes: tuple[int, ...], function: Any) -> Any:
    """Applies a function to a dense copy: numpy's strided and dense loops may differ in the last bit."""
    dense = site.core.scratch(4, sizes)

    def apply(x: Array, out: Array) -> None:
        np.copyto(dense, x)
        function(dense, out=dense)
        np.copyto(out, dense)

    return apply


def build_reduce(site: Site) -> Step:
    """dst (..., 1) = sum, maximum or minimum of src (..., n) over the innermost axis."""
    dst, src = site.instr.operands
    opcode = site.instr.opcode
    if not src.sizes or dst.sizes != (*src.sizes[:-1], 1) or dst.dtype is not src.dtype:
        raise site.fail(f"reduces {src.sizes} {src.dtype.mlir} to {dst.sizes} {dst.dtype.mlir}")
    if src.dtype not in FLOATS and (src.dtype not in INTEGERS or opcode is Opcode.VCADD):
        raise site.fail(f"does not take {src.dtype.mlir}")
    read, ufunc = reader(site, src), _REDUCE[opcode]
    sizes = dst.sizes
    out = writer(site, dst)
    if src.dtype is DType.F16 and opcode is Opcode.VCADD:
        store = half_store(site, out, sizes)

        def sum_half(counters: Counters) -> None:
            store(ufunc.reduce(np.ascontiguousarray(read(counters)), axis=-1, keepdims=True), counters)

        return sum_half

    def reduce(counters: Counters) -> None:
        # A dense copy first: the order of numpy's pairwise sum depends on strides.
        result = ufunc.reduce(np.ascontiguousarray(read(counters)), axis=-1, keepdims=True)
        np.copyto(out.target(counters), result)
        if out.commit is not None:
            out.commit()

    return reduce


BRAIN_ENDS = ((DType.F32, DType.BF16), (DType.BF16, DType.F32), (DType.BF16, DType.I32))
"""Conversions from and to bf16."""

_ROUNDING: dict[Opcode, Any] = {
    Opcode.VCONV: np.rint,
    Opcode.VCONVF: np.floor,
    Opcode.VCONVC: np.ceil,
    Opcode.VCONVZ: np.trunc,
}


def build_convert(site: Site) -> Step:
    """dst = src in another element type: rounded as the opcode says, integers saturating, NaN to integer 0."""
    dst, src = site.instr.operands
    rounding = _ROUNDING[site.instr.opcode]
    if rounding is not np.rint and (src.dtype not in (*FLOATS, DType.BF16) or dst.dtype not in INTEGERS):
        raise site.fail(f"rounds {src.dtype.mlir} to {dst.dtype.mlir}; it takes floats to integers")
    if dst.sizes != src.sizes:
        raise site.fail(f"converts {src.sizes} to {dst.sizes}")
    if DType.BF16 in (kinds := (src.dtype, dst.dtype)) and src.dtype is not dst.dtype and kinds not in BRAIN_ENDS:
        raise site.fail(f"does not convert {src.dtype.mlir} to {dst.dtype.mlir}")
    sizes, (dst_strides, src_strides) = coalesce(dst.sizes, [dst.strides, src.strides])
    same = dst.dtype is src.dtype
    read = reader(site, src, sizes, src_strides, raw=same)
    out = writer(site, dst, sizes, dst_strides, raw=same)
    target, commit = out.target, out.commit
    if dst.dtype is DType.F16 and not same:
        store = half_store(site, out, sizes)
        if src.dtype is DType.F32:
            return lambda counters: store(read(counters), counters)
        values = site.core.scratch(0, sizes)

        def to_half(counters: Counters) -> None:
            np.copyto(values, read(counters), casting="unsafe")
            store(values, counters)

        return to_half
    window = accumulator_window(site, src) if same else None
    if window is not None:
        # The Cube's result leaves L0C: straight from the matrix, without unpacking it first.
        read, target = window, writer(site, dst, raw=True).target
    clash = may_clash(site, sizes, (dst_strides, src_strides))
    limits = limits_of(dst.dtype) if not same and dst.dtype in INTEGERS else None

    def convert(counters: Counters) -> None:
        values = read(counters)
        if limits is not None:
            values = to_integer(values, limits, rounding)
        if clash:
            values = values.copy()
        np.copyto(target(counters), values, casting="unsafe")
        if commit is not None:
            commit()

    return convert


def limits_of(dtype: DType) -> tuple[int, int]:
    info = np.iinfo(dtype.numpy)
    return int(info.min), int(info.max)


def to_integer(values: Array, limits: tuple[int, int], rounding: Any) -> Array:
    """Rounded and held inside `limits`, in a type that the destination's cast keeps."""
    low, high = limits
    if values.dtype.kind != "f":
        info = np.iinfo(values.dtype) if values.dtype.kind != "b" else np.iinfo(np.uint8)
        return np.clip(values, max(low, int(info.min)), min(high, int(info.max)))
    exact = rounding(values.astype(np.float64))
    result = np.clip(np.nan_to_num(exact, nan=0.0, posinf=np.inf, neginf=-np.inf), low, float(high))
    if high >= 1 << 53:
        # float(high) is one too large for 64-bit integers: saturate after the cast.
        top = result >= float(high)
        whole = np.where(top, 0, result).astype(np.uint64 if low == 0 else np.int64)
        whole[top] = high
        return whole
    return result
