"""What a Cube core leaves in global memory for its Vector cores, and when it may be overwritten, in kernels of all tilings.

Two judges: the checker, which must stay silent, and orders of the cores and pipes that flags allow, which give the same bytes.
The ring goes wrong where loops in loops fill it an odd number of times, so small memories make many tiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness.kernels import compile_kernel, exchanged
from harness.mutation import tight_chip
from harness.schedules import SCHEDULES, Schedule, launch_in_order
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from graph_engine.dialects.ascend.affine import Expr, i64_attr
from graph_engine.dialects.ascend.kernel import KernelOp
from graph_engine.lowering.kernels.builder import Arg, KernelBuilder
from graph_engine.lowering.kernels.conv2d import build_conv2d
from graph_engine.lowering.kernels.conv_shape import ConvShape
from graph_engine.lowering.kernels.epilogue import Epilogue, EpilogueInput
from graph_engine.lowering.kernels.loops import allocs_by_slot
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.plain_matmul import PlainProduct, PlainSide, Rows, build_plain_matmul
from graph_engine.lowering.kernels.requantise import Requantise
from graph_engine.lowering.kernels.step import Step
from graph_engine.lowering.plan_onchip_buffers import plan_onchip_buffers
from graph_engine.target_ascend.chip.checker import Checker
from graph_engine.target_ascend.chip.functional import FunctionalEngine
from graph_engine.target_ascend.chip.memory import GlobalMemory
from graph_engine.target_ascend.isa.model import CoreKind, DType, Space
from graph_engine.target_ascend.om.program import Location, Segment
from graph_engine.target_ascend.soc.soc import Soc, load_soc
from graph_engine.transforms.pass_base import OperatorError

SPLIT = load_soc("Ascend910B3")
SILU = Epilogue((Step("ge.sigmoid", (0,)), Step("ge.mul", (0, 1))))
RESIDUAL = Epilogue((Step("ge.add", (0, 1)), Step("ge.relu", (2,))), (EpilogueInput("tile"),))
ERF = Epilogue((Step("ge.erf", (0,)), Step("ge.add", (0, 1)), Step("ge.mul", (0, 2)), Step("ge.tanh", (3,))))
EPILOGUES = {"silu": SILU, "residual": RESIDUAL, "erf": ERF}

Array = np.ndarray[Any, Any]


@pytest.fixture(scope="module")
def tight(tmp_path_factory: pytest.TempPathFactory) -> Soc:
    """A split chip with memories of a few kilobytes."""
    folder: Path = tmp_path_factory.mktemp("chips")
    return load_soc(tight_chip("Ascend910B3", folder))


def convolution(
    c1: int, h: int, w: int, n1: int, epilogue: Epilogue | Requantise, soc: Soc, kernel: int = 1, batch: int = 1
) -> KernelOp:
    """Of stride 1, its result as large as its input."""
    edge = kernel // 2
    pads = edge, edge, edge, edge
    dtype = DType.I8 if isinstance(epilogue, Requantise) else DType.F16
    shape = ConvShape(batch, 1, c1, h, w, n1, h, w, (kernel, kernel), (1, 1), (1, 1), pads, False, dtype)
    return build_conv2d("conv", shape, epilogue, soc)


def product(m: int, k: int, n: int, batch: int, epilogue: Epilogue, soc: Soc) -> KernelOp:
    """A batch of (m, k) by (k, n)."""
    left, right, result = (Rows((a * b,), b, batch * a * b) for a, b in ((m, k), (k, n), (m, n)))
    sides = PlainSide(left, k_rows=False), PlainSide(right, k_rows=True)
    return build_plain_matmul("product", PlainProduct(m, k, n, (batch,), *sides, result, DType.F16), epilogue, soc)


def check(written: KernelOp, soc: Soc) -> None:
    """Runs a kernel with the checker and in every order."""
    kernel = compile_kernel(written, soc)
    assert kernel.core_kind is CoreKind.MIXED
    rng = np.random.default_rng(5)
    arrays: list[Array] = []
    for ty in list(written.function_type.inputs)[: kernel.arg_access.index("w") + 1]:
        dtype = np.dtype(DType.from_mlir(str(ty.element_type)).numpy)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownArgumentType, reportUnknownMemberType]
        arrays.append(rng.integers(-3, 4, ty.get_shape()).astype(dtype))  # pyright: ignore[reportAttributeAccessIssue, reportUnknownArgumentType, reportUnknownMemberType]

    def launch(schedule: Schedule | None) -> bytes:
        gm = GlobalMemory()
        for number, array in enumerate(arrays):
            gm.add(Segment.INPUT, number, array.copy())
        places = [Location(Segment.INPUT, number, 0) for number in range(len(arrays))]
        args = (*places, *exchanged(kernel, gm))
        if schedule is not None:
            launch_in_order(FunctionalEngine(soc, gm), kernel, args, schedule)
        else:
            checker = Checker(soc, gm)
            FunctionalEngine(soc, gm, checker=checker).launch(kernel, args)
            assert not checker.findings, "\n".join(map(str, checker.findings[:3]))
        return gm.read(places[-1], arrays[-1].nbytes).tobytes()

    expected = launch(None)
    for schedule in (Schedule(), *SCHEDULES):
        assert launch(schedule) == expected, f"a race in {schedule}"


@pytest.mark.parametrize(
    ("c1", "h", "n1", "epilogue"),
    [(1, 56, 10, Requantise(0)), (1, 75, 4, SILU), (2, 75, 9, ERF)],
    ids=["8 bits, 24 to 144 channels", "16 to 64 channels", "24 to 144 channels"],
)
def test_an_odd_number_of_tiles_in_a_loop(c1: int, h: int, n1: int, epilogue: Epilogue | Requantise) -> None:
    """Full tiles in a loop and a tail behind them, all of it again for the next channels: expansions of MobileNetV2."""
    check(convolution(c1, h, h, n1, epilogue, SPLIT), SPLIT)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.data())
def test_convolutions_of_any_tiling(tight: Soc, data: st.DataObject) -> None:
    c1, n1, batch = (data.draw(st.integers(1, most), name) for name, most in (("c1", 3), ("n1", 5), ("batch", 2)))
    h, w = data.draw(st.integers(1, 22), "h"), data.draw(st.integers(1, 22), "w")
    epilogue = EPILOGUES[data.draw(st.sampled_from(sorted(EPILOGUES)), "epilogue")]
    try:
        kernel = convolution(c1, h, w, n1, epilogue, tight, data.draw(st.sampled_from([1, 3]), "kernel"), batch)
    except NoKernel:
        assume(False)
    else:
        check(kernel, tight)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.data())
def test_products_of_any_tiling(tight: Soc, data: st.DataObject) -> None:
    m, n = (data.draw(st.sampled_from([1, 17, 33, 80]) | st.integers(1, 80), name) for name in "mn")
    k, batch = data.draw(st.integers(1, 40), "k"), data.draw(st.integers(1, 5), "batch")
    kernel = product(m, k, n, batch, EPILOGUES[data.draw(st.sampled_from(sorted(EPILOGUES)), "epilogue")], tight)
    try:
        plan_onchip_buffers(kernel.clone(), tight)
    except OperatorError:  # no tiling has that little room
        assume(False)
    check(kernel, tight)


def ring(trips: Sequence[int], tails: Sequence[bool]) -> KernelOp:
    """Squares of fractals through a ring, in loops in each other; behind each loop there may be one more tile."""
    fractal, places = (1, 1, 16, 16), prod(trip + 1 for trip in trips)
    args = [Arg("x", (places, 256), DType.F16, "r"), Arg("y", (places, 256), DType.F32, "w")]
    kb = KernelBuilder("ring", args, 1)

    def tile(place: Expr) -> None:
        l1 = kb.view(kb.alloc("l1", Space.L1, fractal, DType.F16))
        kb.copy(l1, kb.view(kb.args[0], place * 256, fractal, (256, 256, 16, 1)))
        left = kb.view(kb.alloc("l0a", Space.L0A, fractal, DType.F16))
        right = kb.view(kb.alloc("l0b", Space.L0B, fractal, DType.F16))
        kb.load2d(left, l1)
        kb.load2d(right, l1)
        l0c = kb.view(kb.alloc("l0c", Space.L0C, fractal, DType.F32))
        kb.mmad(l0c, left, right, (16, 16, 16), [])
        shared = kb.exchange("sums", fractal, DType.F32, 256)
        kb.fixpipe(kb.view(shared), l0c)
        first, rows = kb.own_share(16)
        ub = kb.view(kb.alloc("ub", Space.UB, (rows, 16), DType.F32))
        kb.copy(ub, kb.view(shared, first * 16, (rows, 16)))
        kb.copy(kb.view(kb.args[1], place * 256 + first * 16, (rows, 16), (16, 1)), ub)

    def nest(depth: int, place: Expr) -> None:
        if depth == len(trips):
            tile(place)
            return
        places = trips[depth] + 1
        with kb.loop(trips[depth]) as counter:
            nest(depth + 1, place * places + counter)
        if tails[depth]:
            deepest = prod(trip + 1 for trip in trips[depth + 1 :])
            tile((place * places + trips[depth]) * deepest)

    for _ in kb.parts(mixed=True):
        with kb.blocks(0, 1):
            nest(0, Expr())
    return kb.kernel


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(1, 4), st.booleans()), max_size=3))
def test_tiles_in_any_loops(nest: list[tuple[int, bool]]) -> None:
    check(ring(*zip(*nest, strict=True)) if nest else ring((), ()), SPLIT)


def test_flags_refuse_versions_out_of_turn() -> None:
    """The cause of a race, whoever gave the versions: 0, 1, 1, 0."""
    kernel = ring((2, 1), (False, True))
    for number, alloc in enumerate(allocs_by_slot(kernel)["sums"]):
        alloc.versions = i64_attr(2)
        if number % 2:
            alloc.phase = i64_attr(1)
    with pytest.raises(OperatorError, match="contents of slot sums do not take its versions in turn"):
        compile_kernel(kernel, SPLIT, doubled=False)
