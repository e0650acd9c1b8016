"""Locations: built, fused, read back, and kept by text."""

from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    ModuleOp,
    NameLoc,
    NoneAttr,
    StringAttr,
)
from xdsl.parser import Parser

from graph_engine.dialects.ge.locations import fuse, node_location, source_nodes
from graph_engine.pipelines.context import make_context
from graph_engine.target_ascend.om.program import SourceNode

CONV = node_location("conv1", "Conv", ["y0"])
BN = node_location("bn1", "BatchNormalization", ["y1", "y2"])


def test_a_node_reads_back() -> None:
    assert source_nodes(CONV) == [SourceNode("conv1", "Conv", ("y0",))]
    assert source_nodes(BN) == [SourceNode("bn1", "BatchNormalization", ("y1", "y2"))]
    assert source_nodes(node_location("n", "Op", [])) == [SourceNode("n", "Op", ())]


def test_fusing_is_flat_ordered_and_without_repetition() -> None:
    relu = node_location("relu1", "Relu", ["y3"])
    fused = fuse(fuse(CONV, BN), UNKNOWN_LOC, relu, CONV)
    assert isinstance(fused, FusedLoc)
    assert [n.name for n in source_nodes(fused)] == ["conv1", "bn1", "relu1"]
    assert all(isinstance(part, NameLoc) for part in fused.locations)
    assert fuse(CONV, CONV) is CONV
    assert fuse() == fuse(UNKNOWN_LOC) == UNKNOWN_LOC


def test_other_locations_name_what_they_can() -> None:
    assert source_nodes(UNKNOWN_LOC) == []
    assert source_nodes(FileLineColLoc(StringAttr("a.mlir"), IntAttr(3), IntAttr(1))) == []
    assert source_nodes(NameLoc(StringAttr("relu1"), NoneAttr())) == [SourceNode("relu1", "", ())]


def test_text_keeps_odd_names() -> None:
    names = ['a "quoted" name', "scope/sub:0", "back\\slash", "Zähler→1", "卷积", ""]
    location = fuse(*(node_location(name or "unnamed", "Conv", [f"{name}_out"]) for name in names))
    module = ModuleOp([])
    module.location = location
    text = _print(module)
    parsed = Parser(make_context(), text).parse_module()
    assert source_nodes(parsed.location) == source_nodes(location)


def _print(module: ModuleOp) -> str:
    from io import StringIO

    from xdsl.printer import Printer

    stream = StringIO()
    Printer(stream, print_debuginfo=True).print_op(module)
    return stream.getvalue()
