"""Two products of one input with a gate, as one kernel on the chip in checking mode, against numpy in fp64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from harness.checked_operators import fused, run_stored, value
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.activation import SwishOp
from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.core import GeOp
from graph_engine.dialects.ge.elementwise import AddOp, MulOp, SigmoidOp
from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.weights import constant_attr
from graph_engine.dialects.layout import fractal_nz, fractal_z, fractal_z_kn, unpack
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.selection.choice import tensor
from graph_engine.lowering.selection.table import select

Array = np.ndarray[Any, Any]
MATRIX = fractal_nz()


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


GATES: dict[str, tuple[Callable[[SSAValue], GeOp] | None, Callable[[Array], Array]]] = {
    "none": (None, lambda x: x),
    "sigmoid": (SigmoidOp, sigmoid),
    "swish": (SwishOp, lambda x: x * sigmoid(x)),
}


def gated(
    m: int, k: int, n: int, gate: str, *, bias: bool = False, transposed: bool = False, residual: bool = False
) -> tuple[FusedOp, list[Array], Array, Array]:
    """The operator, its operands, its result in fp64 and the largest deviation."""
    rng = np.random.default_rng(m + k + n)
    x = rng.standard_normal((m, k)).astype(np.float16)
    weights = [(rng.standard_normal((k, n)) / np.sqrt(k)).astype(np.float16) for _ in range(2)]
    arrays = [x, *(w.T.copy() if transposed else w for w in weights)]
    encoding = fractal_z() if transposed else fractal_z_kn()
    operands = [value(x.shape, "f16", MATRIX), *(value(w.shape, "f16", encoding) for w in arrays[1:])]
    products = [x.astype(float) @ w.astype(float) for w in weights]
    if bias:
        vectors = [rng.standard_normal(n).astype(np.float16) for _ in range(2)]
        operands += [ConstantOp(constant_attr(vector, "bias")).results[0] for vector in vectors]
        arrays += vectors
        products = [product + vector for product, vector in zip(products, vectors, strict=True)]
    make, meaning = GATES[gate]
    wide = meaning(products[0]) * products[1]
    if residual:
        arrays.append(rng.standard_normal((m, n)).astype(np.float16))
        operands.append(value((m, n), "f16", MATRIX))
        wide = wide + arrays[-1]

    def body(*args: SSAValue) -> list[Operation]:
        biases = args[3:5] if bias else (None, None)
        both = [MatmulOp(args[0], w, b, transpose_b=transposed) for w, b in zip(args[1:3], biases, strict=True)]
        gates = [] if make is None else [make(both[0].result)]
        ops: list[Operation] = [*both, *gates, MulOp((gates or both)[-1 if gates else 0].results[0], both[1].result)]
        if residual:
            ops.append(AddOp(ops[-1].results[0], args[-1]))
        return ops

    op = fused(operands, body, "ge.matmul", MATRIX)
    # Both factors are rounded to fp16, the gate once more, then the product and the sum.
    slack = 4 * 2.0**-11 * (1 + abs(products[0])) * (1 + abs(products[1])) + 2.0**-10 * (1 + abs(wide))
    return op, arrays, wide, slack


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.data())
def test_any_size(data: st.DataObject) -> None:
    m, k, n = (data.draw(st.sampled_from([1, 7, 16, 17, 33, 64, 100]) | st.integers(1, 200), name) for name in "mkn")
    op, arrays, wide, slack = gated(
        m, k, n, data.draw(st.sampled_from(sorted(GATES)), "gate"), bias=data.draw(st.booleans(), "bias"),
        transposed=data.draw(st.booleans(), "transposed"), residual=data.draw(st.booleans(), "residual"),
    )  # fmt: skip
    got = unpack(run_stored(op, arrays), tensor(op.results[0]))
    assert np.all(abs(got.astype(float) - wide) <= slack)


@pytest.mark.parametrize("size", [(64, 512, 1376), (16, 64, 4096), (300, 100, 70)], ids=str)
def test_sizes_of_networks(size: tuple[int, int, int]) -> None:
    op, arrays, wide, slack = gated(*size, "swish", bias=True)
    got = unpack(run_stored(op, arrays), tensor(op.results[0]))
    assert np.all(abs(got.astype(float) - wide) <= slack)


def test_products_of_two_inputs_are_no_kernel() -> None:
    """Refused with the reason; each product has a kernel of its own."""

    def body(a: SSAValue, b: SSAValue, w: SSAValue) -> list[Operation]:
        both = [MatmulOp(a, w), MatmulOp(b, w)]
        return [*both, MulOp(both[0].result, both[1].result)]

    matrices = [value((16, 32), "f16", MATRIX), value((16, 32), "f16", MATRIX), value((32, 64), "f16", fractal_z_kn())]
    with pytest.raises(NoKernel, match="another input"):
        select(fused(matrices, body, "ge.matmul", MATRIX))
