"""FixPipe's way from sums in i32 to 8 bits, against whole numbers and fractions counted by hand, and its time."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from harness.instruction_types import instructions
from hypothesis import given, settings
from hypothesis import strategies as st
from models.kernel_builder import KernelBuilder

from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.chip.costs import instruction_cycles
from graph_engine.target_ascend.chip.functional import FunctionalEngine
from graph_engine.target_ascend.chip.memory import GlobalMemory
from graph_engine.target_ascend.isa.encoding import decode_kernel, encode_kernel
from graph_engine.target_ascend.isa.model import Affine, DType, Kernel, Opcode, Pipe, Space
from graph_engine.target_ascend.om.program import Location, Segment
from graph_engine.target_ascend.soc.soc import load_soc

Array = np.ndarray[Any, Any]
N, M = 32, 16


def way_out(dtype: DType, activation: int, pipe: Pipe = Pipe.FIX) -> Kernel:
    """Sums that are a bias in i32, all 16 rows alike, as 8 bits in one block of 32 channels."""
    b = KernelBuilder()
    args = [b.arg(512), b.arg(1024), b.arg(4 * N), b.arg(8 * N), b.arg(M * N, "w")]
    l1 = [b.alloc(Space.L1, size) for size in (512, 1024, 4 * N, 8 * N)]
    l0a, l0b, l0c = b.alloc(Space.L0A, 512), b.alloc(Space.L0B, 1024), b.alloc(Space.L0C, M * N * 4)
    bt, fb = b.alloc(Space.BT, 4 * N), b.alloc(Space.FB, 8 * N)
    left, right, rows = (1, 1, 16, 32), (1, 2, 16, 32), (2, 16)
    views = ((left, DType.I8), (right, DType.I8), (rows, DType.I32), (rows, DType.U64))
    for source, target, (sizes, element) in zip(args, l1, views, strict=False):
        b.copy(b.view(target, sizes, element), b.view(source, sizes, element))
    b.copy(b.view(bt, rows, DType.I32), b.view(l1[2], rows, DType.I32))
    b.copy(b.view(fb, rows, DType.U64), b.view(l1[3], rows, DType.U64))
    b.emit(Opcode.LOAD2D, b.view(l0a, left, DType.I8), b.view(l1[0], left, DType.I8), pipe=Pipe.MTE1, params=[0])
    b.emit(Opcode.LOAD2D, b.view(l0b, right, DType.I8), b.view(l1[1], right, DType.I8), pipe=Pipe.MTE1, params=[0])
    product = [b.view(l0c, (2, 1, 16, 16), DType.I32), b.view(l0a, left, DType.I8), b.view(l0b, right, DType.I8)]
    b.emit(Opcode.MMAD_BIAS, *product, b.view(bt, rows, DType.I32), pipe=Pipe.M, params=[16, 32, 32])
    sizes = (M, 2, 16)
    sums = b.view(l0c, sizes, DType.I32, strides=(16, 256, 1))
    words = b.view(fb, sizes, DType.U64, strides=(0, 16, 1))
    b.emit(Opcode.REQUANTISE, b.view(args[4], sizes, dtype), sums, words, pipe=pipe, params=[activation])
    return b.build()


def run(kernel: Kernel, sums: Array, words: Array, dtype: DType, soc: str = "Ascend910B3") -> Array:
    gm = GlobalMemory()
    for i, array in enumerate((np.zeros(512, np.int8), np.zeros(1024, np.int8), sums, words)):
        gm.add(Segment.INPUT, i, array)
    gm.add(Segment.OUTPUT, 0, M * N)
    args = [*(Location(Segment.INPUT, i, 0) for i in range(4)), Location(Segment.OUTPUT, 0, 0)]
    FunctionalEngine(load_soc(soc), gm).launch(kernel, tuple(args))
    found = gm.read(Location(Segment.OUTPUT, 0, 0), M * N).view(dtype.numpy).reshape(M, N)
    assert (found == found[0]).all()
    return found[0]


def word(factor: float, offset: int, signed: bool) -> int:
    low = int(np.float32(factor).view(np.uint32))
    return int(f"{int(signed)}{offset & 511:09b}00000{low:032b}", 2)


def meant(total: int, factor: float, offset: int, dtype: DType, relu: bool) -> int:
    """In fractions: the factor's upper 19 bits, one rounding to even, then the offset."""
    kept = (np.float32(factor).view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    scaled = round(Fraction(total) * Fraction(float(kept)))
    limits = np.iinfo(dtype.numpy)
    return min(max((max(scaled, 0) if relu else scaled) + offset, limits.min), limits.max)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.data(), st.sampled_from([DType.I8, DType.U8]), st.booleans())
def test_every_sum_by_fractions(data: st.DataObject, dtype: DType, relu: bool) -> None:
    """Sums of all sizes, halves among the products; factors with and without digits that do not count."""
    exponents = data.draw(st.lists(st.integers(-20, 2), min_size=N, max_size=N))
    mantissas = data.draw(st.lists(st.sampled_from([1.0, 1.5, 1.0009765625, 1.99999, 1.3333]), min_size=N, max_size=N))
    totals = data.draw(st.lists(st.integers(-(2**31), 2**31 - 1) | st.integers(-300, 300), min_size=N, max_size=N))
    offset = data.draw(st.integers(-128, 127) if dtype is DType.I8 else st.integers(0, 255))
    factors = [m * 2.0**e for m, e in zip(mantissas, exponents, strict=True)]
    words = np.array([word(factor, offset, dtype is DType.I8) for factor in factors], np.uint64)
    found = run(way_out(dtype, int(relu)), np.array(totals, np.int32), words, dtype)
    wanted = [meant(t, f, offset, dtype, relu) for t, f in zip(totals, factors, strict=True)]
    assert found.tolist() == wanted


def test_ties_go_to_even() -> None:
    sums = np.array([-5, -3, -1, 1, 3, 5, 7, 500] * 4, np.int32)
    words = np.full(N, word(0.5, 0, True), np.uint64)
    assert run(way_out(DType.I8, 0), sums, words, DType.I8)[:8].tolist() == [-2, -2, 0, 0, 2, 2, 4, 127]


def test_times_by_hand() -> None:
    """910B3: 512 bytes to L2: 50 + ceil(512 / 42) = 63 cycles; 32 words to FB: 20 + 256 / 32 = 28."""
    kernel, soc = way_out(DType.I8, 0), load_soc("Ascend910B3")
    cycles = {
        (i.opcode, kernel.buffers[i.operands[0].buffer].space): instruction_cycles(soc, kernel.buffers, i)
        for i in instructions(kernel)
    }
    assert cycles[Opcode.REQUANTISE, Space.GM] == 63
    assert cycles[Opcode.COPY, Space.FB] == 28


def test_it_survives_encoding_and_text() -> None:
    from graph_engine.lowering.decode_kernel import decode_kernel as to_operator
    from graph_engine.lowering.encode_kernel import encode_kernel as to_kernel

    kernel = way_out(DType.U8, 1)
    assert decode_kernel(encode_kernel(kernel)) == kernel
    operator = to_operator(kernel)
    operator.verify()
    *_, last = instructions(to_kernel(operator))
    assert (last.opcode, last.pipe, last.params) == (Opcode.REQUANTISE, Pipe.FIX, (Affine(1),))


def test_what_is_refused() -> None:
    sums, words = np.zeros(N, np.int32), np.full(N, word(1.0, 0, signed=False), np.uint64)
    with pytest.raises(GraphEngineError, match="words for numbers of the other sign"):
        run(way_out(DType.I8, 0), sums, words, DType.I8)
    with pytest.raises(GraphEngineError, match="has no activation 3"):
        run(way_out(DType.I8, 3), sums, words, DType.I8)
    with pytest.raises(GraphEngineError, match="this chip has no"):
        run(way_out(DType.I8, 0), sums, words, DType.I8, "Ascend310P3")
