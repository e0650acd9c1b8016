"""Taking taps off a filter that meet padding alone changes no result."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_engine.dialects.ge.reference import evaluate
from graph_engine.transforms.drop_dead_taps import taps_that_read


@settings(max_examples=200, deadline=None)
@given(
    st.integers(1, 7), st.integers(1, 5), st.integers(1, 3), st.integers(1, 9), st.integers(0, 20), st.integers(0, 20)
)
def test_the_smaller_filter_gives_the_same(
    image: int, kernel: int, stride: int, dilation: int, begin: int, end: int
) -> None:
    if (room := image + begin + end - dilation * (kernel - 1) - 1) < 0:
        return
    kept = taps_that_read(image, room // stride + 1, kernel, stride, dilation, begin, end)
    rng = np.random.default_rng(image)
    x, w = rng.standard_normal((1, 1, 1, image)), rng.standard_normal((1, 1, 1, kernel))

    def conv(taps: range) -> np.ndarray:
        pads = begin - taps.start * dilation, end - (kernel - taps.stop) * dilation
        assert min(pads) >= 0
        attributes = {"pads": [0, pads[0], 0, pads[1]], "strides": [1, stride], "dilations": [1, dilation], "group": 1}
        inputs = [x.astype(np.float32), w[..., taps.start : taps.stop].astype(np.float32)]
        return evaluate("ge.conv2d", inputs, attributes)[0]

    padded = np.pad(x[0, 0, 0], (begin, end))
    outputs = range(0, room + 1, stride)
    sums = [sum(w[0, 0, 0, tap] * padded[out + tap * dilation] for tap in range(kernel)) for out in outputs]
    np.testing.assert_allclose(conv(kept)[0, 0, 0], sums, rtol=1e-5, atol=1e-5)
