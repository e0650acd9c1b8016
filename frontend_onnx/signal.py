"""Signals: Fourier transforms, windows, mel weights. What only depends on sizes is a constant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xdsl.ir import SSAValue

from graph_engine.dialects.ge.elementwise import MulOp
from graph_engine.dialects.ge.indexing import GatherOp
from graph_engine.dialects.ge.interning import numpy_dtype
from graph_engine.dialects.ge.signal import DftOp
from graph_engine.frontend_onnx.dtypes import element_of_onnx
from graph_engine.frontend_onnx.node import Converter, Node, Unsupported, axis_of, shape_of, static_dim
from graph_engine.frontend_onnx.windows import reshape

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


def dft(node: Node) -> SSAValue:
    """`ge.dft`; the axis is an attribute before opset 20, an input since."""
    x = node.operand(0)
    rank = len(shape_of(x))
    if node.opset >= 20:
        axis = node.constant_ints(2, "the axis")[0] if node.has(2) else -2
    else:
        axis = node.int("axis", 1)
    axis = axis_of(axis, rank)
    inverse, onesided = bool(node.int("inverse", 0)), bool(node.int("onesided", 0))
    if node.has(1):
        length = node.constant_ints(1, "dft_length")[0]
    else:
        extent = static_dim(shape_of(x)[axis], "the extent of the transformed axis")
        length = 2 * (extent - 1) if inverse and onesided else extent
    return node.emit(DftOp(x, axis=axis, length=length, inverse=inverse, onesided=onesided))


def stft(node: Node) -> SSAValue:
    """Frames gathered by known places, times the window, through `ge.dft`."""
    import numpy as np

    x = node.operand(0)
    if len(shape_of(x)) == 2:
        x = reshape(node, x, (*shape_of(x), 1))
    extent = static_dim(shape_of(x)[1], "the length of the signal")
    step = node.constant_ints(1, "frame_step")[0]
    window = node.optional(2)
    if node.has(3):
        length = node.constant_ints(3, "frame_length")[0]
    else:
        length = extent if window is None else shape_of(window)[0]
    frames = 1 + (extent - length) // step
    if frames < 1:
        raise Unsupported(f"a frame of {length} elements does not fit into {extent}")
    places = np.arange(frames)[:, None] * step + np.arange(length)
    y = node.emit(GatherOp(x, node.keep_constant(places, f"{node.name}.places"), axis=1))
    if window is not None:
        if shape_of(window) != (length,):
            raise Unsupported(f"a window of {shape_of(window)} does not fit frames of {length}")
        y = node.emit(MulOp(y, reshape(node, window, (length, 1))))
    return node.emit(DftOp(y, axis=2, length=length, onesided=bool(node.int("onesided", 1))))


def _window(weights: Sequence[float]) -> Converter:
    """A sum of weights[k] * cos(2 pi k n / N)."""

    def window(node: Node) -> SSAValue:
        """A constant."""
        import numpy as np

        size = node.constant_ints(0, "the size")[0]
        period = size if node.int("periodic", 1) else size - 1
        angle = 2 * np.pi * np.arange(size) / max(1, period)
        total = sum((w * np.cos(k * angle) for k, w in enumerate(weights)), np.zeros(size))
        return node.keep_constant(total.astype(_output_type(node)), node.outputs[0])

    return window


def _output_type(node: Node) -> np.dtype[Any]:
    element = element_of_onnx(node.int("output_datatype", 1))
    if element is None:
        raise Unsupported(f"output_datatype {node.int('output_datatype')} is not known")
    return numpy_dtype(element)


def mel_weight_matrix(node: Node) -> SSAValue:
    """A constant."""
    bins, length, rate = (node.constant_ints(i, "every input")[0] for i in range(3))
    low, high = (float(node.constant(i, "every input").reshape(-1)[0]) for i in (3, 4))
    weights = mel_weights(bins, length, rate, low, high)
    return node.keep_constant(weights.astype(_output_type(node)), node.outputs[0])


def mel_weights(bins: int, length: int, rate: int, low: float, high: float) -> Array:
    """Triangles over the frequencies of a transform of `length` at sample `rate`, spaced evenly in mel from low to high Hz.

    mel = 2595 log10(1 + Hz / 700); result [length // 2 + 1, bins] (ONNX MelWeightMatrix).
    """
    import numpy as np

    first, last = (2595 * np.log10(1 + hertz / 700) for hertz in (low, high))
    mels = first + np.arange(bins + 2) * (last - first) / (bins + 2)
    edges = ((length + 1) * (700 * (10 ** (mels / 2595) - 1)) // rate).astype(int)
    frequency = np.arange(length // 2 + 1)[:, None]
    left, centre, right = edges[:-2], edges[1:-1], edges[2:]
    with np.errstate(divide="ignore", invalid="ignore"):
        rising = np.where(centre > left, (frequency - left) / (centre - left), frequency == centre)
        falling = (right - frequency) / (right - centre)
    weights = np.where((frequency >= left) & (frequency <= centre), rising, 0.0)
    return np.where((frequency >= centre) & (frequency < right), falling, weights)


CONVERTERS: dict[str, Converter] = {
    "DFT": dft,
    "STFT": stft,
    "HannWindow": _window((0.5, -0.5)),
    "HammingWindow": _window((25 / 46, -21 / 46)),
    "BlackmanWindow": _window((0.42, -0.5, 0.08)),
    "MelWeightMatrix": mel_weight_matrix,
}
