"""If, Loop and Scan against onnxruntime: what they read from outside, what is known, and what stands in the way."""

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, parser

from graph_engine.errors import GraphEngineError
from graph_engine.frontend_onnx import unrolling
from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.lowering.emit_program import emit_program
from graph_engine.pipelines.compile import compile_module
from graph_engine.pipelines.default import Phase
from graph_engine.pipelines.reference import ReferenceGraph
from graph_engine.target_ascend.runtime.device import run

Array = np.ndarray[Any, Any]


def model_of(text: str) -> onnx.ModelProto:
    """A model in ONNX's text form, opset 21."""
    return onnx.ModelProto.FromString(
        parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]>\n{text}').SerializeToString()
    )


def expected(model: onnx.ModelProto, feeds: dict[str, Array]) -> list[Any]:
    return list(onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds))


def operators(model: onnx.ModelProto, **settings: Any) -> list[str]:
    module = import_onnx(model, **settings)
    compile_module(module, until=Phase.FUSED)
    names = [op.name for op in module.walk()]
    return [name for name in names if name.startswith("ge.") and name not in ("ge.yield", "ge.constant")]


def check(model: onnx.ModelProto, **feeds: Array) -> None:
    """Reference and chip (in fp16 around the host's control flow) give what onnxruntime gives."""
    right = expected(model, feeds)
    module = import_onnx(model)
    compile_module(module, until=Phase.FUSED)
    inputs = [feeds[port.name] for port in ReferenceGraph(module, "m").inputs]
    for value, exact in zip(ReferenceGraph(module, "m").run(inputs), right, strict=True):
        np.testing.assert_allclose(value, exact, rtol=1e-6)
    compile_module(module)
    for value, exact in zip(run(emit_program(module), inputs, mode="functional").outputs, right, strict=True):
        np.testing.assert_allclose(value, exact, rtol=1e-2)


X = np.linspace(-2, 3, 8, dtype=np.float32).reshape(2, 4)


@pytest.fixture(params=["written out", "on the host"])
def _both(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Short loops in both forms."""
    if request.param == "on the host":
        monkeypatch.setattr(unrolling, "UNROLLED_NODES", 0)


BRANCHES = """
g (bool c, float[2,4] x, float[4] w) => (float[2,4] y)
<float[4] k = {1, 2, 3, 4}> {
  r = Relu(x)
  y = If(c) <
    then_branch = t () => (a) { b = Mul(r, k)  a = Add(b, w) },
    else_branch = e () => (a) { a = Sub(x, k) }
  >
}
"""


@pytest.mark.parametrize("condition", [True, False])
def test_branches_read_what_is_outside(condition: bool) -> None:
    check(model_of(BRANCHES), c=np.array(condition), x=X, w=np.ones(4, np.float32))


def test_a_constant_condition_leaves_one_branch() -> None:
    assert sorted(operators(model_of(BRANCHES), bindings={"c": True})) == ["ge.add", "ge.fused", "ge.mul", "ge.relu"]
    assert operators(model_of(BRANCHES), bindings={"c": False}) == ["ge.sub"]


def test_shapes_stay_known_through_a_chosen_branch() -> None:
    model = model_of(
        """
        g (float[2,4] x) => (float[8] y) <int64[1] minus = {-1}, int64 two = {2}> {
          s = Shape(x)
          rank = Size(s)
          flat = Equal(rank, two)
          t = If(flat) <then_branch = t () => (a) { a = Identity(minus) }, else_branch = e () => (a) { a = Identity(s) }>
          y = Reshape(x, t)
        }
        """
    )
    assert operators(model) == ["ge.reshape"]
    check(model, x=X)


LOOP = """
g (int64 n, float[4] x, float[4] w) => (float[4] y, float[N,4] all) <bool yes = {1}> {
  y, all = Loop(n, yes, x) <
    body = b (int64 i, bool go, float[4] a) => (bool more, float[4] next, float[4] seen) {
      more = Identity(go)
      f = CastLike(i, a)
      s = Mul(a, w)
      next = Add(s, f)
      seen = Neg(next)
    }
  >
}
"""


def test_a_loop_carries_and_stacks() -> None:
    model = model_of(LOOP)
    right = expected(model, {"n": np.array(3), "x": X[0], "w": X[1]})
    module = import_onnx(model)
    graph = ReferenceGraph(module, "m")
    assert graph.outputs[1].shape == (-1, 4)
    for value, exact in zip(graph.run([np.array(3), X[0], X[1]]), right, strict=True):
        np.testing.assert_allclose(value, exact, rtol=1e-6)
    assert graph.run([np.array(0), X[0], X[1]])[1].shape == (0, 4)


@pytest.mark.usefixtures("_both")
def test_a_known_number_of_iterations_gives_known_sizes() -> None:
    module = import_onnx(model_of(LOOP), bindings={"n": 3})
    assert ReferenceGraph(module, "m").outputs[1].shape == (3, 4)
    compile_module(module)
    found = run(emit_program(module), [X[0], X[1]], mode="functional").outputs
    right = expected(model_of(LOOP), {"n": np.array(3), "x": X[0], "w": X[1]})
    for value, exact in zip(found, right, strict=True):
        np.testing.assert_allclose(value, exact, rtol=1e-2, atol=1e-2)


def test_a_short_loop_leaves_no_loop() -> None:
    found = operators(model_of(LOOP), bindings={"n": 3})
    assert "ge.loop" not in found and found.count("ge.mul") == 3
    assert "ge.loop" in operators(model_of(LOOP), bindings={"n": 1000})


def test_positions_that_follow_from_the_counter_are_known() -> None:
    model = model_of(
        """
        g (float[8] x) => (float[2] y) <int64 n = {3}, int64[1] two = {2}, float[2] zero = {0, 0}> {
          y = Loop(n, absent, zero) <
            body = b (int64 i, bool go, float[2] a) => (bool more, float[2] next) {
              more = Identity(go)
              one = Constant<value_ints = [1]>()
              begin0 = Reshape(i, one)
              begin = Mul(begin0, two)
              end = Add(begin, two)
              part = Slice(x, begin, end)
              next = Add(a, part)
            }
          >
        }
        """
    )
    model.graph.node[0].input[1] = ""
    assert [name for name in operators(model) if name in ("ge.slice", "ge.loop")] == ["ge.slice"] * 3
    check(model, x=np.arange(8, dtype=np.float32))


def test_a_loop_along_an_extent_is_short_if_the_extent_is() -> None:
    model = model_of(
        """
        g (float[N,2] x) => (float[2] y, float[N,2] sums) <bool yes = {1}, float[2] zero = {0, 0}> {
          shape = Shape <start = 0, end = 1> (x)
          n = Squeeze(shape)
          y, sums = Loop(n, yes, zero) <
            body = b (int64 i, bool go, float[2] a) => (bool more, float[2] next, float[2] seen) {
              more = Identity(go)
              row = Gather(x, i)
              next = Add(a, row)
              seen = Identity(next)
            }
          >
        }
        """
    )
    for shapes, kind in (({}, "ge.loop"), ({"x": (0, 2)}, "ge.loop"), ({"x": (3, 2)}, "ge.slice")):
        module = import_onnx(model, shapes)
        assert kind in str(module)
        x = np.arange(2 * max(shapes.get("x", (5,))[0], 0), dtype=np.float32).reshape(-1, 2)
        for value, right in zip(ReferenceGraph(module, "m").run([x]), expected(model, {"x": x}), strict=True):
            np.testing.assert_array_equal(value, right)


def test_a_loop_ends_by_its_condition_and_may_grow_what_it_carries() -> None:
    model = model_of(
        """
        g (float[K] x) => (float[M] y) <int64 n = {9}, bool yes = {1}, float limit = {20}> {
          y = Loop(n, yes, x) <
            body = b (int64 i, bool go, float[L] a) => (bool more, float[P] next) {
              next = Concat<axis = 0>(a, x)
              s = ReduceSum<keepdims = 0>(next)
              more = Less(s, limit)
            }
          >
        }
        """
    )
    x = np.array([1, 2], np.float32)
    [right] = expected(model, {"x": x})
    [value] = ReferenceGraph(import_onnx(model, {"x": (2,)}), "m").run([x])
    np.testing.assert_array_equal(value, right)
    assert value.shape == (14,)


@pytest.mark.usefixtures("_both")
@pytest.mark.parametrize(("axis", "direction"), [(0, 0), (1, 0), (1, 1)])
def test_scan_along_axes_and_backwards(axis: int, direction: int) -> None:
    extent = X.shape[1 - axis]
    model = model_of(
        f"""
        g (float[{extent}] s, float[2,4] x) => (float[{extent}] last, float sums) {{
          last, sums = Scan(s, x) <num_scan_inputs = 1, scan_input_axes = [{axis}], scan_input_directions = [{direction}],
              scan_output_axes = [{axis}], scan_output_directions = [{direction}],
            body = b (float[{extent}] a, float[{extent}] v) => (float[{extent}] c, float[{extent}] d) {{
              c = Add(a, v)
              d = Identity(c)
            }}
          >
        }}
        """
    )
    model.graph.output[1].type.tensor_type.shape.CopyFrom(model.graph.input[1].type.tensor_type.shape)
    check(model, s=np.ones(extent, np.float32), x=X)


@pytest.mark.usefixtures("_both")
def test_control_flow_inside_control_flow() -> None:
    model = model_of(
        """
        g (float[2,4] x) => (float[4] y) <int64 n = {2}, int64 zero = {0}, bool yes = {1}> {
          z = ReduceSum<keepdims = 0>(x)
          first = Gather<axis = 0>(x, zero)
          y = Loop(n, yes, first) <
            body = b (int64 i, bool go, float[4] a) => (bool more, float[4] next) {
              more = Identity(go)
              row = Gather<axis = 0>(x, i)
              total = ReduceSum<keepdims = 0>(row)
              small = Less(total, z)
              next = If(small) <
                then_branch = t () => (p) { p = Add(a, row) },
                else_branch = e () => (p) { p = Sub(a, row) }
              >
            }
          >
        }
        """
    )
    check(model, x=X)


def test_everything_unsupported_inside_is_reported_at_once() -> None:
    model = model_of(
        """
        g (bool c, float[4] x) => (float[4] y) {
          y = If(c) <
            then_branch = t () => (a) { a = Mystery(x) },
            else_branch = e () => (a) { b = Mystery(x)  a = Enigma(b) }
          >
        }
        """
    )
    with pytest.raises(GraphEngineError) as caught:
        import_onnx(model)
    text = str(caught.value)
    assert "Mystery" in text and "If" not in text


def test_sequences_and_strings_are_refused_by_name_with_everything_else() -> None:
    sequence = helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None)
    text = helper.make_tensor_value_info("words", TensorProto.STRING, [2])
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
    nodes = [
        helper.make_node("SequenceLength", ["s"], ["n"], name="length"),
        helper.make_node("StringNormalizer", ["words"], ["lower"], name="lower"),
        helper.make_node("Mystery", ["x"], ["y"], name="riddle"),
    ]
    graph = helper.make_graph(
        nodes, "g", [sequence, text, x], [onnx.ValueInfoProto(name=n) for n in ("n", "lower", "y")]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    with pytest.raises(GraphEngineError) as caught:
        import_onnx(model)
    message = str(caught.value)
    for part in (
        "input 's' is a sequence",
        "input 'words' holds strings",
        "StringNormalizer",
        "riddle",
    ):
        assert part in message
