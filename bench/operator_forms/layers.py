"""Forms of recurrent layers, attention, sampling, detection, signals and control flow."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import onnx
from onnx import helper

from operator_forms.form import Draw, Form, Forms, ints


def recurrent(draw: Draw, opset: int, *, gates: int) -> Iterator[Form]:
    directions = ("forward", "reverse", "bidirectional", None)
    for direction, bias, lengths, initial, layout, clip, special in draw.some(
        40, directions, (True, False), (False, True), (False, True), (None, 1), (None, 0.5), (False, True)
    ):
        if layout is not None and opset < 14:
            layout = None
        n, batch, steps, size, hidden = (2 if direction == "bidirectional" else 1), 3, 4, 2, 5
        inputs: dict[str, Any] = {
            "x": draw.floats(*((batch, steps) if layout else (steps, batch)), size),
            "w": draw.floats(n, gates * hidden, size, low=-1, high=1),
            "r": draw.floats(n, gates * hidden, hidden, low=-1, high=1),
            "b": draw.floats(n, 2 * gates * hidden, low=-1, high=1) if bias else None,
            "lengths": np.array([4, 2, 3], np.int32) if lengths else None,
            "h": draw.floats(*((batch, n) if layout else (n, batch)), hidden) if initial else None,
        }
        if gates == 4:
            inputs["c"] = draw.floats(*((batch, n) if layout else (n, batch)), hidden) if initial else None
            inputs["p"] = draw.floats(n, 3 * hidden) if special else None
        attributes: dict[str, Any] = {"hidden_size": hidden, "direction": direction, "layout": layout, "clip": clip}
        if gates == 3:
            attributes["linear_before_reset"] = 1 if special else None
        if gates == 4 and special:
            attributes["input_forget"] = 1 if draw.random.integers(2) else 0
        if gates == 1 and special:
            attributes["activations"] = ["Relu"] * n
        yield Form(inputs, attributes, ("w", "r", "b", "p"), 3 if gates == 4 else 2)
    names = {1: ["Tanh"], 3: ["Sigmoid", "Tanh"], 4: ["Sigmoid", "Tanh", "Tanh"]}[gates]
    for other in (
        "Relu",
        "Affine",
        "LeakyRelu",
        "ThresholdedRelu",
        "ScaledTanh",
        "HardSigmoid",
        "Elu",
        "Softsign",
        "Softplus",
    ):
        inputs = {
            "x": draw.floats(4, 3, 2),
            "w": draw.floats(1, gates * 5, 2, low=-1, high=1),
            "r": draw.floats(1, gates * 5, 5, low=-1, high=1),
        }
        alpha = (
            [0.5] if other in ("Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu") else None
        )
        beta = [0.25] if other in ("Affine", "ScaledTanh", "HardSigmoid") else None
        attributes = {"hidden_size": 5, "activations": [*names[:-1], other]}
        yield Form(inputs, attributes | {"activation_alpha": alpha, "activation_beta": beta}, ("w", "r"), 2)
        if other not in ("Affine", "ThresholdedRelu", "ScaledTanh"):  # onnxruntime's default is 0, ONNX's 1
            yield Form(inputs, attributes, ("w", "r"), 2)


def attention(draw: Draw, opset: int) -> Iterator[Form]:
    for rank, kv, causal, scale, cap, mask, past, mode in draw.some(
        60,
        (4, 3),
        (2, 4),
        (None, 1),
        (None, 0.3),
        (None, 2.0),
        (None, "bool", "float", "2d"),
        (False, True),
        (None, 0, 1, 2, 3),
    ):
        b, q, k, d, v, heads = 2, 3, 5, 4, 6, 4
        total = k + (2 if past else 0)

        def operand(count: int, steps: int, size: int, rank: int = rank, b: int = b) -> Any:
            return draw.floats(b, count, steps, size) if rank == 4 else draw.floats(b, steps, count * size)

        inputs: dict[str, Any] = {"q": operand(heads, q, d), "k": operand(kv, k, d), "v": operand(kv, k, v)}
        shape = (q, total) if mask == "2d" else (b, 1, q, total)
        if mask is not None:
            inputs["mask"] = (
                draw.any("bool", *shape) | np.eye(q, total, dtype=bool) if mask == "bool" else draw.floats(*shape)
            )
        if past:
            inputs.setdefault("mask", None)
            inputs |= {"pk": draw.floats(b, kv, 2, d), "pv": draw.floats(b, kv, 2, v)}
        mode = 1 if mode == 2 and (causal or mask) else mode  # onnxruntime has the lowest number for -inf there
        attributes: dict[str, Any] = {
            "is_causal": causal,
            "scale": scale,
            "softcap": cap,
            "qk_matmul_output_mode": mode,
        }
        if rank == 3:
            attributes |= {"q_num_heads": heads, "kv_num_heads": kv}
        yield Form(inputs, attributes, outputs=4 if mode is not None else 3 if past else 1)


def rotary(draw: Draw, opset: int) -> Iterator[Form]:
    for rank, positions, interleaved, partial_ in draw.some(24, (4, 3), (True, False), (None, 0, 1), (None, 4)):
        d = 8
        half = (partial_ or d) // 2
        x = draw.floats(2, 2, 3, d) if rank == 4 else draw.floats(2, 3, 2 * d)
        inputs = {"x": x, "cos": draw.floats(*((10,) if positions else (2, 3)), half)}
        inputs |= {"sin": draw.floats(*((10,) if positions else (2, 3)), half)}
        inputs |= {"ids": draw.integers(2, 3)} if positions else {}
        yield Form(
            inputs,
            {"interleaved": interleaved, "rotary_embedding_dim": partial_, "num_heads": 2 if rank == 3 else None},
        )


def linear_attention(draw: Draw, opset: int) -> Iterator[Form]:
    for rule in (None, "linear", "gated", "delta", "gated_delta"):
        inputs = {"q": draw.floats(1, 3, 8), "k": draw.floats(1, 3, 8), "v": draw.floats(1, 3, 8)}
        yield Form(inputs, {"update_rule": rule, "q_num_heads": 2, "kv_num_heads": 2}, outputs=2)


def resize(draw: Draw, opset: int) -> Iterator[Form]:
    if opset == 10:
        for mode, scales in draw.some(
            12, (None, "nearest", "linear"), ((1, 1, 2, 2), (1, 1, 0.6, 1.7), (1, 1, 2, 0.5))
        ):
            yield Form(
                {"x": draw.floats(1, 2, 4, 5), "scales": np.array(scales, np.float32)}, {"mode": mode}, ("scales",)
            )
        return
    transforms = (
        None,
        "half_pixel",
        "pytorch_half_pixel",
        "align_corners",
        "asymmetric",
        "half_pixel_symmetric",
        "tf_half_pixel_for_nn",
    )
    nearest = (None, "round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
    steering = ("roi", "scales", "sizes")
    for mode, transform, rounding, (scales, sizes) in draw.some(
        120, ("nearest", "linear", "cubic"), transforms, nearest,
        (((1, 1, 2, 2), None), ((1, 1, 0.6, 1.7), None), (None, (1, 2, 7, 3)), (None, (1, 2, 1, 1)), (None, (1, 2, 2, 9)), ((1, 1, 1, 1), None)),
    ):  # fmt: skip
        if scales is not None and transform == "align_corners":
            continue  # onnxruntime rounds the extent first, ONNX does not
        inputs: dict[str, Any] = {"x": draw.floats(1, 2, 4, 5), "roi": None if opset >= 13 else draw.floats(0)}
        inputs |= (
            {"scales": np.array(scales, np.float32)}
            if sizes is None
            else {"scales": None if opset >= 13 else draw.floats(0), "sizes": ints(*sizes)}
        )
        attributes: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": transform}
        attributes["nearest_mode"] = rounding if mode == "nearest" and transform != "half_pixel_symmetric" else None
        if mode == "cubic":
            attributes |= {
                "cubic_coeff_a": (None, -0.5)[int(draw.random.integers(2))],
                "exclude_outside": (None, 1)[int(draw.random.integers(2))],
            }
        if opset >= 18 and mode != "nearest" and draw.random.integers(2):
            attributes["antialias"] = 1
        yield Form(inputs, attributes, tuple(n for n in steering if inputs.get(n) is not None))
    for rank in (1, 2, 3, 5):
        for mode in ("nearest", "linear"):
            shape = (1, 2, 3, 4, 3)[5 - rank :]
            inputs = {"x": draw.floats(*shape), "roi": draw.floats(0), "scales": np.full(rank, 2, np.float32)}
            yield Form(inputs, {"mode": mode}, ("scales",))
    for mode in ("nearest", "linear", "cubic"):
        crop = {"coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 7.0, "mode": mode}
        roi = np.array([0, 0, 0.2, -0.1, 1, 1, 0.8, 1.1], np.float32)
        inputs = {"x": draw.floats(1, 2, 6, 5), "roi": roi, "scales": draw.floats(0), "sizes": ints(1, 2, 4, 7)}
        yield Form(inputs, crop, ("roi", "sizes"))
    for dtype in ("float16", "float64", "uint8", "int8", "int32"):
        for mode in ("nearest", "linear"):
            inputs = {
                "x": draw.any(dtype, 1, 2, 4, 5),
                "roi": draw.floats(0),
                "scales": np.array([1, 1, 2, 4], np.float32),
            }
            yield Form(inputs, {"mode": mode}, ("scales",))
    if opset >= 18:
        for axes, policy, mode in draw.some(
            40,
            ((2, 3), (3, 2), (3,), (1,)),
            (None, "stretch", "not_larger", "not_smaller"),
            ("nearest", "linear", "cubic"),
        ):
            sizes = ints(7, 6)[: len(axes)]
            inputs = {"x": draw.floats(1, 2, 4, 5), "roi": None, "scales": None, "sizes": sizes}
            yield Form(inputs, {"axes": list(axes), "keep_aspect_ratio_policy": policy, "mode": mode}, ("sizes",))
        for axes, mode in draw.some(6, ((2, 3), (-1,)), ("nearest", "linear", "cubic")):
            inputs = {
                "x": draw.floats(1, 2, 4, 5),
                "roi": None,
                "scales": np.array([1.6, 0.7], np.float32)[: len(axes)],
            }
            yield Form(inputs, {"axes": list(axes), "mode": mode}, ("scales",))


def upsample(draw: Draw, opset: int) -> Iterator[Form]:
    for mode, scales in draw.some(12, (None, "nearest", "linear"), ((1, 1, 2, 2), (1, 1, 3, 1.5), (1, 1, 1, 1))):
        x = draw.floats(1, 2, 4, 5)
        if opset < 9:
            yield Form({"x": x}, {"mode": mode, "scales": [float(s) for s in scales]})
        else:
            yield Form({"x": x, "scales": np.array(scales, np.float32)}, {"mode": mode}, ("scales",))


def grid_sample(draw: Draw, opset: int) -> Iterator[Form]:
    modes = ("bilinear", "nearest", "bicubic") if opset < 20 else ("linear", "nearest", "cubic")
    for mode, padding, align in draw.some(40, (None, *modes), (None, "zeros", "border", "reflection"), (None, 0, 1)):
        inputs = {"x": draw.floats(2, 3, 4, 5), "grid": draw.floats(2, 3, 6, 2, low=-1.3, high=1.3)}
        yield Form(inputs, {"mode": mode, "padding_mode": padding, "align_corners": align})
    if opset >= 20:
        for mode, padding in draw.some(6, ("linear", "nearest"), (None, "border", "reflection")):
            inputs = {"x": draw.floats(1, 2, 3, 4, 5), "grid": draw.floats(1, 2, 3, 4, 3, low=-1.2, high=1.2)}
            yield Form(inputs, {"mode": mode, "padding_mode": padding})


def affine_grid(draw: Draw, opset: int) -> Iterator[Form]:
    for align, three in draw.some(6, (None, 0, 1), (False, True)):
        size = ints(2, 3, 4, 5, 6)[: 5 if three else 4]
        yield Form(
            {"theta": draw.floats(2, *((3, 4) if three else (2, 3))), "size": size}, {"align_corners": align}, ("size",)
        )


def roi_align(draw: Draw, opset: int) -> Iterator[Form]:
    for mode, transform, ratio, scale, height in draw.some(
        24, (None, "avg", "max"), (None, "half_pixel", "output_half_pixel"), (None, 0, 2), (None, 0.5), (None, 3)
    ):
        corner = draw.floats(4, 2, low=0, high=4)
        rois = np.concatenate([corner, corner + draw.floats(4, 2, low=1, high=4)], axis=1)
        attributes = {
            "mode": mode,
            "sampling_ratio": ratio,
            "spatial_scale": scale,
            "output_height": height,
            "output_width": height,
        }
        attributes["coordinate_transformation_mode"] = transform if opset >= 16 else None
        yield Form({"x": draw.floats(2, 3, 8, 9), "rois": rois, "batch": draw.integers(4, high=2)}, attributes)


def max_roi_pool(draw: Draw, opset: int) -> Iterator[Form]:
    for shape, scale in draw.some(4, ([1, 1], [2, 3]), (None, 0.5)):
        rois = np.array([[0, 0, 0, 5, 5], [1, 1, 2, 7, 6]], np.float32)
        yield Form({"x": draw.floats(2, 3, 8, 9), "rois": rois}, {"pooled_shape": shape, "spatial_scale": scale})


def non_max_suppression(draw: Draw, opset: int) -> Iterator[Form]:
    corner = draw.floats(2, 12, 2, low=0, high=4)
    boxes = np.concatenate([corner, corner + draw.floats(2, 12, 2, low=0.5, high=3)], axis=2)
    for most, iou, score, center in draw.some(30, (None, 0, 1, 3), (None, 0.3, 0.7), (None, 0.4), (None, 0, 1)):
        inputs: dict[str, Any] = {"boxes": boxes, "scores": draw.floats(2, 3, 12, low=0, high=1)}
        inputs["most"] = None if most is None else np.array([most])
        inputs["iou"] = None if iou is None else np.array([iou], np.float32)
        inputs |= {} if score is None else {"score": np.array([score], np.float32)}
        steering = tuple(n for n in ("most", "iou", "score") if inputs.get(n) is not None)
        yield Form(inputs, {"center_point_box": center}, steering)


def col2im(draw: Draw, opset: int) -> Iterator[Form]:
    yield Form(
        {"x": draw.floats(1, 6, 4), "image": ints(4, 3), "block": ints(2, 3)},
        {"strides": [1, 1], "pads": [0, 0, 1, 0]},
        ("image", "block"),
    )
    yield Form(
        {"x": draw.floats(2, 8, 4), "image": ints(4, 4), "block": ints(2, 2)}, {"strides": [2, 2]}, ("image", "block")
    )
    yield Form({"x": draw.floats(1, 5, 5), "image": ints(5, 5), "block": ints(1, 5)}, {}, ("image", "block"))
    yield Form(
        {"x": draw.floats(1, 4, 9), "image": ints(5, 5), "block": ints(2, 2)}, {"dilations": [2, 2]}, ("image", "block")
    )


def window(draw: Draw, opset: int) -> Iterator[Form]:
    for size, periodic, kind in draw.some(12, (10, 7), (None, 0, 1), (None, 1, 10, 11)):
        for dtype in ("int64", "int32"):
            yield Form({"size": np.array(size, dtype)}, {"periodic": periodic, "output_datatype": kind}, ("size",))


def mel_weights(draw: Draw, opset: int) -> Iterator[Form]:
    names = ("bins", "length", "rate", "low", "high")
    values = (np.array(8), np.array(16), np.array(8192), np.array(0.0, np.float32), np.array(4096.0, np.float32))
    yield Form(dict(zip(names, values, strict=True)), {}, names)
    yield Form(dict(zip(names, values, strict=True)), {"output_datatype": 11}, names)


def dft(draw: Draw, opset: int) -> Iterator[Form]:
    for inverse, onesided, parts, length, axis in draw.some(
        40, (None, 0, 1), (None, 1), (1, 2), (None, 6, 12), (None, 1, -2)
    ):
        if inverse and onesided and opset < 20:
            continue
        inputs: dict[str, Any] = {"x": draw.floats(2, 8, parts)}
        if length is not None:
            inputs["length"] = np.array(length)
        attributes = {"inverse": inverse, "onesided": onesided}
        if opset >= 20 and axis is not None:
            inputs.setdefault("length", None)
            inputs["axis"] = np.array(axis)
        elif opset < 20:
            attributes["axis"] = axis
        yield Form(inputs, attributes, tuple(n for n in ("length", "axis") if inputs.get(n) is not None))


def stft(draw: Draw, opset: int) -> Iterator[Form]:
    for windowed, length, onesided, dtype in draw.some(
        12, (True, False), (True, False), (None, 0, 1), ("float32", "float64")
    ):
        inputs: dict[str, Any] = {"x": draw.floats(2, 32, 1, dtype=dtype), "step": np.array(4)}
        inputs["window"] = draw.floats(8, dtype=dtype) if windowed else None
        if length or not windowed:
            inputs["length"] = np.array(8)
        yield Form(inputs, {"onesided": onesided}, tuple(n for n in ("step", "length") if n in inputs))


def _body(nodes: list[onnx.NodeProto], inputs: list[Any], outputs: list[Any]) -> onnx.GraphProto:
    def values(entries: list[Any]) -> list[onnx.ValueInfoProto]:
        return [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in entries]

    return helper.make_graph(nodes, "body", values(inputs), values(outputs))


def if_(draw: Draw, opset: int) -> Iterator[Form]:
    branches = {
        "then_branch": _body([helper.make_node("Relu", ["x"], ["t"])], [], [("t", 1, (3, 4))]),
        "else_branch": _body([helper.make_node("Neg", ["x"], ["e"])], [], [("e", 1, (3, 4))]),
    }
    for condition in (True, False):
        for shape in ((), (1,)):
            yield Form({"c": np.full(shape, condition), "captured:x": draw.floats(3, 4)}, branches, ("c",))


def loop(draw: Draw, opset: int) -> Iterator[Form]:
    body = _body(
        [
            helper.make_node("Add", ["v", "x"], ["v2"]),
            helper.make_node("Identity", ["v2"], ["scan"]),
            helper.make_node("Identity", ["go"], ["go2"]),
        ],
        [("i", 7, ()), ("go", 9, ()), ("v", 1, (3,))],
        [("go2", 9, ()), ("v2", 1, (3,)), ("scan", 1, (3,))],
    )
    for trips, go in ((4, None), (4, True), (0, True), (None, False), (3, False), (1, True)):
        inputs = {"trips": None if trips is None else np.array(trips), "go": None if go is None else np.array(go)}
        steering = tuple(n for n, v in inputs.items() if v is not None)
        yield Form(inputs | {"v": draw.floats(3), "captured:x": draw.floats(3)}, {"body": body}, steering, 2)


def scan(draw: Draw, opset: int) -> Iterator[Form]:
    body = _body(
        [helper.make_node("Add", ["s", "x"], ["s2"]), helper.make_node("Mul", ["s2", "x"], ["y"])],
        [("s", 1, (3,)), ("x", 1, (3,))],
        [("s2", 1, (3,)), ("y", 1, (3,))],
    )
    if opset < 9:
        inputs = {"lengths": None, "s": draw.floats(2, 3), "x": draw.floats(2, 4, 3)}
        yield Form(inputs, {"body": body, "num_scan_inputs": 1}, outputs=2)
        return
    for direction, out, axis in draw.some(8, (None, [1]), (None, [1]), (None, [1])):
        x = draw.floats(3, 4) if axis == [1] else draw.floats(4, 3)
        attributes = {"body": body, "num_scan_inputs": 1, "scan_input_directions": direction}
        attributes |= {"scan_output_directions": out, "scan_input_axes": axis}
        yield Form({"s": draw.floats(3), "x": x}, attributes, outputs=2)
    yield Form(
        {"s": draw.floats(3), "x": draw.floats(4, 3)},
        {"body": body, "num_scan_inputs": 1, "scan_output_axes": [-1]},
        outputs=2,
    )


FORMS: dict[str, Forms] = {
    "RNN": partial(recurrent, gates=1), "GRU": partial(recurrent, gates=3), "LSTM": partial(recurrent, gates=4),
    "Attention": attention, "RotaryEmbedding": rotary, "LinearAttention": linear_attention, "Resize": resize,
    "Upsample": upsample, "GridSample": grid_sample, "AffineGrid": affine_grid, "RoiAlign": roi_align,
    "MaxRoiPool": max_roi_pool, "NonMaxSuppression": non_max_suppression, "Col2Im": col2im,
    **dict.fromkeys(("HannWindow", "HammingWindow", "BlackmanWindow"), window), "MelWeightMatrix": mel_weights,
    "DFT": dft, "STFT": stft, "If": if_, "Loop": loop, "Scan": scan,
}  # fmt: skip
