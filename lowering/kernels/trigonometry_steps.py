"""Circular and hyperbolic functions and their inverses in fp32: the argument is reduced, then a polynomial follows.

The polynomials are odd, x * sum of c[k] x^(2k), fitted for this file at least relative error (given beside them); what the
fp32 steps around them round comes on top, a few 2^-24.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import pi

from xdsl.ir import SSAValue

from graph_engine.lowering.kernels.activation_steps import polynomial
from graph_engine.lowering.kernels.step import Work
from graph_engine.target_ascend.isa.model import DType

PI_PARTS = (3.140625, 0.0009670257568359375, 6.277114152908325e-07, 1.2154188766544394e-10)
"""Parts of pi with few bits: n times the first three is exact for n < 2^13, and nearly so up to fp16's largest / pi."""

SINE = (1.0, -0.16666667, 0.008333331, -0.00019840834, 2.7523981e-06, -2.386883e-08)
"""For |x| <= pi / 2, within 2e-11."""
ARC_TANGENT = (
    *(0.99999988, -0.33331993, 0.19969754, -0.14019622),
    *(0.09914635, -0.05949085, 0.024255358, -0.00469406),
)
"""For |x| <= 1, within 1e-7."""
HYPERBOLIC_SINE = (1.0, 0.16666667, 0.008333352, 0.00019835815, 2.8185127e-06)
"""For |x| <= 1, within 5e-11."""
AREA_SINE = (1.0, -0.16666634, 0.07498432, -0.044363987, 0.028085921, -0.013115359)
"""For |x| <= 1/2, within 2e-9."""
AREA_TANGENT = (1.0, 0.33333904, 0.19974235, 0.14706071, 0.080946915, 0.18392028)
"""For |x| <= 1/2, within 3e-8."""


def _odd(work: Work, x: SSAValue, coefficients: Sequence[float]) -> SSAValue:
    """x times a polynomial in x^2."""
    square, value = work.vec("mul", x, x), work.take()
    polynomial(work.kb, value, square, coefficients)
    return work.vec("mul", value, x)


def _whole(work: Work, x: SSAValue, mnemonic: str = "conv") -> SSAValue:
    """x rounded to an integer, as a number."""
    return work.vec("conv", work.vec(mnemonic, x, dtype=DType.I32))


def _sine(work: Work, x: SSAValue, quarter: float) -> SSAValue:
    """sin(x + quarter * pi): x is brought next to 0 by whole multiples of pi, every other one changes the sign.

    Absolute error below 2e-7 for |x| < 25,000, 1e-5 up to the largest fp16.
    """
    turns = _whole(work, work.vec("adds", work.vec("muls", x, imm=1 / pi), imm=quarter))
    shift = work.vec("adds", turns, imm=-quarter)
    rest = x
    for part in PI_PARTS:
        rest = work.vec("sub", rest, work.vec("muls", shift, imm=part))
    pairs = _whole(work, work.vec("muls", turns, imm=0.5), "convf")
    odd = work.vec("sub", turns, work.vec("muls", pairs, imm=2.0))
    sign = work.vec("adds", work.vec("muls", odd, imm=-2.0), imm=1.0)
    return work.vec("mul", _odd(work, rest, SINE), sign)


def sine(work: Work, x: SSAValue) -> SSAValue:
    """sin x."""
    return _sine(work, x, 0.0)


def cosine(work: Work, x: SSAValue) -> SSAValue:
    """cos x."""
    return _sine(work, x, 0.5)


def tangent(work: Work, x: SSAValue) -> SSAValue:
    """sin x / cos x."""
    return work.vec("div", sine(work, x), cosine(work, x))


def arc_tangent(work: Work, x: SSAValue) -> SSAValue:
    """Of |x| > 1: pi / 2 - atan(1 / |x|), with the sign of x."""
    size = work.vec("abs", x)
    large = work.compare("gt", size, work.constant(1.0))
    near = _odd(work, work.vec("sel", large, work.vec("rec", size), size), ARC_TANGENT)
    far = work.vec("adds", work.vec("muls", near, imm=-1.0), imm=pi / 2)
    return _signed(work, work.vec("sel", large, far, near), x)


def _signed(work: Work, size: SSAValue, x: SSAValue) -> SSAValue:
    """`size` with the sign of x."""
    negative = work.compare("lt", x, work.constant(0.0))
    return work.vec("sel", negative, work.vec("muls", size, imm=-1.0), size)


def arc_sine(work: Work, x: SSAValue) -> SSAValue:
    """atan(x / sqrt((1 - x)(1 + x)))."""
    below, above = work.vec("adds", work.vec("muls", x, imm=-1.0), imm=1.0), work.vec("adds", x, imm=1.0)
    return arc_tangent(work, work.vec("div", x, work.vec("sqrt", work.vec("mul", below, above))))


def arc_cosine(work: Work, x: SSAValue) -> SSAValue:
    """pi / 2 - asin x: an absolute error of 2e-7."""
    return work.vec("adds", work.vec("muls", arc_sine(work, x), imm=-1.0), imm=pi / 2)


def _exponentials(work: Work, x: SSAValue, mnemonic: str) -> SSAValue:
    """exp(x) / 2 plus or minus exp(-x) / 2."""
    power = work.vec("exp", x)
    return work.vec("muls", work.vec(mnemonic, power, work.vec("rec", power)), imm=0.5)


def hyperbolic_cosine(work: Work, x: SSAValue) -> SSAValue:
    """(exp x + exp -x) / 2."""
    return _exponentials(work, x, "add")


def _near(work: Work, x: SSAValue, limit: float, coefficients: Sequence[float], far: SSAValue) -> SSAValue:
    """The polynomial where |x| <= limit, else `far`."""
    small = work.compare("le", work.vec("abs", x), work.constant(limit))
    return work.vec("sel", small, _odd(work, x, coefficients), far)


def hyperbolic_sine(work: Work, x: SSAValue) -> SSAValue:
    """(exp x - exp -x) / 2, by a polynomial where the two cancel."""
    return _near(work, x, 1.0, HYPERBOLIC_SINE, _exponentials(work, x, "sub"))


def area_sine(work: Work, x: SSAValue) -> SSAValue:
    """ln(|x| + sqrt(x^2 + 1)) with the sign of x."""
    size = work.vec("abs", x)
    root = work.vec("sqrt", work.vec("adds", work.vec("mul", x, x), imm=1.0))
    return _near(work, x, 0.5, AREA_SINE, _signed(work, work.vec("ln", work.vec("add", size, root)), x))


def area_cosine(work: Work, x: SSAValue) -> SSAValue:
    """ln(x + sqrt((x - 1)(x + 1))): an absolute error of 1e-7 next to 1."""
    root = work.vec("sqrt", work.vec("mul", work.vec("adds", x, imm=-1.0), work.vec("adds", x, imm=1.0)))
    return work.vec("ln", work.vec("add", x, root))


def area_tangent(work: Work, x: SSAValue) -> SSAValue:
    """ln((1 + x) / (1 - x)) / 2."""
    below, above = work.vec("adds", work.vec("muls", x, imm=-1.0), imm=1.0), work.vec("adds", x, imm=1.0)
    far = work.vec("muls", work.vec("ln", work.vec("div", above, below)), imm=0.5)
    return _near(work, x, 0.5, AREA_TANGENT, far)


FUNCTIONS: dict[str, Callable[[Work, SSAValue], SSAValue]] = {
    "ge.sin": sine,
    "ge.cos": cosine,
    "ge.tan": tangent,
    "ge.asin": arc_sine,
    "ge.acos": arc_cosine,
    "ge.atan": arc_tangent,
    "ge.sinh": hyperbolic_sine,
    "ge.cosh": hyperbolic_cosine,
    "ge.asinh": area_sine,
    "ge.acosh": area_cosine,
    "ge.atanh": area_tangent,
}
"""The function of an operator."""
