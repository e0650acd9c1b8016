"""Fused operators of domain com.microsoft, taken apart again: products with activations, GELU forms, normalizations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xdsl.ir import SSAValue

from graph_engine.dialects.ge.activation import GeluOp, HardSigmoidOp, SwishOp
from graph_engine.dialects.ge.elementwise import AddOp, CastOp, ClipOp, LeakyReluOp, ReluOp, SigmoidOp, TanhOp
from graph_engine.dialects.ge.indexing import GatherOp
from graph_engine.dialects.ge.logic import CompareOp
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.normalization import GroupNormOp, LayerNormOp, RmsNormOp
from graph_engine.dialects.ge.quantization import DequantizeOp
from graph_engine.dialects.ge.reduction import ReduceSumOp
from graph_engine.dialects.ge.shape import SliceOp, TransposeOp
from graph_engine.frontend_onnx.activation import gelu, number
from graph_engine.frontend_onnx.convolution import conv
from graph_engine.frontend_onnx.matmul import gemm, product_of, scaled
from graph_engine.frontend_onnx.node import Converter, Node, Unsupported, axis_of, dtype_of, shape_of, static_dim
from graph_engine.frontend_onnx.normalization import layer_normalization
from graph_engine.frontend_onnx.windows import reshape

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


def _activated(node: Node, y: SSAValue, prefix: str = "activation") -> SSAValue:
    """The activation that a fused operator names, with its parameters."""
    name = node.string(prefix, "")
    parameters = node.floats(f"{prefix}_params") if node.has_attribute(f"{prefix}_params") else []

    def parameter(place: int, attribute: str, default: float) -> float:
        if place < len(parameters):
            return parameters[place]
        return node.float(f"{prefix}_{attribute}", default)

    match name:
        case "":
            return y
        case "Relu":
            return node.emit(ReluOp(y))
        case "Sigmoid":
            return node.emit(SigmoidOp(y))
        case "Tanh":
            return node.emit(TanhOp(y))
        case "LeakyRelu":
            return node.emit(LeakyReluOp(y, alpha=parameter(0, "alpha", 0.01)))
        case "HardSigmoid":
            return node.emit(HardSigmoidOp(y, alpha=parameter(0, "alpha", 0.2), beta=parameter(1, "beta", 0.5)))
        case "Clip":
            return node.emit(ClipOp(y, min=parameter(0, "min", -3.4e38), max=parameter(1, "max", 3.4e38)))
        case _:
            raise Unsupported(f"activation {name} is not known")


def fused_conv(node: Node) -> SSAValue:
    """A convolution, an addition, an activation."""
    y = conv(node)
    if node.has(3):
        y = node.emit(AddOp(y, node.operand(3)))
    return _activated(node, y)


def fused_gemm(node: Node) -> SSAValue:
    """A matrix product with bias, an activation."""
    return _activated(node, gemm(node))


def fused_matmul(node: Node) -> SSAValue:
    """A matrix product of transposed operands, times alpha."""
    a, b = node.operand(0), node.operand(1)
    operands: list[SSAValue] = []
    for value, flag in ((a, "transBatchA"), (b, "transBatchB")):
        rank = len(shape_of(value))
        if node.int(flag, 0) and rank > 2:  # the first axis stands behind the other batch axes
            value = node.emit(TransposeOp(value, perm=(*range(1, rank - 1), 0, rank - 1)))
        operands.append(value)
    transpose_a, transpose_b = bool(node.int("transA", 0)), bool(node.int("transB", 0))
    b = scaled(node, operands[1], node.float("alpha", 1.0), "alpha")
    return product_of(node, operands[0], b, transpose_a=transpose_a, transpose_b=transpose_b)


def bias_gelu(node: Node) -> SSAValue:
    """An addition, `ge.gelu`."""
    return node.emit(GeluOp(node.emit(AddOp(node.operand(0), node.operand(1)))))


def fast_gelu(node: Node) -> SSAValue:
    """An addition, `ge.gelu` by tanh."""
    x = node.operand(0)
    if node.has(1):
        x = node.emit(AddOp(x, node.operand(1)))
    return node.emit(GeluOp(x, approximate="tanh"))


def quick_gelu(node: Node) -> SSAValue:
    """`ge.swish`."""
    return node.emit(SwishOp(node.operand(0), alpha=node.float("alpha", 1.702)))


def bias_add(node: Node) -> SSAValue:
    """Two additions."""
    return node.emit(AddOp(node.emit(AddOp(node.operand(0), node.operand(1))), node.operand(2)))


def simplified_layer_normalization(node: Node) -> SSAValue:
    """`ge.rms_norm`."""
    if node.result_used(1):
        raise Unsupported("its output inv_std_var is used")
    x = node.operand(0)
    axis = axis_of(node.int("axis", -1), len(shape_of(x)))
    return node.emit(RmsNormOp(x, node.operand(1), axis=axis, epsilon=node.float("epsilon", 1e-5)))


def _skip_sum(node: Node, bias: int) -> SSAValue:
    """Input, skip and bias added."""
    total = node.emit(AddOp(node.operand(0), node.operand(1)))
    return node.emit(AddOp(total, node.operand(bias))) if node.has(bias) else total


def _without_statistics(node: Node) -> None:
    if node.result_used(1) or node.result_used(2):
        raise Unsupported("its training outputs are used")


def skip_layer_normalization(node: Node) -> list[SSAValue | None]:
    """Additions, `ge.layer_norm`."""
    _without_statistics(node)
    total = _skip_sum(node, 4)
    y = node.emit(LayerNormOp(total, node.operand(2), node.optional(3), epsilon=node.float("epsilon", 1e-12)))
    return [y, None, None, total]


def skip_simplified_layer_normalization(node: Node) -> list[SSAValue | None]:
    """Additions, `ge.rms_norm`."""
    _without_statistics(node)
    total = _skip_sum(node, 3)
    return [node.emit(RmsNormOp(total, node.operand(2), epsilon=node.float("epsilon", 1e-12))), None, None, total]


def embed_layer_normalization(node: Node) -> list[SSAValue | None]:
    """Rows gathered from two or three tables, added, `ge.layer_norm`; the mask's ones counted."""
    import numpy as np

    ids, words, positions = node.operand(0), node.operand(2), node.operand(3)
    batch, length = shape_of(ids)
    total = node.emit(GatherOp(words, ids, axis=0))
    if node.has(8):
        rows = node.emit(GatherOp(positions, node.operand(8), axis=0))
    else:
        count = static_dim(length, "the sequence length")
        rows = node.emit(SliceOp(positions, starts=[0], ends=[count], axes=[0]))
    total = node.emit(AddOp(total, rows))
    if node.has(1):
        total = node.emit(AddOp(total, node.emit(GatherOp(node.operand(4), node.operand(1), axis=0))))
    y = node.emit(LayerNormOp(total, node.operand(5), node.operand(6), epsilon=node.float("epsilon", 1e-12)))
    counts: SSAValue | None = None
    if node.result_used(1):
        if node.has(7):
            mask = node.operand(7)
            ones = node.emit(CompareOp(mask, number(node, 1, mask), predicate="eq"))
            counts = node.emit(ReduceSumOp(node.emit(CastOp(ones, "i32")), axes=[1], keepdims=False))
        else:
            zeros = np.zeros(static_dim(batch, "the batch"), np.int32)
            counts = node.keep_constant(zeros, f"{node.name}.mask_index")
    return [y, counts, total]


def group_norm(node: Node) -> SSAValue:
    """`ge.group_norm`, between transpositions if channels stand last, and `ge.swish`."""
    x, channels_last = node.operand(0), bool(node.int("channels_last", 1))
    rank = len(shape_of(x))
    if channels_last:
        x = node.emit(TransposeOp(x, perm=(0, rank - 1, *range(1, rank - 1))))
    scale, bias = (
        value if dtype_of(value) == dtype_of(x) else node.emit(CastOp(value, dtype_of(x)))
        for value in (node.operand(1), node.operand(2))
    )
    y = node.emit(GroupNormOp(x, scale, bias, groups=node.int("groups"), epsilon=node.float("epsilon", 1e-5)))
    if node.int("activation", 0):
        y = node.emit(SwishOp(y))
    return node.emit(TransposeOp(y, perm=(0, *range(2, rank), 1))) if channels_last else y


def matmul_nbits(node: Node) -> SSAValue:
    """A product with a weight that is unpacked into bytes now and dequantised in blocks."""
    if node.has(4):
        raise Unsupported("g_idx (rows in another order)")
    import numpy as np

    a, scales = node.operand(0), node.operand(2)
    inner, outputs = node.int("K"), node.int("N")
    bits, block = node.int("bits", 4), node.int("block_size")
    if bits not in (2, 4, 8):
        raise Unsupported(f"{bits} bits; 2, 4 and 8 are supported")
    blocks = -(-inner // block)
    weight = _unpacked(node.constant(1, "the packed weight").reshape(outputs, -1), bits)[:, :inner]
    given = node.known(3)
    if node.has(3) and (given is None or given.dtype != np.uint8):
        raise Unsupported("zero points must be a constant of packed bytes")
    if given is None:
        zero = np.full((outputs, blocks), 1 << (bits - 1), np.uint8)
    else:
        zero = _unpacked(given.reshape(outputs, -1), bits)[:, :blocks]
    w = node.emit(
        DequantizeOp(
            node.keep_constant(np.ascontiguousarray(weight), f"{node.inputs[1]}.unpacked"),
            reshape(node, scales, (outputs, blocks)),
            node.keep_constant(np.ascontiguousarray(zero), f"{node.name}.zero_points"),
            axis=1,
            block=block,
        )
    )
    return node.emit(MatmulOp(a, w, node.optional(5), transpose_b=True))


def _unpacked(packed: Array, bits: int) -> Array:
    """Rows of bytes as rows of numbers of 2, 4 or 8 bits, low bits first."""
    import numpy as np

    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    return ((packed[..., None] >> shifts) & np.uint8((1 << bits) - 1)).reshape(len(packed), -1)


_OPERATORS: dict[str, Converter] = {
    "FusedConv": fused_conv,
    "FusedGemm": fused_gemm,
    "FusedMatMul": fused_matmul,
    "TransposeMatMul": fused_matmul,
    "Gelu": gelu,
    "BiasGelu": bias_gelu,
    "FastGelu": fast_gelu,
    "QuickGelu": quick_gelu,
    "BiasAdd": bias_add,
    "GroupNorm": group_norm,
    "LayerNormalization": layer_normalization,
    "SkipLayerNormalization": skip_layer_normalization,
    "SkipSimplifiedLayerNormalization": skip_simplified_layer_normalization,
    "EmbedLayerNormalization": embed_layer_normalization,
    "MatMulNBits": matmul_nbits,
}
CONVERTERS: dict[str, Converter] = {
    **{f"com.microsoft:{name}": convert for name, convert in _OPERATORS.items()},
    "SimplifiedLayerNormalization": simplified_layer_normalization,  # onnxruntime puts it into ONNX's own domain
}
