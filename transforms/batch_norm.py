"""The constants behind an inference BatchNorm: y = x * factor + shift per channel, in fp32 whatever the graph holds."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import f32

from graph_engine.dialects.ge.normalization import BatchNormOp
from graph_engine.transforms.recipes import Known, cast_to, elementwise, filled, known, unary


@dataclass(frozen=True)
class Affine:
    """y = x * factor + shift, both fp32 vectors [C]."""

    factor: Known
    shift: Known


def affine_of(op: BatchNormOp) -> Affine | None:
    """factor = scale / sqrt(var + epsilon), shift = bias - mean * factor (ONNX BatchNormalization, inference).

    None if a parameter is not constant, or if var + epsilon is not positive somewhere: what the operator then yields
    (inf or nan) depends on x and cannot be folded.
    """
    parameters = [known(value) for value in list(op.operands)[1:]]
    found = [cast_to(x, f32) for x in parameters if x is not None]
    if len(found) != len(parameters):
        return None
    scale, bias, mean, var = found
    epsilon = op.epsilon.value.data
    if not (var.numbers() + epsilon > 0).all():
        return None
    factor = elementwise("ge.div", scale, unary("ge.sqrt", elementwise("ge.add", var, filled(epsilon))))
    return Affine(factor, elementwise("ge.sub", bias, elementwise("ge.mul", mean, factor)))
