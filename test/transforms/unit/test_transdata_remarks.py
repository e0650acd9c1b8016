"""What is said about the choice of formats and about each conversion that is left."""

from xdsl.parser import Parser

from graph_engine.pipelines.context import make_context
from graph_engine.transforms.eliminate_transdata import EliminateTransdata
from graph_engine.transforms.propagate_layout import PropagateLayout
from graph_engine.transforms.remarks import Remark, listening

T = "tensor<1x16x4x4xf16>"


def remarks(arguments: str, body: str, results: str, strategy: str = "min-cut") -> list[Remark]:
    text = f"func.func @main({arguments}, %w: tensor<16x16x1x1xf16>) -> ({results}) {{ {body} }}"
    context = make_context()
    module = Parser(context, text).parse_module()
    module.verify()
    found: list[Remark] = []
    with listening(found.append):
        PropagateLayout(strategy=strategy).apply(context, module)
        EliminateTransdata().apply(context, module)
    return found


def node(name: str, op_type: str) -> str:
    return f'loc("{name}"("{op_type}"("y")))'


CONV = f"%a = ge.conv2d %x, %w : ({T}, tensor<16x16x1x1xf16>) -> {T} {node('conv1', 'Conv')}"


def test_borders_and_an_operator_without_a_form() -> None:
    body = f"{CONV} %b = ge.softmax %a {{axis = 1}} : ({T}) -> {T} {node('norm', 'Softmax')} return %b : {T}"
    found = {remark.args["producer"]: remark for remark in remarks(f"%x: {T}", body, T) if remark.name == "TransData"}
    border, inner = found["the model's input"], found["'conv1' (Conv)"]
    assert border.args["reason"] == "the model's inputs are ND"
    assert border.args["readers"] == ["'conv1' (Conv)"]
    assert inner.args["readers"] == ["'norm' (Softmax)"]
    assert inner.args["bytes"] == 2 * 512
    assert inner.args["reason"] == "ge.softmax has no NC1HWC0 form for these shapes"
    assert inner.args["remedy"] == "a NC1HWC0 form of ge.softmax would remove it"


def test_views_between_name_what_stands_behind_them() -> None:
    """A reshape in ND moves nothing: what reads its result forces the conversion, or the reshape where that could follow."""
    rows, product = "tensor<1x4x64xf16>", "tensor<64x64xf16>"
    body = (
        f"{CONV} %r = ge.reshape %a {{shape = [1, 4, 64]}} : ({T}) -> {rows} {node('flat', 'Reshape')} "
        f"%s = ge.softmax %r {{axis = 1}} : ({rows}) -> {rows} {node('norm', 'Softmax')} "
        f"%q = ge.reshape %s {{shape = [4, 64]}} : ({rows}) -> tensor<4x64xf16> {node('again', 'Reshape')} "
        f"%m = ge.matmul %q, %v : (tensor<4x64xf16>, {product}) -> tensor<4x64xf16> {node('fc', 'MatMul')} "
        f"%o = ge.reshape %m {{shape = [1, 4, 64]}} : (tensor<4x64xf16>) -> {rows} {node('out', 'Reshape')} "
        f"return %o : {rows}"
    )
    made = remarks(f"%x: {T}, %v: {product}", body, rows)
    found = {r.args["producer"]: r.args for r in made if r.name == "TransData"}
    assert found["'conv1' (Conv)"]["readers"] == ["'norm' (Softmax)"]
    assert found["'conv1' (Conv)"]["reason"] == "ge.softmax has no NC1HWC0 form for these shapes"
    assert found["'norm' (Softmax)"]["readers"] == ["'fc' (MatMul)"]
    assert found["'norm' (Softmax)"]["reason"] == "ge.softmax has no FRACTAL_NZ form for these shapes"
    assert found["'fc' (MatMul)"]["reason"] == "the model's outputs are ND"
    body = (
        f"{CONV} %r = ge.reshape %a {{shape = [1, 4, 64]}} : ({T}) -> {rows} {node('flat', 'Reshape')} "
        f"%s = ge.reshape %r {{shape = [1, 4, 8, 8]}} : ({rows}) -> tensor<1x4x8x8xf16> {node('map', 'Reshape')} "
        f"%p = ge.max_pool %s {{kernel = [2, 2]}} : (tensor<1x4x8x8xf16>) -> tensor<1x4x7x7xf16> "
        f"{node('pool', 'MaxPool')} return %p : tensor<1x4x7x7xf16>"
    )
    found = {
        r.args["producer"]: r.args for r in remarks(f"%x: {T}", body, "tensor<1x4x7x7xf16>") if r.name == "TransData"
    }
    assert found["'conv1' (Conv)"]["readers"] == ["'pool' (MaxPool)"]
    assert found["'conv1' (Conv)"]["reason"] == "ge.reshape has no NC1HWC0 form for these shapes"


def test_padding_that_has_to_be_zero_again() -> None:
    small = "tensor<1x8x4x4xf16>"
    body = (
        f"%k = ge.constant dense<1.0> : tensor<8x16x1x1xf16> %m = ge.constant dense<1.0> : tensor<16x8x1x1xf16> "
        f"%a = ge.conv2d %x, %k : ({T}, tensor<8x16x1x1xf16>) -> {small} {node('conv1', 'Conv')} "
        f"%b = ge.sigmoid %a : ({small}) -> {small} {node('gate', 'Sigmoid')} "
        f"%c = ge.conv2d %b, %m : ({small}, tensor<16x8x1x1xf16>) -> {T} {node('conv2', 'Conv')} return %c : {T}"
    )
    found = [remark for remark in remarks(f"%x: {T}", body, T) if remark.args.get("producer") == "'gate' (Sigmoid)"]
    assert [remark.args["reason"] for remark in found] == ["the padding lanes are not zero and are summed over"]


def test_strategies_are_compared() -> None:
    """The add follows the convolution in GE's spread; %y and the sum are converted for nothing (2 x 1024 bytes)."""
    body = f"{CONV} %b = ge.add %a, %y : ({T}, {T}) -> {T} return %a, %b : {T}, {T}"
    costs: dict[str, Remark] = {}
    for strategy in ("min-cut", "heavy-spread"):
        found = remarks(f"%x: {T}, %y: {T}", body, f"{T}, {T}", strategy)
        (costs[strategy],) = (remark for remark in found if remark.name == "LayoutAssignment")
    filters = 2 * 512  # the weights are no constant here
    cut, spread = costs["min-cut"].args, costs["heavy-spread"].args
    assert (cut["cost"], cut["lower_bound"], cut["proved_optimal"]) == (2 * 1024 + filters, 2 * 1024 + filters, True)
    assert (spread["cost"], spread["lower_bound"], spread["proved_optimal"]) == (4 * 1024 + filters, cut["cost"], False)
    assert cut["conversions"] == {"NC1HWC0": 2, "FRACTAL_NZ": 1}
    assert "no choice moves fewer than 3072" in costs["heavy-spread"].message
