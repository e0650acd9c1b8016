"""Forms of reductions, places of extremes, running sums, softmax and its kin, normalisation."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from operator_forms.form import ALL, FLOATS, NUMBERS, Draw, Form, Forms, ints


def reduction(draw: Draw, opset: int, *, axes_from: int, mean: bool) -> Iterator[Form]:
    given = opset >= axes_from
    cases = (((3, 4, 5), (1,)), ((3, 4, 5), (0, -1)), ((3, 4, 5), None), ((3, 4, 5), ()), ((), None), ((4,), (0,)),
             ((2, 3, 4, 5), (-3, 3)), ((2, 0, 3), (0,)), ((1, 1), (1,)), ((2, 1, 2, 1, 2, 1), (5, 0)), ((), ()))  # fmt: skip
    for (shape, axes), keep in draw.some(60, cases, (None, 0, 1)):
        for noop in (None, 1) if given else (None,):
            attributes = {"keepdims": keep, "noop_with_empty_axes": noop}
            x = draw.floats(*shape, low=0.2)
            if not given:
                yield Form({"x": x}, attributes | {"axes": axes or None})
            elif axes is None:
                yield Form({"x": x}, attributes)
            else:
                yield Form({"x": x, "axes": ints(*axes)}, attributes, ("axes",))
    for dtype in ALL:
        x = np.abs(draw.any(dtype, 3, 4)) if np.dtype(dtype).kind != "b" else draw.any(dtype, 3, 4)
        yield Form({"x": x, "axes": ints(1)}, {}, ("axes",)) if given else Form({"x": x}, {"axes": [1]})
    for shape, axes in (((2, 0, 3), (1,)), ((0,), (0,))) if not mean else ():  # of nothing 0 or nan
        x = draw.floats(*shape)
        yield Form({"x": x, "axes": ints(*axes)}, {}, ("axes",)) if given else Form({"x": x}, {"axes": axes})


def places(draw: Draw, opset: int) -> Iterator[Form]:
    for shape, axis, keep, last in draw.some(
        40, ((3, 4), (2, 3, 4), (5,), (2, 1, 3)), (None, 0, -1), (None, 0, 1), (None, 1)
    ):
        x = draw.integers(*shape, high=3).astype(np.float32)
        yield Form({"x": x}, {"axis": axis, "keepdims": keep, "select_last_index": last})
    for dtype in NUMBERS:
        yield Form({"x": draw.any(dtype, 3, 4)}, {"axis": 1})


def running(draw: Draw, opset: int) -> Iterator[Form]:
    for shape, axis, exclusive, reverse in draw.some(40, ((3, 4), (2, 3, 4), (5,)), (0, -1), (None, 1), (None, 1)):
        for vector in (False, True):
            at = ints(axis) if vector else np.array(axis)
            yield Form({"x": draw.floats(*shape), "axis": at}, {"exclusive": exclusive, "reverse": reverse}, ("axis",))
    for dtype, axis in draw.some(20, NUMBERS, ("int32", "int64")):
        yield Form({"x": draw.any(dtype, 3, 4), "axis": np.array(1, axis)}, {}, ("axis",))


def softmax(draw: Draw, opset: int) -> Iterator[Form]:
    for shape, axis in draw.some(
        40, ((3, 4, 5), (4,), (2, 1, 3), (2, 3, 4, 5), (2, 0), (1, 1)), (None, 0, 1, -1, -2, 2)
    ):
        yield Form({"x": draw.floats(*shape, low=-9, high=9)}, {"axis": axis})
    for dtype in FLOATS:
        yield Form({"x": draw.any(dtype, 3, 4)}, {"axis": 1})
        yield Form({"x": draw.any(dtype, 2, 3, 4)}, {"axis": 1})
    yield Form({"x": np.array([[-np.inf, 0, 1], [3e38, -3e38, 0]], np.float32)}, {"axis": 1})


def batch_normalization(draw: Draw, opset: int) -> Iterator[Form]:
    for shape, epsilon in draw.some(20, ((2, 3, 4, 4), (2, 3), (2, 3, 5), (1, 3, 2, 2, 2), (1, 1, 4, 4)), (None, 1e-2)):
        for dtype in FLOATS:
            c = shape[1]
            inputs = {
                "x": draw.floats(*shape, dtype=dtype),
                "s": draw.floats(c, dtype=dtype),
                "b": draw.floats(c, dtype=dtype),
            }
            inputs |= {"m": draw.floats(c, dtype=dtype), "v": draw.floats(c, low=0.3, dtype=dtype)}
            yield Form(inputs, {"epsilon": epsilon}, tuple("sbmv"))
            yield Form(inputs, {"momentum": 0.5, "training_mode": 0 if opset >= 14 else None})
    if opset < 9:
        for spatial in (0, 1):
            shape = (3, 4, 4) if not spatial else (3,)
            inputs = {"x": draw.floats(2, 3, 4, 4)} | {n: draw.floats(*shape, low=0.3) for n in "sbmv"}
            yield Form(inputs, {"spatial": spatial})
    if opset == 14 or opset == 15:
        inputs = {"x": draw.floats(2, 3, 4, 4)} | {n: draw.floats(3, low=0.3) for n in "sbmv"}
        yield Form(inputs, {"training_mode": 1}, outputs=3)
    if opset >= 15:
        inputs = {"x": draw.floats(2, 3, 4, dtype="float16")} | {n: draw.floats(3, low=0.3) for n in "sbmv"}
        yield Form(inputs)


def instance_normalization(draw: Draw, opset: int) -> Iterator[Form]:
    for shape, epsilon, dtype in draw.some(
        20, ((2, 3, 4, 4), (2, 3, 5), (1, 3, 2, 2, 2), (2, 1, 4, 4)), (None, 1e-2), FLOATS
    ):
        c = shape[1]
        inputs = {
            "x": draw.floats(*shape, dtype=dtype),
            "s": draw.floats(c, dtype=dtype),
            "b": draw.floats(c, dtype=dtype),
        }
        yield Form(inputs, {"epsilon": epsilon}, ("s", "b"))


def group_normalization(draw: Draw, opset: int) -> Iterator[Form]:
    for shape, groups, dtype in draw.some(20, ((2, 4, 3, 3), (2, 4, 5), (1, 4, 2, 2, 2), (2, 4)), (1, 2, 4), FLOATS):
        c = groups if opset < 21 else shape[1]
        inputs = {
            "x": draw.floats(*shape, dtype=dtype),
            "s": draw.floats(c, dtype=dtype),
            "b": draw.floats(c, dtype=dtype),
        }
        yield Form(inputs, {"num_groups": groups, "epsilon": None if groups == 1 else 1e-3}, ("s", "b"))
        if opset >= 21:
            yield Form(inputs, {"num_groups": groups, "stash_type": 1})


def layer_normalization(draw: Draw, opset: int) -> Iterator[Form]:
    for shape, axis, dtype, bias in draw.some(
        30, ((2, 3, 4), (3, 4), (2, 3, 4, 5)), (None, -1, 1, -2), FLOATS, (True, False)
    ):
        tail = shape[-1 if axis is None else axis :]
        inputs = {"x": draw.floats(*shape, dtype=dtype), "s": draw.floats(*tail, dtype=dtype)}
        inputs |= {"b": draw.floats(*tail, dtype=dtype)} if bias else {}
        for outputs in (1, 2, 3):
            steering = ("s", "b") if bias else ("s",)
            yield Form(inputs, {"axis": axis, "epsilon": 1e-3 if bias else None}, steering, outputs)
    yield Form({"x": draw.floats(2, 3, 4), "s": draw.floats(1)}, {"axis": -1})
    yield Form({"x": draw.floats(2, 3, 4), "s": draw.floats(1, 4)}, {"axis": 1})
    yield Form({"x": draw.floats(2, 3, 4), "s": draw.floats(2, 1, 4)}, {"axis": 2})


def rms_normalization(draw: Draw, opset: int) -> Iterator[Form]:
    for shape, axis, dtype in draw.some(30, ((2, 3, 4), (3, 4), (2, 3, 4, 5)), (None, -1, 1, -2), FLOATS):
        tail = shape[-1 if axis is None else axis :]
        yield Form({"x": draw.floats(*shape, dtype=dtype), "s": draw.floats(*tail, dtype=dtype)}, {"axis": axis})
    yield Form({"x": draw.floats(2, 3, 4), "s": draw.floats(1)}, {"epsilon": 1e-2})


def lp_normalization(draw: Draw, opset: int) -> Iterator[Form]:
    for shape, axis, p, dtype in draw.some(
        30, ((3, 4), (2, 3, 4), (5,)), (None, 0, -1), (None, 1, 2), ("float32", "float64")
    ):
        yield Form({"x": draw.floats(*shape, dtype=dtype)}, {"axis": axis, "p": p})
    yield Form({"x": np.zeros((2, 3), np.float32)}, {"axis": 1})


def mean_variance(draw: Draw, opset: int) -> Iterator[Form]:
    for axes in (None, [0, 2, 3], [2, 3], [1], [-1]):
        yield Form({"x": draw.floats(2, 3, 4, 5)}, {"axes": axes})


def lrn(draw: Draw, opset: int) -> Iterator[Form]:
    for shape, size, alpha, beta, bias in draw.some(
        20, ((2, 7, 3, 4), (1, 5, 6), (2, 3)), (1, 3, 5), (None, 0.1), (None, 0.6), (None, 1.5)
    ):
        yield Form({"x": draw.floats(*shape)}, {"size": size, "alpha": alpha, "beta": beta, "bias": bias})


def loss(draw: Draw, opset: int, *, cross_entropy: bool) -> Iterator[Form]:
    for tail, reduction_, weighted, ignore, dtype in draw.some(
        30, ((), (2,), (2, 3)), (None, "none", "sum", "mean"), (False, True), (None, 1, -1), ("int64", "int32")
    ):
        labels = draw.integers(3, *tail, high=5, dtype=dtype)
        if ignore == -1:
            labels.reshape(-1)[0] = -1
        inputs = {"x": draw.floats(3, 5, *tail), "labels": labels}
        inputs |= {"w": draw.floats(5, low=0.1)} if weighted else {}
        attributes = {"reduction": reduction_, "ignore_index": ignore}
        yield Form(inputs, attributes, outputs=1)
        if cross_entropy:
            yield Form(inputs, attributes, outputs=2)


_AXES_FROM = {"ReduceSum": 13}
_NAMES = ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSum", "LogSumExp", "SumSquare")
FORMS: dict[str, Forms] = {
    **{f"Reduce{n}": partial(reduction, axes_from=_AXES_FROM.get(f"Reduce{n}", 18), mean=n == "Mean") for n in _NAMES},
    **dict.fromkeys(("ArgMax", "ArgMin"), places),
    **dict.fromkeys(("CumSum", "CumProd"), running),
    **dict.fromkeys(("Softmax", "LogSoftmax", "Hardmax"), softmax),
    "BatchNormalization": batch_normalization,
    "InstanceNormalization": instance_normalization,
    "GroupNormalization": group_normalization,
    "LayerNormalization": layer_normalization,
    "RMSNormalization": rms_normalization,
    "LpNormalization": lp_normalization,
    "MeanVarianceNormalization": mean_variance,
    "LRN": lrn,
    "NegativeLogLikelihoodLoss": partial(loss, cross_entropy=False),
    "SoftmaxCrossEntropyLoss": partial(loss, cross_entropy=True),
}
