"""The functional engine against numpy: every group of instructions, and a whole convolution kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models.kernel_builder import F16, F32, KernelBuilder, slot

from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.chip.functional import FunctionalEngine
from graph_engine.target_ascend.chip.memory import GlobalMemory
from graph_engine.target_ascend.isa.encoding import decode_kernel, encode_kernel
from graph_engine.target_ascend.isa.model import Blocks, DType, Kernel, Opcode, Pipe, Space
from graph_engine.target_ascend.om.program import Location, Segment
from graph_engine.target_ascend.soc.soc import load_soc

MODES = pytest.mark.parametrize("real_bytes", [False, True], ids=["typed", "bytes"])


def run(kernel: Kernel, inputs: list[Any], outputs: list[int], real_bytes: bool = False) -> list[Any]:
    """Binds the inputs, then outputs of the given byte sizes, as launch arguments; gives the outputs' bytes."""
    gm = GlobalMemory(real_bytes=real_bytes)
    for i, array in enumerate(inputs):
        gm.add(Segment.INPUT, i, array)
    for i, size in enumerate(outputs):
        gm.add(Segment.OUTPUT, i, size)
    args = [Location(Segment.INPUT, i, 0) for i in range(len(inputs))]
    args += [Location(Segment.OUTPUT, i, 0) for i in range(len(outputs))]
    FunctionalEngine(load_soc("Ascend310P3"), gm, real_bytes=real_bytes).launch(kernel, tuple(args))
    return [gm.read(Location(Segment.OUTPUT, i, 0), size) for i, size in enumerate(outputs)]


def vector_case(
    opcode: Opcode, arrays: list[Any], dtype: DType, out_dtype: DType, out_sizes: tuple[int, ...], **fields: Any
) -> Any:
    """Runs one vector instruction on arrays brought to UB."""
    b = KernelBuilder()
    args = [b.arg(a.nbytes) for a in arrays]
    size = int(np.prod(out_sizes)) * out_dtype.bytes
    result = b.arg(size, "w")
    sources = []
    for arg, array in zip(args, arrays, strict=True):
        view = b.view(b.alloc(Space.UB, array.nbytes), array.shape, dtype)
        b.copy(view, b.view(arg, array.shape, dtype))
        sources.append(view)
    out = b.view(b.alloc(Space.UB, size), out_sizes, out_dtype)
    b.emit(opcode, out, *sources, **fields)
    b.copy(b.view(result, out_sizes, out_dtype), out)
    return b.build(), arrays, size


def half(x: Any) -> Any:
    """numpy's own rounding, saturating."""
    with np.errstate(over="ignore"):
        return np.clip(np.asarray(x, np.float32).astype(np.float16), -65504, 65504)


RNG = np.random.default_rng(7)
X = half(RNG.normal(size=(3, 5, 16)) * 4)
Y = half(RNG.normal(size=(3, 5, 16)) * 4)


@MODES
def test_one_instruction_in_several_places_runs_in_each(real_bytes: bool) -> None:
    b = KernelBuilder()
    source, result = b.arg(X.nbytes), b.arg(X.nbytes, "w")
    view = b.view(b.alloc(Space.UB, X.nbytes), X.shape, F16)
    b.copy(view, b.view(source, X.shape, F16))
    for _ in range(3):
        b.emit(Opcode.VADDS, view, view, immediate=0.3)
    b.copy(b.view(result, X.shape, F16), view)
    kernel = decode_kernel(encode_kernel(b.build()))
    (block,) = kernel.body
    assert isinstance(block, Blocks)
    assert len(set(map(id, block.body))) == len(block.body) - 2
    (raw,) = run(kernel, [X], [X.nbytes], real_bytes)
    expected = X
    for _ in range(3):
        expected = half(expected.astype(np.float32) + np.float32(np.float16(0.3)))
    assert np.array_equal(raw.view(np.float16).reshape(X.shape), expected)


@MODES
@pytest.mark.parametrize(
    ("opcode", "count", "immediate", "expected"),
    [
        (Opcode.VADD, 2, 0.0, lambda x, y: x + y),
        (Opcode.VSUB, 2, 0.0, lambda x, y: x - y),
        (Opcode.VMUL, 2, 0.0, lambda x, y: x * y),
        (Opcode.VDIV, 2, 0.0, lambda x, y: x / y),
        (Opcode.VMAX, 2, 0.0, np.maximum),
        (Opcode.VMIN, 2, 0.0, np.minimum),
        (Opcode.VADDS, 1, 1.5, lambda x: x + 1.5),
        (Opcode.VMULS, 1, 0.1, lambda x: x * np.float32(np.float16(0.1))),
        (Opcode.VMAXS, 1, 0.25, lambda x: np.maximum(x, 0.25)),
        (Opcode.VMINS, 1, 0.25, lambda x: np.minimum(x, 0.25)),
        (Opcode.VLRELU, 1, 0.125, lambda x: np.where(x >= 0, x, x * 0.125)),
        (Opcode.VRELU, 1, 0.0, lambda x: np.maximum(x, 0)),
        (Opcode.VEXP, 1, 0.0, np.exp),
        (Opcode.VLN, 1, 0.0, np.log),
        (Opcode.VSQRT, 1, 0.0, np.sqrt),
        (Opcode.VRSQRT, 1, 0.0, lambda x: 1 / np.sqrt(x)),
        (Opcode.VREC, 1, 0.0, lambda x: 1 / x),
        (Opcode.VABS, 1, 0.0, np.abs),
    ],
)
def test_elementwise_half_rounds_once(
    opcode: Opcode, count: int, immediate: float, expected: Any, real_bytes: bool
) -> None:
    arrays = [X, Y][:count]
    if opcode in (Opcode.VLN, Opcode.VSQRT, Opcode.VRSQRT):
        arrays = [np.abs(X) + np.float16(0.01)]
    kernel, inputs, size = vector_case(opcode, arrays, F16, F16, X.shape, immediate=immediate)
    (raw,) = run(kernel, inputs, [size], real_bytes)
    wanted = half(expected(*[a.astype(np.float32) for a in arrays]))
    got = raw.view(np.float16).reshape(X.shape)
    if opcode in (Opcode.VEXP, Opcode.VLN, Opcode.VRSQRT):
        np.testing.assert_allclose(got, wanted, rtol=1e-3)
    else:
        np.testing.assert_array_equal(got, wanted)


@MODES
@pytest.mark.parametrize(("opcode", "function"), [(Opcode.VAND, np.bitwise_and), (Opcode.VOR, np.bitwise_or)])
def test_bits(opcode: Opcode, function: Any, real_bytes: bool) -> None:
    """Integers alone have bits that join."""
    arrays = [array.view(np.int16) for array in (X, Y)]
    kernel, inputs, size = vector_case(opcode, arrays, DType.I16, DType.I16, X.shape)
    (raw,) = run(kernel, inputs, [size], real_bytes)
    np.testing.assert_array_equal(raw.view(np.int16).reshape(X.shape), function(*arrays))
    with pytest.raises(GraphEngineError, match="does not take f16"):
        run(*vector_case(opcode, [X, Y], F16, F16, X.shape)[:2], [size], real_bytes)


@MODES
@pytest.mark.parametrize(
    ("opcode", "function"), [(Opcode.VCADD, np.sum), (Opcode.VCMAX, np.max), (Opcode.VCMIN, np.min)]
)
def test_reduce_innermost_axis(opcode: Opcode, function: Any, real_bytes: bool) -> None:
    kernel, inputs, size = vector_case(opcode, [X], F16, F16, (3, 5, 1))
    (raw,) = run(kernel, inputs, [size], real_bytes)
    np.testing.assert_allclose(
        raw.view(np.float16), half(function(X.astype(np.float64), axis=-1)).reshape(-1), rtol=1e-3
    )


@MODES
@pytest.mark.parametrize(
    ("source", "target", "values", "expected"),
    [
        (F32, F16, np.float32([1e9, -1e9, 1e-8, 65519, 0.1]), np.float16([65504, -65504, 0, 65504, 0.1])),
        (F16, F32, np.float16([65504, -2.0**-24, 0.1]), np.float32([65504, -(2.0**-24), np.float16(0.1)])),
        (F32, DType.I32, np.float32([0.5, 1.5, -2.5, 3e9, -3e9, np.nan]), np.int32([0, 2, -2, 2**31 - 1, -(2**31), 0])),
        (F16, DType.I8, np.float16([0.5, 127.5, -300, 3.5]), np.int8([0, 127, -128, 4])),
        (F16, DType.U8, np.float16([-1, 255.5, 300, 2.5]), np.uint8([0, 255, 255, 2])),
        (DType.I32, F32, np.int32([2**24 + 1, -5]), np.float32([2**24, -5])),
        (DType.I32, F16, np.int32([70000, 2049, -2051]), np.float16([65504, 2048, -2052])),
        (DType.U8, F16, np.uint8([0, 255, 7]), np.float16([0, 255, 7])),
    ],
)  # fmt: skip
def test_convert(source: DType, target: DType, values: Any, expected: Any, real_bytes: bool) -> None:
    kernel, inputs, size = vector_case(Opcode.VCONV, [values], source, target, values.shape)
    (raw,) = run(kernel, inputs, [size], real_bytes)
    np.testing.assert_array_equal(raw.view(target.numpy), expected)


@MODES
def test_transpose_and_dup(real_bytes: bool) -> None:
    x = half(RNG.normal(size=(2, 32, 48)))
    b = KernelBuilder()
    arg, out = b.arg(x.nbytes), b.arg(x.nbytes, "w")
    u, v = b.alloc(Space.UB, x.nbytes), b.alloc(Space.UB, x.nbytes)
    b.copy(b.view(u, x.shape), b.view(arg, x.shape))
    b.emit(Opcode.VTRANS, b.view(v, (2, 48, 32)), b.view(u, x.shape))
    b.emit(Opcode.VDUP, b.view(v, (1, 4, 32)), immediate=0.1)
    b.copy(b.view(out, (2, 48, 32)), b.view(v, (2, 48, 32)))
    (raw,) = run(b.build(), [x], [x.nbytes], real_bytes)
    wanted = x.transpose(0, 2, 1).copy()
    wanted[0, :4] = 0.1
    np.testing.assert_array_equal(raw.view(np.float16).reshape(2, 48, 32), wanted)


def conv_kernel(
    c1: int, hw: int, k: int, stride: int, pad: int, n1: int, tiles: int, k_steps: int, block_dim: int
) -> tuple[Kernel, int, int]:
    """A convolution: m split over blocks and a loop, K in steps; all of input and weights in L1."""
    out = (hw + 2 * pad - k) // stride + 1
    m1 = -(-out * out // (16 * tiles * block_dim))
    k1 = c1 * k * k
    step = k1 // k_steps
    rows = block_dim * tiles * m1 * 16
    b = KernelBuilder("conv", block_dim)
    x = b.arg(c1 * hw * hw * 32)
    w = b.arg(k1 * n1 * 512)
    y = b.arg(n1 * rows * 32, "w")
    xl, wl = b.alloc(Space.L1, c1 * hw * hw * 32), b.alloc(Space.L1, k1 * n1 * 512)
    la, lb = b.alloc(Space.L0A, m1 * step * 512), b.alloc(Space.L0B, step * n1 * 512)
    lc, ub = b.alloc(Space.L0C, m1 * n1 * 1024), b.alloc(Space.UB, m1 * n1 * 512)
    b.copy(b.view(xl, (c1, hw, hw, 16)), b.view(x, (c1, hw, hw, 16)))
    b.copy(b.view(wl, (k1, n1, 16, 16)), b.view(w, (k1, n1, 16, 16)))
    b.sync(Pipe.MTE2, Pipe.MTE1)
    with b.loop(tiles):
        start = slot(1, m1 * 16) + slot(0, tiles * m1 * 16)
        with b.loop(k_steps):
            b.emit(
                Opcode.LOAD3D,
                b.view(la, (m1, step, 16, 16)),
                b.view(xl, (c1, hw, hw, 16)),
                params=(hw, hw, k, k, stride, stride, 1, 1, pad, pad, out, start, slot(2, step)),
            )
            b.emit(
                Opcode.LOAD2D,
                b.view(lb, (step, n1, 16, 16)),
                b.view(wl, (step, n1, 16, 16), offset=slot(2, step * n1 * 256)),
                params=(0,),
            )
            b.sync(Pipe.MTE1, Pipe.M)
            b.emit(
                Opcode.MMAD,
                b.view(lc, (n1, m1, 16, 16), F32),
                b.view(la, (m1, step, 16, 16)),
                b.view(lb, (step, n1, 16, 16)),
                params=(m1 * 16, step * 16, n1 * 16),
                first_of=(2,),
            )
            b.sync(Pipe.M, Pipe.MTE1)
        b.sync(Pipe.M, Pipe.V)
        b.emit(Opcode.VCONV, b.view(ub, (n1, m1, 16, 16)), b.view(lc, (n1, m1, 16, 16), F32))
        b.emit(Opcode.VRELU, b.view(ub, (n1, m1, 16, 16)), b.view(ub, (n1, m1, 16, 16)))
        b.sync(Pipe.V, Pipe.M)
        b.sync(Pipe.V, Pipe.MTE3)
        b.copy(
            b.view(y, (n1, m1 * 256), offset=slot(1, m1 * 256) + slot(0, tiles * m1 * 256), strides=(rows * 16, 1)),
            b.view(ub, (n1, m1 * 256)),
        )
        b.sync(Pipe.MTE3, Pipe.V)
    return b.build(), rows, out  # fmt: skip


@MODES
@pytest.mark.parametrize(
    ("dtype", "value", "bits"),
    [
        *((F16, value, bits) for value, bits in ((0.0, 0), (-2.0, 0xC000), (0.1, 0x2E66), (1e6, 0x7BFF))),
        *((DType.BF16, value, bits) for value, bits in ((0.0, 0), (-2.0, 0xC000), (0.1, 0x3DCD))),
        *((DType.I8, value, bits) for value, bits in ((0.0, 0), (-2.0, 0xFE))),
    ],
)
def test_what_lies_outside_an_image_is_the_immediate_in_its_type(
    dtype: DType, value: float, bits: int, real_bytes: bool
) -> None:
    c0 = 32 // dtype.bytes
    b = KernelBuilder()
    x, y = b.arg(16 * 32), b.arg(9 * 16 * 32, "w")
    image, windows = b.alloc(Space.L1, 16 * 32), b.alloc(Space.L0A, 9 * 16 * 32)
    pixels, sizes = (1, 4, 4, c0), (1, 9, 16, c0)
    b.copy(b.view(image, pixels, dtype), b.view(x, pixels, dtype))
    params = (4, 4, 3, 3, 1, 1, 1, 1, 1, 1, 4, 0, 0)
    b.emit(Opcode.LOAD3D, b.view(windows, sizes, dtype), b.view(image, pixels, dtype), params=params, immediate=value)
    b.emit(Opcode.COPY, b.view(y, sizes, dtype), b.view(windows, sizes, dtype), pipe=Pipe.MTE3)
    (out,) = run(b.build(), [np.ones(16 * 32, np.uint8)], [9 * 16 * 32], real_bytes)
    # The first tap of the first position lies outside, the fifth on the first pixel.
    rows = out.reshape(9, 16, 32)
    assert (rows[0, 0].view(f"uint{8 * dtype.bytes}") == bits).all() and (rows[4, 0] == 1).all()


@MODES
@pytest.mark.parametrize(("k", "stride", "pad"), [(1, 1, 0), (3, 1, 1), (3, 2, 1), (5, 2, 2), (1, 2, 0)])
def test_convolution_kernel(k: int, stride: int, pad: int, real_bytes: bool) -> None:
    c1, hw, n1 = 2, 14, 3
    kernel, rows, out = conv_kernel(c1, hw, k, stride, pad, n1, tiles=2, k_steps=2, block_dim=2)
    x = half(RNG.normal(size=(c1 * 16, hw, hw)))
    w = half(RNG.normal(size=(n1 * 16, c1 * 16, k, k)) / k)
    packed_x = x.reshape(c1, 16, hw, hw).transpose(0, 2, 3, 1)
    packed_w = w.reshape(n1, 16, c1, 16, k, k).transpose(2, 4, 5, 0, 1, 3)
    (raw,) = run(kernel, [packed_x, packed_w], [n1 * rows * 32], real_bytes)
    got = raw.view(np.float16).reshape(n1, rows, 16)[:, : out * out].transpose(0, 2, 1).reshape(n1 * 16, out, out)
    padded = np.pad(x.astype(np.float64), ((0, 0), (pad, pad), (pad, pad)))
    wanted = np.zeros((n1 * 16, out, out))
    for i in range(k):
        for j in range(k):
            window = padded[:, i : i + stride * out : stride, j : j + stride * out : stride][:, :out, :out]
            wanted += np.einsum("oc,chw->ohw", w[:, :, i, j].astype(np.float64), window)
    np.testing.assert_allclose(got, np.maximum(wanted, 0), atol=2e-2, rtol=2e-3)


def test_one_changed_instruction_changes_the_output() -> None:
    kernel, rows, _ = conv_kernel(2, 14, 3, 1, 1, 3, 2, 2, 2)
    mutant, _, _ = conv_kernel(2, 14, 3, 1, 0, 3, 2, 2, 2)
    x, w = half(RNG.normal(size=2 * 196 * 16)), half(RNG.normal(size=18 * 3 * 256))
    size = n1_bytes = 3 * rows * 32
    assert not np.array_equal(run(kernel, [x, w], [size])[0], run(mutant, [x, w], [n1_bytes])[0])


@MODES
def test_int8_multiplication_is_exact(real_bytes: bool) -> None:
    m, k, n = 32, 4096, 16
    x, w = RNG.integers(-128, 128, (m, k), np.int8), RNG.integers(-128, 128, (k, n), np.int8)
    b = KernelBuilder()
    xa, wa, ya = b.arg(x.nbytes), b.arg(w.nbytes), b.arg(m * n * 4, "w")
    xl, wl, lc = b.alloc(Space.L1, x.nbytes), b.alloc(Space.L1, w.nbytes), b.alloc(Space.L0C, m * n * 4)
    step = 16
    la, lb = b.alloc(Space.L0A, m * step * 32), b.alloc(Space.L0B, n * step * 32)
    ub = b.alloc(Space.UB, m * n * 4)
    i8, i32 = DType.I8, DType.I32
    b.copy(b.view(xl, (x.size,), i8), b.view(xa, (x.size,), i8))
    b.copy(b.view(wl, (w.size,), i8), b.view(wa, (w.size,), i8))
    with b.loop(k // 32 // step):
        b.emit(
            Opcode.LOAD2D,
            b.view(la, (2, step, 16, 32), i8),
            b.view(xl, (2, step, 16, 32), i8, slot(1, step * 512), (k * 16, 512, 32, 1)),
            params=(0,),
        )
        b.emit(
            Opcode.LOAD2D,
            b.view(lb, (step, 1, 16, 32), i8),
            b.view(wl, (step, 1, 16, 32), i8, slot(1, step * 512)),
            params=(0,),
        )
        b.emit(
            Opcode.MMAD,
            b.view(lc, (1, 2, 16, 16), i32),
            b.view(la, (2, step, 16, 32), i8),
            b.view(lb, (step, 1, 16, 32), i8),
            params=(m, step * 32, n),
            first_of=(1,),
        )
    b.emit(Opcode.VCONV, b.view(ub, (512,), i32), b.view(lc, (512,), i32))
    b.copy(b.view(ya, (512,), i32), b.view(ub, (512,), i32))  # fmt: skip
    packed_x = x.reshape(2, 16, k // 32, 32).transpose(0, 2, 1, 3)
    packed_w = w.reshape(k // 32, 32, 1, 16).transpose(0, 2, 3, 1)
    (raw,) = run(b.build(), [packed_x, packed_w], [m * n * 4], real_bytes)
    got = raw.view(np.int32).reshape(1, 2, 16, 16).transpose(1, 2, 0, 3).reshape(m, n)
    np.testing.assert_array_equal(got, x.astype(np.int64) @ w.astype(np.int64))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_copies_of_weights_keep_every_bit(data: Any) -> None:
    """Out of memory that cannot be written, in blocks with gaps, NaN and infinities too."""
    sizes = data.draw(st.sampled_from([(64,), (4, 16), (2, 3, 16), (5, 7)]))
    gaps = [data.draw(st.sampled_from([0, 0, 16, 3])) for _ in range(2)]
    wild = data.draw(st.booleans())
    patterns = np.random.default_rng(data.draw(st.integers(0, 99))).integers(0, 1 << 16, 2048, dtype=np.uint16)
    if not wild:
        patterns &= 0xBBFF  # nothing but finite numbers
    patterns.flags.writeable = False
    strides = [tuple(int(s) for s in np.cumprod([1, *(n + gap for n in sizes[:0:-1])])[::-1]) for gap in gaps]
    b = KernelBuilder("weights")
    arg, out, ub = b.arg(4096), b.arg(4096, "w"), b.alloc(Space.UB, 4096)
    b.copy(b.view(ub, sizes, F16, 0, strides[0]), b.view(arg, sizes, F16, data.draw(st.integers(0, 40)), strides[1]))
    b.copy(b.view(out, (2048,)), b.view(ub, (2048,)))
    kernel = b.build()
    typed, plain = (run(kernel, [patterns], [4096], real_bytes)[0] for real_bytes in (False, True))
    np.testing.assert_array_equal(typed, plain)
    if gaps == [0, 0] and len(sizes) == 1:
        assert np.isin(typed[:128].view(np.uint16), patterns).all()


def test_access_outside_a_memory_is_refused() -> None:
    b = KernelBuilder("leak")
    arg = b.arg(64)
    ub = b.alloc(Space.UB, 64, address=262144 - 32)
    b.copy(b.view(ub, (32,)), b.view(arg, (32,)))
    with pytest.raises(
        GraphEngineError, match=r"leak: instruction 0 \(copy\): bytes .* outside the 262144 bytes of UB"
    ):
        run(b.build(), [np.zeros(32, np.float16)], [])


def test_malformed_instruction_is_refused() -> None:
    b = KernelBuilder("odd")
    ub = b.alloc(Space.UB, 64)
    b.emit(Opcode.VADD, b.view(ub, (16,)), b.view(ub, (16,)), b.view(ub, (8,)))
    with pytest.raises(GraphEngineError, match=r"odd: instruction 0 \(add\): operands differ"):
        run(b.build(), [], [])


@MODES
def test_copy_onto_itself_reads_everything_first(real_bytes: bool) -> None:
    """numpy's own assignment does not, along one axis with two different steps."""
    x = half(RNG.normal(size=128))
    b = KernelBuilder("self")
    arg, out, ub = b.arg(256), b.arg(256, "w"), b.alloc(Space.UB, 256)
    b.copy(b.view(ub, (128,)), b.view(arg, (128,)))
    b.copy(b.view(ub, (16,), F16, 5, (3,)), b.view(ub, (16,), F16, 32))
    b.copy(b.view(out, (128,)), b.view(ub, (128,)))
    (raw,) = run(b.build(), [x], [256], real_bytes)
    wanted = x.copy()
    wanted[5:53:3] = x[32:48]
    np.testing.assert_array_equal(raw.view(np.float16), wanted)
