"""The profile as `op_summary` CSV with msprof's column names (PipeUtilization group), so that scripts carry over."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from graph_engine.target_ascend.chip.accounts import vector_name
from graph_engine.target_ascend.isa.model import DType, Pipe
from graph_engine.target_ascend.om.program import TensorDesc
from graph_engine.target_ascend.profile.profile import MIXED, Profile, TaskProfile

_UNITS = {"vec": "V", "mac": "M", "scalar": "S", "fixpipe": "FIX", "mte1": "MTE1", "mte2": "MTE2", "mte3": "MTE3"}
"""msprof's unit names and our pipes."""

COLUMNS: tuple[str, ...] = (
    "Device_id",
    "Model Name",
    "Model ID",
    "Task ID",
    "Stream ID",
    "Infer ID",
    "Op Name",
    "OP Type",
    "OP State",
    "Task Type",
    "Task Start Time(us)",
    "Task Duration(us)",
    "Task Wait Time(us)",
    "Block Num",
    "Mix Block Num",
    "HF32 Eligible",
    "Input Shapes",
    "Input Data Types",
    "Input Formats",
    "Output Shapes",
    "Output Data Types",
    "Output Formats",
    "Context ID",
    "aicore_time(us)",
    "total_cycles",
    *(f"{unit}_{what}" for unit in _UNITS for what in ("time(us)", "ratio")),
    "icache_miss_rate",
    "memory_bound",
    "cube_utilization(%)",
    "Validity",
)
"""Columns of a coupled chip, whose metrics have no aic_/aiv_ prefix (source: msprof reference, op_summary); the last is
ours and says what the times are worth."""

_GE_TYPES = {
    DType.F32: "FLOAT",
    DType.F16: "FLOAT16",
    DType.F64: "DOUBLE",
    DType.I8: "INT8",
    DType.I16: "INT16",
    DType.I32: "INT32",
    DType.I64: "INT64",
    DType.U8: "UINT8",
    DType.U16: "UINT16",
    DType.U32: "UINT32",
    DType.U64: "UINT64",
    DType.BOOL: "BOOL",
    DType.BF16: "DT_BF16",
}
_UNKNOWN = "N/A"


def op_summary(profile: Profile) -> str:
    """The CSV text, one line a task in order of start.

    Formulas as documented for msprof: aicore_time = total_cycles / (clock * blocks), ratio = cycles of the unit /
    total cycles, memory_bound = mte2_ratio / max(mac_ratio, vec_ratio), cube_utilization = total_cycles /
    (clock * cores * duration). What the model does not know is N/A.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    previous_end = dict[int, float]()
    for task in profile.tasks:
        wait = task.start_us - previous_end.get(task.stream, 0.0)
        previous_end[task.stream] = task.end_us
        row = _row(profile, task, max(wait, 0.0))
        writer.writerow([row.get(column, _UNKNOWN) for column in COLUMNS])
    return text.getvalue()


def _row(profile: Profile, task: TaskProfile, wait_us: float) -> dict[str, str | int]:
    row: dict[str, str | int] = {
        "Device_id": task.device,
        "Model Name": profile.model,
        "Model ID": 1,
        "Task ID": task.index,
        "Stream ID": task.stream,
        "Infer ID": 1,
        "Op Name": task.name,
        "OP Type": task.type,
        "OP State": "static",
        "Task Type": task.core_type,
        "Task Start Time(us)": _us(task.start_us),
        "Task Duration(us)": _us(task.duration_us),
        "Task Wait Time(us)": _us(wait_us),
        "Block Num": task.block_dim,
        "Mix Block Num": 2 * task.block_dim if task.core_type == MIXED else 0,
        "HF32 Eligible": "NO",
        "Validity": profile.validity,
        **_tensors("Input", task.inputs),
        **_tensors("Output", task.outputs),
    }
    if not task.total_cycles:
        return row
    core_us = task.total_cycles / profile.aic_mhz / task.cores
    ratios = {unit: _busy_us(task, pipe) / core_us for unit, pipe in _UNITS.items()}
    compute = max(ratios["mac"], ratios["vec"])
    row["aicore_time(us)"] = _us(core_us)
    row["total_cycles"] = task.total_cycles
    for unit, pipe in _UNITS.items():
        row[f"{unit}_time(us)"] = _us(_busy_us(task, pipe))
        row[f"{unit}_ratio"] = f"{ratios[unit]:.4f}"
    if compute:
        row["memory_bound"] = f"{ratios['mte2'] / compute:.4f}"
    used = task.total_cycles / (profile.aic_mhz * profile.cores * task.duration_us)
    row["cube_utilization(%)"] = f"{100 * used:.2f}"
    return row


def _busy_us(task: TaskProfile, pipe: str) -> float:
    """Of a mixed task the Cube core's pipe, or that of its Vector cores where the Cube core has none."""
    return task.engine_us.get(pipe, task.engine_us.get(vector_name(Pipe[pipe]), 0.0))


def _tensors(side: str, tensors: Sequence[TensorDesc]) -> dict[str, str | int]:
    return {
        f"{side} Shapes": ";".join(",".join(map(str, t.physical_shape)) for t in tensors),
        f"{side} Data Types": ";".join(_GE_TYPES[t.dtype] for t in tensors),
        f"{side} Formats": ";".join(t.format for t in tensors),
    }


def _us(value: float) -> str:
    return f"{value:.3f}"
