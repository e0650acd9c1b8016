"""The promise of the whole chain on the light networks: right numbers, the kernels and tasks that they should be.

ResNet-50 and SqueezeNet are held to everything; the other networks pass through `bench/light_models.py`, the two
cheapest of them here as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import pytest
from harness.agreement import Network, compile_program, kernel_results, misses, relative_error, tasks_of
from harness.onnx_costs import light_macs
from models.light import light_model, logits_name, random_inputs, reference_outputs

from graph_engine.target_ascend.isa.model import Instr, Kernel, Loop, Node, Opcode
from graph_engine.target_ascend.om import container
from graph_engine.target_ascend.om.program import AicpuCall, Launch, Program, Segment, TensorDesc
from graph_engine.target_ascend.runtime.device import RunResult, run

SEED = 11
INNER = 12


@dataclass
class Built:
    """A light network as it is, compiled and run once: `whole` in both modes."""

    model: onnx.ModelProto
    program: Program
    inputs: list[np.ndarray]
    whole: RunResult


@pytest.fixture(scope="module", params=["resnet50", "squeezenet"])
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def built(name: str) -> Built:
    model = light_model(name, seed=SEED)
    program = compile_program(model)
    inputs = list(random_inputs(model, SEED).values())
    return Built(model, program, inputs, run(program, inputs, mode="both"))


@pytest.mark.parametrize("batch", [1, 4])
def test_numbers(name: str, batch: int) -> None:
    """Logits and inner tensors are within the fp16 bound."""
    model = light_model(name, seed=SEED, batch=batch)
    network = Network.of(model, kernel_results(model, INNER))
    assert len(network.names) == 1 + INNER
    assert network.names[0] == logits_name(model)
    found, _ = network.compare(random_inputs(model, SEED, batch=batch), mode="functional")
    assert misses(found) == []


def test_probabilities(built: Built) -> None:
    """The network as it ships, without outputs of our own."""
    (output,) = built.whole.outputs
    (right,) = reference_outputs(built.model, random_inputs(built.model, SEED)).values()
    assert output.dtype == right.dtype
    assert relative_error(output, right) <= 0.01
    assert abs(float(output.sum()) - 1) < 2e-2


def test_checking_mode_is_silent(built: Built) -> None:
    """No lane of padding leaks, no access leaves its buffer, no pipes, blocks or tasks race."""
    checked = run(built.program, built.inputs, mode="functional", check=True)
    assert checked.findings == []
    np.testing.assert_array_equal(checked.outputs[0], built.whole.outputs[0])


def test_modes_agree(built: Built) -> None:
    """Function alone gives the same bits, time alone the same cycles, as both together."""
    functional = run(built.program, built.inputs, mode="functional")
    assert functional.profile is None
    np.testing.assert_array_equal(functional.outputs[0], built.whole.outputs[0])
    timing = run(built.program, mode="timing")
    assert timing.outputs == []
    assert timing.profile == built.whole.profile


def test_through_an_om_file(built: Built, tmp_path: Path) -> None:
    """Written, read and run by `ge-run`: the same bits and the same cycles."""
    from graph_engine.tools.ge_run.main import main

    om = tmp_path / "model.om"
    container.save(built.program, om)
    loaded = container.load(om)
    assert run(loaded, mode="timing").profile == built.whole.profile
    np.save(tmp_path / "x.npy", built.inputs[0])
    arguments = ["--model", str(om), "--input", str(tmp_path / "x.npy"), "--output", str(tmp_path / "out")]
    assert main([*arguments, "--mode", "functional"]) == 0
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "model_output_0.npy"), built.whole.outputs[0])


def test_the_cube_does_the_work(name: str, built: Built) -> None:
    """No operator is left to the AI CPU, and 99 % of the multiply-accumulates are those of kernels with an mmad."""
    tasks = tasks_of(built.program)
    assert [task.name for task in tasks if isinstance(task, AicpuCall)] == []
    launches = [task for task in tasks if isinstance(task, Launch)]
    on_cube = {name: cube_macs(kernel) for name, kernel in built.program.kernels.items()}
    total = light_macs(name)
    assert sum(task.macs for task in launches) == total
    assert sum(task.macs for task in launches if on_cube[task.kernel]) >= 0.99 * total
    # What the mmads multiply, padding to blocks of 16 included, is no less than what the operators need.
    assert all(on_cube[task.kernel] >= task.macs for task in launches)


def cube_macs(kernel: Kernel) -> int:
    """m * k * n of every mmad that the blocks of a launch execute."""

    def of(body: tuple[Node, ...]) -> int:
        total = 0
        for node in body:
            if isinstance(node, Loop):
                total += node.trip * of(node.body)
            elif isinstance(node, Instr):
                if node.opcode is Opcode.MMAD:
                    # Affine sizes do not occur: tails are loops of their own.
                    assert not any(param.terms for param in node.params)
                    m, k, n = (param.const for param in node.params)
                    total += m * k * n
            else:
                total += (node.hi - node.lo) * of(node.body)
        return total

    return of(kernel.body)


def test_every_convolution_carries_what_follows(name: str, built: Built) -> None:
    """ResNet-50: BatchNormalization, Sum and Relu have no task of their own, and there are at most 62 tasks; the
    Relu of SqueezeNet likewise."""
    tasks = tasks_of(built.program)
    carried = {"BatchNormalization", "Sum", "Relu"}
    for task in tasks:
        types = [node.op_type for node in task.source_nodes]
        if carried & set(types) and task.type != "TransData":
            assert types[0] == "Conv", task.name
            assert task.type == "Conv2D"
    convolutions = [task for task in tasks if task.type == "Conv2D"]
    nodes = [node.op_type for node in built.model.graph.node]
    assert len(convolutions) == nodes.count("Conv")
    for op_type in carried:
        on_tasks = [node for task in convolutions for node in task.source_nodes if node.op_type == op_type]
        assert len(on_tasks) == nodes.count(op_type)
    if name == "resnet50":
        assert len(tasks) <= 62


def feature_maps(tensors: tuple[TensorDesc, ...]) -> set[str]:
    """Formats of tensors that are no weights; pixels of few channels are packed as the Cube wants them too."""
    return {tensor.format.removesuffix("_C04") for tensor in tensors if tensor.location.segment is not Segment.WEIGHT}


def test_layout_changes_only_at_the_ends(name: str, built: Built) -> None:
    """The input is packed once; from then on feature maps stay as the Cube wants them up to the classifier."""
    tasks = tasks_of(built.program)
    changing = [
        i
        for i, task in enumerate(tasks)
        if task.layout_bytes or feature_maps(task.inputs) != feature_maps(task.outputs) or task.type == "TransData"
    ]
    assert changing[0] == 0
    last_convolution = max(i for i, task in enumerate(tasks) if task.type == "Conv2D")
    assert all(i > last_convolution for i in changing[1:])
    assert len(changing) <= {"resnet50": 4, "squeezenet": 2}[name]
    assert all(tasks[i].layout_bytes for i in changing)
    if name == "resnet50":
        around_classifier = {n.op_type for i in changing[1:] for n in tasks[i].source_nodes}
        assert around_classifier <= {"Gemm", "Reshape", "AveragePool"}


def test_source_nodes_are_complete(built: Built) -> None:
    """Every node of the model that computes is named by a task; a Reshape or Dropout may leave none."""
    named = {node.outputs[0] for task in tasks_of(built.program) for node in task.source_nodes}
    free = {"Reshape", "Dropout", "Flatten", "Constant"}
    assert {node.output[0] for node in built.model.graph.node if node.op_type not in free} <= named


@pytest.mark.parametrize("other", ["bvlc_alexnet", "shufflenet"])
def test_other_networks(other: str) -> None:
    """Pass through the whole pipeline and agree; local response normalisation, depthwise convolutions and the channel
    shuffle have kernels of their own."""
    model = light_model(other, seed=SEED)
    network = Network.of(model, kernel_results(model, INNER))
    found, result = network.compare(random_inputs(model, SEED), mode="both")
    assert misses(found) == []
    assert result.profile is not None
    assert [task.name for task in tasks_of(network.program) if isinstance(task, AicpuCall)] == []
