"""Sequences that are known while importing leave no trace; others are refused by name."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from harness.judge import imported_outputs, onnxruntime_outputs
from onnx import parser

from graph_engine.errors import GraphEngineError
from graph_engine.frontend_onnx.importer import import_onnx

X = np.arange(30, dtype=np.float32).reshape(5, 6)


def model_of(text: str) -> onnx.ModelProto:
    return parser.parse_model('<ir_version: 8, opset_import: ["" : 17]>' + text)


SPLIT = """
g (float[5,6] x) => (float[a,b] y, float[c,d] z, int64 n, float[e,f] joined)
<int64 size = {2}, int64 last = {-1}, int64 one = {1}> {
  parts = SplitToSequence <axis = 1> (x, size)
  y = SequenceAt(parts, one)
  n = SequenceLength(parts)
  more = SequenceInsert(parts, y, one)
  less = SequenceErase(more, last)
  z = SequenceAt(less, last)
  joined = ConcatFromSequence <axis = 1> (less)
}
"""
STACK = """
g (float[5,6] x) => (float[a,b,c] y) {
  rows = SplitToSequence <axis = 0, keepdims = 0> (x)
  y = ConcatFromSequence <axis = -1, new_axis = 1> (rows)
}
"""
SIZES = """
g (float[5,6] x) => (float[a,b] y) <int64 zero = {0}, int64 two = {2}, int64[2] swap = {1, 0}> {
  shape = Shape(x)
  parts = SplitToSequence(shape)
  rows = SequenceAt(parts, zero)
  last = ConcatFromSequence <axis = 0> (parts)
  both = Gather(last, swap)
  y = Reshape(x, both)
}
"""
APPENDED = """
g (float[5,6] x) => (float[a,b] y) <int64 n = {5}, bool yes = {1}> {
  none = SequenceEmpty()
  rows = Loop(n, yes, none) <
    body = b (int64 i, bool go, seq(float[6]) old) => (bool more, seq(float[6]) new) {
      more = Identity(go)
      row = Gather(x, i)
      twice = Add(row, row)
      new = SequenceInsert(old, twice)
    }
  >
  y = ConcatFromSequence <axis = 1, new_axis = 1> (rows)
}
"""
COUNTED = """
g (float[5,6] x) => (float[a,b] y) <bool yes = {1}, int64 zero = {0}, int64 one = {1}, int64 end = {3}> {
  rows, last = Loop(absent, yes, none, zero) <
    body = b (int64 i, bool go, seq(float[6]) old, int64 at) => (bool more, seq(float[6]) new, int64 next) {
      row = Gather(x, at)
      new = SequenceInsert(old, row)
      next = Add(at, one)
      more = Less(next, end)
    }
  >
  y = ConcatFromSequence <axis = 0, new_axis = 1> (rows)
}
"""


@pytest.mark.parametrize("text", [SPLIT, STACK, SIZES, APPENDED, COUNTED])
def test_known_sequences(text: str) -> None:
    """Splits, lists and loops that append, as onnxruntime has them."""
    model = model_of(text)
    for node in list(model.graph.node):
        if "absent" in node.input:  # a loop that its condition ends
            node.input[0] = ""
            model.graph.node.insert(0, onnx.helper.make_node("SequenceEmpty", [], ["none"]))
    results, operators = imported_outputs(model, {"x": X})
    assert "loop" not in operators
    for result, right in zip(results, onnxruntime_outputs(model, {"x": X}), strict=True):
        np.testing.assert_array_equal(result, right)
        assert result.shape == right.shape


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (APPENDED.replace("int64 n = {5}, ", "").replace("float[5,6] x", "float[5,6] x, int64 n"), "is a sequence"),
        (
            SPLIT.replace("int64 one = {1}", "int64 two = {1}").replace("(float[5,6] x)", "(float[5,6] x, int64 one)"),
            "position must be a constant",
        ),
        (STACK.replace("float[5,6] x", "float[N,6] x"), "extent that is split must be known"),
    ],
)
def test_unknown_sequences_are_refused(text: str, reason: str) -> None:
    with pytest.raises(GraphEngineError, match=reason):
        import_onnx(model_of(text))
