"""Where a run's microseconds go: nothing is left over, on a network and where streams overlap."""

import json

import pytest
from models.hand_kernels import affine, kernel, launch, load_ub, loop, mmad, store_ub, sync, vector
from models.small import GraphBuilder

from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.lowering.emit_program import emit_program
from graph_engine.pipelines.compile import compile_module
from graph_engine.target_ascend.chip.timing import TimingEngine
from graph_engine.target_ascend.isa.model import Opcode, Pipe
from graph_engine.target_ascend.om.program import AicpuCall, Copy, EntryPoint, Launch, Program
from graph_engine.target_ascend.profile.breakdown import breakdown_json, chain_us, engines_us, task_chain_us
from graph_engine.target_ascend.profile.profile import Profile, TaskProfile
from graph_engine.target_ascend.profile.summary import summary
from graph_engine.target_ascend.runtime.device import run
from graph_engine.target_ascend.soc.soc import load_soc

SOC = load_soc("Ascend310P3")


def overlapping() -> Profile:
    """Two launches and an AI CPU call in one stream; a launch and, after a pause, a copy in another one."""
    engine = TimingEngine(SOC, accounts=True)
    tile = (load_ub(4096, offset=affine(s0=1 << 16, s1=4096)), *sync(Pipe.MTE2, Pipe.V), vector(Opcode.VADD, 4096))
    work = kernel(loop(6, *tile, *sync(Pipe.V, Pipe.MTE3), store_ub(4096), mmad(16, 16, 16)), block_dim=4)
    tasks: list[TaskProfile] = []
    clocks = [0.0, 3.0]
    for stream, name in ((0, "a"), (1, "b"), (0, "c")):
        task = Launch(name, "Conv2D", "k", 4, launch().args, (), (), (), 0, 0)
        tasks.append(
            TaskProfile.of_launch(task, work, engine.launch(task, work), SOC, start_us=clocks[stream], stream=stream)
        )
        clocks[stream] = tasks[-1].end_us
    tasks.append(
        TaskProfile.of_aicpu(AicpuCall("d", "LRN", "ge.lrn", {}, (), (), ()), 9.0, start_us=clocks[0], stream=0)
    )
    copy = Copy("e", launch().args[0], launch().args[1], 96)
    tasks.append(TaskProfile.of_copy(copy, 2.0, start_us=tasks[-1].end_us + 1.0, stream=1))
    entry = EntryPoint("main", (), (), (), 0, 0)
    return Profile.of(Program("net", SOC.name, [entry], {}, b""), entry, SOC, tasks)


def adds_up(profile: Profile) -> None:
    assert sum(chain_us(profile).values()) == pytest.approx(profile.latency_us, rel=1e-12)
    for engines in engines_us(profile).values():
        for spent in engines.values():
            assert sum(spent.values()) == pytest.approx(profile.latency_us, rel=1e-12)
            assert min(spent.values()) >= 0
    for task in profile.tasks:
        assert sum(task_chain_us(profile, task).values()) == pytest.approx(task.duration_us, rel=1e-12)
        if task.account is not None:
            assert sum(task.account.chain.values()) == task.account.cycles
            for spent in task.account.engines.values():
                assert sum(spent.values()) == task.account.cycles * task.cores


def test_streams_that_overlap_a_pause_the_ai_cpu_and_a_copy():
    profile = overlapping()
    adds_up(profile)
    chain = chain_us(profile)
    assert (chain["AI CPU"], chain["copy"]) == (9.0, 2.0)
    assert chain["between tasks"] == pytest.approx(1.0)
    assert chain["launch"] == pytest.approx(2 * 2544 / 1060)
    # three launches hold 4 of 8 cores
    free = profile.latency_us - sum(task.duration_us for task in profile.tasks[:3]) / 2
    assert engines_us(profile)["AI Core"]["V"]["no task"] == pytest.approx(free)


@pytest.mark.parametrize("soc", ["Ascend310P3", "Ascend910B3"])
def test_a_network(soc: str):
    b = GraphBuilder()
    y = b.conv_bn_relu(b.input("x", (1, 16, 56, 56)), 16, 64)
    b.node("Softmax", [b.node("GlobalAveragePool", [b.conv_bn_relu(y, 64, 128)])], "y", axis=1)
    module = import_onnx(b.model("y"))
    compile_module(module, soc)
    program = emit_program(module)
    profile, plain = run(program, mode="timing", accounts=True).profile, run(program, mode="timing").profile
    assert profile is not None and plain is not None
    adds_up(profile)
    assert f" latency      │ {profile.latency_us:.2f} │     100.0%" in summary(profile)
    found = json.loads(profile.to_json())
    assert found.pop("account") == breakdown_json(profile)
    for task in found["tasks"]:
        assert task.pop("account")["cycles"] == pytest.approx(task["duration_us"] * profile.aic_mhz, abs=0.01)
    assert found == json.loads(plain.to_json()), "accounts change no time"
