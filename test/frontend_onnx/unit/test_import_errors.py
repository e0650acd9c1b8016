"""What cannot be imported is refused with everything the user needs to know, at once."""

import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from models.small import SMALL, GraphBuilder, single_node
from onnx import TensorProto, helper

from graph_engine.errors import GraphEngineError
from graph_engine.frontend_onnx.importer import import_onnx


def message_of(model: object, shapes: dict[str, tuple[int, ...]] | None = None) -> str:
    with pytest.raises(GraphEngineError) as caught:
        import_onnx(model, shapes)  # type: ignore[arg-type]
    return str(caught.value)


def test_all_unsupported_operators_at_once() -> None:
    b = GraphBuilder()
    x = b.input("x", (1, 4, 8, 8))
    y = b.node("Conv", [x, b.weight((4, 4, 3, 3))], "c1")
    y = b.node("Mystery", [y], "m1")
    y = b.node("Mystery", [b.node("Relu", [y])], "m2")
    z = b.node("Cast", [x], "text", to=TensorProto.STRING)
    w = b.node("MaxPool", [x], "p", kernel_shape=[2, 2], auto_pad="SAME_SIDEWAYS")
    v = b.node("FancyNorm", [x], "n", domain="com.vendor")
    assert message_of(b.model(y, z, w, v)).splitlines() == [
        "5 nodes of the model cannot be imported:",
        "  Cast, target type 8 of ONNX's TensorProto (1): node_text",
        "  MaxPool, auto_pad SAME_SIDEWAYS is not known (1): node_p",
        "  Mystery (2): node_m1, node_m2",
        "  com.vendor:FancyNorm (1): node_n",
        "replace operators that docs/onnx_operators.md does not list by those that it lists",
    ]


def test_what_is_refused_anywhere_is_told_behind_another_refusal_too() -> None:
    b = GraphBuilder()
    y = b.node("Mystery", [b.input("x", (1,))], "m")
    text = message_of(b.model(b.node("Relu", [b.node("RandomNormalLike", [y], "r")])))
    assert "Mystery (1): node_m" in text and "(1): node_r" in text


def test_long_lists_are_cut() -> None:
    b = GraphBuilder()
    x = b.input("x", (1,))
    outputs = [b.node("Mystery", [x]) for _ in range(30)]
    assert "node_t19 and 10 more" in message_of(b.model(*outputs))


def test_dead_nodes_are_not_reported() -> None:
    b = GraphBuilder()
    x = b.input("x", (1,))
    b.node("Mystery", [x], "dead")
    import_onnx(b.model(b.node("Relu", [x])))


def test_operands_that_do_not_fit_name_node_and_shapes() -> None:
    b = GraphBuilder()
    x = b.input("x", (1, 4, 8, 8))
    y = b.node("Conv", [x, b.weight((4, 3, 3, 3))], "c")
    z = b.node("Add", [x, b.weight((5,))], "a")
    text = message_of(b.model(y, z))
    assert "node 'node_c' (Conv): ge.conv2d: " in text
    assert "4x3x3x3" in text
    assert "node 'node_a' (Add): ge.add: operands 1x4x8x8, 5 do not broadcast" in text


def test_missing_tensors_with_their_users() -> None:
    b = GraphBuilder()
    y = b.node("Add", [b.input("x", (1,)), "lost"], "y")
    y = b.node("Mul", [y, "gone"], "z")
    y = b.node("Mul", [y, "gone"], "u")
    text = message_of(b.model(y, "never"))
    assert "'lost', read by node 'node_y'" in text
    assert "'gone', read by node 'node_u', node 'node_z'" in text
    assert "'never', read by a graph output" in text


def test_cycle_names_its_nodes() -> None:
    b = GraphBuilder()
    x = b.input("x", (1,))
    b.node("Add", [x, "c"], "a")
    b.node("Relu", ["a"], "b")
    b.node("Neg", ["b"], "c")
    b.node("Neg", ["c"], "y")
    text = message_of(b.model("y"))
    assert text.startswith("the graph has a cycle: ")
    assert set(re.findall(r"'(\w+)'", text)) == {"node_a", "node_b", "node_c"}


def test_tensor_made_twice() -> None:
    b = GraphBuilder()
    x = b.input("x", (1,))
    b.node("Relu", [x], "y")
    b.node("Neg", [x], "y")
    assert "'y' is made twice" in message_of(b.model("y"))


def test_unknown_input_has_its_nearest_name() -> None:
    text = message_of(SMALL["stem"](), {"X": (1, 3, 31, 33)})
    assert text == "the model has no input 'X'; the model has 'x'"
    b = GraphBuilder()
    model = b.model(b.node("Relu", [b.input("gpu_0/data_0", (1, 2))]))
    assert message_of(model, {"gpu_0/data": (1, 2)}) == (
        "the model has no input 'gpu_0/data'; did you mean 'gpu_0/data_0'?"
    )


def test_input_shapes_of_wrong_rank_or_sign() -> None:
    model = SMALL["two_outputs"]()
    text = message_of(model, {"x": (1, 16, 6), "z": (1, -2, 6, 6)})
    assert "input 'x' has rank 4, the given shape [1, 16, 6] has rank 3" in text
    assert "input 'z' is given shape [1, -2, 6, 6]" in text


def test_input_without_a_shape_or_of_a_strange_type() -> None:
    model = single_node("Relu", {"x": (1, 2)})
    model.graph.input[0].type.tensor_type.ClearField("shape")
    assert "input 'x' is declared without a shape" in message_of(model)
    import_onnx(model, {"x": (1, 2)})
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.STRING
    assert "input 'x' holds strings\nonly tensors of numbers" in message_of(model, {"x": (1, 2)})


@pytest.mark.parametrize("opset", [1, 5, 1000])
def test_opset_out_of_range(opset: int) -> None:
    assert f"opset {opset} is not supported; opsets 6 to " in message_of(single_node("Relu", {"x": (1,)}, opset=opset))


def test_file_missing_or_foreign(tmp_path: Path) -> None:
    assert "cannot read" in message_of(tmp_path / "absent.onnx")
    for content in (b"not a model at all", b"", b"\x08\x07"):
        (tmp_path / "text.onnx").write_bytes(content)
        assert "is not an ONNX model" in message_of(tmp_path / "text.onnx")


def test_unknown_extents_ask_for_input_shapes() -> None:
    model = single_node("Flatten", {"x": ("N", "C", "M", 4)}, axis=2)
    assert "more than one unknown extent that is none of the input's; give input shapes" in message_of(model)
    import_onnx(model, {"x": (2, 3, 5, 4)})


# External data


@pytest.fixture
def external(tmp_path: Path) -> Path:
    """A model whose weights lie in `weights.bin` beside it."""
    path = tmp_path / "model.onnx"
    onnx.save_model(
        SMALL["residual"](),
        str(path),
        save_as_external_data=True,
        all_tensors_to_one_file=True,
        location="weights.bin",
        size_threshold=64,
    )
    return path


def test_external_data_gives_the_same_graph(external: Path) -> None:
    assert str(import_onnx(external)) == str(import_onnx(SMALL["residual"]()))


def test_external_data_is_not_read_by_importing(external: Path) -> None:
    module = import_onnx(external)
    (external.parent / "weights.bin").write_bytes(b"\xff" * (external.parent / "weights.bin").stat().st_size)
    assert "nan" not in str(import_onnx(SMALL["residual"]()))
    from graph_engine.dialects.ge.weights import WeightAttr, materialize

    constants = [op.properties["value"] for op in module.walk() if op.name == "ge.constant"]
    weight = next(value for value in constants if isinstance(value, WeightAttr))
    assert np.isnan(materialize(weight)).all()


def test_external_data_missing(external: Path) -> None:
    (external.parent / "weights.bin").unlink()
    assert message_of(external) == "tensor 'w0' and 34 more: file 'weights.bin' is missing beside the model"


def test_external_data_truncated(external: Path) -> None:
    data = external.parent / "weights.bin"
    data.write_bytes(data.read_bytes()[:-100])
    assert "'weights.bin' is truncated" in message_of(external)


@pytest.mark.parametrize("place", ["/etc/passwd", "../weights.bin", ""])
def test_external_data_outside_the_folder(external: Path, place: str) -> None:
    model = onnx.load(str(external), load_external_data=False)
    next(e for e in model.graph.initializer[0].external_data if e.key == "location").value = place
    external.write_bytes(model.SerializeToString())
    assert f"tensor 'w0': '{place}' is not a place in the model's folder" in message_of(external)


def test_external_data_of_the_wrong_size(external: Path) -> None:
    model = onnx.load(str(external), load_external_data=False)
    model.graph.initializer[0].dims[0] += 1
    external.write_bytes(model.SerializeToString())
    assert "tensor 'w0': 2048 bytes at offset 0 of 'weights.bin' for 2176 bytes" in message_of(external)


# Names and growth


def test_unnamed_and_repeated_nodes() -> None:
    from graph_engine.dialects.ge.locations import source_nodes

    b = GraphBuilder()
    x = b.input("x", (1,))
    model = b.model("d")
    for name, source, output in (("", x, "a"), ("n", "a", "b"), ("n", "b", "c"), ("n_1", "c", "d")):
        model.graph.node.append(helper.make_node("Relu", [source], [output], name=name))
    (function,) = import_onnx(model).body.block.ops
    ops = [op for op in function.body.block.ops if op.name == "ge.relu"]
    assert [source_nodes(op.location)[0].name for op in ops] == ["<a>", "n", "n_2", "n_1"]


def test_importing_grows_linearly() -> None:
    """Work, not time: twice the nodes make at most 2.2 times the calls."""
    import sys

    def calls(count: int) -> int:
        b = GraphBuilder()
        y = b.input("x", (4, 4))
        for _ in range(count):
            y = b.node("Add", [b.node("Relu", [y]), b.weight((4, 4))])
        model = b.model(y)
        total = 0

        def tally(_frame: object, event: str, _arg: object) -> None:
            nonlocal total
            total += event == "call"

        sys.setprofile(tally)
        try:
            import_onnx(model)
        finally:
            sys.setprofile(None)
        return total

    calls(10)
    small, large = calls(500), calls(1000)
    assert large < 2.2 * small
