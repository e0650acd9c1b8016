"""Small networks in ONNX's two quantised forms, on the chip in checking mode, beside onnxruntime, number by number.

onnxruntime runs them with its optimisations off, where every operator does what ONNX says: floats between integers. A sum
that falls next to the middle between two numbers may go either way there; it may be one step off, which is rare.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.lowering.emit_program import emit_program
from graph_engine.pipelines.compile import DEFAULT_OPTIONS, compile_module
from graph_engine.pipelines.default import Phase
from graph_engine.pipelines.fusion_switch import read_switches
from graph_engine.pipelines.runner import RunOptions
from graph_engine.target_ascend.runtime.device import run
from graph_engine.target_ascend.soc.soc import load_soc

Array = np.ndarray[Any, Any]


class Writer:
    """Writes a model whose tensors between operators are quantised."""

    def __init__(self, dtype: Any) -> None:
        self.dtype, self.rng = np.dtype(dtype), np.random.default_rng(11)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def constant(self, array: Any) -> str:
        name = f"c{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name, **attributes))
        return name

    def numbers(self, scale: float, zero: int) -> tuple[str, str]:
        """Names of scale and zero point of the activations."""
        return self.constant(np.float32(scale)), self.constant(np.array(zero, self.dtype))

    def back(self, q: str, numbers: tuple[str, str]) -> str:
        return self.node("DequantizeLinear", q, *numbers)

    def conv(
        self, x: str, shape: tuple[int, ...], scale: float, *, each: bool = True, short: bool = False, **attributes: Any
    ) -> str:
        """In floats, of x in floats by weights of one scale, or one for each output; `short`: of ten digits at most."""
        w = self.rng.integers(-128, 128, shape).astype(np.int8)
        scales = self.rng.uniform(0.5, 1.5, shape[0] if each else ()).astype(np.float32) * np.float32(0.01)
        if short:
            scales = np.rint(scales * 2**15).astype(np.float32) * np.float32(2**-15)
        weights = self.node(
            "DequantizeLinear",
            self.constant(w),
            self.constant(scales),
            self.constant(np.zeros(scales.shape, np.int8)),
            axis=0,
        )
        steps = self.rng.integers(-2000, 2000, shape[0]).astype(np.int32)
        total = np.broadcast_to(scales * np.float32(scale), (shape[0],)).astype(np.float32)
        zeros = self.constant(np.zeros(shape[0], np.int32))
        bias = self.node("DequantizeLinear", self.constant(steps), self.constant(total), zeros, axis=0)
        return self.node("Conv", x, weights, bias, **attributes)

    def model(self, size: tuple[int, ...], result: str, shape: Any) -> onnx.ModelProto:
        element = helper.np_dtype_to_tensor_dtype(self.dtype)
        graph = helper.make_graph(
            self.nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, size)],
            [helper.make_tensor_value_info(result, element, shape)], self.weights,
        )  # fmt: skip
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def beside_onnxruntime(
    model: onnx.ModelProto, size: tuple[int, ...], soc: str = "Ascend310P3", run_options: RunOptions = DEFAULT_OPTIONS
) -> tuple[Array, Array, set[str]]:
    """The chip's numbers, onnxruntime's, and the kinds of kernels that ran."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    x = np.random.default_rng(5).standard_normal(size).astype(np.float32)
    (right,) = onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, {"x": x})
    module = import_onnx(model)
    compile_module(module, soc, options=run_options)
    program = emit_program(module)
    done = run(program, [x], check=True)
    assert not done.findings
    kernels = set(program.kernels)
    return done.outputs[0], np.asarray(right), kernels


def assert_steps(got: Array, right: Array) -> None:
    """Equal, but for one number in five hundred that is a step off."""
    off = np.abs(got.astype(int) - right.astype(int))
    assert got.dtype == right.dtype and off.max() <= 1
    assert (off > 0).mean() <= 0.002


@pytest.mark.parametrize(
    ("dtype", "soc"),
    [
        *((np.int8, soc) for soc in ("Ascend310P3", "Ascend910A", "Ascend310B1", "Ascend910B3")),
        *((np.uint8, soc) for soc in ("Ascend310P3", "Ascend310B4", "Ascend910B3", "Ascend950PR")),
    ],
)
def test_residual_block(dtype: Any, soc: str) -> None:
    """Padded, strided, grouped by channels, ReLU between its own quantisations, a pool and a sum of two branches.

    FixPipe scales by factors of 11 digits; here all are. Where the Cube has no unsigned numbers, they are taken as signed.
    """
    w, short = Writer(dtype), load_soc(soc).has("fixpipe")
    steps = (0.03125, 0.0625, 0.0625) if short else (0.03, 0.05, 0.07)
    zero = 0 if dtype is np.int8 else 128
    relu_zero = 0
    first, inner, last = (w.numbers(s, z) for s, z in zip(steps, (zero + 3, relu_zero, zero - 2), strict=True))
    x = w.back(w.node("QuantizeLinear", "x", *first), first)
    y = w.conv(x, (40, 3, 3, 3), steps[0], strides=[2, 2], pads=[1, 1, 1, 1], short=short)
    y = w.back(w.node("QuantizeLinear", y, *inner), inner)
    y = w.back(w.node("QuantizeLinear", w.node("Relu", y), *inner), inner)
    y = w.back(w.node("QuantizeLinear", w.node("MaxPool", y, kernel_shape=[2, 2], strides=[2, 2]), *inner), inner)
    z = w.conv(y, (40, 1, 3, 3), steps[1], group=40, pads=[1, 1, 1, 1], each=dtype is np.int8, short=short)
    z = w.back(w.node("QuantizeLinear", w.node("Relu", z), *last), last)
    z = w.conv(z, (40, 40, 1, 1), steps[2], short=short)
    z = w.back(w.node("QuantizeLinear", z, *last), last)
    total = w.node("QuantizeLinear", w.node("Add", z, y), *last)
    got, right, kernels = beside_onnxruntime(w.model((1, 3, 18, 14), total, None), (1, 3, 18, 14), soc)
    assert sum(name.startswith("conv2d_integer") for name in kernels) == 3
    assert np.ptp(right.astype(int)) > 100
    assert_steps(got, right)


@pytest.mark.parametrize("soc", ["Ascend310B4", "Ascend910B3", "Ascend950PR"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_fixpipe_rounds_factors(dtype: Any, soc: str) -> None:
    """Whatever the scales: within half a step, and one 2048th, of sums and factors in fp64; the sums are exact."""
    w, scale = Writer(dtype), 0.0317
    zero = 0 if dtype is np.int8 else 128
    first, last = w.numbers(scale, zero - 3), w.numbers(0.173, zero + 5)
    q = w.node("QuantizeLinear", "x", *first)
    y = w.node("QuantizeLinear", w.conv(w.back(q, first), (40, 33, 3, 3), scale, pads=[1, 0, 1, 1]), *last)
    got, right, kernels = beside_onnxruntime(w.model((2, 33, 9, 8), y, None), (2, 33, 9, 8), soc)
    assert any(name.startswith("conv2d_integer") for name in kernels)
    x = np.random.default_rng(5).standard_normal((2, 33, 9, 8)).astype(np.float32)
    limits = np.iinfo(dtype)
    steps = np.clip(np.rint(x / np.float32(scale)), limits.min - zero + 3, limits.max - zero + 3).astype(np.int64)
    weights, scales, _, _, bias, _ = (numpy_helper.to_array(tensor) for tensor in w.weights[4:])
    total = convolved(steps, weights.astype(np.int64), (1, 0, 1, 1)) + bias[:, None, None]
    real = total * (np.float32(scale) * scales.astype(np.float64) / np.float32(0.173))[:, None, None]
    inside = np.abs(real) < 100
    assert inside.mean() > 0.5
    off = np.abs(got.astype(float) - zero - 5 - real)
    assert (off <= 0.5 + np.abs(real) * 2**-11 + 1e-5)[inside].all()
    assert (got != right).mean() < 0.05


@pytest.mark.parametrize("soc", ["Ascend310B4", "Ascend910B3", "Ascend950PR"])
def test_all_digits_where_a_switch_asks_for_them(soc: str, tmp_path: Path) -> None:
    """`shorten-factor:off`: the Vector scales, and the numbers are onnxruntime's, whatever the scales."""
    switches = tmp_path / "switches.cfg"
    switches.write_text("shorten-factor:off\n")
    w = Writer(np.int8)
    first, last = w.numbers(0.0317, -3), w.numbers(0.173, 5)
    q = w.node("QuantizeLinear", "x", *first)
    y = w.node("QuantizeLinear", w.conv(w.back(q, first), (40, 33, 3, 3), 0.0317), *last)
    model, size = w.model((2, 33, 9, 8), y, None), (2, 33, 9, 8)
    got, right, kernels = beside_onnxruntime(model, size, soc, RunOptions(switches=read_switches(str(switches))))
    assert any(name.startswith("conv2d_integer") for name in kernels)
    assert_steps(got, right)


def convolved(x: Array, w: Array, pads: tuple[int, ...]) -> Array:
    """In 64-bit integers, one position of the kernel at a time."""
    padded = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    ho, wo = (padded.shape[2 + axis] - w.shape[2 + axis] + 1 for axis in (0, 1))
    parts = [
        np.einsum("nchw,oc->nohw", padded[:, :, i : i + ho, j : j + wo], w[:, :, i, j])
        for i, j in np.ndindex(w.shape[2:])
    ]
    return np.sum(parts, axis=0)


@pytest.mark.parametrize(("point", "inner", "last"), [(128, 0.6, 30.0), (100, 1.0, 60.0), (0, 6.0, 3000.0)])
def test_weights_of_any_zero_point(point: int, inner: float, last: float) -> None:
    """QLinearConv, plain and by channels, then QLinearMatMul on rows: unsigned weights of all values have 9 bits around theirs."""
    w = Writer(np.uint8)
    first, second, third = w.numbers(0.02, 133), w.numbers(inner, 121), w.numbers(last, 128)

    def weights(*shape: int) -> tuple[str, str, str]:
        q = w.rng.integers(0, 256, shape).astype(np.uint8)
        return w.constant(q), w.constant(np.float32(0.02)), w.constant(np.uint8(point))

    bias = w.constant(w.rng.integers(-500, 500, 24).astype(np.int32))
    x = w.node("QuantizeLinear", "x", *first)
    y = w.node("QLinearConv", x, *first, *weights(24, 3, 3, 3), *second, bias, pads=[1, 0, 2, 1], strides=[1, 2])
    y = w.node("QLinearConv", y, *second, *weights(24, 1, 3, 3), *second, group=24)
    shape = w.constant(np.array([2, -1], np.int64))
    rows = w.node("Reshape", y, shape)
    result = w.node("QLinearMatMul", rows, *second, *weights(24 * 5 * 3, 40), *third)
    size = (2, 3, 6, 10)
    got, right, kernels = beside_onnxruntime(w.model(size, result, None), size)
    assert sum(name.startswith("conv2d_integer") for name in kernels) == 3
    assert np.ptp(right.astype(int)) > 60
    assert_steps(got, right)


@pytest.mark.parametrize("soc", ["Ascend310"])
def test_products_of_8_bits_are_floats_where_no_kernel_takes_them(soc: str) -> None:
    """QLinearConv, plain with a bias and by channels, and QLinearMatMul: nothing is left to the AI CPU's integers."""
    w = Writer(np.uint8)
    first, second, third, fourth = w.numbers(0.02, 133), w.numbers(0.6, 121), w.numbers(2.0, 128), w.numbers(30.0, 100)

    def weights(*shape: int) -> tuple[str, str, str]:
        q = w.rng.integers(0, 256, shape).astype(np.uint8)
        return w.constant(q), w.constant(np.float32(0.02)), w.constant(np.uint8(128))

    x = w.node("QuantizeLinear", "x", *first)
    bias = w.constant(w.rng.integers(-500, 500, 24).astype(np.int32))
    y = w.node("QLinearConv", x, *first, *weights(24, 3, 3, 3), *second, bias, pads=[1, 1, 1, 1])
    y = w.node("QLinearConv", y, *second, *weights(24, 1, 3, 3), *third, group=24)
    rows = w.node("Reshape", y, w.constant(np.array([2, -1], np.int64)))
    result = w.node("QLinearMatMul", rows, *third, *weights(24 * 4 * 5, 40), *fourth)
    size = (2, 3, 6, 7)
    got, right, kernels = beside_onnxruntime(w.model(size, result, None), size, soc)
    assert not [name for name in kernels if "integer" in name]
    assert np.ptp(right.astype(int)) > 60
    assert np.abs(got.astype(int) - right.astype(int)).max() <= 2


@pytest.mark.parametrize(("soc", "integers"), [("Ascend310", False), ("Ascend310B1", True), ("Ascend910B3", True)])
def test_chips_without_a_kernel_of_integers_keep_floats(soc: str, integers: bool) -> None:
    w = Writer(np.int8)
    numbers = w.numbers(0.05, 1)
    x = w.back(w.node("QuantizeLinear", "x", *numbers), numbers)
    y = w.node("QuantizeLinear", w.conv(x, (32, 3, 1, 1), 0.05), *numbers)
    module = import_onnx(w.model((1, 3, 4, 4), y, None))
    compile_module(module, soc, Phase.FUSED)
    assert any(op.name == "ge.conv2d_integer" for op in module.walk()) is integers
