"""Modelled memories: two planes, one content; segments; matrices held for the Cube."""

from __future__ import annotations

import numpy as np
import pytest
from models.kernel_builder import F16, F32, KernelBuilder, slot

from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.chip.blas import single_blas_thread
from graph_engine.target_ascend.chip.functional import FunctionalEngine
from graph_engine.target_ascend.chip.memory import POISON, GlobalMemory, Memory
from graph_engine.target_ascend.isa.model import DType, Opcode, Pipe, Space
from graph_engine.target_ascend.om.program import Location, Segment
from graph_engine.target_ascend.soc.soc import load_soc

IN, OUT = Location(Segment.INPUT, 0, 0), Location(Segment.OUTPUT, 0, 0)


def test_bytes_written_are_bytes_read() -> None:
    memory = Memory("m", 100)
    memory.write(7, np.arange(50, dtype=np.uint8))
    np.testing.assert_array_equal(memory.read(7, 50), np.arange(50))
    assert not memory.read(57, 43).any()
    for offset, count in ((-1, 4), (98, 4)):
        with pytest.raises(GraphEngineError, match="m: bytes .* are outside its 100 bytes"):
            memory.read(offset, count)


def test_lanes_follow_bytes_and_back() -> None:
    memory = Memory("m", 128)
    values = np.arange(64, dtype=np.float16) / 7
    memory.write(0, values)
    memory.sync_lanes(0, 4)
    np.testing.assert_array_equal(memory.lanes, values.astype(np.float32))
    memory.lanes[16:32] = 2.5
    memory.tags[1] = 1
    np.testing.assert_array_equal(memory.read(0, 128).view(np.float16)[16:32], np.full(16, 2.5))
    np.testing.assert_array_equal(memory.read(0, 32).view(np.float16), values[:16])


def test_poison_is_nan_in_every_float_and_no_small_integer() -> None:
    memory = Memory("m", 64)
    memory.poison()
    raw = memory.read(0, 64)
    assert np.isnan(raw.view(np.float16)).all()
    assert np.isnan(raw.view(np.float32)).all()
    assert (raw.view(np.int32) == POISON << 16 | POISON).all()


@pytest.mark.parametrize("dtype", [F16, DType.I16])
def test_segments_are_taken_in_place_and_frozen_ones_stay(dtype: DType) -> None:
    weights = np.arange(64, dtype=np.float16)
    weights.flags.writeable = False
    gm = GlobalMemory()
    memory = gm.add(Segment.INPUT, 0, weights)
    assert np.shares_memory(memory.data, weights)
    gm.add(Segment.OUTPUT, 0, 128)
    b = KernelBuilder("copy")
    x, y, u = b.arg(128), b.arg(128, "w"), b.alloc(Space.UB, 128)
    b.copy(b.view(u, (64,), dtype), b.view(x, (64,), dtype))
    b.copy(b.view(y, (64,), dtype), b.view(u, (64,), dtype))
    engine = FunctionalEngine(load_soc("Ascend310P3"), gm)
    engine.launch(b.build(), (IN, OUT))
    np.testing.assert_array_equal(gm.read(OUT, 128).view(np.float16), weights)
    with pytest.raises(GraphEngineError, match="writes input 0, which cannot be written"):
        engine.launch(b.build(), (OUT, IN))
    with pytest.raises(GraphEngineError, match="input 0 cannot be written"):
        gm.write(IN, np.zeros(4))


def test_unbound_segment_and_mixed_modes_are_refused() -> None:
    with pytest.raises(GraphEngineError, match="no output segment 0 is bound"):
        GlobalMemory().bind(OUT)
    with pytest.raises(GraphEngineError, match="differ in real_bytes"):
        FunctionalEngine(load_soc("Ascend310P3"), GlobalMemory(), real_bytes=True)


def test_alias_shares_one_memory() -> None:
    gm = GlobalMemory()
    gm.alias(Segment.OUTPUT, 0, gm.add(Segment.INPUT, 0, 64))
    gm.write(OUT, np.full(16, 3, np.float32))
    np.testing.assert_array_equal(gm.read(IN, 64).view(np.float32), np.full(16, 3))


@pytest.mark.parametrize("real_bytes", [False, True])
def test_matrices_of_the_cube_are_seen_as_fractals(real_bytes: bool) -> None:
    """Loads that cover, overlap and outlast each other, looked at through a copy that wants the lanes."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(8, 16, 16)).astype(np.float16)
    gm = GlobalMemory(real_bytes=real_bytes)
    gm.add(Segment.INPUT, 0, x)
    gm.add(Segment.OUTPUT, 0, x.nbytes)
    b = KernelBuilder("fractals")
    arg, out = b.arg(x.nbytes), b.arg(x.nbytes, "w")
    l1, l0 = b.alloc(Space.L1, x.nbytes), b.alloc(Space.L0B, x.nbytes)
    b.copy(b.view(l1, (2048,)), b.view(arg, (2048,)))

    def load(sizes: tuple[int, int], target: int, source: int) -> None:
        shape = (*sizes, 16, 16)
        b.emit(Opcode.LOAD2D, b.view(l0, shape, F16, target * 256), b.view(l1, shape, F16, source * 256), params=(0,))

    load((2, 2), 0, 0)
    load((2, 2), 4, 4)
    load((1, 2), 1, 5)
    load((1, 1), 4, 0)
    b.emit(Opcode.COPY, b.view(out, (2048,)), b.view(l0, (2048,)), pipe=Pipe.MTE1)
    FunctionalEngine(load_soc("Ascend310P3"), gm, real_bytes=real_bytes).launch(b.build(), (IN, OUT))
    got = gm.read(OUT, x.nbytes).view(np.float16).reshape(8, 16, 16)
    wanted = x.copy()
    wanted[1:3], wanted[4] = x[5:7], x[0]
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("real_bytes", [False, True])
def test_accumulator_survives_being_looked_at(real_bytes: bool) -> None:
    """mmad, read L0C, add to it: the sum goes on where it was."""
    rng = np.random.default_rng(6)
    a, w = rng.normal(size=(2, 16, 16)).astype(np.float16), rng.normal(size=(2, 16, 16)).astype(np.float16)
    gm = GlobalMemory(real_bytes=real_bytes)
    gm.add(Segment.INPUT, 0, a)
    gm.add(Segment.INPUT, 1, w)
    gm.add(Segment.OUTPUT, 0, 2048)
    b = KernelBuilder("sum")
    xa, wa, ya = b.arg(1024), b.arg(1024), b.arg(2048, "w")
    xl, wl, la, lb = (b.alloc(s, 1024) for s in (Space.L1, Space.L1, Space.L0A, Space.L0B))
    lc, ub = b.alloc(Space.L0C, 1024), b.alloc(Space.UB, 1024)
    b.copy(b.view(xl, (512,)), b.view(xa, (512,)))
    b.copy(b.view(wl, (512,)), b.view(wa, (512,)))
    one = (1, 1, 16, 16)
    with b.loop(2):
        b.emit(Opcode.LOAD2D, b.view(la, one), b.view(xl, one, offset=slot(1, 256)), params=(0,))
        b.emit(Opcode.LOAD2D, b.view(lb, one), b.view(wl, one, offset=slot(1, 256)), params=(0,))
        b.emit(Opcode.MMAD, b.view(lc, one, F32), b.view(la, one), b.view(lb, one), params=(16, 16, 16), first_of=(1,))
        b.emit(Opcode.VCONV, b.view(ub, (256,), F32), b.view(lc, (256,), F32))
        b.copy(b.view(ya, (256,), F32, offset=slot(1, 256)), b.view(ub, (256,), F32))
    FunctionalEngine(load_soc("Ascend310P3"), gm, real_bytes=real_bytes).launch(
        b.build(), (IN, Location(Segment.INPUT, 1, 0), OUT)
    )
    got = gm.read(OUT, 2048).view(np.float32).reshape(2, 16, 16)
    first, second = (a[i].astype(np.float64) @ w[i].astype(np.float64).T for i in range(2))
    np.testing.assert_allclose(got, [first, first + second], rtol=1e-5, atol=1e-5)


def test_products_run_on_one_thread_and_the_number_comes_back() -> None:
    from graph_engine.target_ascend.chip.blas import _thread_functions

    functions = _thread_functions()
    if functions is None:
        pytest.skip("numpy has another BLAS here")
    before = functions[0]()
    with single_blas_thread():
        assert functions[0]() == 1
    assert functions[0]() == before
