"""Matrix products."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from graph_engine.dialects.ge.elementwise import MulOp
from graph_engine.dialects.ge.interning import numpy_dtype
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.shape import ReshapeOp
from graph_engine.frontend_onnx.node import Converter, Node, Unsupported, dtype_of, shape_of


def _scaled(node: Node, value: SSAValue, factor: float, name: str) -> SSAValue:
    """`factor` times a tensor; a factor of 1 costs nothing, and on a constant it folds away."""
    if factor == 1.0:
        return value
    import numpy as np

    constant = node.keep_constant(np.array(factor, numpy_dtype(dtype_of(value))), f"{node.name}.{name}")
    return node.emit(MulOp(value, constant))


def gemm(node: Node) -> SSAValue:
    """Gemm: alpha goes into B and beta into C, which are constants as a rule; C becomes the bias."""
    a, b = node.operand(0), node.operand(1)
    if len(shape_of(a)) != 2 or len(shape_of(b)) != 2:
        raise Unsupported(f"A and B have ranks {len(shape_of(a))} and {len(shape_of(b))}; both must be matrices")
    alpha, beta = node.float("alpha", 1.0), node.float("beta", 1.0)
    bias = node.optional(2) if beta != 0.0 else None
    return node.emit(
        MatmulOp(
            a,
            _scaled(node, b, alpha, "alpha"),
            None if bias is None else _scaled(node, bias, beta, "beta"),
            transpose_a=bool(node.int("transA", 0)),
            transpose_b=bool(node.int("transB", 0)),
        )
    )


def matmul(node: Node) -> SSAValue:
    """MatMul with numpy's rules: a 1-D operand is a row (left) or a column (right) whose axis vanishes again."""
    a, b = node.operand(0), node.operand(1)
    a_shape, b_shape = shape_of(a), shape_of(b)
    if len(a_shape) > 1 and len(b_shape) > 1:
        return node.emit(MatmulOp(a, b))
    if not a_shape or not b_shape or min(*a_shape, *b_shape) < 0:
        raise Unsupported("vectors of unknown length and scalars; use matrices")
    if len(a_shape) == 1:
        a = node.emit(ReshapeOp(a, shape=(1, *a_shape)))
    if len(b_shape) == 1:
        b = node.emit(ReshapeOp(b, shape=(*b_shape, 1)))
    product = node.emit(MatmulOp(a, b))
    shape = list(shape_of(product))
    if len(b_shape) == 1:
        del shape[-1]
    if len(a_shape) == 1:
        del shape[-1 if len(b_shape) == 1 else -2]
    assert prod(shape) == prod(shape_of(product))
    return node.emit(ReshapeOp(product, shape=shape))


CONVERTERS: dict[str, Converter] = {"Gemm": gemm, "MatMul": matmul}
