"""Comparison, choice, bits, remainders."""

from __future__ import annotations

import numpy as np

from graph_engine.dialects.ge.reference.rounding import Array, narrow, widen

_COMPARISONS = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


def compare(lhs: Array, rhs: Array, *, predicate: str) -> Array:
    """Whether lhs `predicate` rhs holds."""
    return np.asarray(_COMPARISONS[predicate](lhs, rhs))


def select(condition: Array, x: Array, y: Array) -> Array:
    """x where condition holds, else y."""
    return np.where(condition, x, y)


def bitwise_and(lhs: Array, rhs: Array) -> Array:
    """Both bits."""
    return np.asarray(np.bitwise_and(lhs, rhs))


def bitwise_or(lhs: Array, rhs: Array) -> Array:
    """One bit at least."""
    return np.asarray(np.bitwise_or(lhs, rhs))


def bitwise_xor(lhs: Array, rhs: Array) -> Array:
    """One bit of the two."""
    return np.asarray(np.bitwise_xor(lhs, rhs))


def shift(lhs: Array, rhs: Array, *, direction: str = "left") -> Array:
    """lhs moved by rhs bits; amounts outside [0, width) leave what the sign alone gives."""
    width = lhs.dtype.itemsize * 8
    inside = (rhs >= 0) & (rhs < width)
    amount = np.where(inside, rhs, 0).astype(lhs.dtype)
    if direction == "right":
        return np.where(inside, np.right_shift(lhs, amount), np.where(lhs < 0, -1, 0).astype(lhs.dtype))
    bits = np.dtype(f"u{lhs.dtype.itemsize}")
    moved = np.left_shift(lhs.astype(bits), amount.astype(bits)).astype(lhs.dtype)
    return np.where(inside, moved, lhs.dtype.type(0))


def mod(lhs: Array, rhs: Array, *, fmod: bool = False) -> Array:
    """What lhs / rhs leaves, with the sign of rhs or, if `fmod`, of lhs."""
    with np.errstate(all="ignore"):
        return narrow(np.asarray((np.fmod if fmod else np.mod)(widen(lhs), widen(rhs))), lhs.dtype)
