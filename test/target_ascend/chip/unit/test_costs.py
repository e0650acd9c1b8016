"""Costs of single instructions against numbers counted by hand from the published formulas."""

from math import ceil
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models.hand_kernels import BUFFERS, L0A, L0C, L1, UB, X, affine, barrier, copy, kernel, mmad, vector, view

from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.chip.costs import (
    FORMULAS,
    check_pipe,
    collapse,
    cycles_of,
    gm_cycles,
    gm_path,
    instruction_cycles,
    microseconds,
    moved_bytes,
    task_overhead_cycles,
    vector_repeats,
)
from graph_engine.target_ascend.isa.model import DType, Instr, Opcode, Pipe, Space
from graph_engine.target_ascend.isa.specs import SPECS
from graph_engine.target_ascend.soc.soc import load_soc

SOC = load_soc("Ascend310P3")


def cycles(instr: Instr) -> int:
    return instruction_cycles(SOC, BUFFERS, instr)


def test_every_family_has_a_formula_and_a_source():
    assert {spec.group for spec in SPECS.values()} == set(FORMULAS)
    assert all(formula and source for formula, source in FORMULAS.values())


def test_one_mmad_is_one_tile_and_the_fixed_cycles():
    assert cycles(mmad(16, 16, 16)) == 6 + 1


@pytest.mark.parametrize(
    ("m", "k", "n", "tiles"), [(16, 256, 16, 16), (128, 256, 128, 1024), (1, 256, 128, 128), (17, 17, 17, 8)]
)
def test_mmad_counts_tiles(m: int, k: int, n: int, tiles: int):
    assert cycles(mmad(m, k, n)) == 6 + tiles


def test_int8_tiles_are_twice_as_deep():
    operands = (view(L0C, (1, 1, 16, 16), dtype=DType.I32), *(view(b, 1, dtype=DType.I8) for b in (L0A, L0A + 1)))
    instr = Instr(Opcode.MMAD, Pipe.M, operands, (affine(16), affine(64), affine(16)))
    assert cycles(instr) == 6 + 2


def test_the_cube_refuses_a_type_it_lacks():
    operands = tuple(view(b, 1, dtype=DType.F32) for b in (L0C, L0A, L0A + 1))
    with pytest.raises(GraphEngineError, match="takes no f32"):
        cycles(Instr(Opcode.MMAD, Pipe.M, operands, (affine(16), affine(16), affine(16))))


@pytest.mark.parametrize(
    ("opcode", "slope", "fixed"),
    [
        (Opcode.VADD, 2, 24),
        (Opcode.VMUL, 2, 25),
        (Opcode.VDIV, 4, 30),
        (Opcode.VRELU, 1, 23),
        (Opcode.VEXP, 2, 31),
        (Opcode.VADDS, 1, 31),
        (Opcode.VDUP, 1, 24),
        (Opcode.VCONV, 1, 27),
    ],
)
def test_vector_is_fixed_plus_slope_a_repeat(opcode: Opcode, slope: int, fixed: int):
    assert [cycles(vector(opcode, 128 * r)) for r in (1, 2, 100)] == [fixed + slope * r for r in (1, 2, 100)]
    assert cycles(vector(opcode, 129)) == fixed + slope * 2
    assert cycles(vector(opcode, 128, DType.F32)) == fixed + slope * 2


def added(shift: int, first: dict[str, int] | None = None, sizes: int | tuple[int, ...] = 8192, **other: Any) -> int:
    """Cycles of an addition whose second source begins `shift` fp16 elements behind the first; `first`: loop terms."""
    sources = view(UB, sizes, offset=affine(**first or {}), **other), view(UB, sizes, offset=affine(shift), **other)
    return cycles(Instr(Opcode.VADD, Pipe.V, (view(UB, sizes), *sources)))


def test_sources_half_the_bank_groups_apart_are_read_at_once():
    """64 repeats of an addition took 88.4 cycles on a 910B without and 154.2 with conflict, a ratio of 1.74."""
    clean, meeting = added(8192 + 128), added(8192)
    assert (clean, meeting) == (24 + 64 * 1, 24 + 64 * 2)
    assert meeting / clean == pytest.approx(154.2 / 88.4, rel=0.01)
    assert [added(8192 + step) for step in (16, 64, 112, 144, 256)] == [meeting] * 5  # some blocks meet
    assert [added(shift) for shift in (0, 128, -128, 128 + 256)] == [meeting, clean, clean, clean]


def test_what_moves_with_a_loop_meets_unless_it_moves_by_whole_turns():
    assert added(128, {"s1": 256}) == 24 + 64
    assert added(128, {"s1": 128}) == 24 + 128


def test_rows_with_gaps_meet_unless_they_are_whole_repeats():
    assert added(128, sizes=(64, 128), strides=(512, 1)) == 24 + 64
    assert added(128, sizes=(64, 64), strides=(512, 1)) == 24 + 2 * 32
    assert added(128, sizes=(64, 128), strides=(128, 0)) > 24 + 64


@pytest.mark.parametrize(
    ("sizes", "strides", "repeats"),
    [
        ((8, 16), (16, 1), 1),  # contiguous: 128 elements
        ((8, 16), (32, 1), 1),  # 8 blocks with a gap between them are one repeat
        ((9, 16), (32, 1), 2),
        ((5, 40), (64, 1), 3),  # 3 blocks a run: three times the five runs' first, second, third block
        ((2, 40), (64, 1), 2),  # or run by run
        ((5, 200), (256, 1), 10),
        ((16,), (2,), 2),  # every second element: one element a block
        ((4, 100, 16), (4096, 32, 1), 4 * 13),
    ],
)
def test_repeats_of_strided_views(sizes: tuple[int, ...], strides: tuple[int, ...], repeats: int):
    operand = view(UB, sizes, strides=strides)
    assert vector_repeats(SOC, (operand, operand)) == repeats


def test_a_bias_repeated_over_rows_keeps_full_repeats():
    rows = view(UB, (64, 16))
    bias = view(UB, (64, 16), strides=(0, 1))
    assert vector_repeats(SOC, (rows, rows, bias)) == 8
    wide = view(UB, (64, 16), dtype=DType.F32)
    wide_bias = view(UB, (64, 16), dtype=DType.F32, strides=(0, 1))
    assert vector_repeats(SOC, (wide, wide, wide_bias)) == 16
    per_row = view(UB, (64, 128), strides=(1, 0))
    assert vector_repeats(SOC, (view(UB, (64, 128)), view(UB, (64, 128)), per_row)) == 64


def test_conversion_counts_the_wider_type():
    instr = Instr(Opcode.VCONV, Pipe.V, (view(UB, 128), view(UB, 128, dtype=DType.F32)))
    assert cycles(instr) == 27 + 2


def test_leaving_l0c_is_a_move():
    instr = Instr(Opcode.VCONV, Pipe.V, (view(UB, 4096), view(L0C, 4096, dtype=DType.F32)))
    assert cycles(instr) == 26 + 4096 * 4 // 512


@pytest.mark.parametrize(("n", "expected"), [(128, 46 + 7), (129, (46 + 14) + (46 + 7)), (16384, (46 + 896) + 53)])
def test_reductions_go_by_levels(n: int, expected: int):
    instr = Instr(Opcode.VCADD, Pipe.V, (view(UB, (1, 1)), view(UB, (1, n))))
    assert cycles(instr) == expected


def test_transpose_counts_whole_blocks():
    def transpose(a: int, b: int) -> int:
        return cycles(Instr(Opcode.VTRANS, Pipe.V, (view(UB, (b, a)), view(UB, (a, b)))))

    assert transpose(16, 16) == 24 + 2
    assert transpose(16, 17) == transpose(16, 32) == 24 + 4


def test_on_chip_moves_are_latency_plus_bytes_over_rate():
    fractals = Instr(Opcode.LOAD2D, Pipe.MTE1, (view(L0A, (4, 16, 16)), view(L1, (4, 16, 16))), (affine(0),))
    assert cycles(fractals) == 28 + 4 * 512 // 512
    assert cycles(img2col((3, 3), 2)) == cycles(img2col((1, 1), 1)) == 50 + 64 * 512 // 512
    assert cycles(copy(view(L1, 1024), view(UB, 1024), Pipe.MTE3)) == 28 + 2048 // 256


@pytest.mark.parametrize(
    ("kernel", "stride_w", "rate"),
    [
        ((1, 1), 1, 256),
        ((1, 1), 2, 512 / 4),
        ((1, 1), 8, 512 / 16),
        ((1, 1), 63, 32),
        ((3, 3), 1, 512 / 4),
        ((1, 3), 2, 512 / 6),
        ((3, 1), 4, 512 / 10),
        ((2, 2), 16, 32),
    ],
)
def test_img2col_slows_with_window_and_stride_as_published(kernel: tuple[int, int], stride_w: int, rate: float):
    soc = load_soc("Ascend910B3")
    assert instruction_cycles(soc, BUFFERS, img2col(kernel, stride_w)) == 50 + ceil(64 * 512 / rate - 1e-9)


def img2col(kernel: tuple[int, int], stride_w: int) -> Instr:
    """64 fractals by load3d."""
    geometry = (8, 1024, *kernel, 1, stride_w, 1, 1, 0, 0, 16, 0, 0)
    operands = view(L0A, (8, 8, 16, 16)), view(L1, (8, 8, 1024, 16))
    return Instr(Opcode.LOAD3D, Pipe.MTE1, operands, tuple(affine(value) for value in geometry))


def test_short_runs_move_whole_blocks():
    assert moved_bytes(view(X, 100)) == 224
    assert moved_bytes(view(X, (100, 3), strides=(64, 1))) == 3200
    assert moved_bytes(view(X, 100, strides=(2,))) == 3200
    assert moved_bytes(view(X, (4, 16, 8), strides=(1024, 8, 1))) == 4 * 256


def test_barriers():
    assert cycles(barrier()) == 1
    assert cycles(barrier(Pipe.V)) == 18
    assert cycles(barrier(Pipe.M)) == 1


def test_device_memory_moves():
    path = gm_path(SOC, Space.GM, Space.UB)
    assert gm_cycles(SOC, path, 11400, 0, 1, 1) == (50, 100)
    assert gm_cycles(SOC, path, 2100, 2100, 1, 1) == (800, 100)
    # eight blocks with their own bytes: each at 21 bytes a cycle
    assert gm_cycles(SOC, path, 2100, 8 * 2100, 8, 8) == (800, 100)
    # eight blocks with the same bytes: fetched once, then 114 bytes a cycle out of the L2
    assert gm_cycles(SOC, path, 11400, 11400, 8, 8) == (800, 100)


def test_time_units():
    assert task_overhead_cycles(SOC) == 2544  # 2.4 us at 1060 MHz
    assert microseconds(SOC, 1060) == 1.0
    assert cycles_of(SOC, 1.0) == 1060


def test_a_move_on_the_wrong_pipe_is_refused():
    with pytest.raises(GraphEngineError, match="GM -> UB runs on MTE2, not on MTE3"):
        check_pipe(kernel(), copy(view(UB, 16), view(X, 16), Pipe.MTE3))


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 6)), min_size=1, max_size=4))
def test_collapse_keeps_the_addresses(axes: list[tuple[int, int]]):
    sizes, strides = tuple(a for a, _ in axes), tuple(s for _, s in axes)

    def addresses(pairs: list[tuple[int, int]]) -> list[int]:
        result = [0]
        for size, stride in pairs:
            result = [a + i * stride for a in result for i in range(size)]
        return result

    joined = [(size, s[0]) for size, s in collapse(sizes, (strides,))]
    assert addresses(joined) == addresses(axes)
