"""Handles, recipes and stores of large constants."""

from __future__ import annotations

import gc
import hashlib
import json
import struct
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from safetensors.numpy import load_file
from xdsl.dialects.builtin import ArrayAttr, DenseIntOrFPElementsAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.printer import Printer

from graph_engine.dialects import layout
from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.evaluate import evaluate_op
from graph_engine.dialects.ge.interning import tensor_type
from graph_engine.dialects.ge.reference.element_types import dtype_named
from graph_engine.dialects.ge.weights import (
    LONG_RECIPE,
    FoldAttr,
    WeightAttr,
    WeightRef,
    constant_attr,
    digest,
    fold_attr,
    forget_stores,
    materialize,
    open_stores,
    refer_stores,
    register_store,
    save_store,
    weight_names,
)
from graph_engine.errors import GraphEngineError
from graph_engine.pipelines.context import make_context

W = np.random.default_rng(5).standard_normal((8, 30)).astype(np.float32)


@pytest.fixture(autouse=True)
def no_stores() -> Any:
    forget_stores()
    gc.collect()
    yield
    forget_stores()


def module_of(*values: Attribute) -> ModuleOp:
    module = ModuleOp([ConstantOp(value) for value in values])
    module.verify()
    return module


def text_of(module: ModuleOp, generic: bool = False) -> str:
    stream = StringIO()
    Printer(stream, print_generic_format=generic).print_op(module)
    return stream.getvalue()


def parse(text: str) -> ModuleOp:
    module = Parser(make_context(), text).parse_module()
    module.verify()
    return module


def values(module: ModuleOp) -> list[Attribute]:
    return [op.value for op in module.body.block.ops if isinstance(op, ConstantOp)]


def test_digest_covers_type_shape_and_bytes() -> None:
    expected = hashlib.sha256(b"float32:8,30:" + W.tobytes()).hexdigest()
    assert digest(W) == digest(np.asfortranarray(W)) == expected
    others = [W.reshape(30, 8), W.astype(np.float16), W.view(np.int32), W[::-1]]
    assert len({digest(a) for a in [W, *others]}) == 5
    assert digest(np.float32(1).reshape(())) != digest(np.float32([1]))


def test_names_beyond_ascii_survive_text() -> None:
    module = module_of(constant_attr(W, 'Gewicht "ä"/卷积:0'))
    assert weight_names(values(parse(text_of(module)))[0]) == ['Gewicht "ä"/卷积:0']


def test_small_constants_are_inline_and_large_ones_are_handles() -> None:
    assert isinstance(constant_attr(W.reshape(-1)[:64], "a"), DenseIntOrFPElementsAttr)
    assert isinstance(constant_attr(W.reshape(-1)[:65], "a"), WeightAttr)


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float32", "float64", "bool", "int8", "int32", "int64", "uint8"]
)
@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (0, 2), (16, 20)])
def test_every_type_survives_text_and_store(dtype: str, shape: tuple[int, ...], tmp_path: Path) -> None:
    array = np.arange(int(np.prod(shape))).reshape(shape).astype(dtype_named(dtype))
    module = module_of(constant_attr(array, "a"))
    save_store(module, tmp_path / "m.weights.safetensors")
    for generic in (False, True):
        parsed = parse(text_of(module, generic))
        open_stores(parsed, tmp_path)
        got = materialize(values(parsed)[0])
        np.testing.assert_array_equal(got, array)
        assert got.dtype == array.dtype
        assert text_of(parsed) == text_of(module)


def test_digest_is_computed_only_for_text() -> None:
    loads: list[int] = []

    def load() -> Any:
        loads.append(1)
        return W

    attribute = WeightAttr(WeightRef("w", "float32", W.shape, load))
    module = module_of(attribute, attribute)
    clone = module.clone()
    assert hash(values(clone)[0]) == hash(attribute)
    assert values(clone)[0] == attribute
    assert not loads
    text_of(module)
    text_of(clone)
    assert len(loads) == 1


def test_store_is_a_safetensors_file_and_holds_new_tensors_once(tmp_path: Path) -> None:
    attribute = constant_attr(W, "w")
    half = constant_attr(W.astype(np.float16)[:, :29], "half")
    flags = constant_attr(np.arange(99) % 3 == 0, "flags")
    module = module_of(attribute, constant_attr(W.copy(), "same content"), half, flags)
    assert save_store(module, tmp_path / "m.weights.safetensors") == 3
    stored = load_file(tmp_path / "m.weights.safetensors")
    assert set(stored) == {digest(W), digest(W.astype(np.float16)[:, :29]), digest(np.arange(99) % 3 == 0)}
    np.testing.assert_array_equal(stored[digest(W)], W)
    assert [p.name for p in tmp_path.iterdir()] == ["m.weights.safetensors"]
    again = save_store(module, tmp_path / "again.safetensors")
    assert again == 0
    assert not (tmp_path / "again.safetensors").exists()
    assert 'ge.stores = ["m.weights.safetensors"]' in text_of(module)


def test_a_second_generation_refers_to_its_parent(tmp_path: Path) -> None:
    module = module_of(constant_attr(W, "w"))
    save_store(module, tmp_path / "a.safetensors")
    text = text_of(module)
    del module
    parsed = parse(text)
    open_stores(parsed, tmp_path)
    parsed.body.block.add_op(ConstantOp(constant_attr(W + 1, "w1")))
    (tmp_path / "sub").mkdir()
    assert save_store(parsed, tmp_path / "sub" / "b.safetensors") == 1
    assert list(load_file(tmp_path / "sub" / "b.safetensors")) == [digest(W + 1)]
    assert 'ge.stores = ["../a.safetensors", "b.safetensors"]' in text_of(parsed)
    text = text_of(parsed)
    del parsed
    forget_stores()
    gc.collect()
    third = parse(text)
    open_stores(third, tmp_path / "sub")
    np.testing.assert_array_equal(materialize(values(third)[0]), W)
    np.testing.assert_array_equal(materialize(values(third)[1]), W + 1)


def test_an_open_store_comes_before_a_twin_in_memory(tmp_path: Path) -> None:
    save_store(module_of(constant_attr(W, "w")), tmp_path / "a.safetensors")
    twin = constant_attr(W.copy(), "twin")
    text = text_of(module_of(twin))
    register_store(tmp_path / "a.safetensors")
    parsed = parse(text)
    assert save_store(parsed, tmp_path / "b.safetensors") == 0
    assert 'ge.stores = ["a.safetensors"]' in text_of(parsed)


@pytest.mark.parametrize("gone", [0, 1])
def test_of_two_alike_in_memory_either_may_go(gone: int) -> None:
    forget_stores()
    twins = [WeightRef.of("w", W + 7), WeightRef.of("w", W + 7)]
    assert twins[0].sha256 == twins[1].sha256
    text = text_of(module_of(WeightAttr(twins[0])))
    del twins[gone]
    gc.collect()
    np.testing.assert_array_equal(materialize(values(parse(text))[0]), W + 7)


def test_writing_over_the_own_store_keeps_what_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    module = module_of(constant_attr(W, "w"))
    save_store(module, path)
    module.body.block.add_op(ConstantOp(constant_attr(W + 1, "w1")))
    assert save_store(module, path) == 1
    assert set(load_file(path)) == {digest(W), digest(W + 1)}
    np.testing.assert_array_equal(materialize(values(module)[0]), W)


def test_onnx_file_is_a_store(tmp_path: Path) -> None:
    constant = helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(W + 2, "anything"))
    graph = helper.make_graph([constant], "g", [], [], [numpy_helper.from_array(W, "w")])
    onnx.save(helper.make_model(graph), str(tmp_path / "m.onnx"))
    origin = tmp_path / "m.onnx"
    refs = [WeightRef(n, "float32", W.shape, lambda a=a: a, origin=origin) for n, a in (("w", W), ("c", W + 2))]
    module = module_of(*(WeightAttr(ref) for ref in refs))
    assert refer_stores(module, tmp_path) == []
    text = text_of(module)
    assert 'ge.stores = ["m.onnx"]' in text
    del module, refs
    gc.collect()
    parsed = parse(text)
    open_stores(parsed, tmp_path)
    np.testing.assert_array_equal(materialize(values(parsed)[0]), W)
    np.testing.assert_array_equal(materialize(values(parsed)[1]), W + 2)
    assert save_store(parsed, tmp_path / "n.safetensors") == 0


@pytest.mark.parametrize("external", [False, True])
def test_weights_of_an_onnx_file_are_views_of_it(external: bool, tmp_path: Path) -> None:
    large = np.arange(5000, dtype=np.float32).reshape(50, 100)
    proto = numpy_helper.from_array(large, "w")
    model = helper.make_model(helper.make_graph([], "g", [], [], [proto]))
    onnx.save(model, str(tmp_path / "m.onnx"), save_as_external_data=external, location="m.data")
    register_store(tmp_path / "m.onnx")
    array = WeightRef("w", sha256=digest(large)).load()
    np.testing.assert_array_equal(array, large)
    while isinstance(array.base, np.ndarray):
        array = array.base
    assert isinstance(getattr(array.base, "obj", None), np.memmap)


def test_unknown_weight_names_itself_and_the_stores(tmp_path: Path) -> None:
    text = f'builtin.module {{ %w = ge.constant #ge.weight<"conv1.w", sha256 = "{"0" * 64}"> : tensor<70xf32> }}'
    module = parse(text)
    with pytest.raises(GraphEngineError, match=r"'conv1.w' \(sha256 0000000000000000...\) .* none is open"):
        materialize(values(module)[0])
    save_store(module_of(constant_attr(W, "w")), tmp_path / "x.safetensors")
    with pytest.raises(GraphEngineError, match="x.safetensors"):
        materialize(values(module)[0])


def test_declared_type_must_fit_the_stored_tensor(tmp_path: Path) -> None:
    module = module_of(constant_attr(W, "w"))
    save_store(module, tmp_path / "x.safetensors")
    text = text_of(module).replace("8x30", "8x31")
    parsed = parse(text)
    open_stores(parsed, tmp_path)
    with pytest.raises(GraphEngineError, match="'w' is tensor<8x30xf32>, not tensor<8x31xf32>"):
        materialize(values(parsed)[0], tensor_type((8, 31), "f32"))
    with pytest.raises(GraphEngineError, match="is tensor<8x30xf32>"):
        evaluate_op(next(iter(parsed.body.block.ops)), [])


@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "header"])
def test_damaged_stores_are_refused(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    module = module_of(constant_attr(W, "w"))
    save_store(module, path)
    forget_stores()
    data = path.read_bytes()
    match damage:
        case "missing":
            path.unlink()
        case "empty":
            path.write_bytes(b"")
        case "cut":
            path.write_bytes(data[:-1])
        case _:
            path.write_bytes(struct.pack("<Q", 4) + b"{{}}" + data[12:])
    with pytest.raises(GraphEngineError, match="x.safetensors"):
        open_stores(module, tmp_path)


def test_failed_write_leaves_nothing_behind(tmp_path: Path) -> None:
    def fail() -> Any:
        raise GraphEngineError("no such tensor")

    reference = WeightRef("w", "float32", (100,), fail, sha256="1" * 64)
    with pytest.raises(GraphEngineError):
        save_store(module_of(WeightAttr(reference)), tmp_path / "x.safetensors")
    assert list(tmp_path.iterdir()) == []


def test_header_is_sorted_by_width_so_that_views_are_aligned(tmp_path: Path) -> None:
    module = module_of(
        constant_attr(np.zeros(77, np.int8), "bytes"),
        constant_attr(np.zeros(77, np.int64), "longs"),
        constant_attr(np.ones(77, np.float16), "halves"),
    )
    save_store(module, tmp_path / "x.safetensors")
    data = (tmp_path / "x.safetensors").read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    assert length % 8 == 0
    begins = [entry["data_offsets"][0] for entry in json.loads(data[8 : 8 + length]).values()]
    assert begins == [0, 77 * 8, 77 * 10]


def test_recipes_compute_what_numpy_computes() -> None:
    weight = constant_attr(W, "w")
    scale = constant_attr(np.float32([0.5]), "s")
    product = fold_attr("ge.mul", [weight, scale], {}, tensor_type((8, 30), "f32"))
    half = fold_attr("ge.cast", [product], {"to": "f16"}, tensor_type((8, 30), "f16"))
    turned = fold_attr("ge.transpose", [half], {"perm": [1, 0]}, tensor_type((30, 8), "f16"))
    assert isinstance(turned, FoldAttr)
    expected = (W * np.float32(0.5)).astype(np.float16).T
    np.testing.assert_array_equal(materialize(turned), expected)
    assert weight_names(turned) == ["w"]
    parsed = parse(text_of(module_of(turned)))
    np.testing.assert_array_equal(materialize(values(parsed)[0]), expected)
    with pytest.raises(ValueError, match="read-only"):
        materialize(turned)[0, 0] = 1


def test_small_results_are_numbers_at_once() -> None:
    total = fold_attr("ge.reduce_sum", [constant_attr(W, "w")], {"axes": [1]}, tensor_type((8, 1), "f32"))
    assert isinstance(total, DenseIntOrFPElementsAttr)
    np.testing.assert_allclose(materialize(total)[:, 0], W.astype(np.float64).sum(axis=1), rtol=1e-6)


def test_recipe_results_live_only_while_used() -> None:
    recipe = fold_attr("ge.neg", [constant_attr(W, "w")], {}, tensor_type((8, 30), "f32"))
    first = materialize(recipe)
    assert materialize(recipe) is first
    address = id(first)
    del first
    gc.collect()
    from graph_engine.dialects.ge import weights

    assert recipe not in weights._materialized, address


def test_packing_recipe_gives_the_stored_array_and_evaluates_to_the_logical_one() -> None:
    filters = np.random.default_rng(1).standard_normal((20, 5, 3, 3)).astype(np.float32)
    packed_type = tensor_type(filters.shape, "f16", layout.fractal_z())
    recipe = fold_attr("layout.transdata", [constant_attr(filters, "w")], {}, packed_type)
    constant = ConstantOp(recipe)
    constant.verify()
    stored = materialize(recipe, packed_type)
    assert stored.dtype == np.float16
    # FRACTAL_Z: [C1 * kh * kw][N1][n0][c0] by the definition of the format
    assert stored.shape == (9, 2, 16, 16)
    assert stored[4 * 1 + 0, 1, 3, 2] == np.float16(filters[19, 2, 1, 1])
    assert stored[0, 1, 4, 0] == 0
    np.testing.assert_array_equal(evaluate_op(constant, [])[0], filters.astype(np.float16))


def test_wrong_recipes_name_their_weights() -> None:
    weight = constant_attr(W, "conv1.w")
    wrong = fold_attr("ge.transpose", [weight], {"perm": [1, 0]}, tensor_type((8, 30), "f32"))
    with pytest.raises(GraphEngineError, match=r"recipe ge.transpose of 'conv1.w' gives float32 \[30, 8\]"):
        materialize(wrong)
    with pytest.raises(GraphEngineError, match="'ge.nothing' has no numpy reference"):
        materialize(fold_attr("ge.nothing", [weight], {}, tensor_type((8, 30), "f32")))


def test_recipes_with_shared_operands_cost_no_more_than_their_length() -> None:
    """Each of 60 recipes reads the one before twice: 2^60 paths, which nothing may walk."""

    def doubled(times: int) -> Attribute:
        value = constant_attr(np.ones(128, np.float32), "w")
        for _ in range(times):
            operands = ArrayAttr([value, value])
            value = FoldAttr(StringAttr("ge.add"), operands, DictionaryAttr({}), tensor_type((128,), "f32"))
        return value

    one, other = doubled(60), doubled(60)
    assert one == other and hash(one) == hash(other)
    assert one != doubled(59)
    assert materialize(one)[0] == 2.0**60
    assert weight_names(one) == ["w"]
    assert next(iter(module_of(one).walk())).verify() is None


def test_a_recipe_that_is_longer_than_its_numbers_becomes_numbers() -> None:
    value = constant_attr(np.ones(128, np.float32), "w")
    lengths: list[int] = []
    for _ in range(20):
        value = fold_attr("ge.add", [value, value], {}, tensor_type((128,), "f32"))
        lengths.append(value.length if isinstance(value, FoldAttr) else 0)
    assert lengths[:7] == [1, 3, 7, 15, 31, 63, 0]
    assert max(lengths) <= LONG_RECIPE
    assert materialize(value)[0] == 2.0**20
    large = constant_attr(np.ones(100_000, np.float32), "large")
    for _ in range(10):
        large = fold_attr("ge.add", [large, large], {}, tensor_type((100_000,), "f32"))
    assert isinstance(large, FoldAttr)
