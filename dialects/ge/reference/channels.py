"""Channels put in another order."""

from __future__ import annotations

from graph_engine.dialects.ge.reference.rounding import Array


def channel_shuffle(x: Array, *, groups: int) -> Array:
    """Channel k * (C / groups) + c of x[N, C, ...] goes to c * groups + k."""
    batch, channels, *pixels = x.shape
    return x.reshape(batch, groups, channels // groups, *pixels).swapaxes(1, 2).reshape(x.shape)
