"""A joined concat costs no task, and every byte of it is what the concat by itself would hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from harness.operators import value
from hypothesis import event, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.convolution import Conv2dOp
from graph_engine.dialects.ge.elementwise import NegOp, ReluOp
from graph_engine.dialects.ge.interning import element_type, tensor_type
from graph_engine.dialects.ge.shape import ConcatOp, ReshapeOp, SliceOp
from graph_engine.dialects.ge.weights import constant_attr
from graph_engine.dialects.layout import Encoding, fractal_nz, nc1hwc0, pack, with_encoding
from graph_engine.lowering.emit_program import emit_program
from graph_engine.lowering.joins import part_offsets
from graph_engine.pipelines.compile import compile_module
from graph_engine.target_ascend.om.program import Copy, Program
from graph_engine.target_ascend.runtime.device import run

FORMATS: list[Encoding | None] = [None, fractal_nz(16), nc1hwc0(16)]
F16 = element_type("f16")


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.data())
def test_parts_side_by_side_are_the_concat(data: st.DataObject) -> None:
    encoding = data.draw(st.sampled_from(FORMATS), "format")
    extents = st.sampled_from([1, 2, 3, 16, 20, 32, 48])
    shape = [data.draw(extents) for _ in range(4 if encoding == nc1hwc0(16) else data.draw(st.integers(2, 4)))]
    axis = data.draw(st.integers(0, len(shape) - 1), "axis")
    parts: list[np.ndarray[Any, Any]] = []
    for number, extent in enumerate(data.draw(st.lists(extents, min_size=1, max_size=4), "parts")):
        shape[axis] = extent
        parts.append((np.arange(np.prod(shape)) % 211 + 211 * number + 1).reshape(shape).astype(np.float16))
    types = [with_encoding(tensor_type(part.shape, F16), encoding) for part in parts]
    whole = np.concatenate(parts, axis)
    result = with_encoding(tensor_type(whole.shape, F16), encoding)
    offsets = part_offsets(ConcatOp([value(ty) for ty in types], axis=axis, result_type=result))
    event("no join" if offsets is None else f"{len(parts)} parts")
    if offsets is not None:
        packed = [pack(part, ty).tobytes() for part, ty in zip(parts, types, strict=True)]
        assert list(offsets) == [sum(map(len, packed[:number])) for number in range(len(packed))]
        assert b"".join(packed) == pack(whole, result).tobytes()


@pytest.mark.parametrize(
    ("shapes", "encoding", "pads", "axis", "offsets"),
    [
        (((2, 4, 16), (1, 4, 16)), None, ("zero", "zero"), 0, [0, 256]),
        (((2, 4, 16), (2, 4, 16)), None, ("zero", "zero"), 1, None),  # rows of every matrix
        (((1, 4, 16), (1, 2, 16)), None, ("zero", "zero"), 1, [0, 128]),
        (((1, 3), (1, 3)), None, ("zero", "zero"), 0, None),  # 6 bytes are no block
        (((20, 32), (20, 8)), fractal_nz(16), ("zero", "zero"), 1, [0, 2048]),
        (((1, 32, 3, 5), (1, 24, 3, 5)), nc1hwc0(16), ("zero", "zero"), 1, [0, 960]),
        (((1, 24, 3, 5), (1, 32, 3, 5)), nc1hwc0(16), ("zero", "zero"), 1, None),  # a torn block
        (((2, 32, 3, 5), (2, 32, 3, 5)), nc1hwc0(16), ("zero", "zero"), 1, None),  # two images
        (((1, 32, 3, 5), (1, 24, 3, 5)), nc1hwc0(16), ("zero", "undef"), 1, None),  # the result promises zeros
    ],
)  # fmt: skip
def test_offsets(
    shapes: Sequence[tuple[int, ...]],
    encoding: Encoding | None,
    pads: Sequence[str],
    axis: int,
    offsets: list[int] | None,
) -> None:
    def stored(shape: tuple[int, ...], pad: str = "zero") -> Any:
        return with_encoding(tensor_type(shape, F16), encoding and encoding.with_pad(pad))

    whole = tuple(sum(s[axis] for s in shapes) if a == axis else n for a, n in enumerate(shapes[0]))
    parts = [value(stored(shape, pad)) for shape, pad in zip(shapes, pads, strict=True)]
    assert part_offsets(ConcatOp(parts, axis=axis, result_type=stored(whole))) == offsets


Build = Callable[[SSAValue], tuple[list[Operation], list[SSAValue]]]


def compiled(shape: tuple[int, ...], build: Build) -> Program:
    ty = tensor_type(shape, F16)
    block = Block(arg_types=[ty])
    ops, results = build(block.args[0])
    block.add_ops([*ops, ReturnOp(*results)])
    module = ModuleOp([FuncOp("main", ([ty], [r.type for r in results]), Region(block))])
    compile_module(module)
    return emit_program(module)


def concats_and_copies(program: Program) -> tuple[int, int]:
    tasks = [task for stream in program.entry_points[0].streams for task in stream.tasks]
    return sum(getattr(t, "type", "") == "ConcatD" for t in tasks), sum(isinstance(t, Copy) for t in tasks)


def runs(program: Program, x: np.ndarray[Any, Any], wanted: Sequence[np.ndarray[Any, Any]]) -> None:
    result = run(program, [x], mode="functional", check=True)
    assert not result.findings
    for got, expected in zip(result.outputs, wanted, strict=True):
        np.testing.assert_array_equal(got, expected)


def cat(*xs: SSAValue | Operation) -> ConcatOp:
    return ConcatOp(list(xs), axis=0)


def part(x: SSAValue | Operation, start: int, end: int) -> SliceOp:
    return SliceOp(x, starts=[start], ends=[end], axes=[0], steps=[1])


def twice(x: SSAValue) -> tuple[list[Operation], list[SSAValue]]:
    """A value stands in one place."""
    a = ReluOp(x)
    b = cat(a, a)
    c = NegOp(b)
    return [a, b, c], [c.result]


def dense(x: SSAValue) -> tuple[list[Operation], list[SSAValue]]:
    """Each layer reads all before it."""
    a = ReluOp(x)
    b = NegOp(part_a := part(a, 0, 2))
    c = cat(a, b)
    d = NegOp(part_c := part(c, 3, 6))
    e = cat(a, b, d)
    f = NegOp(e)
    return [a, part_a, b, c, part_c, d, e, f], [f.result]


def other_order(x: SSAValue) -> tuple[list[Operation], list[SSAValue]]:
    """The second concat wants the parts the other way round."""
    a, b = ReluOp(x), NegOp(x)
    c, d = cat(a, b), cat(b, a)
    e, f = NegOp(c), NegOp(d)
    return [a, b, c, d, e, f], [e.result, f.result]


def of_the_input(x: SSAValue) -> tuple[list[Operation], list[SSAValue]]:
    """Nobody writes an input."""
    a = NegOp(x)
    b = cat(a, x)
    c = NegOp(b)
    return [a, b, c], [c.result]


def part_returned(x: SSAValue) -> tuple[list[Operation], list[SSAValue]]:
    """A part has an output of its own."""
    a, b = ReluOp(x), NegOp(x)
    c = cat(a, b)
    d = NegOp(c)
    return [a, b, c, d], [a.result, d.result]


def concat_returned(x: SSAValue) -> tuple[list[Operation], list[SSAValue]]:
    """The parts are written into the output, one through a view."""
    a, b = ReluOp(x), NegOp(x)
    v = ReshapeOp(b, shape=[2, 6, 32])
    w = ReshapeOp(v, shape=[4, 3, 32])
    c = cat(a, w)
    return [a, b, v, w, c], [c.result]


def inside_of_returned(x: SSAValue) -> tuple[list[Operation], list[SSAValue]]:
    """What is returned is no whole piece of memory: of the two concats the first is made in place."""
    a, b = ReluOp(x), NegOp(x)
    c = cat(a, b)
    d = NegOp(part_b := part(b, 1, 2))
    e = cat(c, d)
    f = NegOp(e)
    return [a, b, c, part_b, d, e, f], [c.result, f.result]


def begins_with_a_part(x: SSAValue) -> tuple[list[Operation], list[SSAValue]]:
    """The last part of a value begins a concat: the rest follows behind it."""
    a = ReluOp(x)
    b, c = part(a, 0, 3), part(a, 3, 4)
    d = NegOp(b)
    e = cat(c, d)
    f = NegOp(e)
    return [a, b, c, d, e, f], [f.result]


def overlaps(x: SSAValue) -> tuple[list[Operation], list[SSAValue]]:
    """The first part of a value begins a concat: the rest would overwrite the others."""
    a = ReluOp(x)
    b, c = part(a, 0, 3), part(a, 3, 4)
    d = NegOp(c)
    e = cat(b, d)
    f, g = NegOp(e), NegOp(c)
    return [a, b, c, d, e, f, g], [f.result, g.result]


r = np.maximum


@pytest.mark.parametrize(
    ("build", "concats", "expected"),
    [
        (twice, 1, lambda x: [-np.concatenate([r(x, 0), r(x, 0)])]),
        (dense, 0, lambda x: [-np.concatenate([c := np.concatenate([r(x, 0), -r(x[:2], 0)]), -c[3:6]])]),
        (other_order, 1, lambda x: [-np.concatenate([r(x, 0), -x]), -np.concatenate([-x, r(x, 0)])]),
        (of_the_input, 1, lambda x: [-np.concatenate([-x, x])]),
        (part_returned, 1, lambda x: [r(x, 0), -np.concatenate([r(x, 0), -x])]),
        (concat_returned, 0, lambda x: [np.concatenate([r(x, 0), -x])]),
        (inside_of_returned, 1, lambda x: [np.concatenate([r(x, 0), -x]), -np.concatenate([r(x, 0), -x, x[1:2]])]),
        (begins_with_a_part, 0, lambda x: [-np.concatenate([r(x, 0)[3:], -r(x, 0)[:3]])]),
        (overlaps, 1, lambda x: [-np.concatenate([r(x, 0)[:3], -r(x, 0)[3:]]), -r(x, 0)[3:]]),
    ],
)
def test_graphs(build: Build, concats: int, expected: Callable[[Any], list[Any]]) -> None:
    program = compiled((4, 3, 32), build)
    x = np.random.default_rng(1).integers(-99, 99, (4, 3, 32)).astype(np.float16)
    assert concats_and_copies(program)[0] == concats
    runs(program, x, expected(x))


def test_channels_of_convolutions() -> None:
    """Padding lanes of the last part are those of the result, and the next convolution sums over them."""

    def build(x: SSAValue) -> tuple[list[Operation], list[SSAValue]]:
        ops: list[Operation] = []

        def conv(y: SSAValue, channels: int, seed: int) -> SSAValue:
            shape = (channels, y.type.get_shape()[1], 1, 1)  # pyright: ignore
            numbers = np.random.default_rng(seed).integers(-2, 3, shape).astype(np.float16)
            w = ConstantOp(constant_attr(numbers, "w"), result_type=tensor_type(shape, F16))
            ops.extend([w, op := Conv2dOp(y, w)])
            return op.result

        a, b = conv(x, 32, 1), conv(conv(x, 16, 2), 24, 3)
        c = ConcatOp([a, b], axis=1)
        ops.append(c)
        return ops, [conv(c.result, 16, 4)]

    program = compiled((1, 16, 5, 7), build)
    x = np.random.default_rng(1).integers(-2, 3, (1, 16, 5, 7)).astype(np.float16)
    weights = [
        np.random.default_rng(seed).integers(-2, 3, shape).astype(np.float32)
        for seed, shape in enumerate([(32, 16), (16, 16), (24, 16), (16, 56)], 1)
    ]

    def conv(y: np.ndarray[Any, Any], w: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.einsum("nchw,oc->nohw", y, w)

    a, b = conv(x.astype(np.float32), weights[0]), conv(conv(x.astype(np.float32), weights[1]), weights[2])
    y = conv(np.concatenate([a, b], 1), weights[3])
    assert concats_and_copies(program) == (0, 0)
    result = run(program, [x], mode="functional", check=True)
    assert not result.findings
    assert np.abs(result.outputs[0] - y).max() <= 1e-3 * np.abs(y).max()
