"""ge-bisect finds a seeded wrong fusion among dozens of right ones; onnxruntime says which rewrite is to blame."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import onnx
import pytest
from models.deep_residual import deep_residual
from models.light import random_inputs, reference_outputs
from models.small import GraphBuilder

from graph_engine.errors import GraphEngineError
from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.pipelines import registry
from graph_engine.pipelines.bisect import first_bad
from graph_engine.pipelines.compile import read_module
from graph_engine.pipelines.context import make_context
from graph_engine.pipelines.reduction import operators
from graph_engine.pipelines.reference import ReferenceGraph, graph_functions
from graph_engine.pipelines.runner import RunOptions, Step, run_steps
from graph_engine.pipelines.spec import parse_pipeline
from graph_engine.tools.ge_bisect.main import main
from graph_engine.tools.ge_opt.main import main as ge_opt
from graph_engine.tools.ge_translate.main import main as translate

PLUGIN = str(Path(__file__).parents[2] / "plugins" / "lossy_fusion.py")
ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def forget_plugins():
    yield
    registry.forget_plugins()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def pipeline(victim: str) -> str:
    """Right passes around the wrong one, as a list of its own would have them."""
    return (
        "ge-infer-shapes,fold-constants,ge-canonicalize,share-constants,eliminate-common-subexpressions,"
        f"lossy-fusion{{victim={victim}}},fuse-conv-bn-relu,fuse-elementwise,force-fp16,propagate-layout"
    )


def error_after(model: onnx.ModelProto, text: str, limit: int) -> float:
    """Share of the range by which the graph after `limit` rewrites is from onnxruntime."""
    module = import_onnx(model)
    steps = [Step(registry.instantiate(spec)) for spec in parse_pipeline(text)]
    run_steps(make_context(), module, steps, RunOptions(rewrite_limit=limit))
    feeds = random_inputs(model, 3)
    (right,) = reference_outputs(model, feeds).values()
    (found,) = ReferenceGraph(module, "m").run(list(feeds.values()))
    return float(np.abs(found - right).max() / np.ptp(right))


@pytest.mark.parametrize("place", [0, 33, 52])
def test_wrong_fusion_is_found(place: int, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = deep_residual(seed=place)
    onnx.save(model, "deep.onnx")
    victim = [node.name for node in model.graph.node if node.op_type == "BatchNormalization"][place]
    text = pipeline(victim)
    assert main(["deep.onnx", f"--load-plugin={PLUGIN}", "-p", text]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith(f"pass 6 of 10: lossy-fusion{{victim={victim}}}: ")

    match = re.search(r"^rewrite (\d+): lossy-fusion/fold-losing-a-bias at node '(\w+)'", captured.out, re.M)
    assert match is not None and match[2] == victim
    number = int(match[1])
    good, bad = error_after(model, text, number - 1), error_after(model, text, number)
    assert good < 1e-5 < bad and bad > 20 * good

    match = re.search(r"^reproducer: bisect.mlir, (\d+) operators: ge-opt (.*)$", captured.out, re.M)
    assert match is not None and int(match[1]) <= 10
    small = read_module("bisect.mlir")
    assert sum(len(operators(function.body.block)) for function in graph_functions(small)) == int(match[1])
    assert ge_opt(shlex.split(match[2])) == 1
    assert "after pass 'lossy-fusion': the numbers change" in capsys.readouterr().err

    match = re.search(r"^avoid it: ge-opt -p (.*)\n +(.*)$", captured.out, re.M)
    assert match is not None
    assert json.loads(match[2]) == {"Switch": {"GraphFusion": {"lossy-fusion": "off"}}}
    assert error_after(model, match[1].replace(",force-fp16,propagate-layout", ""), 10**6) < 1e-5


def test_searches_ask_a_logarithm_of_times(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = deep_residual()
    onnx.save(model, "deep.onnx")
    flags = ["deep.onnx", f"--load-plugin={PLUGIN}", "-p", pipeline("node_t116")]
    assert main([*flags, "--check=reference", "--tolerance=1e-3"]) == 0
    captured = capsys.readouterr()
    assert re.search(r"^rewrite \d+: .* at node 'node_t116'", captured.out, re.M)
    trials = [line for line in captured.err.splitlines() if line.startswith(("good: ", "bad: "))]
    assert len(trials) <= 5 + 2 + 6  # 10 passes, the ends of 53 rewrites, 53 rewrites


def test_inputs_from_files_find_it_and_the_reproducer_needs_none(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = deep_residual(size=16)
    onnx.save(model, "deep.onnx")
    np.savez("in.npz", **random_inputs(model, 5))
    text = "ge-infer-shapes,lossy-fusion{victim=node_t5}"
    assert main(["deep.onnx", f"--load-plugin={PLUGIN}", "-p", text, "--input=in.npz", "--inner"]) == 0
    out = capsys.readouterr().out
    assert "rewrite 2: lossy-fusion/" in out
    match = re.search(r"^reproducer: bisect.mlir, 2 operators: ge-opt (.*)$", out, re.M)
    assert match is not None and "--validate-each=inner=true" in match[1]
    assert ge_opt(shlex.split(match[1])) == 1


def test_onnxruntime_as_a_script(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The check of the documentation: a user's script that compares an .mlir with the model in onnxruntime."""
    import sys

    model = deep_residual(size=16, stages=((1, 8),))  # each question costs two processes
    onnx.save(model, "deep.onnx")
    script = shlex.join([sys.executable, str(ROOT / "docs" / "check_onnxruntime.py"), "deep.onnx", "1e-3"])
    text = "ge-infer-shapes,lossy-fusion{victim=node_t5},fuse-elementwise"
    assert main(["deep.onnx", f"--load-plugin={PLUGIN}", "-p", text, "--check-script", script]) == 0
    out = capsys.readouterr().out
    assert "pass 2 of 3: lossy-fusion" in out
    assert re.search(r"^rewrite 2: lossy-fusion/fold-losing-a-bias at node 'node_t5'", out, re.M)


def test_a_part_of_the_graph_tells_the_script_of_onnxruntime_nothing(folder: Path) -> None:
    """A graph with other inputs or outputs, which ge-bisect asks about as it cuts, is neither good nor bad."""
    import subprocess
    import sys

    b = GraphBuilder()
    table = b.constant("table", np.arange(12, dtype=np.float32).reshape(4, 3) / 8)
    x = b.node("Gather", [table, b.input("ids", (5,), onnx.TensorProto.INT64)], axis=0)
    onnx.save(b.model(b.node("Add", [x, b.input("x", (5, 3))], "y")), "tokens.onnx")
    assert translate(["--onnx-to-mlir", "tokens.onnx", "-o", "whole.mlir"]) == 0
    types = "(tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>"
    Path("part.mlir").write_text(
        f"""func.func @main(%x: tensor<5x3xf32> {{ge.name = "x"}}, %t: tensor<5x3xf32>) -> tensor<5x3xf32> {{
              %y = ge.add %t, %x : {types}
              func.return %y : tensor<5x3xf32>
            }}"""
    )
    whole = Path("whole.mlir").read_text()
    Path("wrong.mlir").write_text(whole.replace("ge.add", "ge.sub"))
    Path("inside.mlir").write_text(
        whole.replace("return %y", "return %x").replace('ge.name = "y"', 'ge.name = "inside"')
    )
    script = [sys.executable, str(ROOT / "docs" / "check_onnxruntime.py"), "tokens.onnx", "1e-3"]
    codes = [subprocess.run([*script, f"{name}.mlir"]).returncode for name in ("whole", "wrong", "part", "inside")]
    assert codes == [0, 1, 125, 125]


def test_pattern_that_a_pass_can_skip_is_skipped(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever a script calls bad: here the loss of a double reshape, which one pattern of a pass removes."""
    Path("in.mlir").write_text(
        """func.func @main(%x: tensor<2x3x4xf32>) -> tensor<24xf32> {
             %0 = ge.reshape %x {shape = [2, 12]} : (tensor<2x3x4xf32>) -> tensor<2x12xf32> loc("a"("Reshape"("a")))
             %1 = ge.reshape %0 {shape = [24]} : (tensor<2x12xf32>) -> tensor<24xf32> loc("b"("Reshape"("b")))
             func.return %1 : tensor<24xf32>
           }"""
    )
    Path("check").write_text('#!/bin/sh\ntest "$(grep -c ge.reshape "$1")" = 2\n')
    Path("check").chmod(0o755)
    assert ge_opt(["in.mlir", "--ge-canonicalize", "--bisect=check_script=./check reproducer=small.mlir"]) == 0
    out = capsys.readouterr().out
    assert "rewrite 1: ge-canonicalize/merge-reshapes at node 'b' (Reshape), number 1 of 1 of the pass" in out
    assert "avoid it: ge-opt -p 'ge-canonicalize{skip=merge-reshapes}'" in out
    assert "reproducer: small.mlir, 2 operators: ge-opt --run-reproducer small.mlir" in out


def test_crash_is_found_as_well(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("crash.py").write_text(
        '''"""Crash at the second sigmoid."""
from dataclasses import dataclass
from graph_engine.dialects.ge.elementwise import ReluOp, SigmoidOp
from graph_engine.transforms.driver import Pattern, apply_patterns
from graph_engine.transforms.pass_base import GePass


class Replace(Pattern):
    name = "replace"
    root = (SigmoidOp,)

    def rewrite(self, op, rewriter):
        if not isinstance(op.operands[0].owner, ReluOp):
            return {}["axis"]
        rewriter.replace(op, ReluOp(op.operands[0]))
        return True


@dataclass(frozen=True)
class Crash(GePass):
    name = "crash"

    def apply(self, ctx, op):
        apply_patterns(op, [Replace()])
'''
    )
    steps = ["relu", "sigmoid", "neg", "sigmoid", "abs"]
    lines = [
        f'%{i + 1} = ge.{op} %{i} : (tensor<4xf32>) -> tensor<4xf32> loc("n{i}"("{op}"("t{i}")))'
        for i, op in enumerate(steps)
    ]
    text = "func.func @main(%0: tensor<4xf32>) -> tensor<4xf32> {\n" + "\n".join(lines)
    Path("in.mlir").write_text(text + "\nfunc.return %5 : tensor<4xf32>\n}\n")
    assert main(["in.mlir", "--load-plugin=crash.py", "--ge-canonicalize", "--crash", "--check=reference"]) == 0
    out = capsys.readouterr().out
    assert "pass 2 of 2: crash: pass 'crash' crashed: KeyError: 'axis' (crash.py:14)" in out
    assert "rewrite 1 is the last good one" in out
    match = re.search(r"^reproducer: bisect.mlir, (\d+) operators?: ge-opt (.*)$", out, re.M)
    assert match is not None and int(match[1]) == 1
    assert ge_opt(shlex.split(match[2])) == 1


GOOD = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = ge.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}"""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing to find: every pass keeps the numbers within what it declares (passes: 2)"),
        (["--check=reference"], "nothing to find: the check holds (passes: 2)"),
        (["--check-script=true"], "nothing to find: the check holds (passes: 2)"),
    ],
)
def test_good_model(arguments: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No error: an answer on standard output, an exit code of its own, no reproducer; the same from both tools."""
    Path("in.mlir").write_text(GOOD)
    passes = ["--ge-canonicalize", "--fuse-elementwise"]
    options = " ".join(flag.removeprefix("--").replace("-script", "_script") for flag in arguments)
    for tool, given in ((main, arguments), (ge_opt, [f"--bisect={options}"])):
        answer, captured = tool(["in.mlir", *passes, *given]), capsys.readouterr()
        assert (answer, captured.out) == (2, f"{message}\n")
        assert "error" not in captured.err
    assert not Path("bisect.mlir").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--check-script=false"], "error: the check fails before any pass"),
        (["--check-script=./unsure"], "error: the check cannot tell after all passes"),
        (["--check-script=/nowhere/x"], "error: --check-script: cannot run '/nowhere/x'"),
        (["--check=refrence"], "did you mean 'reference'?"),
        (["--compile-to=kernels"], "error: kernels and tasks do not run by reference"),
    ],
)
def test_what_cannot_be_found(
    arguments: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("in.mlir").write_text(GOOD)
    Path("unsure").write_text('#!/bin/sh\ngrep -q f16 "$1" && exit 125; exit 0\n')
    Path("unsure").chmod(0o755)
    assert main(["in.mlir", *arguments]) == 1
    assert message in capsys.readouterr().err.splitlines()[-1]
    assert not Path("bisect.mlir").exists()


@pytest.mark.parametrize("last_good", range(10))
def test_first_bad_finds_every_place(last_good: int) -> None:
    assert first_bad(0, 10, lambda count: count <= last_good) == (last_good, last_good + 1)


def test_first_bad_goes_around_what_cannot_be_told() -> None:
    asked: list[int] = []

    def check(count: int) -> bool | None:
        asked.append(count)
        return None if 4 <= count <= 6 else count < 8

    assert first_bad(0, 10, check) == (7, 8)
    assert first_bad(3, 7, lambda count: None) == (3, 7)


def test_wrong_option_is_told_with_the_nearest(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("in.mlir").write_text("")
    assert ge_opt(["in.mlir", "--bisect=tolerence=1"]) == 1
    assert "--bisect has no option 'tolerence', did you mean 'tolerance'?" in capsys.readouterr().err
    with pytest.raises(GraphEngineError, match="at least 1"):
        from graph_engine.pipelines.bisect import BisectOptions

        BisectOptions.of({"inputs": "0"})
