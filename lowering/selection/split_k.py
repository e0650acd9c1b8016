"""Few tiles of a result and a long K leave cores idle: they share K, and a second task adds up what they found.

    parts = x[:, k of part p] w[k of part p, :]     each part a matrix of a batch, in fp32 (`kernels/matmul.py`)
    y     = (parts[0] + parts[1] + ...) + bias ...  in that order, whatever the cores do (`kernels/elementwise.py`)

No flag reaches from one block to another, so that the sum is a task of its own: a launch, and a way through the L2. Such products
wait for their weights: what the cores in use read of them in a cycle tells which form is sooner. Parts have equally many whole
blocks of K, a core each. A result is off by what the order of additions in fp32 makes, (K / parts + parts) 2^-24 of the
magnitudes added, not more than K 2^-24 as without parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from graph_engine.dialects.ascend.kernel import KernelOp
from graph_engine.dialects.ge.core import Tensor
from graph_engine.dialects.ge.interning import tensor_type
from graph_engine.dialects.layout import nc1hwc0, with_encoding
from graph_engine.lowering.kernels.elementwise import Elementwise, build_elementwise
from graph_engine.lowering.kernels.elementwise_time import elementwise_us
from graph_engine.lowering.kernels.epilogue import Epilogue
from graph_engine.lowering.kernels.fixpipe import leaving
from graph_engine.lowering.kernels.matmul import MatmulShape, build_matmul, choose_matmul_tiling
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.plain_matmul import PlainProduct, Rows, build_plain_matmul
from graph_engine.lowering.kernels.step import Step
from graph_engine.lowering.kernels.streams import Stream
from graph_engine.lowering.kernels.vector_steps import computed
from graph_engine.lowering.kernels.vector_tiling import round_up
from graph_engine.lowering.selection.choice import Choice, ConstantArgument
from graph_engine.target_ascend.isa.model import DType
from graph_engine.target_ascend.soc.soc import Soc

SUMS = Epilogue((), (), DType.F32, DType.F32)
"""What leaves the Cube of a part."""

PART_BLOCK = 16
"""Elements: a part takes whole ones."""

LEAST_BLOCKS = 8
"""Of K in a part: less would be start and end alone."""

WORTHWHILE = 0.85
"""Of the time of one kernel, at most."""


@dataclass(frozen=True)
class SplitProduct:
    """A product whose K `count` cores share: `parts`, the kernel of one result `every` (count, elements of a part), and
    the kernel of their sum, given each `one` of them. `us` and `whole_us`: what both kernels and what one kernel are expected to take."""

    count: int
    parts: Choice
    every: Tensor
    one: Tensor
    sum: Callable[[Sequence[SSAValue]], Choice]
    us: float
    whole_us: float


@dataclass(frozen=True)
class _Product:
    """A product of one matrix, by how it is stored; the stored result has the sizes `stored`."""

    shape: MatmulShape
    stored: tuple[int, ...]
    in_parts: Callable[[int], tuple[MatmulShape, Callable[[str, Soc], KernelOp], object]]
    """For so many parts: as the Cube sees it, the kernel's builder, and what equal kernels have in common."""


def _of_fractals(shape: MatmulShape) -> _Product:
    def in_parts(count: int) -> tuple[MatmulShape, Callable[[str, Soc], KernelOp], object]:
        left, right = (replace(side, steps=(1,), start=side.start * count) for side in (shape.left, shape.right))
        part = replace(shape, k1=shape.k1 // count, bias=False, batch=(count,), left=left, right=right)
        return part, lambda name, soc: build_matmul(name, part, SUMS, soc), part

    return _Product(shape, (shape.n1, shape.m1 * 16, 16), in_parts)


def _of_rows(product: PlainProduct) -> _Product:
    def in_parts(count: int) -> tuple[MatmulShape, Callable[[str, Soc], KernelOp], object]:
        k, room = product.k // count, round_up(product.m * product.n, PART_BLOCK)
        part = replace(
            product, k=k, batch=(count,), left=product.left.parts_of_k(k), right=product.right.parts_of_k(k),
            result=Rows((room,), product.n, count * room), dtype=DType.F32, bias=False,
        )  # fmt: skip
        return part.in_blocks(), lambda name, soc: build_plain_matmul(name, part, SUMS, soc), part

    return _Product(product.in_blocks(), (product.m, product.n), in_parts)


def split_fractals(shape: MatmulShape, epilogue: Epilogue, choice: Choice, soc: Soc) -> SplitProduct | None:
    """The product of fractals in parts of K, if that is sooner; blocks of K must be the outermost ones in memory."""
    if prod(shape.batch) > 1 or shape.left.k_rows or shape.right.k_rows:
        return None
    return _split(_of_fractals(shape), epilogue, choice, soc)


def split_rows(product: PlainProduct, epilogue: Epilogue, choice: Choice, soc: Soc) -> SplitProduct | None:
    """The product of plain matrices in parts of K, if that is sooner; its result must lie by itself."""
    alone = product.result.extent == product.m * product.n and not choice.instead_of
    if prod(product.batch) > 1 or not alone or product.needs_zeros:
        return None
    return _split(_of_rows(product), epilogue, choice, soc)


def _split(product: _Product, epilogue: Epilogue, choice: Choice, soc: Soc) -> SplitProduct | None:
    shape = product.shape
    if epilogue.accumulators > 1 or not (found := _best(shape, epilogue, soc, product)):
        return None
    count, us, whole_us = found
    _, build, key = product.in_parts(count)
    vectors = list(choice.inputs[2:])
    parts = Choice(("part of K", key), "matmul_part", choice.type, build, choice.inputs[:2])

    def sum_of(values: Sequence[SSAValue]) -> Choice:
        group = _sum(product, count, epilogue)
        inputs: list[SSAValue | ConstantArgument] = [*values, *vectors]
        return Choice(
            ("elementwise", group),
            "sum_of_parts",
            "AddN",
            lambda name, soc: build_elementwise(name, group, soc),
            inputs,
        )

    # Each part begins at a data block, and what is between them is nobody's: as channels in blocks have it.
    one, every = (
        with_encoding(tensor_type((n, prod(product.stored), 1, 1), f32), nc1hwc0(PART_BLOCK, "undef"))
        for n in (1, count)
    )
    return SplitProduct(count, parts, every, one, sum_of, us, whole_us)


def _best(shape: MatmulShape, epilogue: Epilogue, soc: Soc, product: _Product) -> tuple[int, float, float] | None:
    """(parts, microseconds of both kernels, of one kernel, without the first launch), if parts are sooner: one for each core."""
    cores = soc.cores.aic
    blocks = _blocks(shape, epilogue, soc)
    whole = _loading_us(shape, blocks, 1, soc)
    if whole * (1 - blocks / cores) < soc.overheads.kernel_task_us:
        return None
    found: list[tuple[float, int]] = []
    for count in range(cores // 2 + 1, cores + 1):
        if count > blocks and shape.k1 % count == 0 and shape.k1 // count >= LEAST_BLOCKS:
            try:
                added = elementwise_us(_sum(product, count, epilogue), soc, resident=True)
            except NoKernel:
                continue
            found.append((_loading_us(shape, count, count, soc) + added, count))
    us, count = min(found, default=(whole, 1))
    return (count, us, whole) if us < WORTHWHILE * whole else None


def _loading_us(shape: MatmulShape, cores: int, parts: int, soc: Soc) -> float:
    """What so many cores take to read the weights, each its share, from device memory, and the input's part from the L2."""
    ddr, l2, clock = soc.path("gm", "l1", "ddr"), soc.path("gm", "l1", "l2"), soc.freq_mhz.cube
    rate = min(cores * ddr.bytes_per_cycle, soc.ddr.total_bytes_per_s / (clock * 1e6))
    weights, own = shape.k1 * shape.n1 * shape.block_bytes, shape.k1 // parts * shape.m1 * shape.block_bytes
    return (weights / rate + own / l2.bytes_per_cycle + ddr.latency_cycles) / clock


def _blocks(shape: MatmulShape, epilogue: Epilogue, soc: Soc) -> int:
    """Cores that one kernel uses; all where there is none."""
    try:
        way_out = leaving(epilogue, shape.bias, soc)
        assert isinstance(way_out, Epilogue)
        tiling = choose_matmul_tiling(shape, way_out, soc)
    except NoKernel:
        return soc.cores.aic
    shares = (shape.m1, tiling.m_share), (shape.n1, tiling.n_share), (max(shape.batch), tiling.b_share)
    return prod(-(-extent // share) for extent, share in shares)


def _sum(product: _Product, count: int, epilogue: Epilogue) -> Elementwise:
    """The parts, [bias], and the epilogue's inputs -> the result."""
    stored, shape = product.stored, product.shape
    columns = (16, 0, 1) if len(stored) == 3 else (0, 1)
    full = (stored[1] * 16, 16, 1) if len(stored) == 3 else (stored[1], 1)
    width = stored[0] * 16 if len(stored) == 3 else stored[1]

    def stream(kind: str, dtype: DType) -> Stream:
        places = {"tile": (stored, full), "channel": ((width,), columns), "scalar": ((1,), (0,) * len(stored))}
        return Stream(places[kind][0], dtype, places[kind][1])

    inputs = [Stream((prod(stored),), DType.F32, full)] * count
    inputs += [stream("channel", DType.F32)] * shape.bias
    inputs += [stream(side.kind, side.dtype) for side in epilogue.inputs]
    steps: list[Step] = []

    def add(step: Step) -> int:
        steps.append(step)
        return len(inputs) + len(steps) - 1

    total = 0
    for number in range(1, count + shape.bias):
        total = add(Step("ge.add", (total, number), (), DType.F32))
    if epilogue.acc_dtype is not DType.F32 and not (epilogue.steps and computed(epilogue.acc_dtype) is DType.F32):
        total = add(Step("ge.cast", (total,), (), epilogue.acc_dtype))
    behind = count + shape.bias
    number_of = [total, *range(behind, behind + len(epilogue.inputs))]
    for step in epilogue.steps:
        number_of.append(add(replace(step, operands=tuple(number_of[operand] for operand in step.operands))))
    return Elementwise.of(inputs, stored, epilogue.out_dtype, steps)
