"""Remarks reach those who listen to their kind, with the nodes of the operator and the running pass."""

from dataclasses import dataclass

import pytest
from xdsl.context import Context
from xdsl.dialects import test
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Operation

from graph_engine.dialects.ge.locations import fuse, node_location
from graph_engine.pipelines.context import make_context
from graph_engine.pipelines.runner import RunOptions, Step, print_warnings, run_steps
from graph_engine.transforms.pass_base import GePass
from graph_engine.transforms.remarks import Kind, Remark, analysis, listening, missed, passed, wanted, warning


@dataclass(frozen=True)
class Talk(GePass):
    name = "talk"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in op.ops:
            passed("Done", inner, "done")
            missed("NotDone", inner, "not done", guard="single-user")
            analysis("Size", inner, "8 bytes", bytes=8)
            warning("Overflow", inner, "leaves fp16")


def _module() -> ModuleOp:
    op = test.TestOp(result_types=[f32])
    op.location = fuse(node_location("c1", "Conv", ["y"]), node_location("r1", "Relu", ["z"]))
    return ModuleOp([op])


def test_kinds_are_collected_as_asked():
    report = run_steps(make_context(), _module(), [Step(Talk())], RunOptions(remarks=frozenset(Kind)))
    assert [remark.name for remark in report.remarks] == ["Done", "NotDone", "Size", "Overflow"]
    remark = report.remarks[1]
    assert (remark.pass_name, remark.op, remark.args) == ("talk", "test.op", {"guard": "single-user"})
    assert [node.name for node in remark.nodes] == ["c1", "r1"]
    assert str(remark) == "node 'c1' (Conv) and 1 more: not done [talk]"


def test_warnings_alone_by_default(capsys: pytest.CaptureFixture[str]):
    report = run_steps(make_context(), _module(), [Step(Talk())])
    assert [remark.kind for remark in report.remarks] == [Kind.WARNING]
    print_warnings(report)
    assert capsys.readouterr().err == "warning: node 'c1' (Conv) and 1 more: leaves fp16 [talk]\n"


def test_nobody_listens_outside():
    heard: list[Remark] = []
    op: Operation = test.TestOp(result_types=[f32])
    with listening(heard.append, frozenset({Kind.MISSED})):
        assert wanted(Kind.MISSED) and not wanted(Kind.PASSED)
        missed("NotDone", op, "no")
    missed("NotDone", op, "no")
    assert [remark.where for remark in heard] == ["test.op"]
