"""The weight segment gives the same bytes whole and in pieces, and holds one tensor at a time."""

import gc
import weakref
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from models.small import SMALL

from graph_engine.dialects.ge.interning import element_type, tensor_type
from graph_engine.dialects.ge.weights import WeightAttr, WeightRef, constant_attr
from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.lowering.emit_program import emit_program
from graph_engine.lowering.weight_segment import WeightSegment
from graph_engine.pipelines.compile import compile_module
from graph_engine.target_ascend.om.container import load, save


def segment() -> tuple[WeightSegment, bytes]:
    """Three tensors with gaps, and the bytes by hand."""
    rng = np.random.default_rng(3)
    arrays = {0: rng.random((5, 20), np.float32), 448: rng.integers(0, 9, 100), 1280: np.arange(3, dtype=np.float16)}
    expected = bytearray(1280 + 6)
    tensors: dict[int, Any] = {}
    for offset, array in arrays.items():
        element = {"float32": "f32", "int64": "i64", "float16": "f16"}[str(array.dtype)]
        tensors[offset] = constant_attr(array, "w"), tensor_type(array.shape, element_type(element))
        expected[offset : offset + array.nbytes] = array.tobytes()
    return WeightSegment(tensors), bytes(expected)


@pytest.mark.parametrize("cuts", [[0, 1286], [0, 1, 400, 449, 1279, 1281, 1286], [*range(0, 1286, 7), 1286], [10, 500]])
def test_pieces_are_the_bytes(cuts: list[int]) -> None:
    weights, expected = segment()
    assert len(weights) == len(expected)
    for start, stop in pairwise(cuts):
        assert bytes(weights[start:stop]) == expected[start:stop]
    assert bytes(weights[0 : len(weights)]) == expected
    assert bytes(weights[5:9]) == expected[5:9]
    assert bytes(weights[9:5]) == b""


def test_no_weights() -> None:
    assert len(WeightSegment({})) == 0
    assert bytes(WeightSegment({})[0:0]) == b""


def test_one_tensor_is_held_at_a_time() -> None:
    held: list[weakref.ref[Any]] = []

    def loaded() -> np.ndarray[Any, Any]:
        gc.collect()
        assert sum(reference() is not None for reference in held) == 0
        array = np.ones(256, np.float32)
        held.append(weakref.ref(array))
        return array

    type_ = tensor_type((256,), element_type("f32"))
    tensors = {1024 * i: (WeightAttr(WeightRef(f"w{i}", "float32", (256,), loaded)), type_) for i in range(4)}
    weights = WeightSegment(tensors)
    for start in range(0, len(weights), 512):
        assert bytes(weights[start : start + 512]) == np.ones(128, np.float32).tobytes()
    assert len(held) == 4


def test_the_file_holds_the_segment(tmp_path: Path) -> None:
    module = import_onnx(SMALL["residual"]())
    compile_module(module)
    program = emit_program(module)
    save(program, tmp_path / "m.om")
    stored = load(tmp_path / "m.om").weights
    assert len(program.weights) == len(stored) > 0
    assert bytes(program.weights[0 : len(stored)]) == bytes(stored[0 : len(stored)])
