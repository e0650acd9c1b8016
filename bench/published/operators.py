"""Published times of single operators, and how to build each: what a ladder compares with.

Times are those of the kernels in microseconds, without the host. Elementwise lines were fitted over 10 to 17 sizes each
(fixed part, then bytes read and written over a rate), for footprints below 190 MB.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from published.net import Net, Value

Builder = Callable[[Net], list[Value]]


@dataclass(frozen=True)
class Point:
    """One operator on a chip: `us` as published by `source`; `kinds` are the task types that count (all if empty)."""

    ladder: str
    chip: str
    shape: str
    us: float
    build: Builder
    source: str
    kinds: tuple[str, ...] = ()


def product(m: int, k: int, n: int) -> Builder:
    """[m, k] x [k, n], without bias; both come row by row, as torch keeps weights: a constant would be packed while compiling."""

    def build(net: Net) -> list[Value]:
        return [net.matmul(net.input(m, k), net.input(k, n))]

    return build


def elementwise(op: str, rows: int, columns: int, operands: int) -> Builder:
    """One elementwise operator of one or two inputs; `Gelu` as the nodes with Erf that torch exports."""

    def build(net: Net) -> list[Value]:
        inputs = [net.input(rows, columns) for _ in range(operands)]
        return [net.act(inputs[0], "gelu") if op == "Gelu" else net.node(op, inputs, inputs[0].shape)]

    return build


def softmax(rows: int, columns: int) -> Builder:
    """Over the columns."""
    return lambda net: [net.softmax(net.input(rows, columns))]


def swish_gate(rows: int, columns: int) -> Builder:
    """SwiGlu: the Swish of the first half of the columns times the second half."""

    def build(net: Net) -> list[Value]:
        gate, up = net.split(net.input(rows, columns), [columns // 2] * 2, 2)
        return [net.mul(net.act(gate, "silu"), up)]

    return build


def rms_norm(rows: int, columns: int, *, adds: bool = False) -> Builder:
    """x / sqrt(mean(x^2) + 1e-5) times a weight; x is an input, or the sum of two, which is a result as well."""

    def build(net: Net) -> list[Value]:
        x = net.input(rows, columns)
        if adds:
            x = net.add(x, net.input(rows, columns))
        mean = net.node("ReduceMean", [net.mul(x, x)], (*x.shape[:-1], 1), axes=[-1])
        root = net.node("Sqrt", [net.add(mean, net.constant(1e-5))], mean.shape)
        normed = net.mul(net.node("Div", [x, root], x.shape), net.weight(columns))
        return [x, normed] if adds else [normed]

    return build


def attention(tokens: int, channels: int) -> Builder:
    """One head, without a mask."""

    def build(net: Net) -> list[Value]:
        q, k, v = (net.input(tokens, channels) for _ in range(3))
        return [net.attention(q, k, v, 1)]

    return build


def rows_of_blocks(count: int, columns: int, rows: int) -> Builder:
    """Matrices in blocks of 16 x 16, stored as in FRACTAL_NZ, to matrices in rows."""
    return lambda net: [net.transpose(net.input(count, columns, rows, 16, 16), 0, 1, 3, 4, 2, 5)]


def convolution(x: tuple[int, int, int], channels: int, kernel: int = 3, stride: int = 1, dilation: int = 1) -> Builder:
    """A convolution with a square kernel."""

    def build(net: Net) -> list[Value]:
        return [net.conv(net.input(*x), channels, kernel, stride, dilation=dilation, act=None)]

    return build


def _line(op: str, operands: int, fixed: float, tb_s: float, chip: str) -> list[Point]:
    points: list[Point] = []
    for rows, columns in ((256, 4096), (2048, 4096), (8192, 4096)):
        megabytes = rows * columns * 2 * (operands + 1) / 1e6
        build = elementwise({"sigmoid": "Sigmoid", "maximum": "Max", "gelu": "Gelu"}[op], rows, columns, operands)
        us = round(fixed + megabytes / tb_s, 2)
        points.append(Point(f"{op} (line)", chip, f"{rows} x {columns}", us, build, "cann-bench, line fitted"))
    return points


PROFILE = "aclgraph profile (bf16)"
A3, B1, B2, B3, PR = "Ascend910_9391", "Ascend910B1", "Ascend910B2", "Ascend910B3", "Ascend950PR_9599"

POINTS: tuple[Point, ...] = (
    *(
        Point("GEMM", A3, f"{n}^3", us, product(n, n, n), "pto-isa", ("MatMulV2", "MatMulV3"))
        for n, us in ((1536, 38.8), (3072, 206.7), (6144, 1506.0))
    ),
    Point("GEMM", B1, "8192^3", 4012.44, product(8192, 8192, 8192), "asc-devkit", ("MatMulV2", "MatMulV3")),
    *(
        Point("decode product", A3, f"16 x {k} x {n}", us, product(16, k, n), PROFILE)
        for k, n, us in ((5120, 3200, 32.1), (1600, 5120, 18.8), (5120, 768, 11.04), (512, 5120, 8.63))
    ),
    *(
        Point("product", A3, f"{m} x {k} x {n}", us, product(m, k, n), PROFILE)
        for m, k, n, us in (
            *((1, 7168, 256, 10.9), (16, 5120, 9496, 86.6), (256, 7168, 256, 21.0), (2048, 512, 4096, 53.0)),
            *((41040, 5120, 768, 1179.9), (41040, 512, 5120, 839.2), (24624, 1600, 5120, 1457.5)),
            *((24624, 5120, 3200, 2574.5), (41040, 5120, 3200, 4244.6)),
        )
    ),
    *(
        Point("attention (assumed)", B2, f"{tokens} x 128", us, attention(tokens, 128), "pto-isa")
        for tokens, us in ((1024, 20.96), (32768, 3262.6))
    ),
    Point("TransData (assumed)", A3, "16 x 32 x 8 x 16 x 16", 13.56, rows_of_blocks(16, 32, 8), PROFILE),
    *_line("sigmoid", 1, 3.39, 2.45, B2),
    *_line("gelu", 1, 4.89, 2.46, B2),
    *_line("maximum", 2, 2.59, 1.83, B2),
    *_line("sigmoid", 1, 2.83, 2.51, PR),
    *_line("gelu", 1, 2.82, 2.57, PR),
    *_line("maximum", 2, 1.60, 1.95, PR),
    Point("addition", B3, "8192 x 8192", 184.52, elementwise("Add", 8192, 8192, 2), "asc-devkit, without conflict"),
    *(
        Point("addition", A3, f"{rows} x {columns}", us, elementwise("Add", rows, columns, 2), PROFILE)
        for rows, columns, us in ((256, 7168, 12.08), (256, 1536, 10.06), (1, 7168, 2.62), (1, 1536, 1.89))
    ),
    Point("softmax", A3, "16 x 151936", 52.7, softmax(16, 151936), PROFILE),
    *(
        Point("SwiGlu", A3, f"{rows} x {columns}", us, swish_gate(rows, columns), PROFILE)
        for rows, columns, us in ((41040, 3200, 343.0), (2048, 4608, 28.7), (256, 4096, 16.96), (16, 3200, 5.19))
    ),
    *(
        Point("RMSNorm", A3, f"{rows} x 1536", us, rms_norm(rows, 1536), PROFILE)
        for rows, us in ((256, 19.26), (1, 4.17))
    ),
    *(
        Point("Add and RMSNorm", A3, f"{rows} x {columns}", us, rms_norm(rows, columns, adds=True), PROFILE)
        for rows, columns, us in ((2565, 5120, 126.4), (256, 7168, 24.0), (16, 5120, 5.30), (1, 7168, 3.91))
    ),
    Point("convolution", B2, "8x512x64x64, 3x3/2", 275.45, convolution((512, 64, 64), 512, stride=2), "cann-bench"),
    Point("convolution", B2, "5x97x43x43, 3x3, dilated", 39.6, convolution((97, 43, 43), 97, dilation=2), "cann-bench"),
    Point("convolution", B2, "2x256x128x128, 5x5", 426.35, convolution((256, 128, 128), 256, 5), "cann-bench (bf16)"),
    Point("convolution", B2, "2x2048x16x16, 1x1", 92.8, convolution((2048, 16, 16), 2048, 1), "cann-bench (bf16)"),
    Point(
        "convolution",
        B2,
        "2x255x127x127, 3x3, dilated",
        277.57,
        convolution((255, 127, 127), 255, dilation=3),
        "cann-bench (bf16)",
    ),
)
"""FlashAttention is published with its tokens alone: one head of 128 channels is assumed. TransData is published as a shape, without
type or formats: blocks of 16 x 16 fp16, to rows, are assumed. Left out are operators of int8, convolutions of fp32, and what takes
the time of its launch (a Cast of 16 numbers, a Fill, slices and copies of a few hundred rows)."""
