"""What fp16 costs a model: our graph after force-fp16 beside onnxruntime in fp32, and onnxruntime with rounded tensors.

The bound: at most four times what rounding alone costs (which counts as no less than one rounding, 2^-11 of the range), and
at most 1 % of the output's range. What rounding alone costs is measured with onnxruntime, every fp32 tensor rounded to fp16
where it is made; if that overflows, without the tensors that fp16 cannot hold. The verdict is one of

* within: in the bound. If only the factor of four fails, the largest of both errors over five inputs decide: the error of
  an output of two numbers is a matter of chance;
* explained: with the nodes kept in fp32 that `check-fp16-range` names, the error is back in the bound. Measured warnings are
  those that it gives with these inputs as its sample;
* undetermined: onnxruntime in fp32 is more than 1 % from itself when its inputs change in the last bits or its
  optimisations are on, and with the nodes of the warnings in fp32 we are no further from it;
* differs.

The first two are what a model must be.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from math import isfinite
from pathlib import Path
from typing import Any

TIMES_ROUNDING, OF_RANGE = 4.0, 0.01
"""The bound."""
FLOOR = 2.0**-11
"""What rounding costs is taken as no less than this part of the range: one rounding, which chance may spare onnxruntime."""
HALF_RANGE = (2.0**-14, 65504.0 / 2)
"""Between which the largest number of a tensor must be for fp16 to hold it: all digits, and room for what was rounded before."""
WITHIN, EXPLAINED, UNDETERMINED, DIFFERS = "within", "explained", "undetermined", "differs"
CRASHED = "not computed"
"""A class of the sweep's: fp16 could not be computed."""
GOOD = (WITHIN, EXPLAINED)
RESHAPING = ("Reshape", "Squeeze", "Unsqueeze", "Flatten", "Transpose", "Identity", "Cast")

Session = Callable[[Any], Any]
Compute = Callable[..., tuple[list[Any], list[Any]]]
"""`computed` of some module."""


def fp16_columns(
    model: Any,
    compute: Compute,
    inputs_of: Callable[[int], dict[str, Any]],
    session_of: Session,
    spread: Callable[[], float],
) -> dict[str, Any]:
    """Columns of the sweep's table: errors `fp16` and `rounding`, number of warnings `warned`, `fp16_class`, `fp16_verdict`.

    `compute` gives the warnings and the outputs of inputs in fp16, as `computed` does; `inputs_of` gives the inputs by the
    number of a seed; `spread` tells how far onnxruntime is from itself in fp32.
    """
    feeds = inputs_of(0)
    expected = session_of(model).run(None, feeds)
    ranges = spans(model, expected)
    remarks, found = compute(feeds)
    row: dict[str, Any] = {"fp16": share(expected, found, ranges), "warned": len(remarks)}
    row["warnings"] = [str(remark) for remark in remarks]
    row["warning_kinds"] = sorted({remark.name for remark in remarks})
    halved = session_of(rounded(model, session_of))
    row["rounding"] = share(expected, halved.run(None, half_inputs(feeds)), ranges)
    if not isfinite(row["rounding"]):
        halved = session_of(rounded(model, session_of, feeds))
        row["rounding"] = share(expected, halved.run(None, half_inputs(feeds)), ranges)
    if bound(row["rounding"]) < row["fp16"] <= OF_RANGE:
        for seed in range(1, 5):
            others = inputs_of(seed)
            right = session_of(model).run(None, others)
            widths = spans(model, right)
            row["fp16"] = max(row["fp16"], share(right, compute(others)[1], widths))
            row["rounding"] = max(row["rounding"], share(right, halved.run(None, half_inputs(others)), widths))
    if row["fp16"] <= bound(row["rounding"]):
        return row | {"fp16_class": WITHIN, "fp16_verdict": "within the bound"}
    measured, _ = compute(feeds, sample=True, run=False)
    row["sample_warnings"] = [str(remark) for remark in measured if remark not in remarks]
    row["sample_kinds"] = sorted({remark.name for remark in measured if remark not in remarks})
    left = row["fp16"]
    for kind, warnings in (("warnings", remarks), ("measured warnings", measured)):
        nodes = sorted({name for remark in warnings for name in remark.args["nodes"]})
        if nodes:
            left = share(expected, compute(feeds, keep=nodes)[1], ranges)
            after = f"{left:.1e} with the {len(nodes)} nodes of its {kind} in fp32"
            row |= {"kept": len(nodes), "left": left}
            if left <= bound(row["rounding"]):
                return row | {"fp16_class": EXPLAINED, "fp16_verdict": f"explained: {after}"}
    row["spread"] = spread()
    if row["spread"] > OF_RANGE and left <= 2 * row["spread"]:
        verdict = f"undetermined: {left:.1e} as explained, but onnxruntime in fp32 is {row['spread']:.1e} from itself"
        return row | {"fp16_class": UNDETERMINED, "fp16_verdict": verdict}
    cause = f"{row['fp16'] / least(row['rounding']):.1f} times rounding, {left:.1e} with what the warnings name in fp32"
    return row | {"fp16_class": DIFFERS, "fp16_verdict": f"differs: {cause}"}


def least(rounding: float) -> float:
    """What rounding costs, no less than one rounding; a reference that is not finite excuses nothing."""
    return max(rounding, FLOOR) if isfinite(rounding) else FLOOR


def bound(rounding: float) -> float:
    """The bound of the error for what rounding alone costs."""
    return min(TIMES_ROUNDING * least(rounding), OF_RANGE)


def half_inputs(feeds: dict[str, Any]) -> dict[str, Any]:
    """Inputs rounded to fp16."""
    return {name: in_half(value) for name, value in feeds.items()}


def computed(
    module: Any, feeds: dict[str, Any], *, sample: bool = False, keep: list[str] | None = None, run: bool = True
) -> tuple[list[Any], list[Any]]:
    """The warnings before force-fp16 and the outputs after it, of a copy of `module`; nodes `keep` stay in fp32."""
    from graph_engine.pipelines.compile import compile_module
    from graph_engine.pipelines.context import make_context
    from graph_engine.pipelines.default import Phase
    from graph_engine.pipelines.reference import ReferenceGraph
    from graph_engine.pipelines.runner import Step, run_steps
    from graph_engine.transforms.check_fp16_range import CheckFp16Range
    from graph_engine.transforms.mark_precision import MarkPrecision

    module = module.clone()
    compile_module(module, until=Phase.FUSED)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sample.npz"
        if sample:
            import numpy as np

            np.savez(path, **feeds)
        check = CheckFp16Range(sample=str(path) if sample else "")
        report = run_steps(
            make_context(), module, [Step(MarkPrecision(keep_dtype_nodes=tuple(keep or ()))), Step(check)]
        )
    if not run:
        return report.remarks, []
    compile_module(module, until=Phase.PRECISION)
    reference = ReferenceGraph(module, "model")
    return report.remarks, reference.run([feeds[port.name] for port in reference.inputs])


def spans(model: Any, expected: list[Any]) -> list[float]:
    """The range of each output: of one number its magnitude, or 1 if it is a probability."""
    import numpy as np

    ranges: list[float] = []
    for output, wanted in zip(model.graph.output, expected, strict=True):
        finite = wanted[np.isfinite(wanted)].astype(np.float64) if wanted.dtype.kind == "f" else wanted.ravel()
        span = float(np.ptp(finite.astype(np.float64))) if finite.size else 0.0
        if not span and probability_node(model, output.name) is not None:
            span = 1.0
        ranges.append(span or float(np.abs(finite.astype(np.float64)).max(initial=0)) or 1.0)
    return ranges


def probability_node(model: Any, name: str) -> Any:
    """The Softmax or Sigmoid whose result, in this or another shape, is the tensor `name`; None if another makes it."""
    producers = {output: node for node in model.graph.node for output in node.output}
    node = producers.get(name)
    while node is not None and node.op_type in RESHAPING:
        node = producers.get(node.input[0])
    return node if node is not None and node.op_type in ("Softmax", "Sigmoid") else None


def share(expected: list[Any], found: list[Any], ranges: list[float]) -> float:
    """The largest difference as a part of its output's range."""
    import numpy as np

    worst = 0.0
    for wanted, got, span in zip(expected, found, ranges, strict=True):
        right, value = wanted.astype(np.float64), got.astype(np.float64)
        if right.shape != value.shape or not right.size:
            worst = worst if right.shape == value.shape else float("inf")
            continue
        with np.errstate(invalid="ignore"):
            apart = np.where((right == value) | (np.isnan(right) & np.isnan(value)), 0, np.abs(right - value))
        worst = max(worst, float(np.nan_to_num(apart, nan=np.inf).max()) / span)
    return worst


def in_half(value: Any) -> Any:
    """fp32 numbers rounded to fp16, beyond it to its largest."""
    import numpy as np

    if value.dtype != np.float32:
        return value
    with np.errstate(over="ignore"):
        limited = np.where(np.isfinite(value), np.clip(value, -65504, 65504), value)
    return limited.astype(np.float16).astype(np.float32)


def holds(value: Any) -> bool:
    """Whether fp16 holds the numbers of a tensor: none too large, and not all of them too small for all digits."""
    import numpy as np

    largest = float(np.abs(value).max(initial=0))
    return not largest or HALF_RANGE[0] <= largest <= HALF_RANGE[1]


def rounded(model: Any, session_of: Session, feeds: dict[str, Any] | None = None) -> Any:
    """The model with every fp32 tensor of the main graph rounded to fp16 where it is made, and its weights.

    With `feeds`, what fp16 cannot hold stays: the accumulators and scales of a quantised model, and what overflows.
    """
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    result = onnx.ModelProto()
    result.CopyFrom(model)
    graph = result.graph
    for tensor in graph.initializer:
        if tensor.data_type == TensorProto.FLOAT:
            value = numpy_helper.to_array(tensor)
            if feeds is None or holds(value):
                tensor.CopyFrom(numpy_helper.from_array(in_half(value), tensor.name))
    halved = fp32_tensors(model, session_of, feeds)
    nodes: list[Any] = []
    for node in graph.node:
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        nodes.append(copy)
        for index, name in enumerate(node.output):
            if name in halved:
                copy.output[index] = f"{name}/wide"
                nodes += [
                    helper.make_node("Cast", [f"{name}/wide"], [f"{name}/half"], to=TensorProto.FLOAT16),
                    helper.make_node("Cast", [f"{name}/half"], [name], to=TensorProto.FLOAT),
                ]
    del graph.node[:]
    graph.node.extend(nodes)
    return result


def fp32_tensors(model: Any, session_of: Session, feeds: dict[str, Any] | None) -> set[str]:
    """The fp32 results of the nodes of the main graph, by onnxruntime's own type inference; with `feeds`, those fp16 holds."""
    import onnx

    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    made = {value.name for value in shown.graph.output}
    for node in shown.graph.node:
        shown.graph.output.extend(onnx.ValueInfoProto(name=name) for name in node.output if name and name not in made)
    session = session_of(shown)
    tensors = {port.name for port in session.get_outputs() if port.type == "tensor(float)"}
    if feeds is not None:
        names = sorted(tensors)
        tensors = {name for name, x in zip(names, session.run(names, feeds), strict=True) if holds(x)}
    return tensors
