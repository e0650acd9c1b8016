"""Channels put in another order, or side by side as pixels."""

from __future__ import annotations

from graph_engine.dialects.ge.reference.rounding import Array


def channel_shuffle(x: Array, *, groups: int) -> Array:
    """Channel k * (C / groups) + c of x[N, C, ...] goes to c * groups + k."""
    batch, channels, *pixels = x.shape
    return x.reshape(batch, groups, channels // groups, *pixels).swapaxes(1, 2).reshape(x.shape)


def depth_to_space(x: Array, *, blocks: list[int], mode: str) -> Array:
    """x[N, sh * sw * C, H, W] as [N, C, H * sh, W * sw]; the channels are (sh, sw, C) in mode DCR, (C, sh, sw) in CRD."""
    n, channels, h, w = x.shape
    rows, columns = blocks
    depth = channels // (rows * columns)
    if mode == "DCR":
        y = x.reshape(n, rows, columns, depth, h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        y = x.reshape(n, depth, rows, columns, h, w).transpose(0, 1, 4, 2, 5, 3)
    return y.reshape(n, depth, h * rows, w * columns)
