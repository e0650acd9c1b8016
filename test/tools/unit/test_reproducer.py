"""A failing pass leaves a file that fails in the same way, alone and elsewhere; plug-ins come from one file."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import onnx
import pytest
from models.small import SMALL

from graph_engine.dialects.ge.weights import forget_stores
from graph_engine.pipelines import registry
from graph_engine.pipelines.compile import import_model, read_module
from graph_engine.pipelines.reference import ReferenceGraph
from graph_engine.pipelines.spec import PassSpec, build_pass, parse_pipeline, pass_text
from graph_engine.tools.ge_opt.main import main
from graph_engine.tools.ge_run.main import main as ge_run

PLUGIN = '''"""Fail in three ways."""
from dataclasses import dataclass

from graph_engine.dialects.ge.elementwise import ReluOp
from graph_engine.errors import GraphEngineError
from graph_engine.transforms.driver import Pattern, apply_patterns
from graph_engine.transforms.pass_base import GePass


class Boom(Pattern):
    name = "boom"
    root = (ReluOp,)

    def rewrite(self, op, rewriter):
        return {}["axis"]


@dataclass(frozen=True)
class Crash(GePass):
    """Crash."""

    name = "crash"
    note: str = ""

    def apply(self, ctx, op):
        apply_patterns(op, [Boom()])


@dataclass(frozen=True)
class Refuse(GePass):
    """Refuse."""

    name = "refuse"

    def apply(self, ctx, op):
        raise GraphEngineError("this model is not for me")


@dataclass(frozen=True)
class Disorder(GePass):
    """Use a value before it is made."""

    name = "disorder"

    def apply(self, ctx, op):
        for inner in list(op.walk()):
            if isinstance(inner, ReluOp):
                block = inner.parent
                inner.detach()
                block.insert_op_before(inner, block.first_op)
                return


@dataclass(frozen=True)
class Misuse(GePass):
    """Call something that fails far from here."""

    name = "misuse"

    def apply(self, ctx, op):
        op.body.block.insert_ops_before([None], op)
'''


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("fail.py").write_text(PLUGIN)
    onnx.save(SMALL["conv_bn_relu"](seed=1), "m.onnx")
    yield tmp_path
    registry.forget_plugins()


def imported() -> str:
    from graph_engine.tools.ge_translate.main import main as translate

    assert translate(["--onnx-to-mlir", "m.onnx", "-o", "m.mlir"]) == 0
    return "m.mlir"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("crash", r"'ge.relu' \(\"node_y\"\): pass 'crash' crashed: KeyError: 'axis' \(fail.py:15\)"),
        ("misuse", rf"pass 'misuse' crashed: .* \(fail.py:{PLUGIN.count(chr(10))}\)"),
        ("refuse", r"pass 'refuse': this model is not for me"),
        ("disorder", r"'ge.relu' .*: after pass 'disorder': .* does not dominate this use"),
    ],
)
def test_reproducer_fails_alike(name: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    source = imported()
    passes = f"ge-infer-shapes,{name},fuse-conv-bn-relu,propagate-layout{{soc=Ascend310P3}}"
    assert main(["--load-plugin=fail.py", "-p", passes, "--crash-reproducer=r.mlir", source]) == 1
    note, error = capsys.readouterr().err.splitlines()
    assert re.search(rf"^m.mlir:\d+:\d+: error: .*{message}" if name not in ("misuse", "refuse") else message, error)
    head = Path("r.mlir").read_text().splitlines()
    assert head[2].startswith(f"// pipeline: {name},fuse-conv-bn-relu,propagate-layout")
    assert f"// rerun: {note.removeprefix('note: to rerun the pass that failed: ')}" == head[1]

    for path in ("m.mlir", "m.weights.safetensors", "m.onnx"):
        Path(path).unlink()
    forget_stores()
    registry.forget_plugins()
    assert main(shlex.split(head[1].removeprefix("// rerun: ge-opt "))) == 1
    captured = capsys.readouterr()
    assert re.search(message.replace("m.mlir", "r.mlir"), captured.err) and captured.err.count("\n") == 1


def test_module_is_the_one_before_the_failing_pass(capsys: pytest.CaptureFixture[str]) -> None:
    passes = "ge-infer-shapes,fuse-conv-bn-relu,refuse,force-fp16"
    assert main(["--load-plugin=fail.py", "-p", passes, "--crash-reproducer=r.mlir", imported()]) == 1
    text = Path("r.mlir").read_text()
    assert "ge.fused" in text and "batch_norm" not in text and "f16" not in text
    x = np.random.default_rng(0).standard_normal((1, 16, 12, 12), np.float32)
    want, found = (ReferenceGraph(m, "m").run([x])[0] for m in (import_model("m.onnx"), read_module("r.mlir")))
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-5)


def test_rewrites_that_are_left_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["-p", "ge-infer-shapes,fuse-conv-bn-relu,crash", "--rewrite-limit=5", "--crash-reproducer=r.mlir"]
    assert main(["--load-plugin=fail.py", *flags, imported()]) == 1
    assert "--rewrite-limit=3 --run-reproducer r.mlir" in capsys.readouterr().err  # batch norm, epilogue: two were made


def test_nothing_is_written_unasked_or_on_success(capsys: pytest.CaptureFixture[str]) -> None:
    before = {*Path().iterdir(), *(Path(name) for name in ("m.mlir", "m.weights.safetensors"))}
    assert main(["--load-plugin=fail.py", "--crash", imported()]) == 1
    assert main(["--ge-canonicalize", "--crash-reproducer=r.mlir", "m.mlir", "-o", "m.mlir"]) == 0
    assert set(Path().iterdir()) - before == {p for p in Path().iterdir() if p.name == "__pycache__"}


def test_traceback_on_request_only(capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--load-plugin=fail.py", "--crash", imported()]
    assert main(flags) == 1
    assert "Traceback" not in capsys.readouterr().err
    assert main([*flags, "--debug"]) == 1
    assert 'return {}["axis"]' in capsys.readouterr().err


def test_ge_run_writes_reproducers_of_the_pipeline(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from graph_engine.transforms.fuse_elementwise import FuseElementwise

    def crash(*_: object) -> None:
        raise IndexError("list index out of range")

    with monkeypatch.context() as patched:
        patched.setattr(FuseElementwise, "apply", crash)
        assert ge_run(["--model", "m.onnx", "--crash-reproducer=r.mlir"]) == 1
        assert "error: pass 'fuse-elementwise' crashed: IndexError: list index out of range" in capsys.readouterr().err
        assert main(["--run-reproducer", "r.mlir"]) == 1
    assert main(["--run-reproducer", "r.mlir", "-o", "done.mlir"]) == 0
    assert "ascend.task.program" in Path("done.mlir").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--run-reproducer", "m.mlir"], "error: 'm.mlir' is no reproducer: it has no line '// pipeline: ...'"),
        (["--run-reproducer", "--ge-canonicalize", "m.mlir"], "error: --run-reproducer runs the passes that the file"),
        (["--load-plugin=nothing.py", "m.mlir"], "error: --load-plugin: 'nothing.py' is not a Python file"),
        (["--load-plugin=bad.py", "m.mlir"], "error: --load-plugin: 'bad.py' does not load: ZeroDivisionError"),
        (["--load-plugin=empty.py", "m.mlir"], "error: --load-plugin: 'empty.py' defines no pass and no Universe"),
        (
            ["--load-plugin=fail.py", "--ge-canonicalize", "--crash-reproducer=r.txt", "m.mlir"],
            "'r.txt' cannot be the name",
        ),
        (["--bisect=reproducer=r.txt", "m.mlir"], "'r.txt' cannot be the name"),
    ],
)
def test_wrong_requests(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    imported()
    Path("bad.py").write_text("1 / 0\n")
    Path("empty.py").write_text("x = 1\n")
    assert main(arguments) == 1
    assert message in capsys.readouterr().err


def test_place_that_cannot_be_written_does_not_hide_the_failure(capsys: pytest.CaptureFixture[str]) -> None:
    Path("taken.mlir").mkdir()
    assert main(["--load-plugin=fail.py", "--crash", "--crash-reproducer=taken.mlir", imported()]) == 1
    warning, error = capsys.readouterr().err.splitlines()
    assert warning.startswith("warning: no reproducer: ") and "crashed: KeyError" in error


def test_plugin_passes_are_flags_with_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--load-plugin", "fail.py", "--help"])
    assert re.search(r"--refuse +Refuse\.", capsys.readouterr().out)
    assert main(["--load-plugin", "fail.py", "--help-pass=crash"]) == 0
    assert "note: str" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["--load-plugin", "fail.py", "--crsh", "m.mlir"])
    assert "unknown option '--crsh', did you mean '--crash'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text",
    ["crash", "crash{note=x}", "crash{note='a b'}", "crash{note='{}'}", "crash{note='say \"x\"'}"],
)
def test_passes_print_as_they_are_read(text: str) -> None:
    registry.load_plugin("fail.py")
    (spec,) = parse_pipeline(text)
    assert [s.options for s in parse_pipeline(pass_text(registry.instantiate(spec)))] == [spec.options]


@pytest.mark.parametrize("name", registry.PASSES)
def test_defaults_of_all_passes_survive_printing(name: str) -> None:
    body = registry.instantiate(PassSpec(name))
    (spec,) = parse_pipeline(pass_text(body))
    assert build_pass(spec, type(body)) == body


def test_stores_stay_where_they_were(capsys: pytest.CaptureFixture[str]) -> None:
    """Writing a reproducer takes copies of weights; the module at hand still refers to its own files."""
    source = imported()
    assert main(["--load-plugin=fail.py", "--crash", "--crash-reproducer=r.mlir", source]) == 1
    Path("r.weights.safetensors").unlink()
    assert main(["--fuse-conv-bn-relu", source]) == 0
    assert 'ge.stores = ["m.weights.safetensors"]' in capsys.readouterr().out
