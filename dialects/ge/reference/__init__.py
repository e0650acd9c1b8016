"""What every `ge` operator means, as plain numpy functions: the one reference for folding, AICPU tasks and tests.

A function takes arrays and the operator's properties as keywords and returns an array of the operands' element
type, or a list of arrays where the operator has several results. fp16 is computed in fp32 and rounded to nearest even once, at the result. Arrays are logical (never packed).
Imports numpy alone.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

FUNCTIONS: dict[str, tuple[str, str]] = {
    f"ge.{name}": (module, name)
    for module, names in {
        "convolution": ("conv2d", "conv3d", "deform_conv2d"),
        "matmul": ("matmul",),
        "linear_algebra": ("det", "einsum"),
        "normalization": ("batch_norm", "lrn", "softmax", "layer_norm", "rms_norm", "group_norm"),
        "elementwise": (
            "relu",
            "sigmoid",
            "tanh",
            "exp",
            "log",
            "sqrt",
            "abs",
            "neg",
            "reciprocal",
            "erf",
            "leaky_relu",
            "clip",
            "cast",
            "add",
            "sub",
            "mul",
            "div",
            "maximum",
            "minimum",
            "pow",
        ),
        "unary_math": (
            *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh"),
            *("ceil", "floor", "round", "sign"),
        ),
        "activation": ("elu", "gelu", "swish", "hard_sigmoid", "hard_swish", "softplus", "mish", "prelu"),
        "logic": ("compare", "select", "shift", "mod"),
        "repetition": ("expand", "tile"),
        "pooling": ("max_pool", "max_pool3d", "max_pool_indices", "avg_pool", "global_avg_pool", "global_max_pool"),
        "quantization": (
            *("quantize", "dequantize", "requantize", "dynamic_quantize", "matmul_integer", "conv2d_integer"),
            *("quantized_add", "dequantize_sums"),
        ),
        "recurrence": ("rnn", "gru", "lstm", "linear_attention", "recurrent_steps"),
        "reduction": (
            *("reduce_mean", "reduce_sum", "reduce_max", "reduce_min", "reduce_prod"),
            *("reduce_sum_square", "reduce_l2", "reduce_log_sum_exp"),
            *("arg_max", "arg_min", "cum_sum", "cum_prod"),
        ),
        "shape": ("reshape", "transpose", "concat", "pad", "slice", "trilu", "bitcast"),
        "signal": ("dft",),
        "indexing": (
            *("gather", "gather_elements", "gather_nd", "scatter_elements", "scatter_nd", "tensor_scatter"),
            *("one_hot", "reverse_sequence"),
        ),
        "heads": ("split_heads", "merge_heads", "rotary_mul"),
        "windows": ("window_partition", "window_merge"),
        "channels": ("channel_shuffle", "depth_to_space"),
        "runtime_shape": (*("shape_of", "reshape_to", "expand_to", "tile_by", "slice_at", "pad_by", "range", "fill"),),
        "selection": ("top_k", "unique", "non_zero", "compress", "non_max_suppression"),
        "control_flow": ("loop", "scan"),
        "sampling": ("resize", "grid_sample", "roi_align", "max_roi_pool", "col2im"),
    }.items()
    for name in names
} | {
    "ge.if": ("control_flow", "if_"),
    "ge.not": ("unary_math", "invert"),
    "ge.and": ("logic", "bitwise_and"),
    "ge.or": ("logic", "bitwise_or"),
    "ge.xor": ("logic", "bitwise_xor"),
}
"""Operator name -> (module of this package, function)."""


def evaluate(op: str, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> list[Any]:
    """The results of operator `op` ("ge.lrn") on numpy arrays; `attributes` are its properties as plain values.

    Raises KeyError for an operator without a reference.
    """
    module, function = FUNCTIONS[op]
    reference = getattr(importlib.import_module(f"{__name__}.{module}"), function)
    results = reference(*inputs, **attributes)
    import numpy as np

    # numpy gives scalars for what has no axes
    return [np.asarray(result) for result in (results if isinstance(results, list | tuple) else [results])]
