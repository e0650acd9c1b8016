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


def conv3d(
    x: Array,
    w: Array,
    b: Array | None = None,
    *,
    strides: Sequence[int] = (1, 1, 1),
    pads: Sequence[int] = (0, 0, 0, 0, 0, 0),
    dilations: Sequence[int] = (1, 1, 1),
    group: int = 1,
) -> Array:
    """x[N,C,D,H,W], w[O,C/group,kd,kh,kw], b[O] -> [N,O,D',H',W']: every slice in depth is a `conv2d` on its taps in depth."""
    if pads[0] or pads[3]:
        x = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[3]), (0, 0), (0, 0)))
    n, c, depth, height, width = x.shape
    o, _, kd, kh, kw = w.shape
    d = (depth - dilations[0] * (kd - 1) - 1) // strides[0] + 1
    first = [t * dilations[0] for t in range(kd)]
    taps = np.stack([x[:, :, f : f + (d - 1) * strides[0] + 1 : strides[0]] for f in first], 2)  # N C kd D' H W
    images = taps.transpose(0, 3, 1, 2, 4, 5).reshape(n * d, c * kd, height, width)
    y = conv2d(
        images,
        w.reshape(o, -1, kh, kw),
        b,
        strides=strides[1:],
        pads=(pads[1], pads[2], pads[4], pads[5]),
        dilations=dilations[1:],
        group=group,
    )
    return np.ascontiguousarray(y.reshape(n, d, *y.shape[1:]).swapaxes(1, 2))


def deform_conv2d(
    x: Array,
    w: Array,
    offset: Array,
    b: Array,
    mask: Array | None = None,
    *,
    strides: Sequence[int] = (1, 1),
    pads: Sequence[int] = (0, 0, 0, 0),
    dilations: Sequence[int] = (1, 1),
    group: int = 1,
    offset_group: int = 1,
) -> Array:
    """A convolution whose taps are read where `offset` moves them, bilinearly, and multiplied by `mask`."""
    n, c, height, width = x.shape
    o, _, kh, kw = w.shape
    h, v = offset.shape[2:]
    wide = widen(x).reshape(n, offset_group, c // offset_group, height * width)
    moved = widen(offset).astype(np.float64).reshape(n, offset_group, kh, kw, 2, h, v)
    rows = (np.arange(h) * strides[0] - pads[0])[:, None] + (np.arange(kh) * dilations[0])[:, None, None, None]
    columns = np.arange(v) * strides[1] - pads[1] + (np.arange(kw) * dilations[1])[:, None, None]
    down, right = moved[..., 0, :, :] + rows, moved[..., 1, :, :] + columns
    top, left = np.floor(down), np.floor(right)
    samples = np.zeros((n, offset_group, c // offset_group, kh * kw * h * v), wide.dtype)
    for i in range(2):
        for j in range(2):
            row, column = top + i, left + j
            weight = (1 - np.abs(down - row)) * (1 - np.abs(right - column))
            weight = weight * ((row >= 0) & (row < height) & (column >= 0) & (column < width))
            place = np.clip(row, 0, height - 1) * width + np.clip(column, 0, width - 1)
            place = place.astype(np.int64).reshape(n, offset_group, 1, -1)
            factor = weight.astype(wide.dtype).reshape(n, offset_group, 1, -1)
            samples += np.take_along_axis(wide, place, 3) * factor
    if mask is not None:
        samples *= widen(mask).reshape(n, offset_group, 1, -1)
    y = np.matmul(
        widen(w).reshape(group, o // group, -1), samples.reshape(n, group, c // group * kh * kw, h * v)
    ).reshape(n, o, h, v)
    return narrow(y + widen(b)[:, None, None], x.dtype)
