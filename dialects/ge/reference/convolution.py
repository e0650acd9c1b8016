"""Convolution by img2col and one matrix product per group."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graph_engine.dialects.ge.reference.rounding import Array, narrow, widen


def conv2d(
    x: Array,
    w: Array,
    b: Array | None = None,
    *,
    strides: Sequence[int] = (1, 1),
    pads: Sequence[int] = (0, 0, 0, 0),
    dilations: Sequence[int] = (1, 1),
    group: int = 1,
) -> Array:
    """x[N,C,H,W], w[O,C/group,kh,kw], b[O] -> [N,O,H',W'], as ONNX Conv."""
    dtype = x.dtype
    x, w = widen(x), widen(w)
    if any(pads):
        x = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    n, c, height, width = x.shape
    o, _, kh, kw = w.shape
    (sh, sw), (dh, dw) = strides, dilations
    h = (height - dh * (kh - 1) - 1) // sh + 1
    v = (width - dw * (kw - 1) - 1) // sw + 1

    def tap(i: int, j: int) -> Array:
        """The input element under kernel element (i, j), for every output position."""
        return x[:, :, i * dh : i * dh + (h - 1) * sh + 1 : sh, j * dw : j * dw + (v - 1) * sw + 1 : sw]

    if group == c and o == c and group > 1:  # depthwise: no sums over channels, so no matrix product
        y = np.zeros((n, o, h, v), x.dtype)
        for i in range(kh):
            for j in range(kw):
                y += tap(i, j) * w[:, 0, i, j, None, None]
    else:
        y = np.empty((n, o, h, v), np.result_type(x, w))
        rows = w.reshape(group, o // group, -1)
        if kh == kw == 1:
            columns = tap(0, 0).reshape(n, group, c // group, h * v)
            np.matmul(rows, columns, out=y.reshape(n, group, o // group, h * v))
        else:
            columns = np.empty((c, kh, kw, h, v), x.dtype)
            for image in range(n):
                for i in range(kh):
                    for j in range(kw):
                        columns[:, i, j] = tap(i, j)[image]
                np.matmul(
                    rows,
                    columns.reshape(group, c // group * kh * kw, h * v),
                    out=y[image].reshape(group, o // group, h * v),
                )
    if b is not None:
        y += widen(b)[:, None, None]
    return narrow(y, dtype)
