"""A part that is called a view lies in memory as the part by itself would: laws over shapes, formats and slices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.operators import value
from hypothesis import event, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region
from xdsl.parser import Parser

from graph_engine.dialects.ge.elementwise import NegOp, ReluOp
from graph_engine.dialects.ge.interning import element_type, tensor_type
from graph_engine.dialects.ge.shape import SliceOp
from graph_engine.dialects.layout import Encoding, fractal_nz, nc1hwc0, pack, with_encoding
from graph_engine.lowering.emit_program import emit_program
from graph_engine.lowering.views import view_offset
from graph_engine.pipelines.compile import compile_module
from graph_engine.pipelines.context import make_context
from graph_engine.target_ascend.isa.model import DType
from graph_engine.target_ascend.om.program import AicpuCall
from graph_engine.target_ascend.runtime.device import run

FORMATS: list[Encoding | None] = [None, fractal_nz(16), nc1hwc0(16)]


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.data())
def test_a_view_has_the_bytes_of_the_part(data: st.DataObject) -> None:
    encoding = data.draw(st.sampled_from(FORMATS), "format")
    extents = st.sampled_from([1, 2, 3, 16, 20, 32, 48])
    shape = tuple(data.draw(extents) for _ in range(4 if encoding == nc1hwc0(16) else data.draw(st.integers(2, 4))))
    starts, ends = [], []
    for extent in shape:
        whole = data.draw(st.booleans())
        start = 0 if whole else data.draw(st.integers(0, extent - 1))
        starts.append(start)
        ends.append(extent if whole else data.draw(st.integers(start + 1, extent)))
    x = (np.arange(np.prod(shape)) % 2003 + 1).reshape(shape).astype(np.float16)
    stored = with_encoding(tensor_type(shape, element_type("f16")), encoding)
    part = tuple(end - start for start, end in zip(starts, ends, strict=True))
    target = with_encoding(tensor_type(part, element_type("f16")), encoding)
    axes = list(range(len(shape)))
    op = SliceOp(value(stored), starts=starts, ends=ends, axes=axes, steps=[1] * len(shape), result_type=target)
    offset = view_offset(op)
    event("view" if offset is not None else "no view")
    if offset is not None:
        cut = x[tuple(slice(a, b) for a, b in zip(starts, ends, strict=True))]
        wanted = pack(cut, target).tobytes()
        assert offset % 32 == 0
        assert pack(x, stored).tobytes()[offset : offset + len(wanted)] == wanted


@pytest.mark.parametrize(
    ("shape", "encoding", "axis", "start", "end", "offset"),
    [
        ((3, 4, 16), None, 0, 1, 2, 128),
        ((3, 4, 16), None, 1, 1, 2, None),  # rows of every matrix
        ((1, 4, 16), None, 1, 1, 3, 32),
        ((5, 3), None, 0, 1, 2, None),  # 6 bytes are no block
        ((20, 64), fractal_nz(16), 1, 16, 48, 1024),  # two rows of blocks of 16 columns are 32 rows high
        ((2, 20, 64), fractal_nz(16), 2, 16, 48, None),
        ((2, 20, 64), fractal_nz(16), 0, 1, 2, 4096),
        ((1, 64, 3, 5), nc1hwc0(16), 1, 32, 64, 960),
        ((1, 64, 3, 5), nc1hwc0(16), 1, 8, 24, None),
    ],
)  # fmt: skip
def test_offsets(
    shape: tuple[int, ...], encoding: Encoding | None, axis: int, start: int, end: int, offset: int | None
) -> None:
    stored = with_encoding(tensor_type(shape, element_type("f16")), encoding)
    part = tuple(end - start if a == axis else n for a, n in enumerate(shape))
    target = with_encoding(tensor_type(part, element_type("f16")), encoding)
    op = SliceOp(value(stored), starts=[start], ends=[end], axes=[axis], steps=[1], result_type=target)
    assert view_offset(op) == offset


def _graph(build: Any) -> ModuleOp:
    ty = tensor_type((4, 3, 32), element_type("f32"))
    block = Block(arg_types=[ty])
    ops, results = build(block.args[0])
    block.add_ops([*ops, ReturnOp(*results)])
    return ModuleOp([FuncOp("main", ([ty], [r.type for r in results]), Region(block))])


def _part(x: Any, start: int, end: int) -> SliceOp:
    return SliceOp(x, starts=[start], ends=[end], axes=[0], steps=[1])


def test_parts_are_read_and_returned_where_they_lie() -> None:
    """Of an input, of a result, of a part; one part is returned, and readers may not overwrite what others need."""

    def build(x: Any) -> tuple[list[Operation], list[Any]]:
        a = ReluOp(x)
        b, c = _part(a.result, 0, 2), _part(a.result, 2, 4)
        d, e = NegOp(b.results[0]), NegOp(c.results[0])
        f = _part(c.results[0], 1, 2)
        return [a, b, c, d, e, f], [d.results[0], e.results[0], f.results[0]]

    module = _graph(build)
    compile_module(module)
    program = emit_program(module)
    x = np.random.default_rng(1).standard_normal((4, 3, 32)).astype(np.float32)
    result = run(program, [x], mode="functional", check=True)
    assert not result.findings
    y = np.maximum(x, 0).astype(np.float16).astype(np.float32)
    for got, wanted in zip(result.outputs, [-y[:2], -y[2:], y[3:4]], strict=True):
        np.testing.assert_array_equal(got, wanted)
    kinds = [task.type for stream in program.entry_points[0].streams for task in stream.tasks if hasattr(task, "type")]
    assert "SliceD" not in kinds


@pytest.mark.parametrize(("source", "target"), [("f32", "i32"), ("i32", "f32"), ("ui16", "i16"), ("i8", "ui8")])
def test_bits_of_another_type_are_a_view(source: str, target: str) -> None:
    """Between kernels, and where nothing else stands between an input and an output."""
    first, second = (f"tensor<40x{name}>" for name in (source, target))
    text = f"""
    func.func @main(%x: {first} {{ge.name = "x"}}) -> ({second} {{ge.name = "y"}}, {second} {{ge.name = "z"}}) {{
      %0 = ge.bitcast %x : ({first}) -> {second}
      %1 = ge.add %x, %x : ({first}, {first}) -> {first}
      %2 = ge.bitcast %1 : ({first}) -> {second}
      %3 = ge.maximum %2, %0 : ({second}, {second}) -> {second}
      return %0, %3 : {second}, {second}
    }}"""
    module = Parser(make_context(), text).parse_module()
    compile_module(module, pipeline={"precision_mode": "must_keep_origin_dtype"})
    program = emit_program(module)
    assert not any(isinstance(task, AicpuCall) for s in program.entry_points[0].streams for task in s.tasks)
    types = [np.dtype(DType.from_mlir(name).numpy) for name in (source, target)]
    x = np.arange(-20, 20).astype(types[0])
    done = run(program, [x], mode="functional", check=True)
    assert not done.findings, done.findings[:3]
    np.testing.assert_array_equal(done.outputs[0], x.view(types[1]))
    np.testing.assert_array_equal(done.outputs[1], np.maximum((x + x).view(types[1]), x.view(types[1])))
