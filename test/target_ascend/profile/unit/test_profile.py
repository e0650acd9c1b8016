"""The profile's forms: JSON keys, op_summary columns, a well-formed trace, the text summary."""

import csv
import io
import json
from collections import defaultdict
from typing import Any

import pytest
from models.hand_kernels import affine, kernel, launch, load_ub, loop, mmad, store_ub, sync, vector

from graph_engine.target_ascend.chip.timing import TimingEngine
from graph_engine.target_ascend.isa.model import DType, Opcode, Pipe
from graph_engine.target_ascend.om.program import (
    AicpuCall,
    Copy,
    EntryPoint,
    Launch,
    Location,
    Program,
    Segment,
    SourceNode,
    Stream,
    TensorDesc,
)
from graph_engine.target_ascend.profile.op_summary import op_summary
from graph_engine.target_ascend.profile.profile import Profile, TaskProfile
from graph_engine.target_ascend.profile.summary import summary
from graph_engine.target_ascend.profile.trace import trace_json
from graph_engine.target_ascend.soc.soc import load_soc

SOC = load_soc("Ascend310P3")

MSPROF_COLUMNS = (
    "Device_id, Model Name, Model ID, Task ID, Stream ID, Infer ID, Op Name, OP Type, OP State, Task Type, "
    "Task Start Time(us), Task Duration(us), Task Wait Time(us), Block Num, Mix Block Num, HF32 Eligible, "
    "Input Shapes, Input Data Types, Input Formats, Output Shapes, Output Data Types, Output Formats, Context ID, "
    "aicore_time(us), total_cycles, vec_time(us), vec_ratio, mac_time(us), mac_ratio, scalar_time(us), scalar_ratio, "
    "fixpipe_time(us), fixpipe_ratio, mte1_time(us), mte1_ratio, mte2_time(us), mte2_ratio, mte3_time(us), "
    "mte3_ratio, icache_miss_rate, memory_bound, cube_utilization(%)"
)


def tensor(name: str, *shape: int) -> TensorDesc:
    count = 2
    for size in shape:
        count *= size
    return TensorDesc(name, DType.F16, shape, "ND", shape, count, Location(Segment.WORKSPACE, 0, 0))


def run(timeline: bool = False) -> Profile:
    """Two launches and an AICPU call in stream 0, a TransData and a copy in stream 1, at the same time."""
    engine = TimingEngine(SOC, timeline=timeline)
    tile = (load_ub(4096, offset=affine(s1=4096)), *sync(Pipe.MTE2, Pipe.V), vector(Opcode.VADD, 4096))
    work = kernel(loop(6, *tile, *sync(Pipe.V, Pipe.MTE3), store_ub(4096), mmad(16, 16, 16)), block_dim=4)
    nodes = (SourceNode("conv/[1]", "Conv", ("c",)), SourceNode("<r>", "Relu", ("r",)))
    x, y = tensor("x", 2, 3, 8), tensor("y", 2, 48)

    def task(name: str, kind: str, layout_bytes: int = 0) -> Launch:
        return Launch(name, kind, "k", 4, launch().args, (x, x), (y,), nodes, 4096, layout_bytes)

    tasks: list[TaskProfile] = []
    clocks = [0.0, 0.0]
    for stream, launched in (
        (0, task("conv_0", "Conv2D")),
        (1, task("trans_0", "TransData", 512)),
        (0, task("conv_1", "Conv2D")),
    ):
        timing = engine.launch(launched, work)
        record = TaskProfile.of_launch(launched, work, timing, SOC, start_us=clocks[stream], stream=stream)
        tasks.append(record)
        clocks[stream] = record.end_us
    call = AicpuCall("lrn_0", "LRN", "ge.lrn", {}, (x,), (y,), nodes[:1])
    tasks.append(TaskProfile.of_aicpu(call, engine.aicpu_us(call), start_us=clocks[0], stream=0))
    tasks.append(TaskProfile.of_copy(Copy("copy_0", x.location, y.location, 96), 2.0, start_us=clocks[1], stream=1))
    streams = Stream("main", ()), Stream("side", ())
    entry = EntryPoint("main", (x,), (y,), streams, 3 << 20, 2 << 20)
    return Profile.of(Program("net", SOC.name, [entry], {}, b"abc"), entry, SOC, tasks)


def test_totals():
    profile = run()
    assert profile.latency_us == max(task.end_us for task in profile.tasks)
    assert [task.index for task in profile.tasks] == [0, 1, 2, 3, 4]
    assert [task.start_us for task in profile.tasks] == sorted(task.start_us for task in profile.tasks)
    assert profile.fps == pytest.approx(2e6 / profile.latency_us)
    count, share = profile.share(type="TransData")
    assert count == 1
    assert share == pytest.approx(profile.tasks[1].duration_us / profile.task_us)
    # three launches of 4 blocks, each with 6 mmads of one tile, on 8 cores
    assert profile.engine_us()["M"] == pytest.approx(3 * 6 * 7 * 4 / 8 / 1060)


def test_where_a_launch_spends_its_time():
    task = run().tasks[0]
    assert task.overhead_us == pytest.approx(2.4)
    assert task.head_us == pytest.approx(1.9)
    assert task.duration_us > task.overhead_us + max(task.engine_us.values())


def test_json_has_the_documented_keys():
    data: dict[str, Any] = json.loads(run().to_json())
    assert list(data) == ["soc", "latency_us", "tasks", "memory", "validity"]
    assert data["memory"] == {"workspace_bytes": 3 << 20, "lower_bound_bytes": 2 << 20, "weight_bytes": 3}
    assert "assumed" in data["validity"]
    for task in data["tasks"]:
        assert list(task) == [
            "name",
            "type",
            "core_type",
            "start_us",
            "duration_us",
            "block_dim",
            "stream",
            "source_nodes",
            "bytes_read",
            "bytes_written",
            "engine_us",
        ]
    first = data["tasks"][0]
    assert first["source_nodes"] == ["conv/[1]", "<r>"]
    assert set(first["engine_us"]) == {"S", "V", "M", "MTE2", "MTE3"}
    assert first["bytes_read"] == 4 * 6 * 8192
    assert data["tasks"][-1]["core_type"] in ("AI_CPU", "MEMCPY")


def test_op_summary_has_msprof_columns():
    rows = list(csv.DictReader(io.StringIO(op_summary(run()))))
    assert ", ".join(rows[0]) == f"{MSPROF_COLUMNS}, Validity"
    assert {row["Validity"] for row in rows} == {SOC.trust()}
    assert [row["Task ID"] for row in rows] == ["0", "1", "2", "3", "4"]
    conv = rows[0]
    assert conv["Input Shapes"] == "2,3,8;2,3,8"
    assert conv["Input Data Types"] == "FLOAT16;FLOAT16"
    assert conv["Output Formats"] == "ND"
    assert float(conv["mac_ratio"]) == pytest.approx(
        float(conv["mac_time(us)"]) / float(conv["aicore_time(us)"]), abs=2e-3
    )
    bound = float(conv["mte2_ratio"]) / max(float(conv["mac_ratio"]), float(conv["vec_ratio"]))
    assert float(conv["memory_bound"]) == pytest.approx(bound, abs=1e-3)
    used = int(conv["total_cycles"]) / (1060 * 8 * float(conv["Task Duration(us)"]))
    assert float(conv["cube_utilization(%)"]) == pytest.approx(100 * used, abs=0.02)
    aicpu = next(row for row in rows if row["Task Type"] == "AI_CPU")
    assert aicpu["total_cycles"] == aicpu["mac_ratio"] == "N/A"


@pytest.mark.parametrize("timeline", [False, True])
def test_trace_is_well_formed(timeline: bool):
    profile = run(timeline)
    data: dict[str, Any] = json.loads(trace_json(profile))
    rows: dict[tuple[int, int], list[tuple[float, float]]] = defaultdict(list)
    named = set[tuple[int, int]]()
    for event in data["traceEvents"]:
        assert event["ph"] in ("M", "X")
        if event["ph"] == "M":
            if event["name"] == "thread_name":
                named.add((event["pid"], event["tid"]))
            continue
        assert event["dur"] > 0 <= event["ts"]
        rows[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    assert set(rows) <= named
    # two streams; engines S V M MTE2 MTE3 of each (S has no intervals in a timeline)
    assert len(rows) == 2 + 2 * (5 if not timeline else 4)
    for spans in rows.values():
        spans.sort()
        assert all(a[1] <= b[0] + 1e-5 for a, b in zip(spans, spans[1:], strict=False)), "slices of a row overlap"
    for (process, row), spans in rows.items():
        if process == 0:
            continue
        own = [task for task in profile.tasks if task.stream == process - 1]
        pipe = profile.pipes[row]
        busy = sum(end - start for start, end in spans)
        assert busy == pytest.approx(sum(task.engine_us.get(pipe, 0.0) for task in own), abs=1e-3)
        assert all(any(t.start_us <= start and end <= t.end_us for t in own) for start, end in spans)


def test_summary_says_what_a_reader_needs():
    profile = run()
    text = summary(profile)
    assert f"net on Ascend310P3: {profile.latency_us:.2f} us, {profile.fps:.1f} FPS (batch 2)" in text
    assert "TransData 1 (" in text and "512 B moved for layout" in text
    assert "AI CPU 1 (" in text
    assert "workspace 3.00 MiB (lower bound 2.00 MiB), weights 3 B" in text
    assert "conv/[1], <r>" in text, "markup in a node name must not disappear"
    assert "validity: modelled, not run on a chip; measured against published times of whole networks on it;" in text
    for pipe in ("S", "V", "M", "MTE1", "MTE2", "MTE3"):
        assert f"│ {pipe} " in text


def test_an_empty_run():
    entry = EntryPoint("main", (), (), (), 0, 0)
    profile = Profile.of(Program("none", SOC.name, [entry], {}, b""), entry, SOC, ())
    assert (profile.latency_us, profile.fps, profile.batch) == (0.0, 0.0, 1)
    assert "none on Ascend310P3" in summary(profile)
    assert json.loads(trace_json(profile))["traceEvents"]
    assert op_summary(profile).count("\n") == 1
