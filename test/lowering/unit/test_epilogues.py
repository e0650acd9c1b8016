"""Chains behind the Cube, as the graph passes gather them: on the chip in checking mode, against numpy in fp64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from harness.checked_operators import fused, run_operator, value
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.activation import HardSwishOp, SwishOp
from graph_engine.dialects.ge.convolution import Conv2dOp
from graph_engine.dialects.ge.core import GeOp
from graph_engine.dialects.ge.elementwise import AddOp, ClipOp, MaximumOp, MulOp, ReluOp, SigmoidOp, SubOp, TanhOp
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.layout import Encoding, fractal_nz, fractal_z, fractal_z_kn, nc1hwc0

Array = np.ndarray[Any, Any]

UNARY: dict[str, tuple[Callable[[SSAValue], GeOp], Callable[[Array], Array]]] = {
    "relu": (ReluOp, lambda x: np.maximum(x, 0)),
    "clip": (lambda x: ClipOp(x, min=0.0, max=6.0), lambda x: np.clip(x, 0, 6)),
    "sigmoid": (SigmoidOp, lambda x: 1 / (1 + np.exp(-x))),
    "tanh": (TanhOp, np.tanh),
    "swish": (SwishOp, lambda x: x / (1 + np.exp(-x))),
    "hard_swish": (HardSwishOp, lambda x: x * np.clip(x / 6 + 0.5, 0, 1)),
}
BINARY: dict[str, tuple[Callable[[SSAValue, SSAValue], GeOp], Callable[[Array, Array], Array]]] = {
    "add": (AddOp, np.add),
    "sub": (SubOp, np.subtract),
    "mul": (MulOp, np.multiply),
    "maximum": (MaximumOp, np.maximum),
}
SIDES = st.sampled_from(["tile", "channel", "scalar"])
MEMBERS = st.one_of(
    st.tuples(st.sampled_from(sorted(UNARY)), st.none()),
    st.tuples(st.sampled_from(sorted(BINARY)), SIDES),
)


@st.composite
def chains(draw: st.DrawFn, sides: tuple[str, ...]) -> list[tuple[str, str | None]]:
    """Members with their side operand: at most two of the result's size, as the passes allow."""
    found = draw(st.lists(MEMBERS, min_size=1, max_size=6))
    chain = [(name, side if side is None or side in sides else "scalar") for name, side in found]
    tiles = [i for i, (_, side) in enumerate(chain) if side == "tile"]
    return [member for i, member in enumerate(chain) if i not in tiles[2:]]


def check(
    chain: list[tuple[str, str | None]],
    swapped: bool,
    operands: list[tuple[Array, Encoding | None]],
    anchor: Callable[..., GeOp],
    product: Array,
    shapes: dict[str, tuple[tuple[int, ...], Encoding | None]],
) -> None:
    """Runs anchor and chain as one kernel; within 4 times the error of rounding to fp16 at the same points."""
    rng = np.random.default_rng(len(chain))
    first = len(operands)
    for _, side in chain:
        if side is not None:
            shape, encoding = shapes[side]
            operands.append((rng.uniform(-2, 2, shape).astype(np.float16), encoding))

    def body(*args: SSAValue) -> list[Operation]:
        ops: list[Operation] = [anchor(*args[:first])]
        rest = list(args[first:])
        for name, side in chain:
            last = ops[-1].results[0]
            if side is None:
                ops.append(UNARY[name][0](last))
            else:
                other = rest.pop(0)
                ops.append(BINARY[name][0](other, last) if swapped else BINARY[name][0](last, other))
        return ops

    def expected(rounded: Callable[[Array], Array]) -> Array:
        y = rounded(product)
        rest = [array.astype(np.float64) for array, _ in operands[first:]]
        for name, side in chain:
            if side is None:
                y = UNARY[name][1](y)
            else:
                other = rest.pop(0)
                y = BINARY[name][1](other, y) if swapped else BINARY[name][1](y, other)
            y = rounded(y)
        return y

    values = [value(array.shape, "f16", encoding) for array, encoding in operands]
    result = shapes["tile"][1]
    got = run_operator(fused(values, body, anchor(*values[:first]).name, result), [array for array, _ in operands])
    exact = expected(lambda y: y)
    rounding = np.abs(expected(lambda y: y.astype(np.float16).astype(np.float64)) - exact).max()
    bound = 4 * rounding + np.spacing(np.float16(np.abs(exact).max())).astype(float)
    assert np.abs(got.astype(np.float64) - exact).max() <= bound


@settings(max_examples=25, deadline=None)
@given(
    chains(("tile", "channel", "scalar")),
    st.booleans(),
    st.sampled_from([16, 24, 40]),
    st.sampled_from([(5, 7), (1, 1)]),
)
def test_behind_a_convolution(
    chain: list[tuple[str, str | None]], swapped: bool, channels: int, plane: tuple[int, int]
) -> None:
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, (1, 16, *plane)).astype(np.float16)
    w = rng.uniform(-1, 1, (channels, 16, 1, 1)).astype(np.float16)
    product = np.einsum("nchw,oc->nohw", x.astype(np.float64), w[:, :, 0, 0].astype(np.float64))
    maps = nc1hwc0(16, "undef")
    shapes: dict[str, tuple[tuple[int, ...], Encoding | None]] = {
        "tile": ((1, channels, *plane), maps),
        "channel": ((1, channels, 1, 1), maps),
        "scalar": ((), None),
    }
    check(chain, swapped, [(x, nc1hwc0(16)), (w, fractal_z(16, 16))], Conv2dOp, product, shapes)


@settings(max_examples=20, deadline=None)
@given(chains(("tile", "scalar")), st.booleans(), st.sampled_from([16, 24, 40]), st.sampled_from([1, 16, 37]))
def test_behind_a_matrix_product(chain: list[tuple[str, str | None]], swapped: bool, columns: int, rows: int) -> None:
    rng = np.random.default_rng(2)
    a = rng.uniform(-1, 1, (rows, 32)).astype(np.float16)
    b = rng.uniform(-1, 1, (32, columns)).astype(np.float16)
    matrix = fractal_nz(16, "undef")
    shapes: dict[str, tuple[tuple[int, ...], Encoding | None]] = {
        "tile": ((rows, columns), matrix),
        "scalar": ((1, 1), None),
    }
    product = a.astype(np.float64) @ b.astype(np.float64)
    check(chain, swapped, [(a, fractal_nz(16)), (b, fractal_z_kn(16, 16))], MatmulOp, product, shapes)
