"""Trigonometry, rounding, sign, not."""

from __future__ import annotations

from graph_engine.dialects.ge import unary_math as ge
from graph_engine.frontend_onnx.elementwise import unary
from graph_engine.frontend_onnx.node import Converter

CONVERTERS: dict[str, Converter] = {
    "Sin": unary(ge.SinOp),
    "Cos": unary(ge.CosOp),
    "Tan": unary(ge.TanOp),
    "Asin": unary(ge.AsinOp),
    "Acos": unary(ge.AcosOp),
    "Atan": unary(ge.AtanOp),
    "Sinh": unary(ge.SinhOp),
    "Cosh": unary(ge.CoshOp),
    "Asinh": unary(ge.AsinhOp),
    "Acosh": unary(ge.AcoshOp),
    "Atanh": unary(ge.AtanhOp),
    "Ceil": unary(ge.CeilOp),
    "Floor": unary(ge.FloorOp),
    "Round": unary(ge.RoundOp),
    "Sign": unary(ge.SignOp),
    "Not": unary(ge.NotOp),
    "BitwiseNot": unary(ge.NotOp),
}
