"""FixPipe and the bias table against numpy, in both forms of memory, and their times by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.instruction_types import instructions
from models.kernel_builder import F16, F32, KernelBuilder

from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.chip.costs import instruction_cycles
from graph_engine.target_ascend.chip.functional import FunctionalEngine
from graph_engine.target_ascend.chip.memory import GlobalMemory
from graph_engine.target_ascend.isa.encoding import decode_kernel, encode_kernel
from graph_engine.target_ascend.isa.model import ACTIVATIONS, CoreKind, DType, Kernel, Opcode, Pipe, Space
from graph_engine.target_ascend.om.program import Location, Segment
from graph_engine.target_ascend.soc.soc import load_soc

M, K, N = 32, 48, 32
RNG = np.random.default_rng(3)
A = RNG.normal(size=(M, K)).astype(np.float16)
B = RNG.normal(size=(K, N)).astype(np.float16)
BIAS = RNG.normal(size=N).astype(np.float32) * 8
EXACT = A.astype(np.float64) @ B.astype(np.float64)


def product(
    dtype: DType, *, nd: bool, activation: int = 0, number: float = 1.0, bias: bool = True, pipe: Pipe = Pipe.FIX
) -> Kernel:
    """A x B (+ bias) out of L0C by FixPipe: as blocks of columns (NZ) or as a plain matrix."""
    b = KernelBuilder()
    args = [b.arg(A.nbytes), b.arg(B.nbytes), b.arg(BIAS.nbytes), b.arg(M * N * dtype.bytes, "w")]
    l1 = [b.alloc(Space.L1, A.nbytes), b.alloc(Space.L1, B.nbytes), b.alloc(Space.L1, BIAS.nbytes)]
    l0a, l0b = b.alloc(Space.L0A, A.nbytes), b.alloc(Space.L0B, B.nbytes)
    l0c, bt = b.alloc(Space.L0C, M * N * 4), b.alloc(Space.BT, BIAS.nbytes)
    m1, k1, n1 = M // 16, K // 16, N // 16
    sizes_a, sizes_b = (m1, k1, 16, 16), (k1, n1, 16, 16)
    # Plain matrices come to L1 in fractals: L0A (m1, k1, 16 m, 16 k), L0B (k1, n1, 16 n, 16 k).
    b.copy(b.view(l1[0], sizes_a), b.view(args[0], sizes_a, strides=(16 * K, 16, K, 1)))
    b.copy(b.view(l1[1], sizes_b), b.view(args[1], sizes_b, strides=(16 * N, 16, 1, N)))
    b.copy(b.view(l1[2], (n1, 16), F32), b.view(args[2], (n1, 16), F32))
    b.copy(b.view(bt, (n1, 16), F32), b.view(l1[2], (n1, 16), F32))
    b.emit(Opcode.LOAD2D, b.view(l0a, sizes_a), b.view(l1[0], sizes_a), pipe=Pipe.MTE1, params=[0])
    b.emit(Opcode.LOAD2D, b.view(l0b, sizes_b), b.view(l1[1], sizes_b), pipe=Pipe.MTE1, params=[0])
    sources = [b.view(l0a, sizes_a), b.view(l0b, sizes_b), *([b.view(bt, (n1, 16), F32)] if bias else [])]
    multiply = Opcode.MMAD_BIAS if bias else Opcode.MMAD
    b.emit(multiply, b.view(l0c, (n1, m1, 16, 16), F32), *sources, pipe=Pipe.M, params=[M, K, N])
    strides = (16, N, 1) if nd else (M * 16, 16, 1)
    out = b.view(args[3], (n1, M, 16), dtype, strides=strides)
    b.emit(Opcode.FIXPIPE, out, b.view(l0c, (n1, M, 16), F32), pipe=pipe, params=[activation], immediate=number)
    return b.build()


def run(kernel: Kernel, dtype: DType, real_bytes: bool) -> Any:
    gm = GlobalMemory(real_bytes=real_bytes)
    for i, array in enumerate((A, B, BIAS)):
        gm.add(Segment.INPUT, i, array)
    gm.add(Segment.OUTPUT, 0, M * N * dtype.bytes)
    args = [*(Location(Segment.INPUT, i, 0) for i in range(3)), Location(Segment.OUTPUT, 0, 0)]
    FunctionalEngine(load_soc("Ascend910B3"), gm, real_bytes=real_bytes).launch(kernel, tuple(args))
    return gm.read(Location(Segment.OUTPUT, 0, 0), M * N * dtype.bytes).view(dtype.numpy)


@pytest.mark.parametrize("real_bytes", [False, True], ids=["typed", "bytes"])
@pytest.mark.parametrize("nd", [False, True], ids=["nz", "nd"])
@pytest.mark.parametrize(
    ("dtype", "activation", "number"),
    [(F16, "none", 1.0), (F16, "relu", 1.0), (F32, "leaky_relu", 0.1), (F16, "clip", 6.0), (DType.I8, "none", 4.0)],
)
def test_products_leave_by_fixpipe(dtype: DType, activation: str, number: float, nd: bool, real_bytes: bool) -> None:
    found = run(product(dtype, nd=nd, activation=ACTIVATIONS.index(activation), number=number), dtype, real_bytes)
    found = found.reshape(M, N) if nd else found.reshape(N // 16, M, 16).transpose(1, 0, 2).reshape(M, N)
    exact = EXACT + BIAS
    meaning = {
        "none": exact * number,
        "relu": np.maximum(exact, 0),
        "leaky_relu": np.where(exact < 0, exact * number, exact),
        "clip": np.clip(exact, 0, number),
    }
    exact = meaning[activation]
    if dtype is DType.I8:
        assert np.abs(exact).max() > 127
        assert np.abs(found - np.clip(exact, -128, 127)).max() <= 0.5 + 1e-3
    else:
        np.testing.assert_allclose(found, exact, rtol=2**-11 if dtype is F16 else 1e-5, atol=1e-4)


def test_without_a_bias_sums_start_with_zero() -> None:
    found = run(product(F32, nd=True, bias=False), F32, False).reshape(M, N)
    np.testing.assert_allclose(found, EXACT, rtol=1e-5, atol=1e-5)


def test_fixpipe_survives_its_encoding() -> None:
    kernel = product(F16, nd=True, activation=1, number=0.5)
    assert decode_kernel(encode_kernel(kernel)) == kernel


def test_times_by_hand() -> None:
    """910B3: 32 x 32 fp16 in L2: 50 + ceil(2048 / 42) = 99 cycles; to BT 20 + 128 / 32 = 24."""
    kernel, soc = product(F16, nd=False), load_soc("Ascend910B3")
    cycles = {
        (i.opcode, kernel.buffers[i.operands[0].buffer].space): instruction_cycles(soc, kernel.buffers, i)
        for i in instructions(kernel)
    }
    assert cycles[Opcode.FIXPIPE, Space.GM] == 99
    assert cycles[Opcode.COPY, Space.BT] == 24
    assert cycles[Opcode.MMAD_BIAS, Space.L0C] == 6 + 2 * 3 * 2


def test_a_chip_without_the_way_refuses_it() -> None:
    kernel, soc = product(F16, nd=False), load_soc("Ascend310P3")
    fixpipe = [i for i in instructions(kernel) if i.opcode is Opcode.FIXPIPE]
    with pytest.raises(GraphEngineError, match="Ascend310P3 has no way l0c->gm"):
        instruction_cycles(soc, kernel.buffers, fixpipe[0])


@pytest.mark.parametrize("kind", [CoreKind.AI_CORE, CoreKind.CUBE_CORE, CoreKind.VECTOR_CORE])
def test_the_kind_of_core_survives_the_text(kind: CoreKind) -> None:
    """A kernel says which core it is for in the IR, and keeps it both ways."""
    from dataclasses import replace

    from graph_engine.lowering.decode_kernel import decode_kernel as to_operator
    from graph_engine.lowering.encode_kernel import encode_kernel as to_kernel

    kernel = replace(product(F16, nd=False), core_kind=kind)
    operator = to_operator(kernel)
    operator.verify()
    assert operator.core is kind
    assert to_kernel(operator).core_kind is kind
