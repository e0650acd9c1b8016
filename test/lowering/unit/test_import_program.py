"""OM programs back to text: compiling the text again gives the same program; what cannot be said is refused."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from models.small import SMALL

from graph_engine.errors import GraphEngineError
from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.lowering.emit_program import emit_program
from graph_engine.lowering.import_program import import_program, tensor_type_of
from graph_engine.pipelines.compile import compile_module
from graph_engine.pipelines.context import make_context
from graph_engine.pipelines.printing import to_text
from graph_engine.pipelines.source import Chunk, parse
from graph_engine.pipelines.verification import verify
from graph_engine.target_ascend.isa.model import DType
from graph_engine.target_ascend.om.program import (
    AicpuCall,
    Copy,
    EntryPoint,
    Launch,
    Location,
    Program,
    Record,
    Segment,
    Stream,
    TensorDesc,
    Wait,
)
from graph_engine.target_ascend.runtime.device import run


@cache
def compiled(name: str, soc: str = "Ascend310P3") -> Program:
    module = import_onnx(SMALL[name]())
    compile_module(module, soc)
    return emit_program(module, name)


CHIPS = [*((name, "Ascend310P3") for name in ("residual", "grouped", "mlp", "lrn")), ("residual", "Ascend910B3")]
"""The last one has a kernel of a team of cores, and memory in which these exchange their tiles."""


@pytest.mark.parametrize(("name", "soc"), CHIPS)
def test_emitting_the_imported_gives_the_same_program(name: str, soc: str):
    program = compiled(name, soc)
    exchanged = [
        task for task in program.entry_points[0].streams[0].tasks if isinstance(task, Launch) and task.exchanged
    ]
    assert bool(exchanged) is (soc == "Ascend910B3")
    module = import_program(program)
    verify(module)
    again = emit_program(parse(make_context(), Chunk("m.mlir", to_text(module))), name)
    assert again.entry_points == program.entry_points
    assert bytes(again.weights[0 : len(again.weights)]) == bytes(program.weights[0 : len(program.weights)])
    assert again.kernels.keys() == program.kernels.keys()
    x = np.random.default_rng(3).standard_normal(program.entry_points[0].inputs[0].shape).astype(np.float32)
    first, second = (run(p, [x], mode="both") for p in (program, again))
    np.testing.assert_array_equal(first.outputs[0], second.outputs[0])


def tensor(name: str, segment: Segment, offset: int = 0, index: int = 0) -> TensorDesc:
    return TensorDesc(name, DType.F16, (4, 3), "ND", (4, 3), 24, Location(segment, index, offset))


HAND = Program(
    "hand",
    "Ascend310P3",
    (
        EntryPoint(
            "first",
            (tensor("in/put:0", Segment.INPUT),),
            (tensor("0", Segment.OUTPUT),),
            (
                Stream(
                    "s0",
                    (
                        Copy("copy_0", Location(Segment.INPUT, 0, 0), Location(Segment.WORKSPACE, 0, 64), 24),
                        Record(3),
                    ),
                ),
                Stream(
                    "s1",
                    (
                        Wait(3),
                        AicpuCall(
                            "lrn",
                            "LRN",
                            "ge.lrn",
                            {"size": 5, "alpha": 0.5},
                            (tensor("a b", Segment.WORKSPACE, 64),),
                            (tensor("0", Segment.OUTPUT),),
                        ),
                    ),
                    1,
                ),
            ),
            128,
            96,
        ),
    ),
    {},
    b"",
)


def test_every_kind_of_task_and_two_streams():
    module = import_program(HAND)
    verify(module)
    text = to_text(module)
    assert "device 1" in text
    again = emit_program(parse(make_context(), Chunk("m.mlir", text)), "hand")
    (entry,) = again.entry_points
    assert entry.streams == HAND.entry_points[0].streams
    assert entry.inputs == HAND.entry_points[0].inputs and entry.outputs == HAND.entry_points[0].outputs


def test_formats_are_found_from_the_stored_shape():
    place = Location(Segment.WEIGHT, 0, 0)
    grouped = TensorDesc("w", DType.F16, (64, 4, 3, 3), "FRACTAL_Z", (18, 2, 16, 16), 18432, place)
    kind = str(tensor_type_of(grouped).encoding)
    assert kind.startswith("#layout.fractal_z<") or "fractal_z" in kind
    wrong = replace(grouped, physical_shape=(17, 2, 16, 16))
    with pytest.raises(GraphEngineError, match="is not FRACTAL_Z"):
        tensor_type_of(wrong)
    with pytest.raises(GraphEngineError, match="is not FRACTAL_Q"):
        tensor_type_of(replace(grouped, format="FRACTAL_Q"))


def test_a_view_of_an_input_is_no_second_input():
    entry = HAND.entry_points[0]
    view = TensorDesc("v", DType.F16, (12,), "ND", (12,), 24, Location(Segment.INPUT, 0, 0))
    call = AicpuCall("relu", "Relu", "ge.relu", {}, (view,), (tensor("0", Segment.OUTPUT),))
    program = replace(HAND, entry_points=(replace(entry, streams=(Stream("s", (call,)),)),))
    module = import_program(program)
    assert "alias(%in_put : tensor<4x3xf16>)" in to_text(module)
    assert tuple(emit_program(module).entry_points) == program.entry_points


def test_aliases_are_refused():
    with pytest.raises(GraphEngineError, match="share an input's buffer"):
        import_program(replace(HAND, entry_points=(replace(HAND.entry_points[0], aliases=((0, 0),)),)))


def test_arguments_that_are_no_tensors_are_refused():
    entry = HAND.entry_points[0]
    launch = Launch("l", "Add", "k", 1, (Location(Segment.WORKSPACE, 0, 0),))
    odd = replace(HAND, entry_points=(replace(entry, streams=(Stream("s", (launch,)),)),))
    with pytest.raises(GraphEngineError, match="not its inputs and outputs in order"):
        import_program(odd)
