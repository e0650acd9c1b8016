"""--validate-each: what passes declare, how differences are measured, and which operators are named."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from models.light import graph_inputs, random_inputs
from models.small import SMALL
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from graph_engine.dialects.ge.elementwise import MulOp, ReluOp
from graph_engine.errors import GraphEngineError
from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.pipelines import registry
from graph_engine.pipelines.compile import compile_module
from graph_engine.pipelines.context import make_context
from graph_engine.pipelines.default import Phase, default_pipeline
from graph_engine.pipelines.numerics import Feeds, answers, deviation, first_different, largest_difference
from graph_engine.pipelines.registry import PASSES, instantiate, load_pass
from graph_engine.pipelines.runner import PassFailed, RunOptions, Step, run_steps
from graph_engine.pipelines.spec import parse_pipeline
from graph_engine.pipelines.validation import Validation
from graph_engine.tools.ge_opt.main import main
from graph_engine.tools.ge_run.main import main as ge_run
from graph_engine.transforms.driver import RewriteContext
from graph_engine.transforms.fusion import graphs
from graph_engine.transforms.pass_base import APPROXIMATE, EXACT, ROUNDING, GePass

PLUGIN = str(Path(__file__).parents[2] / "plugins" / "lossy_fusion.py")


@pytest.mark.parametrize("name", PASSES)
def test_every_pass_declares_its_numerics(name: str) -> None:
    assert "numerics" in vars(load_pass(name)), f"{name}: state numerics = EXACT, ROUNDING or APPROXIMATE(share)"


@pytest.mark.parametrize("name", SMALL)
def test_default_pipeline_keeps_its_word(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """On every small network, on three inputs, down to the modelled chip, which has a row of the table."""
    module = import_onnx(SMALL[name](seed=11))
    compile_module(module, options=RunOptions(validation=Validation(seed=12, inputs=3, chip=True)))
    last = capsys.readouterr().err.splitlines()[-1].split()
    assert last[:4] == ["lower-to-kernels", "to", "assign-addresses", "chip"]


F = np.float32


@pytest.mark.parametrize(
    ("old", "new", "share"),
    [
        (np.array([1, 3, 5], F), np.array([1, 3, 5], F), 0),
        (np.array([1, 3, 5], F), np.array([1, 4, 5], F), 0.25),
        (np.array([0.0], F), np.array([-0.0], F), 0),
        (np.array([7, 7], F), np.array([7, 7.7], F), 0.1),
        (np.array([0, 0], F), np.array([0, 0.5], F), 0.5),
        (np.array([1, np.nan, np.inf], F), np.array([1, np.nan, np.inf], F), 0),
        (np.array([1, np.nan], F), np.array([1, 2], F), np.inf),
        (np.array([1, 2], F), np.array([1, np.nan], F), np.inf),
        (np.array([1, np.inf], F), np.array([1, -np.inf], F), np.inf),
        (np.array([1, 2], F), np.array([1, 2], np.float16), np.inf),
        (np.array([1, 2], F), np.array([[1, 2]], F), np.inf),
        (np.array([], F), np.array([], F), 0),
        (np.array([1, 2, 3, 5]), np.array([1, 2, 3, 6]), 1 / 16),
        (np.array([3, 3]), np.array([3, 4]), 0.5),
        (np.array([True, False]), np.array([True, True]), 0.5),
    ],
)
def test_deviation(old: np.ndarray, new: np.ndarray, share: float) -> None:
    assert deviation(old, new) == pytest.approx(share)


@dataclass(frozen=True)
class Scale(GePass):
    """Multiplies what every ReLU reads by a factor close to one."""

    name = "scale"
    factor: float = 1.0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        from graph_engine.dialects.ge.constant import ConstantOp
        from graph_engine.dialects.ge.weights import constant_attr

        for block in graphs(op):
            for relu in [op for op in block.ops if isinstance(op, ReluOp)][1:2]:
                with RewriteContext.current().rewrite("scale", [relu]) as rewriter:
                    constant = ConstantOp(constant_attr(np.array(self.factor, F), "factor"))
                    product = MulOp(relu.operands[0], constant.result)
                    rewriter.replace(relu, [constant, product, ReluOp(product.result)])


@dataclass(frozen=True)
class ScaleRounding(Scale):
    numerics = ROUNDING


@dataclass(frozen=True)
class ScaleApproximately(Scale):
    numerics = APPROXIMATE(0.003)


def two_relus() -> ModuleOp:
    return import_onnx(SMALL["residual"](seed=2))


@pytest.mark.parametrize(
    ("body", "fails"),
    [
        (Scale(1.0), False),
        (Scale(1 + 1e-6), True),
        (ScaleRounding(1 + 1e-6), False),
        (ScaleRounding(1.001), True),
        (ScaleApproximately(1.001), False),
        (ScaleApproximately(1.01), True),
    ],
)
def test_pass_is_held_to_what_it_declares(body: Scale, fails: bool, capsys: pytest.CaptureFixture[str]) -> None:
    module = two_relus()
    second = [op for op in module.walk() if isinstance(op, ReluOp)][1]
    (name,) = [result.name_hint for result in second.results]
    options = RunOptions(validation=Validation())
    if not fails:
        run_steps(make_context(), module, [Step(body)], options)
        assert f"scale                           {body.numerics.title}" in capsys.readouterr().err
        return
    with pytest.raises(PassFailed, match=r"after pass 'scale': the numbers change: output 0 of @main by ") as caught:
        run_steps(make_context(), module, [Step(body)], options)
    assert f"declared {body.numerics.title}" in str(caught.value)
    # Mul and ReLU stand in for the one ReLU; whichever of them has a counterpart is named, and nothing behind it.
    assert str(caught.value).count("ge.relu of node ") == 1 and f"node_{name}" in str(caught.value)


def test_only_operators_without_a_cause_are_named() -> None:
    """Two wrong constants: the branches that read them are named, not what joins them."""
    text = """
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %c = ge.constant dense<2.0> : tensor<4xf32>
      %a = ge.mul %x, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("a"("Mul"("a")))
      %b = ge.relu %x : (tensor<4xf32>) -> tensor<4xf32> loc("b"("Relu"("b")))
      %d = ge.add %b, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("d"("Add"("d")))
      %e = ge.add %a, %d : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("e"("Add"("e")))
      %f = ge.neg %e : (tensor<4xf32>) -> tensor<4xf32> loc("f"("Neg"("f")))
      func.return %f : tensor<4xf32>
    }"""
    old, new = parsed(text), parsed(text.replace("2.0", "2.5"))
    named = first_different(old, new, Feeds(), 0.0)
    assert [op.results[0].name_hint for op in named] == ["a", "d"]


def test_operators_inside_a_fused_kernel_are_named() -> None:
    model = SMALL["conv_bn_relu"](seed=3)
    old, new = import_onnx(model), import_onnx(model)
    right = [Step(instantiate(spec)) for _, spec in default_pipeline({}, until=Phase.FUSED)]
    victim = next(node.name for node in model.graph.node if node.op_type == "BatchNormalization")
    registry.load_plugin(PLUGIN)
    try:
        specs = parse_pipeline(f"ge-infer-shapes,lossy-fusion{{victim={victim}}},fuse-conv-bn-relu")
        wrong = [Step(instantiate(spec)) for spec in specs]
    finally:
        registry.forget_plugins()
    run_steps(make_context(), old, right)
    run_steps(make_context(), new, wrong)
    (named,) = first_different(old, new, Feeds(), 1e-5)
    assert named.name == "ge.conv2d" and named.parent_op().name == "ge.fused"


def parsed(text: str) -> ModuleOp:
    from graph_engine.pipelines.source import Chunk, parse

    return parse(make_context(), Chunk("t", text))


def test_tensors_inside_the_graph_count_on_request() -> None:
    """A wrong layer that adds next to nothing to the output: only tensors inside tell."""
    text = """
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %c = ge.constant dense<CC> : tensor<4xf32>
      %t = ge.constant dense<1.0e-9> : tensor<4xf32>
      %a = ge.sub %x, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("a"("Sub"("a")))
      %b = ge.mul %a, %t : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("b"("Mul"("b")))
      %d = ge.add %x, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("d"("Add"("d")))
      func.return %d : tensor<4xf32>
    }"""
    old, new = parsed(text.replace("CC", "1.0")), parsed(text.replace("CC", "2.0"))
    assert largest_difference(answers(old, Feeds()), answers(new, Feeds())).share < 1e-5
    assert [op.results[0].name_hint for op in first_different(old, new, Feeds(), 1e-5)] == ["a"]


def test_operators_that_changed_places_are_not_named() -> None:
    """transpose(relu(x)) as relu(transpose(x)): the first of both has the name of the other's tensor, rightly."""
    text = """
    func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
      %a = ge.FIRST : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("a"("Relu"("a")))
      %b = ge.SECOND : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("b"("Transpose"("b")))
      %c = ge.abs %b : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("c"("Abs"("c")))
      func.return %c : tensor<4x4xf32>
    }"""
    perm = "{perm = [1, 0]}"
    old = parsed(text.replace("FIRST", "relu %x").replace("SECOND", f"transpose %a {perm}"))
    new = parsed(text.replace("FIRST", f"transpose %x {perm}").replace("SECOND", "relu %a"))
    assert first_different(old, new, Feeds(), 0.0) == []


@pytest.mark.parametrize("name", SMALL)
def test_tensors_inside_of_right_graphs_agree(name: str) -> None:
    """No false alarm: tensors that correspond by name are the same tensors."""
    module = import_onnx(SMALL[name](seed=13))
    compile_module(module, until=Phase.LAID_OUT, options=RunOptions(validation=Validation(seed=14, inner=True)))


def test_seeded_answers_are_those_of_the_model_run_otherwise() -> None:
    model = SMALL["two_outputs"](seed=4)
    module = import_onnx(model)
    one, two = answers(module, Feeds(seed=1)), answers(module, Feeds(seed=1, inputs=2))
    assert largest_difference(one, {"main": two["main"][:1]}).share == 0
    assert len(two["main"]) == 2 and deviation(two["main"][0][0], two["main"][1][0]) > 0.01


def test_inputs_come_from_files_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = SMALL["conv_bn_relu"](seed=5)
    feeds = random_inputs(model, 6)
    path = tmp_path / "in.npz"
    np.savez(path, **{value.name: feeds[value.name] for value in graph_inputs(model)})
    module = import_onnx(model)
    compile_module(module, until=Phase.FUSED, options=RunOptions(validation=Validation(input=str(path))))
    assert f"validated on {path}" in capsys.readouterr().err


def test_unknown_extents_get_one(capsys: pytest.CaptureFixture[str]) -> None:
    module = import_onnx(SMALL["mlp"](seed=7, batch="N"))
    compile_module(module, until=Phase.FUSED, options=RunOptions(validation=Validation(extent=5)))
    (outputs,) = answers(module, Feeds(extent=5))["main"]
    assert outputs[0].shape[0] == 5


def test_command_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import onnx

    onnx.save(SMALL["conv_bn_relu"](seed=8), tmp_path / "m.onnx")
    assert ge_run(["--model", str(tmp_path / "m.onnx"), "--validate-each", "--fill=random"]) == 0
    captured = capsys.readouterr()
    assert "force-fp16                      approximate" in captured.err
    assert "note: not run: lower-to-kernels to assign-addresses, behind the graph" in captured.err
    assert ge_run(["--model", str(tmp_path / "m.onnx"), "--validate-each", "--engine=reference"]) == 1
    assert "--validate-each is for the compiler" in capsys.readouterr().err
    assert main(["--validate-each=sed=1", "/nowhere"]) == 1
    assert "--validate-each has no option 'sed', did you mean 'seed'?" in capsys.readouterr().err
    assert EXACT.bound(True) == 0
    with pytest.raises(GraphEngineError, match="at least 1"):
        Validation.of({"inputs": "0"})
