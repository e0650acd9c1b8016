"""A hand-built program on the modelled device, from OM file to values, times and findings."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.isa.model import (
    Affine,
    Blocks,
    Buffer,
    DType,
    Instr,
    Kernel,
    Loop,
    Opcode,
    Operand,
    Pipe,
    Space,
)
from graph_engine.target_ascend.om.container import load, save
from graph_engine.target_ascend.om.program import (
    AicpuCall,
    Copy,
    EntryPoint,
    Launch,
    Location,
    Program,
    Record,
    Segment,
    SourceNode,
    Stream,
    Task,
    TensorDesc,
    Wait,
)
from graph_engine.target_ascend.runtime.device import Device, run

BLOCKS, TILES, TILE = 4, 2, 256
COUNT = BLOCKS * TILES * TILE
BYTES = 2 * COUNT


def view(buffer: int, offset: Affine | None = None) -> Operand:
    return Operand(buffer, DType.F16, offset or Affine(), (TILE,), (1,))


def flag(opcode: Opcode, source: Pipe, target: Pipe, event: int = 0) -> Instr:
    pipe = source if opcode is Opcode.SET_FLAG else target
    return Instr(opcode, pipe, params=(Affine(source), Affine(target), Affine(event)))


def ordered(source: Pipe, target: Pipe) -> tuple[Instr, Instr]:
    return flag(Opcode.SET_FLAG, source, target), flag(Opcode.WAIT_FLAG, source, target)


HERE = Affine(0, ((0, TILES * TILE), (1, TILE)))


def kernel(name: str, opcode: Opcode, *, synchronised: bool = True) -> Kernel:
    """z = x op y, in tiles of 256 halves: GM -> UB, vector, UB -> GM."""
    body = (
        Instr(Opcode.COPY, Pipe.MTE2, (view(3), view(0, HERE))),
        Instr(Opcode.COPY, Pipe.MTE2, (view(4), view(1, HERE))),
        *ordered(Pipe.MTE2, Pipe.V),
        Instr(opcode, Pipe.V, (view(5), view(3), view(4))),
        *ordered(Pipe.V, Pipe.MTE3),
        Instr(Opcode.COPY, Pipe.MTE3, (view(2, HERE), view(5))),
        *ordered(Pipe.MTE3, Pipe.MTE2),
    )
    if not synchronised:
        body = tuple(instr for instr in body if instr.operands)
    buffers = tuple(Buffer(label, Space.GM, number, BYTES) for number, label in enumerate("xyz"))
    buffers += tuple(Buffer(f"ub_{label}", Space.UB, 2 * TILE * number, 2 * TILE) for number, label in enumerate("xyz"))
    return Kernel(name, BLOCKS, buffers, (Blocks(0, BLOCKS, (Loop(TILES, body),)),), ("r", "r", "w"))


def tensor(name: str, segment: Segment, index: int = 0, offset: int = 0) -> TensorDesc:
    return TensorDesc(name, DType.F16, (COUNT,), "ND", (COUNT,), BYTES, Location(segment, index, offset))


X, Y, W = tensor("x", Segment.INPUT), tensor("y", Segment.OUTPUT), tensor("w", Segment.WEIGHT, offset=64)
T, U = tensor("t", Segment.WORKSPACE), tensor("u", Segment.WORKSPACE, offset=BYTES)
WEIGHTS = np.linspace(-2, 2, COUNT).astype(np.float16)
SOURCE = (SourceNode("node", "Add", ("t",)),)


def launch(name: str, of: str, a: TensorDesc, b: TensorDesc, c: TensorDesc) -> Launch:
    return Launch(name, "Add", of, BLOCKS, (a.location, b.location, c.location), (a, b), (c,), SOURCE)


def program(*streams: tuple[Task, ...], kernels: tuple[Kernel, ...] = ()) -> Program:
    entry = EntryPoint(
        "main", (X,), (Y,), tuple(Stream(f"s{i}", tasks) for i, tasks in enumerate(streams)), 2 * BYTES, BYTES
    )
    table = {k.name: k for k in (kernel("add", Opcode.VADD), kernel("mul", Opcode.VMUL), *kernels)}
    return Program("hand", "Ascend310P3", (entry,), table, bytes(64) + WEIGHTS.tobytes())


CHAIN = program((launch("add_0", "add", X, W, T), launch("mul_0", "mul", T, X, Y)))
INPUT = np.random.default_rng(3).standard_normal(COUNT).astype(np.float16)


def expected(x: np.ndarray) -> np.ndarray:
    """(x + w) * x with numpy's own fp16 arithmetic, which rounds every result to nearest even."""
    return (x + WEIGHTS) * x


def test_values_are_those_of_numpy_in_every_mode() -> None:
    for mode, real_bytes in (("functional", False), ("both", False), ("functional", True)):
        (found,) = run(CHAIN, [INPUT], mode=mode, real_bytes=real_bytes).outputs
        assert found.dtype == np.float16
        np.testing.assert_array_equal(found.view(np.uint16), expected(INPUT).view(np.uint16))


def test_times_are_the_same_with_and_without_values_and_whatever_the_values() -> None:
    results = [
        run(CHAIN, [INPUT], mode="both"),
        run(CHAIN, [INPUT * 3], mode="both"),
        run(CHAIN, mode="timing"),
    ]
    profiles = [result.profile for result in results]
    assert profiles[0] is not None
    assert profiles[0] == profiles[1] == profiles[2]
    assert results[2].outputs == []
    assert run(CHAIN, [INPUT], mode="functional").profile is None


@pytest.mark.parametrize("check", [False, True])
def test_a_device_runs_its_program_on_one_input_after_another(check: bool) -> None:
    device = Device(CHAIN, check=check)
    for seed in (5, 6, 5):
        x = np.random.default_rng(seed).normal(size=COUNT).astype(np.float16)
        result = device.run([x])
        np.testing.assert_array_equal(result.outputs[0], expected(x))
        assert result.findings == []
        assert result.profile == run(CHAIN, mode="timing").profile


def test_profile_of_the_program() -> None:
    profile = run(CHAIN, mode="timing").profile
    assert profile is not None
    data = json.loads(profile.to_json())
    assert data["memory"] == {"workspace_bytes": 2 * BYTES, "lower_bound_bytes": BYTES, "weight_bytes": 64 + BYTES}
    first, second = data["tasks"]
    assert (first["name"], first["source_nodes"], first["block_dim"]) == ("add_0", ["node"], BLOCKS)
    assert (first["bytes_read"], first["bytes_written"]) == (2 * BYTES, BYTES)
    assert second["start_us"] == pytest.approx(first["duration_us"])
    assert data["latency_us"] == pytest.approx(first["duration_us"] + second["duration_us"])


def test_a_changed_instruction_changes_the_output() -> None:
    changed = replace(CHAIN, kernels=CHAIN.kernels | {"mul": replace(kernel("mul", Opcode.VSUB), name="mul")})
    (found,) = run(changed, [INPUT], mode="functional").outputs
    np.testing.assert_array_equal(found, (INPUT + WEIGHTS) - INPUT)


def test_the_caller_keeps_his_input() -> None:
    before = INPUT.copy()
    run(CHAIN, [INPUT], mode="functional")
    np.testing.assert_array_equal(INPUT, before)


def test_streams_with_events_a_copy_and_an_aicpu_call() -> None:
    call = AicpuCall("relu_0", "Relu", "ge.relu", {}, (T,), (U,))
    point = program(
        (Wait(0), launch("mul_0", "mul", U, U, T), Copy("copy_0", T.location, Y.location, BYTES)),
        (launch("add_0", "add", X, W, T), call, Record(0)),
    )
    result = run(point, [INPUT])
    relu = np.maximum(INPUT + WEIGHTS, np.float16(0))
    np.testing.assert_array_equal(result.outputs[0], relu * relu)
    assert result.profile is not None
    assert [(t.name, t.core_type) for t in result.profile.tasks] == [
        ("add_0", "AI_CORE"),
        ("relu_0", "AI_CPU"),
        ("mul_0", "AI_CORE"),
        ("copy_0", "MEMCPY"),
    ]
    starts = [t.start_us for t in result.profile.tasks]
    assert starts == sorted(starts)


def test_aicpu_tensors_are_unpacked_and_packed() -> None:
    """A transdata there and back by the AICPU, and an operator between them on the packed tensor."""
    shape, stored = (1, 3, 8, 8), (1, 1, 8, 8, 16)
    x = TensorDesc("x", DType.F32, shape, "ND", shape, 4 * 192, Location(Segment.INPUT, 0, 0))
    y = TensorDesc("y", DType.F32, shape, "ND", shape, 4 * 192, Location(Segment.OUTPUT, 0, 0))
    a = TensorDesc("a", DType.F16, shape, "NC1HWC0", stored, 2048, Location(Segment.WORKSPACE, 0, 0))
    b = TensorDesc("b", DType.F16, shape, "NC1HWC0", stored, 2048, Location(Segment.WORKSPACE, 0, 2048))
    tasks = (
        AicpuCall("t0", "TransData", "layout.transdata", {}, (x,), (a,)),
        AicpuCall("c0", "Clip", "ge.clip", {"min": -0.5, "max": 0.5}, (a,), (b,)),
        AicpuCall("t1", "TransData", "layout.transdata", {}, (b,), (y,)),
    )
    point = EntryPoint("main", (x,), (y,), (Stream("s0", tasks),), 4096, 4096)
    array = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    (found,) = run(Program("p", "Ascend310P3", (point,), {}, b""), [array], mode="functional").outputs
    np.testing.assert_array_equal(found, np.clip(array.astype(np.float16), -0.5, 0.5).astype(np.float32))


def test_an_output_may_share_an_inputs_buffer() -> None:
    y = replace(Y, location=Location(Segment.OUTPUT, 0, 0))
    entry = EntryPoint("main", (X,), (y,), (Stream("s0", (launch("add_0", "add", X, X, y),)),), 0, 0, ((0, 0),))
    aliased = replace(CHAIN, entry_points=(entry,))
    before = INPUT.copy()
    np.testing.assert_array_equal(run(aliased, [INPUT]).outputs[0], INPUT + INPUT)
    np.testing.assert_array_equal(INPUT, before)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([], "takes 1 inputs, found 0"),
        ([INPUT[:5]], r"is float16\[5\], input 'x' takes float16\[2048\]"),
        ([INPUT.astype(np.float32)], r"is float32\[2048\], input 'x' takes float16\[2048\]"),
    ],
)
def test_wrong_inputs_are_refused(inputs: list[np.ndarray], message: str) -> None:
    with pytest.raises(GraphEngineError, match=message):
        run(CHAIN, inputs)


def test_unknown_entry_point_and_soc() -> None:
    with pytest.raises(GraphEngineError, match="no entry point 'other'; it has main"):
        run(CHAIN, [INPUT], entry="other")
    with pytest.raises(GraphEngineError, match="unknown SoC 'Ascend310P9'"):
        run(replace(CHAIN, soc="Ascend310P9"), [INPUT])


@pytest.fixture
def om(tmp_path: Path) -> Path:
    save(CHAIN, tmp_path / "hand.om")
    np.save(tmp_path / "x.npy", INPUT)
    return tmp_path / "hand.om"


def test_through_the_file(om: Path) -> None:
    (found,) = run(load(om), [INPUT]).outputs
    np.testing.assert_array_equal(found, expected(INPUT))


def test_ge_run_of_an_om_imports_no_compiler(om: Path) -> None:
    """With all that a run can ask for: values, times, profile, trace."""
    code = (
        "import sys\n"
        "from graph_engine.tools.ge_run.main import main\n"
        "code = main(sys.argv[1:])\n"
        "bad = [m for m in sys.modules if m.split('.')[0] in ('xdsl', 'onnx', 'onnxruntime')]\n"
        "print('imported', bad)\n"
        "sys.exit(code)\n"
    )
    folder = om.parent
    flags = f"--model {om} --input {folder}/x.npy --output {folder}/out --profile --trace {folder}/t.json"
    flags += f" --profile-json {folder}/p.json --profile-csv {folder}/p.csv"
    done = subprocess.run([sys.executable, "-c", code, *flags.split()], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "imported []"
    np.testing.assert_array_equal(np.load(folder / "out" / "hand_output_0.npy"), expected(INPUT))
    assert json.loads((folder / "p.json").read_text())["soc"] == "Ascend310P3"
    assert json.loads((folder / "t.json").read_text())["traceEvents"]
    assert (folder / "p.csv").read_text().count("\n") == 3


def findings(point: Program, **changes: Kernel) -> list[str]:
    return [
        str(f)
        for f in run(replace(point, kernels=point.kernels | changes), [INPUT], mode="functional", check=True).findings
    ]


def test_checking_is_silent_on_a_sound_program_and_changes_nothing() -> None:
    result = run(CHAIN, [INPUT], check=True)
    assert result.findings == []
    np.testing.assert_array_equal(result.outputs[0], expected(INPUT))


def test_checking_finds_missing_flags() -> None:
    found = findings(CHAIN, add=kernel("add", Opcode.VADD, synchronised=False))
    assert any(text.startswith("pipe-race") and "from node" in text for text in found)


def test_checking_finds_an_output_that_is_not_written() -> None:
    whole = kernel("add", Opcode.VADD)
    (blocks,) = whole.body
    assert isinstance(blocks, Blocks)
    found = findings(CHAIN, add=replace(whole, body=(Blocks(0, BLOCKS - 1, blocks.body),)))
    assert any(text.startswith("invalid-lane") and "task add_0" in text for text in found)


def test_checking_sees_stale_contents_of_a_buffer_as_undefined() -> None:
    """The second writer of a workspace buffer leaves a part of it as the first left it."""
    whole = kernel("part", Opcode.VADD)
    (blocks,) = whole.body
    assert isinstance(blocks, Blocks)
    part = replace(whole, body=(Blocks(0, BLOCKS - 1, blocks.body),))
    tasks = launch("add_0", "add", X, W, T), launch("part_0", "part", X, W, T), launch("mul_0", "mul", T, X, Y)
    found = findings(program(tasks, kernels=(part,)))
    assert any("task part_0" in text for text in found)
    assert not any("task add_0" in text for text in found)


def test_checking_finds_concurrent_tasks_on_one_buffer() -> None:
    """Without the event both tasks use the workspace at the same time; with it they do not."""
    first, second = launch("add_0", "add", X, W, T), launch("mul_0", "mul", T, X, Y)
    assert findings(program((first, Record(0)), (Wait(0), second))) == []
    found = findings(program((first,), (second,)))
    assert any(text.startswith("task-race") and "add_0" in text for text in found)


def test_checking_allows_an_output_in_place_of_an_input() -> None:
    tasks = (
        launch("add_0", "add", X, W, T),
        launch("mul_0", "mul", T, X, T),
        Copy("copy_0", T.location, Y.location, BYTES),
    )
    assert findings(program(tasks)) == []


def test_ge_run_reports_findings_and_fails(om: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from graph_engine.tools.ge_run.main import main

    assert main(["--model", str(om), "--check"]) == 0
    assert "check: no findings" in capsys.readouterr().err
    broken = replace(CHAIN, kernels=CHAIN.kernels | {"add": kernel("add", Opcode.VADD, synchronised=False)})
    save(broken, om)
    assert main(["--model", str(om), "--check"]) == 1
    assert "check: pipe-race" in capsys.readouterr().err


def test_ge_run_refuses_another_soc(om: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from graph_engine.tools.ge_run.main import main

    assert main(["--model", str(om), "--soc-version", "Ascend310P1"]) == 1
    assert "is compiled for Ascend310P3, not for --soc-version Ascend310P1" in capsys.readouterr().err
