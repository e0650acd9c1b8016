"""ge-opt's command line, in process: order of passes, options, streams, errors, diagnostics, files."""

import io
import types
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.universe import Universe

from graph_engine.errors import GraphEngineError
from graph_engine.pipelines import registry
from graph_engine.tools.ge_opt.main import main
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.pass_base import GePass


@dataclass(frozen=True)
class Tag(GePass):
    """Appends text to an attribute of the module."""

    name = "tag"
    text: str = field(default="t", metadata={"help": "what to append"})
    times: int = 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        old = op.attributes.get("tags", StringAttr(""))
        assert isinstance(old, StringAttr)
        op.attributes["tags"] = StringAttr(old.data + self.text * self.times)


class MulToAdd(Pattern):
    name = "mul-to-add"
    root = (arith.MuliOp,)

    def rewrite(self, op: arith.MuliOp, rewriter: CountedRewriter) -> bool:
        rewriter.replace(op, arith.AddiOp(op.lhs, op.rhs))
        return True


@dataclass(frozen=True)
class Cheapen(GePass):
    """Replaces products by sums."""

    name = "cheapen"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [MulToAdd()])


@dataclass(frozen=True)
class Break(GePass):
    """Moves a definition behind its use, as a wrong pass might."""

    name = "break"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in op.walk():
            if isinstance(inner, arith.MuliOp) and inner.parent and inner.parent.first_op is inner:
                inner.detach()
                last = next(iter(op.ops)).regions[0].block.last_op
                assert last is not None and last.parent is not None
                last.parent.insert_op_before(inner, last)
                return


@dataclass(frozen=True)
class Refuse(GePass):
    """Raises a user's error."""

    name = "refuse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise GraphEngineError("cannot do this")


INPUT = """func.func @main(%x: i32) -> i32 {
  %a = arith.muli %x, %x : i32 loc("m1"("Mul"("a")))
  %b = arith.muli %a, %x : i32 loc("m2"("Mul"("b")))
  func.return %b : i32
}
"""


@pytest.fixture(autouse=True)
def passes(monkeypatch: pytest.MonkeyPatch):
    for test_pass in (Tag, Cheapen, Break, Refuse):
        monkeypatch.setitem(registry.all_passes(), test_pass.name, lambda p=test_pass: p)


@pytest.fixture
def source(tmp_path: Path) -> str:
    path = tmp_path / "in.mlir"
    path.write_text(INPUT)
    return str(path)


def test_passes_run_in_command_line_order(source: str, capsys: pytest.CaptureFixture[str]):
    assert main(["--tag", "-p", "tag{text=a times=2},tag{text=b}", "--tag=text='c d' times=1", source]) == 0
    assert 'tags = "taabc d"' in capsys.readouterr().out


def test_flag_without_options_does_not_swallow_the_input(source: str, capsys: pytest.CaptureFixture[str]):
    assert main(["--tag", source]) == 0
    assert "@main" in capsys.readouterr().out


def test_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    for arguments in ([], ["-"]):
        monkeypatch.setattr("sys.stdin", io.StringIO(INPUT))
        assert main(arguments) == 0
        assert "@main" in capsys.readouterr().out


def test_locations_survive_rewrites_and_can_be_left_out(source: str, capsys: pytest.CaptureFixture[str]):
    assert main(["--cheapen", source]) == 0
    out = capsys.readouterr().out
    assert '%a = arith.addi %x, %x : i32 loc("m1"("Mul"("a")))' in out
    assert "loc(unknown)" not in out
    assert main(["--cheapen", "--no-locations", source]) == 0
    assert "loc(" not in capsys.readouterr().out


def test_rewrite_limit_stops_between_two_rewrites(source: str, capsys: pytest.CaptureFixture[str]):
    assert main(["--cheapen", "--rewrite-limit=1", source]) == 0
    out = capsys.readouterr().out
    assert out.count("arith.addi") == 1 and out.count("arith.muli") == 1


def test_generic_form(source: str, capsys: pytest.CaptureFixture[str]):
    assert main(["--print-op-generic", source]) == 0
    assert '"arith.muli"(%x, %x)' in capsys.readouterr().out


def test_dumps_and_timing_go_to_standard_error(source: str, capsys: pytest.CaptureFixture[str]):
    assert main(["--print-ir-after-all", "--timing", "--tag=text=q", "--cheapen", source]) == 0
    captured = capsys.readouterr()
    assert captured.err.count("IR Dump After") == 2
    assert 'IR Dump After Tag (tag{text="q"})' in captured.err
    assert "rewrites" in captured.err and "cheapen" in captured.err
    assert "IR Dump" not in captured.out and "rewrites" not in captured.out


def test_dump_after_change_only(source: str, capsys: pytest.CaptureFixture[str]):
    assert main(["--print-ir-after-change", "--cheapen", "--cheapen", source]) == 0
    assert capsys.readouterr().err.count("IR Dump After") == 1


def test_large_constants_are_elided_in_dumps_only(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    numbers = ", ".join(map(str, range(40)))
    path = tmp_path / "c.mlir"
    path.write_text(f"%c = arith.constant dense<[{numbers}]> : tensor<40xi32>\n")
    assert main(["--print-ir-after-all", "--tag", str(path)]) == 0
    captured = capsys.readouterr()
    assert "dense_resource<__elided__> : tensor<40xi32>" in captured.err
    assert "38, 39" in captured.out


def one_line(captured: str) -> str:
    assert captured.count("\n") == 1, captured
    return captured.strip()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--cheapn"], "error: unknown option '--cheapn', did you mean '--cheapen'?"),
        (["--timin"], "error: unknown option '--timin', did you mean '--timing'?"),
        (["-p", "tag,cheapn"], "<pass-pipeline>:1:5: error: unknown pass 'cheapn', did you mean 'cheapen'?"),
        (["--tag=txet=a"], "--tag: error: pass 'tag' has no option 'txet', did you mean 'text'?"),
        (["--tag=times=x"], "--tag: error: option 'times' of pass 'tag' is 'x', expected an integer"),
        (["--help-pass=cheapn"], "error: unknown pass 'cheapn', did you mean 'cheapen'?"),
        (["--compile-to=fuse"], "error: unknown phase 'fuse', did you mean 'fused'?"),
        (["--default-pipeline=sok=1"], "error: the default pipeline has no option 'sok', did you mean 'soc'?"),
        (["--default-pipeline=soc=Ascend310P4"], "Ascend310P3"),
        (["--rewrite-limit=x"], "error: argument --rewrite-limit: invalid int value: 'x'"),
        (["/nowhere/x.mlir"], "error: cannot read '/nowhere/x.mlir': No such file or directory"),
        (["a.mlir", "b.mlir"], "error: one input at a time: unexpected 'b.mlir'"),
    ],
)
def test_wrong_command_lines(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]):
    try:
        code = main(arguments)
    except SystemExit as stop:
        code = stop.code
    captured = capsys.readouterr()
    assert code == 1
    assert message in one_line(captured.err)
    assert captured.out == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("func.func @f() {\n  arith.foo\n}\n", ":2:3: error: Operation arith.foo is not registered"),
        ("func.func @f() {\n  gee.relu\n}\n", "gee.relu is not registered, did you mean 'ge'?"),
        ("func.func @f( {\n", ":1:15: error: "),
        ("%c = arith.constant 300 : i8\n", ":1:1: error: Integer value 300"),
        (
            "func.func @f(%x: i32) -> i32 {\n  %b = arith.addi %a, %x : i32\n  %a = arith.addi %x, %x : i32\n"
            "  func.return %b : i32\n}\n",
            ":2:3: error: 'arith.addi': operand #0 '%a' does not dominate this use",
        ),
        ("func.func @f(%x: i32) -> i64 {\n  func.return %x : i32\n}\n", ":2:3: error: 'func.return': Expected"),
    ],
)
def test_wrong_inputs(text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "bad.mlir"
    path.write_text(text)
    output = tmp_path / "out.mlir"
    output.write_text("old")
    assert main([str(path), "-o", str(output)]) == 1
    captured = capsys.readouterr()
    line = one_line(captured.err)
    assert line.startswith(f"{path}:") and message in line
    assert captured.out == "" and output.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.mlir", "out.mlir"]


def test_a_pass_that_breaks_the_module_is_named(source: str, capsys: pytest.CaptureFixture[str]):
    assert main(["--verify-each", "--break", "--tag", source]) == 1
    message = one_line(capsys.readouterr().err)
    assert ":3:3: error: 'arith.muli' (\"m2\"): after pass 'break': operand #0 '%a' does not dominate" in message


def test_a_pass_that_refuses_is_named(source: str, capsys: pytest.CaptureFixture[str]):
    assert main(["--refuse", source]) == 1
    assert one_line(capsys.readouterr().err).endswith("in.mlir:1:1: error: pass 'refuse': cannot do this")


SPLIT = """// expected-error@+2 {{does not dominate}}
func.func @f(%x: i32) -> i32 {
  %b = arith.addi %a, %x : i32
  %a = arith.addi %x, %x : i32
  func.return %b : i32
}
// -----
func.func @fine() {
  func.return
}
"""


def test_expected_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "e.mlir"
    arguments = ["--split-input-file", "--verify-diagnostics", str(path)]
    path.write_text(SPLIT)
    assert main(arguments) == 0
    assert "@fine" in capsys.readouterr().out
    path.write_text(SPLIT.replace("not dominate", "not dominoes"))
    assert main(arguments) == 1
    err = capsys.readouterr().err
    assert ":3:3: error: unexpected error:" in err and "was not produced" in err
    path.write_text(SPLIT.replace("@+2", "@+1"))
    assert main(arguments) == 1


def test_verify_diagnostics_without_comments_prints_the_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "e.mlir"
    path.write_text(SPLIT.replace("expected-error", ""))
    assert main(["--split-input-file", "--verify-diagnostics", str(path)]) == 0
    out = capsys.readouterr().out
    assert ":3:3: error: 'arith.addi': operand #0 '%a' does not dominate" in out and "@fine" in out


def test_all_pieces_report_and_nothing_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "e.mlir"
    path.write_text("func.fun\n// -----\nfunc.func @fine() {\n  func.return\n}\n// -----\nfunc.fun\n")
    assert main(["--split-input-file", str(path)]) == 1
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count(": error: ") == 2
    assert ":1:1:" in captured.err and ":7:1:" in captured.err


def test_output_file_is_the_text_of_standard_output(source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main([source]) == 0
    out = capsys.readouterr().out
    assert main([source, "-o", str(tmp_path / "o.mlir")]) == 0
    assert (tmp_path / "o.mlir").read_text() == out
    assert main([source, "-o", str(tmp_path / "none" / "o.mlir")]) == 1


def test_help_lists_every_pass_and_phase(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    out = capsys.readouterr().out
    assert stop.value.code == 0
    assert all(f"--{name}" in out for name in registry.PASSES)
    assert "laid-out" in out and "Replaces products by sums." in out


def test_help_pass_shows_options(capsys: pytest.CaptureFixture[str]):
    assert main(["--help-pass=tag"]) == 0
    out = capsys.readouterr().out
    assert "Appends text" in out and "text: str = t" in out and "what to append" in out and "times: int = 1" in out


@pytest.mark.parametrize("name", ["split-batch", "fuse-conv-bn-relu"])
def test_help_pass_says_things_once_and_keeps_examples_in_line(name: str, capsys: pytest.CaptureFixture[str]):
    assert main([f"--help-pass={name}"]) == 0
    out = capsys.readouterr().out
    examples = [line for line in out.splitlines() if line.lstrip().startswith("%1 = ")]
    assert out.count(registry.help_line(name)) == 1
    assert examples and all(line.startswith("    %1") for line in examples)


def test_plugins_add_passes_and_clashes_name_both(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    universe = Universe(all_passes={"tag2": lambda: Tag, "fold-constants": lambda: Tag})
    entry = types.SimpleNamespace(name="shiny", load=lambda: universe)
    broken = types.SimpleNamespace(name="broken", load=lambda: 1 / 0)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [entry, broken])
    registry.plugins.cache_clear()
    try:
        merged = registry._merge("pass", registry.PASSES, "all_passes")
    finally:
        registry.plugins.cache_clear()
    assert merged["fold-constants"] == registry.PASSES["fold-constants"]
    factory = merged["tag2"]
    assert not isinstance(factory, str) and factory() is Tag
    err = capsys.readouterr().err
    assert "'fold-constants' is defined by 'graph-engine' and by plugin 'shiny'" in err
    assert "plugin 'broken' does not load: division by zero" in err
