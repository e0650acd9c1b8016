"""Frequencies of signals, computed in fp32 (fp64 for fp64)."""

from __future__ import annotations

import numpy as np

from graph_engine.dialects.ge.reference.rounding import Array, narrow, widen


def dft(x: Array, *, axis: int, length: int, inverse: bool = False, onesided: bool = False) -> Array:
    """The discrete Fourier transform along `axis`; real and imaginary parts in the last axis."""
    axis %= x.ndim
    wide = widen(x)
    signal = wide[..., 0] + 1j * wide[..., 1] if x.shape[-1] == 2 else wide[..., 0]
    if inverse and onesided:
        return narrow(np.fft.irfft(signal, length, axis)[..., None], x.dtype)
    y = (np.fft.ifft if inverse else np.fft.fft)(signal, length, axis)
    if onesided:
        y = np.take(y, np.arange(length // 2 + 1), axis)
    return narrow(np.stack([y.real, y.imag], -1), x.dtype)
