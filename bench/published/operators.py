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
    """[m, k] x [k, n], without bias."""

    def build(net: Net) -> list[Value]:
        return [net.matmul(net.input(m, k), net.weight(k, n))]

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


def rms_norm(rows: int, columns: int) -> Builder:
    """x / sqrt(mean(x^2) + 1e-5) times a weight."""

    def build(net: Net) -> list[Value]:
        x = net.input(rows, columns)
        mean = net.node("ReduceMean", [net.mul(x, x)], (*x.shape[:-1], 1), axes=[-1])
        root = net.node("Sqrt", [net.add(mean, net.constant(1e-5))], mean.shape)
        return [net.mul(net.node("Div", [x, root], x.shape), net.weight(columns))]

    return build


def convolution(x: tuple[int, int, int], channels: int, stride: int = 1, dilation: int = 1) -> Builder:
    """A 3 x 3 convolution."""

    def build(net: Net) -> list[Value]:
        return [net.conv(net.input(*x), channels, 3, stride, dilation=dilation, act=None)]

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
    Point("product", A3, "2048 x 512 x 4096", 53.0, product(2048, 512, 4096), PROFILE),
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
        for rows, columns, us in ((2048, 4608, 28.7), (256, 4096, 16.96), (16, 3200, 5.19))
    ),
    *(
        Point("RMSNorm", A3, f"{rows} x 1536", us, rms_norm(rows, 1536), PROFILE)
        for rows, us in ((256, 19.26), (1, 4.17))
    ),
    Point("convolution", B2, "8x512x64x64, 3x3/2", 275.45, convolution((512, 64, 64), 512, 2), "cann-bench"),
    Point("convolution", B2, "5x97x43x43, 3x3, dilated", 39.6, convolution((97, 43, 43), 97, 1, 2), "cann-bench"),
)
"""FlashAttention (20.96 us at 1024 tokens) and TransData (13.56 us) are published without heads or type: left out."""
