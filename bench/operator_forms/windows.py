"""Forms of matrix products, convolutions and pooling, in floating point and quantised."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from operator_forms.form import FLOATS, Draw, Form, Forms

AUTO = ("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET")


def geometry(draw: Draw, count: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """Number of spatial axes and the attributes of a window over them."""
    for spatial, stride, dilation, pads, auto in draw.some(
        count, (2, 1, 3), (None, 1, 2, 3), (None, 1, 2), (None, 0, 1, "uneven"), (None, None, *AUTO)
    ):
        attributes: dict[str, Any] = {
            "strides": None if stride is None else [stride] * (spatial - 1) + [1 + stride % 2],
            "dilations": None if dilation is None else [dilation] * spatial,
            "pads": None
            if pads is None
            else [1, 0, 1, 1, 0, 1][: 2 * spatial]
            if pads == "uneven"
            else [pads] * 2 * spatial,
            "auto_pad": auto,
        }
        if auto not in (None, "NOTSET"):
            attributes["pads"] = None
            attributes["dilations"] = attributes["dilations"] if auto == "VALID" else None
        yield spatial, attributes


def conv(draw: Draw, opset: int) -> Iterator[Form]:
    for spatial, attributes in geometry(draw, 60):
        group, out = ((1, 3), (2, 4), (4, 4), (4, 8))[int(draw.random.integers(4))]
        dtype = FLOATS[int(draw.random.integers(3))]
        kernel = (3, 2, 1)[:spatial]
        inputs = {
            "x": draw.floats(2, 4, *(9, 8, 7)[:spatial], dtype=dtype),
            "w": draw.floats(out, 4 // group, *kernel, dtype=dtype),
        }
        inputs |= {"b": draw.floats(out, dtype=dtype)} if draw.random.integers(2) else {}
        stated = {
            "group": group if group > 1 else None,
            "kernel_shape": list(kernel) if draw.random.integers(2) else None,
        }
        yield Form(inputs, attributes | stated, ("w",))
    yield Form({"x": draw.floats(0, 2, 4, 4), "w": draw.floats(3, 2, 3, 3)})
    yield Form({"x": draw.floats(1, 2, 3, 3), "w": draw.floats(3, 2, 3, 3), "b": None})


def conv_transpose(draw: Draw, opset: int) -> Iterator[Form]:
    for spatial, attributes in geometry(draw, 50):
        group, out = ((1, 3), (2, 2), (4, 1))[int(draw.random.integers(3))]
        kernel = (3, 2, 1)[:spatial]
        inputs = {"x": draw.floats(2, 4, *(5, 4, 3)[:spatial]), "w": draw.floats(4, out, *kernel)}
        inputs |= {"b": draw.floats(out * group)} if draw.random.integers(2) else {}
        stated: dict[str, Any] = {"group": group if group > 1 else None}
        stated["kernel_shape"] = list(kernel) if draw.random.integers(2) else None
        yield Form(inputs, attributes | stated, ("w",))
        if attributes["strides"]:
            yield Form(inputs, attributes | stated | {"output_padding": [s - 1 for s in attributes["strides"]]}, ("w",))
            sized = attributes | stated | {"output_shape": [13, 9, 6][:spatial], "pads": None}
            yield Form(inputs, sized, ("w",))


def pool(draw: Draw, opset: int, **grid: tuple[Any, ...]) -> Iterator[Form]:
    for spatial, attributes in geometry(draw, 60):
        ceil = (None, 0, 1)[int(draw.random.integers(3))]
        own = {name: values[int(draw.random.integers(len(values)))] for name, values in grid.items()}
        x = draw.floats(2, 3, *(9, 8, 7)[:spatial], dtype=FLOATS[int(draw.random.integers(3))])
        yield Form({"x": x}, {"kernel_shape": [3, 2, 2][:spatial], "ceil_mode": ceil, **attributes, **own})
    yield Form({"x": draw.floats(1, 1, 4, 4)}, {"kernel_shape": [4, 4]})
    yield Form({"x": draw.floats(1, 1, 6, 6)}, {"kernel_shape": [2, 2], "strides": [3, 3], "ceil_mode": 1})
    yield Form({"x": draw.floats(1, 1, 5, 5)}, {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [2, 2, 2, 2]})


def average_pool(draw: Draw, opset: int) -> Iterator[Form]:
    yield from pool(draw, opset, count_include_pad=(None, 0, 1))


def lp_pool(draw: Draw, opset: int) -> Iterator[Form]:
    yield from pool(draw, opset, p=(None, 1, 2, 3))


def max_pool(draw: Draw, opset: int) -> Iterator[Form]:
    order = (None, 0, 1) if opset >= 8 else (None,)
    for form in pool(draw, opset, storage_order=order):
        yield form
        if opset >= 8:
            yield Form(form.inputs, form.attributes, outputs=2)
    for dtype in ("int8", "uint8"):
        yield Form({"x": draw.any(dtype, 1, 2, 6, 6)}, {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]})


def max_unpool(draw: Draw, opset: int) -> Iterator[Form]:
    """Without an output shape: onnxruntime counts the places in it, ONNX in the shape that follows from the window."""
    places = np.stack([draw.random.permutation(16)[:4] for _ in range(2)]).reshape(1, 2, 2, 2) + np.array(
        [0, 16]
    ).reshape(1, 2, 1, 1)
    x = draw.floats(1, 2, 2, 2)
    yield Form({"x": x, "i": places}, {"kernel_shape": [2, 2], "strides": [2, 2]})
    yield Form({"x": x, "i": places}, {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [0, 0, 1, 1]})


def global_pool(draw: Draw, opset: int) -> Iterator[Form]:
    for shape, dtype in draw.some(15, ((2, 3, 4, 5), (2, 3, 4), (2, 3, 2, 2, 2), (1, 1, 1, 1)), FLOATS):
        yield Form({"x": draw.floats(*shape, dtype=dtype)})


def global_lp_pool(draw: Draw, opset: int) -> Iterator[Form]:
    for shape, p in draw.some(15, ((2, 3, 4, 5), (2, 3, 4), (2, 3, 2, 2, 2)), (None, 1, 2, 3)):
        yield Form({"x": draw.floats(*shape)}, {"p": p})


MATRICES = (((2, 3), (3, 4)), ((3,), (3,)), ((3,), (3, 4)), ((2, 3), (3,)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)),
            ((2, 1, 2, 3), (5, 3, 4)), ((0, 3), (3, 4)), ((2, 0), (0, 4)), ((1, 1), (1, 1)), ((3,), (2, 3, 4)), ((2, 4, 3), (3,)))  # fmt: skip


def mat_mul(draw: Draw, opset: int) -> Iterator[Form]:
    for a, b in MATRICES:
        yield Form({"a": draw.floats(*a), "b": draw.floats(*b)}, {}, ("b",))
    for dtype in (*FLOATS, "int32", "int64", "uint32", "uint64"):
        yield Form({"a": draw.any(dtype, 2, 3), "b": draw.any(dtype, 3, 4)}, {}, ("b",))


def gemm(draw: Draw, opset: int) -> Iterator[Form]:
    for ta, tb, alpha, beta, bias in draw.some(
        60,
        (None, 0, 1),
        (None, 0, 1),
        (None, 0.5),
        (None, 2.0, 0.0),
        (None, (2, 4), (4,), (1, 4), (2, 1), (1,), (), (1, 1)),
    ):
        inputs = {"a": draw.floats(*((3, 2) if ta else (2, 3))), "b": draw.floats(*((4, 3) if tb else (3, 4)))}
        if bias is not None:
            inputs["c"] = draw.floats(*bias)
        elif opset < 11:
            continue
        attributes = {"transA": ta, "transB": tb, "alpha": alpha, "beta": beta}
        if opset < 7:
            attributes["broadcast"] = 1
        yield Form(inputs, attributes, ("b",))
    for dtype in (*FLOATS, "int32", "int64"):
        yield Form({n: draw.any(dtype, *s) for n, s in {"a": (2, 3), "b": (3, 4), "c": (4,)}.items()})
    yield Form({"a": draw.floats(2, 0), "b": draw.floats(0, 4), "c": draw.floats(4)})
    yield Form({"a": draw.floats(0, 3), "b": draw.floats(3, 4), "c": draw.floats(4)})


def einsum(draw: Draw, opset: int) -> Iterator[Form]:
    cases = (
        ("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk", (2, 3), (3, 4)), ("ij->ji", (2, 3)), ("ii->i", (3, 3)), ("ii", (3, 3)),
        ("ij->", (2, 3)), ("ij->j", (2, 3)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)), ("...ij,...jk->...ik", (2, 3, 4), (4, 5)),
        ("...ij->...ji", (2, 3, 4)), ("i,j->ij", (3,), (4,)), ("i,i->", (3,), (3,)), ("ij,kj->ik", (2, 3), (4, 3)),
        ("bhqd,bhkd->bhqk", (2, 2, 3, 4), (2, 2, 5, 4)), ("bqhd,bkhd->bhqk", (2, 3, 2, 4), (2, 5, 2, 4)),
        ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)), ("i j , j k -> i k", (2, 3), (3, 4)), ("bi,oij,bj->bo", (2, 3), (4, 3, 5), (2, 5)),
        ("bij,bj->bi", (2, 3, 4), (2, 4)), ("ij,ij->ij", (2, 3), (2, 3)), ("nchw,cd->ndhw", (1, 3, 2, 2), (3, 4)),
        ("...,...->...", (2, 3), (3,)), ("iij->j", (2, 2, 3)), ("b...,b...->b...", (2, 3), (2, 3)), ("ABc,cB->A", (2, 3, 4), (4, 3)),
        ("i->i", (3,)), ("ij,->ij", (2, 3), ()), ("b i d, b j d -> b i j", (1, 2, 3), (1, 4, 3)),
    )  # fmt: skip
    for equation, *shapes in cases:
        yield Form({f"x{i}": draw.floats(*shape) for i, shape in enumerate(shapes)}, {"equation": equation})
    for dtype in ("float64", "float16", "int32", "int64"):
        yield Form({"a": draw.any(dtype, 2, 3), "b": draw.any(dtype, 3, 4)}, {"equation": "ij,jk->ik"})


def det(draw: Draw, opset: int) -> Iterator[Form]:
    for shape in ((3, 3), (2, 2, 2), (1, 1), (2, 3, 4, 4)):
        yield Form({"x": draw.floats(*shape)})


def mat_mul_integer(draw: Draw, opset: int) -> Iterator[Form]:
    for (a, b), ta, tb, points in draw.some(50, MATRICES, ("uint8", "int8"), ("uint8", "int8"), (0, 1, 2, 3)):
        inputs: dict[str, Any] = {"a": draw.any(ta, *a), "b": draw.any(tb, *b)}
        if points >= 1:
            inputs["az"] = draw.any(ta) if points < 3 or len(a) != 2 else draw.any(ta, a[0])
        if points >= 2:
            inputs["bz"] = draw.any(tb) if points < 3 or len(b) != 2 else draw.any(tb, b[-1])
        yield Form(inputs, {}, ("b", "az", "bz")[: len(inputs) - 1])


def conv_integer(draw: Draw, opset: int) -> Iterator[Form]:
    for spatial, attributes in geometry(draw, 30):
        kernel = (3, 2, 1)[:spatial]
        inputs: dict[str, Any] = {
            "x": draw.any("uint8", 1, 4, *(7, 6, 5)[:spatial]),
            "w": draw.any("uint8", 3, 4, *kernel),
        }
        points = int(draw.random.integers(3))
        inputs |= {"xz": np.array(3, np.uint8)} if points else {}
        inputs |= {"wz": np.array(2, np.uint8)} if points == 2 else {}
        yield Form(inputs, attributes, ("w",))


def q_linear_conv(draw: Draw, opset: int) -> Iterator[Form]:
    for spatial, attributes in geometry(draw, 40):
        kernel, group = (3, 2, 1)[:spatial], (1, 2)[int(draw.random.integers(2))]
        channel, bias = draw.random.integers(2), draw.random.integers(2)
        tx, tw = (("uint8", "uint8"), ("uint8", "int8"), ("int8", "int8"))[int(draw.random.integers(3))]
        scales = (4,) if channel else ()
        inputs: dict[str, Any] = {
            "x": draw.any(tx, 1, 4, *(7, 6, 5)[:spatial]),
            "xs": np.array(0.1, np.float32),
            "xz": draw.any(tx),
        }
        inputs |= {"w": draw.any(tw, 4, 4 // group, *kernel), "ws": draw.floats(*scales, low=0.01, high=0.1)}
        inputs |= {"wz": np.zeros(scales, tw), "ys": np.array(0.37, np.float32), "yz": draw.any(tx)}
        inputs |= {"b": draw.integers(4, low=-50, high=50, dtype="int32")} if bias else {}
        yield Form(inputs, attributes | {"group": group}, ("xs", "xz", "w", "ws", "wz", "ys", "yz"))


def q_linear_mat_mul(draw: Draw, opset: int) -> Iterator[Form]:
    for (a, b), ta, tb, channel in draw.some(40, MATRICES[:7], ("uint8", "int8"), ("uint8", "int8"), (False, True)):
        per = (b[-1],) if channel and len(b) == 2 else ()
        inputs = {"a": draw.any(ta, *a), "as": np.array(0.1, np.float32), "az": draw.any(ta), "b": draw.any(tb, *b)}
        inputs |= {
            "bs": draw.floats(*per, low=0.01, high=0.1),
            "bz": draw.any(tb, *per),
            "ys": np.array(0.21, np.float32),
            "yz": draw.any(ta),
        }
        yield Form(inputs, {}, ("as", "az", "b", "bs", "bz", "ys", "yz"))


def quantize(draw: Draw, opset: int) -> Iterator[Form]:
    """Without fp16, which ONNX divides in fp16 and onnxruntime in fp32."""
    for target, source, axis, zero in draw.some(
        60, ("uint8", "int8", "int16", "uint16"), ("float32", "int32"), (None, 0, 1, -1), (True, False)
    ):
        shape = (3, 3)
        scales = () if axis is None else (3,)
        inputs = {
            "x": draw.floats(*shape, low=-40, high=40, dtype=source),
            "s": draw.floats(*scales, low=0.1, high=0.5),
        }
        inputs |= {"z": draw.any(target, *scales)} if zero else {}
        yield Form(inputs, {"axis": axis}, ("s", "z") if zero else ("s",))
    yield Form({"x": np.array([0.5, 1.5, 2.5, -0.5, 300, -300, np.inf], np.float32), "s": np.array(1, np.float32)})
    if opset >= 21:
        for axis, block in ((0, 2), (1, 3), (-1, 2)):
            shape = (2, 6) if axis == 0 else (4, 6 // block)
            inputs = {
                "x": draw.floats(4, 6),
                "s": draw.floats(*shape, low=0.1, high=0.5),
                "z": draw.any("uint8", *shape),
            }
            yield Form(inputs, {"axis": axis, "block_size": block}, ("s", "z"))
        for kind in (2, 3, 21, 22):
            yield Form({"x": draw.floats(4, 6), "s": np.array(0.4, np.float32)}, {"output_dtype": kind})


def dequantize(draw: Draw, opset: int) -> Iterator[Form]:
    for source, axis, zero, scale in draw.some(
        60, ("uint8", "int8", "int32", "int16", "uint16"), (None, 0, 1, -1), (True, False), ("float32", "float16")
    ):
        scales = () if axis is None else (3,)
        inputs = {"x": draw.any(source, 3, 3), "s": draw.floats(*scales, low=0.1, high=0.5, dtype=scale)}
        inputs |= {"z": draw.any(source, *scales) if source != "int32" else np.zeros(scales, source)} if zero else {}
        yield Form(inputs, {"axis": axis}, ("s", "z") if zero else ("s",))
    if opset >= 21:
        for axis, block in ((0, 2), (1, 3), (-1, 2)):
            shape = (2, 6) if axis == 0 else (4, 6 // block)
            inputs = {
                "x": draw.any("int8", 4, 6),
                "s": draw.floats(*shape, low=0.1, high=0.5),
                "z": draw.any("int8", *shape),
            }
            yield Form(inputs, {"axis": axis, "block_size": block}, ("s", "z"))


def dynamic_quantize(draw: Draw, opset: int) -> Iterator[Form]:
    for low, high in ((-3, 3), (1, 4), (-5, -1), (0, 0)):
        yield Form({"x": draw.floats(3, 4, low=low, high=high)}, outputs=3)


def deform_conv(draw: Draw, opset: int) -> Iterator[Form]:
    for groups, offsets, mask, bias, stride in draw.some(
        20, (None, 2), (None, 2), (True, False), (True, False), (None, 2)
    ):
        out = 5 if stride is None else 3
        og = offsets or 1
        inputs: dict[str, Any] = {"x": draw.floats(1, 4, 5, 5), "w": draw.floats(4, 4 // (groups or 1), 3, 3)}
        inputs |= {"o": draw.floats(1, og * 18, out, out, low=-1, high=1), "b": draw.floats(4) if bias else None}
        inputs |= {"m": draw.floats(1, og * 9, out, out, low=0, high=1)} if mask else {}
        attributes = {
            "group": groups,
            "offset_group": offsets,
            "pads": [1, 1, 1, 1],
            "strides": None if stride is None else [2, 2],
        }
        yield Form(inputs, attributes, ("w", "b"))


def causal_conv(draw: Draw, opset: int) -> Iterator[Form]:
    for bias, state, activation in draw.some(8, (True, False), (True, False), (None, "silu")):
        inputs = {"x": draw.floats(2, 4, 6), "w": draw.floats(4, 1, 3), "b": draw.floats(4) if bias else None}
        inputs |= {"s": draw.floats(2, 4, 2)} if state else {}
        yield Form(inputs, {"activation": activation}, outputs=2)


FORMS: dict[str, Forms] = {
    "Conv": conv, "ConvTranspose": conv_transpose, "DeformConv": deform_conv, "CausalConvWithState": causal_conv,
    "AveragePool": average_pool, "MaxPool": max_pool, "LpPool": lp_pool, "MaxUnpool": max_unpool,
    "GlobalAveragePool": global_pool, "GlobalMaxPool": global_pool, "GlobalLpPool": global_lp_pool,
    "MatMul": mat_mul, "Gemm": gemm, "Einsum": einsum, "Det": det,
    "MatMulInteger": mat_mul_integer, "ConvInteger": conv_integer, "QLinearConv": q_linear_conv,
    "QLinearMatMul": q_linear_mat_mul, "QuantizeLinear": quantize, "DequantizeLinear": dequantize,
    "DynamicQuantizeLinear": dynamic_quantize,
}  # fmt: skip
