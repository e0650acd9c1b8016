"""Matrix products."""

from __future__ import annotations

from xdsl.ir import SSAValue

from graph_engine.dialects.ge.elementwise import MulOp
from graph_engine.dialects.ge.interning import numpy_dtype
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.frontend_onnx.node import Converter, Node, Unsupported, dtype_of, is_float, shape_of
from graph_engine.frontend_onnx.windows import reshape


def scaled(node: Node, value: SSAValue, factor: float, name: str) -> SSAValue:
    """`factor` times a tensor; a factor of 1 costs nothing, and on a constant it folds away."""
    if factor == 1.0:
        return value
    import numpy as np

    if not is_float(value) and factor != int(factor):
        raise Unsupported(f"{name} is {factor}, the matrices hold integers")
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
            scaled(node, b, alpha, "alpha"),
            None if bias is None else scaled(node, bias, beta, "beta"),
            transpose_a=bool(node.int("transA", 0)),
            transpose_b=bool(node.int("transB", 0)),
        )
    )


def matmul(node: Node) -> SSAValue:
    """MatMul with numpy's rules: a 1-D operand is a row (left) or a column (right) whose axis vanishes again."""
    return product_of(node, node.operand(0), node.operand(1))


def product_of(
    node: Node, a: SSAValue, b: SSAValue, *, transpose_a: bool = False, transpose_b: bool = False
) -> SSAValue:
    """a @ b with numpy's rules for vectors and batch axes; a matrix may have its last two axes swapped."""
    a_shape, b_shape = shape_of(a), shape_of(b)
    if not a_shape or not b_shape:
        raise Unsupported("a scalar has no matrix product")
    if len(a_shape) == 1:
        a = reshape(node, a, (1, *a_shape))
    if len(b_shape) == 1:
        b = reshape(node, b, (*b_shape, 1))
    swap_a, swap_b = transpose_a and len(a_shape) > 1, transpose_b and len(b_shape) > 1
    product = node.emit(MatmulOp(a, b, transpose_a=swap_a, transpose_b=swap_b))
    shape = shape_of(product)
    if len(b_shape) == 1:
        shape = shape[:-1]
    if len(a_shape) == 1:
        shape = shape[:-1] if len(b_shape) == 1 else (*shape[:-2], shape[-1])
    return reshape(node, product, shape)


CONVERTERS: dict[str, Converter] = {"Gemm": gemm, "MatMul": matmul}
