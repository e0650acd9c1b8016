"""Activation functions as vector instructions, in fp32 but for PRelu.

The destination may be the buffer of an operand, so an operand is read no more once the destination is written; the
sources go on with the temporary buffers that the operator asks for. A quotient whose divisor overflows is 0, as it must
be: x * sigmoid(x) is written x / (1 + exp(-x)). Polynomials were fitted for this file, least relative error on a fine
grid, coefficients of rising powers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import pi, sqrt
from typing import TypeAlias

from xdsl.ir import SSAValue

from graph_engine.lowering.kernels.builder import KernelBuilder

Attributes: TypeAlias = Mapping[str, float]

ERF_NUMERATOR = (1.128384410983892, 0.16336499663005022, 0.047230265873683314, 1.0737835776225674e-3, -4.506576860e-6)
ERF_DENOMINATOR = (1.0, 0.4782109938501216, 0.10091608172380384, 0.011049298387110627)
"""erf(x) / x in x^2 for |x| <= 4, within 5e-6."""

TAIL = (
    *(-0.6931439638137817, -0.7979846000671387, -0.3177901804447174, -0.03739279881119728),
    *(0.005891222041100264, -0.0006430912762880325, 4.240491034579463e-05, -1.254506059922278e-06),
)
"""ln(erfc(t / sqrt 2) / 2) in t for t in [0, 5.6], within 3.2e-6; falls on beyond, where t times the tail is below 6e-8."""


def polynomial(kb: KernelBuilder, dst: SSAValue, t: SSAValue, coefficients: Sequence[float]) -> None:
    """dst = coefficients[0] + coefficients[1] t + ..., by Horner's rule."""
    *rest, last = coefficients
    kb.vec("muls", dst, t, imm=last)
    for number, coefficient in enumerate(reversed(rest)):
        if number:
            kb.vec("mul", dst, dst, t)
        kb.vec("adds", dst, dst, imm=coefficient)


def swish(kb: KernelBuilder, dst: SSAValue, src: Sequence[SSAValue], attributes: Attributes) -> None:
    """x / (1 + exp(-alpha x))."""
    x, t = src
    kb.vec("muls", t, x, imm=-attributes["alpha"])
    kb.vec("exp", t, t)
    kb.vec("adds", t, t, imm=1.0)
    kb.vec("div", dst, x, t)


def hard_sigmoid(kb: KernelBuilder, dst: SSAValue, src: Sequence[SSAValue], attributes: Attributes) -> None:
    """min(max(alpha x + beta, 0), 1)."""
    kb.vec("muls", dst, src[0], imm=attributes["alpha"])
    kb.vec("adds", dst, dst, imm=attributes["beta"])
    kb.vec("maxs", dst, dst, imm=0.0)
    kb.vec("mins", dst, dst, imm=1.0)


def hard_swish(kb: KernelBuilder, dst: SSAValue, src: Sequence[SSAValue], attributes: Attributes) -> None:
    """x * min(max(x / 6 + 1/2, 0), 1)."""
    x, t = src
    hard_sigmoid(kb, t, [x], {"alpha": 1 / 6, "beta": 0.5})
    kb.vec("mul", dst, x, t)


def softplus(kb: KernelBuilder, dst: SSAValue, src: Sequence[SSAValue], attributes: Attributes) -> None:
    """max(x, 0) + ln(1 + exp(-|x|)); within 6e-8, the step of fp32 at 1."""
    x, t = src
    kb.vec("abs", t, x)
    kb.vec("muls", t, t, imm=-1.0)
    kb.vec("exp", t, t)
    kb.vec("adds", t, t, imm=1.0)
    kb.vec("ln", t, t)
    kb.vec("maxs", dst, x, imm=0.0)
    kb.vec("add", dst, dst, t)


def mish(kb: KernelBuilder, dst: SSAValue, src: Sequence[SSAValue], attributes: Attributes) -> None:
    """x * n / (n + 2) with n = e (e + 2), e = exp(x): tanh(ln(1 + e)) without the logarithm; at 20 it is 1."""
    x, t, u = src
    kb.vec("mins", t, x, imm=20.0)
    kb.vec("exp", t, t)
    kb.vec("adds", u, t, imm=2.0)
    kb.vec("mul", t, t, u)
    kb.vec("adds", u, t, imm=2.0)
    kb.vec("div", t, t, u)
    kb.vec("mul", dst, x, t)


def elu(kb: KernelBuilder, dst: SSAValue, src: Sequence[SSAValue], attributes: Attributes) -> None:
    """scale max(x, 0) + scale alpha (exp(input_scale min(x, 0)) - 1)."""
    x, t = src
    scale = attributes["scale"]
    kb.vec("mins", t, x, imm=0.0)
    kb.vec("muls", t, t, imm=attributes["input_scale"])
    kb.vec("exp", t, t)
    kb.vec("adds", t, t, imm=-1.0)
    kb.vec("muls", t, t, imm=scale * attributes["alpha"])
    kb.vec("maxs", dst, x, imm=0.0)
    kb.vec("muls", dst, dst, imm=scale)
    kb.vec("add", dst, dst, t)


def erf(kb: KernelBuilder, dst: SSAValue, src: Sequence[SSAValue], attributes: Attributes) -> None:
    """x N(x^2) / D(x^2) for |x| cut at 4, where erf is 1 to fp32's last bit but one."""
    x, square, t = src
    kb.vec("maxs", dst, x, imm=-4.0)
    kb.vec("mins", dst, dst, imm=4.0)
    kb.vec("mul", square, dst, dst)
    polynomial(kb, t, square, ERF_NUMERATOR)
    kb.vec("mul", dst, dst, t)
    polynomial(kb, t, square, ERF_DENOMINATOR)
    kb.vec("div", dst, dst, t)


def gelu(kb: KernelBuilder, dst: SSAValue, src: Sequence[SSAValue], attributes: Attributes) -> None:
    """By tanh: x / (1 + exp(-sqrt(8 / pi) (x + 0.044715 x^3))). Exactly: max(x, 0) - |x| / 2 erfc(|x| / sqrt 2), the
    tail as the exponential of a polynomial, which keeps its digits."""
    x, t, *more = src
    if not more:
        slope = -sqrt(8 / pi)
        kb.vec("mul", t, x, x)
        kb.vec("muls", t, t, imm=slope * 0.044715)
        kb.vec("adds", t, t, imm=slope)
        kb.vec("mul", t, t, x)
        kb.vec("exp", t, t)
        kb.vec("adds", t, t, imm=1.0)
        kb.vec("div", dst, x, t)
        return
    (tail,) = more
    kb.vec("abs", t, x)
    kb.vec("maxs", dst, x, imm=0.0)
    polynomial(kb, tail, t, TAIL)
    kb.vec("exp", tail, tail)
    kb.vec("mul", tail, tail, t)
    kb.vec("sub", dst, dst, tail)


def gelu_temporaries(attributes: Attributes) -> int:
    """Buffers that `gelu` takes."""
    return 1 if attributes["tanh"] else 2


def prelu(kb: KernelBuilder, dst: SSAValue, src: Sequence[SSAValue], attributes: Attributes) -> None:
    """max(x, 0) + slope min(x, 0): one of the two is 0, so that nothing is rounded twice."""
    x, slope, t = src
    kb.vec("mins", t, x, imm=0.0)
    kb.vec("mul", t, t, slope)
    kb.vec("maxs", dst, x, imm=0.0)
    kb.vec("add", dst, dst, t)
