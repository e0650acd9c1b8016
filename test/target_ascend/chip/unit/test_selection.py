"""Comparison, selection, look-up and registers on the functional chip: against numpy, with time and checking mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from models.kernel_builder import KernelBuilder, slot

from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.chip.checker import Checker
from graph_engine.target_ascend.chip.functional import FunctionalEngine
from graph_engine.target_ascend.chip.memory import GlobalMemory
from graph_engine.target_ascend.chip.timing import TimingEngine
from graph_engine.target_ascend.isa.encoding import decode_kernel, encode_kernel
from graph_engine.target_ascend.isa.model import FIRST_REGISTER, PREDICATES, DType, Kernel, Opcode, Pipe, Space
from graph_engine.target_ascend.om.program import Launch, Location, Segment
from graph_engine.target_ascend.soc.soc import load_soc

SOC = load_soc("Ascend310P3")
MODES = pytest.mark.parametrize("real_bytes", [False, True], ids=["typed", "bytes"])
RNG = np.random.default_rng(5)
OF = {np.dtype(d.numpy): d for d in DType if d is not DType.BF16}


def run(kernel: Kernel, inputs: list[Any], size: int, *, real_bytes: bool = False, check: bool = True) -> Any:
    """The bytes of the output; without findings, if checked."""
    gm = GlobalMemory(real_bytes=real_bytes)
    for i, array in enumerate(inputs):
        gm.add(Segment.INPUT, i, array)
    gm.add(Segment.OUTPUT, 0, size)
    checker = Checker(SOC, gm) if check else None
    args = (*(Location(Segment.INPUT, i, 0) for i in range(len(inputs))), Location(Segment.OUTPUT, 0, 0))
    FunctionalEngine(SOC, gm, real_bytes=real_bytes, checker=checker).launch(kernel, args)
    assert checker is None or not checker.findings, checker.findings
    return gm.read(args[-1], size)


def one_instruction(opcode: Opcode, arrays: list[Any], out: DType, sizes: tuple[int, ...], **fields: Any) -> Kernel:
    """Arrays to UB, the instruction, the result back."""
    b = KernelBuilder()
    args = [b.arg(a.nbytes) for a in arrays]
    target = b.arg(int(np.prod(sizes)) * out.bytes, "w")
    views = [b.view(b.alloc(Space.UB, a.nbytes), a.shape, OF[a.dtype]) for a in arrays]
    for arg, array, view in zip(args, arrays, views, strict=True):
        b.copy(view, b.view(arg, array.shape, view.dtype))
    b.sync(Pipe.MTE2, Pipe.V)
    result = b.view(b.alloc(Space.UB, int(np.prod(sizes)) * out.bytes), sizes, out)
    b.emit(opcode, result, *views, **fields)
    b.sync(Pipe.V, Pipe.MTE3)
    b.copy(b.view(target, sizes, out), result)
    return b.build()


@MODES
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int16])
@pytest.mark.parametrize("predicate", PREDICATES)
def test_compare(predicate: str, dtype: Any, real_bytes: bool) -> None:
    a, b = (RNG.integers(-2, 3, (3, 21)).astype(dtype) for _ in range(2))
    if np.dtype(dtype).kind == "f":
        a[0, :3], b[0, 2:5] = np.nan, np.nan
    kernel = one_instruction(Opcode.VCMP, [a, b], DType.BOOL, a.shape, params=(PREDICATES.index(predicate),))
    got = run(kernel, [a, b], a.size, real_bytes=real_bytes).view(bool).reshape(a.shape)
    function = {
        "eq": "equal",
        "ne": "not_equal",
        "lt": "less",
        "le": "less_equal",
        "gt": "greater",
        "ge": "greater_equal",
    }
    np.testing.assert_array_equal(got, getattr(np, function[predicate])(a, b))


@MODES
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int32])
def test_select_keeps_bits(dtype: Any, real_bytes: bool) -> None:
    a, b = (RNG.normal(size=(2, 40)).astype(dtype) for _ in range(2))
    mask = RNG.integers(0, 2, a.shape).astype(bool)
    kernel = one_instruction(Opcode.VSEL, [mask, a, b], OF[a.dtype], a.shape)
    got = run(kernel, [mask, a, b], a.nbytes, real_bytes=real_bytes).view(dtype).reshape(a.shape)
    np.testing.assert_array_equal(got, np.where(mask, a, b))


@MODES
@pytest.mark.parametrize(
    ("opcode", "function"), [(Opcode.VCONVF, np.floor), (Opcode.VCONVC, np.ceil), (Opcode.VCONVZ, np.trunc)]
)
def test_rounding_to_integers(opcode: Opcode, function: Any, real_bytes: bool) -> None:
    x = np.array([-2.5, -0.5, -0.0, 0.5, 1.5, 2.0, 3e9, -3e9, np.nan], np.float32)
    want = np.clip(np.nan_to_num(function(x.astype(np.float64)), nan=0.0), -(2.0**31), 2.0**31 - 1).astype(np.int32)
    kernel = one_instruction(opcode, [x], DType.I32, x.shape)
    np.testing.assert_array_equal(run(kernel, [x], want.nbytes, real_bytes=real_bytes).view(np.int32), want)
    with pytest.raises(GraphEngineError, match="floats to integers"):
        run(one_instruction(opcode, [want], DType.F32, want.shape), [want], x.nbytes)


@MODES
def test_gather(real_bytes: bool) -> None:
    table = RNG.normal(size=(4, 8)).astype(np.float16)
    places = RNG.integers(0, table.size, (3, 20)).astype(np.int32)
    kernel = one_instruction(Opcode.VGATHER, [table, places], DType.F16, places.shape)
    got = run(kernel, [table, places], places.size * 2, real_bytes=real_bytes).view(np.float16).reshape(places.shape)
    np.testing.assert_array_equal(got, table.reshape(-1)[places])
    places[1, 2] = table.size
    with pytest.raises(GraphEngineError, match="index 32 is outside 32 entries"):
        run(kernel, [table, places], places.size * 2)


def rows_kernel(entries: int, row: int, count: int, *, loaded: bool = True, sync: bool = True) -> Kernel:
    """y[i] = x[index[i]]: rows of fp16 by a loop of load_scalar and copy."""
    b = KernelBuilder()
    x, index = b.arg(entries * row * 2), b.arg(count * 4)
    y = b.arg(count * row * 2, "w")
    places, out = b.alloc(Space.UB, count * 4), b.alloc(Space.UB, row * 2)
    if loaded:
        b.copy(b.view(places, (count,), DType.I32), b.view(index, (count,), DType.I32))
    if sync:
        b.sync(Pipe.MTE2, Pipe.S)
    with b.loop(count):
        b.emit(
            Opcode.LOAD_SCALAR, b.view(places, (1,), DType.I32, slot(1)), params=(FIRST_REGISTER, entries), pipe=Pipe.S
        )
        b.copy(b.view(out, (row,)), b.view(x, (row,), offset=slot(FIRST_REGISTER, row)))
        b.sync(Pipe.MTE2, Pipe.MTE3)
        b.copy(b.view(y, (row,), offset=slot(1, row)), b.view(out, (row,)))
        b.sync(Pipe.MTE3, Pipe.MTE2)
    return b.build()


@MODES
def test_rows_by_index(real_bytes: bool) -> None:
    x = RNG.normal(size=(7, 48)).astype(np.float16)
    index = np.array([3, -1, 0, 6, -7, 3], np.int32)
    kernel = rows_kernel(7, 48, len(index))
    assert decode_kernel(encode_kernel(kernel)) == kernel
    got = run(kernel, [x, index], len(index) * 96, real_bytes=real_bytes).view(np.float16).reshape(-1, 48)
    np.testing.assert_array_equal(got, x[index])


@pytest.mark.parametrize("wrong", [7, -8])
def test_an_index_outside_its_axis_is_an_error(wrong: int) -> None:
    x, index = np.zeros((7, 48), np.float16), np.array([0, wrong], np.int32)
    with pytest.raises(GraphEngineError, match="is outside 7 entries"):
        run(rows_kernel(7, 48, 2), [x, index], 192)


@pytest.mark.parametrize(
    ("fields", "kind", "text"),
    [
        ({"sync": False}, "pipe-race", "reads byte 0 of UB on S"),
        ({"loaded": False, "sync": False}, "invalid-lane", "takes an address from bytes that hold nothing valid"),
    ],
)
def test_checking_mode_watches_registers(fields: Any, kind: str, text: str) -> None:
    gm = GlobalMemory()
    x, index = np.zeros((7, 48), np.float16), np.array([1, 2], np.int32)
    gm.add(Segment.INPUT, 0, x)
    gm.add(Segment.INPUT, 1, index)
    gm.add(Segment.OUTPUT, 0, 192)
    checker = Checker(SOC, gm)
    args = (Location(Segment.INPUT, 0, 0), Location(Segment.INPUT, 1, 0), Location(Segment.OUTPUT, 0, 0))
    try:
        FunctionalEngine(SOC, gm, checker=checker).launch(rows_kernel(7, 48, 2, **fields), args)
    except GraphEngineError:
        assert not fields.get("loaded", True)  # what is not loaded names no entry
    assert any(f.kind == kind and text in f.message for f in checker.findings), checker.findings


def test_time_of_an_indirect_row() -> None:
    """Each row is a miss: 800 cycles and its lines; the index costs S the latency of UB."""
    row, count = 768, 5
    launch = Launch(
        "k",
        "Gather",
        "k",
        1,
        (Location(Segment.INPUT, 0, 0), Location(Segment.INPUT, 1, 0), Location(Segment.OUTPUT, 0, 0)),
    )
    times = [TimingEngine(SOC).launch(launch, rows_kernel(100, row, n)) for n in (count, count + 1)]
    lines = -(-row * 2 // 512)
    assert times[1].ddr_bytes_read - times[0].ddr_bytes_read == lines * 512
    read, written = 800 + -(-lines * 512 // SOC.path("gm", "ub", "ddr").bytes_per_cycle), 50 + -(-row * 2 // 114)
    # One more row: S reads the index, the loader waits for the last store, flags cost a cycle each.
    difference = times[1].kernel_cycles - times[0].kernel_cycles
    assert read + written <= difference <= read + written + 24 + 8
