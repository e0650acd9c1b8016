"""Whether a faulty kernel is seen: by checking mode, or by its numbers beside onnxruntime.

A mutant is *refused* if the chip cannot run it, *checked* if checking mode finds something, *numbers* if a result leaves
the fp16 bound (exactly right where the reference that rounds to fp16 is). What is left must be *equivalent*: its outputs
are those of the right kernel, byte for byte, in program order and in every adversarial schedule. Otherwise it has *escaped*.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from harness.judge import onnxruntime_outputs
from harness.kernel_mutants import Mutant
from harness.schedules import SCHEDULES, Schedule, run_in_order
from models.small import GraphBuilder, single_node

from graph_engine.errors import GraphEngineError
from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.lowering.emit_program import emit_program
from graph_engine.pipelines.compile import compile_module
from graph_engine.pipelines.default import Phase
from graph_engine.pipelines.reference import ReferenceGraph
from graph_engine.target_ascend.isa.model import Kernel
from graph_engine.target_ascend.om.program import Program
from graph_engine.target_ascend.runtime.device import run
from graph_engine.target_ascend.soc.soc import load_soc

Array = np.ndarray[Any, Any]

REFUSED, CHECKED, NUMBERS, EQUIVALENT, ESCAPED = "refused", "checked", "numbers", "equivalent", "escaped"


@dataclass(frozen=True)
class Verdict:
    """`reason`: the kind of the first finding, or what differs."""

    name: str
    reason: str = ""


class Subject:
    """A program whose kernels are made faulty, with inputs and right outputs."""

    def __init__(self, model: onnx.ModelProto, feeds: Mapping[str, Array], soc: str) -> None:
        self.inputs = list(feeds.values())
        self.expected = onnxruntime_outputs(model, feeds)
        module = import_onnx(model)
        rounded = module.clone()
        compile_module(rounded, soc, Phase.PRECISION)
        self.bounds = [min(4 * error, 0.01) for error in self.errors(ReferenceGraph(rounded, "model").run(self.inputs))]
        compile_module(module, soc)
        self.program = emit_program(module)
        result = run(self.program, self.inputs, mode="functional", check=True)
        assert not result.findings, result.findings[0]
        assert self.right(result.outputs), (self.errors(result.outputs), self.bounds)
        self.outputs, self.bytes = run_in_order(self.program, self.inputs, Schedule())
        for schedule in SCHEDULES:
            assert self.same(self.run(self.program, schedule)[0]), f"a race in {schedule} that is not planted"

    @property
    def kernels(self) -> Mapping[str, Kernel]:
        """What may be made faulty."""
        return self.program.kernels

    def errors(self, outputs: Sequence[Array]) -> list[float]:
        """The largest error of each output as a part of its range."""
        with np.errstate(invalid="ignore"):
            apart = [np.abs(got.astype(np.float64) - want) for got, want in zip(outputs, self.expected, strict=True)]
        worst = [float(np.nan_to_num(error, nan=np.inf).max()) for error in apart]
        return [error / float(np.ptp(want) or 1.0) for error, want in zip(worst, self.expected, strict=True)]

    def right(self, outputs: Sequence[Array]) -> bool:
        """Whether every output is in its bound."""
        return all(error <= bound for error, bound in zip(self.errors(outputs), self.bounds, strict=True))

    def same(self, outputs: Sequence[Array]) -> bool:
        """Whether outputs are those of the right program."""
        return all(a.tobytes() == b.tobytes() for a, b in zip(outputs, self.outputs, strict=True))

    def run(self, program: Program, schedule: Schedule) -> tuple[list[Array], bytes]:
        """Outputs, and all bytes that were written."""
        return run_in_order(program, self.inputs, schedule)

    def program_with(self, kernel: Kernel) -> Program:
        """The program with another kernel of that name."""
        return replace(self.program, kernels=self.program.kernels | {kernel.name: kernel})

    def judge(self, mutant: Mutant) -> Verdict:
        """What becomes of a mutant."""
        program = self.program_with(mutant.kernel)
        try:
            result = run(program, self.inputs, mode="functional", check=True)
        except (GraphEngineError, ValueError, IndexError) as error:
            return Verdict(REFUSED, type(error).__name__)
        if result.findings:
            return Verdict(CHECKED, result.findings[0].kind)
        if not self.right(result.outputs):
            return Verdict(NUMBERS)
        outputs, written = self.run(program, Schedule())
        if not self.same(outputs):
            return Verdict(ESCAPED, "other bytes, within the bound")
        for schedule in SCHEDULES:
            try:
                changed = not self.same(self.run(program, schedule)[0])
            except GraphEngineError as error:
                return Verdict(ESCAPED, f"{schedule}: {error}")
            if changed:
                return Verdict(ESCAPED, f"{schedule}: other bytes")
        return Verdict(EQUIVALENT, "all bytes the same" if written == self.bytes else "other bytes where nobody reads")


def integers(shape: Sequence[int], limit: int = 3, seed: int = 0) -> Array:
    """Small integers as fp32: sums of their products are exact in fp16."""
    return np.random.default_rng([seed, 5]).integers(-limit, limit + 1, tuple(shape)).astype(np.float32)


def normal(shape: Sequence[int], seed: int = 0) -> Array:
    """Normal numbers, rounded to fp16."""
    values = np.random.default_rng([seed, 6]).standard_normal(tuple(shape))
    return values.astype(np.float16).astype(np.float32)


Built = tuple[onnx.ModelProto, dict[str, Array]]


def convolution() -> Built:
    """3 x 3, padded, stride 2, odd channels, with bias, residual and ReLU."""
    b = GraphBuilder()
    x, z = b.input("x", (1, 20, 13, 11)), b.input("z", (1, 24, 7, 6))
    w, c = b.constant("w", integers((24, 20, 3, 3), 1)), b.constant("b", integers((24,), 9, 1))
    y = b.node("Conv", [x, w, c], kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2])
    b.node("Relu", [b.node("Add", [y, z])], "y")
    return b.model("y"), {"x": integers((1, 20, 13, 11), 1, 2), "z": integers((1, 24, 7, 6), 9, 3)}


def quantised() -> Built:
    """8-bit numbers multiplied, scaled for each channel by powers of two and back in 8 bits, which every way out does exactly."""
    b = GraphBuilder()
    w = np.random.default_rng(8).integers(-99, 100, (40, 20, 3, 3)).astype(np.int8)
    scales = (2.0 ** -np.arange(5, 9)).astype(np.float32)[np.arange(40) % 4]
    zero, none = b.constant("z", np.int8(3)), b.constant("none", np.zeros(40, np.int8))
    own = [b.constant("s", np.float32(0.5)), zero]
    x = b.node("DequantizeLinear", [b.node("QuantizeLinear", [b.input("x", (1, 20, 13, 11)), *own]), *own])
    f = b.node("DequantizeLinear", [b.constant("w", w), b.constant("sw", scales), none], axis=0)
    steps = np.random.default_rng(9).integers(-400, 400, 40).astype(np.float32)
    c = b.constant("c", steps * scales * np.float32(0.5))
    y = b.node("Relu", [b.node("Conv", [x, f, c], pads=[1, 1, 1, 1], strides=[2, 2])])
    b.node("QuantizeLinear", [y, b.constant("t", np.float32(16)), zero], "y")
    return b.model("y"), {"x": integers((1, 20, 13, 11), 60, 2)}


def product() -> Built:
    """A matrix product with bias, no extent a multiple of 16, K in parts."""
    b = GraphBuilder()
    x = b.input("x", (40, 150))
    b.node("Gemm", [x, b.constant("w", integers((150, 70), 1)), b.constant("b", integers((70,), 9, 1))], "y")
    return b.model("y"), {"x": integers((40, 150), 2, 2)}


def attention() -> Built:
    """20 queries and 75 keys: in one head scores rise or fall so far that only a running maximum will do, in one all count."""
    b = GraphBuilder()
    shapes = {"q": (1, 2, 20, 32), "k": (1, 2, 75, 32), "v": (1, 2, 75, 32)}
    q, k, v = (b.input(name, shape) for name, shape in shapes.items())
    scores = b.node("MatMul", [q, b.node("Transpose", [k], perm=[0, 1, 3, 2])])
    scaled = b.node("Mul", [scores, b.constant("scale", np.float32(0.25))])
    b.node("MatMul", [b.node("Softmax", [scaled], axis=-1), v], "y")
    feeds = {name: normal(shape, i) for i, (name, shape) in enumerate(shapes.items())}
    for column, start in ((-1, 32), (-2, 64)):  # within the loop over whole tiles of keys, and before the last one
        feeds["q"][:, 0, :, column] = np.tile([4, -4, 0, 0] if start == 32 else [0, 0, 4, -4], 5)
        feeds["k"][:, 0, :, column] = (np.arange(75) >= start) * 96
    return b.model("y"), feeds


def softmax() -> Built:
    """Rows of 45 numbers, far from 0 and some far apart, so that nothing but their own maximum may be taken off."""
    x = normal((37, 45)) + np.linspace(-300, 300, 37, dtype=np.float32).round()[:, None]
    x[::2, 30] += 100
    return single_node("Softmax", {"x": (37, 45)}, axis=-1), {"x": x.astype(np.float16).astype(np.float32)}


def layer_norm() -> Built:
    """Rows of 50 numbers with scale and shift, and an epsilon that counts."""
    sides = {"s": integers((50,), 3), "t": integers((50,), 3, 1)}
    return single_node("LayerNormalization", {"x": (37, 50), **sides}, axis=-1, epsilon=0.5), {"x": normal((37, 50))}


def pooling() -> Built:
    """A padded 3 x 3 maximum, stride 2, then a mean of all that is left."""
    b = GraphBuilder()
    x = b.input("x", (1, 20, 12, 11))
    y = b.node("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    b.node("GlobalAveragePool", [y], "mean")
    b.node("Identity", [y], "y")
    return b.model("y", "mean"), {"x": integers((1, 20, 12, 11), 500)}


def transposition() -> Built:
    """A permutation of four axes."""
    return single_node("Transpose", {"x": (3, 20, 5, 34)}, perm=[0, 3, 2, 1]), {"x": integers((3, 20, 5, 34), 999)}


def gathering() -> Built:
    """Rows by an input of indices."""
    b = GraphBuilder()
    x, i = b.input("x", (30, 70)), b.input("i", (9,), onnx.TensorProto.INT64)
    b.node("Gather", [x, i], "y", axis=0)
    return b.model("y"), {"x": integers((30, 70), 999), "i": np.array([3, 29, 0, 7, 7, 15, -1, 22, 11])}


def elementwise() -> Built:
    """Sums, products and a choice of rows and columns that are broadcast."""
    b = GraphBuilder()
    x, r, c = b.input("x", (19, 130)), b.input("r", (130,)), b.input("c", (19, 1))
    y = b.node("Mul", [b.node("Sub", [x, r]), c])
    b.node("Max", [y, b.node("Neg", [x])], "y")
    return b.model("y"), {"x": integers((19, 130), 50), "r": integers((130,), 20, 1), "c": integers((19, 1), 7, 2)}


def shared_depth() -> Built:
    """A product of one row and few columns, whose K cores share, with bias and ReLU."""
    b = GraphBuilder()
    x = b.input("x", (1, 7680))
    y = b.node("Gemm", [x, b.constant("w", integers((7680, 10), 1)), b.constant("b", integers((10,), 9, 1))])
    b.node("Relu", [y], "y")
    return b.model("y"), {"x": integers((1, 7680), 1, 2)}


def recurrence() -> Built:
    """A bidirectional LSTM, rows of the batch in two parts, with states at the start."""
    b = GraphBuilder()
    shapes = {"x": (4, 9, 20), "h": (2, 9, 32), "c": (2, 9, 32)}
    x, h, c = (b.input(name, shape) for name, shape in shapes.items())
    sizes = {"w": (2, 128, 20), "r": (2, 128, 32), "b": (2, 256)}
    w, r, bias = (b.constant(name, normal(shape, i) / 4) for i, (name, shape) in enumerate(sizes.items()))
    b.node("LSTM", [x, w, r, bias, "", h, c], "y", direction="bidirectional", hidden_size=32)
    return b.model("y"), {name: normal(shape, i) for i, (name, shape) in enumerate(shapes.items())}


CASES: dict[str, Callable[[], Built]] = {
    function.__name__: function
    for function in (
        convolution,
        quantised,
        product,
        attention,
        softmax,
        layer_norm,
        pooling,
        transposition,
        gathering,
        elementwise,
        shared_depth,
        recurrence,
    )
}
"""One of each kind of kernel; integers wherever fp16 is exact, so that any other byte is out of bound."""

TIGHT = """extends: {soc}
name: {{value: Tight{soc}, assumed: "small memories make small kernels loop"}}
sources: {{}}
cores:
  aic: {{value: 3, assumed: "blocks of unequal size"}}
  aiv: {{value: {vectors}, assumed: "the same"}}
buffers:
  l0a: {{value: 4096, assumed: "small"}}
  l0b: {{value: 4096, assumed: "small"}}
  l0c: {{value: 8192, assumed: "small"}}
  l1: {{value: 32768, assumed: "small"}}
  ub: {{value: 16384, assumed: "small"}}
sync: {{event_ids: {{value: {events}, assumed: "few where barriers are wanted"}}}}
"""
"""A chip of the same family with little room: loops, versions of buffers and tails in kernels of a few kilobytes."""


FEW_EVENTS = ("layer_norm", "pooling")
"""Cases with two events a pair of pipes, so that barriers take the place of flags."""


def tight_chip(soc: str, folder: Path, case: str = "") -> str:
    """The file of such a chip for a case."""
    events = 2 if case in FEW_EVENTS else load_soc(soc).sync.event_ids
    path = folder / f"{soc}.yaml"
    path.write_text(TIGHT.format(soc=soc, vectors=5 if load_soc(soc).has("split") else 0, events=events))
    return str(path)
