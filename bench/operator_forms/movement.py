"""Forms of operators that move, choose, pad, index and generate elements."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import numpy as np
from onnx import numpy_helper

from operator_forms.form import ALL, INTEGERS, NUMBERS, Draw, Form, Forms, ints


def reshape(draw: Draw, opset: int) -> Iterator[Form]:
    cases = (((2, 3, 4), (6, 4)), ((2, 3, 4), (-1,)), ((2, 3, 4), (0, -1)), ((2, 3, 4), (0, 0, 2, 2)), ((4,), (2, 2)),
             ((1,), ()), ((), (1, 1)), ((0, 3), (3, 0)), ((2, 0), (0, -1, 1)), ((2, 3), (1, 2, 1, 3, 1, 1)))  # fmt: skip
    for shape, target in cases:
        yield Form({"x": draw.floats(*shape), "shape": ints(*target)}, {}, ("shape",))
    if opset >= 14:
        for allow in (0, 1):
            yield Form({"x": draw.floats(0, 3), "shape": ints(3, 0)}, {"allowzero": allow}, ("shape",))
            yield Form({"x": draw.floats(2, 3), "shape": ints(3, -1)}, {"allowzero": allow}, ("shape",))
    for dtype in ALL:
        yield Form({"x": draw.any(dtype, 2, 3), "shape": ints(3, 2)}, {}, ("shape",))


def transpose(draw: Draw, opset: int) -> Iterator[Form]:
    for rank in range(7):
        shape = (2, 3, 1, 2, 3, 2)[:rank]
        yield Form({"x": draw.floats(*shape)})
        for (perm,) in draw.some(6, permutations(range(rank))):
            yield Form({"x": draw.floats(*shape)}, {"perm": list(perm) or None})
    for dtype in ALL:
        yield Form({"x": draw.any(dtype, 2, 0, 3)}, {"perm": [2, 0, 1]})


def concat(draw: Draw, opset: int) -> Iterator[Form]:
    for axis, count, dtype in draw.some(30, (0, 1, -1), (1, 2, 4), ALL):
        yield Form({f"x{i}": draw.any(dtype, 2, 3) for i in range(count)}, {"axis": axis})
    yield Form({"a": draw.floats(2, 0), "b": draw.floats(2, 3)}, {"axis": 1})
    yield Form({"a": draw.floats(2), "b": draw.floats(0), "c": draw.floats(1)}, {"axis": 0})
    yield Form({"a": draw.floats(1, 2, 3, 1), "b": draw.floats(1, 4, 3, 1)}, {"axis": -3})


def split(draw: Draw, opset: int) -> Iterator[Form]:
    for axis, dtype in draw.some(20, (None, 0, 1, -1), ALL):
        if opset < 18:
            yield Form({"x": draw.any(dtype, 4, 6)}, {"axis": axis}, outputs=2)
        else:
            yield Form({"x": draw.any(dtype, 4, 6)}, {"axis": axis, "num_outputs": 2}, outputs=2)
    for axis, sizes in ((0, (1, 3)), (1, (2, 0, 4)), (-1, (6,)), (1, (1, 2, 3))):
        if opset < 13:
            yield Form({"x": draw.floats(4, 6)}, {"axis": axis, "split": list(sizes)}, outputs=len(sizes))
        else:
            yield Form({"x": draw.floats(4, 6), "split": ints(*sizes)}, {"axis": axis}, ("split",), len(sizes))
    if opset >= 18:
        for extent, count in ((7, 2), (7, 3), (5, 4), (6, 6), (1, 1)):
            yield Form({"x": draw.floats(extent, 2)}, {"num_outputs": count}, outputs=count)


def slice_(draw: Draw, opset: int) -> Iterator[Form]:
    cases = (
        ((1,), (3,), None, None), ((0, 1), (2, 3), (0, 2), None), ((-2,), (9999,), (1,), (1,)), ((0,), (5,), (2,), (2,)),
        ((-1,), (-9999,), (0,), (-1,)), ((4,), (0,), (-1,), (-2,)), ((2,), (1,), (0,), (1,)), ((0, 0, 0), (1, 1, 1), None, None),
        ((1,), (2**63 - 1,), (-2,), (1,)), ((-(2**63),), (2,), (1,), None), ((), (), (), None),
        ((2**31,), (-(2**31),), (2,), (-1,)), ((3, 1), (1, 3), (1, -3), (-1, 1)),
    )  # fmt: skip
    for starts, ends, axes, steps in cases:
        x = draw.floats(3, 4, 5)
        if opset < 10:
            if steps is None or set(steps) == {1}:
                yield Form({"x": x}, {"starts": list(starts), "ends": list(ends), "axes": axes})
            continue
        for dtype in ("int64", "int32"):
            limits = np.iinfo(dtype)
            given = {"starts": starts, "ends": ends, "axes": axes, "steps": steps}
            bounds = {
                n: None if v is None else np.array([min(max(i, limits.min), limits.max) for i in v], dtype)
                for n, v in given.items()
            }
            yield Form({"x": x, **bounds}, {}, tuple(n for n, v in bounds.items() if v is not None))
    if opset >= 10:
        for dtype in ALL:
            yield Form({"x": draw.any(dtype, 5), "starts": ints(1), "ends": ints(4)}, {}, ("starts", "ends"))
        yield Form({"x": draw.floats(0, 3), "starts": ints(0), "ends": ints(2)}, {}, ("starts", "ends"))


def pad(draw: Draw, opset: int) -> Iterator[Form]:
    modes = (None, "constant", "reflect", "edge", "wrap")
    cases = (((3, 4), (1, 0, 0, 2)), ((3, 4), (0, 0, 0, 0)), ((2, 3, 4, 5), (0, 0, 1, 2, 0, 0, 2, 1)), ((4,), (1, 3)),
             ((3, 4), (-1, 0, 0, 2)), ((3, 4), (1, -1, -1, 1)), ((5, 5), (0, -2, 0, -1)))  # fmt: skip
    for mode, (shape, pads) in draw.some(40, modes, cases):
        if opset < 11:
            yield Form({"x": draw.floats(*shape)}, {"mode": mode, "pads": list(pads)})
            yield Form({"x": draw.floats(*shape)}, {"mode": mode, "pads": list(pads), "value": 1.5})
            continue
        inputs = {"x": draw.floats(*shape), "pads": ints(*pads)}
        yield Form(inputs, {"mode": mode}, ("pads",))
        if mode in (None, "constant"):
            yield Form(inputs | {"value": np.array(1.5, np.float32)}, {"mode": mode}, ("pads", "value"))
            yield Form(inputs | {"value": np.array([1.5], np.float32)}, {"mode": mode}, ("pads", "value"))
    if opset >= 11:
        for dtype in ALL:
            yield Form(
                {"x": draw.any(dtype, 2, 3), "pads": ints(1, 0, 0, 1), "value": draw.any(dtype)}, {}, ("pads", "value")
            )
        yield Form({"x": draw.floats(2, 0), "pads": ints(1, 0, 0, 1)}, {}, ("pads",))
    if opset >= 18:
        for axes, pads in (((0,), (1, 2)), ((-1,), (1, 2)), ((1, 0), (1, 2, 3, 4)), ((), ())):
            for value, mode in ((None, None), (np.array(2, np.float32), None), (None, "edge"), (None, "wrap")):
                inputs = {"x": draw.floats(3, 5), "pads": ints(*pads), "value": value, "axes": ints(*axes)}
                yield Form(inputs, {"mode": mode}, ("pads", "axes"))
        yield Form(
            {"x": draw.floats(3, 5), "pads": ints(1, 1), "v": None, "axes": np.array([1], np.int32)},
            {},
            ("pads", "axes"),
        )


def squeeze(draw: Draw, opset: int) -> Iterator[Form]:
    for shape, axes in (((1, 3, 1), None), ((1, 3, 1), (0,)), ((1, 3, 1), (-1, 0)), ((3, 1), (1,)), ((1,), (0,)), ((1, 1), None),
                        ((2, 3), None), ((1, 0), (0,)), ((2, 3), ())):  # fmt: skip
        x = draw.floats(*shape)
        if axes is None:
            yield Form({"x": x})
        elif opset < 13:
            yield Form({"x": x}, {"axes": list(axes)})
        else:
            yield Form({"x": x, "axes": ints(*axes)}, {}, ("axes",))


def unsqueeze(draw: Draw, opset: int) -> Iterator[Form]:
    for shape, axes in (
        ((3,), (0,)),
        ((3, 4), (0, 2)),
        ((3, 4), (-1,)),
        ((3, 4), (3, 0)),
        ((), (0,)),
        ((2, 0), (-2, 1)),
        ((3,), ()),
    ):
        x = draw.floats(*shape)
        yield Form({"x": x}, {"axes": list(axes)}) if opset < 13 else Form({"x": x, "axes": ints(*axes)}, {}, ("axes",))
    if opset >= 13:
        yield Form({"x": draw.floats(3), "axes": np.array(0)}, {}, ("axes",))


def flatten(draw: Draw, opset: int) -> Iterator[Form]:
    for shape, axis in draw.some(30, ((2, 3, 4), (2, 3), (4,), (), (2, 0, 3)), (None, 0, 1, -1, 2, 3)):
        yield Form({"x": draw.floats(*shape)}, {"axis": axis})
    for dtype in ALL:
        yield Form({"x": draw.any(dtype, 2, 3, 4)})


def expand(draw: Draw, opset: int) -> Iterator[Form]:
    for shape, target in (
        ((3, 1), (3, 4)),
        ((3, 1), (2, 1, 4)),
        ((3, 1), (1, 1)),
        ((), (2, 3)),
        ((1,), ()),
        ((2, 1), (2, 0)),
        ((2, 3), (3,)),
    ):
        yield Form({"x": draw.floats(*shape), "shape": ints(*target)}, {}, ("shape",))
    for dtype in ALL:
        yield Form({"x": draw.any(dtype, 1, 3), "shape": ints(2, 3)}, {}, ("shape",))


def tile(draw: Draw, opset: int) -> Iterator[Form]:
    for shape, repeats in (
        ((2, 3), (2, 1)),
        ((2, 3), (1, 1)),
        ((2, 3), (0, 2)),
        ((3,), (4,)),
        ((), ()),
        ((2, 3, 4), (2, 3, 1)),
    ):
        yield Form({"x": draw.floats(*shape), "repeats": ints(*repeats)}, {}, ("repeats",))
    for dtype in ALL:
        yield Form({"x": draw.any(dtype, 1, 3), "repeats": ints(2, 3)}, {}, ("repeats",))


def shape_(draw: Draw, opset: int) -> Iterator[Form]:
    for shape in ((2, 3, 4), (), (0, 2), (1,)):
        for start, end in ((None, None), (1, None), (None, -1), (-2, 3), (5, 9), (2, 1), (-9, 9)):
            if opset >= 15 or (start, end) == (None, None):
                yield Form({"x": draw.floats(*shape)}, {"start": start, "end": end})
    for dtype in ALL:
        yield Form({"x": draw.any(dtype, 2, 3)})


def size(draw: Draw, opset: int) -> Iterator[Form]:
    for shape in ((2, 3, 4), (), (0, 2), (1,)):
        yield Form({"x": draw.floats(*shape)})


def constant_of_shape(draw: Draw, opset: int) -> Iterator[Form]:
    yield Form({"shape": ints(2, 3)}, {}, ("shape",))
    for dtype, shape in draw.some(30, ALL, ((2, 3), (), (0, 2), (1,))):
        value = numpy_helper.from_array(np.array([1.5]).astype(dtype), "v")
        yield Form({"shape": np.array(shape, np.int64)}, {"value": value}, ("shape",))


def depth(draw: Draw, opset: int) -> Iterator[Form]:
    for shape, block, mode, dtype in draw.some(
        16, ((1, 8, 2, 3), (2, 4, 1, 2)), (1, 2), (None, "DCR", "CRD"), ("float32", "float64", "float16", "uint8")
    ):
        yield Form({"x": draw.any(dtype, *shape)}, {"blocksize": block, "mode": mode})


def space(draw: Draw, opset: int) -> Iterator[Form]:
    for shape, block, dtype in draw.some(10, ((1, 2, 4, 6), (2, 1, 2, 2)), (1, 2), ("float32", "float64", "uint8")):
        yield Form({"x": draw.any(dtype, *shape)}, {"blocksize": block})


def gather(draw: Draw, opset: int) -> Iterator[Form]:
    for shape, indices, axis in draw.some(30, ((3, 4), (5,), (2, 3, 4)), ((), (2,), (2, 2), (0,), (1,)), (None, 0, -1)):
        low = -3 if opset >= 11 else 0
        for dtype in ("int64", "int32"):
            index = draw.integers(*indices, low=low, high=min(shape), dtype=dtype).clip(-min(shape))
            yield Form({"x": draw.floats(*shape), "i": index}, {"axis": axis}, ("i",))
    for dtype in ALL:
        yield Form({"x": draw.any(dtype, 3, 4), "i": ints(1, 0)}, {"axis": 1})


def gather_elements(draw: Draw, opset: int) -> Iterator[Form]:
    for axis, dtype, index in draw.some(20, (None, 0, 1, -1), ALL, ("int64", "int32")):
        yield Form({"x": draw.any(dtype, 3, 4), "i": draw.integers(2, 3, low=-3, high=3, dtype=index)}, {"axis": axis})
    yield Form({"x": draw.floats(3, 4, 2), "i": draw.integers(0, 4, 2, high=3)})


def gather_nd(draw: Draw, opset: int) -> Iterator[Form]:
    for indices, batch in (
        ((2, 2), 0),
        ((2, 1), 0),
        ((3,), 0),
        ((2, 2, 2), 0),
        ((2, 1), 1),
        ((2, 2, 1), 1),
        ((2, 3, 1), 2),
        ((0, 2), 0),
    ):
        if batch == 0 or opset >= 12:
            index = draw.integers(*indices, low=-2, high=2)
            yield Form({"x": draw.floats(2, 3, 4), "i": index}, {"batch_dims": batch or None})
    for dtype in ALL:
        yield Form({"x": draw.any(dtype, 2, 3), "i": draw.integers(2, 1, high=2)})


def scatter_elements(draw: Draw, opset: int) -> Iterator[Form]:
    modes = ("none", "add", "mul", "max", "min")
    for axis, reduction, dtype in draw.some(
        40, (None, 0, 1, -1), (None, *modes), ("float32", "float16", "float64", *INTEGERS, "bool")
    ):
        index = np.stack([draw.random.permutation(3)[:2] for _ in range(4)], axis=1)
        index = index if axis in (None, 0) else np.stack([draw.random.permutation(4)[:3] for _ in range(2)])
        duplicates = reduction not in (None, "none") and draw.random.integers(2)
        index = np.zeros_like(index) if duplicates else index
        inputs = {"x": draw.any(dtype, 3, 4), "i": index - 2, "u": draw.any(dtype, *index.shape)}
        yield Form(inputs, {"axis": axis, "reduction": reduction})
    yield Form({"x": draw.floats(3), "i": ints(), "u": draw.floats(0)})
    yield Form({"x": draw.floats(3, 2), "i": np.array([[1, 0]], np.int32), "u": draw.floats(1, 2)})


def scatter_nd(draw: Draw, opset: int) -> Iterator[Form]:
    for reduction, dtype, (indices, updates) in draw.some(
        40, (None, "none", "add", "mul", "max", "min"), ("float32", "float16", "float64", "int64", "int32", "uint8", "bool"),
        (([[0], [2]], (2, 3, 4)), ([[0, 1], [3, -1]], (2, 4)), ([[1, 1, 1]], (1,)), ([[[0], [1]], [[2], [3]]], (2, 2, 3, 4))),
    ):  # fmt: skip
        inputs = {"x": draw.any(dtype, 4, 3, 4), "i": np.array(indices), "u": draw.any(dtype, *updates)}
        yield Form(inputs, {"reduction": reduction})
    yield Form({"x": draw.floats(3, 2), "i": np.zeros((0, 1), np.int64), "u": draw.floats(0, 2)})


def compress(draw: Draw, opset: int) -> Iterator[Form]:
    for axis, condition in draw.some(20, (None, 0, 1, -1), ((1, 0, 1), (0, 1), (0, 0, 0))):
        yield Form({"x": draw.floats(3, 4), "c": np.array(condition, bool)}, {"axis": axis}, ("c",))


def non_zero(draw: Draw, opset: int) -> Iterator[Form]:
    for dtype, shape in draw.some(
        30, ("float32", "bool", "int64", "int32", "uint8"), ((3, 4), (5,), (2, 2, 2), (0, 3), (1,))
    ):
        yield Form({"x": draw.integers(*shape, high=2).astype(dtype)})


def unique(draw: Draw, opset: int) -> Iterator[Form]:
    for axis, sort, outputs, dtype in draw.some(
        40, (None, 0, 1, -1), (None, 0, 1), (1, 2, 3, 4), ("float32", "int64", "float64")
    ):
        yield Form({"x": draw.integers(4, 3, high=2).astype(dtype)}, {"axis": axis, "sorted": sort}, outputs=outputs)
    yield Form({"x": draw.integers(9, high=4)}, outputs=4)


def top_k(draw: Draw, opset: int) -> Iterator[Form]:
    for axis, largest, sort, k in draw.some(40, (None, 0, -1, 1), (None, 0, 1), (None, 1), (1, 3)):
        x = draw.floats(4, 5)
        if opset < 10:
            yield Form({"x": x}, {"axis": axis, "k": k}, outputs=2)
        else:
            attributes = {"axis": axis, "largest": largest, "sorted": sort}
            yield Form({"x": x, "k": ints(k)}, attributes, ("k",), 2)
    if opset >= 10:
        for dtype in NUMBERS:
            yield Form({"x": draw.any(dtype, 3, 6), "k": ints(4)}, {}, ("k",), 2)
        yield Form({"x": np.zeros((2, 5), np.float32), "k": ints(3)}, {}, ("k",), 2)
        yield Form({"x": draw.floats(4), "k": ints(0)}, {}, ("k",), 2)


def one_hot(draw: Draw, opset: int) -> Iterator[Form]:
    for axis, shape, scalar in draw.some(20, (None, 0, 1, -1, -2), ((3,), (2, 3), ()), (True, False)):
        for index, deep, value in (
            ("int64", "int64", "float32"),
            ("int64", "int64", "int64"),
            ("float32", "float32", "float32"),
            ("int32", "int32", "float32"),
        ):
            depth_ = np.array(5 if scalar else [5], deep)
            values = np.array([1, 4]).astype(value)
            inputs = {"i": draw.integers(*shape, low=-2, high=7, dtype=index), "depth": depth_, "values": values}
            yield Form(inputs, {"axis": axis}, ("depth", "values"))


def trilu(draw: Draw, opset: int) -> Iterator[Form]:
    for shape, upper, k in draw.some(30, ((3, 4), (4, 3), (2, 3, 3), (2, 0)), (None, 0, 1), (None, 0, 1, -1, 5, -5)):
        inputs = {"x": draw.floats(*shape)} | ({} if k is None else {"k": np.array(k)})
        yield Form(inputs, {"upper": upper}, () if k is None else ("k",))
    for dtype in ALL:
        yield Form({"x": draw.any(dtype, 3, 3)})


def eye_like(draw: Draw, opset: int) -> Iterator[Form]:
    for k, dtype, source in draw.some(30, (None, 1, -1, 7), (None, 1, 7, 9, 10, 11, 6), ALL):
        yield Form({"x": draw.any(source, 3, 4)}, {"k": k, "dtype": dtype})


def range_(draw: Draw, opset: int) -> Iterator[Form]:
    for dtype, (start, limit, delta) in draw.some(
        40, ("int64", "int32", "int16", "float32", "float64"), ((0, 5, 1), (5, 0, -2), (1, 1, 1), (2, 9, 3), (3, 1, 1))
    ):
        names = ("start", "limit", "delta")
        yield Form({n: np.array(v, dtype) for n, v in zip(names, (start, limit, delta), strict=True)}, {}, names)
    values = (0.5, 2.1, 0.3)
    yield Form({n: np.array(v, np.float32) for n, v in zip("sld", values, strict=True)}, {}, ("s", "l", "d"))


def reverse_sequence(draw: Draw, opset: int) -> Iterator[Form]:
    for batch, time in ((None, None), (1, 0), (0, 1)):
        count = 4 if batch != 0 else 3
        extent = 3 if batch != 0 else 4
        lengths = draw.integers(count, low=1, high=extent + 1)
        for shape in ((3, 4), (3, 4, 2)):
            yield Form(
                {"x": draw.floats(*shape), "lengths": lengths}, {"batch_axis": batch, "time_axis": time}, ("lengths",)
            )


def center_crop_pad(draw: Draw, opset: int) -> Iterator[Form]:
    for shape, axes in (((4, 4), None), ((7, 3), None), ((2,), (0,)), ((2,), (-1,)), ((3, 9), (1, 0)), ((5, 6), None)):
        yield Form({"x": draw.floats(5, 6), "shape": ints(*shape)}, {"axes": axes}, ("shape",))


def tensor_scatter(draw: Draw, opset: int) -> Iterator[Form]:
    for mode, axis, indices in draw.some(20, (None, "linear", "circular"), (None, -2, 2, 1), (True, False)):
        inputs = {"past": draw.floats(2, 4, 4, 3), "update": draw.floats(2, *((2, 4) if axis == 1 else (4, 2)), 3)}
        inputs |= {"indices": draw.integers(2, high=3)} if indices else {}
        yield Form(inputs, {"mode": mode, "axis": axis})


FORMS: dict[str, Forms] = {
    "Reshape": reshape, "Transpose": transpose, "Concat": concat, "Split": split, "Slice": slice_, "Pad": pad,
    "Squeeze": squeeze, "Unsqueeze": unsqueeze, "Flatten": flatten, "Expand": expand, "Tile": tile, "Shape": shape_,
    "Size": size, "ConstantOfShape": constant_of_shape, "DepthToSpace": depth, "SpaceToDepth": space, "Gather": gather,
    "GatherElements": gather_elements, "GatherND": gather_nd, "ScatterElements": scatter_elements,
    "Scatter": scatter_elements, "ScatterND": scatter_nd, "Compress": compress, "NonZero": non_zero, "Unique": unique,
    "TopK": top_k, "OneHot": one_hot, "Trilu": trilu, "EyeLike": eye_like, "Range": range_,
    "ReverseSequence": reverse_sequence, "CenterCropPad": center_crop_pad, "TensorScatter": tensor_scatter,
}  # fmt: skip
