"""Products of fp32 by hand-written kernels: fractals of 16 x 8, squares of 8 x 8 that turn, channels split on the way out."""

from __future__ import annotations

from itertools import product as every

import numpy as np
import pytest
from models.kernel_builder import F32, KernelBuilder

from graph_engine.target_ascend.chip.costs import mmad_cycles
from graph_engine.target_ascend.chip.functional import FunctionalEngine
from graph_engine.target_ascend.chip.memory import GlobalMemory
from graph_engine.target_ascend.isa.model import Kernel, Opcode, Pipe, Space
from graph_engine.target_ascend.om.program import Location, Segment
from graph_engine.target_ascend.soc.soc import load_soc

M, K, N = 32, 48, 32
RNG = np.random.default_rng(4)
A = RNG.normal(size=(M, K)).astype(np.float32)
B = RNG.normal(size=(K, N)).astype(np.float32)


def multiplication(*, turned: bool) -> Kernel:
    """A x B: B comes to L1 in blocks of 8 columns, as (N / 8, K, 8), and turns to (K / 8, N / 16, 16 n, 8 k) if `turned`; or comes
    turned already. The result leaves as (N / 8, M, 8)."""
    b = KernelBuilder()
    args = [b.arg(A.nbytes), b.arg(B.nbytes), b.arg(M * N * 4, "w")]
    l1 = [b.alloc(Space.L1, A.nbytes), b.alloc(Space.L1, B.nbytes)]
    l0a, l0b, l0c = b.alloc(Space.L0A, A.nbytes), b.alloc(Space.L0B, B.nbytes), b.alloc(Space.L0C, M * N * 4)
    left, right = (M // 16, K // 8, 16, 8), (K // 8, N // 16, 16, 8)
    b.copy(b.view(l1[0], left, F32), b.view(args[0], left, F32, strides=(16 * K, 8, K, 1)))
    b.emit(Opcode.LOAD2D, b.view(l0a, left, F32), b.view(l1[0], left, F32), pipe=Pipe.MTE1, params=[0])
    if turned:
        blocks = (N // 8, K, 8)
        b.copy(b.view(l1[1], blocks, F32), b.view(args[1], blocks, F32, strides=(8, N, 1)))
        squares = (K // 8, N // 16, 2, 8, 8)
        taken = b.view(l1[1], squares, F32, strides=(64, 16 * K, 8 * K, 8, 1))
        b.emit(Opcode.LOAD2D, b.view(l0b, squares, F32), taken, pipe=Pipe.MTE1, params=[1])
    else:
        b.copy(b.view(l1[1], right, F32), b.view(args[1], right, F32, strides=(8 * N, 16, 1, N)))
        b.emit(Opcode.LOAD2D, b.view(l0b, right, F32), b.view(l1[1], right, F32), pipe=Pipe.MTE1, params=[0])
    sums = b.view(l0c, (N // 16, M // 16, 16, 16), F32)
    b.emit(Opcode.MMAD, sums, b.view(l0a, left, F32), b.view(l0b, right, F32), pipe=Pipe.M, params=[M, K, N])
    split = (N // 16, M, 2, 8)
    out = b.view(args[2], split, F32, strides=(16 * M, 8, 8 * M, 1))
    b.emit(
        Opcode.FIXPIPE,
        out,
        b.view(l0c, split, F32, strides=(16 * M, 16, 8, 1)),
        pipe=Pipe.FIX,
        params=[0],
        immediate=1.0,
    )
    return b.build()


@pytest.mark.parametrize(("turned", "real_bytes"), [*every((False, True), (False, True))])
def test_a_product(turned: bool, real_bytes: bool) -> None:
    """Off by the rounding of K products and K additions of fp32 at most."""
    gm = GlobalMemory(real_bytes=real_bytes)
    gm.add(Segment.INPUT, 0, A)
    gm.add(Segment.INPUT, 1, B)
    gm.add(Segment.OUTPUT, 0, M * N * 4)
    places = Location(Segment.INPUT, 0, 0), Location(Segment.INPUT, 1, 0), Location(Segment.OUTPUT, 0, 0)
    FunctionalEngine(load_soc("Ascend910B3"), gm, real_bytes=real_bytes).launch(multiplication(turned=turned), places)
    found = gm.read(places[2], M * N * 4).view(np.float32).reshape(N // 8, M, 8).transpose(1, 0, 2).reshape(M, N)
    wide = A.astype(float), B.astype(float)
    assert (abs(found - wide[0] @ wide[1]) <= (abs(wide[0]) @ abs(wide[1])) * 2.0**-24 * (K + 1)).all()


@pytest.mark.parametrize(("chip", "each"), [("Ascend910B3", 4), ("Ascend310B1", 4), ("Ascend950PR", 1)])
def test_k_a_cycle(chip: str, each: int) -> None:
    """16 x 64 x 32: two tiles beside each other, 64 / 4 or 64 / 1 of K, by hand."""
    soc = load_soc(chip)
    assert mmad_cycles(soc, 16, 64, 32, "f32") == soc.cube.fixed_cycles + 2 * (64 // each)
