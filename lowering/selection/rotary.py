"""Rotary position embedding, of norms if asked: heads in FRACTAL_NZ or ND, one matrix of cosines and one of sines for all
of them."""

from __future__ import annotations

from math import prod

from xdsl.ir import Operation

from graph_engine.dialects.ge.core import Tensor
from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.dialects.ge.heads import RotaryMulOp
from graph_engine.dialects.ge.normalization import RmsNormOp, rows_of_scale
from graph_engine.dialects.layout import FractalNZ, encoding_of, is_plain, physical_shape
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.rotary_mul import Norm, RotaryShape, build_rotary_mul
from graph_engine.lowering.selection.choice import Choice, dtype_of_tensor, region_of, require_static, tensor
from graph_engine.target_ascend.isa.model import DType

HALF = 16
"""Columns of a half are a multiple of it: vector instructions begin at data blocks."""


def select_rotary_mul(op: Operation) -> Choice:
    """The kernel. Raises NoKernel for another format or element type, or where cos and sin are not one matrix each."""
    region = region_of(op)
    norm, rotary = (region.operators[0] if isinstance(op, FusedOp) else None), region.operators[-1]
    if not isinstance(rotary, RotaryMulOp) or not (norm is None or isinstance(norm, RmsNormOp)):
        raise NoKernel("the region is no norm that is rotated")
    if norm is not None and (len(region.operators) != 2 or rotary.x is not norm.result):
        raise NoKernel("more than a norm is fused with the rotation")
    source = rotary.x if norm is None else norm.x
    types = [tensor(value) for value in (source, rotary.cos, rotary.sin, rotary.result)]
    require_static(*types)
    x = types[0]
    if dtype_of_tensor(x) not in (DType.F16, DType.BF16, DType.F32):
        raise NoKernel("the rotation works on floats of 16 and 32 bits")
    matrix = _matrix(x)
    if any(_matrix(ty) != matrix for ty in types) or any(prod(ty.get_shape()[:-2]) != 1 for ty in types[1:3]):
        raise NoKernel("cosines and sines are not one matrix each, stored like the heads")
    if x.get_shape()[-1] % (2 * HALF):
        raise NoKernel(f"halves of {x.get_shape()[-1]} columns are not whole blocks")
    shape = RotaryShape(prod(x.get_shape()[:-2]), *matrix, dtype_of_tensor(x), None if norm is None else _norm(norm))
    scale = [] if norm is None else [norm.scale]
    return Choice(
        ("rotary_mul", shape),
        "rotary_mul" if norm is None else "rms_norm_rotary_mul",
        "RotaryMul",
        lambda name, soc: build_rotary_mul(name, shape, soc),
        [region.outer[value] for value in (source, *scale, rotary.cos, rotary.sin)],
        in_place=(0,),
    )


def _norm(op: RmsNormOp) -> Norm:
    """A norm of whole rows whose scale is one row, or one for each matrix. Raises NoKernel for any other."""
    rows = rows_of_scale(op, op.scale)
    if rows is None or not is_plain(tensor(op.scale)):
        raise NoKernel("the norm is none of rows, with one row of the scale, or one for each matrix")
    return Norm(op.epsilon.value.data, rows)


def _matrix(ty: Tensor) -> tuple[int, int, int]:
    """Stored blocks of columns, rows, columns of a block."""
    stored = physical_shape(ty)
    if is_plain(ty):
        return 1, stored[-2], stored[-1]
    if not isinstance(encoding_of(ty), FractalNZ):
        raise NoKernel("the rotation works in FRACTAL_NZ and ND")
    return stored[-4], stored[-3] * stored[-2], stored[-1]
