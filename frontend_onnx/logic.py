"""Comparison, choice, bits, remainders."""

from __future__ import annotations

from xdsl.ir import SSAValue

from graph_engine.dialects.ge import logic as ge
from graph_engine.dialects.ge.elementwise import AbsOp
from graph_engine.frontend_onnx.activation import number
from graph_engine.frontend_onnx.elementwise import binary, legacy_broadcast
from graph_engine.frontend_onnx.node import Converter, Node


def compare(predicate: str) -> Converter:
    """The converter of a comparison."""

    def convert(node: Node) -> SSAValue:
        lhs, rhs = node.operand(0), node.operand(1)
        if node.opset < 7:
            rhs = legacy_broadcast(node, lhs, rhs)
        return node.emit(ge.CompareOp(lhs, rhs, predicate=predicate))

    convert.__doc__ = f"`ge.compare` {predicate}."
    return convert


def is_nan(node: Node) -> SSAValue:
    """x != x."""
    x = node.operand(0)
    return node.emit(ge.CompareOp(x, x, predicate="ne"))


def is_inf(node: Node) -> SSAValue:
    """x compared with inf and -inf, or |x| with inf."""
    x = node.operand(0)
    positive, negative = bool(node.int("detect_positive", 1)), bool(node.int("detect_negative", 1))
    if positive and negative:
        x = node.emit(AbsOp(x))
    limit = number(node, float("inf" if positive else "-inf"), x)
    found = node.emit(ge.CompareOp(x, limit, predicate="eq"))
    return found if positive or negative else node.emit(ge.XorOp(found, found))


def where(node: Node) -> SSAValue:
    """`ge.select`."""
    return node.emit(ge.SelectOp(node.operand(0), node.operand(1), node.operand(2)))


def mod(node: Node) -> SSAValue:
    """`ge.mod`."""
    return node.emit(ge.ModOp(node.operand(0), node.operand(1), fmod=bool(node.int("fmod", 0))))


def bit_shift(node: Node) -> SSAValue:
    """`ge.shift`."""
    return node.emit(ge.ShiftOp(node.operand(0), node.operand(1), direction=node.string("direction").lower()))


CONVERTERS: dict[str, Converter] = {
    "And": binary(ge.AndOp),
    "Or": binary(ge.OrOp),
    "Xor": binary(ge.XorOp),
    "BitwiseAnd": binary(ge.AndOp),
    "BitwiseOr": binary(ge.OrOp),
    "BitwiseXor": binary(ge.XorOp),
    "Equal": compare("eq"),
    "Less": compare("lt"),
    "LessOrEqual": compare("le"),
    "Greater": compare("gt"),
    "GreaterOrEqual": compare("ge"),
    "IsNaN": is_nan,
    "IsInf": is_inf,
    "Where": where,
    "Mod": mod,
    "BitShift": bit_shift,
}
