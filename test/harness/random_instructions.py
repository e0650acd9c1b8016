"""Random instructions on views of one small window of every memory, for tests that compare engines.

The same bytes are written at one type and read at another, partly overlapped, at odd places, in place.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st
from models.kernel_builder import F16, F32, KernelBuilder

from graph_engine.target_ascend.isa.model import DType, Opcode, Operand, Pipe, Space
from graph_engine.target_ascend.isa.specs import SPECS
from graph_engine.target_ascend.soc.soc import load_soc

WINDOW = 4096
SPACES = (Space.GM, Space.L1, Space.L0A, Space.L0B, Space.L0C, Space.UB)
# Memories of one window each: quick to set up, and nothing lies outside what is compared.
SOC = replace(load_soc("Ascend310P3"), buffers={space.name.lower(): WINDOW for space in SPACES[1:]})

BINARY = [op for op, spec in SPECS.items() if spec.group == "binary"]
SCALAR = [op for op, spec in SPECS.items() if spec.group == "scalar"]
UNARY = [op for op, spec in SPECS.items() if spec.group == "unary"]
REDUCE = [op for op, spec in SPECS.items() if spec.group == "reduce"]
FLOAT_ONLY = {
    Opcode.VDIV,
    Opcode.VLRELU,
    Opcode.VEXP,
    Opcode.VLN,
    Opcode.VSQRT,
    Opcode.VRSQRT,
    Opcode.VREC,
    Opcode.VCADD,
}
INTEGER_ONLY = {Opcode.VAND, Opcode.VOR}
INTEGERS = [DType.I8, DType.U8, DType.I16, DType.I32]


@st.composite
def operand(
    draw: Any, builder: KernelBuilder, sizes: tuple[int, ...], dtype: DType, space: Any = None, source: bool = True
) -> Operand:
    """A view of that shape somewhere in a window: dense, with gaps, or (sources) with repeated elements."""
    buffer = SPACES.index(draw(st.sampled_from(SPACES)) if space is None else space)
    strides = [0] * len(sizes)
    step = draw(st.sampled_from([1, 1, 1, 2, 3]))
    for axis in reversed(range(len(sizes))):
        strides[axis] = step
        step = step * sizes[axis] + draw(st.sampled_from([0, 0, 0, 1, 16]))
    if source and draw(st.integers(0, 4)) == 0:
        strides[draw(st.integers(0, len(sizes) - 1))] = 0
    span = sum((n - 1) * s for n, s in zip(sizes, strides, strict=True)) + 1
    room = WINDOW // dtype.bytes - span
    if room < 0:
        return builder.view(buffer, sizes, dtype, draw(st.integers(0, WINDOW // dtype.bytes - int(np.prod(sizes)))))
    offset = draw(st.integers(0, room))
    if draw(st.booleans()):
        offset -= offset % 16
    return builder.view(buffer, sizes, dtype, offset, strides)


@st.composite
def instruction(draw: Any, b: KernelBuilder) -> None:
    """Appends one random instruction."""
    kind = draw(
        st.sampled_from(
            ["copy", "convert", "binary", "scalar", "unary", "reduce", "dup", "transpose", "load", "mmad", "drain"]
        )
    )
    sizes = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=2))) + (draw(st.sampled_from([1, 8, 16, 17])),)
    dtype = draw(st.sampled_from([F16, F16, F16, F32, *INTEGERS]))
    immediate = draw(st.sampled_from([0.0, 1.0, -2.5, 0.1, 1e5, 6e-8]))

    def pick(s: tuple[int, ...], d: DType, space: Any = None, source: bool = True) -> Operand:
        return draw(operand(b, s, d, space, source))

    if kind == "copy":
        b.emit(Opcode.COPY, pick(sizes, dtype, None, False), pick(sizes, dtype), pipe=Pipe.V)
    elif kind == "convert":
        b.emit(Opcode.VCONV, pick(sizes, draw(st.sampled_from([F16, F32, *INTEGERS])), None, False), pick(sizes, dtype))
    elif kind == "dup":
        b.emit(Opcode.VDUP, pick(sizes, F16 if dtype in INTEGERS else dtype, None, False), immediate=immediate)
    elif kind == "reduce":
        opcode = draw(st.sampled_from(REDUCE))
        dtype = F16 if opcode in FLOAT_ONLY and dtype in INTEGERS else dtype
        b.emit(opcode, pick((*sizes[:-1], 1), dtype, None, False), pick(sizes, dtype))
    elif kind in ("binary", "scalar", "unary"):
        opcode = draw(st.sampled_from({"binary": BINARY, "scalar": SCALAR, "unary": UNARY}[kind]))
        if opcode in INTEGER_ONLY and dtype not in INTEGERS:
            dtype = DType.I16
        if dtype in INTEGERS:
            immediate = 1.0
            dtype = F16 if opcode in FLOAT_ONLY else dtype
        operands = [pick(sizes, dtype, None, i > 0) for i in range(SPECS[opcode].operands)]
        if draw(st.booleans()) and 0 not in operands[-1].strides:
            operands[0] = operands[-1]
        b.emit(opcode, *operands, immediate=immediate)
    elif kind == "transpose":
        b.emit(Opcode.VTRANS, pick((2, 16, 32), F16, None, False), pick((2, 32, 16), F16))
    elif kind == "load":
        space = draw(st.sampled_from([Space.L0A, Space.L0B]))
        m, k = draw(st.sampled_from([(1, 1), (1, 2), (2, 1), (2, 2)]))
        offset = draw(st.sampled_from([0, 256, 512]))
        target = b.view(SPACES.index(space), (m, k, 16, 16), F16, offset)
        if draw(st.booleans()):
            b.emit(Opcode.LOAD2D, target, pick((m, k, 16, 16), F16), params=(draw(st.integers(0, 1)),), pipe=Pipe.MTE1)
        else:
            kernel, pad, start = draw(st.sampled_from([(1, 0), (3, 1), (2, 0)])), 0, draw(st.sampled_from([0, 7]))
            (taps, pad), block = kernel, draw(st.integers(0, taps_of(kernel[0]) - k))
            out = 6 + 2 * pad - taps + 1
            params = (5, 6, taps, taps, 1, 1, 1, 1, pad, pad, out, start, block)
            b.emit(Opcode.LOAD3D, target, pick((2, 5, 6, 16), F16), params=params, pipe=Pipe.MTE1)
    elif kind == "drain":
        # A window of an accumulator, as a kernel takes it out of L0C (and some that do not fit one).
        height, columns, rows = (
            draw(st.sampled_from([16, 32])),
            draw(st.integers(1, 2)),
            draw(st.sampled_from([1, 7, 16])),
        )
        offset = draw(st.sampled_from([0, 16, 48, 256, 264] if columns * height < 64 else [0, 16]))
        source = b.view(4, (columns, rows, 16), F32, offset, (height * 16, 16, 1))
        b.emit(Opcode.VCONV, pick((columns, rows, 16), draw(st.sampled_from([F16, F32])), None, False), source)
    else:
        m, k, n = draw(st.sampled_from([(1, 1, 1), (2, 1, 1), (1, 2, 1), (2, 2, 1), (1, 1, 2)]))
        left = b.view(2, (m, k, 16, 16), F16, draw(st.sampled_from([0, 256, 512])))
        right = b.view(3, (k, n, 16, 16), F16, draw(st.sampled_from([0, 256, 512])))
        target = b.view(4, (n, m, 16, 16), F32, draw(st.sampled_from([0, 256])))
        b.emit(
            Opcode.MMAD,
            target,
            left,
            right,
            params=(m * 16, k * 16, n * 16),
            first_of=draw(st.sampled_from([(), None])),
        )


def taps_of(kernel: int) -> int:
    """Column blocks of a window over two channel blocks."""
    return 2 * kernel * kernel


def contents(seed: int, wild: bool) -> list[Any]:
    """Random fp16 numbers for every memory, or bytes of any kind (NaN, infinities, subnormals)."""
    rng = np.random.default_rng(seed)
    if wild:
        return [rng.integers(0, 256, WINDOW, dtype=np.uint8) for _ in SPACES]
    return [rng.normal(size=WINDOW // 2).astype(np.float16).view(np.uint8) for _ in SPACES]
