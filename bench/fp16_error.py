"""What fp16 costs a model: our graph after force-fp16 beside onnxruntime in fp32, and onnxruntime with rounded tensors.

The bound: at most four times what rounding alone costs, and at most 1 % of the output's range. Outside of it, the warnings
of `check-fp16-range` must explain why: with the nodes that they name kept in fp32, the error must be back in the bound.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

TIMES_ROUNDING, OF_RANGE = 4.0, 0.01
"""The bound."""
FLOOR = 1e-3
"""What rounding costs is taken as no less than this: a few roundings of 2^-11, of which chance may spare onnxruntime."""

Session = Callable[[Any], Any]


def fp16_columns(
    model: Any, module: Any, feeds: dict[str, Any], expected: list[Any], session_of: Session
) -> dict[str, Any]:
    """Columns of the sweep's table: errors `fp16` and `rounding`, number of warnings `warned`, `fp16_verdict`.

    `module` is simplified and is not changed.
    """
    remarks, found = computed(module, feeds)
    row: dict[str, Any] = {"fp16": share(expected, found), "warned": len(remarks)}
    row["warnings"] = [str(remark) for remark in remarks]
    halves = {name: in_half(value) for name, value in feeds.items()}
    row["rounding"] = share(expected, session_of(rounded(model, session_of)).run(None, halves))
    bound = min(TIMES_ROUNDING * max(row["rounding"], FLOOR), OF_RANGE)
    if row["fp16"] <= bound:
        return row | {"fp16_verdict": "within"}
    measured, _ = computed(module, feeds, sample=True, run=False)
    row["sample_warnings"] = [str(remark) for remark in measured if remark not in remarks]
    for kind, warnings in (("warnings", remarks), ("measured warnings", measured)):
        nodes = sorted({name for remark in warnings for name in remark.args["nodes"]})
        if nodes:
            _, kept = computed(module, feeds, keep=nodes)
            row["kept"] = share(expected, kept)
            if row["kept"] <= OF_RANGE:
                return row | {"fp16_verdict": f"{kind} explain it ({row['kept']:.0e} with {len(nodes)} nodes kept)"}
    whole = (
        f"the same error as rounding alone, {len(measured)} warnings" if row["fp16"] <= 1.5 * row["rounding"] else ""
    )
    return row | {"fp16_verdict": whole or "differs"}


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


def share(expected: list[Any], found: list[Any]) -> float:
    """The largest difference as a part of its output's range, of one number as a part of itself; integers likewise."""
    import numpy as np

    worst = 0.0
    for wanted, got in zip(expected, found, strict=True):
        right, value = wanted.astype(np.float64), got.astype(np.float64)
        if right.shape != value.shape or not right.size:
            worst = worst if right.shape == value.shape else float("inf")
            continue
        finite = np.isfinite(right)
        with np.errstate(invalid="ignore"):
            apart = np.where((right == value) | (np.isnan(right) & np.isnan(value)), 0, np.abs(right - value))
        span = float(np.ptp(right[finite]) or np.abs(right[finite]).max()) if finite.any() else 1.0
        worst = max(worst, float(np.nan_to_num(apart, nan=np.inf).max()) / (span or 1.0))
    return worst


def in_half(value: Any) -> Any:
    """fp32 numbers rounded to fp16, beyond it to its largest."""
    import numpy as np

    if value.dtype != np.float32:
        return value
    with np.errstate(over="ignore"):
        limited = np.where(np.isfinite(value), np.clip(value, -65504, 65504), value)
    return limited.astype(np.float16).astype(np.float32)


def rounded(model: Any, session_of: Session) -> Any:
    """The model with every fp32 tensor of the main graph rounded to fp16 where it is made, and its weights."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    result = onnx.ModelProto()
    result.CopyFrom(model)
    graph = result.graph
    for tensor in graph.initializer:
        if tensor.data_type == TensorProto.FLOAT:
            tensor.CopyFrom(numpy_helper.from_array(in_half(numpy_helper.to_array(tensor)), tensor.name))
    wide = fp32_tensors(model, session_of)
    nodes: list[Any] = []
    for node in graph.node:
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        nodes.append(copy)
        for index, name in enumerate(node.output):
            if name in wide:
                copy.output[index] = f"{name}/wide"
                nodes += [
                    helper.make_node("Cast", [f"{name}/wide"], [f"{name}/half"], to=TensorProto.FLOAT16),
                    helper.make_node("Cast", [f"{name}/half"], [name], to=TensorProto.FLOAT),
                ]
    del graph.node[:]
    graph.node.extend(nodes)
    return result


def fp32_tensors(model: Any, session_of: Session) -> set[str]:
    """The fp32 results of the nodes of the main graph, by onnxruntime's own type inference."""
    import onnx

    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    made = {value.name for value in shown.graph.output}
    for node in shown.graph.node:
        shown.graph.output.extend(onnx.ValueInfoProto(name=name) for name in node.output if name and name not in made)
    return {port.name for port in session_of(shown).get_outputs() if port.type == "tensor(float)"}
